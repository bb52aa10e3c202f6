"""SQL: run in SQLite and DuckDB, row by row what the rules predict."""

from __future__ import annotations

import math
import sqlite3
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import FeatureSpace, Polyhedron, Rule, RuleSet, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import to_sql
from clearmargin.export.sql_dialect import (
    DIALECTS,
    approximate_literal,
    find_dialect,
    sqlite_literal,
)
from clearmargin.rules import Box


def run_sqlite(space, rows, expression, dialect="sqlite"):
    quoted = [find_dialect(dialect).identifier(name) for name in space.names]
    types = ["REAL" if kinds is None else "TEXT" for kinds in space.categories]
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(quoted, types, strict=True))
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join("?" * len(quoted))
    values = [tuple(row.values()) for row in rows]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", values)
    found = connection.execute(f"SELECT {expression} FROM t ORDER BY rowid").fetchall()
    connection.close()
    return [answer for (answer,) in found]


@cache
def open_duckdb():
    """One database for all tests: to open it takes longer than to ask it."""
    return duckdb.connect(config={"threads": 1})


def run_duckdb(space, rows, expression):
    types = [pa.float64() if kinds is None else pa.string() for kinds in space.categories]
    arrays = [
        pa.array([row[name] for row in rows], type_, from_pandas=False)
        for name, type_ in zip(space.names, types, strict=True)
    ]
    table = pa.Table.from_arrays(arrays, names=list(space.names))
    connection = open_duckdb().cursor()
    connection.register("t", table)
    found = connection.execute(f"SELECT {expression} FROM t").fetchall()
    connection.unregister("t")
    return [answer for (answer,) in found]


def assert_same(rules, draw, default=None, seed=0):
    X, rows = draw.rows_around(rules, seed)
    expected = draw.expected(rules, X, default)
    # MySQL takes fewer names than there are in these rules; see test_mysql.py.
    names = [name for name in DIALECTS if name != "mysql"]
    written = {name: to_sql(rules, dialect=name, default=default) for name in names}
    assert run_sqlite(rules.space, rows, written["sqlite"]) == expected
    assert run_duckdb(rules.space, rows, written["duckdb"]) == expected


@given(data=st.data())
def test_any_rules_answer_as_they_predict(data, draw):
    rules = data.draw(draw.rule_sets())
    default = data.draw(st.none() | st.sampled_from(rules.classes))
    assert_same(rules, draw, default, data.draw(st.integers(0, 9)))


def test_hostile_names_stay_names(hostile_rules, draw):
    assert_same(hostile_rules, draw)


def test_every_kind_of_bound_at_every_kind_of_number(every_end, draw):
    assert_same(every_end, draw, default="class 2")


def test_standard_sql_runs_in_both(every_end, hostile_rules, draw):
    # SQLite reads some literals wrongly unless they are written for it, so its numbers are plain here.
    plain = parse_rules("0.5 <= x < 2 and `a ` > 3 => a\nx + 2*`a ` <= 7 => b")
    for rules in (plain, hostile_rules):
        X, rows = draw.rows_around(rules)
        known = [k for k, x in enumerate(X) if not np.isnan(x).any()]
        X, rows = X[known], [rows[k] for k in known]
        sql = to_sql(rules)
        assert run_sqlite(rules.space, rows, sql, "ansi") == draw.expected(rules, X)
    X, rows = draw.rows_around(every_end)
    rows = [{k: None if math.isnan(v) else v for k, v in row.items()} for row in rows]
    assert run_duckdb(every_end.space, rows, to_sql(every_end)) == draw.expected(every_end, X)


def test_sums_are_formed_from_left_to_right(sums):
    rules, rows, said = sums
    assert run_sqlite(rules.space, rows, to_sql(rules, dialect="sqlite")) == said
    assert run_duckdb(rules.space, rows, to_sql(rules, dialect="duckdb")) == said


