"""Simpler boxes: the same points, still on their side, still apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import RuleExtractor
from clearmargin.exceptions import NumericalError
from clearmargin.plane_rules.proof import are_disjoint, is_inside_all, needed_ends, prove
from clearmargin.rule_base.simplify import (
    merge_neighbours,
    shorten_bounds,
    simplify_box,
    without_idle_ends,
)
from clearmargin.rules import Box, FeatureSpace, Hyperplane


def instance(seed):
    """A box on one side of a plane, around some of the points of a table, within the range of all of them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    scale, offset = 10.0 ** rng.uniform(-4, 4, n), rng.choice([0.0, 1.0, 1e6], n)
    integer = rng.random(n) < 0.4
    X = rng.normal(size=(30, n)) * np.where(integer, 3.0, scale) + offset
    X = np.where(integer, np.round(X), X)
    columns = FeatureSpace([f"x{j}" for j in range(n)], X.min(axis=0), X.max(axis=0), integer)
    chosen = X[rng.random(30) < 0.3]
    chosen = chosen if len(chosen) else X[:1]
    # Some faces at the points, some beyond them, some at the end of the domain.
    room = rng.choice([0.0, 0.3, 1.0], size=(2, n)) * rng.random((2, n))
    lower = chosen.min(axis=0) - room[0] * (chosen.min(axis=0) - columns.lower)
    upper = chosen.max(axis=0) + room[1] * (columns.upper - chosen.max(axis=0))
    lower = np.where(rng.random(n) < 0.3, columns.lower, lower)
    upper = np.where(rng.random(n) < 0.3, columns.upper, upper)
    lower_closed = (rng.random(n) < 0.5) | (lower >= chosen.min(axis=0)) | (lower == columns.lower)
    upper_closed = (rng.random(n) < 0.5) | (upper <= chosen.max(axis=0)) | (upper == columns.upper)
    box = Box(lower, upper, lower_closed, upper_closed)
    coef = rng.normal(size=n) * (rng.random(n) < 0.7)
    # The plane touches the worst corner of the box, or passes at a distance.
    worst = sum(w * (h if w > 0 else low) for w, low, h in zip(coef, lower, upper, strict=True))
    return box, columns, chosen, coef, -float(worst) - 1e-9 * abs(worst) - rng.choice([1e-9, 1.0])


def simplified(box, columns, points, coef, intercept, bounds=None):
    """A box below a plane, simplified, where bounds are declared or not."""
    limits = Box.unbounded(box.n_features) if bounds is None else Box(*bounds)
    needed = needed_ends([Hyperplane(coef, intercept).side(-1)], columns, limits)
    return simplify_box(box, columns, points, needed)


@given(st.integers(0, 10**6), st.booleans())
def test_a_simplified_box_covers_the_same_points_and_is_still_sound(oracle, seed, declared):
    box, columns, points, coef, intercept = instance(seed)
    bounds = (columns.lower, columns.upper) if declared else None
    sound = lambda candidate: oracle.lies_on_side(candidate, coef, intercept, -1, bounds)
    assert sound(box)
    simple = simplified(box, columns, points, coef, intercept, bounds)
    assert simple.contains(points).all()
    assert sound(simple)


@given(st.integers(0, 10**6), st.booleans())
def test_within_the_domain_a_simplified_box_is_never_larger(oracle, seed, declared):
    box, columns, points, coef, intercept = instance(seed)
    bounds = (columns.lower, columns.upper)
    limits = bounds if declared else None
    simple = simplified(box, columns, points, coef, intercept, limits)
    for mine, theirs in zip(oracle.spans(simple, bounds), oracle.spans(box, bounds), strict=True):
        # What is left of it lies in what was there: nothing disjoint can have met.
        assert (mine & theirs) == mine


@given(st.integers(0, 10**6))
def test_bounds_are_left_out_only_at_the_ends_of_the_domain(seed):
    box, columns, points, coef, intercept = instance(seed)
    simple = simplified(box, columns, points, coef, intercept)
    for j in range(box.n_features):
        if math.isinf(simple.lower[j]):
            assert box.lower[j] <= columns.lower[j]
        if math.isinf(simple.upper[j]):
            assert box.upper[j] >= columns.upper[j]
        # A bound that costs nothing is not said.
        if coef[j] == 0.0 and box.lower[j] == columns.lower[j] and box.lower_closed[j]:
            assert math.isinf(simple.lower[j])


