"""Who may ask the workbench, and what: the host, the token and the cookie, the page that a write comes from, sizes.

A web page that somebody visits can send requests to any port of that person's machine, and can give a name of its own
the address 127.0.0.1. So the workbench takes a request only

1. for a host that is this machine (else a foreign name was pointed here),
2. with a known method, an address and headers of sane form and size,
3. from a browser that has opened the printed address, which holds a token, and got a cookie for it,
4. if it writes, from a page of the workbench itself, as JSON or as a form,
5. of limited size, and only so many at once.

Everything else is refused with a status and a sentence, before any other code sees it. All answers get the headers
that keep other pages from reading, framing or feeding them.
"""

from __future__ import annotations

import asyncio
import gzip
import html
import io
import json
import logging
import re
import secrets
import time
import traceback
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from clearmargin.exceptions import DataError, FileDamagedError, InvalidValueError
from clearmargin.rules.file_writing import writing_to

if TYPE_CHECKING:
    from starlette.requests import Request

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
MAX_UPLOAD = 512 * 2**20
MAX_BODY = 2 * 2**20
# Requests that are answered at once, and streams of events, one a tab.
MAX_REQUESTS = 64
MAX_STREAMS = 200

# Bytes of an address and of all headers together, and the number of headers, that no page of ours comes near.
_LONGEST_ADDRESS = 8_000
_LONGEST_HEADERS = 16_000
_MOST_HEADERS = 100
_READING = ("GET", "HEAD")
_WRITING = ("POST", "PUT", "PATCH", "DELETE")
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
# Headers that decide something here: which of two would count is a matter of taste, so there must not be two.
_SINGLE = (
    *("host", "origin", "sec-fetch-site", "sec-fetch-mode", "content-type", "content-length"),
    *("content-encoding", "transfer-encoding"),
)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{1,5}))?")
# Control characters, a backslash, what was no UTF-8, an empty segment, and segments that lead elsewhere.
_ODD_PATH = re.compile("[\x00-\x1f\x7f\\\\\ufffd]|//|/\\.{1,2}(?:/|$)")
# A slash, a backslash or a NUL in disguise.
_HIDDEN = re.compile(rb"%(?:2f|5c|00)", re.IGNORECASE)
_STREAM = re.compile(r"(?:/p/[^/]+)?/events")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_GZIP = b"\x1f\x8b"
_GUARDED = "clearmargin.guarded"
_UPLOADS = "/projects"
_OPEN = "/open"
_LOG = logging.getLogger("clearmargin.workbench")

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_CLOSED = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


@dataclass(frozen=True, slots=True)
class Access:
    """What a browser has to know and say to be let in. `Access.make` draws the secrets."""

    port: int
    token: str = field(repr=False)
    session: str = field(repr=False)
    form_token: str = field(repr=False)
    once: str = field(repr=False)
    author: str = ""
    landing: str = "/"

    @classmethod
    def make(cls, port: int, *, author: str = "", landing: str = "/") -> Access:
        """Draw new secrets, of 24 random bytes each."""
        token, session, form_token, once = (secrets.token_urlsafe(24) for _ in range(4))
        return cls(
            port=port,
            token=token,
            session=session,
            form_token=form_token,
            once=once,
            author=author,
            landing=landing,
        )

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"clearmargin-{self.port}"


def check_form_token(access: Access, value: object) -> bool:
    """Check, in constant time, whether a form is one of ours."""
    return isinstance(value, str) and _same(value, access.form_token)


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode("utf-8"))


def security_headers() -> list[tuple[bytes, bytes]]:
    """List the headers that every answer has."""
    headers = {
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": _CLOSED,
    }
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def plain_page(title: str, *paragraphs: str, more: str = "") -> bytes:
    """Write a page that needs no other file."""
    body = "\n".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)
    name = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{name} - clearmargin</title>\n<main>\n<h1>{name}</h1>\n{body}\n{more}\n</main>\n"
    ).encode()


