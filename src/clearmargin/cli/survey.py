"""What one pass over a large table tells: its classes, the ranges of its features, and a sample of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.cli.plain_csv import Chunk, NotPlain
from clearmargin.cli.typed_columns import GAPS, is_number
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Survey", "class_values", "survey"]

_MOST_WHOLE = 2.0**53
# More classes than any command takes.
_MOST_TEXTS = 1_000


@dataclass(slots=True)
class Survey:
    """What is known of a table after one pass.

    Parameters
    ----------
    X : ndarray of shape (k, n)
        A sample of the rows, in the order of the table.
    texts : ndarray of int of shape (k,)
        The class of each of them, as its place in `tally`.
    tally : dict from str to int
        How many of all rows each class has.
    whole : ndarray of bool of shape (n,)
        Features that are whole numbers in all rows.
    """

    X: FloatArray
    texts: IntArray
    tally: dict[str, int] = field(default_factory=dict)
    whole: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return sum(self.tally.values())


def survey(chunks: Iterable[Chunk], most: int) -> Survey:
    """Look at every row once, and keep some.

    Each row draws a number, by a fixed seed, and the rows with the smallest numbers stay: every set of rows is equally
    likely. The rows with the smallest and the largest value of each feature stay too, so that the ranges of the sample
    are those of the table.

    Parameters
    ----------
    chunks : iterable of Chunk
        The rows.
    most : int
        How many rows to keep, beside those at the ends of ranges.

    Returns
    -------
    Survey
        Of all rows, where the table has no more than `most`.

    Examples
    --------
    >>> rows = Chunk(np.array([[1.0], [5.0], [3.0]]), np.array([0, 1, 0]), ["ill", "well"])
    >>> survey([rows, rows], 2).tally
    {'ill': 4, 'well': 2}
    """
    rng = np.random.default_rng(0)
    tally: dict[str, int] = {}
    # Row number, drawn number, class, features: what is kept so far, and what holds the ends of ranges.
    kept: NDArray[Any] | None = None
    low: NDArray[Any] | None = None
    high: NDArray[Any] | None = None
    whole: BoolArray | None = None
    start, limit = 0, np.inf
    for X, codes, texts in chunks:
        for text, count in zip(texts, np.bincount(codes, minlength=len(texts)), strict=True):
            tally[text] = tally.get(text, 0) + int(count)
        if len(tally) > _MOST_TEXTS:
            raise NotPlain
        place = np.array([list(tally).index(text) for text in texts])
        drawn = rng.random(len(X))
        rows = partial(_rows, X, drawn, place[codes], start)
        whole = np.ones(X.shape[1], dtype=np.bool_) if whole is None else whole
        whole[whole] = _is_whole(X[:, whole])
        low = _ends(low, rows(X.argmin(axis=0)), np.argmin)
        high = _ends(high, rows(X.argmax(axis=0)), np.argmax)
        more = rows(np.flatnonzero(drawn < limit))
        kept = _smallest(more if kept is None else np.concatenate([kept, more]), most)
        # A row stays only if its number is below those of the rows that fill the sample.
        limit = kept[:, 1].max() if len(kept) == most else np.inf
        start += len(X)
    if kept is None or low is None or high is None or whole is None:
        raise NotPlain
    every = np.concatenate([kept, low, high])
    _, first = np.unique(every[:, 0], return_index=True)
    chosen = every[first]
    return Survey(chosen[:, 3:], chosen[:, 2].astype(np.intp), tally, whole)


def _rows(
    X: FloatArray, drawn: FloatArray, place: IntArray, start: int, which: IntArray
) -> FloatArray:
    """Some rows of a chunk, with their numbers in the table, the numbers they drew, and their classes."""
    return np.column_stack([start + which, drawn[which], place[which], X[which]])


def _smallest(rows: FloatArray, most: int) -> FloatArray:
    return rows if len(rows) <= most else rows[np.argpartition(rows[:, 1], most - 1)[:most]]


def _is_whole(X: FloatArray) -> BoolArray:
    return np.asarray(((np.rint(X) == X) & (np.abs(X) <= _MOST_WHOLE)).all(axis=0))


def _ends(known: FloatArray | None, found: FloatArray, which: Any) -> FloatArray:
    """The rows at one end of the range of each feature, a row for each feature."""
    if known is None:
        return found
    both = np.stack([known, found])
    each = np.arange(len(found))
    better = which(both[:, each, each + 3], axis=0)
    return np.asarray(both[better, each])


def class_values(tally: dict[str, int], *, is_category: bool) -> NDArray[Any]:
    """Read the texts of classes as the careful reader reads the column: whole numbers, or texts.

    Parameters
    ----------
    tally : dict from str to int
        The texts.
    is_category : bool
        Whether the user says that numbers name things here.

    Returns
    -------
    ndarray
        A value for each text.

    Examples
    --------
    >>> class_values({"0": 3, "1": 5}, is_category=False)
    array([0, 1])
    """
    numbers = [is_number(text, ".") for text in tally]
    if any(text in GAPS for text in tally):
        raise NotPlain
    if is_category or not any(numbers):
        # A comma between digits may be a decimal mark.
        if not is_category and any(is_number(text, ",") for text in tally):
            raise NotPlain
        return np.array(list(tally), dtype=object)
    values = np.array(
        [float(text) if known else np.nan for text, known in zip(tally, numbers, strict=True)]
    )
    if not (np.abs(values) <= _MOST_WHOLE).all() or not np.array_equal(values, np.rint(values)):
        raise NotPlain
    return values.astype(np.int64)
