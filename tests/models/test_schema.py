"""The published schema of model files: what is saved fits it, and so does everything that is loaded."""

from __future__ import annotations

import copy
import importlib.resources
import json

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin import LPSVC, AdviceSVC, FeatureSpace, RuleExtractor, RuleSet, parse_rules
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import FileDamagedError, FileTooNewError
from clearmargin.models import PlaneModel, load_model, model_schema, save_model
from clearmargin.models.model_document import read_model, write_model
from clearmargin.rules.json_schema import ANNOTATIONS, KEYWORDS
from clearmargin.rules.rules_document import rules_schema

VALIDATOR = jsonschema.Draft202012Validator(model_schema())
TEXT = "feature age: integer in [0, 120]\nfeature smoker: in {no, ex, yes}\n"
RULES = parse_rules(f"{TEXT}smoker = yes and age > 40 => ill\nage <= 20 => well\n")
MODELS = {
    "planes alone": PlaneModel(RuleSet([], FeatureSpace(["a"]), [0, 1]), [[2.0]], [-1.0]),
    "everything": PlaneModel(
        RULES,
        [[0.1, 0.0, 1.0, 2.5]],
        [-6.0],
        advice=(RULES, RULES),
        fill={"age": 50.5, "smoker": "no"},
        facts={"trained_by": "LPSVC", "rows": 12, "share": 0.5},
    ),
    "three classes": PlaneModel(
        RuleSet([], FeatureSpace(["a", "b"]), ["x", "y", "z"]), np.eye(3, 2), [0.0, 1.0, 2.0]
    ),
}


def good(name="everything"):
    return json.loads(json.dumps(write_model(MODELS[name])))


def test_the_schema_is_a_schema_and_ships_with_the_package():
    schema = model_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    shipped = importlib.resources.files("clearmargin.models") / "model.schema.json"
    own = json.loads(shipped.read_text("utf-8"))
    embedded = schema["$defs"].pop("rules")
    assert own == schema
    assert {**rules_schema(), "$id": own["properties"]["rules"]["$ref"]} == embedded


def test_the_schema_describes_every_object_and_closes_it():
    schema = model_schema()
    for name, part in {"document": schema, **schema["$defs"]}.items():
        assert part["description"], name
        assert part["additionalProperties"] is False, name


def keywords(schema):
    """The words of a schema, without the names of properties and definitions."""
    for word, part in schema.items():
        yield word
        named = list(part.values()) if word in {"properties", "$defs"} else part
        for inner in named if isinstance(named, list) else [named]:
            if isinstance(inner, dict):
                yield from keywords(inner)


def test_the_reader_understands_every_word_of_the_schemas():
    assert set(keywords(model_schema())) <= KEYWORDS.keys() | ANNOTATIONS


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_fits(name):
    assert VALIDATOR.is_valid(good(name))


def test_files_of_trained_models_fit(tmp_path):
    X, y = load_wbc(return_X_y=True)
    advice = "mitoses >= 7 => malignant"
    for k, model in enumerate(
        [
            LPSVC(0.01).fit(X, y),
            RuleExtractor(LPSVC(0.01), max_rules=2).fit(X, y),
            AdviceSVC(advice, refine="translate").fit(X, y),
        ]
    ):
        path = save_model(model, tmp_path / f"{k}.json")
        VALIDATOR.validate(json.loads(path.read_text("utf-8")))


def put(*way, to):
    def damage(document):
        for step in way[:-1]:
            document = document[step]
        document[way[-1]] = to

    return damage


def drop(*way):
    def damage(document):
        for step in way[:-1]:
            document = document[step]
        del document[way[-1]]

    return damage


