"""Rules of a surrogate that learned what a model says (Barakat and Diederich; ALBA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier

from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.surrogate_samples import near_support, near_training, seen_columns
from clearmargin.kernel_rules.tree_boxes import close_gaps, tree_boxes
from clearmargin.rule_base.base import KernelRules
from clearmargin.rule_base.box_selection import greedy_cover, prune_subsets
from clearmargin.rule_base.shaping import shorten, tune
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes, read_support
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.validation import check_choice, check_whole

__all__ = ["SurrogateRules"]

# The tree grows past the leaves wanted and is cut back where that costs least: greedy growth alone ends in bad places.
_SPARE_LEAVES = 4
# Boxes that start at more rows than this add little and cost much.
_MOST_ANCHORS = 100


class SurrogateRules(KernelRules):
    """Interval rules of a surrogate: a decision tree, or a cover of boxes, that learned what the model says.

    Any classifier will do, since it is asked for predictions only. The rows that the surrogate learns from are the
    support vectors (Barakat and Diederich 2004), the training rows, or the training rows and rows drawn close to
    the support vectors, where the model changes its mind (ALBA, Martens, Baesens and Van Gestel 2009). The model gives
    all of them their class. Columns that make no difference to the model when they are shuffled are not used.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier for `method="train"` and `"local"`, else one with support vectors. A fitted one is used as it is.
        By default an `SVC` behind a `StandardScaler`.
    method : {"alba", "svs", "train", "local"}, default "alba"
        The rows to learn from: training rows and rows near support vectors; the support vectors that the model
        classifies rightly; the training rows; training rows and rows between and around them.
    learner : "tree", "boxes" or DecisionTreeClassifier, default "tree"
        What learns: a tree, each leaf of which is a rule; boxes around training rows, cut until they hold no row
        of another class, as many as are needed to cover all; or a tree of your own.
    n_generated : int, default 5000
        How many rows are drawn for "alba" and "local". All of them together weigh as much as the training rows.
    max_leaves : int, optional
        Most leaves of a tree, that is, rules; 16 by default, and as many as it has for a tree of your own.
    by : {"model", "labels"}, default "model"
        Whether training rows have the class that the model says or their label.
    min_coverage : int, default 1
        Rules that cover fewer training rows are dropped.
    max_rules : int, optional
        Most rules for each class.
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
        The rules, the surest first.
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "alba",
        learner: Any = "tree",
        n_generated: int = 5000,
        max_leaves: int | None = None,
        by: str = "model",
        min_coverage: int = 1,
        max_rules: int | None = None,
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("method", self.method, ("alba", "svs", "train", "local"))
        check_whole("n_generated", self.n_generated, 1)
        if self.max_leaves is not None:
            check_whole("max_leaves", self.max_leaves, 2)
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
        """The rows to learn from, their classes and what they weigh."""
        if self.method == "svs":
            support = read_support(task, X, trained_here=self._trained_here)
            said = task.ask(support.points)
            right = said == support.codes
            # A machine may get all its support vectors wrong; then all of them have to do.
            kept = right if right.any() else np.ones_like(right)
            return support.points[kept], said[kept], np.ones(int(kept.sum()))
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
            most = 16 if most is None else most
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
    """Boxes around rows of each class that hold no row of another one, and that together cover their class."""
    found, labels = [], []
    for k in np.unique(codes).tolist():
        own = np.flatnonzero(codes == k)
        # Heavy rows, those of the training table, come first.
        shuffled = own[task.random.permutation(len(own))]
        start = rows[shuffled[np.argsort(-weights[shuffled], kind="stable")][:_MOST_ANCHORS]]
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
