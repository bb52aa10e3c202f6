"""Recourse over what can be: one category of each feature, whole numbers, declared ends, against everybody possible."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import Domain, FeatureSpace
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings import recourse

from .recourse_cases import linear

NAMES = ["children", "car", "tv", "other", "own", "rent"]
PURPOSES, HOUSING = ["car", "tv", "other"], ["own", "rent"]


def domain(most=4, *, declared=True):
    space = FeatureSpace(NAMES, [0.0] * 6, [float(most), *[1.0] * 5], integer=True)
    groups = {
        "purpose": {name: name for name in PURPOSES},
        "housing": {name: name for name in HOUSING},
    }
    return Domain(space, declared, declared, groups)


def everybody(most):
    for children, purpose, housing in itertools.product(range(most + 1), PURPOSES, HOUSING):
        yield {
            "children": children,
            **{name: int(name == purpose) for name in PURPOSES},
            **{name: int(name == housing) for name in HOUSING},
        }


def price(before, after):
    moved = abs(after["children"] - before["children"]) * 0.3
    for columns in (PURPOSES, HOUSING):
        moved += any(after[name] != before[name] for name in columns)
    return moved


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_the_cheapest_change_is_that_of_the_nearest_possible_person(seed, most):
    rng = np.random.default_rng(seed)
    coef = np.round(rng.normal(size=6), 2)
    # Between the values that are possible, so that nobody is on the boundary.
    model = linear(coef, round(float(rng.normal()), 1) + 0.005, NAMES)
    people = list(everybody(most))
    own = people[int(rng.integers(len(people)))]
    answer = recourse(model, own, actionable=NAMES, bounds=domain(most), costs={"children": 0.3})
    frame = pd.DataFrame(people)[NAMES]
    other = model.predict(frame) != model.predict(pd.DataFrame([own])[NAMES])[0]
    costs = [price(own, person) for person, is_other in zip(people, other, strict=True) if is_other]
    assert answer.feasible == bool(costs)
    if costs:
        assert answer.cost == pytest.approx(min(costs))
        changed = {**own, **{change.feature: change.after for change in answer.changes}}
        assert changed in people
        assert answer.verified


def test_two_categories_are_never_taken_at_once():
    # Two purposes at once would be enough, which nobody can have.
    model = linear([0.0, 1.0, 1.0, 0.0, 0.0, 0.0], -1.5, NAMES)
    own = {"children": 1, "car": 0, "tv": 0, "other": 1, "own": 1, "rent": 0}
    answer = recourse(model, own, actionable=PURPOSES, bounds=domain())
    assert not answer.feasible
    assert answer.shortfall == pytest.approx(0.5)
    free = recourse(model, own, actionable=PURPOSES, bounds=dict.fromkeys(PURPOSES, (0, 1)))
    assert free.feasible


def test_further_ways_count_a_categorical_feature_once():
    model = linear([1.0, 2.0, 2.5, 0.0, 0.0, 3.0], -1.9, NAMES)
    own = {"children": 0, "car": 0, "tv": 0, "other": 1, "own": 1, "rent": 0}
    answer = recourse(model, own, actionable=NAMES, bounds=domain(), n_alternatives=4)
    ways = [answer, *answer.alternatives]
    changed = [{change.feature for change in way.changes} for way in ways]
    assert len(ways) == 3
    assert {"other"} < changed[0] | changed[1] | changed[2]
    assert sum(bool(names & set(PURPOSES)) for names in changed) == 1
    assert "were 0 instead of 1" in str(answer) or "were 1 instead of 0" in str(answer)


def test_ends_that_were_only_seen_do_not_move_a_case_and_declared_ones_do():
    own = {"children": 6, "car": 0, "tv": 0, "other": 1, "own": 1, "rent": 0}
    model = linear([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], -6.5, NAMES)
    seen = recourse(model, own, actionable=["children"], bounds=domain(4, declared=False))
    assert not seen.feasible  # it may stay at 6, which is beyond the range
    assert seen.best_score == pytest.approx(-0.5)
    wider = recourse(model, own, actionable=["children"], bounds=domain(9, declared=False))
    assert wider.changes[0].after == 7


@pytest.mark.parametrize(
    ("own", "actionable", "error", "message"),
    [
        (
            {"car": 1, "tv": 1},
            PURPOSES,
            DataError,
            "exactly one column of 'purpose' must be 1 .* car = 1, tv = 1",
        ),
        (
            {"car": 0, "tv": 1},
            ["car"],
            InvalidValueError,
            "now 'tv': one can be taken only if 'tv' may be given up",
        ),
        (
            {"car": 0, "tv": 1},
            {"car": "increase", "tv": "any"},
            InvalidValueError,
            "'car' is a category .* allow 'any'",
        ),
    ],
)
def test_what_cannot_be_is_named(own, actionable, error, message):
    case = {"children": 1, "other": 0, "own": 1, "rent": 0, **own}
    with pytest.raises(error, match=message):
        recourse(linear([1.0] * 6, -2.5, NAMES), case, actionable=actionable, bounds=domain())


def test_a_domain_of_other_features_is_refused():
    other = Domain(FeatureSpace(["age"], [0.0], [99.0]))
    own = {"children": 1, "car": 0, "tv": 0, "other": 1, "own": 1, "rent": 0}
    with pytest.raises(InvalidValueError, match="the domain names unknown feature 'age'"):
        recourse(linear([1.0] * 6, -2.5, NAMES), own, actionable=["children"], bounds=other)


# Relations between features

PAIR = ["low", "high"]


@given(st.integers(0, 2**32))
@settings(max_examples=40)
def test_the_cheapest_change_satisfies_the_relations_as_the_nearest_possible_person_does(seed):
    rng = np.random.default_rng(seed)
    coef, intercept = np.round(rng.normal(size=2), 2), round(float(rng.normal(0, 3)), 1) + 0.005
    model = linear(coef, intercept, PAIR)
    space = FeatureSpace(PAIR, [0.0, 0.0], [6.0, 6.0], integer=True)
    ordered = Domain(space, True, True, relations="low <= high and low + high <= 9")
    people = [
        {"low": a, "high": b}
        for a, b in itertools.product(range(7), repeat=2)
        if a <= b and a + b <= 9
    ]
    own = people[int(rng.integers(len(people)))]
    costs = {"low": 0.3, "high": 1.0}
    answer = recourse(model, own, actionable=PAIR, bounds=ordered, costs=costs)
    said = model.predict(pd.DataFrame(people)[PAIR])
    other = said != said[people.index(own)]
    prices = [
        sum(costs[name] * abs(person[name] - own[name]) for name in PAIR)
        for person, is_other in zip(people, other, strict=True)
        if is_other
    ]
    assert answer.feasible == bool(prices)
    if prices:
        after = {**own, **{change.feature: change.after for change in answer.changes}}
        assert after in people
        assert answer.verified
        assert answer.cost == pytest.approx(min(prices))


def test_what_adds_nothing_to_the_score_moves_where_a_relation_asks_for_it():
    model = linear([1.0, 0.0], -80.0, PAIR)
    space = FeatureSpace(PAIR, [40.0, 40.0], [200.0, 200.0])
    ordered = Domain(space, True, True, relations="low <= high")
    own = {"low": 60.0, "high": 70.0}
    answer = recourse(model, own, actionable=PAIR, bounds=ordered)
    after = {change.feature: change.after for change in answer.changes}
    assert 80 < after["low"] <= after["high"] < 80.001
    nothing = recourse(model, own, actionable=["low"], bounds=ordered)
    assert not nothing.feasible
    assert nothing.shortfall == pytest.approx(10.0)
    equal = recourse(model, {"low": 70.0, "high": 70.0}, actionable=PAIR, bounds=ordered)
    after = {change.feature: change.after for change in equal.changes}
    assert equal.verified
    assert after["low"] <= after["high"]


def test_a_case_beyond_a_relation_is_refused():
    ordered = Domain(FeatureSpace(PAIR), relations="low <= high")
    model = linear([1.0, 0.0], -80.0, PAIR)
    with pytest.raises(
        DataError, match=r"does not satisfy 'low - high <= 0': it has low = 90, high = 7"
    ):
        recourse(model, {"low": 90.0, "high": 70.0}, actionable=PAIR, bounds=ordered)
    with pytest.raises(
        InvalidValueError, match="with relations each feature needs bounds, and 'low'"
    ):
        recourse(
            model,
            {"low": 60.0, "high": 70.0},
            actionable=PAIR,
            bounds=ordered,
            costs=dict.fromkeys(PAIR, 1.0),
        )
