"""Rules with points: sums, choice and weights against plain recomputation, and what is said of single cases."""

from __future__ import annotations

import json
import math
import pickle

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier as Fixed
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.oracles import chosen_rules

from clearmargin import FeatureSpace, Rule, RuleSet, RuleSVC, parse_rules, scan
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning, FileDamagedError
from clearmargin.models import load_model, save_model
from clearmargin.points import (
    LinearTerm,
    Scorecard,
    scorecard_of,
    scorecard_schema,
)
from clearmargin.rules import Box, Interval

# Values: rules with weights

SPACE = FeatureSpace([*"xnc"], integer=[False, True, False], categories={"c": [*"uvw"]})
POINTS = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 1 / 3])
CASES = st.tuples(
    st.sampled_from([*np.arange(-1.0, 6.01, 0.25).tolist(), math.nan]),
    st.sampled_from([*np.arange(-1.0, 6.0).tolist(), math.nan]),
    st.sampled_from([0.0, 1.0, 2.0, -1.0, math.nan]),
).map(np.array)


@st.composite
def weighted_rules(draw):
    classes = draw(st.sampled_from([["a", "b"], ["a", "b", "c"]]))
    outputs = 1 if len(classes) == 2 else 3
    rules = []
    for _ in range(draw(st.integers(0, 5))):
        intervals = {}
        for j in draw(st.sets(st.sampled_from([0, 1]), max_size=2)):
            low, high = sorted(draw(st.tuples(st.integers(0, 4), st.integers(0, 4))))
            ends = draw(st.sampled_from([(low, math.inf), (-math.inf, high), (low, high + 1)]))
            intervals[j] = Interval(*ends, draw(st.sampled_from(["left", "right"])))
        sets = {2: draw(st.sets(st.integers(0, 2), min_size=1, max_size=2))}
        missing = [j for j in (0, 1) if j not in intervals and not draw(st.integers(0, 5))]
        box = Box.from_intervals(intervals, 3, sets if draw(st.booleans()) else {}, missing=missing)
        rules.append(Rule(box, draw(st.sampled_from(classes))))

    def numbers(*shape):
        drawn = np.array([draw(POINTS) for _ in range(math.prod((outputs, *shape)))])
        return drawn.reshape((outputs, *shape))[0 if outputs == 1 else slice(None)]

    terms = [LinearTerm(0, numbers(), 1.0), LinearTerm(2, numbers(3))]
    terms = [term for term in terms if draw(st.booleans())]
    limit = draw(POINTS) if outputs == 1 else 0.0
    return Scorecard(RuleSet(rules, SPACE, classes), numbers(len(rules)), numbers(), terms, limit)  # fmt: skip


def sums(said, case):
    """The scores of a case, added up in the order that is promised: intercept, linear terms, rules."""
    totals = np.atleast_1d(said.intercept).copy()
    for term in said.linear:
        value, coef = case[term.feature], np.asarray(term.coef)
        if term.fill is not None:
            totals = totals + coef * (term.fill if math.isnan(value) else value)
        elif value >= 0:
            totals = totals + coef[..., int(value)]
    for rule, weight in zip(said.rules, np.atleast_2d(said.weights).T, strict=True):
        totals = totals + weight if rule.region.contains(case[None])[0] else totals
    return totals


@given(weighted_rules(), CASES)
def test_weighted_rules_add_up_what_holds_and_the_highest_sum_decides(said, case):
    total, told = sums(said, case), said.explain(case)
    assert np.ravel(said.decision_function(case[None])).tolist() == total.tolist()
    place = int(total[0] > said.threshold) if len(total) == 1 else int(total.argmax())
    assert said.predict(case[None])[0] == told.label == said.classes[place]
    assert sum(part.points for part in told.parts) == pytest.approx(told.score, abs=1e-12)
    held = np.flatnonzero(said.rules.covers(case[None])[0]) + 1
    assert sorted(part.rule for part in told.parts if part.rule) == held.tolist()
    lead = np.diff(np.sort(total))[-1] if len(total) > 1 else total[0]
    assert told.score == pytest.approx(lead, abs=1e-12)
    assert json.loads(json.dumps(told.to_dict()))["text"] == str(told)
    back = Scorecard.from_dict(json.loads(json.dumps(said.to_dict())))
    assert back == said == pickle.loads(pickle.dumps(said))
    assert (hash(back), str(back)) == (hash(said), said.to_text())
    jsonschema.validate(said.to_dict(), scorecard_schema())
    # Each weight and each coefficient but zeros is a line, with the class it speaks for.
    lines = said.lines()
    coefs = np.concatenate([np.ravel(said.weights), *(np.ravel(term.coef) for term in said.linear)])
    assert sorted(line.points for line in lines) == sorted(coefs[coefs != 0].tolist())
    for line in lines:
        place = int(line.points > 0) if said.is_binary else line.output
        assert line.label == said.classes[place]
        assert line.text in said.to_text(digits=None)
    assert said.to_frame()["points"].tolist() == [line.points for line in lines]
    if said.is_binary and said.has_points:
        # Whole points decide from the sum on that is printed.
        least = int(said.summary().split(" sum to ")[1].split()[0]) + said.intercept
        assert least > said.threshold >= least - 1


