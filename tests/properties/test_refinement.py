"""Refined advice: each first step beside the printed programs, and what is true of any refinement."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles.advice_program import (
    Change,
    Frame,
    convexified_once,
    optimum,
    random_advice,
    refined_once,
    worth,
)
from tests.seams import refined_premises

from clearmargin import AdviceSVC, Box, parse_rules
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import ClearmarginWarning

pytestmark = pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")
METHODS = ["translate", "slp", "sqp"]
LETTER = {"where": "everywhere", "bounds": None}


def fit(method, advice, X, y, **options):
    return AdviceSVC(advice, refine=method, **{"nu": 0.1, "tol": 1e-3} | options).fit(X, y)


@given(st.integers(0, 10_000), st.sampled_from(METHODS))
@settings(max_examples=10)
def test_to_the_letter_each_step_is_one_of_the_printed_programs(seed, method):
    """From the printed optimum; the rules at the end cost what the printed program says of them, or a little less."""
    X, y, advice = random_advice(seed, n=(1, 2))
    options = {"mu": 1.0, "bounds": None}
    model = fit(method, advice, X, y, max_iter=3, where="everywhere", **options)
    frame = Frame(model, X, y, **options)
    start = optimum(*frame.data, frame.rules)
    assert model.objectives_[0] == pytest.approx(start, rel=1e-6)
    assert (np.diff(model.objectives_) <= 1e-9 * start).all()
    assert model.objective_ <= model.objectives_[-1] * (1 + 1e-6) or any(
        rule.problems for rule in model.outcome_
    )


@given(st.integers(0, 10_000), st.sampled_from(METHODS))
@settings(max_examples=10)
def test_the_first_step_is_that_of_the_printed_program(seed, method):
    X, y, advice = random_advice(seed, n=(1, 2))
    options = {"mu": 2.0}
    model = AdviceSVC(advice, where="everywhere", **options).fit(X, y)
    assume("empty" not in model.outcome_.verdicts)
    frame = Frame(model, X, y, **options)
    still = np.array([source.code is not None for source in model.encoding_.sources])
    rows = np.concatenate([rule[0] for rule in frame.rules])
    turning = np.full(rows.shape, method != "translate") & ~still
    u, values = refined_premises(*frame.data, frame.rules, method, 0.1, turning, 1)
    ends = np.cumsum([len(rule[1]) for rule in frame.rules])[:-1]
    u = np.split(u, ends)
    start = worth(*frame.data, frame.rules, *frame.plane(model), u)
    assert values[0] == pytest.approx(start, rel=1e-6)
    changes = [
        Change(rule, 0.1, still.tolist(), method != "translate", None, False)
        for rule in frame.rules
    ]
    if method == "sqp":
        promise = convexified_once(*frame.data, frame.rules, u, changes)
        assert values[-1] <= min(start, promise) + 1e-5 * start
    else:
        value = refined_once(*frame.data, frame.rules, u, changes)
        assert values[-1] == pytest.approx(min(start, value), rel=1e-5)


def check_sound(model, X, y, seed):
    """Counts, proofs and worst scores of all rules are those of their points, drawn and given."""
    rng = np.random.default_rng(seed)
    numbers = X.select_dtypes("number")
    low, high = numbers.min().to_numpy(), numbers.max().to_numpy()
    drawn = pd.DataFrame(rng.uniform(low, high, (3_000, len(low))), columns=numbers.columns)
    drawn = drawn.assign(k=rng.choice([*"xyz"], len(drawn))) if "k" in X else drawn
    left = [rule for rule in model.outcome_ if rule.verdict in ("unchanged", "refined")]
    assert [rule.after for rule in left] == list(model.refined_)
    own = [rule.verdict not in ("rejected", "empty") for rule in model.outcome_]
    before, after = model.advice_.covers(X)[:, own], model.refined_.covers(X)
    far = model.refined_.covers(drawn)
    for k, rule in enumerate(left):
        side = 1.0 if rule.after.label == model.classes_[1] else -1.0
        is_right, says = y == rule.after.label, model.predict(X) == rule.after.label
        for stats, rows in ((rule.before.stats, before[:, k]), (rule.after.stats, after[:, k])):
            assert (stats.covered, stats.correct) == (rows.sum(), (rows & is_right).sum())
            assert stats.agreed == (rows & says).sum()
        assert rule.covered == after[:, k].sum()
        score = side * model.decision_function(drawn[far[:, k]]) if far[:, k].any() else np.ones(0)
        unit = np.abs(model.decision_function(drawn)).max() + 1.0
        if rule.proved:
            assert (score > -1e-9 * unit).all()
        # A rule over whole numbers is judged over them alone; random tables have three decimals.
        assert (score >= rule.margin - 1e-6 * unit).all()
        assert rule.after.proof is None or rule.proved
    return left, before, after


@given(
    st.integers(0, 10_000),
    st.sampled_from(METHODS),
    st.sampled_from([{}, {"where": "everywhere"}, {"mu": 3.0}]),
)
@settings(max_examples=12)
def test_refined_rules_are_right_more_often_and_as_they_are_said_to_be(seed, method, switch):
    X, y, advice = random_advice(seed)
    model = fit(method, advice, X, y, max_iter=15, **switch)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    assert 1 <= model.n_iter_ <= 15
    left, before, after = check_sound(model, X, y, seed)
    for k, rule in enumerate(left):
        is_right = y == rule.after.label
        n, now = before[:, k].sum(), after[:, k].sum()
        right, still = (before[:, k] & is_right).sum(), (after[:, k] & is_right).sum()
        assert (rule.verdict == "refined") == (rule.text_before != rule.text_after)
        assert rule.verdict == "unchanged" or (2 * now >= n > 0 and 2 * still >= now)
        assert rule.verdict == "unchanged" or still * n > right * now
    again = parse_rules(model.refined_.to_text(), classes=model.refined_.classes)
    assert (again.covers(X) == after).all()


@pytest.fixture(scope="module")
def toy():
    """The poster's toy: 100 points on both sides of x1 + x2 = 2."""
    X = pd.DataFrame(np.random.default_rng(0).uniform(-4, 6, (100, 2)), columns=["x1", "x2"])
    return X, np.where(X.sum(axis=1) > 2, "plus", "minus")


