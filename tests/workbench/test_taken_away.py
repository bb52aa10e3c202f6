"""What people take away: every form run by somebody else's program, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import zipfile
from contextlib import closing
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import pytest
from tests.workbench.benches import keep_trained, open_project, opened_task, patients

from clearmargin import parse_rules
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language import read_rule_text
from clearmargin.language.lexer import quote
from clearmargin.rules import RuleSet
from clearmargin.workbench import taken_away
from clearmargin.workbench.settings import MachineSettings
from clearmargin.workbench.taken_away import (
    FORMS,
    cases_csv,
    check_form,
    make_form,
    safe_cell,
    subject,
    trained,
)
from clearmargin.workbench.trained_machine import train_machine

HOSTILE = ['=cmd|"/c calc"!A1', 'it\'s "so" `called`', "</script><script>alert(1)</script>"]


@cache
def hostile(gaps=True):
    """Numbers as classes, gaps, and names and categories that every form has to quote."""
    table = patients(120, seed=41, gaps=gaps)
    colours = {"red": "r'ed", "green": '=g"reen', "blue": "b`lue; drop table cases", None: None}
    columns = {
        HOSTILE[0]: np.array([colours[c] for c in table["colour"]], dtype=object),
        HOSTILE[1]: table["age"],
        HOSTILE[2]: table["dose"],
        "state": np.where(table["state"] == "ill", 1, 0),
    }
    return opened_task(columns, "state", missing="impute" if gaps else "error")


def hostile_rules():
    opened = hostile()
    colour, age, dose = map(quote, HOSTILE)
    text = (
        f"a: {colour} = `r'ed` and {age} >= 40 => 1\n"
        f"b: {colour} in {{`=g\"reen`, `r'ed`}} and {dose} > 0.25 => 1\n"
        f"c: {age} < 30 => 0\n"
        f"d: {age} + 20 * {dose} >= 75.5 => 1"
    )
    written = read_rule_text(text, opened.space, opened.classes)
    assert not written.mistakes
    return written.rules


def says(case):
    """What these rules say of a case, as plain code; the first one counts, and a gap makes a condition false."""
    colour, age, dose = (case[name] for name in HOSTILE)
    if colour == "r'ed" and age is not None and age >= 40:
        return 1
    if colour in ('=g"reen', "r'ed") and dose is not None and dose > 0.25:
        return 1
    if age is not None and age < 30:
        return 0
    if age is not None and dose is not None and age + 20 * dose >= 75.5:
        return 1
    return None


def records(table):
    columns = {c.name: c for c in table.all_columns()}
    return [
        {
            name: None if column.is_missing[k] else column.values.tolist()[k]
            for name, column in columns.items()
        }
        for k in range(len(table))
    ]


def in_sqlite(sql, cases):
    names = list(cases[0])
    with closing(sqlite3.connect(":memory:")) as database:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        database.execute(f"CREATE TABLE t ({quoted})")
        database.executemany(
            f"INSERT INTO t VALUES ({', '.join('?' * len(names))})",
            [list(case.values()) for case in cases],
        )
        return [row[0] for row in database.execute(f"SELECT {sql} FROM t ORDER BY rowid")]


def in_duckdb(sql, cases):
    frame = pd.DataFrame(cases)
    with duckdb.connect(":memory:") as database:
        database.register("t", frame)
        return [row[0] for row in database.execute(f"SELECT {sql} FROM t").fetchall()]


def in_python(source, cases):
    scope = {}
    exec(source, scope)
    return list(scope["predict_row_many"](cases))


RUN = {
    "sql": in_duckdb,
    "sql-sqlite": in_sqlite,
    "sql-duckdb": in_duckdb,
    "sql-postgresql": in_duckdb,
    "python": in_python,
}


@pytest.mark.parametrize("form", RUN)
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "gaps"])
def test_rules_of_an_expert_say_the_same_elsewhere(form, filled):
    opened = hostile()
    cases = records(opened.task.X if filled else opened.task.given)
    written = make_form(hostile_rules(), form).decode()
    assert RUN[form](written, cases) == [says(case) for case in cases]
    assert {says(case) for case in cases} == {0, 1, None}


@pytest.mark.parametrize("form", ["json", "rules"])
@pytest.mark.parametrize("filled", [True, False], ids=["filled", "gaps"])
def test_rules_that_are_read_again_say_the_same(form, filled):
    opened = hostile()
    table = opened.task.X if filled else opened.task.given
    written = make_form(hostile_rules(), form).decode()
    again = RuleSet.from_dict(json.loads(written)) if form == "json" else parse_rules(written)
    said = [None if k < 0 else again[k].label for k in again.which(table.select(again.space.names))]
    assert said == [says(case) for case in records(table)]


@cache
def machine(name):
    opened = hostile()
    return train_machine(opened, hostile_rules(), MachineSettings(name)).weighted


@pytest.mark.parametrize("name", ["points", "card"])
@pytest.mark.parametrize("form", RUN)
def test_rules_with_points_say_the_same_elsewhere(name, form):
    opened = hostile()
    cases = records(opened.task.given)
    written = make_form(machine(name), form).decode()
    said = RUN[form](written, cases)
    assert [int(label) for label in said] == machine(name).predict(opened.task.given).tolist()
    assert set(map(int, said)) == {0, 1}


@pytest.mark.parametrize("what", ["mine", "points", "card"])
@pytest.mark.parametrize("form", FORMS)
def test_the_check_of_a_form_finds_it_the_same(form, what):
    rules = hostile_rules() if what == "mine" else machine(what)
    told = check_form(rules, form, hostile())
    if form == "rules" and what != "mine":
        assert told["state"] == "not offered"
    elif form in ("sql-sqlite", "sql-duckdb", "python", "json", "rules"):
        assert told["state"] == "same", told
        assert told["text"] == f"run on {len(hostile().codes)} open rows: the same answers"
    else:
        assert told["state"] == "not run"
        assert told["bytes"] == len(make_form(rules, form)) > 0


@pytest.mark.parametrize("form", ["sql-sqlite", "sql-duckdb", "python", "json", "rules"])
def test_the_check_of_a_form_finds_one_that_is_different(form, monkeypatch):
    other = RuleSet(list(hostile_rules())[1:], hostile().space, hostile().classes)
    real = taken_away.make_form
    monkeypatch.setattr(taken_away, "make_form", lambda _, name: real(other, name))
    told = check_form(hostile_rules(), form, hostile())
    assert told["state"] == "different"
    assert re.match(r"other answers on \d+ of 120 open rows: this is a bug", told["text"])


@pytest.mark.parametrize("form", ["sql-sqlite", "sql-duckdb"])
def test_names_that_a_database_takes_for_the_same_are_told_in_words(form):
    table = patients(60)
    columns = {"dose": table["dose"], "Dose": table["age"], "state": table["state"]}
    opened = opened_task(columns, "state")
    rules = read_rule_text("dose >= 0.5 => ill", opened.space, opened.classes).rules
    told = check_form(rules, form, opened)
    assert told["state"] == "failed"
    assert "cannot tell the columns 'dose', 'Dose' apart" in told["text"]


@pytest.mark.parametrize("form", ["sql-sqlite", "sql-duckdb"])
def test_what_a_database_does_not_take_is_told_in_words(form, monkeypatch):
    monkeypatch.setattr(taken_away, "make_form", lambda *_: b"nonsense(")
    told = check_form(hostile_rules(), form, hostile())
    assert told["state"] == "failed"
    assert " does not take it: " in told["text"]


def test_a_form_that_is_not_there_is_refused_in_words():
    with pytest.raises(InvalidValueError, match="there is no form 'exe'; there are rules, sql"):
        make_form(hostile_rules(), "exe")


def test_no_cell_of_a_spreadsheet_is_a_formula():
    with zipfile.ZipFile(io.BytesIO(make_form(hostile_rules(), "xlsx"))) as book:
        sheets = [n for n in book.namelist() if n.startswith("xl/worksheets/sheet")]
        assert sheets
        for name in sheets:
            sheet = book.read(name).decode()
            assert "<f>" not in sheet
            assert "<f " not in sheet


@pytest.mark.parametrize("form", ["pmml", "markdown", "latex"])
def test_hostile_names_are_escaped_where_they_could_do_harm(form):
    written = make_form(hostile_rules(), form).decode()
    if form != "latex":
        assert "<script>" not in written
    assert written.count("alert(1)") >= 1


# The open rows as a table.


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    table = patients(80, seed=3, gaps=True)
    table["-note"] = np.array(["=1+1", "@home", "+3", "-3", "\tx", "fine"] * 14, dtype=object)[:80]
    task = {"target": "state", "missing": "impute"}
    with open_project(tmp_path_factory.mktemp("csv"), table, task=task) as bench:
        keep_trained(bench, "constraints", "=cmd: age >= 60 => ill\n".replace("=cmd", "`=cmd`"))
        yield table, bench.version()


def test_cells_that_look_like_formulas_are_quoted(kept):
    _, version = kept
    lines = list(csv.reader(io.StringIO(cases_csv(version).decode())))
    title, *rows = lines
    assert "'-note" in title
    assert len(rows) == len(version.opened.rows)
    numbers = {"row", "score", "age", "dose"}
    for cells in rows:
        for name, cell in zip(title, cells, strict=True):
            if name not in numbers:
                assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    rule = {cells[title.index("rule")] for cells in rows}
    assert rule == {"", "'=cmd"}


def test_a_table_of_cases_is_what_was_measured_and_predicted(kept):
    table, version = kept
    frame = pd.read_csv(io.BytesIO(cases_csv(version)))
    rows = frame["row"].to_numpy() - 1
    assert frame["state"].tolist() == table["state"][rows].tolist()
    assert frame["age"].tolist() == table["age"][rows].tolist()
    # A gap is a gap, not what was put there for the machine.
    assert np.array_equal(frame["dose"].to_numpy(), table["dose"][rows], equal_nan=True)
    assert frame["dose"].isna().any()
    names = np.array([str(label) for label in version.opened.classes], dtype=object)
    assert frame["machine"].tolist() == names[version.judge.predictions.codes].tolist()
    assert frame["score"].tolist() == pytest.approx(version.judge.predictions.scores.tolist())
    unseen = frame["machine when not trained on it"]
    assert unseen.tolist() == names[version.validated.codes].tolist()
    assert frame["rule"].notna().tolist() == (table["age"][rows] >= 60).tolist()


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@a", "\ta", "\ra"])
def test_a_cell_is_quoted(cell):
    assert safe_cell(cell) == f"'{cell}"
    assert safe_cell(np.str_(cell)) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "Bern", "a=1", " =1", None, -3.5, 7, np.float64(-0.5)])
def test_other_cells_are_as_they_are(cell):
    assert safe_cell(cell) is cell


def test_until_a_machine_is_trained_that_of_the_version_before_is_not_taken_for_it(tmp_path):
    with open_project(tmp_path, patients(50), task={"target": "state"}) as bench:
        bench.jobs.start = lambda *_: None
        bench.keep("age >= 3 => ill", why="w", base=1)
        version = bench.version()
        assert version.machine is not None
        frame = pd.read_csv(io.BytesIO(cases_csv(version)))
        assert frame["machine"].isna().all()
        assert frame["machine when not trained on it"].isna().all()
        for ask in (lambda: trained(version), lambda: subject(version, "machine", None)):
            with pytest.raises(DataError, match="wait until the machine of version 2 is trained"):
                ask()


def test_what_cannot_be_taken_away_is_said(kept):
    _, version = kept
    with pytest.raises(
        InvalidValueError, match="there are mine, machine to take away, not 'theirs'"
    ):
        subject(version, "theirs", None)
    with pytest.raises(DataError, match="extract the rules of the machine first"):
        subject(version, "machine", None)
