"""Mistakes that people make: each ends with exit code 2 and a message that names what is wrong and what to do."""

from __future__ import annotations

import errno
import gzip
import json
import os
import sys

import pandas as pd
import pytest

from clearmargin.models import load_model

pytestmark = pytest.mark.usefixtures("no_folds")

TRAIN = ("rules", "patients.csv", "--target", "outcome")
HEAD = "age,bmi,outcome\n"
GOOD = "30,20.5,well\n31,21.5,well\n60,30.5,ill\n61,31.5,ill\n"

FILES: dict[str, str | bytes] = {
    "empty.csv": "",
    "blank.csv": "\n \n",
    "header.csv": HEAD,
    "binary.csv": bytes(range(256)),
    "sheet.csv": b"PK\x03\x04rest of a spreadsheet",
    "latin.csv": "größe,outcome\n1,a\n2,b\n".encode("latin-1"),
    "broken.csv.gz": gzip.compress(b"a,b\n1,2\n" * 100)[:25],
    "ragged.csv": HEAD + GOOD + "62,32.5\n",
    "twice.csv": "age,age,outcome\n1,2,a\n3,4,b\n",
    "numbers.csv": "1,2,3\n4,5,6\n",
    "quotes.csv": 'age,outcome\n"30,well\n31,ill\n',
    "single.csv": "age,outcome\n30,well\n31,well\n",
    "stray.csv": HEAD + GOOD + "abc,32.5,ill\n",
    "huge.csv": HEAD + GOOD + "1e999,32.5,ill\n",
    "gaps.csv": HEAD + GOOD + ",32.5,ill\n63,?,ill\n",
    "notarget.csv": HEAD + GOOD + "62,32.5,\n",
    "allgaps.csv": HEAD + ",20.5,well\n,21.5,ill\n30,,ill\n",
    "manyclasses.csv": "age,outcome\n" + "".join(f"{k},{k + 0.5}\n" for k in range(30)),
    "names.csv": "name,outcome\n" + "".join(f"n{k},{'ab'[k % 2]}\n" for k in range(30)),
    "onecolumn.csv": "outcome\na\nb\n",
    "mixed.csv": "age;bmi;outcome\n30,5;20.5;well\n31,5;21.5;ill\n",
    "thousands.csv": "age;outcome\n1,234;well\n5,678;ill\n",
    "noise.csv": "age,outcome\n" + "".join(f"5,{'ab'[k % 2]}\n" for k in range(10)),
    "three.csv": HEAD + GOOD + "90,40.5,dead\n91,41.5,dead\n",
    "large.csv": HEAD + GOOD.replace("20.5", "1e300"),
    "notes.csv": "name,outcome\n"
    + "".join(f"n{k},{'well' if k < 10 else 'ill'}\n" for k in range(20)),
    "malformed.rules": "age >> 3 => ill\n",
    "or.rules": "age >= 30 or bmi >= 30 => ill\n",
    "unknown.rules": "agee >= 30 => ill\n",
    "otherclass.rules": "age >= 30 => sick\n",
    "text.rules": "smoker >= 3 => ill\n",
    "rules.txt": "age >= 30 => ill\n",
    "damaged.json": '{"format": "clearmargin-model", "version": 1, "rules": {}}',
    "cut.json": '{"format": "clearmargin-mod',
    "rules.json": '{"format": "clearmargin-rules", "version": 1}',
    "new.json": '{"format": "clearmargin-model", "version": 99}',
    "none.rules": "# to be written\n",
    "taken.rules": "age >= 99 => ill\n",
    "taken.json": "{}",
    "taken.html": "mine",
    "taken.csv": "mine",
}

