"""Rules over two features, as rectangles on the two sides of the separating line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    VERBATIM,
    boundary_segments,
    class_colours,
    class_polygons,
    figure_of,
    fit_line,
    ink,
    open_axes,
    size_of,
    text_width,
    title_of,
    wrap,
)
from clearmargin.plot.drawn_rules import drawn_range, read_classes, rules_to_draw
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of the range of a feature, left free on either side so that unbounded rules can be seen to go on.
_MARGIN = 0.05
_LABEL_SIZE, _NUMBER_SIZE, _KEY_SIZE = 10.0, 9.0, 9.0
_MARKERS = ("o", "s", "^", "D", "v", "P")
# In print without colours, the rectangles of classes differ in these alone.
_HATCHES = ("", "//", "\\\\", "--", "xx", "||")
# Where in its rectangle a number may stand: in the middle, in a corner.
_PLACES = ((0.5, 0.5), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0), (0.0, 0.0))


def plot_regions(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: tuple[str, str] | None = None,
    show_numbers: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw rules over two features as rectangles, with points and, for an estimator, its separating line."""
    rules = rules_to_draw(source)
    surface = None if isinstance(source, RuleSet) else getattr(source, "surface_", None)
    pair = _two_features(rules, features)
    if y is not None and X is None:
        raise InvalidValueError("y was given without X; classes need their points")
    points = None if X is None else (rules.space if surface is None else surface).read(X)[:, pair]
    known = None if points is None or y is None else read_classes(y, len(points))
    extent: Any = ()
    for k, j in enumerate(pair):
        low, high = drawn_range(rules, j, None if points is None else points[:, k])
        extent += (low - _MARGIN * (high - low), high + _MARGIN * (high - low))
    boxes = [_boxed(rule.region, pair, rules.space.names) for rule in rules]
    polygons = None if surface is None else class_polygons(surface, pair, extent)

    axes = open_axes(ax, layout="constrained")
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Polygon, Rectangle

    axes.set(xlim=extent[:2], ylim=extent[2:])
    colours = class_colours(rules.classes)
    fillings: dict[Label, dict[str, Any]] = {}
    for label, hatch in zip(rules.classes, np.resize(_HATCHES, len(rules.classes)), strict=True):
        shades = {"facecolor": (colours[label], 0.22), "edgecolor": (colours[label], 0.8)}
        fillings[label] = {**shades, "linewidth": 1.2, "hatch": hatch, "hatch_linewidth": 0.3}
    if polygons is not None:
        for polygon, label in zip(polygons, rules.classes, strict=True):
            if len(polygon):
                tint = Polygon(polygon, facecolor=colours[label], alpha=0.07, linewidth=0)
                tint.set_zorder(0.5)
                axes.add_patch(tint)
        line = boundary_segments(polygons, extent)
        drawn = LineCollection([*line], colors=[ink()], linewidths=1.6, zorder=3, gid="boundary")
        axes.add_collection(drawn, autolim=False)
    # Left and right, bottom and top of each rule, cut at the frame.
    ends = np.array([[box.lower[[*pair]], box.upper[[*pair]]] for box in boxes])
    ends = np.clip(ends, [extent[::2]], [extent[1::2]])
    for rule, (low, high) in zip(rules, ends, strict=True):
        axes.add_patch(Rectangle(low, *(high - low), zorder=1, **fillings[rule.label]))
    if points is not None:
        draw_points(axes, points, known, rules.classes)
    hidden = len({j for box in boxes for j in box.bounded} - {*pair})
    if show_numbers:
        _draw_numbers(axes, ends, in_corners=hidden > 0)
    for j, length, axis in zip(pair, size_of(axes), (axes.xaxis, axes.yaxis), strict=True):
        title = "\n".join(wrap(title_of(rules.space, j), length, _LABEL_SIZE))
        axis.set_label_text(title, size=_LABEL_SIZE, **VERBATIM)
    shown = known is not None, polygons is not None
    _draw_key(axes, rules.classes, fillings, *shown, hidden)
    return axes


