"""Training rows in an order of their own: equal rows merged, all of them sorted by what they hold.

A row of weight 2 counts like two equal rows, a row of weight 0 like none, and the order in which rows were given is
gone before anything is learned from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from clearmargin.exceptions import DataError
from clearmargin.rules.rule import RuleStats
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.row_order import canonical_order
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table
from clearmargin.tables.validation import class_factors

__all__ = ["RowSample", "TrainingRows", "read_rows"]

# Rows that few rules are chosen on, and the fewest of a class among them; the time of a fit grows with their number.
_MOST_ROWS, _LEAST_OF_CLASS = 5_000, 500
# Stands for a missing value where rows are put in order; no table holds it.
_MISSING = 1.7e308


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows that rules are learned from.

    Parameters
    ----------
    given : Table
        The rows as they were given, without those of weight zero and in the order of `values`.
    space : FeatureSpace
        Their features.
    values : ndarray of shape (m, n)
        Numbers and codes, NaN where missing.
    codes : ndarray of int of shape (m,)
        The position of the class of each row.
    classes : ndarray
        The classes.
    sample_weight : ndarray of shape (m,)
        Weights as they were given, added up over equal rows.
    weight : ndarray of shape (m,)
        The same times the weights of classes.
    count : ndarray of int of shape (m,)
        How many rows were given that are equal to each.
    folds : tuple of (train, test)
        Positions of rows; none where a class has a single row.
    """

    given: Table
    space: FeatureSpace
    values: FloatArray
    codes: IntArray
    classes: NDArray[Any]
    sample_weight: FloatArray
    weight: FloatArray
    count: IntArray
    folds: tuple[tuple[IntArray, IntArray], ...]

    @property
    def signs(self) -> FloatArray:
        """-1 or 1 for each score and row: one score with two classes, else one for each class."""
        if len(self.classes) == 2:
            return np.where(self.codes == 1, 1.0, -1.0)[None, :]
        each = np.arange(len(self.classes))[:, None]
        return np.where(self.codes == each, 1.0, -1.0)

    def stats(self, held: BoolArray, code: int) -> RuleStats:
        """Count the rows that a rule covers, and those of a class among them; equal rows count each."""
        count = self.count
        right = held & (self.codes == code)
        return RuleStats(int(count.sum()), int(count[held].sum()), int(count[right].sum()))


