"""Extractors side by side: accuracy, fidelity, coverage and the number of their rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    figure_of,
    ink,
    open_axes,
    require_matplotlib,
    text_width,
    wrap,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from clearmargin.compare.extractors import ExtractorComparison, ExtractorFigures

__all__ = ["ExtractorsDisplay", "plot_extractors"]

#: The measure of each panel, and its title.
PANELS = {
    "accuracy": "accuracy (%)",
    "fidelity": "fidelity (%)",
    "coverage": "coverage (%)",
    "rules": "number of rules",
}
_SIZE = 9.0
# In inches: a panel, the widest name, a line of it, the space between rows, and scale, title and key together.
_PANEL, _WIDEST_NAME, _LINE, _GAP, _AROUND = 1.75, 2.2, 0.15, 0.13, 1.05
_COLOUR = next(iter(class_colours(["rules"]).values()))
_DASHES = (0, (4.0, 3.0))
# Numbers of rules that differ by more than this factor are drawn on a scale of powers of ten.
_WIDE = 10.0


class ExtractorsDisplay:
    """Dots for the means over folds of what extractors are worth, with whiskers of one standard error.

    A panel for each of accuracy, fidelity, coverage and number of rules; a row for each extractor. The dashed line is
    the accuracy of the model itself. A hollow dot says that the model decides where no rule covers a case, so that
    part of the accuracy and fidelity is that of the model.

    Parameters
    ----------
    comparison : ExtractorComparison
        What to draw.

    Attributes
    ----------
    axes_ : list of Axes
        The panels.
    figure_
        Where they stand.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.compare.extractors import MEASURES, ExtractorComparison, ExtractorFigures
    >>> figures = ExtractorFigures("mine", "nearest", np.full((2, len(MEASURES)), 0.5), (None, None))
    >>> display = ExtractorsDisplay.from_comparison(ExtractorComparison((figures,), np.array([0.9, 0.8])))
    >>> [ax.get_title() for ax in display.axes_][:2]
    ['accuracy (%)', 'fidelity (%)']
    """

    def __init__(self, *, comparison: ExtractorComparison):
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: Any, *, axes: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw a comparison.

        Parameters
        ----------
        comparison : ExtractorComparison
            From `compare_extractors`.
        axes : sequence of four Axes, optional
            Where to draw; by default in a new figure of the size that the rows need.

        Returns
        -------
        ExtractorsDisplay
            With what was drawn.
        """
        # Loading scikit-learn takes a second, and only who compares has to wait for it.
        from clearmargin.compare.extractors import ExtractorComparison

        if not isinstance(comparison, ExtractorComparison):
            raise InvalidValueError(
                "comparison must be what compare_extractors gives, an ExtractorComparison, not "
                f"{type(comparison).__name__}"
            )
        return cls(comparison=comparison).plot(axes)

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : sequence of four Axes, optional
            Where to draw; by default in a new figure of the size that the rows need.

        Returns
        -------
        ExtractorsDisplay
            Itself, with `axes_` and `figure_`.
        """
        require_matplotlib()
        names = [wrap(plain(f.name), _WIDEST_NAME, _SIZE) for f in self.comparison.extractors]
        is_new_figure = axes is None
        self.axes_: list[Axes] = _new_axes(names) if axes is None else _given_axes(axes)
        self.figure_: Figure | SubFigure = figure_of(self.axes_[0])
        for k, (ax, measure) in enumerate(zip(self.axes_, PANELS, strict=True)):
            self._draw_panel(ax, measure)
            ax.set_yticks(range(len(names)), ["\n".join(lines) for lines in names], size=_SIZE)
            ax.tick_params(axis="y", length=0, labelleft=k == 0)
            for label in ax.get_yticklabels():
                label.set(**VERBATIM)
        self._draw_key(is_new_figure)
        return self

    def _draw_panel(self, ax: Axes, measure: str) -> None:
        comparison, factor = self.comparison, 1.0 if measure == "rules" else 100.0
        ax.set_title(PANELS[measure], size=_SIZE)
        ax.set_ylim(len(comparison.extractors) - 0.4, -0.6)
        ax.spines[["left", "top", "right"]].set_visible(False)
        ax.grid(axis="y", color=ink(), lw=0.5, alpha=0.25)
        ax.set_axisbelow(True)
        ax.tick_params(axis="x", labelsize=SMALL)
        if measure == "accuracy":
            at = factor * comparison.model_accuracy
            ax.axvline(at, color=ink(), lw=0.9, ls=_DASHES, alpha=0.7, zorder=0.5)
        for row, figures in enumerate(comparison.extractors):
            mean, error = factor * figures.mean(measure), factor * figures.error(measure)
            if np.isnan(mean):
                _say_failed(ax, row)
                continue
            if not np.isnan(error):
                ax.hlines(row, mean - error, mean + error, color=_COLOUR, lw=1.6, zorder=2)
            ax.plot([mean], [row], **_dot(is_hollow=_asks_model(figures)))
        self._scale(ax, measure)

    def _scale(self, ax: Axes, measure: str) -> None:
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        means = np.array([figures.mean(measure) for figures in self.comparison.extractors])
        means = means[~np.isnan(means)]
        if measure == "rules" and len(means) and means.max() > _WIDE * means.min() > 0:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(ScalarFormatter())
            ax.xaxis.minorticks_off()
            return
        ax.margins(x=0.1)
        ax.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], min_n_ticks=2))
        if measure == "rules":
            ax.set_xlim(left=0.0)
        else:
            # A share ends at 100, with room for half a dot.
            low, high = ax.get_xlim()
            ax.set_xlim(max(low, -3.0), min(high, 100.0 + 0.04 * (100.0 - min(low, 99.0))))

    def _draw_key(self, is_new_figure: bool) -> None:
        from matplotlib.lines import Line2D

        asks_model = sorted({_asks_model(figures) for figures in self.comparison.extractors})
        meaning = {False: "rules decide all", True: "the model decides where no rule does"}
        handles: list[Any] = [
            Line2D([], [], **_dot(is_hollow=kind), label=meaning[kind]) for kind in asks_model
        ]
        model = {"color": ink(), "lw": 0.9, "ls": _DASHES, "alpha": 0.7}
        handles.append(Line2D([], [], **model, label="accuracy of the model"))
        handles.append(Line2D([], [], color=_COLOUR, lw=1.6, label="± one standard error"))
        place: dict[str, Any] = (
            {"loc": "outside lower center"} if is_new_figure else {"loc": "lower center"}
        )
        target = self.figure_ if is_new_figure else self.axes_[0]
        columns = len(handles) if is_new_figure else 1
        target.legend(handles=handles, fontsize=SMALL, frameon=False, ncols=columns, **place)


def plot_extractors(
    comparison: Any, *, axes: Axes | Sequence[Axes] | None = None
) -> ExtractorsDisplay:
    """Draw what extractors are worth, side by side.

    Parameters
    ----------
    comparison : ExtractorComparison
        From `compare_extractors`.
    axes
        As for `ExtractorsDisplay.from_comparison`.

    Returns
    -------
    ExtractorsDisplay
        With `axes_` and `figure_`.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.compare.extractors import MEASURES, ExtractorComparison, ExtractorFigures
    >>> figures = ExtractorFigures("mine", "nearest", np.full((2, len(MEASURES)), 0.5), (None, None))
    >>> len(plot_extractors(ExtractorComparison((figures,), np.array([0.9, 0.8]))).axes_)
    4
    """
    return ExtractorsDisplay.from_comparison(comparison, axes=axes)


def _asks_model(figures: ExtractorFigures) -> bool:
    return isinstance(figures.fallback, str) and figures.fallback == "estimator"


def _dot(*, is_hollow: bool) -> dict[str, Any]:
    import matplotlib as mpl

    inside = mpl.rcParams["axes.facecolor"] if is_hollow else _COLOUR
    style = {"marker": "o", "ms": 6.5, "ls": "none", "mfc": inside, "mec": _COLOUR, "mew": 1.5}
    return {**style, "zorder": 3, "clip_on": False}


def _say_failed(ax: Axes, row: int) -> None:
    place = ax.get_yaxis_transform()
    # On a ground of its own, since lines run through the row.
    ground = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5}
    text = ax.text(0.5, row, "no figure", transform=place, size=SMALL, ha="center", va="center")
    text.set_bbox(ground)


def _new_axes(names: list[list[str]]) -> list[Axes]:
    import matplotlib.pyplot as plt

    widest = max((text_width(line, _SIZE) for lines in names for line in lines), default=0.0)
    # Rows are equally high, as high as the one with most lines.
    body = len(names) * (max(map(len, names), default=1) * _LINE + _GAP)
    size = widest + len(PANELS) * _PANEL + 0.3, body + _AROUND
    _, grid = plt.subplots(1, len(PANELS), figsize=size, layout="constrained")
    return list(grid)


def _given_axes(axes: Any) -> list[Axes]:
    given = list(axes.ravel() if isinstance(axes, np.ndarray) else np.atleast_1d(axes))
    if len(given) < len(PANELS):
        raise InvalidValueError(
            f"there are {len(PANELS)} panels ({', '.join(PANELS)}), and {len(given)} axes are given"
        )
    return [open_axes(ax) for ax in given[: len(PANELS)]]
