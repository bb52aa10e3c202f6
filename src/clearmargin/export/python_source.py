"""Rules as a Python function that needs nothing but Python."""

from __future__ import annotations

import builtins
import keyword

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.conditions import (
    Between,
    Condition,
    Member,
    Weighted,
    as_class,
    check_has_rules,
    conditions,
    label_text,
    used_features,
)
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet

__all__ = ["to_python"]

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

_KIND = '''
def _kind(row, name, fill=None):
    """The category of a feature as text, 3 for 3.0; None where it is missing."""
    value = row[name]
    value = value.item() if hasattr(value, "item") else value
    if _is_missing(value) or (isinstance(value, float) and value != value):
        return fill
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
'''


def to_python(rules: RuleSet, *, name: str = "predict_row", default: Label | None = None) -> str:
    """Write rules as the source of a Python module that gives each row what `RuleSet.predict` gives it.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    name : str, default "predict_row"
        The function. It takes a mapping from the name of a feature to its value; ``<name>_many`` takes many of them.
    default : label, optional
        The class of rows that no rule covers; None by default.

    Returns
    -------
    str
        The source; it imports nothing.

    Notes
    -----
    Only features that the rules have conditions on are read, and a condition on one that is None or NaN is false, as
    for `RuleSet.predict`; where the space has a value that a missing one counts as, it is that value. A feature that
    is read and not in the mapping is a KeyError, a text where a number belongs is a TypeError.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> source = to_python(parse_rules("bmi >= 30 and glucose >= 126 => ill"))
    >>> names = {}
    >>> exec(source, names)
    >>> names["predict_row"]({"bmi": 31, "glucose": 140})
    'ill'
    """
    check_has_rules(rules)
    _check_name(name)
    default_text = _literal(as_class(rules, default))
    # The class as the rule set spells it: a rule may say True where the class is called 1.
    spelled = {label: _literal(label) for label in rules.classes}
    space = rules.space
    variables = _variables(space.names, taken={name, f"{name}_many"})
    lines = [
        f"def {name}(row):",
        '    """Give the class of a row, a mapping from the name of each feature to its value."""',
    ]
    used = used_features(rules)
    is_named = [categories is not None for categories in space.categories]
    for j in used:
        reader = "_kind" if is_named[j] else "_number"
        fill = "" if space.fill[j] is None else f", {space.fill[j]!a}"
        lines.append(f"    {variables[j]} = {reader}(row, {space.names[j]!a}{fill})")
    for rule in rules:
        parts = conditions(rule.region, space.categories)
        tests = " and ".join(_condition(part, variables, is_named) for part in parts)
        lines.append(f"    if {tests or 'True'}:")
        lines.append(f"        return {spelled[rule.label]}")
    lines.append(f"    return {default_text}\n")
    helpers = [_MISSING] if used else []
    helpers += [_NUMBER] if any(not is_named[j] for j in used) else []
    helpers += [_KIND] if any(is_named[j] for j in used) else []
    return "\n".join(["\n".join(lines), _MANY.format(name=name), *helpers])


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
