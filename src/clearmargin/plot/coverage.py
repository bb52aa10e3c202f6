"""How much of each class its rules cover, rule by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.prose import plain
from clearmargin.plot.canvas import (
    VERBATIM,
    class_colours,
    fit_line,
    open_axes,
    share_text,
    size_of,
)
from clearmargin.plot.drawn_rules import read_classes, rules_to_draw
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = ("-", "--", "-.", ":")
_SIZE = 9.0
_WIDEST_LABEL = 1.6


def plot_coverage(
    source: Any,
    X: Any = None,
    y: Any = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much of each class its first rule, its first two rules, ... cover."""
    rules = rules_to_draw(source)
    if isinstance(source, RuleSet) and (X is None or y is None):
        raise InvalidValueError("for rules, X and y are needed")
    if (X is None) != (y is None):
        raise InvalidValueError("X and y are given together")
    points = "points" if isinstance(source, RuleSet) else "correctly classified points"
    if X is None:
        curves, of_what = (
            _training_curves(source, rules),
            points.replace("points", "training points"),
        )
    else:
        curves, of_what = _data_curves(source, rules, X, y), points

    ax = open_axes(ax, layout="constrained")
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    most = max(len(curve) for curve in curves.values())
    right = 1.02 * most
    ax.set(xlim=(0.0, right), ylim=(0.0, 1.03))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="number of rules", ylabel=f"share of the class's {of_what}")
    colours = class_colours(list(curves))
    for k, (label, curve) in enumerate(curves.items()):
        steps, style = np.concatenate([[0.0], curve]), _STYLES[k % len(_STYLES)]
        ax.step(range(len(steps)), steps, where="post", color=colours[label], ls=style, lw=2)
        ax.plot(len(curve), steps[-1], "o", color=colours[label], ms=5, clip_on=False)
    # Each curve is named at the right, at the height of its end or below the name of the one above.
    ends = {label: float(curve[-1]) if len(curve) else 0.0 for label, curve in curves.items()}
    at, gap = np.inf, 2.7 * _SIZE / (72 * size_of(ax)[1]) * np.ptp(ax.get_ylim())
    for label in sorted(ends, key=lambda label: -ends[label]):
        end, n, colour = ends[label], len(curves[label]), colours[label]
        at = min(end, at - gap)
        count = "1 rule" if n == 1 else f"{n} rules"
        summary = f"{share_text(end)}, {count}" if n else "no rules"
        name, joint = fit_line(plain(label), _WIDEST_LABEL, _SIZE, bold=True), right * 1.03
        ax.plot([n, right, joint], [end, end, at], color=colour, lw=0.8, ls=":", clip_on=False)
        text = ax.text(joint * 1.01, at, f"{name}\n{summary}", size=_SIZE, color=colour)
        text.set(va="center", **VERBATIM)
    return ax


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


def _data_curves(source: Any, rules: RuleSet, X: Any, y: Any) -> dict[Label, FloatArray]:
    """Count, of the rows of each class (that the model of an estimator gets right), those that k rules cover."""
    # Extracted rules of two classes never meet: the first rule of all is the first of its class.
    is_set = isinstance(source, RuleSet)
    covered = rules.covers(X) if is_set else source.which(X)[:, None] == np.arange(len(rules))
    true = read_classes(y, len(covered))
    # What the model predicts, not the fallback where no rule fires.
    model = getattr(source, "estimator_", source)
    given = true if is_set else read_classes(model.predict(X), len(covered))
    curves = {}
    for label in rules.classes:
        counted = np.array([a == label == b for a, b in zip(true, given, strict=True)], dtype=bool)
        mine = covered[counted][:, [rule.label == label for rule in rules]]
        n = np.logical_or.accumulate(mine, axis=1).sum(axis=0)
        curves[label] = n / max(1, np.count_nonzero(counted))
    return curves
