"""How far the vote of an expert's rules is believed beside a machine that was fitted to the data.

With some dozen cases no fit can know how much rules are worth, and a machine that learns their weights is right less
often than the rules by themselves. So the score of the machine, f, and the vote of the rules, v(x) = sum_r s_r h_r(x)
with s_r the weight of a rule and the sign of its class, are averaged. The average is a sum over rules as well::

    (1 - t) f(x) / rms(f) + t v(x) / k

where k is the root mean square of the number of rules that cover a row, at least 1. Where rules are silent, the machine
decides. The share t is what the vote is worth beforehand, against the
machine, times what the errors of both on the training rows say (those of the machine on rows not seen; where rules are
silent, the more frequent class counts as their vote)::

    t = a / (a + b),    a = p exp(-errors of the vote / 2),    b = (1 - p) exp(-errors of the machine / 2),
    p = 1 / (1 + (m / 100)^2)  for m cases.

A vote that is wrong more often than right, or silent on all training rows, is set aside. Constants were chosen on the
tuning tables of `benchmarks.reproduce.advice_forms`: a worth of 50 to 200 cases and a rate of 1/4 to 1/2 make little
difference.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from clearmargin.rule_svm.extra_terms import ExpertColumns, LinearColumns
from clearmargin.rule_svm.fitted_terms import FittedTerms
from clearmargin.rule_svm.training_rows import TrainingRows
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray

__all__ = ["blended", "vote_share"]

# Cases that an expert's rules are taken to be worth.
_WORTH = 100.0
# So many errors more divide the belief by e.
_ERRORS = 2.0
# A smaller share changes nothing, and a rule with it would be noise.
_LEAST_SHARE = 0.005


def _vote(experts: ExpertColumns) -> FloatArray:
    """Return what the rules vote on each training row."""
    return linear_scores(experts.covers.astype(np.float64), experts.votes)


def _majority(rows: TrainingRows) -> float:
    lead = math.fsum(rows.weight * rows.signs[0])
    return float(np.sign(lead)) if abs(lead) > 1e-9 * math.fsum(rows.weight) else 0.0


def vote_share(rows: TrainingRows, experts: ExpertColumns, score: float) -> float:
    """Decide how far the vote of an expert's rules is believed.

    Parameters
    ----------
    rows : TrainingRows
        The training rows, of two classes.
    experts : ExpertColumns
        The rules.
    score : float
        The accuracy of the machine on rows not seen; NaN where it is not known.

    Returns
    -------
    float
        From 0, where the vote is set aside, to 1.
    """
    vote, y = np.sign(_vote(experts)), rows.signs[0]
    if not experts.covers.any() or math.fsum(rows.weight * y * vote) < 0.0:
        return 0.0
    m, total = math.fsum(rows.sample_weight), math.fsum(rows.weight)
    silent = np.where(vote == 0.0, _majority(rows), vote)
    errors = m * math.fsum(rows.weight[silent != y]) / total
    prior = 1.0 / (1.0 + (m / _WORTH) ** 2)
    theirs = errors if math.isnan(score) else m * (1.0 - score)
    # Only the difference counts; large numbers of errors would underflow.
    odds = prior / (1.0 - prior) * math.exp(min(50.0, max(-50.0, (theirs - errors) / _ERRORS)))
    share = round(odds / (1.0 + odds), 3)
    return share if share >= _LEAST_SHARE else 0.0


def blended(
    terms: FittedTerms,
    share: float,
    rows: TrainingRows,
    experts: ExpertColumns,
    linear: LinearColumns | None,
    held: BoolArray,
    unseen: FloatArray | None,
) -> tuple[FittedTerms, FloatArray | None]:
    """Average a machine with the vote of an expert's rules.

    Parameters
    ----------
    terms : FittedTerms
        The machine, of two classes.
    share : float
        How far the vote is believed.
    rows : TrainingRows
        The training rows.
    experts : ExpertColumns
        The rules.
    linear : LinearColumns or None
        Linear columns of the machine.
    held : ndarray of bool of shape (m, r + e)
        Which training rows each rule of the machine, and each of the expert's, covers.
    unseen : ndarray of shape (m, 1) or None
        Scores of rows not seen, where they are known.

    Returns
    -------
    terms : FittedTerms
        The average.
    unseen : ndarray of shape (m, 1) or None
        The same average of the scores of rows not seen.
    """
    if not share:
        return terms, unseen
    scores = linear_scores(held.astype(np.float64), terms.all_rules[0], float(terms.intercept[0]))
    if linear is not None:
        scores = scores + linear_scores(linear.values(rows.values), terms.linear[0])
    rest = (1.0 - share) / (_root_mean_square(scores, rows.weight) or 1.0)
    k = max(1.0, _root_mean_square(experts.covers.sum(axis=1).astype(np.float64), rows.weight))
    average = replace(
        terms,
        rules=rest * terms.rules,
        experts=rest * terms.experts + share / k * experts.votes,
        linear=rest * terms.linear,
        intercept=rest * terms.intercept,
    )
    if unseen is None:
        return average, None
    return average, rest * unseen + share / k * _vote(experts)[:, None]


def _root_mean_square(values: FloatArray, weight: FloatArray) -> float:
    """Return a root mean square to six digits, so that no rounding decides about a digit of a weight."""
    mean = math.fsum(weight * values**2) / math.fsum(weight)
    return float(f"{math.sqrt(mean):.6g}")
