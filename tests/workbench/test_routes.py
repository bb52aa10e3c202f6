"""Every address: what it answers to what it is made for, and to what it is not, always in words."""

from __future__ import annotations

import asyncio
import html.parser
import io
import re
import struct
import threading
from urllib.parse import quote as quoted

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from tests.workbench.benches import (
    RULES,
    as_csv,
    made_project,
    patients,
    served_at_once,
)
from tests.workbench.coroutines import run_alone
from tests.workbench.server_client import Client, multipart

from clearmargin.workbench import routes
from clearmargin.workbench.project_file import ProjectFile
from clearmargin.workbench.routes import _Lane, make_app
from clearmargin.workbench.static_files import StaticFiles

TASK = {
    "target": "state",
    "missing": "impute",
    "positive": "ill",
    "actions": {"age": {"direction": "down", "cost": 1.0}, "dose": {}},
}
FAST = {"machine": "constraints", "lam": 1.0, "mu": 1.0}


class Served:
    """A client of a project with three versions, of which each has its machine."""

    def __init__(self, client: Client, project: str, rows: list[int], sealed: list[int]):
        self.client, self.id, self.rows, self.sealed = client, project, rows, sealed
        self.home = f"/p/{project}"

    def path(self, path: str) -> str:
        """An address of the project, with what stands in braces filled in."""
        values = {
            "{id}": self.id,
            "{row:number}": str(self.rows[0]),
            "{r:number}": "1",
            "{s:number}": "2",
            "{j:number}": "1",
            "{kind}": "rules",
            "{form}": "json",
            "{digest}": StaticFiles().digest,
            "{name}": "rules.js",
        }
        for name, value in values.items():
            path = path.replace(name, value)
        return path

    def post(self, path, body):
        return self.client.post_json(f"{self.home}{path}", body)


def prepare(running, path):
    """Choose a target, keep rules, and let everything be worked out that pages show."""
    with ProjectFile.open(path, writing=False) as file:
        id = file.id  # noqa: A001
    client = running.client
    home = f"/p/{id}"
    assert client.post_json(f"{home}/task", {"settings": TASK}).status == 200
    kept = client.post_json(
        f"{home}/revisions", {"text": RULES, "why": "so", "base": 1, "settings": FAST}
    )
    assert kept.status == 201, kept.text
    for kind in ("extract", "refine", "contrast", "exports", "report"):
        assert client.post_json(f"{home}/jobs", {"kind": kind}).json()["state"] == "done"
    return client, id


