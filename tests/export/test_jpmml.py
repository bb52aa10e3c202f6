"""PMML, scored by JPMML: an engine that was not written here."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from tests.export.card_cases import make_card, rows_around

from clearmargin.export import to_pmml


def send(value):
    """A float as a text that keeps every bit; missing values as nothing."""
    if isinstance(value, float):
        return None if math.isnan(value) else "\0" + repr(value)
    return value


def by_jpmml(cases):
    """The answers of the engine to rows of some documents."""
    given = [
        [document, [{name: send(value) for name, value in row.items()} for row in rows]]
        for document, rows in cases
    ]
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("jpmml_scorer.py"))],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


@pytest.fixture
def with_default():
    def make(rules):
        return to_pmml(rules, target="the class", default=rules.classes[0])

    return make


def test_another_engine_scores_as_rules_predict(
    request, wbc, cleveland, hostile_rules, every_end, gappy_rules, draw, with_default
):
    cases, expected = [], []
    for rules in (hostile_rules, every_end, gappy_rules):
        X, rows = draw.rows_around(rules, 0, count=60)
        cases.append((with_default(rules), rows))
        expected.append([str(said) for said in draw.expected(rules, X, rules.classes[0], True)])
    rules, X = wbc
    named = [dict(zip(rules.space.names, x, strict=True)) for x in X.tolist()]
    cases.append((with_default(rules), named))
    expected.append(rules.predict(X, default=rules.classes[0]).tolist())
    rules, frame = cleveland
    cases.append((with_default(rules), frame.to_dict("records")))
    expected.append(rules.predict(frame, default=rules.classes[0]).tolist())
    # In one run of the engine, whose start takes longer than all rows.
    frame, rows = request.getfixturevalue("many_rows")
    for name in ("two_classes", "three_classes"):
        weighted = request.getfixturevalue(name)
        cases.append((to_pmml(weighted), rows))
        expected.append(weighted.predict(frame).tolist())
    for relations, default in ((True, "well"), (False, "ill")):
        card = make_card(relations)
        frame, rows = rows_around(card, 1, m=200)
        said = card.prove(frame).tolist()
        assert set(said) == {"well", "ill", None}
        cases.append((to_pmml(card, default=default), rows))
        expected.append([default if label is None else label for label in said])
    answers = by_jpmml(cases)
    for met, said in zip(answers, expected, strict=True):
        assert [str(answer) for answer in met] == said
        assert len(set(said)) > 1
