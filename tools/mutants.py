"""Measure what the tests notice: put small faults into core modules, one at a time, and run the tests that reach them.

``draw`` chooses the faults (seeded) and writes ``tests/mutants.json``. ``run`` puts each into a copy of the sources and
runs at most 120 of the tests that execute its line. ``compare`` prints the share of noticed faults of one or two runs.
A fault is kept as module, function, text of the line and occurrence, so that a changed module is no obstacle. The file
has a second list, "mends": past corrections to be undone ("was" is the block of today, "is" the one before).

"noticed" tells whether the tests noticed a fault when they were last run (`compare --record`): true, false, or null
where it was not run. A fault that changes nothing a user sees has an "effect" beside it, that begins with "equivalent",
"speed" or "words" and says why, and is left out of the share that `compare` prints last. Faults whose line has gone
leave the list.

    CI=1 pytest tests --cov --cov-branch --cov-context=test
    python tools/mutants.py run --coverage .coverage --out new.jsonl
    python tools/mutants.py compare old.jsonl new.jsonl
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "mutants.json"
SEED = 20261119
FAULTS = 500
MODULES = """
rules/box rules/interval rules/domain rules/arithmetic language/parser language/printer plane_rules/search
plane_rules/proof plane_rules/corners lp_svm/program lp_svm/sifting points/rule_svc
points/logistic points/choice points/engine advice/advice_svm advice/verdict advice/refine kernel_rules/bounds
kernel_rules/box_search rankings/significance cases/recourse_program rule_base/leverage_search
""".split()  # noqa: SIM905
SYMBOLS = (
    "Lt < <=,>=; LtE <= <,>; Gt > >=,<=; GtE >= >,<; Eq == !=; NotEq != ==; Add + -; Sub - +; Mult * /; Div / *; "
    "FloorDiv // *; Pow ** *; BitAnd & |; BitOr | &; And and or; Or or and; Is is is_not; IsNot is_not is; "
    "In in not_in; NotIn not_in in"
)
OPERATORS = {name: rest for name, *rest in map(str.split, SYMBOLS.replace("_", "~").split(";"))}
PAIRS = (
    "min max any all floor ceil minimum maximum argmin argmax nanmin nanmax logical_and logical_or"
)
ODD, EVEN = PAIRS.split()[::2], PAIRS.split()[1::2]
NAMES = dict([*zip(ODD, EVEN, strict=True), *zip(EVEN, ODD, strict=True)])
SILENT = {"warn", "isinstance", "issubclass", "cast", "debug", "info", "hasattr", "getattr"}
PRELOADED = (
    "numpy pandas scipy.sparse.linalg scipy.optimize scipy.stats scipy.spatial sklearn.svm clarabel cvxpy highspy "
    "sklearn.ensemble sklearn.model_selection sklearn.pipeline sklearn.preprocessing sklearn.compose sklearn.datasets "
    "sklearn.impute sklearn.linear_model sklearn.utils.estimator_checks pyarrow.parquet matplotlib.figure hypothesis"
)
MOST_TESTS, BATCH_FILES = 120, 3
TEST_SECONDS = 20.0  # at first; then ten times as long as the test takes without the fault
NOTICED = {"failed", "timeout"}

Fault = dict[str, Any]
Edit = tuple[int, int, int, str]  # line, first and last column, new text


# Faults.


def edits(node: ast.AST, lines: list[str]) -> Iterator[Edit]:
    """Give the edits of one node; each changes a part of one line."""

    def column(number: int | None, offset: int | None) -> int:
        return len(lines[(number or 1) - 1].encode()[: offset or 0].decode())

    operands: list[tuple[ast.expr, ast.expr, ast.AST]] = []
    whole: tuple[ast.expr, str] | None = None
    match node:
        case ast.Compare():
            operands = [*zip([node.left, *node.comparators], node.comparators, node.ops)]  # noqa: B905
        case ast.BoolOp():
            operands = [(a, b, node.op) for a, b in pairwise(node.values)]
        case ast.BinOp():
            operands = [(node.left, node.right, node.op)]
        case ast.AugAssign():
            operands = [(node.target, node.value, node.op)]
        case ast.If() | ast.While() | ast.IfExp():
            whole = node.test, f"not ({ast.get_source_segment(chr(10).join(lines), node.test)})"
        case ast.UnaryOp(op=ast.Not() | ast.USub()) if node.lineno == node.operand.lineno:
            ends = [column(node.lineno, n.col_offset) for n in (node, node.operand)]
            yield node.lineno, ends[0], ends[1], ""
        case ast.Constant(value=bool()):
            whole = node, repr(not node.value)
        case ast.Constant(value=int() | float() as value):
            whole = node, repr(value + 1)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in NAMES:
            end = column(node.func.end_lineno, node.func.end_col_offset)
            yield node.func.end_lineno or 0, end - len(name), end, NAMES[name]
        case ast.Continue():
            start = column(node.lineno, node.col_offset)
            yield node.lineno, start, start + len("continue"), "break"
    if whole and whole[0].lineno == whole[0].end_lineno:
        number, place = whole[0].lineno, whole[0]
        ends = [column(number, n) for n in (place.col_offset, place.end_col_offset)]
        yield number, ends[0], ends[1], whole[1]
    for left, right, op in operands:
        is_text = any(
            isinstance(n, ast.Constant) and isinstance(n.value, str) for n in (left, right)
        )
        is_sum = isinstance(node, ast.BinOp | ast.AugAssign)
        name = type(op).__name__
        if left.end_lineno == right.lineno and name in OPERATORS and not (is_text and is_sum):
            symbol, others = (text.replace("~", " ") for text in OPERATORS[name])
            ends = [column(right.lineno, n) for n in (left.end_col_offset, right.col_offset)]
            start = lines[right.lineno - 1].find(symbol, *ends)
            for other in others.split(","):
                yield right.lineno, start, start + len(symbol), other


def positions(
    node: ast.AST, lines: list[str], names: tuple[str, ...] = (), inside: bool = False
) -> Iterator[tuple[str, Edit]]:
    """Give the edits inside of functions; words, and what only types ask for, are left out."""
    children = ast.iter_child_nodes(node)
    match node:
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in SILENT:
            return
        case ast.FunctionDef() | ast.ClassDef():
            names, children = (*names, node.name), iter(node.body)
            inside |= isinstance(node, ast.FunctionDef)
        case ast.AnnAssign():
            children = iter([node.value] if node.value else [])
    if inside:
        yield from ((".".join(names), edit) for edit in edits(node, lines))
    for child in children:
        yield from positions(child, lines, names, inside)


def same_lines(source: str, function: str, text: str) -> list[int]:
    """Give the numbers of the lines of a function that have this text (indentation aside)."""
    lines, found, waiting = source.splitlines(), [], [("", ast.parse(source, ""))]
    nodes: list[tuple[str, ast.AST]] = [*waiting]
    while nodes:
        path, node = nodes.pop(0)
        if path == function and isinstance(node, ast.FunctionDef):
            span = range(node.lineno, (node.end_lineno or 0) + 1)
            found += [i for i in span if lines[i - 1].strip() == text]
        for child in ast.iter_child_nodes(node):
            name = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else ""
            nodes.append((f"{path}.{name}".strip("."), child))
    return sorted(found)


def with_fault(source: str, fault: Fault) -> tuple[str, range] | None:
    """Give the source with a fault, and the lines of its statement, or None where it has no place."""
    if "function" not in fault:  # a mend to be undone
        start = source.find(fault["was"])
        first = source[:start].count("\n") + 1
        span = range(first, first + fault["was"].rstrip("\n").count("\n") + 1)
        unique = source.count(fault["was"]) == 1
        return (source.replace(fault["was"], fault["is"]), span) if unique else None
    found = same_lines(source, fault["function"], fault["text"])
    if len(found) <= fault["nth"]:
        return None
    number = found[fault["nth"]]
    lines = source.splitlines(keepends=True)
    old = lines[number - 1]
    start = len(old) - len(old.lstrip()) + fault["column"]
    lines[number - 1] = old[:start] + fault["is"] + old[start + len(fault["was"]) :]
    span = range(number, number + 1)
    for node in ast.walk(ast.parse(source)):  # ends with the innermost statement
        if isinstance(node, ast.stmt):
            body: list[ast.stmt] = getattr(node, "body", [])
            last = max(body[0].lineno - 1 if body else node.end_lineno or 0, node.lineno)
            span = range(node.lineno, last + 1) if node.lineno <= number <= last else span
    return "".join(lines), span


def draw(arguments: argparse.Namespace) -> None:
    """Write a new list of faults, at most one a line, whose lines stand in both trees."""
    chance = random.Random(SEED)
    faults: list[Fault] = []
    for k, module in enumerate(MODULES):
        path = f"src/clearmargin/{module}.py"
        source = (ROOT / path).read_text(encoding="utf-8")
        other = (arguments.other / path).read_text(encoding="utf-8")
        lines = source.splitlines()
        by_line: defaultdict[int, list[tuple[str, Edit]]] = defaultdict(list)
        for function, edit in positions(ast.parse(source), lines):
            by_line[edit[0]].append((function, edit))
        numbers = list(by_line)
        chance.shuffle(numbers)
        chosen: list[Fault] = []
        while numbers and len(chosen) < FAULTS // len(MODULES) + (k < FAULTS % len(MODULES)):
            function, (number, start, end, new) = chance.choice(by_line[numbers.pop()])
            text = lines[number - 1].strip()
            fault: Fault = {"module": module, "line": number, "function": function, "text": text}
            fault["nth"] = same_lines(source, function, text).index(number)
            fault["column"] = start - lines[number - 1].index(text)
            fault |= {"was": lines[number - 1][start:end], "is": new, "noticed": None}
            placed = with_fault(source, fault)
            with contextlib.suppress(SyntaxError):
                changes = placed and ast.unparse(ast.parse(placed[0])) != ast.unparse(
                    ast.parse(source)
                )
                if changes and with_fault(other, fault):
                    chosen.append(fault)
        faults += sorted(chosen, key=lambda f: int(f["line"]))
    write_list({"faults": faults, "mends": read_list()["mends"]})


def read_list() -> dict[str, list[Fault]]:
    """Read faults and mends."""
    if not LIST.exists():
        return {"faults": [], "mends": []}
    content = json.loads(LIST.read_text(encoding="utf-8"))
    return {kind: content[kind] for kind in ("faults", "mends")}


def write_list(content: dict[str, list[Fault]]) -> None:
    """Write one fault a line."""
    rows = {k: ",\n".join(json.dumps(f, ensure_ascii=False) for f in v) for k, v in content.items()}
    parts = [f'"{kind}": [\n{text}\n]' for kind, text in rows.items()]
    LIST.write_text(f'{{"seed": {SEED},\n' + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def by_name() -> dict[str, Fault]:
    """Give all faults and mends by a name that stays the same."""
    kinds = read_list().items()
    return {f"{kind} {k} {f['module']}": f for kind, found in kinds for k, f in enumerate(found)}


# Tests.


class Reached:
    """Which tests execute which lines, from the contexts of coverage's SQLite file."""

    def __init__(self, file: Path) -> None:
        self.base = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        names = self.base.execute("SELECT id, context FROM context").fetchall()
        self.tests = {i: name.rpartition("|")[0] for i, name in names if "|" in name}
        self.files = self.base.execute("SELECT id, path FROM file").fetchall()
        self.size: Counter[str] = Counter()
        for i, count in self.base.execute("SELECT context_id, count(*) FROM arc GROUP BY 1"):
            self.size[self.tests.get(i, "")] += count

    def choose(self, module: str, span: range) -> list[str]:
        """Choose tests: first those of files named after the module or its package, then small ones."""
        file = next((i for i, path in self.files if path.endswith(f"/clearmargin/{module}.py")), -1)
        query = "SELECT DISTINCT context_id FROM arc WHERE file_id=? AND abs(tono) BETWEEN ? AND ?"
        rows = self.base.execute(query, (file, span[0], span[-1]))
        tests = {self.tests[i] for (i,) in rows if i in self.tests}
        own = {word for word in re.split(r"\W|_", module) if len(word) > 2}

        def order(test: str) -> tuple[bool, int, str]:
            words = re.split(r"\W|_", test.partition("::")[0])
            return own.isdisjoint(words), self.size[test], test

        return sorted(tests, key=order)[:MOST_TESTS]


