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
from clearmargin import CertifiedScorecard, RuleExtractor, ScoreRules

__all__ = [
    "CUTS",
    "SPEED",
    "TOPIC",
    "card_seconds",
    "dense_machine",
    "draw_rows",
    "measure_proofs",
    "points_in_cells",
]

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


def points_in_cells(card: CertifiedScorecard, X: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Draw a point within the cells of each row: anywhere, at the ends of cells, and a digit beside them.

    Parameters
    ----------
    card : CertifiedScorecard
        The card.
    X : DataFrame
        Rows that the card speaks of.
    seed : int
        Where points come from.

    Returns
    -------
    DataFrame
        As many rows, each in the same cells; categories and missing values stay.
    """
    rng, moved = np.random.default_rng(seed), X.reset_index(drop=True).copy()
    for part in card.features:
        name = card.space.names[part.feature]
        if part.cuts is None:
            continue
        values = moved[name].to_numpy(dtype=np.float64, copy=True)
        known = ~np.isnan(values)
        ends = np.array([cell[:2] for cell in part.ends(card.space)])
        closed = np.array([cell[2] for cell in part.ends(card.space)])
        place = part.place(values, card.space)[known]
        low, high = ends[place].T
        # An end that does not belong to the cell is the float before it.
        high = np.where(closed[place], high, np.nextafter(high, -np.inf))
        share = rng.random(len(low))
        drawn = np.clip(low + rng.random(len(low)) * (high - low), low, high)
        drawn = np.where(share < 0.3, low, np.where(share < 0.6, high, drawn))
        near = np.where(share < 0.3, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
        drawn = np.where(
            (share < 0.6) & (rng.random(len(low)) < 0.3), np.clip(near, low, high), drawn
        )
        if card.space.integer[part.feature]:
            drawn = np.clip(np.rint(drawn), low, high)
        values[known] = drawn
        moved[name] = values
    return moved


def _contradictions(
    card: CertifiedScorecard, machine: Any, part: Part, points: int
) -> dict[str, float]:
    """Put points inside proved cells to the machine: drawn within the ranges, and at the ends of the cells of rows."""
    rows = draw_rows(part.X_train, points, part.seed)
    codes = card.prove_codes(rows)
    found = {"points proved": float((codes >= 0).mean())}
    parts = [(rows[codes >= 0], codes[codes >= 0])]
    own = card.prove_codes(part.X_train)
    if (own >= 0).any():
        rng = np.random.default_rng(part.seed)
        chosen = rng.choice(np.flatnonzero(own >= 0), size=points // 2)
        moved = points_in_cells(card, part.X_train.iloc[chosen], part.seed)
        # Who stays in the cells of a row has its proof.
        assert (card.prove_codes(moved) == own[chosen]).all()
        parts.append((moved, own[chosen]))
    named = np.array(card.classes)
    wrong = [(machine.predict(X) != named[known]).sum() for X, known in parts if len(X)]
    return found | {
        "points": float(sum(len(X) for X, _ in parts)),
        "contradictions": float(sum(wrong)),
    }


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
        figures |= _contradictions(card, machine, part, points)
    return figures


def _boxes(machine: Any, part: Part, sizes: Sequence[int]) -> dict[int, dict[str, float]]:
    """Boxes with proof, those that cover most first; a box may have one row, so that as much as can be is covered."""
    start = time.process_time()
    extractor = RuleExtractor(machine, max_rules=max(sizes), min_coverage=1)
    extractor.fit(part.X_train, part.y_train)
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
