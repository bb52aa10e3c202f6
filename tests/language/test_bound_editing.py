"""One bound of a text, changed, added and dropped, against conditions that are evaluated one by one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.language import edit_bound, parse_rules, read_rule_text
from clearmargin.rules import FeatureSpace

SPACE = FeatureSpace(["a", "b c"], categories=None)
SPELLED = {"a": "a", "b c": "`b c`"}
# Bounds are whole numbers, so that halves between them tell all boxes apart.
GRID = np.array(list(itertools.product(np.arange(-1, 6, 0.5), repeat=2)))
Piece = tuple[str, str, int, bool]  # feature, side, value, open


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, list[Piece]]:
    """A condition in one of its spellings, and the bounds that it states."""
    feature = draw(st.sampled_from(list(SPELLED)))
    name, low, high = SPELLED[feature], draw(st.integers(0, 2)), draw(st.integers(2, 4))
    open_low, open_high = draw(st.booleans()), draw(st.booleans())
    below, above = (feature, "low", low, open_low), (feature, "high", high, open_high)
    less, more = "<" if open_low else "<=", ">" if open_low else ">="
    under, over = "<" if open_high else "<=", ">" if open_high else ">="
    return draw(
        st.sampled_from(
            [
                (f"{name} {more} {low}", [below]),
                (f"{low}{less}{name}", [below]),
                (f"{name}  {under} {high}.0", [above]),
                (f"{high} {over} {name}", [above]),
                (f"{low} {less} {name} {under} {high}", [below, above]),
                (f"{high} {over} {name} {more} {low}", [below, above]),
                (f"{name} = {low}", [(feature, "low", low, False), (feature, "high", low, False)]),
                (f"{name} + 1 {more} {low + 1}", [below]),
                (f"-{name} {more} -{high}", [(feature, "high", high, open_low)]),
            ]
        )
    )


def inside(bounds: list[Piece]) -> np.ndarray:
    """Which points of the grid satisfy all bounds, one by one."""
    found = np.ones(len(GRID), dtype=bool)
    for feature, side, value, is_open in bounds:
        x = GRID[:, list(SPELLED).index(feature)]
        tests = {
            ("low", True): x > value,
            ("low", False): x >= value,
            ("high", True): x < value,
            ("high", False): x <= value,
        }
        found &= tests[side, is_open]
    return found


def covered(text: str, rule: int) -> np.ndarray:
    return parse_rules(text, SPACE, ["p", "q"]).covers(GRID)[:, rule]


OTHERS = "# above\n\nother: `b c` >= 2 => q  # kept\n"
CONDITIONS = st.lists(pieces(), max_size=4)


@given(
    CONDITIONS,
    st.sampled_from(list(SPELLED)),
    st.sampled_from(["low", "high"]),
    st.none() | st.integers(0, 4),
    st.sampled_from(["{}{} => p  # why", "  r:{} {} => p [weight 2]", "if{} {} then p"]),
)
@example([], "a", "low", 3, "{}{} => p")
def test_edited_text_covers_what_the_changed_conditions_cover(
    conditions, feature, side, value, form
):
    bounds = [bound for _, stated in conditions for bound in stated]
    premise = "  and ".join(text for text, _ in conditions) or "true"
    line = form.format("", premise)
    if not inside(bounds).any() or (premise == "true" and line.startswith("if")):
        return
    text = f"{OTHERS}{line}\nlast: a > 1 => p"
    mine = [b for b in bounds if b[:2] == (feature, side)]
    sign = 1 if side == "low" else -1
    is_open = max(((sign * b[2], b[3]) for b in mine), default=(0, False))[1]
    changed = [b for b in bounds if b[:2] != (feature, side)]
    changed += [] if value is None else [(feature, side, value, is_open)]
    if not inside(changed).any():
        with pytest.raises(InvalidValueError, match="would be left"):
            edit_bound(text, 1, feature, side, value, space=SPACE)
        return
    after = edit_bound(text, 1, feature, side, value, space=SPACE)
    assert np.array_equal(covered(after, 1), inside(changed))
    # Nothing else has changed, not a blank.
    before, now = text.split("\n"), after.split("\n")
    assert now[:3] == before[:3]
    assert now[4:] == before[4:]
    assert ("# why" in now[3]) == ("# why" in line)
    rules = [parse_rules(each, SPACE, ["p", "q"])[1] for each in (text, after)]
    assert (rules[0].name, rules[0].weight, rules[0].label) == (
        rules[1].name,
        rules[1].weight,
        rules[1].label,
    )
    assert edit_bound(after, 1, feature, side, value, space=SPACE) == after


@given(CONDITIONS, st.integers(0, 4), st.integers(0, 4))
def test_a_bound_that_is_written_once_changes_in_its_number_alone(conditions, low, high):
    text = "r: 1 <= a  <3.50 and `b c` > 2 => p # 3"
    if low < high:
        after = edit_bound(edit_bound(text, "r", "a", "high", 9), "r", "a", "low", low)
        after = edit_bound(after, "r", "a", "high", high)
        assert after == f"r: {low} <= a  <{high} and `b c` > 2 => p # 3"


def test_a_sentence_keeps_its_form_while_only_a_number_changes():
    text = "1. If a is at least 2 years and b c is between 3 and 4, then p. (n: 3) # why"
    space = FeatureSpace(["a", "b c"], units=["years", None])
    after = edit_bound(text, 0, "b c", "high", 4.5, space=space)
    assert after == text.replace("3 and 4", "3 and 4.5")
    dropped = edit_bound(text, 0, "b c", "high", None, space=space)
    assert dropped == "a >= 2 and `b c` >= 3 => p # why"
    assert edit_bound("Always p.", 0, "a", "high", 3) == "a <= 3 => p"


def test_texts_with_mistakes_elsewhere_are_edited_too():
    text = "x > > 3 => p\nr: a > 3 and z = = 2 => p\nq: a > 1 => p"
    assert edit_bound(text, "q", "a", "low", 2) == text.replace("a > 1", "a > 2")
    # Also beside a mistake of the same rule.
    assert edit_bound(text, "r", "a", "low", 5) == text.replace("a > 3", "a > 5")
    assert edit_bound(text, 1, "a", "low", 5) == text.replace("a > 3", "a > 5")


def test_numbers_read_back_to_the_bit():
    text = edit_bound("a > 3 => p", 0, "a", "low", 0.1 + 0.2)
    assert parse_rules(text)[0].region.interval(0).low == 0.1 + 0.2
    assert edit_bound("a > 3 => p", 0, "a", "low", -0.0) == "a > 0 => p"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a > 3 => p", 1, "a", "low", 2), "there is no rule 1; the text has 1, from 0"),
        (("r: a > 3 => p", "s", "a", "low", 2), "no rule is called 's'; known are 'r'"),
        (("r: a > 3 => p\nr: a > 2 => p", "r", "a", "low", 2), "several rules are called 'r'"),
        (("a > 3 => p", 0, "a", "left", 2), "side must be 'low' or 'high', not 'left'"),
        (("a > 3 => p", 0, "a", "low", float("nan")), "finite number, or None to drop it"),
        (("a < b and a < 3 < b => p", 0, "b", "low", None), "speaks of other features"),
        (("c = red => p", 0, "c", "low", 3), "'c' has categories, and no bounds"),
        (("feature a\na > 3 => p", 0, "b", "low", 3), "unknown feature 'b'; known are 'a'"),
        (("a < 3 => p", 0, "a", "low", 3), "no value of 'a' would be left: its other bound is 3"),
        (("if a is at lest 3 then p", 0, "a", "high", 3), "there is no rule 0"),
    ],
)
def test_what_cannot_be_edited_is_refused_in_words(arguments, message):
    with pytest.raises(InvalidValueError, match=message):
        edit_bound(*arguments)


def test_the_places_of_a_text_lead_to_its_edits():
    text = "r: 1 <= a < 3 and b >= 2 => p"
    (rule,) = read_rule_text(text).statements
    for bound in (b for c in rule.conditions for b in c.bounds):
        after = edit_bound(text, rule.rule, bound.feature, bound.side, 2.5)
        assert after == f"{text[: bound.start]}2.5{text[bound.end :]}"
