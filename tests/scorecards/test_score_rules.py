from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin import ProximalSVC
from clearmargin.datasets import load_cleveland, load_wbc
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.scorecards.score_rules import ScoreRules


@parametrize_with_checks(
    [
        ScoreRules(n_generated=200, random_state=0),
        ScoreRules(LinearSVC(), n_generated=200, integer_points=None, random_state=0),
        ScoreRules(LinearSVC(), n_generated=50, certify=True),
        ScoreRules(ProximalSVC(), n_generated=50, certify=True, max_features=1),
    ]
)
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def _numbers(seed: int = 0):
    return make_classification(120, 5, n_informative=3, random_state=seed)


def _people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, size=150),
            "job": rng.choice(["clerk", "farmer", "smith"], size=150),
            "income": rng.normal(30.0, 9.0, size=150),
        }
    )
    y = np.where(X["age"] + 30 * (X["job"] == "smith") > 60, "yes", "no")
    return X, y


def _model():
    encode = make_column_transformer(
        (OneHotEncoder(), ["job"]), remainder=StandardScaler(), sparse_threshold=0.0
    )
    return make_pipeline(encode, SVC(kernel="linear"))


def test_the_card_says_what_a_linear_machine_says_of_most_rows_it_never_saw():
    X, y = load_wbc(return_X_y=True)
    model = make_pipeline(StandardScaler(), LinearSVC(C=1, random_state=0)).fit(X[::2], y[::2])
    rules = ScoreRules(model, random_state=0).fit(X[::2], y[::2])
    assert rules.estimator_ is model
    assert rules.scorecard_.n_rules <= 15
    assert (rules.predict(X[1::2]) == model.predict(X[1::2])).mean() > 0.97


def test_a_model_that_is_one_step_is_imitated_exactly():
    X = np.tile(np.arange(20.0), 2)[:, None]
    y = (X[:, 0] >= 17).astype(int)
    model = SVC(kernel="linear", C=1e3).fit(X, y)
    rules = ScoreRules(model, max_rules=1, random_state=0).fit(X, y)
    assert rules.fidelity_ == 1.0
    (part,) = rules.scorecard_.features
    assert part.points.tolist() == [0.0, 1.0]
    assert rules.scorecard_.threshold == 0.5


def test_the_estimator_and_its_card_say_the_same():
    X, y = _numbers()
    rules = ScoreRules(random_state=0).fit(X, y)
    assert rules.predict(X).tolist() == rules.scorecard_.predict(X).tolist()
    assert rules.fidelity_ == (rules.predict(X) == rules.estimator_.predict(X)).mean()
    np.testing.assert_array_equal(
        rules.decision_function(X), rules.scorecard_.score(X) - rules.scorecard_.threshold
    )


def test_points_are_whole_and_not_negative_unless_asked_otherwise():
    X, y = _numbers()
    whole = ScoreRules(integer_points=4, random_state=0).fit(X, y)
    points = np.concatenate([part.points for part in whole.scorecard_.features])
    assert (points == np.rint(points)).all()
    assert points.min() == 0.0
    assert all(np.abs(np.diff(part.points)).max() <= 4 for part in whole.scorecard_.features)
    assert whole.scorecard_.threshold % 1 == 0.5
    exact = ScoreRules(integer_points=None, random_state=0).fit(X, y)
    assert any((part.points != np.rint(part.points)).any() for part in exact.scorecard_.features)
    assert exact.rounding_loss_ == 0.0


@pytest.mark.parametrize("most", [1, 3, 8])
def test_there_are_never_more_rules_than_allowed(most):
    X, y = _numbers(2)
    assert ScoreRules(max_rules=most, random_state=0).fit(X, y).scorecard_.n_rules <= most


def test_more_rules_imitate_a_plane_better():
    X, y = _numbers(3)
    few, many = (
        ScoreRules(LinearSVC(), max_rules=k, integer_points=None, random_state=0).fit(X, y)
        for k in (1, 20)
    )
    assert many.fidelity_ > few.fidelity_


def test_categories_have_points_by_name():
    X, y = _people()
    rules = ScoreRules(_model(), max_rules=6, random_state=0).fit(X, y)
    assert (rules.predict(X) == rules.estimator_.predict(X)).mean() > 0.9
    points = {
        name: points for _, names, points in rules.scorecard_.lines() for name in names.split(", ")
    }
    assert points["smith"] > points["clerk"]
    assert rules.predict(X[["income", "job", "age"]][["age", "job", "income"]]).shape == (150,)


def test_a_category_that_lowers_the_score_is_one_rule():
    X, _ = _people()
    y = np.where(X["job"] == "farmer", "no", "yes")
    rules = ScoreRules(_model(), max_rules=1, random_state=0).fit(X, y)
    assert rules.scorecard_.n_rules == 1
    assert rules.scorecard_.features[0].points.tolist() == [1.0, 0.0, 1.0]
    assert rules.fidelity_ == 1.0


