"""The fewest features that force the class of a case beside hyperplanes, each with a wide interval.

A class is where some scores are positive, f_h(x) = sum_j a_hj x_j + b_h; two classes have one score. Let every feature
lie in its range, widened to the case where the case is outside, and a categorical feature have exactly one category. If
feature j of a case z is *freed*, score h can lose at most ::

    l_hj  =  a_hj z_j - min over the range of a_hj x_j

so the other features force the class as long as ``sum over the freed j of l_hj <= f_h(z)`` (less what rounding may do).
With one score the most features are freed by freeing those with the smallest loss first: sorting is exact. With several
scores it is a knapsack with a capacity for each, solved by branch and bound; sorting for each score alone is the bound.

What is left of f_h(z) is shared by the features that are kept, so that the case is well inside: with one score by
levels (`fill_by_levels`), which makes the product of what is beyond the case largest, with several in equal shares;
what whole numbers and categories leave over is spent feature by feature. A condition has an end only towards a plane.
Ends are rounded inwards to few digits.

Everything is computed for all cases at once in floating point, with a bound on all roundings, those of the model
included (`ScoreError`). Where the bound does not decide, fractions and exact sums do, case by case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clearmargin.models.margin import DOUBLE, Margin
from clearmargin.models.surface import Surface
from clearmargin.rules import Box, FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# All spend a billionth less than they could, so that rounding does not decide about their proof.
_SHY = 1.0 - 1e-9
# Cases that are computed together, and nodes of the search among several planes for one case.
_CHUNK = 4_096
_MAX_NODES = 5_000
# Ends are rounded to about one hundredth of the range of their feature, and to more digits near the case.
_STEPS, _MORE_DIGITS = 100.0, 4
# Smaller steps would need powers of ten that floats do not have.
_LEAST_STEP = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """Sufficient reasons of several cases."""

    kept: BoolArray
    lower: FloatArray
    upper: FloatArray
    allowed: dict[int, BoolArray]
    is_proved: BoolArray
    is_fewest: BoolArray
    asked: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def n_conditions(self) -> IntArray:
        """The number of features with a condition, for each case."""
        return np.asarray(self.kept.sum(axis=1))

    def box(self, k: int) -> Box:
        """Give the region of case k over the user's features."""
        sets = {
            j: np.flatnonzero(allowed[k]).tolist()
            for j, allowed in self.allowed.items()
            if self.kept[k, j] and not allowed[k].all()
        }
        lower = np.where(self.kept[k], self.lower[k], -np.inf)
        upper = np.where(self.kept[k], self.upper[k], np.inf)
        return Box(lower, upper, sets=sets, known=self.asked)


class ReasonSearch:
    """Finds sufficient reasons beside the planes of a linear classifier, within the ranges of some features."""

    def __init__(self, surface: Surface, ranges: FeatureSpace):
        self.surface, self.ranges = surface, ranges
        self.features = [j for j in range(len(ranges)) if j not in surface.unused]

    def find(self, cases: FloatArray, codes: IntArray) -> Reasons:
        """Find a reason for each case."""
        p, n = cases.shape
        named = {j: known for j in self.features if (known := self.ranges.categories[j])}
        found = Reasons(
            np.zeros((p, n), dtype=np.bool_),
            np.full((p, n), -np.inf),
            np.full((p, n), np.inf),
            {j: np.ones((p, len(known)), dtype=np.bool_) for j, known in named.items()},
            np.zeros(p, dtype=np.bool_),
            np.ones(p, dtype=np.bool_),
            self.surface.asked,
        )
        for code in np.unique(codes).tolist():
            rows, margins = np.flatnonzero(codes == code), self.surface.margins(code)
            for first in range(0, len(rows), _CHUNK):
                part = rows[first : first + _CHUNK]
                _Batch(self, cases[part], margins).write(found, part)
        return found


