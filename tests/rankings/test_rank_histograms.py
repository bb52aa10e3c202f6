"""Histograms of both ends of a ranking, and brief names of their values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import plot_rank_histograms
from clearmargin.rankings.plot import BOTTOM_COLOUR, TOP_COLOUR, value_names

from .contrast_cases import key_of, said

pytestmark = pytest.mark.usefixtures("no_screen")


def test_bars_are_the_percentages_of_the_table(pima):
    display = plot_rank_histograms(pima)
    frame = pima.histograms_
    order = list(dict.fromkeys(frame["attribute"]))
    assert display.attributes == order[:6]
    for ax, attribute in zip(display.axes_, display.attributes, strict=True):
        rows = frame[frame["attribute"] == attribute]
        pd.testing.assert_frame_equal(display.values_of(attribute), rows)
        heights = [[bar.get_height() for bar in group] for group in ax.containers]
        np.testing.assert_array_equal(heights, rows[["top_percent", "bottom_percent"]].T)
        for group, colour in zip(ax.containers, (TOP_COLOUR, BOTTOM_COLOUR), strict=True):
            assert {bar.get_facecolor() for bar in group} == {to_rgba(colour)}
        assert ax.get_title() == attribute


def test_all_attributes_have_one_scale_up_to_at_most_100_percent(pima, many):
    for contrast in (pima, many):
        display = plot_rank_histograms(contrast)
        assert len({ax.get_ylim() for ax in display.axes_}) == 1
        highest = display.table[["top_percent", "bottom_percent"]].to_numpy().max()
        assert display.axes_[0].get_ylim()[0] == 0
        assert display.axes_[0].get_ylim()[1] > highest
        assert max(display.axes_[0].get_yticks()) <= 100


def test_stars_stand_over_what_was_found(pima):
    display = plot_rank_histograms(pima, most=8)
    for ax, attribute in zip(display.axes_, display.attributes, strict=True):
        rows = display.values_of(attribute)
        found = rows[rows["found"]]
        assert said(ax) == ["*"] * len(found)
        tips = [text.xy[1] for text in ax.texts]
        np.testing.assert_array_equal(tips, found[["top_percent", "bottom_percent"]].max(axis=1))
        places = np.flatnonzero(rows["found"])
        beside = np.array([text.xy[0] for text in ax.texts]) - places
        assert list(beside < 0) == list(found["top_percent"] > found["bottom_percent"])
    assert "leverage of 0.08 or more" in key_of(display.figure_.legends[0])


def test_values_stand_in_their_order_without_the_name(pima):
    display = plot_rank_histograms(pima, most=1)
    labels = [each.get_text().replace("\n", " ") for each in display.axes_[0].get_xticklabels()]
    assert labels == ["<96", "[96, 109)", "[109, 125)", "[125, 147)", "≥147"]


@pytest.mark.parametrize(
    ("attribute", "texts", "names"),
    [
        ("odd name", ["`odd name` < -1.5", "`odd name` >= -1.5"], ["<−1.5", "≥−1.5"]),
        ("x", ["-2 < x <= 0.123456", "x <= 3", "x > 3"], ["(−2, 0.123]", "≤3", ">3"]),
        ("x", ["x = 0.12345", "x = 0.12346"], ["0.12345", "0.12346"]),
        ("a`b", [r"`a\`b` = `it\`s \\`", r"`a\`b` = nan"], ["it`s \\", "nan"]),
        ("x", ["x is known", "x is missing"], ["known", "missing"]),
        ("city", ["city = `New York`", "city = `007`"], ["New York", "007"]),
        ("city", ["city in {a, b}", "something else"], ["in {a, b}", "something else"]),
    ],
)
def test_values_are_named_briefly_and_never_alike(attribute, texts, names):
    assert value_names(attribute, texts) == names


def test_attributes_that_are_left_out_are_counted(pima, many):
    assert plot_rank_histograms(pima).note.startswith("6 of 8 attributes shown")
    display = plot_rank_histograms(many)
    key = display.figure_.legends[0]
    assert key.get_title().get_text() == display.note
    assert display.note.startswith("6 of 50 attributes shown")
    whole = plot_rank_histograms(pima, most=50)
    assert whole.note == ""
    assert len(whole.figure_.axes) == len(whole.axes_) == 8


def test_only_what_is_drawn_can_be_asked_for(pima):
    with pytest.raises(InvalidValueError, match=r"'insulin' is not drawn; drawn are 'glucose'$"):
        plot_rank_histograms(pima, most=1).values_of("insulin")
