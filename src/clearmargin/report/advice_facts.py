"""Advice before and after training, or as it fares on the data, as plain data."""

from __future__ import annotations

import os
from typing import Any

from clearmargin.advise import AdviceOutcome, AdviceReport, RuleOutcome, check_advice
from clearmargin.core import Rule, RuleSet
from clearmargin.exceptions import InvalidValueError
from clearmargin.extract.training import is_fitted
from clearmargin.report.words import finite

__all__ = ["advice_facts"]

Facts = dict[str, Any]

VERDICTS = {
    "kept": "kept as it was",
    "bent": "refined from the data",
    "extended": "extended as far as the model agrees",
    "ignored": "unchanged, and contradicted by the model",
    "rejected": "rejected: fitting it to the data left nothing of it",
    "empty": "set aside: no case can satisfy it",
}


def advice_facts(advice: Any, X: Any, y: Any) -> Facts | None:
    """Say what became of advice.

    Parameters
    ----------
    advice : AdviceSVC, AdviceOutcome, AdviceReport, RuleSet, str, path or None
        A fitted model with advice, its outcome, or what `check_advice` gave; rules are checked on the data.
    X, y
        The data, for rules.

    Returns
    -------
    dict or None
        `kind` is "outcome" (before and after training) or "check" (on the data alone).

    Examples
    --------
    >>> advice_facts("x0 >= 1 => yes", [[0.0], [2.0]], ["no", "yes"])["rules"][0]["covered"]
    1
    """
    if advice is None:
        return None
    outcome = getattr(advice, "outcome_", advice)
    if isinstance(outcome, AdviceOutcome):
        return {"kind": "outcome", "rules": [_outcome(k, rule) for k, rule in enumerate(outcome)]}
    if hasattr(advice, "fit"):
        state = "has no advice" if is_fitted(advice) else "is not fitted; fit it first"
        raise InvalidValueError(f"advice: {type(advice).__name__} {state}")
    if isinstance(advice, RuleSet | str | os.PathLike):
        outcome = check_advice(advice, X, y)
    if not isinstance(outcome, AdviceReport):
        raise InvalidValueError(
            "advice must be a fitted AdviceSVC, its outcome_, an AdviceReport, a RuleSet, the text of rules or a path, "
            f"not {type(advice).__name__}"
        )
    return {"kind": "check", **outcome.to_dict()}


def _outcome(k: int, rule: RuleOutcome) -> Facts:
    return {
        "name": rule.before.name or f"rule {k + 1}",
        "class": rule.before.label,
        "verdict": rule.verdict,
        "verdict_text": VERDICTS[rule.verdict],
        "before": rule.text_before,
        "after": None if rule.text_after == rule.text_before else rule.text_after,
        "within": rule.text_intervals or None,
        "holds": bool(rule.holds),
        "margin": finite(rule.margin),
        "slack": finite(rule.slack),
        "guarantee": rule.guarantee,
        "changes": [str(change) for change in rule.changes],
        "stats_before": _stats(rule.before),
        "stats_after": _stats(rule.after),
    }


def _stats(rule: Rule) -> Facts | None:
    stats = rule.stats
    if stats is None:
        return None
    return {"rows": stats.rows, "covered": stats.covered, "correct": stats.correct}
