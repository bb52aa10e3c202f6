"""Files of rules in the JSON form: damaged, newer, in the way, of another name, or not there."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import (
    FileDamagedError,
    FileInTheWayError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.rules import RuleSet

from .document_cases import result_or_refusal

BAD_FILES = {
    "cut off": (lambda good: good[: len(good) // 2], "is not valid JSON"),
    "empty": (lambda good: b"", "is not valid JSON"),
    "not JSON": (lambda good: b"age > 3 => ill\n", "is not valid JSON"),
    "two documents": (lambda good: good + good, "is not valid JSON: Extra data"),
    "not UTF-8": (lambda good: good.replace(b"old", b"\xe4lt"), "is not UTF-8 text"),
    "UTF-16": (lambda good: good.decode().encode("utf-16"), "is not UTF-8 text"),
    "binary": (lambda good: bytes(range(256)), "is not UTF-8 text"),
    "zeros": (lambda good: b"\0" * 100, "is not valid JSON"),
    "NaN": (lambda good: good.replace(b"30.1", b"NaN"), "'below' must be a number, not nan"),
    "too large": (
        lambda good: good.replace(b"30.1", b"1e999"),
        "'below' must be a number, not inf",
    ),
    "too many digits": (lambda good: good.replace(b"30.1", b"9" * 5000), "is not valid JSON"),
    "too deep": (lambda good: b"[" * 100_000, "is not valid JSON"),
    "deep label": (
        lambda good: good.replace(b'"old"', b"[" * 900 + b"]" * 900),
        "'name' must be a text",
    ),
    "gzip": (gzip.compress, r"is compressed \(gzip\); unpack it first"),
    "a key twice": (
        lambda good: good.replace(b'"version": 1', b'"version": 1, "version": 1'),
        "the name 'version' stands twice in one object",
    ),
    "a model": (
        lambda good: good.replace(b"clearmargin-rules", b"clearmargin-model"),
        "these are no clearmargin rules: .*this is a model, which load_model reads",
    ),
    "another document": (lambda good: b'{"format": "pmml"}', "these are no clearmargin rules"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_damaged_file_is_refused_with_its_name(rules, tmp_path, name):
    damage, message = BAD_FILES[name]
    file = rules.save(tmp_path / "good.json")
    bad = tmp_path / "bad.json"
    bad.write_bytes(damage(file.read_bytes()))
    with pytest.raises(FileDamagedError, match=rf"bad\.json.*{message}"):
        RuleSet.load(bad)


@given(data=st.data())
def test_a_file_cut_or_overwritten_anywhere_is_never_any_other_error(
    data, samples, tmp_path_factory
):
    good = json.dumps(samples["RuleSet"].to_dict()).encode()
    at = data.draw(st.integers(0, len(good) - 1))
    hit = data.draw(st.binary(max_size=3))
    rest = data.draw(st.sampled_from([good[at + 1 :], b""]))
    file = tmp_path_factory.getbasetemp() / "hit.json"
    file.write_bytes(good[:at] + hit + rest)
    loaded = result_or_refusal(RuleSet.load, file)
    if isinstance(loaded, RuleSet):
        assert RuleSet.from_dict(loaded.to_dict()) == loaded
    else:
        assert "hit.json" in str(loaded)


def test_a_newer_file_is_named(rules, tmp_path):
    file = rules.save(tmp_path / "new.json")
    file.write_text(file.read_text().replace('"version": 1', '"version": 3'))
    with pytest.raises(FileTooNewError, match=r"new\.json: .*version 3.*update clearmargin"):
        RuleSet.load(file)


def test_a_mark_at_the_start_of_a_file_does_no_harm(rules, tmp_path):
    file = rules.save(tmp_path / "rules.json")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert RuleSet.load(file) == rules


def test_a_file_is_not_overwritten_by_chance(rules, tmp_path):
    file = rules.save(str(tmp_path / "rules.json"))
    with pytest.raises(FileInTheWayError, match="exists already"):
        rules[:1].save(file)
    assert RuleSet.load(file) == rules
    rules[:1].save(file, overwrite=True)
    assert RuleSet.load(file) == rules[:1]


@pytest.mark.parametrize("name", ["rules.txt", "rules", "rules.json.bak"])
def test_the_name_of_a_file_says_its_form(rules, tmp_path, name):
    with pytest.raises(InvalidValueError, match=r"ends in .json or .rules"):
        rules.save(tmp_path / name)
    with pytest.raises(InvalidValueError, match=r"ends in .json or .rules"):
        RuleSet.load(tmp_path / name)


def test_a_file_that_is_not_there_is_the_usual_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
        RuleSet.load(tmp_path / "nothing.json")
