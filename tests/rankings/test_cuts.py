"""Cuts of numbers against brute force: round ones, quantiles, equal widths, and those of Fayyad and Irani."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.rankings.cuts import entropy_cuts, quantile_cuts, round_cut, width_cuts

from .discretise_cases import numbers


@given(st.lists(numbers, min_size=2, max_size=2, unique=True).map(sorted), st.floats(0, 1))
def test_a_round_cut_has_the_fewest_digits_in_its_gap(gap, part):
    low, high = gap
    cut = round_cut(low, high, low * (1 - part) + high * part)
    assert low < cut <= high
    digits = len(Decimal(repr(cut)).normalize().as_tuple().digits)
    if cut and digits > 1:
        shorter = Context(prec=digits - 1, rounding=ROUND_CEILING)
        # The decimals that read as a float above low start half-way to the next float.
        exact = Context(prec=1200)
        double = exact.add(Decimal(low), Decimal(math.nextafter(low, math.inf)))
        following = shorter.create_decimal(exact.multiply(double, Decimal("0.5")))
        while float(following) <= low:
            following = shorter.next_plus(following)
        assert float(following) > high


@pytest.mark.parametrize(
    ("low", "high", "near", "cut"),
    [
        (9, 10, 9.5, 10),
        (99, 1000, 549.5, 500),
        (0.1, 0.30000000000000004, 0.2, 0.2),
        (1.0, np.nextafter(1.0, 2), 1.0, np.nextafter(1.0, 2)),
        (-7.39, -7.32, -7.351, -7.35),
        (-1, 0, -0.5, 0),
        (2, 1.7e308, 1.4e308 + 1e300, 1e308),
    ],
)
def test_round_cuts(low, high, near, cut):
    assert round_cut(low, high, near) == cut


@given(st.lists(numbers, min_size=1, max_size=60), st.integers(2, 8))
def test_quantile_cuts_are_those_nearest_to_equal_shares(values, n_bins):
    cuts = quantile_cuts(np.array(values), n_bins)
    distinct = sorted(set(values))
    below = [sum(v < u for v in values) for u in distinct[1:]]
    expected = {
        min(below, key=lambda count: (abs(count * n_bins - i * len(values)), count))
        for i in range(1, n_bins)
        if below
    }
    assert [sum(v < cut for v in values) for cut in cuts] == sorted(expected)


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=60),
    st.integers(2, 8),
    st.sampled_from([1, 10, 100]),
)
def test_width_cuts_divide_the_values_as_the_exact_ones_do(values, n_bins, unit):
    low, width = min(values), max(values) - min(values)
    exact = {  # in whole numbers
        sum(v * n_bins < low * n_bins + i * width for v in values) for i in range(1, n_bins)
    }
    tenths = np.array(values) / unit
    cuts = width_cuts(tenths, n_bins, integer=unit == 1)
    assert {int((tenths < cut).sum()) for cut in cuts} == (exact if width else set())
    assert list(cuts) == sorted(set(cuts))
    assert unit > 1 or all(cut == int(cut) for cut in cuts)


def test_wide_ranges_do_not_overflow():
    cuts = width_cuts(np.array([-1.7e308, -1.0, 1.0, 1.7e308]), 4)
    assert np.isfinite(cuts).all()
    assert list(cuts) == sorted(cuts)


def bits(classes):
    n = len(classes)
    return -sum(classes.count(c) * math.log2(classes.count(c) / n) for c in set(classes))


def is_mdl(groups, gaps):
    """Whether gaps (between groups of equal values) are what Fayyad and Irani accept, up to ties."""
    whole = [c for group in groups for c in group]
    if len(groups) < 2:
        return not gaps
    parts = {
        g: ([c for x in groups[:g] for c in x], [c for x in groups[g:] for c in x])
        for g in range(1, len(groups))
    }
    cost = {g: bits(a) + bits(b) for g, (a, b) in parts.items()}
    best = [g for g in cost if cost[g] <= min(cost.values()) + 1e-9]
    surplus = {}
    for g in best:
        terms = [len(set(s)) * bits(s) / len(s) for s in (whole, *parts[g])]
        delta = math.log2(3 ** len(set(whole)) - 2) - (terms[0] - terms[1] - terms[2])
        surplus[g] = bits(whole) - cost[g] - math.log2(len(whole) - 1) - delta
    if not gaps:
        return min(surplus.values()) <= 1e-9
    return any(
        g in gaps
        and surplus[g] >= -1e-9
        and is_mdl(groups[:g], {x for x in gaps if x < g})
        and is_mdl(groups[g:], {x - g for x in gaps if x > g})
        for g in best
    )


@given(st.data())
def test_entropy_cuts_are_those_of_fayyad_and_irani(data):
    # Runs of classes with some noise, so that there is something to find.
    runs = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 25)), min_size=1, max_size=5)
    )
    classes = [c for c, length in runs for _ in range(length)]
    for i in data.draw(st.lists(st.integers(0, len(classes) - 1), max_size=4)):
        classes[i] = 2 - classes[i]
    step = data.draw(st.integers(1, 3))
    values = [float(i // step) for i in range(len(classes))]
    cuts = entropy_cuts(np.array(values), np.array(classes))
    distinct = sorted(set(values))
    groups = [[c for v, c in zip(values, classes, strict=True) if v == u] for u in distinct]
    assert is_mdl(groups, {sum(u < cut for u in distinct) for cut in cuts})
