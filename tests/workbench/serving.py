"""The workbench in this process or as the real command, a client that asks as a browser does, tables and projects."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import urlencode

import jsonschema
import numpy as np
import pandas as pd
import uvicorn
from tests.seams import make_app

# Seconds: far more than anything takes, since machines are busy.
PATIENCE = 60.0
SCHEMA = json.loads(
    (resources.files("clearmargin.workbench") / "answers.schema.json").read_text("utf-8")
)
ADDRESSES = SCHEMA["x-addresses"]


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, which must not come twice."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(found) < 2, f"{name} comes {len(found)} times"
        return found[0] if found else None

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    def json(self) -> Any:
        assert self.header("content-type") == "application/json", self.text
        return json.loads(self.body)


def matches(value: object, *names: str) -> bool:
    """Whether plain data has one of the published shapes."""
    schema = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names], "$defs": SCHEMA["$defs"]}
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@dataclass
class Client:
    """Asks a server with what a browser of ours knows; without cookie it is a stranger."""

    port: int
    cookie: str = ""
    form_token: str = ""
    # (address, status) of what had its published shape, and bytes of sealed rows that no answer may hold.
    seen: set[tuple[str, int]] = field(default_factory=set)
    sealed: tuple[bytes, ...] = ()

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Ask; names of headers have `_` for `-`."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        own = {"Connection": "close"}
        if self.cookie:
            own["Cookie"] = self.cookie
            own |= {} if method in ("GET", "HEAD") else {"Sec-Fetch-Site": "same-origin"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.request(method, path, body, own)
            response = connection.getresponse()
            answer = Answer(response.status, response.getheaders(), response.read())
        self._check(method, path, answer)
        return answer

    def _check(self, method: str, path: str, answer: Answer) -> None:
        """Hold an answer against the published shapes, and against what nobody may see."""
        place = re.sub(r"^/p/\w+/", "/p/{id}/", path.partition("?")[0])
        place = re.sub(r"/cases/\d+/", "/cases/{row}/", re.sub(r"/jobs/\d+$", "/jobs/{j}", place))
        known = ADDRESSES.get(f"{method} {place}")
        if known and answer.header("content-type") == "application/json":
            names = known.get(str(answer.status), ["refused"])
            assert matches(answer.json(), *names), (place, answer.status, answer.text[:2000])
            self.seen.add((f"{method} {place}", answer.status))
        if not place.endswith("/export/project"):
            assert not [mark for mark in self.sealed if mark in answer.body], place

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, **headers)

    def page(self, path: str) -> str:
        """The text of a page that is there."""
        answer = self.get(path, Accept="text/html")
        assert answer.status == 200, answer.text
        return answer.text

    def post(self, path: str, value: object, **headers: str) -> Answer:
        kinds = {"Content_Type": "application/json", "Accept": "application/json"}
        return self.request("POST", path, json.dumps(value).encode(), **(kinds | headers))

    def form(self, path: str, fields: dict[str, str] | None = None, **headers: str) -> Answer:
        """Send a form of ours, with its token."""
        body = urlencode({"form_token": self.form_token, **(fields or {})}).encode()
        kinds = {"Content_Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
        return self.request("POST", path, body, **(kinds | headers))

    def upload(self, name: str, content: bytes, **fields: str) -> Answer:
        """Send a file by a form of ours, with its token."""
        mark = secrets.token_hex(16)
        head = f'--{mark}\r\nContent-Disposition: form-data; name="%s"'
        sent = {"form_token": self.form_token, **fields}
        parts = [f"{head % key}\r\n\r\n{value}\r\n".encode() for key, value in sent.items()]
        parts += [f'{head % "file"}; filename="{name}"\r\n\r\n'.encode(), content]
        body = b"".join([*parts, f"\r\n--{mark}--\r\n".encode()])
        kind = f"multipart/form-data; boundary={mark}"
        return self.request("POST", "/projects", body, Content_Type=kind)

    def project(
        self, name: str, content: bytes, task: dict[str, Any] | None = None, **fields: str
    ) -> str:
        """Make a project of a table and choose its task; give its address."""
        made = self.upload(name, content, **fields)
        assert made.status == 303, made.text
        home = (made.header("location") or "").removesuffix("/data")
        if task is not None:
            self.choose(home, **task)
            self.result(home, "outcome")
        return home

    def duplicate(self, home: str) -> str:
        """Copy a project; give the address of the copy."""
        made = self.form("/duplicates", {"project": home.removeprefix("/p/")})
        assert made.status == 303, made.text
        return str(made.header("location"))

    def choose(self, home: str, **task: Any) -> None:
        """Choose a task, and do not wait for its machine."""
        chosen = self.post(f"{home}/task", {"settings": task})
        assert chosen.status == 200, chosen.text

    def keep(self, home: str, text: str, base: int, **more: Any) -> int:
        """Keep a version, and wait until its machine is trained; give its number."""
        kept = self.post(f"{home}/revisions", {"text": text, "why": "so", "base": base, **more})
        assert kept.status == 201, kept.text
        self.result(home, "outcome")
        return int(kept.json()["revision"])

    def result(self, home: str, kind: str) -> Any:
        """Wait until work on the newest version has left its result."""

        def found() -> list[Any]:
            known = self.get(f"{home}/results/{kind}").json()["found"]
            return [] if known is None else [known]

        return until(found, kind)[0]

    def start(self, home: str, kind: str, **options: Any) -> int:
        """Start work; give the number of the job."""
        started = self.post(f"{home}/jobs", {"kind": kind, **options})
        assert started.status == 202, started.text
        return int(started.json()["job"])

    def end_of(self, home: str, job: int) -> Any:
        """Wait for the end of a job, and give what is told of it."""
        for told in self.events(f"{home}/events"):
            if told.what == "job" and told.data["id"] == job and told.data["state"] not in RUNNING:
                return told.data
        raise AssertionError("the stream has ended")

    def work(self, home: str, kind: str, result: str, **options: Any) -> Any:
        """Start work, wait for its end, and give what it has found."""
        ended = self.end_of(home, self.start(home, kind, **options))
        assert ended["state"] == "done", ended
        return self.get(f"{home}/results/{result}").json()["found"] if result else None

    def events(self, path: str, last_id: object = 0) -> Iterator[Event]:
        """Read events until the stream ends or the reader has seen enough."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"Last-Event-ID": str(last_id)}
        headers |= {"Cookie": self.cookie} if self.cookie else {}
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as response:
                assert response.status == 200
                fields: dict[str, str] = {}
                for raw in response:
                    name, _, value = raw.decode("utf-8").rstrip("\n").partition(": ")
                    if name:
                        fields[name] = value
                        continue
                    if "data" in fields:
                        yield Event(fields["id"], fields["event"], json.loads(fields["data"]))
                    fields = {}


