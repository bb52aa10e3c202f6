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

from clearmargin.models.score_error import DOUBLE, Guard
from clearmargin.models.surface import Surface
from clearmargin.rules import Box, FeatureSpace
from clearmargin.rules.hyperplane import linear_scores
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


@dataclass(frozen=True, slots=True)
class _Feature:
    """A feature of the user's with its encoded columns: one of numbers, or one for each category."""

    place: int
    columns: IntArray
    is_categorical: bool


class ReasonSearch:
    """Finds sufficient reasons beside the planes of a linear classifier."""

    def __init__(self, surface: Surface, columns: FeatureSpace):
        self.surface, self.columns = surface, columns
        members: dict[int, list[int]] = {}
        for k, source in enumerate(surface.sources):
            members.setdefault(source.feature, []).append(k)
        self.features = [
            _Feature(j, np.array(at), surface.sources[at[0]].code is not None)
            for j, at in members.items()
        ]

    def find(self, cases: FloatArray, codes: IntArray) -> Reasons:
        """Find a reason for each case."""
        p, n = len(cases), len(self.surface.space)
        allowed = {
            f.place: np.ones((p, len(f.columns)), dtype=np.bool_)
            for f in self.features
            if f.is_categorical
        }
        found = Reasons(
            np.zeros((p, n), dtype=np.bool_),
            np.full((p, n), -np.inf),
            np.full((p, n), np.inf),
            allowed,
            np.zeros(p, dtype=np.bool_),
            np.ones(p, dtype=np.bool_),
            self.surface.asked,
        )
        guards = self.surface.guards()
        for code in np.unique(codes).tolist():
            rows = np.flatnonzero(codes == code)
            for first in range(0, len(rows), _CHUNK):
                part = rows[first : first + _CHUNK]
                _Batch(self, cases[part], guards[code]).write(found, part)
        return found


