"""Places in texts as browsers count them: by UTF-16 itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clearmargin.workbench.typed_text import in_browser_offsets, python_offset

# Half surrogates cannot come: the guard refuses them.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def units(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


@given(text=TEXTS, data=st.data())
def test_places_are_those_of_utf_16(text, data):
    place = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(place, len(text)))
    answer = {
        "from": place,
        "to": end,
        "premise": [place, end],
        "class_span": None,
        "spans": [[place, end]],
        "other": place,
        "inner": [{"from": None, "to": end}],
    }
    a, b = units(text[:place]), units(text[:end])
    assert in_browser_offsets(answer, text) == {
        "from": a,
        "to": b,
        "premise": [a, b],
        "class_span": None,
        "spans": [[a, b]],
        "other": place,
        "inner": [{"from": None, "to": b}],
    }


@given(text=TEXTS, data=st.data())
def test_a_place_there_and_back_is_the_same(text, data):
    place = data.draw(st.integers(0, len(text)))
    assert python_offset(text, units(text[:place])) == place


@given(text=TEXTS, offset=st.integers(-5, 40))
def test_any_number_is_a_place(text, offset):
    place = python_offset(text, offset)
    assert 0 <= place <= len(text)


def test_a_place_inside_of_a_character_is_the_one_before_it():
    text = "a\N{GRINNING FACE}b"
    assert [python_offset(text, k) for k in range(6)] == [0, 1, 1, 2, 3, 3]
