from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from clearmargin.datasets import load_pima
from clearmargin.lp_svm import ProximalSVC


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    return X, np.where(X[:, 0] + rng.normal(size=60) > 0.5, 1, -1)


@pytest.mark.parametrize("nu", [0.01, 1.0, 50.0])
def test_the_closed_form_minimises_the_published_objective(clouds, nu):
    X, d = clouds

    def value(z):
        distance = d * (X @ z[:-1] + z[-1]) - 1.0
        return nu / 2 * distance @ distance + z @ z / 2

    svm = ProximalSVC(nu).fit(X, d)
    found = np.append(svm.coef_[0], svm.intercept_)
    best = minimize(value, np.zeros(4), tol=1e-14)
    assert value(found) <= best.fun + 1e-9
    np.testing.assert_allclose(found, best.x, atol=1e-4)


def test_the_dual_recovers_the_same_plane(clouds):
    # u = nu (e - H r), w = A'Du, gamma = -e'Du with r = (I/nu + H'H)^-1 H'e, as Fung and Mangasarian write it.
    X, d = clouds
    nu = 2.0
    H = d[:, None] * np.hstack([X, -np.ones((len(X), 1))])
    r = np.linalg.solve(np.eye(4) / nu + H.T @ H, H.T @ np.ones(len(X)))
    u = nu * (np.ones(len(X)) - H @ r)
    svm = ProximalSVC(nu).fit(X, d)
    np.testing.assert_allclose(svm.coef_[0], X.T @ (d * u))
    np.testing.assert_allclose(svm.intercept_, (d * u).sum())


def test_balanced_classes_count_the_same(clouds):
    X, d = clouds
    counts = {label: (d == label).sum() for label in (-1, 1)}
    weight = np.array([1.0 / counts[label] for label in d])
    balanced = ProximalSVC(5.0, balanced=True).fit(X, d)
    np.testing.assert_allclose(
        balanced.coef_, ProximalSVC(5.0).fit(X, d, sample_weight=weight).coef_
    )


def test_it_is_as_good_on_pima_as_published():
    # Fung and Mangasarian report 77.5 % in ten folds; on the training data it is a little more.
    X, y = load_pima(return_X_y=True)
    scaled = (X - X.mean()) / X.std()
    assert ProximalSVC(1.0).fit(scaled, y).score(scaled, y) == pytest.approx(0.78, abs=0.01)


def test_nu_must_be_positive(clouds):
    with pytest.raises(ValueError, match="nu must be a positive number, not -1"):
        ProximalSVC(-1).fit(*clouds)
