"""Rules of a given plane do not depend on how the table was sorted."""

from __future__ import annotations

import numpy as np
import pytest

from clearmargin import LPSVC, RuleExtractor, format_rules
from clearmargin.datasets import load_ionosphere, load_pima, load_wbc
from clearmargin.plane_rules import extraction, search
from clearmargin.tables.row_order import canonical_order


def rules_of(model, X, y, **options):
    extractor = RuleExtractor(model, progress=False, **options).fit(X, y)
    return format_rules(extractor.rules_), [rule.stats for rule in extractor.rules_]


@pytest.mark.parametrize(
    ("load", "nu", "options"),
    [
        (load_pima, 1.0, {"criterion": "coverage"}),
        (load_wbc, 0.02, {"criterion": "volume"}),
        (load_wbc, 0.02, {"criterion": "volume", "max_conditions": 2}),
        (load_wbc, 0.02, {"criterion": "coverage", "disjoint": False, "max_rules": 2}),
        (load_wbc, 0.02, {"criterion": "coverage-lp", "max_rules": 3}),
    ],
    ids=["coverage", "volume", "short", "overlap", "lp"],
)
def test_rules_of_a_given_plane_are_the_same_for_shuffled_rows(monkeypatch, load, nu, options):
    # All searches together take seconds; each of them looks at the rows in the same way.
    monkeypatch.setattr(search, "_MOST_SEARCHES", 4)
    # Whole numbers tie as often as can be.
    X, y = load(return_X_y=True)
    X, y = X.iloc[:150], np.asarray(y)[:150]
    model = LPSVC(nu=nu).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    expected = rules_of(model, X, y, **options)
    assert rules_of(model, X.iloc[order], y[order], **options) == expected


def test_rules_of_several_planes_are_the_same_for_shuffled_rows():
    from sklearn.linear_model import RidgeClassifier

    rng = np.random.default_rng(3)
    X = rng.integers(0, 8, (150, 3)).astype(float)
    y = np.digitize(X.sum(axis=1) + rng.normal(size=150), [8.0, 13.0])
    model = RidgeClassifier().fit(X, y)
    expected = rules_of(model, X, y)
    order = rng.permutation(150)
    assert rules_of(model, X[order], y[order]) == expected


def test_rules_found_on_a_sample_are_the_same_for_shuffled_rows(monkeypatch):
    monkeypatch.setattr(extraction, "_MOST_POINTS", 50)
    X, y = load_ionosphere(return_X_y=True)
    model = LPSVC(nu=0.05).fit(X, y)
    expected = rules_of(model, X, y, min_coverage=8)
    order = np.random.default_rng(5).permutation(len(y))
    assert rules_of(model, X.iloc[order], np.asarray(y)[order], min_coverage=8) == expected


def test_a_canonical_order_is_a_permutation_that_depends_on_values_alone():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (200, 3)).astype(float)
    rows = np.arange(200)
    found = canonical_order(X, rows)
    assert sorted(found) == rows.tolist()
    mixed = rng.permutation(200)
    negative_zeros = np.where(X[mixed] == 0, -0.0, X[mixed])
    again = canonical_order(negative_zeros, rows)
    np.testing.assert_array_equal(X[found], X[mixed][again])
    few = canonical_order(X, rows[::2], 30)
    assert len(few) == 30
    assert (few % 2 == 0).all()
    np.testing.assert_array_equal(X[few], X[canonical_order(X, rows[::2])[:30]])
