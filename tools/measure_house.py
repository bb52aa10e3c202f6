"""Measure how far one has to walk through the code: functions, modules and rooms on the way of one call.

``python tools/measure_house.py [SRC]`` measures the package under SRC (by default ``src`` beside this file) and prints
two tables. The first is of four walks, each in a process of its own: a fit of rules on a data frame, a fit with
advice, a report on the rules of a plane, and the command ``rules`` on a CSV file. It counts the functions of the
package that are called and their modules, how deep calls of the package go inside each other, which rooms (packages at
the top) are imported, how often the user's table is converted, and how often its file is opened. The second table is
of the source: files, code lines, modules with exactly one importer, and file names that occur twice.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import json
import math
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

__all__ = ["Conversions", "Walk", "code_lines", "importers", "measure_source", "trace_calls"]

PACKAGE = "clearmargin"
ROWS = 300
ADVICE = "old: age >= 60 and weight >= 90 => yes\nlight: weight <= 60 => no"
# Ways to take a whole frame apart at once; `__getitem__` and `_ixs` read one column.
WHOLE = (
    "to_numpy",
    "__array__",
    "values",
    "to_dict",
    "itertuples",
    "iterrows",
    "__arrow_c_stream__",
    "__dataframe__",
)
NOT_FUNCTIONS = {"<module>", "<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}


# Calls


@dataclass
class Walk:
    """The functions of a package that were called, and how deep they were inside each other.

    Parameters
    ----------
    root : str
        The folder of the package.
    """

    root: str
    functions: set[tuple[str, str]] = field(default_factory=set)
    depth: int = 0

    @property
    def modules(self) -> set[str]:
        """The files of the functions."""
        return {file for file, _ in self.functions}


def trace_calls(walk: Walk, action: Callable[[], object]) -> None:
    """Call a function, and note the functions of a package that are called on the way.

    What modules do while they are imported does not count, nor do lambdas and comprehensions.

    Parameters
    ----------
    walk : Walk
        Is filled.
    action : callable
        What to run.
    """
    local = threading.local()
    prefix = walk.root.rstrip(os.sep) + os.sep

    def note(frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "return"):
            return
        step = 1 if event == "call" else -1
        code = frame.f_code
        if code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            local.importing = getattr(local, "importing", 0) + step
        elif code.co_filename.startswith(prefix) and not getattr(local, "importing", 0):
            local.depth = getattr(local, "depth", 0) + step
            if step > 0:
                walk.depth = max(walk.depth, local.depth)
                if code.co_name not in NOT_FUNCTIONS:
                    walk.functions.add((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


# The user's table


class Conversions:
    """Counts how often a table of a given shape is taken apart, while it is entered.

    A data frame of pandas is watched itself. Of a table that is none, such as one from a file, the columns are counted
    that the package reads (`Column` of `clearmargin.tables.table`).

    Parameters
    ----------
    shape : tuple of int
        Rows and columns of the user's table; smaller frames do not count.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    >>> with Conversions(frame.shape) as found:
    ...     rows, first = frame.to_numpy(), frame["a"]
    >>> found.whole, found.columns, found.times
    (1, 1, 2)
    """

    def __init__(self, shape: tuple[int, int]):
        self.shape = shape
        self.whole = 0
        self.columns = 0
        self.callers: Counter[str] = Counter()
        self._inside = False
        self._patches = contextlib.ExitStack()

    @property
    def times(self) -> int:
        """How often the table was taken apart; reading each column once is one time."""
        return self.whole + math.ceil(self.columns / self.shape[1])

    def __enter__(self) -> Conversions:
        for name in (*WHOLE, "__getitem__", "_ixs"):
            kept = getattr(pd.DataFrame, name, None)
            if kept is not None:
                new = (
                    property(self._watched(kept.fget, name))
                    if isinstance(kept, property)
                    else self._watched(kept, name)
                )
                self._patches.enter_context(mock.patch.object(pd.DataFrame, name, new))
        with contextlib.suppress(ModuleNotFoundError, AttributeError):  # of an earlier version
            column = import_module(f"{PACKAGE}.tables.table").Column
            new = self._watched_column(column.__init__)
            self._patches.enter_context(mock.patch.object(column, "__init__", new))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _watched(self, function: Any, name: str) -> Any:
        @functools.wraps(function)
        def call(frame: pd.DataFrame, *args: Any, **options: Any) -> Any:
            # One conversion may use another one.
            if self._inside or frame.shape != self.shape:
                return function(frame, *args, **options)
            self._inside = True
            try:
                return function(frame, *args, **options)
            finally:
                self._inside = False
                self._count(name, args, options)

        return call

    def _watched_column(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(column: Any, name: str, source: Any, *args: Any) -> None:
            # A column of a data frame is counted there.
            if len(source) == self.shape[0] and not isinstance(source, pd.Series):
                self.columns += 1
                self.callers[f"Column by {_caller()}"] += 1
            function(column, name, source, *args)

        return call

    def _count(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        axis = options.get("axis", args[1] if name == "_ixs" and args[1:] else 0)
        if name in WHOLE:
            self.whole += 1
        elif (name == "__getitem__" and isinstance(args[0], str)) or (name == "_ixs" and axis):
            self.columns += 1
        else:
            return
        self.callers[f"{name} by {_caller()}"] += 1


def _caller() -> str:
    """The nearest module outside pandas and this file, and its function."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != __name__ and module.partition(".")[0] not in ("pandas", "contextlib", "numpy"):
            return f"{module}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"


