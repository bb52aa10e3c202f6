"""What can be, against the enumeration of all cases and against fractions."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, Domain, FeatureSpace, Hyperplane, OneHot, Polyhedron

PURPOSE = {"purpose": {"car": "car", "tv": "tv", "other": "other"}}
LOAN = Domain(
    FeatureSpace(["age", "car", "tv", "other"], [18, 0, 0, 0], [80, 1, 1, 1], integer=True),
    groups=PURPOSE,
)


def value(weights, x, intercept):
    exact = Fraction(intercept)
    return exact + sum(
        Fraction(float(w)) * Fraction(float(a)) for w, a in zip(weights, x, strict=True)
    )


@st.composite
def domains(draw, whole):
    """Up to six columns: numbers first, then up to two groups of 0/1 columns."""
    numbers = draw(st.integers(1, 2))
    sizes = draw(st.lists(st.integers(1, 3), max_size=2))
    n = numbers + sum(sizes)
    lower, upper = np.zeros(n), np.ones(n)
    for j in range(numbers):
        lower[j], upper[j] = sorted(draw(st.tuples(*[st.integers(-3, 3)] * 2)))
    integer = [whole] * numbers + [True] * (n - numbers)
    groups, start = [], numbers
    for k, size in enumerate(sizes):
        groups.append(OneHot(f"g{k}", range(start, start + size), [str(c) for c in range(size)]))
        start += size
    space = FeatureSpace([f"x{j}" for j in range(n)], lower, upper, integer)
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return Domain(space, draw(flags), draw(flags), groups)


@st.composite
def boxes_over(draw, n):
    ends = st.sampled_from([-math.inf, -2.5, -1.0, 0.0, 0.5, 1.0, 2.0, math.inf])
    lower, upper = np.empty(n), np.empty(n)
    for j in range(n):
        lower[j], upper[j] = sorted(draw(st.tuples(ends, ends)))
    lower[lower == math.inf], upper[upper == -math.inf] = -math.inf, math.inf
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return Box(lower, upper, draw(flags), draw(flags))


def all_cases(domain):
    """Every possible case within the ranges, for columns of whole numbers."""
    grouped = {j for group in domain.groups for j in group.columns}
    numbers = [j for j in range(domain.n_features) if j not in grouped]
    values = [range(int(domain.space.lower[j]), int(domain.space.upper[j]) + 1) for j in numbers]
    for chosen in itertools.product(*values):
        for ones in itertools.product(*(group.columns for group in domain.groups)):
            x = np.zeros(domain.n_features)
            x[numbers] = chosen
            x[list(ones)] = 1.0
            yield x


@given(st.data())
def test_extremes_are_those_of_the_enumeration_of_all_cases(data):
    domain = data.draw(domains(whole=True))
    n = domain.n_features
    box = data.draw(boxes_over(n))
    weights = data.draw(
        st.lists(st.sampled_from([-2.0, -0.1, 0.0, 0.3, 1.0]), min_size=n, max_size=n)
    )
    cases = [x for x in all_cases(domain) if box.contains(x[None])[0]]
    lowest = domain.minimum(weights, 0.7, within=box, seen=True)
    highest = domain.maximum(weights, 0.7, within=box, seen=True)
    assert domain.is_possible(box, seen=True) == bool(cases)
    if not cases:
        assert lowest is None
        assert highest is None
        return
    values = [value(weights, x, 0.7) for x in cases]
    for found, best in ((lowest, min(values)), (highest, max(values))):
        assert found.value == best
        assert found.is_attained
        assert domain.contains(found.point[None], seen=True)[0]
        assert box.contains(found.point[None])[0]
        assert value(weights, found.point, 0.7) == best
    tight = domain.tighten(box, seen=True)
    assert (tight.lower == np.min(cases, axis=0)).all()
    assert (tight.upper == np.max(cases, axis=0)).all()


@given(st.data())
def test_what_a_domain_implies_is_what_all_its_cases_satisfy(data):
    domain = data.draw(domains(whole=True))
    box = data.draw(boxes_over(domain.n_features))
    cases = np.array(list(all_cases(domain)))
    inside = box.contains(cases)
    assert domain.implies(box, seen=True) == inside.all()
    if not box.is_empty:
        assert domain.implies(Polyhedron.from_box(box), seen=True) == inside.all()
    fewer = domain.without_implied(box, seen=True)
    assert (fewer.contains(cases) == inside).all()
    assert len(fewer.bounded) <= len(box.bounded)


@given(st.data())
def test_open_bounds_are_approached_by_possible_cases_on_the_same_side_of_zero(data):
    domain = data.draw(domains(whole=False))
    n = domain.n_features
    box = data.draw(boxes_over(n))
    weights = data.draw(
        st.lists(st.sampled_from([-2.0, -0.1, 0.0, 0.3, 1.0]), min_size=n, max_size=n)
    )
    seen = data.draw(st.booleans())
    lowest = domain.minimum(weights, 0.2, within=box, seen=seen)
    if lowest is None:
        assert domain.tighten(box, seen=seen).is_empty
        return
    assert lowest.point is not None
    assert box.contains(lowest.point[None])[0]
    assert domain.contains(lowest.point[None], seen=seen)[0]
    met = value(weights, lowest.point, 0.2)
    assert met == lowest.value if lowest.is_attained else met > lowest.value
    assert (met < 0) == (lowest.value < 0)
    rng = np.random.default_rng(0)
    tight = domain.tighten(box, seen=seen)
    low, high = np.maximum(tight.lower, -50.0), np.minimum(tight.upper, 50.0)
    for x in rng.uniform(low, high, size=(20, n)):
        for group in domain.groups:
            free = [j for j in group.columns if tight.upper[j] == 1.0]
            x[list(group.columns)] = 0.0
            x[rng.choice(free)] = 1.0
        assert value(weights, x, 0.2) >= lowest.value
    if any(weights):
        expected = lowest.value > 0 or (lowest.value == 0 and not lowest.is_attained)
        assert domain.is_inside(box, Hyperplane(weights, 0.2).side(1), seen=seen) == expected


def test_a_loan_has_one_purpose_so_that_the_minimum_is_five_and_not_zero():
    over_box = Box([18, 0, 0, 0], [80, 1, 1, 1])
    assert not over_box.is_inside(Hyperplane([0.0, 5.0, 6.0, 7.0], -4.0).side(1))
    assert LOAN.is_inside(over_box, Hyperplane([0.0, 5.0, 6.0, 7.0], -4.0).side(1))
    lowest = LOAN.minimum([0.0, 5.0, 6.0, 7.0], within=over_box)
    assert (lowest.value, lowest.is_attained) == (5, True)
    assert LOAN.name_values(lowest.point) == {"age": 18.0, "purpose": "car"}
    not_a_car = LOAN.minimum([0.0, 5.0, 6.0, 7.0], within=Box([18, 0, 0, 0], [80, 0, 1, 1]))
    assert LOAN.name_values(not_a_car.point, [1, 2]) == {"purpose": "tv"}


def test_a_strict_bound_on_whole_numbers_ends_one_before():
    younger = Box([-math.inf] * 4, [25.0, 1, 1, 1], upper_closed=[False, True, True, True])
    highest = LOAN.maximum([1.0, 0.0, 0.0, 0.0], within=younger)
    assert (highest.value, highest.point[0]) == (24, 24.0)


def test_ranges_that_were_only_seen_imply_nothing():
    space = FeatureSpace(["credits"], [1.0], [4.0], integer=True)
    condition = Box([1.0], [math.inf])
    assert not Domain(space).implies(condition)
    assert Domain(space, lower_declared=True).implies(condition)
    assert Domain(space).minimum([1.0]).value == -math.inf
    assert Domain(space).minimum([1.0], seen=True).value == 1


def test_a_function_without_a_bound_has_a_witness_far_out():
    lowest = Domain(FeatureSpace(["a", "b"])).minimum([1e-3, -1.0], 100.0)
    assert lowest.value == -math.inf
    assert not lowest.is_attained
    assert value([1e-3, -1.0], lowest.point, 100.0) < 0


def test_columns_of_codes_hold_known_categories_and_take_no_weight():
    domain = Domain(FeatureSpace(["age", "colour"], categories={"colour": ["red", "blue"]}))
    assert domain.contains([[1.5, 1], [1.5, 2], [1.5, -1], [np.nan, 0]]).tolist() == [
        True,
        False,
        False,
        False,
    ]
    assert domain.name_values([3.0, 1.0]) == {"age": 3.0, "colour": "blue"}
    blue = Box.from_intervals({}, 2, {1: [1]})
    assert domain.minimum([1.0, 0.0], within=blue, near=[0.0, 0.0]).point[1] == 1.0
    assert not domain.implies(blue)
    assert domain.implies(Box.from_intervals({}, 2, {1: [0, 1]}))
    assert not domain.without_implied(Box.from_intervals({}, 2, {1: [0, 1]})).bounded
    with pytest.raises(InvalidValueError, match="weight on a category code has no meaning"):
        domain.minimum([1.0, 1.0])


def test_numbers_beyond_two_to_the_53_are_whole_and_strict_bounds_move_to_the_next_float():
    large = 2.0**60
    domain = Domain(FeatureSpace(["n"], integer=True))
    box = domain.round_to_values(Box([large], [math.inf], lower_closed=False))
    assert box.lower[0] == math.nextafter(large, math.inf)


def test_a_domain_is_a_value():
    again = Domain(LOAN.space, groups=PURPOSE)
    assert again == LOAN
    assert hash(again) == hash(LOAN)
    assert pickle.loads(pickle.dumps(LOAN)) == LOAN
    with pytest.raises(ValueError, match="read-only"):
        LOAN.lower_declared[0] = True
    assert repr(LOAN) == "Domain(4 columns, 3 with a declared range, purpose: one of 3 columns)"


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"g": {"a": "agee"}}, "unknown column 'agee'; did you mean 'age'"),
        ({"g": {"a": "age"}}, "'age' ranges from 18 to 80; a group has 0/1 columns"),
        ({"g": {"a": 1}, "h": {"b": 1}}, "column 'car' is in two groups"),
        ({"g": {"a": 9}}, "a group names column 9, but there are 4 columns"),
        ({"g": ["car", "tv"]}, "must map each category to its column"),
        ({"g": {}}, "needs one column for each category"),
        ([(1, 2)], "a OneHot or a mapping, not tuple"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups, words):
    with pytest.raises(InvalidValueError, match=words):
        Domain(LOAN.space, groups=groups)


def test_columns_of_a_group_differ():
    with pytest.raises(InvalidValueError, match=r"'g' must differ: \(1, 1\), \('a', 'b'\)"):
        OneHot("g", [1, 1], ["a", "b"])
    with pytest.raises(InvalidValueError, match=r"'g' must differ: \(1, 2\), \('a', 'a'\)"):
        OneHot("g", [1, 2], ["a", "a"])


def test_where_no_case_is_possible_everything_is_true_of_all_cases():
    nobody = Box([90.0, 0, 0, 0], [99.0, 1, 1, 1])
    assert LOAN.minimum([1.0, 0, 0, 0], within=nobody, seen=True) is None
    assert LOAN.maximum([1.0, 0, 0, 0], within=nobody, seen=True) is None
    assert LOAN.proved_minimum([], [1.0, 0, 0, 0], within=nobody, seen=True) == np.inf
    assert LOAN.is_inside(nobody, Hyperplane([1.0, 0, 0, 0], -1e9).side(1), seen=True)


def test_a_function_that_falls_too_slowly_has_no_bound_and_no_witness():
    found = Domain(FeatureSpace(["x"])).minimum([5e-324], 1.0)
    assert (found.value, found.point) == (-np.inf, None)
    tied = Domain(FeatureSpace(["x", "a", "b"]), relations="a <= b")
    found = tied.minimum([5e-324, -1.0, 1.0], 1.0)
    assert (found.value, found.point) == (-np.inf, None)


def test_a_box_over_other_columns_is_refused():
    with pytest.raises(InvalidValueError, match="the domain has 4 columns, not 2"):
        LOAN.round_to_values(Box.unbounded(2))


def test_missing_values_are_no_cases_and_conditions_on_them_stay():
    absent, present = (
        Box.unbounded(4).intersect(Box([-np.inf] * 4, [np.inf] * 4, **flag))
        for flag in ({"missing": [0]}, {"known": [0]})
    )
    for box in (absent, present):
        assert not LOAN.implies(box)
        assert LOAN.without_implied(box) == box
        assert LOAN.round_to_values(box).missing == box.missing
    assert LOAN.minimum([1.0, 0.0, 0.0, 0.0], within=present, seen=True).value == 18
    with pytest.raises(InvalidValueError, match="cases in which 'age' is missing"):
        LOAN.minimum([1.0, 0.0, 0.0, 0.0], within=absent)
