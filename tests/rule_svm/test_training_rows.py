"""Training rows: equal ones merged, their order gone."""

import numpy as np
import pandas as pd

from clearmargin.rule_svm.training_rows import RowSample, read_rows
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table

X = pd.DataFrame({"a": [1.0, 1.0, np.nan, 2.0, 2.0, 3.0], "b": list("uuvvvw")})
Y = np.array(["n", "n", "p", "p", "n", "p"])


def rows_of(frame, y, weight=None, **options):
    return read_rows(Table.read(frame), y, weight, None, Splitting(2, **options))


def test_equal_rows_are_one_row_with_the_sum_of_their_weights() -> None:
    rows = rows_of(X, Y, [1, 2, 1, 0, 1, 4])
    assert sorted(rows.weight) == [1, 1, 3, 4]
    assert rows.count.sum() == 5
    assert rows.signs.shape == (1, 4)
    held = rows.values[:, 0] == 1.0
    assert (rows.stats(held, 0).covered, rows.stats(held, 1).correct) == (2, 0)


def test_the_order_of_rows_is_gone() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.choice(["u", "v", None], 60)})
    y, group = rng.integers(0, 3, 60), rng.integers(0, 12, 60)
    order = rng.permutation(60)
    for options in ({}, {"groups": group}):
        one = rows_of(frame, y, **options)
        turned = {name: values[order] for name, values in options.items()}
        two = rows_of(frame.iloc[order], y[order], **turned)
        np.testing.assert_array_equal(one.values, two.values)
        np.testing.assert_array_equal(one.codes, two.codes)
        for (a, b), (c, d) in zip(one.folds, two.folds, strict=True):
            np.testing.assert_array_equal(a, c)
            np.testing.assert_array_equal(b, d)


def test_rows_in_different_folds_stay_apart() -> None:
    folds = [(np.array([0, 2, 3]), np.array([1, 4, 5])), (np.array([1, 4, 5]), np.array([0, 2, 3]))]
    rows = read_rows(Table.read(X), Y, None, "balanced", Splitting(folds))
    assert len(rows.values) == 6
    assert [len(train) for train, _ in rows.folds] == [3, 3]
    one = np.bincount(rows.codes, weights=rows.weight)
    assert one[0] == one[1]


def test_a_sample_keeps_rare_classes_and_what_classes_weigh(monkeypatch) -> None:
    monkeypatch.setattr("clearmargin.rule_svm.training_rows._MOST_ROWS", 60)
    monkeypatch.setattr("clearmargin.rule_svm.training_rows._LEAST_OF_CLASS", 12)
    rng = np.random.default_rng(0)
    frame, y = pd.DataFrame({"a": rng.normal(size=600)}), np.arange(600) % 40 == 0
    rows = rows_of(frame, y)
    sample = RowSample.of(rows)
    assert np.bincount(rows.codes[sample.rows]).tolist() == [58, 12]
    weighed = np.bincount(rows.codes[sample.rows], weights=rows.weight[sample.rows] * sample.weight)
    np.testing.assert_allclose(weighed / weighed.sum(), [585 / 600, 15 / 600])
    np.testing.assert_allclose(weighed.sum(), len(sample.rows))
    # Every fold has its share of the sample.
    assert all(33 <= len(test) <= 37 for _, test in sample.folds)
    for train, test in sample.folds:
        assert set(train) | set(test) == set(range(70))
        assert not set(train) & set(test)
