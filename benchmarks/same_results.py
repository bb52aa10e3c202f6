"""Write what the package gives in a fixed list of configurations, to the last bit, and compare two such files.

Two versions of the code give the same results if everything that a user can see is equal: fitted attributes, rules,
predictions, explanations, exports, reports, files, what commands print and what the workbench answers. Floats are
written as ``float.hex``; seconds, versions and paths are left out. Facts (numbers, rules, exports, plain data) are
kept apart from words (sentences and messages), so that a change of wording hides no change of results::

    PYTHONPATH=OLD/src python benchmarks/same_results.py write before.json
    PYTHONPATH=NEW/src python benchmarks/same_results.py write after.json
    python benchmarks/same_results.py compare before.json after.json

Only public names, the command line and addresses of the workbench are used. The exit code of ``compare`` is 1 where
results differ. What is new in the later file is counted and is no difference. The configurations are the tables of
`same_results.toml`: estimators, functions and values, tables in parts, command lines, and projects of the workbench.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    # The number of threads decides the order of summation, and with it the last bits.
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    os.environ.update(one, MPLBACKEND="Agg")

import argparse
import contextlib
import dataclasses
import http.client
import io
import itertools
import json
import re
import runpy
import subprocess
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.text import Text
from sklearn.base import BaseEstimator

import clearmargin as cm
from clearmargin import datasets, export, plot

__all__ = ["CONFIGURATIONS", "canonical", "compare", "differences", "run"]

Record = dict[str, Any]
Table = tuple[pd.DataFrame, Any]

# What a key of a record starts with if its value is a sentence or a message.
WORDS = "words: "
GIVEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ADVICE, CHANGES, FIELDS = GIVEN["advice"], GIVEN["changes"], GIVEN["fields"]
LEFT_OUT, METHODS, SHIPPED = set(GIVEN["left_out"]), GIVEN["methods"], tuple(CHANGES)
CONFIGURATIONS: dict[str, Callable[[], Record]] = {}


# Values as plain data


def canonical(value: Any) -> Any:
    """Give a value as data for JSON that are equal only if the values are, bit for bit.

    Examples
    --------
    >>> canonical({"a": np.array([0.5, np.nan]), "b": (1, None)})
    {'a': ['0x1.0000000000000p-1', 'nan'], 'b': [1, None]}
    """
    if isinstance(value, MappingProxyType):  # the sets of categories of a box
        value = {"allowed": [[j, sorted(codes)] for j, codes in value.items()]}
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return canonical(value.item())
    if isinstance(value, int | Fraction):
        return value if isinstance(value, int) else str(value)
    return value.hex() if isinstance(value, float) else _collection(value)


def _collection(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return canonical(value.tolist())
    if isinstance(value, pd.DataFrame):
        columns = {str(name): column.tolist() for name, column in value.items()}
        return {"index": canonical(value.index.tolist()), "columns": canonical(columns)}
    if isinstance(value, Mapping):
        return {str(key): canonical(v) for key, v in value.items() if key not in LEFT_OUT}
    if isinstance(value, Set):
        return sorted((canonical(v) for v in value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, cm.RuleSet):
        return [canonical(v) for v in value]
    return _value(value)


def _value(value: Any) -> Any:
    """Give a value of the package as plain data: by `to_dict`, by what defines it, or as it prints itself."""
    if hasattr(value, "to_dict"):
        return canonical(value.to_dict())
    for name, fields in FIELDS.items():
        if isinstance(value, getattr(cm, name)):
            return canonical({field: getattr(value, field) for field in fields})
    if isinstance(value, BaseEstimator):
        return type(value).__name__
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if not f.name.startswith("_")]
        return canonical({name: getattr(value, name) for name in names})
    if isinstance(value, Path):
        return value.name
    return re.sub(r" object at 0x[0-9a-f]+", "", str(value))


def prefixed(name: str, record: Record) -> Record:
    """Put a name before each key, behind the mark of words."""
    marked = {key: WORDS if key.startswith(WORDS) else "" for key in record}
    return {f"{marked[k]}{name}.{k.removeprefix(WORDS)}": v for k, v in record.items()}


def attempt(make: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a function; give what it returned, or the error that came instead."""
    try:
        return make(*args, **options)
    except Exception as error:
        return {"error": type(error).__name__, WORDS + "message": str(error)}


