"""Exported rules run by other engines: each row gets what the rules predict, the scorecard proves, the sum decides."""

import json
import math
import sqlite3

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles import drawn_rules as drawn
from tests.oracles.engines import agree, run_duckdb, run_python, run_sqlite, text_of, without_nan

from clearmargin import RuleSet, parse_rules
from clearmargin.export import to_json, to_python, to_sql
from clearmargin.points import Scorecard
from clearmargin.rules import Box, FeatureSpace, Polyhedron, Rule

ENGINES = {
    "sqlite": lambda rules, rows, **options: run_sqlite(
        rules.space, rows, to_sql(rules, dialect="sqlite", **options)
    ),
    "duckdb": lambda rules, rows, **options: run_duckdb(
        rules.space, rows, to_sql(rules, dialect="duckdb", **options)
    ),
    "python": lambda rules, rows, **options: run_python(to_python(rules, **options), rows),
}
by_engine = pytest.mark.parametrize("engine", ENGINES)


def as_declared(rules, predicted):
    """Labels as the rules declare them: an array makes 1 a 1.0 beside a 0.5."""
    declared = {label: label for label in rules.classes}
    return [declared.get(label) for label in predicted.tolist()]


def check(engine, rules, X, rows, default=None):
    options = {} if default is None else {"default": default}
    expected = as_declared(rules, rules.predict(X, **options))
    assert agree(ENGINES[engine](rules, rows, **options), expected)
    return expected


@by_engine
@given(data=st.data())
def test_export_of_any_rule_set_answers_as_predict(engine, data):
    rules = data.draw(drawn.rule_sets())
    default = data.draw(st.none() | st.sampled_from(rules.classes))
    X, rows = drawn.rows_around(rules, data.draw(st.integers(0, 9)), count=60)
    check(engine, rules, X, rows, default)


@by_engine
@given(data=st.data())
def test_export_of_any_weighted_rules_answers_as_predict(engine, data):
    weighted = data.draw(drawn.weighted_rules())
    X, rows = drawn.rows_of(weighted, data.draw(st.integers(0, 9)), count=40)
    as_array = dict(zip(np.array(weighted.classes).tolist(), weighted.classes, strict=True))
    expected = [as_array[label] for label in weighted.predict(X).tolist()]
    assert agree(ENGINES[engine](weighted, rows), expected)


@by_engine
@given(seed=st.integers(0, 10_000), default=st.none() | st.integers(0, 1))
def test_export_of_a_proved_scorecard_answers_as_prove(engine, seed, default):
    card = drawn.proof_card(classes=(0, 1))
    frame, rows = drawn.rows_of_card(card, seed)
    options = {} if default is None else {"default": default}
    expected = [default if label is None else label for label in card.prove(frame).tolist()]
    assert agree(ENGINES[engine](card, rows, **options), expected)


@by_engine
@pytest.mark.parametrize("make", [drawn.hostile_rules, drawn.every_end, drawn.gappy_rules])
def test_export_at_hostile_names_bounds_and_gaps_answers_as_predict(engine, make):
    rules = make()
    X, rows = drawn.rows_around(rules)
    assert len(set(check(engine, rules, X, rows))) > 3
    assert None not in check(engine, rules, X, rows, default=rules.classes[2])


@given(data=st.data())
def test_scores_of_weighted_rules_are_equal_to_the_bit(data):
    weighted = data.draw(drawn.weighted_rules())
    X, rows = drawn.rows_of(weighted, data.draw(st.integers(0, 9)), count=40)
    source = to_python(weighted, name="decide") + "\ndef scores(rows):\n"
    source += "    return [decide_score(row) for row in rows]\n"
    expected = weighted.decision_function(X)
    assert np.array_equal(np.array(run_python(source, rows, "scores")), expected)
    if len(weighted.classes) == 2:
        for run, name in ((run_sqlite, "sqlite"), (run_duckdb, "duckdb")):
            found = run(weighted.space, rows, to_sql(weighted, dialect=name, form="score"))
            assert found == expected.tolist()


@given(data=st.data())
def test_to_json_is_read_back_as_the_same_rules(data):
    rules = data.draw(drawn.rule_sets())
    assert RuleSet.from_dict(json.loads(to_json(rules, indent=None))) == rules
    weighted = data.draw(drawn.weighted_rules())
    assert Scorecard.from_dict(json.loads(to_json(weighted))) == weighted


