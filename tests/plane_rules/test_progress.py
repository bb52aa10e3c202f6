"""A bar while rules are extracted: monotone, complete, silent unless wanted, and never in the way of Ctrl-C."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier

from clearmargin import LPSVC, RuleExtractor, progress
from clearmargin.datasets import load_wbc

WAYS = {
    "volume": {},
    "coverage": {"criterion": "coverage"},
    "program": {"criterion": "coverage-lp"},
    "few": {"max_rules": 2},
    "short": {"max_conditions": 2},
    "overlapping": {"disjoint": False},
    "few overlapping short": {"disjoint": False, "max_conditions": 1, "max_rules": 1},
}


def table(seed, m=60, n=3, classes=2):
    X = np.random.default_rng(seed).normal(size=(m, n))
    y = np.digitize(X @ np.arange(1, n + 1), np.linspace(-1, 1, classes + 1)[1:-1])
    return X, y


def steps_of(extractor, X, y):
    """Fit, and return each step: the share that was done in it, and how many rules were found."""
    steps = [progress.Step("extraction", 0.0, 1.0)]
    with progress.observe(steps.append):
        extractor.fit(X, y)
    return [(b.done - a.done, b.found - a.found) for a, b in pairwise(steps)], steps[-1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("classes", [2, 3])
def test_all_parts_add_up_to_the_classes(way, classes):
    if classes == 3 and {"max_conditions", "disjoint"} & set(WAYS[way]):
        return
    extractor = RuleExtractor(RidgeClassifier(), **WAYS[way])
    parts, last = steps_of(extractor, *table(0, classes=classes))
    shares, found = zip(*parts, strict=True)
    assert (last.done, last.total) == (classes, classes)
    assert min(shares) >= -1e-12
    assert min(found) >= 0
    assert sum(found) >= len(extractor.rules_) or "overlapping" in way or way == "coverage"


@given(seed=st.integers(0, 1000), way=st.sampled_from(sorted(WAYS)))
@settings(max_examples=12, deadline=None)
def test_an_observer_does_not_change_the_rules(seed, way):
    X, y = table(seed, m=30)
    if len(set(y.tolist())) < 2:
        return
    model = RuleExtractor(RidgeClassifier(), progress=False, **WAYS[way])
    silent = model.fit(X, y).rules_
    observed = clone(model)
    _, last = steps_of(observed, X, y)
    assert observed.rules_ == silent
    assert last.done == 2


def test_the_bar_is_drawn_when_asked_for_and_reaches_the_end(capsys):
    X, y = load_wbc(return_X_y=True)
    RuleExtractor(LPSVC(0.01), progress=True).fit(X, y)
    shown = capsys.readouterr()
    assert not shown.out
    assert re.search(r"extraction \[#{24}\] 100 %, \d+ rules so far \n$", shown.err)


@pytest.mark.parametrize("show", [False, "auto"])
def test_nothing_is_written_where_nobody_looks(show, capsys):
    RuleExtractor(RidgeClassifier(), progress=show).fit(*table(1))
    assert capsys.readouterr() == ("", "")


def test_quick_work_on_a_terminal_shows_no_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    RuleExtractor(RidgeClassifier()).fit(*table(1))
    assert capsys.readouterr().err == ""


def test_slow_work_on_a_terminal_shows_a_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(progress, "_SHARE_PATIENCE", 0.0)
    RuleExtractor(RidgeClassifier()).fit(*table(1))
    assert "extraction [" in capsys.readouterr().err


def test_an_interruption_closes_the_line(capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("clearmargin.plane_rules.extraction.prove", stop)
    with pytest.raises(KeyboardInterrupt):
        RuleExtractor(RidgeClassifier(), progress=True).fit(*table(1))
    assert capsys.readouterr().err.endswith("rules so far \n")
