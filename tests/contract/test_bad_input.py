"""Bad input in one table: each call, the class of its error, and the name that the error has to mention."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from tests.contract.estimators import ESTIMATORS, THREE, X, Y

import clearmargin as cm
from clearmargin.exceptions import ClearmarginError, ClearmarginWarning
from clearmargin.models import PlaneModel

# Any value is true or false, and whatever shows progress is asked for nothing.
TRUTHS = {"balanced", "certify", "cover", "disjoint", "fit_intercept", "points", "progress"}
TRUTHS |= {"prune", "scale", "shorten", "tighten", "tune"}
PARAMETERS = [
    (name, parameter)
    for name, estimator in ESTIMATORS.items()
    for parameter in estimator.get_params(deep=False)
    if parameter not in TRUTHS
]


def quietly(call: Callable[[], object]) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        return call()


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_parameter_of_a_wrong_kind_is_refused_by_its_name(name, parameter):
    for value in (object(), "no such thing", -3.5):
        estimator = clone(ESTIMATORS[name])
        setattr(estimator, parameter, value)
        if (parameter, value) == ("coef0", -3.5):
            assert quietly(lambda e=estimator: e.fit(X, Y)) is estimator
            continue
        # Seeds, splitters and scorers are read by scikit-learn, whose ValueError says what they may be.
        kind = ValueError if parameter in ("random_state", "cv", "scoring") else ClearmarginError
        with pytest.raises(kind) as caught:
            quietly(lambda e=estimator: e.fit(X, Y))
        named = {parameter, "seed"} if parameter == "random_state" else {parameter, repr(value)}
        assert any(word in str(caught.value) for word in named), caught.value


EMPTY = X[:0]
TABLES: dict[str, tuple[Any, Any, str]] = {
    "no rows": (EMPTY, Y[:0], "0 sample|no rows|empty|0 rows"),
    "lengths differ": (X, Y[:-1], "60|59"),
    "one class": (X, np.full(60, "ill"), "class"),
    "labels missing": (X, np.where(np.arange(60) == 3, None, Y), "missing|NaN|None|y"),
    "numbers as labels": (X, X["bmi"], "continuous|class|classes|Unknown label"),
    "infinite": (X.assign(bmi=np.where(np.arange(60) == 3, np.inf, X["bmi"])), Y, "bmi|inf"),
    "sparse": (sparse.csr_array(X.to_numpy()), Y, "sparse|toarray"),
    "three dimensions": (np.zeros((60, 2, 2)), Y, "dim|2-d|two"),
    "one dimension": (X["age"].to_numpy(), Y, "dim|2D|two|reshape"),
    "complex": (X.to_numpy() + 1j, Y, "omplex"),
    "column twice": (pd.concat([X, X["age"]], axis=1), Y, "age"),
    "no labels": (X, None, "y"),
}
# What is right for some: 1-norm planes of sparse tables.
ALLOWED = {("sparse", "LPSVC"), ("sparse", "LPSVC-cv"), ("sparse", "AdviceSVC")}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_table_is_refused(name):
    for table, (bad, labels, mentioned) in TABLES.items():
        if (table, name) in ALLOWED:
            continue
        with pytest.raises((ClearmarginError, ValueError, TypeError)) as caught:
            quietly(lambda bad=bad, labels=labels: clone(ESTIMATORS[name]).fit(bad, labels))
        assert re.search(mentioned, str(caught.value)), (table, caught.value)


ASKED = ("predict", "transform")


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "RankContrast"])
def test_other_columns_in_prediction_are_refused(name):
    fitted: Any = quietly(lambda: clone(ESTIMATORS[name]).fit(X, Y))
    ask = next(getattr(fitted, name) for name in ASKED if hasattr(fitted, name))
    renamed = X.rename(columns={"bmi": "dose"})
    for table, mentioned in ((renamed, "bmi|dose"), (X[["age"]], "bmi|1")):
        with pytest.raises(ValueError, match=mentioned):
            ask(table)
    with pytest.raises(Exception, match=type(fitted).__name__):
        getattr(clone(ESTIMATORS[name]), ask.__name__)(X)


RULES = cm.parse_rules("age > 50 => ill\nage <= 50 => well")
SPACE = cm.FeatureSpace.from_data(X)
LINEAR = cm.LPSVC().fit(X, Y)
RBF = SVC(random_state=0).fit(X, Y)
BOX = cm.Box([50.0, 20.0], [60.0, 30.0])
CASE = X.iloc[0]
TOP = np.arange(60) < 6
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "Box of two lengths": (lambda: cm.Box([1.0], [2.0, 3.0]), "1|2"),
    "RuleSet of no rule": (lambda: cm.RuleSet(["age"], SPACE), "age|str|Rule"),
    "RuleSet.load of nothing": (lambda: cm.RuleSet.load("no_such_file.json"), "no_such_file"),
    "load_model of nothing": (lambda: cm.load_model("no_such_file.json"), "no_such_file"),
    "AdviceSVC of unknown column": (lambda: cm.AdviceSVC("dose > 1 => ill").fit(X, Y), "dose"),
    "AdviceSVC of three classes": (lambda: cm.AdviceSVC("age > 1 => old").fit(X, THREE), "old|three|3|class"),
    "check_advice of no rules": (lambda: cm.check_advice("", X, Y), "rule"),
    "check_advice of unknown column": (lambda: cm.check_advice("dose > 1 => ill", X, Y), "dose"),
    "LPSVC of three classes": (lambda: cm.LPSVC().fit(X, THREE), "3 classes"),
    "LPSVC of text": (lambda: cm.LPSVC().fit(X.assign(job="a"), Y), "job"),
    "LPSVC of a gap": (lambda: cm.LPSVC().fit(X.assign(bmi=np.nan), Y), "bmi|NaN"),
    "LPSVC weights below zero": (lambda: cm.LPSVC().fit(X, Y, sample_weight=-np.ones(60)), "sample_weight"),
    "LPSVC weights of another length": (lambda: cm.LPSVC().fit(X, Y, sample_weight=np.ones(3)), "sample_weight"),
    "RuleExtractor bounds turned": (lambda: cm.RuleExtractor(LINEAR, bounds={"age": (9, 1)}).fit(X, Y), "age"),
    "ScoreRules of three classes": (lambda: cm.ScoreRules(LogisticRegression()).fit(X, THREE), "3|classes"),
    "ScoreRules certify of a kernel": (lambda: cm.ScoreRules(SVC(), certify=True).fit(X, Y), "certify"),
    "SupportVectorRules of a linear model": (lambda: cm.SupportVectorRules(cm.LPSVC()).fit(X, Y), "RuleExtractor"),
    "RuleSVC monotone of unknown": (lambda: cm.RuleSVC(monotone={"dose": 1}).fit(X, Y), "dose"),
    "RuleSVC rules of unknown": (lambda: cm.RuleSVC(rules="dose > 1 => ill").fit(X, Y), "dose"),
    "RuleSVC points and linear": (lambda: cm.RuleSVC(points=True, linear=True).fit(X, Y), "points"),
    "SurrogateRules of a gap": (lambda: cm.SurrogateRules(SVC()).fit(X.assign(bmi=np.nan), Y), "bmi|NaN"),
    "RankContrast top of 0": (lambda: cm.RankContrast(top=0).fit(X, Y), "top"),
    "RankContrast scores of another length": (lambda: cm.RankContrast().fit_ranking(X, np.ones(3)), "3"),
    "RankContrast equal scores": (lambda: cm.RankContrast().fit_ranking(X, np.ones(60)), "score"),
    "certify of another width": (lambda: cm.certify(RBF, cm.Box([1.0], [2.0]), "ill"), "1|2"),
    "certify of an open box": (lambda: cm.certify(RBF, cm.Box([50.0, 20.0], [np.inf, 30.0]), "ill"), "space"),
    "certify budget of 0": (lambda: cm.certify(RBF, BOX, "ill", budget=0), "budget"),
    "grow_box of another width": (lambda: cm.grow_box(RBF, [1.0]), "1|2"),
    "explain of another width": (lambda: cm.explain(RBF, [1.0], X), "1|2"),
    "explain_many of no case": (lambda: cm.explain_many(RBF, X[:0], X), "0|case|row"),
    "recourse of an unknown feature": (lambda: cm.recourse(LINEAR, CASE, actionable=["dose"], X=X), "dose"),
    "recourse n_alternatives of 0": (
        lambda: cm.recourse(LINEAR, CASE, actionable=["bmi"], X=X, n_alternatives=0), "n_alternatives"),
    "recourse costs below 0": (
        lambda: cm.recourse(LINEAR, CASE, actionable=["bmi"], X=X, costs={"bmi": -1}), "bmi|costs"),
    "recourse to an unknown class": (
        lambda: cm.recourse(LINEAR, CASE, actionable=["bmi"], X=X, target="dead"), "dead"),
    "export of no rules": (lambda: cm.export.export(3, "sql"), "3|int"),
    "report of no model": (lambda: cm.report.report(3, X, Y), "int|3"),
    "compare of no model": (lambda: cm.compare_extractors(3, X, Y), "int|3|estimator"),
}  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_bad_call_is_refused_by_what_is_wrong(call):
    ask, mentioned = REFUSED[call]
    with pytest.raises((ClearmarginError, OSError, TypeError, ValueError)) as caught:
        quietly(ask)
    assert re.search(mentioned, str(caught.value)), caught.value


LINEAR_SVC = LinearSVC()
CODES = X.assign(job=["a"] * 30 + ["b"] * 28 + ["c", "d"], ward=[1, 2] * 30)[["job", "ward"]]
HOT = OneHotEncoder()
TWICE = make_column_transformer((HOT, ["ward"]), ("passthrough", ["ward"]))


class Stubborn(LogisticRegression):
    """Has weights and does not follow them."""

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])


class Squaring(StandardScaler):
    """Does more than a scaler should."""

    def transform(self, X: Any) -> Any:
        return super().transform(X) ** 2


class Lopsided(LogisticRegression):
    """Has more rows of weights than classes."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.coef_ = np.repeat(self.coef_, 3, axis=0)
        return self