TABLE = patients(110, seed=51, gaps=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    path = made_project(folder, TABLE, "patients.csv")
    with served_at_once(folder) as running:
        client, id = prepare(running, path)  # noqa: A001
        sealed = sealed_rows(len(TABLE["age"]))
        rows = [k + 1 for k in range(len(TABLE["age"])) if k + 1 not in sealed]
        yield running, Served(client, id, rows, sealed)


@pytest.fixture(scope="module")
def served(server):
    return server[1]


def sealed_rows(m):
    """The rows that a project of the tests has sealed, counted from 1."""
    from clearmargin.tables.files import FileTable
    from clearmargin.workbench.project_table import ProjectTable

    return (ProjectTable(FileTable("t", {"x": np.arange(m)}), 0.2, 1).sealed_rows + 1).tolist()


# What each address is made for: its request, and what comes back.

PAGES = [
    "/",
    "/p/{id}/data",
    "/p/{id}/rules",
    "/p/{id}/cases",
    "/p/{id}/cases/{row:number}",
    "/p/{id}/contrast",
    "/p/{id}/history",
    "/p/{id}/export",
    "/p/{id}/revisions/{r:number}",
    "/p/{id}/revisions/{r:number}/against/{s:number}",
]
JSON_POSTS = {
    "/p/{id}/check": {"text": RULES, "serial": 1, "tab": "a"},
    "/p/{id}/preview": {"text": RULES, "serial": 1, "settings": FAST, "tab": "a"},
    "/p/{id}/complete": {"text": "ag", "offset": 2},
    "/p/{id}/edit": {"text": RULES, "rule": 0, "feature": "age", "side": "low", "value": 61},
    "/p/{id}/draft": {"text": "ag", "base": 2, "tab": "a"},
    "/p/{id}/jobs": {"kind": "contrast", "share": 0.2},
    "/p/{id}/cases/{row:number}/what-if": {"values": {"age": 40}},
    "/p/{id}/cases/{row:number}/explain": {},
    "/p/{id}/cases/{row:number}/recourse": {},
}
OTHERS = {
    ("GET", "/favicon.ico"),
    ("GET", "/events"),
    ("GET", "/p/{id}"),
    ("GET", "/static/{digest}/{name}"),
    ("GET", "/p/{id}/columns/{digest}"),
    ("GET", "/p/{id}/results/{kind}"),
    ("GET", "/p/{id}/events"),
    ("GET", "/p/{id}/export/{form}"),
    ("DELETE", "/p/{id}/jobs/{j:number}"),
}
FORMS = {
    "/projects",
    "/examples",
    "/duplicates",
    "/p/{id}/task",
    "/p/{id}/revisions",
    "/p/{id}/revisions/{r:number}/restore",
    "/p/{id}/cases/{row:number}/notes",
    "/p/{id}/exam",
}


def all_routes(tmp_path):
    from clearmargin.workbench.guard import Access

    app = make_app(tmp_path, Access.make(1))
    return {(method, r.path) for r in app.routes for method in r.methods - {"HEAD"}}


def test_every_address_is_tried_here(tmp_path):
    tried = {("GET", path) for path in PAGES} | OTHERS
    tried |= {("POST", path) for path in (*JSON_POSTS, *FORMS)}
    assert all_routes(tmp_path) == tried


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_html(served, path):
    answer = served.client.get(served.path(path), Accept="text/html")
    assert answer.status == 200
    assert answer.header("content-type") == "text/html; charset=utf-8"
    assert answer.text.startswith("<!DOCTYPE html>")
    assert "Traceback" not in answer.text
    assert "Undefined" not in answer.text


@pytest.mark.parametrize("path", JSON_POSTS)
def test_an_address_of_data_answers_with_data(served, path):
    answer = served.client.post_json(served.path(path), JSON_POSTS[path])
    assert answer.status in (200, 202), answer.text
    assert isinstance(answer.json(), dict)


@pytest.mark.parametrize("kind", ["rules", "refined", "contrast", "preview", "exports", "outcome"])
def test_what_work_has_found_can_be_had(served, kind):
    if kind == "preview":
        served.post("/preview", {"text": RULES, "settings": {"machine": "points"}, "serial": 9})
    answer = served.client.get(f"{served.home}/results/{kind}")
    assert answer.status == 200
    assert answer.json()["found"] is not None
    assert answer.json()["revision"] == 2


def test_addresses_that_lead_on(served):
    client = served.client
    assert client.get("/favicon.ico").status == 204
    there = client.get(served.home)
    assert (there.status, there.header("location")) == (303, f"{served.home}/rules")
    script = client.get(StaticFiles().address("rules.js"))
    assert script.status == 200
    assert script.header("content-type").startswith("text/javascript")
    assert "immutable" in script.header("cache-control")
    block = client.get(f"{served.home}/columns/anything")
    assert block.header("content-type") == "application/octet-stream"
    assert block.header("cache-control") == "no-store"
    deleted = client.delete(f"{served.home}/jobs/1")
    assert deleted.json() == {"job": 1, "state": "done"}


FILES = [
    "rules",
    "sql",
    "sql-sqlite",
    "sql-duckdb",
    "sql-postgresql",
    "sql-mysql",
    "python",
    "pmml",
]
FILES += ["json", "markdown", "latex", "xlsx", "report", "cases", "model", "project"]


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("subject", ["mine", "machine"])
def test_a_file_can_be_taken_away(served, form, subject):
    answer = served.client.get(f"{served.home}/export/{form}?revision=2&subject={subject}")
    assert answer.status == 200, answer.text
    assert answer.body
    assert re.fullmatch(
        r"""attachment; filename="patients-v2[\w.-]*"; filename\*=UTF-8''[\w.%-]+""",
        answer.header("content-disposition"),
    )
    assert answer.header("x-content-type-options") == "nosniff"


# What is not there.


@pytest.mark.parametrize("path", ["/nothing", "/p", "/p/", "/p/{id}/nothing", "/static/x/rules.js"])
def test_an_address_that_leads_nowhere_says_so(served, path):
    for accept in ("text/html", "application/json"):
        answer = served.client.get(served.path(path), Accept=accept)
        assert answer.status == 404
        assert "There is nothing at this address" in answer.text


@pytest.mark.parametrize("method_and_path", sorted(OTHERS | {("GET", p) for p in PAGES}))
def test_a_project_that_is_not_there_is_nowhere(served, method_and_path):
    method, path = method_and_path
    if "{id}" in path:
        answer = served.client.request(method, served.path(path.replace("{id}", "0" * 32)))
        assert answer.status == 404
        assert "there is no such project" in answer.json()["message"]


@pytest.mark.parametrize("path", sorted([*JSON_POSTS, *FORMS]))
def test_nothing_can_be_sent_to_a_project_that_is_not_there(served, path):
    if "{id}" not in path:
        return
    there = served.path(path.replace("{id}", "0" * 32))
    sent = (
        served.client.post_json(there, JSON_POSTS[path])
        if path in JSON_POSTS
        else served.client.post_form(there, {"text": "a"})
    )
    assert sent.status == 404


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/revisions/99", "there is no version 99"),
        ("/revisions/1/against/99", "there is no version 99"),
        ("/cases/100000", "there is no row 100000"),
        ("/cases/0", "there is no row 0"),
        ("/cases/" + "9" * 18, "there is no row"),
        ("/revisions/" + "9" * 18, "there is no version"),
        ("/export/json?revision=99", "there is no version 99"),
        ("/export/exe", "There is nothing at this address"),
        ("/results/magic", "There is nothing at this address"),
    ],
)
def test_what_a_project_does_not_have_is_not_found(served, path, words):
    answer = served.client.get(served.home + path)
    assert answer.status == 404
    assert words in answer.json()["message"]


