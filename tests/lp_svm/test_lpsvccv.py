from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score

from clearmargin.datasets import load_cleveland, load_ionosphere, load_wbc
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.lp_svm import LPSVC, LPSVCCV
from clearmargin.lp_svm import lpsvccv as lpsvccv_module
from clearmargin.lp_svm.lpsvm_path import choose_plane


@pytest.fixture(scope="module")
def ionosphere():
    return load_ionosphere(return_X_y=True)


@pytest.fixture(scope="module")
def wbc():
    return load_wbc(return_X_y=True)


@pytest.fixture(scope="module")
def clouds():
    # Numbers without ties, so that the optimal planes are unique.
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(150, 8)), columns=list("abcdefgh"))
    return X, np.where(X["a"] - X["c"] + rng.normal(size=150) > 0.2, "up", "down")


def test_scores_are_those_of_plain_cross_validation(clouds):
    X, y = clouds
    nus = [0.03, 0.1, 1.0]
    folds = StratifiedKFold(5)
    svm = LPSVCCV(nus, cv=folds).fit(X, y)
    for k, nu in enumerate(nus):
        by_hand = cross_val_score(LPSVC(nu), X, y, cv=folds)
        np.testing.assert_allclose(
            [svm.cv_results_[f"split{i}_test_score"][k] for i in range(5)], by_hand
        )
        assert svm.cv_results_["mean_test_score"][k] == pytest.approx(by_hand.mean())
        assert svm.cv_results_["n_features"][k] == (LPSVC(nu).fit(X, y).coef_ != 0).sum()


def test_the_plane_is_that_of_the_chosen_nu(wbc):
    X, y = wbc
    svm = LPSVCCV(cv=5).fit(X, y)
    alone = LPSVC(svm.nu_).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, alone.coef_)
    assert (svm.objective_, svm.gap_) == (alone.objective_, alone.gap_)
    assert svm.feature_names_in_.tolist() == X.columns.tolist()


def test_the_default_grid_starts_where_the_first_feature_enters(ionosphere):
    X, y = load_cleveland(return_X_y=True)
    for table, labels in [ionosphere, (X, y), (X * 1000.0, y)]:
        svm = LPSVCCV(cv=3).fit(table, labels)
        nus, counts = svm.cv_results_["nu"], svm.cv_results_["n_features"]
        assert counts[0] == 0
        assert counts[1] >= 1
        assert not LPSVC(nus[1] / 2**0.5 * 0.999).fit(table, labels).coef_.any()
        assert counts.max() > 2 * counts[0]


def test_feature_counts_decide_not_the_order_of_the_grid(ionosphere):
    # Along the path the number of features can fall again.
    svm = LPSVCCV([5.14085, 7.27026], rule="1se").fit(*ionosphere)
    results = svm.cv_results_
    top = results["mean_test_score"].argmax()
    within = (
        results["mean_test_score"]
        >= results["mean_test_score"][top] - results["se_test_score"][top]
    )
    assert (svm.coef_ != 0).sum() == results["n_features"][within].min()


def test_equal_scores_share_a_rank(wbc):
    svm = LPSVCCV([1e-9, 2e-9, 0.01], cv=3).fit(*wbc)
    assert svm.cv_results_["rank_test_score"].tolist() == [2, 2, 1]


def test_best_takes_the_highest_mean_score(ionosphere):
    svm = LPSVCCV(cv=5).fit(*ionosphere)
    results = svm.cv_results_
    chosen = results["nu"] == svm.nu_
    assert results["mean_test_score"][chosen] == results["mean_test_score"].max()
    assert results["rank_test_score"][chosen] == 1


def scores_by_fold(results):
    folds = sum(name.startswith("split") for name in results)
    return np.array([results[f"split{k}_test_score"] for k in range(folds)]).T


def not_beaten(scores, by):
    """Planes that none of some others beats by more than one standard error of the differences, in fractions."""
    rows = [[Fraction(str(round(float(v), 9))) for v in row] for row in scores]
    others = [[Fraction(str(round(float(v), 9))) for v in row] for row in by]
    folds = scores.shape[1]

    def beats(a, b):
        ahead = [x - y for x, y in zip(a, b, strict=True)]
        mean = sum(ahead) / folds
        variance = sum((x - mean) ** 2 for x in ahead) / (folds - 1) / folds if folds > 1 else 0
        return mean > 0 and mean**2 > variance

    return [k for k, row in enumerate(rows) if not any(beats(other, row) for other in others)]


