from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clearmargin.exceptions import NumericalError
from clearmargin.lp_svm import lpsvm_path, lpsvm_sifting
from clearmargin.lp_svm.lpsvm import (
    LPSVMData,
    best_intercept,
    dual_bound,
    dual_program,
    objective,
    primal_program,
)
from clearmargin.lp_svm.lpsvm_path import LPSVMPath, zero_penalty
from clearmargin.lp_svm.lpsvm_polish import polish, sweep
from clearmargin.lp_svm.lpsvm_sifting import sift_lpsvm
from clearmargin.lp_svm.lpsvm_solve import SOLVERS, solve_lpsvm
from clearmargin.solvers import solve

# The relative gap promised by default.
TOL = 1e-6


def two_clouds(m: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=m) > 0.3, 1.0, -1.0)


@given(seed=st.integers(0, 199))
def test_sifting_reaches_the_optimum_of_the_printed_program_and_certifies_it(
    seed, instance, optimum
):
    data = instance(seed)
    solution = sift_lpsvm(data, tol=TOL)
    best = optimum(data)
    assert solution.objective == pytest.approx(best, rel=TOL)
    assert solution.gap <= TOL
    assert solution.objective == pytest.approx(objective(data, solution.w, solution.b), rel=1e-12)
    assert solution.bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@given(seed=st.integers(1000, 1015))
def test_all_solvers_agree(seed, solver, instance, optimum):
    data = instance(seed)
    solution = solve_lpsvm(data, solver=solver, tol=TOL)
    assert solution.objective == pytest.approx(optimum(data), rel=TOL)
    assert solution.gap <= TOL


@pytest.mark.parametrize("build", [dual_program, primal_program])
@given(seed=st.integers(0, 15))
def test_primal_and_dual_programs_have_the_same_value(seed, build, instance, optimum):
    data = instance(seed)
    value = solve(build(data), tol=1e-9).objective
    assert abs(value) == pytest.approx(optimum(data), rel=TOL)


def test_the_rows_of_the_dual_carry_the_plane():
    X, y = two_clouds(200, 4)
    data = LPSVMData(X, y, np.full(200, 0.1))
    answer = solve(dual_program(data), tol=1e-9)
    w, b = -answer.duals["features"], -float(answer.duals["balance"][0])
    assert objective(data, w, b) == pytest.approx(-answer.objective, rel=1e-9)


@pytest.mark.parametrize(("m", "n"), [(20_000, 6), (9_000, 30)])
def test_windows_over_growing_samples_reach_the_optimum(m, n):
    X, y = two_clouds(m, n)
    data = LPSVMData(X, y, np.full(m, 30.0 / m))
    solution = sift_lpsvm(data, tol=1e-9)
    whole = solve_lpsvm(data, solver="ipm")
    assert solution.gap <= 1e-9
    assert solution.objective == pytest.approx(whole.objective, rel=1e-8)


def test_windows_of_planes_through_the_origin_reach_the_optimum():
    X, y = two_clouds(3_000, 4)
    data = LPSVMData(X + 0.5, y, np.full(3_000, 0.01), fit_intercept=False)
    solution = sift_lpsvm(data, tol=TOL)
    assert solution.b == 0.0
    assert solution.objective == pytest.approx(
        solve_lpsvm(data, solver="simplex").objective, rel=TOL
    )


def test_a_window_that_is_too_narrow_is_widened(monkeypatch, instance, optimum):
    monkeypatch.setattr(lpsvm_sifting, "_FIRST_SAMPLE", 12)
    monkeypatch.setattr(lpsvm_sifting, "_GROWTH", 2)
    monkeypatch.setattr(lpsvm_sifting, "_LEAST_OF_CLASS", 1)
    monkeypatch.setattr(lpsvm_sifting.Sifting, "width", lambda sifting, w, n_rows: 1e-3)
    for seed in range(40):
        data = instance(seed)
        solution = sift_lpsvm(data, tol=TOL)
        assert solution.gap <= TOL
        assert solution.objective == pytest.approx(optimum(data), rel=TOL)


