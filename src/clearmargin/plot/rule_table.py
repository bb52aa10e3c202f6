"""Rules over any number of features, as a table of intervals: all lengths are inches from the upper left corner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.printer import Phrases, format_number
from clearmargin.language.prose import percent, plain
from clearmargin.plot.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    short_number,
    text_width,
    title_of,
    wrap,
)
from clearmargin.plot.drawn_rules import drawn_range, rules_to_draw
from clearmargin.rules import Box, Interval, Rule, RuleSet, round_inwards

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEAD_SIZE, _LINE, _SQUARE, _DOT = 9.0, 0.15, 0.09, 0.04
_MARGIN, _GAP, _ROW = 0.12, 0.2, 0.44
# Arrows stand so far outside of the scale: a bound at its end and no bound at all are two things.
_OVERHANG = 0.1
_NARROWEST, _WIDEST_HEAD, _WIDEST_CATEGORIES, _LINEAR = 1.0, 1.7, 2.4, 2.6
_WIDEST_LABEL, _WIDEST_NAME = 1.8, 1.4
_TEXT_ABOVE, _BAR_BELOW, _QUIET = 0.075, 0.085, 0.65
# Beyond it, not every whole number is a float.
_LAST_SURE_WHOLE = 2.0**53
# Places and colours of dots and squares, by what they are.
_Dots = dict[str, list[tuple[float, float, str]]]


def plot_rules(
    source: Any, *, max_rules: int = 15, digits: int = 3, ax: Axes | None = None
) -> Axes:
    """Draw a table of rules with their intervals as bars."""
    for name, count in (("max_rules", max_rules), ("digits", digits)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidValueError(f"{name} must be a whole number from 1, not {count!r}")
    rules = rules_to_draw(source)
    require_matplotlib()
    space, colours = rules.space, class_colours(rules.classes)
    covered = [0 if rule.stats is None else rule.stats.covered for rule in rules]
    largest = sorted(range(len(rules)), key=lambda k: -covered[k])[:max_rules]
    shown = [(k, rules[k]) for k in sorted(largest)]
    marks = [f"{k + 1}  {plain(r.name)}" if r.name is not None else str(k + 1) for k, r in shown]
    labels = [plain(rule.label) for _, rule in shown]
    phrases = Phrases(space)
    linear = [[] if isinstance(r.region, Box) else [*phrases.rows(r.region)] for _, r in shown]
    stats = [_stats_text(rule) for _, rule in shown]
    features = sorted({j for _, rule in shown for j in _conditions(rule.region)})
    cells = {j: [_read_cell(rule, j, space, digits) for _, rule in shown] for j in features}

    table = _Columns()
    mark_at, mark_end = table.add([""], _widest(marks, _WIDEST_NAME))
    places = {j: _add_feature(table, rules, j, [text for text, _ in cells[j]]) for j in features}
    lines = [
        [line for text in each for line in wrap(text, _LINEAR, max_lines=8)] for each in linear
    ]
    linear_at = table.add(["linear conditions"], _LINEAR)[0] if any(lines) else 0.0
    label_at, label_end = table.add(["class"], _widest(labels, _WIDEST_LABEL, bold=True))
    stats_at = table.add(["rows covered"], _widest(stats, 9.0))[0] if any(stats) else 0.0

    remarks = []
    if len(shown) < len(rules):
        counted = any(rule.stats is not None for rule in rules)
        which = "those that cover the most" if counted else "the first ones"
        remarks.append(f"{len(shown)} of {len(rules)} rules shown, {which}")
    if any(known is not None and known.closed != "both" for j in features for _, known in cells[j]):
        remarks.append("Hollow end: the bound itself is not in the rule")
    scales = _LINE if any(place.limits for place in places.values()) else 0.0
    rows = [_MARGIN + max(len(head) for head, _ in table) * _LINE + scales + 0.08]
    for each in lines:
        rows.append(rows[-1] + max(_ROW, len(each) * _LINE + 0.14))
    size = table.end + _MARGIN, rows[-1] + (0.08 + _LINE if remarks else 0.0) + _MARGIN

    axes = open_axes(ax, size)
    if ax is None:
        axes.set_position((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, size[0])
    axes.set_ylim(size[1], 0.0)

    def write(x: float, y: float, text: str, **options: Any) -> None:
        if text:
            axes.text(x, y, text, **{"size": SMALL, "va": "center", **VERBATIM, **options})

    for head, left in table:
        write(left, rows[0] - 0.08 - scales, "\n".join(head), size=_HEAD_SIZE, va="bottom")
    for place in places.values():
        low, high = map(short_number, place.limits) if place.limits else ("", "")
        write(place.left, rows[0] - 0.08 - _LINE / 2, low, alpha=_QUIET)
        write(place.right, rows[0] - 0.08 - _LINE / 2, high, alpha=_QUIET, ha="right")
    changes = [True, *(a != b for a, b in pairwise(labels)), True]
    for k, y in enumerate(rows):
        strength = 0.9 if k == 0 else 0.45 if changes[k] else 0.13
        axes.plot((_MARGIN, table.end), (y, y), color=ink(), alpha=strength, lw=0.8)
    dots: _Dots = {}
    for row, (_, rule) in enumerate(shown):
        y, colour = (rows[row] + rows[row + 1]) / 2, colours[rule.label]
        write(mark_at, y, fit_line(marks[row], mark_end - mark_at, _HEAD_SIZE), size=_HEAD_SIZE)
        label = fit_line(labels[row], label_end - label_at, _HEAD_SIZE, bold=True)
        write(label_at, y, label, size=_HEAD_SIZE, weight="bold", color=colour)
        write(stats_at, y, stats[row], size=_HEAD_SIZE)
        write(linear_at, y, "\n".join(lines[row]))
        for j, place in places.items():
            text, known = cells[j][row]
            shown_text = fit_line(text, place.right - place.left, keep_end=False)
            x, ha = (place.left + place.right) / 2, "center"
            if j in rule.region.sets:
                x, ha = place.left, "left"
            write(x, y - _TEXT_ABOVE, shown_text, ha=ha)
            _draw_condition(axes, dots, place, rule, j, known, y + _BAR_BELOW, colour)
    _draw_dots(axes, dots)
    write(_MARGIN, rows[-1] + 0.08 + _LINE / 2, ". ".join(remarks), alpha=_QUIET)
    return axes


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the conditions on a feature stand: its scale with the range on it, or squares of categories."""

    left: float
    right: float
    limits: tuple[float, float] | None
    squares: Sequence[float] = ()


