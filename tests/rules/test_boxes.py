"""Many boxes at once against comparisons value by value, and rule sets, which are looked up by them."""

from __future__ import annotations

import copy
import math
import pickle
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import Box, FeatureSpace, Interval, Polyhedron, Rule, RuleSet, boxes
from clearmargin.rules.boxes import Boxes

INF, NAN = math.inf, math.nan
LARGEST, SMALLEST = sys.float_info.max, 5e-324
CHUNK = 16_384
SEEDS = st.integers(0, 10**6)


def is_in(box: Box, row) -> bool:
    """Whether a row is in a box, condition by condition, in plain Python."""
    for j, x in enumerate(row):
        if j in box.missing and not math.isnan(x):
            return False
        if j in box.known and math.isnan(x):
            return False
        if j in box.sets and x not in box.sets[j]:
            return False
        low, high = float(box.lower[j]), float(box.upper[j])
        if low > -INF and not (x >= low if box.lower_closed[j] else x > low):
            return False
        if high < INF and not (x <= high if box.upper_closed[j] else x < high):
            return False
    return True


def by_loop(regions, X):
    cells = [
        [is_in(r, row) if isinstance(r, Box) else bool(r.contains([row])[0]) for r in regions]
        for row in X.tolist()
    ]
    return np.array(cells, dtype=bool).reshape(len(X), len(regions))


def first_by_loop(covered):
    return [next((r for r, hit in enumerate(row) if hit), -1) for row in covered]


def rule_set(regions, n):
    sets = {j: max(codes) for r in regions for j, codes in r.sets.allowed}
    categories = [[f"c{k}" for k in range(5)] if j in sets else None for j in range(n)]
    space = FeatureSpace([f"x{j}" for j in range(n)], categories=categories)
    return RuleSet([Rule(region, "a") for region in regions], space)


def random_boxes(rng, n, count, values):
    """Boxes with all kinds of conditions; some are empty."""
    made = [Box.unbounded(n)]
    for _ in range(count):
        ends = np.sort(rng.choice(values, size=(2, n)), axis=0)
        if rng.random() < 0.1:
            ends = ends[::-1].copy()
        ends[0][rng.random(n) < 0.3] = -INF
        ends[1][rng.random(n) < 0.3] = INF
        flags = rng.random((2, n)) < 0.5
        sets = {}
        if rng.random() < 0.3:
            j = int(rng.integers(n))
            ends[0, j], ends[1, j] = -INF, INF
            sets = {j: rng.choice(4, size=rng.integers(0, 4), replace=False).tolist()}
        missing, known = (np.flatnonzero(rng.random(n) < 0.1).tolist() for _ in range(2))
        made.append(Box(ends[0], ends[1], flags[0], flags[1], sets, missing, known))
    return made


def check(regions, X):
    """All ways of asking, for few rows (compared) and for many (looked up)."""
    expected = by_loop(regions, X)
    n = X.shape[1]
    one = Boxes.of(regions, n)
    assert list(one) == list(regions)
    for _ in range(3):  # after some rows, tables are made
        found = one.contains(X)
        assert found.dtype == np.bool_
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(one.masks(X), expected.T)
        assert one.first(X).tolist() == first_by_loop(expected)
    rows = np.arange(0, len(X), 2)
    for members, mask in zip(one.members(X, rows), expected.T, strict=True):
        np.testing.assert_array_equal(members, rows[mask[rows]])
    for region, mask in zip(regions, expected.T, strict=True):
        np.testing.assert_array_equal(region.contains(X), mask)


@pytest.mark.parametrize("searches", [True, False])
@given(seed=SEEDS)
def test_boxes_of_all_kinds_hold_the_rows_that_their_conditions_allow(searches, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes, "_MANY", 10**9 if searches else 0)
        check_random_boxes(seed)


