"""The support vector classifier over rules: what comes out, on which tables, whatever the order of rows."""

import itertools
import time
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from clearmargin import FeatureSpace, parse_rules
from clearmargin.exceptions import (
    ClearmarginWarning,
    DataError,
    InvalidValueError,
    RuleSyntaxError,
    UncertifiedWarning,
)
from clearmargin.rule_svm import RuleSVC


@parametrize_with_checks(
    [
        RuleSVC(max_rules=3, cv=2, certify=False),
        RuleSVC(None, C=0.5, cv=2, max_conditions=1),
    ]
)
def test_scikit_learn_accepts_it(estimator, check) -> None:
    check(estimator)


def mixed_table(m: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, a whole number, categories, missing values; the class depends on two of them together."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.normal(50, 10, m).round(1),
            "age": rng.integers(18, 80, m).astype(float),
            "purpose": rng.choice(["car", "house", "other"], m),
        }
    )
    risky = (X["age"] < 40) & (X["purpose"] == "car") | (X["income"] < 38)
    y = np.where(rng.random(m) < np.where(risky, 0.95, 0.06), "bad", "good")
    X.loc[rng.random(m) < 0.1, "income"] = np.nan
    X.loc[rng.random(m) < 0.1, "purpose"] = None
    return X, y


@pytest.fixture(scope="module")
def fitted() -> RuleSVC:
    X, y = mixed_table()
    return RuleSVC(6, cv=3).fit(X, y)


def test_rules_speak_of_categories_and_numbers_and_every_row_gets_a_class(fitted) -> None:
    X, y = mixed_table(seed=1)
    assert 1 <= len(fitted.rules_) <= 6
    assert max(rule.n_conditions for rule in fitted.rules_) <= 2
    assert fitted.score(X, y) > 0.85
    assert set(fitted.predict(X)) == {"bad", "good"}
    assert fitted.weights_.shape == (len(fitted.rules_),)
    assert fitted.gap_ <= 1e-6
    assert fitted.cap_cost_ >= 0.0


def test_what_is_printed_is_what_decides(fitted) -> None:
    X, _ = mixed_table(seed=1)
    rules, held = fitted.weighted_rules_, fitted.covers(X)
    text = str(rules)
    assert all(f"{weight:+g}" in text for weight in rules.weights)
    total = held @ rules.weights + fitted.intercept_
    np.testing.assert_allclose(fitted.decision_function(X), total, atol=1e-12)
    # No sum of weights is at the threshold.
    assert np.abs(total).min() > 1e-4


def test_unknown_categories_and_missing_values_make_conditions_false(fitted) -> None:
    row = pd.DataFrame({"income": [np.nan], "age": [np.nan], "purpose": ["boat"]})
    held = fitted.covers(row)[0]
    for rule, holds in zip(fitted.rules_, held, strict=True):
        assert holds == all(j in rule.region.missing for j in rule.region.bounded)
    assert fitted.predict(row).shape == (1,)


def test_rules_are_in_the_order_of_importance(fitted) -> None:
    shares = np.array([rule.stats.coverage for rule in fitted.rules_])
    importance = np.abs(fitted.weights_) * np.sqrt(shares * (1 - shares))
    assert (np.diff(importance) <= 1e-9).all()
    for rule, weight in zip(fitted.rules_, fitted.weights_, strict=True):
        assert rule.label == fitted.classes_[int(weight > 0)]


def test_the_order_of_rows_does_not_matter(fitted) -> None:
    X, y = mixed_table()
    order = np.random.default_rng(5).permutation(len(X))
    again = clone(fitted).fit(X.iloc[order], y[order])
    assert again.weighted_rules_ == fitted.weighted_rules_
    np.testing.assert_allclose(again.calibration_, fitted.calibration_, rtol=1e-6)


def test_weights_count_like_repeated_rows() -> None:
    X, y = mixed_table(120)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    model = RuleSVC(4, cv=3, certify=False)
    by_weight = clone(model).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(X)), weight)
    assert clone(model).fit(X.iloc[rows], y[rows]).weighted_rules_ == by_weight.weighted_rules_


