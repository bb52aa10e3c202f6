"""Rules with weights in other languages: run, each gives what the rules predict, and their scores to the bit."""

from __future__ import annotations

import json
import math

import numpy as np
import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.export.test_sql import run_duckdb, run_sqlite

from clearmargin import FeatureSpace, RuleSet, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import export, to_json, to_pmml, to_python, to_sql, to_xlsx
from clearmargin.export.conditions import common_kind, label_text
from clearmargin.export.formats import FORMATS
from clearmargin.export.sql_dialect import DIALECTS
from clearmargin.rule_svm import WeightedRules


def answers(weighted, X, *, as_text=None):
    """What the rules predict, in the types that languages have."""
    said = weighted.predict(X).tolist()
    classes = np.array(weighted.classes).tolist()
    if as_text or (as_text is None and common_kind(weighted.classes) == "text"):
        spelled = [label_text(label) for label in weighted.classes]
        return [spelled[classes.index(label)] for label in said]
    return [weighted.classes[classes.index(label)] for label in said]


# SQL


def run_both(weighted, rows, **options):
    for name, run in (("sqlite", run_sqlite), ("duckdb", run_duckdb)):
        yield run(weighted.space, rows, to_sql(weighted, dialect=name, **options))


@settings(max_examples=25)
@given(data=st.data())
def test_any_weighted_rules_answer_in_sql_as_they_predict(data, draw):
    weighted = data.draw(draw.weighted_rules())
    X, rows = draw.rows_of(weighted, data.draw(st.integers(0, 9)))
    for said in run_both(weighted, rows):
        assert said == answers(weighted, X)


def test_sql_of_a_table_with_categories_and_missing_values(two_classes, three_classes, many_rows):
    many_rows, rows = many_rows
    for weighted in (two_classes, three_classes):
        expected = weighted.predict(many_rows).tolist()
        assert set(expected) == set(weighted.classes)
        for said in run_both(weighted, rows):
            assert said == expected
    scores = two_classes.decision_function(many_rows).tolist()
    for said in run_both(two_classes, rows, form="score"):
        assert said == scores


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_writes_a_view(two_classes, three_classes, dialect):
    for weighted in (two_classes, three_classes):
        text = to_sql(weighted, dialect=dialect, form="view", table="patients")
        assert text.startswith("CREATE VIEW")
        assert text.endswith(";")


def test_columns_called_like_scores_stay_columns():
    rules = parse_rules("`score 1` > 0 => b\n`Score 2` > 0 => c", classes=["a", "b", "c"])
    weighted = WeightedRules(rules, [[0, 0], [2, 0], [0, 3]], [1.0, 0.0, 0.0])
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    rows = [dict(zip(rules.space.names, x, strict=True)) for x in X.tolist()]
    for said in run_both(weighted, rows):
        assert said == ["a", "b", "c"]


def test_as_many_terms_as_sqlite_adds():
    rules = parse_rules("\n".join(f"x > {k} => b" for k in range(901)), classes=["a", "b"])
    rows = [{"x": 2.5}, {"x": 899.5}]
    most = WeightedRules(rules[:900], np.ones(900), -10.0)
    assert run_sqlite(rules.space, rows, to_sql(most, dialect="sqlite")) == ["a", "b"]
    more = WeightedRules(rules, np.ones(901), -10.0)
    with pytest.raises(InvalidValueError, match="SQLite adds no more than 900 terms"):
        to_sql(more, dialect="sqlite")


# Python


@settings(max_examples=25)
@given(data=st.data())
def test_any_weighted_rules_answer_in_python_to_the_bit(data, draw):
    weighted = data.draw(draw.weighted_rules())
    X, rows = draw.rows_of(weighted, data.draw(st.integers(0, 9)))
    names = {}
    exec(to_python(weighted, name="decide"), names)
    assert [label_text(label) for label in names["decide_many"](rows)] == answers(
        weighted, X, as_text=True
    )
    found = np.array([names["decide_score"](row) for row in rows])
    assert np.array_equal(found, weighted.decision_function(X))


# PMML


@settings(max_examples=12)
@given(data=st.data())
def test_any_weighted_rules_are_scored_by_the_specification(
    data, draw, pmml_engine, pmml_structure
):
    weighted = data.draw(draw.weighted_rules())
    X, rows = draw.rows_of(weighted, data.draw(st.integers(0, 9)), count=40)
    document = to_pmml(weighted, target="the class")
    assert pmml_structure.problems(document) == []
    said = [pmml_engine.Engine(document).score(row) for row in rows]
    spelled = [label_text(label) if not isinstance(label, str) else label for label in said]
    if common_kind(weighted.classes) == "number":
        assert [float(label) for label in said] == [float(x) for x in weighted.predict(X)]
    else:
        assert spelled == answers(weighted, X, as_text=True)


