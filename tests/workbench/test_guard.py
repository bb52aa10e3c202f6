"""Who may ask the workbench: a table of hostile requests, and what each has to be told."""

from __future__ import annotations

import asyncio
import gzip
import io
import logging
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic, sleep
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.workbench.coroutines import run_alone
from tests.workbench.server_client import (
    PATIENCE,
    Answer,
    Client,
    RunningServer,
    Workbench,
    exchange,
    free_socket,
    multipart,
    running_workbench,
)

from clearmargin.exceptions import DataError, FileDamagedError, InvalidValueError
from clearmargin.workbench.guard import (
    MAX_BODY,
    MAX_REQUESTS,
    MAX_STREAMS,
    MAX_UPLOAD,
    Access,
    Guard,
    attachment,
    check_form_token,
    check_upload,
    parse_json,
    read_form,
    read_json,
    read_upload,
    unpack_limited,
)

SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
}
# Small enough that too much is quickly sent.
LIMITS = {"max_body": 5_000, "max_upload": 50_000, "max_requests": 4, "max_streams": 2}
VALUE = "the value 38.5 of a case"


class Behind:
    """What is behind the guard: an application that remembers what reached it."""

    def __init__(self, access: Access):
        self.access = access
        self.reached: list[str] = []
        self.release = threading.Event()
        pages = {
            ("GET", "/"): self.home,
            ("POST", "/echo"): self.echo,
            ("PUT", "/echo"): self.echo,
            ("PATCH", "/echo"): self.echo,
            ("DELETE", "/echo"): self.echo,
            ("POST", "/ignore"): self.home,
            ("POST", "/json"): self.json,
            ("POST", "/form"): self.form,
            ("POST", "/projects"): self.project,
            ("GET", "/cached"): self.cached,
            ("GET", "/slow"): self.slow,
            ("GET", "/boom"): self.boom,
            ("GET", "/boom-late"): self.boom_late,
            ("GET", "/own-500"): self.own_error,
            ("GET", "/loose"): self.loose,
            ("GET", "/p/{id}/events"): self.events,
        }
        routes = [Route(path, page, methods=[method]) for (method, path), page in pages.items()]
        self.app = Starlette(routes=routes)

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "http":
            self.reached.append(f"{scope['method']} {scope['path']}")
        await self.app(scope, receive, send)

    async def home(self, _: Request) -> Response:
        return PlainTextResponse("home")

    async def echo(self, request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    async def json(self, request: Request) -> Response:
        return JSONResponse(await read_json(request))

    async def form(self, request: Request) -> Response:
        return JSONResponse(await read_form(request, self.access))

    async def project(self, request: Request) -> Response:
        sent = await read_upload(request, self.access, limit=LIMITS["max_upload"])
        return JSONResponse({"name": sent.name, "size": len(sent.content), **sent.fields})

    async def cached(self, _: Request) -> Response:
        return PlainTextResponse("x", headers={"Cache-Control": "max-age=60"})

    async def loose(self, _: Request) -> Response:
        headers = {"Content-Security-Policy": "script-src *", "X-Content-Type-Options": "sniff"}
        return PlainTextResponse("x", headers=headers)

    async def slow(self, _: Request) -> Response:
        await asyncio.to_thread(self.release.wait, PATIENCE)
        return PlainTextResponse("at last")

    async def boom(self, _: Request) -> Response:
        raise ZeroDivisionError(VALUE)

    async def boom_late(self, _: Request) -> Response:
        async def parts():
            yield b"first"
            raise ZeroDivisionError(VALUE)

        return StreamingResponse(parts())

    async def own_error(self, _: Request) -> Response:
        return PlainTextResponse("the disk is full", 500)

    async def events(self, request: Request) -> Response:
        async def parts():
            yield f'id: 1\nevent: hello\ndata: {{"tab": "{request.path_params["id"]}"}}\n\n'
            await asyncio.sleep(3600)

        return StreamingResponse(parts(), media_type="text/event-stream")


class Guarded:
    """A guarded application that runs."""

    def __init__(self, **given: object):
        self.socket = free_socket()
        self.port: int = self.socket.getsockname()[1]
        self.access = Access.make(self.port, **given)
        self.behind = Behind(self.access)
        self.guard = Guard(self.behind, self.access, **LIMITS)
        self.client = Client(self.port, self.access)
        self.stranger = Client(self.port)


@contextmanager
def guarding(**given: object) -> Iterator[Guarded]:
    guarded = Guarded(**given)
    with RunningServer(guarded.guard, guarded.socket, guarded.guard):
        try:
            yield guarded
        finally:
            guarded.behind.release.set()


@pytest.fixture(scope="module")
def here() -> Iterator[Guarded]:
    with guarding() as guarded:
        yield guarded


@dataclass(frozen=True)
class Hostile:
    """A request of somebody who means no good, and the status that it must get.

    `{host}`, `{port}`, `{cookie}`, `{session}`, `{token}` are filled in; header lines are sent as they are.
    """

    name: str
    status: int
    method: str = "GET"
    target: str = "/"
    version: str = "HTTP/1.1"
    host: str | None = "{host}"
    cookie: str | None = "{cookie}"
    headers: tuple[str, ...] = ()
    body: bytes = b""
    # Whether it may reach the application: it is harmless there, or refused there.
    passes: bool = False

    def bytes(self, guarded: Guarded | Workbench) -> bytes:
        lines = [f"{self.method} {self.target} {self.version}"]
        lines += [] if self.host is None else [f"Host: {self.host}"]
        lines += [] if self.cookie is None else [f"Cookie: {self.cookie}"]
        lines += ["Connection: close", *self.headers]
        head = "\r\n".join(lines) + "\r\n\r\n"
        access = guarded.access
        for name, value in {
            "host": f"127.0.0.1:{guarded.port}",
            "port": str(guarded.port),
            "cookie": f"{access.cookie}={access.session}",
            "name": access.cookie,
            "session": access.session,
            "token": access.token,
        }.items():
            head = head.replace(f"{{{name}}}", value)
        return head.encode("latin-1") + self.body


JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"
OURS = "Sec-Fetch-Site: same-origin"


def write(name: str, status: int, *headers: str, body: bytes = b"{}", **more: object) -> Hostile:
    """A request that would change something."""
    given = {"method": "POST", "target": "/echo", **more}
    size = [] if any("Transfer-Encoding" in line for line in headers) else [len(body)]
    lines = (*headers, *(f"Content-Length: {n}" for n in size))
    return Hostile(name, status, headers=lines, body=body, **given)


def host(name: str, value: str | None, status: int = 421, **more: object) -> Hostile:
    return Hostile(f"host: {name}", status, host=value, **more)


def target(name: str, value: str, status: int = 400, **more: object) -> Hostile:
    return Hostile(f"address: {name}", status, target=value, **more)


HOSTS = [
    host("foreign name", "evil.example"),
    host("foreign name with our port", "evil.example:{port}"),
    host("rebound name that begins like ours", "127.0.0.1.evil.example:{port}"),
    host("rebound name that ends like ours", "evil-localhost:{port}"),
    host("subdomain of localhost", "evil.localhost:{port}"),
    host("another address of the loopback interface", "127.0.0.2:{port}"),
    host("address in short form", "127.1:{port}"),
    host("address as one number", "2130706433:{port}"),
    host("address in hexadecimal digits", "0x7f000001:{port}"),
    host("address in octal digits", "0177.0.0.1:{port}"),
    host("unspecified address", "0.0.0.0:{port}"),
    host("unspecified address of IPv6", "[::]:{port}"),
    host("IPv4 within IPv6", "[::ffff:127.0.0.1]:{port}"),
    host("IPv6 at length", "[0:0:0:0:0:0:0:1]:{port}"),
    host("IPv6 with a zone", "[::1%25lo]:{port}"),
    host("IPv6 without brackets", "::1"),
    host("trailing dot", "localhost.:{port}"),
    host("address with trailing dot", "127.0.0.1.:{port}"),
    host("with userinfo", "evil@127.0.0.1:{port}"),
    host("with a password", "a:b@127.0.0.1:{port}"),
    host("with a path", "127.0.0.1:{port}/evil"),
    host("two in one", "127.0.0.1:{port}, evil.example"),
    host("with a blank", "127.0.0.1 evil.example"),
    host("with a tab", "127.0.0.1\t.evil.example"),
    host("with a port that is no number", "127.0.0.1:http"),
    host("with a port that cannot be", "127.0.0.1:65536"),
    host("with port zero", "127.0.0.1:0"),
    host("with an empty port", "127.0.0.1:"),
    host("with a negative port", "127.0.0.1:-80"),
    host("digits of another script", "１２７.0.0.1".encode().decode("latin-1")),
    host("empty", ""),
    host("absent, as HTTP/1.0 allows", None, version="HTTP/1.0"),
    host("absent, as HTTP/1.1 does not allow", None, status=400),
    host("twice", "{host}", status=400, headers=("Host: evil.example",)),
    host("twice, the foreign one first", "evil.example", status=400, headers=("Host: {host}",)),
    host("folded over two lines", "{host}\r\n evil.example"),
    host(
        "foreign, with a forwarded one of ours",
        "evil.example",
        headers=("X-Forwarded-Host: {host}",),
    ),
    host(
        "foreign, while the token is right",
        "evil.example",
        target="/open?token={token}",
        cookie=None,
    ),
    host("foreign comes before the method", "evil.example", method="BREW"),
    host("foreign comes before the size", "evil.example", target="/" + "a" * 9_000),
]
METHODS = [
    Hostile(f"method: {method}", 405, method=method)
    for method in (
        "OPTIONS",
        "TRACE",
        "CONNECT",
        "get",
        "Post",
        "PROPFIND",
        "BREW",
        "GETX",
        "HEAD2",
    )
]
METHODS += [
    Hostile("method: of a star", 405, method="OPTIONS", target="*"),
    Hostile(
        "method: hidden in a header", 200, headers=("X-HTTP-Method-Override: DELETE",), passes=True
    ),
    Hostile("method: head of the opening page", 405, method="HEAD", target="/open?token={token}"),
    Hostile("method: post to the opening page", 405, method="POST", target="/open?token={token}"),
]
TARGETS = [
    target("up two folders", "/../../etc/passwd"),
    target("up from static files", "/static/../../../etc/passwd"),
    target("up in percent signs", "/static/%2e%2e/%2e%2e/etc/passwd"),
    target("up with hidden slashes", "/static/..%2f..%2fetc%2fpasswd"),
    target("up with hidden upper-case slashes", "/static/..%2F..%2Fetc/passwd"),
    target("hidden twice", "/static/%252e%252e%252fetc/passwd", 404, passes=True),
    target("up with backslashes", "/static/..\\..\\windows"),
    target("up with hidden backslashes", "/static/..%5c..%5cwindows"),
    target("this folder", "/./"),
    target("ends in two dots", "/static/.."),
    target("another server", "//evil.example/"),
    target("empty segment", "/p//rules"),
    target("NUL, hidden", "/static/a%00.css"),
    target("NUL", "/static/a\0.css"),
    target("line break, hidden", "/a%0d%0aSet-Cookie:%20x=y"),
    target("control character, hidden", "/a%1b[2J"),
    target("no UTF-8, hidden", "/%ff%fe"),
    target("surrogate in UTF-8, hidden", "/%ed%a0%80"),
    target("letters that are not ASCII", "/ä"),
    target("absolute, ours", "http://127.0.0.1/"),
    target("absolute, foreign", "http://evil.example/"),
    target("absolute, foreign, of the opening page", "http://evil.example/open?token={token}"),
    target("without a slash", "index.html"),
    target("of a file", "file:///etc/passwd"),
    target("too long", "/" + "a" * 9_000, 414),
    target("with too long a question", "/?q=" + "a" * 9_000, 414),
]
COOKIES = [
    Hostile("cookie: none", 403, cookie=None),
    Hostile("cookie: of another name", 403, cookie="session={session}"),
    Hostile("cookie: wrong value", 403, cookie="{name}=wrong"),
    Hostile("cookie: empty value", 403, cookie="{name}="),
    Hostile("cookie: without value", 403, cookie="{name}"),
    Hostile("cookie: the token in its place", 403, cookie="{name}={token}"),
    Hostile("cookie: one letter more", 403, cookie="{name}={session}x"),
    Hostile("cookie: in quotes", 403, cookie='{name}="{session}"'),
    Hostile("cookie: letters that are not ASCII", 403, cookie="{name}=ÿÿ"),
    Hostile("cookie: of another port", 403, cookie="clearmargin-1={session}"),
    Hostile("cookie: in another header", 403, cookie=None, headers=("X-Cookie: {cookie}",)),
    Hostile("cookie: none, for a static file", 403, cookie=None, target="/static/live.js"),
    Hostile("cookie: none, for a page that is not there", 403, cookie=None, target="/nothing"),
    Hostile(
        "cookie: none, but the token at another page", 403, cookie=None, target="/?token={token}"
    ),
    Hostile(
        "cookie: none, but the token as a bearer",
        403,
        cookie=None,
        headers=("Authorization: Bearer {token}",),
    ),
    write("cookie: none, for a write", 403, OURS, JSON, cookie=None),
]
TOKENS = [
    Hostile("token: none", 403, target="/open", cookie=None),
    Hostile("token: empty", 403, target="/open?token=", cookie=None),
    Hostile("token: wrong", 403, target="/open?token=wrong", cookie=None),
    Hostile("token: wrong, in a browser that was let in", 403, target="/open?token=wrong"),
    Hostile("token: one letter more", 403, target="/open?token={token}x", cookie=None),
    Hostile("token: right and wrong", 403, target="/open?token=x&token={token}", cookie=None),
    Hostile("token: the cookie in its place", 403, target="/open?token={session}", cookie=None),
    Hostile("token: letters that are not ASCII", 403, target="/open?token=%ff%C3%BF", cookie=None),
    Hostile(
        "token: at an address that only begins so", 403, target="/open/?token={token}", cookie=None
    ),
    Hostile(
        "token: as an image of another page",
        403,
        target="/open?token={token}",
        cookie=None,
        headers=("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
    ),
]
EMBEDDED = [
    Hostile(f"embedded: {name}", 403, headers=lines)
    for name, lines in {
        "script of another site": ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
        "data for another site": ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"),
        "data for another port": ("Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors"),
        "frame of another port": (
            "Sec-Fetch-Site: same-site",
            "Sec-Fetch-Mode: navigate",
            "Sec-Fetch-Dest: iframe",
        ),
        "object of another site": (
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Mode: navigate",
            "Sec-Fetch-Dest: object",
        ),
        "form of another site by GET that posts": ("Sec-Fetch-Site: cross-site",),
    }.items()
]
WRITES = [
    write("write: says nothing of its origin", 403, JSON),
    write("write: from another site", 403, "Sec-Fetch-Site: cross-site", JSON),
    write("write: from another port", 403, "Sec-Fetch-Site: same-site", JSON),
    write("write: from no page", 403, "Sec-Fetch-Site: none", JSON),
    write("write: with an unknown word", 403, "Sec-Fetch-Site: same-origin, same-origin", JSON),
    write("write: in upper case", 403, "Sec-Fetch-Site: SAME-ORIGIN", JSON),
    write("write: ours and foreign at once", 400, OURS, "Sec-Fetch-Site: cross-site", JSON),
    write(
        "write: a form that another site navigates to",
        403,
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Mode: navigate",
        FORM,
    ),
    write("write: origin null alone", 403, "Origin: null", JSON),
    write("write: foreign origin alone", 403, "Origin: http://evil.example", JSON),
    write("write: origin of another port", 403, "Origin: http://127.0.0.1:1", JSON),
    write("write: origin without port", 403, "Origin: http://127.0.0.1", JSON),
    write(
        "write: origin of another name of this machine",
        403,
        "Origin: http://localhost:{port}",
        JSON,
    ),
    write("write: origin of another scheme", 403, "Origin: https://{host}", JSON),
    write("write: origin with a path", 403, "Origin: http://{host}/", JSON),
    write("write: origin that begins like ours", 403, "Origin: http://{host}.evil.example", JSON),
    write("write: two origins in one", 403, "Origin: http://{host} http://evil.example", JSON),
    write("write: two origins", 400, "Origin: http://{host}", "Origin: http://evil.example", JSON),
    write("write: empty origin", 403, "Origin:", JSON),
    write("write: referrer of ours alone", 403, "Referer: http://{host}/", JSON),
    write(
        "write: says ours, but the origin is another",
        403,
        OURS,
        "Origin: http://evil.example",
        JSON,
    ),
    write("write: by PUT from another site", 403, "Sec-Fetch-Site: cross-site", JSON, method="PUT"),
    write(
        "write: by PATCH from another site", 403, "Sec-Fetch-Site: cross-site", JSON, method="PATCH"
    ),
    write(
        "write: by DELETE from another site",
        403,
        "Sec-Fetch-Site: cross-site",
        method="DELETE",
        body=b"",
    ),
]
TYPES = [
    write("type: none", 415, OURS),
    write("type: none, of nothing", 415, OURS, body=b""),
    write("type: text, as a foreign form can send", 415, OURS, "Content-Type: text/plain"),
    write(
        "type: text that holds the word", 415, OURS, "Content-Type: text/plain; application/json"
    ),
    write("type: XML", 415, OURS, "Content-Type: application/xml"),
    write("type: JSON of another kind", 415, OURS, "Content-Type: application/json-patch+json"),
    write("type: pickle", 415, OURS, "Content-Type: application/octet-stream", body=b"\x80\x04."),
    write("type: two types", 400, OURS, JSON, FORM),
    write("type: delete with a body of no type", 415, OURS, method="DELETE"),
    write(
        "type: packed body",
        415,
        OURS,
        JSON,
        "Content-Encoding: gzip",
        body=gzip.compress(b"{}", mtime=0),
    ),
    write("type: form at an address of JSON", 415, OURS, FORM, target="/json", passes=True),
]
LARGE = b"x" * (LIMITS["max_body"] + 1)
CHUNKS = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [b"y" * 1_000] * 8) + b"0\r\n\r\n"
SIZES = [
    write("size: announced too large", 413, OURS, JSON, body=LARGE),
    Hostile(
        "size: announced beyond all measure",
        413,
        "POST",
        "/echo",
        headers=(OURS, JSON, "Content-Length: 999999999999999999"),
    ),
    write(
        "size: too large in pieces",
        413,
        OURS,
        JSON,
        "Transfer-Encoding: chunked",
        body=CHUNKS,
        passes=True,
    ),
    write(
        "size: upload announced too large", 413, OURS, JSON, target="/projects", body=b"x" * 50_001
    ),
    Hostile(
        "size: a page with a body announced too large", 413, headers=("Content-Length: 999999",)
    ),
    Hostile("size: many headers", 431, headers=tuple(f"X-{k}: {k}" for k in range(120))),
    Hostile(
        "size: one header twenty thousand letters long", 431, headers=("X-Long: " + "a" * 20_000,)
    ),
    Hostile("size: cookie twenty thousand letters long", 431, cookie="{cookie}; a=" + "a" * 20_000),
]
FRAMING = [
    write(
        "framing: chunks and a length",
        400,
        OURS,
        JSON,
        "Transfer-Encoding: chunked",
        "Content-Length: 5",
        body=b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    ),
    write("framing: two lengths", 400, OURS, JSON, "Content-Length: 5"),
    Hostile(
        "framing: negative length", 400, "POST", "/echo", headers=(OURS, JSON, "Content-Length: -1")
    ),
    Hostile(
        "framing: length with a sign",
        400,
        "POST",
        "/echo",
        headers=(OURS, JSON, "Content-Length: +2"),
    ),
    Hostile(
        "framing: length in hexadecimal digits",
        400,
        "POST",
        "/echo",
        headers=(OURS, JSON, "Content-Length: 0x2"),
    ),
    write("framing: unknown coding", 400, OURS, JSON, "Transfer-Encoding: gzip, chunked"),
    write(
        "framing: chunks of no number",
        400,
        OURS,
        JSON,
        "Transfer-Encoding: chunked",
        body=b"zz\r\n{}\r\n0\r\n\r\n",
        passes=True,
    ),
    Hostile("framing: NUL in a header", 400, headers=("X-Odd: a\0b",)),
    Hostile("framing: bare carriage return in a header", 400, headers=("X-Odd: a\rSet-Cookie: b",)),
    Hostile("framing: blank before the colon", 400, headers=("X-Odd : a",)),
    Hostile("framing: line without a colon", 400, headers=("no header at all",)),
    Hostile("framing: a header without a name", 400, headers=(": a",)),
    Hostile("framing: unknown version", 400, version="HTTP/9.9"),
    Hostile("framing: no version", 400, version=""),
    Hostile("framing: method with a bracket", 400, method="GE(T"),
    Hostile(
        "web socket: of a page that was let in",
        400,
        target="/p/x/events",
        headers=(
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ),
    ),
    Hostile(
        "web socket: of a page that was not",
        400,
        cookie=None,
        headers=("Upgrade: WebSocket", "Connection: Upgrade", "Origin: http://evil.example"),
    ),
]
BODIES = [
    write(f"JSON: {name}", 400, OURS, JSON, target="/json", body=body, passes=True)
    for name, body in {
        "nothing": b"",
        "not closed": b'{"text": "a"',
        "a list": b"[1, 2]",
        "a number": b"3",
        "null": b"null",
        "NaN": b'{"value": NaN}',
        "infinite": b'{"value": -Infinity}',
        "infinite in disguise": b'{"value": 1e999}',
        "an endless number": b'{"value": ' + b"9" * 4_400 + b"}",
        "nested beyond all measure": b'{"a":' * 900 + b"1",
        "deep lists": b'{"a":' + b"[" * 4_900 + b"}",
        "no UTF-8": b'{"text": "\xff"}',
        "UTF-16": '{"text": "a"}'.encode("utf-16"),
        "half of a surrogate pair": b'{"text": "\\ud800"}',
        "half of a pair as a name": b'{"\\udfff": 1}',
        "with something behind": b'{"a": 1} {"b": 2}',
        "single quotes": b"{'a': 1}",
        "a pickle": b"\x80\x04\x95.",
    }.items()
]
TABLE = [
    *HOSTS,
    *METHODS,
    *TARGETS,
    *COOKIES,
    *TOKENS,
    *EMBEDDED,
    *WRITES,
    *TYPES,
    *SIZES,
    *FRAMING,
    *BODIES,
]


def secrets_of(access: Access) -> tuple[str, ...]:
    return access.token, access.once, access.session, access.form_token


def test_the_table_of_hostile_requests_has_no_two_of_one_name():
    assert len({hostile.name for hostile in TABLE}) == len(TABLE) > 150


@pytest.mark.parametrize("hostile", TABLE, ids=lambda hostile: hostile.name)
def test_a_hostile_request_gets_the_answer_that_it_deserves(hostile, here):
    here.behind.reached.clear()
    answer = exchange(here.port, hostile.bytes(here))
    assert answer.status == hostile.status, answer.text
    assert bool(here.behind.reached) == hostile.passes
    said = str(answer.headers) + answer.text
    for secret in (*secrets_of(here.access), "Traceback"):
        assert secret not in said
    assert not any(name.lower() == "set-cookie" for name, _ in answer.headers)
    for name, value in SECURITY.items():
        assert answer.header(name) == value


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Iterator[Workbench]:
    with running_workbench(tmp_path_factory.mktemp("projects"), **LIMITS) as workbench:
        yield workbench


@pytest.mark.parametrize(
    "hostile",
    [hostile for hostile in TABLE if not hostile.passes],
    ids=lambda hostile: hostile.name,
)
def test_the_workbench_itself_is_guarded(hostile, real):
    answer = exchange(real.port, hostile.bytes(real))
    assert answer.status == hostile.status, answer.text
    for name, value in SECURITY.items():
        assert answer.header(name) == value


@pytest.mark.parametrize("beginning", ["GET /", "GET / HTTP/1.1\r\nX-Long: "])
def test_a_head_without_end_is_not_read_to_its_end(beginning, here):
    answer = exchange(here.port, beginning.encode() + b"a" * 33_000)
    assert answer.status == 400
    for name, value in SECURITY.items():
        assert answer.header(name) == value


# What is let in, and how.


@pytest.mark.parametrize(
    "name",
    [
        "127.0.0.1:{port}",
        "127.0.0.1",
        "127.0.0.1:9",
        "localhost:{port}",
        "LOCALHOST",
        "[::1]:80",
        "[::1]",
    ],
)
def test_this_machine_may_be_named_in_three_ways_with_any_port(name, here):
    answer = exchange(here.port, Hostile("", 200, host=name).bytes(here))
    assert (answer.status, answer.text) == (200, "home")


def test_the_token_is_exchanged_for_a_strict_cookie_and_leaves_the_address(here):
    answer = here.stranger.get(f"/open?token={here.access.token}")
    assert answer.status == 303
    assert answer.header("location") == "/"
    assert answer.header("cache-control") == "no-store"
    pair, *attributes = answer.header("set-cookie").split("; ")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert pair.startswith(f"clearmargin-{here.port}=")
    assert here.access.token not in pair
    assert here.stranger.get("/", Cookie=pair).text == "home"
    assert here.stranger.get("/", Cookie=f"a=b; {pair};c=d").text == "home"


def test_the_token_that_a_browser_is_started_with_opens_once(here):
    assert here.stranger.get("/open?token=wrong").status == 403
    assert here.stranger.get(f"/open?token={here.access.once}").status == 303
    assert here.stranger.get(f"/open?token={here.access.once}").status == 403
    assert here.stranger.get(f"/open?token={here.access.token}").status == 303


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_of_another_site_with_the_token_leads_on_by_a_page_of_ours(site, here):
    # A strict cookie would not be shown on a redirection that another site began.
    headers = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    answer = here.stranger.get(f"/open?token={here.access.token}", **headers)
    assert answer.status == 200
    assert answer.header("refresh") == "0; url=/"
    assert "SameSite=Strict" in answer.header("set-cookie")
    assert here.access.token not in answer.text


def test_a_link_of_another_site_may_lead_to_a_page(here):
    headers = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert here.client.get("/", **headers).text == "home"
    assert here.stranger.get("/", **headers).status == 403


def test_who_is_not_let_in_is_told_what_to_do(here):
    page = here.stranger.get("/")
    assert page.header("content-type") == "text/html; charset=utf-8"
    assert "Open the address that clearmargin workbench has printed" in page.text
    said = here.stranger.get("/", Accept="application/json").json()
    assert list(said) == ["message"]
    assert "Open the address that clearmargin workbench has printed" in said["message"]


@pytest.mark.parametrize(
    "lines",
    [
        ("Sec-Fetch-Site: same-origin",),
        ("Sec-Fetch-Site: same-origin", "Origin: http://{host}"),
        # The form of a page without referrer.
        ("Sec-Fetch-Site: same-origin", "Origin: null"),
        ("Origin: http://{host}",),
        ("Origin: HTTP://{host}",),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_page_of_ours_may_write(lines, method, here):
    sent = write("", 200, *lines, f"{JSON}; charset=utf-8", method=method)
    answer = exchange(here.port, sent.bytes(here))
    assert (answer.status, answer.text) == (200, "2")


def test_the_origin_of_the_usual_port_does_not_name_it(here):
    sent = write("", 200, "Origin: http://127.0.0.1", JSON)
    assert exchange(here.port, replace(sent, host="127.0.0.1:80").bytes(here)).status == 200
    assert exchange(here.port, replace(sent, host="127.0.0.1:8080").bytes(here)).status == 403


def test_to_delete_needs_no_body(here):
    assert here.client.delete("/echo").text == "0"


def test_a_form_needs_our_token(here):
    assert here.client.post_form("/form", {"why": "Größe 5"}).json() == {"why": "Größe 5"}
    for token in ("", "wrong", here.access.token, "ÿ"):
        answer = here.client.post_form("/form", {"why": "x", "form_token": token})
        assert answer.status == 403
    body, kind = multipart({"why": "x"})
    assert here.client.request("POST", "/form", body, {"Content-Type": kind}).status == 403
    assert not check_form_token(here.access, None)
    assert not check_form_token(here.access, 3)


def test_secrets_are_24_random_bytes_each_and_shown_nowhere():
    one, other = Access.make(8765), Access.make(8765)
    names = ("token", "once", "session", "form_token")
    drawn = [getattr(a, n) for a in (one, other) for n in names]
    assert len(set(drawn)) == 8
    assert {len(secret) for secret in drawn} == {32}
    assert not any(secret in repr(one) + repr(other) for secret in drawn)


def test_secrets_are_compared_in_constant_time(here, monkeypatch):
    compared = []

    def compare(one, other):
        compared.append(other)
        return one == other

    monkeypatch.setattr("clearmargin.workbench.guard.secrets.compare_digest", compare)
    assert here.stranger.get("/open?token=wrong").status == 403
    assert here.stranger.get("/", Cookie=f"{here.access.cookie}=wrong").status == 403
    assert here.client.post_form("/form", {"form_token": "wrong"}).status == 403
    access = here.access
    wanted = {access.token, access.once, access.session, access.form_token}
    assert {secret.decode() for secret in compared} == wanted


# Sizes.


def test_limits_are_those_of_the_design():
    guard = Guard(Behind(Access.make(1)), Access.make(1))
    limits = (guard.max_upload, guard.max_body, guard.max_requests, guard.max_streams)
    assert limits == (MAX_UPLOAD, MAX_BODY, MAX_REQUESTS, MAX_STREAMS)
    assert limits == (512 * 2**20, 2 * 2**20, 64, 200)


def test_a_body_of_just_the_limit_is_taken(here):
    for headers in ({}, {"Transfer-Encoding": "chunked"}):
        body = b"x" * LIMITS["max_body"]
        sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if headers else body
        kinds = {"Content-Type": "application/json", **headers}
        answer = here.client.request("POST", "/echo", sent, kinds)
        assert (answer.status, answer.text) == (200, "5000")


def test_a_body_that_nobody_reads_is_not_taken_for_a_mistake(here):
    kinds = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    assert here.client.request("POST", "/ignore", CHUNKS, kinds).text == "home"


def test_an_upload_may_be_larger_than_other_bodies(here):
    table = b"a,b\n" * 10_000
    answer = here.client.upload("/projects", "a.csv", table, {"note": "x"})
    assert answer.json() == {"name": "a.csv", "size": 40_000, "note": "x"}
    assert here.client.upload("/echo", "a.csv", table).status == 413
    assert here.client.upload("/projects", "a.csv", table * 2).status == 413


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\a.csv", "a.csv"),
        ("/", "table"),
        ("a\x1b[2J.csv", "a[2J.csv"),
        ("a\u202ecsv", "acsv"),
        ("x" * 300 + ".csv", "x" * 200),
        ("<script>.csv", "<script>.csv"),
    ],
)
def test_the_name_of_an_upload_is_never_a_path(name, shown, here):
    assert here.client.upload("/projects", name, b"a\n").json()["name"] == shown


def test_a_bomb_at_the_upload_is_not_unpacked(here):
    bomb = gzip.compress(bytes(30_000_000))
    assert len(bomb) < LIMITS["max_upload"]
    for content in (bomb, gzip.compress(b"a,b\n", mtime=0) + bomb):
        answer = here.client.upload("/projects", "a.csv.gz", content)
        assert answer.status == 413
        assert "when it is unpacked" in answer.text
    small = gzip.compress(b"a,b\n" * 10_000, mtime=0)
    answer = here.client.upload("/projects", "a.csv.gz", small)
    assert answer.json() == {"name": "a.csv.gz", "size": len(small)}


@pytest.mark.parametrize(
    ("fields", "files", "status"),
    [
        ({}, [("file", "a.csv", b"a")], 403),
        ({"form_token": "wrong"}, [("file", "a.csv", b"a")], 403),
        ({"form_token": "{form}"}, [], 400),
        ({"form_token": "{form}", "file": "a text"}, [], 400),
        ({"form_token": "{form}"}, [("other", "a.csv", b"a")], 400),
        ({"form_token": "{form}"}, [("file", "", b"")], 400),
        ({"form_token": "{form}"}, [("file", "a.csv", b"a"), ("file", "b.csv", b"b")], 400),
        ({"form_token": "{form}"}, [("form_token", "a.csv", b"a")], 403),
        ({"form_token": "{form}", **{f"f{k}": "" for k in range(30)}}, [("file", "a", b"a")], 400),
        (
            {"form_token": "{form}"},
            [("file", "a.csv.gz", gzip.compress(b"a" * 99, mtime=0)[:-9])],
            400,
        ),
        ({"form_token": "{form}"}, [("file", "a.csv.gz", b"\x1f\x8bno")], 400),
    ],
)
def test_an_upload_that_is_none_is_refused(fields, files, status, here):
    filled = {n: here.access.form_token if v == "{form}" else v for n, v in fields.items()}
    body, kind = multipart(filled, files)
    assert here.client.request("POST", "/projects", body, {"Content-Type": kind}).status == status


def test_a_form_that_is_cut_off_is_refused(here):
    body, kind = multipart({"form_token": here.access.form_token}, [("file", "a.csv", b"a" * 99)])
    for sent, typed in ((body[:150], kind), (body, "multipart/form-data"), (b"--", kind)):
        answer = here.client.request("POST", "/projects", sent, {"Content-Type": typed})
        assert answer.status in (400, 403)


def test_packed_files_are_unpacked_as_far_as_the_limit():
    packed = gzip.compress(b"a,b\n", mtime=0)
    assert unpack_limited(b"a,b\n", 4) == b"a,b\n"
    assert unpack_limited(packed, 4) == b"a,b\n"
    assert unpack_limited(packed + packed, 8) == b"a,b\n" * 2
    assert unpack_limited(packed + b"\0" * 8, 8) == b"a,b\n"
    # Packed twice is unpacked once: nobody reads further.
    assert unpack_limited(gzip.compress(packed)) == packed
    for limit, content in ((3, packed), (7, packed + packed), (3, b"a,b\n")):
        with pytest.raises(DataError, match=f"more than {limit} bytes when it is unpacked"):
            unpack_limited(content, limit)


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"a" * 1000, mtime=0)[:-4],
        gzip.compress(b"a" * 1000, mtime=0)[:-12] + b"\xff" * 12,
        b"\x1f\x8b",
        b"\x1f\x8b\x08\x00" + b"\xff" * 30,
        gzip.compress(b"a", mtime=0) + b"behind it",
    ],
)
def test_a_damaged_packed_file_is_refused_in_words(content):
    with pytest.raises(FileDamagedError, match="packed by gzip and damaged: "):
        unpack_limited(content)


