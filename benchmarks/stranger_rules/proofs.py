"""How much a card with proof decides on strangers' tables, beside boxes with proof, and whether the proofs hold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.stranger_rules.folds import Part, encoder_of
from benchmarks.stranger_rules.records import Record
from clearmargin import RuleExtractor, ScoreRules

__all__ = ["CUTS", "SPEED", "TOPIC", "card_seconds", "dense_machine", "draw_rows", "measure_proofs"]

TOPIC, SPEED = "proof", "proof, speed"
CUTS = (10, 20, 50, 100)


def dense_machine(part: Part, machine: Any = None) -> Any:
    """Train a machine of all features on the table as it is.

    Parameters
    ----------
    part : Part
        The fold.
    machine : classifier, optional
        A linear SVM by default.

    Returns
    -------
    Pipeline
        Fitted, and never changed by what reads it.
    """
    whole = pd.concat([part.X_train, part.X_test])
    if machine is None:
        machine = LinearSVC(random_state=0, max_iter=20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(encoder_of(whole, scale=True), machine).fit(part.X_train, part.y_train)


def draw_rows(X: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """Draw rows within the ranges of a table: half evenly, half by mixing its own values column by column.

    Parameters
    ----------
    X : DataFrame
        The rows whose ranges and categories count.
    count, seed : int
        How many, and how.

    Returns
    -------
    DataFrame
        Numbers of whole columns are whole; nothing is missing.
    """
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    even = np.arange(count) < count // 2
    for name in X.columns:
        known = X[name].dropna()
        mixed = known.to_numpy()[rng.integers(len(known), size=count)]
        if known.dtype.kind in "iuf":
            low, high = float(known.min()), float(known.max())
            drawn = low + (high - low) * rng.random(count)
            is_whole = bool((known == known.round()).all())
            drawn = np.rint(drawn) if is_whole else drawn
            kind = np.int64 if known.dtype.kind in "iu" else np.float64
            columns[str(name)] = np.where(even, drawn, mixed).astype(kind)
        else:
            values = np.unique(known.to_numpy(dtype=str))
            drawn = values[rng.integers(len(values), size=count)].astype(object)
            columns[str(name)] = np.where(even, drawn, mixed)
    return pd.DataFrame(columns)


def _card(machine: Any, part: Part, cuts: int, points: int) -> dict[str, float]:
    """Prove what can be proved with so many cuts; points beyond 0 are tried for contradictions."""
    start = time.process_time()
    rules = ScoreRules(machine, max_rules=cuts, certify=True).fit(part.X_train, part.y_train)
    seconds = time.process_time() - start
    card = rules.scorecard_
    said = card.prove(part.X_test)
    is_proved = np.array([one is not None for one in said])
    wrong = said[is_proved] != machine.predict(part.X_test)[is_proved]
    figures = {
        "proved": float(is_proved.mean()),
        "wrong rows": float(wrong.sum()),
        "seconds": seconds,
    }
    if points:
        rows = draw_rows(part.X_train, points, part.seed)
        answers = card.prove(rows)
        inside = np.array([one is not None for one in answers])
        differs = answers[inside] != machine.predict(rows)[inside]
        figures |= {
            "points": float(inside.sum()),
            "points proved": float(inside.mean()),
            "contradictions": float(differs.sum()),
        }
    return figures


def _boxes(machine: Any, part: Part, sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Boxes with proof; those that cover most come first."""
    start = time.process_time()
    extractor = RuleExtractor(machine, max_rules=max(sizes)).fit(part.X_train, part.y_train)
    seconds = time.process_time() - start
    covers = extractor.rules_.covers(part.X_test)
    order = np.argsort(-extractor.rules_.covers(part.X_train).sum(axis=0), kind="stable")
    return {
        size: {
            "proved": float(covers[:, order[:size]].any(axis=1).mean()),
            "conditions": float(
                np.mean([extractor.rules_[int(k)].n_conditions for k in order[:size]])
            )
            if len(order)
            else 0.0,
            "seconds": seconds,
        }
        for size in sizes
    }


def measure_proofs(part: Part, points: int) -> list[Record]:
    """Measure cards and boxes of one fold's dense plane.

    Parameters
    ----------
    part : Part
        The fold.
    points : int
        Rows drawn within the ranges, of which those in proved cells are put to the machine.

    Returns
    -------
    list of Record
        A card and a number of boxes for each size.
    """
    found = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = dense_machine(part)
        boxes = _boxes(machine, part, CUTS)
        for size in CUTS:
            card = _card(machine, part, size, points if size == max(CUTS) else 0)
            found.append(Record(TOPIC, part.table, part.number, f"card, {size} cuts", card))
            found.append(
                Record(TOPIC, part.table, part.number, f"boxes, {size} rules", boxes[size])
            )
    return found


def card_seconds(cuts: int = 100) -> list[Record]:
    """Time a card with proof of a dense plane over 1,000 rows of 60 columns."""
    X, y = make_classification(1_000, 60, n_informative=30, random_state=0)
    machine = make_pipeline(StandardScaler(), LinearSVC(random_state=0, max_iter=20_000)).fit(X, y)
    seconds = []
    with threadpool_limits(1):
        for _ in range(3):
            start = time.process_time()
            ScoreRules(machine, max_rules=cuts, certify=True).fit(X, y)
            seconds.append(time.process_time() - start)
    figures = {"seconds": min(seconds)}
    return [Record(SPEED, "1,000 x 60", 0, f"card, {cuts} cuts", figures)]