def test_probabilities_rise_with_the_score_and_are_calibrated(fitted) -> None:
    X, y = mixed_table(2000, seed=2)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(fitted.decision_function(X))
    assert (np.diff(p[order, 1]) >= 0).all()
    for low, high in ((0.0, 0.3), (0.7, 1.0)):
        inside = (p[:, 1] >= low) & (p[:, 1] <= high)
        assert abs(p[inside, 1].mean() - (y[inside] == "good").mean()) < 0.08


# The linear program over all rules, against all of them written down.


def all_rules(X: np.ndarray, most: int) -> list[np.ndarray]:
    """The indicators of all rules of a small table of numbers, by brute force."""
    single = []
    for j in range(X.shape[1]):
        values = np.unique(X[:, j][~np.isnan(X[:, j])])
        for t in (values[1:] + values[:-1]) / 2:
            single += [X[:, j] <= t, X[:, j] > t]
        if np.isnan(X[:, j]).any():
            single.append(np.isnan(X[:, j]))
    found = list(single)
    for k in range(2, most + 1):
        found += [np.logical_and.reduce(each) for each in combinations(single, k)]
    return [h for h in found if h.any()]


def brute_force(X: np.ndarray, y: np.ndarray, cost: np.ndarray, most: int, penalty: float) -> float:
    """The objective of the 1-norm SVM over all rules, with every one of them as a column."""
    sizes: dict[bytes, int] = {}
    for k in range(1, most + 1):
        for h in all_rules(X, k):
            sizes.setdefault(h.tobytes(), k)
    H = np.array([np.frombuffer(key, dtype=bool) for key in sizes], dtype=float).T
    price = 1.0 + penalty * (np.array(list(sizes.values())) - 1)
    m, s = len(X), np.where(y == np.unique(y)[1], 1.0, -1.0)
    A = -s[:, None] * np.column_stack([H, -H, np.ones(m), -np.ones(m)])
    c = np.concatenate([price, price, [0, 0], cost])
    answer = linprog(c, A_ub=np.column_stack([A, -np.eye(m)]), b_ub=-np.ones(m))
    return float(answer.fun)


@pytest.mark.parametrize(
    ("seed", "most", "penalty", "holes"),
    [(0, 1, 0.0, 0), (1, 2, 0.0, 0), (2, 2, 0.3, 0), (3, 2, 0.1, 5)],
)
def test_the_machine_over_all_rules_is_the_optimum_of_brute_force(
    seed, most, penalty, holes
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (24, 3)).astype(float)
    X[rng.integers(0, 24, holes), rng.integers(0, 3, holes)] = np.nan
    y = rng.choice(["a", "b"], 24)
    weight = rng.integers(1, 4, 24).astype(float)
    model = RuleSVC(None, C=0.4, max_conditions=most, penalty=penalty, cv=2)
    model.fit(X, y, sample_weight=weight)
    expected = brute_force(X, y, 0.4 * weight, most, penalty)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.gap_ <= 1e-6
    # The weights that are kept have this objective, too.
    sizes = [sum(_n_conditions(rule)) for rule in model.rules_]
    hinge = np.maximum(0, 1 - np.where(y == "b", 1, -1) * model.decision_function(X))
    price = (1 + penalty * (np.array(sizes) - 1)) @ np.abs(model.weights_)
    assert price + 0.4 * weight @ hinge == pytest.approx(expected, rel=1e-6)


def _n_conditions(rule) -> list[int]:
    """How many conditions a rule has on each feature: an interval is two."""
    box = rule.region
    return [
        1 if j in box.missing else int(np.isfinite(box.lower[j])) + int(np.isfinite(box.upper[j]))
        for j in box.bounded
    ]


def test_the_cost_is_chosen_and_no_machine_is_constant() -> None:
    X, y = mixed_table(120)
    model = RuleSVC(None, cv=3).fit(X, y)
    assert len(model.rules_) >= 1
    assert model.C_ in model.cv_results_["C"]
    assert model.loss_ == "hinge"
    assert model.cap_cost_ == 0.0


def test_time_that_runs_out_is_said() -> None:
    X, y = mixed_table(240)
    with pytest.warns(UncertifiedWarning, match="raise time_limit"):
        model = RuleSVC(None, C=5.0, cv=2, time_limit=1e-3).fit(X, y)
    assert model.gap_ > 1e-6
    assert RuleSVC(2, C=5.0, cv=2, time_limit=1e-3).fit(X, y).gap_ > 1e-6


