"""Suggestions for bounds: the best of all places, judged on other rows, and seldom made of noise."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.workbench.benches import noise, opened_task

from clearmargin.language import read_rule_text
from clearmargin.workbench.bound_suggestions import short_between, suggest_bounds


def steps(seed=0, m=200, *, whole=False):
    """Class b begins above 5 of x, whatever z is."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 11, m) if whole else rng.uniform(0, 10, m).round(2)
    z = rng.uniform(0, 1, m).round(3)
    is_b = (x > 5) ^ (rng.random(m) < 0.05)
    return {"x": x, "z": z, "y": np.where(is_b, "b", "a").astype(object)}


def suggested(opened, text):
    rules = read_rule_text(text, opened.space, opened.classes).rules
    return rules, suggest_bounds(opened, rules)


# By trying every place, with plain loops.


def leverage(opened, conditions, label, rows):
    """The share of a class that is covered, less the share of the other."""
    counts = {True: [0, 0], False: [0, 0]}
    for k in rows:
        case = opened.case(k)
        is_class = opened.task.y[k] == label
        counts[is_class][0] += 1
        counts[is_class][1] += all(holds(case[name], sign, v) for name, sign, v in conditions)
    (of_class, right), (of_other, wrong) = counts[True], counts[False]
    return right / max(of_class, 1) - wrong / max(of_other, 1)


def holds(value, sign, bound):
    return {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
    }[sign]


def best_place(opened, others, feature, sign, now, label, rows):
    """Try a bound at, between and beyond all values; of the best ones take that nearest to where it is."""
    there = sorted(
        {
            opened.case(k)[feature]
            for k in rows
            if all(holds(opened.case(k)[n], s, v) for n, s, v in others)
        }
    )
    if sign in (">", ">="):
        there = [-v for v in there][::-1]
    best, found, near = -math.inf, now, math.inf
    for last, beyond in zip(there, [*there[1:], math.inf], strict=True):
        middle = last / 2 + beyond / 2 if math.isfinite(beyond) else math.inf
        place = -middle if sign in (">", ">=") else middle
        value = leverage(opened, [*others, (feature, sign, place)], label, rows)
        distance = abs(last - (-now if sign in (">", ">=") else now))
        if value > best + 1e-9 or (value > best - 1e-9 and distance < near):
            best, found, near = max(value, best), (last, beyond), distance
    return best, found


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("text", "others", "bound"),
    [
        ("x >= 7 => b", [], ("x", ">=", 7.0)),
        ("x > 7.5 => b", [], ("x", ">", 7.5)),
        ("x <= 2 and z < 0.9 => a", [("z", "<", 0.9)], ("x", "<=", 2.0)),
        ("x < 8 => a", [], ("x", "<", 8.0)),
    ],
)
def test_a_suggestion_is_the_best_of_all_places(whole, text, others, bound):
    opened = opened_task(steps(m=120, whole=whole), "y")
    feature, sign, now = bound
    _, found = suggested(opened, text)
    made = next(s for s in found if s.feature == "x")
    label = text.rpartition("=> ")[2]
    everyone = range(len(opened.codes))
    best, (last, beyond) = best_place(opened, others, feature, sign, now, label, everyone)
    conditions = [*others, (feature, sign, made.after)]
    assert leverage(opened, conditions, label, everyone) == pytest.approx(best)
    # Between the last value that is covered and the first that is not.
    place = -made.after if sign in (">", ">=") else made.after
    assert last <= place <= beyond
    assert made.before == now
    for conditions, covered, right in (
        ([*others, bound], made.covered[0], made.right[0]),
        ([*others, (feature, sign, made.after)], made.covered[1], made.right[1]),
    ):
        inside = [
            k for k in everyone if all(holds(opened.case(k)[n], s, v) for n, s, v in conditions)
        ]
        assert covered == len(inside)
        assert right == sum(opened.task.y[k] == label for k in inside)


