"""Between two rules over whole numbers none is left over that one of them could have."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearmargin import LPSVC, RuleExtractor
from clearmargin.rules.domain import Domain


@pytest.mark.parametrize("criterion", ["volume", "coverage"])
def test_a_whole_number_that_no_row_has_belongs_to_one_of_two_rules(criterion):
    age = np.array([20, 22, 24, 26, 28, 30, 33] * 3, dtype=float)[:, None]
    label = np.where(age[:, 0] < 27, "young", "old")
    extractor = RuleExtractor(LPSVC(1.0), criterion=criterion, bounds=(0, 100)).fit(age, label)
    everyone = np.arange(101.0)[:, None]
    assert (extractor.which(everyone) >= 0).all()
    assert (extractor.predict(everyone) == extractor.estimator_.predict(everyone)).all()


def left_over(extractor, top):
    """Pairs of rules with one whole number between them that one of them could have, by trying all cases."""
    cases = np.array(list(itertools.product(range(top + 1), repeat=2)), dtype=float)
    scores = extractor.decision_function(cases)
    boxes = [(rule.label, rule.region) for rule in extractor.rules_]
    found = []
    for (mine, a), (theirs, b) in itertools.product(boxes, repeat=2):
        for j in range(2):
            other = 1 - j
            facing = max(a.lower[other], b.lower[other]) <= min(a.upper[other], b.upper[other])
            if not facing or a.upper[j] + 2 != b.lower[j]:
                continue
            number = a.upper[j] + 1
            for label, box in ((mine, a), (theirs, b)):
                slab = (cases[:, j] == number) & (box.lower[other] <= cases[:, other])
                slab &= cases[:, other] <= box.upper[other]
                sign = 1.0 if label == extractor.classes_[1] else -1.0
                # A clear score everywhere in the slab is a proof; rules of the class must not be in the way.
                same = [r for m, r in boxes if m == label and r is not box]
                is_free = not any(r.contains(cases[slab]).any() for r in same)
                if slab.any() and (sign * scores[slab] > 1e-6).all() and is_free:
                    found.append((number, label))
    return found


# In 1694 a rule grows along the second feature, and faces another one along the first only then.
@example(seed=1694)
@given(seed=st.integers(0, 10_000))
def test_no_rule_could_have_a_number_that_is_left_over_and_all_rules_stay_true(seed):
    rng = np.random.default_rng(seed)
    top = 9
    X = rng.integers(0, top + 1, size=(25, 2)).astype(float)
    y = np.where(X @ rng.normal(size=2) + 0.3 * rng.normal(size=25) > 0, "up", "down")
    svm = LPSVC(1.0)
    if len(set(y)) < 2 or not svm.fit(X, y).coef_.any():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        extractor = RuleExtractor(svm, bounds=(0, top), min_coverage=1).fit(X, y)
    cases = np.array(list(itertools.product(range(top + 1), repeat=2)), dtype=float)
    covers = extractor.rules_.covers(cases)
    said = svm.predict(cases)
    possible = Domain(extractor.space_, True, True)
    for k, rule in enumerate(extractor.rules_):
        # What the declared ranges imply is not said.
        assert possible.without_implied(rule.region) == rule.region
        assert (said[covers[:, k]] == rule.label).all()
        assert rule.stats.covered == rule.region.contains(X).sum()
    for label in extractor.classes_:
        own = [k for k, rule in enumerate(extractor.rules_) if rule.label == label]
        assert (covers[:, own].sum(axis=1) <= 1).all()
    assert left_over(extractor, top) == []