# Fitted models without planes to read: the estimators of a pipeline, its table, and what is named.
UNREAD: list[tuple[list[Any], Any, str]] = [
    ([PolynomialFeatures(), LINEAR_SVC], X, "polynomialfeatures.*SurrogateRules"),
    ([MinMaxScaler(clip=True), LINEAR_SVC], X, "clip"),
    ([make_pipeline(PolynomialFeatures()), LINEAR_SVC], X, "pipeline__polynomialfeatures"),
    ([FeatureUnion([("log", FunctionTransformer(np.exp))]), LINEAR_SVC], X, "featureunion__log.*exp"),
    ([make_column_transformer((PolynomialFeatures(), [0])), LINEAR_SVC], X, "columntransformer__poly"),
    ([SimpleImputer(add_indicator=True), LINEAR_SVC], X, "add_indicator"),
    ([SimpleImputer(missing_values=-1), LINEAR_SVC], X, "-1"),
    ([OneHotEncoder(min_frequency=5), LINEAR_SVC], CODES, "'job'"),
    ([OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), LINEAR_SVC], CODES, "ordinalencoder"),
    ([make_pipeline(MaxAbsScaler(), HOT), LINEAR_SVC], CODES[["ward"]], "onehotencoder"),
    ([TWICE, LINEAR_SVC], CODES, "'ward'"),
    ([SVC()], X, "SupportVectorRules"),
    ([RandomForestClassifier(2)], X, "RandomForestClassifier"),
    ([LinearRegression()], X, "classes_"),
    ([OneClassSVM(kernel="linear")], X, "classes_"),
    ([GridSearchCV(LINEAR_SVC, {"C": [1.0]}, cv=2, refit=False)], X, "refit"),
    ([StandardScaler(), "passthrough"], X, "classifier"),
    ([Stubborn()], X, "Stubborn"),
    ([Squaring(), LogisticRegression()], X, "Pipeline"),
    ([Lopsided()], X, "3 rows"),
    ([FixedThresholdClassifier(CalibratedClassifierCV(LINEAR_SVC, cv=2), threshold=0.3)], X, "ensemble"),
    ([FixedThresholdClassifier(LogisticRegression(), threshold=0.0)], X, "FixedThreshold"),
    ([FixedThresholdClassifier(RandomForestClassifier(2), threshold=0.3)], X, "RandomForest"),
]  # fmt: skip


