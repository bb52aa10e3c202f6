"""Partitions: functions are called on every block in order, and samples depend on row numbers alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clearmargin.tables.partitions import ArrayBlocks, Block, row_keys

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(101, 3))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
COST = np.linspace(1.0, 2.0, 101)


def _python_key(row: int) -> float:
    """SplitMix64 as it is printed, in whole numbers of Python."""
    mask = (1 << 64) - 1
    z = (row + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return float((z ^ (z >> 31)) >> 11) / 2**53


def _columns(block: Block, *more: object) -> tuple[object, ...]:
    return (block.X[:, 0].tolist(), block.rows.tolist(), *more)


def _joined(parts: ArrayBlocks) -> Block:
    blocks = parts.map(lambda block: block)
    return Block(*(np.concatenate(field) for field in zip(*blocks, strict=True)))


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=20))
def test_keys_are_those_of_splitmix64(rows: list[int]) -> None:
    keys = row_keys(np.array(rows))
    assert keys.tolist() == [_python_key(row) for row in rows]
    assert (keys >= 0).all()
    assert (keys < 1).all()


def test_keys_spread_evenly() -> None:
    counts, _ = np.histogram(row_keys(np.arange(100_000)), bins=10, range=(0, 1))
    assert abs(counts - 10_000).max() < 400


@pytest.mark.parametrize("block_rows", [1, 7, 50, 101, 1000])
def test_blocks_hold_all_rows_in_order(block_rows: int) -> None:
    parts = ArrayBlocks(X, Y, COST, block_rows=block_rows)
    assert sum(parts.lengths) == 101
    assert max(parts.lengths) <= block_rows
    whole = _joined(parts)
    for found, expected in zip(whole, (X, Y, COST, np.arange(101)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_function_gets_its_own_arguments_and_those_of_all() -> None:
    parts = ArrayBlocks(X[:3], Y[:3], block_rows=2)
    answers = parts.map(_columns, own=[("first",), ("second",)], common=(7,))
    assert answers == [
        (X[:2, 0].tolist(), [0, 1], "first", 7),
        (X[2:3, 0].tolist(), [2], "second", 7),
    ]
    with pytest.raises(ValueError, match="zip"):
        parts.map(_columns, own=[("first",)])


@given(st.integers(1, 120), st.integers(1, 120), st.floats(0, 1), st.floats(0, 1))
def test_samples_are_nested_and_do_not_depend_on_blocks(
    first: int, second: int, small: float, large: float
) -> None:
    small, large = min(small, large), max(small, large)
    one, other = (ArrayBlocks(X, Y, COST, block_rows=k) for k in (first, second))
    expected = np.flatnonzero(row_keys(np.arange(101)) < small)
    if not len(expected):
        return
    for parts in (one.sample(small), other.sample(small), other.sample(large).sample(small)):
        found = _joined(parts)
        np.testing.assert_array_equal(found.rows, expected)
        np.testing.assert_array_equal(found.X, X[expected])
        np.testing.assert_array_equal(found.cost, COST[expected])


def test_sparse_rows_stay_sparse() -> None:
    parts = ArrayBlocks(sparse.csr_matrix(X), Y, block_rows=40)
    assert all(sparse.issparse(x) for x in parts.map(lambda block: block.X))
    found = parts.sample(0.5).map(lambda block: block.X.toarray())
    np.testing.assert_array_equal(np.vstack(found), X[row_keys(np.arange(101)) < 0.5])


def test_rows_of_a_block_are_taken_by_place_or_mask() -> None:
    block = ArrayBlocks(X, Y, COST).map(lambda block: block)[0]
    assert block.take(np.array([5, 2])).rows.tolist() == [5, 2]
    np.testing.assert_array_equal(block.take(Y > 0).X, X[Y > 0])
