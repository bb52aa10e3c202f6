"""Weights as a fit gives them, and what becomes of them: short numbers or points, rules in the order of importance.

A weight of a machine of few rules is rounded to a thousandth of the power of ten of the largest one, and the intercept
to the middle between two such multiples: what is printed is what decides, and no sum is exactly at the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.rule_base.point_rounding import whole_points
from clearmargin.rule_svm.choice import weighted_accuracy
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.extra_terms import ExpertColumns, LinearColumns
from clearmargin.rule_svm.training_rows import TrainingRows
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules import Rule, RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["FittedTerms", "as_points", "rule_covers", "shortened", "weighted_rules"]

# Digits of weights after those of the largest one.
_DIGITS = 3
# Largest magnitude of whole points.
_LARGEST_POINTS = 10


@dataclass(frozen=True, slots=True)
class FittedTerms:
    """The weights of all that counts, for each score.

    Parameters
    ----------
    items : tuple of tuple of int
        The conditions of each rule.
    rules : ndarray of shape (K, r)
        Weights of the rules.
    experts : ndarray of shape (K, e)
        Weights of experts' rules.
    linear : ndarray of shape (K, q)
        Weights of linear columns.
    intercept : ndarray of shape (K,)
        Intercepts.
    """

    items: tuple[tuple[int, ...], ...]
    rules: FloatArray
    experts: FloatArray
    linear: FloatArray
    intercept: FloatArray

    @property
    def all_rules(self) -> FloatArray:
        """Weights of rules and experts' rules beside each other."""
        return np.hstack([self.rules, self.experts])

    def with_rules(self, weights: FloatArray, intercept: FloatArray) -> FittedTerms:
        """Give the same terms with other weights of all rules, and other intercepts."""
        r = self.rules.shape[1]
        return replace(self, rules=weights[:, :r], experts=weights[:, r:], intercept=intercept)


def shortened(terms: FittedTerms) -> FittedTerms:
    """Round the weights of rules to few digits.

    Parameters
    ----------
    terms : FittedTerms
        The weights.

    Returns
    -------
    FittedTerms
        Short ones; the intercept lies between two sums that rules can have.
    """
    weights = terms.all_rules
    largest = float(np.abs(weights).max(initial=0.0))
    if largest == 0.0:
        return terms
    digits = _DIGITS - 1 - math.floor(math.log10(largest))
    short = np.vectorize(lambda x: round(x, digits), otypes=[np.float64])
    unit = 10.0**-digits
    # Through decimal text the middle is a short number as well.
    middle = np.array(
        [round((math.floor(b / unit) + 0.5) * unit, digits + 1) for b in terms.intercept]
    )
    return terms.with_rules(short(weights), middle)


def as_points(terms: FittedTerms, held: BoolArray, rows: TrainingRows) -> tuple[FittedTerms, float]:
    """Make the weights of rules small whole numbers, at the least cost in accuracy on the training rows.

    Parameters
    ----------
    terms : FittedTerms
        The weights.
    held : ndarray of bool of shape (m, r + e)
        Which rows each rule covers.
    rows : TrainingRows
        The training rows.

    Returns
    -------
    terms : FittedTerms
        Whole weights.
    factor : float
        What the weights were multiplied by, on average.
    """
    if terms.linear.any():
        raise InvalidValueError(
            "points=True makes points of rules, and linear terms are none; use linear=False"
        )
    weights, h = terms.all_rules, held.astype(np.float64)
    if not weights.any():
        return terms, 1.0
    if len(weights) == 1:
        points, threshold = whole_points(
            h, weights[0], rows.codes == 1, rows.weight, _LARGEST_POINTS
        )
        whole, intercept = points[None, :], np.array([-threshold])
    else:
        whole, intercept = _points_of_classes(terms, h, rows)
    factor = float((whole * weights).sum() / (weights * weights).sum())
    return terms.with_rules(whole, intercept), factor


def _points_of_classes(
    terms: FittedTerms, h: FloatArray, rows: TrainingRows
) -> tuple[FloatArray, FloatArray]:
    """Round the weights of several scores by one factor, the smallest of those with the highest accuracy."""
    weights = terms.all_rules
    best: tuple[float, FloatArray, FloatArray] | None = None
    for top in range(1, _LARGEST_POINTS + 1):
        factor = top / float(np.abs(weights).max())
        whole, intercept = np.rint(weights * factor), np.rint(terms.intercept * factor)
        scores = whole @ h.T + intercept[:, None]
        right = weighted_accuracy(scores, rows.signs, rows.weight)
        if best is None or right > best[0] + 1e-9:
            best = right, whole, intercept
    assert best is not None
    return best[1], best[2]


def weighted_rules(
    terms: FittedTerms,
    conditions: Conditions,
    held: BoolArray,
    rows: TrainingRows,
    experts: ExpertColumns | None,
    linear: LinearColumns | None,
) -> WeightedRules:
    """Make the value: rules with points, most important first.

    Parameters
    ----------
    terms : FittedTerms
        The weights.
    conditions : Conditions
        What rules consist of.
    held : ndarray of bool of shape (m, r + e)
        Which training rows each rule covers.
    rows : TrainingRows
        The training rows.
    experts : ExpertColumns or None
        Experts' rules.
    linear : LinearColumns or None
        Linear columns.

    Returns
    -------
    WeightedRules
        Without rules of weight zero.
    """
    weights = terms.all_rules
    share = rows.sample_weight @ held / rows.sample_weight.sum()
    importance = np.abs(weights).max(axis=0, initial=0.0) * np.sqrt(share * (1.0 - share))
    used = np.flatnonzero(weights.any(axis=0))
    # Rounding must not decide about the order.
    order = used[np.lexsort([used, -importance[used].round(9)])]
    labels = [as_label(label) for label in rows.classes.tolist()]
    rules = []
    for r in order.tolist():
        code = int(weights[0, r] > 0) if len(weights) == 1 else int(weights[:, r].argmax())
        stats = rows.stats(held[:, r], code)
        if r < len(terms.items):
            region, name = conditions.region(terms.items[r]), None
        else:
            assert experts is not None
            expert = experts.rules[r - len(terms.items)]
            region, name = expert.region, expert.name
        origin = "extracted" if r < len(terms.items) else "expert"
        rules.append(Rule(region, labels[code], name=name, origin=origin, stats=stats))  # type: ignore[arg-type]
    found, shift = linear.terms(terms.linear) if linear is not None else ([], 0.0)
    kept, intercept = weights[:, order], terms.intercept + shift
    single = len(weights) == 1
    return WeightedRules(
        RuleSet(rules, conditions.space, labels),
        kept[0] if single else kept,
        intercept[0] if single else intercept,
        found,
    )


def rule_covers(
    items: Sequence[tuple[int, ...]],
    conditions: Conditions,
    table: FloatArray,
    experts: ExpertColumns | None,
) -> BoolArray:
    """Tell which training rows rules and experts' rules cover."""
    width = max((len(rule) for rule in items), default=1)
    padded = np.array([[*rule, *[-1] * (width - len(rule))] for rule in items], dtype=np.intp)
    held = conditions.rule_masks(padded.reshape(len(items), width), table)
    return held if experts is None else np.hstack([held, experts.covers])
