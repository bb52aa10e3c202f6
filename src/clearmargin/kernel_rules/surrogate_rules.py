"""Rules of any model: a small tree that learned what the model predicts, read off leaf by leaf.

The tree learns on the training rows and on rows drawn between and around them, all with the classes that the model
gives them. Sibling leaves of one class are taken together, and rules are without space between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from clearmargin.kernel_rules.box_extractor import BoxExtractor
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes
from clearmargin.rule_base.budget import MinCoverage
from clearmargin.rule_base.options import Option, WholeNumber
from clearmargin.rule_base.simplify import to_user_box
from clearmargin.rules import Box, Rule, RuleSet
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import Encoding

# The tree grows past the requested number of leaves and is cut back where that costs least: greedy growth alone ends in
# bad places.
_SPARE_LEAVES = 4
# The tree learns from so many training rows, drawn by their values; so many values are drawn beside them.
_MOST_ROWS, _MOST_VALUES = 10_000, 5_000_000
# Around a training row points are drawn with this share of each column's standard deviation.
_SPREAD = 0.3
# So many rows show whether a column matters to the model, fewer where there are very many columns; and so many values
# are shown to it for all columns together.
_ROWS_TRIED, _VALUES_TRIED = 500, 20_000_000


class SurrogateRules(BoxExtractor):
    """Interval rules of any classifier: the leaves of a small decision tree that learned what it predicts.

    The model is asked for predictions only. The tree learns on the training rows and on rows drawn between and around
    them. Columns that make no difference to the model when they are shuffled are not used; of more than 200 columns
    only those are tried, and used, on which the predicted classes differ most.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier. A fitted one is used as it is. By default an `SVC` behind a `StandardScaler`, trained on about
        3,000 rows where there are more. What the first steps of a pipeline impute by a fixed value counts as imputed.
    max_rules : int or None, default 15
        Maximum number of leaves, that is, rules: one page. None gives as many leaves as the tree has.
    n_generated : int, default 5000
        How many rows are drawn. All of them together weigh as much as the training rows.
    min_coverage : int or "auto", default 1
        Rules that cover fewer training points are dropped, with "auto" those that cannot be told from chance, see
        `RuleExtractor`. A leaf that is dropped leaves a place without a rule, and leaves were learned from drawn rows,
        too, so that by default all stay.
    fallback : "nearest", "estimator", "abstain" or a class, default "nearest"
        What to predict where no rule fires; the leaves of a tree leave no such place as long as none is dropped.
    random_state : int, RandomState or None, default 0
        Where drawn rows come from; with None other ones in each run.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    learner_ : DecisionTreeClassifier
        The tree.
    rules_ : RuleSet
        The rules, those with the highest confidence first.
    budget_ : RuleBudget
        What the rules cover.
    space_ : FeatureSpace
        The features.
    classes_ : ndarray
        The classes.
    n_rows_, n_sampled_rows_ : int
        How many rows the table has, and how many of them were taken: all, or of a table in files a sample. Rules have
        the counts of all rows.
    n_features_in_, feature_names_in_
        As usual.

    See Also
    --------
    ScoreRules : A card of points follows a model more closely than as many rules that decide singly.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> rules = SurrogateRules(max_rules=6, random_state=0).fit(X, y)
    >>> len(rules.rules_) <= 6
    True
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **BoxExtractor._options,
        "n_generated": WholeNumber(1),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_rules: int | None = 15,
        n_generated: int = 5000,
        min_coverage: MinCoverage = 1,
        fallback: Any = "nearest",
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.max_rules = max_rules
        self.n_generated = n_generated
        self.min_coverage = min_coverage
        self.fallback = fallback
        self.random_state = random_state

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        known = task.sampled(_MOST_ROWS)
        m, n = known.points.shape
        drawn = near_training(known, max(1, min(self.n_generated, _MOST_VALUES // n)))
        codes = np.concatenate([known.codes, task.ask(drawn)])
        # Nothing can be split on a column that is the same in all rows.
        rows = np.where(seen_columns(known), np.vstack([known.points, drawn]), 0.0)
        tree = DecisionTreeClassifier(
            criterion="entropy",
            max_leaf_nodes=None if self.max_rules is None else _SPARE_LEAVES * self.max_rules,
            min_samples_leaf=2,
            random_state=0,
        )
        weights = np.concatenate([np.ones(m), np.full(len(drawn), m / len(drawn))])
        self.learner_ = tree.fit(rows, codes, sample_weight=weights)
        return FoundBoxes.observed(*tree_boxes(self.learner_, self.max_rules, task.points))

    def _keep(self, task: ExtractionTask, found: FoundBoxes) -> None:
        super()._keep(task, found)
        self.rules_, self._boxes = close_gaps(self.rules_, self._boxes, found.boxes, task.encoding)


def near_training(task: ExtractionTask, count: int) -> FloatArray:
    """Draw rows between training rows and around them, half and half, that could be rows of the table."""
    m, random = len(task.points), task.random
    start = task.points[random.randint(m, size=count)]
    other = task.points[random.randint(m, size=count)]
    between = random.uniform(size=(count, 1)) * (other - start)
    around = random.normal(size=start.shape) * task.points.std(axis=0) * _SPREAD
    moves = np.where(np.arange(count)[:, None] % 2 == 0, between, around)
    named = np.array([source.code is not None for source in task.encoding.sources], dtype=np.bool_)
    rows = np.clip(start + np.where(named, 0.0, moves), task.lower, task.upper)
    return np.where(task.encoding.columns.integer, np.rint(rows), rows)


def seen_columns(task: ExtractionTask) -> BoolArray:
    """Tell which columns the model looks at: those that change its word on some row if they are shuffled."""
    n = task.points.shape[1]
    half = max(25, min(_ROWS_TRIED, 2 * _VALUES_TRIED // (40 * n)) // 2)
    drawn = task.points[task.random.permutation(len(task.points))[:half]]
    rows = np.vstack([drawn, near_training(task, len(drawn))])
    predicted = task.ask(rows)
    seen, tried = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    features = np.array([source.feature for source in task.encoding.sources], dtype=np.intp)
    known, most = np.unique(features), max(20, _VALUES_TRIED // rows.size)
    if len(known) > most:
        # Those on which the mean values of the predicted classes differ most.
        means = [task.points[task.codes == code].mean(axis=0) for code in np.unique(task.codes)]
        spread = task.points.std(axis=0)
        apart = np.ptp(means, axis=0) / np.where(spread > 0, spread, np.inf)
        largest = np.zeros(known[-1] + 1)
        np.maximum.at(largest, features, apart)
        known = np.sort(known[np.argsort(-largest[known], kind="stable")[:most]])
    for feature in known:
        columns = features == feature
        changed = rows.copy()
        # The columns of a categorical feature move together, so that each row still has one category.
        changed[:, columns] = rows[task.random.permutation(len(rows))][:, columns]
        tried |= columns
        seen[columns] = bool((task.ask(changed) != predicted).any())
    return seen if seen.any() else tried


# Cuts are rounded to about one hundredth of the range of their column, as bounds of other rules are.
_STEPS = 100.0
_MAX_DECIMALS = 17


def tree_boxes(tree: Any, most: int | None, points: FloatArray) -> tuple[Box, IntArray]:
    """Read the leaves of a fitted decision tree of scikit-learn as boxes."""
    inner = tree.tree_
    # Weights of the classes in each node; scikit-learn stores shares.
    weights = inner.value[:, 0, :] * inner.weighted_n_node_samples[:, None]
    left, right = inner.children_left.copy(), inner.children_right.copy()
    _join_siblings(left, right, weights, most)
    cuts = _short_cuts(inner, points)
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
    return Box(np.array(lower), np.array(upper)), np.asarray(classes, dtype=np.intp)


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


def close_gaps(rules: RuleSet, boxes: Box, leaves: Box, encoding: Encoding) -> tuple[RuleSet, Box]:
    """Let rules that were made of leaves end where their leaves end."""
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
    return RuleSet(closed, rules.space, rules.classes), Box(lower, upper)