RUNNING = ("waiting", "running")


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    id: str
    what: str
    data: Any


def until(happens: Any, what: str = "it") -> Any:
    """Wait for something, and give it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := happens()):
        assert time.monotonic() < deadline, f"{what} takes too long"
        time.sleep(0.02)
    return found


def exchange(port: int, sent: bytes) -> Answer:
    """Send bytes as they are, and read the answer until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(sent)
        head, _, body = b"".join(iter(lambda: connection.recv(2**16), b"")).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return Answer(int(first.split(" ")[1]), headers, body)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Client]:
    """The application over the projects of a folder, in this process and without the guard before it."""
    access: Any = SimpleNamespace(author="the expert", form_token="ours")
    # The same rows are sealed in each run, and in the first two projects.
    seeds = itertools.chain([1], itertools.count(1))
    app = make_app(folder, access)
    config = uvicorn.Config(app, ws="none", lifespan="on", log_config=None, log_level="critical")
    server = uvicorn.Server(config)
    with socket.socket() as taken, mock.patch("secrets.randbelow", side_effect=seeds):
        taken.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([taken],))
        thread.start()
        try:
            until(lambda: server.started, "the server")
            yield Client(taken.getsockname()[1], form_token="ours")
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
    assert not thread.is_alive()


@dataclass
class Command:
    """`clearmargin workbench` as people run it."""

    process: subprocess.Popen[bytes]
    out: Any
    err: Any
    address: str = ""
    client: Client = field(default_factory=lambda: Client(0))

    def said(self, stream: Any) -> str:
        stream.seek(0)
        return str(stream.read())

    def listen(self) -> None:
        """Wait for the address, be let in by its token, and wait for the first page."""
        until(lambda: "\n" in self.said(self.out) or self.process.poll() is not None, "an address")
        found = re.search(r"http://[^/ ]*:(\d+)/\S*", self.said(self.out))
        assert found, self.said(self.err)
        self.address = found[0]
        self.client.port = int(found[1])

    def let_in(self) -> str:
        """Exchange the token for the cookie; give the address of the first page."""
        answer = self.client.get(self.address.partition(str(self.client.port))[2])
        assert answer.status == 303, answer.text
        self.client.cookie = (answer.header("set-cookie") or "").partition(";")[0]
        begin = answer.header("location") or ""
        first = until(lambda: self.client.get(begin).header("location"), "the first page")
        found = re.search(r'name="form_token" value="([^"]+)"', self.client.page("/"))
        assert found is not None
        self.client.form_token = found[1]
        return str(first)

    def end(self, how: int | None = signal.SIGINT) -> tuple[int, str, str]:
        """Send a signal as a terminal does; give the exit code and what was said."""
        if how is not None:
            os.killpg(self.process.pid, how)
        return self.process.wait(PATIENCE), self.said(self.out), self.said(self.err)


@contextlib.contextmanager
def command(*words: object, browser: str = "", seed: int | None = None) -> Iterator[Command]:
    """The real command, in a session of its own; a browser is a program that takes an address.

    With a seed it seals the same rows in each run.
    """
    module = (
        f"import runpy, secrets; secrets.randbelow = lambda _: {seed}; "
        "runpy.run_module('clearmargin', None, '__main__')"
    )
    start = ["-m", "clearmargin"] if seed is None else ["-c", module]
    line = [sys.executable, *start, "workbench", *map(str, words)]
    line += [] if browser else ["--no-browser"]
    around = {**os.environ, **({"BROWSER": browser} if browser else {})}
    # Files, since pipes would be held open by processes that end a little later.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(line, stdout=out, stderr=err, start_new_session=True, env=around)
        running = Command(process, out, err)
        try:
            running.listen()
            yield running
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