def test_rules_out_of_a_machine(wbc):
    rules, X = wbc
    rows = [dict(zip(rules.space.names, x, strict=True)) for x in X.tolist()]
    default = rules.classes[1]
    expected = rules.predict(X, default=default).tolist()
    for name, run in (("sqlite", run_sqlite), ("duckdb", run_duckdb)):
        assert run(rules.space, rows, to_sql(rules, dialect=name, default=default)) == expected
    assert len(set(expected)) == 2


def test_patients_with_categories_in_a_view(cleveland):
    rules, frame = cleveland
    expected = rules.predict(frame).tolist()
    assert {*expected} == {"disease", "no_disease", None}
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA ward")
        connection.register("frame", frame)
        connection.execute("CREATE TABLE ward.patients AS SELECT * FROM frame")
        connection.execute(to_sql(rules, dialect="duckdb", form="view", table=("ward", "patients")))
        found = connection.execute("SELECT age, prediction FROM ward.patients_rules").fetchall()
    assert found == list(zip(frame["age"], expected, strict=True))
    connection = sqlite3.connect(":memory:")
    frame.to_sql("it's; --", connection, index=False)
    view = to_sql(rules, dialect="sqlite", form="view", table="it's; --", view="v`w", column="c'd")
    connection.executescript(view)
    found = connection.execute("SELECT age, `c'd` FROM `v``w`").fetchall()
    connection.close()
    assert found == list(zip(frame["age"], expected, strict=True))


def test_only_a_missing_value_that_a_rule_needs_silences_it():
    space = FeatureSpace(["x", "unused", "kind"], categories={"kind": ["a", "b"]})
    rules = parse_rules("x > 0 => yes\nkind = b => no", space=space)
    row = {"x": 1.0, "unused": 2.0, "kind": "a"}
    rows = [row, *({**row, name: None} for name in row), {**row, "unused": math.nan}]
    rows += [{**row, "kind": "never seen"}, {"x": None, "unused": None, "kind": "b"}]
    rows.append({**row, "x": math.nan})
    # Where x is missing the next rule is asked, and no column but x and kind is looked at.
    expected = ["yes", None, "yes", "yes", "yes", "yes", "no", None]
    assert run_sqlite(space, rows, to_sql(rules, dialect="sqlite")) == expected
    assert run_duckdb(space, rows, to_sql(rules, dialect="duckdb")) == expected
    assert not any("unused" in to_sql(rules, dialect=name) for name in DIALECTS)


def test_twenty_null_columns_do_not_matter_to_rules_on_one():
    names = [f"x{j}" for j in range(20)]
    rules = parse_rules("x7 >= 3 => a\ntrue => b", space=FeatureSpace(names))
    rows = [{name: 5.0 if name == "x7" else None for name in names}, dict.fromkeys(names)]
    for run, dialect in ((run_sqlite, "sqlite"), (run_duckdb, "duckdb")):
        assert run(rules.space, rows, to_sql(rules, dialect=dialect)) == ["a", "b"]
    given = [[math.nan if row[name] is None else row[name] for name in names] for row in rows]
    assert rules.predict(given).tolist() == ["a", "b"]


def test_conditions_on_missing_values_and_filled_columns_in_all_engines(gappy_rules, draw):
    assert_same(gappy_rules, draw)
    X, rows = draw.rows_around(gappy_rules)
    plain = [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        for row in rows
    ]
    expected = draw.expected(gappy_rules, X)
    # Standard SQL knows no NaN.
    assert run_sqlite(gappy_rules.space, plain, to_sql(gappy_rules), "ansi") == expected
    assert run_duckdb(gappy_rules.space, plain, to_sql(gappy_rules)) == expected
    assert set(expected) == {"refer", "ask", "ill", "well", None}


