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

__all__ = ["class_shares", "mean_auc"]


def class_shares(rules: RuleSet, which: IntArray, classes: Sequence[Label]) -> FloatArray:
    """Return the share that each class gets of each row, from the rule that decides the row.

    Parameters
    ----------
    rules : RuleSet
        The rules, with their counts on training data.
    which : ndarray of int of shape (m,)
        The rule that decides each row, -1 where none does.
    classes : sequence of labels
        The classes.

    Returns
    -------
    ndarray of shape (m, K)
        Each row sums to 1.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("x > 1 => yes")
    >>> class_shares(rules, np.array([0, -1]), ["no", "yes"]).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
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
    """Return the area under the ROC curve of each class against all others, as a mean over the classes.

    Parameters
    ----------
    scores : ndarray of shape (m, K)
        A score of each row for each class.
    codes : ndarray of int of shape (m,)
        The class of each row, as its position among the columns; -1 for one that is none of them.
    weights : ndarray of int of shape (m,), optional
        How many rows each row stands for.

    Returns
    -------
    float
        Between 0 and 1, chance 0.5; NaN where all rows are of one class. Classes without rows do not count.

    Examples
    --------
    >>> mean_auc(np.array([[0.1, 0.9], [0.4, 0.6], [0.4, 0.6]]), np.array([1, 0, 1]))
    0.75
    """
    if weights is None:
        weights = np.ones(len(codes), dtype=np.intp)
    areas = [_area(scores[:, k], codes == k, weights) for k in range(scores.shape[1])]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else float("nan")


def _area(scores: FloatArray, is_member: BoolArray, weights: IntArray) -> float | None:
    """Return the Mann-Whitney statistic of the members among all rows; None if all or none are members.

    Counts are whole numbers, so that the sums are exact. scikit-learn is not needed, which a command on a large table
    would have to load for this alone.
    """
    # `return_inverse` is flat in some versions of numpy only.
    values, places = np.unique(scores, return_inverse=True)
    members = np.bincount(places.ravel()[is_member], weights[is_member], len(values))
    others = np.bincount(places.ravel()[~is_member], weights[~is_member], len(values))
    pairs = members.sum() * others.sum()
    if not pairs:
        return None
    below = np.cumsum(others) - others
    return float(members @ (below + others / 2.0) / pairs)