def without_one_bound(box, j, upper):
    """A box without one of its bounds."""
    bounds = np.array([box.lower, box.upper])
    bounds[int(upper), j] = math.inf if upper else -math.inf
    return Box(bounds[0], bounds[1], box.lower_closed, box.upper_closed)


@given(st.integers(0, 10**6), st.booleans())
def test_an_end_of_the_domain_is_said_exactly_where_the_proof_needs_it(oracle, seed, declared):
    box, columns, points, coef, intercept = instance(seed)
    bounds = (columns.lower, columns.upper) if declared else None
    short = shorten_bounds(box, columns, points)
    simple = simplified(box, columns, points, coef, intercept, bounds)
    for j in range(box.n_features):
        ends = (
            (short.lower[j], columns.lower[j], short.lower_closed[j], simple.lower[j], False),
            (short.upper[j], columns.upper[j], short.upper_closed[j], simple.upper[j], True),
        )
        for bound, end, closed, left, upper in ends:
            if bound == end and closed:
                free = without_one_bound(short, j, upper)
                assert math.isinf(left) == oracle.lies_on_side(free, coef, intercept, -1, bounds)
            else:
                assert left == bound


def test_an_end_matters_where_one_of_several_planes_needs_it():
    columns = FeatureSpace(["a", "b", "c"], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    planes = [Hyperplane([1.0, 0.0, 0.0], 0.0).side(-1), Hyperplane([-1.0, 1.0, 0.0], 2.0).side(1)]
    lower, upper = needed_ends(planes, columns, Box.unbounded(3))
    assert lower.tolist() == [False, True, False]
    assert upper.tolist() == [True, False, False]
    declared = Box([-math.inf, 0.0, -math.inf], [1.0, 1.0, math.inf])
    lower, upper = needed_ends(planes, columns, declared)
    assert not lower.any()
    assert not upper.any()
    # A range that is declared wider than the domain does not end where the domain does.
    wider = Box([-1.0, -1.0, -1.0], [2.0, 2.0, 2.0])
    assert [ends.any() for ends in needed_ends(planes, columns, wider)] == [True, True]


def test_an_open_bound_at_the_end_of_the_domain_is_said():
    columns = FeatureSpace(["x"], [0.0], [1.0])
    nothing = np.zeros(1, dtype=bool)
    box = Box([0.0], [1.0], [False], [False])
    assert without_idle_ends(box, columns, (nothing, nothing)) == box
    assert without_idle_ends(Box([0.0], [1.0]), columns, (nothing, nothing)) == Box.unbounded(1)
    assert without_idle_ends(Box([0.0], [1.0]), columns, (~nothing, nothing)) == Box(
        [0.0], [math.inf]
    )


@given(st.integers(0, 10**6))
def test_columns_of_whole_numbers_get_whole_bounds_that_belong_to_the_box(seed):
    box, columns, points, coef, intercept = instance(seed)
    simple = simplified(box, columns, points, coef, intercept)
    for j in np.flatnonzero(columns.integer):
        for bound, closed in (
            (simple.lower[j], simple.lower_closed[j]),
            (simple.upper[j], simple.upper_closed[j]),
        ):
            assert math.isinf(bound) or (bound == round(bound) and closed)


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (((0.5, 3.5), (True, True)), (1.0, 3.0)),
        (((1.0, 3.0), (False, False)), (2.0, 2.0)),
        (((1.0, 3.0), (True, True)), (1.0, 3.0)),
        (((-2.5, -0.5), (True, False)), (-2.0, -1.0)),
        (((-math.inf, 2.7), (True, False)), (-math.inf, 2.0)),
        (((2.2, math.inf), (True, True)), (3.0, math.inf)),
    ],
)
def test_bounds_move_inwards_to_whole_numbers(interval, expected):
    (low, high), (low_closed, high_closed) = interval
    columns = FeatureSpace(["n"], [-10.0], [10.0], True)
    given_box = Box([low], [high], [low_closed], [high_closed])
    box = shorten_bounds(given_box, columns, np.empty((0, 1)))
    assert (box.lower[0], box.upper[0]) == expected
    assert box.lower_closed[0]
    assert box.upper_closed[0]


