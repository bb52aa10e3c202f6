"""What commands refuse: exit code 2, the name of what is wrong, all files as they were."""

import bz2
import errno
import gzip
import os
import pickle
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from clearmargin import parse_rules

TABLE = ("patients.csv", "--target", "outcome")
TRAIN = ("rules", *TABLE)
HEAD = "age,bmi,outcome\n"
GOOD = "30,20.5,well\n31,21.5,well\n60,30.5,ill\n61,31.5,ill\n"

FILES: dict[str, str | bytes] = {
    "empty.csv": "", "blank.csv": "\n \n", "header.csv": HEAD, "binary.csv": bytes(range(256)),
    "sheet.csv": b"PK\x03\x04rest of a spreadsheet", "latin.csv": "größe,outcome\n1,a\n2,b\n".encode("latin-1"),
    "broken.csv.gz": gzip.compress(b"a,b\n1,2\n" * 100)[:25], "ragged.csv": HEAD + GOOD + "62,32.5\n",
    "twice.csv": "age,age,outcome\n1,2,a\n3,4,b\n", "numbers.csv": "1,2,3\n4,5,6\n",
    "quotes.csv": 'age,outcome\n"30,well\n31,ill\n', "single.csv": "age,outcome\n30,well\n31,well\n",
    "stray.csv": HEAD + GOOD + "abc,32.5,ill\n", "huge.csv": HEAD + GOOD + "1e999,32.5,ill\n",
    "gaps.csv": HEAD + GOOD + ",32.5,ill\n63,?,ill\n", "notarget.csv": HEAD + GOOD + "62,32.5,\n",
    "allgaps.csv": HEAD + ",20.5,well\n,21.5,ill\n30,,ill\n",
    "manyclasses.csv": "age,outcome\n" + "".join(f"{k},{k + 0.5}\n" for k in range(30)),
    "names.csv": "name,outcome\n" + "".join(f"n{k},{'ab'[k % 2]}\n" for k in range(30)),
    "onecolumn.csv": "outcome\na\nb\n", "mixed.csv": "age;bmi;outcome\n30,5;20.5;well\n31,5;21.5;ill\n",
    "thousands.csv": "age;outcome\n1,234;well\n5,678;ill\n",
    "noise.csv": "age,outcome\n" + "".join(f"5,{'ab'[k % 2]}\n" for k in range(10)),
    "three.csv": HEAD + GOOD + "90,40.5,dead\n91,41.5,dead\n", "large.csv": HEAD + GOOD.replace("20.5", "1e300"),
    "holes.csv": "age,day,clinic,outcome\n30,,a,well\n31,2,,well\n60,3,a,ill\n61,4,b,ill\n",
    "half.csv": b"a,y\n1,u\n2,\\ud800\n", "malformed.rules": "age >> 3 => ill\n",
    "or.rules": "age >= 30 or bmi >= 30 => ill\n", "unknown.rules": "agee >= 30 => ill\n",
    "otherclass.rules": "age >= 30 => sick\n", "text.rules": "smoker >= 3 => ill\n",
    "touching.rules": "age <= 40 => ill\nage >= 40 => well\n",
    "half.rules": "feature `\\ud800`\n`\\ud800` > 3 => a\n", "rules.txt": "age >= 30 => ill\n",
    "packed.rules": gzip.compress(b"age >= 30 => ill\n"),
    "damaged.json": '{"format": "clearmargin-model", "version": 1, "rules": {}}',
    "cut.json": '{"format": "clearmargin-mod', "rules.json": '{"format": "clearmargin-rules", "version": 1}',
    "new.json": '{"format": "clearmargin-model", "version": 99}', "none.rules": "# to be written\n",
    "taken.rules": "age >= 99 => ill\n", "taken.json": "{}", "taken.html": "mine", "taken.csv": "mine",
}  # fmt: skip


