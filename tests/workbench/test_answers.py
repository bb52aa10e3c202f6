"""What the workbench answers, held against plain loops over the rows that it gives away."""

import math
import re
import sqlite3
from contextlib import closing

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.seams import ProjectFile
from tests.workbench.serving import (
    ADDRESSES,
    FAST,
    RULES,
    SCHEMA,
    TASK,
    as_csv,
    cases_of,
    columns_of,
    listed,
    matches,
    patients,
)

from clearmargin import load_model
from clearmargin.points import Scorecard
from clearmargin.rules import RuleSet

NAMES, COLOURS = ["colour", "age", "dose"], ("red", "green", "blue")
UNSEEN = "machine when not trained on it"
PROVED = ("proved", "within ranges")
SIGNS = {
    "<": lambda values, bound: values < bound,
    "<=": lambda values, bound: values <= bound,
    ">": lambda values, bound: values > bound,
    ">=": lambda values, bound: values >= bound,
}


def comparison(name, bounds):
    def made(sign, bound):
        return f"{name} {sign} {bound!r}", lambda rows: SIGNS[sign](rows[name], bound)

    return st.builds(made, st.sampled_from(sorted(SIGNS)), bounds)


def one_of(names):
    return f"colour in {{{', '.join(names)}}}", lambda rows: rows["colour"].isin(names)


CONDITION = st.one_of(
    comparison("age", st.integers(15, 85)),
    comparison("dose", st.integers(0, 100).map(lambda k: k / 100)),
    st.lists(st.sampled_from(COLOURS), min_size=1, max_size=2, unique=True).map(one_of),
)
RULE = st.tuples(st.lists(CONDITION, min_size=1, max_size=3), st.sampled_from(["ill", "well"]))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(drawn=st.lists(RULE, min_size=1, max_size=4))
def test_check_any_rules_counts_as_a_plain_loop(worked, drawn):
    lines = [f"{' and '.join(text for text, _ in rule)} => {label}" for rule, label in drawn]
    text, rows = "\n".join(lines), worked.rows
    said = worked.ask("check", text=text, serial=7)
    assert (said["serial"], said["is_trained"], said["revision"]) == (7, True, 2)
    covered = []
    for rule in said["rules"]:
        line = text[: rule["from"]].count("\n")
        conditions, label = drawn[line]
        inside = np.logical_and.reduce([holds(rows) for _, holds in conditions])
        covered.append(inside)
        assert text[rule["from"] : rule["to"]] == lines[line]
        assert (rule["label"], rule["covered"], rule["rows"]) == (label, inside.sum(), len(rows))
        against, other = inside & (rows["truth"] != label), inside & (rows["machine"] != label)
        assert rule["right"] == inside.sum() - against.sum()
        assert (rule["against_count"], rule["disagree_count"]) == (against.sum(), other.sum())
        assert rule["agreed"] == inside.sum() - other.sum()
        for named, wrong in ((rule["against"], against), (rule["disagree"], other)):
            assert len(named) == len(set(named)) == min(wrong.sum(), 8)
            assert set(named) <= set(rows["row"][wrong])
        kind, witness = rule["standing"]["kind"], rule["standing"]["witness"]
        if kind not in PROVED:
            seen = "seen" if inside.any() else "uncovered"
            assert kind == ("contradicted" if other.any() else seen)
        if kind == "seen":
            # The corner that speaks against a proof gets the other class.
            asked = worked.case(rows["row"][0], "what-if", **witness)
            assert asked["label"] != rule["label"]
        assert kind not in PROVED or not other.any()
    # What cannot be a rule is told at its line.
    assert len(said["rules"]) + len({error["line"] for error in said["errors"]}) == len(lines)
    for finding in said["findings"]:
        if finding["kind"] == "overlap":
            both = np.logical_and.reduce([covered[k] for k in finding["rules"]])
            assert finding["count"] == both.sum()
            assert set(finding["rows"]) <= set(rows["row"][both])
    if covered:
        votes = sum(inside.astype(int) for inside in covered)
        assert said["vote"]["covered"] == (votes > 0).sum()
        assert said["vote"]["overlaps"] == (votes > 1).sum()


