"""What a fit warns of in its advice."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import pytest

from clearmargin import Box, FeatureSpace, Polyhedron, Rule, RuleSet
from clearmargin.advice import AdviceSVC, check_advice
from clearmargin.advice.case import read_case
from clearmargin.advice.check import advice_warnings, warn_about
from clearmargin.advice.encoding import encode_rule
from clearmargin.advice.evidence import case_evidence
from clearmargin.advice.frame import Frame
from clearmargin.advice.problem import FramedAdvice
from clearmargin.exceptions import ClearmarginWarning

from .check_cases import CLASSES, ROWS


def framed(text, X=None, y=None):
    case = read_case(AdviceSVC(text), X, y)
    frame = Frame.around(case.columns, case.premises, case.X, scale="range", bounds="data")
    return case, FramedAdvice.within(frame, case.premises)


def test_a_fit_warns_once_about_serious_findings_at_the_line_of_the_caller():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0], "z": [0.0, 1.0, 1.0]})
    text = """
        x <= 1 => a
        x >= 0.5 => b
        x + z <= 0 and x + z >= 1 => a
        2*x >= 90 => b
        z >= 7 => b
        z >= 8 => a
    """
    case, advice = framed(text, X, ["a", "a", "b"])
    with pytest.warns(ClearmarginWarning, match="the advice deserves a look") as caught:
        warn_about(case, advice, stacklevel=1)
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    assert "rule 1 says a and rule 2 says b where 0.5 <= x <= 1 (1 row; a: 1)" in message
    assert "no case can satisfy rule 3" in message
    assert "rule 4 is outside" in message
    assert message.count("\n- ") == 6
    assert "\n- and 4 more\n" in message  # rules 1/5, 2/6, 4/6, 5/6
    assert message.endswith("check_advice(advice, X, y) tells all")


def test_a_fit_warns_of_rules_that_touch_only_if_they_share_rows():
    X = pd.DataFrame({"x": [0.0, 0.9, 2.0]})
    on_it = X.assign(x=[0.0, 1.0, 2.0])
    with pytest.warns(ClearmarginWarning, match="rule 1 says a and rule 2 says b where x = 1"):
        warn_about(*framed("x <= 1 => a\nx >= 1 => b", on_it, ["a", "a", "b"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about(*framed("x <= 1 => a\nx >= 1 => b", X, ["a", "a", "b"]))
        warn_about(*framed("x <= 1 => a\nx >= 1 => b"))
        warn_about(*framed(None, X, ["a", "a", "b"]))


def test_the_rows_of_a_case_are_those_of_the_table():
    text = "colour = red and age >= 30 => b\ncolour in {blue, green} => a"
    X = pd.get_dummies(ROWS).astype(float)
    case, _ = framed(text, X, CLASSES)
    report = check_advice(text, X, CLASSES)
    covered = case_evidence(case).covers(case.rules)
    assert covered.sum(axis=0).tolist() == [stats.covered for stats in report.stats]
    columns = [encode_rule(rule, case.columns).covers(case.points) for rule in case.rules]
    assert (covered == np.stack(columns, axis=1)).all()


def test_the_serious_findings_of_a_report_are_those_that_a_fit_warns_of():
    text = "x <= 1 => a\nx >= 1 => b\nx >= 0.5 => b\nx >= 90 => a"
    report = check_advice(text, pd.DataFrame({"x": [0.0, 2.0]}), ["a", "b"])
    assert {f.kind for f in advice_warnings(report)} == {"overlap", "outside"}
    assert "touch" in {f.kind for f in report.findings}


def test_a_thousand_boxes_take_no_time_to_warn_about():
    rng = np.random.default_rng(0)
    low = rng.random((1000, 5))
    rules = [Rule(Box(a, a + 0.001), "pq"[k % 2]) for k, a in enumerate(low)]
    # Linear conditions would be a hundred thousand programs, and are passed over.
    rules += [Rule(Polyhedron([[1.0, 1, 1, 1, 1]], [k / 100]), "pq"[k % 2]) for k in range(9)]
    advice = RuleSet(rules, FeatureSpace([f"x{j}" for j in range(5)]))
    X = rng.random((50, 5)) * 1.001
    X[0], X[1] = 0.0, 1.001
    case = read_case(AdviceSVC(advice), X, np.where(rng.random(50) < 0.5, "p", "q"))
    n = len(rules)
    empty = FramedAdvice(None, (), (), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about(case, empty)
    assert time.process_time() - start < 5.0
