from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin import progress
from clearmargin.exceptions import CancelledError, InvalidValueError
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.pricing import Pricing
from clearmargin.rule_svm.rule_lp import (
    FixedColumns,
    RuleLPSolution,
    smallest_cost,
    solve_rule_lp,
)
from clearmargin.rule_svm.work import Budget
from clearmargin.rules import FeatureSpace

from .rule_cases import Case, columns_of, mixed_case, optimum

SEEDS = st.integers(0, 10_000)
SIZES = (1, 2, 3)


def solved(case: Case, size: int, **options) -> RuleLPSolution:
    given_options = {"fixed": case.fixed, "monotone": case.monotone, "penalty": case.penalty}
    return solve_rule_lp(*case.arguments, max_conditions=size, **given_options | options)


def objective(case: Case, solution: RuleLPSolution) -> float:
    """The value of the program at the weights of a solution, from its definition."""
    masks = case.conditions.rule_masks(solution.items, case.table)
    score = masks @ solution.weights + solution.intercept
    cost = 1.0 + case.penalty * ((solution.items >= 0).sum(axis=1) - 1)
    paid = cost @ np.abs(solution.weights)
    if case.fixed is not None:
        score += case.fixed.values @ solution.fixed_weights
        paid += case.fixed.price @ np.abs(solution.fixed_weights)
    return paid + case.costs @ np.maximum(0.0, 1.0 - case.y * score)


@pytest.mark.parametrize("size", SIZES)
@given(seed=SEEDS)
def test_the_value_is_that_of_the_program_over_all_rules(size, seed):
    case = mixed_case(seed)
    solution = solved(case, size)
    best = optimum(case, size)
    assert solution.stopped == "optimal"
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(best, rel=2e-6)
    assert solution.bound <= best * (1 + 1e-9)
    assert objective(case, solution) == pytest.approx(solution.objective, rel=1e-9)


@given(seed=SEEDS)
def test_weights_have_the_signs_that_they_must_have(seed):
    case = replace(mixed_case(seed), monotone=np.array([1, -1, 0]))
    solution = solved(case, 2)
    masks = case.conditions.rule_masks(solution.items, case.table)
    H, _, sign = columns_of(case, 2)
    for weight, mask in zip(solution.weights, masks.T, strict=True):
        if weight:
            allowed = sign[(mask[:, None] == H).all(axis=0)]
            assert ((allowed == 0) | (allowed == np.sign(weight))).any()
    if case.fixed is not None:
        assert (case.fixed.sign * solution.fixed_weights >= 0)[case.fixed.sign != 0].all()
    # With more of a feature that must not lower the score, and all else equal, the score is no lower.
    grid = np.array(
        [[a, b, c] for a in range(4) for b in (-1.0, 0.0, 1.0) for c in range(3)], float
    )
    score = case.conditions.rule_masks(solution.items, grid) @ solution.weights
    score = score.reshape(4, 3, 3)
    assert (np.diff(score, axis=0) >= -1e-9).all()
    assert (np.diff(score, axis=1) <= 1e-9).all()


@given(seed=SEEDS)
def test_neither_the_order_of_rows_nor_copies_of_rows_change_the_answer(seed):
    case = mixed_case(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.repeat(np.arange(len(case.y)), 2))
    fixed = case.fixed and replace(case.fixed, values=case.fixed.values[order])
    again = replace(
        case, table=case.table[order], y=case.y[order], costs=case.costs[order] / 2, fixed=fixed
    )
    one, two = solved(case, 2), solved(again, 2)
    assert np.array_equal(one.items, two.items)
    assert np.array_equal(one.weights, two.weights)
    assert (one.intercept, one.objective, one.bound) == (two.intercept, two.objective, two.bound)


@given(seed=SEEDS)
def test_no_two_generated_rules_part_the_rows_alike(seed):
    case = replace(mixed_case(seed), monotone=None)
    solution = solved(case, 2)
    masks = case.conditions.rule_masks(solution.items, case.table)
    sides = {(mask ^ mask[0]).tobytes() for mask in masks.T}
    assert len(sides) == len(solution.items)


def test_of_equal_rules_the_first_is_generated():
    x = np.arange(8.0)
    table = np.column_stack([x, x, np.roll(x, 3)])
    conditions = Conditions.of_table(FeatureSpace(["a", "b", "c"]), table)
    case = Case(table, np.where(x > 3, 1.0, -1.0), np.ones(8), conditions)
    solution = solved(case, 2)
    (rule,) = solution.items[solution.weights != 0]
    assert [conditions.text(c) for c in rule if c >= 0] == ["a <= 3.5"]


