"""The fingerprint of a table: the same for the same values, another for others."""

from __future__ import annotations

import hashlib
import struct

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from clearmargin.report.origin import fingerprint


def test_the_fingerprint_is_the_hash_of_the_canonical_bytes():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    expected = b"n" + struct.pack("<Q", 1) + b"a" + struct.pack("<Q", 2) + struct.pack("<2d", 1, 2)
    expected += b"t" + struct.pack("<Q", 1) + b"b" + struct.pack("<Q", 2)
    expected += struct.pack("<Q", 1) + b"x" + b"\xff" * 8
    assert fingerprint(frame) == hashlib.sha256(expected).hexdigest()


@settings(max_examples=30)
@given(
    st.lists(st.floats(allow_nan=True), min_size=1, max_size=5),
    st.integers(0, 4),
    st.floats(allow_nan=False),
)
def test_another_value_gives_another_fingerprint(column, place, value):
    frame = pd.DataFrame({"a": column})
    other = frame.copy()
    row = place % len(column)
    other.loc[row, "a"] = value
    same = column[row] == value
    assert (fingerprint(frame) == fingerprint(other)) == same
    assert fingerprint(frame) == fingerprint(frame.astype(object))
    assert fingerprint(frame) != fingerprint(frame.rename(columns={"a": "b"}))


def test_a_fingerprint_sees_dates(data):
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    other = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-03"])})
    assert fingerprint(frame) == fingerprint(frame.copy())
    assert fingerprint(frame) != fingerprint(other)
