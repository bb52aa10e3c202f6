"""Domains against the enumeration of all their cases, in fractions."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.exact import exact_sum
from tests.oracles.values import INF

from clearmargin import Box, Domain, FeatureSpace, Hyperplane
from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import OneHot

MANY = settings(max_examples=80)
PURPOSE = {"purpose": {"car": "car", "tv": "tv", "other": "other"}}
LOAN = Domain(FeatureSpace(["age", "car", "tv", "other"], [18, 0, 0, 0], [80, 1, 1, 1], integer=True),
    groups=PURPOSE)  # fmt: skip


@st.composite
def domains(draw, whole):
    """Up to six columns: numbers first, then up to two groups of 0/1 columns."""
    count = draw(st.integers(1, 2))
    sizes = draw(st.lists(st.integers(1, 3), max_size=2))
    n = count + sum(sizes)
    lower, upper = np.zeros(n), np.ones(n)
    for j in range(count):
        lower[j], upper[j] = sorted(draw(st.tuples(*[st.integers(-3, 3)] * 2)))
    integer = [whole] * count + [True] * (n - count)
    groups, start = [], count
    for k, size in enumerate(sizes):
        groups.append(OneHot(f"g{k}", range(start, start + size), [str(c) for c in range(size)]))
        start += size
    space = FeatureSpace([f"x{j}" for j in range(n)], lower, upper, integer)
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return Domain(space, draw(flags), draw(flags), groups)


@st.composite
def boxes_over(draw, n):
    ends = st.sampled_from([-INF, -2.5, -1.0, 0.0, 0.5, 1.0, 2.0, INF])
    pairs = np.sort(draw(st.lists(st.tuples(ends, ends), min_size=n, max_size=n)), axis=1)
    lower, upper = pairs[:, 0], pairs[:, 1]
    lower[lower == INF], upper[upper == -INF] = -INF, INF
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return Box(lower, upper, draw(flags), draw(flags))


def all_cases(domain):
    """Every possible case within the ranges, for columns of whole numbers."""
    grouped = {j for group in domain.groups for j in group.columns}
    free = [j for j in range(domain.n_features) if j not in grouped]
    values = [range(int(domain.space.lower[j]), int(domain.space.upper[j]) + 1) for j in free]
    for chosen in itertools.product(*values):
        for ones in itertools.product(*(group.columns for group in domain.groups)):
            x = np.zeros(domain.n_features)
            x[free], x[list(ones)] = chosen, 1.0
            yield x


def weights_for(n):
    return st.lists(st.sampled_from([-2.0, -0.1, 0.0, 0.3, 1.0]), min_size=n, max_size=n)


@MANY
@given(st.data())
def test_domain_extremes_are_those_of_the_enumeration_of_all_cases(data):
    domain = data.draw(domains(whole=True))
    box = data.draw(boxes_over(domain.n_features))
    weights = data.draw(weights_for(domain.n_features))
    cases = [x for x in all_cases(domain) if box.contains(x[None])[0]]
    lowest = domain.minimum(weights, 0.7, within=box, seen=True)
    highest = domain.minimum([-w for w in weights], -0.7, within=box, seen=True)
    assert domain.is_possible(box, seen=True) is bool(cases)
    tight = domain.tighten(box, seen=True)
    assert tight.is_empty != bool(cases)
    if not cases:
        assert lowest is highest is None
        return
    values = [exact_sum(weights, x, 0.7) for x in cases]
    for found, sign, best in ((lowest, 1, min(values)), (highest, -1, max(values))):
        assert (sign * found.value, found.is_attained) == (best, True)
        assert domain.contains(found.point[None], seen=True)[0]
        assert box.contains(found.point[None])[0]
        assert exact_sum(weights, found.point, 0.7) == best
    assert (tight.lower == np.min(cases, axis=0)).all()
    assert (tight.upper == np.max(cases, axis=0)).all()
    for sign in (1, -1):
        side = Hyperplane(weights, 0.7).side(sign)
        inside = all(v > 0 if sign > 0 else v <= 0 for v in values)
        assert domain.is_inside(box, side, seen=True) is inside


@MANY
@given(st.data())
def test_domain_approaches_open_bounds_by_possible_cases_on_the_same_side_of_zero(data):
    domain = data.draw(domains(whole=False))
    n = domain.n_features
    box, weights = data.draw(boxes_over(n)), data.draw(weights_for(n))
    seen = data.draw(st.booleans())
    lowest = domain.minimum(weights, 0.2, within=box, seen=seen)
    tight = domain.tighten(box, seen=seen)
    if lowest is None:
        assert tight.is_empty
        return
    assert box.contains(lowest.point[None])[0]
    assert domain.contains(lowest.point[None], seen=seen)[0]
    met = exact_sum(weights, lowest.point, 0.2)
    assert met == lowest.value if lowest.is_attained else met > lowest.value
    assert (met < 0) == (lowest.value < 0)
    rng = np.random.default_rng(0)
    low, high = np.maximum(tight.lower, -50.0), np.minimum(tight.upper, 50.0)
    for x in rng.uniform(low, high, size=(20, n)):
        for group in domain.groups:
            free = [j for j in group.columns if tight.upper[j] == 1.0]
            x[list(group.columns)] = 0.0
            x[rng.choice(free)] = 1.0
        assert exact_sum(weights, x, 0.2) >= lowest.value
    expected = lowest.value > 0 or (lowest.value == 0 and not lowest.is_attained)
    assert domain.is_inside(box, Hyperplane(weights, 0.2).side(1), seen=seen) is expected


def test_domain_with_one_hot_columns_has_exactly_one_of_them():
    over_box = Box([18, 0, 0, 0], [80, 1, 1, 1])
    assert not over_box.is_inside(Hyperplane([0.0, 5.0, 6.0, 7.0], -4.0).side(1))
    assert LOAN.is_inside(over_box, Hyperplane([0.0, 5.0, 6.0, 7.0], -4.0).side(1))
    lowest = LOAN.minimum([0.0, 5.0, 6.0, 7.0], within=over_box)
    assert (lowest.value, lowest.is_attained) == (5, True)
    assert LOAN.name_values(lowest.point) == {"age": 18.0, "purpose": "car"}
    not_a_car = LOAN.minimum([0.0, 5.0, 6.0, 7.0], within=Box([18, 0, 0, 0], [80, 0, 1, 1]))
    assert LOAN.name_values(not_a_car.point, [1, 2]) == {"purpose": "tv"}
    younger = Box([-INF] * 4, [25.0, 1, 1, 1], upper_closed=[False, True, True, True])
    highest = LOAN.minimum([-1.0, 0.0, 0.0, 0.0], within=younger)
    assert (highest.value, highest.point[0]) == (-24, 24.0)
    assert LOAN.contains([[30, 1, 0, 0], [30, 1, 1, 0], [30.5, 1, 0, 0], [17, 1, 0, 0]]).tolist() == [
        True, False, False, True]  # fmt: skip
    assert LOAN.contains([[17, 1, 0, 0]], seen=True).tolist() == [False]


def test_domain_points_stay_near_the_wished_case_where_weights_leave_it_free():
    found = LOAN.minimum([1.0, 0.0, 0.0, 0.0], seen=True, near=[50.0, 0.1, 0.7, 0.2])
    assert found.point.tolist() == [18.0, 0.0, 1.0, 0.0]
    found = LOAN.minimum([0.0, 1.0, 1.0, 2.0], seen=True, near=[50.4, 0.1, 0.7, 0.9])
    assert found.point.tolist() == [50.0, 0.0, 1.0, 0.0]
    open_box = Box([0.0, 0.0], [1.0, 1.0], False, False)
    plain = Domain(FeatureSpace(["a", "b"]))
    for near in ([0.5, 0.0], [0.5, 1.0]):
        point = plain.minimum([1.0, 0.0], within=open_box, near=near).point
        assert 0 < point[0] < 0.01
        assert 0 < abs(point[1] - near[1]) < 0.01


def test_domain_of_columns_with_categories_takes_known_codes_and_no_weight():
    domain = Domain(FeatureSpace(["age", "colour"], categories={"colour": ["red", "blue"]}))
    X = [[1.5, 1], [1.5, 2], [1.5, -1], [np.nan, 0]]
    assert domain.contains(X).tolist() == [True, False, False, False]
    assert domain.name_values([3.0, 1.0]) == {"age": 3.0, "colour": "blue"}
    blue, both = Box.from_intervals({}, 2, {1: [1]}), Box.from_intervals({}, 2, {1: [0, 1]})
    assert domain.minimum([1.0, 0.0], within=blue, near=[0.0, 0.0]).point[1] == 1.0
    assert domain.minimum([1.0, 0.0], within=both, near=[0.0, 1.0]).point[1] == 1.0


def test_domain_of_whole_numbers_beyond_two_to_the_53_moves_to_the_next_float():
    large = 2.0**60
    domain = Domain(FeatureSpace(["n"], integer=True))
    box = domain.round_to_values(Box([large], [INF], lower_closed=False))
    assert box.lower[0] == math.nextafter(large, INF)
    assert domain.round_to_values(Box([2.0], [5.5], False)) == Box([3.0], [5.0])


def test_domain_without_a_possible_case_makes_everything_true():
    nobody = Box([90.0, 0, 0, 0], [99.0, 1, 1, 1])
    assert LOAN.minimum([1.0, 0, 0, 0], within=nobody, seen=True) is None
    assert LOAN.is_inside(nobody, Hyperplane([1.0, 0, 0, 0], -1e9).side(1), seen=True)


def test_domain_keeps_conditions_on_missing_values():
    for flag in ({"missing": [0]}, {"known": [0]}):
        box = Box([-INF] * 4, [INF] * 4, **flag)
        assert LOAN.round_to_values(box).missing == box.missing
    present = Box([-INF] * 4, [INF] * 4, known=[0])
    assert LOAN.minimum([1.0, 0.0, 0.0, 0.0], within=present, seen=True).value == 18


def test_domain_is_a_value():
    again = Domain(LOAN.space, groups=PURPOSE)
    assert again == LOAN == pickle.loads(pickle.dumps(LOAN))
    assert hash(again) == hash(LOAN)
    with pytest.raises(ValueError, match="read-only"):
        LOAN.lower_declared[0] = True
    assert repr(LOAN) == "Domain(4 columns, 3 with a declared range, purpose: one of 3 columns)"


CODED = FeatureSpace(["c", "x"], categories={"c": ["u", "v"]})


def test_bad_domains_are_refused():
    for act, name in [(lambda: Domain(LOAN.space, groups={"g": {"a": "agee"}}), "'agee'"),
        (lambda: Domain(LOAN.space, groups={"g": {"a": 1}, "h": {"b": 1}}), "'car'"),
        (lambda: Domain(LOAN.space, groups={"g": {"a": 9}}), "column 9"),
        (lambda: Domain(LOAN.space, groups=[(1, 2)]), "OneHot"),
        (lambda: Domain(CODED, groups={"g": {"u": "c"}}), "'c'"), (lambda: OneHot("g", [1, 2], ["a"]), "'g'"),
        (lambda: Domain(LOAN.space, lower_declared=[True]), "lower_declared"),
        (lambda: LOAN.round_to_values(Box.unbounded(2)), "4 columns"),
        (lambda: LOAN.minimum([1.0, 0, 0, 0], within=Box([-INF] * 4, [INF] * 4, missing=[0])), "'age'"),
        (lambda: LOAN.minimum([1.0]), "weights"), (lambda: Domain(CODED).minimum([1.0, 1.0]), "code")]:  # fmt: skip
        with pytest.raises(InvalidValueError, match=name):
            act()
