"""Write what every estimator, function and command of the package gives, to the last bit, and compare two such files.

Two versions of the code give the same results if, for each configuration in a fixed list, everything that a user can
see is equal: fitted attributes, rules, predictions, explanations, exports, reports, files and what commands print.
Floats are written as ``float.hex``; seconds, versions and paths are left out. Facts (numbers, rules, exports, plain
data) are kept apart from words (sentences and messages), so that a change of wording hides no change of results::

    PYTHONPATH=OLD/src python benchmarks/same_results.py write before.json
    PYTHONPATH=NEW/src python benchmarks/same_results.py write after.json
    python benchmarks/same_results.py compare before.json after.json

Only names at the top of the package and of `datasets`, `export`, `plot` and `report`, and the command line are used.
The exit code of ``compare`` is 1 where results differ. What is new in the later file is counted and is no difference.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    # The number of threads decides the order of summation, and with it the last bits.
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    os.environ.update(one, MPLBACKEND="Agg")

import argparse
import contextlib
import dataclasses
import io
import json
import re
import runpy
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
from matplotlib import pyplot as plt
from matplotlib.text import Text
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

import clearmargin as cm
from clearmargin import datasets, export, plot
from clearmargin.report import report

__all__ = ["CONFIGURATIONS", "Difference", "canonical", "compare", "first_difference", "run"]

Record = dict[str, Any]
Table = tuple[pd.DataFrame, Any]
Configuration = Callable[[], Record]

# What a key of a record starts with if its value is a sentence or a message.
WORDS = "words: "
# Historical baselines are not at the top of the package; they are in the first of these modules that has them.
BASELINES = ("clearmargin.kernel_rules.baselines", "clearmargin.kernel_rules", "clearmargin.kernel")
# Time and place of the run, and how an estimator keeps its working parts.
LEFT_OUT = {
    "seconds",
    "versions",
    "version",
    "estimator_",
    "model_",
    "learner_",
    "surface_",
    "table_",
}
# The values of the package, by what defines them.
FIELDS: dict[str, tuple[str, ...]] = {
    "Box": ("lower", "upper", "lower_closed", "upper_closed", "sets", "missing", "known"),
    "CategorySets": ("allowed",),
    "FeatureSpace": ("names", "lower", "upper", "integer", "categories", "units", "fill"),
    "HalfSpace": ("hyperplane", "sign"),
    "Hyperplane": ("coef", "intercept"),
    "Interval": ("low", "high", "closed"),
    "Polyhedron": ("A", "b", "strict", "sets", "missing", "known"),
    "Rule": ("region", "label", "name", "weight", "origin", "proof", "stats"),
    "Explanation": ("kind", "rule", "label", "margin", "confidence", "parts", "imputed", "case"),
}

CONFIGURATIONS: dict[str, Configuration] = {}


# Values as plain data


def canonical(value: Any) -> Any:
    """Give a value as data for JSON that are equal only if the values are, bit for bit.

    Parameters
    ----------
    value : object
        A number, array, data frame, rule set, any other value of the package, or collections of these.

    Returns
    -------
    object
        None, truth values, whole numbers, texts, lists and dictionaries.

    Examples
    --------
    >>> canonical({"a": np.array([0.5, np.nan]), "b": (1, None)})
    {'a': ['0x1.0000000000000p-1', 'nan'], 'b': [1, None]}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return canonical(value.item())
    if isinstance(value, int | Fraction):
        return value if isinstance(value, int) else str(value)
    if isinstance(value, float):
        return value.hex()
    return _collection(value)


def _collection(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    if isinstance(value, pd.DataFrame):
        columns = {
            str(name): canonical(column.tolist())
            for name, column in value.items()
            if str(name) not in LEFT_OUT
        }
        return {"index": canonical(value.index.tolist()), "columns": columns}
    if isinstance(value, Mapping):
        return {str(key): canonical(v) for key, v in value.items() if key not in LEFT_OUT}
    if isinstance(value, Set):
        return sorted((canonical(v) for v in value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, cm.RuleSet):
        return [canonical(v) for v in value]
    return _value(value)


def _value(value: Any) -> Any:
    """Give a value of the package as plain data: by `to_dict`, by what defines it, or as it prints itself."""
    if hasattr(value, "to_dict"):
        return canonical(value.to_dict())
    for name, fields in FIELDS.items():
        if isinstance(value, getattr(cm, name)):
            return {field: canonical(getattr(value, field)) for field in fields}
    if isinstance(value, BaseEstimator):
        return type(value).__name__
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if not f.name.startswith("_")]
        return {name: canonical(getattr(value, name)) for name in names if name not in LEFT_OUT}
    if isinstance(value, Path):
        return value.name
    return re.sub(r" object at 0x[0-9a-f]+", "", str(value))


def prefixed(name: str, record: Record) -> Record:
    """Put a name before each key, behind the mark of words."""
    return {
        f"{WORDS}{name}.{key.removeprefix(WORDS)}" if key.startswith(WORDS) else f"{name}.{key}": v
        for key, v in record.items()
    }


# What estimators and values say


def attempt(make: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function; give what it returned, or the error that came instead."""
    try:
        return make(*args, **options)
    except Exception as error:
        return {"error": type(error).__name__, WORDS + "message": str(error)}


def of_value(name: str, value: Any) -> Record:
    """A value as data; rules as text and as sentences, too, and other values of the package as they print."""
    record: Record = {name: value}
    if isinstance(value, cm.RuleSet):
        record |= {f"{name}.text": value.to_text(), f"{WORDS}{name}": value.describe()}
    elif type(value).__module__.startswith("clearmargin"):
        record[f"{WORDS}{name}"] = str(value)
    frame = getattr(value, "to_frame", None)
    return record | ({} if frame is None else {f"{name}.frame": attempt(frame)})


METHODS = (
    "predict",
    "decision_function",
    "which",
    "covers",
    "apply",
    "predict_by_rules",
    "describe",
)


def of_model(model: Any, X: Any) -> Record:
    """All fitted attributes of an estimator, and what it gives for rows."""
    record: Record = {}
    for name in dict.fromkeys([*dir(type(model)), *vars(model)]):
        if name.endswith("_") and not name.startswith("_") and name not in LEFT_OUT:
            record |= of_value(name, attempt(getattr, model, name))
    for name in METHODS:
        if hasattr(model, name):
            rows = () if name == "describe" else (X,)
            record[f"{WORDS if name == 'describe' else ''}{name}()"] = attempt(
                getattr(model, name), *rows
            )
    return record


def of_report(made: Any) -> Record:
    """The facts of a report, and its sentences without the list of versions."""
    record = {
        f"{WORDS if key in ('title', 'about', 'learned') else ''}{key}": value
        for key, value in made.to_dict().items()
    }
    text = re.sub(r"\nVersions:\n\n(\|.*\n)+", "\n", made.to_markdown())
    return record | {WORDS + "markdown": text, WORDS + "str": str(made)}


def of_display(display: Any) -> Record:
    """What a figure was drawn from, and the texts in it."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    texts = [text.get_text() for figure in figures for text in figure.findobj(Text)]
    plt.close("all")
    drawn = {name: value for name, value in vars(display).items() if not name.endswith("_")}
    return {**drawn, WORDS + "texts": texts}


# Tables and machines, by name

LOADERS: dict[str, Callable[[], Any]] = {
    "wbc": lambda: datasets.load_wbc(return_X_y=True),
    "pima": lambda: datasets.load_pima(return_X_y=True),
    "cleveland": lambda: datasets.load_cleveland(return_X_y=True),
    "disease": lambda: datasets.load_cleveland("disease", return_X_y=True),
    "ionosphere": lambda: datasets.load_ionosphere(return_X_y=True),
    "components": lambda: datasets.make_components(return_X_y=True),
    "imbalanced": lambda: datasets.make_imbalanced(random_state=0, as_frame=True),
    "votes": lambda: datasets.make_votes(200, 12, 5, flip=0.1, random_state=0, as_frame=True),
}
ROWS = 140
NUMERIC, CATEGORICAL = ["age", "income"], ["city", "plan"]


def mixed() -> Table:
    """Whole numbers, cents, texts, ordered categories and truth values."""
    rng = np.random.default_rng(17)
    age, income = rng.integers(18, 90, ROWS), np.round(rng.normal(30_000, 8_000, ROWS), 2)
    city = rng.choice(["Bern", "Basel", "New York", "Ürümqi"], ROWS)
    plan = pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), ["low", "mid", "high"])
    score = age / 20 + income / 10_000 + 1.5 * (city == "Basel") + rng.normal(0, 0.7, ROWS)
    X = pd.DataFrame({"age": age, "income": income, "city": city, "plan": plan})
    return X.assign(member=rng.random(ROWS) < 0.4), np.where(score > np.median(score), "yes", "no")


