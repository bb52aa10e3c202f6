"""The points of weighted rules as bars: what holds on the left, what it adds on the right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import (
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    keep_right_part,
    open_axes,
    short_number,
    size_of,
    strip_for_bars,
    wrap,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.language.words import counted, number_text
from clearmargin.rule_svm.weighted_rules import WeightedRules, WeightLine
from clearmargin.rules.rule import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["PointsDisplay", "plot_points"]

_SIZE = 9.0
_WIDTH, _LINE_HEIGHT, _HEAD = 8.0, 0.2, 1.0
# The part of the width that premises take; the bars have the rest.
_TEXT_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Bar:
    """One line: what holds, the points for it, and the class that it speaks for; without points, a heading."""

    text: str
    points: float | None
    label: Label


class PointsDisplay:
    r"""Bars of the points that rules and linear terms add.

    Parameters
    ----------
    weighted : WeightedRules
        The rules with their weights.
    max_lines : int, default 40
        As many bars as are drawn, the largest of each score; a line says how many more there are.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill\nage < 40 => well", classes=["well", "ill"])
    >>> display = PointsDisplay.from_rules(WeightedRules(rules, [2.0, -1.5], -0.5))
    >>> [float(bar.get_width()) for bar in display.ax_.patches]
    [2.0, -1.5]
    """

    def __init__(self, *, weighted: WeightedRules, max_lines: int = 40):
        self.weighted = weighted
        self.max_lines = max_lines

    @classmethod
    def from_estimator(cls, estimator: Any, *, max_lines: int = 40, ax: Axes | None = None) -> Self:
        """Draw the points of a fitted model.

        Parameters
        ----------
        estimator : RuleSVC
            Fitted.
        max_lines : int, default 40
            As many bars as are drawn.
        ax : Axes, optional
            Where to draw; by default in a new figure as high as it needs to be.

        Returns
        -------
        PointsDisplay
            With what was drawn.
        """
        from sklearn.utils.validation import check_is_fitted

        from clearmargin.rule_svm.reading import read_weighted_rules

        if not hasattr(estimator, "fit"):
            raise InvalidValueError(
                f"from_estimator takes a fitted RuleSVC, not {type(estimator).__name__}; "
                "for WeightedRules there is from_rules"
            )
        check_is_fitted(estimator)
        weighted = read_weighted_rules(estimator)
        if weighted is None:
            raise InvalidValueError(f"{type(estimator).__name__} has no rules with points to draw")
        return cls.from_rules(weighted, max_lines=max_lines, ax=ax)

    @classmethod
    def from_rules(
        cls, weighted: WeightedRules, *, max_lines: int = 40, ax: Axes | None = None
    ) -> Self:
        """Draw the points of weighted rules.

        Parameters
        ----------
        weighted : WeightedRules
            The rules with their weights.
        max_lines : int, default 40
            As many bars as are drawn.
        ax : Axes, optional
            Where to draw; by default in a new figure as high as it needs to be.

        Returns
        -------
        PointsDisplay
            With what was drawn.
        """
        if not isinstance(weighted, WeightedRules):
            raise InvalidValueError(f"weighted rules are needed, not {type(weighted).__name__}")
        if not isinstance(max_lines, int) or max_lines < 1:
            raise InvalidValueError(f"max_lines must be a whole number from 1, not {max_lines!r}")
        if not weighted.lines():
            raise InvalidValueError("there are no points to draw: no rule has a weight")
        return cls(weighted=weighted, max_lines=max_lines).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure as high as it needs to be.

        Returns
        -------
        PointsDisplay
            Itself, with `ax_` and `figure_`.
        """
        bars, left_out = self._bars()
        width = (_WIDTH if ax is None else size_of(ax)[0]) * _TEXT_SHARE - 0.1
        texts = [wrap(bar.text, width, _SIZE, max_lines=3) for bar in bars]
        heights = [_LINE_HEIGHT * (len(text) + 0.4) for text in texts]
        size = (_WIDTH, _HEAD + sum(heights) + (_LINE_HEIGHT if left_out else 0.0))
        axes = open_axes(ax, size)
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        if ax is None:
            low = 0.55 / size[1]
            axes.set_position((_TEXT_SHARE, low, 0.97 - _TEXT_SHARE, 1 - 0.45 / size[1] - low))
        else:
            keep_right_part(axes, _TEXT_SHARE)
        self._draw(bars, texts, heights)
        if left_out:
            note = f"{counted(left_out, 'smaller one')} not shown"
            axes.text(
                -0.02, -0.02, note, transform=axes.transAxes, ha="right", va="top", size=_SIZE
            )
        return self

    def _bars(self) -> tuple[list[_Bar], int]:
        """Return the bars, class by class with more than two of them, and how many are left out."""
        weighted = self.weighted
        lines = weighted.lines()
        share = max(1, self.max_lines // weighted.n_outputs)
        bars: list[_Bar] = []
        shown = 0
        for k in range(weighted.n_outputs):
            mine = [line for line in lines if line.output == k]
            if not weighted.is_binary and mine:
                label = weighted.classes[k]
                start = number_text(float(weighted.intercept[k]))
                bars.append(_Bar(f"{plain(label)} (starts at {start})", None, label))
            sized = [(*self._reach(line), line.label) for line in mine]
            largest = sorted(sized, key=lambda entry: -abs(entry[1]))[:share]
            bars += [_Bar(*entry) for entry in largest]
            shown += len(largest)
        return bars, len(lines) - shown

    def _reach(self, line: WeightLine) -> tuple[str, float]:
        """Return what a line adds; of a multiple of a number what its range adds, from one end to the other."""
        space, j = self.weighted.space, line.multiplies
        if j is not None:
            low, high = float(space.lower[j]), float(space.upper[j])
            if math.isfinite(low) and math.isfinite(high):
                ends = f"{short_number(low)} to {short_number(high)}"
                return f"{plain(space.names[j])}, from {ends}", line.points * (high - low)
        return plain(line.text), line.points

    def _draw(self, bars: list[_Bar], texts: list[list[str]], heights: list[float]) -> None:
        ax, colours = self.ax_, class_colours(list(self.weighted.classes))
        ends = np.cumsum(heights)
        middles = ends - np.array(heights) / 2
        sizes = [abs(bar.points) for bar in bars if bar.points is not None]
        most = max(sizes) or 1.0
        lowest = min([0.0, *(bar.points for bar in bars if bar.points is not None)])
        highest = max([0.0, *(bar.points for bar in bars if bar.points is not None)])
        # Numbers stand beside the bars.
        room = 0.16 * (highest - lowest or most)
        ax.set_xlim(lowest - (room if lowest else 0.02 * most), highest + room)
        ax.set_ylim(ends[-1], 0.0)
        for bar, text, at in zip(bars, texts, middles, strict=True):
            weight = "bold" if bar.points is None else "normal"
            ax.text(
                -0.02,
                at,
                "\n".join(text),
                transform=ax.get_yaxis_transform(),
                ha="right",
                va="center",
                size=_SIZE,
                weight=weight,
                **VERBATIM,
            )
            if bar.points is not None:
                self._draw_bar(bar, at, colours[bar.label])
        strip_for_bars(ax, _SIZE - 1)
        self._write_titles(colours)

    def _draw_bar(self, bar: _Bar, at: float, colour: str) -> None:
        assert bar.points is not None
        is_against = not self.weighted.is_binary and bar.points < 0
        alpha = 0.45 if is_against else 1.0
        self.ax_.barh(at, bar.points, 0.8 * _LINE_HEIGHT, color=colour, alpha=alpha)
        sign = "" if bar.points < 0 else "+"
        self.ax_.annotate(
            sign + number_text(bar.points, 3),
            (bar.points, at),
            xytext=(4 if bar.points >= 0 else -4, 0),
            textcoords="offset points",
            ha="left" if bar.points >= 0 else "right",
            va="center",
            size=_SIZE,
        )

    def _write_titles(self, colours: Any) -> None:
        ax, weighted = self.ax_, self.weighted
        summary = weighted.summary()
        ax.set_title(
            "\n".join(wrap(summary, 0.9 * _WIDTH, _SIZE + 1, max_lines=2)),
            loc="right",
            size=_SIZE + 1,
            **VERBATIM,
        )
        ax.set_xlabel("points", size=_SIZE)
        if weighted.is_binary:
            ends = ((0.0, "left", weighted.classes[0]), (1.0, "right", weighted.classes[1]))
            for x, side, label in ends:
                # The word "points" stands between the two.
                name = fit_line(plain(label), 0.36 * size_of(ax)[0] - 0.2, _SIZE, bold=True)
                arrow = f"← {name}" if side == "left" else f"{name} →"
                ax.annotate(
                    arrow,
                    (x, 0),
                    xycoords="axes fraction",
                    xytext=(0, -26),
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    color=colours[label],
                    size=_SIZE,
                    weight="bold",
                    **VERBATIM,
                )


def plot_points(model: Any, *, max_lines: int = 40, ax: Axes | None = None) -> PointsDisplay:
    """Draw the points of rules as bars.

    Parameters
    ----------
    model : RuleSVC or WeightedRules
        Fitted.
    max_lines : int, default 40
        As many bars as are drawn, the largest first.
    ax : Axes, optional
        Where to draw; by default in a new figure as high as it needs to be.

    Returns
    -------
    PointsDisplay
        With what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill", classes=["well", "ill"])
    >>> len(plot_points(WeightedRules(rules, [2.0], -0.5)).ax_.patches)
    1
    """
    if isinstance(model, WeightedRules):
        return PointsDisplay.from_rules(model, max_lines=max_lines, ax=ax)
    return PointsDisplay.from_estimator(model, max_lines=max_lines, ax=ax)
