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
    """The class of each row of a table, and why.

    Parameters
    ----------
    name : str
        The table.
    why : {"rule", "score"}
        What stands beside each class.
    classes : list of label
        The class of each row, None where it has none.
    reasons : list
        For each row its rule, by name or number, or its score; None where it has none.
    unknown : str
        What the rows without a class have.
    first : str
        Why the first of them has none, where that is known.

    Examples
    --------
    >>> from clearmargin.recipes import Predictions
    >>> print(Predictions("t", "rule", ["yes"], [2], "no rule").to_csv(), end="")
    row,class,rule
    1,yes,2
    """

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
    r"""Predict the rows of a large file, of which only some are held at a time.

    Parameters
    ----------
    path : str
        The file.
    options : ReadOptions
        How to read it.
    predict : callable
        Predicts the rows of a table, each by itself.

    Returns
    -------
    Predictions or None
        None where the file is small, or has something in it that has to be read whole.

    Examples
    --------
    >>> import tempfile
    >>> from functools import partial
    >>> from clearmargin import parse_rules
    >>> from clearmargin.recipes import predict_by_rules, predict_in_blocks
    >>> from clearmargin.tables.files import ReadOptions
    >>> by_rules = partial(predict_by_rules, rules=parse_rules("age >= 50 => yes"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "large.csv")
    ...     _ = file.write_text("age,note\n" + f"40,{'-' * 8000}\n60,\n" * 600)
    ...     predict_in_blocks(str(file), ReadOptions(), by_rules).classes[:2]
    [None, 'yes']
    """
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
    """Give each row of a table the class that a model predicts.

    Parameters
    ----------
    table : FileTable
        The rows.
    model : Planes
        The model, such as a `PlaneModel`.

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
    >>> predict_by_model(table, trained.model).classes[0]
    'no'
    """
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
    """Rules in another format.

    Parameters
    ----------
    n_rules : int
        How many.
    to : str
        The format.
    text : str
        The rules in it.

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
    rules: RuleSet | Scorecard,
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
    rules : RuleSet or Scorecard
        The rules.
    to : str
        The format, such as "sql".
    default : str, optional
        The class where no rule applies.
    out : Path, optional
        The file to write.
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
    from clearmargin.rules import RuleSet

    more: dict[str, Any] = dict(options)
    plain = rules if isinstance(rules, RuleSet) else rules.rules
    if default is not None:
        more["default"] = find_class(default, plain)
    text = write_export(rules, to, out, overwrite=overwrite, **more)
    return ExportedRules(len(plain), to, text)
