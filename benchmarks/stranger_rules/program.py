"""How long the program over all rules takes to its certified optimum."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from benchmarks.stranger_rules.records import Record
from clearmargin import FeatureSpace
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.rule_lp import smallest_cost, solve_rule_lp

__all__ = ["SIZES", "TOPIC", "measure_program"]

TOPIC = "program"
# Rows, columns and the CPU seconds that are wanted at most.
SIZES = ((1_000, 20, 2.0), (10_000, 20, 10.0))
_FACTOR, _BINS = 10.0, 32


def measure_program(rows: int, columns: int) -> list[Record]:
    """Solve the 1-norm SVM over all rules of at most two conditions, at ten times the smallest cost.

    Parameters
    ----------
    rows, columns : int
        The size of the table, which is drawn.

    Returns
    -------
    list of Record
        One.
    """
    X, y = make_classification(
        rows, columns, n_informative=10, n_redundant=0, flip_y=0.1, random_state=0
    )
    space = FeatureSpace.from_data(X)
    signs = np.where(y == 1, 1.0, -1.0)
    with threadpool_limits(1):
        start = time.process_time()
        table = space.read(X)
        conditions = Conditions.of_table(space, table, _BINS)
        least = smallest_cost(conditions, table, signs, np.ones(rows), max_conditions=2)
        costs = np.full(rows, _FACTOR * least)
        found = solve_rule_lp(conditions, table, signs, costs, max_conditions=2)
        seconds = time.process_time() - start
    figures = {
        "seconds": seconds,
        "gap": float(found.gap),
        "columns": float(len(found.items)),
        "rounds": float(found.rounds),
    }
    return [Record(TOPIC, f"{rows:,} x {columns}", 0, "RuleSVC, the whole program", figures)]
