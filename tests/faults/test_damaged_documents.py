"""Damaged documents of rules are refused with what is wrong and where, and with no other error."""

import copy
import gzip
import json
import lzma
from functools import partial

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.damage import GONE, damaged, put
from tests.oracles.values import INF, NAN, rule_sets

from clearmargin import LPSVC, RuleSet, RuleSVC, ScoreRules, load_model, parse_rules, save_model
from clearmargin.datasets import load_wbc
from clearmargin.exceptions import ClearmarginError, FileDamagedError, FileTooNewError
from clearmargin.rules import rules_schema

RULES = parse_rules(
    "feature age: integer in [0, 120] unit years\nfeature bmi\nfeature smoker: in {no, ex, yes}\n"
    "classes: well, ill\n"
    "old: 60 <= age <= 80 and bmi < 30.1 and smoker in {ex, yes} => ill [weight 2.5]\n"
    "0.5*age + bmi <= 40 and bmi > 0 => well\ntrue => ill"
)
VALIDATOR = jsonschema.Draft202012Validator(rules_schema())
STATS = {"rows": 100, "covered": 40, "correct": 39}
FIRST, BOUND, SET, ROW = "rules/0", "rules/0/when/0", "rules/0/when/2", "rules/1/when/0"
# Where, what stands there instead, what the message names, and whether the schema can tell.
DAMAGE = [
    ("format", GONE, "format", True), ("format", "report", "rules", True), ("version", GONE, "version", True),
    ("version", 0, "version", True), ("version", True, "version", True), ("version", "1", "version", True),
    ("classes", GONE, "classes", True), ("features", GONE, "features", True), ("rules", GONE, "rules", True),
    ("note", "x", "note", True), ("classes", "ab", "classes", True), ("classes/0", None, "class 1", True),
    ("classes/0", "", "class 1", True), ("classes/0", "ill", "classes", True), ("classes/1", "il", "rule 1", False),
    ("features", {}, "features", True), ("features/0", "age", "feature 1", True),
    ("features/1/name", GONE, "feature 2: 'name'", True), ("features/1/name", "", "feature 2: 'name'", True),
    ("features/1/name", 3, "name", True), ("features/1/name", "age", "age", False),
    ("features/0/units", "y", "units", True), ("features/0/lower", "0", "lower", True),
    ("features/0/lower", None, "lower", True), ("features/0/lower", True, "lower", True),
    ("features/0/lower", -INF, "lower", False), ("features/0/lower", -(10**400), "lower", False),
    ("features/0/lower", 130, "age", False), ("features/0/integer", 1, "integer", True),
    ("features/0/unit", 1, "unit", True), ("features/2/categories", "ab", "categories", True),
    ("features/2/categories", [], "feature 3: 'categories'", True),
    ("features/2/categories/0", 1, "feature 3: category 1", True),
    ("features/2/categories/0", "ex", "smoker|feature 3|categories", True), ("features/2/fill", 3, "smoker", False),
    ("features/2/fill", "w", "smoker", False), ("rules", None, "rules", True), (FIRST, [], "rule 1", True),
    (f"{FIRST}/label", GONE, "rule 1: 'label'", True), ("rules/2/when", GONE, "rule 3: 'when'", True),
    (f"{FIRST}/wieght", 2, "weight", True), (f"{FIRST}/label", ["ill"], "label", True),
    (f"{FIRST}/label", INF, "label", False), (f"{FIRST}/label", "i", "rule 1", False),
    (f"{FIRST}/name", 3, "rule 1: 'name'", True), (f"{FIRST}/name", "", "rule 1: 'name'", True),
    (f"{FIRST}/weight", 0, "rule 1: .*weight", True), (f"{FIRST}/weight", "2", "weight", True),
    (f"{FIRST}/origin", "god", "origin", True), (f"{FIRST}/origin", [1], "origin", True),
    (f"{FIRST}/proof", True, "proof", True), (f"{FIRST}/stats", [1, 2], "stats", True),
    (f"{FIRST}/stats", {**STATS, "right": 3}, "right", True), (f"{FIRST}/stats", {"covered": 3}, "rows", True),
    (f"{FIRST}/stats", {**STATS, "rows": 0.5}, "rows", True), (f"{FIRST}/stats", {**STATS, "rows": 3}, "rows", False),
    (f"{FIRST}/when", {}, "when", True), (f"{FIRST}/when", "", "when", True),
    (BOUND, "age > 3", "rule 1: condition 1", True), (BOUND, {}, "condition 1: 'feature'", True),
    (BOUND, {"feature": "age"}, "condition 1.*'age'.*at_least", True), (f"{BOUND}/atleast", 3, "at_least", True),
    (f"{BOUND}/feature", "aeg", "condition 1.*'aeg'.*'age'", False), (f"{BOUND}/feature", ["age"], "feature", True),
    ("rules/0/when/1/feature", "age", "condition 2.*'age'", False), (f"{BOUND}/above", 3, "above", True),
    (f"{BOUND}/below", 90, "below", True), (f"{BOUND}/at_least", "3", "at_least", True),
    (f"{BOUND}/at_least", None, "at_least", True), (f"{BOUND}/at_least", NAN, "at_least", False),
    (f"{BOUND}/at_least", 90, "empty", False), (f"{BOUND}/feature", "smoker", "smoker", False),
    (f"{SET}/at_least", 1, "at_least", True), (f"{SET}/in", "ex", "in", True),
    (f"{SET}/in", [], "condition 3.*'smoker'", True), (f"{SET}/in", [1], "condition 3.*category 1", True),
    (f"{SET}/in", ["exx"], "condition 3.*'exx'.*'ex'", False), (f"{SET}/feature", "bmi", "bmi", False),
    ("rules/2/when", [{"feature": "bmi", "in": ["high"]}], "rule 3: condition 1.*'bmi'", False),
    (f"{ROW}/linear", [1], "linear", True), (f"{ROW}/linear", {}, "linear", True),
    (f"{ROW}/linear/bim", 1, "'bim'", False), (f"{ROW}/linear/age", "1", "age", True),
    (f"{ROW}/linear/smoker", 1.0, "rule 2.*'smoker'", False), (f"{ROW}/at_most", GONE, "at_most", True),
    (f"{ROW}/below", 1, "below|at_most", True), (f"{ROW}/feature", "age", "feature", True),
    (ROW, {"feature": "age", "at_least": 3}, "linear", True),
    ("rules/2/when", [{"feature": "bmi", "missing": 1}], "missing", True),
    ("rules/2/when", [{"feature": "bmi", "missing": True, "above": 3}], "above", True),
    ("rules/2/when", [{"feature": "bmi", "missing": True}] * 2, "bmi", False),
    ("rules/1/when/1", {"feature": "age", "missing": True}, "feature 0", False),
]  # fmt: skip


