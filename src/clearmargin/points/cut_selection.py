"""Choose the cuts of a card with proof: those by which most rows are decided.

A plane is a sum of terms, f(x) = b + sum_j t_j(x_j). Feature j is cut into cells, and in a cell its term lies between a
lowest and a highest value. Of a row with f > 0 the lowest values of its cells are added up, of another row the highest
ones with the other sign: that is its *slack*, and with a positive slack the row is decided. A new cut at a place of
feature j changes the slack of the rows in one cell: of the rows of the positive class above it by one amount, of
those of the negative class below it by another one.

    maximise  sum_i weight_i * s_i / (tau + |s_i|)

is a smooth count of the rows with positive slack s, whose derivative is largest at the border; tau is a share of the
median slack. At each step the derivatives of all rows are summed up by the place of the row in each feature, and
running sums over the places price all cuts of all features at once, to first order. The best cut of each feature is
then counted exactly, and the best of these is taken. At the end each cut in turn is given up for a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clearmargin.rules.value import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from clearmargin.points.certification import Term

# The border is as wide as this share of the median slack. Of 0.05 to 2 none is better by more than a point of held-out
# rows on the tables for tuning.
_WIDTH = 0.1
# The border is never narrower than this share of the range of the score.
_LEAST_WIDTH = 1e-9
# So many features with the best prices are counted exactly; with all of them cards are no better.
_COUNTED = 12
_EXCHANGES = 2
# A gain that is rounding only must not decide.
_LEAST_GAIN = 1e-9


# A cut, as feature and place, the slack of all rows with it, and the smooth count of them.
_Found = tuple[int, int, FloatArray, float]


class CutSearch:
    """The cells of the cuts chosen so far, and the slack of each row."""

    def __init__(
        self,
        terms: Sequence[Term],
        places: IntArray,
        positive: BoolArray,
        weights: FloatArray,
        constant: float,
    ):
        self.sizes = np.array([len(term.below) for term in terms], dtype=np.intp)
        d, g = len(terms), max([1, *self.sizes.tolist()])
        self.below, self.above = np.zeros((2, d, g))
        for j, term in enumerate(terms):
            self.below[j, : len(term.below)], self.above[j, : len(term.below)] = (
                term.below,
                term.above,
            )
        self.low, self.high = (np.array([t.low for t in terms]), np.array([t.high for t in terms]))
        self.places, self.positive, self.weights = places, positive, weights
        self.constant = constant
        self.chosen = np.zeros((d, g), dtype=np.bool_)
        self._is_place = np.arange(g) < self.sizes[:, None]
        # For the rows between two places the cell that they are in: its ends as terms, and as places.
        self._low, self._high = (
            np.repeat(end[:, None], g + 1, axis=1) for end in (self.low, self.high)
        )
        self._first = np.zeros((d, g + 1), dtype=np.intp)
        self._last = np.repeat(self.sizes[:, None], g + 1, axis=1)
        self._flat = (np.arange(d) * (g + 1) + places).ravel()
        self._rows = np.arange(d)[:, None]
        self.slack = self._all_slack()
        # Most rows may lie on the border itself.
        self._least_width = _LEAST_WIDTH * float((self.high - self.low).sum()) or 1.0
        self._width = self._least_width

    def select(self, max_cuts: int) -> list[IntArray]:
        """Choose at most so many cuts, such that the cells decide as many rows as possible."""
        for _ in range(min(max_cuts, int(self.sizes.sum()))):
            found = self._best()
            if found is None:
                break
            self._add(found)
        for _ in range(_EXCHANGES):
            if not self._exchange():
                break
        return [np.flatnonzero(row[:n]) for row, n in zip(self.chosen, self.sizes, strict=True)]

    def _all_slack(self) -> FloatArray:
        """Compute the slack of all rows anew."""
        m, d = self.places.shape
        low = self._low.ravel()[self._flat].reshape(m, d).sum(axis=1) + self.constant
        high = self._high.ravel()[self._flat].reshape(m, d).sum(axis=1) + self.constant
        return np.asarray(np.where(self.positive, low, -high))

    def _count(self, slack: FloatArray) -> FloatArray:
        """Count the rows with positive slack, smoothly; one column a count."""
        smooth = slack / (np.abs(slack) + self._width)
        return np.asarray((smooth.T * self.weights).sum(axis=-1))

    def _prices(self) -> FloatArray:
        """Compute how fast the count grows with each cut of each feature, to first order."""
        g = self.below.shape[1]
        slope = self.weights * self._width / (np.abs(self.slack) + self._width) ** 2
        up, down = (
            self._sums(np.where(side, slope, 0.0)) for side in (self.positive, ~self.positive)
        )
        first, last = self._first[:, :g], self._last[:, :g]
        above = up[self._rows, last] - up[:, :g]
        below = down[:, :g] - np.where(first > 0, down[self._rows, first - 1], 0.0)
        gain = (self.above - self._low[:, :g]) * above
        gain += (self._high[:, :g] - self.below) * below
        return np.where(self._is_place & ~self.chosen, gain, -1.0)

    def _sums(self, v: FloatArray) -> FloatArray:
        """Sum v over the rows up to each place of each feature."""
        d, g = self.below.shape
        spread = np.repeat(v, d)
        cells = np.bincount(self._flat, weights=spread, minlength=d * (g + 1))
        return np.asarray(cells.reshape(d, g + 1).cumsum(axis=1))

    def _best(self) -> _Found | None:
        """Find the cut that adds most to the count; None where none adds anything."""
        # The border is as wide as the slack of the rows asks for.
        self._width = max(_WIDTH * float(np.median(np.abs(self.slack))), self._least_width)
        prices = self._prices()
        place = prices.argmax(axis=1)
        price = np.take_along_axis(prices, place[:, None], axis=1)[:, 0]
        features = np.flatnonzero(price > 0.0)
        if not len(features):
            return None
        features = features[np.argsort(-price[features], kind="stable")[:_COUNTED]]
        place = place[features]
        slack = self.slack[:, None] + self._moves(features, place)
        counts = self._count(slack)
        k = int(np.argmax(counts))
        return int(features[k]), int(place[k]), slack[:, k], float(counts[k])

    def _moves(self, features: IntArray, place: IntArray) -> FloatArray:
        """Compute by how much each of some cuts adds to the slack of each row."""
        at = self.places[:, features]
        inside = (at >= self._first[features, place]) & (at <= self._last[features, place])
        is_above = at > place
        up = self.above[features, place] - self._low[features, place]
        down = self._high[features, place] - self.below[features, place]
        gains = self.positive[:, None] == is_above
        return np.asarray(np.where(inside & gains, np.where(is_above, up, down), 0.0))

    def _add(self, found: _Found) -> None:
        """Take a cut."""
        j, place, self.slack, _ = found
        self.chosen[j, place] = True
        self._renew(j)

    def _renew(self, j: int) -> None:
        """Find the cells of a feature after its cuts have changed."""
        size = int(self.sizes[j])
        ends = [-1, *np.flatnonzero(self.chosen[j]).tolist(), size]
        for before, after in pairwise(ends):
            cell = slice(before + 1, after + 1)
            self._low[j, cell] = self.low[j] if before < 0 else self.above[j, before]
            self._high[j, cell] = self.high[j] if after == size else self.below[j, after]
            self._first[j, cell], self._last[j, cell] = before + 1, after

    def _exchange(self) -> bool:
        """Give up each cut in turn for the one that adds most; tell whether any other one was taken."""
        has_changed = False
        for j, place in np.argwhere(self.chosen).tolist():
            slack = self.slack
            self.chosen[j, place] = False
            self._renew(j)
            self.slack = self._all_slack()
            found = self._best()
            # Both counts are made with the same width, that of the slack without the cut.
            before = float(self._count(slack))
            if found is not None and found[3] > before + _LEAST_GAIN * float(self.weights.sum()):
                self._add(found)
                has_changed = True
            else:
                self.chosen[j, place] = True
                self._renew(j)
                self.slack = slack
        return has_changed
