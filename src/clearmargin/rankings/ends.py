"""The two ends of a ranking: which rows are at the top and at the bottom, and how many rows to take.

Taking the size with the most properties, as the paper does, favours the smallest ends, where chance alone makes
leverages large. So "auto" counts only properties that also pass Holm's test at their size. "cv" is what the paper
proposes in its outlook: properties are found on part of the rows, and the size is best at which they hold up on the
others. Either way several sizes were looked at, and whoever reports what was found at the best of them
has to count that: corrections multiply by their number. And whoever confirms on held-out labels has to choose without
them: each fold chooses for itself.

How well properties hold up on rows that had no part in finding them, for ``top="cv"``: small ends give large leverages
that other rows do not repeat, large ends give small ones that they do. In each fold the rows of the training part are
ranked by a model of their own, their ends at a share q are searched, and what is found is measured at the ends of the
test part at the same share q, ranked by the same model: with a of the top rows and b of the bottom rows having the
property, as shares, ``(a - b) / 4`` for a property of the top, ``(b - a) / 4`` for one of the bottom. The figure of a
fold is the mean over the properties found, 0 where none is; that of a size is the mean over folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings.properties import Listing, PropertyTable
from clearmargin.rankings.significance import cover
from clearmargin.rule_base.leverage_search import Contrast, Found
from clearmargin.rules.value import FloatArray, IntArray

# With fewer rows the ends of a ranking are a few cases, from which nothing can be concluded about others.
FEWEST_ROWS = 20


@dataclass(frozen=True, slots=True)
class Ends:
    """The first and the last rows of a ranking."""

    top: IntArray
    bottom: IntArray
    top_ties: int
    bottom_ties: int

    def among(self, rows: IntArray) -> Ends:
        """Give the ends of some rows of a table as rows of the whole table."""
        return replace(self, top=rows[self.top], bottom=rows[self.bottom])

    def contrast(self, table: PropertyTable) -> Contrast:
        """Give the properties that rows of the ends have."""
        return Contrast.of(table.masks, self.top, self.bottom, table.attribute)


def end_size(size: object, rows: int, name: str) -> int:
    """Return the number of rows of an end: a count, or a share rounded down as its decimal."""
    if isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1:
        count = int(size)
    elif isinstance(size, Real) and not isinstance(size, Integral) and 0 < float(size) < 1:
        count = int(Fraction(repr(float(size))) * rows)
        if rows < FEWEST_ROWS:  # of which nothing is concluded anyway
            count = max(1, count)
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
    """Find the rows at both ends of a ranking, the highest score first."""
    values = np.asarray(scores, dtype=np.float64)
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


# Up to 27 %, where the difference between the ends is easiest to tell from chance.
AUTO_SIZES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.27)
# With fewer rows nothing passes Holm's test.
_LEAST = 5


def candidate_sizes(rows: int) -> list[float]:
    """Return the shares of `AUTO_SIZES` that are at least 5 rows of a table; the largest one where none is."""
    usable = [q for q in AUTO_SIZES if rows * q >= 1 and end_size(q, rows, "top") >= _LEAST]
    return usable or [AUTO_SIZES[-1]]


def choose_size(
    scores: FloatArray, columns: Sequence[str], measure: Callable[[float], Sequence[float]]
) -> tuple[float, Listing]:
    """Choose the share of the rows at each end."""
    find_ends(scores, AUTO_SIZES[-1], AUTO_SIZES[-1])  # says what is wrong with the scores
    shares = candidate_sizes(len(scores))
    rows = [(q, end_size(q, len(scores), "top"), *measure(q)) for q in shares]
    names = ("share", "rows", *columns)
    listed = {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    best = max(range(len(rows)), key=lambda k: (rows[k][-1], shares[k]))
    return shares[best], Listing({**listed, "chosen": np.arange(len(rows)) == best})


@dataclass(frozen=True, slots=True, eq=False)
class RankedFold:
    """Training and test rows of a fold, all ranked by a model of the training rows."""

    train: IntArray
    test: IntArray
    train_scores: FloatArray
    test_scores: FloatArray


def share_ends(rows: IntArray, scores: FloatArray, share: float) -> Ends | None:
    """Find the ends of some ranked rows, each of at least one row; None for scores that rank nothing."""
    if len(rows) < 2 or scores.min() == scores.max():
        return None
    size = max(1, int(Fraction(repr(share)) * len(rows)))
    return find_ends(scores, size, size).among(rows)


def hold_up(
    table: PropertyTable,
    folds: Sequence[RankedFold],
    search: Callable[[Contrast], Found],
    share: float,
) -> tuple[float, float]:
    """Count what is found at the ends of the training parts of folds, and measure it at those of their test parts."""
    counts, scores = [], []
    for fold in folds:
        ends = share_ends(fold.train, fold.train_scores, share)
        others = share_ends(fold.test, fold.test_scores, share)
        count, values = 0, np.empty(0)
        if ends is not None:
            contrast = ends.contrast(table)
            found = search(contrast)
            count = len(found)
        if ends is not None and others is not None:
            side = np.where(contrast.product(found.top, found.bottom) > 0, 1.0, -1.0)
            at_top, at_bottom = (
                cover(table, found, rows).mean(axis=1) for rows in (others.top, others.bottom)
            )
            values = side * (at_top - at_bottom) / 4.0
        counts.append(count)
        scores.append(float(values.mean()) if len(values) else 0.0)
    return float(np.mean(counts)), float(np.mean(scores))
