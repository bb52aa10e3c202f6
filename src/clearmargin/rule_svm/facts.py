"""Facts on weighted rules for reports, as plain data: what each line adds, what is certified, what experts said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules.value import BoolArray, IntArray

__all__ = ["certificate_facts", "expert_facts", "points_facts"]

Facts = dict[str, Any]


def points_facts(
    weighted: WeightedRules, model: Any, covers: BoolArray, true: IntArray | None
) -> Facts:
    """Gather what weighted rules say.

    Parameters
    ----------
    weighted : WeightedRules
        The rules with their weights.
    model : object
        What they come from; a fitted `RuleSVC` knows more about them.
    covers : ndarray of bool of shape (m, r)
        Which rules hold for which rows.
    true : ndarray of int of shape (m,), optional
        Position of the class of each row.

    Returns
    -------
    dict
        How the sums decide, the lines, what is certified, and what became of experts' rules.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> rules = parse_rules("bmi >= 30 => ill", classes=["well", "ill"])
    >>> facts = points_facts(WeightedRules(rules, [2.0], -0.5), None, np.array([[True], [False]]), np.array([1, 0]))
    >>> facts["lines"][0]["covered"], facts["lines"][0]["correct"], facts["certificate"]
    (1, 1, None)
    """
    number = {label: k for k, label in enumerate(weighted.classes)}
    lines = []
    for line in weighted.lines():
        held = None if line.rule is None else covers[:, line.rule]
        is_right = None if true is None or held is None else held & (true == number[line.label])
        lines.append(
            {
                "class": line.label,
                "score": line.output + 1,
                "points": line.points,
                "text": line.text,
                "rule": None if line.rule is None else line.rule + 1,
                "covered": None if held is None else int(held.sum()),
                "correct": None if is_right is None else int(is_right.sum()),
            }
        )
    return {
        "decides": weighted.summary(),
        "classes": list(weighted.classes),
        "intercept": np.atleast_1d(weighted.intercept).tolist(),
        "threshold": weighted.threshold,
        "rows": len(covers),
        "lines": lines,
        "certificate": certificate_facts(model),
        "experts": expert_facts(model),
    }


def certificate_facts(model: Any) -> Facts | None:
    """Return what a fitted `RuleSVC` certifies about the linear program over all rules; None where nothing is.

    Examples
    --------
    >>> certificate_facts(None) is None
    True
    """
    gap = getattr(model, "gap_", math.nan)
    if not math.isfinite(gap):
        return None
    return {
        "gap": float(gap),
        "objective": float(model.objective_),
        "C": float(model.C_),
        "max_conditions": int(model.max_conditions),
        "max_bins": int(model.max_bins),
        "max_rules": model.max_rules,
        "cap_cost": float(model.cap_cost_),
    }


def expert_facts(model: Any) -> list[Facts]:
    """Return what became of the experts' rules of a fitted `RuleSVC`.

    Examples
    --------
    >>> expert_facts(None)
    []
    """
    found = []
    for outcome in getattr(model, "outcome_", ()):
        stats = outcome.rule.stats
        found.append(
            {
                "rule": outcome.text,
                "verdict": outcome.verdict,
                "points": float(outcome.points),
                "covered": None if stats is None else stats.covered,
                "correct": None if stats is None else stats.correct,
            }
        )
    return found
