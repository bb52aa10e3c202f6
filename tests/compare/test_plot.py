"""Extractors side by side: what is drawn is what was measured, texts are legible, bad input is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color

from clearmargin.compare.extractors import MEASURES, ExtractorComparison, ExtractorFigures
from clearmargin.compare.plot import PANELS, ExtractorsDisplay, plot_extractors
from clearmargin.exceptions import InvalidValueError

pytestmark = pytest.mark.usefixtures("no_screen")


def figures(name, *, fallback="nearest", failed=False, rules=8.0, seed=0):
    folds = np.random.default_rng(seed).uniform(0.7, 1.0, (5, len(MEASURES)))
    folds[:, list(MEASURES).index("rules")] = rules + np.arange(5)
    if failed:
        return ExtractorFigures(
            name, fallback, np.full_like(folds, np.nan), ("ValueError: no",) * 5
        )
    return ExtractorFigures(name, fallback, folds, (None,) * 5)


@pytest.fixture
def comparison():
    return ExtractorComparison(
        (
            figures("support vectors"),
            figures(
                "proved boxes, and the model where there are none", fallback="estimator", seed=1
            ),
            figures("plane", failed=True),
            figures("$x_1$ trees", seed=2, rules=15.0),
        ),
        np.linspace(0.8, 0.9, 5),
    )


def dots(ax):
    return [line for line in ax.get_lines() if line.get_marker() == "o"]


@pytest.mark.parametrize("panel", range(4))
def test_dots_stand_at_the_means_and_whiskers_reach_one_standard_error(comparison, panel):
    ax, measure = comparison.plot().axes_[panel], list(PANELS)[panel]
    factor = 1.0 if measure == "rules" else 100.0
    drawn = [f for f in comparison.extractors if not f.failure]
    assert [line.get_xdata()[0] for line in dots(ax)] == pytest.approx(
        [factor * f.mean(measure) for f in drawn]
    )
    assert [line.get_ydata()[0] for line in dots(ax)] == [0, 1, 3]
    ends = [line.get_segments()[0][:, 0].tolist() for line in ax.collections]
    assert ends == [
        pytest.approx(
            [factor * (f.mean(measure) + side * f.error(measure)) for side in (-1.0, 1.0)]
        )
        for f in drawn
    ]


def test_the_accuracy_of_the_model_is_a_line_in_the_first_panel_alone(comparison):
    axes = comparison.plot().axes_
    dashed = [[line for line in ax.get_lines() if line.get_marker() != "o"] for ax in axes]
    assert [len(lines) for lines in dashed] == [1, 0, 0, 0]
    assert dashed[0][0].get_xdata() == pytest.approx([85.0, 85.0])


def test_a_dot_is_hollow_where_the_model_decides_what_no_rule_does(comparison):
    for ax in comparison.plot().axes_:
        hollow = [
            not same_color(d.get_markerfacecolor(), d.get_markeredgecolor()) for d in dots(ax)
        ]
        assert hollow == [False, True, False]


def test_the_key_names_only_what_is_drawn(comparison):
    (key,) = comparison.plot().figure_.legends
    assert "the model decides where no rule does" in [text.get_text() for text in key.get_texts()]
    plain = ExtractorComparison(comparison.extractors[:1], comparison.model_accuracies)
    (key,) = plain.plot().figure_.legends
    assert "the model decides where no rule does" not in [t.get_text() for t in key.get_texts()]


def test_a_failure_is_said_in_its_row(comparison):
    for ax in comparison.plot().axes_:
        assert [(text.get_text(), text.get_position()[1]) for text in ax.texts] == [
            ("no figure", 2)
        ]


def test_all_dots_are_inside_their_panels(comparison):
    for ax in comparison.plot().axes_:
        low, high = ax.get_xlim()
        assert all(low <= line.get_xdata()[0] <= high for line in dots(ax))


def test_texts_are_legible(comparison, check_legible):
    check_legible(comparison.plot().figure_)


@pytest.mark.parametrize("count", [1, 12])
def test_one_or_many_extractors_are_legible(count, check_legible):
    rows = tuple(figures(f"extractor number {k}", seed=k) for k in range(count))
    check_legible(plot_extractors(ExtractorComparison(rows, np.array([0.9, 0.8]))).figure_)


def test_numbers_of_rules_far_apart_are_drawn_by_powers_of_ten(check_legible):
    rows = (figures("few", rules=4.0), figures("many", rules=400.0))
    display = plot_extractors(ExtractorComparison(rows, np.array([0.9, 0.8])))
    assert display.axes_[3].get_xscale() == "log"
    assert display.axes_[0].get_xscale() == "linear"
    check_legible(display.figure_)


def test_a_single_fold_has_no_whiskers():
    one = figures("one")
    single = ExtractorFigures("one", "nearest", one.folds[:1], (None,))
    display = plot_extractors(ExtractorComparison((single,), np.array([0.9])))
    assert not any(ax.collections for ax in display.axes_)
    assert all(len(dots(ax)) == 1 for ax in display.axes_)


def test_perfect_figures_stay_inside(check_legible):
    folds = np.ones((3, len(MEASURES)))
    perfect = ExtractorFigures("perfect", "nearest", folds, (None,) * 3)
    display = plot_extractors(ExtractorComparison((perfect,), np.ones(3)))
    for ax in display.axes_[:3]:
        low, high = ax.get_xlim()
        assert low < 100 < high
    check_legible(display.figure_)


def test_it_draws_in_axes_that_are_given(comparison):
    _, grid = plt.subplots(2, 2)
    display = comparison.plot(axes=grid)
    assert display.axes_ == list(grid.ravel())
    assert grid[0, 0].get_legend() is not None
    again = ExtractorsDisplay(comparison=comparison).plot(list(grid.ravel()))
    assert again.figure_ is display.figure_


def test_bad_input_is_refused(comparison):
    with pytest.raises(InvalidValueError, match="an ExtractorComparison, not dict"):
        plot_extractors({})
    _, ax = plt.subplots()
    with pytest.raises(InvalidValueError, match=r"4 panels \(accuracy, .*1 axes are given"):
        comparison.plot(axes=ax)
