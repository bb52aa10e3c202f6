"""Data of two unequal classes, as in the paper's first experiment, and trees grown on them."""

from __future__ import annotations

import numpy as np
import pytest

from clearmargin.svm_trees import SVMTreeClassifier


def imbalanced(m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping Gaussians in the plane, ten to one."""
    rng = np.random.default_rng(seed)
    few = m // 11
    X = np.vstack(
        [
            rng.normal(0, 1.5, (m - few, 2)),
            np.array([-2.5, 0.5]) + rng.normal(0, 0.7, (few, 2)),
        ]
    )
    y = np.repeat(["common", "rare"], [m - few, few])
    order = rng.permutation(m)
    return X[order], y[order]


WAYS = {
    "breadth": {},
    "depth": {"order": "depth"},
    "ecm": {"partition": "ecm"},
    "minority": {"loss": "minority"},
    "depth ecm minority": {"order": "depth", "partition": "ecm", "loss": "minority"},
    "tol 0": {"tol": 0.0},
    "min_leaf": {"min_leaf": 4},
    "three layers": {"max_layers": 3},
    "large C": {"C": 1000.0, "tol": 0.1},
    "balanced": {"class_weight": "balanced", "C": 10.0, "tol": 0.1},
}


@pytest.fixture(scope="session")
def table():
    return imbalanced(184, seed=0)


@pytest.fixture(scope="session")
def fresh():
    return imbalanced(2000, seed=1)


@pytest.fixture(scope="session", params=WAYS.values(), ids=WAYS.keys())
def model(request, table):
    everything = {"min_coverage": 1, "max_rules": None}
    return SVMTreeClassifier(random_state=0, **everything, **request.param).fit(*table)


@pytest.fixture(scope="session")
def three_classes():
    """Three classes, four features in different units, values rounded so that some coincide."""
    rng = np.random.default_rng(5)
    centres = np.array([[5.0, 300, 0.1, 7], [6.0, 350, 0.15, 7], [6.5, 310, 0.2, 7]])
    codes = np.repeat([0, 1, 2], [40, 60, 20])
    X = centres[codes] + rng.normal(0, [0.4, 30, 0.04, 0], (120, 4))
    return np.round(X, 2), np.array(["a", "b", "c"])[codes]
