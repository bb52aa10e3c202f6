"""What the 1-norm SVM asks of a block of rows: pure functions, and the sums that they give.

An engine may call these functions twice, anywhere and in any order. They know nothing but their block and what they are
given: planes, widths, row numbers. Scores are added up column by column, so that a row has the same score in every
block. Sums over many rows come as floats that add up to them without rounding (`column_parts`); so what is made of them
does not depend on how the rows are divided.

Planes are planes of the *centred* rows: `View.shift` is taken off columns that are far from zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clearmargin.lp_svm.lpsvm import Far
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers.rational import are_moderate, column_parts, exact_sum
from clearmargin.tables.partitions import Block

__all__ = [
    "Census",
    "ExactFar",
    "Opened",
    "Plane",
    "Sides",
    "View",
    "census",
    "class_costs",
    "far_parts",
    "misjudged",
    "open_window",
    "take_all",
]

# Rows that are scored at a time: two scores and a block of columns stay in the cache.
_CHUNK = 1 << 14


class Plane(NamedTuple):
    """Weights and intercept of a plane of the centred rows, and how far a score in floating point may be off."""

    w: FloatArray
    b: float
    band: float = 0.0


class View(NamedTuple):
    """How a level looks at the rows.

    Parameters
    ----------
    factors : (float, float)
        What the costs of the first and of the second class are multiplied by: a sample stands for all rows.
    shift : ndarray of shape (n,) or None
        What is taken off the columns before they are scored.
    """

    factors: tuple[float, float] = (1.0, 1.0)
    shift: FloatArray | None = None

    def rows(self, block: Block) -> Block:
        """Return the rows that weigh something, with their costs."""
        used = block.cost > 0.0
        block = block if used.all() else block.take(used)
        if self.factors == (1.0, 1.0):
            return block
        return block._replace(cost=block.cost * np.where(block.y > 0, *self.factors[::-1]))

    def centred(self, X: Any) -> Any:
        """Return rows as they are scored."""
        return X if self.shift is None else X - self.shift

    def margins(self, block: Block, *planes: Plane) -> list[FloatArray]:
        """Return ``y (x'w + b)`` of all rows for each plane."""
        found = [np.empty(len(block.y)) for _ in planes]
        for start in range(0, len(block.y), _CHUNK):
            some = slice(start, start + _CHUNK)
            X = self.centred(block.X[some])
            for margin, plane in zip(found, planes, strict=True):
                margin[some] = linear_scores(X, plane.w, plane.b)
        return [margin * block.y for margin in found]


@dataclass(frozen=True)
class ExactFar:
    """The sums of `Far` without rounding.

    Parameters
    ----------
    parts : ndarray of shape (k, n + 2)
        Floats that add up to the slopes, the balance and the cost.
    """

    parts: FloatArray
    _known: dict[int, Fraction] = field(default_factory=dict)

    def exact(self, j: int) -> Fraction:
        """Return one of the n + 2 sums."""
        if j not in self._known:
            self._known[j] = exact_sum(self.parts[:, j])
        return self._known[j]

    def rounded(self, shift: FloatArray | None = None) -> Far:
        """Return the sums as floats, each rounded once, of the rows with `shift` taken off."""
        sums = np.array([math.fsum(column) for column in self.parts.T.tolist()])
        n = len(sums) - 2
        for j in [] if shift is None else np.flatnonzero(shift).tolist():
            assert shift is not None
            sums[j] = float(self.exact(j) - Fraction(float(shift[j])) * self.exact(n))
        return Far(sums[:n], float(sums[n]), float(sums[n + 1]))

    def plus(self, parts: FloatArray) -> ExactFar:
        """Return the sums with more rows."""
        return ExactFar(np.concatenate([self.parts, parts]))


def far_parts(block: Block) -> FloatArray:
    """Give floats that add up to the n + 2 sums of `Far` over rows, all of which are moderate.

    Parameters
    ----------
    block : Block
        The rows.

    Returns
    -------
    ndarray of shape (k, n + 2)
        Parts of the sums.

    Examples
    --------
    >>> block = Block(np.array([[3.0], [5.0]]), np.array([1.0, -1.0]), np.array([1.0, 2.0]), np.arange(2))
    >>> far_parts(block).sum(axis=0)
    array([-7., -1.,  3.])
    """
    m, n = block.X.shape
    if not m:
        return np.zeros((0, n + 2))
    slopes = column_parts(block.X, block.y * block.cost)
    costs = column_parts(np.column_stack([block.y, np.ones(m)]), block.cost)
    parts = np.zeros((max(len(slopes), len(costs)), n + 2))
    parts[: len(slopes), :n] = slopes
    parts[: len(costs), n:] = costs
    return parts


class Census(NamedTuple):
    """What one pass over all rows tells.

    Parameters
    ----------
    counts : ndarray of int of shape (2,)
        Rows of each class.
    costs : ndarray of shape (k, 2)
        Parts of the sums of their costs.
    largest : float
        The largest cost.
    low, high : ndarray of shape (n,)
        Ranges of the columns; of a sparse matrix zero and the largest magnitude.
    first, last : int
        Row numbers; no row where `last` is smaller.
    is_sparse : bool
        Whether the rows are in a sparse matrix.
    """

    counts: IntArray
    costs: FloatArray
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
            np.concatenate([a.costs for a in answers]),
            max(a.largest for a in answers),
            np.min([a.low for a in answers], axis=0),
            np.max([a.high for a in answers], axis=0),
            min(a.first for a in answers),
            max(a.last for a in answers),
            any(a.is_sparse for a in answers),
        )

    @classmethod
    def known(
        cls, counts: IntArray, costs: Sequence[float], low: FloatArray, high: FloatArray
    ) -> Census:
        """Return what is known already of rows whose costs are those of their classes."""
        return cls(
            counts,
            column_parts(np.diag(counts.astype(np.float64)), np.array(costs)),
            max(costs),
            low,
            high,
            0,
            -1,
            is_sparse=False,
        )

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        """What the rows of each class cost together."""
        return exact_sum(self.costs[:, 0]), exact_sum(self.costs[:, 1])


