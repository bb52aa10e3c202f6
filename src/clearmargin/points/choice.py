"""How many rules, of how many conditions, and the cost of the last fit: chosen by cross-validation.

In every fold rules are chosen anew from its training rows alone, so that what is measured on its test rows is what
rules of this kind achieve on rows not seen, on noise too. What counts is the mean of *accuracy minus log loss* (of
scores times the factor that suits them best): the accuracy alone jumps from row to row, and on weak tables it left one
rule where fifteen were better. The highest wins; of equal ones that of more conditions, then that with more rules, then
the cost named first. There is no rule of one standard error, which cost a point in trials, and a
machine without any rule is never in the choice where there is a rule.

Rules of two conditions say more than single ones, but are chosen among many more, so that on some tables they are worse
on rows not seen. With `max_conditions` above 1, rules of fewer conditions are therefore tried as well, chosen among
themselves: see docs/decisions/0018. It costs little, since single conditions are priced by a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.points.engine import Task
from clearmargin.points.logistic import accuracy, merit
from clearmargin.progress import Progress, advance, task
from clearmargin.rules.value import FloatArray, IntArray

# Costs of a unit of loss of an average row: penalties of 1, 4 and 16, where 4 was best on tuning tables on average.
COSTS = (0.25, 1.0, 0.0625)
# Numbers of rules that are tried, as shares of the most.
_SHARES = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15)
# Sums in another order differ by rounding, which must not decide.
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Setting:
    """How a machine of few rules is fitted."""

    n_columns: int
    C: float
    max_conditions: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The best setting, its merit and mean accuracy, its scores (K, m) of rows not seen, and all results."""

    setting: Setting
    merit: float
    accuracy: float
    scores: FloatArray
    results: dict[str, Any]


def settings_up_to(most: int, max_conditions: int, *, least: int = 1) -> list[Setting]:
    """List the settings to try, preferred ones first."""
    numbers = {max(1, round(most * share)) for share in _SHARES} | {1, least}
    return [
        Setting(n, cost, conditions)
        for conditions in range(max_conditions, 0, -1)
        for n in sorted(numbers, reverse=True)
        if n <= most
        for cost in COSTS
    ]


def choose_setting(
    rows: Task,
    settings: Sequence[Setting],
    folds: Sequence[tuple[IntArray, IntArray]],
    progress: Progress = False,
) -> Choice:
    """Score settings on rows not seen and take the best."""
    found = np.full((len(settings), *rows.target.shape), np.nan)
    right = np.empty((len(settings), len(folds)))
    with task("cross-validation", len(folds), show=progress):
        for f, (train, test) in enumerate(folds):
            unseen = rows.take(test)
            found[:, :, test] = _fold_scores(rows.take(train), unseen, settings)
            for s in range(len(settings)):
                right[s, f] = accuracy(found[s][:, test], unseen.target, unseen.weight)
            advance()
    tested = np.flatnonzero(~np.isnan(found[0, 0]))
    target, weight = rows.target[:, tested], rows.weight[tested]
    merits = np.array([merit(scores[:, tested], target, weight) for scores in found])
    best = int(np.argmax(merits >= merits.max() - _TIE))
    means = right.mean(axis=1)
    results = {
        "n_rules": np.array([setting.n_columns for setting in settings]),
        "C": np.array([setting.C for setting in settings]),
        "max_conditions": np.array([setting.max_conditions for setting in settings]),
        "mean_test_score": means,
        "std_test_score": right.std(axis=1),
        "mean_test_merit": merits,
        "rank_test_merit": (1 + (merits[:, None] < merits - _TIE).sum(axis=1)).astype(np.intp),
        **{f"split{f}_test_score": right[:, f] for f in range(right.shape[1])},
    }
    return Choice(settings[best], float(merits[best]), float(means[best]), found[best], results)


def _fold_scores(part: Task, unseen: Task, settings: Sequence[Setting]) -> FloatArray:
    """Give the scores of rows not seen under each setting, of shape (n_settings, K, m)."""
    scores = np.empty((len(settings), *unseen.target.shape))
    for most in sorted({setting.max_conditions for setting in settings}):
        own = [s for s, setting in enumerate(settings) if setting.max_conditions == most]
        chosen = part.select(max(settings[s].n_columns for s in own), most)
        (values, price, sign), (rows, _, _) = part.design(chosen), unseen.design(chosen)
        fitted: dict[tuple[int, float], FloatArray] = {}
        start: FloatArray | None = None
        for s in own:
            C = settings[s].C
            q = values.shape[1] - max(0, len(chosen) - settings[s].n_columns)
            if (q, C) not in fitted:
                near = None if start is None else start[:, :q]
                fitted[q, C] = part.fit((values[:, :q], price[:q], sign[:q]), C, near)
            start = fitted[q, C]
            scores[s] = start @ rows[:, :q].T
    return scores
