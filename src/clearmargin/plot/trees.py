"""Draw a tree of support vector machines, a row for each layer: what no leaf takes goes on to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    size_of,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from clearmargin.svm_trees.svm_tree import SVMTree

# Inches: a line of text, width and height of a cell with the space around it, the bar in it, the words before a layer.
_LINE, _WIDTH, _HEIGHT, _GAP, _BAR, _WORDS = 0.17, 1.75, 0.5, 0.1, 0.1, 1.2
# Inches: width of a new figure; a single point among hundreds is still seen in a bar.
_FIGURE, _SLIVER = 9.0, 0.025
_TITLE_SIZE = 11.0


def plot_svm_tree(
    model: Any, *, max_leaves: int = 60, max_layers: int = 30, ax: Axes | None = None
) -> Axes:
    """Draw the tree of a fitted classifier, or an `SVMTree`: a row for each layer, with its leaves."""
    require_matplotlib()
    from clearmargin.tables.validation import check_whole

    tree = _tree_of(model)
    left = check_whole("max_leaves", max_leaves, 1)
    n_layers = check_whole("max_layers", max_layers, 1)
    width = _FIGURE if ax is None else max(size_of(open_axes(ax))[0], _WORDS + _WIDTH + 3 * _GAP)
    names = [plain(label) for label in tree.classes]
    colours = list(class_colours(tree.classes).values())
    # Texts as (x, y, text, options) and boxes as (x, y, width, height, options), from the top down.
    texts: list[tuple[float, float, str, dict[str, Any]]] = []
    boxes: list[tuple[float, float, float, float, dict[str, Any]]] = []
    y = _GAP
    title = str(tree).partition("\n")[0]
    for line in wrap(title, (width - 2 * _GAP) / 1.1, _TITLE_SIZE):  # bold letters are wider
        texts.append((_GAP, y + _LINE / 2, line, {"size": _TITLE_SIZE, "weight": "bold"}))
        y += 1.2 * _LINE
    for name, colour in zip(names, colours, strict=True):
        boxes.append((_GAP, y + 0.02, _LINE, _LINE - 0.04, {"color": colour, "linewidth": 0}))
        for line in wrap(name, width - 3 * _GAP - _LINE):
            texts.append((2 * _GAP + _LINE, y + _LINE / 2, line, {}))
            y += _LINE
    number, hidden = 0, []
    for t, layer in enumerate(tree.layers):
        own = [
            (number + k, leaf) for k, leaf in enumerate(x for x in layer.leaves if x is not None)
        ]
        number += len(own)
        most = left if t < n_layers else 0
        shown = sorted(sorted(own, key=lambda pair: -pair[1].size)[:most])
        hidden += [leaf for pair in own if pair not in shown for leaf in pair[1:]]
        left -= len(shown)
        if not shown:
            continue
        y += _GAP
        texts.append((_GAP, y + 0.3 * _HEIGHT, f"layer {t + 1}", {"weight": "bold"}))
        texts.append((_GAP, y + 0.7 * _HEIGHT, f"{layer.size} points", {}))
        x = _WORDS
        for k, leaf in shown:
            if x > _WORDS and x + _WIDTH + _GAP > width:
                x, y = _WORDS, y + _HEIGHT + _GAP
            rivals = sorted({code for pair in leaf.pairs for code in pair}) or [leaf.label]
            for s, code in enumerate(rivals):
                stripe = _WIDTH / len(rivals)
                pale = {"color": colours[code], "alpha": 0.25, "linewidth": 0}
                boxes.append((x + s * stripe, y, stripe, _HEIGHT, pale))
            rim = {"fill": False, "edgecolor": ink(), "gid": leaf.kind}
            rim["linestyle"] = "--" if leaf.kind == "residual" else "-"
            boxes.append((x, y, _WIDTH, _HEIGHT, rim))
            # Shares of the classes, side by side.
            wide = [max(n / leaf.size * _WIDTH, _SLIVER) if n else 0.0 for n in leaf.counts]
            start = x
            for colour, share in zip(colours, wide, strict=True):
                if share:
                    piece = share * _WIDTH / sum(wide)
                    bar = {"color": colour, "linewidth": 0, "gid": "bar"}
                    boxes.append((start, y + _HEIGHT - _BAR, piece, _BAR, bar))
                    start += piece
            says = (
                f"SVM: {' | '.join(names[code] for code in rivals)}"
                if leaf.pairs
                else names[leaf.label]
            )
            for row, text, weight in (
                (0.5, says, "bold"),
                (1.4, f"leaf {k}, {leaf.size} points", "normal"),
            ):
                text_options = {"ha": "center", "weight": weight}
                line = fit_line(text, _WIDTH - _GAP, bold=weight == "bold")
                texts.append((x + _WIDTH / 2, y + row * _LINE, line, text_options))
            x += _WIDTH + _GAP
        y += _HEIGHT
    if hidden:
        note = f"{len(hidden)} leaves with {sum(leaf.size for leaf in hidden)} points not drawn"
        texts.append((_GAP, y + _GAP + _LINE / 2, note, {"style": "italic"}))
        y += _GAP + _LINE
    return _draw(ax, texts, boxes, (width, y + _GAP))


def _tree_of(model: Any) -> SVMTree:
    from sklearn.utils.validation import check_is_fitted

    from clearmargin.svm_trees import SVMTree, SVMTreeClassifier

    if isinstance(model, SVMTree):
        return model
    if not isinstance(model, SVMTreeClassifier):
        raise InvalidValueError(
            f"plot_svm_tree takes a fitted SVMTreeClassifier or an SVMTree, not {type(model).__name__}; of a pipeline "
            "give the last step"
        )
    check_is_fitted(model)
    return model.tree_


def _draw(
    ax: Axes | None,
    texts: list[tuple[float, float, str, dict[str, Any]]],
    boxes: list[tuple[float, float, float, float, dict[str, Any]]],
    size: tuple[float, float],
) -> Axes:
    from matplotlib.patches import Rectangle

    axes = open_axes(ax, size)
    if ax is None:
        axes.set_position((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, size[0])
    axes.set_ylim(size[1], 0.0)
    for x, y, width, height, looks in boxes:
        axes.add_patch(Rectangle((x, y), width, height, **looks))
    for x, y, text, looks in texts:
        axes.text(x, y, text, **(VERBATIM | {"va": "center", "size": SMALL} | looks))
    return axes
