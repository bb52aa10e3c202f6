"""Rules with a default class: what is left when nobody falls back to the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer
from clearmargin import Box, Rule, RuleSet

__all__ = ["Statement", "answer_of", "ends", "leaf_of", "one_class", "shortest", "with_default"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Statement:
    """Rules, of which the first that covers a row decides, and the class of all other rows."""

    rules: RuleSet
    default: int

    def predict(self, X: Array) -> Array:
        """The class of each row."""
        if not len(self.rules):
            return np.full(len(X), self.default)
        return self.rules.predict(X, default=self.default)

    def fires(self, X: Array) -> NDArray[np.bool_]:
        """Whether a rule covers each row."""
        if not len(self.rules):
            return np.zeros(len(X), dtype=np.bool_)
        return np.asarray(self.rules.which(X) >= 0)

    def size(self, X: Array) -> int:
        """Number of rules, with the default where some row needs it."""
        return len(self.rules) + int(not self.fires(X).all())

    def fidelity(self, X: Array, predicted: Array) -> float:
        """Share of rows on which the machine predicts the same."""
        return float(np.mean(self.predict(X) == predicted))


def _commonest(predicted: Array) -> int:
    return int(np.bincount(predicted, minlength=2).argmax())


def with_default(rules: RuleSet, X: Array, predicted: Array) -> Statement:
    """All rules, and the class that is most common among the training rows that none covers (else among all)."""
    bare = predicted[~Statement(rules, 0).fires(X)]
    return Statement(rules, _commonest(bare if len(bare) else predicted))


def one_class(rules: RuleSet, label: int, most: int | None = None) -> Statement:
    """The rules of one class, the `most` fullest of them, and the other class by default."""
    of_class = [rule for rule in rules if rule.label == label]
    if most is not None and most < len(of_class):
        full = sorted(range(len(of_class)), key=lambda k: -_held(of_class[k]))[:most]
        of_class = [of_class[k] for k in sorted(full)]
    return Statement(RuleSet(of_class, rules.space, rules.classes), 1 - label)


def _held(rule: Rule) -> int:
    return 0 if rule.stats is None or rule.stats.agreed is None else rule.stats.agreed


def ends(rule: Rule) -> int:
    """Number of bounds of a rule, two for an interval with both ends."""
    box = rule.region
    assert isinstance(box, Box)
    return int(np.count_nonzero(np.isfinite(box.lower)) + np.count_nonzero(np.isfinite(box.upper)))


def shortest(rules: RuleSet, X: Array, predicted: Array) -> Statement:
    """All rules or those of one class only: the most faithful on training rows, of equals the one with fewest rules."""
    return best(
        [with_default(rules, X, predicted), one_class(rules, 0), one_class(rules, 1)], X, predicted
    )


def best(statements: Iterable[Statement], X: Array, predicted: Array) -> Statement:
    """The most faithful statement on these rows, of equals the one with fewest rules."""
    return max(statements, key=lambda s: (s.fidelity(X, predicted), -len(s.rules)))


def leaf_of(statement: Statement, X: Array) -> NDArray[np.intp]:
    """The place of the rule that decides each row; the default comes last."""
    if not len(statement.rules):
        return np.zeros(len(X), dtype=np.intp)
    which = statement.rules.which(X)
    return np.where(which < 0, len(statement.rules), which).astype(np.intp)


def answer_of(statement: Statement, fold: Fold, seconds: float) -> Answer:
    """What a statement says on the held-out rows of a fold.

    The score of a row is the share of the second class among the training rows that the same rule decides, with one
    row of each class added.
    """
    rules = statement.rules
    leaves = leaf_of(statement, fold.X_train)
    counts = np.bincount(leaves, minlength=len(rules) + 1) + 2.0
    ones = np.bincount(leaves, fold.predicted_train, minlength=len(rules) + 1) + 1.0
    held = leaf_of(statement, fold.X_test)
    fires = statement.fires(fold.X_test)
    proved = np.array([rule.proof == "proved" for rule in rules] + [False])
    covers = rules.covers(fold.X_test) if len(rules) else np.zeros((len(held), 0), np.bool_)
    ones_said = np.array([rule.label == 1 for rule in rules], dtype=np.bool_)
    differ = covers[:, ones_said].any(axis=1) & covers[:, ~ones_said].any(axis=1)
    return Answer(
        statement.predict(fold.X_test),
        fires,
        len(rules),
        sum(ends(rule) for rule in rules),
        seconds,
        score=(ones / counts)[held],
        overlap=float(np.mean(differ)),
        proved=proved[held] & fires,
    )
