"""Rules around the support vectors of a kernel machine (RulExSVM)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.svm import OneClassSVM

from clearmargin.exceptions import DataError
from clearmargin.kernel_rules.box_extractor import BoxExtractor
from clearmargin.kernel_rules.crossings import nearest_crossings
from clearmargin.kernel_rules.growth import prove_boxes
from clearmargin.models.fitted import innermost, is_fitted
from clearmargin.models.kernel_machine import KernelMachine, read_machine
from clearmargin.rule_base.box_choice import greedy_cover, prune_subsets
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.options import Option, WholeNumber
from clearmargin.rule_base.shaping import shorten, tune
from clearmargin.rule_base.training import check_not_empty, taken_by
from clearmargin.rules import Box
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.encoding import Encoding
from clearmargin.tables.validation import naming_columns

# Every box is compared with all points, and with more points there are more boxes: 20,000 took half a minute.
_MOST_POINTS = 10_000
# All columns of all boxes are tried for each cut; 1,000 took 15 seconds with 500 points.
_MOST_COLUMNS = 1_000


class SupportVectorRules(BoxExtractor):
    """Interval rules around the support vectors of a kernel machine.

    The method of Fu, Ong, Keerthi, Hung and Goh (RulExSVM, IJCNN 2004): from each support vector one walks along each
    axis until the decision surface is crossed; the crossings make a box. Further boxes start at the training points
    that these leave uncovered. Boxes that hold training points of
    another class are cut until they do not (*tuning*), boxes whose points another box of the class covers as well are
    left out (*pruning*), and bounds that keep no point of another class out are dropped (*shortening*). Crossings
    are found on a grid. Of more than 10,000 training points, boxes
    are made and shaped against about as many, drawn by their values; what the rules cover is counted on all. More
    than 1,000 columns are refused.

    Parameters
    ----------
    estimator : classifier, optional
        An `SVC` or `NuSVC` with a linear, polynomial or RBF kernel, bare or at the end of a pipeline of
        scalers, selections and one-hot encoders. A fitted one is used as it is. By default an `SVC` behind a
        `StandardScaler`, trained on about 3,000 rows where there are more.
    certify : bool, default False
        Whether boxes are shrunk until the model is proved to give their class everywhere in them. Such rules carry
        `proof="proved"`; those for which no proof was found within the budget are left out.
    budget : int, default 2000
        Maximum number of boxes that a single proof may look at.
    min_coverage : int or "auto", default "auto"
        Rules that cover fewer training points are dropped; with "auto" those whose share of their class cannot be told
        from that among all rows, by an exact test at 5 % (5 rows of a class with half of all rows, 29 of one with nine
        in ten). A class all of whose rules lack that keeps one.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
    fallback : "nearest", "estimator", "abstain" or a class, default "nearest"
        What to predict where no rule fires: the class of the nearest box, what the model predicts, None, or always the
        same class.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    rules_ : RuleSet
        The rules, those with the highest confidence first; the first one that covers a case decides.
    budget_ : RuleBudget
        What the rules cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
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
    certify : Proves a single box.
    RuleExtractor : Exact rules of linear classifiers.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> rules = SupportVectorRules().fit(X, y)
    >>> float(rules.score(X, y)) > 0.95
    True
    """

    _options: ClassVar[Mapping[str, Option]] = {
        **BoxExtractor._options,
        "budget": WholeNumber(1),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        certify: bool = False,
        budget: int = 2000,
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
        fallback: Any = "nearest",
    ):
        self.estimator = estimator
        self.certify = certify
        self.budget = budget
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.fallback = fallback

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table, as the model takes it, or what `clearmargin.scan` gives, with its classes: of more than 10,000
            rows a sample is taken (`n_sampled_rows_`), and the rules are counted on all rows.
        y : array-like of shape (m,), optional
            The classes. A one-class machine knows none: there the model's own word, 1 or -1, is the label.
        **params : dict
            More arguments of the model's `fit`, where it is to be trained.

        Returns
        -------
        SupportVectorRules
            The fitted extractor.
        """
        super().fit(X, y, **params)
        return self

    def _train(self, X: Any, y: Any, params: dict[str, Any]) -> NDArray[Any]:
        if not isinstance(innermost(self.estimator), OneClassSVM):
            return super()._train(X, y, params)
        check_not_empty(X)
        self._trained_here = not is_fitted(self.estimator)
        with naming_columns(X, self.estimator):
            model = self.estimator
            if self._trained_here:
                model = clone(model).fit(taken_by(model, X), **params)
        self.estimator_, self.classes_ = model, np.array([-1, 1])
        return self._predicted(X)

    def _read_encoding(self, X: Any) -> Encoding:
        self._machine = read_machine(self.estimator_, X)
        columns = len(self._machine.source)
        if columns > _MOST_COLUMNS:
            raise DataError(
                f"the machine looks at {columns:,} columns, and boxes around support vectors are made over at most "
                f"{_MOST_COLUMNS:,}; choose features in its pipeline, make_pipeline(SelectKBest(k=50), SVC()), or take "
                "SurrogateRules"
            )
        return self._machine.encoding

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        machine, task = self._machine, task.sampled(_MOST_POINTS)
        starts = machine.support_points(np.median(task.points, axis=0))
        found = _boxes_around(machine, task, starts)
        covered = (found.boxes.contains(task.points) & (found.codes[:, None] == task.codes)).any(
            axis=0
        )
        more = _boxes_around(machine, task, task.points[~covered])
        lower = np.vstack([found.boxes.lower, more.boxes.lower])
        upper = np.vstack([found.boxes.upper, more.boxes.upper])
        boxes = Box(lower, upper)
        found = _without_idle(task, boxes, np.concatenate([found.codes, more.codes]))
        if not len(found.boxes):
            raise DataError(
                "no support vector lies on the side of its class, so that there is no box to start from"
            )
        if not self.certify:
            return found
        proved = prove_boxes(machine, task, found, self.budget)
        kept = _without_idle(task, proved.boxes, proved.codes)
        return FoundBoxes(kept.boxes, kept.codes, np.ones(len(kept.codes), dtype=np.bool_))


