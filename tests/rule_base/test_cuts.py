from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.rule_base.cuts import candidate_cuts, middle_thresholds


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), most=st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_each_cut_parts_the_values_and_no_two_cuts_part_them_alike(values, most):
    column = np.array(values)
    cuts = candidate_cuts(column, most)
    assert len(cuts) == min(len(np.unique(column)) - 1, len(cuts)) <= most
    counts = [(column >= cut).sum() for cut in cuts]
    assert all(0 < count < len(column) for count in counts)
    assert all(a > b for a, b in pairwise(counts))


def test_between_neighbouring_floats_the_cut_is_the_upper_one():
    above = np.nextafter(0.1234567890123456, 1.0)
    assert candidate_cuts(np.array([0.1234567890123456, above]), 9).tolist() == [above]


def test_cuts_of_whole_numbers_are_whole():
    assert candidate_cuts(np.array([3.0, 4.0, 7.0, 1.0]), 9).tolist() == [2.0, 4.0, 6.0]


@given(values=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30), most=st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_each_threshold_parts_the_values_near_the_middle(values, most):
    column = np.array(values)
    known = np.unique(column)
    thresholds = middle_thresholds(column, most)
    assert len(thresholds) <= most
    at = np.searchsorted(known, thresholds, side="right") - 1
    assert (np.diff(at) > 0).all()
    low, high = known[at], known[at + 1]
    assert (low <= thresholds).all()
    assert (thresholds < high).all()
    wide = high - low > 1e-6 * (
        1.0 + np.abs(low)
    )  # closer ones have no float of few digits in their middle
    assert (np.abs(thresholds - (low / 2 + high / 2)) <= 0.26 * (high - low))[wide].all()


def test_thresholds_of_unix_times_keep_neighbours_apart():
    times = 1.7e9 + np.array([0.0, 1.0, 2.0, 86_400.0])
    assert middle_thresholds(times, 9, integer=True).tolist() == [1.7e9, 1.7e9 + 1, 1.7e9 + 43_201]
    assert np.diff(middle_thresholds(times, 9)).min() > 0
