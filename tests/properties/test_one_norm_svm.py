"""LPSVC: optima of programs stated again, true gaps, one plane."""

from __future__ import annotations

from fractions import Fraction

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from tests.oracles.one_norm_program import dual_optimum, exact_objective, optimum

from clearmargin import LPSVC
from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc
from clearmargin.exceptions import ClearmarginWarning, DataError, UncertifiedWarning

# Columns on scales apart by twelve powers of ten have gaps that cannot be closed in floating point.
pytestmark = pytest.mark.filterwarnings("ignore::clearmargin.exceptions.UncertifiedWarning")


@pytest.fixture(scope="module")
def wbc():
    return load_wbc(return_X_y=True)


@pytest.fixture(scope="module")
def ionosphere():
    return load_ionosphere(return_X_y=True)


def instance(seed):
    """Rows, signs and costs, easy and nasty; whether there is an intercept."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(4, 80)), int(rng.integers(1, 40))
    X = rng.normal(size=(m, n))
    noise = rng.choice([0.0, 0.5, 2.0])  # 0.0 is separable
    y = np.where(X[:, 0] + noise * rng.normal(size=m) > 0, 1.0, -1.0)
    match seed % 8:
        case 1:  # duplicated rows
            X, y = np.vstack([X, X[: m // 2]]), np.r_[y, y[: m // 2]]
        case 2:  # duplicated columns
            X = np.hstack([X, X])
        case 3:  # a constant column
            X[:, rng.integers(n)] = 3.0
        case 4:  # a class of one point
            y = np.r_[1.0, np.full(m - 1, -1.0)]
        case 5:  # wildly different scales
            X = X * 10.0 ** rng.integers(-6, 7, size=n)
        case 6:  # many ties
            X = rng.integers(0, 3, size=X.shape).astype(float)
        case 7:  # fewer points than features
            X = rng.normal(size=(int(rng.integers(4, 15)), 100))
            y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if (y == y[0]).all():
        y[0] = -y[0]
    weight = np.ones(len(y)) if seed % 3 else rng.uniform(0.1, 5.0, size=len(y))
    return X, y, 10.0 ** rng.uniform(-4, 3) * weight, bool(seed % 5)


def plane(svm):
    """Weights and intercept."""
    return [*svm.coef_[0].tolist(), float(svm.intercept_[0])]


def assert_same(one, other, X):
    """The same features, and numbers to nine digits of the largest term of the score."""
    assert ((one.coef_ != 0) == (other.coef_ != 0)).all()
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    reach = np.append(np.abs(dense).max(axis=0), 1.0)
    terms = np.array([plane(one), plane(other)]) * reach
    np.testing.assert_allclose(*terms, rtol=0, atol=1e-9 * max(1.0, np.abs(terms).max()))
    gap = one.gap_ + other.gap_
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9 + gap)


@settings(max_examples=80)
@given(st.integers(0, 10**6))
def test_lpsvc_reaches_the_optimum_and_knows_its_gap(seed):
    X, y, cost, fit_intercept = instance(seed)
    svm = LPSVC(1.0, fit_intercept=fit_intercept).fit(X, y, sample_weight=cost)
    best = optimum(X, y, cost, fit_intercept=fit_intercept)
    value = exact_objective(X, y, cost, svm.coef_[0], svm.intercept_[0])
    assert svm.objective_ == pytest.approx(float(value), rel=1e-12 + svm.gap_)
    # By duality the gap bounds the optimum from below.
    assert 0.0 <= svm.gap_ <= (1e-2 if seed % 8 == 5 else 1e-6)
    assert float(value * (1 - Fraction(svm.gap_))) <= best * (1 + 1e-8)
    if not fit_intercept:
        assert svm.intercept_[0] == 0.0
    # What is zero but for rounding is zero.
    moved = np.abs(svm.coef_[0]) * np.abs(X).max(axis=0)
    assert not ((svm.coef_[0] != 0) & (moved < 1e-12)).any()


@given(st.integers(0, 10**6))
def test_lpsvc_for_other_rows_columns_and_forms_is_the_same(seed):
    X, y, cost, fit_intercept = instance(seed)

    def fit(X, y, cost):
        return LPSVC(1.0, fit_intercept=fit_intercept).fit(X, y, sample_weight=cost)

    first = fit(X, y, cost)
    order = np.random.default_rng(seed).permutation(len(y))
    assert_same(fit(X[order], y[order], cost[order]), first, X)
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.asfortranarray):
        assert_same(fit(form(X), y, cost), first, X)
    padded = fit(np.hstack([X, np.zeros((len(y), 2))]), y, cost)
    assert not padded.coef_[0, -2:].any()
    padded.coef_ = padded.coef_[:, :-2]
    assert_same(padded, first, X)
    none = np.vstack([X, X[:2] + 5.0]), np.r_[y, -y[:2]], np.r_[cost, 0.0, 0.0]
    assert_same(fit(*none), first, X)
    times = np.arange(len(y)) % 3 + 1
    often = fit(np.repeat(X, times, axis=0), np.repeat(y, times), np.ones(times.sum()))
    assert_same(fit(X, y, times), often, X)


@given(st.integers(0, 10**6))
def test_lpsvc_of_several_optimal_planes_takes_the_cheapest_in_any_order(seed):
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(3, 9)), int(rng.integers(1, 5))
    X = rng.integers(0, 3, size=(m, n)).astype(float)
    y = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    cost = rng.integers(1, 3, size=m) * float(rng.choice([0.25, 1.0]))
    svm = LPSVC(1.0).fit(X, y, sample_weight=cost)
    prices = 4e-7 * np.r_[0.01, 1 + np.sqrt((np.arange(1, n + 1) + 0.618) / (n + 0.618))]
    least = optimum(X, y, cost, prices=prices)
    *w, b = np.abs(plane(svm))
    assert svm.objective_ + prices @ [b, *w] == pytest.approx(least, rel=1e-9)
    order = rng.permutation(m)
    assert_same(LPSVC(1.0).fit(X[order], y[order], sample_weight=cost[order]), svm, X)


def test_lpsvc_of_equal_columns_gives_the_weight_to_the_first():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] - X[:, 3] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    alone = LPSVC(0.5).fit(X, y)
    for sign in (1.0, -1.0):
        twice = LPSVC(0.5).fit(np.hstack([X, sign * X]), y)
        assert not twice.coef_[0, 5:].any()
        twice.coef_ = twice.coef_[:, :5]
        assert_same(twice, alone, X)
    # With an intercept, 1 - x says what x says; a constant column says nothing, however far it is.
    binary = (X > 0).astype(float)
    both = np.hstack([binary, 1.0 - binary, np.full((60, 1), 1.7e9)])
    assert not LPSVC(0.5).fit(both, y).coef_[0, 5:].any()


@given(st.integers(0, 10**6), st.sampled_from([1.0, 100.0, 1000.0]), st.integers(20, 32))
def test_lpsvc_gap_far_from_zero_is_that_of_the_stored_floats(seed, nu, exponent):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 30))
    Z = rng.integers(-2000, 2000, size=(m, 2)) / 1024
    y = np.where(Z.sum(axis=1) + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    cost = np.full(m, nu)
    far = LPSVC(nu).fit(Z + 2.0**exponent, y)
    near = LPSVC(nu).fit(Z, y)
    # The optimum does not depend on where the columns are; near zero it is known well.
    value = exact_objective(Z + 2.0**exponent, y, cost, far.coef_[0], far.intercept_[0])
    most = exact_objective(Z, y, cost, near.coef_[0], near.intercept_[0])
    least = most * (1 - Fraction(near.gap_))
    assert (value - most) / value <= Fraction(far.gap_)
    assert (value - least) / value >= Fraction(far.gap_) - Fraction(1, 10**7)


def test_lpsvc_whose_rounded_weights_have_a_large_gap_warns():
    rng = np.random.default_rng(178)
    Z = rng.integers(-2000, 2000, size=(30, 2)) / 1024
    y = Z.sum(1) + 0.3 * rng.normal(size=30) > 0
    with pytest.warns(UncertifiedWarning):
        svm = LPSVC(nu=1000.0).fit(Z + 2.0**31, y)
    assert 1e-6 < svm.gap_ < 1e-3


def large(kind, m, seed, n=6):
    """Rows of which few are near the margin."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = np.where(X[:, :3] @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=m) > 0.1, 1.0, -1.0)
    y[rng.random(m) < 0.05] *= -1.0
    cost = np.full(m, 20.0 / m)
    match kind:
        case "whole":
            X = np.rint(2.0 * X)
        case "binary":
            X = (X > 0).astype(float)
        case "far":
            X[:, 0] = X[:, 0] / 1024 + 2.0**30
        case "rare":
            y, cost = np.where((rng.random(m) < 0.01) & (X[:, 0] > 0), 1.0, -1.0), 10 * cost
            y[:5] = 1.0
        case "weighted":
            cost = rng.uniform(0.1, 3.0, size=m) * 20 / m
            cost[::50] = 0.0
        case "sorted":
            order = np.lexsort((X[:, 0], y))
            X, y = X[order], y[order]
        case "strange":  # products with the costs that are no floats
            X[::40, 3] = 1e-200
        case "sparse":
            X = sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X))
        case "single":
            X = np.asfortranarray(X.astype(np.float32))
    return X, y, cost


