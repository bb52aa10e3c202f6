"""The shipped files are the ones that were checked, and hold the values of independent copies.

The independent copies came from other packages (R's mlbench, the UCI file) and are not part of the
repository. Digests of their values were recorded here, so that the comparison always runs; where
the copies themselves are at hand, they are compared too; where not, the summary says so.
"""

from __future__ import annotations

import csv
import hashlib
from functools import partial
from importlib.resources import files

import pytest

from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc
from clearmargin.datasets.info import SHIPPED


def content(info):
    return (files("clearmargin.datasets") / "data" / info.filename).read_bytes()


@pytest.mark.parametrize("info", SHIPPED, ids=lambda info: info.name)
def test_a_shipped_file_has_the_recorded_digest(info):
    assert hashlib.sha256(content(info)).hexdigest() == info.sha256


@pytest.mark.parametrize("info", SHIPPED, ids=lambda info: info.name)
def test_a_shipped_file_has_the_header_of_its_features_and_unix_lines(info):
    raw = content(info)
    assert raw.split(b"\n")[0].decode() == ",".join((*info.feature_names, info.column))
    assert b"\r" not in raw
    assert raw.endswith(b"\n")
    assert b'"' not in raw


@pytest.mark.parametrize("info", SHIPPED, ids=lambda info: info.name)
def test_every_value_of_the_last_column_has_a_class_in_every_target(info):
    _, *rows = csv.reader(content(info).decode().splitlines())
    for class_of in info.targets.values():
        assert {row[-1] for row in rows} == set(class_of)


def digest(X, y, *, in_order):
    """Digest of the values, not of how they are written."""
    lines = [
        ",".join([*(repr(float(cell)) for cell in row), label])
        for row, label in zip(X, y, strict=True)
    ]
    return hashlib.sha256("\n".join(lines if in_order else sorted(lines)).encode()).hexdigest()


@pytest.mark.parametrize(
    ("load", "copy", "in_order", "expected"),
    [
        (
            load_wbc,
            "wbc_original.csv",
            True,
            "fd74e5e22d77ed548926f50e9a9575f21633578c5e8a939fcc0d9aeda46ac531",
        ),
        (
            load_ionosphere,
            "ionosphere.csv",
            True,
            "94a937d644abd440a1cc6fb2240b5a4f24974707c23f32e74b5f09b326cacad1",
        ),
        (
            load_cleveland,
            "heart_cleveland_fung.csv",
            False,
            "8892b2a1ac738b3ec59aa32314d705ea7fc3d781704eb9ae26194876316e3f7b",
        ),
        (
            partial(load_cleveland, "disease"),
            "heart_cleveland.csv",
            False,
            "1903c0093caf82f7334fd6aec8bef350e86478f1ed4cb529c613c92595cd7f98",
        ),
        (
            load_pima,
            "pima_diabetes.csv",
            True,
            "2e75e2ee6e173f5a9fa0fb940a47203a645393e7af47612dce9d2f58cfe61871",
        ),
    ],
    ids=["wbc", "ionosphere", "cleveland fung", "cleveland disease", "pima"],
)
def test_the_values_equal_those_of_an_independent_copy(
    load, copy, in_order, expected, copies, record_property
):
    bunch = load(as_frame=False)
    assert digest(bunch.data, bunch.target, in_order=in_order) == expected
    path = copies / copy
    if not path.is_file():
        record_property("independent copy", f"{copy} not there; compared with its digest only")
        return
    record_property("independent copy", f"{copy} compared value by value")
    header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    assert header[:-1] == bunch.feature_names
    copied = [row[:-1] for row in rows], [row[-1] for row in rows]
    assert digest(*copied, in_order=in_order) == expected


def test_the_digest_sees_a_changed_value_a_changed_label_and_a_changed_order():
    X, y = load_cleveland(return_X_y=True, as_frame=False)
    ordered = digest(X, y, in_order=True)
    as_set = digest(X, y, in_order=False)
    assert digest(X[::-1], y[::-1], in_order=True) != ordered
    assert digest(X[::-1], y[::-1], in_order=False) == as_set
    X[5, 5] += 1
    assert digest(X, y, in_order=False) != as_set
    X[5, 5] -= 1
    y[0] = "num_ge_2"
    assert digest(X, y, in_order=False) != as_set
