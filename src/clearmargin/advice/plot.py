"""Advice before and after training: premises over two features, and rules as small decision trees side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import (
    VERBATIM,
    Extent,
    boundary_segments,
    class_colours,
    clip,
    figure_of,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    size_of,
    text_width,
    title_of,
    wrap,
)
from clearmargin.drawing.drawn_rules import drawn_range, read_classes
from clearmargin.drawing.regions import draw_points
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from clearmargin.advice.advice_reading import Premise
    from clearmargin.advice.rule_tree import FittedAdvice, Node, RuleTree, RuleTrees, TreeTest

__all__ = [
    "AdviceDisplay",
    "AdviceRegion",
    "PlacedNode",
    "RuleTreesDisplay",
    "TreeLayout",
    "draw_key_of_advice",
    "draw_levels",
    "draw_names",
    "draw_premises",
    "draw_tree",
    "lay_out_tree",
    "plot_advice",
    "plot_rule_trees",
]


# Of the range of the data, left free on either side so that points at its ends are seen whole.
_MARGIN = 0.04
_LABEL_SIZE = 10.0
_FIGURE = (6.4, 6.6)
_TURNED = "Advice before and after: bounds shifted and turned"
_METHODS: dict[str | None, str] = {
    None: "Advice as it was given",
    "extend": "Advice before and after: extended as far as the model agrees",
    "translate": "Advice before and after: bounds shifted",
    **dict.fromkeys(("slp", "sqp", "trust"), _TURNED),
}


class AdviceDisplay:
    """Premises of advice over two features before and after training, with the model and, where given, points.

    The advice as it was given is filled in the light colour of its class; what the model was trained with in the end is
    hatched over it, upright for the positive class and slanted for the other. The plane is a solid line, scores of 1
    and -1 are dashed. Premises without bounds run into the frame. Of a model with more features this is a slice: the
    others stand at their medians, categories at the most frequent one, and the title says so.

    Parameters
    ----------
    features : (str, str)
        The features along and up.
    titles : (str, str)
        Their names with units.
    extent : (float, float, float, float)
        Left, right, bottom and top.
    classes : tuple of labels
        The classes; the second is the positive one.
    regions : tuple of AdviceRegion
        The rules that are drawn: name, class, verdict, and the polygons before and after.
    levels : dict from int to ndarray of shape (s, 2, 2)
        The lines at which the score is -1, 0 and 1; none where a line does not cross the frame.
    method : str
        What is shown: the advice as it was given, or how it was changed.
    others : dict from str to float
        The features that are fixed, as far as model or rules look at them.
    points : ndarray of shape (m, 2), optional
        Points to draw.
    point_classes : list, optional
        Their classes.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.advice import AdviceSVC
    >>> X, y = [[0, 0], [1, 1], [3, 3], [4, 4]], ["no", "no", "yes", "yes"]
    >>> model = AdviceSVC("x0 >= 3 => yes").fit(X, y)
    >>> display = AdviceDisplay.from_estimator(model, X, y)
    >>> display.regions[0].given[:, 0].min().item()
    3.0
    """

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
        """Draw the advice of a fitted model.

        Parameters
        ----------
        estimator : AdviceSVC
            Fitted.
        X : data frame or array-like of shape (m, n), optional
            Rows to draw as points, as the model takes them. Needed where there are more than two features.
        y : array-like of shape (m,), optional
            Their classes.
        features : (str, str), optional
            The features along and up; needed where there are more than two.
        rules : sequence of str or int, optional
            Which rules to draw, by name or position in `outcome_`; by default all.
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        AdviceDisplay
            With what was drawn.
        """
        from clearmargin.advice.rule_tree import FittedAdvice  # which brings scikit-learn along

        advice = FittedAdvice.of(estimator, X)
        if y is not None and advice.points is None:
            raise InvalidValueError("y was given without X; classes need their points")
        names = _two_features(advice, features)
        pair = [advice.column(name) for name in names]
        chosen = _chosen(advice, rules)
        fixed = _fixed(advice, pair)
        extent = _extent(estimator, advice, pair)
        can_change = estimator.refine is not None or bool(getattr(estimator, "extend", False))
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
            method=_METHODS[estimator.refine or ("extend" if can_change else None)],
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
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        AdviceDisplay
            Itself, with `ax_` and `figure_`.
        """
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
    """Draw advice over two features before and after training, with the separating line and its margins.

    Parameters
    ----------
    model : AdviceSVC
        Fitted.
    X, y, features, rules, ax
        As for `AdviceDisplay.from_estimator`.

    Returns
    -------
    AdviceDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.advice import AdviceSVC
    >>> X, y = [[0, 0], [1, 1], [3, 3], [4, 4]], ["no", "no", "yes", "yes"]
    >>> model = AdviceSVC("x0 >= 1 => yes", refine="slp", nu=0.1).fit(X, y)
    >>> plot_advice(model, X, y).regions[0].verdict
    'refined'
    """
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
        standing=outcome.standing,
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
    """A rule as it is drawn.

    Parameters
    ----------
    name : str
        What it is called.
    label : str, int, float or bool
        Its class.
    verdict : str
        What became of it.
    standing : str or None
        How it stands: proved, uncontradicted or contradicted; None where it counts no more.
    given : ndarray of shape (k, 2)
        Corners of its premise before training, cut at the frame; none where no part is in it.
    refined : ndarray of shape (l, 2) or None
        Corners of its premise after training; None where the rule counts no more or nothing could change.
    """

    name: str
    label: Label
    verdict: str
    standing: str | None
    given: FloatArray
    refined: FloatArray | None

    @property
    def words(self) -> str:
        """What became of it, and how it stands."""
        return self.verdict if self.standing is None else f"{self.verdict} ({self.standing})"

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


