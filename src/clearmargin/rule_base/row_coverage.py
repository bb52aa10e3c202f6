"""Why a row is covered by a rule or by none: the answers of `RuleBasedClassifier.explain_coverage`.

A region is split into its conditions, one for each feature of a box and each inequality of a polyhedron. The nearest
rule of a row is the one that fails at the fewest conditions, the first of several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from clearmargin.language.printer import format_number
from clearmargin.language.prose import describe_premise, plain
from clearmargin.rules import Box, Domain, FeatureSpace, Polyhedron, Rule, RuleSet
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.rule import Label, Region
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table

__all__ = [
    "CoverageExplainer",
    "CoverageStatus",
    "DropOption",
    "DroppedBox",
    "FailedCondition",
    "RowCoverage",
    "explain_rule_coverage",
    "nearest_rules",
    "split_conditions",
]

CoverageStatus = Literal[
    "covered",
    "outside_range",
    "relation",
    "unknown_category",
    "missing_value",
    "dropped_box",
    "failed_conditions",
    "no_rule",
]

# The options by which a box that was found gives no rule.
DropOption = Literal["min_coverage", "max_rules"]

_REASONS: dict[str, str] = {
    "outside_range": ", since a value is outside of the ranges seen in training",
    "unknown_category": ", since the model does not know a category",
    "missing_value": ", since a value is missing that the model does not impute",
    "min_coverage": ", since its box holds fewer training rows than min_coverage asks for",
    "max_rules": ", since max_rules left no room for its box",
}
_OUTSIDE: dict[str, str] = {
    "outside_range": "a value is outside of a declared range",
    "relation": "the row does not satisfy a declared relation",
    "unknown_category": "the model does not know a category",
}


@dataclass(frozen=True, slots=True)
class FailedCondition:
    """A condition that a row does not meet.

    Parameters
    ----------
    condition : str
        In words.
    values : tuple of (str, float or str or None)
        The features of the condition, each with the value of the row: a number, a category, None if it is missing.
    imputed : tuple of str
        The features whose value is missing and counts as the value given.

    Examples
    --------
    >>> print(FailedCondition("bmi is at least 30", (("bmi", 29.5),)))
    bmi is at least 30 (bmi is 29.5)
    """

    condition: str
    values: tuple[tuple[str, float | str | None], ...]
    imputed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.condition} ({self.values_text})"

    @property
    def values_text(self) -> str:
        """The values of the row, in words."""
        return ", ".join(
            f"{plain(name)} is {self._shown(name, value)}" for name, value in self.values
        )

    def _shown(self, name: str, value: float | str | None) -> str:
        if value is None:
            return "missing"
        text = plain(value) if isinstance(value, str) else format_number(value)
        return f"missing and counts as {text}" if name in self.imputed else text


@dataclass(frozen=True, slots=True)
class RowCoverage:
    """Which rule covers a row, or why none does.

    Parameters
    ----------
    status : str
        "covered"; "outside_range", beyond a declared range or, with a nearest rule, beyond the values seen in training;
        "relation", against a declared relation between features; "unknown_category", one that the model does not
        know; "missing_value", one that the model does not impute; "dropped_box", in a box that was found and gave no
        rule; "failed_conditions", where the nearest rule fails at conditions; "no_rule", where none is for the class.
    rule : int, optional
        Position in `rules_` of the rule that covers the row, or of the nearest one for the predicted class.
    label : str, int, float or bool, optional
        The class of that rule.
    predicted : str, int, float or bool, optional
        The class that the model predicts for a row that no rule covers; None where it cannot be asked.
    failed : tuple of FailedCondition
        The conditions that the row does not meet: those of the nearest rule, or those that all rules share.
    n_conditions : int, default 0
        How many conditions the nearest rule has.
    option : str, optional
        The option by which a dropped box gave no rule: "min_coverage" or "max_rules".

    Examples
    --------
    >>> failed = (FailedCondition("bmi is at least 30", (("bmi", 29.5),)),)
    >>> print(RowCoverage("failed_conditions", 1, "a", "a", failed, 2))
    No rule covers the row. The nearest one for a, rule 2, fails at 1 of 2 conditions: bmi is at least 30 (bmi is 29.5).
    """

    status: CoverageStatus
    rule: int | None = None
    label: Label | None = None
    predicted: Label | None = None
    failed: tuple[FailedCondition, ...] = ()
    n_conditions: int = 0
    option: str | None = None

    @property
    def is_covered(self) -> bool:
        """Whether a rule covers the row."""
        return self.status == "covered"

    @property
    def text(self) -> str:
        """The answer as sentences."""
        return f"{self._summary}{': ' if self.failed else ''}{'; '.join(map(str, self.failed))}."

    @property
    def _summary(self) -> str:
        """The answer without the conditions, and without a full stop."""
        if self.rule is None or self.label is None:
            if self.status == "no_rule":
                which = (
                    ""
                    if self.predicted is None
                    else f" for {plain(self.predicted)}, its class by the model"
                )
                return f"No rule covers the row: there is none{which}"
            return f"No rule covers the row, since {_OUTSIDE[self.status]}"
        if self.is_covered:
            return f"Rule {self.rule + 1} ({plain(self.label)}) covers the row"
        reason = _REASONS.get(self.option or self.status, "")
        count = f"{len(self.failed)} of {self.n_conditions} condition{'s' if self.n_conditions != 1 else ''}"
        nearest = f"The nearest one for {plain(self.label)}, rule {self.rule + 1}, fails at {count}"
        return f"No rule covers the row{reason}. {nearest}"

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data for JSON; rules are counted from 1.

        Examples
        --------
        >>> RowCoverage("covered", 0, "ill").to_dict()["rule"]
        1
        """
        return {
            "status": self.status,
            "rule": None if self.rule is None else self.rule + 1,
            "class": self.label,
            "predicted": self.predicted,
            "failed": [
                {"condition": part.condition, "values": dict(part.values)} for part in self.failed
            ],
            "conditions": self.n_conditions,
            "text": self.text,
        }

    def _repr_html_(self) -> str:
        from clearmargin.templates import html_table, render_macro

        lines = [f"{self._summary}."]
        if not self.failed:
            return render_macro("notebook.html", "lines", items=lines)
        rows = [(part.condition, part.values_text) for part in self.failed]
        return html_table(("condition that fails", "the row"), rows, lines=lines)