def check_random_boxes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    values = [
        np.arange(5.0),
        rng.normal(size=30) * 10.0 ** rng.uniform(-5, 5),
        np.array([-LARGEST, -1e308, -1.0, -SMALLEST, 0.0, SMALLEST, 1.0, 1e308, LARGEST]),
    ][seed % 3]
    beside = [math.nextafter(v, end) for v in values for end in (INF, -INF)]
    beside += [NAN, INF, -INF, 0.5]
    X = rng.choice([*values, *beside], size=(int(rng.integers(0, 12)), n))
    check(random_boxes(rng, n, int(rng.integers(0, 70)), values), X)


def test_all_flags_and_all_ends_meet_all_values():
    ends = [-INF, -LARGEST, -1.0, 0.0, SMALLEST, 1.0, LARGEST, INF]
    regions = [
        Box([low], [high], [a], [b])
        for low in ends[:-1]
        for high in ends[1:]
        for a in (True, False)
        for b in (True, False)
    ]
    values = sorted({math.nextafter(e, d) for e in ends for d in (-INF, e, INF)})
    check(regions, np.array([[v] for v in [*values, NAN]]))


@given(data=st.data())
def test_rules_of_all_kinds_on_rows_made_of_their_own_bounds(data, draw):
    sets = data.draw(st.dictionaries(st.just(2), st.lists(st.integers(0, 3), min_size=1)))
    kinds = st.one_of(draw.boxes(3, sets=sets), draw.polyhedra(3, sets=sets))
    regions = data.draw(st.lists(kinds, max_size=6))
    regions = [
        r
        if isinstance(r, Box) or not r.has_unit_rows or not r.to_box().is_empty
        else Box.unbounded(3)
        for r in regions
    ]
    if sets:  # a category has no bounds
        regions = [r for r in regions if 2 in r.sets or not r.bounded or max(r.bounded) < 2]
    ends = [INF, -INF, 0.0, 1.0, -1.0, LARGEST, -LARGEST]
    for region in regions:
        if isinstance(region, Box):
            for e in [*region.lower, *region.upper]:
                ends += [e, math.nextafter(e, INF), math.nextafter(e, -INF)]
    value = st.sampled_from([*ends, NAN])
    last = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, NAN]) if sets else value
    X = np.array(data.draw(st.lists(st.tuples(value, value, last), max_size=15))).reshape(-1, 3)
    rules = rule_set(regions, 3)
    expected = by_loop([rule.region for rule in rules], X)
    np.testing.assert_array_equal(rules.covers(X), expected)
    assert rules.which(X).tolist() == first_by_loop(expected)


