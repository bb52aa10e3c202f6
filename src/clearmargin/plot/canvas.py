"""Where figures are drawn: the door to matplotlib, and the colours that all displays share.

Names and numbers are shown letter by letter, measured, wrapped and cut; the part of a rectangle in which a linear model
predicts a class is a polygon.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError, MissingDependencyError
from clearmargin.language.printer import format_number
from clearmargin.language.prose import plain
from clearmargin.rules import FeatureSpace
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Okabe and Ito (2008), told apart by colour-blind people. The order puts first what has contrast enough on white and on
# black; yellow and black are left out, since each vanishes on one of them.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def require_matplotlib() -> None:
    """Raise an error with the line that installs matplotlib, where it is missing."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "figures need matplotlib: pip install clearmargin[plot]"
        ) from error


def open_axes(ax: Any, size: tuple[float, float] | None = None, **options: Any) -> Axes:
    """Take the axes given, or make a figure with one."""
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=size, **options).add_subplot()
    if not isinstance(ax, Axes):
        raise InvalidValueError(f"ax must be matplotlib Axes or None, not {type(ax).__name__}")
    return ax


def figure_of(ax: Axes) -> Figure | SubFigure:
    """Return the figure in which axes stand."""
    figure = ax.get_figure()
    assert figure is not None
    return figure


def keep_right_part(ax: Axes, share: float) -> None:
    """Leave a share of the width of axes, on their left, to text."""
    box = ax.get_position()
    left = box.x0 + share * box.width
    ax.set_position((left, box.y0, (1 - share) * box.width, box.height))


def strip_for_bars(ax: Axes, size: float) -> None:
    """Draw the line from which bars go to both sides, and no frame but the axis below."""
    ax.axvline(0.0, color=ink(), lw=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_yticks([])
    ax.tick_params(labelsize=size)


def size_of(ax: Axes) -> tuple[float, float]:
    """Measure width and height of axes in inches."""
    box, dpi = ax.get_window_extent(), figure_of(ax).dpi
    return box.width / dpi, box.height / dpi


def class_colours(classes: Sequence[Label]) -> Mapping[Label, str]:
    """Give one colour for each class, the same in all displays; with more than six classes they come round again."""
    return {label: _COLOURS[k % len(_COLOURS)] for k, label in enumerate(classes)}


def ink() -> Any:
    """Return the colour of text in the style that is set: dark on light, or light on dark."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


# Nothing is written smaller, in points.
SMALL = 8.0
# A name like "$x_1$" is a name and no formula.
VERBATIM: dict[str, Any] = {"parse_math": False, "usetex": False}

# A name may be broken behind these, which stay on their line.
_BREAKS = re.compile(r"(?<=[\s_\-/,;:=|&])|(?<=\.)(?!\d)")
# What is drawn is hinted to whole pixels and comes out up to this much wider than its outline.
_HINTING = 1.06
_POINTS_PER_INCH = 72.0


def title_of(space: FeatureSpace, feature: int) -> str:
    """Return the name of a feature, with its unit if it has one."""
    unit = space.units[feature]
    return plain(space.names[feature]) + (f" ({plain(unit)})" if unit else "")


def short_number(x: float) -> str:
    """Return a number with three digits, for the end of a scale."""
    return format_number(float(f"{x:.0f}" if abs(x) >= 1000 else f"{x:.3g}"))


def share_text(share: float) -> str:
    """Return a share in percent; only all is 100 %."""
    tenths = round(1000 * share)
    return f"{format_number((min(tenths, 999) if share < 1 else tenths) / 10)} %"


def text_width(text: str, size: float = SMALL, *, bold: bool = False) -> float:
    """Measure the width of a line of text in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width) * _HINTING / _POINTS_PER_INCH


def fit_line(
    text: str, width: float, size: float = SMALL, *, bold: bool = False, keep_end: bool = True
) -> str:
    """Cut a line to a width in inches; what is cut is shown by an ellipsis."""
    if text_width(text, size, bold=bold) <= width:
        return text

    def shortened(letters: int) -> str:
        # Two letters in five are kept of the end.
        tail = 2 * letters // 5 if keep_end else 0
        return f"{text[: letters - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"

    def width_of(letters: int) -> float:
        return text_width(shortened(letters), size, bold=bold)

    return shortened(max(1, bisect_right(range(len(text)), width, key=width_of) - 1))


def wrap(text: str, width: float, size: float = SMALL, *, max_lines: int = 4) -> list[str]:
    """Break a text into lines of a width in inches, between words and at underscores where possible."""
    lines = [""]
    for word in _BREAKS.split(text):
        if lines[-1] and text_width((lines[-1] + word).rstrip(), size) > width:
            lines.append("")
        lines[-1] += word
        while text_width(lines[-1].rstrip(), size) > width and len(lines[-1]) > 1:
            head = _longest_head(lines[-1], width, size)
            lines[-1:] = [lines[-1][:head], lines[-1][head:]]
    shown = [line.strip() for line in lines if line.strip()] or [text]
    if len(shown) > max_lines:
        shown[max_lines - 1 :] = [fit_line(" ".join(shown[max_lines - 1 :]), width, size)]
    return shown


def _longest_head(word: str, width: float, size: float) -> int:
    """Count the letters that fit, at least one."""
    fitting = bisect_right(range(len(word)), width, key=lambda n: text_width(word[:n], size))
    return max(1, fitting - 1)


# Left, right, bottom, top: the order of matplotlib.
Extent = tuple[float, float, float, float]


def clip(polygon: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    """Cut a convex polygon to the side normal.p + offset >= 0 (Sutherland and Hodgman 1974)."""
    heights = polygon @ normal + offset
    corners: list[FloatArray] = []
    for k in range(len(polygon)):
        here, there = heights[k - 1], heights[k]
        if here * there < 0:
            corners.append(polygon[k - 1] + here / (here - there) * (polygon[k] - polygon[k - 1]))
        if there >= 0:
            corners.append(polygon[k])
    return np.array(corners) if len(corners) > 2 else np.empty((0, 2))


def class_polygons(
    surface: Any, features: tuple[int, int], extent: Extent
) -> tuple[FloatArray, ...] | None:
    """Give for each class the polygon in which the model predicts it, if that depends on two features alone."""
    pair = list(features)
    if any({*duel.margin.features.tolist()} - {*pair} for duel in surface.duels):
        return None
    left, right, bottom, top = extent
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    polygons = []
    for k in range(len(surface.classes)):
        polygon = frame
        for margin in surface.margins(k):
            polygon = clip(polygon, margin.coef[pair], margin.constant)
        polygons.append(polygon)
    return tuple(polygons)


def boundary_segments(polygons: Sequence[FloatArray], extent: Extent) -> FloatArray:
    """Return the sides of polygons inside the frame, where one class ends."""
    left, right, bottom, top = extent
    # Two classes have the same boundary; it need not be drawn twice.
    counted = polygons[:1] if len(polygons) == 2 else polygons
    sides = [
        np.stack([start, end])
        for polygon in counted
        for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True)
    ]
    inner = [
        side
        for side in sides
        if not ({left, right} & _shared(side[:, 0]) or {bottom, top} & _shared(side[:, 1]))
    ]
    return np.array(inner) if inner else np.empty((0, 2, 2))


def _shared(coordinates: FloatArray) -> set[float]:
    """Return the coordinate that both ends of a side have, if they have the same."""
    first, second = coordinates.tolist()
    return {first} if first == second else set()
