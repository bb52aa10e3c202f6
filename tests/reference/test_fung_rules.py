"""The rules of Fung, Sandilya and Rao (KDD 2005), from the planes matched to their published counts.

Their Table 2 has 37 rules on these six columns at a mean coverage of 93.6 %.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler

from clearmargin import LPSVC, RuleExtractor
from clearmargin.datasets import load_cleveland, load_ionosphere, load_wbc
from clearmargin.plane_rules.side import Side
from clearmargin.plane_rules.volume_corner import volume_corner
from clearmargin.rules import Box


@cache
def matched(name):
    """The data and the plane."""
    load, nu = {
        "wbc": (load_wbc, 0.0025),
        "ionosphere": (load_ionosphere, 0.0315),
        "cleveland": (lambda **kw: load_cleveland(target="fung", **kw), 0.125),
    }[name]
    X, y = load(return_X_y=True)
    if name == "cleveland":
        X = MinMaxScaler().set_output(transform="pandas").fit_transform(X)
    return X, y, LPSVC(nu=nu).fit(X, y)


@cache
def covering(name, disjoint):
    X, y, svm = matched(name)
    return RuleExtractor(
        svm, criterion="coverage", disjoint=disjoint, min_coverage=2, max_rules=None
    ).fit(X, y)


DATA = ["wbc", "ionosphere", "cleveland"]


def test_the_printed_rule_for_benign_masses_is_the_first_one():
    X, y, svm = matched("wbc")
    extractor = RuleExtractor(svm, criterion="volume", bounds=(0, 10), tighten=False).fit(X, y)
    benign = [k for k, rule in enumerate(extractor.rules_) if rule.label == "benign"]
    first = extractor.rules_[benign[0] : benign[0] + 1]
    said = first.to_text().splitlines()[-1]
    assert said == (
        "uniformity_of_cell_size <= 3 and bare_nuclei <= 1 and normal_nucleoli <= 7 => benign"
    )
    correct = (svm.predict(X) == y) & (y == "benign") & first.covers(X)[:, 0]
    assert correct.sum() == 383
    assert first[0].stats.correct == 383
    # It also covers one malignant mass that the plane gets wrong.
    assert first[0].stats.covered == 384
    assert extractor.trace_["benign"].points == 435
    assert extractor.trace_["malignant"].points == 214


def test_its_corner_before_rounding_is_where_two_features_are_at_their_end():
    X, _, svm = matched("wbc")
    active = np.flatnonzero(svm.coef_[0])
    extractor = RuleExtractor(svm, bounds=(0, 10)).fit(*matched("wbc")[:2])
    side = Side.of(extractor.hyperplane_.side(-1))  # benign is the negative class
    domain = side.region(Box(np.zeros(9), np.full(9, 10.0)))
    corner = volume_corner(side, domain, side.orient(X.to_numpy(dtype=float)))
    np.testing.assert_array_equal(side.features, active)
    np.testing.assert_array_equal(np.round(corner.far, 2), [10.0, 3.65, 10.0, 1.92, 7.30])


def test_the_planes_give_few_rules_that_cover_nearly_everything():
    rules = sum(len(covering(name, True).rules_) for name in DATA)
    coverage = [share for name in DATA for share in covering(name, True).coverage_.values()]
    assert rules <= 36
    assert np.mean(coverage) >= 0.96
    for name in DATA:
        assert all(rule.stats.correct >= 2 for rule in covering(name, True).rules_)


def test_three_rules_cover_all_benign_masses():
    trace = covering("wbc", True).trace_["benign"]
    assert trace.kept <= 3
    assert trace.coverage == 1.0


@pytest.mark.parametrize("name", DATA)
def test_rules_that_may_overlap_are_no_more_and_cover_no_less(name):
    apart, together = covering(name, True), covering(name, False)
    for label in apart.trace_:
        assert together.trace_[label].kept <= apart.trace_[label].kept
        assert together.trace_[label].coverage >= apart.trace_[label].coverage


@pytest.mark.parametrize("name", DATA)
def test_what_is_counted_is_what_the_rules_say(name):
    X, y, svm = matched(name)
    extractor = covering(name, True)
    covered = extractor.rules_.covers(X)
    assert (covered.sum(axis=1) <= 1).all()
    for label, trace in extractor.trace_.items():
        own = [k for k, rule in enumerate(extractor.rules_) if rule.label == label]
        wanted = (y == label) & (svm.predict(X) == label)
        assert trace.covered == (covered[:, own].any(axis=1) & wanted).sum()
    assert extractor.rules_.score(X, y, model=svm).fidelity == 1.0
