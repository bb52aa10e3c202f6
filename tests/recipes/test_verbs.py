"""The verbs without a command line: from a file to what people take away, each value ready for JSON."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pytest

from clearmargin import recipes, save_model
from clearmargin.exceptions import ClearmarginError, DataError, InvalidValueError
from clearmargin.tables.files import FileTable, read_file


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
    assert found.rules.predict(table.table).tolist() == [0] * 12 + [1] * 12


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


def test_a_missing_class_changes_nothing_about_the_others(tmp_path):
    """A column of whole numbers with a missing value holds floats."""
    lines = [f"{20 + 2 * k},{k >= 12:d}\n" for k in range(24)]
    (tmp_path / "all.csv").write_text("age,ill\n" + "".join(lines[1:]))
    (tmp_path / "gap.csv").write_text("age,ill\n20,\n" + "".join(lines[1:]))
    for name, cut in (("old", 50), ("new", 44)):
        (tmp_path / f"{name}.rules").write_text(f"age >= {cut} => 1\nage < {cut} => 0\n")
    old, new = (str(tmp_path / f"{name}.rules") for name in ("old", "new"))
    every, gap = (read_file(tmp_path / f"{name}.csv") for name in ("all", "gap"))
    without = recipes.compare_files(old, new, table=every, target="ill").to_dict()["answers"]
    compared = recipes.compare_files(old, new, table=gap, target="ill")
    assert "1 row without a value of 'ill' left out" in compared.notes
    assert compared.to_dict()["answers"] == without | {"first_rows": [13, 14, 15]}
    assert without["right"] == [20, 23]
    assert recipes.check_rules(new, gap, "ill").to_dict() == (
        recipes.check_rules(new, every, "ill").to_dict()
    )
    assert recipes.make_task(gap, "ill", missing="drop", cv=None).counts == {0: 11, 1: 12}


def test_models_without_rules_are_compared_by_their_answers(files, table, task, trained):
    path = str(save_model(trained.model, files / "plain.json"))
    expert = str(files / "expert.rules")
    compared = recipes.compare_files(expert, path, table=table)
    assert set(compared.notes) == {
        f"{path} is a model without rules: only its answers are compared",
        f"the rules of {expert} have no figures from before; .json files keep them, .rules files do not",
        "without classes of the rows (target) only differences are counted",
    }
    assert compared.to_dict()["answers"]["answered_otherwise"] == 10
    with pytest.raises(DataError, match="without rules, and can only be compared on a table, with"):
        recipes.compare_files(path, table=table)
    empty = FileTable("t", {"age": np.arange(3.0), "ill": np.array([None] * 3, dtype=object)})
    with pytest.raises(DataError, match="the target 'ill' has no value in any row"):
        recipes.compare_files(expert, path, table=empty, target="ill")


def test_rows_without_any_known_value_have_no_class(trained):
    unknown = FileTable("t", {"age": np.full(2, np.nan), "smoker": np.array(["no"] * 2, object)})
    predicted = recipes.predict_by_model(unknown, trained.model).to_dict()["predictions"]
    assert [(row["class"], row["score"]) for row in predicted] == [(None, None)] * 2


def test_a_fold_in_which_nothing_is_known_of_a_feature_has_the_value_of_the_whole_table():
    age = np.array([np.nan, np.nan, np.nan, 30.0, 40.0, 50.0])
    named = FileTable("t", {"age": age, "ill": np.array([*"ababab"], dtype=object)})
    task = recipes.make_task(named, "ill", missing="impute", cv=None)
    assert task.part(np.arange(3)).X.values("age").tolist() == [40.0] * 3
    assert task.part(np.arange(2, 5)).X.values("age").tolist() == [35.0, 30.0, 40.0]


def test_rows_are_found_by_names_that_are_no_words(tmp_path):
    names = [f"P-{k:02d}" for k in range(6)]
    columns = {"patient": names, "kind": [*"uvuvuv"], "ill": [*"ababab"]}
    named = FileTable("t", {name: np.array(v, dtype=object) for name, v in columns.items()})
    named = FileTable("t", {**named.columns, "age": np.arange(6)})
    task = recipes.make_task(named, "ill", cv=None)
    assert recipes.choose_rows(task, where="patient = P-03")[0].tolist() == [3]
    assert recipes.choose_rows(task, where="kind = u and age > 1")[0].tolist() == [2, 4]
    with pytest.raises(DataError, match="where: no row has patient = P-99"):
        recipes.choose_rows(task, where="patient = P-99")
    with pytest.raises(
        ClearmarginError, match="unknown category 'w' of 'kind'; known are 'u', 'v'"
    ):
        recipes.choose_rows(task, where="kind = w")


def test_a_change_may_be_asked_for_by_rank_and_a_card_by_points(task, trained):
    (change,) = recipes.find_changes(trained, np.array([20]), {"age": "any"}, rank=10).changes
    assert change.to_dict()["target"] == {"rank": 10}
    assert change.to_dict()["rank_after"] > 10
    card = recipes.score_table(task, trained.model, max_points=1).card
    for _, lines in groupby(card.lines(), key=itemgetter(0)):
        points = [line[2] for line in lines]
        assert all(abs(a - b) <= 1 for a, b in pairwise(points))


def test_what_cannot_be_trained_is_said():
    columns = {"age": np.arange(20, 68, 2), "ill": np.array(["no"] * 23 + ["yes"], dtype=object)}
    task = recipes.make_task(FileTable("t", columns), "ill", cv=None)
    rule = "age >= 60 => yes"
    with pytest.raises(DataError, match=r"no machine 'lpsvm'; there are .*; did you mean 'lp-svm'"):
        recipes.train(task, "lpsvm")
    with pytest.raises(DataError, match="machine='advice-blend' needs two rows of each class"):
        recipes.train(task, "advice-blend", advice=rule)
    tuned = recipes.AdviceOptions(tune=True)
    with pytest.raises(DataError, match="tune needs two rows of each class at least; leave it out"):
        recipes.train(task, "advice", advice=rule, advice_options=tuned)
    columns["age"] = np.append(np.arange(23.0), np.nan)
    with pytest.raises(DataError, match="without the rows that lack a value, only the class 'no'"):
        recipes.make_task(FileTable("t", columns), "ill", missing="drop", cv=None)
    columns["ill"] = np.array([None] * 24, dtype=object)
    with pytest.raises(DataError, match="the target 'ill' has no value in any row"):
        recipes.make_task(FileTable("t", columns), "ill", cv=None)


def test_what_cannot_be_done_is_said_by_an_exception_of_ours(table, task, trained):
    with pytest.raises(DataError, match="has no column 'il'; did you mean 'ill'"):
        recipes.make_task(table, "il")
    with pytest.raises(DataError, match="no feature of the model; did you mean 'age'"):
        recipes.find_changes(trained, [0], {"agee": "any"})
    with pytest.raises(DataError, match="needs rules, too"):
        recipes.train(task, "advice")
