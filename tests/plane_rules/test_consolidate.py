"""Boxes that grow and absorb others, within a bounded amount of work."""

from __future__ import annotations

import numpy as np
import pytest

from clearmargin.plane_rules import consolidate as module
from clearmargin.plane_rules.consolidate import consolidate
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.recursion import extract_boxes
from clearmargin.plane_rules.side import Side
from clearmargin.rules import Box, HalfSpace, Hyperplane


def searched(seed, m, min_coverage=2):
    """Points below a plane, and boxes found for them."""
    rng = np.random.default_rng(seed)
    side = Side.of(Hyperplane(rng.uniform(0.5, 2.0, size=3), -2.0).side(-1))
    X = rng.random((m, 3))
    X = X[np.asarray(HalfSpace.contains(Hyperplane(side.a, -2.0).side(-1), X))]
    Z = side.orient(X)
    region = side.region(Box([0.0] * 3, [1.0] * 3))
    found = extract_boxes(side, region, Z, coverage_corner, min_coverage=min_coverage)
    return side, Z, found.boxes


def held(boxes, m):
    covered = np.zeros(m, dtype=int)
    for box in boxes:
        covered[box.points] += 1
    return covered


@pytest.mark.parametrize("most", [0, 1_000, 100_000, 5_000_000])
@pytest.mark.parametrize("seed", range(4))
def test_any_amount_of_work_keeps_boxes_disjoint_and_covers_no_fewer_points(
    seed, most, monkeypatch
):
    monkeypatch.setattr(module, "_MOST_COMPARISONS", most)
    side, Z, boxes = searched(seed, 150)
    before = held([box for box in boxes if len(box.points) >= 3], len(Z))
    after = held(consolidate(side, Z, boxes, 3), len(Z))
    assert after.max() == 1
    assert (after >= (before > 0)).all()


def test_work_that_is_not_paid_for_is_not_done(monkeypatch):
    side, Z, boxes = searched(0, 150)
    kept = [box for box in boxes if len(box.points) >= 3]
    compared = []
    best_hull = module._best_hull

    def count(side, Z, table, points, p):
        compared.append(len(table) * len(points))
        return best_hull(side, Z, table, points, p)

    monkeypatch.setattr(module, "_best_hull", count)
    monkeypatch.setattr(module, "_MOST_COMPARISONS", 0)
    assert len(consolidate(side, Z, boxes, 3)) == len(kept)
    assert not compared
    monkeypatch.setattr(module, "_MOST_COMPARISONS", 50_000)
    consolidate(side, Z, boxes, 3)
    assert 0 < sum(compared) <= 50_000
