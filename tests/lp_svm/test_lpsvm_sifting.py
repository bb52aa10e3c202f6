"""Sifting over partitions: the same plane to the bit, however the rows are divided."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clearmargin.exceptions import DataError
from clearmargin.lp_svm import LPSVC, ProximalSVC, lpsvm_sifting
from clearmargin.lp_svm.lpsvm import LPSVMData, dual_bound, objective
from clearmargin.lp_svm.lpsvm_blocks import (
    Census,
    ExactFar,
    Plane,
    Sides,
    View,
    census,
    far_parts,
    misjudged,
    open_window,
)
from clearmargin.lp_svm.lpsvm_exact import Centred, exact_lpsvm
from clearmargin.lp_svm.lpsvm_sifting import Sifting
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm, solve_partitions
from clearmargin.tables.part_survey import held_table
from clearmargin.tables.partitions import ArrayBlocks, Block

NONE = np.zeros(0, dtype=np.intp)


@pytest.fixture
def small_samples(monkeypatch):
    """Windows, samples and all, on tables of a few hundred rows."""
    monkeypatch.setattr(lpsvm_sifting, "_FIRST_SAMPLE", 60)
    monkeypatch.setattr(lpsvm_sifting, "_GROWTH", 3)
    monkeypatch.setattr(lpsvm_sifting, "_LEAST_OF_CLASS", 3)


class Counted:
    """Partitions that count the passes over all rows, and send everything through pickle."""

    def __init__(self, blocks: ArrayBlocks):
        self.blocks, self.n_passes, self.n_bytes = blocks, 0, 0
        self.names, self.lengths = blocks.names, blocks.lengths

    def map(self, f, own=None, common=()):
        self.n_passes += 1
        f, own, common = pickle.loads(pickle.dumps((f, own, common)))
        answers = pickle.dumps(self.blocks.map(f, own, common))
        self.n_bytes += len(answers)
        return pickle.loads(answers)

    def sample(self, share):
        return self.blocks.sample(share)


def table(m: int, n: int, seed: int = 0, kind: str = "normal") -> LPSVMData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=m) > 0.1, 1.0, -1.0)
    y[rng.random(m) < 0.05] *= -1.0
    if kind == "whole":
        X = np.rint(2.0 * X)
    elif kind == "binary":
        X = (X > 0).astype(float)
    elif kind == "far":
        X[:, 0] = X[:, 0] / 1024 + 2.0**30
    elif kind == "rare":
        y = np.where(rng.random(m) < 0.03, 1.0, -1.0)
        y[:5] = 1.0
    elif kind == "weighted":
        return LPSVMData(X, y, rng.uniform(0.1, 3.0, size=m) * 20 / m)
    return LPSVMData(X, y, np.full(m, 0.25), penalty=m / 100)


def whole(data: LPSVMData):
    """The optimum with all rows in one program."""
    return solve_lpsvm(data, solver="simplex")


@pytest.mark.parametrize("kind", ["normal", "whole", "binary", "far", "rare", "weighted"])
def test_the_plane_is_the_same_to_the_bit_for_all_partitions_and_orders(kind, small_samples):
    data = table(700, 6, kind=kind)
    best = whole(data)
    assert best.is_exact
    rng = np.random.default_rng(1)
    orders = [np.arange(700), rng.permutation(700), np.lexsort((data.X[:, 0], data.y))]
    for order, block_rows in zip(orders, (700, 128, 37), strict=True):
        parts = ArrayBlocks(data.X[order], data.y[order], data.cost[order], block_rows=block_rows)
        found = solve_partitions(parts, data.penalty)
        assert found.is_exact
        np.testing.assert_array_equal(found.w, best.w)
        assert (found.b, found.objective, found.gap) == (best.b, best.objective, best.gap)


def test_few_passes_over_all_rows_are_enough_and_all_that_is_sent_can_be_pickled(small_samples):
    data = table(3_000, 6)
    parts = Counted(ArrayBlocks(data.X, data.y, data.cost, block_rows=400))
    found = solve_partitions(parts, data.penalty)
    np.testing.assert_array_equal(found.w, whole(data).w)
    assert parts.n_passes <= 6


def test_what_comes_up_is_the_sample_and_the_window_once(small_samples, monkeypatch):
    data = table(4_000, 6)
    parts = Counted(ArrayBlocks(data.X, data.y, data.cost, block_rows=500))
    held = {}
    judge = lpsvm_sifting.Level.judge

    def judged(level, plane):
        found = judge(level, plane)
        held[level.table.n_rows] = len(level.held.y)
        return found

    monkeypatch.setattr(lpsvm_sifting.Level, "judge", judged)
    solve_partitions(parts, data.penalty)
    sizes = sorted(held)
    assert sizes[-1] == 4_000
    # In files and on clusters the largest sample comes up, too; here it stays where it is.
    allowed = 2 * (sizes[-2] + held[4_000]) * (6 + 2) * 8
    assert parts.n_bytes <= allowed


def test_sparse_rows_in_partitions_give_the_plane_of_dense_ones(small_samples):
    data = table(700, 6, kind="whole")
    dense = solve_lpsvm(data)
    parts = ArrayBlocks(sparse.csr_array(data.X), data.y, data.cost, block_rows=200)
    thin = solve_partitions(parts, data.penalty)
    np.testing.assert_array_equal(thin.w, dense.w)
    assert (thin.b, thin.objective) == (dense.b, dense.objective)


def test_rows_of_single_precision_count_as_the_same_numbers_widened(small_samples):
    data = table(700, 6)
    narrow = np.asfortranarray(data.X.astype(np.float32))
    found = solve_partitions(ArrayBlocks(narrow, data.y, data.cost), data.penalty)
    wide = solve_lpsvm(replace(data, X=narrow.astype(np.float64)))
    np.testing.assert_array_equal(found.w, wide.w)
    assert (found.b, found.objective) == (wide.b, wide.objective)


def test_rows_without_cost_and_partitions_without_rows_or_of_one_class_do_not_matter(small_samples):
    data = table(700, 6)
    order = np.argsort(data.y, kind="stable")
    cost = np.where(np.arange(700) % 5 == 0, 0.0, data.cost)
    parts = ArrayBlocks(data.X[order], data.y[order], cost[order], block_rows=50)
    kept = cost > 0
    alone = solve_lpsvm(replace(data, X=data.X[kept], y=data.y[kept], cost=cost[kept]))
    found = solve_partitions(parts, data.penalty)
    np.testing.assert_array_equal(found.w, alone.w)
    empty = census(parts._block(0).take(np.zeros(50, dtype=np.bool_)))
    assert empty.counts.tolist() == [0, 0]
    assert open_window(parts._block(0).take(NONE), NONE, View(), Sides(None, 0.0)).far.sum() == 0.0


@given(st.integers(0, 10_000))
def test_points_that_are_known_by_sums_count_like_points(seed):
    rng = np.random.default_rng(seed)
    data = table(60, 3, seed)
    best = whole(data)
    margin = data.y * (data.X @ best.w + best.b)
    is_far = (margin < 0.7) & (rng.random(60) < 0.7)
    near = replace(data, X=data.X[~is_far], y=data.y[~is_far], cost=data.cost[~is_far])
    sums = ExactFar(far_parts(Block(data.X, data.y, data.cost, np.arange(60)).take(is_far)))
    some = Centred.by(near, None, sums)
    w, b = best.w, best.b
    assert objective(some.data, w, b) == pytest.approx(objective(data, w, b))
    assert dual_bound(some.data, best.u[~is_far]) == pytest.approx(best.objective)
    assert dual_bound(some.data, rng.uniform(0, 1, len(near))) <= best.objective * (1 + 1e-9)
    # The basis of the optimum has none of them.
    place = np.cumsum(~is_far) - 1
    basis = replace(best.basis, points=place[best.basis.points])
    again = exact_lpsvm(some, replace(best, u=best.u[~is_far], basis=basis))
    np.testing.assert_array_equal(again.w, w)
    assert (again.b, again.objective, again.gap) == (b, best.objective, best.gap)


def test_a_window_and_the_sums_over_the_others_are_the_whole():
    data = table(200, 3)
    block = Block(data.X, data.y, data.cost, np.arange(1000, 1200))
    plane = Plane(np.array([1.0, -2.0, 0.5]), -0.1)
    margin = data.y * (data.X @ plane.w + plane.b)
    found = open_window(block, np.array([1003, 5000]), View(), Sides(plane, 0.5))
    inside = np.abs(margin - 1.0) <= 0.5
    inside[3] = True
    assert found.window.rows.tolist() == (1000 + np.flatnonzero(inside)).tolist()
    violated = ~inside & (margin < 1.0)
    weight = (data.y * data.cost)[violated]
    expected = [sum(Fraction(a) * Fraction(c) for a, c in zip(column, weight, strict=True))
                for column in data.X[violated].T]  # fmt: skip
    far = ExactFar(found.far)
    assert [far.exact(j) for j in range(3)] == expected
    assert far.exact(4) == sum(Fraction(c) for c in data.cost[violated])


def test_rows_that_a_new_plane_puts_elsewhere_are_found_once():
    data = table(200, 3)
    block = Block(data.X, data.y, data.cost, np.arange(200))
    old, new = Plane(np.array([1.0, -2.0, 0.5]), -0.1), Plane(np.array([2.0, -2.0, 0.0]), 0.5)
    sides = Sides(old, 0.1)
    rows, was_violated = misjudged(block, NONE, View(), sides, new)
    before, after = (data.y * (data.X @ p.w + p.b) for p in (old, new))
    wrong = ((before < 1) != (after < 1)) & (np.abs(before - 1) > 0.1)
    assert rows.rows.tolist() == np.flatnonzero(wrong).tolist()
    assert was_violated.tolist() == (before[wrong] < 1).tolist()
    assert not len(misjudged(block, rows.rows, View(), sides, new)[1])


def test_numbers_whose_products_are_no_floats_are_held_one_by_one(small_samples):
    data = table(400, 4)
    X = data.X.copy()
    X[::40, 3] = 1e-200
    odd = replace(data, X=X)
    found = solve_lpsvm(odd)
    np.testing.assert_array_equal(found.w, whole(odd).w)


def test_without_exact_steps_the_gap_is_certified_over_partitions_too(small_samples, monkeypatch):
    data = table(3_000, 6, kind="weighted")
    best = whole(data)
    monkeypatch.setattr(lpsvm_sifting, "exact_lpsvm", lambda centred, start: None)
    found = Sifting(ArrayBlocks(data.X, data.y, data.cost, block_rows=500)).solve(data.penalty)
    assert not found.is_exact
    assert 0.0 <= found.gap <= 1e-6
    assert found.objective == pytest.approx(best.objective, rel=1e-6)
    assert found.bound <= best.objective


def test_a_table_in_partitions_is_fitted_like_one_in_memory(tmp_path, small_samples):
    import pandas as pd

    import clearmargin as cm

    data = table(700, 4, kind="whole")
    frame = pd.DataFrame(data.X, columns=list("abcd"))
    labels = np.where(data.y > 0, "yes", "no")
    path = tmp_path / "rows.parquet"
    frame.assign(y=labels).to_parquet(path, row_group_size=150)
    for options in ({}, {"class_weight": "balanced"}, {"monotone": {"b": -1}}):
        inside = LPSVC(0.05, **options).fit(frame, labels)
        outside = LPSVC(0.05, **options).fit(cm.scan(path, target="y"))
        np.testing.assert_array_equal(outside.coef_, inside.coef_)
        np.testing.assert_array_equal(outside.intercept_, inside.intercept_)
        assert (outside.objective_, outside.gap_) == (inside.objective_, inside.gap_)
        assert outside.classes_.tolist() == ["no", "yes"]
        assert outside.feature_names_in_.tolist() == list("abcd")


def constant(kind: str) -> LPSVMData:
    """A table on which no feature is worth its weight."""
    rng = np.random.default_rng(2)
    m = 900
    X = rng.normal(size=(m, 5)) + np.array([0.0, 1e6, 0.0, 0.0, 0.0])
    y = np.where(rng.random(m) < 0.06, 1.0, -1.0)
    X[y > 0, 0] += 0.8
    if kind == "other class":
        y = -y
    elif kind == "scales":
        X *= 10.0 ** np.array([0, -2, -3, 0, 3])
    elif kind == "even":
        y = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
        return LPSVMData(X, y, np.ones(m), penalty=500.0)
    elif kind == "origin":
        X[:, 1] -= 1e6
        return LPSVMData(X, y, np.ones(m), penalty=1e5, fit_intercept=False)
    return LPSVMData(X, y, np.ones(m), penalty=5.0)


@pytest.mark.parametrize("kind", ["rare", "other class", "scales", "even", "origin"])
def test_no_weights_are_proved_by_sums_alone(kind, small_samples, monkeypatch):
    data = constant(kind)
    best = whole(data)
    assert not best.w.any()

    def window(*args):
        raise AssertionError("no window is needed")

    monkeypatch.setattr(lpsvm_sifting._Run, "finish", window)
    parts = Counted(ArrayBlocks(data.X, data.y, data.cost, block_rows=200))
    found = solve_partitions(parts, data.penalty, fit_intercept=data.fit_intercept)
    assert not found.w.any()
    assert (found.b, found.objective, found.gap) == (best.b, best.objective, 0.0)
    assert found.bound <= found.objective
    assert parts.n_passes <= 8


@given(st.integers(0, 10_000))
def test_weights_that_are_worth_something_are_never_proved_to_be_zero(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(12, 80)), int(rng.integers(1, 4))
    X = rng.normal(size=(m, n)) * 10.0 ** rng.integers(-3, 4, size=n)
    y = np.where(rng.random(m) < rng.uniform(0.1, 0.6), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    X[:, 0] += y * rng.uniform(0.0, 1.0)
    parts = ArrayBlocks(X, y, rng.uniform(0.5, 2.0, m), block_rows=25)
    sifting = Sifting(parts, fit_intercept=bool(seed % 3))
    penalty = float(rng.uniform(0.1, 3.0) * np.sqrt(m))
    best = sifting.solve(penalty)
    problem = replace(sifting._problem, penalty=penalty)
    if sifting.proves_zero(problem):
        assert not best.w.any()
        zero = lpsvm_sifting.zero_plane(problem, sifting.census, 1)
        assert (zero.b, zero.objective) == (best.b, best.objective)


def test_what_a_survey_knows_saves_a_pass_and_changes_nothing(small_samples):
    data = table(700, 4)
    cost = np.where(data.y > 0, 0.1, 0.3)
    blocks = ArrayBlocks(data.X, data.y, cost, block_rows=90)
    asked, told = Counted(blocks), Counted(blocks)
    counts = np.array([np.count_nonzero(data.y < 0), np.count_nonzero(data.y > 0)])
    known = Census.known(counts, (0.3, 0.1), data.X.min(axis=0), data.X.max(axis=0))
    assert known.cost == Sifting(asked).census.cost
    asked.n_passes = 0
    first = solve_partitions(asked, data.penalty)
    second = solve_partitions(told, data.penalty, known=known)
    np.testing.assert_array_equal(second.w, first.w)
    assert (second.b, second.objective) == (first.b, first.objective)
    assert told.n_passes == asked.n_passes - 1


@pytest.mark.parametrize(
    "model", [LPSVC(10.0), ProximalSVC()], ids=lambda model: type(model).__name__
)
def test_labels_and_weights_beside_a_table_in_partitions_are_refused(model):
    frame = {"a": np.array([0.0, 1.0, 2.0]), "y": np.array([0.0, 1.0, 1.0])}
    parts = held_table(frame, "y", 2)
    with pytest.raises(DataError, match="y must be left out"):
        model.fit(parts, frame["y"])
    with pytest.raises(DataError, match="sample_weight must be left out"):
        model.fit(parts, sample_weight=np.ones(3))
    assert model.fit(parts).coef_[0, 0] > 0.0
