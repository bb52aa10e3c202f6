"""A tree of support vector machines, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from clearmargin.drawing.canvas import (
    class_colours,
    figure_of,
    open_axes,
    require_matplotlib,
    size_of,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.svm_trees.svm_tree_drawing import draw_layout
from clearmargin.svm_trees.svm_tree_layout import SVMTreeLayout, lay_out_svm_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from clearmargin.svm_trees import SVMTree

__all__ = ["SVMTreeDisplay", "plot_svm_tree"]


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
            Most leaves and layers that are drawn: the first layers, and the largest leaves of the last of these. The
            figure says how many leaves are left out.
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
