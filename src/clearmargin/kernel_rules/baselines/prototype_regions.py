"""The figures that a prototype and the support vectors around it span, and the test whether to cut them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clearmargin.kernel_rules.baselines.ellipsoids import Ellipsoid, axes_to_vectors
from clearmargin.kernel_rules.baselines.support_rows import RangeScale
from clearmargin.rule_base.task import ExtractionTask, SupportVectors
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["Region", "need_partition", "span_region"]


class Region(NamedTuple):
    """What a prototype and the support vectors nearest to it span.

    Parameters
    ----------
    ellipsoid : Ellipsoid
        The equation rule.
    lower, upper : ndarray of shape (n,)
        The interval rule: the box around the prototype and the support vectors.
    code : int
        Position of the class.

    Examples
    --------
    >>> circle = Ellipsoid([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], "a")
    >>> region = Region(circle, np.array([-1.0, 0.0]), np.array([1.0, 1.0]), 0)
    >>> corner = np.array([[1.0, 1.0]])
    >>> region.contains(corner, "interval"), region.contains(corner, "ellipsoid")
    (array([ True]), array([False]))
    """

    ellipsoid: Ellipsoid
    lower: FloatArray
    upper: FloatArray
    code: int

    def contains(self, points: FloatArray, shape: str) -> BoolArray:
        """Tell which points are in the figure."""
        if shape == "ellipsoid":
            return self.ellipsoid.contains(points)
        return np.asarray(((points >= self.lower) & (points <= self.upper)).all(axis=1))

    def vertices(self, shape: str) -> FloatArray:
        """Give the 2n points where axes through the prototype leave the figure."""
        if shape == "ellipsoid":
            return self.ellipsoid.vertices
        centre = self.ellipsoid.centre
        steps = (np.diag(self.lower - centre), np.diag(self.upper - centre))
        return np.vstack([centre + step for step in steps])


def span_region(
    task: ExtractionTask, centre: FloatArray, around: FloatArray, scale: RangeScale, code: int
) -> Region:
    """Span the figures of a prototype.

    Parameters
    ----------
    task : ExtractionTask
        The classes.
    centre : ndarray of shape (n,)
        The prototype, in shares of the ranges.
    around : ndarray of shape (s, n)
        Vectors around it, in the units of the table.
    scale : RangeScale
        The ranges.
    code : int
        Position of the class.

    Returns
    -------
    Region
        In the units of the table.
    """
    axes = axes_to_vectors(centre, scale.shares(around)) * scale.reach
    prototype = scale.lower + centre * scale.reach
    every = np.vstack([prototype, around])
    ellipsoid = Ellipsoid(prototype, axes, task.classes[code])
    return Region(ellipsoid, every.min(axis=0), every.max(axis=0), code)


def need_partition(
    task: ExtractionTask, regions: Sequence[Region], support: SupportVectors, shape: str
) -> BoolArray:
    """Test which regions reach into another class and should be cut.

    A region does if the model gives the prototype another class, or a vertex, or if a support vector of another
    class lies inside. A box has 2^n vertices, far from all data; its faces are looked at where the axes through the
    prototype pierce them.

    Parameters
    ----------
    task : ExtractionTask
        The model to ask.
    regions : sequence of Region
        The regions, at least one.
    support : SupportVectors
        All support vectors.
    shape : {"interval", "ellipsoid"}
        The figure that counts.

    Returns
    -------
    ndarray of bool of shape (r,)
        Which should be cut.
    """
    codes = np.array([region.code for region in regions])[:, None]
    asked = np.stack([[r.ellipsoid.centre, *r.vertices(shape)] for r in regions])
    said = task.ask(asked.reshape(-1, asked.shape[2])).reshape(len(regions), -1)
    inside = np.stack([region.contains(support.points, shape) for region in regions])
    return np.asarray((said != codes).any(axis=1) | (inside & (support.codes != codes)).any(axis=1))
