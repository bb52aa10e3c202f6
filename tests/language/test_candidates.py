"""What may come next in a text: the parser is asked, and each answer can be parsed further."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.language import complete, read_rule_text
from clearmargin.rules import FeatureSpace

SPACE = FeatureSpace(
    ["age", "cell size", "colour"],
    [0, 1, 0],
    [100, 10, 1],
    categories={"colour": ["red", "dark blue"]},
    units={"age": "years"},
)
CLASSES = ["ill", "not so"]
FEATURES = ["age", "`cell size`", "colour"]
SIGNS = ["<=", "<", ">=", ">", "="]


def words(text: str, offset: int | None = None) -> list[str]:
    return [c.text for c in complete(text, len(text) if offset is None else offset, SPACE, CLASSES)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [*FEATURES, "true"]),
        ("x: ", [*FEATURES, "true"]),
        ("age >= 3 and ", FEATURES),
        ("ag", ["age"]),
        ("AG", ["age"]),
        ("age ", [*SIGNS, "is missing", "is not missing"]),
        ("colour ", ["=", "is missing", "is not missing", "in {"]),
        ("colour is ", ["missing", "not missing"]),
        ("age >= ", ["age", "`cell size`", "0", "100"]),
        ("3 <= ", ["age", "`cell size`"]),
        ("age >= 3 ", ["and", "=>", ">=", ">"]),
        ("`cell", ["`cell size`"]),
        ("colour = ", ["red", "`dark blue`"]),
        ("colour in {", ["red", "`dark blue`"]),
        ("colour in {red, d", ["`dark blue`", "red"]),
        ("colour in {red ", ["}", ","]),
        ("age >= 3 => ", ["ill", "`not so`", "not"]),
        ("age >= 3 => ill ", ["[weight"]),
        ("age >= 3 => ill [", ["weight"]),
        ("classes: ", ["ill", "`not so`"]),
        ("feature ", FEATURES),
        ("feature age: ", ["integer", "in [", "in {", "unit", "fill"]),
        ("feature age: integer ", ["in [", "in {", "unit", "fill"]),
        ("feature colour: fill ", ["red", "`dark blue`"]),
        ("if age is at least 3 ", ["and", "then", ","]),
        ("if age is at least 3, then ", ["ill", "`not so`", "not"]),
        ("age >= 3 # ag", []),
        ("age > 3 = ", []),
        ("((", []),
    ],
)
def test_candidates_are_what_the_grammar_takes_here(text, expected):
    assert words(text) == expected


LINES = [
    "small: age <= 30 and `cell size` > 2 => ill",
    "colour in {red, `dark blue`} and 3 <= age < 5 => not ill [weight 2]",
    "If age is at least 3 and colour is red, then ill.",
]


@given(st.sampled_from(LINES), st.data())
def test_every_candidate_can_be_typed_without_a_mistake_before_its_end(line, data):
    offset = data.draw(st.integers(0, len(line)))
    for found in complete(line, offset, SPACE, CLASSES):
        assert 0 <= found.start <= offset <= found.end
        before = line[: found.start]
        glue = "" if not before or before[-1].isspace() else " "
        typed = f"{before}{glue}{found.text}"
        # Unfinished it may be, but nothing in it is wrong.
        mistakes = read_rule_text(typed, SPACE, CLASSES).mistakes
        assert all(m.start >= len(before.rstrip()) for m in mistakes), (typed, mistakes)


def test_the_word_under_the_cursor_is_replaced_to_its_end():
    text = "agee >= 3 => ill"
    (found,) = complete(text, 2, SPACE, CLASSES)
    assert (found.start, found.end, found.detail) == (0, 4, "0 to 100 years")
    text = "`cell sice` >= 3 => ill"
    (found,) = complete(text, 4, SPACE, CLASSES)
    assert text[: found.start] + found.text + text[found.end :] == "`cell size` >= 3 => ill"


def test_other_lines_may_be_wrong_and_without_space_the_text_says_what_there_is():
    text = "nonsense ((\nfeature smoker: in {yes, no}\nclasses: ill, well\nsmo"
    assert [c.text for c in complete(text, len(text))] == ["smoker"]
    text += "ker = "
    assert [c.text for c in complete(text, len(text))] == ["yes", "no"]


def test_a_place_outside_the_text_is_refused():
    with pytest.raises(InvalidValueError, match="offset must be from 0 to 3, the length, not 4"):
        complete("age", 4)
