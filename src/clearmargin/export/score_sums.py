"""Scorecards as sums, the form from which every language writes them; and what can be exported at all.

A score is added up from left to right, as `Scorecard.decision_function` does it: the intercept, the linear terms,
then the points of each rule where it holds and 0 elsewhere. So every language comes to the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.export.conditions import Condition, Member, conditions
from clearmargin.language.printer import check_rules
from clearmargin.points.scorecard import LinearTerm, Scorecard
from clearmargin.rules.rule import Label
from clearmargin.rules.ruleset import RuleSet
from clearmargin.rules.space import FeatureSpace


@dataclass(frozen=True, slots=True)
class Points:
    """Points that are added where all conditions hold."""

    premise: tuple[Condition, ...]
    points: float


@dataclass(frozen=True, slots=True)
class Multiple:
    """A multiple of a number; `fill` is what it counts as where it is missing."""

    feature: int
    coef: float
    fill: float


Term = Points | Multiple


@dataclass(frozen=True, slots=True)
class ScoreSum:
    """A score: its terms are added to the intercept from left to right."""

    intercept: float
    terms: tuple[Term, ...]


def rules_to_write(given: Any) -> RuleSet | Scorecard:
    """Take what can be exported: rules, a scorecard, or a model with one."""
    if isinstance(given, RuleSet | Scorecard):
        return given
    # Rules out of a file are written without scikit-learn, whose import takes longer than the writing.
    from clearmargin.points.reading import scorecard_of

    weighted = scorecard_of(given)
    if weighted is not None:
        return weighted
    rules = getattr(given, "rules_", None)
    if isinstance(rules, RuleSet):
        return rules
    check_rules(given)
    raise AssertionError  # check_rules refuses whatever is no RuleSet


def refuse_default(default: Label | None) -> None:
    """Raise if a class is named for rows that nothing covers: a scorecard predicts a class for every row."""
    if default is not None:
        raise InvalidValueError(
            f"default={default!r} is for rows that no rule covers; a scorecard predicts a class for every row"
        )


def premises(rules: RuleSet) -> list[tuple[Condition, ...]]:
    """Read the premise of each rule."""
    return [tuple(conditions(rule.region, rules.space.categories)) for rule in rules]


def score_sums(weighted: Scorecard) -> tuple[ScoreSum, ...]:
    """Read a scorecard as sums: one for two classes, else one for each class."""
    read = premises(weighted.rules)
    sums = []
    for k in range(weighted.n_outputs):
        weights = np.atleast_2d(weighted.weights)[k].tolist()
        terms = [part for term in weighted.linear for part in _linear(term, k, weighted.space)]
        terms += [Points(p, weight) for p, weight in zip(read, weights, strict=True) if weight]
        sums.append(ScoreSum(float(np.atleast_1d(weighted.intercept)[k]), tuple(terms)))
    return tuple(sums)


def _linear(term: LinearTerm, k: int, space: FeatureSpace) -> list[Term]:
    if term.fill is not None:
        coef = float(term.coef.reshape(-1)[k])
        return [Multiple(term.feature, coef, term.fill)] if coef else []
    categories = space.categories[term.feature] or ()
    coefs = np.atleast_2d(term.coef)[k].tolist()
    return [
        Points((Member(term.feature, (category,)),), coef)
        for category, coef in zip(categories, coefs, strict=True)
        if coef
    ]
