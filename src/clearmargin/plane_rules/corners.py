"""Corners: the best box of a region on one side of a plane, by volume or by the points that it covers.

**Coordinates.** A class lies where its margin m is positive (`models.margin.Margin`). In the coordinates
z_i = -sign(w_i) x_i of the numbers with a weight w_i, and z_j = -table_j[code of x_j] of the features with categories,
that reads {z : a'z < g} with a_i = |w_i| and a_j = 1, or a'z <= g where ties belong to the class. Every feature costs
as it grows: the *near* faces of a box lie deep inside and its *far* faces towards the plane, and an interval of what a
category adds is a set of categories. Only signs change, so nothing is rounded. Fung, Sandilya and Rao (KDD 2005,
eqs. 5-7) map to the unit cube instead. That needs divisions, and boxes that are exact there are not exact any more in
the user's units.

**Volume.** In a region near <= z <= far below the plane a'z = g, with slack s = g - a'near > 0 (Fung, Sandilya and
Rao, KDD 2005, eq. 8, in oriented coordinates)::

    maximise    prod_i (c_i - near_i)
    subject to  a'c = g,    near <= c <= far

Every feature spends p_i = a_i (c_i - near_i) of the slack, up to a_i (far_i - near_i). The product is largest when all
that are not at their end spend the same: p_i = min(t, a_i (far_i - near_i)) with t such that the slack is spent. This
is water-filling. The printed iteration (eqs. 14, 15) forgets earlier clamps when it is read literally; with clamps that
stay it converges to the same point. If the slack pays for the whole region, the region is the rule. A corner computed
in floating point may lie beyond the plane by a rounding error. The excess is computed exactly, and the face that loses
the least of its width is moved back by it.

**Coverage by pair exchange.** In a region with near corner z0 and slack s = g - a'z0, point j needs P_ji = a_i (z_ji -
z0_i) of feature i. A corner is a budget b with sum b = s, and it covers the points with P_j < b::

    maximise    #{j : P_ji < b_i for all i}
    subject to  sum_i b_i = s,    0 <= b_i <= a_i (far_i - z0_i)

This is what Fung, Sandilya and Rao (KDD 2005, section 4.2) ask for; their program (eq. 17) only approximates it. For
two features i, k with b_i + b_k fixed the best exchange is exact: a point that the other features admit is covered
exactly when b_i lies in the open interval (P_ji, b_i + b_k - P_jk), so the best b_i is a point of maximal overlap of
intervals, found by sorting. Pairs are exchanged until none gains. Three starts: the volume corner, equal numbers of
points cut off by each feature (the separable reading of eq. 17), and peeling, which removes outer points until the rest
fits. The best result is *polished*: the covered points' join keeps a margin to the faces, and what is left of the slack
is spent on volume.

**Coverage by the published program.** Eq. 17 of Fung, Sandilya and Rao (KDD 2005) approximates it by slacks, in
coordinates in which the region is the unit cube, Y_ji = (z_ji - near_i) / (far_i - near_i), and a step along feature i
costs w_i = a_i (far_i - near_i) / s, where s is the slack of its near corner::

    minimise    sum y
    subject to  Y_ji - y <= x_i,    w'x = 1,    0 <= x <= 1,    y >= 0

The text leaves open to what a slack belongs. Here it is a point, y_j: minimise sum_j max_i (Y_ji - x_i)_+, a linear
program with a row for each point and feature, of which few matter; rows enter when they are violated. Its raw corner
has faces at data values or at zero, and is polished.

**Short rules**: the best corner with a maximum number of features that are bounded, the outlook of Fung, Sandilya and
Rao (KDD 2005, section 7): rules that depend on different features instead of all on the same. A feature that is left
free goes to its end whatever that costs, and the others share what is left of the slack. Features are freed one after
the other, each time the one whose bound is missed least, until few enough are left. Features that the region bounds
already count, and may be bounded further at no price.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.models.margin import Margin
from clearmargin.rules import Box
from clearmargin.rules.arithmetic import exact_score, exact_sign
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Region:
    """A box in oriented coordinates, or a stack of boxes where the arrays have a leading axis."""

    near: FloatArray
    far: FloatArray
    near_closed: BoolArray
    far_closed: BoolArray

    @classmethod
    def stack(cls, boxes: Sequence[Region]) -> Region:
        """Put boxes into one stack."""
        return cls(
            np.stack([box.near for box in boxes]),
            np.stack([box.far for box in boxes]),
            np.stack([box.near_closed for box in boxes]),
            np.stack([box.far_closed for box in boxes]),
        )

    def __getitem__(self, place: Any) -> Region:
        return Region(
            self.near[place], self.far[place], self.near_closed[place], self.far_closed[place]
        )

    def __len__(self) -> int:
        return len(self.near)

    def up_to(self, far: FloatArray, closed: BoolArray) -> Region:
        """Return the box with the same near and other far faces."""
        return Region(self.near, far, self.near_closed, closed)

    def below(self, Z: FloatArray) -> BoolArray:
        """Tell for each point and feature whether the point is on the box's side of the far face."""
        # Up to a face and on it is below the next float, which takes one comparison instead of two.
        with np.errstate(over="ignore"):  # after the largest float comes inf
            limit = np.where(self.far_closed, np.nextafter(self.far, np.inf), self.far)
        return np.less(Z, limit)

    def contains(self, Z: FloatArray) -> BoolArray:
        """Tell for a single box which points it holds."""
        above = (self.near < Z) | (self.near_closed & np.equal(Z, self.near))
        return np.asarray((above & self.below(Z)).all(axis=1))

    def meets(self, others: Region) -> BoolArray:
        """Tell which of some boxes have a point in common with a single one."""
        below = (self.near < others.far) | (
            np.equal(self.near, others.far) & self.near_closed & others.far_closed
        )
        above = (others.near < self.far) | (
            np.equal(others.near, self.far) & others.near_closed & self.far_closed
        )
        return np.asarray((below & above).all(axis=1))

    def hulls(self, z: FloatArray) -> Region:
        """Return each box together with a point, which lies on the faces that had to move."""
        return Region(
            np.minimum(self.near, z),
            np.maximum(self.far, z),
            self.near_closed | (z <= self.near),
            self.far_closed | (z >= self.far),
        )


