"""A cap on features: the first ones are selected, and planes over them are trained anew."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from clearmargin import RuleExtractor
from clearmargin.datasets import load_cleveland
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.lp_svm import LPSVC, LPSVCCV
from clearmargin.lp_svm.lpsvm_path import features_within

CAP = 4


def many_weak(rows, seed):
    """Twelve features of which each says a little, so that the first few of a path are shrunken."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], rows // 2)
    return rng.normal(size=(len(y), 12)) + 0.5 * np.where(y == 1, 1.0, -1.0)[:, None], y


@pytest.fixture(scope="module")
def weak():
    return many_weak(160, 0)


@pytest.fixture(scope="module")
def capped(weak):
    return LPSVCCV(cv=StratifiedKFold(5), max_features=CAP).fit(*weak)


def test_the_cap_is_kept_and_the_plane_is_that_of_its_features(weak, capped):
    X, y = weak
    assert 1 <= len(capped.features_) <= CAP
    alone = LPSVC(capped.nu_).fit(X[:, capped.features_], y)
    np.testing.assert_array_equal(capped.coef_[0, capped.features_], alone.coef_[0])
    assert not np.delete(capped.coef_[0], capped.features_).any()
    assert (capped.objective_, capped.gap_) == (alone.objective_, alone.gap_)


def first_features(weights, cap, groups):
    """The features of the plane with most of them within the cap, then those that enter, by weight."""
    supports = [sorted({int(groups[j]) for j in np.flatnonzero(plane)}) for plane in weights]
    sizes = [len(support) for support in supports]
    fits = [k for k, size in enumerate(sizes) if size <= cap]
    most = max((sizes[k] for k in fits), default=None)
    place = max(k for k in fits if sizes[k] == most) if fits else sizes.index(min(sizes))
    kept = []
    for k in [*range(place, len(weights)), *range(place)]:
        support, plane = supports[k], weights[k]
        sums = {g: sum(abs(plane[j]) for j in np.flatnonzero(groups == g)) for g in support}
        entering = sorted((g for g in support if g not in kept), key=lambda g: -sums[g])
        kept += entering[: cap - len(kept)]
    return [j for j, g in enumerate(groups) if g in kept]


def test_each_fold_is_scored_by_the_features_that_its_own_rows_choose(weak, capped):
    X, y = weak
    grid = LPSVCCV(cv=5).fit(X, y).cv_results_["nu"]
    for k, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        weights = np.array([LPSVC(nu).fit(X[train], y[train]).coef_[0] for nu in grid])
        own = first_features(weights, CAP, np.arange(12))
        by_hand = [
            LPSVC(nu).fit(X[np.ix_(train, own)], y[train]).score(X[np.ix_(test, own)], y[test])
            for nu in capped.cv_results_["nu"][1:]
        ]
        np.testing.assert_allclose(capped.cv_results_[f"split{k}_test_score"][1:], by_hand)


def test_it_is_better_on_fresh_rows_than_the_shrunken_plane_within_the_cap(weak, capped):
    X, y = weak
    path = LPSVCCV(cv=5).fit(X, y).cv_results_
    within = path["n_features"] <= CAP
    nu = path["nu"][within][path["mean_test_score"][within].argmax()]
    fresh = many_weak(20_000, 1)
    assert capped.score(*fresh) > LPSVC(nu).fit(X, y).score(*fresh) + 0.01


def test_it_is_chosen_only_where_its_scores_are_better(weak, capped):
    path = LPSVCCV(cv=StratifiedKFold(5)).fit(*weak).cv_results_
    before = path["mean_test_score"][path["n_features"] <= CAP].max()
    assert capped.cv_results_["mean_test_score"].max() > before


def test_a_cap_that_no_plane_exceeds_leaves_the_path_as_it_is():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int)
    one, two = LPSVCCV(cv=5).fit(X, y), LPSVCCV(cv=5, max_features=6).fit(X, y)
    np.testing.assert_array_equal(two.features_, np.arange(6))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def credit(rows, seed):
    """Four numbers and six categories of four values, each of which says a little; one class is smaller."""
    rng = np.random.default_rng(seed)
    numbers, categories = rng.normal(size=(rows, 4)), rng.integers(0, 4, size=(rows, 6))
    effects = np.array([1.2, 0.4, -0.4, -1.2])[categories].sum(axis=1)
    score = 0.35 * numbers.sum(axis=1) + 0.6 * effects + rng.logistic(size=rows) - 1.3
    X = np.hstack([numbers, *(np.eye(4)[column] for column in categories.T)])
    return X, (score > 0).astype(int)