def test_features_may_be_suggested_in_any_order():
    X, y = two_clouds(80, 6)
    data = LPSVMData(X, y, np.full(80, 0.3))
    best = sift_lpsvm(data)
    turned = sift_lpsvm(data, features=np.arange(6)[::-1])
    np.testing.assert_allclose(turned.w, best.w, atol=1e-9)
    assert turned.gap <= TOL


@pytest.mark.parametrize("m", [300, 12_000])
def test_sparse_points_give_the_same_solution_as_dense_ones(m):
    X, y = two_clouds(m, 30)
    X[np.abs(X) < 1.0] = 0.0
    dense = LPSVMData(X, y, np.full(m, 20.0 / m))
    thin = replace(dense, X=sparse.csr_array(X))
    assert sift_lpsvm(thin).objective == pytest.approx(sift_lpsvm(dense).objective, rel=1e-9)


def test_only_the_ratio_of_costs_and_penalty_matters():
    X, y = two_clouds(150, 5)
    data = LPSVMData(X, y, np.full(150, 0.2))
    reference = sift_lpsvm(data)
    for factor in (1e-9, 1e-3, 1e3, 1e9):
        scaled = replace(data, cost=data.cost * factor, penalty=factor)
        solution = sift_lpsvm(scaled)
        np.testing.assert_allclose(solution.w, reference.w, atol=1e-9)
        assert solution.gap <= TOL


@given(
    seed=st.integers(0, 10_000),
    spread=st.floats(0.0, 100.0),
)
def test_no_multipliers_bound_the_optimum_from_above(seed, spread):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 30)), int(rng.integers(1, 8))
    X, y = rng.normal(size=(m, n)), rng.choice([-1.0, 1.0], size=m)
    y[:2] = -1.0, 1.0
    data = LPSVMData(X, y, rng.uniform(0.1, 3.0, size=m), fit_intercept=bool(seed % 2))
    best = sift_lpsvm(data).objective
    assert 0.0 <= dual_bound(data, rng.normal(size=m) * spread) <= best * (1 + 1e-9)


def test_the_gap_shows_that_a_plane_is_not_optimal():
    X, y = two_clouds(100, 3)
    data = LPSVMData(X, y, np.full(100, 0.1))
    good = sift_lpsvm(data)
    worse = data.certify(good.w * 1.1, good.b, good.u)
    assert worse.gap > 1e-3 > good.gap


@given(st.integers(0, 10_000))
def test_the_best_intercept_is_not_beaten_at_any_kink(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 40))
    f = rng.normal(size=m).round(1 if seed % 2 else 6)
    y = rng.choice([-1.0, 1.0], size=m)
    y[:2] = -1.0, 1.0
    cost = np.ones(m) if seed % 3 else rng.uniform(0.1, 2.0, size=m)

    def losses(b: float) -> float:
        return float(cost @ np.maximum(0.0, 1.0 - y * (f + b)))

    least = min(losses(b) for b in y - f)
    assert losses(best_intercept(f, y, cost)) <= least + 1e-12 * cost.sum()


