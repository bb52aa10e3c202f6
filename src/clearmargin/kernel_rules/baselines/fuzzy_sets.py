"""Triangular fuzzy sets over each column, and rules that speak of them by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, as_points, float_array

__all__ = ["SET_NAMES", "FuzzyCondition", "FuzzyPartition", "FuzzyRule"]

SET_NAMES = {
    3: ("low", "medium", "high"),
    5: ("very low", "low", "medium", "high", "very high"),
    7: ("very low", "low", "rather low", "medium", "rather high", "high", "very high"),
}


@dataclass(frozen=True, slots=True, eq=False, init=False)
class FuzzyPartition(Value):
    """Triangular fuzzy sets with equidistant peaks over the range of each column.

    A set has membership 1 at its peak and 0 from the next peaks on, so the memberships of a value sum to 1. Beyond the
    range the outermost sets stay at 1. A constant column cannot be cut: its sets are all at the same place and the
    first has membership 1 everywhere.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        The range of each column, finite.
    n_sets : {3, 5, 7}
        The number of sets of each.

    Examples
    --------
    >>> thirds = FuzzyPartition([0.0], [10.0], 3)
    >>> thirds.memberships([[0.0], [2.0], [6.0], [12.0]])[0].round(6).tolist()
    [[1.0, 0.6, 0.0, 0.0], [0.0, 0.4, 0.8, 0.0], [0.0, 0.0, 0.2, 1.0]]
    >>> thirds.strongest([[2.0], [6.0]]).ravel().tolist()
    [0, 1]
    """

    lower: FloatArray
    upper: FloatArray
    n_sets: int

    def __init__(self, lower: ArrayLike, upper: ArrayLike, n_sets: int):
        low = float_array(lower, "lower ends of ranges")
        high = float_array(upper, "upper ends of ranges", shape=low.shape)
        if low.ndim != 1 or not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
            raise InvalidValueError(
                "each range of a fuzzy partition needs finite ends, the lower one first"
            )
        if n_sets not in SET_NAMES:
            raise InvalidValueError(f"n_sets must be one of {tuple(SET_NAMES)}, not {n_sets!r}")
        self._set(lower=low, upper=high, n_sets=int(n_sets))

    @property
    def varies(self) -> BoolArray:
        """Which columns have a range at all."""
        return np.asarray(self.upper > self.lower)

    @property
    def peaks(self) -> FloatArray:
        """Where each set has membership 1, an array of shape (n, n_sets)."""
        return np.linspace(self.lower, self.upper, self.n_sets, axis=1)

    def _places(self, points: ArrayLike) -> FloatArray:
        """Values in steps from peak to peak: 0 at the first peak, 1 at the second."""
        P = as_points(points, len(self.lower))
        reach = np.where(self.varies, self.upper - self.lower, 1.0)
        shares = np.where(self.varies, (P - self.lower) / reach, np.where(np.isnan(P), np.nan, 0.0))
        return np.asarray(np.clip(shares, 0.0, 1.0) * (self.n_sets - 1))

    def memberships(self, points: ArrayLike) -> FloatArray:
        """Give the membership of each value in each set of its column.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points.

        Returns
        -------
        ndarray of shape (n, n_sets, m)
            Memberships from 0 to 1; NaN for a value that is not known.
        """
        places = self._places(points).T[:, None]
        sets = np.arange(self.n_sets)[None, :, None]
        return np.asarray(np.maximum(1.0 - np.abs(places - sets), 0.0))

    def strongest(self, points: ArrayLike) -> IntArray:
        """Give the set of largest membership for each value, the lower one half-way between two.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points, all known.

        Returns
        -------
        ndarray of int of shape (m, n)
            Positions of sets.
        """
        return np.asarray(np.ceil(self._places(points) - 0.5), dtype=np.intp)

    def cores(self) -> tuple[FloatArray, FloatArray]:
        """Give the interval on which each set has the largest membership: its crisp reading.

        Returns
        -------
        lower, upper : ndarray of shape (n, n_sets)
            Half-way between peaks; infinite for the outermost sets. A value half-way belongs to both.
        """
        peaks = self.peaks
        middles = peaks[:, :-1] / 2 + peaks[:, 1:] / 2
        ends = np.full((len(peaks), 1), np.inf)
        return np.hstack([-ends, middles]), np.hstack([middles, ends])


@dataclass(frozen=True, slots=True)
class FuzzyCondition:
    """A feature is in one of its fuzzy sets.

    Parameters
    ----------
    feature : str
        Name of the column.
    name : str
        Name of the set, as "low".
    left, peak, right : float
        Where membership begins, is 1, and ends; infinite on the side on which it stays 1.

    Examples
    --------
    >>> print(FuzzyCondition("age", "high", 50.0, 80.0, float("inf")))
    age is high
    """

    feature: str
    name: str
    left: float
    peak: float
    right: float

    def __str__(self) -> str:
        return f"{self.feature} is {self.name}"


@dataclass(frozen=True, slots=True)
class FuzzyRule:
    """If features are in fuzzy sets, then a class, with what speaks for it on the training points.

    Parameters
    ----------
    conditions : tuple of FuzzyCondition
        All of them have to hold; none for a rule that always holds.
    label : str, int, float or bool
        The class.
    accuracy : float
        The share of the degrees to which it holds that falls on points of its class.
    coverage : float
        The mean degree to which it holds on points of its class.

    Examples
    --------
    >>> old = FuzzyCondition("age", "high", 50.0, 80.0, float("inf"))
    >>> print(FuzzyRule((old,), "ill", 0.875, 0.25))
    If age is high, then ill (fuzzy accuracy 0.88, coverage 0.25)
    """

    conditions: tuple[FuzzyCondition, ...]
    label: Label
    accuracy: float
    coverage: float

    def __str__(self) -> str:
        said = " and ".join(map(str, self.conditions))
        figures = f"(fuzzy accuracy {self.accuracy:.2f}, coverage {self.coverage:.2f})"
        return (
            f"If {said}, then {self.label} {figures}" if said else f"Always {self.label} {figures}"
        )