# JSON, tables, texts


@settings(max_examples=20)
@given(data=st.data())
def test_json_reads_back_as_the_same_value(data, draw):
    weighted = data.draw(draw.weighted_rules())
    assert WeightedRules.from_dict(json.loads(to_json(weighted))) == weighted


def test_a_spreadsheet_has_all_that_is_added(two_classes, tmp_path):
    book = openpyxl.load_workbook(to_xlsx(two_classes, tmp_path / "rules.xlsx"))
    assert book.sheetnames == ["rules", "score", "missing values"]
    head, *lines = book["rules"].iter_rows(values_only=True)
    assert head[:5] == ("rule", "points for ill", "name", "premise", "class")
    assert [line[1] for line in lines] == two_classes.weights.tolist()
    text = "\n".join(f"{line[3]} => {line[4]}" for line in lines)
    back = parse_rules(text, space=two_classes.space, classes=two_classes.classes)
    assert back == two_classes.rules
    score = list(book["score"].iter_rows(values_only=True))
    assert score == [
        ("what", "category", "points for ill", "a missing value counts as"),
        ("intercept", None, -4.2, None),
        ("times age", None, 0.1, 41.7),
        ("smoker", "no", 0, None),
        ("smoker", "yes", 0.3, None),
        ("smoker", "ex", -0.3, None),
        ("threshold (more than this: ill)", None, 0.3, None),
    ]


def test_a_spreadsheet_of_three_classes_has_points_for_each(three_classes, tmp_path):
    book = openpyxl.load_workbook(to_xlsx(three_classes, tmp_path / "rules.xlsx"))
    head, *lines = book["rules"].iter_rows(values_only=True)
    assert head[1:4] == ("points for well", "points for ill", "points for refer")
    assert np.array_equal(np.array([line[1:4] for line in lines]).T, three_classes.weights)


def test_the_outline_adds_up_to_the_score(two_classes):
    lines = export(two_classes, "text").splitlines()
    assert lines[0] == (
        "The points of what holds are added to -4.2: ill if the sum is more than 0.3, else well."
    )
    assert "  +0.1  times age (41.7 where missing)" in lines
    assert lines[-1] == "missing bmi counts as 32.5"
    assert len(lines) == 1 + 4 + 3 + 1


def test_tables_say_where_points_are_added(two_classes, three_classes):
    markdown = export(two_classes, "markdown")
    assert "| # | class | points | where |\n|---|---|---:|---|\n| 1 | ill | 0.1 |" in markdown
    assert "which starts at: well 0.1, ill 0.2, refer 0.1." in export(three_classes, "markdown")
    assert "p{0.6\\linewidth}" in export(two_classes, "latex")


# What cannot be


@pytest.mark.parametrize("to", ["sql", "python", "pmml", "text"])
def test_a_default_is_for_rules_that_leave_rows_out(two_classes, to):
    with pytest.raises(InvalidValueError, match="weighted rules predict a class for every row"):
        export(two_classes, to, default="ill")


def test_the_rule_language_has_no_sums(two_classes):
    with pytest.raises(InvalidValueError, match=r"'json', or write .* by .rules.to_text\(\)"):
        export(two_classes, "rules")
    assert parse_rules(two_classes.rules.to_text()) == two_classes.rules


def test_a_score_is_of_weighted_rules_for_two_classes(three_classes):
    with pytest.raises(InvalidValueError, match="for two classes, and there are 3"):
        to_sql(three_classes, form="score")
    with pytest.raises(InvalidValueError, match="form='score' is for weighted rules"):
        to_sql(three_classes.rules, form="score")


@pytest.mark.parametrize("to", [to for to in FORMATS if to != "rules"])
def test_a_model_is_exported_as_what_it_decides_by(two_classes, to):
    class Model:
        weighted_rules_ = two_classes
        rules_ = two_classes.rules

    assert export(Model(), to) == export(two_classes, to)


def test_the_rules_of_an_extractor_can_be_exported_from_it():
    class Extractor:
        rules_ = parse_rules("x > 3 => a")

    assert export(Extractor(), "rules") == "x > 3 => a\n"


def test_without_rules_the_intercept_decides():
    empty = WeightedRules(RuleSet([], FeatureSpace(["x"]), ["a", "b"]), [], 1.0)
    rows = [{"x": math.pi}]
    for said in run_both(empty, rows):
        assert said == ["b"]
    names = {}
    exec(to_python(empty), names)
    assert names["predict_row"]({}) == "b"
