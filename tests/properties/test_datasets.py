"""The data sets of the papers: shipped values by their digest, made ones by what is said of them."""

import hashlib
import math
import sys
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import datasets
from clearmargin.datasets import (
    load_cleveland,
    load_ionosphere,
    load_pima,
    load_wbc,
    make_imbalanced,
    make_votes,
)
from clearmargin.exceptions import InvalidValueError, MissingDependencyError

PULSES = {f"pulse{i:02d}_{part}" for i in range(2, 18) for part in ("real", "imag")}
# Columns, classes, features that are no whole numbers, and the digest of an independent copy, of R's mlbench or UCI.
CASES = {
    "wbc": (load_wbc, 9, {"benign": 444, "malignant": 239}, set(),
        "fd74e5e22d77ed548926f50e9a9575f21633578c5e8a939fcc0d9aeda46ac531"),
    "ionosphere": (load_ionosphere, 34, {"good": 225, "bad": 126}, PULSES,
        "94a937d644abd440a1cc6fb2240b5a4f24974707c23f32e74b5f09b326cacad1"),
    "cleveland": (load_cleveland, 13, {"num_le_1": 214, "num_ge_2": 83}, {"oldpeak"},
        "8892b2a1ac738b3ec59aa32314d705ea7fc3d781704eb9ae26194876316e3f7b"),
    "disease": (partial(load_cleveland, "disease"), 13, {"no_disease": 160, "disease": 137}, {"oldpeak"},
        "1903c0093caf82f7334fd6aec8bef350e86478f1ed4cb529c613c92595cd7f98"),
    "pima": (load_pima, 8, {"tested_negative": 500, "tested_positive": 268}, {"bmi", "diabetes_pedigree"},
        "2e75e2ee6e173f5a9fa0fb940a47203a645393e7af47612dce9d2f58cfe61871"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_shipped_data_are_those_of_an_independent_copy(name):
    load, columns, counts, real, digest = CASES[name]
    X, y = load(return_X_y=True, as_frame=False)
    rows = zip(X.tolist(), y, strict=True)
    lines = [",".join([*map(repr, row), label]) for row, label in rows]
    # The copies of Cleveland have their rows in another order.
    ordered = sorted(lines) if load not in (load_wbc, load_ionosphere, load_pima) else lines
    assert hashlib.sha256("\n".join(ordered).encode()).hexdigest() == digest
    assert X.shape == (sum(counts.values()), columns)
    assert Counter(y) == counts
    bunch = load()
    assert (bunch.data.to_numpy(float) == X).all()
    assert bunch.target.tolist() == y.tolist()
    assert {n for n, whole in bunch.integer.items() if not whole} == real
    for feature, dtype in bunch.data.dtypes.items():
        assert dtype == (np.float64 if feature in real else np.int64), feature
    assert list(bunch.frame.columns) == [*bunch.feature_names, "target"]
    assert list(bunch.units) == bunch.feature_names
    assert bunch.target_names == sorted(counts)
    assert bunch.licence
    assert bunch.citation
    X[0, 0] = -99.0
    assert load(return_X_y=True, as_frame=False)[0][0, 0] != -99.0


def test_grades_of_cleveland_and_zeros_of_pima():
    table = pd.crosstab(load_cleveland("fung").target, load_cleveland("disease").target)
    assert table.loc["num_ge_2"].tolist() == [83, 0]
    assert table.loc["num_le_1", "disease"] == 54
    assert (load_pima().data["pregnancies"] == 0).sum() == 111  # true zeros, not missing values
    with pytest.raises(InvalidValueError, match="num"):
        load_cleveland("num")


def within(column, low, high):
    return lambda row: low <= row[column] < high


def made_by(name):
    return lambda row: row["manufacturer"] == name


# Table 2 of the paper: conditions, count in top, count in bottom, leverage for top. The print has lost the minus
# signs; they follow from the counts.
TABLE_2 = [
    ([within("length", 2000, 2500)], 0, 3, "-0.15"), ([within("length", 500, 1000)], 4, 1, "0.15"),
    ([made_by("A")], 1, 4, "-0.15"), ([within("age", 25, math.inf)], 0, 2, "-0.10"),
    ([made_by("A"), within("length", 2000, 2500)], 0, 3, "-0.15"),
    ([made_by("B"), within("length", 500, 1000)], 3, 0, "0.15"),
    ([within("age", -math.inf, 3), within("length", 500, 1000)], 2, 0, "0.10"),
]  # fmt: skip


@given(
    st.integers(0, 2**32 - 1),
    st.integers(40, 300),
    st.integers(0, 4),
    st.floats(0, 1),
    st.floats(1, 30),
)
def test_made_rows_are_as_they_are_described(seed, n_samples, half, flip, imbalance):
    X, y = make_votes(n_samples, 9, 2 * half + 1, random_state=seed)
    assert np.isin(X, (-1.0, 1.0)).all()
    assert (y == np.where(X[:, : 2 * half + 1].sum(axis=1) > 0, 1, -1)).all()
    same, flipped = make_votes(n_samples, 9, 2 * half + 1, flip=flip, random_state=seed)
    assert (same == X).all()
    assert (y != flipped).sum() == round(n_samples * flip)
    bunch = make_votes(n_samples, 9, 3, return_X_y=False, as_frame=True, random_state=seed)
    assert list(bunch.data.columns) == [f"x{j}" for j in range(1, 10)]
    assert bunch.target_names == ["-1", "1"]
    X, y = make_imbalanced(n_samples, imbalance=imbalance, random_state=seed)
    assert X.shape == (n_samples, 2)
    assert Counter(y)["class_2"] == math.floor(n_samples / (1 + imbalance))


REFUSED = [
    *((make_votes, name, value) for name, value in (("n_samples", 0), ("n_samples", 2.5), ("n_samples", True),
        ("n_features", "50"), ("n_informative", 10), ("n_informative", -1), ("n_features", 9), ("flip", -0.1),
        ("flip", math.nan), ("flip", "some"), ("flip", True), ("random_state", "a"), ("random_state", -1))),
    *((make_imbalanced, name, value) for name, value in (("n_samples", -3), ("n_samples", 10), ("imbalance", 0.5),
        ("imbalance", math.inf), ("imbalance", None), ("random_state", 1.5))),
]  # fmt: skip


def test_parameters_that_make_no_sense_are_refused_by_their_name():
    for make, name, value in REFUSED:
        with pytest.raises(InvalidValueError, match=name):
            make(**{name: value})


def test_arrays_need_no_pandas_and_frames_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for name in datasets.__all__:
        call = getattr(datasets, name)
        assert len(call(return_X_y=True, as_frame=False)) == 2
        with pytest.raises(MissingDependencyError, match="as_frame"):
            call(as_frame=True)