def test_a_bomb_takes_little_memory():
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(200)) + packer.flush()
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="more than 2 MB when it is unpacked"):
            unpack_limited(bomb, 2 * 2**20)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def columnar(kind: str, rows: int) -> bytes:
    """A table of zeros, which takes next to no bytes."""
    table = pa.table({"a": pa.array(np.zeros(rows, np.int8)), "b": pa.nulls(rows)})
    content = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, content)
    else:
        feather.write_feather(table, content, compression="zstd", chunksize=rows)
    return content.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_a_bomb_of_columns_is_not_read(kind, here):
    bomb = columnar(kind, 2_600_000)
    assert len(bomb) < LIMITS["max_upload"]
    for content in (bomb, gzip.compress(bomb)):
        answer = here.client.upload("/projects", f"a.{kind}", content)
        assert answer.status == 413
        assert "5,200,000 values, and the workbench takes 5,000,000" in answer.text
    assert here.client.upload("/projects", f"a.{kind}", columnar(kind, 100)).status == 200
    # Whether a damaged one can be read is for those to say who read it.
    check_upload(bomb[:100])


def test_hostile_json_is_refused_in_words():
    with pytest.raises(InvalidValueError, match="begin it with \\{"):
        parse_json(b"[]")
    with pytest.raises(InvalidValueError, match="nested too deeply"):
        parse_json(b'{"a":' + b"[" * 200_000)
    with pytest.raises(InvalidValueError, match="its text is not UTF-8"):
        parse_json(b'{"a": "\\ud800"}')
    assert parse_json('{"a": "ä\\ud83d\\ude00"}'.encode()) == {"a": "ä😀"}