def test_standard_sql_is_run_by_both_databases():
    # SQLite reads some literals wrongly unless they are written for it, so its numbers are plain here.
    plain = parse_rules("0.5 <= x < 2 and `a ` > 3 => a\nx + 2*`a ` <= 7 => b")
    for rules, run in (
        *(
            (plain, run_sqlite),
            (drawn.hostile_rules(), run_sqlite),
            (drawn.gappy_rules(), run_sqlite),
        ),
        (drawn.every_end(), run_duckdb),
    ):
        X, rows = drawn.rows_around(rules)
        found = run(rules.space, without_nan(rows), to_sql(rules))
        assert agree(found, rules.predict(X).tolist())


def test_mysql_is_run_where_another_database_reads_the_same_text():
    # Names in backquotes, literals with an exponent and CASE mean the same in SQLite.
    rules = parse_rules(
        "`body mass` >= 30.25 and age < 61 => 1\nage >= 61 => 0\n0.5*age + `body mass` <= 40 => 0\n"
        "income is missing and age is not missing => 1"
    )
    X, rows = drawn.rows_around(rules)
    found = run_sqlite(rules.space, without_nan(rows), to_sql(rules, dialect="mysql"))
    assert agree(found, rules.predict(X).tolist())
    texts = parse_rules(r"way in {`it's`, `a\\b`, `süß`} => ill")
    written = to_sql(texts, dialect="mysql")
    assert "0x" + "süß".encode().hex().upper() in written
    assert "\\" not in written


def test_postgresql_compares_doubles_and_texts_without_a_locale():
    space = FeatureSpace(["x", 'a"b'], categories={'a"b': ["it's", "back\\slash"]})
    rules = parse_rules("0.1 < x <= 3 and `a\"b` in {`it's`, `back\\\\slash`} => yes", space=space)
    line = to_sql(rules, dialect="postgresql").splitlines()[1]
    assert line == (
        '  WHEN "x" > float8 \'0.1\' AND "x" <= float8 \'3.0\' AND CAST("a""b" AS text) COLLATE "C"'
        " IN ('it''s', E'back\\\\slash') THEN 'yes'"
    )
    gaps = to_sql(drawn.gappy_rules(), dialect="postgresql")
    assert '("age" IS NULL OR "age" = float8 \'NaN\')' in gaps


def test_a_view_of_a_table_with_a_hostile_name_answers_as_predict():
    rules = parse_rules("age > 3 and kind = a => ill\nage <= 3 => well")
    rows = [(2.0, "a"), (4.0, "a"), (5.0, "b"), (None, "a")]
    said = ["well", "ill", None, None]
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA ward")
        connection.execute("CREATE TABLE ward.patients (age DOUBLE, kind VARCHAR)")
        connection.executemany("INSERT INTO ward.patients VALUES (?, ?)", rows)
        connection.execute(to_sql(rules, dialect="duckdb", form="view", table=("ward", "patients")))
        found = connection.execute("SELECT prediction FROM ward.patients_rules").fetchall()
    assert [answer for (answer,) in found] == said
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "it\'s; --" (age REAL, kind TEXT)')
    connection.executemany('INSERT INTO "it\'s; --" VALUES (?, ?)', rows)
    names = {"table": "it's; --", "view": "v`w", "column": "c'd"}
    view = to_sql(rules, dialect="sqlite", form="view", **names, default="ill")
    connection.executescript(view)
    found = connection.execute("SELECT age, `c'd` FROM `v``w`").fetchall()
    connection.close()
    assert found == [(2.0, "well"), (4.0, "ill"), (5.0, "ill"), (None, "ill")]


def run_typed(columns, values, expression):
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t ({columns})")
    connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
    found = [answer for (answer,) in connection.execute(f"SELECT {expression} FROM t")]
    connection.close()
    return found


def test_columns_of_other_types_are_read_as_rules_read_them():
    rules = parse_rules("x <= 9007199254740992 => a\n0.3*x <= 2702159776422298 => b")
    # Whole numbers beyond the floats are rounded as numpy rounds them.
    values = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63)]
    expected = rules.predict([[float(v)] for v in values]).tolist()
    assert expected[2:5] == ["a", "b", None]
    assert run_typed("x INTEGER", values, to_sql(rules, dialect="sqlite")) == expected
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?)", [[v] for v in values])
        found = connection.execute(f"SELECT {to_sql(rules, dialect='duckdb')} FROM t").fetchall()
    assert [answer for (answer,) in found] == expected
    # A text is no number, and categories compare letter by letter.
    sql = to_sql(parse_rules("x > 3 => a\nx <= 3 => b"), dialect="sqlite")
    assert run_typed("x", [5, "5", "five", "", b"5"], sql) == ["a", *[None] * 4]
    space = FeatureSpace(["kind"], categories=[["Yes", "no"]])
    sql = to_sql(parse_rules("kind = Yes => hit", space=space), dialect="sqlite")
    said = run_typed("kind TEXT COLLATE NOCASE", ["Yes", "yes", "Yes "], sql)
    assert said == ["hit", None, None]


