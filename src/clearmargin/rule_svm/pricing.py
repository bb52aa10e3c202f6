r"""Which rule would help most: the largest weighted sum over the rows of a rule, over all rules of few conditions.

Data: weights v_i of the rows, which are whole numbers; the cells of the rows in each feature (see `conditions`). The
*price* of a rule r of k_r conditions with rows h_r is::

    |sum_i v_i h_r(x_i)| / c_r,    c_r = 1 + penalty (k_r - 1)

or max(0, s_r sum_i v_i h_r(x_i)) / c_r where the weight of the rule may only have the sign s_r. This is the leverage of
`clearmargin.rule_base.leverage_search` with weights in place of counts.

Rules are priced by features: the weights are added up over the cells of one, two or three features, once, and sums over
cells become sums over conditions by running sums. Of p = 64 conditions a feature that costs m + p^2 steps for all p^2
rules of two features, where counting rule by rule, by bits or by a product of the conditions' indicators, costs at
least m p^2 / 64.

Since weights are whole numbers and their sum is below 2^53, every sum is exact in floats: prices, and what is
chosen by them, depend neither on the order of rows nor on the processor. Of equal prices the rule with the fewest
conditions comes first, then the one with the first conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_svm.conditions import Conditions, Kind
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["PricedRules", "Pricing", "rule_signs"]


# Rules of a pair of features: with one alone twice as many rounds were needed.
_PER_PAIR = 3

Priced = tuple[float, tuple[int, ...]]  # a price and the conditions of the rule


@dataclass(frozen=True, slots=True)
class PricedRules:
    """The best rules of each set of features, the highest price first.

    Parameters
    ----------
    items : ndarray of int of shape (r, k)
        The conditions of each rule in ascending order, -1 where it has fewer than k.
    price : ndarray of shape (r,)
        Their prices, in the unit of the weights.
    """

    items: IntArray
    price: FloatArray

    @property
    def highest(self) -> float:
        """The highest price; 0 without rules."""
        return float(self.price.max(initial=0.0))


def rule_signs(conditions: Conditions, monotone: IntArray | None) -> IntArray:
    """Give the sign that the weight of a rule with each condition must have; 0 for any.

    Parameters
    ----------
    conditions : Conditions
        The conditions.
    monotone : ndarray of int of shape (n,) or None
        For each feature, 1 where the score must not fall with it, -1 where it must not rise, 0 for neither.

    Returns
    -------
    ndarray of int of shape (p,)
        With 1 on a feature, x > t only counts for the class at +1 and x <= t only against it.

    Examples
    --------
    >>> from clearmargin import FeatureSpace
    >>> conditions = Conditions(FeatureSpace(["income"]), [[10.0]], [()], [True])
    >>> rule_signs(conditions, np.array([1]))
    array([-1,  1,  0])
    """
    signs = np.zeros(len(conditions), dtype=np.intp)
    if monotone is None:
        return signs
    wanted = np.asarray(monotone)
    if wanted.shape != (len(conditions.space),) or not np.isin(wanted, (-1, 0, 1)).all():
        raise InvalidValueError(
            f"monotone has one of -1, 0, 1 for each of {len(conditions.space)} features, not {monotone!r}"
        )
    direction = wanted.astype(np.intp)[conditions.feature]
    signs[conditions.kind == Kind.ABOVE] = direction[conditions.kind == Kind.ABOVE]
    signs[conditions.kind == Kind.AT_MOST] = -direction[conditions.kind == Kind.AT_MOST]
    return signs


class Pricing:
    """Prices all rules over some rows.

    Parameters
    ----------
    conditions : Conditions
        What rules consist of.
    cells : ndarray of int of shape (n, m)
        The cells of the rows; see `Conditions.cells`.
    max_conditions : int
        Most conditions of a rule: 1, 2 or 3.
    penalty : float, default 0.0
        What each condition after the first adds to the cost of a rule.
    monotone : ndarray of int of shape (n,), optional
        As for `rule_signs`. Rules whose conditions need different signs, and intervals on such a feature, are none.

    Examples
    --------
    >>> from clearmargin import FeatureSpace
    >>> table = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])
    >>> conditions = Conditions.of_table(FeatureSpace(["a", "b"]), table)
    >>> pricing = Pricing(conditions, conditions.cells(table), 2)
    >>> found = pricing.best(np.array([3.0, -1.0, -1.0, -1.0]))
    >>> [conditions.text(c) for c in found.items[0]], found.price[0]
    (['a <= 1.5', 'b <= 1.5'], np.float64(3.0))
    """

    def __init__(
        self,
        conditions: Conditions,
        cells: IntArray,
        max_conditions: int,
        penalty: float = 0.0,
        monotone: IntArray | None = None,
    ):
        self.conditions, self.cells = conditions, cells
        self.max_conditions = max_conditions
        self.costs = 1.0 + penalty * np.arange(max_conditions)
        self.signs = rule_signs(conditions, monotone)
        self._starts = conditions.starts
        self._features = conditions.used
        # Sums of these over sets of rows are different if the sets are, almost surely.
        m = cells.shape[1]
        random = np.random.default_rng(0).integers(1, max(2, 2**52 // max(m, 1)), m)
        self._codes = np.minimum(random, 2**40).astype(np.float64)
        self._coded: dict[float, list[int]] = {}
        for j in self._features:
            sums = conditions.gather(j, self._cell_sums(cells[j], self._codes, j))
            for c, total in enumerate(sums.tolist(), int(self._starts[j])):
                self._coded.setdefault(total, []).append(c)

    def cost(self, items: IntArray) -> FloatArray:
        """Give the cost of rules."""
        return np.asarray(self.costs[(items >= 0).sum(axis=1) - 1])

    def sign(self, rule: IntArray) -> int:
        """Give the sign that the weight of a rule must have; 0 for any."""
        return int(np.sign(self.signs[rule[rule >= 0]].sum()))

    def price(self, rule: IntArray, v: FloatArray) -> float:
        """Give the price of one rule."""
        total = float(v[self.conditions.rule_mask(rule.tolist(), self.cells)].sum())
        sign = self.sign(rule)
        size = max(0.0, sign * total) if sign else abs(total)
        return size / float(self.cost(rule[None, :])[0])

    def equal_condition(self, mask: BoolArray, sign: int) -> int | None:
        """Find the first condition that holds for just the rows of a rule, or for just the others.

        Parameters
        ----------
        mask : ndarray of bool of shape (m,)
            The rows of the rule.
        sign : int
            The sign that its weight must have; 0 for any.

        Returns
        -------
        int or None
            A condition that says the same beside an intercept, and may have the weights that the rule may have.
        """
        inside = float(self._codes[mask].sum())
        outside = float(self._codes.sum()) - inside
        equal = [(c, 1) for c in self._coded.get(inside, ())]
        opposite = [(c, -1) for c in self._coded.get(outside, ())]
        for c, side in sorted(equal + opposite):
            held = self.conditions.holds(c, self.cells)
            same = np.array_equal(held, mask if side > 0 else ~mask)
            if same and self.signs[c] in (0, side * sign):
                return c
        return None

    def best(self, v: FloatArray) -> PricedRules:
        """Find the rules with the highest prices of each feature and each set of features.

        Parameters
        ----------
        v : ndarray of shape (m,)
            Whole numbers whose magnitudes add up to less than 2^53.

        Returns
        -------
        PricedRules
            Without rules of price zero.
        """
        active = np.flatnonzero(v)
        cells, weights = self.cells[:, active], v[active]
        found: list[Priced] = []
        for j in self._features:
            sums = self._cell_sums(cells[j], weights, j)
            found.append(self._best_condition(j, sums))
            if self.max_conditions > 1:
                found += self._best_interval(j, sums)
        if self.max_conditions > 1:
            found += self._pairs(cells, weights)
        return self._ranked(found)

    def _ranked(self, found: list[Priced]) -> PricedRules:
        """Put rules in order: highest price, fewest conditions, first conditions."""
        found = sorted(
            (each for each in found if each[0] > 0.0),
            key=lambda each: (-each[0], len(each[1]), each[1]),
        )
        items = np.full((len(found), self.max_conditions), -1, dtype=np.intp)
        for row, (_, rule) in zip(items, found, strict=True):
            row[: len(rule)] = rule
        return PricedRules(items, np.array([price for price, _ in found], dtype=np.float64))

    def _cell_sums(self, places: IntArray, v: FloatArray, *features: int) -> FloatArray:
        """Add up weights over the cells of features, or over all combinations of their cells."""
        shape = [self.conditions.width(j) for j in features]
        sums = np.bincount(places, weights=v, minlength=math.prod(shape))
        return np.asarray(sums, dtype=np.float64).reshape(shape)

    def _best_condition(self, j: int, sums: FloatArray) -> Priced:
        start, end = self._starts[j : j + 2].tolist()
        values = _directed(self.conditions.gather(j, sums), self.signs[start:end])
        at = int(np.argmax(values))
        return float(values[at]) / float(self.costs[0]), (start + at,)

    def _best_interval(self, j: int, sums: FloatArray) -> Iterator[Priced]:
        """Give the best interval of a feature, if it has some: x <= t_a and x > t_b, for b < a."""
        start, end = self._starts[j : j + 2].tolist()
        cuts = len(self.conditions.thresholds[j])
        if cuts > 1 and not self.signs[start:end].any():
            below = np.add.accumulate(sums[:cuts])
            inside = np.tril(np.abs(below[:, None] - below), -1)
            a, b = divmod(int(np.argmax(inside)), cuts)
            yield float(inside[a, b]) / float(self.costs[1]), (start + a, start + cuts + b)

    def _pairs(self, cells: IntArray, v: FloatArray) -> Iterator[Priced]:
        """Give the best rules of each pair of features, with different conditions on the first one."""
        conditions, features = self.conditions, self._features
        for k, f in enumerate(features):
            signs = self.signs[self._starts[f] : self._starts[f + 1]]
            for g in features[k + 1 :]:
                places = cells[f] * conditions.width(g)
                places += cells[g]
                sums = self._cell_sums(places, v, f, g)
                table = conditions.gather(g, conditions.gather(f, sums).T).T
                others = self.signs[self._starts[g] : self._starts[g + 1]]
                values = _directed(table, signs[:, None], others)
                best = values.max(axis=1)
                for a in np.argsort(-best, kind="stable")[:_PER_PAIR].tolist():
                    b = int(np.argmax(values[a]))
                    rule = int(self._starts[f]) + a, int(self._starts[g]) + b
                    yield float(values[a, b]) / float(self.costs[1]), rule


def _directed(sums: FloatArray, *signs: IntArray) -> FloatArray:
    """Give the magnitudes of sums, or their parts in the direction that the signs of conditions allow together."""
    if not any(each.any() for each in signs):
        return np.abs(sums)
    together = sum(signs[1:], signs[0])
    spread = sum((np.abs(each) for each in signs[1:]), np.abs(signs[0]))
    directed = np.where(together == 0, np.abs(sums), np.maximum(0.0, np.sign(together) * sums))
    return np.where(np.abs(together) == spread, directed, 0.0)