@pytest.mark.parametrize("number", ["9" * 25, "9" * 5000, "-1", "1.5", "\N{SUPERSCRIPT TWO}"])
@pytest.mark.parametrize(
    "path", ["/cases/{}", "/revisions/{}", "/revisions/{}/against/1", "/jobs/{}"]
)
def test_no_number_in_an_address_does_harm(served, path, number):
    there = served.home + path.format(quoted(number))
    method = "DELETE" if "jobs" in path else "GET"
    answer = served.client.request(method, there, headers={"Accept": "application/json"})
    assert answer.status in (404, 405, 414, 422)
    assert answer.json()["message"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("/cases?which=best", "which must be one of"),
        ("/cases?sort=best", "sort must be one of"),
        ("/cases?rule=x", "whole numbers"),
        ("/cases?rule=77", "there are 3 rules"),
        ("/cases?page=%C2%B2", "whole numbers"),
        ("/export?subject=theirs", "to take away"),
        ("/export/json?subject=theirs", "to take away"),
        ("/export/json?revision=%C2%B2", "the number of a version is a whole number"),
        ("/export/json?revision=-1", "the number of a version is a whole number"),
    ],
)
def test_a_query_that_cannot_be_is_refused_in_words(served, query, words):
    answer = served.client.get(served.home + query)
    assert answer.status == 422
    assert words in answer.json()["message"]
    page = served.client.get(served.home + query, Accept="text/html")
    assert page.status == 422
    assert words in page.text


@pytest.mark.parametrize(
    "query",
    [
        "/data?target=nobody",
        "/data?target=",
        "/rules?tab=../x",
        "/rules?add=%3Cb%3E",
        "/cases?page=99999",
    ],
)
def test_a_query_that_means_nothing_shows_the_page(served, query):
    assert served.client.get(served.home + query).status == 200


def test_another_method_is_refused(served):
    for method, path in (("DELETE", "/rules"), ("PUT", "/check"), ("POST", "/rules")):
        answer = served.client.send_json(method, served.home + path, {})
        assert answer.status == 405, path


# What is sent in a form that nobody has asked for.

HUGE = 10**400
VALUES = [
    None,
    True,
    0,
    -1,
    1.5,
    HUGE,
    2**70,
    "",
    "x",
    "\N{SUPERSCRIPT TWO}",
    [],
    [1],
    {},
    {"a": [1]},
]


def is_in_words(answer):
    """No answer is a crash, and what is refused is refused in words."""
    assert answer.status < 500, (answer.status, answer.text)
    if answer.status >= 400:
        message = answer.json()["message"]
        assert len(message) > 8
        assert "internal error" not in message
        assert "Traceback" not in answer.text
    else:
        text = answer.text
        assert "NaN" not in text
        assert "Infinity" not in text


WRITING = {
    "/p/{id}/task": {"settings": TASK, "why": "w", "author": "a"},
    "/p/{id}/revisions": {"text": RULES, "base": 1, "why": "w", "author": "a", "settings": FAST},
}


@pytest.mark.parametrize("path", [*JSON_POSTS, *WRITING])
def test_values_of_wrong_types_are_refused_in_words(server, path):
    served = server[1]
    good = {**JSON_POSTS, **WRITING}[path]
    sent = 0
    for name in good:
        for value in VALUES:
            if path.endswith("/task") and name != "settings":
                continue  # each would be a version, trained anew
            answer = served.client.post_json(served.path(path), {**good, name: value})
            is_in_words(answer)
            sent += 1
    for name in good:
        left_out = {key: value for key, value in good.items() if key != name}
        if not path.endswith("/task") or name == "settings":
            is_in_words(served.client.post_json(served.path(path), left_out))
    assert sent or not good


