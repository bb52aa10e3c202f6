"""The box with the largest coverage: point-coverage maximisation by pair exchange.

In a region with near corner z0 and slack s = g - a'z0, point j needs P_ji = a_i (z_ji - z0_i) of feature i. A corner
is a budget b with sum b = s, and it covers the points with P_j < b::

    maximise    #{j : P_ji < b_i for all i}
    subject to  sum_i b_i = s,    0 <= b_i <= a_i (far_i - z0_i)

This is what Fung, Sandilya and Rao (KDD 2005, section 4.2) ask for; their program (eq. 17) only approximates it (see
`coverage_lp`). For two features i, k with b_i + b_k fixed the best exchange is exact: a point that the other
features admit is covered exactly when b_i lies in the open interval (P_ji, b_i + b_k - P_jk), so the best b_i is a
point of maximal overlap of intervals, found by sorting. Pairs are exchanged until none gains. Three starts: the
volume corner, equal numbers of points cut off by each feature (the separable reading of eq. 17), and peeling, which
removes outer points until the rest fits. The best result is *polished*: the covered points' join keeps a margin to
the faces, and what is left of the slack is spent on volume.

Short rules: the best corner with a maximum number of features that are bounded.

The outlook of Fung, Sandilya and Rao (KDD 2005, section 7): rules that depend on different features instead of all on
the same. A feature that is left free goes to its end whatever that costs, and the others share what is left of the
slack. Features are freed one after the other, each time the one whose bound is missed least, until few enough are
left. Features that the region bounds already count, and may be bounded further at no price.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from clearmargin.plane_rules.side import Corner, Region, Side
from clearmargin.plane_rules.volume_corner import corner_at, deepest_corner, water_fill
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

# Exchanges gain points at first and settle quickly; more rounds were never seen to matter.
_ROUNDS = 8
# With many points peeling takes a share of those left at a time: one in so many.
_PEEL_SHARE, _PEEL_SHARE_OF_MANY, _MANY = 200, 40, 1_000


def coverage_corner(
    side: Side,
    region: Region,
    Z: FloatArray,
    rng: np.random.Generator | None = None,
    *,
    thorough: bool = True,
) -> Corner:
    """Find a corner that covers as many points as pair exchange can."""
    P, slack, ends = prices(side, region, Z)
    if ends.sum() < slack:
        whole = corner_at(side, region, ends, np.ones(len(ends), dtype=np.bool_))
        if whole is not None:
            return whole
    starts: list[Callable[[], FloatArray]] = [
        lambda: water_fill(np.zeros_like(ends), ends, slack),
        lambda: quantile_budget(P, slack),
    ]
    if thorough:
        starts.append(lambda: peel(P, slack))
    if rng is not None:
        starts.append(lambda: rng.dirichlet(np.ones(len(ends))) * slack)
        starts = [starts[rng.integers(len(starts))]]
    budgets = [exchange_pairs(P, start()) for start in starts]
    counts = [covered(P, budget).sum() for budget in budgets]
    best = budgets[int(np.argmax(counts))]
    return polished_corner(side, region, Z, best)


def prices(side: Side, region: Region, Z: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """Return what each point needs of each feature, the slack, and what the region's far faces would cost."""
    P = (Z - region.near) * side.a
    return P, side.slack(region.near), side.a * (region.far - region.near)


def covered(P: FloatArray, budget: FloatArray) -> BoolArray:
    """Tell which points a budget covers."""
    return np.asarray(np.less(P, budget).all(axis=1))


def quantile_budget(P: FloatArray, slack: float) -> FloatArray:
    """Return the separable reading of eq. 17: minimise sum_ji (P_ji - b_i)_+ with sum b = slack."""
    descending = -np.sort(-P, axis=0)
    totals = descending.sum(axis=1)
    fitting = np.flatnonzero(totals < slack)
    if not len(fitting):
        return np.full(P.shape[1], slack / P.shape[1])
    budget = descending[fitting[0]]
    return np.asarray(budget + (slack - budget.sum()) / len(budget))


