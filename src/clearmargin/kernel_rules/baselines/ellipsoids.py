"""Ellipsoids around prototypes, with the support vectors that lie farthest out as the ends of their axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, Value, as_points, float_array

__all__ = ["Ellipsoid", "axes_to_vectors"]

# Axes shorter than this share of the longest are rounding.
_DUST = 1e-9
# Semi-axis of an ellipsoid around a single point, in shares of the ranges of the columns.
_THINNEST = 1e-6
# A point on the surface is inside, whatever rounding says.
_SURFACE = 1e-9


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Ellipsoid(Value):
    """An ellipsoid and the class that is said on it: an equation rule.

    Parameters
    ----------
    centre : array-like of shape (n,)
        The prototype.
    axes : array-like of shape (n, n)
        One semi-axis a row: the ellipsoid is the set of points centre + t_1 axes_1 + ... + t_n axes_n with |t| <= 1.
    label : str, int, float or bool
        The class.

    Examples
    --------
    >>> round_one = Ellipsoid([1.0, 0.0], [[2.0, 0.0], [0.0, 1.0]], "yes")
    >>> round_one.contains([[3.0, 0.0], [3.0, 0.5]])
    array([ True, False])
    >>> round_one
    Ellipsoid(centre=[1.0, 0.0], label='yes')
    """

    centre: FloatArray
    axes: FloatArray
    label: Label

    def __init__(self, centre: ArrayLike, axes: ArrayLike, label: Label):
        middle = float_array(centre, "centre of an ellipsoid")
        if middle.ndim != 1 or not len(middle):
            raise InvalidValueError(
                f"the centre of an ellipsoid is one point, not of shape {middle.shape}"
            )
        table = float_array(axes, "axes of an ellipsoid", shape=(len(middle), len(middle)))
        if not (np.isfinite(middle).all() and np.isfinite(table).all()):
            raise InvalidValueError("centre and axes of an ellipsoid must be finite")
        if np.linalg.matrix_rank(_directions(table)) < len(middle):
            raise InvalidValueError("the axes of an ellipsoid must be independent; one is flat")
        self._set(centre=middle, axes=table, label=label)

    def __repr__(self) -> str:
        return f"Ellipsoid(centre={self.centre.tolist()}, label={self.label!r})"

    def distance(self, points: ArrayLike) -> FloatArray:
        """How far points are from the centre, in units of the surface: 1 on it.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points.

        Returns
        -------
        ndarray of shape (m,)
            Distances, NaN for a point that is not known.
        """
        P = as_points(points, len(self.centre))
        return np.asarray(np.linalg.norm(np.linalg.solve(self.axes.T, (P - self.centre).T), axis=0))

    def contains(self, points: ArrayLike) -> BoolArray:
        """Tell for each point whether it is inside or on the surface.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points; one with a NaN is not inside.

        Returns
        -------
        ndarray of bool of shape (m,)
            Whether it is.
        """
        return self.distance(points) <= 1.0 + _SURFACE

    @property
    def vertices(self) -> FloatArray:
        """The 2n ends of the axes."""
        return np.vstack([self.centre + self.axes, self.centre - self.axes])


def _directions(axes: FloatArray) -> FloatArray:
    """Axes of length 1: a thin ellipsoid is not a flat one."""
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    return np.asarray(axes / np.where(lengths > 0, lengths, 1.0))


def axes_to_vectors(centre: FloatArray, vectors: FloatArray) -> FloatArray:
    """Give orthogonal semi-axes that reach to the vectors farthest out.

    The first axis ends in the vector farthest from the centre. The next is what is orthogonal to the axes before of the
    vector for which that is longest, and so on: QR with column pivoting. Where vectors give no more axes, the
    missing ones have the length of the shortest found.

    Parameters
    ----------
    centre : ndarray of shape (n,)
        The centre.
    vectors : ndarray of shape (s, n)
        The vectors, in columns of comparable scale.

    Returns
    -------
    ndarray of shape (n, n)
        One semi-axis a row, the longest first.

    Examples
    --------
    >>> axes_to_vectors(np.zeros(2), np.array([[3.0, 0.0], [1.0, 2.0]])).round(6) + 0.0
    array([[3., 0.],
           [0., 2.]])
    """
    n = len(centre)
    columns = (vectors - centre).T if len(vectors) else np.zeros((n, 1))
    basis, triangle, _ = qr(columns, pivoting=True)
    signed = np.diag(triangle)
    found = np.abs(signed) > _DUST * max(np.abs(signed).max(), _THINNEST)
    lengths = np.full(n, np.abs(signed[found]).min(initial=np.inf) if found.any() else _THINNEST)
    lengths[: len(signed)][found] = signed[found]
    return np.asarray(basis.T * lengths[:, None])
