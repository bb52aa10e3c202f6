r"""Which rule would help most: the largest weighted sum over the rows of a rule, over all rules of few conditions.

Data: weights v_i of the rows, which are whole numbers; the cells of the rows in each feature (see `conditions`). The
*price* of a rule r of k_r conditions with rows h_r is::

    |sum_i v_i h_r(x_i)| / c_r,    c_r = 1 + penalty (k_r - 1)

or max(0, s_r sum_i v_i h_r(x_i)) / c_r where the weight of the rule may only have the sign s_r. This is the leverage of
`clearmargin.rule_base.leverage_search` with weights in place of counts.

Rules are priced by features: the weights are added up over the cells of one, two or three features, once, and sums over
cells become sums over conditions by running sums. The leverage search serves where it is faster, and both find the same
price:

* pairs of features with at most four conditions each, such as those with two values, are a product of matrices by the
  counter of the search: a fourth of the time with 100 such features, because no pair is looked at by itself;
* rules on three features with too many cells, as with hundreds of bins, are sought by its branch and bound, among those
  that beat all rules of fewer conditions.

Elsewhere its branch and bound takes longer: by the multipliers of a master as long for rules of two conditions over 351
rows of 34 features, but 8 times as long over 1,000 rows of 20 features with 32 bins, 180 times with 256 bins, and 34
times for rules of three conditions with 16 bins (``python -m benchmarks.speed.pricing``). The bound, what is covered of
one sign, discards little: 87 to 100 % of all pairs of conditions were counted.

Since weights are whole numbers and their sum is below 2^53, every sum is exact in floats: prices, and what is
chosen by them, depend neither on the order of rows nor on the processor. Of equal prices the rule with the fewest
conditions comes first, then the one with the first conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from clearmargin import progress
from clearmargin.exceptions import InvalidValueError, TimeLimitError
from clearmargin.rule_base.leverage_search import WeightedContrast, search_best
from clearmargin.rule_svm.conditions import Conditions, Kind, running_sums
from clearmargin.rule_svm.work import Budget
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["PricedRules", "Pricing", "rule_signs"]


# Cells of three features up to which their sums are kept, 16 MB.
_LARGEST_CUBE = 1 << 21
# Rules that a search gives.
_PER_SEARCH = 20
# Sums that are looked at together, 256 kB: three times as fast as all of three features at once.
_CACHED = 1 << 15
# Sets of three features that a quick look goes to.
_PROMISING = 100
# Rules of a pair of features: with one alone twice as many rounds were needed, with 10 no fewer.
_PER_PAIR = 6
# Conditions of a feature up to which its pairs are one product of matrices; at most `_PER_PAIR`. With 25 features of 5
# conditions over 10,000 rows the sums over cells are faster.
_FEW_CONDITIONS = 4
# Sums of pairs, and values of rows, that are looked at together, 8 MB each.
_SUMS = 1 << 20

# Seconds, measured as in `work`: of what is done once for a feature or set of features, once for a pair, for a row, for
# a sum of two and of three conditions; for a row of a conjunction that is counted.
_CALL_WORK, _PAIR_WORK, _ROW_WORK, _SUM_WORK = 4e-5, 1.5e-5, 3e-9, 2e-9
_CUBE_WORK, _COUNT_WORK = 1.2e-9, 3e-10

Priced = tuple[float, tuple[int, ...]]  # a price and the conditions of the rule


@dataclass(frozen=True, slots=True)
class PricedRules:
    """The best rules of each set of features above a price, the highest price first.

    Parameters
    ----------
    items : ndarray of int of shape (r, k)
        The conditions of each rule in ascending order, -1 where it has fewer than k.
    price : ndarray of shape (r,)
        Their prices, in the unit of the weights.
    unseen : float, default 0.0
        A price that no rule which is not listed can exceed, but those of the same sets of features.
    """

    items: IntArray
    price: FloatArray
    unseen: float = 0.0

    @property
    def highest(self) -> float:
        """A price that no rule exceeds: the highest price itself if all rules were looked at."""
        return max(self.unseen, float(self.price.max(initial=0.0)))


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
        widest = sorted(conditions.width(j) for j in self._features)[-3:]
        self._is_large = max_conditions > 2 and math.prod(widest) > _LARGEST_CUBE
        self._sets_of_three = self._list_sets() if max_conditions > 2 else []
        self._promising: list[tuple[int, ...]] | None = None
        # Sums of these over sets of rows are different if the sets are, almost surely.
        m = cells.shape[1]
        random = np.random.default_rng(0).integers(1, max(2, 2**52 // max(m, 1)), m)
        self._codes = np.minimum(random, 2**40).astype(np.float64)
        self._coded: dict[float, list[int]] = {}
        for j in self._features:
            sums = conditions.gather(j, self._cell_sums(cells[j], self._codes, j))
            for c, total in enumerate(sums.tolist(), int(self._starts[j])):
                self._coded.setdefault(total, []).append(c)
        self._first = self._first_equals()
        self._few = [j for j in self._features if len(self._range(j)) <= _FEW_CONDITIONS]
        self._few_items = np.array([c for j in self._few for c in self._range(j)], dtype=np.intp)
        held = [conditions.holds(c, cells) for c in self._few_items.tolist()]
        self._few_masks = np.array(held, dtype=np.bool_).reshape(len(held), m)
        self._blocks = self._list_blocks() if max_conditions > 1 else []
        self._work = self._pair_work()

    def _first_equals(self) -> list[int]:
        """Find for each condition the first one that holds for the same rows and allows the same weights."""
        first = list(range(len(self.conditions)))
        for alike in self._coded.values():
            held = [self.conditions.holds(c, self.cells) for c in alike if len(alike) > 1]
            for (k, before), (other, c) in combinations(enumerate(alike), 2):
                same = first[c] == c and np.array_equal(held[k], held[other])
                if same and self.signs[before] == self.signs[c]:
                    first[c] = before
        return first

    def _list_blocks(self) -> list[tuple[int, list[int]]]:
        """List pairs of features: one, and some later ones with as many conditions of each kind, at most a cache full.

        Pairs that are both of few conditions are left out.
        """
        conditions, few, features = self.conditions, set(self._few), self._features
        blocks: list[tuple[int, list[int]]] = []
        for k, f in enumerate(features):
            alike: dict[tuple[int, int, bool], list[int]] = {}
            for g in features[k + 1 :]:
                if f not in few or g not in few:
                    kind = (
                        len(conditions.thresholds[g]),
                        len(conditions.codes[g]),
                        conditions.missing[g],
                    )
                    alike.setdefault(kind, []).append(g)
            for others in alike.values():
                step = max(1, _CACHED // (len(self._range(f)) * len(self._range(others[0]))))
                blocks += [(f, others[i : i + step]) for i in range(0, len(others), step)]
        return blocks

    def _pair_work(self) -> float:
        """Give the work of pricing all single conditions, intervals and pairs of features; see `work`."""
        m = int(self.cells.shape[1])
        work = _CALL_WORK * len(self._features) + _ROW_WORK * m * len(self._features)
        for f, others in self._blocks:
            sums = len(self._range(f)) * len(self._range(others[0]))
            work += _CALL_WORK + len(others) * (_PAIR_WORK + _ROW_WORK * m + _SUM_WORK * sums)
        return work + _COUNT_WORK * m * float(len(self._few_items) ** 2)

    def _set_work(self, features: tuple[int, ...]) -> float:
        """Give the work of pricing the rules of three conditions on two or three features."""
        sizes = [len(self._range(j)) for j in features]
        sums = math.prod(sizes) * (sizes[0] if len(features) == 2 else 1)
        return _CALL_WORK + _ROW_WORK * int(self.cells.shape[1]) + _CUBE_WORK * sums

    def _list_sets(self) -> list[tuple[int, ...]]:
        """List the sets of three features, and of one with an interval and another one."""
        free = [
            f
            for f in self._features
            if len(self.conditions.thresholds[f]) > 1
            and not self.signs[self._starts[f] : self._starts[f + 1]].any()
        ]
        pairs = [(f, g) for f in free for g in self._features if g != f]
        return [*pairs, *([] if self._is_large else combinations(self._features, 3))]

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

    def best(
        self,
        v: FloatArray,
        *,
        above: float = 0.0,
        quick: bool = False,
        budget: Budget | None = None,
    ) -> PricedRules:
        """Find the rules with the highest prices of each feature and each set of features.

        Parameters
        ----------
        v : ndarray of shape (m,)
            Whole numbers whose magnitudes add up to less than 2^53.
        above : float, default 0.0
            Rules of this price and below are not listed.
        quick : bool, default False
            Whether to look only at those sets of three features that were best when all were looked at last.
        budget : Budget, optional
            What the work is taken off, and when to stop looking at sets of three features.

        Returns
        -------
        PricedRules
            Without rules of price zero.
        """
        budget = Budget() if budget is None else budget
        budget.spend(self._work)
        active = np.flatnonzero(v)
        cells, weights = self.cells[:, active], v[active]
        found: list[Priced] = []
        for j in self._features:
            sums = self._cell_sums(cells[j], weights, j)
            found.append(self._best_condition(j, sums))
            if self.max_conditions > 1:
                found += self._best_interval(j, sums)
        if self.max_conditions > 1:
            found += self._pairs(cells, weights, above)
            if len(self._few) > 1:
                found += self._pairs_of_few(self._few_masks[:, active], weights)
        unseen = 0.0
        if self.max_conditions > 2:
            triples, is_whole = self._triples(cells, weights, quick, budget)
            found += triples
            if self._is_large:
                highest = max((price for price, _ in found), default=0.0)
                sought, is_sought = self._sought(cells, weights, highest, budget)
                found += sought
                is_whole &= is_sought
            # Whatever three conditions hold for, it is at best all of one sign.
            parts = weights[weights > 0].sum(), -weights[weights < 0].sum()
            unseen = 0.0 if is_whole else float(max(parts)) / float(self.costs[2])
        return self._ranked(found, above, unseen)

    def _ranked(self, found: list[Priced], above: float, unseen: float) -> PricedRules:
        """Put rules in order: highest price, fewest conditions, first conditions; of equal conditions the first."""
        least = max(above, 0.0)
        unseen = max(unseen, *(price for price, _ in found if price <= least), 0.0)
        named = {
            (tuple(sorted({self._first[c] for c in rule})), price)
            for price, rule in found
            if price > least
        }
        ranked = sorted(
            ((price, rule) for rule, price in named),
            key=lambda each: (-each[0], len(each[1]), each[1]),
        )
        items = np.full((len(ranked), self.max_conditions), -1, dtype=np.intp)
        for row, (_, rule) in zip(items, ranked, strict=True):
            row[: len(rule)] = rule
        prices = np.array([price for price, _ in ranked], dtype=np.float64)
        return PricedRules(items, prices, unseen)

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

    def _pairs(self, cells: IntArray, v: FloatArray, above: float) -> Iterator[Priced]:
        """Give the best rules of each pair of features, with different conditions on the first one.

        Of pairs without a rule above a price the best one alone is given. Pairs that are both of few conditions are
        left to `_pairs_of_few`.
        """
        starts, cost = self._starts, float(self.costs[1])
        for f, others in self._blocks:
            values = self._pair_values(cells, v, f, others)
            best = values.max(axis=0)
            highest = best.max(axis=1) / cost
            for k, g in enumerate(others):
                most = _PER_PAIR if highest[k] > above else 1
                rows = (
                    np.argsort(-best[k], kind="stable")[:most]
                    if most > 1
                    else best[k : k + 1].argmax(axis=1)
                )
                at = values[:, k, rows].argmax(axis=0)
                for a, b in zip(rows.tolist(), at.tolist(), strict=True):
                    yield float(values[b, k, a]) / cost, (int(starts[f]) + a, int(starts[g]) + b)

    def _pair_values(
        self, cells: IntArray, v: FloatArray, f: int, others: Sequence[int]
    ) -> FloatArray:
        """Give what counts of the sums of all pairs of conditions of a feature and of others that are divided alike.

        Returns
        -------
        ndarray of shape (p_g, len(others), p_f)
            For each condition of the others and each of the first feature.
        """
        conditions, width = self.conditions, self.conditions.width(others[0])
        sums = np.empty((conditions.width(f), len(others), width))
        first = cells[f] * width
        for k, g in enumerate(others):
            sums[:, k] = self._cell_sums(first + cells[g], v, f, g)
        table = conditions.gather(f, sums).transpose(2, 1, 0)
        # In one piece, so that rows of the table are added up at the speed of memory.
        gathered = conditions.gather(others[0], np.ascontiguousarray(table))
        mine = self.signs[self._starts[f] : self._starts[f + 1]]
        theirs = np.array([self.signs[self._starts[g] : self._starts[g + 1]] for g in others])
        return _directed(gathered, theirs.T[:, :, None], mine)

    def _pairs_of_few(self, masks: BoolArray, v: FloatArray) -> Iterator[Priced]:
        """Give the best rule of each condition with each later feature, where both features have few conditions.

        As `_pairs`, which has too much to do for each pair of features where there are hundreds with two values: all
        sums are a product of matrices, by the counter of the leverage search.
        """
        items, p = self._few_items, len(self._few_items)
        attribute, step = self.conditions.feature[items], max(1, _SUMS // p)
        counters = [
            WeightedContrast(masks[:, k : k + step], v[k : k + step], attribute).counter(
                np.arange(p)
            )
            for k in range(0, len(v), step)
        ]
        sizes = np.array([len(self._range(j)) for j in self._few])
        starts, place = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
        for first in range(0, p, step):
            some = np.arange(first, min(p, first + step))
            totals = np.zeros((2, len(some), p))
            for counter in counters:
                totals += counter.count_all(some, np.arange(p))
            signs = self.signs[items[some]][:, None]
            values = _directed(totals[0] - totals[1], signs, self.signs[items])
            best = np.maximum.reduceat(values, starts, axis=1)
            # The first condition of each feature that has the best value.
            is_best = values == np.repeat(best, sizes, axis=1)
            at = np.minimum.reduceat(np.where(is_best, np.arange(p), p), starts, axis=1)
            left, right = np.nonzero((place[some][:, None] < np.arange(len(sizes))) & (best > 0.0))
            rules = zip(items[some[left]].tolist(), items[at[left, right]].tolist(), strict=True)
            prices = best[left, right] / float(self.costs[1])
            yield from zip(prices.tolist(), rules, strict=True)

    def _triples(
        self, cells: IntArray, v: FloatArray, quick: bool, budget: Budget
    ) -> tuple[list[Priced], bool]:
        """Give the best rule of three conditions on each set of two or three features, and whether these were all."""
        found: list[tuple[Priced, tuple[int, ...]]] = []
        chosen = self._promising if quick else None
        for features in self._sets_of_three if chosen is None else chosen:
            if budget.is_over:
                break
            budget.spend(self._set_work(features))
            if len(features) == 2:
                best = self._interval_and_condition(cells, v, *features)
            else:
                best = self._triple(cells, v, *features)
            found.append((best, features))
            progress.advance(0.0)
        else:
            if chosen is None:
                order = sorted(found, key=lambda each: (-each[0][0], each[0][1]))
                self._promising = [features for _, features in order[:_PROMISING]]
            return [best for best, _ in found], chosen is None
        return [best for best, _ in found], False

    def _sought(
        self, cells: IntArray, v: FloatArray, above: float, budget: Budget
    ) -> tuple[list[Priced], bool]:
        """Search for rules on three features with a price above one, and tell whether there was time for all."""
        masks = np.array([self.conditions.holds(c, cells) for c in range(len(self.conditions))])
        sign = self.signs if self.signs.any() else None
        contrast = WeightedContrast(masks, v, self.conditions.feature, sign)
        least = int(above * float(self.costs[2])) + 1

        def is_over(counted: int) -> bool:
            budget.spend(_COUNT_WORK * len(v) * counted)
            return budget.is_over

        try:
            found = search_best(contrast, _PER_SEARCH, 3, threshold=least, is_over=is_over)
        except TimeLimitError:
            return [], False
        sizes = np.abs(found.top - found.bottom).tolist()
        whole = zip(found.items.tolist(), sizes, strict=True)
        return [
            (size / float(self.costs[2]), tuple(rule)) for rule, size in whole if rule[2] >= 0
        ], True

    def _triple(self, cells: IntArray, v: FloatArray, f: int, g: int, h: int) -> Priced:
        """Give the best rule with a condition on each of three features."""
        conditions = self.conditions
        places = cells[f] * conditions.width(g)
        places += cells[g]
        places *= conditions.width(h)
        places += cells[h]
        whole = conditions.gather(f, self._cell_sums(places, v, f, g, h))
        best, rule = 0.0, (0, 0, 0)
        # Some conditions of the first feature at a time, so that they stay in cache.
        step = max(1, _CACHED // (len(self._range(g)) * conditions.width(h)))
        for first in range(0, len(whole), step):
            table = conditions.gather(g, whole[first : first + step].transpose(1, 0, 2))
            signs = [self.signs[self._starts[j] : self._starts[j + 1]] for j in (f, g, h)]
            signs[0] = signs[0][first : first + step]
            if any(each.any() for each in signs) or conditions.codes[h]:
                wide = conditions.gather(h, table.transpose(2, 1, 0)).transpose(1, 2, 0)
                values = _directed(wide, signs[0][:, None, None], signs[1][:, None], signs[2])
                a, b, c = np.unravel_index(int(np.argmax(values)), values.shape)
                value = float(values[a, b, c])
            else:
                highest = self._highest_over(h, table).T
                a, b = np.unravel_index(int(np.argmax(highest)), highest.shape)
                c = np.argmax(np.abs(conditions.gather(h, table[b, a])))
                value = float(highest[a, b])
            if value > best:
                best, rule = value, (first + int(a), int(b), int(c))
        found = [self._range(j)[k] for j, k in zip((f, g, h), rule, strict=True)]
        return best / float(self.costs[2]), tuple(found)

    def _range(self, j: int) -> range:
        """Give the conditions of a feature."""
        return range(int(self._starts[j]), int(self._starts[j + 1]))

    def _highest_over(self, j: int, table: FloatArray) -> FloatArray:
        """Give the highest magnitude that a condition on a numeric feature, the last axis, reaches in each entry.

        For x <= t it is that of the highest or lowest running sum, for x > t that of the whole less one of these two:
        no sum over conditions is written down.
        """
        cuts = len(self.conditions.thresholds[j])
        turned = np.ascontiguousarray(table.transpose(2, 0, 1))
        if not cuts:
            return np.asarray(np.abs(turned[-1]))
        below = running_sums(turned[: cuts + 1])
        whole, high, low = below[-1], below[:-1].max(axis=0), below[:-1].min(axis=0)
        highest = np.maximum(np.maximum(high, -low), np.maximum(whole - low, high - whole))
        if self.conditions.missing[j]:
            highest = np.maximum(highest, np.abs(turned[-1]))
        return np.asarray(highest)

    def _interval_and_condition(self, cells: IntArray, v: FloatArray, f: int, g: int) -> Priced:
        """Give the best rule of an interval on one feature and a condition on another."""
        conditions, cuts = self.conditions, len(self.conditions.thresholds[f])
        places = cells[f] * conditions.width(g)
        places += cells[g]
        table = conditions.gather(g, self._cell_sums(places, v, f, g).T).T
        below = running_sums(table[:cuts])
        signs = self.signs[self._starts[g] : self._starts[g + 1]]
        inside = _directed(below[:, None] - below, signs)
        inside *= np.tri(cuts, cuts, -1)[:, :, None]
        a, b, c = np.unravel_index(int(np.argmax(inside)), inside.shape)
        start = int(self._starts[f])
        rule = sorted([start + int(a), start + cuts + int(b), int(self._starts[g]) + int(c)])
        return float(inside[a, b, c]) / float(self.costs[2]), tuple(rule)


def _directed(sums: FloatArray, *signs: IntArray) -> FloatArray:
    """Give the magnitudes of sums, or their parts in the direction that the signs of conditions allow together."""
    if not any(each.any() for each in signs):
        return np.abs(sums)
    together = sum(signs[1:], signs[0])
    spread = sum((np.abs(each) for each in signs[1:]), np.abs(signs[0]))
    directed = np.where(together == 0, np.abs(sums), np.maximum(0.0, np.sign(together) * sums))
    return np.where(np.abs(together) == spread, directed, 0.0)
