"""Figures of rankings: properties as bars, values of attributes at both ends, and the ROC curve with the ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.lexer import quote
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    short_number,
    text_width,
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
# In inches: the bars, the widest name, a line of it, the space between rows, a bar, and the column of check marks.
_BARS, _WIDEST_NAME, _LINE, _GAP, _BAR, _MARKS = 3.6, 2.6, 0.15, 0.1, 0.14, 0.22
# Above the bars; below them for the scale and its title; and a line of the key.
_HEAD, _SCALE, _KEY = 0.3, 0.5, 0.17
# In inches: a panel, its least and its largest width for many values, what an upright name of a value takes, and the
# longest one; the widest figure, and the narrowest that holds the key.
_HEIGHT, _NARROW, _WIDE, _UPRIGHT, _LONGEST = 2.1, 3.3, 9.0, 0.17, 1.2
_WIDEST_FIGURE, _KEY_WIDTH = 10.0, 5.0
# Of the width of a panel, what is left for its bars; above the highest bar there is space for a star.
_INNER, _HEADROOM, _BAR_WIDTH = 0.89, 1.12, 0.4
_MAX_COLUMNS, _MAX_LINES = 3, 3
# The side of a ROC curve in inches.
_SIDE = 4.2
_SIGNS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥"}
# Numbers with more letters are cut to three digits.
_LONG = 6
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def plot_leverage(contrast: Any, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the properties in which the ends of a ranking differ, to the right those of the top.

    The scale is always that of all possible leverages. Dashed lines are at the least leverage, whiskers show the 95 %
    interval, counts say how many rows of each end have the property, and a check mark stands where held-out labels
    confirmed it.

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
    from matplotlib.patches import Patch
    from matplotlib.path import Path
    from matplotlib.ticker import MultipleLocator
    from matplotlib.transforms import ScaledTranslation

    shown = frame[frame["shown"].to_numpy(dtype=bool)]
    largest = shown.iloc[np.argsort(-shown["leverage"].abs().to_numpy(), kind="stable")[:most]]
    table = largest.sort_values("leverage", ascending=False, kind="stable")
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    least, paper = contrast.min_leverage_, mpl.rcParams["axes.facecolor"]
    names = [wrap(plain(text), _WIDEST_NAME, _SIZE) for text in table["property"]]
    counts = [
        f"{top}/{n_top} vs {bottom}/{n_bottom}"
        for top, bottom in zip(table["top_count"], table["bottom_count"], strict=True)
    ]
    confirmed = table["confirmed"].to_numpy(dtype=bool)
    heights = np.array([len(lines) * _LINE + _GAP for lines in names] or [1.0])
    below = np.cumsum(heights)
    middles = (below - heights / 2)[: len(names)]
    widest = max((text_width(line, _SIZE) for lines in names for line in lines), default=0.0)
    beside = max(text_width(text, _SIZE) for text in [*counts, "Top vs Bottom"])
    height = _HEAD + below[-1] + _SCALE + _KEY * (3 if confirmed.any() else 2) + 0.1
    ax = open_axes(ax, (widest + _BARS + _MARKS + beside + 0.4, height), layout="constrained")

    def moved(transform: Any, x: float = 0.0, y: float = 0.0) -> Any:
        """Return the same place so many inches further."""
        return transform + ScaledTranslation(x, y, figure_of(ax).dpi_scale_trans)

    ax.set_xlim(-_LARGEST, _LARGEST)
    ax.set_ylim(below[-1], 0.0)
    ax.xaxis.set_major_locator(MultipleLocator(0.1))
    ax.xaxis.set_minor_locator(MultipleLocator(0.05))
    ax.tick_params(axis="x", labelsize=SMALL)
    ax.tick_params(axis="y", length=0)
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.set_xlabel("leverage", size=_SIZE)
    ax.axvline(0.0, color=ink(), lw=0.8)
    dashed: dict[str, Any] = {"color": ink(), "lw": 0.9, "ls": (0, (4.0, 3.0)), "alpha": 0.7}
    for place in (-least, least):
        ax.axvline(place, zorder=0.5, **dashed)
    if len(table) < len(shown):
        note = f"{len(table)} of {len(shown)} shown, those of largest leverage"
        ax.set_title(note, loc="left", size=_SIZE)
    ax.set_yticks(middles, ["\n".join(lines) for lines in names], size=_SIZE)
    for label in ax.get_yticklabels():
        label.set(**VERBATIM)
    # A check mark that needs no letter of a font.
    tick = Path([(-0.5, 0.0), (-0.15, -0.4), (0.5, 0.5)])
    mark: dict[str, Any] = {"marker": tick, "ls": "none", "ms": 8, "mew": 1.6, "mfc": "none"}
    mark |= {"mec": ink(), "clip_on": False}
    if names:
        colours = [_TOP_COLOUR if side == "top" else _BOTTOM_COLOUR for side in table["side"]]
        ax.barh(middles, table["leverage"], _BAR, color=colours, edgecolor=ink(), lw=0.5)
        # A light line under the dark one: whiskers are seen on bars and beside them.
        for colour, lw in ((paper, 2.6), (ink(), 1.1)):
            ends = table["low"], table["high"]
            ax.hlines(middles, *ends, color=colour, lw=lw, clip_on=False, zorder=3)
        for end in ("low", "high"):
            ax.plot(table[end], middles, "|", color=ink(), ms=5, mew=1.1, clip_on=False, zorder=3)
        side = ax.get_yaxis_transform()
        place = moved(side, 0.7 * _MARKS)
        ax.plot(np.ones(confirmed.sum()), middles[confirmed], transform=place, **mark)
        for y, text in zip(middles, counts, strict=True):
            column = moved(side, 1.3 * _MARKS)
            ax.text(1.0, y, text, transform=column, size=_SIZE, va="center_baseline")
        head = moved(ax.transAxes, 1.3 * _MARKS, 0.06)
        ax.text(1.0, 1.0, "Top vs Bottom", transform=head, size=_SIZE, va="bottom")
    else:
        message = f"no property to show\nwith a leverage of {short_number(least)} or more"
        nothing = ax.text(0.5, 0.5, message, transform=ax.transAxes, size=_SIZE)
        nothing.set(ha="center", va="center", bbox={"fc": paper, "ec": "none"})
    handles: list[Any] = [
        *(Patch(fc=c, ec=ink(), lw=0.5, label=name) for c, name in _ends(contrast)),
        Line2D([], [], label=f"least leverage, {short_number(least)}", **dashed),
    ]
    if names:
        handles.append(Line2D([], [], color=ink(), lw=1.1, label="95 % interval"))
    if confirmed.any():
        handles.append(Line2D([], [], label="confirmed by held-out labels", **mark))
    place = {"bbox_to_anchor": (0.5, 0.0), "bbox_transform": moved(ax.transAxes, y=-_SCALE)}
    key: dict[str, Any] = {"loc": "upper center", "borderaxespad": 0.0, "frameon": False, **place}
    ax.legend(handles=handles, fontsize=SMALL, ncols=2, **key)
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
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    every = list(dict.fromkeys(frame["attribute"]))
    names = every[:most]
    table = frame[frame["attribute"].isin(names)]
    # The width of a panel, the same for all.
    most_values = int(table["attribute"].value_counts(sort=False).max())
    panel = max(_NARROW, _KEY_WIDTH / len(names), most_values * _UPRIGHT / _INNER)
    panel = min(panel, _WIDE)
    columns = max(1, min(len(names), int(_WIDEST_FIGURE / panel), _MAX_COLUMNS))
    highest = _HEADROOM * table[["top_percent", "bottom_percent"]].to_numpy().max()
    rows = -(-len(names) // columns)
    size = columns * panel, rows * (_HEIGHT + 0.3) + 0.35
    figure, grid = plt.subplots(
        rows, columns, figsize=size, squeeze=False, sharey=True, layout="constrained"
    )
    panels: list[Any] = list(grid.ravel())
    for ax in panels[len(names) :]:
        figure.delaxes(ax)
    panels = panels[: len(names)]
    ticks = MaxNLocator(6, steps=[1, 2, 5, 10]).tick_values(0.0, min(highest, 100.0))
    # All panels share their scale.
    panels[0].set_ylim(0.0, highest)
    panels[0].set_yticks(ticks[ticks <= min(highest, 100.0)])
    for k, (ax, attribute) in enumerate(zip(panels, names, strict=True)):
        rows_of = table[table["attribute"] == attribute]
        _draw_attribute(ax, attribute, rows_of, panel * _INNER)
        if k % columns == 0:
            ax.set_ylabel("% of each end", size=_SIZE)
    handles: list[Any] = [Patch(fc=c, ec=ink(), lw=0.5, label=name) for c, name in _ends(contrast)]
    if table["found"].any():
        meaning = f"leverage of {short_number(contrast.min_leverage_)} or more"
        star: dict[str, Any] = {"marker": (6, 2, 0), "ms": 6, "ls": "none"}
        handles.append(Line2D([], [], color=ink(), label=meaning, **star))
    style: dict[str, Any] = {"handles": handles, "fontsize": SMALL, "frameon": False}
    key = figure.legend(loc="outside lower center", ncols=3, **style)
    if len(names) < len(every):
        key.set_title(f"{len(names)} of {len(every)} attributes shown, those that differ most")
        key.get_title().set_fontsize(SMALL)
    return panels


def _draw_attribute(ax: Axes, attribute: str, rows: Any, width: float) -> None:
    """Draw the bars of the values of one attribute, and name them."""
    places = np.arange(len(rows))
    top, bottom = rows["top_percent"].to_numpy(), rows["bottom_percent"].to_numpy()
    for sign, heights, colour in ((-1, top, _TOP_COLOUR), (1, bottom, _BOTTOM_COLOUR)):
        x = places + sign * _BAR_WIDTH / 2
        ax.bar(x, heights, _BAR_WIDTH, color=colour, edgecolor=ink(), lw=0.5)
    found = rows["found"].to_numpy(dtype=bool)
    beside = np.where(top >= bottom, -_BAR_WIDTH / 2, _BAR_WIDTH / 2)
    raised: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "center"}
    for x, y in zip((places + beside)[found], np.maximum(top, bottom)[found], strict=True):
        ax.annotate("*", (x, y), (0.0, 3.0), size=13, **raised)
    ax.set_xlim(-0.6, len(rows) - 0.4)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(axis="both", labelsize=SMALL)
    ax.tick_params(axis="x", length=0)
    title = "\n".join(wrap(plain(attribute), width, _SIZE, max_lines=2))
    ax.set_title(title, size=_SIZE, **VERBATIM)
    _name_values(ax, value_names(attribute, list(rows["property"])), width)


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
    ax = open_axes(ax, (_SIDE, _SIDE), layout="constrained")
    # Only a perfect ranking has an area of 1.000; on other rows than those it was trained on it is less.
    area = contrast.auc_ if contrast.auc_ == 1 else min(contrast.auc_, 0.999)
    ax.plot(fpr, tpr, color=ink(), lw=1.3, label=f"ranking, AUC = {area:.3f} on its training rows")
    (top_colour, top), (bottom_colour, bottom) = _ends(contrast)
    low, high = float(len(contrast.top_index_)), ranks[-1] - len(contrast.bottom_index_)
    for first, last, colour, marker, name, end in (
        (0.0, low, top_colour, "o", top, -1),
        (high, ranks[-1], bottom_colour, "s", bottom, 0),
    ):
        at = np.concatenate([[first], ranks[(ranks > first) & (ranks < last)], [last]])
        part = [np.interp(at, ranks, rates) for rates in (fpr, tpr)]
        style: dict[str, Any] = {"color": colour, "label": name, "lw": 5, "solid_capstyle": "butt"}
        style |= {"marker": marker, "markevery": [end % len(at)], "ms": 8, "mec": ink(), "mew": 0.8}
        ax.plot(*part, clip_on=False, zorder=3, **style)
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
    from sklearn.utils.validation import check_is_fitted

    if isinstance(contrast, type) or not hasattr(contrast, "fit_ranking"):
        given = contrast.__name__ if isinstance(contrast, type) else type(contrast).__name__
        raise InvalidValueError(f"contrast must be a fitted RankContrast, not {given}")
    check_is_fitted(contrast, "rules_")
    WholeNumber().check("most", most)
    return contrast


def _ends(contrast: Any) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return colour and name of both ends, with their numbers of rows."""
    n_top, n_bottom = len(contrast.top_index_), len(contrast.bottom_index_)
    return (_TOP_COLOUR, f"Top (n = {n_top})"), (_BOTTOM_COLOUR, f"Bottom (n = {n_bottom})")


