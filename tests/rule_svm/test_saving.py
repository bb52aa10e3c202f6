"""A machine over rules as a file: everything that predicts comes back, exactly, and nothing in it is run."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import FixedThresholdClassifier, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clearmargin import RuleSVC
from clearmargin.exceptions import FileDamagedError, InvalidValueError
from clearmargin.models import load_model, save_model
from clearmargin.rule_svm import weighted_rules_schema
from clearmargin.rule_svm.saving import read_rule_svc, write_rule_svc
from clearmargin.rule_svm.weighted_document import is_weighted_document, load_weighted_rules


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"age": rng.integers(20, 80, 90), "job": rng.choice(["a", "b", "c"], 90)})
    y = np.where((X["age"] > 50) & (X["job"] != "a"), "yes", "no")
    y[::11] = "yes"
    X.loc[5:8, "age"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def fitted(table):
    options = {"linear": True, "rules": "age > 60 => yes", "class_weight": {"no": 1, "yes": 2}}
    return RuleSVC(max_rules=4, cv=3, progress=False, **options).fit(*table)


def test_a_machine_comes_back_as_it_was(fitted, table, tmp_path):
    X, _ = table
    path = save_model(fitted, tmp_path / "svm.json")
    back = load_model(path)
    assert back.weighted_rules_ == fitted.weighted_rules_
    assert np.array_equal(back.decision_function(X), fitted.decision_function(X))
    assert np.array_equal(back.predict_proba(X), fitted.predict_proba(X))
    assert back.predict(X).tolist() == fitted.predict(X).tolist()
    assert back.outcome_ == fitted.outcome_
    assert back.get_params() == fitted.get_params()
    for name in (
        "C_",
        "objective_",
        "gap_",
        "cap_cost_",
        "refit_C_",
        "cv_score_",
        "n_iter_",
        "vote_share_",
    ):
        assert getattr(back, name) == getattr(fitted, name)
    assert back.feature_names_in_.tolist() == ["age", "job"]
    assert load_weighted_rules(path) == fitted.weighted_rules_


def test_the_document_is_what_the_schema_says(fitted):
    document = write_rule_svc(fitted, {"target": "ill", "rows": 90})
    jsonschema.Draft202012Validator(weighted_rules_schema()).validate(document)
    assert is_weighted_document(document)
    again = read_rule_svc(json.loads(json.dumps(document)))
    assert again.facts_ == {"target": "ill", "rows": 90}
    assert write_rule_svc(again) == document


def test_numbers_that_are_unknown_stay_unknown(table, tmp_path):
    bare = RuleSVC(max_rules=2, cv=StratifiedKFold(2), certify=False, progress=False)
    bare.fit(np.arange(40.0)[:, None], np.arange(40) > 20)
    back = load_model(save_model(bare, tmp_path / "svm.json"))
    assert np.isnan(back.gap_)
    assert back.cv == 5  # a splitter is no plain data
    assert not hasattr(back, "feature_names_in_")
    assert back.classes_.tolist() == [False, True]
    assert back.predict([[3.0], [33.0]]).tolist() == [False, True]


def test_a_threshold_is_kept(fitted, table, tmp_path):
    X, y = table
    careful = FixedThresholdClassifier(fitted, threshold=-0.8, response_method="decision_function")
    careful.fit(X, y)
    back = load_model(save_model(careful, tmp_path / "careful.json"))
    assert back.predict(X).tolist() == careful.predict(X).tolist()
    assert back.weighted_rules_.threshold < 0
    value = load_model(save_model(back.weighted_rules_, tmp_path / "value.json"))
    assert value.weighted_rules_ == back.weighted_rules_


def test_steps_before_the_rules_cannot_be_kept(tmp_path):
    X, y = np.arange(40.0)[:, None], np.arange(40) > 20
    pipe = make_pipeline(StandardScaler(), RuleSVC(max_rules=1, cv=2, certify=False)).fit(X, y)
    with pytest.raises(InvalidValueError, match="changes the table before its rules with points"):
        save_model(pipe, tmp_path / "svm.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"calibration": [[1.0]]}, "'training': 'calibration' needs 1 pairs"),
        ({"parameters": {"max_rule": 3}}, "'training': there is no parameter 'max_rule'"),
        ({"trained_by": "SVC"}, "'trained_by' must be"),
        ({"figures": {"gap": "small"}}, "'gap' must be a number"),
    ],
)
def test_damaged_files_are_refused(fitted, tmp_path, change, message):
    document = write_rule_svc(fitted)
    document["training"] = {**document["training"], **change}
    path = tmp_path / "svm.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(FileDamagedError, match=rf"svm.json: .*{message}"):
        load_model(path)


def test_experts_need_a_number_each(fitted):
    document = write_rule_svc(fitted)
    document["training"]["experts"]["points"] = []
    with pytest.raises(FileDamagedError, match="0 points for 1 experts' rules"):
        read_rule_svc(document)


def test_a_machine_explains_a_case_and_reports_on_itself(fitted, table):
    X, y = table
    said = fitted.explain(X.iloc[0])
    assert said == fitted.weighted_rules_.explain(X.iloc[[0]])
    assert fitted.to_report(X, y, cv=None).to_dict()["points"]["lines"]
