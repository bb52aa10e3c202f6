"""The JSON form: what it looks like, round trips, and the published schema."""

from __future__ import annotations

import importlib.resources
import json

import jsonschema
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet, RuleStats
from clearmargin.rules.rules_document import rules_schema

from .document_cases import VALIDATOR


def everything(rules):
    """All that is known about a set of rules, also what does not count for equality; a file only states proofs."""
    return rules, [(r.origin, {"proved": "stated"}.get(r.proof, r.proof), r.stats) for r in rules]


def test_the_document_looks_like_this(document):
    assert document == {
        "format": "clearmargin-rules",
        "version": 1,
        "classes": ["well", "ill"],
        "features": [
            {"name": "age", "lower": 0.0, "upper": 120.0, "integer": True, "unit": "years"},
            {"name": "bmi"},
            {"name": "smoker", "categories": ["no", "ex", "yes"]},
        ],
        "rules": [
            {
                "label": "ill",
                "name": "old",
                "weight": 2.5,
                "origin": "extracted",
                "proof": "proved",
                "stats": {"rows": 100, "covered": 40, "correct": 39, "agreed": 40},
                "when": [
                    {"feature": "age", "at_least": 60.0, "at_most": 80.0},
                    {"feature": "bmi", "below": 30.1},
                    {"feature": "smoker", "in": ["ex", "yes"]},
                ],
            },
            {
                "label": "well",
                "origin": "expert",
                "when": [
                    {"linear": {"age": 0.5, "bmi": 1.0}, "at_most": 40.0},
                    {"linear": {"bmi": -1.0}, "below": 0.0},
                ],
            },
            {"label": "ill", "origin": "refined", "when": []},
        ],
    }


@given(data=st.data())
def test_what_was_written_reads_back_equal_and_fits_the_schema(data, draw):
    rules = data.draw(draw.rule_sets(bounds=draw.finite()))
    text = json.dumps(rules.to_dict(), allow_nan=False)
    plain = json.loads(text)
    VALIDATOR.validate(plain)
    assert everything(RuleSet.from_dict(plain)) == everything(rules)
    # Labels keep their type, which equality does not see: 1, 1.0 and True are equal.
    assert [type(c) for c in RuleSet.from_dict(plain).classes] == [type(c) for c in rules.classes]


@given(data=st.data())
def test_what_was_saved_loads_equal(data, draw, tmp_path_factory):
    rules = data.draw(draw.rule_sets())
    file = tmp_path_factory.getbasetemp() / "round-trip.json"
    assert rules.save(file, overwrite=True) == file
    assert everything(RuleSet.load(file)) == everything(rules)


def test_labels_and_counts_of_numpy_can_be_written():
    rule = Rule(Box([0], [1]), np.int64(3), weight=np.float32(2), stats=RuleStats(np.int64(3), 2))
    rules = RuleSet([rule], FeatureSpace([np.str_("x")]), np.array([3, 4]))
    assert RuleSet.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


def test_the_empty_set_of_rules_can_be_written():
    nothing = RuleSet([], FeatureSpace([]))
    VALIDATOR.validate(nothing.to_dict())
    assert RuleSet.from_dict(nothing.to_dict()) == nothing


# The schema


def test_the_schema_is_a_schema_and_ships_with_the_package():
    jsonschema.Draft202012Validator.check_schema(rules_schema())
    shipped = importlib.resources.files("clearmargin.rules") / "rules.schema.json"
    assert json.loads(shipped.read_text("utf-8")) == rules_schema()


def test_the_schema_describes_every_object_and_closes_it():
    schema = rules_schema()
    for name, part in {"document": schema, **schema["$defs"]}.items():
        if "properties" in part:
            assert part["additionalProperties"] is False, name
            assert part["description"], name