class Many(dict[str, Any]):
    """Several values of one line of a table, each by its name."""


def each(make: Callable[..., Any], named: Mapping[str, Any]) -> Many:
    """What a function gives for each of several arguments."""
    return Many({name: attempt(make, argument) for name, argument in named.items()})


def of_value(name: str, value: Any) -> Record:
    """A value as data; rules as text and as sentences, too, and other values of the package as they print."""
    if isinstance(value, Many):
        several = (of_value(f"{name} {key}".strip(), v) for key, v in value.items())
        return {key: v for record in several for key, v in record.items()}
    record: Record = {name: value}
    if isinstance(value, cm.RuleSet):
        record |= {f"{name}.text": value.to_text(), f"{WORDS}{name}": value.describe()}
    elif isinstance(value, cm.Explanation):
        record[f"{WORDS}{name}"] = [str(value), value.sentence, value.text]
    elif type(value).__module__.startswith("clearmargin"):
        record[f"{WORDS}{name}"] = str(value)
    frame = getattr(value, "to_frame", None)
    return record | ({} if frame is None else {f"{name}.frame": attempt(frame)})


def of_model(model: Any, X: Any) -> Record:
    """All fitted attributes of an estimator, and what it gives for rows."""
    record: Record = {}
    for name in dict.fromkeys([*dir(type(model)), *vars(model)]):
        if name.endswith("_") and not name.startswith("_") and name not in LEFT_OUT:
            record |= of_value(name, attempt(getattr, model, name))
    for name in (name for name in METHODS if hasattr(model, name)):
        told = name == "describe"
        found = attempt(getattr(model, name), *(() if told else (X,)))
        record[f"{WORDS if told else ''}{name}()"] = found
    return record


def of_card(model: Any, X: Any) -> Record:
    """A fitted card: what every model has, the card in all forms, what it proves and how it explains a case."""
    card = model.scorecard_
    record: Record = {}
    for name in ("to_dict", "to_text", "lines", "summary"):
        record[f"{WORDS * (name == 'summary')}{name}"] = attempt(lambda n: getattr(card, n)(), name)
    record["proved"] = attempt(lambda: card.prove_codes(X))
    record["again"] = type(card).from_dict(card.to_dict()) == card
    return of_model(model, X) | record | of_value("explained", model.explain(X.iloc[[0]]))


def of_report(made: Any) -> Record:
    """The facts of a report, and its sentences without the list of versions."""
    told = ("title", "about", "learned")
    record = {f"{WORDS if k in told else ''}{k}": v for k, v in made.to_dict().items()}
    text = re.sub(r"\nVersions:\n\n(\|.*\n)+", "\n", made.to_markdown())
    return record | {WORDS + "markdown": text, WORDS + "str": str(made)}


