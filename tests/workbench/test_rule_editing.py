"""What the editor asks for: the words that may come next, and a text with another bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.seams import complete, edit_bound

from clearmargin import Box, FeatureSpace, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.language import read_rule_text

SPACE = FeatureSpace(["age", "cell size", "colour"], [0, -np.inf, -np.inf], [100, np.inf, np.inf],
    categories={"colour": ["red", "dark blue"]}, units={"age": "years"})  # fmt: skip
FEATURES = ["age", "`cell size`", "colour"]
ANSWERS = ("ill", "not so")
SIGNS = ["<=", "<", ">=", ">", "="]


def test_complete_gives_what_the_grammar_takes():
    for text, expected in [("", [*FEATURES, "true"]), ("age >= 3 and ", FEATURES),
        ("age ", [*SIGNS, "is missing", "is not missing"]), ("r: 3 <= age ", ["and", "=>"]),
        ("colour ", ["=", "is missing", "is not missing", "in {"]), ("age >= ", ["age", "`cell size`", "0", "100"]),
        ("3 <= ", ["age", "`cell size`"]), ("age >= 3 ", ["and", "=>", *SIGNS]), ("`cell", ["`cell size`"]),
        ("colour = ", ["red", "`dark blue`"]), ("colour in {red, d", ["`dark blue`", "red"]),
        ("age >= 3 => ", ["ill", "`not so`", "not"]), ("age >= 3 => ill ", ["[weight"]),
        ("classes: ", ["ill", "`not so`"]), ("feature ", FEATURES), ("age is ", ["missing", "not missing"]),
        ("feature age: ", ["integer", "in [", "in {", "unit", "fill"]), ("2*age + ", ["age", "`cell size`"]),
        ("feature colour: fill ", ["red", "`dark blue`"]), ("age >= 3 # ag", []), ("age > 3 / ", [])]:  # fmt: skip
        assert [c["text"] for c in complete(text, len(text), SPACE, ANSWERS)] == expected, text
    (found,) = complete("x\nagee >= 3 => ill", 4, SPACE, ANSWERS)
    assert (found["from"], found["to"], found["detail"]) == (2, 6, "0 to 100 years")


LINES = ["small: age <= 30 and `cell size` > 2 => ill",
    "colour in {red, `dark blue`} and 3 <= age < 5 => not ill [weight 2]"]  # fmt: skip


@settings(max_examples=60)
@given(st.sampled_from(LINES), st.data())
def test_complete_gives_only_what_can_be_typed_without_a_mistake_before_it(line, data):
    offset = data.draw(st.integers(0, len(line)))
    for found in complete(line, offset, SPACE, ANSWERS):
        assert 0 <= found["from"] <= offset <= found["to"]
        before = line[: found["from"]]
        glue = "" if not before or before[-1].isspace() else " "
        mistakes = read_rule_text(f"{before}{glue}{found['text']}", SPACE, ANSWERS).mistakes
        # Unfinished it may be, but nothing in it is wrong.
        assert all(m.offset >= len(before.rstrip()) for m in mistakes)


PLAIN = FeatureSpace(["a", "b c"])
CONDITIONS = ["a >= 1", "2 <a", "a  < 4.0", "1 <= a <= 3", "a = 2", "`b c` > 1", "`b c` <= 3"]


@given(st.lists(st.sampled_from(CONDITIONS), max_size=3), st.sampled_from(["a", "b c"]),
    st.sampled_from(["low", "high"]), st.none() | st.integers(0, 4))  # fmt: skip
def test_edit_bound_changes_what_the_rule_covers_and_nothing_else(conditions, feature, side, value):
    line = f"r: {' and '.join(conditions) or 'true'} => p [weight 2]  # why"
    text = f"# above\nother: `b c` >= 2 => q\n{line}\nx > > 3 => p"
    if read_rule_text(text, PLAIN, ("p", "q")).written[1].position is None:
        return
    old = parse_rules(line, PLAIN, ["p", "q"])[0].region
    j = PLAIN.index(feature)
    ends = {"low": old.lower.copy(), "high": old.upper.copy()}
    ends[side][j] = {"low": -np.inf, "high": np.inf}[side] if value is None else value
    wanted = Box(ends["low"], ends["high"], old.lower_closed, old.upper_closed)
    if wanted.is_empty:
        with pytest.raises(InvalidValueError, match=feature):
            edit_bound(text, 1, feature, side, value, PLAIN, ("p", "q"))
        return
    after = edit_bound(text, 1, feature, side, value, PLAIN, ("p", "q")).split("\n")
    assert (after[:2], after[3:]) == (text.split("\n")[:2], text.split("\n")[3:])
    assert after[2].endswith(" => p [weight 2]  # why")
    new = parse_rules(after[2], PLAIN, ["p", "q"])[0]
    assert (new.name, new.region) == ("r", wanted)


def test_edit_bound_refuses_what_cannot_be_edited():
    for text, rule, feature, side, named in [("a > 3 => p", 1, "a", "low", "1"), ("a > 3 => p", 0, "a", "left", "side"),
        ("a + `b c` < 3 => p", 0, "a", "low", "linear"), ("a > > 3 => p", 0, "a", "low", "mistake"),
        ("a > 3 => p", 0, "ab", "low", "'a'"), ("a < 2 => p", 0, "a", "low", "'a'")]:  # fmt: skip
        with pytest.raises(InvalidValueError if feature == "a" else ValueError, match=named):
            edit_bound(text, rule, feature, side, 2.0, PLAIN, ("p",))