def test_of_many_best_intercepts_the_one_nearest_to_zero_is_taken():
    f, y = np.array([-3.0, -3.0, 3.0, 3.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    assert best_intercept(f, y, np.full(4, 0.1)) == 0.0
    assert best_intercept(f + 10.0, y, np.full(4, 0.1)) == -8.0
    assert best_intercept(f - 10.0, y, np.full(4, 0.1)) == 8.0


@given(seed=st.integers(0, 23))
def test_a_path_gives_what_single_solutions_give(seed, instance):
    data = instance(seed)
    path = LPSVMPath(data)
    for penalty in zero_penalty(data) * np.array([2.0, 0.7, 0.3, 0.1, 0.02]):
        if penalty == 0:
            continue
        single = sift_lpsvm(replace(data, penalty=float(penalty)))
        step = path.solve(float(penalty))
        assert step.objective == pytest.approx(single.objective, rel=TOL)
        assert step.bound <= single.objective * (1 + 1e-9)


def test_a_path_over_many_points_gives_what_single_solutions_give():
    X, y = two_clouds(9_000, 25)
    data = LPSVMData(X, y, np.ones(9_000))
    path = LPSVMPath(data)
    for penalty in (3_000.0, 300.0):
        single = sift_lpsvm(replace(data, penalty=penalty))
        assert path.solve(penalty).objective == pytest.approx(single.objective, rel=TOL)


@pytest.mark.parametrize(("way", "penalty"), [("sift_lpsvm", 1e-3), ("grow", 1.0)])
def test_a_path_goes_on_by_other_ways_where_one_breaks_down(monkeypatch, way, penalty):
    def break_down(*args, **kwargs):
        raise NumericalError("HiGHS broke down")

    X, y = two_clouds(60, 4)
    data = LPSVMData(X, y, np.ones(60))
    single = sift_lpsvm(replace(data, penalty=penalty))
    monkeypatch.setattr(lpsvm_path, way, break_down)
    assert LPSVMPath(data).solve(penalty).objective == pytest.approx(single.objective, rel=TOL)


@given(seed=st.integers(0, 39))
def test_from_the_zero_penalty_on_all_weights_are_zero(seed, instance):
    data = instance(seed)
    end = zero_penalty(data)
    at_end = replace(data, penalty=end * (1 + 1e-9))
    b = best_intercept(np.zeros(len(data)), data.y, data.cost) if data.fit_intercept else 0.0
    no_plane = objective(at_end, np.zeros(data.X.shape[1]), b)
    assert sift_lpsvm(at_end).objective == pytest.approx(no_plane, rel=1e-8)


def test_for_balanced_classes_the_zero_penalty_is_exactly_the_end_of_the_path():
    X, _ = two_clouds(100, 5)
    y = np.repeat([-1.0, 1.0], 50)
    data = LPSVMData(X, y, np.ones(100))
    inside = replace(data, penalty=0.999 * zero_penalty(data))
    assert sift_lpsvm(inside).w.any()


def test_weights_that_are_zero_but_for_rounding_are_swept_away():
    X, y = two_clouds(120, 5)
    data = LPSVMData(X, y, np.full(120, 0.1))
    clean = sift_lpsvm(data)
    dusty = replace(clean, w=np.where(clean.w == 0, 3e-15, clean.w))
    assert (clean.w == 0).any()
    np.testing.assert_array_equal(sweep(data, dusty).w, clean.w)
    real = replace(clean, w=np.where(clean.w == 0, 3e-6, clean.w))
    assert sweep(data, real) is real


def test_weights_that_matter_however_small_are_kept():
    # Where all margins are met, all that the objective counts is the weight itself.
    X, y = np.array([[-1e-13, -1.0], [1e-13, 1.0]]), np.array([-1.0, 1.0])
    data = LPSVMData(X, y, np.full(2, 1e6), penalty=1e-9)
    near = data.certify(np.array([1.0, 1.0 - 1e-13]), 0.0, np.zeros(2))
    assert near.objective < 1e-8
    assert sweep(data, near) is near


def test_multipliers_of_one_class_bound_nothing():
    data = LPSVMData(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), cost=np.ones(2))
    assert dual_bound(data, np.array([0.0, 1.0])) == 0.0
    assert dual_bound(data, np.array([0.5, 1.0])) == dual_bound(data, np.array([0.5, 0.5]))


def test_no_solution_has_dust_for_weights(instance):
    for seed in range(0, 200, 3):
        data = instance(seed)
        w = sift_lpsvm(data).w
        reach = np.abs(data.X).max(axis=0)
        assert not ((w != 0) & (np.abs(w) * reach < 1e-12)).any()


def test_polishing_never_weakens_a_certificate(instance):
    for seed in range(0, 200, 5):
        data = instance(seed)
        solution = sift_lpsvm(data)
        polished = polish(data, solution)
        assert polished.bound >= solution.bound
        assert polished.gap <= solution.gap


def test_polishing_repairs_blurred_multipliers():
    X, y = two_clouds(60, 4)
    data = LPSVMData(X, y, np.full(60, 0.5))
    solution = sift_lpsvm(data)
    free = (solution.u > 1e-6) & (solution.u < 0.5 - 1e-6)
    blurred = solution.u + np.where(free, 1e-4, 0.0)
    bad = data.certify(solution.w, solution.b, blurred)
    assert bad.gap > 1e-6
    assert polish(data, bad).gap <= 1e-12
