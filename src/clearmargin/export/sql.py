"""Rules as SQL: a CASE expression, or a view that adds its answer to a table.

Rules of which the first decides become a branch each. Rules with weights become a sum, compared with the threshold;
with more than two classes a subquery holds the sums, so that each is written once. The points of a card with proof
become two sums of one CASE a feature, which is NULL outside of its cells, and so is the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.card_cells import Cell, card_cells, class_between
from clearmargin.export.conditions import (
    Between,
    Condition,
    Kind,
    Member,
    Missing,
    Weighted,
    as_class,
    check_has_rules,
    common_kind,
    conditions,
    label_text,
)
from clearmargin.export.score_sums import (
    Multiple,
    ScoreSum,
    Term,
    refuse_default,
    rules_to_write,
    score_sums,
)
from clearmargin.export.sql_dialect import Dialect, find_dialect
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace, nearest_name

# SQLite refuses expressions deeper than 1,000; each AND is one step deeper, and so is each plus sign.
_TERMS = 100
_MOST_TERMS = 900
_FORMS = ("case", "view", "score")


def to_sql(
    rules: RuleSet | Scorecard,
    *,
    dialect: str = "ansi",
    form: str = "case",
    table: str | Sequence[str] | None = None,
    view: str | Sequence[str] | None = None,
    column: str = "prediction",
    default: Label | None = None,
) -> str:
    """Write rules as SQL that gives each row what `predict` of the rules gives it, or `prove` of a card.

    Parameters
    ----------
    rules : RuleSet, Scorecard or fitted model with one
        The rules; a column of the table is expected for each feature of their space, under its name.
    dialect : {"ansi", "postgresql", "sqlite", "duckdb", "mysql"}, default "ansi"
        The database.
    form : {"case", "view", "score"}, default "case"
        A CASE expression for a query of yours, or a statement that creates a view. Of a scorecard for two classes
        also the expression of the score, what `Scorecard.decision_function` gives.
    table : str or sequence of str, optional
        The table under the view; a sequence for a qualified name, such as ``("ward", "patients")``.
    view : str or sequence of str, optional
        The view; by default the name of the table with ``_rules`` behind it.
    column : str, default "prediction"
        The column of the view that holds the class.
    default : label, optional
        The class of rows that no rule covers, or of which a card proves nothing; NULL by default. A scorecard
        without proof predicts a class for every row.

    Returns
    -------
    str
        The expression, or the statement with a semicolon at its end.

    Notes
    -----
    A condition on a column that is NULL (or NaN, where the database knows it) is false, and columns without a
    condition do not matter, as for `predict`; where the space has a value that a missing one counts as, it
    takes its place. Infinity in a column that is added up, which `predict` refuses, gives what the database makes of
    it. In SQLite, whose columns hold anything, a text where a number belongs counts as missing, too.
    Numbers are compared as doubles and categories as text. Classes keep their type if they are all of one type, else
    they are written as text. Weights are added from left to right as in Python, so that scores are equal to the bit.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> print(to_sql(parse_rules("bmi >= 30 and glucose >= 126 => ill")))
    CASE
      WHEN "bmi" >= 30e0 AND "glucose" >= 126e0 THEN 'ill'
      ELSE NULL
    END
    """
    given = rules_to_write(rules)
    target = find_dialect(dialect)
    if form not in _FORMS:
        raise InvalidValueError(
            f"there is no form of SQL called {form!r}{nearest_name(str(form), _FORMS)}"
        )
    if isinstance(given, RuleSet):
        check_has_rules(given)
    target.check_columns(given.space.names)
    if target.name == "ansi":
        _check_blanks(given.space)
    answer = _answer_lines(given, target, form, default)
    if form != "view":
        for what, name in (("table", table), ("view", view)):
            if name is not None:
                raise InvalidValueError(f"{what}={name!r} is for form='view' alone")
        return "\n".join(answer)
    return _view(given.space, target, answer, table, view, column)


def _answer_lines(
    given: RuleSet | Scorecard,
    dialect: Dialect,
    form: str,
    default: Label | None,
) -> list[str]:
    """Return the expression of the class, or of the score, line by line."""
    if isinstance(given, Scorecard) and given.proof is None:
        refuse_default(default)
        return _weighted_lines(given, dialect, is_score=form == "score")
    if form == "score":
        raise InvalidValueError("form='score' is for a scorecard; other rules have no score")
    if isinstance(given, Scorecard):
        return _card_lines(given, dialect, class_between(given, default))
    return _case(given, dialect, as_class(given, default))


def _card_lines(card: Scorecard, dialect: Dialect, default: Label | None) -> list[str]:
    """Return the expression of the class that a card proves."""
    assert card.proof is not None
    few, many = card.proof.limits
    table = _Columns(card.space, dialect)
    kind = common_kind(card.classes)
    first, second = (_answer(label, kind, dialect) for label in card.classes)
    otherwise = "NULL" if default is None else _answer(default, kind, dialect)
    lines = ["CASE"]
    for column, sign, threshold, answer in (
        ("at least", ">=", many, second),
        ("at most", "<=", few, first),
    ):
        terms = (f"    + {table.points(feature, column)}" for feature in card_cells(card))
        lines += ["  WHEN 0", *terms]
        lines.append(f"    {sign} {threshold} THEN {answer}")
    return [*lines, f"  ELSE {otherwise}", "END"]


def _weighted_lines(weighted: Scorecard, dialect: Dialect, *, is_score: bool) -> list[str]:
    """Return the expression of the class that the weights decide, or of their sum."""
    columns = _Columns(weighted.space, dialect)
    sums = [columns.total(score) for score in score_sums(weighted)]
    if is_score:
        if not weighted.is_binary:
            raise InvalidValueError(
                f"form='score' is for two classes, and there are {len(weighted.classes)}, each with a score of its own"
            )
        return sums[0]
    kind = common_kind(weighted.classes)
    spelled = [_answer(label, kind, dialect) for label in weighted.classes]
    if weighted.is_binary:
        first, *rest = sums[0]
        limit = dialect.number(weighted.threshold)
        total = [f"  WHEN {first}", *(f"    {line}" for line in rest)]
        return [
            "CASE",
            *total[:-1],
            f"{total[-1]} > {limit} THEN {spelled[1]}",
            f"  ELSE {spelled[0]}",
            "END",
        ]
    return _largest(sums, spelled, dialect, weighted.space)


def _largest(
    sums: list[list[str]], spelled: list[str], dialect: Dialect, space: FeatureSpace
) -> list[str]:
    """Return the class of the largest sum, of equals the first."""
    stem, taken = "score", {dialect.fold(name) for name in space.names}
    while any(dialect.fold(f"{stem} {k + 1}") in taken for k in range(len(sums))):
        stem += "_"
    names = [dialect.identifier(f"{stem} {k + 1}") for k in range(len(sums))]
    lines = ["(SELECT CASE"]
    for k, answer in enumerate(spelled[:-1]):
        # Those before are smaller than one behind them.
        tests = " AND ".join(f"{names[k]} >= {other}" for other in names[k + 1 :])
        lines.append(f"  WHEN {tests} THEN {answer}")
    lines += [f"  ELSE {spelled[-1]}", "END FROM (SELECT"]
    for k, total in enumerate(sums):
        end = "," if k + 1 < len(sums) else ""
        lines += [*(f"  {line}" for line in total[:-1]), f"  {total[-1]} AS {names[k]}{end}"]
    return [*lines, f") AS {dialect.identifier('scores')})"]


def _case(rules: RuleSet, dialect: Dialect, default: Label | None) -> list[str]:
    """Return the expression, line by line; a line may hold a literal with line breaks, which must stay as they are."""
    space = rules.space
    kind = common_kind(rules.classes)
    spelled = {label: _answer(label, kind, dialect) for label in rules.classes}
    otherwise = "NULL" if default is None else spelled[default]
    lines = ["CASE"]
    table = _Columns(space, dialect)
    for rule in rules:
        parts = conditions(rule.region, space.categories)
        tests = _all([test for part in parts for test in table.tests(part)])
        lines.append(f"  WHEN {tests} THEN {spelled[rule.label]}")
    return [*lines, f"  ELSE {otherwise}", "END"]


def _all(tests: list[str]) -> str:
    if len(tests) <= _TERMS:
        return " AND ".join(tests) or "1 = 1"
    groups = (tests[start : start + _TERMS] for start in range(0, len(tests), _TERMS))
    return " AND ".join(f"({' AND '.join(group)})" for group in groups)


class _Columns:
    """The columns of the table, as the tests of conditions need them."""

    def __init__(self, space: FeatureSpace, dialect: Dialect):
        self._space = space
        self._dialect = dialect
        self._names = [dialect.identifier(name) for name in space.names]
        # What is 0 or 1 here may be a boolean there, which not every database compares with numbers.
        for j in np.flatnonzero(space.integer & (space.lower >= 0) & (space.upper <= 1)).tolist():
            self._names[j] = dialect.flag.format(self._names[j])

    def tests(self, part: Condition) -> list[str]:
        """Return the tests that are all true exactly where a condition holds."""
        if isinstance(part, Missing):
            return [self._missing(part)]
        if isinstance(part, Weighted):
            return self._weighted(part)
        if isinstance(part, Between):
            return self._between(part)
        return [self._member(part)]

    def points(self, cells: Iterable[Cell], column: str) -> str:
        """Return the points of the cell that holds, "at least" or "at most"; NULL where none does."""
        branches = (
            f"WHEN {_all(self.tests(cell.condition))} THEN {cell.points(column)}" for cell in cells
        )
        return f"CASE {' '.join(branches)} END"

    def total(self, score: ScoreSum) -> list[str]:
        """Return a sum that is added from left to right, a line for each term."""
        if self._dialect.name == "sqlite" and len(score.terms) > _MOST_TERMS:
            raise InvalidValueError(
                f"SQLite adds no more than {_MOST_TERMS} terms in one expression, and these are {len(score.terms)}; "
                "fit with max_rules="
            )
        start = self._dialect.number(score.intercept)
        return [start, *(f"+ {self._term(term)}" for term in score.terms)]

    def _term(self, term: Term) -> str:
        number = self._dialect.number
        if isinstance(term, Multiple):
            value = self._space.fill[term.feature]
            fill = number(term.fill if value is None else float(value))
            return (
                f"{number(term.coef)} * ({self._dialect.filled(self._names[term.feature], fill)})"
            )
        tests = _all([test for part in term.premise for test in self.tests(part)])
        return f"CASE WHEN {tests} THEN {number(term.points)} ELSE {number(0.0)} END"

    def _missing(self, part: Missing) -> str:
        j, is_named = part.feature, self._space.categories[part.feature] is not None
        if self._space.fill[j] is not None:  # what is filled is never missing
            return "1 = 1"
        test = ("{} IS NULL" if is_named else self._dialect.no_number).format(self._names[j])
        if test.endswith(" IS NULL"):
            return test if part.is_missing else f"{self._names[j]} IS NOT NULL"
        return f"({test})" if part.is_missing else f"NOT ({test})"

    def _number(self, j: int) -> str:
        value = self._space.fill[j]
        if value is None:
            return self._dialect.measured.format(self._names[j])
        return self._dialect.filled(self._names[j], self._dialect.number(float(value)))

    def _guards(self, features: Iterable[int], needed: bool = False) -> list[str]:
        """Write tests that there are values, where a comparison may be true without them."""
        if not self._dialect.guard or not (needed or self._dialect.guards_all):
            return []
        return [
            self._dialect.guard.format(self._names[j])
            for j in dict.fromkeys(features)
            if self._space.fill[j] is None
        ]

    def _weighted(self, part: Weighted) -> list[str]:
        number = self._dialect.number
        terms = (f"{number(weight)} * {self._number(j)}" for j, weight in part.terms)
        test = f"{' + '.join(terms)} {part.sign} {number(part.limit)}"
        return [test, *self._guards(j for j, _ in part.terms)]

    def _between(self, part: Between) -> list[str]:
        value, number = self._number(part.feature), self._dialect.number
        if part.is_point and part.low is not None:
            return [f"{value} = {number(part.low[1])}", *self._guards([part.feature])]
        bounds = (bound for bound in (part.low, part.high) if bound is not None)
        tests = [f"{value} {sign} {number(bound)}" for sign, bound in bounds]
        return [*tests, *self._guards([part.feature], needed=part.high is None)]

    def _member(self, part: Member) -> str:
        value = self._dialect.named.format(self._names[part.feature])
        fill = self._space.fill[part.feature]
        if fill is not None:
            value = f"COALESCE({value}, {self._dialect.literal(str(fill))})"
        categories = [self._dialect.literal(category) for category in part.categories]
        return (
            f"{value} = {categories[0]}"
            if len(categories) == 1
            else f"{value} IN ({', '.join(categories)})"
        )


def _answer(label: Label, kind: Kind, dialect: Dialect) -> str:
    if kind == "boolean":
        return dialect.truths[bool(label)]
    if kind == "integer":
        return label_text(label)
    if kind == "number":
        return dialect.number(float(label))
    return dialect.literal(label_text(label))


def _view(
    space: FeatureSpace,
    dialect: Dialect,
    answer: list[str],
    table: str | Sequence[str] | None,
    view: str | Sequence[str] | None,
    column: str,
) -> str:
    source = _parts(table, "table", "the table that the view reads, such as table='patients'")
    name = (
        (*source[:-1], f"{source[-1]}_rules")
        if view is None
        else _parts(view, "view", "the name of the view")
    )
    (added,) = _parts(column, "column", "the name of the column for the class")
    dialect.check_columns([*space.names, added])
    if [dialect.fold(part) for part in name] == [dialect.fold(part) for part in source]:
        raise InvalidValueError(f"the view and its table are both called {name[-1]!r}")
    written, read = (
        ".".join(dialect.identifier(part) for part in parts) for parts in (name, source)
    )
    rows = dialect.identifier("source")
    lines = "\n  ".join([f"SELECT {rows}.*,", *answer])
    return (
        f"CREATE VIEW {written} AS\n{lines} AS {dialect.identifier(added)}\nFROM {read} AS {rows};"
    )


def _parts(name: str | Sequence[str] | None, option: str, what: str) -> tuple[str, ...]:
    """Return a name, qualified or not, as its parts."""
    parts = (name,) if name is None or isinstance(name, str) else tuple(name)
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise InvalidValueError(f"{option}={name!r}, but a view needs {what}")
    if option == "column" and not isinstance(name, str):
        raise InvalidValueError(f"column={name!r} must be a single name")
    return tuple(part for part in parts if part is not None)


def _check_blanks(space: FeatureSpace) -> None:
    """Raise if categories differ in blanks at their end alone: standard SQL pads texts before it compares them."""
    for feature, categories in zip(space.names, space.categories, strict=True):
        if categories is not None and len({category.rstrip(" ") for category in categories}) < len(
            categories
        ):
            raise InvalidValueError(
                f"categories of {feature!r} differ only in blanks at their end, which standard SQL may not "
                f"tell apart: {categories}; rename one, or name the dialect of your database"
            )
