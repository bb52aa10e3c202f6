"""Operating thresholds: what scikit-learn's wrappers predict is what planes, kernels, rules and files say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from clearmargin import (
    LPSVC,
    FeatureSpace,
    RuleExtractor,
    ScoreRules,
    SupportVectorRules,
    SurrogateRules,
    certify,
    grow_box,
    load_model,
    recourse,
    save_model,
)
from clearmargin.exceptions import NotLinearError
from clearmargin.models.kernel_machine import read_machine
from clearmargin.models.surface import read_surface
from clearmargin.models.threshold import find_threshold, operating_scores, score_threshold
from clearmargin.report import report

FRAME, TARGET = load_breast_cancer(return_X_y=True, as_frame=True)
X = FRAME.iloc[:150, [0, 1, 6]]
Y = np.where(TARGET[:150] == 1, "benign", "malignant")

LINEAR = {
    "logistic": LogisticRegression(),
    "sgd": SGDClassifier(loss="log_loss", random_state=0),
    "discriminant": LinearDiscriminantAnalysis(),
    "linear": LinearSVC(),
    "ours": LPSVC(nu=0.1),
    "calibrated": CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2),
    "isotonic": CalibratedClassifierCV(RidgeClassifier(), ensemble=False, method="isotonic", cv=2),
}


def said(surface, table):
    """The classes that the planes give to rows."""
    (side,) = surface.regions()[1]
    return np.where(side.contains(surface.encode(table)), *surface.classes[::-1])


@pytest.mark.parametrize(
    ("name", "label"), [*zip(LINEAR, ["benign", "malignant"] * 4, strict=False)]
)
def test_planes_say_what_a_linear_model_predicts_by_its_threshold(name, label):
    for wrap in (
        FixedThresholdClassifier(make_pipeline(StandardScaler(), LINEAR[name])),
        make_pipeline(StandardScaler(), FixedThresholdClassifier(LINEAR[name])),
    ):
        model = wrap.fit(X, Y)
        threshold = model if hasattr(model, "threshold") else model[-1]
        counts = set()
        for value in (0.15, 0.8):
            threshold.set_params(threshold=value, pos_label=label)
            assert (said(read_surface(model, X), X) == model.predict(X)).all()
            counts.add(int((model.predict(X) == label).sum()))
        assert len(counts) == 2  # the threshold matters


POINTS = np.array([[0.0], [1.0], [2.0], [3.0]] * 3)
FITTED = {
    kind: LINEAR[kind].fit(POINTS, ["no", "yes", "no", "yes"] * 3)
    for kind in ("logistic", "calibrated")
}


@settings(max_examples=25, deadline=None)
@given(
    st.floats(1e-6, 1 - 1e-6),
    st.sampled_from(["no", "yes"]),
    st.sampled_from(["logistic", "calibrated"]),
)
def test_a_threshold_of_a_probability_is_one_of_the_score_to_the_last_bit(value, label, kind):
    model = FITTED[kind]
    wrapped = FixedThresholdClassifier(FrozenEstimator(model), threshold=value, pos_label=label)
    found = score_threshold(wrapped)
    inner = model.calibrated_classifiers_[0].estimator if kind == "calibrated" else model
    # Rows whose scores are at the threshold, and the floats next to it.
    start = (found.sign * found.value - inner.intercept_[0]) / inner.coef_[0, 0]
    rows = start + np.arange(-200, 200)[:, None] * np.spacing(start)
    above = found.sign * inner.decision_function(rows) >= found.value
    assert ((wrapped.predict(rows) == label) == above).all()
    assert found.slack < 1e-9


def test_a_row_at_the_threshold_gets_the_class():
    points, labels = np.array([[-1.0], [1.0]]), ["no", "yes"]
    model = LPSVC(nu=10.0).fit(points, labels)
    assert model.decision_function([[0.5]])[0] == 0.5
    for label, value in (("yes", 0.5), ("no", -0.5)):
        wrapped = FixedThresholdClassifier(model, threshold=value, pos_label=label)
        rows = np.array([[0.5], [np.nextafter(0.5, 0)], [np.nextafter(0.5, 1)]])
        surface = read_surface(wrapped, points)
        assert (said(surface, rows) == wrapped.predict(rows)).all()
        assert wrapped.predict(rows)[0] == label


def test_a_tuned_threshold_is_read_with_where_it_comes_from():
    scorer = make_scorer(fbeta_score, beta=3, pos_label="benign")
    inner = make_pipeline(StandardScaler(), LinearSVC())
    tuned = TunedThresholdClassifierCV(inner, scoring=scorer, cv=2, thresholds=15).fit(X, Y)
    found = find_threshold(tuned)
    assert (found.label, found.positive, found.value) == ("benign", 0, tuned.best_threshold_)
    assert str(found).endswith("(chosen by TunedThresholdClassifierCV for a scorer)")
    assert (said(read_surface(tuned, X), X) == tuned.predict(X)).all()
    by_name = TunedThresholdClassifierCV(
        inner, scoring="balanced_accuracy", cv=2, thresholds=15
    ).fit(X, Y)
    assert "for balanced_accuracy" in str(find_threshold(by_name))
    assert find_threshold(by_name).to_dict()["value"] == by_name.best_threshold_
    assert find_threshold(inner.fit(X, Y)) is None
    assert find_threshold(FixedThresholdClassifier(LinearSVC())) is None  # not trained


def test_searches_and_frozen_models_around_a_threshold_are_read():
    wrapped = FixedThresholdClassifier(LogisticRegression(max_iter=1000), threshold=0.3)
    search = GridSearchCV(wrapped, {"estimator__C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert (said(read_surface(search, X), X) == search.predict(X)).all()
    # A threshold around a fitted model needs no training of its own.
    frozen = FixedThresholdClassifier(LogisticRegression(max_iter=1000).fit(X, Y), threshold=0.3)
    assert RuleExtractor(frozen).fit(X, Y).estimator_ is frozen
    assert find_threshold(make_pipeline(StandardScaler(), frozen)).value == 0.3


def test_scores_are_counted_from_the_threshold():
    for model in (
        FixedThresholdClassifier(LinearSVC(), threshold=0.4, pos_label="benign"),
        FixedThresholdClassifier(LogisticRegression(max_iter=1000), threshold=0.9),
        FixedThresholdClassifier(RandomForestClassifier(10, random_state=0), threshold=0.25),
    ):
        scores = operating_scores(model.fit(X, Y), X)
        predicted = model.predict(X)
        assert (predicted[scores > 0] == "malignant").all()
        assert (predicted[scores < 0] == "benign").all()
    assert operating_scores(RandomForestClassifier(2).fit(X, Y), X) is None


def test_rules_of_a_plane_are_proved_for_the_threshold():
    model = make_pipeline(StandardScaler(), LogisticRegression())
    usual = RuleExtractor(model, max_rules=3).fit(X, Y)
    careful = RuleExtractor(FixedThresholdClassifier(model, threshold=0.05), max_rules=3).fit(X, Y)
    assert (careful.predict(X) == careful.estimator_.predict(X)).all()
    assert {rule.proof for rule in careful.rules_} == {"proved"}
    assert careful.rules_ != usual.rules_
    drawn = np.random.default_rng(0).uniform(X.min(), X.max(), (3000, 3))
    table = pd.DataFrame(drawn, columns=X.columns)
    which = careful.which(table)
    labels = np.array([rule.label for rule in careful.rules_])
    assert (careful.estimator_.predict(table)[which >= 0] == labels[which[which >= 0]]).all()
    positive = careful.decision_function(X) > 0
    assert (careful.predict(X)[positive] == "malignant").all()


def test_a_report_and_a_model_file_say_the_threshold(tmp_path):
    model = FixedThresholdClassifier(LogisticRegression(max_iter=1000), threshold=0.05)
    extractor = RuleExtractor(model, max_rules=2).fit(X, Y)
    says = "'malignant' is predicted where its probability is at least 0.05"
    page = report(extractor, X, Y, cv=None)
    assert page.to_dict()["model"]["threshold"].startswith(says)
    assert f"Operating threshold: {says}" in page.to_markdown()
    loaded = load_model(save_model(extractor, tmp_path / "careful.json"))
    assert (loaded.predict(X) == extractor.predict(X)).all()
    assert loaded.facts["threshold"].startswith(says)
    bare = load_model(save_model(extractor.estimator_, tmp_path / "bare.json", X=X))
    assert (bare.predict(X) == extractor.predict(X)).all()
    assert bare.facts["trained_by"] == "LogisticRegression"
    assert f"Operating threshold: {says}" in report(loaded, X, Y, cv=None).to_markdown()


def test_a_scorecard_follows_the_threshold():
    model = FixedThresholdClassifier(make_pipeline(StandardScaler(), LinearSVC()), threshold=-1.0)
    card = ScoreRules(model, max_rules=8).fit(X, Y)
    assert card.fidelity_ > 0.9
    assert (card.predict(X) == "malignant").sum() > (Y == "malignant").sum()


def test_recourse_goes_across_the_threshold():
    model = FixedThresholdClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), threshold=0.1
    ).fit(X, Y)
    case = X.iloc[int(np.argmax(model.predict(X) == "malignant"))]
    answer = recourse(model, case, X=X, target="benign", actionable=list(X.columns))
    assert answer.verified
    assert answer.label_after == "benign"


@pytest.mark.parametrize(
    ("calibrate", "label"), [(False, "malignant"), (False, "benign"), (True, "benign")]
)
def test_a_kernel_machine_is_shifted_by_its_threshold(calibrate, label):
    svm = SVC(gamma=0.5)
    inner = CalibratedClassifierCV(svm, ensemble=False, cv=2) if calibrate else svm
    model = make_pipeline(StandardScaler(), inner)
    model = FixedThresholdClassifier(model, threshold=0.2, pos_label=label).fit(X, Y)
    machine = read_machine(model, X)
    values = machine.function.values(machine.to_machine(X.to_numpy()))[:, 0]
    clear = np.abs(values) > 1e-9
    assert (np.where(values > 0, "malignant", "benign") == model.predict(X))[clear].all()
    assert read_machine(model).function.n_functions == 1


def test_proofs_and_rules_of_a_kernel_machine_are_for_the_threshold():
    svm = make_pipeline(StandardScaler(), SVC(gamma=0.3)).fit(X, Y)
    model = FixedThresholdClassifier(svm, threshold=-0.6)
    row = int(np.argmax((model.predict(X) == "malignant") & (svm.predict(X) == "benign")))
    box = grow_box(model, X.iloc[row], space=FeatureSpace.from_data(X))
    assert certify(model, box, "malignant").status == "proved"
    assert certify(svm, box, "malignant").status == "refuted"
    rules = SupportVectorRules(model, certify=True, max_rules=3).fit(X, Y)
    assert {rule.proof for rule in rules.rules_} == {"proved"}
    covered = rules.which(X) >= 0
    assert (rules.predict(X) == model.predict(X))[covered].all()
    surrogate = SurrogateRules(model, max_rules=3).fit(X, Y)
    assert (surrogate.predict(X) == model.predict(X)).mean() > 0.8


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (
            FixedThresholdClassifier(CalibratedClassifierCV(LinearSVC(), cv=2), threshold=0.3),
            "averages the probabilities of 2 machines.*train it with ensemble=False",
        ),
        (
            FixedThresholdClassifier(LogisticRegression(max_iter=1000), threshold=0.0),
            "is at least 0 for every score, so that FixedThresholdClassifier predicts the same",
        ),
        (
            FixedThresholdClassifier(RandomForestClassifier(3), threshold=0.3),
            "RandomForestClassifier is not linear",
        ),
    ],
)
def test_thresholds_that_no_plane_has_are_refused(model, match):
    with pytest.raises(NotLinearError, match=match):
        read_surface(model.fit(X, Y), X)