def test_bounds_get_as_few_digits_as_the_range_and_the_points_allow():
    columns = FeatureSpace(["x"], [0.0], [100.0])
    box = shorten_bounds(Box([12.3456], [87.6543]), columns, np.array([[50.0]]))
    assert (box.lower[0], box.upper[0]) == (13.0, 87.0)
    close = shorten_bounds(Box([12.3456], [87.6543]), columns, np.array([[12.35], [87.654]]))
    assert (close.lower[0], close.upper[0]) == (12.35, 87.654)
    # On the face itself there is nothing to round.
    tight = shorten_bounds(Box([12.3456], [87.6543]), columns, np.array([[12.3456]]))
    assert tight.lower[0] == 12.3456


def test_columns_as_wide_as_floats_can_say_are_no_trouble():
    columns = FeatureSpace(["x", "wide"], [0.0, -1.7e308], [100.0, 1.7e308])
    box = shorten_bounds(Box([12.3456, -1e308], [80.0, 1e308]), columns, np.array([[50.0, 1.0]]))
    assert box.lower[0] == 13.0
    assert box.contains([[50.0, 1.0]]).all()


def pair(first, second, integer=False, closed=((True, True), (True, True))):
    boxes = [
        Box([low, 0.0], [high, 1.0], [c[0], True], [c[1], True])
        for (low, high), c in zip((first, second), closed, strict=True)
    ]
    return boxes, FeatureSpace(["a", "b"], [-10.0, -10.0], [10.0, 10.0], [integer, False])


def test_neighbours_are_merged():
    boxes, columns = pair((0.0, 1.0), (1.0, 2.0), closed=((True, False), (True, True)))
    ((box, members),) = merge_neighbours(boxes, columns)
    assert box == Box([0.0, 0.0], [2.0, 1.0])
    assert sorted(members) == [0, 1]


def test_consecutive_whole_numbers_are_neighbours():
    boxes, columns = pair((0.0, 3.0), (4.0, 6.0), integer=True)
    ((box, _),) = merge_neighbours(boxes, columns)
    assert box == Box([0.0, 0.0], [6.0, 1.0])


@pytest.mark.parametrize(
    "boxes_and_columns",
    [
        pair((0.0, 1.0), (2.0, 3.0)),
        pair((0.0, 1.0), (2.0, 3.0), closed=((True, False), (False, True))),
        # Between two open faces a value is missing, and between 3 and 5 a whole number.
        pair((0.0, 1.0), (1.0, 2.0), closed=((True, False), (False, True))),
        pair((0.0, 3.0), (5.0, 6.0), integer=True),
        pair((0.0, 3.0), (4.0, 6.0), integer=False),
        (
            [Box([0.0, 0.0], [1.0, 1.0]), Box([1.0, 0.0], [2.0, 3.0], [False, True])],
            pair((0, 1), (1, 2))[1],
        ),
    ],
)
def test_what_is_no_box_together_stays_apart(boxes_and_columns):
    boxes, columns = boxes_and_columns
    assert [box for box, _ in merge_neighbours(boxes, columns)] == boxes


def test_merging_goes_on_until_nothing_is_left_to_merge():
    columns = FeatureSpace(["a", "b"], [0.0, 0.0], [9.0, 9.0], True)
    cells = [Box([i, j], [i, j]) for i in range(3) for j in range(2)]
    ((box, members),) = merge_neighbours(cells, columns)
    assert box == Box([0.0, 0.0], [2.0, 1.0])
    assert sorted(members) == list(range(6))


@given(st.integers(0, 10**6))
def test_merged_boxes_hold_the_same_whole_numbers(seed):
    rng = np.random.default_rng(seed)
    columns = FeatureSpace(["a", "b"], [0.0, 0.0], [5.0, 5.0], True)
    cells = [Box([i, j], [i, j]) for i in range(6) for j in range(6) if rng.random() < 0.6]
    merged = [box for box, _ in merge_neighbours(cells, columns)]
    grid = np.array([[i, j] for i in range(6) for j in range(6)], dtype=float)
    before = np.sum([box.contains(grid) for box in cells], axis=0) if cells else np.zeros(36)
    after = np.sum([box.contains(grid) for box in merged], axis=0) if merged else np.zeros(36)
    np.testing.assert_array_equal(before, after)
    assert are_disjoint(merged)