def test_the_certificate_depends_on_no_clock(monkeypatch) -> None:
    X, y = mixed_table(240)
    options = {"C": 5.0, "cv": 2, "max_work": 0.01}
    models = [RuleSVC(2, **options).fit(X, y)]
    ticks = itertools.count(step=3600.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    models += [RuleSVC(2, **options).fit(X, y), RuleSVC(2, C=5.0, cv=2).fit(X, y)]
    found = [(model.gap_, model.cap_cost_, model.objective_, model.n_iter_) for model in models]
    assert found[0] == found[1]
    assert found[0][0] > 1e-6 >= found[2][0]  # by default there is work for all of it
    with pytest.warns(UncertifiedWarning, match="raise max_work"):
        RuleSVC(None, C=5.0, cv=2, max_work=0.005).fit(X, y)


# Kinds of tables.


def test_three_classes_share_their_rules() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(210, 3))
    y = np.array(["low", "mid", "top"])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.6)]
    model = RuleSVC(8, cv=3, certify=False).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.weights_.shape == (3, len(model.rules_))
    assert len(model.rules_) <= 8
    assert (
        model.predict_proba(X).argmax(axis=1) == model.decision_function(X).argmax(axis=1)
    ).all()
    pointed = RuleSVC(8, cv=3, certify=False, points=True).fit(X, y)
    assert pointed.weighted_rules_.has_points
    assert pointed.score(X, y) > 0.9


def test_whole_points_lose_little() -> None:
    X, y = mixed_table()
    model = RuleSVC(6, cv=3, points=True, certify=False).fit(X, y)
    assert model.weighted_rules_.has_points
    assert np.abs(model.weights_).max() <= 10
    assert model.score(X, y) > 0.85
    assert abs(model.predict_proba(X)[:, 1].mean() - (y == "good").mean()) < 0.05


def test_a_rare_class_is_found_with_balanced_weights() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=500) * 0.7 > 2.4).astype(int)
    plain = RuleSVC(8, cv=3, certify=False).fit(X, y)
    balanced = RuleSVC(8, cv=3, certify=False, class_weight="balanced").fit(X, y)
    scores = [balanced_accuracy_score(y, model.predict(X)) for model in (plain, balanced)]
    assert scores[1] > max(0.8, scores[0])


def test_features_may_count_in_one_direction_only() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"income": rng.uniform(0, 10, 300), "age": rng.uniform(0, 10, 300)})
    y = (np.sin(X["income"]) + 0.1 * X["income"] + 0.2 * X["age"] > 1.2).astype(int)
    grid = pd.DataFrame({"income": np.linspace(-1, 11, 200), "age": 5.0})
    for options in ({"max_rules": 8, "certify": False}, {"max_rules": None, "C": 0.2}):
        free = RuleSVC(**options, cv=2).fit(X, y)
        assert (np.diff(free.decision_function(grid)) < 0).any()
        for linear in (False, "free"):
            model = RuleSVC(**options, cv=2, monotone={"income": 1}, linear=linear).fit(X, y)
            assert (np.diff(model.decision_function(grid)) >= -1e-12).all()


@pytest.mark.parametrize("linear", [True, "free"])
def test_linear_terms_are_in_the_units_of_the_table(linear) -> None:
    rng = np.random.default_rng(4)
    # A column far from zero, as seconds since 1970 are, with missing values.
    X = pd.DataFrame(
        {"time": 1.7e9 + rng.normal(size=300) * 1e5, "site": rng.choice(["a", "b"], 300)}
    )
    y = np.where(
        (X["time"] - 1.7e9) / 1e5 + (X["site"] == "b") + rng.normal(size=300) * 0.3 > 0.5, 1, 0
    )
    X.loc[:5, "time"] = np.nan
    model = RuleSVC(3, linear=linear, cv=3).fit(X, y)
    assert any(term.feature == 0 for term in model.weighted_rules_.linear)
    assert model.score(X, y) > 0.9
    assert RuleSVC(None, C=0.3, linear=linear, cv=2).fit(X, y).score(X, y) > 0.9


