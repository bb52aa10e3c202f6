"""Small drawings: intervals in ranges, curves, bars. Each says in words what it shows."""

from __future__ import annotations

from typing import Any

from clearmargin.language.words import number_text, plain, ratio_text
from clearmargin.report.page_blocks import Picture, Shape

__all__ = ["STYLES", "condition_bar", "curve_chart", "line_sample", "two_sided_bar", "value_bar"]

Facts = dict[str, Any]

# Classes are told apart by dashes as well as by colour; with more classes both come again.
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
STYLES = len(_DASHES)
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
    """Draw where a condition holds in the range of its feature; None where it is no interval of one feature.

    Parameters
    ----------
    condition : dict
        As in the summary of a rule.
    style : int
        Number of the class.

    Returns
    -------
    Picture or None
        A bar.

    Examples
    --------
    >>> condition = {"feature": "age", "text": "age is at most 5", "low": None, "high": 5.0, "range": [0, 10]}
    >>> condition_bar(condition, 0).shapes[1].attributes
    {'x': '0', 'y': 2, 'width': '80', 'height': 10.0, 'class': 'mark c0'}
    """
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
    """Draw the value of a case in the interval that a rule asks for.

    Parameters
    ----------
    fact : dict
        As in the summary of a case.
    style : int
        Number of the class.

    Returns
    -------
    Picture or None
        A bar with a tick; None for a category.
    """
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


def line_sample(style: int) -> Picture:
    """Draw a piece of the line that stands for a class, for legends.

    Examples
    --------
    >>> line_sample(1).style
    'sample'
    """
    line = _shape(
        "line",
        x1=0,
        x2=32,
        y1=6,
        y2=6,
        class_=f"curve s{style % STYLES}",
        stroke_dasharray=_DASHES[style % STYLES] or None,
    )
    return Picture("32", "12", None, "sample", (line,))


def curve_chart(curves: list[tuple[str, list[float]]], what: str) -> Picture:
    """Draw shares after one rule, two rules, ..., a line for each class.

    Parameters
    ----------
    curves : list of (str, list of float)
        For each class its name and the shares.
    what : str
        What is shared.

    Returns
    -------
    Picture
        A drawing.

    Examples
    --------
    >>> curve_chart([("yes", [0.5, 0.75])], "cases covered").label
    'Share of cases covered by number of rules. yes: 75 % after 2 rules'
    """
    left, right, top, bottom = 44.0, 352.0, 10.0, 178.0
    most = max(1, *(len(values) for _, values in curves))
    wide, high = (right - left) / most, bottom - top
    shapes = []
    for quarter in range(5):
        y = bottom - high * quarter / 4
        shapes += [
            _shape("line", x1=left, x2=right, y1=f"{y:g}", y2=f"{y:g}", class_="grid"),
            _shape("text", f"{25 * quarter} %", x=left - 6, y=f"{y + 4:g}", text_anchor="end"),
        ]
    step = max(1, -(-most // 6))
    shapes += [
        _shape("text", str(k), x=f"{left + wide * k:.4g}", y=bottom + 16, text_anchor="middle")
        for k in range(0, most + 1, step)
    ]
    middle = (left + right) / 2
    shapes.append(_shape("text", "number of rules", x=middle, y=bottom + 34, text_anchor="middle"))
    phrases = []
    for k, (name, values) in enumerate(curves):
        x, path = left, f"M{left:g} {bottom:g}"
        for value in values:
            x += wide
            path += f"L{x:.5g} {bottom - high * min(1.0, value):.5g}"
        shapes.append(
            _shape(
                "path",
                d=path,
                class_=f"curve s{k % STYLES}",
                stroke_dasharray=_DASHES[k % STYLES] or None,
            )
        )
        end = f"{ratio_text(values[-1])} after {len(values)} rules" if values else "no rules"
        phrases.append(f"{plain(name)}: {end}")
    label = f"Share of {what} by number of rules. {'; '.join(phrases)}"
    return Picture("360", "218", label, "chart", tuple(shapes))


def points_bar(low: float, high: float, largest: float, label: str) -> Picture:
    """Draw points from a number to a number, on a track from 0.

    Parameters
    ----------
    low, high, largest : float
        Both ends, and the end of the track; none is negative.
    label : str
        What it says.

    Returns
    -------
    Picture
        A bar.

    Examples
    --------
    >>> points_bar(2.0, 4.0, 8.0, "2 to 4").shapes[1].attributes["width"]
    '40'
    """
    size = _WIDTH / largest if largest else 0.0
    return _bar(label, _span(low * size, high * size, "mark c1"))


def two_sided_bar(value: float, largest: float, label: str) -> Picture:
    """Draw a number that may have either sign, from the middle to the left or to the right.

    Parameters
    ----------
    value, largest : float
        The number, and the largest size that it can have.
    label : str
        What it says.

    Returns
    -------
    Picture
        A bar.

    Examples
    --------
    >>> two_sided_bar(-0.125, 0.25, "half of what is possible").shapes[1].attributes["width"]
    '40'
    """
    middle = _WIDTH / 2
    size = middle * min(1.0, abs(value) / largest) if largest else 0.0
    start, kind = (middle, "mark c1") if value >= 0 else (middle - size, "mark c0")
    axis = _shape("line", x1=middle, x2=middle, y1=0, y2=_HEIGHT, class_="tick")
    return _bar(label, _span(start, start + size, kind), axis)
