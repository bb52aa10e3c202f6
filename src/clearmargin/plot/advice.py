"""Advice before and after training: premises over two features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    VERBATIM,
    Extent,
    boundary_segments,
    class_colours,
    clip,
    figure_of,
    fit_line,
    ink,
    open_axes,
    size_of,
    text_width,
    title_of,
    wrap,
)
from clearmargin.plot.drawn_rules import drawn_range, read_classes
from clearmargin.plot.regions import draw_points
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from clearmargin.advice.advice_reading import Premise
    from clearmargin.advice.fitted_advice import FittedAdvice

# Of the range of the data, left free on either side so that points at its ends are seen whole.
_MARGIN = 0.04
_LABEL_SIZE = 10.0
_FIGURE = (6.4, 6.6)
_TURNED = "Advice before and after: bounds shifted and turned"
_METHODS: dict[str | None, str] = {
    None: "Advice as it was given",
    "translate": "Advice before and after: bounds shifted",
    **dict.fromkeys(("slp", "sqp"), _TURNED),
}


class AdviceDisplay:
    """Premises of advice over two features before and after training, with the model and, where given, points."""

    def __init__(
        self,
        *,
        features: tuple[str, str],
        titles: tuple[str, str],
        extent: Extent,
        classes: tuple[Label, ...],
        regions: tuple[AdviceRegion, ...],
        levels: dict[int, FloatArray],
        method: str,
        others: dict[str, float],
        points: FloatArray | None = None,
        point_classes: list[Any] | None = None,
    ):
        self.features = features
        self.titles = titles
        self.extent = extent
        self.classes = classes
        self.regions = regions
        self.levels = levels
        self.method = method
        self.others = others
        self.points = points
        self.point_classes = point_classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: tuple[str, str] | None = None,
        rules: Sequence[str | int] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the advice of a fitted model."""
        from clearmargin.advice.fitted_advice import FittedAdvice  # which brings scikit-learn along

        advice = FittedAdvice.of(estimator, X)
        if y is not None and advice.points is None:
            raise InvalidValueError("y was given without X; classes need their points")
        names = _two_features(advice, features)
        pair = [advice.column(name) for name in names]
        chosen = _chosen(advice, rules)
        fixed = _fixed(advice, pair)
        extent = _extent(estimator, advice, pair)
        can_change = estimator.refine is not None
        regions = tuple(_region(advice, k, pair, fixed, extent, can_change) for k in chosen)
        plane = estimator.hyperplane_
        constant = float(plane.intercept + plane.coef @ fixed)
        points = None if advice.points is None else advice.points[:, pair]
        seen = plane.coef != 0
        for k in chosen:
            seen = seen | _used(advice.before[k]) | _used(advice.after[k])
        return cls(
            features=names,
            titles=(_title(estimator, names[0]), _title(estimator, names[1])),
            extent=extent,
            classes=tuple(as_label(label) for label in estimator.classes_),
            regions=regions,
            levels={s: _level(plane.coef[pair], constant - s, extent) for s in (-1, 0, 1)},
            method=_METHODS[estimator.refine],
            others={
                advice.names[j]: float(fixed[j]) for j in np.flatnonzero(seen) if j not in pair
            },
            points=points,
            point_classes=None if points is None or y is None else read_classes(y, len(points)),
        ).plot(ax)

    @property
    def heading(self) -> str:
        """What is shown, verdicts and, if other features are fixed, where."""
        verdicts = ", ".join(f"{plain(r.name)} {r.words}" for r in self.regions)
        lines = [self.method, verdicts or "no advice"]
        if self.others:
            fixed = ", ".join(f"{plain(name)} {x:.4g}" for name, x in self.others.items())
            projected = "" if self.points is None else "; points are projected onto it"
            lines.append(f"Slice at the medians: {fixed}{projected}")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw."""
        axes = open_axes(ax, _FIGURE, layout="constrained")
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        axes.set_xlim(*self.extent[:2])
        axes.set_ylim(*self.extent[2:])
        draw_premises(axes, self.regions, self.classes, self.extent)
        if self.points is not None:
            draw_points(axes, self.points, self.point_classes, self.classes)
        draw_levels(axes, self.levels)
        width, height = size_of(axes)
        for title, length, write in (
            (self.titles[0], width, axes.set_xlabel),
            (self.titles[1], height, axes.set_ylabel),
        ):
            write("\n".join(wrap(title, length, _LABEL_SIZE)), size=_LABEL_SIZE, **VERBATIM)
        draw_key_of_advice(
            axes,
            self.regions,
            self.classes,
            with_points=self.point_classes is not None,
            levels=self.levels,
            heading=self.heading,
        )
        draw_names(axes, self.regions, self.extent)
        return self


def plot_advice(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    features: tuple[str, str] | None = None,
    rules: Sequence[str | int] | None = None,
    ax: Axes | None = None,
) -> AdviceDisplay:
    """Draw advice over two features before and after training, with the separating line and its margins."""
    return AdviceDisplay.from_estimator(model, X, y, features=features, rules=rules, ax=ax)


def _two_features(advice: FittedAdvice, features: Any) -> tuple[str, str]:
    if features is None:
        if len(advice.names) != 2:
            listed = ", ".join(repr(name) for name in advice.names[:8])
            more = ", ..." if len(advice.names) > 8 else ""
            raise InvalidValueError(
                f"the model has {len(advice.names)} features; name the two to draw, as in "
                f"features=(name, name), out of {listed}{more}"
            )
        features = advice.names
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise InvalidValueError(f"features must be two different names, not {features!r}")
    categorical = {j for group in advice.columns.groups.values() for j in group.values()}
    for name in features:
        if advice.column(name) in categorical:
            raise InvalidValueError(
                f"feature {name!r} stands for a category; only features of numbers can be drawn along an axis"
            )
    return features[0], features[1]


def _chosen(advice: FittedAdvice, rules: Any) -> list[int]:
    if rules is None:
        return list(range(len(advice.outcome)))
    if isinstance(rules, str):
        raise InvalidValueError(
            f"rules must be a list of names or positions, not the text {rules!r}"
        )
    return sorted({advice.find(rule) for rule in rules})


def _fixed(advice: FittedAdvice, pair: list[int]) -> FloatArray:
    """Return where all other columns stand; zero for the two that are drawn."""
    if len(advice.names) == 2:
        return np.zeros(2)
    typical = advice.typical()
    if typical is None:
        raise InvalidValueError(
            f"the model has {len(advice.names)} features; give X, at the medians of which those not drawn are fixed"
        )
    typical[pair] = 0.0
    return typical


def _extent(estimator: Any, advice: FittedAdvice, pair: list[int]) -> Extent:
    """Return the range of data and bounds with a little space; without data, more of it."""
    ends: list[float] = []
    feature_of = {column: j for j, column in advice.columns.numbers.items()}
    space = estimator.advice_.space
    for column in pair:
        known = _plain_bounds([*advice.before, *advice.after], column)
        if column in feature_of:
            declared = [space.lower[feature_of[column]], space.upper[feature_of[column]]]
            known += [float(x) for x in declared if np.isfinite(x)]
        if advice.points is not None:
            known += advice.points[:, column].tolist()
            low, high = min(known), max(known)
            margin = _MARGIN * ((high - low) or max(1.0, abs(low)))
            ends += [low - margin, high + margin]
        elif column in feature_of:
            ends += drawn_range(estimator.advice_, feature_of[column], np.array(known))
        else:
            ends += [-1.0, 1.0]
    return ends[0], ends[1], ends[2], ends[3]


def _plain_bounds(premises: Sequence[Premise], column: int) -> list[float]:
    bounds = []
    for premise in premises:
        for row, limit in zip(premise.D, premise.d, strict=True):
            if np.flatnonzero(row).tolist() == [column]:
                bounds.append(float(limit / row[column]))
    return bounds


def _region(
    advice: FittedAdvice,
    k: int,
    pair: list[int],
    fixed: FloatArray,
    extent: Extent,
    can_change: bool,
) -> AdviceRegion:
    outcome = advice.outcome[k]
    counts = can_change and outcome.verdict not in ("rejected", "empty")
    return AdviceRegion(
        name=advice.name_of(k),
        label=outcome.after.label,
        verdict=outcome.verdict,
        proved=outcome.proved,
        given=_polygon(advice.before[k], pair, fixed, extent),
        refined=_polygon(advice.after[k], pair, fixed, extent) if counts else None,
    )


def _polygon(premise: Premise, pair: list[int], fixed: FloatArray, extent: Extent) -> FloatArray:
    """Return the part of the frame that satisfies a premise."""
    polygon = _frame(extent)
    for row, limit in zip(premise.D, premise.d, strict=True):
        polygon = clip(polygon, -row[pair], float(limit - row @ fixed))
    return polygon + 0.0  # no -0


def _level(normal: FloatArray, offset: float, extent: Extent) -> FloatArray:
    """Return the line normal.p + offset = 0 within the frame."""
    if not normal.any():
        return np.empty((0, 2, 2))
    return boundary_segments([clip(_frame(extent), normal, offset)], extent)


def _frame(extent: Extent) -> FloatArray:
    left, right, bottom, top = extent
    return np.array([[left, bottom], [right, bottom], [right, top], [left, top]])


def _used(premise: Premise) -> Any:
    return (premise.D != 0).any(axis=0)


def _title(estimator: Any, name: str) -> str:
    space = estimator.advice_.space
    return title_of(space, space.index(name)) if name in space.names else plain(name)


# Slanted for the negative class, upright for the positive one, as on the poster of Kunapuli, Maclin and Shavlik.
_HATCHES = ("//", "||")
_MARKERS = ("o", "s")
_FILL, _HATCH_WIDTH, _EDGE = 0.22, 0.8, 1.3
_DASHES = (0, (5.0, 3.0))
_LINE = 1.8
_KEY_SIZE, _NAME_SIZE, _HEADING_SIZE = 9.0, 10.0, 10.0
# Inches that a sample and the gap behind it take.
_KEY_SAMPLE = 0.45
# Where in its premise a name may stand, as shares of the way from the middle to a corner.
_WAYS = (0.35, 0.6, 0.8)


@dataclass(frozen=True, slots=True, eq=False)
class AdviceRegion:
    """A rule as it is drawn."""

    name: str
    label: Label
    verdict: str
    proved: bool
    given: FloatArray
    refined: FloatArray | None

    @property
    def words(self) -> str:
        """What became of it, and whether it is proved."""
        return f"{self.verdict} (proved)" if self.proved else self.verdict

    @property
    def note(self) -> str:
        """What cannot be seen in the drawing, if anything."""
        if self.verdict in ("rejected", "empty"):
            return f"{self.name} {self.verdict}: counts no more"
        if len(self.given) and (self.refined is None or len(self.refined)):
            return ""
        when = ""
        if self.refined is not None and len(self.given) + len(self.refined):
            when = " after" if len(self.given) else " as given"
        return f"{self.name}{when}: not in view"


def draw_premises(
    ax: Axes, regions: Sequence[AdviceRegion], classes: Sequence[Label], extent: Extent
) -> None:
    """Fill premises as they were given, and hatch what they were refined to; no bound, no outline."""
    from matplotlib.patches import Polygon

    colours = class_colours(classes)
    for region in regions:
        colour = colours[region.label]
        if len(region.given):
            patch = Polygon(region.given, facecolor=colour, alpha=_FILL, linewidth=0)
            patch.set(zorder=1, gid="given")
            ax.add_patch(patch)
            _outline(ax, region.given, extent, color=colour, linewidth=0.8, alpha=0.5)
        if region.refined is not None and len(region.refined):
            patch = Polygon(region.refined, **{**_hatching(region.label, classes), "linewidth": 0})
            patch.set(zorder=1.5, gid="refined")
            ax.add_patch(patch)
            _outline(ax, region.refined, extent, color=colour, linewidth=_EDGE)


def _outline(ax: Axes, polygon: FloatArray, extent: Extent, **options: Any) -> None:
    from matplotlib.collections import LineCollection

    sides = list(boundary_segments([polygon], extent))
    ax.add_collection(LineCollection(sides, zorder=1.7, **options), autolim=False)


def _hatching(label: Label, classes: Sequence[Label]) -> dict[str, Any]:
    return {
        "facecolor": "none",
        "edgecolor": class_colours(classes)[label],
        "hatch": _HATCHES[list(classes).index(label)],
        "hatch_linewidth": _HATCH_WIDTH,
        "linewidth": _EDGE,
    }


def draw_levels(ax: Axes, levels: Mapping[int, FloatArray]) -> None:
    """Draw the plane as a solid line and the margins dashed."""
    from matplotlib.collections import LineCollection

    for score, segments in levels.items():
        lines = LineCollection(list(segments), colors=[ink()], zorder=3)
        lines.set(linewidth=1.2 if score else _LINE, linestyle=_DASHES if score else "solid")
        lines.set_gid("margin" if score else "plane")
        ax.add_collection(lines, autolim=False)


def draw_names(ax: Axes, regions: Sequence[AdviceRegion], extent: Extent) -> None:
    """Write name and class of each rule into its premise, after training where it has one, apart from each other."""
    from matplotlib.patheffects import withStroke

    background = ax.get_facecolor()
    # Inches a unit of each axis takes.
    scale = np.array(size_of(ax)) / (extent[1] - extent[0], extent[3] - extent[2])
    low, high = np.array(extent[::2]), np.array(extent[1::2])
    taken: list[tuple[FloatArray, FloatArray]] = []
    for region in regions:
        refined = region.refined
        home = region.given if refined is None or not len(refined) else refined
        if not len(home):
            continue
        name, room = plain(region.name), np.ptp(home[:, 0]) * scale[0]
        full = f"{name} => {plain(region.label)}"
        shown = full if text_width(full, _NAME_SIZE, bold=True) <= room else name
        half = np.array([text_width(shown, _NAME_SIZE, bold=True) / 2, _NAME_SIZE / 72 / 2]) + 0.04
        for place in _places(home):
            middle = np.clip(place, low + half / scale, high - half / scale)
            apart = [np.abs(middle - spot) * scale >= half + size for spot, size in taken]
            if all(gap.any() for gap in apart):
                taken.append((middle, half))
                text = ax.text(
                    middle[0], middle[1], shown, size=_NAME_SIZE, weight="bold", **VERBATIM
                )
                text.set(ha="center", va="center", clip_on=True, zorder=4)
                text.set_path_effects([withStroke(linewidth=3.0, foreground=background)])
                break


def _places(polygon: FloatArray) -> list[FloatArray]:
    """Return the middle of a polygon, and places on the way from there to its corners."""
    middle = polygon.mean(axis=0)
    return [middle, *(middle + share * (corner - middle) for share in _WAYS for corner in polygon)]


def draw_key_of_advice(
    ax: Axes,
    regions: Sequence[AdviceRegion],
    classes: Sequence[Label],
    *,
    with_points: bool,
    levels: Mapping[int, FloatArray],
    heading: str,
) -> None:
    """Say above the drawing what is seen and what is not, and above that, method and verdicts."""
    width, _ = size_of(ax)
    columns = [_class_entries(label, regions, classes, with_points) for label in classes]
    if len(levels[0]):
        columns[0].append((_line(_LINE, "solid"), "plane (score 0)"))
    if len(levels[1]) or len(levels[-1]):
        columns[-1].append((_line(1.2, _DASHES), "margins (±1)"))
    # Entries of one kind stand side by side; notes come last, in whichever column is shorter.
    for region in regions:
        if region.note:
            min(columns, key=len).append((_line(0.0, "none"), plain(region.note)))
    rows = max(len(column) for column in columns)
    filler = [(_line(0.0, "none"), "")]
    entries = [entry for column in columns for entry in column + filler * (rows - len(column))]
    legend = ax.legend(
        [sample for sample, _ in entries],
        [fit_line(text, width / 2 - _KEY_SAMPLE, _KEY_SIZE) for _, text in entries],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(columns),
        fontsize=_KEY_SIZE,
        frameon=False,
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=2.0,
        handleheight=1.0,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set(**VERBATIM)
    lines = [line for part in heading.split("\n") for line in wrap(part, width, _HEADING_SIZE)]
    pad = 8 + rows * 1.7 * _KEY_SIZE
    ax.set_title("\n".join(lines), loc="left", size=_HEADING_SIZE, pad=pad, **VERBATIM)


def _class_entries(
    label: Label, regions: Sequence[AdviceRegion], classes: Sequence[Label], with_points: bool
) -> list[tuple[Any, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colour, name = class_colours(classes)[label], plain(label)
    entries: list[tuple[Any, str]] = []
    if with_points:
        marker = _MARKERS[list(classes).index(label)]
        sample = Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5)
        entries.append((sample, f"data: {name}"))
    of_class = [region for region in regions if region.label == label]
    if any(len(region.given) for region in of_class):
        entries.append((Patch(facecolor=colour, alpha=_FILL, linewidth=0), f"as given: {name}"))
    if any(region.refined is not None and len(region.refined) for region in of_class):
        entries.append((Patch(**_hatching(label, classes)), f"after: {name}"))
    return entries


def _line(width: float, style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink(), linewidth=width, linestyle=style)
