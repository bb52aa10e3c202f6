"""The search for the fewest conditions against trying all of them."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import FeatureSpace
from clearmargin.explanations import condition_search
from clearmargin.explanations.condition_search import (
    BinnedRows,
    RequestedPrecision,
    find_conditions,
)


def all_conditions(rows, case):
    """For each feature all runs of bins with the bin of the case in them, or the missing value."""
    found = []
    for j, count in enumerate(rows.n_bins.tolist()):
        at = case[j]
        if at == count or rows.cuts[j] is None:
            runs = [(at, at)] if at >= 0 else []
        else:
            runs = [(a, z) for a in range(at + 1) for z in range(at, count)]
        found.append(runs)
    return found


def best_by_enumeration(rows, case, code, precision, most):
    """The fewest conditions that are enough, and the most rows with as many: size, rows, rows of the class."""
    runs = all_conditions(rows, case)
    is_class = rows.codes == code
    for size in range(most + 1):
        best = None
        for features in combinations(range(len(runs)), size):
            for chosen in product(*(runs[j] for j in features)):
                inside = np.ones(len(rows.bins), dtype=bool)
                for j, (first, last) in zip(features, chosen, strict=True):
                    inside &= (rows.bins[:, j] >= first) & (rows.bins[:, j] <= last)
                t, b = int((inside & is_class).sum()), int((inside & ~is_class).sum())
                if Fraction(t, t + b + 1) >= Fraction(str(precision)):
                    best = max(best or (0, 0), (t + b, t))
        if best is not None:
            return size, *best
    return None


@st.composite
def problems(draw):
    m, n = draw(st.integers(20, 200)), draw(st.integers(1, 3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, (m, n)).astype(float)
    points[rng.random((m, n)) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
    named = draw(st.booleans())
    categories = [["a", "b", "c", "d", "e"] if named and j == 0 else None for j in range(n)]
    space = FeatureSpace([f"x{j}" for j in range(n)], categories=categories)
    # A class that takes a condition on every feature, with some labels turned round.
    codes = (np.nan_to_num(points) >= draw(st.integers(1, 3))).all(axis=1)
    codes = (codes ^ (rng.random(m) < 0.02)).astype(np.intp)
    return space, points, codes, draw(st.sampled_from([*np.flatnonzero(codes).tolist(), 0]))


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from([0.6, 0.75, 0.85]))
def test_no_fewer_conditions_are_enough_and_no_more_rows_are_covered(problem, precision):
    space, points, codes, k = problem
    rows = BinnedRows.of(space, points, codes)
    found = find_conditions(rows, rows.bins[k], int(codes[k]), RequestedPrecision.of(precision))
    best = best_by_enumeration(rows, rows.bins[k], codes[k], precision, len(space))
    assert found.is_exact
    assert found.is_enough == (best is not None)
    if best is not None:
        assert (len(found.conditions), found.agreed + found.others, found.agreed) == best


@settings(max_examples=30, deadline=None)
@given(problems())
def test_the_box_holds_the_case_and_the_rows_that_were_counted(problem):
    space, points, codes, k = problem
    rows = BinnedRows.of(space, points, codes)
    found = find_conditions(rows, rows.bins[k], int(codes[k]), RequestedPrecision.of(0.75))
    box = rows.box(found, points[k])
    inside = box.contains(points)
    assert inside[k]
    assert (codes[inside] == codes[k]).sum() == found.agreed
    assert (codes[inside] != codes[k]).sum() == found.others


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(300, 4))
    codes = (points[:, 0] + points[:, 1] > 0).astype(np.intp)
    space = FeatureSpace(list("abcd"))
    turned = rng.permutation(300)
    answers = []
    for order in (np.arange(300), turned):
        rows = BinnedRows.of(space, points[order], codes[order])
        case = rows.bins_of(np.array([[2.0, 1.0, 0.0, 0.0]]))[0]
        answers.append(find_conditions(rows, case, 1, RequestedPrecision.of(0.95)))
    assert answers[0] == answers[1]


def test_a_search_that_is_cut_short_says_so_and_still_answers(monkeypatch):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(600, 8))
    codes = (points[:, :5].sum(axis=1) > 0).astype(np.intp)
    rows = BinnedRows.of(FeatureSpace(list("abcdefgh")), points, codes)
    case = rows.bins_of(np.ones((1, 8)))[0]
    exact = find_conditions(rows, case, 1, RequestedPrecision.of(0.95))
    monkeypatch.setattr(condition_search, "_MOST_COUNTED", 10)
    short = find_conditions(rows, case, 1, RequestedPrecision.of(0.95))
    assert not short.is_exact
    assert short.is_enough
    assert len(short.conditions) >= len(exact.conditions)


def test_where_nothing_is_enough_the_highest_share_is_given():
    points = np.arange(10.0)[:, None]
    rows = BinnedRows.of(FeatureSpace(["x"]), points, np.array([0, 1] * 5))
    found = find_conditions(rows, rows.bins[3], 1, RequestedPrecision.of(0.95))
    assert not found.is_enough


def test_no_more_conditions_than_allowed():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 4))
    codes = (points.sum(axis=1) > 0).astype(np.intp)
    rows = BinnedRows.of(FeatureSpace(list("abcd")), points, codes)
    case = rows.bins_of(np.full((1, 4), 0.3))[0]
    assert len(find_conditions(rows, case, 1, RequestedPrecision.of(0.95), 1).conditions) <= 1
    assert len(find_conditions(rows, case, 1, RequestedPrecision.of(0.95)).conditions) > 1


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.95, 0.99])
def test_the_cap_is_the_largest_number_of_others_that_is_enough(precision):
    requested = RequestedPrecision.of(precision)
    for t in range(60):
        enough = [b for b in range(100) if Fraction(t, t + b + 1) >= Fraction(str(precision))]
        assert requested.cap(np.array([t]))[0] == max(enough, default=-1)
