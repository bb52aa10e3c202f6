"""Polyhedra against plain Python sums, exact bounds and boxes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, Polyhedron

LARGEST = float(np.finfo(float).max)
numbers = st.floats(allow_nan=False, allow_infinity=False)


def in_polyhedron(wedge, row):
    """One row of Python floats, summed from left to right over the weights that are not zero."""
    if not all(math.isnan(row[j]) for j in wedge.missing):
        return False
    if any(math.isnan(row[j]) for j in wedge.known):
        return False
    for weights, limit, strict in zip(
        wedge.A.tolist(), wedge.b.tolist(), wedge.strict, strict=True
    ):
        terms = [w * x for w, x in zip(weights, row, strict=True) if w]
        value = terms[0]
        for term in terms[1:]:
            value = value + term
        if not (value < limit if strict else value <= limit):
            return False
    return all(row[j] in wedge.sets[j] for j in wedge.sets)


@given(data=st.data())
def test_a_polyhedron_contains_what_plain_python_says(data, draw):
    wedge = data.draw(draw.polyhedra(4, sets={3: [0, 2]}))
    x = draw.edges() | st.sampled_from([math.inf, -math.inf, math.nan, 1e308, -1e308])
    code = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
    rows = data.draw(st.lists(st.tuples(x, x, x, code), min_size=1, max_size=10))
    assert wedge.contains(rows).tolist() == [in_polyhedron(wedge, row) for row in rows]


@given(data=st.data())
def test_a_box_and_its_inequalities_hold_the_same_points(data, draw):
    box = data.draw(draw.boxes(3, draw.finite(), sets={2: [1]}))
    wedge = Polyhedron.from_box(box)
    assert wedge.has_unit_rows
    assert wedge.to_box() == box
    assert wedge.bounded == box.bounded
    ends = st.sampled_from([*box.lower[:2], *box.upper[:2], 0.0])
    near = ends | ends.map(lambda e: math.nextafter(e, math.inf))
    rows = data.draw(st.lists(st.tuples(near, near, st.just(1.0)), min_size=1, max_size=8))
    assert wedge.contains(rows).tolist() == box.contains(rows).tolist()


@given(data=st.data())
def test_a_box_is_empty_when_its_inequalities_contradict_each_other(data):
    low, high = (st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=2) for _ in "ab")
    flags = st.lists(st.booleans(), min_size=2, max_size=2)
    box = Box(data.draw(low), data.draw(high), data.draw(flags), data.draw(flags))
    assert Polyhedron.from_box(box).is_empty() is box.is_empty


def satisfies(a, x, b, strict):
    left = Fraction(a) * Fraction(x)
    return left < Fraction(b) if strict else left <= Fraction(b)


weights = (
    st.sampled_from([3.0, -3.0, 0.1, -0.1, 7.0, 1e-300, -1e-300, 5e-324, 1e300, LARGEST]) | numbers
).filter(bool)
limits = st.sampled_from([0.0, 1.0, 0.3, -0.3, 5e-324, -5e-324, LARGEST, -LARGEST]) | numbers


@given(weights, limits, st.booleans())
def test_a_bound_read_from_one_inequality_parts_the_floats_exactly(a, b, strict):
    box = Polyhedron([[a]], [b], strict).to_box()
    side = box.interval(0)
    bound, outwards = (side.high, math.inf) if a > 0 else (side.low, -math.inf)
    assert (side.low if a > 0 else side.high) == -outwards
    steps = [bound]
    for direction in (-math.inf, math.inf):
        x = bound
        for _ in range(2):
            x = math.nextafter(x, direction)
            steps.append(x)
    for x in [*steps, 0.0, LARGEST, -LARGEST]:
        if math.isfinite(x):
            assert (x in side) is satisfies(a, x, b, strict)


@pytest.mark.parametrize(
    ("a", "b", "strict", "shown"),
    [
        (3.0, 1.0, False, "[-inf, 0.3333333333333333]"),
        (3.0, 1.0, True, "[-inf, 0.3333333333333333]"),  # a third is above its float
        (-3.0, -1.0, False, "[0.33333333333333337, inf]"),
        (2.0, 1.0, True, "[-inf, 0.5)"),
        (1e-300, 1e300, False, f"[-inf, {LARGEST!r}]"),  # beyond the largest float
        (1e-300, -1e300, False, f"[-inf, {-LARGEST!r})"),  # only -inf is that small
        (1e300, 1e-300, False, "[-inf, 0]"),  # below the smallest one
        (-1e300, -1e-300, True, "[5e-324, inf]"),
    ],
)
def test_bounds_that_no_float_is_move_inwards(a, b, strict, shown):
    assert str(Polyhedron([[a]], [b], strict).to_box().interval(0)) == shown


def test_infinities_are_judged_alike_by_a_polyhedron_and_its_box():
    for a, b in [(1e-300, 1e300), (1e-300, -1e300), (-2.0, 1.0), (1.0, LARGEST)]:
        wedge = Polyhedron([[a]], [b])
        X = [[math.inf], [-math.inf]]
        assert wedge.contains(X).tolist() == wedge.to_box().contains(X).tolist()


def test_many_bounds_on_one_feature_become_the_narrowest():
    wedge = Polyhedron([[1, 0], [2, 0], [-1, 0], [1, 0]], [5, 8, 1, 4], [False, False, True, True])
    assert wedge.to_box() == Box([-1, -math.inf], [4, math.inf], False, [False, True])


@pytest.mark.parametrize(
    ("rows", "plain"),
    [
        ([[1.0, 0.0], [0.0, -1.0]], True),
        ([[0.5, 0.5]], False),  # weights that add up to 1
        ([[1.0, 0.0], [0.5, 0.5]], False),
        ([[1.0, 1e-17]], False),  # ... in floating point
        ([[2.0, 0.0]], False),
        ([[LARGEST, LARGEST]], False),  # whose sum is no float
        (np.empty((0, 0)), True),
        (np.empty((0, 2)), True),
    ],
)
def test_plain_bounds_are_told_from_other_rows(rows, plain):
    assert Polyhedron(rows, np.ones(len(rows))).has_unit_rows is plain


def test_a_set_without_categories_is_empty():
    assert Polyhedron([[1.0, 0.0]], [1.0], sets={1: []}).is_empty()
    assert not Polyhedron([[1.0, 0.0]], [1.0], sets={1: [0]}).is_empty()


def test_no_inequality_is_no_condition():
    everything = Polyhedron(np.empty((0, 2)), [])
    assert not everything.is_empty()
    assert everything.to_box() == Box.unbounded(2)
    assert everything.contains([[math.inf, -math.inf], [0.0, math.nan]]).tolist() == [True, True]


def test_a_feature_that_must_be_missing_has_no_other_condition():
    for more in ({"known": [1]}, {"sets": {1: [0]}}):
        with pytest.raises(InvalidValueError, match="feature 1 must be missing, and another"):
            Polyhedron([[1.0, 0.0]], [1.0], missing=[1], **more)
    with pytest.raises(InvalidValueError, match="feature 0 must be missing, and another"):
        Polyhedron([[1.0, 0.0]], [1.0], missing=[0])
    with pytest.raises(InvalidValueError, match="feature 2 among those listed as known, but"):
        Polyhedron([[1.0, 0.0]], [1.0], known=[2])
    assert Polyhedron([[1.0, 2.0]], [1.0], known=[1]) == Polyhedron([[1.0, 2.0]], [1.0])


def test_sums_that_overflow_or_have_no_value_are_judged_in_silence():
    wedge = Polyhedron([[1.0, -1.0]], [0.0])
    rows = [[math.inf, math.inf], [math.inf, 0.0], [0.0, math.inf], [-1e308, 1e308]]
    assert wedge.contains(rows).tolist() == [False, False, True, True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0]), r"has two dimensions, not shape \(1,\)"),
        (([[1.0]], [1.0, 2.0]), r"the right-hand side of a polyhedron has shape \(2,\)"),
        (([[0.0, 0.0]], [1.0]), r"row 1 of a polyhedron has no variable \(all zero\)"),
        (([[math.inf]], [1.0]), "the inequalities of a polyhedron must be finite"),
        (([[1.0]], [math.inf]), "the inequalities of a polyhedron must be finite"),
        (([[math.nan]], [1.0]), r"must not be NaN \(at position \(0, 0\)\)"),
        (([[1.0]], [1.0], [1]), "strict must be True or False, not int64"),
        (([[1.0]], [1.0], False, {0: [1]}), "both a set of categories and a weight"),
        (([[1.0]], [1.0], False, {3: [1]}), "a set for feature 3, but there are 1 features"),
    ],
)
def test_a_bad_polyhedron_is_refused(arguments, message):
    with pytest.raises(InvalidValueError, match=message):
        Polyhedron(*arguments)


def test_a_wide_row_is_no_box():
    wedge = Polyhedron([[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0])
    with pytest.raises(InvalidValueError, match="row 2 has more than one variable"):
        wedge.to_box()


def test_a_polyhedron_shows_what_it_is_made_of():
    plain = Polyhedron([[1.0, 2.0]], [3.0])
    assert repr(plain) == "Polyhedron([[1.0, 2.0]], [3.0])"
    full = Polyhedron([[1.0, 0.0]], [3.0], True, {1: [2]})
    assert (
        repr(full) == "Polyhedron([[1.0, 0.0]], [3.0], strict=[True], sets=CategorySets({1: [2]}))"
    )