WEIGHT = ("planes", 0, "weights", 0)
# A change to the good document, what the message says, and whether the schema can tell.
DAMAGE = {
    "no planes": (drop("planes"), "'planes' is missing", True),
    "planes of none": (put("planes", to=[]), "'planes' must not be empty", True),
    "planes of two": (
        lambda d: d["planes"].append(d["planes"][0]),
        "the planes are damaged: .*need weights of shape",
        False,
    ),
    "unknown key": (put("novelty", to=1), "unknown key 'novelty'", True),
    "old version": (put("version", to=0), "must be a whole number from 1, not 0", True),
    "weight of text": (
        put(*WEIGHT, "weight", to="1"),
        r"plane 1: weight 1 \('age'\): 'weight' must be a number, not '1'",
        True,
    ),
    "weight NaN": (put(*WEIGHT, "weight", to=float("nan")), "must be a number, not nan", False),
    "weight infinite": (put(*WEIGHT, "weight", to=-np.inf), "must be a number, not -inf", False),
    "weight beyond floats": (put(*WEIGHT, "weight", to=10**400), "must be a number", False),
    "intercept null": (put("planes", 0, "intercept", to=None), "must be a number", True),
    "intercept NaN": (put("planes", 0, "intercept", to=float("nan")), "not nan", False),
    "feature a list": (put(*WEIGHT, "feature", to=["age"]), "must be a text, not", True),
    "feature unknown": (put(*WEIGHT, "feature", to="agee"), "did you mean 'age'", False),
    "category null": (
        put(*WEIGHT, "category", to=None),
        r"weight 1 \('age'\): 'category' must not be null",
        True,
    ),
    "weight of a category": (
        lambda d: d["planes"][0].update(
            weights=[{"feature": "smoker", "category": "ex", "weight": "1"}]
        ),
        r"plane 1: weight 1 \('smoker = ex'\): 'weight' must be a number, not '1'",
        True,
    ),
    "category of a number": (put(*WEIGHT, "category", to="ex"), "which is no column", False),
    "weight twice": (
        lambda d: d["planes"][0]["weights"].append({"feature": "age", "weight": 7.0}),
        "plane 1: a second weight for 'age'",
        False,
    ),
    "zero twice": (
        lambda d: d["planes"][0].update(weights=[{"feature": "age", "weight": 0.0}] * 2),
        "plane 1: a second weight for 'age'",
        True,
    ),
    "fact a list": (
        put("facts", "rows", to=[1]),
        "'facts': 'rows' must be a text, a number, true or false",
        True,
    ),
    "fact NaN": (put("facts", "rows", to=float("nan")), "'rows' must be a text, .* not nan", False),
    "fill null": (put("fill", "age", to=None), "'fill': 'age' must not be null", True),
    "fill unknown": (put("fill", "agee", to=1), "which is no feature; did you mean", False),
    "fill no category": (put("fill", "smoker", to="never"), "cannot give 'never'", False),
    "advice half": (drop("advice", "given"), "'given' is missing", True),
    "advice of a model": (
        put("advice", "given", "format", to="x"),
        "'advice': 'given' is damaged: these are no clearmargin rules",
        True,
    ),
    "one class": (
        put("rules", "classes", to=["ill"]),
        "'classes' must have at least 2 entries",
        True,
    ),
    "feature twice": (put("rules", "features", 1, "name", to="age"), "'age'", False),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_model_is_refused_with_what_and_where(name, tmp_path):
    damage, message, schema_can_tell = DAMAGE[name]
    document = good()
    damage(document)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileDamagedError, match=rf"model\.json: .*{message}"):
        load_model(path)
    assert VALIDATOR.is_valid(document) is not schema_can_tell


def ways(data, way=()):
    """The ways to all parts of a document."""
    if way:
        yield way
    items = data.items() if isinstance(data, dict) else ()
    for key, value in enumerate(data) if isinstance(data, list) else items:
        yield from ways(value, (*way, key))


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.sampled_from(["", "age", "smoker", "ex", "ill", "well"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["feature", "category", "weight", "weights"]), inner)
    ),
    max_leaves=4,
)


@given(data=st.data())
@settings(max_examples=150)
def test_random_damage_is_refused_or_fits_the_schema_and_reads_back(data):
    document = good(data.draw(st.sampled_from(sorted(MODELS))))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(list(ways(document))))
        parent = document
        for step in way:
            parent = parent[step]
        kind = data.draw(st.sampled_from(["drop", "junk", "repeat"]))
        if kind == "drop":
            del parent[last]
        elif kind == "junk":
            parent[last] = data.draw(junk)
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
    try:
        model = read_model(copy.deepcopy(document))
    except (FileDamagedError, FileTooNewError):
        return
    assert VALIDATOR.is_valid(document)
    assert write_model(read_model(write_model(model))) == write_model(model)


TABLE = st.fixed_dictionaries(
    {
        "weights": st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=4, max_size=4),
        "intercept": st.floats(-1e6, 1e6, allow_nan=False),
        "facts": st.dictionaries(
            st.text(max_size=3), st.text(max_size=3) | st.integers(), max_size=2
        ),
        "fill": st.none() | st.just({}) | st.just({"smoker": "ex"}),
    }
)


@given(table=TABLE)
@settings(max_examples=50)
def test_every_model_that_can_be_made_fits(table):
    model = PlaneModel(
        RULES, [table["weights"]], [table["intercept"]], fill=table["fill"], facts=table["facts"]
    )
    document = json.loads(json.dumps(write_model(model)))
    assert VALIDATOR.is_valid(document)
    assert np.array_equal(read_model(document).coef_, model.coef_)
