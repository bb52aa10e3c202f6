"""Reports on scorecards: the lines of the card, what is proved, what is measured, and cases by their lines."""

from __future__ import annotations

import json
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from clearmargin import ScoreRules
from clearmargin.exceptions import DataError
from clearmargin.report import report


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 4)), columns=["a", "b", "c", "<d>"])
    y = np.where(X["a"] + X["b"] - X["<d>"] + 0.3 * rng.normal(size=120) > 0, "ill", "well")
    return X, y


@pytest.fixture(scope="module")
def fitted(table):
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    return ScoreRules(machine, certify=True, max_rules=15, n_generated=100).fit(*table)


@pytest.fixture(scope="module")
def made(fitted, table):
    return report(fitted, *table, cv=3)


def test_the_report_has_the_lines_of_the_card_and_counts_what_is_proved(made, fitted, table):
    facts, (X, y) = made.to_dict()["card"], table
    assert [(line["value"], line["low"], line["high"]) for line in facts["lines"]] == [
        (text, low, high) for _, text, low, high in fitted.scorecard_.lines()
    ]
    proved = fitted.scorecard_.prove(X)
    assert facts["proved"]["rows"] == sum(label is not None for label in proved)
    for entry in facts["proved"]["classes"]:
        mine = proved == entry["class"]
        assert (entry["rows"], entry["right"]) == (mine.sum(), (y[mine] == entry["class"]).sum())
    assert facts["proved"]["rows"] + facts["proved"]["between"] + facts["proved"]["outside"] == 120
    assert facts["agreed"] == 120
    assert facts["right"] == (fitted.predict(X) == y).sum()
    assert json.loads(made.to_json())["card"] == facts


def test_what_is_proved_and_what_is_measured_are_told_apart(made):
    text = made.to_markdown()
    assert "# A scorecard for ill and well" in text
    assert "proves what its machine (LinearSVC) predicts for " in text
    assert "it does not say that the machine is right." in text
    assert "Measured on cases not seen in training, the card proves the class of " in text
    check = made.to_dict()["card"]["validation"]
    assert check["folds"] == 3
    assert 0.2 < check["proved"]["value"] < 1.0
    assert check["accuracy"]["whole"] == 120
    html = made.to_html()
    assert "<d>" not in html
    assert "✓ proved" in html


def test_cases_are_explained_by_their_lines_one_of_each_kind(made):
    cases = made.to_dict()["card"]["cases"]
    assert [case["proved"] for case in cases] == [True, True, False]
    assert all("points towards well" in line for case in cases for line in case["lines"])
    for case in cases:
        # "ill is proved. It is well." would contradict itself: the second is what the table holds.
        assert f"{case['decision']}. The table has {case['true']}." in unescape(made.to_html())


def test_a_distilled_plane_is_said_first_and_a_card_without_proof_is_measured(table):
    X, y = table
    few = ScoreRules(LogisticRegression(), certify=True, max_features=2, n_generated=50)
    learned = report(few, X, y, cv=None, cases=0).to_dict()["learned"]
    assert learned[0].startswith("The card is that of a plane that agrees with the model on ")
    assert "proves what the distilled plane predicts for " in learned[1]
    assert learned[-1].endswith("is not known: it was not asked for.")
    plain = report(ScoreRules(LogisticRegression(), max_rules=4, n_generated=50), X, y, cv=2)
    text = plain.to_markdown()
    assert "that is measured, not proved." in text
    assert plain.to_dict()["card"]["proved"] is None
    assert "| feature | value | points |" in text


def test_a_machine_that_stays_trained_is_not_judged_on_its_own_cases(table):
    X, y = table
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    rules = ScoreRules(frozen, certify=True, n_generated=50).fit(X, y)
    facts = report(rules, X, y, cv=2).to_dict()["card"]
    assert not facts["validation"]["done"]
    without = report(rules, X, cv=2).to_dict()["card"]
    assert without["right"] is None

    def refit(train, test):
        made = ScoreRules(LogisticRegression(), certify=True, n_generated=50)
        return made.fit(X.iloc[train], y[train]), X.iloc[test]

    assert report(rules, X, y, cv=2, refit=refit).to_dict()["card"]["validation"]["done"]


@pytest.mark.parametrize("is_fitted", [True, False])
def test_a_card_says_the_operating_threshold_of_its_machine(table, fitted, is_fitted):
    X, y = table
    careful = FixedThresholdClassifier(
        LinearSVC(random_state=0), threshold=-0.7, response_method="decision_function"
    )
    card = ScoreRules(careful, certify=True, max_rules=5, n_generated=50)
    text = report(card.fit(X, y) if is_fitted else card, X, y, cv=None).to_markdown()
    assert "Operating threshold: 'well' is predicted where its score is at least -0.7" in text
    assert "Operating threshold" not in report(fitted, X, y, cv=None).to_markdown()


def test_a_card_that_is_not_fitted_needs_classes(table):
    with pytest.raises(DataError, match="ScoreRules is not fitted and there is no y"):
        report(ScoreRules(LinearSVC(), certify=True), table[0])
