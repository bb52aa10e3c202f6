"""Intervals against plain comparisons and a search for a witness."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Interval

CLOSED = ("left", "right", "both", "neither")
SIGNS = {"left": (">=", "<"), "right": (">", "<="), "both": (">=", "<="), "neither": (">", "<")}
ENDS = (-math.inf, -1.0, 0.0, math.nextafter(0.0, 1.0), 1.0, math.inf)
ALL = [
    Interval(low, high, closed)
    for low, high in itertools.product(ENDS, ENDS)
    for closed in CLOSED
    if low < math.inf and high > -math.inf
]
LARGEST = float(np.finfo(float).max)


def holds(interval, x):
    """Evaluate the two conditions as a person would write them; an absent bound is no condition."""
    above, below = SIGNS[interval.closed]
    conditions = []
    if interval.low > -math.inf:
        conditions.append(f"x {above} {interval.low!r}")
    if interval.high < math.inf:
        conditions.append(f"x {below} {interval.high!r}")
    return not math.isnan(x) and eval(" and ".join(conditions) or "True", {"x": x})


def witnesses(*intervals):
    """Exact numbers among which one lies in an intersection that is not empty."""
    ends = sorted({Fraction(e) for i in intervals for e in (i.low, i.high) if math.isfinite(e)})
    middles = [(a + b) / 2 for a, b in itertools.pairwise(ends)]
    outside = [ends[0] - 1, ends[-1] + 1] if ends else [Fraction(0)]
    return ends + middles + outside


def exactly_holds(interval, x):
    above = x >= interval.low if interval.low_closed else x > interval.low
    below = x <= interval.high if interval.high_closed else x < interval.high
    return above and below


GRID = sorted(
    {y for e in ENDS for y in (e, math.nextafter(e, -math.inf), math.nextafter(e, math.inf))}
    | {LARGEST, -LARGEST, 0.5}
)


@pytest.mark.parametrize("interval", ALL, ids=str)
def test_membership_is_what_the_comparisons_say(interval):
    for x in [*GRID, math.nan]:
        assert (x in interval) is holds(interval, x)


@pytest.mark.parametrize("interval", ALL, ids=str)
def test_an_interval_is_empty_when_no_number_is_in_it(interval):
    assert interval.is_empty is not any(exactly_holds(interval, x) for x in witnesses(interval))


@pytest.mark.parametrize("interval", ALL[::3], ids=str)
def test_an_intersection_holds_what_both_hold(interval):
    for other in ALL:
        both = interval & other
        for x in GRID:
            assert (x in both) is (x in interval and x in other)
        common = (
            exactly_holds(interval, x) and exactly_holds(other, x)
            for x in witnesses(interval, other)
        )
        assert both.is_empty is not any(common)


def test_intersection_is_commutative_and_idempotent():
    for one, other in itertools.product(ALL[::3], ALL[::2]):
        assert one & other == other & one
        assert (one & other) & other == one & other


@given(x=st.floats(allow_nan=False), data=st.data())
def test_any_float_is_judged_like_plain_comparisons(x, data, draw):
    interval = data.draw(draw.intervals(draw.finite()))
    assert (x in interval) is holds(interval, x)


@given(data=st.data())
def test_equality_hash_and_flags_survive_being_taken_apart(data, draw):
    interval = data.draw(draw.intervals(draw.finite()))
    again = Interval.from_flags(
        interval.low, interval.high, interval.low_closed, interval.high_closed
    )
    assert again == interval
    assert hash(again) == hash(interval)
    assert eval(repr(interval), {"Interval": Interval, "inf": math.inf}) == interval


def test_an_absent_bound_counts_as_closed_and_admits_infinity():
    assert Interval(3, math.inf, "neither") == Interval(3, math.inf, "right")
    assert math.inf in Interval(3, math.inf, "neither")
    assert -math.inf in Interval(-math.inf, 3, "neither")
    assert math.inf not in Interval(3, LARGEST, "both")
    assert math.inf in Interval(LARGEST, math.inf, "neither")


@pytest.mark.parametrize(
    ("interval", "width"),
    [
        (Interval(1, 3), 2.0),
        (Interval(3, 1), 0.0),
        (Interval(2, 2, "both"), 0.0),
        (Interval(0, math.inf), math.inf),
        (Interval(-LARGEST, LARGEST), math.inf),
    ],
)
def test_the_width_is_the_length(interval, width):
    assert interval.width == width


def test_an_interval_reads_as_in_a_textbook():
    assert str(Interval(0, 0.1, "right")) == "(0, 0.1]"
    assert str(Interval(-math.inf, 1e15)) == "[-inf, 1000000000000000.0)"
    assert repr(Interval(1, 2.5, "both")) == "Interval(1, 2.5, closed='both')"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((math.nan, 1), "the lower bound of an interval must not be NaN"),
        ((0, math.nan), "the upper bound of an interval must not be NaN"),
        ((math.inf, math.inf), "cannot start at inf or end at -inf: inf, inf"),
        ((-math.inf, -math.inf), "cannot start at inf or end at -inf"),
        (("0", 1), "the lower bound of an interval must be a number, not '0'"),
        ((0, None), "the upper bound of an interval must be a number, not None"),
        ((0, 1, "leftish"), "closed must be one of 'left', .*, not 'leftish'"),
        ((0, 1, ["left"]), r"closed must be one of .*, not \['left'\]"),
    ],
)
def test_a_bad_interval_is_refused(arguments, message):
    with pytest.raises(InvalidValueError, match=message):
        Interval(*arguments)


def test_an_interval_meets_intervals_only():
    with pytest.raises(TypeError, match="unsupported operand"):
        Interval(0, 1) & (0, 1)
