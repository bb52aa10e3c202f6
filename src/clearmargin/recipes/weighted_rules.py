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
    from clearmargin.report import Report
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
    """Read what a file holds: rules, or rules with points.

    Parameters
    ----------
    path : str
        A .rules or .json file.

    Returns
    -------
    RuleSet or Scorecard
        As `clearmargin.export.export` takes them.

    Examples
    --------
    >>> load_rules_or_points("no-such.rules")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    from clearmargin.points.document import load_scorecard

    return load_scorecard(path) if holds_points(path) else load_rules(path)


def predict_by_points(table: FileTable, weighted: Scorecard) -> Predictions:
    """Give each row of a table the class that rules with points predict.

    Parameters
    ----------
    table : FileTable
        The rows.
    weighted : Scorecard
        The rules with their weights.

    Returns
    -------
    Predictions
        With the score of each row, or its lead over the next class where there are more than two; every row has a
        class, also where values are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin import parse_rules
    >>> from clearmargin.points import Scorecard
    >>> from clearmargin.tables.files import FileTable
    >>> rules = parse_rules("age >= 50 => yes", classes=["no", "yes"])
    >>> said = predict_by_points(FileTable("t", {"age": np.array([40, 60])}), Scorecard(rules, [2.0], -1.0))
    >>> said.classes, said.reasons
    (['no', 'yes'], [-1.0, 1.0])
    """
    import numpy as np

    scores = np.asarray(weighted.decision_function(table.table))
    if scores.ndim == 2:
        top = np.sort(scores, axis=1)
        scores = top[:, -1] - top[:, -2]
    classes = weighted.predict(table.table).tolist()
    return Predictions(table.name, "score", classes, scores.tolist(), "no class")


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPoints:
    """Rules with points that were saved, and a table that they are asked about.

    Parameters
    ----------
    task : Task
        The table.
    model : RuleSVC
        The machine, as it was saved.
    accuracy : float or None
        The share of the rows of the task on which it is right; None where their classes are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.recipes.weighted_rules import load_points_for_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> loaded = load_points_for_task(find_points(task, max_rules=1).model, task)
    >>> loaded.to_dict()["model"]["rules"]
    1
    """

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
    """Take rules with points that were saved for a task.

    Parameters
    ----------
    model : RuleSVC
        The machine, which must know all classes of the table.
    task : Task
        Made for it, with missing values as they are.

    Returns
    -------
    LoadedPoints
        With its accuracy on these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.recipes.weighted_rules import load_points_for_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> loaded = load_points_for_task(find_points(task, max_rules=1).model, task)
    >>> loaded.accuracy
    1.0
    """
    matched = match_model(model, task)
    return LoadedPoints(matched, model, task.share_right(model.predict(task.X)))


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedPoints:
    """Explanations of rows of a table by points.

    Parameters
    ----------
    loaded : LoadedPoints
        The rules and the table.
    rows : tuple of int
        Numbers of the rows in the table, counted from 1.
    labels : tuple of label
        Their true classes; None where these are not known.
    explanations : tuple of PointsExplanation
        One for each.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.recipes.weighted_rules import load_points_for_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> loaded = load_points_for_task(find_points(task, max_rules=1).model, task)
    >>> print(explain_points_of_rows(loaded, np.array([0])).texts()[0])
    Row 1 (right). no: ...
    """

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
    """Explain why rows get their class, by the points of what holds.

    Parameters
    ----------
    loaded : LoadedPoints
        The rules and the table.
    positions : ndarray of int
        Rows of its task.

    Returns
    -------
    ExplainedPoints
        An explanation for each.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.recipes.weighted_rules import load_points_for_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> loaded = load_points_for_task(find_points(task, max_rules=1).model, task)
    >>> explain_points_of_rows(loaded, np.array([23])).explanations[0].label
    'yes'
    """
    task, weighted = loaded.task, loaded.model.scorecard_
    table = weighted.space.read(task.X.take(positions))
    told = tuple(weighted.explain(row) for row in table)
    rows = tuple(task.row_number(position) for position in positions.tolist())
    return ExplainedPoints(loaded, rows, task.true_classes(positions), told)


def report_points(loaded: LoadedPoints, *, command: str | None = None) -> Report:
    """Report on rules with points that were saved, on the rows of a table.

    Parameters
    ----------
    loaded : LoadedPoints
        The rules and the table.
    command : str, optional
        What makes the report again, instead of a call in Python.

    Returns
    -------
    Report
        Without figures on unseen rows: the model was given.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import find_points, make_task
    >>> from clearmargin.recipes.weighted_rules import load_points_for_task
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> loaded = load_points_for_task(find_points(task, max_rules=1).model, task)
    >>> report_points(loaded).to_dict()["validation"]["done"]
    False
    """
    from clearmargin.report import Report, report

    made = report(loaded.model, loaded.task.X, loaded.task.y, cv=None)
    summary = made.to_dict()
    summary["validation"] = {
        "done": False,
        "why": "the model was read from a file, and the cases that it was trained on are not known",
    }
    if command is not None:
        summary["reproduce"]["call"] = command
    from clearmargin.report.sections import learned

    summary["learned"] = learned(summary)
    return Report(summary)
