"""Intervals, boxes and many boxes against comparisons one by one, and against exact elimination."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.exact import (
    covered_rows,
    exact_sum,
    has_solution,
    in_box,
    in_interval,
)
from tests.oracles.values import (
    INF,
    KNOTS,
    LARGEST,
    NAN,
    SMALLEST,
    beside,
    boxes,
    edges,
    finite,
    intervals,
)

from clearmargin import Box, Hyperplane, Interval
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import round_inwards

MANY = settings(max_examples=100)
any_interval = intervals(edges | finite, can_be_empty=True)


@MANY
@given(one=any_interval, other=any_interval, data=st.data())
def test_interval_and_its_intersection_hold_what_comparisons_say(one, other, data):
    ends = st.sampled_from([one.low, one.high, other.low, other.high, NAN, 0.5])
    both = one & other
    assert both == other & one
    assert (both & one) == both
    for x in data.draw(st.lists(beside(ends) | finite, min_size=1, max_size=8)):
        assert (x in one) is in_interval(one, x)
        assert (x in both) is (in_interval(one, x) and in_interval(other, x))
    # Among the ends, the middles between them and a number beyond lies a witness, if there is one.
    known = sorted({Fraction(e) for i in (one, other) for e in (i.low, i.high) if math.isfinite(e)})
    witnesses = [*known, *((a + b) / 2 for a, b in itertools.pairwise(known))]
    witnesses += [known[0] - 1, known[-1] + 1] if known else [Fraction(0)]
    for interval, wanted in ((one, [one]), (both, [one, other])):
        found = any(all(in_interval(i, x) for i in wanted) for x in witnesses)
        assert interval.is_empty != found


@given(any_interval)
def test_interval_is_rebuilt_from_its_flags_and_its_repr(interval):
    flags = interval.low_closed, interval.high_closed
    again = Interval.from_flags(interval.low, interval.high, *flags)
    assert again == interval == eval(repr(interval), {"Interval": Interval, "inf": INF})
    assert hash(again) == hash(interval)
    assert interval.width == max(0.0, interval.high - interval.low)
    assert str(interval)[0] + str(interval)[-1] == "(["[flags[0]] + ")]"[flags[1]]


decimals = st.builds(lambda m, e: float(f"{m}e{e}"), st.integers(-999, 999), st.integers(-30, 30))


def significant(x):
    return len(Decimal(repr(x)).normalize().as_tuple().digits) if math.isfinite(x) else 0


@MANY
@given(exact=intervals(decimals | finite), digits=st.integers(1, 17))
def test_round_inwards_gives_a_nonempty_part_with_no_more_digits_than_needed(exact, digits):
    rounded = round_inwards(exact, digits)
    assert not rounded.is_empty
    assert rounded & exact == rounded
    most = max(significant(end) for end in (rounded.low, rounded.high))
    for end, moved, is_closed in ((exact.low, rounded.low, rounded.low_closed),
            (exact.high, rounded.high, rounded.high_closed)):  # fmt: skip
        if moved != end:
            assert is_closed
            assert significant(end) > digits
        elif math.isfinite(end) and 1e-290 < abs(end) < 1e290 and exact.low != exact.high:
            # An end stays where it is short already, or where fewer digits would leave nothing.
            assert significant(end) <= max(digits, most)
    if exact.high - exact.low > 1 > 1e-3 * abs(exact.high) + 1e-3 * abs(exact.low) and digits > 4:
        assert most <= digits


@given(x=decimals, digits=st.integers(1, 12))
def test_round_inwards_moves_a_bound_by_less_than_one_unit(x, digits):
    up = round_inwards(Interval(x, INF), digits).low
    down = round_inwards(Interval(-INF, x), digits).high
    assert down <= x <= up
    assert round_inwards(Interval(-x, INF), digits).low == -down
    assert (up == x) is (significant(x) <= digits)
    if up != down:
        unit = Fraction(10) ** (math.floor(math.log10(abs(x))) + 1 - digits)
        assert Fraction(up) - Fraction(down) <= unit * 10


@MANY
@given(data=st.data(), categories=st.none() | st.lists(st.integers(0, 3), max_size=3))
def test_box_contains_rows_as_comparisons_say(data, categories):
    sets = None if categories is None else {2: categories}
    box = data.draw(boxes(3, edges | finite, sets, can_be_empty=True))
    end = st.sampled_from([*box.lower[:2], *box.upper[:2], NAN, 0.0, INF, -INF])
    last = st.sampled_from([-1.0, 0.0, 1.0, 3.0, NAN]) if sets else beside(end)
    rows = data.draw(st.lists(st.tuples(beside(end), beside(end), last), min_size=1, max_size=12))
    expected = [in_box(box, row) for row in rows]
    assert box.contains(rows).tolist() == expected
    assert not (box.is_empty and any(expected))
    assert box.bounded == tuple(j for j in range(3) if j in {*box.sets, *box.missing,
        *box.known} or math.isfinite(box.lower[j]) or math.isfinite(box.upper[j]))  # fmt: skip


ALL_LINES = [Box([low], [high], [a], [b]) for low, high in itertools.product([0.0, 1.0, 2.0], repeat=2) for a,
    b in itertools.product([True, False], repeat=2)]  # fmt: skip
# Each of these that is not empty holds a point of the half-step grid.
STEPS = np.arange(-1.0, 3.5, 0.5)[:, None]


def test_box_intersection_and_disjointness_agree_with_a_grid():
    for one, other in itertools.product(ALL_LINES, ALL_LINES):
        expected = one.contains(STEPS) & other.contains(STEPS)
        both = one & other
        assert (both.contains(STEPS) == expected).all()
        assert both.is_empty == one.is_disjoint(other) == (not expected.any())
        # Of two equal bounds the open one stays, from whichever side.
        assert both.contains([[both.lower[0]]]) == (both.lower_closed[0] and not both.is_empty)


@MANY
@given(data=st.data())
def test_box_of_few_conditions_in_a_wide_space_is_the_small_one_moved(data):
    n = 200
    places = data.draw(st.lists(st.integers(0, n - 1), min_size=3, max_size=3, unique=True))
    sets = data.draw(st.sampled_from([None, {1: [0, 2]}]))
    small = [data.draw(boxes(3, edges, sets)) for _ in "ab"]
    wide = [Box.from_intervals({places[j]: box.interval(j) for j in range(3)}, n,
        {places[j]: codes for j, codes in box.sets.items()}, [places[j] for j in box.missing],
        [places[j] for j in box.known]) for box in small]  # fmt: skip
    assert (wide[0] & wide[1]).is_empty is small[0].is_disjoint(small[1])
    for big, little in zip(wide, small, strict=True):
        assert big.bounded == tuple(sorted(places[j] for j in little.bounded))
        for j in range(3):
            assert big.has_bounds(places[j]) == little.has_bounds(j)
        assert big.interval(places[0] - n) == little.interval(0)
        widths = {little.interval(j).width for j in range(3)}
        assert big.volume() == (0.0 if little.missing or 0.0 in widths else INF)


def test_box_conditions_on_missing_values_exclude_those_that_need_the_value():
    absent = Box([-INF, -INF], [INF, INF], missing=[0])
    known, low = Box([-INF, -INF], [INF, INF], known=[0]), Box([-INF, -INF], [3, INF])
    for box in (low, known, Box([-INF, -INF], [INF, INF], sets={0: [1]})):
        assert absent.is_disjoint(box)
        assert (box & absent).is_empty
        assert box & known == box
    assert not absent.is_disjoint(Box([-INF, 1], [INF, 2]))
    assert not absent.is_inside(Hyperplane([1.0, 0.0], 1.0).side(1))
    assert Box([0, -INF], [1, INF], missing=[1]).is_inside(Hyperplane([1.0, 0.0], 1.0).side(1))


def test_box_volume_does_not_depend_on_overflow_on_the_way():
    for widths, volume in [([1e-200, 1e-200, INF], INF), ([1e-200, 1e-200, 1e300, 1e200], 1e100),
        ([1e200, 1e200], INF), ([0.0, INF], 0.0), ([SMALLEST], SMALLEST), ([], 1.0)]:  # fmt: skip
        box = Box(np.zeros(len(widths)), widths)
        assert box.volume() == pytest.approx(volume, rel=1e-14, abs=0)
        assert Box([*box.lower, 1.0], [*box.upper, 0.0]).volume() == 0.0
    assert Box([0, -INF], [2, INF], sets={1: [0, 1, 2]}).volume() == 6.0
    assert Box([-LARGEST], [LARGEST]).volume() == INF


# A box inside of a half-space: then the box and the opposite half-space have no point in common.

weights = st.one_of(st.just(0.0), st.sampled_from([1.0, -1.0, 0.1, -0.3]),
    st.builds(lambda m, e: m * 10.0**e, st.sampled_from([1.0, -1.7]), st.integers(-6, 6)),
    st.sampled_from([SMALLEST, -1e-310, 1e300, -LARGEST, 1e-200]))  # fmt: skip
far_ends = st.sampled_from([*KNOTS, 3.0, 1e-200, 1e200]) | edges


def is_inside_by_elimination(box, plane, sign):
    faces = [(side * unit, side * end, not closed)
        for j, unit in enumerate(np.eye(box.n_features))
        for end, side, closed in ((box.lower[j], -1.0, box.lower_closed[j]), (box.upper[j], 1.0, box.upper_closed[j]))
        if math.isfinite(end)]  # fmt: skip
    # Not f > 0 is f <= 0; not f <= 0 is -f < 0.
    rows, limits, strict = zip(
        *faces, (sign * plane.coef, -sign * plane.intercept, sign < 0), strict=True
    )
    return not has_solution([*rows], [*limits], [*strict])


@MANY
@given(data=st.data())
def test_box_is_inside_a_half_space_as_elimination_decides(data):
    box = data.draw(boxes(3, far_ends))
    box = Box(box.lower, box.upper, box.lower_closed, box.upper_closed)
    coef = data.draw(st.lists(weights, min_size=3, max_size=3))
    plane = Hyperplane(coef, data.draw(weights | finite))
    for sign in (1, -1):
        assert box.is_inside(plane.side(sign)) is is_inside_by_elimination(box, plane, sign)


@MANY
@given(data=st.data())
def test_box_with_a_corner_on_the_plane_or_one_float_beside_it_is_decided_exactly(data):
    n = data.draw(st.sampled_from([1, 3, 3, 20]))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    scale = data.draw(st.sampled_from([1.0, 1e6, 1e-6, 1e-300, 1e150, 1e250]))
    number = rng.integers(-64, 65, (2, n)) / 8
    if data.draw(st.booleans()):  # terms that cancel and leave the small ones in charge
        number += rng.normal(size=(2, n))
    coef, corner = number[0] * scale * 10.0 ** rng.integers(-6, 7, n), number[1]
    coef[~coef.any()] = 1.0
    intercept = float(-exact_sum(coef, corner))
    if data.draw(st.booleans()):
        intercept = math.nextafter(intercept, data.draw(st.sampled_from([-INF, INF])))
    low, high = np.where(coef > 0, corner, corner - 1), np.where(coef < 0, corner, corner + 1)
    box = Box(low, high, *(rng.random((2, n)) < 0.7))
    plane = Hyperplane(coef, intercept)
    used = coef != 0
    attained = np.where(coef > 0, box.lower_closed, box.upper_closed)[used].all()
    lowest = exact_sum(coef[used], np.where(coef > 0, box.lower, box.upper)[used], intercept)
    assert box.is_inside(plane.side(1)) is bool(lowest > 0 or (lowest == 0 and not attained))
    top = exact_sum(coef[used], np.where(coef > 0, box.upper, box.lower)[used], intercept)
    assert box.is_inside(plane.side(-1)) is bool(top <= 0)


HALF = 2.0**-537  # its square is the smallest float


def test_box_on_the_edge_of_a_half_space_is_decided_exactly():
    for box, coef, intercept, positive, negative in [
        (Box([1], [2], False), [1.0], -1.0, True, False),  # the plane touches an open corner
        (Box([0], [1]), [0.0], 0.0, False, True),  # no weight at all
        (Box.unbounded(1), [0.0], 1.0, True, False),  # no weight on a free feature
        (Box([1e200], [INF]), [1e200], -LARGEST, True, False),  # overflow to inf - max
        (Box([0], [SMALLEST]), [SMALLEST], 0.0, False, False),  # a product that underflows to zero
        (Box([2], [1]), [1.0], 0.0, True, True),  # an empty box is inside of everything
        (Box([1, 1], [2, 2]), [0.1, 0.2], -0.3, True, False),  # as floats, 0.1 + 0.2 > 0.3
        (Box([1.4 * HALF] * 3, [1] * 3), [HALF] * 3, -4 * SMALLEST, True, False),
        (Box([LARGEST] * 2, [LARGEST] * 2), [1.0, -1.0], 0.0, False, True),
    ]:
        plane = Hyperplane(coef, intercept)
        assert box.is_inside(plane.side(1)) is positive
        assert box.is_inside(plane.side(-1)) is negative


def random_boxes(rng, n, count, values):
    """Boxes with all kinds of conditions; some are empty."""
    made = [Box.unbounded(n)]
    for _ in range(count):
        ends = np.sort(rng.choice(values, size=(2, n)), axis=0)
        if rng.random() < 0.1:
            ends = ends[::-1].copy()
        ends[0][rng.random(n) < 0.3] = -INF
        ends[1][rng.random(n) < 0.3] = INF
        flags, sets = rng.random((2, n)) < 0.5, {}
        if rng.random() < 0.3:
            j = int(rng.integers(n))
            ends[0, j], ends[1, j] = -INF, INF
            sets = {j: rng.choice(4, size=rng.integers(0, 4), replace=False).tolist()}
        missing, known = (np.flatnonzero(rng.random(n) < 0.1).tolist() for _ in range(2))
        made.append(Box(ends[0], ends[1], flags[0], flags[1], sets, missing, known))
    return made


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), spread=st.integers(0, 2))
def test_boxes_of_all_kinds_hold_the_rows_that_comparisons_allow(seed, spread):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    values = [np.arange(5.0), rng.normal(size=30) * 10.0 ** rng.uniform(-5, 5),
        np.array([-LARGEST, -1e308, -1.0, -SMALLEST, 0.0, SMALLEST, 1.0, 1e308, LARGEST])][spread]  # fmt: skip
    near = [math.nextafter(v, end) for v in values for end in (INF, -INF)]
    X = rng.choice([*values, *near, NAN, INF, -INF, 0.5], size=(int(rng.integers(0, 12)), n))
    regions = random_boxes(rng, n, int(rng.integers(0, 70)), values)
    expected = covered_rows(regions, X.tolist())
    for region, mask in zip(regions, expected.T, strict=True):
        assert region.contains(X).tolist() == mask.tolist()
    plain = [k for k, box in enumerate(regions) if not (box.sets or box.missing or box.known)]
    stack = Box.stack([regions[k] for k in plain], n)
    assert stack.contains(X).tolist() == expected.T[plain].tolist()
    assert list(stack) == [regions[k] for k in plain]


def test_stack_of_boxes_is_taken_apart_and_counted_as_lists_are():
    rng = np.random.default_rng(1)
    some = [box for box in random_boxes(rng, 3, 30, np.arange(4.0)) if not (box.sets or box.missing
        or box.known)]  # fmt: skip
    stack = Box.stack(some, 3)
    assert len(stack) == len(some) > 6
    assert list(stack[[3, 3, -1]]) == [some[3], some[3], some[-1]]
    assert list(stack[np.arange(len(some)) == 4]) == [some[4]]
    assert Box.stack([], 2).contains(np.zeros((3, 2))).shape == (0, 3)
    one = Box([[0.0, -INF], [-INF, -INF]], [[1.0, 2.0], [INF, INF]])
    assert list(one) == [Box([0.0, -INF], [1.0, 2.0]), Box.unbounded(2)]
    assert one.n_conditions.tolist() == [3, 0]
    # Rows beyond one chunk are compared as the others are.
    X = rng.choice(np.arange(4.0), size=(33_000, 3))
    assert (stack.contains(X) == [box.contains(X) for box in some]).all()
    for act in (lambda: len(some[0]), lambda: some[0][0]):
        with pytest.raises(TypeError, match="single"):
            act()


def test_bad_intervals_and_boxes_are_refused():
    for act, name in [(lambda: Interval(NAN, 1), "lower bound"), (lambda: Interval(INF, INF), "start"),
        (lambda: Interval(-INF, -INF), "end"), (lambda: Interval(0, 1, "leftish"), "closed"),
        (lambda: round_inwards(Interval(1, 2), 0), "digits"), (lambda: Box([0, 1], [1]), "upper bounds"),
        (lambda: Box([NAN], [1]), "lower bounds"), (lambda: Box([0], [1], [1]), "lower_closed"),
        (lambda: Box([0], [1], sets={0: [1]}), "feature 0"), (lambda: Box([0], [1], missing=[1]), "feature 1"),
        (lambda: Box([0], [1], sets={0: "red"}), "'red'"), (lambda: Box([0], [1]) & Box.unbounded(2), "1 features"),
        (lambda: Box([0], [1]).is_inside(Hyperplane([1.0, 1.0], 0.0).side(1)), "1 features"),
        (lambda: Box([-INF], [INF], sets={0: [0]}).is_inside(Hyperplane([1.0], 1.0).side(1)), "code"),
        (lambda: Box([[0.0]], [[1.0]], missing=[0]), "stack"), (lambda: Box([0], [1], missing=[2]), "feature 2"),
        (lambda: Box.stack([Box([-INF], [INF], sets={0: [1]})], 1), "stack"),
        (lambda: Box([-INF], [INF], sets={0: 1}), "feature 0")]:  # fmt: skip
        with pytest.raises(InvalidValueError, match=name):
            act()


def test_tables_that_are_no_rows_of_numbers_are_refused():
    dates = np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]")
    for X in ([1.0, 2.0], [[1.0]], [["1", "2"]], [[1.0, object()]], [[1.0, 2.0], [1.0]], dates):
        for ask in (Box([0, 0], [1, 1]).contains, Box([[0, 0]], [[1, 1]]).contains):
            with pytest.raises(DataError, match="X"):
                ask(X)
