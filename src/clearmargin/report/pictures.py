"""Small drawings: intervals in ranges, bars. Each says in words what it shows."""

from __future__ import annotations

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
