"""Weighted rules of models behind an operating threshold: the same predictions, also at the threshold itself."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import RuleSVC
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import to_python
from clearmargin.rule_svm import read_weighted_rules

X, Y = load_wbc(return_X_y=True)
X, Y = X[:200], Y[:200]
FITTED = RuleSVC(max_rules=4, certify=False, progress=False).fit(X, Y)


@pytest.mark.parametrize("label", ["benign", "malignant"])
@pytest.mark.parametrize("response", ["predict_proba", "decision_function"])
def test_rules_say_what_the_model_predicts_by_its_threshold(label, response):
    scores = np.unique(FITTED.decision_function(X))
    sign = 1.0 if label == "malignant" else -1.0
    # Thresholds at scores that rows have, where it matters who gets a tie.
    values = (
        [0.1, 0.5, 0.9] if response == "predict_proba" else (sign * scores[[1, 3, -2]]).tolist()
    )
    found = set()
    for value in values:
        model = FixedThresholdClassifier(
            FITTED, threshold=value, pos_label=label, response_method=response
        )
        rules = read_weighted_rules(model)
        assert (rules.predict(X) == model.predict(X)).all()
        found.add(rules.threshold)
    assert len(found) == 3


def test_tuned_thresholds_searches_and_frozen_models_are_read():
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(FITTED), cv="prefit", refit=False, scoring="balanced_accuracy"
    ).fit(X, Y)
    rules = read_weighted_rules(tuned)
    assert (rules.predict(X) == tuned.predict(X)).all()
    assert rules.threshold != 0.0
    assert str(rules) != str(FITTED.weighted_rules_)
    assert read_weighted_rules(FITTED) is FITTED.weighted_rules_
    assert read_weighted_rules(make_pipeline(FITTED)) is FITTED.weighted_rules_


def test_other_models_have_no_weighted_rules():
    assert read_weighted_rules(RidgeClassifier().fit(X, Y)) is None
    scaled = make_pipeline(StandardScaler(), RuleSVC(2, certify=False, progress=False)).fit(X, Y)
    assert read_weighted_rules(scaled) is None


def test_exports_have_the_threshold():
    model = FixedThresholdClassifier(FITTED, threshold=0.02)
    spoken: dict[str, object] = {}
    exec(to_python(model), spoken)
    said = [spoken["predict_row"](row) for row in X.to_dict("records")]
    assert said == model.predict(X).tolist()
    assert said != FITTED.predict(X).tolist()


def test_probabilities_that_fall_with_the_score_are_refused():
    turned = RuleSVC(max_rules=2, certify=False, progress=False).fit(X, Y)
    turned.calibration_ = -turned.calibration_
    with pytest.raises(InvalidValueError, match="fall where its score rises"):
        read_weighted_rules(FixedThresholdClassifier(turned, threshold=0.3))
