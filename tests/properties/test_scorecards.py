"""Scorecards: their sums, cards that imitate any model, and cards with proof against exact arithmetic."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from functools import partial
from itertools import product

import jsonschema
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
from tests.oracles import drawn_rules as drawn
from tests.oracles import exact_side
from tests.oracles.drawn_rules import card_of_cells
from tests.seams import explain_points

from clearmargin import FeatureSpace, RuleSet, RuleSVC, Scorecard, ScoreRules, parse_rules
from clearmargin.datasets import load_cleveland, load_wbc
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning, FileDamagedError
from clearmargin.points import Proof, scorecard_schema
from clearmargin.rules import Box

SPACE = FeatureSpace(["age", "job"], [20.0, -np.inf], [80.0, np.inf], categories={"job": [*"ab"]})
CELLS = [(0, (20, 50, "left"), 0, 4), (0, (50, 80), 5, 9), (1, [0], 0, 0), (1, [1], 6, 7)]
PROVED = card_of_cells(CELLS, (4, 11), SPACE)
TWO = parse_rules("age > 3 and bmi > 2 => b", classes=["a", "b"])
ONE = TWO.from_text("age > 3 => b", classes=["a", "b"])
REFUSED = [
    (lambda: Proof([0], [1, 1], (0, 1)), "at_least"), (lambda: Proof([0.5], [1], (0, 1)), "at_least"),
    (lambda: Proof([2, 0], [1, 1], (0, 1)), "at_least"), (lambda: Proof([0], [2.0**60], (0, 1)), "at_most"),
    (lambda: Proof([0], [1], (4, 4)), "limits"), (lambda: Proof([0], [1], (0, 1), 0.0), "unit"),
    (lambda: Scorecard(TWO, [1], 0, proof=Proof([0], [1], (0, 1))), "proof"),
    (lambda: Scorecard(ONE, [1], 0, proof=Proof([0] * 2, [1] * 2, (0, 1))), "2"),
    (lambda: Scorecard(ONE, [1], 0).prove([[1.0]]), "certify"), (lambda: Scorecard(TWO, [1], 0).card(), "card"),
]  # fmt: skip
# A card as it was written before cards with proof were scorecards.
OLD = {
    "features": parse_rules("feature age: in [20, 80]\nfeature job: in {a, b}\nclasses: well, ill").to_dict(),
    "classes": ["well", "ill"], "thresholds": [4, 11], "unit": 1.0, "about": "",
    "cells": [
        {"feature": "age", "at_least": [0, 5], "at_most": [4, 9], "cuts": [50.0]},
        {"feature": "job", "at_least": [0, 6], "at_most": [0, 7], "sets": [["a"], ["b"]]},
    ],
}  # fmt: skip
DAMAGED = [
    ([], "format"), (OLD | {"cells": [{}]}, "feature"), (OLD | {"cells": [{"feature": "height"}]}, "at_least"),
    (OLD | {"thresholds": [4, 3]}, "limits"), (PROVED.to_dict() | {"proof": {}}, "at_least"),
    (PROVED.to_dict() | {"decides": "plane"}, "decides"),
]  # fmt: skip


def test_scorecards_that_make_no_sense_are_refused_by_name():
    damaged = [(partial(Scorecard.from_dict, data), word) for data, word in DAMAGED]
    for act, word in [*REFUSED, *damaged, *OPTIONS]:
        kind = FileDamagedError if isinstance(act, partial) else ClearmarginError
        with pytest.raises(kind, match=word):
            act()


def test_scorecard_proves_by_both_columns_and_says_why():
    rows = pd.DataFrame({"age": [60, 30, 60, np.nan, 60, 90], "job": [*"baab", "king", "b"]})
    assert PROVED.prove(rows).tolist() == ["ill", "well", None, None, None, None]
    low, high, inside = PROVED.totals(rows)
    assert [low.tolist(), high.tolist()] == [[11, 0, 5, 0, 0, 0], [16, 4, 9, 0, 0, 0]]
    assert inside.tolist() == [True] * 3 + [False] * 3
    told = [PROVED.explain(rows.iloc[k]) for k in range(6)]
    assert [each.proof.is_proved for each in told] == [True, True, False, False, False, False]
    assert [len(each.proof.outside) for each in told] == [0, 0, 0, 1, 1, 1]
    assert {part.proof for part in told[2].parts} == {(5, 9), (0, 0)}
    assert "".join(map(str, told)).count("\n  ") == 6 + 1 + 1 + 1
    asked = explain_points(PROVED, {"job": "a", "age": 60}, "well")
    assert (asked.label, asked.proof.at_least, asked.proof.at_most) == ("well", 5, 9)
    # Where a class is proved, the sum of the points gives it, too.
    assert PROVED.predict(rows.iloc[:2]).tolist() == ["ill", "well"]
    ends = FeatureSpace(["a|<b>", "b"], [1.1263382099502577, 2.0], [95.85312907369482, 2.5])
    low, high = ends.lower[0], ends.upper[0]
    cells = [(0, (low, 6.782, "left"), 0, 1), (0, (6.782, high), 1, 2), (1, (2.0, 2.5), 0, 0)]
    card = card_of_cells(cells, (0, 1), ends, ["no", "<i>"], about="<u>")
    # Ends of many digits are printed short, and inwards.
    assert [line.text for line in card.card()] == ["1.127 to < 6.782", "6.782 to 95.85"]
    assert "2 to 2.5" in card.notes()[0]
    assert not any(tag in card._repr_html_() for tag in ("<b>", "<i>", "<u>"))
    assert card.to_frame()["at most"].tolist() == [1, 2]
    assert len(str(card).splitlines()) == 7
    assert card != PROVED == Scorecard.from_dict(json.loads(json.dumps(PROVED.to_dict())))
    assert (Scorecard.from_dict(OLD).prove(rows) == PROVED.prove(rows)).all()
    jsonschema.validate(PROVED.to_dict(), scorecard_schema())


@given(drawn.weighted_rules(), st.integers(0, 99))
def test_card_adds_up_to_what_its_rules_add_up_to(weighted, seed):
    """The points of the cell of each feature, and the limit that is printed, decide as the rules do."""
    rules = [rule for rule in weighted.rules if isinstance(rule.region, Box)]
    alone = [r for r, rule in enumerate(rules) if len(rule.region.bounded) == 1]
    if len(weighted.classes) != 2 or not alone:
        return
    weights = np.random.default_rng(seed).integers(-5, 6, len(alone))
    own = RuleSet([rules[r] for r in alone], weighted.space.with_fill(None), weighted.classes)
    card = Scorecard(own, weights, 0.5)
    X, _ = drawn.rows_of(card, seed, count=20)
    start = float(card.intercept) + sum(card.least_points().values())
    lines = {(line.name, line.text): line.points for line in card.card()}
    for row, score in zip(X, card.decision_function(X), strict=True):
        told = card.explain(row)
        assert sum(part.points for part in told.parts) == pytest.approx(score)
        assert told.start == pytest.approx(start)
    names = {name for name, _ in lines}
    for name in names:
        assert min(points for (other, _), points in lines.items() if other == name) == 0
    assert f"{-start:.4g}" in card.card_summary() or card.has_points


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
    assert ({**one.scorecard_.rules[0].region.sets}, one.fidelity_) == ({1: {2}}, 1.0)
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
    for j in sorted({rule.region.bounded[0] for rule in card.rules}):
        boxes = [rule.region for rule in card.rules if rule.region.bounded == (j,)]
        if card.space.categories[j] is not None:
            codes = [code for box in boxes if j in box.sets for code in sorted(box.sets[j])]
            rows[:, j] = rng.choice(codes, size=m)
            continue
        cells = [box.interval(j) for box in boxes if box.has_bounds(j)]
        ends = np.array([end for cell in cells for end in (cell.low, cell.high)])
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
    cells = {}
    for rule in card.rules:
        cells.setdefault(rule.region.bounded[0], []).append(
            rule.region.interval(rule.region.bounded[0])
        )
    unit, slack = Fraction(card.proof.unit), len(cells) + 1
    for chosen in product(*cells.values()):
        low = high = Fraction(float(machine.intercept_[0]))
        row = np.zeros((1, len(coef)))
        for j, cell in zip(cells, chosen, strict=True):
            reach = [
                Fraction(float(machine.coef_[0, j])) * Fraction(end)
                for end in (cell.low, cell.high)
            ]
            low, high = low + min(reach), high + max(reach)
            row[0, j] = cell.low
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
    own = {name: [(r, rule.region) for r, rule in enumerate(card.rules) if rule.region.bounded == (j,)]
           for j, name in enumerate(X)}  # fmt: skip
    points = [*zip(card.proof.at_least.tolist(), card.proof.at_most.tolist(), strict=True)]
    # An imputed value has points of its own where values are missing, else those of what is filled in.
    shared = {name: [points[r] for r, box in cells if box.missing] for name, cells in own.items()}
    assert shared["age"][0][1] - shared["age"][0][0] <= 1
    assert shared["income"][0] in [points[r] for r, box in own["income"] if not box.missing]
    check_proved(card, machine, X.assign(income=np.nan))
    assert sorted(code for _, box in own["job"] for code in box.sets[1]) == [0, 1, 2, 3]
    assert all(box.lower[0] % 1 == 0 for _, box in own["age"] if not box.missing)
    assert rules.explain(X.iloc[0]).label == rules.predict(X.iloc[[0]])[0]
    known = X[[label is not None for label in card.prove(X)]].iloc[:5]
    for column, value in (("age", 81.0), ("income", np.inf), ("job", "queen"), ("job", None)):
        far = known.assign(**{column: value})
        assert card.prove(far).tolist() == [None] * 5
        if value != np.inf:
            assert (rules.predict(far) == machine.predict(far)).all()
            assert len(rules.explain(far.iloc[0]).proof.outside) == 1
    assert (pickle.loads(pickle.dumps(rules)).predict(X) == rules.predict(X)).all()
    # Where only the absence of a category has a weight, nothing is proved without one.
    Z, z = people()
    Z.loc[::3, "job"] = None
    absent = encoded(LinearSVC(random_state=0)).fit(Z, z)
    absent[-1].coef_[0, 2:6], absent[-1].coef_[0, 6] = 0.0, 5.0
    card = certified(absent, Z, z, max_rules=20).scorecard_
    assert not check_proved(card, absent, Z, 0.2)[Z["job"].isna()].any()
    assert "job" in card.notes()[0]
    told = certified(encoded(LinearSVC(random_state=0)), Z, z).explain(Z.iloc[0])
    assert (len(told.proof.outside), told.proof.is_proved) == (1, False)


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
        assert rules.scorecard_.n_cuts <= most
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.9
    order = np.random.default_rng(0).permutation(len(X[::2]))
    again = certified(machine, X[::2].iloc[order], y[::2].iloc[order], max_rules=60)
    assert again.scorecard_ == rules.scorecard_
    distilled = certified(machine, X, y, max_features=4, max_rules=20)
    codes = distilled.prove_codes(X)
    assert len({rule.region.bounded for rule in distilled.scorecard_.rules}) <= 4
    assert ((distilled.distillation_.plane.decision(X) > 0) == codes)[codes >= 0].all()
    assert (distilled.predict(X) == machine.predict(X))[codes < 0].all()
    assert str(distilled.distillation_) in distilled.scorecard_.proof.about
    assert not hasattr(distilled, "decision_function")
    assert certified(machine, X, y, max_features=13).distillation_ is None
    W, w = load_wbc(return_X_y=True)
    default = ScoreRules(certify=True, n_generated=50).fit(W, w)
    used = [rule.region.bounded[0] for rule in default.scorecard_.rules]
    gappy = W.astype(float)
    gappy.iloc[0, min({*range(9)} - {*used})] = np.nan
    assert default.scorecard_.prove(gappy)[0] is not None
    with pytest.raises(ValueError, match="NaN"):  # as its machine does
        default.predict(gappy)
    rng = np.random.default_rng(0)
    with pytest.warns(ClearmarginWarning):
        dense = ScoreRules(certify=True).fit(rng.normal(size=(30, 2)), np.repeat([0, 1], [20, 10]))
    assert len({rule.region.bounded for rule in dense.scorecard_.rules}) == 2


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
