"""Rows are drawn by their values, class by class."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.tables.row_order import sample_classes


@given(st.integers(0, 10**6), st.integers(1, 400), st.floats(0.0, 1.0))
def test_a_sample_has_the_share_of_each_class_and_all_rows_of_a_rare_one(seed, n_rows, rare):
    rng = np.random.default_rng(seed)
    X, codes = rng.normal(size=(600, 2)), (rng.random(600) < rare).astype(int)
    rows = sample_classes(X, codes, n_rows)
    assert (np.diff(rows) > 0).all()
    for code in np.unique(codes):
        size, drawn = int((codes == code).sum()), int((codes[rows] == code).sum())
        assert drawn == max(-(-size * n_rows // 600), min(size, 100))


def test_a_sample_is_of_the_same_rows_in_any_order():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(1000, 3)), rng.integers(0, 3, size=1000)
    order = rng.permutation(1000)
    first = sample_classes(X, codes, 450)
    second = order[sample_classes(X[order], codes[order], 450)]
    assert set(first.tolist()) == set(second.tolist())


def test_a_table_with_no_more_rows_is_taken_whole():
    assert sample_classes(np.zeros((5, 1)), np.zeros(5, dtype=int), 5).tolist() == [0, 1, 2, 3, 4]
