"""Rules: what they are made of, in canonical form."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, FeatureSpace, Polyhedron, Rule, RuleSet, RuleStats
from clearmargin.rules.rule import as_label

BOX = Box([0.0], [1.0])


@given(data=st.data())
def test_a_polyhedron_of_plain_bounds_is_the_box_it_is(data, draw):
    box = data.draw(draw.boxes(3, sets={2: [0]}))
    as_rows, as_box = Rule(Polyhedron.from_box(box), "a"), Rule(box, "a")
    assert as_rows == as_box
    assert hash(as_rows) == hash(as_box)
    assert as_rows.region == box


@pytest.mark.parametrize("rows", [[[2.0, 0.0]], [[0.5, 0.5]], [[1.0, 0.0], [1.0, 1.0]]])
def test_other_polyhedra_stay_what_they_are(rows):
    wedge = Polyhedron(rows, np.ones(len(rows)))
    assert Rule(wedge, "a").region is wedge


def test_no_inequality_at_all_is_the_unbounded_box():
    assert Rule(Polyhedron(np.empty((0, 2)), []), "a") == Rule(Box.unbounded(2), "a")


@pytest.mark.parametrize(
    ("given_label", "label"),
    [
        ("ill", "ill"),
        (np.str_("ill"), "ill"),
        (1, 1),
        (np.int64(1), 1),
        (np.uint8(1), 1),
        (1.5, 1.5),
        (np.float32(1.5), 1.5),
        (True, True),
        (np.bool_(False), False),
        (-(2**80), -(2**80)),
        (2**1000 - 1, 2**1000 - 1),
    ],
)
def test_a_label_becomes_a_plain_value(given_label, label):
    found = Rule(BOX, given_label).label
    assert found == label
    assert type(found) is type(label)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("", r"a non-empty text or a number, not '' \(str\)"),
        (None, r"not None \(NoneType\)"),
        (math.nan, "a class label must not be nan"),
        (math.inf, "a class label must not be inf"),
        (np.float64("nan"), "a class label must not be nan"),
        (b"ill", r"not b'ill' \(bytes\)"),
        (np.datetime64("2020-01-01"), "a non-empty text or a number"),
        (("a",), r"\(tuple\)"),
        (2**1000, "at most 1000 bits, not 1001; use a text"),
        (1j, r"not 1j \(complex\)"),
        (np.array(["ill"]), r"\(ndarray\)"),
    ],
)
def test_what_is_no_label_is_refused(label, message):
    with pytest.raises(InvalidValueError, match=message):
        as_label(label)


def test_an_integer_that_python_cannot_print_is_refused_without_printing_it():
    with pytest.raises(InvalidValueError, match="at most 1000 bits, not 16610"):
        Rule(BOX, -(10**5000))


@pytest.mark.parametrize(
    "region",
    [
        Box([1.0], [0.0]),
        Box([1.0], [1.0], False),
        Box([-math.inf], [math.inf], sets={0: []}),
        Polyhedron([[1.0], [-1.0]], [0.0, -1.0]),
        Polyhedron([[2.0, 0.0]], [1.0], sets={1: []}),
    ],
)
def test_a_region_that_is_plainly_empty_is_refused(region):
    with pytest.raises(InvalidValueError, match="a rule needs a region that is not empty"):
        Rule(region, "a")


def test_inequalities_that_contradict_each_other_are_found_by_asking():
    rule = Rule(Polyhedron([[1.0, 1.0], [-1.0, -1.0]], [0.0, -1.0]), "a")
    assert rule.region.is_empty()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"region": [[0, 1]]}, "the region of a rule is a Box or a Polyhedron, not list"),
        ({"name": ""}, "the name of a rule is a non-empty text or None, not ''"),
        ({"name": 7}, "the name of a rule is a non-empty text or None, not 7"),
        ({"weight": 0}, "the weight of a rule is a positive number, not 0"),
        ({"weight": -1.0}, "the weight of a rule is a positive number, not -1.0"),
        ({"weight": math.inf}, "the weight of a rule is a positive number, not inf"),
        ({"weight": math.nan}, "the weight of a rule must not be NaN"),
        ({"weight": "2"}, "the weight of a rule must be a number, not '2'"),
        ({"weight": None}, "the weight of a rule must be a number, not None"),
        (
            {"origin": "guess"},
            "origin must be one of 'expert', 'extracted', 'refined', not 'guess'",
        ),
        (
            {"proof": "maybe"},
            "proof must be one of 'proved', 'observed', 'stated', 'distilled', None, not 'maybe'",
        ),
        ({"stats": {"rows": 1}}, "the stats of a rule are RuleStats or None, not dict"),
    ],
)
def test_a_bad_rule_is_refused(wrong, message):
    with pytest.raises(InvalidValueError, match=message):
        Rule(**{"region": BOX, "label": "a", **wrong})


def test_region_label_name_and_weight_make_a_rule():
    rule = Rule(BOX, "a", name="n", weight=2)
    assert rule == Rule(BOX, "a", name="n", weight=2.0, proof="proved", stats=RuleStats(3, 2))
    assert hash(rule) == hash(Rule(BOX, "a", name="n", weight=2, origin="refined"))
    assert rule != Rule(BOX, "b", name="n", weight=2)
    assert rule != Rule(BOX, "a", name="m", weight=2)
    assert rule != Rule(BOX, "a", name="n", weight=3)
    assert rule != Rule(Box([0.0], [1.0], False), "a", name="n", weight=2)


def test_conditions_are_counted_by_feature_or_by_row():
    assert Rule(Box.unbounded(2), "a").n_conditions == 0
    assert Rule(Box([0, -math.inf], [1, math.inf], sets={1: [0]}), "a").n_conditions == 2
    wedge = Polyhedron([[1, 1, 0], [1, 2, 0]], [1, 1], sets={2: [0]})
    assert Rule(wedge, "a").n_conditions == 3
    assert Rule(wedge, "a").n_features == 3


def test_a_rule_shows_its_text_and_its_proof():
    assert repr(Rule(BOX, "a")) == "<0 <= x0 <= 1 => a>"
    full = Rule(BOX, 1, name="n", weight=2, proof="proved")
    assert repr(full) == "<n: 0 <= x0 <= 1 => 1 [weight 2] (proved)>"


def test_a_notebook_shows_a_rule_as_its_text_and_names_cannot_become_markup():
    rules = parse_rules("`<b>` >= 3 => a")
    assert rules[0]._repr_html_() == "<code>`&lt;b&gt;` &gt;= 3 =&gt; a</code>"
    assert Rule(BOX, 1, proof="proved")._repr_html_().endswith("</code> (proved)")


def test_a_rule_prints_itself_in_the_rule_language():
    rules = parse_rules(
        "feature c: in {`deep red`, blue}\nfeature bmi\nobese: bmi >= 30 and c = `deep red` => ill [weight 2]"
    )
    assert str(rules[0]) == "obese: c = `deep red` and bmi >= 30 => ill [weight 2]"
    assert str(next(iter(rules))) == str(rules[0])
    assert str(pickle.loads(pickle.dumps(rules))[0]) == str(rules[0])


def test_a_rule_outside_of_a_set_calls_its_features_by_position():
    box = Box([30.0, -np.inf, -np.inf], [60.0, np.inf, 2.0], sets={1: {0, 2}})
    assert str(Rule(box, "ill")) == "30 <= x0 <= 60 and x1 in {`0`, `2`} and x2 <= 2 => ill"
    assert str(Rule(Polyhedron([[1.0, 2.0]], [3.0]), 1.0)) == "x0 + 2*x1 <= 3 => 1.0"


def test_a_rule_in_two_sets_prints_the_names_of_each():
    rule = Rule(Box([30.0], [60.0]), "ill")
    first = RuleSet([rule], FeatureSpace(["bmi"]))
    second = RuleSet(first, FeatureSpace(["age"]))
    assert (str(first[0]), str(second[0])) == ("30 <= bmi <= 60 => ill", "30 <= age <= 60 => ill")
    assert first[0] == second[0]
