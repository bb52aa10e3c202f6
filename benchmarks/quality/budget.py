"""Ours with no more rules than a given number, the method chosen without any held-out row."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer
from benchmarks.quality.ours import ALL, Method, rules_of
from benchmarks.quality.statement import Statement, answer_of, one_class, with_default
from clearmargin import RuleSet, SupportVectorRules, SurrogateRules
from clearmargin.exceptions import ClearmarginError

__all__ = ["LEAVES", "MOST_RULES", "Choice", "Ladder", "candidates", "fresh_rows", "ladder"]

Array = NDArray[Any]
# Numbers of leaves of the trees that are tried; of one with many, the rules of one class may be few.
LEAVES = (3, 4, 6, 8, 12, 16, 24, 32)
# No peer is compared at more rules than this.
MOST_RULES = 40
# Statements are judged on so many fresh rows. Each is a training row that takes each value, with this chance, from one
# of its nearest rows, and the machine predicts its class. Nothing is held out for it, where folds of the training
# rows would judge rules that are made from fewer rows.
N_FRESH, TAKEN, N_NEAREST = 4_000, 0.25, 5


@dataclass(frozen=True)
class Choice:
    """A way to state rules: the extractor, and of which class, and how many rules, are said (None: all)."""

    method: str
    label: int | None
    most: int | None = None


class Remembering(Pipeline):  # type: ignore[misc]
    """A trained machine that answers a question at once when it is asked again, as extractors of many sizes do."""

    def predict(self, X: Any, **params: Any) -> Any:
        """The classes of rows."""
        known: dict[bytes, Any] = self.__dict__.setdefault("known_answers", {})
        key = hashlib.sha256(np.asarray(X, dtype=np.float64).tobytes()).digest()
        if key not in known:
            known[key] = super().predict(X, **params)
        return known[key].copy()

    def decision_function(self, X: Any, **params: Any) -> Any:
        """The decision values of rows."""
        known: dict[bytes, Any] = self.__dict__.setdefault("known_values", {})
        key = hashlib.sha256(np.asarray(X, dtype=np.float64).tobytes()).digest()
        if key not in known:
            known[key] = super().decision_function(X, **params)
        return known[key].copy()


DEFAULT_ALONE = Choice("default class", None)


def candidates(teacher: str, leaves: tuple[int, ...] = LEAVES) -> list[Method]:
    """The extractors that may be chosen.

    Exact rules are not among them, since what they leave open costs more than they gain.
    """
    found: list[Method] = []
    kinds = ("local", "train") if teacher == "linear" else ("local", "alba")
    for kind in kinds:
        found.extend(_tree(kind, n) for n in leaves)
    found.append(
        Method(
            "SurrogateRules, boxes",
            lambda model, seed: SurrogateRules(
                model, method="train", learner="boxes", max_rules=None, random_state=seed
            ),
        )
    )
    if teacher != "linear":
        found.append(
            Method("SupportVectorRules", lambda model, _s: SupportVectorRules(model, **ALL))
        )
    return found


def _tree(kind: str, n: int) -> Method:
    return Method(
        f"SurrogateRules, {kind}, {n} leaves",
        lambda model, seed: SurrogateRules(
            model, method=kind, max_leaves=n, max_rules=None, random_state=seed
        ),
    )


def _stated(
    method: str, rules: RuleSet, X: Array, predicted: Array
) -> Iterator[tuple[Choice, Statement]]:
    """All ways to state a set of rules."""
    yield Choice(method, None), with_default(rules, X, predicted)
    for label in (0, 1):
        yield Choice(method, label), one_class(rules, label)
        # The leaves of a tree belong together; boxes are a cover, of which a part makes sense as well.
        own = 0 if "leaves" in method else sum(rule.label == label for rule in rules)
        for most in range(1, min(own, MOST_RULES + 1)):
            yield Choice(method, label, most), one_class(rules, label, most)


def _all_statements(
    fold: Fold,
    model: Any,
    rows: tuple[Array, Array],
    tried: Sequence[Method],
    known: Mapping[str, RuleSet] = MappingProxyType({}),
) -> dict[Choice, Statement]:
    found: dict[Choice, Statement] = {}
    X, predicted = rows
    for method in tried:
        try:
            rules = known.get(method.name)
            if rules is None:
                rules = rules_of(method, model, X, predicted, fold.seed)
        except ClearmarginError as error:
            # Too few rows of a class for this method, say; others remain.
            print(f"{fold.data}, fold {fold.number}, {method.name}: {error}", file=sys.stderr)
            continue
        found.update(_stated(method.name, rules, X, predicted))
    return found


def fresh_rows(X: Array, seed: int, count: int = N_FRESH) -> Array:
    """Rows like those of a table: mixtures of a row and one of the nearest to it, value by value."""
    rng = np.random.default_rng(seed)
    spread = X.std(axis=0)
    scaled = X / np.where(spread > 0.0, spread, 1.0)
    n_nearest = min(N_NEAREST, len(X) - 1)
    nearest = NearestNeighbors(n_neighbors=n_nearest).fit(scaled).kneighbors(return_distance=False)
    first = rng.integers(len(X), size=count)
    second = nearest[first, rng.integers(n_nearest, size=count)]
    mixed: Array = np.where(rng.random((count, X.shape[1])) < TAKEN, X[second], X[first])
    return mixed


@dataclass(frozen=True, eq=False)
class Ladder:
    """All statements of a fold, their fidelity on fresh rows, and the time they took together."""

    fold: Fold
    statements: dict[Choice, Statement]
    promise: dict[Choice, float]
    seconds: float

    def choose(self, size: int) -> Choice:
        """The choice with the best promise among those of at most so many rules, the default always counted."""
        fits = [c for c, s in self.statements.items() if len(s.rules) + 1 <= size]
        if not fits:
            return DEFAULT_ALONE
        return max(fits, key=lambda c: (self.promise[c], -len(self.statements[c].rules)))

    def answer(self, choice: Choice) -> Answer:
        """What the statement of a choice says on held-out rows."""
        if choice in self.statements:
            return answer_of(self.statements[choice], self.fold, self.seconds)
        rules = next(iter(self.statements.values())).rules[:0]
        default = with_default(rules, self.fold.X_train, self.fold.predicted_train)
        return answer_of(default, self.fold, self.seconds)


def ladder(
    fold: Fold,
    leaves: tuple[int, ...] = LEAVES,
    *,
    known: Mapping[str, RuleSet] = MappingProxyType({}),
) -> Ladder:
    """Make all statements on the training rows, and judge them on fresh rows that the machine labels.

    Sets of rules that are `known` by the name of their method, from the same training rows, are not made again.
    """
    start = time.process_time()
    X, predicted = fold.X_train, fold.predicted_train
    model = Remembering(fold.model.steps)
    tried = candidates(fold.teacher, leaves)
    statements = _all_statements(fold, model, (X, predicted), tried, known)
    fresh = fresh_rows(X, fold.seed)
    labels = fold.model.predict(fresh).astype(np.int64)
    promise = {choice: each.fidelity(fresh, labels) for choice, each in statements.items()}
    return Ladder(fold, statements, promise, time.process_time() - start)
