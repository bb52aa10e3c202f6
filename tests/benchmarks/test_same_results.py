"""Results to the last bit: what is written of them, and how two files are compared."""

from __future__ import annotations

import math
import types
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.same_results import WORDS, Difference, canonical, compare, first_difference, run

import clearmargin as cm
from benchmarks import same_results


@dataclass
class Measured:
    value: float
    seconds: float


def test_floats_are_written_to_the_last_bit():
    next_to_half = math.nextafter(0.5, 1.0)
    assert canonical([0.5]) != canonical([next_to_half])
    assert float.fromhex(canonical(next_to_half)) == next_to_half
    assert canonical(np.array([[1, 2]])) == [[1, 2]]
    assert canonical(1) != canonical(1.0)
    assert canonical(0.0) != canonical(-0.0)


def test_time_and_versions_are_left_out():
    assert canonical(Measured(1.0, 2.0)) == {"value": (1.0).hex()}
    frame = pd.DataFrame({"a": [1], "seconds": [0.1]})
    assert canonical(frame) == {"index": [0], "columns": {"a": [1]}}
    assert canonical({"versions": {"numpy": "2"}, "b": None}) == {"b": None}


def test_rules_are_equal_as_data_only_if_they_are_equal():
    texts = ("x >= 1 => a", "x > 1 => a", "x >= 1 => b", "x >= 1.0000000000000002 => a")
    data = [repr(canonical(cm.parse_rules(text, classes=["a", "b"]))) for text in texts]
    assert len(set(data)) == len(texts)
    boxes = [cm.Box([0.0], [1.0]), cm.Box([0.0], [1.0], False), cm.Box([-0.5], [1.0])]
    assert len({repr(canonical(box)) for box in boxes}) == len(boxes)


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ({"a": [1, 2]}, {"a": [1, 3]}, "a[1]"),
        ({"a": 1}, {}, "a"),
        ({}, {"a": 1}, "a"),
        ({"a": [1]}, {"a": [1, 2]}, "length of a"),
        ({"a": {"b": True}}, {"a": {"b": 1}}, "a: b"),
        ({"a": "x\ny\nz"}, {"a": "x\nY\nz"}, "a, line 2"),
        ({"a": "x\ny"}, {"a": "x\ny\nz"}, "number of lines of a"),
    ],
)
def test_the_first_difference_is_found(before, after, where):
    assert first_difference(before, before) is None
    assert first_difference(before, after).where == where


def test_a_difference_shows_floats_in_decimals():
    assert "0.5 (0x1.0000000000000p-1)" in str(Difference("a", (0.5).hex(), None))


def test_words_are_told_apart_from_facts(capsys):
    before = {"fit": {"plane": 1, WORDS + "text": "says", "inner": {WORDS + "message": "gaps"}}}
    other_words = {
        "fit": {"plane": 1, WORDS + "text": "predicts", "inner": {WORDS + "message": ""}}
    }
    assert compare(before, other_words, words=False) == 0
    assert compare(before, other_words) == 1
    assert "other words fit" in capsys.readouterr().out
    other_facts = {"fit": before["fit"] | {"plane": 2}}
    assert compare(before, other_facts, words=False) == 1
    assert "different   fit: plane" in capsys.readouterr().out


def test_more_results_are_no_difference_and_fewer_are(capsys):
    before, after = {"fit": {"plane": 1}}, {"fit": {"plane": 1, "new_": 2}, "new fit": {}}
    assert compare(before, after) == 0
    assert "same        fit, 1 more" in capsys.readouterr().out
    assert compare(after, before) == 1
    assert compare(after, {"fit": after["fit"]}) == 1


def test_every_configuration_is_isolated_and_repeatable(monkeypatch, capsys):
    def broken():
        raise ValueError("no such thing")

    monkeypatch.setitem(same_results.CONFIGURATIONS, "broken", broken)
    names = ["broken", "LPSVC(nu=10.0): offsets", "search_properties", "command: check"]
    first = run(names)
    assert first["broken"] == {
        "error": "ValueError",
        WORDS + "message": "no such thing",
        WORDS + "warnings": [],
    }
    assert first["command: check"]["check wrong.rules.code"] == 2
    assert compare(first, run(names)) == 0
    assert "4 same, 0 different" in capsys.readouterr().out


def test_every_public_estimator_and_function_is_on_the_list():
    text = Path(same_results.__file__).read_text(encoding="utf-8")
    public = [name for name in cm.__all__ if not isinstance(getattr(cm, name), types.ModuleType)]
    values = {"__version__", "HalfSpace", "CategorySets", "Rule", "RuleScores", "RuleStats"}
    assert [name for name in public if name not in values and name not in text] == []
    assert len(same_results.CONFIGURATIONS) >= 80