_SIZE, _TITLE_SIZE, _TEXT_SIZE, _ANSWER_SIZE = 10.0, 11.0, 9.0, 9.0
# Inches: a box, the way down to the next one, the gap between neighbours, the space in a box beside its text.
_BOX, _DOWN, _GAP, _PAD = 0.34, 0.52, 0.22, 0.14
_LINE_HEIGHT = 0.18
# A tree of few boxes has at least this width for its texts; a box has at most the other.
_NARROWEST, _WIDEST_BOX = 3.4, 2.6


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A box of the tree.

    Parameters
    ----------
    text : str
        What it says.
    is_leaf, is_silent : bool
        Whether it is an end, and one where the rule is silent.
    x, y : float
        Its middle, in inches from the left and the top of the tree.
    width : float
        Its width.
    children : tuple of PlacedNode
        None, or those for yes and for no.
    """

    text: str
    is_leaf: bool
    is_silent: bool
    x: float
    y: float
    width: float
    children: tuple[PlacedNode, ...]

    def walk(self) -> Iterator[PlacedNode]:
        """Yield the box itself and all boxes below."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """A tree with its texts.

    Parameters
    ----------
    title : str
        Above everything.
    rule : list of str
        Lines of the rule itself.
    root : PlacedNode
        The first box.
    agreement : list of str
        Lines below the tree.
    width, depth : float
        Width, and height of the boxes alone.
    """

    title: str
    rule: list[str]
    root: PlacedNode
    agreement: list[str]
    width: float
    depth: float

    @property
    def head(self) -> float:
        """Height of the texts above the boxes."""
        return 0.3 + len(self.rule) * _LINE_HEIGHT + 0.15

    @property
    def height(self) -> float:
        """Height of everything."""
        return self.head + self.depth + 0.15 + len(self.agreement) * _LINE_HEIGHT


def lay_out_tree(tree: RuleTree, title: str, rule: str) -> TreeLayout:
    """Find the place of each box.

    Parameters
    ----------
    tree : RuleTree
        The tree.
    title : str
        What stands above.
    rule : str
        The rule itself, below the title.

    Returns
    -------
    TreeLayout
        Boxes never overlap; a question stands over the middle of its answers.
    """
    root, needed = _place(tree.root, 0.0, _BOX / 2)
    width = max(needed, _NARROWEST)
    shift = (width - needed) / 2
    root = _shifted(root, shift)
    return TreeLayout(
        title=fit_line(plain(title), width, _TITLE_SIZE, bold=True),
        rule=wrap(plain(rule), width, _TEXT_SIZE, max_lines=5),
        root=root,
        agreement=wrap(f"{tree.agreement}; silent: it says nothing", width, _TEXT_SIZE),
        width=width,
        depth=max(node.y for node in root.walk()) + _BOX / 2,
    )


def _place(node: Node, left: float, y: float) -> tuple[PlacedNode, float]:
    """Place a node and all below it from an edge on, and say how wide that is."""
    from clearmargin.advice.rule_tree import TreeLeaf  # which brings scikit-learn along

    is_leaf = isinstance(node, TreeLeaf)
    text = plain(node.text) if isinstance(node, TreeLeaf) else _question(node)
    box_width = text_width(text, _SIZE, bold=is_leaf) + 2 * _PAD
    if isinstance(node, TreeLeaf):
        placed = PlacedNode(text, True, node.label is None, left + box_width / 2, y, box_width, ())
        return placed, box_width
    below = y + _BOX + _DOWN
    yes, yes_width = _place(node.yes, left, below)
    no, no_width = _place(node.no, left + yes_width + _GAP, below)
    wide = yes_width + _GAP + no_width
    middle = (yes.x + no.x) / 2
    # A question wider than its answers pushes them to the middle below it, or sticks out to one side.
    out = max(0.0, left - (middle - box_width / 2))
    width = max(wide + out, middle + out + box_width / 2 - left)
    children = (_shifted(yes, out), _shifted(no, out))
    return PlacedNode(text, False, False, middle + out, y, box_width, children), width


def _question(node: TreeTest) -> str:
    """Return a question that fits into a box; it is the name of the feature that is cut, if anything."""
    text = plain(node.text)
    rest = node.text[len(node.feature) :]
    room = _WIDEST_BOX - text_width(rest, _SIZE)
    if text_width(text, _SIZE) <= _WIDEST_BOX:
        return text
    return fit_line(plain(node.feature), room, _SIZE) + rest


def _shifted(node: PlacedNode, by: float) -> PlacedNode:
    children = tuple(_shifted(child, by) for child in node.children)
    return PlacedNode(
        node.text, node.is_leaf, node.is_silent, node.x + by, node.y, node.width, children
    )


def draw_tree(
    ax: Axes, layout: TreeLayout, left: float, top: float, head: float, colour: str
) -> None:
    """Draw a tree with its texts.

    Parameters
    ----------
    ax : Axes
        Where; its units are inches, from the top down.
    layout : TreeLayout
        What.
    left, top : float
        Its corner.
    head : float
        Height left for the texts above the boxes.
    colour : str
        Of the class of the rule.
    """
    style: dict[str, Any] = {"ha": "left", "va": "center", **VERBATIM}
    ax.text(left, top + 0.12, layout.title, size=_TITLE_SIZE, weight="bold", **style)
    for k, line in enumerate(layout.rule):
        ax.text(left, top + 0.3 + (k + 0.5) * _LINE_HEIGHT, line, size=_TEXT_SIZE, **style)
    for node in layout.root.walk():
        _draw_answers(ax, node, left, top + head)
    for node in layout.root.walk():
        _draw_box(ax, node, left, top + head, colour)
    below = top + head + layout.depth + 0.15
    for k, line in enumerate(layout.agreement):
        ax.text(
            left, below + (k + 0.5) * _LINE_HEIGHT, line, size=_TEXT_SIZE, style="italic", **style
        )


def _draw_answers(ax: Axes, node: PlacedNode, left: float, top: float) -> None:
    """Draw lines from a question to what follows, with the answers on them."""
    for child, answer in zip(node.children, ("yes", "no"), strict=False):
        start, end = top + node.y + _BOX / 2, top + child.y - _BOX / 2
        bend = start + 0.4 * (end - start)
        xs = [left + node.x, left + node.x, left + child.x, left + child.x]
        ax.plot(xs, [start, bend, bend, end], color=ink(), linewidth=1.0, zorder=1)
        beside = -0.06 if answer == "yes" else 0.06
        align = "right" if answer == "yes" else "left"
        ax.text(
            left + child.x + beside,
            (bend + end) / 2,
            answer,
            size=_ANSWER_SIZE,
            ha=align,
            va="center",
        )


def _draw_box(ax: Axes, node: PlacedNode, left: float, top: float, colour: str) -> None:
    """Draw a box with round corners: full at an end with a class, dashed where the rule is silent."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import FancyBboxPatch

    round_corners = f"round,pad=0,rounding_size={_BOX / 2 if node.is_leaf else 0.06}"
    box = FancyBboxPatch(
        (left + node.x - node.width / 2, top + node.y - _BOX / 2),
        node.width,
        _BOX,
        boxstyle=round_corners,
        zorder=2,
    )
    speaks = node.is_leaf and not node.is_silent
    box.set(
        facecolor=to_rgba(colour, 0.25) if speaks else "none",
        edgecolor=colour if speaks else ink(),
        linewidth=1.6 if speaks else 1.0,
        linestyle=(0, (3.0, 2.0)) if node.is_silent else "solid",
        gid="silent" if node.is_silent else "class" if speaks else "question",
    )
    ax.add_patch(box)
    ax.text(
        left + node.x,
        top + node.y,
        node.text,
        size=_SIZE,
        weight="bold" if speaks else "normal",
        ha="center",
        va="center",
        zorder=3,
        **VERBATIM,
    )


