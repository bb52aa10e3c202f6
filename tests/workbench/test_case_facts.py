"""Cases: filters and what is said of one case, each by looking at the table itself."""

from __future__ import annotations

import json
import math
import shutil

import numpy as np
import pytest
from tests.workbench.benches import keep_trained, open_project, patients, reopened

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language import read_rule_text
from clearmargin.workbench import case_facts as module
from clearmargin.workbench.case_facts import (
    FILTERS,
    SORTS,
    CaseQuery,
    case_facts,
    explained_case,
    find_cases,
    read_case_values,
    recourse_for,
    turning_points,
    what_if,
)

TABLE = patients(110, seed=31, gaps=True)
ACTIONS = {
    "age": {"direction": "down", "cost": 1.0},
    "dose": {"direction": "any", "cost": 20.0},
    "colour": {"direction": "any", "cost": 3.0},
}
TASK = {"target": "state", "missing": "impute", "positive": "ill", "actions": ACTIONS}
TEXT = "old: age >= 55 => ill\nyoung: age <= 60 => well\nred: colour = red => ill\n"
MACHINES = ["constraints", "points", "card"]


@pytest.fixture(scope="module")
def benches(tmp_path_factory):
    """Open projects whose newest version has each kind of machine."""
    folder = tmp_path_factory.mktemp("cases")
    with open_project(folder, TABLE, task=TASK) as bench:
        bench.keep(TEXT, why="w", base=1, settings={"lam": 1.0, "mu": 1.0})
        copies = {"constraints": folder / "constraints.clearmargin"}
        for machine in MACHINES:
            if machine != "constraints":
                keep_trained(bench, machine, TEXT)
            copies[machine] = folder / f"{machine}.clearmargin"
            bench.file.save_copy(copies[machine])
    contexts = {machine: reopened(path) for machine, path in copies.items()}
    yield {machine: context.__enter__() for machine, context in contexts.items()}
    for context in contexts.values():
        context.__exit__(None, None, None)


@pytest.fixture
def bench(benches):
    return benches["constraints"]


# Which cases.


def rows_of(bench, text=TEXT, **query):
    found = find_cases(bench, bench.version(), text, CaseQuery(**query))
    pages = [
        find_cases(bench, bench.version(), text, CaseQuery(**{**query, "page": k + 1}))
        for k in range(found["pages"])
    ]
    rows = [case["row"] for page in pages for case in page["cases"]]
    assert len(rows) == found["total"]
    return rows


def labels_saying(case):
    """What each rule of the text says of a case, as plain code."""
    said = []
    if case["age"] >= 55:
        said.append("ill")
    if case["age"] <= 60:
        said.append("well")
    if case["colour"] == "red":
        said.append("ill")
    return said


@pytest.mark.parametrize("which", FILTERS)
def test_each_filter_finds_what_a_plain_loop_finds(bench, which):
    version = bench.version()
    opened = version.opened
    names = [str(label) for label in opened.classes]
    before = bench.version(1).validated.codes
    wanted = []
    for k, row in enumerate(opened.rows.tolist()):
        said, machine = labels_saying(opened.case(k)), names[version.judge.predictions.codes[k]]
        unseen = version.validated.codes[k]
        is_in = {
            "all": True,
            "wrong": names[unseen] != TABLE["state"][row - 1],
            "disagree": any(label != machine for label in said),
            "uncovered": not said,
            "clash": len(set(said)) > 1,
            "flips": unseen != before[k],
        }[which]
        if is_in:
            wanted.append(row)
    assert rows_of(bench, which=which) == wanted
    assert wanted or which == "uncovered"


@pytest.mark.parametrize("against", [False, True])
@pytest.mark.parametrize("rule", [0, 1, 2])
def test_cases_of_a_rule_are_those_that_it_covers(bench, rule, against):
    opened = bench.version().opened
    label = ["ill", "well", "ill"][rule]
    condition = [
        lambda c: c["age"] >= 55,
        lambda c: c["age"] <= 60,
        lambda c: c["colour"] == "red",
    ][rule]
    wanted = [
        row
        for k, row in enumerate(opened.rows.tolist())
        if condition(opened.case(k)) and (not against or TABLE["state"][row - 1] != label)
    ]
    assert rows_of(bench, rule=rule, against=against) == wanted


