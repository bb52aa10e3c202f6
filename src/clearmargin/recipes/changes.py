"""Find the cheapest change of a case that would change the model's answer, or its rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clearmargin.exceptions import DataError
from clearmargin.recipes.trained_models import Trained
from clearmargin.rules.space import nearest_name

if TYPE_CHECKING:
    from clearmargin.cases import Recourse
    from clearmargin.recipes.task import Task
    from clearmargin.recipes.weighted_rules import LoadedPoints
    from clearmargin.rules.value import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FoundChanges:
    """The cheapest change of each of some rows."""

    trained: Trained | LoadedPoints
    rows: tuple[int, ...]
    changes: tuple[Recourse, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return task, model and changes as plain data for JSON."""
        pairs = zip(self.rows, self.changes, strict=True)
        return {
            **self.trained.to_dict(),
            "recourse": [{"row": row, **change.to_dict()} for row, change in pairs],
        }


def find_changes(
    trained: Trained | LoadedPoints,
    positions: IntArray,
    actionable: Mapping[str, Any],
    *,
    costs: Mapping[str, float] | None = None,
    goal: str | None = None,
    rank: int | None = None,
    alternatives: int = 0,
) -> FoundChanges:
    """Find for each row the cheapest change of some features that would change the model's answer, or its rank."""
    from clearmargin import recourse

    task, model = trained.task, trained.model
    names = [str(name) for name in task.X.names]
    for what, given in (("actionable", actionable), ("cost", costs or {})):
        for name in given:
            if name not in names:
                hint = nearest_name(name, names)
                raise DataError(f"{what}: {name!r} is no feature of the model{hint}")
    target: Any = "boundary" if goal is None else _class(goal, model)
    # A range that the user gives is no narrower for what the model has seen.
    free = [name for name, allowed in actionable.items() if not isinstance(allowed, tuple)]
    bounds = _wider_ranges(model, task, free)
    found = [
        recourse(
            model,
            task.X.take(np.array([position])),
            actionable=dict(actionable),
            X=task.X,
            costs=costs or None,
            target=target,
            rank=rank,
            n_alternatives=alternatives + 1,
            bounds=bounds,
        )
        for position in positions.tolist()
    ]
    rows = tuple(task.row_number(position) for position in positions.tolist())
    return FoundChanges(trained, rows, tuple(found))


def _wider_ranges(
    model: Any, task: Task, names: Sequence[str]
) -> dict[str, tuple[float, float]] | None:
    """Return the ranges of numbers that a model was trained on, where the rows of a task have narrower ones."""
    weighted = getattr(model, "scorecard_", None)
    known, seen = (model if weighted is None else weighted).space, task.X.space()
    wider = {}
    for name in names:
        j, k = known.index(name), seen.index(name)
        if known.categories[j] is None and seen.categories[k] is None:
            low, high = float(seen.lower[k]), float(seen.upper[k])
            widest = (min(low, float(known.lower[j])), max(high, float(known.upper[j])))
            if widest != (low, high) and np.isfinite(widest).all():
                wider[name] = widest
    return wider or None


def _class(text: str, model: Any) -> Any:
    labels = model.classes_.tolist()
    for label in labels:
        if str(label) == text:
            return label
    hint = nearest_name(text, map(str, labels))
    raise DataError(f"goal: {text!r} is no class of the model{hint}")
