"""What `clearmargin workbench` does: take a port, print the address, open a browser, and end in words.

The port is taken and the first page answered before the package itself is loaded, so that nobody waits for a blank
page. Nothing here needs the packages of the extra until it is clear that they are there.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import importlib.util
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clearmargin.exceptions import (
    ClearmarginError,
    DataError,
    FileInTheWayError,
    InvalidValueError,
    MissingDependencyError,
)
from clearmargin.workbench.guard import MAX_UPLOAD, Access, check_upload
from clearmargin.workbench.project_file import ProjectFile

if TYPE_CHECKING:
    from starlette.applications import Starlette

PROJECT = ".clearmargin"
_PACKAGES = ("starlette", "uvicorn", "python_multipart")
# Seconds without tab or request after which the last tab has gone: enough for a page to be loaded again.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How to start."""

    file: Path | None = None
    folder: Path | None = None
    port: int = 0
    author: str = ""
    browser: bool = True
    stop_when_closed: bool = False


def require_extra() -> None:
    """Raise if the packages that the workbench needs are not installed."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"the workbench needs {missing[0].replace('_', '-')}, which is not installed: "
            'pip install "clearmargin[workbench]"'
        )


def verify_project(path: Path) -> list[str]:
    """List what is wrong with a project."""
    with ProjectFile.open(path, writing=False) as file:
        return file.verify()


def start_workbench(options: StartOptions, tell: Callable[[str], None]) -> Path:
    """Serve the workbench until it is interrupted, or its last tab has gone."""
    require_extra()
    from clearmargin.workbench.server import BEGIN

    folder = _choose_folder(options)
    known = None
    if options.file is not None:
        _look_at(options.file)
        known = find_project(options.file, folder)
    author = options.author.strip() or _user()
    with _listen(options.port) as taken:
        access = Access.make(taken.getsockname()[1], author=author, landing=BEGIN)
        address = f"http://127.0.0.1:{access.port}/open?token="
        tell(address + access.token)

        def load() -> tuple[Starlette, str]:
            from clearmargin.workbench.routes import make_app

            project = known
            if options.file is not None and project is None:
                project = _make_project(options.file, folder, author)
            return make_app(folder, access), f"/p/{project}" if project else "/"

        _serve(load, access, taken, options, address + access.once)
    return folder


def _serve(
    load: Callable[[], tuple[Starlette, str]],
    access: Access,
    taken: socket.socket,
    options: StartOptions,
    page: str,
) -> None:
    from clearmargin.workbench.server import Front, Server

    def show() -> None:
        if options.browser and _has_screen():
            # Some browsers keep whoever calls them waiting.
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

    front = Front(
        load,
        access,
        on_start=show,
        patience=_PATIENCE if options.stop_when_closed else None,
    )
    server = Server(front, front.guard)
    front.on_end = server.stop
    # How people end it; it comes when everything was closed.
    with contextlib.suppress(KeyboardInterrupt):
        server.run([taken])
    if front.failure is not None:
        raise front.failure


def _has_screen() -> bool:
    """Check whether a browser would have a window; a browser of letters would take the terminal."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return "the expert"


# Where to listen.


def _listen(port: int) -> socket.socket:
    """Take the port, or say why it cannot be had."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # a port that was in use a moment ago can be taken again
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        # From here on a browser waits for an answer and is not refused.
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise InvalidValueError(
            f"port={port} cannot be taken: {error.strerror}; choose another one, or leave the option out to get a "
            "free one"
        ) from error
    return taken


# What to open.


def _choose_folder(options: StartOptions) -> Path:
    folder = options.folder
    if folder is None:
        folder = Path() if options.file is None else options.file.parent
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise DataError(f"{folder} {what}; the workbench keeps its projects in a folder")
    if options.file is not None and options.file.suffix == PROJECT:
        home = options.file.parent
        if home.resolve() != folder.resolve():
            raise DataError(f"{options.file} is in {home}; leave out --folder, or say {home}")
    return folder.absolute()


def _look_at(path: Path) -> None:
    """Say early what is wrong with a file, as far as this can be told without reading all of it."""
    if path.is_dir():
        raise DataError(
            f"{path} is a folder; name a table or a project in it, or say --folder {path}"
        )
    with path.open("rb"):
        size = path.stat().st_size
    if path.suffix == PROJECT:
        return
    if size > MAX_UPLOAD:
        raise DataError(
            f"{path} has {size // 2**20:,} MB; the workbench takes {MAX_UPLOAD // 2**20}. Take a sample of the rows, "
            "or use the command line (clearmargin rules)"
        )
    if size == 0:
        raise DataError(f"{path} is empty; name a table with column names in its first line")


def find_project(path: Path, folder: Path) -> str | None:
    """Find the project that was made of a table."""
    found = path if path.suffix == PROJECT else _project_of(path, folder)
    if found is None:
        return None
    # For writing, as the pages will: what is in the way of that is said here.
    with ProjectFile.open(found) as file:
        return file.id


def _project_of(table: Path, folder: Path) -> Path | None:
    with table.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    others = []
    for path in sorted(folder.glob(f"*{PROJECT}")):
        # What is damaged or too new is told by the page that lists all projects.
        with contextlib.suppress(ClearmarginError, OSError):
            with ProjectFile.open(path, writing=False) as file:
                source = file.source()
            if source is not None and source.name == table.name:
                if source.sha256 == digest:
                    return path
                others.append(path)
    if others:
        raise FileInTheWayError(
            f"{others[0]} was made of another {table.name} than this one. To go on with it: clearmargin workbench "
            f"{others[0]}. To begin anew: give the table another name, or its project another --folder"
        )
    return None


def _make_project(path: Path, folder: Path, author: str) -> str:
    from clearmargin.workbench.projects import create_project

    content = path.read_bytes()
    check_upload(content)
    made = create_project(folder, path.name, content, author=author)
    with ProjectFile.open(made, writing=False) as file:
        return file.id
