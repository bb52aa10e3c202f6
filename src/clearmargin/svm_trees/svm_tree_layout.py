"""Where the cells of a tree of support vector machines stand, in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from clearmargin.drawing.lettering import SMALL, fit_line, text_width, wrap
from clearmargin.language.prose import plain

if TYPE_CHECKING:
    from clearmargin.svm_trees.svm_tree import Layer, Leaf, SVMTree

__all__ = ["PlacedCell", "PlacedLine", "SVMTreeLayout", "lay_out_svm_tree"]

Kind = Literal["layer", "pure", "svm", "residual"]

TITLE_SIZE = 11.0
# Inches: around everything, between cells, between layers, inside a cell beside its text.
_BORDER, _GAP, _LAYER_GAP, _PAD = 0.15, 0.1, 0.16, 0.08
# Inches: a line of text, a cell of two lines and a bar, the swatch before a word of the key.
LINE, CELL, SWATCH = 0.155, 0.5, 0.16
_TRUNK, _WIDEST_CELL = 1.45, 1.9
# Inches: least and largest width of a new figure.
_NARROWEST, _WIDEST = 6.5, 10.5
# The least room for the words beside the leaves of a layer.
_WORDS = 1.8
# So many features tell in what centres differ.
_TELLING = 2


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """A box: a leaf, or all points of a layer.

    Parameters
    ----------
    kind : {"layer", "pure", "svm", "residual"}
        What it is.
    lines : tuple of str
        Two lines; the first is bold.
    counts : tuple of int
        Training points of each class.
    says : tuple of int
        Positions of the classes that it may give; none for a layer.
    x, y, width : float
        Its upper left corner, and its width.
    """

    kind: Kind
    lines: tuple[str, str]
    counts: tuple[int, ...]
    says: tuple[int, ...]
    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line of text; with a swatch before it, it is a word of the key.

    Parameters
    ----------
    text : str
        What it says.
    x, y : float
        Where it starts, and its middle.
    style : {"title", "note", "key"}
        How it is written.
    swatch : str or int, optional
        A kind of leaf, or the position of a class.
    """

    text: str
    x: float
    y: float
    style: Literal["title", "note", "key"]
    swatch: str | int | None = None


@dataclass(slots=True)
class SVMTreeLayout:
    """All that is to be drawn.

    Parameters
    ----------
    width, height : float
        Size of the drawing.
    cells : list of PlacedCell
        Boxes; those of kind "layer" are linked from one to the next.
    texts : list of PlacedLine
        Texts outside of boxes.
    links : list of (float, float, float, float)
        Lines from (x, y) to (x, y).
    n_hidden : int
        Number of leaves that are not drawn.
    """

    width: float
    height: float = 0.0
    cells: list[PlacedCell] = field(default_factory=list)
    texts: list[PlacedLine] = field(default_factory=list)
    links: list[tuple[float, float, float, float]] = field(default_factory=list)
    n_hidden: int = 0


def lay_out_svm_tree(
    tree: SVMTree, max_leaves: int, max_layers: int, width: float | None = None
) -> SVMTreeLayout:
    """Find the place of each cell: a row for each layer, its points at the left, its leaves beside them.

    Parameters
    ----------
    tree : SVMTree
        The tree.
    max_leaves, max_layers : int
        Most leaves and layers that are drawn: the first layers, and the largest leaves of the last of these.
    width : float, optional
        Width to fill; by default what the leaves need, up to that of a page.

    Returns
    -------
    SVMTreeLayout
        Boxes never overlap. The height is what is needed.
    """
    return _Pen(tree, width).draw(max_leaves, max_layers)


