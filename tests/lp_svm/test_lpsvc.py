from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import UncertifiedWarning
from clearmargin.lp_svm import LPSVC, lpsvm_sifting
from clearmargin.rules import Hyperplane


@pytest.fixture(scope="module")
def wbc():
    return load_wbc(return_X_y=True)


def test_the_plane_follows_the_convention_of_classes(wbc):
    X, y = wbc
    svm = LPSVC(nu=0.01).fit(X, y)
    f = svm.decision_function(X)
    assert svm.classes_.tolist() == ["benign", "malignant"]
    np.testing.assert_allclose(f, X.to_numpy() @ svm.coef_[0] + svm.intercept_[0])
    assert (svm.predict(X) == np.where(f > 0, "malignant", "benign")).all()
    assert svm.hyperplane_ == Hyperplane(svm.coef_[0], svm.intercept_[0])


def test_a_tie_goes_to_the_first_class():
    svm = LPSVC(nu=10.0).fit([[0.0], [2.0]], ["no", "yes"])
    assert svm.decision_function([[1.0]]) == [0.0]
    assert svm.predict([[1.0]]) == ["no"]


def test_weights_count_like_repetitions(wbc):
    X, y = wbc
    weight = np.arange(len(y)) % 3
    heavy = LPSVC(nu=0.01).fit(X, y, sample_weight=weight)
    often = LPSVC(nu=0.01).fit(X.loc[X.index.repeat(weight)], y.repeat(weight))
    assert heavy.objective_ == pytest.approx(often.objective_, rel=1e-9)
    np.testing.assert_allclose(heavy.coef_, often.coef_, atol=1e-9)


def test_class_weights_shift_the_errors(wbc):
    X, y = load_pima(return_X_y=True)
    plain = LPSVC(nu=0.01).fit(X, y)
    careful = LPSVC(nu=0.01, class_weight={"tested_positive": 5.0}).fit(X, y)
    ill = y == "tested_positive"
    assert (careful.predict(X)[ill] == "tested_positive").mean() > 0.9
    assert (plain.predict(X)[ill] == "tested_positive").mean() < 0.7


def test_balanced_means_the_same_weight_for_both_classes():
    X, y = load_pima(return_X_y=True)
    counts = y.value_counts()
    by_hand = {label: len(y) / (2 * count) for label, count in counts.items()}
    balanced = LPSVC(nu=0.01, class_weight="balanced").fit(X, y)
    assert balanced.objective_ == pytest.approx(
        LPSVC(nu=0.01, class_weight=by_hand).fit(X, y).objective_, rel=1e-9
    )


def test_without_an_intercept_the_plane_goes_through_the_origin(wbc):
    svm = LPSVC(nu=0.01, fit_intercept=False).fit(*wbc)
    assert svm.intercept_ == [0.0]
    assert svm.gap_ <= 1e-6


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_tables_are_taken(wbc, form):
    X, y = wbc
    thin = form(X.to_numpy().astype(float))
    svm = LPSVC(nu=0.01).fit(thin, y)
    dense = LPSVC(nu=0.01).fit(X.to_numpy(), y)
    assert svm.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    assert (svm.predict(thin) == dense.predict(X.to_numpy())).all()


def test_it_works_inside_the_tools_of_scikit_learn(wbc):
    X, y = wbc
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LPSVC()), {"lpsvc__nu": [0.01, 0.1]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.95
    three = np.digitize(X["clump_thickness"], [4, 7])
    for wrapper in (OneVsRestClassifier, OneVsOneClassifier):
        assert wrapper(LPSVC(nu=0.05)).fit(X, three).score(X, three) > 0.6


def test_sample_weights_can_be_routed(wbc):
    X, y = wbc
    weight = np.ones(len(y))
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, LPSVC().set_fit_request(sample_weight=True))
        assert pipeline.fit(X, y, sample_weight=weight).score(X, y) > 0.95


def test_a_fitted_classifier_survives_pickling(wbc):
    X, y = wbc
    svm = LPSVC(nu=0.01).fit(X, y)
    again = pickle.loads(pickle.dumps(svm))
    np.testing.assert_array_equal(again.decision_function(X), svm.decision_function(X))


def test_a_gap_that_stays_open_is_said(monkeypatch):
    monkeypatch.setattr(lpsvm_sifting, "exact_lpsvm", lambda centred, start: None)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), rng.choice(["a", "b"], size=40)
    with pytest.warns(UncertifiedWarning, match=r"certified gap is .* more than tol=1e-06"):
        svm = LPSVC(nu=5.0, solver="sifting", max_iter=1).fit(X, y)
    assert svm.gap_ > 1e-6


def test_two_fits_give_the_same_plane(wbc):
    X, y = wbc
    first, second = LPSVC(nu=0.01).fit(X, y), LPSVC(nu=0.01).fit(X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)


