"""All displays of rankings: legible, drawn into given axes, and bad input is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from clearmargin import RankContrast
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import (
    LeverageDisplay,
    RankHistogramsDisplay,
    RankRocDisplay,
    plot_leverage,
    plot_rank_histograms,
    plot_rank_roc,
)

from .contrast_cases import names_in

pytestmark = pytest.mark.usefixtures("no_screen")

DRAW = (plot_leverage, plot_rank_histograms, plot_rank_roc)


def test_everything_can_be_read(pima, long, single, many, check_legible):
    for contrast in (pima, long, single, many):
        check_legible(plot_leverage(contrast).figure_)
        check_legible(plot_rank_histograms(contrast).figure_)
    check_legible(plot_rank_histograms(many, most=10).figure_)
    check_legible(plot_rank_roc(pima).figure_)


def test_names_are_no_formulas_and_are_wrapped(long):
    ax = plot_leverage(long).ax_
    assert any("$x_0$" in name for name in names_in(ax))
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())
    for panel in plot_rank_histograms(long).axes_:
        assert not panel.title.get_parse_math()
        assert not any(label.get_parse_math() for label in panel.get_xticklabels())


def test_the_key_is_inside_the_figure(pima, long, single, many, empty):
    for contrast in (pima, long, single, many, empty):
        for figure in (plot_leverage(contrast).figure_, plot_rank_histograms(contrast).figure_):
            figure.draw_without_rendering()
            legends = figure.legends or [figure.axes[0].get_legend()]
            box = legends[0].get_window_extent()
            assert box.x0 >= -1
            assert box.y0 >= -1
            assert box.x1 <= figure.bbox.x1 + 1
        plt.close("all")


def test_displays_can_be_drawn_into_axes(pima):
    for draw in (plot_leverage, plot_rank_roc):
        figure, ax = plt.subplots()
        display = draw(pima, ax=ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display.plot().ax_ is not ax
    figure, axes = plt.subplots(2, 4)
    display = plot_rank_histograms(pima, axes=axes)
    assert display.axes_ == list(axes.ravel()[:6])
    assert not axes[1, 3].containers
    assert max(display.axes_[0].get_yticks()) <= 100
    assert plot_rank_histograms(pima, most=1, axes=axes[0, 0]).axes_ == [axes[0, 0]]


def test_a_contrast_draws_itself(pima):
    leverage, histograms = pima.plot_leverage(most=3), pima.plot_histograms(most=2)
    assert isinstance(leverage, LeverageDisplay)
    assert len(leverage.table) == 3
    assert isinstance(histograms, RankHistogramsDisplay)
    assert len(histograms.attributes) == 2
    assert isinstance(pima.plot_roc(), RankRocDisplay)
    _, ax = plt.subplots()
    assert pima.plot_roc(ax=ax).ax_ is pima.plot_leverage(ax=ax).ax_ is ax


@pytest.mark.parametrize("most", [0, -1, 2.0, True, "3", None])
def test_most_is_a_whole_number_from_one(pima, most):
    for draw in (plot_leverage, plot_rank_histograms):
        with pytest.raises(InvalidValueError, match="most must be a whole number from 1, not"):
            draw(pima, most=most)


@pytest.mark.parametrize("draw", DRAW)
def test_what_is_no_contrast_or_not_fitted_is_refused(draw):
    with pytest.raises(InvalidValueError, match="a fitted RankContrast, not LogisticRegression"):
        draw(LogisticRegression())
    with pytest.raises(InvalidValueError, match="a fitted RankContrast, not RankContrast"):
        draw(RankContrast)
    with pytest.raises(NotFittedError):
        draw(RankContrast())


def test_axes_have_to_be_axes_and_enough_of_them(pima):
    for draw in (plot_leverage, plot_rank_roc):
        with pytest.raises(InvalidValueError, match="ax must be matplotlib Axes or None, not str"):
            draw(pima, ax="here")
    with pytest.raises(InvalidValueError, match="ax must be matplotlib Axes or None, not str"):
        plot_rank_histograms(pima, most=1, axes=["here"])
    _, axes = plt.subplots(1, 2)
    with pytest.raises(InvalidValueError, match="6 attributes need as many axes, and 2 are given"):
        plot_rank_histograms(pima, axes=axes)
