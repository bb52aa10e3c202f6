"""Explanations: boxes around cases, proved where they say so, and words about them."""

from __future__ import annotations

import sys
import time

import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin import (
    LPSVC,
    Explanation,
    FeatureSpace,
    Rule,
    RuleExtractor,
    ScoreRules,
    grow_box,
    parse_rules,
    recourse,
)
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.plane_rules.explain import (
    central_boxes,
    largest_boxes,
    normal_boxes,
    on_demand_box,
)
from clearmargin.plane_rules.side import Region, Side
from clearmargin.rules import Box, Hyperplane
from clearmargin.tables.table import case_table

KINDS = ["rule", "on_demand", "largest", "central"]


def problem(seed):
    """A plane, its rules, and cases inside and outside of the range of the data."""
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


def extractor_of(oracle, seed, **parameters):
    X, coef, intercept, cases = problem(seed)
    model = oracle.given(X, coef, intercept)
    fitted = RuleExtractor(model, **parameters).fit(X, oracle.sides(X, coef, intercept))
    return fitted, coef, intercept, cases


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.booleans())
def test_every_explanation_contains_its_case_and_proofs_stand_up(oracle, seed, kind, declared):
    X, *_ = problem(seed)
    reach = 2.0 * np.abs(X).max(axis=0) + 1.0
    bounds = (-reach, reach) if declared else None
    extractor, coef, intercept, cases = extractor_of(
        oracle, seed, bounds=bounds if declared else "data"
    )
    said = extractor.estimator_.predict(cases)
    for case, label, explanation in zip(
        cases, said, extractor.explain_many(cases, kind), strict=True
    ):
        assert explanation.label == explanation.rule.label == label
        assert oracle.holds(explanation.rule.region, case)
        sign = 1 if label == "above" else -1
        proved = oracle.lies_on_side(explanation.rule.region, coef, intercept, sign, bounds)
        assert proved == (explanation.rule.proof == "proved")
        assert proved
        assert explanation.margin == pytest.approx(
            float(oracle.value(coef, intercept, case)), rel=1e-6, abs=1e-9
        )
        assert explanation.kind in ((kind, "on_demand") if kind == "rule" else (kind,))


@given(st.integers(0, 10**6))
def test_a_case_outside_of_declared_ranges_gets_a_box_that_is_sound_without_them(oracle, seed):
    X, *_ = problem(seed)
    extractor, coef, intercept, cases = extractor_of(
        oracle, seed, bounds=(X.min(axis=0), X.max(axis=0))
    )
    outside = ((cases < X.min(axis=0)) | (cases > X.max(axis=0))).any(axis=1)
    for kind in KINDS:
        for case, explanation in zip(
            cases[outside], extractor.explain_many(cases[outside], kind), strict=True
        ):
            sign = 1 if explanation.label == "above" else -1
            assert oracle.holds(explanation.rule.region, case)
            assert oracle.lies_on_side(explanation.rule.region, coef, intercept, sign)


@given(st.integers(0, 10**6))
def test_boxes_on_demand_meet_the_rules_of_their_class_on_faces_at_most(oracle, seed):
    extractor, _, _, cases = extractor_of(oracle, seed, max_rules=3)
    which = extractor.which(cases)
    for k, (case, explanation) in enumerate(zip(cases, extractor.explain_many(cases), strict=True)):
        if which[k] >= 0:
            assert explanation.kind == "rule"
            assert explanation.rule is extractor.rules_[int(which[k])]
            continue
        assert explanation.kind == "on_demand"
        mine = explanation.rule.region
        assert oracle.holds(mine, case)
        for rule in extractor.rules_:
            if rule.label != explanation.label:
                continue
            low = np.maximum(mine.lower, rule.region.lower)
            high = np.minimum(mine.upper, rule.region.upper)
            assert (low >= high).any() or (np.nextafter(low, np.inf) >= high).any()


