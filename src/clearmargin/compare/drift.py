"""Drift: whether rules cover and predict on a new table as they did before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import Phrases, format_label
from clearmargin.language.prose import percent
from clearmargin.rules import RuleSet, RuleStats
from clearmargin.rules.value import number

_Method = Literal["exact", "wilson"]
_METHODS: dict[str, _Method] = {"clopper-pearson": "exact", "wilson": "wilson"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A share of rows on a new table, with its interval, beside the same share before."""

    count: int
    total: int
    low: float
    high: float
    before: tuple[int, int] | None = None
    p_value: float | None = None
    q_value: float | None = None

    @property
    def share(self) -> float:
        """The share; NaN without rows."""
        return self.count / self.total if self.total else math.nan

    @property
    def change(self) -> str | None:
        """Whether the share is "up", "down" or the "same" as before; None where that is not known."""
        if self.before is None or not self.before[1] or not self.total:
            return None
        ahead = self.count * self.before[1] - self.before[0] * self.total
        return "same" if not ahead else "up" if ahead > 0 else "down"

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain data for JSON."""
        before = self.before
        return {
            "count": self.count,
            "of": self.total,
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "before": None if before is None else {"count": before[0], "of": before[1]},
            "change": self.change,
            "p_value": self.p_value,
            "q_value": self.q_value,
        }


@dataclass(frozen=True, slots=True)
class RuleDrift:
    """What a rule does on a new table."""

    text: str
    coverage: Figure
    precision: Figure | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """Return the rule and its figures as plain data for JSON."""
        return {
            "rule": self.text,
            "coverage": self.coverage.to_dict(),
            "precision": None if self.precision is None else self.precision.to_dict(),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class DriftReport:
    """What the rules of a set do on a new table.

    Parameters
    ----------
    rules : tuple of RuleDrift
        Each rule by itself.
    rows : int
        The rows of the new table.
    uncovered : int
        Those that no rule covers.
    confidence : float
        The confidence of the intervals, and 1 minus the risk that any change is reported where there is none.
    n_tests : int
        How many comparisons were corrected for.

    See Also
    --------
    compare_rules : What differs between two sets of rules.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> report = check_drift(parse_rules("age >= 60 => ill"), {"age": [70, 65, 30]}, ["ill", "well", "well"])
    >>> report.rules[0].coverage.count, report.rules[0].precision.share, report.uncovered
    (2, 0.5, 1)
    """

    rules: tuple[RuleDrift, ...]
    rows: int
    uncovered: int
    confidence: float
    n_tests: int

    @property
    def drifted(self) -> tuple[int, ...]:
        """Places of rules for which a change is shown, or that cover no row any more."""
        quiet = ("no change shown", "no figures before")
        return tuple(k for k, rule in enumerate(self.rules) if rule.verdict not in quiet)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data for JSON."""
        return {
            "rows": self.rows,
            "uncovered": self.uncovered,
            "confidence": self.confidence,
            "tests": self.n_tests,
            "drifted": [k + 1 for k in self.drifted],
            "rules": [rule.to_dict() for rule in self.rules],
        }

    def __str__(self) -> str:
        level = percent(round(1000 * self.confidence), 1000)
        lines = [f"{self.rows} rows, {self.uncovered} of them under no rule; intervals of {level}."]
        for k, rule in enumerate(self.rules, 1):
            lines += [f"{k}. {rule.text}", f"   covers  {_figure(rule.coverage)}"]
            if rule.precision is not None:
                lines.append(f"   right   {_figure(rule.precision)}")
            lines.append(f"   {rule.verdict}")
        if not self.n_tests:
            lines.append("The rules have no figures from before, so that no change can be shown.")
            return "\n".join(lines)
        risk = percent(round(1000 * (1 - self.confidence)), 1000)
        lines.append(
            f"A change is shown where its p-value, corrected by Holm for all {self.n_tests} comparisons, is at most "
            f"{risk}.\nWhere none is shown, there may be one that these rows are too few to show. Figures of the rows\n"
            "that rules were found on are too good, so that a loss of precision on other rows is no drift."
        )
        return "\n".join(lines)


def _figure(figure: Figure) -> str:
    if not figure.total:
        return "no rows"
    text = (
        f"{figure.count} of {figure.total} ({percent(figure.count, figure.total)}, "
        f"between {_bound(figure.low)} and {_bound(figure.high)})"
    )
    if figure.before is None or not figure.before[1]:
        return text
    text += f"; before {figure.before[0]} of {figure.before[1]} ({percent(*figure.before)})"
    if figure.q_value is not None:
        text += f", p = {_p_text(figure.q_value)}"
    return text


def _bound(share: float) -> str:
    return f"{100 * share:.1f} %"


def _p_text(p: float) -> str:
    return "below 0.0001" if p < 1e-4 else f"{p:.2g}"