class DroppedBox(NamedTuple):
    """A box that was found and gave no rule.

    Parameters
    ----------
    region : Box
        Over the user's features.
    label : str, int, float or bool
        Its class.
    option : str
        The option by which it gave none: "min_coverage", it holds fewer training rows; or "max_rules".
    """

    region: Box
    label: Label
    option: DropOption


def split_conditions(region: Region) -> list[Region]:
    """Split a region into regions of one condition each, which it is the intersection of.

    Parameters
    ----------
    region : Box or Polyhedron
        The premise of a rule.

    Returns
    -------
    list of Box or Polyhedron
        One for each feature of a box; for a polyhedron its inequalities, then its other conditions.

    Examples
    --------
    >>> box = Box([0.0, -np.inf, 2.0], [1.0, np.inf, 3.0])
    >>> [part.bounded for part in split_conditions(box)]
    [(0,), (2,)]
    """
    n = region.n_features
    parts: list[Region] = []
    if isinstance(region, Box):
        features = region.entries.features.tolist()
        parts += [Box.from_intervals({j: region.interval(j)}, n) for j in features]
    else:
        rows = zip(region.A, region.b, region.strict, strict=True)
        parts += [Polyhedron([row], [limit], [strict]) for row, limit, strict in rows]
    parts += [Box.from_intervals({}, n, {j: codes}) for j, codes in region.sets.allowed]
    parts += [Box.from_intervals({}, n, missing=[j]) for j in region.missing]
    parts += [Box.from_intervals({}, n, known=[j]) for j in region.known]
    return parts


def nearest_rules(
    rules: RuleSet, points: FloatArray, labels: Sequence[Label | None]
) -> tuple[IntArray, IntArray]:
    """Find for each row the rule of its class with the fewest conditions that the row fails.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    points : ndarray of shape (m, n)
        Rows as `RuleSet.covers` takes them: numbers and codes of categories.
    labels : sequence of labels or None
        The class whose rules are asked; None for all rules.

    Returns
    -------
    nearest : ndarray of int of shape (m,)
        Positions of rules, the first of several; -1 where the class has none.
    failed : ndarray of int of shape (m,)
        How many conditions fail.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> rules = parse_rules("a > 1 and b > 1 => yes" + chr(10) + "a > 2 => yes")
    >>> nearest_rules(rules, np.array([[0.0, 0.0], [0.0, 2.0]]), ["yes", "yes"])
    (array([1, 0]), array([1, 1]))
    """
    nearest, fewest = np.full(len(points), -1), np.full(len(points), np.iinfo(np.intp).max)
    is_asked = {
        label: np.array([asked is None or asked == label for asked in labels], dtype=np.bool_)
        for label in {rule.label for rule in rules}
    }
    for k, rule in enumerate(rules):
        failed = np.zeros(len(points), dtype=np.intp)
        for part in split_conditions(rule.region):
            failed += ~part.contains(points)
        nearer = is_asked[rule.label] & (failed < fewest)
        nearest[nearer], fewest[nearer] = k, failed[nearer]
    return nearest, fewest


