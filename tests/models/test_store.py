"""Models that are saved and loaded decide, explain and are extracted from as before."""

from __future__ import annotations

import copy
import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from clearmargin import (
    LPSVC,
    LPSVCCV,
    AdviceSVC,
    FeatureSpace,
    ProximalSVC,
    RuleExtractor,
    RuleSet,
)
from clearmargin.datasets import load_cleveland, load_wbc
from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    FileInTheWayError,
    FileTooNewError,
    InvalidValueError,
)
from clearmargin.models import PlaneModel, load_model, save_model
from clearmargin.models.model_document import read_model, write_model

X, y = load_wbc(return_X_y=True)
ADVICE = "thick: clump_thickness >= 7 and bare_nuclei >= 5 => malignant\nbare_nuclei <= 2 => benign"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


@pytest.mark.parametrize(
    "model",
    [LPSVC(0.01), LPSVCCV(rule="1se", max_features=4, cv=3), ProximalSVC(), AdviceSVC(ADVICE)],
    ids=lambda model: type(model).__name__,
)
def test_a_plane_decides_as_before_to_the_last_bit(model, path):
    table = X.to_numpy(dtype=np.float64) if not isinstance(model, AdviceSVC) else X
    fitted = model.fit(table, y)
    loaded = load_model(save_model(fitted, path))
    rows = np.asarray(table, dtype=np.float64)
    assert np.array_equal(loaded.predict(rows), fitted.predict(table))
    assert np.array_equal(loaded.coef_, fitted.coef_)
    assert np.array_equal(loaded.intercept_, fitted.intercept_)
    if not isinstance(model, AdviceSVC):
        assert np.array_equal(loaded.decision_function(rows), fitted.decision_function(rows))


def test_an_extractor_is_saved_with_its_rules_and_extracted_from_again(path):
    extractor = RuleExtractor(LPSVC(0.004), criterion="volume").fit(X, y)
    loaded = load_model(save_model(extractor, path))
    assert loaded.rules == extractor.rules_
    assert np.array_equal(loaded.predict(X), extractor.estimator_.predict(X))
    again = RuleExtractor(loaded, criterion="volume").fit(X, y)
    assert again.rules_ == extractor.rules_
    assert np.array_equal(again.predict(X), extractor.predict(X))
    for row in (0, 5, 100):
        assert str(again.explain(X.iloc[[row]])) == str(extractor.explain(X.iloc[[row]]))
    assert load_model(save_model(again, path, overwrite=True)).facts["trained_by"] == "LPSVC"
    written = path.read_bytes()
    assert save_model(again, path, X=X, overwrite=True).read_bytes() == written


def test_advice_is_kept_before_and_after(path):
    model = AdviceSVC(ADVICE, refine="translate").fit(X, y)
    given_rules, refined = load_model(save_model(model, path)).advice
    assert given_rules == model.advice_
    assert refined == model.refined_


@pytest.fixture(scope="module")
def pain():
    data = load_cleveland("disease")
    table = data.data[["age", "thalach", "oldpeak"]].copy()
    table["cp"] = data.data["cp"].map({1: "typical", 2: "atypical", 3: "other", 4: "none"})
    encode = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["age", "thalach", "oldpeak"]),
            ("kinds", OneHotEncoder(), ["cp"]),
        ]
    )
    model = make_pipeline(encode, LPSVC(0.1)).fit(table, data.target)
    return model, table, data.target


def test_scaling_and_categories_are_multiplied_into_the_plane(pain, path):
    model, table, target = pain
    loaded = load_model(save_model(model, path, X=table))
    assert np.array_equal(loaded.predict(table), model.predict(table))
    assert np.allclose(loaded.decision_function(table), model.decision_function(table), atol=1e-12)
    assert loaded.space.categories[3] == ("atypical", "none", "other", "typical")
    assert np.array_equal(
        loaded.predict(table[["cp", "oldpeak", "age", "thalach"]]), loaded.predict(table)
    )
    first = RuleExtractor(model, max_rules=3).fit(table, target)
    again = RuleExtractor(loaded, max_rules=3).fit(table, target)
    assert [rule.label for rule in first.rules_] == [rule.label for rule in again.rules_]
    assert any(rule.region.sets for rule in again.rules_)
    assert np.array_equal(again.predict(table), model.predict(table))


def test_categories_that_are_numbers_are_found_again(path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"group": rng.integers(1, 4, 60), "x": rng.normal(size=60)})
    labels = np.where(table["group"] == 2, "b", "a")
    encode = ColumnTransformer([("kinds", OneHotEncoder(), ["group"])], remainder="passthrough")
    model = make_pipeline(encode, LPSVC()).fit(table, labels)
    loaded = load_model(save_model(model, path, X=table))
    assert np.array_equal(loaded.predict(table), labels)
    assert np.array_equal(loaded.predict(table.astype({"group": str})), labels)


