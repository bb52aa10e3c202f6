"""Rules as data frames and as HTML."""

from __future__ import annotations

import builtins
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import MissingDependencyError
from clearmargin.language import parse_rules, rules_frame, rules_html
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet, RuleStats

SPACE = FeatureSpace(["x", "y"])
KNOWN = RuleSet(
    [
        Rule(
            Box([0, 1], [1, 2]),
            "a",
            name="first",
            weight=2,
            origin="extracted",
            proof="proved",
            stats=RuleStats(10, 4, 3),
        ),
        Rule(Box.unbounded(2), 1, proof="observed", stats=RuleStats(10, 0, 0, 0)),
        Rule(Box.unbounded(2), 1),
    ],
    SPACE,
)


def test_a_frame_has_one_row_a_rule():
    frame = rules_frame(KNOWN)
    expected = pd.DataFrame(
        {
            "name": pd.Series(["first", None, None], dtype=object),
            "premise": pd.Series(["0 <= x <= 1 and 1 <= y <= 2", "true", "true"], dtype=object),
            "label": pd.Series(["a", 1, 1], dtype=object),
            "conditions": [2, 0, 0],
            "weight": [2.0, 1.0, 1.0],
            "origin": pd.Series(["extracted", "expert", "expert"], dtype=object),
            "proof": pd.Series(["proved", "observed", None], dtype=object),
            "rows": pd.Series([10, 10, None], dtype="Int64"),
            "covered": pd.Series([4, 0, None], dtype="Int64"),
            "correct": pd.Series([3, 0, None], dtype="Int64"),
            "agreed": pd.Series([None, 0, None], dtype="Int64"),
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_a_frame_of_no_rules_has_the_same_columns():
    empty = rules_frame(parse_rules(""))
    assert len(empty) == 0
    assert list(empty.columns) == list(rules_frame(KNOWN).columns)


def test_without_pandas_the_message_says_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def no_pandas(name, *rest):
        if name == "pandas":
            raise ImportError("No module named 'pandas'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    with pytest.raises(MissingDependencyError, match=r"pip install clearmargin\[frames\]"):
        rules_frame(KNOWN)


class _Table(HTMLParser):
    """The tags and texts of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(page)
        self.close()
        # A number and its percent sign stay on one line; between cells there may be white space.
        self.cells = [cell.replace("\xa0", " ").strip() for cell in self.cells]

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def test_html_shows_what_is_known():
    table = _Table(rules_html(KNOWN))
    assert table.cells == [
        *("#", "name", "premise", "class", "weight", "covers", "right", "proof"),
        *("1", "first", "0 <= x <= 1 and 1 <= y <= 2", "a", "2", "4 of 10", "75 %", "✓ proved"),
        *("2", "", "true", "1", "1", "0 of 10", "", "observed"),
        *("3", "", "true", "1", "1", "", "", ""),
    ]


def test_html_leaves_out_what_nobody_knows():
    table = _Table(rules_html(parse_rules("x > 3 => a")))
    assert table.cells == ["#", "premise", "class", "1", "x > 3", "a"]
    assert rules_html(parse_rules("")) == "<p>No rules</p>"


def test_html_is_accessible_and_takes_the_colours_of_the_page():
    page = rules_html(KNOWN)
    assert page.count('scope="col"') == 8
    assert "3 rules</caption>" in page
    assert "1 rule</caption>" in rules_html(KNOWN[:1])
    assert "color:inherit" in page
    assert "#" not in page.replace("&#", "").replace(">#<", "")


@given(
    st.sampled_from(["<script>alert(1)</script>", "<b>", "&lt;", '"><img src=x>', "</table>"]),
    st.data(),
)
def test_names_cannot_become_markup(hostile, data):
    name = hostile + data.draw(st.text(max_size=3))
    space = FeatureSpace([name], categories=[[name]])
    rules = RuleSet([Rule(Box.from_intervals({}, 1, {0: [0]}), name, name=name)], space)
    table = _Table(rules_html(rules))
    assert set(table.tags) == {"table", "caption", "thead", "tr", "th", "tbody", "td", "code"}
    assert table.cells[-1].startswith(hostile)
