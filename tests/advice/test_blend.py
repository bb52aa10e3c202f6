"""AdviceBlendSVC: between the vote of the rules and the data."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from clearmargin import LPSVC, AdviceBlendSVC
from clearmargin.advice.advice_reading import read_case
from clearmargin.advice.blend import Standard, Values, centred_path, rule_votes, vote_plane
from clearmargin.datasets import load_pima
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError

pytestmark = pytest.mark.filterwarnings("ignore:the advice deserves a look")


@parametrize_with_checks([AdviceBlendSVC(repeats=1)])
def test_the_contract_of_scikit_learn_is_kept(estimator, check):
    check(estimator)


def test_the_contract_of_scikit_learn_is_kept_with_advice():
    model = AdviceBlendSVC("x0 >= 1 => 1", repeats=1)
    results = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    # That check has the classes 'one' and 'two', where advice for a class 1 must be refused.
    assert failed == {"check_classifiers_classes"}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("held", [True, False])
def test_the_centred_path_is_optimal(seed, held):
    rng = np.random.default_rng(seed)
    m, n = 25, 3
    X = rng.normal(size=(m, n))
    y = np.where(X[:, 0] + rng.normal(size=m) > 0, 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, m)
    center = rng.normal(size=n + 1) if held else np.zeros(n + 1)
    lams = [0.03, 0.3, 3.0]
    planes = centred_path(X, y, weight, lams, center if held else None)
    for lam, plane in zip(lams, planes, strict=True):
        w, b = cp.Variable(n), cp.Variable()
        loss = lam * weight @ cp.pos(1 - cp.multiply(y, X @ w + b))
        drawn = cp.norm1(w - center[:-1]) + (cp.abs(b - center[-1]) if held else 0)
        best = cp.Problem(cp.Minimize(loss + drawn)).solve(solver="CLARABEL")
        hinge = np.maximum(0, 1 - y * (X @ plane[:-1] + plane[-1]))
        value = lam * weight @ hinge + np.abs(plane[:-1] - center[:-1]).sum()
        value += abs(plane[-1] - center[-1]) if held else 0.0
        assert value == pytest.approx(best, rel=1e-6)


def test_the_plain_path_is_the_1_norm_svm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    plane = centred_path(X, y, np.ones(40), [0.5])[0]
    svm = LPSVC(nu=0.5).fit(X, y)
    hinge = np.maximum(0, 1 - y * (X @ plane[:-1] + plane[-1])).sum()
    assert 0.5 * hinge + np.abs(plane[:-1]).sum() == pytest.approx(svm.objective_, rel=1e-6)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.integers(1, 4)), min_size=1, max_size=12),
    st.integers(0, 100),
)
def test_weighted_values_are_repeated_values(pairs, seed):
    x, counts = (np.array(part, dtype=float) for part in zip(*pairs, strict=True))
    weighted = Values.of(x, counts)
    repeated = Values.of(np.repeat(x, counts.astype(int)), np.ones(int(counts.sum())))
    assert weighted.mean == pytest.approx(repeated.mean, abs=1e-9)
    assert weighted.std == pytest.approx(repeated.std, abs=1e-7)
    shares = np.random.default_rng(seed).random(50)
    assert (weighted.draw(shares) == repeated.draw(shares)).all()


def case_of(advice, X=None, y=None):
    return read_case(AdviceBlendSVC(advice), X, y)


def test_rules_vote_with_their_weights_and_cancel():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    case = case_of("a >= 1 => p [weight 2]\na >= 2 => n\na >= 3 => n", X, ["n", "p", "p", "n"])
    assert rule_votes(case, X.to_numpy()).tolist() == [0.0, 2.0, 1.0, 0.0]


def test_where_all_rules_speak_for_one_class_silence_speaks_for_the_other():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0]})
    case = case_of("a >= 2 => p", X, ["n", "n", "p"])
    assert rule_votes(case, X.to_numpy()).tolist() == [-1.0, -1.0, 1.0]


def test_the_plane_of_the_vote_says_what_the_rules_say():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(10, 3)), columns=["a", "b", "c"])
    y = np.where(rng.random(10) < 0.5, "n", "p")
    y[:2] = "n", "p"
    case = case_of("a >= 0 => p\na <= 0 => n", X, y)
    standard = Standard.of(case)
    plane = vote_plane(case, standard, np.random.default_rng(0))
    assert plane is not None
    assert plane[1] == plane[2] == 0
    threshold = -plane[-1] / plane[0] * standard.unit[0] + standard.center[0]
    assert threshold == pytest.approx(0.0, abs=0.05)


def test_without_data_the_vote_decides():
    advice = "bmi >= 30 and glucose >= 126 => ill\nbmi <= 25 and glucose <= 100 => well"
    model = AdviceBlendSVC(advice).fit()
    cases = pd.DataFrame({"bmi": [40, 18], "glucose": [180, 70]})
    assert model.predict(cases).tolist() == ["ill", "well"]
    assert model.trust_ == {"advice": 1.0, "between": 0.0, "data": 0.0}


def test_of_a_feature_that_neither_rules_nor_data_speak_of_nothing_is_learned():
    model = AdviceBlendSVC("feature age\nfeature bmi\nage >= 30 => ill\nage < 20 => well").fit()
    assert model.coef_[0, 1] == 0.0
    rows = pd.DataFrame({"age": [40.0, 10.0], "bmi": [3.0, 500.0]})
    assert model.predict(rows).tolist() == ["ill", "well"]


def test_categories_take_one_value_for_each_reference_point():
    X = pd.DataFrame({"c_red": [1, 0, 0, 1], "c_blue": [0, 1, 0, 0], "c_tan": [0, 0, 1, 0]})
    case = case_of("c = red => p\nc = blue => n", X, ["p", "n", "n", "p"])
    drawn = Standard.of(case).draw(np.random.default_rng(0), 300)
    assert (drawn.sum(axis=1) == 1).all()
    assert set(drawn.ravel()) == {0.0, 1.0}
    model = AdviceBlendSVC("c = red => p\nc = blue => n").fit(X, ["p", "n", "n", "p"])
    assert model.predict(X[:2]).tolist() == ["p", "n"]


@pytest.mark.parametrize("size", [10, 20, 50])
def test_few_points_do_not_spoil_good_rules(size, diabetes):
    X, y = load_pima(return_X_y=True)
    errors = {"blend": [], "svm": []}
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        some, rest = order[:size], order[356:]
        model = AdviceBlendSVC(diabetes, repeats=2).fit(X.iloc[some], y.iloc[some])
        alone = AdviceBlendSVC(repeats=1).fit(X.iloc[some], y.iloc[some])
        errors["blend"].append(1 - model.score(X.iloc[rest], y.iloc[rest]))
        errors["svm"].append(1 - alone.score(X.iloc[rest], y.iloc[rest]))
    assert np.mean(errors["blend"]) < 0.265
    assert np.mean(errors["blend"]) < np.mean(errors["svm"])


def test_advice_that_is_out_of_luck_on_a_few_cases_is_not_set_aside(diabetes):
    X, y = load_pima(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(X))[:10]  # 7 of them are ill; the rules miss 6
    model = AdviceBlendSVC(diabetes).fit(X.iloc[some], y.iloc[some])
    assert not model.is_set_aside_
    assert model.score(X, y) > 0.7


def test_advice_turned_round_is_set_aside(diabetes):
    X, y = load_pima(return_X_y=True)
    turned = (
        diabetes.replace("tested_negative", "X")
        .replace("tested_positive", "tested_negative")
        .replace("X", "tested_positive")
    )
    model = AdviceBlendSVC(turned).fit(X[:60], y[:60])
    plain = AdviceBlendSVC().fit(X[:60], y[:60])
    assert model.is_set_aside_
    assert model.trust_["data"] == pytest.approx(1.0)
    assert (model.predict(X) == plain.predict(X)).all()
    assert set(model.outcome_.verdicts) <= {"kept", "ignored"}


def test_more_data_move_the_trust_from_advice_to_data(diabetes):
    X, y = load_pima(return_X_y=True)
    shares = [
        AdviceBlendSVC(diabetes, repeats=1).fit(X[:m], y[:m]).trust_["advice"]
        for m in (10, 60, 400)
    ]
    assert shares[0] > shares[1] > shares[2]
    model = AdviceBlendSVC(diabetes, repeats=1).fit(X[:60], y[:60])
    assert model.candidates_["weight"].sum() == pytest.approx(1.0)
    assert sum(model.trust_.values()) == pytest.approx(1.0)
    worth_more = AdviceBlendSVC(diabetes, worth=500.0, repeats=1).fit(X[:60], y[:60])
    assert worth_more.trust_["advice"] > model.trust_["advice"]


def test_the_same_random_state_gives_the_same_plane(diabetes):
    X, y = load_pima(return_X_y=True)
    first, second = (AdviceBlendSVC(diabetes).fit(X[:30], y[:30]) for _ in range(2))
    assert (first.coef_ == second.coef_).all()
    other = AdviceBlendSVC(diabetes, random_state=1).fit(X[:30], y[:30])
    assert (other.coef_ != first.coef_).any()
    assert (other.predict(X) == first.predict(X)).mean() > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"worth": 0}, "worth must be a positive number"),
        ({"cv": 1}, "cv must be a whole number from 2, not 1"),
        ({"cv": 2.5}, "cv must be a whole number from 2, not 2.5"),
        ({"repeats": 0}, "repeats must be a whole number from 1"),
    ],
)
def test_parameters_that_make_no_sense_are_named(parameters, message):
    with pytest.raises(InvalidValueError, match=message):
        AdviceBlendSVC("a >= 1 => p", **parameters).fit(pd.DataFrame({"a": [0, 2]}), ["n", "p"])


def test_nothing_to_learn_from_is_an_error():
    with pytest.raises(DataError, match="neither data nor advice"):
        AdviceBlendSVC().fit()


def test_clashing_advice_is_warned_about(diabetes):
    X, y = load_pima(return_X_y=True)
    with pytest.warns(ClearmarginWarning, match="the advice deserves a look"):
        AdviceBlendSVC(diabetes, repeats=1).fit(X[:20], y[:20])