# How many at once.


def until(happens, what: str) -> None:
    deadline = monotonic() + PATIENCE
    while not happens():
        assert monotonic() < deadline, what
        sleep(0.01)


def test_more_requests_at_once_than_allowed_are_put_off():
    with guarding() as here:
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(here.client.get("/slow").text))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        until(lambda: here.behind.reached.count("GET /slow") == 4, "four requests are under way")
        refused = here.client.get("/")
        assert refused.status == 503
        assert refused.header("retry-after") == "1"
        # Streams are counted apart, and who may not ask is told so even now.
        stream = here.client.events("/p/a/events")
        assert next(stream).data == {"tab": "a"}
        stream.close()
        assert here.stranger.get("/").status == 403
        here.behind.release.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert answers == ["at last"] * 4
        assert here.client.get("/").text == "home"


def test_more_streams_than_allowed_are_put_off_and_one_that_ends_makes_room():
    with guarding() as here:
        streams = [here.client.events(f"/p/{name}/events") for name in "ab"]
        assert [next(stream).data["tab"] for stream in streams] == ["a", "b"]
        assert here.guard.streams == 2
        refused = here.client.get("/p/c/events", Accept="text/event-stream")
        assert (refused.status, refused.header("retry-after")) == (503, "1")
        assert here.client.get("/").text == "home"
        streams[0].close()
        until(lambda: here.guard.streams == 1, "the stream is given up")
        third = here.client.events("/p/c/events")
        assert next(third).data == {"tab": "c"}
        third.close()
        streams[1].close()
        until(lambda: here.guard.streams == 0, "all streams are given up")
        assert here.guard.seen_stream


