"""A scorecard: points for each feature's interval or category, summed, and a class from a number of points on.

The value itself comes first, then its forms: text, Markdown, HTML, data frame and plain data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    InvalidValueError,
)
from clearmargin.rules import Box, FeatureSpace, Interval, Rule, RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray, IntArray, Value, float_array, number
from clearmargin.tables.table import case_table, make_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COLUMNS",
    "ScoreExplanation",
    "Scorecard",
    "ScoredFeature",
    "card_html",
    "card_markdown",
    "card_text",
    "category_groups",
    "read_card",
    "show_number",
    "write_card",
]

# What each line of a card says.
COLUMNS = ("feature", "value", "points")
# Up to so many categories of equal points are named in a line; more of them are the other ones.
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False, init=False)
class ScoredFeature(Value):
    """The points of one feature.

    Parameters
    ----------
    feature : int
        Position of the feature in its space.
    points : array-like
        Points for each interval from the lowest to the highest, or for each category in the order of the space.
    cuts : array-like, optional
        Where a new interval begins, ascending; the lower end belongs to the interval. None for a feature of categories.

    Examples
    --------
    >>> age = ScoredFeature(0, [0, 2, 5], cuts=[40, 60])
    >>> age.of(np.array([39.0, 40.0, 75.0]))
    array([0., 2., 5.])
    """

    feature: int
    points: FloatArray
    cuts: FloatArray | None

    def __init__(self, feature: int, points: ArrayLike, cuts: ArrayLike | None = None):
        given = float_array(points, "points")
        edges = None if cuts is None else float_array(cuts, "cuts")
        if given.ndim != 1 or not np.isfinite(given).all():
            raise InvalidValueError("points must be a list of finite numbers")
        if edges is not None:
            if edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
                raise InvalidValueError(f"cuts must be finite and ascend: {edges.tolist()}")
            if len(given) != len(edges) + 1:
                raise InvalidValueError(
                    f"{len(edges)} cuts make {len(edges) + 1} intervals, but there are points for {len(given)}"
                )
        self._set(feature=int(feature), points=given, cuts=edges)

    @property
    def n_rules(self) -> int:
        """How many cuts there are, or categories with other points than most of them have."""
        if self.cuts is not None:
            return len(self.cuts)
        return len(self.points) - int(np.unique(self.points, return_counts=True)[1].max(initial=0))

    def place(self, values: FloatArray) -> IntArray:
        """Give the position of the interval or category of each value."""
        if self.cuts is None:
            return values.astype(np.intp)
        return np.searchsorted(self.cuts, values, side="right").astype(np.intp)

    def of(self, values: FloatArray) -> FloatArray:
        """Give the points of each value."""
        return np.asarray(self.points[self.place(values)])

    def interval(self, place: int) -> Interval:
        """Give an interval by its position."""
        assert self.cuts is not None
        edges = [-math.inf, *self.cuts.tolist(), math.inf]
        return Interval(edges[place], edges[place + 1])


@dataclass(frozen=True, slots=True)
class ScoreExplanation:
    """Which points a case has, and from where.

    Parameters
    ----------
    label : str, int, float or bool
        The class.
    score : float
        The points of the case.
    threshold : float
        The second class begins above this.
    parts : tuple of (condition, points, most points) triples
        For each feature what holds for the case, the points for it and the most that the feature can give; the
        highest first.

    Examples
    --------
    >>> print(ScoreExplanation("ill", 5.0, 2.5, (("age >= 60", 5.0, 5.0),)))
    ill: 5 points, more than 2.5
      5 of 5  age >= 60
    """

    label: Label
    score: float
    threshold: float
    parts: tuple[tuple[str, float, float], ...]

    def __str__(self) -> str:
        side = "more" if self.score > self.threshold else "not more"
        lines = [
            f"{self.label}: {show_number(self.score)} points, {side} than {show_number(self.threshold)}",
            *(f"  {show_number(p)} of {show_number(most)}  {text}" for text, p, most in self.parts),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Scorecard(Value):
    """Points for what holds of a case; with more of them than the threshold it is of the second class.

    Parameters
    ----------
    features : iterable of ScoredFeature
        The points of each feature that counts.
    threshold : float
        The second class begins above this.
    space : FeatureSpace
        The features of the table.
    classes : pair of labels
        The class of few points, and the class of many.

    Examples
    --------
    >>> space = FeatureSpace(["age", "pressure"])
    >>> card = Scorecard([ScoredFeature(0, [0, 2, 5], [40, 60])], 2.5, space, ["well", "ill"])
    >>> card.predict([[30.0, 120.0], [65.0, 120.0]]).tolist()
    ['well', 'ill']
    >>> print(card)
    ill if the points sum to 3 or more (else well)
      age  < 40      0
           40 to 60  2
           >= 60     5
    """

    features: tuple[ScoredFeature, ...]
    threshold: float
    space: FeatureSpace
    classes: tuple[Label, Label]

    def __init__(
        self,
        features: Iterable[ScoredFeature],
        threshold: float,
        space: FeatureSpace,
        classes: Iterable[Label],
    ):
        parts, labels = tuple(features), tuple(as_label(label) for label in classes)
        if len(labels) != 2 or labels[0] == labels[1]:
            raise InvalidValueError(f"a scorecard tells two classes apart, not {list(labels)}")
        limit = number(threshold, "the threshold")
        if not math.isfinite(limit):
            raise InvalidValueError(f"the threshold must be a finite number, not {limit}")
        seen: set[int] = set()
        for part in parts:
            _check_part(part, space, seen)
            seen.add(part.feature)
        self._set(features=parts, threshold=limit, space=space, classes=labels)

    @property
    def n_rules(self) -> int:
        """How many cuts and categories with points there are."""
        return sum(part.n_rules for part in self.features)

    def score(self, X: Any) -> FloatArray:
        """Give the points of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Points.
        """
        return np.asarray(self._parts(self.space.read(X)).sum(axis=1))

    def decision_function(self, X: Any) -> FloatArray:
        """Give by how many points each row exceeds the threshold."""
        return self.score(X) - self.threshold

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row."""
        return np.array(self.classes)[(self.decision_function(X) > 0).astype(np.intp)]

    def _parts(self, table: FloatArray) -> FloatArray:
        """Return the points of each row for each feature that counts."""
        points = np.zeros((len(table), len(self.features)))
        for k, part in enumerate(self.features):
            values = table[:, part.feature]
            wrong = np.isnan(values) if part.cuts is not None else ~(values >= 0)
            if wrong.any():
                what = "NaN" if np.isnan(values[np.argmax(wrong)]) else "a category that is unknown"
                raise DataError(
                    f"row {int(np.argmax(wrong)) + 1} has {what} in column {self.space.names[part.feature]!r}, "
                    "for which the scorecard has no points; fill it first"
                )
            points[:, k] = part.of(values)
        return points

    def explain(self, row: Any) -> ScoreExplanation:
        """Say which points a case has, and from where.

        Parameters
        ----------
        row : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.

        Returns
        -------
        ScoreExplanation
            Points by feature.
        """
        table = self.space.read(case_table(row, self.space.names))
        points = self._parts(table)[0]
        parts = []
        for part, value in zip(self.features, points.tolist(), strict=True):
            place = int(part.place(table[0, [part.feature]])[0])
            parts.append((self._condition(part, place), value, float(part.points.max())))
        parts.sort(key=lambda entry: -entry[1])
        total = float(points.sum())
        label = self.classes[int(total > self.threshold)]
        return ScoreExplanation(label, total, self.threshold, tuple(parts))

    def rules(self) -> tuple[Rule, ...]:
        """Give a rule for each interval or category with points: its weight is what it adds for the second class.

        The rules do not decide by themselves: the second class begins where the weights of all that hold sum to more
        than the threshold. Points below zero are no weights; cards that `ScoreRules` makes have none.
        """
        found: list[Rule] = []
        for part in self.features:
            for place, points in enumerate(part.points.tolist()):
                if points > 0.0:
                    box = self._box(part, place)
                    found.append(Rule(box, self.classes[1], weight=points, origin="extracted"))
        return tuple(found)

    def _box(self, part: ScoredFeature, place: int) -> Box:
        n = self.space.n_features
        if part.cuts is not None:
            return Box.from_intervals({part.feature: part.interval(place)}, n)
        return Box.from_intervals({}, n, {part.feature: [place]})

    def _condition(self, part: ScoredFeature, place: int) -> str:
        name, text = self.space.names[part.feature], self._interval_or_category(part, place)
        if part.cuts is None:
            return f"{name} is {text}"
        return f"{name} {text}" if place in (0, len(part.cuts)) else f"{name} from {text}"

    def _interval_or_category(self, part: ScoredFeature, place: int) -> str:
        if part.cuts is None:
            return str((self.space.categories[part.feature] or ())[place])
        interval = part.interval(place)
        if interval.low == -math.inf:
            return f"< {show_number(interval.high)}"
        if interval.high == math.inf:
            return f">= {show_number(interval.low)}"
        return f"{show_number(interval.low)} to {show_number(interval.high)}"

    def lines(self) -> list[tuple[str, str, float]]:
        """Give the table that people read: feature, interval or categories, points.

        Categories of equal points share a line; where most of them do, these are "other categories", the last line.
        """
        return [
            (self.space.names[part.feature], text, points)
            for part in self.features
            for text, points in self._feature_lines(part)
        ]

    def _feature_lines(self, part: ScoredFeature) -> list[tuple[str, float]]:
        points = part.points.tolist()
        if part.cuts is not None:
            return [(self._interval_or_category(part, k), value) for k, value in enumerate(points)]
        values = list(dict.fromkeys(points))
        named = [
            [
                self._interval_or_category(part, k)
                for k, other in enumerate(points)
                if other == value
            ]
            for value in values
        ]
        return [(text, values[k]) for text, k in category_groups(named)]

    def summary(self) -> str:
        """Say in a sentence how the points decide."""
        few, many = self.classes
        if all((part.points == np.rint(part.points)).all() for part in self.features):
            # Whole points exceed the threshold from the next whole number on.
            return (
                f"{many} if the points sum to {math.floor(self.threshold) + 1} or more (else {few})"
            )
        return f"{many} if the points sum to more than {show_number(self.threshold)} (else {few})"

    # Reading and writing

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Scorecard: {self.n_rules} rules over {len(self.features)} features>"

    def to_text(self) -> str:
        """Write the card as a plain table."""
        return card_text(self)

    def to_markdown(self) -> str:
        """Write the card as a table in Markdown."""
        return card_markdown(self)

    def _repr_html_(self) -> str:
        return card_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Put the card into a pandas data frame, one row an interval or category."""
        return make_frame(self.lines(), columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Put the card into plain data for JSON."""
        return write_card(self)

    @classmethod
    def from_dict(cls, data: object) -> Scorecard:
        """Make a card from what `to_dict` gave."""
        return cls(*read_card(data))


