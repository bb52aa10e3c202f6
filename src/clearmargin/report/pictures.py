"""Small drawings: intervals in ranges, bars. Each says in words what it shows."""

from __future__ import annotations

import math
from typing import Any

from clearmargin.language.words import number_text
from clearmargin.report.page_blocks import Picture, Shape

Facts = dict[str, Any]

# Classes are told apart by colours; with more classes they come again.
STYLES = 6
_WIDTH, _HEIGHT = 160.0, 14.0
# A bar thinner than this cannot be seen.
_THINNEST = 2.0
# With more categories than this, a cell for each would be too small.
_MOST_CELLS = 40


def _place(value: float | None, limits: list[float | None], otherwise: float) -> float:
    """Return where a value lies on a bar, from 0 to its width."""
    low, high = limits
    if value is None or low is None or high is None or high <= low:
        return otherwise
    return _WIDTH * min(1.0, max(0.0, (value - low) / (high - low)))


def condition_bar(condition: Facts, style: int) -> Picture | None:
    """Draw where a condition holds in the range of its feature; None where it is no interval of one feature."""
    if condition["feature"] is None or "missing" in condition:
        return None
    kind = f"mark c{style % STYLES}"
    if "categories" in condition:
        return _category_bar(condition, kind)
    limits = condition["range"]
    start, end = _place(condition["low"], limits, 0.0), _place(condition["high"], limits, _WIDTH)
    asked = [
        number_text(limit if bound is None else bound)
        for bound, limit in zip((condition["low"], condition["high"]), limits, strict=True)
    ]
    label = f"{asked[0]} to {asked[1]} in a range from {_range_text(limits)}"
    return _bar(label, _span(start, end, kind))


def value_bar(fact: Facts, style: int) -> Picture | None:
    """Draw the value of a case in the interval that a rule asks for."""
    if "range" not in fact:
        return None
    limits = fact["range"]
    start, end = _place(fact["low"], limits, 0.0), _place(fact["high"], limits, _WIDTH)
    at = _place(fact["value"], limits, _WIDTH / 2)
    # Half a pixel more than the tick is wide, so that it is seen at either end.
    at = min(_WIDTH - 1.5, max(1.5, at))
    tick = _shape("line", x1=f"{at:g}", x2=f"{at:g}", y1=0, y2=_HEIGHT, class_="tick")
    label = f"{number_text(fact['value'])} in a range from {_range_text(limits)}; {fact['asks']}"
    return _bar(label, _span(start, end, f"mark c{style % STYLES}"), tick)


def _range_text(limits: list[float | None]) -> str:
    return f"{number_text(limits[0])} to {number_text(limits[1])}"


def _shape(tag: str, text: str = "", **attributes: Any) -> Shape:
    """Make a shape; `class_` stands for class, an underscore for a hyphen, None for leaving an attribute out."""
    named = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    return Shape(tag, {key: value for key, value in named.items() if value is not None}, text)


def _span(start: float, end: float, kind: str) -> Shape:
    width = max(_THINNEST, end - start)
    start = min(start, _WIDTH - width)
    return _shape("rect", x=f"{start:g}", y=2, width=f"{width:g}", height=_HEIGHT - 4, class_=kind)


def _bar(label: str, *shapes: Shape) -> Picture:
    track = _shape("rect", x=0, y=5, width=_WIDTH, height=_HEIGHT - 10, class_="track")
    return Picture(f"{_WIDTH:g}", f"{_HEIGHT:g}", label, "bar", (track, *shapes))