ROW = ("explain", *TABLE, "--row", "1")
CHANGE = ("recourse", *TABLE, "--row", "20")
AGE = (*CHANGE, "--actionable", "age")
ADVISE = ("train", *TABLE, "--out", "n.json", "--advice")
# What is refused, as `words -> what the message names`, by the words before them.
# fmt: off
REFUSED = {
    "rules": """
        missing.csv --target y -> missing.csv; folder --target y -> folder; empty.csv --target y -> empty.csv;
        blank.csv --target y -> blank.csv; header.csv --target y -> header.csv; binary.csv --target y -> binary.csv;
        sheet.csv --target y -> sheet.csv; latin.csv --target y -> latin.csv;
        broken.csv.gz --target y -> broken.csv.gz; latin.csv --target y --encoding klingon -> klingon;
        half.csv --target y --encoding raw_unicode_escape -> line 3; ragged.csv --target outcome -> line 6;
        twice.csv --target outcome -> 'age'; numbers.csv --target outcome -> numbers.csv;
        quotes.csv --target outcome -> quotes.csv; stray.csv --target outcome -> 'abc';
        huge.csv --target outcome -> '1e999'; mixed.csv --target outcome -> 30,5;
        thousands.csv --target outcome -> 1,234; single.csv --target outcome -> 'well';
        manyclasses.csv --target outcome -> 30; names.csv --target outcome -> 'name';
        onecolumn.csv --target outcome -> 'outcome'; patients.csv --target outcom -> 'outcome';
        -> DATA; patients.csv -> --target;
        holes.csv --target outcome --groups clinic -> clinic; holes.csv --target outcome --time day -> day
    """,
    "rules patients.csv --target outcome": """
        --separator xy -> --separator; --drop agee -> 'age'; --categories agee -> --categories;
        --positive il -> 'ill'; --max-rules many -> --max-rules; --max-rules 0 -> 0; --as beauty -> beauty;
        --as points --max-rules all -> --max-rules; --trust -> --trust; --distil 2 -> --distil;
        --frob -> --frob; --cv 1 -> --cv; --cv few -> few; --cv none --groups patient -> --groups;
        --groups patients -> 'patient'; --groups outcome -> --groups; --time patient -> --time;
        --model missing.json -> missing.json; --model damaged.json -> 'planes'; --model cut.json -> cut.json;
        --model rules.json -> rules.json; --model new.json -> 99; --model m.pkl -> --trust;
        --model m.pkl --trust -> m.pkl; --model binary.csv --trust -> binary.csv;
        --model new.json --as tree -> --as; --model new.json --cv 3 -> --cv;
        --model new.json --groups patient -> --groups; --out taken.rules -> --force;
        --save-model taken.json -> taken.json; --report r.pdf -> .html; --out r.txt -> .rules;
        --out nowhere/r.rules -> nowhere
    """,
    "": """
        explain gaps.csv --target outcome --missing drop --row 5 -> row 5; frobnicate -> frobnicate; -> command;
        explain patients.csv --row 1 -> --target; rank three.csv --target outcome -> --positive;
        rank large.csv --target outcome --top 2 -> 'bmi';
        recourse patients.csv --target outcome --row 99 --actionable age -> --row 99;
        train three.csv --target outcome --advice advice.rules --out m.json -> --positive;
        train patients.csv --target outcome --lam 2 --out m.json -> --lam;
        train patients.csv --target outcome --refined r.rules --out m.json -> --refined;
        rules patients.csv --target outcome --report taken.html -> taken.html;
        workbench --verify missing.cm -> missing.cm
    """,
    "train --out m.json --target outcome": """
        noise.csv -> 'outcome'; gaps.csv -> 'bmi'; notarget.csv -> row 5; allgaps.csv --missing drop -> every row;
        patients.csv --nu -1 -> -1; patients.csv --nu 1 --max-features 2 -> --nu
    """,
    "explain patients.csv --target outcome": """
        -> --where; --row 25 -> --row 25; --where 'agee > 3' -> 'age'; --where 'age >> 3' -> --where;
        --where 'age >= 99' -> --where; --where 'smoker >= 3' -> smoker
    """,
    "explain patients.csv --target outcome --row 1": """
        --where 'age > 3' -> --row; --precision 0.2 -> --precision
    """,
    "rank patients.csv --target outcome": """
        --top 30 -> 30; --top best -> --top; --top cv --bottom auto -> cv; --min-leverage 3 -> --min-leverage
    """,
    "recourse patients.csv --target outcome --row 20": """
        -> --actionable; --actionable agee -> 'age'; --actionable age=up..down -> 'up'
    """,
    "recourse patients.csv --target outcome --row 20 --actionable age": """
        --alternatives -1 -> --alternatives; --cost age -> age=2.5; --cost age=much -> 'much'; --goal wel -> 'well';
        --goal rank:x -> rank:10
    """,
    "check": """
        missing.rules -> missing.rules; none.rules -> none.rules; packed.rules -> packed.rules; rules.txt -> .rules;
        malformed.rules -> malformed.rules; touching.rules --data patients.csv --target outcome -> touching;
        advice.rules --target outcome -> --data; unknown.rules --data patients.csv -> unknown.rules;
        otherclass.rules --data patients.csv --target outcome -> otherclass;
        text.rules --data patients.csv -> text.rules
    """,
    "export": """
        none.rules --to sql -> none.rules; packed.rules --to sql -> packed.rules; half.rules --to json -> ud800;
        half.rules --to sql -> ud800
    """,
    "predict patients.csv": """
        --rules none.rules -> none.rules; --rules text.rules -> 'smoker'; --model m.json --default ill -> --default;
        -> --rules; --rules advice.rules --default dead -> dead
    """,
    "train patients.csv --target outcome --out m.json --advice": """
        none.rules -> none.rules; packed.rules -> packed.rules; missing.rules -> missing.rules; or.rules -> 'or';
        unknown.rules -> 'agee'; otherclass.rules -> 'sick'; text.rules -> smoker; advice.rules --refine x -> 'x';
        advice.rules --refine slp --change-cost dear -> 'dear'; advice.rules --mu inf -> --everywhere
    """,
    "predict three.csv": """
        --rules unknown.rules -> 'age'; --rules taken.rules --out taken.csv -> taken.csv
    """,
    "export advice.rules --to": """
        cobol -> 'cobol'; json --dialect ansi -> --dialect; json --table t -> --table;
        rules --dialect ansi -> --dialect; rules --table t -> --table; text --dialect ansi -> --dialect;
        text --table t -> --table; markdown --dialect ansi -> --dialect; markdown --table t -> --table;
        python --dialect ansi -> --dialect; python --table t -> --table
    """,
    "export advice.rules --to sql": """
        --dialect sqlit -> 'sqlite'; --form view -> --table; --view v -> --form; --out taken.csv -> taken.csv;
        --out folder -> folder
    """,
    "compare advice.rules": """
        -> --data; missing.rules -> missing.rules; advice.rules --target y -> --data;
        --data patients.csv --target y -> 'y'; --data three.csv --confidence 1 -> --confidence
    """,
    "datasets": """
        wbc --out taken.csv -> taken.csv; --out all.csv -> --out; wbcc -> 'wbc'
    """,
    "demo": """
        --out taken.html -> taken.html
    """,
}
# fmt: on
CASES = [
    (shlex.split(f"{before} {words}"), named.strip())
    for before, cells in REFUSED.items()
    for words, _, named in (cell.rpartition("->") for cell in cells.replace("\n", " ").split("; "))
]


