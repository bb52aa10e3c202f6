"""A rule before and after training, as two small decision trees side by side.

Where the boxes of a decision tree stand, in inches, and their strokes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from clearmargin.drawing.canvas import (
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    ink,
    open_axes,
    require_matplotlib,
    text_width,
    wrap,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rules.rule import Label, as_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from clearmargin.advice.rule_tree import Node, RuleTree, RuleTrees, TreeTest

__all__ = [
    "PlacedNode",
    "RuleTreesDisplay",
    "TreeLayout",
    "draw_tree",
    "lay_out_tree",
    "plot_rule_trees",
]


_SIZE, _TITLE_SIZE, _TEXT_SIZE, _ANSWER_SIZE = 10.0, 11.0, 9.0, 9.0
# Inches: a box, the way down to the next one, the gap between neighbours, the space in a box beside its text.
_BOX, _DOWN, _GAP, _PAD = 0.34, 0.52, 0.22, 0.14
_LINE_HEIGHT = 0.18
# A tree of few boxes has at least this width for its texts; a box has at most the other.
_NARROWEST, _WIDEST_BOX = 3.4, 2.6


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A box of the tree.

    Parameters
    ----------
    text : str
        What it says.
    is_leaf, is_silent : bool
        Whether it is an end, and one where the rule is silent.
    x, y : float
        Its middle, in inches from the left and the top of the tree.
    width : float
        Its width.
    children : tuple of PlacedNode
        None, or those for yes and for no.
    """

    text: str
    is_leaf: bool
    is_silent: bool
    x: float
    y: float
    width: float
    children: tuple[PlacedNode, ...]

    def walk(self) -> Iterator[PlacedNode]:
        """Itself and all boxes below."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """A tree with its texts.

    Parameters
    ----------
    title : str
        Above everything.
    rule : list of str
        Lines of the rule itself.
    root : PlacedNode
        The first box.
    agreement : list of str
        Lines below the tree.
    width, depth : float
        Width, and height of the boxes alone.
    """

    title: str
    rule: list[str]
    root: PlacedNode
    agreement: list[str]
    width: float
    depth: float

    @property
    def head(self) -> float:
        """Height of the texts above the boxes."""
        return 0.3 + len(self.rule) * _LINE_HEIGHT + 0.15

    @property
    def height(self) -> float:
        """Height of everything."""
        return self.head + self.depth + 0.15 + len(self.agreement) * _LINE_HEIGHT


def lay_out_tree(tree: RuleTree, title: str, rule: str) -> TreeLayout:
    """Find the place of each box.

    Parameters
    ----------
    tree : RuleTree
        The tree.
    title : str
        What stands above.
    rule : str
        The rule itself, below the title.

    Returns
    -------
    TreeLayout
        Boxes never overlap; a question stands over the middle of its answers.
    """
    root, needed = _place(tree.root, 0.0, _BOX / 2)
    width = max(needed, _NARROWEST)
    shift = (width - needed) / 2
    root = _shifted(root, shift)
    return TreeLayout(
        title=fit_line(plain(title), width, _TITLE_SIZE, bold=True),
        rule=wrap(plain(rule), width, _TEXT_SIZE, max_lines=5),
        root=root,
        agreement=wrap(f"{tree.agreement}; silent: it says nothing", width, _TEXT_SIZE),
        width=width,
        depth=max(node.y for node in root.walk()) + _BOX / 2,
    )


def _place(node: Node, left: float, y: float) -> tuple[PlacedNode, float]:
    """Place a node and all below it from an edge on, and say how wide that is."""
    from clearmargin.advice.rule_tree import TreeLeaf  # which brings scikit-learn along

    is_leaf = isinstance(node, TreeLeaf)
    text = plain(node.text) if isinstance(node, TreeLeaf) else _question(node)
    own = text_width(text, _SIZE, bold=is_leaf) + 2 * _PAD
    if isinstance(node, TreeLeaf):
        placed = PlacedNode(text, True, node.label is None, left + own / 2, y, own, ())
        return placed, own
    below = y + _BOX + _DOWN
    yes, yes_width = _place(node.yes, left, below)
    no, no_width = _place(node.no, left + yes_width + _GAP, below)
    wide = yes_width + _GAP + no_width
    middle = (yes.x + no.x) / 2
    # A question wider than its answers pushes them to the middle below it, or sticks out to one side.
    out = max(0.0, left - (middle - own / 2))
    width = max(wide + out, middle + out + own / 2 - left)
    children = (_shifted(yes, out), _shifted(no, out))
    return PlacedNode(text, False, False, middle + out, y, own, children), width


def _question(node: TreeTest) -> str:
    """A question that fits into a box; it is the name of the feature that is cut, if anything."""
    text = plain(node.text)
    rest = node.text[len(node.feature) :]
    room = _WIDEST_BOX - text_width(rest, _SIZE)
    if text_width(text, _SIZE) <= _WIDEST_BOX:
        return text
    return fit_line(plain(node.feature), room, _SIZE) + rest


def _shifted(node: PlacedNode, by: float) -> PlacedNode:
    children = tuple(_shifted(child, by) for child in node.children)
    return PlacedNode(
        node.text, node.is_leaf, node.is_silent, node.x + by, node.y, node.width, children
    )


def draw_tree(
    ax: Axes, layout: TreeLayout, left: float, top: float, head: float, colour: str
) -> None:
    """Draw a tree with its texts.

    Parameters
    ----------
    ax : Axes
        Where; its units are inches, from the top down.
    layout : TreeLayout
        What.
    left, top : float
        Its corner.
    head : float
        Height left for the texts above the boxes.
    colour : str
        Of the class of the rule.
    """
    style: dict[str, Any] = {"ha": "left", "va": "center", **VERBATIM}
    ax.text(left, top + 0.12, layout.title, size=_TITLE_SIZE, weight="bold", **style)
    for k, line in enumerate(layout.rule):
        ax.text(left, top + 0.3 + (k + 0.5) * _LINE_HEIGHT, line, size=_TEXT_SIZE, **style)
    for node in layout.root.walk():
        _draw_answers(ax, node, left, top + head)
    for node in layout.root.walk():
        _draw_box(ax, node, left, top + head, colour)
    below = top + head + layout.depth + 0.15
    for k, line in enumerate(layout.agreement):
        ax.text(
            left, below + (k + 0.5) * _LINE_HEIGHT, line, size=_TEXT_SIZE, style="italic", **style
        )


def _draw_answers(ax: Axes, node: PlacedNode, left: float, top: float) -> None:
    """Lines from a question to what follows, with the answers on them."""
    for child, answer in zip(node.children, ("yes", "no"), strict=False):
        start, end = top + node.y + _BOX / 2, top + child.y - _BOX / 2
        bend = start + 0.4 * (end - start)
        xs = [left + node.x, left + node.x, left + child.x, left + child.x]
        ax.plot(xs, [start, bend, bend, end], color=ink(), linewidth=1.0, zorder=1)
        beside = -0.06 if answer == "yes" else 0.06
        align = "right" if answer == "yes" else "left"
        ax.text(
            left + child.x + beside,
            (bend + end) / 2,
            answer,
            size=_ANSWER_SIZE,
            ha=align,
            va="center",
        )


def _draw_box(ax: Axes, node: PlacedNode, left: float, top: float, colour: str) -> None:
    """A box with round corners: full at an end with a class, dashed where the rule is silent."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import FancyBboxPatch

    round_corners = f"round,pad=0,rounding_size={_BOX / 2 if node.is_leaf else 0.06}"
    box = FancyBboxPatch(
        (left + node.x - node.width / 2, top + node.y - _BOX / 2),
        node.width,
        _BOX,
        boxstyle=round_corners,
        zorder=2,
    )
    speaks = node.is_leaf and not node.is_silent
    box.set(
        facecolor=to_rgba(colour, 0.25) if speaks else "none",
        edgecolor=colour if speaks else ink(),
        linewidth=1.6 if speaks else 1.0,
        linestyle=(0, (3.0, 2.0)) if node.is_silent else "solid",
        gid="silent" if node.is_silent else "class" if speaks else "question",
    )
    ax.add_patch(box)
    ax.text(
        left + node.x,
        top + node.y,
        node.text,
        size=_SIZE,
        weight="bold" if speaks else "normal",
        ha="center",
        va="center",
        zorder=3,
        **VERBATIM,
    )


