"""The 1-norm SVM over all rules: column generation beside HiGHS on the program of all rules at once.

The peer gets the whole program, a column for each set of rows that some rule of at most two conditions holds for,
through scipy. Its table is small, because of 10,000 rows and 20 features with 32 bins it would have 700,000 dense
columns. Both values are compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.datasets import make_classification

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin import FeatureSpace
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.rule_lp import RuleLPSolution, smallest_cost, solve_rule_lp

# Rows, features and bins: of the peer's table, and of ours.
SMALL = (200, 5, 8)
LARGE = ((1_000, 20, 32, 2), (10_000, 20, 32, 10))  # and the seconds that are required
TIMES_SMALLEST = 10.0
GAP = 1e-6

Floats = NDArray[np.float64]


class Problem:
    """A table with signs, its conditions, and ten times the smallest cost at which a rule enters."""

    def __init__(self, rows: int, features: int, bins: int):
        informative = min(10, features - 1)
        self.table, y = make_classification(
            rows, features, n_informative=informative, n_redundant=0, flip_y=0.1, random_state=0
        )
        self.y = np.where(y == 1, 1.0, -1.0)
        space = FeatureSpace([f"x{j}" for j in range(features)])
        self.conditions = Conditions.of_table(space, self.table, bins)
        self.costs = np.ones(rows)
        self.costs *= TIMES_SMALLEST * smallest_cost(
            self.conditions, self.table, self.y, self.costs
        )

    def solve(self) -> RuleLPSolution:
        """Solve by column generation."""
        return solve_rule_lp(self.conditions, self.table, self.y, self.costs, tol=GAP)

    def covers(self) -> Floats:
        """Give a column for each set of rows that some rule of at most two conditions holds for."""
        masks = self.conditions.masks(self.table)
        pairs = masks[:, :, None] & masks[:, None, :]
        columns = np.unique(pairs.reshape(len(masks), -1), axis=1)
        return columns[:, columns.any(axis=0)].astype(np.float64)

    def solve_whole(self, covers: Floats) -> float:
        """Solve the program of all rules by HiGHS."""
        m, p = covers.shape
        signed = -self.y[:, None] * np.hstack([covers, -covers, np.ones((m, 1))])
        bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * m
        cost = np.concatenate([np.ones(2 * p), [0.0], self.costs])
        A = np.hstack([signed, -np.eye(m)])
        value = linprog(cost, A, -np.ones(m), bounds=bounds, method="highs").fun
        assert value is not None
        return float(value)


def section() -> Section:
    """Both on a small table, and column generation alone at the sizes that are required."""
    small = Problem(*SMALL)
    covers = small.covers()
    value = small.solve_whole(covers)
    ours = small.solve()
    assert abs(ours.objective - value) <= 2 * GAP * value, "the two programs have other values"
    times = race(small.solve, lambda: small.solve_whole(covers), repeat=2)
    factor = times[1] / times[0]
    rows = [_row(SMALL, times[0], ours, f"{times[1]:.2f} s, {covers.shape[1]:,} columns")]
    said = []
    for *shape, required in LARGE:
        problem = Problem(*shape)
        start = time.process_time()
        solution = problem.solve()
        seconds = time.process_time() - start
        rows.append(_row(shape, seconds, solution, "-"))
        met = "met" if seconds < required and solution.gap <= GAP else "**missed**"
        said.append(f"{shape[0]:,} rows: {seconds:.1f} s (required: {required} s; {met})")
    return Section(
        "The 1-norm SVM over all rules",
        f"All rules of at most two conditions, at {TIMES_SMALLEST:.0f} times the smallest cost at which one enters, to "
        f"a certified gap of {GAP:g}; tables of `make_classification`, 10 % of the labels flipped. Processor seconds. "
        "HiGHS gets a column for each different set of rows, through scipy; its value is the same.",
        Table(
            ["rows x features, bins", "column generation", "rounds", "rules", "gap", "HiGHS, all"],
            rows,
        ),
        f"{'; '.join(said)}. On the small table HiGHS with all columns takes {factor:.0f} times as long.",
        f"the optimum over all rules takes {rows[-1][1]} at 10,000 x 20, certified.",
        {"HiGHS on all rules / column generation": Ratio(factor)},
    )


def _row(shape: Sequence[int], seconds: float, solution: RuleLPSolution, peer: str) -> list[str]:
    rows, features, bins = shape
    used = int(np.count_nonzero(solution.weights))
    return [
        f"{rows:,} x {features}, {bins}",
        f"{seconds:.2f} s",
        f"{solution.rounds}",
        f"{used} of {len(solution.items)}",
        f"{solution.gap:.0e}",
        peer,
    ]


if __name__ == "__main__":
    print(section().to_markdown())
