"""The cover kernel against a loop over rules and rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.rules import Box, Polyhedron, Rule
from clearmargin.rules.packing import PackedRules

LARGEST = float(np.finfo(float).max)
# Rows are handled in chunks of this size.
CHUNK = 16_384


def one_by_one(rules, X):
    return np.array([rule.region.contains(X) for rule in rules]).T.reshape(len(X), len(rules))


def first_by_loop(covered):
    return [next((r for r, hit in enumerate(row) if hit), -1) for row in covered]


def assert_same(rules, X):
    expected = one_by_one(rules, X)
    packed = PackedRules(rules)
    assert packed.covers(X).dtype == np.bool_
    np.testing.assert_array_equal(packed.covers(X), expected)
    assert packed.which(X).tolist() == first_by_loop(expected)


@given(data=st.data())
def test_rules_of_all_kinds_on_rows_made_of_their_own_bounds(data, draw):
    sets = data.draw(st.dictionaries(st.just(2), st.lists(st.integers(0, 3), min_size=1)))
    kinds = st.one_of(draw.boxes(3, sets=sets), draw.boxes(3), draw.polyhedra(3, sets=sets))
    regions = data.draw(st.lists(kinds, max_size=6))
    regions = [
        r
        if isinstance(r, Box) or not r.has_unit_rows or not r.to_box().is_empty
        else Box.unbounded(3)
        for r in regions
    ]
    rules = [Rule(region, "a") for region in regions]
    ends = [math.nan, math.inf, -math.inf, 0.0, 1.0, -1.0, LARGEST, -LARGEST]
    for region in regions:
        if isinstance(region, Box):
            for e in [*region.lower, *region.upper]:
                ends += [e, math.nextafter(e, math.inf), math.nextafter(e, -math.inf)]
    value = st.sampled_from(ends)
    row = st.tuples(value, value, value | st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, -1.0, 0.5]))
    X = np.array(data.draw(st.lists(row, max_size=15))).reshape(-1, 3)
    assert_same(rules, X)


def test_all_flags_and_all_ends_meet_all_values():
    ends = [-math.inf, -LARGEST, -1.0, 0.0, 5e-324, 1.0, LARGEST, math.inf]
    rules = [
        Rule(box, "a")
        for low in ends[:-1]
        for high in ends[1:]
        for a in (True, False)
        for b in (True, False)
        if not (box := Box([low], [high], [a], [b])).is_empty
    ]
    assert len(rules) > 64
    values = sorted({math.nextafter(e, d) for e in ends for d in (-math.inf, e, math.inf)})
    assert_same(rules, np.array([[v] for v in [*values, math.nan]]))


@pytest.mark.parametrize("n_rules", [0, 1, 2, 63, 64, 65, 127, 128, 129, 200])
@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_any_number_of_rules_and_rows(n_rules, n_rows):
    rng = np.random.default_rng(n_rules)
    corners = rng.integers(-3, 4, size=(n_rules, 2, 3))
    low, high = np.sort(corners, axis=1).transpose(1, 0, 2).astype(float)
    rules = [Rule(Box(a, b), "a") for a, b in zip(low, high, strict=True)]
    if n_rules > 1:
        rules[n_rules // 2] = Rule(Polyhedron([[1.0, 1.0, 0.0]], [0.0]), "a")
    assert_same(rules, rng.integers(-4, 5, size=(n_rows, 3)).astype(float))


@pytest.mark.parametrize("n_rows", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 5])
def test_chunks_of_rows_join_without_a_seam(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    X[CHUNK - 2 : CHUNK + 2] = 0.25
    X[-1] = math.nan
    rules = [
        Rule(Box([0.0, 0.0], [1.0, 1.0]), "a"),
        Rule(Polyhedron([[1.0, -1.0]], [0.0], True), "b"),
        Rule(Box([-1.0, -math.inf], [0.0, math.inf], False), "c"),
    ]
    expected = one_by_one(rules, X)
    packed = PackedRules(rules)
    np.testing.assert_array_equal(packed.covers(X), expected)
    np.testing.assert_array_equal(
        packed.which(X), np.where(expected.any(axis=1), expected.argmax(axis=1), -1)
    )


def test_the_order_in_memory_does_not_matter():
    X = np.random.default_rng(0).normal(size=(20, 6))
    rules = [Rule(Box([0.0, -1.0, -1.0], [1.0, 1.0, 1.0]), "a")]
    expected = PackedRules(rules).covers(X[:, ::2].copy())
    np.testing.assert_array_equal(PackedRules(rules).covers(X[:, ::2]), expected)
    np.testing.assert_array_equal(PackedRules(rules).covers(np.asfortranarray(X[:, ::2])), expected)


def test_codes_that_no_rule_names_are_covered_by_rules_without_a_set_only():
    free = Box.unbounded(1)
    some = Box([-math.inf], [math.inf], sets={0: [0, 2]})
    X = np.array([[0.0], [1.0], [2.0], [3.0], [-1.0], [1e300], [math.inf], [0.5], [math.nan]])
    assert_same([Rule(some, "a"), Rule(free, "b")], X)
    assert PackedRules([Rule(some, "a")]).which(X).tolist() == [0, -1, 0, -1, -1, -1, -1, -1, -1]
