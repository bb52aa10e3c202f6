"""Advice that is checked while it is written: the report of a whole check, and findings that name their rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import Domain, FeatureSpace, check_advice, parse_rules
from clearmargin.advice import AdviceChecker
from clearmargin.advice.check_memory import CheckMemory
from clearmargin.exceptions import DataError
from clearmargin.rules import Box

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "a": RNG.integers(0, 6, 60),
        "b": RNG.integers(0, 6, 60).astype(float),
        "colour": RNG.choice(["red", "blue"], 60),
    }
)
Y = np.where(X["a"] + X["b"] > 5, "p", "q")
LINES = [
    "a >= 3 => p",
    "a <= 3 => q",
    "small: a <= 2 and b < 4 => q",
    "b >= 2 and colour = red => p",
    "colour in {blue} and a > 1 => q",
    "a + b >= 7 => p",
    "sum: a + b <= 7 and b >= 1 => q",
    "2*a + b >= 9 and a <= 2 => p",
    "a > 3 and a + b < 2 => q",
    "b >= 50 => p",
    "a >= 4 => q",
    "true => p",
]
SPACE = FeatureSpace(["a", "b", "colour"], categories={"colour": ["red", "blue"]})


@given(
    st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from(["text", "rules", "no data", "relation"]),
)
def test_each_report_is_that_of_a_check_from_scratch(edits, way):
    data = () if way == "no data" else (X, Y)
    domain = Domain(SPACE, relations="a <= b + 4") if way == "relation" else None
    checker = AdviceChecker(*data, domain=domain)
    for lines in edits:
        text = "\n".join(lines)
        advice = text if way == "text" else parse_rules(text, SPACE, ["p", "q"])
        assert checker.check(advice) == check_advice(advice, *data, domain=domain)


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
def test_findings_name_the_rows_that_they_are_about(lines):
    rules = parse_rules("\n".join(lines), SPACE, ["p", "q"])
    covered = rules.covers(X)
    for finding in check_advice(rules, X, Y).findings:
        rows = np.zeros(len(X), dtype=bool)
        if finding.kind == "overlap":
            i, j = finding.rules
            rows = covered[:, i] & covered[:, j]
        elif finding.kind in ("mostly-wrong", "below-base-rate"):
            (i,) = finding.rules
            rows = covered[:, i] & (rules[i].label != Y)
        assert finding.positions.tolist() == np.flatnonzero(rows).tolist()
        assert finding.to_dict()["positions"] == finding.positions.tolist()


def test_only_new_premises_are_asked_of_the_rows(monkeypatch):
    checker = AdviceChecker(X, Y)
    asked = []
    from clearmargin.advice.advice_check import Evidence

    covers = Evidence.covers
    monkeypatch.setattr(
        Evidence, "covers", lambda self, rules: asked.append(len(rules)) or covers(self, rules)
    )
    first = "a >= 3 => p\nb < 2 => q"
    checker.check(first)
    checker.check(first.replace("3", "4"))
    # A new name, class or weight is no new premise, and an undo leads back to known ones.
    checker.check("x: a >= 4 => q [weight 2]\nb < 2 => p")
    checker.check(first)
    assert asked == [2, 1, 1]


def test_memory_forgets_what_is_older_than_one_check():
    memory = CheckMemory()
    numbers = [memory.number(Box([float(k)], [9.0])) for k in range(3)]
    for k, number in enumerate(numbers):
        memory.recall("size", number, lambda k=k: k)
        memory.keep([number])
    assert [memory.knows("size", number) for number in numbers] == [False, True, True]
    assert memory.number(Box([0.0], [9.0])) not in numbers


def test_labels_without_rows_and_empty_tables_are_refused():
    with pytest.raises(DataError, match="y has classes, but there are no rows"):
        AdviceChecker(y=["a"])
    with pytest.raises(DataError, match="the table is empty"):
        AdviceChecker(X.iloc[:0])
