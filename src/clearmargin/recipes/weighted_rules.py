"""Use rules with points that were saved: predict, explain rows, find changes, and report on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.recipes.applied_rules import Predictions, load_rules
from clearmargin.recipes.phrases import row_heading
from clearmargin.recipes.task import Task
from clearmargin.recipes.trained_models import match_model

if TYPE_CHECKING:
    from clearmargin.points import PointsExplanation, RuleSVC, Scorecard
    from clearmargin.rules import RuleSet
    from clearmargin.rules.value import IntArray
    from clearmargin.tables.files import FileTable


def holds_points(path: str | None) -> bool:
    """Check whether a file holds rules with points, as `save_model` writes them for a `RuleSVC`."""
    from clearmargin.points.document import is_scorecard_document
    from clearmargin.rules.file_writing import read_json

    file = None if path is None else Path(path)
    if file is None or file.suffix.lower() != ".json" or not file.is_file():
        return False
    return is_scorecard_document(read_json(file))


def load_rules_or_points(path: str) -> RuleSet | Scorecard:
    """Read what a file holds: rules, or rules with points."""
    from clearmargin.points.document import load_scorecard

    return load_scorecard(path) if holds_points(path) else load_rules(path)


def predict_by_points(table: FileTable, weighted: Scorecard) -> Predictions:
    """Give each row of a table the class that rules with points predict."""
    import numpy as np

    scores = np.asarray(weighted.decision_function(table.table))
    if scores.ndim == 2:
        top = np.sort(scores, axis=1)
        scores = top[:, -1] - top[:, -2]
    classes = weighted.predict(table.table).tolist()
    return Predictions(table.name, "score", classes, scores.tolist(), "no class")


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPoints:
    """Rules with points that were saved, and a table that they are asked about."""

    task: Task
    model: RuleSVC
    accuracy: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the task and the model as plain data for JSON."""
        facts = {
            "classes": self.model.classes_.tolist(),
            "rules": len(self.model.rules_),
            "accuracy": self.accuracy,
            **getattr(self.model, "facts_", {}),
        }
        return {**self.task.to_dict(), "model": facts}


def load_points_for_task(model: RuleSVC, task: Task) -> LoadedPoints:
    """Take rules with points that were saved for a task."""
    matched = match_model(model, task)
    return LoadedPoints(matched, model, task.share_right(model.predict(task.X)))


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedPoints:
    """Explanations of rows of a table by points."""

    loaded: LoadedPoints
    rows: tuple[int, ...]
    labels: tuple[Any, ...]
    explanations: tuple[PointsExplanation, ...]

    def texts(self) -> list[str]:
        """Say of each row which rules hold, what they add up to, and what would flip it."""
        entries = zip(self.rows, self.labels, self.explanations, strict=True)
        return [f"{row_heading(row, told.label, true)} {told.text}" for row, true, told in entries]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanations as plain data for JSON."""
        entries = zip(self.rows, self.labels, self.explanations, strict=True)
        return {
            **self.loaded.to_dict(),
            "explanations": [
                {"row": row, "true_class": true, **told.to_dict()} for row, true, told in entries
            ],
        }


def explain_points_of_rows(loaded: LoadedPoints, positions: IntArray) -> ExplainedPoints:
    """Explain why rows get their class, by the points of what holds."""
    task, weighted = loaded.task, loaded.model.scorecard_
    table = weighted.space.read(task.X.take(positions))
    told = tuple(weighted.explain(row) for row in table)
    rows = tuple(task.row_number(position) for position in positions.tolist())
    return ExplainedPoints(loaded, rows, task.true_classes(positions), told)
