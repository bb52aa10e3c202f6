"""Boxes inside others are pruned, and boxes with nothing foreign between them are merged."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

from clearmargin.exceptions import DataError
from clearmargin.rule_base.box_selection import prune_subsets
from clearmargin.rule_base.shaping import merge_boxes
from clearmargin.rules.boxes import Boxes

from .box_cases import INF, SEEDS, covers_of, foreign_inside, world

# Pruning.


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
            hull = Boxes.from_bounds(
                merged.lower[[a, b]].min(axis=0)[None], merged.upper[[a, b]].max(axis=0)[None]
            )
            held = foreign_inside(hull, merged_codes[[a]], points, codes)[0]
            assert (held & ~(inside[a] | inside[b])).any()


def test_near_boxes_are_merged_first():
    # The middle box could join either side, not both: a foreign point lies beside it.
    boxes = Boxes.from_bounds(
        [[0.0, 0.0], [3.0, 0.0], [5.0, 0.0]], [[1.0, 1.0], [4.0, 2.0], [6.0, 1.0]]
    )
    points, codes = [[0.5, 1.5], [3.5, 1.5], [6.0, 0.5]], [1, 0, 0]
    merged, _ = merge_boxes(boxes, [0, 0, 0], points, codes)
    assert merged.lower.tolist() == [[0.0, 0.0], [3.0, 0.0]]
    assert merged.upper.tolist() == [[1.0, 1.0], [6.0, 2.0]]


def test_merging_without_boxes_or_points():
    empty, codes = merge_boxes(Boxes.unbounded(0, 2), [], [[0.0, 0.0]], [0])
    assert len(empty) == len(codes) == 0
    boxes = Boxes.from_bounds([[0.0], [-INF], [7.0]], [[1.0], [-3.0], [8.0]])
    merged, codes = merge_boxes(boxes, [0, 0, 1], np.zeros((0, 1)), [])
    assert merged == Boxes.from_bounds([[-INF], [7.0]], [[1.0], [8.0]])
    assert codes.tolist() == [0, 1]