def _category_bar(condition: Facts, kind: str) -> Picture:
    count, allowed = len(condition["categories"]), set(condition["allowed"])
    label = f"{condition['text']}; {len(allowed)} of {count} categories"
    if count > _MOST_CELLS:
        return _bar(label, _span(0.0, _WIDTH * len(allowed) / count, kind))
    step = _WIDTH / count
    cells = [
        _shape(
            "rect",
            x=f"{k * step + 1:.4g}",
            y=2,
            width=f"{max(1.0, step - 2):.4g}",
            height=_HEIGHT - 4,
            class_=kind if k in allowed else "hollow",
        )
        for k in range(count)
    ]
    return Picture(f"{_WIDTH:g}", f"{_HEIGHT:g}", label, "bar", tuple(cells))


def points_bar(low: float, high: float, largest: float, label: str) -> Picture:
    """Draw points from a number to a number, on a track from 0."""
    size = _WIDTH / largest if largest else 0.0
    return _bar(label, _span(low * size, high * size, "mark c1"))


def two_sided_bar(value: float, largest: float, label: str) -> Picture:
    """Draw a number that may have either sign, from the middle to the left or to the right."""
    middle = _WIDTH / 2
    size = middle * min(1.0, abs(value) / largest) if largest else 0.0
    start, kind = (middle, "mark c1") if value >= 0 else (middle - size, "mark c0")
    axis = _shape("line", x1=middle, x2=middle, y1=0, y2=_HEIGHT, class_="tick")
    return _bar(label, _span(start, start + size, kind), axis)


# Charts: pictures as wide as there is room, whose places are in percent and whose letters keep their size.


def wide_picture(height: int, label: str | None, *shapes: Shape) -> Picture:
    """Make a picture that fills the width of its place."""
    return Picture("", f"{height}", label, "wide", shapes)


def _at(share: float) -> str:
    return f"{100 * share:.2f}%"


def _wide_bar(start: float, width: float, y: int, height: int, style: str) -> Shape:
    return _shape(
        "rect", x=_at(start), width=_at(max(width, 0.0)), y=y, height=height, rx=2, class_=style
    )


def _words(place: float, y: int, text: str, dx: int = 0, anchor: str = "start") -> Shape:
    return _shape("text", text, x=_at(place), y=y, dx=dx, text_anchor=anchor)


def shares_with_errors(
    rows: list[tuple[str, float, float]], first: str = "c0"
) -> tuple[tuple[str, Picture], ...]:
    """Draw shares as dots with bars of two standard errors, the first in a colour of its own, above a common axis."""
    low = max(0.0, min(value - 2 * error for _, value, error in rows) - 0.02)
    high = min(1.0, max(value + 2 * error for _, value, error in rows) + 0.02)
    unit = next(u for u in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / u <= 6)
    ticks = [k * unit for k in range(math.ceil(low / unit - 1e-9), int(high / unit + 1e-9) + 1)]

    def place(value: float) -> float:
        return 0.04 + 0.92 * (min(max(value, low), high) - low) / ((high - low) or 1.0)

    grid = [
        _shape("line", x1=_at(place(t)), x2=_at(place(t)), y1=0, y2=26, class_="grid")
        for t in ticks
    ]
    drawn = []
    for k, (name, value, error) in enumerate(rows):
        style = first if k == 0 else "c4"
        ends = place(value - 2 * error), place(value + 2 * error)
        shapes = [
            *grid,
            _wide_bar(ends[0], ends[1] - ends[0], 11, 4, f"{style} faint"),
            _shape("circle", cx=_at(place(value)), cy=13, r=5.5, class_=style),
        ]
        drawn.append((name, wide_picture(26, None, *shapes)))
    axis = [_words(place(t), 13, f"{100 * t:.0f} %", anchor="middle") for t in ticks]
    return (*drawn, ("", wide_picture(18, None, *axis)))


def stacked_bars(
    rows: list[tuple[str, tuple[int, str], tuple[int, str]]],
) -> tuple[tuple[str, Picture], ...]:
    """Draw bars of two parts, with their words below."""
    drawn = []
    for name, (size, words), (rest, others) in rows:
        share = size / (size + rest) if size + rest else 0.0
        shapes = [
            _wide_bar(0.0, share, 0, 18, "c0"),
            _wide_bar(share, 1 - share, 0, 18, "hollow"),
            _words(0.0, 33, words),
            _words(1.0, 33, others, anchor="end"),
        ]
        drawn.append((name, wide_picture(38, None, *shapes)))
    return tuple(drawn)


