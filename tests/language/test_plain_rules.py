"""The shortcut for plain rules reads what the parser reads."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.language.parser import _parse_line, parse_tree
from clearmargin.language.plain import read_plain_rule
from clearmargin.language.source import Source

WORDS = [
    *(
        "x",
        "y.z",
        "red",
        "and",
        "true",
        "in",
        "`q`",
        "3",
        "-2.5",
        "0",
        "-0",
        "0.0",
        "1e5",
        "1e999",
        "5e-999",
    ),
    *(
        "<=",
        "<",
        ">=",
        ">",
        "=",
        "==",
        "+",
        "=>",
        ":",
        "a",
        "#c",
        "[weight 2]",
        "1_0",
        "12345678901234567890",
    ),
]


@given(st.lists(st.sampled_from(WORDS), max_size=9), st.sampled_from(["", " ", "\t "]))
def test_the_shortcut_for_plain_rules_reads_what_the_parser_reads(words, glue):
    line = glue.join(words)
    source = Source(line)
    node = read_plain_rule(source, 0, len(line))
    if node is not None:
        assert node == _parse_line(source, 0, len(line))


@pytest.mark.parametrize(
    "line",
    [
        "".join(parts)
        for parts in itertools.product(
            ["", "n: ", " n :"],
            ["x >= 3", "3 < x <= 4.5", "x = -2", "c = red", "-1 <= x<2"],
            ["", " and y > 1e-3"],
            [" => a", "=>1 ", " => b.c"],
        )
    ],
)
def test_the_shortcut_reads_plain_rules(line):
    source = Source(line)
    node = read_plain_rule(source, 0, len(line))
    assert node is not None
    assert node == _parse_line(source, 0, len(line))
    assert parse_tree(source).rules == [node]
