"""Boxes are cut until no foreign point is in them; points decide, so points are counted."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.shaping import from_limits, limits_of, tune
from clearmargin.rules.boxes import Boxes

from .box_cases import INF, SEEDS, foreign_inside, lies_in, world

CRITERIA = ("balance", "ratio", "fewest")


def own_inside(boxes, box_codes, points, codes):
    return boxes.masks(points) & (codes[None] == np.asarray(box_codes)[:, None])


@given(SEEDS, st.sampled_from(CRITERIA))
def test_tuned_boxes_hold_no_foreign_point_and_keep_their_anchor(seed, criterion):
    points, codes, boxes, anchors, box_codes = world(seed)
    tuned, kept = tune(boxes, anchors, points, codes, box_codes, criterion=criterion)
    assert not foreign_inside(tuned, box_codes[kept], points, codes).any()
    assert tuned.masks(anchors[kept]).diagonal().all()
    assert lies_in(tuned, boxes.take(kept))
    doomed = [
        ((points == a).all(axis=1) & (codes != c)).any()
        for a, c in zip(anchors, box_codes, strict=True)
    ]
    np.testing.assert_array_equal(kept, ~np.array(doomed, dtype=bool))


@given(SEEDS, st.sampled_from(CRITERIA))
def test_without_anchors_a_point_of_the_class_stays(seed, criterion):
    points, codes, boxes, _, box_codes = world(seed)
    tuned, kept = tune(boxes, None, points, codes, box_codes, criterion=criterion)
    assert not foreign_inside(tuned, box_codes[kept], points, codes).any()
    assert lies_in(tuned, boxes.take(kept))
    before = foreign_inside(boxes, box_codes, points, codes)
    own = own_inside(boxes, box_codes, points, codes)
    assert (
        own_inside(tuned, box_codes[kept], points, codes)[before[kept].any(axis=1)]
        .any(axis=1)
        .all()
    )
    for b in np.flatnonzero(~kept):  # every own point sits on a foreign one
        assert before[b].any()
        assert all((points[before[b]] == x).all(axis=1).any() for x in points[own[b]])


@given(SEEDS)
def test_boxes_without_foreign_points_stay_as_they_are(seed):
    points, codes, boxes, anchors, box_codes = world(seed)
    clean = ~foreign_inside(boxes, box_codes, points, codes).any(axis=1)
    tuned, kept = tune(boxes, anchors, points, codes, box_codes)
    assert kept[clean].all()
    assert tuned.take(clean[kept]) == boxes.take(clean)


@given(SEEDS)
def test_no_bound_of_a_tuned_box_can_be_put_back(seed):
    points, codes, boxes, anchors, box_codes = world(seed)
    tuned, kept = tune(boxes, anchors, points, codes, box_codes)
    old = limits_of(boxes)[kept]
    for b, d in np.argwhere(limits_of(tuned) < old):
        limits = limits_of(tuned)[b : b + 1].copy()
        limits[0, d] = old[b, d]
        put_back = from_limits(limits)
        assert foreign_inside(put_back, box_codes[kept][b : b + 1], points, codes).any()


def counted_cuts(points, own, foreign, anchor):
    """All first cuts of the whole space, one by one: direction, value, removed, lost."""
    for j, side in product(range(points.shape[1]), (1, -1)):
        x, a = side * points[:, j], side * anchor[j]
        for v in sorted(set(x[foreign])):
            if v > a:
                yield (j, side), v, int((x[foreign] >= v).sum()), int((x[own] >= v).sum())


@given(SEEDS)
def test_a_single_cut_is_the_best_of_all_that_are_counted_one_by_one(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    points = rng.integers(0, 6, size=(15, n)).astype(float)
    anchor = points[0]
    codes = np.where((points == anchor).all(axis=1) | (rng.random(15) < 0.6), 0, 1)
    own, foreign = codes == 0, codes == 1
    shared = {tuple(x) for x in points[foreign]}
    own &= np.array([tuple(x) not in shared for x in points])
    if not foreign.any():
        return
    cuts = list(counted_cuts(points, own, foreign, anchor))
    scores = {
        "balance": lambda f, lost: f * max(own.sum(), 1) - lost * foreign.sum(),
        "ratio": lambda f, lost: f / (lost + 1),
        "fewest": lambda f, lost: -lost,
    }
    whole = Boxes.unbounded(1, n)
    for criterion, score in scores.items():
        tuned, _ = tune(whole, [anchor], points, codes, [0], criterion=criterion)
        best = max((score(f, lost), f) for _, _, f, lost in cuts)
        winners = [c for c in cuts if (score(c[2], c[3]), c[2]) == best]
        if best[1] == foreign.sum():  # one cut does it, so the box has one bound
            assert tuned.n_conditions.item() == 1
            ((j, side), v, _, _) = next(
                c
                for c in winners
                if np.isfinite(tuned.upper if c[0][1] > 0 else tuned.lower)[0, c[0][0]]
            )
            inner = max([anchor[j] * side, *(x for x in points[own, j] * side if x < v)])
            bound = tuned.upper[0, j] if side > 0 else -tuned.lower[0, j]
            assert bound == (inner + v) / 2


def test_the_cut_goes_midway_and_the_criteria_differ():
    # Own at 0 1 2 3, foreign at 2.5 and 10 on the first axis; on the second only the foreign point at 2.5 is far out.
    points = np.array([[0, 0], [1, 0], [2, 0], [3, 0], [2.5, 5], [10, 0]], dtype=float)
    codes = np.array([0, 0, 0, 0, 1, 1])
    whole = Boxes.unbounded(1, 2)
    balanced, _ = tune(whole, points[:1], points, codes, [0])
    assert balanced.upper.tolist() == [[2.25, INF]]
    fewest, _ = tune(whole, points[:1], points, codes, [0], criterion="fewest")
    assert fewest.upper.tolist() == [[6.5, 2.5]]
    assert fewest.contains(points[:4]).all()


def test_a_ratio_weighs_what_a_cut_loses():
    own = [[x, 0.0] for x in (0.0, 1.0, 2.0, 3.0, 3.1, 3.2)]
    points, codes = np.array([*own, [2.5, 5.0], [10.0, 0.0]]), np.repeat([0, 1], [6, 2])
    whole = Boxes.unbounded(1, 2)
    # One cut at 2.5 removes both for three own points: 2 / 4; the two outer cuts cost nothing: 1 / 1 each.
    by_ratio, _ = tune(whole, points[:1], points, codes, [0], criterion="ratio")
    assert by_ratio.upper.tolist() == [[(3.2 + 10.0) / 2, 2.5]]


def test_of_equal_cuts_the_one_that_leaves_the_box_longer_is_taken():
    points, codes = np.array([[0.0, 0.0], [1.0, 9.0], [10.0, 10.0]]), [0, 1, 1]
    tuned, _ = tune(Boxes.unbounded(1, 2), points[:1], points, codes, [0])
    assert tuned.upper.tolist() == [[INF, 4.5]]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_cut_takes_the_last_point_of_the_class(criterion):
    # A bound at the far end would remove all six foreign points at once, and the own point with them.
    points, codes = np.arange(-3.0, 4.0)[:, None], [1, 1, 1, 0, 1, 1, 1]
    tuned, _ = tune(Boxes.unbounded(1, 1), None, points, codes, [0], criterion=criterion)
    assert (tuned.lower.item(), tuned.upper.item()) == (-0.5, 0.5)


@given(SEEDS)
def test_few_points_are_cut_as_many(seed):
    points, codes, boxes, anchors, box_codes = world(seed)
    tuned = []
    for few in (0, 10**9):  # always found among all, always sorted anew
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("clearmargin.rule_base.shaping._FEW", few)
            tuned.append(tune(boxes, anchors, points, codes, box_codes))
    np.testing.assert_array_equal(tuned[0][0].upper, tuned[1][0].upper)
    np.testing.assert_array_equal(tuned[0][0].lower, tuned[1][0].lower)
    np.testing.assert_array_equal(tuned[0][1], tuned[1][1])


def test_neighbouring_floats_are_separated():
    next_up = math.nextafter(1.0, 2.0)
    for anchor, offender in ((1.0, next_up), (next_up, 1.0), (0.0, 5e-324), (0.0, -5e-324)):
        tuned, kept = tune(Boxes.unbounded(1, 1), [[anchor]], [[anchor], [offender]], [0, 1], [0])
        assert kept.all()
        assert tuned.masks([[anchor], [offender]]).tolist() == [[True, False]]


def test_huge_coordinates_do_not_overflow():
    points = [[-1.7e308], [1.7e308], [1.6e308]]
    tuned, _ = tune(Boxes.unbounded(1, 1), [[-1.7e308]], points, [0, 1, 0], [0])
    assert 1.6e308 <= tuned.upper.item() < 1.7e308


def test_a_foreign_point_at_minus_zero_is_the_anchor_at_zero():
    points, codes = np.array([[0.0], [-0.0]]), np.array([0, 1])
    for anchors in (points[:1], None):
        tuned, kept = tune(Boxes.unbounded(1, 1), anchors, points, codes, [0])
        assert not kept.any()
        assert len(tuned) == 0


def test_tuning_nothing():
    tuned, kept = tune(Boxes.unbounded(0, 2), np.zeros((0, 2)), [[0.0, 1.0]], [0], [])
    assert len(tuned) == len(kept) == 0
    tuned, kept = tune(Boxes.unbounded(2, 2), None, np.zeros((0, 2)), [], [0, 1])
    assert tuned == Boxes.unbounded(2, 2)
    assert kept.all()


def test_what_tuning_refuses():
    box = Boxes.from_bounds([[0.0]], [[1.0]])
    with pytest.raises(InvalidValueError, match="the anchor of box 0 is not a point of it"):
        tune(box, [[2.0]], [[0.0]], [0], [0])
    with pytest.raises(InvalidValueError, match=r"anchors have shape \(1, 2\), the boxes \(1, 1\)"):
        tune(box, [[2.0, 1.0]], [[0.0]], [0], [0])
    with pytest.raises(InvalidValueError, match=r"criterion must be one of 'balance'.*not 'best'"):
        tune(box, None, [[0.0]], [0], [0], criterion="best")
    with pytest.raises(DataError, match="points must be finite, but row 1, column 'x0' is inf"):
        tune(box, None, [[INF]], [0], [0])