def check_drift(
    rules: RuleSet,
    X: Any,
    y: Any = None,
    *,
    before: Sequence[RuleStats | None] | None = None,
    confidence: float = 0.95,
    interval: str = "clopper-pearson",
) -> DriftReport:
    """Check whether rules cover and predict on a new table as they did before.

    Parameters
    ----------
    rules : RuleSet
        The rules; each is judged by itself, also where several cover a row.
    X : data frame or array-like of shape (m, n)
        The new table.
    y : array-like of shape (m,), optional
        Its classes; without them only coverage is checked.
    before : sequence of RuleStats or None, optional
        The old figures of each rule; by default those in the rules themselves, `Rule.stats`.
    confidence : float, default 0.95
        Confidence of the intervals, and 1 minus the risk that any change is reported where there is none.
    interval : {"clopper-pearson", "wilson"}, default "clopper-pearson"
        Exact intervals, which hold their confidence for every share, or Wilson's shorter ones, which hold it on the
        average.

    Returns
    -------
    DriftReport
        The figures of each rule with intervals, and what has changed.

    Notes
    -----
    Old and new shares are compared by Fisher's exact test. All comparisons, two for each rule, are corrected together
    by the method of Holm (1979), which needs no independence.

    Examples
    --------
    >>> from clearmargin import RuleStats, parse_rules
    >>> rules = parse_rules("age >= 60 => ill")
    >>> report = check_drift(
    ...     rules, {"age": [70] * 40 + [30] * 60}, ["ill"] * 10 + ["well"] * 90, before=[RuleStats(200, 80, 76)]
    ... )
    >>> report.rules[0].verdict
    'less often right'
    """
    level = number(confidence, "confidence")
    if not 0 < level < 1:
        raise InvalidValueError(f"confidence must be between 0 and 1, not {level:g}")
    if interval not in _METHODS:
        raise InvalidValueError(f"interval must be 'clopper-pearson' or 'wilson', not {interval!r}")
    if before is not None and len(before) != len(rules):
        raise InvalidValueError(f"there are {len(rules)} rules, and old figures of {len(before)}")
    scores = rules.score(X, y)
    if not scores.total.rows:
        raise DataError("the new table has no rows")
    old = [rule.stats for rule in rules] if before is None else list(before)
    figures = [
        _figures(now, then, level, _METHODS[interval])
        for now, then in zip(scores.rules, old, strict=True)
    ]
    tested = [
        f.p_value for pair in figures for f in pair if f is not None and f.p_value is not None
    ]
    corrected = iter(holm(tested))
    judged = [tuple(None if f is None else _with_q(f, corrected) for f in pair) for pair in figures]
    phrases = Phrases(rules.space)
    parts = [
        RuleDrift(
            f"{phrases.premise(rule)} => {format_label(rule.label)}",
            coverage,
            precision,
            _verdict(coverage, precision, 1 - level),
        )
        for rule, (coverage, precision) in zip(rules, judged, strict=True)
        if coverage is not None
    ]
    total = scores.total
    return DriftReport(tuple(parts), total.rows, total.rows - total.covered, level, len(tested))


def _figures(
    now: RuleStats, then: RuleStats | None, level: float, method: _Method
) -> tuple[Figure, Figure | None]:
    """Measure coverage and precision, not yet corrected."""
    covered = None if then is None else (then.covered, then.rows)
    coverage = _share(now.covered, now.rows, covered, level, method)
    if now.correct is None:
        return coverage, None
    right = None if then is None or then.correct is None else (then.correct, then.covered)
    return coverage, _share(now.correct, now.covered, right, level, method)


def _share(
    count: int, total: int, before: tuple[int, int] | None, level: float, method: _Method
) -> Figure:
    from scipy.stats import binomtest, fisher_exact

    low, high = 0.0, 1.0
    if total:
        found = binomtest(count, total).proportion_ci(level, method=method)
        low, high = float(found.low), float(found.high)
    p_value = None
    if total and before is not None and before[1]:
        table = np.array([[count, total - count], [before[0], before[1] - before[0]]])
        p_value = min(1.0, float(fisher_exact(table)[1]))
    return Figure(count, total, low, high, before, p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number by the method of Holm (1979)."""
    order = np.argsort(p_values, kind="stable")
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, k in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - rank) * float(p_values[k])))
        corrected[k] = largest
    return corrected


def _with_q(figure: Figure, corrected: Any) -> Figure:
    if figure.p_value is None:
        return figure
    return Figure(
        figure.count,
        figure.total,
        figure.low,
        figure.high,
        figure.before,
        figure.p_value,
        next(corrected),
    )


_WORDS = {
    ("coverage", "up"): "covers more",
    ("coverage", "down"): "covers less",
    ("precision", "up"): "more often right",
    ("precision", "down"): "less often right",
}


def _verdict(coverage: Figure, precision: Figure | None, risk: float) -> str:
    shown = [
        _WORDS[name, figure.change]
        for name, figure in (("coverage", coverage), ("precision", precision))
        if figure is not None
        and figure.q_value is not None
        and figure.q_value <= risk
        and figure.change in ("up", "down")
    ]
    if not coverage.count:
        return "covers no row"
    if shown:
        return ", ".join(shown)
    tested = [f for f in (coverage, precision) if f is not None and f.q_value is not None]
    return "no change shown" if tested else "no figures before"
