"""The facts of a report as plain data: rules, features, cases with their reasons, what no rule covers.

They are counted from what `subject.measure` found, which asks rules and model about every row once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clearmargin.language.printer import Phrases
from clearmargin.language.words import condition_texts, finite, sentences, single_condition
from clearmargin.models.threshold import operating_scores
from clearmargin.plane_rules import RuleExtractor
from clearmargin.points import Scorecard
from clearmargin.report.subject import Measured, Subject
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table

Facts = dict[str, Any]
Ranges = list[tuple[float | None, float | None]]


def ranges(space: FeatureSpace, table: FloatArray) -> Ranges:
    """Return the range of each feature: what is declared or was seen in training, and what is seen in the rows."""
    known = np.isfinite(table)
    low = np.where(known, table, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, table, -np.inf).max(axis=0, initial=-np.inf)
    low = np.where(np.isfinite(space.lower), np.minimum(low, space.lower), low)
    high = np.where(np.isfinite(space.upper), np.maximum(high, space.upper), high)
    return [(finite(a), finite(b)) for a, b in zip(low, high, strict=True)]


def rule_facts(rules: RuleSet, classes: tuple[Label, ...], measured: Measured) -> list[Facts]:
    """Say of each rule what it asks for, and how it does on the rows."""
    phrases, limits = Phrases(rules.space), ranges(rules.space, measured.table)
    number = {label: k for k, label in enumerate(classes)}
    rule_sentences = sentences(rules, rules.space)
    facts = []
    for r, rule in enumerate(rules):
        rows = measured.covers[:, r]
        correct = None if measured.true is None else measured.true[rows] == number[rule.label]
        predicted = measured.model_predicts
        agreed = None if predicted is None else predicted[rows] == number[rule.label]
        facts.append(
            {
                "number": r + 1,
                "class": rule.label,
                "name": rule.name,
                "origin": rule.origin,
                "proof": rule.proof,
                "weight": rule.weight,
                "sentence": rule_sentences[r],
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


def condition_facts(rules: RuleSet, table: FloatArray) -> list[list[Facts]]:
    """Give the conditions of each rule, within the ranges of a table."""
    phrases, limits = Phrases(rules.space), ranges(rules.space, table)
    return [_conditions(rule, rules.space, phrases, limits) for rule in rules]


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
        categories = space.categories[j]
        if j in region.missing or j in region.known:
            fact["missing"] = j in region.missing
        elif categories is not None:
            fact |= {"allowed": sorted(region.sets[j]), "categories": list(categories)}
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
    """Say of each feature where it lives and how many rules of each class speak of it, the most used first."""
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
    """Count rows and rules class by class."""
    labels = [rule.label for rule in rules]
    facts = []
    for k, label in enumerate(classes):
        of_class = np.array([predicted == label for predicted in labels], dtype=np.bool_)
        reachable = _reachable(measured, k)
        covered = reachable & measured.covers[:, of_class].any(axis=1)
        reach, count = int(reachable.sum()), int(covered.sum())
        facts.append(
            {
                "class": label,
                "rules": int(of_class.sum()),
                "rows": None if measured.true is None else int((measured.true == k).sum()),
                "model_says": None
                if measured.model_predicts is None
                else int((measured.model_predicts == k).sum()),
                "reachable": reach,
                "covered": count,
                "coverage": count / reach if reach else None,
                "recall": _recall(measured, k, count),
            }
        )
    return facts


def _recall(measured: Measured, k: int, covered: int) -> float | None:
    """Return the share of all rows of a class that its rules cover; None without labels."""
    if measured.true is None:
        return None
    members = int((measured.true == k).sum())
    return covered / members if members else None


def _reachable(measured: Measured, k: int) -> Any:
    predicted = measured.model_predicts
    if measured.true is None:
        assert predicted is not None or measured.rule_predicts is not None
        return (measured.rule_predicts if predicted is None else predicted) == k
    return measured.true == k if predicted is None else (measured.true == k) & (predicted == k)


def case_facts(subject: Subject, X: Table, measured: Measured, count: int) -> list[Facts]:
    """Choose cases and explain them."""
    if subject.weighted is not None:
        return _point_cases(subject, subject.weighted, X, measured, count)
    known = ~measured.missing & (measured.table >= _lowest(subject.rules.space)).all(axis=1)
    score = _scores(subject, X, known)
    # A rule of a tree has no score; a case is then as good as another, and the first one is taken.
    size = np.where(known, np.zeros(len(known)) if score is None else np.abs(score), np.nan)
    chosen = _choose(measured, known, size, count)
    return [
        _explain(subject, X, measured, row, kind, None if score is None else float(score[row]))
        for kind, row in chosen
    ]


def _point_cases(
    subject: Subject, weighted: Scorecard, X: Table, measured: Measured, count: int
) -> list[Facts]:
    """Choose cases of rules whose points decide, and say what adds up to their scores."""
    scores = np.asarray(weighted.decision_function(measured.table)) - weighted.threshold
    if scores.ndim == 2:
        top = np.sort(scores, axis=1)
        scores = top[:, -1] - top[:, -2]
    everywhere = replace(measured, which=np.zeros(len(scores), dtype=np.intp))
    known = np.ones(len(scores), dtype=np.bool_)
    return [
        {
            **_explain(subject, X, measured, row, kind, float(scores[row])),
            "reason": "points",
            "rule": None,
            "proof": None,
            "sentence": None,
            "values": [],
            "points": weighted.explain(measured.table[row]).to_dict(),
        }
        for kind, row in _choose(everywhere, known, np.abs(scores), count)
    ]


def _lowest(space: FeatureSpace) -> FloatArray:
    # A code below 0 is a category that the model does not know.
    return np.array([-np.inf if categories is None else 0.0 for categories in space.categories])


def _scores(subject: Subject, X: Table, known: BoolArray) -> FloatArray | None:
    """Return the model's score of each row: its lead over the next class where there are more than two."""
    if not known.any():
        return None
    rows = np.flatnonzero(known)
    values = operating_scores(subject.machine, X.take(rows).taken_by(subject.machine))
    if values is None:
        return None
    if values.ndim == 2:
        top = np.sort(values, axis=1)
        values = top[:, -1] - top[:, -2] if top.shape[1] > 1 else top[:, 0]
    scores = np.full(len(known), np.nan)
    scores[rows] = values
    return scores


