"""A rule before and after training, as two small decision trees side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from clearmargin.advice.rule_trees_layout import TreeLayout, draw_tree, lay_out_tree
from clearmargin.drawing.canvas import class_colours, figure_of, open_axes, require_matplotlib
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules.rule import Label, as_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from clearmargin.advice.surrogate import RuleTrees

__all__ = ["RuleTreesDisplay", "plot_rule_trees"]

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
        from clearmargin.advice.surrogate import RuleTrees  # which brings scikit-learn along

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
        from clearmargin.advice.surrogate import rule_trees

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
