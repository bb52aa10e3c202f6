"""`explain`: the fewest conditions against enumeration, precision as counted by hand, proofs against drawn points."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles.fewest_conditions import Recorder, best_conditions, enough
from tests.oracles.sufficient_features import fewest_features

from clearmargin import (
    LPSVC,
    RuleExtractor,
    RuleSVC,
    ScoreRules,
    explain,
    explain_many,
    load_model,
    save_model,
)
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import ClearmarginError


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.6, 0.75, 0.9]), st.booleans())
@example(407200, 2, 0.75, False)  # so few rows have the value 2 that it has no bin of its own
def test_measured_conditions_are_the_fewest_and_counted_on_rows_apart(seed, n, precision, flipped):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (70, n)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = Recorder(rng.integers(0, 3, n), flipped)
    if len({*model.predict(X)}) < 2:
        return
    distinct = pd.DataFrame(X).drop_duplicates().to_numpy()
    try:
        many = [*explain_many(model, distinct, X, precision=precision, guarantee="measured")]
    except ClearmarginError:  # some class has too few rows
        return
    # A row that is kept for the count is not counted for itself.
    n_kept = np.array([each.rule.stats.rows for each in many])
    kept = distinct[n_kept < n_kept.max()] if (n_kept < n_kept.max()).any() else distinct[:0]
    as_keys = lambda rows: [tuple(np.nan_to_num(row, nan=-9.0)) for row in rows]  # fmt: skip
    searched = X[[key not in {*as_keys(kept)} for key in as_keys(X)]]
    rows = np.vstack([searched, model.asked[-1]])
    labels, kept_labels = model.predict(rows), model.predict(kept)
    for case, why in list(zip(distinct, many, strict=True))[::5]:
        if not (np.isnan(case) | (rows == case).any(axis=0)).all():
            continue  # a value that no row of the search has is in a bin with others
        same = labels == why.label
        best = best_conditions(rows, len(searched), case, same, precision)
        inside = why.rule.region.contains(rows)
        is_enough, counts = enough(inside, same, precision)
        assert why.rule.region.contains(case[None])[0]
        assert is_enough == (best is not None)
        if best is not None:
            assert (why.n_conditions, counts) == best
            assert why.is_fewest
        else:
            assert why.is_fewest is None
        others = np.array([key != as_keys(case[None])[0] for key in as_keys(kept)], dtype=bool)
        held = why.rule.region.contains(kept) & others if len(kept) else others
        agreed = int((kept_labels[held] == why.label).sum())
        stats = why.rule.stats
        assert (stats.rows, stats.covered, stats.agreed) == (others.sum(), held.sum(), agreed)
        if held.any():
            assert why.precision == agreed / held.sum()
            exact = binomtest(agreed, int(held.sum())).proportion_ci(0.9, method="exact").low
            assert why.precision_bound == pytest.approx(exact, abs=1e-9)


class Steps:
    """A model that is two conditions."""

    def predict(self, X):
        return np.where((X["age"] >= 50) & (X["home"] == "own"), "yes", "no")


def step_table(m=600):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({
        "age": rng.integers(18, 90, m), "pay": rng.normal(3000.0, 800.0, m),
        "home": rng.choice(["own", "rent", "none"], m),
    })  # fmt: skip
    return X, Steps().predict(X)


def test_measured_explanations_of_mixed_tables():
    X, y = step_table()
    cases = X[y == "yes"].iloc[:4]
    many = explain_many(Steps(), cases, X)
    for k, why in enumerate(many):
        assert (why.guarantee, why.kind, why.label, why.precision) == ("measured", "measured", "yes", 1.0)  # fmt: skip
        assert [why.space.names[j] for j in why.rule.region.bounded] == ["age", "home"]
        turned = X.sample(frac=1.0, random_state=k)
        alone = explain(Steps(), cases.iloc[k][::-1], turned)
        assert (alone.rule, alone.text) == (why.rule, why.text)
        assert "own" in why.text
    assert [each.label for each in many[1:3]] == ["yes", "yes"]
    assert many[0] is many[0]
    assert many[0]._repr_html_()
    boat = explain(Steps(), {"age": 30, "pay": 3000.0, "home": "boat"}, X)
    assert (boat.label, 2 in boat.rule.region.bounded) == ("no", False)
    facts = many[0].to_dict()
    json.dumps(facts, allow_nan=False)
    assert facts["agreed"] <= facts["covered"] <= facts["rows"]
    assert facts["precision_bound"] <= facts["precision"]
    always = explain(DummyClassifier().fit(X, y), X.iloc[0], X)
    assert (always.n_conditions, always.label) == (0, "no")
    frame = X[["age", "pay"]].assign(pay=X["pay"].where(X["pay"] > 2500))
    unknown = np.where(frame["pay"].isna(), "unknown", np.where(frame["age"] > 50, "old", "young"))
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(frame, unknown)
    gap = explain(model, frame[frame["pay"].isna()].iloc[0], frame)
    assert (gap.rule.region.missing, gap.precision) == ((1,), 1.0)
    ages, old = X[["age"]], DecisionTreeClassifier(max_depth=1).fit(X[["age"]], y)
    frames = ages, pl.from_pandas(ages), pa.Table.from_pandas(ages)
    told = [explain(old, {"age": 60}, frame).rule for frame in frames]
    assert told[0] == told[1] == told[2]
    times = pd.DataFrame({"t": 1.7e9 + np.arange(500) * 20_000, "n": np.arange(500) % 9})
    late = explain(DecisionTreeClassifier(max_depth=1).fit(times, times.t > 1.705e9), times.iloc[0], times)  # fmt: skip
    ends = late.rule.region.interval(0)
    assert all(end % 1 == 0 for end in (ends.low, ends.high) if np.isfinite(end))


def test_measured_noise_is_not_sold_as_a_rule_and_short_searches_say_so():
    X = np.random.default_rng(1).normal(size=(400, 5))

    class Hashed:
        def predict(self, rows):
            return np.where(np.modf(np.abs(np.asarray(rows) @ [1e3, 1e4, 1e5, 1e6, 1e7]))[0] < 0.5, *"ab")  # fmt: skip

    many = explain_many(Hashed(), X[:12], X)
    counts = np.sum([(each.rule.stats.agreed, each.rule.stats.covered) for each in many], axis=0)
    # Whatever is found, it is true of about half of the rows, and that is what is said.
    assert 0 < counts[0] / counts[1] < 0.75
    noise = DecisionTreeClassifier(random_state=0).fit(X, np.arange(400) % 2)
    missed = explain(noise, X[0], X, max_conditions=1)
    assert (missed.is_fewest, missed.n_conditions <= 1, len(missed.notes)) == (None, True, 1)
    wide = np.random.default_rng(2).normal(size=(900, 20))
    dense = explain(Planes(), np.full(20, 0.5), wide)
    assert (dense.is_fewest, dense.notes) == (False, ())  # cut short, and still enough


class Planes:
    """A sum of many columns, which no few conditions force."""

    def predict(self, X):
        return np.asarray(X)[:, :12].sum(axis=1) > 0


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 4]))
def test_proved_explanations_of_planes_have_the_fewest_conditions(seed, K):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 5))
    y = np.argmax(X[:, :K] + 0.3 * rng.normal(size=(60, K)), axis=1)
    y[:K] = np.arange(K)
    model = LogisticRegression().fit(X, y)
    told = explain_many(model, X[::4], X, guarantee="proved")
    coef, b = model.coef_, model.intercept_
    coef, b = (np.vstack([-coef, coef]), np.r_[-b, b]) if K == 2 else (coef, b)
    for why, case in zip(told, X[::4], strict=True):
        c = model.classes_.tolist().index(why.label)
        duels = [(coef[c], b[c], False)] if K == 2 else [
            (coef[c] - coef[k], b[c] - b[k], k > c) for k in range(K) if k != c]  # fmt: skip
        fewest = fewest_features(duels, X.min(axis=0), X.max(axis=0), case)
        assert why.n_conditions >= fewest
        assert not why.is_fewest or why.n_conditions == fewest
        assert K > 2 or why.is_fewest
        assert (why.guarantee, why.to_dict()["precision"]) == ("proved", None)
        check_proof(model, why, X, rng)
        assert why.rule.stats.covered == why.rule.region.contains(X).sum()
    assert any(why.is_fewest for why in told)
    extractor = RuleExtractor(model).fit(X, y)
    for each, why in zip(extractor.explain_many(X[::4]), told, strict=True):
        assert each.kind == "rule" or each.rule.region == why.rule.region


def check_proof(model, why, X, rng, count=200):
    """Ends of a box and of the ranges, drawn by chance, have the class."""
    box, rows = why.rule.region, np.asarray(X, dtype=float)
    low, high = np.maximum(box.lower, rows.min(axis=0)), np.minimum(box.upper, rows.max(axis=0))
    drawn = np.where(rng.random((count, X.shape[1])) < 0.5, low, high)
    frame = pd.DataFrame(drawn, columns=X.columns) if hasattr(X, "columns") else drawn
    assert (model.predict(frame) == why.label).all()


@pytest.fixture(scope="module")
def wbc():
    X, y = load_wbc(return_X_y=True)
    return X, y, LPSVC(nu=0.0025).fit(X, y)


def test_auto_proves_where_few_conditions_do_and_measures_elsewhere(wbc, tmp_path):
    X, y, svm = wbc
    rng = np.random.default_rng(0)
    why = explain(svm, X.iloc[0], X)
    assert (why.guarantee, why.kind, why.n_conditions <= 3) == ("proved", "sufficient", True)
    check_proof(svm, why, X, rng)
    assert [str(explain(svm, case, X)) for case in (X.iloc[[0]], dict(X.iloc[0]))] == [str(why)] * 2
    plain = LPSVC(nu=0.0025).fit(X.to_numpy(), y)
    assert explain(plain, X.iloc[0].tolist(), X.to_numpy().tolist()).rule.region == why.rule.region
    extractor = RuleExtractor(svm, max_rules=1).fit(X, y)
    assert explain(extractor, X.iloc[0], X).text == why.text
    dense = LogisticRegression(max_iter=1000).fit(X, y)
    proved = explain(dense, X.iloc[0], X, guarantee="proved")
    auto = explain(dense, X.iloc[0], X)
    assert (proved.n_conditions > 3, auto.guarantee) == (True, "measured")
    assert f" {proved.n_conditions} conditions" in auto.text
    longer = explain(dense, X.iloc[0], X, max_conditions=proved.n_conditions)
    assert (longer.guarantee, longer.rule) == ("proved", proved.rule)
    # Where no row has the class, or measuring takes as many conditions, a long proof is given.
    near = X[(dense.predict(X) == "benign") & (X.max(axis=1) <= 2)]
    assert explain(dense, X[dense.predict(X) == "malignant"].iloc[0], near).guarantee == "proved"
    V, v = load_iris(return_X_y=True, as_frame=True)
    iris = LogisticRegression(max_iter=999).fit(V, v)
    told = [explain(iris, V.iloc[70], V, max_conditions=most) for most in (None, 3)]
    assert [each.guarantee for each in told] == ["proved", "measured"]
    card = ScoreRules(svm, certify=True, max_rules=10).fit(X, y)
    assert explain(card, X.iloc[1], X).rule.region == explain(svm, X.iloc[1], X).rule.region
    distilled = ScoreRules(svm, certify=True, max_rules=10, max_features=2).fit(X, y)
    assert explain(distilled, X.iloc[0], X).guarantee == "measured"
    for model in (RuleSVC(max_rules=4), ScoreRules(LinearSVC(random_state=0))):
        told = explain(model.fit(X, y), X.iloc[0], X)
        assert (told.guarantee, told.label, told.precision > 0.9) == ("measured", "benign", True)
    # A saved model knows the ranges that it was trained on: a few new rows do not narrow them.
    saved = load_model(save_model(svm, tmp_path / "svm.json", X=X))
    check_proof(svm, explain(saved, X.iloc[0], X.iloc[:5]), X, rng)
    many = np.random.default_rng(0).normal(size=(2_000, 10))
    linear = make_pipeline(StandardScaler(), LinearSVC(dual=False)).fit(many, many[:, 0] > 0)
    first = explain_many(linear, many[:9], many, guarantee="proved")
    again = explain_many(linear, many[:9], rng.permutation(many), guarantee="proved")
    assert [(e.coverage, e.rule) for e in first] == [(e.coverage, e.rule) for e in again]


def test_proofs_of_kernels_categories_and_imputed_values(wbc):
    X, y, _ = wbc
    rng = np.random.default_rng(0)
    kernel = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    for why, case in zip(explain_many(kernel, X.iloc[[5, 0]], X, guarantee="proved"), (5, 0), strict=True):  # fmt: skip
        assert (why.guarantee, why.label) == ("proved", kernel.predict(X.iloc[[case]])[0])
        assert why.is_fewest is False
        check_proof(kernel, why, X, rng, 400)
    assert [explain(kernel, X.iloc[k], X).guarantee for k in (5, 0)] == ["proved", "measured"]
    Z = pd.DataFrame({"age": rng.integers(20, 80, 240), "home": rng.choice(["own", "rent"], 240)})
    z = np.where(Z.age + 15 * (Z.home == "own") > 55, "yes", "no")
    for machine in (LinearSVC(random_state=0), SVC()):
        encode = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["home"]), remainder=StandardScaler()
        )
        model = make_pipeline(encode, machine).fit(Z, z)
        for k in range(0, 240, 60):
            why = explain(model, Z.iloc[k], Z, guarantee="proved")
            inside = why.rule.region.contains(why.space.read(Z))
            assert inside[k]
            assert (model.predict(Z[inside]) == why.label).all()
        boat = {"age": 70, "home": "boat"}
        assert explain(model, boat, Z).guarantee == "measured"
        with pytest.raises(ClearmarginError, match="category"):
            explain(model, boat, Z, guarantee="proved")
    numbers = Z[["age"]].astype(float).assign(more=np.arange(240.0))
    for machine in (LinearSVC(dual=False), SVC()):
        model = make_pipeline(SimpleImputer(), StandardScaler(), machine).fit(numbers, z)
        gap = numbers.iloc[0].copy()
        gap["age"] = np.nan
        why = explain(model, gap, numbers, guarantee="proved")
        assert why.imputed[0][0] == "age"
    empty = pd.DataFrame({"a": rng.normal(size=80), "none": np.nan})
    model = make_pipeline(SimpleImputer(keep_empty_features=True), SVC()).fit(empty, empty["a"] > 0)
    assert explain(model, empty.iloc[0], empty).guarantee == "measured"
    with pytest.raises(ClearmarginError, match="column"):
        explain(model, empty.iloc[0], empty, guarantee="proved")
    votes = SVC(kernel="linear").fit(V := rng.normal(size=(60, 3)), np.argmax(V, axis=1))
    assert explain(votes, V[0], V, guarantee="proved").is_fewest is False
    tiny = V * [1e-310, 1.0, 1.0]
    model = LinearSVC(random_state=0).fit(tiny, tiny[:, 1] > 0)
    assert explain(model, tiny[0], tiny, guarantee="proved").label == model.predict(tiny[:1])[0]


def test_explain_refuses_by_name_what_it_cannot_do(wbc):
    X, y, svm = wbc
    few = RuleExtractor(svm, max_rules=1, fallback="abstain").fit(X, y)
    covered = few.predict(X) != np.array(None)
    assert explain(few, X[covered].iloc[0], X).precision == 1.0
    tree = DecisionTreeClassifier(max_depth=3).fit(X, y)
    odd = LinearSVC().fit(V := np.array([[3.0, 1.0], [1.0, 2.0], [4.0, 1.0]]), [0, 1, 0])
    odd.coef_, odd.intercept_ = np.array([[0.1, -0.3]]), np.zeros(1)
    X3, _ = step_table(200)
    refused = [
        (lambda: explain(svm, X.iloc[0], X, precision=1.0), "precision"),
        (lambda: explain(svm, X.iloc[0], X, precision="high"), "precision"),
        (lambda: explain(svm, X.iloc[0], X, max_conditions=0), "max_conditions"),
        (lambda: explain(svm, X.iloc[0], X, guarantee="prooved"), "'proved'"),
        (lambda: explain(svm, X.iloc[0], X, guarantee="proved", max_conditions=1), "max_conditions"),
        (lambda: explain(tree, X.iloc[0], X, guarantee="proved"), "guarantee"),
        (lambda: explain(odd, V[0], V, guarantee="proved"), "guarantee"),
        (lambda: explain(svm, X.iloc[0], X.iloc[:0]), "X"),
        (lambda: explain(svm, X.iloc[:2], X), "explain_many"),
        (lambda: explain(StandardScaler(), X.iloc[0], X), "StandardScaler"),
        (lambda: explain(DecisionTreeRegressor().fit(X, X.mitoses), X.iloc[0], X), "DecisionTreeRegressor"),
        (lambda: explain(svm, X.iloc[0].drop("mitoses"), X), "mitoses"),
        (lambda: explain(few, X[~covered].iloc[0], X), "class"),
        (lambda: explain(Steps(), X3.assign(age=60, home="own").iloc[0], X3[X3.age < 50]), "'yes'"),
        (lambda: explain(tree, X.iloc[0], X.iloc[:2]), "X"),
        (lambda: explain(DecisionTreeClassifier().fit(X, np.c_[X.mitoses > 1, y == "benign"]), X.iloc[0], X), "labels"),
    ]  # fmt: skip
    for act, word in refused:
        with pytest.raises(ClearmarginError, match=word):
            act()


def test_explain_of_a_model_with_points_gives_what_adds_up_to_the_score():
    X, y = load_pima(return_X_y=True)
    model = RuleSVC(max_rules=6).fit(X, y)
    for k in (0, 5):
        why = explain(model, X.iloc[k], X)
        total = sum(part.points for part in why.points.parts)
        assert total == pytest.approx(model.decision_function(X.iloc[[k]])[0])
        assert why.points == model.explain(X.iloc[k])
        assert why.to_dict()["points"]["class"] == why.label
    assert explain(LPSVC().fit(X.fillna(0), y), X.fillna(0).iloc[0], X.fillna(0)).points is None
