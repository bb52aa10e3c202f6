"""Explanations in words, whatever things are called."""

from __future__ import annotations

from clearmargin import Box, Explanation, FeatureSpace, Rule


def explained(name, label):
    rule = Rule(Box([3.0], [8.0]), label, proof="proved")
    return Explanation("rule", rule, label, 1.5, 0.9, {"margin": 0.9}, FeatureSpace([name]))


def test_a_name_with_then_in_it_does_not_cut_the_sentence():
    text = str(explained("a, then b", "yes"))
    assert "if a, then b is between 3 and 8, then yes." in text


def test_a_class_that_cannot_be_seen_is_written_out():
    text = str(explained("x", "a\u202eb"))
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_a_rule_without_conditions_holds_always():
    rule = Rule(Box.unbounded(1), "yes", proof="proved")
    space = FeatureSpace(["x"])
    assert "always, then yes" in str(Explanation("rule", rule, "yes", 1.0, 0.9, {}, space))
