"""The real command: who is let in and who is not, how it starts, and what ends it."""

import contextlib
import gzip
import json
import re
import signal
import socket
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.seams import ProjectFile
from tests.workbench.project_files import changing, kept_project
from tests.workbench.serving import (
    PATIENCE,
    Answer,
    Client,
    Command,
    as_csv,
    command,
    exchange,
    patients,
    until,
)

pytestmark = pytest.mark.posix

SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
JSON, FORM = "Content-Type: application/json", "Content-Type: application/x-www-form-urlencoded"
OURS, CROSS = "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"
CHUNKED = "Transfer-Encoding: chunked"
LONG = "a" * 9_000
CHUNKS = (
    b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in [b" " * 300_000] * 7) + b"0\r\n\r\n"
)
# Of a request that is answered one part is changed: status, part, what stands there; {host}, {port}, {cookie}, {name},
# {session}, {token} are filled in. A post has head lines, and where it is no JSON a body after an empty line.
# fmt: off
REQUESTS = [
    (421, "host", "evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "evil-localhost:{port}",
     "evil.localhost:{port}", "127.0.0.2:{port}", "127.1:{port}", "2130706433:{port}", "0x7f000001:{port}",
     "0177.0.0.1:{port}", "0.0.0.0:{port}", "[::]:{port}", "[::ffff:127.0.0.1]:{port}", "[::1%25lo]:{port}",
     "[0:0:0:0:0:0:0:1]:{port}", "::1", "localhost.:{port}", "127.0.0.1.:{port}", "evil@127.0.0.1:{port}",
     "a:b@127.0.0.1:{port}", "127.0.0.1:{port}/evil", "127.0.0.1:{port}, evil.example", "127.0.0.1 evil.example",
     "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:0", "127.0.0.1:", "", "127.0.0.1:-80", "\uff11.0.0.1",
     "evil.example\r\nX-Forwarded-Host: {host}"),
    (400, "host", "{host}\r\nHost: evil.example", "evil.example\r\nHost: {host}"),
    (200, "host", "127.0.0.1:{port}", "127.0.0.1", "127.0.0.1:9", "localhost:{port}", "LOCALHOST", "[::1]:80", "[::1]"),
    (405, "method", "OPTIONS", "TRACE", "CONNECT", "get", "Post", "PROPFIND", "HEAD2"),
    (400, "method", "GE(T"),
    (400, "version", "HTTP/9.9", ""),
    (400, "target", "/../../etc/passwd", "/static/../../../etc/passwd", "/static/..\\..\\windows", "/./", "/static/..",
     "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2fetc%2fpasswd", "/static/..%2F..%2Fetc/passwd",
     "/static/..%5c..%5cwindows", "//evil.example/", "/p//rules", "/static/a%00.css", "/static/a\0.css", "index.html",
     "/a%0d%0aSet-Cookie:%20x=y", "/a%1b[2J", "/%ff%fe", "/%ed%a0%80", "/ä", "http://127.0.0.1/", "file:///etc/passwd",
     "http://evil.example/open?token={token}"),
    (404, "target", "/static/%252e%252e%252fetc/passwd", "/nothing"),
    (414, "target", f"/{LONG}", f"/?q={LONG}"),
    (403, "target", "/open?token=wrong"),
    (403, "cookie", "", "session={session}", "{name}=wrong", "{name}=", "{name}", "{name}={token}", "{name}={session}x",
     '{name}="{session}"', "{name}=ÿÿ", "clearmargin-1={session}", "\r\nX-Cookie: {cookie}",
     "\r\nAuthorization: Bearer {token}"),
    (431, "cookie", "{cookie}; a=" + "a" * 20_000),
    (200, "cookie", "a=b; {cookie};c=d"),
    (403, "stranger", "/static/live.js", "/nothing", "/?token={token}", "/open", "/open?token=", "/open?token=wrong",
     "/open?token={token}x", "/open?token=x&token={token}", "/open?token={session}", "/open?token=%ff%C3%BF",
     "/open/?token={token}"),
    (403, "head", f"{CROSS}\r\nSec-Fetch-Mode: no-cors", f"{CROSS}\r\nSec-Fetch-Mode: cors", CROSS,
     "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe",
     f"{CROSS}\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: object"),
    (200, "head", f"{CROSS}\r\nSec-Fetch-Mode: navigate", "X-HTTP-Method-Override: DELETE"),
    (400, "head", "X-Odd: a\0b", "X-Odd: a\rSet-Cookie: b", "X-Odd : a", "no header at all", ": a",
     "Upgrade: websocket\r\nConnection: Upgrade"),
    (413, "head", "Content-Length: 99999999"),
    (431, "head", "\r\n".join(f"X-{k}: {k}" for k in range(120)), "X-Long: " + "a" * 20_000),
    (403, "post", JSON, *(f"Sec-Fetch-Site: {word}\r\n{JSON}" for word in (
        "cross-site", "same-site", "none", "same-origin, same-origin", "SAME-ORIGIN")),
     f"{CROSS}\r\nSec-Fetch-Mode: navigate\r\n{FORM}", f"Referer: http://{{host}}/\r\n{JSON}",
     f"{OURS}\r\nOrigin: http://evil.example\r\n{JSON}", *(f"Origin: {origin}\r\n{JSON}" for origin in (
         "null", "http://evil.example", "http://127.0.0.1:1", "http://127.0.0.1", "https://{host}", "http://{host}/",
         "http://localhost:{port}", "http://{host}.evil.example", "http://{host} http://evil.example", ""))),
    (400, "post", f"{OURS}\r\n{CROSS}\r\n{JSON}", f"{OURS}\r\n{JSON}\r\n{FORM}",
     f"Origin: http://{{host}}\r\nOrigin: http://evil.example\r\n{JSON}", f"{OURS}\r\n{JSON}\r\nContent-Length: 5",
     f"{OURS}\r\n{JSON}\r\n{CHUNKED}", f"{OURS}\r\n{JSON}\r\nTransfer-Encoding: gzip, chunked"),
    (415, "post", OURS, f"{OURS}\r\n{FORM}", f"{OURS}\r\n{JSON}\r\nContent-Encoding: gzip",
     *(f"{OURS}\r\nContent-Type: {kind}" for kind in (
         "text/plain; application/json", "application/xml", "application/json-patch+json"))),
    # What is let in does not find the project.
    (404, "post", f"{OURS}\r\n{JSON}; charset=utf-8", f"{OURS}\r\nOrigin: http://{{host}}\r\n{JSON}",
     f"{OURS}\r\nOrigin: null\r\n{JSON}", f"Origin: HTTP://{{host}}\r\n{JSON}"),
    (413, "unsent", f"Content-Length: {2 * 2**20 + 1}", "Content-Length: 999999999999999999"),
    (400, "unsent", *(f"Content-Length: {size}" for size in ("-1", "+2", "0x2"))),
    (413, "chunks", CHUNKS),
    (400, "chunks", b"zz\r\n{}\r\n0\r\n\r\n"),
    (400, "JSON", b"", b'{"text": "a"', b"[1, 2]", b"null", b'{"value": NaN}', b'{"value": -Infinity}',
     b'{"value": 1e999}', b'{"value": ' + b"9" * 4_400 + b"}", b'{"a":' * 900 + b"1", b'{"text": "\xff"}',
     b'{"a":' + b"[" * 100_000 + b"}", '{"text": "a"}'.encode("utf-16"), b'{"text": "\\ud800"}', b'{"\\udfff": 1}',
     b'{"a": 1} {"b": 2}', b"{'a': 1}", b"\x80\x04\x95.", gzip.compress(b"{}")),
]
# fmt: on


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Iterator[Command]:
    """The command over an empty folder, whose browser was let in."""
    with command("--folder", tmp_path_factory.mktemp("projects")) as running:
        running.let_in()
        yield running
        assert running.end()[0] == 0


