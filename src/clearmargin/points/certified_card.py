"""A scorecard with proof: each line has the points that a linear machine gives at least, and those it gives at most.

A linear machine is a sum of one term a feature. Each feature is cut into cells, and in a cell its term lies between a
lowest and a highest value. Where the lowest values of the cells of a case add up to more than zero, the machine is
certain to predict the second class; where the highest ones do not, the first class; between, only the machine knows.
Points are whole numbers of a unit, rounded outwards: what is printed is what is proved, whoever adds it up. How they
are computed: `certification.py`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import DataError, FileDamagedError, InvalidValueError
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.interval import round_down, round_up
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, float_array, number
from clearmargin.tables.table import Table, case_table, make_frame
from clearmargin.tables.table_part import over_parts

if TYPE_CHECKING:
    import pandas as pd

# What each line of a card says.
CERTIFIED_COLUMNS = ("feature", "value", "at least", "at most")
# Beyond this a float is not sure to hold a sum of points, and other languages add up floats.
_MOST_POINTS = 2**50
_WIDTH = 100
# Up to so many categories of equal points are named in a line; more of them are the other ones.
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False, init=False)
class CertifiedFeature(Value):
    """The cells of one feature, with the points that its term adds at least and at most.

    Parameters
    ----------
    feature : int
        Position of the feature in its space.
    at_least, at_most : array-like of int
        Points of each cell: from the lowest values to the highest, or set by set; then those of a missing value, where
        it has a cell of its own.
    cuts : array-like, optional
        Where a new cell begins, ascending; the lower end belongs to the cell. The first cell begins and the last one
        ends with the range of the feature. None for a categorical feature.
    sets : sequence of sequences of int, optional
        The codes of the categories in each cell, each category once. None for a feature of numbers.
    missing : int, optional
        The cell of a missing value; None where nothing is proved without the value.

    Examples
    --------
    >>> age = CertifiedFeature(0, [0, 2], [3, 5], cuts=[40.0])
    >>> age.n_cells, age.n_cuts
    (2, 1)
    """

    feature: int
    at_least: IntArray
    at_most: IntArray
    cuts: FloatArray | None
    sets: tuple[tuple[int, ...], ...] | None
    missing: int | None

    def __init__(
        self,
        feature: int,
        at_least: ArrayLike,
        at_most: ArrayLike,
        cuts: ArrayLike | None = None,
        sets: Iterable[Iterable[int]] | None = None,
        missing: int | None = None,
    ):
        low, high = _points(at_least, "at_least"), _points(at_most, "at_most")
        edges = None if cuts is None else float_array(cuts, "cuts")
        groups = None if sets is None else tuple(tuple(int(c) for c in cell) for cell in sets)
        if (edges is None) == (groups is None):
            raise InvalidValueError("a feature has either cuts or sets of categories")
        if edges is not None and (
            edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any()
        ):
            raise InvalidValueError(f"cuts must be finite and ascend: {edges.tolist()}")
        known = len(edges) + 1 if edges is not None else len(groups or ())
        if missing is not None and not 0 <= missing <= known:
            raise InvalidValueError(f"a missing value cannot be in cell {missing} of {known}")
        if not len(low) == len(high) == known + (missing == known):
            raise InvalidValueError(
                f"there are {known + (missing == known)} cells, but {len(low)} points at least and {len(high)} at most"
            )
        if (low > high).any():
            raise InvalidValueError("at_least must not exceed at_most in any cell")
        self._set(
            feature=int(feature),
            at_least=low,
            at_most=high,
            cuts=edges,
            sets=groups,
            missing=None if missing is None else int(missing),
        )

    @property
    def n_cells(self) -> int:
        """Number of cells, without that of a missing value."""
        return len(self.sets or ()) if self.cuts is None else len(self.cuts) + 1

    @property
    def n_cuts(self) -> int:
        """Number of cuts: one less than there are cells."""
        return self.n_cells - 1

    @property
    def has_lines(self) -> bool:
        """Whether different values have different points; otherwise the thresholds of the card hold them."""
        return len(self.at_least) > 1

    def ends(self, space: FeatureSpace) -> list[tuple[float, float, bool]]:
        """Give the lower and the upper end of each cell of numbers, and whether the upper end belongs to it.

        Parameters
        ----------
        space : FeatureSpace
            The features, with their ranges; cells of whole numbers end at whole numbers.
        """
        assert self.cuts is not None
        j, cuts = self.feature, self.cuts.tolist()
        edges = [float(space.lower[j]), *cuts, float(space.upper[j])]
        last = len(cuts)
        is_whole = bool(space.integer[j])
        return [
            (edges[k], edges[k + 1] - (is_whole and k < last), is_whole or k == last)
            for k in range(last + 1)
        ]

    def place(self, values: FloatArray, space: FeatureSpace) -> IntArray:
        """Give the cell of each value, -1 for a value of which nothing is proved.

        Parameters
        ----------
        values : ndarray of shape (m,)
            Numbers or codes of categories; NaN where missing.
        space : FeatureSpace
            The features, with their ranges.
        """
        gone = np.isnan(values)
        if self.cuts is None:
            cells = np.full(len(space.categories[self.feature] or ()) + 1, -1, dtype=np.intp)
            for k, codes in enumerate(self.sets or ()):
                cells[list(codes)] = k
            # An unknown category has the code -1, and so the last entry, which is none of the cells.
            found = cells[np.where(gone, -1.0, values).astype(np.intp)]
        else:
            found = np.searchsorted(self.cuts, values, side="right").astype(np.intp)
            ends = self.ends(space)
            upper = np.array([end for _, end, _ in ends])
            outside = (values < ends[0][0]) | (values > upper[found])
            found[outside] = -1
        found[gone] = -1 if self.missing is None else self.missing
        return found


def _points(points: ArrayLike, what: str) -> IntArray:
    given = float_array(points, what)
    if given.ndim != 1 or (given != np.rint(given)).any() or (np.abs(given) > _MOST_POINTS).any():
        raise InvalidValueError(f"{what} must be a list of whole numbers below 2**50")
    whole = given.astype(np.intp)
    whole.setflags(write=False)
    return whole


@dataclass(frozen=True, slots=True)
class CertifiedExplanation:
    """What the lines of a card prove of a case.

    Parameters
    ----------
    label : str, int, float, bool or None
        The class; None where it is not proved and no machine was asked.
    is_proved : bool
        Whether the lines prove it.
    at_least, at_most : int or None
        The points of the case; None outside of what the card speaks of.
    thresholds : pair of int
        Up to the first one the points at most prove the first class, from the second one on the points at least prove
        the second.
    parts : tuple of (condition, at least, at most) triples
        The lines of the case, those that matter most first.
    classes : pair of labels
        The classes.
    outside : tuple of str
        Values of the case of which nothing is proved.

    Examples
    --------
    >>> print(CertifiedExplanation("ill", True, 5, 9, (2, 4), (("age 40 to 60", 5, 9),), ("well", "ill")))
    ill is proved: at least 5 points, and 4 are enough
      age 40 to 60: at least 5 points towards ill
    """

    label: Label | None
    is_proved: bool
    at_least: int | None
    at_most: int | None
    thresholds: tuple[int, int]
    parts: tuple[tuple[str, int, int], ...]
    classes: tuple[Label, Label]
    outside: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join([self._headline(), *(f"  {line}" for line in self.lines())])

    def _headline(self) -> str:
        (few, many), (first, second) = self.thresholds, self.classes
        if self.is_proved and self.label == second:
            return f"{second} is proved: at least {_count(self.at_least)}, and {many} are enough"
        if self.is_proved:
            return f"{first} is proved: at most {_count(self.at_most)}, and up to {few} are enough"
        opened = "nothing is proved" if self.label is None else f"{self.label}, not proved"
        if self.outside:
            return f"{opened}: {', '.join(self.outside)}"
        return (
            f"{opened}: {self.at_least} to {_count(self.at_most)}; {first} is proved up to {few}, "
            f"{second} from {many} on"
        )

    def lines(self) -> list[str]:
        """Say what each line of the card adds, in words."""
        second = self.classes[1]
        if not self.is_proved:
            return [
                f"{text}: {_count(low) if low == high else f'{low} to {_count(high)}'} towards {second}"
                for text, low, high in self.parts
            ]
        if self.label == second:
            return [
                f"{text}: at least {_count(low)} towards {second}" for text, low, _ in self.parts
            ]
        return [f"{text}: at most {_count(high)} towards {second}" for text, _, high in self.parts]


def _count(points: int | None) -> str:
    return f"{points} point" if points == 1 else f"{points} points"


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class CertifiedScorecard(Value):
    """Points at least and at most for what holds of a case, which together prove the class of a linear machine.

    Parameters
    ----------
    features : iterable of CertifiedFeature
        The cells of each feature that the machine uses.
    thresholds : pair of int
        A case whose points at most sum to no more than the first is proved to be of the first class; one whose points
        at least sum to the second or more is proved to be of the second class.
    space : FeatureSpace
        The features of the table, with the ranges that the proof is about.
    classes : pair of labels
        The class of few points, and the class of many.
    unit : float, default 1.0
        What a point is worth in the score of the machine.
    about : str, default ""
        What has to be said first, such as how faithful the plane of the card is to another machine.

    Examples
    --------
    >>> space = FeatureSpace(["age", "pressure"], [20.0, 80.0], [80.0, 200.0])
    >>> age = CertifiedFeature(0, [0, 2], [2, 5], cuts=[40.0])
    >>> pressure = CertifiedFeature(1, [0, 3], [3, 6], cuts=[140.0])
    >>> card = CertifiedScorecard([age, pressure], (5, 6), space, ["well", "ill"])
    >>> card.prove([[30.0, 120.0], [65.0, 170.0], [90.0, 170.0]]).tolist()
    ['well', None, None]
    >>> print(card)
    ill is proved if the points "at least" sum to 6 or more: nowhere
    well is proved if the points "at most" sum to 5 or less; else ask the machine
                           at least  at most
      age       20 to 40          0        2
                40 to 80          2        5
      pressure  80 to 140         0        3
                140 to 200        3        6
    """

    features: tuple[CertifiedFeature, ...]
    thresholds: tuple[int, int]
    space: FeatureSpace
    classes: tuple[Label, Label]
    unit: float
    about: str

    def __init__(
        self,
        features: Iterable[CertifiedFeature],
        thresholds: Iterable[int],
        space: FeatureSpace,
        classes: Iterable[Label],
        unit: float = 1.0,
        about: str = "",
    ):
        parts, labels = tuple(features), tuple(as_label(label) for label in classes)
        if len(labels) != 2 or labels[0] == labels[1]:
            raise InvalidValueError(f"a scorecard tells two classes apart, not {list(labels)}")
        limits = tuple(_points(list(thresholds), "thresholds").tolist())
        if len(limits) != 2 or limits[0] >= limits[1]:
            raise InvalidValueError(
                f"thresholds must ascend: {limits[-1] if limits else 0} points cannot prove both classes"
            )
        step = number(unit, "the unit")
        if not 0 < step < np.inf:
            raise InvalidValueError(f"the unit must be a positive number, not {step}")
        seen: set[int] = set()
        for part in parts:
            _check_part(part, space, seen)
            seen.add(part.feature)
        self._set(
            features=parts,
            thresholds=limits,
            space=space,
            classes=labels,
            unit=step,
            about=str(about),
        )

    @property
    def n_rules(self) -> int:
        """How many cuts there are; a set of categories that is set apart is one."""
        return sum(part.n_cuts for part in self.features)

    def read(self, X: Any) -> FloatArray:
        """Read a table as numbers and codes of categories, NaN where a value is missing.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows as the machine takes them: a category is given by its name or number, not by its code.
        """
        plain = self.space.with_fill(None)
        return Table.read(X).points(plain) if any(plain.categories) else plain.read(X)

    def totals(self, X: Any) -> tuple[IntArray, IntArray, BoolArray]:
        """Add up the points of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the machine takes them.

        Returns
        -------
        at_least, at_most : ndarray of int of shape (m,)
            The sums; zero where the card does not speak of the row.
        inside : ndarray of bool of shape (m,)
            Whether it does: all values are in their ranges, known, and related as declared.
        """
        return self._totals(self.read(X))

    def _totals(self, table: FloatArray) -> tuple[IntArray, IntArray, BoolArray]:
        low, high = np.zeros((2, len(table)), dtype=np.intp)
        inside = np.ones(len(table), dtype=np.bool_)
        for part in self.features:
            place = part.place(table[:, part.feature], self.space)
            inside &= place >= 0
            if part.has_lines:
                low += part.at_least[place]
                high += part.at_most[place]
        return np.where(inside, low, 0), np.where(inside, high, 0), inside

    @over_parts
    def prove(self, X: Any) -> NDArray[Any]:
        """Give the class that is proved for each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the machine takes them.

        Returns
        -------
        ndarray of object of shape (m,)
            The class that the machine is certain to predict; None where the card decides nothing: between the classes,
            outside of a range, for a category or a missing value that it has no points for.
        """
        labels = np.empty(3, dtype=object)
        labels[:2] = self.classes
        # The code of no class, -1, is the last entry, None.
        return np.asarray(labels[self.prove_codes(X)])

    def prove_codes(self, X: Any, *, is_read: bool = False) -> IntArray:
        """Give the class that is proved for each row by its position in `classes`, -1 where none is; see `prove`.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the machine takes them.
        is_read : bool, default False
            Whether X is what `read` gave.
        """
        low, high, inside = self._totals(X if is_read else self.read(X))
        codes = np.where(low >= self.thresholds[1], 1, np.where(high <= self.thresholds[0], 0, -1))
        return np.where(inside, codes, -1).astype(np.intp)

    def explain(self, row: Any, predicted: Label | None = None) -> CertifiedExplanation:
        """Say what the lines of the card prove of a case.

        Parameters
        ----------
        row : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.
        predicted : label, optional
            What the machine predicts, to be said where nothing is proved.

        Returns
        -------
        CertifiedExplanation
            It reads as a few lines.
        """
        table = self.read(case_table(row, self.space.names))
        low, high, inside = (array[0] for array in self._totals(table))
        few, many = self.thresholds
        is_proved = bool(inside and (low >= many or high <= few))
        label = self.classes[int(low >= many)] if is_proved else predicted
        parts = [
            (
                self._condition(part, place, table[0]),
                int(part.at_least[place]),
                int(part.at_most[place]),
                part,
            )
            for part in self.features
            if part.has_lines
            and (place := int(part.place(table[0, [part.feature]], self.space)[0])) >= 0
        ]
        # First what speaks most for the class: many points at least, or few of those that were possible.
        is_first = is_proved and label == self.classes[0]
        parts.sort(key=lambda p: p[2] - int(p[3].at_most.max()) if is_first else -p[1])
        return CertifiedExplanation(
            label,
            is_proved,
            int(low) if inside else None,
            int(high) if inside else None,
            self.thresholds,
            tuple((text, least, most) for text, least, most, _ in parts),
            self.classes,
            () if inside else tuple(self._outside(table[0])),
        )

    def _outside(self, row: FloatArray) -> list[str]:
        """Say which values of a row the card does not speak of."""
        said = []
        for part in self.features:
            name, value = self.space.names[part.feature], float(row[part.feature])
            if part.place(np.array([value]), self.space)[0] >= 0:
                continue
            if np.isnan(value):
                said.append(f"{name} is missing")
            elif part.cuts is None:
                said.append(f"{name} has a category that the machine does not know")
            else:
                said.append(
                    f"{name} {_show_number(value)} is not within {self._range(part.feature)}"
                )
        return said

    def _range(self, j: int) -> str:
        low, high = float(self.space.lower[j]), float(self.space.upper[j])
        shown = _short_end(low, high), _short_end(high, low)
        return f"{_show_number(shown[0])} to {_show_number(shown[1])}"

    def _condition(self, part: CertifiedFeature, place: int, row: FloatArray) -> str:
        """Say which line of a feature holds for a row."""
        name, value = self.space.names[part.feature], row[part.feature]
        if np.isnan(value):
            return f"{name} is missing"
        if part.cuts is None:
            return f"{name} is {(self.space.categories[part.feature] or ())[int(value)]}"
        return f"{name} {self._interval(part, place, float(value))}"

    def _interval(self, part: CertifiedFeature, place: int, case: float | None = None) -> str:
        """Write a cell; ends of the range that was seen have many digits, and are rounded inwards for people."""
        low, high, _ = part.ends(self.space)[place]
        if low < high:
            least = _short_end(low, high) if place == 0 else low
            most = _short_end(high, low) if place == part.n_cuts else high
            low = least if case is None or least <= case else low
            high = most if case is None or case <= most else high
        return _show_number(low) if low == high else f"{_show_number(low)} to {_show_number(high)}"

    def cell_texts(self, part: CertifiedFeature) -> list[tuple[str, int, int]]:
        """Give the lines of one feature: interval or categories, points at least and at most."""
        points = list(zip(part.at_least.tolist(), part.at_most.tolist(), strict=True))
        if part.cuts is None:
            names = self.space.categories[part.feature] or ()
            cells = [[names[code] for code in codes] for codes in part.sets or ()]
            lines = [(text, *points[k]) for text, k in _category_groups(cells)]
        else:
            lines = [(self._interval(part, k), *points[k]) for k in range(part.n_cells)]
        has_own = len(points) > part.n_cells
        return [*lines, ("missing", *points[-1])] if has_own else lines

    def lines(self) -> list[tuple[str, str, int, int]]:
        """Give the table that people read: feature, interval or categories, points at least, points at most.

        Where the range of a feature has ends of many digits, they are rounded inwards.
        """
        return [
            (self.space.names[part.feature], *line)
            for part in self.features
            if part.has_lines
            for line in self.cell_texts(part)
        ]

    @property
    def reachable(self) -> tuple[bool, bool]:
        """Whether the first class, and whether the second one, can be proved at all."""
        lowest = sum(int(part.at_most.min()) for part in self.features if part.has_lines)
        highest = sum(int(part.at_least.max()) for part in self.features if part.has_lines)
        return lowest <= self.thresholds[0], highest >= self.thresholds[1]

    def summary(self) -> str:
        """Say in two lines what the points prove."""
        (few, many), (first, second) = self.thresholds, self.classes
        nowhere = ["" if can else ": nowhere" for can in self.reachable]
        return (
            f'{second} is proved if the points "at least" sum to {many} or more{nowhere[1]}\n'
            f'{first} is proved if the points "at most" sum to {few} or less{nowhere[0]}; else ask the machine'
        )

    def conditions(self) -> str:
        """Say what else has to hold for the proof: ranges of features without a line; "" for nothing."""
        ranges = [
            f"{self.space.names[part.feature]} is within {self._range(part.feature)}"
            for part in self.features
            if not part.has_lines and part.cuts is not None
        ]
        named = [
            self.space.names[part.feature]
            for part in self.features
            if not part.has_lines and part.cuts is None
        ]
        needed = [*ranges, *(f"{name} is a known category" for name in named)]
        return f"Proved where, besides, {', '.join(needed)}." if needed else ""

    # Reading and writing

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<CertifiedScorecard: {self.n_rules} cuts over {len(self.features)} features>"

    def to_text(self) -> str:
        """Write the card as a plain table, each feature named once."""
        head = ("", "", *CERTIFIED_COLUMNS[2:])
        cells = [head, *self._cells()]
        wide = [max(len(line[k]) for line in cells) for k in range(4)]
        table = [
            f"  {a.ljust(wide[0])}  {b.ljust(wide[1])}  {low.rjust(wide[2])}  {high.rjust(wide[3])}"
            for a, b, low, high in cells
        ]
        below = textwrap.wrap(self.conditions(), _WIDTH)
        above = textwrap.wrap(self.about, _WIDTH)
        return "\n".join([*above, self.summary(), *(table if len(cells) > 1 else []), *below])

    def _cells(self) -> list[tuple[str, str, str, str]]:
        """Return the lines as texts, with a name only where it changes."""
        return [
            (name if k == 0 else "", text, str(low), str(high))
            for name, group in groupby(self.lines(), key=lambda line: line[0])
            for k, (_, text, low, high) in enumerate(group)
        ]

    def _repr_html_(self) -> str:
        from clearmargin.templates import render_macro

        groups = [
            (name, [(text, str(low), str(high)) for _, text, low, high in lines])
            for name, lines in groupby(self.lines(), key=lambda line: line[0])
        ]
        said = [text for text in (self.about, *self.summary().split("\n")) if text]
        above = render_macro("notebook.html", "lines", items=said)
        table = render_macro(
            "notebook.html", "grouped", columns=CERTIFIED_COLUMNS, groups=groups, numbers=2
        )
        items = [self.conditions()] if self.conditions() else []
        return above + table + render_macro("notebook.html", "lines", items=items)

    def to_frame(self) -> pd.DataFrame:
        """Put the card into a pandas data frame, one row a line."""
        return make_frame(self.lines(), columns=list(CERTIFIED_COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Put the card into plain data for JSON."""
        return {
            "features": RuleSet((), self.space, self.classes).to_dict(),
            "classes": list(self.classes),
            "cells": [_write_part(part, self.space) for part in self.features],
            "thresholds": list(self.thresholds),
            "unit": self.unit,
            "about": self.about,
        }

    @classmethod
    def from_dict(cls, data: object) -> CertifiedScorecard:
        """Make a card from what `to_dict` gave."""
        if not isinstance(data, Mapping) or not set(data) >= _KEYS:
            missing = sorted(_KEYS - set(data)) if isinstance(data, Mapping) else sorted(_KEYS)
            raise FileDamagedError(f"this is no scorecard with proof: {', '.join(missing)} missing")
        shell = RuleSet.from_dict(data["features"])
        try:
            parts = [_read_part(entry, shell.space) for entry in data["cells"]]
            if len(shell):
                raise InvalidValueError("relations between features are no longer read")
            return cls(
                parts,
                data["thresholds"],
                shell.space,
                data["classes"],
                data["unit"],
                data["about"],
            )
        except (InvalidValueError, DataError) as error:
            raise FileDamagedError(str(error)) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FileDamagedError(
                f"the cells of this scorecard cannot be read: {error!r}"
            ) from error