def test_each_dialect_has_its_words_for_missing_values(gappy_rules):
    texts = {name: to_sql(gappy_rules, dialect=name) for name in DIALECTS}
    assert '"age" IS NULL AND "job" IS NULL THEN' in texts["ansi"]
    assert '"job" IS NOT NULL' in texts["ansi"]
    assert 'COALESCE("bmi", 32.5e0)' in texts["ansi"]
    assert '("age" IS NULL OR "age" = float8 \'NaN\')' in texts["postgresql"]
    assert 'NOT ("age" IS NULL OR isnan("age"))' in texts["duckdb"]
    assert "CASE WHEN typeof(`bmi`) NOT IN ('integer', 'real') THEN" in texts["sqlite"]
    assert all("IS NULL" in text for text in texts.values())


def test_whole_numbers_beyond_the_floats_are_rounded_as_numpy_rounds_them():
    rules = parse_rules("x <= 9007199254740992 and y = 0 => a\n0.3*x + y <= 2702159776422298 => b")
    values = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63)]
    expected = rules.predict([[float(v), 0.0] for v in values]).tolist()
    assert expected[2] == "a"  # the float next to it is the bound
    assert expected[3] == "b"
    assert expected[4] is None
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x BIGINT, y INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, 0)", [[v] for v in values])
        sql = to_sql(rules, dialect="duckdb")
        assert [a for (a,) in connection.execute(f"SELECT {sql} FROM t").fetchall()] == expected
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x INTEGER, y INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, 0)", [[v] for v in values])
    sql = to_sql(rules, dialect="sqlite")
    assert [a for (a,) in connection.execute(f"SELECT {sql} FROM t").fetchall()] == expected
    connection.close()


def test_a_text_in_a_column_of_numbers_gets_no_class_in_sqlite():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    connection.executemany("INSERT INTO t VALUES (?)", [[5], ["5"], ["five"], [""], [b"5"]])
    sql = to_sql(parse_rules("x > 3 => a\nx <= 3 => b"), dialect="sqlite")
    assert [a for (a,) in connection.execute(f"SELECT {sql} FROM t")] == ["a", *[None] * 4]
    connection.close()


def test_an_unknown_column_is_an_error_in_sqlite_and_no_text():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    sql = to_sql(parse_rules("y > 3 => a"), dialect="sqlite")
    with pytest.raises(sqlite3.OperationalError, match="no such column: y"):
        connection.execute(f"SELECT {sql} FROM t")
    connection.close()


def test_a_column_called_true_is_not_taken_for_a_class():
    space = FeatureSpace(["TRUE", "false"])
    rules = RuleSet([Rule(Box([0, 0], [5, 5]), True), Rule(Box([6, 0], [9, 9]), False)], space)
    rows = [{"TRUE": 3.0, "false": 4.0}, {"TRUE": 7.0, "false": 4.0}, {"TRUE": 0.5, "false": 6.0}]
    expected = [True, False, None]
    assert run_sqlite(space, rows, to_sql(rules, dialect="sqlite")) == expected
    assert run_duckdb(space, rows, to_sql(rules, dialect="duckdb")) == expected


