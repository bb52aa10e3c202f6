"""A server in a thread on a free port of this machine, and a small client that speaks to it as a browser does."""

from __future__ import annotations

import json
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from clearmargin.workbench.guard import Access, Guard
from clearmargin.workbench.server import Server

# Seconds: far more than anything takes, since machines are busy.
PATIENCE = 30.0


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


@dataclass(frozen=True)
class Event:
    """A server-sent event."""

    id: str
    what: str
    data: Any


class Client:
    """Ask a server; with an access it has the cookie, and says what a browser says on a page of ours."""

    def __init__(self, port: int, access: Access | None = None):
        self.port = port
        self.access = access

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            sent = {**self._own_headers(method), "Connection": "close", **(headers or {})}
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def _own_headers(self, method: str) -> dict[str, str]:
        if self.access is None:
            return {}
        own = {"Cookie": f"{self.access.cookie}={self.access.session}"}
        if method not in ("GET", "HEAD"):
            own["Sec-Fetch-Site"] = "same-origin"
        return own

    def get(self, path: str, **headers: str) -> Answer:
        """Get a page; names of headers have `_` for `-`."""
        return self.request("GET", path, headers=_named(headers))

    def post_json(self, path: str, value: object, **headers: str) -> Answer:
        return self.send_json("POST", path, value, **headers)

    def send_json(self, method: str, path: str, value: object, **headers: str) -> Answer:
        kinds = {"Content-Type": "application/json", "Accept": "application/json"}
        return self.request(method, path, json.dumps(value).encode(), kinds | _named(headers))

    def post_form(self, path: str, fields: dict[str, str] | None = None, **headers: str) -> Answer:
        """Send a form of ours, with its token."""
        body = urlencode({"form_token": self._form_token, **(fields or {})}).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, body, kind | _named(headers))

    def upload(
        self, path: str, name: str, content: bytes, fields: dict[str, str] | None = None
    ) -> Answer:
        """Send a file by a form of ours, with its token."""
        body, kind = multipart(
            {"form_token": self._form_token, **(fields or {})}, [("file", name, content)]
        )
        return self.request("POST", path, body, {"Content-Type": kind})

    def delete(self, path: str, **headers: str) -> Answer:
        return self.request("DELETE", path, headers=_named(headers))

    @property
    def _form_token(self) -> str:
        return "" if self.access is None else self.access.form_token

    def events(self, path: str, last_id: str | None = None) -> Iterator[Event]:
        """Read events until the stream ends or the reader has seen enough (and closes the generator)."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {**self._own_headers("GET"), "Accept": "text/event-stream"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            with response:
                yield from _events(response)
        finally:
            connection.close()


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _events(lines: Iterable[bytes]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for raw in lines:
        line = raw.decode("utf-8").rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Event(
                fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"])
            )
            fields = {}
        else:  # a comment, or how long to wait before the next try
            fields = {}


def multipart(
    fields: dict[str, str], files: Iterable[tuple[str, str, bytes]] = ()
) -> tuple[bytes, str]:
    """The body of a form with files, and its type."""
    mark = secrets.token_hex(16)
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for field, name, content in files:
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
        parts += [head.encode(), b"Content-Type: application/octet-stream\r\n\r\n", content]
        parts.append(b"\r\n")
    return b"".join([*parts, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


def exchange(port: int, sent: bytes) -> Answer:
    """Send bytes as they are, and read the answer until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(sent)
        parts = []
        while part := connection.recv(2**16):
            parts.append(part)
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return Answer(int(first.split(" ")[1]), headers, body)


def free_socket() -> socket.socket:
    """Take a free port of this machine."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


class RunningServer:
    """A server in a thread, between `with` and its end."""

    def __init__(self, app: Any, taken: socket.socket, guard: Guard | None = None):
        self.server = Server(app, guard)
        self.port: int = taken.getsockname()[1]
        self._socket = taken
        self._thread = threading.Thread(target=self.server.run, args=([taken],))

    def __enter__(self) -> RunningServer:
        self._thread.start()
        deadline = time.monotonic() + PATIENCE
        while not self.server.started:
            assert self._thread.is_alive(), "the server has not started"
            assert time.monotonic() < deadline, "the server takes too long to start"
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()
        self._thread.join(PATIENCE)
        self._socket.close()
        assert not self._thread.is_alive(), "the server does not stop"


@dataclass(frozen=True)
class Workbench:
    """The workbench over a folder, while it runs."""

    folder: Path
    port: int
    access: Access
    guard: Guard
    # With the cookie, and without.
    client: Client
    stranger: Client


@contextmanager
def running_workbench(folder: Path, **limits: int) -> Iterator[Workbench]:
    """Run the workbench over the projects of a folder; it can be started there again when it has ended."""
    from clearmargin.workbench.routes import make_app

    taken = free_socket()
    port = taken.getsockname()[1]
    access = Access.make(port, author="the expert")
    guard = Guard(make_app(folder, access), access, **limits)
    with RunningServer(guard, taken, guard):
        yield Workbench(folder, port, access, guard, Client(port, access), Client(port))
