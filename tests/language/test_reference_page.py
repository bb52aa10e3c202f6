"""The reference page of the rule language tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import format_rules, parse_rules
from clearmargin.rules import FeatureSpace

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rule-language.md"


def blocks(kind: str) -> list[str]:
    return re.findall(
        rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize("text", blocks("rules"))
def test_the_examples_can_be_read_and_written(text):
    rules = parse_rules(text)
    assert len(rules) >= 1
    assert parse_rules(format_rules(rules)) == rules


@pytest.mark.parametrize("text", blocks("text"))
def test_the_errors_are_those_that_are_raised(text):
    source = text.split("\n")[1].strip()
    space = FeatureSpace(["bmi", "glucose"]) if "unknown" in text else None
    with pytest.raises(RuleSyntaxError, match="line 1") as caught:
        parse_rules(source, space=space)
    assert f"{caught.value}\n" == text


def test_there_are_examples_of_both():
    assert len(blocks("rules")) >= 3
    assert len(blocks("text")) >= 3


def test_the_declarations_say_what_the_page_says():
    rules = parse_rules(blocks("rules")[3])
    assert rules.classes == ("benign", "malignant")
    assert rules.space == FeatureSpace(
        ["age", "colour", "worst area", "bmi"],
        [20, -float("inf"), 0, -float("inf")],
        [80, float("inf"), float("inf"), float("inf")],
        [True, False, False, False],
        {"colour": ["red", "green", "blue"]},
        {"age": "years", "worst area": "mm²"},
        {"colour": "red"},
    )
