"""One side of a hyperplane in coordinates in which it lies below the plane.

A side of f(x) = w'x + b = 0 is {x : v'x <= g} with v = w, g = -b (the negative side, f <= 0) or {x : v'x < g} with
v = -w, g = b (the positive side, f > 0). In the coordinates z_i = sign(v_i) x_i of the features with a weight it is
{z : a'z <= g} or {z : a'z < g} with a = |v| > 0: every feature costs as it grows, the *near* faces of a box
lie deep inside and its *far* faces towards the plane. Only signs change, so nothing is rounded.

Fung, Sandilya and Rao (KDD 2005, eqs. 5-7) map to the unit cube instead. That needs divisions, and boxes that
are exact there are not exact any more in the user's units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clearmargin.rules import Box, HalfSpace
from clearmargin.rules.arithmetic import exact_score, exact_sign
from clearmargin.rules.value import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Region:
    """A box in oriented coordinates that still has points to cover."""

    near: FloatArray
    far: FloatArray
    near_closed: BoolArray
    far_closed: BoolArray


@dataclass(frozen=True, slots=True)
class Corner:
    """The far faces of a rule inside a region, and whether they belong to it."""

    far: FloatArray
    closed: BoolArray

    def holds(self, Z: FloatArray) -> BoolArray:
        """Tell for each point and feature whether the point is on the rule's side of the face."""
        # Up to a face and on it is below the next float, which takes one comparison instead of two.
        with np.errstate(over="ignore"):  # after the largest float comes inf
            limit = np.where(self.closed, np.nextafter(self.far, np.inf), self.far)
        return np.less(Z, limit)


@dataclass(frozen=True, slots=True)
class FoundBox:
    """A box found inside a side, with the points it covers."""

    near: FloatArray
    far: FloatArray
    near_closed: BoolArray
    far_closed: BoolArray
    points: IntArray


@dataclass(frozen=True, slots=True)
class Side:
    """The half-space of a class, oriented."""

    halfspace: HalfSpace
    a: FloatArray
    g: float
    features: IntArray
    signs: FloatArray

    @classmethod
    def of(cls, halfspace: HalfSpace) -> Side:
        """Orient a half-space; features without weight drop out."""
        plane = halfspace.hyperplane
        outward = -halfspace.sign * plane.coef
        features = np.flatnonzero(outward)
        return cls(
            halfspace,
            np.abs(outward[features]),
            halfspace.sign * plane.intercept,
            features,
            np.sign(outward[features]),
        )

    @property
    def is_closed(self) -> bool:
        """Whether the plane itself belongs to the side."""
        return self.halfspace.is_closed

    def orient(self, X: FloatArray) -> FloatArray:
        """Give the coordinates of points."""
        return np.ascontiguousarray(X[:, self.features] * self.signs)

    def region(self, box: Box) -> Region:
        """Return the part of a box that concerns the active features."""
        j = self.features
        forward = self.signs > 0
        lower, upper = box.lower[j] * self.signs, box.upper[j] * self.signs
        closed_low, closed_high = box.lower_closed[j], box.upper_closed[j]
        return Region(
            np.where(forward, lower, upper),
            np.where(forward, upper, lower),
            np.where(forward, closed_low, closed_high),
            np.where(forward, closed_high, closed_low),
        )

    def box(self, found: Region | FoundBox) -> Box:
        """Return a region or a found box in the user's coordinates; inactive features are free."""
        n = self.halfspace.hyperplane.n_features
        j = self.features
        forward = self.signs > 0
        near, far = found.near * self.signs, found.far * self.signs
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        lower_closed, upper_closed = np.ones((2, n), dtype=np.bool_)
        lower[j], upper[j] = np.where(forward, near, far), np.where(forward, far, near)
        lower_closed[j] = np.where(forward, found.near_closed, found.far_closed)
        upper_closed[j] = np.where(forward, found.far_closed, found.near_closed)
        return Box(lower, upper, lower_closed, upper_closed)

    def slack(self, z: FloatArray) -> float:
        """Return how far below the plane a point is, g - a'z, rounded once."""
        return -exact_score(self.a, z, -self.g)

    def admits(self, corner: Corner) -> bool:
        """Decide exactly whether a box with these far faces lies wholly on this side."""
        sign = exact_sign(self.a, corner.far, -self.g)
        return sign < 0 or (sign == 0 and (self.is_closed or not corner.closed.all()))