@pytest.mark.parametrize("n_rules", [0, 1, 2, 63, 64, 65, 128, 129])
def test_any_number_of_rules_and_rows(n_rules):
    rng = np.random.default_rng(n_rules)
    corners = rng.integers(-3, 4, size=(n_rules, 2, 3))
    low, high = np.sort(corners, axis=1).transpose(1, 0, 2).astype(float)
    regions = [Box(a, b) for a, b in zip(low, high, strict=True)]
    if n_rules > 1:
        regions[n_rules // 2] = Polyhedron([[1.0, 1.0, 0.0]], [0.0])
    for n_rows in (0, 1, 50):
        X = rng.integers(-4, 5, size=(n_rows, 3)).astype(float)
        rules, expected = rule_set(regions, 3), by_loop(regions, X)
        np.testing.assert_array_equal(rules.covers(X), expected)
        assert rules.which(X).tolist() == first_by_loop(expected)


def test_conditions_of_some_boxes_and_ends_that_lie_close_together():
    rng = np.random.default_rng(5)
    # Of 300 boxes the first 100 bound one feature, the others another one; one end is far from all others.
    ends = 1.0 + np.sort(rng.random((300, 2)), axis=1) * 1e-9
    ends[0, 1] = ends[150, 1] = 1e9
    regions = [
        Box.from_intervals({int(k >= 100): Interval(*pair)}, 2) for k, pair in enumerate(ends)
    ]
    X = rng.choice(np.append(ends.ravel(), NAN), size=(1_500, 2))
    expected = np.column_stack([region.contains(X) for region in regions])
    assert 0.1 < expected.mean() < 0.9
    np.testing.assert_array_equal(rule_set(regions, 2).covers(X), expected)


def test_chunks_of_rows_and_blocks_of_boxes_join_without_a_seam(monkeypatch):
    X = np.random.default_rng(0).normal(size=(2 * CHUNK + 5, 2))
    X[CHUNK - 2 : CHUNK + 2] = 0.25
    X[-1] = NAN
    regions = [
        Box([0.0, 0.0], [1.0, 1.0]),
        Polyhedron([[1.0, -1.0]], [0.0], True),
        Box([-1.0, -INF], [0.0, INF], False),
    ]
    expected = np.column_stack([region.contains(X) for region in regions])
    rules = rule_set(regions, 2)
    np.testing.assert_array_equal(rules.covers(X), expected)
    first = np.where(expected.any(axis=1), expected.argmax(axis=1), -1)
    np.testing.assert_array_equal(rules.which(X), first)
    rng = np.random.default_rng(3)
    some = random_boxes(rng, 3, 40, np.linspace(0.0, 1.0, 7))
    monkeypatch.setattr(boxes, "_BLOCK", 5)
    monkeypatch.setattr(boxes, "_ROWS", 7)
    monkeypatch.setattr(boxes, "_MAX_COPIED", 7)
    monkeypatch.setattr(boxes, "_MANY", 0)
    check(some, rng.choice(np.linspace(0.0, 1.0, 7), size=(80, 3)))


def test_the_order_in_memory_does_not_matter():
    X = np.random.default_rng(0).normal(size=(20, 6))
    one = Boxes.from_bounds([[0.0, -1.0, -1.0]], [[1.0, 1.0, 1.0]])
    expected = one.contains(X[:, ::2].copy())
    assert expected.any()
    np.testing.assert_array_equal(one.contains(X[:, ::2]), expected)
    np.testing.assert_array_equal(one.contains(np.asfortranarray(X[:, ::2])), expected)


def test_an_entry_may_allow_missing_values_beside_others():
    one = Boxes(2, 1, [1, 0], [0, 0], [0.0, 5.0], [1.0, INF], missing=[True, False])
    X = [[0.5], [7.0], [NAN]]
    for rows in (X, X * 4):  # compared, then looked up
        expected = [[False, True], [True, False], [False, True]] * (len(rows) // 3)
        assert one.contains(rows).tolist() == expected
    assert one[0] == Box([5.0], [INF])
    with pytest.raises(InvalidValueError, match="box 1 allows missing values beside others"):
        one[1]


def test_taking_and_joining_boxes():
    rng = np.random.default_rng(1)
    some = random_boxes(rng, 3, 9, np.arange(4.0))
    whole = Boxes.of(some)
    assert Boxes.concatenate([whole.take([0]), whole.take(np.arange(1, 10))]) == whole
    assert list(whole.take([3, 3, -1])) == [some[3], some[3], some[9]]
    assert whole.take(np.arange(10) == 4)[0] == some[4]
    twice = Boxes.concatenate([whole, whole])
    assert list(twice) == some * 2
    none = whole.take([])
    assert (len(none), none.n_features) == (0, 3)
    assert repr(Boxes.from_bounds([[0.0]], [[INF]])) == "Boxes(1 boxes, 1 features, 1 conditions)"
    assert Boxes.of([], 2).contains(np.zeros((3, 2))).shape == (3, 0)
    assert Boxes.of([], 2).members(np.zeros((3, 2))) == []
    (found,) = Boxes.of([Box([0.0], [1.0])]).members(np.empty((0, 1)))
    assert found.tolist() == []


def test_bounds_and_conditions_are_counted_as_given():
    lower, upper = [[0.0, -INF], [-INF, -INF]], [[1.0, 2.0], [INF, INF]]
    one = Boxes.from_bounds(lower, upper)
    assert (one.lower.tolist(), one.upper.tolist()) == (lower, upper)
    assert one.n_conditions.tolist() == [3, 0]
    other = Box([0.0, -INF, -INF], [INF] * 3, sets={1: [0]}, missing=[2])
    assert Boxes.of([other]).n_conditions.tolist() == [3]
    assert Boxes.unbounded(2, 3).n_conditions.tolist() == [0, 0]


def test_boxes_never_change():
    one = Boxes.from_bounds([[-0.0]], [[1.0]])
    for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert same == one
        assert hash(same) == hash(Boxes.from_bounds([[0.0]], [[1.0]]))
        with pytest.raises(ValueError, match="read-only"):
            same.low[0] = 5.0


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0], [1.0], r"must form a table \(boxes, features\), not of shape \(1,\)"),
        ([[0.0]], [[1.0, 2.0]], r"has shape \(1, 2\), but \(1, 1\) is needed"),
        ([[NAN]], [[1.0]], "must not be NaN"),
        ([[0.0, 2.0]], [[1.0, 1.0]], "box 0 is empty in feature 1: no number lies between 2.0"),
        ([[INF]], [[INF]], "box 0 is empty in feature 0"),
    ],
)
def test_bounds_that_cannot_be(lower, upper, message):
    with pytest.raises(InvalidValueError, match=message):
        Boxes.from_bounds(lower, upper)


