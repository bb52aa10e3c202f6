"""Pictures of rankings: bars of leverage, histograms of both ends, ROC curves with both ends."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb, to_rgba
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from clearmargin import RankContrast
from clearmargin.datasets import load_pima
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import (
    LeverageDisplay,
    RankHistogramsDisplay,
    RankRocDisplay,
    plot_leverage,
    plot_rank_histograms,
    plot_rank_roc,
)
from clearmargin.plot.contrasts import BOTTOM_COLOUR, TOP_COLOUR
from clearmargin.plot.value_names import value_names

DRAW = (plot_leverage, plot_rank_histograms, plot_rank_roc)


@pytest.fixture(scope="module")
def pima():
    X, y = load_pima(return_X_y=True)
    return RankContrast().fit(X, y)


@pytest.fixture(scope="module")
def labels():
    return np.asarray(load_pima(return_X_y=True)[1])


@pytest.fixture(scope="module")
def long():
    """Names that are long, look like formulas, and values that are many or missing."""
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {
            f"a rather long name, number {k}, with $x_{k}$ and more words": rng.normal(size=n)
            for k in range(3)
        }
    )
    X["city"] = rng.choice(["Santiago de Compostela", "Llanfairpwllgwyngyll", "Paris"], n)
    X["kind"] = rng.choice([f"kind {k}" for k in range(25)], n)
    X["gone"] = np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 4, n))
    score = X.iloc[:, 0] + X.iloc[:, 1] + 2 * (X["city"] == "Paris") + 2 * X["gone"].isna()
    return RankContrast().fit_ranking(X, score)


@pytest.fixture(scope="module")
def single():
    return RankContrast(top=10, bottom=10).fit_ranking([[k >= 20] for k in range(40)], range(40))


@pytest.fixture(scope="module")
def empty():
    rng = np.random.default_rng(0)
    contrast = RankContrast(max_size=1, min_leverage=0.2)
    return contrast.fit_ranking(rng.normal(size=(400, 3)), rng.normal(size=400))


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 50))
    return RankContrast(max_size=1).fit(X, X[:, :20].sum(axis=1) + 2 * rng.normal(size=600) > 0)


def said(ax):
    return [text.get_text() for text in ax.texts]


def key_of(legend):
    return [text.get_text() for text in legend.get_texts()]


def names_in(ax):
    return [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]


def bars_of(ax):
    return [bar for group in ax.containers for bar in group]


# Leverage


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


# Histograms


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


# ROC


def test_the_curve_is_that_of_the_contrast(pima):
    display = plot_rank_roc(pima)
    curve = display.ax_.lines[0]
    np.testing.assert_array_equal(curve.get_xdata(), pima.roc_[0])
    np.testing.assert_array_equal(curve.get_ydata(), pima.roc_[1])
    assert key_of(display.ax_.get_legend()) == [
        f"ranking, AUC = {pima.auc_:.3f}",
        "Top (n = 38)",
        "Bottom (n = 38)",
        "by chance",
    ]


def check_ends(contrast, y):
    """Count the rows of each end by their labels: the oracle for where the thick parts stop."""
    display = plot_rank_roc(contrast)
    good = np.asarray(y) == contrast.classes_[1]
    rates = [
        [(~good)[rows].sum() / (~good).sum(), good[rows].sum() / good.sum()]
        for rows in (contrast.top_index_, contrast.bottom_index_)
    ]
    np.testing.assert_allclose(display.top[0], [0, 0])
    np.testing.assert_allclose(display.top[-1], rates[0], atol=1e-12)
    np.testing.assert_allclose(display.bottom[0], 1 - np.array(rates[1]), atol=1e-12)
    np.testing.assert_allclose(display.bottom[-1], [1, 1])
    for line, part in zip(display.ax_.lines[1:3], (display.top, display.bottom), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), part)
        assert line.get_linewidth() > display.ax_.lines[0].get_linewidth()


def test_the_thick_parts_are_the_rows_of_the_ends(pima, labels):
    assert pima.top_ties_ == pima.bottom_ties_ == 0
    check_ends(pima, labels)


@pytest.mark.parametrize("seed", range(8))
def test_the_thick_parts_are_right_for_any_shares_and_sizes(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(40, 200))
    X = rng.normal(size=(m, 3))
    y = X[:, 0] + rng.normal(size=m) * rng.choice([0.01, 1.0, 20.0]) > rng.normal()
    y[:2] = False, True
    top, bottom = (int(size) for size in rng.integers(1, m // 2, 2))
    contrast = RankContrast(LogisticRegression(), top=top, bottom=bottom, max_size=1)
    check_ends(contrast.fit(X, y), y)


def test_ends_among_ties_stop_in_the_middle_of_the_stroke():
    X = pd.DataFrame({"a": np.repeat([0, 1, 2], 20), "b": np.tile([0, 1], 30)})
    y = np.repeat([0, 0, 1, 0, 1, 1], 10)
    contrast = RankContrast(DecisionTreeClassifier(max_depth=2), features=["a"], top=10, bottom=10)
    display = plot_rank_roc(contrast.fit(X[["a"]], y))
    assert contrast.top_ties_ == 10
    np.testing.assert_allclose(display.top, [[0, 0], [0, 1 / 3]])


def test_a_curve_that_starts_on_the_diagonal_has_its_ranks_all_the_same():
    # Half of each class is tied for the highest score: the first point tells nothing about their sizes.
    X = pd.DataFrame({"a": np.repeat([3, 2, 1, 0], [30, 10, 10, 10])})
    y = np.repeat([1, 0, 1, 0], [10, 20, 10, 20])
    X["score"] = X["a"]
    contrast = RankContrast(_Given(), features=["a"], top=30, bottom=10, max_size=1).fit(X, y)
    assert contrast.roc_[0][1] == contrast.roc_[1][1] == 0.5
    check_ends(contrast, y)


class _Given(LogisticRegression):
    """Ranks by the column `score`."""

    def decision_function(self, X):
        return np.asarray(X["score"], dtype=float)


def test_a_ranking_by_chance_alone_is_drawn():
    X = pd.DataFrame({"a": np.repeat([1, 0], 20), "score": np.repeat([1, 0], 20)})
    contrast = RankContrast(_Given(), features=["a"], top=10, bottom=10)
    display = plot_rank_roc(contrast.fit(X, np.tile([0, 1], 20)))
    assert display.auc == 0.5
    np.testing.assert_allclose(display.top, [[0, 0], [0.25, 0.25]])


def test_only_a_perfect_ranking_has_an_area_of_one():
    curve = {"fpr": np.array([0.0, 1.0]), "tpr": np.array([0.0, 1.0]), "ranks": np.array([0.0, 9])}
    for auc, text in ((1.0, "1.000"), (0.99999, "0.999"), (0.5, "0.500")):
        display = RankRocDisplay(auc=auc, n_top=2, n_bottom=2, **curve).plot()
        assert key_of(display.ax_.get_legend())[0] == f"ranking, AUC = {text}"


def test_a_contrast_without_labels_has_no_curve(single):
    with pytest.raises(InvalidValueError, match=r"needs labels.* use fit\(X, y\) instead of fit_r"):
        plot_rank_roc(single)


def test_a_curve_of_other_scores_is_noticed(pima):
    other = RankContrast().fit_ranking(*_ranking())
    other.roc_, other.auc_ = pima.roc_, pima.auc_
    with pytest.raises(InvalidValueError, match="not the curve of its scores_; fit the contrast"):
        plot_rank_roc(other)


def _ranking():
    return [[k % 2, k // 10] for k in range(40)], np.arange(40)


# All of them


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
