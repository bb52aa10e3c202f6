"""What a set of rules gives each class of a row, as a share, and the area under the ROC curve of these shares.

Rules give classes, and a ROC curve needs scores. The score of a row is what training data say of the rule that decides
it, which is the first one that covers it: of n training rows under the rule, c have its class; of K classes its own
gets the share ``(c + 1) / (n + K)`` (Laplace's estimate, which keeps a rule over three rows from being as sure as one
over three hundred), and the others share the rest equally. Where no rule covers a row the rules say nothing, and every
class gets 1 / K: between the rules for a class and those against it. Who decides there, the fallback, has no part in
it. A rule without counts, such as an expert's, is taken at its word: 1 for its class.

The area is that of Barakat and Bradley (Rule extraction from support vector machines: measuring the explanation
capability using the area under the ROC curve, ICPR 2006), with the trapezoids of ties, so that it is the Mann-Whitney
statistic: how often a row of a class has a larger share of it than a row of another class, ties counting half. With
three or more classes it is the mean over the classes, each against all others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clearmargin.rules import Rule, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray


def class_shares(rules: RuleSet, which: IntArray, classes: Sequence[Label]) -> FloatArray:
    """Return the share that each class gets of each row, from the rule that decides the row."""
    K = len(classes)
    shares = np.full((len(rules) + 1, K), 1.0 / K)  # the last row, -1, is of rows without a rule
    for r, rule in enumerate(rules):
        share = _laplace_share(rule, K)
        shares[r] = (1.0 - share) / max(1, K - 1)
        shares[r, list(classes).index(rule.label)] = share
    return np.asarray(shares[which])


def _laplace_share(rule: Rule, n_classes: int) -> float:
    stats = rule.stats
    if stats is None or stats.correct is None:
        return 1.0
    return (stats.correct + 1.0) / (stats.covered + n_classes)


def mean_auc(scores: FloatArray, codes: IntArray, weights: IntArray | None = None) -> float:
    """Return the area under the ROC curve of each class against all others, as a mean over the classes."""
    if weights is None:
        weights = np.ones(len(codes), dtype=np.intp)
    areas = [_area(scores[:, k], codes == k, weights) for k in range(scores.shape[1])]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else float("nan")


def _area(scores: FloatArray, is_member: BoolArray, weights: IntArray) -> float | None:
    """Return the Mann-Whitney statistic of the members among all rows; None if all or none are members."""
    # `return_inverse` is flat in some versions of numpy only.
    values, places = np.unique(scores, return_inverse=True)
    members = np.bincount(places.ravel()[is_member], weights[is_member], len(values))
    others = np.bincount(places.ravel()[~is_member], weights[~is_member], len(values))
    pairs = members.sum() * others.sum()
    if not pairs:
        return None
    below = np.cumsum(others) - others
    return float(members @ (below + others / 2.0) / pairs)