@dataclass(frozen=True, slots=True)
class RowSample:
    """Some of the rows, each class with its own share; all of them where these are few.

    Parameters
    ----------
    rows : ndarray of int of shape (s,)
        Their positions, ascending.
    weight : ndarray of shape (s,)
        Factors of their weights: classes weigh as they do among all rows, and an average row as before.
    folds : tuple of (train, test)
        Positions in the sample.
    """

    rows: IntArray
    weight: FloatArray
    folds: tuple[tuple[IntArray, IntArray], ...]

    @classmethod
    def of(cls, training: TrainingRows) -> RowSample:
        """Take every so-many-th row of each class: in the order of hashes a sample without a pattern, of all folds."""
        codes, m = training.codes, len(training.codes)
        if m <= _MOST_ROWS:
            return cls(np.arange(m), np.ones(m), training.folds)
        rows, factor = [], np.ones(m)
        for k in range(len(training.classes)):
            own = np.flatnonzero(codes == k)
            number = min(len(own), max(_LEAST_OF_CLASS, round(_MOST_ROWS * len(own) / m)))
            taken = own[np.arange(number) * len(own) // number]
            factor[taken] = training.weight[own].sum() / training.weight[taken].sum()
            rows.append(taken)
        chosen = np.sort(np.concatenate(rows))
        place = np.full(m, -1, dtype=np.intp)
        place[chosen] = np.arange(len(chosen))
        folds = [
            (place[train][place[train] >= 0], place[test][place[test] >= 0])
            for train, test in training.folds
        ]
        usable = tuple(
            (train, test)
            for train, test in folds
            if len(test) and len(np.unique(codes[chosen[train]])) == len(training.classes)
        )
        return cls(chosen, factor[chosen] * (len(chosen) / m), usable)


def read_rows(
    table: Table,
    labels: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    splitting: Splitting,
) -> TrainingRows:
    """Read training rows, drop those of weight zero, merge equal ones and sort them.

    Parameters
    ----------
    table : Table
        The rows.
    labels : ndarray of shape (m,)
        Their classes.
    sample_weight : array-like of shape (m,) or None
        Weights, at least 0.
    class_weight : mapping, "balanced" or None
        Weights of the classes.
    splitting : Splitting
        How rows are put into folds. Equal rows stay apart where they are in different groups, times or folds.

    Returns
    -------
    TrainingRows
        In an order that does not depend on the one in which they were given.
    """
    given: FloatArray = _check_sample_weight(
        sample_weight, labels, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    classes, codes = np.unique(labels, return_inverse=True)
    codes = codes.ravel()
    factors = class_factors(class_weight, classes, _class_weights(classes, codes, given))
    checked = splitting.checked(len(labels))
    present = np.flatnonzero(given > 0)
    kept = table if len(present) == len(labels) else table.take(present)
    space = kept.space()
    values = space.read(kept)
    _check_finite(kept, values)
    beside = [codes, *(each for each in (checked.groups, checked.times) if each is not None)]
    keys = np.column_stack(
        [np.where(np.isnan(values), _MISSING, values), *(each[present] for each in beside)]
    )
    is_number = isinstance(splitting.cv, int | np.integer)
    parts = () if is_number else _fold_members(checked, table, labels)[:, present]
    order, weight, count = _merged(np.column_stack([keys, *parts]), given[present])
    if is_number:
        folds = _folds(checked, values[order], codes[present[order]], present[order])
    else:
        members = np.array(parts)[:, order] > 0
        folds = tuple(
            (np.flatnonzero(train), np.flatnonzero(test))
            for train, test in zip(members[::2], members[1::2], strict=True)
        )
    rows = codes[present[order]]
    return TrainingRows(
        kept.take(order),
        space,
        values[order],
        rows,
        classes,
        weight,
        weight * factors[rows],
        count,
        folds,
    )


def _class_weights(classes: NDArray[Any], codes: IntArray, weight: FloatArray) -> FloatArray:
    if len(classes) < 2:
        raise DataError(
            f"y holds only one class, {classes.tolist()[0]!r}; a classifier needs two classes to tell apart"
        )
    sums = np.array([math.fsum(weight[codes == k]) for k in range(len(classes))])
    if not sums.all():
        gone = classes.tolist()[int(np.argmin(sums))]
        raise DataError(
            f"sample_weight is zero for all rows of class {gone!r}; leave the class out, or give it weight"
        )
    return sums


def _merged(keys: FloatArray, weight: FloatArray) -> tuple[IntArray, FloatArray, IntArray]:
    """Give the first of each set of equal rows, in the order of hashes, the sums of their weights and their number."""
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    # Weights are added from the smallest on, whatever the order of rows.
    by_weight = np.argsort(weight, kind="stable")
    sums = np.bincount(inverse[by_weight], weights=weight[by_weight]).astype(np.float64)
    order = canonical_order(keys, first)
    return order, sums[inverse[order]], np.bincount(inverse)[inverse[order]]


def _folds(
    splitting: Splitting, values: FloatArray, codes: IntArray, at: IntArray
) -> tuple[tuple[IntArray, IntArray], ...]:
    """Split rows that are in the order of their hashes."""
    if np.bincount(codes).min() < 2 and splitting.groups is None and splitting.times is None:
        return ()
    here = replace(
        splitting,
        groups=None if splitting.groups is None else splitting.groups[at],
        times=None if splitting.times is None else splitting.times[at],
    )
    return here.folds(values, codes).pairs


def _fold_members(splitting: Splitting, table: Table, labels: NDArray[Any]) -> FloatArray:
    """Ask a splitter about the rows as they were given; for each part of each fold, 1 for its rows."""
    pairs = splitting.folds(table, labels).pairs
    members = np.zeros((2 * len(pairs), len(labels)))
    for k, part in enumerate(part for pair in pairs for part in pair):
        members[k, part] = 1.0
    return members


def _check_finite(table: Table, values: FloatArray) -> None:
    wrong = np.isinf(values)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise DataError(
            f"X contains an infinity (inf) in {table.name_row(row)}, column {table.names[column]!r}; "
            "replace it by a number, or by NaN where the value is missing"
        )