def in_browser(text, start, end):
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def test_check_mistakes_are_told_at_their_places_of_utf_16(worked):
    wrong = {
        "agee >= 3 => ill": "agee", "age <= 30 => il": "il", "colour in {red, gren} => ill": "gren",
        "colour <= 3 => ill": "colour", "age >= 90 and age <= 3 => ill": "age <= 3",
        "age ! 3 => ill": "!", "age >= 3 and dose is missing => ill": "dose is missing",
    }  # fmt: skip
    text = "\n".join(["# \N{GRINNING FACE}", *wrong, "`age` >= 70 => ill # \N{GRINNING FACE}"])
    said = worked.ask("check", text=text)
    assert [in_browser(text, e["from"], e["to"]) for e in said["errors"]] == list(wrong.values())
    assert [error["line"] for error in said["errors"]] == list(range(2, 9))
    (rule,) = said["rules"]
    assert in_browser(text, rule["from"], rule["to"]).startswith("`age` >= 70 => ill")
    assert worked.ask("revisions", text=text, why="w", base=2)["errors"] == said["errors"]
    assert said["errors"][0]["fix"] is not None
    many = worked.ask("check", text="".join(f"age >= {k % 60} => ill\n" for k in range(400)))
    assert (len(many["rules"]), many["findings"][0]["kind"]) == (400, "unchecked")


def within(rows, box):
    """Which rows lie within a box of an answer."""
    inside = np.ones(len(rows), bool)
    for j, side in box.items():
        values = rows[NAMES[int(j)]]
        if "codes" in side:
            inside &= values.isin([sorted(COLOURS)[code] for code in side["codes"]])
            continue
        low, high = side["low"], side["high"]
        inside &= low is None or (values > low if side["low_open"] else values >= low)
        inside &= high is None or (values < high if side["high_open"] else values <= high)
    return inside


def test_preview_is_what_happens_when_the_text_is_kept(worked):
    copy = worked.copy()
    client, home, text = copy.client, copy.home, f"{RULES}grown: age >= 40 => ill\n"
    same = copy.ask("preview", text=f"# a remark\n{RULES}")
    assert (same["before"], same["n_flips"], same["flips"]) == (same["after"], 0, [])
    told = copy.ask("preview", text=f"{text}agee >= 3 => ill", serial=4)
    copy.ask("draft", text=text, base=2, tab="mine")
    flips = listed(client, home, "which=flips&tab=mine")
    before = cases_of(client, home)
    client.keep(home, text, 2)
    after = cases_of(client, home)
    changed = before[UNSEEN] != after[UNSEEN]
    assert 0 < changed.sum() == told["n_flips"] == told["better"] + told["worse"]
    assert told["after"] == {"right": (after[UNSEEN] == after["state"]).sum(), "rows": len(after)}
    assert told["before"]["right"] == (before[UNSEEN] == before["state"]).sum()
    assert [flip["row"] for flip in told["flips"]] == flips == before["row"][changed].tolist()
    assert listed(client, home, "which=flips") == flips
    rules = RuleSet.from_dict(client.get(f"{home}/export/json").json())
    covers = rules.covers(worked.rows[NAMES])
    for flip in told["flips"]:
        (place,) = np.flatnonzero(before["row"] == flip["row"])
        assert flip["before"] == before[UNSEEN][place]
        assert (flip["after"], flip["truth"]) == (after[UNSEEN][place], after["state"][place])
        assert (flip["effect"] == "better") == (flip["after"] == flip["truth"])
        assert flip["rules"] == [
            r.name for r, holds in zip(rules, covers[place], strict=True) if holds
        ]