def test_one_standard_error_gives_a_sparser_plane_that_is_nearly_as_good(ionosphere):
    best = LPSVCCV(cv=5).fit(*ionosphere)
    sparse = LPSVCCV(cv=5, rule="1se").fit(*ionosphere)
    results = best.cv_results_
    top = results["mean_test_score"].argmax()
    least = results["mean_test_score"][top] - results["se_test_score"][top]
    within = results["mean_test_score"] >= least
    assert (sparse.coef_ != 0).sum() == results["n_features"][within].min()
    assert sparse.nu_ < best.nu_
    assert (sparse.coef_ != 0).sum() < (best.coef_ != 0).sum()


tables = st.integers(1, 5).flatmap(
    lambda folds: st.lists(
        st.tuples(st.lists(st.integers(0, 4), min_size=folds, max_size=folds), st.integers(0, 3)),
        min_size=1,
        max_size=6,
    )
)


@given(tables)
def test_a_plane_is_chosen_as_fractions_say(table):
    scores = np.array([row for row, _ in table]) / 8.0
    counts = np.array([count for _, count in table])
    means = scores.mean(axis=1)
    chosen = choose_plane(scores, counts, "1se")
    others = [k for k in range(len(counts)) if counts[k] > 0]
    constant = [k for k in not_beaten(scores, scores[others]) if counts[k] == 0]
    if constant or not others:
        # A constant plane is chosen exactly if no other beats it.
        assert counts[chosen] == 0
    else:
        # If any plane beats all constant ones, the chosen one does.
        flat = scores[counts == 0]
        beating = [k for k in others if all(not not_beaten(c[None], scores[[k]]) for c in flat)]
        among = beating or others
        top = max(among, key=lambda k: means[k])
        spread = scores[top].std(ddof=1) / len(scores[0]) ** 0.5 if len(scores[0]) > 1 else 0.0
        assert chosen in among
        assert means[chosen] >= means[top] - spread
        sparser = [k for k in among if counts[k] < counts[chosen]]
        assert all(means[k] < means[top] - spread for k in sparser)
    best = choose_plane(scores, counts, "best")
    assert means[best] == means.max()
    if counts[best] == 0:
        # A constant plane is taken where it is better than all others, and not where it is as good.
        assert not (means[counts > 0] == means.max()).any()
    assert counts[choose_plane(scores, counts, "1se", allow_constant=False)] > 0 or not others


@pytest.mark.parametrize("rule", ["best", "1se"])
@pytest.mark.parametrize("cap", [3, 8])
def test_a_cap_on_features_is_kept(ionosphere, rule, cap):
    svm = LPSVCCV(cv=5, rule=rule, max_features=cap).fit(*ionosphere)
    assert 1 <= (svm.coef_ != 0).sum() <= cap


def test_folds_can_be_scored_in_parallel_with_the_same_result(wbc):
    one = LPSVCCV([0.003, 0.01], cv=4).fit(*wbc)
    two = LPSVCCV([0.003, 0.01], cv=4, n_jobs=2).fit(*wbc)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_a_column_of_seconds_since_1970_gives_the_plane_of_the_same_column_from_zero(clouds):
    X, y = clouds
    far = X.assign(a=X["a"] + 1.7e9)
    near = X.assign(a=far["a"] - 1.7e9)  # without rounding: both are of one magnitude
    chosen, same = (LPSVCCV(cv=5, scale=True).fit(table, y) for table in (far, near))
    assert chosen.nu_ == pytest.approx(same.nu_, rel=1e-12)
    np.testing.assert_allclose(chosen.coef_, same.coef_, rtol=1e-9)
    np.testing.assert_array_equal(chosen.cv_results_["n_features"], same.cv_results_["n_features"])


def test_other_scores_are_used(clouds):
    svm = LPSVCCV([0.03, 0.1, 1.0], cv=4, scoring="roc_auc").fit(*clouds)
    by_hand = cross_val_score(LPSVC(0.1), *clouds, cv=4, scoring="roc_auc")
    assert svm.cv_results_["mean_test_score"][1] == pytest.approx(by_hand.mean())


