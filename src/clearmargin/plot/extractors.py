"""Extractors side by side: accuracy, fidelity, coverage and the number of their rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    ink,
    require_matplotlib,
    text_width,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from clearmargin.compare.extractors import ExtractorComparison, ExtractorFigures

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
_MODEL: dict[str, Any] = {"lw": 0.9, "ls": (0, (4.0, 3.0)), "alpha": 0.7}
# Numbers of rules that differ by more than this factor are drawn on a scale of powers of ten.
_WIDE = 10.0


def plot_extractors(comparison: Any) -> list[Axes]:
    """Draw means over folds of what extractors are worth as dots, with whiskers of one standard error, side by side."""
    # Loading scikit-learn takes a second, and only who compares has to wait for it.
    from clearmargin.compare.extractors import ExtractorComparison

    if not isinstance(comparison, ExtractorComparison):
        raise InvalidValueError(
            "comparison must be what compare_extractors gives, an ExtractorComparison, not "
            f"{type(comparison).__name__}"
        )
    require_matplotlib()
    from matplotlib.lines import Line2D

    names = [wrap(plain(f.name), _WIDEST_NAME, _SIZE) for f in comparison.extractors]
    import matplotlib.pyplot as plt

    widest = max((text_width(line, _SIZE) for lines in names for line in lines), default=0.0)
    # Rows are equally high, as high as the one with most lines.
    body = len(names) * (max(map(len, names), default=1) * _LINE + _GAP)
    size = widest + len(PANELS) * _PANEL + 0.3, body + _AROUND
    figure, grid = plt.subplots(1, len(PANELS), figsize=size, layout="constrained")
    panels: list[Axes] = list(grid)
    for k, (ax, measure) in enumerate(zip(panels, PANELS, strict=True)):
        _draw_panel(ax, comparison, measure)
        ax.set_yticks(range(len(names)), ["\n".join(lines) for lines in names], size=_SIZE)
        ax.tick_params(axis="y", length=0, labelleft=k == 0)
        for label in ax.get_yticklabels():
            label.set(**VERBATIM)
    asks_model = sorted({_asks_model(figures) for figures in comparison.extractors})
    meaning = {False: "rules decide all", True: "the model decides where no rule does"}
    handles: list[Any] = [
        Line2D([], [], **_dot(is_hollow=kind), label=meaning[kind]) for kind in asks_model
    ]
    handles.append(Line2D([], [], **_MODEL, color=ink(), label="accuracy of the model"))
    handles.append(Line2D([], [], color=_COLOUR, lw=1.6, label="± one standard error"))
    style: dict[str, Any] = {"fontsize": SMALL, "frameon": False, "ncols": len(handles)}
    figure.legend(handles=handles, loc="outside lower center", **style)
    return panels


def _draw_panel(ax: Axes, comparison: ExtractorComparison, measure: str) -> None:
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    factor = 1.0 if measure == "rules" else 100.0
    ax.set_title(PANELS[measure], size=_SIZE)
    ax.set_ylim(len(comparison.extractors) - 0.4, -0.6)
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.grid(axis="y", color=ink(), lw=0.5, alpha=0.25)
    ax.set_axisbelow(True)
    ax.tick_params(axis="x", labelsize=SMALL)
    if measure == "accuracy":
        ax.axvline(factor * comparison.model_accuracy, color=ink(), zorder=0.5, **_MODEL)
    means = []
    for row, figures in enumerate(comparison.extractors):
        mean, error = factor * figures.mean(measure), factor * figures.error(measure)
        if np.isnan(mean):
            # On a ground of its own, since lines run through the row.
            text = ax.text(0.5, row, "no figure", transform=ax.get_yaxis_transform(), size=SMALL)
            ground = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1.5}
            text.set(ha="center", va="center", bbox=ground)
            continue
        means.append(mean)
        if not np.isnan(error):
            ax.hlines(row, mean - error, mean + error, color=_COLOUR, lw=1.6, zorder=2)
        ax.plot([mean], [row], **_dot(is_hollow=_asks_model(figures)))
    if measure == "rules" and means and max(means) > _WIDE * min(means) > 0:
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


def _asks_model(figures: ExtractorFigures) -> bool:
    return isinstance(figures.fallback, str) and figures.fallback == "estimator"


def _dot(*, is_hollow: bool) -> dict[str, Any]:
    import matplotlib as mpl

    inside = mpl.rcParams["axes.facecolor"] if is_hollow else _COLOUR
    style = {"marker": "o", "ms": 6.5, "ls": "none", "mfc": inside, "mec": _COLOUR, "mew": 1.5}
    return {**style, "zorder": 3, "clip_on": False}
