"""Where everything stands in a table of rules: all lengths in inches, measured from the upper left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clearmargin.drawing.cells import Column
from clearmargin.drawing.lettering import short_number, text_width, wrap

__all__ = [
    "HEAD_SIZE",
    "LINE",
    "OVERHANG",
    "SQUARE",
    "Cells",
    "Kinds",
    "Layout",
    "Place",
    "lay_out",
]

HEAD_SIZE = 9.0
LINE = 0.15
SQUARE = 0.09
# Arrows stand so far outside of the scale: a bound at its end and no bound at all are two things.
OVERHANG = 0.1
_MARGIN, _GAP = 0.12, 0.2
_ROW = 0.44
_NARROWEST, _WIDEST_HEAD = 1.0, 1.7
_WIDEST_KINDS, _MOST_LINES = 2.4, 3
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
class Kinds:
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
    kinds : Kinds or None
        How its categories stand, if it has some.
    """

    head: tuple[str, ...]
    left: float
    width: float
    kinds: Kinds | None = None

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
    scales = LINE if any(not column.kinds for column in columns) else 0.0
    rows = [_MARGIN + head_lines * LINE + scales + 0.08]
    kinds_lines = max((p.kinds.n_lines for p in places if p.kinds is not None), default=0)
    for lines in linear_lines:
        needed = max(kinds_lines, len(lines)) * LINE + 0.14
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
    kinds = None
    if column.kinds:
        kinds, needed = _arrange(column.kinds)
    else:
        ends = text_width(short_number(column.low)) + text_width(short_number(column.high)) + 0.15
        needed = max(ends, *(text_width(text) for text in texts))
    # Three lines at most for the head, if that does not take too much room.
    wanted = min(_WIDEST_HEAD, 1.15 * text_width(column.title, HEAD_SIZE) / 3)
    width = max(_NARROWEST, needed, wanted)
    return Place(tuple(wrap(column.title, width, HEAD_SIZE, max_lines=6)), left, width, kinds)


def _arrange(names: Sequence[str]) -> tuple[Kinds, float]:
    """Put named squares side by side into lines; a strip of bare squares, if that takes too many lines."""
    places: list[tuple[float, int]] = []
    at, line, widest = 0.0, 0, 0.0
    for name in names:
        width = SQUARE + 0.05 + text_width(name)
        if at and at + width > _WIDEST_KINDS:
            at, line = 0.0, line + 1
        places.append((at, line))
        widest = max(widest, at + width)
        at += width + 0.14
    if line < _MOST_LINES and widest <= _WIDEST_KINDS:
        return Kinds(tuple(places), line + 1), widest
    step = min(SQUARE + 0.05, _WIDEST_KINDS / len(names))
    strip = tuple((k * step, 0) for k in range(len(names)))
    return Kinds(strip, 0), max(_NARROWEST, len(names) * step)
