"""The machine over all rules: its linear programs, one for each score, and the choice of C by cross-validation.

The program stands in `rule_lp`. C is tried at multiples of the smallest cost at which a rule enters, so that the grid
suits the number of rows and their weights, and no machine in it is without a rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clearmargin.exceptions import TimeLimitError
from clearmargin.progress import Progress, advance, task
from clearmargin.rule_svm.choice import Problem, weighted_accuracy
from clearmargin.rule_svm.refit import Columns, hinge_weights
from clearmargin.rule_svm.rule_lp import FixedColumns, RuleLPSolution, smallest_cost, solve_rule_lp
from clearmargin.rule_svm.selection import Column, column_matrix
from clearmargin.rule_svm.training_rows import RowSample
from clearmargin.rule_svm.work import Budget
from clearmargin.rules.value import FloatArray, IntArray

__all__ = ["AllRules", "CostChoice", "choose_cost"]

# Ten times the smallest cost is where few rules are chosen from; trials found no more to gain at larger ones.
USUAL_MULTIPLE = 10.0
_MULTIPLES = (2.0, 4.0, 10.0, 20.0)
# In folds a machine need not be optimal to be compared with others.
_FOLD_TOL = 1e-3


@dataclass(frozen=True, slots=True)
class AllRules:
    """The linear programs over all rules of a problem.

    Parameters
    ----------
    problem : Problem
        What rules may be, over which rows.
    fixed : FixedColumns
        Linear terms and experts' rules.
    tol : float
        Relative gap to reach.
    time_limit : float or None
        Seconds for each program.
    max_work : float or None, default None
        Work for each program, as for `solve_rule_lp`.
    """

    problem: Problem
    fixed: FixedColumns
    tol: float
    time_limit: float | None
    max_work: float | None = None

    def _options(self) -> dict[str, Any]:
        return {
            "max_conditions": self.problem.max_conditions,
            "penalty": self.problem.penalty,
            "monotone": self.problem.monotone,
        }

    def take(self, rows: IntArray, tol: float) -> AllRules:
        """Give the programs over some of the rows."""
        fixed = FixedColumns(self.fixed.values[rows], self.fixed.price, self.fixed.sign)
        return replace(self, problem=self.problem.take(rows), fixed=fixed, tol=tol)

    def smallest_cost(self, sample: RowSample | None = None) -> float:
        """Find the smallest cost at which a rule enters some score; infinite if none ever does.

        With a sample, that of as many rows like those of the sample as there are rows in all.
        """
        problem = self.problem
        if sample is not None:
            share = len(sample.rows) / len(problem.rows.table)
            problem = problem.take(sample.rows, sample.weight / share)
        return min(
            smallest_cost(
                problem.conditions, problem.rows.table, y, problem.rows.weight, **self._options()
            )
            for y in problem.rows.signs
        )

    def solve(
        self,
        C: float,
        start: Sequence[IntArray] | None = None,
        max_rounds: int | None = None,
    ) -> list[RuleLPSolution]:
        """Solve the programs at a cost, one for each score."""
        problem = self.problem
        return [
            solve_rule_lp(
                problem.conditions,
                problem.rows.table,
                y,
                C * problem.rows.weight,
                fixed=self.fixed,
                start=None if start is None else start[k],
                tol=self.tol,
                time_limit=self.time_limit,
                max_work=self.max_work,
                max_rounds=max_rounds,
                **self._options(),
            )
            for k, y in enumerate(problem.rows.signs)
        ]

    def scores(self, solutions: Sequence[RuleLPSolution]) -> FloatArray:
        """Give the scores of the rows of this problem, of shape (K, m)."""
        table = self.problem.rows.table
        return np.array(
            [
                self.problem.conditions.rule_masks(s.items, table) @ s.weights
                + self.fixed.values @ s.fixed_weights
                + s.intercept
                for s in solutions
            ]
        )

    def cap_cost(self, chosen: Sequence[Column], C: float, bounds: FloatArray) -> float:
        """Give by which share the best objective over chosen rules alone exceeds what is certified over all rules.

        NaN where that takes more work or time than there is, as linear terms of very many rows may.
        """
        problem = self.problem
        rules = [column for column in chosen if column.extra < 0]
        own = column_matrix(rules, problem.conditions, problem.rows.table, problem.extra)
        n_fixed = own.values.shape[1] - len(rules)
        columns = Columns(
            np.column_stack([own.values[:, :1], self.fixed.values, own.values[:, n_fixed:]]),
            np.concatenate([[0.0], self.fixed.price, own.penalty[n_fixed:]]),
            np.concatenate([[0], self.fixed.sign, own.sign[n_fixed:]]).astype(np.intp),
        )
        costs = C * problem.rows.weight
        try:
            reached = sum(
                hinge_weights(columns, y, costs, Budget(self.max_work, self.time_limit))[1]
                for y in problem.rows.signs
            )
        except TimeLimitError:
            return math.nan
        least = float(bounds.sum())
        return max(0.0, reached / least - 1.0) if least > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class CostChoice:
    """What cross-validation found about the cost.

    Parameters
    ----------
    C : float
        The best cost.
    scores : ndarray of shape (m, K)
        Scores of rows not seen at this cost; NaN for rows that no fold tested.
    results : dict
        All costs with their scores, as scikit-learn lists them.
    """

    C: float
    scores: FloatArray
    results: dict[str, Any]


def choose_cost(
    programs: AllRules,
    costs: Sequence[float],
    folds: Sequence[tuple[IntArray, IntArray]],
    progress: Progress = False,
) -> CostChoice:
    """Score costs on rows not seen, and take the best; of equal ones the first.

    Parameters
    ----------
    programs : AllRules
        The programs over all rows.
    costs : sequence of float
        The costs to try, ascending.
    folds : sequence of (train, test)
        Positions of rows.
    progress : bool or "auto", default False
        Whether to show a bar.

    Returns
    -------
    CostChoice
        The best cost.
    """
    rows = programs.problem.rows
    found = np.full((len(costs), *rows.signs.shape), np.nan)
    right = np.empty((len(costs), len(folds)))
    with task("cross-validation", len(folds) * len(costs), show=progress):
        for f, (train, test) in enumerate(folds):
            part, unseen = programs.take(train, _FOLD_TOL), programs.take(test, _FOLD_TOL)
            start: list[IntArray] | None = None
            for c, C in enumerate(costs):
                solutions = part.solve(C, start)
                start = [solution.items for solution in solutions]
                found[c][:, test] = unseen.scores(solutions)
                right[c, f] = weighted_accuracy(
                    found[c][:, test], rows.signs[:, test], rows.weight[test]
                )
                advance()
    means = right.mean(axis=1)
    # Larger costs have more rules.
    best = len(costs) - 1 - int(np.argmax(means[::-1] >= means.max() - 1e-12))
    results = {
        "C": np.array(costs),
        "mean_test_score": means,
        "std_test_score": right.std(axis=1),
        "rank_test_score": (1 + (means[:, None] < means - 1e-12).sum(axis=1)).astype(np.intp),
        **{f"split{f}_test_score": right[:, f] for f in range(len(folds))},
    }
    return CostChoice(costs[best], found[best].T, results)


def cost_grid(programs: AllRules) -> list[float]:
    """List the costs to try; empty if no rule ever enters."""
    smallest = programs.smallest_cost()
    return [] if math.isinf(smallest) else [smallest * multiple for multiple in _MULTIPLES]