def test_the_gain_is_that_on_rows_which_had_no_part_in_finding_the_place():
    opened = opened_task(steps(m=100, whole=True), "y")
    _, (made, *_) = suggested(opened, "x >= 9 => b")
    gains = []
    for train, test in opened.folds.pairs:
        _, (last, _) = best_place(opened, [], "x", ">=", 9.0, "b", train)
        # A whole number: the last value itself.
        moved = leverage(opened, [("x", ">=", -last)], "b", test)
        gains.append(moved - leverage(opened, [("x", ">=", 9.0)], "b", test))
    assert made.gain == pytest.approx(np.mean(gains))
    assert made.error == pytest.approx(np.std(gains, ddof=1) / math.sqrt(len(gains)))


def test_a_bound_that_only_costs_is_better_dropped():
    opened = opened_task(steps(), "y")
    _, found = suggested(opened, "x >= 5.5 and z <= 0.3 => b")
    dropped = next(s for s in found if s.feature == "z")
    assert dropped.to_dict()["after"] is None
    assert "no bound <= 0.3 on z" in dropped.why
    assert dropped.covered[1] > dropped.covered[0]


def test_a_bound_in_the_best_place_is_left_alone():
    opened = opened_task(steps(whole=True), "y")
    assert suggested(opened, "x >= 6 => b")[1] == []


def test_rules_that_have_no_bounds_of_their_own_are_left_alone():
    opened = opened_task(steps(), "y")
    assert suggested(opened, "x + z >= 9 => b")[1] == []


def test_the_largest_gain_comes_first_and_rules_are_named_by_number():
    opened = opened_task(steps(), "y")
    _, found = suggested(opened, "x >= 6 => b\nx >= 9 => b\nx >= 8 => b")
    assert [s.rule for s in found][:2] == [1, 2]
    assert [s.gain for s in found] == sorted((s.gain for s in found), reverse=True)


def test_the_other_bounds_of_a_rule_hold():
    """A lower bound is looked for below the upper one only, where the rule may cover something."""
    opened = opened_task(steps(), "y")
    _, found = suggested(opened, "8 <= x <= 9.5 => b")
    low = next(s for s in found if s.side == "low")
    assert low.after < 8


def test_noise_seldom_makes_a_suggestion():
    bounds = made = 0
    for seed in range(150):
        opened = opened_task(noise(90, 3, seed), "y")
        text = "x0 <= 0.3 => a\n-1 <= x1 and x2 < 1 => b\nx0 >= 1.2 => a"
        _, found = suggested(opened, text)
        bounds += 4
        made += len(found)
    # About 4 % are expected, 24 of 600; 45 would be 4 standard errors more.
    assert made <= 45


def test_a_single_class_in_the_covered_rows_gives_no_trouble():
    table = steps(m=60)
    table["y"] = np.where(table["x"] > 9, "b", "a").astype(object)
    opened = opened_task(table, "y")
    for text in ("x <= 0 => a", "x >= 10 => b", "x >= 100 => b", "x <= -5 => a"):
        for made in suggested(opened, text)[1]:
            assert math.isfinite(made.gain)


# Short numbers.

FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(low=FINITE, high=FINITE, includes_low=st.booleans())
def test_a_short_number_lies_between_and_none_is_shorter(low, high, includes_low):
    assume(low < high)
    short = short_between(low, high, includes_low=includes_low)
    assert low <= short <= high
    assert short != (high if includes_low else low)
    digits = len(Decimal(repr(short)).normalize().as_tuple().digits)
    for fewer in range(1, digits):
        for rounding in (ROUND_CEILING, ROUND_FLOOR):
            context = Context(prec=fewer, rounding=rounding)
            from_low = context.create_decimal(Decimal(low))
            assert not Decimal(low) < from_low < Decimal(high)


@pytest.mark.parametrize(
    ("low", "high", "short"),
    [(2.0, 3.0, 2.0), (0.1, 0.2, 0.1), (-1.0, 1.0, 0.0), (99.0, 101.0, 100.0), (1e-9, 2e-9, 1e-9)],
)
def test_a_short_number_may_be_an_end_that_belongs_to_it(low, high, short):
    found = short_between(low, high, includes_low=True)
    assert low <= found < high
    assert len(f"{found:g}") <= len(f"{short:g}") + 2


def test_neighbouring_numbers_have_one_of_them_between():
    low = 0.1
    high = math.nextafter(low, 1)
    assert short_between(low, high, includes_low=True) == low
    assert short_between(low, high, includes_low=False) == high