def test_filters_of_rules_speak_of_the_text_that_is_being_written(bench):
    assert rows_of(bench, "age >= 70 => ill", rule=0) == [
        row for row in bench.version().opened.rows.tolist() if TABLE["age"][row - 1] >= 70
    ]


def test_cases_are_sorted_as_people_ask(bench):
    predictions, opened = bench.version().judge.predictions, bench.version().opened
    scores = dict(zip(opened.rows.tolist(), predictions.scores.tolist(), strict=True))
    by_row, near, high = (rows_of(bench, sort=sort) for sort in SORTS)
    assert by_row == sorted(scores)
    assert [abs(scores[r]) for r in near] == sorted(abs(s) for s in scores.values())
    assert [scores[r] for r in high] == sorted(scores.values(), reverse=True)


def test_pages_hold_every_case_once(bench, monkeypatch):
    monkeypatch.setattr(module, "PAGE", 7)
    rows = rows_of(bench)
    assert rows == bench.version().opened.rows.tolist()
    last = find_cases(bench, bench.version(), TEXT, CaseQuery(page=10**9))
    assert last["page"] == last["pages"] == math.ceil(len(rows) / 7)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"which": "best"}, "which must be one of all, wrong"),
        ({"sort": "up"}, "sort must be one of row, boundary, score"),
        ({"rule": "first"}, "rule and page are whole numbers"),
        ({"page": "1.5"}, "rule and page are whole numbers"),
        ({"rule": "\N{SUPERSCRIPT TWO}"}, "rule and page are whole numbers"),
        ({"rule": "9" * 5000}, "rule and page are whole numbers"),
    ],
)
def test_a_query_that_cannot_be_is_refused_in_words(given, words):
    with pytest.raises(InvalidValueError, match=words):
        CaseQuery.read(given)


@pytest.mark.parametrize("rule", [-1, 3, 10**30])
def test_a_rule_that_is_not_there_is_refused_in_words(bench, rule):
    with pytest.raises(InvalidValueError, match="there are 3 rules"):
        find_cases(bench, bench.version(), TEXT, CaseQuery(rule=rule))


def test_a_query_is_read_from_an_address():
    query = CaseQuery.read(
        {"which": "wrong", "rule": "2", "against": "1", "sort": "score", "page": "3"}
    )
    assert query == CaseQuery("wrong", 2, True, "score", 3)
    assert CaseQuery.read({}) == CaseQuery.read({"page": "", "rule": ""}) == CaseQuery()
    assert CaseQuery.read({"page": "-4"}).page == 1


def test_without_a_machine_people_are_told_to_wait(tmp_path):
    with open_project(tmp_path, patients(40)) as bench:
        bench.jobs.start = lambda *_: None
        bench.set_task({"target": "state"})
        for which in ("wrong", "disagree"):
            with pytest.raises(DataError, match="wait until the machine is trained"):
                find_cases(bench, bench.version(), TEXT, CaseQuery(which))
        version = bench.version()
        row = int(version.opened.rows[0])
        facts = case_facts(version, row, TEXT)
        assert (facts["machine"], facts["neighbour"], facts["turns"]) == (None, None, {})
        for ask in (explained_case, recourse_for, lambda v, r: what_if(v, r, {})):
            with pytest.raises(DataError, match="wait until the machine is trained"):
                ask(version, row)


# One case.


@pytest.mark.parametrize("machine", MACHINES)
def test_a_case_that_is_not_changed_is_what_it_is(benches, machine):
    version = benches[machine].version()
    predictions = version.judge.predictions
    for k, row in enumerate(version.opened.rows.tolist()):
        told = what_if(version, row, {})
        assert told["code"] == predictions.codes[k]
        assert told["score"] == pytest.approx(predictions.scores[k])
        assert told["label"] == str(version.opened.classes[told["code"]])