def _check_part(part: object, space: FeatureSpace, seen: set[int]) -> None:
    if not isinstance(part, ScoredFeature):
        raise InvalidValueError(f"features must be ScoredFeature, not {type(part).__name__}")
    if not 0 <= part.feature < space.n_features:
        raise InvalidValueError(
            f"points for feature {part.feature}, but there are {space.n_features} features"
        )
    name, categories = space.names[part.feature], space.categories[part.feature]
    if part.feature in seen:
        raise InvalidValueError(f"feature {name!r} has points twice; put them together")
    if (categories is None) != (part.cuts is not None):
        raise InvalidValueError(
            f"feature {name!r} is {'a number and needs cuts' if categories is None else 'no number and has no cuts'}"
        )
    if categories is not None and len(categories) != len(part.points):
        raise InvalidValueError(
            f"feature {name!r} has {len(categories)} categories, but there are points for {len(part.points)}"
        )


def category_groups(groups: Sequence[Sequence[str]]) -> list[tuple[str, int]]:
    """Write groups of categories as the lines of a card, each with the position of its group.

    Parameters
    ----------
    groups : sequence of sequences of str
        The categories, each in one group.

    Returns
    -------
    list of (text, position) pairs
        The names of a group; a group of more than three, the largest one, is "other categories", the last line.

    Examples
    --------
    >>> category_groups([["a", "b", "c", "d"], ["e", "f"]])
    [('e, f', 1), ('other categories', 0)]
    """
    sizes = [len(names) for names in groups]
    most = sizes.index(max(sizes))
    has_others = len(groups) > 1 and sizes[most] > _MOST_NAMED
    lines = [
        (", ".join(names), k) for k, names in enumerate(groups) if not (has_others and k == most)
    ]
    return [*lines, ("other categories", most)] if has_others else lines