@pytest.mark.parametrize("path", [*JSON_POSTS, *WRITING])
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"3", b'"a"', b"null", b"\xff\xfe"),
        *(b'{"text": "\\ud800"}', b'{"a": NaN}', b'{"text": 1e999}'),
        *(b"[" * 5000, b'{"a":' * 3000 + b"1" + b"}" * 3000),
    ],
    ids=range(12),
)
def test_what_is_no_json_object_is_refused_in_words(served, path, body):
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    answer = served.client.request("POST", served.path(path), body, headers)
    assert answer.status in (400, 422)
    assert len(answer.json()["message"]) > 8


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = sorted({key for body in JSON_POSTS.values() for key in body} - {"kind"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(sorted(JSON_POSTS)), body=st.dictionaries(st.sampled_from(KEYS), ANY_JSON)
)
def test_no_json_does_harm(served, path, body):
    is_in_words(served.client.post_json(served.path(path), body))


@pytest.mark.parametrize(
    "settings", [{"target": "state", "units": []}, {"target": "nobody"}, {}, [], None]
)
def test_a_task_that_cannot_be_is_refused_in_words(served, settings):
    answer = served.post("/task", {"settings": settings})
    assert answer.status == 422
    assert answer.json()["message"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "magic"}, "kind must be one of train, preview"),
        ({"kind": "contrast", "share": 0.9}, "share must lie between 0.001 and 0.5, not be 0.9"),
        ({"kind": "extract", "max_rules": 0}, "max_rules must lie between 1 and 200"),
        ({"kind": "extract", "short": "yes"}, "short must be true or false, not 'yes'"),
        ({"kind": "preview", "settings": {"machine": "magic"}}, "machine must be one of"),
        ({"kind": "refine", "text": 3}, "rules are a text"),
    ],
)
def test_work_that_cannot_be_done_is_refused_before_it_begins(served, options, words):
    answer = served.post("/jobs", options)
    assert answer.status == 422
    assert words in answer.json()["message"]


def test_work_may_be_about_another_machine(served):
    options = {"kind": "preview", "settings": {"machine": "points"}, "text": RULES, "serial": 5}
    assert served.post("/jobs", options).json()["state"] == "done"


def test_a_note_has_a_largest_size(served):
    path = f"{served.home}/cases/{served.rows[0]}/notes"
    answer = served.client.post_form(path, {"text": "x" * 10_001}, Accept="application/json")
    assert answer.status == 422
    assert "at most 10,000 characters" in answer.json()["message"]


def test_a_report_that_was_not_made_is_not_there(served):
    assert served.client.get(f"{served.home}/export/report?revision=1").status == 404


@pytest.mark.parametrize("path", sorted(FORMS))
def test_forms_that_are_not_ours_are_refused(served, path):
    there = served.path(path)
    files = [("file", "a.csv", b"x,y\n1,2\n")] if path == "/projects" else []
    body, kind = multipart({"form_token": "wrong", "text": "a"}, files)
    assert served.client.request("POST", there, body, {"Content-Type": kind}).status == 403
    nothing = served.client.request("POST", there, b"{}", {"Content-Type": "text/plain"})
    assert nothing.status == 415


@pytest.mark.parametrize("path", sorted(FORMS - {"/p/{id}/exam"}))
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"base": "\N{SUPERSCRIPT TWO}", "text": "agee => ill", "name": "nothing", "sealed": "nan"},
        {"base": "9" * 5000, "text": "", "target": "state", "column:0": "dose", "low:0": "x"},
        {"sealed": "1e999", "project": "../..", "name": "../..", "target": "nobody", "act:0": "up"},
        {"target": "state", "column:0": "age", "use:0": "1", "act:0": "sideways", "cost:0": "nan"},
    ],
    ids=range(5),
)
def test_forms_that_cannot_be_are_refused_in_words(served, path, fields):
    answer = served.client.post_form(served.path(path), fields, Accept="application/json")
    is_in_words(answer)
    is_a_note = path.endswith("/notes") and fields.get("text")
    assert (answer.status >= 400) != bool(is_a_note)


# Versions, drafts and other tabs.


def test_a_stale_text_is_met_with_both_differences(served):
    mine = "mine: age >= 50 => ill\n"
    answer = served.post("/revisions", {"text": mine, "why": "late", "base": 1, "tab": "late"})
    assert answer.status == 409
    told = answer.json()
    assert (told["base"], told["mine"], told["head"]["text"]) == ("", mine, RULES)
    assert told["mine_lines"][0] == ["+", "mine: age >= 50 => ill"]
    assert [line for sign, line in told["head_lines"] if sign == "+" and line] == RULES.splitlines()
    assert "message" in told


def test_a_draft_is_there_again_in_its_tab(served):
    text = "draft: age >= 33 => ill"
    assert served.post("/draft", {"text": text, "base": 2, "tab": "mytab"}).json() == {"kept": True}
    page = served.client.get(f"{served.home}/rules?tab=mytab").text
    assert "draft: age &gt;= 33 =&gt; ill</textarea>" in page.replace("\n", "")
    other = served.client.get(f"{served.home}/rules?tab=another").text
    assert "draft: age &gt;= 33 =&gt; ill</textarea>" not in other.replace("\n", "")
    cases = served.client.get(f"{served.home}/cases?tab=mytab&rule=0")
    assert cases.status == 200
    assert "draft" in cases.text


@pytest.mark.parametrize("tab", ["", "a/b", "x" * 65, "a b"])
def test_the_name_of_a_tab_is_short_and_plain(served, tab):
    answer = served.post("/draft", {"text": "a", "base": 2, "tab": tab})
    assert answer.status == 422
    assert "tab must be a short name" in answer.json()["message"]


