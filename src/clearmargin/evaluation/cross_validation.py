"""The one cross-validation of the package: several forms of a task in the same folds, and the choice among them.

Whoever takes the best of several forms and quotes its cross-validated accuracy quotes too much: on pure noise the best
of three is above chance by about a standard error. So where a form was chosen, the figure is that of choosing and
training: in each fold the form counts that is chosen by the other folds. It needs no training beyond the folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from clearmargin.evaluation.forms import FormOptions, Forms, make_quietly, rows_of
from clearmargin.progress import Progress, advance
from clearmargin.progress import task as progress_task
from clearmargin.recipes.task import Task
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.figures import Evaluation

if TYPE_CHECKING:
    from clearmargin.tables.splitting import Folds


@dataclass(frozen=True, eq=False)
class Comparison:
    """What forms of a task predict for rows that they were not trained on, all in the same folds."""

    folds: Folds
    evaluations: dict[str, Evaluation]
    balanced: bool

    def choose(self, names: Sequence[str], kept: BoolArray | None = None) -> str:
        """Choose the first form that is within one standard error of the best one, in a paired comparison."""
        known = {
            name: (each if kept is None else each.only(kept)).figure(self.balanced)
            for name, each in self.evaluations.items()
            if name in names
        }
        best = max(known.values(), key=lambda figure: figure.value)
        behind = {name: best - known[name] for name in names}
        # What differs in the last bits of a sum is equal.
        return next(name for name, each in behind.items() if each.value <= each.error + 1e-9)

    def of_choice(self, names: Sequence[str]) -> Evaluation:
        """Evaluate choosing and training: in each fold the form that is chosen by the other folds."""
        first = self.evaluations[names[0]]
        fold = first.tested.fold
        predicted = first.predicted.copy()
        scores = None if first.scores is None else first.scores.copy()
        for number in range(len(self.folds)):
            mine = fold == number
            taken = self.evaluations[self.choose(names, None if mine.all() else ~mine)]
            predicted[mine] = taken.predicted[mine]
            if scores is not None and taken.scores is not None:
                scores[mine] = taken.scores[mine]
        return replace(first, predicted=predicted, scores=scores)


def cross_validate(
    task: Task,
    names: Sequence[str],
    options: FormOptions | None = None,
    balanced: bool = False,
    *,
    progress: Progress = False,
) -> Comparison:
    """Make forms of the training rows of each fold, and let them predict the others.

    Everything that a form learns or chooses, such as features, costs, fill values and the default class, it learns from
    the training rows alone.
    """
    folds = task.folds()
    predicted: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    scores: dict[str, list[tuple[NDArray[Any], FloatArray]]] = {name: [] for name in names}
    rows = rows_of(task)
    # Matrices are small here: threads would wait for each other most of the time.
    with (
        threadpool_limits(1, "blas"),
        progress_task("cross-validation", len(names) * len(folds), show=progress),
    ):
        for train, test in folds.pairs:
            forms, tested = Forms(task.part(train), options), rows.take(test)
            for name in names:
                form = make_quietly(forms, name)
                predicted[name].append(form.predict(tested))
                scores[name].append((form.classes, form.scores(tested)))
                advance()
    groups = None if task.splitting is None else task.splitting.groups
    found = {
        name: Evaluation.of(folds, task.y, predicted[name], scores[name], groups) for name in names
    }
    return Comparison(folds, found, balanced)