# Ends of ranges are written with so many digits, if that cuts off no more than this share of the cell.
_DIGITS, _SHARE = 4, 0.01


def _short_end(end: float, other: float) -> float:
    """Round an end of a cell towards its other end, to few digits."""
    round_inwards = round_up if other > end else round_down
    for digits in range(_DIGITS, 17):
        found = round_inwards(end, digits)
        if abs(found - end) <= _SHARE * abs(other - end):
            return found
    return end


_KEYS = {"features", "classes", "cells", "thresholds", "unit", "about"}


def _write_part(part: CertifiedFeature, space: FeatureSpace) -> dict[str, Any]:
    written: dict[str, Any] = {
        "feature": space.names[part.feature],
        "at_least": part.at_least.tolist(),
        "at_most": part.at_most.tolist(),
    }
    if part.cuts is not None:
        written["cuts"] = part.cuts.tolist()
    else:
        names = space.categories[part.feature] or ()
        written["sets"] = [[names[code] for code in codes] for codes in part.sets or ()]
    if part.missing is not None:
        written["missing"] = part.missing
    return written


def _read_part(entry: Mapping[str, Any], space: FeatureSpace) -> CertifiedFeature:
    j = space.index(entry["feature"])
    names = space.categories[j] or ()
    sets = entry.get("sets")
    codes = None if sets is None else [[names.index(name) for name in cell] for cell in sets]
    return CertifiedFeature(
        j, entry["at_least"], entry["at_most"], entry.get("cuts"), codes, entry.get("missing")
    )


