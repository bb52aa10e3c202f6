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
from clearmargin.tables.row_order import hashed_rows
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table
from clearmargin.tables.validation import check_extremes, class_factors

# Rows that few rules are chosen on, and the fewest of a class among them; the time of a fit grows with their number.
_MOST_ROWS, _LEAST_OF_CLASS = 5_000, 500
# Stands for a missing value where rows are put in order; no table holds it.
_MISSING = 1.7e308
Folds = tuple[tuple[IntArray, IntArray], ...]


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows that rules are learned from: `sample_weight` is without, `weight` with the weights of the classes."""

    space: FeatureSpace
    values: FloatArray
    codes: IntArray
    classes: NDArray[Any]
    sample_weight: FloatArray
    weight: FloatArray
    count: IntArray
    folds: Folds = ()

    @property
    def target(self) -> FloatArray:
        """0 or 1 for each score and row: one score with two classes, else one for each class."""
        each = np.arange(len(self.classes))[:, None]
        is_own = self.codes == (each[1:] if len(each) == 2 else each)
        return np.asarray(is_own, dtype=np.float64)

    def stats(self, held: BoolArray, code: int) -> RuleStats:
        """Count the rows that a rule covers, and those of a class among them; equal rows count each."""
        right = held & (self.codes == code)
        counts = self.count.sum(), self.count[held].sum(), self.count[right].sum()
        return RuleStats(*map(int, counts))

    def sample(self) -> tuple[IntArray, FloatArray, Folds]:
        """Give every so-many-th row of each class, factors of their weights, and the folds among them.

        In the order of hashes that is a sample without a pattern. Where rows are few it is all of them.
        """
        codes, m = self.codes, len(self.codes)
        if m <= _MOST_ROWS:
            return np.arange(m), np.ones(m), self.folds
        factor = np.zeros(m)
        for k in range(len(self.classes)):
            own = np.flatnonzero(codes == k)
            number = min(len(own), max(_LEAST_OF_CLASS, round(_MOST_ROWS * len(own) / m)))
            taken = own[np.arange(number) * len(own) // number]
            factor[taken] = self.weight[own].sum() / self.weight[taken].sum()
        chosen = np.flatnonzero(factor)
        place = np.full(m, -1, dtype=np.intp)
        place[chosen] = np.arange(len(chosen))
        parts = [[place[part][place[part] >= 0] for part in pair] for pair in self.folds]
        usable = tuple(
            (train, test)
            for train, test in parts
            if len(test) and len(np.unique(codes[chosen[train]])) == len(self.classes)
        )
        return chosen, factor[chosen] * (len(chosen) / m), usable


def read_rows(
    table: Table,
    labels: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    splitting: Splitting,
) -> TrainingRows:
    """Read training rows, drop those of weight zero, merge equal ones and sort them."""
    given: FloatArray = _check_sample_weight(
        sample_weight, labels, dtype=np.float64, ensure_non_negative=True, copy=True
    )
    classes, codes = np.unique(labels, return_inverse=True)
    codes = codes.ravel()
    if len(classes) < 2:
        raise DataError(
            f"y holds only one class, {classes.tolist()[0]!r}; a classifier needs two classes to tell apart"
        )
    sums = np.array([math.fsum(given[codes == k]) for k in range(len(classes))])
    if not sums.all():
        gone = classes.tolist()[int(np.argmin(sums))]
        raise DataError(
            f"sample_weight is zero for all rows of class {gone!r}; leave the class out, or give it weight"
        )
    factors = class_factors(class_weight, classes, sums)
    checked = splitting.checked(len(labels))
    present = np.flatnonzero(given > 0)
    kept = table if len(present) == len(labels) else table.take(present)
    space = kept.space()
    values = space.read(kept)
    wrong = np.isinf(values)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise DataError(
            f"X contains an infinity (inf) in {kept.name_row(row)}, column {kept.names[column]!r}; "
            "replace it by a number, or by NaN where the value is missing"
        )
    check_extremes(values, None, kept, is_squared=False)
    beside = [each for each in (codes, checked.groups, checked.times) if each is not None]
    keys = [np.where(np.isnan(values), _MISSING, values), *(each[present] for each in beside)]
    is_number = isinstance(splitting.cv, int | np.integer)
    pairs = () if is_number else checked.folds(table, labels).pairs
    # For each part of each fold that was given, 1 for its rows: equal rows of different folds stay apart.
    members = np.zeros((len(labels), 2 * len(pairs)))
    for k, part in enumerate(part for pair in pairs for part in pair):
        members[part, k] = 1.0
    hashes = hashed_rows(np.column_stack([*keys, members[present]]))
    _, first, inverse, count = np.unique(
        hashes, return_index=True, return_inverse=True, return_counts=True
    )
    # Weights are added from the smallest on, whatever the order of rows.
    order = np.argsort(given[present], kind="stable")
    weight = np.bincount(inverse[order], weights=given[present][order]).astype(np.float64)
    at = present[first]
    if is_number:
        folds = _folds(checked, values[first], codes[at], at)
    else:
        parts = [np.flatnonzero(column) for column in members[at].T]
        folds = tuple(zip(parts[::2], parts[1::2], strict=True))
    weights = weight * factors[codes[at]]
    return TrainingRows(
        space, values[first], codes[at], classes, weight, weights, count.astype(np.intp), folds
    )


def _folds(splitting: Splitting, values: FloatArray, codes: IntArray, at: IntArray) -> Folds:
    """Split rows that are in the order of their hashes."""
    if np.bincount(codes).min() < 2 and splitting.groups is None and splitting.times is None:
        return ()
    here = replace(
        splitting,
        groups=None if splitting.groups is None else splitting.groups[at],
        times=None if splitting.times is None else splitting.times[at],
    )
    return here.folds(values, codes).pairs
