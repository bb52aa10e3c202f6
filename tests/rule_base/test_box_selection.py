"""The greedy choice of boxes, beside one that is counted anew in each step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.box_selection import greedy_cover

from .box_cases import SEEDS, covers_of


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
