"""What cannot be read, certified or extracted is refused with a message that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.kernel_rules.certificate import certify
from clearmargin.kernel_rules.growth import grow_box
from clearmargin.kernel_rules.support_vector_rules import SupportVectorRules
from clearmargin.models.kernel_machine import read_machine
from clearmargin.rules import Box, FeatureSpace

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "high", "low")
BOX = Box(np.zeros(3), np.ones(3))


class Contrary(SVC):
    """A machine that says the opposite of what it has learnt."""

    def predict(self, X):
        said = super().predict(X)
        return np.where(said == self.classes_[0], self.classes_[1], self.classes_[0])


def models():
    yield (
        "linear",
        LogisticRegression().fit(X, Y),
        "is linear and has no support vectors.*RuleExtractor",
    )
    yield "linear svm", LinearSVC().fit(X, Y), "LinearSVC is linear.*RuleExtractor"
    yield "forest", RandomForestClassifier(3).fit(X, Y), "no support vector machine.*SurrogateRules"
    yield "precomputed", SVC(kernel="precomputed").fit(X @ X.T, Y), "precomputed kernel.*fit it to"
    yield (
        "callable",
        SVC(kernel=lambda A, B: A @ B.T).fit(X, Y),
        "a kernel of your own.*SurrogateRules",
    )
    yield (
        "calibrated",
        CalibratedClassifierCV(SVC(), cv=2).fit(X, Y),
        "decides by probabilities.*pass the support vector machine itself",
    )
    yield "turned", make_pipeline(PCA(2), SVC()).fit(X, Y), "column 0.*scale, select or one-hot"
    yield (
        "doubled",
        make_pipeline(FeatureUnion([("a", MinMaxScaler()), ("b", StandardScaler())]), SVC()).fit(
            X, Y
        ),
        "columns 0 and 3 .* are the same column of the table; leave one",
    )
    yield (
        "bent",
        make_pipeline(PowerTransformer(), SVC()).fit(X, Y),
        "'powertransformer'.*not affine",
    )
    yield "clipped", make_pipeline(MinMaxScaler(clip=True), SVC()).fit(X, Y), "clip=True"
    yield (
        "no end",
        make_pipeline(StandardScaler(), "passthrough").fit(X, Y),
        "ends without a support",
    )
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, refit=False).fit(X, Y)
    yield "not refitted", search, "refit=False"


CASES = {name: (model, message) for name, model, message in models()}


@pytest.mark.parametrize(("model", "message"), CASES.values(), ids=CASES.keys())
def test_models_that_cannot_be_read_are_refused(model, message):
    with pytest.raises(InvalidValueError, match=message):
        read_machine(model, X @ X.T if getattr(model, "kernel", None) == "precomputed" else X)
    with pytest.raises(InvalidValueError, match=message):
        certify(model, BOX, "high")


@pytest.mark.parametrize("name", ["turned", "callable", "linear"])
def test_the_other_doors_refuse_them_as_well(name):
    model, message = CASES[name]
    with pytest.raises(InvalidValueError, match=message):
        grow_box(model, X[0])
    with pytest.raises(InvalidValueError, match=message):
        SupportVectorRules(model).fit(X, Y)


def test_a_regressor_is_no_classifier():
    with pytest.raises(InvalidValueError, match="must be a classifier, not SVR"):
        SupportVectorRules(SVR()).fit(X, Y)


@pytest.mark.parametrize("model", [SVC(), make_pipeline(StandardScaler(), SVC())])
def test_an_unfitted_machine_has_nothing_to_read(model):
    with pytest.raises(NotFittedError):
        certify(model, BOX, "high")
    with pytest.raises(NotFittedError):
        grow_box(model, X[0])
    with pytest.raises(NotFittedError):
        SupportVectorRules(model).predict(X)


def test_a_machine_that_does_not_decide_by_its_support_vectors_is_found_out():
    with pytest.raises(
        InvalidValueError, match="Contrary does not decide as its support vectors do"
    ):
        read_machine(Contrary().fit(X, Y), X)


def test_the_columns_that_are_one_are_named():
    columns = make_column_transformer((StandardScaler(), [1, 2]), (MinMaxScaler(), [2]))
    model = make_pipeline(columns, SVC()).fit(X, Y)
    # Columns 0 and 1 of the machine are x1 and x2 of the table, and column 2 is x2 again.
    with pytest.raises(InvalidValueError, match="columns 1 and 2 that reach the kernel machine"):
        read_machine(model, X)


CERTIFY = {
    "features": (Box([0.0], [1.0]), "high", {}, "box has 1 features, but the model takes 3"),
    "kind": ([[0, 1]], "high", {}, "box must be a Box, not list"),
    "class": (
        BOX,
        "hgih",
        {},
        "'hgih' is no class of the model; did you mean 'high'.*'high', 'low'",
    ),
    "endless": (Box.unbounded(3), "high", {}, "no end in 'x0'.*pass space="),
    "space": (
        BOX,
        "high",
        {"space": FeatureSpace(["x0"])},
        "space has 1 features, but the box has 3",
    ),
    "empty": (Box([0, 2, 0], [1, 1, 1]), "high", {}, "the box is empty in 'x1'"),
    "budget": (BOX, "high", {"budget": 0}, "budget must be"),
    "no number": (BOX, "high", {"budget": 2.5}, "budget must be"),
    "time": (BOX, "high", {"time_limit": -1.0}, "time_limit is -1.0"),
}


@pytest.mark.parametrize(("box", "label", "more", "message"), CERTIFY.values(), ids=CERTIFY.keys())
def test_questions_that_make_no_sense_are_refused(box, label, more, message):
    with pytest.raises(ClearmarginError, match=message):
        certify(SVC().fit(X, Y), box, label, **more)


PARAMETERS = {
    "by": ({"by": "truth"}, "by must be"),
    "anchors": ({"anchors": "some"}, "anchors must be"),
    "budget": ({"budget": 0}, "budget must be"),
    "min_coverage": ({"min_coverage": 0}, "min_coverage must be"),
    "max_rules": ({"max_rules": 0}, "max_rules must be"),
    "fallback": ({"fallback": "neares"}, "fallback must be .*not 'neares'.*did you mean 'nearest'"),
}


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS.values(), ids=PARAMETERS.keys())
def test_parameters_are_checked(parameters, message):
    with pytest.raises(InvalidValueError, match=message):
        SupportVectorRules(SVC(), **parameters).fit(X, Y)


def test_labels_are_needed_and_must_be_the_models():
    with pytest.raises(DataError, match="requires y to be passed"):
        SupportVectorRules().fit(X, None)
    with pytest.raises(DataError, match="X has 40 rows but y has 39 labels"):
        SupportVectorRules().fit(X, Y[:-1])
    fitted = SVC().fit(X, Y)
    with pytest.raises(
        DataError, match="y holds 'hig', which is no class of the model; did you mean 'high'"
    ):
        SupportVectorRules(fitted).fit(X, np.where(Y == "high", "hig", Y))


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match="sparse data is not supported"):
        SupportVectorRules().fit(sparse.csr_matrix(X), Y)
    with pytest.raises(DataError, match="sparse matrix"):
        read_machine(SVC().fit(X, Y), sparse.csr_matrix(X))
    with pytest.raises(DataError, match="X has 2 columns, but the model was fitted to 3"):
        SupportVectorRules(SVC().fit(X, Y)).fit(X[:, :2], Y)
    rules = SupportVectorRules(SVC()).fit(X, Y)
    with pytest.raises(ValueError, match="2 features"):
        rules.predict(X[:, :2])
    with pytest.raises(ValueError, match="X is a single row"):
        rules.predict(X[0])


def test_a_constant_machine_has_one_rule_or_says_why():
    y = np.array(["a"] * 39 + ["b"])
    model = SVC(C=1e-3).fit(X, y)
    assert set(model.predict(X)) == {"a"}
    rules = SupportVectorRules(model).fit(X, y)
    assert [rule.label for rule in rules.rules_] == ["a"]
    assert (rules.predict(X) == "a").all()