@pytest.mark.parametrize("row", range(len(UNREAD)))
def test_model_without_planes_is_refused_by_its_name(row):
    steps, table, named = UNREAD[row]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = np.arange(60) % 2 if "LinearRegression" in str(steps) else Y
        model = clone(make_pipeline(*steps) if len(steps) > 1 else steps[0]).fit(table, labels)
        with pytest.raises(ClearmarginError, match=f"(?s){named}"):
            PlaneModel.from_estimator(model, table)


def test_model_of_other_columns_labels_or_no_training_is_refused():
    fitted = clone(LINEAR_SVC).fit(X, Y)
    for table, named in (
        (X[["age"]], "bmi"),
        (X.to_numpy()[:, :1], "1 column"),
        (sparse.csr_array(X.to_numpy()), "sparse"),
        (X.rename(columns={"bmi": "bmis"}), "bmi"),
    ):
        with pytest.raises(ClearmarginError, match=named):
            PlaneModel.from_estimator(fitted, table)
    several = RidgeClassifier().fit(X, np.column_stack([Y == "ill", X["age"] > 50]))
    with pytest.raises(ClearmarginError, match="labels"):
        PlaneModel.from_estimator(several, X)
    for model in (LINEAR_SVC, Pipeline([("scale", StandardScaler()), ("svm", fitted)])):
        with pytest.raises(NotFittedError, match=r"LinearSVC|StandardScaler"):
            PlaneModel.from_estimator(model, X)
    wide = clone(LINEAR_SVC).fit(X, Y)
    wide.coef_ = np.ones((1, 3))
    with pytest.raises(ClearmarginError, match="3 weights"):
        PlaneModel.from_estimator(Pipeline([("same", "passthrough"), ("svm", wide)]), X)
    reduction = OneVsRestClassifier(LINEAR_SVC).fit(X, Y)
    reduction.estimators_ = [SVC(kernel="linear").fit(X, THREE)]
    with pytest.raises(ClearmarginError, match="reduction"):
        PlaneModel.from_estimator(reduction, X)
