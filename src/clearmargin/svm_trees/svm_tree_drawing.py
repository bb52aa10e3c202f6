"""The strokes of a tree of support vector machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clearmargin.drawing.canvas import ink
from clearmargin.drawing.lettering import SMALL, VERBATIM
from clearmargin.svm_trees.svm_tree_layout import (
    CELL,
    LINE,
    SWATCH,
    TITLE_SIZE,
    PlacedCell,
    PlacedLine,
    SVMTreeLayout,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

__all__ = ["draw_layout"]

# Inches: the bar of a cell, and the space around it.
_BAR, _BAR_PAD, _SLIVER = 0.09, 0.06, 0.025
_PALE = 0.25
_DASHES = (0, (3.0, 2.0))


def draw_layout(ax: Axes, layout: SVMTreeLayout, colours: Sequence[str]) -> None:
    """Draw cells, their bars, the lines between layers, and texts.

    Parameters
    ----------
    ax : Axes
        Where; its units are inches, from the top down.
    layout : SVMTreeLayout
        What.
    colours : sequence of str
        Colours of the classes.
    """
    for x, y, to_x, to_y in layout.links:
        ax.plot([x, to_x], [y, to_y], color=ink(), linewidth=1.0, zorder=1, gid="link")
    for cell in layout.cells:
        _draw_cell(ax, cell, colours)
    for text in layout.texts:
        _draw_text(ax, text, colours)


def _draw_cell(ax: Axes, cell: PlacedCell, colours: Sequence[str]) -> None:
    place = (cell.x, cell.y, cell.width, CELL)
    _draw_box(ax, place, [colours[code] for code in cell.says], cell.kind)
    style: dict[str, Any] = {"ha": "center", "va": "center", "size": SMALL, "zorder": 4, **VERBATIM}
    middle = cell.x + cell.width / 2
    ax.text(middle, cell.y + 0.6 * LINE, cell.lines[0], weight="bold", **style)
    ax.text(middle, cell.y + 1.6 * LINE, cell.lines[1], **style)
    _draw_bar(ax, cell, colours)


def _draw_box(
    ax: Axes, place: tuple[float, float, float, float], fills: Sequence[str], kind: str
) -> None:
    """A box filled with pale stripes of the classes that it may give."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    x, y, width, height = place
    stripe = width / max(len(fills), 1)
    for k, colour in enumerate(fills):
        pale = Rectangle((x + k * stripe, y), stripe, height, linewidth=0, zorder=2)
        pale.set(facecolor=to_rgba(colour, _PALE), gid="says")
        ax.add_patch(pale)
    rim: Patch = Rectangle((x, y), width, height, facecolor="none", zorder=3, gid=kind)
    rim.set(
        edgecolor=fills[0] if len(fills) == 1 else ink(),
        linewidth=1.0 if kind == "layer" else 1.4,
        linestyle=_DASHES if kind == "residual" else "solid",
    )
    ax.add_patch(rim)


def _draw_bar(ax: Axes, cell: PlacedCell, colours: Sequence[str]) -> None:
    """The share of each class, side by side."""
    from matplotlib.patches import Rectangle

    room = cell.width - 2 * _BAR_PAD
    shares = [count / max(sum(cell.counts), 1) for count in cell.counts]
    # A single point among hundreds is still seen.
    widths = [max(share * room, _SLIVER) if share else 0.0 for share in shares]
    x, y = cell.x + _BAR_PAD, cell.y + CELL - _BAR_PAD - _BAR
    for colour, wide in zip(colours, widths, strict=True):
        width = wide * room / sum(widths)
        if width:
            ax.add_patch(
                Rectangle((x, y), width, _BAR, color=colour, linewidth=0, zorder=3, gid="bar")
            )
        x += width


def _draw_text(ax: Axes, text: PlacedLine, colours: Sequence[str]) -> None:
    if text.swatch is not None:
        place = (text.x - SWATCH - 0.08, text.y - SWATCH / 2 + 0.01, SWATCH, SWATCH - 0.02)
        if isinstance(text.swatch, int):
            _draw_box(ax, place, [colours[text.swatch]], "key")
        elif text.swatch == "svm":
            _draw_box(ax, place, list(colours[:2]), "key")
        else:
            _draw_box(ax, place, [], text.swatch)
    looks: dict[str, dict[str, Any]] = {
        "title": {"size": TITLE_SIZE, "weight": "bold"},
        "note": {"size": SMALL, "style": "italic"},
        "key": {"size": SMALL},
    }
    ax.text(text.x, text.y, text.text, ha="left", va="center", **looks[text.style], **VERBATIM)