def test_cases_filters_find_what_plain_loops_find(worked):
    client, home, rows = worked.client, worked.home, worked.rows
    cases = cases_of(client, home)
    assert cases["row"].tolist() == rows["row"].tolist() == listed(client, home, "which=all")
    assert cases["machine"].tolist() == rows["machine"].tolist()
    assert cases["score"].tolist() == rows["score"].tolist()
    age, dose, colour = rows["age"], rows["dose"], rows["colour"]
    inside = np.array([age >= 60, (colour == "red") & (dose >= 0.5), age <= 35])
    labels = np.array(["ill", "ill", "well"])
    machine, truth = rows["machine"].to_numpy(), rows["truth"].to_numpy()
    wanted = {
        "which=wrong": (cases[UNSEEN] != cases["state"]).to_numpy(),
        "which=uncovered": ~inside.any(axis=0),
        "which=clash": inside[:2].any(axis=0) & inside[2],
        "which=disagree": (inside & (labels[:, None] != machine)).any(axis=0),
        **{f"rule={k}": inside[k] for k in range(3)},
        **{f"rule={k}&against=1": inside[k] & (truth != labels[k]) for k in range(3)},
    }
    for query, chosen in wanted.items():
        assert chosen.sum() < len(rows)
        assert listed(client, home, query) == rows["row"][chosen].tolist(), query
    score = rows.set_index("row")["score"]
    assert score.abs()[listed(client, home, "sort=boundary")].is_monotonic_increasing
    assert score[listed(client, home, "sort=score")].is_monotonic_decreasing
    names = np.array(["old", "red", "young", ""])
    first = np.where(inside.any(axis=0), inside.argmax(axis=0), 3)
    assert cases["rule"].fillna("").tolist() == names[first].tolist()


def test_cases_answers_are_those_of_the_machine(worked):
    by_value = worked.rows.sort_values("score", key=abs)
    other, turned, moved = by_value.iloc[-1], 0, 0
    for case in by_value.head(8).to_dict("records"):
        row = case["row"]
        own = worked.case(row, "what-if")
        assert (own["label"], own["score"]) == (case["machine"], pytest.approx(case["score"]))
        for name, place in own["turns"].items():
            step = math.copysign(1 if name == "age" else 1e-3, place - case[name])
            beyond = worked.case(row, "what-if", **{name: place + step})
            assert beyond["label"] != case["machine"]
            turned += 1
        like = worked.case(row, "what-if", **{name: other[name] for name in NAMES})
        assert like["score"] == pytest.approx(other["score"], abs=1e-12)
        said = worked.case(row, "explain")
        (rule,) = worked.ask("check", text=said["rule"])["rules"]
        assert (rule["label"], said["guarantee"]) == (case["machine"], "proved")
        covered = worked.rows[within(worked.rows, rule["box"])]
        assert row in set(covered["row"])
        assert set(covered["machine"]) == {case["machine"]}
        change = worked.case(row, "recourse")
        assert change["label_before"] == case["machine"] != change["target"]
        if change["feasible"]:
            values = {entry["feature"]: entry["after"] for entry in change["changes"]}
            assert values.keys() <= {"age", "dose"}
            # Age can only go down; a unit of either costs 1.
            assert values.get("age", 0) <= case["age"]
            costs = [abs(value - case[name]) for name, value in values.items()]
            assert change["cost"] == pytest.approx(sum(costs))
            assert worked.case(row, "what-if", **values)["label"] == change["target"]
            moved += 1
    assert turned > 5
    assert moved > 3


def model_of(client, home, folder):
    path = folder / f"{len(list(folder.iterdir()))}.json"
    path.write_bytes(client.get(f"{home}/export/model").body)
    return load_model(path)


STEPS = {
    "k >= 8 => b": [("k", ">=", 8)], "x > 7.5 => b": [("x", ">", 7.5)], "x < 8 => a": [("x", "<", 8)],
    "x <= 2 and z < 0.9 => a": [("x", "<=", 2), ("z", "<", 0.9)],
    "x >= 5.2 and z <= 0.3 => b": [("x", ">=", 5.2), ("z", "<=", 0.3)],
    "x >= 8 and x <= 9.5 => b": [("x", ">=", 8), ("x", "<=", 9.5)], "x + z >= 9 => b": [],
    "x >= 100 => b": [("x", ">=", 100)],
}  # fmt: skip


