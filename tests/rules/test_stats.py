"""Counts and their shares."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import RuleScores, RuleStats


@given(st.tuples(*[st.integers(0, 50)] * 4))
def test_shares_are_the_quotients_of_the_counts(counts):
    agreed, correct, covered, rows = (int(c) for c in sorted(counts))
    stats = RuleStats(rows, covered, correct, agreed)
    assert stats.coverage == (covered / rows if rows else pytest.approx(math.nan, nan_ok=True))
    for share, part in ((stats.accuracy, correct), (stats.fidelity, agreed)):
        assert share == (part / covered if covered else pytest.approx(math.nan, nan_ok=True))


def test_what_is_unknown_is_nan():
    stats = RuleStats(10, 5)
    assert math.isnan(stats.accuracy)
    assert math.isnan(stats.fidelity)


def test_counts_of_numpy_become_plain_numbers():
    stats = RuleStats(np.int64(10), np.int32(5), np.uint8(4))
    assert stats == RuleStats(10, 5, 4)
    assert json.dumps([stats.rows, stats.covered, stats.correct]) == "[10, 5, 4]"


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((5, 6), "0 <= correct, agreed <= covered <= rows: rows=5, covered=6"),
        ((5, 3, 4), "0 <= correct, agreed <= covered <= rows"),
        ((5, 3, 2, 4), "0 <= correct, agreed <= covered <= rows"),
        ((-1, 0), "0 <= correct"),
        ((5, 3, -1), "0 <= correct"),
        ((5.0, 3), "rows must be a whole number, not 5.0"),
        ((5, None), "covered must be a whole number, not None"),
        ((5, 3, True), "correct must be a whole number, not True"),
        ((5, 3, 2, "2"), "agreed must be a whole number, not '2'"),
    ],
)
def test_counts_that_cannot_be_are_refused(counts, message):
    with pytest.raises(InvalidValueError, match=message):
        RuleStats(*counts)


def test_scores_speak_for_the_rules_as_a_whole():
    scores = RuleScores(RuleStats(10, 8, 6, 4), [RuleStats(10, 8, 6, 4)], np.int64(0))
    assert (scores.coverage, scores.accuracy, scores.fidelity) == (0.8, 0.75, 0.5)
    assert scores.rules == (RuleStats(10, 8, 6, 4),)
    assert hash(scores) == hash(RuleScores(scores.total, scores.rules, 0))
