"""What people take away: rules and machines in every form."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.export.formats import export
from clearmargin.language import parse_rules
from clearmargin.language.prose import plain
from clearmargin.points.scorecard import Scorecard
from clearmargin.rules import RuleSet
from clearmargin.workbench.bench import Version
from clearmargin.workbench.trained_machine import TrainedMachine

SUBJECTS = {
    "mine": "your rules",
    "machine": "the rules of the machine",
}


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which rules are taken away."""

    title: str
    suffix: str
    media: str
    options: tuple[str, str | None]


FORMS = {
    "rules": Form("Rule language", "rules", "text/plain; charset=utf-8", ("rules", None)),
    "sql": Form("SQL", "sql", "application/sql", ("sql", "ansi")),
    "sql-sqlite": Form("SQL for SQLite", "sqlite.sql", "application/sql", ("sql", "sqlite")),
    "sql-duckdb": Form("SQL for DuckDB", "duckdb.sql", "application/sql", ("sql", "duckdb")),
    "sql-postgresql": Form(
        "SQL for PostgreSQL", "postgresql.sql", "application/sql", ("sql", "postgresql")
    ),
    "sql-mysql": Form("SQL for MySQL", "mysql.sql", "application/sql", ("sql", "mysql")),
    "python": Form("Python", "py", "text/x-python; charset=utf-8", ("python", None)),
    "json": Form("JSON", "json", "application/json", ("json", None)),
    "markdown": Form("Markdown", "md", "text/markdown; charset=utf-8", ("markdown", None)),
}


def subject(version: Version, name: str, extracted: dict[str, Any] | None) -> Any:
    """Give the rules that are taken away."""
    if name not in SUBJECTS:
        raise InvalidValueError(f"there are {', '.join(SUBJECTS)} to take away, not {name!r}")
    if name == "mine":
        rules = version.rules
        if not len(rules):
            raise DataError("this version has no rules of yours; write some, and keep them")
        return rules
    weighted = trained(version).weighted
    if weighted is not None:
        return weighted
    if extracted is None or extracted["kind"] == "points":
        raise DataError("extract the rules of the machine first, on the page Rules")
    return parse_rules(extracted["text"])


def trained(version: Version) -> TrainedMachine:
    """Give the machine of a version, not that of the one before, which answers on the pages until it is trained."""
    if version.machine is None or not version.is_trained:
        raise DataError(f"wait until the machine of version {version.revision.id} is trained")
    return version.machine


def make_form(rules: RuleSet | Scorecard, name: str) -> bytes:
    r"""Write rules in a form."""
    if name not in FORMS:
        raise InvalidValueError(f"there is no form {name!r}; there are {', '.join(FORMS)}")
    kind, dialect = FORMS[name].options
    options = {} if dialect is None else {"dialect": dialect}
    return export(rules, kind, **options).encode("utf-8")


def safe_cell(value: Any) -> Any:
    """Write a text so that no spreadsheet takes it for a formula."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def cases_csv(version: Version) -> bytes:
    """Write the open rows with what the machine and the rules say of them, for spreadsheets."""
    opened = version.opened
    # Until a version is trained, the machine of the one before answers on the pages.
    predictions = version.judge.predictions if version.is_trained else None
    validated = version.validated if version.is_trained else None
    names = [plain(label) for label in opened.classes]
    rules = version.rules
    first = (
        rules.which(opened.points) if len(rules) else np.full(len(opened.codes), -1, dtype=np.intp)
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    # A gap stays one, whatever was put there for the machine.
    given = opened.task.X if opened.task.given is None else opened.task.given
    columns = given.all_columns()
    missing = [column.is_missing for column in columns]
    title = ["row", opened.settings.target, "machine", "score", "machine when not trained on it"]
    writer.writerow([safe_cell(cell) for cell in [*title, "rule", *(c.name for c in columns)]])
    for k in range(len(opened.codes)):
        cells: list[Any] = [int(opened.rows[k]), names[opened.codes[k]]]
        cells += ["", ""] if predictions is None else _predicted(predictions, names, k)
        cells.append("" if validated is None else names[validated.codes[k]])
        cells.append("" if first[k] < 0 else rules[int(first[k])].name or f"rule {first[k] + 1}")
        cells += [
            None if gaps[k] else c.values[k] for c, gaps in zip(columns, missing, strict=True)
        ]
        writer.writerow([safe_cell(cell) for cell in cells])
    return text.getvalue().encode("utf-8")


def _predicted(predictions: Any, names: list[str], k: int) -> list[Any]:
    return [names[predictions.codes[k]], float(predictions.scores[k])]
