"""How many rules, of how many conditions, which loss and how much of it: chosen by cross-validation.

In every fold rules are chosen anew from its training rows alone, so that what is measured on its test rows is what
rules of this kind achieve on rows not seen, on noise too. What counts is the mean of *accuracy minus log loss* (of
scores times the factor that suits them best): the accuracy alone jumps from row to row, and on weak tables it left one
rule where fifteen were better. The highest wins; of equal ones that of more conditions, then that with more rules, then
the loss and the cost named first. There is no rule of one standard error, which cost a point in trials, and a
machine without any rule is never in the choice where there is a rule.

Rules of two conditions say more than single ones, but are chosen among many more, so that on some tables they are worse
on rows not seen. With `max_conditions` above 1, rules of fewer conditions are therefore tried as well, chosen among
themselves: see docs/decisions/0018. It costs little, since single conditions are priced by a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearmargin.progress import Progress, advance, task
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.refit import Columns, fit_weights
from clearmargin.rule_svm.selection import (
    Column,
    ExtraColumns,
    Rows,
    RuleSearch,
    column_matrix,
    select_columns,
)
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

__all__ = ["Choice", "Problem", "Setting", "choose_setting", "settings_up_to"]

# Costs of a unit of loss of an average row: penalties of 1, 4 and 16, where 4 was best on tuning tables on average.
_COSTS = {"logistic": (0.25, 1.0, 0.0625), "squared_hinge": (0.25, 1.0), "hinge": (0.1, 1.0)}
# Numbers of rules that are tried, as shares of the most.
_SHARES = (1.0, 0.8, 0.6, 0.4, 0.25, 0.15)
# Factors of scores in the log loss: the scores of a hinge loss are in other units than those of the logistic loss.
_FACTORS = 2.0 ** np.arange(-2, 3)
# Sums in another order differ by rounding, which must not decide.
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Setting:
    """How a machine of few rules is fitted.

    Parameters
    ----------
    n_columns : int
        Most columns that are chosen.
    loss : {"logistic", "squared_hinge", "hinge"}
        The loss of the last fit.
    C : float
        The cost of a unit of it of an average row.
    max_conditions : int
        Most conditions of a rule.
    """

    n_columns: int
    loss: str
    C: float
    max_conditions: int


@dataclass(frozen=True, slots=True)
class Problem:
    """What rules may be, over some rows.

    Parameters
    ----------
    conditions : Conditions
        What they consist of.
    rows : Rows
        All training rows.
    extra : ExtraColumns
        Columns beside the rules.
    max_conditions : int
        Most conditions of a rule.
    penalty : float
        What each condition after the first adds to the cost of a rule.
    monotone : ndarray of int of shape (n,) or None
        Directions of features.
    """

    conditions: Conditions
    rows: Rows
    extra: ExtraColumns
    max_conditions: int
    penalty: float
    monotone: IntArray | None

    def take(self, rows: IntArray, weight: FloatArray | None = None) -> Problem:
        """Give the problem on some of the rows, with the same conditions and, where given, factors of weights."""
        part = self.rows.take(rows)
        if weight is not None:
            part = Rows(part.table, part.signs, part.weight * weight)
        return replace(self, rows=part, extra=self.extra.take(rows))

    def select(self, most: int, max_conditions: int) -> list[Column]:
        """Choose at most so many columns, rules of at most so many conditions."""
        search = RuleSearch(
            self.conditions,
            self.rows,
            self.extra,
            max_conditions,
            self.penalty,
            self.monotone,
        )
        return select_columns(search, self.rows, most)

    def columns(self, chosen: Sequence[Column]) -> Columns:
        """Make the columns of the rows."""
        return column_matrix(chosen, self.conditions, self.rows.table, self.extra)

    def fit(
        self, columns: Columns, loss: str, C: float, start: FloatArray | None = None
    ) -> FloatArray:
        """Fit the weights of columns for each score, of shape (K, q)."""
        return np.array(
            [
                fit_weights(columns, y, self.rows.weight, loss, C, None if start is None else old)
                for y, old in zip(
                    self.rows.signs,
                    start if start is not None else self.rows.signs,
                    strict=True,
                )
            ]
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """What cross-validation found.

    Parameters
    ----------
    setting : Setting
        The best one.
    merit : float
        Its accuracy minus its log loss.
    scores : ndarray of shape (m, K)
        Scores of rows not seen, under it; NaN for rows that no fold tested.
    results : dict
        All settings with their scores, as scikit-learn lists them.
    """

    setting: Setting
    merit: float
    scores: FloatArray
    results: dict[str, Any]


def settings_up_to(
    most: int, losses: Sequence[str], C: float | None, max_conditions: int, *, least: int = 1
) -> list[Setting]:
    """List the settings to try, preferred ones first.

    Parameters
    ----------
    most : int
        Most columns.
    losses : sequence of str
        The losses.
    C : float or None
        The cost, where it is given.
    max_conditions : int
        Most conditions of a rule: machines of shorter rules are tried, too.
    least : int, default 1
        Fewest columns; 0 where there is something beside them.

    Examples
    --------
    >>> [s.n_columns for s in settings_up_to(15, ["logistic"], 1.0, 1)]
    [15, 12, 9, 6, 4, 2, 1]
    >>> [(s.n_columns, s.max_conditions) for s in settings_up_to(2, ["logistic"], 1.0, 2)]
    [(2, 2), (1, 2), (2, 1), (1, 1)]
    """
    numbers = {max(1, round(most * share)) for share in _SHARES} | {1, least}
    return [
        Setting(n, loss, cost, conditions)
        for conditions in range(max_conditions, 0, -1)
        for n in sorted(numbers, reverse=True)
        if n <= most
        for loss in losses
        for cost in (_COSTS[loss] if C is None else (C,))
    ]


def choose_setting(
    problem: Problem,
    settings: Sequence[Setting],
    folds: Sequence[tuple[IntArray, IntArray]],
    progress: Progress = False,
) -> Choice:
    """Score settings on rows not seen and take the best.

    Parameters
    ----------
    problem : Problem
        What rules may be, over all rows.
    settings : sequence of Setting
        What to try, preferred ones first.
    folds : sequence of (train, test)
        Positions of rows.
    progress : bool or "auto", default False
        Whether to show a bar.

    Returns
    -------
    Choice
        The best setting with its scores.
    """
    rows = problem.rows
    found = np.full((len(settings), *rows.signs.shape), np.nan)
    right = np.empty((len(settings), len(folds)))
    with task("cross-validation", len(folds), show=progress):
        for f, (train, test) in enumerate(folds):
            found[:, :, test] = _fold_scores(problem, settings, train, test)
            signs, weight = rows.signs[:, test], rows.weight[test]
            for s in range(len(settings)):
                right[s, f] = weighted_accuracy(found[s][:, test], signs, weight)
            advance()
    tested = np.flatnonzero(~np.isnan(found[0, 0]))
    unseen = rows.take(tested)
    merits = np.array([_merit(scores[:, tested], unseen) for scores in found])
    best = int(np.argmax(merits >= merits.max() - _TIE))
    results = _results(settings, right, merits)
    return Choice(settings[best], float(merits[best]), found[best].T, results)


def _merit(scores: FloatArray, rows: Rows) -> float:
    """Give accuracy minus log loss of scores of shape (K, m)."""
    z = rows.signs * scores
    losses = [
        np.average(np.logaddexp(0.0, -factor * z).sum(axis=0), weights=rows.weight)
        for factor in _FACTORS
    ]
    return weighted_accuracy(scores, rows.signs, rows.weight) - float(min(losses))


def _is_right(scores: FloatArray, signs: FloatArray) -> BoolArray:
    is_binary = len(scores) == 1
    predicted, true = (
        each[0] > 0 if is_binary else each.argmax(axis=0) for each in (scores, signs)
    )
    return np.asarray(predicted == true)


def weighted_accuracy(scores: FloatArray, signs: FloatArray, weight: FloatArray) -> float:
    """Give the weighted share of rows whose class is predicted, from scores of shape (K, m).

    Examples
    --------
    >>> weighted_accuracy(np.array([[-1.0, 2.0]]), np.array([[1.0, 1.0]]), np.array([1.0, 3.0]))
    0.75
    """
    return float(weight[_is_right(scores, signs)].sum() / weight.sum())


def _fold_scores(
    problem: Problem, settings: Sequence[Setting], train: IntArray, test: IntArray
) -> FloatArray:
    """Give the scores of the test rows under each setting, of shape (n_settings, K, m_test)."""
    part, tested = problem.take(train), problem.take(test)
    scores = np.empty((len(settings), len(problem.rows.signs), len(test)))
    for most in sorted({setting.max_conditions for setting in settings}):
        own = [s for s, setting in enumerate(settings) if setting.max_conditions == most]
        chosen = part.select(max(settings[s].n_columns for s in own), most)
        columns, unseen = part.columns(chosen), tested.columns(chosen)
        base = columns.values.shape[1] - len(chosen)
        fitted: dict[tuple[int, str, float], FloatArray] = {}
        start: FloatArray | None = None
        for s in own:
            loss, C = settings[s].loss, settings[s].C
            q = base + min(settings[s].n_columns, len(chosen))
            if (q, loss, C) not in fitted:
                near = None if start is None else start[:, :q]
                fitted[q, loss, C] = part.fit(columns.first(q), loss, C, near)
            weights = fitted[q, loss, C]
            start = weights if loss != "hinge" else start
            scores[s] = (unseen.values[:, :q] @ weights.T).T
    return scores


def _results(settings: Sequence[Setting], right: FloatArray, merits: FloatArray) -> dict[str, Any]:
    return {
        "n_rules": np.array([setting.n_columns for setting in settings]),
        "loss": np.array([setting.loss for setting in settings]),
        "C": np.array([setting.C for setting in settings]),
        "max_conditions": np.array([setting.max_conditions for setting in settings]),
        "mean_test_score": right.mean(axis=1),
        "std_test_score": right.std(axis=1),
        "mean_test_merit": merits,
        "rank_test_merit": (1 + (merits[:, None] < merits - _TIE).sum(axis=1)).astype(np.intp),
        **{f"split{f}_test_score": right[:, f] for f in range(right.shape[1])},
    }