def side_and_domain(seed, n=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6)) if n is None else n
    a = 10.0 ** rng.uniform(-1, 1, n)
    near, width = rng.normal(size=n), 10.0 ** rng.uniform(-0.5, 0.5, n)
    g = float(a @ near + rng.uniform(0.2, 0.9) * (a @ width))
    flags = np.ones(n, dtype=bool)
    side = Side.of(Hyperplane(a, -g).side(-1))
    Z = near + rng.random((200, n)) * width
    Z = Z[g - 1e-3 > Z @ a]
    return side, Region(near, near + width, flags, flags), Z if len(Z) else near[None]


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_box_is_that_of_a_conic_solver(seed):
    side, domain, Z = side_and_domain(seed)
    near, far = largest_boxes(side, domain, Z[:1])
    c = cp.Variable(len(side.a))
    problem = cp.Problem(
        cp.Maximize(cp.sum(cp.log(c - domain.near))),
        [side.a @ c <= side.g, c >= Z[0], c <= domain.far],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    np.testing.assert_array_equal(near[0], domain.near)
    assert np.log(far[0] - near[0]).sum() == pytest.approx(problem.value, abs=1e-6)
    np.testing.assert_allclose(far[0], c.value, atol=1e-3)


@given(st.integers(0, 10**6))
def test_no_random_box_around_a_case_is_larger_than_the_largest(seed):
    side, domain, Z = side_and_domain(seed)
    near, far = largest_boxes(side, domain, Z)
    assert (near <= Z).all()
    assert (far >= Z).all()
    assert (far @ side.a <= side.g * (1 + 1e-12) + 1e-12).all()
    rng = np.random.default_rng(seed)
    volume = np.prod(far - near, axis=1)
    for _ in range(50):
        # Any share of the slack, any near faces: what is spent on one feature is lost to the others.
        shares = rng.dirichlet(np.ones(len(side.a)), len(Z)) * (side.g - Z @ side.a)[:, None]
        tried_far = np.minimum(Z + shares / side.a, domain.far)
        tried_near = domain.near + rng.random(Z.shape) * (Z - domain.near) * rng.integers(0, 2)
        assert (np.prod(tried_far - tried_near, axis=1) <= volume * (1 + 1e-6)).all()


@given(st.integers(0, 10**6))
def test_a_central_box_has_its_case_strictly_inside(seed):
    side, domain, Z = side_and_domain(seed)
    inner = Z[((domain.near < Z) & (domain.far > Z)).all(axis=1)]
    for make in (central_boxes, normal_boxes):
        near, far = make(side, domain, inner)
        assert (near < inner).all()
        assert (far > inner).all()
        assert (far @ side.a <= side.g + 1e-12 * abs(side.g)).all()


@given(st.integers(0, 10**6))
def test_a_normal_box_has_the_foot_of_the_normal_for_a_corner_and_the_case_in_the_middle(seed):
    side, domain, Z = side_and_domain(seed)
    near, far = normal_boxes(side, domain, Z)
    np.testing.assert_allclose((near + far) / 2, Z, atol=1e-9)
    foot = Z + ((side.g - Z @ side.a) / (side.a @ side.a))[:, None] * side.a
    np.testing.assert_allclose(far, foot, atol=1e-6)


@given(st.integers(0, 10**6))
def test_on_demand_boxes_hold_the_case_below_the_plane_and_beside_other_boxes(seed):
    side, domain, Z = side_and_domain(seed)
    rng = np.random.default_rng(seed)
    flags = np.ones(len(side.a), dtype=bool)
    for z in Z[:5]:
        other_far = domain.near + rng.random(len(z)) * (z - domain.near)
        other = Region(domain.near, other_far, flags, flags & (other_far < z))
        near, far = on_demand_box(side, domain, z, [other] if (other_far < z).any() else [])
        assert (near <= z).all()
        assert (z <= far).all()
        assert float(side.a @ far) <= side.g + 1e-12 * abs(side.g)
        if (other_far < z).any():
            assert (near >= other_far).any() or (far <= other.near).any()


def test_next_to_the_plane_the_case_is_its_own_box_on_demand():
    # There are too few digits left for a corner between the case and the plane.
    z = np.array([1e15, 1e15])
    side = Side.of(Hyperplane([1.0, 1.0], -2e15).side(-1))
    flags = np.ones(2, dtype=bool)
    near, far = on_demand_box(side, Region(z - 1.0, z + 1.0, flags, flags), z, [])
    assert (near <= z).all()
    np.testing.assert_array_equal(far, z)


@pytest.fixture(scope="module")
def wbc():
    X, y = load_wbc(return_X_y=True)
    return X, y, RuleExtractor(LPSVC(nu=0.0025), criterion="coverage-lp").fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_many_explanations_are_those_of_single_cases(wbc, kind):
    X, _, extractor = wbc
    some = X.iloc[::60]
    many = extractor.explain_many(some, kind)
    assert len(many) == len(some)
    for k, explanation in enumerate(many):
        one = extractor.explain(some.iloc[[k]], kind)
        assert one == explanation
        assert str(one) == str(explanation)
    assert many[2:4] == [many[2], many[3]]
    assert many[-1] == many[len(many) - 1]
    np.testing.assert_allclose([e.confidence for e in many], many.confidence)
    with pytest.raises(IndexError, match="out of range"):
        many[len(many)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_words_name_features_and_class(wbc, kind):
    X, _, extractor = wbc
    explanation = extractor.explain(X.iloc[[0]], kind)
    assert explanation.text == str(explanation)
    assert explanation.text.startswith(f"The case is {explanation.label} (score ")
    conditions = [extractor.space_.names[j] for j in explanation.rule.region.bounded]
    assert conditions
    assert all(name in explanation.text for name in conditions)
    assert "On all of it the model says the same" in explanation.text
    assert f"then {explanation.label}" in explanation.text


def test_confidence_is_the_mean_of_parts_that_are_shares(wbc):
    X, y, extractor = wbc
    for kind in KINDS:
        for explanation in extractor.explain_many(X.iloc[::40], kind):
            parts = explanation.parts
            assert set(parts) == {"coverage", "purity", "volume", "distance"}
            assert all(0 <= share <= 1 for share in parts.values())
            assert explanation.confidence == pytest.approx(np.mean(list(parts.values())))
            region = explanation.rule.region
            right = (extractor.estimator_.predict(X) == y) & (y == explanation.label)
            held = region.contains(X.to_numpy(dtype=float))
            assert parts["coverage"] == pytest.approx((held & right).sum() / right.sum(), abs=0.02)
            purity = ((held & (y == explanation.label)).sum() + 1) / (held.sum() + 2)
            assert parts["purity"] == pytest.approx(purity, abs=0.05)


def test_the_largest_box_has_all_of_its_volume_and_no_other_has_more(wbc):
    X, _, extractor = wbc
    some = X.iloc[::40]
    np.testing.assert_allclose(extractor.explain_many(some, "largest").parts["volume"], 1.0)
    assert (extractor.explain_many(some, "central").parts["volume"] <= 1.0).all()


@pytest.mark.parametrize("kind", ["rule", "central"])
def test_ten_thousand_explanations_take_about_a_second(wbc, kind):
    X, _, extractor = wbc
    cases = pd.concat([X] * 15, ignore_index=True).iloc[:10_000]
    start = time.process_time()
    explanations = extractor.explain_many(cases, kind)
    assert len(explanations) == 10_000
    assert explanations.confidence.shape == (10_000,)
    # Generous, for slow machines.
    assert time.process_time() - start < 5.0


def test_a_case_may_be_a_list_a_row_or_a_frame(wbc):
    X, _, extractor = wbc
    frame = extractor.explain(X.iloc[[3]], "central")
    bare = RuleExtractor(LPSVC(nu=0.0025), criterion="coverage-lp").fit(X.to_numpy(), wbc[1])
    row = X.iloc[3].to_numpy()
    assert bare.explain(row, "central").rule == frame.rule
    assert bare.explain(row[None], "central").rule == frame.rule
    assert bare.explain(row.tolist(), "central").rule == frame.rule


def test_a_broken_number_is_explained_where_whole_ones_were_seen(oracle):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(60, 3)).astype(float)
    coef, intercept = [1.0, -1.0, 0.5], -0.75
    extractor = RuleExtractor(oracle.given(X, coef, intercept)).fit(
        X, oracle.sides(X, coef, intercept)
    )
    for case in ([2.5, 1.5, 0.2], [1.0, 1.0, 1.5], [0.25, 4.75, 3.0]):
        for kind in KINDS:
            explanation = extractor.explain(case, kind)
            assert oracle.holds(explanation.rule.region, case)
            assert explanation.rule.proof == "proved"


@pytest.mark.parametrize("kind", ["rule", "on_demand", "central"])
def test_cases_among_three_classes_are_explained(oracle, kind):
    X, y = load_iris(return_X_y=True)
    extractor = RuleExtractor(LogisticRegression(max_iter=1_000), max_rules=1).fit(X, y)
    rng = np.random.default_rng(0)
    for case, explanation in zip(X[::15], extractor.explain_many(X[::15], kind), strict=True):
        assert oracle.holds(explanation.rule.region, case)
        assert explanation.margin > 0
        assert explanation.rule.proof == "proved"
        region = explanation.rule.region
        low = np.maximum(region.lower, extractor.space_.lower)
        high = np.minimum(region.upper, extractor.space_.upper)
        inside = low + rng.random((200, 4)) * (high - low)
        assert (extractor.estimator_.predict(inside) == explanation.label).all()


def test_the_largest_box_is_not_defined_among_three_classes():
    X, y = load_iris(return_X_y=True)
    extractor = RuleExtractor(LogisticRegression(max_iter=1_000), max_rules=1).fit(X, y)
    with pytest.raises(InvalidValueError, match="models of two classes; use kind='central'"):
        extractor.explain(X[0], "largest")


def test_the_metric_of_a_central_box_may_be_that_of_the_normal(wbc):
    X, _, extractor = wbc
    normal = extractor.explain(X.iloc[[0]], "central", metric="normal")
    volume = extractor.explain(X.iloc[[0]], "central")
    assert normal.rule.proof == volume.rule.proof == "proved"
    assert normal.parts["volume"] <= volume.parts["volume"]
    assert normal.rule != volume.rule


def test_categories_are_named_in_explanations():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.integers(20, 80, 150), "colour": rng.choice(["red", "blue", "green"], 150)}
    )
    y = np.where(X["age"] + 40 * (X["colour"] == "red") > 60, "ill", "well")
    steps = make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["age"]))
    extractor = RuleExtractor(make_pipeline(steps, LogisticRegression(C=100))).fit(X, y)
    for kind in KINDS:
        explanations = extractor.explain_many(X.iloc[:30], kind)
        table = extractor.surface_.read(X.iloc[:30])
        assert all(e.rule.region.contains(table[k : k + 1])[0] for k, e in enumerate(explanations))
        assert any("colour" in str(e) for e in explanations)


