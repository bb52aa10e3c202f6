"""What people take away: rules and machines in every form, each checked to say the same on the open rows."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.export.formats import export
from clearmargin.export.spreadsheet import to_xlsx
from clearmargin.language import parse_rules
from clearmargin.language.prose import plain
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules import RuleSet
from clearmargin.workbench.bench import Version
from clearmargin.workbench.project_table import OpenTask
from clearmargin.workbench.trained_machine import TrainedMachine

__all__ = [
    "FORMS",
    "SUBJECTS",
    "Form",
    "cases_csv",
    "check_form",
    "make_form",
    "safe_cell",
    "subject",
    "trained",
]

SUBJECTS = {
    "mine": "your rules",
    "machine": "the rules of the machine",
}


@dataclass(frozen=True, slots=True)
class Form:
    """A form in which rules are taken away.

    Parameters
    ----------
    title : str
        What it is, for people.
    suffix : str
        How its file name ends.
    media : str
        The type of the file.
    options : tuple of (str, str)
        The format of `export` and its dialect.
    """

    title: str
    suffix: str
    media: str
    options: tuple[str, str | None]

    @property
    def is_text(self) -> bool:
        """Whether it can be shown on a page."""
        return self.options[0] != "xlsx"


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
    "pmml": Form("PMML", "pmml", "application/xml", ("pmml", None)),
    "json": Form("JSON", "json", "application/json", ("json", None)),
    "markdown": Form("Markdown", "md", "text/markdown; charset=utf-8", ("markdown", None)),
    "latex": Form("LaTeX", "tex", "application/x-tex", ("latex", None)),
    "xlsx": Form(
        "Spreadsheet",
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ("xlsx", None),
    ),
}


def subject(version: Version, name: str, extracted: dict[str, Any] | None) -> Any:
    """Give the rules that are taken away.

    Parameters
    ----------
    version : Version
        The version.
    name : str
        One of `SUBJECTS`.
    extracted : dict or None
        The rules extracted from the machine, as work has kept them.

    Returns
    -------
    RuleSet or WeightedRules
        The rules.
    """
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


def make_form(rules: RuleSet | WeightedRules, name: str) -> bytes:
    r"""Write rules in a form.

    Parameters
    ----------
    rules : RuleSet or WeightedRules
        The rules.
    name : str
        One of `FORMS`.

    Returns
    -------
    bytes
        The file.

    Examples
    --------
    >>> make_form(parse_rules("bmi >= 30 => ill"), "rules")
    b'bmi >= 30 => ill\n'
    """
    if name not in FORMS:
        raise InvalidValueError(f"there is no form {name!r}; there are {', '.join(FORMS)}")
    kind, dialect = FORMS[name].options
    if kind == "xlsx":
        with tempfile.TemporaryDirectory() as folder:
            path = to_xlsx(rules, Path(folder, "rules.xlsx"))
            return path.read_bytes()
    options = {} if dialect is None else {"dialect": dialect}
    return export(rules, kind, **options).encode("utf-8")


def check_form(rules: RuleSet | WeightedRules, name: str, opened: OpenTask) -> dict[str, Any]:
    """Check that a form says the same as the rules on the open rows.

    Parameters
    ----------
    rules : RuleSet or WeightedRules
        The rules.
    name : str
        One of `FORMS`.
    opened : OpenTask
        The rows.

    Returns
    -------
    dict
        `state`: "same", "different", "not run", "not offered" or "failed"; `text` for people.
    """
    if name == "rules" and isinstance(rules, WeightedRules):
        text = "the rule language has no points; take JSON, SQL or PMML"
        return {"state": "not offered", "text": text, "bytes": 0}
    try:
        content = make_form(rules, name)
        check = _CHECKS.get(name)
        if check is None:
            text = "written from the same rules; nothing here can run it"
            return {"state": "not run", "text": text, "bytes": len(content)}
        given = check(content.decode("utf-8"), rules, opened)
    except ClearmarginError as error:
        return {"state": "failed", "text": str(error), "bytes": 0}
    wanted = [None if label is None else plain(label) for label in _answers(rules, opened)]
    wrong = sum(a != b for a, b in zip(wanted, given, strict=True))
    state = "different" if wrong else "same"
    words = (
        f"other answers on {wrong} of {len(wanted)} open rows: this is a bug in clearmargin"
        if wrong
        else f"run on {len(wanted)} open rows: the same answers"
    )
    return {"state": state, "text": words, "bytes": len(content)}


def _answers(rules: RuleSet | WeightedRules, opened: OpenTask) -> list[Any]:
    if isinstance(rules, RuleSet):
        return [None if k < 0 else rules[k].label for k in rules.which(_rows(rules, opened))]
    return list(rules.predict(_rows(rules, opened)).tolist())


def _rows(rules: RuleSet | WeightedRules, opened: OpenTask) -> Any:
    task = opened.task
    is_filled = isinstance(rules, RuleSet) or task.given is None
    table = task.X if is_filled else task.given
    assert table is not None
    return table.select(list(rules.space.names))


def _records(rules: RuleSet | WeightedRules, opened: OpenTask) -> list[dict[str, Any]]:
    """Give the rows as plain values by name."""
    columns = {c.name: c.values.tolist() for c in _rows(rules, opened).all_columns()}
    missing = {c.name: c.is_missing.tolist() for c in _rows(rules, opened).all_columns()}
    return [
        {name: None if missing[name][k] else values[k] for name, values in columns.items()}
        for k in range(len(opened.codes))
    ]


def _by_sqlite(sql: str, rules: RuleSet | WeightedRules, opened: OpenTask) -> list[Any]:
    """Run the expression over a table in memory."""
    records = _records(rules, opened)
    names = list(rules.space.names)
    quoted = ", ".join("`" + name.replace("`", "``") + "`" for name in names)
    marks = ", ".join("?" for _ in names)
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"CREATE TABLE cases ({quoted})")
            database.executemany(
                f"INSERT INTO cases VALUES ({marks})",  # noqa: S608 (marks are question marks)
                [[record[name] for name in names] for record in records],
            )
            # The expression is ours; names in it are quoted by the exporter.
            query = f"SELECT {sql} FROM cases ORDER BY rowid"  # noqa: S608
            found = database.execute(query).fetchall()
    except (sqlite3.Error, OverflowError) as error:
        raise DataError(f"SQLite does not take it: {error}") from error
    return [None if value is None else _plain_value(value) for (value,) in found]


def _by_duckdb(sql: str, rules: RuleSet | WeightedRules, opened: OpenTask) -> list[Any]:
    """Run the expression over a table of arrow columns, where DuckDB is installed."""
    import duckdb

    cases = pa.table(
        {
            column.name: pa.array(column.values.tolist(), mask=column.is_missing)
            for column in _rows(rules, opened).all_columns()
        }
    )
    try:
        with duckdb.connect(":memory:") as database:
            database.register("cases", cases)
            # The expression is ours; names in it are quoted by the exporter.
            found = database.execute(f"SELECT {sql} FROM cases").fetchall()  # noqa: S608
    except duckdb.Error as error:
        raise DataError(f"the database (duckdb) does not take it: {error}") from error
    return [None if value is None else _plain_value(value) for (value,) in found]


def _plain_value(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _by_python(source: str, rules: RuleSet | WeightedRules, opened: OpenTask) -> list[Any]:
    """Run the function that was written; only a process of its own does this."""
    scope: dict[str, Any] = {}
    exec(compile(source, "<exported rules>", "exec"), scope)  # noqa: S102 (our own source)
    answers = scope["predict_row_many"](_records(rules, opened))
    return [None if value is None else _plain_value(value) for value in answers]


def _by_json(text: str, rules: RuleSet | WeightedRules, opened: OpenTask) -> list[Any]:
    read = RuleSet if isinstance(rules, RuleSet) else WeightedRules
    again = read.from_dict(json.loads(text))
    return [None if label is None else plain(label) for label in _answers(again, opened)]


def _by_language(text: str, rules: RuleSet | WeightedRules, opened: OpenTask) -> list[Any]:
    again = parse_rules(text)
    labels = [None if k < 0 else again[k].label for k in again.which(_rows(again, opened))]
    return [None if label is None else plain(label) for label in labels]


_CHECKS: dict[str, Callable[[str, RuleSet | WeightedRules, OpenTask], list[Any]]] = {
    "sql-sqlite": _by_sqlite,
    **({"sql-duckdb": _by_duckdb} if find_spec("duckdb") else {}),
    "python": _by_python,
    "json": _by_json,
    "rules": _by_language,
}


def safe_cell(value: Any) -> Any:
    """Write a text so that no spreadsheet takes it for a formula.

    Examples
    --------
    >>> safe_cell("=cmd()"), safe_cell("Bern"), safe_cell(-3.5)
    ("'=cmd()", 'Bern', -3.5)
    """
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value


def cases_csv(version: Version) -> bytes:
    """Write the open rows with what the machine and the rules say of them, for spreadsheets.

    Parameters
    ----------
    version : Version
        The version.

    Returns
    -------
    bytes
        CSV in UTF-8; cells that a spreadsheet would take for formulas are quoted.
    """
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
