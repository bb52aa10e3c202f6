"""The properties of the rows of a table: attribute = value, attribute in [low, high), attribute is missing.

Categorical attributes, and numbers with few different values, give ``attribute = value``; other numbers are cut into
half-open bins, the outer ones without end. A cut is the number of fewest digits that divides the rows in the same way.
Missing values are a property of their own. Each row has exactly one property of each attribute.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language.printer import Phrases
from clearmargin.rule_base.options import WholeNumber
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval, round_down, round_up
from clearmargin.rules.rule import Label, Rule
from clearmargin.rules.space import FeatureSpace, nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, float_array
from clearmargin.tables.table import Table

# Words in the name of a column of different whole numbers that make it one of identifiers.
_ID_WORD = re.compile(
    "ids?|ident(ifier|ification)?|idx|index|key|nr|no|num|number|serial|serie|uuid"
)
# Among fewer rows different texts are no sign of identifiers.
_FEWEST_IDS = 5
# Bins of attributes that a mapping of edges does not name; a number with at most so many different values has none.
_BINS, _MOST_VALUES = 5, 10
# With so many significant digits every float reads back as itself.
_ALL_DIGITS = 17


class Property(NamedTuple):
    """One condition on one attribute: its position, the condition in the rule language, and its region."""

    column: int
    text: str
    box: Box


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PropertyTable:
    """Properties, attribute after attribute, and for each row of a table which of them it has."""

    space: FeatureSpace
    properties: tuple[Property, ...]
    # A row for each property, a column for each row of the table.
    masks: BoolArray
    # Attributes that vary and gave no property, each with the reason.
    skipped: tuple[tuple[str, str], ...]

    def __len__(self) -> int:
        return len(self.properties)

    @property
    def attribute(self) -> IntArray:
        """The column of each property."""
        return np.array([each.column for each in self.properties], dtype=np.intp)

    def rule(self, items: Sequence[int], label: Label) -> Rule:
        """Put a conjunction of properties as a rule."""
        box = Box.unbounded(len(self.space))
        for k in items:
            box = box.intersect(self.properties[k].box)
        return Rule(box, label, origin="extracted")

    def text(self, items: Sequence[int]) -> str:
        """Write a conjunction of properties."""
        return " and ".join(self.properties[k].text for k in items)

    def complements(self) -> dict[int, int]:
        """Give for each property the one that exactly the other rows have, where there is one."""
        of_attribute: dict[int, list[int]] = {}
        for k, each in enumerate(self.properties):
            of_attribute.setdefault(each.column, []).append(k)
        # Each row has exactly one property of each attribute.
        pairs = [(own[0], own[1]) for own in of_attribute.values() if len(own) == 2]
        return dict(pairs) | {second: first for first, second in pairs}


def make_properties(
    X: Table, bins: Any, exclude: Any, is_positive: BoolArray | None = None
) -> PropertyTable:
    """Make the properties of the rows of a table; a column that is the label itself is refused."""
    given = dict(bins) if isinstance(bins, Mapping) else {}
    n_bins = _BINS if isinstance(bins, Mapping) else bins
    WholeNumber(2).check("bins", n_bins)
    if isinstance(exclude, str) or not isinstance(exclude, Iterable):
        raise InvalidValueError(
            f"exclude must be a list of column names, not {exclude!r}; use [{exclude!r}]"
        )
    edges = {str(name): _as_edges(name, each) for name, each in given.items()}
    space, values, used, skipped = _read(X, [str(name) for name in exclude], edges)
    if is_positive is not None:
        _refuse_label(space, used, values, is_positive)
    phrases = Phrases(space)
    properties: list[Property] = []
    masks = [np.empty((0, len(values)), dtype=np.bool_)]
    for j in used:
        name, column = space.names[j], values[:, j]
        known = ~np.isnan(column)
        codes, boxes = _divide(space, j, column, edges.get(name), n_bins)
        if not known.all():
            codes = np.where(known, codes, len(boxes))
            boxes.append(Box.from_intervals({}, len(space), missing=[j]))
        if len(boxes) < 2:
            if known.any() and (column != column[0]).any():
                skipped.append((name, "all its values are in one bin; give it other edges"))
            continue
        properties += [Property(j, phrases.bound(box, j), box) for box in boxes]
        masks.append(codes == np.arange(len(boxes))[:, None])
    return PropertyTable(space, tuple(properties), np.vstack(masks), tuple(skipped))


def _read(
    table: Table, out: list[str], edges: Mapping[str, FloatArray]
) -> tuple[FeatureSpace, FloatArray, list[int], list[tuple[str, str]]]:
    """Read a table, the columns that may give properties, and why others may not."""
    known = list(table.names)
    for what, names in (("exclude", out), ("bins", edges)):
        for name in names:
            if name not in known:
                raise DataError(
                    f"{what} names {name!r}, which is no column of X{nearest_name(name, known)}"
                )
            if what == "bins" and name in out:
                raise DataError(
                    f"bins has edges for column {name!r}, which is left out; use the column or drop its edges"
                )
    chosen = [name for name in known if name not in out]
    if not chosen:
        raise DataError("no column of X is left; name fewer in exclude")
    if not len(table):
        raise DataError("X has no rows; properties are made from the rows of the whole ranking")
    if table.is_frame:
        # What is left out of a data frame is not even looked at: it may hold dates, or nothing.
        table = table.select(chosen)
    space = table.space()
    values = space.read(table)
    reasons = {
        name: None if name in edges else _id_reason(space, name, values[:, space.index(name)])
        for name in chosen
    }
    kept = [name for name in chosen if reasons[name] is None]
    ids = [(name, reason) for name, reason in reasons.items() if reason is not None]
    if table.is_frame and ids:
        columns = [space.index(name) for name in kept]
        space, values = table.select(kept).space(), values[:, columns]
    # The columns of an array are found by their position, and so all of them stay.
    return space, values, [space.index(name) for name in kept], ids


def _id_reason(space: FeatureSpace, name: str, column: FloatArray) -> str | None:
    """Return why the column is one of identifiers; None if it is not."""
    known, j = column[~np.isnan(column)], space.index(name)
    if len(known) < _FEWEST_IDS or len(np.unique(known)) < len(known):
        return None
    if space.categories[j] is not None:
        return "looks like an identifier: texts that all differ"
    words = re.split(r"[\W\d_]+|(?<=[a-z])(?=[A-Z])", name)
    if space.integer[j] and any(_ID_WORD.fullmatch(word.lower()) for word in words):
        return (
            "looks like an identifier: whole numbers that all differ, and its name; give it edges in bins to use it "
            "all the same"
        )
    return None


def _divide(
    space: FeatureSpace, j: int, column: FloatArray, edges: FloatArray | None, n_bins: int
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
    if edges is None and len(distinct) <= _MOST_VALUES:
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


def _refuse_label(
    space: FeatureSpace, used: list[int], values: FloatArray, is_positive: BoolArray
) -> None:
    """Refuse a column that tells the label wherever it is known (in at least half of the rows)."""
    for j in used:
        known = ~np.isnan(values[:, j])
        pairs = np.unique(np.column_stack([values[known, j], is_positive[known]]), axis=0)
        # Each of two values goes with a label of its own.
        is_label = len(pairs) == 2 and (pairs[0] != pairs[1]).all()
        if is_label and 2 * np.count_nonzero(known) >= len(values):
            name = space.names[j]
            raise DataError(
                f"column {name!r} is the label itself: its values tell y in every row; leave it out with "
                f"exclude=[{name!r}]"
            )


def _as_edges(name: object, edges: Any) -> FloatArray:
    """Read the edges that a user gives for a column: finite, increasing."""
    what = f"the edges of {str(name)!r} in bins"
    array = float_array(edges, what)
    if array.ndim != 1:
        raise InvalidValueError(f"{what} must be a list of numbers such as [30, 45], not {edges!r}")
    wrong = np.flatnonzero(np.diff(array) <= 0)
    if len(wrong):
        k = int(wrong[0])
        raise InvalidValueError(
            f"{what} must increase, but {array[k + 1]:g} follows {array[k]:g}; sort them and name each once"
        )
    # The outer bins are open-ended anyway.
    inner = array[np.isfinite(array)]
    if not len(inner):
        raise InvalidValueError(f"{what} need at least one finite number")
    return inner


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
