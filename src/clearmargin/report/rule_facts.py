"""The rules and their features as plain data, counted on the rows of the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.language.printer import Phrases
from clearmargin.language.words import condition_texts, finite, sentences, single_condition
from clearmargin.report.measured import Measured
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.rules.value import FloatArray

__all__ = ["class_facts", "curve_facts", "feature_facts", "ranges", "rule_facts"]

Facts = dict[str, Any]
Ranges = list[tuple[float | None, float | None]]


def ranges(space: FeatureSpace, table: FloatArray) -> Ranges:
    """The range of each feature: what is declared or was seen in training, and what is seen in the rows.

    Parameters
    ----------
    space : FeatureSpace
        The features of the rules.
    table : ndarray of shape (m, n)
        The rows.

    Returns
    -------
    list of pairs
        Lowest and highest value; None where there is none.

    Examples
    --------
    >>> ranges(FeatureSpace(["a"], [0.0], [1.0]), np.array([[0.5], [2.0]]))
    [(0.0, 2.0)]
    """
    known = np.isfinite(table)
    low = np.where(known, table, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, table, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(np.isfinite(space.lower), np.minimum(low, space.lower), low)
    high = np.where(np.isfinite(space.upper), np.maximum(high, space.upper), high)
    return [(finite(a), finite(b)) for a, b in zip(low, high, strict=True)]


def rule_facts(rules: RuleSet, classes: tuple[Label, ...], measured: Measured) -> list[Facts]:
    """Say of each rule what it asks for, and how it does on the rows.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    classes : tuple of labels
        The classes.
    measured : Measured
        What rules and model say about the rows.

    Returns
    -------
    list of dict
        One a rule, in their order.
    """
    phrases, limits = Phrases(rules.space), ranges(rules.space, measured.table)
    number = {label: k for k, label in enumerate(classes)}
    said_in_words = sentences(rules, rules.space)
    facts = []
    for r, rule in enumerate(rules):
        rows = measured.covers[:, r]
        correct = None if measured.true is None else measured.true[rows] == number[rule.label]
        said = measured.machine_says
        agreed = None if said is None else said[rows] == number[rule.label]
        facts.append(
            {
                "number": r + 1,
                "class": rule.label,
                "name": rule.name,
                "origin": rule.origin,
                "proof": rule.proof,
                "weight": rule.weight,
                "sentence": said_in_words[r],
                "premise": phrases.premise(rule),
                "conditions": _conditions(rule, rules.space, phrases, limits),
                **_counts(len(rows), rows, correct, agreed),
            }
        )
    return facts


def _counts(m: int, rows: Any, correct: Any, agreed: Any) -> Facts:
    covered = int(np.count_nonzero(rows))
    right = None if correct is None else int(np.count_nonzero(correct))
    same = None if agreed is None else int(np.count_nonzero(agreed))
    return {
        "rows": m,
        "covered": covered,
        "correct": right,
        "agreed": same,
        "coverage": covered / m if m else None,
        "precision": None if right is None or not covered else right / covered,
        "fidelity": None if same is None or not covered else same / covered,
    }


def _conditions(rule: Rule, space: FeatureSpace, phrases: Phrases, limits: Ranges) -> list[Facts]:
    region = rule.region
    if not isinstance(region, Box):
        # A weighted sum is no interval of one feature.
        return [{"feature": None, "text": text} for text in phrases.conditions(region)]
    conditions = []
    texts = condition_texts([single_condition(region, j) for j in region.bounded], space)
    for j, text in zip(region.bounded, texts, strict=True):
        fact: Facts = {
            "feature": space.names[j],
            "text": text,
            "exact": phrases.bound(region, j),
            "unit": space.units[j],
        }
        kinds = space.categories[j]
        if j in region.missing or j in region.known:
            fact["missing"] = j in region.missing
        elif kinds is not None:
            fact |= {"allowed": sorted(region.sets[j]), "categories": list(kinds)}
        else:
            interval = region.interval(j)
            fact |= {
                "low": finite(interval.low),
                "high": finite(interval.high),
                "low_closed": interval.low_closed,
                "high_closed": interval.high_closed,
                "range": list(limits[j]),
            }
        conditions.append(fact)
    return conditions


def feature_facts(rules: RuleSet, classes: tuple[Label, ...], measured: Measured) -> list[Facts]:
    """Say of each feature where it lives and how many rules of each class speak of it, the most used first.

    Parameters
    ----------
    rules, classes, measured
        As for `rule_facts`.

    Returns
    -------
    list of dict
        One a feature.
    """
    space, limits = rules.space, ranges(rules.space, measured.table)
    used = np.zeros((len(space), len(classes)), dtype=np.intp)
    number = {label: k for k, label in enumerate(classes)}
    for rule in rules:
        used[list(rule.region.bounded), number[rule.label]] += 1
    order = np.argsort(-used.sum(axis=1), kind="stable")
    return [
        {
            "name": space.names[j],
            "unit": space.units[j],
            "integer": bool(space.integer[j]),
            "range": list(limits[j]) if space.categories[j] is None else None,
            "categories": None if space.categories[j] is None else list(space.categories[j] or ()),
            "missing": int(measured.absent[j]),
            "fill": space.fill[j],
            "rules": used[j].tolist(),
        }
        for j in order.tolist()
    ]


def class_facts(rules: RuleSet, classes: tuple[Label, ...], measured: Measured) -> list[Facts]:
    """Count rows and rules class by class.

    A row is *reachable* for the rules of a class if it is of the class and the model says so, too: that is what rules
    of the model can get right. Without labels, it is reachable where the model says so.

    Parameters
    ----------
    rules, classes, measured
        As for `rule_facts`.

    Returns
    -------
    list of dict
        One a class.
    """
    labels = [rule.label for rule in rules]
    facts = []
    for k, label in enumerate(classes):
        own = np.array([said == label for said in labels], dtype=np.bool_)
        reachable = _reachable(measured, k)
        covered = reachable & measured.covers[:, own].any(axis=1)
        reach, count = int(reachable.sum()), int(covered.sum())
        facts.append(
            {
                "class": label,
                "rules": int(own.sum()),
                "rows": None if measured.true is None else int((measured.true == k).sum()),
                "model_says": None
                if measured.machine_says is None
                else int((measured.machine_says == k).sum()),
                "reachable": reach,
                "covered": count,
                "coverage": count / reach if reach else None,
                "recall": _recall(measured, k, count),
            }
        )
    return facts


def _recall(measured: Measured, k: int, covered: int) -> float | None:
    """The share of all rows of a class that its rules cover; None without labels."""
    if measured.true is None:
        return None
    members = int((measured.true == k).sum())
    return covered / members if members else None


def curve_facts(
    rules: RuleSet, classes: tuple[Label, ...], measured: Measured, model: Any
) -> list[Facts]:
    """Share of the reachable rows that one rule, two rules, ... cover, and the share of volume that they fill.

    Parameters
    ----------
    rules, classes, measured
        As for `rule_facts`.
    model : object
        May know `volume_curve_` and `volume_coverage_`.

    Returns
    -------
    list of dict
        One a class.
    """
    volume, total = getattr(model, "volume_curve_", {}), getattr(model, "volume_coverage_", {})
    facts = []
    for k, label in enumerate(classes):
        own = [r for r, rule in enumerate(rules) if rule.label == label]
        reachable = _reachable(measured, k)
        so_far = np.logical_or.accumulate(measured.covers[reachable][:, own], axis=1)
        counts = np.count_nonzero(so_far, axis=0)
        reach = int(reachable.sum())
        known = total.get(label)
        facts.append(
            {
                "class": label,
                "covered": counts.tolist(),
                "reachable": reach,
                "coverage": [count / reach for count in counts.tolist()] if reach else None,
                "volume": [float(v) for v in volume[label]] if label in volume else None,
                "volume_total": None
                if known is None
                else {"low": known.low, "high": known.high, "method": known.method},
            }
        )
    return facts


def _reachable(measured: Measured, k: int) -> Any:
    says = measured.machine_says
    if measured.true is None:
        assert says is not None or measured.rule_says is not None
        return (measured.rule_says if says is None else says) == k
    return measured.true == k if says is None else (measured.true == k) & (says == k)