# Inches around the trees and between them.
_BORDER, _BETWEEN = 0.15, 0.45


class RuleTreesDisplay:
    """Two decision trees that come close to a rule, before and after training.

    A question is a box; the answer yes goes to the left. A full box at the end gives the class of the rule, an empty
    one with a dashed rim says that the rule is silent there. Below each tree stands how well it agrees with its rule.

    Parameters
    ----------
    trees : RuleTrees
        The trees.
    classes : tuple of labels
        All classes, which have their colours in this order.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    layouts_ : (TreeLayout, TreeLayout)
        Where everything stands, in inches.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0, 0.1], [35.0, 0.7], [50.0, 0.4], [60.0, 0.9]]
    >>> model = AdviceSVC("x0 >= 31 and x1 >= 0.5 => ill").fit(X, ["well", "ill", "well", "ill"])
    >>> RuleTreesDisplay.from_estimator(model, X).trees.before.root.text
    'x0 >= 31'
    """

    def __init__(self, *, trees: RuleTrees, classes: tuple[Label, ...]):
        from clearmargin.advice.rule_tree import RuleTrees  # which brings scikit-learn along

        if not isinstance(trees, RuleTrees):
            raise InvalidValueError(f"trees must be RuleTrees, not {type(trees).__name__}")
        self.trees = trees
        self.classes = classes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        rule: str | int = 0,
        max_depth: int = 3,
        random_state: int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a rule of a fitted model.

        Parameters
        ----------
        estimator : AdviceSVC
            Fitted.
        X : data frame or array-like of shape (m, n)
            The rows that the model was trained with; their ranges say where cases live.
        rule : str or int, default 0
            Name of the rule, or its position in `outcome_`.
        max_depth : int, default 3
            Most questions one after the other that stand for conditions on several features.
        random_state : int or None, default 0
            Seed of the points that the trees are learned from.
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the trees need.

        Returns
        -------
        RuleTreesDisplay
            With what was drawn.
        """
        from clearmargin.advice.rule_tree import rule_trees

        trees = rule_trees(estimator, rule, X, max_depth=max_depth, random_state=random_state)
        classes = tuple(as_label(label) for label in estimator.classes_)
        return cls(trees=trees, classes=classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure of the size that the trees need. Axes that are smaller crowd them.

        Returns
        -------
        RuleTreesDisplay
            Itself, with `ax_`, `figure_` and `layouts_`.
        """
        require_matplotlib()
        trees = self.trees
        layouts = (
            lay_out_tree(trees.before, f"{trees.name}, as given", trees.text_before),
            lay_out_tree(trees.after, f"{trees.name}, after training", self._after()),
        )
        width = layouts[0].width + layouts[1].width + _BETWEEN + 2 * _BORDER
        height = max(layout.height for layout in layouts) + 2 * _BORDER
        own = ax is None
        axes = open_axes(ax, (width, height))
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        self.layouts_: tuple[TreeLayout, TreeLayout] = layouts
        if own:
            axes.set_position((0.0, 0.0, 1.0, 1.0))
        axes.set_axis_off()
        axes.set_xlim(0.0, width)
        axes.set_ylim(height, 0.0)
        colour = class_colours([*self.classes, trees.label])[trees.label]
        if trees.label in self.classes:
            colour = class_colours(self.classes)[trees.label]
        # The first boxes of both stand on one line.
        head = max(layout.head for layout in layouts)
        left = _BORDER
        for layout in layouts:
            draw_tree(axes, layout, left, _BORDER, head, colour)
            left += layout.width + _BETWEEN
        return self

    def _after(self) -> str:
        verdict = self.trees.verdict
        if verdict == "rejected":
            return f"rejected; the last form that had points was {self.trees.text_after}"
        if verdict == "empty":
            return "set aside: no case can satisfy it"
        if self.trees.text_after == self.trees.text_before:
            return f"unchanged ({verdict})"
        return self.trees.text_after


def plot_rule_trees(
    model: Any,
    X: Any,
    *,
    rule: str | int = 0,
    max_depth: int = 3,
    random_state: int | None = 0,
    ax: Axes | None = None,
) -> RuleTreesDisplay:
    """Draw a rule before and after training as two small decision trees side by side.

    Parameters
    ----------
    model : AdviceSVC
        Fitted.
    X, rule, max_depth, random_state, ax
        As for `RuleTreesDisplay.from_estimator`.

    Returns
    -------
    RuleTreesDisplay
        With `ax_`, `figure_` and what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin.advice import AdviceSVC
    >>> X = [[20.0], [35.0], [50.0], [60.0]]
    >>> model = AdviceSVC("old: x0 >= 31 => ill", lam=10.0).fit(X, ["well", "ill", "ill", "ill"])
    >>> plot_rule_trees(model, X, rule="old").trees.after.fidelity
    1.0
    """
    return RuleTreesDisplay.from_estimator(
        model, X, rule=rule, max_depth=max_depth, random_state=random_state, ax=ax
    )