def of_display(display: Any) -> Record:
    """What a figure was drawn from, and the texts in it."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    texts = [text.get_text() for figure in figures for text in figure.findobj(Text)]
    plt.close("all")
    drawn = vars(display) if hasattr(display, "figure_") else {}
    drawn = {name: value for name, value in drawn.items() if not name.endswith("_")}
    return {**drawn, WORDS + "texts": texts}


def read(path: Path | str) -> Any:
    """A file as plain data if it is JSON, a page without drawings, style and versions, else its text."""
    text = Path(path).read_text(encoding="utf-8")
    if str(path).endswith(".html"):
        text = re.sub(r"<svg.*?</svg>|<style.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
        return " ".join(re.sub(r"\d+\.\d+\.\d+", "", text).split())
    return json.loads(text) if str(path).endswith(".json") else text


# Tables and models, by name

ROWS = 140


def mixed() -> Table:
    """Whole numbers, cents, texts, ordered categories and truth values."""
    rng = np.random.default_rng(17)
    age, income = rng.integers(18, 90, ROWS), np.round(rng.normal(30_000, 8_000, ROWS), 2)
    city = rng.choice(["Bern", "Basel", "New York", "Ürümqi"], ROWS)
    plan = pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), ["low", "mid", "high"])
    score = age / 20 + income / 10_000 + 1.5 * (city == "Basel") + rng.normal(0, 0.7, ROWS)
    X = pd.DataFrame({"age": age, "income": income, "city": city, "plan": plan})
    return X.assign(member=rng.random(ROWS) < 0.4), np.where(score > np.median(score), "yes", "no")


def columns_0_1() -> Table:
    """Categories as 0/1 columns."""
    X, y = mixed()
    return pd.get_dummies(X[["age", "income", "city"]], dtype=int), y


def missing() -> Table:
    """Numbers and categories with missing values."""
    X, y = mixed()
    rng = np.random.default_rng(18)
    X = X.drop(columns="member").astype({"age": float, "city": object})
    for name, nothing in (("age", np.nan), ("income", np.nan), ("city", None)):
        X.loc[rng.random(ROWS) < 0.1, name] = nothing
    return X, y


def whole() -> Table:
    """Whole numbers and three classes."""
    rng = np.random.default_rng(19)
    X = pd.DataFrame(rng.integers(0, 9, (ROWS, 4)), columns=list("abcd"))
    total = X["a"] * 2 + X["b"] - X["c"] + rng.normal(0, 1, ROWS)
    return X, np.array(["low", "mid", "top"])[np.digitize(total, np.quantile(total, [0.3, 0.7]))]


def offsets() -> Table:
    """Features far from 0, on very different scales, and a constant one."""
    rng = np.random.default_rng(20)
    Z = rng.normal(size=(ROWS, 4))
    X = pd.DataFrame(Z * [1e-3, 1.0, 1e4, 0.0] + [1e6, -5.0, 3e8, 7.0], columns=list("pqrs"))
    return X, (Z[:, 0] + Z[:, 1] - Z[:, 2] + rng.normal(0, 0.3, ROWS) > 0).astype(int)


def rare() -> Table:
    """Three classes, one of them with five rows; names with blanks and Greek letters."""
    rng = np.random.default_rng(21)
    Z = rng.normal(size=(ROWS, 3))
    y = np.where(Z[:, 0] > 0, 1, 0)
    y[:5] = 2
    Z[:5, 1] += 4.0
    return pd.DataFrame(Z.round(2), columns=["first feature", "x_2", "β"]), y


def large() -> Table:
    """More rows than samples have, with a column of categories."""
    rng = np.random.default_rng(22)
    Z = rng.normal(size=(60_000, 5)).round(3)
    X = pd.DataFrame(Z, columns=list("tuvwx")).assign(kind=rng.integers(0, 3, len(Z)))
    score = Z[:, 0] - 2 * Z[:, 1] + 0.5 * X["kind"] + rng.normal(0, 1, len(Z))
    return X, np.where(score > 0.5, "up", "down")


TABLES: dict[str, Callable[[], Any]] = {
    **{f.__name__: f for f in (mixed, columns_0_1, missing, whole, offsets, rare, large)},
    **{name: partial(getattr(datasets, f"load_{name}"), return_X_y=True) for name in SHIPPED},
    "disease": partial(datasets.load_cleveland, "disease", return_X_y=True),
    "components": partial(datasets.make_components, return_X_y=True),
    "imbalanced": partial(datasets.make_imbalanced, random_state=0, as_frame=True),
    "votes": partial(datasets.make_votes, 200, 12, 5, flip=0.1, random_state=0, as_frame=True),
}


@cache
def table(name: str) -> Table:
    """A table by its name, such as ``"pima"``, or its first rows, such as ``"pima 150"``."""
    which, _, rows = name.partition(" ")
    X, y = TABLES[which]()
    return (X[: int(rows)], y[: int(rows)]) if rows else (X, y)


NAMES: Record = {}
for _name in GIVEN["sklearn"]:
    NAMES |= vars(import_module(f"sklearn.{_name}"))
for _ours in (plot, export, datasets, cm):
    NAMES |= {name: getattr(_ours, name) for name in _ours.__all__}
NAMES |= globals()
exec(GIVEN["helpers"], NAMES)


def model(name: str) -> Any:
    """A model by its name, not fitted."""
    return eval(GIVEN["models"][name], NAMES)


def few(name: str, **options: Any) -> Any:
    return cm.RuleExtractor(model(name), max_rules=2, **options)


# Estimators: a class, tables, and options; a list of values stands for one configuration each


class OneOf(tuple[Any, ...]):
    """Values of an option, of which each configuration has one."""


def one_of(*values: Any) -> OneOf:
    return OneOf(values)


def made(kind: str, options: Record, module: Any = cm) -> Any:
    """An estimator of the package by the name of its class; models and advice are given by name, too."""
    if "estimator" in options:
        options = options | {"estimator": model(options["estimator"])}
    for name in {"advice", "rules"} & set(options):
        options = options | {name: ADVICE[options[name]]}
    return getattr(module, kind)(**options)


def fit(kind: str, rows: str, options: Record) -> Record:
    """Fit one estimator to one table; give everything it says."""
    X, y = table(rows)
    fitted = made(kind, options).fit(X, y)
    return of_card(fitted, X) if kind == "ScoreRules" else of_model(fitted, X)


def fits(text: str) -> Iterator[tuple[str, str, Record]]:
    """The classes, tables and options of a table of fits."""
    for line in text.strip().splitlines():
        kind, *tables, given = (part.strip() for part in line.split("|"))
        options = eval(f"dict({given})", {"one_of": one_of})
        choices = [v if isinstance(v, OneOf) else [v] for v in options.values()]
        for *values, rows in itertools.product(*choices, "".join(tables).split("; ")):
            yield kind, rows, dict(zip(options, values, strict=True))


def fit_parts(kind: str, options: Record) -> Record:
    """Fit one estimator to files that are read in passes, and to a table of Dask where there is such an estimator."""
    write_tables()
    rows: Any = cm.scan("parts", target="outcome")
    record = prefixed("files", of_model(made(kind, options).fit(rows), rows))
    if kind == "LPSVC":
        rows = import_module("dask.dataframe").read_csv("parts/*.csv")
        X = rows.drop(columns="outcome")
        fitted = made(kind, options, cm.dask).fit(X, rows["outcome"])
        record |= prefixed("dask", of_model(fitted, X))
    return record


# Functions, values, explanations, reports and figures: lines of Python


def calls(text: str) -> Record:
    """Run the lines of a table of calls; give what those with a key gave."""
    names = NAMES | globals()
    record: Record = {}
    for line in re.split(r"\n(?=[^\s])", text.strip()):
        found = re.match(r"((?:words: )?[\w .]+): (.*)", line, re.DOTALL)
        if found is None:
            exec(line, names)
        else:
            record |= of_value(found[1], attempt(eval, f"({found[2]}\n)", names))
    return record


@cache
def every_rules() -> dict[str, cm.RuleSet]:
    """Rules of all kinds."""
    models = {"pima 150": "LPSVC 0.1", "mixed": "encoded LinearSVC", "missing": "imputed LinearSVC"}
    found = {rows: few(name).fit(*table(rows)).rules_ for rows, name in models.items()}
    texts = {"written": "language", "declared": "declared", "advice": "pima"}
    return found | {name: cm.parse_rules(ADVICE[text]) for name, text in texts.items()}


# The command line


@cache
def write_tables() -> None:
    """Write the files that commands read into the current directory."""
    rows = {"wbc": "wbc 300", "pima": "pima 200", "cleveland": "cleveland 150", "few": "wbc 40"}
    kept = {name: table(which)[0].assign(outcome=table(which)[1]) for name, which in rows.items()}
    for name in ("mixed", "missing", "whole", "rare"):
        X, y = table(name)
        kept[name] = X.assign(outcome=y, patient=np.arange(ROWS) // 4, day=np.arange(ROWS))
    kept["large"] = kept["pima"].iloc[np.arange(12_000) % 200]
    for name, frame in kept.items():
        frame.to_csv(f"{name}.csv", index=False)
    kept["pima"].to_parquet("pima.parquet", index=False)
    kept["pima"].to_csv("pima.csv.gz", index=False)
    german = kept["mixed"].drop(columns=["patient", "day"])
    german.to_csv("german.csv", index=False, sep=";", decimal=",")
    for name, text in {**ADVICE, "wrong": "x >= 3 = 4 => ill\n"}.items():
        Path(f"{name}{'-advice' * (name != 'wrong')}.rules").write_text(text, encoding="utf-8")
    Path("parts").mkdir()
    X, y = table("large")
    for part, places in enumerate(np.array_split(np.arange(len(X)), 3)):
        X.assign(outcome=y).iloc[places].to_csv(f"parts/{part}.csv", index=False)


def command(line: str) -> Record:
    """Run one command; give its exit code and what it printed, as data if that is what it prints."""
    words = line.split()
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", ["clearmargin", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_module("clearmargin", run_name="__main__")
        except SystemExit as stop:
            code = stop.code
    text = re.sub(r"\b\d+\.\d+ s\b", "? s", out.getvalue())
    record: Record = {"code": code, WORDS + "stderr": err.getvalue()}
    if "--json" in words and text.strip():
        return record | {"json": apart(attempt(json.loads, text))}
    facts = words[0] in ("export", "predict") or "--quiet" in words
    return record | {"stdout" if facts else WORDS + "stdout": text}


def commands(lines: str, data: str | None = None) -> Record:
    """Run commands one after the other; give what they printed and the files that they wrote."""
    write_tables()
    short = dict(GIVEN["short"])
    if data is not None:
        (a, b), positive = CHANGES[data], GIVEN["positive"][data]
        goal = f"--target class --positive {positive}"
        short |= {"{d}": data, "{t}": goal, "{a}": a, "{b}": b}
    before = set(Path().iterdir())
    record: Record = {}
    for line in lines.strip().splitlines():
        for name, words in short.items():
            line = line.replace(name, words)  # noqa: PLW2901
        record |= prefixed(line, command(line))
    for path in sorted(set(Path().iterdir()) - before):
        record[f"{WORDS * (path.suffix == '.html')}file {path}"] = read(path)
        path.unlink()
    return record


# The workbench


class Browser:
    """What a browser does with the address that the workbench prints."""

    def __init__(self, address: str):
        host, _, self.query = address.removeprefix("http://").partition("/")
        self.host, self.cookie, self.token = host, "", ""
        entered = self.ask("GET", f"/{self.query}")
        self.cookie = entered[1]["set-cookie"].partition(";")[0]
        while not (
            found := re.search(r'name="form_token" value="([^"]+)"', self.ask("GET", "/")[2])
        ):
            time.sleep(0.1)  # it is starting
        self.token = found[1]

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[int, Mapping[str, str], str]:
        connection = http.client.HTTPConnection(self.host, timeout=120)
        headers = {"Cookie": self.cookie, "Content-Type": kind, "Sec-Fetch-Site": "same-origin"}
        connection.request(method, path, body, headers | {"Connection": "close"})
        answer = connection.getresponse()
        got = {name.lower(): value for name, value in answer.getheaders()}
        text = answer.read().decode("utf-8")
        connection.close()
        return answer.status, got, text

    def post(self, path: str, value: Any) -> Any:
        status, _, text = self.ask("POST", path, json.dumps(value).encode())
        return {"status": status} | apart(json.loads(text))

    def upload(self, name: str, content: str) -> str:
        """Make a project of a table, without rows put aside; give its address."""
        mark = "0123456789abcdef"
        head = f'--{mark}\r\nContent-Disposition: form-data; name="'
        body = f'{head}form_token"\r\n\r\n{self.token}\r\n{head}sealed"\r\n\r\n0\r\n'
        body += f'{head}file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n{content}\r\n--{mark}--\r\n'
        kind = f"multipart/form-data; boundary={mark}"
        made = self.ask("POST", "/projects", body.encode(), kind)[1]["location"]
        return made.removesuffix("/data")

    def wait(self, path: str) -> Any:
        """A result of work in the background, when it is there."""
        for _ in range(600):
            answer = json.loads(self.ask("GET", path)[2])
            if answer.get("found") is not None:
                return apart(answer)
            time.sleep(0.05)
        return {"error": f"nothing at {path.rpartition('/')[2]}"}


def project(rows: str, task: Record, machines: list[str], texts: list[str]) -> Record:
    """Make a project of a table; give what the workbench answers to texts, about changes and of cases."""
    X, y = table(rows)
    record: Record = {}
    line = [sys.executable, "-m", "clearmargin", "workbench", "--no-browser", "--folder", "."]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None
            browser = Browser(found[0])
            home = browser.upload(f"{rows}.csv", X.assign(**{"class": y}).to_csv(index=False))
            record["task"] = browser.post(f"{home}/task", {"settings": task})
            browser.wait(f"{home}/results/outcome")
            for machine in machines:
                record |= prefixed(machine, answers(browser, home, machine, texts))
        finally:
            server.terminate()
    return record


def answers(browser: Browser, home: str, machine: str, texts: list[str]) -> Record:
    """Keep the first text with a machine; what is answered to the others, and of cases."""
    versions = json.loads(browser.ask("GET", f"{home}/results/rules")[2])["revision"]
    chosen: Record = {"text": texts[0], "why": machine, "base": versions}
    chosen["settings"] = {"machine": machine}
    record = {"kept": browser.post(f"{home}/revisions", chosen)}
    record["outcome"] = browser.wait(f"{home}/results/outcome")
    browser.post(f"{home}/jobs", {"kind": "extract"})
    record["rules"] = browser.wait(f"{home}/results/rules")
    for k, text in enumerate(texts):
        record[f"check {k}"] = browser.post(f"{home}/check", {"text": text, "serial": k})
        record[f"preview {k}"] = browser.post(f"{home}/preview", {"text": text, "serial": k})
    for query in ("which=wrong", "which=disagree", "which=flips", "rule=0&sort=boundary"):
        page = browser.ask("GET", f"{home}/cases?{query}")[2]
        record[f"cases {query}"] = re.findall(r"/cases/(\d+)", page)
    for row in (1, 5, 20):
        for what in ("explain", "recourse", "what-if"):
            record[f"case {row} {what}"] = browser.post(
                f"{home}/cases/{row}/{what}", {"values": {}}
            )
    return record


# Running and comparing


def apart(data: Any) -> Any:
    """Data without what differs from run to run, and with the mark of words before keys of sentences."""
    if isinstance(data, dict):
        items = {k: apart(v) for k, v in data.items() if k not in ("at", "id", "job", "author")}
        return {f"{WORDS * is_told(v)}{k}": v for k, v in items.items()}
    return [apart(v) for v in data] if isinstance(data, list) else data


def is_told(value: Any) -> bool:
    """Whether something is a sentence: words with blanks between, and no condition."""
    if isinstance(value, list):
        return any(map(is_told, value))
    return isinstance(value, str) and value.count(" ") > 2 and not re.search("[<=]|[^-]>", value)


def run(names: Sequence[str]) -> dict[str, Record]:
    """Run configurations, in a directory that goes away; an error is a record, too."""
    results = {}
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_tables.cache_clear()
        for position, name in enumerate(names, 1):
            with warnings.catch_warnings(record=True) as met:
                warnings.simplefilter("always")
                record = canonical(attempt(CONFIGURATIONS[name]))
            said = sorted({f"{w.category.__name__}: {w.message}" for w in met})
            results[name] = record | {WORDS + "warnings": said}
            now = time.process_time() - start
            state = record.get("error", "")
            print(f"{position:3} of {len(names)} {now:6.1f} s  {name}  {state}", file=sys.stderr)
    return results


Place = tuple[str, Any, Any]


def differences(before: Any, after: Any, where: str = "", *, words: bool = True) -> Iterator[Place]:
    """Each place where two pieces of plain data differ, with what stands there.

    Examples
    --------
    >>> next(differences({"a": [1, 2]}, {"a": [1, 3]}))
    ('a[1]', 2, 3)
    """
    if type(before) is not type(after):
        yield where, before, after
    elif isinstance(before, dict):
        for key in dict.fromkeys([*before, *after]):
            if words or not key.startswith(WORDS):
                place = f"{where}: {key}" if where else key
                pair = before.get(key, "(nothing)"), after.get(key, "(nothing)")
                yield from differences(*pair, place, words=words)
    elif isinstance(before, list):
        for i, pair in enumerate(zip(before, after, strict=False)):
            yield from differences(*pair, f"{where}[{i}]", words=words)
        yield from differences(len(before), len(after), f"length of {where}")
    elif before != after and isinstance(before, str) and "\n" in before:
        yield from differences(before.split("\n"), after.split("\n"), f"lines of {where}")
    elif before != after:
        yield where, before, after


def _short(value: Any) -> str:
    """A value in one line; a float in decimals beside its bits."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and re.fullmatch(r"-?0x[01]\.[0-9a-f]+p[+-]\d+", value):
        text = f"{float.fromhex(value)!r} ({value})"
    return text if len(text) <= 160 else f"{text[:160]}..."


