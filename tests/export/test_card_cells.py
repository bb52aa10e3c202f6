"""Cards with proof in other languages: run, each gives what the card proves, and nothing where it proves nothing."""

from __future__ import annotations

import json
import math

import numpy as np
import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.export.card_cases import make_card, rows_around
from tests.export.pmml_engine import Engine
from tests.export.pmml_structure import problems
from tests.export.test_sql import run_duckdb, run_sqlite

from clearmargin import CertifiedScorecard, ScoreRules
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import export, to_json, to_pmml, to_python, to_sql, to_xlsx
from clearmargin.export.formats import FORMATS
from clearmargin.export.sql_dialect import DIALECTS


def proved(card, frame):
    return card.prove(frame).tolist()


@given(seed=st.integers(0, 10_000), relations=st.booleans())
def test_sql_python_and_pmml_prove_what_the_card_proves(seed, relations):
    card = make_card(relations)
    frame, rows = rows_around(card, seed)
    expected = proved(card, frame)
    assert run_sqlite(card.space, rows, to_sql(card, dialect="sqlite")) == expected
    assert run_duckdb(card.space, rows, to_sql(card, dialect="duckdb")) == expected
    names = {}
    exec(to_python(card), names)
    assert names["predict_row_many"](rows) == expected
    document = to_pmml(card)
    assert not list(problems(document))
    engine = Engine(document)
    assert [engine.score(row) for row in rows] == expected


def test_the_card_of_a_machine_in_all_languages(tmp_path):
    X, y = load_wbc(return_X_y=True)
    rules = ScoreRules(certify=True, max_rules=12).fit(X, y)
    card, expected = rules.scorecard_, rules.scorecard_.prove(X).tolist()
    rows = [{k: float(v) for k, v in row.items()} for row in X.to_dict("records")]
    assert run_sqlite(card.space, rows, to_sql(rules, dialect="sqlite")) == expected
    assert run_duckdb(card.space, rows, to_sql(rules, dialect="duckdb")) == expected
    names = {}
    exec(to_python(rules, name="prove"), names)
    assert names["prove_many"](rows) == expected
    assert CertifiedScorecard.from_dict(json.loads(to_json(rules))) == card
    for to in set(FORMATS) - {"rules"}:
        assert export(rules, to=to) == export(card, to=to)


def test_a_default_takes_the_place_of_what_is_not_proved():
    card = make_card(classes=(0, 1))
    frame, rows = rows_around(card, 5)
    expected = [0 if label is None else label for label in proved(card, frame)]
    assert run_sqlite(card.space, rows, to_sql(card, dialect="sqlite", default=0)) == expected
    names = {}
    exec(to_python(card, default=0), names)
    assert names["predict_row_many"](rows) == expected
    assert export(card, to="text", default=1).endswith("Where nothing is proved: 1\n")
    with pytest.raises(InvalidValueError, match="default=2 is no class of the card"):
        to_sql(card, default=2)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_writes_a_view(dialect):
    text = to_sql(make_card(), dialect=dialect, form="view", table="patients")
    assert text.startswith("CREATE VIEW")
    assert text.endswith(";")


def add_up(path, rows):
    """What the sheets of a card prove, added up as they stand."""
    book = openpyxl.load_workbook(path)
    (_, *cells), (_, *decision) = (
        [[cell.value for cell in row] for row in book[name].iter_rows()]
        for name in ("card", "decision")
    )
    signs = [[cell.number_format for cell in row] for row in book["card"].iter_rows()][1:]

    def holds(cell, sign, value):
        _, low, high, named, missing, *_ = cell
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return missing == "yes"
        if named is not None:
            return value in [text.strip("`") for text in named.split(", ")]
        if missing is not None:
            return False
        return low <= value and (value < high if "<" in sign[2] else value <= high)

    for row in rows:
        sums = np.zeros(2)
        for name in dict.fromkeys(cell[0] for cell in cells):
            lines = zip(cells, signs, strict=True)
            found = [c for c, s in lines if c[0] == name and holds(c, s, row[name])]
            sums += found[0][5:] if found else np.nan
        yield (
            decision[0][0]
            if sums[0] >= decision[0][2]
            else (decision[1][0] if sums[1] <= decision[1][2] else None)
        )


def test_a_spreadsheet_added_up_by_hand_proves_the_same(tmp_path):
    card = make_card(relations=False, job="king")
    frame, rows = rows_around(card, 2)
    path = to_xlsx(card, tmp_path / "card.xlsx")
    assert list(add_up(path, rows)) == proved(card, frame)


def test_tables_for_people_have_all_lines():
    card = make_card()
    for to in ("markdown", "latex"):
        text = export(card, to=to)
        assert "missing" in text
        assert "sum to 12 or more" in text
    with pytest.raises(InvalidValueError, match="the rule language has no sums"):
        export(card, to="rules")
    with pytest.raises(InvalidValueError, match="form='score' is for weighted rules"):
        to_sql(card, form="score")