def test_several_classes_keep_their_decisions(path):
    grade = np.where(X["bare_nuclei"] > 7, 3, np.where(X["clump_thickness"] > 4, 2, 1))
    table = X[["bare_nuclei", "clump_thickness", "mitoses"]]
    model = OneVsRestClassifier(LinearSVC(C=0.01)).fit(table, grade)
    loaded = load_model(save_model(model, path, X=table))
    assert loaded.classes_.tolist() == [1, 2, 3]
    assert np.array_equal(loaded.predict(table), model.predict(table))
    own, kept = model.decision_function(table), loaded.decision_function(table)
    assert np.allclose(kept, own - own[:, :1], atol=1e-9)
    rules = RuleExtractor(loaded, max_rules=3).fit(table, grade).rules_
    assert [rule.label for rule in rules] == [1, 2, 3]


def test_ties_go_where_the_model_sends_them(path):
    # A plane through whole numbers; SVC gives its ties to the second class, all others to the first.
    table, labels = np.array([[0.0], [2.0]]), np.array(["a", "b"])
    svc = SVC(kernel="linear").fit(table, labels)
    tie = np.array([[1.0]])
    assert svc.decision_function(tie) == 0
    assert load_model(save_model(svc, path, X=table)).predict(tie) == svc.predict(tie) == "b"


def test_the_positive_class_can_be_chosen():
    model = LPSVC(0.01).fit(X, y)
    turned = PlaneModel.from_estimator(model, X, positive="benign")
    assert turned.classes_.tolist() == ["malignant", "benign"]
    assert np.allclose(turned.decision_function(X), -model.decision_function(X))
    assert np.array_equal(turned.predict(X), model.predict(X))


floats = st.floats(allow_nan=False, allow_infinity=False)
labels_of_any_type = st.sampled_from([("a", "b"), (0, 1), (0.5, 1.5), (False, True), ("a", 1)])


@given(st.lists(floats, min_size=4, max_size=4), floats, labels_of_any_type)
@settings(max_examples=40)
def test_every_model_reads_back_as_it_was(weights, intercept, classes):
    space = FeatureSpace(
        ["a b", "`c`"], [-1.0, -np.inf], categories={"`c`": ["x", "y z", "ü"]}, units={"a b": "kg"}
    )
    fill = {"a b": 0.1, "`c`": "ü"}
    model = PlaneModel(
        RuleSet([], space, classes), [weights], [intercept], fill=fill, facts={"n": 3}
    )
    loaded = read_model(json.loads(json.dumps(write_model(model))))
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.intercept_.tolist() == [intercept]
    assert loaded.classes_.tolist() == list(classes)
    assert (loaded.space, loaded.fill, loaded.facts) == (space.with_fill(fill), fill, {"n": 3})
    assert loaded.imputed == fill
    known = loaded.decision_function([[0.1, "ü"]])
    assert loaded.decision_function(pd.DataFrame({"a b": [np.nan], "`c`": [None]})) == known


def test_a_model_is_a_frozen_classifier():
    model = PlaneModel.from_estimator(LPSVC(0.01).fit(X, y), X)
    assert is_classifier(model)
    assert model.fit(None, None) is model
    # A clone that kept its weights would be judged on rows that it was trained on.
    with pytest.raises(InvalidValueError, match="cannot be cloned into an untrained model"):
        clone(model)
    with pytest.raises(InvalidValueError, match="cannot be cloned"):
        cross_val_score(RuleExtractor(model), X, y)
    assert np.array_equal(copy.deepcopy(model).predict(X), model.predict(X))
    assert model.hyperplane_.decision(X.to_numpy(float)).shape == (len(X),)
    assert model.score(X, y) > 0.9


def test_what_the_model_does_not_know_is_an_error(pain):
    model, table, _ = pain
    plain = PlaneModel.from_estimator(model, table)
    unknown = table.iloc[:3].copy()
    unknown.loc[unknown.index[1], "cp"] = "new"
    with pytest.raises(DataError, match="row 2: the value of 'cp' is no category that the model"):
        plain.predict(unknown)
    gap = table.iloc[:3].copy()
    gap.loc[gap.index[2], "cp"] = None
    with pytest.raises(DataError, match="row 3: the value of 'cp' is missing"):
        plain.predict(gap)
    # A feature without weight may be missing.
    bare = PlaneModel(plain.rules, np.zeros_like(plain.coef_), plain.intercept_)
    assert len(bare.predict(gap)) == 3
    with pytest.raises(DataError, match="no column 'age'"):
        plain.predict(table.drop(columns="age"))