def columns_0_1() -> Table:
    """Categories as 0/1 columns."""
    X, y = mixed()
    return pd.get_dummies(X[["age", "income", "city"]], dtype=int), y


def missing() -> Table:
    """Numbers and categories with missing values."""
    X, y = mixed()
    rng = np.random.default_rng(18)
    X = X.drop(columns="member").astype({"age": float, "city": object})
    for name, nothing in (("age", np.nan), ("income", np.nan), ("city", None)):
        X.loc[rng.random(ROWS) < 0.1, name] = nothing
    return X, y


def whole() -> Table:
    """Whole numbers and three classes."""
    rng = np.random.default_rng(19)
    X = pd.DataFrame(rng.integers(0, 9, (ROWS, 4)), columns=list("abcd"))
    total = X["a"] * 2 + X["b"] - X["c"] + rng.normal(0, 1, ROWS)
    return X, np.array(["low", "mid", "top"])[np.digitize(total, np.quantile(total, [0.3, 0.7]))]


def offsets() -> Table:
    """Features far from 0, on very different scales, and a constant one."""
    rng = np.random.default_rng(20)
    Z = rng.normal(size=(ROWS, 4))
    X = pd.DataFrame(Z * [1e-3, 1.0, 1e4, 0.0] + [1e6, -5.0, 3e8, 7.0], columns=list("pqrs"))
    return X, (Z[:, 0] + Z[:, 1] - Z[:, 2] + rng.normal(0, 0.3, ROWS) > 0).astype(int)


def rare() -> Table:
    """Three classes, one of them with five rows; names with blanks and Greek letters."""
    rng = np.random.default_rng(21)
    Z = rng.normal(size=(ROWS, 3))
    y = np.where(Z[:, 0] > 0, 1, 0)
    y[:5] = 2
    Z[:5, 1] += 4.0
    return pd.DataFrame(Z.round(2), columns=["first feature", "x_2", "β"]), y


LOADERS |= {f.__name__: f for f in (mixed, columns_0_1, missing, whole, offsets, rare)}


@cache
def table(name: str) -> Table:
    """A table by its name, such as ``"pima"``, or its first rows, such as ``"pima 150"``."""
    which, _, rows = name.partition(" ")
    X, y = LOADERS[which]()
    return (X[: int(rows)], y[: int(rows)]) if rows else (X, y)


def rbf(**options: Any) -> Any:
    """A kernel machine over standardised features."""
    return make_pipeline(StandardScaler(), SVC(**options))


def encoded(last: Any, *, impute: bool = False, scaler: Any = None) -> Any:
    """A pipeline over numbers and categories, with missing values or without."""
    numbers = [SimpleImputer(strategy="median")] if impute else []
    texts = [SimpleImputer(strategy="most_frequent", missing_values=None)] if impute else []
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(*numbers, scaler or StandardScaler()), NUMERIC),
            (make_pipeline(*texts, OneHotEncoder(handle_unknown="ignore")), CATEGORICAL),
        ),
        last,
    )


def ordinal(last: Any) -> Any:
    """A pipeline that numbers the categories."""
    columns = (OrdinalEncoder(), CATEGORICAL), (StandardScaler(), NUMERIC)
    return make_pipeline(make_column_transformer(*columns), last)


MACHINES: dict[str, Callable[[], Any]] = {
    "LPSVC 0.1": lambda: cm.LPSVC(0.1),
    "LPSVC 0.3": lambda: cm.LPSVC(0.3),
    "LPSVCCV": lambda: cm.LPSVCCV(cv=3, rule="1se", progress=False),
    "ProximalSVC": cm.ProximalSVC,
    "AdviceSVC": lambda: cm.AdviceSVC(PIMA_ADVICE),
    "LinearSVC": LinearSVC,
    "scaled LinearSVC": lambda: make_pipeline(StandardScaler(), LinearSVC()),
    "MinMaxScaler, SVC(linear)": lambda: make_pipeline(MinMaxScaler(), SVC(kernel="linear")),
    "RobustScaler, NuSVC(linear)": lambda: make_pipeline(
        RobustScaler(), NuSVC(kernel="linear", nu=0.3)
    ),
    "MaxAbsScaler, LogisticRegression": lambda: make_pipeline(MaxAbsScaler(), LogisticRegression()),
    "scaled LogisticRegression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "SelectKBest, RidgeClassifier": lambda: make_pipeline(SelectKBest(k=4), RidgeClassifier()),
    "one against rest": lambda: OneVsRestClassifier(cm.LPSVC(1.0)),
    "one against one": lambda: OneVsOneClassifier(LinearSVC()),
    "encoded LPSVC": lambda: encoded(cm.LPSVC(1.0)),
    "encoded LinearSVC": lambda: encoded(LinearSVC()),
    "ordinal SVC(linear)": lambda: ordinal(SVC(kernel="linear")),
    "imputed LinearSVC": lambda: encoded(LinearSVC(), impute=True),
    "imputed LPSVC": lambda: encoded(cm.LPSVC(1.0), impute=True, scaler=MinMaxScaler()),
    "SVC(rbf)": SVC,
    "scaled SVC(rbf)": rbf,
    "scaled SVC(poly 2)": lambda: rbf(kernel="poly", degree=2, coef0=1.0),
    "scaled SVC(poly 3)": lambda: rbf(kernel="poly", degree=3, coef0=0.5),
    "scaled SVC(sigmoid)": lambda: rbf(kernel="sigmoid", gamma=0.05),
    "scaled SVC(linear)": lambda: rbf(kernel="linear"),
    "encoded SVC(rbf)": lambda: encoded(SVC()),
    "imputed SVC(rbf)": lambda: encoded(SVC(), impute=True),
    "KNeighborsClassifier": KNeighborsClassifier,
}

PIMA_ADVICE = """
sweet: glucose >= 150 and bmi >= 30 => tested_positive
slim: bmi <= 25 and glucose <= 110 => tested_negative [weight 2]
young: age <= 25 and 2*pregnancies + bmi <= 32 => tested_negative
"""
WBC_ADVICE = """
small: uniformity_of_cell_size <= 3 and bare_nuclei <= 1 and normal_nucleoli <= 7 => benign
large: uniformity_of_cell_size >= 6 => malignant
wrong: mitoses >= 5 => benign
"""
MIXED_ADVICE = """
old: age >= 60 and city in {Basel, Bern} => yes
poor: income <= 20000 and city = Bern => no
"""
ADVICE = {
    "pima": PIMA_ADVICE,
    "wbc": WBC_ADVICE,
    "columns_0_1": MIXED_ADVICE,
    "mixed": MIXED_ADVICE,
    "column": "old: age >= 60 and city_Basel >= 1 => yes",
}


def make_model(kind: str, **options: Any) -> Any:
    """An estimator of the package by the name of its class; machines and advice are given by name, too."""
    if "estimator" in options:
        options["estimator"] = MACHINES[options["estimator"]]()
    if "advice" in options:
        options["advice"] = ADVICE[options["advice"]]
    return find_class(kind)(**options)


def find_class(name: str) -> Any:
    """A class at the top of the package, or a historical baseline, wherever it is."""
    if hasattr(cm, name):
        return getattr(cm, name)
    for module in BASELINES:
        with contextlib.suppress(ModuleNotFoundError):
            found = getattr(import_module(module), name, None)
            if found is not None:
                return found
    raise ImportError(f"no {name} in clearmargin, {', '.join(BASELINES)}")


# Estimators: a class, a table, and options


def fit(kind: str, rows: str, options: Record) -> Record:
    """Fit one estimator to one table; give everything it says."""
    X, y = table(rows)
    return of_model(make_model(kind, **options).fit(X, y), X)


Fit = tuple[str, str, Record]