def smallest_by_program(case: Case, size: int) -> float:
    """The smallest cost at which a rule enters, by one program over all rules."""
    H, cost, sign = columns_of(replace(case, fixed=None), size)
    heavy = max((-1.0, 1.0), key=lambda s: case.costs[case.y == s].sum())
    low = np.where(case.y == heavy, 0.0, case.costs)
    alpha = H.T * case.y
    up = np.hstack([alpha, -cost[:, None]])[sign >= 0]
    down = np.hstack([-alpha, -cost[:, None]])[sign <= 0]
    A = np.vstack([up, down])
    bounds = [*zip(low, case.costs, strict=True), (0, None)]
    c = np.append(np.zeros(len(case.y)), 1.0)
    equal = np.append(case.y, 0.0)[None, :]
    answer = linprog(c, A, np.zeros(len(A)), equal, [0.0], bounds=bounds, method="highs")
    return 1.0 / answer.fun if answer.fun > 1e-12 else math.inf


@given(seed=SEEDS)
def test_up_to_the_smallest_cost_no_rule_has_a_weight(seed):
    case = replace(mixed_case(seed), fixed=None)
    found = smallest_cost(
        *case.arguments, max_conditions=2, penalty=case.penalty, monotone=case.monotone
    )
    assert found == pytest.approx(smallest_by_program(case, 2), rel=1e-5)
    if math.isfinite(found):
        below = solved(replace(case, costs=case.costs * found * 0.999), 2)
        above = solved(replace(case, costs=case.costs * found * 1.05), 2)
        assert not below.weights.any()
        assert above.weights.any()


def test_an_earlier_solution_is_a_start():
    case = mixed_case(3, m=200, max_bins=16)
    first = solved(case, 2)
    again = solved(case, 2, start=first.items)
    assert again.rounds < first.rounds
    assert again.objective == pytest.approx(first.objective, rel=1e-6)
    single = solved(case, 1, start=first.items)  # rules of more conditions are passed over
    assert single.objective == pytest.approx(solved(case, 1).objective, rel=2e-6)


def test_stopped_early_the_gap_says_how_far_it_is():
    case = mixed_case(5, m=200, max_bins=16)
    full, early = solved(case, 2), solved(case, 2, max_rounds=2)
    assert early.stopped == "rounds"
    assert early.rounds == 2
    assert early.gap > 1e-6
    assert early.bound <= full.objective * (1 + 1e-9)
    assert early.objective >= full.bound
    assert len(early.weights) == len(early.items)
    none = solved(case, 2, time_limit=0.0)
    assert none.stopped == "time"
    assert not none.weights.any()
    assert none.bound <= full.objective <= none.objective


@pytest.mark.parametrize("size", SIZES)
def test_work_is_counted_and_not_timed(size, monkeypatch):
    case = mixed_case(5, m=200, max_bins=16)
    full = solved(case, size)
    some = [solved(case, size, max_work=work) for work in (0.002, 0.02, 0.05)]
    ticks = itertools.count(step=3600.0)
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    slow = [solved(case, size, max_work=work) for work in (0.002, 0.02, 0.05)]
    assert some[0].stopped == "work"
    for one, other in zip(some, slow, strict=True):
        assert (one.objective, one.bound, one.rounds) == (
            other.objective,
            other.bound,
            other.rounds,
        )
        assert one.weights.tolist() == other.weights.tolist()
        assert one.stopped == other.stopped
        assert one.bound <= full.objective * (1 + 1e-9)
        assert one.objective >= full.bound
    gaps = [one.gap for one in some]
    assert gaps == sorted(gaps, reverse=True)
    assert solved(case, size, time_limit=1.0).stopped == "time"


def test_the_last_master_may_take_the_iterations_that_are_left():
    case = mixed_case(5, m=200, max_bins=16)
    # The pricing of the first round takes less than this, and its master more.
    least = Budget(1.0)
    pricing = Pricing(case.conditions, case.conditions.cells(case.table), 2)
    pricing.best(np.zeros(len(case.y)), budget=least)
    solution = solved(case, 2, max_work=1.0 - least.left + 1e-5)
    assert (solution.stopped, solution.rounds) == ("work", 0)
    assert not solution.weights.any()


def test_one_class_needs_no_rule():
    case = mixed_case(0)
    solution = solved(replace(case, y=np.ones(len(case.y))), 2)
    assert (solution.intercept, solution.objective, solution.gap) == (1.0, 0.0, 0.0)
    assert smallest_cost(case.conditions, case.table, np.ones(len(case.y)), case.costs) == math.inf


