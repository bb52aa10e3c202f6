"""The picture of growth: one panel for each size that is varied, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

__all__ = ["Line", "draw", "spread"]

# Call, what is varied, sizes, seconds and exponent.
Line = tuple[str, str, Sequence[int], Sequence[float], float]
# Each call has one look in all panels; colours that are close differ in their marker.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#b5478f", "#8c6d31", "#444444"),
    *("#5b4fc4", "#c0392b", "#2f7f86", "#a85d00", "#6a8f1f", "#777777"),
)
MARKERS = "osD^vPX*<>hp"
# Panels in this order; what has few lines shares one.
PANELS = (("rows",), ("features",), ("rules",), ("support vectors", "properties"))


def spread(wanted: Sequence[float], least: float) -> list[float]:
    """Move labels apart so that neighbours are at least so far from each other, keeping their order and middle."""
    order = np.argsort(wanted, kind="stable")
    offsets = least * np.arange(len(wanted))
    # Isotonic regression of the places less the distances: pools of labels that collide share their mean.
    pools: list[tuple[float, int]] = []
    for place in np.asarray(wanted, dtype=float)[order] - offsets:
        value, count = float(place), 1
        while pools and pools[-1][0] > value:
            before, size = pools.pop()
            value, count = (before * size + value * count) / (size + count), size + count
        pools.append((value, count))
    found = np.empty(len(wanted))
    found[order] = np.repeat([v for v, _ in pools], [c for _, c in pools]) + offsets
    return [float(place) for place in found]


def _panel(
    ax: Axes, lines: Sequence[Line], varied: Sequence[str], looks: dict[str, tuple[str, str]]
) -> None:
    for call, _, sizes, seconds, _ in lines:
        colour, marker = looks[call]
        ax.loglog(
            sizes,
            1e3 * np.asarray(seconds),
            marker=marker,
            color=colour,
            markersize=4.5,
            linewidth=1.4,
        )
    ends = [float(np.log10(1e3 * seconds[-1])) for _, _, _, seconds, _ in lines]
    low, high = np.log10(ax.get_ylim())
    # A panel without two powers of ten on its axis would have hardly a number on it.
    if high - low < 2.0:
        middle = (low + high) / 2
        low, high = middle - 1.0, middle + 1.0
        ax.set_ylim(10**low, 10**high)
    # A line of text takes about a sixteenth of the height of a panel.
    places = spread(ends, (high - low) / 16)
    for k, (call, what, _, _, exponent) in enumerate(lines):
        also = f", {what}" if len(varied) > 1 else ""
        ax.annotate(
            f"{call}{also}: {exponent:.2f}",
            xy=(1.0, 10 ** places[k]),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=looks[call][0],
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )
    ax.set_xlabel(" or ".join(varied))
    ax.set_ylabel("milliseconds")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.15g}"))
        axis.set_minor_formatter(NullFormatter())
    # A million in figures is wide: neighbours would touch.
    ax.tick_params(axis="x", labelsize=7.5)
    ax.grid(visible=True, which="major", linewidth=0.4, color="#dddddd")
    ax.spines[["top", "right"]].set_visible(False)


def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw the panels; the same lines give the same file."""
    calls = list(dict.fromkeys(line[0] for line in lines))
    looks = {
        call: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for k, call in enumerate(calls)
    }
    with mpl.rc_context({"svg.hashsalt": "growth", "font.size": 9.5}):
        figure = Figure(figsize=(11.0, 7.6), layout="constrained")
        axes = figure.subplots(2, 2)
        for ax, varied in zip(np.ravel(axes), PANELS, strict=True):
            chosen = [line for line in lines if line[1] in varied]
            if chosen:
                _panel(ax, chosen, varied, looks)
            else:
                ax.set_axis_off()
        figure.suptitle("Time by size; the exponent of each line behind its name")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)
