"""Kinds of classifiers that somebody else teaches the extractor to read."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import RuleExtractor
from clearmargin.exceptions import InvalidValueError
from clearmargin.models.decision import Decision, read_decision, register_reader
from clearmargin.models.flow import Flow, Sources
from clearmargin.models.surface import Duel

X = np.arange(40.0).reshape(20, 2)
Y = np.where(X[:, 0] > 19, "high", "low")


class Above(ClassifierMixin, BaseEstimator):
    """Says "high" where the first column is above the mean; it keeps no weights."""

    def fit(self, X, y):
        self.classes_ = np.array(["low", "high"])
        self.level_ = float(np.asarray(X)[:, 0].mean())
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > self.level_).astype(int)]


class MoreAbove(Above):
    """A kind of it."""


class Unread(ClassifierMixin, BaseEstimator):
    """Says always the same, and nobody says how it decides."""

    def fit(self, X, y):
        self.classes_ = np.array(["low", "high"])
        return self


def read_above(estimator, flow):
    plane = flow.affine.pull_back(np.array([1.0, 0.0]), -estimator.level_)
    return Decision(estimator.classes_, (plane,), (Duel(1, 0, plane),))


@pytest.fixture(scope="module", autouse=True)
def _readers():
    assert register_reader(Above)(read_above) is read_above


@pytest.mark.parametrize("kind", [Above, MoreAbove])
def test_a_kind_that_was_registered_is_read_with_its_subclasses(kind):
    model = kind().fit(X, Y)
    flow = Flow.start(Sources(["a", "b"]), [0, 1])
    (plane,) = read_decision(model, flow).scores
    assert np.array_equal(plane.decision(X), X[:, 0] - 19.0)
    rules = RuleExtractor(make_pipeline(StandardScaler(), kind())).fit(X, Y).rules_
    assert {rule.label for rule in rules} == {"low", "high"}
    assert all(rule.proof == "proved" for rule in rules)


def test_other_kinds_are_refused_as_before():
    with pytest.raises(InvalidValueError, match="Unread is not linear"):
        RuleExtractor(Unread()).fit(X, Y)