KINDS = ["normal", "whole", "binary", "far", "rare", "weighted", "sorted", "strange", "sparse", "single"]  # fmt: skip


# Each example fits 9,000 rows or more twice: some 0.1 s.
@settings(max_examples=15)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([8_001, 9_000, 11_000]),
)
@example("normal", 1, False, 45_000)  # two levels of samples
def test_lpsvc_sifting_many_rows_gives_one_plane_in_any_order(kind, seed, monotone, m):
    rng = np.random.default_rng(seed)
    X, y, cost = large(kind, m, seed)
    sign = [1, 1, 0, 0, -1, 0] if monotone else None
    svm = LPSVC(
        float(rng.choice([0.2, 1.0, 5.0])),
        monotone={0: 1, 1: 1, 4: -1} if monotone else None,
        fit_intercept=seed % 4 > 0,
    )
    sifted = clone(svm).fit(X, y, sample_weight=cost)
    # Samples are drawn by the numbers of the rows: another order finds its way through others.
    order = rng.permutation(m)
    rows = X.tocsr()[order] if sparse.issparse(X) else X[order]
    shuffled = clone(svm).fit(rows, y[order], sample_weight=cost[order])
    assert_same(sifted, shuffled, X)
    assert sifted.gap_ <= 1e-6
    if monotone:
        assert (sifted.coef_[0] * sign >= 0).all()
    if kind in ("whole", "weighted"):
        value = exact_objective(X, y, svm.nu * cost, sifted.coef_[0], sifted.intercept_[0])
        best = dual_optimum(X, y, svm.nu * cost, fit_intercept=svm.fit_intercept, sign=sign)
        assert value * (1 - Fraction(sifted.gap_)) <= best * (1 + 1e-6)
        assert value <= best * (1 + 2e-6)


