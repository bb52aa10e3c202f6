"""Curves of coverage."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from clearmargin import RuleExtractor, parse_rules
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.plot import CoverageDisplay, plot_coverage

RULES = parse_rules("x < 2 => a\nx >= 5 => b\nx < 3 => a")
POINTS, CLASSES = [[1.0], [2.0], [4.0], [5.0], [1.5]], ["a", "a", "a", "b", "b"]


def labels_in(display):
    return [text.get_text() for text in display.ax_.texts]


def test_curves_end_at_the_coverage_of_the_extractor(plane, wbc, mixed):
    for extractor, _, _ in (plane, wbc, mixed):
        display = CoverageDisplay.from_estimator(extractor)
        assert list(display.curves) == list(extractor.coverage_)
        for label, curve in display.curves.items():
            assert curve[-1] == pytest.approx(extractor.coverage_[label])
            assert len(curve) == sum(rule.label == label for rule in extractor.rules_)


def test_counting_the_training_data_anew_gives_the_same_curves(plane, wbc, mixed):
    for extractor, X, y in (plane, wbc, mixed):
        kept, counted = plot_coverage(extractor), plot_coverage(extractor, X, y)
        for label, curve in kept.curves.items():
            np.testing.assert_allclose(counted.curves[label], curve)


def test_what_the_model_says_counts_and_not_what_is_said_without_a_rule(plane):
    extractor, X, y = plane
    expected = plot_coverage(extractor).curves
    silent = RuleExtractor(extractor.estimator_, fallback="abstain").fit(X, y)
    for label, curve in plot_coverage(silent, X, y).curves.items():
        np.testing.assert_allclose(curve, expected[label])


def test_rules_that_overlap_are_counted_once():
    curves = CoverageDisplay.from_rules(RULES, POINTS, CLASSES).curves
    np.testing.assert_allclose(curves["a"], [1 / 3, 2 / 3])
    np.testing.assert_allclose(curves["b"], [1 / 2])


def test_steps_go_from_no_rule_to_all_of_them():
    display = plot_coverage(RULES, POINTS, CLASSES)
    steps = display.ax_.lines[0]
    np.testing.assert_allclose(steps.get_xdata(), [0, 1, 2])
    np.testing.assert_allclose(steps.get_ydata(), [0, 1 / 3, 2 / 3])
    assert steps.get_drawstyle() == "steps-post"
    assert display.ax_.get_xlabel() == "number of rules"
    assert display.ax_.get_ylabel() == "share of the class's points"


def test_curves_are_named_beside_the_axes(plane, check_legible):
    display = plot_coverage(RULES, POINTS, CLASSES)
    assert labels_in(display) == ["a\n66.7 %, 2 rules", "b\n50 %, 1 rule"]
    assert display.ax_.get_legend() is None
    for shown in (display, plot_coverage(plane[0])):
        check_legible(shown.figure_)
        frame = shown.ax_.get_window_extent()
        assert all(text.get_window_extent().x0 >= frame.x1 for text in shown.ax_.texts)


def test_labels_of_curves_that_end_together_are_moved_apart(check_legible):
    rules = parse_rules("\n".join(f"x >= {k} => class{k}" for k in range(6)))
    display = plot_coverage(rules, [[9.0]] * 6, [f"class{k}" for k in range(6)])
    assert {curve[-1] for curve in display.curves.values()} == {1.0}
    check_legible(display.figure_)


def test_a_class_without_rules_has_a_curve_that_says_so(check_legible):
    rules = parse_rules("x < 2 => a", classes=["a", "b"])
    display = plot_coverage(rules, [[1.0], [3.0]], ["a", "b"])
    assert labels_in(display) == ["a\n100 %, 1 rule", "b\nno rules"]
    check_legible(display.figure_)


def test_rows_of_classes_that_no_rule_knows_are_not_counted():
    curves = plot_coverage(RULES, [*POINTS, [1.0]], [*CLASSES, "c"]).curves
    np.testing.assert_allclose(curves["a"], [1 / 3, 2 / 3])


def test_long_classes_are_cut_and_no_formulas(check_legible):
    rules = parse_rules("x < 2 => `$a_1$`\nx > 3 => `" + "long " * 30 + "name`")
    display = plot_coverage(rules, [[1.0], [4.0]], list(rules.classes))
    assert labels_in(display)[0].startswith("$a_1$")
    assert "…" in labels_in(display)[1]
    assert not any(text.get_parse_math() for text in display.ax_.texts)
    check_legible(display.figure_)


def test_volumes_are_those_of_the_extractor(plane):
    extractor, _, _ = plane
    display = plot_coverage(extractor, quantity="volume")
    for label, curve in extractor.volume_curve_.items():
        np.testing.assert_array_equal(display.curves[label], curve)
    assert display.ax_.get_ylabel() == "share of the class's part of the domain"


def test_a_display_can_be_drawn_into_axes():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = CoverageDisplay.from_rules(RULES, POINTS, CLASSES, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.plot().ax_ is not ax


def test_rules_that_overlap_need_data(plane):
    extractor, X, y = plane
    overlapping = RuleExtractor(extractor.estimator_, disjoint=False).fit(X, y)
    with pytest.raises(InvalidValueError, match="do not add up; give X and y to count anew"):
        plot_coverage(overlapping)
    curves = plot_coverage(overlapping, X, y).curves
    for label, share in overlapping.coverage_.items():
        assert curves[label][-1] == pytest.approx(share)


def test_three_classes_have_no_volumes():
    X = np.arange(30.0)[:, None]
    extractor = RuleExtractor(LogisticRegression()).fit(X, np.repeat([0, 1, 2], 10))
    with pytest.raises(InvalidValueError, match="for two classes and disjoint rules alone"):
        plot_coverage(extractor, quantity="volume")


def test_what_cannot_be_drawn_is_refused_with_a_reason(plane):
    extractor, X, y = plane
    with pytest.raises(
        InvalidValueError, match="quantity must be 'points' or 'volume', not 'mass'"
    ):
        plot_coverage(extractor, quantity="mass")
    with pytest.raises(InvalidValueError, match="X and y are given together"):
        plot_coverage(extractor, X)
    with pytest.raises(InvalidValueError, match="for quantity='points' alone"):
        plot_coverage(extractor, X, y, quantity="volume")
    with pytest.raises(InvalidValueError, match="for rules, X and y are needed"):
        plot_coverage(RULES)
    with pytest.raises(InvalidValueError, match="no rules to draw"):
        plot_coverage(RULES[:0], POINTS, CLASSES)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        plot_coverage(RuleExtractor())
    with pytest.raises(DataError, match=r"y has shape \(1,\); one class for each of 5 rows"):
        plot_coverage(RULES, POINTS, ["a"])
