"""What one pass over a large table tells: its classes, the ranges of its features, and a sample of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.blocks import Block, TableBlocks, WholeTableNeeded
from clearmargin.tables.typed_columns import MAX_EXACT_INTEGER, is_number

__all__ = ["Survey", "class_values", "survey"]

# More classes than any command takes.
_MAX_CLASSES = 1_000


@dataclass(slots=True)
class Survey:
    """What is known of a table after one pass.

    Parameters
    ----------
    X : ndarray of shape (k, n)
        A sample of the rows, in the order of the table.
    codes : ndarray of int of shape (k,)
        The class of each of them, as its place in `n_rows_of`.
    n_rows_of : dict from str to int
        How many of all rows each class has.
    whole : ndarray of bool of shape (n,)
        Features that are whole numbers in all rows.
    """

    X: FloatArray
    codes: IntArray
    n_rows_of: dict[str, int] = field(default_factory=dict)
    whole: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return sum(self.n_rows_of.values())


def survey(blocks: Iterable[Block], max_rows: int) -> Survey:
    """Look at every row once, and keep some.

    Each row draws a number, by a fixed seed, and the rows with the smallest numbers stay: every set of rows is equally
    likely. The rows with the smallest and the largest value of each feature stay too, so that the ranges of the sample
    are those of the table.

    Parameters
    ----------
    blocks : iterable of Block
        The rows.
    max_rows : int
        How many rows to keep, beside those at the ends of ranges.

    Returns
    -------
    Survey
        Of all rows, where the table has no more than `max_rows`.

    Examples
    --------
    >>> rows = Block(np.array([[1.0], [5.0], [3.0]]), np.array([0, 1, 0]), ["ill", "well"])
    >>> survey([rows, rows], 2).n_rows_of
    {'ill': 4, 'well': 2}
    """
    rng = np.random.default_rng(0)
    n_rows_of: dict[str, int] = {}
    # Row number, drawn number, class, features: what is kept so far, and what holds the ends of ranges.
    kept: NDArray[Any] | None = None
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    whole: BoolArray | None = None
    start, limit = 0, np.inf
    for X, codes, texts in blocks:
        for text, count in zip(texts, np.bincount(codes, minlength=len(texts)), strict=True):
            n_rows_of[text] = n_rows_of.get(text, 0) + int(count)
        if len(n_rows_of) > _MAX_CLASSES:
            raise WholeTableNeeded
        place = np.array([list(n_rows_of).index(text) for text in texts])
        drawn = rng.random(len(X))
        rows = partial(_rows, X, drawn, place[codes], start)
        whole = np.ones(X.shape[1], dtype=np.bool_) if whole is None else whole
        whole[whole] = _is_whole(X[:, whole])
        low = _ends(low, rows(X.argmin(axis=0)), np.argmin)
        high = _ends(high, rows(X.argmax(axis=0)), np.argmax)
        more = rows(np.flatnonzero(drawn < limit))
        kept = _smallest(more if kept is None else np.concatenate([kept, more]), max_rows)
        # A row stays only if its number is below those of the rows that fill the sample.
        limit = kept[:, 1].max() if len(kept) == max_rows else np.inf
        start += len(X)
    if kept is None or low is None or high is None or whole is None:
        raise WholeTableNeeded
    every = np.concatenate([kept, low, high])
    _, first = np.unique(every[:, 0], return_index=True)
    chosen = every[first]
    return Survey(chosen[:, 3:], chosen[:, 2].astype(np.intp), n_rows_of, whole)


def _rows(
    X: FloatArray, drawn: FloatArray, place: IntArray, start: int, which: IntArray
) -> FloatArray:
    """Take rows of a block, with their numbers in the table, the numbers they drew, and their classes."""
    return np.column_stack([start + which, drawn[which], place[which], X[which]])


def _smallest(rows: FloatArray, n: int) -> FloatArray:
    return rows if len(rows) <= n else rows[np.argpartition(rows[:, 1], n - 1)[:n]]


def _is_whole(X: FloatArray) -> BoolArray:
    return np.asarray(((np.rint(X) == X) & (np.abs(X) <= MAX_EXACT_INTEGER)).all(axis=0))


def _ends(known: FloatArray | None, found: FloatArray, which: Any) -> FloatArray:
    """Return the rows at one end of the range of each feature, a row for each feature."""
    if known is None:
        return found
    both = np.stack([known, found])
    each = np.arange(len(found))
    better = which(both[:, each, each + 3], axis=0)
    return np.asarray(both[better, each])


def class_values(table: TableBlocks, texts: Sequence[str]) -> NDArray[Any]:
    """Read the texts of classes as `read_file` reads the column: whole numbers, or texts.

    Parameters
    ----------
    table : TableBlocks
        Where they come from.
    texts : sequence of str
        The different texts of all rows.

    Returns
    -------
    ndarray
        A value for each text.
    """
    if any(text in table.missing for text in texts):
        raise WholeTableNeeded
    is_numeric = [is_number(text, ".") for text in texts]
    if table.has_text_classes:
        return np.array(texts, dtype=object)
    if not any(is_numeric):
        # A comma between digits may be a decimal mark.
        if any(is_number(text, ",") for text in texts):
            raise WholeTableNeeded
        return np.array(texts, dtype=object)
    values = np.array(
        [float(text) if is_one else np.nan for text, is_one in zip(texts, is_numeric, strict=True)]
    )
    if not (np.abs(values) <= MAX_EXACT_INTEGER).all() or not np.array_equal(
        values, np.rint(values)
    ):
        raise WholeTableNeeded
    return values.astype(np.int64)
