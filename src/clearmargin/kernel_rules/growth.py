"""Grow boxes around points as long as a kernel machine is proved to predict one class in all of them.

`prove_large_box` gives such a box around one case that is as large as can be, `prove_few_conditions` one with as few
conditions as can be; `grow_box` is the door to both, and `clearmargin.explain`, as do extractors of kernel machines,
puts the second into words.
`prove_boxes` shrinks the boxes of rules to parts that are proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.box_search import decide
from clearmargin.models.kernel_function import KernelFunction
from clearmargin.models.kernel_machine import KernelMachine, read_machine
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes
from clearmargin.rule_base.explanation import case_values
from clearmargin.rule_base.simplify import shorten_bounds, to_user_box
from clearmargin.rules import Box, Domain, FeatureSpace
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import case_table
from clearmargin.tables.validation import check_whole

__all__ = [
    "FEW_CONDITIONS_BUDGET",
    "BoxGrowth",
    "ProvedBox",
    "grow_box",
    "prove_around",
    "prove_boxes",
    "prove_few_conditions",
    "prove_large_box",
]


Ranges = tuple[FloatArray, FloatArray]

# Boxes that each step of a proof of few conditions may look at: with 500 it takes twice as long for little more.
FEW_CONDITIONS_BUDGET = 200
# A box in proportion to the ranges is found to one part in 64 of them, a side to one part in 8 of what is left.
_PROPORTION_STEPS = 6
_SIDE_STEPS = 3


class BoxGrowth:
    """A proved box around a point that grows.

    Parameters
    ----------
    machine : KernelMachine
        The machine.
    function : KernelFunction
        Functions that are all positive where the machine predicts the class of the point.
    point : ndarray of shape (n_encoded,)
        Where the box starts.
    budget : int
        Maximum number of boxes that a single proof may look at.
    """

    def __init__(
        self, machine: KernelMachine, function: KernelFunction, point: FloatArray, budget: int
    ):
        self.machine = machine
        self.function = function
        self.point = point
        self.budget = budget
        self.lower, self.upper = point.copy(), point.copy()
        self._grew = False

    def is_proved(self) -> bool:
        """Check whether the box is proved: one that never grew is a point, perhaps too near the surface for a proof."""
        return self._grew or self._try(self.lower, self.upper)

    def _try(self, lower: FloatArray, upper: FloatArray) -> bool:
        """Take a larger box if it is proved."""
        low, high = self.machine.box_to_machine(lower[None], upper[None])
        if decide(self.function, low[0], high[0], max_nodes=self.budget).status != "proved":
            return False
        self.lower, self.upper = lower, upper
        self._grew = True
        return True

    def grow_over(self, neighbours: FloatArray) -> None:
        """Grow over other points: the hull of the first of them, as many as can be proved.

        Parameters
        ----------
        neighbours : ndarray of shape (k, n_encoded)
            Points on the same side, the nearest first.
        """
        lower = np.minimum(np.minimum.accumulate(neighbours, axis=0), self.point)
        upper = np.maximum(np.maximum.accumulate(neighbours, axis=0), self.point)
        # The hulls of the first 1, 2, ... points lie in each other, so that bisection finds the last provable one.
        proved, refused = -1, len(neighbours)
        while refused - proved > 1:
            middle = (proved + refused) // 2
            if self._try(lower[middle], upper[middle]):
                proved = middle
            else:
                refused = middle

    def grow_in_proportion(self, lower: FloatArray, upper: FloatArray) -> None:
        """Grow on all sides at once, by bisection on the share of the way to the limits.

        Parameters
        ----------
        lower, upper : ndarray of shape (n_encoded,)
            The limits.
        """
        small, large = 0.0, 1.0
        share = 1.0
        for _ in range(_PROPORTION_STEPS + 1):
            # Rounding must not carry a side past its limit.
            grown = (
                np.maximum(lower, self.point + share * (lower - self.point)),
                np.minimum(upper, self.point + share * (upper - self.point)),
            )
            if self._try(*grown):
                small = share
                if share == 1.0:
                    return
            else:
                large = share
            share = (small + large) / 2.0

    def grow_sides(self, lower: FloatArray, upper: FloatArray, steps: int = _SIDE_STEPS) -> None:
        """Grow side by side: to the limit, or as far as bisection gets.

        Parameters
        ----------
        lower, upper : ndarray of shape (n_encoded,)
            The limits.
        steps : int, default 3
            How often a side that cannot be moved to its limit is tried in between.
        """
        for side, j in self._by_slope(lower, upper):
            start, end = (self.lower[j], lower[j]) if side < 0 else (self.upper[j], upper[j])
            if start == end:
                continue
            share, proved = 1.0, 0.0
            refused = 2.0
            for _ in range(steps + 1):
                moved = [self.lower.copy(), self.upper.copy()]
                moved[0 if side < 0 else 1][j] = start + share * (end - start)
                if self._try(moved[0], moved[1]):
                    proved = share
                    if share == 1.0:
                        break
                else:
                    refused = share
                share = (proved + refused) / 2.0

    def free_features(
        self, features: Sequence[IntArray], lower: FloatArray, upper: FloatArray, most: int
    ) -> list[int]:
        """Free features, those first that cost the decision function least, as long as the rest is proved.

        Parameters
        ----------
        features : sequence of ndarray of int
            The encoded columns of each feature.
        lower, upper : ndarray of shape (n_encoded,)
            The range of each column; a freed feature has all of it.
        most : int
            Maximum number of features that may be kept; the search ends where there are more.

        Returns
        -------
        list of int
            The features that are kept: without any one of them the proof fails, as far as the budget tells.
        """
        cost = [self._worst(columns, lower, upper) for columns in features]
        order = np.argsort(-np.array(cost), kind="stable").tolist()
        # Most features of a case far from the surface go at once: as many as bisection proves, the others one by one.
        free, refused = 0, len(order) + 1
        while refused - free > 1:
            middle = (free + refused) // 2
            if self._try_free([features[j] for j in order[:middle]], lower, upper):
                free = middle
            else:
                refused = middle
        kept: list[int] = []
        for j in order[free:]:
            if len(kept) > most or not self._try_free([features[j]], lower, upper):
                kept.append(j)
        return sorted(kept)

    def _try_free(self, features: Sequence[IntArray], lower: FloatArray, upper: FloatArray) -> bool:
        low, high = self.lower.copy(), self.upper.copy()
        for columns in features:
            low[columns], high[columns] = lower[columns], upper[columns]
        return self._try(low, high)

    def _worst(self, columns: IntArray, lower: FloatArray, upper: FloatArray) -> float:
        """Return the smallest value of the decision function when one feature goes to the ends of its range."""
        ends = np.tile(self.point, (2 * len(columns), 1))
        for row, j in enumerate(columns.tolist()):
            ends[2 * row, j], ends[2 * row + 1, j] = lower[j], upper[j]
        return float(self.function.values(self.machine.to_machine(ends)).min())

    def _by_slope(self, lower: FloatArray, upper: FloatArray) -> list[tuple[int, int]]:
        """Sort sides by what walking along them to the limit costs the decision function."""
        sides = [(side, j) for j in np.unique(self.machine.source).tolist() for side in (-1, 1)]
        ends = np.tile(self.point, (len(sides), 1))
        for row, (side, j) in zip(ends, sides, strict=True):
            row[j] = lower[j] if side < 0 else upper[j]
        cost = -self.function.values(self.machine.to_machine(ends)).min(axis=1)
        return [sides[s] for s in np.argsort(cost, kind="stable")]


@dataclass(frozen=True, slots=True, eq=False)
class ProvedBox:
    """A box around a case in which a kernel machine is proved to predict one class.

    Parameters
    ----------
    box : Box
        All of what is proved, over the user's features: closed, and no wider than the ranges.
    conditions : Box
        The same without the ends of ranges: what has to be said of a case within the ranges.
    """

    box: Box
    conditions: Box


def grow_box(
    estimator: Any,
    x: Any,
    *,
    space: FeatureSpace | Domain | None = None,
    max_conditions: int | None = None,
    budget: int = 500,
) -> Box:
    """Find a large box around a case in which a kernel machine is proved to predict one class everywhere.

    First the box grows on all sides in proportion to the ranges of the features, then side by side, those first
    along which the decision function changes least. Each step counts only when it is proved. With `max_conditions`,
    features are freed first, and the box is the one that `explain` puts into words.

    Parameters
    ----------
    estimator : fitted estimator
        A kernel machine, as for `certify`.
    x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
        The case, for example ``X.iloc[0]``; by name in any order.
    space : FeatureSpace or Domain, optional
        Where features live; the box ends there, and at whole numbers where the space has them. By default where the
        support vectors do. The box is proved for all its points, whether relations of a `Domain` allow them or not.
    max_conditions : int, optional
        Maximum number of features that may not have all of their range. By default the box is to be large, and any
        number of them may be narrower.
    budget : int, default 500
        Maximum number of boxes that the proof of a step may look at.

    Returns
    -------
    Box
        Over the features of the table, in the user's units; closed.

    See Also
    --------
    clearmargin.explain : Puts the proof with few conditions into words; explains any model.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["near", "near", "far", "far"]
    >>> model = SVC(gamma=1.0, C=10.0).fit(X, y)
    >>> grow_box(model, [1.0], space=FeatureSpace(["x0"], [0.0], [4.0])).interval(0)
    Interval(0, 1.98, closed='both')
    >>> grow_box(model, [1.0], space=FeatureSpace(["x0"], [0.0], [4.0], integer=True)).interval(0)
    Interval(0, 1, closed='both')
    """
    check_whole("budget", budget, 1)
    if max_conditions is not None:
        check_whole("max_conditions", max_conditions, 1)
    space = space.space if isinstance(space, Domain) else space
    few = max_conditions is not None
    return prove_around(estimator, x, space, few=few, most=max_conditions, budget=budget).box


def prove_around(
    estimator: Any,
    x: Any,
    space: FeatureSpace | None,
    *,
    few: bool,
    most: int | None = None,
    budget: int = FEW_CONDITIONS_BUDGET,
) -> ProvedBox:
    """Prove the class of a case over a box around it.

    Parameters
    ----------
    estimator, x, space, budget
        As for `grow_box`.
    few : bool
        Whether the box is to have few conditions; else it is to be large.
    most : int, optional
        Maximum number of conditions.

    Returns
    -------
    ProvedBox
        The box, and what has to be said of it.
    """
    names = getattr(estimator, "feature_names_in_", None)
    rows = case_table(x, None if names is None else [str(name) for name in names])
    machine = read_machine(estimator, rows)
    point = machine.encoding.encode(rows)[0]
    if not np.isfinite(point).all():
        name = machine.encoding.columns.names[int(np.argmax(~np.isfinite(point)))]
        raise DataError(f"the case has no value in {name!r}; a box needs a point to start from")
    ranges = _ranges(machine, point, space)
    if few:
        found = prove_few_conditions(machine, point, ranges, space, most=most, budget=budget)
    else:
        found = prove_large_box(machine, point, ranges, space, budget=budget)
    if found is None and most is None:
        raise DataError(
            "the case lies so near the decision surface that its class cannot be proved even at the case itself"
        )
    if found is None:
        raise DataError(
            f"the case needs more than {most} conditions for a proof, or more work than is done for one; "
            "raise max_conditions, or budget"
        )
    return found


def prove_large_box(
    machine: KernelMachine,
    point: FloatArray,
    ranges: Ranges,
    space: FeatureSpace | None,
    *,
    budget: int,
) -> ProvedBox | None:
    """Grow a large box around a case as long as a kernel machine is proved to predict one class in it.

    Parameters
    ----------
    machine : KernelMachine
        The machine.
    point : ndarray of shape (n_encoded,)
        The encoded case.
    ranges : pair of ndarray of shape (n_encoded,)
        Where the box ends at the latest; it has the case in it, and the category of the case alone.
    space : FeatureSpace, optional
        Which features are whole numbers.
    budget : int
        Maximum number of boxes that the proof of a step may look at.

    Returns
    -------
    ProvedBox or None
        None where the case is too near the surface for a proof.
    """
    named = np.array([source.code is not None for source in machine.encoding.sources], np.bool_)
    lower, upper = (np.where(named, point, ends) for ends in ranges)
    growth = BoxGrowth(machine, machine.region(_class_of(machine, point)), point, budget)
    growth.grow_in_proportion(lower, upper)
    growth.grow_sides(lower, upper)
    return _proved(machine, growth, (lower, upper), space) if growth.is_proved() else None


def prove_few_conditions(
    machine: KernelMachine,
    point: FloatArray,
    ranges: Ranges,
    space: FeatureSpace | None,
    *,
    most: int | None,
    budget: int,
) -> ProvedBox | None:
    """Find few conditions around a case under which a kernel machine is proved to predict one class.

    Features are freed within their ranges as long as the proof goes through, those first that cost the decision
    function least; the others get intervals as wide as can be proved. A categorical feature is free or has the category
    of the case.

    Parameters
    ----------
    machine, point, ranges, space, budget
        As for `prove_large_box`; the range of the column of a category is from 0 to 1.
    most : int or None
        Maximum number of features with a condition.

    Returns
    -------
    ProvedBox or None
        None where the case is too near the surface for a proof, or where more features would have to be kept.
    """
    lower, upper = ranges
    members: dict[int, list[int]] = {}
    for column, source in enumerate(machine.encoding.sources):
        members.setdefault(source.feature, []).append(column)
    # A feature without a column that the machine looks at is free without a proof.
    used = set(machine.source.tolist())
    features = [np.array(at) for at in members.values() if used & set(at)]
    growth = BoxGrowth(machine, machine.region(_class_of(machine, point)), point, budget)
    limit = len(features) if most is None else most
    kept = growth.free_features(features, lower, upper, limit)
    if len(kept) > limit or not growth.is_proved():
        return None
    growth.grow_sides(*_limits_of_kept(machine, growth, [features[j] for j in kept], lower, upper))
    return _proved(machine, growth, ranges, space)


def _proved(
    machine: KernelMachine, growth: BoxGrowth, ranges: Ranges, space: FeatureSpace | None
) -> ProvedBox:
    """Give what has grown in the user's features and in few digits, at whole numbers where features have them."""
    lower, upper = ranges
    at_ends = growth.lower <= lower, growth.upper >= upper
    box = _readable(machine, growth, growth.point, lower, upper)
    conditions = _without_ends(box, machine, *at_ends)
    if space is None:
        return ProvedBox(box, conditions)
    case = np.array(case_values(machine.encoding, growth.point))
    return ProvedBox(_to_values(box, space, case), _to_values(conditions, space, case))