def test_a_server_that_stops_ends_its_streams():
    with guarding() as here:
        stream = here.client.events("/p/a/events")
        assert next(stream).what == "hello"
        begun = monotonic()
    # The server has stopped, and the stream has come to a regular end.
    assert list(stream) == []
    assert monotonic() - begun < PATIENCE / 2


# Answers.


def test_handlers_may_say_how_long_a_page_keeps_but_loosen_nothing(here):
    assert here.client.get("/").header("cache-control") == "no-store"
    assert here.client.get("/cached").header("cache-control") == "max-age=60"
    loose = here.client.get("/loose")
    for name, value in SECURITY.items():
        assert loose.header(name) == value


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("patients-v3.csv", "patients-v3.csv"),
        ("Größe €.csv", "Gr-e-.csv"),
        ('a"; filename="b.exe', "a-filename-b.exe"),
        ("a\r\nSet-Cookie: x=y", "a-Set-Cookie-x-y"),
        ("../../etc/passwd", "etc-passwd"),
        ("\udcff.csv", "csv"),
        ("", "file"),
    ],
)
def test_the_name_of_a_file_to_take_away_stays_in_its_header(name, plain):
    header = attachment(name)
    assert header.startswith(f"attachment; filename=\"{plain}\"; filename*=UTF-8''")
    assert header.isascii()
    assert header.isprintable()
    assert unquote(header.rpartition("'")[2]) == name.replace("\udcff", "?")


