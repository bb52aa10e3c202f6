"""Files that are read: text and JSON, and what is said about those that are neither."""

from __future__ import annotations

import gzip
import json
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.exceptions import FileDamagedError
from clearmargin.rules.file_writing import read_json, read_text


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a.json"


@given(text=st.text())
@settings(max_examples=60)
def test_text_is_read_as_python_reads_it(text, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "text.rules"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode("utf-8"))
    assert read_text(path) == path.read_text(encoding="utf-8-sig")


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(data=plain)
@settings(max_examples=60)
def test_json_is_read_as_it_was_written(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "plain.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert read_json(path) == data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"{}", mtime=0), r"a\.json .*is compressed \(gzip\); unpack it first"),
        (lzma.compress(b"{}"), r"a\.json .*is compressed \(xz\); unpack it first"),
        (b"PK\x03\x04...", "is a zip archive or a spreadsheet"),
        (b"\x80\x04\x95...", "is a Python pickle, which is never opened here"),
        (b"\x89PNG\r\n", "is a picture"),
        (b"%PDF-1.7", "is a PDF"),
        (b"\xff\xfe{\0}\0", "is not UTF-8 text: .*; take another copy of the file"),
        (b"", "is not valid JSON: it is empty; take another copy"),
        (b"\xef\xbb\xbf \r\n", "it is empty"),
        (b"\0" * 64, "it is empty"),
        (b'{"a": 1', "is not valid JSON: .*; take another copy"),
        (b'{"a": {"b": 1, "c": 2, "b": 1}}', "the name 'b' stands twice in one object"),
        (b'{"a": 1} {}', "Extra data"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"9" * 5000, "is not valid JSON"),
    ],
)
def test_what_is_no_json_is_named_with_what_to_do(content, message, file):
    file.write_bytes(content)
    with pytest.raises(FileDamagedError, match=message):
        read_json(file)
    with pytest.raises(FileDamagedError, match=r"a\.json"):
        read_json(str(file))


def test_a_missing_file_is_missing(file):
    with pytest.raises(FileNotFoundError, match=r"a\.json"):
        read_json(file)