def show_number(x: float) -> str:
    """Write a number exactly, and a whole one without a point.

    Examples
    --------
    >>> show_number(3.0), show_number(2.5)
    ('3', '2.5')
    """
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(float(x))


_KEYS = {"features", "classes", "points", "threshold"}


def card_text(card: Scorecard) -> str:
    """Write a card as a plain table, each feature named once."""
    cells = _cells(card)
    wide = [max((len(line[j]) for line in cells), default=0) for j in range(3)]
    lines = [
        f"  {name.ljust(wide[0])}  {kind.ljust(wide[1])}  {points.rjust(wide[2])}"
        for name, kind, points in cells
    ]
    return "\n".join([card.summary(), *lines])


def card_markdown(card: Scorecard) -> str:
    """Write a card as a table in Markdown."""
    lines = [" | ".join(word.replace("|", "\\|") for word in line) for line in _cells(card)]
    head = ["", "| feature | value | points |", "|---|---|---:|"]
    return "\n".join([card.summary(), *head, *(f"| {line} |" for line in lines)])


def card_html(card: Scorecard) -> str:
    """Draw a card as a table for notebooks; whatever stands in names is shown, not obeyed."""
    from clearmargin.templates import render_macro

    groups = [
        (name, [(value, show_number(points)) for _, value, points in lines])
        for name, lines in groupby(card.lines(), key=lambda line: line[0])
    ]
    above = render_macro("notebook.html", "lines", items=[card.summary()])
    return above + render_macro("notebook.html", "grouped", columns=COLUMNS, groups=groups)


