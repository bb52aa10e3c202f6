"""Draw a tree of support vector machines, a row for each layer.

Its cells are first placed, in inches (`lay_out_svm_tree`), and then drawn (`draw_layout`). A tree of layers does not
branch: what no leaf takes goes on to the next layer. So there are rows to fill, and no branches to keep apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

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
    size_of,
    text_width,
    wrap,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patches import Patch

    from clearmargin.svm_trees.svm_tree import Layer, Leaf, SVMTree

__all__ = [
    "PlacedCell",
    "PlacedLine",
    "SVMTreeDisplay",
    "SVMTreeLayout",
    "draw_layout",
    "lay_out_svm_tree",
    "plot_svm_tree",
]


class SVMTreeDisplay:
    """A tree of support vector machines: a row for each layer, with its leaves.

    The box at the left of a row stands for all points that come to the layer; the line downwards from it for those
    that go on to the next. A leaf has the colour of the class that it gives, or stripes in those of all classes between
    which its machine decides; a dashed rim says that it holds what could not be cut any further. The bar in a box
    shows the shares of the classes among its training points. Leaves are numbered as in ``tree_.leaves``.

    Parameters
    ----------
    tree : SVMTree
        The tree.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    layout_ : SVMTreeLayout
        Where everything stands, in inches, and how many leaves are not drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.svm_trees import SVMTreeClassifier
    >>> X = [[1.0, 2.0], [1.5, 1.0], [2.0, 2.5], [7.0, 8.0], [8.0, 6.0]]
    >>> model = SVMTreeClassifier(random_state=0).fit(X, ["low", "low", "low", "high", "high"])
    >>> [cell.lines[1] for cell in SVMTreeDisplay.from_estimator(model).layout_.cells]
    ['5 points, 2 cells', 'leaf 0, 3 points', 'leaf 1, 2 points']
    """

    def __init__(self, *, tree: SVMTree):
        from clearmargin.svm_trees import SVMTree  # which brings scikit-learn along

        if not isinstance(tree, SVMTree):
            raise InvalidValueError(f"tree must be an SVMTree, not {type(tree).__name__}")
        self.tree = tree

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_leaves: int = 60,
        max_layers: int = 30,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the tree of a fitted classifier.

        Parameters
        ----------
        estimator : SVMTreeClassifier
            Fitted.
        max_leaves, max_layers : int, default 60 and 30
            Maximum number of leaves and layers that are drawn: the first layers, and the largest leaves of the last
            of these. The figure says how many leaves are left out.
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the tree needs.

        Returns
        -------
        SVMTreeDisplay
            With what was drawn.
        """
        from sklearn.utils.validation import check_is_fitted

        from clearmargin.svm_trees import SVMTreeClassifier

        if not isinstance(estimator, SVMTreeClassifier):
            raise InvalidValueError(
                f"from_estimator takes a fitted SVMTreeClassifier, not {type(estimator).__name__}; "
                "of a pipeline give the last step, for an SVMTree there is SVMTreeDisplay(tree=...).plot()"
            )
        check_is_fitted(estimator)
        display = cls(tree=estimator.tree_)
        return display.plot(ax, max_leaves=max_leaves, max_layers=max_layers)

    def plot(self, ax: Axes | None = None, *, max_leaves: int = 60, max_layers: int = 30) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the tree needs. Axes that are lower crowd it.
        max_leaves, max_layers : int, default 60 and 30
            As for `from_estimator`.

        Returns
        -------
        SVMTreeDisplay
            Itself, with `ax_`, `figure_` and `layout_`.
        """
        require_matplotlib()
        from clearmargin.tables.validation import check_whole

        most = check_whole("max_leaves", max_leaves, 1), check_whole("max_layers", max_layers, 1)
        given = None if ax is None else open_axes(ax)
        layout = lay_out_svm_tree(self.tree, *most, None if given is None else size_of(given)[0])
        axes = open_axes(None, (layout.width, layout.height)) if given is None else given
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        self.layout_: SVMTreeLayout = layout
        if given is None:
            axes.set_position((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, layout.width)
        axes.set_ylim(layout.height, 0.0)
        draw_layout(axes, layout, list(class_colours(self.tree.classes).values()))
        return self


def plot_svm_tree(
    model: Any, *, max_leaves: int = 60, max_layers: int = 30, ax: Axes | None = None
) -> SVMTreeDisplay:
    """Draw a tree of support vector machines, a row for each layer.

    Parameters
    ----------
    model : SVMTreeClassifier
        Fitted.
    max_leaves, max_layers, ax
        As for `SVMTreeDisplay.from_estimator`.

    Returns
    -------
    SVMTreeDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.svm_trees import SVMTreeClassifier
    >>> model = SVMTreeClassifier(random_state=0).fit([[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1])
    >>> plot_svm_tree(model).layout_.n_hidden
    0
    """
    return SVMTreeDisplay.from_estimator(model, max_leaves=max_leaves, max_layers=max_layers, ax=ax)


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
        Maximum number of leaves and layers that are drawn: the first layers, and the largest leaves of the last of
        these.
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
        text = (
            f"SVM tree: {_count(len(tree.layers), 'layer')}, {_count(tree.n_leaves, 'leaf', 'leaves')}, "
            f"{_count(sum(leaf.size for leaf in tree.leaves), 'training point')}, "
            f"{_count(tree.n_support_vectors, 'support vector')}"
        )
        for line in wrap(text, room / 1.08, TITLE_SIZE):  # bold letters are wider
            self._write(line, _BORDER, "title", 0.2)
        self.y += 0.05

    def _key(self) -> None:
        """Write class names in full, and what the looks of cells mean."""
        words: list[tuple[str, str | int]] = []
        for code, (label, short) in enumerate(zip(self.tree.classes, self.classes, strict=True)):
            name = plain(label)
            head, _, tail = short.partition("…")
            is_cut = name.startswith(head) and name.endswith(tail)
            words.append((name if is_cut else f"{short}: {name}", code))
        if not all(leaf.is_constant for leaf in self.tree.leaves):
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
        text = f"{_count(layer.size, 'point')}, {_count(len(layer.leaves), 'cell')}"
        lines = (f"layer {t + 1}", fit_line(text, _TRUNK - 2 * _PAD))
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
        given = {leaf.label} if leaf.outlier is None else {leaf.label, leaf.outlier}
        says = tuple(sorted({code for pair in leaf.pairs for code in pair} or given))
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
        text = f"centres differ most in {', '.join(plain(self.tree.names[j]) for j in most)}"
        lines = wrap(text, self.right - x, max_lines=3) if self.right - x >= _WORDS else []
        if lines:
            top = self.y + (CELL - len(lines) * LINE) / 2
        else:
            x, top = self.left, self.y + CELL + 0.03
            lines = wrap(text, self.right - x, max_lines=3)
            self.y += len(lines) * LINE
        for k, line in enumerate(lines):
            self.layout.texts.append(PlacedLine(line, x, top + (k + 0.5) * LINE, "note"))

    def _note(self, text: str) -> None:
        for line in wrap(text, self.right - _BORDER):
            self._write(line, _BORDER, "note", LINE)

    def _write(self, text: str, x: float, style: Literal["title", "note"], height: float) -> None:
        self.layout.texts.append(PlacedLine(text, x, self.y + height / 2, style))
        self.y += height


def _short_names(names: list[str]) -> list[str]:
    """Choose names that fit into a cell; where those would look alike, numbers that the key explains."""
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
    codes = sorted({code for pair in leaf.pairs for code in pair})
    return "SVM: " + " | ".join(classes[code] for code in codes)


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


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
    """Draw a box filled with pale stripes of the classes that it may give."""
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
    """Draw the share of each class, side by side."""
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