def peel(P: FloatArray, slack: float) -> FloatArray:
    """Take away the outer points of one feature after the other until the join of the rest fits."""
    rest = np.ascontiguousarray(
        P.T
    )  # a row a feature: all that is asked here is asked of single features
    join = rest.max(axis=1)
    while join.sum() >= slack and rest.shape[1] > 1:
        m = rest.shape[1]
        step = max(1, m // (_PEEL_SHARE_OF_MANY if m > _MANY else _PEEL_SHARE))
        # After the step outermost points are gone, the next one sets the face; ties go together.
        inner = np.partition(rest, -1 - step, axis=1)[:, -1 - step]
        for j in np.flatnonzero(inner >= join):
            inner[j] = rest[j].max(initial=-np.inf, where=rest[j] < join[j])
        lost = np.greater(rest, inner[:, None]).sum(axis=1)
        gain = np.where(np.isfinite(inner), (join - inner) / lost, -np.inf)
        i = int(np.argmax(gain))
        if not np.isfinite(gain[i]):
            break
        rest = rest[:, rest[i] <= inner[i]]
        join = rest.max(axis=1)
    left = max(slack - join.sum(), 0.0)
    return np.asarray(join + left / len(join))


def exchange_pairs(P: FloatArray, budget: FloatArray) -> FloatArray:
    """Let pairs of features exchange budget as long as that covers more points."""
    budget = budget.copy()
    short = np.greater_equal(P, budget)
    misses = short.sum(axis=1)
    best = int((misses == 0).sum())
    can_gain = _can_gain(P, budget, short, misses)
    for _ in range(_ROUNDS):
        before = best
        for i, k in combinations(range(P.shape[1]), 2):
            if not can_gain[i, k]:
                continue
            eligible = misses == short[:, i].astype(np.intp) + short[:, k]
            share, count = _best_share(P[eligible, i], P[eligible, k], budget[i] + budget[k])
            if count > best:
                total = budget[i] + budget[k]
                budget[i], budget[k] = share, total - share
                for j in (i, k):
                    misses -= short[:, j]
                    short[:, j] = P[:, j] >= budget[j]
                    misses += short[:, j]
                best = int((misses == 0).sum())
                can_gain = _can_gain(P, budget, short, misses)
        if best == before:
            break
    return budget


def _can_gain(P: FloatArray, budget: FloatArray, short: BoolArray, misses: IntArray) -> BoolArray:
    """Tell for each pair whether some point that is not covered fits into what the two have together."""
    # Sums are rounded in another order below; a pair too many is looked at and gains nothing.
    room = (budget[:, None] + budget) * (1.0 + 1e-12)
    found = np.zeros(room.shape, dtype=np.bool_)
    lone = np.flatnonzero(misses == 1)
    i = short[lone].argmax(axis=1)
    rows, k = np.nonzero(P[lone] + P[lone, i][:, None] <= room[i])
    found[i[rows], k] = True
    both = np.flatnonzero(misses == 2)
    lacks = short[both]
    i, k = lacks.argmax(axis=1), len(budget) - 1 - lacks[:, ::-1].argmax(axis=1)
    fits = P[both, i] + P[both, k] <= room[i, k]
    found[i[fits], k[fits]] = True
    return found | found.T


def _best_share(first: FloatArray, second: FloatArray, total: float) -> tuple[float, int]:
    """Return where most of the open intervals (first_j, total - second_j) overlap, and how many do."""
    ends = total - second
    proper = first < ends
    if not proper.any():
        return 0.0, 0
    starts, ends = np.sort(first[proper]), np.sort(ends[proper])
    # Just beyond a start: those started so far, less those ended.
    ended = np.searchsorted(ends, starts, side="right")
    alive = np.arange(1, len(starts) + 1) - ended
    j = int(np.argmax(alive))
    return float(starts[j] + ends[ended[j]]) / 2.0, int(alive[j])


def polished_corner(
    side: Side,
    region: Region,
    Z: FloatArray,
    budget: FloatArray,
    free: BoolArray | None = None,
) -> Corner:
    """Turn a budget into a corner whose faces keep a distance from the points they cover."""
    P, slack, ends = prices(side, region, Z)
    inside = covered(P, budget)
    if inside.any():
        join = P[inside].max(axis=0)
        if free is not None:
            join = np.where(free, ends, join)
        left = slack - float(join.sum())
        if left > 0:
            floor = np.minimum(join + left / (2.0 * len(join)), ends)
            spent = water_fill(floor, ends, slack)
            corner = corner_at(side, region, spent, spent >= ends)
            if corner is not None and corner.holds(Z).all(axis=1).any():
                return corner
    return deepest_corner(side, Z)


def short_corner(
    side: Side,
    region: Region,
    Z: FloatArray,
    *,
    domain: Region,
    max_conditions: int,
    criterion: str,
) -> Corner | None:
    """Find a corner with a maximum number of features that are bounded."""
    # A face at the end of the domain that excludes the end itself is a condition, too.
    bounded = (region.near != domain.near) | (region.near_closed != domain.near_closed)
    bounded |= (region.far != domain.far) | (region.far_closed != domain.far_closed)
    P, slack, ends = prices(side, region, Z)
    free = np.zeros(len(ends), dtype=np.bool_)
    while (~free & ~bounded).sum() + bounded.sum() > max_conditions:
        best = _cheapest_to_free(P, slack, ends, free, bounded, criterion)
        if best is None:
            return None
        free[best] = True
    budget = _budget(P, slack, ends, free, criterion)
    if budget is None:
        return None
    if criterion == "coverage":
        if not covered(P, budget).any():
            return None
        corner = polished_corner(side, region, Z, budget, free)
    else:
        shares = corner_at(side, region, budget, free | (budget >= ends))
        if shares is None:
            return None
        corner = shares
    # Moving a face back to be sound may have bounded a free feature.
    bounded_after = bounded | (corner.far != domain.far) | (corner.closed != domain.far_closed)
    return corner if bounded_after.sum() <= max_conditions else None


def _cheapest_to_free(
    P: FloatArray,
    slack: float,
    ends: FloatArray,
    free: BoolArray,
    bounded: BoolArray,
    criterion: str,
) -> int | None:
    best, worth = None, -np.inf
    for i in np.flatnonzero(~free & ~bounded):
        tried = free.copy()
        tried[i] = True
        budget = _budget(P, slack, ends, tried, criterion)
        if budget is None:
            continue
        value = _worth(P, budget, ends, criterion)
        if value > worth:
            best, worth = int(i), value
    return best


def _worth(P: FloatArray, budget: FloatArray, ends: FloatArray, criterion: str) -> float:
    if criterion == "coverage":
        # Of budgets that cover the same, the roomier one.
        roominess = float(np.minimum(budget, ends).sum() / max(ends.sum(), 1e-300))
        return float(covered(P, budget).sum()) + 0.5 * roominess
    shares = np.minimum(budget, ends) / np.where(ends > 0, ends, 1.0)
    # A share so small that it is gone would end all comparison.
    shares = np.maximum(shares, np.finfo(np.float64).tiny)
    return _order_of_product(np.where(ends > 0, shares, 1.0).tolist())


def _order_of_product(factors: list[float]) -> float:
    """Return a number that grows with a product of positive factors, however small that is."""
    digits, exponent = 1.0, 0
    for factor in factors:
        digits, more = math.frexp(digits * factor)
        exponent += more
    return exponent + digits


def _budget(
    P: FloatArray, slack: float, ends: FloatArray, free: BoolArray, criterion: str
) -> FloatArray | None:
    """Return what each feature spends when some are free; None when that is too dear."""
    left = slack - float(ends[free].sum())
    if left <= 0:
        return None
    if criterion == "volume" or free.all():
        return water_fill(np.where(free, ends, 0.0), ends, slack)
    budget = np.where(free, np.inf, 0.0)
    tied = P[:, ~free]
    start = quantile_budget(tied, left)
    budget[~free] = exchange_pairs(tied, start)
    return budget