def _choose(
    measured: Measured, known: BoolArray, size: FloatArray, count: int
) -> list[tuple[str, int]]:
    predicted = measured.answer if measured.model_predicts is None else measured.model_predicts
    if measured.true is None:
        queues = {"clear": _typical_first(known & measured.covered, size)}
    else:
        wrong = known & (predicted != measured.true)
        queues = {
            "right": _typical_first(known & ~wrong & measured.covered, size),
            "wrong": _sorted(wrong, -size),
        }
    queues["close"] = _sorted(known, size)
    chosen: list[tuple[str, int]] = []
    taken: set[int] = set()
    places = {kind: iter(rows.tolist()) for kind, rows in queues.items()}
    while len(chosen) < count and places:
        for kind in list(places):
            row = next((r for r in places[kind] if r not in taken), None)
            if row is None:
                del places[kind]
            elif len(chosen) < count:
                taken.add(row)
                chosen.append((kind, row))
    return chosen


def _sorted(rows: BoolArray, key: FloatArray) -> IntArray:
    members = np.flatnonzero(rows)
    return np.asarray(members[np.argsort(key[members], kind="stable")])


def _typical_first(rows: BoolArray, size: FloatArray) -> IntArray:
    members = np.flatnonzero(rows)
    if not len(members):
        return members
    return _sorted(rows, np.abs(size - np.median(size[members])))


def _explain(
    subject: Subject, X: Table, measured: Measured, row: int, kind: str, score: float | None
) -> Facts:
    space, rule, how, sentence = subject.rules.space, None, "none", None
    stands_in = ""
    if isinstance(subject.model, RuleExtractor):
        reason = subject.model.explain_many(X.take(np.array([row])).taken_by(subject.model))[0]
        rule, how = reason.rule, reason.kind
        score = float(reason.margin)
        space, sentence, stands_in = reason.space, reason.sentence, reason.stands_in
    elif measured.which[row] >= 0:
        rule, how = subject.rules[int(measured.which[row])], "rule"
        sentence = sentences([rule], space)[0]
    predicted = measured.answer if measured.model_predicts is None else measured.model_predicts
    return {
        "kind": kind,
        "row": row + 1,
        "name": row_name(X, row),
        "true": None if measured.true is None else _label(subject, measured.true[row]),
        "says": _label(subject, predicted[row]),
        "score": None if score is None else finite(score),
        "reason": how,
        "rule": int(measured.which[row]) + 1 if how == "rule" else None,
        "proof": None if rule is None else rule.proof,
        "sentence": sentence,
        "stands_in": stands_in,
        "values": _values(rule, space, measured.table[row], ranges(space, measured.table)),
    }


