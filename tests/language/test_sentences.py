"""Sentences, as rules are printed for people, are read as the rules they state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import describe_rules, parse_rules
from clearmargin.rules import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet

NAMES = ("worst area", "size, mm", "β-3", "a.b", "in", "if", "then", "3rd", "x", "weight (kg)")
KINDS = ("deep red", "red", "1", "true", "a, b", "#2")
LABELS = ("at risk", "ill", "1", True, 2, -0.5, "3.", "(no)")
NUMBERS = st.one_of(st.integers(-9, 9).map(float), st.floats(-1e300, 1e300, allow_subnormal=False))


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("if a <= 3 and b is at least 2 then benign", "a <= 3 and b >= 2 => benign"),
        ("If a is at least 3 and less than 5, then ill.", "3 <= a < 5 => ill"),
        ("IF a is more than 3 AND b is at most 5 THEN ill", "a > 3 and b <= 5 => ill"),
        ("if a is between 3 and 5 and b is 4 then 1.", "3 <= a <= 5 and b = 4 => 1"),
        ("if a is -1e+300, then 1.5.", "a = -1e300 => 1.5"),
        ("if c is red then x", "c in {red} => x"),
        ("if c is red, blue or green, then x", "c in {red, blue, green} => x"),
        ("if `worst area` is at least 3 then `at risk`", "`worst area` >= 3 => `at risk`"),
        ("if `a then b` > 3 and c < 2 then d", "`a then b` > 3 and c < 2 => d"),
        ("If 0.5*a + b <= 3 and a is at least 1, then y.", "0.5*a + b <= 3 and a >= 1 => y"),
        ("if c in {red, blue} and 3 < a <= 5, then y", "c in {red, blue} and 3 < a <= 5 => y"),
        (
            "7. obese: If a is at least 30, then ill. (weight 2; proved)",
            "obese: a >= 30 => ill [weight 2]",
        ),
        ("very obese: if a > 30 then ill [weight 0.5]", "`very obese`: a > 30 => ill [weight 0.5]"),
        ("if a > 3 then ill. (covers 3 of 4 rows)  # so far", "a > 3 => ill"),
        ("if a > 3 then ill  # so far", "a > 3 => ill"),
        ("Always benign.", "true => benign"),
        (
            "a > 3 => ill\nif a <= 3 then not ill\na > 9 => well",
            "a > 3 => ill\na <= 3 => not ill\na > 9 => well",
        ),
    ],
)
def test_a_sentence_states_a_rule(sentence, rule):
    assert parse_rules(sentence) == parse_rules(rule)


@pytest.mark.parametrize(
    "text",
    ["if > 3 => a", "if: x > 3 => a", "always = 3 => if", "then <= 2 => then", "if in {a} => b"],
)
def test_features_may_be_called_like_the_words_of_a_sentence(text):
    rules = parse_rules(text)
    assert parse_rules(rules.to_text()) == rules


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("if a is at least 3", "no 'then' in this sentence"),
        ("if a is at least 3 or b is 2 then c", "expected 'and' or 'then' here"),
        ("if then a", "expected a condition, such as 'age is at least 30'"),
        ("if a > 3 then", "no class after 'then'"),
        ("if a is at least then b", "column 11: expected 'and' or 'then' here"),
        ("if a > 3 => b", "'if' has 'then' before its class, not '=>'"),
        (
            "if a > 3 then at risk",
            "unexpected 'risk' after the class; a class with blanks goes into back",
        ),
        ("if worst area is 3 then b", "a name with blanks goes into backquotes: `worst area`"),
        ("if a is 3 kg then b", "expected 'and' or 'then' here"),
        ("if a is 3 and 4 then b", "expected a comparison"),
    ],
)
def test_what_a_sentence_lacks_is_named_at_its_place(sentence, message):
    with pytest.raises(RuleSyntaxError, match=message):
        parse_rules(sentence)


def test_declared_names_may_stand_as_they_are_printed():
    declared = "feature `worst area`: unit `mm²/s`\nfeature colour: in {`deep red`, red}\nclasses: `at risk`, ok\n"
    rules = parse_rules(f"{declared}3 < `worst area` <= 4.5 and colour = `deep red` => `at risk`\n")
    sentence = (
        "If worst area is more than 3 and at most 4.5 mm²/s and colour is deep red, then at risk."
    )
    assert describe_rules(rules) == f"1. {sentence}"
    assert parse_rules(f"{declared}{sentence}") == rules
    assert parse_rules(sentence, space=rules.space, classes=rules.classes) == rules


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("if area > 3 and colour is red then ok", "area > 3 and colour in {red} => ok"),
        ("if area is at least 3 then ok", "area >= 3 => ok"),
        ("if `area` is at least 3 mm²/s then ok", "area >= 3 => ok"),
        ("if `the colour` is deep red or red then ok", "`the colour` in {`deep red`, red} => ok"),
        ("if area is not missing and colour is missing then ok", "area is not missing and colour is missing => ok"),
        ("if area is  Not  Missing then ok", "area is not missing => ok"),
    ],
)  # fmt: skip
def test_a_sentence_over_known_features_may_be_written_in_many_ways(sentence, rule):
    kinds = ("deep red", "red")
    space = FeatureSpace(
        ["area", "colour", "the colour"],
        categories=[None, kinds, kinds],
        units=["mm²/s", None, None],
    )
    assert parse_rules(sentence, space=space) == parse_rules(rule, space=space)
    with pytest.raises(RuleSyntaxError, match="expected a number or a category after 'is'"):
        parse_rules("if colour is , then ok", space=space)


@st.composite
def printed_sets(draw):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    kinds = [draw(st.sampled_from([None, KINDS])) for _ in names]
    units = [None if k else draw(st.sampled_from([None, "kg", "mm²/s"])) for k in kinds]
    space = FeatureSpace(names, categories=kinds, units=units)
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4, unique_by=str))
    rules = []
    for _ in range(draw(st.integers(1, 3))):
        intervals, sets, missing, known = {}, {}, set(), set()
        for j in draw(st.lists(st.sampled_from(range(len(names))), unique=True)):
            asks = draw(st.sampled_from([None, None, None, missing, known]))
            if asks is not None:
                asks.add(j)
                continue
            if kinds[j]:
                sets[j] = draw(st.sets(st.sampled_from(range(len(KINDS))), min_size=1))
                continue
            low, high = sorted([draw(NUMBERS), draw(NUMBERS)])
            low, high = draw(st.sampled_from([(low, high), (low, np.inf), (-np.inf, high)]))
            interval = Interval(low, high, closed=draw(st.sampled_from(["both", "left", "right"])))
            intervals[j] = Interval(low, high, closed="both") if interval.is_empty else interval
        region = Box.from_intervals(intervals, len(names), sets, missing=missing, known=known)
        weight = draw(st.sampled_from([1.0, 2.5]))
        name = draw(st.sampled_from([None, "old people", "in"]))
        rules.append(Rule(region, draw(st.sampled_from(labels)), name=name, weight=weight))
    return RuleSet(rules, space, labels)


@given(printed_sets())
def test_sentences_with_all_digits_read_back_as_the_same_rules(rules):
    again = parse_rules(describe_rules(rules, digits=17), space=rules.space, classes=rules.classes)
    assert again == rules


def test_linear_conditions_read_back_from_sentences():
    space = FeatureSpace(["a b", "c"])
    rules = RuleSet([Rule(Polyhedron([[0.1, -2.0]], [3.5]), "x")], space)
    assert parse_rules(describe_rules(rules), space=space) == rules


@pytest.mark.parametrize("text", ["bmi <= inf => a", "-Infinity < bmi => a", "bmi = nan => b"])
def test_infinity_is_no_feature(text):
    for space in (None, FeatureSpace(["bmi"])):
        with pytest.raises(
            RuleSyntaxError, match="is no number that a feature can be compared with"
        ):
            parse_rules(text, space=space)


def test_a_feature_may_be_called_infinity_in_backquotes_or_where_it_is_known():
    rules = parse_rules("`inf` > 3 and x < `nan` => a")
    assert rules.space.names == ("inf", "x", "nan")
    assert parse_rules(rules.to_text()) == rules
    assert len(parse_rules("x <= inf => a", space=FeatureSpace(["x", "inf"]))) == 1