def test_a_rule_without_conditions_reads_as_always(oracle):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.2]])
    extractor = RuleExtractor(
        oracle.given(X, [1.0, 1.0], -100.0), bounds=(0, 2), tighten=False
    ).fit(X, ["below"] * 3)
    explanation = extractor.explain([0.5, 0.5])
    assert explanation.rule.region == Box.unbounded(2)
    assert "always, then below" in str(explanation)


def test_what_was_only_observed_is_not_called_proved(wbc):
    from dataclasses import replace

    from clearmargin.rules import Rule

    X, _, extractor = wbc
    explanation = extractor.explain(X.iloc[[0]])
    rule = Rule(explanation.rule.region, explanation.label, proof="observed")
    doubtful = replace(explanation, rule=rule)
    assert "was seen to say the same" in str(doubtful)


def explained(name, label):
    rule = Rule(Box([3.0], [8.0]), label, proof="proved")
    return Explanation("rule", rule, label, 1.5, 0.9, {"margin": 0.9}, FeatureSpace([name]))


def test_a_name_with_then_in_it_does_not_cut_the_sentence():
    text = str(explained("a, then b", "yes"))
    assert "if a, then b is between 3 and 8, then yes." in text


def test_a_class_that_cannot_be_seen_is_written_out():
    text = str(explained("x", "a\u202eb"))
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_a_rule_without_conditions_holds_always():
    rule = Rule(Box.unbounded(1), "yes", proof="proved")
    space = FeatureSpace(["x"])
    assert "always, then yes" in str(Explanation("rule", rule, "yes", 1.0, 0.9, {}, space))


