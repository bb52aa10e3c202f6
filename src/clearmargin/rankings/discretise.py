"""Turn a table into properties of its rows: attribute = value, attribute in [low, high), attribute is missing.

Numbers are cut into bins that are equally full, equally wide, or end where the class changes.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import Phrases
from clearmargin.rankings.properties import Property, PropertyTable
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval, round_down, round_up
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, float_array
from clearmargin.tables.table import Column, Table, name_row

__all__ = [
    "KINDS",
    "LabelColumn",
    "as_edges",
    "as_names",
    "check_bins",
    "choose_columns",
    "cuts_between",
    "entropy_cuts",
    "even_cuts",
    "id_reason",
    "make_properties",
    "quantile_cuts",
    "round_cut",
    "width_cuts",
]


Edges = Mapping[str, FloatArray]

KINDS = ("quantile", "width", "supervised")
# Words in the name of a column of different whole numbers that make it one of identifiers.
_ID_WORD = re.compile(
    "ids?|ident(ifier|ification)?|idx|index|key|nr|no|num|number|serial|serie|uuid"
)
# Among fewer rows different texts are no sign of identifiers.
_FEWEST_IDS = 5


def make_properties(
    X: Any,
    *,
    bins: str | Mapping[str, Any] = "quantile",
    n_bins: int = 5,
    features: Iterable[str] | None = None,
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
    bins : {"quantile", "width", "supervised"} or mapping, default "quantile"
        Equally full bins, equally wide bins, or bins cut where the classes of `y` change (as many as the
        criterion of Fayyad and Irani pays for). A mapping gives the inner edges of attributes by name, taken as
        they are; the other attributes are cut by quantiles.
    n_bins : int, default 5
        How many bins to make, at most; bins that are supervised or given have their own number.
    features : iterable of str, optional
        The attributes; by default all columns. Columns of an array are called x0, x1, ...
    exclude : iterable of str, default ()
        Columns to leave out: the target, scores, identifiers.
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
        skipped with a note, unless `features` or `bins` name them.

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
    check_bins(bins)
    _check_count(n_bins, "n_bins", lowest=2)
    _check_count(max_values, "max_values", lowest=0)
    edges = {} if isinstance(bins, str) else {str(k): as_edges(k, e) for k, e in bins.items()}
    asked = None if features is None else as_names(features, "features")
    rows = _read(X, asked, as_names(exclude, "exclude"), edges)
    label = None if y is None else LabelColumn(y, len(rows.values))
    if label is not None:
        for j in rows.used:
            label.refuse(rows.space, j, rows.values[:, j])
    method = bins if isinstance(bins, str) else "quantile"
    return _tabulate(rows, _Binning(method, n_bins, max_values, edges, label))


def check_bins(bins: Any, kinds: Sequence[str] = KINDS) -> None:
    """Raise if bins are neither of some kinds nor given."""
    if isinstance(bins, str) and bins not in kinds:
        why = ", and supervised ones need a table in memory" if bins in KINDS else ""
        raise InvalidValueError(
            f"bins must be one of {', '.join(map(repr, kinds))} or a mapping from names to edges, "
            f"not {bins!r}{why}{nearest_name(bins, kinds)}"
        )
    if not isinstance(bins, str | Mapping):
        raise InvalidValueError(
            f"bins must be a text or a mapping from names to edges, not {type(bins).__name__}"
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """A table that was read, the columns that may give properties, and why others may not."""

    space: FeatureSpace
    values: FloatArray
    used: tuple[int, ...]
    skipped: tuple[tuple[str, str], ...]


def choose_columns(
    known: list[str], asked: list[str] | None, out: list[str], edges: Edges
) -> list[str]:
    """Return the names of the columns to use, in the order of the table."""
    for what, names in (("features", asked or []), ("exclude", out), ("bins", edges)):
        for name in names:
            if name not in known:
                raise DataError(
                    f"{what} names {name!r}, which is no column of X{nearest_name(name, known)}"
                )
    chosen = [name for name in known if (asked is None or name in asked) and name not in out]
    for name in edges:
        if name not in chosen:
            raise DataError(
                f"bins has edges for column {name!r}, which is left out; use the column or drop its edges"
            )
    if not chosen:
        raise DataError("no column of X is left; name fewer in exclude or more in features")
    return chosen


def _read(X: Any, asked: list[str] | None, out: list[str], edges: Edges) -> _Rows:
    table = Table.read(X)
    chosen = choose_columns(list(table.names), asked, out, edges)
    if not len(table):
        raise DataError("X has no rows; properties are made from the rows of the whole ranking")
    # What is left out of a data frame is not even looked at: it may hold dates, or nothing.
    table = table.select(chosen) if table.is_frame else table
    space = table.space()
    values = space.read(table)
    requested = {*(asked or ()), *edges}
    ids: dict[str, str] = {}
    for j in (space.index(name) for name in chosen if name not in requested):
        if (reason := id_reason(space, j, values[:, j])) is not None:
            ids[space.names[j]] = reason
    kept = [space.index(name) for name in chosen if name not in ids]
    if not table.is_frame:
        return _Rows(space, values, tuple(kept), tuple(ids.items()))
    used = tuple(range(len(kept)))
    return _Rows(_narrow(space, kept), values[:, kept], used, tuple(ids.items()))


def _narrow(space: FeatureSpace, kept: list[int]) -> FeatureSpace:
    return FeatureSpace(
        [space.names[j] for j in kept],
        space.lower[kept],
        space.upper[kept],
        space.integer[kept],
        [space.categories[j] for j in kept],
    )


def id_reason(space: FeatureSpace, j: int, column: FloatArray) -> str | None:
    """Return why the column is one of identifiers; None if it is not."""
    known = column[~np.isnan(column)]
    if len(known) < _FEWEST_IDS or len(np.unique(known)) < len(known):
        return None
    hint = "name it in features to use it all the same"
    if space.categories[j] is not None:
        return f"looks like an identifier: texts that all differ; {hint}"
    words = re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", space.names[j])
    if space.integer[j] and any(_ID_WORD.fullmatch(word.lower()) for word in words):
        return f"looks like an identifier: whole numbers that all differ, and its name; {hint}"
    return None


class LabelColumn:
    """The labels of the rows, to cut by and to find again among the columns."""

    def __init__(self, y: Any, m: int):
        if np.ndim(y) != 1 or len(y) != m:
            raise DataError(
                f"y has shape {np.shape(y)}; one label for each of the {m} rows is needed"
            )
        column = Column("y", y)
        self.categories = None if column.is_numeric else column.categories
        self.values = column.numbers() if self.categories is None else column.codes(self.categories)
        missing = np.flatnonzero(np.isnan(self.values))
        if len(missing):
            raise DataError(
                f"y is missing in {name_row(int(missing[0]), y)}; leave such rows out, or do not pass y"
            )
        self.distinct, inverse = np.unique(self.values, return_inverse=True)
        self.classes: IntArray = inverse.astype(np.intp)

    def check_classes(self) -> None:
        """Make sure that bins can be cut by these labels."""
        if len(self.distinct) < 2:
            raise DataError("bins='supervised' needs two classes or more in y, which has only one")
        if (self.distinct != np.floor(self.distinct)).any():
            raise DataError(
                f"bins='supervised' needs classes in y, not measured values such as {self.distinct[0]:g}; "
                "pass labels, or use bins='quantile'"
            )

    def refuse(self, space: FeatureSpace, j: int, column: FloatArray) -> None:
        """Refuse a column that tells the label wherever it is known (in at least half of the rows)."""
        known = ~np.isnan(column)
        values, y = column[known], self.values[known]
        if 2 * len(values) < len(column) or len(np.unique(y)) < 2:
            return
        if len(self.distinct) == 2 and len(np.unique(values)) == 2:
            is_same = np.array_equal(values == values[0], y == y[0])
        else:
            is_same = self._equals(space.categories[j], values, y)
        if is_same:
            name = space.names[j]
            raise DataError(
                f"column {name!r} is the label itself: its values tell y in every row; leave it out with "
                f"exclude=[{name!r}], or do not pass y if it was really measured"
            )

    def _equals(self, categories: Sequence[str] | None, values: FloatArray, y: FloatArray) -> bool:
        if categories is None or self.categories is None:
            return categories is self.categories and np.array_equal(values, y)
        # The two may list their categories in different orders.
        position = {category: code for code, category in enumerate(self.categories)}
        codes = np.array([position.get(category, -1) for category in categories])
        return np.array_equal(codes[values.astype(np.intp)], y)


@dataclass(frozen=True, slots=True)
class _Binning:
    """How the values of an attribute become bins."""

    method: str
    n_bins: int
    max_values: int
    edges: Edges
    label: LabelColumn | None

    def __post_init__(self) -> None:
        if self.method == "supervised":
            if self.label is None:
                raise InvalidValueError(
                    "bins='supervised' cuts by the labels: pass y, or use bins='quantile'"
                )
            self.label.check_classes()

    def cuts(self, name: str, values: FloatArray, known: BoolArray, integer: bool) -> FloatArray:
        if name in self.edges:
            return self.edges[name]
        if self.method == "supervised":
            assert self.label is not None
            return entropy_cuts(values, self.label.classes[known], integer=integer)
        cut = width_cuts if self.method == "width" else quantile_cuts
        return cut(values, self.n_bins, integer=integer)


def _tabulate(rows: _Rows, binning: _Binning) -> PropertyTable:
    phrases = Phrases(rows.space)
    properties: list[Property] = []
    masks: list[BoolArray] = []
    constant: list[str] = []
    skipped = [*rows.skipped]
    for j in rows.used:
        name, column = rows.space.names[j], rows.values[:, j]
        missing = np.isnan(column)
        codes, boxes = _divide(rows.space, j, column, ~missing, binning)
        is_whole = boxes[:1] == [None]
        n = len(rows.space)
        conditions = [Box.from_intervals({}, n, known=[j]) if b is None else b for b in boxes]
        if missing.any():
            codes = np.where(missing, len(boxes), codes)
            conditions.append(Box.from_intervals({}, n, missing=[j]))
        if len(conditions) < 2:
            if missing.all() or (column == column[0]).all():
                constant.append(name)
            elif is_whole:
                skipped.append((name, "no cut of its values tells the classes of y apart"))
            else:
                skipped.append((name, "all its values are in one bin; give it other edges"))
            continue
        properties += [Property(j, phrases.bound(box, j), box) for box in conditions]
        masks.append(codes == np.arange(len(conditions))[:, None])
    return PropertyTable(
        rows.space,
        tuple(properties),
        np.vstack(masks) if masks else np.empty((0, len(rows.values)), dtype=np.bool_),
        np.array([each.column for each in properties], dtype=np.intp),
        tuple(constant),
        tuple(skipped),
    )


def _divide(
    space: FeatureSpace, j: int, column: FloatArray, known: BoolArray, binning: _Binning
) -> tuple[IntArray, list[Box | None]]:
    """Number the values or bins of an attribute that occur; give the number of each known row, and their boxes."""
    name, n, values = space.names[j], len(space), column[known]
    if space.categories[j] is not None:
        if name in binning.edges:
            raise DataError(f"bins has edges for column {name!r}, which has categories; drop them")
        categories = np.unique(values)
        codes = np.searchsorted(categories, column)
        return codes, [
            Box.from_intervals({}, n, {j: [category]}) for category in categories.tolist()
        ]
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(column))[0])
        raise DataError(
            f"column {name!r} is infinite in row {row + 1}; put a number or a missing value there"
        )
    distinct = np.unique(values)
    if name not in binning.edges and len(distinct) <= max(1, binning.max_values):
        points = [Interval(v, v, closed="both") for v in distinct.tolist()]
        codes = np.searchsorted(distinct, column)
        return codes, [Box.from_intervals({j: point}, n) for point in points]
    cuts = binning.cuts(name, values, known, bool(space.integer[j]))
    if not len(cuts):
        return np.zeros(len(column), dtype=np.intp), [None]
    segment = np.searchsorted(cuts, column, side="right")
    filled = np.unique(segment[known])
    ends = [-math.inf, *cuts.tolist(), math.inf]
    bins = [Interval(ends[k], ends[k + 1]) for k in filled.tolist()]
    return np.searchsorted(filled, segment), [Box.from_intervals({j: each}, n) for each in bins]


def as_names(names: Iterable[str], what: str) -> list[str]:
    """Read names of columns; one text alone is an error."""
    if isinstance(names, str):
        raise InvalidValueError(
            f"{what} must be a list of column names, not the single text {names!r}; use [{names!r}]"
        )
    return [str(name) for name in names]


def as_edges(name: object, edges: Any) -> FloatArray:
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


def _check_count(value: object, what: str, lowest: int) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < lowest:
        raise InvalidValueError(
            f"{what} must be a whole number of at least {lowest}, not {value!r}"
        )


# With so many significant digits every float reads back as itself.
_ALL_DIGITS = 17


def quantile_cuts(values: FloatArray, n_bins: int, *, integer: bool = False) -> FloatArray:
    """Cut into bins that hold about the same number of values.

    Equal values stay together: each cut lies between the two neighbours that bring it nearest to its share, and cuts
    that come to lie between the same neighbours are one.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values, finite.
    n_bins : int
        The number of bins, if there are values enough.
    integer : bool, default False
        Whether only whole numbers may be cuts; for whole values.

    Returns
    -------
    ndarray of shape (at most n_bins - 1,)
        The cuts, increasing. Bin k holds the values with exactly k cuts at or below them.

    Examples
    --------
    >>> quantile_cuts(np.array([1.0, 2.0, 2.0, 2.0, 7.32, 7.39]), 3)
    array([2., 5.])
    >>> quantile_cuts(np.array([0.0, 0.0, 0.0, 4.0]), 4, integer=True)
    array([2.])
    """
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
    return _cut_in_gaps(distinct, gaps, integer=integer)


def width_cuts(values: FloatArray, n_bins: int, *, integer: bool = False) -> FloatArray:
    """Cut the range of the values into bins of equal width; bins without a value are joined to the next one.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values, finite.
    n_bins : int
        The number of bins.
    integer : bool, default False
        Whether only whole numbers may be cuts; for whole values.

    Returns
    -------
    ndarray of shape (at most n_bins - 1,)
        The cuts, increasing.

    Examples
    --------
    >>> width_cuts(np.array([0.0, 1.0, 2.9, 9.0]), 3)
    array([3.])
    """
    distinct = np.unique(values)
    if len(distinct) < 2:
        return np.empty(0)
    exact = even_cuts(float(distinct[0]), float(distinct[-1]), n_bins)
    # In the gap before the first value that is not below the cut.
    gaps = np.clip(np.searchsorted(distinct, exact) - 1, 0, len(distinct) - 2)
    gaps, first = np.unique(gaps, return_index=True)
    return _cut_in_gaps(distinct, gaps, np.array(exact)[first], integer=integer)


def even_cuts(low: float, high: float, n_bins: int) -> list[float]:
    """Divide a range into bins of equal width.

    Examples
    --------
    >>> even_cuts(0.1, 0.5, 4)
    [0.2, 0.3, 0.4]
    """
    # In the decimals that people see: from 0.1 to 0.5 the third of four cuts is 0.4, not 0.4000000000000001.
    start, end = Fraction(repr(low)), Fraction(repr(high))
    return [_least_float(start + (end - start) * i / n_bins) for i in range(1, n_bins)]


def _least_float(x: Fraction) -> float:
    """Return the least float whose shortest decimal is not below x."""
    nearest = float(x)
    return nearest if Fraction(repr(nearest)) >= x else math.nextafter(nearest, math.inf)


def entropy_cuts(values: FloatArray, classes: IntArray, *, integer: bool = False) -> FloatArray:
    """Cut where the classes change, as often as the shorter description pays for the cuts.

    The criterion of Fayyad and Irani (IJCAI 1993): the cut of a set S of N rows that leaves the least class entropy is
    accepted if its gain exceeds ``(log2(N - 1) + log2(3^k - 2) - k Ent(S) + k1 Ent(S1) + k2 Ent(S2)) / N``, where k, k1
    and k2 count the classes in S and in its two parts; then the parts are cut in the same way.

    Parameters
    ----------
    values : ndarray of shape (m,)
        The values, finite.
    classes : ndarray of int of shape (m,)
        The class of each value, counted from 0.
    integer : bool, default False
        Whether only whole numbers may be cuts; for whole values.

    Returns
    -------
    ndarray
        The cuts, increasing; none where no cut pays.

    Examples
    --------
    >>> entropy_cuts(np.arange(20.0), np.repeat([0, 1], 10))
    array([10.])
    >>> entropy_cuts(np.arange(20.0), np.tile([0, 1], 10))
    array([], dtype=float64)
    """
    distinct, place = np.unique(values, return_inverse=True)
    k = int(classes.max(initial=-1)) + 1
    table = np.bincount(place * k + classes, minlength=len(distinct) * k).reshape(-1, k)
    below = np.vstack([np.zeros((1, k), dtype=np.int64), np.cumsum(table, axis=0)])
    gaps, parts = [], [(0, len(distinct))]
    while parts:
        start, stop = parts.pop()
        cut = _best_cut(below[start : stop + 1] - below[start])
        if cut is not None:
            gaps.append(start + cut - 1)
            parts += [(start, start + cut), (start + cut, stop)]
    return _cut_in_gaps(distinct, np.array(sorted(gaps), dtype=np.intp), integer=integer)


def _best_cut(below: IntArray) -> int | None:
    """Return how many distinct values the first part of the best cut has; None if no cut pays.

    Row i of `below` counts the classes among the first i distinct values.
    """
    if len(below) < 3:
        return None
    total, left = below[-1], below[1:-1]
    right = total - left
    cost = _bits(left) + _bits(right)
    best = int(np.argmin(cost))
    n, whole = int(total.sum()), float(_bits(total))
    sides = [total, left[best], right[best]]
    k, k1, k2 = (int(np.count_nonzero(side)) for side in sides)
    ent, ent1, ent2 = (float(_bits(side)) / int(side.sum()) for side in sides)
    price = math.log2(n - 1) + math.log2(3**k - 2) - (k * ent - k1 * ent1 - k2 * ent2)
    return best + 1 if whole - float(cost[best]) > price else None


def _bits(counts: IntArray) -> FloatArray:
    """Compute the number of rows times the entropy of their classes, in bits; the classes are the last axis."""
    bits: FloatArray = _x_log_x(counts.sum(axis=-1)) - _x_log_x(counts).sum(axis=-1)
    return bits


def _x_log_x(x: IntArray) -> FloatArray:
    product: FloatArray = np.multiply(x, np.log2(np.maximum(x, 1.0)))
    return product


def _cut_in_gaps(
    distinct: FloatArray, gaps: IntArray, near: FloatArray | None = None, *, integer: bool
) -> FloatArray:
    """Return a round number between each of some distinct values and the next, near the middle by default."""
    return cuts_between(distinct[gaps], distinct[gaps + 1], near, integer=integer)


def cuts_between(
    low: FloatArray, high: FloatArray, near: FloatArray | None = None, *, integer: bool
) -> FloatArray:
    """Return a round number between each of some values and the next one, near the middle by default.

    Examples
    --------
    >>> cuts_between(np.array([7.32, 0.0]), np.array([7.39, 4.0]), integer=False)
    array([7.36, 2.  ])
    """
    target = low / 2 + high / 2 if near is None else near
    cuts = [round_cut(*each) for each in zip(low.tolist(), high.tolist(), target, strict=True)]
    # Between whole numbers only (0, 1] has a shorter decimal that is not whole: 0.5.
    return np.ceil(cuts) if integer else np.array(cuts, dtype=np.float64)


def round_cut(low: float, high: float, near: float) -> float:
    """Give the number of fewest digits above one value and not above the next; of several, the nearest to a wish.

    A cut anywhere in ``(low, high]`` divides the same values, so it may as well be one that people can remember.

    Parameters
    ----------
    low, high : float
        Two values, the first one smaller.
    near : float
        The cut that would be best; taken as `high` if it is not between them.

    Returns
    -------
    float
        The cut c, with ``low < c <= high``.

    Examples
    --------
    >>> round_cut(29.2, 31.7, 30.45), round_cut(7.32, 7.39, 7.353), round_cut(44, 45, 44.5)
    (30.0, 7.35, 45.0)
    >>> round_cut(-3, 12, 4.5)
    0.0
    """
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
