"""Requests and answers have the shapes that are published: real ones are held against them, and broken ones fail."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from tests.workbench.benches import RULES, made_project, patients, served_at_once
from tests.workbench.test_routes import FAST, TASK, all_routes, prepare, sealed_rows

from clearmargin.workbench.answers import answers_schema, shape
from clearmargin.workbench.rule_judgement import Standing
from clearmargin.workbench.settings import DIRECTIONS, MACHINES, MISSING
from clearmargin.workbench.taken_away import SUBJECTS
from clearmargin.workbench.work import KINDS

SCHEMA = answers_schema()
ADDRESSES = SCHEMA["x-addresses"]
TEXTS = [
    RULES,
    "",
    "agee >= 3 => ill\nage >= 70 => well\nage >= 60 => ill\nage + 2*dose >= 3 => ill",
    "# \N{GRINNING FACE}\nif age is at least 70 then ill\ncolour in {red, blue} => ill",
    "age is missing => ill\n3 < age <= 50 and colour = red => well\nage >= ",
]


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Asks a project, and holds what was asked and answered against the schema."""
    folder = tmp_path_factory.mktemp("answers")
    path = made_project(folder, patients(110, seed=51, gaps=True), "patients.csv")
    with served_at_once(folder) as running:
        client, project = prepare(running, path)

        def send(address, body=None, **places):
            method, path = address.split(" ")
            there = path.replace("{id}", project)
            for name, value in places.items():
                there = there.replace(f"{{{name}}}", str(value))
            if method == "POST":
                if "request" in ADDRESSES[address]:
                    validate(body, ADDRESSES[address]["request"])
                answer = client.post_json(there, body)
            else:
                answer = client.request(method, there)
            names = ADDRESSES[address].get(str(answer.status), ["refused"])
            assert (names == ["refused"]) == (answer.status >= 400 and answer.status != 409)
            validate(answer.json(), *names)
            seen.add((address, str(answer.status)))
            return answer.json()

        yield send


seen: set[tuple[str, str]] = set()
ROW = next(row for row in range(1, 110) if row not in sealed_rows(110))


def validate(value, *names):
    jsonschema.Draft202012Validator(shape(*names)).validate(value)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    for name in re.findall(r'"#/\$defs/(\w+)"', text):
        assert name in SCHEMA["$defs"]
    used = set(re.findall(r'"#/\$defs/(\w+)"', text))
    for entry in ADDRESSES.values():
        for names in entry.values():
            used |= {names} if isinstance(names, str) else set(names)
    assert used | {"refused"} == set(SCHEMA["$defs"])


def test_every_address_of_data_has_its_shapes(tmp_path):
    told = {re.sub(r":number}", "}", f"{method} {path}") for method, path in all_routes(tmp_path)}
    for address in ADDRESSES:
        assert address in told or address.startswith("GET /p/{id}/results/")
    forms = {"exam", "notes", "restore"}
    for address in told:
        if address.startswith("POST /p/") and address.rpartition("/")[2] not in forms:
            assert address in ADDRESSES


def test_words_that_are_chosen_from_are_those_of_the_code():
    defs = SCHEMA["$defs"]
    assert defs["machine_settings"]["properties"]["machine"]["enum"] == list(MACHINES)
    task = defs["task_settings"]["properties"]
    assert task["missing"]["enum"] == list(MISSING)
    action = task["actions"]["additionalProperties"]["properties"]
    assert action["direction"]["enum"] == list(DIRECTIONS)
    assert set(defs["job_request"]["properties"]["kind"]["enum"]) == set(KINDS)
    assert defs["exports"]["propertyNames"]["enum"] == list(SUBJECTS)
    kinds = defs["standing"]["properties"]["kind"]["enum"]
    for kind in kinds:
        validate(Standing(kind, "so").to_dict(), "standing")


