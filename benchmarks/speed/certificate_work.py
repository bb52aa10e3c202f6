"""How long the counted work of the linear program over all rules takes, on tables of many shapes.

``python -m benchmarks.speed.certificate_work`` prints a line for each table: units of work that were allowed, processor
seconds, rounds and the certified gap, which is the same on every machine.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from clearmargin import FeatureSpace
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.rule_lp import smallest_cost, solve_rule_lp

# Rows, features, share of the class at 1, bins, most conditions.
SHAPES = (
    (1_000, 20, 0.2, 32, 2),
    (4_000, 30, 0.4, 32, 2),
    (1_000, 60, 0.4, 32, 2),
    (1_000, 10, 0.4, 32, 3),
    (20_000, 10, 0.3, 32, 2),
    (1_000, 20, 0.3, 256, 2),
    (500, 100, 0.3, 4, 2),
    (50_000, 20, 0.3, 32, 2),
)
WORK = 2.0
TIMES_SMALLEST = 10.0

Floats = NDArray[np.float64]


def draw(rows: int, features: int, share: float, bins: int) -> tuple[Conditions, Floats, Floats]:
    """Draw a table with signs: a sum, a product, a rule of two conditions and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * (X[:, 3] > 0) * (X[:, 4] < 0.5)
    score += 0.7 * rng.normal(size=rows)
    y = np.where(score > np.quantile(score, 1 - share), 1.0, -1.0)
    space = FeatureSpace([f"x{j}" for j in range(features)])
    return Conditions.of_table(space, X, bins), X, y


def main() -> None:
    """Print a line for each table."""
    for rows, features, share, bins, size in SHAPES:
        conditions, X, y = draw(rows, features, share, bins)
        costs = np.ones(rows)
        costs *= TIMES_SMALLEST * smallest_cost(conditions, X, y, costs, max_conditions=size)
        start = time.process_time()
        found = solve_rule_lp(conditions, X, y, costs, max_conditions=size, max_work=WORK)
        seconds = time.process_time() - start
        print(
            f"{rows:,} x {features}, {bins} bins, {size} conditions: {WORK:g} units took {seconds:.2f} s, "
            f"{found.rounds} rounds, gap {found.gap:.6g} ({found.stopped})"
        )


if __name__ == "__main__":
    main()
