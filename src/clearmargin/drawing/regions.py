"""Rules over two features, as rectangles on the two sides of the separating line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import (
    VERBATIM,
    Extent,
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
from clearmargin.drawing.drawn_rules import check_rules, drawn_range, fitted_rules, read_classes
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "RegionsDisplay",
    "draw_faces",
    "draw_key",
    "draw_numbers",
    "draw_points",
    "draw_rectangles",
    "draw_sides",
    "plot_regions",
]


# Of the range of a feature, left free on either side so that unbounded rules can be seen to go on.
_MARGIN = 0.05
_LABEL_SIZE = 10.0


class RegionsDisplay:
    r"""Rules over two features as rectangles, with the separating line and, if wanted, points.

    A face that belongs to its rule is a solid line, one that does not a dashed line. Where a rule has no bound, its
    rectangle runs into the frame. Over more than two features the rectangles are the shadows of the rules on the two
    that are drawn; they may then overlap, and the line is drawn only if the model uses no other feature.

    Parameters
    ----------
    rules : RuleSet
        The rules, all of them boxes.
    features : (str, str)
        The features along and up.
    extent : (float, float, float, float)
        Left, right, bottom and top.
    polygons : tuple of ndarray, optional
        For each class the part of the drawing in which the model predicts it.
    points : ndarray of shape (m, 2), optional
        Points to draw.
    point_classes : list, optional
        Their classes.

    Attributes
    ----------
    rectangles : ndarray of shape (r, 4)
        For each rule left, right, bottom and top, cut at the frame.
    n_hidden : int
        Number of features with a condition that cannot be seen.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 and age >= 50 => ill\nbmi < 25 => well")
    >>> display = RegionsDisplay.from_rules(rules)
    >>> display.rectangles[0].tolist() == [30.0, display.extent[1], 50.0, display.extent[3]]
    True
    """

    def __init__(
        self,
        *,
        rules: RuleSet,
        features: tuple[str, str],
        extent: Extent,
        polygons: tuple[FloatArray, ...] | None = None,
        points: FloatArray | None = None,
        point_classes: list[Any] | None = None,
    ):
        self.rules = rules
        self.features = features
        self.extent = extent
        self.polygons = polygons
        self.points = points
        self.point_classes = point_classes
        pair = [rules.space.index(name) for name in features]
        self.rectangles = _cut(rules, pair, extent)
        self.n_hidden = len({j for rule in rules for j in _boxed(rule.region).bounded} - {*pair})

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: tuple[str, str] | None = None,
        show_numbers: bool = True,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rules of a fitted extractor.

        Parameters
        ----------
        estimator : RuleExtractor
            Fitted; or another estimator with `rules_`.
        X : data frame or array-like of shape (m, n), optional
            Rows to draw as points, as the model takes them.
        y : array-like of shape (m,), optional
            Their classes.
        features : (str, str), optional
            The features along and up; needed where there are more than two.
        show_numbers : bool, default True
            Whether rectangles with room for it show the number of their rule, counted from 1.
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        RegionsDisplay
            With what was drawn.
        """
        rules = check_rules(fitted_rules(estimator))
        surface = getattr(estimator, "surface_", None)
        table = None
        if X is not None:
            table = (rules.space if surface is None else surface).read(X)
        display = cls._read(rules, surface, table, y, features)
        return display.plot(ax, show_numbers=show_numbers)

    @classmethod
    def from_rules(
        cls,
        rules: RuleSet,
        X: Any = None,
        y: Any = None,
        *,
        features: tuple[str, str] | None = None,
        show_numbers: bool = True,
        ax: Axes | None = None,
    ) -> Self:
        """Draw rules by themselves, without a separating line.

        Parameters
        ----------
        rules : RuleSet
            The rules.
        X, y, features, show_numbers, ax
            As for `from_estimator`.

        Returns
        -------
        RegionsDisplay
            With what was drawn.
        """
        table = None if X is None else check_rules(rules).space.read(X)
        display = cls._read(check_rules(rules), None, table, y, features)
        return display.plot(ax, show_numbers=show_numbers)

    @classmethod
    def _read(
        cls, rules: RuleSet, surface: Any, table: FloatArray | None, y: Any, features: Any
    ) -> Self:
        names = _two_features(rules, features)
        pair = (rules.space.index(names[0]), rules.space.index(names[1]))
        points = None if table is None else table[:, pair]
        if y is not None and points is None:
            raise InvalidValueError("y was given without X; classes need their points")
        extent = (
            *_with_margin(*drawn_range(rules, pair[0], None if points is None else points[:, 0])),
            *_with_margin(*drawn_range(rules, pair[1], None if points is None else points[:, 1])),
        )
        return cls(
            rules=rules,
            features=names,
            extent=extent,
            polygons=None if surface is None else class_polygons(surface, pair, extent),
            points=points,
            point_classes=None if points is None or y is None else read_classes(y, len(points)),
        )

    def plot(self, ax: Axes | None = None, *, show_numbers: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.
        show_numbers : bool, default True
            Whether rectangles with room for it show the number of their rule, counted from 1.

        Returns
        -------
        RegionsDisplay
            Itself, with `ax_` and `figure_`.
        """
        axes = open_axes(ax, layout="constrained")
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        axes.set_xlim(*self.extent[:2])
        axes.set_ylim(*self.extent[2:])
        if self.polygons is not None:
            draw_sides(axes, self.polygons, self.rules.classes, self.extent)
        draw_rectangles(axes, self.rules, self.rectangles)
        pair = [self.rules.space.index(name) for name in self.features]
        draw_faces(axes, self.rules, pair, self.rectangles)
        if self.points is not None:
            draw_points(axes, self.points, self.point_classes, self.rules.classes)
        if show_numbers:
            draw_numbers(axes, self.rectangles, in_corners=self.n_hidden > 0)
        self._write()
        return self

    def _write(self) -> None:
        """Write what the axes are, and what cannot be seen."""
        width, height = size_of(self.ax_)
        for name, length, write in (
            (self.features[0], width, self.ax_.set_xlabel),
            (self.features[1], height, self.ax_.set_ylabel),
        ):
            title = title_of(self.rules.space, self.rules.space.index(name))
            write("\n".join(wrap(title, length, _LABEL_SIZE)), size=_LABEL_SIZE, **VERBATIM)
        draw_key(
            self.ax_,
            self.rules.classes,
            with_points=self.point_classes is not None,
            with_line=self.polygons is not None,
            note=self._note(),
        )

    def _note(self) -> str:
        if not self.n_hidden:
            return ""
        others = "1 other feature" if self.n_hidden == 1 else f"{self.n_hidden} other features"
        return f"Projected: the rules have conditions on {others}"


def plot_regions(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: tuple[str, str] | None = None,
    show_numbers: bool = True,
    ax: Axes | None = None,
) -> RegionsDisplay:
    """Draw rules over two features as rectangles on the two sides of the separating line.

    Parameters
    ----------
    source : RuleExtractor or RuleSet
        A fitted extractor, or rules.
    X, y, features, show_numbers, ax
        As for `RegionsDisplay.from_estimator`.

    Returns
    -------
    RegionsDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> plot_regions(parse_rules("1 <= x < 3 and y <= 2 => a")).ax_.get_xlabel()
    'x'
    """
    draw = (
        RegionsDisplay.from_rules if isinstance(source, RuleSet) else RegionsDisplay.from_estimator
    )
    return draw(source, X, y, features=features, show_numbers=show_numbers, ax=ax)


def _two_features(rules: RuleSet, features: Any) -> tuple[str, str]:
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
    return features[0], features[1]


def _with_margin(low: float, high: float) -> tuple[float, float]:
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def _boxed(region: object) -> Box:
    if not isinstance(region, Box):
        raise InvalidValueError(
            "a rule with a linear condition is no rectangle; regions are drawn for rules of plain bounds"
        )
    return region


def _cut(rules: RuleSet, pair: list[int], extent: Extent) -> FloatArray:
    """Give left, right, bottom and top of each rule, cut at the frame."""
    rectangles = np.empty((len(rules), 4))
    for row, rule in zip(rectangles, rules, strict=True):
        box = _boxed(rule.region)
        for k, j in enumerate(pair):
            if j in box.missing:
                raise InvalidValueError(
                    f"a rule asks for cases in which {rules.space.names[j]!r} is missing, and these have no place in a "
                    "plane of its values; leave the rule out, or choose other features"
                )
            limits = extent[2 * k], extent[2 * k + 1]
            row[2 * k : 2 * k + 2] = np.clip([box.lower[j], box.upper[j]], *limits)
    return rectangles


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
    """Return how the rectangles of a class are filled."""
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
    """Check whether a face belongs to the rule; None where there is none."""
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
    """Return how many entries of the key stand side by side: columns are as wide as their widest entry."""
    widths = [text_width(text, _KEY_SIZE) + _KEY_SAMPLE for text in texts]
    for columns in range(len(texts), 1, -1):
        rows = -(-len(texts) // columns)
        total = sum(max(widths[k * rows : (k + 1) * rows], default=0.0) for k in range(columns))
        if total <= width:
            return columns
    return 1
