"""Rules over two features, as rectangles on the two sides of the separating line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import figure_of, open_axes, size_of
from clearmargin.drawing.fitted import check_rules, drawn_range, fitted_rules, read_classes
from clearmargin.drawing.halfplanes import Extent, class_polygons
from clearmargin.drawing.lettering import VERBATIM, title_of, wrap
from clearmargin.drawing.regions_drawing import (
    draw_faces,
    draw_key,
    draw_numbers,
    draw_points,
    draw_rectangles,
    draw_sides,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, RuleSet
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["RegionsDisplay", "plot_regions"]

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
        For each class the part of the drawing in which the model says it.
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
    """Left, right, bottom and top of each rule, cut at the frame."""
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