def _draw_key(
    ax: Axes,
    classes: Sequence[Label],
    fillings: dict[Label, dict[str, Any]],
    with_points: bool,
    with_line: bool,
    hidden: int,
) -> None:
    """Say above the drawing what colours, shapes and strokes mean, and above that, what cannot be seen."""
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colours, (width, _) = class_colours(classes), size_of(ax)
    entries: list[tuple[Any, str]] = []
    for k, label in enumerate(classes):
        dot = Line2D([], [], color=colours[label], marker=_MARKERS[k % 6], ls="none", ms=5)
        sample = (Patch(**fillings[label]), *([] if not with_points else [dot]))
        entries.append((sample, fit_line(plain(label), width / 2, _KEY_SIZE)))
    if with_line:
        entries.append((Line2D([], [], color=ink(), linewidth=1.6), "model"))
    # As many entries side by side as have room: columns are as wide as the widest.
    widest = max(text_width(text, _KEY_SIZE) for _, text in entries) + 0.5
    columns = max(1, min(len(entries), int(width / widest)))
    legend = ax.legend(
        *zip(*entries, strict=True),
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
    if hidden:
        others = "1 other feature" if hidden == 1 else f"{hidden} other features"
        note = wrap(f"Projected: the rules have conditions on {others}", width, _LABEL_SIZE)
        above = 8 + -(-len(entries) // columns) * 1.6 * _KEY_SIZE
        ax.set_title("\n".join(note), loc="left", size=_LABEL_SIZE, pad=above, **VERBATIM)


def _two_features(rules: RuleSet, features: Any) -> tuple[int, int]:
    space = rules.space
    if features is None:
        if len(space) != 2:
            listed = ", ".join(repr(name) for name in space.names[:8])
            more = ", ..." if len(space) > 8 else ""
            raise InvalidValueError(
                f"the rules are over {len(space)} features; name the two to draw, as in "
                f"features=(name, name), out of {listed}{more}"
            )
        features = space.names
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise InvalidValueError(f"features must be two different names, not {features!r}")
    for name in features:
        if space.categories[space.index(name)] is not None:
            raise InvalidValueError(
                f"feature {name!r} has categories; only features of numbers can be drawn along an axis"
            )
    return space.index(features[0]), space.index(features[1])


def _boxed(region: object, pair: Sequence[int], names: Sequence[str]) -> Box:
    if not isinstance(region, Box):
        raise InvalidValueError(
            "a rule with a linear condition is no rectangle; regions are drawn for rules of plain bounds"
        )
    for j in pair:
        if j in region.missing:
            raise InvalidValueError(
                f"a rule asks for cases in which {names[j]!r} is missing, and these have no place in a "
                "plane of its values; leave the rule out, or choose other features"
            )
    return region


def draw_points(
    ax: Axes, points: FloatArray, point_classes: list[Any] | None, classes: Sequence[Label]
) -> None:
    """Draw points, each class with a colour and a shape of its own."""
    colours = class_colours(classes)
    known: list[Any] = [None] * len(points) if point_classes is None else point_classes
    place: dict[Any, int] = {label: k for k, label in enumerate(classes)}
    codes = np.array([place.get(label, -1) for label in known], dtype=np.intp)
    for code in np.unique(codes):
        style: dict[str, Any] = {"color": ink(), "marker": "."}
        if code >= 0:
            style = {"color": colours[classes[code]], "marker": _MARKERS[code % len(_MARKERS)]}
        x, y = points[codes == code].T
        ax.scatter(x, y, s=11, alpha=0.75, lw=0, zorder=2.5, **style)


def _draw_numbers(ax: Axes, ends: FloatArray, *, in_corners: bool) -> None:
    """Write the number of each rule into its rectangle where there is room, and in a corner of it if rules overlap."""
    transform, inch = ax.transData, figure_of(ax).dpi_scale_trans
    taken: list[FloatArray] = []
    for k, corners in enumerate(ends, start=1):
        low, high = inch.inverted().transform(transform.transform(corners))
        # Digits rise to about three quarters of their size, and have nothing below the line.
        size = [text_width(str(k), _NUMBER_SIZE, bold=True), 0.75 * _NUMBER_SIZE / 72.0]
        half = np.array(size) / 2 + 0.02
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