def test_other_input_that_does_not_fit():
    one = Boxes.from_bounds([[0.0]], [[1.0]])
    with pytest.raises(InvalidValueError, match="nothing to concatenate"):
        Boxes.concatenate([])
    with pytest.raises(InvalidValueError, match=r"different numbers of features.*\[1, 2\]"):
        Boxes.concatenate([one, Boxes.unbounded(1, 2)])
    with pytest.raises(InvalidValueError, match="over one number of features are needed"):
        Boxes.of([Box.unbounded(1), Box.unbounded(2)])
    with pytest.raises(DataError, match="X has 2 columns, but 1 features"):
        one.contains([[0.0, 1.0]])
    with pytest.raises(InvalidValueError, match="numbered from 0 to 1, but there are 2 to 2"):
        Boxes(2, 1, [2], [0], [0.0], [1.0])
    with pytest.raises(InvalidValueError, match="1 boxes of entries, but 2 features"):
        Boxes(2, 1, [1], [0, 0], [0.0], [1.0])
    with pytest.raises(InvalidValueError, match="a row of positions, not"):
        Boxes(1, 1, [0.5], [0], [0.0], [1.0])


def test_codes_that_no_rule_names_are_in_boxes_without_a_set_only():
    some = Box([-INF], [INF], sets={0: [0, 2]})
    X = np.array([[0.0], [1.0], [2.0], [3.0], [-1.0], [1e300], [INF], [0.5], [NAN]])
    check([some, Box.unbounded(1)], X)
    assert Boxes.of([some]).first(X).tolist() == [0, -1, 0, -1, -1, -1, -1, -1, -1]


def test_eight_thousand_boxes_of_one_condition_take_a_few_megabytes():
    count, rows = 8_000, 400
    X = np.full((rows, count), 1e9)
    X[:, -1] = 0.0
    tracemalloc.start()
    try:
        one = Boxes(count, count, np.arange(count), np.arange(count), [-INF] * count, [0.5] * count)
        assert one.first(X).tolist() == [count - 1] * rows
        assert [len(found) for found in one.members(X)] == [0] * (count - 1) + [rows]
        # The tables were made (there are more rows than ends); what remains of it all is theirs and the entries'.
        assert one.contains(X).sum() == rows
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 25e6
    assert peak < 100e6
