"""The door to all commands: reads the arguments, runs one command, says in words what went wrong."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

from clearmargin import __version__
from clearmargin.cli.option_names import for_command_line
from clearmargin.exceptions import ClearmarginError, RuleSyntaxError

# Each is a module of this package with `add_arguments(parser)` and `run(arguments)`.
COMMANDS = {
    "demo": "show the four published systems on data inside the package",
    "rules": "make rules, rules with points, a scorecard or a tree of a table, or extract the rules of a model",
    "train": "train a linear SVM on a table, with or without an expert's rules, and save it",
    "explain": "explain predictions for rows of a table by few conditions",
    "recourse": "find the cheapest change of a row that would change the prediction of a model",
    "rank": "find what the top of a ranking has in common that its bottom has not",
    "check": "read a file of rules and say what is wrong with it",
    "compare": "say what differs between old and new rules, and whether rules drift on a new table",
    "predict": "give each row of a table the class that rules or a model predict",
    "export": "write rules as SQL, Python, JSON or another format",
    "workbench": "open a page in the browser to train, read, write and edit rules",
    "datasets": "list the data sets inside the package, describe one, or write it as CSV",
}

_OK, _OUR_FAULT, _YOUR_INPUT, _INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    # File names are printed as the bytes that they are, also where these are no text.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    options: list[str] = []
    try:
        arguments = _parser(words).parse_args(words)
        arguments.typed = words
        options += vars(arguments)
        with _warnings_as_notes(options, quiet=arguments.quiet):
            import_module(f"clearmargin.cli.{arguments.command or 'versions'}").run(arguments)
        # Here, where it can still be said that the disk is full.
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse has said what is wrong, or shown the help
        return leaving.code if isinstance(leaving.code, int) else _YOUR_INPUT
    except KeyboardInterrupt:
        print("\ninterrupted; nothing was left half-written", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        _forget_output()
        return _OK
    except Exception as error:  # the last door: whatever it is, it ends as words and an exit code
        return _report(error, options, debug=debug)
    return _OK


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong, and not at length what would have been right."""

    def error(self, message: str) -> NoReturn:
        self.exit(_YOUR_INPUT, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="clearmargin",
        description="Support vector machines that say what they know, and listen to what experts know.",
        epilog="example: clearmargin demo\n\n'clearmargin COMMAND --help' says what a command takes.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"clearmargin {__version__}")
    _add_common(parser, False)
    # `clearmargin --debug` alone prints the versions.
    commands = parser.add_subparsers(
        dest="command", metavar="command", required="--debug" not in words
    )
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, **_settings(summary))
        # Only the command at hand is imported, for its arguments.
        if name in words:
            _fill(command, name)
    return parser


def _settings(summary: str) -> dict[str, Any]:
    return {
        "description": f"{summary[0].upper()}{summary[1:]}.",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }


def _fill(parser: argparse.ArgumentParser, name: str) -> None:
    import_module(f"clearmargin.cli.{name}").add_arguments(parser)
    # Also after the command; there they must not undo what was said before it.
    _add_common(parser, argparse.SUPPRESS)


def _add_common(parser: argparse.ArgumentParser, default: object) -> None:
    group = parser.add_argument_group("output")
    for flag, text in (
        ("--json", "print the result as JSON, for programs"),
        ("--quiet", "print nothing but the result itself"),
        ("--debug", "show where in the code an error arose, and all versions; alone: the versions"),
    ):
        group.add_argument(flag, action="store_true", default=default, help=text)


@contextmanager
def _warnings_as_notes(options: Sequence[str], *, quiet: bool) -> Iterator[None]:
    """Say warnings as sentences, once each; where in the code they arose means nothing here."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = for_command_line(str(message), options)
        if text not in said and not quiet:
            print(f"warning: {text}", file=sys.stderr)
        said.add(text)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


def _forget_output() -> None:
    """Send what is left in the buffer nowhere, so that the interpreter does not stumble over it at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is no real file
        return


def _report(error: Exception, options: Sequence[str], *, debug: bool) -> int:
    if debug:
        from clearmargin.cli.versions import format_versions, read_versions

        traceback.print_exception(error, file=sys.stderr)
        print(format_versions(read_versions()), file=sys.stderr)
    if isinstance(error, ClearmarginError | OSError | MemoryError | UnicodeEncodeError):
        print(f"clearmargin: {_words(error, options)}", file=sys.stderr)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            _forget_output()
        return _YOUR_INPUT
    print(
        f"clearmargin: internal error: this is a bug in clearmargin: {type(error).__name__}: {error}\n"
        "Please report it, with what you typed and the output of the same command with --debug.",
        file=sys.stderr,
    )
    return _OUR_FAULT


def _words(error: Exception, options: Sequence[str]) -> str:
    """Return an error in words for this place; of the operating system: the file, then what is wrong with it."""
    if isinstance(error, MemoryError):
        return "the data do not fit into memory; try fewer rows"
    if isinstance(error, UnicodeEncodeError):
        return (
            f"{error.object[error.start]!a} cannot be printed: standard output takes {error.encoding}. Write to a file "
            "(--out), set PYTHONUTF8=1, or correct the name that has it"
        )
    if isinstance(error, OSError) and error.strerror:
        where = "standard output" if error.filename is None else error.filename
        return f"{where}: {error.strerror.lower()}"
    # An error in the text of rules quotes them, and what is quoted must not change.
    is_quoting = isinstance(error, RuleSyntaxError)
    return str(error) if is_quoting else for_command_line(str(error), options)