@pytest.mark.parametrize("machine", MACHINES)
def test_a_case_with_other_values_is_what_the_machine_says_of_them(benches, machine):
    version = benches[machine].version()
    opened = version.opened
    table = version.machine.table(opened.task)
    for k in range(0, len(opened.rows), 9):
        row = int(opened.rows[k])
        changed = {"age": 33, "colour": "green"}
        case = {c.name: c.values.copy() for c in table.take(np.array([k])).all_columns()}
        case["age"], case["colour"] = np.array([33.0]), np.array(["green"], dtype=object)
        told = what_if(version, row, {"age": "33", "colour": "green"})
        assert told == what_if(version, row, changed)
        assert told["label"] == str(version.machine.model.predict(case)[0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"agee": 3}, "there is no feature 'agee'; did you mean 'age'"),
        ({"age": "old"}, "age must be a number, not 'old'"),
        ({"age": None}, "age must be a number"),
        ({"age": [3]}, "age must be a number"),
        ({"age": "nan"}, "age must be a finite number"),
        ({"age": "1e999"}, "age must be a finite number"),
        ({"age": 10**400}, "age must be a number"),
        ({"colour": "pink"}, "'pink' is no category of 'colour'"),
        ({"colour": 3}, "3 is no category of 'colour'"),
        ({"state": "ill"}, "there is no feature 'state'"),
    ],
)
def test_values_that_cannot_be_are_refused_in_words(bench, given, words):
    version = bench.version()
    with pytest.raises(InvalidValueError, match=words):
        read_case_values(version, int(version.opened.rows[0]), given)


def test_gaps_of_a_case_are_named(bench):
    version = bench.version()
    for row in version.opened.rows.tolist():
        facts = case_facts(version, row, TEXT)
        gaps = [n for n in ("colour", "age", "dose") if str(TABLE[n][row - 1]) in ("None", "nan")]
        assert facts["gaps"] == gaps
        json.dumps(facts, allow_nan=False)


def test_rules_that_cover_a_case_are_told_right_or_wrong(bench):
    version = bench.version()
    for k, row in enumerate(version.opened.rows.tolist()):
        told = case_facts(version, row, TEXT)
        truth = TABLE["state"][row - 1]
        assert told["truth"] == truth
        assert [r["label"] for r in told["rules"]] == labels_saying(version.opened.case(k))
        assert all(r["is_right"] == (r["label"] == truth) for r in told["rules"])


def test_the_nearest_case_of_the_other_class_is_that_of_a_plain_search(bench):
    version = bench.version()
    opened, codes = version.opened, version.judge.predictions.codes
    low, high = opened.space.lower, opened.space.upper
    cases = [opened.case(k) for k in range(len(codes))]
    for k in range(0, len(codes), 7):
        told = case_facts(version, int(opened.rows[k]), TEXT)["neighbour"]
        distances = {}
        for other, case in enumerate(cases):
            if codes[other] != codes[k]:
                apart = (case["colour"] != cases[k]["colour"]) ** 2
                for j, name in ((1, "age"), (2, "dose")):
                    apart += ((case[name] - cases[k][name]) / (high[j] - low[j])) ** 2
                distances[int(opened.rows[other])] = apart
        assert distances[told] == pytest.approx(min(distances.values()))


def test_beyond_its_turning_points_a_case_gets_the_other_class(bench):
    version = bench.version()
    opened = version.opened
    found = 0
    for row in opened.rows.tolist():
        case = read_case_values(version, row, {})
        now = what_if(version, row, {})["code"]
        for name, place in turning_points(version, case).items():
            j = opened.space.index(name)
            assert opened.space.lower[j] <= place <= opened.space.upper[j]
            value = float(case.column(name).values[0])
            up = place > value
            if opened.space.integer[j]:
                # The first whole number that turns it.
                beyond, before = place, place - (1 if up else -1)
            else:
                step = 1e-6 if up else -1e-6
                beyond, before = place + step, place - step
            assert what_if(version, row, {name: beyond})["code"] != now
            assert what_if(version, row, {name: before})["code"] == now
            found += 1
    assert found > 20


def test_machines_that_are_no_planes_have_no_turning_points(benches):
    version = benches["points"].version()
    row = int(version.opened.rows[0])
    assert turning_points(version, read_case_values(version, row, {})) == {}


