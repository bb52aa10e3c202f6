"""Ours with no more rules than a given number, the method chosen on training rows alone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer
from benchmarks.quality.ours import Method, rules_of
from benchmarks.quality.statement import Statement, answer_of, one_class, with_default
from clearmargin import RuleSet, SupportVectorRules, SurrogateRules
from clearmargin.exceptions import DataError

__all__ = ["LEAVES", "Choice", "Ladder", "candidates", "ladder"]

Array = NDArray[Any]
# Numbers of leaves of the trees that are tried, and of rules to which sets of boxes are cut.
LEAVES = (3, 4, 6, 8, 12, 16, 24)
# Two looks at unseen training rows: one is too noisy, more cost more than they tell.
INNER_FOLDS = 2


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


def candidates(
    teacher: str, leaves: tuple[int, ...] = LEAVES, *, full: bool = True
) -> list[Method]:
    """The extractors that may be chosen; not all of them in a quick run.

    Exact rules are not among them, since what they leave open costs more than they gain.
    """
    found: list[Method] = []
    kinds = ("local", "train") if teacher == "linear" else ("local", "alba")
    for kind in kinds if full else kinds[:1]:
        found.extend(_tree(kind, n) for n in leaves)
    found.append(
        Method(
            "SurrogateRules, boxes",
            lambda model, seed: SurrogateRules(
                model, method="train", learner="boxes", random_state=seed
            ),
        )
    )
    if teacher != "linear" and full:
        found.append(Method("SupportVectorRules", lambda model, _s: SupportVectorRules(model)))
    return found


def _tree(kind: str, n: int) -> Method:
    return Method(
        f"SurrogateRules, {kind}, {n} leaves",
        lambda model, seed: SurrogateRules(model, method=kind, max_leaves=n, random_state=seed),
    )


def _stated(
    method: str, rules: RuleSet, X: Array, said: Array
) -> Iterator[tuple[Choice, Statement]]:
    """All ways to state a set of rules."""
    yield Choice(method, None), with_default(rules, X, said)
    for label in (0, 1):
        yield Choice(method, label), one_class(rules, label)
        # The leaves of a tree belong together; boxes are a cover, of which a part makes sense as well.
        for most in () if "leaves" in method else range(1, max(LEAVES)):
            yield Choice(method, label, most), one_class(rules, label, most)


def _all_statements(
    fold: Fold,
    model: Any,
    rows: tuple[Array, Array],
    tried: Sequence[Method],
    known: Mapping[str, RuleSet] = MappingProxyType({}),
) -> dict[Choice, Statement]:
    found: dict[Choice, Statement] = {}
    X, said = rows
    for method in tried:
        try:
            rules = known.get(method.name)
            if rules is None:
                rules = rules_of(method, model, X, said, fold.seed)
        except DataError:
            # Too few rows of a class for this method; others remain.
            continue
        found.update(_stated(method.name, rules, X, said))
    return found


@dataclass(frozen=True, eq=False)
class Ladder:
    """All statements of a fold, their fidelity on unseen training rows, and the time they took together."""

    fold: Fold
    statements: dict[Choice, Statement]
    promise: dict[Choice, float]
    seconds: float

    def choose(self, size: int) -> Choice:
        """The choice with the best promise among those of at most so many rules, the default always counted."""
        fits = [c for c, s in self.statements.items() if len(s.rules) + 1 <= size]
        if not fits:
            return DEFAULT_ALONE
        return max(fits, key=lambda c: (self.promise.get(c, 0.0), -len(self.statements[c].rules)))

    def answer(self, choice: Choice) -> Answer:
        """What the statement of a choice says on held-out rows."""
        if choice in self.statements:
            return answer_of(self.statements[choice], self.fold, self.seconds)
        rules = next(iter(self.statements.values())).rules[:0]
        said = with_default(rules, self.fold.X_train, self.fold.said_train)
        return answer_of(said, self.fold, self.seconds)


def ladder(
    fold: Fold,
    leaves: tuple[int, ...] = LEAVES,
    *,
    full: bool = True,
    known: Mapping[str, RuleSet] = MappingProxyType({}),
) -> Ladder:
    """Make all statements on the training rows, and judge the same choices on inner folds of them.

    Sets of rules that are `known` by the name of their method, from the same training rows, are not made again.
    """
    start = time.process_time()
    X, said = fold.X_train, fold.said_train
    model = Remembering(fold.model.steps)
    tried = candidates(fold.teacher, leaves, full=full)
    statements = _all_statements(fold, model, (X, said), tried, known)
    scores: dict[Choice, list[float]] = {}
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=fold.seed)
    for seen, unseen in inner.split(X, said):
        stated = _all_statements(fold, model, (X[seen], said[seen]), tried)
        for choice, statement in stated.items():
            scores.setdefault(choice, []).append(statement.fidelity(X[unseen], said[unseen]))
    promise = {c: float(np.mean(values)) for c, values in scores.items()}
    return Ladder(fold, statements, promise, time.process_time() - start)
