"""Reports on rules with points: what adds up, what is measured, what is certified, and what experts' rules became."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import FixedThresholdClassifier

from clearmargin import RuleSVC
from clearmargin.report import report
from clearmargin.report.points_sections import points_card


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "bmi": rng.normal(27, 5, 120).round(1),
            "age": rng.integers(20, 80, 120),
            "smoker": rng.choice(["no", "yes", "ex"], 120),
        }
    )
    is_ill = (X["bmi"] > 28) & (X["smoker"] != "no") | (X["age"] > 70)
    y = np.where(is_ill ^ (rng.random(120) < 0.05), "ill", "well")
    X.loc[3:6, "bmi"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def fitted(table):
    rules = "bmi >= 28 and smoker = yes => ill\nage < 30 => ill"
    return RuleSVC(max_rules=5, rules=rules, cv=3, progress=False).fit(*table)


@pytest.fixture(scope="module")
def made(fitted, table):
    return report(fitted, *table, cv=3)


def test_lines_of_the_report_are_those_of_the_rules(made, fitted, table):
    facts = made.to_dict()["points"]
    X, y = table
    assert [line["points"] for line in facts["lines"]] == fitted.weights_.tolist()
    covers = fitted.covers(X)
    for line in facts["lines"]:
        held = covers[:, line["rule"] - 1]
        assert line["covered"] == held.sum()
        assert line["correct"] == (y[held] == line["class"]).sum()
    assert json.loads(made.to_json())["points"] == facts


def test_what_is_measured_and_what_is_certified_stand_apart(made, fitted):
    text = made.to_markdown()
    measured, certified = (
        text.index("Measured by cross-validation"),
        text.index("Certified: of all"),
    )
    assert measured < text.index("## What is certified") < certified
    facts = made.to_dict()["points"]["certificate"]
    assert facts["gap"] == fitted.gap_
    assert facts["cap_cost"] == fitted.cap_cost_
    assert "proved" not in text.lower()


def test_accuracy_is_that_of_the_machine_trained_again(made, fitted, table):
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    X, y = table
    right = 0
    for train, test in StratifiedKFold(3).split(X, y):
        again = clone(fitted).fit(X.iloc[train], y[train])
        right += int((again.predict(X.iloc[test]) == y[test]).sum())
    assert made.to_dict()["validation"]["figures"]["model_accuracy"]["part"] == right
    assert f"{right} of 120 cases" in made.to_markdown()


def test_every_case_has_a_class_and_is_told_by_its_points(made, fitted, table):
    summary = made.to_dict()
    assert summary["uncovered"] is None
    assert summary["curves"] == []
    for case in summary["cases"]:
        said = fitted.weighted_rules_.explain(table[0].iloc[[case["row"] - 1]])
        assert case["points"] == said.to_dict()
        assert case["says"] == said.label
        card = points_card(case, "A case", 0)
        assert card.lead.endswith(f"; the table has {case['true']}.")
        for line, part in zip(card.lines, said.parts, strict=True):
            points, text = line.text.split(": ", 1)
            assert (float(points), text) == (pytest.approx(part.points, abs=5e-3), part.text)
    assert "What the rules leave out" not in made.to_markdown()
    assert "<h2" in made.to_html()


def test_the_outcome_of_experts_rules_is_a_table(made, fitted):
    facts = made.to_dict()["points"]["experts"]
    assert [entry["verdict"] for entry in facts] == list(fitted.outcome_.verdicts)
    assert made.to_dict()["advice"] is None
    assert "## The experts' rules" in made.to_markdown()


def test_a_machine_that_is_not_fitted_is_fitted(table):
    made = report(RuleSVC(max_rules=2, cv=2, certify=False, progress=False), *table, cv=None)
    assert made.to_dict()["points"]["certificate"] is None
    assert "What is certified" not in made.to_markdown()
    assert "it was not asked for" in str(made)


def test_rules_with_points_by_themselves_are_reported_on(fitted, table):
    made = report(fitted.weighted_rules_, *table)
    assert made.to_dict()["points"]["lines"]
    assert "rules with points are not trained" in str(made)
    assert "WeightedRules.from_dict(document)" in made.to_dict()["reproduce"]["call"]
    without = report(fitted.weighted_rules_, table[0], cv=None)
    assert without.to_dict()["points"]["lines"][0]["correct"] is None


def test_a_threshold_of_the_user_decides_in_the_report(fitted, table):
    X, y = table
    careful = FixedThresholdClassifier(fitted, threshold=-0.7, response_method="decision_function")
    careful.fit(X, y)
    made = report(careful, X, y, cv=None)
    facts = made.to_dict()
    assert facts["points"]["threshold"] < 0
    said = careful.predict(X)
    assert facts["rules"]["total"]["model_right"] == (said == y).sum()


def test_three_classes_have_a_table_each(table):
    X, _ = table
    y = np.select([X["age"] < 40, X["age"] < 60], ["young", "middle"], "old")
    made = report(RuleSVC(max_rules=4, cv=2, certify=False, progress=False), X, y, cv=None)
    text = made.to_markdown()
    assert all(f"{label}: starts at" in text for label in ("young", "middle", "old"))
