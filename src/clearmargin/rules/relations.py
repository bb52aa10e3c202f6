r"""Relations between columns, such as ``diastolic <= systolic``: what they leave of a box, exactly.

Relations are rows A x <= b that every possible case satisfies. They tie some columns of a `Domain` to each other; the
others stay independent of each other, and closed forms serve them. Over the tied columns

    minimise    w'x
    subject to  A x <= b,    x in the box,    whole numbers,    exactly one column of each group is 1

is a linear program with few unknowns, solved in rational arithmetic (`exact_minimum`), with branch and bound where
whole numbers ask for it. No float and no solver has a part in it. Its proof is a multiplier y >= 0 for each relation:
for every possible case w'x >= w'x + y'(A x - b), and the lowest value of the right-hand side over the box alone, which
is a closed form, is the lowest value of the left-hand side over box and relations.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from clearmargin.rules.box import Box
from clearmargin.rules.polyhedron import Optimum, Polyhedron, exact_minimum
from clearmargin.rules.value import BoolArray, FloatArray

if TYPE_CHECKING:
    from clearmargin.rules.domain import OneHot

__all__ = ["TiedColumns", "TiedOptimum", "narrow"]

# Relations that go round in a circle could narrow a box for ever.
_MOST_ROUNDS = 16
# Boxes that are looked at for whole numbers; then the bound that is proved so far is the answer.
_MOST_NODES = 2_000
# How far inside of a relation a witness is put where the nearest floats are outside, relative to its terms.
_INSETS = (0.0, 2.0**-46, 2.0**-38, 2.0**-26)


def narrow(relations: Polyhedron, box: Box, integer: BoolArray) -> Box:
    """Draw in the ends of a box as far as single relations tell, outwards rounded.

    Parameters
    ----------
    relations : Polyhedron
        What every case satisfies.
    box : Box
        Over the same columns.
    integer : ndarray of bool of shape (n,)
        Which columns hold whole numbers.

    Returns
    -------
    Box
        It holds all cases of the box that satisfy the relations.

    Examples
    --------
    >>> ordered = Polyhedron([[1.0, -1.0]], [0.0])
    >>> narrow(ordered, Box([90.0, 0.0], [120.0, 250.0]), np.array([False, False])).lower
    array([90., 90.])
    """
    ends = [box.lower.copy(), box.upper.copy()]
    closed = [box.lower_closed.copy(), box.upper_closed.copy()]
    for _ in range(_MOST_ROUNDS):
        moved = False
        for row, limit in zip(relations.A, relations.b, strict=True):
            for j, end, bound in _bounds_of_row(row, float(limit), *ends):
                value = _outwards(bound, upwards=end == 1, whole=bool(integer[j]))
                if value < ends[1][j] if end else value > ends[0][j]:
                    ends[end][j], closed[end][j], moved = value, True, True
        if not moved or (ends[0] > ends[1]).any():
            break
    return Box(ends[0], ends[1], closed[0], closed[1], box.sets, box.missing, box.known)


def _bounds_of_row(
    row: FloatArray, limit: float, lower: FloatArray, upper: FloatArray
) -> Iterator[tuple[int, int, Fraction]]:
    """Yield what a row says of each of its columns: the column, which end (1: the upper one), and the bound."""
    used = np.flatnonzero(row).tolist()
    least = [float(lower[j] if row[j] > 0 else upper[j]) for j in used]
    endless = [j for j, end in zip(used, least, strict=True) if math.isinf(end)]
    if len(endless) > 1:
        return
    terms = {
        j: Fraction(float(row[j])) * Fraction(end)
        for j, end in zip(used, least, strict=True)
        if math.isfinite(end)
    }
    rest = Fraction(limit) - sum(terms.values())
    for j in endless or used:
        weight = Fraction(float(row[j]))
        yield j, int(weight > 0), (rest + terms.get(j, Fraction(0))) / weight


def _outwards(bound: Fraction, *, upwards: bool, whole: bool) -> float:
    """Return the nearest float that is no tighter than a bound; the last whole number within it, for whole numbers."""
    if whole:
        bound = Fraction(math.floor(bound) if upwards else math.ceil(bound))
    try:
        value = float(bound)
    except OverflowError:
        return math.inf if bound > 0 else -math.inf
    if upwards and Fraction(value) < bound:
        return math.nextafter(value, math.inf)
    if not upwards and Fraction(value) > bound:
        return math.nextafter(value, -math.inf)
    return value + 0.0


@dataclass(frozen=True, slots=True)
class TiedOptimum:
    """The lowest value of a linear function over tied columns.

    Parameters
    ----------
    value : Fraction or float
        The exact infimum; -inf where there is none. Where whole numbers took too long, a bound that no case goes below.
    is_attained : bool
        Whether some case has this value.
    point : ndarray of shape (k,) or None
        Values of the tied columns, in floats, with this value or one near it; None where no float lies there.
    multipliers : tuple of Fraction or None
        One for each relation, which prove the value; None where whole numbers needed several proofs, or no value.
    """

    value: Fraction | float
    is_attained: bool
    point: FloatArray | None
    multipliers: tuple[Fraction, ...] | None


class TiedColumns:
    """The columns that relations tie to each other, within a box.

    Parameters
    ----------
    relations : Polyhedron
        What every case satisfies.
    groups : sequence of OneHot
        Columns of which exactly one is 1.
    integer : ndarray of bool of shape (n,)
        Which columns hold whole numbers.
    box : Box
        Not empty, with ends at values that columns can have.

    Examples
    --------
    >>> ordered = Polyhedron([[1.0, -1.0]], [0.0])
    >>> tied = TiedColumns(ordered, (), np.array([False, False]), Box([90.0, 0.0], [120.0, 250.0]))
    >>> lowest = tied.minimum(np.array([0.0, 1.0]), np.zeros(2))
    >>> lowest.value, lowest.multipliers
    (Fraction(90, 1), (Fraction(1, 1),))
    """

    def __init__(
        self, relations: Polyhedron, groups: Sequence[OneHot], integer: BoolArray, box: Box
    ):
        used = set(np.flatnonzero(relations.A.any(axis=0)).tolist())
        touched = [group.columns for group in groups if used & set(group.columns)]
        self.columns = np.array(
            sorted(used.union(*touched)) if touched else sorted(used), dtype=np.intp
        )
        self.relations = relations
        self.box = box
        place = {j: k for k, j in enumerate(self.columns.tolist())}
        one = np.zeros((len(touched), len(place)))
        for k, columns in enumerate(touched):
            one[k, [place[j] for j in columns]] = 1.0
        self._rows = np.concatenate([relations.A[:, self.columns], one, -one])
        self._limits = np.concatenate([relations.b, np.ones(len(one)), -np.ones(len(one))])
        self._strict = np.concatenate([relations.strict, np.zeros(2 * len(one), dtype=np.bool_)])
        self._integer = integer[self.columns]

    def minimum(
        self, weights: FloatArray, near: FloatArray, below: Fraction | None = None
    ) -> TiedOptimum | None:
        """Find the lowest value of the weights times the tied columns.

        Parameters
        ----------
        weights, near : ndarray of shape (n,)
            The function, and values for columns without weight; over all columns of the domain.
        below : Fraction, optional
            Where there is no lowest value, the witness has a value of at most this.

        Returns
        -------
        TiedOptimum or None
            None where no case of the box satisfies the relations.
        """
        w = weights[self.columns]
        found = self._branch(w)
        if found is None:
            return None
        optimum, is_whole = found
        if optimum.value == -math.inf:
            goal = Fraction(-1) if below is None else below
            point = self._floats(self._far(w, goal), w, near, goal)
            return TiedOptimum(-math.inf, False, point, None)
        k = len(self.relations.b)
        return TiedOptimum(
            optimum.value,
            optimum.is_attained,
            self._floats(optimum if optimum.point else None, w, near, None),
            optimum.multipliers[:k] if is_whole and optimum.multipliers else None,
        )

    def _branch(
        self, w: FloatArray, more: tuple[FloatArray, float] | None = None, inset: float = 0.0
    ) -> tuple[Optimum, bool] | None:
        """Return the optimum over whole numbers, and whether the first program gave it."""
        count = itertools.count()
        lower, upper = self.box.lower[self.columns], self.box.upper[self.columns]
        waiting: list[tuple[Fraction | float, int, FloatArray, FloatArray, Optimum]] = []

        def add(low: FloatArray, high: FloatArray) -> None:
            found = self._solve(w, low, high, more, inset)
            if found is not None:
                heapq.heappush(waiting, (found.value, next(count), low, high, found))

        add(lower, upper)
        n_nodes = 0
        while waiting:
            value, _, low, high, found = heapq.heappop(waiting)
            j = self._broken(found)
            if j is None or value == -math.inf:
                return found, n_nodes == 0
            if n_nodes == _MOST_NODES:
                return Optimum(value, False, (), (), ()), False
            n_nodes += 1
            left, right = high.copy(), low.copy()
            left[j], right[j] = math.floor(found.point[j]), math.floor(found.point[j]) + 1.0
            add(low, left)
            add(right, high)
        return None

    def _broken(self, found: Optimum) -> int | None:
        """Return the first column that should be a whole number and is none."""
        for j in np.flatnonzero(self._integer).tolist():
            if found.point[j].denominator != 1 or found.tilt[j]:
                return j
        return None

    def _solve(
        self,
        w: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        more: tuple[FloatArray, float] | None,
        inset: float,
    ) -> Optimum | None:
        """Return the optimum over real numbers."""
        if (lower > upper).any():
            return None
        eye = np.eye(len(w))
        low, high = np.isfinite(lower), np.isfinite(upper)
        limits = self._limits.copy()
        if inset:
            size = np.abs(self._rows) @ np.where(
                low, np.abs(lower), np.where(high, np.abs(upper), 1.0)
            )
            limits[: len(self.relations.b)] -= (
                inset * (size + np.abs(limits) + 1e-300)[: len(self.relations.b)]
            )
        rows = [self._rows, -eye[low], eye[high]]
        ends = [limits, 0.0 - lower[low], upper[high]]
        lower_open = ~self.box.lower_closed[self.columns] & (lower == self.box.lower[self.columns])
        upper_open = ~self.box.upper_closed[self.columns] & (upper == self.box.upper[self.columns])
        strict = [self._strict, lower_open[low], upper_open[high]]
        if more is not None:
            rows.append(more[0][None])
            ends.append(np.array([more[1]]))
            strict.append(np.zeros(1, dtype=np.bool_))
        return exact_minimum(np.concatenate(rows), np.concatenate(ends), np.concatenate(strict), w)

    def _far(self, w: FloatArray, goal: Fraction) -> Optimum | None:
        """Return a point with a value of at most a goal, where there is no lowest value."""
        limit = _outwards(goal, upwards=False, whole=False)
        found = self._branch(np.zeros(len(w)), (w, limit))
        return None if found is None or not found[0].point else found[0]

    def _floats(
        self, optimum: Optimum | None, w: FloatArray, near: FloatArray, goal: Fraction | None
    ) -> FloatArray | None:
        """Find floats at an optimum, or a little inside of the relations where those at it do not satisfy them."""
        if optimum is None:
            return None
        clipped = np.clip(
            near[self.columns], self.box.lower[self.columns], self.box.upper[self.columns]
        )
        clipped = np.where(self._integer, np.rint(clipped), clipped)
        for inset in _INSETS:
            if inset:
                limit = None if goal is None else (w, _outwards(goal, upwards=False, whole=False))
                again = self._branch(w if goal is None else np.zeros(len(w)), limit, inset)
                if again is None or not again[0].point:
                    continue
                optimum = again[0]
            point = np.array([float(x) for x in optimum.point])
            for tried in (np.where(w == 0, clipped, point), point):
                if self.contains(tried):
                    return tried
        return None

    def contains(self, values: FloatArray) -> bool:
        """Check whether values of the tied columns, in floats, satisfy relations, box and groups."""
        point = np.where(np.isfinite(self.box.lower), self.box.lower, 0.0)
        point[self.columns] = values
        lower, upper = self.box.lower[self.columns], self.box.upper[self.columns]
        inside = np.where(self.box.lower_closed[self.columns], values >= lower, values > lower)
        inside &= np.where(self.box.upper_closed[self.columns], values <= upper, values < upper)
        groups = self._rows[len(self.relations.b) :]
        sums = groups @ values == self._limits[len(self.relations.b) :]
        return bool(inside.all() and sums.all() and self.relations.contains(point[None])[0])
