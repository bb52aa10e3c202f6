"""Read rules from files, apply rules or models to a table, and write rules in other formats."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.phrases import number_of

if TYPE_CHECKING:
    from clearmargin.models import PlaneModel
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label
    from clearmargin.tables.files import FileTable

__all__ = [
    "ExportedRules",
    "Predictions",
    "export_rules",
    "find_class",
    "known_predictions",
    "load_rules",
    "predict_by_model",
    "predict_by_rules",
]


def load_rules(path: str) -> RuleSet:
    """Read rules from a file of rules, or from a model that has some.

    Parameters
    ----------
    path : str
        A .rules or .json file.

    Returns
    -------
    RuleSet
        At least one rule.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clearmargin.recipes import load_rules
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ill.rules")
    ...     _ = file.write_text("age >= 50 => yes")
    ...     load_rules(str(file))
    <RuleSet of 1 rules over 1 features, classes ('yes',)>
    """
    from clearmargin.models.model_document import is_model_document
    from clearmargin.models.saving import load_model
    from clearmargin.rules import RuleSet
    from clearmargin.rules.file_writing import read_json

    file = Path(path)
    if file.suffix.lower() == ".json" and is_model_document(read_json(file)):
        rules = load_model(path).rules
        if not rules:
            raise DataError(
                f"{path} is a model without rules; extract some: clearmargin rules --model {path}"
            )
        return rules
    rules = RuleSet.load(path)
    if not rules:
        raise DataError(f"{path} has no rules; a rule is a line such as: bmi >= 30 => ill")
    return rules


def find_class(text: str | None, rules: RuleSet) -> Label | None:
    """Find the class that the user names, as text; None for none."""
    from clearmargin.export.conditions import as_class

    called: dict[str | None, Label] = {str(label): label for label in rules.classes}
    return as_class(rules, called.get(text, text))


@dataclass(frozen=True, slots=True)
class Predictions:
    """The class of each row of a table, and why.

    Parameters
    ----------
    name : str
        The table.
    rows : tuple of dict
        For each row its number from 1, its class (None where it has none), and its rule or its score.
    notes : tuple of str
        How many rows have no class.

    Examples
    --------
    >>> from clearmargin.recipes import Predictions
    >>> print(Predictions("t", ({"row": 1, "class": "yes", "rule": 2},)).to_csv(), end="")
    row,class,rule
    1,yes,2
    """

    name: str
    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the predictions as plain data for JSON."""
        return {"data": self.name, "rows": len(self.rows), "predictions": list(self.rows)}

    def to_csv(self) -> str:
        """Return the predictions as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.rows[0])
        writer.writerows(entry.values() for entry in self.rows)
        return text.getvalue()


def predict_by_rules(table: FileTable, rules: RuleSet, default: str | None = None) -> Predictions:
    """Give each row of a table the class of the first rule that covers it.

    Parameters
    ----------
    table : FileTable
        The rows.
    rules : RuleSet
        The rules.
    default : str, optional
        The class where no rule applies.

    Returns
    -------
    Predictions
        With the rule of each row.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> import numpy as np
    >>> from clearmargin.recipes import predict_by_rules
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> for note in predict_by_rules(table, parse_rules("age >= 50 => yes")).notes:
    ...     print(note)
    15 rows with no rule, and so without a class
    row 1: No rule covers the row. The nearest one for yes, rule 1, fails at 1 of 1 condition: age is ...(age is 20).
    """
    otherwise = find_class(default, rules)
    rows = [
        {
            "row": row,
            "class": otherwise if k < 0 else rules[k].label,
            "rule": None if k < 0 else rules[k].name or k + 1,
        }
        for row, k in enumerate(rules.which(table.frame).tolist(), 1)
    ]
    return Predictions(
        table.name, tuple(rows), (*_unknown(rows, "no rule"), *_first_uncovered(table, rules, rows))
    )


def _first_uncovered(
    table: FileTable, rules: RuleSet, rows: list[dict[str, Any]]
) -> tuple[str, ...]:
    """Say why no rule covers the first row without a class."""
    from clearmargin.rule_base.row_coverage import explain_rule_coverage

    bare = [entry["row"] for entry in rows if entry["class"] is None]
    if not bare:
        return ()
    (why,) = explain_rule_coverage(rules, table.frame.iloc[[bare[0] - 1]])
    return (f"row {bare[0]}: {why.text}",)


def predict_by_model(table: FileTable, model: PlaneModel) -> Predictions:
    """Give each row of a table the class that a model predicts.

    Parameters
    ----------
    table : FileTable
        The rows.
    model : PlaneModel
        The model.

    Returns
    -------
    Predictions
        With the score of each row; rows that lack a value which the model needs have no class.

    Examples
    --------
    >>> import numpy as np
    >>> from clearmargin.recipes import PlaneOptions, make_task, predict_by_model, train
    >>> from clearmargin.tables.files import FileTable
    >>> table = FileTable("t", {"age": np.arange(20, 68, 2), "ill": np.repeat(["no", "yes"], 12).astype(object)})
    >>> task = make_task(table, "ill", cv=None)
    >>> trained = train(task, plane=PlaneOptions(nu=1.0))
    >>> predict_by_model(table, trained.model).rows[0]["class"]
    'no'
    """
    labels, scores = known_predictions(table.frame, model)
    rows = [
        {"row": row, "class": label, "score": score}
        for row, (label, score) in enumerate(zip(labels, scores, strict=True), 1)
    ]
    reason = "a missing value or an unknown category that the model needs"
    return Predictions(table.name, tuple(rows), _unknown(rows, reason))


def known_predictions(frame: Any, model: PlaneModel) -> tuple[list[Any], list[Any]]:
    """Predict classes and scores of rows; None for rows that lack a value or have an unknown category."""
    import numpy as np

    codes = model.encoding_.read(frame)
    known = ~(model.lacks_value(codes) | model.lacks_category(codes)).any(axis=1)
    positions = np.flatnonzero(known)
    labels: list[Any] = [None] * len(frame)
    scores: list[Any] = [None] * len(frame)
    if len(positions):
        part = frame.iloc[positions]
        values = model.decision_function(part)
        best = (
            values if values.ndim == 1 else np.sort(values, axis=1)[:, -1] - np.sort(values)[:, -2]
        )
        predicted = model.predict(part).tolist()
        for k, label, score in zip(positions, predicted, best.tolist(), strict=True):
            labels[k], scores[k] = label, score
    return labels, scores


def _unknown(rows: list[dict[str, Any]], reason: str) -> tuple[str, ...]:
    missing = sum(entry["class"] is None for entry in rows)
    if not missing:
        return ()
    return (f"{number_of(missing, 'row')} with {reason}, and so without a class",)


@dataclass(frozen=True, slots=True)
class ExportedRules:
    """Rules in another format.

    Parameters
    ----------
    n_rules : int
        How many.
    to : str
        The format.
    text : str
        The rules in it; empty for a format that is a file, such as a spreadsheet.

    Examples
    --------
    >>> from clearmargin.recipes import ExportedRules
    >>> ExportedRules(1, "rules", "age >= 50 => yes").to_dict()
    {'rules': 1, 'to': 'rules', 'text': 'age >= 50 => yes'}
    """

    n_rules: int
    to: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return what was exported, as plain data for JSON."""
        return {"rules": self.n_rules, "to": self.to, "text": self.text}


def export_rules(
    rules: RuleSet,
    to: str,
    *,
    default: str | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    **options: Any,
) -> ExportedRules:
    r"""Write rules in another format.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    to : str
        The format, such as "sql".
    default : str, optional
        The class where no rule applies.
    out : Path, optional
        The file to write; a spreadsheet needs one.
    overwrite : bool, default False
        Whether it may be replaced.
    **options : str
        Options of the format, such as `dialect`.

    Returns
    -------
    ExportedRules
        The text.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> from clearmargin.recipes import export_rules
    >>> export_rules(parse_rules("age >= 50 => yes"), "rules").text
    'age >= 50 => yes\n'
    """
    from clearmargin.export.formats import write_export

    more: dict[str, Any] = dict(options)
    if default is not None:
        more["default"] = find_class(default, rules)
    text = write_export(rules, to, out, overwrite=overwrite, **more)
    return ExportedRules(len(rules), to, text)
