"""The strokes of `RegionsDisplay`: sides of the model, rectangles, faces, points, numbers and the key to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.drawing.canvas import class_colours, figure_of, ink, size_of
from clearmargin.drawing.halfplanes import Extent, boundary_segments
from clearmargin.drawing.lettering import VERBATIM, fit_line, text_width, wrap
from clearmargin.language.prose import plain
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "draw_faces",
    "draw_key",
    "draw_numbers",
    "draw_points",
    "draw_rectangles",
    "draw_sides",
]

_SIDE_FILL, _RULE_FILL = 0.07, 0.22
_MARKERS = ("o", "s", "^", "D", "v", "P")
# In print without colours, the rectangles of classes differ in these alone.
_HATCHES = ("", "//", "\\\\", "--", "xx", "||")
_HATCH_WIDTH = 0.5
# Faces are drawn this far inside their rectangle, in points, so that neighbours do not hide each other's.
_INSET = 0.8
_FACE_WIDTH = 1.2
_DASHES = (0, (3.0, 2.0))
_NUMBER_SIZE = 9.0
# Digits rise to about three quarters of their size, and have nothing below the line.
_DIGIT_HEIGHT = 0.75 * _NUMBER_SIZE / 72.0
# Where in its rectangle a number may stand: in the middle, in a corner.
_PLACES = ((0.5, 0.5), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0))
_KEY_SIZE, _NOTE_SIZE = 9.0, 10.0
# Inches that a sample and the gap to the next entry take.
_KEY_SAMPLE = 0.5


def draw_sides(
    ax: Axes, polygons: Sequence[FloatArray], classes: Sequence[Label], extent: Extent
) -> None:
    """Tint the part of each class and draw the line between them."""
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Polygon

    colours = class_colours(classes)
    for polygon, label in zip(polygons, classes, strict=True):
        if len(polygon):
            patch = Polygon(polygon, facecolor=colours[label], alpha=_SIDE_FILL, linewidth=0)
            patch.set_zorder(0.5)
            ax.add_patch(patch)
    segments = boundary_segments(polygons, extent)
    line = LineCollection(list(segments), colors=[ink()], linewidths=1.6, zorder=3)
    line.set_gid("boundary")
    ax.add_collection(line, autolim=False)


def draw_rectangles(ax: Axes, rules: RuleSet, rectangles: FloatArray) -> None:
    """Fill the rectangle of each rule."""
    from matplotlib.patches import Rectangle

    colours = class_colours(rules.classes)
    for rule, (left, right, bottom, top) in zip(rules, rectangles.tolist(), strict=True):
        patch = Rectangle((left, bottom), right - left, top - bottom, zorder=1)
        patch.set(**_filling(rule.label, rules.classes, colours[rule.label]))
        ax.add_patch(patch)


def _filling(label: Label, classes: Sequence[Label], colour: str) -> dict[str, Any]:
    """How the rectangles of a class are filled."""
    style: dict[str, Any] = {"facecolor": colour, "alpha": _RULE_FILL, "linewidth": 0}
    hatch = _HATCHES[list(classes).index(label) % len(_HATCHES)]
    if hatch:
        style |= {"hatch": hatch, "edgecolor": colour, "hatch_linewidth": _HATCH_WIDTH}
    return style


def draw_faces(ax: Axes, rules: RuleSet, pair: Sequence[int], rectangles: FloatArray) -> None:
    """Draw the faces of each rule, solid if they belong to it, dashed if not; no bound, no face."""
    from matplotlib.collections import LineCollection
    from matplotlib.transforms import ScaledTranslation

    colours = class_colours(rules.classes)
    for side, (feature, is_lower) in enumerate([(0, True), (0, False), (1, True), (1, False)]):
        j = pair[feature]
        for closed in (True, False):
            segments, shades = [], []
            for rule, rectangle in zip(rules, rectangles, strict=True):
                if _face(rule.region, j, is_lower) == closed:
                    segments.append(_side_of(rectangle, side))
                    shades.append(colours[rule.label])
            shift = np.eye(2)[feature] * (_INSET if is_lower else -_INSET) / 72.0
            inset = ScaledTranslation(shift[0], shift[1], figure_of(ax).dpi_scale_trans)
            faces = LineCollection(segments, colors=shades, linewidths=_FACE_WIDTH, zorder=2)
            faces.set(linestyle="solid" if closed else _DASHES, transform=ax.transData + inset)
            faces.set_gid("closed faces" if closed else "open faces")
            ax.add_collection(faces, autolim=False)


def _face(region: Any, j: int, is_lower: bool) -> bool | None:
    """Whether a face belongs to the rule; None where there is none."""
    assert isinstance(region, Box)
    bound = region.lower[j] if is_lower else region.upper[j]
    closed = region.lower_closed[j] if is_lower else region.upper_closed[j]
    return bool(closed) if np.isfinite(bound) else None


def _side_of(rectangle: FloatArray, side: int) -> FloatArray:
    left, right, bottom, top = rectangle.tolist()
    x = (left, left) if side == 0 else (right, right) if side == 1 else (left, right)
    y = (bottom, bottom) if side == 2 else (top, top) if side == 3 else (bottom, top)
    return np.column_stack([x, y])


def draw_points(
    ax: Axes, points: FloatArray, point_classes: list[Any] | None, classes: Sequence[Label]
) -> None:
    """Draw points, each class with a colour and a shape of its own."""
    colours = class_colours(classes)
    known: list[Any] = [None] * len(points) if point_classes is None else point_classes
    place: dict[Any, int] = {label: k for k, label in enumerate(classes)}
    codes = np.array([place.get(label, -1) for label in known], dtype=np.intp)
    for code in np.unique(codes):
        chosen = points[codes == code]
        colour = ink() if code < 0 else colours[classes[code]]
        marker = "." if code < 0 else _MARKERS[code % len(_MARKERS)]
        ax.scatter(
            chosen[:, 0],
            chosen[:, 1],
            s=11,
            color=colour,
            marker=marker,
            alpha=0.75,
            lw=0,
            zorder=2.5,
        )


def draw_numbers(ax: Axes, rectangles: FloatArray, *, in_corners: bool) -> None:
    """Write the number of each rule into its rectangle where there is room, and in a corner of it if rules overlap."""
    transform = ax.transData
    inch = figure_of(ax).dpi_scale_trans
    taken: list[FloatArray] = []
    for k, (left, right, bottom, top) in enumerate(rectangles.tolist(), start=1):
        corners = transform.transform([(left, bottom), (right, top)])
        low, high = inch.inverted().transform(corners)
        half = np.array([text_width(str(k), _NUMBER_SIZE, bold=True), _DIGIT_HEIGHT]) / 2 + 0.02
        if (high - low < 2 * half).any():
            continue
        for share in _PLACES[1:] if in_corners else _PLACES:
            middle = low + half + np.array(share) * (high - low - 2 * half)
            if all((np.abs(middle - other) >= 2 * half).any() for other in taken):
                taken.append(middle)
                x, y = transform.inverted().transform(inch.transform(middle))
                text = ax.text(x, y, str(k), size=_NUMBER_SIZE, weight="bold", zorder=4)
                text.set(ha="center", va="center_baseline", clip_on=True)
                break


def draw_key(
    ax: Axes, classes: Sequence[Label], *, with_points: bool, with_line: bool, note: str
) -> None:
    """Say above the drawing what colours, shapes and strokes mean, and above that, a note."""
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colours = class_colours(classes)
    width, _ = size_of(ax)
    entries: list[tuple[Any, str]] = []
    for k, label in enumerate(classes):
        marker = _MARKERS[k % len(_MARKERS)]
        dot = Line2D([], [], color=colours[label], marker=marker, linestyle="none", markersize=5)
        sample = (
            Patch(**_filling(label, classes, colours[label])),
            *([dot] if with_points else []),
        )
        entries.append((sample, fit_line(plain(label), width / 2, _KEY_SIZE)))
    if with_line:
        entries.append((Line2D([], [], color=ink(), linewidth=1.6), "model"))
    if any(c.get_gid() == "open faces" and len(c.get_paths()) for c in ax.collections):
        stroke = {"color": ink(), "linewidth": _FACE_WIDTH, "alpha": 0.7}
        entries.append((Line2D([], [], **stroke), "face in the rule"))
        entries.append((Line2D([], [], linestyle=_DASHES, **stroke), "face not in the rule"))
    columns = _columns_that_fit([text for _, text in entries], width)
    legend = ax.legend(
        [sample for sample, _ in entries],
        [text for _, text in entries],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        fontsize=_KEY_SIZE,
        frameon=False,
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=1.6,
        handletextpad=0.5,
        columnspacing=1.4,
        handler_map={tuple: HandlerTuple(ndivide=1)},
    )
    for text in legend.get_texts():
        text.set(**VERBATIM)
    if note:
        rows = -(-len(entries) // columns)
        lines = "\n".join(wrap(note, width, _NOTE_SIZE))
        ax.set_title(lines, loc="left", size=_NOTE_SIZE, pad=8 + rows * 1.6 * _KEY_SIZE, **VERBATIM)


def _columns_that_fit(texts: Sequence[str], width: float) -> int:
    """How many entries of the key stand side by side: columns are as wide as their widest entry."""
    widths = [text_width(text, _KEY_SIZE) + _KEY_SAMPLE for text in texts]
    for columns in range(len(texts), 1, -1):
        rows = -(-len(texts) // columns)
        total = sum(max(widths[k * rows : (k + 1) * rows], default=0.0) for k in range(columns))
        if total <= width:
            return columns
    return 1