CASES = [
    # no table
    (["rules", "missing.csv", "--target", "y"], "missing.csv: no such file or directory"),
    (["rules", "folder", "--target", "y"], "the folder folder holds no table"),
    (["rules", "empty.csv", "--target", "y"], "empty.csv is empty"),
    (["rules", "blank.csv", "--target", "y"], "blank.csv is empty"),
    (["rules", "header.csv", "--target", "y"], "header.csv has column names and no rows"),
    (["rules", "binary.csv", "--target", "y"], "binary.csv is no text"),
    (["rules", "sheet.csv", "--target", "y"], "sheet.csv is a zip archive or a spreadsheet"),
    (["rules", "latin.csv", "--target", "y"], "line 1 has the byte 0xf6. Say how its letters"),
    (["rules", "latin.csv", "--target", "y", "--encoding", "klingon"], "encoding 'klingon'"),
    (["rules", "broken.csv.gz", "--target", "y"], "packed by gzip and damaged"),
    # a table that cannot be read
    (
        ["rules", "ragged.csv", "--target", "outcome"],
        "ragged.csv, line 6: 2 values, but there are 3",
    ),
    (["rules", "twice.csv", "--target", "outcome"], "columns 1 and 2 are both called 'age'"),
    (["rules", "numbers.csv", "--target", "3"], "the first line holds numbers (1, 2, 3 ...)"),
    (["rules", "quotes.csv", "--target", "outcome"], "is a quotation mark missing"),
    (["rules", "stray.csv", "--target", "outcome"], "stray.csv, line 6: 'abc' in column 'age'"),
    (["rules", "huge.csv", "--target", "outcome"], "line 6: '1e999' in column 'age' is too large"),
    (["rules", "mixed.csv", "--target", "outcome"], "with a comma (30,5) and with a point (20.5)"),
    (["rules", "thousands.csv", "--target", "outcome"], "'1,234' may be a decimal number, or"),
    ([*TRAIN, "--separator", "xy"], "--separator xy is neither a single letter"),
    ([*TRAIN, "--drop", "agee"], "patients.csv has no column 'agee'; did you mean 'age'?"),
    ([*TRAIN, "--categories", "agee"], "--categories: patients.csv has no column 'agee'"),
    # a target that cannot be learned
    (
        ["rules", "patients.csv", "--target", "outcom"],
        "no column 'outcom'; did you mean 'outcome'?",
    ),
    (["rules", "single.csv", "--target", "outcome"], "has a single class, 'well'"),
    (["rules", "manyclasses.csv", "--target", "outcome"], "has 30 different values, more than 20"),
    (["rules", "names.csv", "--target", "outcome"], "no column is left to learn from"),
    (["rules", "onecolumn.csv", "--target", "outcome"], "no column beside 'outcome'"),
    (
        ["rules", "noise.csv", "--target", "outcome", "--method", "plane"],
        "all planes that were tried are constant: no linear combination of the features tells the classes of 'outcome'",
    ),
    (
        [*TRAIN, "--positive", "il"],
        "--positive: 'il' is no class of 'outcome'; did you mean 'ill'?",
    ),
    # missing values
    (
        ["rules", "gaps.csv", "--target", "outcome", "--method", "plane"],
        "2 of 6 rows lack a value ('age': 1, 'bmi': 1)",
    ),
    (
        ["rules", "notarget.csv", "--target", "outcome", "--method", "plane"],
        "is missing in 1 row, the first of them row 5",
    ),
    (
        ["rules", "allgaps.csv", "--target", "outcome", "--missing", "drop"],
        "every row lacks a value",
    ),
    (["explain", "gaps.csv", "--target", "outcome", "--missing", "drop", "--row", "5"], "left out"),
    # options
    (["frobnicate"], "invalid choice: 'frobnicate'"),
    ([], "the following arguments are required: command"),
    (["rules"], "the following arguments are required: DATA, --target"),
    (["rules", "patients.csv"], "the following arguments are required: --target"),
    ([*TRAIN, "--max-rules", "many"], "argument --max-rules: 'many' is not a whole number"),
    ([*TRAIN, "--max-rules", "0"], "0 is not a whole number from 1"),
    ([*TRAIN, "--nu", "-1"], "-1 is not a number above 0"),
    ([*TRAIN, "--nu", "1", "--max-features", "2"], "leave out --nu"),
    ([*TRAIN, "--criterion", "beauty"], "invalid choice: 'beauty'"),
    ([*TRAIN, "--frob"], "unrecognized arguments: --frob"),
    (["explain", *TRAIN[1:]], "one of the arguments --row --where is required"),
    (
        ["explain", *TRAIN[1:], "--row", "1", "--where", "age > 3"],
        "not allowed with argument --row",
    ),
    (["explain", *TRAIN[1:], "--row", "25"], "--row 25: patients.csv has 24 rows"),
    (["explain", *TRAIN[1:], "--where", "agee > 3"], "no column 'agee'; did you mean 'age'?"),
    (["explain", *TRAIN[1:], "--where", "age >> 3"], "--where, line 1, column"),
    (["explain", *TRAIN[1:], "--where", "age >= 99"], "--where: no row has age >= 99"),
    (["explain", *TRAIN[1:], "--where", "smoker >= 3"], "smoker"),
    (["explain", *TRAIN[1:], "--row", "1", "--weights", "purity"], "such as purity=2"),
    (["explain", *TRAIN[1:], "--row", "1", "--weights", "purty=2"], "did you mean 'purity'?"),
    (["explain", *TRAIN[1:], "--row", "1", "--weights", "purity=-2"], "must be a number from 0"),
    (
        ["explain", *TRAIN[1:], "--row", "1", "--weights", "purity=2"],
        "add --kind rule, or leave out",
    ),
    (
        ["explain", *TRAIN[1:], "--row", "1", "--max-rules", "2"],
        "--max-rules is for explanations by",
    ),
    (
        ["explain", *TRAIN[1:], "--row", "1", "--kind", "rule", "--precision", "0.9"],
        "leave out --precision or --kind",
    ),
    (
        ["explain", *TRAIN[1:], "--row", "1", "--precision", "0.2"],
        "--precision 0.2: give a share from 0.5",
    ),
    (["rank", *TRAIN[1:], "--top", "30"], "30"),
    (["rank", *TRAIN[1:], "--top", "best"], "argument --top: 'best' is not a number, auto or cv"),
    (["rank", *TRAIN[1:], "--top", "cv", "--bottom", "auto"], "choose in two ways"),
    (
        ["rank", "three.csv", "--target", "outcome"],
        "a ranking is for two; choose one with --positive",
    ),
    (
        ["rank", "large.csv", "--target", "outcome", "--top", "2"],
        "column 'bmi' holds numbers whose squares are too large for floats; write it in a larger unit",
    ),
    (
        ["rules", "notes.csv", "--target", "outcome"],
        "no column is left to learn from: column 'name' holds 20 different texts in 20 rows, like names",
    ),
    (["rank", "gaps.csv", "--target", "outcome"], "--top 0.05 of 6 rows is not even one row"),
    (
        ["rank", *TRAIN[1:], "--min-leverage", "3"],
        "--min-leverage must be a number above 0 and at most 0.25, not 3.0",
    ),
    # rules and advice
    (["check", "missing.rules"], "missing.rules: no such file or directory"),
    (["check", "none.rules"], "none.rules has no rules"),
    (["export", "none.rules", "--to", "sql"], "none.rules has no rules"),
    (["predict", "patients.csv", "--rules", "none.rules"], "none.rules has no rules"),
    (["advise", *TRAIN[1:], "--advice", "none.rules"], "none.rules has no rules"),
    (["check", "rules.txt"], "the name of a rule file ends in .json or .rules"),
    (["check", "malformed.rules"], "malformed.rules, line 1, column"),
    (["check", "advice.rules", "--target", "outcome"], "name the table, too: --data FILE"),
    (["check", "unknown.rules", "--data", "patients.csv"], "unknown feature 'agee'"),
    (
        ["check", "otherclass.rules", "--data", "patients.csv", "--target", "outcome"],
        "unknown class 'sick'",
    ),
    (["check", "text.rules", "--data", "patients.csv"], "text.rules: 1 error, see above"),
    (["advise", *TRAIN[1:], "--advice", "missing.rules"], "missing.rules: no such file"),
    (["advise", *TRAIN[1:], "--advice", "or.rules"], "a premise has no 'or'"),
    (["advise", *TRAIN[1:], "--advice", "unknown.rules"], "unknown feature 'agee'"),
    (["advise", *TRAIN[1:], "--advice", "otherclass.rules"], "'sick'"),
    (["advise", *TRAIN[1:], "--advice", "text.rules"], "smoker"),
    (["advise", *TRAIN[1:], "--advice", "advice.rules", "--tune", "--mu", "2"], "leave out --mu"),
    (["advise", *TRAIN[1:], "--advice", "advice.rules", "--refine", "x"], "invalid choice: 'x'"),
    (
        ["advise", "three.csv", "--target", "outcome", "--advice", "advice.rules"],
        "3 classes, and advice is for two; choose one with --positive",
    ),
    (["predict", "three.csv", "--rules", "unknown.rules"], "no column 'agee'; did you mean 'age'?"),
    (["predict", "patients.csv", "--rules", "text.rules"], "column 'smoker', row 1: 'no' is not a"),
    (
        ["predict", "patients.csv", "--model", "m.json", "--default", "ill"],
        "--default is for rules; a model has an answer for every row",
    ),
    (["predict", "patients.csv"], "one of the arguments --rules --model is required"),
    (
        ["predict", "patients.csv", "--rules", "advice.rules", "--default", "dead"],
        "--default dead is no class of the rules; known are 'ill', 'well'; if it should be one, declare it in a line",
    ),
    (
        ["export", "advice.rules", "--to", "cobol"],
        "argument --to: invalid choice: 'cobol'; known are 'sql', 'python'",
    ),
    (["export", "advice.rules", "--to", "sql", "--dialect", "sqlit"], "did you mean 'sqlite'?"),
    (
        ["export", "advice.rules", "--to", "latex", "--dialect", "ansi"],
        "--dialect is not for the format latex, which takes no option",
    ),
    (["export", "advice.rules", "--to", "xlsx"], "name it: --out rules.xlsx"),
    (
        ["export", "advice.rules", "--to", "xlsx", "--out", "r.csv"],
        "the name of a spreadsheet ends in .xlsx",
    ),
    ([*TRAIN, "--report", "r.pdf"], "must end in .html"),
    # models
    ([*TRAIN, "--model", "missing.json"], "missing.json: no such file or directory"),
    ([*TRAIN, "--model", "damaged.json"], "damaged.json: 'planes' is missing"),
    ([*TRAIN, "--model", "cut.json"], "cut.json is not valid JSON"),
    ([*TRAIN, "--model", "rules.json"], "rules.json: this is no clearmargin model"),
    ([*TRAIN, "--model", "new.json"], "version 99 of the format; this clearmargin reads up to"),
    ([*TRAIN, "--model", "m.pkl"], "the name of a model file ends in .json"),
    ([*TRAIN, "--model", "new.json", "--nu", "2"], "--model is trained already; leave out --nu"),
    # files in the way
    ([*TRAIN, "--out", "taken.rules"], "taken.rules exists already; add --force to replace it"),
    ([*TRAIN, "--save-model", "taken.json"], "taken.json exists already"),
    ([*TRAIN, "--out", "r.txt"], "r.txt: the name of this file must end in .rules or .json"),
    ([*TRAIN, "--out", "nowhere/r.rules"], "there is no folder nowhere"),
    (["report", *TRAIN[1:], "--out", "taken.html"], "taken.html exists already"),
    (["export", "advice.rules", "--to", "sql", "--out", "taken.csv"], "taken.csv exists already"),
    (["export", "advice.rules", "--to", "sql", "--out", "folder"], "folder is a folder"),
    (["predict", "three.csv", "--rules", "taken.rules", "--out", "taken.csv"], "exists already"),
    (["datasets", "wbc", "--out", "taken.csv"], "taken.csv exists already"),
    (["datasets", "--out", "all.csv"], "--out writes one data set"),
    (["datasets", "wbcc"], "unknown data set 'wbcc'; did you mean 'wbc'?"),
    (["demo", "--out", "taken.html"], "taken.html exists already; add --force to replace it, or"),
]


