"""Ways to cut scaled points into cells: K-means, the evolving clustering method (ECM), every point by itself.

A partition is known by its centres alone; a point belongs to the nearest one. The scale says how fine it is. For
K-means it is the number of centres: start at 2, then ceil(1.5 K). For ECM it is the distance threshold Dthr: start
at 0.9, take 0.1 away, and halve it below 0.1, where nothing is left to take away. Both end with every distinct
point as a centre of its own; there is nothing finer, so that whoever refines the scale comes to an end.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clearmargin.rules.value import FloatArray

__all__ = ["EcmPartition", "KMeansPartition", "Partition", "ecm_centres"]

# ECM looks at so many points together to find the next one that changes a cluster.
_BLOCK = 256
# Clusters narrower than a thousandth of the training range are as good as single points.
_FINEST_THRESHOLD = 1e-3
# Relative size of what repeated subtraction of 0.1 leaves behind.
_DUST = 1e-9


@dataclass(frozen=True, slots=True)
class KMeansPartition:
    """K-means with K centres (Lloyd's algorithm from one k-means++ start).

    Parameters
    ----------
    scale : int
        Number of centres.

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> sorted(KMeansPartition(2).centres(points, 4, np.random.RandomState(0)).ravel().round(2).tolist())
    [0.05, 0.95]
    >>> KMeansPartition(2).refined()
    KMeansPartition(scale=3)
    """

    scale: float

    def centres(
        self, points: FloatArray, n_distinct: int, rng: np.random.RandomState
    ) -> FloatArray | None:
        """Cut the points; None when this is no coarser than every distinct point by itself."""
        if self.scale >= n_distinct:
            return None
        with warnings.catch_warnings():
            # Points that differ by rounding alone may end in the same place.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means = KMeans(int(self.scale), n_init=1, random_state=rng).fit(points)
        # A mean may leave the range of its points by rounding.
        return np.asarray(np.clip(means.cluster_centers_, points.min(axis=0), points.max(axis=0)))

    def refined(self) -> KMeansPartition:
        """The next finer scale."""
        return KMeansPartition(math.ceil(1.5 * self.scale))


@dataclass(frozen=True, slots=True)
class EcmPartition:
    """The evolving clustering method with threshold Dthr; the points are taken in their order.

    Parameters
    ----------
    scale : float
        Dthr, the largest radius of a cluster on data scaled to [0, 1].

    Examples
    --------
    >>> points = np.array([[0.0], [0.1], [0.9], [1.0]])
    >>> EcmPartition(0.1).centres(points, n_distinct=4)
    array([[0.05],
           [0.95]])
    >>> EcmPartition(0.9).refined(), EcmPartition(0.1).refined()
    (EcmPartition(scale=0.8), EcmPartition(scale=0.05))
    """

    scale: float

    def centres(
        self, points: FloatArray, n_distinct: int, rng: np.random.RandomState | None = None
    ) -> FloatArray | None:
        """Cut the points; None when this is no coarser than every distinct point by itself."""
        if self.scale < _FINEST_THRESHOLD:
            return None
        centres, _ = ecm_centres(points, self.scale)
        return centres if len(centres) < n_distinct else None

    def refined(self) -> EcmPartition:
        """The next finer scale."""
        lower = round(self.scale - 0.1, 12)
        return EcmPartition(lower if lower > _DUST else self.scale / 2)


Partition = KMeansPartition | EcmPartition


def ecm_centres(points: FloatArray, threshold: float) -> tuple[FloatArray, FloatArray]:
    """Run the evolving clustering method once over the points (Kasabov and Song, 2002).

    Distances are Euclidean, divided by the square root of the number of features. A point inside a cluster (D_j <=
    R_j) changes nothing. Otherwise, with S_j = D_j + R_j and a = argmin S_j: if S_a > 2 Dthr the point becomes a
    new cluster of radius 0; else cluster a grows just so far that it holds the point, R_a = S_a / 2, and its centre
    moves towards it, to distance R_a. So no radius ever exceeds Dthr. The grown ball holds the old one, thus a
    point inside stays inside, and only points that change something need a step of their own.

    Parameters
    ----------
    points : ndarray of shape (m, n)
        Points scaled to [0, 1], at least one.
    threshold : float
        Dthr.

    Returns
    -------
    centres : ndarray of shape (K, n)
        Centres of the clusters in the order in which they came up.
    radii : ndarray of shape (K,)
        Their radii, at most Dthr.

    Examples
    --------
    >>> ecm_centres(np.array([[0.0], [0.2], [1.0]]), 0.1)
    (array([[0.1], [1. ]]), array([0.1, 0. ]))
    """
    m, n = points.shape
    centres, radii = np.empty_like(points), np.zeros(m)
    count, norm = 0, math.sqrt(n)
    for start in range(0, m, _BLOCK):
        block = points[start : start + _BLOCK]
        table = _distances(block, centres[:count], norm)
        inside = np.asarray((table <= radii[:count]).any(axis=1))
        i = int(np.argmin(inside))
        while not inside[i]:
            point = block[i]
            changed = count
            if count:
                distances = np.sqrt(((centres[:count] - point) ** 2).sum(axis=1)) / norm
                reach = distances + radii[:count]
                a = int(np.argmin(reach))
                if reach[a] <= 2 * threshold:
                    changed = a
                    radii[a] = reach[a] / 2
                    centres[a] = point + (centres[a] - point) * (radii[a] / distances[a])
            if changed == count:
                centres[count] = point
                count += 1
            # The point itself is held now, whatever rounding says.
            inside[i] = True
            later = slice(i + 1, None)
            moved = centres[changed : changed + 1]
            inside[later] |= _distances(block[later], moved, norm)[:, 0] <= radii[changed]
            i = int(np.argmin(inside))
    return centres[:count].copy(), radii[:count].copy()


def _distances(points: FloatArray, centres: FloatArray, norm: float) -> FloatArray:
    total = np.zeros((len(points), len(centres)))
    for feature in range(points.shape[1]):
        total += (points[:, feature, None] - centres[None, :, feature]) ** 2
    return np.asarray(np.sqrt(total) / norm)
