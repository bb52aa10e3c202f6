"""Where few rules are chosen from: only among generated columns, or among all rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from benchmarks.rule_choice import WAYS, Generated, GeneratedSearch, main, right_rows

from benchmarks import rule_choice
from clearmargin import FeatureSpace
from clearmargin.rule_svm.choice import Problem
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.selection import ExtraColumns, Rows


def _table(m: int = 90) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, (m, 3)).astype(float), columns=["a", "b", "c"])
    y = (X["a"] + X["b"] + rng.normal(scale=0.5, size=m) > 3.0).to_numpy(dtype=np.int64)
    return X, y


def _problem(kind: type[Problem]) -> Problem:
    X, y = _table()
    table = X.to_numpy()
    conditions = Conditions.of_table(FeatureSpace(["a", "b", "c"]), table, 32)
    rows = Rows(table, np.where(y == 1, 1.0, -1.0)[None], np.ones(len(y)))
    return kind(conditions, rows, ExtraColumns.none(len(y)), 2, 0.0, None)


def test_of_given_rules_the_best_is_found_and_none_twice():
    problem = _problem(Problem)
    items = np.array([[0, -1], [1, -1], [0, 1], [0, -1]])
    search = GeneratedSearch(problem, items)
    found = [search.best(problem.rows.signs) for _ in range(4)]
    rules = [column.items for column in found if column is not None]
    # At most a <= 0.5 and a <= 1.5 are two sets of rows, and both together are the first of them.
    assert sorted(rules) == [(0,), (1,)]
    gains = [
        abs(problem.rows.signs[0] @ h) / h.std()
        for h in problem.conditions.rule_masks(np.array(rules), problem.rows.table).T.astype(float)
    ]
    assert gains[0] >= gains[1]


def test_part_of_a_problem_over_generated_columns_is_one_too():
    part = _problem(Generated).take(np.arange(0, 90, 2))
    assert isinstance(part, Generated)
    chosen = part.select(3, 1)
    assert len(chosen) == 3
    assert all(len(column.items) == 1 for column in chosen)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_learns_from_training_rows(way: str):
    X, y = _table()
    right = right_rows(way, 5, (X[::2], y[::2]), (X[1::2], y[1::2]))
    assert right.shape == (45,)
    assert right.mean() > 0.7


def test_all_ways_are_compared_with_the_first(monkeypatch, capsys):
    monkeypatch.setattr(
        rule_choice, "all_tables", lambda: iter([("t", *_table()), ("u", *_table(60))])
    )
    main(["--rules", "3", "--ways", "as it is", "one condition"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].startswith("| 2 tables |")
    assert "| +0.00 +- 0.00 |" in lines[5]
    assert lines[6].startswith("| one condition |")