def _limits_of_kept(
    machine: KernelMachine,
    growth: BoxGrowth,
    kept: Sequence[IntArray],
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return how far the sides of the features that are kept may grow; all others stay, and so do categories."""
    low, high = growth.lower.copy(), growth.upper.copy()
    for columns in kept:
        for j in columns.tolist():
            if machine.encoding.sources[j].code is None:
                low[j], high[j] = lower[j], upper[j]
    return low, high


def _without_ends(box: Box, machine: KernelMachine, at_low: BoolArray, at_high: BoolArray) -> Box:
    """Leave out the ends of a box of the user's features that are those of the ranges."""
    lower, upper = box.lower.copy(), box.upper.copy()
    for column, source in enumerate(machine.encoding.sources):
        if source.code is None:
            lower[source.feature] = -np.inf if at_low[column] else lower[source.feature]
            upper[source.feature] = np.inf if at_high[column] else upper[source.feature]
    return Box(lower, upper, sets=box.sets, known=box.known)


def _to_values(region: Box, space: FeatureSpace, case: FloatArray) -> Box:
    """End a box at values that features can have: whole numbers, where space and case have them."""
    with np.errstate(invalid="ignore"):
        whole = space.integer & (case == np.floor(case))
    return Domain(FeatureSpace(space.names, integer=whole)).round_to_values(region)


def _class_of(machine: KernelMachine, point: FloatArray) -> int:
    Z = machine.to_machine(point[None, :])
    for k in range(len(machine.classes)):
        if (machine.region(k).values(Z) > 0).all():
            return k
    raise DataError(
        "the case lies on the decision surface, or no class wins all its duels there: no box around it has one class"
    )


def _ranges(machine: KernelMachine, point: FloatArray, space: FeatureSpace | None) -> Ranges:
    """Return the ranges of the encoded columns: those of a space, or else those of the support vectors."""
    sources = machine.encoding.sources
    vectors = machine.support_points(point)
    lower, upper = vectors.min(axis=0), vectors.max(axis=0)
    if space is not None:
        if len(space) != len(machine.encoding.space):
            raise DataError(
                f"space has {len(space)} features, but the model takes {len(machine.encoding.space)}"
            )
        feature = [source.feature for source in sources]
        low, high = space.lower[feature], space.upper[feature]
        lower, upper = (
            np.where(np.isfinite(low), low, lower),
            np.where(np.isfinite(high), high, upper),
        )
    named = np.array([source.code is not None for source in sources], dtype=np.bool_)
    lower, upper = np.where(named, 0.0, lower), np.where(named, 1.0, upper)
    return np.minimum(lower, point), np.maximum(upper, point)


def _readable(
    machine: KernelMachine,
    growth: BoxGrowth,
    point: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> Box:
    """Return the box in the user's features and in few digits, which only takes from it."""
    columns = machine.encoding.columns
    used: BoolArray = np.zeros(len(columns), dtype=np.bool_)
    used[machine.source] = True
    ranges = FeatureSpace(
        columns.names, lower, np.where(upper > lower, upper, lower), np.zeros_like(used)
    )
    box = shorten_bounds(
        Box(np.where(used, growth.lower, -np.inf), np.where(used, growth.upper, np.inf)),
        ranges,
        point[None, :],
    )
    region = to_user_box(box, machine.encoding)
    assert region is not None  # the category of the case is in it
    return region


# Points that proved boxes left out start boxes of their own, at most so many times as there were boxes, and until so
# many boxes in a row have covered hardly any of them: what is left then lies along the surface, where boxes are tiny.
_MORE_STARTS = 3
_PATIENCE, _FEW = 4, 3


def prove_boxes(
    machine: KernelMachine, task: ExtractionTask, found: FoundBoxes, budget: int
) -> FoundBoxes:
    """Shrink boxes to a part that is proved; points that are lost on the way start boxes of their own.

    The part grows from the deepest training point of the box, the one with the largest decision function, towards the
    ends of the box. Boxes end with the training points, since the sign of a kernel machine far from all data says
    little, and proofs need ends.

    Parameters
    ----------
    machine : KernelMachine
        The machine.
    task : ExtractionTask
        The training points.
    found : FoundBoxes
        Boxes over the encoded columns.
    budget : int
        Maximum number of boxes that a proof may look at.

    Returns
    -------
    FoundBoxes
        Proved boxes.
    """
    functions = [machine.region(k) for k in range(len(machine.classes))]
    Z = machine.to_machine(task.points)
    depth = np.stack([function.values(Z).min(axis=1) for function in functions], axis=1)
    prover = _Prover(machine, functions, task, depth, budget)
    ends = zip(found.boxes.lower, found.boxes.upper, found.codes, strict=True)
    boxes = [prover.prove(lower, upper, int(k)) for lower, upper, k in ends]
    kept = [(box, int(k)) for box, k in zip(boxes, found.codes, strict=True) if box is not None]
    kept += _more(prover, [box for box, _ in kept], _MORE_STARTS * len(found.boxes))
    if not kept:
        raise DataError(
            f"no box could be proved with a budget of {budget} boxes a proof; raise budget, or use certify=False"
        )
    limits = np.array([box for box, _ in kept])
    # What the machine does not look at needs no bound.
    idle = np.setdiff1d(np.arange(limits.shape[2]), machine.source)
    limits[:, 0, idle], limits[:, 1, idle] = -np.inf, np.inf
    codes = np.array([k for _, k in kept], dtype=np.intp)
    return FoundBoxes(
        Boxes.from_bounds(limits[:, 0], limits[:, 1]), codes, np.ones(len(codes), dtype=np.bool_)
    )


class _Prover:
    """Grows proved boxes around training points."""

    def __init__(
        self,
        machine: KernelMachine,
        functions: list[KernelFunction],
        task: ExtractionTask,
        depth: FloatArray,
        budget: int,
    ):
        self.machine = machine
        self.functions = functions
        self.task = task
        self.depth = depth
        self.budget = budget

    def prove(self, lower: FloatArray, upper: FloatArray, k: int) -> FloatArray | None:
        """Return the proved part of a box around its deepest point, as its two ends; None where it holds no point."""
        task = self.task
        low, high = np.maximum(lower, task.lower), np.minimum(upper, task.upper)
        covered = Box(low, high).contains(task.points)
        depth = np.where(covered, self.depth[:, k], -np.inf)
        row = int(np.argmax(depth))
        return self.grow(row, k, low, high) if depth[row] > 0 else None

    def grow(self, row: int, k: int, low: FloatArray, high: FloatArray) -> FloatArray | None:
        """Grow a proved box within limits, around a point of class k; None where it is too near the surface."""
        task = self.task
        start = task.points[row]
        box = BoxGrowth(self.machine, self.functions[k], start, self.budget)
        near = task.points[(self.depth[:, k] > 0) & Box(low, high).contains(task.points)]
        reach = np.where(task.upper > task.lower, task.upper - task.lower, 1.0)
        box.grow_over(near[np.argsort(np.abs((near - start) / reach).max(axis=1), kind="stable")])
        # To the end or not at all: a bound at the end of the data is one that a rule need not think about.
        box.grow_sides(low, high, steps=0)
        return np.stack([box.lower, box.upper]) if box.is_proved() else None


def _more(prover: _Prover, proved: list[FloatArray], most: int) -> list[tuple[FloatArray, int]]:
    """Grow boxes around points that no proved box covers, the deepest first, while they cover more than a few."""
    task = prover.task
    bare: BoolArray = np.ones(len(task.points), dtype=np.bool_)
    for box in proved:
        bare &= ~Box(*box).contains(task.points)
    found: list[tuple[FloatArray, int]] = []
    idle = 0
    for _ in range(most):
        score = np.where(bare[:, None], prover.depth, -np.inf)
        row, k = np.unravel_index(int(np.argmax(score)), score.shape)
        if score[row, k] <= 0 or idle == _PATIENCE:
            break
        grown = prover.grow(int(row), int(k), task.lower, task.upper)
        if grown is None:
            bare[row] = False
            idle += 1
            continue
        covered = Box(*grown).contains(task.points)
        idle = 0 if np.count_nonzero(covered & bare) >= _FEW else idle + 1
        bare &= ~covered
        bare[row] = False
        found.append((grown, int(k)))
    return found
