"""The tree as interval rules (r-SVMT, algorithm 4 of Pang and Kasabov, IJCNN 2008), and how to predict by them.

`exact_rules` predicts what the tree predicts, in inequalities over several features. Here every condition is a bound on
one feature; the price is that rules and tree may differ. Not simplified: the boxes of all leaves (`node_boxes`), less
those whose training points another box *of the same class* covers, too. (Step 5 of the algorithm does not say of the
same class; but a box of one class that holds all points of a box of another one is no reason to forget the other.)
Simplified, as is the default, the boxes are made into few rules that are right about every training point
(`simplified_boxes`).

Either way the rules are one list, ordered by Laplace precision on the training points. The first rule that covers a row
decides; where none does, the nearest box. (A default class would be the frequent one, which is wrong for just the
rows for whose sake the tree was grown.) If the tree was grown by its errors on the rarest class, points count in
inverse proportion to the size of their class, so that simplified rules of a small class come before those of a large
one.

**The boxes of leaves** (`node_boxes`; algorithms 2 and 3 of Pang and Kasabov, IJCNN 2008). A leaf of one class gives
the least box that holds its training points ("points"); as published, the least one that holds the support vectors of
its one-class machine ("support": algorithm 3, equations 24 and 25), which is part of the former and holds about half of
the points at the paper's settings; or one for each pair of these vectors ("pairs": equations 22 and 23), which the
paper calls a rule disaster, m (m - 1) / 2 boxes of m vectors.

A leaf with machines gives a box for each support vector s. Its class is the one that the leaf predicts at s, whatever
its label: a support vector beyond the surface is no example of its own class. Along axis l a duel with the plane f(x) =
a'x - t, in which that class wins at s, is lost at s_l - f(s) / a_l, below s or above it by the signs of f and a_l; of a
kernel function `nearest_crossings` finds where. With several duels the nearest such crossing counts, without any there
is no bound. As only the lines through s are looked at, what is found may reach far beyond the cell; so it is cut to the
least box that holds the training points of the leaf. As published it is not: a box without a crossing ends where the
training data end, algorithm 2's 0 and 1.

**Few short boxes out of many** (`simplified_boxes`): cut, merge, shorten, prune, cover.

1. *Cut* each box until it holds no training point of another class (`tune`). Points of a leaf that are cut off
   with others get a box of their own, the least that holds them, which is cut in turn; until each point that does not
   coincide with one of another class is in a box of its class.
2. *Merge* boxes of a class while their hull stays free of other classes, across leaves and layers (`merge_boxes`).
3. *Shorten*: drop bounds that exclude nothing and let the others out (`shorten`).
4. *Prune* boxes whose points another box of the class covers, and take as few of the rest as cover the same points
   (`prune_subsets`, `greedy_cover`).

No step brings a point of another class into a box, and none leaves a point behind. So the rules are right about every
training point that does not coincide with one of another class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.crossings import nearest_crossings
from clearmargin.rule_base.box_distance import nearest_box
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, make_rules
from clearmargin.rule_base.box_selection import greedy_cover, prune_subsets
from clearmargin.rule_base.budget import MinCoverage, RuleBudget
from clearmargin.rule_base.options import OrAuto, WholeNumber
from clearmargin.rule_base.shaping import contradicted, limits_of, merge_boxes, shorten, tune
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, bool_array, float_array
from clearmargin.svm_trees.grow import LocalSVM, fit_duels
from clearmargin.svm_trees.svm_tree import Leaf, LeafKernel, SVMTree, left_sides
from clearmargin.tables.encoding import Decoding, column_encoding
from clearmargin.tables.validation import check_choice

if TYPE_CHECKING:
    from clearmargin.svm_trees.classifier import SVMTreeClassifier

__all__ = [
    "IntervalRules",
    "LeafBoxes",
    "clean_boxes",
    "crossing_boxes",
    "interval_rules",
    "node_boxes",
    "simplified_boxes",
]

# More boxes than these take minutes to compare with each other.
_MOST_BOXES = 20_000


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class IntervalRules(Value):
    r"""Rules of intervals out of a tree, with the leaves they come from, evaluated with the nearest box as fallback.

    Parameters
    ----------
    rules : RuleSet
        The rules, all of them closed boxes; the first one that covers a row decides.
    leaves : iterable of iterables of int
        For each rule the leaves it comes from: positions in ``tree_.leaves``.
    from_machine : array-like of bool of shape (r,)
        For each rule whether it comes from support vectors alone.
    reach : array-like of shape (n,)
        The range of each feature, the unit in which distances are measured.
    budget : RuleBudget, optional
        What the rules cover of the training rows, and what all that were found would.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("size <= 2 => small\n6 <= size <= 9 => large")
    >>> reading = IntervalRules(rules, [[0], [1, 3]], [False, True], [9.0])
    >>> reading.predict([[1.0], [3.0], [5.0]])
    array(['small', 'small', 'large'], dtype='<U5')
    >>> reading.n_svm_rules, reading.n_tree_rules
    (1, 1)
    """

    rules: RuleSet
    leaves: tuple[tuple[int, ...], ...]
    from_machine: BoolArray
    reach: FloatArray
    budget: RuleBudget | None

    def __init__(
        self,
        rules: RuleSet,
        leaves: Iterable[Iterable[int]],
        from_machine: ArrayLike,
        reach: ArrayLike,
        budget: RuleBudget | None = None,
    ):
        sources = tuple(tuple(int(leaf) for leaf in some) for some in leaves)
        for rule in rules:
            if not isinstance(rule.region, Box):
                raise InvalidValueError(
                    f"rules of intervals are boxes, but one has the premise {rule.region!r}"
                )
        if len(sources) != len(rules) or not len(rules):
            raise InvalidValueError(
                f"{len(rules)} rules, but leaves for {len(sources)}; there must be as many, and at least one"
            )
        self._set(
            rules=rules,
            leaves=sources,
            from_machine=bool_array(from_machine, "from_machine", shape=(len(rules),)),
            reach=float_array(reach, "the reach of the features", shape=(len(rules.space),)),
            budget=budget,
        )

    @property
    def n_svm_rules(self) -> int:
        """Number of rules that come from support vectors alone."""
        return int(np.count_nonzero(self.from_machine))

    @property
    def n_tree_rules(self) -> int:
        """Number of rules that come from the structure of the tree, at least in part."""
        return len(self.rules) - self.n_svm_rules

    def which(self, X: Any) -> IntArray:
        """Give for each row the rule that decides: the first that covers it, else the nearest.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; one that no rule covers has no missing value, since it goes to the nearest.

        Returns
        -------
        ndarray of int of shape (m,)
            Positions in `rules`.
        """
        points = self.rules.space.read(X)
        found = self.rules.which(points)
        bare = found < 0
        if bare.any():
            regions = [rule.region for rule in self.rules if isinstance(rule.region, Box)]
            boxes = Boxes.from_bounds(
                [box.lower for box in regions], [box.upper for box in regions]
            )
            found = found.copy()
            found[bare] = nearest_box(points[bare], boxes, self.reach)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; one that no rule covers has no missing value, since it goes to the nearest.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        labels = [rule.label for rule in self.rules]
        # Types that numpy would mix up stay what they are.
        answers = np.array(labels)
        return (answers if answers.tolist() == labels else np.array(labels, dtype=object))[
            self.which(X)
        ]

    def __repr__(self) -> str:
        return (
            f"<IntervalRules: {len(self.rules)} rules, {self.n_svm_rules} from support vectors, "
            f"{self.n_tree_rules} from the tree>"
        )


def interval_rules(
    model: SVMTreeClassifier,
    *,
    simplify: bool | None = None,
    by: Literal["tree", "labels"] = "tree",
    min_coverage: MinCoverage = 1,
    max_rules: int | None = None,
) -> IntervalRules:
    """Read a fitted tree as rules of intervals.

    Parameters
    ----------
    model : SVMTreeClassifier
        Fitted.
    simplify : bool, optional
        Whether boxes are cut free of points of other classes, merged, shortened and selected; by default they are,
        unless the tree is ``published``. Without, rules are the boxes of the leaves, with bounds on all features.
    by : {"tree", "labels"}, default "tree"
        Whose word rules should match on the training points: what the tree predicts, or the labels.
    min_coverage : int or "auto", default 1
        Rules that cover fewer training points are left out, with "auto" those that cannot be told from chance. More
        than 1 makes fewer and more robust rules.
    max_rules : int, optional
        Maximum number of rules in all classes together, those that cover most first; by default all.

    Returns
    -------
    IntervalRules
        The rules, with what is needed to predict by them.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> from clearmargin.svm_trees import SVMTreeClassifier
    >>> X, y = load_wbc(return_X_y=True)
    >>> model = SVMTreeClassifier(random_state=0).fit(X, y)
    >>> reading = interval_rules(model)
    >>> bool((reading.predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model)
    check_choice("by", by, ("tree", "labels"))
    OrAuto(WholeNumber(1)).check("min_coverage", min_coverage)
    WholeNumber(1, optional=True).check("max_rules", max_rules)
    points, true, membership = model._training
    task = _task(model, by)
    codes = task.codes if len(points) == len(task.points) else _codes(model, by, points, true)
    simplify = not model.published if simplify is None else simplify
    start = node_boxes(
        model.tree_,
        points,
        true,
        membership,
        model._svm,
        boxes=model.boxes or ("support" if model.published else "points"),
        published=model.published,
    )
    if simplify:
        found = simplified_boxes(start, points, codes, membership)
        if not len(found.boxes):
            raise DataError(
                "every training point coincides with one of another class, so that no rule is right; take by='tree'"
            )
    else:
        covers = start.boxes.masks(points)
        kept = prune_subsets(covers, start.codes, start.boxes.n_conditions)
        found = start.take(kept)
    weights = None
    if simplify and model.loss == "minority":
        sizes = np.bincount(task.true)
        weights = (sizes.max() / sizes)[task.true]
    elif simplify and model._svm.weights is not None:
        weights = model._svm.costs(task.true)
    made = make_rules(
        task,
        FoundBoxes.observed(found.boxes, found.codes),
        min_coverage,
        max_rules,
        weights=weights,
    )
    return IntervalRules(
        made.rules,
        [found.leaves[k] for k in made.places],
        found.from_machine[made.places],
        np.ptp(points, axis=0),
        made.budget,
    )


def _codes(model: SVMTreeClassifier, by: str, points: FloatArray, true: IntArray) -> IntArray:
    """Give the classes that rules should give to points."""
    return model.tree_.decide(points) if by == "tree" else true


def _task(model: SVMTreeClassifier, by: str) -> ExtractionTask:
    """Give all training points of a tree, as extractors of rules take them."""
    points, true = model._counted
    space = model.space_
    encoding = column_encoding(space)
    predicted = model.tree_.decide(points)
    return ExtractionTask(
        points,
        true,
        predicted,
        model,
        encoding,
        Decoding.of(points, encoding),
        model.tree_.classes,
        predicted if by == "tree" else true,
        np.random.RandomState(0),
    )


@dataclass(frozen=True, slots=True)
class LeafBoxes:
    """Boxes with their classes, and the leaves that they stand for.

    Parameters
    ----------
    boxes : Boxes
        The boxes, r of them.
    codes : ndarray of int of shape (r,)
        Positions of their classes.
    leaves : list of tuple of int
        For each box the positions of its leaves.
    from_machine : ndarray of bool of shape (r,)
        Whether the box comes from support vectors alone; the others hold all points of a leaf.
    """

    boxes: Boxes
    codes: IntArray
    leaves: list[tuple[int, ...]]
    from_machine: BoolArray

    def take(self, index: IntArray) -> LeafBoxes:
        """Give the boxes at some positions."""
        leaves = [self.leaves[k] for k in index]
        return LeafBoxes(
            self.boxes.take(index), self.codes[index], leaves, self.from_machine[index]
        )

    @classmethod
    def concatenate(cls, parts: list[LeafBoxes]) -> LeafBoxes:
        """Put all boxes of several one after the other."""
        return cls(
            Boxes.concatenate([part.boxes for part in parts]),
            np.concatenate([part.codes for part in parts]),
            [leaves for part in parts for leaves in part.leaves],
            np.concatenate([part.from_machine for part in parts]),
        )


def node_boxes(
    tree: SVMTree,
    points: FloatArray,
    codes: IntArray,
    membership: IntArray,
    svm: LocalSVM,
    *,
    boxes: Literal["points", "support", "pairs"] = "points",
    published: bool = False,
) -> LeafBoxes:
    """Give the boxes of all leaves, each box once.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    points : ndarray of shape (m, n)
        Its training points.
    codes : ndarray of int of shape (m,)
        Their classes.
    membership : ndarray of int of shape (m,)
        Their leaves.
    svm : LocalSVM
        How its machines were fitted.
    boxes : {"points", "support", "pairs"}, default "points"
        What the box of a leaf of one class holds: its points, or the support vectors of its one-class machine, all of
        them or each pair.
    published : bool, default False
        Whether a box of a machine without a crossing ends where the training data end, not where those of the leaf do.

    Returns
    -------
    LeafBoxes
        Boxes in the order of the leaves.

    Examples
    --------
    >>> from clearmargin.svm_trees.svm_tree import Layer
    >>> layer = Layer([[1.0], [9.0]], [(2, 0), (0, 1)], [Leaf("pure", 0, [2, 0]), Leaf("pure", 1, [0, 1])])
    >>> tree = SVMTree([layer], low=[0.0], width=[9.0], names=["size"], classes=["small", "large"])
    >>> X, codes = np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1])
    >>> node_boxes(tree, X, codes, tree.apply(X), LocalSVM(0.1)).boxes.upper.tolist()
    [[2.0], [9.0]]
    """
    order = np.argsort(membership, kind="stable")
    bounds = np.searchsorted(membership[order], np.arange(tree.n_leaves + 1))
    whole = points.min(axis=0), points.max(axis=0)
    if boxes == "pairs":
        _check_pairs(tree)
    tables, from_machine = [], []
    leaves: list[tuple[int, ...]] = []
    for number, (leaf, (start, stop)) in enumerate(zip(tree.leaves, pairwise(bounds), strict=True)):
        rows = order[start:stop]
        if not len(rows):
            continue
        own = points[rows]
        if leaf.pairs:
            support = fit_duels(own, codes[rows], tree.frame, svm).support
            below, above, label = crossing_boxes(leaf, own[support])
            low, high = whole if published else (own.min(axis=0), own.max(axis=0))
            lower, upper = np.maximum(below, low), np.minimum(above, high)
        else:
            # What is left over and of several classes has no one-class machine.
            lower, upper = _one_class_boxes(leaf, own, boxes if leaf.kernel else "points")
            label = np.full(len(lower), leaf.label)
        table = np.unique(np.hstack([lower, upper, label[:, None]]), axis=0)
        tables.append(table)
        leaves += [(number,)] * len(table)
        from_machine += [bool(leaf.pairs)] * len(table)
    table, n = np.vstack(tables), points.shape[1]
    return LeafBoxes(
        Boxes.from_bounds(table[:, :n], table[:, n : 2 * n]),
        table[:, -1].astype(np.intp),
        leaves,
        np.array(from_machine, dtype=np.bool_),
    )


def _one_class_boxes(
    leaf: Leaf, points: FloatArray, boxes: Literal["points", "support", "pairs"]
) -> tuple[FloatArray, FloatArray]:
    """Give lower and upper ends of the boxes of a leaf of one class."""
    corners = points if boxes == "points" or leaf.kernel is None else leaf.kernel.vectors
    if boxes == "pairs" and len(corners) > 1:
        first, second = np.triu_indices(len(corners), 1)
        return (
            np.minimum(corners[first], corners[second]),
            np.maximum(corners[first], corners[second]),
        )
    return corners.min(axis=0, keepdims=True), corners.max(axis=0, keepdims=True)


def _check_pairs(tree: SVMTree) -> None:
    """Raise if pairs of support vectors make too many boxes."""
    sizes = [len(leaf.kernel.vectors) for leaf in tree.leaves if leaf.kernel and not leaf.pairs]
    total = sum(size * (size - 1) // 2 for size in sizes)
    if total > _MOST_BOXES:
        raise DataError(
            f"pairs of support vectors make {total} boxes, more than the {_MOST_BOXES} that can be compared with each "
            "other; take boxes='support', one box for all support vectors of a leaf"
        )


def crossing_boxes(leaf: Leaf, anchors: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Walk from points along the axes until the class that a leaf predicts there loses a duel.

    Parameters
    ----------
    leaf : Leaf
        A leaf with machines.
    anchors : ndarray of shape (k, n)
        Where to start.

    Returns
    -------
    below, above : ndarray of shape (j, n)
        Where the walks end, infinite where they do not. Points at which no class wins all its duels are left out.
    codes : ndarray of int of shape (j,)
        The class at each start.

    Examples
    --------
    >>> leaf = Leaf("svm", 0, [1, 1], pairs=[(0, 1)], normals=[[1.0, 0.5]], offsets=[3.0])
    >>> crossing_boxes(leaf, np.array([[1.0, 2.0]]))
    (array([[-inf, -inf]]), array([[2., 4.]]), array([0]))
    """
    if leaf.kernel is not None:
        return _kernel_crossing_boxes(leaf, leaf.kernel, anchors)
    predicted = leaf.decide(anchors)
    below, above = np.full_like(anchors, -np.inf), np.full_like(anchors, np.inf)
    wins = np.ones(len(anchors), dtype=np.bool_)
    for (first, second), normal, offset in zip(leaf.pairs, leaf.normals, leaf.offsets, strict=True):
        rows = np.flatnonzero((predicted == first) | (predicted == second))
        # The same sum as in `decide`: its sign says who wins.
        excess = left_sides(normal, anchors[rows]) - offset
        is_second = predicted[rows] == second
        wins[rows] &= is_second == (excess > 0)
        axes = np.flatnonzero(normal)
        reached = anchors[np.ix_(rows, axes)] - excess[:, None] / normal[axes]
        # The first class loses where f grows, the second where it falls.
        upwards = (normal[axes] > 0) != is_second[:, None]
        block = np.ix_(rows, axes)
        above[block] = np.minimum(above[block], np.where(upwards, reached, np.inf))
        below[block] = np.maximum(below[block], np.where(upwards, -np.inf, reached))
    return below[wins], above[wins], predicted[wins]


def _kernel_crossing_boxes(
    leaf: Leaf, kernel: LeafKernel, anchors: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Walk from points along the axes, within the training range, until a kernel function changes its sign."""
    function, frame = kernel.function(), kernel.frame
    second = kernel.values(anchors) > 0
    Z = frame.scale(anchors)
    low = np.minimum(0.0, Z.min(axis=0))
    high = np.maximum(np.where(np.isfinite(frame.width), 1.0, 0.0), Z.max(axis=0))
    parts = []
    for code in sorted({code for pair in leaf.pairs for code in pair}):
        duels = [p for p, pair in enumerate(leaf.pairs) if code in pair]
        is_second = [leaf.pairs[p][1] == code for p in duels]
        rows = np.flatnonzero((second[:, duels] == is_second).all(axis=1))
        # Signs do not matter for crossings.
        found = nearest_crossings(function.take(duels, [1] * len(duels)), Z[rows], low, high)
        below, above = (
            np.where(np.isinf(ends), ends, frame.restore(np.where(np.isinf(ends), 0.0, ends)))
            for ends in (found.below, found.above)
        )
        # Back in the user's units a crossing may have moved past its anchor by an ulp.
        below, above = np.minimum(below, anchors[rows]), np.maximum(above, anchors[rows])
        parts.append((below, above, np.full(len(rows), code, dtype=np.intp)))
    lower, upper, codes = zip(*parts, strict=True)
    return np.vstack(lower), np.vstack(upper), np.concatenate(codes)


def simplified_boxes(
    found: LeafBoxes, points: FloatArray, codes: IntArray, membership: IntArray
) -> LeafBoxes:
    """Make few short boxes that hold no training point of another class.

    Parameters
    ----------
    found : LeafBoxes
        The boxes of the leaves.
    points : ndarray of shape (m, n)
        Training points.
    codes : ndarray of int of shape (m,)
        The class that rules should give each.
    membership : ndarray of int of shape (m,)
        The leaf of each.

    Returns
    -------
    LeafBoxes
        The boxes; each point that does not coincide with one of another class is in a box of its class.

    Examples
    --------
    >>> boxes = Boxes.from_bounds([[0.0], [3.0]], [[1.0], [5.0]])
    >>> start = LeafBoxes(boxes, np.array([0, 1]), [(0,), (1,)], np.zeros(2, dtype=bool))
    >>> X, codes = np.array([[0.0], [1.0], [3.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> simplified_boxes(start, X, codes, codes).boxes.upper.tolist()
    [[2.0], [inf]]
    """
    clean = clean_boxes(found, points, codes, membership)
    boxes, box_codes = merge_boxes(clean.boxes, clean.codes, points, codes)
    merged = _sourced(clean, boxes, box_codes.astype(np.intp))
    boxes = shorten(merged.boxes, points, codes, merged.codes)
    covers, sizes = boxes.masks(points), boxes.n_conditions
    kept = prune_subsets(covers, merged.codes, sizes)
    kept = kept[greedy_cover(covers[kept], merged.codes[kept], codes, sizes=sizes[kept])]
    return replace(merged, boxes=boxes).take(kept)


def clean_boxes(
    found: LeafBoxes, points: FloatArray, codes: IntArray, membership: IntArray
) -> LeafBoxes:
    """Cut boxes free of points of other classes, and box what is cut off anew.

    Parameters
    ----------
    found, points, codes, membership
        As for `simplified_boxes`.

    Returns
    -------
    LeafBoxes
        The boxes, those for points cut off after the others.

    Examples
    --------
    >>> start = LeafBoxes(Boxes.from_bounds([[0.0]], [[6.0]]), np.array([0]), [(0,)], np.zeros(1, bool))
    >>> X, codes = np.array([[0.0], [1.0], [4.0], [6.0]]), np.array([0, 0, 1, 0])
    >>> clean = clean_boxes(start, X, codes, np.array([0, 0, 1, 0]))
    >>> clean.codes.tolist(), clean.boxes.lower.ravel().tolist()
    ([0, 0, 1], [0.0, 6.0, 4.0])
    """
    with_machine = np.zeros(int(membership.max()) + 1, dtype=np.bool_)
    with_machine[[leaf for (leaf,) in found.leaves]] = found.from_machine
    # What coincides with a point of another class is in no clean box.
    bare = ~contradicted(points, codes)
    parts: list[LeafBoxes] = []
    pending, anchors = found, None
    while True:
        boxes, kept = tune(pending.boxes, anchors, points, codes, pending.codes)
        part = replace(pending.take(np.flatnonzero(kept)), boxes=boxes)
        parts.append(part)
        bare &= ~(boxes.masks(points) & (part.codes[:, None] == codes)).any(axis=0)
        if not bare.any():
            return LeafBoxes.concatenate(parts)
        # The anchors stay in their boxes, so that each turn covers more points.
        groups = np.column_stack([membership[bare], codes[bare]])
        lower, upper, anchors, groups = _least_boxes(points[bare], groups)
        leaves: list[tuple[int, ...]] = [(leaf,) for leaf in groups[:, 0].tolist()]
        pending = LeafBoxes(
            Boxes.from_bounds(lower, upper), groups[:, 1], leaves, with_machine[groups[:, 0]]
        )


def _least_boxes(
    points: FloatArray, groups: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return for each group of points the least box that holds them, a point in the middle of them, and the group."""
    distinct, number = np.unique(groups, axis=0, return_inverse=True)
    number = number.ravel()
    lower = np.full((len(distinct), points.shape[1]), np.inf)
    upper = np.full_like(lower, -np.inf)
    np.minimum.at(lower, number, points)
    np.maximum.at(upper, number, points)
    half = upper / 2 - lower / 2  # the difference itself may overflow
    away = np.abs(points / 2 - lower[number] / 4 - upper[number] / 4) * 2
    away /= np.where(half > 0, half, 1.0)[number]
    order = np.lexsort(((away**2).sum(axis=1), number))
    first = np.searchsorted(number[order], np.arange(len(distinct)))
    return lower, upper, points[order[first]], distinct


def _sourced(parts: LeafBoxes, boxes: Boxes, codes: IntArray) -> LeafBoxes:
    """Return the leaves of hulls: those of all boxes in them."""
    leaves, from_machine = [], []
    limits, hulls = limits_of(parts.boxes), limits_of(boxes)
    for hull, code in zip(hulls, codes, strict=True):
        inside = (parts.codes == code) & (limits <= hull).all(axis=1)
        within = (parts.leaves[k] for k in np.flatnonzero(inside))
        leaves.append(tuple(sorted({leaf for some in within for leaf in some})))
        from_machine.append(bool(parts.from_machine[inside].all()))
    return LeafBoxes(boxes, codes, leaves, np.array(from_machine, dtype=np.bool_))
