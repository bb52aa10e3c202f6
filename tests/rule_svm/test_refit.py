"""Weights of given columns, against scikit-learn and against a linear program of another formulation."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from clearmargin.exceptions import TimeLimitError
from clearmargin.rule_svm.refit import Columns, fit_weights, hinge_weights
from clearmargin.rule_svm.work import Budget


def problem(seed: int = 0, m: int = 80, q: int = 4) -> tuple[Columns, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    H = (rng.random((m, q)) < 0.4).astype(float)
    y = np.where(H @ rng.normal(size=q) + rng.normal(size=m) > 0, 1.0, -1.0)
    columns = Columns(
        np.column_stack([np.ones(m), H]), np.r_[0.0, np.ones(q)], np.zeros(q + 1, dtype=np.intp)
    )
    return columns, y, rng.uniform(0.5, 2.0, m)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_logistic_fit_is_that_of_scikit_learn(C: float) -> None:
    columns, y, weight = problem()
    other = LogisticRegression(C=C, tol=1e-10, max_iter=1000)
    other.fit(columns.values[:, 1:], y, sample_weight=weight)
    ours = fit_weights(columns, y, weight, "logistic", C)
    np.testing.assert_allclose(ours, np.r_[other.intercept_, other.coef_[0]], atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_no_small_step_lowers_a_smooth_objective(loss: str) -> None:
    columns, y, weight = problem(1)

    def objective(b: np.ndarray) -> float:
        z = y * (columns.values @ b)
        each = np.logaddexp(0, -z) if loss == "logistic" else 0.5 * np.maximum(0, 1 - z) ** 2
        return float(weight @ each + 0.5 * columns.penalty @ b**2)

    b = fit_weights(columns, y, weight, loss, 1.0)
    best = objective(b)
    rng = np.random.default_rng(0)
    assert all(objective(b + 1e-3 * rng.normal(size=5)) >= best for _ in range(50))
    np.testing.assert_allclose(fit_weights(columns, y, weight, loss, 1.0, start=b), b, atol=1e-6)


def test_the_hinge_fit_is_the_optimum_of_its_dual() -> None:
    columns, y, weight = problem(2)
    b, objective = hinge_weights(columns, y, weight)
    # maximise sum u, |sum u y h| <= price, sum u y = 0, 0 <= u <= cost
    A = (columns.values[:, 1:] * y[:, None]).T
    dual = linprog(
        -np.ones(len(y)),
        A_ub=np.vstack([A, -A]),
        b_ub=np.ones(2 * len(A)),
        A_eq=y[None, :],
        b_eq=[0.0],
        bounds=[(0, w) for w in weight],
    )
    assert objective == pytest.approx(-dual.fun, rel=1e-7)
    hinge = weight @ np.maximum(0, 1 - y * (columns.values @ b))
    assert hinge + np.abs(b[1:]).sum() == pytest.approx(objective, rel=1e-7)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_bound_signs_are_kept(loss: str) -> None:
    columns, y, weight = problem(3)
    free = fit_weights(columns, y, weight, loss, 1.0)
    signs = np.r_[0, -np.sign(free[1:])].astype(np.intp)
    bound = Columns(columns.values, columns.penalty, signs)
    b = fit_weights(bound, y, weight, loss, 1.0)
    assert (signs * b >= 0).all()


def test_many_rows_of_few_kinds_are_a_small_program() -> None:
    columns, y, weight = problem(5, m=40)
    _, once = hinge_weights(columns, y, 500.0 * weight)
    many = Columns(np.tile(columns.values, (500, 1)), columns.penalty, columns.sign)
    _, often = hinge_weights(many, np.tile(y, 500), np.tile(weight, 500), Budget(time_limit=20.0))
    assert often == pytest.approx(once, rel=1e-7)


def test_weights_that_take_more_work_than_there_is_are_not_given() -> None:
    columns, y, weight = problem()
    with pytest.raises(TimeLimitError, match="ran out of iterations"):
        hinge_weights(columns, y, weight, Budget(max_work=1e-9))