def test_no_policy_has_a_hole(here):
    policy = here.client.get("/").header("content-security-policy")
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "http" not in policy


def test_the_server_says_nothing_of_itself(here):
    assert here.client.get("/").header("server") is None
    assert "uvicorn" not in exchange(here.port, b"no http\r\n\r\n").text.lower()


def test_an_error_of_ours_is_told_in_words_and_logged_without_values(here, caplog):
    page = here.client.get("/boom")
    assert page.status == 500
    assert "this is a bug in clearmargin" in page.text
    assert here.client.get("/boom", Accept="application/json").json()["message"] in page.text
    for name, value in SECURITY.items():
        assert page.header(name) == value
    (first, second) = [r for r in caplog.records if r.name == "clearmargin.workbench"]
    assert first.getMessage() == second.getMessage()
    assert "ZeroDivisionError in test_guard.py:" in first.getMessage()
    assert VALUE not in page.text + caplog.text
    assert "Traceback" not in page.text + caplog.text


def test_an_error_in_the_midst_of_an_answer_cuts_it_off(here, caplog):
    sent = Hostile("", 200, target="/boom-late").bytes(here)
    answer = exchange(here.port, sent)
    assert answer.status == 200
    # No last chunk: the reader knows that there should be more.
    assert answer.body == b"5\r\nfirst\r\n"
    assert "ZeroDivisionError" in caplog.text
    assert VALUE not in caplog.text


