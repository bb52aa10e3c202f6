"""The support vectors that an extractor may build on, and the scale in which it measures distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.rule_base.box_rules import ExtractionTask, SupportVectors, read_support
from clearmargin.rules.value import FloatArray, is_point

__all__ = ["RangeScale", "usable_support"]


@dataclass(frozen=True, slots=True, eq=False)
class RangeScale:
    """Columns measured from their least value in shares of their range.

    Parameters
    ----------
    lower, reach : ndarray of shape (n,)
        Where each column begins, and its positive unit.

    Examples
    --------
    >>> scale = RangeScale.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scale.shares(np.array([[2.0, 5.0]]))
    array([[0.5, 0. ]])
    """

    lower: FloatArray
    reach: FloatArray

    @classmethod
    def of(cls, points: FloatArray) -> RangeScale:
        """Return the scale of some points; a constant column has no range and keeps its unit."""
        lower, upper = points.min(axis=0), points.max(axis=0)
        reach = upper - lower
        return cls(lower, np.where(reach > 0, reach, 1.0))

    def shares(self, points: FloatArray) -> FloatArray:
        """Give points in shares of the ranges."""
        return (points - self.lower) / self.reach


def usable_support(task: ExtractionTask, X: Any, *, trained_here: bool, by: str) -> SupportVectors:
    """Give the support vectors with the classes that rules should give them.

    A support vector on the wrong side of the machine has one class as trained and another as predicted. Rules that
    follow the model take the second, rules that follow the labels the first. Rows with gaps are left out.

    Parameters
    ----------
    task : ExtractionTask
        What is known.
    X : data frame or array-like of shape (m, n)
        The training table.
    trained_here : bool
        Whether the model was trained on this table.
    by : {"model", "labels"}
        Whom the rules follow.

    Returns
    -------
    SupportVectors
        Distinct rows of a class, at least one.
    """
    support = read_support(task, X, trained_here=trained_here)
    known = is_point(support.points)
    if not known.any():
        raise DataError("every support vector has a missing value; rules need rows without gaps")
    points = support.points[known]
    codes = task.ask(points) if by == "model" else support.codes[known]
    both = np.unique(np.column_stack([points, codes]), axis=0)
    return SupportVectors(np.ascontiguousarray(both[:, :-1]), both[:, -1].astype(np.intp))