FEATURES = np.concatenate([np.arange(4), np.repeat(np.arange(4, 10), 4)])


def test_features_are_found_within_a_cap_where_a_path_has_none_and_a_category_is_one_feature():
    # The first plane of the path with a weight has ten features: nothing of it is within the cap.
    X, y = credit(400, 0)
    svm = LPSVCCV(cv=5, rule="1se", max_features=6, feature_groups=FEATURES).fit(X, y)
    used = FEATURES[svm.coef_[0] != 0]
    assert 1 <= len(set(used)) <= 6 < len(used)
    fresh = credit(20_000, 999)
    constant = 1 - fresh[1].mean()
    assert constant == pytest.approx(0.718, abs=0.005)
    assert svm.score(*fresh) > constant + 0.02
    # All columns of a feature are selected together.
    assert np.isin(FEATURES, FEATURES[svm.features_]).sum() == len(svm.features_)
    assert svm.cv_results_["n_features"].max() <= 6


def test_without_groups_each_column_counts():
    X, y = credit(400, 0)
    svm = LPSVCCV(cv=5, max_features=6).fit(X, y)
    assert 1 <= (svm.coef_ != 0).sum() <= 6


def test_names_of_features_are_groups_too():
    X, y = credit(200, 5)
    y = np.where(X[:, 0] > 0.3, 1, y)
    by_number = LPSVCCV(cv=3, max_features=3, feature_groups=FEATURES).fit(X, y)
    names = [f"feature {k}" for k in FEATURES]
    by_name = LPSVCCV(cv=3, max_features=3, feature_groups=names).fit(X, y)
    assert by_number.coef_.any()
    np.testing.assert_array_equal(by_number.coef_, by_name.coef_)


def test_a_constant_plane_is_taken_where_nothing_beats_it_and_the_warning_says_what_would():
    # Within six features nothing is better than the larger class by one standard error; all ten are.
    X, y = credit(400, 1)
    with pytest.warns(ClearmarginWarning, match=r"at most 6 features beats.*10 features has 0\.7"):
        svm = LPSVCCV(cv=5, rule="1se", max_features=6, feature_groups=FEATURES).fit(X, y)
    assert not svm.coef_.any()
    assert svm.cv_results_["n_features"][svm.cv_results_["nu"] == svm.nu_] == 0
    hinted = LPSVCCV(cv=5, rule="1se", max_features=10, feature_groups=FEATURES).fit(X, y)
    assert hinted.coef_.any()


def test_where_planes_of_few_features_say_nothing_an_extractor_names_how_many_say_more(monkeypatch):
    X, y = credit(400, 1)
    capped = LPSVCCV(cv=5, rule="1se", max_features=6, feature_groups=FEATURES)
    monkeypatch.setattr("clearmargin.lp_svm.lpsvccv.default_machine", lambda rarest: capped)
    with (
        pytest.warns(ClearmarginWarning, match="at most 6 features"),
        pytest.raises(
            DataError, match=r"at most 6 features are constant, .*max_features=10, scale"
        ),
    ):
        RuleExtractor().fit(X, y)


def test_no_plane_is_found_in_noise_that_beats_a_constant_by_much():
    found = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 1], 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClearmarginWarning)
            found += LPSVCCV(cv=5, rule="1se").fit(X, y).coef_.any()
    assert found <= 2


def test_a_sparse_table_gives_the_same_plane(weak, capped):
    X, y = weak
    svm = clone(capped).fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(svm.features_, capped.features_)
    np.testing.assert_allclose(svm.coef_, capped.coef_, rtol=1e-6, atol=1e-9)