def test_an_array_with_texts_is_a_table_too():
    X, y = _people()
    encode = make_column_transformer((OneHotEncoder(), [1]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=5000))
    rules = ScoreRules(model, random_state=0).fit(X.to_numpy(dtype=object), y)
    assert rules.fidelity_ > 0.9
    assert rules.predict(X.to_numpy(dtype=object)).shape == (150,)


class OnlyPredicts(ClassifierMixin, BaseEstimator):
    """Predicts by the sign of the first column, and gives no values."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


@pytest.mark.parametrize("model", [KNeighborsClassifier(), NearestCentroid(), OnlyPredicts()])
def test_a_model_need_not_have_a_decision_function(model):
    X, y = _numbers()
    assert ScoreRules(model, random_state=0).fit(X, y).fidelity_ > 0.9


def test_the_sign_is_what_the_model_says_even_where_its_values_disagree():
    class Contrary(LogisticRegression):
        def decision_function(self, X):
            return -super().decision_function(X)

        def predict(self, X):
            return self.classes_[(super().decision_function(X) > 0).astype(int)]

    X, y = _numbers()
    rules = ScoreRules(Contrary(), random_state=0).fit(X, y)
    assert (rules.predict(X) == rules.estimator_.predict(X)).mean() > 0.9


def test_the_same_seed_gives_the_same_card():
    X, y = _numbers()
    first, second = (ScoreRules(random_state=7).fit(X, y).scorecard_ for _ in range(2))
    assert first == second


def test_names_of_a_frame_stand_on_the_card():
    X, y = load_cleveland(return_X_y=True)
    rules = ScoreRules(max_rules=4, random_state=0).fit(X, y)
    assert set(rules.scorecard_.to_frame()["feature"]) <= set(X.columns)
    explained = rules.explain(X.iloc[[0]])
    assert explained.label == rules.predict(X.iloc[[0]])[0]


def test_a_model_of_three_classes_is_refused():
    X, y = make_classification(90, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    with pytest.raises(DataError, match="Only binary classification"):
        ScoreRules().fit(X, y)
    with pytest.raises(InvalidValueError, match="the model has 3"):
        ScoreRules(SVC().fit(X, y)).fit(X[y < 2], y[y < 2])


@pytest.mark.parametrize(
    ("params", "name"),
    [({"max_rules": 0}, "max_rules"), ({"integer_points": 0}, "integer_points")],
)
def test_a_wrong_parameter_is_named(params, name):
    X, y = _numbers()
    with pytest.raises(InvalidValueError, match=name):
        ScoreRules(**params).fit(X, y)


def test_a_row_with_a_gap_is_named():
    X, y = _numbers()
    rules = ScoreRules(random_state=0).fit(X, y)
    broken = X[:3].copy()
    broken[1, 2] = np.nan
    with pytest.raises(DataError, match="row 2 holds NaN"):
        rules.predict(broken)


def test_a_table_with_a_gap_in_every_row_is_refused():
    X, y = _numbers()
    X = np.array(X, dtype=float)
    X[:, 2] = np.nan
    model = make_pipeline(SimpleImputer(keep_empty_features=True), LogisticRegression())
    with pytest.raises(DataError, match="every row of X has a missing value; a scorecard needs"):
        ScoreRules(model).fit(X, y)


def test_of_many_rows_some_choose_the_card_and_all_are_counted(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.where(X[:, 0] - X[:, 1] > 0.3, "yes", "no")
    monkeypatch.setattr("clearmargin.scorecards.score_rules._MOST_ROWS", 250)
    monkeypatch.setattr("clearmargin.rule_base.training.MOST_KERNEL_ROWS", 300)
    card = ScoreRules(n_generated=100).fit(X, y)
    assert card.n_chosen_on_ == 250
    # The default machine is trained on some rows, too: its support vectors are no more than these.
    assert card.estimator_[-1].shape_fit_[0] <= 305
    agree = card.predict(X) == card.estimator_.predict(X)
    assert card.fidelity_ == agree.mean() > 0.9
    order = rng.permutation(900)
    other = ScoreRules(card.estimator_, n_generated=100).fit(X[order], y[order])
    assert other.n_chosen_on_ == 250
    assert abs(other.fidelity_ - card.fidelity_) < 0.05


def test_all_rows_train_the_default_machine_where_fit_is_told_more(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    monkeypatch.setattr("clearmargin.rule_base.training.MOST_KERNEL_ROWS", 200)
    card = ScoreRules(n_generated=50).fit(X, y, svc__sample_weight=np.ones(400))
    assert card.estimator_[-1].shape_fit_[0] == 400
