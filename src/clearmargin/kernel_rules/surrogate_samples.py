"""The rows on which a surrogate learns what a model says."""

from __future__ import annotations

import numpy as np

from clearmargin.rule_base.task import ExtractionTask, SupportVectors
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["LabelledRows", "mean_distance", "near_support", "near_training", "seen_columns"]

LabelledRows = tuple[FloatArray, IntArray, FloatArray]

# Around a training row points are drawn with this share of each column's standard deviation.
_SPREAD = 0.3
# So many rows show whether a column matters to the model.
_ROWS_TRIED = 500
# ALBA draws from half the mean distance to both sides together (Martens et al. 2009).
_ALBA_WIDTH = 0.5


def near_support(task: ExtractionTask, support: SupportVectors, count: int) -> FloatArray:
    """Draw rows close to support vectors, as ALBA does.

    Around a support vector drawn at random, each column moves by up to a quarter of the mean distance between training
    rows and support vectors in that column. Columns of categories stay as the support vector has them.

    Parameters
    ----------
    task : ExtractionTask
        The training rows.
    support : SupportVectors
        The support vectors.
    count : int
        How many rows.

    Returns
    -------
    ndarray of shape (count, n)
        Encoded rows within the range of the training rows.
    """
    reach = np.array(
        [
            mean_distance(column, vectors)
            for column, vectors in zip(task.points.T, support.points.T, strict=True)
        ]
    )
    start = support.points[task.random.randint(len(support.points), size=count)]
    moves = (task.random.uniform(size=start.shape) - 0.5) * reach * _ALBA_WIDTH
    return _as_rows(task, start, np.where(_named(task), 0.0, moves))


def mean_distance(x: FloatArray, s: FloatArray) -> float:
    """Give the mean of |x_i - s_j| over all pairs, without a table of all pairs.

    Parameters
    ----------
    x, s : ndarray of shape (m,) and (k,)
        Numbers.

    Returns
    -------
    float
        The mean distance.

    Examples
    --------
    >>> mean_distance(np.array([0.0, 1.0]), np.array([3.0, 5.0]))
    3.5
    """
    ordered = np.sort(s)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, x)
    total = x * (2 * below - len(s)) - 2.0 * sums[below] + sums[-1]
    return float(total.mean() / len(s))


def near_training(task: ExtractionTask, count: int) -> FloatArray:
    """Draw rows between training rows and around them, half and half.

    Parameters
    ----------
    task : ExtractionTask
        The training rows.
    count : int
        How many rows.

    Returns
    -------
    ndarray of shape (count, n)
        Encoded rows within the range of the training rows.
    """
    m = len(task.points)
    start = task.points[task.random.randint(m, size=count)]
    other = task.points[task.random.randint(m, size=count)]
    between = task.random.uniform(size=(count, 1)) * (other - start)
    around = task.random.normal(size=start.shape) * task.points.std(axis=0) * _SPREAD
    moves = np.where(np.arange(count)[:, None] % 2 == 0, between, around)
    return _as_rows(task, start, np.where(_named(task), 0.0, moves))


def seen_columns(task: ExtractionTask) -> BoolArray:
    """Tell which columns the model looks at: those that change its word on some row if they are shuffled.

    A surrogate that splits on another column explains the model by what it does not know.

    Parameters
    ----------
    task : ExtractionTask
        The training rows and the model.

    Returns
    -------
    ndarray of bool of shape (n,)
        All true if the model says the same of all rows tried.
    """
    half = min(_ROWS_TRIED // 2, len(task.points))
    some = task.points[task.random.permutation(len(task.points))[:half]]
    rows = np.vstack([some, near_training(task, half)])
    said = task.ask(rows)
    seen = np.zeros(rows.shape[1], dtype=np.bool_)
    features = np.array([source.feature for source in task.encoding.sources], dtype=np.intp)
    for feature in np.unique(features):
        own = features == feature
        changed = rows.copy()
        # The columns of a categorical feature move together, so that each row still has one category.
        changed[:, own] = rows[task.random.permutation(len(rows))][:, own]
        seen[own] = bool((task.ask(changed) != said).any())
    return seen if seen.any() else np.ones_like(seen)


def _named(task: ExtractionTask) -> BoolArray:
    return np.array([source.code is not None for source in task.encoding.sources], dtype=np.bool_)


def _as_rows(task: ExtractionTask, start: FloatArray, moves: FloatArray) -> FloatArray:
    """Rows that could be rows of the table: within the ranges, whole numbers where the table has whole numbers."""
    rows = np.clip(start + moves, task.lower, task.upper)
    return np.where(task.encoding.columns.integer, np.rint(rows), rows)
