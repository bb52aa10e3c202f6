"""Figures of rankings: properties as bars, values of attributes at both ends, and the ROC curve with the ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    short_number,
    size_of,
    text_width,
    wrap,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.lexer import quote
from clearmargin.language.prose import plain
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "BOTTOM_COLOUR",
    "TOP_COLOUR",
    "LeverageDisplay",
    "RankHistogramsDisplay",
    "RankRocDisplay",
    "check_most",
    "end_names",
    "fitted_contrast",
    "plot_leverage",
    "plot_rank_histograms",
    "plot_rank_roc",
    "value_names",
]


_SIZE = 9.0


# Blue and light orange: printed in grey they are dark and light.
TOP_COLOUR, _, _, _, BOTTOM_COLOUR = class_colours(range(5)).values()


# No leverage is beyond: P(p, top) - P(p) P(top) with p = top and halves of the same size.
_LARGEST = 0.25


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
        """Return the same place so many inches further."""
        from matplotlib.transforms import ScaledTranslation

        return transform + ScaledTranslation(x, y, self.figure_.dpi_scale_trans)

    def _say_nothing_found(self) -> None:
        least = short_number(self.min_leverage)
        message = f"no property to show\nwith a leverage of {least} or more"
        text = self.ax_.text(0.5, 0.5, message, transform=self.ax_.transAxes, size=_SIZE)
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
    """Return a check mark that needs no letter of a font."""
    from matplotlib.path import Path

    tick = Path([(-0.5, 0.0), (-0.15, -0.4), (0.5, 0.5)])
    style = {"marker": tick, "ls": "none", "ms": 8, "mew": 1.6, "mfc": "none"}
    return {**style, "mec": ink(), "clip_on": False}


def _paper() -> Any:
    """Return the colour behind the figure in the style that is set."""
    import matplotlib as mpl

    return mpl.rcParams["axes.facecolor"]


def fitted_contrast(estimator: Any) -> Any:
    """Return a fitted RankContrast; an error says what else was given."""
    from sklearn.utils.validation import check_is_fitted

    if isinstance(estimator, type) or not hasattr(estimator, "fit_ranking"):
        given = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise InvalidValueError(f"contrast must be a fitted RankContrast, not {given}")
    check_is_fitted(estimator, "rules_")
    return estimator


def check_most(most: Any) -> int:
    """Take a whole number from 1."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InvalidValueError(f"most must be a whole number from 1, not {most!r}")
    return most


def end_names(n_top: int, n_bottom: int) -> tuple[str, str]:
    """Return the names of both ends with their numbers of rows.

    Examples
    --------
    >>> end_names(38, 27)
    ('Top (n = 38)', 'Bottom (n = 27)')
    """
    return f"Top (n = {n_top})", f"Bottom (n = {n_bottom})"


_SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}


# Numbers with more letters are cut to three digits.
_LONG = 6


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


# In inches: a panel, its least and its largest width for many values, what an upright name of a value takes, and the
# longest one.
_HEIGHT, _NARROW, _WIDE, _UPRIGHT, _LONGEST = 2.1, 3.3, 9.0, 0.17, 1.2


# Of the width of a panel, what is left for its bars.
_INNER = 0.89


_MAX_COLUMNS, _MAX_LINES = 3, 3


# The widest figure of several columns, and the narrowest that holds the key, in inches.
_WIDEST_FIGURE, _KEY_WIDTH = 10.0, 5.0


# In axes that were given, the key stands over the bars of the first.
_KEY_HEIGHT = 0.75


_BAR_WIDTH = 0.4


# Above the highest bar there is space for a star.
_HEADROOM = 1.12


