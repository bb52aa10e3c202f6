"""Damaged files of models and rules: exit code 2, the name of the file, what is wrong, what to do."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import pickle
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.usefixtures("no_folds")

TRAIN = ["rules", "patients.csv", "--target", "outcome"]
AGAIN = "take another copy of the file, or save it again"


def with_weight(text):
    def damage(good):
        return re.sub(rb'"weight": [-0-9.e]+', b'"weight": ' + text, good, count=1)

    return damage


def changed(change):
    def damage(good):
        data = json.loads(good)
        change(data)
        return json.dumps(data).encode()

    return damage


def name_twice(data):
    features = data.get("features") or data["rules"]["features"]
    features[1]["name"] = features[0]["name"]


# What is done to the bytes of a good file, and words of the message, in order.
BOTH = {
    "cut off": (lambda good: good[: len(good) // 2], ["is not valid JSON", AGAIN]),
    "empty": (lambda good: b"", ["is not valid JSON: it is empty", AGAIN]),
    "blank": (lambda good: b" \n\n", ["it is empty", AGAIN]),
    "text": (lambda good: b"age >= 30 => ill\n", ["is not valid JSON", AGAIN]),
    "gzip": (gzip.compress, ["is compressed (gzip); unpack it first"]),
    "bzip2": (bz2.compress, ["is compressed (bzip2); unpack it first"]),
    "zip": (lambda good: b"PK\x03\x04" + good, ["is a zip archive or a spreadsheet; unpack it"]),
    "pickle": (pickle.dumps, ["is a Python pickle, which is never opened here", "save_model"]),
    "binary": (lambda good: bytes(range(256)), ["is not UTF-8 text", AGAIN]),
    "newer": (changed(lambda data: data.update(version=7)), ["version 7", "update clearmargin"]),
    "older": (changed(lambda data: data.update(version=0)), ["whole number from 1, not 0"]),
    "no version": (changed(lambda data: data.pop("version")), ["whole number from 1, not None"]),
    "a list": (lambda good: b"[1, 2]", ["no clearmargin", '"format" must be "clearmargin-']),
    "a key twice": (
        lambda good: good.replace(b'"version": 1', b'"version": 1, "version": 1', 1),
        ["the name 'version' stands twice in one object", AGAIN],
    ),
    "feature twice": (changed(name_twice), ["age"]),
}
OF_MODELS = {
    **BOTH,
    "NaN": (with_weight(b"NaN"), ["plane 1: weight 1 ('age'): 'weight' must be a number, not nan"]),
    "infinite": (with_weight(b"-Infinity"), ["must be a number, not -inf"]),
    "too large": (with_weight(b"1e999"), ["must be a number, not inf"]),
    "whole and too large": (with_weight(b"1" + b"0" * 400), ["must be a number"]),
    "text for a number": (with_weight(b'"1"'), ["must be a number, not '1'"]),
    "two planes": (
        changed(lambda data: data["planes"].append(data["planes"][0])),
        ["the planes are damaged", "need weights of shape (1,"],
    ),
    "weight twice": (
        changed(lambda data: data["planes"][0]["weights"].append(data["planes"][0]["weights"][0])),
        ["plane 1: a second weight for"],
    ),
    "rules": (
        changed(lambda data: [data.update(data.pop("rules")), data.pop("planes")]),
        ["this is no clearmargin model", "these are rules, which RuleSet.load reads"],
    ),
}
OF_RULES = {
    **BOTH,
    "NaN": (
        changed(lambda data: data["rules"][0]["when"][0].update(at_least=float("nan"))),
        ["rule 1: condition 1 ('age'): 'at_least' must be a number, not nan"],
    ),
}


@pytest.fixture
def model(clearmargin, folder):
    clearmargin(*TRAIN, "--nu", "1", "--save-model", "bad.json", "--quiet")
    return folder / "bad.json"


@pytest.fixture
def rules(folder):
    from clearmargin import parse_rules

    return parse_rules("age >= 35 and bmi >= 30 => ill\nage < 35 => well\n").save(
        folder / "bad.json"
    )


def check(said, messages):
    assert said.code == 2, said.err
    assert not said.out
    assert "Traceback" not in said.err
    assert "internal error" not in said.err
    message = " ".join(said.err.split())
    assert "bad.json" in message
    for part in messages:
        place = message.find(part)
        assert place >= 0, message
        message = message[place:]


@pytest.mark.parametrize("name", OF_MODELS)
def test_a_damaged_model_is_refused(name, run, model):
    damage, messages = OF_MODELS[name]
    model.write_bytes(damage(model.read_bytes()))
    for command in (TRAIN, ["predict", "patients.csv"], ["explain", *TRAIN[1:], "--row", "1"]):
        check(run(*command, "--model", "bad.json"), messages)


@pytest.mark.parametrize("name", OF_RULES)
def test_damaged_rules_are_refused(name, run, rules):
    damage, messages = OF_RULES[name]
    rules.write_bytes(damage(rules.read_bytes()))
    check(run("advise", *TRAIN[1:], "--advice", "bad.json"), messages)
    check(run("predict", "patients.csv", "--rules", "bad.json"), messages)
    check(run("export", "bad.json", "--to", "sql"), messages)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lambda good: b"\xff\xfe" + good])
def test_rule_texts_that_are_no_text_are_refused(pack, run, folder):
    (folder / "bad.json.rules").write_bytes(pack(b"age >= 30 => ill\n"))
    for command in (
        ["predict", "patients.csv", "--rules"],
        ["advise", *TRAIN[1:], "--advice"],
        ["check"],
        ["export", "--to", "sql"],
    ):
        check(run(*command, "bad.json.rules"), ["is not UTF-8 text"])


HALF = "feature `\\ud800`\n`\\ud800` > 3 => a\n"


@pytest.mark.parametrize("form", ["json", "sql", "pmml"])
@pytest.mark.parametrize("to_file", [True, False])
def test_half_a_surrogate_pair_cannot_be_exported_and_that_is_said(folder, run, form, to_file):
    (folder / "half.rules").write_text(HALF)
    said = run("export", "half.rules", "--to", form, *(["--out", f"a.{form}"] if to_file else []))
    assert said.code == 2
    assert "\\ud800" in said.err
    assert "internal error" not in said.err
    assert not (folder / f"a.{form}").exists()


def test_half_a_surrogate_pair_in_json_is_refused(folder, run):
    rules = {
        "format": "clearmargin-rules",
        "version": 1,
        "classes": ["a"],
        "features": [],
        "rules": [],
    }
    text = json.dumps({**rules, "classes": ["\ud800"]})
    (folder / "half.json").write_text(text)
    said = run("check", "half.json")
    assert said.code == 2
    assert (
        "half.json is not valid JSON: a text in it has \\ud800, one half of a surrogate" in said.err
    )
    # A whole pair is a character like others.
    (folder / "whole.json").write_text(json.dumps({**rules, "classes": ["\U0001f600"]}))
    assert "whole.json has no rules" in run("check", "whole.json").err


def test_half_a_surrogate_pair_in_a_table_is_refused(folder, run):
    (folder / "half.csv").write_bytes(b"a,y\n1,u\n2,\\ud800\n")
    said = run("rules", "half.csv", "--target", "y", "--encoding", "raw_unicode_escape")
    assert said.code == 2
    assert "half.csv is not raw_unicode_escape text: line 3 has \\ud800, one half" in said.err


def test_file_names_that_are_no_text_are_printed_as_their_bytes(folder):
    # In a process of its own, whose standard output is a real one.
    name = os.fsdecode(b"caf\xe9.rules")
    (folder / name).write_text("x > 3 => a\n")
    words = [
        sys.executable,
        "-m",
        "clearmargin",
        "export",
        name,
        "--to",
        "json",
        "--out",
        f"{name}.json",
    ]
    done = subprocess.run(
        words, capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "utf-8"}
    )
    assert b"caf\xe9.rules.json" in done.stdout


def test_json_names_such_files_by_an_escape(folder, clearmargin):
    name = os.fsdecode(b"caf\xe9.csv")
    (folder / "patients.csv").rename(name)
    said = clearmargin("rules", name, "--target", "outcome", "--drop", "patient", "--json")
    assert json.loads(said.out)["data"] == name
