r"""A few rules out of all rules: corrective greedy, with every rule priced in every step.

With weights w_i of the rows and, for each score k, the residual g_ki (minus the derivative of the loss of row i by that
score), the rule that enters next is the one with the largest::

    max_k |sum_i g_ki h_r(x_i)| / (c_r spread_r),    spread_r^2 = sum_i w_i (h_r(x_i) - mean h_r)^2

that is, the one whose weight would lower the loss most by its quadratic model, and then all weights are fitted anew
(*fully corrective*). All rules of one and two conditions are priced at once, by the product B' diag(g) B of the
indicators of single conditions; rules of three conditions extend the best ones of two. c_r = 1 + penalty (k_r - 1), and
of rules that are nearly as good the shorter one is taken.

Chosen are rules among *all* rules. To choose only among the columns that column generation makes on the way to the
optimum of the linear program was as good on tables for tuning and took many times as long, since each fold needs a
linear program of its own: ``python -m benchmarks.rule_choice``, docs/decisions/0018.

Residuals and weights are rounded to whole multiples of a unit so small that all sums stay below 2^24. Such sums are
exact in single precision: what is chosen depends neither on the processor nor on the order of rows, and of rules that
hold for the same rows the one with the fewest conditions comes first, then the one with the first conditions.

Where a table has so many conditions that their product takes long, thresholds are thinned out evenly, and beyond that
only the features with the best single conditions take part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clearmargin.rule_svm.conditions import Conditions, Kind
from clearmargin.rule_svm.pricing import rule_signs
from clearmargin.rule_svm.refit import Columns, fit_weights
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Column", "ExtraColumns", "Rows", "RuleSearch", "column_matrix", "select_columns"]

Floats32 = NDArray[np.float32]

# Conditions whose pairs are all priced: twice as many cost four times as much and brought nothing on tuning tables.
_MOST_CONDITIONS = 640
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
STEP_C = 0.1


@dataclass(frozen=True, slots=True)
class Rows:
    """Training rows of one machine.

    Parameters
    ----------
    table : ndarray of shape (m, n)
        Numbers and codes, NaN where missing.
    signs : ndarray of shape (K, m)
        -1 or 1 for each score and row: one score with two classes, else one for each class.
    weight : ndarray of shape (m,)
        Positive weights, 1 on average.
    """

    table: FloatArray
    signs: FloatArray
    weight: FloatArray

    def take(self, rows: IntArray) -> Rows:
        """Give some of the rows."""
        return Rows(self.table[rows], self.signs[:, rows], self.weight[rows])


@dataclass(frozen=True, slots=True)
class ExtraColumns:
    """Columns beside the rules of the table: a plane, linear terms, experts' rules.

    Parameters
    ----------
    values : ndarray of shape (m, q)
        What they hold.
    price : ndarray of shape (q,)
        Factor of their penalty.
    sign : ndarray of int of shape (q,)
        The sign that the weight must have; 0 for any.
    is_fixed : ndarray of bool of shape (q,)
        Whether a column is in from the start; the others are chosen like rules.
    """

    values: FloatArray
    price: FloatArray
    sign: IntArray
    is_fixed: BoolArray

    @classmethod
    def none(cls, m: int) -> ExtraColumns:
        """Give no columns for m rows."""
        empty = np.empty(0, dtype=np.intp)
        return cls(np.empty((m, 0)), np.empty(0), empty, empty.astype(np.bool_))

    def take(self, rows: IntArray) -> ExtraColumns:
        """Give the columns for some of the rows."""
        return ExtraColumns(self.values[rows], self.price, self.sign, self.is_fixed)


@dataclass(frozen=True, slots=True)
class Column:
    """A chosen column: a rule by its conditions, or an extra column by its position.

    Parameters
    ----------
    items : tuple of int
        The conditions; empty for an extra column.
    extra : int
        Position among the extra columns; -1 for a rule.
    sign : int
        The sign that its weight must have; 0 for any.
    cost : float
        Factor of its penalty.
    """

    items: tuple[int, ...]
    extra: int = -1
    sign: int = 0
    cost: float = 1.0


class RuleSearch:
    """Finds the column that lowers the loss most.

    Parameters
    ----------
    conditions : Conditions
        What rules consist of.
    rows : Rows
        The training rows.
    extra : ExtraColumns
        Columns beside the rules.
    max_conditions : int
        Most conditions of a rule: 1, 2 or 3.
    penalty : float
        What each condition after the first adds to the cost of a rule.
    monotone : ndarray of int of shape (n,) or None
        The direction of each feature.
    """

    def __init__(
        self,
        conditions: Conditions,
        rows: Rows,
        extra: ExtraColumns,
        max_conditions: int,
        penalty: float,
        monotone: IntArray | None,
    ):
        self.conditions, self.extra, self.max_conditions = conditions, extra, max_conditions
        self.costs = (1.0 + penalty * np.arange(max_conditions)) / _SHORTER ** np.arange(
            max_conditions
        )
        self.prices = 1.0 + penalty * np.arange(max_conditions)
        self.weight = _whole(rows.weight)
        kept = _kept_conditions(conditions, rows)
        self.kept = kept
        self.cells = conditions.cells(rows.table)
        self.masks: Floats32 = np.asfortranarray(
            conditions.rule_masks(kept[:, None], rows.table), dtype=np.float32
        )
        self.signs = rule_signs(conditions, monotone)[kept]
        self.total = float(self.weight.sum(dtype=np.float64))
        self.factor, self.pair_signs = self._factors()
        self._extra_factor = self._extra_factors(rows.weight)
        self._chosen: set[bytes] = set()
        self._left_out: set[tuple[int, ...]] = set()

    def _factors(self) -> tuple[FloatArray, IntArray | None]:
        """Give 1 / (cost spread) of all rules of one and two conditions, 0 where a rule is none, and their signs."""
        weighted = self._pair_sums(self.weight).astype(np.float64)
        count = self._pair_sums(np.ones_like(self.weight))
        factor = self._inverse_spread(weighted, count)
        p = len(self.kept)
        if self.max_conditions > 1:
            factor /= np.where(np.eye(p, dtype=np.bool_), self.costs[0], self.costs[1])
        # Each pair once, with its conditions in ascending order.
        factor[np.tri(p, k=-1, dtype=np.bool_)] = 0.0
        if not self.signs.any():
            return factor, None
        single = np.diag(self.signs)
        pairs = self.signs[:, None] + self.signs
        agrees = np.abs(pairs) == np.abs(self.signs)[:, None] + np.abs(self.signs)
        factor[~agrees] = 0.0
        return factor, np.where(np.eye(p, dtype=np.bool_), single, np.sign(pairs))

    def _pair_sums(self, values: Floats32) -> Floats32:
        """Add up values over the rows of each pair of conditions, single ones on the diagonal; these alone if k = 1."""
        if self.max_conditions == 1:
            return np.diag(values @ self.masks)
        return self.masks.T @ (values[:, None] * self.masks)

    def _inverse_spread(self, weighted: FloatArray, count: NDArray[Any]) -> FloatArray:
        m = len(self.weight)
        variance = weighted * (1.0 - weighted / self.total)
        least = min(_LEAST_ROWS, max(1, m // 10))
        usable = (count >= least) & (count <= m - least) & (variance > 0.0)
        return np.asarray(np.where(usable, 1.0, 0.0) / np.sqrt(np.where(usable, variance, 1.0)))

    def _extra_factors(self, weight: FloatArray) -> FloatArray:
        share = weight / weight.sum()
        Z = self.extra.values
        variance = share @ (Z * Z) - (share @ Z) ** 2
        usable = (variance > 1e-12) & ~self.extra.is_fixed
        spread = np.sqrt(np.where(usable, variance, 1.0) * self.total)
        return np.asarray(np.where(usable, 1.0, 0.0) / (spread * self.extra.price))

    def best(self, residuals: FloatArray) -> Column | None:
        """Find the best column for residuals of shape (K, m); None if none is left."""
        wholes = [_whole(residual) for residual in residuals]
        units = [float(np.abs(residual).sum()) / _EXACT for residual in residuals]
        while True:
            gain, chosen, mask, residual = 0.0, None, np.empty(0, dtype=np.bool_), wholes[0]
            for each, unit in zip(wholes, units, strict=True):
                for value, column, rows in self._candidates(each):
                    if value * unit > gain * (1.0 + 1e-9):
                        gain, chosen, mask, residual = value * unit, column, rows, each
            if chosen is None:
                return None
            if chosen.extra >= 0:
                self._extra_factor[chosen.extra] = 0.0
            key = np.packbits(mask).tobytes()
            if key not in self._chosen:
                self._leave_out(chosen)
                self._chosen |= {key, np.packbits(~mask).tobytes()}
                return self._refined(chosen, residual)
            self._leave_out_equal(chosen, mask)

    def _refined(self, column: Column, residual: Floats32) -> Column:
        """Move each threshold of a rule to the best place, where thresholds were thinned out."""
        if len(self.kept) == len(self.conditions):
            return column
        items, m = list(column.items), len(residual)
        for k, c in enumerate(items):
            others = [other for other in items if other != c]
            j, kind = int(self.conditions.feature[c]), self.conditions.kind[c]
            if kind not in (Kind.AT_MOST, Kind.ABOVE):
                continue
            inside = self.conditions.rule_mask(others, self.cells)
            own = np.arange(self.conditions.starts[j], self.conditions.starts[j + 1])
            sums, weighted, count = (
                self._gathered(j, values[inside], inside)
                for values in (residual, self.weight, np.ones(m))
            )
            signs = np.full(len(own), column.sign)
            gains = _directed(sums, signs) * self._inverse_spread(weighted, count)
            gains[self.conditions.kind[own] != kind] = -1.0
            best = int(np.argmax(gains))
            if gains[best] > gains[c - own[0]] * (1.0 + 1e-9):
                items[k] = int(own[best])
        mask = self.conditions.rule_mask(items, self.cells)
        key = np.packbits(mask).tobytes()
        if key in self._chosen:
            return column
        self._chosen |= {key, np.packbits(~mask).tobytes()}
        return Column(tuple(sorted(items)), -1, column.sign, column.cost)

    def _gathered(self, j: int, values: NDArray[Any], inside: BoolArray) -> FloatArray:
        """Add up values of some rows over the rows where each condition on a feature holds."""
        width = self.conditions.width(j)
        sums = np.bincount(self.cells[j, inside], weights=values, minlength=width)
        return self.conditions.gather(j, sums.astype(np.float64))

    def _leave_out(self, column: Column) -> None:
        places = np.searchsorted(self.kept, column.items)
        if len(places) in (1, 2):
            self.factor[places[0], places[-1]] = 0.0
        elif len(places):
            self._left_out.add(tuple(places.tolist()))

    def _leave_out_equal(self, column: Column, mask: BoolArray) -> None:
        """Leave out all rules of one and two conditions for the same rows, or for all others, as a chosen one."""
        self._leave_out(column)
        if column.extra < 0:
            count = self._pair_sums(np.ones_like(self.weight))
            common = self._pair_sums(mask.astype(np.float32))
            n = int(mask.sum())
            is_same = (count == n) & (common == n)
            is_other = (count == len(mask) - n) & (common == 0)
            self.factor[is_same | is_other] = 0.0

    def _candidates(self, residual: Floats32) -> list[tuple[float, Column, BoolArray]]:
        """Give the best column of each kind, the simplest first."""
        found = self._extra_candidates(residual)
        if not len(self.kept):
            return found
        sums = self._pair_sums(residual)
        gains = _directed(sums, self.pair_signs) * self.factor
        single = int(np.argmax(gains.diagonal()))
        pair = np.unravel_index(int(np.argmax(gains)), gains.shape)
        for a, b in ((single, single), pair):
            column = self._rule((int(a),) if a == b else (int(a), int(b)))
            mask = (self.masks[:, a] * self.masks[:, b]) > 0
            found.append((float(gains[a, b]), column, mask))
        if self.max_conditions > 2:
            found += self._extended(residual, gains)
        return found

    def _extra_candidates(self, residual: Floats32) -> list[tuple[float, Column, BoolArray]]:
        if not self._extra_factor.any():
            return []
        sums = residual.astype(np.float64) @ self.extra.values
        gains = _directed(sums, self.extra.sign) * self._extra_factor
        e = int(np.argmax(gains))
        values = self.extra.values[:, e]
        column = Column((), e, int(self.extra.sign[e]), float(self.extra.price[e]))
        is_rule = bool(np.isin(values, (0.0, 1.0)).all())
        # A number has no rows; its place tells it from all others.
        mask = values > 0 if is_rule else np.arange(len(values) + e + 1) == len(values) + e
        return [(float(gains[e]), column, mask)]

    def _extended(
        self, residual: Floats32, gains: FloatArray
    ) -> list[tuple[float, Column, BoolArray]]:
        """Extend the best rules of two conditions by a third one."""
        off = gains.copy()
        np.fill_diagonal(off, 0.0)
        flat = np.argsort(-off, axis=None, kind="stable")[:_BEAM]
        first, second = np.unravel_index(flat[off.ravel()[flat] > 0.0], off.shape)
        if not len(first):
            return []
        both = self.masks[:, first] * self.masks[:, second]
        sums = both.T @ (residual[:, None] * self.masks)
        weighted = (both.T @ (self.weight[:, None] * self.masks)).astype(np.float64)
        factor = self._inverse_spread(weighted, both.T @ self.masks) / self.costs[2]
        signs = None
        if self.pair_signs is not None:
            pair = self.pair_signs[first, second][:, None]
            agrees = (pair * self.signs >= 0) | (pair == 0) | (self.signs == 0)
            factor[~agrees] = 0.0
            signs = np.where(pair != 0, pair, self.signs)
        values = _directed(sums, signs) * factor
        for place in np.argsort(-values, axis=None, kind="stable")[: 2 * _BEAM].tolist():
            best, third = divmod(place, values.shape[1])
            places = tuple(sorted({int(first[best]), int(second[best]), third}))
            if len(places) == 3 and places not in self._left_out and values[best, third] > 0.0:
                mask = (both[:, best] * self.masks[:, third]) > 0
                return [(float(values[best, third]), self._rule(places), mask)]
        return []

    def _rule(self, places: tuple[int, ...]) -> Column:
        at = np.array(places)
        sign = int(np.sign(self.signs[at].sum()))
        items = tuple(self.kept[at].tolist())
        return Column(items, -1, sign, float(self.prices[len(items) - 1]))


def _whole(values: FloatArray) -> Floats32:
    """Round numbers to whole multiples of a unit such that all their sums are exact in single precision."""
    total = float(np.abs(values).sum())
    return np.rint(values * (_EXACT / total if total else 0.0)).astype(np.float32)


def _directed(sums: NDArray[np.floating], signs: IntArray | None) -> FloatArray:
    """Give magnitudes, or the parts in the directions that are allowed."""
    values = sums.astype(np.float64)
    if signs is None:
        return np.abs(values)
    return np.where(signs == 0, np.abs(values), np.maximum(0.0, signs * values))


def _kept_conditions(conditions: Conditions, rows: Rows) -> IntArray:
    """Choose the conditions whose pairs are priced."""
    features = conditions.used
    if len(conditions) <= _MOST_CONDITIONS:
        return np.arange(len(conditions))
    if len(features) * _LEAST_CONDITIONS > _MOST_CONDITIONS:
        features = _best_features(conditions, rows, _MOST_CONDITIONS // _LEAST_CONDITIONS)
    share = _MOST_CONDITIONS // len(features)
    kept = [_thinned(conditions, j, share) for j in features]
    return np.sort(np.concatenate(kept))


def _thinned(conditions: Conditions, j: int, most: int) -> IntArray:
    """Choose evenly spaced thresholds of a feature, both directions of each; categories and missing values stay."""
    own = np.arange(conditions.starts[j], conditions.starts[j + 1])
    is_number = np.isin(conditions.kind[own], (Kind.AT_MOST, Kind.ABOVE))
    cuts = len(conditions.thresholds[j])
    number = max(1, most // 2)
    if cuts <= number:
        return own
    places = np.unique(np.linspace(0, cuts - 1, number + 2)[1:-1].round().astype(np.intp))
    return np.concatenate([own[places], own[cuts + places], own[~is_number]])


def _best_features(conditions: Conditions, rows: Rows, most: int) -> list[int]:
    """Choose the features with the best single conditions."""
    cells, total = conditions.cells(rows.table), rows.weight.sum()
    centred = rows.signs - ((rows.signs @ rows.weight) / total)[:, None]
    merit = np.zeros(len(conditions.space))
    for j in conditions.used:
        width = conditions.width(j)

        def sums(values: FloatArray, j: int = j, width: int = width) -> FloatArray:
            cell_sums = np.bincount(cells[j], weights=values, minlength=width)
            return conditions.gather(j, cell_sums.astype(np.float64))

        above = sums(rows.weight)
        variance = above * (1.0 - above / total)
        usable = variance > 1e-9 * total
        for residual in centred:
            gains = np.abs(sums(rows.weight * residual)[usable]) / np.sqrt(variance[usable])
            merit[j] = max(merit[j], float(gains.max(initial=0.0)))
    # Rounding must not decide between equal features.
    order = np.argsort(-merit.round(9), kind="stable")[:most]
    return sorted(order.tolist())


def column_matrix(
    chosen: Sequence[Column], conditions: Conditions, table: FloatArray, extra: ExtraColumns
) -> Columns:
    """Put the intercept, the columns that are in from the start and those that were chosen beside each other.

    Parameters
    ----------
    chosen : sequence of Column
        The columns that were chosen, in their order.
    conditions : Conditions
        What rules consist of.
    table : ndarray of shape (m, n)
        The rows.
    extra : ExtraColumns
        Extra columns of the same rows.

    Returns
    -------
    Columns
        The intercept first.
    """
    m, fixed = len(table), np.flatnonzero(extra.is_fixed)
    width = max((len(column.items) for column in chosen), default=1) or 1
    items = np.full((len(chosen), width), -1, dtype=np.intp)
    for row, column in zip(items, chosen, strict=True):
        row[: len(column.items)] = column.items
    values = conditions.rule_masks(items, table).astype(np.float64)
    for k, column in enumerate(chosen):
        if column.extra >= 0:
            values[:, k] = extra.values[:, column.extra]
    return Columns(
        np.column_stack([np.ones(m), extra.values[:, fixed], values]),
        np.concatenate([[0.0], extra.price[fixed], [column.cost for column in chosen]]),
        np.concatenate([[0], extra.sign[fixed], [column.sign for column in chosen]]).astype(
            np.intp
        ),
    )


def select_columns(search: RuleSearch, rows: Rows, most: int) -> list[Column]:
    """Choose columns one at a time, and fit all weights anew after each.

    Parameters
    ----------
    search : RuleSearch
        Over the same rows.
    rows : Rows
        The training rows.
    most : int
        Most columns.

    Returns
    -------
    list of Column
        In the order in which they were chosen.
    """
    chosen: list[Column] = []
    columns = column_matrix((), search.conditions, rows.table, search.extra)
    weights: list[FloatArray | None] = [None] * len(rows.signs)
    while True:
        scores = []
        for k, y in enumerate(rows.signs):
            before = weights[k]
            start = None if before is None else np.append(before, 0.0)
            weights[k] = fitted = fit_weights(columns, y, rows.weight, "logistic", STEP_C, start)
            scores.append(columns.values @ fitted)
        if len(chosen) == most:
            return chosen
        z = np.array(scores)
        found = search.best(rows.weight * rows.signs * expit(-rows.signs * z))
        if found is None:
            return chosen
        chosen.append(found)
        added = column_matrix([found], search.conditions, rows.table, search.extra)
        columns = Columns(
            np.column_stack([columns.values, added.values[:, -1]]),
            np.append(columns.penalty, found.cost),
            np.append(columns.sign, found.sign),
        )
