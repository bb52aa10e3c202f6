"""The verbs without a command line: from a file to what people take away, each value ready for JSON."""

from __future__ import annotations

import json

import pytest

from clearmargin import recipes
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.tables.files import read_file


def as_json(value):
    """What a web page would get; raises for what JSON has no word for."""
    return json.loads(json.dumps(value.to_dict(), allow_nan=False))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("recipes") / "patients.csv"
    rows = (f"{20 + 2 * k},{['no', 'yes'][k % 2]},{k >= 12:d}\n" for k in range(24))
    file.write_text("age,smoker,ill\n" + "".join(rows))
    return read_file(file)


@pytest.fixture(scope="module")
def task(table):
    return recipes.make_task(table, "ill", positive="1", cv=2)


@pytest.fixture(scope="module")
def trained(task):
    return recipes.train(task, plane=recipes.PlaneOptions(nu=1.0))


@pytest.fixture(scope="module")
def found(trained):
    return recipes.find_rules(trained)


@pytest.fixture
def files(tmp_path, found):
    found.rules.save(tmp_path / "found.json")
    (tmp_path / "expert.rules").write_text("age >= 50 => 1\nage < 30 => 0\n")
    return tmp_path


def test_a_task_says_what_it_is_about(task):
    assert as_json(task)["classes"] == [{"class": 1, "rows": 12}, {"class": 0, "rows": 12}]
    assert as_json(task)["features"] == ["age", "smoker"]
    assert task.positive == 1


def test_a_model_its_rules_and_its_judgement_are_ready_for_json(table, trained, found):
    assert as_json(trained)["model"]["trained_by"] == "LPSVC"
    judged = recipes.judge_on_unseen_rows(trained)
    assert as_json(judged).keys() >= as_json(trained).keys()
    rules = as_json(found)["rules"]
    assert {rule["label"] for rule in rules["rules"]} <= {0, 1}
    assert found.rules.predict(table.frame).tolist() == [0] * 12 + [1] * 12


def test_rules_and_model_predict_the_same(table, trained, found):
    by_model = recipes.predict_by_model(table, trained.model)
    by_rules = recipes.predict_by_rules(table, found.rules, default="0")
    assert [row["class"] for row in as_json(by_model)["predictions"]] == [0] * 12 + [1] * 12
    assert [row["class"] for row in as_json(by_rules)["predictions"]] == [0] * 12 + [1] * 12
    assert by_rules.to_csv().splitlines()[:2] == ["row,class,rule", "1,0,1"]


def test_a_case_is_explained_and_its_cheapest_change_found(task, trained, found):
    positions, notes = recipes.choose_rows(task, where="age >= 44 and age <= 46")
    assert positions.tolist() == [12, 13]
    assert notes == ()
    explained = as_json(recipes.explain_rows(found, positions))
    assert [case["row"] for case in explained["explanations"]] == [13, 14]
    changed = as_json(recipes.find_changes(trained, positions[:1], {"age": "any"}, goal="0"))
    (change,) = changed["recourse"][0]["changes"]
    assert (change["feature"], change["after"]) == ("age", 42)


def test_cards_trees_and_rankings_are_ready_for_json(table, trained, task):
    assert as_json(recipes.score_table(task, trained.model, max_cuts=2))["card"]
    plain = recipes.make_task(table, "ill", cv=None)
    assert as_json(recipes.grow_tree(plain))["rules"]
    ranked = recipes.rank_rows(plain, top=6, bottom=6, cv=None)
    assert any("age" in str(entry) for entry in as_json(ranked)["properties"])


def test_files_of_rules_are_checked_compared_and_taken_as_advice(files, table, task):
    expert, old = str(files / "expert.rules"), str(files / "found.json")
    assert as_json(recipes.check_rules(expert, table, "ill"))["ok"] is True
    compared = as_json(recipes.compare_files(old, expert, table=table, target="ill"))
    assert compared["answers"]["rows"] == 24
    advised = recipes.advise(task, expert)
    assert len(as_json(advised)["outcome"]) == 2


def test_rules_are_exported_as_text_and_as_files(files, found):
    shown = recipes.export_rules(found.rules, "sql", default="0", dialect="sqlite")
    assert as_json(shown) == {"rules": len(found.rules), "to": "sql", "text": shown.text}
    written = recipes.export_rules(found.rules, "xlsx", out=files / "r.xlsx")
    assert written.text == ""
    assert (files / "r.xlsx").read_bytes().startswith(b"PK")


def test_a_default_that_is_no_class_is_refused_in_the_same_words_by_all_verbs(table, found):
    message = "default='2' is no class of the rules; known are '0', '1'"
    with pytest.raises(InvalidValueError, match=message):
        recipes.predict_by_rules(table, found.rules, default="2")
    with pytest.raises(InvalidValueError, match=message):
        recipes.export_rules(found.rules, "sql", default="2")
    with pytest.raises(InvalidValueError, match=r"'xlsx' is a file; name it: out='rules.xlsx'"):
        recipes.export_rules(found.rules, "xlsx")


def test_what_cannot_be_done_is_said_by_an_exception_of_ours(table, task, trained):
    with pytest.raises(DataError, match="has no column 'il'; did you mean 'ill'"):
        recipes.make_task(table, "il")
    with pytest.raises(DataError, match="no feature of the model; did you mean 'age'"):
        recipes.find_changes(trained, [0], {"agee": "any"})
    with pytest.raises(DataError, match="needs rules, too"):
        recipes.train(task, "advice")