@pytest.mark.parametrize("text", TEXTS)
def test_answers_while_people_type(ask, text):
    told = ask("POST /p/{id}/check", {"text": text, "serial": "a1", "tab": "x"})
    assert told["serial"] == "a1"
    ask("POST /p/{id}/preview", {"text": text, "settings": FAST, "serial": 2})
    for offset in (0, len(text) // 2, len(text)):
        ask("POST /p/{id}/complete", {"text": text, "offset": offset})
    for rule in told["rules"]:
        for feature in ("age", "dose", "colour"):
            body = {
                "text": text,
                "rule": rule["place"],
                "feature": feature,
                "side": "low",
                "value": 33,
            }
            ask("POST /p/{id}/edit", body)
    ask("POST /p/{id}/draft", {"text": text, "base": 2, "tab": "x"})


def test_answers_of_every_address(ask):
    seen.clear()
    ask("POST /p/{id}/check", {"text": RULES})
    ask("POST /p/{id}/complete", {"text": "ag", "offset": 2})
    ask(
        "POST /p/{id}/edit",
        {"text": RULES, "rule": 0, "feature": "age", "side": "low", "value": None},
    )
    ask("POST /p/{id}/draft", {"text": RULES, "base": None, "tab": "x"})
    ask("POST /p/{id}/preview", {"text": RULES})
    ask("POST /p/{id}/preview", {"text": "", "settings": {"machine": "points"}, "serial": 3})
    for kind in ("refine", "contrast"):
        ask(
            "POST /p/{id}/jobs",
            {"kind": kind, "text": "a: age >= 75 => ill\nb: dose >= 0.9 => ill"},
        )
    for kind in ("rules", "refined", "contrast", "preview", "exports", "outcome"):
        assert ask(f"GET /p/{{id}}/results/{kind}")["found"] is not None
    ask("DELETE /p/{id}/jobs/{j}", j=1)
    ask("DELETE /p/{id}/jobs/{j}", j=999)
    ask("POST /p/{id}/jobs", {"kind": "extract", "short": True, "assume_ranges": True})
    ask("GET /p/{id}/results/rules")
    for action in ("what-if", "explain", "recourse"):
        body = {"values": {"age": 30, "colour": "red"}} if action == "what-if" else {}
        ask(f"POST /p/{{id}}/cases/{{row}}/{action}", body, row=ROW)
        ask(f"POST /p/{{id}}/cases/{{row}}/{action}", body, row=10**6)
    ask("POST /p/{id}/revisions", {"text": "age >= 3 => ill", "why": "w", "base": 1})
    ask("POST /p/{id}/revisions", {"text": "agee >= 3 => ill", "why": "w", "base": 2})
    settings = {"machine": "points"}
    ask(
        "POST /p/{id}/revisions",
        {"text": RULES, "why": "w", "base": 2, "settings": settings, "tab": "x"},
    )
    ask("POST /p/{id}/jobs", {"kind": "extract"})
    for kind in ("rules", "refined", "contrast", "preview", "exports", "outcome"):
        ask(f"GET /p/{{id}}/results/{kind}")
    for action in ("explain", "recourse"):
        ask(f"POST /p/{{id}}/cases/{{row}}/{action}", {}, row=ROW)
    ask("POST /p/{id}/task", {"settings": {**TASK, "target": "nobody"}})
    ask("POST /p/{id}/task", {"settings": {**TASK, "positive": "well"}, "why": "w"})
    tried = {
        (address, status)
        for address in ADDRESSES
        for status in ADDRESSES[address]
        if status != "request"
    }
    assert tried <= seen


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("edit", {"text": 3, "serial": None}),
        ("edit", {"serial": None}),
        ("edit", {"text": "", "serial": None, "more": 1}),
        ("standing", {"kind": "sure", "text": "", "witness": None}),
        ("mistake", {"from": -1, "to": 0, "line": 1, "column": 1, "message": "", "fix": None}),
        (
            "flip",
            {"row": 0, "truth": "a", "before": "a", "after": "b", "effect": "worse", "rules": []},
        ),
        ("machine_settings", {"machine": "magic"}),
        ("task_settings", {"positive": "ill"}),
        ("side_of_box", {"low": 3}),
        ("refused", {"message": ""}),
    ],
)
def test_other_shapes_are_found_wrong(name, value):
    with pytest.raises(jsonschema.ValidationError):
        validate(value, name)