@settings(max_examples=200)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_databases_read_the_very_number_of_a_bound(bounds):
    # SQLite 3.40 reads these wrongly in their shortest form.
    bounds += [9.816658338180532e-294, 6.016295849866796e-304, -2.56265603529324e86]
    space = FeatureSpace(["x"])
    for bound in bounds:
        rules = RuleSet([Rule(Box([bound], [bound]), "at")], space)
        beside = [math.nextafter(bound, end) for end in (-math.inf, math.inf)]
        rows = [{"x": x} for x in (bound, *beside) if math.isfinite(x)]
        expected = ["at", *[None] * (len(rows) - 1)]
        assert run_sqlite(space, rows, to_sql(rules, dialect="sqlite")) == expected


def test_many_features_and_rules_fit_into_one_expression():
    n = 1200
    space = FeatureSpace([f"x{j}" for j in range(n)])
    A = np.zeros((1, n))
    A[0, :300] = 0.1
    whole = Rule(Box(np.zeros(n), np.ones(n)), "inside")
    rules = RuleSet([*[whole] * 20, Rule(Polyhedron(A, [2.0]), "below")], space)
    X = np.zeros((3, n))
    X[1, 7], X[2, 9] = -1.0, 1e9
    rows = [dict(zip(space.names, x, strict=True)) for x in X.tolist()]
    assert run_sqlite(space, rows, to_sql(rules, dialect="sqlite")) == ["inside", "below", None]
    many = parse_rules("\n".join(f"x > {k} => b" for k in range(900)), classes=["a", "b"])
    weighted = Scorecard(many, np.ones(900), -10.0)
    answers = run_sqlite(many.space, [{"x": 2.5}, {"x": 899.5}], to_sql(weighted, dialect="sqlite"))
    assert answers == ["a", "b"]


def test_columns_called_like_words_of_sql_stay_columns():
    space = FeatureSpace(["TRUE", "false"])
    rules = RuleSet([Rule(Box([0, 0], [5, 5]), True), Rule(Box([6, 0], [9, 9]), False)], space)
    X = [[3.0, 4.0], [7.0, 4.0], [0.5, 6.0]]
    rows = [dict(zip(space.names, x, strict=True)) for x in X]
    for ask in ENGINES.values():
        assert agree(ask(rules, rows), [True, False, None])
    named = parse_rules("`score 1` > 0 => b\n`Score 2` > 0 => c", classes=["a", "b", "c"])
    weighted = Scorecard(named, [[0, 0], [2, 0], [0, 3]], [1.0, 0.0, 0.0])
    rows = [dict(zip(named.space.names, x, strict=True)) for x in ([0, 0], [1, 0], [1, 1.0])]
    for ask in ENGINES.values():
        assert ask(weighted, rows) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "classes",
    [(0, 1), (0.5, 2), (False, True), ("a", 1), (2**62, -(2**62)), (2**70, 1), (0, 2**31)],
)
def test_classes_keep_their_type_if_there_is_one_for_all(classes):
    rules = RuleSet(
        [Rule(Box([k], [k + 0.5]), label) for k, label in enumerate(classes)], FeatureSpace(["x"])
    )
    rows = [{"x": 0.1}, {"x": 1.1}]
    kinds = {type(label) for label in classes}
    is_kept = max(map(abs, classes)) < 2**63 if kinds == {int} else str not in kinds
    written = list(classes) if is_kept else [text_of(label) for label in classes]
    found = ENGINES["duckdb"](rules, rows)
    assert found == written
    assert all(isinstance(label, str) != is_kept for label in found)
    assert ENGINES["python"](rules, rows) == list(classes)
    empty = Scorecard(RuleSet([], FeatureSpace(["x"]), classes), [], 1.0)
    assert all(agree(ask(empty, [{"x": math.pi}]), [classes[1]]) for ask in ENGINES.values())
