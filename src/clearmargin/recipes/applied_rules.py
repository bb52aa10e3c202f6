"""Read rules from files, apply rules or models to a table, and write rules in other languages."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.phrases import number_of
from clearmargin.rules.space import nearest_name

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
    """
    from clearmargin.models.model_document import is_model_document
    from clearmargin.models.saving import load_model
    from clearmargin.rules import RuleSet
    from clearmargin.rules.files import read_json

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


def find_class(text: str, rules: RuleSet) -> Label:
    """Find the class that the user names."""
    for label in rules.classes:
        if str(label) == text:
            return label
    hint = nearest_name(text, [str(label) for label in rules.classes])
    raise DataError(f"default: {text!r} is no class of the rules{hint}")


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
    """

    name: str
    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The predictions as plain data for JSON."""
        return {"data": self.name, "rows": len(self.rows), "predictions": list(self.rows)}

    def to_csv(self) -> str:
        """The predictions as CSV."""
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
    """
    otherwise = None if default is None else find_class(default, rules)
    rows = [
        {
            "row": row,
            "class": otherwise if k < 0 else rules[k].label,
            "rule": None if k < 0 else rules[k].name or k + 1,
        }
        for row, k in enumerate(rules.which(table.frame).tolist(), 1)
    ]
    return Predictions(table.name, tuple(rows), _unknown(rows, "no rule"))


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
    """Rules in another language.

    Parameters
    ----------
    n_rules : int
        How many.
    to : str
        The language.
    text : str
        The rules in it; empty for a spreadsheet, which is a file.
    """

    n_rules: int
    to: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """What was exported, as plain data for JSON."""
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
    """Write rules in another language.

    Parameters
    ----------
    rules : RuleSet
        The rules.
    to : str
        The language, such as "sql".
    default : str, optional
        The class where no rule applies.
    out : Path, optional
        The file to write; a spreadsheet needs one.
    overwrite : bool, default False
        Whether it may be replaced.
    **options : str
        Options of the language, such as `dialect`.

    Returns
    -------
    ExportedRules
        The text.
    """
    from clearmargin.export import export, to_xlsx
    from clearmargin.rules.files import write_text_atomically

    more: dict[str, Any] = dict(options)
    if default is not None:
        more["default"] = find_class(default, rules)
    if to != "xlsx":
        text = export(rules, to=to, **more)
        if out is not None:
            write_text_atomically(out, text, overwrite=overwrite)
        return ExportedRules(len(rules), to, text)
    if out is None:
        raise DataError("a spreadsheet is a file; name it: out='rules.xlsx'")
    if more:
        raise DataError(f"the form xlsx has no option {next(iter(more))!r}")
    to_xlsx(rules, out, overwrite=overwrite)
    return ExportedRules(len(rules), to, "")