def test_mistakes_of_a_text_that_is_kept_come_back_with_their_places(served):
    text = "# \N{GRINNING FACE}\nagee >= 3 => ill"
    answer = served.post("/revisions", {"text": text, "why": "w", "base": 2})
    assert answer.status == 422
    (error,) = answer.json()["errors"]
    units = text.encode("utf-16-le")
    assert units[2 * error["from"] : 2 * error["to"]].decode("utf-16-le") == "agee"


def test_of_the_questions_of_a_tab_only_the_newest_is_answered():
    lane, begun, go_on = _Lane(), threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert go_on.wait(20)
        return {"slow": True}

    async def ask():
        first = asyncio.create_task(lane.run("a", slow))
        await asyncio.to_thread(begun.wait, 20)
        waiting = [
            asyncio.create_task(lane.run(tab, lambda k=k: {"k": k}))
            for k, tab in enumerate(["a", "a", "b", "", "", "a"])
        ]
        await asyncio.sleep(0)
        # As when very many tabs have asked.
        lane.newest.pop("b")
        go_on.set()
        return await asyncio.gather(first, *waiting)

    answers = run_alone(ask())
    assert answers[0] == {"slow": True}
    assert answers[1] is answers[2] is None
    assert answers[4:] == [{"k": 3}, {"k": 4}, {"k": 5}]


def test_a_question_that_takes_too_long_is_given_up_in_words(monkeypatch):
    monkeypatch.setattr(routes, "_LONGEST", 0.01)
    done = threading.Event()

    async def ask():
        lane = _Lane()
        with pytest.raises(HTTPException, match="took longer than") as caught:
            await lane.run("a", lambda: {"late": done.wait(20)})
        assert caught.value.status_code == 503
        done.set()
        monkeypatch.setattr(routes, "_LONGEST", 20)
        return await lane.run("a", lambda: {"next": True})

    assert asyncio.run(ask()) == {"next": True}


def test_tabs_that_are_gone_are_forgotten():
    async def ask():
        lane = _Lane()
        for k in range(1500):
            assert await lane.run(f"t{k}", dict) == {}
        return len(lane.newest)

    assert asyncio.run(ask()) <= 1001


def test_events_tell_other_tabs(tmp_path):
    path = made_project(tmp_path, patients(50), "p.csv")
    with served_at_once(tmp_path) as running:
        with ProjectFile.open(path, writing=False) as file:
            home = f"/p/{file.id}"
        told = running.client.post_json(f"{home}/task", {"settings": {"target": "state"}})
        assert told.json() == {"revision": 1}
        stream = running.client.events(f"{home}/events", last_id="0")
        seen = [next(stream) for _ in range(2)]
        stream.close()
        assert [event.what for event in seen] == ["version", "result"]
        assert seen[1].data == {"kind": "train", "revision": 1, "serial": None}


# A whole way by forms, as without scripts.


def test_a_project_is_made_and_worked_on_by_forms(tmp_path):
    with served_at_once(tmp_path) as running:
        client = running.client
        made = client.upload("/projects", "../../etc/pass wd.csv", as_csv(TABLE), {"sealed": "20"})
        assert made.status == 303, made.text
        home = made.header("location").removesuffix("/data")
        assert [p.name for p in tmp_path.glob("*.clearmargin")] == ["pass-wd.clearmargin"]
        page = client.get(f"{home}/data").text
        fields = dict(re.findall(r'name="(column:\d+)" value="([^"]+)"', page))
        assert list(fields.values()) == ["colour", "age", "dose", "state"]
        fields |= {
            "target": "state",
            "positive": "ill",
            "missing": "impute",
            "use:0": "1",
            "use:1": "1",
        }
        fields |= {
            "low:1": "0",
            "high:1": "120",
            "unit:1": "years",
            "whole:1": "1",
            "act:1": "down",
        }
        sent = client.post_form(f"{home}/task", fields)
        assert (sent.status, sent.header("location")) == (303, f"{home}/rules")
        assert "dose" not in client.post_json(f"{home}/check", {"text": "age >= 3 => ill"}).text
        kept = client.post_form(
            f"{home}/revisions", {"text": "old: age >= 60 => ill\r\n", "base": "1", "why": "w"}
        )
        assert kept.status == 303
        head = client.post_json(f"{home}/revisions", {"text": "", "why": "w", "base": 1}).json()[
            "head"
        ]
        assert head["text"] == "old: age >= 60 => ill\n"
        stale = client.post_form(f"{home}/revisions", {"text": "", "base": "1", "why": "w"})
        assert stale.status == 409
        restored = client.post_form(f"{home}/revisions/1/restore", {"base": "2", "why": "back"})
        assert restored.status == 303
        row = int(re.search(r"/cases/(\d+)", client.get(f"{home}/cases").text).group(1))
        noted = client.post_form(f"{home}/cases/{row}/notes", {"text": "look <b>again</b>"})
        assert noted.status == 303
        assert "look &lt;b&gt;again&lt;/b&gt;" in client.get(f"{home}/cases/{row}").text
        opened = client.post_form(f"{home}/exam", {"author": "an auditor"})
        assert opened.status == 303
        history = client.get(f"{home}/history").text
        assert "Sealed sample opened" in history
        assert "an auditor" in history
        assert "opening number 1" in history
        copied = client.post_form("/duplicates", {"project": home.removeprefix("/p/")})
        assert copied.status == 303
        assert "Sealed sample opened" in client.get(f"{copied.header('location')}/history").text
        example = client.post_form("/examples", {"name": "wbc", "sealed": "10"})
        assert example.status == 303
        assert client.get(example.header("location")).status == 200
        led = client.get(example.header("location").replace("/data", "/rules"))
        assert (led.status, led.header("location")) == (303, example.header("location"))
        assert client.get("/").status == 200


