"""Boxes against brute force on grids, and against exact elimination for half-spaces."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import Box, Hyperplane, Interval

LARGEST = float(np.finfo(float).max)
FLAGS = list(itertools.product([True, False], repeat=2))
# In one dimension: all pairs of ends on a small grid, all flags.
LINES = [
    Box([low], [high], [a], [b])
    for low, high in itertools.product([0.0, 1.0, 2.0], repeat=2)
    for a, b in FLAGS
]
# Every box of the grid that is not empty holds a point of the half-step grid.
STEPS = np.arange(-1.0, 3.5, 0.5)


def in_box(box, row):
    """One row, one comparison at a time."""
    for j, x in enumerate(row):
        if (j in box.missing and not math.isnan(x)) or (j in box.known and math.isnan(x)):
            return False
        if j in box.sets:
            if x not in box.sets[j]:
                return False
            continue
        if box.lower[j] > -math.inf and not (
            x >= box.lower[j] if box.lower_closed[j] else x > box.lower[j]
        ):
            return False
        if box.upper[j] < math.inf and not (
            x <= box.upper[j] if box.upper_closed[j] else x < box.upper[j]
        ):
            return False
    return True


def squares():
    """Boxes in two dimensions with all flags, on few ends."""
    sides = [box for box in LINES if box.lower[0] <= box.upper[0]]
    for one, other in itertools.product(sides[::2], sides[1::3]):
        yield Box(
            [one.lower[0], other.lower[0]],
            [one.upper[0], other.upper[0]],
            [one.lower_closed[0], other.lower_closed[0]],
            [one.upper_closed[0], other.upper_closed[0]],
        )


GRID = np.array(list(itertools.product(STEPS, STEPS)))
SQUARES = list(squares())


def test_a_box_contains_what_the_comparisons_say_and_is_empty_when_that_is_nothing():
    for box in SQUARES:
        expected = [in_box(box, row) for row in GRID]
        assert box.contains(GRID).tolist() == expected
        assert box.is_empty is not any(expected)


def test_an_intersection_contains_what_both_contain():
    for one, other in itertools.product(SQUARES[::5], SQUARES[::7]):
        expected = one.contains(GRID) & other.contains(GRID)
        both = one.intersect(other)
        assert both == one & other
        assert (both.contains(GRID) == expected).all()
        assert one.is_disjoint(other) is not expected.any()
        assert both.is_empty is not expected.any()


def test_the_volume_is_the_product_of_the_widths():
    for box in SQUARES:
        width, height = (box.interval(j).width for j in (0, 1))
        assert box.volume() == (0.0 if box.is_empty else width * height)


@given(data=st.data())
def test_rows_of_edges_neighbours_and_infinities_are_judged_one_by_one(data, draw):
    box = data.draw(draw.boxes(3, sets={2: [0, 2]}))
    edge = st.sampled_from([*box.lower[:2], *box.upper[:2], math.nan, 0.0])
    near = edge | edge.map(lambda e: math.nextafter(e, math.inf))
    near |= edge.map(lambda e: math.nextafter(e, -math.inf))
    code = st.sampled_from([-1.0, 0.0, 1.0, 2.0, math.nan])
    rows = data.draw(st.lists(st.tuples(near, near, code), min_size=1, max_size=12))
    assert box.contains(rows).tolist() == [in_box(box, row) for row in rows]


@given(data=st.data())
def test_only_the_features_with_a_condition_matter_where_values_are_missing(data, draw):
    box = data.draw(draw.boxes(3))
    row = data.draw(st.lists(draw.finite(), min_size=3, max_size=3))
    holes = data.draw(st.sets(st.integers(0, 2)))
    filled, holed = list(row), [math.nan if j in holes else x for j, x in enumerate(row)]
    asked = {*box.bounded} - {*box.missing}
    expected = not holes & asked and {*box.missing} <= holes
    # A box without its words on missing values says of the other features what it said before.
    bounds = Box(box.lower, box.upper, box.lower_closed, box.upper_closed)
    assert box.contains([holed])[0] == (expected and bounds.contains([filled])[0])
    assert Box.unbounded(3).contains([holed])[0]


def test_being_missing_is_disjoint_from_every_condition_that_needs_the_value():
    free = math.inf
    absent = Box([-free, -free], [free, free], missing=[0])
    low, known = Box([-free, -free], [3, free]), Box([-free, -free], [free, free], known=[0])
    red = Box([-free, -free], [free, free], sets={0: [1]})
    other = Box([-free, 1], [free, 2])
    for box in (low, known, red):
        assert absent.is_disjoint(box)
        assert box.is_disjoint(absent)
        assert absent.intersect(box).is_empty
    assert not absent.is_disjoint(other)
    assert not low.is_disjoint(known)
    assert low & known == low, "a bound says already that the value is known"
    assert (absent & other).contains([[math.nan, 1.5], [0.0, 1.5], [math.nan, 3.0]]).tolist() == [
        True,
        False,
        False,
    ]
    assert absent.volume() == 0.0
    assert other.volume() == free


def test_a_plane_has_no_value_where_a_feature_with_a_weight_must_be_missing():
    plane = Hyperplane([1.0, 0.0], 1.0)
    free = math.inf
    assert not Box([-free, 0], [free, 1], missing=[0]).is_inside(plane.side(1))
    assert Box([0, -free], [1, free], missing=[1]).is_inside(plane.side(1))


@given(data=st.data())
def test_a_box_of_few_conditions_among_many_features_is_the_same_box(data, draw):
    """Sparse boxes, which are made by intervals, against the dense arrays of the constructor."""
    n = 300
    places = data.draw(st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True))
    small = [data.draw(draw.boxes(3)), data.draw(draw.boxes(3))]
    sparse = [
        Box.from_intervals(
            {places[j]: box.interval(j) for j in range(3)},
            n,
            None,
            [places[j] for j in box.missing],
            [places[j] for j in box.known],
        )
        for box in small
    ]
    dense = [
        Box(b.lower, b.upper, b.lower_closed, b.upper_closed, b.sets, b.missing, b.known)
        for b in sparse
    ]
    assert sparse == dense
    assert [hash(b) for b in sparse] == [hash(b) for b in dense]
    assert [repr(b) for b in sparse] == [repr(b) for b in dense]
    assert sparse[0] & sparse[1] == dense[0] & dense[1] == sparse[0] & dense[1]
    for one, other in (sparse, dense):
        assert one.is_disjoint(other) is small[0].is_disjoint(small[1])
        assert (one & other).is_empty is (small[0] & small[1]).is_empty
        assert one.bounded == tuple(sorted(places[j] for j in small[0].bounded))
    for box in (*sparse, *dense):
        assert pickle.loads(pickle.dumps(box)) == box


def test_an_absent_bound_admits_infinity():
    box = Box([0.0], [math.inf], upper_closed=False)
    assert box.contains([[math.inf], [-math.inf]]).tolist() == [True, False]
    assert box.upper_closed.tolist() == [True]
    assert Box([0.0], [LARGEST]).contains([[math.inf]]).tolist() == [False]


@given(data=st.data())
def test_a_box_is_the_product_of_its_intervals(data, draw):
    box = data.draw(draw.boxes(4))
    parts = {j: box.interval(j) for j in range(4)}
    words = {"missing": box.missing, "known": box.known}
    assert Box.from_intervals(parts, 4, **words) == box
    assert Box.from_intervals({j: parts[j] for j in box.bounded}, 4, **words) == box
    assert all(parts[j] == Interval(-math.inf, math.inf) for j in set(range(4)) - {*box.bounded})


def test_sets_of_categories_intersect_count_and_can_run_empty():
    free = math.inf
    red = Box([0, -free], [2, free], sets={1: [0, 1, 2]})
    blue = Box([1, -free], [5, free], sets={1: [2, 3]})
    assert red.volume() == 6.0
    assert (red & blue).sets[1] == {2}
    assert not red.is_disjoint(blue)
    assert red.is_disjoint(Box([0, -free], [2, free], sets={1: [3]}))
    assert Box([-free], [free], sets={0: []}).is_empty
    assert red.bounded == (0, 1)


@pytest.mark.parametrize(
    ("widths", "volume"),
    [
        ([1e-200, 1e-200, math.inf], math.inf),
        ([1e-200, 1e-200, 1e300, 1e200], 1e100),
        ([1e200, 1e200, 1e-300], 1e100),
        ([1e200, 1e200], math.inf),
        ([1e-200, 1e-200], 0.0),
        ([0.0, math.inf], 0.0),
        ([5e-324], 5e-324),
        ([], 1.0),
    ],
)
def test_the_volume_does_not_depend_on_overflow_on_the_way(widths, volume):
    box = Box(np.zeros(len(widths)), widths)
    assert box.volume() == pytest.approx(volume, rel=1e-14, abs=0)


def test_the_volume_of_a_box_wider_than_any_float_is_infinite():
    assert Box([-LARGEST], [LARGEST]).volume() == math.inf


# Half-spaces: inside means that the box and the opposite half-space have no point in common.


def is_inside_by_elimination(box, plane, sign, has_solution):
    n = box.n_features
    rows, limits, strict = [], [], []
    for j in range(n):
        unit = [float(i == j) for i in range(n)]
        if math.isfinite(box.lower[j]):
            rows.append([-u for u in unit])
            limits.append(-box.lower[j])
            strict.append(not box.lower_closed[j])
        if math.isfinite(box.upper[j]):
            rows.append(unit)
            limits.append(box.upper[j])
            strict.append(not box.upper_closed[j])
    # Not f > 0 is f <= 0; not f <= 0 is -f < 0.
    rows.append([sign * w for w in plane.coef])
    limits.append(-sign * plane.intercept)
    strict.append(sign < 0)
    return not has_solution(rows, limits, strict)


weights = st.one_of(
    st.just(0.0),
    st.sampled_from([1.0, -1.0, 0.1, -0.3]),
    st.builds(lambda m, e: m * 10.0**e, st.sampled_from([1.0, -1.7]), st.integers(-6, 6)),
    st.sampled_from([5e-324, -1e-310, 1e300, -LARGEST, 1e-200]),
)
ends = st.sampled_from([0.0, 1.0, -1.0, 0.1, 3.0, 5e-324, 1e-200, 1e200, LARGEST, -LARGEST])


@given(data=st.data())
def test_inside_a_half_space_is_decided_exactly(data, draw, has_solution):
    box = data.draw(draw.boxes(3, ends | draw.edges()))
    plane = Hyperplane(
        data.draw(st.lists(weights, min_size=3, max_size=3)), data.draw(weights | draw.finite())
    )
    for sign in (1, -1):
        expected = is_inside_by_elimination(box, plane, sign, has_solution)
        assert box.is_inside(plane.side(sign)) is expected


@given(data=st.data())
def test_a_corner_on_the_plane_and_one_unit_in_the_last_place_off(data, has_solution):
    """The hard cases: the intercept is the rounded (often exact) negative of the value at the corner."""
    scale = data.draw(st.sampled_from([1.0, 1e6, 1e-6, 1e-300, 1e150]))
    number = st.integers(-64, 64).map(lambda k: k / 8)
    coef = data.draw(st.lists(number, min_size=3, max_size=3).filter(any))
    corner = data.draw(st.lists(number, min_size=3, max_size=3))
    spread = 10.0 ** np.array(data.draw(st.lists(st.integers(-6, 6), min_size=3, max_size=3)))
    coef = [w * scale * s for w, s in zip(coef, spread, strict=True)]
    value = sum((Fraction(w) * Fraction(x) for w, x in zip(coef, corner, strict=True)), Fraction(0))
    intercept = float(-value)
    for _ in range(data.draw(st.integers(0, 1))):
        intercept = math.nextafter(intercept, data.draw(st.sampled_from([-math.inf, math.inf])))
    low = [x if w > 0 else x - 1 for w, x in zip(coef, corner, strict=True)]
    high = [x if w < 0 else x + 1 for w, x in zip(coef, corner, strict=True)]
    flags = st.lists(st.booleans(), min_size=3, max_size=3)
    box = Box(low, high, data.draw(flags), data.draw(flags))
    plane = Hyperplane(coef, intercept)
    for sign in (1, -1):
        expected = is_inside_by_elimination(box, plane, sign, has_solution)
        assert box.is_inside(plane.side(sign)) is expected


@given(data=st.data())
def test_no_point_of_a_box_inside_is_outside_in_exact_arithmetic(data, draw):
    box = data.draw(draw.boxes(2, st.sampled_from([-1.0, 0.0, 0.1, 0.3, 1.0])))
    plane = Hyperplane(data.draw(st.lists(weights, min_size=2, max_size=2)), data.draw(weights))
    (u, v), c = plane.exact()
    points = itertools.product([-1.0, 0.0, 0.05, 0.1, 0.3, 0.7, 1.0], repeat=2)
    values = [u * Fraction(x) + v * Fraction(y) + c for x, y in points if box.contains([[x, y]])[0]]
    if any(value <= 0 for value in values):
        assert not box.is_inside(plane.side(1))
    if any(value > 0 for value in values):
        assert not box.is_inside(plane.side(-1))


@pytest.mark.parametrize(
    ("box", "coef", "intercept", "positive", "negative"),
    [
        (Box([1], [2]), [1.0], -1.0, False, False),  # the plane touches a closed corner
        (Box([1], [2], False), [1.0], -1.0, True, False),  # ... an open one
        (Box([0], [1]), [1.0], -1.0, False, True),  # ties go to the negative side
        (Box([0], [1]), [0.0], 0.0, False, True),  # no weight at all
        (Box([0], [1]), [0.0], 5e-324, True, False),
        (Box.unbounded(1), [0.0], 1.0, True, False),  # no weight on a free feature
        (Box.unbounded(1), [5e-324], 1e308, False, False),
        (Box([1e200], [math.inf]), [1e200], -LARGEST, True, False),  # overflow to inf - max
        (Box([0], [5e-324]), [5e-324], 0.0, False, False),  # a product that underflows to zero
        (Box([5e-324], [1]), [5e-324], 0.0, True, False),
        (Box([2], [1]), [1.0], 0.0, True, True),  # an empty box is inside everything
        (Box([1], [1], False), [1.0], 0.0, True, True),
    ],
)
def test_knife_edges(box, coef, intercept, positive, negative):
    plane = Hyperplane(coef, intercept)
    assert box.is_inside(plane.side(1)) is positive
    assert box.is_inside(plane.side(-1)) is negative


def test_a_thousand_features_are_decided_exactly():
    rng = np.random.default_rng(0)
    coef = rng.normal(size=1000)
    corner = rng.normal(size=1000)
    value = sum(Fraction(w) * Fraction(x) for w, x in zip(coef, corner, strict=True))
    low, high = np.where(coef > 0, corner, corner - 1), np.where(coef > 0, corner + 1, corner)
    for intercept in (float(-value), math.nextafter(float(-value), 9), math.nextafter(-value, -9)):
        inside = Box(low, high).is_inside(Hyperplane(coef, intercept).side(1))
        assert inside is (value + Fraction(intercept) > 0)


def test_a_weight_on_a_category_code_is_refused():
    box = Box([0, -math.inf], [1, math.inf], sets={1: [0]})
    assert box.is_inside(Hyperplane([1.0, 0.0], 1.0).side(1))
    with pytest.raises(InvalidValueError, match="a weight on a category code has no meaning"):
        box.is_inside(Hyperplane([1.0, 1.0], 1.0).side(1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1]), r"the upper bounds of a box has shape \(1,\), but \(2,\) is needed"),
        (([[0]], [[1]]), r"a box has one row of bounds, not shape \(1, 1\)"),
        ((0, 1), r"a box has one row of bounds, not shape \(\)"),
        (([math.nan], [1]), r"the lower bounds of a box must not be NaN \(at position 0\)"),
        (([math.inf], [math.inf]), "a box cannot start at inf or end at -inf"),
        (([0], [-math.inf]), "a box cannot start at inf or end at -inf"),
        (([0], [1], [1]), "lower_closed must be True or False, not int64"),
        (([0], [1], [True, False]), r"lower_closed has shape \(2,\)"),
        (([0], [1], True, True, {0: [1]}), "feature 0 has both a set of categories and bounds"),
        (([0], [1], True, True, {1: [1]}), "a set for feature 1, but there are 1 features"),
        ((["low"], [1]), "the lower bounds of a box must be numbers"),
    ],
)
def test_a_bad_box_is_refused(arguments, message):
    with pytest.raises(InvalidValueError, match=message):
        Box(*arguments)


def test_boxes_of_different_dimension_do_not_meet():
    with pytest.raises(InvalidValueError, match="one box has 1 features, the other 2"):
        Box([0], [1]).intersect(Box.unbounded(2))
    with pytest.raises(InvalidValueError, match="the box has 1 features, the hyperplane 2"):
        Box([0], [1]).is_inside(Hyperplane([1.0, 1.0], 0.0).side(1))
    with pytest.raises(TypeError, match="unsupported operand"):
        Box([0], [1]) & Interval(0, 1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"X must be a table \(two dimensions\), not of shape \(2,\).*use \[row\]"),
        ([[1.0]], "X has 1 columns, but 2 features are expected"),
        ([["1", "2"]], "X must hold numbers, not <U1 values"),
        ([[1.0, object()]], "X must hold numbers: float"),
        ([[1.0, 2.0], [1.0]], "X must hold numbers: .*inhomogeneous"),
        (np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"), "X must hold numbers, not date"),
    ],
)
def test_a_bad_table_is_refused(X, message):
    with pytest.raises(DataError, match=message):
        Box([0, 0], [1, 1]).contains(X)


def test_a_box_without_features_or_rows_is_no_special_case():
    assert Box([], []).contains(np.empty((2, 0))).tolist() == [True, True]
    assert Box([0], [1]).contains(np.empty((0, 1))).tolist() == []
    assert not Box([], []).is_empty


def test_a_box_shows_its_conditions_only():
    box = Box([0, -math.inf, -math.inf], [1, math.inf, math.inf], True, False, {2: [1]})
    assert repr(box) == "Box({0: [0, 1), 2: {1}}, n_features=3)"
