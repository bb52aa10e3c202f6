from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from clearmargin import RuleExtractor
from clearmargin.plane_rules import explore_volume


def fitted(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((80, n))
    score = X @ rng.normal(size=n)
    y = (score > np.median(score)).astype(int)
    return RuleExtractor(RidgeClassifier()).fit(X, y), X


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("label", [0, 1])
def test_every_box_adds_volume_and_more_boxes_leave_less(n, label):
    extractor, _ = fitted(n)
    found = explore_volume(extractor, label, max_rules=60)
    assert (np.diff(found.curve) > 0).all()
    assert found.total.low <= found.curve[-1] <= found.total.high
    assert found.total.high <= 1.0
    # The theorem: t boxes leave at most (1 - n!/n^n)^(log_n t - 1).
    alpha = math.factorial(n) / n**n
    assert 1 - found.curve[-1] <= (1 - alpha) ** (math.log(len(found.rules), n) - 1) + 1e-12


def test_the_boxes_are_where_the_model_says_so():
    extractor, X = fitted(3)
    found = explore_volume(extractor, 1, max_rules=40)
    points = np.random.default_rng(1).random((4000, 3)) * (X.max(0) - X.min(0)) + X.min(0)
    covered = found.rules.covers(points)
    assert covered.sum(axis=1).max() == 1
    inside = covered.any(axis=1)
    assert (extractor.estimator_.predict(points[inside]) == 1).all()
    side = extractor.estimator_.predict(points) == 1
    # The share of the points on the side that are covered is the share of its volume.
    assert inside.sum() / side.sum() == pytest.approx(found.curve[-1], abs=0.04)


def test_an_unknown_class_and_three_classes_are_refused():
    extractor, X = fitted(2)
    with pytest.raises(ValueError, match="'ill' is none of the classes"):
        explore_volume(extractor, "ill")
    three = RuleExtractor(LogisticRegression()).fit(X, np.arange(80) % 3)
    with pytest.raises(ValueError, match="models of two classes"):
        explore_volume(three, 1)


def test_a_side_that_the_domain_does_not_reach_has_no_boxes():
    X = np.random.default_rng(0).random((30, 2))
    model = RidgeClassifier().fit(X, np.arange(30) % 2)
    model.coef_, model.intercept_ = np.array([[1.0, 1.0]]), np.array([-5.0])
    extractor = RuleExtractor(model).fit(X, np.arange(30) % 2)
    found = explore_volume(extractor, 1)
    assert len(found.rules) == 0
    assert found.total.high == 0.0