# Sealed rows are in no answer.

MARK_NUMBER, MARK_TEXT, MARK_DOSE = 987_123, "sealedmark", 0.98712345


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A project whose sealed rows hold values that no open row has, and one a class of its own."""
    table = patients(120, seed=61)
    sealed = sealed_rows(120)
    places = np.array(sealed) - 1
    table["age"][places] = MARK_NUMBER
    table["colour"][places] = MARK_TEXT
    table["dose"][places] = MARK_DOSE
    table["state"][places[0]] = f"{MARK_TEXT}class"
    folder = tmp_path_factory.mktemp("marked")
    path = made_project(folder, table, "patients.csv")
    with served_at_once(folder) as running:
        client, id = prepare(running, path)  # noqa: A001
        client.post_json(
            f"/p/{id}/revisions",
            {"text": RULES, "why": "w", "base": 2, "settings": {"machine": "points"}},
        )
        for kind in ("extract", "refine", "contrast", "exports", "report"):
            client.post_json(f"/p/{id}/jobs", {"kind": kind})
        rows = [k + 1 for k in range(120) if k + 1 not in sealed]
        yield Served(client, id, rows, sealed)


def numbers_of_rows(value):
    """All numbers of rows in plain data."""
    if isinstance(value, dict):
        for name, entry in value.items():
            if name in ("rows", "against", "disagree", "top_rows", "bottom_rows"):
                # A single number is a count.
                yield from entry if isinstance(entry, list) else []
            elif name == "row":
                yield entry
            yield from numbers_of_rows(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from numbers_of_rows(entry)


def holds_nothing_sealed(served, answer):
    assert answer.status < 500
    body = answer.body
    for mark in (str(MARK_NUMBER), f"{MARK_NUMBER:,}", MARK_TEXT, "0.987123", "0.98712"):
        assert mark.encode() not in body
    for mark in (float(MARK_NUMBER), MARK_DOSE):
        assert struct.pack("<d", mark) not in body
    kind = answer.header("content-type") or ""
    if kind.startswith("text/html"):
        named = {int(row) for row in re.findall(r"/cases/(\d+)", answer.text)}
        assert not named & set(served.sealed)
    elif kind == "application/json":
        assert not set(numbers_of_rows(answer.json())) & set(served.sealed)


def addresses(served):
    """All addresses that answer with something of the table, but for the file of the whole project."""
    pages = [served.path(path) for path in PAGES]
    pages += [
        f"{served.home}/cases?which={name}" for name in ("wrong", "disagree", "clash", "flips")
    ]
    pages += [f"{served.home}/cases?page={page}&sort=boundary" for page in (1, 2, 3)]
    pages += [f"{served.home}/revisions/2/against/3", f"{served.home}/columns/x"]
    pages += [
        f"{served.home}/results/{kind}"
        for kind in ("rules", "refined", "contrast", "preview", "exports", "outcome")
    ]
    forms = [form for form in FILES if form not in ("project", "xlsx")]
    pages += [f"{served.home}/export/{form}?subject=machine" for form in forms]
    pages += [f"{served.home}/export/{form}?revision=2" for form in forms]
    yield from (("GET", page, None) for page in pages)
    yield from (("POST", served.path(path), body) for path, body in JSON_POSTS.items())
    everything = f"age >= 0 => well\nage >= 0 => ill\nage = {MARK_NUMBER - 1} => ill"
    yield "POST", f"{served.home}/check", {"text": everything}
    yield "POST", f"{served.home}/preview", {"text": everything, "settings": FAST}
    for text in ("colour = ", "colour = s", "age >= "):
        yield "POST", f"{served.home}/complete", {"text": text, "offset": len(text)}
    for target in ("colour", "age", "dose"):
        yield "GET", f"{served.home}/data?target={target}", None
        yield "POST", f"{served.home}/task", {"settings": {"target": target}}


def test_nothing_of_a_sealed_row_is_in_any_answer(marked):
    tried = 0
    for method, path, body in addresses(marked):
        asked = (
            marked.client.get(path, Accept="text/html")
            if method == "GET"
            else marked.client.post_json(path, body)
        )
        holds_nothing_sealed(marked, asked)
        tried += 1
    assert tried > 60


def test_nobody_asks_about_a_sealed_row(marked):
    for row in marked.sealed[:5]:
        for method, path, body in (
            ("GET", f"/cases/{row}", None),
            ("POST", f"/cases/{row}/what-if", {"values": {}}),
            ("POST", f"/cases/{row}/explain", {}),
            ("POST", f"/cases/{row}/recourse", {}),
        ):
            answer = (
                marked.client.get(marked.home + path)
                if method == "GET"
                else marked.post(path, body)
            )
            assert answer.status == 404
            assert f"row {row} is in the sealed sample" in answer.json()["message"]
        form = marked.client.post_form(f"{marked.home}/cases/{row}/notes", {"text": "peek"})
        assert form.status == 404


def test_an_opening_tells_a_figure_and_is_written_down(marked):
    opened = marked.client.post_form(f"{marked.home}/exam", {"author": "<auditor>"})
    assert opened.status == 303
    page = marked.client.get(f"{marked.home}/history", Accept="text/html")
    holds_nothing_sealed(marked, page)
    assert "&lt;auditor&gt;" in page.text
    assert re.search(r"right on \d+ of \d+ \(\d+\.\d %\), opening number 1", page.text)


# Hostile names are text on every page.

HOSTILE = {
    "<script>alert(1)</script>": "numbers",
    '"><img src=x onerror=alert(2)>': "categories",
    "javascript:alert(3)": "numbers",
    "{{ 7*7 }}${8*8}": "numbers",
    "</textarea><b>": "numbers",
}


class Tags(html.parser.HTMLParser):
    """Which tags and attributes a page has."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def is_harmless(page):
    tags = Tags()
    tags.feed(page)
    for tag, attributes in tags.tags:
        assert tag not in ("b", "img", "iframe", "object", "embed")
        if tag == "script":
            assert attributes["src"].startswith("/static/")
            assert attributes["type"] == "module"
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name != "style"
            if name in ("href", "src", "action") and value:
                assert (
                    not value.strip().lower().startswith(("javascript:", "http:", "https:", "//"))
                )
    assert "alert(1)</script>" not in page
    assert "<img src=x" not in page


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    rng = np.random.default_rng(0)
    columns = {}
    for name, kind in HOSTILE.items():
        columns[name] = (
            rng.normal(size=80).round(2)
            if kind == "numbers"
            else rng.choice(["<script>alert(1)</script>", "'--", "=cmd()"], 80).astype(object)
        )
    first = columns["<script>alert(1)</script>"]
    columns["class</title><script>alert(1)</script>"] = np.where(
        first > 0, "<script>alert(1)</script>", '"ill"'
    ).astype(object)
    folder = tmp_path_factory.mktemp("hostile")
    made_project(folder, columns, "<script>alert(1)</script>.csv")
    (folder / "<script>alert(1)<.clearmargin").write_bytes(b"<script>alert(1)</script>")
    with served_at_once(folder) as running:
        client = running.client
        home = re.search(r'href="(/p/\w+)"', client.get("/").text).group(1)
        target = list(columns)[-1]
        told = client.post_json(f"{home}/task", {"settings": {"target": target}})
        assert told.status == 200, told.text
        text = (
            "`<script>alert(1)</script>`: `<script>alert(1)</script>` >= 0 => `<script>alert(1)</script>`\n"
            '`"><img src=x onerror=alert(2)>` = `=cmd()` => `"ill"`  # </textarea><script>alert(1)</script>\n'
        )
        sent = {"text": text, "why": "<script>alert(1)</script>", "author": '"><b>', "base": 1}
        kept = client.post_json(f"{home}/revisions", sent)
        assert kept.status == 201, kept.text
        for kind in ("extract", "refine", "contrast", "exports", "report"):
            job = client.post_json(f"{home}/jobs", {"kind": kind}).json()
            assert job["state"] == "done"
        client.post_json(f"{home}/draft", {"text": f"{text}</textarea><b>", "base": 2, "tab": "x"})
        row = int(re.search(r"/cases/(\d+)", client.get(f"{home}/cases").text).group(1))
        client.post_form(f"{home}/cases/{row}/notes", {"text": "<script>alert(1)</script>"})
        client.post_form(f"{home}/exam", {"author": "<script>alert(1)</script>"})
        yield Served(client, home.removeprefix("/p/"), [row], [])


