"""Other engines that run exported rules: SQLite, DuckDB and plain Python. Each gives one answer for each row."""

import math
import sqlite3
from functools import cache

import duckdb
import pyarrow as pa


def text_of(label):
    """A class as the text that languages without its type hold."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def agree(answers, labels):
    """Whether each answer is the label of its row, or its text; None only for None."""
    assert len(answers) == len(labels)
    return all(
        answer is None if label is None else answer == label or answer == text_of(label)
        for answer, label in zip(answers, labels, strict=True)
    )


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def run_sqlite(space, rows, expression):
    """Rows are mappings from the name of a feature to its value; categories are texts."""
    types = ["REAL" if kinds is None else "TEXT" for kinds in space.categories]
    columns = ", ".join(f"{quoted(n)} {kind}" for n, kind in zip(space.names, types, strict=True))
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join("?" * len(types))
    values = [tuple(row[name] for name in space.names) for row in rows]
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
        pa.array([row[name] for row in rows], kind, from_pandas=False)
        for name, kind in zip(space.names, types, strict=True)
    ]
    connection = open_duckdb().cursor()
    connection.register("t", pa.Table.from_arrays(arrays, names=list(space.names)))
    found = connection.execute(f"SELECT {expression} FROM t").fetchall()
    connection.unregister("t")
    return [answer for (answer,) in found]


def run_python(source, rows, name="predict_row_many"):
    names = {}
    exec(compile(source, "rules.py", "exec"), names)
    return names[name](rows)


def without_nan(rows):
    """The same rows with None for each NaN: standard SQL knows no NaN."""
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        for row in rows
    ]
