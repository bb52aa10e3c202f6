"""The ROC curve of a ranking, with its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clearmargin.drawing.canvas import figure_of, ink, open_axes
from clearmargin.drawing.lettering import SMALL
from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.contrasts import BOTTOM_COLOUR, TOP_COLOUR, end_names, fitted_contrast
from clearmargin.rules.value import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["RankRocDisplay", "plot_rank_roc"]

_SIZE = 9.0
_SIDE = 4.2
# Rates are quotients of whole numbers; this is what rounding may do to them, times the number of rows.
_ROUNDING = 1e-12


class RankRocDisplay:
    """The ROC curve of a ranking, thick where the rows of its top and of its bottom are.

    Parameters
    ----------
    fpr, tpr : ndarray
        False and true positive rates.
    auc : float
        Area under the curve.
    n_top, n_bottom : int
        Rows at each end.
    ranks : ndarray
        How many rows are ranked as high as each point of the curve or higher.

    Attributes
    ----------
    top, bottom : ndarray of shape (k, 2)
        The parts of the curve that the ends make. Where rows outside have the same score as the last one inside, a
        part ends in the middle of the stroke that they share.
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X, y = [[k // 10, k % 3] for k in range(40)], [k >= 20 for k in range(40)]
    >>> display = RankRocDisplay.from_estimator(RankContrast(top=5, bottom=20).fit(X, y))
    >>> display.top[-1].tolist(), display.bottom[0].tolist()
    ([0.0, 0.25], [0.0, 1.0])
    """

    def __init__(
        self,
        *,
        fpr: FloatArray,
        tpr: FloatArray,
        auc: float,
        n_top: int,
        n_bottom: int,
        ranks: FloatArray,
    ):
        self.fpr = fpr
        self.tpr = tpr
        self.auc = auc
        self.n_top = n_top
        self.n_bottom = n_bottom
        self.ranks = ranks
        self.top = self._part(0.0, float(n_top))
        self.bottom = self._part(ranks[-1] - n_bottom, ranks[-1])

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the curve of a fitted contrast.

        Parameters
        ----------
        estimator : RankContrast
            Fitted with labels.
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        RankRocDisplay
            With what was drawn.
        """
        contrast = fitted_contrast(estimator)
        if not hasattr(contrast, "roc_"):
            raise InvalidValueError(
                "a ROC curve needs labels, and this contrast was fitted to a ranking without them; "
                "use fit(X, y) instead of fit_ranking(X, scores)"
            )
        fpr, tpr = (np.asarray(rates, dtype=np.float64) for rates in contrast.roc_)
        return cls(
            fpr=fpr,
            tpr=tpr,
            auc=contrast.auc_,
            n_top=len(contrast.top_index_),
            n_bottom=len(contrast.bottom_index_),
            ranks=_ranks(fpr, tpr, contrast.scores_),
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        RankRocDisplay
            Itself, with `ax_` and `figure_`.
        """
        axes = open_axes(ax, (_SIDE, _SIDE), layout="constrained")
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        top, bottom = end_names(self.n_top, self.n_bottom)
        # Only a perfect ranking has an area of 1.000.
        shown = self.auc if self.auc == 1 else min(self.auc, 0.999)
        # The ranking was trained on these rows; on others the area is less.
        said = f"ranking, AUC = {shown:.3f} on its training rows"
        axes.plot(self.fpr, self.tpr, color=ink(), lw=1.3, label=said)
        thick: dict[str, Any] = {"lw": 5, "solid_capstyle": "butt", "clip_on": False, "zorder": 3}
        marked: dict[str, Any] = {"ms": 8, "mec": ink(), "mew": 0.8}
        for part, colour, mark, name, end in (
            (self.top, TOP_COLOUR, "o", top, -1),
            (self.bottom, BOTTOM_COLOUR, "s", bottom, 0),
        ):
            place = [end % len(part)]
            options = {**thick, **marked, "marker": mark, "markevery": place}
            axes.plot(*part.T, color=colour, label=name, **options)
        axes.plot([0, 1], [0, 1], color=ink(), lw=0.9, ls=":", alpha=0.7, label="by chance")
        axes.set_xlim(0.0, 1.0)
        axes.set_ylim(0.0, 1.0)
        axes.set_aspect("equal")
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=SMALL)
        axes.set_xlabel("false positive rate", size=_SIZE)
        axes.set_ylabel("true positive rate", size=_SIZE)
        axes.legend(loc="lower right", fontsize=SMALL, frameon=False)
        return self

    def _part(self, first: float, last: float) -> FloatArray:
        """The curve from one rank to another."""
        inside = self.ranks[(self.ranks > first) & (self.ranks < last)]
        at = np.concatenate([[first], inside, [last]])
        return np.column_stack([np.interp(at, self.ranks, rates) for rates in (self.fpr, self.tpr)])


def plot_rank_roc(contrast: Any, *, ax: Axes | None = None) -> RankRocDisplay:
    """Draw the ROC curve of a ranking with its ends.

    Parameters
    ----------
    contrast : RankContrast
        Fitted with labels.
    ax
        As for `RankRocDisplay.from_estimator`.

    Returns
    -------
    RankRocDisplay
        With `ax_`, `figure_` and the curve.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import RankContrast
    >>> X, y = [[k // 10, k % 3] for k in range(40)], [k >= 20 for k in range(40)]
    >>> plot_rank_roc(RankContrast(top=5, bottom=5).fit(X, y)).auc
    1.0
    """
    return RankRocDisplay.from_estimator(contrast, ax=ax)


def _ranks(fpr: FloatArray, tpr: FloatArray, scores: FloatArray) -> FloatArray:
    """How many rows are at each point of the curve or before it.

    That is ``P tpr + (m - P) fpr`` with P positive rows of m. P follows from one point off the diagonal whose number of
    rows is known: that of the first one is the number of rows with the highest score, later ones may be any number of
    rows down to some score, and the one is taken with which all points of the curve are such numbers. On the
    diagonal itself P does not matter.
    """
    m = len(scores)
    _, sizes = np.unique(-scores, return_counts=True)
    steps: IntArray = np.cumsum(sizes)
    off = np.flatnonzero(np.abs(tpr - fpr) > _ROUNDING)
    if not len(off):
        return m * tpr
    k = off[0]
    counts = steps[:1] if k == 1 else steps
    allowed = np.concatenate([[0], steps])
    for positive in np.rint((counts - m * fpr[k]) / (tpr[k] - fpr[k])):
        ranks = np.rint(positive * tpr) + np.rint((m - positive) * fpr)
        exact = np.allclose(ranks, positive * tpr + (m - positive) * fpr, rtol=0, atol=1e-6)
        if 0 < positive < m and exact and np.isin(ranks, allowed).all():
            return np.asarray(ranks, dtype=np.float64)
    raise InvalidValueError(
        "roc_ of the contrast is not the curve of its scores_; fit the contrast anew with fit(X, y)"
    )