def test_refine_suggests_the_best_of_all_places(client):
    rng = np.random.default_rng(0)
    x, z = rng.uniform(0, 10, 150).round(2), rng.uniform(0, 1, 150).round(3)
    label = np.where((x > 5) ^ (rng.random(150) < 0.05), "b", "a")
    rows = pd.DataFrame({"x": x, "k": np.floor(x).astype(int), "z": z, "y": label})
    home = client.project("steps.csv", as_csv(rows), {"target": "y"}, sealed="0")
    found = client.work(home, "refine", "refined", text="\n".join(STEPS))["bounds"]
    columns = {name: rows[name].to_numpy() for name in rows}

    def counts(conditions, label):
        inside = np.logical_and.reduce([SIGNS[s](columns[n], v) for n, s, v in conditions])
        is_class = columns["y"] == label
        right = (inside & is_class).sum()
        wrong = inside.sum() - right
        return inside.sum(), right, right / is_class.sum() - wrong / (~is_class).sum()

    for bound in found:
        text, conditions = list(STEPS.items())[bound["rule"]]
        side = ">" if bound["side"] == "low" else "<"
        (old,) = [c for c in conditions if c[0] == bound["feature"] and c[1][0] == side]
        rest, label = [c for c in conditions if c != old], text[-1]
        infinite = -math.inf if side == ">" else math.inf
        values = columns[old[0]]
        # Just beyond a value, too.
        places = [*values, infinite, *np.nextafter(values, -9e9), *np.nextafter(values, 9e9)]
        best = max(counts([*rest, (*old[:2], place)], label)[2] for place in places)
        after = infinite if bound["after"] is None else bound["after"]
        now, then = counts(conditions, label), counts([*rest, (*old[:2], after)], label)
        assert (bound["before"], then[2]) == (old[2], pytest.approx(best))
        assert (bound["covered"], bound["right"]) == ([now[0], then[0]], [now[1], then[1]])
        assert bound["gain"] > 2.78 * bound["error"] > 0
    moved = {(bound["rule"], bound["feature"]) for bound in found}
    assert {(0, "k"), (1, "x"), (2, "x"), (3, "x"), (4, "z"), (5, "x")} <= moved
    assert [b["gain"] for b in found] == sorted((b["gain"] for b in found), reverse=True)


def test_refine_seldom_suggests_anything_on_noise(client):
    rng = np.random.default_rng(1)
    noise = {f"x{j}": rng.normal(size=90).round(3) for j in range(20)}
    noise["y"] = rng.choice(["a", "b"], 90)
    home = client.project("noise.csv", as_csv(noise), {"target": "y"}, sealed="0")
    text = "\n".join(f"x{j} >= 1 => a\nx{j} < 0 => a" for j in range(20))
    # 4 % are expected, 1.6 of 40.
    assert len(client.work(home, "refine", "refined", text=text)["bounds"]) <= 5


def test_contrast_names_and_counts_rows_of_the_file(client):
    table = pd.DataFrame(patients(200, 5, gaps=True))
    home = client.project(
        "patients.csv", as_csv(table), {"target": "state", "missing": "drop"}, sealed="30"
    )
    found = client.work(home, "contrast", "contrast", share=0.2)
    ends = {end: table.iloc[np.array(found[f"{end}_rows"]) - 1] for end in ("top", "bottom")}
    shares = [(rows["state"] == "ill").mean() for rows in ends.values()]
    assert abs(shares[0] - shares[1]) > 0.5
    (red,) = [told for told in found["properties"] if told["property"] == "colour = red"]
    for end, rows in ends.items():
        assert red[f"{end}_count"] == (rows["colour"] == "red").sum()


@pytest.mark.parametrize("machine", ["columns", "plane"])
def test_keep_with_another_machine_trains_and_gives_it_away(worked, tmp_path, machine):
    copy = worked.copy()
    client, home = copy.client, copy.home
    is_plane = machine == "plane"
    client.keep(home, RULES, 2, settings={"machine": machine, "balanced": is_plane})
    client.work(home, "extract", "rules", max_rules=5, short=True, assume_ranges=True)
    cases = cases_of(client, home)
    read = client.get(f"{home}/export/json?subject=machine").json()
    assert not is_plane or 0 < len(RuleSet.from_dict(read)) <= 5
    table = worked.rows[NAMES] if is_plane else cases[NAMES]
    model = model_of(client, home, tmp_path) if is_plane else Scorecard.from_dict(read)
    assert model.predict(table).tolist() == cases["machine"].tolist()
    row = int(cases["row"][0])
    assert copy.case(row, "what-if")["label"] == cases["machine"][0]
    explained = copy.case(row, "explain")
    assert (explained["points"] is None) == is_plane
    assert copy.ask("check", text=explained["rule"])["rules"]
    change = copy.case(row, "recourse")
    if change["feasible"]:
        values = {entry["feature"]: entry["after"] for entry in change["changes"]}
        assert copy.case(row, "what-if", **values)["label"] == change["target"]
    for page in ("rules", "cases", f"cases/{row}", "history", "export?subject=machine&form=python"):
        client.page(f"{home}/{page}")


