"""Worst cases and proofs over what can be, beside the enumeration of all possible cases."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import AdviceBlendSVC, AdviceSVC, AdviceSVCCV
from clearmargin.advice.advice_reading import read_case
from clearmargin.advice.train import Frame
from clearmargin.advice.verdict import Possible, assess
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError

PURPOSES = ("car", "tv", "other")
GROUPS = {"purpose": {kind: f"purpose_{kind}" for kind in PURPOSES}}


@pytest.fixture(scope="module")
def loans():
    """A table of loans: ages and credits are whole numbers, amounts are not, the purpose is one of three."""
    rng = np.random.default_rng(5)
    age, credits_, kind = (
        rng.integers(19, 75, 150),
        rng.integers(1, 5, 150),
        rng.choice(PURPOSES, 150),
    )
    amount = rng.uniform(250, 9000, 150).round(1)
    X = pd.DataFrame({"age": age, "credits": credits_, "amount": amount})
    X = X.assign(**{f"purpose_{k}": (kind == k).astype(float) for k in PURPOSES})
    score = 0.05 * (age - 40) - amount / 4000 + (kind == "car") - 0.7 * (kind == "other")
    y = np.where(score + rng.normal(0, 0.5, 150) > 0, "good", "bad")
    return X, y


def assessed(advice, X, w, b, groups=None):
    case = read_case(AdviceSVC(advice, groups=groups), X, ["n", "p"] * (len(X) // 2))
    frame = Frame.around(case.columns, case.premises, case.X, scale="range", bounds="data")
    possible = Possible.of(case, frame)
    return [
        assess(premise, frame, possible, np.asarray(w), b, sign)
        for premise, sign in zip(case.premises, case.sign, strict=True)
    ], case


def every_case(X, groups):
    """All cases with whole numbers within the ranges and one category."""
    numbers = [name for name in X if not name.startswith("c_")]
    ranges = [range(int(X[name].min()), int(X[name].max()) + 1) for name in numbers]
    for values in itertools.product(*ranges):
        for k in range(3) if groups else [None]:
            yield np.array([*values, *([] if k is None else np.eye(3)[k])], dtype=float)


@given(
    st.lists(st.sampled_from([-2.0, -1.0, -0.3, 0.0, 0.5, 1.0]), min_size=5, max_size=5),
    st.sampled_from([-2.0, -0.3, 0.25, 1.0]),
    st.sampled_from(
        [
            "a >= 1.5 => p",
            "a < 2 and b > 1 => n",
            "a > 0 and b <= 2.5 => p",
            "a + b <= 2.5 => p",
            "a + b < 3 and a >= 0.5 => n",
            "2*a - b > 1.2 => p",
            "c in {x, y} and a >= 1 => n",
            "c = z and 2*a + b <= 4.5 => p",
        ]
    ),
)
def test_the_worst_case_is_that_of_all_possible_cases(weights, b, rule):
    codes = np.eye(3)[[0, 1, 2, 0]]
    X = pd.DataFrame({"a": [0, 3, 1, 2], "b": [0, 1, 3, 2]})
    X = X.assign(**{f"c_{k}": codes[:, j] for j, k in enumerate("xyz")})
    groups = {"c": {k: f"c_{k}" for k in "xyz"}}
    (found,), case = assessed(rule, X, weights, b, groups)
    sign = case.sign[0]
    cases = [x for x in every_case(X, True) if case.premises[0].covers(x[None])[0]]
    scores = [
        Fraction(b) + sum(Fraction(w) * Fraction(v) for w, v in zip(weights, x, strict=True))
        for x in cases
    ]
    assert scores
    lowest = min(int(sign) * score for score in scores)
    right = all(score > 0 if sign > 0 else score <= 0 for score in scores)
    is_box = (np.count_nonzero(case.premises[0].D, axis=1) == 1).all()
    if is_box:
        assert found.holds == right
        assert found.margin == pytest.approx(float(lowest), abs=1e-12)
    elif found.holds:
        assert (
            right
        )  # over linear conditions a proof is over all real points: it may be missing, never false
    assert found.margin <= float(lowest) + 1e-6
    if not right:
        assert not found.holds
        assert any((found.witness == x).all() for x in cases)
        assert found.score == pytest.approx(float(lowest), abs=1e-6)


@pytest.mark.parametrize("mu", [0.01, 0.5])
@pytest.mark.parametrize("bounds", ["age < 25", "age > 61.5", "2*age + credits < 61"])
def test_nobody_is_shown_who_cannot_exist(loans, mu, bounds):
    X, y = loans
    model = AdviceSVC(f"{bounds} => good\n{bounds} => bad", mu=mu, groups=["purpose"])
    with pytest.warns(ClearmarginWarning, match="the advice deserves a look"):
        model.fit(X, y)
    shown = [rule for rule in model.outcome_ if not rule.holds]
    assert shown
    for rule in shown:
        values = dict(rule.witness)
        assert "purpose_car" not in values
        row = {**{f"purpose_{k}": float(k == values.get("purpose")) for k in PURPOSES}}
        row |= {
            name: values.get(name, float(X[name].median())) for name in ("age", "credits", "amount")
        }
        assert float(row["age"]).is_integer()
        assert float(row["credits"]).is_integer()
        case = pd.DataFrame([row])[list(X)]
        assert model.advice_.covers(case[list(model.advice_.space.names)])[0].all()
        if "purpose" in values and "amount" in values:
            assert model.predict(case)[0] != rule.after.label
            side = 1 if rule.after.label == model.classes_[1] else -1
            assert side * model.decision_function(case)[0] == pytest.approx(rule.witness_score)


def test_a_guarantee_is_over_one_category_of_each_feature():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 60)
    X = pd.DataFrame(np.eye(3)[kind], columns=[f"purpose_{k}" for k in PURPOSES])
    X.insert(0, "age", np.arange(60.0))
    w, b = np.array([0.0, 5.0, 6.0, 7.0]), 0.0
    (as_box,), _ = assessed("age >= 3 => p", X, w, b)
    (one,), _ = assessed("age >= 3 => p", X, w, b, ["purpose"])
    assert (as_box.margin, as_box.holds) == (0.0, False)
    assert (one.margin, one.holds, one.is_proved, one.floor) == (5.0, True, True, 5.0)


def test_the_model_that_agrees_on_all_covered_cases_does_not_contradict_the_rule():
    X, y = load_wbc(return_X_y=True)
    advice = "uniformity_of_cell_size <= 3 and bare_nuclei <= 3 => benign"
    (rule,) = AdviceSVC(advice, mu=10.0).fit(X, y).outcome_
    stats = rule.after.stats
    assert (stats.covered, stats.agreed) == (425, 425)
    assert (rule.verdict, rule.standing) == ("kept", "uncontradicted")
    assert "contradicted by the model" not in str(rule)
    assert f"not contradicted by any of the {stats.covered} covered cases, but not proved" in str(
        rule
    )
    assert "no case is near it" in rule.guarantee


def test_proofs_beyond_the_data_need_declared_ranges():
    X = pd.DataFrame({"a": [0.5, 1.5, 2.0, 4.0], "b": [0.3, 2.0, 1.0, 3.0]})
    plain = AdviceSVC("a >= 3 => p", mu=np.inf).fit(X, ["n", "n", "n", "p"])
    declared = "feature a: in [0, 9]\nfeature b: in [0, 5]\na >= 3 => p"
    known = AdviceSVC(declared, mu=np.inf).fit(X, ["n", "n", "n", "p"])
    assert plain.outcome_[0].holds
    assert known.outcome_[0].holds
    assert known.outcome_[0].floor > 0
    assert known.refined_[0].proof == "proved"


@pytest.mark.parametrize("make", [AdviceSVC, AdviceBlendSVC, AdviceSVCCV])
def test_groups_reach_every_estimator_of_advice(loans, make):
    X, y = loans
    costs = {"lams": [1.0], "mus": [1e-3]} if make is AdviceSVCCV else {}
    model = make("amount <= 8000 => good", groups=["purpose"], **costs).fit(X, y)
    (rule,) = model.outcome_
    assert not [name for name in rule.witness or () if name.startswith("purpose_")]


def test_groups_that_are_not_there_are_refused(loans):
    X, y = loans
    with pytest.raises(
        DataError, match=r"groups names 'purpos', .* no 0/1 columns 'purpos_...'; did"
    ):
        AdviceSVC("age >= 30 => good", groups=["purpos"]).fit(X, y)
    with pytest.raises(InvalidValueError, match="groups must be names of features"):
        AdviceSVC("age >= 30 => good", groups="purpose").fit(X, y)
    both = X.assign(purpose_tv=1.0)
    with pytest.raises(
        DataError, match=r"exactly one column of 'purpose' must be 1 .* and row 1 has"
    ):
        AdviceSVC("age >= 30 => good", groups=["purpose"]).fit(both, y)
    with pytest.raises(InvalidValueError, match="unknown column 'purpose_cars'; did you mean"):
        AdviceSVC("age >= 30 => good", groups={"purpose": {"car": "purpose_cars"}}).fit(X, y)