@pytest.mark.parametrize("machine", MACHINES)
def test_an_explanation_is_a_rule_that_covers_the_case_and_can_be_taken_over(benches, machine):
    bench = benches[machine]
    version = bench.version()
    opened = version.opened
    table = version.machine.table(opened.task)
    points = table.points(opened.space)
    names = [str(label) for label in opened.classes]
    for k in range(0, len(opened.rows), 15):
        told = explained_case(version, int(opened.rows[k]))
        written = read_rule_text(told["rule"], opened.space, opened.classes)
        assert not written.mistakes
        assert str(written.rules[0].label) == names[version.judge.predictions.codes[k]]
        covered = written.rules.covers(points)[:, 0]
        assert covered[k]
        if told["guarantee"] == "proved":
            codes = version.judge.predictions.codes
            assert (codes[covered] == codes[k]).all()
        errors = bench.check(told["rule"])["errors"]
        assert bool(errors) == ("missing" in told["rule"])
        assert all("is missing here: gaps were filled" in error["message"] for error in errors)
        assert (told["points"] is None) == (machine == "constraints")


# What would change the answer.


@pytest.mark.parametrize("machine", ["constraints", "points"])
def test_the_cheapest_change_changes_the_answer_and_is_allowed(benches, machine):
    version = benches[machine].version()
    opened = version.opened
    turned = 0
    for k in range(0, len(opened.rows), 11):
        row = int(opened.rows[k])
        told = recourse_for(version, row)
        json.dumps(told, allow_nan=False)
        if not told["feasible"]:
            continue
        values = {change["feature"]: change["after"] for change in told["changes"]}
        if opened.gaps(k) and machine == "points":
            assert not set(opened.gaps(k)) & set(values)
        assert what_if(version, row, values)["code"] != what_if(version, row, {})["code"]
        case = opened.case(k)
        assert values.get("age", case["age"]) <= case["age"]
        cost = sum(
            ACTIONS[name]["cost"] * (1 if name == "colour" else abs(value - case[name]))
            for name, value in values.items()
        )
        assert told["cost"] == pytest.approx(cost, rel=1e-3, abs=1e-3)
        turned += 1
    assert turned


def test_no_change_on_a_grid_is_cheaper(bench):
    version = bench.version()
    opened = version.opened
    grid = [
        (age, dose, colour)
        for age in range(20, 80)
        for dose in np.linspace(opened.space.lower[2], opened.space.upper[2], 25)
        for colour in ("red", "green", "blue")
    ]
    columns = {
        "colour": np.array([c for _, _, c in grid], dtype=object),
        "age": np.array([float(a) for a, _, _ in grid]),
        "dose": np.array([d for _, d, _ in grid]),
    }
    codes = opened.encode(version.machine.model.predict(columns))
    for k in (0, 17, 33):
        row = int(opened.rows[k])
        told, case = recourse_for(version, row), opened.case(k)
        now = version.judge.predictions.codes[k]
        costs = np.where(columns["age"] > case["age"], np.inf, case["age"] - columns["age"])
        costs = costs + 20.0 * np.abs(columns["dose"] - case["dose"])
        costs = costs + 3.0 * (columns["colour"] != case["colour"])
        cheapest = costs[codes != now].min()
        if told["feasible"]:
            # A little more than the boundary itself is asked for.
            assert told["cost"] <= cheapest + 1e-3
        else:
            assert math.isinf(cheapest)


def test_recourse_asks_which_features_can_be_changed(tmp_path):
    with open_project(tmp_path, patients(60), task={"target": "state"}) as bench:
        version = bench.version()
        with pytest.raises(DataError, match="no feature can be acted on; say on the page Data"):
            recourse_for(version, int(version.opened.rows[0]))


def test_a_case_whose_features_are_missing_cannot_be_acted_on(benches, tmp_path):
    bench = benches["points"]
    path = tmp_path / "copy.clearmargin"
    shutil.copy(bench.file.save_copy(tmp_path / "a.clearmargin"), path)
    with reopened(path) as own:
        own.jobs.start = lambda *_: None
        own.set_task({**TASK, "actions": {"dose": {}}})
        keep_trained(own, "points", TEXT)
        version = own.version()
        gap = next(k for k in range(len(version.opened.rows)) if "dose" in version.opened.gaps(k))
        with pytest.raises(DataError, match="is missing in this case"):
            recourse_for(version, int(version.opened.rows[gap]))


@pytest.mark.parametrize("row", [0, 10**6])
def test_a_case_that_is_not_there_is_refused_in_words(bench, row):
    version = bench.version()
    for ask in (
        lambda: case_facts(version, row, TEXT),
        lambda: explained_case(version, row),
        lambda: recourse_for(version, row),
        lambda: what_if(version, row, {}),
    ):
        with pytest.raises(DataError, match=f"there is no row {row} in the task"):
            ask()
