"""Kernel machines with given numbers, their functions in exact arithmetic, and hunts for low points in boxes."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC, OneClassSVM

__all__ = ["duels", "exact_value", "given_machine", "lowest_point", "random_machine", "values"]


def given_machine(kernel, vectors, coefs, intercept, *, gamma=1.0, coef0=0.0, degree=3) -> SVC:
    """An SVC of two classes, 0 and 1, that decides by these numbers: 1 where its function is positive."""
    vectors = np.asarray(vectors, dtype=float)
    start = np.zeros((2, vectors.shape[1]))
    start[1] = 1.0
    model = SVC(kernel=kernel, gamma=gamma, coef0=coef0, degree=degree).fit(start, [0, 1])
    model.support_vectors_ = vectors
    model.dual_coef_ = np.asarray(coefs, dtype=float)[None]
    model.intercept_ = np.array([float(intercept)])
    return model


def random_machine(seed: int, kernel: str, n: int | None = None) -> SVC:
    """Few or many vectors, narrow or wide kernels, large or small coefficients."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 5))
    s = int(rng.integers(1, 20))
    return given_machine(
        kernel,
        rng.normal(size=(s, n)),
        rng.normal(size=s) * 10.0 ** rng.uniform(-2, 2),
        rng.normal(),
        gamma=float(10.0 ** rng.uniform(-2, 1)),
        coef0=float(rng.normal()),
        degree=int(rng.integers(0, 8)),
    )


def values(model: SVC, Z: np.ndarray) -> np.ndarray:
    """The function of a machine of two classes, summed up support vector by support vector."""
    Z, S = np.asarray(Z, dtype=float), model.support_vectors_
    if model.kernel == "rbf":
        K = np.exp(-model.gamma * ((Z[:, None] - S) ** 2).sum(axis=2))
    else:
        K = Z @ S.T
        if model.kernel != "linear":
            K = (model.gamma * K + model.coef0) ** model.degree
    return K @ model.dual_coef_[0] + model.intercept_[0]


def exact_value(model: SVC, z: np.ndarray) -> Decimal | Fraction:
    """The function of the stored floats: in fractions, or to 60 digits where it is not rational."""
    if model.kernel in {"linear", "poly"}:
        return _sum(model, z, Fraction)
    with localcontext() as context:
        context.prec = 60
        return _sum(model, z, Decimal)


def _sum(model, z, number):
    gamma, coef0 = number(float(model.gamma)), number(float(model.coef0))
    total, z = number(float(model.intercept_[0])), [number(v) for v in z.tolist()]
    for vector, a in zip(
        model.support_vectors_.tolist(), model.dual_coef_[0].tolist(), strict=True
    ):
        row = [number(v) for v in vector]
        inner = sum((u * v for u, v in zip(row, z, strict=True)), number(0))
        if model.kernel == "linear":
            value = inner
        elif model.kernel == "poly":
            value = (gamma * inner + coef0) ** int(model.degree)
        else:
            squares = sum(((u - v) * (u - v) for u, v in zip(row, z, strict=True)), number(0))
            value = (-gamma * squares).exp()
        total += number(a) * value
    return total


def duels(model, points: np.ndarray, label) -> np.ndarray:
    """The lowest of the decision functions that the class has to win, by the model itself."""
    found = np.asarray(model.decision_function(points))
    classes = [-1, 1] if isinstance(model, OneClassSVM) else list(model.classes_)
    k = classes.index(label)
    if found.ndim == 1:
        return found if k == 1 else -found
    pairs = [(i, j) for i in range(len(classes)) for j in range(i + 1, len(classes))]
    won = [v if i == k else -v for v, (i, j) in zip(found.T, pairs, strict=True) if k in (i, j)]
    return np.min(won, axis=0)


def lowest_point(function, lower: np.ndarray, upper: np.ndarray, rng) -> np.ndarray:
    """The lowest point of a box that chance, its corners and a descent find."""
    corners = np.array(list(product(*zip(lower, upper, strict=True))))
    points = np.vstack([rng.uniform(lower, upper, (100, len(lower))), corners, (lower + upper) / 2])
    found = [
        minimize(
            lambda x: function(x[None])[0],
            points[start],
            method="L-BFGS-B",
            bounds=list(zip(lower, upper, strict=True)),
            options={"maxiter": 12},
        ).x
        for start in np.argsort(function(points))[:2]
    ]
    points = np.clip(np.vstack([points, found]), lower, upper)
    return points[np.argmin(function(points))]