def attachment(name: str) -> str:
    r"""Write the header `Content-Disposition` of a file to take away, whatever it is called."""
    plain = _UNSAFE.sub("-", name).strip("-.") or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='', errors='replace')}"


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An answer to what is not allowed: a status and a sentence."""

    status: int
    words: str
    headers: tuple[tuple[str, str], ...] = ()
    more: str = ""


_FOREIGN_HOST = _Refusal(
    421,
    "This server answers for this machine only. Open the address that clearmargin workbench has printed, as it is.",
)
_METHODS = _Refusal(
    405, "This method is not known here.", (("allow", ", ".join((*_READING, *_WRITING))),)
)
_LONG_ADDRESS = _Refusal(414, "The address is too long.")
_LARGE_HEADERS = _Refusal(431, "There are too many headers, or they are too long.")
_ODD_REQUEST = _Refusal(400, "This request is not well-formed.")
_SOCKETS = _Refusal(400, "There are no web sockets here.")
_NO_COOKIE = _Refusal(
    403,
    "This browser has not been let in. Open the address that clearmargin workbench has printed, with its token.",
    more='<p>If you have done so and followed a link to here, <a href="/">go on</a>.</p>',
)
_WRONG_TOKEN = _Refusal(
    403,
    "This token is not that of the workbench that runs now. Open the address that it has printed last.",
)
_ELSEWHERE = _Refusal(403, "This request comes from a page that is not part of the workbench.")
_WRONG_TYPE = _Refusal(
    415,
    "Only JSON, or a form of this page, can be sent, and not packed.",
    (("accept", "application/json"),),
)
_TOO_LARGE = _Refusal(413, "This is more than can be sent at once.")
_BUSY = _Refusal(503, "Too many requests at once. Try again in a moment.", (("retry-after", "1"),))
_OUR_FAULT = _Refusal(
    500,
    "Internal error: this is a bug in clearmargin. What was kept is safe; the terminal says where it arose.",
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, as far as the guard looks at it."""

    method: str
    version: str
    path: str
    raw_path: bytes
    query: bytes
    headers: dict[str, list[str]]
    header_bytes: int

    @classmethod
    def of(cls, scope: Scope) -> _Asked:
        headers: dict[str, list[str]] = defaultdict(list)
        for name, value in scope["headers"]:
            headers[name.decode("latin-1").lower()].append(value.decode("latin-1").strip())
        path = scope["path"]
        return cls(
            method=scope["method"],
            version=scope.get("http_version", "1.1"),
            path=path,
            raw_path=scope.get("raw_path") or path.encode(),
            query=scope.get("query_string", b""),
            headers=dict(headers),
            header_bytes=sum(len(name) + len(value) + 4 for name, value in scope["headers"]),
        )

    def header(self, name: str) -> str:
        """The value of a header, empty if it is not there."""
        return self.headers.get(name, [""])[0]

    @property
    def writes(self) -> bool:
        return self.method in _WRITING

    @property
    def content_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def size(self) -> int:
        """Bytes that were announced."""
        announced = self.header("content-length")
        return int(announced) if announced.isdecimal() else 0

    @property
    def limit(self) -> int:
        """Bytes that a body may have."""
        return MAX_UPLOAD if self.path == _UPLOADS else MAX_BODY

    @property
    def wants_json(self) -> bool:
        return (
            "application/json" in self.header("accept").lower()
            or self.content_type == "application/json"
        )

    @property
    def is_stream(self) -> bool:
        return self.method == "GET" and _STREAM.fullmatch(self.path) is not None


