"""The choice between methods: honest on noise, exact against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError
from clearmargin.recipes import make_task
from clearmargin.recipes.method_choice import FoldScores, Method, score_methods
from clearmargin.tables.files import FileTable


@st.composite
def scores(draw):
    methods, folds = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    rows = np.array(draw(st.lists(st.integers(1, 9), min_size=folds, max_size=folds)))
    right = [[draw(st.integers(0, int(n))) for n in rows] for _ in range(methods)]
    return tuple("abcd"[:methods]), np.array(right), rows


@given(scores())
def test_in_each_fold_the_method_counts_that_is_right_on_most_rows_of_the_others(drawn):
    names, right, rows = drawn
    found = FoldScores(names, right / rows, rows)
    total = 0
    for fold in range(len(rows)):
        others = [sum(line) - line[fold] for line in right.tolist()]
        total += right[others.index(max(others)), fold]
    assert found.honest == pytest.approx(total / rows.sum())
    sums = right.sum(axis=1).tolist()
    assert found.chosen == names[sums.index(max(sums))]


def test_the_best_of_many_methods_that_guess_is_at_chance_and_its_own_share_is_not():
    random = np.random.default_rng(0)
    honest, best = [], []
    for _ in range(200):
        found = FoldScores(
            tuple(map(str, range(10))), random.binomial(40, 0.5, (10, 5)) / 40, np.full(5, 40)
        )
        honest.append(found.honest)
        best.append(found.means.max())
    # The standard error of a mean of 200 shares of 200 rows is 0.0025.
    assert abs(np.mean(honest) - 0.5) < 0.01
    assert np.mean(best) > 0.53


def test_the_lead_is_paired_fold_by_fold():
    rows = np.array([10, 30])
    first = FoldScores(("a",), np.array([[0.5, 0.7]]), rows)
    second = FoldScores(("b",), np.array([[0.6, 0.9]]), rows)
    lead, error = first.lead_of(second)
    assert lead == pytest.approx((0.1 * 10 + 0.2 * 30) / 40)
    assert error == pytest.approx(0.05)
    assert FoldScores(("a",), np.array([[0.5]]), np.array([4])).standard_error is None


class _Constant:
    def __init__(self, label):
        self.label = label

    def predict(self, X):
        return np.full(len(X), self.label)


def _task():
    table = FileTable(
        "t",
        {"age": np.arange(40) * 7 % 40, "ill": np.array(["no"] * 30 + ["yes"] * 10, dtype=object)},
    )
    return make_task(table, "ill", cv=5)


def test_shares_are_counted_on_the_rows_of_each_fold_and_balanced_ones_by_class():
    task = _task()
    folds = task.splitting.folds(task.X, task.y)
    methods = [Method(label, label, lambda part, k=label: _Constant(k)) for label in ("no", "yes")]
    found = score_methods(task, methods, folds)
    assert found.means == pytest.approx([0.75, 0.25])
    assert found.found.sum(axis=1).tolist() == [0, 10]
    assert (found.honest_found, found.only(["yes"]).honest_found) == (0, 10)
    assert score_methods(task, methods, folds, balanced=True).means == pytest.approx([0.5, 0.5])


def test_a_method_that_cannot_learn_predicts_the_most_frequent_class():
    def fail(part):
        raise DataError("nothing to learn here")

    task = _task()
    folds = task.splitting.folds(task.X, task.y)
    assert score_methods(task, [Method("m", "m", fail)], folds).means == pytest.approx([0.75])
