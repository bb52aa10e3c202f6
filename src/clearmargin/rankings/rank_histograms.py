"""How the values of each attribute are spread over the top and over the bottom of a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import figure_of, ink, open_axes, require_matplotlib, size_of
from clearmargin.drawing.lettering import SMALL, VERBATIM, fit_line, short_number, text_width, wrap
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rankings.contrasts import (
    BOTTOM_COLOUR,
    TOP_COLOUR,
    check_most,
    end_names,
    fitted_contrast,
)
from clearmargin.rankings.value_names import value_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["RankHistogramsDisplay", "plot_rank_histograms"]

_SIZE = 9.0
# In inches: a panel, its least and its largest width for many values, what an upright name of a value takes, and the
# longest one.
_HEIGHT, _NARROW, _WIDE, _UPRIGHT, _LONGEST = 2.1, 3.3, 9.0, 0.17, 1.2
# Of the width of a panel, what is left for its bars.
_INNER = 0.89
_MOST_COLUMNS, _MOST_LINES = 3, 3
# The widest figure of several columns, and the narrowest that holds the key, in inches.
_WIDEST_FIGURE, _KEY = 10.0, 5.0
# In axes that were given, the key stands over the bars of the first.
_KEY_HEIGHT = 0.75
_BAR = 0.4
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
        """The rows of one attribute, in the order of its values."""
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

        own = axes is None
        self.axes_: list[Axes] = self._new_axes() if axes is None else self._given_axes(axes)
        self.figure_: Figure | SubFigure = figure_of(self.axes_[0])
        highest = _HEADROOM * self.table[["top_percent", "bottom_percent"]].to_numpy().max()
        if not own:
            highest /= 1.0 - min(0.6, _KEY_HEIGHT / size_of(self.axes_[0])[1])
        ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(0.0, min(highest, 100.0))
        for k, (ax, attribute) in enumerate(zip(self.axes_, self.attributes, strict=True)):
            width = self._width() * _INNER if own else size_of(ax)[0]
            self._draw_attribute(ax, attribute, width)
            # Axes of our own share their scale.
            if not own or k == 0:
                ax.set_ylim(0.0, highest)
                ax.set_yticks(ticks[ticks <= min(highest, 100.0)])
            if not own or k % self._columns() == 0:
                ax.set_ylabel("% of each end", size=_SIZE)
        self._draw_key(own)
        return self

    def _width(self) -> float:
        """Width of a panel in inches, the same for all."""
        most_values = int(self.table["attribute"].value_counts(sort=False).max())
        least = max(_NARROW, _KEY / len(self.attributes))
        return min(max(least, most_values * _UPRIGHT / _INNER), _WIDE)

    def _columns(self) -> int:
        fitting = int(_WIDEST_FIGURE / self._width())
        return max(1, min(len(self.attributes), fitting, _MOST_COLUMNS))

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
        ax.bar(places - _BAR / 2, top, _BAR, color=TOP_COLOUR, **style)
        ax.bar(places + _BAR / 2, bottom, _BAR, color=BOTTOM_COLOUR, **style)
        found = rows["found"].to_numpy(dtype=bool)
        beside = np.where(top >= bottom, -_BAR / 2, _BAR / 2)
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

    def _draw_key(self, own: bool) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ends = zip((TOP_COLOUR, BOTTOM_COLOUR), end_names(self.n_top, self.n_bottom), strict=True)
        handles: list[Any] = [Patch(fc=c, ec=ink(), lw=0.5, label=name) for c, name in ends]
        if self.table["found"].any():
            said = f"leverage of {short_number(self.min_leverage)} or more"
            star: dict[str, Any] = {"marker": (6, 2, 0), "ms": 6, "ls": "none"}
            handles.append(Line2D([], [], color=ink(), label=said, **star))
        if own:
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
    if fits and max(map(len, wrapped)) <= _MOST_LINES:
        texts, rotation = ["\n".join(lines) for lines in wrapped], 0
    else:
        every = max(1, int(np.ceil(_UPRIGHT * len(names) / width - 0.01)))
        texts, rotation = [fit_line(name, _LONGEST) for name in names], 90
    ax.set_xticks(range(0, len(names), every), texts[::every], rotation=rotation)
    for label in ax.get_xticklabels():
        label.set(**VERBATIM)