def test_the_order_of_columns_does_not_change_the_objective(wbc):
    X, y = wbc
    turned = X[X.columns[::-1]]
    assert LPSVC(nu=0.01).fit(turned, y).objective_ == pytest.approx(
        LPSVC(nu=0.01).fit(X, y).objective_, rel=1e-9
    )


def test_extra_columns_of_zeros_change_nothing(wbc):
    X, y = wbc
    padded = pd.concat([X, pd.DataFrame(0.0, index=X.index, columns=["a", "b"])], axis=1)
    svm = LPSVC(nu=0.01).fit(padded, y)
    assert not svm.coef_[0, -2:].any()
    assert svm.objective_ == pytest.approx(LPSVC(nu=0.01).fit(X, y).objective_, rel=1e-9)


def test_the_plane_is_the_same_to_the_bit_in_any_order_of_rows(wbc):
    X, y = wbc
    rng = np.random.default_rng(0)
    for nu in (0.0025, 0.05, 1.0):
        plane = LPSVC(nu=nu).fit(X, y)
        order = rng.permutation(len(y))
        again = LPSVC(nu=nu, solver="simplex").fit(X.iloc[order], y.iloc[order])
        np.testing.assert_array_equal(again.coef_, plane.coef_)
        assert again.intercept_ == plane.intercept_
        assert (again.objective_, again.gap_) == (plane.objective_, plane.gap_)


def test_balanced_weights_and_repeated_rows_give_the_same_plane_to_the_bit(wbc):
    X, y = wbc
    weight = np.arange(len(y)) % 3 + 1
    heavy = LPSVC(nu=0.01, class_weight="balanced").fit(X, y, sample_weight=weight)
    often = LPSVC(nu=0.01, class_weight="balanced").fit(
        X.loc[X.index.repeat(weight)], y.repeat(weight)
    )
    np.testing.assert_array_equal(heavy.coef_, often.coef_)
    assert heavy.intercept_ == often.intercept_


def far_table(seed: int, m: int, noise: float, offset: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Z = rng.integers(-2000, 2000, size=(m, 2)) / 1024
    return Z + offset, Z.sum(1) + noise * rng.normal(size=m) > 0


def exact_objective(svm: LPSVC, X: np.ndarray, y: np.ndarray) -> Fraction:
    w = [Fraction(v) for v in svm.coef_[0].tolist()]
    total = sum(abs(v) for v in w)
    for row, is_positive in zip(X.tolist(), y.tolist(), strict=True):
        f = sum(a * Fraction(v) for a, v in zip(w, row, strict=True)) + Fraction(svm.intercept_[0])
        total += Fraction(svm.nu) * max(Fraction(0), 1 - (f if is_positive else -f))
    return total


def test_the_gap_covers_the_rounding_of_weights_of_columns_far_from_zero():
    X, y = far_table(178, 30, 0.3, 2.0**31)
    words = r"optimum was found, but its weights rounded to floats have a gap of 4\.8e-04"
    with pytest.warns(UncertifiedWarning, match=words):
        svm = LPSVC(nu=1000.0, solver="sifting").fit(X, y)
    near = LPSVC(nu=1000.0).fit(X - 2.0**31, y)
    value = exact_objective(svm, X, y)
    true_gap = 1 - exact_objective(near, X - 2.0**31, y) / value
    assert float(true_gap) == pytest.approx(4.785e-4, rel=1e-3)
    assert true_gap <= svm.gap_ <= true_gap * Fraction(1 + 1e-6)


def test_a_table_on_which_an_interior_point_method_never_ends_is_solved_at_once():
    X, y = far_table(8, 20, 0.5, 2.0**30)
    assert LPSVC(nu=100.0).fit(X, y).gap_ <= 1e-6


def test_exact_gaps_at_many_offsets_are_never_too_small():
    for k, exponent in enumerate((20, 24, 28, 30, 31, 32)):
        X, y = far_table(k, 25, 0.5, 2.0**exponent)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertifiedWarning)
            svm = LPSVC(nu=100.0).fit(X, y)
        near = LPSVC(nu=100.0).fit(X - 2.0**exponent, y)
        value = exact_objective(svm, X, y)
        assert 1 - exact_objective(near, X - 2.0**exponent, y) / value <= svm.gap_ * (1 + 1e-9)


def test_a_row_alone_has_the_score_that_it_has_in_the_table(wbc):
    X, y = wbc
    svm = LPSVC(nu=1.0).fit(X, y)
    scores = svm.decision_function(X)
    alone = [svm.decision_function(X.iloc[[i]])[0] for i in range(0, len(X), 97)]
    assert alone == scores[::97].tolist()
