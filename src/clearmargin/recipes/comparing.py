"""Compare old rules or models with new ones, and with what they do on a new table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearmargin.exceptions import DataError
from clearmargin.recipes.applied_rules import load_rules
from clearmargin.recipes.phrases import number_of
from clearmargin.recipes.task import labelled_rows

if TYPE_CHECKING:
    from clearmargin.compare import DriftReport, RuleComparison
    from clearmargin.rules import RuleSet
    from clearmargin.tables.files import FileTable


@dataclass(frozen=True, slots=True)
class Answers:
    """What two deciders, rules or models, answer on the rows of a table."""

    rows: int
    otherwise: int
    right: tuple[int, int]
    silent: tuple[int, int]
    examples: tuple[int, ...]
    better: int | None = None
    worse: int | None = None
    p_value: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON."""
        return {
            "rows": self.rows,
            "answered_otherwise": self.otherwise,
            "right": list(self.right),
            "without_class": list(self.silent),
            "first_rows": list(self.examples),
            "better": self.better,
            "worse": self.worse,
            "p_value": self.p_value,
        }

    def __str__(self) -> str:
        places = ", ".join(map(str, self.examples)) + (
            ", ..." if self.otherwise > len(self.examples) else ""
        )
        where = f" (rows {places})" if self.examples else ""
        text = f"On {self.otherwise} of {self.rows} rows the answers differ{where}."
        for name, right, silent in zip(("old", "new"), self.right, self.silent, strict=True):
            none = f", {silent} without a class" if silent else ""
            text += f"\n  {name}  {right} of {self.rows} right{none}"
        if self.p_value is not None and self.otherwise:
            text += f"\n  {self.better} better, {self.worse} worse (exact paired test: p = {self.p_value:.2g})"
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What differs between old and new, and what the old rules do on a new table."""

    difference: RuleComparison | None
    drift: DriftReport | None
    answers: Answers | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain data for JSON."""
        parts = {"difference": self.difference, "drift": self.drift, "answers": self.answers}
        return {name: None if part is None else part.to_dict() for name, part in parts.items()}

    def __str__(self) -> str:
        parts = (self.difference, self.answers, self.drift)
        return "\n\n".join(str(part) for part in parts if part is not None)


def compare_files(
    old: str,
    new: str | None = None,
    *,
    table: FileTable | None = None,
    target: str | None = None,
    confidence: float = 0.95,
) -> Compared:
    """Compare old rules or a model with new ones, and check the old rules on a new table."""
    if new is None and table is None:
        raise DataError(
            "there is nothing to compare with: name new rules or a new model, or a new table by data=FILE"
        )
    if target is not None and table is None:
        raise DataError("target names a column of a table; name the table, too: data=FILE")
    deciders = [_decider(path) for path in (old, new) if path is not None]
    rules = [decider.rules for decider in deciders]
    notes = [
        f"{decider.path} is a model without rules: only its answers are compared"
        for decider in deciders
        if decider.rules is None
    ]
    difference = drift = answers = None
    if new is not None and rules[0] is not None and rules[1] is not None:
        from clearmargin.compare import compare_rules

        difference = compare_rules(rules[0], rules[1])
    X, y = (None, None) if table is None else _columns(table, target, notes)
    if X is not None and rules[0] is not None:
        from clearmargin.compare import check_drift

        drift = check_drift(rules[0], X, y, confidence=confidence)
        if not drift.n_tests:
            notes.append(
                f"the rules of {old} have no figures from before; .json files keep them, .rules files do not"
            )
    if X is not None and new is not None:
        if y is None:
            notes.append("without classes of the rows (target) only differences are counted")
        answers = _answers(deciders, X, y)
    if not (difference or drift or answers):
        raise DataError(
            f"{old} is a model without rules, and can only be compared on a table, with a new one; name both, or "
            f"extract rules: clearmargin rules --model {old}"
        )
    return Compared(difference, drift, answers, tuple(notes))


@dataclass(frozen=True, slots=True, eq=False)
class _Decider:
    """Rules, or a model that may have rules."""

    path: str
    rules: RuleSet | None
    model: Any = None

    def answer(self, X: Any) -> list[Any]:
        """Return the class of each row; None where there is none."""
        if self.model is None:
            assert self.rules is not None
            return [None if k < 0 else self.rules[k].label for k in self.rules.which(X).tolist()]
        from clearmargin.recipes.applied_rules import known_predictions

        return known_predictions(X, self.model)[0]


def _decider(path: str) -> _Decider:
    from clearmargin.models import load_model
    from clearmargin.models.model_document import is_model_document
    from clearmargin.rules.file_writing import read_json

    if Path(path).suffix.lower() == ".json" and is_model_document(read_json(Path(path))):
        model = load_model(path)
        return _Decider(path, model.rules or None, model)
    return _Decider(path, load_rules(path))


def _columns(table: FileTable, target: str | None, notes: list[str]) -> tuple[Any, Any]:
    """Give features and classes of the rows that have a class."""
    if target is None:
        return table.table, None
    X, y = labelled_rows(table, target)
    if not len(y):
        raise DataError(f"the target {target!r} has no value in any row")
    if len(y) < len(table):
        left_out = number_of(len(table) - len(y), "row")
        notes.append(f"{left_out} without a value of {target!r} left out")
    return X, y


def _answers(deciders: list[_Decider], X: Any, y: Any) -> Answers:
    from clearmargin.compare import compare_models

    given = [decider.answer(X) for decider in deciders]
    # A class may be a number in one file and the text of it in the other.
    texts = [[None if label is None else str(label) for label in side] for side in given]
    truth = None if y is None else [str(label) for label in y.tolist()]
    found = compare_models(texts[0], texts[1], X, truth)
    rows = tuple(int(X.labels[flip.row]) + 1 for flip in found.flips[:5])
    counts = (0, 0) if found.right is None else found.right
    better, worse = (None, None) if y is None else (found.better, found.worse)
    return Answers(
        len(X), len(found.flips), counts, found.silent, rows, better, worse, found.p_value
    )