def constant(kind, m, seed):
    """A table on which no feature is worth its weight, and the nu."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, 5)), np.where(rng.random(m) < 0.06, 1.0, -1.0)
    X[y > 0, 0] += 0.8
    if kind == "origin":
        return X, y, 1e-2 / m, False
    X[:, 1] += 1e6
    if kind == "even":
        return X, np.where(np.arange(m) % 2 == 0, 1.0, -1.0), 2.0 / m, True
    if kind == "scales":
        X *= 10.0 ** np.array([0, -2, -3, 0, 3])
    return X, -y if kind == "other class" else y, 180.0 / m, True


@given(
    st.sampled_from(["rare", "other class", "scales", "even", "origin"]), st.sampled_from([900, 9_000]),
    st.integers(0, 10**6),
)  # fmt: skip
def test_lpsvc_where_no_feature_is_worth_its_weight_is_constant_and_proved(kind, m, seed):
    X, y, nu, fit_intercept = constant(kind, m, seed)
    sifted = LPSVC(nu, fit_intercept=fit_intercept).fit(X, y)
    shuffled = LPSVC(nu, fit_intercept=fit_intercept).fit(X[::-1], y[::-1])
    assert_same(sifted, shuffled, X)
    if kind in ("even", "origin"):
        assert not sifted.coef_.any()
    if not sifted.coef_.any():
        # All points of the smaller class are on the wrong side, or of both where they balance or b = 0.
        losses = len(y) if not fit_intercept else 2 * min((y > 0).sum(), (y < 0).sum())
        assert sifted.objective_ == pytest.approx(nu * losses, rel=1e-12)
        assert sifted.gap_ <= 1e-10  # a bound in floats, never below the gap


@st.composite
def monotone_cases(draw):
    m, n = draw(st.integers(4, 14)), draw(st.integers(1, 4))
    X = np.random.default_rng(draw(st.integers(0, 10**6))).integers(-4, 5, (m, n)).astype(float)
    y = np.where(np.array(draw(st.lists(st.booleans(), min_size=m, max_size=m))), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    sign = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n))
    return X, y, draw(st.sampled_from([0.05, 0.3, 2.0])), sign


@settings(max_examples=40)
@given(monotone_cases())
def test_lpsvc_monotone_is_the_optimum_among_the_planes_with_the_signs(case):
    X, y, nu, sign = case
    signs = {j: s for j, s in enumerate(sign) if s}
    svm = LPSVC(nu, monotone=signs).fit(X, y)
    assert (svm.coef_[0] * sign >= 0).all()
    assert svm.gap_ <= 1e-9
    best = optimum(X, y, np.full(len(y), nu), sign=sign)
    assert svm.objective_ == pytest.approx(best, rel=1e-7)
    assert_same(LPSVC(nu, monotone=signs).fit(X[::-1], y[::-1]), svm, X)


def test_lpsvc_class_weights_are_factors_of_the_costs():
    X, y = load_pima(return_X_y=True)
    ill, times = (y == "tested_positive").to_numpy(), np.arange(len(y)) % 3 + 1
    fit = lambda X, y, w=None, **options: LPSVC(0.01, **options).fit(X, y, sample_weight=w)
    careful = fit(X, y, class_weight={"tested_positive": 5.0})
    assert_same(careful, fit(X, y, np.where(ill, 5.0, 1.0)), X)
    share = np.where(ill, len(y) / (2 * ill.sum()), len(y) / (2 * (~ill).sum()))
    balanced = fit(X, y, class_weight="balanced").objective_
    assert balanced == pytest.approx(fit(X, y, share).objective_, rel=1e-12)
    often = fit(X.loc[X.index.repeat(times)], y.repeat(times), class_weight="balanced")
    assert_same(fit(X, y, times, class_weight="balanced"), often, X)


@pytest.fixture(scope="module")
def clouds():
    # Numbers without ties, so that the optimal planes are unique.
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(150, 8)), columns=list("abcdefgh"))
    return X, np.where(X["a"] - X["c"] + rng.normal(size=150) > 0.2, "up", "down")


def test_cross_validated_scores_are_those_of_plain_cross_validation(clouds):
    X, y = clouds
    folds = StratifiedKFold(5)
    svm = LPSVC("cv", cv=folds).fit(X, y)
    for k, nu in list(enumerate(svm.cv_results_["nu"]))[1::6]:
        by_hand = cross_val_score(LPSVC(nu), X, y, cv=folds)
        scores = [svm.cv_results_[f"split{i}_test_score"][k] for i in range(5)]
        np.testing.assert_allclose(scores, by_hand)
        assert svm.cv_results_["mean_test_score"][k] == pytest.approx(by_hand.mean())
        assert svm.cv_results_["se_test_score"][k] == pytest.approx(by_hand.std(ddof=1) / 5**0.5)
        assert svm.cv_results_["n_features"][k] == (LPSVC(nu).fit(X, y).coef_ != 0).sum()
    assert plane(svm) == plane(LPSVC(svm.nu_).fit(X, y))
    with joblib.parallel_config("threading", n_jobs=2):
        other = LPSVC("cv", cv=4, scoring="roc_auc").fit(X, y)
    by_hand = cross_val_score(LPSVC(other.cv_results_["nu"][9]), X, y, cv=4, scoring="roc_auc")
    assert other.cv_results_["mean_test_score"][9] == pytest.approx(by_hand.mean())


def test_the_grid_starts_where_the_first_feature_enters(ionosphere):
    X, y = load_cleveland(return_X_y=True)
    for table, labels in [ionosphere, (X * 1000.0, y)]:
        found = LPSVC("cv", cv=3).fit(table, labels).cv_results_
        assert (found["n_features"][0], found["n_features"][1] >= 1) == (0, True)
        assert not LPSVC(found["nu"][1] / 2**0.5 * 0.999).fit(table, labels).coef_.any()


def test_the_sparsest_plane_within_one_standard_error_is_chosen(ionosphere):
    svm = LPSVC("cv").fit(*ionosphere)
    results = svm.cv_results_
    means, counts = results["mean_test_score"], results["n_features"]
    top = means.argmax()
    assert results["rank_test_score"][top] == 1
    within = means >= means[top] - results["se_test_score"][top]
    assert (svm.coef_ != 0).sum() == counts[within & (counts > 0)].min() < counts[top]


CAP = 4


def many_weak(rows, seed):
    """Twelve features of which each says a little, so that the first few of a path are shrunken."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], rows // 2)
    return rng.normal(size=(len(y), 12)) + 0.5 * np.where(y == 1, 1.0, -1.0)[:, None], y


