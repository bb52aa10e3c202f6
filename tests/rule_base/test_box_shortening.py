"""Boxes lose the bounds that they do not need, and the others move out half-way."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.shaping import from_limits, limits_of, shorten
from clearmargin.rules.boxes import Boxes

from .box_cases import INF, SEEDS, foreign_inside, lies_in, world


@given(SEEDS)
def test_a_short_box_contains_the_old_one_and_excludes_the_same_foreign_points(seed):
    points, codes, boxes, _, box_codes = world(seed)
    short = shorten(boxes, points, codes, box_codes)
    assert lies_in(boxes, short)
    np.testing.assert_array_equal(
        foreign_inside(short, box_codes, points, codes),
        foreign_inside(boxes, box_codes, points, codes),
    )


@given(SEEDS)
def test_no_bound_of_a_short_box_is_needless_and_all_went_half_way(seed):
    points, codes, boxes, _, box_codes = world(seed)
    short = shorten(boxes, points, codes, box_codes)
    before = foreign_inside(boxes, box_codes, points, codes)
    for b, d in np.argwhere(np.isfinite(limits_of(short))):
        limits = limits_of(short)[b : b + 1].copy()
        limits[0, d] = INF
        entered = foreign_inside(from_limits(limits), box_codes[b : b + 1], points, codes)[0]
        assert (entered & ~before[b]).any()
    # Bounds move outwards, and strictly when there is a float between them and what they exclude.
    if seed % 3 != 2:
        moved = np.isfinite(limits_of(short))
        assert (limits_of(short)[moved] > limits_of(boxes)[moved]).all()


def fewest_bounds(limits, foreign):
    """The least number of bounds that exclude all foreign points outside, by trying all."""
    out = np.hstack([foreign, -foreign]) > limits
    out = out[out.any(axis=1)]
    for size in range(len(limits) + 1):
        if any(out[:, list(c)].any(axis=1).all() for c in combinations(range(len(limits)), size)):
            return size
    raise AssertionError


@given(SEEDS)
def test_short_boxes_are_near_the_shortest(seed):
    points, codes, boxes, _, box_codes = world(seed)
    found = shorten(boxes, points, codes, box_codes).n_conditions
    for b in range(len(boxes)):
        foreign = points[codes != box_codes[b]]
        least = fewest_bounds(limits_of(boxes)[b], foreign)
        assert least <= found[b] <= max(least, least * (1 + math.log(max(len(foreign), 1))))
        if least <= 1:
            assert found[b] == least


def test_among_equal_bounds_few_features_and_wide_gaps_win():
    # Foreign points left, right and above; each of the bounds excludes one of them.
    points = np.array([[-5.0, 0.0], [5.0, 0.0], [0.0, 3.0]])
    codes, box = np.array([1, 1, 1]), Boxes.from_bounds([[-1.0, -1.0]], [[1.0, 1.0]])
    assert shorten(box, points, codes, [0]).n_conditions.item() == 3
    # The last foreign point is excluded by a bound of either feature.
    points = np.array([[-5.0, 0.0], [-6.0, 0.0], [5.0, 9.0]])
    short = shorten(box, points, codes, [0])
    assert (short.lower.tolist(), short.upper.tolist()) == ([[-3.0, -INF]], [[3.0, INF]])
    # Both features exclude all; the second leaves the wider gap in units of its range, unless the unit is large.
    points = np.array([[2.0, 9.0], [10.0, 9.5]])
    assert shorten(box, points, [1, 1], [0]).upper.tolist() == [[INF, 5.0]]
    short = shorten(box, points, [1, 1], [0], [0.0, 0.0], [1.0, 1000.0])
    assert short.upper.tolist() == [[1.5, INF]]


def test_a_bound_that_later_ones_make_needless_is_dropped():
    # The greedy choice takes the first axis for four points; the other two axes exclude these as well.
    points = np.array(
        [[9, 9, 0], [9, 9, 0], [9, 0, 9], [9, 0, 9], [0, 9, 0], [0, 0, 9]], dtype=float
    )
    box = Boxes.from_bounds(np.zeros((1, 3)), np.ones((1, 3)))
    short = shorten(box, points, np.ones(6, dtype=int), [0])
    assert short.upper.tolist() == [[INF, 5.0, 5.0]]


def test_a_bound_that_moved_out_leaves_its_points_to_the_next():
    # The first bound moves half-way to 10 and past (2, 2), which only the second then excludes.
    points, box = (
        [[10.0, 0.0], [0.0, 10.0], [2.0, 2.0]],
        Boxes.from_bounds([[0.0, 0.0]], [[1.0, 1.0]]),
    )
    assert shorten(box, points, [1, 1, 1], [0]).upper.tolist() == [[5.5, 1.5]]


def test_shortening_without_foreign_points_leaves_no_bound():
    box = Boxes.from_bounds([[0.0, 0.0]], [[1.0, 1.0]])
    assert shorten(box, [[5.0, 5.0]], [0], [0]) == Boxes.unbounded(1, 2)
    assert shorten(box, np.zeros((0, 2)), [], [0]) == Boxes.unbounded(1, 2)
    assert len(shorten(box.take([]), [[5.0, 5.0]], [0], [])) == 0
    with pytest.raises(InvalidValueError, match="lower_range and upper_range go together"):
        shorten(box, [[5.0, 5.0]], [0], [0], [0.0, 0.0])