def test_a_handler_may_say_itself_what_went_wrong(here):
    answer = here.client.get("/own-500")
    assert (answer.status, answer.text) == (500, "the disk is full")


def test_a_page_of_an_error_with_its_trace_is_not_sent(caplog):
    with guarding() as here:
        here.behind.app.debug = True
        answer = here.client.get("/boom")
    assert answer.status == 500
    assert VALUE not in answer.text + caplog.text
    assert "this is a bug in clearmargin" in answer.text


def test_who_leaves_in_the_midst_of_an_upload_is_no_mistake(here, caplog):
    here.behind.reached.clear()
    sent = write("", 0, OURS, JSON, body=b"x" * 100).bytes(here)
    with socket.create_connection(("127.0.0.1", here.port), timeout=PATIENCE) as connection:
        connection.sendall(sent[:-50])
        until(lambda: here.behind.reached, "the request arrived")
    until(lambda: not here.guard._requests, "the request was given up")
    assert here.client.get("/").text == "home"
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


# The guard as a part of an application.


def run_guard(guard: Guard, scope: dict) -> list[dict]:
    said: list[dict] = []

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict) -> None:
        said.append(message)

    run_alone(guard(scope, receive, send))
    return said


def test_a_guard_in_a_guard_asks_once():
    access = Access.make(1)
    behind = Behind(access)
    inner = Guard(behind, access, max_requests=0)
    cookie = f"{access.cookie}={access.session}".encode()
    headers = [(b"host", b"127.0.0.1"), (b"cookie", cookie)]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": headers}
    assert run_guard(inner, scope)[0]["status"] == 503
    said = run_guard(Guard(inner, access), scope)
    assert said[0]["status"] == 200
    names = [name for name, _ in said[0]["headers"]]
    assert names.count(b"content-security-policy") == 1