RULES = """old: age >= 60 => ill
red: colour = red and dose >= 0.5 => ill
young: age <= 35 => well
"""
TASK = {
    "target": "state",
    "missing": "impute",
    "positive": "ill",
    "actions": {"age": {"direction": "down", "cost": 1.0}, "dose": {}},
}
FAST = {"machine": "constraints", "lam": 1.0, "mu": 30.0}


def patients(m: int = 150, seed: int = 0, *, gaps: bool = False) -> dict[str, np.ndarray]:
    """Two numbers, of which one is whole, a feature of categories before them, and two classes."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], m).astype(object)
    age, dose = rng.integers(20, 80, m), rng.uniform(0, 1, m).round(2)
    score = (age - 50) / 20 + 1.5 * (colour == "red") + 2 * (dose - 0.5) + rng.normal(0, 0.4, m)
    state = np.where(score > 0, "ill", "well").astype(object)
    if gaps:
        dose[rng.random(m) < 0.1] = np.nan
        colour[rng.random(m) < 0.1] = None
    return {"colour": colour, "age": age, "dose": dose, "state": state}


def as_csv(columns: Any, separator: str = ",") -> bytes:
    """A table as a file; what is missing is an empty cell."""
    return pd.DataFrame(columns).to_csv(index=False, sep=separator).encode()


JOBS = {
    "extract": "rules", "refine": "refined", "contrast": "contrast", "report": "",
}  # fmt: skip


def columns_of(client: Client, home: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """The columns that a page draws: what is said of them, and the rows with truth and machine as class names."""
    body = client.get(f"{home}/columns/any").body
    size = 4 + int.from_bytes(body[:4], "little")
    head = json.loads(body[4:size])
    found = {
        entry["name"]: np.frombuffer(body, entry["type"], entry["n"], size + entry["offset"])
        for entry in head["arrays"]
    }
    frame = pd.DataFrame({"row": found["row"]})
    for j, feature in enumerate(head["features"]):
        names, values = feature["categories"], found[f"x{j}"]
        if names is not None:
            # The gap of a category is no code.
            values = [None if np.isnan(k) else names[int(k)] for k in values]
        frame[feature["name"]] = values
    frame["truth"] = [head["classes"][k] for k in found["truth"]]
    if "machine" in found:
        frame["machine"] = [head["classes"][k] for k in found["machine"]]
        frame["score"] = found["score"]
    return head, frame


def cases_of(client: Client, home: str) -> pd.DataFrame:
    """The table of cases to take away."""
    return pd.read_csv(io.BytesIO(client.get(f"{home}/export/cases").body))


def listed(client: Client, home: str, query: str) -> list[int]:
    """The rows that the page of cases lists, page by page."""
    rows: list[int] = []
    for page in range(1, 20):
        text = client.page(f"{home}/cases?{query}&page={page}")
        rows += map(int, re.findall(r'<th scope="row"><a href="[^"]*/cases/(\d+)', text))
        if f"page={page + 1}" not in text:
            return rows
    raise AssertionError("pages without end")


@dataclass
class Worked:
    """A project with a trained version of rules, and everything found that can be asked for."""

    client: Client
    home: str
    content: bytes
    rows: pd.DataFrame

    def copy(self) -> Worked:
        """A project of its own with the same history."""
        return replace(self, home=self.client.duplicate(self.home))

    def ask(self, path: str, **body: Any) -> Any:
        """Send JSON to an address of the project; give what it says, whatever the status."""
        return self.client.post(f"{self.home}/{path}", body).json()

    def case(self, row: int, action: str, **values: Any) -> Any:
        """Ask about a case."""
        return self.ask(f"cases/{row}/{action}", values=values)

    @property
    def sealed(self) -> list[int]:
        return sorted(set(range(1, 111)) - set(self.rows["row"]))


def worked_on(client: Client) -> Worked:
    table = patients(110, 51, gaps=True)
    probe = client.project("probe.csv", as_csv(table))
    client.choose(probe, **TASK)
    # The same rows are sealed again: they are given values that no open row has, and one a class of its own.
    sealed = np.delete(np.arange(110), columns_of(client, probe)[1]["row"] - 1)
    table["age"][sealed], table["dose"][sealed] = 987_123, 0.98712345
    table["colour"][sealed], table["state"][sealed[0]] = "sealedmark", "sealedmarkclass"
    client.sealed = (b"987123", b"987,123", b"0.98712", b"sealedmark", struct.pack("<d", 987_123))
    content = as_csv(table)
    home = client.project("patients.csv", content, TASK)
    client.keep(home, RULES, 1, settings=FAST)
    for kind, result in JOBS.items():
        client.work(home, kind, result)
    return Worked(client, home, content, columns_of(client, home)[1])