class _Batch:
    """Cases of one class: what their scores can lose, what is freed, and how wide the rest is."""

    def __init__(self, search: ReasonSearch, Z: FloatArray, guards: Sequence[Guard]):
        self.search, self.features = search, search.features
        self.Z, self.guards = Z, guards
        columns = search.columns
        self.low, self.high = np.minimum(columns.lower, Z), np.maximum(columns.upper, Z)
        self.weights = np.stack([g.halfspace.sign * g.error.coef for g in guards])
        scores, bands = zip(*(self._score(guard) for guard in guards), strict=True)
        self.scores, self.band = np.stack(scores), np.array(bands)[:, None]
        self.codes = {
            f.place: np.argmax(Z[:, f.columns], axis=1) for f in self.features if f.is_categorical
        }
        self.losses = np.stack([self._losses(a) for a in self.weights])
        with np.errstate(invalid="ignore"):
            self.whole = columns.integer & np.equal(Z, np.floor(Z))

    def _score(self, guard: Guard) -> tuple[FloatArray, float]:
        """Compute the score of each case, and what all roundings can do to it and to losses anywhere in the ranges."""
        error, sign = guard.error, guard.halfspace.sign
        active = np.flatnonzero(error.coef)
        scores = sign * linear_scores(self.Z[:, active], error.coef[active], error.constant)
        ends = np.abs(self.low), np.abs(self.high)
        reach = np.max(np.maximum(*ends), axis=0, initial=0.0)
        size = float((np.abs(error.coef[active]) * reach[active]).sum()) + abs(error.constant)
        return scores, error.bound(reach) + (len(active) + 8) * 8.0 * DOUBLE * size

    def _losses(self, a: FloatArray) -> FloatArray:
        """Compute for each case and feature what a score loses at most if the feature is freed."""
        losses = np.zeros((len(self.Z), len(self.features)))
        for j, f in enumerate(self.features):
            if f.is_categorical:
                group = a[f.columns]
                losses[:, j] = group[self.codes[f.place]] - group.min()
            elif a[f.columns[0]] != 0:
                k = f.columns[0]
                worst = self.low[:, k] if a[k] > 0 else self.high[:, k]
                losses[:, j] = a[k] * (self.Z[:, k] - worst)
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
        for j, f in enumerate(self.features):
            found.kept[rows, f.place] = ~free[:, j]
            if f.is_categorical:
                found.allowed[f.place][rows] = sets[f.place] | free[:, j, None]
            else:
                found.lower[rows, f.place] = np.where(free[:, j], -np.inf, lower[:, j])
                found.upper[rows, f.place] = np.where(free[:, j], np.inf, upper[:, j])

    # Which features are freed.

    def _freed(self) -> tuple[BoolArray, BoolArray]:
        """Choose the most features that can be freed, for each case; and tell where that is sure to be the most."""
        slack = self.scores
        order = np.argsort(self.losses, axis=2, kind="stable")
        totals = np.cumsum(np.take_along_axis(self.losses, order, axis=2), axis=2)
        sure = (totals <= (slack - self.band)[:, :, None]).sum(axis=2)
        possible = (totals <= (slack + self.band)[:, :, None]).sum(axis=2)
        ranks = np.argsort(order, axis=2, kind="stable")
        if len(self.guards) == 1:
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

    def _exact_loss(self, k: int, j: int) -> Fraction | float:
        f, a = self.features[j], self.weights[0]
        if f.is_categorical:
            group = [Fraction(float(w)) for w in a[f.columns]]
            return group[int(self.codes[f.place][k])] - min(group)
        column = int(f.columns[0])
        if a[column] == 0:
            return Fraction(0)
        worst = float(self.low[k, column] if a[column] > 0 else self.high[k, column])
        if not np.isfinite(worst):
            return float("inf")
        return Fraction(float(a[column])) * (Fraction(float(self.Z[k, column])) - Fraction(worst))

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
        for j, f in enumerate(self.features):
            if f.is_categorical:
                sets[f.place] = self._allowed(f, spend[:, :, j])
                left = left - kept[:, j] * self._lost_by(f, sets[f.place])
            else:
                lower[:, j], upper[:, j] = self._ends(j, spend[:, :, j])
                left = left - kept[:, j] * self._lost_between(j, lower[:, j], upper[:, j])
        # What whole numbers and categories left over.
        for j, f in enumerate(self.features):
            room = np.where(kept[:, j], np.maximum(left, 0.0), 0.0)
            if f.is_categorical:
                had = self._lost_by(f, sets[f.place])
                sets[f.place] = self._allowed(f, had + room)
                left = left - kept[:, j] * (self._lost_by(f, sets[f.place]) - had)
            else:
                had = self._lost_between(j, lower[:, j], upper[:, j])
                lower[:, j], upper[:, j] = self._ends(j, had + room)
                left = left - kept[:, j] * (self._lost_between(j, lower[:, j], upper[:, j]) - had)
        return lower, upper, sets

    def _shares(self, kept: BoolArray, slack: FloatArray) -> FloatArray:
        """Give for each score, case and kept feature how much of the score it may cost."""
        if len(self.guards) > 1:
            matters = kept & (self.losses > 0)
            return np.where(
                matters, slack[:, :, None] / np.maximum(matters.sum(axis=2), 1)[:, :, None], 0.0
            )
        high = np.where(kept, self.losses[0], 0.0)
        return fill_by_levels(np.zeros_like(high), high, slack[0])[None]

    def _ends(self, j: int, spend: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the ends of a numeric feature that cost each score at most so much; infinite where none is needed."""
        k = int(self.features[j].columns[0])
        value, whole = self.Z[:, k], self.whole[:, k]
        lower, upper = np.full(len(value), -np.inf), np.full(len(value), np.inf)
        for a, cost in zip(self.weights[:, k].tolist(), spend, strict=True):
            if a > 0:
                lower = np.maximum(lower, value - cost / a)
            elif a < 0:
                upper = np.minimum(upper, value - cost / a)
        lower = np.where(whole, np.ceil(lower), lower)
        upper = np.where(whole, np.floor(upper), upper)
        # Never beyond the case, nor written where a range ends anyway.
        lower, upper = np.minimum(lower, value), np.maximum(upper, value)
        return (
            np.where(lower <= self.low[:, k], -np.inf, lower),
            np.where(upper >= self.high[:, k], np.inf, upper),
        )

    def _lost_between(self, j: int, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Compute what each score loses at most between the ends of a numeric feature."""
        k = int(self.features[j].columns[0])
        below = self.Z[:, k] - np.maximum(lower, self.low[:, k])
        above = np.minimum(upper, self.high[:, k]) - self.Z[:, k]
        lost = np.zeros((len(self.weights), len(below)))
        for row, a in zip(lost, self.weights[:, k].tolist(), strict=True):
            if a:
                row[:] = a * below if a > 0 else -a * above
        return lost

    def _allowed(self, f: _Feature, spend: FloatArray) -> BoolArray:
        """Tell which categories cost each score at most so much."""
        code = self.codes[f.place]
        allowed = np.ones((len(code), len(f.columns)), dtype=np.bool_)
        for a, cost in zip(self.weights[:, f.columns], spend, strict=True):
            allowed &= a >= (a[code] - cost)[:, None]
        allowed[np.arange(len(code)), code] = True
        return allowed

    def _lost_by(self, f: _Feature, allowed: BoolArray) -> FloatArray:
        """Compute what each score loses at most among the allowed categories."""
        code = self.codes[f.place]
        return np.stack(
            [a[code] - np.where(allowed, a, np.inf).min(axis=1) for a in self.weights[:, f.columns]]
        )

    def _shorten(self, lower: FloatArray, upper: FloatArray) -> None:
        """Move ends inwards to numbers of few digits, but never beyond the case."""
        columns = self.search.columns
        for j, f in enumerate(self.features):
            if f.is_categorical:
                continue
            k = int(f.columns[0])
            with np.errstate(over="ignore"):
                reach = float(columns.upper[k] - columns.lower[k])
            step = reach / _STEPS
            digits = -int(np.floor(np.log10(step))) if _LEAST_STEP < step < np.inf else 3
            value = self.Z[:, k]
            lower[:, j] = _rounded_up(lower[:, j], digits, value)
            upper[:, j] = -_rounded_up(-upper[:, j], digits, -value)

    # Whether that is certain.

    def _is_certain(
        self, free: BoolArray, lower: FloatArray, upper: FloatArray, sets: dict[int, BoolArray]
    ) -> BoolArray:
        """Tell which cases are proved by the bound on all roundings."""
        lost = np.zeros_like(self.scores)
        for j, f in enumerate(self.features):
            kept = (
                self._lost_by(f, sets[f.place])
                if f.is_categorical
                else self._lost_between(j, lower[:, j], upper[:, j])
            )
            lost += np.where(free[:, j], self.losses[:, :, j], kept)
        with np.errstate(invalid="ignore"):
            return np.asarray((self.scores - lost > self.band).all(axis=0))

    def _at_case(self, k: int) -> tuple[FloatArray, FloatArray, dict[int, BoolArray]]:
        """Give intervals of no width at one case."""
        value = np.array(
            [0.0 if f.is_categorical else self.Z[k, f.columns[0]] for f in self.features]
        )
        sets = {
            f.place: np.arange(len(f.columns)) == self.codes[f.place][k]
            for f in self.features
            if f.is_categorical
        }
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
        for j, f in enumerate(self.features):
            if not f.is_categorical and not free[j]:
                column = int(f.columns[0])
                low[column] = max(low[column], lower[j])
                high[column] = min(high[column], upper[j])
        return all(self._holds(guard, low, high, free, sets) for guard in self.guards)

    def _holds(
        self,
        guard: Guard,
        low: FloatArray,
        high: FloatArray,
        free: BoolArray,
        sets: dict[int, BoolArray],
    ) -> bool:
        """Decide one score over a box, with the worst of the allowed categories of each feature."""
        low, high = low.copy(), high.copy()
        error = guard.error
        reach = np.maximum(np.abs(low), np.abs(high))
        named = [(j, f) for j, f in enumerate(self.features) if f.is_categorical]
        for j, f in named:
            weights = guard.halfspace.sign * error.coef[f.columns]
            allowed = np.ones(len(weights), dtype=np.bool_) if free[j] else sets[f.place]
            worst = int(f.columns[int(np.argmin(np.where(allowed, weights, np.inf)))])
            low[f.columns], high[f.columns] = 0.0, 0.0
            low[worst], high[worst] = 1.0, 1.0
        box = Box(low, high)
        if not named:
            return guard.proves(box)
        # Another category may round more than the worst one, so that the bound is taken over all.
        corner = guard.corner(box)
        finite = bool(np.isfinite(corner[error.coef != 0]).all())
        return finite and guard.halfspace.sign * error.score(corner) > error.bound(reach)


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