def class_costs(block: Block) -> Census:
    """Count the rows of a block and add up their costs, without looking at the columns."""
    rows = View().rows(block)
    is_positive = rows.y > 0
    n = block.X.shape[1]
    sides = np.column_stack([~is_positive, is_positive]).astype(np.float64)
    return Census(
        np.array([np.count_nonzero(~is_positive), np.count_nonzero(is_positive)]),
        column_parts(sides, rows.cost),
        float(rows.cost.max(initial=0.0)),
        np.full(n, np.inf),
        np.full(n, -np.inf),
        int(block.rows[0]) if len(block.rows) else 0,
        int(block.rows[-1]) if len(block.rows) else -1,
        not isinstance(block.X, np.ndarray),
    )


def census(block: Block) -> Census:
    """Count the rows of a block, add up their costs, and find the ranges of the columns.

    Parameters
    ----------
    block : Block
        The rows.

    Returns
    -------
    Census
        What is known of them.

    Examples
    --------
    >>> block = Block(np.array([[3.0], [5.0]]), np.array([1.0, -1.0]), np.array([1.0, 2.0]), np.arange(2))
    >>> found = census(block)
    >>> found.cost, found.low, found.high
    ((Fraction(2, 1), Fraction(1, 1)), array([3.]), array([5.]))
    """
    found = class_costs(block)
    X = View().rows(block).X
    if not X.shape[0]:
        return found
    if not isinstance(X, np.ndarray):
        reach = np.asarray(abs(X).max(axis=0).toarray(), dtype=np.float64).ravel()
        return found._replace(low=np.zeros(len(reach)), high=reach)
    return found._replace(
        low=X.min(axis=0).astype(np.float64), high=X.max(axis=0).astype(np.float64)
    )


class Sides(NamedTuple):
    """Where rows are believed to be: the window around a plane, violated below it, satisfied above.

    Parameters
    ----------
    plane : Plane or None
        The plane; without one all rows are in the window.
    width : float
        Rows whose margin is that near to 1 are in the window.
    """

    plane: Plane | None
    width: float


class Opened(NamedTuple):
    """The rows of a window, and sums over the violated ones outside of it."""

    window: Block
    far: FloatArray


def open_window(block: Block, entered: IntArray, view: View, sides: Sides) -> Opened:
    """Take the rows of a window out of a block, and add up the violated ones that are left.

    Parameters
    ----------
    block : Block
        The rows.
    entered : ndarray of int
        Numbers of rows that belong to the window wherever they are.
    view : View
        How to look at the rows.
    sides : Sides
        The window.

    Returns
    -------
    Opened
        Rows with the costs of `view`, and parts of the n + 2 sums of `Far`.

    Examples
    --------
    >>> block = Block(np.array([[0.0], [1.0], [5.0]]), np.array([1.0, 1.0, 1.0]), np.ones(3), np.arange(3))
    >>> found = open_window(block, np.zeros(0, int), View(), Sides(Plane(np.ones(1), 0.0), 0.5))
    >>> found.window.rows, found.far.sum(axis=0)
    (array([1]), array([0., 1., 1.]))
    """
    rows = view.rows(block)
    if sides.plane is None:
        return Opened(_dense_order(rows), np.zeros((0, rows.X.shape[1] + 2)))
    (margin,) = view.margins(rows, sides.plane)
    inside = np.abs(margin - 1.0) <= sides.width
    inside[_places(rows, entered)] = True
    beyond = np.flatnonzero(~inside & (margin < 1.0))
    violated = rows.take(beyond)
    # Sums of numbers that are too large or too small are not exact: such rows are held one by one.
    odd = ~are_moderate(violated.X, violated.cost)
    if odd.any():
        inside[beyond[odd]] = True
        violated = violated.take(~odd)
    return Opened(_dense_order(rows.take(np.flatnonzero(inside))), far_parts(violated))


def misjudged(
    block: Block, entered: IntArray, view: View, sides: Sides, plane: Plane
) -> tuple[Block, BoolArray]:
    """Find the rows outside of a window that a new plane puts elsewhere, or does not decide.

    Parameters
    ----------
    block : Block
        The rows.
    entered : ndarray of int
        Numbers of rows that are held already, although they are not in the window.
    view : View
        How to look at the rows.
    sides : Sides
        The window, and where the other rows are believed to be.
    plane : Plane
        The new plane.

    Returns
    -------
    rows : Block
        The misjudged rows, with the costs of `view`.
    was_violated : ndarray of bool
        Which of them were believed to be violated.
    """
    rows = view.rows(block)
    assert sides.plane is not None
    before, margin = view.margins(rows, sides.plane, plane)
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
