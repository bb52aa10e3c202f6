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

from clearmargin.advice.check_memory import CheckMemory
from clearmargin.exceptions import (
    InfeasibleError,
    NumericalError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.rules import Box, Polyhedron, RuleSet
from clearmargin.rules.polyhedron import is_infeasible
from clearmargin.rules.rule import Region
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Variables, solve

__all__ = [
    "PremiseGeometry",
    "Relation",
    "conflict_rows",
    "flat",
    "has_no_point",
    "inner_radius",
    "intersection",
    "is_inside",
    "is_void",
    "worst_margin",
]


# Seconds for a worst case among whole numbers; a rule has few of them that matter.
_TIME_LIMIT = 10.0
# HiGHS satisfies rows to 1e-7; a premise that misses its rows by less is not called empty.
_TOUCHING = 1e-7


def inner_radius(D: FloatArray, d: FloatArray) -> tuple[float, FloatArray]:
    """Find the largest ball inside a premise, of radius at most 1.

    Parameters
    ----------
    D : ndarray of shape (k, n)
        Left-hand sides.
    d : ndarray of shape (k,)
        Right-hand sides.

    Returns
    -------
    radius : float
        Negative when the premise is empty (-inf where no ball can tell by how much), zero when it has no interior.
    center : ndarray of shape (n,)
        The centre of the ball.

    Examples
    --------
    >>> inner_radius(np.array([[1.0], [-1.0]]), np.array([3.0, -2.0]))    # 2 <= x <= 3
    (0.5, array([2.5]))
    """
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
        values = solve(program, explain=False).values
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
    """Minimise z (w'x + b) over a premise, in some columns over whole numbers alone.

    Parameters
    ----------
    D, d : ndarray
        Rows of the premise.
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    sign : float
        z, 1.0 or -1.0.
    whole : ndarray of bool of shape (n,), optional
        Which columns have whole numbers; none by default.

    Returns
    -------
    margin : float
        The minimum; -inf when there is none, inf when no case is left.
    x : ndarray of shape (n,) or None
        Where it is taken, with exact whole numbers. None where the solver finds none within its time.

    Examples
    --------
    >>> margin, x = worst_margin(np.array([[-1.0]]), np.array([-3.0]), np.array([1.0]), -2.0, 1.0)   # x >= 3
    >>> margin, x.tolist()
    (1.0, [3.0])
    >>> rows = np.array([[-2.0, 0.0], [1.0, 1.0], [-1.0, -1.0]])     # 2 x1 >= 5 and x1 + x2 = 4
    >>> limits, whole = np.array([-5.0, 4.0, -4.0]), np.array([True, True])
    >>> margin, x = worst_margin(rows, limits, np.array([1.0, 0.0]), 0.0, 1.0, whole)
    >>> margin, x.tolist()
    (3.0, [3.0, 1.0])
    """
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
        solution = solve(Program([*blocks, rows]), explain=False, time_limit=limit)
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


Sides = tuple[FloatArray, FloatArray, BoolArray, BoolArray]
Relation = Literal["apart", "touch", "overlap"]

# Entries of a system that arithmetic decides faster than a linear program (a millisecond), and in a second.
_SMALL, _LARGE = 100, 1_600
# HiGHS satisfies rows of unit norm to 1e-7; ten times that is beyond doubt.
_DOUBT = 1e-6


def has_no_point(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Decide whether no x satisfies A x <= b, with < in the rows marked strict.

    Examples
    --------
    >>> A, b = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    >>> has_no_point(A, b, np.array([False, True]))
    True
    """
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
    """Find rows that contradict each other, none of which could be left out; none if there is a point.

    Examples
    --------
    >>> conflict_rows(Polyhedron([[1.0, 1.0], [0.0, 1.0], [-1.0, -1.0]], [1.0, 5.0, -2.0]))
    [0, 2]
    """
    if not has_no_point(premise.A, premise.b, premise.strict):
        return []
    kept = list(range(len(premise.b)))
    for r in range(len(premise.b)):
        rest = [k for k in kept if k != r]
        if has_no_point(premise.A[rest], premise.b[rest], premise.strict[rest]):
            kept = rest
    return kept


def intersection(
    a: Region,
    b: Region,
    parts_a: tuple[Box, Polyhedron] | None = None,
    parts_b: tuple[Box, Polyhedron] | None = None,
) -> Region:
    """Return the points in both regions; plain bounds become the narrower ones.

    Examples
    --------
    >>> intersection(Box([0.0], [2.0]), Polyhedron([[3.0], [-1.0]], [4.0, -1.0]))
    Polyhedron([[-1.0], [1.0], [3.0]], [-1.0, 2.0, 4.0])
    """
    if isinstance(a, Box) and isinstance(b, Box):
        return a.intersect(b)
    box_a, more_a = _parts(a) if parts_a is None else parts_a
    box_b, more_b = _parts(b) if parts_b is None else parts_b
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


def is_inside(inner: Region, outer: Region) -> bool:
    """Decide whether every point of a region is in another one.

    Examples
    --------
    >>> is_inside(Box([1.0], [2.0]), Box([0.0], [2.0])), is_inside(Box([1.0], [2.0]), Box([0.0], [2.0], True, False))
    (True, False)
    """
    for feature, codes in outer.sets.allowed:
        if feature not in inner.sets or not inner.sets[feature] <= set(codes):
            return False
    if isinstance(inner, Box) and isinstance(outer, Box):
        return bool(_inside_boxes(_bounds([inner]), _bounds([outer]))[0])
    mine, theirs = flat(inner), flat(outer)
    for row, limit, strict in zip(theirs.A, theirs.b, theirs.strict, strict=True):
        beyond = np.append(mine.strict, not strict)
        if not has_no_point(np.vstack([mine.A, -row]), np.append(mine.b, -limit), beyond):
            return False
    return True


class PremiseGeometry:
    r"""The premises of rules, prepared for questions about pairs.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    memory : CheckMemory, optional
        What is known of their premises already; what is found out is added.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> geometry = PremiseGeometry(parse_rules("x <= 3 => a\nx >= 3 => b\nx >= 2 and x + y <= 9 => b"))
    >>> geometry.relations(0, np.array([1, 2]))
    ['touch', 'overlap']
    """

    def __init__(self, rules: RuleSet, memory: CheckMemory | None = None):
        self._memory = memory = CheckMemory() if memory is None else memory
        self.regions = [rule.region for rule in rules]
        self.numbers = [memory.number(region) for region in self.regions]
        self.is_box = np.array([isinstance(region, Box) for region in self.regions], np.bool_)
        boxes = [self._part(i)[0] for i in range(len(self.regions))]
        self._sides = _bounds(boxes, len(rules.space))
        _to_whole_numbers(self._sides, rules.space.integer)
        self._integer = rules.space.integer
        self._allowed = _allowed_categories(rules)

    def _part(self, i: int) -> tuple[Box, Polyhedron]:
        return self._memory.recall("parts", self.numbers[i], lambda: _parts(self.regions[i]))

    def intersection(self, i: int, j: int) -> Region:
        """Return the points in both of two premises."""
        both = self.regions[i], self.regions[j]
        return self._memory.recall(
            "intersection",
            self.numbers[i],
            lambda: intersection(*both, self._part(i), self._part(j)),
            self.numbers[j],
        )

    def without_values(self, i: int) -> list[int]:
        """Find features for which the plain bounds of a premise leave no value, or no whole number where they count."""
        low, high, low_closed, high_closed = (side[i] for side in self._sides)
        open_end = ~(low_closed & high_closed)
        return np.flatnonzero((low > high) | ((low == high) & open_end)).tolist()

    def relations(self, i: int, others: NDArray[np.intp]) -> list[Relation]:
        """Tell how a premise that is not empty lies to some others that are not, either."""
        mine, theirs = _rows(self._sides, [i]), _rows(self._sides, others)
        low, high = np.maximum(mine[0], theirs[0]), np.minimum(mine[1], theirs[1])
        low_closed = np.where(mine[0] >= low, mine[2], True) & np.where(
            theirs[0] >= low, theirs[2], True
        )
        high_closed = np.where(mine[1] <= high, mine[3], True) & np.where(
            theirs[1] <= high, theirs[3], True
        )
        meet = ((low < high) | ((low == high) & low_closed & high_closed)).all(axis=1)
        for table in self._allowed.values():
            meet &= (table[others] & table[i]).any(axis=1)
        point_mine, point_theirs = mine[0] == mine[1], theirs[0] == theirs[1]
        in_mine = point_mine | ((mine[0] < low) & (low < mine[1]))
        in_theirs = point_theirs | ((theirs[0] < low) & (low < theirs[1]))
        # A value that two premises share is no boundary where values are whole numbers, but a set of cases.
        inner = ((low < high) | ((low == high) & ((in_mine & in_theirs) | self._integer))).all(1)
        answers: list[Relation] = []
        for k, j in enumerate(others.tolist()):
            if not meet[k]:
                answers.append("apart")
            elif self.is_box[i] and self.is_box[j]:
                answers.append("overlap" if inner[k] or self._nested(i, j) else "touch")
            else:
                answers.append(self._known_relation(i, j))
        return answers

    def _known_relation(self, i: int, j: int) -> Relation:
        mine, theirs = self.numbers[i], self.numbers[j]
        return self._memory.recall("relation", mine, lambda: self._flat_relation(i, j), theirs)

    def _nested(self, i: int, j: int) -> bool:
        def find() -> bool:
            return bool(self.insides(i, np.array([j]))[0] or self.insides(j, np.array([i]))[0])

        return self._memory.recall("nested", self.numbers[i], find, self.numbers[j])

    def insides(self, i: int, others: NDArray[np.intp]) -> BoolArray:
        """Tell whether a premise is inside some others; exact for boxes, all at once."""
        answer = np.zeros(len(others), dtype=np.bool_)
        boxes = self.is_box[others] & self.is_box[i]
        if boxes.any():
            inside = _inside_boxes(_rows(self._sides, [i]), _rows(self._sides, others[boxes]))
            for feature, table in self._allowed.items():
                inside &= ~(table[i] & ~table[others[boxes]]).any(axis=1)
                free = feature not in self.regions[i].sets
                if free:  # a category that nobody names is in no set
                    inside &= [feature not in self.regions[j].sets for j in others[boxes]]
            answer[boxes] = inside
        for k in np.flatnonzero(~boxes).tolist():
            answer[k] = self._known_inside(i, int(others[k]))
        return answer

    def _known_inside(self, i: int, j: int) -> bool:
        both = self.regions[i], self.regions[j]
        mine, theirs = self.numbers[i], self.numbers[j]
        return self._memory.recall("inside", mine, lambda: is_inside(*both), theirs)

    def _flat_relation(self, i: int, j: int) -> Relation:
        a, b = flat(self.regions[i]), flat(self.regions[j])
        A, limits = np.concatenate([a.A, b.A]), np.concatenate([a.b, b.b])
        strict = np.concatenate([a.strict, b.strict])
        inner = np.concatenate([self._inner_rows(i), self._inner_rows(j)])
        if not has_no_point(A, limits, strict | inner):
            return "overlap"
        if has_no_point(A, limits, strict):
            return "apart"
        return "overlap" if self._nested(i, j) else "touch"

    def _inner_rows(self, i: int) -> BoolArray:
        """Find the rows that are strict in the inner part of a premise: all that are not equalities all over it."""
        return self._memory.recall("inner", self.numbers[i], lambda: _inner(flat(self.regions[i])))


def _inner(premise: Polyhedron) -> BoolArray:
    rows = np.ones(len(premise.b), dtype=np.bool_)
    if has_no_point(premise.A, premise.b, rows):
        strict = premise.strict | np.eye(len(premise.b), dtype=np.bool_)
        rows = np.array([not has_no_point(premise.A, premise.b, one) for one in strict])
    return rows


def _bounds(boxes: list[Box], n_features: int | None = None) -> Sides:
    """Return the sides of boxes, one row a box: lower, upper, and whether they belong to it."""
    n = boxes[0].n_features if n_features is None else n_features
    lower = np.array([box.lower for box in boxes]).reshape(len(boxes), n)
    upper = np.array([box.upper for box in boxes]).reshape(len(boxes), n)
    lower_closed = np.array([box.lower_closed for box in boxes], dtype=np.bool_).reshape(
        len(boxes), n
    )
    upper_closed = np.array([box.upper_closed for box in boxes], dtype=np.bool_).reshape(
        len(boxes), n
    )
    return lower, upper, lower_closed, upper_closed


def _to_whole_numbers(bounds: Sides, integer: BoolArray) -> None:
    """Move the bounds of features that count things to the first and last whole number between them."""
    lower, upper, lower_closed, upper_closed = bounds
    for j in np.flatnonzero(integer):
        low, high = lower[:, j], upper[:, j]
        lower[:, j] = np.where(lower_closed[:, j], np.ceil(low), np.floor(low) + 1)
        upper[:, j] = np.where(upper_closed[:, j], np.floor(high), np.ceil(high) - 1)
        lower_closed[:, j] = upper_closed[:, j] = True


def _rows(sides: Sides, chosen: list[int] | NDArray[np.intp]) -> Sides:
    lower, upper, lower_closed, upper_closed = sides
    return lower[chosen], upper[chosen], lower_closed[chosen], upper_closed[chosen]


def _inside_boxes(inner: Sides, outer: Sides) -> BoolArray:
    """Check whether boxes are inside others, row by row; none of them is empty."""
    above = (inner[0] > outer[0]) | ((inner[0] == outer[0]) & (outer[2] | ~inner[2]))
    below = (inner[1] < outer[1]) | ((inner[1] == outer[1]) & (outer[3] | ~inner[3]))
    inside: BoolArray = (above & below).all(axis=1)
    return inside


def _allowed_categories(rules: RuleSet) -> dict[int, BoolArray]:
    """Return for each feature with sets, which codes each rule allows."""
    tables = {}
    for feature, categories in enumerate(rules.space.categories):
        if categories is None:
            continue
        table = np.ones((len(rules), len(categories)), dtype=np.bool_)
        for i, rule in enumerate(rules):
            if feature in rule.region.sets:
                table[i] = np.isin(np.arange(len(categories)), list(rule.region.sets[feature]))
        tables[feature] = table
    return tables