def test_three_conditions_are_found_where_they_are_the_truth() -> None:
    X = np.random.default_rng(0).uniform(size=(400, 5))
    y = ((X[:, 0] > 0.4) & (X[:, 1] > 0.4) & (X[:, 2] > 0.4)).astype(int)
    model = RuleSVC(2, max_conditions=3, penalty=0.1, cv=3, certify=False).fit(X, y)
    assert model.score(X, y) > 0.97
    assert model.rules_[0].n_conditions == 3


def test_on_noise_the_score_that_is_reported_is_at_chance() -> None:
    rng = np.random.default_rng(0)
    scores = [
        RuleSVC(10, certify=False)
        .fit(rng.normal(size=(150, 6)), rng.permutation(150) % 2)
        .cv_score_
        for _ in range(3)
    ]
    # The highest of several settings; a leak would give 0.65 and more.
    assert np.mean(scores) < 0.57


def test_constant_and_repeated_columns_do_no_harm() -> None:
    X, y = mixed_table(120)
    X = X.assign(same=1.0, again=X["age"], none=np.nan)
    model = RuleSVC(4, cv=3, certify=False, linear="free").fit(X, y)
    assert model.score(X, y) > 0.8
    assert not {"same", "none"} & {
        X.columns[j] for rule in model.rules_ for j in rule.region.bounded
    }


def test_more_columns_than_rows_take_no_time() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    y = (X[:, 7] > 0).astype(int)
    model = RuleSVC(2, certify=False).fit(X, y)
    assert model.score(X, y) >= 0.95
    assert 7 in model.rules_[0].region.bounded


def test_where_nothing_can_be_told_apart_a_warning_says_so() -> None:
    X, y = np.ones((20, 2)), np.arange(20) % 2
    with pytest.warns(ClearmarginWarning, match="no rule tells the classes apart"):
        model = RuleSVC(certify=False).fit(X, y)
    assert len(model.rules_) == 0
    assert len(set(model.predict(X))) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        assert RuleSVC().fit(X, y).gap_ < 1e-12
        assert len(RuleSVC(None).fit(X, y).rules_) == 0


def test_a_class_of_one_row_needs_no_folds() -> None:
    X = np.arange(20.0)[:, None]
    y = np.r_[1, np.zeros(19, dtype=int)]
    model = RuleSVC(2, certify=False, class_weight="balanced").fit(X, y)
    assert model.predict([[0.0]])[0] == 1
    assert np.isnan(model.cv_score_)


def test_groups_and_splitters_make_the_folds() -> None:
    X, y = mixed_table(90)
    groups = np.arange(90) // 10
    assert (
        RuleSVC(2, cv=3, certify=False)
        .fit(X, y, groups=groups)
        .cv_results_["split2_test_score"]
        .size
    )
    halves = [(np.arange(45), np.arange(45, 90)), (np.arange(45, 90), np.arange(45))]
    model = RuleSVC(2, cv=halves, certify=False).fit(X, y)
    assert "split1_test_score" in model.cv_results_
    assert "split2_test_score" not in model.cv_results_


# An expert's rules.

ADVICE = "young: age < 40 and purpose = car => bad\nincome < 38 => bad\nwrong: age > 60 => bad"


def test_right_rules_are_believed_and_wrong_ones_are_not() -> None:
    X, y = mixed_table(60)
    model = RuleSVC(6, rules=ADVICE, cv=3, certify=False).fit(X, y)
    assert model.outcome_.verdicts[0] == "kept"
    assert "young: age < 40 and purpose = car => bad: kept with" in str(model.outcome_)
    assert any(rule.name == "young" and rule.origin == "expert" for rule in model.rules_)
    points = model.outcome_.to_frame()["points"]
    assert points[0] > 0
    far, truth = mixed_table(2000, seed=9)
    assert (
        model.score(far, truth) > RuleSVC(6, cv=3, certify=False).fit(X, y).score(far, truth) - 0.02
    )


def test_rules_for_the_other_class_are_ignored() -> None:
    X, y = mixed_table(120)
    swapped = "age < 40 and purpose = car => good\nincome < 38 => good"
    model = RuleSVC(6, rules=swapped, cv=3, certify=False).fit(X, y)
    assert model.outcome_.verdicts == ("ignored", "ignored")
    assert "ignored; right on" in str(model.outcome_[0])


