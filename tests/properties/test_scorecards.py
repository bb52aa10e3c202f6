"""Scorecards: their sums, cards that imitate any model, and cards with proof against exact arithmetic."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.oracles import exact_side

from clearmargin import CertifiedScorecard, FeatureSpace, RuleSVC, ScoreRules
from clearmargin.datasets import load_cleveland, load_wbc
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning, FileDamagedError
from clearmargin.points import CertifiedFeature

SPACE = FeatureSpace(["age", "job"], [20.0, -np.inf], [80.0, np.inf], categories={"job": [*"ab"]})
AGE = CertifiedFeature(0, [0, 5], [4, 9], [50.0])
JOB = CertifiedFeature(1, [0, 6], [0, 7], sets=[[0], [1]])
WHOLE = FeatureSpace(["age"], [0], [90], [True])
PARTS = {"features": [AGE, JOB], "thresholds": (4, 11), "space": SPACE, "classes": ["well", "ill"]}
PROVED = CertifiedScorecard(**PARTS)
REFUSED = [
    (lambda: CertifiedFeature(0, [0], [1, 1], [1.0]), "cells"),
    (lambda: CertifiedFeature(0, [0.5], [1], []), "at_least"),
    (lambda: CertifiedFeature(0, [2, 0], [1, 1], [1.0]), "at_least"),
    (lambda: CertifiedFeature(0, [0], [2.0**60], []), "at_most"),
    (lambda: CertifiedFeature(0, [0, 0], [1, 1], [1.0], [[0], [1]]), "cuts"),
    (lambda: CertifiedFeature(0, [0, 0, 0], [1, 1, 1], [2.0, 1.0]), "cuts"),
    (lambda: CertifiedFeature(0, [0], [1], [], missing=3), "missing"),
    *((lambda changes=changes: CertifiedScorecard(**PARTS | changes), word) for changes, word in [
        ({"classes": ["a"]}, "classes"), ({"thresholds": (4, 4)}, "thresholds"), ({"unit": 0.0}, "unit"),
        ({"features": ["age"]}, "str"), ({"features": [CertifiedFeature(9, [0], [0], [])]}, "9"),
        ({"features": [AGE] * 2}, "'age'"), ({"features": [CertifiedFeature(1, [0], [0], [])]}, "'job'"),
        ({"features": [CertifiedFeature(1, [0], [0], sets=[[0, 0]])]}, "'job'"),
        ({"features": [CertifiedFeature(0, [0, 0], [0, 0], [90.0])]}, "'age'"),
        ({"space": FeatureSpace(["age"]), "features": [AGE]}, "'age'"),
        ({"space": WHOLE, "features": [CertifiedFeature(0, [0, 0], [0, 0], [2.5])]}, "'age'"),
    ]),
]  # fmt: skip
GOOD = PROVED.to_dict()
DAMAGED = [
    ([], "cells"), (GOOD | {"cells": [{}]}, "feature"), (GOOD | {"cells": [{"feature": "height"}]}, "height"),
    (GOOD | {"thresholds": [4, 3]}, "thresholds"),
]  # fmt: skip


def test_scorecards_that_make_no_sense_are_refused_by_name():
    damaged = [(partial(CertifiedScorecard.from_dict, data), word) for data, word in DAMAGED]
    for act, word in [*REFUSED, *damaged, *OPTIONS]:
        kind = FileDamagedError if isinstance(act, partial) else ClearmarginError
        with pytest.raises(kind, match=word):
            act()


def test_certified_scorecard_proves_by_both_columns_and_says_why():
    rows = pd.DataFrame({"age": [60, 30, 60, np.nan, 60, 90], "job": [*"baab", "king", "b"]})
    assert PROVED.prove(rows).tolist() == ["ill", "well", None, None, None, None]
    low, high, inside = PROVED.totals(rows)
    assert [low.tolist(), high.tolist()] == [[11, 0, 5, 0, 0, 0], [16, 4, 9, 0, 0, 0]]
    assert inside.tolist() == [True] * 3 + [False] * 3
    told = [PROVED.explain(rows.iloc[k]) for k in range(6)]
    assert [each.is_proved for each in told] == [True, True, False, False, False, False]
    assert [len(each.outside) for each in told] == [0, 0, 0, 1, 1, 1]
    assert {part[1:] for part in told[2].parts} == {(5, 9), (0, 0)}
    assert "".join(map(str, told)).count("\n  ") == 6 + 1 + 1 + 1
    asked = PROVED.explain({"job": "a", "age": 60}, "well")
    assert (asked.label, asked.is_proved, asked.at_least, asked.at_most) == ("well", False, 5, 9)
    assert CertifiedScorecard(**PARTS | {"thresholds": (4, 99)}).reachable == (True, False)
    ends = FeatureSpace(["a|<b>", "b"], [1.1263382099502577, 2.0], [95.85312907369482, 2.5])
    parts = [CertifiedFeature(0, [0, 1], [1, 2], [6.782]), CertifiedFeature(1, [0], [0], [])]
    card = CertifiedScorecard(parts, (0, 1), ends, ["no", "<i>"], about="<u>")
    # Ends of many digits are printed short, and inwards; the line of a case holds it.
    assert [line[1] for line in card.lines()] == ["1.127 to 6.782", "6.782 to 95.85"]
    assert "1.1263382099502577" in str(card.explain([1.1263382099502577, 2.0]))
    assert "2 to 2.5" in card.conditions()
    assert not any(tag in card._repr_html_() for tag in ("<b>", "<i>", "<u>"))
    assert card.to_frame()["at most"].tolist() == [1, 2]
    assert len(str(card).splitlines()) == 7
    assert card != PROVED == CertifiedScorecard.from_dict(json.loads(json.dumps(GOOD)))


class TwoSteps(ClassifierMixin, BaseEstimator):
    """Asks whether one of two columns, or both, reach a value; gives no values but its classes."""

    def __init__(self, cuts, least):
        self.cuts, self.least, self.classes_ = cuts, least, np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict(self, X):
        return ((np.asarray(X)[:, :2] >= self.cuts).sum(axis=1) >= self.least).astype(int)


@settings(max_examples=10)
@given(st.tuples(st.integers(1, 4), st.integers(1, 4)), st.sampled_from([1, 2]))
def test_scorerules_finds_a_rule_of_two_conditions_and_a_card_as_good_as_one_cut(cuts, least):
    X = np.array([*product(range(6), range(6), range(3))], dtype=float)
    model = TwoSteps(cuts, least).fit(X, None)
    y = model.predict(X)
    rules = ScoreRules(FrozenEstimator(model), max_rules=1, n_generated=10).fit(X, y)
    assert (rules.fidelity_, rules.scorecard_.rules[0].region.bounded) == (1.0, (0, 1))
    rules.set_params(max_rules=2, max_conditions=1).fit(X, y)
    cuts = [X[:, j] >= a for j in range(3) for a in range(6)]
    assert rules.fidelity_ > max(max((cut == y).mean(), (cut != y).mean()) for cut in cuts) - 0.05


def people():
    rng = np.random.default_rng(1)
    jobs = rng.choice(["clerk", "farmer", "king", "smith"], 150)
    X = pd.DataFrame({"age": rng.integers(20, 80, 150), "job": jobs})
    X["income"] = rng.normal(30.0, 9.0, 150).round(2)
    return X, np.where(X["age"] / 10 + 3 * (X["job"] == "smith") - X["income"] / 9 > 2, "yes", "no")


def encoded(last, *imputer):
    numbers, names = (
        make_pipeline(*imputer, StandardScaler()),
        OneHotEncoder(handle_unknown="ignore"),
    )
    encode = make_column_transformer((numbers, ["age", "income"]), (names, ["job"]))
    return make_pipeline(encode, last)


def test_scorerules_imitates_any_model_within_its_options():
    X, y = make_classification(120, 5, n_informative=3, random_state=0)
    for model in (None, KNeighborsClassifier(), NearestCentroid(), LinearSVC(random_state=0)):
        rules = ScoreRules(model, random_state=7).fit(X, y)
        card = rules.scorecard_
        assert (rules.predict(X) == card.predict(X)).all()
        assert rules.fidelity_ == (rules.predict(X) == rules.estimator_.predict(X)).mean() > 0.88
        assert (rules.decision_function(X) == card.decision_function(X)).all()
        assert (card.has_points, card.intercept % 1, len(card.rules) <= 15) == (True, 0.5, True)
        assert np.abs(card.weights).max() <= 10
        said = rules.estimator_.predict(X)
        for rule, held in zip(card.rules, card.rules.covers(X).T, strict=True):
            right = held & (said == rule.label)
            assert (rule.stats.covered, rule.stats.correct) == (held.sum(), right.sum())
    order = np.random.default_rng(0).permutation(120)
    again = ScoreRules(rules.estimator_, random_state=7).fit(X[order], y[order])
    assert again.scorecard_ == rules.scorecard_
    few, many = (ScoreRules(rules.estimator_, k, points=False).fit(X, y) for k in (1, 20))
    assert (len(few.scorecard_.rules), few.fidelity_ < many.fidelity_) == (1, True)
    single = ScoreRules(rules.estimator_, max_conditions=1).fit(X, y).scorecard_
    assert {rule.n_conditions for rule in single.rules} == {1}
    same = ScoreRules(DecisionTreeClassifier()).fit(np.ones((9, 1)), np.arange(9) % 2)
    assert (len(same.scorecard_.rules), same.fidelity_) == (0, 1.0)


def test_scorerules_of_categories_and_missing_values():
    Z, z = people()
    rules = ScoreRules(encoded(SVC(kernel="linear")), max_rules=6).fit(Z, z)
    assert rules.fidelity_ > 0.9
    assert rules.explain(Z[["income", "job", "age"]].iloc[0]).label == rules.predict(Z[:1])[0]
    one = ScoreRules(encoded(SVC(kernel="linear")), max_rules=1).fit(Z, Z["job"] != "king")
    assert (one.scorecard_.rules[0].region.sets.allowed, one.fidelity_) == (((1, (2,)),), 1.0)
    # A category nobody has seen, or a missing value that nothing imputes, is no row of a condition.
    odd = Z.iloc[[0]].assign(job="queen", age=np.nan, income=np.nan)
    assert rules.decision_function(odd).tolist() == [rules.scorecard_.intercept]
    gappy = Z.assign(age=Z["age"].where(np.arange(150) % 4 > 0))
    some = ScoreRules(encoded(SVC()), max_rules=6).fit(gappy.dropna(), z[gappy["age"].notna()])
    assert (some.predict(gappy) == z).mean() > 0.7
    takes = ScoreRules(RuleSVC(4, cv=2), max_rules=4).fit(gappy, z)
    assert takes.fidelity_ == (takes.predict(gappy) == takes.estimator_.predict(gappy)).mean() > 0.9


def certified(machine, X, y, **options):
    return ScoreRules(machine, certify=True, **{"max_rules": 6, "n_generated": 50, **options}).fit(X, y)  # fmt: skip


def check_proved(card, model, rows, least=0.0):
    """Whatever is proved is what the model says."""
    proved = card.prove(rows)
    known = np.array([label is not None for label in proved])
    assert (proved[known] == model.predict(rows)[known]).all()
    assert known.mean() >= least
    return known


def points_in_cells(card, m, seed=0):
    """Rows of numbers and codes inside of cells: at their ends, just beside them, and between."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((m, len(card.space)))
    for part in card.features:
        j = part.feature
        if part.cuts is None:
            rows[:, j] = rng.choice([c for cell in part.sets for c in cell], size=m)
            continue
        ends = np.array([end for cell in part.ends(card.space) for end in cell[:2]])
        at = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
        low, high = card.space.lower[j], card.space.upper[j]
        values = np.where(rng.random(m) < 0.5, rng.choice(at, size=m), rng.uniform(low, high, m))
        rows[:, j] = np.clip(np.rint(values) if card.space.integer[j] else values, low, high)
    return rows


