"""All rows of a table in partitions, behind the sample of them that a case with advice holds.

What is asked of every row is asked here, in passes: ranges and whole numbers, means, losses, how many rows a premise
covers. The answers are those that the same rows give in memory, to the bit: counts, and sums that are rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clearmargin.rules import Hyperplane
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.space import seen_ranges
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.part_survey import exact_terms
from clearmargin.tables.partitions import (
    Block,
    MappedBlocks,
    Partitions,
    join_blocks,
    sampled,
)

__all__ = ["MOST_HELD", "AllRows", "Question", "count_rows", "exact_loss", "look_at_rows"]

# A table of no more rows is read into memory; of a larger one that many are drawn.
MOST_HELD = 20_000


@dataclass(frozen=True, slots=True)
class AllRows:
    """The rows of a table in partitions, and what is known of all of them.

    Parameters
    ----------
    blocks : Partitions of Block
        The rows that weigh something, in the user's units; their costs are their weights.
    n_rows : int
        How many they are.
    low, high : ndarray of shape (n,)
        The ranges of the columns.
    whole : ndarray of bool of shape (n,)
        Which columns hold whole numbers only.
    ends : Block
        Rows at the ends of the ranges.
    """

    blocks: Partitions[Block]
    n_rows: int
    low: FloatArray
    high: FloatArray
    whole: BoolArray
    ends: Block

    def standard(self) -> tuple[FloatArray, FloatArray]:
        """Compute mean and deviation of each column, in two passes, as for rows in memory."""
        center = _column_sums(self.blocks, np.zeros(len(self.low)), 1) / self.n_rows
        return center, np.sqrt(_column_sums(self.blocks, center, 2) / self.n_rows)

    def scaled(self, center: FloatArray, unit: FloatArray, lam: float) -> Partitions[Block]:
        """Give the rows in the scale of a frame, their weights multiplied."""
        return _ScaledBlocks(self.blocks, scaled_block, (center, unit, lam), self.blocks.names)


class _ScaledBlocks(MappedBlocks):
    """Blocks in the scale of a frame; a sample is drawn where the rows are, and may stay there."""

    def sample(self, share: float) -> Any:
        return _ScaledBlocks(self._parts.sample(share), self._to_block, self._arguments, self.names)


def scaled_block(block: Block, center: FloatArray, unit: FloatArray, lam: float) -> Block:
    """Scale the rows of a block, and multiply their costs."""
    X = np.asarray(block.X - center)
    X /= unit
    return block._replace(X=X, cost=lam * block.cost)


def _column_sums(blocks: Partitions[Block], center: FloatArray, power: int) -> FloatArray:
    """Sum powers of the distances of each column from a centre, each sum rounded once."""
    found = blocks.map(_column_terms, common=(center, power))
    columns = zip(*found, strict=True)
    return np.array([math.fsum(term for terms in column for term in terms) for column in columns])


def _column_terms(block: Block, center: FloatArray, power: int) -> list[tuple[float, ...]]:
    values = block.X if power == 1 else (block.X - center) ** 2
    return [exact_terms(column) for column in values.T]


def exact_loss(blocks: Partitions[Block], w: FloatArray, b: float) -> float:
    """Sum the hinge losses of all rows in one pass, rounded once.

    Parameters
    ----------
    blocks : Partitions of Block
        The rows.
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.

    Returns
    -------
    float
        The sum.

    Examples
    --------
    >>> from clearmargin.tables.partitions import ArrayBlocks
    >>> exact_loss(ArrayBlocks(np.array([[0.0], [3.0]]), np.array([1.0, 1.0])), np.ones(1), 0.0)
    1.0
    """
    return math.fsum(term for terms in blocks.map(_losses, common=(w, b)) for term in terms)


def _losses(block: Block, w: FloatArray, b: float) -> tuple[float, ...]:
    return exact_terms(
        block.cost * np.maximum(0.0, 1.0 - block.y * (linear_scores(block.X, w) + b))
    )


class Question(NamedTuple):
    """What is asked about a rule: how many rows it covers, and how many are like its worst case.

    Parameters
    ----------
    premises : sequence of Premise
        Premises of the rule, such as those before and after refinement.
    sign : float
        The sign of its class.
    witness : ndarray of shape (n,) or None
        The worst case.
    reach : ndarray of shape (n,)
        How far a row may be from it.
    seen : ndarray of bool of shape (n,)
        The columns that count.
    """

    premises: Sequence[Any]
    sign: float
    witness: FloatArray | None
    reach: FloatArray
    seen: BoolArray


def count_rows(
    blocks: Partitions[Block], w: FloatArray, b: float, questions: Sequence[Question]
) -> list[tuple[list[tuple[int, ...]], int]]:
    """Count, in one pass, what rules cover and what is like their worst cases.

    Parameters
    ----------
    blocks : Partitions of Block
        The rows, in the user's units.
    w : ndarray of shape (n,)
        Weights.
    b : float
        Intercept.
    questions : sequence of Question
        One for each rule.

    Returns
    -------
    list of (list of (int, int, int), int)
        For each rule: for each of its premises the rows covered, those of its class among them and those that the plane
        gives its class; and the number of rows near the worst case.
    """
    found = blocks.map(_counts, common=(Hyperplane(w, b), tuple(questions)))
    return [
        (
            [
                tuple(np.sum(each, axis=0).tolist())
                for each in zip(*(c for c, _ in one), strict=True)
            ],
            sum(near for _, near in one),
        )
        for one in zip(*found, strict=True)
    ]


def _counts(
    block: Block, plane: Hyperplane, questions: Sequence[Question]
) -> list[tuple[list[tuple[int, int, int]], int]]:
    predicted = np.where(plane.decision(block.X) > 0, 1.0, -1.0) if len(block.y) else block.y
    answers = []
    for premises, sign, witness, reach, seen in questions:
        counts = []
        for premise in premises:
            covered = premise.covers(block.X)
            right, agreed = (int((covered & (of == sign)).sum()) for of in (block.y, predicted))
            counts.append((int(covered.sum()), right, agreed))
        near = 0
        if witness is not None:
            near = int((np.abs(block.X - witness) <= reach)[:, seen].all(axis=1).sum())
        answers.append((counts, near))
    return answers


class _Looked(NamedTuple):
    """What a block tells: ranges, whole numbers, what its classes weigh, drawn rows and rows at the ends."""

    n_rows: int
    low: FloatArray
    high: FloatArray
    whole: BoolArray
    weights: tuple[tuple[float, ...], tuple[float, ...]]
    drawn: Block
    ends: Block


def look_at_rows(blocks: Partitions[Block]) -> tuple[AllRows, Block]:
    """Look at all rows in one pass, and draw some of them.

    Parameters
    ----------
    blocks : Partitions of Block
        The rows; those that weigh nothing are left out of them.

    Returns
    -------
    rows : AllRows
        All rows.
    sample : Block
        About 20,000 of them, drawn by row number; in each class they weigh together what all its rows do.

    Examples
    --------
    >>> from clearmargin.tables.partitions import ArrayBlocks
    >>> rows, sample = look_at_rows(ArrayBlocks(np.arange(6.0).reshape(3, 2), np.array([1.0, -1.0, 1.0])))
    >>> rows.low, rows.high, sample.y
    (array([0., 1.]), array([4., 5.]), array([ 1., -1.,  1.]))
    """
    share = min(1.0, MOST_HELD / max(1, sum(blocks.lengths)))
    found = blocks.map(_look, common=(share,))
    n = len(blocks.names)
    low, high = (np.array([getattr(each, side) for each in found]) for side in ("low", "high"))
    whole = np.asarray(np.all([each.whole for each in found], axis=0))
    # Of each end of each range the first block that has it shows a row.
    first = [
        *zip(low.argmin(axis=0), range(n), strict=True),
        *zip(high.argmax(axis=0), range(n, 2 * n), strict=True),
    ]
    ends = join_blocks([found[p].ends.take(slice(k, k + 1)) for p, k in first], n)
    rows = AllRows(
        blocks, sum(each.n_rows for each in found), low.min(axis=0), high.max(axis=0), whole, ends
    )
    totals = [math.fsum(t for each in found for t in each.weights[k]) for k in (0, 1)]
    drawn = join_blocks([each.drawn for each in found], n)
    return rows, drawn if share == 1.0 else _standing_for(drawn, totals)


def _standing_for(drawn: Block, totals: Sequence[float]) -> Block:
    """Multiply the weights of drawn rows, so that each class weighs what all its rows do."""
    cost = drawn.cost.copy()
    for total, sign in zip(totals, (-1.0, 1.0), strict=True):
        mine = drawn.y == sign
        cost[mine] *= total / (math.fsum(cost[mine]) or 1.0)
    return drawn._replace(cost=cost)


def _look(block: Block, share: float) -> _Looked:
    n = block.X.shape[1]
    drawn = sampled(block, share)
    weights = exact_terms(block.cost[block.y < 0]), exact_terms(block.cost[block.y > 0])
    if not len(block.y):
        none = np.full(n, np.inf), np.full(n, -np.inf), np.ones(n, dtype=np.bool_)
        return _Looked(0, *none, weights, drawn, drawn)
    low, high, whole = seen_ranges(list(block.X.T))
    ends = block.take(np.concatenate([block.X.argmin(axis=0), block.X.argmax(axis=0)]))
    return _Looked(len(block.y), low, high, whole, weights, drawn, ends)
