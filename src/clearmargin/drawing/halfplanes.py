"""The part of a rectangle in which a linear model gives a class, as a polygon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clearmargin.rules.value import FloatArray

__all__ = ["Extent", "boundary_segments", "class_polygons", "clip"]

# Left, right, bottom, top: the order of matplotlib.
Extent = tuple[float, float, float, float]


def clip(polygon: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    """Cut a convex polygon to the side normal.p + offset >= 0 (Sutherland and Hodgman 1974).

    Parameters
    ----------
    polygon : ndarray of shape (k, 2)
        Corners, in order.
    normal : ndarray of shape (2,)
        Points into the half-plane.
    offset : float
        Constant term.

    Returns
    -------
    ndarray of shape (l, 2)
        Corners of what is left; none if nothing is.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> clip(square, np.array([-1.0, -1.0]), 1.0).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    heights = polygon @ normal + offset
    corners: list[FloatArray] = []
    for k in range(len(polygon)):
        here, there = heights[k - 1], heights[k]
        if here * there < 0:
            corners.append(polygon[k - 1] + here / (here - there) * (polygon[k] - polygon[k - 1]))
        if there >= 0:
            corners.append(polygon[k])
    return np.array(corners) if len(corners) > 2 else np.empty((0, 2))


def class_polygons(
    surface: Any, features: tuple[int, int], extent: Extent
) -> tuple[FloatArray, ...] | None:
    """Give for each class the polygon in which the model says it, if that depends on two features alone.

    Parameters
    ----------
    surface : Surface
        The planes of the model.
    features : (int, int)
        The features drawn.
    extent : (float, float, float, float)
        Left, right, bottom and top of the drawing.

    Returns
    -------
    tuple of ndarray or None
        One polygon for each class; None where other features have a weight.
    """
    sources = list(surface.sources)
    pair = [sources.index((feature, None)) for feature in features]
    if any(np.delete(duel.plane.coef, pair).any() for duel in surface.planes):
        return None
    left, right, bottom, top = extent
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    polygons = []
    for halfspaces in surface.regions():
        polygon = frame
        for halfspace in halfspaces:
            plane = halfspace.hyperplane
            normal = halfspace.sign * plane.coef[pair]
            polygon = clip(polygon, normal, halfspace.sign * plane.intercept)
        polygons.append(polygon)
    return tuple(polygons)


def boundary_segments(polygons: Sequence[FloatArray], extent: Extent) -> FloatArray:
    """The sides of polygons inside the frame, where one class ends.

    Parameters
    ----------
    polygons : sequence of ndarray
        One for each class.
    extent : (float, float, float, float)
        The frame.

    Returns
    -------
    ndarray of shape (s, 2, 2)
        Start and end of each side.
    """
    left, right, bottom, top = extent
    # Two classes have the same boundary; it need not be drawn twice.
    counted = polygons[:1] if len(polygons) == 2 else polygons
    sides = [
        np.stack([start, end])
        for polygon in counted
        for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True)
    ]
    inner = [
        side
        for side in sides
        if not ({left, right} & _shared(side[:, 0]) or {bottom, top} & _shared(side[:, 1]))
    ]
    return np.array(inner) if inner else np.empty((0, 2, 2))


def _shared(coordinates: FloatArray) -> set[float]:
    """The coordinate that both ends of a side have, if they have the same."""
    first, second = coordinates.tolist()
    return {first} if first == second else set()
