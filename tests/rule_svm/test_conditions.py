from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_svm.conditions import Conditions, Kind
from clearmargin.rules import FeatureSpace


def _table(seed: int, m: int = 30) -> tuple[FeatureSpace, np.ndarray]:
    """Two numeric columns, one with missing values, and two categorical ones."""
    rng = np.random.default_rng(seed)
    table = np.column_stack(
        [
            rng.integers(0, 6, m),
            np.round(rng.normal(size=m), 1),
            rng.integers(0, 3, m),
            rng.integers(-1, 2, m),  # -1: a category that nobody knows
        ]
    ).astype(float)
    table[rng.random((m, 4)) < 0.15] = np.nan
    names = ["count", "size", "colour", "known"]
    categories = {"colour": ["red", "green", "blue"], "known": ["no", "yes"]}
    return FeatureSpace(names, integer=[True, False, False, False], categories=categories), table


def _holds(conditions: Conditions, c: int, x: np.ndarray) -> np.ndarray:
    """What a condition says, word by word."""
    kind = conditions.kind[c]
    if kind == Kind.MISSING:
        return np.isnan(x)
    if kind == Kind.EQUAL:
        return x == conditions.code[c]
    return x <= conditions.threshold[c] if kind == Kind.AT_MOST else x > conditions.threshold[c]


@given(seed=st.integers(0, 1000), max_bins=st.integers(2, 20))
@settings(max_examples=25, deadline=None)
def test_masks_are_what_the_conditions_say(seed, max_bins):
    space, table = _table(seed)
    conditions = Conditions.of_table(space, table, max_bins)
    masks = conditions.masks(table)
    _, other = _table(seed + 1)  # rows that the conditions were not made of
    for rows in (table, other):
        masks = conditions.masks(rows)
        for c in range(len(conditions)):
            expected = _holds(conditions, c, rows[:, conditions.feature[c]])
            assert (masks[:, c] == expected).all()
            assert (conditions.region([c]).contains(rows) == expected).all()


@given(seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_sums_over_cells_are_sums_over_rows(seed):
    space, table = _table(seed)
    conditions = Conditions.of_table(space, table, 4)
    cells, masks = conditions.cells(table), conditions.masks(table)
    v = np.random.default_rng(seed).integers(-9, 9, len(table)).astype(float)
    for j in conditions.used:
        sums = np.bincount(cells[j], weights=v, minlength=conditions.width(j))
        mine = slice(conditions.starts[j], conditions.starts[j + 1])
        assert (conditions.gather(j, sums) == v @ masks[:, mine]).all()


@given(seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_the_region_of_a_rule_holds_the_rows_of_its_mask(seed):
    space, table = _table(seed)
    conditions = Conditions.of_table(space, table, 8)
    rng = np.random.default_rng(seed)
    items = rng.choice(len(conditions), size=(20, 3))
    masks = conditions.rule_masks(items, table)
    for rule, mask in zip(items.tolist(), masks.T, strict=True):
        if mask.any():
            assert (conditions.region([*rule, -1]).contains(table) == mask).all()


def test_conditions_stand_in_the_order_that_breaks_ties():
    space, table = _table(0)
    conditions = Conditions.of_table(space, table, 8)
    keys = list(
        zip(conditions.feature, conditions.kind, conditions.threshold, conditions.code, strict=True)
    )
    assert keys == sorted(keys)


def test_columns_that_say_nothing_have_no_condition():
    table = np.array([[1.0, np.nan, 0.0], [1.0, np.nan, 0.0], [1.0, np.nan, 0.0]])
    space = FeatureSpace(["constant", "missing", "one"], categories={"one": ["a", "b"]})
    assert len(Conditions.of_table(space, table)) == 0


def test_at_most_so_many_bins_and_categories_a_column():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=500), rng.integers(0, 50, 500)])
    space = FeatureSpace(["x", "c"], categories={"c": [f"c{k}" for k in range(50)]})
    conditions = Conditions.of_table(space, table, 8)
    assert [len(each) for each in conditions.thresholds] == [7, 0]
    codes = conditions.codes[1]
    counts = np.bincount(table[:, 1].astype(int))
    assert len(codes) == 8
    assert min(counts[list(codes)]) >= np.sort(counts)[-8]


def test_contradictory_conditions_are_refused_by_name():
    conditions = Conditions(FeatureSpace(["age"]), [[30.0, 60.0]], [()], [False])
    with pytest.raises(InvalidValueError, match="age <= 30 and age > 60"):
        conditions.region([0, 3])


def test_features_must_be_as_many_as_those_of_the_space():
    with pytest.raises(InvalidValueError, match="conditions for 1, 1 and 1 features of 2"):
        Conditions(FeatureSpace(["a", "b"]), [[1.0]], [()], [False])
