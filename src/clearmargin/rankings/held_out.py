"""Has a property to do with the label, or only with the ranking? Asked of labels that the ranking has not seen.

A ranking is made of the same attributes as the properties, so that its top and its bottom differ in some of them
whatever the labels are: on labels that are pure noise, a quarter of fifty attributes pass every test of top against
bottom, and ranks of held-out rows are no better. Only labels can tell. So one half of the rows is ranked and searched
for candidates, and each candidate is tested on the labels of the other half, in the direction that it announced; then
the halves change places. Holm's correction counts all candidates of a half, and a factor of two that there are two
halves. Other folds than halves are treated in the same way, with a factor of their number.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from clearmargin.rankings.evidence import held_out_test
from clearmargin.rankings.properties import PropertyTable
from clearmargin.rankings.significance import holm
from clearmargin.rule_base.leverage_search import Found
from clearmargin.tables.splitting import Folds

__all__ = ["Explore", "Items", "cover", "held_out_p"]

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
FloatArray = NDArray[np.float64]
Items = tuple[int, ...]


class Explore(Protocol):
    """Ranks some rows by their labels, and judges the ranking by other rows."""

    def __call__(self, train: IntArray, test: IntArray) -> tuple[Found, BoolArray, float]:
        """Give candidates that set the ends of the training rows apart, which end each speaks of, and an area.

        The area is that under the ROC curve of the ranking on the test rows; NaN where these have one label only.
        """


def held_out_p(
    table: PropertyTable, is_positive: BoolArray, explore: Explore, folds: Folds
) -> tuple[dict[tuple[Items, bool], float], FloatArray]:
    """Test the candidates of the training part of each fold on the labels of its test part.

    Parameters
    ----------
    table : PropertyTable
        The properties of all rows; their bins know no labels.
    is_positive : ndarray of bool of shape (m,)
        The labels.
    explore : callable
        Ranks some rows and gives the candidates that set their ends apart, and which end each speaks of.
    folds : Folds
        Training and test parts.

    Returns
    -------
    p : dict
        For each candidate, as its items and whether it speaks of the top, its corrected p-value.
    auc : ndarray of shape (k,)
        For each fold, the area under the ROC curve on its test part.
    """
    best: dict[tuple[Items, bool], float] = {}
    areas = []
    for train, test in folds.pairs:
        found, is_top, auc = explore(train, test)
        areas.append(auc)
        if not len(found):
            continue
        covered = cover(table, found, test)
        p = holm(held_out_test(is_top, covered, is_positive[test]))
        for items, side, value in zip(
            found.items.tolist(), is_top.tolist(), p.tolist(), strict=True
        ):
            key = tuple(i for i in items if i >= 0), side
            best[key] = min(best.get(key, 1.0), len(folds) * value)
    return best, np.array(areas)


def cover(table: PropertyTable, found: Found, rows: IntArray) -> BoolArray:
    """Which of some rows have each conjunction, one row of the answer each."""
    masks = np.vstack([table.masks[:, rows], np.ones((1, len(rows)), dtype=np.bool_)])
    covered = masks[found.items[:, 0]]
    for j in range(1, found.items.shape[1]):
        covered &= masks[found.items[:, j]]  # -1 is the row of ones
    return covered