@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_the_sentence_of_a_case_never_shuts_it_out(x, below, above):
    low, high = x - below, x + above
    rule = Rule(Box([low], [high]), "yes", proof="proved")
    told = Explanation(
        "central", rule, "yes", 1.0, 0.9, {}, FeatureSpace(["x"]), case=(x,)
    ).sentence
    (read,) = parse_rules(told[0].lower() + told[1:].rstrip("."))
    interval = read.region.interval(0)
    assert x in interval
    assert low <= interval.low <= interval.high <= high


def test_an_explanation_and_its_report_agree_with_the_case():
    """A box around a case near the plane is narrow: three digits of its bounds would leave the case outside."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=list("abc"))
    y = X.to_numpy() @ [1.0, -2.0, 0.5] > 0
    extractor = RuleExtractor(LPSVC(nu=10.0), max_rules=1).fit(X, y)
    for k, told in enumerate(extractor.explain_many(X, kind="on_demand")):
        assert told.case == tuple(X.iloc[k])
        (rule,) = parse_rules(
            f"{told.sentence[0].lower()}{told.sentence[1:-1]}", space=extractor.rules_.space
        )
        assert rule.region.contains(X.iloc[[k]].to_numpy()).all()


RNG = np.random.default_rng(1)


X = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, 80),
        "bmi": RNG.normal(26, 4, 80),
        "job": RNG.choice(["a", "b"], 80),
    }
)


Y = np.where(X["age"] + 2 * X["bmi"] + 9 * (X["job"] == "a") > 105, "ill", "well")


def forms(table, k):
    """The same case, in all forms; by name also in another order."""
    row = table.iloc[k]
    yield table.iloc[[k]]
    yield row
    yield row[::-1]
    yield row.to_dict()
    yield dict(reversed(row.to_dict().items()))
    yield {**row.to_dict(), "more": 3}
    yield pl.from_pandas(table)[k]
    yield pl.from_pandas(table).row(k, named=True)
    yield row.to_numpy()
    yield row.tolist()
    yield table.to_numpy()[[k]]


@pytest.fixture(scope="module")
def askers():
    encode = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "bmi"]))
    linear = make_pipeline(encode, LPSVC(nu=1.0)).fit(X, Y)
    extractor = RuleExtractor(linear).fit(X, Y)
    card = ScoreRules(make_pipeline(encode, SVC()), max_rules=3, n_generated=50).fit(X, Y)
    kernel = make_pipeline(encode, SVC()).fit(X, Y)
    return {
        "RuleExtractor": lambda case: str(extractor.explain(case)),
        "central": lambda case: str(extractor.explain(case, "central")),
        "ScoreRules": lambda case: str(card.explain(case)),
        "Scorecard": lambda case: str(card.scorecard_.explain(case)),
        "recourse": lambda case: str(recourse(linear, case, actionable=["bmi"], X=X)),
        "grow_box": lambda case: str(grow_box(kernel, case, budget=50)),
    }


@pytest.mark.parametrize(
    "name", ["RuleExtractor", "central", "ScoreRules", "Scorecard", "recourse", "grow_box"]
)
def test_a_case_is_a_case_however_it_is_written(askers, name):
    # A transformer of columns by name takes no arrays, and scikit-learn warns of them where a model knows names.
    takes_arrays = name in ("ScoreRules", "Scorecard", "recourse")
    answers = {
        askers[name](case)
        for case in forms(X, 3)
        if takes_arrays or not isinstance(case, np.ndarray | list)
    }
    assert len(answers) == 1, answers


def test_a_model_of_numbers_takes_a_series_without_names():
    values = X[["age", "bmi"]].to_numpy(dtype=float)
    extractor = RuleExtractor(LPSVC(nu=1.0)).fit(values, Y)
    expected = str(extractor.explain(values[3]))
    assert str(extractor.explain(pd.DataFrame(values).iloc[3])) == expected
    assert str(extractor.explain(pd.Series(values[3]))) == expected


def test_a_case_without_a_feature_says_which(askers):
    for name in ("RuleExtractor", "ScoreRules", "recourse"):
        with pytest.raises(DataError, match="the case has no value for 'bmi'"):
            askers[name](X.iloc[3].drop("bmi"))
    with pytest.raises(DataError, match="no value for 'bmi'; it has age, bmj, job"):
        askers["RuleExtractor"](X.iloc[3].rename({"bmi": "bmj"}))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            X,
            r"one case is needed, such as X.iloc.0. or X.0., not an array or table of shape \(80, 3\)",
        ),
        (X[:0], r"of shape \(0, 3\)"),
        (np.zeros((2, 3, 4)), r"of shape \(2, 3, 4\)"),
        (pd.Series([1, 2], index=["age", "age"]), "two values for 'age'"),
        ({"age": [1, 2]}, "the value of 'age' must be a single one"),
    ],
)
def test_what_is_no_single_case_is_refused(case, message):
    with pytest.raises(DataError, match=message):
        case_table(case)


def test_names_count_where_no_library_of_frames_is_installed(monkeypatch):
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    assert case_table({"b": 2, "a": 1}, ["a", "b"]).tolist() == [[1, 2]]
    with pytest.raises(DataError, match="the case has no value for 'c'"):
        case_table({"b": 2, "a": 1}, ["a", "b", "c"])