class Guard:
    """Let through what may be asked, and refuse all else in words; put the headers on every answer."""

    def __init__(self, app: App, access: Access):
        self.app = app
        self.access = access
        self.streams = 0
        self.seen_stream = False
        self.last_seen = time.monotonic()
        self._requests = 0
        self._headers = security_headers()
        self._closing = asyncio.Event()
        self._was_opened = False

    def close(self) -> None:
        """End all streams of events; to be called in the loop, when the server is about to stop."""
        self._closing.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] == "lifespan" or _GUARDED in scope:
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        asked = _Asked.of(scope)
        body = _Body(receive, asked.limit)
        answer = _Answer(send, self._headers, asked.wants_json, body)
        refusal = _first(asked, self.access, _BEFORE_COOKIE)
        if refusal is None and asked.path == _OPEN:
            refusal = await self._open(asked, answer)
        elif refusal is None:
            refusal = _first(asked, self.access, _BEHIND_COOKIE) or self._too_much(asked)
            if refusal is None:
                self.last_seen = time.monotonic()
                await self._pass_on({**scope, _GUARDED: True}, asked, body, answer)
        if refusal is not None:
            await answer.refuse(refusal)

    def _too_much(self, asked: _Asked) -> _Refusal | None:
        if asked.size > asked.limit:
            return _TOO_LARGE
        open_now, most = (
            (self.streams, MAX_STREAMS) if asked.is_stream else (self._requests, MAX_REQUESTS)
        )
        return _BUSY if open_now >= most else None

    async def _open(self, asked: _Asked, answer: _Answer) -> _Refusal | None:
        """Exchange the token for the cookie."""
        refusal = _METHODS if asked.method != "GET" else self._check_token(asked)
        if refusal is None:
            await self._let_in(asked, answer)
        return refusal

    def _check_token(self, asked: _Asked) -> _Refusal | None:
        given = [v for name, v in parse_qsl(asked.query.decode("latin-1")) if name == "token"]
        if len(given) != 1:
            return _WRONG_TOKEN
        is_once = _same(given[0], self.access.once)
        if _same(given[0], self.access.token) or (is_once and not self._was_opened):
            self._was_opened = self._was_opened or is_once
            return None
        return _WRONG_TOKEN

    async def _let_in(self, asked: _Asked, answer: _Answer) -> None:
        access = self.access
        cookie = f"{access.cookie}={access.session}; HttpOnly; SameSite=Strict; Path=/"
        headers = [("set-cookie", cookie)]
        # A browser that was sent here by another site would not show a strict cookie on the way on; from this page it
        # does.
        if asked.header("sec-fetch-site") in ("cross-site", "same-site"):
            headers.append(("refresh", f"0; url={access.landing}"))
            link = f'<p><a href="{html.escape(access.landing)}">Go on</a></p>'
            await answer.page(200, plain_page("Workbench", more=link), headers)
            return
        await answer.page(303, b"", [*headers, ("location", access.landing)])

    async def _pass_on(self, scope: Scope, asked: _Asked, body: _Body, answer: _Answer) -> None:
        """Let the application answer, with an eye on how much it reads, how long, and how it ends."""
        if asked.is_stream:
            self.streams += 1
            self.seen_stream = True
        else:
            self._requests += 1
        try:
            work = self.app(scope, body.receive, answer.send)
            await (self._until_closing(work, answer) if asked.is_stream else work)
        except Exception as error:  # the last door: whatever it is, the answer is a sentence
            if not (body.is_too_large or _has_gone(error)):
                _log_place(error)
            await answer.refuse(_TOO_LARGE if body.is_too_large else _OUR_FAULT)
        finally:
            if asked.is_stream:
                self.streams -= 1
                self.last_seen = time.monotonic()
            else:
                self._requests -= 1
        await answer.finish()

    async def _until_closing(self, work: Awaitable[None], answer: _Answer) -> None:
        """Run a stream until it ends, or the server does."""
        stream = asyncio.ensure_future(work)
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({stream, closing}, return_when=asyncio.FIRST_COMPLETED)
            is_over = stream.done()
        finally:
            closing.cancel()
            stream.cancel()
            await asyncio.gather(stream, closing, return_exceptions=True)
        if is_over:
            stream.result()
        else:
            await answer.end()


class _Body:
    """What is received, counted."""

    def __init__(self, receive: Receive, limit: int):
        self._receive = receive
        self._limit = limit
        self._count = 0
        self.is_too_large = False

    async def receive(self) -> Message:
        """Receive as the application would, until it is too much: then the sender seems to have gone."""
        if self.is_too_large:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._count += len(message.get("body", b""))
        if self._count > self._limit:
            self.is_too_large = True
            return {"type": "http.disconnect"}
        return message