class _Columns(list[tuple[list[str], float]]):
    """The columns of a table: the lines of their heads and their left ends."""

    end = _MARGIN - _GAP

    def add(self, head: list[str], width: float) -> tuple[float, float]:
        """Put a column to the right of the others; give where it is."""
        left = self.end + _GAP
        self.append((head, left))
        self.end = left + max(width, *(text_width(line, _HEAD_SIZE) for line in head)) + 1e-6
        return left, self.end


def _widest(texts: Sequence[str], most: float, *, bold: bool = False) -> float:
    return min(most, max(text_width(text, _HEAD_SIZE, bold=bold) for text in texts))


def _add_feature(table: _Columns, rules: RuleSet, j: int, texts: Sequence[str]) -> _Place:
    """Find a place for a feature that is wide enough for what is written into it."""
    needed, limits = max(map(text_width, texts)), None
    squares: tuple[float, ...] = ()
    kinds = rules.space.categories[j]
    if kinds is None:
        limits = drawn_range(rules, j)
        needed = max(needed, sum(text_width(short_number(end)) for end in limits) + 0.15)
    else:
        step = min(_SQUARE + 0.05, _WIDEST_CATEGORIES / len(kinds))
        squares = tuple(k * step + _SQUARE / 2 for k in range(len(kinds)))
        needed = max(min(needed, _WIDEST_CATEGORIES), len(kinds) * step)
    # Three lines at most for the head, if that does not take too much room.
    title = title_of(rules.space, j)
    width = max(_NARROWEST, needed, min(_WIDEST_HEAD, 1.15 * text_width(title, _HEAD_SIZE) / 3))
    return _Place(*table.add(wrap(title, width, _HEAD_SIZE, max_lines=6), width), limits, squares)


