"""Scorecards of clearmargin, on a machine that is trained already."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.quality.budget import MOST_RULES, Remembering
from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer, Figures, judge
from clearmargin import ScoreRules

__all__ = ["CARDS", "card_answer", "card_answers", "card_size", "measure_cards"]

# The sizes that stand beside other methods: about what ensembles of rules have, the default, and what fits on a slip of
# paper.
CARDS = (30, 15, 5)


def card_size(rules: float) -> int:
    """How many cuts a card may have beside so many rules of a peer, its default and linear terms not counted."""
    return int(np.clip(np.floor(rules), 0, MOST_RULES))


def card_answer(fold: Fold, most: int, model: Any = None) -> Answer:
    """What a card of at most so many cuts says on held-out rows; without cuts it says the most common class."""
    rows = len(fold.X_test)
    if most == 0:
        common = int(np.bincount(fold.predicted_train, minlength=2).argmax())
        return Answer(np.full(rows, common), np.ones(rows, dtype=np.bool_), 0, 0, 0.0, overlap=0.0)
    teacher = fold.model if model is None else model
    start = time.process_time()
    card = ScoreRules(teacher, max_rules=most, random_state=fold.seed)
    card.fit(fold.X_train, fold.predicted_train)
    seconds = time.process_time() - start
    cuts = card.scorecard_.n_rules
    return Answer(
        np.asarray(card.predict(fold.X_test), dtype=np.int64),
        np.ones(rows, dtype=np.bool_),
        cuts,
        cuts,
        seconds,
        score=card.decision_function(fold.X_test),
        # Like the stumps of a boosted sum, each cut has something to say about every row.
        overlap=float(cuts > 1),
        is_weighted=True,
    )


def card_answers(fold: Fold) -> dict[str, Answer]:
    """The cards that stand beside other methods."""
    return {f"ScoreRules, {most} cuts": card_answer(fold, most) for most in CARDS}


def measure_cards(fold: Fold, sizes: Iterable[int]) -> dict[int, Figures]:
    """Cards of some sizes; the machine is asked about the same rows for all of them, and answers once."""
    with threadpool_limits(1):
        model = Remembering(fold.model.steps)
        return {most: judge(fold, card_answer(fold, most, model)) for most in sorted(set(sizes))}
