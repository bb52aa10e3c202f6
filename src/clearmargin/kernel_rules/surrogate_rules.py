"""Rules of a surrogate that learned what a model predicts (Barakat and Diederich; ALBA).

The surrogate learns on training rows, support vectors or rows drawn near either. If it is a decision tree, its leaves
become boxes, sibling leaves of one class taken together, and rules without space between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.box_extractor import BoxExtractor
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, SupportVectors, read_support
from clearmargin.rule_base.box_selection import greedy_cover, prune_subsets
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.options import Choice, Option, WholeNumber
from clearmargin.rule_base.shaping import shorten, tune
from clearmargin.rule_base.simplify import to_user_box
from clearmargin.rules import Box, Rule, RuleSet
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Encoding

__all__ = [
    "LabelledRows",
    "SurrogateRules",
    "close_gaps",
    "mean_distance",
    "near_support",
    "near_training",
    "seen_columns",
    "tree_boxes",
]


# The tree grows past the requested number of leaves and is cut back where that costs least: greedy growth alone ends in
# bad places.
_SPARE_LEAVES = 4
# Boxes that start at more rows than this add little and cost much.
_MAX_ANCHORS = 100


class SurrogateRules(BoxExtractor):
    """Interval rules of a surrogate: a decision tree, or a cover of boxes, that learned what the model predicts.

    Any classifier will do, since it is asked for predictions only. The rows that the surrogate learns from are the
    support vectors (Barakat and Diederich 2004), the training rows, or the training rows and rows drawn close to
    the support vectors, where the model changes its mind (ALBA, Martens, Baesens and Van Gestel 2009). The model gives
    all of them their class. Columns that make no difference to the model when they are shuffled are not used.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier for `method="train"` and `"local"`, else one with support vectors. A fitted one is used as it is.
        By default an `SVC` behind a `StandardScaler`, trained on about 3,000 rows where there are more.
    method : {"alba", "svs", "train", "local"}, default "alba"
        The rows to learn from: training rows and rows near support vectors; the support vectors that the model
        classifies rightly; the training rows; training rows and rows between and around them.
    learner : "tree", "boxes" or DecisionTreeClassifier, default "tree"
        What learns: a tree, each leaf of which is a rule; boxes around training rows, cut until they hold no row
        of another class, as many as are needed to cover all; or a tree of your own.
    n_generated : int, default 5000
        How many rows are drawn for "alba" and "local". All of them together weigh as much as the training rows.
    max_leaves : int, optional
        Most leaves of a tree, that is, rules; by default as many as `max_rules` leaves room for, at most 16, and as
        many as it has for a tree of your own.
    by : {"model", "labels"}, default "model"
        Whether training rows have the class that the model predicts or their label.
    min_coverage : int or "auto", default 1
        Rules that cover fewer training points are dropped, with "auto" those that cannot be told from chance, see
        `RuleExtractor`. A leaf that is dropped leaves a place without a rule, and leaves were learned from drawn rows,
        too, so that by default all stay.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
    fallback : "nearest", "estimator", "abstain" or a class, default "nearest"
        What to predict where no rule fires; the leaves of a tree leave no such place as long as none is dropped.
    random_state : int, RandomState or None, default 0
        Where drawn rows come from; with None other ones in each run.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    learner_ : DecisionTreeClassifier
        The tree, where there is one.
    rules_ : RuleSet
        The rules, those with the highest confidence first.
    budget_ : RuleBudget
        What the rules cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
    space_ : FeatureSpace
        The features.
    classes_ : ndarray
        The classes.
    n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> rules = SurrogateRules(max_leaves=6, random_state=0).fit(X, y)
    >>> len(rules.rules_) <= 6
    True
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **BoxExtractor._options,
        "method": Choice("alba", "svs", "train", "local"),
        "n_generated": WholeNumber(1),
        "max_leaves": WholeNumber(2, optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "alba",
        learner: Any = "tree",
        n_generated: int = 5000,
        max_leaves: int | None = None,
        by: str = "model",
        min_coverage: MinCoverage = 1,
        max_rules: int | None = DEFAULT_MAX_RULES,
        fallback: Any = "nearest",
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.method = method
        self.learner = learner
        self.n_generated = n_generated
        self.max_leaves = max_leaves
        self.by = by
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.fallback = fallback
        self.random_state = random_state

    def _check_options(self) -> None:
        super()._check_options()
        if not isinstance(self.learner, DecisionTreeClassifier) and self.learner not in (
            "tree",
            "boxes",
        ):
            given = (
                f"{type(self.learner).__name__}, whose leaves are no classes"
                if isinstance(self.learner, BaseDecisionTree)
                else repr(self.learner)
            )
            raise InvalidValueError(
                f"learner must be 'tree', 'boxes' or a DecisionTreeClassifier, not {given}"
            )

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        rows, codes, weights = self._read_rows(task, X)
        # Nothing can be split on a column that is the same in all rows.
        rows = np.where(seen_columns(task), rows, 0.0)
        if isinstance(self.learner, str) and self.learner == "boxes":
            return _cover_with_boxes(task, rows, codes, weights)
        return self._grow_tree(task, rows, codes, weights)

    def _keep(self, task: ExtractionTask, found: FoundBoxes) -> None:
        super()._keep(task, found)
        if not isinstance(self.learner, str) or self.learner == "tree":
            self.rules_, self._boxes = close_gaps(
                self.rules_, self._boxes, found.boxes, task.encoding
            )

    def _read_rows(self, task: ExtractionTask, X: Any) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return the rows to learn from, their classes and what they weigh."""
        if self.method == "svs":
            support = read_support(task, X, trained_here=self._trained_here)
            predicted = task.ask(support.points)
            right = predicted == support.codes
            # A machine may get all its support vectors wrong; then all of them have to do.
            kept = right if right.any() else np.ones_like(right)
            return support.points[kept], predicted[kept], np.ones(int(kept.sum()))
        m = len(task.points)
        if self.method == "train":
            return task.points, task.codes, np.ones(m)
        if self.method == "local":
            drawn = near_training(task, self.n_generated)
        else:
            support = read_support(task, X, trained_here=self._trained_here)
            drawn = near_support(task, support, self.n_generated)
        weights = np.concatenate([np.ones(m), np.full(len(drawn), m / len(drawn))])
        return (
            np.vstack([task.points, drawn]),
            np.concatenate([task.codes, task.ask(drawn)]),
            weights,
        )

    def _grow_tree(
        self, task: ExtractionTask, rows: FloatArray, codes: IntArray, weights: FloatArray
    ) -> FoundBoxes:
        most = self.max_leaves
        if isinstance(self.learner, str):
            # As many leaves as there is room for rules: a leaf that is dropped leaves a place without a rule.
            most = min(16, self.max_rules or 16) if most is None else most
            tree = DecisionTreeClassifier(
                criterion="entropy",
                max_leaf_nodes=_SPARE_LEAVES * most,
                min_samples_leaf=2,
                random_state=0,
            )
        else:
            tree = clone(self.learner)
        self.learner_ = tree.fit(rows, codes, sample_weight=weights)
        return FoundBoxes.observed(*tree_boxes(self.learner_, most, points=task.points))


def _cover_with_boxes(
    task: ExtractionTask, rows: FloatArray, codes: IntArray, weights: FloatArray
) -> FoundBoxes:
    """Put boxes around rows of each class that hold no row of another one, and that together cover their class."""
    found, labels = [], []
    for k in np.unique(codes).tolist():
        members = np.flatnonzero(codes == k)
        # Heavy rows, those of the training table, come first.
        shuffled = members[task.random.permutation(len(members))]
        start = rows[shuffled[np.argsort(-weights[shuffled], kind="stable")][:_MAX_ANCHORS]]
        everywhere = Boxes.unbounded(len(start), rows.shape[1])
        boxes, _ = tune(everywhere, start, rows, codes, np.full(len(start), k, dtype=np.intp))
        found.append(boxes)
        labels.append(np.full(len(boxes), k, dtype=np.intp))
    boxes, box_codes = Boxes.concatenate(found), np.concatenate(labels)
    boxes = shorten(boxes, rows, codes, box_codes, task.lower, task.upper)
    covers = boxes.masks(rows)
    kept = prune_subsets(covers, box_codes, boxes.n_conditions)
    boxes, box_codes, covers = boxes.take(kept), box_codes[kept], covers[kept]
    chosen = greedy_cover(covers, box_codes, codes, weights, sizes=boxes.n_conditions)
    return FoundBoxes.observed(boxes.take(chosen), box_codes[chosen])


LabelledRows = tuple[FloatArray, IntArray, FloatArray]

# Around a training row points are drawn with this share of each column's standard deviation.
_SPREAD = 0.3
# So many rows show whether a column matters to the model.
_ROWS_TRIED = 500
# ALBA draws from half the mean distance to both sides together (Martens et al. 2009).
_ALBA_WIDTH = 0.5


def near_support(task: ExtractionTask, support: SupportVectors, count: int) -> FloatArray:
    """Draw rows close to support vectors, as ALBA does.

    Around a support vector drawn at random, each column moves by up to a quarter of the mean distance between training
    rows and support vectors in that column. Columns of categories stay as the support vector has them.

    Parameters
    ----------
    task : ExtractionTask
        The training rows.
    support : SupportVectors
        The support vectors.
    count : int
        How many rows.

    Returns
    -------
    ndarray of shape (count, n)
        Encoded rows within the range of the training rows.
    """
    reach = np.array(
        [
            mean_distance(column, vectors)
            for column, vectors in zip(task.points.T, support.points.T, strict=True)
        ]
    )
    start = support.points[task.random.randint(len(support.points), size=count)]
    moves = (task.random.uniform(size=start.shape) - 0.5) * reach * _ALBA_WIDTH
    return _as_rows(task, start, np.where(_named(task), 0.0, moves))


def mean_distance(x: FloatArray, s: FloatArray) -> float:
    """Give the mean of |x_i - s_j| over all pairs, without a table of all pairs.

    Parameters
    ----------
    x, s : ndarray of shape (m,) and (k,)
        Numbers.

    Returns
    -------
    float
        The mean distance.

    Examples
    --------
    >>> mean_distance(np.array([0.0, 1.0]), np.array([3.0, 5.0]))
    3.5
    """
    ordered = np.sort(s)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, x)
    total = x * (2 * below - len(s)) - 2.0 * sums[below] + sums[-1]
    return float(total.mean() / len(s))


def near_training(task: ExtractionTask, count: int) -> FloatArray:
    """Draw rows between training rows and around them, half and half.

    Parameters
    ----------
    task : ExtractionTask
        The training rows.
    count : int
        How many rows.

    Returns
    -------
    ndarray of shape (count, n)
        Encoded rows within the range of the training rows.
    """
    m = len(task.points)
    start = task.points[task.random.randint(m, size=count)]
    other = task.points[task.random.randint(m, size=count)]
    between = task.random.uniform(size=(count, 1)) * (other - start)
    around = task.random.normal(size=start.shape) * task.points.std(axis=0) * _SPREAD
    moves = np.where(np.arange(count)[:, None] % 2 == 0, between, around)
    return _as_rows(task, start, np.where(_named(task), 0.0, moves))


def seen_columns(task: ExtractionTask) -> BoolArray:
    """Tell which columns the model looks at: those that change its word on some row if they are shuffled.

    A surrogate that splits on another column explains the model by what it does not know.

    Parameters
    ----------
    task : ExtractionTask
        The training rows and the model.

    Returns
    -------
    ndarray of bool of shape (n,)
        All true if the model predicts the same for all rows tried.
    """
    half = min(_ROWS_TRIED // 2, len(task.points))
    drawn = task.points[task.random.permutation(len(task.points))[:half]]
    rows = np.vstack([drawn, near_training(task, half)])
    predicted = task.ask(rows)
    seen = np.zeros(rows.shape[1], dtype=np.bool_)
    features = np.array([source.feature for source in task.encoding.sources], dtype=np.intp)
    for feature in np.unique(features):
        columns = features == feature
        changed = rows.copy()
        # The columns of a categorical feature move together, so that each row still has one category.
        changed[:, columns] = rows[task.random.permutation(len(rows))][:, columns]
        seen[columns] = bool((task.ask(changed) != predicted).any())
    return seen if seen.any() else np.ones_like(seen)


def _named(task: ExtractionTask) -> BoolArray:
    return np.array([source.code is not None for source in task.encoding.sources], dtype=np.bool_)


def _as_rows(task: ExtractionTask, start: FloatArray, moves: FloatArray) -> FloatArray:
    """Make rows that could be rows of the table: within the ranges, whole numbers where the table has whole numbers."""
    rows = np.clip(start + moves, task.lower, task.upper)
    return np.where(task.encoding.columns.integer, np.rint(rows), rows)


# Cuts are rounded to about one hundredth of the range of their column, as bounds of other rules are.
_STEPS = 100.0
_MAX_DECIMALS = 17


def tree_boxes(
    tree: Any, most: int | None = None, *, points: FloatArray | None = None
) -> tuple[Boxes, IntArray]:
    """Read the leaves of a fitted decision tree of scikit-learn as boxes.

    Siblings of one class are one leaf. Then, if there are more leaves than requested, siblings are joined where that
    costs the fewest of the points the tree was fitted to.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        Fitted to codes 0, 1, ...
    most : int, optional
        Most leaves.
    points : ndarray of shape (m, n), optional
        If given, cuts are moved to numbers of few digits where that leaves all these points on their sides.

    Returns
    -------
    boxes : Boxes
        They do not meet and cover everything.
    codes : ndarray of int of shape (r,)
        Their classes.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> boxes, codes = tree_boxes(DecisionTreeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]))
    >>> boxes.upper[:, 0].tolist(), codes.tolist()
    ([1.5, inf], [0, 1])
    """
    inner = tree.tree_
    # Weights of the classes in each node; scikit-learn stores shares.
    weights = inner.value[:, 0, :] * inner.weighted_n_node_samples[:, None]
    left, right = inner.children_left.copy(), inner.children_right.copy()
    _join_siblings(left, right, weights, most)
    cuts = inner.threshold if points is None else _short_cuts(inner, points)
    n = int(tree.n_features_in_)
    lower, upper, codes = [], [], []
    stack = [(0, np.full(n, -np.inf), np.full(n, np.inf))]
    while stack:
        node, low, high = stack.pop()
        if left[node] < 0:
            lower.append(low)
            upper.append(high)
            codes.append(int(np.argmax(weights[node])))
            continue
        j, cut = int(inner.feature[node]), float(cuts[node])
        below, above = high.copy(), low.copy()
        below[j] = min(high[j], cut)
        above[j] = max(low[j], np.nextafter(cut, np.inf))
        # Two cuts between the same points may have become the same short number; then nothing lies between them.
        if above[j] <= high[j]:
            stack.append((int(right[node]), above, high))
        if low[j] <= below[j]:
            stack.append((int(left[node]), low, below))
    classes = tree.classes_[np.array(codes, dtype=np.intp)]
    return Boxes.from_bounds(np.array(lower), np.array(upper)), np.asarray(classes, dtype=np.intp)


def _join_siblings(left: IntArray, right: IntArray, weights: FloatArray, most: int | None) -> None:
    """Turn nodes into leaves, in place, until no brothers agree and there are few enough leaves."""
    lost = weights.sum(axis=1) - weights.max(axis=1)
    while True:
        # Children of a node come after it, so that the whole of a sweep sees joined children.
        tests = np.flatnonzero(left >= 0)
        ends = tests[(left[left[tests]] < 0) & (left[right[tests]] < 0)]
        if not len(ends):
            return
        price = lost[ends] - lost[left[ends]] - lost[right[ends]]
        same = weights[left[ends]].argmax(axis=1) == weights[right[ends]].argmax(axis=1)
        if same.any():
            chosen = ends[same]
        elif most is not None and len(tests) + 1 > most:
            chosen = ends[[int(np.argmin(price))]]
        else:
            return
        left[chosen] = right[chosen] = -1


def _short_cuts(inner: Any, points: FloatArray) -> FloatArray:
    """Return the cuts of the nodes, each at the shortest number between the two points next to it."""
    cuts = inner.threshold.copy()
    order = np.sort(points, axis=0)
    for node in np.flatnonzero(inner.feature >= 0).tolist():
        column, cut = order[:, inner.feature[node]], float(cuts[node])
        place = int(np.searchsorted(column, cut, side="right"))
        low = column[place - 1] if place else -np.inf
        high = column[place] if place < len(column) else np.inf
        # A tree cuts no constant column, and takes no numbers beyond those of single precision.
        coarsest = -int(np.floor(np.log10(float(column[-1] - column[0]) / _STEPS)))
        rounded = (round(cut, coarsest + more) for more in range(_MAX_DECIMALS))
        cuts[node] = next((short for short in rounded if low <= short < high), cut)
    return np.asarray(cuts)


def close_gaps(
    rules: RuleSet, boxes: Boxes, leaves: Boxes, encoding: Encoding
) -> tuple[RuleSet, Boxes]:
    """Let rules that were made of leaves end where their leaves end.

    Bounds of rules are rounded inwards. Between boxes by themselves that costs nothing, but between two leaves it opens
    a gap on both sides of a cut, in which no rule fires. A leaf begins just after its cut and so does the rule here.

    Parameters
    ----------
    rules : RuleSet
        Rules, each inside of a leaf.
    boxes : Boxes
        Their boxes over the encoded columns.
    leaves : Boxes
        The leaves, which do not meet.
    encoding : Encoding
        The table as columns of numbers.

    Returns
    -------
    rules : RuleSet
        The same rules with the bounds of the leaves; columns of whole numbers keep their whole bounds.
    boxes : Boxes
        Their boxes.
    """
    low, high = leaves.lower, leaves.upper
    inside = (low[None] <= boxes.lower[:, None]).all(axis=2)
    inside &= (boxes.upper[:, None] <= high[None]).all(axis=2)
    home = inside.argmax(axis=1)
    whole = encoding.columns.integer
    lower = np.where(whole, boxes.lower, low[home])
    upper = np.where(whole, boxes.upper, high[home])
    after_cut = np.isfinite(lower) & ~whole
    starts = np.where(after_cut, np.nextafter(lower, -np.inf), lower)
    closed = []
    for r, rule in enumerate(rules):
        region = to_user_box(Box(starts[r], upper[r], ~after_cut[r]), encoding)
        assert region is not None  # it holds that of the rule
        closed.append(
            Rule(region, rule.label, origin=rule.origin, proof=rule.proof, stats=rule.stats)
        )
    return RuleSet(closed, rules.space, rules.classes), Boxes.from_bounds(lower, upper)
