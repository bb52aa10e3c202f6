"""Work in processes of its own: what each kind finds, checked on the table itself, and given as plain data."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from tests.workbench.benches import RULES, keep_trained, open_project, patients, reopened

from clearmargin.exceptions import DataError
from clearmargin.language import read_rule_text
from clearmargin.workbench import trained_machine, work
from clearmargin.workbench.bound_suggestions import suggest_bounds

TABLE = patients(130, seed=21, gaps=True)
TASK = {"target": "state", "missing": "drop", "positive": "ill"}
FORMS = {"same", "not run", "not offered"}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Projects whose newest version has each kind of machine; rows that lack a value are left out."""
    folder = tmp_path_factory.mktemp("machines")
    made = {}
    with open_project(folder, TABLE, task=TASK) as bench:
        bench.keep(RULES, why="w", base=1, settings={"lam": 1.0, "mu": 1.0})
        bench.start("extract")
        for machine in ("constraints", "points", "card"):
            if machine != "constraints":
                keep_trained(bench, machine)
            made[machine] = folder / f"{machine}.copy"
            bench.file.save_copy(made[machine])
    return made


@pytest.fixture
def project(paths, tmp_path):
    """Opens a copy of a project with some machine."""
    opened = []

    def open_with(machine):
        path = tmp_path / f"{machine}.clearmargin"
        shutil.copy(paths[machine], path)
        context = reopened(path)
        opened.append(context)
        return context.__enter__()

    yield open_with
    for context in opened:
        context.__exit__(None, None, None)


def run(bench, kind, **given):
    revision = given.pop("revision", bench.head.id)
    answer = work.run(kind, {"project": str(bench.file.path), "revision": revision, **given})
    assert answer["seconds"] >= 0
    # As it goes through a pipe and into the file.
    return json.loads(json.dumps(answer["results"], allow_nan=False))


def table_row(row):
    return {name: values[row - 1] for name, values in TABLE.items()}


def covers(text, case, opened):
    """Whether a rule covers a case, read from its text."""
    written = read_rule_text(text, opened.space, opened.classes)
    assert not written.mistakes, text
    codes = [
        case[name] if names is None else names.index(case[name])
        for name, names in zip(opened.space.names, opened.space.categories, strict=True)
    ]
    return bool(written.rules.covers(np.array([codes], dtype=float))[0, 0])


def test_what_there_is_not_is_refused_in_words(project):
    bench = project("constraints")
    with pytest.raises(DataError, match="there is no work called 'magic'"):
        run(bench, "magic")


@pytest.mark.parametrize("kind", ["extract", "refine", "report", "exports"])
def test_work_on_a_machine_waits_for_it(project, kind, monkeypatch):
    bench = project("constraints")
    monkeypatch.setattr(bench.jobs, "start", lambda *_: None)
    bench.keep(RULES, why="not trained", base=bench.head.id)
    if kind == "exports":
        told = run(bench, kind)["exports"]
        assert "wait until" in told["machine"]["problem"]
        return
    with pytest.raises(DataError, match="wait until the machine of the newest version is trained"):
        run(bench, kind)


def test_nothing_is_written(project):
    bench = project("constraints")
    before = bench.file.path.read_bytes()
    run(bench, "refine")
    assert bench.file.path.read_bytes() == before


def test_a_new_text_is_trained_with_the_costs_that_were_chosen_before(tmp_path, monkeypatch):
    with open_project(tmp_path, patients(70, seed=2), task={"target": "state"}) as bench:
        first = bench.file.results(1)
        searched = []
        real = trained_machine.inner_folds
        monkeypatch.setattr(
            trained_machine, "inner_folds", lambda *a: searched.append(a) or real(*a)
        )
        bench.keep(RULES, why="w", base=1)
        assert searched == []
        second = bench.file.results(2)
        assert second["validated"]["costs"] == first["validated"]["costs"]
        # Where people ask for it, costs are chosen anew: by the whole, and by each fold.
        bench.start("train", {"choose": True})
        assert len(searched) == 1 + len(second["validated"]["costs"])


def test_what_a_training_keeps(project):
    bench = project("constraints")
    told = run(bench, "train")
    assert told["model"]["features"] == bench.version().machine.planes.features_used
    assert [fact["name"] for fact in told["model"]["outcome"]] == ["old", "red", "young"]
    assert told["validated"]["rows"] == len(bench.version().opened.codes)


@pytest.mark.parametrize("options", [{}, {"assume_ranges": True}, {"short": True}])
def test_extracted_rules_hold_for_the_machine_on_every_case_and_can_be_taken_over(project, options):
    bench = project("constraints")
    version = bench.version()
    opened = version.opened
    told = run(bench, "extract", **options)["rules"]
    assert told["kind"] == "proved"
    assert told["lines"]
    names = [str(label) for label in opened.classes]
    machine = [names[code] for code in version.judge.predictions.codes]
    for line in told["lines"]:
        assert line["proof"] == "proved"
        inside = [
            k for k, row in enumerate(opened.rows) if covers(line["text"], table_row(row), opened)
        ]
        assert line["covered"] == len(inside)
        assert line["right"] == sum(opened.task.y[k] == line["label"] for k in inside)
        assert all(machine[k] == line["label"] for k in inside)
    text = "\n".join(line["text"] for line in told["lines"])
    assert bench.check(text)["errors"] == []
    # What is said to be proved is found to be so by those who check rules.
    kinds = {rule["standing"]["kind"] for rule in bench.check(text)["rules"]}
    assert kinds <= {"proved", "within ranges"}


