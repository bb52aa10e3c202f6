"""Advice on tables in partitions: the plane, the verdicts and the counts of the same rows in memory."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from clearmargin import AdviceBlendSVC, AdviceSVC, AdviceSVCCV, scan
from clearmargin.advice import all_rows
from clearmargin.advice.advice_reading import AdviceCase
from clearmargin.exceptions import ClearmarginWarning, DataError
from clearmargin.lp_svm import lpsvccv
from clearmargin.tables.partitions import ArrayBlocks

ADVICE = "a >= 1 and b <= 0 => yes\na <= -1 => no"
LINEAR = "a + b >= 2 => yes\na <= -1 => no"
M = 9_000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    made = pd.DataFrame(rng.normal(size=(M, 3)).round(3), columns=["a", "b", "c"])
    made["kind_x"] = rng.integers(0, 2, M).astype(float)
    made["kind_y"] = 1.0 - made["kind_x"]
    score = made["a"] - 0.5 * made["b"] + 0.3 * made["kind_x"] + 0.6 * rng.normal(size=M)
    made["label"] = np.where(score > 0, "yes", "no")
    return made


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    place = tmp_path_factory.mktemp("parts")
    ends = [0, 37, 37, 4_000, M]  # one file without rows
    for k, (start, end) in enumerate(pairwise(ends)):
        frame[start:end].to_parquet(place / f"{k}.parquet")
    return place


@pytest.fixture
def few_held(monkeypatch):
    monkeypatch.setattr(all_rows, "MOST_HELD", 1_000)


def fit(data, labels=None, advice=ADVICE, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        return AdviceSVC(advice, lam=0.01, **options).fit(data, labels)


def assert_same(there, here):
    assert np.array_equal(there.coef_, here.coef_)
    assert np.array_equal(there.intercept_, here.intercept_)
    assert there.objective_ == here.objective_
    assert str(there.outcome_) == str(here.outcome_)
    for one, other in zip(there.outcome_, here.outcome_, strict=True):
        assert one.before.stats == other.before.stats
        assert one.after.stats == other.after.stats
        assert (one.near, one.margin, one.slack) == (other.near, other.margin, other.slack)
    assert there.refined_ == here.refined_


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": "standard", "mu": 5.0},
        {"scale": None, "bounds": None},
        {"advice": LINEAR, "groups": ["kind"]},
        {"advice": "kind = x and a >= 0 => yes", "mu": 3.0},
        {"advice": None},
    ],
    ids=["box", "standard", "unscaled", "linear", "category", "no advice"],
)
def test_plane_verdicts_and_counts_are_those_of_memory_to_the_bit(frame, folder, few_held, options):
    here = fit(frame.drop(columns="label"), frame["label"], **options)
    there = fit(scan(folder, target="label"), **options)
    assert_same(there, here)
    assert there.n_features_in_ == 5


@pytest.mark.parametrize("way", ["translate", "trust"])
def test_a_small_table_is_refined_as_in_memory(frame, folder, way):
    options = {"advice": "a >= 2.5 => no\nb <= -1 => yes", "refine": way, "mu": 2.0}
    here = fit(frame.drop(columns="label"), frame["label"], **options)
    assert_same(fit(scan(folder, target="label"), **options), here)


def test_premises_are_moved_by_a_sample_and_the_plane_is_of_all_rows(frame, folder, few_held):
    options = {"advice": "a >= -1 => yes", "refine": "translate", "mu": 200.0, "nu": 0.01}
    here = fit(frame.drop(columns="label"), frame["label"], **options)
    there = fit(scan(folder, target="label"), **options)
    assert there.outcome_.verdicts == here.outcome_.verdicts == ("refined",)
    assert there.refined_[0].stats.rows == M
    assert there.objective_ == pytest.approx(here.objective_, rel=0.05)
    # With the rows as they are now, memory finds the same plane, but for the digits that a reader is spared.
    np.testing.assert_allclose(there.coef_, here.coef_, atol=0.1)


def test_a_rule_that_refinement_rejects_leaves_the_plane_of_the_others(frame, folder, few_held):
    options = {"advice": "a >= 1 => no", "refine": "slp", "mu": 1.0, "nu": 0.01, "anchors": False}
    there = fit(scan(folder, target="label"), **options)
    here = fit(frame.drop(columns="label"), frame["label"], **options)
    assert there.outcome_.verdicts == here.outcome_.verdicts
    np.testing.assert_allclose(there.coef_, here.coef_, atol=0.1)


def test_rows_without_a_category_are_named_by_their_number(frame, tmp_path, few_held):
    frame.assign(
        kind_x=np.where(frame.index == 5_000, 1.0, frame["kind_x"]),
        kind_y=np.where(frame.index == 5_000, 1.0, frame["kind_y"]),
    ).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        DataError, match=r"exactly one column of 'kind' .* row 5001 has \[1.0, 1.0\]"
    ):
        fit(scan(tmp_path / "t.parquet", target="label"), groups=["kind"])


def test_warnings_say_that_rows_were_drawn(folder, few_held):
    advice = "a >= 1 => yes\nb >= 0 => no\nc >= 100 => no"
    with pytest.warns(
        ClearmarginWarning, match=r"(?s)outside the range.*on a sample of (1,0\d\d|9\d\d)"
    ):
        AdviceSVC(advice, lam=0.01).fit(scan(folder, target="label"))


def test_labels_are_in_the_table(folder):
    with pytest.raises(DataError, match="y must be left out"):
        AdviceSVC(ADVICE).fit(scan(folder, target="label"), ["yes"])


def test_a_sample_weighs_what_all_rows_weigh(frame):
    y = np.where(frame["label"] == "yes", 1.0, -1.0)
    cost = np.linspace(0.5, 2.0, 9_000)
    X = np.tile(frame[["a", "b", "c"]].to_numpy(), (4, 1))
    blocks = ArrayBlocks(X, np.tile(y, 4), np.tile(cost, 4), block_rows=5_000)
    rows, sample = all_rows.look_at_rows(blocks)
    assert rows.n_rows == 4 * M
    assert 0.9 * all_rows.MOST_HELD < len(sample.y) < 1.1 * all_rows.MOST_HELD
    for sign in (-1.0, 1.0):
        assert sample.cost[sample.y == sign].sum() == pytest.approx(4 * cost[y == sign].sum())
    assert np.array_equal(rows.low, X.min(axis=0))
    assert np.array_equal(rows.ends.X.max(axis=0), X.max(axis=0))


def test_costs_are_chosen_on_a_sample_and_the_plane_is_of_all_rows(frame, folder, few_held):
    chosen = AdviceSVCCV(ADVICE, lams=[0.001, 0.01], mus=[0.1, 1.0], cv=2)
    chosen.fit(scan(folder, target="label"))
    assert sum(len(test) for _, test in chosen.folds_.pairs) < 1_200
    same = AdviceSVC(ADVICE, lam=chosen.lam_, mu=chosen.mu_)
    same.fit(frame.drop(columns="label"), frame["label"])
    assert np.array_equal(chosen.coef_, same.coef_)
    assert chosen.objective_ == same.objective_
    with pytest.raises(DataError, match="groups and times must be left out"):
        chosen.fit(scan(folder, target="label"), groups=np.zeros(M))


def test_a_blend_is_for_few_points(folder, few_held):
    with pytest.raises(DataError, match="is for few points, and the table has 9,000 rows"):
        AdviceBlendSVC(ADVICE).fit(scan(folder, target="label"))


def test_costs_of_many_points_are_chosen_by_planes_of_some_of_them(frame, monkeypatch):
    X, y = frame.drop(columns="label"), frame["label"]
    trained = []
    before = AdviceCase.counting

    def counting(case):
        made = before(case)
        trained.append(len(made.y))
        return made

    monkeypatch.setattr(AdviceCase, "counting", counting)
    options = {"lams": [0.001, 0.01], "mus": [0.1, 1.0], "cv": 2}
    of_all = AdviceSVCCV(ADVICE, **options).fit(X, y)
    assert trained == [M // 2, M // 2, M]
    monkeypatch.setattr(lpsvccv, "_MOST_ROWS", 1_000)
    trained.clear()
    of_some = AdviceSVCCV(ADVICE, **options).fit(X, y)
    assert max(trained[:2]) < 700
    assert trained[2] == M
    assert of_some.folds_.n_tested == M
    scores = (each.cv_results_["mean_test_score"] for each in (of_all, of_some))
    np.testing.assert_allclose(*scores, atol=0.02)


def test_trust_in_advice_is_weighed_by_planes_of_some_points(frame, monkeypatch):
    X, y = frame.drop(columns="label"), frame["label"]
    of_all = AdviceBlendSVC(ADVICE, cv=2).fit(X[:4_000], y[:4_000])
    monkeypatch.setattr(lpsvccv, "_MOST_ROWS", 1_000)
    of_some = AdviceBlendSVC(ADVICE, cv=2).fit(X[:4_000], y[:4_000])
    errors = (each.candidates_["errors"] for each in (of_all, of_some))
    np.testing.assert_allclose(*errors, rtol=0.05)
    assert not np.array_equal(of_all.candidates_["errors"], of_some.candidates_["errors"])
