"""What `clearmargin workbench` does: take a port, print the address, open a browser, and end in words.

The port is taken and the first page answered before the package itself is loaded, so that nobody waits for a blank
page. Nothing here needs the packages of the extra until it is clear that they are there.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import importlib.util
import ipaddress
import os
import socket
import stat
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

__all__ = [
    "PROJECT",
    "StartOptions",
    "find_project",
    "require_extra",
    "start_workbench",
    "verify_project",
]

PROJECT = ".clearmargin"
_PACKAGES = ("starlette", "uvicorn", "python_multipart")
_SHORTEST_PASSWORD = 10
# Seconds without tab or request after which the last tab has gone: enough for a page to be loaded again.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How to start.

    Parameters
    ----------
    file : Path, optional
        A table to make a project of, or a project.
    folder : Path, optional
        Where projects are; by default where the file is, or the current folder.
    port : int, default 0
        Where to listen; 0 takes a free one.
    host : str, default "127.0.0.1"
        The address of this machine to listen at.
    password_file : Path, optional
        Whose first line is the password that `/open` asks for; needed where other machines can reach the host.
    author : str, default ""
        Who keeps versions; by default the name of the user.
    browser : bool, default True
        Whether to open a browser.
    stop_when_closed : bool, default False
        Whether to end when the last tab has gone.

    Examples
    --------
    >>> StartOptions().port
    0
    """

    file: Path | None = None
    folder: Path | None = None
    port: int = 0
    host: str = "127.0.0.1"
    password_file: Path | None = None
    author: str = ""
    browser: bool = True
    stop_when_closed: bool = False


def require_extra() -> None:
    """Raise if the packages that the workbench needs are not installed.

    Examples
    --------
    >>> require_extra()
    """
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingDependencyError(
            f"the workbench needs {missing[0].replace('_', '-')}, which is not installed: "
            'pip install "clearmargin[workbench]"'
        )


def verify_project(path: Path) -> list[str]:
    """List what is wrong with a project.

    Parameters
    ----------
    path : Path
        The project file.

    Returns
    -------
    list of str
        Problems in words; none if all is as it was written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.clearmargin")
    ...     ProjectFile.create(path, name="a", made_by="Ada").close()
    ...     verify_project(path)
    []
    """
    with ProjectFile.open(path, writing=False) as file:
        return file.verify()


def start_workbench(options: StartOptions, tell: Callable[[str], None]) -> Path:
    """Serve the workbench until it is interrupted, or its last tab has gone.

    Parameters
    ----------
    options : StartOptions
        What to open and where to listen.
    tell : callable
        Given the address, as soon as it can be opened.

    Returns
    -------
    Path
        The folder of the projects.
    """
    require_extra()
    password = _read_password(options)
    folder = _choose_folder(options)
    known = None
    if options.file is not None:
        _look_at(options.file)
        known = find_project(options.file, folder)
    author = options.author.strip() or _user()
    with _listen(options) as taken:
        access = _make_access(options, taken, password, author)
        address = _address(options, access)
        tell(address)
        page = address if password is not None else _address(options, access, access.once)

        def load() -> tuple[Starlette, str]:
            from clearmargin.workbench.routes import make_app

            project = known
            if options.file is not None and project is None:
                project = _make_project(options.file, folder, author)
            return make_app(folder, access), f"/p/{project}" if project else "/"

        _serve(load, access, taken, options, page)
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


def _listen(options: StartOptions) -> socket.socket:
    """Take the port, or say why it cannot be had."""
    try:
        found = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise InvalidValueError(f"host={options.host} is no address of this machine") from None
    family, kind, protocol, _, place = found[0]
    taken = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # a port that was in use a moment ago can be taken again
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(place)
        # From here on a browser waits for an answer and is not refused.
        taken.listen(128)
    except OSError as error:
        taken.close()
        raise InvalidValueError(
            f"port={options.port} of {options.host} cannot be taken: {error.strerror}; choose another one, or leave "
            "the option out to get a free one"
        ) from error
    return taken


def _is_loopback(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return all(_ip(str(place[0])).is_loopback for *_, place in found)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text.partition("%")[0])


def _read_password(options: StartOptions) -> str | None:
    """Return the password, if there is one; refuse to let others in without."""
    path = options.password_file
    if path is None:
        if not _is_loopback(options.host):
            raise InvalidValueError(
                f"host={options.host} can be reached by other machines, and the workbench would be open to all of "
                "them: give a --password-file as well. What is sent is not encrypted; better leave --host out, and "
                "come by ssh -L"
            )
        return None
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InvalidValueError(
            f"the password in {path} can be read by other users: chmod 600 {path}"
        )
    try:
        password = path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except UnicodeDecodeError:
        raise InvalidValueError(f"{path} holds no password: it is no text") from None
    if len(password) < _SHORTEST_PASSWORD:
        raise InvalidValueError(
            f"the password in {path} has {len(password)} letters; it needs {_SHORTEST_PASSWORD} in the first line"
        )
    return password


def _make_access(
    options: StartOptions, taken: socket.socket, password: str | None, author: str
) -> Access:
    from clearmargin.workbench.server import BEGIN

    place = _ip(str(taken.getsockname()[0]))
    names = [_in_address(options.host), _in_address(str(place))]
    if not place.is_loopback:
        names += [socket.gethostname(), f"{socket.gethostname()}.local"]
    return Access.make(
        taken.getsockname()[1],
        password=password,
        hosts=names,
        any_address=place.is_unspecified,
        author=author,
        landing=BEGIN,
    )


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _address(options: StartOptions, access: Access, token: str | None = None) -> str:
    """What to open: with the token, or where a password is asked for without."""
    host = _in_address(socket.gethostname() if access.any_address else options.host)
    page = f"http://{host}:{access.port}/open"
    return page if access.password is not None else f"{page}?token={token or access.token}"


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
    """Find the project that was made of a table.

    Parameters
    ----------
    path : Path
        A table, or a project itself.
    folder : Path
        Where to look for projects of that table.

    Returns
    -------
    str or None
        The id of the project, as in its address; None if there is none yet.

    Raises
    ------
    FileInTheWayError
        If there are projects of a table of that name, but all with another content.
    ProjectInUseError
        If the project is open elsewhere.
    """
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
