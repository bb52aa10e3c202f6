"""Rows without missing values, with their classes and those that a model predicts: what rules are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import canonical_order

__all__ = ["LabelledPoints"]

# Enough training points to measure an explanation by, few enough to do so for ten thousand cases in a second.
_SAMPLE = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPoints:
    """Rows without missing values, with their classes.

    Parameters
    ----------
    points : ndarray of shape (m, n_encoded)
        Over the encoded columns.
    true : ndarray of int of shape (m,)
        The label of each row, as a position among the classes.
    predicted : ndarray of int of shape (m,)
        The class that the model predicts.

    Examples
    --------
    >>> age = np.array([[20.0], [30.0], [70.0], [80.0]])
    >>> data = LabelledPoints(age, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    >>> data.are_right(0)
    array([ True, False, False, False])
    >>> coverage, purity = data.measure((age.T > 25.0), np.array([1]))
    >>> float(coverage[0]), float(purity[0])
    (1.0, 0.6)
    """

    points: FloatArray
    true: IntArray
    predicted: IntArray

    def are_right(self, k: int) -> BoolArray:
        """Tell which points belong to a class and are predicted to."""
        return np.asarray((self.predicted == k) & (self.true == k))

    def class_shares(self, n_classes: int) -> FloatArray:
        """Give the share of each class among the labels."""
        counts = np.bincount(self.true, minlength=n_classes)
        return np.asarray(counts / max(1, len(self.true)), dtype=np.float64)

    def sample(self) -> LabelledPoints:
        """Take all points, or about a thousand of them where there are many, whatever order they are in."""
        step = max(1, len(self.points) // _SAMPLE)
        if step == 1:
            return LabelledPoints(self.points, self.true, self.predicted)
        labelled = np.column_stack([self.points, self.true, self.predicted])
        rows = canonical_order(labelled, np.arange(len(labelled)), -(-len(labelled) // step))
        return LabelledPoints(self.points[rows], self.true[rows], self.predicted[rows])

    def measure(self, inside: BoolArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Measure the coverage and the purity of regions.

        Parameters
        ----------
        inside : ndarray of bool of shape (k, m)
            Which points are in each of k regions.
        codes : ndarray of int of shape (k,)
            The class that each region stands for.

        Returns
        -------
        coverage : ndarray of shape (k,)
            Share of the points of the class that are predicted rightly which the region holds.
        purity : ndarray of shape (k,)
            Share of the points in the region that are of the class, with one success and one failure added.
        """
        is_member = self.true == codes[:, None]
        is_right = is_member & (self.predicted == codes[:, None])
        coverage = (inside & is_right).sum(axis=1) / np.maximum(is_right.sum(axis=1), 1)
        purity = ((inside & is_member).sum(axis=1) + 1.0) / (inside.sum(axis=1) + 2.0)
        return np.asarray(coverage), np.asarray(purity)