@settings(max_examples=40)
@given(weighted_rules(), CASES)
def test_flips_of_an_explanation_are_the_nearest_values_that_change_the_class(said, case):
    told = said.explain(case)
    for flip in told.flips:
        changed, j = case.copy(), SPACE.index(flip.feature)
        changed[j] = SPACE.categories[j].index(flip.after) if j == 2 else flip.after
        assert said.predict(changed[None])[0] == flip.label != told.label
    for j, name in enumerate(SPACE.names):
        values = (np.arange(-8.0, 12.0, 1 / 16), np.arange(-9.0, 12.0), np.arange(3.0))[j]
        values = values[values != case[j]]
        rows = np.repeat(case[None], len(values), axis=0)
        rows[:, j] = values
        expected = values[said.predict(rows) != told.label]
        found = [flip.after for flip in told.flips if flip.feature == name]
        if j == 2:
            assert found == [SPACE.categories[2][int(v)] for v in expected]
        elif math.isnan(case[j]):
            assert bool(found) >= bool(len(expected))
        else:
            for side in (1, -1):
                nearest = [v for v in found if (v - case[j]) * side > 0]
                beyond = np.abs(expected - case[j])[(expected - case[j]) * side > 0]
                assert len(nearest) <= 1
                assert not len(beyond) or abs(nearest[0] - case[j]) <= beyond.min() + 1e-9


def test_flips_cross_weighted_sums_and_long_lists_are_cut_in_the_text():
    said = Scorecard(parse_rules("0.5*x + y <= 3 => a", classes=[*"ab"]), [-1.0], 0.5)
    flips = said.explain([2.0, 1.0]).flips
    assert [(f.feature, f.before, round(f.after, 9)) for f in flips] == [("x", 2, 4), ("y", 1, 2)]
    space = FeatureSpace(["<i>"], categories={"<i>": [f"k{k}" for k in range(12)]})
    rules = [Rule(Box.from_intervals({}, 1, {0: [k]}), "<b>") for k in range(12)]
    said = Scorecard(RuleSet(rules, space, ["<b>", "b"]), [-1.0, *[1.0] * 11], 0.0)
    told = said.explain(["k0"])
    assert [flip.after for flip in told.flips] == [f"k{k}" for k in range(1, 12)]
    assert "k11" not in str(told)
    assert not any(tag in said._repr_html_() for tag in ("<b>", "<i>"))


# The choice of few rules, and their weights


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    K, m = draw(st.sampled_from([2, 2, 3])), 42
    table = rng.integers(0, 5, (200, 3)).astype(float)
    table[:, 2] %= 3
    table = np.unique(np.where(rng.random((200, 3)) < 0.03, -9.0, table), axis=0)
    table = rng.permutation(table)[:m]
    table[table == -9.0] = np.nan
    z = np.nan_to_num(table[:, 0]) + 2.0 * (table[:, 2] == 1) * (table[:, 1] > 2)
    z = z + rng.normal(size=m)
    y = np.digitize(z, np.quantile(z, np.linspace(0, 1, K + 1)[1:-1]))
    # Weights that differ leave no two rules with equal gains.
    return table, y, rng.uniform(0.5, 2.0, m), rng.permutation(m), draw(st.sampled_from([1, 2]))


