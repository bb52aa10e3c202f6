"""A few cases with their reasons: one that the model gets right, one that it gets wrong, one that is close."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.language.words import condition_texts, finite, sentences, single_condition
from clearmargin.plane_rules import RuleExtractor
from clearmargin.report.measured import Measured
from clearmargin.report.rule_facts import ranges
from clearmargin.report.subject import Subject
from clearmargin.rules import Box, FeatureSpace, Rule
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.table import Table, as_given

__all__ = ["case_facts", "row_name"]

Facts = dict[str, Any]


def case_facts(subject: Subject, X: Table, measured: Measured, count: int) -> list[Facts]:
    """Choose cases and explain them.

    By turns: a typical one of those that are right (with the median score), the one that is wrong by most, and the one
    with the lowest score in size. Without labels there are clear ones and close ones.

    Parameters
    ----------
    subject : Subject
        The model.
    X : Table
        The rows.
    measured : Measured
        What rules and model say about them.
    count : int
        How many cases.

    Returns
    -------
    list of dict
        One a case.
    """
    known = ~measured.missing & (measured.table >= _lowest(subject.rules.space)).all(axis=1)
    score = _scores(subject, X, known)
    # A rule of a tree has no score; a case is then as good as another, and the first one is taken.
    size = np.where(known, np.zeros(len(known)) if score is None else np.abs(score), np.nan)
    chosen = _choose(measured, known, size, count)
    return [
        _explain(subject, X, measured, row, kind, None if score is None else float(score[row]))
        for kind, row in chosen
    ]


def _lowest(space: FeatureSpace) -> FloatArray:
    # A code below 0 is a category that the model does not know.
    return np.array([-np.inf if kinds is None else 0.0 for kinds in space.categories])


def _scores(subject: Subject, X: Table, known: BoolArray) -> FloatArray | None:
    """The model's score of each row: its lead over the next class where there are more than two."""
    if not hasattr(subject.machine, "decision_function") or not known.any():
        return None
    rows = np.flatnonzero(known)
    given = X.take(rows).taken_by(subject.machine)
    values = np.asarray(subject.machine.decision_function(given), dtype=float)
    if values.ndim == 2:
        top = np.sort(values, axis=1)
        values = top[:, -1] - top[:, -2] if top.shape[1] > 1 else top[:, 0]
    scores = np.full(len(known), np.nan)
    scores[rows] = values
    return scores


def _choose(
    measured: Measured, known: BoolArray, size: FloatArray, count: int
) -> list[tuple[str, int]]:
    says = measured.answer if measured.machine_says is None else measured.machine_says
    if measured.true is None:
        queues = {"clear": _typical_first(known & measured.covered, size)}
    else:
        wrong = known & (says != measured.true)
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
    parts: Facts = {}
    if isinstance(subject.model, RuleExtractor):
        reason = subject.model.explain_many(X.take(np.array([row])).taken_by(subject.model))[0]
        rule, how = reason.rule, reason.kind
        parts = {name: finite(value) for name, value in reason.parts.items()}
        score, parts["confidence"] = float(reason.margin), finite(reason.confidence)
        space, sentence = reason.space, reason.sentence
    elif measured.which[row] >= 0:
        rule, how = subject.rules[int(measured.which[row])], "rule"
        sentence = sentences([rule], space)[0]
    says = measured.answer if measured.machine_says is None else measured.machine_says
    return {
        "kind": kind,
        "row": row + 1,
        "name": row_name(X, row),
        "true": None if measured.true is None else _label(subject, measured.true[row]),
        "says": _label(subject, says[row]),
        "score": None if score is None else finite(score),
        "reason": how,
        "rule": int(measured.which[row]) + 1 if how == "rule" else None,
        "proof": None if rule is None else rule.proof,
        "sentence": sentence,
        "parts": parts,
        "values": _values(rule, space, measured.table[row], ranges(space, measured.table)),
    }


def _label(subject: Subject, code: int) -> Label | None:
    return None if code < 0 else as_label(subject.classes[int(code)])


def row_name(X: Any, row: int) -> str | None:
    """The label of a row in the index of a pandas data frame; None where rows are only numbered.

    Examples
    --------
    >>> import pandas as pd
    >>> row_name(pd.DataFrame({"a": [1, 2]}, index=["ann", "bob"]), 1), row_name([[1], [2]], 1)
    ('bob', None)
    """
    index = getattr(as_given(X), "index", None)
    if index is None or callable(index):
        return None
    name = index[row]
    return None if isinstance(name, int | np.integer) and int(name) == row else str(name)


def _values(rule: Rule | None, space: FeatureSpace, x: FloatArray, limits: Any) -> list[Facts]:
    """The values of the case in the features of the rule, and what the rule asks of them."""
    if rule is None or not isinstance(rule.region, Box):
        return []
    facts = []
    region = rule.region
    asks = condition_texts([single_condition(region, j) for j in region.bounded], space)
    for j, asked in zip(region.bounded, asks, strict=True):
        kinds = space.categories[j]
        value: Any = None
        if np.isfinite(x[j]):
            value = finite(x[j]) if kinds is None else kinds[int(x[j])]
        interval = region.interval(j)
        fact = {
            "feature": space.names[j],
            "value": value,
            "unit": space.units[j],
            "asks": asked,
        }
        if kinds is None and region.has_bounds(j):
            fact |= {
                "low": finite(interval.low),
                "high": finite(interval.high),
                "range": list(limits[j]),
            }
        facts.append(fact)
    return facts
