"""MySQL as an SQL dialect: what its manual says of names, literals and comparisons. No server is at hand."""

from __future__ import annotations

import re
import sqlite3

import numpy as np
import pytest

from clearmargin import Box, FeatureSpace, Rule, RuleSet, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import to_sql


def test_numbers_decide_as_in_python_where_another_engine_reads_the_same_text():
    # Backquoted names, literals with an exponent and CASE mean the same in SQLite.
    rules = parse_rules(
        "`body mass` >= 30.25 and age < 61 => 1\nage >= 61 => 0\n0.5*age + `body mass` <= 40 => 0"
    )
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [rng.choice([30.25, 30.2, 41.0, 12.5], 60), rng.choice([61.0, 60.0, 18.0], 60)]
    )
    names = list(rules.space.names)
    table = sqlite3.connect(":memory:")
    table.execute(f"CREATE TABLE t ({', '.join(f'`{name}` REAL' for name in names)})")
    table.executemany("INSERT INTO t VALUES (?, ?)", rows.tolist())
    found = [
        answer for (answer,) in table.execute(f"SELECT {to_sql(rules, dialect='mysql')} FROM t")
    ]
    assert found == [None if k < 0 else rules[k].label for k in rules.which(rows).tolist()]
    assert {None, 0, 1} >= set(found)
    assert len(set(found)) > 1


def test_names_are_in_backquotes_and_numbers_are_doubles():
    rule = Rule(Box([0.1], [np.inf]), "ill")
    text = to_sql(RuleSet([rule], FeatureSpace(["a `b"])), dialect="mysql")
    assert text == "CASE\n  WHEN `a ``b` >= 0.1e0 THEN 'ill'\n  ELSE NULL\nEND"


def test_texts_mean_the_same_in_every_mode_of_the_server():
    space = FeatureSpace(["way"], categories={"way": ["it's", "a\\b", "süß"]})
    rules = RuleSet.from_text("way in {`it's`, `a\\\\b`, `süß`} => ill", space)
    text = to_sql(rules, dialect="mysql")
    assert "CAST(CONVERT(`way` USING utf8mb4) AS BINARY) IN ('it''s', _utf8mb4 0x" in text
    written = re.findall(r"_utf8mb4 0x([0-9A-F]+)", text)
    assert [bytes.fromhex(digits).decode() for digits in written] == ["a\\b", "süß"]
    assert "\\" not in text


def test_missing_values_are_null_and_truths_are_words():
    text = to_sql(
        parse_rules("income is missing => ill\nincome is not missing => well"), dialect="mysql"
    )
    assert "WHEN `income` IS NULL THEN 'ill'" in text
    assert "WHEN `income` IS NOT NULL THEN 'well'" in text
    space = FeatureSpace(["income"], fill={"income": 20})
    filled = to_sql(RuleSet.from_text("income > 3 => ill", space), dialect="mysql")
    assert "COALESCE(`income`, 20e0) > 3e0" in filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Age > 3 and age < 5 => ill", "mysql cannot tell the columns 'Age', 'age' apart"),
        ("née > 3 and nee < 5 => ill", "mysql cannot tell the columns"),
        (f"{'x' * 65} > 3 => ill", "it has more than 64 characters; rename it"),
        ("`age ` > 3 => ill", "it ends in a blank; rename it"),
        ("`\U0001f600` > 3 => ill", "beyond U"),
    ],
)
def test_names_that_the_server_would_refuse_or_mix_up_are_refused(text, message):
    with pytest.raises(InvalidValueError, match=message):
        to_sql(parse_rules(text), dialect="mysql")


def test_a_view_is_made_over_a_table():
    text = to_sql(parse_rules("age > 3 => ill"), dialect="mysql", form="view", table="patients")
    assert text.startswith("CREATE VIEW `patients_rules` AS\n")
    assert text.rstrip().endswith("FROM `patients`;") or "FROM `patients`" in text