def write_card(card: Scorecard) -> dict[str, Any]:
    """Put a card into plain data for JSON."""
    # Rules know how to write a space; here there are none of them.
    shell = RuleSet((), card.space, card.classes).to_dict()
    points = [
        {"feature": card.space.names[part.feature], "points": part.points.tolist()}
        | ({} if part.cuts is None else {"cuts": part.cuts.tolist()})
        for part in card.features
    ]
    return {
        "features": shell,
        "classes": list(card.classes),
        "points": points,
        "threshold": card.threshold,
    }


def read_card(
    data: object,
) -> tuple[list[ScoredFeature], float, FeatureSpace, tuple[Label, ...]]:
    """Read what `write_card` wrote; anything else is an error that says what is missing or wrong."""
    if not isinstance(data, Mapping) or not set(data) >= _KEYS:
        missing = sorted(_KEYS - set(data)) if isinstance(data, Mapping) else sorted(_KEYS)
        raise FileDamagedError(f"this is no scorecard: {', '.join(missing)} missing")
    shell = RuleSet.from_dict(data["features"])
    try:
        parts = [
            ScoredFeature(shell.space.index(entry["feature"]), entry["points"], entry.get("cuts"))
            for entry in data["points"]
        ]
        card = Scorecard(parts, data["threshold"], shell.space, data["classes"])
    except (InvalidValueError, DataError) as error:
        raise FileDamagedError(str(error)) from error
    except (KeyError, TypeError, AttributeError) as error:
        raise FileDamagedError(f"the points of this scorecard cannot be read: {error!r}") from error
    return list(card.features), card.threshold, card.space, card.classes


def _cells(card: Scorecard) -> list[tuple[str, str, str]]:
    """Return the lines of the card as texts, with a name only where it changes."""
    cells, before = [], None
    for name, kind, points in card.lines():
        cells.append(("" if name == before else name, kind, show_number(points)))
        before = name
    return cells
