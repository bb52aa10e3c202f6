"""Choose between methods by cross-validation, and estimate honestly how right the chosen one is on unseen rows.

Whoever takes the best of several methods and quotes its cross-validated accuracy quotes too much: on pure noise the
best of three is above chance by about a standard error. So the figure that is quoted is that of *choosing and
training*: in each fold the method counts that did best in the other folds. That needs no training beyond the folds of
each method.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from clearmargin.exceptions import ClearmarginError
from clearmargin.progress import Progress, advance
from clearmargin.progress import task as progress_task
from clearmargin.recipes.task import Task
from clearmargin.rules.value import FloatArray

if TYPE_CHECKING:
    from clearmargin.tables.splitting import Folds
    from clearmargin.tables.table import Table

__all__ = ["FoldScores", "Method", "Predictor", "score_methods"]


class Predictor(Protocol):
    """What a method gives for the rows of a fold."""

    def predict(self, X: Table, /) -> NDArray[Any]:
        """Predict the classes of rows that may lack values."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to learn from a table.

    Parameters
    ----------
    name : str
        What it is called in options and files.
    title : str
        What it is called in sentences.
    fit : callable
        Learns from a task.
    """

    name: str
    title: str
    fit: Callable[[Task], Predictor]


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores:
    """How right methods are on the unseen rows of each fold.

    Parameters
    ----------
    names : tuple of str
        The methods; of equally good ones the first is chosen.
    by_fold : ndarray of shape (n_methods, n_folds)
        The share of rows on which each method is right in each fold.
    rows : ndarray of int of shape (n_folds,)
        How many rows each fold tests.
    found : ndarray of int of shape (n_methods, n_folds), optional
        How many rows of the rarest class each method gets right in each fold.

    Examples
    --------
    >>> import numpy as np
    >>> scores = FoldScores(("a", "b"), np.array([[0.5, 0.9], [0.7, 0.6]]), np.array([10, 10]))
    >>> scores.chosen, scores.honest_by_fold.tolist()
    ('a', [0.5, 0.6])
    """

    names: tuple[str, ...]
    by_fold: FloatArray
    rows: NDArray[np.intp]
    found: NDArray[np.intp] | None = None

    def only(self, names: Sequence[str]) -> FoldScores:
        """Give the scores of some of the methods."""
        kept = [k for k, name in enumerate(self.names) if name in names]
        found = None if self.found is None else self.found[kept]
        return FoldScores(tuple(self.names[k] for k in kept), self.by_fold[kept], self.rows, found)

    def without(self, names: Iterable[str]) -> FoldScores:
        """Give the scores of all other methods."""
        left_out = set(names)
        return self.only([name for name in self.names if name not in left_out])

    @property
    def means(self) -> FloatArray:
        """The share of all tested rows on which each method is right."""
        return np.asarray(self.by_fold @ self.rows / self.rows.sum())

    @property
    def chosen(self) -> str:
        """The method that is right most often."""
        return self.names[_first_best(self.means)]

    @property
    def _best_elsewhere(self) -> NDArray[np.intp]:
        """The method that is right most often in the other folds, for each fold."""
        k = len(self.rows)
        if k == 1:
            return np.array([_first_best(self.by_fold[:, 0])])
        best = [
            _first_best(self.by_fold[:, others] @ self.rows[others])
            for others in (np.arange(k) != fold for fold in range(k))
        ]
        return np.array(best)

    @property
    def honest_by_fold(self) -> FloatArray:
        """The share in each fold of the method that is right most often in the others."""
        return np.asarray(self.by_fold[self._best_elsewhere, np.arange(len(self.rows))])

    @property
    def honest_found(self) -> int | None:
        """How many rows of the rarest class choosing and training gets right; None where they were not counted."""
        if self.found is None:
            return None
        return int(self.found[self._best_elsewhere, np.arange(len(self.rows))].sum())

    @property
    def honest(self) -> float:
        """The share of all tested rows on which choosing and training is right."""
        return float(self.honest_by_fold @ self.rows / self.rows.sum())

    @property
    def standard_error(self) -> float | None:
        """Standard error of `honest` over the folds; None for a single fold."""
        return _standard_error(self.honest_by_fold)

    def lead_of(self, other: FoldScores) -> tuple[float, float | None]:
        """Compute by how much another choice is right more often on the same folds, and the standard error of that."""
        lead = other.honest_by_fold - self.honest_by_fold
        return float(lead @ self.rows / self.rows.sum()), _standard_error(lead)

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as plain data for JSON."""
        return {
            "chosen": self.chosen,
            "unseen": self.honest,
            "standard_error": self.standard_error,
            "methods": [
                {"method": name, "unseen": float(mean), "by_fold": shares.tolist()}
                for name, mean, shares in zip(self.names, self.means, self.by_fold, strict=True)
            ],
        }


def _first_best(scores: FloatArray) -> int:
    """Return the first of the best; what differs in the last bits of a sum is equal."""
    return int(np.argmax(scores >= scores.max() - 1e-9 * max(1.0, abs(float(scores.max())))))


def _standard_error(by_fold: FloatArray) -> float | None:
    if len(by_fold) < 2:
        return None
    return float(by_fold.std(ddof=1) / math.sqrt(len(by_fold)))


def score_methods(
    task: Task,
    methods: Sequence[Method],
    folds: Folds,
    *,
    balanced: bool = False,
    progress: Progress = False,
) -> FoldScores:
    """Train every method in every fold, and count on which unseen rows it is right.

    Parameters
    ----------
    task : Task
        The table.
    methods : sequence of Method
        The methods. One that cannot learn from the rows of a fold predicts their most frequent class there.
    folds : Folds
        The rows that are trained on and tested on.
    balanced : bool, default False
        Whether all classes weigh the same in the shares.
    progress : bool or "auto", default False
        Whether a bar is shown.

    Returns
    -------
    FoldScores
        The share of each method in each fold.
    """
    shares = np.zeros((len(methods), len(folds)))
    found = np.zeros(shares.shape, dtype=np.intp)
    values, counts = np.unique(task.y, return_counts=True)
    rarest = values[counts.argmin()]
    given = task.X if task.given is None else task.given
    # Matrices are small here: threads would wait for each other most of the time.
    with (
        threadpool_limits(1, "blas"),
        progress_task("methods in folds", shares.size, show=progress),
    ):
        for fold, (train, test) in enumerate(folds.pairs):
            part, rows, labels = task.part(train), given.take(test), task.y[test]
            for k, method in enumerate(methods):
                with warnings.catch_warnings():
                    # What a method doubts is said of the model of all rows.
                    warnings.simplefilter("ignore")
                    predicted = _predict(method, part, rows)
                shares[k, fold] = _share_right(predicted, labels, balanced)
                found[k, fold] = ((predicted == labels) & (labels == rarest)).sum()
                advance()
    return FoldScores(
        tuple(method.name for method in methods),
        shares,
        np.array([len(test) for _, test in folds.pairs], dtype=np.intp),
        found,
    )


def _predict(method: Method, part: Task, rows: Table) -> NDArray[Any]:
    try:
        return np.asarray(method.fit(part).predict(rows))
    except ClearmarginError:
        labels, counts = np.unique(part.y, return_counts=True)
        return np.full(len(rows), labels[counts.argmax()])


def _share_right(predicted: NDArray[Any], labels: NDArray[Any], balanced: bool) -> float:
    right = predicted == labels
    if not balanced:
        return float(right.mean())
    return float(np.mean([right[labels == label].mean() for label in np.unique(labels)]))
