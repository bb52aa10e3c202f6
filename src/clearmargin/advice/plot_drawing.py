"""The strokes of `AdviceDisplay`: premises filled and hatched, the plane and its margins, names and the key to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.drawing.canvas import class_colours, ink, size_of
from clearmargin.drawing.halfplanes import Extent, boundary_segments
from clearmargin.drawing.lettering import VERBATIM, fit_line, text_width, wrap
from clearmargin.language.prose import plain
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AdviceRegion", "draw_key_of_advice", "draw_levels", "draw_names", "draw_premises"]

# Slanted for the negative class, upright for the positive one, as on the poster of Kunapuli, Maclin and Shavlik.
_HATCHES = ("//", "||")
_MARKERS = ("o", "s")
_FILL, _HATCH_WIDTH, _EDGE = 0.22, 0.8, 1.3
_DASHES = (0, (5.0, 3.0))
_LINE = 1.8
_KEY_SIZE, _NAME_SIZE, _HEADING_SIZE = 9.0, 10.0, 10.0
# Inches that a sample and the gap behind it take.
_KEY_SAMPLE = 0.45
# Where in its premise a name may stand, as shares of the way from the middle to a corner.
_WAYS = (0.35, 0.6, 0.8)


@dataclass(frozen=True, slots=True, eq=False)
class AdviceRegion:
    """A rule as it is drawn.

    Parameters
    ----------
    name : str
        What it is called.
    label : str, int, float or bool
        Its class.
    verdict : str
        What became of it.
    standing : str or None
        How it stands: proved, uncontradicted or contradicted; None where it counts no more.
    given : ndarray of shape (k, 2)
        Corners of its premise before training, cut at the frame; none where no part is in it.
    refined : ndarray of shape (l, 2) or None
        Corners of its premise after training; None where the rule counts no more or nothing could change.
    """

    name: str
    label: Label
    verdict: str
    standing: str | None
    given: FloatArray
    refined: FloatArray | None

    @property
    def words(self) -> str:
        """What became of it, and how it stands."""
        return self.verdict if self.standing is None else f"{self.verdict} ({self.standing})"

    @property
    def note(self) -> str:
        """What cannot be seen in the drawing, if anything."""
        if self.verdict in ("rejected", "empty"):
            return f"{self.name} {self.verdict}: counts no more"
        if len(self.given) and (self.refined is None or len(self.refined)):
            return ""
        when = ""
        if self.refined is not None and len(self.given) + len(self.refined):
            when = " after" if len(self.given) else " as given"
        return f"{self.name}{when}: not in view"


def draw_premises(
    ax: Axes, regions: Sequence[AdviceRegion], classes: Sequence[Label], extent: Extent
) -> None:
    """Fill premises as they were given, and hatch what they were refined to; no bound, no outline."""
    from matplotlib.patches import Polygon

    colours = class_colours(classes)
    for region in regions:
        colour = colours[region.label]
        if len(region.given):
            patch = Polygon(region.given, facecolor=colour, alpha=_FILL, linewidth=0)
            patch.set(zorder=1, gid="given")
            ax.add_patch(patch)
            _outline(ax, region.given, extent, color=colour, linewidth=0.8, alpha=0.5)
        if region.refined is not None and len(region.refined):
            patch = Polygon(region.refined, **{**_hatching(region.label, classes), "linewidth": 0})
            patch.set(zorder=1.5, gid="refined")
            ax.add_patch(patch)
            _outline(ax, region.refined, extent, color=colour, linewidth=_EDGE)


def _outline(ax: Axes, polygon: FloatArray, extent: Extent, **options: Any) -> None:
    from matplotlib.collections import LineCollection

    sides = list(boundary_segments([polygon], extent))
    ax.add_collection(LineCollection(sides, zorder=1.7, **options), autolim=False)


def _hatching(label: Label, classes: Sequence[Label]) -> dict[str, Any]:
    return {
        "facecolor": "none",
        "edgecolor": class_colours(classes)[label],
        "hatch": _HATCHES[list(classes).index(label)],
        "hatch_linewidth": _HATCH_WIDTH,
        "linewidth": _EDGE,
    }


def draw_levels(ax: Axes, levels: Mapping[int, FloatArray]) -> None:
    """Draw the plane as a solid line and the margins dashed."""
    from matplotlib.collections import LineCollection

    for score, segments in levels.items():
        lines = LineCollection(list(segments), colors=[ink()], zorder=3)
        lines.set(linewidth=1.2 if score else _LINE, linestyle=_DASHES if score else "solid")
        lines.set_gid("margin" if score else "plane")
        ax.add_collection(lines, autolim=False)


def draw_names(ax: Axes, regions: Sequence[AdviceRegion], extent: Extent) -> None:
    """Write name and class of each rule into its premise, after training where it has one, apart from each other."""
    from matplotlib.patheffects import withStroke

    background = ax.get_facecolor()
    # Inches a unit of each axis takes.
    scale = np.array(size_of(ax)) / (extent[1] - extent[0], extent[3] - extent[2])
    low, high = np.array(extent[::2]), np.array(extent[1::2])
    taken: list[tuple[FloatArray, FloatArray]] = []
    for region in regions:
        refined = region.refined
        home = region.given if refined is None or not len(refined) else refined
        if not len(home):
            continue
        name, room = plain(region.name), np.ptp(home[:, 0]) * scale[0]
        full = f"{name} => {plain(region.label)}"
        said = full if text_width(full, _NAME_SIZE, bold=True) <= room else name
        half = np.array([text_width(said, _NAME_SIZE, bold=True) / 2, _NAME_SIZE / 72 / 2]) + 0.04
        for place in _places(home):
            middle = np.clip(place, low + half / scale, high - half / scale)
            apart = [np.abs(middle - spot) * scale >= half + size for spot, size in taken]
            if all(gap.any() for gap in apart):
                taken.append((middle, half))
                text = ax.text(
                    middle[0], middle[1], said, size=_NAME_SIZE, weight="bold", **VERBATIM
                )
                text.set(ha="center", va="center", clip_on=True, zorder=4)
                text.set_path_effects([withStroke(linewidth=3.0, foreground=background)])
                break


def _places(polygon: FloatArray) -> list[FloatArray]:
    """The middle of a polygon, and places on the way from there to its corners."""
    middle = polygon.mean(axis=0)
    return [middle, *(middle + share * (corner - middle) for share in _WAYS for corner in polygon)]


def draw_key_of_advice(
    ax: Axes,
    regions: Sequence[AdviceRegion],
    classes: Sequence[Label],
    *,
    with_points: bool,
    levels: Mapping[int, FloatArray],
    heading: str,
) -> None:
    """Say above the drawing what is seen and what is not, and above that, method and verdicts."""
    width, _ = size_of(ax)
    columns = [_class_entries(label, regions, classes, with_points) for label in classes]
    if len(levels[0]):
        columns[0].append((_line(_LINE, "solid"), "plane (score 0)"))
    if len(levels[1]) or len(levels[-1]):
        columns[-1].append((_line(1.2, _DASHES), "margins (±1)"))
    # Entries of one kind stand side by side; notes come last, in whichever column is shorter.
    for region in regions:
        if region.note:
            min(columns, key=len).append((_line(0.0, "none"), plain(region.note)))
    rows = max(len(column) for column in columns)
    filler = [(_line(0.0, "none"), "")]
    entries = [entry for column in columns for entry in column + filler * (rows - len(column))]
    legend = ax.legend(
        [sample for sample, _ in entries],
        [fit_line(text, width / 2 - _KEY_SAMPLE, _KEY_SIZE) for _, text in entries],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(columns),
        fontsize=_KEY_SIZE,
        frameon=False,
        borderaxespad=0.2,
        borderpad=0.2,
        handlelength=2.0,
        handleheight=1.0,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set(**VERBATIM)
    lines = [line for part in heading.split("\n") for line in wrap(part, width, _HEADING_SIZE)]
    pad = 8 + rows * 1.7 * _KEY_SIZE
    ax.set_title("\n".join(lines), loc="left", size=_HEADING_SIZE, pad=pad, **VERBATIM)


def _class_entries(
    label: Label, regions: Sequence[AdviceRegion], classes: Sequence[Label], with_points: bool
) -> list[tuple[Any, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    colour, name = class_colours(classes)[label], plain(label)
    entries: list[tuple[Any, str]] = []
    if with_points:
        marker = _MARKERS[list(classes).index(label)]
        sample = Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5)
        entries.append((sample, f"data: {name}"))
    own = [region for region in regions if region.label == label]
    if any(len(region.given) for region in own):
        entries.append((Patch(facecolor=colour, alpha=_FILL, linewidth=0), f"as given: {name}"))
    if any(region.refined is not None and len(region.refined) for region in own):
        entries.append((Patch(**_hatching(label, classes)), f"after: {name}"))
    return entries


def _line(width: float, style: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=ink(), linewidth=width, linestyle=style)