def test_groups_and_weights_are_routed_to_splitter_and_scorer(wbc):
    X, y = wbc
    groups = np.arange(len(y)) // 7
    weight = np.where(y == "benign", 1.0, 3.0)
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        svm = LPSVCCV([0.003, 0.01], cv=GroupKFold(4), scoring=scorer)
        svm.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight, groups=groups)
    train, test = next(GroupKFold(4).split(X, y, groups))
    alone = LPSVC(0.003).fit(X.iloc[train], y.iloc[train], sample_weight=weight[train])
    expected = accuracy_score(y.iloc[test], alone.predict(X.iloc[test]), sample_weight=weight[test])
    assert svm.cv_results_["split0_test_score"][0] == pytest.approx(expected)


def test_labels_that_no_plane_explains_still_give_a_classifier():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]] * 6)
    y = np.array([0, 0, 1, 1] * 6)
    with pytest.warns(ClearmarginWarning, match=r"plane is constant.*may have no linear"):
        svm = LPSVCCV(cv=3).fit(X, y)
    assert set(svm.predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "2se"}, r"rule must be one of 'best', '1se', not '2se'"),
        ({"max_features": 0}, r"max_features must be a whole number from 1 or None, not 0"),
        ({"max_features": 2.5}, r"max_features must be a whole number"),
        ({"feature_groups": [0, 1]}, r"each of the 9 columns, not be of shape \(2,\)"),
        ({"nus": []}, r"nus must be positive numbers"),
        ({"nus": [0.1, -1.0]}, r"nus must be positive numbers, not \[0.1, -1.0\]"),
        ({"tol": 0.0}, r"tol must be a positive number"),
    ],
)
def test_bad_parameters_are_named(wbc, parameters, message):
    with pytest.raises(ValueError, match=message):
        LPSVCCV(cv=3, **parameters).fit(*wbc)


def _many_rows(m=900):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, 4))
    y = np.where(X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.normal(size=m) > 0.6, "yes", "no")
    return X, y


def test_of_many_rows_some_are_tried_and_the_chosen_plane_is_that_of_all(monkeypatch):
    X, y = _many_rows()
    sizes = []
    read = LPSVCCV._data

    def noted(self, *given):
        data = read(self, *given)
        sizes.append((len(data.cost), float(data.cost.sum())))
        return data

    monkeypatch.setattr(lpsvccv_module, "_MOST_ROWS", 300)
    monkeypatch.setattr(LPSVCCV, "_data", noted)
    model = LPSVCCV(cv=3).fit(X, y)
    assert all(rows <= 400 for rows, _ in sizes)
    # The rows that were drawn stand for all, so that `nu` means what it means there.
    assert sizes[0][1] == pytest.approx(900.0)
    np.testing.assert_allclose(model.coef_, LPSVC(model.nu_).fit(X, y).coef_)
    monkeypatch.undo()
    whole = LPSVCCV(cv=3).fit(X, y)
    # Scores are of all rows of the test parts, and the choice is nearly as good.
    assert abs(model.score(X, y) - whole.score(X, y)) < 0.01


def test_what_is_drawn_does_not_depend_on_the_order_of_rows(monkeypatch):
    X, y = _many_rows()
    monkeypatch.setattr(lpsvccv_module, "_MOST_ROWS", 300)
    codes, weight = (y == "yes").astype(np.intp), np.linspace(0.5, 2.0, len(y))
    order = np.random.default_rng(1).permutation(len(y))
    first = lpsvccv_module.trial_weight(X, codes, weight, [])
    second = lpsvccv_module.trial_weight(X[order], codes[order], weight[order], [])
    np.testing.assert_allclose(first[order], second, rtol=1e-12)
    for code in (0, 1):
        assert first[codes == code].sum() == pytest.approx(weight[codes == code].sum())


def test_all_rows_are_tried_where_a_fold_would_lose_a_class(monkeypatch):
    X, y = _many_rows()
    monkeypatch.setattr(lpsvccv_module, "_MOST_ROWS", 300)
    codes, weight = (y == "yes").astype(np.intp), np.ones(len(y))
    drawn = lpsvccv_module.trial_weight(X, codes, weight, [])
    left_out = np.flatnonzero((codes == 1) & (drawn == 0))[:5]
    fold = np.concatenate([np.flatnonzero(codes == 0), left_out])
    np.testing.assert_array_equal(lpsvccv_module.trial_weight(X, codes, weight, [fold]), weight)