def test_a_web_socket_is_closed_before_anybody_sees_it():
    behind = Behind(Access.make(1))
    said = run_guard(Guard(behind, behind.access), {"type": "websocket", "path": "/"})
    assert said == [{"type": "websocket.close", "code": 1008}]
    assert not behind.reached


def test_the_life_of_the_application_is_not_guarded():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    run_guard(Guard(app, Access.make(1)), {"type": "lifespan"})
    assert seen == ["lifespan"]


# Where other machines can reach the server.


PASSWORD = "correct horse ä"


NETWORK = {"password": PASSWORD, "hosts": ["Workstation"], "any_address": True}


@pytest.fixture(scope="module")
def network() -> Iterator[Guarded]:
    with guarding(**NETWORK) as guarded:
        yield guarded


def login(guarded: Guarded, password: str, **headers: str) -> Answer:
    origin = {"Origin": f"http://127.0.0.1:{guarded.port}", **headers}
    return guarded.stranger.post_form("/open", {"password": password}, **origin)


def test_a_password_is_asked_for_in_place_of_the_token(network):
    asked = network.stranger.get(f"/open?token={network.access.token}")
    assert asked.status == 200
    assert asked.header("set-cookie") is None
    assert '<input type="password"' in asked.text
    assert network.stranger.get("/").status == 403
    answer = login(network, PASSWORD)
    assert (answer.status, answer.header("location")) == (303, "/")
    cookie = answer.header("set-cookie").partition(";")[0]
    assert network.stranger.get("/", Cookie=cookie).text == "home"


