from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from clearmargin.exceptions import SolverError
from clearmargin.lp_svm import lpsvm_exact, lpsvm_solve
from clearmargin.lp_svm.lpsvm import LPSVMData
from clearmargin.lp_svm.lpsvm_exact import Centred, certified, exact_lpsvm
from clearmargin.lp_svm.lpsvm_sifting import sift_lpsvm
from clearmargin.lp_svm.lpsvm_solve import SOLVERS, solve_lpsvm
from clearmargin.solvers import rational
from clearmargin.solvers.rational import exact_sum


def in_order(data: LPSVMData, order: np.ndarray) -> LPSVMData:
    return replace(data, X=data.X[order], y=data.y[order], cost=data.cost[order])


def exact_objective(data: LPSVMData, w: np.ndarray, b: float) -> Fraction:
    """The printed objective in fractions, point by point."""
    weights = [Fraction(v) for v in w.tolist()]
    total = Fraction(data.penalty) * sum(abs(v) for v in weights)
    for x, y, c in zip(data.X.tolist(), data.y.tolist(), data.cost.tolist(), strict=True):
        f = sum((Fraction(a) * v for a, v in zip(x, weights, strict=True)), Fraction(b))
        total += Fraction(c) * max(Fraction(0), 1 - Fraction(y) * f)
    return total


def smallest_plane(data: LPSVMData) -> np.ndarray:
    """(w, b) of least objective, then |w_n|, ..., |w_1|, |b|, by one linear program after the other through SciPy."""
    m, n = data.X.shape
    # Variables: w (n), b, t >= |(w, b)| (n + 1), losses (m).
    signed = data.y[:, None] * np.hstack([data.X, np.ones((m, 1))])
    eye = np.eye(n + 1)
    rows = np.vstack([
        np.hstack([-signed, np.zeros((m, n + 1)), -np.eye(m)]),
        np.hstack([eye, -eye, np.zeros((n + 1, m))]),
        np.hstack([-eye, -eye, np.zeros((n + 1, m))]),
    ])  # fmt: skip
    right = np.r_[-np.ones(m), np.zeros(2 * (n + 1))]
    bounds = [(None, None)] * (n + 1) + [(0, None)] * (n + 1 + m)
    objectives = [np.r_[np.zeros(n + 1), np.full(n, data.penalty), 0.0, data.cost]]
    objectives += [np.eye(2 * n + 2 + m)[n + 1 + j] for j in (*range(n - 1, -1, -1), n)]
    for cost in objectives:
        best = linprog(cost, rows, right, bounds=bounds)
        rows, right = np.vstack([rows, cost]), np.r_[right, best.fun + 1e-9]
    return best.x[: n + 1]


def test_of_all_optimal_planes_the_smallest_is_taken():
    rng = np.random.default_rng(0)
    for _ in range(25):
        m, n = int(rng.integers(3, 9)), int(rng.integers(1, 5))
        X = rng.integers(0, 3, size=(m, n)).astype(float)
        y = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
        data = LPSVMData(X, y, rng.integers(1, 3, size=m) * float(rng.choice([0.25, 1.0])))
        found = solve_lpsvm(data)
        assert found.is_exact
        np.testing.assert_allclose(np.append(found.w, found.b), smallest_plane(data), atol=1e-6)


def test_the_plane_is_the_same_to_the_bit_in_any_order_of_points_and_by_any_solver(instance):
    for seed in range(24):
        data = instance(seed)
        first = solve_lpsvm(data)
        order = np.random.default_rng(seed).permutation(len(data))
        again = solve_lpsvm(in_order(data, order), solver=SOLVERS[1 + seed % 3])
        assert first.is_exact
        assert again.is_exact
        np.testing.assert_array_equal(again.w, first.w)
        assert (again.b, again.objective, again.gap) == (first.b, first.objective, first.gap)


