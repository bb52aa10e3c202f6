"""The strokes of `RulesDisplay`: head, rows, bars of intervals and squares of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.drawing.canvas import ink
from clearmargin.drawing.cells import Column
from clearmargin.drawing.lettering import SMALL, VERBATIM, fit_line, short_number
from clearmargin.drawing.rules_layout import HEAD_SIZE, LINE, SQUARE, Layout, Place
from clearmargin.rules import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Strokes", "draw_head", "draw_row_texts", "draw_separators", "write"]

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
    scales = LINE if any(not column.kinds for column in columns) else 0.0
    around = [place for place in (layout.linear, layout.labels, layout.stats) if place is not None]
    for place in (*layout.columns, *around):
        for k, line in enumerate(reversed(place.head)):
            y = bottom - scales - (k + 0.5) * LINE
            write(ax, place.left, y, line, size=HEAD_SIZE)
    for column, place in zip(columns, layout.columns, strict=True):
        if not column.kinds:
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

    def add_kinds(
        self, ax: Axes, place: Place, column: Column, y: float, codes: Sequence[int], colour: str
    ) -> None:
        """Draw a square for each category, filled if it is allowed."""
        kinds = place.kinds
        assert kinds is not None
        top = y + _BAR_BELOW if not kinds.n_lines else y - (kinds.n_lines - 1) / 2 * LINE
        for code, (right, line) in enumerate(kinds.places):
            x, at = place.left + right, top + line * LINE
            allowed = code in codes
            self.squares.setdefault("in" if allowed else "out", []).append(
                (x + SQUARE / 2, at, colour)
            )
            if kinds.n_lines:
                name = column.kinds[code]
                write(ax, x + SQUARE + 0.05, at, name, alpha=1.0 if allowed else _QUIET)
        if not kinds.n_lines:
            names = ", ".join(column.kinds[code] for code in codes)
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