def linear_fits() -> Iterator[Fit]:
    yield "LPSVC", "wbc", {}
    yield "LPSVC", "ionosphere", {"nu": 0.1}
    yield "LPSVC", "pima 300", {"nu": 0.02, "class_weight": "balanced"}
    yield "LPSVC", "cleveland", {"nu": 0.1, "fit_intercept": False}
    yield "LPSVC", "offsets", {"nu": 10.0}
    yield "LPSVC", "votes", {"nu": 0.3}
    yield "LPSVC", "whole", {}  # refused
    yield "LPSVC", "mixed", {}  # refused
    for solver in ("auto", "simplex", "ipm", "sifting", "no such solver"):
        yield "LPSVC", "cleveland", {"nu": 0.2, "solver": solver}
    yield "LPSVCCV", "wbc 250", {"cv": 3, "rule": "1se", "max_features": 4}
    yield "LPSVCCV", "pima 200", {"cv": 3, "scale": True}
    yield "LPSVCCV", "disease 200", {"nus": [0.01, 0.1, 1.0], "cv": 4, "class_weight": "balanced"}
    yield "LPSVCCV", "columns_0_1", {"cv": 3, "scale": True, "feature_groups": [0, 1, 2, 2, 2, 2]}
    yield "ProximalSVC", "ionosphere", {}
    yield "ProximalSVC", "imbalanced", {"nu": 0.1, "balanced": True}


def extractor_fits() -> Iterator[Fit]:
    """RuleExtractor with each criterion and option."""
    few: Record = {"estimator": "LPSVC 0.1", "max_rules": 3}
    for criterion in ("volume", "coverage", "coverage-lp"):
        for rows in ("wbc 300", "pima 120", "cleveland 120"):
            yield "RuleExtractor", rows, {**few, "criterion": criterion}
    # The exact search has a time limit, which must never decide.
    for rows in ("wbc 50", "pima 30", "cleveland 30"):
        yield "RuleExtractor", rows, {**few, "criterion": "coverage-exact"}
    options: list[Record] = [
        {},
        {"disjoint": False, "max_rules": 4},
        {"max_conditions": 2, "max_rules": 4},
        {"tighten": False, "max_rules": 4},
        {"max_depth": 3, "min_coverage": 10},
        {"fallback": "abstain", "max_rules": 2},
        {"fallback": "benign", "max_rules": 2},
        {"bounds": (1, 10), "max_rules": 4},
        {"bounds": {"mitoses": (0, 12)}, "max_rules": 4, "criterion": "coverage"},
        {"criterion": "volumes"},  # refused
    ]
    for given in options:
        yield "RuleExtractor", "wbc 350", {"estimator": "LPSVC 0.1", **given}
    yield "RuleExtractor", "ionosphere", few
    yield "RuleExtractor", "votes", {**few, "estimator": "LPSVC 0.3", "criterion": "coverage"}
    yield "RuleExtractor", "imbalanced", {**few, "estimator": "LinearSVC"}


def machine_fits() -> Iterator[Fit]:
    """RuleExtractor over machines and pipelines, and tables of all kinds."""
    yield "RuleExtractor", "pima 150", {"max_rules": 3}
    for machine in (
        "scaled LinearSVC",
        "MinMaxScaler, SVC(linear)",
        "RobustScaler, NuSVC(linear)",
        "MaxAbsScaler, LogisticRegression",
        "SelectKBest, RidgeClassifier",
        "ProximalSVC",
        "LPSVCCV",
        "AdviceSVC",
        "SVC(rbf)",  # refused
    ):
        yield "RuleExtractor", "pima 150", {"estimator": machine, "max_rules": 3}
    tables: list[tuple[str, str, Record]] = [
        ("mixed", "encoded LPSVC", {}),
        ("mixed", "encoded LinearSVC", {"criterion": "coverage"}),
        ("mixed", "ordinal SVC(linear)", {}),
        ("missing", "imputed LinearSVC", {}),
        ("missing", "imputed LPSVC", {"criterion": "coverage", "disjoint": False}),
        ("columns_0_1", "scaled LinearSVC", {}),
        ("whole", "one against rest", {}),
        ("whole", "one against one", {}),
        ("whole", "LinearSVC", {"criterion": "coverage"}),
        ("whole", "scaled LogisticRegression", {"fallback": "abstain"}),
        ("whole", "LinearSVC", {"disjoint": False}),  # refused
        ("offsets", "scaled LinearSVC", {}),
    ]
    for rows, machine, options in tables:
        yield "RuleExtractor", rows, {"estimator": machine, "max_rules": 3, **options}
    for rows in ("mixed", "missing", "rare"):  # texts are refused
        yield "RuleExtractor", rows, {"max_rules": 3}


def kernel_fits() -> Iterator[Fit]:
    """Rules of kernel machines: proved or observed, surrogates, historical baselines."""
    machine: Record = {"estimator": "scaled SVC(rbf)"}
    plain = {"tune": False, "prune": False, "shorten": False, "cover": False, "max_rules": 5}
    ours = "SupportVectorRules"
    yield ours, "wbc 250", machine
    yield ours, "pima 120", {**machine, "certify": True, "budget": 100, "max_rules": 3}
    yield ours, "cleveland 150", {**machine, "anchors": "support", "by": "labels"}
    yield ours, "wbc 200", {**machine, **plain}
    poly = {"estimator": "scaled SVC(poly 2)", "fallback": "estimator", "min_coverage": 3}
    yield ours, "pima 150", poly
    yield ours, "whole", {**machine, "fallback": "abstain"}
    yield ours, "rare", machine
    yield ours, "mixed", {"estimator": "encoded SVC(rbf)"}
    yield ours, "missing", {"estimator": "imputed SVC(rbf)"}
    for method in ("alba", "svs", "train", "local"):
        for learner in ("tree", "boxes"):
            given = {"method": method, "learner": learner, "n_generated": 400, "max_leaves": 6}
            yield "SurrogateRules", "pima 200", {**machine, **given}
    near: Record = {"estimator": "KNeighborsClassifier", "method": "local", "n_generated": 300}
    yield "SurrogateRules", "cleveland 150", near
    own = DecisionTreeClassifier(max_depth=3, random_state=0)
    yield "SurrogateRules", "whole", {**machine, "learner": own, "by": "labels"}
    drawn: Record = {"estimator": "encoded SVC(rbf)", "n_generated": 300, "max_rules": 4}
    yield "SurrogateRules", "mixed", drawn
    for rows in ("wbc 120", "pima 120"):
        yield "PrototypeRules", rows, {**machine, "k_max": 5}
        yield "HyperRectangleRules", rows, machine
        yield "FuzzyRules", rows, machine
    yield "PrototypeRules", "rare", {**machine, "shape": "ellipsoid", "k_max": 4}
    yield "FuzzyRules", "whole", {**machine, "n_sets": 5, "conjunction": "min"}


def tree_fits() -> Iterator[Fit]:
    name = "SVMTreeClassifier"
    yield name, "imbalanced", {}
    yield name, "pima 200", {"order": "depth", "max_layers": 3}
    yield name, "wbc 250", {"partition": "ecm", "loss": "minority"}
    yield name, "disease 150", {"C": 1.0, "min_leaf": 3, "max_layers": 4}
    yield name, "rare", {"max_layers": 3}
    yield name, "mixed", {}  # refused


def advice_fits() -> Iterator[Fit]:
    """AdviceSVC with each way to refine and each option, and its relatives."""
    for refine in (None, "translate", "slp", "sqp", "trust"):
        for rows in ("pima 100", "wbc 60", "columns_0_1"):
            given: Record = {"advice": rows.partition(" ")[0], "refine": refine, "mu": 5.0}
            yield "AdviceSVC", rows, given
    options: list[Record] = [
        {"refine": "slp", "published": True},
        {"refine": "sqp", "published": True},
        {"refine": "slp", "sparse": True},
        {"refine": "sqp", "extend": True},
        {"scale": None, "lam": 0.1},
        {"bounds": None},
        {"refine": "newton"},  # refused
    ]
    for more in options:
        yield "AdviceSVC", "pima 80", {"advice": "pima", **more}
    yield "AdviceSVC", "cleveland 80", {}
    yield "AdviceSVC", "mixed", {"advice": "mixed"}  # texts are refused
    yield "AdviceSVC", "columns_0_1", {"advice": "column", "groups": ["city"], "refine": "slp"}
    grid: Record = {"lams": [0.1, 1.0], "mus": [0.1, 1.0], "cv": 3, "progress": False}
    yield "AdviceSVCCV", "pima 80", {"advice": "pima", **grid}
    yield "AdviceSVCCV", "wbc 60", {"advice": "wbc", "refine": "sqp", "nus": [0.1, 1.0], **grid}
    quick: Record = {"cv": 3, "repeats": 1, "progress": False}
    yield "AdviceBlendSVC", "pima 60", {"advice": "pima", **quick}
    yield "AdviceBlendSVC", "columns_0_1", {"advice": "columns_0_1", **quick}