class RankHistogramsDisplay:
    """For each attribute, what percentage of the top and of the bottom has which value, side by side.

    All attributes have one scale. A star stands over values that reached the least leverage.

    Parameters
    ----------
    table : DataFrame
        What to draw: rows of `RankContrast.histograms_`, in their order.
    total : int
        How many attributes there are in all.
    n_top, n_bottom : int
        Rows at each end.
    min_leverage : float
        The least leverage.

    Attributes
    ----------
    attributes : list of str
        The attributes drawn, in order.
    axes_ : list of Axes
        Where each was drawn.
    figure_
        The figure of the first.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X = [[k % 2, k // 10] for k in range(40)]
    >>> contrast = RankContrast(top=10, bottom=10, max_size=1).fit_ranking(X, range(40))
    >>> display = RankHistogramsDisplay.from_estimator(contrast)
    >>> display.attributes
    ['x1', 'x0']
    >>> display.values_of("x1")["top_percent"].tolist()
    [0.0, 0.0, 0.0, 100.0]
    """

    def __init__(
        self, *, table: pd.DataFrame, total: int, n_top: int, n_bottom: int, min_leverage: float
    ):
        self.table = table
        self.total = total
        self.n_top = n_top
        self.n_bottom = n_bottom
        self.min_leverage = min_leverage
        self.attributes: list[str] = list(dict.fromkeys(table["attribute"]))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, most: int = 6, axes: Axes | Sequence[Axes] | None = None
    ) -> Self:
        """Draw the histograms of a fitted contrast.

        Parameters
        ----------
        estimator : RankContrast
            Fitted.
        most : int, default 6
            Most attributes to draw: those in which the ends differ most.
        axes : Axes or sequence of them, optional
            Where to draw, one for each attribute; by default in a new figure.

        Returns
        -------
        RankHistogramsDisplay
            With what was drawn.
        """
        contrast, most = fitted_contrast(estimator), check_most(most)
        frame = contrast.histograms_
        names = list(dict.fromkeys(frame["attribute"]))
        return cls(
            table=frame[frame["attribute"].isin(names[:most])],
            total=len(names),
            n_top=len(contrast.top_index_),
            n_bottom=len(contrast.bottom_index_),
            min_leverage=contrast.min_leverage_,
        ).plot(axes)

    def values_of(self, attribute: str) -> pd.DataFrame:
        """Return the rows of one attribute, in the order of its values."""
        if attribute not in self.attributes:
            raise InvalidValueError(
                f"{attribute!r} is not drawn; drawn are {', '.join(map(repr, self.attributes))}"
            )
        return self.table[self.table["attribute"] == attribute]

    @property
    def note(self) -> str:
        """What is left out, if anything."""
        if len(self.attributes) == self.total:
            return ""
        return f"{len(self.attributes)} of {self.total} attributes shown, those that differ most"

    def plot(self, axes: Axes | Sequence[Axes] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        axes : Axes or sequence of them, optional
            Where to draw, one for each attribute; by default in a new figure.

        Returns
        -------
        RankHistogramsDisplay
            Itself, with `axes_` and `figure_`.
        """
        require_matplotlib()
        from matplotlib.ticker import MaxNLocator

        is_new_figure = axes is None
        self.axes_: list[Axes] = self._new_axes() if axes is None else self._given_axes(axes)
        self.figure_: Figure | SubFigure = figure_of(self.axes_[0])
        highest = _HEADROOM * self.table[["top_percent", "bottom_percent"]].to_numpy().max()
        if not is_new_figure:
            highest /= 1.0 - min(0.6, _KEY_HEIGHT / size_of(self.axes_[0])[1])
        ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(0.0, min(highest, 100.0))
        for k, (ax, attribute) in enumerate(zip(self.axes_, self.attributes, strict=True)):
            width = self._width() * _INNER if is_new_figure else size_of(ax)[0]
            self._draw_attribute(ax, attribute, width)
            # Axes of a new figure share their scale.
            if not is_new_figure or k == 0:
                ax.set_ylim(0.0, highest)
                ax.set_yticks(ticks[ticks <= min(highest, 100.0)])
            if not is_new_figure or k % self._columns() == 0:
                ax.set_ylabel("% of each end", size=_SIZE)
        self._draw_key(is_new_figure)
        return self

    def _width(self) -> float:
        """Give the width of a panel in inches, the same for all."""
        most_values = int(self.table["attribute"].value_counts(sort=False).max())
        least = max(_NARROW, _KEY_WIDTH / len(self.attributes))
        return min(max(least, most_values * _UPRIGHT / _INNER), _WIDE)

    def _columns(self) -> int:
        fitting = int(_WIDEST_FIGURE / self._width())
        return max(1, min(len(self.attributes), fitting, _MAX_COLUMNS))

    def _new_axes(self) -> list[Axes]:
        import matplotlib.pyplot as plt

        n, columns = len(self.attributes), self._columns()
        rows = -(-n // columns)
        size = columns * self._width(), rows * (_HEIGHT + 0.3) + 0.35
        figure, grid = plt.subplots(
            rows, columns, figsize=size, squeeze=False, sharey=True, layout="constrained"
        )
        panels: list[Axes] = list(grid.ravel())
        for ax in panels[n:]:
            figure.delaxes(ax)
        return panels[:n]

    def _given_axes(self, axes: Any) -> list[Axes]:
        given = list(axes.ravel() if isinstance(axes, np.ndarray) else np.atleast_1d(axes))
        if len(given) < len(self.attributes):
            raise InvalidValueError(
                f"{len(self.attributes)} attributes need as many axes, and {len(given)} are given; "
                "give more axes, or draw fewer attributes with most"
            )
        return [open_axes(ax) for ax in given[: len(self.attributes)]]

    def _draw_attribute(self, ax: Axes, attribute: str, width: float) -> None:
        rows = self.values_of(attribute)
        places = np.arange(len(rows))
        top, bottom = rows["top_percent"].to_numpy(), rows["bottom_percent"].to_numpy()
        style = {"edgecolor": ink(), "lw": 0.5}
        ax.bar(places - _BAR_WIDTH / 2, top, _BAR_WIDTH, color=TOP_COLOUR, **style)
        ax.bar(places + _BAR_WIDTH / 2, bottom, _BAR_WIDTH, color=BOTTOM_COLOUR, **style)
        found = rows["found"].to_numpy(dtype=bool)
        beside = np.where(top >= bottom, -_BAR_WIDTH / 2, _BAR_WIDTH / 2)
        tips = np.maximum(top, bottom)
        raised: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
        for x, y in zip((places + beside)[found], tips[found], strict=True):
            ax.annotate("*", (x, y), (0.0, 3.0), size=13, **raised)
        ax.set_xlim(-0.6, len(rows) - 0.4)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(axis="both", labelsize=SMALL)
        ax.tick_params(axis="x", length=0)
        title = "\n".join(wrap(plain(attribute), width, _SIZE, max_lines=2))
        ax.set_title(title, size=_SIZE, **VERBATIM)
        _name_values(ax, value_names(attribute, list(rows["property"])), width)

    def _draw_key(self, is_new_figure: bool) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ends = zip((TOP_COLOUR, BOTTOM_COLOUR), end_names(self.n_top, self.n_bottom), strict=True)
        handles: list[Any] = [Patch(fc=c, ec=ink(), lw=0.5, label=name) for c, name in ends]
        if self.table["found"].any():
            meaning = f"leverage of {short_number(self.min_leverage)} or more"
            star: dict[str, Any] = {"marker": (6, 2, 0), "ms": 6, "ls": "none"}
            handles.append(Line2D([], [], color=ink(), label=meaning, **star))
        if is_new_figure:
            outside: dict[str, Any] = {"loc": "outside lower center", "ncols": 3, "frameon": False}
            key = self.figure_.legend(handles=handles, fontsize=SMALL, **outside)
        else:
            key = self.axes_[0].legend(
                handles=handles, fontsize=SMALL, loc="upper left", frameon=False, borderaxespad=0.0
            )
        if self.note:
            key.set_title(self.note)
            key.get_title().set_fontsize(SMALL)


def plot_rank_histograms(
    contrast: Any, *, most: int = 6, axes: Axes | Sequence[Axes] | None = None
) -> RankHistogramsDisplay:
    """Draw how the values of each attribute are spread over both ends of a ranking.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.
    most, axes
        As for `RankHistogramsDisplay.from_estimator`.

    Returns
    -------
    RankHistogramsDisplay
        With `axes_`, `figure_` and the table that was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X = [[k % 2, k // 10] for k in range(40)]
    >>> contrast = RankContrast(top=10, bottom=10, max_size=1).fit_ranking(X, range(40))
    >>> plot_rank_histograms(contrast, most=1).note
    '1 of 2 attributes shown, those that differ most'
    """
    return RankHistogramsDisplay.from_estimator(contrast, most=most, axes=axes)


def _name_values(ax: Axes, names: list[str], width: float) -> None:
    """Name values under their bars: side by side where words fit, else upright, else only some of them."""
    slot = 0.97 * width / (len(names) + 0.2)
    words = [word for name in names for word in name.split()]
    fits = all(text_width(word) <= slot for word in words)
    wrapped = [wrap(name, slot) for name in names] if fits else []
    every = 1
    if fits and max(map(len, wrapped)) <= _MAX_LINES:
        texts, rotation = ["\n".join(lines) for lines in wrapped], 0
    else:
        every = max(1, int(np.ceil(_UPRIGHT * len(names) / width - 0.01)))
        texts, rotation = [fit_line(name, _LONGEST) for name in names], 90
    ax.set_xticks(range(0, len(names), every), texts[::every], rotation=rotation)
    for label in ax.get_xticklabels():
        label.set(**VERBATIM)


_SIDE = 4.2


# Rates are quotients of whole numbers; this is what rounding may do to them, times the number of rows.
_ROUNDING = 1e-12


class RankRocDisplay:
    """The ROC curve of a ranking, thick where the rows of its top and of its bottom are.

    Parameters
    ----------
    fpr, tpr : ndarray
        False and true positive rates.
    auc : float
        Area under the curve.
    n_top, n_bottom : int
        Rows at each end.
    ranks : ndarray
        How many rows are ranked as high as each point of the curve or higher.

    Attributes
    ----------
    top, bottom : ndarray of shape (k, 2)
        The parts of the curve that the ends make. Where rows outside have the same score as the last one inside, a
        part ends in the middle of the stroke that they share.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X, y = [[k // 10, k % 3] for k in range(40)], [k >= 20 for k in range(40)]
    >>> display = RankRocDisplay.from_estimator(RankContrast(top=5, bottom=20).fit(X, y))
    >>> display.top[-1].tolist(), display.bottom[0].tolist()
    ([0.0, 0.25], [0.0, 1.0])
    """

    def __init__(
        self,
        *,
        fpr: FloatArray,
        tpr: FloatArray,
        auc: float,
        n_top: int,
        n_bottom: int,
        ranks: FloatArray,
    ):
        self.fpr = fpr
        self.tpr = tpr
        self.auc = auc
        self.n_top = n_top
        self.n_bottom = n_bottom
        self.ranks = ranks
        self.top = self._part(0.0, float(n_top))
        self.bottom = self._part(ranks[-1] - n_bottom, ranks[-1])

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the curve of a fitted contrast.

        Parameters
        ----------
        estimator : RankContrast
            Fitted with labels.
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        RankRocDisplay
            With what was drawn.
        """
        contrast = fitted_contrast(estimator)
        if not hasattr(contrast, "roc_"):
            raise InvalidValueError(
                "a ROC curve needs labels, and this contrast was fitted to a ranking without them; "
                "use fit(X, y) instead of fit_ranking(X, scores)"
            )
        fpr, tpr = (np.asarray(rates, dtype=np.float64) for rates in contrast.roc_)
        return cls(
            fpr=fpr,
            tpr=tpr,
            auc=contrast.auc_,
            n_top=len(contrast.top_index_),
            n_bottom=len(contrast.bottom_index_),
            ranks=_ranks(fpr, tpr, contrast.scores_),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        RankRocDisplay
            Itself, with `ax_` and `figure_`.
        """
        axes = open_axes(ax, (_SIDE, _SIDE), layout="constrained")
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        top, bottom = end_names(self.n_top, self.n_bottom)
        # Only a perfect ranking has an area of 1.000.
        shown = self.auc if self.auc == 1 else min(self.auc, 0.999)
        # The ranking was trained on these rows; on others the area is less.
        meaning = f"ranking, AUC = {shown:.3f} on its training rows"
        axes.plot(self.fpr, self.tpr, color=ink(), lw=1.3, label=meaning)
        thick: dict[str, Any] = {"lw": 5, "solid_capstyle": "butt", "clip_on": False, "zorder": 3}
        marked: dict[str, Any] = {"ms": 8, "mec": ink(), "mew": 0.8}
        for part, colour, marker, name, end in (
            (self.top, TOP_COLOUR, "o", top, -1),
            (self.bottom, BOTTOM_COLOUR, "s", bottom, 0),
        ):
            place = [end % len(part)]
            options = {**thick, **marked, "marker": marker, "markevery": place}
            axes.plot(*part.T, color=colour, label=name, **options)
        axes.plot([0, 1], [0, 1], color=ink(), lw=0.9, ls=":", alpha=0.7, label="by chance")
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.0)
        axes.set_aspect("equal")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=SMALL)
        axes.set_xlabel("false positive rate", size=_SIZE)
        axes.set_ylabel("true positive rate", size=_SIZE)
        axes.legend(loc="lower right", fontsize=SMALL, frameon=False)
        return self

    def _part(self, first: float, last: float) -> FloatArray:
        """Return the curve from one rank to another."""
        inside = self.ranks[(self.ranks > first) & (self.ranks < last)]
        at = np.concatenate([[first], inside, [last]])
        return np.column_stack([np.interp(at, self.ranks, rates) for rates in (self.fpr, self.tpr)])


def plot_rank_roc(contrast: Any, *, ax: Axes | None = None) -> RankRocDisplay:
    """Draw the ROC curve of a ranking with its ends.

    Parameters
    ----------
    contrast : RankContrast
        Fitted with labels.
    ax
        As for `RankRocDisplay.from_estimator`.

    Returns
    -------
    RankRocDisplay
        With `ax_`, `figure_` and the curve.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X, y = [[k // 10, k % 3] for k in range(40)], [k >= 20 for k in range(40)]
    >>> plot_rank_roc(RankContrast(top=5, bottom=5).fit(X, y)).auc
    1.0
    """
    return RankRocDisplay.from_estimator(contrast, ax=ax)


def _ranks(fpr: FloatArray, tpr: FloatArray, scores: FloatArray) -> FloatArray:
    """Return how many rows are at each point of the curve or before it.

    That is ``P tpr + (m - P) fpr`` with P positive rows of m. P follows from one point off the diagonal whose number of
    rows is known: that of the first one is the number of rows with the highest score, later ones may be any number of
    rows down to some score, and the one is taken with which all points of the curve are such numbers. On the
    diagonal itself P does not matter.
    """
    m = len(scores)
    _, sizes = np.unique(-scores, return_counts=True)
    steps: IntArray = np.cumsum(sizes)
    off = np.flatnonzero(np.abs(tpr - fpr) > _ROUNDING)
    if not len(off):
        return m * tpr
    k = off[0]
    counts = steps[:1] if k == 1 else steps
    allowed = np.concatenate([[0], steps])
    for positive in np.rint((counts - m * fpr[k]) / (tpr[k] - fpr[k])):
        ranks = np.rint(positive * tpr) + np.rint((m - positive) * fpr)
        exact = np.allclose(ranks, positive * tpr + (m - positive) * fpr, rtol=0, atol=1e-6)
        if 0 < positive < m and exact and np.isin(ranks, allowed).all():
            return np.asarray(ranks, dtype=np.float64)
    raise InvalidValueError(
        "roc_ of the contrast is not the curve of its scores_; fit the contrast anew with fit(X, y)"
    )


def value_names(attribute: str, properties: list[str]) -> list[str]:
    """Write the properties of one attribute without its name.

    Parameters
    ----------
    attribute : str
        The name.
    properties : list of str
        Conditions on it in the rule language.

    Returns
    -------
    list of str
        Long numbers have three digits, unless two values would then look the same.

    Examples
    --------
    >>> value_names("age", ["age < 30", "30 <= age < 45.12345", "age >= 45.12345", "age is missing"])
    ['<30', '[30, 45.1)', '≥45.1', 'missing']
    >>> value_names("body mass", ["`body mass` = 1001.25", "`body mass` = 1001.375"])
    ['1001.25', '1001.375']
    """
    short = [_say(quote(attribute), text, digits=True) for text in properties]
    if len(set(short)) == len(short):
        return short
    return [_say(quote(attribute), text, digits=False) for text in properties]


def _say(name: str, text: str, *, digits: bool) -> str:
    between = re.fullmatch(rf"(\S+) (<=?) {re.escape(name)} (<=?) (\S+)", text)
    if between is not None:
        low, above, below, high = between.groups()
        opening, closing = "[" if above == "<=" else "(", "]" if below == "<=" else ")"
        return f"{opening}{_value(low, digits)}, {_value(high, digits)}{closing}"
    if not text.startswith(f"{name} "):
        return plain(text)
    relation, _, value = text[len(name) + 1 :].partition(" ")
    if relation == "is":
        return value
    if relation == "=":
        return _value(value, digits)
    if relation not in _SIGNS:
        return plain(text[len(name) + 1 :])
    # No space: lines may be broken there.
    return f"{_SIGNS[relation]}{_value(value, digits)}"


def _value(text: str, digits: bool) -> str:
    if text.startswith("`"):
        # What cannot be seen stays an escape.
        return re.sub(r"\\([`\\])", r"\1", text[1:-1])
    # A category may be called nan or inf: those are no numbers here.
    if _NUMBER.fullmatch(text) is None:
        return plain(text)
    # A minus: lines may be broken behind a hyphen.
    return (short_number(float(text)) if digits and len(text) > _LONG else text).replace("-", "−")
