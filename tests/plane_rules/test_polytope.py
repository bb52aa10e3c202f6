"""Boxes inside several half-spaces at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.plane_rules.polytope import extract_polytope_boxes, peeled_box
from clearmargin.rules import Box, Hyperplane


def problem(seed):
    """Planes around a centre, and points inside all of them."""
    rng = np.random.default_rng(seed)
    n, planes = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    scale = 10.0 ** rng.uniform(-3, 3, n)
    offset = rng.choice([0.0, 1e6])
    X = rng.normal(size=(80, n)) * scale + offset
    halfspaces = []
    for _ in range(planes):
        coef = rng.normal(size=n) / scale * 10.0 ** rng.uniform(-2, 2)
        if seed % 4 == 0:
            coef[int(rng.integers(n))] = 0.0
        level = float(np.quantile(X @ coef, 0.8))
        sign = int(rng.choice([1, -1]))
        halfspaces.append(Hyperplane(-sign * coef, sign * level).side(sign))
    inside = np.all([h.contains_exactly(X) for h in halfspaces], axis=0)
    return halfspaces, Box(X.min(axis=0), X.max(axis=0)), X[inside]


def worst(box, halfspace):
    """The least value of sign * f over a box, as a fraction."""
    plane = halfspace.hyperplane
    total = Fraction(plane.intercept) * halfspace.sign
    for w, low, high in zip(
        plane.coef.tolist(), box.lower.tolist(), box.upper.tolist(), strict=True
    ):
        slope = Fraction(w) * halfspace.sign
        if slope:
            total += slope * Fraction(low if slope > 0 else high)
    return total


@given(st.integers(0, 10**6))
def test_the_box_lies_in_all_half_spaces_and_in_the_region_and_holds_a_point(seed):
    halfspaces, region, X = problem(seed)
    if not len(X):
        return
    box = peeled_box(halfspaces, region, X)
    assert box is not None
    for halfspace in halfspaces:
        assert worst(box, halfspace) > 0 or (halfspace.is_closed and worst(box, halfspace) == 0)
    assert (box.lower >= region.lower).all()
    assert (box.upper <= region.upper).all()
    assert box.contains(X).any()


def test_a_hull_that_fits_goes_out_as_far_as_fractions_say_and_not_half_of_it():
    shares = []
    for seed in range(60):
        halfspaces, region, X = problem(seed)
        X = X[:1]
        if not len(X):
            continue
        hull = Box(X[0], X[0])
        room = Box(hull.lower, region.upper), Box(region.lower, hull.upper)
        share = Fraction(1)
        for h in halfspaces:
            way = 2 * worst(hull, h) - worst(room[0], h) - worst(room[1], h)
            if way > worst(hull, h):
                share = min(share, worst(hull, h) / way)
        box = peeled_box(halfspaces, region, X)
        if share > Fraction(1, 1000):
            reach = X[0] + float(share) * (region.upper - X[0])
            np.testing.assert_allclose(box.upper - X[0], reach - X[0], rtol=2e-5)
            shares.append(float(share))
    assert len(shares) > 20


def test_points_whose_hull_fits_are_all_covered():
    plane = Hyperplane([1.0, 1.0], -10.0)
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]])
    box = peeled_box([plane.side(-1)], Box([-1.0, -1.0], [9.0, 9.0]), X)
    assert box.contains(X).all()
    # Let out towards the ends of the region until the plane stops it.
    assert worst(box, plane.side(-1)) < 1e-6
    assert box.upper[0] > 2.0


def test_an_outlier_is_peeled():
    planes = [Hyperplane([1.0, 1.0], -3.0).side(-1), Hyperplane([1.0, -1.0], -3.0).side(-1)]
    X = np.array([[0.0, 0.0], [0.2, 1.0], [0.1, -1.0], [0.3, 0.5], [2.9, 0.0]])
    box = peeled_box(planes, Box([-3.0, -3.0], [3.0, 3.0]), X)
    np.testing.assert_array_equal(box.contains(X), [True, True, True, True, False])


def test_many_points_are_peeled_several_at_a_time():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3_000, 3))
    plane = Hyperplane([1.0, 1.0, 1.0], -2.0).side(-1)
    X = X[plane.contains_exactly(X)]
    box = peeled_box([plane], Box(X.min(axis=0), X.max(axis=0)), X)
    assert box.is_inside(plane)
    assert box.contains(X).sum() > 20


def test_a_single_point_on_the_plane_is_its_own_box():
    plane = Hyperplane([1.0, 1.0], -2.0)
    box = peeled_box([plane.side(-1)], Box([0.0, 0.0], [3.0, 3.0]), np.array([[1.0, 1.0]]))
    assert box == Box([1.0, 1.0], [1.0, 1.0])


def test_of_points_that_cannot_be_together_the_deepest_is_taken():
    plane = Hyperplane([1.0, 1.0], -1.0)
    X = np.array([[0.0, 1.0], [1.0, 0.0]])  # both on the plane, their hull beyond it
    box = peeled_box([plane.side(-1)], Box([0.0, 0.0], [1.0, 1.0]), X)
    assert box.contains(X).sum() == 1
    assert box.is_inside(plane.side(-1))


def test_where_no_point_is_inside_there_is_no_box():
    plane = Hyperplane([1.0], 0.0)
    assert peeled_box([plane.side(1)], Box([-1.0], [1.0]), np.array([[0.0], [0.0]])) is None


def test_boxes_are_found_no_deeper_than_asked():
    """Around a box in the middle of a disc, boxes beside it are boxes of the next depth."""
    angles = np.linspace(0, 2 * np.pi, 9)[:-1]
    disc = [Hyperplane([np.cos(a), np.sin(a)], 1.0).side(1) for a in angles]
    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    X = X[np.all([h.contains_exactly(X) for h in disc], axis=0)]
    domain = Box([-1.0, -1.0], [1.0, 1.0])
    options = {"min_coverage": 1, "max_rules": None}
    counts = [
        len(extract_polytope_boxes(disc, domain, X, max_depth=depth, **options)[0])
        for depth in (1, 2, 3)
    ]
    assert counts[0] == 1 < counts[1] < counts[2]


@pytest.mark.parametrize("ends", [(-np.inf, 4.0), (-4.0, np.inf), (-np.inf, np.inf)])
def test_a_region_without_ends_is_no_place_to_grow_to(ends):
    plane = Hyperplane([1.0, 0.0], -1.0)
    X = np.array([[0.0, 0.0], [0.5, 1.0]])
    region = Box([-4.0, ends[0]], [4.0, ends[1]])
    box = peeled_box([plane.side(-1)], region, X)
    assert box.is_inside(plane.side(-1))
    assert box.contains(X).all()
    assert np.isfinite(box.lower).all()
    assert np.isfinite(box.upper).all()
