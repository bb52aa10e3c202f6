"""Commands with a file of rules with points: they predict, explain, change, report and export what the file holds."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from clearmargin import RuleSVC, recourse
from clearmargin.models import save_model

TASK = ("cases.csv", "--target", "ill")
CASE = (*TASK, "--model", "svm.json", "--row", "1")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 80).astype(float),
            "bmi": rng.normal(27, 4, 80).round(1),
            "job": rng.choice(["desk", "field", "none"], 80),
        }
    )
    y = np.where((X["age"] > 50) & (X["job"] != "desk") | (X["bmi"] > 32), "yes", "no")
    X.loc[[1, 7], "age"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def fitted(table):
    return RuleSVC(max_rules=4, cv=3, certify=False, progress=False).fit(*table)


@pytest.fixture
def files(folder, fitted, table):
    save_model(fitted, folder / "svm.json")
    X, y = table
    X.assign(ill=y).to_csv(folder / "cases.csv", index=False)
    return folder


@pytest.mark.parametrize("option", ["--model", "--rules"])
def test_every_row_is_predicted_also_where_values_are_missing(
    clearmargin, files, fitted, table, option
):
    shown = clearmargin("predict", "cases.csv", option, "svm.json").out
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert [row["class"] for row in rows] == fitted.predict(table[0]).tolist()
    assert [float(row["score"]) for row in rows] == fitted.decision_function(table[0]).tolist()


def test_rows_are_explained_by_points(clearmargin, files, fitted, table):
    said = clearmargin("explain", *TASK, "--model", "svm.json", "--row", "2")
    assert str(fitted.explain(table[0].iloc[[1]])) in said.out
    data = json.loads(
        clearmargin("explain", *TASK, "--model", "svm.json", "--row", "2", "--json").out
    )
    (told,) = data["explanations"]
    assert told["row"] == 2
    assert told["class"] == fitted.predict(table[0].iloc[[1]])[0]


def test_the_cheapest_change_is_that_of_the_library(clearmargin, files, fitted, table):
    X, _ = table
    words = ("--model", "svm.json", "--row", "1", "--actionable", "job", "--actionable", "age")
    data = json.loads(clearmargin("recourse", *TASK, *words, "--json").out)
    way = recourse(fitted, X.iloc[[0]], actionable=["job", "age"], X=X)
    assert data["recourse"][0]["cost"] == way.cost
    assert data["recourse"][0]["feasible"] == way.feasible


def test_points_that_were_written_as_plain_rules_are_not_taken_for_the_machine(clearmargin, files):
    words = ("rules", *TASK, "--method", "rule-svc", "--cv", "none", "--max-rules", "2")
    assert "write a .json file" in clearmargin(*words, "--out", "r.rules").err
    assert "write a .json file" not in clearmargin(*words, "--out", "r.json").err
    (files / "two.rules").write_text("age >= 50 => yes [weight 2]\nage < 50 => no\n")
    for command in (("predict", "cases.csv", "--rules"), ("export", "--to", "sql")):
        assert "these are not added up" in clearmargin(*command, "two.rules").err
        assert "added up" not in clearmargin(*command, "r.json").err


def test_new_cases_need_no_classes(clearmargin, files, fitted, table):
    X, _ = table
    X.iloc[[0]].to_csv("new.csv", index=False)
    words = ("new.csv", "--model", "svm.json", "--row", "1")
    said = clearmargin("explain", *words)
    assert f"Row 1. {fitted.explain(X.iloc[[0]])}" in said.out
    assert "right" not in said.out
    data = json.loads(clearmargin("explain", *words, "--json").out)
    assert (data["target"], data["model"]["accuracy"]) == (None, None)
    assert data["explanations"][0]["true_class"] is None
    # One case says nothing about ranges; those of the training are in the file.
    change = ("--actionable", "job", "--actionable", "age", "--json")
    found = json.loads(clearmargin("recourse", *words, *change).out)["recourse"][0]
    way = recourse(fitted, X.iloc[[0]], actionable=["job", "age"], X=X)
    assert found["cost"] == pytest.approx(way.cost)
    given = (*words, "--actionable", "age=0..200", "--json")
    assert "recourse" in json.loads(clearmargin("recourse", *given).out)


def test_a_report_is_written_of_the_file(clearmargin, files):
    said = clearmargin("report", *TASK, "--model", "svm.json", "--out", "report.html")
    assert "The model has" in said.out
    page = (files / "report.html").read_text(encoding="utf-8")
    assert "Rules with points" in page
    assert "the model was read from a file" in page
    assert "clearmargin report cases.csv" in page


@pytest.mark.parametrize("to", ["sql", "python", "pmml", "json", "text", "markdown", "latex"])
def test_rules_with_points_are_exported_from_the_file(clearmargin, files, fitted, to):
    from clearmargin.export import export

    shown = clearmargin("export", "svm.json", "--to", to).out
    assert shown.rstrip("\n") == export(fitted, to).rstrip("\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["predict", "cases.csv", "--model", "svm.json", "--default", "no"],
            "--default is for rules",
        ),
        (
            ["predict", "cases.csv", "--rules", "svm.json", "--default", "no"],
            "--default is for rules",
        ),
        (["export", "svm.json", "--to", "rules"], "the rule language has no sums"),
        (["export", "svm.json", "--to", "sql", "--default", "no"], "a class for every row"),
        (["explain", *CASE, "--kind", "largest"], "explained by what they add"),
        (["score", *TASK, "--model", "svm.json"], "this command needs a model of planes"),
        (["check", "svm.json"], "these are rules with points, whose sum decides"),
        (["explain", *CASE, "--nu", "1"], "leave out --nu"),
        (["explain", *TASK, "--model", "svm.json", "--where", "age >>"], "--where"),
        (
            ["explain", *CASE, "--save-model", "m.json"],
            "leave out --save-model",
        ),
        (["explain", "patients.csv", "--target", "outcome", *CASE[3:]], "needs column"),
    ],
)
def test_what_does_not_fit_is_refused(refused, files, words, message):
    refused(words, message)


def test_a_class_that_the_rules_do_not_know_is_named(refused, files):
    text = (files / "cases.csv").read_text().replace(",yes\n", ",maybe\n", 1)
    (files / "cases.csv").write_text(text)
    refused(["explain", *CASE], "has the class 'maybe'")
