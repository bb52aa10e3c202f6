"""How rules are chosen: every rule is priced, against brute force, and none twice."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import FeatureSpace
from clearmargin.rule_svm import selection
from clearmargin.rule_svm.choice import Problem, choose_setting, settings_up_to
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.selection import (
    Column,
    ExtraColumns,
    Rows,
    RuleSearch,
    column_matrix,
    select_columns,
)


def search_of(table, y, weight=None, most=2, monotone=None, extra=None) -> tuple[RuleSearch, Rows]:
    m, n = table.shape
    space = FeatureSpace([f"x{j}" for j in range(n)])
    rows = Rows(table, np.asarray(y, dtype=float)[None], np.ones(m) if weight is None else weight)
    conditions = Conditions.of_table(space, table, 32)
    beside = ExtraColumns.none(m) if extra is None else extra
    return RuleSearch(conditions, rows, beside, most, 0.0, monotone), rows


def gain(h: np.ndarray, residual: np.ndarray, weight: np.ndarray) -> float:
    total, inside = weight.sum(), weight @ h
    return abs(residual @ h) / np.sqrt(inside * (1 - inside / total))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 2]))
def test_the_rule_that_is_found_is_the_best_of_all(seed: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (60, 3)).astype(float)
    table[rng.integers(0, 60, 6), rng.integers(0, 3, 6)] = np.nan
    residual, weight = rng.normal(size=60), rng.uniform(0.5, 2.0, 60)
    search, _ = search_of(table, rng.choice([-1, 1], 60), weight, most)
    found = search.best(residual[None])
    masks = search.conditions.masks(table)
    values = []
    for k in range(1, most + 1):
        for items in combinations(range(masks.shape[1]), k):
            h = masks[:, items].all(axis=1)
            if 3 <= h.sum() <= 57:
                values.append(gain(h, residual, weight) * 0.95 ** (k - 1))
    assert found is not None
    own = gain(masks[:, found.items].all(axis=1), residual, weight) * 0.95 ** (len(found.items) - 1)
    # Residuals are rounded to 23 bits.
    assert own >= max(values) * (1 - 1e-4)


def test_no_rule_is_chosen_twice_nor_one_for_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    one = rng.integers(0, 3, 80).astype(float)
    table = np.column_stack([one, one * 2 + 5, -one])
    search, rows = search_of(table, np.where(one + rng.normal(size=80) > 1, 1, -1))
    chosen = select_columns(search, rows, 20)
    masks = {
        min(h.tobytes(), (~h).tobytes())
        for h in column_matrix(chosen, search.conditions, table, search.extra).values[:, 1:].T > 0
    }
    assert len(masks) == len(chosen)
    # Three values have three sets of rows beside an intercept, each named by the first column.
    assert len(chosen) == 3
    assert {int(search.conditions.feature[c]) for column in chosen for c in column.items} == {0}


def test_a_rule_of_three_conditions_extends_one_of_two() -> None:
    table = np.random.default_rng(1).integers(0, 2, (200, 5)).astype(float)
    y = np.where(table[:, :3].all(axis=1), 1, -1)
    search, rows = search_of(table, y, most=3)
    (column,) = select_columns(search, rows, 1)
    assert sorted(search.conditions.feature[list(column.items)]) == [0, 1, 2]


def test_directions_forbid_rules_of_the_other_sign() -> None:
    rng = np.random.default_rng(2)
    table = rng.uniform(size=(150, 2))
    y = np.where(np.abs(table[:, 0] - 0.5) + 0.2 * table[:, 1] > 0.3, 1, -1)
    search, rows = search_of(table, y, monotone=np.array([1, 0]))
    for column in select_columns(search, rows, 8):
        kinds = [
            search.conditions.kind[c] for c in column.items if search.conditions.feature[c] == 0
        ]
        assert len(kinds) <= 1
        assert column.sign == (0 if not kinds else 1 if kinds[0] == 1 else -1)


def test_thinned_thresholds_are_moved_to_the_best_place(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(64.0)
    table = np.column_stack([x, np.random.default_rng(3).permutation(64)])
    monkeypatch.setattr(selection, "_MOST_CONDITIONS", 16)
    search, rows = search_of(table, np.where(x > 40.6, 1, -1))
    assert len(search.kept) <= 16 < len(search.conditions)
    (column,) = select_columns(search, rows, 1)
    mask = column_matrix([column], search.conditions, table, search.extra).values[:, -1] > 0
    # Thresholds at quantiles: the nearest of 31.
    assert np.sum(mask != (x > 40.6)) in (0, 1, 63, 64)


def test_a_cheap_column_is_preferred_and_keeps_its_sign() -> None:
    rng = np.random.default_rng(4)
    table = rng.uniform(size=(100, 2))
    y = np.where(table[:, 0] > 0.5, 1, -1)
    h = (table[:, 0] > 0.55).astype(float)[:, None]
    for sign, expected in ((1, 0), (-1, -1)):
        extra = ExtraColumns(h, np.array([0.1]), np.array([sign]), np.array([False]))
        search, rows = search_of(table, y, extra=extra)
        (column,) = select_columns(search, rows, 1)
        assert column.extra == expected


def test_without_a_condition_nothing_is_chosen() -> None:
    search, rows = search_of(np.ones((10, 2)), np.r_[np.ones(5), -np.ones(5)])
    assert select_columns(search, rows, 3) == []
    assert column_matrix((), search.conditions, rows.table, search.extra).values.shape == (10, 1)
    assert Column((1,)).cost == 1.0


def test_pairs_enter_the_choice_where_they_tell_more_and_single_conditions_where_these_do() -> None:
    rng = np.random.default_rng(5)
    table = rng.integers(0, 2, (240, 4)).astype(float)
    additive = table[:, :3].sum(axis=1) + rng.normal(scale=0.8, size=240) > 1.5
    parity = table[:, 0] != table[:, 1]
    every_third = np.arange(240) % 3
    folds = [(np.flatnonzero(every_third != f), np.flatnonzero(every_third == f)) for f in range(3)]
    for y, expected in ((additive, 1), (parity, 2)):
        search, rows = search_of(table, np.where(y, 1, -1))
        problem = Problem(search.conditions, rows, search.extra, 2, 0.0, None)
        found = choose_setting(problem, settings_up_to(6, ["logistic"], 1.0, 2), folds)
        assert found.setting.max_conditions == expected
        assert set(found.results["max_conditions"]) == {1, 2}
        chosen = problem.select(found.setting.n_columns, found.setting.max_conditions)
        assert max(len(column.items) for column in chosen) == expected


def test_of_equal_merits_what_was_asked_for_is_taken() -> None:
    # With one feature of two values there is one set of rows, whatever the number of conditions.
    table = np.repeat([[0.0], [1.0]], 30, axis=0)
    y = np.where(np.arange(60) % 10 < 8, table[:, 0], 1 - table[:, 0]) * 2 - 1
    search, rows = search_of(table, y)
    problem = Problem(search.conditions, rows, search.extra, 2, 0.0, None)
    folds = [(np.arange(f, 60, 2), np.arange(1 - f, 60, 2)) for f in range(2)]
    found = choose_setting(problem, settings_up_to(2, ["logistic"], 1.0, 2), folds)
    assert (found.setting.n_columns, found.setting.max_conditions) == (2, 2)