def first_features(weights, cap):
    """The features of the plane with most of them within the cap, then those that enter, by weight."""
    supports = [np.flatnonzero(weight).tolist() for weight in weights]
    fits = [k for k, support in enumerate(supports) if len(support) <= cap]
    place = max(fits, key=lambda k: (len(supports[k]), k))
    kept = []
    for k in [*range(place, len(weights)), *range(place)]:
        entering = [j for j in supports[k] if j not in kept]
        entering.sort(key=lambda j: -abs(weights[k][j]))
        kept += entering[: cap - len(kept)]
    return sorted(kept)


# Some 250 planes are fitted by hand: 1.5 s.
def test_a_cap_scores_each_fold_by_the_features_that_its_own_rows_choose():
    X, y = many_weak(160, 0)
    capped = LPSVC("cv", cv=StratifiedKFold(5), max_features=CAP).fit(X, y)
    assert 1 <= len(capped.features_) <= CAP
    alone = LPSVC(capped.nu_).fit(X[:, capped.features_], y)
    assert capped.coef_[0, capped.features_].tolist() == alone.coef_[0].tolist()
    assert not np.delete(capped.coef_[0], capped.features_).any()
    assert (capped.objective_, capped.gap_) == (alone.objective_, alone.gap_)
    path = LPSVC("cv", cv=5).fit(X, y).cv_results_
    for k, (train, test) in enumerate(StratifiedKFold(5).split(X, y)):
        weights = np.array([LPSVC(nu).fit(X[train], y[train]).coef_[0] for nu in path["nu"]])
        own = X[:, first_features(weights, CAP)]
        by_hand = [LPSVC(nu).fit(own[train], y[train]).score(own[test], y[test])
                   for nu in capped.cv_results_["nu"][1:]]  # fmt: skip
        np.testing.assert_allclose(capped.cv_results_[f"split{k}_test_score"][1:], by_hand)
    # It is better on fresh rows than the shrunken planes within the cap, and a sparse table gives the same.
    within = path["n_features"] <= CAP
    nu = path["nu"][within][path["mean_test_score"][within].argmax()]
    fresh = many_weak(20_000, 1)
    assert capped.score(*fresh) > LPSVC(nu).fit(X, y).score(*fresh) + 0.01
    thin = clone(capped).fit(sparse.csr_matrix(X), y)
    assert thin.features_.tolist() == capped.features_.tolist()


