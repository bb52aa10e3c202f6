"""Rules with weights, as a value: sums, ties, text, plain data."""

import json
import pickle

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import Box, FeatureSpace, Rule, RuleSet, parse_rules
from clearmargin.exceptions import FileDamagedError, InvalidValueError
from clearmargin.rule_svm import LinearTerm, WeightedRules
from clearmargin.rule_svm.weighted_document import weighted_rules_schema

SPACE = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "ex", "yes"]})
TEXT = "age > 40 => ill\nsmoker in {no, ex} and age <= 60 => well\nage is missing => ill\n"


def three_rules() -> RuleSet:
    return parse_rules(TEXT, space=SPACE, classes=["well", "ill"])


def many_classes() -> WeightedRules:
    rules = parse_rules("age > 40 => b\nsmoker = yes => c", space=SPACE, classes=["a", "b", "c"])
    linear = [LinearTerm(0, [0.0, 0.5, -0.25], 40.0), LinearTerm(1, np.eye(3))]
    return WeightedRules(rules, [[0, 1], [2, 0], [-1, 3]], [0.5, 0, -1], linear)


def test_the_score_is_the_sum_of_the_weights_of_the_rules_that_hold() -> None:
    said = WeightedRules(three_rules(), [1.5, -2.0, 0.25], 0.5, [LinearTerm(0, 0.1, 50.0)])
    rows = [[30, 0], [50, 1], [70, 2], [np.nan, 0], [50, -1], [50, np.nan]]
    expected = [
        0.5 + 3.0 - 2.0,
        0.5 + 5.0 + 1.5 - 2.0,
        0.5 + 7.0 + 1.5,
        0.5 + 5.0 + 0.25,
        0.5 + 5.0 + 1.5,
        0.5 + 5.0 + 1.5,
    ]
    np.testing.assert_allclose(said.decision_function(np.array(rows, dtype=float)), expected)


def test_the_order_of_additions_is_intercept_then_linear_terms_then_rules() -> None:
    weights = [0.1, -0.7, 0.3]
    said = WeightedRules(three_rules(), weights, 0.2, [LinearTerm(0, 0.1, 50.0)])
    row = np.array([[55.0, 1.0]])
    total = 0.2
    for term in (0.1 * 55.0, 0.1, -0.7, 0.0):
        total = total + term
    assert said.decision_function(row)[0] == total


def test_a_tie_goes_to_the_first_class_and_the_threshold_moves_it() -> None:
    said = WeightedRules(three_rules(), [1, -1, 1], 0.0)
    rows = np.array([[50.0, 0.0], [70.0, 0.0]])
    assert said.predict(rows).tolist() == ["well", "ill"]
    assert said.with_threshold(1.0).predict(rows).tolist() == ["well", "well"]
    assert said.with_threshold(-0.5).predict(rows).tolist() == ["ill", "ill"]


def test_with_more_classes_the_first_of_the_highest_scores_wins() -> None:
    said = many_classes()
    rows = np.array([[50.0, 2.0], [0.0, 1.0], [np.nan, np.nan]])
    scores = [[0.5 + 1.0, 25.0 + 2.0, -1 - 12.5 - 1 + 3 + 1], [0.5, 1.0, -1.0], [0.5, 20.0, -11.0]]
    np.testing.assert_allclose(said.decision_function(rows), scores)
    assert said.predict(rows).tolist() == ["b", "b", "b"]
    zero = WeightedRules(said.rules, np.zeros((3, 2)), np.zeros(3))
    assert zero.predict(rows).tolist() == ["a", "a", "a"]


@pytest.mark.parametrize(
    "said",
    [
        WeightedRules(three_rules(), [0.1, -1 / 3, 2], 0.7, [LinearTerm(1, [0, 1, 2])], 0.25),
        WeightedRules(three_rules()[:0], [], -1.0),
        many_classes(),
    ],
    ids=["binary", "no rules", "three classes"],
)
def test_json_and_pickle_give_back_the_same_value(said: WeightedRules) -> None:
    back = WeightedRules.from_dict(json.loads(json.dumps(said.to_dict())))
    assert back == said
    assert hash(back) == hash(said)
    assert pickle.loads(pickle.dumps(said)) == said
    assert str(back) == str(said)


def test_whole_points_say_from_which_sum_on() -> None:
    said = WeightedRules(three_rules(), [2, -1, 1], -1.5)
    assert said.has_points
    assert str(said).splitlines() == [
        "ill if the points of what holds sum to 2 or more (else well)",
        "  +2  age > 40",
        "  -1  age <= 60 and smoker in {no, ex}",
        "  +1  age is missing",
    ]