@settings(max_examples=8)
@given(problems())
def test_rulesvc_chooses_rules_cost_and_length_as_loops_over_all_rules_do(problem):
    table, y, weight, order, most = problem
    names = [None if np.isnan(code) else "uvw"[int(code)] for code in table[:, 2]]
    frame = pd.DataFrame(table[:, :2], columns=[*"ab"]).assign(c=pd.Series(names, dtype=object))
    parts = np.array_split(order, 3)
    folds = [(np.sort(np.setdiff1d(order, part)), np.sort(part)) for part in parts]
    signs = np.where(y == np.unique(y)[:, None], 1.0, -1.0)
    signs = signs if len(signs) > 2 else signs[1:]
    classes = {0: 1.5, 1: 1.0, 2: 0.75}
    model = RuleSVC(3, max_conditions=most, cv=folds, class_weight={k: classes[k] for k in {*y}})
    model.fit(frame, y, sample_weight=weight)
    weight = weight * [classes[k] for k in y]
    try:
        expected = chosen_rules.machine(table, {2}, signs, weight, folds, 3, most)
    except chosen_rules.AmbiguousError:
        reject()
    tried, merits, shares, best, held, weights = expected
    results = model.cv_results_
    assert [*zip(results["n_rules"], results["C"], results["max_conditions"], strict=True)] == tried
    assert results["mean_test_merit"] == pytest.approx(merits, abs=1e-5)
    assert results["rank_test_merit"][best] == 1
    assert results["mean_test_score"] == pytest.approx(shares.mean(axis=1))
    assert results["std_test_score"] == pytest.approx(shares.std(axis=1))
    assert results["split1_test_score"] == pytest.approx(shares[:, 1])
    assert model.cv_score_ == pytest.approx(shares[best].mean())
    assert pytest.approx(tried[best][1] / weight.mean()) == model.C_
    # A rule and its complement say the same, with the other sign and another start.
    total = weights[:, :1] + weights[:, 1:] @ held.T
    scores = np.atleast_2d(np.asarray(model.decision_function(frame)).T)
    digit = 10.0 ** math.ceil(math.log10(np.abs(weights[:, 1:]).max() + 1e-12)) / 1000
    assert np.abs(scores - total).max() <= digit * (held.shape[1] + 1)
    mine, rows = model.covers(frame), {mask.tobytes() for mask in [*held.T, *~held.T]}
    assert {mask.tobytes() for mask in mine.T} <= rows
    assert len(model.rules_) <= 3
    for rule, mask in zip(model.rules_, mine.T, strict=True):
        right = mask & (y == rule.label)
        assert (rule.stats.covered, rule.stats.correct) == (mask.sum(), right.sum())