def test_a_wrong_password_is_refused_and_soon_no_more_are_tried():
    with guarding(**NETWORK) as here:
        tried = ["", "x", PASSWORD + "x", "ÿ", "y"]
        assert {login(here, password).status for password in tried} == {403}
        # A new minute may have begun on the way.
        until(lambda: login(here, "z").status == 429, "no more are tried")
        assert login(here, PASSWORD).header("retry-after") == "60"


def test_a_password_comes_from_our_page_alone(network):
    assert login(network, PASSWORD, Origin="http://evil.example").status == 403
    assert login(network, PASSWORD, Origin="null").status == 403
    assert login(network, PASSWORD, Content_Type="text/plain").status == 415
    answer = network.stranger.post_form(
        "/open", {"password": "x" * 6_000}, Sec_Fetch_Site="same-origin"
    )
    assert answer.status == 413
    for method in ("PUT", "DELETE"):
        assert network.stranger.request(method, "/open").status == 403


def test_over_the_network_forms_say_where_they_come_from(network):
    assert network.stranger.get("/open").header("referrer-policy") == "same-origin"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("workstation:{port}", 200),
        ("192.168.1.7:{port}", 200),
        ("[2001:db8::7]:{port}", 200),
        ("localhost", 200),
        ("evil.example:{port}", 421),
        ("192.168.1.7.evil.example", 421),
        ("192.168.1", 421),
        ("[::1::]", 421),
    ],
)
def test_a_server_for_the_network_answers_to_its_name_and_to_addresses(name, status, network):
    assert exchange(network.port, Hostile("", 0, host=name).bytes(network)).status == status
