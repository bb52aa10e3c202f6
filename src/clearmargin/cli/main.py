"""The door to all commands: reads the arguments, runs one command, says in words what went wrong."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from clearmargin import __version__
from clearmargin.exceptions import ClearmarginError

__all__ = ["main"]

# Each is a module of this package with `add_arguments(parser)` and `run(arguments)`.
_COMMANDS = {
    "demo": "train a sparse support vector machine on real data and print it",
    "check": "read a file of rules and say whether it can be understood",
    "datasets": "list the data sets inside the package, or describe one",
}

_OK, _OUR_FAULT, _YOUR_INPUT, _INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The words of the command line; by default those of the process.

    Returns
    -------
    int
        0 on success, 2 for input that cannot be used, 1 for a mistake of ours, 130 when interrupted.

    Examples
    --------
    >>> main(["check", "no-such-file.rules"])
    2
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        arguments = _parser(words).parse_args(words)
    except SystemExit as leaving:  # argparse has said what is wrong, or shown the help
        return leaving.code if isinstance(leaving.code, int) else _YOUR_INPUT
    try:
        import_module(f"clearmargin.cli.{arguments.command}").run(arguments)
    except KeyboardInterrupt:
        print("interrupted; nothing was left half-written", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        sys.stderr.close()
        return _OK
    except Exception as error:  # the last door: whatever it is, it ends as words and an exit code
        return _report(error, debug=arguments.debug)
    return _OK


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="clearmargin",
        description="Support vector machines that say what they know, and listen to what experts know.",
        epilog="example: clearmargin demo",
    )
    parser.add_argument("--version", action="version", version=f"clearmargin {__version__}")
    parser.add_argument(
        "--debug", action="store_true", help="show where in the code an error arose"
    )
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, summary in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        # Also after the command; there it must not undo what was said before it.
        _add_debug(command, default=argparse.SUPPRESS)
        # Only the command at hand is imported, for its arguments.
        if name in words:
            import_module(f"clearmargin.cli.{name}").add_arguments(command)
    return parser


def _add_debug(parser: argparse.ArgumentParser, *, default: object) -> None:
    parser.add_argument(
        "--debug",
        action="store_true",
        default=default,
        help="show where in the code an error arose",
    )


def _report(error: Exception, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, ClearmarginError | OSError):
        print(f"clearmargin: {_words(error)}", file=sys.stderr)
        return _YOUR_INPUT
    print(
        f"clearmargin: this is a mistake of ours, not yours: {type(error).__name__}: {error}\n"
        "Please report it, with what you typed and the output of the same command with --debug.",
        file=sys.stderr,
    )
    return _OUR_FAULT


def _words(error: Exception) -> str:
    """An error of the operating system in words: the file, then what is wrong with it."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    return str(error)