def token_of(running: Command) -> str:
    return running.address.rpartition("=")[2]


def written(running: Command, part: str, value: str | bytes) -> bytes:
    """The bytes of a request of which one part is changed."""
    name, _, session = running.client.cookie.partition("=")
    words = {"name": name, "session": session, "cookie": running.client.cookie}
    words |= {"host": f"127.0.0.1:{running.client.port}", "port": str(running.client.port)}
    words["token"] = token_of(running)
    parts = {"method": "GET", "target": "/", "version": "HTTP/1.1", "host": "{host}"}
    parts |= {"cookie": "" if part == "stranger" else "{cookie}", "head": "", "body": b""}
    if part in ("post", "unsent", "chunks", "JSON"):
        parts |= {"method": "POST", "target": "/p/x/check", "head": f"{OURS}\r\n{JSON}"}
    if part in ("chunks", "JSON"):
        size = CHUNKED if part == "chunks" else f"Content-Length: {len(value)}"
        parts |= {"head": f"{parts['head']}\r\n{size}", "body": value}
    elif part == "post":
        parts |= {"head": f"{value}\r\nContent-Length: 2", "body": b"{}"}
    elif part == "unsent":
        parts["head"] += f"\r\n{value}"
    else:
        parts[{"stranger": "target"}.get(part, part)] = value
    lines = [f"{parts['method']} {parts['target']} {parts['version']}", f"Host: {parts['host']}"]
    lines += [
        f"Cookie: {parts['cookie']}",
        "Connection: close",
        *([parts["head"]] * bool(parts["head"])),
    ]
    head = "\r\n".join(lines) + "\r\n\r\n"
    for word, known in words.items():
        head = head.replace(f"{{{word}}}", known)
    return head.encode("utf-8" if "\uff11" in head else "latin-1") + parts["body"]


