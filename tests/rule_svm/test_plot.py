"""Points as bars: every bar is a line of the rules, the largest first."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from clearmargin import parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import PointsDisplay, plot_points
from clearmargin.rule_svm import LinearTerm, WeightedRules

TEXT = """
feature bmi: in [15, 60]
feature smoker: in {no, yes}
bmi >= 30 and smoker = yes => ill
bmi < 20 => well
bmi is missing => ill
"""


class Model(BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def two_classes():
    rules = parse_rules(TEXT, classes=["well", "ill"])
    return WeightedRules(rules, [0.5, -1.5, 0.25], -0.25, [LinearTerm(0, 0.02, 25.0)])


@pytest.fixture
def three_classes():
    rules = parse_rules(TEXT, classes=["well", "ill", "refer"])
    return WeightedRules(rules, [[0, 1, 0], [2, 0, 1], [0, 0, -1]], [0.0, 0.5, 1.0])


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def test_bars_are_points_and_the_range_of_a_linear_term(two_classes):
    display = plot_points(two_classes)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert np.allclose(widths, [-1.5, 0.02 * 45, 0.5, 0.25])
    assert "bmi, from 15 to 60" in texts(display)
    assert display.ax_.get_title(loc="right") == two_classes.summary()


def test_a_class_has_its_bars_under_its_name(three_classes):
    display = plot_points(three_classes)
    assert [bar.get_width() for bar in display.ax_.patches] == [1, 2, 1, -1]
    assert "refer (starts at 1)" in texts(display)


def test_what_is_left_out_is_counted(two_classes):
    display = plot_points(two_classes, max_lines=2)
    assert len(display.ax_.patches) == 2
    assert "2 smaller ones not shown" in texts(display)


def test_axes_of_the_user_are_drawn_in(two_classes):
    _, axes = plt.subplots()
    display = PointsDisplay.from_rules(two_classes, ax=axes)
    assert display.ax_ is axes
    again = display.plot()
    assert again.ax_ is not axes


def test_a_model_is_drawn_by_its_rules(two_classes):
    model = Model()
    model.weighted_rules_ = two_classes
    assert len(plot_points(model).ax_.patches) == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w: plot_points(w.rules), "takes a fitted RuleSVC, not RuleSet"),
        (lambda w: PointsDisplay.from_rules(w.rules), "weighted rules are needed, not RuleSet"),
        (lambda w: plot_points(w, max_lines=0), "max_lines must be a whole number from 1"),
        (lambda w: plot_points(WeightedRules(w.rules, [0, 0, 0], 1.0)), "no points to draw"),
    ],
)
def test_what_cannot_be_drawn_is_refused(two_classes, make, message):
    with pytest.raises(InvalidValueError, match=message):
        make(two_classes)


def test_a_model_without_points_is_refused():
    model = Model()
    model.fitted_ = True
    with pytest.raises(InvalidValueError, match="Model has no rules with points to draw"):
        PointsDisplay.from_estimator(model)
