"""Pages about rules and rankings that come without a model or without labels."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from clearmargin import (
    LPSVC,
    RankContrast,
    Rule,
    RuleExtractor,
    RuleSet,
    load_model,
    parse_rules,
    save_model,
)
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.report import report


def test_rules_need_no_labels_and_may_have_no_condition(data, read_page):
    X, _ = data
    made = report(parse_rules("age >= 1 => ill\ntrue => well"), X)
    summary = made.to_dict()
    assert summary["uncovered"]["rows"] == 0
    assert [e["reachable"] for e in summary["rules"]["classes"]] == [
        (X["age"] >= 1).sum(),
        (X["age"] < 1).sum(),
    ]
    words = read_page(made.to_html()).words
    assert "Always well." in words
    assert "Every case is covered by a rule." in words


def test_a_contrast_of_a_given_ranking_has_no_labels(data, read_page):
    X, _ = data
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1).fit_ranking(X, X["age"] + X["bmi"])
    made = report(contrast, X)
    facts = made.to_dict()["contrast"]
    assert facts["auc"] is None
    assert not facts["has_labels"]
    assert "confirmed by classes" not in read_page(made.to_html()).words


def test_weights_names_and_units_of_rules_are_shown(data, read_page):
    X, y = data
    text = "feature age: unit years\nfirst: age >= 1 => ill [weight 2]"
    words = read_page(report(parse_rules(text), X, y).to_html()).words
    assert "Rule 1 (first): ill" in words
    assert "age is at least 1 years" in words
    assert "weight2" in words


def test_one_rule_is_spoken_of_as_one(data):
    X, y = data
    learned = report(parse_rules("age >= 1 => ill"), X, y).to_dict()["learned"]
    assert "It looks at 1 of 1 feature: age." in learned[0]
    nothing = report(parse_rules("feature age\ntrue => ill"), X, y).to_dict()["learned"]
    assert "It looks at no feature at all." in nothing[0]


def test_a_model_from_a_file_is_called_after_what_was_trained(data, tmp_path):
    X, y = data
    table = X[["age", "bmi"]]
    path = save_model(LPSVC().fit(table, y), tmp_path / "svm.json")
    about = report(RuleExtractor(load_model(path)), table, y, cv=None).to_dict()["about"]
    assert "RuleExtractor of LPSVC (read from a file)" in about


def test_conditions_on_missing_values_are_reported(read_page):
    X = pd.DataFrame(
        {
            "age": [30.0, np.nan, np.nan, 50.0, 20.0],
            "kind": ["u", "v", None, "u", None],
            "bmi": [np.nan, 1.0, 2.0, 3.0, np.nan],
        }
    )
    text = "age is missing => ill\nage >= 40 and kind is not missing => well"
    rules = parse_rules(f"feature age\nfeature kind: in {{u, v}}\nfeature bmi\n{text}")
    made = report(rules, X, ["well", "ill", "ill", "well", "ill"], cases=5)
    summary = made.to_dict()
    conditions = [rule["conditions"] for rule in summary["rules"]["list"]]
    assert conditions == [
        [{"feature": "age", "text": "age is missing", "exact": "age is missing", "unit": None, "missing": True}],
        [
            {"feature": "age", "text": "age is at least 40", "exact": "age >= 40", "unit": None}
            | {"low": 40.0, "high": None, "low_closed": True, "high_closed": True, "range": [20.0, 50.0]},
            {"feature": "kind", "text": "kind is not missing", "exact": "kind is not missing"}
            | {"unit": None, "missing": False},
        ],
    ]  # fmt: skip
    uncovered = summary["uncovered"]
    assert (uncovered["rows"], uncovered["missing"]) == (2, 2)
    # Nothing can be said of a feature that no uncovered case has a value of.
    assert [fact["feature"] for fact in uncovered["typical"]] == ["age", "kind"]
    values = {case["row"]: [v["value"] for v in case["values"]] for case in summary["cases"]}
    assert values == {4: [50.0, "u"]}
    words = read_page(made.to_html()).words
    assert "2 of them have a missing value, which a rule may need." in words
    assert "age is missing" in made.to_markdown()


def test_a_ranking_without_properties_and_advice_without_rules_are_said_to_be_empty(
    data, read_page
):
    X, y = data
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1, min_leverage=0.25)
    made = report(contrast, X.assign(age=0.0, bmi=0.0), y)
    assert made.to_dict()["contrast"]["properties"] == []
    assert "No property is worth showing." in read_page(made.to_html()).words
    none = report(parse_rules("age >= 1 => ill"), X, y, advice=AdviceOutcome(()))
    assert "There is no advice." in read_page(none.to_html()).words


def test_a_generator_of_random_numbers_is_a_seed_that_is_written_down(data):
    X, y = data
    made = report(LPSVC(), X, y, cv=2, random_state=np.random.RandomState(5)).to_dict()
    seed = int(re.search(r"random_state=(\d+)\)", made["reproduce"]["call"])[1])
    again = report(LPSVC(), X, y, cv=2, random_state=seed).to_dict()
    assert again["reproduce"]["call"] == made["reproduce"]["call"]
    assert again["validation"] == made["validation"]


def test_it_is_said_how_many_rules_are_proved(data, read_page):
    X, y = data
    proofs = ["proved", "observed", "stated", None]
    found = parse_rules("age >= 1 => ill\nage >= 2 => ill\nbmi <= 0 => well\nbmi <= -1 => well")
    rules = RuleSet(
        [Rule(r.region, r.label, proof=proof) for r, proof in zip(found, proofs, strict=True)],
        found.space,
    )
    words = read_page(report(rules, X, y).to_html()).words
    assert "1 of 4 rules are proved; what the others say was observed on cases, or written" in words
    assert "– proved, says its file, not checked here" in words


def test_of_very_many_features_the_least_used_are_in_the_summary_alone(read_page):
    X = pd.DataFrame(np.zeros((2, 305)), columns=[f"f{j}" for j in range(305)])
    names = "\n".join(f"feature f{j}" for j in range(305))
    made = report(parse_rules(f"{names}\nf7 >= 0 => a"), X, ["a", "a"])
    assert len(made.to_dict()["features"]) == 305
    words = read_page(made.to_html()).words
    assert "There are 5 more features, the least used; the summary has all of them." in words
