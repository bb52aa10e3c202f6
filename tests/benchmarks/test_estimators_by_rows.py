"""Every public estimator is measured by rows, and a fit that does not end is reported."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from benchmarks.speed import estimators_by_rows
from benchmarks.speed.estimators_by_rows import ESTIMATORS, Fits, drawn, measure, section

import clearmargin


def test_no_public_estimator_is_left_out():
    public = {
        name
        for name in clearmargin.__all__
        if inspect.isclass(getattr(clearmargin, name))
        and hasattr(getattr(clearmargin, name), "fit")
    }
    assert public == {name.split("(")[0].split(" ")[0] for name in ESTIMATORS}


def test_the_data_have_five_columns_that_decide_and_some_noise():
    X, y = drawn(2_000)
    truth = np.where(X.to_numpy()[:, :5] @ [2.0, -1.5, 1.0, -0.8, 0.6] > 0, "yes", "no")
    assert X.shape == (2_000, 20)
    assert 0.03 < (truth != y).mean() < 0.07


def test_each_size_is_a_line_of_processor_seconds(capsys):
    estimators_by_rows._fit_all("ProximalSVC", 10.0, [100, 200])
    seconds = [float(line) for line in capsys.readouterr().out.split()]
    assert len(seconds) == 2
    assert Fits("ProximalSVC", (100, 200), tuple(seconds), 10.0).exponent is None


def test_a_fit_beyond_the_limit_is_given_up():
    stopped = measure("AdviceSVCCV", (2_000, 4_000), 0.05)
    assert (stopped.seconds, stopped.error) == ((), "")
    assert stopped.row() == ["`AdviceSVCCV`", "more than 0", "not tried", "-"]


def test_growth_is_an_exponent_and_lost_fits_are_said(monkeypatch):
    square = Fits("a", (10, 100), (1.0, 100.0), 150.0)
    assert square.exponent == pytest.approx(2.0)
    assert square.row()[-1] == "**2.00**"
    lost = Fits("b", (10, 100, 1000), (1.0,), 150.0)
    assert lost.row() == ["`b`", "1.00", "more than 150", "not tried", "-"]
    broken = Fits("c", (10, 100), (), 150.0, "ValueError: no")
    assert broken.row()[1] == "ValueError: no"
    answers = iter([square, lost, broken])
    monkeypatch.setattr(estimators_by_rows, "measure", lambda *_: next(answers))
    monkeypatch.setattr(estimators_by_rows, "ESTIMATORS", {"a": None, "b": None, "c": None})
    page = section(full=True)
    assert "Steeper: `a` (2.00). Not ended within the limit at all sizes: `b`, `c`." in page.verdict
    assert math.isclose(page.ratios["a, cost of three times the rows"].value, 9.0)
