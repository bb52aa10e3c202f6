"""The page about rules of chunks: how rows are dealt, and that every method is measured."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reproduce.chunks import METHODS, Run, compare_chunks, deal, linear_rows


@pytest.mark.parametrize("shift", ["none", "covariates", "labels"])
def test_rows_are_dealt_to_chunks_of_about_one_size_or_of_other_classes(shift):
    X, y = linear_rows(400, seed=1)
    chunk = deal(X, y, 4, shift, seed=0)
    sizes = np.bincount(chunk, minlength=4)
    share = np.array([y[chunk == k].mean() for k in range(4)])
    assert sizes.sum() == 400
    assert sizes.min() >= 60
    assert (np.ptp(share) > 0.3) == (shift == "labels")
    spread = np.ptp([X[chunk == k].mean(axis=0) for k in range(4)], axis=0).max() / X.std()
    assert (spread > 1.0) == (shift == "covariates")


def test_every_method_is_measured():
    X, y = linear_rows(260, seed=2, n=3, relevant=2)
    run = Run(X[:160], y[:160], deal(X[:160], y[:160], 2, "none", 0), X[160:], y[160:])
    errors = compare_chunks(run)
    assert tuple(errors) == METHODS
    assert all(0.0 <= error <= 50.0 for error in errors.values())
    assert errors["all rows, exact plane"] < 20.0
