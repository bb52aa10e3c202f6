"""Rules in other languages, over 100,000 rows at and around every bound: the answers are those of the rules."""

from __future__ import annotations

import math
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from clearmargin import FeatureSpace, parse_rules
from clearmargin.export import to_pmml, to_python, to_sql

ROWS, ROWS_OF_PMML = 100_000, 1_500
TEXT = """
young: age < 35.5 and bmi <= 27.3 => well
-5e-324 < score <= 0.30000000000000004 and smoker in {no, ex} => well
age >= 60 and smoker = yes => ill
0.1 <= score < 1e308 and bmi > 31.7 => ill
0.1*age + 0.3*bmi - 0.7*score >= 11.9 => `very ill`
"""
OUTSIDE = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.7976931348623157e308, 5e-324, 40.0, 29.0)


@pytest.fixture(scope="module")
def rules():
    space = FeatureSpace(
        ["age", "bmi", "score", "smoker"], categories={"smoker": ["no", "ex", "yes"]}
    )
    return parse_rules(TEXT, space=space)


@pytest.fixture(scope="module")
def table(rules):
    """Each number from the bounds of its feature, the floats beside them, those of no use, and a crowd between."""
    rng = np.random.default_rng(0)
    columns = []
    for j, kinds in enumerate(rules.space.categories):
        if kinds is not None:
            codes = [*map(float, range(len(kinds))), -1.0, math.nan]
            columns.append(rng.choice(codes, size=ROWS, p=[0.32, 0.32, 0.32, 0.02, 0.02]))
            continue
        boxes = [rule.region for rule in rules if hasattr(rule.region, "lower")]
        bounds = np.array([b for box in boxes for b in (box.lower[j], box.upper[j])])
        bounds = bounds[np.isfinite(bounds)]
        beside = [np.nextafter(bounds, end) for end in (-np.inf, np.inf)]
        pool = np.concatenate([bounds, *beside])
        drawn = np.where(rng.random(ROWS) < 0.5, rng.choice(pool, ROWS), rng.normal(40, 15, ROWS))
        columns.append(np.where(rng.random(ROWS) < 0.05, rng.choice(OUTSIDE, ROWS), drawn))
    return np.stack(columns, axis=1)


@pytest.fixture(scope="module")
def values(rules, table):
    """The columns as languages outside know them: names of categories, None where there is none."""
    found = {}
    for name, kinds, column in zip(rules.space.names, rules.space.categories, table.T, strict=True):
        if kinds is None:
            found[name] = column.tolist()
        else:
            named = np.array([*kinds, None, "never heard of"], dtype=object)
            places = np.where(np.isnan(column), len(kinds), column).astype(int)
            found[name] = named[places].tolist()
    return found


@pytest.fixture(scope="module")
def said(rules, table):
    return rules.predict(table).tolist()


def test_the_rows_put_every_rule_and_every_kind_of_value_to_the_test(rules, table, said):
    assert rules.covers(table).any(axis=0).all()
    assert set(said) == {"well", "ill", "very ill", None}
    for j, kinds in enumerate(rules.space.categories):
        assert np.isnan(table[:, j]).any()
        if kinds is None:
            assert np.isposinf(table[:, j]).any()
            assert np.isneginf(table[:, j]).any()


def test_sqlite_answers_as_the_rules_predict(rules, values, said):
    connection = sqlite3.connect(":memory:")
    kinds = zip(rules.space.names, rules.space.categories, strict=True)
    types = ", ".join(f'"{name}" {"REAL" if named is None else "TEXT"}' for name, named in kinds)
    connection.execute(f"CREATE TABLE t ({types})")
    marks = ", ".join("?" * len(values))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", zip(*values.values(), strict=True))
    answer = to_sql(rules, dialect="sqlite")
    found = connection.execute(f"SELECT {answer} FROM t ORDER BY rowid").fetchall()
    connection.close()
    assert [label for (label,) in found] == said


def test_duckdb_answers_as_the_rules_predict(rules, values, said):
    arrays = {
        name: pa.array(values[name], pa.float64() if kinds is None else pa.string())
        for name, kinds in zip(rules.space.names, rules.space.categories, strict=True)
    }
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("t", pa.table(arrays))
        found = connection.execute(f"SELECT {to_sql(rules, dialect='duckdb')} AS c FROM t")
        assert [label for (label,) in found.fetchall()] == said


def test_the_python_function_answers_as_the_rules_predict(rules, values, said):
    names = {}
    exec(compile(to_python(rules), "rules.py", "exec"), names)
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    assert names["predict_row_many"](rows) == said


def test_pmml_answers_as_the_rules_predict(rules, values, said, pmml_engine):
    engine = pmml_engine.Engine(to_pmml(rules))
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    step = ROWS // ROWS_OF_PMML
    assert [engine.score(row) for row in rows[::step]] == said[::step]
    assert set(said[::step]) == set(said)


def test_a_class_for_the_rows_without_a_rule_comes_back_too(rules, table, values):
    expected = rules.predict(table, default="ill").tolist()
    names = {}
    exec(compile(to_python(rules, default="ill"), "rules.py", "exec"), names)
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    assert names["predict_row_many"](rows) == expected
    assert None not in expected