def is_guarded(answer: Answer) -> bool:
    return all(answer.header(name) == value for name, value in SECURITY.items())


def test_server_answers_our_requests_and_refuses_all_others(here):
    secrets = (token_of(here), here.client.cookie.partition("=")[2], here.client.form_token)
    wrong = []
    for status, part, *values in REQUESTS:
        for value in values:
            sent = written(here, part, value)
            answer = exchange(here.client.port, sent)
            said = str(answer.headers) + answer.text
            leaks = status != 200 and any(secret in said for secret in (*secrets, "Traceback"))
            if answer.status != status or leaks or not is_guarded(answer):
                wrong.append((status, sent[:300], answer))
            assert answer.header("set-cookie") is None
    assert wrong == []
    for beginning in (b"GET /", b"GET / HTTP/1.1\r\nX-Long: "):
        # A head without an end is not read to its end.
        assert exchange(here.client.port, beginning + b"a" * 33_000).status == 400


def test_server_open_exchanges_the_token_for_a_strict_cookie(here):
    stranger = Client(here.client.port)
    opening = f"/open?token={token_of(here)}"
    answer = stranger.get(opening)
    assert (answer.status, answer.header("cache-control")) == (303, "no-store")
    pair, *attributes = answer.header("set-cookie").split("; ")
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert pair == here.client.cookie
    secrets = {token_of(here), pair.partition("=")[2], here.client.form_token}
    assert len({secret for secret in secrets if re.fullmatch(r"[\w-]{32}", secret)}) == 3
    # A strict cookie would not be shown on a redirection that another site began.
    linked = stranger.get(opening, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert (linked.status, linked.header("refresh")) == (200, f"0; url={answer.header('location')}")
    assert list(stranger.get("/", Accept="application/json").json()) == ["message"]
    assert (
        here.client.form("/examples", {"name": "wbc", "form_token": token_of(here)}).status == 403
    )


def test_server_with_too_many_requests_at_once_puts_off(here):
    half, stream = written(here, "unsent", "Content-Length: 10"), written(here, "target", "/events")
    for request, most, tried in ((half, 64, written(here, "target", "/")), (stream, 200, stream)):
        with contextlib.ExitStack() as stack:
            for _ in range(most):
                held = socket.create_connection(("127.0.0.1", here.client.port), timeout=PATIENCE)
                stack.enter_context(held).sendall(request)
                assert request == half or held.recv(2**16).startswith(b"HTTP/1.1 200")
            put_off = until(
                lambda sent=tried: (a := exchange(here.client.port, sent)).status == 503 and a
            )
            assert put_off.header("retry-after") == "1"
        until(lambda: here.client.get("/").status == 200)


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_bytes(as_csv(patients(60)))
    return path


@pytest.fixture
def main():
    (script,) = entry_points(group="console_scripts", name="clearmargin")
    return script.load()


# Two starts of the command.
def test_command_with_a_table_makes_its_project_once(table, main):
    with command(table, "--author", "Ada") as running:
        assert Client(running.client.port).get("/").status == 403
        page = running.let_in()
        client, old = running.client, running.client.cookie
        with ProjectFile.open(table.with_suffix(".clearmargin"), writing=False) as file:
            assert (page, file.source_bytes(1)) == (f"/p/{file.id}", table.read_bytes())
        # Its page opens the project, so that no other server may have it; streams come to a regular end.
        assert client.get(page).status == 303
        assert main(["workbench", "--no-browser", str(table)]) == 2
        stream = written(running, "target", f"{page}/events")
        with socket.create_connection(("127.0.0.1", client.port), timeout=PATIENCE) as tab:
            tab.sendall(stream)
            assert tab.recv(2**16).startswith(b"HTTP/1.1 200")
            code, out, err = running.end()
            assert b"".join(iter(lambda: tab.recv(2**16), b"")).endswith(b"0\r\n\r\n")
    assert (code, err, running.address in out) == (0, "", True)
    names = sorted(path.name for path in table.parent.iterdir())
    assert names == ["patients.clearmargin", "patients.csv"]
    script, told = table.with_name("browser"), table.with_name("address")
    script.write_text(f'#!/bin/sh\necho "$1" > {told}.part && mv {told}.part {told}\n')
    script.chmod(0o755)
    with command(table, "--port", client.port, browser=f"{script} %s") as again:
        assert again.let_in() == page
        assert again.client.get("/", Cookie=old).status == 403
        # The token that the browser is given opens once.
        until(told.exists, "the browser")
        once = "/open?" + told.read_text().strip().partition("?")[2]
        assert [again.client.get(once, Cookie="").status for _ in range(2)] == [303, 403]
        code, _, err = again.end(signal.SIGTERM)
    assert (code, err) == (-signal.SIGTERM, "")


def test_command_with_a_table_that_cannot_be_read_says_so_on_the_page(table):
    table.write_text("age,outcome\n1,2,3\n4,5,6\n")
    with command(table) as running:
        answer = running.client.get("/open?token=" + token_of(running))
        cookie = answer.header("set-cookie").partition(";")[0]
        page = until(lambda: (a := running.client.get("/", Cookie=cookie)).status == 500 and a)
        code, _, err = running.end(None)
    assert "patients.csv" in page.text
    assert (code, "patients.csv" in err, "Traceback" in err) == (2, True, False)
    assert not table.with_suffix(".clearmargin").exists()


def test_command_that_cannot_start_is_refused(tmp_path, table, main, capsys):
    (tmp_path / "empty.csv").touch()
    (tmp_path / "odd.clearmargin").write_text("no project")
    with (tmp_path / "huge.csv").open("wb") as huge:
        huge.truncate(513 * 2**20)
    # The folder has a project of another table of that name.
    with ProjectFile.create(tmp_path / "p.clearmargin", name="p", made_by="Ada") as file:
        file.add_source("patients.csv", b"others", reading={}, rows=1, columns=1)
    project, folder = kept_project(tmp_path), ("--folder", tmp_path)
    taken = socket.create_server(("127.0.0.1", 0))
    names = ("nothing.csv", "empty.csv", "huge.csv", "odd.clearmargin", "nothing.clearmargin")
    ports = (taken.getsockname()[1], 65536, "http")
    refused = [
        *(((tmp_path / name,), name) for name in names),
        *(((tmp_path,), str(tmp_path)), ((table,), "p.clearmargin")),
        *(((table, "--verify", project), "csv"), ((table, "--folder", tmp_path / "x"), "x")),
        ((table, "--folder", table), "patients.csv"),
        ((project, "--folder", tmp_path.parent), "--folder"),
        *(((*folder, "--port", port), "--port") for port in ports),
        *(
            (("--verify", tmp_path / name), name)
            for name in ("nothing.clearmargin", "patients.csv")
        ),
    ]
    before = {path.name for path in tmp_path.iterdir()}
    with taken:
        for words, named in refused:
            try:
                code = main(["workbench", "--no-browser", *map(str, words)])
            except SystemExit as error:
                code = error.code
            said = capsys.readouterr()
            assert (code, said.out, "Traceback" in said.err) == (2, "", False), words
            assert named in said.err
    assert {path.name for path in tmp_path.iterdir()} == before
    for is_forged in (False, True):
        if is_forged:
            with changing(project) as connection:
                connection.execute("UPDATE revision SET why = 'another reason' WHERE id = 2")
        assert main(["workbench", "--verify", str(project), "--json"]) == 2 * is_forged
        facts = json.loads(capsys.readouterr().out)
        assert facts["ok"] != is_forged
        assert is_forged == any("version 2" in problem for problem in facts["problems"])