def test_refined_and_eliminated_systems_lead_to_the_same_plane(instance, monkeypatch):
    for seed in range(8):
        data = instance(seed)
        monkeypatch.setattr(rational, "_QUICK", 1.0)
        eliminated = solve_lpsvm(data)
        monkeypatch.setattr(rational, "_QUICK", 0.0)
        refined = solve_lpsvm(data)
        np.testing.assert_array_equal(refined.w, eliminated.w)
        assert refined.b == eliminated.b


@given(st.integers(0, 10_000))
def test_the_gap_is_that_of_the_stored_floats_and_never_too_small(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 30))
    Z = rng.integers(-2000, 2000, size=(m, 2)) / 1024
    y = np.where(Z.sum(axis=1) + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    near = LPSVMData(Z, y, np.full(m, float(rng.choice([1.0, 100.0, 1000.0]))))
    far = replace(near, X=Z + 2.0 ** int(rng.integers(20, 33)))
    plane, reference = solve_lpsvm(far), solve_lpsvm(near)
    # The optimum does not depend on where the columns are; near zero it is known to all but the last digits.
    value = exact_objective(far, plane.w, plane.b)
    most = exact_objective(near, reference.w, reference.b)
    least = most * (1 - Fraction(reference.gap))
    assert (value - most) / value <= Fraction(plane.gap) * (1 + Fraction(1, 10**9))
    assert (value - least) / value >= Fraction(plane.gap) * (1 - Fraction(1, 10**9))


@given(st.integers(0, 10_000))
def test_a_gap_from_floating_point_is_never_too_small_either(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 20)), int(rng.integers(1, 4))
    X = rng.normal(size=(m, n)) + float(rng.choice([0.0, 2.0**25]))
    y = rng.choice([-1.0, 1.0], size=m)
    y[:2] = -1.0, 1.0
    data = LPSVMData(X, y, rng.uniform(0.1, 3.0, size=m), fit_intercept=bool(seed % 2))
    exact = solve_lpsvm(data)
    value = exact_objective(data, exact.w, exact.b)
    optimum = value * (1 - Fraction(exact.gap))
    w, b = exact.w + rng.normal(size=n) * 1e-9, exact.b
    u = np.clip(exact.u + rng.normal(size=m) * float(rng.choice([0.0, 1e-12, 1e-3])), 0.0, None)
    judged = certified(Centred.around(data), replace(exact, w=w, b=b, u=u))
    value = exact_objective(data, w, b)
    assert Fraction(judged.gap) >= (value - optimum) / value - Fraction(1, 10**12)
    assert Fraction(judged.bound) <= optimum


def test_weights_count_exactly_like_repetitions(instance):
    for seed in range(6):
        data = instance(seed)
        times = np.arange(len(data)) % 3 + 1
        heavy = solve_lpsvm(replace(data, cost=data.cost * times))
        often = solve_lpsvm(in_order(data, np.repeat(np.arange(len(data)), times)))
        # A product with 3 may be rounded: then the two problems differ in the last digits.
        np.testing.assert_allclose(heavy.w, often.w, rtol=1e-9, atol=1e-9)
        whole = replace(data, cost=np.ones(len(data)), penalty=3.0)
        heavy = solve_lpsvm(replace(whole, cost=whole.cost * times))
        often = solve_lpsvm(in_order(whole, np.repeat(np.arange(len(data)), times)))
        np.testing.assert_array_equal(heavy.w, often.w)
        assert heavy.b == often.b


def test_equal_columns_give_their_weight_to_the_first_of_them():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] - X[:, 3] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    data = LPSVMData(X, y, np.full(60, 0.5))
    alone = solve_lpsvm(data)
    for copies in (np.hstack([X, X]), np.hstack([X, -X])):
        twice = solve_lpsvm(replace(data, X=copies))
        np.testing.assert_array_equal(twice.w[:5], alone.w)
        assert not twice.w[5:].any()
        assert twice.b == alone.b
    # With an intercept, 1 - x says what x says.
    binary = (X > 0).astype(float)
    both = solve_lpsvm(replace(data, X=np.hstack([binary, 1.0 - binary])))
    assert not both.w[5:].any()