# Inches around the trees and between them.
_BORDER, _BETWEEN = 0.15, 0.45


class RuleTreesDisplay:
    """Two decision trees that come close to a rule, before and after training.

    A question is a box; the answer yes goes to the left. A full box at the end gives the class of the rule, an empty
    one with a dashed rim says that the rule is silent there. Below each tree stands how well it agrees with its rule.

    Parameters
    ----------
    trees : RuleTrees
        The trees.
    classes : tuple of labels
        All classes, which have their colours in this order.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    layouts_ : (TreeLayout, TreeLayout)
        Where everything stands, in inches.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0, 0.1], [35.0, 0.7], [50.0, 0.4], [60.0, 0.9]]
    >>> model = AdviceSVC("x0 >= 31 and x1 >= 0.5 => ill").fit(X, ["well", "ill", "well", "ill"])
    >>> RuleTreesDisplay.from_estimator(model, X).trees.before.root.text
    'x0 >= 31'
    """

    def __init__(self, *, trees: RuleTrees, classes: tuple[Label, ...]):
        from clearmargin.advice.rule_tree import RuleTrees  # which brings scikit-learn along

        if not isinstance(trees, RuleTrees):
            raise InvalidValueError(f"trees must be RuleTrees, not {type(trees).__name__}")
        self.trees = trees
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        rule: str | int = 0,
        max_depth: int = 3,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a rule of a fitted model.

        Parameters
        ----------
        estimator : AdviceSVC
            Fitted.
        X : data frame or array-like of shape (m, n)
            The rows that the model was trained with; their ranges say where cases live.
        rule : str or int, default 0
            Name of the rule, or its position in `outcome_`.
        max_depth : int, default 3
            Most questions one after the other that stand for conditions on several features.
        random_state : int or None, default 0
            Seed of the points that the trees are learned from.
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the trees need.

        Returns
        -------
        RuleTreesDisplay
            With what was drawn.
        """
        from clearmargin.advice.rule_tree import rule_trees

        trees = rule_trees(estimator, rule, X, max_depth=max_depth, random_state=random_state)
        classes = tuple(as_label(label) for label in estimator.classes_)
        return cls(trees=trees, classes=classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the trees need. Axes that are smaller crowd them.

        Returns
        -------
        RuleTreesDisplay
            Itself, with `ax_`, `figure_` and `layouts_`.
        """
        require_matplotlib()
        trees = self.trees
        layouts = (
            lay_out_tree(trees.before, f"{trees.name}, as given", trees.text_before),
            lay_out_tree(trees.after, f"{trees.name}, after training", self._after()),
        )
        width = layouts[0].width + layouts[1].width + _BETWEEN + 2 * _BORDER
        height = max(layout.height for layout in layouts) + 2 * _BORDER
        is_new_figure = ax is None
        axes = open_axes(ax, (width, height))
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        self.layouts_: tuple[TreeLayout, TreeLayout] = layouts
        if is_new_figure:
            axes.set_position((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, width)
        axes.set_ylim(height, 0.0)
        colour = class_colours([*self.classes, trees.label])[trees.label]
        if trees.label in self.classes:
            colour = class_colours(self.classes)[trees.label]
        # The first boxes of both stand on one line.
        head = max(layout.head for layout in layouts)
        left = _BORDER
        for layout in layouts:
            draw_tree(axes, layout, left, _BORDER, head, colour)
            left += layout.width + _BETWEEN
        return self

    def _after(self) -> str:
        verdict = self.trees.verdict
        if verdict == "rejected":
            return f"rejected; the last form that had points was {self.trees.text_after}"
        if verdict == "empty":
            return "set aside: no case can satisfy it"
        if self.trees.text_after == self.trees.text_before:
            return f"unchanged ({verdict})"
        return self.trees.text_after


def plot_rule_trees(
    model: Any,
    X: Any,
    *,
    rule: str | int = 0,
    max_depth: int = 3,
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> RuleTreesDisplay:
    """Draw a rule before and after training as two small decision trees side by side.

    Parameters
    ----------
    model : AdviceSVC
        Fitted.
    X, rule, max_depth, random_state, ax
        As for `RuleTreesDisplay.from_estimator`.

    Returns
    -------
    RuleTreesDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0], [35.0], [50.0], [60.0]]
    >>> model = AdviceSVC("old: x0 >= 31 => ill", lam=10.0).fit(X, ["well", "ill", "ill", "ill"])
    >>> plot_rule_trees(model, X, rule="old").trees.after.fidelity
    1.0
    """
    return RuleTreesDisplay.from_estimator(
        model, X, rule=rule, max_depth=max_depth, random_state=random_state, ax=ax
    )
