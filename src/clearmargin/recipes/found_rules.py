"""Extract the rules of a trained model, explain cases by them, and report on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearmargin.recipes.task import Task, find_row, find_rows
from clearmargin.recipes.trained_models import Trained

if TYPE_CHECKING:
    from clearmargin.rules.value import IntArray

# Parameters of `RuleExtractor` that are passed on as they are.


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedCases:
    """Explanations of rows of a table."""

    task: Task
    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    explanations: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanations as plain data for JSON."""
        parts = zip(self.explanations, self.rows, self.labels, strict=True)
        told = [
            {"row": row, "true_class": true, **explanation.to_dict()}
            for explanation, row, true in parts
        ]
        return {**self.task.to_dict(), "explanations": told}


def choose_rows(
    task: Task, *, row: int | None = None, where: str | None = None, most: int = 3
) -> tuple[IntArray, tuple[str, ...]]:
    """Choose rows of a task by number or by a premise."""
    if row is not None:
        return find_row(task, row), ()
    premise = where or "true"
    usable, _ = find_rows(task, premise)
    notes: tuple[str, ...] = ()
    if len(usable) > most:
        notes = (f"{len(usable)} rows have {premise}; the first {most} are explained",)
    return usable[:most], notes


def explain_cases(
    trained: Trained,
    positions: IntArray,
    *,
    precision: float = 0.95,
    max_conditions: int | None = None,
    guarantee: str = "auto",
) -> ExplainedCases:
    """Explain why rows get their class by a few conditions, proved or measured, without extracting rules."""
    from clearmargin.cases import explain_many

    task = trained.task
    told = explain_many(
        trained.model,
        task.X.take(positions),
        task.X,
        precision=precision,
        max_conditions=max_conditions,
        guarantee=guarantee,
    )
    rows = tuple(task.row_number(position) for position in positions.tolist())
    return ExplainedCases(task, rows, task.true_classes(positions), tuple(told))


def report_splitting(task: Task) -> dict[str, Any]:
    """Return the folds of the task as options of a report, whose rows are in the order of the table."""
    splitting = task.splitting
    assert splitting is not None
    if splitting.groups is not None or not isinstance(splitting.cv, int):
        return {"cv": splitting.cv, "groups": splitting.groups, "times": splitting.times}
    return {"cv": task.folds()}
