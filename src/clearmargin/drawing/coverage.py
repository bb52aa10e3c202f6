"""How much of each class its rules cover, rule by rule."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from clearmargin.drawing.canvas import (
    VERBATIM,
    class_colours,
    figure_of,
    fit_line,
    open_axes,
    share_text,
    size_of,
)
from clearmargin.drawing.drawn_rules import check_rules, fitted_rules, read_classes
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["CoverageDisplay", "plot_coverage"]

Quantity = Literal["points", "volume"]

_STYLES = ("-", "--", "-.", ":")
_SIZE = 9.0
_WIDEST_LABEL = 1.6


class CoverageDisplay:
    r"""Curves of what the first rule, the first two rules, ... of each class cover.

    Parameters
    ----------
    curves : dict from class to ndarray
        Share covered after one rule, two rules, ...; empty for a class without rules.
    of_what : str
        What the shares are shares of.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("x < 2 => a\nx >= 5 => b\n2 <= x < 3 => a")
    >>> display = CoverageDisplay.from_rules(rules, [[1.0], [2.0], [4.0], [5.0]], ["a", "a", "a", "b"])
    >>> display.curves["a"].round(2).tolist(), display.curves["b"].tolist()
    ([0.33, 0.67], [1.0])
    """

    def __init__(self, *, curves: dict[Label, FloatArray], of_what: str):
        self.curves = curves
        self.of_what = of_what

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        quantity: Quantity = "points",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curves of a fitted extractor.

        Parameters
        ----------
        estimator : RuleExtractor
            Fitted.
        X : data frame or array-like of shape (m, n), optional
            Rows to count, as the model takes them; by default the counts of the training data are used, which
            is possible for disjoint rules.
        y : array-like of shape (m,), optional
            Their classes.
        quantity : {"points", "volume"}, default "points"
            Share of the points of a class that the model classifies correctly, or of the class's part of the domain.
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        CoverageDisplay
            With what was drawn.
        """
        rules = check_rules(fitted_rules(estimator))
        if quantity not in ("points", "volume"):
            raise InvalidValueError(f"quantity must be 'points' or 'volume', not {quantity!r}")
        if (X is None) != (y is None) or (X is not None and quantity == "volume"):
            raise InvalidValueError("X and y are given together, and for quantity='points' alone")
        if quantity == "volume":
            curves, of_what = _volume_curves(estimator), "the class's part of the domain"
        elif X is None:
            curves = _training_curves(estimator, rules)
            of_what = "the class's correctly classified training points"
        else:
            curves = _data_curves(estimator, rules, X, y)
            of_what = "the class's correctly classified points"
        return cls(curves=curves, of_what=of_what).plot(ax)

    @classmethod
    def from_rules(cls, rules: RuleSet, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw the curves of rules, whoever wrote them.

        Parameters
        ----------
        rules : RuleSet
            The rules.
        X : data frame or array-like of shape (m, n)
            Rows to count.
        y : array-like of shape (m,)
            Their classes.
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        CoverageDisplay
            With what was drawn.
        """
        covered = check_rules(rules).covers(X)
        true = np.array([_place(rules, label) for label in read_classes(y, len(covered))])
        curves = {}
        for k, label in enumerate(rules.classes):
            mine = [rule.label == label for rule in rules]
            curves[label] = _shares(_first(covered[:, mine]), true == k, sum(mine))
        return cls(curves=curves, of_what="the class's points").plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        CoverageDisplay
            Itself, with `ax_` and `figure_`.
        """
        axes = open_axes(ax, layout="constrained")
        from matplotlib.ticker import MaxNLocator, PercentFormatter

        self.ax_: Axes = axes
        self.figure_: Figure | SubFigure = figure_of(axes)
        most = max(len(curve) for curve in self.curves.values())
        axes.set_xlim(0.0, most + 0.02 * most)
        axes.set_ylim(0.0, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("number of rules")
        axes.set_ylabel(f"share of {self.of_what}")
        colours = class_colours(list(self.curves))
        for k, (label, curve) in enumerate(self.curves.items()):
            steps = np.concatenate([[0.0], curve])
            style = _STYLES[k % len(_STYLES)]
            axes.step(range(len(steps)), steps, where="post", color=colours[label], ls=style, lw=2)
            axes.plot(len(curve), steps[-1], "o", color=colours[label], ms=5, clip_on=False)
        self._write_labels(colours)
        return self

    def _write_labels(self, colours: Any) -> None:
        """Name each curve at the right, at the height of its end."""
        ax = self.ax_
        right = ax.get_xlim()[1]
        ends = np.array([curve[-1] if len(curve) else 0.0 for curve in self.curves.values()])
        height = 72 * size_of(ax)[1]
        heights = _spread(ends, 2.7 * _SIZE / height * np.ptp(ax.get_ylim()))
        for (label, curve), end, at in zip(self.curves.items(), ends, heights, strict=True):
            count = "1 rule" if len(curve) == 1 else f"{len(curve)} rules"
            summary = f"{share_text(end)}, {count}" if len(curve) else "no rules"
            name = fit_line(plain(label), _WIDEST_LABEL, _SIZE, bold=True)
            joint = right * 1.03
            ax.plot(
                [len(curve), right, joint],
                [end, end, at],
                color=colours[label],
                lw=0.8,
                ls=":",
                clip_on=False,
            )
            text = ax.text(joint * 1.01, at, f"{name}\n{summary}", size=_SIZE, color=colours[label])
            text.set(va="center", **VERBATIM)


def plot_coverage(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    quantity: Quantity = "points",
    ax: Axes | None = None,
) -> CoverageDisplay:
    """Draw how much of each class its rules cover, rule by rule.

    Parameters
    ----------
    source : RuleExtractor or RuleSet
        A fitted extractor, or rules; for rules X and y are needed.
    X, y, quantity, ax
        As for `CoverageDisplay.from_estimator`.

    Returns
    -------
    CoverageDisplay
        With `ax_`, `figure_` and the curves.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from clearmargin import parse_rules
    >>> plot_coverage(parse_rules("x < 2 => a"), [[1.0], [3.0]], ["a", "a"]).curves
    {'a': array([0.5])}
    """
    if not isinstance(source, RuleSet):
        return CoverageDisplay.from_estimator(source, X, y, quantity=quantity, ax=ax)
    if X is None or y is None or quantity != "points":
        raise InvalidValueError("for rules, X and y are needed, and points alone can be counted")
    return CoverageDisplay.from_rules(source, X, y, ax=ax)


def _volume_curves(estimator: Any) -> dict[Label, FloatArray]:
    curves: dict[Label, FloatArray] = getattr(estimator, "volume_curve_", {})
    if not curves:
        raise InvalidValueError(
            "volumes are known for two classes and disjoint rules alone; quantity='points' works for all"
        )
    return dict(curves)


def _training_curves(estimator: Any, rules: RuleSet) -> dict[Label, FloatArray]:
    trace = getattr(estimator, "trace_", None)
    if trace is None or not getattr(estimator, "disjoint", False):
        raise InvalidValueError(
            "the counts of rules that may overlap do not add up; give X and y to count anew"
        )
    curves = {}
    for label in rules.classes:
        correct = [r.stats.correct for r in rules if r.label == label and r.stats is not None]
        counts = np.array(correct, dtype=np.float64)
        curves[label] = np.cumsum(counts) / max(1, trace[label].points)
    return curves


def _data_curves(estimator: Any, rules: RuleSet, X: Any, y: Any) -> dict[Label, FloatArray]:
    which = estimator.which(X)
    # What the model predicts, not the fallback where no rule fires.
    model = getattr(estimator, "estimator_", estimator)
    predicted = np.array([_place(rules, c) for c in read_classes(model.predict(X), len(which))])
    true = np.array([_place(rules, label) for label in read_classes(y, len(which))])
    curves = {}
    for k, label in enumerate(rules.classes):
        mine = np.flatnonzero([rule.label == label for rule in rules])
        # Rules of two classes never meet: the first rule of all is the first of its class.
        order = np.full(len(rules) + 1, -1)
        order[mine] = np.arange(len(mine))
        curves[label] = _shares(order[which], (true == k) & (predicted == k), len(mine))
    return curves


def _place(rules: RuleSet, label: Any) -> int:
    return rules.classes.index(label) if label in rules.classes else -1


def _first(covered: BoolArray) -> IntArray:
    """Return the first column that is true in each row, -1 where none is."""
    padded = np.column_stack([covered, np.ones(len(covered), dtype=np.bool_)])
    first = np.argmax(padded, axis=1)
    return np.where(first == covered.shape[1], -1, first)


def _shares(first: IntArray, counted: BoolArray, n_rules: int) -> FloatArray:
    """Compute the share of the rows counted that one rule, two rules, ... cover."""
    hits = first[counted & (first >= 0)]
    share: FloatArray = np.cumsum(np.bincount(hits, minlength=n_rules)) / max(1, counted.sum())
    return share


def _spread(heights: FloatArray, gap: float) -> FloatArray:
    """Move heights apart until neighbours keep a distance, from the top down."""
    spread = heights.copy()
    order = np.argsort(-heights, kind="stable")
    for above, below in pairwise(order):
        spread[below] = min(spread[below], spread[above] - gap)
    return spread