def _label(subject: Subject, code: int) -> Label | None:
    return None if code < 0 else as_label(subject.classes[int(code)])


def row_name(X: Any, row: int) -> str | None:
    """Return the label of a row in the index of a pandas data frame; None where rows are only numbered."""
    labels = Table.read(X).labels
    if labels is None:
        return None
    name = labels[row]
    return None if isinstance(name, int | np.integer) and int(name) == row else str(name)


def _values(rule: Rule | None, space: FeatureSpace, x: FloatArray, limits: Any) -> list[Facts]:
    """Return the values of the case in the features of the rule, and what the rule asks of them."""
    if rule is None or not isinstance(rule.region, Box):
        return []
    facts = []
    region = rule.region
    asks = condition_texts([single_condition(region, j) for j in region.bounded], space)
    for j, asked in zip(region.bounded, asks, strict=True):
        categories = space.categories[j]
        # Cases that are shown have a known value in every feature.
        value: Any = finite(x[j]) if categories is None else categories[int(x[j])]
        interval = region.interval(j)
        fact = {
            "feature": space.names[j],
            "value": value,
            "unit": space.units[j],
            "asks": asked,
        }
        if categories is None and region.has_bounds(j):
            fact |= {
                "low": finite(interval.low),
                "high": finite(interval.high),
                "range": list(limits[j]),
            }
        facts.append(fact)
    return facts


# As many as people look at; the table itself has all of them.
_MOST_ROWS, _MOST_FEATURES = 20, 8


def uncovered_facts(
    space: FeatureSpace, classes: tuple[Label, ...], X: Any, measured: Measured
) -> Facts:
    """Describe the rows that no rule covers."""
    bare = ~measured.covered
    predicted = measured.model_predicts
    rows = np.flatnonzero(bare)
    by_class = measured.true if measured.true is not None else predicted
    return {
        "rows": len(rows),
        "of": len(bare),
        "missing": int(np.count_nonzero(bare & measured.missing)),
        "classes": []
        if by_class is None
        else [
            {
                "class": label,
                "rows": int(np.count_nonzero(bare & (by_class == k))),
                "of": int(np.count_nonzero(by_class == k)),
            }
            for k, label in enumerate(classes)
        ],
        "model_right": None
        if predicted is None or measured.true is None
        else int(np.count_nonzero(bare & (predicted == measured.true))),
        "first": [{"row": row + 1, "name": row_name(X, row)} for row in rows[:_MOST_ROWS].tolist()],
        "typical": _typical(space, measured.table, bare),
    }


def _typical(space: FeatureSpace, table: FloatArray, bare: BoolArray) -> list[Facts]:
    """Give medians, or most common categories, of uncovered and covered rows, the most different features first."""
    if not bare.any() or bare.all():
        return []
    facts, sizes = [], []
    for j, name in enumerate(space.names):
        column = table[:, j]
        known = np.isfinite(column)
        inside, outside = column[known & ~bare], column[known & bare]
        if not len(inside) or not len(outside):
            continue
        categories = space.categories[j]
        if categories is None:
            spread = float(np.subtract(*np.percentile(column[known], [90, 10])))
            pair: list[Any] = [finite(np.median(outside)), finite(np.median(inside))]
            sizes.append(abs(pair[0] - pair[1]) / spread if spread else 0.0)
        else:
            shares = [
                np.bincount(part[part >= 0].astype(np.intp), minlength=len(categories)) / len(part)
                for part in (outside, inside)
            ]
            pair = [categories[int(share.argmax())] for share in shares]
            sizes.append(0.5 * float(np.abs(shares[0] - shares[1]).sum()))
        facts.append(
            {"feature": name, "unit": space.units[j], "uncovered": pair[0], "covered": pair[1]}
        )
    order = np.argsort(-np.array(sizes), kind="stable")
    return [facts[i] for i in order[:_MOST_FEATURES].tolist() if sizes[i] > 0]
