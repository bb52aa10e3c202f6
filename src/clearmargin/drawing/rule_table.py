"""Rules over any number of features, as a table of intervals.

Cells are plain data (intervals, sets of categories, words); the layout has all lengths in inches, measured from the
upper left corner; then head, rows, bars of intervals and squares of categories are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    short_number,
    text_width,
    title_of,
    wrap,
)
from clearmargin.drawing.drawn_rules import check_rules, drawn_range, fitted_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.printer import Phrases, format_number
from clearmargin.language.prose import percent, plain
from clearmargin.rules import Box, Interval, Rule, RuleSet, RuleStats, round_inwards

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "HEAD_SIZE",
    "LINE",
    "OVERHANG",
    "SQUARE",
    "CategorySquares",
    "Cells",
    "Column",
    "Layout",
    "Place",
    "RulesDisplay",
    "Strokes",
    "columns_of",
    "draw_head",
    "draw_row_texts",
    "draw_separators",
    "interval_text",
    "lay_out",
    "linear_texts",
    "missing_text",
    "plot_rules",
    "shown_interval",
    "stats_text",
    "write",
]


class RulesDisplay:
    """A table of rules: a row for each rule, a column for each feature that occurs in one.

    A cell shows the interval of its feature over the range of that feature. A full dot is a bound that belongs to the
    rule, a hollow one a bound that does not, an arrow no bound. Numbers are rounded inwards, bars are exact. Of
    categories, those allowed are full squares.

    Parameters
    ----------
    rules : RuleSet
        All rules.
    shown : list of int
        Positions of those in the table.
    digits : int
        Significant digits of bounds.

    Attributes
    ----------
    columns : list of Column
        The features in the table, with their ranges.
    ax_, figure_
        Where it was drawn.
    layout_ : Layout
        Where everything stands, in inches; its `width` and `height` are what the table needs.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> display = RulesDisplay.from_rules(parse_rules("age >= 50 and bmi < 30 => ill"))
    >>> [column.title for column in display.columns]
    ['age', 'bmi']
    """

    def __init__(self, *, rules: RuleSet, shown: list[int], digits: int = 3):
        self.rules = rules
        self.shown = shown
        self.digits = digits
        self.columns = columns_of(RuleSet([rules[k] for k in shown], rules.space, rules.classes))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
    ) -> Self:
        """Draw the rules of a fitted extractor.

        Parameters
        ----------
        estimator : RuleExtractor
            Fitted; or another estimator with `rules_`.
        max_rules : int, default 15
            Most rules in the table: those that cover most, in their order; the first ones where coverage is not known.
        digits : int, default 3
            Significant digits of bounds.
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the table needs.

        Returns
        -------
        RulesDisplay
            With what was drawn.
        """
        return cls.from_rules(fitted_rules(estimator), max_rules=max_rules, digits=digits, ax=ax)

    @classmethod
    def from_rules(
        cls, rules: RuleSet, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
    ) -> Self:
        """Draw rules, whoever wrote them.

        Parameters
        ----------
        rules : RuleSet
            The rules.
        max_rules, digits, ax
            As for `from_estimator`.

        Returns
        -------
        RulesDisplay
            With what was drawn.
        """
        for name, count in (("max_rules", max_rules), ("digits", digits)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise InvalidValueError(f"{name} must be a whole number from 1, not {count!r}")
        shown = _with_largest_coverage(check_rules(rules), max_rules)
        return cls(rules=rules, shown=shown, digits=digits).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the table needs. Axes that are smaller crowd it.

        Returns
        -------
        RulesDisplay
            Itself, with `ax_`, `figure_` and `layout_`.
        """
        require_matplotlib()
        caption = self._caption()
        layout = lay_out(self.columns, self._cells(), bool(caption))
        is_new_figure = ax is None
        axes = open_axes(ax, (layout.width, layout.height))
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        self.layout_: Layout = layout
        if is_new_figure:
            axes.set_position((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, layout.width)
        axes.set_ylim(layout.height, 0.0)
        draw_head(axes, layout, self.columns)
        draw_separators(axes, layout, [self.rules[k].label for k in self.shown])
        strokes = Strokes()
        for row, k in enumerate(self.shown):
            self._draw_row(row, k, strokes)
        strokes.draw(axes)
        if caption:
            write(axes, layout.marks.left, layout.rows[-1] + 0.08 + LINE / 2, caption, alpha=0.65)
        return self

    def _cells(self) -> Cells:
        shown = [self.rules[k] for k in self.shown]
        return Cells(
            marks=[self._mark(k) for k in self.shown],
            texts=[[self._text(rule, c.feature) for rule in shown] for c in self.columns],
            linear=[linear_texts(self.rules, rule) for rule in shown],
            labels=[plain(rule.label) for rule in shown],
            stats=[stats_text(rule.stats) for rule in shown],
        )

    def _mark(self, k: int) -> str:
        name = self.rules[k].name
        return str(k + 1) if name is None else f"{k + 1}  {plain(name)}"

    def _text(self, rule: Rule, feature: int) -> str:
        interval = self._interval(rule, feature)
        if interval is None:
            return missing_text(rule, feature)
        # Whole numbers are written as they are.
        digits = None if self.rules.space.integer[feature] else self.digits
        return interval_text(interval, digits)

    def _caption(self) -> str:
        remarks = []
        if len(self.shown) < len(self.rules):
            counted = any(rule.stats is not None for rule in self.rules)
            which = "those that cover the most" if counted else "the first ones"
            remarks.append(f"{len(self.shown)} of {len(self.rules)} rules shown, {which}")
        if any(
            self._has_open_end(self.rules[k], c.feature) for k in self.shown for c in self.columns
        ):
            remarks.append("Hollow end: the bound itself is not in the rule")
        return ". ".join(remarks)

    def _interval(self, rule: Rule, feature: int) -> Interval | None:
        return shown_interval(rule, feature, integer=bool(self.rules.space.integer[feature]))

    def _has_open_end(self, rule: Rule, feature: int) -> bool:
        interval = self._interval(rule, feature)
        return interval is not None and interval.closed != "both"

    def _draw_row(self, row: int, k: int, strokes: Strokes) -> None:
        rule, layout = self.rules[k], self.layout_
        colour = class_colours(self.rules.classes)[rule.label]
        label, stats = plain(rule.label), stats_text(rule.stats)
        draw_row_texts(self.ax_, layout, row, self._mark(k), label, stats, colour)
        y = (layout.rows[row] + layout.rows[row + 1]) / 2
        for column, place in zip(self.columns, layout.columns, strict=True):
            j = column.feature
            if not column.categories:
                strokes.add_track(place, y)
            interval = self._interval(rule, j)
            if j in rule.region.sets:
                codes = sorted(rule.region.sets[j])
                strokes.add_categories(self.ax_, place, column, y, codes, colour)
            elif interval is not None:
                text = self._text(rule, j)
                strokes.add_interval(self.ax_, place, column, y, interval, text, colour)
            elif condition := missing_text(rule, j):
                strokes.add_text(self.ax_, place, y, condition)


def plot_rules(
    source: Any, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
) -> RulesDisplay:
    """Draw a table of rules with their intervals as bars.

    Parameters
    ----------
    source : RuleExtractor or RuleSet
        A fitted extractor, or rules.
    max_rules, digits, ax
        As for `RulesDisplay.from_estimator`.

    Returns
    -------
    RulesDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> plot_rules(parse_rules("age >= 50 => ill")).shown
    [0]
    """
    draw = RulesDisplay.from_rules if isinstance(source, RuleSet) else RulesDisplay.from_estimator
    return draw(source, max_rules=max_rules, digits=digits, ax=ax)


def _with_largest_coverage(rules: RuleSet, max_rules: int) -> list[int]:
    """Select the positions of the rules that cover most rows, in their order; the first ones where nothing is known."""
    covered = [0 if rule.stats is None else rule.stats.covered for rule in rules]
    order = sorted(range(len(rules)), key=lambda k: -covered[k])
    return sorted(order[:max_rules])


_QUIET = 0.65
_BAR, _TRACK = 3.0, 0.8
# Radius of the dot at the end of a bar.
_DOT = 0.04
_TEXT_ABOVE, _BAR_BELOW = 0.075, 0.085


def write(ax: Axes, x: float, y: float, text: str, **options: Any) -> None:
    """Write a line, letter by letter as it is."""
    style: dict[str, Any] = {"size": SMALL, "va": "center", "ha": "left", **VERBATIM, **options}
    ax.text(x, y, text, **style)


def draw_head(ax: Axes, layout: Layout, columns: Sequence[Column]) -> None:
    """Write the heads of the columns and the ends of their scales."""
    bottom = layout.rows[0] - 0.08
    scales = LINE if any(not column.categories for column in columns) else 0.0
    around = [place for place in (layout.linear, layout.labels, layout.stats) if place is not None]
    for place in (*layout.columns, *around):
        for k, line in enumerate(reversed(place.head)):
            y = bottom - scales - (k + 0.5) * LINE
            write(ax, place.left, y, line, size=HEAD_SIZE)
    for column, place in zip(columns, layout.columns, strict=True):
        if not column.categories:
            y = bottom - LINE / 2
            write(ax, place.left, y, short_number(column.low), alpha=_QUIET)
            write(ax, place.right, y, short_number(column.high), alpha=_QUIET, ha="right")


def draw_separators(ax: Axes, layout: Layout, labels: Sequence[object]) -> None:
    """Draw a line below the head, a lighter one between classes and the lightest between rules."""
    changes = [True, *(a != b for a, b in pairwise(labels)), True]
    ends = (layout.marks.left, (layout.stats or layout.labels).right)
    for k, y in enumerate(layout.rows):
        strength = 0.9 if k == 0 else 0.45 if changes[k] else 0.13
        ax.plot(ends, (y, y), color=ink(), alpha=strength, linewidth=0.8, solid_capstyle="butt")


def draw_row_texts(
    ax: Axes, layout: Layout, row: int, mark: str, label: str, stats: str, colour: str
) -> None:
    """Write number, linear conditions, class and coverage of a rule."""
    y = (layout.rows[row] + layout.rows[row + 1]) / 2
    place = layout.marks
    write(ax, place.left, y, fit_line(mark, place.width, HEAD_SIZE), size=HEAD_SIZE)
    place = layout.labels
    shown = fit_line(label, place.width, HEAD_SIZE, bold=True)
    write(ax, place.left, y, shown, size=HEAD_SIZE, weight="bold", color=colour)
    if layout.stats is not None:
        write(ax, layout.stats.left, y, stats, size=HEAD_SIZE)
    lines = layout.linear_lines[row]
    for k, line in enumerate(lines):
        assert layout.linear is not None
        write(ax, layout.linear.left, y + (k - (len(lines) - 1) / 2) * LINE, line)


@dataclass(slots=True)
class Strokes:
    """Bars and squares, collected first and drawn kind by kind.

    Parameters
    ----------
    bars, tracks : list
        Segments, with their colours for bars.
    dots : dict
        Ends of bars by kind: "in" for a bound in the rule, "out" for one that is not, "left" and "right" for none.
    squares : dict
        Squares of categories, "in" and "out" of the rule.
    """

    bars: list[tuple[Any, str]] = field(default_factory=list)
    tracks: list[Any] = field(default_factory=list)
    dots: dict[str, list[tuple[float, float, str]]] = field(default_factory=dict)
    squares: dict[str, list[tuple[float, float, str]]] = field(default_factory=dict)

    def add_track(self, place: Place, y: float) -> None:
        """Draw the scale of a feature."""
        self.tracks.append([(x, y + _BAR_BELOW) for x in place.scale])

    def add_interval(
        self,
        ax: Axes,
        place: Place,
        column: Column,
        y: float,
        interval: Interval,
        text: str,
        colour: str,
    ) -> None:
        """Draw an interval over its scale, and what it says above."""
        start, end = place.scale
        scale = (end - start) / (column.high - column.low)
        ends = []
        for bound, closed, free, sign in (
            (interval.low, interval.low_closed, "left", 1),
            (interval.high, interval.high_closed, "right", -1),
        ):
            is_free = np.isinf(bound)
            edge = place.left + _DOT if free == "left" else place.right - _DOT
            x = edge if is_free else start + (bound - column.low) * scale
            kind = free if is_free else "in" if closed else "out"
            self.dots.setdefault(kind, []).append((x, y + _BAR_BELOW, colour))
            # A hollow dot stays hollow: the bar ends at its rim.
            ends.append((x + (sign * _DOT if kind == "out" else 0.0), y + _BAR_BELOW))
        if ends[0][0] < ends[1][0]:
            self.bars.append((ends, colour))
        self.add_text(ax, place, y, text)

    def add_text(self, ax: Axes, place: Place, y: float, text: str) -> None:
        """Write what a condition says above its scale."""
        write(ax, (place.left + place.right) / 2, y - _TEXT_ABOVE, text, ha="center")

    def add_categories(
        self, ax: Axes, place: Place, column: Column, y: float, codes: Sequence[int], colour: str
    ) -> None:
        """Draw a square for each category, filled if it is allowed."""
        squares = place.squares
        assert squares is not None
        top = y + _BAR_BELOW if not squares.n_lines else y - (squares.n_lines - 1) / 2 * LINE
        for code, (right, line) in enumerate(squares.places):
            x, at = place.left + right, top + line * LINE
            allowed = code in codes
            self.squares.setdefault("in" if allowed else "out", []).append(
                (x + SQUARE / 2, at, colour)
            )
            if squares.n_lines:
                name = column.categories[code]
                write(ax, x + SQUARE + 0.05, at, name, alpha=1.0 if allowed else _QUIET)
        if not squares.n_lines:
            names = ", ".join(column.categories[code] for code in codes)
            write(ax, place.left, y - _TEXT_ABOVE, fit_line(names, place.width, keep_end=False))

    def draw(self, ax: Axes) -> None:
        """Draw all of it."""
        from matplotlib.collections import LineCollection

        ax.add_collection(
            LineCollection(self.tracks, colors=[ink()], alpha=0.22, linewidths=_TRACK, zorder=1),
            autolim=False,
        )
        bars = LineCollection(
            [ends for ends, _ in self.bars],
            colors=[colour for _, colour in self.bars],
            linewidths=_BAR,
            capstyle="butt",
            zorder=2,
        )
        bars.set_gid("intervals")
        ax.add_collection(bars, autolim=False)
        shapes = {"in": "o", "out": "o", "left": "<", "right": ">"}
        for kind, dots in self.dots.items():
            _scatter(ax, dots, shapes[kind], 2 * _DOT, kind, hollow=kind == "out")
        for kind, squares in self.squares.items():
            _scatter(ax, squares, "s", SQUARE, f"{kind} square", hollow=kind == "out")


def _scatter(
    ax: Axes,
    at: Sequence[tuple[float, float, str]],
    shape: str,
    size: float,
    gid: str,
    *,
    hollow: bool,
) -> None:
    x, y, colours = zip(*at, strict=True)
    width = 1.1
    # The line around a shape counts to its size.
    area = (size * 72.0 - width) ** 2
    ax.scatter(
        x,
        y,
        s=area,
        marker=shape,
        facecolors="none" if hollow else colours,
        edgecolors=colours,
        linewidths=width,
        zorder=3,
        gid=gid,
        clip_on=False,
    )


HEAD_SIZE = 9.0
LINE = 0.15
SQUARE = 0.09
# Arrows stand so far outside of the scale: a bound at its end and no bound at all are two things.
OVERHANG = 0.1
_MARGIN, _GAP = 0.12, 0.2
_ROW = 0.44
_NARROWEST, _WIDEST_HEAD = 1.0, 1.7
_WIDEST_CATEGORIES, _MAX_LINES = 2.4, 3
_LINEAR = 2.6
_WIDEST_LABEL, _WIDEST_NAME = 1.8, 1.4


@dataclass(frozen=True, slots=True)
class Cells:
    """What is written into a table: one entry for each rule shown.

    Parameters
    ----------
    marks : sequence of str
        Numbers and names of the rules.
    texts : sequence of sequence of str
        For each column, what its intervals say.
    linear : sequence of sequence of str
        Linear conditions; all empty where there are none.
    labels : sequence of str
        Classes.
    stats : sequence of str
        Coverage; all empty where nothing is known.
    """

    marks: Sequence[str]
    texts: Sequence[Sequence[str]]
    linear: Sequence[Sequence[str]]
    labels: Sequence[str]
    stats: Sequence[str]


@dataclass(frozen=True, slots=True)
class CategorySquares:
    """How the categories of a feature stand in a cell: named squares in lines, or a strip of squares without names.

    Parameters
    ----------
    places : tuple of (float, int)
        For each category, how far right its square stands and in which line.
    n_lines : int
        Number of lines; 0 for a strip.
    """

    places: tuple[tuple[float, int], ...]
    n_lines: int


@dataclass(frozen=True, slots=True)
class Place:
    """A column: its head, left end and width.

    Parameters
    ----------
    head : tuple of str
        Lines of the head.
    left, width : float
        Where it stands.
    squares : CategorySquares or None
        How its categories stand, if it has any.
    """

    head: tuple[str, ...]
    left: float
    width: float
    squares: CategorySquares | None = None

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width

    @property
    def scale(self) -> tuple[float, float]:
        """Where the scale of a feature starts and ends."""
        return self.left + OVERHANG, self.right - OVERHANG


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands.

    Parameters
    ----------
    marks, linear, labels, stats : Place or None
        The columns around those of the features; None where there is nothing to say.
    columns : tuple of Place
        One for each feature.
    linear_lines : tuple of tuple of str
        Linear conditions of each rule, in lines.
    rows : tuple of float
        Where each row starts, and where the last one ends.
    width, height : float
        Of the whole table.
    """

    marks: Place
    columns: tuple[Place, ...]
    linear: Place | None
    labels: Place
    stats: Place | None
    linear_lines: tuple[tuple[str, ...], ...]
    rows: tuple[float, ...]
    width: float
    height: float


def lay_out(columns: Sequence[Column], cells: Cells, caption: bool) -> Layout:
    """Measure what is to be written and find a place for it.

    Parameters
    ----------
    columns : sequence of Column
        The features.
    cells : Cells
        What is written.
    caption : bool
        Whether a line is needed below the table.

    Returns
    -------
    Layout
        Nothing in it overlaps.
    """
    marks = _column("", _MARGIN, _widest(cells.marks, _WIDEST_NAME, bold=False))
    at = marks.right + _GAP
    places = []
    for column, texts in zip(columns, cells.texts, strict=True):
        places.append(_feature(column, texts, at))
        at = places[-1].right + _GAP
    linear = None
    linear_lines: tuple[tuple[str, ...], ...] = tuple(
        tuple(line for condition in conditions for line in wrap(condition, _LINEAR, max_lines=8))
        for conditions in cells.linear
    )
    if any(cells.linear):
        linear = _column("linear conditions", at, _LINEAR)
        at = linear.right + _GAP
    labels = _column("class", at, _widest(cells.labels, _WIDEST_LABEL, bold=True))
    at, stats = labels.right, None
    if any(cells.stats):
        stats = _column("rows covered", at + _GAP, _widest(cells.stats, 9.0, bold=False))
        at = stats.right
    head_lines = max(len(place.head) for place in (*places, labels))
    scales = LINE if any(not column.categories for column in columns) else 0.0
    rows = [_MARGIN + head_lines * LINE + scales + 0.08]
    category_lines = max((p.squares.n_lines for p in places if p.squares is not None), default=0)
    for lines in linear_lines:
        needed = max(category_lines, len(lines)) * LINE + 0.14
        rows.append(rows[-1] + max(_ROW, needed))
    below = 0.08 + LINE if caption else 0.0
    return Layout(
        marks,
        tuple(places),
        linear,
        labels,
        stats,
        linear_lines,
        tuple(rows),
        at + _MARGIN,
        rows[-1] + below + _MARGIN,
    )


def _widest(texts: Sequence[str], limit: float, *, bold: bool) -> float:
    return min(limit, max(text_width(text, HEAD_SIZE, bold=bold) for text in texts))


def _column(head: str, left: float, width: float) -> Place:
    return Place((head,), left, max(width, text_width(head, HEAD_SIZE)))


def _feature(column: Column, texts: Sequence[str], left: float) -> Place:
    squares = None
    if column.categories:
        squares, needed = _arrange(column.categories)
    else:
        ends = text_width(short_number(column.low)) + text_width(short_number(column.high)) + 0.15
        needed = max(ends, *(text_width(text) for text in texts))
    # Three lines at most for the head, if that does not take too much room.
    preferred = min(_WIDEST_HEAD, 1.15 * text_width(column.title, HEAD_SIZE) / 3)
    width = max(_NARROWEST, needed, preferred)
    return Place(tuple(wrap(column.title, width, HEAD_SIZE, max_lines=6)), left, width, squares)


def _arrange(names: Sequence[str]) -> tuple[CategorySquares, float]:
    """Put named squares side by side into lines; a strip of bare squares, if that takes too many lines."""
    places: list[tuple[float, int]] = []
    at, line, widest = 0.0, 0, 0.0
    for name in names:
        width = SQUARE + 0.05 + text_width(name)
        if at and at + width > _WIDEST_CATEGORIES:
            at, line = 0.0, line + 1
        places.append((at, line))
        widest = max(widest, at + width)
        at += width + 0.14
    if line < _MAX_LINES and widest <= _WIDEST_CATEGORIES:
        return CategorySquares(tuple(places), line + 1), widest
    step = min(SQUARE + 0.05, _WIDEST_CATEGORIES / len(names))
    strip = tuple((k * step, 0) for k in range(len(names)))
    return CategorySquares(strip, 0), max(_NARROWEST, len(names) * step)


# Beyond it, not every whole number is a float.
_LAST_SURE_WHOLE = 2.0**53


@dataclass(frozen=True, slots=True)
class Column:
    """A feature that occurs in some rule.

    Parameters
    ----------
    feature : int
        Its position in the space.
    title : str
        Name and unit.
    low, high : float
        The range to draw; without meaning for categories.
    categories : tuple of str
        Its categories; none for a feature of numbers.
    """

    feature: int
    title: str
    low: float
    high: float
    categories: tuple[str, ...]


def columns_of(rules: RuleSet) -> list[Column]:
    """Give a column for each feature of which some rule says more than that it is part of a sum.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> [column.title for column in columns_of(parse_rules("age >= 50 and smoker = yes => ill"))]
    ['age', 'smoker']
    """
    occurring: set[int] = set()
    for rule in rules:
        region = rule.region
        others = (*region.sets, *region.missing, *region.known)
        occurring |= {*(region.bounded if isinstance(region, Box) else others)}
    return [
        Column(
            j,
            title_of(rules.space, j),
            *drawn_range(rules, j),
            tuple(plain(category) for category in rules.space.categories[j] or ()),
        )
        for j in sorted(occurring)
    ]


def shown_interval(rule: Rule, feature: int, *, integer: bool) -> Interval | None:
    """Return the interval of a feature in a rule, from whole number to whole number where it counts things.

    Parameters
    ----------
    rule : Rule
        The rule.
    feature : int
        Position of the feature.
    integer : bool
        Whether the feature takes whole numbers only.

    Returns
    -------
    Interval or None
        None where the rule has no bound on the feature.
    """
    region = rule.region
    if not isinstance(region, Box) or feature in region.sets:
        return None
    interval = region.interval(feature)
    if math.isinf(interval.low) and math.isinf(interval.high):
        return None
    return (_whole(interval) if integer else None) or interval


def missing_text(rule: Rule, feature: int) -> str:
    """Say whether the value of a feature must be missing, or must not; nothing where a rule says neither.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> missing_text(parse_rules("age is not missing => a")[0], 0)
    'not missing'
    """
    if feature in rule.region.missing:
        return "missing"
    return "not missing" if feature in rule.region.known else ""


def _whole(interval: Interval) -> Interval | None:
    """Return the same whole numbers with closed ends; None if there are none or floats cannot tell them apart."""
    low, high = interval.low, interval.high
    if any(math.isfinite(x) and abs(x) >= _LAST_SURE_WHOLE for x in (low, high)):
        return None
    if math.isfinite(low):
        low = float(math.ceil(low) if interval.low_closed else math.floor(low) + 1)
    if math.isfinite(high):
        high = float(math.floor(high) if interval.high_closed else math.ceil(high) - 1)
    return Interval(low, high, closed="both") if low <= high else None


def interval_text(interval: Interval, digits: int | None) -> str:
    """Say an interval in a few signs; bounds are rounded inwards, or not at all without a number of digits.

    Examples
    --------
    >>> interval_text(Interval(-math.inf, 7.7777), 3), interval_text(Interval(1.5, 2, "both"), 3)
    ('≤ 7.77', '1.5 to 2')
    >>> interval_text(Interval(3, 5), 3), interval_text(Interval(3, math.inf, "neither"), 3)
    ('[3, 5)', '> 3')
    """
    shown = interval if digits is None else round_inwards(interval, digits)
    low, high = format_number(shown.low), format_number(shown.high)
    if shown.low == shown.high:
        return f"= {low}"
    if math.isinf(shown.low):
        return f"{'≤' if shown.high_closed else '<'} {high}"
    if math.isinf(shown.high):
        return f"{'≥' if shown.low_closed else '>'} {low}"
    if shown.closed == "both":
        return f"{low} to {high}"
    return f"{'[' if shown.low_closed else '('}{low}, {high}{']' if shown.high_closed else ')'}"


def linear_texts(rules: RuleSet, rule: Rule) -> list[str]:
    """Return the linear conditions of a rule in the rule language; none where it has plain bounds alone."""
    if isinstance(rule.region, Box):
        return []
    return list(Phrases(rules.space).rows(rule.region))


def stats_text(stats: RuleStats | None) -> str:
    """Return how many rows a rule covers and how often it is right.

    Examples
    --------
    >>> stats_text(RuleStats(rows=683, covered=427, correct=420))
    '427 of 683, 98.3 % right'
    """
    if stats is None:
        return ""
    text = f"{stats.covered} of {stats.rows}"
    if stats.covered and stats.correct is not None:
        text += f", {percent(stats.correct, stats.covered)} right"
    return text