@pytest.fixture
def littered(folder):
    """The working folder with all files that are wrong."""
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_mistake_ends_with_its_name_and_leaves_all_files_alone(run, littered):
    before = contents(littered)
    for words, named in CASES:
        said = run(*words)
        assert said.code == 2, words
        assert named in said.err, (words, said.err)
        assert contents(littered) == before, words


def test_a_table_that_does_not_fit_the_model_is_refused(run, ask, folder):
    ask("train", *TABLE, "--nu", "1", "--cv", "none", "--out", "m.json")
    text = (folder / "patients.csv").read_text()
    Path("a.csv").write_text(text.replace("age", "ages", 1))
    Path("b.csv").write_text(text.replace("ill", "dead"))
    for name, named in (("a.csv", "'ages'"), ("b.csv", "'dead'")):
        said = run(f"rules {name} --target outcome --model m.json")
        assert (said.code, named in said.err) == (2, True)
    said = run("export m.json --to sql")
    assert (said.code, "m.json" in said.err) == (2, True)


def with_version(text):
    return lambda good: good.replace(b'"version": 1', b'"version": ' + text, 1)


DAMAGES = [
    *(lambda good: good[: len(good) // 2], lambda good: b"", lambda good: b"age >= 30 => ill\n"),
    *(gzip.compress, bz2.compress, pickle.dumps, with_version(b"7"), with_version(b'1, "version": 1')),
    *(lambda good: bytes(range(256)), lambda good: b"PK\x03\x04" + good, lambda good: b"[1, 2]"),
    lambda good: good.replace(b'"weight": ', b'"weight": NaN, "w": ', 1).replace(b'"at_least": ',
        b'"at_least": NaN, "w": ', 1 ),
]  # fmt: skip


@pytest.fixture
def files(ask, folder):
    ask("train", *TABLE, "--nu", "1", "--cv", "none", "--out", "m.json")
    rules = parse_rules("age >= 35 and bmi >= 30 => ill\nage < 35 => well\n")
    return (folder / "m.json").read_bytes(), rules.save(folder / "r.json").read_bytes()


READERS = {
    "m.json": ([*TRAIN, "--model"], ["predict", "patients.csv", "--model"], [*ROW, "--model"]),
    "r.json": ([*ADVISE], ["predict", "patients.csv", "--rules"], ["check"]),
}


def test_damaged_files_of_models_and_rules_are_refused_by_name(run, files):
    for good, (name, readers) in zip(files, READERS.items(), strict=True):
        for damage in DAMAGES:
            Path(name).write_bytes(damage(good))
            for words in readers:
                said = run(*words, name)
                assert said.code == 2, (damage, words)
                assert name in said.err, said.err
                assert not said.out


def test_a_full_disk_leaves_nothing_behind(run, folder, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    before = contents(folder)
    for words, name in (
        ([*TRAIN, "--cv", "none", "--out", "r.rules"], "r.rules"),
        ([*TRAIN, "--cv", "none", "--save-model", "m.json"], "m.json"),
        ([*TRAIN, "--cv", "none", "--report", "r.html"], "r.html"),
        (["export", "advice.rules", "--to", "sql", "--out", "r.sql"], "r.sql"),
        (["predict", "patients.csv", "--rules", "advice.rules", "--out", "p.csv"], "p.csv"),
        (["datasets", "wbc", "--out", "w.csv"], "w.csv"),
    ):
        said = run(*words)
        assert (said.code, name in said.err) == (2, True), said.err
        assert contents(folder) == before


@pytest.mark.posix
def test_file_names_that_are_no_text_are_printed_as_their_bytes(folder):
    name = os.fsdecode(b"caf\xe9.rules")
    Path(name).write_text("x > 3 => a\n")
    words = ["-m", "clearmargin", "export", name, "--to", "json", "--out", f"{name}.json"]
    around = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, *words], capture_output=True, check=True, env=around)
    assert b"caf\xe9.rules.json" in done.stdout
    # A reader that has seen enough is no error.
    pipe = f"{sys.executable} -m clearmargin datasets wbc | head -1; exit ${{PIPESTATUS[0]}}"
    assert not subprocess.run(["bash", "-c", pipe], capture_output=True, check=True).stderr


def test_output_that_cannot_be_written_is_an_error(run, folder, monkeypatch, capsys):
    class Full:
        encoding = "utf-8"

        def write(self, text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        flush = write

        def fileno(self):
            raise ValueError

        def isatty(self):
            return False

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Full())
        (script,) = entry_points(group="console_scripts", name="clearmargin")
        assert script.load()(["datasets"]) == 2
    assert capsys.readouterr().err.startswith("clearmargin: ")
    said = run("check missing.rules --debug")
    assert "Traceback" in said.err


@pytest.mark.posix
def test_an_interrupt_ends_with_130_and_no_traceback(folder):
    # Whoever started the tests may have told them to ignore interrupts.
    code = (
        "import signal, sys, threading, os\n"
        "from importlib.metadata import entry_points\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "(script,) = entry_points(group='console_scripts', name='clearmargin')\n"
        "main = script.load()\n"
        "os.mkfifo('slow.csv')\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "sys.exit(main(['rules', 'slow.csv', '--target', 'y', '--out', 'r.rules']))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 130
    assert "Traceback" not in said.stderr
    assert not (folder / "r.rules").exists()
