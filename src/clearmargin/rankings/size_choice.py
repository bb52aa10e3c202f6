"""How well properties of ends of some size hold up on rows that had no part in finding them: ``top="cv"``.

Small ends give large leverages that other rows do not repeat, large ends give small ones that they do. The paper
(Salleb-Aouissi, Huang and Waltz 2009, section 5) leaves the choice to cross-validation, by the mean leverage or by the
accuracy of the rules. In each fold the rows of the training part are ranked by a model of their own, their ends at a
share q are searched, and what is found is measured on the test part:

leverage
    the ends of the test part at the same share q, ranked by the same model: with a of the top rows and b of the bottom
    rows having the property, as shares, ``(a - b) / 4`` for a property of the top, ``(b - a) / 4`` for one of the
    bottom. It needs no labels.
accuracy
    the labels of the test part: with a of the positive and b of the other rows having the property, as shares,
    ``a / (a + b)`` for a property of the top, ``b / (a + b)`` for one of the bottom. It is the share of rows with the
    property that are of the class announced, were both classes equally frequent, as they are to the ranker.

The figure of a fold is the mean over the properties found, or that of a worthless property (0, and 1/2) where none is;
the figure of a size is the mean over folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from clearmargin.rankings.ends import Ends, find_ends
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rankings.significance import cover
from clearmargin.rule_base.leverage_search import Contrast, Found
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["SIZE_CRITERIA", "RankedFold", "hold_up", "share_ends"]

#: What a size may be chosen by, and the figure of a property that is worth nothing.
SIZE_CRITERIA = {"leverage": 0.0, "accuracy": 0.5}


@dataclass(frozen=True, slots=True, eq=False)
class RankedFold:
    """Training and test rows of a fold, all ranked by a model of the training rows.

    Parameters
    ----------
    train, test : ndarray of int
        Rows of the table.
    train_scores, test_scores : ndarray
        The score of each.
    """

    train: IntArray
    test: IntArray
    train_scores: FloatArray
    test_scores: FloatArray


def share_ends(rows: IntArray, scores: FloatArray, share: float) -> Ends | None:
    """Find the ends of some ranked rows, each of at least one row; None for scores that rank nothing.

    Examples
    --------
    >>> ends = share_ends(np.array([7, 8, 9]), np.array([0.5, 2.0, 1.0]), 0.27)
    >>> ends.top, ends.bottom
    (array([8]), array([7]))
    """
    if len(rows) < 2 or scores.min() == scores.max():
        return None
    size = max(1, int(Fraction(repr(share)) * len(rows)))
    return find_ends(scores, size, size).among(rows)


def hold_up(
    table: PropertyTable,
    folds: Sequence[RankedFold],
    search: Callable[[Contrast], Found],
    share: float,
    is_positive: BoolArray | None = None,
) -> tuple[float, float]:
    """Measure on the test parts of folds what is found at the ends of their training parts.

    Parameters
    ----------
    table : PropertyTable
        The properties of all rows.
    folds : sequence of RankedFold
        The folds.
    search : callable
        Finds the properties that set two ends apart.
    share : float
        Size of each end.
    is_positive : ndarray of bool of shape (m,), optional
        The labels of all rows, for the accuracy; without them it is the leverage that is measured.

    Returns
    -------
    found : float
        Mean number of properties found.
    score : float
        Mean figure on the test parts.
    """
    worthless = SIZE_CRITERIA["leverage" if is_positive is None else "accuracy"]
    counts, scores = [], []
    for fold in folds:
        ends = share_ends(fold.train, fold.train_scores, share)
        found, values = None, np.empty(0)
        if ends is not None:
            contrast = Contrast.of(table.masks, ends.top, ends.bottom, table.attribute)
            found = search(contrast)
            is_top = np.asarray(contrast.product(found.top, found.bottom) > 0)
            if is_positive is None:
                values = _leverages(table, found, is_top, fold, share)
            else:
                values = _accuracies(table, found, is_top, fold, is_positive)
        counts.append(0 if found is None else len(found))
        scores.append(float(values.mean()) if len(values) else worthless)
    return float(np.mean(counts)), float(np.mean(scores))


def _leverages(
    table: PropertyTable, found: Found, is_top: BoolArray, fold: RankedFold, share: float
) -> FloatArray:
    ends = share_ends(fold.test, fold.test_scores, share)
    if ends is None:
        return np.zeros(len(found))
    at_top, at_bottom = (cover(table, found, rows).mean(axis=1) for rows in (ends.top, ends.bottom))
    return np.asarray(np.where(is_top, 1.0, -1.0) * (at_top - at_bottom) / 4.0)


def _accuracies(
    table: PropertyTable, found: Found, is_top: BoolArray, fold: RankedFold, is_positive: BoolArray
) -> FloatArray:
    positive = is_positive[fold.test]
    accuracies = np.full(len(found), SIZE_CRITERIA["accuracy"])
    if positive.all() or not positive.any():
        return accuracies
    covered = cover(table, found, fold.test)
    among = covered[:, positive].mean(axis=1), covered[:, ~positive].mean(axis=1)
    right, total = np.where(is_top, *among), among[0] + among[1]
    np.divide(right, total, out=accuracies, where=total > 0)
    return accuracies
