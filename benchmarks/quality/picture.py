"""One picture: how faithful rules alone are against how many they are."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.quality.folds import TEACHERS
from benchmarks.quality.judge import mean_and_error
from benchmarks.quality.measure import Panel

_KEY = (
    "Line: our lists at most so many rules, chosen on fresh rows; dashed: our scorecards. Circles: ours as they "
    "come. Squares: peers. Hollow ones are weighted sums of rules."
)
__all__ = ["draw", "spread"]

OURS, PEER, PALE = "#1f5fa8", "#b3541e", "#9a9a9a"
# Points of fidelity below the best that a panel shows.
_SPAN = 12.0
# Names fit beside a panel with room between them up to this many; more are closer, so that none leaves the panel.
_LABELS = 24


def spread(wanted: Sequence[float], gap: float, lowest: float, highest: float) -> list[float]:
    """Places near the wanted ones, in their order, at least a gap apart and within the limits as far as they go."""
    order = np.argsort(wanted, kind="stable")
    placed = np.asarray(wanted, dtype=np.float64)[order]
    for k in range(1, len(placed)):
        placed[k] = max(placed[k], placed[k - 1] + gap)
    top = highest
    for k in range(len(placed) - 1, -1, -1):
        placed[k] = min(placed[k], top)
        top = placed[k] - gap
    placed = placed + max(0.0, lowest - placed[0]) if len(placed) else placed
    found = np.empty_like(placed)
    found[order] = placed
    return [float(value) for value in found]


@dataclass(frozen=True)
class Point:
    """A method in a panel."""

    name: str
    is_ours: bool
    is_weighted: bool
    size: float
    fidelity: float

    @property
    def colour(self) -> str:
        """The colour of its side."""
        return OURS if self.is_ours else PEER


def _points(panel: Panel) -> list[Point]:
    found = []
    for row in panel.rows:
        if row.known:
            size, _ = mean_and_error([each.size for each in row.known])
            fidelity, _ = mean_and_error([each.fidelity for each in row.known])
            name = row.name.replace(" rules a class", " a class")
            found.append(Point(name, row.is_ours, row.is_weighted, size, 100 * fidelity))
    return found


def _limits(points: Sequence[Point], line: Sequence[float]) -> tuple[float, float]:
    """Where the axis of fidelity begins and ends: what is far below the best is said in words."""
    best = max([*(point.fidelity for point in points), *line])
    near = [p.fidelity for p in points if p.fidelity >= best - _SPAN]
    return float(np.floor(min(near)) - 1), float(min(100.3, np.ceil(best) + 0.3))


def _line(panel: Panel) -> tuple[list[float], list[float]]:
    """Mean size and fidelity of ours at each allowed number of rules; allowances that change nothing fall together."""
    sizes: list[float] = []
    values: list[float] = []
    for most in sorted(panel.rungs[0]):
        size, _ = mean_and_error([rungs[most].size for rungs in panel.rungs])
        value, _ = mean_and_error([rungs[most].fidelity for rungs in panel.rungs])
        if most > 1 and (not sizes or size > sizes[-1] + 1e-9):
            sizes.append(size)
            values.append(100 * value)
    return sizes, values


def _draw_panel(axes: Any, panel: Panel) -> None:
    points, line = _points(panel), _line(panel)
    floor, top = _limits(points, line[1])
    axes.plot(*line, color=OURS, linewidth=1.6, zorder=2)
    cards = sorted((p.size, p.fidelity) for p in points if p.is_ours and p.is_weighted)
    axes.plot(*zip(*cards, strict=True), color=OURS, linewidth=1.2, linestyle=(0, (4, 2)), zorder=2)
    shown = [point for point in points if point.fidelity >= floor]
    gap = (top - floor) / max(_LABELS, len(shown) - 1)
    places = spread([p.fidelity for p in shown], gap, floor, top)
    for point, place in zip(shown, places, strict=True):
        filled = "white" if point.is_weighted else point.colour
        style = {"marker": "o" if point.is_ours else "s", "markersize": 4.5, "zorder": 3}
        axes.plot(point.size, point.fidelity, color=point.colour, markerfacecolor=filled, **style)
        axes.annotate(
            point.name,
            (point.size, point.fidelity),
            xytext=(1.03, place),
            textcoords=axes.get_yaxis_transform(),
            fontsize=6.3,
            va="center",
            color=point.colour,
            annotation_clip=False,
            # To the beginning of the name: a line to its middle runs through names above or below.
            arrowprops={
                "arrowstyle": "-",
                "color": PALE,
                "linewidth": 0.35,
                "shrinkB": 2,
                "relpos": (0.0, 0.5),
            },
        )
    below = [f"{p.name} {p.fidelity:.0f} %" for p in points if p.fidelity < floor]
    if below:
        text = textwrap.fill(f"Not shown: {'; '.join(below)}.", 84)
        axes.text(0.0, -0.19, text, fontsize=5.8, va="top", transform=axes.transAxes)
    axes.set_xlabel("rules, with the default", fontsize=6.5)
    axes.set_xscale("log", base=2)
    axes.set_xlim(1.7, 128)
    axes.set_ylim(floor, top)
    axes.set_xticks([2, 4, 8, 16, 32, 64], ["2", "4", "8", "16", "32", "64"])
    axes.tick_params(labelsize=6.5)
    axes.grid(color="#e4e4e4", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_title(f"{panel.data}, {panel.teacher} machine", fontsize=8)
    axes.set_ylabel("fidelity of rules alone, %", fontsize=6.5)


def draw(panels: Sequence[Panel], path: Path) -> None:
    """Draw a panel for each data set (down) and machine (across); the line is ours at a given number of rules."""
    names = list(dict.fromkeys(panel.data for panel in panels))
    place = {(panel.data, panel.teacher): panel for panel in panels}
    with mpl.rc_context({"svg.hashsalt": "clearmargin", "svg.fonttype": "path"}):
        height = 4.0 * len(names)
        figure = Figure(figsize=(12.0, height))
        grid = figure.subplots(len(names), len(TEACHERS), squeeze=False)
        for across, teacher in enumerate(TEACHERS):
            for down, name in enumerate(names):
                _draw_panel(grid[down, across], place[name, teacher])
        figure.subplots_adjust(
            left=0.045,
            right=0.80,
            wspace=0.86,
            hspace=0.46,
            top=1 - 0.3 / height,
            bottom=1.25 / height,
        )
        figure.text(0.045, 0.16 / height, _KEY, fontsize=7)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