def value_names(attribute: str, properties: list[str]) -> list[str]:
    """Write the properties of one attribute without its name; long numbers with three digits, if names stay apart."""
    short = [_say(quote(attribute), text, digits=True) for text in properties]
    if len(set(short)) == len(short):
        return short
    return [_say(quote(attribute), text, digits=False) for text in properties]


def _say(name: str, text: str, *, digits: bool) -> str:
    def value(word: str) -> str:
        if word.startswith("`"):
            # What cannot be seen stays an escape.
            return re.sub(r"\\([`\\])", r"\1", word[1:-1])
        # A category may be called nan or inf: those are no numbers here.
        if _NUMBER.fullmatch(word) is None:
            return plain(word)
        # A minus: lines may be broken behind a hyphen.
        shown = short_number(float(word)) if digits and len(word) > _LONG else word
        return shown.replace("-", "−")

    between = re.fullmatch(rf"(\S+) (<=?) {re.escape(name)} (<=?) (\S+)", text)
    if between is not None:
        low, above, below, high = between.groups()
        opening, closing = "[" if above == "<=" else "(", "]" if below == "<=" else ")"
        return f"{opening}{value(low)}, {value(high)}{closing}"
    if not text.startswith(f"{name} "):
        return plain(text)
    relation, _, rest = text[len(name) + 1 :].partition(" ")
    if relation in ("is", "="):
        return rest if relation == "is" else value(rest)
    # No space: lines may be broken there.
    return f"{_SIGNS[relation]}{value(rest)}" if relation in _SIGNS else plain(f"{relation} {rest}")
