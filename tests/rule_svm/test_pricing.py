from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.rule_svm import pricing as pricing_module
from clearmargin.rule_svm.pricing import Pricing

from .rule_cases import Case, all_rules, mixed_case


def _pricing(case: Case, size: int) -> Pricing:
    cells = case.conditions.cells(case.table)
    return Pricing(case.conditions, cells, size, case.penalty, case.monotone)


def _best(case: Case, size: int, v: np.ndarray) -> tuple[float, int, tuple[int, ...]]:
    """The best of all rules, one by one: highest price, fewest conditions, first conditions."""
    masks = case.conditions.masks(case.table)
    prices = []
    for items, sign in all_rules(case, size):
        total = v[masks[:, list(items)].all(axis=1)].sum()
        worth = max(0.0, sign * total) if sign else abs(total)
        prices.append((-worth / (1.0 + case.penalty * (len(items) - 1)), len(items), items))
    price, k, items = min(prices)
    return -price, k, items


@pytest.mark.parametrize("cube", [1 << 21, 0])
@pytest.mark.parametrize("size", [1, 2, 3])
@given(seed=st.integers(0, 10_000))
def test_the_first_rule_is_the_best_of_all(size, cube, seed):
    case = mixed_case(seed)
    v = np.random.default_rng(seed).integers(-50, 51, len(case.y)).astype(float)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pricing_module, "_LARGEST_CUBE", cube)  # 0: the search instead of sums
        found = _pricing(case, size).best(v)
    price, k, items = _best(case, size, v)
    assert found.highest == pytest.approx(price, rel=1e-12)
    assert tuple(found.items[0, :k].tolist()) == items


def test_a_quick_look_says_what_it_cannot_know():
    case = mixed_case(1)
    v = np.random.default_rng(0).integers(-50, 51, len(case.y)).astype(float)
    pricing = _pricing(case, 3)
    whole = pricing.best(v)
    quick = pricing.best(v, quick=True)
    late = pricing.best(v, deadline=0.0)
    assert whole.unseen == 0.0
    assert min(quick.highest, late.highest) >= whole.highest
    assert quick.price[0] == whole.price[0]  # the best set of features was promising
    assert late.unseen > 0.0


def test_a_rule_that_one_condition_says_is_that_condition():
    case = replace(mixed_case(2), monotone=None)
    pricing = _pricing(case, 2)
    for c in range(len(case.conditions)):
        mask = case.conditions.masks(case.table)[:, c]
        found = pricing.equal_condition(~mask, 0)
        assert found is not None
        assert found <= c
    odd = np.arange(len(case.y)) % 2 == 0
    assert pricing.equal_condition(odd, 0) is None
