"""Order statistics over partitions are those of the sorted column, whatever the values are."""

from __future__ import annotations

import numpy as np
import pytest

from clearmargin.tables import order_statistics as module
from clearmargin.tables.order_statistics import find_around, order_statistics
from clearmargin.tables.partitions import ArrayBlocks


def columns(block):
    return [block.X[:, j][np.isfinite(block.X[:, j])] for j in range(block.X.shape[1])]


class Counted(ArrayBlocks):
    n_passes = 0

    def map(self, f, own=None, common=()):
        self.n_passes += 1
        return super().map(f, own, common)


def table(kind, m=5_000):
    rng = np.random.default_rng(0)
    drawn = {
        "normal": rng.normal(size=m),
        "tied": rng.integers(0, 3, m).astype(float),
        "one value": np.full(m, 7.5),
        "heavy": rng.normal(size=m) ** 31,
        "tiny and huge": np.where(rng.random(m) < 0.5, 5e-324, 1e308) * rng.choice([-1, 1], m),
        "missing": np.where(rng.random(m) < 0.3, np.nan, rng.random(m)),
    }
    return drawn[kind]


KINDS = ["normal", "tied", "one value", "heavy", "tiny and huge", "missing"]


@pytest.mark.parametrize("few", [0, 50_000], ids=["counted to the end", "brought"])
@pytest.mark.parametrize("kind", KINDS)
def test_places_are_those_of_the_sorted_column(kind, few, monkeypatch):
    monkeypatch.setattr(module, "_FEW", few)
    column = table(kind)
    parts = Counted(column[:, None], np.ones(len(column)), block_rows=611)
    known = np.sort(column[np.isfinite(column)])
    ranks = np.array([0, 1, len(known) // 3, len(known) // 2, len(known) - 1])
    for guesses in (np.zeros(0), known[::50]):
        parts.n_passes = 0
        (found,) = order_statistics(parts, columns, (), [ranks], [guesses])
        assert np.array_equal(found, known[ranks])
        assert parts.n_passes <= 10


def test_several_columns_are_looked_at_in_the_same_passes(monkeypatch):
    monkeypatch.setattr(module, "_FEW", 100)
    X = np.column_stack([table(kind) for kind in KINDS])
    parts = Counted(X, np.ones(len(X)), block_rows=977)
    ranks = [np.array([17, 900]), *([np.array([5])] * 4), np.zeros(0, dtype=int)]
    found = order_statistics(parts, columns, (), ranks, [x[:40] for x in X.T])
    for column, places, values in zip(X.T, ranks, found, strict=True):
        assert np.array_equal(values, np.sort(column[np.isfinite(column)])[places])
    assert parts.n_passes <= 10


def test_what_stands_around_a_value_is_counted_over_all_partitions():
    X = np.array([3.0, 1.0, 1.0, 2.0, 9.0, 2.0, np.nan])[:, None]
    (around,) = find_around(
        ArrayBlocks(X, np.ones(7), block_rows=2), columns, (), [np.array([2.0, 0.0, 9.0])]
    )
    assert around.below.tolist() == [2, 0, 5]
    assert around.at_most.tolist() == [4, 0, 6]
    assert around.before.tolist() == [1.0, -np.inf, 3.0]
    assert around.after.tolist() == [3.0, 1.0, np.inf]
