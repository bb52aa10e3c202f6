"""A card as bars: each bar is a line, from the points at least to the points at most."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator

from clearmargin import CertifiedScorecard, FeatureSpace, Scorecard
from clearmargin.exceptions import InvalidValueError
from clearmargin.plot import CardDisplay, plot_card
from clearmargin.scorecards import CertifiedFeature, ScoredFeature

SPACE = FeatureSpace(
    ["age", "job"], [20, -np.inf], [80, np.inf], categories=[None, ["clerk", "$mith$"]]
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def _proved(**options):
    parts = [
        CertifiedFeature(0, [0, 5], [4, 9], cuts=[50.0]),
        CertifiedFeature(1, [0, 6], [0, 7], sets=[[0], [1]]),
    ]
    return CertifiedScorecard(parts, (5, 11), SPACE, ["well", "ill"], **options)


def test_bars_go_from_the_points_at_least_to_the_points_at_most():
    display = plot_card(_proved(about="Of a distilled plane."))
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.ax_.patches]
    assert bars[0] == (0.0, 4.0)
    assert bars[1] == (5.0, 9.0)
    assert bars[2][1] - bars[2][0] < 0.1  # a line of no width is seen, too
    assert bars[3] == (6.0, 7.0)
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [
        "age",
        "20 to 50",
        "0 to 4",
        "50 to 80",
        "5 to 9",
        "job",
        "clerk",
        "0",
        "$mith$",
        "6 to 7",
    ]
    title = display.ax_.get_title(loc="right")
    assert title.startswith("Of a distilled plane.\nill is proved if")
    assert display.ax_.get_xlabel() == "points towards ill"


def test_a_card_without_proof_has_bars_from_nothing():
    card = Scorecard([ScoredFeature(0, [0, 2, 5], [40, 60])], 2.5, SPACE, ["well", "ill"])
    fig, ax = plt.subplots()
    display = CardDisplay.from_card(card, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is fig
    assert [bar.get_width() for bar in ax.patches][1:] == [2.0, 5.0]


class _Model(BaseEstimator):
    def fit(self, X, y):
        self.fitted_ = True
        return self


def test_what_is_no_card_is_refused():
    with pytest.raises(InvalidValueError, match="takes a fitted ScoreRules, not list"):
        plot_card([])
    with pytest.raises(InvalidValueError, match="_Model has no scorecard; fit a ScoreRules"):
        plot_card(_Model().fit(None, None))
    with pytest.raises(InvalidValueError, match="a scorecard is needed, not int"):
        CardDisplay.from_card(3)
    empty = CertifiedScorecard([], (0, 1), SPACE, ["well", "ill"])
    with pytest.raises(InvalidValueError, match="there are no lines to draw"):
        plot_card(empty)
