"""Rules from boxes that grow around prototypes, support vector by support vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.support_clustering import support_clusters
from clearmargin.kernel_rules.baselines.support_rows import RangeScale, usable_support
from clearmargin.rule_base.base import KernelRules
from clearmargin.rule_base.box_selection import tidy_boxes
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes, SupportVectors
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.validation import check_positive, check_whole

__all__ = ["HyperRectangleRules", "grow_hyper_rectangle"]


class HyperRectangleRules(KernelRules):
    """Rules of a support vector machine by hyper-rectangle expansion (HRE).

    Each class is clustered by support vector clustering. Around a prototype of each cluster a box grows: it takes in
    the nearest support vector of the class and cluster, then the next, and stops before it covers a training point or
    support vector of another class. While points of the cluster stay uncovered, another prototype is taken among them.

    Parameters
    ----------
    estimator : classifier, optional
        A support vector machine with any kernel function, bare or in a pipeline; fitted, or trained here. None is
        an `SVC` on standardised columns.
    by : {"model", "labels"}, default "model"
        Whether rules follow what the model says or the labels.
    min_coverage : int, default 1
        Boxes that cover fewer training points are left out: what controls the number of rules.
    max_rules : int, optional
        Most rules of each class.
    fallback : {"nearest", "estimator", "abstain"} or class, default "nearest"
        Who decides where no rule covers a case.
    q : float, optional
        Scale of the kernel of the clustering, in shares of the ranges of the columns; see `support_clusters`.
    outliers : float, default 0.05
        The share of a class that may stay outside of its clusters; such points join the nearest one.
    n_prototypes : int or None, default None
        Most prototypes of a cluster: 1 as published, None as many as it takes to cover the cluster.
    shorten : bool, default True
        Whether bounds that exclude no training point of another class are dropped, and boxes that then add nothing.

    Attributes
    ----------
    rules_ : RuleSet
        The rules. None covers a training point of another class.
    estimator_ : classifier
        The model.
    n_clusters_ : dict
        The number of clusters of each class.
    classes_, n_features_in_, feature_names_in_, space_
        As usual.

    References
    ----------
    Zhang, Su, Jia and Chu, PAKDD 2005, LNAI 3518:61-70.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> from clearmargin.kernel_rules.baselines.hyper_rectangles import HyperRectangleRules
    >>> X, y = load_wbc(return_X_y=True)
    >>> rules = HyperRectangleRules(min_coverage=5).fit(X, y)
    >>> bool(rules.score(X, y) > 0.93)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        by: str = "model",
        min_coverage: int = 1,
        max_rules: int | None = None,
        fallback: Any = "nearest",
        q: float | None = None,
        outliers: float = 0.05,
        n_prototypes: int | None = None,
        shorten: bool = True,
    ):
        self.estimator = estimator
        self.by = by
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.fallback = fallback
        self.q = q
        self.outliers = outliers
        self.n_prototypes = n_prototypes
        self.shorten = shorten

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.q is not None:
            check_positive("q", self.q)
        if not 0 < check_positive("outliers", self.outliers) < 1:
            raise InvalidValueError(
                f"outliers must be a share between 0 and 1, not {self.outliers!r}"
            )
        if self.n_prototypes is not None:
            check_whole("n_prototypes", self.n_prototypes, 1)

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        support = usable_support(task, X, trained_here=self._trained_here, by=self.by)
        self.n_clusters_: dict[Any, int] = {}
        found, codes = [], []
        for code in np.unique(task.codes):
            boxes = self._class_boxes(task, support, int(code))
            found += boxes
            codes += [int(code)] * len(boxes)
        if not found:
            raise DataError(
                "every point coincides with a point of another class, so no box holds one class alone"
            )
        packed = Boxes.from_bounds(*(np.array(ends) for ends in zip(*found, strict=True)))
        return tidy_boxes(task, packed, np.array(codes, dtype=np.intp), shorten=self.shorten)

    def _class_boxes(
        self, task: ExtractionTask, support: SupportVectors, code: int
    ) -> list[tuple[FloatArray, FloatArray]]:
        scale = RangeScale.of(task.points)
        own = task.points[task.codes == code]
        clusters = support_clusters(scale.shares(own), self.q, outliers=self.outliers)
        self.n_clusters_[task.classes[code]] = clusters.n_clusters
        vectors = support.points[support.codes == code]
        homes = clusters.labels[_nearest(scale.shares(vectors), scale.shares(own))]
        foreign = np.vstack(
            [task.points[task.codes != code], support.points[support.codes != code]]
        )
        own_free = ~_among(own, foreign)
        boxes: list[tuple[FloatArray, FloatArray]] = []
        for cluster in range(clusters.n_clusters):
            members = own[(clusters.labels == cluster) & own_free]
            boxes += self._cluster_boxes(members, vectors[homes == cluster], foreign, scale)
        return boxes

    def _cluster_boxes(
        self, members: FloatArray, vectors: FloatArray, foreign: FloatArray, scale: RangeScale
    ) -> list[tuple[FloatArray, FloatArray]]:
        boxes: list[tuple[FloatArray, FloatArray]] = []
        while len(members) and (self.n_prototypes is None or len(boxes) < self.n_prototypes):
            # A mean need not be of the class; the member nearest to it is.
            shares = scale.shares(members)
            middle = int(_nearest(shares.mean(axis=0)[None], shares)[0])
            lower, upper = grow_hyper_rectangle(members[middle], vectors, foreign, scale.reach)
            boxes.append((lower, upper))
            members = members[~((members >= lower) & (members <= upper)).all(axis=1)]
        return boxes


def grow_hyper_rectangle(
    prototype: FloatArray, vectors: FloatArray, foreign: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Grow a box around a prototype by the nearest vectors until a foreign point would be covered.

    Parameters
    ----------
    prototype : ndarray of shape (n,)
        Where the box begins; no foreign point.
    vectors : ndarray of shape (s, n)
        What it may take in.
    foreign : ndarray of shape (f, n)
        What it must not cover.
    reach : ndarray of shape (n,)
        The positive unit of each column, in which distances to the prototype are measured.

    Returns
    -------
    lower, upper : ndarray of shape (n,)
        The ends of the last box without foreign points.

    Examples
    --------
    >>> vectors, foreign = np.array([[3.0], [1.0], [-1.5]]), np.array([[2.5]])
    >>> grow_hyper_rectangle(np.array([0.0]), vectors, foreign, np.array([1.0]))
    (array([-1.5]), array([1.]))
    """
    far = (((vectors - prototype) / reach) ** 2).sum(axis=1)
    chain = np.vstack([prototype, vectors[np.argsort(far, kind="stable")]])
    lower, upper = np.minimum.accumulate(chain), np.maximum.accumulate(chain)
    # The boxes contain one another, so in each direction the first that reaches a point is found by bisection.
    entered = np.zeros(len(foreign), dtype=np.intp)
    for j in range(chain.shape[1]):
        for ends, values in ((upper[:, j], foreign[:, j]), (-lower[:, j], -foreign[:, j])):
            entered = np.maximum(entered, np.searchsorted(ends, values))
    last = int(entered.min(initial=len(chain))) - 1
    return lower[last], upper[last]


def _nearest(points: FloatArray, others: FloatArray) -> IntArray:
    """The position of the nearest of the others for each point."""
    return np.asarray(cKDTree(others).query(points)[1], dtype=np.intp)


def _among(points: FloatArray, others: FloatArray) -> BoolArray:
    """Which points coincide with one of the others."""
    rows = np.vstack([others, points])
    _, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.ravel()
    return np.isin(place[len(others) :], place[: len(others)])
