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
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import case_table
from clearmargin.tables.validation import check_whole

Ranges = tuple[FloatArray, FloatArray]

# Boxes that each step of a proof of few conditions may look at: with 500 it takes twice as long for little more.
FEW_CONDITIONS_BUDGET = 200
# A box in proportion to the ranges is found to one part in 64 of them, a side to one part in 8 of what is left.
_PROPORTION_STEPS = 6
_SIDE_STEPS = 3


class BoxGrowth:
    """A proved box around a point that grows."""

    def __init__(
        self,
        machine: KernelMachine,
        function: KernelFunction,
        point: FloatArray,
        budget: int,
        work: float = np.inf,
    ):
        self.machine = machine
        self.function = function
        self.point = point
        self.budget = budget
        self._left = work
        self.lower, self.upper = point.copy(), point.copy()
        self._grew = False

    def is_proved(self) -> bool:
        """Check whether the box is proved: one that never grew is a point, perhaps too near the surface for a proof."""
        return self._grew or self._try(self.lower, self.upper)

    def _try(self, lower: FloatArray, upper: FloatArray) -> bool:
        """Take a larger box if it is proved."""
        low, high = self.machine.box_to_machine(lower[None], upper[None])
        entries = self.function.vectors.size
        most = int(min(self.budget, self._left / max(entries, 1)))
        if most < 1:
            return False
        verdict = decide(self.function, low[0], high[0], max_nodes=most)
        self._left -= verdict.nodes * entries
        if verdict.status != "proved":
            return False
        self.lower, self.upper = lower, upper
        self._grew = True
        return True

    def grow_over(self, neighbours: FloatArray) -> None:
        """Grow over other points: the hull of the first of them, as many as can be proved."""
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
        """Grow on all sides at once, by bisection on the share of the way to the limits."""
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
        """Grow side by side: to the limit, or as far as bisection gets."""
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
        """Free features, those first that cost the decision function least, as long as the rest is proved."""
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
    """A box around a case in which a kernel machine is proved to predict one class."""

    box: Box
    conditions: Box


def grow_box(
    estimator: Any,
    x: Any,
    *,
    space: FeatureSpace | None = None,
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
    space : FeatureSpace, optional
        Where features live; the box ends there, and at whole numbers where the space has them. By default where the
        support vectors do.
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
    """Prove the class of a case over a box around it."""
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
    """Grow a large box around a case as long as a kernel machine is proved to predict one class in it."""
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
    work: float = np.inf,
) -> ProvedBox | None:
    """Find few conditions around a case under which a kernel machine is proved to predict one class."""
    lower, upper = ranges
    members: dict[int, list[int]] = {}
    for column, source in enumerate(machine.encoding.sources):
        members.setdefault(source.feature, []).append(column)
    # A feature without a column that the machine looks at is free without a proof.
    used = set(machine.source.tolist())
    features = [np.array(at) for at in members.values() if used & set(at)]
    function = machine.region(_class_of(machine, point))
    if 2.0 * sum(map(len, features)) * function.vectors.size > work:
        return None
    growth = BoxGrowth(machine, function, point, budget, work)
    limit = len(features) if most is None else most
    kept = growth.free_features(features, lower, upper, limit)
    if len(kept) > limit or not growth.is_proved():
        return None
    # Categories and the features that were freed stay as they are.
    low, high = growth.lower.copy(), growth.upper.copy()
    for column in (column for j in kept for column in features[j].tolist()):
        if machine.encoding.sources[column].code is None:
            low[column], high[column] = lower[column], upper[column]
    growth.grow_sides(low, high)
    return _proved(machine, growth, ranges, space)


