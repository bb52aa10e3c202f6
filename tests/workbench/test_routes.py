"""Every address: what it refuses, what it does with anything at all, forms, other tabs, work and events."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.serving import FAST, RULES, as_csv, columns_of, patients, until

GAPS = {"target": "state", "missing": "impute"}
NOBODY = "0" * 32
MANY = "age >= 3 => ill\n" * 2001
EDIT = {"text": RULES, "rule": 0, "feature": "age", "side": "low", "value": 3}
KEEP = {"text": RULES, "why": "w", "base": 2}
# fmt: off
# Settings of a task, and settings of a version, with what the message names.
TASKS = [
    ({}, "target"), ([], "settings"), (None, "settings"), ({"target": 3}, "target"), ({"target": "nobody"}, "nobody"),
    ({"target": "state"}, "lack"), ({"target": ""}, ""), ({"target": "state", "missing": "guess"}, "guess"),
    ({**GAPS, "magic": 1}, "magic"), ({**GAPS, "drop": ["agee"]}, "'age'"), ({**GAPS, "drop": "age"}, "drop"),
    ({**GAPS, "drop": ["colour", "age", "dose"]}, "left"), ({**GAPS, "units": []}, "unit"),
    ({**GAPS, "units": {"age": 3}}, "units"), ({**GAPS, "positive": "sick"}, "sick"), ({**GAPS, "target": "age"}, "20"),
    *(({**GAPS, "ranges": {"age": ends}}, "") for ends in ([3], [9, 3], [0, 10**400])),
    *(({**GAPS, "whole": [name]}, name) for name in ("dose", "colour")),
    *(({**GAPS, "positive": value}, "class") for value in (True, [1])),
    *(({**GAPS, "actions": {"age": action}}, "") for action in ({"direction": "up!"}, {"cost": -1}, {"price": 1}, 3)),
]
VERSIONS = [
    ({"machine": "magic"}, "magic"), ({"lam": 0}, "lam"), ({"lam": True}, "lam"), ({"mu": 10**400}, "mu"),
    ({"balanced": 1}, "balanced"), ({"more": 1}, "more"), ([], "settings"),
]
EDITS = [("rule", 9, "9"), ("rule", True, "rule"), ("feature", "agee", "age"), ("side", "left", "left"),
         ("feature", "colour", "colour"), ("value", "x", "value")]
VALUES_OF_CASES = [({"agee": 3}, "agee"), ({"age": "old"}, "age"), ({"age": None}, "age"), ({"colour": "pink"}, "pink"),
                   ({"dose": 10**400}, "dose"), ([1], "values")]
JOBS = [({"kind": "magic"}, "magic"), ({"kind": "contrast", "share": 0.9}, "0.9"), ({"kind": "refine", "text": 3}, ""),
        ({"kind": "extract", "max_rules": 0}, "200"), ({"kind": "extract", "short": "yes"}, "short")]
TEXTS = [(MANY, "2,001"), ("#" * 1_000_001, "1 MB"), (3, "text")]
# path, body (None: it is got), status, what the message names; {row} is an open row, {sealed} is none.
REFUSED = [
    *((f"/{path}", None, 404, "") for path in ("nothing", "p", "p/", "static/x/rules.js")),
    *((f"/p/{NOBODY}/{path}", None, 404, "project") for path in ("rules", "events", "export/json")),
    *((f"/p/{NOBODY}/{path}", {"text": "a"}, 404, "project") for path in ("check", "revisions")),
    *((f"cases/{row}", None, 404, "row") for row in ("{sealed}", 0, 100_000, "9" * 18)),
    *((f"cases/{{sealed}}/{act}", {"values": {}}, 404, "{sealed}") for act in ("what-if", "explain", "recourse")),
    *((path, None, 404, "99") for path in ("revisions/99", "revisions/1/against/99", "export/json?revision=99")),
    *((path, None, 404, "") for path in ("export/exe", "export/report?revision=1", "results/magic")),
    *((f"cases/{number}", None, 404, "") for number in ("9" * 25, "-1", "1.5", "%C2%B2")),
    *((f"cases?{query}", None, 422, query[:4]) for query in ("which=best", "sort=best", "rule=x")),
    *((f"cases?{query}", None, 422, "rule") for query in ("rule=77", "page=%C2%B2")),
    *((f"{path}?subject=theirs", None, 422, "theirs") for path in ("export", "export/json")),
    *((f"export/json?revision={word}", None, 422, "version") for word in ("%C2%B2", "-1")),
    ("export/json?revision=1", None, 422, "no rules"), ("rules", {}, 405, ""),
    *((path, {"text": text, **more}, 422, named) for text, named in TEXTS for path, more in (
        ("check", {}), ("preview", {}), ("revisions", {"base": 2, "why": "w"}))),
    *(("edit", {**EDIT, name: value}, 422, named) for name, value, named in EDITS),
    *(("cases/{row}/what-if", {"values": values}, 422, named) for values, named in VALUES_OF_CASES),
    *(("task", {"settings": chosen}, 422, named) for chosen, named in TASKS),
    *(("revisions", {**KEEP, "settings": chosen}, 422, named) for chosen, named in VERSIONS),
    ("revisions", {**KEEP, "base": "\N{SUPERSCRIPT TWO}"}, 422, "version"),
    ("revisions", {**KEEP, "text": "agee >= 3 => ill"}, 422, "agee"),
    *(("draft", {"text": "", "base": 2, "tab": tab}, 422, "tab") for tab in ("", "a/b", "x" * 65)),
    *(("jobs", options, 422, named) for options, named in JOBS),
]
# fmt: on


def is_in_words(answer):
    """No answer is a crash, and what is refused is refused in words."""
    assert answer.status < 500, (answer.status, answer.text)
    if answer.status >= 400:
        assert len(answer.json()["message"]) > 8
        assert "internal error" not in answer.text
    elif answer.header("content-type") == "application/json":
        answer.json()
        assert "NaN" not in answer.text


def test_address_that_cannot_answer_says_why(worked):
    words = {"row": worked.rows["row"][0], "sealed": worked.sealed[0]}
    wrong = []
    for path, body, status, named in REFUSED:
        there = (path if path.startswith("/") else f"{worked.home}/{path}").format_map(words)
        answer = worked.client.get(there) if body is None else worked.client.post(there, body)
        is_in_words(answer)
        if answer.status != status or named.format_map(words) not in answer.json()["message"]:
            wrong.append((there, str(body)[:80], answer.status, answer.text))
        elif body is None:
            page = worked.client.get(there, Accept="text/html")
            assert (page.status, page.text[:15]) == (status, "<!DOCTYPE html>")
    assert wrong == []


POSTS = {
    "check": {"text": RULES, "serial": 1, "tab": "a"},
    "preview": {"text": RULES, "serial": 1, "settings": FAST, "tab": "a"},
    "complete": {"text": "ag", "offset": 2}, "edit": EDIT,
    "draft": {"text": "ag", "base": 2, "tab": "a"}, "cases/{row}/what-if": {"values": {"age": 40}},
    "cases/{row}/explain": {}, "cases/{row}/recourse": {},
    "revisions": {**KEEP, "base": 1, "author": "a", "settings": FAST},
    "jobs": {"kind": "magic", "share": 0.2},
}  # fmt: skip
VALUES = [None, True, 0, -1, 1.5, 10**400, 2**70, "", "x", "\ud800", [], [1], {}, {"a": [1]}]
ANY_JSON = st.recursive(
    st.sampled_from(VALUES) | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(path=st.sampled_from(sorted(POSTS)), data=st.data())
def test_any_json_is_answered_or_refused_in_words(worked, path, data):
    body = POSTS[path]
    for name in data.draw(st.lists(st.sampled_from(sorted(body)), max_size=3)) if body else ():
        body = {**body, name: data.draw(ANY_JSON)}
    row = worked.rows["row"][0]
    is_in_words(worked.client.post(f"{worked.home}/{path.replace('{row}', str(row))}", body))


def test_project_is_made_and_worked_on_by_forms(client, tmp_path):
    made = client.upload("../../etc/pass wd.csv", as_csv(patients(110, 51, gaps=True)))
    home = made.header("location").removesuffix("/data")
    assert [p.name for p in tmp_path.glob("*.clearmargin")] == ["pass-wd.clearmargin"]
    for page in ("rules", "cases", "contrast", "export", "cases/3"):
        assert client.get(f"{home}/{page}").header("location") == f"{home}/data"
    fields = dict(re.findall(r'name="(column:\d+)" value="([^"]+)"', client.page(f"{home}/data")))
    assert list(fields.values()) == ["colour", "age", "dose", "state"]
    fields |= {
        "target": "state",
        "positive": "ill",
        "missing": "impute",
        "use:0": "1",
        "use:1": "1",
    }
    for wrong in ({"low:1": "0"}, {"low:1": "x", "high:1": "3"}, {"act:1": "up", "cost:1": "nan?"}):
        assert client.form(f"{home}/task", {**fields, **wrong}).status == 422
    fields |= {"low:1": "0", "high:1": "120,5", "unit:1": "years", "whole:1": "1", "act:1": "down"}
    assert client.form(f"{home}/task", fields).header("location") == f"{home}/rules"
    head, rows = columns_of(client, home)
    assert {f["name"]: f["unit"] for f in head["features"]} == {"colour": None, "age": "years"}
    client.result(home, "outcome")
    text = "old: age >= 60 => ill\r\n"
    assert client.form(f"{home}/revisions", {"text": text, "base": "1", "why": "w"}).status == 303
    assert client.form(f"{home}/revisions", {"text": "", "base": "1", "why": "w"}).status == 409
    assert client.get(f"{home}/export/cases").status == 200
    restored = client.form(f"{home}/revisions/1/restore", {"base": "2", "why": "back"})
    assert restored.header("location") == f"{home}/history"
    assert client.form(f"{home}/revisions/9/restore", {"base": "3"}).status == 404
    note = f"{home}/cases/{rows['row'][0]}/notes"
    assert client.form(note, {"text": "look <b>again</b>"}).status == 303
    assert "look &lt;b&gt;again&lt;/b&gt;" in client.page(note.removesuffix("/notes"))
    for words in ("", "x" * 10_001):
        assert client.form(note, {"text": words}).status == 422
    client.result(home, "outcome")
    assert client.form(f"{home}/exam", {"author": "an auditor"}).status == 303
    copied = client.form("/duplicates", {"project": home.removeprefix("/p/")}).header("location")
    for page in ("history", "revisions/2", "revisions/1/against/2", "data", "rules"):
        assert client.page(f"{home}/{page}").startswith("<!DOCTYPE html>")
    assert "an auditor" in client.page(f"{copied}/history")
    example = client.form("/examples", {"name": "wbc", "sealed": "10"}).header("location")
    assert client.page(example)
    led = client.get(example.removesuffix("/data"))
    assert (led.status, led.header("location")) == (303, example)
    for path, sent in (
        *(("/examples", {"name": "wbc", "sealed": text}) for text in ("51", "-1", "nan", "x")),
        *(("/examples", {"name": "wbcc"}), ("/duplicates", {"project": "../.."})),
    ):
        assert client.form(path, sent).status in (404, 422)
    paths = ("task", "revisions", "revisions/1/restore", "cases/1/notes", "exam")
    for path in ("/examples", "/duplicates", *(f"{home}/{path}" for path in paths)):
        assert client.form(path, {"form_token": "wrong"}).status == 403
    assert client.upload("t.csv", b"x,y\n1,a\n", form_token="wrong").status == 403


def test_start_page_lists_troubles_beside_projects(client, tmp_path):
    home = client.project("t.csv", as_csv(patients(40)))
    (tmp_path / "broken.clearmargin").write_bytes(b"not a project")
    (tmp_path / "folder.clearmargin").mkdir()
    (tmp_path / "backup.clearmargin").write_bytes((tmp_path / "t.clearmargin").read_bytes())
    text = client.page("/")
    assert text.count('href="/p/') == 1
    assert f'href="{home}"' in text
    for name in ("broken", "folder", "backup"):
        assert f"{name}.clearmargin" in text
    assert client.get("/favicon.ico").status == 204
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', text):
        assert "immutable" in client.get(address).header("cache-control")


RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=60).round(2), RNG.choice(["a", "b"], 60)
# What is told of a table with the target y: nothing where there is a machine.
STRANGE = {
    "time": (as_csv({"t": 1_700_000_000 + RNG.integers(0, 10**7, 60), "x": X, "y": Y}), ""),
    "wide": (as_csv({**{f"x{j}": RNG.normal(size=60).round(3) for j in range(60)}, "y": Y}), ""),
    "constant": (as_csv({"k": np.full(60, 7), "x": X, "y": Y}), ""),
    "gaps": (as_csv({"n": np.full(60, np.nan), "x": X, "y": Y}), ""),
    "huge": (as_csv({"x": X * 1e307, "y": Y}), ""),
    "numbers": (as_csv({"x": X, "y": RNG.integers(0, 2, 60)}), ""),
    "strange": (as_csv({"and": X, "y": np.where(X > 0, "not a", "it's")}), ""),
    "one class": (as_csv({"x": X, "y": np.full(60, "a")}), "single class"),
    "rare": (as_csv({"x": X, "y": np.array(["a"] * 59 + ["b"])}), "b"),
    "names": (as_csv({"n": [f"n{k}" for k in range(60)], "y": Y}), "column"),
    "three": (as_csv({"x": X, "y": RNG.choice(["a", "b", "c"], 60)}), "3 classes"),
    "many": (as_csv({"x": X, "y": X}), "20"), "twice": (b"x,x,y\n1,2,a\n3,4,b\n", "'x'"),
    "ragged": (b"x,y\n1,2\n3\n", "line 3"), "one column": (b"y\na\nb\na\nb\n", "column"),
    "empty": (b"", "empty"), "no rows": (b"x,y\n", "rows"),
    "junk": (b"\x00\x01\x02\xff" * 300, "text"), "Parquet": (b"PAR1" + bytes(50), "Parquet"),
    "Feather": (b"ARROW1\x00\x00" + b"\x07" * 50, "Feather"),
    "gzip": (b"\x1f\x8b" + b"\x07" * 50, "gzip"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_table_of_a_stranger_gets_a_machine_or_an_error_in_words(client):
    for name, (content, named) in STRANGE.items():
        made = client.upload(f"{name}.csv", content, sealed="0")
        if made.status == 303:
            home = made.header("location").removesuffix("/data")
            client.page(f"{home}/data")
            made = client.post(f"{home}/task", {"settings": {**GAPS, "target": "y"}})
        is_in_words(made)
        assert (made.status == 200) == (named == ""), (name, made.text)
        if named:
            assert named in made.json()["message"]
            assert "/tmp" not in made.text
            continue
        for path in ("rules", "cases", "history", "export"):
            client.page(f"{home}/{path}")
        is_in_words(client.post(f"{home}/check", {"text": "x >= 0 => a"}))
        columns_of(client, home)


def states(client, home, jobs):
    told = client.events(f"{home}/events")
    newest = {}
    for event in told:
        if event.what == "job":
            newest[event.data["id"]] = event.data["state"]
        if set(jobs) <= set(newest):
            return [newest[job] for job in jobs]
    raise AssertionError


def children():
    """The processes that lead a group of their own and descend from this one: those of jobs."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if line[0] != "Z":
            parents[int(entry.name)] = (int(line[1]), int(line[2]))
    found = {os.getpid()}
    for _ in range(4):
        found |= {pid for pid, (parent, _) in parents.items() if parent in found}
    return {pid for pid in found if parents.get(pid, (0, 0))[1] == pid != os.getpid()}


