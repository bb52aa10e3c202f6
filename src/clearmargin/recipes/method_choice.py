"""Choose between methods by cross-validation, and estimate honestly how right the chosen one is on unseen rows.

Whoever takes the best of several methods and quotes its cross-validated accuracy quotes too much: on pure noise the
best of three is above chance by about a standard error. So the figure that is quoted is that of *choosing and
training*: in each fold the method counts that did best in the other folds. That needs no training beyond the folds of
each method.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from clearmargin.exceptions import ClearmarginError
from clearmargin.progress import Progress, advance
from clearmargin.progress import task as progress_task
from clearmargin.recipes.task import Task
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.figures import Evaluation, Figure

if TYPE_CHECKING:
    from clearmargin.tables.splitting import Folds
    from clearmargin.tables.table import Table


class Predictor(Protocol):
    """What a method gives for the rows of a fold."""

    def predict(self, X: Table, /) -> NDArray[Any]:
        """Predict the classes of rows that may lack values."""

    def scores(self, X: Table, /) -> tuple[NDArray[Any], FloatArray]:
        """Give the classes that are known, and a score of each row for the second one, or for each of several."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to learn from a table."""

    name: str
    title: str
    fit: Callable[[Task], Predictor]


@dataclass(frozen=True, eq=False)
class FoldScores:
    """How right methods are on the unseen rows of the same folds."""

    names: tuple[str, ...]
    evaluations: tuple[Evaluation, ...]
    balanced: bool = False

    def only(self, names: Iterable[str]) -> FoldScores:
        """Give the scores of some of the methods."""
        kept = set(names)
        pairs = [pair for pair in zip(self.names, self.evaluations, strict=True) if pair[0] in kept]
        return FoldScores(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), self.balanced)

    def without(self, names: Iterable[str]) -> FoldScores:
        """Give the scores of all other methods."""
        left_out = set(names)
        return self.only([name for name in self.names if name not in left_out])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """What methods are judged by, of each of them."""
        return tuple(each.figure(self.balanced) for each in self.evaluations)

    @property
    def best(self) -> int:
        """The position of the method that does best."""
        return self._best(None)

    @property
    def chosen(self) -> str:
        """The method that does best."""
        return self.names[self.best]

    def _best(self, kept: BoolArray | None) -> int:
        """Return the first of the best on some of the rows; what differs in the last bits of a sum is equal."""
        known = self.evaluations if kept is None else [each.only(kept) for each in self.evaluations]
        values = np.array([each.figure(self.balanced).value for each in known])
        return int(np.argmax(values >= values.max() - 1e-9))

    @cached_property
    def honest(self) -> Evaluation:
        """What choosing and training predicts: in each fold, the method that does best in the others."""
        first = self.evaluations[0]
        fold = first.tested.fold
        numbers = np.unique(fold)
        best: IntArray = np.zeros(len(fold), dtype=np.intp)
        for number in numbers:
            best[fold == number] = self._best(None if len(numbers) == 1 else fold != number)
        rows = np.arange(len(fold))
        predicted = np.stack([each.predicted for each in self.evaluations])[best, rows]
        known = [each.scores for each in self.evaluations if each.scores is not None]
        scores = np.stack(known)[best, rows] if len(known) == len(self.names) else None
        return replace(first, predicted=predicted, scores=scores)

    def to_dict(self) -> dict[str, Any]:
        """Return the figure of choosing and training, and those of the methods, as plain data for JSON."""
        honest = self.honest.figure(self.balanced).to_dict()
        return {
            "chosen": self.chosen,
            "unseen": honest["value"],
            "standard_error": honest["standard_error"],
            "methods": [
                {"method": name, "unseen": figure.value, "standard_error": figure.error}
                for name, figure in zip(self.names, self.figures, strict=True)
            ],
        }


def score_methods(
    task: Task,
    methods: Sequence[Method],
    folds: Folds,
    *,
    balanced: bool = False,
    progress: Progress = False,
) -> FoldScores:
    """Train every method in every fold, and let it predict the rows that it has not seen."""
    predicted: list[list[NDArray[Any]]] = [[] for _ in methods]
    scores: list[list[tuple[NDArray[Any], FloatArray]]] = [[] for _ in methods]
    given = task.X if task.given is None else task.given
    # Matrices are small here: threads would wait for each other most of the time.
    with (
        threadpool_limits(1, "blas"),
        progress_task("methods in folds", len(methods) * len(folds), show=progress),
    ):
        for train, test in folds.pairs:
            part, rows = task.part(train), given.take(test)
            for k, method in enumerate(methods):
                with warnings.catch_warnings():
                    # What a method doubts is said of the model of all rows.
                    warnings.simplefilter("ignore")
                    labels, values = _predict(method, part, rows)
                predicted[k].append(labels)
                scores[k].append(values)
                advance()
    groups = None if task.splitting is None else task.splitting.groups
    return FoldScores(
        tuple(method.name for method in methods),
        tuple(
            Evaluation.of(folds, task.y, said, ranked, groups)
            for said, ranked in zip(predicted, scores, strict=True)
        ),
        balanced,
    )


def _predict(
    method: Method, part: Task, rows: Table
) -> tuple[NDArray[Any], tuple[NDArray[Any], FloatArray]]:
    try:
        made = method.fit(part)
        return np.asarray(made.predict(rows)), made.scores(rows)
    except ClearmarginError:
        labels, counts = np.unique(part.y, return_counts=True)
        common = counts.argmax()
        ranked = np.tile(np.arange(len(labels)) == common, (len(rows), 1)).astype(np.float64)
        return np.full(len(rows), labels[common]), (labels, ranked)
