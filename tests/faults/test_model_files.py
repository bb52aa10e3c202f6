"""Model files: what is saved fits the published schema and is loaded as it was, what is damaged is refused by name."""

import copy
import importlib.resources
import itertools
import json
import warnings
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from tests.oracles.damage import GONE, damaged, put

import clearmargin as cm
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import (
    FileDamagedError,
    FileTooNewError,
    InvalidValueError,
    UncertifiedWarning,
)
from clearmargin.models import PlaneModel, model_schema

X, Y = load_wbc(return_X_y=True)
VALIDATOR = jsonschema.Draft202012Validator(model_schema())
RULES = cm.parse_rules("""feature age: integer in [0, 120]
feature smoker: in {no, ex, yes}
smoker = yes and age > 40 => ill
age <= 20 => well""")
MODELS = [
    PlaneModel(cm.RuleSet([], cm.FeatureSpace(["a"]), [0, 1]), [[2.0]], [-1.0]),
    PlaneModel(RULES, [[0.1, 0.0, 1.0, 2.5]], [-6.0], advice=(RULES, RULES),
        fill={"age": 50.5, "smoker": "no"}, facts={"trained_by": "LPSVC", "rows": 12, "share": 0.5}),
    PlaneModel(cm.RuleSet([], cm.FeatureSpace(["a", "b"]), ["x", "y", "z"]), np.eye(3, 2), [0.0, 1.0, 2.0]),
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.json"


def document(model, path):
    return json.loads(cm.save_model(model, path, overwrite=True).read_text())


def test_schema_is_a_schema_that_closes_and_describes_every_object():
    jsonschema.Draft202012Validator.check_schema(schema := model_schema())
    shipped = importlib.resources.files("clearmargin.models") / "model.schema.json"
    del schema["$defs"]["rules"]
    assert json.loads(shipped.read_text("utf-8")) == schema
    for part in (schema, *schema["$defs"].values()):
        assert part["description"]
        assert part["additionalProperties"] is False


FIRST = "planes/0/weights/0"
# A place of the good document, what is put there, the name in the error, and whether the schema can tell.
DAMAGE = [
    ("planes", GONE, "planes", True), ("planes", [], "planes", True), ("planes", {}, "planes", True),
    ("planes", [3], "plane 1", True), ("novelty", 1, "novelty", True), ("version", 0, "0", True),
    ("version", True, "True", True), ("format", "other", "format", True), ("rules", [], "rules", True),
    (f"{FIRST}/weight", "1", "age", True), (f"{FIRST}/weight", float("nan"), "nan", False),
    (f"{FIRST}/weight", -np.inf, "-inf", False), (f"{FIRST}/weight", 10**400, "weight", False),
    (f"{FIRST}/feature", ["age"], "feature", True), (f"{FIRST}/feature", "agee", "'age'", False),
    (f"{FIRST}/category", None, "category", True), (f"{FIRST}/category", "ex", "column", False),
    ("planes/0/intercept", None, "intercept", True), ("planes/0/intercept", GONE, "intercept", True),
    ("planes/0/weights", 3, "weights", True),
    ("planes/0/weights", [{"feature": "age", "weight": 1.0}, {"feature": "age", "weight": 2.0}], "age", False),
    ("facts", [], "facts", True), ("facts/rows", [1], "rows", True), ("facts/rows", float("nan"), "rows", False),
    ("fill/age", None, "age", True), ("fill/agee", 1, "'age'", False), ("fill/smoker", "never", "never", False),
    ("advice", 3, "advice", True), ("advice/given", GONE, "given", True), ("advice/given/format", "x", "given", True),
    ("rules/classes", ["ill"], "class", True), ("rules/features/1/name", "age", "age", False),
]  # fmt: skip


def test_model_file_with_damage_is_refused_by_what_is_wrong(path):
    good = document(MODELS[1], path)
    for place, value, name, schema_can_tell in DAMAGE:
        hit = put(good, place, value)
        path.write_text(json.dumps(hit))
        with pytest.raises(FileDamagedError, match=rf"model\.json.*{name}"):
            cm.load_model(path)
        assert VALIDATOR.is_valid(hit) is not schema_can_tell, (place, value)
    path.write_text(json.dumps({**good, "version": 99}))
    with pytest.raises(FileTooNewError, match="99"):
        cm.load_model(path)
    for text in (b'{"format": "clear', b"\xff\xfe\x00", b"[" * 100_000):
        path.write_bytes(text)
        with pytest.raises(FileDamagedError, match=r"model\.json"):
            cm.load_model(path)


@given(data=st.data(), model=st.sampled_from(MODELS))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_model_file_damaged_anywhere_is_refused_or_reads_back(path, data, model):
    hit = damaged(data, document(model, path))
    path.write_text(json.dumps(hit))
    try:
        loaded = cm.load_model(path)
    except (FileDamagedError, FileTooNewError):
        return
    assert VALIDATOR.is_valid(hit)
    again = cm.load_model(cm.save_model(loaded, path, overwrite=True))
    assert document(again, path) == document(loaded, path)


def test_what_cannot_be_saved_or_made_is_refused_by_name(path):
    unsaved = path.with_name("none.json")
    for model, name in (
        (cm.LPSVC(), "LPSVC"),
        (cm.RuleExtractor(), "RuleExtractor"),
        (RidgeClassifier().fit(X, Y), "X=X"),
    ):
        with pytest.raises(InvalidValueError, match=name):
            cm.save_model(model, unsaved)
    with pytest.raises(InvalidValueError, match=r"\.json"):
        cm.save_model(MODELS[0], path.with_suffix(".pkl"))
    assert not unsaved.exists()
    rules = cm.RuleSet([], cm.FeatureSpace(["a"]), ["n", "p"])
    for weights, name in (([[1.0, 2.0]], "shape"), ([[np.inf]], "finite")):
        with pytest.raises(InvalidValueError, match=name):
            PlaneModel(rules, weights, [0.0])
    with pytest.raises(InvalidValueError, match="3 classes"):
        _ = MODELS[2].hyperplane_


ADVICE = "thick: clump_thickness >= 7 and bare_nuclei >= 5 => malignant\nbare_nuclei <= 2 => benign"


def test_saved_estimators_are_loaded_to_the_last_bit_with_rules_and_advice(path):
    for model in (cm.LPSVC(0.01), cm.AdviceSVC(ADVICE, refine="translate")):
        fitted = model.fit(X, Y)
        loaded = cm.load_model(cm.save_model(fitted, path, overwrite=True))
        assert (loaded.coef_ == fitted.coef_).all()
        assert (loaded.decision_function(X) == fitted.decision_function(X)).all()
    assert loaded.advice == (fitted.advice_, fitted.refined_)
    extractor = cm.RuleExtractor(cm.LPSVC(0.1), max_rules=3).fit(X, Y)
    loaded = cm.load_model(cm.save_model(extractor, path, overwrite=True))
    assert loaded.rules == extractor.rules_
    again = cm.RuleExtractor(loaded, max_rules=3).fit(X, Y)
    assert again.rules_ == extractor.rules_
    written = cm.save_model(again, path, overwrite=True).read_bytes()
    assert cm.save_model(again, path, X=X, overwrite=True).read_bytes() == written
    turned = PlaneModel.from_estimator(extractor.estimator_, X, positive="benign")
    assert turned.classes_.tolist() == ["malignant", "benign"]
    assert (turned.decision_function(X) == -loaded.decision_function(X)).all()
    # A copy that kept its weights would be judged on rows that it was trained on.
    with pytest.raises(InvalidValueError, match="clone"):
        clone(turned)
    assert turned.fit() is turned
    assert (copy.deepcopy(turned).predict(X) == turned.predict(X)).all()


def lowest(weights, intercept, box, allowed):
    """By hand: the lowest score over all corners and categories, in fractions."""
    scores = []
    for corner in itertools.product(*zip(box.lower[:2], box.upper[:2], strict=True)):
        pairs = zip(weights[:2], corner, strict=True)
        total = sum((Fraction(w) * Fraction(x) for w, x in pairs), Fraction(intercept))
        scores += [total + Fraction(weights[2 + code]) for code in allowed]
    return min(scores)


def test_proofs_that_a_file_claims_are_checked_in_fractions(path):
    rng = np.random.default_rng(5)
    space, classes = (
        cm.FeatureSpace(["a", "b", "c"], categories={"c": ["u", "v", "w"]}),
        ["no", "yes"],
    )
    found = set()
    for _ in range(100):
        # Few digits, so that boxes often end exactly on the plane.
        weights, intercept = rng.integers(-4, 5, 5) / 4, float(rng.integers(-8, 9)) / 4
        ends = np.sort(rng.integers(-3, 4, (2, 2)) / 2, axis=0)
        allowed = rng.permutation(3)[: rng.integers(1, 4)].tolist()
        box = cm.Box([*ends[0], -np.inf], [*ends[1], np.inf], sets={2: allowed})
        rules = cm.RuleSet([cm.Rule(box, "yes", proof="proved")], space, classes)
        model = PlaneModel(rules, [weights], [intercept], facts={"declared_ranges": "[]"})
        cm.save_model(model, path, overwrite=True)
        is_true = lowest(weights, intercept, box, allowed) > 0
        found.add(is_true)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            proof = cm.load_model(path).rules[0].proof
        assert proof == ("proved" if is_true else None)
        assert [w.category for w in told] == [] if is_true else [UncertifiedWarning]
    assert found == {True, False}


def test_proofs_of_an_edited_file_are_taken_back(path):
    extractor = cm.RuleExtractor(cm.LPSVC(nu=0.0025), bounds=(1, 10)).fit(X, Y)
    good = document(extractor, path)
    assert {rule.proof for rule in cm.load_model(path).rules} == {"proved"}

    def proofs(**changes):
        path.write_text(json.dumps({**copy.deepcopy(good), **changes}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncertifiedWarning)
            return [rule.proof for rule in cm.load_model(path).rules]

    moved = [{**good["planes"][0], "intercept": good["planes"][0]["intercept"] + 10.0}]
    path.write_text(json.dumps({**good, "planes": moved}))
    with pytest.warns(UncertifiedWarning, match="proved"):
        cm.load_model(path)
    labels = [rule.label for rule in extractor.rules_]
    assert proofs(planes=moved) == ["proved" if label == "malignant" else None for label in labels]
    forgotten = {key: v for key, v in good["facts"].items() if key != "declared_ranges"}
    assert set(proofs(facts=forgotten)) == {"proved", "stated"}
    nothing = {**good["facts"], "declared_ranges": '{"lower": [], "upper": []}'}
    assert set(proofs(facts=nothing)) == {"proved", None}
    # Rules without their model are stated to be proved, however often they are saved.
    rules = cm.RuleSet.load(extractor.rules_.save(path.with_name("r.json"), overwrite=True))
    assert rules == extractor.rules_
    assert {rule.proof for rule in rules} == {"stated"}
    assert {
        r.proof for r in cm.RuleSet.load(rules.save(path.with_name("s.json"), overwrite=True))
    } == {"stated"}
