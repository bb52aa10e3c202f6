"""Anchors of alibi, as boxes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from benchmarks.peers import anchors
from benchmarks.peers.environment import Absent

from .cases import problem

# Anchors


def answer_with(tmp_path, monkeypatch, content, reason=None):
    """What is made of an answer of alibi, and of a reason why there is not more."""
    path = problem(tmp_path, "a")
    monkeypatch.setattr(anchors, "python_of", lambda _: Path(sys.executable))

    def work(command, problems, folder, seconds):
        target = folder / "a.json"
        if content is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(content))
        return [reason or target]

    monkeypatch.setattr(anchors, "work", work)
    (found,) = anchors.run_anchors([path], tmp_path / "out", 60)
    return found


ANCHOR = {
    "row": 3,
    "lower": [None, 0.25],
    "upper": [1.5, None],
    "precision": 0.97,
    "coverage": 0.2,
    "predicted": 1,
    "seconds": 0.5,
}


def test_an_anchor_is_unbounded_where_it_has_no_condition(tmp_path, monkeypatch):
    content = {"version": "0.9.6", "anchors": [ANCHOR]}
    found = answer_with(tmp_path, monkeypatch, content)
    assert (found.version, found.note) == ("0.9.6", "")
    (anchor,) = found.anchors
    np.testing.assert_array_equal(anchor.lower, [-np.inf, 0.25])
    np.testing.assert_array_equal(anchor.upper, [1.5, np.inf])
    assert (anchor.row, anchor.precision, anchor.predicted) == (3, 0.97, 1)


def test_anchors_found_before_time_was_up_are_kept(tmp_path, monkeypatch):
    content = {"version": "0.9.6", "anchors": [ANCHOR]}
    found = answer_with(tmp_path, monkeypatch, content, "stopped after 5 s")
    assert len(found.anchors) == 1
    assert found.note == "stopped after 5 s"


def test_without_an_anchor_alibi_is_absent(tmp_path, monkeypatch):
    late = answer_with(tmp_path, monkeypatch, None, "stopped after 5 s")
    assert late == Absent("alibi", "stopped after 5 s")
    failed = answer_with(tmp_path, monkeypatch, {"error": "ValueError: no"})
    assert failed == Absent("alibi", "ValueError: no")
