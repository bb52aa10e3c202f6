"""An attempt to refute a proved box, by arithmetic of its own: random points, corners, and descent along the slope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clearmargin.rules import Box, FeatureSpace

__all__ = ["Scores", "contradictions", "corner_rows", "random_rows"]

FloatArray = NDArray[np.float64]

# Values of the decision function are of the order of 1; what lies this little below zero is rounding, since corners of
# rules lie on the plane itself.
_ROUNDING = 1e-9
_MOST_CORNERS = 1024
_STARTS, _STEPS = 16, 20


@dataclass(frozen=True)
class Scores:
    """The decision function of a fitted pipeline, written out by what scikit-learn keeps of the machine.

    Positive for the second class. Nothing of the package takes part but, for a linear machine, its weights.
    """

    pipeline: Any

    @property
    def machine(self) -> Any:
        """The last step."""
        return self.pipeline[-1]

    def encode(self, table: pd.DataFrame) -> FloatArray:
        """Rows as the machine takes them."""
        return np.asarray(self.pipeline[:-1].transform(table), dtype=np.float64)

    def values(self, rows: FloatArray) -> FloatArray:
        """The function at encoded rows."""
        return self._values_and_slopes(rows, False)[0]

    def slopes(self, rows: FloatArray) -> FloatArray:
        """Its gradients there."""
        return self._values_and_slopes(rows, True)[1]

    def _values_and_slopes(self, Z: FloatArray, slopes: bool) -> tuple[FloatArray, FloatArray]:
        svm, none = self.machine, np.empty(0)
        if not hasattr(svm, "support_vectors_"):
            weights = np.asarray(svm.coef_, dtype=np.float64).ravel()
            return Z @ weights + float(np.ravel(svm.intercept_)[0]), np.tile(weights, (len(Z), 1))
        S, a = svm.support_vectors_, svm.dual_coef_.ravel()
        gamma, start = svm._gamma, float(svm.intercept_[0])
        inner = gamma * (Z @ S.T)
        if svm.kernel == "rbf":
            squares = gamma * ((Z * Z).sum(axis=1)[:, None] + (S * S).sum(axis=1))
            kernel = np.exp(np.minimum(2.0 * inner - squares, 0.0))
            values = kernel @ a
            change = 2.0 * gamma * ((kernel * a) @ S - values[:, None] * Z) if slopes else none
            return values + start, change
        inner += svm.coef0
        if svm.kernel == "poly":
            # Repeated products: a general power costs many times as much.
            power = np.ones_like(inner)
            for _ in range(svm.degree - 1):
                power *= inner
            derivative, kernel = svm.degree * power, power * inner
        else:
            kernel = np.tanh(inner)
            derivative = 1.0 - kernel * kernel
        return kernel @ a + start, gamma * ((derivative * a) @ S) if slopes else none


def contradictions(
    scores: Scores, box: Box, space: FeatureSpace, sign: int, rng: np.random.Generator, points: int
) -> tuple[int, int]:
    """Points of a box that were tried, and those at which the decision function has another sign than was proved.

    Tried are random points, corners (all of them in few dimensions, some otherwise), and points reached by descent
    from the lowest of these.
    """
    table = np.vstack([random_rows(box, space, rng, points), corner_rows(box, space, rng)])
    rows = scores.encode(_frame(table, space))
    values = sign * scores.values(rows)
    found = int(np.count_nonzero(values < -_ROUNDING))
    ends = np.vstack(_ends(box, space))
    # Whole numbers, which proofs are about where the space has them, stay as they are in a descent.
    ends[1, space.integer] = ends[0, space.integer]
    low, high = scores.encode(_frame(ends, space))
    starts = rows[np.argsort(values, kind="stable")[:_STARTS]]
    more, wrong = _descend(scores, starts, low, high, sign)
    return len(rows) + more, found + wrong


def _descend(
    scores: Scores, starts: FloatArray, low: FloatArray, high: FloatArray, sign: int
) -> tuple[int, int]:
    """Steepest descent within the box, with the longest of some steps that goes down; columns of categories stay."""
    free = low < high
    width = np.where(free, high - low, 0.0)
    at, best = starts, sign * scores.values(starts)
    tries = found = 0
    for _ in range(_STEPS):
        slope = sign * scores.slopes(at) * width
        slope /= np.maximum(np.abs(slope).max(axis=1, keepdims=True), 1e-300)
        tried = np.stack([at - length * slope * width for length in (1e9, 1.0, 0.25, 0.05, 0.01)])
        tried = np.where(free, np.clip(tried, low, high), at)
        values = sign * scores.values(tried.reshape(-1, at.shape[1])).reshape(len(tried), -1)
        tries += values.size
        found += int(np.count_nonzero(values < -_ROUNDING))
        choice, column = values.argmin(axis=0), np.arange(len(at))
        better = values[choice, column] < best
        if not better.any():
            break
        at = np.where(better[:, None], tried[choice, column], at)
        best = np.minimum(best, values[choice, column])
    return tries, found


def random_rows(box: Box, space: FeatureSpace, rng: np.random.Generator, points: int) -> FloatArray:
    """Points spread evenly over a box; categories are given by their codes."""
    low, high = _ends(box, space)
    rows = np.clip(low + rng.uniform(size=(points, len(space))) * (high - low), low, high)
    rows = np.where(space.integer, np.rint(rows), rows)
    return _choose_categories(rows, box, space, rng)


def corner_rows(box: Box, space: FeatureSpace, rng: np.random.Generator) -> FloatArray:
    """All corners of a box, or some of them if they are too many."""
    low, high = _ends(box, space)
    free = np.flatnonzero(low < high)
    if 2 ** min(len(free), 60) <= _MOST_CORNERS:
        at_top = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1 == 1
    else:
        at_top = rng.uniform(size=(_MOST_CORNERS, len(free))) < 0.5
    rows = np.tile(low, (len(at_top), 1))
    rows[:, free] = np.where(at_top, high[free], low[free])
    return _choose_categories(rows, box, space, rng)


def _ends(box: Box, space: FeatureSpace) -> tuple[FloatArray, FloatArray]:
    """The first and the last row of a box; a side without end goes on for the range of the feature beyond it."""
    first = np.where(box.lower_closed, box.lower, np.nextafter(box.lower, np.inf))
    last = np.where(box.upper_closed, box.upper, np.nextafter(box.upper, -np.inf))
    # Categories have no range.
    known = np.isfinite(space.lower)
    least, most = np.where(known, space.lower, 0.0), np.where(known, space.upper, 0.0)
    bottom = np.where(np.isfinite(last), np.minimum(last, least), least)
    top = np.where(np.isfinite(first), np.maximum(first, most), most)
    low = np.where(np.isfinite(first), first, bottom - (most - least))
    high = np.where(np.isfinite(last), last, top + (most - least))
    low, high = (
        np.where(space.integer, np.ceil(low), low),
        np.where(space.integer, np.floor(high), high),
    )
    for j, kinds in enumerate(space.categories):
        if kinds is not None:
            low[j] = high[j] = _codes(box, j, kinds)[0]
    return low, high


def _codes(box: Box, j: int, kinds: Sequence[str]) -> list[int]:
    return sorted(box.sets[j]) if j in box.sets else list(range(len(kinds)))


def _choose_categories(
    rows: FloatArray, box: Box, space: FeatureSpace, rng: np.random.Generator
) -> FloatArray:
    for j, kinds in enumerate(space.categories):
        if kinds is not None:
            rows[:, j] = rng.choice(_codes(box, j, kinds), size=len(rows))
    return rows


def _frame(table: FloatArray, space: FeatureSpace) -> pd.DataFrame:
    """Rows as a data frame with the names of the categories."""
    columns: dict[str, Any] = {}
    for j, (name, kinds) in enumerate(zip(space.names, space.categories, strict=True)):
        columns[name] = (
            table[:, j] if kinds is None else np.array(kinds, object)[table[:, j].astype(int)]
        )
    return pd.DataFrame(columns)
