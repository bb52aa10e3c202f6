"""Figures on cases not seen in training: nothing that saw them, groups and times kept apart, twins told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from clearmargin import LPSVC, RuleExtractor
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models import PlaneModel, load_model, save_model
from clearmargin.report import report
from clearmargin.tables.splitting import Splitting

pytestmark = pytest.mark.filterwarnings("ignore:the plane has")


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 30)), columns=[f"a{j}" for j in range(30)])
    return X, rng.permutation(np.arange(120) % 2)


def test_a_model_that_cannot_be_trained_again_is_not_said_to_be_cross_validated(noise, tmp_path):
    # A saved model kept its weights in every fold, and training accuracy was said to be on cases not seen.
    X, y = noise
    plane = PlaneModel.from_estimator(LPSVC(nu=1.0).fit(X, y), X)
    save_model(plane, tmp_path / "plane.json")
    loaded = load_model(tmp_path / "plane.json")
    assert loaded.score(X, y) > 0.6
    frozen = FrozenEstimator(LPSVC(nu=1.0).fit(X, y))
    for model in (
        plane,
        RuleExtractor(plane, max_rules=1),
        RuleExtractor(loaded, max_rules=1).fit(X, y),
        RuleExtractor(frozen, max_rules=1),
    ):
        made = report(model, X, y, cases=0)
        check = made.to_dict()["validation"]
        assert not check["done"]
        assert "trained before and cannot be trained again" in check["why"]
        assert "How it does on cases not seen in training is not known" in made.to_markdown()
        assert "There is no cross-validation" in made.to_html()


def test_the_area_of_rules_is_measured_on_cases_not_seen(data, noise):
    X, y = data
    made = report(RuleExtractor(LPSVC(nu=1.0)), X, y, cv=3, cases=0)
    by_hand = []
    for train, test in Splitting(3).folds(X, y).pairs:
        rules = RuleExtractor(LPSVC(nu=1.0)).fit(X.iloc[train], y[train])
        score = rules.class_shares(X.iloc[test])[:, 1]
        by_hand.append(roc_auc_score(y[test] == rules.classes_[1], score))
    auc = made.to_dict()["validation"]["auc"]
    assert auc["by_fold"] == pytest.approx(by_hand)
    assert auc["value"] == pytest.approx(np.mean(by_hand))
    assert auc["standard_error"] == pytest.approx(np.std(by_hand, ddof=1) / np.sqrt(3))
    assert "area under the ROC curve of the rules (AUC)" in made.to_html()
    assert f"{np.mean(by_hand):.3f}" in made.to_markdown()
    chance = report(RuleExtractor(LPSVC(nu=1.0)), *noise, cv=3, cases=0)
    assert abs(chance.to_dict()["validation"]["auc"]["value"] - 0.5) < 0.15


def test_a_fold_of_one_class_has_no_area():
    X, y = pd.DataFrame({"a": np.arange(40.0)}), np.repeat([0, 1, 0, 1], 10)
    pairs = [(np.arange(20), np.arange(20, 30)), (np.arange(20), np.arange(30, 40))]
    made = report(RuleExtractor(LPSVC(nu=1.0)), X, y, cv=pairs, cases=0)
    assert made.to_dict()["validation"]["auc"] == {
        "value": None,
        "by_fold": [],
        "standard_error": None,
    }
    assert "AUC)" not in made.to_markdown().split("figure")[1]
    one = report(RuleExtractor(LPSVC(nu=1.0)), X, y, cv=[(np.arange(30), np.arange(25, 35))])
    assert "| – | mean of 1 of 1 folds" in one.to_markdown()


@pytest.mark.parametrize("how", ["groups", "times"])
def test_folds_are_those_of_groups_and_times(data, how):
    X, y = data
    column = np.arange(len(y)) // 6
    made = report(LPSVC(nu=1.0), X, y, cv=3, cases=0, **{how: column})
    pairs = Splitting(3, **{how: column}).folds(X, y).pairs
    right = sum(
        (LPSVC(nu=1.0).fit(X.iloc[a], y[a]).predict(X.iloc[b]) == y[b]).sum() for a, b in pairs
    )
    summary = made.to_dict()
    figure = summary["validation"]["figures"]["model_accuracy"]
    assert (figure["part"], figure["whole"]) == (right, sum(len(test) for _, test in pairs))
    words = "3 stratified folds of whole groups" if how == "groups" else "3 folds by time"
    assert words in made.to_markdown()
    assert f"cv=3, {how}={how}" in summary["reproduce"]["call"]


def test_cases_that_occur_twice_are_told_beside_the_figure(data):
    X, y = data
    twice, labels = pd.concat([X, X[:20]], ignore_index=True), np.concatenate([y, y[:20]])
    made = report(LPSVC(nu=1.0), twice, labels, cv=2, cases=0)
    check = made.to_dict()["validation"]
    by_hand = Splitting(2).folds(twice, labels)
    assert check["duplicates"] == by_hand.duplicates > 0
    text = f"{check['duplicates']} of the 110 rows tested also occur in the training part"
    assert made.to_markdown().count(text) == 2
    assert report(LPSVC(nu=1.0), X, y, cv=2, cases=0).to_dict()["validation"]["note"] == ""


def test_the_whole_way_of_training_is_repeated_where_it_is_given(data):
    X, y = data
    given = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    filled = given.fillna(given.median())
    asked = []

    def refit(train, test):
        asked.append((train, test))
        middle = given.iloc[train].median()
        model = RuleExtractor(LPSVC(nu=1.0)).fit(given.iloc[train].fillna(middle), y[train])
        return model, given.iloc[test].fillna(middle)

    model = RuleExtractor(LPSVC(nu=1.0)).fit(filled, y)
    check = report(model, filled, y, cv=3, cases=0, refit=refit).to_dict()["validation"]
    folds = list(asked)
    right = 0
    for train, test in folds:
        fitted, rows = refit(train, test)
        right += (fitted.estimator_.predict(rows) == y[test]).sum()
    assert check["figures"]["model_accuracy"]["part"] == right
    assert [test.tolist() for _, test in folds] == [
        test.tolist() for _, test in Splitting(3).folds(filled, y).pairs
    ]


def test_a_fold_without_rules_counts_with_the_answer_of_its_model(noise):
    X, y = noise

    class OnlyOnAll(LPSVC):
        """A machine that learns something from all rows, and nothing from fewer."""

        def fit(self, X, y):
            self.nu = 1.0 if len(y) == 120 else 1e-4
            return super().fit(X, y)

    model = RuleExtractor(OnlyOnAll(), max_rules=1)
    check = report(model, X, y, cv=3, cases=0).to_dict()["validation"]
    assert check["figures"]["coverage"]["part"] == 0
    # Half of the rows of each fold are of the class that a constant model predicts.
    assert check["figures"]["model_accuracy"]["part"] == 60


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"groups": ["a"] * 90}, DataError, "at least 2 groups are needed"),
        ({"groups": [1, 2]}, DataError, "one value a row"),
        ({"times": [0] * 90}, DataError, "at least 2 times are needed"),
        ({"times": [None] + [1] * 89}, DataError, "times is missing in 1 of 90 rows"),
        ({"cv": None, "groups": range(90)}, InvalidValueError, "leave it out with cv=None"),
    ],
)
def test_columns_that_split_nothing_are_refused(data, options, error, message):
    with pytest.raises(error, match=message):
        report(LPSVC(nu=1.0), *data, **options)
