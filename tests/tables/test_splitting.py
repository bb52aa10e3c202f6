"""How rows are split: groups stay together, tests come after training, twins are counted."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

from clearmargin import AdviceSVCCV
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.lp_svm import LPSVCCV
from clearmargin.tables.splitting import Splitting, count_duplicates

_ROWS = st.integers(8, 40)


@st.composite
def _tables(draw):
    m = draw(_ROWS)
    values = st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan])
    X = draw(arrays(np.float64, (m, draw(st.integers(1, 3))), elements=values))
    return X, np.arange(m) % 2


@given(_tables(), st.integers(2, 5))
def test_duplicates_are_those_that_a_comparison_of_all_pairs_finds(table, cv):
    X, y = table
    folds = Splitting(min(cv, len(y) // 2)).folds(X, y)

    def same(i, j):
        return y[i] == y[j] and all(
            a == b or (np.isnan(a) and np.isnan(b)) for a, b in zip(X[i], X[j], strict=True)
        )

    expected = sum(any(same(i, j) for j in train) for train, test in folds.pairs for i in test)
    assert folds.duplicates == expected
    texts = pd.DataFrame(X).map(lambda v: None if np.isnan(v) else f"v{v + 0.0}")
    assert count_duplicates(texts, y, folds.pairs) == expected
    if not np.isnan(X).any():
        assert count_duplicates(sparse.csr_array(X), y, folds.pairs) == expected


@st.composite
def _columns(draw):
    """A column with two different values at least, in which each value has rows of both classes."""
    values = draw(st.lists(st.integers(2000, 2020), min_size=4, max_size=20))
    assume(len(set(values)) > 1)
    return np.repeat(values, 2)


@given(_columns(), st.integers(2, 6))
def test_no_group_is_in_both_parts_and_every_row_is_tested_once(groups, cv):
    m = len(groups)
    folds = Splitting(cv, groups=groups).folds(np.zeros((m, 1)), np.arange(m) % 2)
    assert sorted(np.concatenate([test for _, test in folds.pairs]).tolist()) == list(range(m))
    for train, test in folds.pairs:
        assert not set(groups[train]) & set(groups[test])
        assert set(train) | set(test) == set(range(m))


@given(_columns(), st.integers(2, 6))
def test_every_row_is_tested_after_training_on_all_earlier_ones(times, cv):
    m = len(times)
    folds = Splitting(cv, times=times).folds(np.zeros((m, 1)), np.arange(m) % 2)
    assert 1 <= len(folds) <= cv
    for k, (train, test) in enumerate(folds.pairs):
        np.testing.assert_array_equal(train, np.flatnonzero(times < times[test].min()))
        # The next part begins where this one ends, and the last one ends with the table.
        end = folds.pairs[k + 1][1] if k + 1 < len(folds) else np.array([], dtype=int)
        later = times[end].min() if len(end) else times.max() + 1
        np.testing.assert_array_equal(
            test, np.flatnonzero((times >= times[test].min()) & (times < later))
        )


def test_earlier_rows_of_a_group_that_is_tested_are_not_trained_on():
    times, groups = np.arange(12) // 4, np.array([*"aabb", *"ccdd", *"aaee"])
    folds = Splitting(2, groups=groups, times=times).folds(np.zeros((12, 1)), np.arange(12) % 2)
    assert [train.tolist() for train, _ in folds.pairs] == [[0, 1, 2, 3], [2, 3, 4, 5, 6, 7]]
    assert folds.how.endswith("earlier rows, without the groups that are tested")


def test_times_may_be_numbers_dates_or_texts():
    days = [dt.date(2024, 1, 1) + dt.timedelta(k) for k in (3, 1, 0, 2, 5, 4)]
    stamps = pd.Series(pd.to_datetime(days))
    tested = []
    for times in (
        [3, 1, 0, 2, 5, 4],
        days,
        [str(day) for day in days],
        stamps,
        stamps.dt.tz_localize("Europe/Vienna"),
        np.array(days, dtype="datetime64[D]"),
        [3.5, 1.25, -7.0, 2.0, 5e9, 4e8],
    ):
        folds = Splitting(2, times=times).folds(np.zeros((6, 1)), [0, 1, 0, 1, 0, 1])
        tested.append([test.tolist() for _, test in folds.pairs])
    assert tested == [[[0, 3], [4, 5]]] * len(tested)


def test_numbers_among_objects_are_times():
    times = [10, 9.5, 2, 1, 100, 3]
    plain, objects = (
        Splitting(2, times=pd.Series(times, dtype=kind)).folds(np.zeros((6, 1)), [0, 1] * 3).pairs
        for kind in (float, object)
    )
    for (train, test), (same_train, same_test) in zip(plain, objects, strict=True):
        assert train.tolist() == same_train.tolist()
        assert test.tolist() == same_test.tolist()


def test_rows_with_dates_are_duplicates_of_those_with_the_same_dates():
    day = dt.date(2024, 1, 31)
    days = pd.Series([day, None, day, None, dt.date(2024, 2, 1), day], dtype=object)
    pairs = [(np.arange(2), np.arange(2, 6))]
    assert count_duplicates(pd.DataFrame({"day": days, "n": 1}), [0] * 6, pairs) == 3
    stamps = pd.DataFrame({"day": pd.to_datetime(days)})
    assert count_duplicates(stamps, [0] * 6, pairs) == 3


def test_a_splitter_of_series_sees_the_rows_in_the_order_of_time():
    times = np.array([5, 3, 1, 0, 2, 4])
    folds = Splitting(TimeSeriesSplit(2), times=times).folds(np.zeros((6, 1)), [0, 1, 0, 1, 0, 1])
    assert [times[test].tolist() for _, test in folds.pairs] == [[2, 3], [4, 5]]


def test_part_of_the_rows_is_split_in_the_same_way():
    y = np.arange(12) % 2
    groups, times = np.repeat(["a", "b", "c"], 4), np.arange(12) // 4
    whole = Splitting(2, groups=groups).checked(12)
    inner = whole.within(np.arange(8), 4).folds(np.zeros((8, 1)), y[:8])
    assert [np.unique(groups[:8][test]).tolist() for _, test in inner.pairs] == [["a"], ["b"]]
    # A part of one time only cannot be split by it.
    alone = Splitting(2, times=times).checked(12).within(np.arange(4), 2)
    assert alone.times is None


_Y = [0, 1] * 4


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ({"cv": 1}, InvalidValueError, "cv must be a whole number from 2, .* not 1"),
        ({"cv": "five"}, InvalidValueError, "cv must be a whole number from 2, .* not 'five'"),
        ({"cv": True}, InvalidValueError, "not True"),
        ({"cv": []}, InvalidValueError, "cv gives no folds"),
        ({"cv": "halves", "groups": range(8)}, InvalidValueError, "knows no groups and no times"),
        ({"groups": ["a"] * 8}, DataError, "the same value in all 8 rows, .* at least 2 groups"),
        ({"groups": [1, 2]}, DataError, r"groups has shape \(2,\), and there are 8 rows"),
        ({"groups": [*"abcdefg", None]}, DataError, "groups is missing in 1 of 8 rows, .* row 8"),
        ({"times": [3.0] * 8}, DataError, "times has the same value .* at least 2 times"),
        ({"times": [np.nan, *range(7)]}, DataError, "times is missing in 1 of 8 rows, .* row 1"),
        (
            {"times": ["2024-01-01"] * 7 + ["31.12.2024"]},
            DataError,
            "times holds '31.12.2024' in row 8, .* write dates as 2024-03-31",
        ),
        (
            {"groups": [1, 1, 2, 2, 3, 3, 4, 4], "cv": KFold(4, shuffle=True, random_state=0)},
            InvalidValueError,
            r"cv: KFold\(.*\) put rows of one group into both parts of fold 1; .* GroupKFold",
        ),
        (
            {"times": range(8), "cv": StratifiedKFold(2)},
            InvalidValueError,
            r"cv: StratifiedKFold\(.*\) train fold 1 on rows later than .* TimeSeriesSplit",
        ),
        (
            {"groups": _Y},
            DataError,
            "fold 1 has training rows of the class [01] only, and a model needs two classes",
        ),
        ({"times": [0] * 7 + [1], "y": [0] * 7 + [1]}, DataError, "no fold can be made by time"),
        ({"y": [0] * 7 + [1]}, DataError, "a class has one row only"),
        (
            {"times": np.array([1, 2.5, *["2024-01-01"] * 6], object)},
            DataError,
            "numbers beside dates; give one",
        ),
        ({"cv": [(range(8), [])]}, DataError, "fold 1 has no row to be tested on; use fewer"),
    ],
)
@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_what_cannot_split_rows_is_said(given_, error, message):
    options = dict(given_)
    y = options.pop("y", _Y)
    with pytest.raises(error, match=message):
        Splitting(**options).folds(np.zeros((8, 1)), y)


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    return X, (X[:, 0] + rng.normal(size=60) > 0).astype(int), np.arange(60) // 3


@pytest.mark.parametrize("model", [LPSVCCV([0.03, 0.3], cv=4), AdviceSVCCV(lams=[0.1, 1.0], cv=4)])
@pytest.mark.parametrize("how", ["groups", "times"])
def test_a_search_scores_by_the_folds_of_groups_and_times(model, how, patients):
    X, y, column = patients
    by_column = model.fit(X, y, **{how: column}).cv_results_
    pairs = Splitting(4, **{how: column}).folds(X, y).pairs
    assert model.folds_.how.startswith(
        "stratified folds of whole" if how == "groups" else "folds by"
    )
    by_hand = type(model)(**{**model.get_params(), "cv": pairs}).fit(X, y).cv_results_
    for name, values in by_hand.items():
        np.testing.assert_array_equal(by_column[name], values)


def test_groups_reach_a_search_with_and_without_metadata_routing(patients):
    X, y, groups = patients
    plain = LPSVCCV([0.03, 0.3], cv=GroupKFold(3)).fit(X, y, groups=groups).cv_results_
    with config_context(enable_metadata_routing=True):
        routed = LPSVCCV([0.03, 0.3], cv=GroupKFold(3)).fit(X, y, groups=groups).cv_results_
        LPSVCCV([0.03, 0.3], cv=3).fit(X, y, groups=groups)
    np.testing.assert_array_equal(plain["mean_test_score"], routed["mean_test_score"])
