"""Rules as a Python function that needs nothing but Python."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.card_cells import card_cells, class_between
from clearmargin.export.conditions import (
    Between,
    Condition,
    Member,
    Weighted,
    as_class,
    check_has_rules,
    conditions,
    label_text,
)
from clearmargin.export.score_sums import (
    Multiple,
    refuse_default,
    rules_to_write,
    score_sums,
)
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace

_MANY = '''
def {name}_many(rows):
    """Give the classes of many rows, as a list."""
    return [{name}(row) for row in rows]
'''

_MISSING = """
def _is_missing(value):
    return value is None or type(value).__name__ == "NAType"
"""

_NUMBER = '''
def _number(row, name, fill=float("nan")):
    """The value of a feature as a float; where it is missing NaN, with which every comparison is false."""
    value = row[name]
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name!r} must be a number, not {value!r}")
    number = fill if _is_missing(value) else float(value)
    return fill if number != number else number
'''

_FINITE = '''
def _finite(number):
    """Refuse an infinity, since a sum with it may have no value."""
    if number in (float("inf"), -float("inf")):
        raise ValueError("infinity has no score; replace it by a number")
    return number
'''

_KIND = '''
def _kind(row, name, fill=None):
    """The category of a feature as text, 3 for 3.0; None where it is missing."""
    value = row[name]
    value = value.item() if hasattr(value, "item") else value
    if _is_missing(value) or (isinstance(value, float) and value != value):
        return fill
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
'''


def to_python(
    rules: RuleSet | Scorecard,
    *,
    name: str = "predict_row",
    default: Label | None = None,
) -> str:
    """Write rules as the source of a Python module that gives each row what `predict` of the rules gives it.

    Parameters
    ----------
    rules : RuleSet, Scorecard or fitted model with one
        The rules; of a card with proof the function gives what `prove` gives.
    name : str, default "predict_row"
        The function. It takes a mapping from the name of a feature to its value; ``<name>_many`` takes many of them.
        Of a scorecard ``<name>_score`` gives the score, with more than two classes a list of them.
    default : label, optional
        The class of rows that no rule covers, or of which a card proves nothing; None by default. A scorecard
        without proof predicts a class for every row.

    Returns
    -------
    str
        The source; it imports nothing.

    Notes
    -----
    Only features that the rules have conditions on are read, and a condition on one that is None or NaN is false, as
    for `predict`; where the space has a value that a missing one counts as, it is that value. A feature that
    is read and not in the mapping is a KeyError, a text where a number belongs is a TypeError. Weights are added from
    left to right, so that scores are those of `Scorecard.decision_function` to the bit.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> source = to_python(parse_rules("bmi >= 30 and glucose >= 126 => ill"))
    >>> names = {}
    >>> exec(source, names)
    >>> names["predict_row"]({"bmi": 31, "glucose": 140})
    'ill'
    """
    given = rules_to_write(rules)
    _check_name(name)
    taken = {name, f"{name}_many", f"{name}_score", "total", "totals", "at_least", "at_most"}
    code = _Code(given.space, taken)
    if isinstance(given, Scorecard) and given.proof is not None:
        parts = [_card_function(given, name, code, class_between(given, default))]
    elif isinstance(given, Scorecard):
        refuse_default(default)
        parts = _weighted_functions(given, name, code)
    else:
        check_has_rules(given)
        parts = [_first_rule_function(given, name, code, as_class(given, default))]
    return "\n".join([*parts, _MANY.format(name=name), *code.helpers()])


_DOCSTRING = '"""Give the {what} of a row, a mapping from the name of each feature to its value."""'


class _Code:
    """Writes premises over the features of a space, and keeps account of what they read."""

    def __init__(self, space: FeatureSpace, taken: set[str]):
        self.space = space
        self._variables = _variables(space.names, taken)
        self._is_named = [categories is not None for categories in space.categories]
        self._used: set[int] = set()
        self._multiplies = False

    def premise(self, parts: Iterable[Condition]) -> str:
        """Return the test that all conditions hold."""
        tests = []
        for part in parts:
            tests.append(_condition(part, self._variables, self._is_named))
            self._used.update(
                (j for j, _ in part.terms) if isinstance(part, Weighted) else [part.feature]
            )
        return " and ".join(tests) or "True"

    def multiple(self, term: Multiple) -> str:
        """Return a multiple of a number, filled where it is missing."""
        self._used.add(term.feature)
        self._multiplies = True
        variable = self._variables[term.feature]
        if self.space.fill[term.feature] is not None:  # what is filled is never missing
            return f"{term.coef!r} * _finite({variable})"
        filled = f"{variable} if {variable} == {variable} else {term.fill!r}"
        return f"{term.coef!r} * _finite({filled})"

    def reading(self) -> list[str]:
        """Return the lines that read the features which premises were written over."""
        lines = []
        for j in sorted(self._used):
            reader = "_kind" if self._is_named[j] else "_number"
            fill = "" if self.space.fill[j] is None else f", {self.space.fill[j]!a}"
            lines.append(f"    {self._variables[j]} = {reader}(row, {self.space.names[j]!a}{fill})")
        return lines

    def helpers(self) -> list[str]:
        """Return the functions that the reading needs."""
        found = [_MISSING] if self._used else []
        found += [_FINITE] if self._multiplies else []
        found += [_NUMBER] if any(not self._is_named[j] for j in self._used) else []
        return found + ([_KIND] if any(self._is_named[j] for j in self._used) else [])


def _first_rule_function(rules: RuleSet, name: str, code: _Code, default: Label | None) -> str:
    # The class as the rule set spells it: a rule may say True where the class is called 1.
    spelled = {label: _literal(label) for label in rules.classes}
    body = []
    for rule in rules:
        tests = code.premise(conditions(rule.region, rules.space.categories))
        body += [f"    if {tests}:", f"        return {spelled[rule.label]}"]
    head = [f"def {name}(row):", f"    {_DOCSTRING.format(what='class')}", *code.reading()]
    return "\n".join([*head, *body, f"    return {_literal(default)}\n"])


def _card_function(card: Scorecard, name: str, code: _Code, default: Label | None) -> str:
    first, second, otherwise = (_literal(label) for label in (*card.classes, default))
    body = ["    at_least = at_most = 0"]
    for feature in card_cells(card):
        for k, cell in enumerate(feature):
            body.append(f"    {'elif' if k else 'if'} {code.premise([cell.condition])}:")
            body.append(f"        at_least += {cell.at_least}")
            body.append(f"        at_most += {cell.at_most}")
        body += ["    else:", f"        return {otherwise}"]
    assert card.proof is not None
    few, many = card.proof.limits
    body += [f"    if at_least >= {many}:", f"        return {second}"]
    body.append(f"    return {first} if at_most <= {few} else {otherwise}\n")
    head = [f"def {name}(row):", f"    {_DOCSTRING.format(what='class')}", *code.reading()]
    return "\n".join([*head, *body])


def _weighted_functions(weighted: Scorecard, name: str, code: _Code) -> list[str]:
    spelled = [_literal(label) for label in weighted.classes]
    if weighted.is_binary:
        decide = [
            f"    return {spelled[1]} if {name}_score(row) > {weighted.threshold!r} else {spelled[0]}\n"
        ]
    else:
        decide = [
            f"    totals = {name}_score(row)",
            f"    return ({', '.join(spelled)})[totals.index(max(totals))]\n",
        ]
    answer = [f"def {name}(row):", f"    {_DOCSTRING.format(what='class')}", *decide]
    body = [] if weighted.is_binary else ["    totals = []"]
    for score in score_sums(weighted):
        body.append(f"    total = {score.intercept!r}")
        for term in score.terms:
            if isinstance(term, Multiple):
                body.append(f"    total += {code.multiple(term)}")
            else:
                body += [
                    f"    if {code.premise(term.premise)}:",
                    f"        total += {term.points!r}",
                ]
        body.append("    return total\n" if weighted.is_binary else "    totals.append(total)")
    if not weighted.is_binary:
        body.append("    return totals\n")
    what = "score" if weighted.is_binary else "scores of all classes"
    head = [f"def {name}_score(row):", f"    {_DOCSTRING.format(what=what)}", *code.reading()]
    return ["\n".join(answer), "", "\n".join([*head, *body])]


def _literal(label: Label | None) -> str:
    """Return a class as Python reads it, in ASCII so that no encoding can change it."""
    if label is None or isinstance(label, bool):
        return repr(label)
    return ascii(label_text(label)) if isinstance(label, str) else label_text(label)


def _condition(part: Condition, variables: list[str], is_named: list[bool]) -> str:
    if isinstance(part, Weighted):
        terms = " + ".join(f"{weight!r} * {variables[j]}" for j, weight in part.terms)
        return f"{terms} {part.sign} {part.limit!r}"
    variable = variables[part.feature]
    if isinstance(part, Between):
        return _between(part, variable)
    if isinstance(part, Member):
        categories = [ascii(category) for category in part.categories]
        listed = f"in ({', '.join(categories)})"
        return f"{variable} == {categories[0]}" if len(categories) == 1 else f"{variable} {listed}"
    if is_named[part.feature]:
        return f"{variable} is {'' if part.is_missing else 'not '}None"
    # NaN is the one number that differs from itself.
    return f"{variable} {'!=' if part.is_missing else '=='} {variable}"


def _between(part: Between, variable: str) -> str:
    if part.is_point and part.low is not None:
        return f"{variable} == {part.low[1]!r}"
    if part.low is None and part.high is not None:
        return f"{variable} {part.high[0]} {part.high[1]!r}"
    assert part.low is not None
    if part.high is None:
        return f"{variable} {part.low[0]} {part.low[1]!r}"
    return f"{part.low[1]!r} {part.low[0].replace('>', '<')} {variable} {part.high[0]} {part.high[1]!r}"


def _variables(names: tuple[str, ...], taken: set[str]) -> list[str]:
    """Return a variable for each feature, called after it where Python allows that."""
    barred = {*taken, "row", "_number", "_kind", "_is_missing", *dir(builtins)}
    # Python takes letters such as 'ﬁ' and 'fi' for the same, so only ASCII names are kept.
    kept = [
        name.isascii()
        and name.isidentifier()
        and not keyword.iskeyword(name)
        and name not in barred
        for name in names
    ]
    used = barred | {name for name, keep in zip(names, kept, strict=True) if keep}
    chosen = []
    for j, (name, keep) in enumerate(zip(names, kept, strict=True)):
        variable = name if keep else f"x{j}"
        while not keep and variable in used:
            variable += "_"
        used.add(variable)
        chosen.append(variable)
    return chosen


def _check_name(name: object) -> None:
    usable = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not usable or str(name).startswith("_"):
        raise InvalidValueError(
            f"name={name!r} cannot be the name of a function that people call; take one such as 'predict_row'"
        )