def test_without_conditions_the_intercept_decides():
    table = np.array([[1.0], [1.0], [1.0]])
    conditions = Conditions.of_table(FeatureSpace(["constant"]), table)
    case = Case(table, np.array([1.0, 1.0, -1.0]), np.ones(3), conditions)
    solution = solved(case, 2)
    assert (solution.intercept, solution.objective, len(solution.items)) == (1.0, 2.0, 0)
    assert solution.gap < 1e-9
    assert smallest_cost(*case.arguments) == math.inf


def test_rows_without_cost_do_not_count():
    case = mixed_case(7)
    kept = np.arange(len(case.y)) % 3 > 0
    part = Case(case.table[kept], case.y[kept], case.costs[kept], case.conditions)
    whole = Case(case.table, case.y, np.where(kept, case.costs, 0.0), case.conditions)
    assert solved(whole, 2).objective == solved(part, 2).objective


def test_a_time_far_from_zero_is_a_sound_linear_term():
    rng = np.random.default_rng(0)
    moment = 1.7e9 + np.sort(rng.integers(0, 5_000, 60)).astype(float)
    y = np.where(moment - 1.7e9 + rng.normal(size=60) * 300 > 2_500, 1.0, -1.0)
    table = np.column_stack([moment, rng.normal(size=60)])
    fixed = FixedColumns(moment[:, None], np.array([1.0]), np.array([0]))
    conditions = Conditions.of_table(FeatureSpace(["moment", "x"]), table, 4)
    case = Case(table, y, np.full(60, 0.2), conditions, fixed)
    solution = solved(case, 2)
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(
        optimum(replace(case, fixed=replace(fixed, values=fixed.values - 1.7e9)), 2), rel=1e-5
    )
    assert objective(case, solution) == pytest.approx(solution.objective, rel=1e-5)


def test_the_work_can_be_watched_and_cancelled():
    case = mixed_case(5, m=200, max_bins=16)
    steps = []
    with progress.observe(steps.append):
        solution = solved(case, 2)
    assert steps[-1].title == "rules"
    assert steps[-1].found >= np.count_nonzero(solution.weights)
    with progress.observe() as observer:
        observer.cancel()
        with pytest.raises(CancelledError):
            solved(case, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(24)}, "signs must be -1 or 1"),
        ({"y": np.ones(5)}, "do not belong together"),
        ({"costs": np.full(24, -1.0)}, "costs must be finite numbers of at least 0"),
        ({"costs": np.full(24, np.inf)}, "costs must be finite numbers of at least 0"),
        ({"penalty": -0.5}, "penalty is a number of at least 0, not -0.5"),
        ({"monotone": np.array([1, 0])}, "for each of 3 features"),
        ({"monotone": np.array([2, 0, 0])}, "one of -1, 0, 1"),
    ],
)
def test_bad_input_is_named(change, message):
    case = replace(mixed_case(0), fixed=None, **change)
    with pytest.raises(InvalidValueError, match=message):
        solved(case, 2)


def test_so_many_conditions_are_not_allowed():
    with pytest.raises(InvalidValueError, match=r"max_conditions is .* not 4"):
        solved(mixed_case(0), 4)


@pytest.mark.parametrize(
    ("values", "price", "sign", "message"),
    [
        ([[1.0]], [0.001], [0], "at least 0.01, not 0.001"),
        ([[np.nan]], [1.0], [0], "finite"),
        ([[1.0]], [1.0], [2], "sign of a column"),
        ([[1.0]], [1.0, 1.0], [0], "as many prices"),
    ],
)
def test_bad_columns_are_named(values, price, sign, message):
    with pytest.raises(InvalidValueError, match=message):
        FixedColumns(np.array(values), np.array(price), np.array(sign))


@pytest.mark.parametrize("size", [2, 3])
def test_constant_equal_missing_and_far_columns_and_a_rare_class_are_sound(size):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2))
    moment = 1.7e9 + rng.integers(0, 10**6, 150)
    table = np.column_stack([x, x[:, 0], np.full(150, 3.0), np.full(150, np.nan), moment])
    y = np.where(x[:, 0] + x[:, 1] > 2.4, 1.0, -1.0)
    assert (y > 0).sum() < 15
    conditions = Conditions.of_table(FeatureSpace([f"x{j}" for j in range(6)]), table, 8)
    smallest = smallest_cost(conditions, table, y, np.ones(150))
    solution = solve_rule_lp(
        conditions, table, y, np.full(150, 5 * smallest), max_conditions=size, time_limit=60
    )
    assert solution.stopped == "optimal"
    assert solution.gap <= 1e-6
    used = conditions.feature[solution.items[solution.items >= 0]]
    assert set(used.tolist()) <= {0, 1, 5}  # of equal columns the first
