"""`clearmargin workbench` opens a page on this machine where rules are edited and the machine answers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from clearmargin.cli.command_options import add_options
from clearmargin.cli.console import Console
from clearmargin.exceptions import FileDamagedError, InvalidValueError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    names = ("folder", "author", "no_browser", "stop_when_closed", "port")
    add_options(parser, "FILE", *names, "verify")
    parser.epilog = (
        "example: clearmargin workbench patients.csv\n"
        "         clearmargin workbench --verify patients.clearmargin\n\n"
        "The page answers on this machine alone, and only to a browser that opens the printed address. From another\n"
        "machine come by ssh (ssh -L 8765:127.0.0.1:8765 with --port 8765)."
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve the workbench until it is ended, or check a project."""
    console = Console.of(arguments)
    if arguments.verify is not None:
        _verify(arguments, console)
        return
    from clearmargin.workbench.start import StartOptions, start_workbench

    def tell(address: str) -> None:
        text = address if console.quiet else f"The workbench is at {address} (Ctrl-C ends it)"
        console.result(text, {"address": address})
        # Whoever reads through a pipe waits for it.
        sys.stdout.flush()

    options = StartOptions(
        file=_path(arguments.file),
        folder=_path(arguments.folder),
        port=arguments.port,
        author=arguments.author or "",
        browser=not arguments.no_browser,
        stop_when_closed=arguments.stop_when_closed,
    )
    folder = start_workbench(options, tell)
    console.say(f"\nThe workbench has ended. All that was kept is in {folder}.")


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def _verify(arguments: argparse.Namespace, console: Console) -> None:
    """Print what is wrong with a project, which is an error."""
    from clearmargin.workbench.start import verify_project

    path = arguments.verify
    if arguments.file is not None:
        raise InvalidValueError(f"--verify {path} checks a project; leave out {arguments.file}")
    problems = verify_project(Path(path))
    good = f"{path}: the history is as it was written"
    data = {"file": path, "ok": not problems, "problems": problems}
    console.result("\n".join(problems) or good, data)
    if problems:
        raise FileDamagedError(f"{path} is not as it was written, see above")