def mixed_table(m=240, seed=0):
    """Numbers, a whole number, categories, missing values; the class depends on two of them together."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"income": rng.normal(50, 10, m).round(1), "age": rng.integers(18, 80, m) * 1.0}
    )
    X["purpose"] = rng.choice(["car", "house", "other"], m)
    risky = (X["age"] < 40) & (X["purpose"] == "car") | (X["income"] < 38)
    y = np.where(rng.random(m) < np.where(risky, 0.95, 0.06), "bad", "good")
    X.loc[rng.random(m) < 0.1, "income"] = np.nan
    X.loc[rng.random(m) < 0.1, "purpose"] = None
    return X, y


@pytest.fixture(scope="module")
def fitted():
    return RuleSVC(6, cv=3).fit(*mixed_table())


def test_rulesvc_gives_each_row_the_score_that_is_printed_and_a_calibrated_probability(fitted):
    X, y = mixed_table(1500, seed=2)
    held, scores = fitted.covers(X), fitted.decision_function(X)
    assert scores == pytest.approx(held @ fitted.weights_ + fitted.intercept_, abs=1e-9)
    assert np.abs(scores).min() > 1e-4  # no sum is at the threshold
    assert all(f"{weight:+g}" in str(fitted.scorecard_) for weight in fitted.weights_)
    assert (fitted.predict(X) == np.where(scores > 0, "good", "bad")).all()
    assert fitted.score(X, y) > 0.85
    assert fitted.which(X).tolist() == np.where(held.any(axis=1), held.argmax(axis=1), -1).tolist()
    p = fitted.predict_proba(X)
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert (np.diff(p[np.argsort(scores), 1]) >= 0).all()
    for low, high in ((0.0, 0.3), (0.7, 1.0)):
        inside = (p[:, 1] >= low) & (p[:, 1] <= high)
        assert abs(p[inside, 1].mean() - (y[inside] == "good").mean()) < 0.08
    shares = np.array([rule.stats.coverage for rule in fitted.rules_])
    assert (np.diff(np.abs(fitted.weights_) * np.sqrt(shares * (1 - shares))) <= 1e-9).all()
    odd = pd.DataFrame({"income": [np.nan], "age": [np.nan], "purpose": ["boat"]})
    for rule, weight, holds in zip(
        fitted.rules_, fitted.weights_, fitted.covers(odd)[0], strict=True
    ):
        assert rule.label == fitted.classes_[int(weight > 0)]
        assert holds == all(j in rule.region.missing for j in rule.region.bounded)
    assert fitted.explain(X.iloc[0]) == fitted.scorecard_.explain(X.iloc[[0]])


def test_rulesvc_does_not_depend_on_the_order_of_rows_and_weights_are_repeated_rows():
    X, y = mixed_table()
    rng = np.random.default_rng(5)
    order, weight, groups = rng.permutation(240), rng.integers(0, 3, 240), np.arange(240) // 8
    rows = np.repeat(np.arange(240), weight)
    for more in ({}, {"groups": groups}, {"times": groups}):
        some, turned = ({k: v[at] for k, v in more.items()} for at in (rows, order))
        whole = RuleSVC(4, cv=3).fit(X, y, sample_weight=weight, **more)
        repeated = RuleSVC(4, cv=3).fit(X.iloc[rows], y[rows], **some)
        second = RuleSVC(4, cv=3).fit(X.iloc[order], y[order], weight[order], **turned)
        assert repeated.scorecard_ == second.scorecard_ == whole.scorecard_
        assert second.calibration_ == pytest.approx(whole.calibration_, rel=1e-6)
    seeds = (1, 1, np.random.RandomState(2))
    seeded = [RuleSVC(3, cv=3, random_state=seed).fit(X, y).cv_score_ for seed in seeds]
    assert seeded[0] == seeded[1] != seeded[2]


def best_points(model, X, y):
    """The highest accuracy of whole weights of at most 10, over all scales and all thresholds."""
    best, held = 0.0, model.covers(X)
    for top in range(1, 11):
        total = held @ np.rint(model.weights_ * top / np.abs(model.weights_).max())
        for limit in np.arange(total.min() - 0.5, total.max() + 1.0):
            best = max(best, ((total > limit) == y).mean())
    return best


def test_rulesvc_points_are_small_whole_numbers_as_right_as_any():
    X, y = mixed_table()
    plain, model = (RuleSVC(6, cv=3, points=points).fit(X, y) for points in (False, True))
    assert model.scorecard_.has_points
    assert np.abs(model.weights_).max() <= 10
    assert model.score(X, y) == pytest.approx(best_points(plain, X, y == "good"))
    assert abs(model.predict_proba(X)[:, 1].mean() - (y == "good").mean()) < 0.05
    Z = np.random.default_rng(0).uniform(size=(210, 3))
    z = np.array(["low", "mid", "top"])[(Z[:, 0] > 0.3).astype(int) + (Z[:, 1] > 0.6)]
    for points in (False, True):
        three = RuleSVC(8, cv=3, points=points).fit(Z, z)
        best = three.decision_function(Z).argmax(axis=1)
        assert three.weights_.shape == (3, len(three.rules_))
        assert three.intercept_.shape == (3,)
        assert (three.scorecard_.has_points, len(three.rules_) <= 8) == (points, True)
        assert (three.predict(Z) == three.classes_[best]).all()
        assert three.score(Z, z) > 0.9
        assert points or (three.predict_proba(Z).argmax(axis=1) == best).all()


def test_rulesvc_options_do_what_they_say():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(0, 10, (300, 2)), columns=["income", "age"])
    y = (np.sin(X["income"]) + 0.1 * X["income"] + 0.2 * X["age"] > 1.2).astype(int)
    grid = pd.DataFrame({"income": np.linspace(-1, 11, 200), "age": 5.0})
    turned = grid[["age", "income"]].set_axis([*grid], axis=1)
    assert (np.diff(RuleSVC(8, cv=2).fit(X, y).decision_function(grid)) < 0).any()
    for options in ({}, {"linear": "free"}, {"linear": True}, {"max_conditions": 3}):  # fmt: skip
        model = RuleSVC(8, cv=2, **options)
        up, down = (clone(model).set_params(monotone={"income": s, "age": 1}).fit(X, y) for s in (1, -1))  # fmt: skip
        assert (np.diff(up.decision_function(grid)) >= -1e-12).all()
        assert (np.diff(down.decision_function(grid)) <= 1e-12).all()
        assert (np.diff(down.decision_function(turned)) >= -1e-12).all()
    Z = rng.uniform(size=(400, 5))
    z = (Z[:, :3] > 0.4).all(axis=1)
    three = RuleSVC(2, max_conditions=3, cv=3).fit(Z, z)
    assert (three.rules_[0].n_conditions, three.score(Z, z) > 0.97) == (3, True)


@pytest.mark.parametrize(("unit", "offset"), [(1e-12, 0.0), (1e300, 0.0), (1.0, 1.7e9)])
@pytest.mark.parametrize("linear", [True, "free"])
def test_rulesvc_linear_terms_are_found_in_any_unit(unit, offset, linear):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"time": rng.normal(size=120), "site": rng.choice([*"ab"], 120)})
    X, y = X.assign(one=1.0, none=np.nan), X["time"] + (X["site"] == "b") > 0.5
    X["time"] = X["time"] * unit + offset
    X.loc[:5, "time"] = np.nan
    model = RuleSVC(3, linear=linear, cv=3).fit(X, y)
    assert {term.feature for term in model.scorecard_.linear} >= {0}
    assert model.score(X, y) > 0.9
    assert not {2, 3} & {j for rule in model.rules_ for j in rule.region.bounded}


def test_rulesvc_of_many_conditions_and_many_rows_finds_the_place():
    rng = np.random.default_rng(3)
    # 14 columns with 62 conditions each: thresholds are thinned out, and moved to the best place in the end.
    X = rng.permuted(np.tile(np.arange(32.0), (14, 12)), axis=1).T
    one, two = X[:, 5] > 20.5, (X[:, 5] > 20.5) & (X[:, 2] <= 10.5)
    assert RuleSVC(1, cv=2, max_conditions=1).fit(X, one).score(X, one) == 1.0
    assert RuleSVC(1, cv=2).fit(X, two).score(X, two) == 1.0
    # Of 60,000 rows a sample chooses the rules, with 500 rows of a rare class, which weigh what all its rows weigh.
    Z = rng.normal(size=(60_000, 2))
    z = (Z[:, 0] + rng.normal(size=60_000)) > 2.9
    found = RuleSVC(1, cv=2, max_conditions=1).fit(Z, z)
    assert found.cv_score_ == pytest.approx(found.score(Z, z), abs=0.01)
    assert [rule.region.bounded for rule in found.rules_] == [(0,)]
    assert found.rules_[0].stats.rows == 60_000


def test_rulesvc_where_little_can_be_learned():
    for points in (False, True):
        with pytest.warns(ClearmarginWarning):
            model = RuleSVC(points=points).fit(np.ones((20, 2)), np.arange(20) % 2)
        assert (len(model.rules_), len(set(model.predict(np.ones((9, 2)))))) == (0, 1)
    lone = RuleSVC(2, class_weight="balanced").fit(np.arange(20.0)[:, None], np.arange(20) == 0)
    assert lone.predict([[0.0], [9.0]]).tolist() == [True, False]
    assert (np.isnan(lone.cv_score_), lone.cv_results_) == (True, {})
    assert lone.predict_proba([[0.0]])[0, 1] > 0.5
    rng = np.random.default_rng(0)
    noise = [(rng.normal(size=(150, 6)), rng.permutation(150) % 2) for _ in range(3)]
    # The highest of several settings; a leak would give 0.65 and more.
    models = [RuleSVC(10).fit(*table) for table in noise]
    assert np.mean([model.cv_score_ for model in models]) < 0.57
    assert {*models[0].cv_results_["n_rules"]} == {10, 8, 6, 4, 2, 1}


def test_rulesvc_of_many_rows_in_a_file_counts_an_experts_rules_on_all_rows(tmp_path):
    rng, m, path = np.random.default_rng(0), 120_000, tmp_path / "t.parquet"
    X = pd.DataFrame({"a": rng.integers(0, 9, m), "b": rng.choice([*"uv"], m), "c": np.arange(m)})
    y = np.where((X.a > 4) & (X.b == "u") ^ (rng.random(m) < 0.1), "ill", "well")
    X.assign(y=y).to_parquet(path, row_group_size=50_000)
    model = RuleSVC(2, cv=2, rules="c > 1 => ill").fit(scan(path, "y"))
    assert model.outcome_[0].rule.stats.covered == m - 2
    assert (model.score(X, y) > 0.85, model.n_sampled_rows_ < 101_000) == (True, True)


# An expert's rules

ADVICE = "young: age < 40 and purpose = car => bad\nincome < 38 => bad\nwrong: age > 60 => bad"
RIGHT = "both: a > 0 and b > 0 => yes\nnone: a <= 0 and b <= 0 => no"
SWAPPED = "both: a > 0 and b > 0 => no\nnone: a <= 0 and b <= 0 => yes"


def table(m, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(m, 5)), columns=[*"abcde"])
    return X, np.where(X["a"] + X["b"] + noise * rng.normal(size=m) > 0, "yes", "no")


def test_rulesvc_believes_right_rules_as_far_as_cases_are_few():
    X, y = table(20, seed=3, noise=0.7)
    new, labels = table(2000, seed=1)
    plain, advised = RuleSVC().fit(X, y), RuleSVC(rules=RIGHT).fit(X, y)
    assert advised.vote_share_ > 0.5 > plain.vote_share_ == 0.0
    assert advised.outcome_.verdicts == ("kept", "kept")
    assert advised.score(new, labels) > plain.score(new, labels) + 0.03
    assert RuleSVC(rules=RIGHT).fit(*table(300, noise=0.3)).vote_share_ == 0.0
    Z, z = table(20)
    swapped = RuleSVC(rules=SWAPPED).fit(Z, z)
    assert (swapped.vote_share_, swapped.outcome_.verdicts) == (0.0, ("ignored", "ignored"))
    assert (swapped.predict(Z) == RuleSVC().fit(Z, z).predict(Z)).all()
    few = RuleSVC(1, rules=RIGHT).fit(X, y)
    assert (few.vote_share_, len(few.rules_) <= 1) == (0.0, True)
    known = pd.DataFrame({"a": [1.0, -1.0, 2.0], "b": [1.0, -2.0, 2.0]})
    model = RuleSVC(rules=RIGHT).fit(known, ["yes", "no", "yes"])
    assert model.vote_share_ == pytest.approx(1 / (1 + (3 / 100) ** 2), abs=1e-3)


def test_rulesvc_vote_share_is_what_the_formula_says():
    X, y = table(30, noise=1.0)
    vote, sign = parse_rules(RIGHT).covers(X) @ [1.0, -1.0], np.where(y == "yes", 1.0, -1.0)
    wrong = (np.where(vote == 0, np.sign(sign.sum()), vote) != sign).sum()
    prior = 1 / (1 + (30 / 100) ** 2)
    for options in ({}, {"points": True}, {"linear": "free"}):
        model = RuleSVC(6, cv=3, rules=RIGHT, **options).fit(X, y)
        a, b = prior * math.exp(-wrong / 2), (1 - prior) * math.exp(-30 * (1 - model.cv_score_) / 2)
        assert model.vote_share_ == pytest.approx(a / (a + b), abs=6e-4)
        assert (len(model.rules_) <= 6, model.score(X, y) > 0.7) == (True, True)
        assert np.corrcoef(model.predict_proba(X)[:, 1], y == "yes")[0, 1] > 0.5
        assert clone(model).fit(X[::-1], y[::-1]).scorecard_ == model.scorecard_
        assert model.scorecard_.has_points == ("points" in options)
        kept = dict(zip((rule.name for rule in model.rules_), np.abs(model.weights_), strict=True))
        for told in model.outcome_:
            assert told.points == pytest.approx(kept.get(told.rule.name, 0.0))


def test_rulesvc_matches_rules_with_columns_categories_and_files(tmp_path):
    X, y = mixed_table(60)
    rules = parse_rules(ADVICE, classes=["good", "bad"])
    files = rules.save(tmp_path / "r.json"), str(rules.save(tmp_path / "r.rules"))
    sources = ADVICE, rules, *files
    model, *others = (RuleSVC(6, rules=source, cv=3).fit(X, y) for source in sources)
    assert all(other.scorecard_ == model.scorecard_ for other in others)
    for told, held in zip(model.outcome_, rules.covers(X).T, strict=True):
        right = (held & (y == "bad")).sum()
        assert (told.rule.stats.covered, told.rule.stats.correct) == (held.sum(), right)
        assert told.verdict == ("kept" if told.points > 0 else "ignored")
        assert told.text in str(model.outcome_)
    assert model.outcome_[:1].verdicts == ("kept",)
    assert model.outcome_.to_frame()["points"].tolist() == [told.points for told in model.outcome_]
    facts = model.to_report(X, y, cv=None).to_dict()["points"]
    assert [each["verdict"] for each in facts["experts"]] == [*model.outcome_.verdicts]
    assert json.loads(json.dumps(model.outcome_.to_dict()))[0]["name"] == "young"
    space = FeatureSpace(["purpose"], categories={"purpose": ["boat", "car"]})
    unseen = parse_rules("purpose = boat => bad", space=space, classes=["good", "bad"])
    boat = RuleSVC(2, rules=unseen, cv=2).fit(X, y).outcome_[0]
    assert (boat.verdict, boat.rule.stats.covered, str(boat) != "") == ("ignored", 0, True)
    # Weighted sums, names of categories that look like numbers, columns of an array by name or by place.
    Z = np.column_stack([np.arange(40.0), np.tile([1.0, 3.0], 20)])
    z = np.where(Z.sum(axis=1) > 20, "p", "q")
    grades = pd.DataFrame({"a": Z[:, 0], "grade": pd.Categorical(Z[:, 1].astype(int).astype(str))})
    for frame, text, counts in (
        (Z, "x0 + x1 > 20 => p\nx1 = 3 => p", [(z == "p").sum(), 20]),
        (Z, parse_rules("left > 9 => p\nright = 3 => p"), [30, 20]),
        (grades, "a > 9 => p\ngrade = 3 => p\ngrade = 7 => q", [30, 20, 0]),
        (grades, "a is missing => p\ngrade in {`1`, `3`} => p", [0, 40]),
    ):
        told = RuleSVC(4, rules=text, cv=2).fit(frame, z).outcome_
        assert [each.rule.stats.covered for each in told] == counts


# Files, thresholds, refusals


def test_rulesvc_comes_back_from_a_file_as_it_was(tmp_path):
    X, y = mixed_table(90)
    options = {"linear": True, "rules": parse_rules("age > 60 => bad"), "random_state": np.int64(9)}
    model = RuleSVC(4, cv=3, monotone={"age": 1}, class_weight={"bad": 1, "good": 2}, **options).fit(X, y)  # fmt: skip
    model.facts_ = {"target": "risk", "rows": 90}
    path = save_model(model, tmp_path / "svm.json")
    back = load_model(path)
    jsonschema.validate(json.loads(path.read_text()), scorecard_schema())
    assert back.scorecard_ == model.scorecard_
    assert (back.predict_proba(X) == model.predict_proba(X)).all()
    assert back.get_params() == model.get_params() | {"rules": model.rules.to_text()}
    for name in ("C_", "cv_score_", "vote_share_", "n_features_in_", "outcome_", "facts_"):
        assert getattr(back, name) == getattr(model, name)
    assert back.feature_names_in_.tolist() == list(X)
    assert save_model(back, tmp_path / "again.json").read_text() == path.read_text()
    # A splitter is no plain data, and arrays have no names.
    Z = np.arange(40.0)[:, None]
    other = RuleSVC(2, cv=StratifiedKFold(2)).fit(Z, Z[:, 0] > 20)
    other = load_model(save_model(other, tmp_path / "bare.json"))
    assert (other.cv, hasattr(other, "feature_names_in_")) == (5, False)
    assert other.predict([[3.0], [33.0]]).tolist() == [False, True]
    value = load_model(save_model(model.scorecard_, tmp_path / "value.json"))
    assert (value.predict(X) == model.predict(X)).all()
    assert (value.predict_proba(X) == 0.5).all()
    scaled = make_pipeline(StandardScaler(), RuleSVC(1, cv=2)).fit(Z, Z[:, 0] > 20)
    with pytest.raises(ClearmarginError, match="Pipeline"):
        save_model(scaled, tmp_path / "no.json")
    assert scorecard_of(scaled) is None
    assert scorecard_of(RidgeClassifier().fit(Z, Z[:, 0] > 20)) is None


@pytest.mark.parametrize("label", ["bad", "good"])
@pytest.mark.parametrize("response", ["predict_proba", "decision_function"])
def test_rulesvc_behind_a_threshold_is_read_as_it_predicts(label, response, fitted, tmp_path):
    X, y = mixed_table()
    scores = np.unique(fitted.decision_function(X)) * (1.0 if label == "good" else -1.0)
    # Thresholds at scores that rows have, where it matters who gets a tie.
    for value in [0.1, 0.5, 0.9] if response == "predict_proba" else scores[[1, 3, -2]].tolist():
        model = Fixed(fitted, threshold=value, pos_label=label, response_method=response)
        assert (scorecard_of(model).predict(X) == model.predict(X)).all()
    back = load_model(save_model(model.fit(X, y), tmp_path / "careful.json"))
    assert (back.predict(X) == model.predict(X)).all()
    tuned = TunedThresholdClassifierCV(FrozenEstimator(fitted), cv="prefit", refit=False).fit(X, y)
    assert (scorecard_of(tuned).predict(X) == tuned.predict(X)).all()
    assert scorecard_of(make_pipeline(fitted)) is fitted.scorecard_


X40, Y40 = mixed_table(40)
TWO = parse_rules("n > 2 => b\nc = u => a", space=SPACE, classes=[*"ab"])
THREE = Scorecard(RuleSet(TWO.rules, SPACE, [*"abc"]), np.ones((3, 2)), np.ones(3))
OPTIONS = [
    ("max_rules", 0), ("max_rules", None), ("max_conditions", 4),
    ("linear", "yes"), ("class_weight", "even"), ("cv", 1), ("monotone", {"purpose": 1}),
    ("monotone", {"income": 2}), ("monotone", ["income"]), ("monotone", {"incom": 1}), ("rules", 7),
    ("rules", "none.rules"),
]  # fmt: skip
RULES = [
    ("age > 3 => ugly", "ugly"), (parse_rules("age > 3 => ugly"), "ugly"), ("agee < 3 => bad", "'age'"),
    ("age = old => bad", "'age'"), (parse_rules("size > 3 => bad"), "'size'"), ("purpose >= 3 => bad", "purpose"),
    (parse_rules("age = old => bad"), "'age'"),
]  # fmt: skip
TERMS = [
    ("x", "LinearTerm"), (LinearTerm(7, 1, 0), "7"), (LinearTerm(2, 1, 0), "fill"), (LinearTerm(2, [1]), "'c'"),
    (LinearTerm(0, [1, 2], 0), "'x'"),
]  # fmt: skip
REFUSED = [
    *((lambda o=o, v=v: RuleSVC(**{o: v}).fit(X40, Y40), o) for o, v in OPTIONS),
    *((lambda r=r: RuleSVC(rules=r).fit(X40, Y40), word) for r, word in RULES),
    *((lambda term=term: Scorecard(TWO, [1, 2], 0, [term]), word) for term, word in TERMS),
    (lambda: RuleSVC().fit(X40.assign(age=np.inf), Y40), "'age'"),
    (lambda: RuleSVC().fit(X40, Y40, Y40 == "good"), "'bad'"),
    (lambda: RuleSVC().fit(X40, np.where(np.arange(40) == 2, None, Y40)), "row 3"),
    (lambda: RuleSVC(rules=ADVICE).fit(X40, np.arange(40) % 3), "rules"),
    (lambda: RuleSVC(monotone={"age": 1}).fit(X40, np.arange(40) % 3), "monotone"),
    (lambda: Scorecard([], [], 0.0), "RuleSet"), (lambda: Scorecard(TWO, [1.0], 0.0), "weights"),
    (lambda: Scorecard(RuleSet([], SPACE, ["a"]), [], 0.0), "classes"), (lambda: LinearTerm(0, 1.0), "fill"),
    (lambda: Scorecard(TWO, [1, np.inf], 0.0), "finite"), (lambda: THREE.with_threshold(1.0), "threshold"),
    (lambda: Scorecard(TWO, [1, 2], 0, [LinearTerm(0, 1, 0)] * 2), "'x'"),
    (lambda: LinearTerm(0, 1.0, np.inf), "inf"), (lambda: LinearTerm(0, [[[1.0]]]), "coefficients"),
    (lambda: Scorecard(TWO, [1, 2], 0).explain([[1, 2, 0]] * 2), "case"),
    (lambda: Scorecard(TWO, [1, 2], 0, [LinearTerm(0, 1, 0)]).predict([[np.inf, 1, 0]]), "'x'"),
]  # fmt: skip
SCORE = {"intercept": 0, "weights": [1, 2]}
TRAINED = {"trained_by": "RuleSVC", "parameters": {}, "figures": {}, "calibration": [[1.0, 0.0]]}
DAMAGED = [
    ({"scores": [SCORE | {"weights": [1]}]}, "weights"), ({"scores": [SCORE] * 2}, "scores"),
    ({"linear": [{"feature": "height", "coefs": [[1.0]]}]}, "height"), ({"linear": [{}]}, "feature"),
    ({"linear": [{"feature": "x", "coefs": [[1.0, 2.0]], "fill": 1}]}, "'x'"), ({"rules": {}}, "rules"),
    ({"linear": [{"feature": "x", "coefs": [[1.0]]}]}, "fill"), ({"format": "clearmargin-rules"}, "RuleSet.load"),
    *(({"training": TRAINED | {name: value}}, f"{name}|max_rule|'C'") for name, value in [
        ("calibration", [[1.0]]), ("calibration", [[-1.0, 0.0]]), ("parameters", {"max_rule": 3}),
        ("trained_by", "SVC"), ("figures", {"C": "small"}), ("experts", {"rules": TWO.to_dict(), "points": [1.0]}),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("act", "word"), REFUSED)
def test_weighted_rules_and_rulesvc_refuse_what_makes_no_sense_by_name(act, word):
    with pytest.raises(ClearmarginError, match=word):
        act()


@pytest.mark.parametrize(("change", "word"), DAMAGED)
def test_damaged_documents_of_weighted_rules_are_refused_by_file_and_place(change, word, tmp_path):
    data, path = Scorecard(TWO, [1, 2], 0.0).to_dict() | change, tmp_path / "model.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(FileDamagedError, match=rf"(?s)model.json.*{word}"):
        load_model(path)