TOY = "S1: x1 >= {0} and x2 >= {0} => plus\nS2: x1 <= 0 and x2 <= 0 => minus"


@pytest.mark.parametrize("method", METHODS)
def test_contradicted_advice_is_cut_back_and_right_advice_stays(method, toy):
    X, y = toy
    for shift in (0, -0.9, -3):
        for where in ("cases", "everywhere"):
            model = fit(method, TOY.format(shift), X, y, where=where)
            first, second = model.outcome_
            assert second.verdict == "unchanged"
            if first.verdict == "refined":
                before, after = first.before.stats, first.after.stats
                assert after.accuracy > before.accuracy
            assert model.score(X, y) > 0.93
    # To the letter of the papers, what is wrong by more than a unit has no multipliers, and nothing moves it.
    near = fit(method, TOY.format(-0.5), X, y, **LETTER)
    assert near.outcome_[0].verdict == "refined"
    assert not (near.refined_.covers(X)[:, 0] & (y == "minus")).sum() > 3


@pytest.mark.parametrize("method", METHODS)
def test_at_a_high_price_nothing_moves(method, toy):
    X, y = toy
    for where in ("cases", "everywhere"):
        still = fit(method, TOY.format(-1), X, y, nu=1e9, where=where)
        given = AdviceSVC(TOY.format(-1), where=where).fit(X, y)
        assert still.objective_ == pytest.approx(given.objective_, rel=1e-6)
        assert still.refined_ == given.refined_


def test_a_rule_that_the_cases_contradict_is_rejected_and_the_rest_goes_on(toy):
    X, y = toy
    wrong = "x1 <= 0 and x2 <= 0 => plus"
    for method in [None, *METHODS]:
        model = fit(method, f"{wrong}\nx1 >= 4 and x2 >= 4 => plus", X, y)
        assert model.outcome_.verdicts == ("rejected", "unchanged")
        assert (model.outcome_[0].trust, len(model.refined_)) == (0.0, 1)
        assert model.outcome_[0].problems
        assert model.score(X, y) > 0.97


HEREDITY = """
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""


def test_rules_lose_their_cases_to_the_letter_of_the_papers_only():
    X, y = (part[:60] for part in load_pima(return_X_y=True))
    published = fit("translate", HEREDITY, X, y, nu=0.02, **LETTER)
    assert [rule.covered for rule in published.outcome_] == [0, 0]
    for where in ("cases", "everywhere"):
        for rule in fit("translate", HEREDITY, X, y, nu=0.02, where=where).outcome_:
            assert 2 * rule.covered >= rule.before.stats.covered
            assert (rule.text_after == rule.text_before) == (rule.verdict == "unchanged")


def test_costs_that_a_solver_finds_hard_are_no_reason_to_fail():
    for draw in (82, 232, 310, 315):
        X, y, advice = random_advice(draw)
        lam, mu = 10.0 ** np.random.default_rng(draw).uniform(-4, 5, 2)
        model = fit("sqp", advice, X, y, lam=lam, mu=mu, nu=0.01, max_iter=5, **LETTER)
        given = AdviceSVC(advice, lam=lam, mu=mu, **LETTER).fit(X, y)
        assert model.objectives_[-1] <= given.objective_ * (1 + 1e-6)


def test_steps_that_run_out_are_said():
    X, y = (part[:100] for part in load_pima(return_X_y=True))
    model = AdviceSVC(HEREDITY, refine="slp", nu=0.1, mu=3.0, max_iter=1, **LETTER)
    with pytest.warns(ClearmarginWarning, match="max_iter"):
        model.fit(X, y)
    assert model.n_iter_ == 1


def test_bounds_that_moved_are_values_that_a_feature_can_have():
    X, y = load_wbc(return_X_y=True)
    size = "uniformity_of_cell_size"
    X, y = X[[size, "clump_thickness"]][:150], y[:150]
    wide = f"{size} <= 6 => benign\n{size} >= 2 and clump_thickness >= 3 => malignant"
    for method in METHODS:
        model = fit(method, wide, X, y, mu=10.0, **LETTER)
        boxes = [rule.after.region for rule in model.outcome_ if isinstance(rule.after.region, Box)]
        assert any(rule.verdict == "refined" for rule in model.outcome_)
        assert all(np.isinf(end) or end.is_integer() for box in boxes
                   for end in (*box.lower.tolist(), *box.upper.tolist()))  # fmt: skip