LONG = {"kind": "preview", "settings": {"machine": "card"}, "text": RULES}


@pytest.mark.posix
def test_jobs_wait_run_are_cancelled_and_die(worked):
    copy = worked.copy()
    client, home = copy.client, copy.home
    before = children()
    jobs = [client.start(home, **LONG) for _ in range(3)]
    until(lambda: states(client, home, jobs) == ["running", "running", "waiting"])
    running = until(lambda: len(children() - before) >= 2 and children() - before)
    for job in (jobs[2], jobs[0]):
        assert client.request("DELETE", f"{home}/jobs/{job}").json()["state"] == "cancelled"
    assert states(client, home, jobs) == ["cancelled", "running", "cancelled"]
    (left,) = until(lambda: len(running & children()) == 1 and running & children())
    os.kill(left, signal.SIGKILL)
    ended = client.end_of(home, jobs[1])
    assert (ended["state"], "SIGKILL" in ended["error"]) == ("failed", True)
    assert client.request("DELETE", f"{home}/jobs/{jobs[1]}").json()["state"] == "failed"
    assert client.request("DELETE", f"{home}/jobs/99").status == 404
    failed = client.end_of(home, client.start(home, "refine", text=""))
    assert (failed["state"], "rule" in failed["error"]) == ("failed", True)
    assert failed["error"] in client.page(f"{home}/rules")


def test_events_are_told_to_every_tab_and_again_to_one_that_comes_back(worked):
    copy = worked.copy()
    client, home = copy.client, copy.home
    client.keep(home, RULES, 2, author="Ada", why="so")

    def first(n=3, last_id=0):
        stream = client.events(f"{home}/events", last_id)
        return [next(stream) for _ in range(n)]

    one = first()
    assert first() == one
    told = {event.what: event.data for event in one}
    assert told["version"] == {"revision": 3, "author": "Ada", "why": "so"}
    assert told["result"] == {"kind": "train", "revision": 3, "serial": None}
    assert (told["job"]["kind"], told["job"]["progress"]) == ("train", 1.0)
    ids = [int(event.id) for event in one]
    assert ids == sorted(ids)
    assert first(2, ids[0]) == one[1:]
    # Numbers of another server, and of a clock that is ahead.
    for odd in (5, ids[-1] + 1000):
        missed, *rest = first(4, odd)
        assert (missed.what, rest) == ("missed", one)
    for odd in ("x", "-1", "9" * 5000, "\N{SUPERSCRIPT TWO}".encode().decode("latin-1")):
        assert first(3, odd) == one
