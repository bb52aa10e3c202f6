r"""A few rules out of all rules: corrective greedy, with every rule priced in every step.

With weights w_i of the rows and, for each score k, the residual g_ki (minus the derivative of the loss of row i by that
score), the rule that enters next is the one with the largest::

    max_k |sum_i g_ki h_r(x_i)| / spread_r,    spread_r^2 = sum_i w_i (h_r(x_i) - mean h_r)^2

that is, the one whose weight would lower the loss most by its quadratic model, and then all weights are fitted anew
(*fully corrective*). Of rules that are nearly as good the shorter one is taken. Single conditions are running sums over
bins. For pairs, each condition is a difference of two prefix columns [bin <= k], so that one product P' diag(g) P of
prefix columns prices all pairs. Rules of three conditions extend the best pairs.

Residuals and weights are rounded to whole multiples of a unit so small that all sums stay below 2^24. Such sums are
exact in single precision: what is chosen depends neither on the processor nor on the order of rows, and of rules that
hold for the same rows the one with the fewest conditions comes first, then the one with the first conditions.

Where a table has so many conditions that their product takes long, thresholds are thinned out evenly, and beyond that
only the features with the best single conditions take part; each condition of the winner is then exchanged for the best
of all conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clearmargin.points.logistic import fit_logistic
from clearmargin.rule_base.bins import Bins
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# Conditions whose pairs are all priced: twice as many cost four times as much and brought nothing on tuning tables.
MOST_CONDITIONS = 640
# A feature takes part with at least so many conditions.
_LEAST_CONDITIONS = 8
# A rule, and its complement, holds for so many training rows; in very small tables for a tenth of them.
_LEAST_ROWS = 3
# Of rules nearly as good the shorter one is taken: each condition more has to bring a twentieth.
_SHORTER = 0.95
# Rules of two conditions that are extended by a third.
_BEAM = 40
# Whole numbers below 2^24 are exact in single precision.
_EXACT = 2.0**23
# The cost of the refits between steps: a penalty of 10 an average row, so that weights are held back while rules are
# chosen. Half of it or twice as much were as good on tuning tables, a twentieth cost 0.7 points.
_STEP_C = 0.1


@dataclass(frozen=True, slots=True)
class Extra:
    """Columns beside the rules of a table: a plane, linear terms, an expert's rules and their vote.

    `price` is a factor of the penalty, `sign` what the weight must have (0 for any), `is_fixed` whether a column is in
    from the start; others are chosen like rules.
    """

    values: FloatArray
    price: FloatArray
    sign: IntArray
    is_fixed: BoolArray

    @classmethod
    def join(cls, parts: Sequence[Extra], m: int) -> Self:
        """Put columns of several kinds beside each other."""
        none = np.empty(0, dtype=np.intp)
        parts = [cls(np.empty((m, 0)), np.empty(0), none, none.astype(np.bool_)), *parts]
        return cls(
            np.column_stack([part.values for part in parts]),
            np.concatenate([part.price for part in parts]),
            np.concatenate([part.sign for part in parts]),
            np.concatenate([part.is_fixed for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Column:
    """A chosen column: a rule by its conditions, or an extra column by its position."""

    items: tuple[int, ...]
    extra: int = -1
    sign: int = 0
    price: float = 1.0


Design = tuple[FloatArray, FloatArray, IntArray]
Items = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """Rows to learn from: their bins, targets (K, m) in [0, 1], weights of mean 1, columns beside the rules.

    `signs` holds the sign that the weight of a rule with each condition must have, 0 for any.
    """

    bins: Bins
    codes: IntArray
    target: FloatArray
    weight: FloatArray
    extra: Extra
    signs: IntArray

    def take(self, rows: IntArray, factor: FloatArray | float = 1.0) -> Task:
        """Give the task on some of the rows, with factors of their weights."""
        return replace(
            self,
            codes=np.ascontiguousarray(self.codes[:, rows]),
            target=self.target[:, rows],
            weight=self.weight[rows] * factor,
            extra=replace(self.extra, values=self.extra.values[rows]),
        )

    def column(self, chosen: Column) -> FloatArray:
        """Give the values of one column."""
        if chosen.extra >= 0:
            return self.extra.values[:, chosen.extra]
        return self.bins.mask(chosen.items, self.codes).astype(np.float64)

    def design(self, chosen: Sequence[Column]) -> Design:
        """Put intercept, fixed columns and chosen ones beside each other, with their prices and signs."""
        fixed, extra = np.flatnonzero(self.extra.is_fixed), self.extra
        columns = [self.column(column) for column in chosen]
        return (
            np.column_stack([np.ones(len(self.weight)), extra.values[:, fixed], *columns]),
            np.concatenate([[0.0], extra.price[fixed], [column.price for column in chosen]]),
            np.array([0, *extra.sign[fixed], *(column.sign for column in chosen)], dtype=np.intp),
        )

    def fit(self, design: Design, C: float, start: FloatArray | None = None) -> FloatArray:
        """Fit the weights of the columns of a design for each score, of shape (K, q)."""
        values, price, sign = design
        starts = [None] * len(self.target) if start is None else start
        fits = [
            fit_logistic(values, target, self.weight, price / C, sign, old)
            for target, old in zip(self.target, starts, strict=True)
        ]
        return np.array(fits)

    def select(
        self, most: int, max_conditions: int, most_conditions: int = MOST_CONDITIONS
    ) -> list[Column]:
        """Choose at most so many columns one at a time, and fit all weights anew after each."""
        search, chosen = Search(self, max_conditions, most_conditions), list[Column]()
        design, weights = self.design([]), None
        while True:
            if weights is not None:
                weights = np.column_stack([weights, np.zeros(len(weights))])
            if len(chosen) == most:
                return chosen
            weights = self.fit(design, _STEP_C, weights)
            scores = weights @ design[0].T
            found = search.best(self.weight * (self.target - expit(scores)))
            if found is None:
                return chosen
            chosen.append(found)
            values, price, sign = design
            design = (
                np.column_stack([values, self.column(found)]),
                np.append(price, found.price),
                np.append(sign, found.sign),
            )


class Search:
    """Finds the column that lowers the loss most, among all rules and the extra columns.

    Rules stand as their conditions, counted among those of the features that take part.
    """

    def __init__(self, task: Task, max_conditions: int, most_conditions: int):
        self.task, self.bins, self.codes, self.signs = task, task.bins, task.codes, task.signs
        self.max_conditions, self._seen = max_conditions, set[bytes]()
        self.weight = _whole(task.weight)
        self.total = float(self.weight.sum(dtype=np.float64))
        self._extra_factor = self._factor_of_extra()
        self.single = self._factor_within(np.ones(len(self.weight), dtype=np.bool_), ())
        self.own = self.kept = np.arange(len(self.bins))
        if max_conditions > 1 and len(self.bins):
            self.own = self._told(most_conditions)
            self.bins = task.bins.part(self.own)
            self.signs, self.single = self.signs[self.own], self.single[self.own]
            self.kept = self._thinned(most_conditions)
            self._price_pairs()

    def best(self, residuals: FloatArray) -> Column | None:
        """Find the best column for residuals of shape (K, m); None if none is left."""
        best, gain = None, 0.0
        for residual in residuals:
            unit = float(np.abs(residual).sum()) / _EXACT
            for value, found in self._candidates(_whole(residual)):
                if value * unit > gain * (1.0 + 1e-9):
                    best, gain = found, value * unit
        if best is None:
            return None
        if isinstance(best, int):
            extra = self.task.extra
            column = Column((), best, int(extra.sign[best]), float(extra.price[best]))
            self._extra_factor[best] = 0.0
        else:
            items = tuple(sorted(self.own[list(best)].tolist()))
            column = Column(items, -1, self._direction(best))
        # Neither it nor a rule for the same rows, or for all others, enters again.
        values = self.task.column(column)
        if column.extra < 0 or np.isin(values, (0.0, 1.0)).all():
            self._seen |= {np.packbits(side).tobytes() for side in (values > 0, values <= 0)}
        return column

    def _candidates(self, v: FloatArray) -> Iterator[tuple[float, int | Items]]:
        """Give the best extra column, by its position, and the best rule of each size, with their gains."""
        if self._extra_factor.any():
            extra = self.task.extra
            gains = _directed(v.astype(np.float64) @ extra.values, extra.sign) * self._extra_factor
            e = int(np.argmax(gains))
            yield float(gains[e]), e
        gains = _directed(self.bins.sums(self.codes, v), self.signs) * self.single
        yield from self._first_new(gains, lambda c: (c,))
        if self.max_conditions == 1 or not len(self.kept):
            return
        p = len(self.kept)
        gains = _directed(self._pair_sums(v), self.pair_signs) * self.factor
        pairs = self._first_new(
            gains, lambda at: tuple(self.kept[list(divmod(at, p))].tolist()), self.factor
        )
        longer = self._triples(v, gains) if self.max_conditions > 2 else ()
        for value, items in (*pairs, *longer):
            yield self._exchanged(v, value, items) if p < len(self.bins) else (value, items)

    def _first_new(
        self, gains: FloatArray, items: Callable[[int], Items], factor: FloatArray | None = None
    ) -> Iterator[tuple[float, Items]]:
        """Give the rule with the largest gain that holds for other rows than all chosen ones and their complements."""
        flat = gains.reshape(-1)
        while len(flat) and flat[place := int(np.argmax(flat))] > 0.0:
            if self._is_new(items(place)):
                yield float(flat[place]), items(place)
                return
            flat[place] = 0.0
            if factor is not None:
                factor.reshape(-1)[place] = 0.0

    def _is_new(self, items: Items) -> bool:
        return np.packbits(self.bins.mask(items, self.codes)).tobytes() not in self._seen

    def _direction(self, items: Items) -> int:
        return int(np.sign(self.signs[list(items)].sum()))

    def _factor_within(self, inside: BoolArray, others: Items) -> FloatArray:
        """Give for each condition 1 / (spread x cost) of the rule that adds it to others, which hold inside."""
        weighted, count = (
            self.bins.sums(self.codes, values * inside)
            for values in (self.weight, np.ones(len(self.weight)))
        )
        factor = self._inverse_spread(weighted, count) * _SHORTER ** len(others)
        factor[self._direction(others) * self.signs < 0] = 0.0
        return factor

    def _inverse_spread(self, weighted: FloatArray, count: NDArray[Any]) -> FloatArray:
        m = len(self.weight)
        weighted = weighted.astype(np.float64)
        variance = weighted * (1.0 - weighted / self.total)
        least = min(_LEAST_ROWS, max(1, m // 10))
        usable = (count >= least) & (count <= m - least) & (variance > 0.0)
        return np.asarray(np.where(usable, 1.0, 0.0) / np.sqrt(np.where(usable, variance, 1.0)))

    def _extended(self, v: FloatArray, others: Items) -> FloatArray:
        """Give the gains of all rules that add one condition to others."""
        inside, direction = self.bins.mask(others, self.codes), self._direction(others)
        signs = np.full(len(self.signs), direction) if direction else self.signs
        sums = self.bins.sums(self.codes, v * inside)
        return _directed(sums, signs) * self._factor_within(inside, others)

    def _exchanged(self, v: FloatArray, gain: float, items: Items) -> tuple[float, Items]:
        """Exchange each condition of a rule for the best one of all."""
        for k in range(len(items)):
            others = (*items[:k], *items[k + 1 :])
            gains = self._extended(v, others)
            best = int(np.argmax(gains))
            is_better = gains[best] > gain * (1.0 + 1e-9) and best not in others
            if is_better and self._is_new((*others, best)):
                items, gain = (*items[:k], best, *items[k + 1 :]), float(gains[best])
        return gain, items

    def _triples(self, v: FloatArray, gains: FloatArray) -> Iterator[tuple[float, Items]]:
        """Extend the best rules of two conditions by a third one."""
        flat = np.argsort(-gains, axis=None, kind="stable")[:_BEAM]
        first, second = np.divmod(flat[gains.ravel()[flat] > 0.0], len(self.kept))
        if not len(first):
            return
        pairs = self.kept[np.column_stack([first, second])].tolist()
        both = np.column_stack([self.bins.mask(pair, self.codes) for pair in pairs])
        of_both = both.T.astype(np.float32)

        def sums(values: FloatArray) -> FloatArray:
            found = of_both @ (values[:, None] * self.prefix)
            return np.asarray(found[:, self.upper] - found[:, self.lower])

        factor = self._inverse_spread(sums(self.weight), sums(np.ones_like(self.weight)))
        pair, own = self.pair_signs[first, second][:, None], self.signs[self.kept]
        factor[pair * own < 0] = 0.0
        values = _directed(sums(v), np.where(pair != 0, pair, own)) * factor * _SHORTER**2
        for place in np.argsort(-values, axis=None, kind="stable")[: 2 * _BEAM].tolist():
            row, third = divmod(place, values.shape[1])
            items = tuple({*pairs[row], int(self.kept[third])})
            if len(items) == 3 and values[row, third] > 0.0 and self._is_new(items):
                yield float(values[row, third]), items
                return

    # What is computed once.

    def _factor_of_extra(self) -> FloatArray:
        extra, share = self.task.extra, self.task.weight / self.task.weight.sum()
        variance = share @ (extra.values * extra.values) - (share @ extra.values) ** 2
        usable = (variance > 1e-12) & ~extra.is_fixed
        spread = np.sqrt(np.where(usable, variance, 1.0) * self.total)
        return np.asarray(np.where(usable, 1.0, 0.0) / (spread * extra.price))

    def _told(self, most_conditions: int) -> IntArray:
        """Choose the conditions of the features with the best single ones, where features are very many."""
        bins, most = self.bins, most_conditions // _LEAST_CONDITIONS
        if len(np.unique(bins.feature)) <= most:
            return np.arange(len(bins))
        merits = np.zeros(len(bins.cuts))
        for target in self.task.target:
            mean = np.average(target, weights=self.task.weight)
            centred = _whole(self.task.weight * (target - mean))
            gains = np.abs(bins.sums(self.codes, centred)) * self.single
            np.maximum.at(merits, bins.feature, gains / np.abs(centred).sum())
        # Rounding must not decide between equal features.
        features = np.argsort(-merits.round(9), kind="stable")[:most]
        return np.flatnonzero(np.isin(bins.feature, features))

    def _thinned(self, most_conditions: int) -> IntArray:
        """Choose the conditions whose pairs are priced."""
        bins, kept = self.bins, np.ones(len(self.bins), dtype=np.bool_)
        features = np.unique(bins.feature).tolist()
        number = max(1, most_conditions // len(features) // 2)
        cut = np.where(bins.first == 0, bins.last, bins.first - 1)
        for j in features if len(bins) > most_conditions else ():
            k = len(bins.cuts[j])
            if bins.space.categories[j] is None and k > number:
                places = np.linspace(0, k - 1, number + 2)[1:-1].round().astype(np.intp)
                kept &= (bins.feature != j) | (bins.first == k + 1) | np.isin(cut, places)
        return np.flatnonzero(kept)

    def _price_pairs(self) -> None:
        """Make the prefix columns, and 1 / (spread x cost) of all pairs of kept conditions."""
        bins, kept, p = self.bins, self.kept, len(self.kept)
        j, first, last = bins.feature[kept], bins.first[kept], bins.last[kept]
        ends = np.array([len(cuts) + 1 for cuts in bins.cuts], dtype=np.intp)[j]
        # Keys of prefix columns [bin <= k]: -2 holds nowhere, -1 everywhere.
        upper = np.where(last == ends, -1, j * bins.width + last)
        lower = np.where(first == 0, -2, j * bins.width + first - 1)
        keys, where = np.unique(np.concatenate([upper, lower]), return_inverse=True)
        self.prefix = np.empty((len(self.weight), len(keys)), dtype=np.float32, order="F")
        for place, key in enumerate(keys.tolist()):
            row, end = divmod(key, bins.width)
            self.prefix[:, place] = key == -1 if key < 0 else self.codes[row] <= end
        self.upper, self.lower = where[:p], where[p:]
        ones: Any = np.ones(len(self.weight), dtype=np.float32)
        pairs = self._pair_sums(self.weight), self._pair_sums(ones)
        self.factor = self._inverse_spread(*pairs) * _SHORTER
        signs = self.signs[kept]
        # Each pair once, with its conditions in ascending order.
        self.factor[np.tri(p, dtype=np.bool_) | (signs[:, None] * signs < 0)] = 0.0
        self.pair_signs = np.sign(signs[:, None] + signs)

    def _pair_sums(self, v: FloatArray) -> FloatArray:
        """Add up values over the rows of each pair of kept conditions."""
        gram = self.prefix.T @ (v[:, None] * self.prefix)
        rows = gram[self.upper] - gram[self.lower]
        return np.asarray(rows[:, self.upper] - rows[:, self.lower])


def _whole(values: FloatArray) -> Any:
    """Round numbers to whole multiples of a unit such that all their sums are exact in single precision."""
    total = float(np.abs(values).sum())
    return np.rint(values * (_EXACT / total if total else 0.0)).astype(np.float32)


def _directed(sums: NDArray[Any], signs: IntArray) -> FloatArray:
    """Give magnitudes, or the parts in the directions that are allowed."""
    values = sums.astype(np.float64)
    if not signs.any():
        return np.abs(values)
    return np.where(signs == 0, np.abs(values), np.maximum(0.0, signs * values))