@pytest.mark.parametrize("path", PAGES)
def test_hostile_names_are_text_on_every_page(hostile, path):
    answer = hostile.client.get(hostile.path(path), Accept="text/html")
    assert answer.status == 200
    is_harmless(answer.text)


@pytest.mark.parametrize(
    "path",
    [
        "/rules?tab=x",
        "/rules?add=</textarea><script>alert(1)</script>",
        "/data?target=<script>alert(1)</script>",
        "/cases?which=<script>alert(1)</script>",
        "/cases?tab=<script>alert(1)</script>",
        "/export?subject=<script>alert(1)</script>",
        "/export?form=<script>alert(1)</script>",
        "/export?subject=machine&form=markdown",
        "/revisions/2",
        "/revisions/1/against/2",
        "/<script>alert(1)</script>",
    ],
)
def test_hostile_addresses_are_text_too(hostile, path):
    there = hostile.home + quoted(path, safe="/?=&")
    is_harmless(hostile.client.get(there, Accept="text/html").text)


def test_a_report_runs_nothing(hostile):
    report = hostile.client.get(f"{hostile.home}/export/report").text
    tags = Tags()
    tags.feed(report)
    assert not [tag for tag, _ in tags.tags if tag in ("script", "img", "iframe", "b")]
    assert not [name for _, attributes in tags.tags for name in attributes if name.startswith("on")]


