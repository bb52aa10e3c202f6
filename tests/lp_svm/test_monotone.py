"""Weights of one sign: the plane is the optimum among those that are left, and proved to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from clearmargin import LPSVC, LPSVCCV
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import InvalidValueError
from clearmargin.lp_svm.lpsvm import LPSVMData, dual_bound, primal_program
from clearmargin.lp_svm.lpsvm_path import LPSVMPath, zero_penalty
from clearmargin.lp_svm.lpsvm_solve import solve_lpsvm
from clearmargin.solvers import solve


def optimum(X, y, nu, sign):
    """The objective by a general solver, weights as differences of two parts of which one may have to be zero."""
    m, n = X.shape
    signed = y[:, None] * X
    rows = -np.hstack([signed, -signed, y[:, None], -y[:, None], np.eye(m)])
    costs = np.concatenate([np.ones(2 * n), [0.0, 0.0], np.full(m, nu)])
    up = [(0, 0) if s < 0 else (0, None) for s in sign]
    down = [(0, 0) if s > 0 else (0, None) for s in sign]
    bounds = [*up, *down, *[(0, None)] * (m + 2)]
    return linprog(costs, rows, -np.ones(m), bounds=bounds).fun


@st.composite
def cases(draw):
    m, n = draw(st.integers(4, 14)), draw(st.integers(1, 4))
    values = st.lists(st.integers(-4, 4), min_size=m * n, max_size=m * n)
    X = np.array(draw(values), dtype=float).reshape(m, n)
    y = np.where(np.array(draw(st.lists(st.booleans(), min_size=m, max_size=m))), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    sign = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
    return X, y, draw(st.sampled_from([0.05, 0.3, 2.0])), sign


@settings(max_examples=40, deadline=None)
@given(cases(), st.sampled_from(["auto", "simplex", "ipm"]))
def test_the_plane_is_the_optimum_among_those_with_the_signs(case, solver):
    X, y, nu, sign = case
    svm = LPSVC(nu, monotone=dict(enumerate(sign)), solver=solver).fit(X, y)
    assert (svm.coef_[0] * sign >= 0).all()
    assert svm.gap_ <= 1e-12
    assert svm.objective_ == pytest.approx(optimum(X, y, nu, sign), rel=1e-7)
    order = np.arange(len(y))[::-1]
    again = LPSVC(nu, monotone=dict(enumerate(sign))).fit(X[order], y[order])
    assert again.coef_.tolist() == svm.coef_.tolist()
    assert again.intercept_.tolist() == svm.intercept_.tolist()


def test_signs_that_the_optimum_has_anyway_change_nothing():
    X, y = load_wbc(return_X_y=True)
    free = LPSVC(nu=0.0025).fit(X, y)
    signs = {name: 1 for name, w in zip(X.columns, free.coef_[0], strict=True) if w >= 0}
    same = LPSVC(nu=0.0025, monotone=signs).fit(X, y)
    assert same.coef_.tolist() == free.coef_.tolist()
    turned = LPSVC(nu=0.0025, monotone=dict.fromkeys(X.columns, -1)).fit(X, y)
    assert not turned.coef_.any()
    assert turned.objective_ > free.objective_


def test_of_equal_columns_the_first_that_may_has_the_weight():
    X = np.array([[0.0, 0.0, 0.0], [3.0, 3.0, -3.0]])
    y = [0, 1]
    assert LPSVC(9.0, monotone={0: -1, 1: 1}).fit(X, y).coef_[0].tolist() == [0.0, 2 / 3, 0.0]
    assert LPSVC(9.0, monotone={0: -1, 1: -1}).fit(X, y).coef_[0].tolist() == [0.0, 0.0, -2 / 3]
    assert LPSVC(9.0, monotone={2: -1}).fit(X, y).coef_[0].tolist() == [2 / 3, 0.0, 0.0]


def test_large_tables_are_sifted_with_signs_and_proved():
    rng = np.random.default_rng(0)
    w = np.array([3.0, -2.0, 1.0, 0.0, 0.0, 0.5])
    X = rng.normal(size=(9000, 6))
    y = np.where(X @ w + rng.normal(size=9000) > 0, 1.0, -1.0)
    sign = np.array([1, 1, -1, 1, -1, 0])
    found = solve_lpsvm(LPSVMData(X, y, np.ones(9000), penalty=30.0, sign=sign))
    assert found.gap <= 1e-12
    assert (found.w * sign >= 0).all()
    # A second formulation, on a part of the rows.
    part = LPSVMData(X[:400], y[:400], np.ones(400), penalty=5.0, sign=sign)
    value = solve(primal_program(part)).objective
    found = solve_lpsvm(part)
    assert found.objective == pytest.approx(value, rel=1e-7)
    assert dual_bound(part, found.u) == pytest.approx(value, rel=1e-6)
    crooked = np.random.default_rng(1).uniform(0, 2, 400)  # any multipliers bound the optimum
    assert dual_bound(part, crooked) <= value
    sparse_one = LPSVC(0.2, monotone={0: -1}).fit(sparse.csr_array(X[:300]), y[:300])
    assert sparse_one.coef_[0, 0] == 0.0


def test_a_path_has_the_planes_of_single_fits():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 5))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=80) > 0, 1.0, -1.0)
    data = LPSVMData(X, y, np.ones(80), sign=np.array([1, 1, 0, -1, 1]))
    path = LPSVMPath(data)
    end = zero_penalty(data)
    assert not path.solve(1.01 * end).w.any()
    for penalty in (0.5 * end, 0.1 * end):
        single = LPSVC(1 / penalty, monotone={0: 1, 1: 1, 3: -1, 4: 1}).fit(X, y)
        assert path.solve(penalty).objective == pytest.approx(single.objective_ * penalty, rel=1e-6)


def test_cross_validation_keeps_the_signs_under_a_cap():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(150, 6)), columns=list("abcdef")) * [1, 100, 1, 1, 1, 1]
    y = np.where(X["a"] + X["b"] / 50 + rng.normal(size=150) > 0, "yes", "no")
    svm = LPSVCCV(monotone={"a": 1, "b": -1}, cv=3, max_features=2, scale=True).fit(X, y)
    assert svm.coef_[0, 0] > 0
    assert svm.coef_[0, 1] <= 0
    assert np.count_nonzero(svm.coef_) <= 2
    assert svm.gap_ <= 1e-9


@pytest.mark.parametrize(
    ("monotone", "match"),
    [
        ({"incme": 1}, "monotone names 'incme', which is no feature; did you mean 'income'"),
        ({7: 1}, "monotone names feature 7, and there are 2, counted from 0"),
        ({"income": 2}, "monotone of 'income' must be 1 or -1, not 2"),
        ({"income": True}, "must be 1 or -1, not True"),
        ([1, 0], "monotone must be a mapping from feature to 1 or -1, such as .* not"),
        (
            {"job": 1},
            "monotone names 'job', which is categorical, and categories have no direction",
        ),
        ({1: 1}, "monotone names 'job', which is categorical"),
    ],
)
@pytest.mark.parametrize("kind", [LPSVC, LPSVCCV])
def test_signs_that_make_no_sense_are_refused(kind, monotone, match):
    X = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0], "job": ["a", "b", "a", "b"]})
    with pytest.raises(InvalidValueError, match=match):
        kind(monotone=monotone).fit(X, [0, 1, 0, 1])
