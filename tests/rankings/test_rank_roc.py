"""ROC curves of rankings, with the rows of both ends counted by their labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from clearmargin import RankContrast
from clearmargin.datasets import load_pima
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import RankRocDisplay, plot_rank_roc

from .contrast_cases import key_of

pytestmark = pytest.mark.usefixtures("no_screen")


@pytest.fixture(scope="module")
def labels():
    return np.asarray(load_pima(return_X_y=True)[1])


def test_the_curve_is_that_of_the_contrast(pima):
    display = plot_rank_roc(pima)
    curve = display.ax_.lines[0]
    np.testing.assert_array_equal(curve.get_xdata(), pima.roc_[0])
    np.testing.assert_array_equal(curve.get_ydata(), pima.roc_[1])
    assert key_of(display.ax_.get_legend()) == [
        f"ranking, AUC = {pima.auc_:.3f} on its training rows",
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
        assert key_of(display.ax_.get_legend())[0] == f"ranking, AUC = {text} on its training rows"


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