@pytest.fixture
def littered(folder):
    """The working folder with all files that are wrong."""
    for name, content in FILES.items():
        path = folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
    (folder / "folder").mkdir()
    return folder


def contents(folder) -> dict[str, bytes]:
    """All files with what is in them."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(("words", "message"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_a_mistake_ends_with_a_message_and_leaves_all_files_alone(words, message, run, littered):
    before = contents(littered)
    said = run(*words)
    assert message in said.err
    assert said.code == 2
    assert "Traceback" not in said.err
    assert "internal error" not in said.err
    assert contents(littered) == before
    if words[:1] != ["check"]:
        assert not said.out


def test_a_table_that_does_not_fit_the_model_is_refused(run, clearmargin, folder):
    clearmargin(*TRAIN, "--method", "plane", "--save-model", "m.json", "--quiet")
    frame = pd.read_csv("patients.csv")
    frame.rename(columns={"age": "ages"}).to_csv("a.csv", index=False)
    frame.replace({"outcome": {"ill": "dead"}}).to_csv("b.csv", index=False)
    said = run("rules", "a.csv", "--target", "outcome", "--model", "m.json")
    assert said.code == 2
    assert "the model needs column 'age', which a.csv lacks; did you mean 'ages'?" in said.err
    said = run("rules", "b.csv", "--target", "outcome", "--model", "m.json")
    assert said.code == 2
    assert "has the class 'dead'; the model knows" in said.err


def test_a_model_without_rules_cannot_be_exported(run, clearmargin, folder):
    clearmargin("advise", *TRAIN[1:], "--advice", "advice.rules", "--save-model", "m.json")
    said = run("export", "m.json", "--to", "sql")
    assert said.code == 2
    assert "m.json is a model without rules" in said.err


def test_standard_input_may_be_empty(run, folder, monkeypatch):
    with (folder / "nothing").open("w+b") as stream:
        monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": stream}))
        said = run("rules", "-", "--target", "y")
    assert said.code == 2
    assert "standard input is empty" in said.err


@pytest.mark.parametrize("place", ["fsync", "write"])
@pytest.mark.parametrize(
    ("words", "file"),
    [
        ([*TRAIN, "--nu", "1", "--out", "r.rules"], "r.rules"),
        ([*TRAIN, "--nu", "1", "--save-model", "m.json"], "m.json"),
        (["export", "advice.rules", "--to", "sql", "--out", "r.sql"], "r.sql"),
        (["export", "advice.rules", "--to", "xlsx", "--out", "r.xlsx"], "r.xlsx"),
        (["predict", "patients.csv", "--rules", "advice.rules", "--out", "p.csv"], "p.csv"),
        (["datasets", "wbc", "--out", "w.csv"], "w.csv"),
    ],
)
def test_a_full_disk_leaves_nothing_behind(run, folder, monkeypatch, place, words, file):
    before = contents(folder)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if place == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        from pathlib import Path

        opened = Path.open

        def open_full(self, mode="r", *rest, **options):
            stream = opened(self, mode, *rest, **options)
            return _Full(stream, full) if "x" in mode else stream

        monkeypatch.setattr(Path, "open", open_full)
    said = run(*words)
    assert said.code == 2
    assert f"{file}: no space left on device" in said.err
    assert contents(folder) == before


class _Full:
    """A stream to which nothing can be written."""

    def __init__(self, stream, full):
        self._stream, self.write = stream, full

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stream.close()

    def __getattr__(self, name):
        return getattr(self._stream, name)


def test_an_interrupt_while_a_file_is_written_leaves_the_old_one(run, folder, monkeypatch):
    (folder / "r.rules").write_text("mine")
    before = contents(folder)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    said = run(*TRAIN, "--nu", "1", "--out", "r.rules", "--force")
    assert said.code == 130
    assert "nothing was left half-written" in said.err
    assert contents(folder) == before


def test_files_are_replaced_when_the_user_says_so(clearmargin, folder):
    (folder / "r.rules").write_text("mine")
    (folder / "m.json").write_text("mine")
    clearmargin(*TRAIN, "--nu", "1", "--out", "r.rules", "--save-model", "m.json", "--force")
    assert "=> ill" in (folder / "r.rules").read_text()
    assert len(load_model("m.json").rules)


def test_a_damaged_model_is_never_run(run, clearmargin, folder):
    clearmargin(*TRAIN, "--nu", "1", "--save-model", "m.json", "--quiet")
    whole = json.loads((folder / "m.json").read_text())
    for change, message in (
        ({"planes": []}, "'planes' must not be empty"),
        ({"planes": [{"weights": [], "intercept": "x"}]}, "'intercept' must be a number"),
        ({"planes": 3}, "'planes' must be a list"),
        ({"code": "import os"}, "unknown key 'code'"),
        ({"fill": {"agee": 3}}, "'fill' names 'agee'"),
        ({"rules": {"format": "x"}}, "'rules' is damaged: these are no clearmargin rules"),
        ({"version": "one"}, '"version" must be a whole number'),
    ):
        (folder / "m.json").write_text(json.dumps({**whole, **change}))
        said = run(*TRAIN, "--model", "m.json")
        assert said.code == 2
        assert message in said.err
