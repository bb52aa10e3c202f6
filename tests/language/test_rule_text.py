"""Texts with mistakes, read to their end: what could be read, every mistake, and the places of both."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import RuleSyntaxError
from clearmargin.language import parse_rules, read_rule_text
from clearmargin.rules import FeatureSpace

SPACE = FeatureSpace(
    ["age", "cell size", "colour"],
    [0, 1, 0],
    [100, 10, 1],
    categories={"colour": ["red", "dark blue"]},
)
CLASSES = ("ill", "well")
GOOD = [
    "age >= 30 => ill",
    "  small: `cell size` < 3.5 and 20 <= age <= 40.25 => well [weight 2]  # a comment",
    "colour in {red, `dark blue`} and age > -1e2 => not ill",
    "If age is at least 30 and cell size is between 2 and 3, then ill.",
    "age + 2*`cell size` <= 12 and `cell size` is not missing => well",
    "true => ill",
    "# nothing but a comment",
    "",
]
BAD = [
    "age >> 30 => ill",
    "agee >= 30 => ill",
    "age >= 30 -> ill",
    "age >= 30",
    "age >= 30 => il",
    "If agee is at least 30, then ill.",
    "colour = rde => ill",
    "age >= 3 and colour > 3 => well",
    "age > 30 or age < 20 => ill",
    "age > 30 and age < 20 => ill",
    "; ; ;",
    "feature colour: fil red",
    "`open => ill",
]


@given(st.lists(st.sampled_from([*GOOD, *BAD]), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_with_mistakes_do_not_touch_the_others(lines, newline):
    written = read_rule_text(newline.join(lines), SPACE, CLASSES)
    kept = newline.join(line for line in lines if line in GOOD)
    assert written.rules == parse_rules(kept, SPACE, CLASSES)
    wrong = {k for k, line in enumerate(lines, 1) if line in BAD}
    assert {mistake.line for mistake in written.mistakes} == wrong
    in_rules = [s.rule for s in written.statements if s.rule is not None]
    assert in_rules == list(range(len(written.rules)))


CHARACTERS = st.sampled_from(list("ax3 <>=-,&;`{}[]#:.+*\n")) | st.characters()


@st.composite
def broken_texts(draw: st.DrawFn) -> str:
    text = "\n".join(draw(st.lists(st.sampled_from(GOOD), min_size=1, max_size=4)))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(text)))
        removed = draw(st.integers(0, 3))
        text = text[:place] + draw(st.text(CHARACTERS, max_size=2)) + text[place + removed :]
    return text


@given(broken_texts(), st.booleans())
def test_there_are_mistakes_just_where_parsing_fails_and_its_error_is_one_of_them(text, is_known):
    space, classes = (SPACE, CLASSES) if is_known else (None, None)
    written = read_rule_text(text, space, classes)
    if written.mistakes:
        with pytest.raises(RuleSyntaxError) as caught:
            parse_rules(text, space, classes)
        assert str(caught.value) in {str(error) for error in written.errors}
    else:
        assert written.rules == parse_rules(text, space, classes)
    json.dumps(written.to_dict())
    for mistake in written.mistakes:
        assert 0 <= mistake.start <= mistake.end <= len(text)


@given(st.lists(st.sampled_from(GOOD), min_size=1))
def test_the_places_of_numbers_rules_and_classes_hold_them(lines):
    text = "\n".join(lines)
    written = read_rule_text(text, SPACE, CLASSES)
    for statement in written.statements:
        label = text[slice(*statement.label)]
        assert label in CLASSES
        region = written.rules[statement.rule].region
        for condition in statement.conditions:
            assert statement.start <= condition.start < condition.end <= statement.end
            for bound in condition.bounds:
                assert float(text[bound.start : bound.end]) == bound.value
                if not hasattr(region, "interval"):
                    continue
                interval = region.interval(SPACE.index(bound.feature))
                assert bound.value == (interval.low if bound.side == "low" else interval.high)


@pytest.mark.parametrize(
    ("text", "fix", "mended"),
    [
        ("agee >= 30 => ill", "age", "age >= 30 => ill"),
        ("`cell sise` >= 3 => ill", "`cell size`", "`cell size` >= 3 => ill"),
        ("age >= 30 -> ill", "=>", "age >= 30 => ill"),
        ("age >= 30 => il", "ill", "age >= 30 => ill"),
        ("colour = rde => ill", "red", "colour = red => ill"),
        ("age =< 30 => ill", "<=", "age <= 30 => ill"),
        ("age > 3&&age < 9 => ill", " and ", "age > 3 and age < 9 => ill"),
        ("age > 3 ∧ age < 9 => ill", "and", "age > 3 and age < 9 => ill"),
        ("age > 3, age < 9 => ill", " and", "age > 3 and age < 9 => ill"),
        ("2×age > 3 => ill", "*", "2*age > 3 => ill"),
        ("age > −3 => ill", "-", "age > -3 => ill"),
        ("colour ∈ {red} => ill", "in", "colour in {red} => ill"),
        ("in: age > 3 => ill", None, None),
    ],
)
def test_a_fix_put_in_the_place_of_the_mistake_mends_the_text(text, fix, mended):
    (mistake,) = read_rule_text(text, SPACE, CLASSES).mistakes
    assert mistake.fix == fix
    if mended is not None:
        after = text[: mistake.start] + mistake.fix + text[mistake.end :]
        assert after == mended
        assert not read_rule_text(after, SPACE, CLASSES).mistakes


def test_a_class_that_is_a_text_is_offered_in_its_spelling():
    (mistake,) = read_rule_text("x > 3 => 1", classes=["1", "2"]).mistakes
    assert mistake.fix == "`1`"
    (mistake,) = read_rule_text("x in {1} => a").mistakes
    assert mistake.fix == "`1`"


def test_several_mistakes_of_one_rule_are_all_told():
    written = read_rule_text("agee > 3 and 2 > 1 and colur = red and age < 9 => il", SPACE, CLASSES)
    assert [m.fix for m in written.mistakes] == ["age", None, "colour", "ill"]
    # What is right in it still has its places.
    (rule,) = written.statements
    assert [len(condition.bounds) for condition in rule.conditions] == [0, 0, 1]


def test_a_declaration_with_a_mistake_still_declares_its_feature():
    written = read_rule_text("feature age: integr\nfeature b in [1, 2]\nage > 3 and b > 1 => ill")
    assert [mistake.line for mistake in written.mistakes] == [1, 2]
    assert len(written.rules) == 1
    kinds = [(statement.kind, statement.name) for statement in written.statements]
    assert kinds == [("feature", "age"), ("feature", "b"), ("rule", None)]


def test_the_error_keeps_offset_and_fix_when_it_is_pickled_or_named_after_a_file():
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rules("x > 3 => a\ny -> b")
    for error in (pickle.loads(pickle.dumps(caught.value)), caught.value.in_file("a.rules")):
        assert (error.offset, error.fix) == (13, "=>")


def test_only_a_text_is_read():
    with pytest.raises(TypeError, match="rules are read from a text"):
        read_rule_text(b"x > 3 => a")