def _draw_condition(
    ax: Axes,
    dots: _Dots,
    place: _Place,
    rule: Rule,
    j: int,
    known: Interval | None,
    y: float,
    colour: str,
) -> None:
    """Draw an interval over its scale, or allowed categories; dots are collected, to be drawn kind by kind."""
    for code, x in enumerate(place.squares if j in rule.region.sets else ()):
        kind = "in square" if code in rule.region.sets[j] else "out square"
        dots.setdefault(kind, []).append((place.left + x, y, colour))
    if place.limits is None:
        return
    start, end = place.left + _OVERHANG, place.right - _OVERHANG
    ax.hlines(y, start, end, colors=[ink()], alpha=0.22, lw=0.8, zorder=1).set_gid("scale")
    if known is None:
        return
    low, high = place.limits
    ends = []
    for bound, closed, arrow, edge, sign in (
        (known.low, known.low_closed, "left", place.left, 1),
        (known.high, known.high_closed, "right", place.right, -1),
    ):
        x, kind = start + (bound - low) / (high - low) * (end - start), "in" if closed else "out"
        if math.isinf(bound):
            x, kind = edge + sign * _DOT, arrow
        dots.setdefault(kind, []).append((x, y, colour))
        # A hollow dot stays hollow: the bar ends at its rim.
        ends.append(x + (sign * _DOT if kind == "out" else 0.0))
    if ends[0] < ends[1]:
        ax.hlines(y, ends[0], ends[1], colors=colour, lw=3.0, zorder=2).set_gid("intervals")


def _draw_dots(ax: Axes, dots: _Dots) -> None:
    shapes = {"in": "o", "out": "o", "left": "<", "right": ">"}
    for kind, group in dots.items():
        xs, ys, shades = zip(*group, strict=True)
        # The line around a shape counts to its size.
        area = ((2 * _DOT if kind in shapes else _SQUARE) * 72.0 - 1.1) ** 2
        face: Any = "none" if kind.startswith("out") else shades
        style: dict[str, Any] = {"lw": 1.1, "zorder": 3, "gid": kind, "clip_on": False}
        marker = shapes.get(kind, "s")
        ax.scatter(xs, ys, area, marker=marker, facecolors=face, edgecolors=shades, **style)


def _conditions(region: Any) -> set[int]:
    """Return the features of which a rule says more than that they are part of a sum."""
    others = {*region.sets, *region.missing, *region.known}
    return {*region.bounded} if isinstance(region, Box) else others


def _read_cell(rule: Rule, j: int, space: Any, digits: int) -> tuple[str, Interval | None]:
    """Say what a rule asks of a feature; its interval, too, between whole numbers where it counts things."""
    region = rule.region
    if j in region.sets:
        return ", ".join(
            plain((space.categories[j] or ())[code]) for code in sorted(region.sets[j])
        ), None
    interval = region.interval(j) if isinstance(region, Box) else Interval(-math.inf, math.inf)
    low, high = interval.low, interval.high
    if math.isinf(low) and math.isinf(high):
        told = "missing" if j in region.missing else "not missing" if j in region.known else ""
        return told, None
    is_sure = all(math.isinf(x) or abs(x) < _LAST_SURE_WHOLE for x in (low, high))
    if space.integer[j] and is_sure:
        if math.isfinite(low):
            low = float(math.ceil(low) if interval.low_closed else math.floor(low) + 1)
        if math.isfinite(high):
            high = float(math.floor(high) if interval.high_closed else math.ceil(high) - 1)
        if low <= high:
            interval = Interval(low, high, closed="both")
    # Whole numbers are written as they are, other bounds are rounded inwards.
    written = interval if space.integer[j] else round_inwards(interval, digits)
    first, last = format_number(written.low), format_number(written.high)
    if written.low == written.high:
        text = f"= {first}"
    elif math.isinf(written.low):
        text = f"{'≤' if written.high_closed else '<'} {last}"
    elif math.isinf(written.high):
        text = f"{'≥' if written.low_closed else '>'} {first}"
    elif written.closed == "both":
        text = f"{first} to {last}"
    else:
        ends = "[" if written.low_closed else "(", "]" if written.high_closed else ")"
        text = f"{ends[0]}{first}, {last}{ends[1]}"
    return text, interval


def _stats_text(rule: Rule) -> str:
    """Return how many rows a rule covers and how often it is right."""
    stats = rule.stats
    if stats is None:
        return ""
    right = ""
    if stats.covered and stats.correct is not None:
        right = f", {percent(stats.correct, stats.covered)} right"
    return f"{stats.covered} of {stats.rows}{right}"
