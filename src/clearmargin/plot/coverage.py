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

    ax.set(xlim=(0.0, 1.02 * max(map(len, curves.values()))), ylim=(0.0, 1.03))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="number of rules", ylabel=f"share of the class's {of_what}")
    colours = class_colours(list(curves))
    for k, (label, curve) in enumerate(curves.items()):
        steps, style = np.concatenate([[0.0], curve]), _STYLES[k % len(_STYLES)]
        name = fit_line(plain(label), _WIDEST_LABEL, _SIZE)
        count = f"{len(curve)} rule{'s' * (len(curve) != 1)}"
        known: dict[str, Any] = {"label": f"{name}\n{share_text(float(steps[-1]))}, {count}"}
        known |= {"color": colours[label], "ls": style, "lw": 2}
        ax.step(range(len(steps)), steps, where="post", **known)
        ax.plot(len(curve), steps[-1], "o", color=colours[label], ms=5, clip_on=False)
    key: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
    for text in ax.legend(fontsize=_SIZE, **key).get_texts():
        text.set(**VERBATIM)
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
