"""Rules as sentences for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.language import describe_rules, parse_rules
from clearmargin.language.prose import percent
from clearmargin.rules import Box, FeatureSpace, Interval, Rule, RuleSet, RuleStats

DECLARED = "feature bmi: unit `kg/m2`\nfeature glucose: unit `mg/dl`\nfeature births: integer\n"


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("bmi >= 30 and 126 <= glucose <= 140 => ill",
         "If bmi is at least 30 kg/m2 and glucose is between 126 and 140 mg/dl, then ill."),
        ("bmi > 30 => ill", "If bmi is more than 30 kg/m2, then ill."),
        ("bmi < 30 => ill", "If bmi is less than 30 kg/m2, then ill."),
        ("bmi <= 30 => ill", "If bmi is at most 30 kg/m2, then ill."),
        ("20 < bmi <= 30 => ill", "If bmi is more than 20 and at most 30 kg/m2, then ill."),
        ("bmi = 30 => ill", "If bmi is 30 kg/m2, then ill."),
        ("bmi >= 29.9871 => ill", "If bmi is at least 30 kg/m2, then ill."),
        ("bmi > 29.9871 => ill", "If bmi is at least 30 kg/m2, then ill."),
        ("bmi < 30.0199 => ill", "If bmi is at most 30 kg/m2, then ill."),
        ("births > 3 => ill", "If births is at least 4, then ill."),
        ("births < 3 => ill", "If births is at most 2, then ill."),
        ("1.5 < births < 3.5 => ill", "If births is between 2 and 3, then ill."),
        ("1234567 <= births => ill", "If births is at least 1234567, then ill."),
        ("3.25 < births < 3.5 => ill", "If births is more than 3.25 and less than 3.5, then ill."),
        ("births > 1e300 => ill", "If births is more than 1e+300, then ill."),
        ("true => ill", "Always ill."),
        ("0.123456*bmi + glucose <= 40.98765 => ill", "If 0.123456*bmi + glucose <= 40.98765, then ill."),
        ("high: bmi > 1 => ill [weight 2.5]", "high: If bmi is more than 1 kg/m2, then ill. (weight 2.5)"),
    ],
)  # fmt: skip
def test_a_rule_is_said_in_a_sentence(rule, sentence):
    assert describe_rules(parse_rules(DECLARED + rule)) == f"1. {sentence}"


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("late <= 0", "late is 0"),
        ("late < 1", "late is 0"),
        ("late >= 9", "late is 9"),
        ("late > 8", "late is 9"),
        ("late <= 1", "late is at most 1"),
        ("late <= -1", "late is at most -1"),
        ("0 <= late <= 9", "late is between 0 and 9"),
        ("size <= 0", "size is at most 0"),  # no whole numbers: more is left than the end itself
    ],
)
def test_the_last_number_of_a_range_is_said_by_itself(condition, said):
    declared = "feature late: integer in [0, 9]\nfeature size: in [0, 9]\n"
    rules = parse_rules(f"{declared}{condition} => a")
    assert describe_rules(rules) == f"1. If {said}, then a."
    # The language keeps the condition: an interval without an end is another rule than a point.
    assert parse_rules(rules.to_text()) == rules


def test_a_bound_at_the_end_of_a_range_is_another_rule_than_the_number_there():
    declared = "feature late: integer in [0, 9]\n"
    at_most, exactly = (parse_rules(f"{declared}late {c} 0 => a") for c in ("<=", "="))
    assert at_most != exactly
    assert at_most.to_text().splitlines()[-1] == "late <= 0 => a"


def test_categories_are_listed():
    rules = parse_rules(
        "c = red => a\nc in {red, `dark blue`, green} and x + y < 1 => `no\nway`".replace(
            "\nway", r"\nway"
        )
    )
    assert describe_rules(rules) == (
        "1. If c is red, then a.\n"
        r"2. If x + y < 1 and c is red, dark blue or green, then no\nway."
    )


def test_no_rules_are_said_as_such():
    assert describe_rules(parse_rules("")) == "No rules."


def test_what_is_known_about_a_rule_stands_behind_it():
    def say(**known):
        return describe_rules(RuleSet([Rule(Box([1.0], [2.0]), "a", **known)], FeatureSpace(["x"])))

    said = "1. If x is between 1 and 2, then a. "
    stats = RuleStats(435, 383, correct=382, agreed=383)
    assert say(proof="proved", stats=stats) == (
        said + "(proved; covers 383 of 435 rows, 99.7 % of them right, 100 % as the model says)"
    )
    assert (
        say(proof="observed", stats=RuleStats(10, 0, 0)) == said + "(observed; covers 0 of 10 rows)"
    )


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 7, "0 %"), (99999, 100000, "99.9 %"), (7, 7, "100 %"), (1, 8, "12.5 %")],
)
def test_a_share_is_rounded_down(part, whole, text):
    assert percent(part, whole) == text


@pytest.mark.parametrize("digits", [0, -1, 2.5, True, None])
def test_digits_are_a_whole_number_from_1(digits):
    with pytest.raises(InvalidValueError, match="digits must be a whole number from 1"):
        describe_rules(parse_rules("x > 3 => a"), digits=digits)


def _heard(sentence: str) -> Interval:
    """What a person understands, by a reader that shares nothing with the writer."""
    said = sentence.removeprefix("1. If x is ").removesuffix(", then a.")
    low, high, low_closed, high_closed = -math.inf, math.inf, True, True
    if said.startswith("between "):
        low, high = map(float, said.removeprefix("between ").split(" and "))
        return Interval(low, high, "both")
    for part in said.split(" and "):
        *words, number = part.split()
        value = float(number)
        if words in (["at", "least"], ["more", "than"]):
            low, low_closed = value, words[0] == "at"
        elif words in (["at", "most"], ["less", "than"]):
            high, high_closed = value, words[0] == "at"
        else:
            low = high = value
    return Interval.from_flags(low, high, low_closed, high_closed)


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite, st.booleans(), st.booleans(), st.integers(1, 20), st.booleans())
def test_what_is_said_is_a_part_of_what_the_rule_covers(
    a, b, low_closed, high_closed, digits, is_whole
):
    low, high = sorted((a, b))
    exact = Interval.from_flags(low, high, low_closed or low == high, high_closed or low == high)
    space = FeatureSpace(["x"], integer=is_whole)
    rules = RuleSet([Rule(Box.from_intervals({0: exact}, 1), "a")], space)
    heard = _heard(describe_rules(rules, digits=digits))
    assert not heard.is_empty
    assert heard & exact == heard
    if is_whole:
        for value in (math.ceil(low), math.floor(high)):
            if digits >= 17 and abs(value) < 2**53:
                assert (float(value) in heard) == (float(value) in exact)


def test_a_rule_that_is_mostly_wrong_says_so_before_it_is_called_proved():
    def said(correct, weight=1.0):
        stats = RuleStats(rows=300, covered=100, correct=correct, agreed=100)
        rule = Rule(Box([30.0], [math.inf]), "ill", proof="proved", stats=stats, weight=weight)
        return describe_rules(RuleSet([rule], FeatureSpace(["bmi"])))

    assert "(right on only 31 % of its rows; proved" in said(31)
    assert said(31).count("31 %") == 1
    assert "only" not in said(50)
    # The weight stays where it is read from.
    assert "(weight 2; right on only 31 % of its rows; proved" in said(31, weight=2.0)