class _Batch:
    """Cases of one class: what their margins can lose, what is freed, and how wide the rest is."""

    def __init__(self, search: ReasonSearch, Z: FloatArray, margins: Sequence[Margin]):
        self.search, self.features = search, search.features
        self.Z, self.margins = Z, margins
        ranges = search.ranges
        self.low, self.high = np.minimum(ranges.lower, Z), np.maximum(ranges.upper, Z)
        self.weights = np.stack([margin.coef for margin in margins])
        # What each category of a feature adds to each margin.
        self.tables = {
            j: np.stack([m.tables.get(j, np.zeros(len(known))) for m in margins])
            for j in self.features
            if (known := ranges.categories[j])
        }
        self.codes = {j: Z[:, j].astype(np.intp) for j in self.tables}
        self.scores = np.stack([margin.values(Z) for margin in margins])
        self.band = np.array([self._band(margin) for margin in margins])[:, None]
        self.losses = np.stack([self._losses(h) for h in range(len(margins))])
        with np.errstate(invalid="ignore"):
            self.whole = ranges.integer & np.equal(Z, np.floor(Z))

    def _band(self, margin: Margin) -> float:
        """Bound what all roundings can do to a margin of a case and to losses anywhere in the ranges."""
        used = np.flatnonzero(margin.coef)
        reach = np.max(np.maximum(np.abs(self.low), np.abs(self.high)), axis=0, initial=0.0)
        size = float((np.abs(margin.coef[used]) * reach[used]).sum()) + abs(margin.constant)
        size += sum(float(np.abs(table).max()) for table in margin.tables.values())
        n_terms = len(used) + len(margin.tables)
        return margin.bound(reach) + (n_terms + 8) * 8.0 * DOUBLE * size

    def _losses(self, h: int) -> FloatArray:
        """Compute for each case and feature what a margin loses at most if the feature is freed."""
        losses = np.zeros((len(self.Z), len(self.features)))
        for place, j in enumerate(self.features):
            a = self.weights[h, j]
            if j in self.tables:
                table = self.tables[j][h]
                losses[:, place] = table[self.codes[j]] - table.min()
            elif a != 0:
                worst = self.low[:, j] if a > 0 else self.high[:, j]
                losses[:, place] = a * (self.Z[:, j] - worst)
        return losses

    def write(self, found: Reasons, rows: IntArray) -> None:
        """Find the reasons and write them to their rows."""
        free, is_fewest = self._freed()
        lower, upper, sets = self._intervals(~free)
        certain = self._is_certain(free, lower, upper, sets)
        for k in np.flatnonzero(~certain).tolist():
            certain[k] = self._settle(k, free, lower, upper, sets)
        self._shorten(lower, upper)
        # A vote can be won without all duels, so that fewer features may be enough than these proofs need.
        is_fewest &= self.search.surface.is_partition | free.all(axis=1)
        found.is_proved[rows], found.is_fewest[rows] = certain, is_fewest
        for place, j in enumerate(self.features):
            found.kept[rows, j] = ~free[:, place]
            if j in self.tables:
                found.allowed[j][rows] = sets[j] | free[:, place, None]
            else:
                found.lower[rows, j] = np.where(free[:, place], -np.inf, lower[:, place])
                found.upper[rows, j] = np.where(free[:, place], np.inf, upper[:, place])

    # Which features are freed.

    def _freed(self) -> tuple[BoolArray, BoolArray]:
        """Choose the most features that can be freed, for each case; and tell where that is sure to be the most."""
        slack = self.scores
        order = np.argsort(self.losses, axis=2, kind="stable")
        totals = np.cumsum(np.take_along_axis(self.losses, order, axis=2), axis=2)
        sure = (totals <= (slack - self.band)[:, :, None]).sum(axis=2)
        possible = (totals <= (slack + self.band)[:, :, None]).sum(axis=2)
        ranks = np.argsort(order, axis=2, kind="stable")
        if len(self.margins) == 1:
            free = ranks[0] < sure[0][:, None]
            for k in np.flatnonzero(sure[0] != possible[0]).tolist():
                free[k] = self._freed_exactly(k, int(sure[0, k]), int(possible[0, k]))
            return free, np.ones(len(free), dtype=np.bool_)
        return self._freed_of_several(possible.min(axis=0))

    def _freed_exactly(self, k: int, sure: int, possible: int) -> BoolArray:
        """Decide in fractions how many features of one case can be freed."""
        exact = [self._exact_loss(k, j) for j in range(len(self.features))]
        order = sorted(range(len(exact)), key=lambda j: (exact[j], j))
        for count in range(possible, sure, -1):
            free = np.isin(np.arange(len(exact)), order[:count])
            if self._proves(k, free, *self._at_case(k)):
                return free
        return np.isin(np.arange(len(exact)), order[:sure])

    def _exact_loss(self, k: int, place: int) -> Fraction | float:
        j = self.features[place]
        a = float(self.weights[0, j])
        if j in self.tables:
            group = [Fraction(w) for w in self.tables[j][0].tolist()]
            return group[int(self.codes[j][k])] - min(group)
        if a == 0:
            return Fraction(0)
        worst = float(self.low[k, j] if a > 0 else self.high[k, j])
        if not np.isfinite(worst):
            return float("inf")
        return Fraction(a) * (Fraction(float(self.Z[k, j])) - Fraction(worst))

    def _freed_of_several(self, most: IntArray) -> tuple[BoolArray, BoolArray]:
        """Choose features beside several planes: greedily, and by branch and bound where that may not be the most."""
        room = self.scores - self.band
        shares = np.max(self.losses / np.maximum(room, 1e-300)[:, :, None], axis=0)
        order = np.argsort(shares, axis=1, kind="stable")
        free, left = np.zeros(shares.shape, dtype=np.bool_), room.copy()
        every = np.arange(len(free))
        for j in order.T:
            loss = self.losses[:, every, j]
            fits = (loss <= left).all(axis=0)
            free[every, j] |= fits
            left -= np.where(fits, loss, 0.0)
        is_fewest = free.sum(axis=1) >= most
        for k in np.flatnonzero(~is_fewest & (room >= 0).all(axis=0)).tolist():
            free[k], is_fewest[k] = self._freed_by_search(k, order[k], free[k])
        return free, is_fewest

    def _freed_by_search(self, k: int, order: IntArray, start: BoolArray) -> tuple[BoolArray, bool]:
        """Free the most features of one case, and tell whether none can be freed beside them, whatever was rounded."""
        losses, band = self.losses[:, k], self.band[:, 0]
        room = self.scores[:, k] - band
        most, is_most = _most_items(losses, room + 2.0 * band, order, start)
        if not (losses[:, most].sum(axis=1) > room).any():
            return most, is_most
        # What goes in if all roundings were kind is only a bound.
        free, _ = _most_items(losses, room, order, start)
        return free, is_most and int(free.sum()) == int(most.sum())

    # How wide the conditions are.

    def _intervals(self, kept: BoolArray) -> tuple[FloatArray, FloatArray, dict[int, BoolArray]]:
        """Share what is left of the scores among the features that are kept."""
        taken = np.where(kept, 0.0, self.losses).sum(axis=2)
        slack = np.maximum((self.scores - taken) * _SHY - 2.0 * self.band, 0.0)
        spend = self._shares(kept, slack)
        p, n = kept.shape
        lower, upper = np.full((p, n), -np.inf), np.full((p, n), np.inf)
        sets: dict[int, BoolArray] = {}
        left = slack
        for place, j in enumerate(self.features):
            if j in self.tables:
                sets[j] = self._allowed(j, spend[:, :, place])
                left = left - kept[:, place] * self._lost_by(j, sets[j])
            else:
                lower[:, place], upper[:, place] = self._ends(j, spend[:, :, place])
                lost = self._lost_between(j, lower[:, place], upper[:, place])
                left = left - kept[:, place] * lost
        # What whole numbers and categories left over.
        for place, j in enumerate(self.features):
            room = np.where(kept[:, place], np.maximum(left, 0.0), 0.0)
            if j in self.tables:
                had = self._lost_by(j, sets[j])
                sets[j] = self._allowed(j, had + room)
                left = left - kept[:, place] * (self._lost_by(j, sets[j]) - had)
            else:
                had = self._lost_between(j, lower[:, place], upper[:, place])
                lower[:, place], upper[:, place] = self._ends(j, had + room)
                lost = self._lost_between(j, lower[:, place], upper[:, place])
                left = left - kept[:, place] * (lost - had)
        return lower, upper, sets

    def _shares(self, kept: BoolArray, slack: FloatArray) -> FloatArray:
        """Give for each score, case and kept feature how much of the score it may cost."""
        if len(self.margins) > 1:
            matters = kept & (self.losses > 0)
            return np.where(
                matters, slack[:, :, None] / np.maximum(matters.sum(axis=2), 1)[:, :, None], 0.0
            )
        high = np.where(kept, self.losses[0], 0.0)
        return fill_by_levels(np.zeros_like(high), high, slack[0])[None]

    def _ends(self, j: int, spend: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the ends of a numeric feature that cost each score at most so much; infinite where none is needed."""
        value, whole = self.Z[:, j], self.whole[:, j]
        lower, upper = np.full(len(value), -np.inf), np.full(len(value), np.inf)
        for a, cost in zip(self.weights[:, j].tolist(), spend, strict=True):
            if a > 0:
                lower = np.maximum(lower, value - cost / a)
            elif a < 0:
                upper = np.minimum(upper, value - cost / a)
        lower = np.where(whole, np.ceil(lower), lower)
        upper = np.where(whole, np.floor(upper), upper)
        # Never beyond the case, nor written where a range ends anyway.
        lower, upper = np.minimum(lower, value), np.maximum(upper, value)
        return (
            np.where(lower <= self.low[:, j], -np.inf, lower),
            np.where(upper >= self.high[:, j], np.inf, upper),
        )

    def _lost_between(self, j: int, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Compute what each score loses at most between the ends of a numeric feature."""
        below = self.Z[:, j] - np.maximum(lower, self.low[:, j])
        above = np.minimum(upper, self.high[:, j]) - self.Z[:, j]
        lost = np.zeros((len(self.weights), len(below)))
        for row, a in zip(lost, self.weights[:, j].tolist(), strict=True):
            if a:
                row[:] = a * below if a > 0 else -a * above
        return lost

    def _allowed(self, j: int, spend: FloatArray) -> BoolArray:
        """Tell which categories cost each margin at most so much."""
        code = self.codes[j]
        allowed = np.ones((len(code), self.tables[j].shape[1]), dtype=np.bool_)
        for table, cost in zip(self.tables[j], spend, strict=True):
            allowed &= table >= (table[code] - cost)[:, None]
        allowed[np.arange(len(code)), code] = True
        return allowed

    def _lost_by(self, j: int, allowed: BoolArray) -> FloatArray:
        """Compute what each margin loses at most among the allowed categories."""
        return np.stack(
            [
                table[self.codes[j]] - np.where(allowed, table, np.inf).min(axis=1)
                for table in self.tables[j]
            ]
        )

    def _shorten(self, lower: FloatArray, upper: FloatArray) -> None:
        """Move ends inwards to numbers of few digits, but never beyond the case."""
        ranges = self.search.ranges
        for place, j in enumerate(self.features):
            if j in self.tables:
                continue
            with np.errstate(over="ignore"):
                reach = float(ranges.upper[j] - ranges.lower[j])
            step = reach / _STEPS
            digits = -int(np.floor(np.log10(step))) if _LEAST_STEP < step < np.inf else 3
            value = self.Z[:, j]
            lower[:, place] = _rounded_up(lower[:, place], digits, value)
            upper[:, place] = -_rounded_up(-upper[:, place], digits, -value)

    # Whether that is certain.

    def _is_certain(
        self, free: BoolArray, lower: FloatArray, upper: FloatArray, sets: dict[int, BoolArray]
    ) -> BoolArray:
        """Tell which cases are proved by the bound on all roundings."""
        lost = np.zeros_like(self.scores)
        for place, j in enumerate(self.features):
            kept = (
                self._lost_by(j, sets[j])
                if j in self.tables
                else self._lost_between(j, lower[:, place], upper[:, place])
            )
            lost += np.where(free[:, place], self.losses[:, :, place], kept)
        with np.errstate(invalid="ignore"):
            return np.asarray((self.scores - lost > self.band).all(axis=0))

    def _at_case(self, k: int) -> tuple[FloatArray, FloatArray, dict[int, BoolArray]]:
        """Give intervals of no width at one case."""
        value = self.Z[k, self.features]
        sets = {j: np.arange(t.shape[1]) == self.codes[j][k] for j, t in self.tables.items()}
        return value, value, sets

    def _settle(
        self,
        k: int,
        free: BoolArray,
        lower: FloatArray,
        upper: FloatArray,
        sets: dict[int, BoolArray],
    ) -> bool:
        """Prove one case exactly: with its intervals, or else with the values of the case."""
        own = {place: allowed[k] for place, allowed in sets.items()}
        if self._proves(k, free[k], lower[k], upper[k], own):
            return True
        lower[k], upper[k], own = self._at_case(k)
        for place, allowed in own.items():
            sets[place][k] = allowed
        return self._proves(k, free[k], lower[k], upper[k], own)

    def _proves(
        self,
        k: int,
        free: BoolArray,
        lower: FloatArray,
        upper: FloatArray,
        sets: dict[int, BoolArray],
    ) -> bool:
        """Decide exactly whether the class of one case holds all over the box of its conditions."""
        low, high = self.low[k].copy(), self.high[k].copy()
        named: dict[int, list[int]] = {}
        for place, j in enumerate(self.features):
            if j in self.tables:
                low[j], high[j] = -np.inf, np.inf
                if not free[place]:
                    named[j] = np.flatnonzero(sets[j]).tolist()
            elif not free[place]:
                low[j], high[j] = max(low[j], lower[place]), min(high[j], upper[place])
        box = Box(low, high, sets=named)
        return all(margin.proves(box) for margin in self.margins)


def _rounded_up(ends: FloatArray, digits: int, limit: FloatArray) -> FloatArray:
    """Round numbers up to so many decimals, or to some more where they would pass a limit, or not at all."""
    found = ends.copy()
    todo = np.isfinite(ends) & (ends != np.floor(ends))
    for decimals in range(digits, digits + _MORE_DIGITS):
        scale = 10.0 ** abs(decimals)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.ceil(ends * scale if decimals >= 0 else ends / scale)
            short = steps / scale if decimals >= 0 else steps * scale
            good = todo & (short >= ends) & (short <= limit) & (np.abs(steps) < 2.0**53)
        found[good] = short[good]
        todo &= ~good
        if not todo.any():
            break
    return found


def fill_by_levels(low: FloatArray, high: FloatArray, budget: FloatArray) -> FloatArray:
    """Fill by levels, row by row: clip(t, low, high) with t such that the row spends its budget."""
    kinks = np.concatenate([low, high], axis=1)
    order = np.argsort(kinks, axis=1, kind="stable")
    kinks = np.take_along_axis(kinks, order, axis=1)
    # Beyond a lower limit one share more grows with the level, beyond an upper one one less.
    growing = np.cumsum(np.where(order < low.shape[1], 1.0, -1.0), axis=1)
    steps = np.diff(kinks, axis=1) * growing[:, :-1]
    first = low.sum(axis=1)[:, None]
    totals = first + np.concatenate([np.zeros_like(first), np.cumsum(steps, axis=1)], axis=1)
    rows = np.arange(len(low))
    k = np.maximum((totals <= budget[:, None]).sum(axis=1) - 1, 0)
    more = np.maximum(budget - totals[rows, k], 0.0) / np.maximum(growing[rows, k], 1.0)
    shares: FloatArray = np.clip((kinks[rows, k] + more)[:, None], low, high)
    return shares


def _most_items(
    sizes: FloatArray, room: FloatArray, order: IntArray, start: BoolArray
) -> tuple[BoolArray, bool]:
    """Put the most items into a knapsack with several capacities."""
    n = len(order)
    # The smallest items after each position, for the bound: of these alone so many go in.
    after = [np.cumsum(np.sort(sizes[:, order[at:]], axis=1), axis=1) for at in range(n)]
    best, chosen = int(start.sum()), start.copy()
    stack: list[tuple[int, FloatArray, tuple[int, ...]]] = [(0, room, ())]
    nodes = 0
    while stack:
        at, left, taken = stack.pop()
        nodes += 1
        if nodes > _MAX_NODES:
            return chosen, False
        if len(taken) > best:
            best = len(taken)
            chosen = np.isin(np.arange(n), taken)
        if at == n:
            continue
        fit = int((after[at] <= left[:, None]).sum(axis=1).min())
        if len(taken) + fit <= best:
            continue
        item = int(order[at])
        stack.append((at + 1, left, taken))
        if (sizes[:, item] <= left).all():
            stack.append((at + 1, left - sizes[:, item], (*taken, item)))
    return chosen, True