def signed_bars(rows: list[tuple[str, float, str, int]]) -> tuple[tuple[str, Picture], ...]:
    """Draw numbers of either sign as bars from a common line: name, number, its text, style."""
    top = max(0.0, *(value for _, value, _, _ in rows))
    bottom = min(0.0, *(value for _, value, _, _ in rows))
    span = (top - bottom) or 1.0
    zero = 0.09 - 0.82 * bottom / span
    drawn = []
    for name, value, text, style in rows:
        size = 0.82 * abs(value) / span
        start = zero if value >= 0 else zero - size
        words = (
            _words(zero + size, 17, text, 5)
            if value >= 0
            else _words(zero - size, 17, text, -5, "end")
        )
        line = _shape("line", x1=_at(zero), x2=_at(zero), y1=0, y2=24, class_="grid")
        bar = _wide_bar(start, size, 4, 16, f"c{style % STYLES}")
        drawn.append((name, wide_picture(24, None, line, bar, words)))
    return tuple(drawn)


def two_shares(
    rows: list[tuple[str, float, float]], heads: tuple[str, str]
) -> tuple[tuple[str, Picture], ...]:
    """Draw two shares of each name side by side, below their heads."""
    above = wide_picture(18, None, _words(0.0, 13, heads[0]), _words(0.52, 13, heads[1]))
    drawn = [("", above)]
    for name, *shares in rows:
        shapes = []
        for start, share, style in zip((0.0, 0.52), shares, ("c0", "c1"), strict=True):
            shapes.append(_wide_bar(start, 0.36 * share, 4, 15, style))
            shapes.append(_words(start + 0.36 * share, 16, f"{100 * share:.0f} %", 5))
        drawn.append((name, wide_picture(24, None, *shapes)))
    return tuple(drawn)


def boxes_over_rows(
    points: list[tuple[float, float, int]],
    boxes: list[tuple[tuple[float, float, float, float], int]],
    names: tuple[str, str],
    label: str,
) -> Picture:
    """Draw rows of two features as dots over the boxes of rules (left, bottom, right, top), those of style 0 larger."""
    width, height, edge = 640, 360, 30
    across, up = ([point[k] for point in points] for k in (0, 1))
    left, right, bottom, top = min(across), max(across), min(up), max(up)

    def place(x: float, y: float) -> tuple[float, float]:
        x, y = min(max(x, left), right), min(max(y, bottom), top)
        return (
            edge + (width - edge - 8) * (x - left) / ((right - left) or 1.0),
            height - edge - (height - edge - 8) * (y - bottom) / ((top - bottom) or 1.0),
        )

    shapes = []
    for (x0, y0, x1, y1), style in boxes:
        (a, b), (c, d) = place(x0, y0), place(x1, y1)
        area = f"c{style % STYLES} area"
        shapes.append(
            _shape(
                "rect",
                x=f"{a:.1f}",
                y=f"{d:.1f}",
                width=f"{c - a:.1f}",
                height=f"{b - d:.1f}",
                class_=area,
            )
        )
    for x, y, style in points:
        a, b = place(x, y)
        size = 3.8 if style == 0 else 2.2
        shapes.append(
            _shape("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=size, class_=f"c{style % STYLES}")
        )
    shapes.append(_shape("text", names[0], x=width / 2, y=height - 6, text_anchor="middle"))
    turned = f"rotate(-90 12 {height / 2:g})"
    shapes.append(
        _shape("text", names[1], x=12, y=height / 2, text_anchor="middle", transform=turned)
    )
    return Picture(f"{width}", f"{height}", label, "map", tuple(shapes))
