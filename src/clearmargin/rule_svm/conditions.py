"""All conditions that rules over a table are made of, and the cells that they cut each feature into.

A condition speaks of one feature: x <= t, x > t, category = v, or value missing. A condition on a missing value is
false, but for the last kind. The conditions of a feature stand together, in the order of the features: first x <= t
with t ascending, then x > t, then the categories in their order, then "missing". This order breaks all ties between
rules that hold for the same rows: fewest conditions first, then the earliest ones.

Between its thresholds a feature is constant to all conditions. So all that matters of a value is its *cell*: the number
of thresholds below it, or the place of its category, with one cell more for categories without a condition and one for
missing values. What holds for rows is added up over cells; `Conditions.gather` makes sums over conditions of sums over
cells, and there are no other sums to be made, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.cuts import middle_thresholds
from clearmargin.rules.box import Box
from clearmargin.rules.interval import Interval
from clearmargin.rules.space import FeatureSpace
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value

__all__ = ["Conditions", "Kind", "running_sums"]


class Kind(IntEnum):
    """What a condition says of the value of its feature."""

    AT_MOST = 0
    ABOVE = 1
    EQUAL = 2
    MISSING = 3


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Conditions(Value):
    """Single conditions over the features of a space.

    Parameters
    ----------
    space : FeatureSpace
        The features.
    thresholds : sequence of n ndarrays
        For each feature, ascending thresholds t of x <= t and x > t; empty for categorical features.
    codes : sequence of n sequences of int
        For each feature, ascending codes of the categories with a condition; empty for numeric features.
    missing : sequence of n bool
        For which features "the value is missing" is a condition.

    Attributes
    ----------
    feature : ndarray of int of shape (p,)
        The feature of each condition.
    kind : ndarray of int of shape (p,)
        What it says, a `Kind`.
    threshold : ndarray of shape (p,)
        Its threshold; 0 where there is none.
    code : ndarray of int of shape (p,)
        The code of its category; -1 where there is none.

    Examples
    --------
    >>> space = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "yes"]})
    >>> table = np.array([[40.0, 1.0], [50.0, 0.0], [np.nan, 1.0]])
    >>> conditions = Conditions.of_table(space, table, max_bins=32)
    >>> [conditions.text(c) for c in range(len(conditions))]
    ['age <= 45', 'age > 45', 'age is missing', 'smoker = no', 'smoker = yes']
    >>> conditions.masks(table).astype(int)
    array([[1, 0, 0, 0, 1],
           [0, 1, 0, 1, 0],
           [0, 0, 1, 0, 1]])
    """

    space: FeatureSpace
    thresholds: tuple[tuple[float, ...], ...]
    codes: tuple[tuple[int, ...], ...]
    missing: tuple[bool, ...]
    feature: IntArray = field(init=False, compare=False)
    kind: IntArray = field(init=False, compare=False)
    threshold: FloatArray = field(init=False, compare=False)
    code: IntArray = field(init=False, compare=False)
    # Where the conditions of each feature begin, and where those of the last one end.
    starts: IntArray = field(init=False, compare=False)

    def __init__(
        self,
        space: FeatureSpace,
        thresholds: Sequence[Sequence[float]],
        codes: Sequence[Sequence[int]],
        missing: Sequence[bool],
    ):
        cuts = tuple(tuple(float(t) for t in each) for each in thresholds)
        names = tuple(tuple(int(c) for c in each) for each in codes)
        holes = tuple(bool(each) for each in missing)
        if not len(cuts) == len(names) == len(holes) == len(space):
            raise InvalidValueError(
                f"conditions for {len(cuts)}, {len(names)} and {len(holes)} features of {len(space)}"
            )
        rows: list[tuple[int, Kind, float, int]] = []
        starts = [0]
        for j, (ends, values, hole) in enumerate(zip(cuts, names, holes, strict=True)):
            rows += [(j, Kind.AT_MOST, t, -1) for t in ends]
            rows += [(j, Kind.ABOVE, t, -1) for t in ends]
            rows += [(j, Kind.EQUAL, 0.0, code) for code in values]
            rows += [(j, Kind.MISSING, 0.0, -1)] if hole else []
            starts.append(len(rows))
        feature, kind, threshold, code = zip(*rows, strict=True) if rows else ((), (), (), ())
        self._set(
            space=space,
            thresholds=cuts,
            codes=names,
            missing=holes,
            feature=np.array(feature, dtype=np.intp),
            kind=np.array(kind, dtype=np.intp),
            threshold=np.array(threshold, dtype=np.float64),
            code=np.array(code, dtype=np.intp),
            starts=np.array(starts, dtype=np.intp),
        )

    @classmethod
    def of_table(cls, space: FeatureSpace, table: FloatArray, max_bins: int = 32) -> Conditions:
        """Make the conditions that tell rows of a table apart.

        Parameters
        ----------
        space : FeatureSpace
            The features.
        table : ndarray of shape (m, n)
            Numbers and codes of categories, NaN where a value is missing, as `FeatureSpace.read` gives them.
        max_bins : int, default 32
            Most bins of a column: there is one threshold less. Thresholds lie near the middle between neighbouring
            values, at numbers of few digits, and where there are more places than that, at quantiles. Of more
            categories the most frequent have a condition each.

        Returns
        -------
        Conditions
            Those that hold for some known rows and not for all.
        """
        thresholds, codes, missing = [], [], []
        for j, column in enumerate(table.T):
            holes = np.isnan(column)
            known = column[~holes]
            is_numeric = space.categories[j] is None
            thresholds.append(_thresholds(space, j, known, max_bins) if is_numeric else ())
            codes.append(() if is_numeric else _frequent_codes(known, len(column), max_bins))
            missing.append(bool(holes.any() and not holes.all()))
        return cls(space, thresholds, codes, missing)

    def __len__(self) -> int:
        return len(self.feature)

    def __repr__(self) -> str:
        return f"Conditions({len(self)} on {len(self.space)} features)"

    @property
    def used(self) -> list[int]:
        """The features that have a condition."""
        return np.flatnonzero(np.diff(self.starts)).tolist()

    def width(self, j: int) -> int:
        """Count the cells of a feature; the last one is for missing values."""
        return max(len(self.thresholds[j]), len(self.codes[j])) + 2

    def cells(self, table: FloatArray) -> IntArray:
        """Find the cell of each value of a table.

        Parameters
        ----------
        table : ndarray of shape (m, n)
            Numbers and codes of categories.

        Returns
        -------
        ndarray of int of shape (n, m)
            A row for each feature.
        """
        found = np.empty((len(self.space), len(table)), dtype=np.intp)
        for j, column in enumerate(np.asarray(table, dtype=np.float64).T):
            if self.space.categories[j] is None:
                found[j] = np.searchsorted(np.array(self.thresholds[j]), column)
            else:
                codes = np.array(self.codes[j], dtype=np.float64)
                at = np.searchsorted(codes, column)
                same = np.append(codes, np.nan)[at] == column
                found[j] = np.where(same, at, len(codes))
            found[j, np.isnan(column)] = self.width(j) - 1
        return found

    def gather(self, j: int, sums: FloatArray) -> FloatArray:
        """Add up what stands in the cells of a feature over the cells where each of its conditions holds.

        Parameters
        ----------
        j : int
            The feature.
        sums : ndarray of shape (w, ...)
            One entry for each cell. Whole numbers are added without rounding.

        Returns
        -------
        ndarray of shape (p_j, ...)
            One entry for each condition.
        """
        cuts = len(self.thresholds[j])
        out = np.empty((int(self.starts[j + 1] - self.starts[j]), *sums.shape[1:]))
        if cuts:
            below = running_sums(sums[: cuts + 1])
            out[:cuts] = below[:-1]
            np.subtract(below[-1], below[:-1], out=out[cuts : 2 * cuts])
        values = len(self.codes[j])
        out[2 * cuts : 2 * cuts + values] = sums[:values] if values else out[:0]
        if self.missing[j]:
            out[-1] = sums[-1]
        return out

    def holds(self, c: int, cells: IntArray) -> BoolArray:
        """Tell where one condition holds, from the cells of rows."""
        j = int(self.feature[c])
        at = c - int(self.starts[j])
        cuts, row = len(self.thresholds[j]), cells[j]
        if at < cuts:
            return np.asarray(row <= at)
        if at < 2 * cuts:
            return np.asarray((row > at - cuts) & (row <= cuts))
        if self.kind[c] == Kind.MISSING:
            return np.asarray(row == self.width(j) - 1)
        return np.asarray(row == at - 2 * cuts)

    def rule_mask(self, items: Sequence[int], cells: IntArray) -> BoolArray:
        """Tell where all conditions of a rule hold, from the cells of rows; items below 0 are passed over."""
        mask = np.ones(cells.shape[1], dtype=np.bool_)
        for c in items:
            if c >= 0:
                mask &= self.holds(int(c), cells)
        return mask

    def rule_masks(self, items: IntArray, table: FloatArray) -> BoolArray:
        """Tell for which rows of a table rules hold.

        Parameters
        ----------
        items : ndarray of int of shape (r, k)
            The conditions of each rule, -1 where it has fewer than k.
        table : ndarray of shape (m, n)
            Numbers and codes of categories.

        Returns
        -------
        ndarray of bool of shape (m, r)
            Whether each rule holds for each row.
        """
        cells = self.cells(table)
        masks = np.empty((cells.shape[1], len(items)), dtype=np.bool_, order="F")
        for r, rule in enumerate(items.tolist()):
            masks[:, r] = self.rule_mask(rule, cells)
        return masks

    def masks(self, table: FloatArray) -> BoolArray:
        """Tell for which rows of a table each condition holds: an array of shape (m, p)."""
        return self.rule_masks(np.arange(len(self))[:, None], table)

    def region(self, items: Sequence[int]) -> Box:
        """Give the region where all conditions of a rule hold, in the user's units.

        Parameters
        ----------
        items : sequence of int
            The conditions; those below 0 are passed over.

        Returns
        -------
        Box
            The box; contradictory conditions are an error.

        Examples
        --------
        >>> conditions = Conditions(FeatureSpace(["age"]), [[30.0, 60.0]], [()], [False])
        >>> conditions.region([1, 2])
        Box({0: (30, 60]}, n_features=1)
        """
        box = Box.unbounded(len(self.space))
        for c in items:
            if c >= 0:
                box = box.intersect(self._box(int(c)))
        if box.is_empty:
            listed = " and ".join(self.text(int(c)) for c in items if c >= 0)
            raise InvalidValueError(f"no row can meet all conditions of the rule {listed}")
        return box

    def _box(self, c: int) -> Box:
        j, n, t = int(self.feature[c]), len(self.space), float(self.threshold[c])
        kind = Kind(int(self.kind[c]))
        if kind == Kind.MISSING:
            return Box.from_intervals({}, n, missing=[j])
        if kind == Kind.EQUAL:
            return Box.from_intervals({}, n, sets={j: [int(self.code[c])]})
        is_below = kind == Kind.AT_MOST
        interval = Interval(-np.inf, t, "both") if is_below else Interval(t, np.inf, "neither")
        return Box.from_intervals({j: interval}, n)

    def text(self, c: int) -> str:
        """Write one condition for people."""
        j, t = int(self.feature[c]), float(self.threshold[c])
        name, kind = self.space.names[j], Kind(int(self.kind[c]))
        if kind == Kind.MISSING:
            return f"{name} is missing"
        if kind == Kind.EQUAL:
            categories = self.space.categories[j]
            assert categories is not None
            return f"{name} = {categories[int(self.code[c])]}"
        return f"{name} {'<=' if kind == Kind.AT_MOST else '>'} {t:.15g}"


def running_sums(values: FloatArray) -> FloatArray:
    """Add up along the first axis, as `numpy.add.accumulate`, which takes ten times as long for long rows."""
    if values.ndim == 1:
        return np.add.accumulate(values)
    sums = np.empty(values.shape)
    sums[:1] = values[:1]
    for k in range(1, len(values)):
        np.add(sums[k - 1], values[k], out=sums[k])
    return sums


def _thresholds(space: FeatureSpace, j: int, known: FloatArray, max_bins: int) -> tuple[float, ...]:
    cuts = middle_thresholds(known, max_bins - 1, integer=bool(space.integer[j]))
    return tuple(cuts.tolist())


def _frequent_codes(known: FloatArray, n_rows: int, most: int) -> tuple[int, ...]:
    """Give the codes of the most frequent categories; none if all rows have the same."""
    codes, counts = np.unique(known[known >= 0], return_counts=True)
    if len(codes) and counts[0] == n_rows:
        return ()
    chosen = np.sort(np.argsort(-counts, kind="stable")[:most])
    return tuple(int(code) for code in codes[chosen])