class _Answer:
    """What is sent, with our headers on it; what an application says of a body that was too large is not sent."""

    def __init__(
        self, send: Send, headers: Sequence[tuple[bytes, bytes]], as_json: bool, body: _Body
    ):
        self._send = send
        self._headers = headers
        self._as_json = as_json
        self._body = body
        # A page of an error, which an application sends before it raises, and which may say too much.
        self._held: list[Message] = []
        self.started = False
        self.ended = False

    async def send(self, message: Message) -> None:
        """Send as an application does."""
        if self._body.is_too_large and not self.started:
            return
        is_start = message["type"] == "http.response.start"
        if self._held or (is_start and message["status"] == 500):
            self._held.append(message)
            return
        await self._pass(message)

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": self._guarded(message.get("headers", []))}
            self.started = True
        elif message["type"] == "http.response.body":
            self.ended = not message.get("more_body", False)
        await self._send(message)

    def _guarded(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        ours = {name for name, _ in self._headers}
        kept = [(name, value) for name, value in headers if name.lower() not in ours]
        if not any(name.lower() == b"cache-control" for name, _ in kept):
            kept.append((b"cache-control", b"no-store"))
        return [*kept, *self._headers]

    async def page(
        self, status: int, content: bytes, headers: Iterable[tuple[str, str]] = (), kind: str = ""
    ) -> None:
        """Send a whole answer."""
        lines = [
            ("content-type", kind or "text/html; charset=utf-8"),
            ("content-length", str(len(content))),
            *headers,
        ]
        raw = [(name.encode(), value.encode("latin-1")) for name, value in lines]
        await self._pass({"type": "http.response.start", "status": status, "headers": raw})
        await self._pass({"type": "http.response.body", "body": content, "more_body": False})

    async def refuse(self, refusal: _Refusal) -> None:
        """Send a refusal, unless an answer is under way, which then ends where it is."""
        self._held.clear()
        if self.started:
            return
        if self._as_json:
            content = json.dumps({"message": refusal.words}).encode()
            await self.page(refusal.status, content, refusal.headers, "application/json")
            return
        page = plain_page("Workbench", refusal.words, more=refusal.more)
        await self.page(refusal.status, page, refusal.headers)

    async def end(self) -> None:
        """End a stream as if it had come to its end."""
        if self.started and not self.ended:
            await self._pass({"type": "http.response.body", "body": b"", "more_body": False})

    async def finish(self) -> None:
        """Send what was held back, since no error came; say 413 where the application was not heard."""
        if self._body.is_too_large and not self.started:
            await self.refuse(_TOO_LARGE)
        for message in self._held:
            await self._pass(message)


def _has_gone(error: Exception) -> bool:
    """Check whether the reason is that the browser has closed the connection, which is nobody's mistake."""
    from starlette.requests import ClientDisconnect

    return isinstance(error, ClientDisconnect)


def _log_place(error: Exception) -> None:
    """Log what kind of error arose and where, but not its message, which may hold values of cases."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = " <- ".join(
        f"{PurePosixPath(frame.filename).name}:{frame.lineno} {frame.name}"
        for frame in reversed(frames)
    )
    _LOG.error(
        "internal error: this is a bug in clearmargin: %s in %s", type(error).__name__, places
    )


# The checks, each of which gives a refusal or nothing.


def _first(
    asked: _Asked, access: Access, checks: Iterable[Callable[[_Asked, Access], _Refusal | None]]
) -> _Refusal | None:
    for check in checks:
        refusal = check(asked, access)
        if refusal is not None:
            return refusal
    return None


def _check_host(asked: _Asked, _: Access) -> _Refusal | None:
    hosts = asked.headers.get("host", [])
    found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    if found is None or not 0 < int(found[2] or 80) < 65536:
        return _FOREIGN_HOST
    return None if found[1].lower() in LOOPBACK else _FOREIGN_HOST


def _check_method(asked: _Asked, _: Access) -> _Refusal | None:
    return None if asked.method in (*_READING, *_WRITING) else _METHODS


def _check_size_of_head(asked: _Asked, _: Access) -> _Refusal | None:
    if len(asked.raw_path) + len(asked.query) > _LONGEST_ADDRESS:
        return _LONG_ADDRESS
    number = sum(map(len, asked.headers.values()))
    if number > _MOST_HEADERS or asked.header_bytes > _LONGEST_HEADERS:
        return _LARGE_HEADERS
    return None


def _check_form(asked: _Asked, _: Access) -> _Refusal | None:
    """Check that the request can be understood in one way only."""
    if asked.header("upgrade").lower() == "websocket":
        return _SOCKETS
    is_odd = (
        asked.version not in ("1.0", "1.1")
        or not asked.path.startswith("/")
        or _ODD_PATH.search(asked.path) is not None
        or _HIDDEN.search(asked.raw_path) is not None
        or any(len(asked.headers.get(name, ())) > 1 for name in _SINGLE)
        or {"transfer-encoding", "content-length"} <= set(asked.headers)
    )
    return _ODD_REQUEST if is_odd else None


def _check_embedding(asked: _Asked, _: Access) -> _Refusal | None:
    """Refuse to be a part of another page: its image, script, frame or data. A link may lead here."""
    if asked.header("sec-fetch-site") not in ("cross-site", "same-site"):
        return None
    is_link = asked.method == "GET" and asked.header("sec-fetch-mode") == "navigate"
    is_framed = asked.header("sec-fetch-dest") in ("iframe", "frame", "object", "embed")
    return None if is_link and not is_framed else _ELSEWHERE


def _check_cookie(asked: _Asked, access: Access) -> _Refusal | None:
    for line in asked.headers.get("cookie", []):
        for pair in line.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == access.cookie and _same(value, access.session):
                return None
    return _NO_COOKIE


def _check_origin(asked: _Asked, _: Access) -> _Refusal | None:
    """Check that a write comes from a page of ours: the browser says so, or its origin is the host that it asks."""
    if not asked.writes:
        return None
    origin = asked.header("origin").lower()
    matches = origin == f"http://{asked.header('host').lower()}".removesuffix(":80")
    if "sec-fetch-site" not in asked.headers:
        return None if matches else _ELSEWHERE
    # A form of a page without referrer has the origin null.
    is_ours = asked.header("sec-fetch-site") == "same-origin"
    return None if is_ours and (matches or origin in ("", "null")) else _ELSEWHERE


def _check_type(asked: _Asked, _: Access) -> _Refusal | None:
    """Check that what is written is JSON or a form; a request to delete may be empty."""
    if not asked.writes:
        return None
    if asked.header("content-encoding") not in ("", "identity"):
        return _WRONG_TYPE
    is_empty = asked.size == 0 and "transfer-encoding" not in asked.headers
    if asked.method == "DELETE" and is_empty and not asked.content_type:
        return None
    return None if asked.content_type in ("application/json", *_FORMS) else _WRONG_TYPE


_BEFORE_COOKIE = (_check_host, _check_method, _check_size_of_head, _check_form, _check_embedding)
_BEHIND_COOKIE = (_check_cookie, _check_origin, _check_type)


# What handlers read bodies with.


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent by a form."""

    name: str
    content: bytes
    fields: dict[str, str]


async def read_upload(request: Request, access: Access, *, limit: int = MAX_UPLOAD) -> Upload:
    """Read the one file of a form, ``file``, on to the disk while it comes."""
    from starlette.datastructures import UploadFile
    from starlette.exceptions import HTTPException

    with writing_to("the upload"):
        async with request.form(max_files=1, max_fields=20, max_part_size=2**16) as form:
            if not check_form_token(access, form.get("form_token")):
                raise HTTPException(403, _ELSEWHERE.words)
            sent = form.get("file")
            if not isinstance(sent, UploadFile) or not sent.filename:
                raise HTTPException(
                    400, "There is no file in this form. Choose one, and send it again."
                )
            content = await sent.read()
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
            name = sent.filename
    fields.pop("form_token", None)
    try:
        await asyncio.to_thread(check_upload, content, limit)
    except FileDamagedError as error:
        raise HTTPException(400, str(error)) from error
    except DataError as error:
        raise HTTPException(413, str(error)) from error
    return Upload(_shown_name(name), content, fields)


async def read_form(request: Request, access: Access) -> dict[str, str]:
    """Read a form of ours that has no file."""
    from starlette.exceptions import HTTPException

    async with request.form(max_files=0, max_fields=5_000, max_part_size=MAX_BODY) as form:
        if not check_form_token(access, form.get("form_token")):
            raise HTTPException(403, _ELSEWHERE.words)
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
    del fields["form_token"]
    return fields


async def read_json(request: Request) -> dict[str, Any]:
    """Read a body that must be a JSON object."""
    from starlette.exceptions import HTTPException

    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "This address takes JSON.")
    try:
        return parse_json(await request.body())
    except InvalidValueError as error:
        raise HTTPException(400, str(error)) from error