def test_feature_groups_count_as_one_feature_each():
    rng = np.random.default_rng(0)
    numbers, categories = rng.normal(size=(400, 4)), rng.integers(0, 4, size=(400, 6))
    effects = np.array([1.2, 0.4, -0.4, -1.2])[categories].sum(axis=1)
    y = 0.35 * numbers.sum(axis=1) + 0.6 * effects + rng.logistic(size=400) > 1.3
    X = np.hstack([numbers, *(np.eye(4)[column] for column in categories.T)])
    groups = np.concatenate([np.arange(4), np.repeat(np.arange(4, 10), 4)])
    svm = LPSVC("cv", cv=5, max_features=6, feature_groups=groups).fit(X, y)
    used = groups[svm.coef_[0] != 0]
    assert 1 <= len(set(used)) <= 6 < len(used)
    assert np.isin(groups, groups[svm.features_]).sum() == len(svm.features_)
    names = [f"feature {k}" for k in groups]
    by_name = LPSVC("cv", cv=5, max_features=6, feature_groups=names).fit(X, y)
    assert plane(by_name) == plane(svm)
    assert svm.cv_results_["n_features"].max() <= 6


def test_scale_gives_the_plane_of_scaled_columns_wherever_they_are(clouds):
    X, y = clouds
    far = X.assign(a=X["a"] + 1.7e9, b=1e-3 * X["b"])
    near = far.assign(a=far["a"] - 1.7e9)  # without rounding: both are of one magnitude
    chosen, same = (LPSVC("cv", cv=5, scale=True).fit(table, y) for table in (far, near))
    assert chosen.nu_ == pytest.approx(same.nu_, rel=1e-12)
    np.testing.assert_allclose(chosen.coef_, same.coef_, rtol=1e-9)
    scaled = LPSVC(same.nu_).fit(near / same.scale_, y)
    np.testing.assert_allclose(same.coef_[0], scaled.coef_[0] / same.scale_, rtol=1e-9)
    thin = LPSVC("cv", cv=5, scale=True).fit(sparse.csr_array(near.to_numpy()), y)
    np.testing.assert_allclose(thin.scale_, same.scale_, rtol=1e-12)