def test_rule_set_document_with_damage_is_refused_with_its_place():
    for place, value, name, schema_can_tell in DAMAGE:
        damaged_one = put(RULES.to_dict(), place, value)
        with pytest.raises(FileDamagedError, match=name):
            RuleSet.from_dict(damaged_one)
        assert VALIDATOR.is_valid(damaged_one) is not schema_can_tell, (place, value)
    for data in (None, [], "rules", 3, {}):
        with pytest.raises(FileDamagedError, match="rules"):
            RuleSet.from_dict(data)
    for version in (3, 10**30):
        with pytest.raises(FileTooNewError, match=str(version)):
            RuleSet.from_dict(put(put(RULES.to_dict(), "version", version), "novelty", [1]))


@settings(max_examples=40)
@given(data=st.data(), rules=st.just(RULES) | rule_sets(max_rules=2))
def test_rule_set_document_damaged_anywhere_is_read_or_refused(data, rules):
    document = damaged(data, json.loads(json.dumps(rules.to_dict())))
    try:
        read = RuleSet.from_dict(copy.deepcopy(document))
    except (FileDamagedError, FileTooNewError):
        return
    assert VALIDATOR.is_valid(document)
    assert RuleSet.from_dict(read.to_dict()) == read


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A file of each kind of document, how it is read, and what is written of what was read."""
    folder = tmp_path_factory.mktemp("stored")
    X, y = load_wbc(return_X_y=True)
    X, y = X.iloc[:90, :2], y[:90]
    kinds = [
        (RULES.save(folder / name), RuleSet.load, lambda rules: json.dumps(rules.to_dict()))
        for name in ("rules.json", "text.rules")
    ]
    for name, model in (("plane", LPSVC()), ("points", RuleSVC())):
        path = save_model(model.fit(X, y), folder / f"{name}.json")
        kinds.append((path, load_model, lambda read: written(read, folder).read_text("utf-8")))
    for certify in (False, True):
        card = ScoreRules(LPSVC(), certify=certify).fit(X, y).scorecard_
        path = folder / f"card-{certify}.json"
        path.write_text(json.dumps(card.to_dict()), "utf-8")
        load = partial(read_card, type(card))
        kinds.append((path, load, lambda card: json.dumps(card.to_dict())))
    return kinds


def read_card(kind, path):
    return kind.from_dict(json.loads(path.read_text("utf-8")))


def written(model, folder):
    return save_model(model, folder / "again.json", overwrite=True)


@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.UncertifiedWarning")
@settings(max_examples=150)
@given(
    st.integers(0, 5),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 7) | st.binary(max_size=3),
    st.booleans(),
)
def test_stored_document_with_a_flipped_bit_or_other_bytes_is_read_or_refused(
    stored, kind, at, hit, is_cut
):
    path, load, write = stored[kind]
    good = path.read_bytes()
    place = int(at * len(good))
    hit = bytes([good[place] ^ 1 << hit]) if isinstance(hit, int) else hit
    target = path.with_name(f"hit{path.suffix}")
    target.write_bytes(good[:place] + hit + (b"" if is_cut else good[place + 1 :]))
    try:
        read = load(target)
    except (json.JSONDecodeError, UnicodeDecodeError):
        assert path.name.startswith("card")  # whoever stores a card reads the JSON
    except ClearmarginError as error:
        said = str(error)
        assert "hit" in said or path.name.startswith("card")
    else:
        text = write(read)
        target.with_suffix(".json").write_text(text, "utf-8")
        assert write(load(target.with_suffix(".json"))) == text


NO_DOCUMENTS = [
    lambda good: b"", lambda good: b"\xef\xbb\xbf \r\n", lambda good: b"\0" * 100, lambda good: b"age > 3 => ill\n",
    lambda good: good + good, lambda good: good[: len(good) // 2], lambda good: good.replace(b'"old"', b'"\xe4lt"'),
    lambda good: good.decode().encode("utf-16"), lambda good: bytes(range(256)),
    lambda good: good.replace(b"30.1", b"NaN"), lambda good: good.replace(b"30.1", b"1e999"),
    lambda good: good.replace(b"30.1", b"9" * 5000), lambda good: good.replace(b'"old"', b'"\\ud800"'),
    lambda good: good.replace(b'"old"', b"[" * 900 + b"]" * 900),
    lambda good: good.replace(b'"version": 1', b'"version": 1, "version": 1'),
    lambda good: good.replace(b"clearmargin-rules", b"clearmargin-model"), lambda good: b"[" * 100_000, gzip.compress,
    lzma.compress, lambda good: b"PK\x03\x04...", lambda good: b"\x80\x04\x95...", lambda good: b"\x89PNG\r\n",
]  # fmt: skip


def test_rule_set_file_that_is_no_document_is_refused_with_its_name(tmp_path):
    good = RULES.save(tmp_path / "good.json").read_bytes()
    bad = tmp_path / "bad.json"
    for damage in NO_DOCUMENTS:
        bad.write_bytes(damage(good))
        with pytest.raises(FileDamagedError, match=r"bad\.json"):
            RuleSet.load(bad)


def test_rule_set_file_with_other_line_ends_is_read_and_a_missing_one_is_missing(tmp_path):
    path = RULES.save(tmp_path / "rules.json")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert RuleSet.load(path) == RULES
    path.write_text(path.read_text("utf-8-sig").replace('"version": 1', '"version": 3'))
    with pytest.raises(FileTooNewError, match=r"rules\.json"):
        RuleSet.load(path)
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        RuleSet.load(tmp_path / "nothing.json")
