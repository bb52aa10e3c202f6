"""The recursion: regions as in eq. 18, points that go to one of them, boxes that share nothing."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_wbc
from clearmargin.plane_rules import search as module
from clearmargin.plane_rules.coverage_corner import coverage_corner
from clearmargin.plane_rules.polytope import extract_polytope_boxes
from clearmargin.plane_rules.search import (
    RULE_PRICE,
    Search,
    consolidate,
    cover_with_overlap,
    extract_boxes,
    search_coverage,
    tightened,
)
from clearmargin.plane_rules.side import Region, Side
from clearmargin.plane_rules.volume import clipped_volume
from clearmargin.plane_rules.volume_corner import volume_corner
from clearmargin.rules import Box, HalfSpace, Hyperplane


def problem(seed, n=None, m=60):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6)) if n is None else n
    a = 10.0 ** rng.uniform(-1, 1, n)
    Z = rng.normal(size=(m, n))
    if seed % 3 == 1:
        Z = np.round(2 * Z) / 2
    g = float(np.quantile(Z @ a, 0.7)) + 1e-3
    flags = np.ones(n, dtype=bool)
    domain = Region(Z.min(axis=0), Z.max(axis=0), flags, flags)
    return Side.of(Hyperplane(a, -g).side(-1)), domain, Z[g - 1e-9 > Z @ a]


def inside(box, Z):
    above = (box.near < Z) | (box.near_closed & (box.near == Z))
    below = (box.far > Z) | (box.far_closed & (box.far == Z))
    return (above & below).all(axis=1)


def check(oracle, side, Z, search):
    boxes = [side.box(box) for box in search.boxes]
    plane = side.halfspace.hyperplane
    assert not oracle.meeting_pairs(boxes)
    for box, found in zip(boxes, search.boxes, strict=True):
        assert oracle.lies_on_side(box, plane.coef, plane.intercept, -1)
        np.testing.assert_array_equal(np.flatnonzero(inside(found, Z)), np.sort(found.points))


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([volume_corner, coverage_corner]))
def test_boxes_are_disjoint_and_every_point_is_in_one_of_them_or_left_over(
    oracle, seed, tighten, criterion
):
    side, domain, Z = problem(seed, m=40)
    search = extract_boxes(side, domain, Z, criterion, tighten=tighten)
    check(oracle, side, Z, search)
    assert all(len(box.points) for box in search.boxes)
    assert search.problems >= len(search.boxes)
    held = np.concatenate([*(box.points for box in search.boxes), search.uncovered])
    assert sorted(held) == list(range(len(Z)))


def test_regions_are_those_of_equation_18(oracle):
    side, domain, Z = problem(2, n=3)
    seen = []

    def record(side, region, inside_region):
        corner = volume_corner(side, region, inside_region)
        seen.append((region, corner, len(inside_region)))
        return corner

    extract_boxes(side, domain, Z, record, max_depth=2, tighten=False)
    (first, corner, _), *children = seen
    # The dearest feature cuts first.
    order = np.argsort(-side.a * (first.far - first.near))
    expected = []
    within = (corner.far > Z) | (corner.closed & (corner.far == Z))
    for place, k in enumerate(order):
        near, far = first.near.copy(), first.far.copy()
        before = order[:place]
        far[before] = corner.far[before]
        near[k] = corner.far[k]
        holds = within[:, before].all(axis=1) & ~within[:, k]
        if holds.any():
            expected.append((near.tolist(), far.tolist(), int(holds.sum())))
    met = [(region.near.tolist(), region.far.tolist(), count) for region, _, count in children]
    assert sorted(met) == sorted(expected)
    assert children


@pytest.mark.parametrize("seed", range(6))
def test_boxes_and_regions_without_points_fill_the_half_space(seed):
    """Nothing is lost on the way: boxes, and what was not opened, add up to the volume of the side."""
    side, domain, Z = problem(seed, n=3)
    opened = []

    def record(side, region, inside_region):
        corner = volume_corner(side, region, inside_region)
        opened.append((region, corner))
        return corner

    search = extract_boxes(side, domain, Z, record, max_depth=50, tighten=False)
    measure = lambda near, far: clipped_volume(side.a, side.g, near, far).value
    total = 0.0
    for region, corner in opened:
        total += float(np.prod(corner.far - region.near))
        order = np.argsort(-side.a * (region.far - region.near), kind="stable")
        for place, k in enumerate(order):
            near, far = region.near.copy(), region.far.copy()
            far[order[:place]] = corner.far[order[:place]]
            near[k] = corner.far[k]
            was_opened = any(
                (near == other.near).all() and (far == other.far).all() for other, _ in opened
            )
            total += 0.0 if was_opened else measure(near, far)
    assert total == pytest.approx(measure(domain.near, domain.far), rel=1e-10)
    assert not len(search.uncovered)


def test_the_depth_limits_how_often_space_is_cut():
    side, domain, Z = problem(3)
    once = extract_boxes(side, domain, Z, volume_corner, max_depth=1)
    assert once.problems == 1
    counts = [
        len(extract_boxes(side, domain, Z, volume_corner, max_depth=d, tighten=False).uncovered)
        for d in (1, 2, 4, 30)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0


def test_a_limit_on_rules_takes_the_fullest_regions_first():
    side, domain, Z = problem(4)
    search = extract_boxes(side, domain, Z, coverage_corner, max_rules=3)
    assert sum(len(box.points) >= 2 for box in search.boxes) <= 3
    everything = extract_boxes(side, domain, Z, coverage_corner)
    assert max(len(b.points) for b in search.boxes) == max(len(b.points) for b in everything.boxes)


def test_a_criterion_that_finds_nothing_leaves_its_points():
    side, domain, Z = problem(5)
    search = extract_boxes(side, domain, Z, lambda *_: None)
    assert not search.boxes
    np.testing.assert_array_equal(search.uncovered, np.arange(len(Z)))


def test_tightening_moves_far_faces_to_the_outermost_points_and_nothing_else():
    region = Region(
        np.zeros(2), np.array([5.0, 1.0]), np.array([True, False]), np.array([False, False])
    )
    tight = tightened(region, np.array([[1.0, 0.5], [3.0, 0.25]]))
    np.testing.assert_array_equal(tight.far, [3.0, 0.5])
    assert tight.far_closed.all()
    np.testing.assert_array_equal(tight.near, region.near)
    np.testing.assert_array_equal(tight.near_closed, region.near_closed)
    same = tightened(region, np.array([[5.0, 1.0]]))
    np.testing.assert_array_equal(same.far, region.far)
    assert not same.far_closed.any()


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_consolidation_keeps_boxes_sound_and_disjoint_and_never_covers_less(
    oracle, seed, min_coverage
):
    side, domain, Z = problem(seed, m=40)
    search = extract_boxes(side, domain, Z, coverage_corner)
    before = [box for box in search.boxes if len(box.points) >= min_coverage]
    after = consolidate(side, Z, search.boxes, min_coverage)
    check(oracle, side, Z, Search(after))
    assert len(after) <= len(before)
    assert sum(len(b.points) for b in after) >= sum(len(b.points) for b in before)
    kept = {int(p) for box in before for p in box.points}
    assert kept <= {int(p) for box in after for p in box.points}


def test_consolidation_leaves_large_problems_alone(monkeypatch):
    side, domain, Z = problem(1)
    search = extract_boxes(side, domain, Z, volume_corner)
    monkeypatch.setattr("clearmargin.plane_rules.search._MOST_COMPARISONS", 0)
    kept = consolidate(side, Z, search.boxes, 2)
    before = [box for box in search.boxes if len(box.points) >= 2]
    assert [box.points.tolist() for box in kept] == [box.points.tolist() for box in before]
    assert consolidate(side, Z, [], 2) == []


def worth(boxes, m):
    """What a set of boxes is worth: the share of points, less one hundredth for each box."""
    return sum(len(box.points) / m - RULE_PRICE for box in boxes if len(box.points) >= 2)


def test_several_searches_are_worth_no_less_than_one(oracle):
    for seed in range(4):
        side, domain, Z = problem(seed, m=50)
        options = {"max_depth": 20, "min_coverage": 2, "max_rules": None, "tighten": True}
        single = extract_boxes(side, domain, Z, coverage_corner, max_depth=20)
        best = search_coverage(side, domain, Z, **options)
        check(oracle, side, Z, best)
        assert worth(best.boxes, len(Z)) >= worth(single.boxes, len(Z)) - 1e-12
        again = search_coverage(side, domain, Z, **options)
        assert [b.points.tolist() for b in again.boxes] == [b.points.tolist() for b in best.boxes]


@given(st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
def test_boxes_that_may_overlap_are_sound_no_more_and_cover_no_less(oracle, seed, most):
    side, domain, Z = problem(seed, m=40)
    apart = extract_boxes(side, domain, Z, coverage_corner, max_rules=most)
    found = cover_with_overlap(side, domain, Z, apart, min_coverage=2, max_rules=most)
    plane = side.halfspace.hyperplane
    for box in found.boxes:
        assert oracle.lies_on_side(side.box(box), plane.coef, plane.intercept, -1)
        np.testing.assert_array_equal(np.flatnonzero(inside(box, Z)), box.points)
        np.testing.assert_array_equal(box.near, domain.near)
    kept = [box for box in apart.boxes if len(box.points) >= 2][:most]
    held = lambda boxes: {int(p) for box in boxes for p in box.points}
    if kept:
        assert len(found.boxes) <= len(kept)
        assert len(held(found.boxes)) >= len(held(kept))
    assert held(found.boxes) | set(found.uncovered.tolist()) == set(range(len(Z)))


def test_the_choice_of_overlapping_boxes_is_greedy_where_it_is_large_or_slow(monkeypatch, oracle):
    from clearmargin.exceptions import TimeLimitError

    side, domain, Z = problem(8)
    apart = extract_boxes(side, domain, Z, coverage_corner)
    run = partial(cover_with_overlap, side, domain, Z, apart, min_coverage=2, max_rules=None)
    exact = run()

    def late(*_, **__):
        raise TimeLimitError("too late")

    with monkeypatch.context() as patch:
        patch.setattr("clearmargin.solvers.solve", late)
        slow = run()
    monkeypatch.setattr("clearmargin.plane_rules.search._EXACT_CELLS", 0)
    large = run()
    assert len(slow.uncovered) == len(large.uncovered) >= len(exact.uncovered)


def test_the_greedy_choice_stops_when_everything_is_covered(monkeypatch):
    side, domain, _ = problem(8)
    Z = np.repeat(domain.near[None], 3, axis=0)
    apart = extract_boxes(side, domain, Z, coverage_corner)
    twice = Search(apart.boxes * 2, apart.problems)
    monkeypatch.setattr("clearmargin.plane_rules.search._EXACT_CELLS", 0)
    found = cover_with_overlap(side, domain, Z, twice, min_coverage=1, max_rules=None)
    assert len(found.boxes) == 1
    assert not len(found.uncovered)


def test_a_point_that_no_box_can_hold_among_several_planes_is_left():
    # In floating point the points are on their side, exactly they are beyond the plane.
    plane = Hyperplane([1.0, 1.0], -0.3)
    X = np.array([[0.1, 0.2]])
    assert plane.side(-1).contains_exactly(X)[0] == (Fraction(0.1) + Fraction(0.2) <= Fraction(0.3))
    sides = [plane.side(-1), Hyperplane([1.0, 0.0], 5.0).side(1)]
    domain = Box([0.0, 0.0], [1.0, 1.0])
    options = {"max_depth": 3, "min_coverage": 1, "max_rules": None}
    boxes, problems = extract_polytope_boxes(sides, domain, X, **options)
    assert boxes == []
    assert problems == 1


def test_where_no_box_has_enough_points_nothing_is_chosen():
    side, domain, Z = problem(9)
    found = cover_with_overlap(side, domain, Z, Search(), min_coverage=len(Z) + 1, max_rules=None)
    assert not found.boxes
    assert len(found.uncovered) == len(Z)


def test_rules_of_three_classes_have_no_conditions_on_features_without_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = np.where(X[:, 0] > 0.5, "p", np.where(X[:, 1] > 0, "q", "r"))
    model = OneVsRestClassifier(LPSVC(nu=0.02)).fit(X, y)
    weights = np.vstack([part.coef_ for part in model.estimators_])
    used = set(np.flatnonzero(weights.any(axis=0)).tolist())
    assert used == {0, 1}
    rules = RuleExtractor(model).fit(X, y).rules_
    assert len(rules)
    assert all(set(rule.region.bounded) <= used for rule in rules)
    covers = rules.covers(X)
    assert (covers.sum(axis=1) <= 1).all()
    for rule, rows in zip(rules, covers.T, strict=True):
        assert (model.predict(X[rows]) == rule.label).all()


def test_weights_that_cancel_cost_no_rule():
    """Two classes weigh a column alike: their scores err with it, though the plane between them does not look at it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] > 0.4, "p", np.where(X[:, 0] > -0.4, "q", "r"))
    model = LogisticRegression().fit(X, y)
    model.coef_ = np.array([[3.1, 0.7], [0.1, 0.7], [-3.1, 0.7]])
    model.intercept_ = np.array([-1.2, 0.1, -1.2])
    assert (model.predict(X) == y).mean() > 0.8
    extractor = RuleExtractor(model, min_coverage=1).fit(X, y)
    assert all(trace.coverage > 0.9 for trace in extractor.trace_.values())
    covers = extractor.rules_.covers(X)
    for rule, rows in zip(extractor.rules_, covers.T, strict=True):
        assert rule.proof == "proved"
        assert (model.predict(X[rows]) == rule.label).all()


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


def test_the_price_of_short_rules_is_reported():
    X, y = load_wbc(return_X_y=True)
    svm = LPSVC(nu=0.0025).fit(X, y)
    everything = {"bounds": (1, 10), "min_coverage": 2, "max_rules": None}
    short = RuleExtractor(svm, max_conditions=2, **everything).fit(X, y)
    free = RuleExtractor(svm, **everything).fit(X, y)
    assert max(rule.n_conditions for rule in short.rules_) <= 2
    for label, trace in short.trace_.items():
        # Whole numbers between two rules are shared out in the end, which may bring in a row more.
        assert 0 <= free.trace_[label].covered - trace.unlimited <= 2
        assert trace.unlimited > trace.covered
        assert free.trace_[label].unlimited is None
