"""Pages about rules and rankings that come without a model or without labels."""

from __future__ import annotations

from clearmargin import LPSVC, RankContrast, RuleExtractor, load_model, parse_rules, save_model
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