@dataclass(frozen=True, slots=True)
class Side:
    """Where a class has a positive margin, oriented: a'z < g, or a'z <= g."""

    margin: Margin
    features: IntArray
    a: FloatArray
    g: float
    signs: FloatArray
    costs: dict[int, FloatArray]

    @classmethod
    def of(cls, margin: Margin) -> Side:
        """Orient a margin; features that add nothing drop out."""
        costs = {j: -table for j, table in margin.tables.items() if table.any()}
        features = np.flatnonzero(margin.coef)
        features = np.sort(np.concatenate([features, np.array([*costs], dtype=np.intp)]))
        signs, a = -np.sign(margin.coef[features]), np.abs(margin.coef[features])
        a[[j in costs for j in features.tolist()]] = 1.0
        return cls(margin, features, a, margin.constant, signs, costs)

    def _named(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield the coordinates of categories, with their features and what each category costs."""
        for k, j in enumerate(self.features.tolist()):
            if j in self.costs:
                yield k, j, self.costs[j]

    def orient(self, X: FloatArray) -> FloatArray:
        """Give the coordinates of points."""
        Z = np.ascontiguousarray(X[:, self.features] * self.signs)
        for k, j, costs in self._named():
            Z[:, k] = costs[X[:, j].astype(np.intp)]
        return Z

    def region(self, box: Box) -> Region:
        """Return the part of a box that concerns the features with a weight."""
        j = self.features
        forward = self.signs > 0
        with np.errstate(invalid="ignore"):  # a category has no bounds
            lower, upper = box.lower[j] * self.signs, box.upper[j] * self.signs
        closed_low, closed_high = box.lower_closed[j], box.upper_closed[j]
        near, far = np.where(forward, lower, upper), np.where(forward, upper, lower)
        for k, feature, costs in self._named():
            allowed = costs[sorted(box.sets[feature])] if feature in box.sets else costs
            near[k], far[k] = allowed.min(), allowed.max()
        return Region(
            near,
            far,
            np.where(forward, closed_low, closed_high),
            np.where(forward, closed_high, closed_low),
        )

    def box(self, found: Region) -> Box:
        """Return a box in the user's features; those without weight are free."""
        n = len(self.margin.coef)
        j = self.features
        forward = self.signs > 0
        near, far = found.near * self.signs, found.far * self.signs
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
        lower[j], upper[j] = np.where(forward, near, far), np.where(forward, far, near)
        lower_closed[j] = np.where(forward, found.near_closed, found.far_closed)
        upper_closed[j] = np.where(forward, found.far_closed, found.near_closed)
        sets = {}
        for k, feature, costs in self._named():
            lower[feature], upper[feature] = -np.inf, np.inf
            inside = found[[k]].contains(costs[:, None])
            if not inside.all():
                sets[feature] = np.flatnonzero(inside).tolist()
        return Box(lower, upper, lower_closed, upper_closed, sets)

    def slack(self, z: FloatArray) -> float:
        """Return how far below the plane a point is, g - a'z, rounded once."""
        return -exact_score(self.a, z, -self.g)

    def admits(self, box: Region) -> bool:
        """Decide exactly whether a box lies wholly on this side."""
        sign = exact_sign(self.a, box.far, -self.g)
        return sign < 0 or (sign == 0 and (self.margin.takes_ties or not box.far_closed.all()))


# As computed, and one and two digits nearer: no face is rounded by more than one digit of the last place.
_ROUNDINGS = 3
_LARGEST = float(np.finfo(np.float64).max)


def volume_corner(side: Side, region: Region, Z: FloatArray) -> Region:
    """Find the corner of the largest box."""
    dear = side.a * (region.far - region.near)
    slack = side.slack(region.near)
    if slack > 0:
        spent = water_fill(np.zeros_like(dear), dear, slack)
        corner = corner_at(side, region, spent, spent >= dear)
        if corner is not None:
            return corner
    return deepest_corner(side, region, Z)


def water_fill(low: FloatArray, high: FloatArray, budget: float) -> FloatArray:
    """Share a budget equally, but for limits: p_i = clip(t, low_i, high_i) with sum p = budget."""
    if high.sum() <= budget:
        return high.copy()
    if low.sum() >= budget:
        return low.copy()
    # The total is piecewise linear and rising in t, with kinks at the limits.
    kinks = np.sort(np.concatenate([low, high]))
    totals = np.clip(kinks[:, None], low, high).sum(axis=1)
    k = int(np.searchsorted(totals, budget, side="right")) - 1
    free = (low <= kinks[k]) & (high > kinks[k])
    t = kinks[k] + (budget - totals[k]) / max(1, int(free.sum()))
    shares: FloatArray = np.clip(t, low, high)
    return shares


def corner_at(side: Side, region: Region, spent: FloatArray, at_end: BoolArray) -> Region | None:
    """Turn shares of the slack into far faces that are proved to be sound."""
    # A face may not pass the region's own, nor touch it from inside with another flag.
    rounded = region.near + spent / side.a
    at_end = at_end | (rounded >= region.far)
    far = np.where(at_end, region.far, rounded)
    closed = at_end & region.far_closed
    for _ in range(_ROUNDINGS):
        corner = region.up_to(far, closed)
        if not side.admits(corner):
            corner = _pull_back(side, region, corner, at_end)
        # Each open face has to lie strictly beyond its near face.
        has_room = (corner.far > region.near)[~corner.far_closed].all()
        if has_room and side.admits(corner):
            return corner
        # The excess of many roundings may be more than the width of any one face: round all the other way.
        far = np.where(at_end, far, np.nextafter(far, -np.inf))
    return None


def _pull_back(side: Side, region: Region, corner: Region, at_end: BoolArray) -> Region:
    """Move back, by just the excess, the face that loses the smallest share of its width."""
    far = corner.far
    excess = max(-side.slack(far), 0.0)
    width = far - region.near
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # A face moves by steps of its own digits, which may be coarser than the excess.
        loss = np.maximum(excess / side.a, np.spacing(np.abs(far))) / width
    loss = np.where(width > 0, loss, np.inf)
    # Faces on the region's end stay there as long as others can give.
    others = np.where(at_end, np.inf, loss)
    i = int(np.argmin(loss if at_end.all() else others))
    moved, closed = far.copy(), corner.far_closed.copy()
    moved[i] = _below(float(far[i]), excess, float(side.a[i]))
    closed[i] = False
    return region.up_to(moved, closed)


def _below(face: float, excess: float, weight: float) -> float:
    """Return the largest float that is below a face by at least an excess, which has been rounded once."""
    rounded_up = math.nextafter(excess, math.inf) if excess else 0.0
    if not math.isfinite(rounded_up):
        return -math.inf
    exact = Fraction(face) - Fraction(rounded_up) / Fraction(weight)
    if exact < -_LARGEST:
        return -math.inf
    nearest = float(exact)
    return nearest if nearest <= exact else math.nextafter(nearest, -math.inf)


def deepest_corner(side: Side, region: Region, Z: FloatArray) -> Region:
    """Close the faces at the point farthest from the plane: covers it, whatever rounding does."""
    deepest = Z[int(np.argmin(linear_scores(Z, side.a)))]
    return region.up_to(deepest, np.ones(len(deepest), dtype=np.bool_))


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
) -> Region:
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
) -> Region:
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
            if corner is not None and corner.below(Z).all(axis=1).any():
                return corner
    return deepest_corner(side, region, Z)