def test_sparse_points_have_the_plane_of_dense_ones_to_the_bit(instance):
    for seed in range(6):
        data = instance(seed)
        thin = solve_lpsvm(replace(data, X=sparse.csr_array(data.X)))
        dense = solve_lpsvm(data)
        np.testing.assert_array_equal(thin.w, dense.w)
        assert thin.b == dense.b


def test_a_basis_far_from_the_optimum_leads_there_too(instance):
    for seed in (0, 3, 6, 8):
        data = instance(seed)
        rough = sift_lpsvm(data, max_iter=1)
        found = exact_lpsvm(Centred.around(data), rough)
        assert found is not None
        np.testing.assert_array_equal(found.w, solve_lpsvm(data).w)


def test_without_an_exact_answer_the_gap_is_certified_all_the_same(instance, monkeypatch):
    def give_up(*args, **kwargs):
        raise rational.UndecidedError

    monkeypatch.setattr(lpsvm_exact, "exact_optimum", give_up)
    for seed in range(8):
        data = instance(seed)
        found = solve_lpsvm(data)
        assert not found.is_exact
        assert found.gap <= 1e-6


def test_where_one_solver_fails_the_next_one_is_asked(instance, monkeypatch):
    asked, solve_by = [], lpsvm_solve._solve

    def fail(sifting, penalty, way, *rest):
        asked.append(way)
        if way in broken:
            raise SolverError(f"{way} broke down")
        return solve_by(sifting, penalty, way, *rest)

    data = instance(3)
    best = solve_lpsvm(data)
    monkeypatch.setattr(lpsvm_solve, "_solve", fail)
    broken = {"sifting"}
    np.testing.assert_array_equal(solve_lpsvm(data).w, best.w)
    assert asked == list(SOLVERS[1:3])
    broken = set(SOLVERS)
    with pytest.raises(SolverError, match=f"{SOLVERS[-1]} broke down"):
        solve_lpsvm(data)
    assert asked[2:] == list(SOLVERS[1:])


def test_the_better_one_of_several_rough_answers_is_given(instance, monkeypatch):
    data = instance(3)
    good = solve_lpsvm(data)
    rough = [replace(good, w=good.w * (1 + size), b=good.b) for size in (0.5, 0.25, 1.0)]
    given_ = (replace(certified(Centred.around(data), one), is_exact=False) for one in rough)
    monkeypatch.setattr(lpsvm_solve, "_solve", lambda *_: next(given_))
    found = solve_lpsvm(data)
    np.testing.assert_array_equal(found.w, rough[1].w)


def test_a_solution_without_a_basis_is_no_start(instance):
    data = instance(3)
    start = replace(sift_lpsvm(data), basis=None)
    assert exact_lpsvm(Centred.around(data), start) is None


@given(st.lists(st.tuples(st.floats(0, 1e3), st.sampled_from([-1.0, 1.0])), min_size=1, max_size=8))
def test_multipliers_are_lowered_until_the_classes_balance(pairs):
    u, y = (np.array(column) for column in zip(*pairs, strict=True))
    balanced, rest = lpsvm_exact._balance(u, y)
    assert ((balanced >= 0) & (balanced <= u)).all()
    difference = sum(
        (Fraction(a) * Fraction(b) for a, b in zip(balanced, y, strict=True)), Fraction(0)
    )
    assert abs(difference) == rest
    assert rest <= Fraction(2) ** -43 * 1000
    lighter = min(exact_sum(u[y > 0]), exact_sum(u[y < 0]))
    assert abs(exact_sum(balanced) - 2 * lighter) == rest


@pytest.mark.parametrize("shape", [(12, 3), (3, 12)])
def test_constant_columns_have_no_weight_wherever_they_are(shape):
    rng = np.random.default_rng(5)
    X = rng.normal(size=shape)
    X[:, 1] = 1.7e9
    y = np.where(np.arange(len(X)) % 2 == 0, 1.0, -1.0)
    found = solve_lpsvm(LPSVMData(X, y, np.full(len(X), 5.0)))
    assert found.w[1] == 0.0
    assert found.is_exact
