"""Which rules stay on a page, how many rows a rule needs, and what is said of the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import binom
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from clearmargin import LPSVC, RuleExtractor, SupportVectorRules, SurrogateRules, SVMTreeClassifier
from clearmargin.exceptions import InvalidValueError
from clearmargin.kernel_rules.baselines import FuzzyRules, HyperRectangleRules, PrototypeRules
from clearmargin.rule_base.budget import (
    DEFAULT_MAX_RULES,
    RuleBudget,
    choose_rules,
    have_evidence,
    least_rows,
)

from .box_cases import SEEDS

X, Y = make_classification(150, 4, n_informative=3, n_redundant=0, flip_y=0.05, random_state=3)
EXTRACTORS = {
    "volume": RuleExtractor(LPSVC()),
    "coverage": RuleExtractor(LPSVC(), criterion="coverage"),
    "overlapping": RuleExtractor(LPSVC(), criterion="coverage", disjoint=False),
    "short": RuleExtractor(LPSVC(), max_conditions=2),
    "support vectors": SupportVectorRules(SVC()),
    "surrogate boxes": SurrogateRules(SVC(), learner="boxes", n_generated=300),
    "hyper-rectangles": HyperRectangleRules(SVC()),
    "prototypes": PrototypeRules(SVC()),
    "fuzzy": FuzzyRules(SVC()),
    "tree": SVMTreeClassifier(),
}


def plain_choice(rows, codes, most, weights, lengths):
    """The greedy choice, counted anew with sets in each step."""
    left, chosen = set(range(len(rows))), []
    covered = set()
    while left and len(chosen) < most:
        waiting = {codes[r] for r in range(len(rows))} - {codes[r] for r in chosen}
        room = most - len(chosen)
        usable = [r for r in left if len(waiting) < room or codes[r] in waiting]

        new = {r: set(rows[r].tolist()) - covered for r in usable}
        _, _, best = min((-sum(weights[p] for p in new[r]), lengths[r], r) for r in usable)
        chosen.append(best)
        left.discard(best)
        covered |= set(rows[best].tolist())
    return sorted(chosen)


@given(SEEDS)
def test_the_choice_is_the_greedy_one_and_leaves_no_class_out(seed):
    rng = np.random.default_rng(seed)
    r, m = int(rng.integers(1, 9)), int(rng.integers(1, 12))
    rows = [np.flatnonzero(rng.random(m) < 0.4) for _ in range(r)]
    codes, lengths = rng.integers(0, 3, size=r), rng.integers(1, 3, size=r)
    weights = rng.integers(0, 4, size=m).astype(float)
    most = int(rng.integers(1, 9))
    chosen = choose_rules(rows, codes, most, weights=weights, lengths=lengths).tolist()
    assert chosen == plain_choice(rows, codes.tolist(), most, weights, lengths)
    assert len({codes[k] for k in chosen}) == min(most, len(set(codes.tolist())))


@given(SEEDS)
def test_evidence_is_that_of_the_exact_binomial_test(seed):
    rng = np.random.default_rng(seed)
    covered = rng.integers(0, 60, size=12)
    right = rng.binomial(covered, rng.uniform(0.3, 1.0))
    codes, shares = rng.integers(0, 2, size=12), rng.dirichlet([1.0, 1.0])
    found = have_evidence(covered, right, codes, shares, "auto")
    expected = binom.sf(right - 1, covered, shares[codes]) <= 0.05
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        if not expected[members].any() and right[members].any():
            expected[members[np.argmax(right[members])]] = True
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5, 0.75, 0.9, 0.99])
def test_the_least_number_of_rows_is_the_first_with_evidence(share):
    n = least_rows(share)
    assert binom.sf(n - 1, n, share) <= 0.05 * (1 + 1e-9)
    assert n == 1 or binom.sf(n - 2, n - 1, share) > 0.05


def test_a_number_of_rows_is_taken_as_it_is():
    enough = have_evidence(
        np.array([3, 2]), np.array([0, 2]), np.zeros(2, int), np.array([0.5, 0.5]), 3
    )
    assert enough.tolist() == [True, False]


def test_a_search_that_ended_early_promises_no_more_than_it_knows():
    assert str(RuleBudget(15, 100, 15, 50, 40, 60, is_complete=False)) == (
        "15 rules cover 50 % of the training rows; at least 25 more would cover at least 60 % (max_rules=None)"
    )
    assert str(RuleBudget(15, 100, 1, 50, 1, 50, is_complete=False)) == (
        "1 rule covers 50 % of the training rows; the search ended before all rules were found"
    )


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_extractor_keeps_to_a_page_and_says_what_the_rest_would_add(name):
    extractor = EXTRACTORS[name]
    assert extractor.max_rules == DEFAULT_MAX_RULES == 15
    few = extractor.set_params(max_rules=3).fit(X, Y)
    rules, budget = list(few.rules_), few.budget_
    assert len(rules) == budget.kept <= 3
    covered = int((few.which(X) >= 0).sum())
    everything = extractor.set_params(max_rules=None).fit(X, Y)
    all_rules = list(everything.rules_)
    extractor.set_params(max_rules=15)
    assert {rule.label for rule in rules} == {rule.label for rule in all_rules}
    assert all(rule in all_rules for rule in rules)
    # Bounds of few digits may lose or win a row.
    assert budget.covered == pytest.approx(covered, abs=4)
    assert budget.found == len(all_rules) == everything.budget_.kept
    assert budget.covered_by_all == everything.budget_.covered
    assert everything.budget_.more == 0
    assert f"{budget.more} more would cover" in str(budget)


def test_rules_that_cover_most_come_first():
    some = RuleExtractor(LPSVC(), max_rules=5).fit(X, Y)
    everything = RuleExtractor(LPSVC(), max_rules=None).fit(X, Y)
    sizes = sorted((rule.stats.correct for rule in everything.rules_), reverse=True)
    # Both classes have one among the five largest; disjoint rules take no rows from each other.
    assert sorted((rule.stats.correct for rule in some.rules_), reverse=True) == sizes[:5]


def test_a_rule_needs_evidence_and_a_class_without_it_keeps_one():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 3))
    labels = points[:, 0] + points[:, 1] + points[:, 2] + rng.normal(size=200) > -1.8
    extractor = RuleExtractor(LPSVC(), max_rules=None).fit(points, labels)
    share = labels.mean()
    for label, base in ((True, share), (False, 1 - share)):
        own = [rule for rule in extractor.rules_ if rule.label == label]
        assert own
        if len(own) > 1:
            tails = [binom.sf(r.stats.correct - 1, r.stats.covered, base) for r in own]
            assert max(tails) <= 0.05


def test_a_page_does_not_depend_on_the_order_of_rows():
    order = np.random.default_rng(1).permutation(len(X))
    first = RuleExtractor(LPSVC(), max_rules=5).fit(X, Y)
    again = RuleExtractor(LPSVC(), max_rules=5).fit(X[order], Y[order])
    assert again.rules_ == first.rules_
    assert again.budget_ == first.budget_


def test_a_tree_predicts_as_before_and_by_itself_where_no_rule_covers():
    tree = SVMTreeClassifier(max_rules=3).fit(X, Y)
    whole = SVMTreeClassifier(max_rules=None, min_coverage=1).fit(X, Y)
    np.testing.assert_array_equal(tree.predict(X), whole.predict(X))
    assert tree.exact_rules_ == whole.exact_rules_
    bare = tree.which(X) < 0
    assert bare.any()
    answers = tree.predict_by_rules(X)
    np.testing.assert_array_equal(answers[bare], tree.predict(X)[bare])
    labels = np.array([rule.label for rule in tree.rules_])
    np.testing.assert_array_equal(answers[~bare], labels[tree.which(X)[~bare]])
    # All rules together are right about every training row, as the tree sees them.
    np.testing.assert_array_equal(whole.predict_by_rules(X), whole.predict(X))


@pytest.mark.parametrize("extractor", [RuleExtractor(), SupportVectorRules(), SVMTreeClassifier()])
def test_bad_options_are_refused(extractor):
    with pytest.raises(InvalidValueError, match="max_rules must be a whole number from 1 or None"):
        type(extractor)(max_rules=0).fit(X, Y)
    with pytest.raises(
        InvalidValueError, match="min_coverage must be a whole number from 1, not 0, or"
    ):
        type(extractor)(min_coverage=0).fit(X, Y)