def test_categories_compare_letter_by_letter_whatever_the_column_says():
    space = FeatureSpace(["kind"], categories=[["Yes", "no"]])
    rules = RuleSet([Rule(Box([-math.inf], [math.inf], sets={0: [0]}), "hit")], space)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (kind TEXT COLLATE NOCASE)")
    connection.executemany("INSERT INTO t VALUES (?)", [["Yes"], ["yes"], ["Yes "]])
    sql = to_sql(rules, dialect="sqlite")
    assert [a for (a,) in connection.execute(f"SELECT {sql} FROM t")] == ["hit", None, None]
    connection.close()
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (kind VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO t VALUES ('Yes'), ('yes'), ('Yes ')")
        sql = to_sql(rules, dialect="duckdb")
        found = connection.execute(f"SELECT {sql} FROM t").fetchall()
    assert [a for (a,) in found] == ["hit", None, None]


def test_many_features_and_many_rules_fit_into_one_expression():
    n = 1200
    space = FeatureSpace([f"x{j}" for j in range(n)])
    A = np.zeros((1, n))
    A[0, :300] = 0.1
    whole = Rule(Box(np.zeros(n), np.ones(n)), "inside")
    rules = RuleSet([*[whole] * 20, Rule(Polyhedron(A, [2.0]), "below")], space)
    X = np.zeros((3, n))
    X[1, 7], X[2, 9] = -1.0, 1e9
    rows = [dict(zip(space.names, x, strict=True)) for x in X.tolist()]
    expected = ["inside", "below", None]
    assert rules.predict(X).tolist() == expected
    assert run_sqlite(space, rows, to_sql(rules, dialect="sqlite")) == expected


# How numbers are written


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_sqlite_reads_the_very_number(x):
    connection = sqlite3.connect(":memory:")
    (found,) = connection.execute(f"SELECT {sqlite_literal(x)}").fetchone()
    connection.close()
    assert found == x
    assert isinstance(found, float)


def test_sqlite_reads_numbers_of_every_size():
    bits = np.random.default_rng(0).integers(0, 2**64, size=4000, dtype=np.uint64)
    values = bits.view(np.float64)
    # SQLite 3.40 reads these wrongly in their shortest form.
    wrong = [
        9.816658338180532e-294,
        6.016295849866796e-304,
        25.34217322269396,
        -2.56265603529324e86,
    ]
    values = [*wrong, *values.tolist()]
    values += [math.ldexp(1.0, k) for k in range(-1074, 1024, 9)]
    values = [x for x in values if math.isfinite(x)]
    connection = sqlite3.connect(":memory:")
    for start in range(0, len(values), 500):
        part = values[start : start + 500]
        found = connection.execute(f"SELECT {', '.join(map(sqlite_literal, part))}").fetchone()
        assert list(found) == part
    connection.close()


def test_a_literal_is_a_double_and_not_a_decimal_number():
    for x in (0.1, 30.0, -5e-324, 1e308, 123456789012345678.0):
        literal = approximate_literal(x)
        found = open_duckdb().execute(f"SELECT {literal}, typeof({literal})").fetchone()
        assert found == (x, "DOUBLE")


# How it looks


def test_postgresql_compares_doubles_and_knows_nan():
    space = FeatureSpace(["x", 'a"b'], categories={'a"b': ["it's", "back\\slash"]})
    rules = parse_rules(
        "0.1 < x <= 3 and `a\"b` in {`it's`, `back\\\\slash`} => `'yes'`", space=space
    )
    assert to_sql(rules, dialect="postgresql", default="'yes'").splitlines() == [
        "CASE",
        '  WHEN "x" > float8 \'0.1\' AND "x" <= float8 \'3.0\' AND CAST("a""b" AS text) COLLATE "C"'
        " IN ('it''s', E'back\\\\slash') THEN '''yes'''",
        "  ELSE '''yes'''",
        "END",
    ]


@pytest.mark.parametrize(
    ("classes", "written"),
    [
        ([0, 1], ["0", "1"]),
        ([0.5, 2], ["0.5e0", "2e0"]),
        ([False, True], ["FALSE", "TRUE"]),
        (["a", 1], ["'a'", "'1'"]),
        ([2**63 - 1, 1 - 2**63], ["9223372036854775807", "-9223372036854775807"]),
        ([2**63, 1], ["'9223372036854775808'", "'1'"]),
    ],
)
def test_classes_keep_their_type_if_there_is_one_for_all(classes, written):
    rules = RuleSet(
        [Rule(Box([k], [k + 0.5]), label) for k, label in enumerate(classes)], FeatureSpace(["x"])
    )
    lines = to_sql(rules).splitlines()
    assert [line.rpartition(" THEN ")[2] for line in lines[1:-2]] == written


# What is refused

PLAIN = "x > 3 => ill\nx <= 3 => well"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "postgres"}, "no SQL dialect 'postgres'; did you mean 'postgresql'"),
        ({"dialect": None}, "no SQL dialect None; known are 'ansi'"),
        ({"form": "views"}, "no form of SQL called 'views'; did you mean 'view'"),
        ({"default": "wel"}, "default='wel' is no class of the rules; did you mean 'well'"),
        ({"default": "other"}, r"declare it: RuleSet\(rules, rules.space, classes="),
        ({"form": "view"}, "table=None, but a view needs the table that the view reads"),
        ({"form": "view", "table": ""}, "table='', but a view needs the table"),
        ({"form": "view", "table": ("a", "")}, "but a view needs the table"),
        ({"form": "view", "table": ()}, "but a view needs the table"),
        ({"form": "view", "table": "t", "view": ""}, "view='', but a view needs the name"),
        ({"form": "view", "table": "t", "view": "t"}, "the view and its table are both called 't'"),
        ({"form": "view", "table": "t", "column": "x"}, "cannot tell the columns 'x', 'x' apart"),
        ({"form": "view", "table": "t", "column": ["a", "b"]}, "must be a single name"),
        ({"form": "view", "table": "t\0"}, "cannot be written in SQL: it has a NUL"),
        ({"table": "t"}, "table='t' is for form='view' alone"),
        ({"view": "t"}, "view='t' is for form='view' alone"),
    ],
)
def test_what_cannot_be_written_is_refused(options, message):
    with pytest.raises(InvalidValueError, match=message):
        to_sql(parse_rules(PLAIN), **options)


