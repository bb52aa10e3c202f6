"""What cards with proof prove: figures of one table, and points that stay within their cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
from benchmarks.certified_cards import dense_machine, measure_cards, points_in_cells, time_card

from clearmargin import ScoreRules


def _table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.integers(0, 9, size=120).astype(float)})
    X["c"] = np.where(rng.random(120) < 0.5, "yes", "no")
    y = np.where(X["a"] + X["b"] / 4 + (X["c"] == "yes") > 1.5, "in", "out")
    X.loc[::7, "b"] = np.nan
    return X, y


def test_more_cuts_prove_more_and_no_point_contradicts_the_machine():
    X, y = _table()
    found = measure_cards(X, y, cuts=(3, 20), folds=2, points=500, boxes=True)
    assert found.proved[3] < found.proved[20]
    assert found.proved[20] > 0.8
    assert found.boxes is not None
    assert (found.points, found.contradictions) == (1000, 0)
    assert found.seconds > 0


def test_points_stay_in_the_cells_of_their_rows():
    X, y = _table()
    rules = ScoreRules(dense_machine(X), certify=True, max_rules=12).fit(X, y)
    card = rules.scorecard_
    moved = points_in_cells(card, X)
    assert (moved["c"] == X["c"]).all()
    assert (moved["a"] != X["a"]).any()
    for one, other in zip(card.totals(X), card.totals(moved), strict=True):
        assert (one == other).all()


def test_a_card_is_timed():
    assert 0 < time_card(60, 3, 5) < 60