def chunk_fits() -> Iterator[Fit]:
    """ChunkedRuleSVC with and without rows; its ChunkSummary is one of its attributes."""
    yield "ChunkedRuleSVC", "wbc 350", {"n_chunks": 3}
    yield "ChunkedRuleSVC", "pima 200", {"n_chunks": 3, "n_rows": 5, "mu": 100.0}


def rule_svm_fits() -> Iterator[Fit]:
    """RuleSVC with few rules and with all, with categories, missing values and several classes."""
    quick: Record = {"cv": 3, "progress": False}
    yield "RuleSVC", "wbc", {"max_rules": 5, "points": True, **quick}
    yield "RuleSVC", "pima 200", {"max_rules": None, "C": 0.1, **quick}
    yield "RuleSVC", "pima 200", {"linear": "free", "class_weight": "balanced", **quick}
    yield "RuleSVC", "mixed", {"certify": False, **quick}
    yield "RuleSVC", "missing", {"max_conditions": 1, **quick}
    yield "RuleSVC", "whole", {"max_rules": 6, "certify": False, **quick}


def rank_fits() -> Iterator[Fit]:
    name = "RankContrast"
    yield name, "pima", {}
    yield name, "wbc", {"max_size": 3, "min_leverage": 0.2, "top": 0.1}
    logistic: Record = {"estimator": "scaled LogisticRegression", "n_bins": 3, "exclude": ["age"]}
    yield name, "cleveland", {**logistic, "cv": 3}
    yield name, "mixed", {"top": 0.2, "bottom": 0.2}
    yield name, "missing", {"top": 0.2, "bottom": 0.2}
    yield name, "components", {}  # refused


def add(name: str, make: Configuration) -> None:
    """Put a configuration on the list."""
    if name in CONFIGURATIONS:
        raise ValueError(f"two configurations are called {name!r}")
    CONFIGURATIONS[name] = make


def add_fits() -> None:
    """Put all fits on the list, each under its class, options and table."""
    for fits in (
        linear_fits,
        extractor_fits,
        machine_fits,
        kernel_fits,
        tree_fits,
        advice_fits,
        chunk_fits,
        rule_svm_fits,
        rank_fits,
    ):
        for kind, rows, options in fits():
            given = ", ".join(f"{key}={value!r}" for key, value in options.items())
            add(f"{kind}({given}): {rows}", partial(fit, kind, rows, options))


add_fits()


def all_shipped() -> Record:
    """The data sets as they are loaded."""
    record: Record = {}
    for name in (
        "wbc",
        "pima",
        "cleveland",
        "disease",
        "ionosphere",
        "components",
        "imbalanced",
        "votes",
    ):
        X, y = table(name)
        record |= {f"{name}.X": X, f"{name}.dtypes": X.dtypes.astype(str).tolist(), f"{name}.y": y}
        record[f"{name}.space"] = cm.FeatureSpace.from_data(X)
    bunch = datasets.load_wbc(as_frame=False)
    return record | {key: bunch[key] for key in ("data", "target", "feature_names", "DESCR")}


def folds_and_weights() -> Record:
    X, y = table("pima 200")
    groups, times = np.arange(200) // 5, np.arange(200)[::-1]
    return {
        "groups": of_model(cm.LPSVCCV(cv=3).fit(X, y, groups=groups), X),
        "times": of_model(cm.LPSVCCV(cv=3).fit(X, y, times=times), X),
        "weights": of_model(cm.LPSVC(0.1).fit(X, y, sample_weight=1.0 + groups), X),
    }


def other_frames() -> Record:
    """The same rows as an array, a list, a polars frame and an Arrow table."""
    X, y = table("pima 100")
    given = {
        "array": X.to_numpy(),
        "list": X.to_numpy().tolist(),
        "polars": pl.DataFrame({name: X[name].to_numpy() for name in X}),
        "arrow": import_module("pyarrow").Table.from_pandas(X),
    }
    return {
        name: attempt(
            lambda rows: of_model(cm.RuleExtractor(cm.LPSVC(0.1), max_rules=2).fit(rows, y), rows),
            rows,
        )
        for name, rows in given.items()
    }


def explanations(rows: str, machine: str) -> Record:
    """Every kind of explanation, of single cases and of several."""
    X, y = table(rows)
    extractor = cm.RuleExtractor(MACHINES[machine](), max_rules=2).fit(X, y)
    record: Record = {}
    for kind in ("rule", "on_demand", "largest", "central", "no such kind"):
        for metric in ("volume", "normal"):
            for row in (0, 3, 5):
                found = attempt(extractor.explain, X.iloc[[row]], kind, metric=metric)
                name = f"{kind}, {metric}, row {row}"
                record |= of_value(name, found)
                if isinstance(found, cm.Explanation):
                    record |= {
                        f"{WORDS}{name}.sentence": found.sentence,
                        f"{WORDS}{name}.text": found.text,
                    }
        several = attempt(extractor.explain_many, X.iloc[:8], kind)
        record[f"{kind}, several"] = several if isinstance(several, dict) else list(several)
    return record


def scorecard(machine: str | None, rows: str, options: Record) -> Record:
    X, y = table(rows)
    model = cm.ScoreRules(None if machine is None else MACHINES[machine](), **options).fit(X, y)
    card = model.scorecard_
    return {
        **of_model(model, X),
        "card": card.to_dict(),
        "text": card.to_text(),
        "markdown": card.to_markdown(),
        "lines": card.lines(),
        "rules": card.rules(),
        "again": cm.Scorecard.from_dict(card.to_dict()) == card,
        WORDS + "summary": card.summary(),
        **of_value("explained", model.explain(X.iloc[[0]])),
    }


def certified_card(machine: str, rows: str, options: Record) -> Record:
    """A card with proof: its CertifiedScorecard, what it proves, and how it explains a case."""
    X, y = table(rows)
    model = cm.ScoreRules(MACHINES[machine](), certify=True, **options).fit(X, y)
    card = model.scorecard_
    return {
        **of_model(model, X),
        "card": card.to_dict(),
        "text": card.to_text(),
        "proved": card.prove_codes(X).tolist(),
        "again": cm.CertifiedScorecard.from_dict(card.to_dict()) == card,
        **of_value("explained", model.explain(X.iloc[[0]])),
    }


def fewest_conditions(machine: str, rows: str) -> Record:
    """Explanations of any model by the fewest conditions, proved and measured."""
    X, y = table(rows)
    model = MACHINES[machine]().fit(X, y)
    record: Record = {}
    for guarantee in ("auto", "proved", "measured"):
        told = attempt(cm.explain_many, model, X.iloc[:5], X, guarantee=guarantee)
        record[guarantee] = told if isinstance(told, dict) else [e.to_dict() for e in told]
    return record


def columns_of_rules() -> Record:
    """RuleFeatures with the rules' vote."""
    X, _ = table("pima")
    made = cm.RuleFeatures("glucose >= 140 => yes\nbmi < 25 => no", vote=True).fit(X)
    return {"columns": made.transform(X).tolist(), "names": list(made.get_feature_names_out())}


add("datasets: as loaded", all_shipped)
add("RuleFeatures: pima", columns_of_rules)
for _rows, _machine in (("pima 150", "LPSVC 0.1"), ("mixed", "encoded LinearSVC")):
    add(
        f"ScoreRules with proof: {_rows}",
        partial(certified_card, _machine, _rows, {"max_rules": 12}),
    )
    add(f"explain, fewest conditions: {_rows}", partial(fewest_conditions, _machine, _rows))
add("LPSVC, LPSVCCV: groups, times, weights", folds_and_weights)
add("RuleExtractor: tables of other libraries", other_frames)
for _rows, _machine in (
    ("pima 150", "LPSVC 0.1"),
    ("mixed", "encoded LinearSVC"),
    ("missing", "imputed LinearSVC"),
    ("whole", "LinearSVC"),
):
    add(f"explain: {_rows}", partial(explanations, _rows, _machine))
