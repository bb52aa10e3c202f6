"""Points in boxes, counted by the grid as each box counts them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.plane_rules import members
from clearmargin.plane_rules.members import members_of
from clearmargin.rules import Box

LARGEST, SMALLEST = sys.float_info.max, 5e-324


def random_boxes(rng, n, count, values):
    """Boxes whose bounds are among some values, some of them missing, some boxes empty."""
    boxes = [Box.unbounded(n)]
    for _ in range(count):
        ends = np.sort(rng.choice(values, size=(2, n)), axis=0)
        if rng.random() < 0.1:
            ends = ends[::-1].copy()
        ends[0][rng.random(n) < 0.3] = -np.inf
        ends[1][rng.random(n) < 0.3] = np.inf
        flags = rng.random((2, n)) < 0.5
        boxes.append(Box(ends[0], ends[1], flags[0], flags[1]))
    return boxes


def check(boxes, X, rows=None):
    found = members_of(boxes, X, rows)
    assert len(found) == len(boxes)
    looked_at = np.ones(len(X), dtype=bool) if rows is None else np.isin(np.arange(len(X)), rows)
    for box, members_found in zip(boxes, found, strict=True):
        np.testing.assert_array_equal(members_found, np.flatnonzero(box.contains(X) & looked_at))


@given(st.integers(0, 10**6))
def test_the_points_of_boxes_are_found_as_each_box_finds_them(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    values = (
        np.arange(5.0) if rng.random() < 0.5 else rng.normal(size=30) * 10.0 ** rng.uniform(-5, 5)
    )
    X = rng.choice(values, size=(int(rng.integers(0, 200)), n))
    # More boxes than one word has bits.
    boxes = random_boxes(rng, n, int(rng.integers(0, 150)), values)
    check(boxes, X)
    check(boxes, X, np.flatnonzero(rng.random(len(X)) < 0.5))


@given(st.integers(0, 10**6))
def test_numbers_at_the_ends_of_what_floats_can_say_are_found(seed):
    rng = np.random.default_rng(seed)
    values = np.array([-LARGEST, -1e308, -1.0, -SMALLEST, 0.0, SMALLEST, 1.0, 1e308, LARGEST])
    # All of them, neighbours that no division tells apart, or all so large that their distance is infinite.
    values = [values, np.array([0.0, SMALLEST, 2 * SMALLEST]), values[[0, 1, 7, 8]]][seed % 3]
    X = rng.choice(values, size=(40, 2))
    check(random_boxes(rng, 2, 20, values), X)


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_points_are_found_whatever_the_number_handled_at_a_time(monkeypatch, chunk):
    monkeypatch.setattr(members, "_CHUNK", chunk)
    rng = np.random.default_rng(3)
    X = rng.random((50, 3))
    check(random_boxes(rng, 3, 30, np.linspace(0.0, 1.0, 7)), X)


def test_without_boxes_or_points_there_is_nothing():
    assert members_of([], np.zeros((3, 2))) == []
    (found,) = members_of([Box([0.0], [1.0])], np.empty((0, 1)))
    assert found.tolist() == []
