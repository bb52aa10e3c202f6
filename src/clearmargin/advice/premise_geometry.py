"""The geometry of premises: inner radius, worst margin of a plane, and how premises lie to each other.

Two small linear programs over the points x of a premise D x <= d::

    maximise  t            subject to  D_r x + t ||D_r|| <= d_r,  t <= 1     (inner radius; negative when empty)
    minimise  z (w'x + b)  subject to  D x <= d                              (worst margin)

The second may ask for whole numbers in some columns, and is then a mixed-integer linear program. It is the primal of
the duality behind the knowledge-based SVM: its value is at least 1 exactly when the advice is satisfied without error.

Premises are apart, touch or overlap, one may be inside the other, and one may have no point at all. Small systems are
decided in rational arithmetic. For large ones the inner radius decides where it leaves no doubt, and arithmetic the
rest, up to a size at which it would take minutes; beyond that the radius decides alone.

Two premises *touch* if they have points in common, but the inner part of one has none in the inner part of the other:
``x <= 3`` and ``x >= 3``. The inner part is taken within the plane in which the premise lies, so that ``x = 2``
overlaps with ``x <= 3``; and a premise that is wholly inside the other always overlaps with it. Premises that share a
value of a feature declared to have whole numbers overlap: that value is no boundary, but a set of cases.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import InfeasibleError, NumericalError, TimeLimitError, UnboundedError
from clearmargin.rules import Box, Domain, Polyhedron, RuleSet
from clearmargin.rules.polyhedron import is_infeasible
from clearmargin.rules.rule import Region
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Variables, solve

# Seconds for a worst case among whole numbers; a rule has few of them that matter.
_TIME_LIMIT = 10.0
# HiGHS satisfies rows to 1e-7; a premise that misses its rows by less is not called empty.
_TOUCHING = 1e-7


def inner_radius(D: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
    """Find the largest ball inside a premise, of radius at most 1."""
    n = D.shape[1]
    if not len(d):
        return 1.0, np.zeros(n)
    norms = np.linalg.norm(D, axis=1)
    program = Program(
        [
            Variables("x", n),
            Variables("t", 1, upper=1.0, cost=-1.0),
            Linear("rows", {"x": D, "t": norms[:, None]}, upper=d),
        ]
    )
    try:
        values = solve(program).values
    except InfeasibleError:  # a row without any variable that is false
        return -np.inf, np.zeros(n)
    return float(values["t"][0]), values["x"]


def is_void(D: FloatArray, d: FloatArray) -> bool:
    """Tell whether no point satisfies all rows (of unit norm), up to the solver's tolerance."""
    if (np.count_nonzero(D, axis=1) != 1).any():
        return inner_radius(D, d)[0] < -_TOUCHING
    # A box, whose inner radius is half of its shortest side.
    column = np.abs(D).argmax(axis=1)
    weight = D[np.arange(len(d)), column]
    sides = np.full((2, D.shape[1]), np.inf)  # upper bounds, and lower ones with the other sign
    np.minimum.at(sides, ((weight < 0).astype(np.intp), column), d / np.abs(weight))
    return bool((sides.sum(axis=0) < -2.0 * _TOUCHING).any())


def worst_margin(
    D: FloatArray,
    d: FloatArray,
    w: FloatArray,
    b: float,
    sign: float,
    whole: NDArray[np.bool_] | None = None,
) -> tuple[float, FloatArray | None]:
    """Minimise z (w'x + b) over a premise, in some columns over whole numbers alone."""
    if not len(d):
        return (sign * b, np.zeros(len(w))) if not w.any() else (-np.inf, None)
    integer = np.zeros(len(w), dtype=np.bool_) if whole is None else whole
    is_mixed = bool(integer.any())
    columns = {name: part for name, part in (("whole", integer), ("real", ~integer)) if part.any()}
    blocks = [
        Variables(name, int(part.sum()), cost=sign * w[part], integer=name == "whole")
        for name, part in columns.items()
    ]
    rows = Linear("rows", {name: D[:, part] for name, part in columns.items()}, upper=d)
    try:
        limit = _TIME_LIMIT if is_mixed else None
        solution = solve(Program([*blocks, rows]), time_limit=limit)
    except UnboundedError:
        return -np.inf, None
    except InfeasibleError:
        return np.inf, None
    except (TimeLimitError, NumericalError):
        if not is_mixed:
            raise
        return -np.inf, None
    if not is_mixed:
        return solution.objective + sign * b, solution.values["real"]
    x = np.empty(len(w))
    for name, part in columns.items():
        x[part] = solution.values[name]
    x[integer] = np.rint(x[integer])
    return float(sign * (x @ w + b)), x


Relation = Literal["apart", "touch", "overlap"]

# Entries of a system that arithmetic decides faster than a linear program (a millisecond), and in a second.
_SMALL, _LARGE = 100, 1_600
# HiGHS satisfies rows of unit norm to 1e-7; ten times that is beyond doubt.
_DOUBT = 1e-6