def test_no_rules_are_refused():
    empty = RuleSet([], FeatureSpace(["x"]), ["a"])
    with pytest.raises(InvalidValueError, match="nothing to export: the rule set has no rules"):
        to_sql(empty, default="a")
    with pytest.raises(TypeError, match="a RuleSet is needed, not str"):
        to_sql("x > 3 => a")


@pytest.mark.parametrize(
    ("names", "dialect"),
    [
        (["BMI", "bmi"], "sqlite"),
        (["BMI", "bmi"], "duckdb"),
        (["ä" * 40 + "1", "ä" * 40 + "2"], "postgresql"),
    ],
)
def test_columns_that_the_database_takes_for_one_are_refused(names, dialect):
    rules = RuleSet([Rule(Box([0, 0], [1, 1]), "a")], FeatureSpace(names))
    with pytest.raises(InvalidValueError, match=f"{dialect} cannot tell the columns"):
        to_sql(rules, dialect=dialect)
    assert "CASE" in to_sql(rules)


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_texts_that_no_statement_can_hold_are_refused(text):
    space = FeatureSpace(["x", "kind"], categories={"kind": [text, "b"]})
    box = Box([0, -math.inf], [1, math.inf], sets={1: [0]})
    with pytest.raises(InvalidValueError, match=r"the text .* cannot be written in SQL"):
        to_sql(RuleSet([Rule(box, "a")], space))
    with pytest.raises(InvalidValueError, match=r"the text .* cannot be written in SQL"):
        to_sql(RuleSet([Rule(Box([0], [1]), text)], FeatureSpace(["x"])))
    with pytest.raises(InvalidValueError, match=r"the name .* cannot be written in SQL"):
        to_sql(RuleSet([Rule(Box([0], [1]), "a")], FeatureSpace([text])))


def test_classes_that_read_the_same_are_refused():
    rules = RuleSet([Rule(Box([0], [1]), 1)], FeatureSpace(["x"]), [1, "1"])
    with pytest.raises(InvalidValueError, match="classes 1 and '1' cannot be told apart"):
        to_sql(rules)


def test_categories_that_standard_sql_takes_for_one_are_refused():
    space = FeatureSpace(["kind"], categories=[["a", "a "]])
    rules = RuleSet([Rule(Box([-math.inf], [math.inf], sets={0: [0]}), "hit")], space)
    with pytest.raises(InvalidValueError, match="differ only in blanks at their end"):
        to_sql(rules)
    assert "'a'" in to_sql(rules, dialect="duckdb")
