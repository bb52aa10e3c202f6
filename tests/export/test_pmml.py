"""PMML: valid, and scored by an engine that knows the specification alone."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import FeatureSpace, Rule, RuleSet, RuleStats, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import to_pmml
from clearmargin.rules import Box

PMML = "{http://www.dmg.org/PMML-4_4}"


def assert_same(rules, draw, pmml_engine, pmml_structure, default=None, seed=0):
    document = to_pmml(rules, target="the class", default=default)
    assert pmml_structure.problems(document) == []
    X, rows = draw.rows_around(rules, seed, count=60)
    # An engine for one row at a time is slow: of very many rows every third.
    step = 3 if len(rows) > 600 else 1
    X, rows = X[::step], rows[::step]
    engine = pmml_engine.Engine(document)
    as_text = engine.fields["the class"].get("dataType") == "string"
    expected = draw.expected(rules, X, default, as_text)
    assert [engine.score(row) for row in rows] == expected


@given(data=st.data())
def test_any_rules_score_as_they_predict(data, draw, pmml_engine, pmml_structure):
    rules = data.draw(draw.rule_sets())
    default = data.draw(st.none() | st.sampled_from(rules.classes))
    seed = data.draw(st.integers(0, 9))
    assert_same(rules, draw, pmml_engine, pmml_structure, default, seed)


def test_hostile_names_stay_names(hostile_rules, draw, pmml_engine, pmml_structure):
    assert_same(hostile_rules, draw, pmml_engine, pmml_structure)


def test_every_kind_of_bound_at_every_kind_of_number(every_end, draw, pmml_engine, pmml_structure):
    assert_same(every_end, draw, pmml_engine, pmml_structure, default="class 3")


def test_sums_are_formed_from_left_to_right(sums, pmml_engine):
    rules, rows, said = sums
    engine = pmml_engine.Engine(to_pmml(rules))
    assert [engine.score(row) for row in rows] == said


def test_rules_out_of_a_machine(wbc, pmml_engine, pmml_structure):
    rules, X = wbc
    document = to_pmml(rules, default=rules.classes[0])
    assert pmml_structure.problems(document) == []
    engine = pmml_engine.Engine(document)
    said = [engine.score(dict(zip(rules.space.names, x, strict=True))) for x in X.tolist()]
    assert said == rules.predict(X, default=rules.classes[0]).tolist()
    assert len(set(said)) == 2


def test_patients_with_categories(cleveland, pmml_engine):
    rules, frame = cleveland
    engine = pmml_engine.Engine(to_pmml(rules))
    said = [engine.score(row) for row in frame.to_dict("records")]
    assert said == rules.predict(frame).tolist()
    assert set(said) == {"disease", "no_disease", None}


def test_only_a_missing_value_that_a_rule_needs_silences_it(pmml_engine):
    space = FeatureSpace(["x", "unused", "kind"], categories={"kind": ["a", "b"]})
    rules = parse_rules("x > 0 => yes\nkind = b => no", space=space)
    engine = pmml_engine.Engine(to_pmml(rules))
    row = {"x": 1.0, "unused": 2.0, "kind": "b"}
    assert engine.score(row) == "yes"
    for name in row:
        said = "no" if name == "x" else "yes"
        assert engine.score({**row, name: None}) == said
        assert engine.score({k: v for k, v in row.items() if k != name}) == said
    assert engine.score({**row, "unused": np.nan}) == "yes"
    assert engine.score({**row, "x": np.nan, "kind": None}) is None
    assert engine.score({**row, "kind": "never seen"}) == "yes"


def test_conditions_on_missing_values_and_replacements(
    pmml_engine, pmml_structure, gappy_rules, draw
):
    document = to_pmml(gappy_rules)
    X, rows = draw.rows_around(gappy_rules)
    engine = pmml_engine.Engine(document)
    assert [engine.score(row) for row in rows] == draw.expected(gappy_rules, X)
    assert list(pmml_structure.problems(document)) == []
    assert 'missingValueReplacement="32.5"' in document
    assert 'operator="isMissing"' in document


def test_what_is_known_about_a_rule_is_written(pmml_structure):
    stats = RuleStats(rows=10, covered=4, correct=3)
    rule = Rule(Box([0.0], [1.0]), "a", stats=stats)
    other = Rule(Box([2.0], [3.0]), "a", stats=RuleStats(10, 0, 0))
    document = to_pmml(RuleSet([rule, other], FeatureSpace(["x"])))
    assert pmml_structure.problems(document) == []
    first, second = ET.fromstring(document).iter(f"{PMML}SimpleRule")
    assert first.attrib == {
        "id": "1",
        "score": "a",
        "recordCount": "4",
        "nbCorrect": "3",
        "confidence": "0.75",
    }
    assert "confidence" not in second.attrib


def test_a_sum_that_several_rules_use_is_computed_once():
    rules = parse_rules("x + 2*y <= 3 => a\nx + 2*y < 5 => b\nx - y < 5 => c")
    derived = list(ET.fromstring(to_pmml(rules)).iter(f"{PMML}DerivedField"))
    assert [field.get("name") for field in derived] == ["sum1", "sum2"]


@pytest.mark.parametrize(
    ("classes", "data_type"),
    [
        ((0, 1), "integer"),
        ((0, 2**31 - 1), "integer"),
        ((0.5, 1), "double"),
        ((0, "a"), "string"),
        # JPMML reads 32 bits; PMML4S says false where it has no answer.
        ((0, 2**31), "string"),
        ((False, True), "string"),
    ],
)
def test_the_class_field_has_the_type_of_the_classes(classes, data_type):
    space = FeatureSpace(["x"])
    rules = RuleSet([Rule(Box([0.0], [1.0]), classes[0])], space, classes)
    *_, target = ET.fromstring(to_pmml(rules)).iter(f"{PMML}DataField")
    assert target.get("dataType") == data_type


def test_the_structure_is_checked(pmml_structure):
    document = to_pmml(parse_rules("x is not missing => a"))
    for wrong, problem in (
        (document.replace(' score="a"', ""), "SimpleRule lacks score"),
        (document.replace("isNotMissing", "isThere"), "SimplePredicate must not have operator"),
        (document.replace("MiningSchema", "MiningSkema"), "RuleSetModel must not hold"),
        (document.replace('version="4.4"', 'version="3"'), "PMML must not have version"),
    ):
        assert any(problem in found for found in pmml_structure.problems(wrong))


@pytest.mark.parametrize("text", ["\x00", "a\x01", "\ud800", "\ufffe"])
def test_what_xml_cannot_hold_is_refused(text):
    rules = RuleSet([Rule(Box([0.0], [1.0]), "a")], FeatureSpace([text]))
    with pytest.raises(InvalidValueError, match="has a letter that XML cannot hold"):
        to_pmml(rules)


@pytest.mark.parametrize("target", ["x", ""])
def test_the_class_needs_a_field_of_its_own(target):
    with pytest.raises(InvalidValueError, match="must be the name of a field that is no feature"):
        to_pmml(parse_rules("x > 3 => a"), target=target)