@given(
    coef=st.lists(st.floats(-9, 9).filter(lambda w: abs(w) > 1e-3), min_size=1, max_size=3),
    intercept=st.floats(-9, 9),
    whole=st.booleans(),
    cuts=st.integers(1, 5),
)
def test_certified_points_prove_what_exact_fractions_prove_cell_by_cell(coef, intercept, whole, cuts):  # fmt: skip
    X = np.random.default_rng(0).uniform(-5, 5, size=(30, len(coef)))
    X = np.rint(X) if whole else X
    card, machine = plane(X, coef, intercept, max_rules=cuts)
    unit, slack = Fraction(card.unit), len(card.features) + 1
    for cells in product(*[range(part.n_cells) for part in card.features]):
        low = high = Fraction(float(machine.intercept_[0]))
        row = np.zeros((1, len(coef)))
        for part, cell in zip(card.features, cells, strict=True):
            ends = [Fraction(end) for end in part.ends(card.space)[cell][:2]]
            reach = [Fraction(float(machine.coef_[0, part.feature])) * end for end in ends]
            low, high = low + min(reach), high + max(reach)
            row[0, part.feature] = part.ends(card.space)[cell][0]
        (proved,) = card.prove_codes(row).tolist()
        # Sound: no box of cells is proved that the plane meets.
        assert proved != 1 or low > 0
        assert proved != 0 or high <= 0
        # Tight: rounding outwards costs less than one point a feature and one for the threshold.
        assert proved == 1 or low <= slack * unit
        assert proved == 0 or high > -slack * unit


