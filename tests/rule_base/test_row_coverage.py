"""Why a row is covered by a rule or by none."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from clearmargin import (
    Box,
    Domain,
    FeatureSpace,
    Polyhedron,
    Rule,
    RuleExtractor,
    RuleSet,
    SupportVectorRules,
    SurrogateRules,
    SVMTreeClassifier,
    parse_rules,
)
from clearmargin.rule_base.row_coverage import CoverageExplainer, nearest_rules, split_conditions
from clearmargin.rule_base.simplify import drop_boxes
from clearmargin.tables.encoding import column_encoding

IRIS = load_iris()
X, Y = IRIS.data[50:, 1:3], IRIS.target_names[IRIS.target[50:]]
GIVERS = (
    RuleExtractor(LogisticRegression(max_iter=1000), max_rules=3),
    SupportVectorRules(max_rules=3, fallback="estimator"),
    SurrogateRules(n_generated=200, max_leaves=6, max_rules=3, fallback="estimator"),
    SVMTreeClassifier(),
)

# Numbers, two features with three categories, and values that are missing or of no known category.
SPACE = FeatureSpace(["a", "b", "c"], categories=[None, None, ["r", "g", "b"]])
NUMBERS = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0])


@st.composite
def regions(draw):
    if draw(st.booleans()):
        low, high = sorted(draw(st.sets(NUMBERS, min_size=2, max_size=2)))
        codes = draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))
        known = [1] if draw(st.booleans()) else []
        bounds = ([low, -np.inf, -np.inf], [high, np.inf, np.inf])
        return Box(*bounds, draw(st.booleans()), True, {2: codes}, known=known)
    rows = draw(st.lists(st.sampled_from([(1.0, 1.0), (1.0, 0.0), (0.0, -1.0)]), max_size=3))
    A = np.array([[*row, 0.0] for row in rows]).reshape(len(rows), 3)
    return Polyhedron(A, np.zeros(len(rows)), draw(st.booleans()), {2: [0]})


def conditions_that_fail(region, point):
    """Count the conditions of a region that a point fails, one by one as they are written."""
    value = dict(enumerate(point))
    failed = 0
    if isinstance(region, Box):
        for j in region.entries.features.tolist():
            failed += value[j] not in region.interval(j)
    else:
        for row, limit, strict in zip(region.A, region.b, region.strict, strict=True):
            total = sum(w * value[j] for j, w in enumerate(row.tolist()) if w)
            failed += not (total < limit if strict else total <= limit)
    failed += sum(value[j] not in codes for j, codes in region.sets.allowed)
    failed += sum(not np.isnan(value[j]) for j in region.missing)
    return failed + sum(bool(np.isnan(value[j])) for j in region.known)


@given(
    st.lists(st.tuples(regions(), st.sampled_from(["yes", "no"])), min_size=1, max_size=4),
    st.lists(
        st.tuples(NUMBERS | st.just(np.nan), NUMBERS, st.sampled_from([-1.0, 0.0, 1.0, np.nan])),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["yes", "no", None]),
)
def test_the_nearest_rule_has_the_fewest_conditions_that_fail(parts, points, label):
    rules = RuleSet([Rule(region, of) for region, of in parts], SPACE, ("yes", "no"))
    table = np.array(points)
    nearest, failed = nearest_rules(rules, table, [label] * len(table))
    for row, k, count in zip(table, nearest, failed, strict=True):
        counts = {
            r: conditions_that_fail(rule.region, row)
            for r, rule in enumerate(rules)
            if label in (None, rule.label)
        }
        if not counts:
            assert k == -1
        else:
            assert (k, count) == min(
                ((r, c) for r, c in counts.items()), key=lambda p: (p[1], p[0])
            )
    for rule in rules:
        split = split_conditions(rule.region)
        inside = np.all([part.contains(table) for part in split], axis=0)
        assert np.array_equal(np.broadcast_to(inside, len(table)), rule.region.contains(table))
        assert len(split) == rule.n_conditions


@pytest.mark.parametrize("giver", GIVERS, ids=lambda giver: type(giver).__name__)
def test_every_giver_of_rules_tells_why_a_row_is_not_covered(giver):
    giver = giver.fit(IRIS.data, IRIS.target)
    model = getattr(giver, "estimator_", giver)
    rows = np.vstack([IRIS.data[::3], np.random.default_rng(0).uniform(1.0, 8.0, (60, 4))])
    which, answers = giver.which(rows), giver.explain_coverage(rows)
    assert {True, False} == set((which < 0).tolist())
    for x, k, answer, predicted in zip(rows, which, answers, model.predict(rows), strict=True):
        assert answer.is_covered == (k >= 0)
        if answer.is_covered:
            assert (answer.rule, answer.label) == (k, giver.rules_[k].label)
            assert str(answer) == f"Rule {k + 1} ({answer.label}) covers the row."
            assert "<table" not in answer._repr_html_()
        else:
            rule = giver.rules_[answer.rule]
            assert answer.label == answer.predicted == predicted == rule.label
            assert len(answer.failed) == conditions_that_fail(rule.region, x) > 0
            assert answer.n_conditions == rule.n_conditions
            assert all(part.condition in answer._repr_html_() for part in answer.failed)
        assert json.loads(json.dumps(answer.to_dict()))["text"] == answer.text


def test_a_box_that_was_dropped_is_the_reason_and_names_the_option():
    few = RuleExtractor(LogisticRegression(), min_coverage=12).fit(X, Y)
    answers = [row for row in few.explain_coverage(X) if row.status == "dropped_box"]
    assert answers
    assert {row.option for row in answers} == {"min_coverage"}
    assert "holds fewer training rows than min_coverage asks for" in answers[0].text
    for row, answer in zip(X, few.explain_coverage(X), strict=True):
        held = [
            box
            for box in few._dropped
            if box.region.contains(row[None])[0] and not answer.is_covered
        ]
        same = [box for box in held if box.label == answer.predicted]
        assert (answer.status == "dropped_box") == bool(same)
    kernel = SupportVectorRules(max_rules=3, fallback="estimator").fit(X, Y)
    options = {row.option for row in kernel.explain_coverage(X)}
    assert options >= {"max_rules"}
    text = next(row.text for row in kernel.explain_coverage(X) if row.option == "max_rules")
    assert "since max_rules left no room for its box" in text


def test_a_dropped_box_without_a_possible_case_is_forgotten():
    encoding = column_encoding(FeatureSpace(["colour"], categories=[["red", "blue"]]))
    both, red = Box([0.5, 0.5], [1.0, 1.0]), Box([0.5, 0.0], [1.0, 1.0])
    (kept,) = drop_boxes([both, red], encoding, "yes", "min_coverage")
    assert set(kept.region.sets[0]) == {0}
    assert (kept.label, kept.option) == ("yes", "min_coverage")


def cases():
    """A table of which the answer is known: ill from a bmi of 30 on, where the colour matters little."""
    rng = np.random.default_rng(0)
    bmi = rng.uniform(20.0, 40.0, 80).round(1)
    colour = np.where(rng.random(80) < 0.5, "red", "blue")
    return pd.DataFrame({"bmi": bmi, "colour": colour}), np.where(bmi > 30.0, "ill", "well")


def linear(**options):
    table, y = cases()
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]),
        ("passthrough", ["bmi"]),
    )
    model = make_pipeline(encoder, LogisticRegression(C=100.0))
    return RuleExtractor(model, **options).fit(table, y)


def test_a_value_outside_of_the_ranges_is_named_with_its_range():
    declared = linear(bounds={"bmi": (10, 60)})
    (far,) = declared.explain_coverage(pd.DataFrame({"bmi": [70.0], "colour": ["red"]}))
    assert far.status == "outside_range"
    assert far.rule is None
    assert far.text == (
        "No rule covers the row, since a value is outside of a declared range: "
        "bmi is between 10 and 60 (bmi is 70)."
    )
    surrogate = SurrogateRules(LogisticRegression(), method="train", fallback="abstain")
    narrow = surrogate.fit(X, Y)
    rules = parse_rules("feature bmi: in [20, 40]\nbmi >= 30 and bmi <= 40 => ill")
    (seen,) = CoverageExplainer(rules, rules.space).explain(
        [[70.0]], np.array([[70.0]]), np.array([-1]), None, ["ill"]
    )
    assert seen.status == "outside_range"
    assert seen.text == (
        "No rule covers the row, since a value is outside of the ranges seen in training. The nearest one for ill, "
        "rule 1, fails at 1 of 1 condition: bmi is between 30 and 40 (bmi is 70)."
    )
    assert {row.status for row in narrow.explain_coverage(X)} <= {"covered", "failed_conditions"}


def test_a_category_that_the_model_does_not_know_is_named():
    (row,) = linear().explain_coverage(pd.DataFrame({"bmi": [39.0], "colour": ["mauve"]}))
    assert row.status == "unknown_category"
    assert row.text == (
        "No rule covers the row, since the model does not know a category: "
        "colour is blue or red (colour is mauve)."
    )
    rules = parse_rules("feature colour: in {red, blue}\ncolour in {red} => ill")
    (near,) = CoverageExplainer(rules, rules.space).explain(
        [["mauve"]], np.array([[-1.0]]), np.array([-1]), None, [None]
    )
    assert (near.status, near.failed[0].values) == ("unknown_category", (("colour", "mauve"),))
    (other,) = CoverageExplainer(rules, rules.space).explain(
        [["blue"]], np.array([[1.0]]), np.array([-1]), None, ["ill"]
    )
    assert (other.status, other.failed[0].values) == ("failed_conditions", (("colour", "blue"),))


def test_a_relation_that_a_row_does_not_satisfy_is_named():
    rng = np.random.default_rng(1)
    low = rng.uniform(60, 90, 60).round()
    table = pd.DataFrame({"diastolic": low, "systolic": low + rng.uniform(20, 60, 60).round()})
    y = np.where(table.systolic > 125, "high", "normal")
    space = FeatureSpace(["diastolic", "systolic"], [40, 60], [150, 250])
    domain = Domain(space, True, True, relations="diastolic <= systolic")
    extractor = RuleExtractor(LogisticRegression(), bounds=domain).fit(table, y)
    (row,) = extractor.explain_coverage(pd.DataFrame({"diastolic": [140], "systolic": [100]}))
    assert row.status == "relation"
    assert row.failed[0].values == (("diastolic", 140.0), ("systolic", 100.0))
    assert (
        "since the row does not satisfy a declared relation: diastolic - systolic <= 0" in row.text
    )
    # A value that is missing is outside of no range, and satisfies no relation.
    (bare,) = extractor.explain_coverage(pd.DataFrame({"diastolic": [np.nan], "systolic": [100]}))
    assert (bare.status, bare.failed[0].values[0]) == ("relation", ("diastolic", None))


def test_a_missing_value_is_named_and_one_that_is_imputed_says_as_what():
    (row,) = linear().explain_coverage(pd.DataFrame({"bmi": [np.nan], "colour": ["red"]}))
    assert (row.status, row.predicted) == ("missing_value", None)
    assert row.text.startswith(
        "No rule covers the row, since a value is missing that the model does not impute."
    )
    assert row.text.endswith("(bmi is missing).")
    table, y = cases()
    imputer = SimpleImputer(strategy="constant", fill_value=-5.0)
    model = make_pipeline(imputer, LogisticRegression(C=100.0))
    imputing = RuleExtractor(model, bounds={"bmi": (0, 60)}).fit(table[["bmi"]], y)
    (row,) = imputing.explain_coverage(pd.DataFrame({"bmi": [np.nan]}))
    assert row.failed[0].imputed == ("bmi",)
    assert row.text.endswith("bmi is between 0 and 60 (bmi is missing and counts as -5).")


def test_a_class_without_rules_is_named():
    rules = RuleSet(parse_rules("a >= 1 => yes"), FeatureSpace(["a"]), ("yes", "no"))
    explainer = CoverageExplainer(rules, rules.space)
    table = np.array([[0.0], [0.0]])
    none = explainer.explain(table, table, np.array([-1, -1]), None, ["no", None])
    assert (none[0].status, none[0].rule) == ("no_rule", None)
    assert none[0].text == "No rule covers the row: there is none for no, its class by the model."
    assert none[1].status == "failed_conditions"
    empty = CoverageExplainer(RuleSet([], FeatureSpace(["a"]), ("yes", "no")), rules.space)
    (bare,) = empty.explain(table[:1], table[:1], np.array([-1]), None, [None])
    assert bare.text == "No rule covers the row: there is none."
