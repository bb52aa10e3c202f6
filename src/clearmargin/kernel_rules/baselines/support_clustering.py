"""Support vector clustering: clusters of any shape, bounded by where a sphere in feature space ends.

Source: Ben-Hur, Horn, Siegelmann and Vapnik, Journal of Machine Learning Research 2:125-137, 2001. With the kernel
K(x, y) = exp(-q ||x - y||^2) the smallest sphere around the images of the points is found. Back in the space of the
points it is a region {x : R(x) <= R} of one or more parts. Two points belong together when R is not exceeded on the
segment between them; clusters are the connected components. Points outside (at the bound, at most about a share p of
all) join the nearest cluster.

K(x, x) is 1 everywhere, so R(x) <= R exactly where the decision function of a one-class support vector machine with
gamma = q and nu = p is not negative: that machine is what is trained. Equal points count as one point with a weight.

The finer the scale (the larger q), the more parts there are and the more of the points become support vectors. The
scale starts at q = 1 / max ||x_i - x_j||^2 and doubles; as in the paper, the number of support vectors says when to
stop: a boundary made of many points is rough, and its parts mean little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist
from sklearn.svm import OneClassSVM

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, as_points
from clearmargin.tables.validation import check_positive, check_whole

__all__ = ["SupportClusters", "support_clusters"]

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
    """The largest distance, or for many points the diagonal of the box around them, which is at least that."""
    if len(points) <= 2_000:
        return float(pdist(points).max(initial=0.0))
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def _train(points: FloatArray, counts: IntArray, q: float, outliers: float) -> OneClassSVM:
    machine = OneClassSVM(kernel="rbf", gamma=q, nu=outliers, tol=_TOLERANCE)
    return machine.fit(points, sample_weight=counts.astype(np.float64))


def _choose(
    points: FloatArray, counts: IntArray, start: float, outliers: float, max_support: float
) -> tuple[float, OneClassSVM]:
    """The finest scale of a doubling sequence before support vectors are too many; at least the first."""
    q, machine = start, _train(points, counts, start, outliers)
    for _ in range(_DOUBLINGS):
        finer = _train(points, counts, 2 * q, outliers)
        if len(finer.support_) > max_support * len(points):
            break
        q, machine = 2 * q, finer
    return q, machine


def _heights(machine: OneClassSVM, points: FloatArray) -> FloatArray:
    """The decision function; one matrix product is faster than the machine's own sum point by point."""
    vectors, q = machine.support_vectors_, machine.gamma
    heights = np.empty(len(points))
    norms = (vectors**2).sum(axis=1)
    step = max(1, _CHUNK // len(vectors))
    for start in range(0, len(points), step):
        some = points[start : start + step]
        squares = (some**2).sum(axis=1)[:, None] + norms - 2.0 * (some @ vectors.T)
        heights[start : start + step] = (
            np.exp(-q * np.maximum(squares, 0.0)) @ machine.dual_coef_[0]
        )
    heights += machine.intercept_[0]
    return heights


def _parts(machine: OneClassSVM, points: FloatArray, samples: int) -> tuple[IntArray, BoolArray]:
    """The connected component of each point, and whether it lies outside."""
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
    """Pairs of points whose segments are tried."""
    m = tree.n
    if m <= _ALL_PAIRS:
        a, b = np.triu_indices(m, 1)
        return a.astype(np.intp), b.astype(np.intp)
    nearest = np.asarray(tree.query(tree.data, k=_NEAREST + 1)[1])[:, 1:].ravel()
    point = np.repeat(np.arange(m), _NEAREST)
    pairs = np.unique(np.minimum(point, nearest) * m + np.maximum(point, nearest))
    return (pairs // m).astype(np.intp), (pairs % m).astype(np.intp)


def _within(machine: OneClassSVM, starts: FloatArray, ends: FloatArray, samples: int) -> BoolArray:
    """Whether the segments stay in the sphere, as far as some of their points tell."""
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
