"""Advice that the data contradict is refined, and the outcome says so."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from clearmargin import AdviceSVC, Box, parse_rules
from clearmargin.advice.advice_svm import (
    AdviceProblem,
    BoxPremises,
    Premises,
    advice_program,
    read_plane,
)
from clearmargin.advice.refine import refine_advice
from clearmargin.datasets import load_pima, load_wbc
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.solvers import solve

# The advice of these tests clashes on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:the advice deserves a look")

METHODS = ["translate", "slp", "sqp", "trust"]


def toy_advice(shift: float) -> str:
    return f"S1: x1 >= {-shift} and x2 >= {-shift} => plus\nS2: x1 <= 0 and x2 <= 0 => minus"


def fit(method, advice, X, y, **parameters):
    return AdviceSVC(advice, refine=method, **{"nu": 0.1, "tol": 1e-3} | parameters).fit(X, y)


@pytest.mark.parametrize("shift", [0.0, 0.9, 1.1, 3.0])
@pytest.mark.parametrize("method", METHODS)
def test_contradicted_advice_is_cut_back_and_right_advice_stays(method, shift, toy):
    X, y = toy
    model = fit(method, toy_advice(shift), X, y)
    first, second = model.outcome_
    covered = model.refined_.covers(X)
    assert not (covered[:, 0] & (y == "minus")).any()
    assert (covered[:, 0] & (y == "plus")).sum() > 10
    assert (first.verdict, second.verdict) == ("refined", "kept")
    assert second.after.region == second.before.region
    assert first.holds
    assert first.margin >= 1 - 1e-5
    assert model.score(X, y) > 0.97


@pytest.mark.filterwarnings("ignore:refinement was still improving")
@pytest.mark.parametrize("method", METHODS)
def test_the_objective_never_rises(method, diabetes, pima):
    X, y, _, _ = pima
    model = AdviceSVC(diabetes, refine=method, nu=0.1, mu=3.0, max_iter=15).fit(X, y)
    assert (np.diff(model.objectives_) <= 1e-9 * model.objectives_[0]).all()
    assert model.objective_ == pytest.approx(model.objectives_[-1])
    assert model.objective_ <= AdviceSVC(diabetes, mu=3.0).fit(X, y).objective_ + 1e-9
    assert 1 <= model.n_iter_ <= 15


def test_refinement_that_did_not_come_to_rest_says_so(diabetes, pima):
    X, y, _, _ = pima
    with pytest.warns(ClearmarginWarning, match="still improving after max_iter=3 steps"):
        AdviceSVC(diabetes, refine="trust", nu=0.1, mu=3.0, max_iter=3).fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_said_to_hold_holds(method, diabetes, pima):
    """Points drawn from each refined premise within the range of the data get its class."""
    X, y, _, _ = pima
    model = fit(method, diabetes, X, y, mu=3.0, tol=1e-2)
    rng = np.random.default_rng(0)
    low, high = X.min().to_numpy(), X.max().to_numpy()
    drawn = pd.DataFrame(rng.uniform(low, high, (20_000, len(low))), columns=X.columns)
    covered = model.refined_.covers(drawn)
    side = np.where(model.classes_[1] == np.array([r.label for r in model.refined_]), 1.0, -1.0)
    score = model.decision_function(drawn)[:, None] * side
    outcomes = [o for o in model.outcome_ if o.verdict != "rejected"]
    assert covered.any()
    for k, outcome in enumerate(outcomes):
        assert (score[covered[:, k], k] >= outcome.margin - 1e-6).all()
        assert outcome.holds == (outcome.margin > 0)
        assert outcome.holds or outcome.after.proof is None


def test_the_outcome_reads_as_text_with_the_change_of_each_bound(toy):
    X, y = toy
    model = fit("translate", toy_advice(0.0), X, y)
    first = model.outcome_[0]
    (change,) = first.changes
    assert change.before in ("x1 >= 0", "x2 >= 0")
    assert change.bound_before == 0
    assert change.after == f"{change.feature} >= {change.bound_after:g}"
    assert change.change == change.bound_after > 1
    text = str(model.outcome_)
    assert "S1: refined from the data" in text
    assert "  before  S1: x1 >= 0 and x2 >= 0 => plus" in text
    assert f"({change.feature} +{change.change:.4g})" in text
    assert "every case in it gets plus, with a score of at least 1" in text
    assert model.refined_ == parse_rules(model.refined_.to_text(), classes=["minus", "plus"])


def test_the_table_of_the_outcome_has_both_texts_and_the_counts(toy):
    X, y = toy
    model = fit("trust", toy_advice(0.0), X, y)
    frame = model.outcome_.to_frame()
    assert frame["verdict"].tolist() == ["refined", "kept"]
    inside = (X["x1"] >= 0) & (X["x2"] >= 0)
    assert frame["covered_before"][0] == inside.sum()
    assert frame["right_before"][0] == pytest.approx((y[inside] == "plus").mean())
    assert frame["right_after"][0] == 1.0
    html = model.outcome_._repr_html_()
    assert "x1 &gt;= 0" in html
    assert "<script" not in html


def test_turned_conditions_also_read_as_intervals(diabetes, pima):
    X, y, _, _ = pima
    model = fit("slp", diabetes, X, y, mu=3.0)
    turned = [k for k, outcome in enumerate(model.outcome_) if outcome.intervals is not None]
    assert turned
    covered = model.refined_.covers(X)
    own = X[list(model.advice_.space.names)].to_numpy()
    for k in turned:
        region = model.outcome_[k].intervals.region
        assert isinstance(region, Box)
        assert region.contains(own[covered[:, k]]).all()


@pytest.mark.parametrize("method", ["slp", "sqp", "trust"])
def test_sparse_refinement_speaks_of_the_features_of_the_rule_alone(method, diabetes, pima):
    X, y, _, _ = pima
    model = fit(method, diabetes, X, y, mu=3.0, sparse=True, tol=1e-2)
    assert model.refined_.space.names == parse_rules(diabetes).space.names
    for outcome in model.outcome_:
        assert set(outcome.after.region.bounded) <= set(outcome.before.region.bounded)


def test_advice_at_odds_with_everything_is_rejected_and_the_rest_goes_on(toy):
    X, y = toy
    advice = "-3.5 <= x1 <= -2 and -3.5 <= x2 <= -2 => plus\nx1 >= 4 and x2 >= 4 => plus"
    model = fit("translate", advice, X, y)
    assert model.outcome_.verdicts == ("rejected", "kept")
    assert len(model.refined_) == 1
    assert model.score(X, y) > 0.97
    assert "rejected" in model.outcome_[0].guarantee


def test_refinement_keeps_the_case_that_speaks_for_a_rule(diabetes, pima):
    X, y, _, _ = pima
    model = fit("slp", diabetes, X, y, mu=3.0)
    for outcome in model.outcome_:
        assert outcome.after.stats is not None
        assert outcome.after.stats.correct >= 1


def test_cautious_advice_is_extended_only_when_asked(toy):
    X, y = toy
    advice = "far: x1 >= 4 and x2 >= 4 => plus"
    assert AdviceSVC(advice).fit(X, y).outcome_.verdicts == ("kept",)
    model = AdviceSVC(advice, extend=True).fit(X, y)
    (outcome,) = model.outcome_
    assert outcome.verdict == "extended"
    assert outcome.margin == pytest.approx(1.0, abs=1e-2)
    assert outcome.margin >= 1 - 1e-6
    before = parse_rules(advice).covers(X)[:, 0]
    after = model.refined_.covers(X)[:, 0]
    assert (after >= before).all()
    assert after.sum() > before.sum()


def test_a_condition_that_plays_no_part_is_dropped_when_extending():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 10, (100, 2)), columns=["a", "noise"])
    y = np.where(X["a"] > 5, "p", "n")
    model = AdviceSVC("a >= 8 and noise >= 3 => p", extend=True, lam=10.0).fit(X, y)
    if model.coef_[0, 1] == 0:
        assert model.refined_[0].region.bounded == (0,)
        assert any(change.after == "" for change in model.outcome_[0].changes)
    assert model.outcome_[0].holds


def test_premises_that_no_case_can_satisfy_are_set_aside():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0, 1.0]})
    y = ["n", "n", "p", "p"]
    advice = "a + b <= 1 and a + b >= 2 => p\na >= 2 => p"
    with pytest.warns(ClearmarginWarning, match="no case can satisfy"):
        model = AdviceSVC(advice, mu=5.0).fit(X, y)
    alone = AdviceSVC("a >= 2 => p", mu=5.0).fit(X, y)
    assert model.outcome_.verdicts == ("empty", "kept")
    assert model.coef_ == pytest.approx(alone.coef_, abs=1e-8)
    assert len(model.refined_) == 1


def published_svm(X, y, rules, lam, mu):
    """The knowledge-based SVM as Kunapuli, Maclin and Shavlik print it (their eq. 1), by another solver."""
    m, n = X.shape
    rules = [
        (D / np.linalg.norm(D, axis=1)[:, None], d / np.linalg.norm(D, axis=1), z)
        for D, d, z in rules
    ]
    sizes = [len(d) for _, d, _ in rules]
    # Unknowns: w+, w-, b, xi, then u, eta and zeta of each rule.
    total = 2 * n + 1 + m + sum(k + n + 1 for k in sizes)
    cost, A, limit = np.zeros(total), [], []
    cost[: 2 * n], cost[2 * n + 1 : 2 * n + 1 + m] = 1.0, lam
    for j in range(m):
        row = np.zeros(total)
        row[:n], row[n : 2 * n], row[2 * n] = -y[j] * X[j], y[j] * X[j], y[j]
        row[2 * n + 1 + j] = -1.0
        A.append(row)
        limit.append(-1.0)
    at = 2 * n + 1 + m
    for (D, d, z), k in zip(rules, sizes, strict=True):
        u, eta, zeta = slice(at, at + k), slice(at + k, at + k + n), at + k + n
        cost[eta], cost[zeta] = mu, mu
        for sign in (1.0, -1.0):
            rows = np.zeros((n, total))
            rows[:, u], rows[:, :n], rows[:, n : 2 * n] = (
                sign * D.T,
                sign * z * np.eye(n),
                -sign * z * np.eye(n),
            )
            rows[:, eta] = -np.eye(n)
            A.extend(rows)
            limit.extend(np.zeros(n))
        row = np.zeros(total)
        row[u], row[2 * n], row[zeta] = d, z, -1.0
        A.append(row)
        limit.append(-1.0)
        at += k + n + 1
    bounds = [(0, None)] * total
    bounds[2 * n] = (None, None)
    return linprog(cost, np.array(A), np.array(limit), bounds=bounds).fun


@pytest.mark.parametrize("method", ["translate", "slp", "sqp"])
def test_as_published_refinement_starts_from_the_advice_and_gives_up_what_is_wrong_by_far(
    method, toy
):
    X, y = toy
    letter = {"published": True, "bounds": None, "scale": None, "mu": 1.0, "lam": 1.0}
    signs = np.where(y == "plus", 1.0, -1.0)
    for shift in (0.5, 3.0):
        S1, S2 = (-np.eye(2), np.full(2, shift), 1.0), (np.eye(2), np.zeros(2), -1.0)
        start = published_svm(X.to_numpy(), signs, [S1, S2], 1.0, 1.0)
        model = fit(method, toy_advice(shift), X, y, **letter)
        assert model.objectives_[0] == pytest.approx(start, rel=1e-6)
        assert model.objective_ <= start * (1 + 1e-9)
        ours = fit(method, toy_advice(shift), X, y, **letter | {"published": False})
        # What is wrong by more than a unit has no multipliers there, and no product with them moves it.
        is_far = shift > 1.0
        assert (model.outcome_[0].verdict == "ignored") == is_far
        assert ours.outcome_[0].verdict == "refined"
        if is_far:
            assert model.objective_ > ours.objective_ + 1.0


def scaled(X):
    """The points and their middle and half range, as `scale="range"` has them where no rule names more."""
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - (low + high) / 2) / ((high - low) / 2), (low + high) / 2, (high - low) / 2


@pytest.mark.parametrize("method", METHODS)
def test_as_published_is_the_printed_program_and_nothing_else(method, toy):
    """The program put together by hand: two rows a rule, no domain, no anchors, and the start of the paper."""
    X, y = toy
    points, middle, half = scaled(X.to_numpy())
    signs = np.where(y == "plus", 1.0, -1.0)
    rows = [(-np.eye(2), (0.5 + middle) / half), (np.eye(2), -middle / half)]
    premises = Premises.stack(rows, [1.0, -1.0], [1.0, 1.0])
    problem = AdviceProblem(points, signs, np.ones(len(y)), premises, BoxPremises.none(2))
    given = read_plane(problem, solve(advice_program(problem)))
    by_hand = refine_advice(
        problem,
        method,
        given,
        (np.full(2, np.nan), np.nan),  # the plane of the data has no part in it
        nu=0.1,
        pattern=np.ones((4, 2), dtype=bool),
        max_iter=50,
        tol=1e-3,
        start="advice",
        anchors=False,
        orthogonal=False,
        rejects=False,
    )
    printed = published_svm(points, signs, [(*rows[0], 1.0), (*rows[1], -1.0)], 1.0, 1.0)
    model = fit(method, toy_advice(0.5), X, y, published=True)
    switches = {"start": "advice", "anchors": False, "orthogonal": False, "bounds": None}
    one_by_one = fit(method, toy_advice(0.5), X, y, **switches)
    assert model.objectives_[0] == pytest.approx(printed, rel=1e-6)
    assert model.objective_ == pytest.approx(by_hand.plane.objective, rel=1e-6)
    assert model.objective_ == pytest.approx(one_by_one.objective_, rel=1e-9)
    # Whatever the switches say.
    whatever = {"start": "data", "anchors": True, "orthogonal": True, "bounds": "data"}
    again = fit(method, toy_advice(0.5), X, y, published=True, **whatever)
    assert again.objective_ == model.objective_


HEREDITY = """
R5: diabetes_pedigree <= 0.5 and age <= 31 => tested_negative
R6: diabetes_pedigree >= 0.5 and age >= 31 => tested_positive
"""


def test_without_anchors_a_rule_goes_past_all_its_points_where_that_is_cheaper():
    X, y = load_pima(return_X_y=True)
    X, y = X[:60], y[:60]
    kept, lost = (
        AdviceSVC(HEREDITY, refine="translate", nu=0.02, bounds=None, anchors=anchors).fit(X, y)
        for anchors in (True, False)
    )
    assert lost.objective_ / kept.objective_ == pytest.approx(0.973, abs=0.001)
    assert [rule.covered for rule in lost.outcome_] == [0, 0]
    assert lost.outcome_.verdicts == ("refined", "refined")
    assert "age <= -46" in lost.outcome_[0].text_after
    for rule in kept.outcome_:  # at least one woman of its class is left in each
        assert rule.after.stats.correct >= 1


def test_a_rule_of_infinite_cost_stays_while_others_move(toy):
    X, y = toy[0][:80], toy[1][:80]
    advice = toy_advice(1.0) + "\nS3: x1 >= -1 and x2 >= 1 => plus"
    for method in METHODS:
        free = fit(method, advice, X, y)
        assert [free.outcome_[k].verdict for k in (0, 2)] == ["refined", "refined"]
        fixed = fit(method, advice, X, y, nu={"S1": np.inf, None: 0.1})
        first, _, third = fixed.outcome_
        assert first.after.region == first.before.region
        assert third.verdict == "refined"
        assert not first.stuck
        assert "it must not change, since its cost of changes is infinite" in str(first)
        assert first.change_cost == np.inf
        # What is infinite is what dear costs come to.
        dear = fit(method, advice, X, y, nu={"S1": 1e6, None: 0.1})
        assert dear.objective_ == pytest.approx(fixed.objective_, rel=2e-3)
        assert dear.outcome_[0].after.region == first.before.region
        assert "a smaller cost of changes (now 1e+06)" in str(dear.outcome_[0])
        assert fixed.objective_ >= free.objective_ * (1 - 1e-6)


def test_equal_costs_by_rule_are_one_cost_for_all(toy):
    X, y = toy
    one = fit("slp", toy_advice(0.9), X, y, nu=0.1)
    for nu in ({"S1": 0.1, None: 0.1}, np.full(2, 0.1)):
        model = fit("slp", toy_advice(0.9), X, y, nu=nu)
        assert model.objectives_.tolist() == one.objectives_.tolist()
        assert str(model.outcome_) == str(one.outcome_)
    assert one.outcome_.to_frame()["change_cost"].tolist() == [0.1, 0.1]
    assert AdviceSVC(toy_advice(0.9)).fit(X, y).outcome_[0].change_cost is None


def test_where_a_rule_would_lose_its_last_point_the_published_refinement_ends_and_says_so():
    X = pd.DataFrame({"a": [-2.0, -1.0, 0.0, 2.0, 3.0]})
    y = ["no", "no", "no", "yes", "yes"]
    advice = "wrong: -1 <= a <= 0 => yes\na >= 1.5 => yes"
    costs = {"refine": "translate", "nu": 0.05, "mu": 0.3, "lam": 10.0, "start": "advice"}
    with pytest.warns(
        ClearmarginWarning, match=r"before a step that leaves no point in rule 1 \(wrong\)"
    ):
        model = AdviceSVC(advice, **costs, published=True).fit(X, y)
    assert model.outcome_[0].verdict != "rejected"
    switches = {"anchors": False, "orthogonal": False, "bounds": None}
    ours = AdviceSVC(advice, **costs, **switches).fit(X, y)
    assert ours.outcome_[0].verdict == "rejected"


def test_turned_conditions_that_leave_every_feature_any_value_have_no_intervals(diabetes):
    X, y = load_pima(return_X_y=True)
    first, second, *_ = fit("slp", diabetes, X[:80], y[:80], nu=1.0, published=True).outcome_
    assert "age" in first.text_after
    assert first.intervals is None
    assert "  within  " not in str(first)
    assert second.text_intervals.startswith("R2: glucose >= 126 and bmi <= 30 =>")


def test_bounds_that_moved_are_values_that_a_feature_can_have():
    X, y = load_wbc(return_X_y=True)
    advice = """
    uniformity_of_cell_size <= 6 => benign
    uniformity_of_cell_size >= 2 and clump_thickness >= 3 => malignant
    """
    for method, extend in (("translate", False), ("slp", False), ("translate", True)):
        model = AdviceSVC(advice, refine=method, mu=10, nu=0.1, sparse=True, extend=extend)
        moved = [rule for rule in model.fit(X, y).outcome_ if rule.changes]
        assert moved
        for rule in moved:
            single = [
                change for change in rule.changes if re.fullmatch(r"\w+ [<>]= \S+", change.after)
            ]
            assert all(change.bound_after.is_integer() for change in single)
            inside = X[model.refined_.covers(X)[:, list(model.outcome_).index(rule)]]
            assert rule.after.stats.covered == len(inside)
            agreed = (model.predict(inside) == rule.after.label).sum()
            assert rule.after.stats.agreed == agreed
            assert (rule.standing == "contradicted") == (agreed < len(inside))


@pytest.mark.parametrize("method", METHODS)
def test_a_rule_that_refinement_cannot_move_says_why(method):
    """Four bad rules on a table of credits that one column decides: the plane gives their features no weight."""
    rng = np.random.default_rng(1)
    paid = rng.integers(0, 2, 200).astype(float)
    X = pd.DataFrame({"age": rng.integers(19, 75, 200), "amount": rng.integers(2, 180, 200) * 100})
    X = X.assign(months=rng.integers(4, 72, 200), credits=rng.integers(1, 5, 200), paid=paid)
    y = np.where(rng.random(200) < 0.07, 1 - paid, paid) > 0
    advice = (
        "age <= 30 => true\namount >= 4000 => false\nmonths >= 20 => false\ncredits >= 2 => false"
    )
    outcome = AdviceSVC(advice, refine=method, nu=0.1).fit(X, y).outcome_
    assert {rule.verdict for rule in outcome} == {"ignored"}
    assert all(rule.stuck for rule in outcome)
    assert (
        str(outcome).count("  refine  nothing to move: no bound of the rule decides its lowest")
        == 4
    )
    assert not any(rule.stuck for rule in AdviceSVC(advice).fit(X, y).outcome_)


def test_a_rule_that_is_too_dear_to_move_says_so():
    """Two rules that share a value of cell size: at the default cost of changes neither moves, at a tenth one does."""
    X, y = load_wbc(return_X_y=True, as_frame=True)
    size = "uniformity_of_cell_size"
    advice = f"{size} <= 3 and bare_nuclei <= 3 => benign\n{size} >= 3 => malignant"
    words = "  refine  left as it was: changing it costs more than refinement found to gain by it"

    def outcome(**options):
        with pytest.warns(ClearmarginWarning, match="deserves a look"):
            return AdviceSVC(advice, **options).fit(X, y).outcome_

    dear, cheap = outcome(refine="translate"), outcome(refine="translate", nu=0.1)
    kept = outcome()
    assert [words in str(rule) for rule in dear] == [True, True]
    assert [rule.standing for rule in dear] == ["contradicted", "contradicted"]
    assert cheap[0].verdict == "refined"
    assert words not in str(cheap[0])
    assert "  refine  " not in str(kept)


@pytest.mark.parametrize("method", ["slp", "sqp"])
def test_intervals_around_turned_rules_end_at_whole_numbers(method):
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"age": rng.integers(18, 90, 120), "visits": rng.integers(1, 12, 120)})
    X = X.assign(other=rng.normal(size=120).round(2))
    y = X["age"] / 20 + X["visits"] / 3 + X["other"] + 0.3 * rng.normal(size=120) > 5
    outcome = AdviceSVC("visits <= 4 => false\nage >= 60 => true", refine=method, nu=0.05)
    found = [rule for rule in outcome.fit(X, y).outcome_ if rule.intervals is not None]
    assert found
    for rule in found:
        box = rule.intervals.region
        ends = np.concatenate([np.asarray(box.lower), np.asarray(box.upper)])
        ends = ends[np.isfinite(ends)]
        assert (ends == np.round(ends)).all()
