"""Advice before and after training: the bounds of each rule on the ranges of their features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.advice.premise_geometry import plain_bounds
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    SMALL,
    VERBATIM,
    class_colours,
    fit_line,
    open_axes,
    short_number,
)
from clearmargin.rules.rule import Region
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches that the names of rules and features may take, and that a line takes.
_NAMES, _LINE = 3.0, 0.36


def plot_advice(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the bounds of each rule of a fitted `AdviceSVC`: thin before training, thick after it.

    Parameters
    ----------
    model : AdviceSVC
        Fitted with advice.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        One line for each feature that a rule bounds, over the range of the training cases and of the bounds.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clearmargin import AdviceSVC
    >>> model = AdviceSVC("x0 <= 1 => n").fit([[0.0], [1.0], [2.0], [3.0]], ["n", "n", "p", "p"])
    >>> [text.get_text() for text in plot_advice(model).get_yticklabels()]
    ['rule 1 (unchanged): x0']
    """
    if not hasattr(model, "fit") or not hasattr(model, "advice"):
        raise InvalidValueError(
            f"a fitted AdviceSVC is needed, not {type(model).__name__}: only it has advice before and after"
        )
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    seen, names = model.encoding_.space, model.refined_.space.names
    lines: list[tuple[str, Any, list[FloatArray], FloatArray]] = []
    for k, row in enumerate(model.outcome_):
        title = f"{plain(row.before.name or f'rule {k + 1}')} ({row.verdict})"
        before, after = (_bounds(each.region, len(names)) for each in (row.before, row.after))
        for j in np.flatnonzero(np.isfinite(np.vstack([before, after])).any(axis=0)).tolist():
            sides = [each[:, j] for each in (before, after)]
            ends = np.array([seen.lower[seen.index(names[j])], seen.upper[seen.index(names[j])]])
            known = np.concatenate([ends, *sides])
            known = known[np.isfinite(known)]
            scale = np.array([known.min(), known.max()])
            lines.append((f"{title}: {plain(names[j])}", row.after.label, sides, scale))
    if not lines:
        raise InvalidValueError(
            "no rule of the model has a bound on a number; there is nothing to draw"
        )
    axes = open_axes(ax, (6.4, 1.0 + _LINE * len(lines)), layout="constrained")
    colours = class_colours(model.classes_.tolist())
    for y, (_, label, sides, (low, high)) in enumerate(lines):
        axes.plot([0.0, 1.0], [y, y], color="0.8", lw=0.8, zorder=1)
        for side, offset, width in zip(sides, (-0.18, 0.08), (2.0, 6.0), strict=True):
            ends = (np.clip(side, low, high) - low) / ((high - low) or 1.0)
            axes.plot(ends, [y + offset] * 2, color=colours[label], lw=width, solid_capstyle="butt")
        for end, place, align in ((low, -0.01, "right"), (high, 1.01, "left")):
            axes.text(place, y, short_number(end), size=SMALL, ha=align, va="center", **VERBATIM)
    axes.set(xlim=(-0.12, 1.12), ylim=(len(lines) - 0.5, -0.5), xticks=[])
    axes.set_yticks(range(len(lines)), [fit_line(name, _NAMES, SMALL) for name, *_ in lines])
    for text in axes.get_yticklabels():
        text.set(size=SMALL, **VERBATIM)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title("Bounds before (thin) and after training (thick)", loc="left", size=10)
    return axes


def _bounds(region: Region, n: int) -> FloatArray:
    """Give the plain bounds of a premise on each of n features, infinite where there are none."""
    box = plain_bounds(region)
    ends = np.full((2, n), np.inf)
    ends[0] = -np.inf
    ends[0, : box.n_features], ends[1, : box.n_features] = box.lower, box.upper
    return ends