add("ScoreRules: wbc", partial(scorecard, "scaled SVC(rbf)", "wbc", {"max_rules": 4}))
add("ScoreRules: pima", partial(scorecard, None, "pima 300", {"max_rules": 8}))
_EXACT: Record = {"integer_points": None, "n_generated": 500}
add("ScoreRules: cleveland, exact points", partial(scorecard, None, "cleveland", _EXACT))
add("ScoreRules: mixed", partial(scorecard, "encoded SVC(rbf)", "mixed", {}))
add("ScoreRules: missing", partial(scorecard, "imputed SVC(rbf)", "missing", {}))
add("ScoreRules: three classes are refused", partial(scorecard, None, "whole", {}))


# Functions


def boxes_of(machine: str, rows: str) -> Record:
    """Boxes grown around cases, what is proved of them and of the whole space."""
    X, y = table(rows)
    fitted = MACHINES[machine]().fit(X, y)
    space = attempt(cm.FeatureSpace.from_data, X)
    record: Record = {}
    for row in (0, 1):
        box = attempt(cm.grow_box, fitted, X.iloc[[row]], space=space, budget=60)
        record |= of_value(f"{row}: box", box)
        if isinstance(box, cm.Box):
            everywhere = cm.Box.unbounded(box.n_features)
            for label in np.unique(y):
                call = partial(attempt, cm.certify, fitted)
                record[f"{row}: {label}"] = call(box, label, budget=200)
                record[f"{row}: {label} everywhere"] = call(
                    everywhere, label, space=space, budget=100
                )
    return record


def comparison() -> Record:
    X, y = table("pima 120")
    found = cm.compare_extractors(rbf(), X, y, cv=2, progress=False)
    return {
        "means": found.to_frame().filter(regex="^(?!seconds)"),
        "folds": found.to_fold_frame().filter(regex="^(?!seconds)"),
        "names": [extractor.name for extractor in found.extractors],
        "errors": [extractor.errors for extractor in found.extractors],
        "accuracy": [found.model_accuracies, found.model_accuracy, found.model_accuracy_se],
        WORDS + "how": found.how,
        WORDS + "note": found.note,
    }


def checked() -> Record:
    """Good rules, rules that contradict each other or the data, rules that cannot apply."""
    texts = {
        "good": (PIMA_ADVICE, "pima"),
        "clash": ("glucose >= 100 => tested_positive\nbmi >= 20 => tested_negative", "pima"),
        "impossible": ("glucose >= 1000 and bmi <= 20 => tested_positive", "pima"),
        "unknown": ("glukose >= 100 => tested_positive", "pima"),
        "mixed": (MIXED_ADVICE, "mixed"),
        "missing": ("age is missing and income >= 20000 => yes\nage >= 50 => yes", "missing"),
        "gaps": ("age >= 50 => yes\nincome <= 20000 => no", "missing"),
        "whole": ("a >= 5 => top\na <= 2 and b <= 2 => low\nd >= 0 => mid", "whole"),
    }
    record: Record = {}
    for name, (text, rows) in texts.items():
        record |= of_value(f"{name}, alone", attempt(cm.check_advice, text))
        record |= of_value(f"{name}, with rows", attempt(cm.check_advice, text, *table(rows)))
    return record


def rules_alone() -> Record:
    X, _ = table("wbc")
    names = ["uniformity_of_cell_size", "bare_nuclei", "normal_nucleoli", "mitoses"]
    return of_model(cm.AdviceSVC(WBC_ADVICE).fit(), X[names])


def given_rankings() -> Record:
    X, _ = table("pima 300")
    contrast = cm.RankContrast(top=30, bottom=30, max_size=3, min_leverage=0.15)
    parts, age = table("components")
    small = cm.RankContrast(top=5, bottom=5, min_leverage=0.01)
    return {
        "pima": of_model(contrast.fit_ranking(X, X["glucose"] * 3 + X["age"]), X),
        "components": of_model(small.fit_ranking(parts, age), parts),
    }