@dataclass(frozen=True, slots=True, eq=False)
class CoverageExplainer:
    """Explains for rows which rule covers them, or why none does.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    space : FeatureSpace
        The features with the ranges seen in training.
    domain : Domain, optional
        The cases that all rules are about, as far as they were declared.
    categorical : sequence of int
        The features whose category must be one that the model knows.
    dropped : sequence of DroppedBox
        Boxes that were found and gave no rule.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> rules = parse_rules("age > 50 => old")
    >>> explainer = CoverageExplainer(rules, rules.space)
    >>> X = [[60.0], [40.0]]
    >>> for row in explainer.explain(X, np.array(X), rules.which(X), None, ["old", "old"]):
    ...     print(row)
    Rule 1 (old) covers the row.
    No rule covers the row. The nearest one for old, rule 1, fails at 1 of 1 condition: age is more than 50 (age is 40).
    """

    rules: RuleSet
    space: FeatureSpace
    domain: Domain | None = None
    categorical: Sequence[int] = ()
    dropped: Sequence[DroppedBox] = ()

    def explain(
        self,
        X: Any,
        table: FloatArray,
        which: IntArray,
        outside: BoolArray | None,
        predicted: Sequence[Label | None],
        imputed: BoolArray | None = None,
    ) -> list[RowCoverage]:
        """Explain each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows as the user gave them.
        table : ndarray of shape (m, n_features)
            The same rows as numbers and codes of categories.
        which : ndarray of int of shape (m,)
            The rule that covers each row, -1 for none.
        outside : ndarray of bool of shape (m,) or None
            Rows that no rule is about, whatever its conditions; None for no such row.
        predicted : sequence of labels or None
            The classes that the model predicts for rows that no rule covers.
        imputed : ndarray of bool of shape (m, n_features), optional
            Which values of the table were missing and count as what the model imputes.

        Returns
        -------
        list of RowCoverage
            One a row.
        """
        rows = _Rows(X, table, self.space, imputed)
        is_outside = np.zeros(len(table), dtype=np.bool_) if outside is None else outside
        bare = np.flatnonzero((which < 0) & ~is_outside)
        nearest = np.full(len(table), -1)
        classes = [predicted[row] for row in bare.tolist()]
        nearest[bare], _ = nearest_rules(self.rules, table[bare], classes)
        options: list[DropOption | None] = [None] * len(table)
        for row, option in zip(
            bare.tolist(), self._drop_options(table[bare], classes), strict=True
        ):
            options[row] = option
        answers = []
        for row, k in enumerate(which.tolist()):
            if k >= 0:
                answers.append(RowCoverage("covered", k, self.rules[k].label))
            elif is_outside[row]:
                answers.append(self._outside(rows, row))
            else:
                answers.append(
                    self._uncovered(rows, row, int(nearest[row]), predicted[row], options[row])
                )
        return answers

    def _outside(self, rows: _Rows, row: int) -> RowCoverage:
        """Explain a row that no rule is about: beyond declared ranges or relations, or with an unknown category."""
        domain = self.domain or Domain(self.space)
        ranges = rows.failed(row, split_conditions(_declared_box(domain, rows.table[row])))
        if ranges:
            return RowCoverage("outside_range", failed=ranges)
        relations = () if domain.relations is None else split_conditions(domain.relations)
        tied = rows.failed(row, relations)
        if tied:
            return RowCoverage("relation", failed=tied)
        every = {j: range(len(self.space.categories[j] or ())) for j in self.categorical}
        known = split_conditions(Box.from_intervals({}, len(self.space), every))
        return RowCoverage("unknown_category", failed=rows.failed(row, known))

    def _uncovered(
        self,
        rows: _Rows,
        row: int,
        nearest: int,
        predicted: Label | None,
        option: DropOption | None,
    ) -> RowCoverage:
        """Explain a row by the conditions of its nearest rule."""
        if nearest < 0:
            return RowCoverage("no_rule", predicted=predicted)
        rule = self.rules[nearest]
        parts = split_conditions(rule.region)
        status = rows.reason(row, parts)
        if status != "failed_conditions":
            option = None
        elif option is not None:
            status = "dropped_box"
        failed = rows.failed(row, parts)
        return RowCoverage(status, nearest, rule.label, predicted, failed, len(parts), option)

    def _drop_options(
        self, points: FloatArray, labels: Sequence[Label | None]
    ) -> list[DropOption | None]:
        """Tell for each row by which option a box of its class that holds it gave no rule; None for no such box."""
        found: list[DropOption | None] = [None] * len(points)
        for label in {box.label for box in self.dropped}:
            boxes = [box for box in self.dropped if box.label == label]
            first = Boxes.of([box.region for box in boxes]).first(points)
            for row in np.flatnonzero(first >= 0).tolist():
                if labels[row] == label:
                    found[row] = boxes[first[row]].option
        return found