def test_a_loaded_model_takes_the_table_as_it_is():
    model = PlaneModel.from_estimator(LPSVC(0.01).fit(X, y), X)
    with pytest.raises(InvalidValueError, match="takes the table as it is"):
        RuleExtractor(make_pipeline(StandardScaler().fit(X), model)).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LPSVC(), "LPSVC is not fitted"),
        (RuleExtractor(), "RuleExtractor is not fitted"),
        (RidgeClassifier().fit(X, y), "RidgeClassifier cannot be saved by itself; .*X=X"),
    ],
)
def test_what_cannot_be_saved_is_said(model, message, path):
    with pytest.raises(InvalidValueError, match=message):
        save_model(model, path)
    assert not path.exists()


def test_a_vote_of_pairs_cannot_be_saved(path):
    grade = np.where(X["bare_nuclei"] > 7, 3, np.where(X["clump_thickness"] > 4, 2, 1))
    model = OneVsOneClassifier(LinearSVC(C=0.01)).fit(X, grade)
    with pytest.raises(InvalidValueError, match="a vote of pairs"):
        save_model(model, path, X=X)


def test_models_of_the_wrong_shape_cannot_be_made():
    rules = RuleSet([], FeatureSpace(["a"]), ["n", "p"])
    with pytest.raises(InvalidValueError, match="need weights of shape"):
        PlaneModel(rules, [[1.0, 2.0]], [0.0])
    with pytest.raises(InvalidValueError, match="must be finite"):
        PlaneModel(rules, [[np.inf]], [0.0])
    three = PlaneModel(RuleSet([], FeatureSpace(["a"]), [1, 2, 3]), np.eye(3)[:, :1], [0.0] * 3)
    with pytest.raises(InvalidValueError, match="3 classes has several planes"):
        _ = three.hyperplane_


def test_files_are_written_whole_or_not_at_all(path, monkeypatch):
    svm = LPSVC(0.01).fit(X, y)
    with pytest.raises(InvalidValueError, match=r"ends in .json"):
        save_model(svm, path.with_suffix(".pkl"))
    save_model(svm, path)
    before = path.read_bytes()
    with pytest.raises(FileInTheWayError, match="exists already"):
        save_model(svm, path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(LPSVC(0.02).fit(X, y), path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["model.json"]


DAMAGE = [
    ({"format": "other"}, FileDamagedError, 'no clearmargin model: "format" must be'),
    ({"version": 3}, FileTooNewError, "version 3 of the format; .* update clearmargin"),
    ({"version": True}, FileDamagedError, "whole number from 1, not True"),
    ({"version": 0}, FileDamagedError, "whole number from 1, not 0"),
    ({"extra": 1}, FileDamagedError, "unknown key 'extra'"),
    ({"planes": {}}, FileDamagedError, "'planes' must be a list"),
    ({"planes": [3]}, FileDamagedError, "plane 1 must be an object"),
    ({"planes": [{"weights": []}]}, FileDamagedError, "plane 1: 'intercept' is missing"),
    ({"planes": [{"weights": 3, "intercept": 1}]}, FileDamagedError, "'weights' must be a list"),
    (
        {"planes": [{"weights": [], "intercept": True}]},
        FileDamagedError,
        "must be a number, not Tr",
    ),
    (
        {"planes": [{"weights": [{"feature": "mitose", "weight": 1}], "intercept": 0}]},
        FileDamagedError,
        "a weight for 'mitose', which is no column; did you mean 'mitoses'",
    ),
    ({"rules": []}, FileDamagedError, "'rules' is damaged: these are no clearmargin rules"),
    ({"advice": 3}, FileDamagedError, "'advice' must be an object"),
    ({"advice": {"given": {}}}, FileDamagedError, "'refined' is missing"),
    ({"fill": {"mitoses": "many"}}, FileDamagedError, "'fill' cannot give 'many' to 'mitoses'"),
    ({"facts": []}, FileDamagedError, "'facts' must be an object"),
]


@pytest.mark.parametrize(("change", "error", "message"), DAMAGE)
def test_damage_is_named_with_the_file(change, error, message, path):
    save_model(LPSVC(0.01).fit(X, y), path)
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, **change}))
    with pytest.raises(error, match=f"model.json: .*{message}"):
        load_model(path)


def test_what_is_no_json_is_named(path):
    path.write_text('{"format": "clear')
    with pytest.raises(FileDamagedError, match=r"model.json is not valid JSON"):
        load_model(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileDamagedError, match="is not UTF-8 text"):
        load_model(path)
    path.write_text("[" * 100_000)
    with pytest.raises(FileDamagedError, match="is not valid JSON"):
        load_model(path)
