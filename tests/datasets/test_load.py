"""Loaders of the shipped data sets."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Bunch

from clearmargin import datasets
from clearmargin.datasets import load_cleveland, load_ionosphere, load_pima, load_wbc
from clearmargin.exceptions import InvalidValueError, MissingDependencyError


class Expected(NamedTuple):
    load: object
    shape: tuple[int, int]
    counts: dict[str, int]
    real: set[str]
    filename: str
    licence: str


PULSES = {f"pulse{i:02d}_{part}" for i in range(2, 18) for part in ("real", "imag")}
CASES = {
    "wbc": Expected(
        load_wbc, (683, 9), {"benign": 444, "malignant": 239}, set(), "wbc.csv", "CC BY 4.0"
    ),
    "ionosphere": Expected(
        load_ionosphere,
        (351, 34),
        {"good": 225, "bad": 126},
        PULSES,
        "ionosphere.csv",
        "CC BY 4.0",
    ),
    "cleveland fung": Expected(
        load_cleveland,
        (297, 13),
        {"num_le_1": 214, "num_ge_2": 83},
        {"oldpeak"},
        "cleveland.csv",
        "CC BY 4.0",
    ),
    "cleveland disease": Expected(
        partial(load_cleveland, "disease"),
        (297, 13),
        {"no_disease": 160, "disease": 137},
        {"oldpeak"},
        "cleveland.csv",
        "CC BY 4.0",
    ),
    "pima": Expected(
        load_pima,
        (768, 8),
        {"tested_negative": 500, "tested_positive": 268},
        {"bmi", "diabetes_pedigree"},
        "pima.csv",
        "unclear",
    ),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


def test_frames_have_the_published_shape_and_classes(case):
    X, y = case.load(return_X_y=True)
    assert X.shape == case.shape
    assert y.value_counts().to_dict() == case.counts
    assert y.name == "target"
    assert X.index.equals(y.index)


def test_arrays_have_the_published_shape_and_classes(case):
    X, y = case.load(return_X_y=True, as_frame=False)
    assert X.shape == case.shape
    assert X.dtype == np.float64
    assert y.dtype == object
    assert Counter(y) == case.counts


def test_no_value_is_missing(case):
    assert not case.load().frame.isna().any(axis=None)
    assert np.isfinite(case.load(as_frame=False).data).all()


def test_frames_and_arrays_hold_the_same_values(case):
    frame, array = case.load(), case.load(as_frame=False)
    np.testing.assert_array_equal(frame.data.to_numpy(np.float64), array.data)
    assert frame.target.tolist() == array.target.tolist()
    assert array.frame is None
    assert frame.feature_names == array.feature_names


def test_integers_are_int_columns_and_the_rest_floats(case):
    bunch = case.load()
    assert {name for name, whole in bunch.integer.items() if not whole} == case.real
    for name, dtype in bunch.data.dtypes.items():
        assert dtype == (np.float64 if name in case.real else np.int64), name


def test_a_real_column_holds_at_least_one_fraction(case):
    data = case.load().data
    for name in case.real:
        assert (data[name] % 1 != 0).any(), name


def test_a_bunch_tells_all_about_the_data(case):
    bunch = case.load()
    assert isinstance(bunch, Bunch)
    assert list(bunch.frame.columns) == [*bunch.feature_names, "target"]
    assert list(bunch.data.columns) == bunch.feature_names == list(bunch.units)
    assert bunch.filename == case.filename
    assert bunch.licence.startswith(case.licence)
    assert bunch.citation


def test_target_names_are_in_the_order_of_a_classifiers_classes(case):
    X, y = case.load(return_X_y=True, as_frame=False)
    model = LogisticRegression(max_iter=5000).fit(X / np.maximum(1, np.abs(X).max(axis=0)), y)
    assert case.load().target_names == list(model.classes_)


def test_loading_twice_gives_independent_copies(case):
    X, y = case.load(return_X_y=True, as_frame=False)
    before = X[0, 0]
    X[0, 0], y[0] = -99.0, "changed"
    again = case.load(as_frame=False)
    assert again.data[0, 0] == before
    assert again.target[0] in case.counts


def test_the_description_tells_size_classes_source_and_licence(case):
    text = case.load().DESCR
    rows, columns = case.shape
    assert f"{rows} rows, {columns}\nfeatures" in text or f"{rows} rows, {columns} features" in text
    for name, count in case.counts.items():
        assert f"{name} {count}" in text
    assert "classes_[1]" in text
    assert f"Licence: {case.licence}" in text
    for heading in ("## Classes", "## Source and cleaning", "## Traps", "## Citation and licence"):
        assert heading in text


@pytest.mark.parametrize("name", ["wbc", "cleveland fung", "pima"])
def test_the_description_explains_every_feature(name):
    bunch = CASES[name].load()
    for feature in bunch.feature_names:
        assert f"| {feature} |" in bunch.DESCR
        if bunch.units[feature]:
            assert f"| {feature} | {bunch.units[feature]} |" in bunch.DESCR


@pytest.mark.parametrize(
    ("load", "positive"),
    [(load_wbc, "benign"), (load_ionosphere, "good"), (load_cleveland, "num_le_1")],
)
def test_the_description_says_which_class_the_paper_calls_positive(load, positive):
    assert f"**{positive}**" in load().DESCR


@pytest.mark.parametrize(
    ("feature", "codes"),
    [
        ("cp", [1, 2, 3, 4]),
        ("restecg", [0, 1, 2]),
        ("slope", [1, 2, 3]),
        ("ca", [0, 1, 2, 3]),
        ("thal", [3, 6, 7]),
    ],
)
def test_the_codes_of_cleveland_are_those_that_its_description_explains(feature, codes):
    bunch = load_cleveland()
    assert sorted(bunch.data[feature].unique()) == codes
    line = next(line for line in bunch.DESCR.splitlines() if line.startswith(f"| {feature} |"))
    assert all(str(code) in line for code in (codes if feature != "ca" else (0, 3)))


def test_the_grade_decides_both_targets_of_cleveland():
    fung, disease = load_cleveland("fung").target, load_cleveland("disease").target
    table = pd.crosstab(fung, disease)
    assert table.loc["num_ge_2", "disease"] == 83
    assert table.loc["num_le_1", "disease"] == 54
    assert table.loc["num_ge_2", "no_disease"] == 0


def test_the_zeros_of_pima_are_counted_in_its_description():
    bunch = load_pima()
    zeros = (bunch.data == 0).sum()
    assert zeros["pregnancies"] == 111  # a true zero, not a missing value
    prose = " ".join(bunch.DESCR.split())
    for name in ("glucose", "blood_pressure", "skin_thickness", "insulin", "bmi"):
        assert f"{name} {zeros[name]}" in prose


def test_the_traps_that_the_descriptions_name_are_there():
    wbc, ionosphere = load_wbc(), load_ionosphere()
    assert wbc.frame.duplicated().sum() == 234
    assert "234 rows repeat" in wbc.DESCR
    assert (ionosphere.data["pulse01_imag"] == 0).all()
    assert ionosphere.frame.duplicated().sum() == 1
    assert "`pulse01_imag` is constant" in ionosphere.DESCR


def test_an_unknown_target_of_cleveland_is_refused_with_the_known_ones():
    with pytest.raises(InvalidValueError, match="target = 'num'; it must be 'fung' or 'disease'"):
        load_cleveland("num")


def test_frames_without_pandas_are_refused_with_the_way_out(case, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"pip install clearmargin\[frames\], or pass as_frame=False",
    ):
        case.load()


def test_arrays_do_not_need_pandas(case, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    X, y = case.load(return_X_y=True, as_frame=False)
    assert X.shape == case.shape
    assert len(y) == len(X)


def test_importing_the_package_loads_neither_pandas_nor_scikit_learn():
    code = "import sys, clearmargin.datasets; print([m for m in ('pandas','sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_these():
    assert datasets.__all__ == [
        "load_cleveland",
        "load_ionosphere",
        "load_pima",
        "load_wbc",
        "make_components",
        "make_imbalanced",
        "make_votes",
    ]
