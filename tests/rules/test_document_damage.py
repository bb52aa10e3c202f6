"""Damaged documents are refused with what is wrong and where, and with no other error."""

from __future__ import annotations

import copy
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import FileDamagedError, FileTooNewError
from clearmargin.rules import RuleSet

from .document_cases import INF, VALIDATOR, result_or_refusal

# A change to the good document, what the message says, and whether the schema can tell.


def change(*path, to):
    def act(document):
        *way, last = path
        for step in way:
            document = document[step]
        document[last] = to

    return act


def drop(*path):
    def act(document):
        *way, last = path
        for step in way:
            document = document[step]
        del document[last]

    return act


FIRST, BOUND, SET, ROW = (
    ("rules", 0),
    ("rules", 0, "when", 0),
    ("rules", 0, "when", 2),
    ("rules", 1, "when", 0),
)
DAMAGE = {
    "no format": (drop("format"), '"format" must be "clearmargin-rules"', True),
    "other format": (change("format", to="pmml"), "these are no clearmargin rules", True),
    "no version": (drop("version"), '"version" must be a whole number from 1, not None', True),
    "version 0": (change("version", to=0), "a whole number from 1, not 0", True),
    "version true": (change("version", to=True), "a whole number from 1, not True", True),
    "version text": (change("version", to="1"), "a whole number from 1, not '1'", True),
    "no classes": (drop("classes"), "'classes' is missing", True),
    "no features": (drop("features"), "'features' is missing", True),
    "no rules": (drop("rules"), "'rules' is missing", True),
    "unknown key": (change("note", to="x"), "unknown key 'note'", True),
    "classes a text": (change("classes", to="ab"), "'classes' must be a list, not 'ab'", True),
    "class null": (
        change("classes", 0, to=None),
        "class 1 must be a text, a number, true or false, not None",
        True,
    ),
    "class empty": (change("classes", 0, to=""), "class 1 must not be empty", True),
    "class twice": (change("classes", 0, to="ill"), "the classes must differ", True),
    "class unused": (change("classes", 1, to="il"), "rule 1 says 'ill', .* mean 'il'", False),
    "features an object": (change("features", to={}), "'features' must be a list", True),
    "feature a text": (
        change("features", 0, to="age"),
        "feature 1 must be an object with 'name', not 'age'",
        True,
    ),
    "feature without name": (drop("features", 1, "name"), "feature 2: 'name' is missing", True),
    "feature name empty": (
        change("features", 1, "name", to=""),
        "feature 2: 'name' must not be empty",
        True,
    ),
    "feature name number": (change("features", 1, "name", to=3), "'name' must be a text", True),
    "feature name twice": (
        change("features", 1, "name", to="age"),
        "the features are damaged: two features are called 'age'",
        False,
    ),
    "feature key": (change("features", 0, "units", to="y"), "'units'; did you mean 'unit'", True),
    "lower text": (change("features", 0, "lower", to="0"), "'lower' must be a number", True),
    "lower null": (change("features", 0, "lower", to=None), "'lower' must not be null", True),
    "lower true": (change("features", 0, "lower", to=True), "must be a number, not True", True),
    "lower infinite": (change("features", 0, "lower", to=-INF), "a number, not -inf", False),
    "lower huge": (change("features", 0, "lower", to=-(10**400)), "'lower' must be a num", False),
    "lower above upper": (change("features", 0, "lower", to=130), "'age' has no range", False),
    "integer 1": (change("features", 0, "integer", to=1), "must be true or false, not 1", True),
    "categories text": (change("features", 2, "categories", to="ab"), "must be a list", True),
    "categories empty": (
        change("features", 2, "categories", to=[]),
        "feature 3: 'categories' must not be empty",
        True,
    ),
    "category number": (
        change("features", 2, "categories", 0, to=1),
        "feature 3: category 1 must be a text",
        True,
    ),
    "category twice": (change("features", 2, "categories", 0, to="ex"), "all different", True),
    "unit number": (change("features", 0, "unit", to=1), "'unit' must be a text", True),
    "rules null": (change("rules", to=None), "'rules' must be a list, not None", True),
    "rule a list": (change("rules", 0, to=[]), "rule 1 must be an object with 'label'", True),
    "rule without label": (drop(*FIRST, "label"), "rule 1: 'label' is missing", True),
    "rule without when": (drop("rules", 2, "when"), "rule 3: 'when' is missing", True),
    "rule key": (change(*FIRST, "wieght", to=2), "'wieght'; did you mean 'weight'", True),
    "label list": (
        change(*FIRST, "label", to=["ill"]),
        "'label' must be a text, a number, true or false",
        True,
    ),
    "label infinite": (
        change(*FIRST, "label", to=INF),
        "'label' must be a text, .* not inf",
        False,
    ),
    "label unknown": (change(*FIRST, "label", to="i"), "rule 1 says 'i', which is no", False),
    "name number": (change(*FIRST, "name", to=3), "rule 1: 'name' must be a text", True),
    "name empty": (change(*FIRST, "name", to=""), "rule 1: 'name' must not be empty", True),
    "weight zero": (
        change(*FIRST, "weight", to=0),
        "rule 1: 'weight' must be more than 0, not 0",
        True,
    ),
    "weight text": (change(*FIRST, "weight", to="2"), "'weight' must be a number", True),
    "origin unknown": (
        change(*FIRST, "origin", to="god"),
        "'origin' must be one of 'expert'",
        True,
    ),
    "origin list": (change(*FIRST, "origin", to=[1]), "'origin' must be one of 'expert'", True),
    "proof unknown": (change(*FIRST, "proof", to=True), "'proof' must be one of 'proved'", True),
    "stats list": (
        change(*FIRST, "stats", to=[1, 2]),
        "'stats' must be an object with 'rows'",
        True,
    ),
    "stats key": (change(*FIRST, "stats", "right", to=3), "unknown key 'right'", True),
    "stats without rows": (drop(*FIRST, "stats", "rows"), "'rows' is missing", True),
    "stats half a row": (
        change(*FIRST, "stats", "rows", to=0.5),
        "'rows' must be a whole number, not 0.5",
        True,
    ),
    "stats impossible": (change(*FIRST, "stats", "rows", to=3), "counts must satisfy", False),
    "when an object": (change(*FIRST, "when", to={}), "'when' must be a list", True),
    "when a text": (change(*FIRST, "when", to=""), "'when' must be a list, not ''", True),
    "condition a text": (
        change(*BOUND, to="age > 3"),
        "rule 1: condition 1 must be an object, not 'age > 3'",
        True,
    ),
    "condition empty": (change(*BOUND, to={}), "condition 1: 'feature' is missing", True),
    "condition key": (change(*BOUND, "atleast", to=3), "did you mean 'at_least'", True),
    "condition without bound": (
        change(*BOUND, to={"feature": "age"}),
        r"condition 1 \('age'\): 'at_least', 'above', 'at_most' or 'below' is missing",
        True,
    ),
    "feature unknown": (
        change(*BOUND, "feature", to="aeg"),
        "condition 1: unknown feature 'aeg'; did you mean 'age'",
        False,
    ),
    "feature list": (change(*BOUND, "feature", to=["age"]), "'feature' must be a text", True),
    "feature twice": (
        change("rules", 0, "when", 1, "feature", to="age"),
        "condition 2: a second condition on 'age'",
        False,
    ),
    "both kinds of lower bound": (
        change(*BOUND, "above", to=3),
        "'at_least' and 'above' contradict each other",
        True,
    ),
    "both kinds of upper bound": (
        change(*BOUND, "below", to=90),
        "'at_most' and 'below' contradict each other",
        True,
    ),
    "bound text": (change(*BOUND, "at_least", to="3"), "'at_least' must be a number", True),
    "bound null": (change(*BOUND, "at_least", to=None), "'at_least' must not be null", True),
    "bound NaN": (change(*BOUND, "at_least", to=math.nan), "must be a number, not nan", False),
    "bounds crossed": (change(*BOUND, "at_least", to=90), "region that is not empty", False),
    "bound on categories": (
        change(*BOUND, "feature", to="smoker"),
        "a second condition on 'smoker'",
        False,
    ),
    "set and bound": (change(*SET, "at_least", to=1), "unknown key 'at_least'", True),
    "set a text": (change(*SET, "in", to="ex"), "'in' must be a list, not 'ex'", True),
    "set empty": (
        change(*SET, "in", to=[]),
        r"condition 3 \('smoker'\): 'in' must not be empty",
        True,
    ),
    "set of numbers": (
        change(*SET, "in", to=[1]),
        r"condition 3 \('smoker'\): category 1 must be a text",
        True,
    ),
    "category unknown": (
        change(*SET, "in", to=["exx"]),
        "condition 3: 'smoker' has no category 'exx'; did you mean 'ex'",
        False,
    ),
    "set on numbers": (change(*SET, "feature", to="bmi"), "a second condition on 'bmi'", False),
    "linear a list": (change(*ROW, "linear", to=[1]), "'linear' must be an object", True),
    "linear empty": (change(*ROW, "linear", to={}), "'linear' must not be empty", True),
    "linear unknown": (change(*ROW, "linear", "bim", to=1), "feature 'bim'; did you m", False),
    "linear text": (change(*ROW, "linear", "age", to="1"), "'age' must be a number", True),
    "linear categories": (
        change(*ROW, "linear", "smoker", to=1.0),
        "rule 2 has a bound on 'smoker', which has categories",
        False,
    ),
    "linear without limit": (drop(*ROW, "at_most"), "'at_most' or 'below' is missing", True),
    "linear with two limits": (change(*ROW, "below", to=1), "contradict each other", True),
    "linear and feature": (change(*ROW, "feature", to="age"), "unknown key 'feature'", True),
    "linear beside bounds": (
        change(*ROW, to={"feature": "age", "at_least": 3}),
        "either 'linear' conditions or bounds, not both",
        True,
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_document_is_refused_with_what_and_where(document, name):
    damage, message, schema_can_tell = DAMAGE[name]
    damage(document)
    with pytest.raises(FileDamagedError, match=message):
        RuleSet.from_dict(document)
    assert VALIDATOR.is_valid(document) is not schema_can_tell


def test_a_set_for_a_feature_without_categories_is_refused(document):
    document["rules"][2]["when"] = [{"feature": "bmi", "in": ["high"]}]
    with pytest.raises(FileDamagedError, match="rule 3: condition 1: 'bmi' has no categories"):
        RuleSet.from_dict(document)


@pytest.mark.parametrize("data", [None, [], "rules", 3, {}])
def test_what_is_no_document_is_refused(data):
    with pytest.raises(FileDamagedError, match="these are no clearmargin rules"):
        RuleSet.from_dict(data)


@pytest.mark.parametrize("version", [3, 99, 10**30])
def test_a_later_version_asks_for_an_update(document, version):
    document["version"] = version
    document["novelty"] = [1]
    with pytest.raises(FileTooNewError, match=f"in version {version} .*update clearmargin"):
        RuleSet.from_dict(document)


def nodes(data, path=()):
    """The paths of all parts of a document."""
    yield path
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield from nodes(value, (*path, key))


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["", "age", "smoker", "ex", "below", "in", "linear", "ill"])
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["feature", "in", "at_most", "below", "linear", "name", "age"]), inner
        )
    ),
    max_leaves=4,
)


@given(data=st.data())
def test_random_damage_is_never_any_other_error(data, draw):
    document = json.loads(json.dumps(data.draw(draw.rule_sets(max_rules=2)).to_dict()))
    for _ in range(data.draw(st.integers(1, 3))):
        paths = [path for path in nodes(document) if path]
        *way, last = data.draw(st.sampled_from(paths))
        parent = document
        for step in way:
            parent = parent[step]
        if data.draw(st.booleans()):
            del parent[last]
        else:
            parent[last] = data.draw(junk)
    rules = result_or_refusal(RuleSet.from_dict, copy.deepcopy(document))
    if isinstance(rules, RuleSet):
        # What is accepted fits the schema and means something: it can be written and read again.
        assert VALIDATOR.is_valid(document)
        assert RuleSet.from_dict(rules.to_dict()) == rules