def parse_json(content: bytes) -> dict[str, Any]:
    """Read a JSON object that may be hostile: of finite numbers, valid texts and limited depth."""
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
        # Half of a surrogate pair is no text, and could not be written anywhere.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise InvalidValueError("this is not JSON: it is nested too deeply") from None
    except UnicodeError:
        raise InvalidValueError("this is not JSON: its text is not UTF-8") from None
    except ValueError as error:
        raise InvalidValueError(f"this is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidValueError("this is not a JSON object: begin it with {")
    return value


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _refuse(text)


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")


def unpack_limited(content: bytes, limit: int = MAX_UPLOAD) -> bytes:
    """Undo gzip, and stop where it becomes too much; a file that is not packed is given back as it is."""
    shown = f"{limit // 2**20} MB" if limit >= 2**20 else f"{limit} bytes"
    too_much = DataError(
        f"the file has more than {shown} when it is unpacked, which is too much; give it fewer rows"
    )
    if not content.startswith(_GZIP):
        if len(content) > limit:
            raise too_much
        return content
    total = 0
    parts: list[bytes] = []
    with gzip.open(io.BytesIO(content)) as stream:
        while total <= limit:
            try:
                part = stream.read(2**20)
            except (OSError, EOFError, zlib.error) as error:
                raise FileDamagedError(f"the file is packed by gzip and damaged: {error}") from None
            if not part:
                return b"".join(parts)
            total += len(part)
            parts.append(part)
    raise too_much


def check_upload(content: bytes, limit: int = MAX_UPLOAD) -> None:
    """Raise for a file that would be too much as a table, before anybody reads it as one."""
    from clearmargin.workbench.project_table import MAX_CELLS

    cells = _announced_cells(unpack_limited(content, limit))
    if cells > MAX_CELLS:
        raise DataError(
            f"the file has {cells:,} values, and the workbench takes {MAX_CELLS:,}. Take a sample of the rows, or use "
            "the command line (clearmargin rules)"
        )


def _announced_cells(content: bytes) -> int:
    """How many values a Parquet or Feather file says that it has: a few bytes can stand for billions of them."""
    import pyarrow as pa
    from pyarrow import dataset

    formats = {b"PAR1": dataset.ParquetFileFormat, b"ARRO": dataset.IpcFileFormat}
    kind = formats.get(content[:4])
    if kind is None:
        return 0
    try:
        stored = kind().make_fragment(pa.BufferReader(content))
        return int(stored.count_rows()) * len(stored.physical_schema)
    except (OSError, ValueError, pa.ArrowException):  # damaged: who reads it says so
        return 0


def _shown_name(name: str) -> str:
    """The last part of a name that may be a path of any system, without what cannot be shown."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    shown = "".join(letter for letter in last if letter.isprintable()).strip()
    return shown[:200] or "table"
