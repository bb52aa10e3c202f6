"""Boxes are cut, shortened, pruned, merged and chosen; points decide, so points are counted."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.programs.box_cover import greedy_cover
from clearmargin.programs.box_pruning import merge_boxes, prune_subsets
from clearmargin.programs.box_shortening import shorten
from clearmargin.programs.box_tuning import tune
from clearmargin.programs.packed_boxes import PackedBoxes

INF = math.inf
SEEDS = st.integers(0, 10**6)
CRITERIA = ("balance", "ratio", "fewest")


def world(seed):
    """Points of some classes, often tied or duplicated across classes, and boxes around some of them."""
    rng = np.random.default_rng(seed)
    m, n, r = (int(k) for k in rng.integers([1, 1, 0], [40, 5, 8]))
    kind = seed % 3
    if kind == 0:
        points = rng.normal(size=(m, n))
    elif kind == 1:
        points = rng.integers(0, 4, size=(m, n)).astype(float)
    else:  # neighbours among floats: nothing lies between them
        points = 1.0 + rng.integers(0, 4, size=(m, n)) * np.finfo(float).eps
    codes = rng.integers(0, 3, size=m)
    chosen = rng.integers(0, m, size=r)
    anchors = points[chosen]
    reach = rng.choice([0.0, 0.5, 1.0, 2.0, INF], size=(2, r, n))
    boxes = PackedBoxes(anchors - reach[0], anchors + reach[1])
    return points, codes, boxes, anchors, codes[chosen]


def foreign_inside(boxes, box_codes, points, codes):
    return boxes.contains(points) & (codes[None] != np.asarray(box_codes)[:, None])


def own_inside(boxes, box_codes, points, codes):
    return boxes.contains(points) & (codes[None] == np.asarray(box_codes)[:, None])


def lies_in(small, large):
    return (small.lower >= large.lower).all() and (small.upper <= large.upper).all()


# Tuning.


@given(SEEDS, st.sampled_from(CRITERIA))
def test_tuned_boxes_hold_no_foreign_point_and_keep_their_anchor(seed, criterion):
    points, codes, boxes, anchors, box_codes = world(seed)
    tuned, kept = tune(boxes, anchors, points, codes, box_codes, criterion=criterion)
    assert not foreign_inside(tuned, box_codes[kept], points, codes).any()
    assert tuned.contains(anchors[kept]).diagonal().all()
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
    old = boxes.limits[kept]
    for b, d in np.argwhere(tuned.limits < old):
        limits = tuned.limits[b : b + 1].copy()
        limits[0, d] = old[b, d]
        put_back = PackedBoxes.from_limits(limits)
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
    whole = PackedBoxes.everywhere(1, n)
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
    whole = PackedBoxes.everywhere(1, 2)
    balanced, _ = tune(whole, points[:1], points, codes, [0])
    assert balanced.upper.tolist() == [[2.25, INF]]
    fewest, _ = tune(whole, points[:1], points, codes, [0], criterion="fewest")
    assert fewest.upper.tolist() == [[6.5, 2.5]]
    assert fewest.contains(points[:4]).all()


def test_a_ratio_weighs_what_a_cut_loses():
    own = [[x, 0.0] for x in (0.0, 1.0, 2.0, 3.0, 3.1, 3.2)]
    points, codes = np.array([*own, [2.5, 5.0], [10.0, 0.0]]), np.repeat([0, 1], [6, 2])
    whole = PackedBoxes.everywhere(1, 2)
    # One cut at 2.5 removes both for three own points: 2 / 4; the two outer cuts cost nothing: 1 / 1 each.
    by_ratio, _ = tune(whole, points[:1], points, codes, [0], criterion="ratio")
    assert by_ratio.upper.tolist() == [[(3.2 + 10.0) / 2, 2.5]]


def test_of_equal_cuts_the_one_that_leaves_the_box_longer_is_taken():
    points, codes = np.array([[0.0, 0.0], [1.0, 9.0], [10.0, 10.0]]), [0, 1, 1]
    tuned, _ = tune(PackedBoxes.everywhere(1, 2), points[:1], points, codes, [0])
    assert tuned.upper.tolist() == [[INF, 4.5]]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_no_cut_takes_the_last_point_of_the_class(criterion):
    # A bound at the far end would remove all six foreign points at once, and the own point with them.
    points, codes = np.arange(-3.0, 4.0)[:, None], [1, 1, 1, 0, 1, 1, 1]
    tuned, _ = tune(PackedBoxes.everywhere(1, 1), None, points, codes, [0], criterion=criterion)
    assert (tuned.lower.item(), tuned.upper.item()) == (-0.5, 0.5)


def test_neighbouring_floats_are_separated():
    next_up = math.nextafter(1.0, 2.0)
    for anchor, offender in ((1.0, next_up), (next_up, 1.0), (0.0, 5e-324), (0.0, -5e-324)):
        tuned, kept = tune(
            PackedBoxes.everywhere(1, 1), [[anchor]], [[anchor], [offender]], [0, 1], [0]
        )
        assert kept.all()
        assert tuned.contains([[anchor], [offender]]).tolist() == [[True, False]]


def test_huge_coordinates_do_not_overflow():
    points = [[-1.7e308], [1.7e308], [1.6e308]]
    tuned, _ = tune(PackedBoxes.everywhere(1, 1), [[-1.7e308]], points, [0, 1, 0], [0])
    assert 1.6e308 <= tuned.upper.item() < 1.7e308


def test_a_foreign_point_at_minus_zero_is_the_anchor_at_zero():
    points, codes = np.array([[0.0], [-0.0]]), np.array([0, 1])
    for anchors in (points[:1], None):
        tuned, kept = tune(PackedBoxes.everywhere(1, 1), anchors, points, codes, [0])
        assert not kept.any()
        assert len(tuned) == 0


def test_tuning_nothing():
    tuned, kept = tune(PackedBoxes.everywhere(0, 2), np.zeros((0, 2)), [[0.0, 1.0]], [0], [])
    assert len(tuned) == len(kept) == 0
    tuned, kept = tune(PackedBoxes.everywhere(2, 2), None, np.zeros((0, 2)), [], [0, 1])
    assert tuned == PackedBoxes.everywhere(2, 2)
    assert kept.all()


def test_what_tuning_refuses():
    box = PackedBoxes([[0.0]], [[1.0]])
    with pytest.raises(InvalidValueError, match="the anchor of box 0 is not a point of it"):
        tune(box, [[2.0]], [[0.0]], [0], [0])
    with pytest.raises(InvalidValueError, match=r"anchors have shape \(1, 2\), the boxes \(1, 1\)"):
        tune(box, [[2.0, 1.0]], [[0.0]], [0], [0])
    with pytest.raises(InvalidValueError, match=r"criterion must be one of 'balance'.*not 'best'"):
        tune(box, None, [[0.0]], [0], [0], criterion="best")
    with pytest.raises(DataError, match="points must be finite, but row 0, column 0 is inf"):
        tune(box, None, [[INF]], [0], [0])


# Shortening.


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
    for b, d in np.argwhere(np.isfinite(short.limits)):
        limits = short.limits[b : b + 1].copy()
        limits[0, d] = INF
        entered = foreign_inside(
            PackedBoxes.from_limits(limits), box_codes[b : b + 1], points, codes
        )[0]
        assert (entered & ~before[b]).any()
    # Bounds move outwards, and strictly when there is a float between them and what they exclude.
    if seed % 3 != 2:
        moved = np.isfinite(short.limits)
        assert (short.limits[moved] > boxes.limits[moved]).all()


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
        least = fewest_bounds(boxes.limits[b], foreign)
        assert least <= found[b] <= max(least, least * (1 + math.log(max(len(foreign), 1))))
        if least <= 1:
            assert found[b] == least


def test_among_equal_bounds_few_features_and_wide_gaps_win():
    # Foreign points left, right and above; each of the bounds excludes one of them.
    points = np.array([[-5.0, 0.0], [5.0, 0.0], [0.0, 3.0]])
    codes, box = np.array([1, 1, 1]), PackedBoxes([[-1.0, -1.0]], [[1.0, 1.0]])
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
    box = PackedBoxes(np.zeros((1, 3)), np.ones((1, 3)))
    short = shorten(box, points, np.ones(6, dtype=int), [0])
    assert short.upper.tolist() == [[INF, 5.0, 5.0]]


def test_a_bound_that_moved_out_leaves_its_points_to_the_next():
    # The first bound moves half-way to 10 and past (2, 2), which only the second then excludes.
    points, box = [[10.0, 0.0], [0.0, 10.0], [2.0, 2.0]], PackedBoxes([[0.0, 0.0]], [[1.0, 1.0]])
    assert shorten(box, points, [1, 1, 1], [0]).upper.tolist() == [[5.5, 1.5]]


def test_shortening_without_foreign_points_leaves_no_bound():
    box = PackedBoxes([[0.0, 0.0]], [[1.0, 1.0]])
    assert shorten(box, [[5.0, 5.0]], [0], [0]) == PackedBoxes.everywhere(1, 2)
    assert shorten(box, np.zeros((0, 2)), [], [0]) == PackedBoxes.everywhere(1, 2)
    assert len(shorten(box.take([]), [[5.0, 5.0]], [0], [])) == 0
    with pytest.raises(InvalidValueError, match="lower_range and upper_range go together"):
        shorten(box, [[5.0, 5.0]], [0], [0], [0.0, 0.0])


# Pruning.


def covers_of(seed, most_points=7):
    rng = np.random.default_rng(seed)
    r, m = (int(k) for k in rng.integers([0, 0], [14, most_points]))
    covers = rng.random((r, m)) < rng.choice([0.2, 0.5, 0.8])
    return covers, rng.integers(0, 2, size=r), rng.integers(1, 4, size=r)


@given(SEEDS)
def test_what_stays_are_the_maximal_sets_of_each_class(seed):
    covers, codes, sizes = covers_of(seed)
    sets = [frozenset(np.flatnonzero(row)) for row in covers]
    expected = []
    for b, own in enumerate(sets):
        rivals = [a for a in range(len(sets)) if codes[a] == codes[b] and a != b]
        larger = any(own < sets[a] for a in rivals)
        better = any(own == sets[a] and (sizes[a], a) < (sizes[b], b) for a in rivals)
        if own and not larger and not better:
            expected.append(b)
    assert prune_subsets(covers, codes, sizes).tolist() == expected


@given(SEEDS)
def test_pruning_twice_changes_nothing_and_no_point_is_lost(seed):
    covers, codes, sizes = covers_of(seed)
    kept = prune_subsets(covers, codes, sizes)
    again = prune_subsets(covers[kept], codes[kept], sizes[kept])
    np.testing.assert_array_equal(again, np.arange(len(kept)))
    for code in (0, 1):
        before, after = covers[codes == code], covers[kept][codes[kept] == code]
        np.testing.assert_array_equal(before.any(axis=0), after.any(axis=0))


def test_more_than_one_word_of_points_is_compared():
    covers = np.zeros((3, 200), dtype=bool)
    covers[0, :150], covers[1, 10:140], covers[2, 149:151] = True, True, True
    assert prune_subsets(covers, [0, 0, 0]).tolist() == [0, 2]


def test_what_pruning_refuses():
    with pytest.raises(DataError, match="covers must have two dimensions"):
        prune_subsets(np.zeros(3, dtype=bool), [0, 0, 0])
    with pytest.raises(DataError, match=r"sizes must have shape \(1,\), not \(2,\)"):
        prune_subsets(np.zeros((1, 3), dtype=bool), [0], [1, 2])
    with pytest.raises(DataError, match=r"codes of boxes must have shape \(1,\)"):
        prune_subsets(np.zeros((1, 3), dtype=bool), [0, 1])


# Merging.


@given(SEEDS)
def test_merging_brings_in_no_foreign_point_and_loses_no_box(seed):
    points, codes, boxes, _, box_codes = world(seed)
    merged, merged_codes = merge_boxes(boxes, box_codes, points, codes)
    assert len(merged) == len(merged_codes) <= len(boxes)
    for b in range(len(boxes)):
        inside = (merged.lower <= boxes.lower[b]) & (boxes.upper[b] <= merged.upper)
        assert (inside.all(axis=1) & (merged_codes == box_codes[b])).any()
    for code in np.unique(box_codes):
        before = foreign_inside(boxes, box_codes, points, codes)[box_codes == code].any(axis=0)
        after = foreign_inside(merged, merged_codes, points, codes)[merged_codes == code]
        np.testing.assert_array_equal(after.any(axis=0), before)


@given(SEEDS)
def test_no_two_boxes_are_left_that_could_be_merged(seed):
    points, codes, boxes, _, box_codes = world(seed)
    merged, merged_codes = merge_boxes(boxes, box_codes, points, codes)
    inside = foreign_inside(merged, merged_codes, points, codes)
    for a, b in combinations(range(len(merged)), 2):
        if merged_codes[a] == merged_codes[b]:
            hull = PackedBoxes(
                merged.lower[[a, b]].min(axis=0)[None], merged.upper[[a, b]].max(axis=0)[None]
            )
            held = foreign_inside(hull, merged_codes[[a]], points, codes)[0]
            assert (held & ~(inside[a] | inside[b])).any()


def test_near_boxes_are_merged_first():
    # The middle box could join either side, not both: a foreign point lies beside it.
    boxes = PackedBoxes([[0.0, 0.0], [3.0, 0.0], [5.0, 0.0]], [[1.0, 1.0], [4.0, 2.0], [6.0, 1.0]])
    points, codes = [[0.5, 1.5], [3.5, 1.5], [6.0, 0.5]], [1, 0, 0]
    merged, _ = merge_boxes(boxes, [0, 0, 0], points, codes)
    assert merged.lower.tolist() == [[0.0, 0.0], [3.0, 0.0]]
    assert merged.upper.tolist() == [[1.0, 1.0], [6.0, 2.0]]


def test_merging_without_boxes_or_points():
    empty, codes = merge_boxes(PackedBoxes.everywhere(0, 2), [], [[0.0, 0.0]], [0])
    assert len(empty) == len(codes) == 0
    boxes = PackedBoxes([[0.0], [-INF], [7.0]], [[1.0], [-3.0], [8.0]])
    merged, codes = merge_boxes(boxes, [0, 0, 1], np.zeros((0, 1)), [])
    assert merged == PackedBoxes([[-INF], [7.0]], [[1.0], [8.0]])
    assert codes.tolist() == [0, 1]


# Covering.


def plain_greedy(covers, box_codes, codes, weights, penalty, min_gain):
    """The greedy choice, counted anew in each step."""
    right, wrong, order = set(), set(), []
    while True:
        best = None
        for b, row in enumerate(covers):
            points = set(np.flatnonzero(row).tolist())
            good = {p for p in points if codes[p] == box_codes[b]} - right
            bad = {p for p in points if codes[p] != box_codes[b]} - wrong
            gain = sum(weights[p] for p in good) - penalty * sum(weights[p] for p in bad)
            if len(good) >= min_gain and gain > 0 and (best is None or gain > best[0]):
                best = gain, b, good, bad
        if best is None:
            return order
        order.append(best[1])
        right |= best[2]
        wrong |= best[3]


@given(SEEDS)
def test_the_cover_is_the_greedy_one(seed):
    covers, box_codes, _ = covers_of(seed, most_points=30)
    rng = np.random.default_rng(seed + 1)
    codes = rng.integers(0, 2, size=covers.shape[1])
    weights = rng.integers(0, 4, size=len(codes)).astype(float)
    penalty, min_gain = float(rng.choice([0.0, 0.5, 2.0])), int(rng.integers(1, 3))
    found = greedy_cover(covers, box_codes, codes, weights, penalty=penalty, min_gain=min_gain)
    expected = plain_greedy(covers, box_codes, codes, weights, penalty, min_gain)
    assert found.tolist() == expected


@given(SEEDS)
def test_all_points_that_boxes_of_their_class_cover_stay_covered(seed):
    covers, box_codes, sizes = covers_of(seed, most_points=30)
    rng = np.random.default_rng(seed + 1)
    codes = rng.integers(0, 2, size=covers.shape[1])
    weights = rng.uniform(0.001, 1000.0, size=len(codes))
    order = greedy_cover(covers, box_codes, codes, weights, sizes=sizes)
    assert len(set(order.tolist())) == len(order)
    own = covers & (box_codes[:, None] == codes)
    np.testing.assert_array_equal(own[order].any(axis=0), own.any(axis=0))


def test_weights_save_a_small_class_from_being_swallowed():
    covers = np.array([[True, True, True, True, True], [False, False, True, False, False]])
    codes, box_codes = [0, 0, 1, 0, 0], [0, 1]
    assert greedy_cover(covers, box_codes, codes, penalty=1.0).tolist() == [0, 1]
    weights = [0.5, 0.5, 3.0, 0.5, 0.5]
    assert greedy_cover(covers, box_codes, codes, weights, penalty=1.0).tolist() == [1]


def test_a_point_covered_wrongly_is_paid_for_once():
    # Six own points, then two foreign ones. All boxes hold the first foreign point, the last box also the second.
    covers = np.array(
        [[1, 1, 1, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 0, 1, 1, 1]], dtype=bool
    )
    codes = [0] * 6 + [1] * 2
    assert greedy_cover(covers, [0, 0, 0], codes, penalty=1.0).tolist() == [0, 1]
    assert greedy_cover(covers, [0, 0, 0], codes, penalty=0.9).tolist() == [0, 1, 2]


def test_of_equal_boxes_the_shorter_is_taken():
    covers = np.ones((3, 2), dtype=bool)
    assert greedy_cover(covers, [0, 0, 0], [0, 0]).tolist() == [0]
    assert greedy_cover(covers, [0, 0, 0], [0, 0], sizes=[3, 1, 1]).tolist() == [1]


def test_covering_nothing_and_what_is_refused():
    assert greedy_cover(np.zeros((0, 3), dtype=bool), [], [0, 0, 0]).tolist() == []
    assert greedy_cover(np.zeros((3, 0), dtype=bool), [0, 0, 0], []).tolist() == []
    one = np.ones((1, 1), dtype=bool)
    with pytest.raises(DataError, match="covers must have two dimensions"):
        greedy_cover(one[0], [0], [0])
    with pytest.raises(DataError, match=r"weights must have shape \(1,\), not \(2,\)"):
        greedy_cover(one, [0], [0], [1.0, 2.0])
    with pytest.raises(InvalidValueError, match="weights must be finite and not negative"):
        greedy_cover(one, [0], [0], [-1.0])
    with pytest.raises(InvalidValueError, match="penalty must not be negative, but is -1"):
        greedy_cover(one, [0], [0], penalty=-1.0)