def test_linear_terms_are_printed_after_the_rules() -> None:
    said = WeightedRules(
        three_rules(), [2, -1, 1], 0, [LinearTerm(0, 1 / 3, 50.0), LinearTerm(1, [0, -1, 0])]
    )
    assert str(said).splitlines()[-2:] == [
        "  +0.3333  times age (50 where missing)",
        "  -1       smoker = ex",
    ]
    assert f"+{1 / 3!r}" in said.to_text(digits=None)


def test_each_class_has_its_lines() -> None:
    assert str(many_classes()).splitlines()[:5] == [
        "The class whose points sum to most",
        "a: starts at +0.5",
        "  +1     smoker = yes",
        "  +1     smoker = no",
        "b: starts at +0",
    ]
    frame = many_classes().to_frame()
    assert frame["class"].tolist().count("b") == 3


def test_markup_in_names_is_shown_and_not_obeyed() -> None:
    rules = RuleSet([Rule(Box([0.0], [1.0]), "<b>")], FeatureSpace(["<i>"]), ["a", "<b>"])
    shown = WeightedRules(rules, [1.0], 0.0)._repr_html_()
    assert "<b>" not in shown
    assert "<i>" not in shown


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-10, 10), min_size=3, max_size=3), st.floats(-5, 5))
def test_predictions_follow_the_printed_lines(weights: list[float], intercept: float) -> None:
    said = WeightedRules(three_rules(), weights, intercept)
    rows = np.array([[a, s] for a in (20.0, 50.0, 80.0, np.nan) for s in (0, 1, 2, np.nan)])
    held = said.rules.covers(rows)
    total = np.full(len(rows), intercept)
    for line in said.lines():
        assert line.rule is not None
        assert line.label == said.classes[int(line.points > 0)]
        total = total + np.where(held[:, line.rule], line.points, 0.0)
    assert (said.predict(rows) == np.where(total > 0, "ill", "well")).all()


BAD = [
    (lambda: WeightedRules([], [], 0.0), "must be a RuleSet, not list"),
    (lambda: WeightedRules(RuleSet([], SPACE, ["a"]), [], 0.0), "at least two classes"),
    (lambda: WeightedRules(three_rules(), [1.0], 0.0), "the weights has shape"),
    (lambda: WeightedRules(three_rules(), [1, 2, np.inf], 0.0), "must be finite"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0.0, threshold=np.inf), "finite number"),
    (lambda: many_classes().with_threshold(1.0), "0 with more than two classes"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0.0, ["age"]), "must be LinearTerm"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0, [LinearTerm(7, 1, 0)]), "there are 2"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0, [LinearTerm(1, 1, 0)]), "takes no fill"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0, [LinearTerm(1, [1])]), "3 categories"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0, [LinearTerm(0, [1, 2], 0)]), "2 scores"),
    (lambda: WeightedRules(three_rules(), [1, 2, 3], 0, [LinearTerm(0, 1, 0)] * 2), "two linear"),
    (lambda: LinearTerm(0, 1.0), "needs the value"),
    (lambda: LinearTerm(0, 1.0, np.inf), "cannot count as inf"),
    (lambda: LinearTerm(0, [[[1.0]]]), "finite numbers"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[message for _, message in BAD])
def test_what_cannot_be_is_refused(make, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [{"intercept": 0, "weights": [1]}]}, "score 1: 1 weights for 3 rules"),
        ({"scores": [{"intercept": 0, "weights": [1, 2, 3]}] * 2}, "2 classes need 1 of 'scores'"),
        ({"linear": [{"feature": "height", "coefs": [[1.0]]}]}, "unknown feature"),
        ({"linear": [{"feature": "age", "coefs": [[1.0, 2.0]], "fill": 1}]}, "one for a number"),
        ({"linear": [{"feature": "age", "coefs": [[1.0]]}]}, "needs fill="),
        ({"linear": [{}]}, "linear term 1: 'feature' is missing"),
        ({"threshold": "high"}, "'threshold' must be a number"),
        ({"rules": {}}, "'rules' is damaged: these are no clearmargin rules"),
        ({"format": "clearmargin-rules"}, "these are rules, which RuleSet.load reads"),
    ],
)
def test_damaged_data_are_refused(change: dict[str, object], message: str) -> None:
    data = WeightedRules(three_rules(), [1, 2, 3], 0.0).to_dict()
    with pytest.raises(FileDamagedError, match=message):
        WeightedRules.from_dict(data | change)
    with pytest.raises(FileDamagedError, match="these are no clearmargin weighted rules"):
        WeightedRules.from_dict({"rules": 1, "intercept": 0, "linear": []})


def test_the_schema_describes_what_is_written() -> None:
    validator = jsonschema.Draft202012Validator(weighted_rules_schema())
    jsonschema.Draft202012Validator.check_schema(weighted_rules_schema())
    for said in (many_classes(), WeightedRules(three_rules(), [1, 2, 3], 0, [LinearTerm(0, 1, 4)])):
        validator.validate(said.to_dict())
    assert not validator.is_valid(many_classes().to_dict() | {"scores": []})