def test_export_files_say_what_the_rules_say(worked, tmp_path):
    client, home = worked.client, worked.home
    cases = cases_of(client, home)
    records = cases[NAMES].astype(object).where(cases[NAMES].notna(), None).to_dict("records")
    for subject in ("mine", "machine"):

        def take(form, subject=subject):
            answer = client.get(f"{home}/export/{form}?revision=2&subject={subject}")
            assert answer.status == 200
            assert re.fullmatch(
                r"""attachment; filename="patients-v2[\w.-]*"; filename\*=UTF-8''[\w.%-]+""",
                answer.header("content-disposition"),
            )
            return answer

        wanted = RuleSet.from_dict(take("json").json()).predict(cases[NAMES]).tolist()
        assert {"ill", "well"} <= set(wanted)
        scope = {}
        exec(take("python").text, scope)
        assert scope["predict_row_many"](records) == wanted
        with closing(sqlite3.connect(":memory:")) as database:
            pd.DataFrame(records).to_sql("cases", database, index=False)
            query = f"SELECT {take('sql-sqlite').text} FROM cases ORDER BY rowid"
            assert [value for (value,) in database.execute(query)] == wanted
        for form in ("rules", "sql", "sql-postgresql", "sql-mysql", "markdown"):
            assert take(form).body
        assert take("report").text.startswith("<!DOCTYPE html>")
    path = tmp_path / "patients.clearmargin"
    path.write_bytes(take("project").body)
    with ProjectFile.open(path) as file:
        assert (file.verify(), file.source_bytes(1)) == ([], worked.content)
    model = model_of(client, home, tmp_path)
    assert model.predict(worked.rows[NAMES]).tolist() == cases["machine"].tolist()


def test_task_settings_decide_rows_classes_and_features(client):
    table = patients(150, 5, gaps=True)
    table |= {"code": table["age"] % 3, "grade": np.array(list("abc") * 50, dtype=object)}
    table |= {"number": np.arange(100, 250), "empty": np.full(150, np.nan)}
    home = client.project("patients.csv", as_csv(table), sealed="30")

    def told(**task):
        client.choose(home, **{"target": "state", "missing": "impute", **task})
        return columns_of(client, home)

    ranges = {"age": [0, 30], "code": [0, 2]}
    head, rows = told(drop=["grade"], units={"age": "years"}, categories=["code"], ranges=ranges)
    open_rows = rows["row"].to_numpy()
    assert 75 < len(open_rows) < 135
    features = {feature["name"]: feature for feature in head["features"]}
    assert list(features) == ["colour", "age", "dose", "code"]
    assert (features["age"]["unit"], features["age"]["integer"]) == ("years", True)
    assert (head["classes"], features["code"]["categories"]) == (["ill", "well"], [*"012"])
    assert rows["truth"].tolist() == table["state"][open_rows - 1].tolist()
    dose = table["dose"][open_rows - 1]
    assert rows["dose"].tolist() == np.where(np.isnan(dose), np.nanmedian(dose), dose).tolist()
    assert told(positive="ill")[0]["classes"][-1] == "ill"
    _, rows = told(missing="drop", drop=["colour"])
    assert rows["row"].tolist() == open_rows[~np.isnan(dose)].tolist()
    head, rows = told(target="grade", positive="b", whole=["age"])
    assert (head["classes"][-1], "age" in client.page(f"{home}/data")) == ("b", True)
    assert ((rows["truth"] == "b") == (table["grade"][open_rows - 1] == "b")).all()
    refused = client.post(f"{home}/task", {"settings": {"target": "state", "whole": ["dose"]}})
    assert (refused.status, "dose" in refused.text) == (422, True)


