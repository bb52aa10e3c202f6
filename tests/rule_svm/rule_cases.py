"""Small tables, all rules over them one by one, and the linear program over all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from clearmargin.rule_svm.conditions import Conditions, Kind
from clearmargin.rule_svm.rule_lp import FixedColumns
from clearmargin.rules import FeatureSpace


@dataclass
class Case:
    """A table with signs and costs."""

    table: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    conditions: Conditions
    fixed: FixedColumns | None = None
    monotone: np.ndarray | None = None
    penalty: float = 0.0
    options: dict = field(default_factory=dict)

    @property
    def arguments(self) -> tuple:
        return self.conditions, self.table, self.y, self.costs


def mixed_case(seed: int, m: int = 24, max_bins: int = 4, cost: float = 0.4) -> Case:
    """Whole numbers, numbers, categories, missing values, weights; sometimes columns, directions and a penalty."""
    rng = np.random.default_rng(seed)
    table = np.column_stack(
        [rng.integers(0, 4, m), np.round(rng.normal(size=m), 1), rng.integers(0, 3, m)]
    ).astype(float)
    score = table[:, 0] - 2.0 * (table[:, 1] > 0) * (table[:, 2] == 1) + rng.normal(size=m)
    y = np.where(score > np.median(score), 1.0, -1.0)
    if rng.random() < 0.5:
        table[rng.random(table.shape) < 0.2] = np.nan
    space = FeatureSpace(
        ["count", "size", "colour"],
        integer=[True, False, False],
        categories={"colour": ["red", "green", "blue"]},
    )
    case = Case(table, y, cost * rng.integers(1, 4, m), Conditions.of_table(space, table, max_bins))
    if rng.random() < 0.5:
        values = np.column_stack([1e3 + 5 * rng.normal(size=m), rng.random(m) < 0.5]).astype(float)
        case.fixed = FixedColumns(values, np.array([0.7, 0.05]), rng.integers(-1, 2, 2))
    if rng.random() < 0.5:
        case.monotone = rng.integers(-1, 2, 3)
    case.penalty = float(rng.choice([0.0, 0.1, 0.5]))
    return case


def all_rules(case: Case, size: int) -> list[tuple[tuple[int, ...], int]]:
    """All rules of at most so many conditions, with the sign that their weights must have."""
    conditions = case.conditions
    monotone = np.zeros(len(conditions.space), int) if case.monotone is None else case.monotone
    found = []
    for k in range(1, size + 1):
        for items in combinations(range(len(conditions)), k):
            if not _is_rule(conditions, items, monotone):
                continue
            signs = {_sign(conditions, c, monotone) for c in items} - {0}
            if len(signs) < 2:
                found.append((items, signs.pop() if signs else 0))
    return found


def _is_rule(conditions: Conditions, items: tuple[int, ...], monotone: np.ndarray) -> bool:
    """Whether no condition is there twice, in other words, or against another; intervals are allowed."""
    for a, b in combinations(items, 2):
        if conditions.feature[a] != conditions.feature[b]:
            continue
        kinds = conditions.kind[a], conditions.kind[b]
        if kinds != (Kind.AT_MOST, Kind.ABOVE):
            return False
        if monotone[conditions.feature[a]] or conditions.threshold[b] >= conditions.threshold[a]:
            return False
    return True


def _sign(conditions: Conditions, c: int, monotone: np.ndarray) -> int:
    direction = {Kind.ABOVE: 1, Kind.AT_MOST: -1}.get(Kind(int(conditions.kind[c])), 0)
    return direction * int(monotone[conditions.feature[c]])


def columns_of(case: Case, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, costs and signs of all columns: rules, then those that are fixed."""
    rules = all_rules(case, size)
    masks = case.conditions.masks(case.table)
    values = [masks[:, list(items)].all(axis=1) for items, _ in rules]
    cost = [1.0 + case.penalty * (len(items) - 1) for items, _ in rules]
    sign = [sign for _, sign in rules]
    H = np.array(values, dtype=float).reshape(-1, len(case.y)).T
    if case.fixed is not None:
        H = np.hstack([H, case.fixed.values])
        cost, sign = [*cost, *case.fixed.price], [*sign, *case.fixed.sign]
    return H, np.array(cost, dtype=float), np.array(sign, dtype=int)


def optimum(case: Case, size: int) -> float:
    """The value of the program over all rules, by a solver that sees all of them."""
    H, cost, sign = columns_of(case, size)
    m = len(H)
    # weights up, weights down, intercept, losses
    c = np.concatenate([cost, cost, [0.0], case.costs])
    A = -case.y[:, None] * np.hstack([H, -H, np.ones((m, 1))])
    A = np.hstack([A, -np.eye(m)])
    up = [(0, None if s >= 0 else 0) for s in sign]
    down = [(0, None if s <= 0 else 0) for s in sign]
    bounds = [*up, *down, (None, None), *[(0, None)] * m]
    answer = linprog(c, A_ub=A, b_ub=-np.ones(m), bounds=bounds, method="highs")
    assert answer.status == 0, answer.message
    return float(answer.fun)
