"""What the data make of an expert's rule: for each of its bounds, where it would tell the classes apart best.

The quality of a rule is its leverage: the share of its class that it covers less the share of the other class. With
everything else as the expert wrote it, the best place of one bound is found by a sum over sorted values. What is found
on rows is too good on the same rows, so it is found anew without each fold and judged on that fold, and only a bound
whose gain there is well beyond its standard error is suggested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearmargin.language.printer import format_number
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.rule import Rule
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.workbench.project_table import OpenTask

# Standard errors that a gain has to be beyond, from Student's distribution with four degrees of freedom (five folds).
# Folds are not quite independent: on noise, 4 % of the bounds are beyond it, instead of 2.5 %.
_ERRORS = 2.78


@dataclass(frozen=True, slots=True)
class BoundSuggestion:
    """A better place for one bound of one rule."""

    rule: int
    feature: str
    side: str
    before: float
    after: float
    gain: float
    error: float
    covered: tuple[int, int]
    right: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON; a bound that is dropped has no place."""
        return {
            "rule": self.rule,
            "feature": self.feature,
            "side": self.side,
            "before": self.before,
            "after": self.after if math.isfinite(self.after) else None,
            "gain": self.gain,
            "error": self.error,
            "covered": list(self.covered),
            "right": list(self.right),
            "why": self.why,
        }

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        sign = ">=" if self.side == "low" else "<="
        change = (
            f"{self.feature} {sign} {format_number(self.after)} instead of {format_number(self.before)}"
            if math.isfinite(self.after)
            else f"no bound {sign} {format_number(self.before)} on {self.feature}"
        )
        return (
            f"{change}: right on {self.right[1]} of {self.covered[1]} covered cases instead of {self.right[0]} of "
            f"{self.covered[0]}; on cases that had no part in finding it, it tells the classes apart by "
            f"{100 * self.gain:.1f} points more (standard error {100 * self.error:.1f})"
        )


def suggest_bounds(opened: OpenTask, rules: RuleSet) -> list[BoundSuggestion]:
    """Find better places for the bounds of rules, one by one."""
    found = [s for k, rule in enumerate(rules) for s in _of_rule(opened, k, rule)]
    return sorted(found, key=lambda s: -s.gain)


def _of_rule(opened: OpenTask, k: int, rule: Rule) -> Iterator[BoundSuggestion]:
    box = rule.region
    if not isinstance(box, Box) or rule.label not in opened.classes:
        return
    is_class = opened.codes == opened.classes.index(rule.label)
    for j in box.bounded:
        if j in box.missing or j in box.sets or not box.has_bounds(j):
            continue
        interval = box.interval(j)
        for side, place in (("low", interval.low), ("high", interval.high)):
            if math.isfinite(place):
                search = _Search(opened, box, j, side, is_class)
                suggestion = search.suggestion(k, place)
                if suggestion is not None:
                    yield suggestion


class _Search:
    """The search for the best place of one bound, everything else as it is."""

    def __init__(self, opened: OpenTask, box: Box, j: int, side: str, is_class: BoolArray):
        self.opened, self.j, self.side, self.is_class = opened, j, side, is_class
        interval = box.interval(j)
        low, high = box.lower.copy(), box.upper.copy()
        low_closed, high_closed = box.lower_closed.copy(), box.upper_closed.copy()
        if side == "low":
            low[j], low_closed[j] = -np.inf, False
            self.is_open = not interval.low_closed
        else:
            high[j], high_closed[j] = np.inf, False
            self.is_open = not interval.high_closed
        without = Box(low, high, low_closed, high_closed, box.sets, box.missing, box.known)
        values = opened.points[:, j]
        # A condition on a missing value is false, whatever the bound.
        self.rows: IntArray = np.flatnonzero(without.contains(opened.points) & ~np.isnan(values))
        # As if all bounds were upper ones.
        self.sign = -1.0 if side == "low" else 1.0
        self.values: FloatArray = self.sign * values

    def leverage(self, place: float, rows: BoolArray) -> float:
        """Return how well a place tells the classes of some rows apart."""
        counts = [max(int((rows & (self.is_class == side)).sum()), 1) for side in (True, False)]
        covered = self._covered(place)
        covered = covered[rows[covered]]
        right = int(self.is_class[covered].sum())
        return right / counts[0] - (len(covered) - right) / counts[1]

    def _covered(self, place: float) -> IntArray:
        values = self.values[self.rows]
        limit = self.sign * place
        return self.rows[values < limit] if self.is_open else self.rows[values <= limit]

    def best(self, rows: BoolArray, now: float) -> float:
        """Find the place with the highest leverage on some rows; of equal ones that nearest to where the bound is."""
        here = self.rows[rows[self.rows]]
        if not len(here):
            return now
        n_class = max(int((rows & self.is_class).sum()), 1)
        n_other = max(int((rows & ~self.is_class).sum()), 1)
        order = here[np.argsort(self.values[here], kind="stable")]
        values = self.values[order]
        gains = np.where(self.is_class[order], 1.0 / n_class, -1.0 / n_other)
        totals = np.cumsum(gains)
        is_end = np.append(values[1:] > values[:-1], True)
        ends = np.flatnonzero(is_end)
        # Sums in another order differ in their last digits.
        is_best = totals[ends] >= totals[ends].max() - 1e-9
        candidates = ends[is_best]
        nearest = candidates[np.argmin(np.abs(values[candidates] - self.sign * now))]
        if nearest == len(values) - 1:
            return self.sign * math.inf
        return self._place(float(values[nearest]), float(values[nearest + 1]))

    def _place(self, last: float, beyond: float) -> float:
        """Choose a short number between the last value that is covered and the first that is not."""
        if self.opened.space.integer[self.j]:
            return self.sign * (beyond if self.is_open else last)
        low, high = (last, beyond) if self.sign > 0 else (-beyond, -last)
        includes_low = (self.sign > 0) != self.is_open
        return short_between(low, high, includes_low=includes_low)

    def suggestion(self, k: int, now: float) -> BoundSuggestion | None:
        """Suggest the best place on all rows, if the way to it is better on rows that had no part in it."""
        everyone = np.ones(len(self.is_class), dtype=np.bool_)
        after = self.best(everyone, now)
        before_rows, after_rows = self._covered(now), self._covered(after)
        if np.array_equal(before_rows, after_rows):
            return None
        gains = []
        for train, test in self.opened.folds.pairs:
            training, judged = np.zeros((2, len(everyone)), dtype=np.bool_)
            training[train], judged[test] = True, True
            place = self.best(training, now)
            gains.append(self.leverage(place, judged) - self.leverage(now, judged))
        gain = float(np.mean(gains))
        error = float(np.std(gains, ddof=1) / math.sqrt(len(gains))) if len(gains) > 1 else math.inf
        if not gain > _ERRORS * error:
            return None
        made = BoundSuggestion(
            k,
            self.opened.space.names[self.j],
            self.side,
            now,
            after,
            gain,
            error,
            (len(before_rows), len(after_rows)),
            (int(self.is_class[before_rows].sum()), int(self.is_class[after_rows].sum())),
        )
        # No bound at all is written as such.
        return made if math.isfinite(after) else replace(made, after=math.inf)


def short_between(low: float, high: float, *, includes_low: bool) -> float:
    """Find the number with the fewest digits between two others."""
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if (low <= short < high) if includes_low else (low < short <= high):
            return short
    return low if includes_low else high
