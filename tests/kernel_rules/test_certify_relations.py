"""Proofs of kernel machines over a Domain with relations: witnesses are possible cases, against a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from clearmargin import Box, Domain, FeatureSpace
from clearmargin.kernel_rules import certify

SPACE = FeatureSpace(["x0", "x1"], [0.0, 0.0], [4.0, 4.0])
ORDERED = Domain(SPACE, True, True, relations="x0 <= x1")


@pytest.fixture(scope="module", params=["rbf", "poly", "linear"])
def model(request):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (60, 2))
    y = np.where(X[:, 0] - X[:, 1] + 0.3 * np.sin(3 * X[:, 0]) > 0.4, "below", "above")
    return SVC(kernel=request.param, gamma=0.5, C=10.0, degree=2).fit(X, y)


def test_an_answer_is_that_of_the_possible_cases(model):
    ticks = np.linspace(0, 4, 81)
    grid = np.array([(a, b) for a in ticks for b in ticks if a <= b])
    predicted = model.predict(grid)
    rng, differ = np.random.default_rng(1), 0
    for _ in range(12):
        ends = np.sort(rng.uniform(0, 4, (2, 2)), axis=0)
        box = Box(ends[0], ends[1])
        inside = box.contains(grid)
        found = certify(model, box, "above", space=ORDERED, budget=3000)
        if found.status == "refuted":
            assert ORDERED.contains(found.witness[None])[0]
            assert box.contains(found.witness[None])[0]
            assert model.predict(found.witness[None])[0] == "below"
        elif found.status == "proved":
            assert (predicted[inside] == "above").all()
        differ += found.is_proved and not certify(model, box, "above", space=SPACE).is_proved
    assert certify(model, Box([3.0, 0.0], [4.0, 2.0]), "above", space=ORDERED).is_proved
    assert differ > 0


def test_a_group_of_columns_has_one_category_in_every_case():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
    xor = SVC(gamma=1.0, C=100.0).fit(X, ["one", "one", "other", "other"])
    columns = FeatureSpace(["x0", "x1"], [0.0, 0.0], [1.0, 1.0])
    group = Domain(columns, groups={"colour": {"red": "x0", "blue": "x1"}})
    box = Box([0.0, 0.0], [1.0, 1.0])
    assert certify(xor, box, "one", space=columns).status == "refuted"
    assert certify(xor, box, "one", space=group).status == "proved"
