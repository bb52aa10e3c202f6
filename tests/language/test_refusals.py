"""Whatever goes wrong while reading, the error is one of ours, short, and at its place."""

from __future__ import annotations

import pytest

from clearmargin.exceptions import ClearmarginError, InvalidValueError, RuleSyntaxError
from clearmargin.language import parse_rules, resolve
from clearmargin.rules import FeatureSpace


def test_a_syntax_error_is_also_a_value_error_and_one_of_ours():
    with pytest.raises(ValueError, match="line 1") as caught:
        parse_rules("x")
    assert isinstance(caught.value, ClearmarginError)


@pytest.mark.parametrize("text", [None, 3, b"x > 3 => a", ["x > 3 => a"]])
def test_only_text_can_be_read(text):
    with pytest.raises(TypeError, match="rules are read from a text"):
        parse_rules(text)


def test_space_and_classes_must_be_what_they_are_called():
    with pytest.raises(TypeError, match="space must be a FeatureSpace or None, not list"):
        parse_rules("x > 3 => a", space=["x"])
    with pytest.raises(
        TypeError, match="classes must be a list of labels, not the single text 'ab'"
    ):
        parse_rules("x > 3 => a", classes="ab")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 100_000 + " ! => a",
        "`" + "x" * 100_000 + "` in {a} and `" + "x" * 100_000 + "` > 3 => a",
        "x > 3 => a " + "b" * 100_000,
        "c in {" + "é" * 100_000 + "9 => a",
        "1" * 100_000 + " < x => a",
        "x > 3 => " + "1" * 5_000,
        "x > 3 => not " + "1" * 4_000,
    ],
)
def test_a_message_stays_short_however_long_the_names_are(text):
    with pytest.raises(RuleSyntaxError, match="line 1, column") as caught:
        parse_rules(text)
    assert len(str(caught.value)) < 1000


def test_a_long_unknown_name_is_shortened_and_gets_no_suggestion():
    with pytest.raises(RuleSyntaxError, match=r"unknown feature 'x{57}\.\.\.'\n") as caught:
        parse_rules("x" * 1000 + " > 3 => a", space=FeatureSpace(["age"]))
    assert "mean" not in str(caught.value).split("\n")[0]


def test_a_matrix_that_no_machine_can_hold_is_refused():
    text = " and ".join(f"x{k} + y{k} <= 1" for k in range(20_000)) + " => a"
    with pytest.raises(
        RuleSyntaxError,
        match="this premise is too large: 20000 linear conditions over 40000 features",
    ):
        parse_rules(text)


def test_a_rule_that_core_refuses_is_an_error_at_its_place(monkeypatch):
    def refuse(*args, **options):
        raise InvalidValueError("no such rule")

    monkeypatch.setattr(resolve, "Rule", refuse)
    with pytest.raises(RuleSyntaxError, match="line 2, column 1: no such rule"):
        parse_rules("\nx > 3 => a")