class Openings:
    """Counts how often a file is opened by Python, or by its path through Arrow's reader of CSV."""

    def __init__(self, name: str):
        self.name = name
        self.count = 0
        sys.addaudithook(self._note)
        with contextlib.suppress(ModuleNotFoundError):
            csv = import_module("pyarrow.csv")
            for reader in ("open_csv", "read_csv"):
                setattr(csv, reader, self._watched(getattr(csv, reader)))

    def _note(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(args[0], str) and Path(args[0]).name == self.name:
            self.count += 1

    def _watched(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(source: Any, *args: Any, **options: Any) -> Any:
            self.count += isinstance(source, str | Path)
            return function(source, *args, **options)

        return call


# The four walks


def sample() -> tuple[pd.DataFrame, Any]:
    """A table of whole numbers and decimals, and two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.integers(18, 90, ROWS), "weight": rng.normal(75, 15, ROWS).round(1)}
    )
    X = X.assign(height=rng.normal(170, 10, ROWS).round(), dose=rng.random(ROWS).round(3))
    score = X["age"] / 20 + X["weight"] / 15 + rng.normal(0, 0.5, ROWS)
    return X, np.where(score > score.median(), "yes", "no")


def walk_rules(X: pd.DataFrame, y: Any) -> None:
    package = import_module(PACKAGE)
    package.RuleExtractor(package.LPSVC()).fit(X, y)


def walk_advice(X: pd.DataFrame, y: Any) -> None:
    package = import_module(PACKAGE)
    package.AdviceSVC(ADVICE, refine="sqp").fit(X, y)


def walk_report(X: pd.DataFrame, y: Any) -> None:
    package, module = import_module(PACKAGE), import_module(f"{PACKAGE}.report")
    module.report(package.LPSVC(), X, y, cv=2).to_html()


def walk_command(_X: pd.DataFrame, _y: Any) -> None:
    words = [
        "clearmargin",
        "rules",
        "cases.csv",
        "--target",
        "outcome",
        "--nu",
        "1",
        "--cv",
        "2",
        "--json",
    ]
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(io.StringIO()):
        try:
            runpy.run_module(PACKAGE, run_name="__main__")
        except SystemExit as stop:
            if stop.code:
                raise


WALKS: dict[str, tuple[str, Callable[[pd.DataFrame, Any], None]]] = {
    "rules": ("RuleExtractor(LPSVC()).fit", walk_rules),
    "advice": ("AdviceSVC(refine='sqp').fit", walk_advice),
    "report": ("report(LPSVC(), ...)", walk_report),
    "command": ("clearmargin rules cases.csv", walk_command),
}


def take_walk(name: str, source: Path) -> dict[str, Any]:
    """Take one walk in this process, and give what was counted."""
    X, y = sample()
    walk = Walk(str(source / PACKAGE))
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        X.assign(outcome=y).to_csv("cases.csv", index=False)
        openings = Openings("cases.csv")
        with Conversions((ROWS, X.shape[1])) as conversions:
            trace_calls(walk, lambda: WALKS[name][1](X, y))
    loaded = [module for module in sys.modules if module.startswith(f"{PACKAGE}.")]
    return {
        "functions": len(walk.functions),
        "modules": len(walk.modules),
        "depth": walk.depth,
        "conversions": conversions.times,
        "whole": conversions.whole,
        "columns": conversions.columns,
        "callers": dict(conversions.callers.most_common()),
        "opened": openings.count,
        "loaded": len(loaded),
        "rooms": sorted(
            {
                name
                for name in (module.split(".")[1] for module in loaded)
                if hasattr(sys.modules[f"{PACKAGE}.{name}"], "__path__")
            }
        ),
    }


def measure_walk(name: str, source: Path) -> dict[str, Any]:
    """Take one walk in a process of its own, so that what it imports can be told."""
    done = subprocess.run(  # noqa: S603  (this file, by this interpreter)
        [sys.executable, __file__, str(source), "--walk", name],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the walk {name!r} over {source} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# The source


def code_lines(text: str) -> int:
    r"""Count the lines of a Python file that hold code: no docstrings, comments or blank lines.

    Examples
    --------
    >>> code_lines("'''Docstring.'''\n\n# comment\nx = [  # why\n    1,\n]\n")
    3
    """
    lines: set[int] = set()
    idle = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in idle:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - set(_docstring_lines(ast.parse(text))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield from range(first.lineno, (first.end_lineno or first.lineno) + 1)


def importers(sources: dict[str, str]) -> dict[str, set[str]]:
    """Find for each module the other ones that import it, anywhere in them.

    Parameters
    ----------
    sources : dict
        The text of each module by its dotted name; packages by the name of the package.

    Returns
    -------
    dict
        For each name the names of its importers.

    Examples
    --------
    >>> importers({"p.a": "from p import b", "p.b": "", "p": ""})["p.b"]
    {'p.a'}
    """
    found: dict[str, set[str]] = {name: set() for name in sources}
    for name, text in sources.items():
        is_package = any(other.startswith(f"{name}.") for other in sources)
        for node in ast.walk(ast.parse(text)):
            for target in _imported(node, name if is_package else name.rpartition(".")[0]):
                # The name behind an import may be a module itself, or something inside one.
                module = target if target in sources else target.rpartition(".")[0]
                if module in sources and module != name:
                    found[module].add(name)
    return found


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    """The dotted names that an import statement inside a package asks for."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")
        base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
        module = ".".join(part for part in (base, node.module) if part)
        yield from (f"{module}.{alias.name}" for alias in node.names)


def measure_source(source: Path) -> dict[str, Any]:
    """Count files, code lines, modules with one importer and file names that occur twice.

    Parameters
    ----------
    source : Path
        The folder that holds the package.

    Returns
    -------
    dict
        The figures, and the names behind the last two.
    """
    files = sorted((source / PACKAGE).rglob("*.py"))
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    stubs = {file: file.read_text(encoding="utf-8") for file in (source / PACKAGE).rglob("*.pyi")}
    sources = {
        _dotted(file, source): f"{text}\n{stubs.get(file.with_suffix('.pyi'), '')}"
        for file, text in texts.items()
    }
    packages = {_dotted(file, source) for file in files if file.name == "__init__.py"}
    found = importers(sources)
    names = Counter(file.name for file in files if not file.name.startswith("__"))
    return {
        "files": len(files),
        "code lines": sum(map(code_lines, texts.values())),
        "lines of stubs": sum(map(code_lines, stubs.values())),
        "rooms": len(list((source / PACKAGE).glob("*/__init__.py"))),
        "one importer": sorted(n for n, by in found.items() if len(by) == 1 and n not in packages),
        "names twice": {name: count for name, count in sorted(names.items()) if count > 1},
    }


def _dotted(file: Path, source: Path) -> str:
    """The name under which a file is imported."""
    return ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


# Printing


def walks_table(walks: dict[str, dict[str, Any]]) -> str:
    """The walks as a table in Markdown, with the rooms and who converted the table below."""
    lines = [
        "| walk | functions | modules | depth | table taken apart | (whole, columns) "
        "| file opened | modules loaded | rooms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in walks.items():
        figures = [found[key] for key in ("functions", "modules", "depth", "conversions")]
        parts = f"{found['whole']}, {found['columns']}"
        rest = [parts, found["opened"], found["loaded"], len(found["rooms"])]
        lines.append(f"| {' | '.join(map(str, [WALKS[name][0], *figures, *rest]))} |")
    for name, found in walks.items():
        lines += ["", f"{WALKS[name][0]}", f"  rooms: {', '.join(found['rooms'])}"]
        lines += [f"  {count} x {caller}" for caller, count in found["callers"].items()]
    return "\n".join(lines)


def source_table(found: dict[str, Any], names: bool = False) -> str:
    """The figures of the source as a table in Markdown; with the modules behind them if asked for."""
    twice = ", ".join(f"{name} ({count})" for name, count in found["names twice"].items())
    lines = [
        "| source | |",
        "|---|---|",
        f"| files | {found['files']} |",
        f"| code lines | {found['code lines']} |",
        f"| code lines of stubs (lists of public names) | {found['lines of stubs']} |",
        f"| rooms | {found['rooms']} |",
        f"| modules with one importer | {len(found['one importer'])} |",
        f"| file names that occur twice | {len(found['names twice'])} |",
        "",
        f"Twice: {twice or 'none'}",
    ]
    return "\n".join(lines + (["", "One importer:", *found["one importer"]] if names else []))


def main() -> int:
    """Measure a source tree, or take one walk and print it as JSON."""
    parser = argparse.ArgumentParser(
        description="Measure the walks through the code, and the source."
    )
    parser.add_argument("source", nargs="?", type=Path, default=Path(__file__).parents[1] / "src")
    parser.add_argument("--walk", choices=list(WALKS), help="take this walk here; print JSON")
    parser.add_argument("--names", action="store_true", help="list the modules with one importer")
    given = parser.parse_args()
    source = given.source.resolve()
    if given.walk is not None:
        sys.path.insert(0, str(source))
        sys.stdout.write(json.dumps(take_walk(given.walk, source)) + "\n")
    else:
        walks = walks_table({name: measure_walk(name, source) for name in WALKS})
        sys.stdout.write(f"{walks}\n\n{source_table(measure_source(source), given.names)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