def _boxes_around(machine: KernelMachine, task: ExtractionTask, starts: FloatArray) -> FoundBoxes:
    """Make boxes of the nearest crossings around some points, and tune, shorten and select them."""
    boxes, codes, anchors = _initial_boxes(machine, task, starts)
    if len(boxes):
        boxes, kept = tune(boxes, anchors, task.points, task.codes, codes)
        codes = codes[kept]
    if len(boxes):
        boxes = shorten(boxes, task.points, task.codes, codes, task.lower, task.upper)
    return _without_idle(task, boxes, codes)


def _without_idle(task: ExtractionTask, boxes: Box, codes: IntArray) -> FoundBoxes:
    """Leave out boxes that add nothing: those whose points another one of the class covers, and by a greedy cover."""
    if not len(boxes):
        return FoundBoxes.observed(boxes, codes)
    covers = boxes.contains(task.points)
    kept = prune_subsets(covers, codes, boxes.n_conditions)
    boxes, codes, covers = boxes[kept], codes[kept], covers[kept]
    chosen = greedy_cover(covers, codes, task.codes, sizes=boxes.n_conditions)
    return FoundBoxes.observed(boxes[chosen], codes[chosen])


def _initial_boxes(
    machine: KernelMachine, task: ExtractionTask, starts: FloatArray
) -> tuple[Box, IntArray, FloatArray]:
    """Make the boxes of the nearest crossings (Algorithm 2 of the SVM-tree paper), each with class and anchor."""
    n = len(machine.encoding.columns)
    Z = machine.to_machine(starts)
    ends = machine.to_machine(np.stack([task.lower, task.upper]))
    low, high = ends.min(axis=0), ends.max(axis=0)
    limits, codes, rows = [], [], []
    for k in range(len(machine.classes)):
        function = machine.region(k)
        inside = np.flatnonzero((function.values(Z) > 0).all(axis=1))
        if not len(inside):
            continue
        anchors = Z[inside]
        least, most = np.minimum(low, anchors.min(axis=0)), np.maximum(high, anchors.max(axis=0))
        found = nearest_crossings(function, anchors, least, most)
        moved = (np.stack(found) - machine.shift) / machine.scale
        box = np.full((2, len(inside), n), np.inf)
        box[0] = -np.inf
        box[0][:, machine.source], box[1][:, machine.source] = moved.min(axis=0), moved.max(axis=0)
        # Back and forth between units may move a crossing past its anchor by an ulp.
        box[0] = np.minimum(box[0], starts[inside])
        box[1] = np.maximum(box[1], starts[inside])
        limits.append(box)
        codes.append(np.full(len(inside), k, dtype=np.intp))
        rows.append(inside)
    if not limits:
        return Box.stack([], n), np.empty(0, dtype=np.intp), np.empty((0, n))
    lower, upper = np.concatenate(limits, axis=1)
    return Box(lower, upper), np.concatenate(codes), starts[np.concatenate(rows)]
