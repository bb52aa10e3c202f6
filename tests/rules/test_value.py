"""Values never change, travel unharmed and are equal when they say the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from decimal import Decimal
from fractions import Fraction

import joblib
import numpy as np
import pytest

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import Box, FeatureSpace, Hyperplane, Interval, Polyhedron, Rule, RuleSet
from clearmargin.rules.value import bool_array, float_array, number

KINDS = [
    "Interval",
    "CategorySets",
    "Box",
    "Polyhedron",
    "Hyperplane",
    "HalfSpace",
    "FeatureSpace",
    "Rule",
    "RuleSet",
    "RuleStats",
    "RuleScores",
]


@pytest.fixture(params=KINDS)
def value(request, samples):
    return samples[request.param]


def arrays_in(value):
    """All arrays of a value and of the values in it."""
    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        for item in held if isinstance(held, tuple) else (held,):
            if isinstance(item, np.ndarray):
                yield item
            elif dataclasses.is_dataclass(item):
                yield from arrays_in(item)


def through_joblib(value, tmp_path, mmap_mode):
    file = tmp_path / "value.joblib"
    joblib.dump(value, file)
    return joblib.load(file, mmap_mode=mmap_mode)


WAYS = {
    "copy": lambda v, _: copy.copy(v),
    "deepcopy": lambda v, _: copy.deepcopy(v),
    **{
        f"pickle {p}": lambda v, _, p=p: pickle.loads(pickle.dumps(v, protocol=p))
        for p in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "joblib": lambda v, tmp: through_joblib(v, tmp, None),
    "joblib, mapped read-only": lambda v, tmp: through_joblib(v, tmp, "r"),
    "joblib, mapped copy-on-write": lambda v, tmp: through_joblib(v, tmp, "c"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_travelled_is_the_same_and_still_read_only(value, way, tmp_path):
    arrived = WAYS[way](value, tmp_path)
    assert arrived == value
    assert hash(arrived) == hash(value)
    assert repr(arrived) == repr(value)
    for array in arrays_in(arrived):
        assert type(array) is np.ndarray
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_what_does_not_count_for_equality_travels_too(samples):
    rules = samples["RuleSet"]
    arrived = pickle.loads(pickle.dumps(rules))
    for before, after in zip(rules, arrived, strict=True):
        assert (after.origin, after.proof, after.stats) == (
            before.origin,
            before.proof,
            before.stats,
        )


def test_no_field_can_be_set(value):
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
            setattr(value, field.name, None)


def test_no_field_can_be_added(value):
    # CPython before 3.12 answers a TypeError here (its own, about super) instead of the frozen error.
    with pytest.raises((AttributeError, TypeError), match=r"cannot assign|super|no attribute"):
        value.remark = "new"


def test_a_value_with_one_field_replaced_is_a_new_valid_value(samples):
    box = dataclasses.replace(samples["Box"], upper=[3.0, 4.0, np.inf])
    assert box.upper.tolist() == [3.0, 4.0, np.inf]
    rules = dataclasses.replace(samples["RuleSet"], classes=["ill", "well", "dead"])
    assert rules.classes == ("ill", "well", "dead")
    with pytest.raises(InvalidValueError, match="no class"):
        dataclasses.replace(samples["RuleSet"], classes=["ill"])


def test_values_of_different_kinds_are_different(samples):
    for one in samples:
        for other in samples:
            assert (samples[one] == samples[other]) is (one == other)
        assert samples[one] != repr(samples[one])


def test_equal_values_count_once_in_a_set():
    twice = [Box([0, 1], [2, 3]), Box([0.0, 1.0], np.array([2, 3])), Box([0, 1], [2, 4])]
    assert len(set(twice)) == 2


@pytest.mark.parametrize(
    ("make", "zeros"),
    [
        (lambda z: Interval(z, 1), "low"),
        (lambda z: Box([z, 0], [1, 1]), "lower"),
        (lambda z: Polyhedron([[1.0, z]], [z]), "b"),
        (lambda z: Hyperplane([1.0, z], z), "intercept"),
        (lambda z: FeatureSpace(["a", "b"], [z, 0], [1, 1]), "lower"),
    ],
)
def test_minus_zero_is_zero(make, zeros):
    minus, plus = make(-0.0), make(0.0)
    assert minus == plus
    assert hash(minus) == hash(plus)
    assert not np.signbit(getattr(minus, zeros)).any()


@pytest.mark.parametrize(
    "make",
    [
        lambda a: Box(a, a + 1),
        lambda a: Polyhedron(a.reshape(1, -1), [1.0]),
        lambda a: Hyperplane(a, 0.0),
        lambda a: FeatureSpace(["a", "b"], a, a + 1),
    ],
)
def test_the_array_of_the_caller_stays_writeable_and_later_changes_are_not_seen(make):
    mine = np.array([1.0, 2.0])
    value = make(mine)
    before = pickle.dumps(value)
    mine[:] = 7.0
    assert pickle.dumps(value) == before
    assert value == make(np.array([1.0, 2.0]))


def test_the_flags_of_the_caller_stay_writeable_and_later_changes_are_not_seen():
    flags = np.array([True, False])
    box, wedge = Box([0, 0], [1, 1], flags, flags), Polyhedron(np.eye(2), [1, 1], flags)
    flags[:] = [False, True]
    assert box.lower_closed.tolist() == [True, False]
    assert box.upper_closed.tolist() == [True, False]
    assert wedge.strict.tolist() == [True, False]


def test_numbers_of_any_kind_become_floats():
    mixed = [1, np.float32(0.5), Fraction(1, 4), Decimal("0.125"), True]
    assert float_array(mixed, "x").tolist() == [1.0, 0.5, 0.25, 0.125, 1.0]
    assert number(np.int8(3), "x") == 3.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "2"], "x must be numbers, not <U1 values"),
        ([1.0, "2"], "x must be numbers"),
        (np.array([1.0, "2"], dtype=object), "x must be numbers, not object"),
        (np.array(["2020-01-01"], dtype="M8[D]"), r"x must be numbers, not datetime64\[D\]"),
        ([1j], "x must be numbers, not complex128"),
        ([[1.0], [1.0, 2.0]], "x must be numbers: .*inhomogeneous"),
        ([object()], "x must be numbers: float"),
        ([10**400], "x must be numbers"),
        ([0.0, np.nan], r"x must not be NaN \(at position 1\)"),
        ([None], "x must not be NaN"),
        ([[0.0, 1.0], [np.nan, 2.0]], r"x must not be NaN \(at position \(1, 0\)\)"),
    ],
)
def test_what_is_no_row_of_numbers_is_refused(values, message):
    with pytest.raises(InvalidValueError, match=message):
        float_array(values, "x")


@pytest.mark.parametrize("value", ["1", b"1", None, [1.0, 2.0], 10**400, 1j])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(InvalidValueError, match="x must be a number, not "):
        number(value, "x")


def test_a_number_that_is_nan_is_refused():
    with pytest.raises(InvalidValueError, match="x must not be NaN"):
        number(np.nan, "x")


def test_a_wrong_shape_is_refused_and_a_single_number_is_spread():
    assert float_array(2, "x", shape=(3,)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(InvalidValueError, match=r"x has shape \(2,\), but \(3,\) is needed"):
        float_array([1, 2], "x", shape=(3,))


@pytest.mark.parametrize("flags", [[0, 1], ["yes", "no"], [None, True], 1.0])
def test_what_is_no_flag_is_refused(flags):
    with pytest.raises(InvalidValueError, match=r"x must be True or False, not .* values"):
        bool_array(flags, "x", shape=(2,))


def test_a_rule_set_that_was_used_still_equals_one_that_was_not(samples):
    used = RuleSet(samples["RuleSet"].rules, samples["FeatureSpace"], ["well", "ill"])
    used.covers([[30.0, 20.0, 1.0]])
    assert used == samples["RuleSet"]
    assert hash(used) == hash(samples["RuleSet"])
    assert pickle.loads(pickle.dumps(used)) == used


def test_where_a_rule_comes_from_does_not_count_for_equality():
    box = Box([0], [1])
    assert Rule(box, "a", origin="expert") == Rule(box, "a", origin="refined", proof="proved")