def test_short_rules_are_proved_of_a_plane_of_few_features_and_say_so(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=90).round(2) for j in range(5)}
    score = sum(columns.values())
    columns["y"] = np.where(score > 0, "a", "b").astype(object)
    with open_project(tmp_path, columns, task={"target": "y"}) as bench:
        assert len(bench.version().machine.planes.features_used) > 3
        told = run(bench, "extract", short=True)["rules"]
        assert told["kind"] == "distilled"
        assert told["words"].startswith("Not of the machine itself")
        text = "\n".join(line["text"] for line in told["lines"])
        used = {name for line in bench.check(text)["rules"] for name in line["box"]}
        assert 0 < len(used) <= 3
        assert all(line["proof"] != "proved" for line in told["lines"])


def test_of_few_features_as_many_rules_as_were_asked_for(project):
    assert len(run(project("constraints"), "extract", max_rules=2)["rules"]["lines"]) <= 2


@pytest.mark.parametrize("machine", ["points", "card"])
def test_rules_with_points_can_be_taken_over(project, machine):
    bench = project(machine)
    told = run(bench, "extract")["rules"]
    assert told["kind"] == "points"
    weighted = bench.version().machine.weighted
    assert len(told["lines"]) == len(weighted.rules) > 0
    for line in told["lines"]:
        assert line["label"] == (
            "ill" if (line["points"] > 0) == (weighted.classes[-1] == "ill") else "well"
        )
    text = "\n".join(line["text"] for line in told["lines"])
    assert bench.check(text)["errors"] == []


def test_refinement_is_what_is_suggested_and_can_be_accepted(project):
    bench = project("constraints")
    opened = bench.version().opened
    text = "old: age >= 75 => ill\nlow: dose <= 0.3 => well\n"
    told = run(bench, "refine", text=text)["refined"]
    assert told["text"] == text
    rules = read_rule_text(text, opened.space, opened.classes).rules
    assert told["bounds"] == [s.to_dict() for s in suggest_bounds(opened, rules)]
    assert told["bounds"]
    for change in told["bounds"]:
        edited = bench.edit(
            text, change["rule"], change["feature"], change["side"], change["after"]
        )
        assert bench.check(edited)["errors"] == []
    for change in told["rules"]:
        assert bench.check(change["after"])["errors"] == []


def test_there_is_nothing_to_refine_without_rules(project):
    with pytest.raises(DataError, match="there is no rule to refine; write one first"):
        run(project("constraints"), "refine", text="# nothing")


@pytest.mark.parametrize("share", [0.1, 0.25])
def test_a_ranking_names_rows_of_the_file(project, share):
    bench = project("constraints")
    opened = bench.version().opened
    # Sealed rows and rows that lack a value are between them.
    assert len(opened.rows) < len(bench.table.open_rows) < len(TABLE["age"])
    told = run(bench, "contrast", share=share)["contrast"]
    assert told["share"] == share
    ends = {end: told[f"{end}_rows"] for end in ("top", "bottom")}
    for rows in ends.values():
        assert abs(len(rows) - share * len(opened.rows)) <= 1
        assert set(rows) <= set(opened.rows.tolist())
    # The ends are those of the classes, and counts are those of the rows that are named.
    ill = {
        end: np.mean([table_row(r)["state"] == "ill" for r in rows]) for end, rows in ends.items()
    }
    assert abs(ill["top"] - ill["bottom"]) > 0.5
    simple = [p for p in told["properties"] if p["property"] == "colour = red"]
    for found in simple:
        for end, rows in ends.items():
            counted = sum(table_row(row)["colour"] == "red" for row in rows)
            assert found[f"{end}_count"] == counted
    assert told["properties"]


def test_a_report_is_a_page_of_its_own(project):
    for machine in ("constraints", "points"):
        html = run(project(machine), "report")["report"]["html"]
        assert html.lstrip().lower().startswith("<!doctype html>")
        assert "<script" not in html


@pytest.mark.parametrize("machine", ["constraints", "points", "card"])
def test_every_form_says_the_same(project, machine):
    bench = project(machine)
    if machine == "constraints":
        bench.start("extract")
    told = run(bench, "exports")["exports"]
    assert set(told) == {"mine", "machine"}
    for forms in told.values():
        assert {form["state"] for form in forms.values()} <= FORMS
        assert forms["sql-sqlite"]["state"] == forms["python"]["state"] == "same"
        assert forms["json"]["state"] == forms["sql-duckdb"]["state"] == "same"


def test_forms_of_rules_that_were_not_extracted_say_what_to_do(project):
    bench = project("constraints")
    bench.keep(RULES + "\n", why="again", base=bench.head.id)
    told = run(bench, "exports")["exports"]
    assert "extract the rules of the machine first" in told["machine"]["problem"]
    bench.keep("", why="none", base=bench.head.id)
    assert "has no rules of yours" in run(bench, "exports")["exports"]["mine"]["problem"]


def test_a_preview_is_the_figure_of_a_full_training(project):
    bench = project("constraints")
    told = run(bench, "preview", text=RULES, settings={"lam": 1.0, "mu": 1.0}, serial=4)["preview"]
    validated = bench.version().validated
    assert told["codes"] == trained_machine.pack_codes(validated.codes)
    assert (told["right"], told["serial"], told["text"]) == (validated.right, 4, RULES)