def properties() -> Record:
    rng = np.random.default_rng(3)
    items = rng.random((200, 10)) < rng.random(10)
    search = partial(cm.search_properties, items, np.arange(200) < 30, np.arange(200) >= 170)
    return {
        "by leverage": search(min_leverage=0.02, max_size=3),
        "best": search(k=12),
        "attributes": search(min_leverage=0.01, attributes=np.arange(10) // 2),
    }


def recourses() -> Record:
    """The cheapest changes of cases, for every kind of target and allowance."""
    X, y = table("pima 200")
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    two = ["glucose", "bmi"]
    calls: dict[str, Record] = {
        "boundary": {"actionable": two},
        "directions": {"actionable": {"glucose": "decrease", "bmi": "decrease", "age": "increase"}},
        "a class": {"actionable": two, "target": "tested_negative"},
        "rank": {"actionable": [*two, "blood_pressure"], "target": ("rank", 50)},
        "alternatives": {"actionable": [*two, "insulin"], "n_alternatives": 3},
        "costs": {"actionable": two, "costs": {"glucose": 5.0, "bmi": 0.1}},
        "bounds": {"actionable": two, "bounds": {"glucose": (140, 150)}},
        "unknown": {"actionable": ["glukose"]},
    }
    record: Record = {}
    for name, call in calls.items():
        record |= of_value(name, attempt(cm.recourse, model, X.iloc[[0]], X=X, **call))
    M, label = table("mixed")
    pipeline = encoded(LinearSVC()).fit(M, label)
    for row in (0, 2):
        names = ["age", "city", "income"]
        found = attempt(cm.recourse, pipeline, M.iloc[[row]], X=M, actionable=names)
        record |= of_value(f"mixed {row}", found)
    return record


for _kernel in ("rbf", "poly 2", "poly 3", "sigmoid", "linear"):
    add(f"grow_box, certify: {_kernel}", partial(boxes_of, f"scaled SVC({_kernel})", "pima 80"))
add("grow_box, certify: mixed", partial(boxes_of, "encoded SVC(rbf)", "mixed"))
add("grow_box, certify: whole", partial(boxes_of, "scaled SVC(rbf)", "whole"))
add("compare_extractors: pima", comparison)
add("check_advice", checked)
add("AdviceSVC: rules alone", rules_alone)
add("RankContrast: given scores", given_rankings)
add("search_properties", properties)
add("recourse", recourses)


# The language, values, files and exports

LANGUAGE = """
# every kind of condition
obese_high: bmi >= 30 and glucose >= 126 => diabetes
126 <= glucose <= 140 and bmi < 30 => healthy  [weight 2]
0.5*age + bmi <= 40 => healthy
`worst area` < 880.5 and colour = red => diabetes
smoker in {yes, ex} => diabetes
glucose is missing and bmi >= 35 => diabetes
glucose <= 126 => not diabetes
if age is at least 30 and less than 40 then diabetes
2. obese: If bmi is more than 30 and 0.5*age + bmi <= 70, then healthy. (weight 2)
true => healthy
"""
DECLARED = """
classes: ill, well
feature age: integer in [0, 120] unit years
feature smoker: in {yes, no, ex} fill no
feature `worst area`: in [0, inf] unit `mm²`
age >= 60 and smoker = yes => ill
"""
MISTAKES = (
    "x >= 3 = y => a",
    "x >= => a",
    "x >= 3 and => a",
    "x > 5 and x < 3 => a",
    "x >= 1e999 => a",
    "x is missing and x < 3 => a",
    "a: a: x > 3 => b",
    "`x > 3 => b",
    "x in {} => b",
    "x > 3",
    "",
)


def language() -> Record:
    rules = cm.parse_rules(LANGUAGE)
    sentences = rules.describe(digits=17)
    record = of_value("rules", rules)
    record["again"] = cm.parse_rules(cm.format_rules(rules)) == rules
    record["sentences again"] = attempt(
        lambda: cm.parse_rules(sentences, space=rules.space, classes=rules.classes) == rules
    )
    record |= of_value("declared", cm.parse_rules(DECLARED))
    record["declared.space"] = cm.parse_rules(DECLARED).space
    return record | {f"mistake {text!r}": attempt(cm.parse_rules, text) for text in MISTAKES}


@cache
def extracted() -> dict[str, cm.RuleSet]:
    """Rules of all kinds."""
    machines = {
        "pima 150": "LPSVC 0.1",
        "mixed": "encoded LinearSVC",
        "missing": "imputed LinearSVC",
    }
    found = {
        rows: cm.RuleExtractor(MACHINES[machine](), max_rules=2).fit(*table(rows)).rules_
        for rows, machine in machines.items()
    }
    written = {"written": LANGUAGE, "declared": DECLARED, "advice": PIMA_ADVICE}
    return found | {name: cm.parse_rules(text) for name, text in written.items()}


def exports() -> Record:
    record: Record = {}
    for name, rules in extracted().items():
        for form in (
            "python",
            "pmml",
            "json",
            "text",
            "rules",
            "markdown",
            "latex",
            "no such form",
        ):
            record[f"{name}, {form}"] = attempt(export.export, rules, form)
        first = rules.classes[0]
        forms: dict[str, Record] = {
            "case": {},
            "case, default": {"default": first},
            "view": {"form": "view", "table": "cases", "view": "judged", "column": "said"},
        }
        for dialect in ("ansi", "postgresql", "sqlite", "duckdb"):
            for form, options in forms.items():
                made = attempt(export.to_sql, rules, dialect=dialect, **options)
                record[f"{name}, {dialect}, {form}"] = made
        record[f"{name}, named"] = export.to_python(rules, name="judge", default=first)
    return record


def rule_files() -> Record:
    """Rules saved and loaded, and as spreadsheets."""
    record: Record = {}
    for name, rules in extracted().items():
        for suffix in (".json", ".rules"):
            path = Path(f"{name}{suffix}")
            rules.save(path, overwrite=True)
            record[path.name] = read(path)
            record[f"{path} again"] = cm.RuleSet.load(path) == rules
        export.to_xlsx(rules, f"{name}.xlsx", overwrite=True)
        sheets = pd.read_excel(f"{name}.xlsx", sheet_name=None, header=None)
        record |= {f"{name}, sheet {sheet}": frame for sheet, frame in sheets.items()}
    return record


def model_files() -> Record:
    """Models saved and loaded."""
    saved: dict[str, tuple[Any, str]] = {
        "LPSVC": (cm.LPSVC(0.1), "pima 150"),
        "pipeline": (MACHINES["scaled LinearSVC"](), "pima 150"),
        "RuleExtractor": (cm.RuleExtractor(cm.LPSVC(0.1), max_rules=2), "pima 150"),
        "mixed": (cm.RuleExtractor(encoded(LinearSVC()), max_rules=2), "mixed"),
        "missing": (cm.RuleExtractor(encoded(LinearSVC(), impute=True), max_rules=2), "missing"),
        "whole": (LinearSVC(), "whole"),
        "AdviceSVC": (cm.AdviceSVC(PIMA_ADVICE, refine="slp"), "pima 150"),
        "ScoreRules": (cm.ScoreRules(), "pima 150"),
        "SVC": (SVC(), "pima 150"),
    }
    record: Record = {}
    for name, (model, rows) in saved.items():
        X, y = table(rows)
        path = Path(f"model-{name}.json")
        written = attempt(cm.save_model, model.fit(X, y), path, X=X)
        record[name] = read(path) if path.exists() else written
        if path.exists():
            loaded = cm.load_model(path)
            record[f"{name} predicts"] = loaded.predict(X)
            record[f"{name} scores"] = attempt(loaded.decision_function, X)
            record[f"{name} rules"] = getattr(loaded, "rules_", None)
    return record


def values() -> Record:
    """Boxes, polyhedra, half-spaces and domains, and what they say of rows."""
    X, y = table("pima 200")
    rows, space = X.to_numpy(float), cm.FeatureSpace.from_data(X)
    seen, declared = cm.Domain.from_data(X), cm.Domain.from_space(space)
    model = cm.LPSVC(0.1).fit(X, y)
    plane = model.hyperplane_
    box = cm.Box.from_intervals({1: cm.Interval(100, 150), 5: cm.Interval(20, 40, "both")}, 8)
    other = cm.Box.from_intervals({1: cm.Interval(120, 180, "right")}, 8, missing=[3])
    poly = cm.Polyhedron([[0, 1.0, 0, 0, 0, 2.0, 0, 0]], [200.0])
    record: Record = {
        "contains": [box.contains(rows), other.contains(rows), poly.contains(rows)],
        "meet": box.intersect(other),
        "volume": box.intersect(seen.box(seen=True)).volume(),
        "disjoint": box.is_disjoint(other),
        "from box": cm.Polyhedron.from_box(box),
        "decision": plane.decision(rows),
        "exact": plane.exact(),
        "inside": [box.is_inside(plane.side(1)), declared.is_inside(box, plane.side(-1))],
        "pulled back": plane.pull_back(np.arange(1.0, 9.0), 0.5),
        "tightened": declared.tighten(box),
        "without implied": declared.without_implied(declared.box()),
        "rounded": seen.round_to_values(box),
        "maximum": declared.maximum(plane.coef, plane.intercept, within=box),
        "minimum": seen.minimum(plane.coef, plane.intercept, within=box, seen=True),
        "possible": [seen.is_possible(box), seen.implies(box)],
        "named": declared.name_values(rows[0]),
        WORDS + "reprs": [repr(value) for value in (box, other, poly, plane, seen)],
    }
    for name in ("pima 200", "mixed", "missing", "rare"):
        space = cm.FeatureSpace.from_data(table(name)[0])
        record |= {f"{name}: space": space, f"{name}: rows": attempt(space.read, table(name)[0])}
    return record


def applied_rules() -> Record:
    """What rules say of rows, and how they are scored and shown."""
    record: Record = {}
    for name, text in (
        ("pima 200", PIMA_ADVICE),
        ("mixed", MIXED_ADVICE),
        ("missing", MIXED_ADVICE),
    ):
        X, y = table(name)
        rules = cm.parse_rules(text, space=cm.FeatureSpace.from_data(X))
        record |= {
            f"{name}: which": rules.which(X),
            f"{name}: covers": rules.covers(X),
            f"{name}: predict": [rules.predict(X), rules.predict(X, default="nothing")],
            f"{name}: scores": attempt(rules.score, X, y),
            f"{WORDS}{name}: html": rules._repr_html_(),
        }
    X, y = table("pima 200")
    rules, model = cm.parse_rules(PIMA_ADVICE), cm.LPSVC(0.1).fit(X, y)
    return record | {"with a model": rules.score(X, y, model=model)}


def scanned_files() -> Record:
    """What is fitted to a folder of files, in passes over parts of it."""
    X, y = table("pima 200")
    frame = pd.DataFrame(X).assign(outcome=np.asarray(y))
    with tempfile.TemporaryDirectory() as folder:
        for part, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
            frame.iloc[rows].to_csv(Path(folder, f"{part}.csv"), index=False)
        parts = cm.scan(str(Path(folder, "*.csv")), target="outcome")
        extractor = cm.RuleExtractor().fit(parts)
        return of_value("rules", extractor.rules_) | {
            "lengths": list(parts.lengths),
            "plane": of_model(cm.LPSVC(0.1).fit(parts), parts),
            "predict": extractor.predict(parts),
        }


def read(path: Path) -> Any:
    """A file as plain data if it is JSON, else as text."""
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else text


add("parse_rules, format_rules, describe", language)
add("export: every form and dialect", exports)
add("RuleSet: files", rule_files)
add("save_model, load_model", model_files)
add("values", values)
add("RuleSet: applied", applied_rules)
add("scan: a folder of files", scanned_files)


# Reports and figures


def report_on(model: Callable[[], Any], rows: str, options: Record) -> Record:
    return of_report(report(model(), *table(rows), **options))


def few_rules(machine: str) -> Any:
    return cm.RuleExtractor(MACHINES[machine](), max_rules=2)


REPORTS: dict[str, tuple[Callable[[], Any], str, Record]] = {
    "plane of wbc": (MACHINES["LPSVC 0.1"], "wbc 250", {"cv": 2}),
    "rules of pima, seeded": (
        partial(few_rules, "LPSVC 0.1"),
        "pima 150",
        {"cv": 2, "random_state": 1, "title": "Pima <women>"},
    ),
    "mixed": (partial(few_rules, "encoded LinearSVC"), "mixed", {"cv": 2}),
    "missing": (partial(few_rules, "imputed LinearSVC"), "missing", {"cv": None}),
    "three classes": (partial(few_rules, "LinearSVC"), "whole", {"cv": 2}),
    "advice": (lambda: cm.AdviceSVC(PIMA_ADVICE, refine="slp"), "pima 80", {"cv": 2}),
    "kernel": (lambda: cm.SupportVectorRules(rbf()), "wbc 120", {"cv": 2}),
    "surrogate": (lambda: cm.SurrogateRules(rbf(), n_generated=200), "pima 120", {"cv": 2}),
    "tree": (lambda: cm.SVMTreeClassifier(max_layers=3), "imbalanced", {"cv": None}),
    "contrast": (lambda: cm.RankContrast(max_size=1), "pima 300", {"cv": None}),
    "rules by themselves": (lambda: cm.parse_rules(PIMA_ADVICE), "pima 300", {"cv": None}),
    "groups": (
        partial(few_rules, "LPSVC 0.1"),
        "pima 120",
        {"cv": 2, "groups": np.arange(120) // 4},
    ),
    "times": (partial(few_rules, "LPSVC 0.1"), "pima 120", {"cv": 2, "times": np.arange(120)}),
}


def full_report() -> Record:
    """A report with everything in it."""
    more: Record = {"contrast": cm.RankContrast(max_size=1), "advice": PIMA_ADVICE, "cases": 5}
    return report_on(MACHINES["LPSVC 0.1"], "pima 150", {**more, "cv": None})


def figures() -> Record:
    X, y = table("pima 120")
    two = X[["glucose", "bmi"]]
    extractor, flat = few_rules("LPSVC 0.1").fit(X, y), few_rules("LPSVC 0.1").fit(two, y)
    ranking = cm.RankContrast(max_size=1).fit(*table("pima 300"))
    model = cm.AdviceSVC("glucose >= 150 and bmi >= 30 => tested_positive", refine="slp").fit(
        two, y
    )
    grown = cm.SVMTreeClassifier(max_layers=3).fit(*table("imbalanced"))
    drawn: dict[str, Callable[[], Any]] = {
        "rules": lambda: plot.plot_rules(extractor),
        "coverage": lambda: plot.plot_coverage(extractor, X, y),
        "volume": lambda: plot.plot_coverage(extractor, quantity="volume"),
        "regions": lambda: plot.plot_regions(flat, two, y),
        "leverage": lambda: plot.plot_leverage(ranking),
        "histograms": lambda: plot.plot_rank_histograms(ranking),
        "roc": lambda: plot.plot_rank_roc(ranking),
        "advice": lambda: plot.plot_advice(model, two, y),
        "rule trees": lambda: plot.plot_rule_trees(model, two),
        "svm tree": lambda: plot.plot_svm_tree(grown),
    }
    record: Record = {}
    for name, draw in drawn.items():
        record |= prefixed(name, attempt(lambda draw: of_display(draw()), draw))
    return record


for _name, _report in REPORTS.items():
    add(f"report: {_name}", partial(report_on, *_report))
add("report: with contrast and advice", full_report)
add("plot: every figure", figures)


# The command line

QUICK = "--target outcome --cv none --nu 0.1 --max-rules 2"
FOLDS = "--target outcome --cv 2 --nu 0.1 --max-rules 1"
ONLY = "--drop patient,day"
COMMANDS: dict[str, tuple[str, ...]] = {
    "datasets": ("datasets", "datasets --json", "datasets wbc", "datasets pima --json"),
    "rules": (
        f"rules pima.csv {QUICK}",
        f"rules pima.csv {QUICK} --json",
        f"rules pima.csv {QUICK} --quiet",
        f"rules pima.csv {FOLDS} --json",
    ),
    "rules, chosen": ("rules wbc.csv --target outcome --cv none --max-features 4 --json",),
    "rules, criteria": (
        f"rules wbc.csv {QUICK} --criterion volume --max-conditions 3 --quiet",
        f"rules wbc.csv {QUICK} --criterion coverage --max-conditions 3 --quiet",
        f"rules wbc.csv {QUICK} --criterion coverage-lp --max-conditions 3 --quiet",
        f"rules few.csv {QUICK} --criterion coverage-exact --json",
    ),
    "rules, options": (
        f"rules cleveland.csv {QUICK} --balanced --assume-ranges --min-coverage 4 --json",
        f"rules cleveland.csv {QUICK} --categories cp,thal --drop age,chol --json",
    ),
    "rules, other files": (
        f"rules pima.parquet {QUICK} --quiet",
        f"rules pima.csv.gz {QUICK} --quiet",
        f"rules german.csv {QUICK} --separator semicolon --decimal , --quiet",
    ),
    "rules, mixed": (
        f"rules mixed.csv {QUICK} {ONLY}",
        f"rules mixed.csv {FOLDS} --groups patient --drop day --json",
        f"rules mixed.csv {FOLDS} --time day --drop patient --json",
    ),
    "rules, missing": (
        f"rules missing.csv {QUICK} {ONLY}",
        f"rules missing.csv {QUICK} {ONLY} --missing impute --json",
        f"rules missing.csv {QUICK} {ONLY} --missing drop --quiet",
    ),
    "rules, classes": (
        f"rules whole.csv {QUICK} {ONLY} --json",
        f"rules whole.csv {QUICK} {ONLY} --positive top --quiet",
        f"rules rare.csv --target outcome --cv none --nu 10 {ONLY} --positive 2 --json",
        f"rules rare.csv {QUICK} {ONLY} --positive 2",
    ),
    "explain": (
        f"explain pima.csv {QUICK} --row 3",
        *(
            f"explain pima.csv {QUICK} --row 3 --kind {kind} --json"
            for kind in ("rule", "on-demand", "largest", "central")
        ),
        f"explain mixed.csv {QUICK} {ONLY} --where age>=88 --json",
        f"explain mixed.csv {QUICK} {ONLY} --where city=Basel",
    ),
    "rank": (
        "rank pima.csv --target outcome --cv none",
        "rank pima.csv --target outcome --top 0.1 --bottom 0.1 --max-size 1 --json",
        f"rank mixed.csv --target outcome {ONLY} --top 0.2 --bottom 0.2 --json",
    ),
    "advise": (
        "advise pima.csv --target outcome --advice pima-advice.rules --cv none",
        "advise pima.csv --target outcome --advice pima-advice.rules --refine sqp --cv none --json",
        f"advise mixed.csv --target outcome {ONLY} --advice mixed-advice.rules --cv 2 --json",
    ),
    "check": (
        "check pima-advice.rules",
        "check pima-advice.rules --json",
        "check pima-advice.rules --data pima.csv --target outcome --json",
        "check mixed-advice.rules --data mixed.csv --target outcome",
        "check wrong.rules",
    ),
    "mistakes": (
        "rules no-such.csv --target outcome",
        "rules pima.csv --target outcom",
        "rules pima.csv --target outcome --nu -1",
        "rules whole.csv --target patient",
        f"explain pima.csv --row 9999 {QUICK}",
        "predict pima.csv --rules no-such.rules",
    ),
    "files": (
        f"rules pima.csv {QUICK} --out kept.rules --save-model kept.json --force --quiet",
        "predict pima.csv --rules kept.rules --default tested_negative",
        "predict pima.csv --model kept.json",
        "predict pima.csv --model kept.json --json",
        "rules pima.csv --target outcome --model kept.json --max-rules 1 --json",
        "rules large.csv --target outcome --model kept.json --max-rules 2 --json",
        "predict large.csv --rules kept.rules",
        "explain pima.csv --target outcome --model kept.json --row 2 --json",
        "export kept.json --to json",
        "export kept.rules --to python",
    ),
    "export": (
        *(
            f"export pima-advice.rules --to {form}"
            for form in ("python", "pmml", "json", "rules", "text", "markdown", "latex")
        ),
        *(
            f"export pima-advice.rules --to sql --dialect {dialect} {form}"
            for dialect in ("ansi", "postgresql", "sqlite", "duckdb")
            for form in ("", "--form view --table cases --default tested_negative")
        ),
    ),
    "report": (f"report mixed.csv {FOLDS} {ONLY} --out page.html --force --json",),
    "demo": ("demo wbc --cv none --no-report", "demo pima --cv 2 --no-report --json"),
}


@cache
def write_tables() -> None:
    """Write the files that commands read into the current directory."""
    rows = {"wbc": "wbc 300", "pima": "pima 200", "cleveland": "cleveland 150", "few": "wbc 40"}
    kept = {name: table(which)[0].assign(outcome=table(which)[1]) for name, which in rows.items()}
    for name in ("mixed", "missing", "whole", "rare"):
        X, y = table(name)
        kept[name] = X.assign(outcome=y, patient=np.arange(ROWS) // 4, day=np.arange(ROWS))
    kept["large"] = kept["pima"].iloc[np.arange(12_000) % 200]
    for name, frame in kept.items():
        frame.to_csv(f"{name}.csv", index=False)
    kept["pima"].to_parquet("pima.parquet", index=False)
    kept["pima"].to_csv("pima.csv.gz", index=False)
    german = kept["mixed"].drop(columns=["patient", "day"])
    german.to_csv("german.csv", index=False, sep=";", decimal=",")
    texts = {
        "pima-advice": PIMA_ADVICE,
        "mixed-advice": MIXED_ADVICE,
        "wrong": "x >= 3 = 4 => ill\n",
    }
    for name, text in texts.items():
        Path(f"{name}.rules").write_text(text, encoding="utf-8")


def command(line: str) -> Record:
    """Run one command; give its exit code and what it printed, as data if that is what it prints."""
    words = line.split()
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", ["clearmargin", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_module("clearmargin", run_name="__main__")
        except SystemExit as stop:
            code = stop.code
    text = re.sub(r"\b\d+\.\d+ s\b", "? s", out.getvalue())
    record: Record = {"code": code, WORDS + "stderr": err.getvalue()}
    if "--json" in words and text.strip():
        return record | {"json": attempt(json.loads, text)}
    facts = words[0] in ("export", "predict") or "--quiet" in words
    return record | {"stdout" if facts else WORDS + "stdout": text}


def commands(name: str) -> Record:
    """Run commands one after the other; give what they printed and the files that they wrote."""
    write_tables()
    before = set(Path().iterdir())
    record: Record = {}
    for line in COMMANDS[name]:
        record |= prefixed(line, command(line))
    for path in sorted(set(Path().iterdir()) - before):
        page = path.suffix == ".html"
        record[f"{WORDS if page else ''}file {path}"] = page_text(path) if page else read(path)
    return record


def page_text(path: Path) -> str:
    """What a page says, without drawings, style and numbers of versions."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
    return " ".join(re.sub(r"\d+\.\d+\.\d+", "", text).split())


for _name in COMMANDS:
    add(f"command: {_name}", partial(commands, _name))


# Running and comparing


def run(names: Sequence[str]) -> dict[str, Record]:
    """Run configurations, each by itself, in a directory that goes away.

    Parameters
    ----------
    names : sequence of str
        Keys of `CONFIGURATIONS`.

    Returns
    -------
    dict
        For each name its record as plain data; an error is a record, too.
    """
    results = {}
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_tables.cache_clear()
        for position, name in enumerate(names, 1):
            began = time.process_time()
            results[name] = _isolated(CONFIGURATIONS[name])
            now = time.process_time()
            state = results[name].get("error", "")
            print(
                f"{position:3} of {len(names)}  {now - start:6.1f} s  {now - began:5.1f} s  {name}  {state}",
                file=sys.stderr,
                flush=True,
            )
    return results


def _isolated(make: Configuration) -> Record:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            record: Record = canonical(make())
        except Exception as error:
            record = {"error": type(error).__name__, WORDS + "message": str(error)}
    said = sorted({f"{w.category.__name__}: {w.message}" for w in met})
    return record | {WORDS + "warnings": said}


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first place where two results differ, and what stands there."""

    where: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.where}\n    before: {_short(self.before)}\n    after:  {_short(self.after)}"


MISSING = "(nothing)"


def first_difference(
    before: Any, after: Any, where: str = "", *, words: bool = True
) -> Difference | None:
    """Find the first place where two pieces of plain data differ.

    Parameters
    ----------
    before, after : object
        What `canonical` gave.
    where : str, optional
        What the whole is called.
    words : bool, default True
        Whether sentences and messages count, too.

    Returns
    -------
    Difference or None
        The place; None if there is none.

    Examples
    --------
    >>> first_difference({"a": [1, 2]}, {"a": [1, 3]}).where
    'a[1]'
    """
    if type(before) is not type(after):
        return Difference(where, before, after)
    if isinstance(before, str) and before != after and "\n" in before:
        return _first_line(before, after, where)
    if isinstance(before, dict | list):
        found = (
            first_difference(one, other, place, words=words)
            for place, one, other in _pairs(before, after, where, words)
        )
        return next((difference for difference in found if difference is not None), None)
    return None if before == after else Difference(where, before, after)


def _pairs(before: Any, after: Any, where: str, words: bool) -> Iterator[tuple[str, Any, Any]]:
    """Each place inside two dictionaries or two lists, with what stands there."""
    if isinstance(before, dict):
        for key in dict.fromkeys([*before, *after]):
            if words or not key.startswith(WORDS):
                place = f"{where}: {key}" if where else key
                yield place, before.get(key, MISSING), after.get(key, MISSING)
    else:
        for i, pair in enumerate(zip(before, after, strict=False)):
            yield f"{where}[{i}]", *pair
        yield f"length of {where}", len(before), len(after)


def _first_line(before: str, after: str, where: str) -> Difference:
    """The first line in which two texts differ."""
    lines, others = before.splitlines(), after.splitlines()
    for i, (one, other) in enumerate(zip(lines, others, strict=False), 1):
        if one != other:
            return Difference(f"{where}, line {i}", one, other)
    return Difference(f"number of lines of {where}", len(lines), len(others))


def _short(value: Any, most: int = 160) -> str:
    """A value in one line; a float in decimals beside its bits."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and re.fullmatch(r"-?0x[01]\.[0-9a-f]+p[+-]\d+", value):
        text = f"{float.fromhex(value)!r} ({value})"
    return text if len(text) <= most else f"{text[:most]}..."


def compare_records(before: Record, after: Record, *, words: bool) -> Difference | None:
    """Find the first difference between two records.

    Keys that only the later record has are no difference: there may be more than there was.
    """
    return first_difference(before, {k: v for k, v in after.items() if k in before}, words=words)


def compare(before: dict[str, Record], after: dict[str, Record], *, words: bool = True) -> int:
    """Print for each configuration whether two files say the same; give the exit code.

    Parameters
    ----------
    before, after : dict
        What `run` gave.
    words : bool, default True
        Whether sentences and messages count, too.

    Returns
    -------
    int
        1 if anything differs, else 0.
    """
    counts = {"same": 0, "different": 0, "other words": 0}
    for name, old in before.items():
        new = after.get(name)
        found = (
            Difference(name, "run", "not run")
            if new is None
            else compare_records(old, new, words=False)
        )
        state = "same" if found is None else "different"
        if found is None and new is not None and words:
            found = compare_records(old, new, words=True)
            state = "same" if found is None else "other words"
        more = 0 if new is None else len(set(new) - set(old))
        counts[state] += 1
        print(
            f"{state:11} {name}{f', {more} more' if more else ''}{'' if found is None else f': {found}'}"
        )
    added = [name for name in after if name not in before]
    print(", ".join(f"{count} {state}" for state, count in counts.items()), end="")
    print(f", {len(added)} new" if added else "")
    return int(counts["same"] != len(before))


def main(argv: Sequence[str] | None = None) -> int:
    """Write a file of results, or compare two."""
    parser = argparse.ArgumentParser(
        description="Write the results of all configurations, or compare two files."
    )
    actions = parser.add_subparsers(dest="action", required=True)
    write = actions.add_parser("write", help="run all configurations and write what they gave")
    write.add_argument("file", type=Path)
    write.add_argument(
        "--only", default="", help="run configurations whose name contains this text"
    )
    judge = actions.add_parser(
        "compare", help="say for each configuration whether two files are the same"
    )
    judge.add_argument("before", type=Path)
    judge.add_argument("after", type=Path)
    judge.add_argument("--facts", action="store_true", help="pass over sentences and messages")
    actions.add_parser("list", help="print the names of all configurations")
    given = parser.parse_args(argv)
    if given.action == "list":
        print("\n".join(CONFIGURATIONS))
        return 0
    if given.action == "compare":
        return compare(_load(given.before), _load(given.after), words=not given.facts)
    target = given.file.resolve()
    results = run([name for name in CONFIGURATIONS if given.only in name])
    target.write_text(json.dumps(results, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"{len(results)} configurations of {Path(cm.__file__).parent} written to {target}")
    return 0


def _load(path: Path) -> dict[str, Record]:
    loaded: dict[str, Record] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


if __name__ == "__main__":
    raise SystemExit(main())