def test_a_sparse_table_is_scaled_as_a_dense_one(weak):
    X, y = weak
    X = np.where(np.abs(X) > 0.5, X, 0.0) * 10.0 ** (np.arange(X.shape[1]) % 3)
    dense, thin = (
        LPSVCCV([0.03, 0.3], scale=True, cv=3).fit(table, y) for table in (X, sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(thin.scale_, dense.scale_, rtol=1e-12)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


def test_weights_reach_the_scores_of_the_second_look(weak):
    X, y = weak
    weight = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    # Rows of weight zero count in no fit and in no score: other labels for them change nothing.
    other = np.where(weight == 0.0, 1 - y, y)
    folds = list(StratifiedKFold(4).split(X, y))
    one = LPSVCCV(cv=folds, max_features=CAP).fit(X, y, sample_weight=weight)
    two = LPSVCCV(cv=folds, max_features=CAP).fit(X, other, sample_weight=weight)
    assert len(one.features_) <= CAP
    np.testing.assert_array_equal(one.features_, two.features_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_equal_scores_leave_the_path_as_it_is(weak):
    X, y = weak
    constant = make_scorer(lambda truth, said: accuracy_score(truth, truth))
    svm = LPSVCCV(cv=3, max_features=CAP, scoring=constant).fit(X, y)
    np.testing.assert_array_equal(svm.features_, np.arange(X.shape[1]))
    assert 1 <= (svm.coef_ != 0).sum() <= CAP


def test_values_of_the_user_are_tried_in_both_looks(weak):
    nus = [0.008, 0.05, 1.0]
    svm = LPSVCCV(nus, cv=5, max_features=CAP).fit(*weak)
    assert svm.cv_results_["nu"].tolist() == nus
    assert len(svm.features_) <= CAP


def test_values_that_all_give_too_many_features_still_give_a_plane_within_the_cap(weak):
    X, y = weak
    svm = LPSVCCV([100.0], cv=5, max_features=1).fit(X, y)
    assert len(svm.features_) == (svm.coef_ != 0).sum() == 1
    assert svm.features_[0] == np.abs(LPSVC(100.0).fit(X, y).coef_[0]).argmax()


def test_a_scorer_sees_the_whole_table_in_both_looks(weak):
    X, y = weak
    widths = set()

    def look(model, points, truth):
        widths.add((points.shape[1], model.n_features_in_, model.coef_.shape[1]))
        return model.score(points, truth)

    svm = LPSVCCV(cv=5, max_features=CAP, scoring=look).fit(X, y)
    assert len(svm.features_) <= CAP
    assert widths == {(12, 12, 12)}


def test_groups_stay_together_in_both_looks(weak):
    X, y = weak
    groups = np.arange(len(y)) // 2
    with config_context(enable_metadata_routing=True):
        routed = LPSVCCV(cv=GroupKFold(5), max_features=CAP).fit(X, y, groups=groups)
    by_hand = LPSVCCV(cv=list(GroupKFold(5).split(X, y, groups)), max_features=CAP).fit(X, y)
    assert len(routed.features_) <= CAP
    np.testing.assert_array_equal(routed.features_, by_hand.features_)
    np.testing.assert_array_equal(
        routed.cv_results_["mean_test_score"], by_hand.cv_results_["mean_test_score"]
    )


def test_the_second_look_is_forgotten_where_it_scores_worse(weak):
    X, y = weak
    calls = []

    def falling(model, points, truth):
        """Many features are best at first; everything later is worse than that."""
        calls.append(model)
        later = len(calls) > 5 * 21
        return -1.0 if later else float((model.coef_ != 0).sum() > CAP)

    svm = LPSVCCV(cv=5, max_features=CAP, scoring=falling).fit(X, y)
    assert len(calls) == 2 * 5 * 21
    np.testing.assert_array_equal(svm.features_, np.arange(12))
    np.testing.assert_array_equal(svm.coef_, LPSVC(svm.nu_).fit(X, y).coef_)
    assert 1 <= (svm.coef_ != 0).sum() <= CAP


def test_a_score_that_is_no_number_is_named(weak):
    def undefined(model, points, truth):
        return float("nan") if (model.coef_ != 0).sum() > 6 else model.score(points, truth)

    with pytest.raises(InvalidValueError, match=r"the score of fold 0 for nu=.* is not a number"):
        LPSVCCV(cv=5, max_features=CAP, scoring=undefined).fit(*weak)


def test_features_that_enter_together_are_no_reason_for_a_plane_without_any():
    # Here the path goes from no feature to seven at once, so that none of its planes has one or two.
    X, y = load_cleveland(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    path = LPSVCCV(cv=5).fit(X, y).cv_results_
    assert path["n_features"][1:].min() > 4
    for cap in (2, 4):
        svm = LPSVCCV(cv=5, max_features=cap).fit(X, y)
        assert 1 <= (svm.coef_ != 0).sum() <= cap
        # Of the larger class are 72 %.
        assert svm.score(X, y) > 0.8


planes = arrays.arrays(
    float,
    st.tuples(st.integers(1, 6), st.integers(1, 7)),
    elements=st.sampled_from([0.0, 0.0, 0.5, -1.0, 2.0]),
)


@given(planes, st.integers(1, 4), st.booleans())
def test_the_features_within_a_cap_are_the_first_ones(weights, cap, paired):
    groups = np.arange(weights.shape[1]) // (2 if paired else 1)
    kept = features_within(sparse.csr_array(weights), cap, groups).tolist()
    assert kept == first_features(weights, cap, groups)
    assert len(set(groups[kept])) <= cap
    assert bool(kept) == weights.any()
