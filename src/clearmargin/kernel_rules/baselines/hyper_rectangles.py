"""Rules from boxes that grow around prototypes, support vector by support vector (hyper-rectangle expansion).

**Support vector clustering** (`support_clusters`) gives clusters of any shape, bounded by where a sphere in feature
space ends. Source: Ben-Hur, Horn, Siegelmann and Vapnik, Journal of Machine Learning Research 2:125-137, 2001. With the
kernel K(x, y) = exp(-q ||x - y||^2) the smallest sphere around the images of the points is found. Back in the space of
the points it is a region {x : R(x) <= R} of one or more parts. Two points belong together when R is not exceeded on the
segment between them; clusters are the connected components. Points outside (at the bound, at most about a share p of
all) join the nearest cluster.

K(x, x) is 1 everywhere, so R(x) <= R exactly where the decision function of a one-class support vector machine with
gamma = q and nu = p is not negative: that machine is what is trained. Equal points count as one point with a weight.

The finer the scale (the larger q), the more parts there are and the more of the points become support vectors. The
scale starts at q = 1 / max ||x_i - x_j||^2 and doubles; as in the paper, the number of support vectors says when to
stop: a boundary made of many points is rough, and its parts mean little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from sklearn.svm import OneClassSVM

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.support_rows import RangeScale, usable_support
from clearmargin.kernel_rules.box_extractor import BoxExtractor
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, SupportVectors
from clearmargin.rule_base.box_selection import tidy_boxes
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.options import Option, PositiveNumber, Share, WholeNumber
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, as_points
from clearmargin.tables.validation import check_positive, check_whole

__all__ = ["HyperRectangleRules", "SupportClusters", "grow_hyper_rectangle", "support_clusters"]


class HyperRectangleRules(BoxExtractor):
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
        Whether rules follow what the model predicts or the labels.
    min_coverage : int or "auto", default "auto"
        Rules that cover fewer training points are dropped; with "auto" those whose share of their class cannot be told
        from that among all rows, by an exact test at 5 % (5 rows of a class with half of all rows, 29 of one with nine
        in ten). A class all of whose rules lack that keeps one.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
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
    budget_ : RuleBudget
        What the rules cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
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

    _options: ClassVar[Mapping[str, Option]] = {
        **BoxExtractor._options,
        "q": PositiveNumber(optional=True),
        "outliers": Share(zero=False),
        "n_prototypes": WholeNumber(1, optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        by: str = "model",
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
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
        class_points = task.points[task.codes == code]
        clusters = support_clusters(scale.shares(class_points), self.q, outliers=self.outliers)
        self.n_clusters_[task.classes[code]] = clusters.n_clusters
        vectors = support.points[support.codes == code]
        homes = clusters.labels[_nearest(scale.shares(vectors), scale.shares(class_points))]
        foreign = np.vstack(
            [task.points[task.codes != code], support.points[support.codes != code]]
        )
        is_free = ~_among(class_points, foreign)
        boxes: list[tuple[FloatArray, FloatArray]] = []
        for cluster in range(clusters.n_clusters):
            members = class_points[(clusters.labels == cluster) & is_free]
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
    """Return the position of the nearest of the others for each point."""
    return np.asarray(cKDTree(others).query(points)[1], dtype=np.intp)


def _among(points: FloatArray, others: FloatArray) -> BoolArray:
    """Return which points coincide with one of the others."""
    rows = np.vstack([others, points])
    _, place = np.unique(rows, axis=0, return_inverse=True)
    place = place.ravel()
    return np.isin(place[len(others) :], place[: len(others)])


# The precision of the machine, and twice that as the height from which a point counts as outside.
_TOLERANCE = 1e-4
_SLACK = 2e-4
# All pairs are tried up to so many points; of more, each point with so many of its nearest.
_ALL_PAIRS, _NEAREST = 200, 12
# Kernel values computed at a time, 2 MB: they stay in cache.
_CHUNK = 1 << 18
# After so many doublings 1/sqrt(q) is a thousandth of the diameter.
_DOUBLINGS = 20


class SupportClusters(NamedTuple):
    """Clusters found.

    Parameters
    ----------
    labels : ndarray of int of shape (m,)
        The cluster of each point, counted from 0, the largest first.
    outliers : ndarray of bool of shape (m,)
        Points outside of the sphere, which joined the cluster of the nearest point inside.
    q : float
        The scale of the kernel.
    support_share : float
        The share of distinct points that are support vectors.

    Examples
    --------
    >>> support_clusters([[0.0], [0.1], [0.2], [5.0], [5.1]], q=1.0).labels.tolist()
    [0, 0, 0, 1, 1]
    """

    labels: IntArray
    outliers: BoolArray
    q: float
    support_share: float

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.labels.max()) + 1


def support_clusters(
    points: ArrayLike,
    q: float | None = None,
    *,
    outliers: float = 0.05,
    max_support: float = 0.25,
    samples: int = 12,
) -> SupportClusters:
    """Cluster points by the smallest sphere around them in feature space.

    Parameters
    ----------
    points : array-like of shape (m, n)
        Finite points, in columns of comparable scale.
    q : float, optional
        Scale of the kernel exp(-q d^2). None doubles it from 1 / (largest distance)^2 as long as the share of
        distinct points that are support vectors is at most `max_support`, and keeps the last.
    outliers : float, default 0.05
        The share of points that may stay outside, between 0 and 1.
    max_support : float, default 0.25
        See `q`.
    samples : int, default 12
        How many points of a segment are tried.

    Returns
    -------
    SupportClusters
        The cluster of each point.

    Examples
    --------
    >>> ring = np.array([[np.cos(t), np.sin(t)] for t in np.arange(0.0, 6.2, 0.1)])
    >>> found = support_clusters(np.vstack([ring, 4 * ring]), q=2.0)
    >>> found.n_clusters, np.bincount(found.labels).tolist()
    (2, [62, 62])
    """
    P = _checked(points, outliers, max_support)
    check_whole("samples", samples, 1)
    if q is not None:
        check_positive("q", q)
    distinct, place, counts = np.unique(P, axis=0, return_inverse=True, return_counts=True)
    place = place.ravel()
    widest = _widest(distinct)
    if widest == 0:
        return SupportClusters(np.zeros(len(P), np.intp), np.zeros(len(P), np.bool_), 1.0, 1.0)
    if q is None:
        q, machine = _choose(distinct, counts, 1.0 / widest**2, outliers, max_support)
    else:
        machine = _train(distinct, counts, q, outliers)
    parts, outside = _parts(machine, distinct, samples)
    labels = _largest_first(parts[place])
    return SupportClusters(labels, outside[place], q, len(machine.support_) / len(distinct))


def _checked(points: ArrayLike, outliers: float, max_support: float) -> FloatArray:
    given = np.asarray(points, dtype=np.float64)
    if given.ndim != 2 or not len(given):
        raise DataError(f"points must be a table with at least one row, not of shape {given.shape}")
    P = as_points(given, given.shape[1])
    if not np.isfinite(P).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(P))[0])
        raise DataError(
            f"points must be finite, but row {row + 1}, column 'x{column}' is {P[row, column]}"
        )
    for name, value in (("outliers", outliers), ("max_support", max_support)):
        if not 0 < value < 1:
            raise InvalidValueError(f"{name} must be a share between 0 and 1, not {value!r}")
    return P


def _widest(points: FloatArray) -> float:
    """Return the largest distance, or for many points the diagonal of the box around them, which is at least that."""
    if len(points) <= 2_000:
        return float(pdist(points).max(initial=0.0))
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def _train(points: FloatArray, counts: IntArray, q: float, outliers: float) -> OneClassSVM:
    machine = OneClassSVM(kernel="rbf", gamma=q, nu=outliers, tol=_TOLERANCE)
    return machine.fit(points, sample_weight=counts.astype(np.float64))


def _choose(
    points: FloatArray, counts: IntArray, start: float, outliers: float, max_support: float
) -> tuple[float, OneClassSVM]:
    """Return the finest scale of a doubling sequence before support vectors are too many; at least the first."""
    q, machine = start, _train(points, counts, start, outliers)
    for _ in range(_DOUBLINGS):
        finer = _train(points, counts, 2 * q, outliers)
        if len(finer.support_) > max_support * len(points):
            break
        q, machine = 2 * q, finer
    return q, machine


def _heights(machine: OneClassSVM, points: FloatArray) -> FloatArray:
    """Return the decision function; one matrix product is faster than the machine's own sum point by point."""
    vectors, q = machine.support_vectors_, machine.gamma
    heights = np.empty(len(points))
    norms = (vectors**2).sum(axis=1)
    step = max(1, _CHUNK // len(vectors))
    for start in range(0, len(points), step):
        chunk = points[start : start + step]
        squares = (chunk**2).sum(axis=1)[:, None] + norms - 2.0 * (chunk @ vectors.T)
        heights[start : start + step] = (
            np.exp(-q * np.maximum(squares, 0.0)) @ machine.dual_coef_[0]
        )
    heights += machine.intercept_[0]
    return heights


def _parts(machine: OneClassSVM, points: FloatArray, samples: int) -> tuple[IntArray, BoolArray]:
    """Return the connected component of each point, and whether it lies outside."""
    outside = _heights(machine, points) < -_SLACK
    if outside.all():
        outside[:] = False
    inside = np.flatnonzero(~outside)
    tree = cKDTree(points[inside])
    a, b = _pairs(tree)
    joined = _within(machine, points[inside[a]], points[inside[b]], samples)
    m = len(inside)
    graph = coo_array((np.ones(joined.sum()), (a[joined], b[joined])), shape=(m, m))
    parts = np.empty(len(points), dtype=np.intp)
    parts[inside] = connected_components(graph, directed=False)[1]
    if outside.any():
        parts[outside] = parts[inside[tree.query(points[outside])[1]]]
    return parts, outside


def _pairs(tree: cKDTree) -> tuple[IntArray, IntArray]:
    """Choose pairs of points whose segments are tried."""
    m = tree.n
    if m <= _ALL_PAIRS:
        a, b = np.triu_indices(m, 1)
        return a.astype(np.intp), b.astype(np.intp)
    nearest = np.asarray(tree.query(tree.data, k=_NEAREST + 1)[1])[:, 1:].ravel()
    point = np.repeat(np.arange(m), _NEAREST)
    pairs = np.unique(np.minimum(point, nearest) * m + np.maximum(point, nearest))
    return (pairs // m).astype(np.intp), (pairs % m).astype(np.intp)


def _within(machine: OneClassSVM, starts: FloatArray, ends: FloatArray, samples: int) -> BoolArray:
    """Check whether the segments stay in the sphere, as far as some of their points tell."""
    shares = np.arange(1, samples + 1) / (samples + 1)
    within = np.ones(len(starts), dtype=np.bool_)
    # The middle is where a segment is most likely to leave; what has left needs no further look.
    for share in shares[np.argsort(np.abs(shares - 0.5), kind="stable")]:
        left = np.flatnonzero(within)
        between = starts[left] + share * (ends[left] - starts[left])
        within[left] = _heights(machine, between) >= -_SLACK
    return within


def _largest_first(parts: IntArray) -> IntArray:
    _, first, place, counts = np.unique(
        parts, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.empty(len(counts), dtype=np.intp)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return rank[place.ravel()]
