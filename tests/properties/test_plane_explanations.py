"""Explanations of linear models: boxes around cases, proved, against water-filling and enumerated sets of features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from tests.oracles import exact_side
from tests.oracles.sufficient_features import fewest_features

from clearmargin import RuleExtractor, explain, explain_many
from clearmargin.exceptions import DataError


def problem(seed):
    """A plane, points, and cases inside and outside of their range."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    X = rng.normal(size=(40, n)) * 10.0 ** rng.uniform(-2, 2, n)
    if seed % 3 == 0:
        X = np.round(X / X.std(axis=0) * 2)
    coef = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-1.5, 1.5, n)
    if seed % 4 == 1:
        coef[-1] = 0.0
    intercept = -float(np.median(X @ coef)) + 1e-3
    cases = np.vstack([X[:8], X[:4] * 1.7, X[4:8] + 0.3 * X.std(axis=0)])
    return X, coef, intercept, cases


def fitted(seed, **options):
    X, coef, intercept, cases = problem(seed)
    model = exact_side.given(X, coef, intercept)
    extractor = RuleExtractor(model, **options).fit(X, exact_side.sides(X, coef, intercept))
    return extractor, X, coef, intercept, cases


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["nothing", "wide", "narrow"]))
def test_explanations_hold_the_case_and_are_proved(seed, declared):
    X, *_ = problem(seed)
    reach = 2.0 * np.abs(X).max(axis=0) + 1.0
    ends = {"nothing": None, "wide": (-reach, reach), "narrow": (X.min(axis=0), X.max(axis=0))}
    bounds = ends[declared]
    options = {"max_rules": 3, "bounds": "data" if bounds is None else bounds}
    extractor, X, coef, intercept, cases = fitted(seed, **options)
    scores, which, space = cases @ coef + intercept, extractor.which(cases), extractor.space_
    many = extractor.explain_many(cases)
    for k, (case, told) in enumerate(zip(cases, many, strict=True)):
        region, sign = told.rule.region, 1 if scores[k] > 0 else -1
        assert told.label == told.rule.label == ("above" if sign > 0 else "below")
        assert exact_side.holds(region, case)
        assert (told.rule.proof, told.case) == ("proved", tuple(case))
        assert told.margin == pytest.approx(scores[k], rel=1e-9, abs=1e-9)
        assert told.kind == ("rule" if which[k] >= 0 else "sufficient")
        # Rules are proved within what is declared; sufficient features within the ranges seen and of the case.
        limits = bounds
        if told.kind == "sufficient":
            limits = np.minimum(space.lower, case), np.maximum(space.upper, case)
        assert exact_side.lies_on_side(region, coef, intercept, sign, limits)
    assert extractor.explain(cases[2]).rule == many[2].rule


numbers = st.integers(-4, 4)
whole_planes = st.integers(1, 6).flatmap(lambda n: st.tuples(
    st.lists(numbers, min_size=n, max_size=n).filter(any), st.integers(-12, 12),
    st.lists(st.integers(-3, 3), min_size=n, max_size=n)))  # fmt: skip


@settings(max_examples=80)
@given(whole_planes)
def test_explain_sufficient_has_the_fewest_features_also_on_the_plane_itself(plane):
    weights, intercept, case = plane
    X = np.array([[-3.0] * len(case), [3.0] * len(case), case])
    model = exact_side.given(X, weights, intercept)
    told = explain(model, case, X, guarantee="proved")
    sign = 1 if told.label == "above" else -1
    side = np.array(weights) * sign, intercept * sign, sign < 0
    assert told.is_fewest
    assert len(told.rule.region.bounded) == fewest_features([side], X[0], X[1], case)
    assert exact_side.lies_on_side(told.rule.region, weights, intercept, sign, (X[0], X[1]))


def credit(m=300):
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"age": rng.integers(20, 80, m), "purpose": rng.choice([*"chto"], m),
        "pay": rng.normal(size=m) * 1000, "since": 1.7e9 + rng.random(m) * 1e7})  # fmt: skip
    y = np.where(X.age + 20 * (X.purpose == "c") + X.pay / 100 > 55, "good", "bad")
    encode = make_column_transformer((OneHotEncoder(), ["purpose"]), remainder=StandardScaler())
    return X, y, make_pipeline(encode, LinearSVC(random_state=0)).fit(X, y)


def test_explain_many_with_categories_and_offsets_holds_for_every_allowed_case():
    X, y, model = credit()
    extractor = RuleExtractor(model).fit(X, y)
    rng, cases = np.random.default_rng(0), X.iloc[::20]
    predicted = model.predict(cases)
    for many in extractor.explain_many(cases), explain_many(model, cases, X, guarantee="proved"):
        for k, told in enumerate(many):
            box, kinds = told.rule.region, extractor.space_.categories[1]
            case = cases.iloc[k]
            allowed = box.sets[1] if 1 in box.sets else range(4)
            assert kinds.index(case["purpose"]) in allowed
            rows = {"purpose": rng.choice([kinds[c] for c in allowed], 100)}
            for j, name in ((0, "age"), (2, "pay"), (3, "since")):
                assert box.lower[j] <= case[name] <= box.upper[j]
                ends = [max(box.lower[j], X[name].min()), min(box.upper[j], X[name].max())]
                rows[name] = rng.choice(ends, 100)
            assert (model.predict(pd.DataFrame(rows)[X.columns]) == predicted[k]).all()
    far = X.iloc[[0]].assign(age=200, pay=-9e4)
    told = explain(model, far, X, guarantee="proved")
    assert told.label == model.predict(far)[0]
    with pytest.raises((DataError, ValueError), match="purpose"):
        extractor.explain(X.iloc[[0]].assign(purpose="none"))