def first_pair_by_pair(boxes, columns):
    """Merge the first two boxes that make a box, and start again; two boxes at a time."""
    boxes = list(boxes)
    for first in range(len(boxes)):
        for second in range(first + 1, len(boxes)):
            together = merge_neighbours([boxes[first], boxes[second]], columns)
            if len(together) == 1:
                boxes[first] = together[0][0]
                del boxes[second]
                return first_pair_by_pair(boxes, columns)
    return boxes


@given(st.integers(0, 10**6))
def test_boxes_are_merged_in_the_order_in_which_pairs_are_met(seed):
    rng = np.random.default_rng(seed)
    columns = FeatureSpace(["a", "b"], [0.0, 0.0], [3.0, 3.0], True)
    cells = [Box([i, j], [i, j]) for i in range(4) for j in range(4) if rng.random() < 0.7]
    cells = [cells[k] for k in rng.permutation(len(cells))]
    merged = merge_neighbours(cells, columns)
    assert [box for box, _ in merged] == first_pair_by_pair(cells, columns)
    assert sorted(k for _, members in merged for k in members) == list(range(len(cells)))
    for box, members in merged:
        assert all(box.contains(cells[k].lower[None]).all() for k in members)


@given(st.integers(0, 10**6))
def test_disjointness_is_decided_as_the_oracle_does(oracle, seed):
    rng = np.random.default_rng(seed)
    boxes = []
    for _ in range(int(rng.integers(0, 6))):
        ends = np.sort(rng.integers(0, 4, size=(2, 2)).astype(float), axis=0)
        flags = rng.random((2, 2)) < 0.5
        box = Box(ends[0], ends[1], flags[0], flags[1])
        if not box.is_empty:
            boxes.append(box)
    assert are_disjoint(boxes) == (not oracle.meeting_pairs(boxes))


def test_a_box_beyond_the_plane_or_a_second_one_over_it_is_not_proved(oracle):
    side = Hyperplane([1.0], -1.0).side(-1)
    inner, beyond = Box([0.0], [1.0]), Box([0.0], [1.5])
    anywhere = Box.unbounded(1)
    prove([inner], [side], anywhere, disjoint=True)
    with pytest.raises(NumericalError, match="not proved to lie on its side"):
        prove([beyond], [side], anywhere, disjoint=False)
    prove([beyond], [side], Box([0.0], [1.0]), disjoint=True)
    with pytest.raises(NumericalError, match="not proved to be disjoint"):
        prove([inner, Box([0.5], [0.7])], [side], anywhere, disjoint=True)
    prove([inner, Box([0.5], [0.7])], [side], anywhere, disjoint=False)
    assert not is_inside_all(beyond, [side], anywhere)


def test_rules_over_whole_numbers_speak_of_whole_numbers(oracle):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 9, size=(80, 3)).astype(float)
    X[:, 2] = rng.normal(size=80)
    coef, intercept = [1.3, -0.7, 0.4], -1.11
    extractor = RuleExtractor(oracle.given(X, coef, intercept)).fit(
        X, oracle.sides(X, coef, intercept)
    )
    assert extractor.space_.integer.tolist() == [True, True, False]
    for rule in extractor.rules_:
        ends = np.r_[rule.region.lower[:2], rule.region.upper[:2]]
        ends = ends[np.isfinite(ends)]
        np.testing.assert_array_equal(ends, np.round(ends))


def test_declared_ends_are_not_said_and_seen_ones_are_said_where_the_proof_needs_them(oracle):
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 1.0, size=(60, 2))
    X[0], X[1] = 0.0, 1.0
    coef, intercept = [1.0, 0.01], -0.5
    y = oracle.sides(X, coef, intercept)
    model = oracle.given(X, coef, intercept)
    seen = RuleExtractor(model, max_rules=2, tighten=False).fit(X, y)
    declared = RuleExtractor(model, max_rules=2, tighten=False, bounds=(0.0, 1.0)).fit(X, y)
    below = lambda e: next(rule.region for rule in e.rules_ if rule.label == "below")
    # The second feature may go to its end, which matters only if it could be passed.
    assert below(seen).upper[1] <= 1.0
    assert np.isinf(below(declared).upper[1])
    assert oracle.lies_on_side(below(seen), coef, intercept, -1)
    assert oracle.lies_on_side(below(declared), coef, intercept, -1, ([0.0, 0.0], [1.0, 1.0]))
