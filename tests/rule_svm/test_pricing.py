from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.rule_base.leverage_search import WeightedContrast, search_best
from clearmargin.rule_svm import pricing as pricing_module
from clearmargin.rule_svm.conditions import Kind
from clearmargin.rule_svm.pricing import Pricing
from clearmargin.rule_svm.work import Budget

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


@pytest.mark.parametrize("size", [1, 2, 3])
@given(seed=st.integers(0, 10_000))
def test_sums_over_cells_and_branch_and_bound_find_the_same_price(size, seed):
    case = replace(mixed_case(seed), penalty=0.0)
    v = np.random.default_rng(seed).integers(-50, 51, len(case.y)).astype(float)
    pricing, conditions = _pricing(case, size), case.conditions
    # The two ends of an interval may be joined; a feature with a direction has none.
    is_free = ~np.isin(conditions.feature, conditions.feature[pricing.signs != 0])
    attribute = 2 * conditions.feature + (is_free & (conditions.kind == Kind.ABOVE))
    masks = conditions.masks(case.table).T
    found = search_best(WeightedContrast(masks, v, attribute, pricing.signs), 1, size)
    assert pricing.best(v).highest == np.abs(found.top - found.bottom).max(initial=0)


@pytest.mark.parametrize("sums", [1, 1 << 20])
@given(seed=st.integers(0, 10_000))
def test_features_of_few_conditions_are_priced_as_all_others(sums, seed):
    case = mixed_case(seed)
    v = np.random.default_rng(seed).integers(-50, 51, len(case.y)).astype(float)
    answers = []
    for few in (0, 2, 6):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(pricing_module, "_FEW_CONDITIONS", few)
            patched.setattr(pricing_module, "_SUMS", sums)
            found = _pricing(case, 2).best(v)
        answers.append((found.items.tolist(), found.price.tolist()))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("size", [1, 2, 3])
@given(seed=st.integers(0, 10_000))
def test_rules_up_to_a_price_are_not_listed_and_the_highest_price_stays(size, seed):
    case = mixed_case(seed)
    v = np.random.default_rng(seed).integers(-50, 51, len(case.y)).astype(float)
    pricing = _pricing(case, size)
    whole = pricing.best(v)
    for above in (0.5 * whole.highest, whole.highest):
        some = pricing.best(v, above=above)
        is_above = whole.price > above
        assert some.items.tolist() == whole.items[is_above].tolist()
        assert some.price.tolist() == whole.price[is_above].tolist()
        assert some.highest == whole.highest


def test_a_quick_look_says_what_it_cannot_know():
    case = mixed_case(1)
    v = np.random.default_rng(0).integers(-50, 51, len(case.y)).astype(float)
    pricing = _pricing(case, 3)
    whole = pricing.best(v)
    quick = pricing.best(v, quick=True)
    late = pricing.best(v, budget=Budget(max_work=0.0))
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