def has_no_point(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Decide whether no x satisfies A x <= b, with < in the rows marked strict."""
    if not len(b):
        return False
    A = A[:, (A != 0).any(axis=0)]
    if A.size <= _SMALL:
        return is_infeasible(A, b, strict)
    size = np.abs(A).max(axis=1)
    norm = np.linalg.norm(A / size[:, None], axis=1)
    D, d = A / size[:, None] / norm[:, None], b / size / norm
    radius = inner_radius(D, d)[0]
    doubt = _DOUBT * max(1.0, float(np.abs(d).max()))
    if abs(radius) > doubt:
        return radius < 0
    return is_infeasible(A, b, strict) if A.size <= _LARGE else bool(strict.any())


def conflict_rows(premise: Polyhedron) -> list[int]:
    """Find rows that contradict each other, none of which could be left out; none if there is a point."""
    if not has_no_point(premise.A, premise.b, premise.strict):
        return []
    kept = list(range(len(premise.b)))
    for r in range(len(premise.b)):
        rest = [k for k in kept if k != r]
        if has_no_point(premise.A[rest], premise.b[rest], premise.strict[rest]):
            kept = rest
    return kept


def intersection(a: Region, b: Region) -> Region:
    """Return the points in both regions; plain bounds become the narrower ones."""
    if isinstance(a, Box) and isinstance(b, Box):
        return a.intersect(b)
    (box_a, more_a), (box_b, more_b) = _parts(a), _parts(b)
    bounds = Polyhedron.from_box(box_a.intersect(box_b))
    A = np.concatenate([bounds.A, more_a.A, more_b.A])
    limits = np.concatenate([bounds.b, more_a.b, more_b.b])
    strict = np.concatenate([bounds.strict, more_a.strict, more_b.strict])
    rows = np.column_stack([A, limits, strict])
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])  # what both say is said once
    return Polyhedron(A[first], limits[first], strict[first], bounds.sets)


def _parts(region: Region) -> tuple[Box, Polyhedron]:
    """Return the plain bounds of a region as a box, and its other rows."""
    if isinstance(region, Box):
        n = region.n_features
        return region, Polyhedron(np.zeros((0, n)), np.zeros(0))
    unit = (np.count_nonzero(region.A, axis=1) == 1) & (np.abs(region.A).sum(axis=1) == 1)
    box, rest = (
        Polyhedron(region.A[rows], region.b[rows], region.strict[rows]) for rows in (unit, ~unit)
    )
    bounds = box.to_box()
    return (
        Box(bounds.lower, bounds.upper, bounds.lower_closed, bounds.upper_closed, region.sets),
        rest,
    )


def flat(region: Region) -> Polyhedron:
    """Return a region as rows."""
    return Polyhedron.from_box(region) if isinstance(region, Box) else region


def plain_bounds(region: Region) -> Box:
    """Return the plain bounds of a region."""
    return _parts(region)[0]


class PremiseGeometry:
    r"""The premises of rules, prepared for questions about pairs; features of whole numbers end at whole numbers."""

    def __init__(self, rules: RuleSet):
        self.regions = [rule.region for rule in rules]
        self._integer = rules.space.integer
        domain = Domain.from_space(rules.space)
        parts = [_parts(region) for region in self.regions]
        self._boxes = [domain.round_to_values(box) for box, _ in parts]
        self._is_box = [isinstance(region, Box) for region in self.regions]

    def without_values(self, i: int) -> list[int]:
        """Find features for which the plain bounds of a premise leave no value, or no whole number where they count."""
        box = self._boxes[i]
        return [j for j in box.bounded if j not in box.sets and box.interval(j).is_empty]

    def meets(self, i: int, j: int) -> bool:
        """Tell whether the plain bounds of two premises have a point in common."""
        return not self._boxes[i].is_disjoint(self._boxes[j])

    def relation(self, i: int, j: int) -> Relation:
        """Tell how two premises that are not empty lie to each other."""
        if not self.meets(i, j):
            return "apart"
        if self._is_box[i] and self._is_box[j]:
            is_inner = self._share_more_than_a_boundary(self._boxes[i], self._boxes[j])
            return "overlap" if is_inner or self._nested(i, j) else "touch"
        a, b = flat(self.regions[i]), flat(self.regions[j])
        A, limits = np.concatenate([a.A, b.A]), np.concatenate([a.b, b.b])
        strict = np.concatenate([a.strict, b.strict])
        if not has_no_point(A, limits, strict | np.concatenate([_inner(a), _inner(b)])):
            return "overlap"
        if has_no_point(A, limits, strict):
            return "apart"
        return "overlap" if self._nested(i, j) else "touch"

    def _share_more_than_a_boundary(self, a: Box, b: Box) -> bool:
        both = a.intersect(b)
        for j in both.bounded:
            low, high = both.interval(j).low, both.interval(j).high
            # A value that two premises share is no boundary where values are whole numbers, but a set of cases.
            if j in both.sets or low < high or self._integer[j]:
                continue
            ends = (each.interval(j) for each in (a, b))
            if not all(one.low == one.high or one.low < low < one.high for one in ends):
                return False
        return True

    def _nested(self, i: int, j: int) -> bool:
        return self.is_inside(i, j) or self.is_inside(j, i)

    def is_inside(self, i: int, j: int) -> bool:
        """Decide whether every point of a premise that is not empty is in another one."""
        if self._is_box[i] and self._is_box[j]:
            return self._boxes[i].intersect(self._boxes[j]) == self._boxes[i]
        for feature, codes in self.regions[j].sets.items():
            mine = self.regions[i].sets
            if feature not in mine or not mine[feature] <= codes:
                return False
        inner, outer = flat(self.regions[i]), flat(self.regions[j])
        return all(
            has_no_point(
                np.vstack([inner.A, -row]),
                np.append(inner.b, -limit),
                np.append(inner.strict, not strict),
            )
            for row, limit, strict in zip(outer.A, outer.b, outer.strict, strict=True)
        )


def _inner(premise: Polyhedron) -> BoolArray:
    """Find the rows that are strict in the inner part of a premise: all that are not equalities all over it."""
    rows = np.ones(len(premise.b), dtype=np.bool_)
    if has_no_point(premise.A, premise.b, rows):
        strict = premise.strict | np.eye(len(premise.b), dtype=np.bool_)
        rows = np.array([not has_no_point(premise.A, premise.b, one) for one in strict])
    return rows
