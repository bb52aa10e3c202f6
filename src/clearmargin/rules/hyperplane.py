"""A hyperplane and the two half-spaces it makes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.arithmetic import exact_sign, linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, Value, as_points, float_array, number

__all__ = ["HalfSpace", "Hyperplane", "linear_scores"]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Hyperplane(Value):
    """The decision function f(x) = coef.x + intercept of a linear classifier, in the user's units.

    Parameters
    ----------
    coef : array-like of shape (n,)
        Weights of the features.
    intercept : float
        Constant term; the papers write gamma for its negative.

    Examples
    --------
    >>> plane = Hyperplane([2.0, -1.0], -3.0)
    >>> plane.decision([[2.0, 0.0], [0.0, 0.0]])
    array([ 1., -3.])
    """

    coef: FloatArray
    intercept: float

    def __init__(self, coef: ArrayLike, intercept: float):
        weights = float_array(coef, "the weights of a hyperplane")
        if weights.ndim != 1 or not len(weights):
            raise InvalidValueError(
                f"the weights of a hyperplane are one row of numbers, not shape {weights.shape}"
            )
        constant = number(intercept, "the intercept of a hyperplane")
        if not (np.isfinite(weights).all() and np.isfinite(constant)):
            raise InvalidValueError("the weights and the intercept of a hyperplane must be finite")
        self._set(coef=weights, intercept=constant)

    @property
    def n_features(self) -> int:
        """Dimension of the space."""
        return len(self.coef)

    @property
    def active(self) -> tuple[int, ...]:
        """Indices of the features with a weight other than zero."""
        return tuple(int(j) for j in np.flatnonzero(self.coef))

    def decision(self, X: ArrayLike) -> FloatArray:
        """Evaluate f at each row of X."""
        return linear_scores(as_points(X, self.n_features), self.coef, self.intercept)

    def exact(self) -> tuple[tuple[Fraction, ...], Fraction]:
        """Give weights and intercept as fractions, without any rounding."""
        return tuple(Fraction(w) for w in self.coef.tolist()), Fraction(self.intercept)

    def side(self, sign: Literal[1, -1]) -> HalfSpace:
        """Return the half-space of one class: f > 0 for the positive one, f <= 0 for the negative one."""
        return HalfSpace(self, sign)

    def __repr__(self) -> str:
        return f"Hyperplane({self.coef.tolist()}, {self.intercept})"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class HalfSpace(Value):
    """The points on one side of a hyperplane.

    Ties (f = 0) go to the negative class, so its half-space is closed and the positive one is open.

    Parameters
    ----------
    hyperplane : Hyperplane
        The plane f = 0.
    sign : {1, -1}
        1 for f > 0, -1 for f <= 0.

    Examples
    --------
    >>> HalfSpace(Hyperplane([1.0], -2.0), -1).contains([[2.0], [3.0]])
    array([ True, False])
    """

    hyperplane: Hyperplane
    sign: int

    def __init__(self, hyperplane: Hyperplane, sign: int):
        if not isinstance(hyperplane, Hyperplane):
            raise InvalidValueError(
                f"a half-space is made by a Hyperplane, not by {type(hyperplane).__name__}"
            )
        if sign not in (1, -1):
            raise InvalidValueError(f"sign must be 1 (f > 0) or -1 (f <= 0), not {sign!r}")
        self._set(hyperplane=hyperplane, sign=int(sign))

    @property
    def is_closed(self) -> bool:
        """Whether the plane itself belongs to the half-space."""
        return self.sign < 0

    def contains(self, X: ArrayLike) -> BoolArray:
        """Tell for each row of X whether it is on this side, in floating point."""
        f = self.hyperplane.decision(X)
        return f > 0 if self.sign > 0 else f <= 0

    def contains_exactly(self, X: ArrayLike, reach: FloatArray | None = None) -> BoolArray:
        """Tell for each row of X whether it is on this side, in exact arithmetic.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Rows of finite numbers.
        reach : ndarray of shape (n,), optional
            The largest magnitude of each feature, where it is known.

        Returns
        -------
        ndarray of bool of shape (m,)
            Floating point decides where its error bound allows, fractions elsewhere.

        Examples
        --------
        >>> plane = Hyperplane([0.1, 0.2], -0.3)
        >>> plane.side(1).contains([[1.0, 1.0]]), plane.side(1).contains_exactly([[1.0, 1.0]])
        (array([ True]), array([ True]))
        """
        points = np.asarray(X, dtype=np.float64)
        plane = self.hyperplane
        f = plane.decision(points)
        # As in `exact_sign`, with one bound for all rows: outside of this band the sign of f is right.
        if reach is None:
            reach = np.maximum(-points.min(axis=0, initial=0.0), points.max(axis=0, initial=0.0))
        size = float((reach * np.abs(plane.coef)).sum()) + abs(plane.intercept)
        band = (plane.n_features + 2) * np.finfo(np.float64).eps * size
        inside = f > 0 if self.sign > 0 else f <= 0
        for k in np.flatnonzero(np.abs(f) <= band):
            sign = self.sign * exact_sign(plane.coef, points[k], plane.intercept)
            inside[k] = sign > 0 or (sign == 0 and self.is_closed)
        return inside

    def __repr__(self) -> str:
        return f"HalfSpace({self.hyperplane!r}, {self.sign})"
