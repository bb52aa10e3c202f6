"""Relations between features: a Domain with them against brute force over grids, and the multipliers that prove it."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from clearmargin import Box, Domain, FeatureSpace, Polyhedron
from clearmargin.exceptions import InvalidValueError, RuleSyntaxError
from clearmargin.rules import relations
from clearmargin.rules.hyperplane import Hyperplane
from clearmargin.rules.polyhedron import exact_minimum, is_infeasible
from clearmargin.rules.relations import narrow

PRESSURE = FeatureSpace(["diastolic", "systolic", "age"], [40, 60, 18], [150, 250, 99])
ORDERED = Domain(PRESSURE, True, True, relations="diastolic <= systolic")
INF = math.inf


def exact(weights, point):
    """The sum of products, of floats or fractions."""
    pairs = zip(weights, point, strict=True)
    return sum((Fraction(w) * Fraction(x) for w, x in pairs), Fraction(0))


# The exact linear program


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_the_exact_optimum_is_that_of_a_solver_and_carries_its_proof(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 5)), int(rng.integers(1, 10))
    A = rng.integers(-3, 4, (k, n)).astype(float)
    A[~A.any(axis=1)] = 1.0
    b, coef = rng.integers(-4, 6, k).astype(float), rng.integers(-3, 4, n).astype(float)
    strict = rng.random(k) < 0.3
    found = exact_minimum(A, b, strict, coef)
    assert (found is None) is is_infeasible(A, b, strict)
    if found is None:
        return
    left = [exact(row, found.point) for row in A]
    assert all(v < c if s else v <= c for v, c, s in zip(left, b, strict, strict=True))
    solved = linprog(coef, A_ub=A, b_ub=b, bounds=[(None, None)] * n)
    if found.value == -INF:
        assert solved.status != 0
        return
    assert math.isclose(solved.fun, found.value, abs_tol=1e-7)
    y = found.multipliers
    assert min(y) >= 0
    for j in range(n):  # function(x) == value + y'(b - A x) for all x
        assert Fraction(coef[j]) == -exact(A[:, j], y)
    assert found.value == -exact(b, y)
    if found.is_attained:
        assert not any(strict) or found.value <= exact(coef, found.point)
        assert any(strict) or found.value == exact(coef, found.point)
    else:
        assert any(factor and s for factor, s in zip(y, strict, strict=True))


# Domains


@st.composite
def small_domains(draw):
    """Domains of whole numbers from 0 to 4, some with a group, so that all cases can be listed."""
    n = draw(st.integers(2, 4))
    weight = st.integers(-2, 2).map(float)
    grouped = n == 4 and draw(st.booleans())
    names = [f"x{j}" for j in range(n)]
    high = [1.0 if grouped and j > 1 else 4.0 for j in range(n)]
    groups = {"g": {"u": "x2", "v": "x3"}} if grouped else {}
    rows = draw(
        st.lists(st.lists(weight, min_size=n, max_size=n).filter(any), min_size=1, max_size=3)
    )
    limits = draw(st.lists(st.integers(-3, 8).map(float), min_size=len(rows), max_size=len(rows)))
    strict = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    relations = Polyhedron(rows, limits, np.array(strict))
    space = FeatureSpace(names, [0.0] * n, high, integer=True)
    cases = np.array(list(itertools.product(*[range(int(h) + 1) for h in high])), dtype=float)
    try:
        return Domain(space, True, True, groups, relations), cases
    except InvalidValueError:
        return Domain(space, True, True, groups), cases


@given(made=small_domains(), data=st.data())
@settings(max_examples=80)
def test_whole_numbers_groups_and_relations_against_the_list_of_all_cases(made, data):
    domain, cases = made
    n = domain.n_features
    ends = st.lists(st.sampled_from([-INF, -0.5, 0.5, 1.0, 2.5, 3.0, INF]), min_size=n, max_size=n)
    one, other = data.draw(ends), data.draw(ends)
    low, high = np.minimum(one, other), np.maximum(one, other)
    low[low == INF], high[high == -INF] = 1.0, 1.0
    box = Box(low, high, lower_closed=False)
    weights = np.array(data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), dtype=float)
    possible = cases[domain.contains(cases) & box.contains(cases)]
    found = domain.minimum(weights, 0.5, within=box)
    assert domain.is_possible(box) is (len(possible) > 0)
    assert domain.tighten(box).contains(possible).all()
    if not len(possible):
        assert found is None
        return
    lowest = (possible @ weights).min() + 0.5
    assert (found.value, found.is_attained) == (lowest, True)
    assert domain.contains(found.point[None])[0]
    assert box.contains(found.point[None])[0]
    assert exact(weights, found.point) + Fraction(1, 2) == lowest
    side = Hyperplane(weights, 0.5).side(1)
    assert domain.is_inside(box, side) is bool(lowest > 0)
    if found.multipliers is not None:
        assert domain.proved_minimum(found.multipliers, weights, 0.5, within=box) == lowest
    zeros = [Fraction(0)] * (0 if domain.relations is None else len(domain.relations.b))
    assert domain.proved_minimum(zeros, weights, 0.5, within=box) <= lowest


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_any_multipliers_prove_a_bound_and_those_of_the_optimum_the_best_one(seed):
    rng = np.random.default_rng(seed)
    n, k = 4, int(rng.integers(1, 4))
    rows = rng.normal(size=(k, n)) * (rng.random((k, n)) < 0.6)
    rows[~rows.any(axis=1)] = 1.0
    inner = rng.uniform(-1, 1, n)
    space = FeatureSpace([f"x{j}" for j in range(n)], [-2.0] * n, [2.0] * n)
    domain = Domain(space, True, True, relations=Polyhedron(rows, rows @ inner + rng.random(k)))
    weights = rng.normal(size=n)
    found = domain.minimum(weights)
    assert domain.proved_minimum(found.multipliers, weights) == found.value
    solved = linprog(
        weights, A_ub=domain.relations.A, b_ub=domain.relations.b, bounds=[(-2, 2)] * n
    )
    assert math.isclose(solved.fun, found.value, rel_tol=1e-7, abs_tol=1e-7)
    assert domain.contains(found.point[None])[0]
    assert math.isclose(found.point @ weights, found.value, rel_tol=1e-6, abs_tol=1e-6)
    guess = [Fraction(int(f), 3) for f in rng.integers(0, 4, k)]
    assert domain.proved_minimum(guess, weights) <= found.value


def test_a_corner_that_a_relation_shuts_out_is_no_case():
    box = Box([90.0, -INF, -INF], [INF, 100.0, INF])
    side = Hyperplane([0.0, 1.0, 0.0], -85.0).side(1)  # systolic above 85
    assert not Domain(PRESSURE, True, True).is_inside(box, side)
    assert ORDERED.is_inside(box, side)
    assert not ORDERED.is_possible(Box([120.0, -INF, -INF], [INF, 119.0, INF]))
    assert ORDERED.contains([[80, 120, 50], [130, 120, 50]]).tolist() == [True, False]


def test_bounds_that_relations_imply_say_nothing():
    loose = Box([-INF, 40.0, -INF], [250.0, INF, INF])
    assert ORDERED.implies(loose)
    assert ORDERED.without_implied(loose).bounded == ()
    # Only both relations together imply the bound.
    sums = Domain(FeatureSpace(["a", "b"]), relations="a + b <= 10 and a - b <= 2")
    assert sums.implies(Box([-INF, -INF], [6.0, INF]))
    assert not sums.implies(Box([-INF, -INF], [5.9, INF]))
    assert not sums.implies(Box([-INF, -INF], [6.0, INF], upper_closed=False))
    assert sums.implies(Polyhedron([[2.0, 0.0]], [12.0]))


def test_an_open_end_is_not_attained_and_the_witness_lies_inside():
    box = Box([90.0, -INF, -INF], [INF, INF, INF], lower_closed=False)
    found = ORDERED.minimum([0.0, 1.0, 0.0], -90.0, within=box)
    assert (found.value, found.is_attained) == (0, False)
    assert 90 < found.point[0] <= found.point[1] < 90.5
    strict = Domain(PRESSURE, True, True, relations="diastolic < systolic")
    found = strict.minimum([-1.0, 1.0, 0.0])
    assert (found.value, found.is_attained) == (0, False)
    assert found.point[0] < found.point[1]


def test_without_an_end_the_witness_is_far_enough():
    domain = Domain(FeatureSpace(["a", "b", "c"]), relations="a <= b")
    found = domain.minimum([-1.0, 0.5, 0.0], 1000.0)
    assert found.value == -INF
    assert found.point @ [-1.0, 0.5, 0.0] + 1000 < 0
    assert domain.contains(found.point[None])[0]
    assert domain.minimum([-1.0, 1.0, 0.0]).value == 0
    assert domain.minimum([-1.0, 1.0, 1.0]).value == -INF


def test_an_equation_holds_in_the_witness():
    space = FeatureSpace(["a", "b", "c"], [0.0] * 3, [100.0] * 3)
    domain = Domain(space, True, True, relations="a + b + c = 100")
    found = domain.maximum([1.0, 2.0, 4.0], within=Box([-INF] * 3, [INF, INF, 33.3]))
    assert found.point.sum() == 100
    assert math.isclose(found.value, 2 * 66.7 + 4 * 33.3)


def test_narrowing_takes_single_relations_as_far_as_they_go():
    chain = Domain(
        FeatureSpace(["a", "b", "c"], integer=[True, False, True]), relations="a <= b and b <= c"
    )
    box = chain.tighten(Box([1.5, -INF, -INF], [INF, INF, 7.5]))
    assert (box.lower.tolist(), box.upper.tolist()) == ([2, 2, 2], [7, 7, 7])
    # A circle that narrows for ever ends all the same.
    round_about = Polyhedron([[1.0, -0.5], [-0.5, 1.0]], [0.0, 0.0])
    assert narrow(round_about, Box([0, 0], [1, 1]), np.zeros(2, bool)).contains([[0.0, 0.0]])[0]


def test_a_domain_with_relations_is_a_value():
    again = pickle.loads(pickle.dumps(ORDERED))
    assert again == ORDERED
    assert hash(again) == hash(ORDERED)
    assert Domain(PRESSURE, True, True) != ORDERED
    assert ORDERED.with_relations(None) == Domain(PRESSURE, True, True)
    assert repr(ORDERED) == "Domain(3 columns, 3 with a declared range, diastolic - systolic <= 0)"
    assert len(ORDERED.rows()[1]) == 7


@pytest.mark.parametrize(
    ("relations", "same"),
    [
        ("diastolic <= systolic", [[1, -1, 0]]),
        ("systolic >= diastolic  # the higher one", [[1, -1, 0]]),
        (["diastolic <= systolic", "", "age + 20 <= systolic"], [[1, -1, 0], [0, -1, 1]]),
        ("diastolic <= systolic and 2*age = systolic", [[1, -1, 0], [0, 1, -2], [0, -1, 2]]),
        ("", None),
    ],
)
def test_relations_are_read_by_the_rule_language(relations, same):
    found = Domain(PRESSURE, relations=relations).relations
    assert (found if found is None else found.A.tolist()) == same


@pytest.mark.parametrize(
    ("relations", "message"),
    [
        ("diastolic <= sistolic", r"line 1, column 14: .*'sistolic'; did you mean 'systolic'"),
        (["age > 3", "age <="], r"line 2, column 7: expected a feature or a number"),
        ("age <= systolic => old", "a relation has no class; it holds for every case"),
        ("age <= systolic or age > 3", "no 'or'"),
        ("age <= systolic,", "expected 'and' between conditions"),
        ("smoker = yes", "a relation compares numbers; categories and missing"),
        ("smoker in {yes, no}", "a relation compares numbers"),
        ("age is missing", "a relation compares numbers"),
        ("smoker <= age", "'smoker' has categories"),
        ("true", "'true' stands alone before"),
        ("age <= age", "the weights cancel out"),
    ],
)
def test_relations_that_cannot_be_read_are_refused_with_their_place(relations, message):
    space = FeatureSpace(
        ["diastolic", "systolic", "age", "smoker"], categories={"smoker": ["no", "yes"]}
    )
    with pytest.raises(RuleSyntaxError, match=message):
        Domain(space, relations=relations)


def test_relations_that_no_case_satisfies_are_refused():
    with pytest.raises(InvalidValueError, match=r"no case satisfies the relations diastolic - .*"):
        Domain(PRESSURE, True, True, relations="diastolic >= systolic + 100")
    with pytest.raises(InvalidValueError, match="over 2 columns, and the domain has 3"):
        Domain(PRESSURE, relations=Polyhedron([[1.0, 1.0]], [0.0]))
    with pytest.raises(InvalidValueError, match="ask for no missing values"):
        Domain(PRESSURE, relations=Polyhedron([[1.0, 1.0, 0.0]], [0.0], missing=[2]))
    with pytest.raises(TypeError, match="texts in the rule language or a Polyhedron, not int"):
        Domain(PRESSURE, relations=[3])
    with pytest.raises(InvalidValueError, match="must not be negative"):
        ORDERED.proved_minimum([Fraction(-1)], [0.0, 0.0, 0.0])
    coded = FeatureSpace(["c", "x"], categories={"c": ["u", "v"]})
    with pytest.raises(InvalidValueError, match="'c' has categories; a relation compares numbers"):
        Domain(coded, relations=Polyhedron([[1.0, 1.0]], [0.0]))


def test_seen_ranges_without_a_case_imply_everything():
    """Two columns that were seen apart, and of which a declared relation says that they never are."""
    space = FeatureSpace(["a", "b"], [5.0, 0.0], [9.0, 3.0])
    domain = Domain(space, relations="a <= b")
    box = Box([6.0, 1.0], [7.0, 2.0])
    assert not domain.implies(box)
    assert domain.implies(box, seen=True)
    assert domain.without_implied(box, seen=True) == Box.unbounded(2)
    sums = Domain(
        FeatureSpace(["a", "b"], [0.0] * 2, [1.0] * 2), relations="a + b >= 3 and a - b <= 9"
    )
    assert sums.without_implied(box, seen=True) == Box.unbounded(2)
    assert sums.without_implied(box) == box
    assert sums.implies(Polyhedron([[1.0, 0.0]], [-5.0]), seen=True)


def test_whole_numbers_that_a_strict_relation_shuts_out_are_no_cases():
    space = FeatureSpace(["a", "b", "c"], [0.0] * 3, [2.0] * 3, integer=True)
    domain = Domain(space, True, True, relations="a + b > c")
    assert domain.minimum([1.0, 1.0, 0.0]).value == 1
    full = Box([0.0, 0.0, 2.0], [1.0, 1.0, 2.0])
    assert domain.minimum([1.0, 1.0, 0.0], within=full) is None


def test_a_search_over_whole_numbers_that_is_cut_short_gives_a_bound(monkeypatch):
    space = FeatureSpace(["a", "b"], [0.0] * 2, [9.0] * 2, integer=True)
    domain = Domain(space, True, True, relations="3*a + 5*b >= 7")
    found = domain.minimum([2.0, 3.0])
    listed = [(2 * a + 3 * b) for a in range(10) for b in range(10) if 3 * a + 5 * b >= 7]
    assert (found.value, found.is_attained) == (min(listed), True)
    monkeypatch.setattr(relations, "_MOST_NODES", 0)
    bound = domain.minimum([2.0, 3.0])
    assert 0 < bound.value < found.value
    assert (bound.is_attained, bound.point, bound.multipliers) == (False, None, None)


def test_bounds_beyond_all_floats_are_none():
    far = Polyhedron([[1e-300, 1.0]], [0.0])
    box = narrow(far, Box([-INF, -1e300], [INF, 1e300]), np.array([False, False]))
    assert (box.lower[0], box.upper[0]) == (-INF, INF)
