"""Starting the workbench: the address, the first page, what ends it, and what is refused before it begins."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import IO

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route
from tests.workbench.server_client import PATIENCE, Client, RunningServer, free_socket
from tests.workbench.small_projects import kept_project, without_triggers

from clearmargin.cli.main import main
from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    FileInTheWayError,
    InvalidValueError,
)
from clearmargin.workbench import start
from clearmargin.workbench.guard import Access
from clearmargin.workbench.project_file import ProjectFile, ProjectInUseError
from clearmargin.workbench.server import BEGIN, Front
from clearmargin.workbench.start import StartOptions, find_project, start_workbench

TABLE = "age,bmi,outcome\n" + "".join(
    f"{20 + k},{20 + k % 15},{'ill' if k > 30 else 'well'}\n" for k in range(60)
)
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/open\?token=([\w-]{32})")


def until(happens, what: str) -> None:
    deadline = monotonic() + PATIENCE
    while not happens():
        assert monotonic() < deadline, what
        sleep(0.01)


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_text(TABLE)
    return path


# The command as a process of its own.


class Child:
    """`clearmargin workbench` as people run it."""

    def __init__(self, words: Iterable[object], out: IO[str], err: IO[str]):
        command = [sys.executable, "-m", "clearmargin", "workbench", "--no-browser"]
        self.out, self.err = out, err
        self.process = subprocess.Popen(
            [*command, *map(str, words)],
            stdout=self.out,
            stderr=self.err,
            # A terminal sends Ctrl-C to all processes of the group, and to none of the tests.
            start_new_session=True,
        )

    def listen(self) -> None:
        """Wait for the address."""
        until(lambda: "\n" in self.said(self.out) or self.process.poll() is not None, "an address")
        self.line = self.said(self.out)
        found = ADDRESS.search(self.line)
        assert found, self.line + self.said(self.err)
        self.port, self.token = int(found[1]), found[2]
        self.client = Client(self.port)

    def said(self, stream: IO[str]) -> str:
        stream.seek(0)
        return stream.read()

    def let_in(self) -> str:
        """The cookie for the token."""
        answer = self.client.get(f"/open?token={self.token}")
        assert (answer.status, answer.header("location")) == (303, BEGIN)
        return answer.header("set-cookie").partition(";")[0]

    def first_page(self, cookie: str) -> str:
        """Wait as a browser does; give the address of the first page."""
        deadline = monotonic() + PATIENCE
        while True:
            answer = self.client.get(BEGIN, Cookie=cookie)
            if answer.status == 303:
                return answer.header("location")
            assert (answer.status, answer.header("refresh")) == (200, "1")
            assert "is starting" in answer.text
            assert monotonic() < deadline
            sleep(0.05)

    def end(self, how: int | None = signal.SIGINT) -> tuple[int, str, str]:
        """Send a signal as a terminal does; give the exit code and what was said besides the address."""
        if how is not None:
            os.killpg(self.process.pid, how)
        code = self.process.wait(PATIENCE)
        return code, self.said(self.out).removeprefix(self.line), self.said(self.err)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def child(*words: str | Path) -> Iterator[Child]:
    # Files, since pipes would be held open by processes that end a little later.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        running = Child(words, out, err)
        try:
            running.listen()
            yield running
        finally:
            running.close()


@pytest.mark.posix
def test_the_command_prints_one_line_answers_at_once_and_ends_in_words(table):
    with child(table) as running:
        assert running.line.startswith("The workbench is at http://127.0.0.1:")
        assert running.line.endswith("(Ctrl-C ends it)\n")
        assert running.client.get("/").status == 403
        cookie = running.let_in()
        page = running.first_page(cookie)
        with ProjectFile.open(table.with_name("patients.clearmargin"), writing=False) as file:
            assert page == f"/p/{file.id}"
            assert file.source_bytes(1) == TABLE.encode()
        assert running.client.get(page, Cookie=cookie).status in (200, 303)
        code, out, err = running.end()
    assert code == 0
    assert out.strip() == f"The workbench has ended. All that was kept is in {table.parent}."
    assert err == ""
    # The log was folded into the file, and the lock given back.
    assert not list(table.parent.glob("*-wal"))
    ProjectFile.open(table.with_name("patients.clearmargin")).close()


@pytest.mark.posix
def test_the_command_ends_while_a_tab_is_open_and_goes_on_with_the_same_project(table):
    with child(table) as running:
        cookie = running.let_in()
        page = running.first_page(cookie)
        tab = socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE)
        with tab:
            head = f"GET {page}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n"
            tab.sendall(head.encode())
            assert tab.recv(2**16).startswith(b"HTTP/1.1 200")
            # A tab has the project open, so that no other server may.
            assert main(["workbench", "--no-browser", str(table)]) == 2
            code, _, err = running.end()
            # The stream has come to a regular end: an empty chunk.
            assert b"".join(iter(lambda: tab.recv(2**16), b"")).endswith(b"0\r\n\r\n")
    assert (code, err) == (0, "")
    with child(table, "--port", running.port, "--author", "Ada") as again:
        assert again.port == running.port
        assert again.first_page(again.let_in()) == page
        # The cookie was that of another start.
        assert again.client.get("/", Cookie=cookie).status == 403


@pytest.mark.posix
def test_a_terminal_that_closes_ends_the_command(tmp_path):
    with child("--folder", tmp_path) as running:
        assert running.first_page(running.let_in()) == "/"
        code, out, err = running.end(signal.SIGTERM)
    assert (code, out, err) == (-signal.SIGTERM, "", "")


@pytest.mark.posix
def test_a_table_that_cannot_be_read_is_told_by_the_page_and_the_command(table):
    table.write_text("age,outcome\n1,2,3\n4,5,6\n")
    with child(table) as running:
        cookie = running.let_in()
        deadline = monotonic() + PATIENCE
        while (page := running.client.get(BEGIN, Cookie=cookie)).status == 200:
            assert monotonic() < deadline
            sleep(0.05)
        code, out, err = running.end(None)
    assert page.status == 500
    assert "patients.csv" in page.text
    assert "Traceback" not in page.text + err
    assert code == 2
    assert err.startswith("clearmargin: patients.csv")
    assert out == ""
    assert not list(table.parent.glob("*.clearmargin"))


@pytest.mark.posix
def test_without_the_extra_the_line_that_installs_it_is_said(table):
    script = (
        "import sys; sys.modules['uvicorn'] = None; from clearmargin.cli.main import main; "
        f"sys.exit(main(['workbench', {str(table)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "clearmargin: the workbench needs uvicorn, which is not installed: "
        'pip install "clearmargin[workbench]"\n'
    )


def test_the_package_and_the_help_load_nothing_of_the_extra():
    script = (
        "import sys, clearmargin.cli.workbench, clearmargin.workbench.start; "
        "print([name for name in ('starlette', 'uvicorn', 'h11', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


# The command in this process.


@pytest.fixture
def refused(capsys):
    """Run the command, which must refuse in words."""

    def run(*words: object) -> str:
        assert main(["workbench", "--no-browser", *map(str, words)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "Traceback" not in said.err
        return said.err

    return run


def test_wrong_files_are_refused_before_anything_begins(refused, tmp_path, table):
    assert "nothing.csv: no such file or directory" in refused(tmp_path / "nothing.csv")
    assert f"name a table or a project in it, or say --folder {tmp_path}" in refused(tmp_path)
    (tmp_path / "empty.csv").touch()
    assert "empty.csv is empty" in refused(tmp_path / "empty.csv")
    (tmp_path / "odd.clearmargin").write_text("no project")
    assert "odd.clearmargin is not a project" in refused(tmp_path / "odd.clearmargin")
    assert "nothing.clearmargin: no such file" in refused(tmp_path / "nothing.clearmargin")
    assert "does not exist; the workbench keeps" in refused(table, "--folder", tmp_path / "x")
    assert "is no folder; the workbench keeps" in refused(table, "--folder", table)
    path = kept_project(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    assert f"is in {tmp_path}; leave out --folder" in refused(path, "--folder", other)
    assert {file.name for file in tmp_path.iterdir()} == {
        *("patients.csv", "empty.csv", "odd.clearmargin", "biopsies.clearmargin", "other"),
    }


def test_a_table_that_is_too_large_is_refused(refused, table, monkeypatch):
    monkeypatch.setattr(start, "MAX_UPLOAD", 100)
    assert "patients.csv has 0 MB; the workbench takes" in refused(table)


def test_a_table_that_has_changed_is_not_taken_for_the_one_of_its_project(refused, table):
    with ProjectFile.create(table.with_name("p.clearmargin"), name="p", made_by="Ada") as file:
        file.add_source("patients.csv", TABLE.encode(), reading={}, rows=60, columns=3)
    assert find_project(table, table.parent) == file.id
    table.write_text(TABLE + "90,30,ill\n")
    said = refused(table)
    assert "p.clearmargin was made of another patients.csv than this one" in said
    assert f"clearmargin workbench {table.with_name('p.clearmargin')}" in said
    with pytest.raises(FileInTheWayError, match="give the table another name"):
        find_project(table, table.parent)


def test_a_project_is_found_by_itself_by_its_table_or_not_at_all(tmp_path, table):
    assert find_project(table, tmp_path) is None
    (tmp_path / "odd.clearmargin").write_text("no project")
    with ProjectFile.create(tmp_path / "x.clearmargin", name="x", made_by="Ada") as file:
        file.add_source("other.csv", TABLE.encode(), reading={}, rows=60, columns=3)
        assert find_project(table, tmp_path) is None
        with pytest.raises(ProjectInUseError, match="open for writing already"):
            find_project(file.path, tmp_path)
    assert find_project(file.path, tmp_path) == file.id
    with pytest.raises(FileDamagedError, match="is not a project"):
        find_project(tmp_path / "odd.clearmargin", tmp_path)


def test_a_project_is_verified(tmp_path, capsys):
    path = kept_project(tmp_path)
    assert main(["workbench", "--verify", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: the history is as it was written\n"
    with without_triggers(path) as connection:
        connection.execute("UPDATE revision SET why = 'another reason' WHERE id = 2")
    assert main(["workbench", "--verify", str(path)]) == 2
    said = capsys.readouterr()
    assert "2" in said.out
    assert f"clearmargin: {path} is not as it was written, see above" in said.err
    assert main(["workbench", "--verify", str(path), "--json"]) == 2
    facts = json.loads(capsys.readouterr().out)
    assert (facts["ok"], facts["file"]) == (False, str(path))
    assert facts["problems"]


def test_what_is_verified_must_be_a_project_and_alone(refused, tmp_path, table):
    assert "there is no project" in refused("--verify", tmp_path / "nothing.clearmargin")
    assert "is not a project" in refused("--verify", table)
    assert "leave out" in refused(table, "--verify", kept_project(tmp_path))


def test_a_port_that_is_taken_is_refused_in_words(refused, tmp_path):
    with free_socket() as taken:
        taken.listen()
        port = taken.getsockname()[1]
        said = refused("--folder", tmp_path, "--port", port)
    assert f"--port {port} of 127.0.0.1 cannot be taken: " in said
    assert "choose another one" in said
    assert "65536 is not a port: they end at 65535" in refused("--port", "65536")
    assert "'http' is not a whole number" in refused("--port", "http")


def test_it_listens_on_the_loopback_interface_alone():
    with start._listen(StartOptions()) as taken:
        assert taken.getsockname()[0] == "127.0.0.1"
        assert taken.getsockname()[1] > 0


# Where other machines can reach it.


@pytest.fixture
def password(tmp_path) -> Path:
    path = tmp_path / "password"
    path.write_text("correct horse\nnot this\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "x" * 64])
def test_other_machines_are_not_let_in_without_a_password(refused, tmp_path, host):
    said = refused("--folder", tmp_path, "--host", host)
    assert f"--host {host} can be reached by other machines" in said
    assert "give a --password-file" in said
    assert "not encrypted" in said
    assert "ssh -L" in said


def test_an_address_of_another_machine_is_refused(refused, tmp_path, password):
    words = ("--folder", tmp_path, "--password-file", password)
    assert f"--host {'x' * 64} is no address" in refused(*words, "--host", "x" * 64)
    assert "cannot be taken" in refused(*words, "--host", "192.0.2.1")


@pytest.mark.posix
def test_a_password_must_be_long_and_hidden(refused, tmp_path, password):
    words = ("--folder", tmp_path, "--host", "0.0.0.0", "--password-file", password)
    password.chmod(0o644)
    assert f"can be read by other users: chmod 600 {password}" in refused(*words)
    password.chmod(0o600)
    password.write_text("short\nand a long second line")
    assert "has 5 letters; it needs 10" in refused(*words)
    password.write_bytes(b"\xff" * 20)
    assert "it is no text" in refused(*words)
    password.unlink()
    assert "no such file" in refused(*words)


@pytest.mark.posix
def test_a_host_for_the_network_names_itself_and_asks_for_the_password(tmp_path, password):
    options = StartOptions(host="0.0.0.0", password_file=password)
    secret = start._read_password(options)
    assert secret == "correct horse"
    with start._listen(options) as taken:
        access = start._make_access(options, taken, secret, "Ada")
    name = socket.gethostname()
    assert access.any_address
    assert name.lower() in access.hosts
    assert start._address(options, access) == f"http://{name}:{access.port}/open"
    assert (access.author, access.landing) == ("Ada", BEGIN)


def test_a_host_of_this_machine_needs_no_password():
    for host in ("localhost", "127.0.0.1"):
        options = StartOptions(host=host)
        assert start._read_password(options) is None
        with start._listen(options) as taken:
            access = start._make_access(options, taken, None, "")
        assert not access.any_address
        assert start._address(options, access).startswith(
            f"http://{host}:{access.port}/open?token="
        )


def test_an_address_with_colons_is_in_brackets():
    access = Access.make(8765)
    assert start._address(StartOptions(host="::1"), access) == (
        f"http://[::1]:8765/open?token={access.token}"
    )


# The browser.


@pytest.mark.parametrize(("wanted", "has_screen"), [(True, True), (True, False), (False, True)])
def test_a_browser_is_opened_with_a_token_that_opens_once(
    wanted, has_screen, tmp_path, monkeypatch
):
    opened, told = [], []
    stop = threading.Event()

    def open_page(address: str) -> None:
        client = Client(int(address.split(":")[2].split("/", maxsplit=1)[0]))
        path = "/open?" + address.split("?")[1]
        opened.append((address, client.get(path).status, client.get(path).status))
        stop.set()

    class Stopping(start_server().Server):
        async def on_tick(self, counter: int) -> bool:
            return (counter > 3 and not (wanted and has_screen)) or stop.is_set()

    monkeypatch.setattr("clearmargin.workbench.server.Server", Stopping)
    monkeypatch.setattr("clearmargin.workbench.routes.make_app", lambda *_: Starlette())
    monkeypatch.setattr(start.webbrowser, "open", open_page)
    monkeypatch.setattr(start, "_has_screen", lambda: has_screen)
    folder = start_workbench(StartOptions(folder=tmp_path, browser=wanted), told.append)
    assert folder == tmp_path
    assert len(told) == 1
    assert len(opened) == (wanted and has_screen)
    for address, first, second in opened:
        assert address.split("?")[0] == told[0].split("?")[0]
        assert address != told[0]
        assert (first, second) == (303, 403)


def start_server():
    from clearmargin.workbench import server

    return server


def test_a_terminal_without_a_screen_is_left_to_its_user(monkeypatch):
    monkeypatch.setattr(start.sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert not start._has_screen()
    for platform in ("win32", "darwin"):
        monkeypatch.setattr(start.sys, "platform", platform)
        assert start._has_screen()
    monkeypatch.setattr(start.sys, "platform", "linux")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert start._has_screen()


def test_who_has_no_name_is_the_expert(monkeypatch):
    assert start._user()

    def fail():
        raise OSError("no name")

    monkeypatch.setattr(start.getpass, "getuser", fail)
    assert start._user() == "the expert"


# What answers before the workbench is loaded.


class Loaded:
    """A workbench that is loaded when somebody says so."""

    def __init__(self, error: Exception | None = None):
        self.go = threading.Event()
        self.life: list[str] = []
        self.error = error
        self.ended = threading.Event()

    def __call__(self) -> tuple[Starlette, str]:
        assert self.go.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        routes = [
            Route("/", lambda _: PlainTextResponse("home")),
            Route("/p/x/write", lambda _: JSONResponse({}), methods=["POST"]),
            Route("/p/x/events", self.events),
        ]
        return Starlette(routes=routes, lifespan=self.lifespan), "/p/x"

    def events(self, _) -> StreamingResponse:
        async def parts():
            import asyncio

            yield "event: hello\ndata: {}\n\n"
            await asyncio.sleep(3600)

        return StreamingResponse(parts(), media_type="text/event-stream")

    @contextlib.asynccontextmanager
    async def lifespan(self, _):
        self.life.append("begun")
        yield
        self.life.append("ended")


@contextlib.contextmanager
def fronting(loaded: Loaded, patience: float | None = None) -> Iterator[tuple[Front, Client]]:
    taken = free_socket()
    access = Access.make(taken.getsockname()[1], landing=BEGIN)
    started = []
    front = Front(loaded, access, on_start=lambda: started.append(1), patience=patience)
    front.on_end = loaded.ended.set
    try:
        with RunningServer(front, taken, front.guard):
            assert started == [1]
            yield front, Client(access.port, access)
            loaded.go.set()
    finally:
        loaded.go.set()


def test_the_first_page_waits_until_the_workbench_is_loaded():
    loaded = Loaded()
    with fronting(loaded) as (_, client):
        for path in (BEGIN, "/", "/p/x/rules"):
            page = client.get(path)
            assert (page.status, page.header("refresh")) == (200, "1")
            assert "The workbench is starting" in page.text
            assert page.header("content-security-policy")
        early = client.post_json("/p/x/write", {})
        assert (early.status, early.header("retry-after")) == (503, "1")
        assert Client(client.port).get(BEGIN).status == 403
        loaded.go.set()
        until(lambda: client.get(BEGIN).status == 303, "the workbench is loaded")
        assert client.get(BEGIN).header("location") == "/p/x"
        assert client.get("/").text == "home"
        assert client.get("/").header("refresh") is None
        assert client.post_json("/p/x/write", {}).status == 200
        assert loaded.life == ["begun"]
    assert loaded.life == ["begun", "ended"]


def test_a_server_that_ends_before_the_workbench_is_loaded_waits_for_it():
    loaded = Loaded()
    loaded.go.set()
    with fronting(loaded):
        pass
    assert loaded.life in (["begun", "ended"], [])


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            DataError("patients.csv: <line> 2 has 3 values"),
            "patients.csv: &lt;line&gt; 2 has 3 values",
        ),
        (ZeroDivisionError("a value of a case"), "this is a bug in clearmargin"),
    ],
)
def test_a_workbench_that_cannot_be_loaded_says_why(error, words, monkeypatch):
    monkeypatch.setattr("clearmargin.workbench.server._FAREWELL", 0.2)
    loaded = Loaded(error)
    loaded.go.set()
    with fronting(loaded) as (front, client):
        until(lambda: client.get(BEGIN).status == 500, "the failure is told")
        page = client.get("/")
        assert words in page.text
        assert "a value of a case" not in page.text
        assert loaded.ended.wait(PATIENCE)
    assert front.failure is error


def test_the_server_ends_when_the_last_tab_has_gone():
    loaded = Loaded()
    loaded.go.set()
    with fronting(loaded, patience=0.3) as (front, client):
        until(lambda: client.get("/").text == "home", "the workbench is loaded")
        # Before there was a tab, nobody can have gone.
        sleep(0.7)
        assert not loaded.ended.is_set()
        one, other = client.events("/p/x/events"), client.events("/p/x/events")
        assert next(one).what == next(other).what == "hello"
        one.close()
        until(lambda: front.guard.streams == 1, "one tab has gone")
        sleep(0.7)
        assert not loaded.ended.is_set()
        other.close()
        assert loaded.ended.wait(PATIENCE)


def test_the_server_goes_on_without_tabs_unless_told_otherwise():
    loaded = Loaded()
    loaded.go.set()
    with fronting(loaded) as (front, client):
        until(lambda: client.get("/").text == "home", "the workbench is loaded")
        stream = client.events("/p/x/events")
        next(stream)
        stream.close()
        until(lambda: front.guard.streams == 0, "the tab has gone")
        sleep(0.5)
        assert not loaded.ended.is_set()


def test_options_that_make_no_sense_together_are_refused():
    with pytest.raises(InvalidValueError, match="can be reached by other machines"):
        start_workbench(StartOptions(host="0.0.0.0"), print)