def test_groups_and_weights_count_in_the_choice_and_signs_are_kept(wbc):
    X, y = wbc
    groups, weight = np.arange(len(y)) // 7, np.where(y == "benign", 1.0, 3.0)
    svm = LPSVC("cv", cv=GroupKFold(4)).fit(X, y, sample_weight=weight, groups=groups)
    train, test = next(GroupKFold(4).split(X, y, groups))
    nu = svm.cv_results_["nu"][8]
    alone = LPSVC(nu).fit(X.iloc[train], y.iloc[train], sample_weight=weight[train])
    expected = alone.score(X.iloc[test], y.iloc[test], sample_weight=weight[test])
    assert svm.cv_results_["split0_test_score"][8] == pytest.approx(expected)
    signs = {"clump_thickness": -1}
    kept = LPSVC("cv", monotone=signs, cv=3, max_features=3, scale=True).fit(X, y)
    assert kept.coef_[0, 0] <= 0
    assert 1 <= np.count_nonzero(kept.coef_) <= 3


def test_where_no_plane_says_more_than_a_constant_there_is_a_plane_and_a_warning():
    X, y = (
        np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 6),
        np.array([0, 0, 1, 1] * 6),
    )
    with pytest.warns(ClearmarginWarning):
        svm = LPSVC("cv", cv=3).fit(X, y)
    assert svm.note_
    assert set(svm.predict(X)) <= {0, 1}
    # Features that enter together are no reason for a plane without any.
    X, y = load_cleveland(return_X_y=True)
    capped = LPSVC("cv", cv=5, max_features=2).fit(StandardScaler().fit_transform(X), y)
    assert 1 <= (capped.coef_ != 0).sum() <= 2


REFUSED = [
    (LPSVC(monotone={"incme": 1}), "'income'"), (LPSVC(monotone={7: 1}), "feature 7"),
    (LPSVC("cv", monotone={"income": 2}), "'income'"), (LPSVC(monotone={"income": True}), "True"),
    (LPSVC(monotone={"job": 1}), "'job'"), (LPSVC("cv", monotone={1: 1}), "'job'"),
    (LPSVC(monotone=[1, 0]), "monotone"), (LPSVC(class_weight={"yess": 2.0}), "'yes'"),
    (LPSVC(class_weight={"yes": 0.0}), "'yes'"), (LPSVC("best"), "nu"), (LPSVC([0.1, 1.0]), "nu"),
    (LPSVC("cv", feature_groups=[0]), "columns"), (LPSVC("cv", max_features=0), "max_features"),
    (LPSVC(max_features=3), "max_features"), (LPSVC(scale=True), "scale"),
]  # fmt: skip


def test_one_norm_svms_refuse_what_does_not_fit_the_table():
    numbers = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0], "age": [4.0, 3.0, 2.0, 1.0]})
    mixed = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0], "job": ["a", "b", "a", "b"]})
    for model, word in REFUSED:
        with pytest.raises(ValueError, match=word):
            model.fit(mixed if word == "'job'" else numbers, ["no", "yes", "no", "yes"])


def test_one_norm_svms_refuse_weights_that_remove_a_class(wbc):
    X, y = wbc
    for model in (LPSVC(), LPSVC("cv")):
        with pytest.raises(DataError, match="malignant"):
            model.fit(X, y, sample_weight=(y == "benign").astype(float))
