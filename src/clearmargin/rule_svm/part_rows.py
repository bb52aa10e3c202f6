"""Rows of a table in partitions that a machine over rules is trained on: all of them where they fit, else a sample.

A machine over rules needs its rows at hand. Of a table with few *different* rows, such as one of categories and small
whole numbers, each of them is brought here once, with the weight of all rows that are equal to it: the machine is that
of all rows. Of other tables a sample is brought: rows are drawn by their keys, each class with a share of its own, so
that a rare class has a tenth of the sample if it can, and rows of a class weigh what all its rows weigh.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.csv_text import Texts
from clearmargin.tables.part_survey import TableParts, TableSurvey
from clearmargin.tables.partitions import row_keys
from clearmargin.tables.row_order import hashed_rows
from clearmargin.tables.table import Table
from clearmargin.tables.table_part import TablePart, join_parts

__all__ = ["MAX_ROWS", "PartRows", "read_part_rows", "weighing_rows"]

# Rows that are brought here at most: 16 MB of 20 columns.
MAX_ROWS = 100_000
# The least share of a class in a sample, of a class that has the rows.
_LEAST_SHARE = 0.1
# Of so many different rows among those of a sample nobody has to ask whether all rows have few.
_MANY_DIFFERENT = 0.8


class PartRows(NamedTuple):
    """Rows for training.

    Parameters
    ----------
    table : Table
        The features.
    labels : ndarray of shape (m,)
        The classes.
    weight : ndarray of shape (m,)
        How much each row counts.
    n_rows : int
        How many rows of the table they are: equal ones are one row here.
    """

    table: Table
    labels: NDArray[Any]
    weight: FloatArray
    n_rows: int


def read_part_rows(parts: TableParts, most: int = MAX_ROWS) -> PartRows:
    """Bring the rows of a table here, equal ones as one, or a sample of them.

    Parameters
    ----------
    parts : TableParts
        The table, with its target.
    most : int, default 100,000
        Most rows to bring.

    Returns
    -------
    PartRows
        Rows for training.
    """
    survey = parts.survey()
    _check(parts, survey)
    drawn = _draw(parts, survey, most)
    weight = _own_weight(drawn, parts.weight)
    if survey.n_rows <= most:
        return _rows(parts, survey, drawn, weight, survey.n_rows)
    if _n_different(drawn) < _MANY_DIFFERENT * len(drawn.rows):
        found = parts.map(_different_rows, common=(parts.weight, most))
        known = [each for each in found if each is not None]
        if len(known) == len(found):
            merged = _merged(known, parts.weight)
            if len(merged[0].rows) <= most:
                return _rows(parts, survey, *merged, survey.n_rows)
    labels = _labels(drawn, parts, survey)
    for label, total in zip(survey.labels, survey.class_weights.tolist(), strict=True):
        is_it = labels == label
        weight[is_it] *= total / math.fsum(weight[is_it])
    return _rows(parts, survey, drawn, weight, len(drawn.rows))


def weighing_rows(part: TablePart, weight: str) -> TablePart:
    """Leave out the rows of a partition that weigh nothing."""
    return part.take(_own_weight(part, weight) > 0)


def _check(parts: TableParts, survey: TableSurvey) -> None:
    """Raise if rows lack a class, there is only one, or a number is infinite."""
    survey.check_target()
    survey.check_weights()
    for name in parts.names:
        facts = survey.columns[name]
        if facts.infinite:
            raise DataError(
                f"X contains an infinity (inf) in {facts.infinite}, column {name!r}; replace it by a number, or by NaN "
                "where the value is missing"
            )


def _draw(parts: TableParts, survey: TableSurvey, most: int) -> TablePart:
    """Draw rows that weigh something: all of a class, should chance leave it out."""
    shares = _shares(survey, most)
    while True:
        drawn = join_parts(parts.map(_drawn, common=(parts.target, shares, parts.weight)))
        met = set(_labels(drawn, parts, survey).tolist())
        left_out = [label for label in shares if label not in met]
        if not left_out:
            return drawn
        shares.update(dict.fromkeys(left_out, 1.0))


def _shares(survey: TableSurvey, most: int) -> dict[Any, float]:
    """Give the share of the rows of each class that a sample takes."""
    counts = survey.class_counts
    if counts.sum() <= most:
        return {each.label: 1.0 for each in survey.classes}
    wanted = np.maximum(most * counts / counts.sum(), _LEAST_SHARE * most)
    wanted *= most / wanted.sum()
    shares = np.minimum(1.0, wanted / counts)
    return {each.label: share for each, share in zip(survey.classes, shares.tolist(), strict=True)}


def _drawn(
    part: TablePart, target: str, shares: Mapping[Any, float], weight: str | None
) -> TablePart:
    """Draw rows of a partition, by their keys."""
    values = part.column(target)
    if isinstance(values, Texts):
        share = np.array([*(shares.get(text, 0.0) for text in values.distinct), 0.0])[values.codes]
    else:
        share = np.zeros(len(values))
        for label, each in shares.items():
            share[values == label] = each
    chosen = row_keys(part.rows) < share
    return part.take(chosen if weight is None else chosen & (_own_weight(part, weight) > 0))


def _own_weight(part: TablePart, weight: str | None) -> FloatArray:
    return np.ones(len(part.rows)) if weight is None else part.numbers([weight])[:, 0]


def _n_different(part: TablePart) -> int:
    return len(np.unique(hashed_rows(_words(part, None))))


def _words(part: TablePart, weight: str | None) -> FloatArray:
    """Give all that tells rows apart, as numbers: the values, codes of texts."""
    columns = [
        values.codes if isinstance(values, Texts) else values
        for name, values in part.columns.items()
        if name != weight
    ]
    return np.column_stack([np.asarray(each, dtype=np.float64) for each in columns])


def _different_rows(
    part: TablePart, weight: str | None, most: int
) -> tuple[TablePart, FloatArray] | None:
    """Give one of each set of equal rows of a partition, and what they weigh; None where there are too many."""
    weights = _own_weight(part, weight)
    words = _words(part, weight)
    _, first, place = np.unique(hashed_rows(words), return_index=True, return_inverse=True)
    if len(first) > most or not _is_equal(words, words[first][place]).all():
        return None  # also where two different rows have one hash, which nobody will see
    sums = _sums(place.ravel(), weights, len(first))
    # The rows as they stand in the table.
    by_row: IntArray = np.argsort(first, kind="stable")
    return part.take(first[by_row]), sums[by_row]


def _is_equal(a: FloatArray, b: FloatArray) -> BoolArray:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def _merged(
    found: list[tuple[TablePart, FloatArray]], weight: str | None
) -> tuple[TablePart, FloatArray]:
    """Put the different rows of all partitions together, with the sums of their weights."""
    whole = join_parts([part for part, _ in found])
    weights = np.concatenate([each for _, each in found])
    words = _words(whole, weight)
    _, first, place = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return whole.take(first), _sums(place.ravel(), weights, len(first))


def _sums(place: IntArray, weights: FloatArray, n: int) -> FloatArray:
    """Add up weights of equal rows from the smallest on, whatever the order of rows."""
    order = np.argsort(weights, kind="stable")
    sums: FloatArray = np.bincount(place[order], weights[order], n).astype(np.float64)
    return sums


def _labels(part: TablePart, parts: TableParts, survey: TableSurvey) -> NDArray[Any]:
    assert parts.target is not None
    values = part.values(parts.target)
    return values if survey.label_type is None else values.astype(survey.label_type)


def _rows(
    parts: TableParts, survey: TableSurvey, part: TablePart, weight: FloatArray, n_rows: int
) -> PartRows:
    return PartRows(part.table(parts.names), _labels(part, parts, survey), weight, n_rows)