class _Pen:
    """Places one thing after the other, from the top down."""

    def __init__(self, tree: SVMTree, width: float | None):
        self.tree = tree
        self.classes = _short_names([plain(label) for label in tree.classes])
        self.cell = _cell_width(tree, self.classes)
        self.left = _BORDER + _TRUNK + 2 * _GAP
        least = self.left + self.cell + _BORDER
        if width is None:
            fitting = 1 + int((_WIDEST - least) / (self.cell + _GAP))
            across = min(fitting, max(layer.n_leaves for layer in tree.layers))
            width = max(_NARROWEST, least + (across - 1) * (self.cell + _GAP))
        self.layout = SVMTreeLayout(max(width, least))
        self.right = self.layout.width - _BORDER
        self.y = _BORDER

    def draw(self, max_leaves: int, max_layers: int) -> SVMTreeLayout:
        """Place everything."""
        self._title()
        self._key()
        leaves = list(enumerate(self.tree.leaves))
        drawn, before = 0, None
        for t, layer in enumerate(self.tree.layers[:max_layers]):
            own, leaves = leaves[: layer.n_leaves], leaves[layer.n_leaves :]
            room = max_leaves - drawn
            shown = sorted(sorted(own, key=lambda pair: -pair[1].size)[:room])
            if not shown:
                leaves = own + leaves
                break
            before = self._layer(t, layer, shown, before)
            drawn += len(shown)
            hidden = [pair for pair in own if pair not in shown]
            if hidden:
                leaves = hidden + leaves
                break
        self.layout.n_hidden = len(leaves)
        if leaves:
            points = sum(leaf.size for _, leaf in leaves)
            self._note(
                f"{_count(len(leaves), 'leaf', 'leaves')} with {_count(points, 'point')} not drawn"
            )
        self.layout.height = self.y + _BORDER
        return self.layout

    def _title(self) -> None:
        tree, room = self.tree, self.right - _BORDER
        said = (
            f"SVM tree: {_count(len(tree.layers), 'layer')}, {_count(tree.n_leaves, 'leaf', 'leaves')}, "
            f"{_count(sum(leaf.size for leaf in tree.leaves), 'training point')}, "
            f"{_count(tree.n_support_vectors, 'support vector')}"
        )
        for line in wrap(said, room / 1.08, TITLE_SIZE):  # bold letters are wider
            self._write(line, _BORDER, "title", 0.2)
        self.y += 0.05

    def _key(self) -> None:
        """Class names in full, and what the looks of cells mean."""
        words: list[tuple[str, str | int]] = []
        for code, (label, short) in enumerate(zip(self.tree.classes, self.classes, strict=True)):
            name = plain(label)
            head, _, tail = short.partition("…")
            is_cut = name.startswith(head) and name.endswith(tail)
            words.append((name if is_cut else f"{short}: {name}", code))
        if any(leaf.pairs for leaf in self.tree.leaves):
            words.append(("a machine decides between classes", "svm"))
        if any(leaf.kind == "residual" for leaf in self.tree.leaves):
            words.append(("what could not be cut any further", "residual"))
        x, indent = _BORDER, SWATCH + 0.08
        for text, swatch in words:
            lines = wrap(text, self.right - _BORDER - indent)
            wide = indent + max(text_width(line) for line in lines)
            if x > _BORDER and x + wide > self.right:
                x, self.y = _BORDER, self.y + LINE + 0.04
            for k, line in enumerate(lines):
                if k:
                    self.y += LINE
                place = (x + indent, self.y + LINE / 2)
                self.layout.texts.append(PlacedLine(line, *place, "key", None if k else swatch))
            x += wide + 0.25
        self.y += LINE + _LAYER_GAP

    def _layer(
        self,
        t: int,
        layer: Layer,
        shown: Sequence[tuple[int, Leaf]],
        before: PlacedCell | None,
    ) -> PlacedCell:
        counts = tuple(sum(column) for column in zip(*layer.counts, strict=True))
        said = f"{_count(layer.size, 'point')}, {_count(len(layer.leaves), 'cell')}"
        lines = (f"layer {t + 1}", fit_line(said, _TRUNK - 2 * _PAD))
        pool = PlacedCell("layer", lines, counts, (), _BORDER, self.y, _TRUNK)
        if before is not None:
            middle = _BORDER + _TRUNK / 2
            self.layout.links.append((middle, before.y + CELL, middle, pool.y))
        self.layout.cells.append(pool)
        self.layout.links.append(
            (_BORDER + _TRUNK, self.y + CELL / 2, self.left, self.y + CELL / 2)
        )
        x = self.left
        for number, leaf in shown:
            if x > self.left and x + self.cell > self.right + 1e-9:
                x, self.y = self.left, self.y + CELL + _GAP
            self.layout.cells.append(self._leaf(number, leaf, x))
            x += self.cell + _GAP
        self._telling(layer, x)
        self.y += CELL + _LAYER_GAP
        return pool

    def _leaf(self, number: int, leaf: Leaf, x: float) -> PlacedCell:
        room = self.cell - 2 * _PAD
        says = tuple(sorted({code for pair in leaf.pairs for code in pair})) or (leaf.label,)
        name = self.classes[leaf.label]
        if leaf.pairs:
            rivals = _rivals(leaf, self.classes)
            name = rivals if text_width(rivals, bold=True) <= room else "SVM"
        size = fit_line(f"leaf {number}, {_count(leaf.size, 'point')}", room)
        kind: Kind = leaf.kind
        return PlacedCell(kind, (name, size), leaf.counts, says, x, self.y, self.cell)

    def _telling(self, layer: Layer, x: float) -> None:
        """Say in what the centres of a layer differ, beside its last leaves where there is room."""
        spread = np.ptp(layer.centres, axis=0) / self.tree.width
        most = [int(j) for j in np.argsort(-spread, kind="stable")[:_TELLING] if spread[j] > 0]
        if not most or len(spread) <= _TELLING:
            return
        said = f"centres differ most in {', '.join(plain(self.tree.names[j]) for j in most)}"
        lines = wrap(said, self.right - x, max_lines=3) if self.right - x >= _WORDS else []
        if lines:
            top = self.y + (CELL - len(lines) * LINE) / 2
        else:
            x, top = self.left, self.y + CELL + 0.03
            lines = wrap(said, self.right - x, max_lines=3)
            self.y += len(lines) * LINE
        for k, line in enumerate(lines):
            self.layout.texts.append(PlacedLine(line, x, top + (k + 0.5) * LINE, "note"))

    def _note(self, said: str) -> None:
        for line in wrap(said, self.right - _BORDER):
            self._write(line, _BORDER, "note", LINE)

    def _write(self, text: str, x: float, style: Literal["title", "note"], height: float) -> None:
        self.layout.texts.append(PlacedLine(text, x, self.y + height / 2, style))
        self.y += height


def _short_names(names: list[str]) -> list[str]:
    """Names that fit into a cell; where those would look alike, numbers that the key explains."""
    short = [fit_line(name, _WIDEST_CELL - 2 * _PAD, bold=True) for name in names]
    if len(set(short)) == len(short):
        return short
    return [f"class {k + 1}" for k in range(len(names))]


def _cell_width(tree: SVMTree, classes: list[str]) -> float:
    largest = max(leaf.size for leaf in tree.leaves)
    lines = [text_width(f"leaf {tree.n_leaves - 1}, {_count(largest, 'point')}s", SMALL)]
    lines += [text_width(name, SMALL, bold=True) for name in classes]
    named = {_rivals(leaf, classes) for leaf in tree.leaves if leaf.pairs}
    widths = [text_width(name, SMALL, bold=True) for name in named]
    # The classes of a machine are named where that takes no wider cells than allowed.
    lines += [width for width in widths if width <= _WIDEST_CELL - 2 * _PAD]
    return min(max(lines) + 2 * _PAD, _WIDEST_CELL)


def _rivals(leaf: Leaf, classes: list[str]) -> str:
    said = sorted({code for pair in leaf.pairs for code in pair})
    return "SVM: " + " | ".join(classes[code] for code in said)


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"
