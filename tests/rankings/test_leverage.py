"""Bars of leverage: lengths, colours, whiskers, counts and check marks are those of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb, to_rgba

from clearmargin import RankContrast
from clearmargin.plot import plot_leverage, plot_rank_histograms
from clearmargin.rankings.plot import BOTTOM_COLOUR, TOP_COLOUR

from .contrast_cases import key_of, names_in, said

pytestmark = pytest.mark.usefixtures("no_screen")


def bars_of(ax):
    return [bar for group in ax.containers for bar in group]


def test_bars_are_the_shown_rows_of_the_table_by_signed_leverage(pima):
    display = plot_leverage(pima)
    frame = pima.properties_
    expected = frame[frame["shown"]].sort_values("leverage", ascending=False, kind="stable")
    assert 0 < len(expected) < len(frame)
    pd.testing.assert_frame_equal(display.table, expected)
    bars = bars_of(display.ax_)
    np.testing.assert_array_equal([bar.get_width() for bar in bars], expected["leverage"])
    middles = [bar.get_y() + bar.get_height() / 2 for bar in bars]
    np.testing.assert_allclose(middles, display.ax_.get_yticks())
    # The first row is the uppermost.
    assert display.ax_.yaxis_inverted()
    assert middles == sorted(middles)
    assert names_in(display.ax_) == list(expected["property"])


def test_bars_have_the_colour_of_their_end(pima):
    display = plot_leverage(pima)
    for bar, side in zip(bars_of(display.ax_), display.table["side"], strict=True):
        assert bar.get_facecolor() == to_rgba(TOP_COLOUR if side == "top" else BOTTOM_COLOUR)
        assert (bar.get_width() > 0) == (side == "top")


def test_the_colours_of_the_ends_differ_in_grey():
    top, bottom = (np.dot(to_rgb(c), [0.299, 0.587, 0.114]) for c in (TOP_COLOUR, BOTTOM_COLOUR))
    assert bottom - top > 0.25


def test_whiskers_are_the_intervals_of_the_table(pima):
    display = plot_leverage(pima)
    for lines in display.ax_.collections:
        ends = np.array(lines.get_segments())[:, :, 0]
        np.testing.assert_array_equal(ends, display.table[["low", "high"]])
        np.testing.assert_allclose(
            np.array(lines.get_segments())[:, 0, 1], display.ax_.get_yticks()
        )
    assert len(display.ax_.collections) == 2


@pytest.mark.parametrize("least", [0.02, 0.08, 0.2])
def test_the_scale_is_that_of_all_leverages_and_the_least_one_is_dashed(least):
    X = [[k % 2, k // 10] for k in range(40)]
    contrast = RankContrast(top=10, bottom=10, min_leverage=least).fit_ranking(X, range(40))
    ax = plot_leverage(contrast).ax_
    assert ax.get_xlim() == (-0.25, 0.25)
    dashed = [line.get_xdata()[0] for line in ax.lines if line.is_dashed()]
    assert dashed == [-least, least]
    assert f"least leverage, {least}" in key_of(ax.get_legend())


def test_counts_stand_at_the_right_of_the_bars(pima):
    display = plot_leverage(pima)
    rows = display.table.itertuples()
    expected = [f"{row.top_count}/38 vs {row.bottom_count}/38" for row in rows]
    assert said(display.ax_) == [*expected, "Top vs Bottom"]
    assert display.counts == expected
    display.figure_.draw_without_rendering()
    frame = display.ax_.get_window_extent()
    assert all(text.get_window_extent().x0 >= frame.x1 for text in display.ax_.texts)


def test_check_marks_stand_at_what_is_confirmed(pima, single):
    display = plot_leverage(pima)
    confirmed = display.table["confirmed"].to_numpy()
    assert 0 < confirmed.sum() < len(confirmed)
    marks = display.ax_.lines[-1]
    np.testing.assert_array_equal(marks.get_ydata(), display.ax_.get_yticks()[confirmed])
    assert "confirmed by held-out labels" in key_of(display.ax_.get_legend())
    without = plot_leverage(single)
    assert len(without.ax_.lines[-1].get_ydata()) == 0
    assert "confirmed by held-out labels" not in key_of(without.ax_.get_legend())


def test_what_is_cut_is_said_and_the_largest_remain(pima):
    display = plot_leverage(pima, most=4)
    assert display.note == "4 of 10 shown, those of largest leverage"
    assert display.ax_.get_title(loc="left") == display.note
    frame = pima.properties_
    assert set(display.table["property"]) == set(frame[frame["shown"]]["property"][:4])
    assert list(display.table["leverage"]) == sorted(display.table["leverage"], reverse=True)
    whole = plot_leverage(pima, most=10)
    assert whole.note == whole.ax_.get_title(loc="left") == ""


def test_the_ends_are_counted_in_the_key():
    X = [[k % 2, k // 10] for k in range(40)]
    contrast = RankContrast(top=5, bottom=12).fit_ranking(X, range(40))
    for key in (
        plot_leverage(contrast).ax_.get_legend(),
        plot_rank_histograms(contrast).figure_.legends[0],
    ):
        assert key_of(key)[:2] == ["Top (n = 5)", "Bottom (n = 12)"]


def test_where_nothing_was_found_the_picture_says_so(empty, check_legible):
    assert not len(empty.properties_)
    display = plot_leverage(empty)
    assert said(display.ax_) == ["no property to show\nwith a leverage of 0.2 or more"]
    assert display.ax_.get_xlim() == (-0.25, 0.25)
    check_legible(display.figure_)