def test_rules_are_columns_of_one_sign_in_the_linear_program() -> None:
    X, y = mixed_table(120)
    model = RuleSVC(None, C=0.2, rules=ADVICE, rule_price=0.1, cv=2).fit(X, y)
    without = RuleSVC(None, C=0.2, cv=2).fit(X, y)
    assert model.objective_ < without.objective_
    for rule, weight in zip(model.rules_, model.weights_, strict=True):
        assert rule.origin != "expert" or weight < 0  # "bad" is the first class
    assert model.outcome_[0].points > 0


def test_rules_may_name_categories_that_no_row_has() -> None:
    X, y = mixed_table(60)
    space = FeatureSpace(["purpose"], categories={"purpose": ["boat", "car"]})
    rules = parse_rules("purpose = boat => bad", space=space, classes=["good", "bad"])
    model = RuleSVC(2, rules=rules, cv=2, certify=False).fit(X, y)
    assert model.outcome_.verdicts == ("ignored",)
    assert "covers no training row" in str(model.outcome_)


BAD_OPTIONS = [
    ({"max_rules": 0}, "max_rules must be a whole number from 1 or None"),
    ({"max_conditions": 4}, "max_conditions must be one of 1, 2, 3"),
    ({"C": -1.0}, "C must be a positive number or None"),
    ({"penalty": -0.1}, "penalty must be a number from 0"),
    ({"max_bins": 1}, "max_bins must be a whole number from 2"),
    ({"linear": "yes"}, "linear must be False, True or 'free'"),
    ({"rule_price": 0.0}, "rule_price must be a number from 0.01 to 1"),
    ({"points": True, "linear": True}, "use linear=False"),
    ({"points": True, "max_rules": None}, "give max_rules a number"),
    ({"monotone": {"incom": 1}}, "did you mean 'income'"),
    ({"monotone": {"purpose": 1}}, "categorical, and categories have no direction"),
    ({"monotone": {"income": 2}}, "must be 1 or -1"),
    ({"monotone": ["income"]}, "monotone must be a mapping"),
    ({"class_weight": "even"}, "class_weight must be"),
    ({"cv": 1}, "cv must be a whole number from 2"),
    ({"rules": "age > 3 => ugly"}, "which is no class of y|unknown class"),
]


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS, ids=[str(o) for o, _ in BAD_OPTIONS])
def test_options_that_cannot_be_are_refused(options, message) -> None:
    X, y = mixed_table(40)
    with pytest.raises((InvalidValueError, RuleSyntaxError), match=message):
        RuleSVC(**options).fit(X, y)


def test_tables_that_cannot_be_learned_from_are_refused() -> None:
    X, y = mixed_table(40)
    with pytest.raises(DataError, match=r"inf.*column 'age'"):
        RuleSVC().fit(X.assign(age=np.inf), y)
    with pytest.raises(DataError, match="only one class"):
        RuleSVC().fit(X, np.zeros(40))
    with pytest.raises(DataError, match="sample_weight is zero for all rows of class 'bad'"):
        RuleSVC().fit(X, y, sample_weight=(y == "good").astype(float))
    with pytest.raises(InvalidValueError, match="rules= needs two classes"):
        RuleSVC(rules=ADVICE).fit(X, np.arange(40) % 3)
    with pytest.raises(InvalidValueError, match="monotone needs two classes"):
        RuleSVC(monotone={"age": 1}).fit(X, np.arange(40) % 3)
    with pytest.raises(RuleSyntaxError, match="unknown feature 'agee'"):
        RuleSVC(rules="agee < 3 => bad").fit(X, y)


def test_a_row_without_a_label_is_named():
    X, y = np.arange(6.0)[:, None], np.array(["a", "b", None, "a", "b", "a"], dtype=object)
    with pytest.raises(DataError, match="row 3 has no label; leave out the rows without one"):
        RuleSVC().fit(X, y)


@pytest.mark.parametrize(("unit", "offset"), [(1e-12, 0.0), (1e300, 0.0), (1.0, 1.7e9)])
def test_linear_terms_are_found_in_any_unit(unit, offset) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] > 0
    model = RuleSVC(1, linear="free", cv=3, certify=False).fit(X * unit + offset, y)
    assert {term.feature for term in model.weighted_rules_.linear} == {0, 1}
    assert model.score(X * unit + offset, y) > 0.9
