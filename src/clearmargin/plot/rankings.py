"""Figures of rankings: properties as bars, values of attributes at both ends, and the ROC curve with the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.lexer import quote
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    short_number,
    wrap,
)
from clearmargin.rule_base.options import WholeNumber

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 9.0
# Blue and light orange: printed in grey they are dark and light.
_TOP_COLOUR, _, _, _, _BOTTOM_COLOUR = class_colours(range(5)).values()
# No leverage is beyond: P(p, top) - P(p) P(top) with p = top and halves of the same size.
_LARGEST = 0.25
# In inches: the widest name of a property and of a value, a row of a property and of a value, and a panel.
_NAME, _VALUE, _ROW, _BAR, _PANEL = 2.6, 1.3, 0.38, 0.24, 3.4


def plot_leverage(contrast: Any, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the properties in which the ends of a ranking differ, to the right those of the top.

    The scale is always that of all possible leverages. Dashed lines are at the least leverage, whiskers show the 95 %
    interval, counts say how many rows of each end have the property, and whether held-out labels confirmed it.

    Parameters
    ----------
    contrast : RankContrast
        Fitted. Only properties that add something to the others are drawn, those with `shown`.
    most : int, default 20
        Most properties to draw: those of largest leverage, for whichever end.
    ax : Axes, optional
        Where to draw; by default in a new figure of the size that the rows need.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X = [[k % 2, k // 10] for k in range(40)]
    >>> contrast = RankContrast(top=10, bottom=10, max_size=1).fit_ranking(X, range(40))
    >>> [label.get_text() for label in plot_leverage(contrast).get_yticklabels()]
    ['x1 = 3', 'x1 = 0']
    """
    frame = _fitted(contrast, most).properties_
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MultipleLocator

    shown = frame[frame["shown"].to_numpy(dtype=bool)]
    largest = shown.iloc[np.argsort(-shown["leverage"].abs().to_numpy(), kind="stable")[:most]]
    table = largest.sort_values("leverage", ascending=False, kind="stable")
    places, n_top, n_bottom = np.arange(len(table)), *map(len, _end_rows(contrast))
    ax = open_axes(ax, (8.4, _ROW * max(1, len(table)) + 1.6), layout="constrained")
    ax.set(xlim=(-_LARGEST, _LARGEST), ylim=(max(1, len(table)) - 0.5, -0.5))
    ax.xaxis.set_major_locator(MultipleLocator(0.1))
    ax.xaxis.set_minor_locator(MultipleLocator(0.05))
    ax.tick_params(labelsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.set_xlabel("leverage", size=_SIZE)
    ax.axvline(0.0, color=ink(), lw=0.8)
    dashed: dict[str, Any] = {"color": ink(), "lw": 0.9, "ls": (0, (4.0, 3.0)), "alpha": 0.7}
    for place in (-contrast.min_leverage_, contrast.min_leverage_):
        ax.axvline(place, zorder=0.5, **dashed)
    names = ["\n".join(wrap(plain(name), _NAME, _SIZE, max_lines=2)) for name in table["property"]]
    ax.set_yticks(places, names, size=_SIZE)
    for label in ax.get_yticklabels():
        label.set(**VERBATIM)
    # To the right of the bars, the counts, and which properties the labels confirm.
    counts = [
        f"{row.top_count}/{n_top} vs {row.bottom_count}/{n_bottom}{'  confirmed' * row.confirmed}"
        for row in table.itertuples()
    ]
    right = ax.secondary_yaxis("right")
    right.set_yticks(places, counts, size=_SIZE)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    colours = [_TOP_COLOUR if side == "top" else _BOTTOM_COLOUR for side in table["side"]]
    ax.barh(places, table["leverage"], 0.4, color=colours, edgecolor=ink(), lw=0.5)
    # A light line under the dark one: intervals are seen on bars and beside them.
    for colour, lw in ((mpl.rcParams["axes.facecolor"], 2.6), (ink(), 1.1)):
        ends = table["low"], table["high"]
        ax.hlines(places, *ends, color=colour, lw=lw, clip_on=False, zorder=3)
    least = short_number(contrast.min_leverage_)
    if not len(table):
        ax.set_title(f"no property with a leverage of {least} or more", loc="left", size=_SIZE)
    elif len(table) < len(shown):
        note = f"{len(table)} of {len(shown)} shown, those of largest leverage"
        ax.set_title(note, loc="left", size=_SIZE)
    handles = [
        *_end_patches(contrast),
        Line2D([], [], label=f"least leverage, {least}", **dashed),
        Line2D([], [], color=ink(), lw=1.1, label="95 % interval"),
    ]
    # Below the scale and its title.
    key: dict[str, Any] = {"loc": "upper center", "ncols": 2, "frameon": False}
    below = -0.55 / (_ROW * max(1, len(table)))
    ax.legend(handles=handles, fontsize=SMALL, bbox_to_anchor=(0.5, below), **key)
    return ax


def plot_rank_histograms(contrast: Any, *, most: int = 6) -> list[Axes]:
    """Draw what percentage of the top and of the bottom has which value, for each attribute.

    All attributes have one scale. A star stands over values that reached the least leverage.

    Parameters
    ----------
    contrast : RankContrast
        Fitted.
    most : int, default 6
        Most attributes to draw: those in which the ends differ most.

    Returns
    -------
    list of Axes
        Where each attribute was drawn, in order, in a new figure.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X = [[k % 2, k // 10] for k in range(40)]
    >>> contrast = RankContrast(top=10, bottom=10, max_size=1).fit_ranking(X, range(40))
    >>> [ax.get_title() for ax in plot_rank_histograms(contrast)]
    ['x1', 'x0']
    """
    frame = _fitted(contrast, most).histograms_
    require_matplotlib()
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    every = list(dict.fromkeys(frame["attribute"]))
    groups = [(name, frame[frame["attribute"] == name]) for name in every[:most]]
    columns = min(3, len(groups))
    rows = [groups[k : k + columns] for k in range(0, len(groups), columns)]
    heights = [0.8 + _BAR * max(len(table) for _, table in row) for row in rows]
    figure, grid = plt.subplots(
        len(rows),
        columns,
        figsize=(columns * _PANEL, sum(heights) + 0.7),
        squeeze=False,
        sharex=True,
        height_ratios=heights,
        layout="constrained",
    )
    panels: list[Axes] = list(grid.ravel())
    for ax in panels[len(groups) :]:
        figure.delaxes(ax)
    for ax, (attribute, table) in zip(panels, groups, strict=False):
        places = np.arange(len(table))
        for shift, end, colour in ((-0.2, "top", _TOP_COLOUR), (0.2, "bottom", _BOTTOM_COLOUR)):
            share = table[f"{end}_percent"]
            ax.barh(places + shift, share, 0.4, color=colour, edgecolor=ink(), lw=0.5)
        longest = table[["top_percent", "bottom_percent"]].max(axis=1)
        for place in places[table["found"].to_numpy(dtype=bool)].tolist():
            ax.text(longest.iloc[place] + 1.0, place, "*", size=12, va="center_baseline")
        names = [fit_line(_value_name(attribute, name), _VALUE) for name in table["property"]]
        ax.set_yticks(places, names)
        for label in ax.get_yticklabels():
            label.set(**VERBATIM)
        ax.set_ylim(len(table) - 0.5, -0.5)
        ax.set_xlabel("% of each end", size=SMALL)
        ax.tick_params(labelsize=SMALL, labelbottom=True)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(fit_line(plain(attribute), _PANEL - _VALUE, _SIZE), size=_SIZE, **VERBATIM)
    panels[0].set_xlim(0.0, 1.12 * frame[["top_percent", "bottom_percent"]].to_numpy().max())
    handles = _end_patches(contrast)
    if frame["found"].any():
        least = f"leverage of {short_number(contrast.min_leverage_)} or more"
        star: dict[str, Any] = {"marker": (6, 2, 0), "ms": 6, "ls": "none"}
        handles.append(Line2D([], [], color=ink(), label=least, **star))
    style: dict[str, Any] = {"handles": handles, "fontsize": SMALL, "frameon": False}
    key = figure.legend(
        loc="outside lower center", ncols=len(handles) if columns > 1 else 1, **style
    )
    if len(groups) < len(every):
        key.set_title(f"{len(groups)} of {len(every)} attributes shown, those that differ most")
        key.get_title().set_fontsize(SMALL)
    return panels[: len(groups)]


def _value_name(attribute: str, text: str) -> str:
    """Write a property without the name of its attribute."""
    before, _, after = text.partition(quote(attribute))
    if before:  # low <= attribute < high
        return f"[{before.removesuffix(' <= ')}, {after.removeprefix(' < ')})"
    return plain(after.strip().removeprefix("= ").replace("`", ""))


def plot_rank_roc(contrast: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the ROC curve of a ranking, thick where the rows of its top and of its bottom are.

    Where rows outside have the same score as the last one inside, a part ends in the middle of the stroke that they
    share.

    Parameters
    ----------
    contrast : RankContrast
        Fitted with labels.
    ax : Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    Axes
        Where it was drawn: the curve is the first line, top and bottom are the two next.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X, y = [[k // 10, k % 3] for k in range(40)], [k >= 20 for k in range(40)]
    >>> _, top, bottom, _ = plot_rank_roc(RankContrast(top=5, bottom=20).fit(X, y)).lines
    >>> top.get_xydata()[-1].tolist(), bottom.get_xydata()[0].tolist()
    ([0.0, 0.25], [0.0, 1.0])
    """
    _fitted(contrast, 1)
    if not hasattr(contrast, "roc_"):
        raise InvalidValueError(
            "a ROC curve needs labels, and this contrast was fitted to a ranking without them; "
            "use fit(X, y) instead of fit_ranking(X, scores)"
        )
    (fpr, tpr), ranks = contrast.roc_, contrast._roc_ranks
    ax = open_axes(ax, (4.2, 4.2), layout="constrained")
    # Only a perfect ranking has an area of 1.000; on other rows than those it was trained on it is less.
    area = contrast.auc_ if contrast.auc_ == 1 else min(contrast.auc_, 0.999)
    ax.plot(fpr, tpr, color=ink(), lw=1.3, label=f"ranking, AUC = {area:.3f} on its training rows")
    n_top, n_bottom = map(len, _end_rows(contrast))
    parts = (0.0, float(n_top), "o", -1), (ranks[-1] - n_bottom, ranks[-1], "s", 0)
    for (first, last, marker, end), patch in zip(parts, _end_patches(contrast), strict=True):
        at = np.concatenate([[first], ranks[(ranks > first) & (ranks < last)], [last]])
        style: dict[str, Any] = {"color": patch.get_facecolor(), "label": patch.get_label()}
        style |= {"lw": 5, "solid_capstyle": "butt", "marker": marker, "ms": 8, "mec": ink()}
        part = [np.interp(at, ranks, rates) for rates in (fpr, tpr)]
        ax.plot(*part, markevery=[end % len(at)], mew=0.8, clip_on=False, zorder=3, **style)
    ax.plot([0, 1], [0, 1], color=ink(), lw=0.9, ls=":", alpha=0.7, label="by chance")
    ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    ax.set_xlabel("false positive rate", size=_SIZE)
    ax.set_ylabel("true positive rate", size=_SIZE)
    ax.legend(loc="lower right", fontsize=SMALL, frameon=False)
    return ax


def _fitted(contrast: Any, most: Any) -> Any:
    """Return a fitted RankContrast; an error says what else was given."""
    if isinstance(contrast, type) or not hasattr(contrast, "fit_ranking"):
        given = contrast.__name__ if isinstance(contrast, type) else type(contrast).__name__
        raise InvalidValueError(f"contrast must be a fitted RankContrast, not {given}")
    check_is_fitted(contrast, "rules_")
    WholeNumber().check("most", most)
    return contrast


def _end_rows(contrast: Any) -> tuple[Any, Any]:
    return contrast.top_index_, contrast.bottom_index_


def _end_patches(contrast: Any) -> list[Any]:
    """Return a sample of the colour of both ends, with their numbers of rows."""
    from matplotlib.patches import Patch

    n_top, n_bottom = map(len, _end_rows(contrast))
    ends = (_TOP_COLOUR, f"Top (n = {n_top})"), (_BOTTOM_COLOUR, f"Bottom (n = {n_bottom})")
    return [Patch(fc=colour, ec=ink(), lw=0.5, label=name) for colour, name in ends]
