"""The two ends of a ranking: which rows are at the top and at the bottom, and how many rows to take.

Taking the size with the most properties, as the paper does, favours the smallest ends, where chance alone makes
leverages large. So "auto" counts only properties that also pass Holm's test at their size. "cv" is what the paper
proposes in its outlook: properties are found on part of the rows, and the size is best at which they hold up on the
others (`size_choice`). Either way several sizes were looked at, and whoever reports what was found at the best of them
has to count that: corrections multiply by their number. And whoever confirms on held-out labels has to choose without
them: each fold chooses for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.property_listing import Listing
from clearmargin.rules.value import FloatArray, IntArray

__all__ = [
    "AUTO_SIZES",
    "FEWEST_ROWS",
    "Ends",
    "candidate_sizes",
    "choose_size",
    "end_size",
    "find_ends",
]


# With fewer rows the ends of a ranking are a few cases, from which nothing can be concluded about others.
FEWEST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last rows of a ranking.

    Parameters
    ----------
    top, bottom : ndarray of int
        Row numbers; the top from the best down, the bottom from the worst up.
    top_ties, bottom_ties : int
        How many rows outside have the same score as the last one inside: the order of the table decided that those
        are in and these are not.

    Examples
    --------
    >>> ends = find_ends(np.array([3.0, 1.0, 2.0, 2.0] * 5), top=0.25, bottom=2)
    >>> ends.top.tolist(), ends.bottom.tolist(), ends.bottom_ties
    ([0, 4, 8, 12, 16], [17, 13], 3)
    """

    top: IntArray
    bottom: IntArray
    top_ties: int
    bottom_ties: int

    def among(self, rows: IntArray) -> Ends:
        """Give the ends of some rows of a table as rows of the whole table."""
        return replace(self, top=rows[self.top], bottom=rows[self.bottom])


def end_size(size: object, rows: int, name: str) -> int:
    """Return the number of rows of an end: a share, rounded down exactly as the decimal that it reads as, or a count.

    Examples
    --------
    >>> end_size(0.05, 1419, "top"), end_size(0.29, 100, "top"), end_size(7, 100, "top")
    (70, 29, 7)
    """
    if isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1:
        count = int(size)
    elif isinstance(size, Real) and not isinstance(size, Integral) and 0 < float(size) < 1:
        count = int(Fraction(repr(float(size))) * rows)
    else:
        raise InvalidValueError(
            f"{name} must be a share between 0 and 1, a number of rows from 1, 'auto' or 'cv', not {size!r}"
        )
    if count < 1:
        raise InvalidValueError(
            f"{name}={size!r} of {rows} rows is not even one row; give a larger share or a number of rows"
        )
    return count


def find_ends(scores: ArrayLike, top: object, bottom: object) -> Ends:
    """Find the rows at both ends of a ranking, the highest score first.

    Parameters
    ----------
    scores : array-like of shape (m,)
        One score a row.
    top, bottom : float or int
        Size of each end: a share of the rows, or their number.

    Returns
    -------
    Ends
        Rows with equal scores stand in the order of the table.
    """
    values = np.asarray(scores, dtype=np.float64)
    _check_scores(values)
    n_top, n_bottom = end_size(top, len(values), "top"), end_size(bottom, len(values), "bottom")
    if n_top + n_bottom > len(values):
        raise InvalidValueError(
            f"top={top!r} and bottom={bottom!r} are {n_top} and {n_bottom} of {len(values)} rows: they overlap; "
            "make one of them smaller"
        )
    order = np.argsort(-values, kind="stable")
    first, last = order[:n_top], order[::-1][:n_bottom]
    ties = (
        int((values[order[n_top:]] == values[first[-1]]).sum()),
        int((values[order[: len(values) - n_bottom]] == values[last[-1]]).sum()),
    )
    return Ends(first, last, *ties)


def _check_scores(values: FloatArray) -> None:
    if values.ndim != 1:
        raise DataError(f"scores are one number a row, not an array of shape {values.shape}")
    if len(values) < 2:
        raise DataError(
            f"a ranking of n_samples = {len(values)} has no two ends; give at least 2 rows"
        )
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            f"the score of row {wrong[0] + 1} is {values[wrong[0]]}; rows without a score cannot be ranked, drop them"
        )
    if values.min() == values.max():
        raise DataError("all rows have the same score: there is no ranking to contrast")


# Up to 27 %, where the difference between the ends is easiest to tell from chance.
AUTO_SIZES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.27)
# With fewer rows nothing passes Holm's test.
_LEAST = 5


def candidate_sizes(rows: int) -> list[float]:
    """Return the shares of `AUTO_SIZES` that are at least 5 rows of a table; the largest one where none is.

    Examples
    --------
    >>> candidate_sizes(50), candidate_sizes(10)
    ([0.1, 0.15, 0.2, 0.27], [0.27])
    """
    usable = [q for q in AUTO_SIZES if rows * q >= 1 and end_size(q, rows, "top") >= _LEAST]
    return usable or [AUTO_SIZES[-1]]


def choose_size(
    scores: FloatArray, columns: Sequence[str], measure: Callable[[float], Sequence[float]]
) -> tuple[float, Listing]:
    """Choose the share of the rows at each end.

    Parameters
    ----------
    scores : ndarray of shape (m,)
        The ranking.
    columns : sequence of str
        What is measured at each share.
    measure : callable
        Gives it; the last figure decides.

    Returns
    -------
    share : float
        The share with the largest last figure; of equal ones the largest.
    sizes : Listing
        What was measured at each share.
    """
    find_ends(scores, AUTO_SIZES[-1], AUTO_SIZES[-1])  # says what is wrong with the scores
    shares = candidate_sizes(len(scores))
    rows = [(q, end_size(q, len(scores), "top"), *measure(q)) for q in shares]
    names = ("share", "rows", *columns)
    listed = {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    best = max(range(len(rows)), key=lambda k: (rows[k][-1], shares[k]))
    return shares[best], Listing({**listed, "chosen": np.arange(len(rows)) == best})
