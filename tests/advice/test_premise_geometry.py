"""Inner radii, worst margins, and premises that overlap, touch, are empty or nested: by hand and on grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin import Box, FeatureSpace, Polyhedron, Rule, RuleSet, parse_rules
from clearmargin.advice import check_advice, premise_geometry
from clearmargin.advice.premise_geometry import (
    PremiseGeometry,
    has_no_point,
    inner_radius,
    intersection,
    is_inside,
    is_void,
    worst_margin,
)
from clearmargin.exceptions import TimeLimitError
from clearmargin.rules.polyhedron import is_infeasible

# HiGHS keeps rows to 1e-7; values here are of order one.
TOL = 1e-6

seeds = st.integers(0, 10**6)


def margin_by_scipy(D, d, w, b, sign):
    result = linprog(sign * w, A_ub=D, b_ub=d, bounds=(None, None), method="highs")
    if result.status == 2:
        return np.inf
    if result.status == 3:
        return -np.inf
    assert result.status == 0, result.message
    return result.fun + sign * b


def premise(seed, polyhedron, kinds=("box", "polytope", "axis", "cone", "combination")):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    D, d = polyhedron(rng, n, str(rng.choice(kinds)), rng.normal(size=n))
    w, b, sign = rng.normal(size=n), float(rng.normal()), float(rng.choice([-1.0, 1.0]))
    return rng, D, d, w, b, sign


@given(seeds)
def test_the_worst_margin_is_that_of_another_solver(polyhedron, seed):
    rng, D, d, w, b, sign = premise(seed, polyhedron)
    if seed % 3 == 0:  # weights that point into an unbounded premise, so that there is a minimum
        w = -sign * D.T @ rng.uniform(0.0, 2.0, size=len(d))
    margin, x = worst_margin(D, d, w, b, sign)
    assert margin == pytest.approx(margin_by_scipy(D, d, w, b, sign), abs=TOL)
    assert (x is None) == np.isinf(margin)
    if x is not None:
        assert (d + TOL >= D @ x).all()
        assert sign * (w @ x + b) == pytest.approx(margin, abs=TOL)


@given(seeds)
def test_the_worst_margin_over_a_bounded_premise_is_at_a_corner(polyhedron, corners, seed):
    _, D, d, w, b, sign = premise(seed, polyhedron, ("box", "polytope"))
    margin, _ = worst_margin(D, d, w, b, sign)
    assert margin == pytest.approx((sign * (corners(D, d) @ w + b)).min(), abs=TOL)


@given(seeds)
def test_the_other_class_sees_the_margin_of_the_opposite_plane(polyhedron, seed):
    _, D, d, w, b, sign = premise(seed, polyhedron)
    margin, _ = worst_margin(D, d, w, b, sign)
    opposite, _ = worst_margin(D, d, -w, -b, -sign)
    assert margin == pytest.approx(opposite, abs=TOL)


@given(seeds)
def test_the_inner_ball_fits_and_no_larger_one_does(polyhedron, seed):
    rng, D, d, *_ = premise(seed, polyhedron)
    d = d - rng.uniform(-0.5, 1.0)  # some are empty now
    radius, center = inner_radius(D, d)
    assert radius <= 1.0
    assert (D @ center + radius * np.linalg.norm(D, axis=1) <= d + TOL).all()
    # A ball that is larger by TOL has no place: its centre would be a point of the smaller premise.
    if radius < 1.0:
        tighter = d - (radius + 2 * TOL) * np.linalg.norm(D, axis=1)
        assert linprog(np.zeros(D.shape[1]), D, tighter, bounds=(None, None)).status == 2


def test_bounds_alone_are_void_where_their_inner_radius_is_negative():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        D = np.zeros((5, 3))
        D[np.arange(5), rng.integers(0, 3, 5)] = rng.choice([-2.0, -1.0, 0.5, 1.0], 5)
        d = rng.integers(-2, 3, 5).astype(float)
        found.append(is_void(D, d))
        assert found[-1] == (inner_radius(D, d)[0] < -1e-6)
    assert 5 < sum(found) < 35
    assert not is_void(np.zeros((0, 3)), np.zeros(0))


@given(seeds)
def test_a_premise_is_void_where_another_solver_finds_no_point(polyhedron, seed):
    rng, D, d, *_ = premise(seed, polyhedron)
    d = d - rng.uniform(-0.5, 1.0)
    if abs(inner_radius(D, d)[0]) > TOL:
        status = linprog(np.zeros(D.shape[1]), D, d, bounds=(None, None)).status
        assert is_void(D, d) == (status == 2)


def test_a_premise_of_one_point_is_not_void():
    D = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert not is_void(D, np.array([1.0, -1.0, 2.0, -2.0]))
    assert is_void(D, np.array([1.0, -1.0 - 1e-5, 2.0, -2.0]))


def test_rows_that_say_the_same_twice_change_nothing():
    D, d = np.array([[1.0], [-1.0]]), np.array([3.0, -2.0])
    twice = np.vstack([D, D]), np.r_[d, d]
    assert inner_radius(*twice)[0] == pytest.approx(0.5, abs=TOL)
    assert worst_margin(*twice, np.array([2.0]), 1.0, 1.0)[0] == pytest.approx(5.0, abs=TOL)
    assert worst_margin(*twice, np.array([2.0]), 1.0, -1.0)[0] == pytest.approx(-7.0, abs=TOL)


def test_a_premise_without_rows_is_the_whole_space():
    D, d = np.zeros((0, 2)), np.zeros(0)
    assert inner_radius(D, d)[0] == 1.0
    assert not is_void(D, d)
    assert not has_no_point(D, d, np.zeros(0, dtype=bool))
    assert worst_margin(D, d, np.ones(2), 0.0, 1.0) == (-np.inf, None)
    assert worst_margin(D, d, np.zeros(2), 3.0, -1.0)[0] == -3.0


def test_a_premise_over_whole_numbers_that_takes_too_long_has_no_known_margin(monkeypatch):
    def give_up(*args, **options):
        raise TimeLimitError("time is up")

    monkeypatch.setattr(premise_geometry, "solve", give_up)
    rows = np.array([[1.0], [-1.0]]), np.array([3.0, -2.0]), np.ones(1), 0.0, 1.0
    assert worst_margin(*rows, np.array([True])) == (-np.inf, None)
    with pytest.raises(TimeLimitError, match="time is up"):
        worst_margin(*rows)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("w", [np.ones(2), np.array([0.0, 1.0]), np.zeros(2)])
def test_an_empty_premise_has_no_margin_even_where_the_plane_falls_without_end(w, sign):
    D, d = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.0, -1.0])
    assert worst_margin(D, d, w, 0.0, sign) == (np.inf, None)


def test_a_row_of_zeros_that_nothing_satisfies_makes_a_premise_void():
    D, d = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([-1.0, 1.0])
    assert inner_radius(D, d)[0] < 0
    assert is_void(D, d)


def test_a_row_of_zeros_that_everything_satisfies_is_no_condition():
    D, d = np.array([[0.0], [1.0], [-1.0]]), np.array([0.0, 3.0, -2.0])
    assert inner_radius(D, d)[0] == pytest.approx(0.5, abs=TOL)
    assert worst_margin(D, d, np.ones(1), 0.0, 1.0)[0] == pytest.approx(2.0, abs=TOL)


def kinds(report):
    return [(finding.kind, finding.rules) for finding in report.findings]


# Pairs of premises, by hand


@pytest.mark.parametrize(
    ("a", "b", "relation", "region"),
    [
        ("x <= 126", "x >= 126", "touch", "x = 126"),
        ("x < 126", "x >= 126", "apart", None),
        ("x <= 126", "x > 120", "overlap", "120 < x <= 126"),
        ("x <= 1", "x >= 2", "apart", None),
        ("x <= 1", "y >= 2", "overlap", "x <= 1 and y >= 2"),
        ("x <= 1 and y <= 1", "x >= 1 and y >= 1", "touch", "x = 1 and y = 1"),
        ("x <= 1 and y <= 1", "x >= 0 and y >= 1", "touch", "0 <= x <= 1 and y = 1"),
        ("x = 2", "x <= 3", "overlap", "x = 2"),  # without any inside in space
        ("x = 3", "x <= 3", "overlap", "x = 3"),  # on the boundary, but wholly
        ("x = 3 and y <= 4", "x <= 3 and y <= 3", "touch", "x = 3 and y <= 3"),
        ("x = 3", "x = 3", "overlap", "x = 3"),
        ("x = 3", "x < 3", "apart", None),
        ("x = 3", "y = 4", "overlap", "x = 3 and y = 4"),
        ("c in {r, g}", "c in {g, b}", "overlap", "c = g"),
        ("c = r", "c = g", "apart", None),
        ("c = r and x <= 1", "c in {r, g} and x >= 1", "touch", "x = 1 and c = r"),
        ("x + y <= 1", "x + y >= 1", "touch", "x + y <= 1 and x + y >= 1"),
        ("x + y < 1", "x + y >= 1", "apart", None),
        ("x + y <= 1", "x >= 0 and y >= 0", "overlap", "x >= 0 and y >= 0 and x + y <= 1"),
        ("x + y <= 1", "x >= 0 and y >= 1", "touch", "x >= 0 and y >= 1 and x + y <= 1"),
        ("x + y <= 1", "x >= 1 and y >= 1", "apart", None),
        ("x + y = 1", "x <= 3", "overlap", "x <= 3 and x + y = 1"),
        ("x + y = 1", "x + y <= 1", "overlap", "x + y = 1 and x + y <= 1"),
        ("3*x <= 1", "3*x >= 1", "touch", "3*x <= 1 and 3*x >= 1"),
        ("x + y <= 1 and c = r", "x >= 0 and c = g", "apart", None),
        ("true", "x >= 5", "overlap", "x >= 5"),
    ],
)
def test_two_premises_lie_as_computed_by_hand(a, b, relation, region):
    for first, second in ((a, b), (b, a)):
        report = check_advice(f"{first} => p\n{second} => q")
        found = [f for f in report.findings if f.kind in ("touch", "overlap")]
        assert [f.kind for f in found] == ([] if relation == "apart" else [relation])
        assert report.ok == (relation != "overlap")
    report = check_advice(f"{a} => p\n{b} => q")
    if region is not None:
        (found,) = (f for f in report.findings if f.kind == relation)
        same = parse_rules(f"{region} => p", space=report.rules.space)
        given = parse_rules(f"{found.region} => p", space=report.rules.space)
        X = np.random.default_rng(0).integers(0, 7, (200, len(report.rules.space))) / 2.0
        assert found.region == region or (same.covers(X) == given.covers(X)).all()


def test_rules_of_one_class_never_clash():
    assert check_advice("x <= 3 => a\nx >= 3 => a\nx >= 2 => a").ok


@pytest.mark.parametrize(
    ("rules", "relation"),
    [("n < 4 => a\nn > 3 => b", None), ("n <= 3 => a\n3 <= n < 4 => b", "overlap")],
)
def test_features_that_count_are_looked_at_in_whole_numbers(rules, relation):
    report = check_advice(f"feature n: integer\n{rules}")
    assert [finding.kind for finding in report.findings] == ([relation] if relation else [])


def test_rules_about_nothing_are_looked_at_like_others():
    assert not check_advice(parse_rules("true => a")).findings
    (clash,) = check_advice(parse_rules("true => a\ntrue => b")).findings
    assert "where true" in str(clash)


# Empty premises


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x + y <= 1 and y <= 9 and x + y >= 2 => a", "'x + y <= 1' and 'x + y >= 2' contradict"),
        ("x + y < 1 and x + y >= 1 => a", "'x + y < 1' and 'x + y >= 1' contradict"),
        (
            "x + y <= 3 and x >= 2 and y >= 2 => a",
            "'x + y <= 3', 'x >= 2' and 'y >= 2' contradict each other",
        ),
        ("feature n: integer\n3 < n < 4 => a", "no whole number is left for n"),
        ("2*x <= 1 and 3*x >= 7 => a", "'2*x <= 1' and '3*x >= 7' contradict"),
    ],
)
def test_an_empty_premise_says_which_conditions_contradict_each_other(text, said):
    report = check_advice(text)
    assert not report.ok
    assert kinds(report) == [("empty", (0,))]
    assert f"no case can satisfy rule 1: {said}" in report.findings[0].message


def test_an_empty_premise_takes_part_in_nothing_else():
    report = check_advice("x + y <= 1 and x + y >= 2 => a\nx >= 0 => b\ntrue => a")
    assert kinds(report) == [("empty", (0,)), ("overlap", (1, 2))]


def test_a_point_alone_is_not_empty():
    assert check_advice("x + y <= 1 and x + y >= 1 and x - y = 0 => a").findings == ()


# Redundant rules


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x >= 3 => a\nx >= 3 => a", [("duplicate", (1, 0))]),
        ("x >= 3 => a\nx >= 4 => a", [("redundant", (1, 0))]),
        ("x > 3 => a\nx >= 3 => a", [("redundant", (0, 1))]),
        ("x >= 3 => a\nx >= 3 and y <= 1 => a", [("redundant", (1, 0))]),
        ("x >= 3 => a\nx <= 4 => a", []),
        ("c in {r, g} => a\nc = r => a", [("redundant", (1, 0))]),
        ("c in {r, g} => a\nx <= 3 => a", []),  # other categories may come
        ("x + y <= 3 => a\nx + y <= 2 => a", [("redundant", (1, 0))]),
        ("x + y <= 3 => a\nx <= 1 and y <= 2 => a", [("redundant", (1, 0))]),
        ("x + y < 3 => a\nx <= 1 and y <= 2 => a", []),
        ("x + y <= 3 and c = r => a\nx + y <= 2 => a", []),
        ("x + y <= 3 and c in {r, g} => a\nx + y <= 2 and c = g => a", [("redundant", (1, 0))]),
        ("x + y <= 3 => a\n2*x + 2*y <= 6 => a", [("duplicate", (1, 0))]),
    ],
)
def test_a_rule_inside_another_of_its_class_is_noted(text, found):
    report = check_advice(text)
    assert kinds(report) == found
    assert report.ok


# Properties


BOUND = st.integers(-3, 3).map(float)


@st.composite
def regions(draw):
    """Boxes and polyhedra over two features, with many ties among their bounds."""
    if draw(st.booleans()):
        sides = [
            sorted(draw(st.tuples(BOUND, BOUND))) if draw(st.booleans()) else (-np.inf, draw(BOUND))
            for _ in range(2)
        ]
        flags = draw(st.lists(st.booleans(), min_size=4, max_size=4))
        box = Box([s[0] for s in sides], [s[1] for s in sides], flags[:2], flags[2:])
        return Box(box.lower, box.upper) if box.is_empty else box
    k = draw(st.integers(1, 3))
    weight = st.integers(-2, 2).map(float)
    rows = [draw(st.tuples(weight, weight).filter(any).map(list)) for _ in range(k)]
    strict = draw(st.lists(st.booleans(), min_size=k, max_size=k))
    limits = draw(st.lists(BOUND, min_size=k, max_size=k))
    region = Polyhedron(rows, limits, strict)
    return Box([0.0, 0.0], [1.0, 1.0]) if region.is_empty() else region


GRID = np.stack(np.meshgrid(np.arange(-4, 4.25, 0.25), np.arange(-4, 4.25, 0.25)), -1).reshape(
    -1, 2
)
SPACE = FeatureSpace(["x", "y"])


def rows_of(region):
    flat = Polyhedron.from_box(region) if isinstance(region, Box) else region
    return flat.A, flat.b, flat.strict


def stacked(a, b):
    return [np.concatenate(parts) for parts in zip(rows_of(a), rows_of(b), strict=True)]


def has_inside(region):
    A, b, _ = rows_of(region)
    return inner_radius(A, b)[0] > 1e-6


@given(regions(), regions())
def test_a_clash_lies_in_both_premises_and_what_is_apart_has_no_common_point(a, b):
    rules = RuleSet([Rule(a, "p"), Rule(b, "q")], SPACE)
    report = check_advice(rules, GRID, np.where(GRID[:, 0] > 0, "p", "q"))
    clashes = [f for f in report.findings if f.kind in ("touch", "overlap")]
    inside = a.contains(GRID) & b.contains(GRID)
    A, limits, strict = stacked(a, b)
    if not clashes:
        assert not inside.any()
        assert is_infeasible(A, limits, strict)
        assert inner_radius(A, limits)[0] <= 1e-7
        return
    (clash,) = clashes
    region = parse_rules(f"{clash.region} => p", space=SPACE)[0].region
    assert (region.contains(GRID) == inside).all()
    assert clash.rows == inside.sum()
    assert (clash.severity == "error") == inside.any()
    assert report.ok != inside.any()
    if has_inside(a) and has_inside(b):
        is_wide = inner_radius(A, limits)[0] > 1e-7
        assert (clash.kind == "overlap") == (is_wide or inside.any())


@given(regions(), regions())
def test_what_is_inside_has_no_point_outside(a, b):
    rules = RuleSet([Rule(a, "p"), Rule(b, "p")], SPACE)
    inside = is_inside(a, b)
    assert PremiseGeometry(rules).insides(0, np.array([1]))[0] == inside
    outside = a.contains(GRID) & ~b.contains(GRID)
    assert not (inside and outside.any())
    found = check_advice(rules, GRID).findings
    repeated = {f.rules for f in found if f.kind in ("redundant", "duplicate")}
    assert ((0, 1) in repeated or (1, 0) in repeated) == (inside or is_inside(b, a))


@given(regions(), regions())
def test_an_intersection_is_the_points_in_both(a, b):
    both = a.contains(GRID) & b.contains(GRID)
    assert (intersection(a, b).contains(GRID) == both).all()
    assert (intersection(b, a).contains(GRID) == both).all()


@given(st.integers(0, 10_000))
def test_large_systems_are_decided_as_small_ones_are(seed):
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, (14, 8)).astype(float)  # more than arithmetic takes at once
    A[~A.any(axis=1), 0] = 1.0
    b = rng.integers(-3, 12, 14).astype(float)
    strict = rng.random(14) < 0.3
    if seed % 2:  # two rows that touch
        A[1], b[1] = -A[0], -b[0]
    assert has_no_point(A, b, strict) == is_infeasible(A, b, strict)