def test_a_file_is_named_safely(hostile):
    named = hostile.client.get(f"{hostile.home}/export/json").header("content-disposition")
    assert re.fullmatch(r"""attachment; filename="[\w.-]+"; filename\*=UTF-8''[\w.%-]+""", named)


# Strangers' tables.


def parquet(columns):
    written = io.BytesIO()
    pd.DataFrame(columns).to_parquet(written)
    return written.getvalue()


def strange_tables():
    rng = np.random.default_rng(0)
    m = 60
    x, y = rng.normal(size=m).round(2), rng.choice(["a", "b"], m).astype(object)
    yield "time", as_csv({"t": 1_700_000_000 + rng.integers(0, 10**7, m), "x": x, "y": y})
    yield (
        "rare",
        as_csv({"x": x, "z": x**2, "y": np.array(["a"] * (m - 3) + ["b"] * 3, dtype=object)}),
    )
    yield "wide", as_csv({**{f"x{j}": rng.normal(size=m).round(3) for j in range(60)}, "y": y})
    yield "constant", as_csv({"k": np.full(m, 7), "x": x, "y": y})
    yield "only constant", as_csv({"k": np.full(m, 7), "y": y})
    yield "gaps", as_csv({"n": np.full(m, np.nan), "x": x, "y": y})
    yield "one class", as_csv({"x": x, "y": np.full(m, "a", dtype=object)})
    yield "two rows", b"x,y\n1,a\n2,b\n"
    yield "texts", as_csv({"c": rng.choice(["u", "v", "w"], m).astype(object), "y": y})
    yield "names", as_csv({"n": np.array([f"n{k}" for k in range(m)], dtype=object), "y": y})
    yield "twice", b"x,x,y\n1,2,a\n3,4,b\n"
    yield "parquet", parquet({"x": x, "d": pd.date_range("2020-01-01", periods=m), "y": y})
    yield "semicolon", as_csv({"x": x, "y": y}, ";").replace(b".", b",")
    yield "empty", b""
    yield "no rows", b"x,y\n"
    yield "junk", rng.bytes(2000)
    yield "one column", b"y\na\nb\na\nb\n"
    yield "huge", as_csv({"x": x * 1e307, "y": y})
    yield "numbers", as_csv({"x": x, "y": rng.integers(0, 2, m)})
    yield "three", as_csv({"x": x, "y": rng.choice(["a", "b", "c"], m).astype(object)})
    yield "many", as_csv({"x": x, "y": rng.normal(size=m)})


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_strangers_tables_get_an_answer_or_an_error_in_words(tmp_path):
    told = {}
    with served_at_once(tmp_path) as running:
        client = running.client
        for name, content in strange_tables():
            made = client.upload("/projects", f"{name}.csv", content, {"sealed": "20"})
            assert made.status in (303, 400, 422), (name, made.text)
            if made.status != 303:
                told[name] = made.json()["message"]
                continue
            home = made.header("location").removesuffix("/data")
            page = client.get(f"{home}/data", Accept="text/html")
            assert page.status == 200, name
            settings = {"target": "y", "missing": "impute"}
            chosen = client.post_json(f"{home}/task", {"settings": settings})
            assert chosen.status in (200, 422), (name, chosen.text)
            if chosen.status != 200:
                told[name] = chosen.json()["message"]
                continue
            told[name] = "a machine"
            for path in ("rules", "cases", "contrast", "history", "export"):
                assert client.get(f"{home}/{path}", Accept="text/html").status == 200, (name, path)
            is_in_words(client.post_json(f"{home}/check", {"text": "x >= 0 => a"}))
            is_in_words(client.post_json(f"{home}/preview", {"text": "x >= 0 => a"}))
            assert client.get(f"{home}/columns/x").status == 200
    words = {
        "one class": "single class",
        "two rows": "class",
        "names": "no column is left",
        "twice": "both called 'x'",
        "empty": "is empty",
        "no rows": "no rows",
        "junk": "no text",
        "one column": "no column is left",
        "three": "choose the class of interest",
        "many": "more than 20",
    }
    for name, expected in words.items():
        assert expected in told[name], (name, told[name])
    for name in set(told) - set(words) - {"rare"}:
        assert told[name] == "a machine", (name, told[name])
    assert told["rare"] == "a machine" or "open row" in told["rare"]