def _proved(
    machine: KernelMachine, growth: BoxGrowth, ranges: Ranges, space: FeatureSpace | None
) -> ProvedBox:
    """Give what has grown in the user's features and in few digits, at whole numbers where features have them."""
    (lower, upper), encoding = ranges, machine.encoding
    used = np.zeros(len(encoding.columns), dtype=np.bool_)
    used[machine.source] = True
    # Fewer digits, which only take from the box.
    limits = FeatureSpace(
        encoding.columns.names, lower, np.maximum(lower, upper), np.zeros_like(used)
    )
    grown = Box(np.where(used, growth.lower, -np.inf), np.where(used, growth.upper, np.inf))
    box = to_user_box(shorten_bounds(grown, limits, growth.point[None, :]), encoding)
    assert box is not None  # the category of the case is in it
    # Ends that are those of the ranges are no conditions.
    low, high = box.lower.copy(), box.upper.copy()
    for column, (feature, code) in enumerate(encoding.sources):
        if code is None and growth.lower[column] <= lower[column]:
            low[feature] = -np.inf
        if code is None and growth.upper[column] >= upper[column]:
            high[feature] = np.inf
    conditions = Box(low, high, sets=box.sets, known=box.known)
    if space is None:
        return ProvedBox(box, conditions)
    case = np.array(case_values(encoding, growth.point))
    with np.errstate(invalid="ignore"):
        whole = space.integer & (case == np.floor(case))
    domain = Domain(FeatureSpace(space.names, integer=whole))
    return ProvedBox(domain.round_to_values(box), domain.round_to_values(conditions))


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
        lower = np.where(np.isfinite(low), low, lower)
        upper = np.where(np.isfinite(high), high, upper)
    named = np.array([source.code is not None for source in sources], dtype=np.bool_)
    lower, upper = np.where(named, 0.0, lower), np.where(named, 1.0, upper)
    return np.minimum(lower, point), np.maximum(upper, point)


# Points that proved boxes left out start boxes of their own, at most so many times as there were boxes, and until so
# many boxes in a row have covered hardly any of them: what is left then lies along the surface, where boxes are tiny.
_MORE_STARTS = 3
_PATIENCE, _FEW = 4, 3


def prove_boxes(
    machine: KernelMachine, task: ExtractionTask, found: FoundBoxes, budget: int
) -> FoundBoxes:
    """Shrink boxes to a part that is proved; points that are lost on the way start boxes of their own."""
    functions = [machine.region(k) for k in range(len(machine.classes))]
    Z = machine.to_machine(task.points)
    depth = np.stack([function.values(Z).min(axis=1) for function in functions], axis=1)
    reach = np.where(task.upper > task.lower, task.upper - task.lower, 1.0)

    def grow(row: int, k: int, low: FloatArray, high: FloatArray) -> FloatArray | None:
        """Grow a proved box within limits, around a point of class k; None where it is too near the surface."""
        start = task.points[row]
        box = BoxGrowth(machine, functions[k], start, budget)
        near = task.points[(depth[:, k] > 0) & Box(low, high).contains(task.points)]
        box.grow_over(near[np.argsort(np.abs((near - start) / reach).max(axis=1), kind="stable")])
        # To the end or not at all: a bound at the end of the data is one that a rule need not think about.
        box.grow_sides(low, high, steps=0)
        return np.stack([box.lower, box.upper]) if box.is_proved() else None

    kept: list[tuple[FloatArray, int]] = []
    bare: BoolArray = np.ones(len(task.points), dtype=np.bool_)
    for lower, upper, code in zip(found.boxes.lower, found.boxes.upper, found.codes, strict=True):
        # The proved part of a box around its deepest point.
        low, high, k = np.maximum(lower, task.lower), np.minimum(upper, task.upper), int(code)
        inside = np.where(Box(low, high).contains(task.points), depth[:, k], -np.inf)
        row = int(np.argmax(inside))
        grown = grow(row, k, low, high) if inside[row] > 0 else None
        if grown is not None:
            kept.append((grown, k))
            bare &= ~Box(*grown).contains(task.points)
    idle = 0
    for _ in range(_MORE_STARTS * len(found.boxes)):
        score = np.where(bare[:, None], depth, -np.inf)
        first, second = np.unravel_index(int(np.argmax(score)), score.shape)
        row, k = int(first), int(second)
        if score[row, k] <= 0 or idle == _PATIENCE:
            break
        grown = grow(row, k, task.lower, task.upper)
        if grown is None:
            idle += 1
        else:
            covered = Box(*grown).contains(task.points)
            idle = 0 if np.count_nonzero(covered & bare) >= _FEW else idle + 1
            bare &= ~covered
            kept.append((grown, k))
        bare[row] = False
    if not kept:
        raise DataError(
            f"no box could be proved with a budget of {budget} boxes a proof; raise budget, or use certify=False"
        )
    limits = np.array([box for box, _ in kept])
    # What the machine does not look at needs no bound.
    idle_columns = np.setdiff1d(np.arange(limits.shape[2]), machine.source)
    limits[:, 0, idle_columns], limits[:, 1, idle_columns] = -np.inf, np.inf
    codes = np.array([k for _, k in kept], dtype=np.intp)
    boxes = Box(limits[:, 0], limits[:, 1])
    return FoundBoxes(boxes, codes, np.ones(len(codes), dtype=np.bool_))