@settings(max_examples=8)
@given(st.integers(0, 1000), st.sampled_from([1e-6, 1.0, 1e9]), st.sampled_from([np.float64, np.float32]))  # fmt: skip
def test_certified_proofs_hold_at_points_in_their_cells(seed, scale, dtype):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(40, 3)) + np.array([0.0, 1e4, -3.0])) * scale
    y = X[:, 0] + X[:, 1] > np.median(X[:, 0] + X[:, 1])
    machine = make_pipeline(StandardScaler(), LogisticRegression()).fit(X.astype(dtype), y)
    card = certified(machine, X.astype(dtype), y, max_rules=12).scorecard_
    check_proved(card, machine, points_in_cells(card, 300, seed).astype(dtype))


def test_certified_cards_of_tables_with_categories_and_gaps():
    X, y = people()
    X["age"] = X["age"].astype(float).where(np.arange(150) % 5 != 0)
    machine = encoded(LinearSVC(random_state=0), SimpleImputer()).fit(X, y)
    rules = certified(machine, X, y, max_rules=40)
    card = rules.scorecard_
    assert check_proved(card, machine, X, 0.5)[X["age"].isna()].mean() > 0.4
    rows = points_in_cells(card, 4_000)
    frame = pd.DataFrame(rows, columns=list(X))
    frame["job"] = np.array(card.space.categories[1])[rows[:, 1].astype(int)]
    check_proved(card, machine, frame, 0.5)
    assert (card.prove(frame[["income", "job", "age"]]) == card.prove(frame)).all()
    by_name = {card.space.names[part.feature]: part for part in card.features}
    # An imputed value has a cell of its own where values are missing, else that of what is filled in.
    assert by_name["age"].missing == by_name["age"].n_cells
    assert 0 <= by_name["income"].missing < by_name["income"].n_cells
    check_proved(card, machine, X.assign(income=np.nan))
    assert sorted(code for cell in by_name["job"].sets for code in cell) == [0, 1, 2, 3]
    assert all(cut % 1 == 0 for cut in by_name["age"].cuts)
    assert rules.explain(X.iloc[0]).label == rules.predict(X.iloc[[0]])[0]
    known = X[[label is not None for label in card.prove(X)]].iloc[:5]
    for column, value in (("age", 81.0), ("income", np.inf), ("job", "queen"), ("job", None)):
        far = known.assign(**{column: value})
        assert card.prove(far).tolist() == [None] * 5
        if value != np.inf:
            assert (rules.predict(far) == machine.predict(far)).all()
            assert len(rules.explain(far.iloc[0]).outside) == 1
    assert (pickle.loads(pickle.dumps(rules)).predict(X) == rules.predict(X)).all()
    # Where only the absence of a category has a weight, nothing is proved without one.
    Z, z = people()
    Z.loc[::3, "job"] = None
    absent = encoded(LinearSVC(random_state=0)).fit(Z, z)
    absent[-1].coef_[0, 2:6], absent[-1].coef_[0, 6] = 0.0, 5.0
    card = certified(absent, Z, z, max_rules=20).scorecard_
    assert not check_proved(card, absent, Z, 0.2)[Z["job"].isna()].any()
    assert "job" in card.conditions()
    told = certified(encoded(LinearSVC(random_state=0)), Z, z).explain(Z.iloc[0])
    assert (len(told.outside), told.is_proved) == (1, False)


