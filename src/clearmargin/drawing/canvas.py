"""Where figures are drawn: the door to matplotlib, and the colours that all displays share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import InvalidValueError, MissingDependencyError
from clearmargin.rules.rule import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "class_colours",
    "figure_of",
    "ink",
    "open_axes",
    "require_matplotlib",
    "size_of",
]

# Okabe and Ito (2008), told apart by colour-blind people. The order puts first what has contrast enough on white and on
# black; yellow and black are left out, since each vanishes on one of them.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def require_matplotlib() -> None:
    """Raise an error with the line that installs matplotlib, where it is missing."""
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "figures need matplotlib: pip install clearmargin[plot]"
        ) from error


def open_axes(ax: Any, size: tuple[float, float] | None = None, **options: Any) -> Axes:
    """Take the axes given, or make a figure with one.

    Parameters
    ----------
    ax : Axes or None
        The axes to draw in.
    size : (float, float), optional
        Width and height of a new figure in inches; by default as matplotlib is set up.
    **options : dict
        More arguments for a new figure.

    Returns
    -------
    Axes
        To draw in.
    """
    require_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=size, **options).add_subplot()
    if not isinstance(ax, Axes):
        raise InvalidValueError(f"ax must be matplotlib Axes or None, not {type(ax).__name__}")
    return ax


def figure_of(ax: Axes) -> Figure | SubFigure:
    """The figure in which axes stand."""
    figure = ax.get_figure()
    assert figure is not None
    return figure


def size_of(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in inches."""
    box, dpi = ax.get_window_extent(), figure_of(ax).dpi
    return box.width / dpi, box.height / dpi


def class_colours(classes: Sequence[Label]) -> Mapping[Label, str]:
    """One colour for each class, the same in all displays; with more than six classes they come round again.

    Examples
    --------
    >>> class_colours(["well", "ill"])
    {'well': '#0072B2', 'ill': '#D55E00'}
    """
    return {label: _COLOURS[k % len(_COLOURS)] for k, label in enumerate(classes)}


def ink() -> Any:
    """The colour of text in the style that is set: dark on light, or light on dark."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]
