"""The call in a report is whole: run on the same data, it gives the same report, byte for byte."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin import LPSVC, RankContrast, RuleExtractor, SupportVectorRules, parse_rules
from clearmargin.report import report

RNG = np.random.default_rng(3)
X = pd.DataFrame(
    {
        "age": RNG.integers(20, 80, 60),
        "bmi": RNG.normal(26, 4, 60),
        "job": RNG.choice(["a", "b"], 60),
    }
)
Y = np.where(X["age"] + 2 * X["bmi"] > 102, "ill", "well")
NUMBERS = X[["age", "bmi"]]
ENCODE = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "bmi"]))
RULES = parse_rules(
    "feature job: in {b, a}\nfeature age: integer\nage > 50 and job = a => ill [weight 2]\ntrue => well"
)

CALLS = {
    "defaults": (LPSVC(nu=0.5), NUMBERS, {}),
    "none is not the default": (
        LPSVC(nu=0.5),
        NUMBERS,
        {"cv": None, "cases": 1, "title": 'It\'s "new"'},
    ),
    "pipeline": (
        RuleExtractor(make_pipeline(ENCODE, LPSVC(nu=1.0)), max_rules=2, bounds={"age": (0, 120)}),
        X,
        {"cv": StratifiedKFold(2, shuffle=True, random_state=4), "cases": 0},
    ),
    "kernel": (
        SupportVectorRules(make_pipeline(StandardScaler(), SVC(C=3.0))),
        NUMBERS,
        {"cv": 2, "random_state": 1},
    ),
    "rules": (RULES, X, {}),
    "more": (
        LPSVC(nu=0.5),
        NUMBERS,
        {
            "cv": None,
            "advice": "age > 50 => ill",
            "contrast": RankContrast(top=0.2, bottom=0.2, max_size=1),
        },
    ),
    "long": (LPSVC(nu=0.5), NUMBERS, {"cv": None, "title": "a title " * 90}),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_makes_the_same_report_again(name):
    model, table, options = CALLS[name]
    first = report(model, table, Y, **options)
    lines = first.to_dict()["reproduce"]["call"]
    names = {"X": table, "y": Y}
    exec(lines, names)
    assert names["made"].to_json() == first.to_json()
    assert names["made"].to_html() == first.to_html()


def test_a_model_that_was_fitted_before_is_marked():
    lines = (
        report(LPSVC().fit(NUMBERS, Y), NUMBERS, cv=None)
        .to_dict()["reproduce"]["call"]
        .splitlines()
    )
    assert lines[-2] == "model = LPSVC()  # as it was given, fitted before"
    assert lines[-1] == "made = report(model, X, cv=None)"