def test_feature_whose_gaps_are_filled_between_two_numbers_is_not_whole(client):
    table = patients(80)
    table["age"] = np.where(np.arange(80) % 2, 30.0, 41.0)
    table["age"][:2] = np.nan
    home = client.project("gaps.csv", as_csv(table), sealed="0")
    client.choose(home, target="state", missing="impute", whole=["age"])
    head, rows = columns_of(client, home)
    (age,) = [feature for feature in head["features"] if feature["name"] == "age"]
    assert (rows["age"][0], age["integer"]) == (35.5, False)


EXAMS = [
    {"target": "state", "missing": "impute"}, {"target": "state", "missing": "drop"},
    {"target": "grade", "positive": "b", "missing": "impute"},
    {"target": "level", "missing": "impute", "categories": ["ward"]},
]  # fmt: skip


def test_exam_judges_the_sealed_rows_and_is_counted(client, tmp_path):
    table = pd.DataFrame(patients(100, 9, gaps=True))
    table["grade"] = np.where(table["age"] > 65, "b", np.where(table["age"] < 40, "a", "c"))
    table["level"], table["ward"] = (table["age"] > 50).astype(int), np.arange(100) % 3
    home = client.project("patients.csv", as_csv(table), EXAMS[0], sealed="40")
    opened = columns_of(client, home)[1]["row"]
    told = []
    for opening, task in enumerate(EXAMS, start=1):
        target, codes = task["target"], task.get("categories", [])
        client.choose(
            home, **task, drop=sorted({"state", "grade", "level", "ward"} - {target, *codes})
        )
        client.result(home, "outcome")
        model = model_of(client, home, tmp_path)
        known, sealed = table.iloc[opened - 1], table.drop(index=opened - 1)
        sealed = sealed.dropna() if task["missing"] == "drop" else sealed
        filled = sealed.assign(ward=sealed["ward"].astype(str)).fillna(
            {"dose": known["dose"].median(), "colour": known["colour"].mode()[0]}
        )
        truth = filled[target].astype(str)
        truth = truth.where(truth == "b", "not b") if target == "grade" else truth
        right = model.predict(filled[[*NAMES, *codes]]).astype(str) == truth
        assert client.form(f"{home}/exam", {"author": "an auditor"}).status == 303
        body = {"revision": opening + 1, "right": int(right.sum()), "rows": len(sealed)}
        told.append(("an auditor", {**body, "opening": opening}))
    with ProjectFile.open(next(tmp_path.glob("*.clearmargin")), writing=False) as file:
        assert [(e.who, e.body) for e in file.events() if "sealed" in e.what] == told
    assert "an auditor" in client.page(f"{home}/history")


def test_schema_every_address_answers_in_its_shape(worked):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    copy = worked.copy()
    client, home = copy.client, copy.home
    for base in (1, 2):
        copy.ask("revisions", text=RULES, why="w", base=base, settings=FAST)
    copy.ask("draft", text=RULES, base=None, tab="x")
    copy.ask("preview", text="", settings={"machine": "points"})
    client.result(home, "outcome")
    copy.ask("preview", text="", settings={"machine": "points"})
    client.request("DELETE", f"{home}/jobs/{client.start(home, 'contrast')}")
    copy.ask("task", settings=TASK, why="w")
    for kind in ("rules", "refined", "contrast", "preview", "outcome"):
        client.get(f"{worked.home}/results/{kind}")
    change = {"rule": 0, "feature": "age", "side": "low", "value": 3}
    asked = {"check": {}, "preview": {}, "complete": {"offset": 2}, "edit": change}
    for path, more in asked.items():
        worked.ask(path, text=RULES, **more)
    for action in ("what-if", "explain", "recourse"):
        worked.case(worked.rows["row"][0], action)
    wanted = {(a, int(s)) for a, entry in ADDRESSES.items() for s in entry if s != "request"}
    assert wanted <= client.seen
    for name, value in (
        ("edit", {"text": 3, "serial": None}),
        ("edit", {"text": "", "serial": None, "more": 1}),
        ("task_settings", {"positive": "ill"}),
        ("refused", {"message": ""}),
    ):
        assert not matches(value, name)
