"""Rounding inwards against fractions and shorter decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Interval, round_inwards
from clearmargin.rules.interval import round_down, round_up

numbers = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.builds(lambda m, e: float(f"{m}e{e}"), st.integers(-999, 999), st.integers(-30, 30))
digits = st.integers(1, 17)


def significant(x):
    """How many digits the shortest decimal that reads back as x has."""
    return len(Decimal(repr(x)).normalize().as_tuple().digits)


def is_inside(inner, outer):
    """Whether each number of one interval is in the other, end by end."""
    low = inner.low > outer.low or (
        inner.low == outer.low and (outer.low_closed or not inner.low_closed)
    )
    high = inner.high < outer.high or (
        inner.high == outer.high and (outer.high_closed or not inner.high_closed)
    )
    return low and high


@given(numbers | decimals, digits)
def test_rounding_goes_one_way_and_no_further_than_one_unit(x, d):
    down, up = round_down(x, d), round_up(x, d)
    assert down <= x <= up
    assert round_up(-x, d) == -down
    if x and math.isfinite(up) and abs(x) > 1e-300:
        unit = Fraction(10) ** (math.floor(math.log10(abs(x))) + 2 - d)
        assert Fraction(up) - Fraction(down) <= unit


@given(numbers | decimals, st.integers(1, 15))
def test_a_rounded_number_has_few_digits(x, d):
    # Near the ends of the range of floats a number may stay as it is.
    if 1e-290 < abs(x) < 1e290:
        assert significant(round_down(x, d)) <= d
        assert significant(round_up(x, d)) <= d


@given(numbers | decimals)
def test_a_number_that_is_short_already_stays_as_it_is(x):
    d = significant(x)
    assert round_down(x, d) == round_up(x, d) == x


@given(numbers | decimals, digits)
def test_rounding_twice_is_rounding_once(x, d):
    assert round_down(round_down(x, d), d) == round_down(x, d)


@pytest.mark.parametrize(
    ("x", "d", "down", "up"),
    [
        (7.3, 2, 7.3, 7.3),  # the float is a little below 7.3
        (7.7, 2, 7.7, 7.7),  # ... a little above
        (0.1, 1, 0.1, 0.1),
        (2.0**-24, 16, 2.0**-24, 2.0**-24),  # printed with 16 digits, exactly between two of them
        (2.675, 3, 2.67, 2.68),
        (-2.675, 3, -2.68, -2.67),
        (123456.0, 2, 120000.0, 130000.0),
        (0.0, 3, 0.0, 0.0),
        (math.inf, 3, math.inf, math.inf),
        (5e-324, 1, 5e-324, 5e-324),
        (1.7976931348623157e308, 2, 1.7e308, 1.7976931348623157e308),  # 1.8e308 is no float
    ],
)
def test_examples_worked_by_hand(x, d, down, up):
    assert round_down(x, d) == down
    assert round_up(x, d) == up


@given(data=st.data(), d=digits)
def test_a_rounded_interval_lies_inside_the_exact_one_and_is_not_empty(data, draw, d):
    exact = data.draw(draw.intervals(numbers | decimals))
    rounded = round_inwards(exact, d)
    assert not rounded.is_empty
    assert is_inside(rounded, exact)


@given(low=decimals, width=st.floats(1e-3, 1e3), d=st.integers(1, 6))
def test_no_more_digits_are_used_than_needed(low, width, d):
    exact = Interval(low, low + width, "both")
    rounded = round_inwards(exact, d)
    used = max(significant(rounded.low), significant(rounded.high))
    if used > d:  # then one digit less leaves nothing
        assert round_up(exact.low, used - 1) > round_down(exact.high, used - 1)


@pytest.mark.parametrize(
    ("exact", "d", "shown"),
    [
        (Interval(0.12345, 7.7777), 2, "[0.13, 7.7]"),
        (Interval(7.3, 9.9), 2, "[7.3, 9.9)"),  # nothing moves, flags stay
        (Interval(7.3, 9.9, "neither"), 1, "[8, 9]"),
        (Interval(1.2341, 1.2349), 2, "[1.2341, 1.2349)"),
        (Interval(0.1999, 0.2, "both"), 1, "[0.2, 0.2]"),
        (Interval(0.1999, 0.2), 1, "[0.1999, 0.2)"),  # the end that is left over is open
        (Interval(-math.inf, 3.14159), 3, "[-inf, 3.14]"),
        (Interval(2.71828, math.inf, "neither"), 2, "[2.8, inf]"),
        (Interval(1 / 3, 1 / 3, "both"), 3, "[0.3333333333333333, 0.3333333333333333]"),
        (Interval(1.0, math.nextafter(1.0, 2), "neither"), 3, "(1, 1.0000000000000002)"),
    ],
)
def test_intervals_worked_by_hand(exact, d, shown):
    assert str(round_inwards(exact, d)) == shown


def test_what_cannot_be_rounded_is_refused():
    with pytest.raises(InvalidValueError, match=r"an empty interval cannot be rounded .* \[2, 1\)"):
        round_inwards(Interval(2, 1), 3)
    with pytest.raises(InvalidValueError, match="digits must be at least 1, not 0"):
        round_inwards(Interval(1, 2), 0)
    with pytest.raises(InvalidValueError, match="digits must be at least 1, not -1"):
        round_up(1.0, -1)