def plane(X, coef, intercept, **options):
    """A card of a given plane, and the plane."""
    machine = exact_side.given(X, np.array(coef), intercept)
    return certified(machine, X, ["below", "above"] * (len(X) // 2), **options).scorecard_, machine


def test_certified_cards_where_numbers_meet_the_plane():
    X = np.array([*product(range(6), repeat=2)], dtype=float)
    assert check_proved(*plane(X, [1.0, -1.0], 0.0, max_rules=10), X).all()
    # 0.1 * 3 - 0.3 is 5.6e-17 in floats: nothing is proved on the plane, all beside it.
    known = check_proved(*plane(X, [0.1, -0.3], 0.0, max_rules=10), X)
    assert (known == (X[:, 0] != 3 * X[:, 1])).all()
    Z = np.arange(-3.0, 4.0)[:, None]
    second = SVC(kernel="linear", C=100.0).fit([[-1.0], [1.0]], [0, 1])  # which gives it the ties
    check_proved(certified(second, Z, np.arange(7) % 2).scorecard_, second, Z, 6 / 7)
    W, large = np.arange(20.0)[:, None], np.linspace(-1e150, 1e150, 30)[:, None]
    whole, _ = plane(W, [1.0], -9.5, max_rules=1)
    assert whole.prove([[9.0], [9.5], [10.0]]).tolist() == ["below", None, "above"]
    huge, _ = plane(large, [1e-150], 0.0, max_rules=3)
    assert huge.prove([[9e149], [-9e149]]).tolist() == ["above", "below"]
    assert plane(W, [0.0], 2.0)[0].prove([[1.0], [99.0]]).tolist() == ["above"] * 2
    # Declared ranges are what the card speaks of, also where the machine has no weight.
    V = np.column_stack([np.linspace(40, 90, 60), np.ones(60)])
    card, _ = plane(V, [1.0, 0.0], -65.0, bounds={"x0": (0, 150), "x1": (0, 2)})
    assert card.prove([[120, 1], [151, 1], [120, 7]]).tolist() == ["above", None, None]
    assert plane(V, [1.0, 0.0], -65.0)[0].prove([[80, 7], [99, 1]]).tolist() == ["above", None]


def test_certified_estimator_asks_its_machine_where_nothing_is_proved():
    X, y = load_cleveland(return_X_y=True)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X[::2], y[::2])
    shares = []
    for most in (5, 20, 60):
        rules = certified(machine, X[::2], y[::2], max_rules=most)
        known = check_proved(rules.scorecard_, machine, X)
        shares.append(rules.proved_)
        assert rules.proved_ == pytest.approx(known[::2].mean())
        assert (rules.predict(X) == machine.predict(X)).all()
        assert ((rules.decision_function(X) > 0) == (machine.decision_function(X) > 0)).all()
        asked = machine.predict(X)[::2][~known[::2]]
        most_often = np.unique(asked, return_counts=True)[1].max(initial=0)
        assert rules.fidelity_ == pytest.approx((known[::2].sum() + most_often) / len(known[::2]))
        assert rules.rounding_loss_ <= 0.01
        assert rules.scorecard_.n_rules <= most
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.9
    order = np.random.default_rng(0).permutation(len(X[::2]))
    again = certified(machine, X[::2].iloc[order], y[::2].iloc[order], max_rules=60)
    assert again.scorecard_ == rules.scorecard_
    distilled = certified(machine, X, y, max_features=4, max_rules=20)
    codes = distilled.scorecard_.prove_codes(X)
    assert len(distilled.scorecard_.features) <= 4
    assert ((distilled.distillation_.plane.decision(X) > 0) == codes)[codes >= 0].all()
    assert (distilled.predict(X) == machine.predict(X))[codes < 0].all()
    assert str(distilled.distillation_) in distilled.scorecard_.about
    assert not hasattr(distilled, "decision_function")
    assert certified(machine, X, y, max_features=13).distillation_ is None
    W, w = load_wbc(return_X_y=True)
    default = ScoreRules(certify=True, n_generated=50).fit(W, w)
    used = [part.feature for part in default.scorecard_.features]
    gappy = W.astype(float)
    gappy.iloc[0, min({*range(9)} - {*used})] = np.nan
    assert default.scorecard_.prove(gappy)[0] is not None
    with pytest.raises(ValueError, match="NaN"):  # as its machine does
        default.predict(gappy)
    rng = np.random.default_rng(0)
    with pytest.warns(ClearmarginWarning):
        dense = ScoreRules(certify=True).fit(rng.normal(size=(30, 2)), np.repeat([0, 1], [20, 10]))
    assert len(dense.scorecard_.features) == 2


X4, Y4 = make_classification(40, 4, random_state=0)
EMPTY = people()[0].assign(job=pd.Series([None] * 150, dtype=object))
OPTIONS = [
    *((lambda options=options: ScoreRules(LinearSVC(), **options).fit(X4, Y4), word) for options, word in [
        ({"max_features": 3}, "max_features"), ({"bounds": (0, 1)}, "bounds"), ({"max_rules": 0}, "max_rules"),
        ({"certify": True, "max_features": 0}, "max_features"), ({"certify": True, "bounds": "all"}, "bounds"),
        ({"certify": True, "bounds": {"y": (0, 1)}}, "'y'"), ({"max_conditions": 0}, "max_conditions"),
    ]),
    (lambda: ScoreRules(RandomForestClassifier(3), certify=True).fit(X4, Y4), "certify"),
    (lambda: ScoreRules(SVC().fit(X4, np.arange(40) % 3)).fit(X4, Y4), "3"),
    (lambda: ScoreRules(LinearSVC().fit(X4, Y4)).fit(np.where(X4 > 9, X4, np.nan), Y4), "missing"),
    (lambda: certified(encoded(LinearSVC()).fit(EMPTY, people()[1]), EMPTY, people()[1]), "missing"),
]  # fmt: skip
