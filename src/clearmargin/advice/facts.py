"""The facts that a report shows of advice, as plain data: each rule before and after training, or on the data."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from clearmargin.advice.advice_check import AdviceReport, check_advice
from clearmargin.advice.outcome import AdviceOutcome, RuleOutcome
from clearmargin.exceptions import InvalidValueError
from clearmargin.language.words import condition_texts, finite, single_condition
from clearmargin.models.fitted import is_fitted
from clearmargin.rules import Box, FeatureSpace, RuleSet
from clearmargin.tables.table import Table

Facts = dict[str, Any]


def advice_facts(advice: Any, X: Any, y: Any) -> Facts:
    """Collect what a report shows of advice."""
    outcome = getattr(advice, "outcome_", advice)
    if isinstance(outcome, AdviceOutcome):
        # An outcome by itself knows no features; the model that it is of does.
        space = advice.advice_.space if outcome is not advice else None
        rules = [
            {**_outcome_facts(k, rule), "conditions": _conditions(rule, space, X)}
            for k, rule in enumerate(outcome)
        ]
        return {"kind": "outcome", "rules": rules, "problem": outcome.problem}
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


def _outcome_facts(k: int, rule: RuleOutcome) -> Facts:
    return {
        "name": rule.before.name or f"rule {k + 1}",
        "class": rule.before.label,
        "verdict": rule.verdict,
        "proved": rule.proved,
        "trust": rule.trust,
        "verdict_text": rule.summary,
        "before": rule.text_before,
        "after": None if rule.text_after == rule.text_before else rule.text_after,
        "margin": finite(rule.margin),
        "guarantee": rule.guarantee,
        "problems": list(rule.problems),
        "stats_before": None if rule.before.stats is None else rule.before.stats.to_dict(),
        "stats_after": None if rule.after.stats is None else rule.after.stats.to_dict(),
    }


def _conditions(outcome: RuleOutcome, space: FeatureSpace | None, X: Any) -> list[Facts]:
    """List the conditions of a rule before and after training, feature by feature; none where a premise is no box."""
    before, after = outcome.before.region, outcome.after.region
    if space is None or not isinstance(before, Box) or not isinstance(after, Box):
        return []
    times = [("before", before)] if before == after else [("before", before), ("after", after)]
    facts = []
    for j in sorted({*before.bounded, *after.bounded}):
        limits = _limits(space, j, X, before, after)
        for when, box in times:
            if j in box.bounded:
                text = condition_texts([single_condition(box, j)], space)[0]
                facts.append(
                    {"when": when, "text": text, **_condition_facts(box, j, space, limits)}
                )
    return facts


def _condition_facts(box: Box, j: int, space: FeatureSpace, limits: list[float | None]) -> Facts:
    categories = space.categories[j]
    if j in box.missing or j in box.known:
        return {"feature": space.names[j], "missing": j in box.missing}
    if categories is not None:
        allowed = {"allowed": sorted(box.sets[j]), "categories": list(categories)}
        return {"feature": space.names[j], **allowed}
    low, high = finite(box.interval(j).low), finite(box.interval(j).high)
    return {"feature": space.names[j], "low": low, "high": high, "range": limits}


def _limits(space: FeatureSpace, j: int, X: Any, *boxes: Box) -> list[float | None]:
    """Find the range of a feature that holds the declared range, the values in the data and all bounds of the rule."""
    if space.categories[j] is not None:
        return [None, None]
    known = [space.lower[j], space.upper[j]]
    for box in boxes:
        known += [box.interval(j).low, box.interval(j).high]
    table = None if X is None else Table.read(X)
    if table is not None and space.names[j] in table.keys:
        known += table.column(space.names[j]).numbers().tolist()
    values = np.array(known, dtype=float)
    values = values[np.isfinite(values)]
    return [float(values.min()), float(values.max())] if values.size else [None, None]