def short_corner(
    side: Side,
    region: Region,
    Z: FloatArray,
    *,
    domain: Region,
    max_conditions: int,
    criterion: str,
) -> Region | None:
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
    bounded |= (corner.far != domain.far) | (corner.far_closed != domain.far_closed)
    return corner if bounded.sum() <= max_conditions else None


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


# What a row may be violated by and still count as satisfied, in units of the cube.
_SLACK = 1e-9
_MOST_SOLVED = 200


def point_corner(side: Side, region: Region, Z: FloatArray) -> Region:
    """Solve the program of the paper, by rows that enter when they are violated."""
    # Solvers are loaded by those who use them.
    from clearmargin.solvers import Linear, Program, Session, Variables

    P, slack, ends = prices(side, region, Z)
    if slack <= 0:
        return deepest_corner(side, region, Z)
    if ends.sum() <= slack:
        return polished_corner(side, region, Z, ends + 1.0)
    used = np.flatnonzero(ends > 0)
    Y, times = np.unique(P[:, used] / ends[used], axis=0, return_counts=True)
    p, k = Y.shape
    program = Program(
        [
            Variables("x", k, lower=0.0, upper=1.0),
            Variables("y", p, lower=0.0, cost=times.astype(np.float64)),
            Linear("budget", {"x": (ends[used] / slack)[None]}, 1.0, 1.0),
        ]
    )
    session = Session(program, tol=1e-9, presolve=False)
    present = np.zeros((p, k), dtype=np.bool_)
    for round_ in range(_MOST_SOLVED):
        answer = session.solve()
        x, y = answer.values["x"], answer.values["y"]
        violated = (Y - x - y[:, None] > _SLACK) & ~present
        points = np.flatnonzero(violated.any(axis=1))
        if not len(points):
            break
        # Of each point the feature that is violated most: x_i + y_j >= Y_ji.
        features = np.argmax(np.where(violated, Y - x, -np.inf), axis=1)[points]
        present[points, features] = True
        ones, rows = np.ones(len(points)), np.arange(len(points))
        of_x = sparse.csr_array((ones, (rows, features)), shape=(len(points), k))
        of_y = sparse.csr_array((ones, (rows, points)), shape=(len(points), p))
        session.add_rows(
            Linear(f"cover{round_}", {"x": of_x, "y": of_y}, lower=Y[points, features])
        )
    budget = np.zeros_like(ends)
    budget[used] = x * ends[used]
    # Points on a face count as covered: they are admitted by the polish, which leaves them a margin.
    return polished_corner(side, region, Z, budget + 1e-9 * slack)
