"""What a ranking says of rows that it was not trained on: nothing that saw their labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

from clearmargin import LPSVC, RankContrast
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models import PlaneModel
from clearmargin.rankings.ranker import fit_ranker, rank_scores
from clearmargin.report import report
from clearmargin.tables.splitting import Splitting


def _table(m=120, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(m, 6)), columns=[*"abcdef"])
    return X, (signal * X["a"] + rng.normal(size=m) > 0).to_numpy().astype(int)


@pytest.mark.parametrize("how", ["cv", "groups", "times"])
def test_the_area_is_that_of_rankings_trained_without_the_rows(how):
    X, y = _table()
    column = np.arange(len(y)) // 4
    given = {"cv": KFold(3)} if how == "cv" else {}
    columns = {} if how == "cv" else {how: column}
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1, **given).fit(X, y, **columns)
    pairs = contrast.folds_.pairs
    by_hand = [
        roc_auc_score(y[b], rank_scores(fit_ranker(None, X.iloc[a], y[a] == 1), X.iloc[b]))
        for a, b in pairs
    ]
    assert contrast.held_out_auc_ == pytest.approx(np.mean(by_hand))
    expected = {
        "cv": list(KFold(3).split(X)),
        "times": Splitting(2, times=column).folds(X, y).pairs,
    }
    if how in expected:
        for (a, b), (c, d) in zip(pairs, expected[how], strict=True):
            np.testing.assert_array_equal(a, c)
            np.testing.assert_array_equal(b, d)
    if how == "groups":
        assert not any(set(column[a]) & set(column[b]) for a, b in pairs)


@pytest.mark.parametrize(
    "trained",
    [
        lambda X, y: FrozenEstimator(LogisticRegression().fit(X, y)),
        lambda X, y: PlaneModel.from_estimator(LPSVC().fit(X, y), X),
    ],
)
def test_a_ranking_that_was_trained_before_confirms_nothing(trained):
    # It has seen the labels of all rows, so that no half is left to ask.
    X, y = _table(signal=3.0)
    contrast = RankContrast(trained(X, y), top=0.2, bottom=0.2, max_size=1).fit(X, y)
    assert contrast.auc_ > 0.9
    assert not hasattr(contrast, "held_out_auc_")
    assert not contrast.properties_["confirmed"].any()
    assert "the ranking was trained before" in contrast.describe()
    anew = RankContrast(LogisticRegression(), top=0.2, bottom=0.2, max_size=1).fit(X, y)
    assert anew.properties_["confirmed"].any()


def test_p_values_count_the_folds():
    X, y = _table(200, signal=0.7)
    fold = np.arange(100), np.arange(100, 200)
    once, twice = (
        RankContrast(top=0.2, bottom=0.2, max_size=1, cv=[fold] * k)
        .fit(X, y)
        .properties_["held_out_p"]
        for k in (1, 2)
    )
    assert once.between(0.0, 0.4, inclusive="neither").any()
    np.testing.assert_allclose(twice, np.minimum(2.0 * once, 1.0))


def test_halves_are_random_and_have_the_same_share_of_each_class():
    _, y = _table()
    (first, second), back = Splitting("halves", seed=0).folds(np.zeros((120, 1)), y).pairs
    assert sorted([*first, *second]) == list(range(120))
    assert abs(y[first].sum() - y[second].sum()) <= 1
    np.testing.assert_array_equal(back[0], second)


def test_a_report_tells_both_areas_and_passes_groups_on():
    X, y = _table()
    groups = np.arange(len(y)) // 4
    made = report(
        LPSVC(nu=1.0),
        X,
        y,
        cv=2,
        cases=0,
        contrast=RankContrast(top=0.2, bottom=0.2, max_size=1),
        groups=groups,
    )
    facts = made.to_dict()["contrast"]
    assert facts["held_out_auc"] < facts["auc"]
    assert "on the cases that it was trained on; trained on part of the cases" in made.to_markdown()
    assert "stratified folds of whole groups" in facts["held_out_how"]


@pytest.mark.parametrize(
    ("options", "columns", "error", "message"),
    [
        ({"cv": 1}, {}, InvalidValueError, "cv must be a whole number from 2"),
        ({}, {"groups": [1] * 120}, DataError, "at least 2 groups are needed"),
        ({}, {"times": [None] + [1] * 119}, DataError, "times is missing in 1 of 120 rows"),
    ],
)
def test_what_cannot_split_rows_is_refused(options, columns, error, message):
    with pytest.raises(error, match=message):
        RankContrast(**options).fit(*_table(), **columns)


def test_without_folds_nothing_is_confirmed():
    X, y = _table(signal=3.0)
    contrast = RankContrast(top=0.2, bottom=0.2, max_size=1, cv=None).fit(X, y)
    assert not contrast.properties_["confirmed"].any()
    assert "Nothing is confirmed: there are no folds" in contrast.describe()
