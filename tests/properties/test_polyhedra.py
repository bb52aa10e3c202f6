"""Inequalities and planes against plain Python sums, fractions, elimination and linear programming."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.oracles.exact import exact_sum, has_solution, in_polyhedron, sign_of
from tests.oracles.values import (
    INF,
    LARGEST,
    NAN,
    SMALLEST,
    beside,
    boxes,
    edges,
    finite,
    polyhedra,
)

from clearmargin import Box, HalfSpace, Hyperplane, Polyhedron
from clearmargin.exceptions import InvalidValueError

MANY = settings(max_examples=100)
numbers = st.floats(allow_nan=False, allow_infinity=False)


@MANY
@given(data=st.data(), sets=st.sampled_from([None, {3: [0, 2]}]))
def test_polyhedron_contains_what_plain_python_says(data, sets):
    wedge = data.draw(polyhedra(4, sets=sets))
    x = edges | st.sampled_from([INF, -INF, NAN, 1e308, -1e308])
    code = st.sampled_from([-1.0, 0.0, 1.0, 2.0])
    rows = data.draw(st.lists(st.tuples(x, x, x, code), min_size=1, max_size=10))
    assert wedge.contains(rows).tolist() == [in_polyhedron(wedge, row) for row in rows]


@MANY
@given(data=st.data())
def test_polyhedron_from_box_holds_the_same_points_and_gives_the_box_back(data):
    box = data.draw(boxes(3, finite, sets={2: [1]}))
    wedge = Polyhedron.from_box(box)
    assert wedge.has_unit_rows
    assert wedge.to_box() == box
    assert wedge.bounded == box.bounded
    assert not wedge.is_empty()
    ends = beside(st.sampled_from([*box.lower[:2], *box.upper[:2], 0.0]))
    rows = data.draw(st.lists(st.tuples(ends, ends, st.just(1.0)), min_size=1, max_size=8))
    assert wedge.contains(rows).tolist() == box.contains(rows).tolist()


def satisfies(a, x, b, strict):
    left = Fraction(a) * Fraction(x)
    return left < Fraction(b) if strict else left <= Fraction(b)


some = st.sampled_from([3.0, -3.0, 0.1, -0.1, 7.0, 1e-300, -1e-300, SMALLEST, 1e300, LARGEST])
weights = (some | numbers).filter(bool)
limits = st.sampled_from([0.0, 1.0, 0.3, -0.3, SMALLEST, -SMALLEST, LARGEST, -LARGEST]) | numbers


@MANY
@given(weights, limits, st.booleans())
def test_polyhedron_of_one_inequality_becomes_the_box_of_the_same_floats(a, b, strict):
    side = Polyhedron([[a]], [b], strict).to_box().interval(0)
    bound, outwards = (side.high, INF) if a > 0 else (side.low, -INF)
    assert (side.low if a > 0 else side.high) == -outwards
    near = [bound]
    for direction in (-INF, INF):
        one = math.nextafter(bound, direction)
        near += [one, math.nextafter(one, direction)]
    for x in [*near, 0.0, LARGEST, -LARGEST]:
        if math.isfinite(x):
            assert (x in side) is satisfies(a, x, b, strict)


def test_polyhedron_knows_plain_bounds_and_takes_the_narrowest():
    wedge = Polyhedron([[1, 0], [2, 0], [-1, 0], [1, 0]], [5, 8, 1, 4], [False, False, True, True])
    assert wedge.to_box() == Box([-1, -INF], [4, INF], False, [False, True])
    for row in ([0.0, -1.0], [0.5, 0.5], [1.0, 1e-17], [2, 0]):
        assert Polyhedron([row], [1.0]).has_unit_rows is (row[0] == 0)
    everything = Polyhedron(np.empty((0, 2)), [])
    assert everything.to_box() == Box.unbounded(2)
    assert everything.contains([[INF, -INF], [0.0, NAN]]).tolist() == [True, True]
    row = [[1.0, 0.0]]
    assert Polyhedron(row, [1.0], sets={1: []}).is_empty()
    assert Polyhedron([[1.0, 2.0]], [1.0], known=[1]) == Polyhedron([[1.0, 2.0]], [1.0])
    assert Polyhedron(row, [1.0], known=[1]) != Polyhedron(row, [1.0])


def is_empty(A, b, strict):
    rows = np.any(A != 0, axis=1)
    return Polyhedron(A[rows], b[rows], strict[rows]).is_empty()


entries = st.sampled_from([-3.0, -1.0, -0.1, 0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 1e-300, 1e300])
ends = st.sampled_from([-1.0, -0.1, 0.0, 0.0, 0.1, 1.0, 3.0, SMALLEST])


@MANY
@given(data=st.data(), through_point=st.booleans())
def test_polyhedron_is_empty_as_elimination_decides(data, through_point):
    n, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    whole = st.integers(-3, 3).map(float)
    row = st.lists(whole if through_point else entries, min_size=n, max_size=n).filter(any)
    A = np.array(data.draw(st.lists(row, min_size=k, max_size=k)))
    # On the edge all rows go through one point.
    point = np.array(data.draw(st.lists(whole, min_size=n, max_size=n))) / 8
    b = A @ point if through_point else np.array(data.draw(st.lists(ends, min_size=k, max_size=k)))
    strict = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    assert is_empty(A, b, strict) != has_solution(A, b, strict)


def margin(A, b):
    """How far inside of all rows a point can be (negative: by how much they must be relaxed)."""
    norms, n = np.linalg.norm(A, axis=1), A.shape[1]
    ranges = [(None, None)] * n + [(None, 1.0)]
    return linprog(np.r_[np.zeros(n), -1.0], A_ub=np.c_[A, norms], b_ub=b, bounds=ranges).x[-1]


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_polyhedron_of_many_rows_is_empty_as_linear_programming_decides(seed, n):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(n + 1, 3 * n + 2))
    A = rng.normal(size=(k, n)).round(int(rng.integers(0, 4)))
    A[~A.any(axis=1)] = 1.0
    b = rng.normal(size=k) + rng.choice([-0.5, 0.0, 0.5])
    distance = margin(A, b)
    assume(abs(distance) > 1e-6)
    for strict in (np.zeros(k, dtype=bool), np.ones(k, dtype=bool)):
        assert is_empty(A, b, strict) is bool(distance < 0)


def test_polyhedron_on_the_edge_of_emptiness_is_decided_exactly_in_any_order():
    for rows, limits_, flags, empty in [
        ([[3.0], [-3.0]], [1, -1], [0, 0], False),  # a third, which no float is
        ([[3.0], [-3.0]], [1, -1], [1, 0], True),
        ([[0.1, 0.2], [-1, 0], [0, -1]], [0.3, -1, -1], [0, 0, 0], True),  # 0.1 + 0.2 is not 0.3
        ([[1, 1], [-1, 0], [0, -1]], [0, 0, 0], [1, 0, 0], True),
        ([[1e300, 1], [-1e300, -1]], [1e-300, -1e-300], [0, 0], False),
        ([[1, 1e-16], [-1, -1e-16]], [1, np.nextafter(-1, -2)], [0, 0], True),
    ]:
        A, b, strict = np.array(rows, float), np.array(limits_, float), np.array(flags, bool)
        assert has_solution(A, b, strict) != empty
        for order in map(list, itertools.permutations(range(len(b)))):
            assert is_empty(A[order], b[order], strict[order]) is empty


def degenerate():
    """Systems on which pivoting rules are known to cycle or to wander."""
    beale = np.array([[0.25, -60, -0.04, 9], [0.5, -90, -0.02, 3], [0, 0, 1, 0]])
    A = np.vstack([beale, -np.eye(4), [[-0.75, 150, -0.02, 6]]])
    # The optimum is -1/20; the decimals are floats, so leave room.
    yield A, np.r_[0, 0, 1, np.zeros(4), -0.049], False
    yield A, np.r_[0, 0, 1, np.zeros(4), -0.051], True
    n = 7  # Klee and Minty's cube, at its optimum and beyond
    cube = [[2.0 ** (i - j + 1) if j < i else float(i == j) for j in range(n)] for i in range(n)]
    goal = -np.array([[2.0 ** (n - 1 - j) for j in range(n)]])
    top = np.r_[[5.0**i for i in range(1, n + 1)], np.zeros(n)]
    yield np.vstack([cube, -np.eye(n), goal]), np.r_[top, -(5.0**n)], False
    yield np.vstack([cube, -np.eye(n), goal]), np.r_[top, -(5.0**n) - 1], True
    yield np.vstack([np.eye(5), -np.eye(5)] * 6), np.zeros(60), False
    circle = np.eye(12) - np.roll(np.eye(12), 1, axis=1)
    yield circle, np.zeros(12), False
    yield circle, np.r_[np.zeros(11), -1.0], True


def test_polyhedron_of_degenerate_rows_is_decided():
    for A, b, empty in degenerate():
        assert is_empty(A, b, np.zeros(len(b), bool)) is empty


small = st.floats(-8, 8, width=16)


@given(st.lists(small, min_size=3, max_size=3), small,
    st.lists(st.lists(small, min_size=3, max_size=3), min_size=1, max_size=8))  # fmt: skip
def test_hyperplane_decision_and_sides_are_those_of_fractions(coef, intercept, X):
    """With so few bits no sum is rounded."""
    plane = Hyperplane(coef, intercept)
    values = [exact_sum(coef, row, intercept) for row in X]
    assert plane.decision(X).tolist() == [float(v) for v in values]
    assert plane.side(1).contains(X).tolist() == [v > 0 for v in values]
    assert plane.side(-1).contains(X).tolist() == [v <= 0 for v in values]
    weights, constant = plane.exact()
    assert [*map(float, weights), float(constant)] == [*plane.coef.tolist(), plane.intercept]
    assert plane.active == tuple(j for j, w in enumerate(coef) if w)


@MANY
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0, 12, 300]))
def test_half_space_contains_exactly_what_fractions_say(seed, n, decades):
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=n) * 10.0 ** rng.uniform(-decades / 2, decades / 2, size=n)
    X = rng.normal(size=(6, n))
    X[:, -1], coef[-1] = X[:, 0], -coef[0] if n > 1 else coef[0]
    intercept = float(-exact_sum(coef, X[0]))
    for constant in (intercept, np.nextafter(intercept, INF), np.nextafter(intercept, -INF)):
        plane = Hyperplane(coef, constant)
        signs = [sign_of(exact_sum(coef, row, constant)) for row in X]
        for reach in (None, np.abs(X).max(axis=0)):
            assert plane.side(1).contains_exactly(X, reach).tolist() == [s > 0 for s in signs]
            assert plane.side(-1).contains_exactly(X, reach).tolist() == [s <= 0 for s in signs]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 90))
def test_hyperplane_decision_of_a_row_has_the_same_bits_alone_and_among_others(seed, m, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-6, 6, n)
    coef = rng.normal(size=n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])
    plane = Hyperplane(coef, 0.1)
    scores = plane.decision(X)
    repeated = plane.decision(np.tile(X, (1 + 1030 // m, 1)))
    for other in ([plane.decision(row[None])[0] for row in X], repeated[:m].tolist(), repeated[-m:].tolist(),
        plane.decision(np.asfortranarray(X)).tolist(), plane.decision(X[::-1])[::-1].tolist()):  # fmt: skip
        assert scores.tolist() == other
    for row, score in zip(X, scores, strict=True):
        total = 0.0
        for x, w in zip(row.tolist(), coef.tolist(), strict=True):
            total = total + x * w if w else total
        assert score == total + 0.1


def test_hyperplane_scores_missing_and_infinite_sums_without_a_warning():
    plane, X = Hyperplane([1.0, 0.0], 0.0), [[NAN, 0.0], [0.0, NAN]]
    # A column without weight does not matter.
    assert plane.side(1).contains(X).tolist() == [False, False]
    assert plane.side(-1).contains(X).tolist() == [False, True]
    huge = Hyperplane([1.6e308, 1.6e308], 0.0)
    assert huge.decision(np.ones((5, 2))).tolist() == [INF] * 5
    rows = [[INF, INF], [INF, 0.0], [0.0, INF], [-1e308, 1e308]]
    assert Polyhedron([[1.0, -1.0]], [0.0]).contains(rows).tolist() == [False, False, True, True]


def test_bad_planes_and_inequalities_are_refused():
    for act, name in [(lambda: Hyperplane([[1.0]], 0.0), "weights"), (lambda: Hyperplane([NAN], 0.0), "weights"),
        (lambda: Hyperplane([1.0], None), "intercept"), (lambda: Hyperplane([1.0], 0.0).side(0), "sign"),
        (lambda: HalfSpace([1.0], 1), "Hyperplane"), (lambda: Polyhedron([1.0], [1.0]), "two dimensions"),
        (lambda: Polyhedron([[1.0]], [1.0, 2.0]), "right-hand side"),
        (lambda: Polyhedron([[0.0, 0.0]], [1.0]), "row 1"), (lambda: Polyhedron([[1.0]], [1.0], [1]), "strict"),
        (lambda: Polyhedron([[1.0]], [1.0], False, {0: [1]}), "feature 0"),
        (lambda: Polyhedron([[1.0, 0.0]], [1.0], missing=[1], known=[1]), "feature 1"),
        (lambda: Polyhedron([[1.0, 0.0]], [1.0], missing=[0]), "feature 0"),
        (lambda: Polyhedron([[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0]).to_box(), "row 2")]:  # fmt: skip
        with pytest.raises(InvalidValueError, match=name):
            act()