def compare(before: dict[str, Record], after: dict[str, Record], *, words: bool = True) -> int:
    """Print for each configuration whether two files say the same; 1 if anything differs, else 0.

    Keys and configurations that only the later file has are no difference.
    """
    counts = {"same": 0, "different": 0, "other words": 0}
    for name, old in before.items():
        new = {key: v for key, v in after.get(name, {}).items() if key in old}
        state, place = "different", next(differences(old, new, words=False), None)
        if place is None:
            place = next(differences(old, new), None) if words else None
            state = "same" if place is None else "other words"
        counts[state] += 1
        print(f"{state:11} {name}")
        if place is not None:
            where, one, other = place
            print(f"    {where}\n    before: {_short(one)}\n    after:  {_short(other)}")
    new_names = len(set(after) - set(before))
    print(", ".join(f"{count} {state}" for state, count in counts.items()), f"{new_names} new")
    return int(counts["same"] != len(before))


def _list() -> None:
    for kind, rows, options in fits(GIVEN["fits"]):
        shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
        CONFIGURATIONS[f"{kind}({shown}): {rows}"] = partial(fit, kind, rows, options)
    for kind, _, options in fits(GIVEN["parts"]["fits"]):
        CONFIGURATIONS[f"{kind}({options}): in parts"] = partial(fit_parts, kind, options)
    for name, text in GIVEN["calls"].items():
        CONFIGURATIONS[name] = partial(calls, text)
    for name, pairs in GIVEN["each"].items():
        for rows, fitted in pairs:
            text = GIVEN["templates"][name].replace("{0}", rows).replace("{1}", fitted)
            CONFIGURATIONS[name.format(rows, fitted)] = partial(calls, text)
    for name, lines in GIVEN["commands"].items():
        for data in SHIPPED if name == "every" else (None,):
            CONFIGURATIONS[f"commands of {data or name}"] = partial(commands, lines, data)
    for name, asked in GIVEN["projects"].items():
        CONFIGURATIONS[f"workbench: {name}"] = partial(project, *asked.values())


_list()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write results, or compare two files of them.")
    actions = parser.add_subparsers(dest="action", required=True)
    write = actions.add_parser("write", help="run all configurations and write what they gave")
    write.add_argument("file", type=Path)
    write.add_argument("--only", default="", help="those whose name contains this text")
    judge = actions.add_parser("compare", help="say for each configuration whether it is the same")
    judge.add_argument("before", type=Path)
    judge.add_argument("after", type=Path)
    judge.add_argument("--facts", action="store_true", help="pass over sentences and messages")
    actions.add_parser("list", help="print the names of all configurations")
    given = parser.parse_args(argv)
    if given.action == "compare":
        files = (json.loads(path.read_text("utf-8")) for path in (given.before, given.after))
        return compare(*files, words=not given.facts)
    names = [name for name in CONFIGURATIONS if given.action == "list" or given.only in name]
    if given.action == "list":
        print("\n".join(names))
        return 0
    target = given.file.resolve()
    results = run(names)
    target.write_text(json.dumps(results, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    print(f"{len(results)} configurations of {Path(cm.__file__).parent} written to {target}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
