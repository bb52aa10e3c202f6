"""Turn a table into properties of its rows: attribute = value, attribute in [low, high), attribute is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import Phrases
from clearmargin.rankings.properties import Property, PropertyTable
from clearmargin.rule_base.options import WholeNumber
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval, round_down, round_up
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, float_array
from clearmargin.tables.table import Column, Table, name_row

# Words in the name of a column of different whole numbers that make it one of identifiers.
_ID_WORD = re.compile(
    "ids?|ident(ifier|ification)?|idx|index|key|nr|no|num|number|serial|serie|uuid"
)
# Among fewer rows different texts are no sign of identifiers.
_FEWEST_IDS = 5
# Bins of attributes that a mapping of edges does not name.
_BINS = 5


def make_properties(
    X: Any,
    *,
    bins: int | Mapping[str, Any] = 5,
    exclude: Iterable[str] = (),
    y: Any = None,
    max_values: int = 10,
) -> PropertyTable:
    """Make the properties of the rows of a table.

    Categorical attributes, and numbers with few different values, give ``attribute = value``; the other numbers
    are cut into half-open bins, the outer ones without end. A cut is the round number that divides the
    rows in the same way. Missing values are a property of their own. Each row has exactly one property of each
    attribute; properties that no row has are left out.

    Parameters
    ----------
    X : data frame or array-like of shape (m, n)
        The table, all rows of the ranking: bins that are made from its ends alone would depend on the contrast that
        they are to show.
    bins : int or mapping, default 5
        How many equally full bins to make, at most. A mapping gives the inner edges of attributes by name, taken as
        they are; the other attributes are cut into five.
    exclude : iterable of str, default ()
        Columns to leave out: the target, scores, identifiers. Columns of an array are called x0, x1, ...
    y : array-like of shape (m,), optional
        The labels. A column that is the label itself is refused, since it would explain every ranking.
    max_values : int, default 10
        A number with at most so many different values gives ``attribute = value``.

    Returns
    -------
    PropertyTable
        The properties, attribute after attribute, in order of their values, missing last. Its space has the
        attributes that were used (all columns if X is an array, whose columns are found by position). Columns of
        identifiers (texts that all differ; whole numbers that all differ and are called id or alike) are
        skipped with a note, unless `bins` names them.

    Examples
    --------
    >>> table = make_properties([[41, 0.5], [28, 0.5], [57, 1.0]], bins={"x0": [30, 50]})
    >>> [each.text for each in table.properties]
    ['x0 < 30', '30 <= x0 < 50', 'x0 >= 50', 'x1 = 0.5', 'x1 = 1']
    >>> table.masks.astype(int)
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 1],
           [1, 1, 0],
           [0, 0, 1]])
    """
    given = dict(bins) if isinstance(bins, Mapping) else {}
    n_bins = _BINS if isinstance(bins, Mapping) else bins
    WholeNumber(2).check("bins", n_bins)
    WholeNumber(0).check("max_values", max_values)
    if isinstance(exclude, str) or not isinstance(exclude, Iterable):
        raise InvalidValueError(
            f"exclude must be a list of column names, not {exclude!r}; use [{exclude!r}]"
        )
    edges = {str(name): _as_edges(name, each) for name, each in given.items()}
    space, values, used, skipped = _read(X, [str(name) for name in exclude], edges)
    if y is not None:
        _refuse_label(space, used, values, y)
    phrases = Phrases(space)
    properties: list[Property] = []
    masks: list[BoolArray] = []
    constant: list[str] = []
    for j in used:
        name, column = space.names[j], values[:, j]
        known = ~np.isnan(column)
        codes, boxes = _divide(space, j, column, max_values, edges.get(name), n_bins)
        if not known.all():
            codes = np.where(known, codes, len(boxes))
            boxes.append(Box.from_intervals({}, len(space), missing=[j]))
        if len(boxes) < 2:
            if not known.any() or (column == column[0]).all():
                constant.append(name)
            else:
                skipped.append((name, "all its values are in one bin; give it other edges"))
            continue
        properties += [Property(j, phrases.bound(box, j), box) for box in boxes]
        masks.append(codes == np.arange(len(boxes))[:, None])
    return PropertyTable(
        space,
        tuple(properties),
        np.vstack(masks) if masks else np.empty((0, len(values)), dtype=np.bool_),
        np.array([each.column for each in properties], dtype=np.intp),
        tuple(constant),
        tuple(skipped),
    )


def _divide(
    space: FeatureSpace,
    j: int,
    column: FloatArray,
    max_values: int,
    edges: FloatArray | None,
    n_bins: int,
) -> tuple[IntArray, list[Box]]:
    """Number the values or bins of an attribute that occur; give the number of each known row, and their boxes."""
    name, n, known = space.names[j], len(space), ~np.isnan(column)
    distinct = np.unique(column[known])
    if space.categories[j] is not None:
        if edges is not None:
            raise DataError(f"bins has edges for column {name!r}, which has categories; drop them")
        codes = np.searchsorted(distinct, column)
        return codes, [Box.from_intervals({}, n, {j: [value]}) for value in distinct.tolist()]
    if np.isinf(distinct).any():
        row = int(np.flatnonzero(np.isinf(column))[0])
        raise DataError(
            f"column {name!r} is infinite in row {row + 1}; put a number or a missing value there"
        )
    if edges is None and len(distinct) <= max(1, max_values):
        codes = np.searchsorted(distinct, column)
        intervals = [Interval(v, v, closed="both") for v in distinct.tolist()]
    else:
        if edges is None:
            edges = quantile_cuts(column[known], n_bins, integer=bool(space.integer[j]))
        segment = np.searchsorted(edges, column, side="right")
        filled = np.unique(segment[known])
        codes = np.searchsorted(filled, segment)
        ends = [-math.inf, *edges.tolist(), math.inf]
        intervals = [Interval(ends[k], ends[k + 1]) for k in filled.tolist()]
    return codes, [Box.from_intervals({j: each}, n) for each in intervals]


def _read(
    X: Any, out: list[str], edges: Mapping[str, FloatArray]
) -> tuple[FeatureSpace, FloatArray, list[int], list[tuple[str, str]]]:
    """Read a table, the columns that may give properties, and why others may not."""
    table = Table.read(X)
    known = list(table.names)
    for what, names in (("exclude", out), ("bins", edges)):
        for name in names:
            if name not in known:
                raise DataError(
                    f"{what} names {name!r}, which is no column of X{nearest_name(name, known)}"
                )
    chosen = [name for name in known if name not in out]
    for name in edges:
        if name not in chosen:
            raise DataError(
                f"bins has edges for column {name!r}, which is left out; use the column or drop its edges"
            )
    if not chosen:
        raise DataError("no column of X is left; name fewer in exclude")
    if not len(table):
        raise DataError("X has no rows; properties are made from the rows of the whole ranking")
    # What is left out of a data frame is not even looked at: it may hold dates, or nothing.
    table = table.select(chosen) if table.is_frame else table
    space = table.space()
    values = space.read(table)
    ids: list[tuple[str, str]] = []
    kept = []
    for name in chosen:
        j = space.index(name)
        reason = None if name in edges else _id_reason(space, j, values[:, j])
        if reason is None:
            kept.append(j)
        else:
            ids.append((name, reason))
    if not table.is_frame:
        return space, values, kept, ids
    narrow = FeatureSpace(
        [space.names[j] for j in kept],
        space.lower[kept],
        space.upper[kept],
        space.integer[kept],
        [space.categories[j] for j in kept],
    )
    return narrow, values[:, kept], list(range(len(kept))), ids


def _id_reason(space: FeatureSpace, j: int, column: FloatArray) -> str | None:
    """Return why the column is one of identifiers; None if it is not."""
    known = column[~np.isnan(column)]
    if len(known) < _FEWEST_IDS or len(np.unique(known)) < len(known):
        return None
    if space.categories[j] is not None:
        return "looks like an identifier: texts that all differ"
    words = re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", space.names[j])
    if space.integer[j] and any(_ID_WORD.fullmatch(word.lower()) for word in words):
        return (
            "looks like an identifier: whole numbers that all differ, and its name; give it edges in bins to use it "
            "all the same"
        )
    return None


def _refuse_label(space: FeatureSpace, used: list[int], values: FloatArray, y: Any) -> None:
    """Refuse a column that tells the label wherever it is known (in at least half of the rows)."""
    if np.ndim(y) != 1 or len(y) != len(values):
        raise DataError(
            f"y has shape {np.shape(y)}; one label for each of the {len(values)} rows is needed"
        )
    read = Column("y", y)
    labels = read.numbers() if read.is_numeric else read.codes(read.categories)
    missing = np.flatnonzero(np.isnan(labels))
    if len(missing):
        raise DataError(
            f"y is missing in {name_row(int(missing[0]), y)}; leave such rows out, or do not pass y"
        )
    for j in used:
        known = ~np.isnan(values[:, j])
        column, mine, categories = values[known, j], labels[known], space.categories[j]
        if 2 * len(column) < len(values) or len(np.unique(mine)) < 2:
            continue
        if len(np.unique(labels)) == 2 and len(np.unique(column)) == 2:
            is_same = np.array_equal(column == column[0], mine == mine[0])
        elif categories is None or read.is_numeric:
            is_same = categories is None and read.is_numeric and np.array_equal(column, mine)
        else:  # the two may list their categories in different orders
            position = {category: code for code, category in enumerate(read.categories)}
            codes = np.array([position.get(category, -1) for category in categories])
            is_same = np.array_equal(codes[column.astype(np.intp)], mine)
        if is_same:
            name = space.names[j]
            raise DataError(
                f"column {name!r} is the label itself: its values tell y in every row; leave it out with "
                f"exclude=[{name!r}], or do not pass y if it was really measured"
            )


def _as_edges(name: object, edges: Any) -> FloatArray:
    """Read the edges that a user gives for a column: finite, increasing."""
    array = float_array(edges, f"the edges of {str(name)!r} in bins")
    if array.ndim != 1:
        raise InvalidValueError(
            f"the edges of {str(name)!r} in bins must be a list of numbers such as [30, 45], not {edges!r}"
        )
    wrong = np.flatnonzero(np.diff(array) <= 0)
    if len(wrong):
        k = int(wrong[0])
        raise InvalidValueError(
            f"the edges of {str(name)!r} in bins must increase, but {array[k + 1]:g} follows {array[k]:g}; "
            "sort them and name each once"
        )
    # The outer bins are open-ended anyway.
    inner = array[np.isfinite(array)]
    if not len(inner):
        raise InvalidValueError(
            f"the edges of {str(name)!r} in bins need at least one finite number"
        )
    return inner


# With so many significant digits every float reads back as itself.
_ALL_DIGITS = 17


def quantile_cuts(values: FloatArray, n_bins: int, *, integer: bool = False) -> FloatArray:
    """Cut into bins that hold about the same number of values, at round numbers near the middle of gaps."""
    distinct, counts = np.unique(values, return_counts=True)
    below = np.cumsum(counts)[:-1]  # values below the gap between a distinct value and the next
    if not len(below):
        return np.empty(0)
    # In whole numbers, so that no rounding decides: the gap nearest to each share of all values.
    shares = np.arange(1, n_bins) * len(values)
    after = np.minimum(np.searchsorted(below * n_bins, shares), len(below) - 1)
    before = np.maximum(after - 1, 0)
    is_before = shares - below[before] * n_bins <= below[after] * n_bins - shares
    gaps = np.unique(np.where(is_before, before, after))
    pairs = zip(distinct[gaps].tolist(), distinct[gaps + 1].tolist(), strict=True)
    cuts = [round_cut(low, high, low / 2 + high / 2) for low, high in pairs]
    # Between whole numbers only (0, 1] has a shorter decimal that is not whole: 0.5.
    return np.ceil(cuts) if integer else np.array(cuts, dtype=np.float64)


def round_cut(low: float, high: float, near: float) -> float:
    """Give the number of fewest digits above one value and not above the next; of several, the nearest to a wish."""
    if low < 0 <= high:
        return 0.0
    target = float(near) if low < near <= high else float(high)
    # If some number of so many digits is in the gap, then one of the two around the target is.
    for digits in range(1, _ALL_DIGITS + 1):
        down, up = round_down(target, digits), round_up(target, digits)
        # Where rounding would overflow, it gives back the target with all its digits.
        around = {down, up} - ({target} if down != up else set())
        fitting = [cut for cut in sorted(around) if low < cut <= high]
        if fitting:
            return min(fitting, key=lambda cut: abs(cut - target)) + 0.0
    return float(high)
