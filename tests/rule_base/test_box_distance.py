"""Boxes as limits along directions, and how far points are from boxes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.box_distance import distance_to_boxes, nearest_box
from clearmargin.rule_base.shaping import as_codes, directions, from_limits, halfway, limits_of
from clearmargin.rules.boxes import Boxes

INF = math.inf
SEEDS = st.integers(0, 10**6)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def boxes_and_points(seed):
    """Tied and untied coordinates, infinite bounds, single points, no boxes, no points."""
    rng = np.random.default_rng(seed)
    r, m, n = (int(k) for k in rng.integers([0, 0, 1], [9, 40, 5]))
    tied = seed % 2
    draw = (lambda *s: rng.integers(-2, 3, size=s).astype(float)) if tied else rng.normal
    points = draw(m, n) if tied else rng.normal(size=(m, n))
    ends = draw(2, r, n) if tied else rng.normal(size=(2, r, n))
    lower, upper = ends.min(axis=0), ends.max(axis=0)
    lower[rng.random((r, n)) < 0.3] = -INF
    upper[rng.random((r, n)) < 0.3] = INF
    return Boxes.from_bounds(lower, upper), points


@given(SEEDS)
def test_limits_are_another_form_of_the_same_boxes(seed):
    boxes, points = boxes_and_points(seed)
    assert from_limits(limits_of(boxes)) == boxes
    below = directions(points)[None] <= limits_of(boxes)[:, :, None]
    np.testing.assert_array_equal(below.all(axis=1), boxes.masks(points))


@given(FLOATS, FLOATS)
def test_half_way_really_separates(a, b):
    inner, outer = min(a, b), max(a, b)
    if inner < outer:
        assert inner <= halfway(inner, outer) < outer
        assert inner <= halfway(inner, math.nextafter(inner, INF)) < math.nextafter(inner, INF)


def test_codes_that_do_not_fit():
    with pytest.raises(DataError, match=r"codes of points must have shape \(2,\), not \(1,\)"):
        as_codes([0], 2, "codes of points")
    with pytest.raises(DataError, match="must be whole numbers"):
        as_codes(["a"], 1, "codes of points")


# Distances.


def exact_square(box, x, boxes, scale):
    """The squared distance as a fraction."""
    total = Fraction(0)
    ends = zip(boxes.lower[box].tolist(), x, boxes.upper[box].tolist(), scale, strict=True)
    for low, v, high, s in ends:
        excess = max(
            Fraction(low) - Fraction(v) if low > -INF else Fraction(0),
            Fraction(v) - Fraction(high) if high < INF else Fraction(0),
            Fraction(0),
        )
        total += (excess / Fraction(s)) ** 2 if s else 0
    return total


@given(SEEDS)
def test_distances_are_exact_to_rounding_and_the_first_nearest_box_is_named(seed):
    boxes, points = boxes_and_points(seed)
    scale = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 4.0], size=boxes.n_features)
    found = distance_to_boxes(points, boxes, scale)
    assert found.shape == (len(points), len(boxes))
    for i, x in enumerate(points.tolist()):
        squares = [exact_square(b, x, boxes, scale.tolist()) for b in range(len(boxes))]
        np.testing.assert_allclose(found[i], [math.sqrt(s) for s in squares], rtol=1e-12)
        if seed % 2 and squares:  # tied coordinates are small integers: no rounding decides
            assert nearest_box([x], boxes, scale).item() == squares.index(min(squares))


@given(SEEDS, st.sampled_from([1e-200, 1e-100, 1.0, 1e100, 1e200]))
def test_the_distance_is_zero_exactly_inside(seed, unit):
    boxes, points = boxes_and_points(seed)
    boxes = Boxes.from_bounds(boxes.lower * unit, boxes.upper * unit)
    points = points * unit
    found = distance_to_boxes(points, boxes, np.ones(boxes.n_features))
    np.testing.assert_array_equal(found.T == 0, boxes.masks(points))
    assert np.isfinite(found).all()


def test_very_small_and_very_large_distances_keep_their_digits():
    boxes = Boxes.from_bounds([[0.0, 0.0]], [[0.0, 0.0]])
    points = [[3e-200, 4e-200], [3e200, 4e200], [0.0, 5e-324], [0.0, 0.0]]
    found = distance_to_boxes(points, boxes, [1.0, 1.0])[:, 0]
    np.testing.assert_allclose(found, [5e-200, 5e200, 5e-324, 0.0], rtol=1e-14)
    far = Boxes.from_bounds([[-1e308]], [[-1e308]])
    assert distance_to_boxes([[1e308]], far, [1.0]).item() == INF


def test_a_feature_without_scale_takes_no_part():
    boxes = Boxes.from_bounds([[0.0, 0.0], [3.0, 5.0]], [[1.0, 1.0], [4.0, 6.0]])
    np.testing.assert_array_equal(distance_to_boxes([[2.5, 99.0]], boxes, [0.5, 0.0]), [[3.0, 1.0]])
    assert nearest_box([[2.5, -99.0]], boxes, [0.0, 0.0]).item() == 0


def test_no_points_no_boxes_and_bad_scales():
    boxes = Boxes.unbounded(2, 1)
    assert distance_to_boxes(np.zeros((0, 1)), boxes, [1.0]).shape == (0, 2)
    assert nearest_box(np.zeros((0, 1)), boxes, [1.0]).shape == (0,)
    assert distance_to_boxes([[1.0]], boxes.take([]), [1.0]).shape == (1, 0)
    with pytest.raises(InvalidValueError, match="there is no box, so none is nearest"):
        nearest_box([[1.0]], boxes.take([]), [1.0])
    with pytest.raises(InvalidValueError, match="scale must be finite and not negative"):
        nearest_box([[1.0]], boxes, [-1.0])
    with pytest.raises(DataError, match="row 2, column 'x0' is nan; drop or impute"):
        distance_to_boxes([[1.0], [math.nan]], boxes, [1.0])
