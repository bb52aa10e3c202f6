"""The properties in which the ends of a ranking differ, as bars to both sides of zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import figure_of, ink, open_axes, require_matplotlib
from clearmargin.drawing.lettering import SMALL, VERBATIM, short_number, text_width, wrap
from clearmargin.language.prose import plain
from clearmargin.rankings.contrasts import (
    BOTTOM_COLOUR,
    TOP_COLOUR,
    check_most,
    end_names,
    fitted_contrast,
)
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["LeverageDisplay", "plot_leverage"]

# No leverage is beyond: P(p, top) - P(p) P(top) with p = top and halves of the same size.
_LARGEST = 0.25
_SIZE = 9.0
# In inches: the bars, the widest name, a line of it, the space between rows, a bar, and the column of check marks.
_BARS, _WIDEST_NAME, _LINE, _GAP, _BAR, _MARKS = 3.6, 2.6, 0.15, 0.1, 0.14, 0.22
# Above the bars; below them for the scale and its title; and a line of the key.
_HEAD, _SCALE, _KEY = 0.3, 0.5, 0.17
_DASHES = (0, (4.0, 3.0))


class LeverageDisplay:
    """Bars of leverage, to the right for properties of the top, to the left for those of the bottom.

    The scale is always that of all possible leverages, from -0.25 to 0.25, so that pictures can be compared. Dashed
    lines are at the least leverage, whiskers show the 95 % interval, the counts at the right say how many rows of each
    end have the property, and a check mark stands where held-out labels confirmed it.

    Parameters
    ----------
    table : DataFrame
        The properties to draw, from above: rows of `RankContrast.properties_`.
    total : int
        How many there are to show in all.
    n_top, n_bottom : int
        Rows at each end.
    min_leverage : float
        The least leverage.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X = [[k % 2, k // 10] for k in range(40)]
    >>> contrast = RankContrast(top=10, bottom=10, max_size=1).fit_ranking(X, range(40))
    >>> display = LeverageDisplay.from_estimator(contrast)
    >>> display.table[["property", "leverage"]].values.tolist()
    [['x1 = 3', 0.25], ['x1 = 0', -0.25]]
    """

    def __init__(
        self, *, table: pd.DataFrame, total: int, n_top: int, n_bottom: int, min_leverage: float
    ):
        self.table = table
        self.total = total
        self.n_top = n_top
        self.n_bottom = n_bottom
        self.min_leverage = min_leverage

    @classmethod
    def from_estimator(cls, estimator: Any, *, most: int = 20, ax: Axes | None = None) -> Self:
        """Draw what a fitted contrast found.

        Parameters
        ----------
        estimator : RankContrast
            Fitted. Only properties that are worth showing are drawn, those with `shown`.
        most : int, default 20
            Most properties to draw: those of largest leverage, for whichever end.
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the rows need.

        Returns
        -------
        LeverageDisplay
            With what was drawn.
        """
        contrast, most = fitted_contrast(estimator), check_most(most)
        frame = contrast.properties_
        shown = frame[frame["shown"].to_numpy(dtype=bool)]
        largest = shown.iloc[np.argsort(-shown["leverage"].abs().to_numpy(), kind="stable")[:most]]
        return cls(
            table=largest.sort_values("leverage", ascending=False, kind="stable"),
            total=len(shown),
            n_top=len(contrast.top_index_),
            n_bottom=len(contrast.bottom_index_),
            min_leverage=contrast.min_leverage_,
        ).plot(ax)

    @property
    def counts(self) -> list[str]:
        """How many rows of each end have each property."""
        pairs = zip(self.table["top_count"], self.table["bottom_count"], strict=True)
        return [f"{top}/{self.n_top} vs {bottom}/{self.n_bottom}" for top, bottom in pairs]

    @property
    def note(self) -> str:
        """What is left out, if anything."""
        if len(self.table) == self.total:
            return ""
        return f"{len(self.table)} of {self.total} shown, those of largest leverage"

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the rows need. Axes that are smaller crowd it.

        Returns
        -------
        LeverageDisplay
            Itself, with `ax_` and `figure_`.
        """
        require_matplotlib()
        names = [wrap(plain(text), _WIDEST_NAME, _SIZE) for text in self.table["property"]]
        heights = np.array([len(lines) * _LINE + _GAP for lines in names] or [1.0])
        below = np.cumsum(heights)
        axes = open_axes(ax, self._figure_size(names, below[-1]), layout="constrained")
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        axes.set_xlim(-_LARGEST, _LARGEST)
        axes.set_ylim(below[-1], 0.0)
        self._draw_scale()
        middles = (below - heights / 2)[: len(names)]
        axes.set_yticks(middles, ["\n".join(lines) for lines in names], size=_SIZE)
        for label in axes.get_yticklabels():
            label.set(**VERBATIM)
        if names:
            self._draw_rows(middles)
        else:
            self._say_nothing_found()
        self._draw_key()
        return self

    def _figure_size(self, names: list[list[str]], body: float) -> tuple[float, float]:
        widest = max((text_width(line, _SIZE) for lines in names for line in lines), default=0.0)
        counts = max(text_width(text, _SIZE) for text in [*self.counts, "Top vs Bottom"])
        return widest + _BARS + _MARKS + counts + 0.4, (
            _HEAD + body + _SCALE + _KEY * (3 if self.table["confirmed"].any() else 2) + 0.1
        )

    def _draw_scale(self) -> None:
        from matplotlib.ticker import MultipleLocator

        ax = self.ax_
        ax.xaxis.set_major_locator(MultipleLocator(0.1))
        ax.xaxis.set_minor_locator(MultipleLocator(0.05))
        ax.tick_params(axis="x", labelsize=SMALL)
        ax.tick_params(axis="y", length=0)
        ax.spines[["left", "top", "right"]].set_visible(False)
        ax.set_xlabel("leverage", size=_SIZE)
        ax.axvline(0.0, color=ink(), lw=0.8)
        for place in (-self.min_leverage, self.min_leverage):
            ax.axvline(place, color=ink(), lw=0.9, ls=_DASHES, alpha=0.7, zorder=0.5)
        if self.note:
            ax.set_title(self.note, loc="left", size=_SIZE)

    def _draw_rows(self, middles: FloatArray) -> None:
        ax, table = self.ax_, self.table
        leverage = table["leverage"].to_numpy(dtype=np.float64)
        colours = [TOP_COLOUR if side == "top" else BOTTOM_COLOUR for side in table["side"]]
        ax.barh(middles, leverage, _BAR, color=colours, edgecolor=ink(), lw=0.5)
        low, high = (table[name].to_numpy(dtype=np.float64) for name in ("low", "high"))
        # A light line under the dark one: whiskers are seen on bars and beside them.
        for colour, width in ((_paper(), 2.6), (ink(), 1.1)):
            ax.hlines(middles, low, high, color=colour, lw=width, clip_on=False, zorder=3)
        for ends in (low, high):
            ax.plot(ends, middles, "|", color=ink(), ms=5, mew=1.1, clip_on=False, zorder=3)
        beside = ax.get_yaxis_transform()
        confirmed = middles[table["confirmed"].to_numpy(dtype=bool)]
        ax.plot(
            np.ones(len(confirmed)),
            confirmed,
            transform=self._moved(beside, 0.7 * _MARKS),
            **_check_mark(),
        )
        column = self._moved(beside, 1.3 * _MARKS)
        for y, text in zip(middles, self.counts, strict=True):
            ax.text(1.0, y, text, transform=column, size=_SIZE, va="center_baseline")
        head = self._moved(ax.transAxes, 1.3 * _MARKS, 0.06)
        ax.text(1.0, 1.0, "Top vs Bottom", transform=head, size=_SIZE, va="bottom")

    def _moved(self, transform: Any, x: float = 0.0, y: float = 0.0) -> Any:
        """The same place so many inches further."""
        from matplotlib.transforms import ScaledTranslation

        return transform + ScaledTranslation(x, y, self.figure_.dpi_scale_trans)

    def _say_nothing_found(self) -> None:
        least = short_number(self.min_leverage)
        said = f"no property to show\nwith a leverage of {least} or more"
        text = self.ax_.text(0.5, 0.5, said, transform=self.ax_.transAxes, size=_SIZE)
        text.set(ha="center", va="center", bbox={"fc": _paper(), "ec": "none"})

    def _draw_key(self) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        top, bottom = end_names(self.n_top, self.n_bottom)
        least = f"least leverage, {short_number(self.min_leverage)}"
        handles: list[Any] = [
            Patch(fc=TOP_COLOUR, ec=ink(), lw=0.5, label=top),
            Patch(fc=BOTTOM_COLOUR, ec=ink(), lw=0.5, label=bottom),
            Line2D([], [], color=ink(), lw=0.9, ls=_DASHES, alpha=0.7, label=least),
        ]
        if len(self.table):
            handles.append(Line2D([], [], color=ink(), lw=1.1, label="95 % interval"))
        if self.table["confirmed"].any():
            handles.append(Line2D([], [], **_check_mark(), label="confirmed by held-out labels"))
        under = self._moved(self.ax_.transAxes, y=-_SCALE)
        self.ax_.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=under,
            borderaxespad=0.0,
            frameon=False,
            fontsize=SMALL,
            ncols=2,
        )


def plot_leverage(contrast: Any, *, most: int = 20, ax: Axes | None = None) -> LeverageDisplay:
    """Draw the properties in which the ends of a ranking differ.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.
    most, ax
        As for `LeverageDisplay.from_estimator`.

    Returns
    -------
    LeverageDisplay
        With `ax_`, `figure_` and the table that was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X = [[k % 2, k // 10] for k in range(40)]
    >>> contrast = RankContrast(top=10, bottom=10, max_size=1).fit_ranking(X, range(40))
    >>> plot_leverage(contrast).counts
    ['10/10 vs 0/10', '0/10 vs 10/10']
    """
    return LeverageDisplay.from_estimator(contrast, most=most, ax=ax)


def _check_mark() -> dict[str, Any]:
    """A check mark that needs no letter of a font."""
    from matplotlib.path import Path

    mark = Path([(-0.5, 0.0), (-0.15, -0.4), (0.5, 0.5)])
    style = {"marker": mark, "ls": "none", "ms": 8, "mew": 1.6, "mfc": "none"}
    return {**style, "mec": ink(), "clip_on": False}


def _paper() -> Any:
    """The colour behind the figure in the style that is set."""
    import matplotlib as mpl

    return mpl.rcParams["axes.facecolor"]