def explain_rule_coverage(rules: RuleSet, X: Any) -> list[RowCoverage]:
    """Tell for each row which rule covers it or why none does, by the rules alone; see `CoverageExplainer`.

    Examples
    --------
    >>> from clearmargin.language import parse_rules
    >>> explain_rule_coverage(parse_rules("age > 50 => old"), [[60.0], [40.0]])[1].status
    'failed_conditions'
    """
    table = rules.space.read(X)
    explainer = CoverageExplainer(rules, rules.space)
    return explainer.explain(X, table, rules.which(table), None, [None] * len(table))


def _declared_box(domain: Domain, point: FloatArray) -> Box:
    """Give the declared ranges as a box; a value that is missing is outside of none."""
    known = ~np.isnan(point)
    return Box(
        np.where(domain.lower_declared & known, domain.space.lower, -np.inf),
        np.where(domain.upper_declared & known, domain.space.upper, np.inf),
    )


class _Rows:
    """Rows with their values in words."""

    def __init__(self, X: Any, table: FloatArray, space: FeatureSpace, imputed: BoolArray | None):
        self._given = X
        self._imputed = np.zeros(table.shape, dtype=np.bool_) if imputed is None else imputed
        self.table = table
        self.space = space
        self.is_categorical = np.array([c is not None for c in space.categories], dtype=np.bool_)

    def failed(self, row: int, conditions: Sequence[Region]) -> tuple[FailedCondition, ...]:
        """Describe the conditions that a row does not meet."""
        return tuple(
            FailedCondition(
                describe_premise(Rule(part, "rule"), self.space),
                tuple(self._values(row, part)),
                tuple(self.space.names[j] for j in part.bounded if self._imputed[row, j]),
            )
            for part in self._failed(row, conditions)
        )

    def reason(self, row: int, conditions: Sequence[Region]) -> CoverageStatus:
        """Tell what all conditions that a row does not meet have in common."""
        reasons = {self._reason(row, part) for part in self._failed(row, conditions)}
        return reasons.pop() if len(reasons) == 1 else "failed_conditions"

    def _failed(self, row: int, conditions: Sequence[Region]) -> list[Region]:
        return [part for part in conditions if not part.contains(self.table[[row]])[0]]

    def _reason(self, row: int, condition: Region) -> CoverageStatus:
        features = list(condition.bounded)
        values = self.table[row, features]
        if np.isnan(values).any():
            return "missing_value"
        if (values[self.is_categorical[features]] < 0).any():
            return "unknown_category"
        number = ~self.is_categorical[features]
        beyond = (values < self.space.lower[features]) | (values > self.space.upper[features])
        return "outside_range" if (beyond & number).any() else "failed_conditions"

    def _values(self, row: int, condition: Region) -> Iterator[tuple[str, float | str | None]]:
        for j in condition.bounded:
            name, value, categories = (
                self.space.names[j],
                float(self.table[row, j]),
                self.space.categories[j],
            )
            if np.isnan(value):
                yield name, None
            elif categories is None:
                yield name, value
            elif value < 0:  # only the user's table has its name
                column = Table.read(self._given).columns_of(self.space.names)[j]
                yield name, str(column.values[row])
            else:
                yield name, categories[int(value)]