def batches(tests: list[str]) -> list[list[str]]:
    """Divide tests by files: the first file, then a few at a time."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for test in tests:
        files[test.partition("::")[0]].append(test)
    first, *others = files.values()
    rest = (others[k : k + BATCH_FILES] for k in range(0, len(others), BATCH_FILES))
    return [first, *([test for file in group for test in file] for group in rest)]


class Recorder:
    """A pytest plugin: runs the wanted tests only, stops long ones, and writes down what failed."""

    def __init__(self, wanted: list[str], log: Path, seconds: float) -> None:
        self.order = {test: k for k, test in enumerate(wanted)}
        self.log, self.seconds = log, seconds

    def write(self, word: str, test: str) -> None:
        with self.log.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([word, test]) + "\n")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self.order]
        items.sort(key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.write("start", nodeid)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.write("failed", report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.write("failed", "collection")


class Runner:
    """Runs tests of a tree in forked children, on a copy of its sources."""

    def __init__(self, tree: Path, scratch: Path) -> None:
        self.tree, self.scratch = tree, scratch
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(tree / "src", scratch / "src", ignore=skipped)
        self.clean: dict[str, tuple[bool, float]] = {}

    def place(self, module: str, source: str) -> None:
        path = self.scratch / "src" / "clearmargin" / f"{module}.py"
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
        path.write_text(source, encoding="utf-8")

    def child(self, tests: list[str], log: Path, seconds: float) -> None:
        os.setsid()
        for stream in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        os.chdir(self.tree)
        sys.path[:0] = [str(self.scratch / "src"), str(self.tree)]
        os.environ["PYTHONPATH"] = str(self.scratch / "src")
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        # hypothesis is imported before pytest could rewrite its asserts
        options = ["-x", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options += ["-p", "no:cacheprovider", "-p", "no:benchmark", f"--rootdir={self.tree}"]
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        os._exit(pytest.main([*options, *files], plugins=[Recorder(tests, log, seconds)]))

    def attempt(self, tests: list[str], seconds: float) -> tuple[str, str]:
        """Run tests: "passed", or "failed" or "timeout" with the test."""
        log = self.scratch / "log"
        log.write_text("")
        pid = os.fork()
        if pid == 0:
            try:
                self.child(tests, log, seconds)
            finally:
                os._exit(99)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # what the tests left behind
        events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        for word, test in events:
            if word == "failed":
                return "failed", test
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 5):
            return "passed", ""
        ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        return "timeout" if ended else "failed", events[-1][1] if events else "collection"

    def notice(self, module: str, source: str, faulty: str, tests: list[str]) -> tuple[str, str]:
        """Run tests on a fault until one of them fails that passes without it."""
        for batch in batches(tests):
            limit = TEST_SECONDS
            rest = [test for test in batch if self.clean.get(test, (True, 0))[0]]
            while rest:
                self.place(module, faulty)
                outcome, test = self.attempt(rest, limit)
                if outcome == "passed":
                    break
                key = test if test != "collection" else " ".join(rest)
                if key not in self.clean:
                    self.place(module, source)
                    started = time.monotonic()
                    again, _ = self.attempt(rest if test == "collection" else [test], 600.0)
                    self.clean[key] = again == "passed", time.monotonic() - started
                is_sound, seconds = self.clean[key]
                if not is_sound:
                    rest = [t for t in rest if test not in (t, "collection")]
                elif outcome == "timeout" and limit < 10 * seconds:
                    limit = 10 * seconds
                else:
                    return outcome, test
        return "survived", ""


def run(arguments: argparse.Namespace) -> None:
    """Append a line for each fault that the file of results does not have."""
    os.environ.update(
        CI="1", MPLBACKEND="Agg", SCIPY_ARRAY_API="1"
    )  # CI: the same examples each time
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    warnings.simplefilter("ignore")
    for name in PRELOADED.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    tree, out = arguments.tree.resolve(), arguments.out
    reached = Reached(arguments.coverage)
    known = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    done = {json.loads(line)["name"] for line in known}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        runner = Runner(tree, Path(scratch))
        for name, fault in by_name().items():
            is_old = arguments.new and fault["noticed"] is not None
            if name in done or is_old or not re.search(arguments.only, name):
                continue
            started = time.monotonic()
            path = tree / "src" / "clearmargin" / f"{fault['module']}.py"
            source = path.read_text(encoding="utf-8") if path.exists() else ""
            placed = with_fault(source, fault)
            tests = reached.choose(fault["module"], placed[1]) if placed else []
            outcome, test = "unreached" if placed else "absent", ""
            if placed and tests:
                outcome, test = runner.notice(fault["module"], source, placed[0], tests)
                runner.place(fault["module"], source)
            row = {"name": name, "outcome": outcome, "test": test, "tests": len(tests)}
            row["seconds"] = round(time.monotonic() - started, 1)
            with out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")


def compare(arguments: argparse.Namespace) -> None:
    """Print the shares of noticed faults, and what the first run noticed and the second did not."""
    texts = [file.read_text(encoding="utf-8") for file in arguments.results]
    runs = [{row["name"]: row for row in map(json.loads, text.splitlines())} for text in texts]
    noticed = [{name: row["outcome"] in NOTICED for name, row in run.items()} for run in runs]
    faults = by_name()
    if arguments.record and runs:
        for name, fault in faults.items():
            row = runs[0].get(name, {"outcome": "absent"})
            if row["outcome"] != "absent":
                fault["noticed"] = noticed[0][name]
        found = list(faults.values())
        is_fault = ["function" in fault for fault in found]
        write_list({"faults": found[: sum(is_fault)], "mends": found[sum(is_fault) :]})
    for group in [*MODULES, "faults", "mends"]:
        cells = []
        for result, run in zip(noticed, runs, strict=True):
            names = [
                n for n in run if n.startswith(f"{group} ") or n == f"faults {n.split()[1]} {group}"
            ]
            kept = [result[name] for name in names if run[name]["outcome"] != "absent"]
            cells.append(f"{sum(kept):4}/{len(kept):<4} {sum(kept) / max(len(kept), 1):6.1%}")
        print(f"{group:32}", "   ".join(cells))
    for name, is_noticed in noticed[-1].items() if runs else ():
        if noticed[0].get(name) and not is_noticed:
            row, fault = runs[-1][name], faults[name]
            print(f"\n{name}: {row['outcome']} ({row['tests']} tests); was {runs[0][name]['test']}")
            print(f"    {fault.get('function', '')} line {fault['line']}: {fault.get('text', '')}")
            print(f"    {fault['was']}  ->  {fault['is']}")
    known = [f for f in read_list()["faults"] if f["noticed"] is not None and "effect" not in f]
    count = sum(fault["noticed"] for fault in known)
    share = f"{count / max(len(known), 1):.1%}"
    print(f"\nof {len(known)} faults with a public effect the suite notices {count} ({share})")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("draw", help="draw new faults")
    command.add_argument("--other", type=Path, default=ROOT, help="a tree in which they must exist")
    command.set_defaults(call=draw)
    command = commands.add_parser("run", help="run the tests that reach each fault")
    command.add_argument("--tree", type=Path, default=ROOT)
    command.add_argument("--coverage", type=Path, default=ROOT / ".coverage")
    command.add_argument("--out", type=Path, required=True)
    command.add_argument(
        "--only", default="", help='part of a name: "^mends", "rules/(box|domain)"'
    )
    command.add_argument("--new", action="store_true", help="only those that were not run yet")
    command.set_defaults(call=run)
    command = commands.add_parser("compare", help="print shares and losses")
    command.add_argument("results", type=Path, nargs="*")
    command.add_argument("--record", action="store_true", help="note the first in mutants.json")
    command.set_defaults(call=compare)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
