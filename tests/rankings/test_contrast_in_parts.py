"""RankContrast of tables in partitions: ends, bins, counts and confirmations are those of memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from clearmargin import LPSVC, RankContrast, scan
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.rankings import contrast_in_parts
from clearmargin.tables.part_survey import held_table

M = 3_000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(M, 3)).round(2), columns=["a", "b", "c"])
    made["whole"] = rng.integers(0, 40, M).astype(float)
    made["few"] = rng.integers(0, 4, M).astype(float)
    made["tied"] = np.where(rng.random(M) < 0.6, 0.0, rng.normal(size=M))
    score = made["a"] + made["few"] / 2 + rng.normal(size=M)
    made["label"] = np.where(score > 1, "yes", "no")
    return made


@pytest.fixture
def few_drawn(monkeypatch):
    monkeypatch.setattr(contrast_in_parts, "MOST_SAMPLED", 600)


def parts_of(frame, block_rows=431):
    return held_table(frame, "label", block_rows=block_rows)


def assert_same(there, here):
    """Everything but areas, which are of a sample."""
    assert there.n_rows_ == here.n_rows_
    assert there.min_leverage_ == here.min_leverage_
    for name in ("top_index_", "bottom_index_"):
        assert np.array_equal(getattr(there, name), getattr(here, name))
    assert (there.top_ties_, there.bottom_ties_) == (here.top_ties_, here.bottom_ties_)
    assert [p.text for p in there.table_.properties] == [p.text for p in here.table_.properties]
    columns = [name for name in here.properties_ if name != "auc"]
    pd.testing.assert_frame_equal(there.properties_[columns], here.properties_[columns])
    pd.testing.assert_frame_equal(there.histograms_, here.histograms_)
    assert there.rules_ == here.rules_


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": "width", "n_bins": 4},
        {"bins": {"a": [-1, 0, 1]}, "top": 100, "bottom": 0.1, "positive": "no"},
        {"min_leverage": "shuffled", "max_size": 1, "random_state": 3},
        {"features": ["a", "few"], "exclude": ["whole"], "cv": None},
    ],
    ids=["quantiles", "width", "edges", "shuffled", "chosen columns"],
)
def test_a_ranking_of_all_rows_gives_what_memory_gives(frame, few_drawn, options):
    ranker = LPSVC(nu=0.01)
    here = RankContrast(ranker, **options).fit(frame.drop(columns="label"), frame["label"])
    there = RankContrast(ranker, **options).fit(parts_of(frame))
    assert there.n_ranked_on_ == M
    assert_same(there, here)
    assert len(here.properties_)
    if options.get("cv", "halves"):
        assert there.properties_["confirmed"].any()
        assert there.held_out_auc_ == pytest.approx(here.held_out_auc_, abs=0.05)
    assert there.auc_ == pytest.approx(here.auc_, abs=0.05)


def test_ties_at_the_ends_are_broken_by_the_order_of_the_table(frame, few_drawn):
    X, y = frame.drop(columns="label"), frame["label"]
    # A model that is trained already ranks as it is; the leaves of a tree are few scores.
    ranker = FrozenEstimator(DecisionTreeClassifier(max_depth=3).fit(X, y))
    here = RankContrast(ranker).fit(X, y)
    there = RankContrast(ranker).fit(parts_of(frame, 100))
    assert here.top_ties_ > 0
    assert there.n_ranked_on_ == here.n_ranked_on_ == 0
    assert_same(there, here)
    assert not hasattr(there, "folds_")


def test_a_small_table_is_read_and_gives_what_memory_gives(frame, tmp_path):
    frame.iloc[::2].to_parquet(tmp_path / "0.parquet")
    frame.iloc[1::2].to_parquet(tmp_path / "1.parquet")
    ordered = pd.concat([frame.iloc[::2], frame.iloc[1::2]], ignore_index=True)
    here = RankContrast().fit(ordered.drop(columns="label"), ordered["label"])
    there = RankContrast().fit(scan(tmp_path, target="label"))
    assert_same(there, here)
    assert there.auc_ == here.auc_
    assert there.held_out_auc_ == here.held_out_auc_


def test_categories_and_missing_values_are_properties(frame, few_drawn):
    rng = np.random.default_rng(1)
    table = frame.assign(
        kind=np.where(frame["a"] > 1, "hot", np.where(rng.random(M) < 0.5, "mild", None)),
        b=frame["b"].where(rng.random(M) < 0.9),
        rare=np.where(np.arange(M) == 1_234, "once", "often"),
    )
    there = RankContrast().fit(parts_of(table))
    here = RankContrast().fit(table.drop(columns="label"), table["label"])
    texts = {each.text for each in there.table_.properties}
    assert texts == {each.text for each in here.table_.properties}
    assert {"kind is missing", "b is missing", "rare = once"} <= texts
    assert 500 < there.n_ranked_on_ < 700
    # The ranking of a sample is another one, but not by much.
    both = np.intersect1d(here.top_index_, there.top_index_)
    assert len(both) > 0.6 * len(here.top_index_)
    assert "of 3000 rows" in there.describe()


def test_sizes_are_chosen_on_the_sample(frame, few_drawn):
    for size in ("auto", "cv"):
        there = RankContrast(top=size, max_size=1).fit(parts_of(frame))
        share = float(there.sizes_.loc[there.sizes_["chosen"], "share"].iloc[0])
        assert len(there.top_index_) == int(round(share * M, 9))


def test_identifiers_are_left_out(frame, few_drawn):
    table = frame.assign(
        row_id=np.arange(M), name=[f"n{k}" for k in range(M)], key=np.arange(M) % 7
    )
    there = RankContrast(max_size=1).fit(parts_of(table))
    assert [name for name, _ in there.table_.skipped] == ["row_id", "name"]
    assert "row_id" not in there.model_.named_steps["columntransformer"].get_feature_names_out()


BAD = {
    "labels beside": ({}, {"y": [1]}, DataError, "y must be left out"),
    "groups": ({}, {"groups": [1]}, DataError, "groups must be left out"),
    "folds": ({"cv": 5}, {}, InvalidValueError, "cv must be 'halves' or None"),
    "supervised bins": ({"bins": "supervised"}, {}, InvalidValueError, "need a table in memory"),
    "no such bins": ({"bins": "quantil"}, {}, InvalidValueError, "did you mean 'quantile'"),
    "too large": ({"top": 0.6, "bottom": 0.6}, {}, InvalidValueError, "they overlap"),
    "no column": ({"features": ["z"]}, {}, DataError, "'z', which is no column"),
    "no such class": ({"positive": "maybe"}, {}, InvalidValueError, "is no class of y"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_done_is_said(frame, few_drawn, what):
    options, more, error, message = BAD[what]
    with pytest.raises(error, match=message):
        RankContrast(**options).fit(parts_of(frame), **more)


def test_faults_of_the_table_are_said(frame, few_drawn):
    copied = frame.assign(same=np.where(frame["label"] == "yes", 3.0, 4.0))
    with pytest.raises(DataError, match="column 'same' is the label itself"):
        RankContrast().fit(parts_of(copied))
    infinite = frame.assign(a=np.where(frame.index == 2_000, np.inf, frame["a"]))
    with pytest.raises(DataError, match=r"column 'a' is infinite in .*row 2001"):
        RankContrast().fit(parts_of(infinite))
    flat = frame[["few", "label"]].assign(few=1.0)
    with pytest.raises(DataError, match="all rows have the same score"):
        RankContrast(LPSVC(nu=1e-9)).fit(parts_of(flat))
    with pytest.raises(DataError, match="no target"):
        RankContrast().fit(held_table(frame))


def test_the_same_contrast_may_be_fitted_to_memory_after_partitions(frame, few_drawn):
    contrast = RankContrast(max_size=1).fit(parts_of(frame))
    few = frame.iloc[:18]
    with pytest.warns(ClearmarginWarning, match="nothing can be confirmed"):
        contrast.set_params(top=2, bottom=2).fit(few.drop(columns="label"), few["label"])
    assert contrast.n_rows_ == 18
    assert not hasattr(contrast, "folds_")
