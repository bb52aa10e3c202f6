"""Read rules from files, apply rules or models to a table, and write rules in other formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.phrases import number_of

if TYPE_CHECKING:
    from clearmargin.models.planes import Planes
    from clearmargin.points import Scorecard
    from clearmargin.rules import RuleSet
    from clearmargin.rules.rule import Label
    from clearmargin.tables.files import FileTable, ReadOptions
    from clearmargin.tables.table import Table
    from clearmargin.tables.table_part import TablePart


def load_rules(path: str) -> RuleSet:
    """Read rules from a file of rules, or from a model that has some."""
    from clearmargin.models.model_document import is_model_document, load_planes
    from clearmargin.rules import RuleSet
    from clearmargin.rules.file_writing import read_json

    file = Path(path)
    if file.suffix.lower() == ".json" and is_model_document(read_json(file)):
        rules = load_planes(path).rules
        if not rules:
            raise DataError(
                f"{path} is a model without rules; extract some: clearmargin rules --model {path}"
            )
        return rules
    rules = RuleSet.load(path)
    if not rules:
        raise DataError(f"{path} has no rules; a rule is a line such as: bmi >= 30 => ill")
    return rules


def weights_note(rules: RuleSet, path: str) -> tuple[str, ...]:
    """Say that weights play no role where the first rule that applies decides; nothing where all are 1."""
    if all(rule.weight == 1.0 for rule in rules):
        return ()
    return (
        f"the rules in {path} have weights, and these are not added up: the first rule that applies decides. Rules "
        "with points decide together where they are read from the .json file that 'clearmargin rules' writes",
    )


def find_class(text: str | None, rules: RuleSet) -> Label | None:
    """Find the class that the user names, as text; None for none."""
    from clearmargin.export.conditions import as_class

    called: dict[str | None, Label] = {str(label): label for label in rules.classes}
    return as_class(rules, called.get(text, text))


@dataclass(frozen=True, slots=True)
class Predictions:
    """The class of each row of a table, and why."""

    name: str
    why: str
    classes: list[Any]
    reasons: list[Any]
    unknown: str
    first: str = ""

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def notes(self) -> tuple[str, ...]:
        """How many rows have no class, and why the first of them has none."""
        missing = sum(label is None for label in self.classes)
        if not missing:
            return ()
        count = f"{number_of(missing, 'row')} with {self.unknown}, and so without a class"
        first = f"row {self.classes.index(None) + 1}: {self.first}"
        return (count, first) if self.first else (count,)

    def to_dict(self) -> dict[str, Any]:
        """Return the predictions as plain data for JSON; rows are counted from 1."""
        rows = [{"row": k, "class": label, self.why: why} for k, label, why in self._rows()]
        return {"data": self.name, "rows": len(rows), "predictions": rows}

    def to_csv(self) -> str:
        """Return the predictions as CSV; rows are counted from 1."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "class", self.why])
        writer.writerows(self._rows())
        return text.getvalue()

    def _rows(self) -> Iterator[tuple[int, Any, Any]]:
        return zip(range(1, len(self) + 1), self.classes, self.reasons, strict=True)


def predict_in_blocks(
    path: str, options: ReadOptions, predict: Callable[[FileTable], Predictions]
) -> Predictions | None:
    """Predict the rows of a large file, of which only some are held at a time."""
    from clearmargin.tables.scanned import TEXT_BYTES, ScannedTable, find_files, in_files

    files = find_files(path) if in_files(path) else []
    if not files or (len(files) == 1 and Path(files[0]).stat().st_size <= TEXT_BYTES):
        return None
    predicted: Predictions | None = None
    try:
        source = ScannedTable(files, options=options)
        for more in source.map(_predict_part, common=(predict,)):
            if predicted is None:
                predicted = more
            else:
                predicted.classes.extend(more.classes)
                predicted.reasons.extend(more.reasons)
                predicted = replace(predicted, first=predicted.first or more.first)
    except DataError:  # by the whole table it is said in which row
        if len(files) > 1:
            raise
        return None
    return None if predicted is None else replace(predicted, name=source.name)


def _predict_part(part: TablePart, predict: Callable[[FileTable], Predictions]) -> Predictions:
    from clearmargin.tables.files import FileTable

    columns = {name: part.values(name) for name in part.columns}
    return predict(FileTable(part.place, columns))


def predict_by_rules(table: FileTable, rules: RuleSet, default: str | None = None) -> Predictions:
    """Give each row of a table the class of the first rule that covers it."""
    otherwise = find_class(default, rules)
    which = rules.which(table.table).tolist()
    # The last ones, which -1 finds, are those of no rule.
    labels = [*(rule.label for rule in rules), otherwise]
    names = [*(rule.name or k + 1 for k, rule in enumerate(rules)), None]
    first = ""
    if otherwise is None and -1 in which:
        import numpy as np

        first = rules.why(table.table.take(np.array([which.index(-1)])))[0].text
    return Predictions(
        table.name, "rule", [labels[k] for k in which], [names[k] for k in which], "no rule", first
    )


def predict_by_model(table: FileTable, model: Planes) -> Predictions:
    """Give each row of a table the class that a model predicts."""
    labels, scores = known_predictions(table.table, model)
    reason = "a missing value or an unknown category that the model needs"
    return Predictions(table.name, "score", labels, scores, reason)


def known_predictions(table: Table, model: Planes) -> tuple[list[Any], list[Any]]:
    """Predict classes and scores of rows; None for rows that lack a value or have an unknown category."""
    import numpy as np

    codes = model.encoding_.read(table)
    known = ~(model.lacks_value(codes) | model.lacks_category(codes)).any(axis=1)
    positions = np.flatnonzero(known)
    labels: list[Any] = [None] * len(table)
    scores: list[Any] = [None] * len(table)
    if len(positions):
        part = table.take(positions)
        values = model.decision_function(part)
        best = (
            values if values.ndim == 1 else np.sort(values, axis=1)[:, -1] - np.sort(values)[:, -2]
        )
        predicted = model.predict(part).tolist()
        for k, label, score in zip(positions, predicted, best.tolist(), strict=True):
            labels[k], scores[k] = label, score
    return labels, scores


@dataclass(frozen=True, slots=True)
class ExportedRules:
    """Rules in another format."""

    n_rules: int
    to: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return what was exported, as plain data for JSON."""
        return {"rules": self.n_rules, "to": self.to, "text": self.text}


def export_rules(
    rules: RuleSet | Scorecard,
    to: str,
    *,
    default: str | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    **options: Any,
) -> ExportedRules:
    """Write rules in another format."""
    from clearmargin.export.formats import write_export
    from clearmargin.rules import RuleSet

    more: dict[str, Any] = dict(options)
    plain = rules if isinstance(rules, RuleSet) else rules.rules
    if default is not None:
        more["default"] = find_class(default, plain)
    text = write_export(rules, to, out, overwrite=overwrite, **more)
    return ExportedRules(len(plain), to, text)
