from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, FileDamagedError, InvalidValueError
from clearmargin.rules import FeatureSpace
from clearmargin.scorecards.scorecard import Scorecard, ScoredFeature


def _card(threshold: float = 4.5) -> Scorecard:
    space = FeatureSpace(["age", "job", "rate"], categories=[None, ["clerk", "smith"], None])
    parts = [ScoredFeature(0, [0, 2, 5], [40, 60]), ScoredFeature(1, [0, 3])]
    return Scorecard(parts, threshold, space, ["well", "ill"])


def _cases() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [39.9, 40.0, 60.0, 99.0],
            "job": ["clerk", "smith", "clerk", "smith"],
            "rate": [1.0, np.nan, 2.0, 3.0],
        }
    )


def test_points_are_those_of_the_interval_that_begins_at_or_below_the_value():
    assert _card().score(_cases()).tolist() == [0.0, 5.0, 5.0, 8.0]
    assert _card().predict(_cases()).tolist() == ["well", "ill", "ill", "ill"]
    assert _card().decision_function(_cases()).tolist() == [-4.5, 0.5, 0.5, 3.5]


@given(
    cuts=st.lists(st.integers(-20, 20), min_size=1, max_size=5, unique=True).map(sorted),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_the_score_is_the_sum_of_the_weights_of_the_rules_that_hold(cuts, data):
    points = data.draw(st.lists(st.integers(0, 9), min_size=len(cuts) + 1, max_size=len(cuts) + 1))
    space = FeatureSpace(["a", "b"])
    parts = [ScoredFeature(1, points, cuts), ScoredFeature(0, points[::-1], cuts)]
    card = Scorecard(parts, 3.5, space, [0, 1])
    X = np.array(data.draw(st.lists(st.tuples(*[st.integers(-25, 25)] * 2), min_size=1)), float)
    held = sum(rule.weight * rule.region.contains(X) for rule in card.rules())
    np.testing.assert_array_equal(card.score(X), held + np.zeros(len(X)))


def test_a_category_is_a_rule_as_well():
    card = _card()
    table = card.space.read(_cases().fillna(0.0))
    held = sum(rule.weight * rule.region.contains(table) for rule in card.rules())
    assert held.tolist() == card.score(_cases()).tolist()
    assert {rule.label for rule in card.rules()} == {"ill"}


def test_rules_are_counted_as_cuts_and_as_categories_with_points():
    assert _card().n_rules == 3
    assert repr(_card()) == "<Scorecard: 3 rules over 2 features>"


def test_a_single_category_that_has_fewer_points_than_the_others_is_one_rule():
    assert ScoredFeature(0, [4, 4, 0, 4]).n_rules == 1
    assert ScoredFeature(0, [4, 1, 0, 4]).n_rules == 2


def test_an_explanation_adds_up():
    explained = _card().explain(_cases().iloc[[1]])
    assert (explained.label, explained.score) == ("ill", 5.0)
    assert explained.parts == (("job is smith", 3.0, 3.0), ("age from 40 to 60", 2.0, 5.0))
    assert str(explained).splitlines()[0] == "ill: 5 points, more than 4.5"
    low = _card().explain(_cases().iloc[[0]])
    assert str(low).splitlines()[0] == "well: 0 points, not more than 4.5"


def test_a_plain_list_of_numbers_can_be_explained():
    card = Scorecard([ScoredFeature(0, [0, 1], [2])], 0.5, FeatureSpace(["a", "b"]), [0, 1])
    assert card.explain([3.0, 0.0]).parts == (("a >= 2", 1.0, 1.0),)
    with pytest.raises(DataError, match="one case is needed"):
        card.explain([[3.0, 0.0], [1.0, 0.0]])


def test_plain_data_read_back_is_the_same_card():
    card = _card()
    assert Scorecard.from_dict(json.loads(json.dumps(card.to_dict()))) == card
    assert pickle.loads(pickle.dumps(card)) == card
    assert _card(3.5) != card


def test_the_table_names_each_feature_once():
    lines = _card().to_text().splitlines()
    assert lines[0] == "ill if the points sum to 5 or more (else well)"
    assert lines[1].split() == ["age", "<", "40", "0"]
    assert sum("age" in line for line in lines) == 1
    assert lines[-1].split() == ["smith", "3"]


def test_categories_of_equal_points_share_a_line_and_most_of_them_are_the_other_ones():
    space = FeatureSpace(["job"], categories=[["a", "b", "c", "d", "e", "f"]])
    few = Scorecard([ScoredFeature(0, [0, 2, 0, 2, 0, 1])], 0.5, space, ["no", "yes"])
    assert few.lines() == [("job", "a, c, e", 0.0), ("job", "b, d", 2.0), ("job", "f", 1.0)]
    many = Scorecard([ScoredFeature(0, [0, 2, 0, 0, 0, 1])], 0.5, space, ["no", "yes"])
    assert many.lines() == [("job", "b", 2.0), ("job", "f", 1.0), ("job", "other categories", 0.0)]
    assert many.explain(["d"]).parts == (("job is d", 0.0, 2.0),)
    assert Scorecard.from_dict(json.loads(json.dumps(many.to_dict()))) == many
    alike = Scorecard([ScoredFeature(0, [1, 1, 1, 1, 1, 1])], 0.5, space, ["no", "yes"])
    assert alike.lines() == [("job", "a, b, c, d, e, f", 1.0)]


@pytest.mark.parametrize(
    ("points", "threshold", "said"),
    [([0, 3], 2.5, "3 or more"), ([0, 3], 2, "3 or more"), ([0, 2.5], 2, "more than 2")],
)
def test_the_sentence_above_the_table_is_true(points, threshold, said):
    card = Scorecard([ScoredFeature(0, points, [1])], threshold, FeatureSpace(["a"]), [0, 1])
    assert said in card.summary()
    assert card.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_markdown_and_html_show_names_and_obey_none():
    space = FeatureSpace(["a|<b>"])
    card = Scorecard([ScoredFeature(0, [0, 1], [0.1])], 0.5, space, ["no", "<i>"])
    assert r"| a\|<b> | < 0.1 | 0 |" in card.to_markdown().splitlines()
    html = card._repr_html_()
    assert "<b>" not in html
    assert "<i>" not in html
    assert "a|&lt;b&gt;" in html


def test_a_card_without_points_says_one_class():
    card = Scorecard([], -0.5, FeatureSpace(["a"]), [0, 1])
    assert card.predict([[1.0], [2.0]]).tolist() == [1, 1]
    assert card.rules() == ()
    assert card.to_text() == card.summary()
    assert len(card.to_frame()) == 0


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("age", np.nan, "row 3 has NaN in column 'age'"), ("job", "king", "row 3 has a category")],
)
def test_a_value_without_points_is_named(column, value, message):
    cases = _cases()
    cases.loc[2, column] = value
    with pytest.raises(DataError, match=message):
        _card().predict(cases)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScoredFeature(0, [1, 2], [1, 2]), "2 cuts make 3 intervals"),
        (lambda: ScoredFeature(0, [1, 2, 3], [2, 1]), "ascend"),
        (lambda: ScoredFeature(0, [1, np.inf], [2]), "finite"),
        (lambda: Scorecard([], 0.5, FeatureSpace(["a"]), [1]), "two classes"),
        (lambda: Scorecard([], np.inf, FeatureSpace(["a"]), [0, 1]), "threshold"),
        (lambda: Scorecard([1], 0.5, FeatureSpace(["a"]), [0, 1]), "ScoredFeature, not int"),
        (
            lambda: Scorecard([ScoredFeature(1, [0, 1], [0])], 0, FeatureSpace(["a"]), [0, 1]),
            "feature 1, but there are 1",
        ),
        (
            lambda: Scorecard([ScoredFeature(0, [0, 1], [0])] * 2, 0, FeatureSpace(["a"]), [0, 1]),
            "'a' has points twice",
        ),
        (
            lambda: Scorecard([ScoredFeature(0, [0, 1])], 0, FeatureSpace(["a"]), [0, 1]),
            "'a' is a number and needs cuts",
        ),
        (
            lambda: Scorecard([ScoredFeature(1, [0])], 0, _card().space, [0, 1]),
            "'job' has 2 categories, but there are points for 1",
        ),
    ],
)
def test_a_card_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(InvalidValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [{"feature": "agee", "points": [0]}]}, "did you mean 'age'"),
        ({"points": [{"feature": "age"}]}, "cannot be read"),
        ({"points": [{"feature": "age", "points": [0], "cuts": [1]}]}, "1 cuts make 2"),
        ({"threshold": "x"}, "threshold must be a number"),
    ],
)
def test_damaged_plain_data_is_refused(change, message):
    with pytest.raises(FileDamagedError, match=message):
        Scorecard.from_dict(_card().to_dict() | change)


def test_plain_data_of_something_else_is_refused():
    with pytest.raises(FileDamagedError, match="no scorecard: classes, features, points, thresh"):
        Scorecard.from_dict([])