def _check_part(part: object, space: FeatureSpace, seen: set[int]) -> None:
    """Raise if the cells of a feature do not fit the features of a table."""
    if not isinstance(part, CertifiedFeature):
        raise InvalidValueError(f"features must be CertifiedFeature, not {type(part).__name__}")
    j = part.feature
    if not 0 <= j < space.n_features:
        raise InvalidValueError(f"cells of feature {j}, but there are {space.n_features} features")
    name, categories = space.names[j], space.categories[j]
    if j in seen:
        raise InvalidValueError(f"feature {name!r} has cells twice; put them together")
    if (categories is None) != (part.cuts is not None):
        raise InvalidValueError(
            f"feature {name!r} is {'a number and needs cuts' if categories is None else 'no number and needs sets'}"
        )
    if part.cuts is None:
        codes = sorted(code for cell in part.sets or () for code in cell)
        if len(set(codes)) < len(codes) or not set(codes) <= set(range(len(categories or ()))):
            raise InvalidValueError(
                f"the sets of {name!r} must hold each of its categories at most once"
            )
        return
    _check_cuts(part, space, name)


def _check_cuts(part: CertifiedFeature, space: FeatureSpace, name: str) -> None:
    assert part.cuts is not None
    low, high = float(space.lower[part.feature]), float(space.upper[part.feature])
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InvalidValueError(f"feature {name!r} has no range, and nothing is proved without one")
    if len(part.cuts) and not (low < part.cuts[0] and part.cuts[-1] <= high):
        raise InvalidValueError(
            f"the cuts of {name!r} must lie within its range {low:g} to {high:g}"
        )
    if space.integer[part.feature] and (part.cuts != np.rint(part.cuts)).any():
        raise InvalidValueError(f"{name!r} takes whole numbers, and so must its cuts")


def _category_groups(groups: Sequence[Sequence[str]]) -> list[tuple[str, int]]:
    """Write groups of categories as the lines of a card, each with the position of its group."""
    sizes = [len(names) for names in groups]
    most = sizes.index(max(sizes))
    has_others = len(groups) > 1 and sizes[most] > _MOST_NAMED
    lines = [
        (", ".join(names), k) for k, names in enumerate(groups) if not (has_others and k == most)
    ]
    return [*lines, ("other categories", most)] if has_others else lines


def _show_number(x: float) -> str:
    """Write a number exactly, and a whole one without a point."""
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(float(x))
