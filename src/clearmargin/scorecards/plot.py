"""A scorecard as a figure: what holds on the left, its points on the right, with proof from at least to at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from clearmargin.drawing.canvas import (
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    keep_right_part,
    open_axes,
    size_of,
    strip_for_bars,
    wrap,
)
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.language.words import number_text
from clearmargin.scorecards.certified_card import CertifiedScorecard
from clearmargin.scorecards.scorecard import Scorecard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["CardDisplay", "plot_card"]

_SIZE = 9.0
_WIDTH, _LINE_HEIGHT, _GAP = 8.0, 0.2, 0.12
# Above and below the lines: the sentences that say how points decide, and the axis.
_HEAD_LINE, _FOOT = 0.19, 0.55
# The parts of the width that names of features take, and all text.
_NAME_SHARE, _TEXT_SHARE = 0.2, 0.45
# The width of a bar of no width, as a share of the axis.
_THINNEST = 0.004


class CardDisplay:
    """Bars of the points of a card: from nothing to the points of a line, or from at least to at most.

    Parameters
    ----------
    card : Scorecard or CertifiedScorecard
        The card.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import FeatureSpace
    >>> from clearmargin.scorecards import ScoredFeature
    >>> space = FeatureSpace(["age"])
    >>> card = Scorecard([ScoredFeature(0, [0, 2, 5], [40, 60])], 2.5, space, ["well", "ill"])
    >>> len(CardDisplay.from_card(card).ax_.patches)
    3
    """

    def __init__(self, *, card: Scorecard | CertifiedScorecard):
        self.card = card

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the card of a fitted `ScoreRules`.

        Parameters
        ----------
        estimator : ScoreRules
            Fitted.
        ax : Axes, optional
            Where to draw; by default in a new figure as high as it needs to be.

        Returns
        -------
        CardDisplay
            With what was drawn.
        """
        from sklearn.utils.validation import check_is_fitted

        if not hasattr(estimator, "fit"):
            raise InvalidValueError(
                f"from_estimator takes a fitted ScoreRules, not {type(estimator).__name__}; for a card there is "
                "from_card"
            )
        check_is_fitted(estimator)
        card = getattr(estimator, "scorecard_", None)
        if card is None:
            raise InvalidValueError(
                f"{type(estimator).__name__} has no scorecard; fit a ScoreRules"
            )
        return cls.from_card(card, ax=ax)

    @classmethod
    def from_card(cls, card: Scorecard | CertifiedScorecard, *, ax: Axes | None = None) -> Self:
        """Draw a card.

        Parameters
        ----------
        card : Scorecard or CertifiedScorecard
            The card.
        ax : Axes, optional
            Where to draw; by default in a new figure as high as it needs to be.

        Returns
        -------
        CardDisplay
            With what was drawn.
        """
        if not isinstance(card, Scorecard | CertifiedScorecard):
            raise InvalidValueError(f"a scorecard is needed, not {type(card).__name__}")
        if not card.lines():
            raise InvalidValueError(
                "there are no lines to draw: the card gives all cases the same points"
            )
        return cls(card=card).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure as high as it needs to be.

        Returns
        -------
        CardDisplay
            Itself, with `ax_` and `figure_`.
        """
        lines = self._lines()
        tops, bottom = [], 0.0
        for k, (name, *_) in enumerate(lines):
            bottom += _GAP if k and name != lines[k - 1][0] else 0.0
            tops.append(bottom)
            bottom += _LINE_HEIGHT
        width = _WIDTH if ax is None else size_of(ax)[0]
        title = self._title(width)
        head = _HEAD_LINE * (len(title) + 1)
        size = (_WIDTH, bottom + head + _FOOT)
        axes = open_axes(ax, size)
        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        if ax is None:
            low = _FOOT / size[1]
            axes.set_position((_TEXT_SHARE, low, 0.96 - _TEXT_SHARE, bottom / size[1]))
        else:
            keep_right_part(axes, _TEXT_SHARE)
        self._draw(lines, tops, bottom, width)
        axes.set_title("\n".join(title), loc="right", size=_SIZE, **VERBATIM)
        axes.set_xlabel(f"points towards {plain(self.card.classes[1])}", size=_SIZE, **VERBATIM)
        return self

    def _lines(self) -> list[tuple[str, str, float, float]]:
        """Return name, condition and both ends of the bar of each line."""
        if isinstance(self.card, CertifiedScorecard):
            return [(name, text, float(a), float(b)) for name, text, a, b in self.card.lines()]
        return [(name, text, 0.0, points) for name, text, points in self.card.lines()]

    def _title(self, width: float) -> list[str]:
        said = [] if isinstance(self.card, Scorecard) else [self.card.about]
        sentences = [*said, *self.card.summary().splitlines()]
        return [
            line for text in sentences if text for line in wrap(plain(text), 0.95 * width, _SIZE)
        ]

    def _draw(
        self,
        lines: list[tuple[str, str, float, float]],
        tops: list[float],
        bottom: float,
        width: float,
    ) -> None:
        ax, card = self.ax_, self.card
        colour = class_colours(list(card.classes))[card.classes[1]]
        lowest = min(0.0, *(low for _, _, low, _ in lines))
        highest = max(high for *_, high in lines)
        reach = highest - lowest or 1.0
        # Numbers stand beside the bars.
        ax.set_xlim(lowest - 0.02 * reach, highest + 0.22 * reach)
        ax.set_ylim(bottom, 0.0)
        rows = ax.get_yaxis_transform()
        shares = ((_NAME_SHARE, 0.0), (_TEXT_SHARE - _NAME_SHARE, _NAME_SHARE))
        for k, ((name, text, low, high), top) in enumerate(zip(lines, tops, strict=True)):
            middle = top + _LINE_HEIGHT / 2
            if not k or name != lines[k - 1][0]:
                shown = fit_line(plain(name), shares[0][0] * width - 0.1, _SIZE, bold=True)
                at = -(_TEXT_SHARE - 0.01) / (0.96 - _TEXT_SHARE)
                ax.text(
                    at,
                    middle,
                    shown,
                    transform=rows,
                    va="center",
                    size=_SIZE,
                    weight="bold",
                    **VERBATIM,
                )
            shown = fit_line(plain(text), shares[1][0] * width - 0.1, _SIZE)
            ax.text(
                -0.02,
                middle,
                shown,
                transform=rows,
                ha="right",
                va="center",
                size=_SIZE,
                **VERBATIM,
            )
            drawn = max(high - low, _THINNEST * reach)
            ax.barh(middle, drawn, 0.75 * _LINE_HEIGHT, left=low, color=colour)
            ax.annotate(
                self._numbers(low, high),
                (low + drawn, middle),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                size=_SIZE - 1,
            )
        strip_for_bars(ax, _SIZE - 1)
        ax.locator_params(axis="x", integer=True)

    def _numbers(self, low: float, high: float) -> str:
        if isinstance(self.card, Scorecard) or low == high:
            return number_text(high)
        return f"{number_text(low)} to {number_text(high)}"


def plot_card(model: Any, *, ax: Axes | None = None) -> CardDisplay:
    """Draw a scorecard: a bar for each line, of a card with proof from the points at least to the points at most.

    Parameters
    ----------
    model : ScoreRules, Scorecard or CertifiedScorecard
        Fitted.
    ax : Axes, optional
        Where to draw; by default in a new figure as high as it needs to be.

    Returns
    -------
    CardDisplay
        With what was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import ScoreRules
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> card = ScoreRules(certify=True, max_rules=5).fit(X, y)
    >>> len(plot_card(card).ax_.patches) == len(card.scorecard_.lines())
    True
    """
    if isinstance(model, Scorecard | CertifiedScorecard):
        return CardDisplay.from_card(model, ax=ax)
    return CardDisplay.from_estimator(model, ax=ax)
