"""The numbers of a report against independent computation."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from clearmargin import LPSVC, AdviceSVC, RankContrast, RuleExtractor, check_advice, parse_rules
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.report import report
from clearmargin.rules import FeatureSpace


@pytest.fixture(scope="module")
def fitted(data):
    return RuleExtractor(LPSVC(nu=1.0)).fit(*data)


@pytest.fixture(scope="module")
def summary(reports):
    return reports["plain"].to_dict()


def test_counts_of_each_rule_are_those_of_its_region(data, fitted, summary):
    X, y = data
    says = fitted.estimator_.predict(X)
    assert len(summary["rules"]["list"]) == len(fitted.rules_)
    for fact, rule in zip(summary["rules"]["list"], fitted.rules_, strict=True):
        inside = rule.region.contains(X.to_numpy())
        assert fact["covered"] == inside.sum()
        assert fact["correct"] == (y[inside] == rule.label).sum()
        assert fact["agreed"] == (says[inside] == rule.label).sum()
        assert fact["coverage"] == inside.mean()
        assert fact["precision"] == pytest.approx((y[inside] == rule.label).mean())
        assert fact["fidelity"] == 1.0
        assert fact["class"] == rule.label
        assert fact["proof"] == "proved"
        assert f"{fact['premise']} => {fact['class']}" in fitted.rules_.to_text()


def test_all_rules_together_are_counted_as_score_does(data, fitted, summary):
    X, y = data
    scores = fitted.rules_.score(X, y, fitted.estimator_)
    total = summary["rules"]["total"]
    assert (total["covered"], total["correct"], total["agreed"]) == (
        scores.total.covered,
        scores.total.correct,
        scores.total.agreed,
    )
    assert summary["rules"]["overlaps"] == scores.overlaps
    assert total["model_right"] == (fitted.estimator_.predict(X) == y).sum()


def test_conditions_are_the_bounds_of_the_rule(fitted, summary):
    for fact, rule in zip(summary["rules"]["list"], fitted.rules_, strict=True):
        assert [c["feature"] for c in fact["conditions"]] == [
            fitted.space_.names[j] for j in rule.region.bounded
        ]
        for condition, j in zip(fact["conditions"], rule.region.bounded, strict=True):
            low, high = rule.region.lower[j], rule.region.upper[j]
            assert condition["low"] == (low if np.isfinite(low) else None)
            assert condition["high"] == (high if np.isfinite(high) else None)
            assert condition["text"] in fact["sentence"]


def test_cross_validated_figures_are_those_of_scikit_learn(data, summary):
    X, y = data
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    extractor = RuleExtractor(LPSVC(nu=1.0))
    predicted = cross_val_predict(extractor, X, y, cv=folds)
    check = summary["validation"]
    figure = check["figures"]["accuracy"]
    assert (check["folds"], check["seed"], check["rows"]) == (3, 0, 90)
    assert figure["part"] == (predicted == y).sum()
    assert figure["value"] == pytest.approx((predicted == y).mean())
    by_fold = cross_val_score(extractor, X, y, cv=folds)
    assert figure["by_fold"] == pytest.approx(by_fold.tolist())
    assert figure["standard_error"] == pytest.approx(by_fold.std(ddof=1) / np.sqrt(3))
    expected = confusion_matrix(y, predicted, labels=["ill", "well"])
    assert np.array(check["confusion"])[:, :2].tolist() == expected.tolist()
    alone = cross_val_predict(LPSVC(nu=1.0), X, y, cv=folds)
    assert check["figures"]["model_accuracy"]["part"] == (alone == y).sum()


def test_cross_validated_coverage_and_fidelity_are_those_of_folds_fitted_by_hand(data, summary):
    X, y = data
    covered = right = agreed = 0
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        extractor = RuleExtractor(LPSVC(nu=1.0)).fit(X.iloc[train], y[train])
        said = extractor.rules_.predict(X.iloc[test])
        fires = np.array([label is not None for label in said])
        covered += fires.sum()
        right += (said[fires] == y[test][fires]).sum()
        agreed += (said[fires] == extractor.estimator_.predict(X.iloc[test])[fires]).sum()
    figures = summary["validation"]["figures"]
    assert figures["coverage"]["part"] == covered
    assert (figures["precision"]["part"], figures["precision"]["whole"]) == (right, covered)
    assert (figures["fidelity"]["part"], figures["fidelity"]["whole"]) == (agreed, covered)


def test_without_a_seed_the_folds_keep_the_order_of_the_rows(data):
    X, y = data
    check = report(LPSVC(nu=1.0), X, y, cv=2, cases=0).to_dict()["validation"]
    predicted = cross_val_predict(LPSVC(nu=1.0), X, y, cv=StratifiedKFold(2))
    assert check["figures"]["model_accuracy"]["part"] == (predicted == y).sum()
    assert "in the order of the rows" in check["how"]


def test_a_splitter_makes_the_folds(data):
    X, y = data
    check = report(LPSVC(nu=1.0), X, y, cv=KFold(2), cases=0).to_dict()["validation"]
    predicted = cross_val_predict(LPSVC(nu=1.0), X, y, cv=KFold(2))
    assert check["figures"]["model_accuracy"]["part"] == (predicted == y).sum()


def test_there_are_no_more_folds_than_rows_of_the_rarest_class():
    X = np.r_[np.linspace(0, 1, 20), [5, 6, 7]][:, None]
    y = np.repeat(["common", "rare"], [20, 3])
    check = report(LPSVC(nu=100.0), X, y, cv=5, cases=0).to_dict()["validation"]
    assert check["folds"] == 3
    assert "5 were asked for, but the rarest class has 3 rows" in check["how"]
    check = report(LPSVC(nu=100.0), X[:21], y[:21], cv=5, cases=0).to_dict()["validation"]
    assert check == {"done": False, "why": "a class has one row only, and each fold needs one"}


def test_coverage_curves_count_what_the_first_rules_cover(data, fitted, summary):
    X, y = data
    covers, says = fitted.rules_.covers(X), fitted.estimator_.predict(X)
    for curve in summary["curves"]:
        label = curve["class"]
        own = [r for r, rule in enumerate(fitted.rules_) if rule.label == label]
        rows = (y == label) & (says == label)
        expected = [covers[np.ix_(rows, own[: k + 1])].any(axis=1).mean() for k in range(len(own))]
        assert curve["coverage"] == pytest.approx(expected)
        assert curve["coverage"][-1] == pytest.approx(fitted.coverage_[label])
        assert curve["volume"] == pytest.approx(fitted.volume_curve_[label].tolist())


def test_uncovered_rows_are_those_that_no_rule_covers(data, fitted, summary):
    X, y = data
    bare = ~fitted.rules_.covers(X).any(axis=1)
    facts = summary["uncovered"]
    assert facts["rows"] == bare.sum() > 0
    assert [e["row"] - 1 for e in facts["first"]] == np.flatnonzero(bare)[:20].tolist()
    assert {e["class"]: e["rows"] for e in facts["classes"]} == {
        label: (bare & (y == label)).sum() for label in ("ill", "well")
    }
    for entry in facts["typical"]:
        assert entry["uncovered"] == pytest.approx(X[entry["feature"]][bare].median())
        assert entry["covered"] == pytest.approx(X[entry["feature"]][~bare].median())


def test_a_right_a_wrong_and_a_close_case_are_explained(data, fitted, summary):
    X, y = data
    says, score = fitted.estimator_.predict(X), fitted.estimator_.decision_function(X)
    right, wrong, close = summary["cases"]
    assert [case["kind"] for case in summary["cases"]] == ["right", "wrong", "close"]
    assert says[right["row"] - 1] == y[right["row"] - 1] == right["true"] == right["says"]
    assert right["rule"] == fitted.which(X)[right["row"] - 1] + 1
    errors = np.flatnonzero(says != y)
    assert wrong["row"] - 1 == errors[np.abs(score[errors]).argmax()]
    assert (wrong["says"], wrong["true"]) == (says[wrong["row"] - 1], y[wrong["row"] - 1])
    others = [r for r in range(len(y)) if r + 1 not in (right["row"], wrong["row"])]
    assert abs(score[close["row"] - 1]) == np.abs(score[others]).min()
    for case in summary["cases"]:
        reason = fitted.explain(X.iloc[[case["row"] - 1]])
        assert case["score"] == pytest.approx(reason.margin)
        assert case["parts"]["confidence"] == pytest.approx(reason.confidence)
        for value in case["values"]:
            assert value["value"] == X[value["feature"]].iloc[case["row"] - 1]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_as_many_cases_as_asked_for_and_none_twice(data, fitted, count):
    rows = [case["row"] for case in report(fitted, *data, cases=count, cv=None).to_dict()["cases"]]
    assert len(rows) == len(set(rows)) == count


def test_features_count_the_rules_that_speak_of_them(fitted, summary):
    assert {f["name"] for f in summary["features"]} == {"age", "bmi", "iron", "zinc"}
    for fact in summary["features"]:
        j = fitted.space_.index(fact["name"])
        counts = [
            sum(j in rule.region.bounded for rule in fitted.rules_ if rule.label == label)
            for label in ("ill", "well")
        ]
        assert fact["rules"] == counts


def test_a_fitted_model_gives_the_same_rules_and_stays_as_it_is(data, fitted, summary):
    before = fitted.rules_
    again = report(fitted, *data, cv=3, random_state=0).to_dict()
    assert fitted.rules_ is before
    for part in ("rules", "curves", "validation", "cases", "uncovered", "features"):
        assert again[part] == summary[part]
    machine = clone(fitted.estimator_)
    report(machine, *data, cv=None)
    assert not hasattr(machine, "coef_")


def test_advice_is_shown_before_and_after(data, kinds, reports):
    facts = reports["advice"].to_dict()["advice"]
    model = AdviceSVC(kinds["advice"](), refine="translate", lam=5.0).fit(*data)
    assert facts["kind"] == "outcome"
    assert [r["name"] for r in facts["rules"]] == ["old", "thin one"]
    for fact, outcome in zip(facts["rules"], model.outcome_, strict=True):
        assert (fact["verdict"], fact["before"]) == (outcome.verdict, outcome.text_before)
        assert fact["after"] in (None, outcome.text_after)
        assert fact["stats_before"]["covered"] == outcome.before.stats.covered
        assert fact["stats_after"]["correct"] == outcome.after.stats.correct


def test_conditions_of_advice_are_drawn_before_and_after_over_the_range_of_their_feature(data):
    X, y = data
    column = next(name for name in X.columns if pd.api.types.is_numeric_dtype(X[name]))
    middle, label = float(X[column].median()), np.unique(y)[0]
    text = f"`{column}` >= {middle!r} => `{label}`"
    models = {
        "moved": AdviceSVC(text, refine="translate", lam=5.0).fit(X, y),
        "kept": AdviceSVC(text).fit(X, y),
    }
    for name, model in models.items():
        (outcome,) = model.outcome_
        (fact,) = report(model.refined_, X, y, cv=None, advice=model).to_dict()["advice"]["rules"]
        first, *moved = fact["conditions"]
        assert (first["when"], first["feature"], first["low"]) == ("before", column, middle)
        assert first["range"] == [X[column].min(), X[column].max()]
        assert [c["when"] for c in moved] == (["after"] if outcome.verdict == "refined" else []), (
            name
        )
        for condition in moved:
            assert condition["low"] == outcome.after.region.interval(0).low
            assert condition["range"][1] >= condition["low"]
    page = report(model.refined_, X, y, cv=None, advice=model).to_html()
    card = page.partition('id="advice-1"')[2].partition("</article>")[0]
    assert card.count("<svg") == len(fact["conditions"])
    alone = report(model.refined_, X, y, cv=None, advice=model.outcome_).to_dict()
    assert alone["advice"]["rules"][0]["conditions"] == [], "an outcome knows no features"


def test_advice_as_text_is_checked_on_the_data(data, kinds, reports):
    facts = reports["contrast"].to_dict()["advice"]
    assert facts == {"kind": "check", **check_advice(kinds["advice"](), *data).to_dict()}
    given = check_advice(kinds["advice"](), *data)
    assert report(LPSVC(nu=1.0), *data, cv=None, advice=given).to_dict()["advice"] == facts


def test_the_contrast_carries_its_figures(data, reports):
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1).fit(*data)
    facts = reports["contrast"].to_dict()["contrast"]
    shown = contrast.properties_[contrast.properties_["shown"]]
    assert [p["property"] for p in facts["properties"]] == shown["property"].tolist()[:40]
    assert [p["leverage"] for p in facts["properties"]] == shown["leverage"].tolist()[:40]
    assert facts["auc"] == contrast.auc_
    assert (facts["top"], facts["bottom"]) == (18, 18)
    assert reports["contrast alone"].to_dict()["contrast"] == facts
    assert reports["contrast alone"].to_dict()["rules"] is None


def test_three_classes_have_their_curves_and_confusion(kinds, reports):
    summary = reports["three"].to_dict()
    assert [e["class"] for e in summary["rules"]["classes"]] == ["x", "y", "z"]
    assert np.array(summary["validation"]["confusion"]).shape == (3, 4)
    assert np.array(summary["validation"]["confusion"]).sum() == 75
    assert all(curve["volume"] is None for curve in summary["curves"])


def test_categories_are_named(reports):
    summary = reports["categories"].to_dict()
    (colour,) = [f for f in summary["features"] if f["name"] == "colour"]
    assert colour["categories"] == ["blue", "green", "red"]
    conditions = [
        c for r in summary["rules"]["list"] for c in r["conditions"] if c["feature"] == "colour"
    ]
    assert conditions
    assert all(set(c["allowed"]) <= {0, 1, 2} for c in conditions)


def test_rows_with_values_that_the_model_imputes_are_reported_like_others(data):
    X, y = data
    X = X.copy()
    X.iloc[::9, 0] = np.nan
    model = make_pipeline(SimpleImputer(), LPSVC(nu=1.0))
    page = report(model, X, y, cv=2, random_state=1)
    summary = page.to_dict()
    assert summary["uncovered"]["missing"] == 0
    (age,) = [f for f in summary["features"] if f["name"] == "age"]
    assert age["missing"] == 10
    assert age["fill"] == pytest.approx(X["age"].mean())
    assert "10, taken as" in page.to_markdown()
    # Rows whose age was put there are under rules, as others are.
    assert not set(range(1, 91, 9)) <= {entry["row"] for entry in summary["uncovered"]["first"]}
    folds = StratifiedKFold(2, shuffle=True, random_state=1)
    predicted = cross_val_predict(model, X, y, cv=folds)
    assert summary["validation"]["figures"]["accuracy"]["part"] == (predicted == y).sum()


def test_without_rules_there_is_still_a_report(reports):
    summary = reports["empty"].to_dict()
    assert summary["rules"]["list"] == []
    assert summary["uncovered"]["rows"] == 90
    assert summary["validation"]["figures"]["precision"]["value"] is None
    assert "No rules were found." in summary["learned"]


def test_without_labels_nothing_is_said_about_right_and_wrong(reports):
    summary = reports["no labels"].to_dict()
    assert summary["validation"] == {"done": False, "why": "the classes of the rows were not given"}
    assert {rule["correct"] for rule in summary["rules"]["list"]} == {None}
    assert {case["kind"] for case in summary["cases"]} == {"clear", "close"}
    assert "right" not in " ".join(summary["learned"])


def test_an_answer_that_is_withheld_is_not_right(data, reports):
    check = reports["abstain"].to_dict()["validation"]
    silent = sum(row[-1] for row in check["confusion"])
    covered = check["figures"]["coverage"]
    assert silent == covered["whole"] - covered["part"] > 0
    assert check["figures"]["accuracy"]["part"] == check["figures"]["precision"]["part"]


def test_a_frozen_model_is_not_cross_validated(data):
    frozen = RuleExtractor(FrozenEstimator(LPSVC(nu=1.0).fit(*data)))
    check = report(frozen, *data).to_dict()["validation"]
    assert not check["done"]
    assert "estimator=FrozenEstimator was trained before" in check["why"]


def test_a_fold_that_cannot_be_fitted_is_told(data):
    model = SupportVectorRules(min_coverage=30)
    check = report(model, *data, cv=5, cases=0).to_dict()["validation"]
    assert not check["done"]
    assert check["why"].startswith("fold 2 could not be fitted: no rule covers 30")


def test_rules_of_one_class_are_judged_on_cases_of_two(data):
    X, y = data
    rules = parse_rules("age >= 1 => ill")
    summary = report(rules, X, y).to_dict()
    assert [e["class"] for e in summary["rules"]["classes"]] == ["ill", "well"]
    (rule,) = summary["rules"]["list"]
    assert rule["correct"] == ((X["age"] >= 1) & (y == "ill")).sum()
    assert rule["agreed"] is None


def test_an_array_is_reported_by_position(data):
    X, y = data
    summary = report(LPSVC(nu=1.0), X.to_numpy(), y, cv=None).to_dict()
    assert {f["name"] for f in summary["features"]} == {"x0", "x1", "x2", "x3"}
    assert {case["name"] for case in summary["cases"]} == {None}


def test_every_report_is_plain_data(reports):
    for made in reports.values():
        text = json.dumps(made.to_dict(), allow_nan=False)
        assert json.loads(text) == made.to_dict()


def test_typical_categories_of_uncovered_rows_are_the_most_common_ones(kinds):
    X, y, _ = kinds["categories"]()
    rules = parse_rules("colour = red => `in`", space=FeatureSpace.from_data(X))
    facts = report(rules, X, y).to_dict()["uncovered"]
    assert facts["rows"] == (X["colour"] != "red").sum()
    (colour,) = [e for e in facts["typical"] if e["feature"] == "colour"]
    assert colour["covered"] == "red"
    assert colour["uncovered"] == X["colour"][X["colour"] != "red"].mode()[0]


def test_no_plotting_library_is_loaded():
    code = "import sys, clearmargin.report; print('matplotlib' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


@pytest.mark.parametrize("kind", [int, bool, float])
def test_classes_may_be_numbers_and_a_column(data, kind):
    X, y = data
    labels = (y == "ill").astype(kind)
    made = report(LPSVC(nu=1.0), X, labels[:, None], cv=2)
    summary = made.to_dict()
    assert [e["class"] for e in summary["rules"]["classes"]] == [kind(0), kind(1)]
    assert f"Rules for {kind(0)} and {kind(1)}" in made.to_html()
    assert summary["data"]["classes"][1]["rows"] == (y == "ill").sum()
