from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clearmargin.rules import Polyhedron
from clearmargin.svm_trees.svm_tree import TrainingRange, bisectors, left_sides, nearest_cells


def clearly_nearest(point, centres, width):
    """The nearest centre in exact arithmetic, None where another one is as near but for rounding."""
    squared = [
        sum(
            ((Fraction(x) - Fraction(u)) / Fraction(w)) ** 2
            for x, u, w in zip(point, centre, width.tolist(), strict=True)
        )
        for centre in centres.tolist()
    ]
    best, second = sorted(squared)[:2]
    return squared.index(best) if second - best > 1e-9 else None


def cell_by_rows(points, centres, width):
    """The cell of each point by the polyhedra of all rows, one cell after the other."""
    found = np.full(len(points), -1)
    times = np.zeros(len(points), dtype=int)
    for j in range(len(centres)):
        others = np.delete(np.arange(len(centres)), j)
        A, b = bisectors(centres, width, np.full(len(others), j), others)
        inside = Polyhedron(A, b, others < j).contains(points)
        found[inside] = j
        times += inside
    assert times.max() <= 1
    return found


@st.composite
def lattices(draw):
    """Centres and points on a coarse lattice: many points are at the same distance from two centres."""
    n = draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    centres = np.unique(rng.integers(0, 5, (draw(st.integers(2, 8)), n)), axis=0).astype(float)
    shift, unit = draw(st.sampled_from([(0.0, 1.0), (0.3, 0.1), (1e4, 7.0)]))
    points = rng.integers(-2, 7, (60, n)) / 2
    width = np.full(n, 4 * unit) * rng.integers(1, 3, n)
    assume(len(centres) > 1)
    return points * unit + shift, centres * unit + shift, width


@given(lattices())
def test_a_cell_is_what_its_inequalities_say_to_the_last_bit(case):
    points, centres, width = case
    found = nearest_cells(points, centres, TrainingRange(centres.min(axis=0), width))
    assert found.tolist() == cell_by_rows(points, centres, width).tolist()
    for point, cell in zip(points.tolist(), found.tolist(), strict=True):
        assert clearly_nearest(point, centres, width) in (None, cell)


def test_the_first_of_two_equally_near_centres_wins():
    frame = TrainingRange(np.zeros(2), np.ones(2))
    centres = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    points = np.array([[0.5, 0.5], [0.0, 0.5], [0.5, 0.0], [2.0, 2.0]])
    assert nearest_cells(points, centres, frame).tolist() == [0, 1, 0, 0]
    assert nearest_cells(points, centres[::-1].copy(), frame).tolist() == [0, 0, 0, 1]


def test_random_points_go_to_the_nearest_centre():
    rng = np.random.default_rng(0)
    points, centres = rng.normal(50, 9, (3000, 6)), rng.normal(50, 9, (40, 6))
    width = rng.uniform(1, 30, 6)
    table = (((points[:, None] - centres) / width) ** 2).sum(axis=2)
    found = nearest_cells(points, centres, TrainingRange(centres.min(axis=0), width))
    assert (found == table.argmin(axis=1)).all()


def test_a_point_has_its_cell_whoever_is_asked_about_with_it():
    rng = np.random.default_rng(1)
    points, centres = rng.integers(0, 9, (500, 3)).astype(float), rng.integers(0, 9, (30, 3)) / 1.0
    centres = np.unique(centres, axis=0)
    frame = TrainingRange.from_points(points)
    together = nearest_cells(points, centres, frame)
    alone = [nearest_cells(points[i : i + 1], centres, frame)[0] for i in range(len(points))]
    assert together.tolist() == alone


def test_the_row_of_a_pair_is_that_of_the_other_order_with_all_signs_changed():
    rng = np.random.default_rng(2)
    centres, width = rng.normal(1e3, 1, (50, 7)), rng.uniform(0.1, 5, 7)
    j, k = rng.integers(0, 50, (2, 400))
    A, b = bisectors(centres, width, j, k)
    B, c = bisectors(centres, width, k, j)
    assert (A == -B).all()
    assert (b == -c).all()
    points = rng.normal(1e3, 3, (400, 7))
    assert (left_sides(A, points) == -left_sides(B, points)).all()


def test_a_feature_that_does_not_vary_counts_nothing():
    points = np.array([[0.0, 3.0], [1.0, 3.0]])
    frame = TrainingRange.from_points(points)
    assert frame.width.tolist() == [1.0, np.inf]
    far = np.array([[0.1, -1e9], [0.9, 1e9]])
    assert nearest_cells(far, points, frame).tolist() == [0, 1]
    assert frame.restore(frame.scale(points)).tolist() == points.tolist()


@pytest.mark.parametrize("far", [1e200, 1e308, -1e308])
def test_points_at_the_end_of_the_floats_have_a_cell_or_none(far):
    points = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = nearest_cells(
        np.array([[far, 0.0], [far, far]]), points, TrainingRange.from_points(points)
    )
    assert ((found >= -1) & (found < 3)).all()
    assert (
        found.tolist()
        == cell_by_rows(np.array([[far, 0.0], [far, far]]), points, np.ones(2)).tolist()
    )
