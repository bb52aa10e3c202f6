"""What all commands have in common: help, exit codes, streams, colours, interrupts."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clearmargin as package
from clearmargin.cli import check
from clearmargin.cli.console import Console, table_lines
from clearmargin.cli.main import COMMANDS, main
from clearmargin.cli.outputs import writing
from clearmargin.recipes.phrases import number_of

pytestmark = pytest.mark.usefixtures("no_folds")

PYTHON = (sys.executable, "-m", "clearmargin")
TRAIN = ("patients.csv", "--target", "outcome", "--nu", "1")


def shell(*words: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PYTHON, *words], capture_output=True, text=True, check=False, **options)


def test_the_module_is_the_command_line():
    assert shell("--version").stdout.strip() == f"clearmargin {package.__version__}"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, clearmargin):
    said = clearmargin(command, "--help")
    assert f"example: clearmargin {command}" in said.out
    for option in ("--json", "--quiet", "--debug"):
        assert option in said.out


def seconds(*words: str) -> float:
    """CPU time of a process, which does not depend on what else the machine has to do."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.posix
def test_help_answers_at_once():
    bare = min(seconds("-c", "pass") for _ in range(3))
    helped = min(seconds("-m", "clearmargin", "--help") for _ in range(3))
    assert helped - bare < 0.3


def test_a_mistake_of_ours_is_owned_up_to(run, monkeypatch):
    def break_down(arguments):
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr(check, "run", break_down)
    said = run("check", "x.rules")
    assert said.code == 1
    assert (
        "internal error: this is a bug in clearmargin: ZeroDivisionError: one over nothing"
        in said.err
    )
    assert "Please report it" in said.err
    assert "Traceback" not in said.err
    for words in (["--debug", "check", "x.rules"], ["check", "x.rules", "--debug"]):
        assert "Traceback" in run(*words).err


def test_data_that_do_not_fit_into_memory_are_no_mistake_of_ours(run, monkeypatch):
    def need_too_much(arguments):
        raise MemoryError

    monkeypatch.setattr(check, "run", need_too_much)
    said = run("check", "a.rules")
    assert (said.code, said.err) == (
        2,
        "clearmargin: the data do not fit into memory; try fewer rows\n",
    )


def test_long_folds_are_announced(clearmargin, folder, monkeypatch):
    monkeypatch.setattr("clearmargin.cli.inputs._LONG", 0.0)
    said = clearmargin("rules", "patients.csv", "--target", "outcome", "--nu", "1", "--cv", "2")
    assert "for figures on unseen rows all of it is trained again in folds" in said.err
    assert "--cv none leaves them out" in said.err


def test_an_error_of_the_system_without_a_number_keeps_its_words():
    with pytest.raises(OSError, match=r"^odd$"), writing(Path("a.json")):
        raise OSError("odd")
    with pytest.raises(OSError, match="No space left") as caught, writing(Path("a.json")):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == "a.json"


def test_the_place_of_a_users_mistake_is_shown_on_request(run):
    said = run("check", "missing.rules", "--debug")
    assert said.code == 2
    assert "Traceback" in said.err


@pytest.mark.posix
def test_an_interrupt_ends_quietly_with_130():
    code = (
        "import os, signal, sys, time\n"
        # Whoever started the tests may have told them to ignore interrupts.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from clearmargin.cli import check\n"
        "from clearmargin.cli.main import main\n"
        "def run(arguments):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "check.run = run\n"
        "sys.exit(main(['check', 'x.rules']))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 130
    assert "nothing was left half-written" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.posix
def test_a_reader_that_has_seen_enough_is_no_error():
    words = f"{' '.join(PYTHON)} datasets wbc | head -1; exit ${{PIPESTATUS[0]}}"
    out = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=True)
    assert not out.stderr


def test_output_that_cannot_be_written_is_an_error(monkeypatch, capsys):
    class Full(Terminal):
        def flush(self):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def fileno(self):
            raise ValueError("no real file")

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["check", "--help"]) == 0
    assert main(["datasets"]) == 2
    assert capsys.readouterr().err == "clearmargin: standard output: no space left on device\n"


def test_a_table_comes_through_a_pipe(folder):
    table = (folder / "patients.csv").read_text()
    said = shell("rules", "-", "--target", "outcome", "--nu", "1", "--quiet", input=table)
    assert said.returncode == 0
    assert not said.stderr
    assert package.parse_rules(said.stdout).classes == ("ill", "well")


def test_quiet_leaves_nothing_but_the_result(clearmargin, folder):
    said = clearmargin("rules", *TRAIN, "--quiet", "--out", "r.rules")
    assert (said.out, said.err) == ("", "")
    said = clearmargin("--quiet", "rules", *TRAIN)
    assert said.err == ""
    assert said.out == (folder / "r.rules").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("rules", *TRAIN),
        ("explain", *TRAIN, "--row", "3"),
        ("rank", *TRAIN[:3], "--top", "6", "--bottom", "6", "--max-size", "1"),
        ("advise", *TRAIN[:3], "--advice", "advice.rules"),
        ("check", "advice.rules"),
        ("predict", "patients.csv", "--rules", "advice.rules"),
        ("export", "advice.rules", "--to", "sql"),
        ("train", *TRAIN, "--out", "r.json"),
        ("score", *TRAIN[:3], "--max-cuts", "3"),
        ("tree", *TRAIN[:3]),
        ("recourse", *TRAIN, "--row", "20", "--actionable", "age"),
        ("compare", "advice.rules", "advice.rules"),
        ("completion", "fish"),
        ("report", *TRAIN, "--out", "r.html"),
        ("datasets",),
        ("datasets", "wbc"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_speaks_json(clearmargin, folder, words):
    for place in (["--json", *words], [*words, "--json", "--force"][: len(words) + 1]):
        for name in ("r.html", "r.json"):
            (folder / name).unlink(missing_ok=True)
        data = json.loads(clearmargin(*place).out)
        assert isinstance(data["notes"], list)
        assert len(data) > 1


class Terminal:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


def test_colours_are_for_terminals_whose_users_want_them(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Terminal())
    Console().heading("rules")
    assert sys.stdout.text == "\x1b[1mrules\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Console().paint("rules", "bold") == "rules"


def test_output_to_files_has_no_colours(clearmargin, folder):
    said = clearmargin("rules", *TRAIN)
    assert "\x1b" not in said.out + said.err
    assert "\r" not in said.err


def test_a_warning_of_the_library_is_said_once_in_a_sentence(clearmargin, folder):
    (folder / "w.rules").write_text("age >= 500 => ill\nage < 35 => well\n")
    said = clearmargin("advise", *TRAIN[:3], "--advice", "w.rules")
    assert said.err.count("warning: the advice deserves a look") == 1
    assert ".py" not in said.err
    assert "warning" not in clearmargin("advise", *TRAIN[:3], "--advice", "w.rules", "--quiet").err


def test_numbers_that_are_not_finite_are_null_in_json(capsys):
    Console(as_json=True).result("", {"a": float("inf"), "b": [float("nan"), np.int64(3)]})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 3], "notes": []}


def test_words_are_counted_and_cells_are_set():
    assert number_of(3, "category") == "3 categories"
    assert table_lines([("a", "10"), ("bb", "2")], right=[1]) == ["  a   10", "  bb   2"]


def test_main_returns_what_the_process_exits_with():
    assert main(["--version"]) == 0
    assert main(["rules"]) == 2
