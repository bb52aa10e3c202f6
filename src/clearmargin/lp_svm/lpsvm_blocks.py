"""What the 1-norm SVM asks of a block of rows: pure functions, and the sums that they give.

An engine may call these functions twice, anywhere and in any order. They know nothing but their block and what they are
given: planes, widths, row numbers. Scores are added up column by column, so that a row has the same score in every
block. Rows and planes are *centred*: `View.shift` is taken off columns that are far from zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clearmargin.lp_svm.lpsvm import CHUNK, Far, column_reach
from clearmargin.rules.arithmetic import linear_scores, weighted_sums
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.partitions import Block


class Plane(NamedTuple):
    """Weights and intercept of a plane of the centred rows, and how far a score in floating point may be off."""

    w: FloatArray
    b: float
    band: float = 0.0


class View(NamedTuple):
    """How a level looks at the rows."""

    factors: tuple[float, float] = (1.0, 1.0)
    shift: FloatArray | None = None

    def rows(self, block: Block) -> Block:
        """Return the rows that weigh something, centred and with their costs."""
        used = block.cost > 0.0
        block = block if used.all() else block.take(used)
        if self.shift is not None:
            block = block._replace(X=block.X - self.shift)
        if self.factors == (1.0, 1.0):
            return block
        return block._replace(cost=block.cost * np.where(block.y > 0, *self.factors[::-1]))


def margins(rows: Block, *planes: Plane) -> list[FloatArray]:
    """Return ``y (x'w + b)`` of centred rows for each plane."""
    found = [np.empty(len(rows.y)) for _ in planes]
    for start in range(0, len(rows.y), CHUNK):
        some = slice(start, start + CHUNK)
        for margin, plane in zip(found, planes, strict=True):
            margin[some] = linear_scores(rows.X[some], plane.w, plane.b)
    return [margin * rows.y for margin in found]


class FarSums(NamedTuple):
    """The sums of `Far`, as some floats for each that are to be added up."""

    parts: FloatArray

    @classmethod
    def of(cls, rows: Block) -> FarSums:
        """Add up violated rows."""
        signed, starts = rows.y * rows.cost, range(0, len(rows.y), CHUNK)
        found = [
            [*weighted_sums(rows.X[some], signed[some]), signed[some].sum(), rows.cost[some].sum()]
            for some in (slice(start, start + CHUNK) for start in starts)
        ]
        return cls(np.array(found, dtype=np.float64).reshape(-1, rows.X.shape[1] + 2))

    @classmethod
    def together(cls, found: Iterable[FarSums]) -> FarSums:
        """Put the sums of several blocks together."""
        return cls(np.concatenate([one.parts for one in found]))

    def rounded(self) -> Far:
        """Return the sums, each rounded once."""
        *slope, balance, cost = (math.fsum(column) for column in self.parts.T.tolist())
        return Far(np.array(slope), balance, cost)


class Census(NamedTuple):
    """What one pass over all rows tells; counts and costs are those of the two classes."""

    counts: IntArray
    cost: FloatArray
    largest: float
    low: FloatArray
    high: FloatArray
    first: int
    last: int
    is_sparse: bool

    @classmethod
    def together(cls, found: Iterable[Census]) -> Census:
        """Put the answers of partitions together."""
        answers = list(found)
        return cls(
            np.sum([a.counts for a in answers], axis=0),
            np.array([math.fsum(a.cost[k] for a in answers) for k in (0, 1)]),
            max(a.largest for a in answers),
            np.min([a.low for a in answers], axis=0),
            np.max([a.high for a in answers], axis=0),
            min(a.first for a in answers),
            max(a.last for a in answers),
            any(a.is_sparse for a in answers),
        )

    @classmethod
    def known(cls, counts: IntArray, costs: ArrayLike, low: FloatArray, high: FloatArray) -> Census:
        """Return what is known already of rows whose costs are those of their classes."""
        of_class = np.asarray(costs, dtype=np.float64)
        return cls(counts, counts * of_class, float(of_class.max()), low, high, 0, -1, False)


def class_costs(block: Block) -> Census:
    """Count the rows of a block and add up their costs, without looking at the columns."""
    rows = View().rows(block)
    classes = rows.y < 0, rows.y > 0
    n = block.X.shape[1]
    return Census(
        np.array([np.count_nonzero(mine) for mine in classes]),
        np.array([rows.cost[mine].sum() for mine in classes]),
        float(rows.cost.max(initial=0.0)),
        np.full(n, np.inf),
        np.full(n, -np.inf),
        int(block.rows[0]) if len(block.rows) else 0,
        int(block.rows[-1]) if len(block.rows) else -1,
        not isinstance(block.X, np.ndarray),
    )


def census(block: Block) -> Census:
    """Count the rows of a block, add up their costs, and find the ranges of the columns."""
    found = class_costs(block)
    X = View().rows(block).X
    if not X.shape[0]:
        return found
    if not isinstance(X, np.ndarray):
        reach = column_reach(X)
        return found._replace(low=np.zeros(len(reach)), high=reach)
    return found._replace(
        low=X.min(axis=0).astype(np.float64), high=X.max(axis=0).astype(np.float64)
    )


class Sides(NamedTuple):
    """Where rows are believed to be: the window around a plane, violated below it, satisfied above."""

    plane: Plane | None
    width: float


def open_window(block: Block, entered: IntArray, view: View, sides: Sides) -> tuple[Block, FarSums]:
    """Take the rows of a window out of a block, and add up the violated ones that are left."""
    rows = view.rows(block)
    if sides.plane is None:
        return _dense_order(rows), FarSums.of(rows.take(slice(0)))
    (margin,) = margins(rows, sides.plane)
    inside = np.abs(margin - 1.0) <= sides.width
    inside[_places(rows, entered)] = True
    violated = rows.take(np.flatnonzero(~inside & (margin < 1.0)))
    return _dense_order(rows.take(np.flatnonzero(inside))), FarSums.of(violated)


def misjudged(
    block: Block, entered: IntArray, view: View, sides: Sides, plane: Plane
) -> tuple[Block, BoolArray]:
    """Find the rows outside of a window that a new plane puts elsewhere, or does not decide."""
    rows = view.rows(block)
    assert sides.plane is not None
    before, margin = margins(rows, sides.plane, plane)
    was_violated = before < 1.0
    wrong = np.where(was_violated, margin >= 1.0 - plane.band, margin <= 1.0 + plane.band)
    wrong &= np.abs(before - 1.0) > sides.width
    wrong[_places(rows, entered)] = False
    places = np.flatnonzero(wrong)
    return _dense_order(rows.take(places)), was_violated[places]


def take_all(block: Block, view: View) -> Block:
    """Take all rows of a block that weigh something."""
    return _dense_order(view.rows(block))


def _places(block: Block, numbers: IntArray) -> IntArray:
    """Return the places of row numbers in a block; numbers that are not there are passed over."""
    if not len(block.rows):
        return np.zeros(0, dtype=np.intp)
    places = np.minimum(np.searchsorted(block.rows, numbers), len(block.rows) - 1)
    return np.asarray(places[block.rows[places] == numbers])


def _dense_order(block: Block) -> Block:
    """Return rows with their numbers as floats of double precision; a sparse matrix stays one."""
    if sparse.issparse(block.X):
        return block
    return block._replace(X=np.asarray(block.X, dtype=np.float64))
