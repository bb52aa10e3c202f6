"""Where the few rules of `RuleSVC` are chosen from, on tables for tuning: ``python -m benchmarks.rule_choice``.

Ways to choose, all of them with the same corrective greedy, the same fits and the same choice by cross-validation:

* *as it is*: among all rules, of one or of at most two conditions, whichever is better on rows not seen;
* *one condition*, *two conditions*: among all rules of at most so many, without that choice;
* *generated*: as it is, but only among the columns that column generation made on the way to the optimum of the linear
  program, at ten times the smallest cost at which a rule enters; of these all, not only those with a weight.

Three folds a table. Differences are paired, in points of accuracy, with the standard error over tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks import rare_classes
from benchmarks.public_tables import tuning_tables
from benchmarks.quality.data import load
from benchmarks.strangers import clean
from clearmargin.rule_svm.all_rules import USUAL_MULTIPLE, AllRules
from clearmargin.rule_svm.choice import Problem, choose_setting, settings_up_to
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.rule_lp import FixedColumns
from clearmargin.rule_svm.selection import (
    Column,
    ExtraColumns,
    Rows,
    RuleSearch,
    column_matrix,
    select_columns,
)
from clearmargin.rule_svm.training_rows import TrainingRows, read_rows
from clearmargin.rules.value import FloatArray, IntArray
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table

__all__ = ["Generated", "all_tables", "main", "right_rows"]

FOLDS, BINS = 3, 32
FILES = ("wbc", "pima", "ionosphere", "cleveland", "australian", "spambase")
# Fewest rows of a rule and of its complement, and what a second condition has to bring: as in the search of all rules.
_LEAST_ROWS, _SHORTER = 3, 0.95
# The program need not be optimal for its columns to be a good choice; seconds for one.
_TOL, _SECONDS = 1e-3, 20.0
WAYS = ("as it is", "one condition", "two conditions", "generated")


class GeneratedSearch(RuleSearch):
    """Finds the best of some rules.

    Parameters
    ----------
    problem : Problem
        The rows and conditions.
    items : ndarray of int of shape (r, k)
        The rules.
    """

    def __init__(self, problem: Problem, items: IntArray):
        rows = problem.rows
        super().__init__(problem.conditions, rows, problem.extra, 1, 0.0, None)
        rules = sorted({tuple(sorted(c for c in rule if c >= 0)) for rule in items.tolist()})
        rules.sort(key=len)
        held = column_matrix([Column(rule) for rule in rules], *self._beside(rows)).values[:, 1:]
        least, seen, places = min(_LEAST_ROWS, max(1, len(held) // 10)), set[bytes](), []
        for k, h in enumerate(held.T > 0):
            name = min(h.tobytes(), (~h).tobytes())
            if least <= h.sum() <= len(h) - least and name not in seen:
                seen.add(name)
                places.append(k)
        self.rules, self.held = [rules[k] for k in places], held[:, places]
        inside = rows.weight @ self.held
        spread = np.sqrt(inside * (1.0 - inside / rows.weight.sum()))
        self.left = _SHORTER ** np.array([len(rule) - 1 for rule in self.rules]) / spread

    def _beside(self, rows: Rows) -> tuple[Conditions, FloatArray, ExtraColumns]:
        return self.conditions, rows.table, self.extra

    def best(self, residuals: FloatArray) -> Column | None:
        """Find the best rule that is left; None if none is."""
        if not self.left.any():
            return None
        gains = np.abs(residuals @ self.held).max(axis=0) * self.left
        k = int(np.argmax(gains))
        self.left[k] = 0.0
        return Column(self.rules[k])


class Generated(Problem):
    """The same problem, where rules are chosen among the columns of the linear program."""

    __slots__ = ()

    def select(self, most: int, max_conditions: int) -> list[Column]:
        """Choose at most so many columns of those that were generated."""
        plain = Problem(
            self.conditions, self.rows, self.extra, max_conditions, self.penalty, self.monotone
        )
        programs = AllRules(plain, FixedColumns.none(len(self.rows.table)), _TOL, _SECONDS)
        smallest = programs.smallest_cost()
        if not np.isfinite(smallest):
            return []
        solutions = programs.solve(USUAL_MULTIPLE * smallest)
        items = np.concatenate([solution.items for solution in solutions])
        return select_columns(GeneratedSearch(plain, items), self.rows, most)


def all_tables() -> Iterator[tuple[str, pd.DataFrame, NDArray[Any]]]:
    """Give the tables for tuning: names, features and classes; large ones are sampled."""
    for table in tuning_tables():
        yield table.name, *table.load()
    for rare in rare_classes.tuning_tables():
        yield rare.name, *rare.load()
    for data in load(FILES)[0]:
        frame = pd.DataFrame(data.X, columns=list(data.names)).assign(target=data.y)
        yield data.name, *clean(frame, "target", [], [])


def _problem(way: str, rows: TrainingRows) -> Problem:
    kind = Generated if way == "generated" else Problem
    return kind(
        Conditions.of_table(rows.space, rows.values, BINS),
        Rows(rows.values, rows.signs, rows.weight / rows.weight.mean()),
        ExtraColumns.none(len(rows.values)),
        1 if way == "one condition" else 2,
        0.0,
        None,
    )


def right_rows(
    way: str,
    most: int,
    train: tuple[pd.DataFrame, IntArray],
    test: tuple[pd.DataFrame, IntArray],
    seed: int = 0,
) -> NDArray[np.bool_]:
    """Choose rules on training rows, and tell which test rows get their class.

    Parameters
    ----------
    way : str
        One of `WAYS`.
    most : int
        Most rules.
    train, test : (DataFrame, ndarray of int)
        Features, and 1 for the second class.
    seed : int, default 0
        Draws the folds of the cross-validation.

    Returns
    -------
    ndarray of bool
        One for each test row.
    """
    splitting = Splitting(5, None, None, seed)
    rows = read_rows(Table.read(train[0]), train[1], None, None, splitting)
    problem = _problem(way, rows)
    settings = [
        setting
        for setting in settings_up_to(most, ["logistic"], None, problem.max_conditions)
        if way != "two conditions" or setting.max_conditions == 2
    ]
    setting = choose_setting(problem, settings, rows.folds).setting
    chosen = problem.select(setting.n_columns, setting.max_conditions)
    weights = problem.fit(problem.columns(chosen), setting.loss, setting.C)
    values = rows.space.read(test[0])
    none = ExtraColumns.none(len(values))
    unseen = column_matrix(chosen, problem.conditions, values, none).values
    return np.asarray((unseen @ weights[0] > 0.0) == (test[1] == 1))


def main(words: Sequence[str] | None = None) -> None:
    """Measure all ways, and print a table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rule_choice", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--rules", type=int, default=15, help="most rules")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--every", type=int, default=1, help="each so-manieth table")
    parser.add_argument("--seed", type=int, default=0, help="draw other folds")
    asked = parser.parse_args(words)
    found: dict[str, list[float]] = {way: [] for way in asked.ways}
    seconds = dict.fromkeys(asked.ways, 0.0)
    tables = list(all_tables())[:: asked.every]
    for name, X, labels in tables:
        y = np.unique(labels, return_inverse=True)[1]
        parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=asked.seed).split(X, y))
        for way in asked.ways:
            start = time.process_time()
            with threadpool_limits(1):
                right = [
                    right_rows(way, asked.rules, (X.iloc[a], y[a]), (X.iloc[b], y[b]), asked.seed)
                    for a, b in parts
                ]
            seconds[way] += time.process_time() - start
            found[way].append(100.0 * float(np.concatenate(right).mean()))
        print(name, *(f"{found[way][-1]:.1f}" for way in asked.ways), flush=True)
    _print_table(found, seconds, len(tables))


def _print_table(found: dict[str, list[float]], seconds: dict[str, float], count: int) -> None:
    print(f"\n| {count} tables | right | difference to the first | processor time |")
    print("|---|---|---|---|")
    first = np.array(next(iter(found.values())))
    for way, values in found.items():
        differences = np.array(values) - first
        error = differences.std(ddof=1) / np.sqrt(count) if count > 1 else np.nan
        said = f"{differences.mean():+.2f} +- {error:.2f}"
        print(f"| {way} | {np.mean(values):.2f} % | {said} | {seconds[way]:.0f} s |")


if __name__ == "__main__":
    main()
