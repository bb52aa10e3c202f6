"""A folder with small tables, and ways to run commands in it."""

import json
import shlex
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Twenty-four patients: age decides, smoking a little, the last column nothing.
ROWS = [
    (f"P-{k:02d}", 30 + k if k < 12 else 40 + k, kind, round(20 + 0.7 * k, 1))
    for k, kind in enumerate(["no", "yes", "ex"] * 8)
]
PATIENTS = "patient,age,smoker,bmi,outcome\n" + "".join(
    f"{name},{age},{kind},{bmi},{'well' if age < 45 else 'ill'}\n" for name, age, kind, bmi in ROWS
)
ADVICE = "old: age >= 55 => ill\nyoung: age < 35 => well\n"


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with a good table, good advice, and nothing else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "advice.rules").write_text(ADVICE)
    return tmp_path


@pytest.fixture
def run(capsys) -> Callable[..., Said]:
    """Run the console script in this process, with words or with a line of them, and give what it said."""
    (script,) = entry_points(group="console_scripts", name="clearmargin")
    main = script.load()

    def run_words(*words: str) -> Said:
        words = tuple(shlex.split(words[0])) if len(words) == 1 else words
        code = main(list(words))
        said = capsys.readouterr()
        assert "Traceback" not in said.err or "--debug" in words
        assert "internal error" not in said.err
        return Said(code, said.out, said.err)

    return run_words


@pytest.fixture
def ask(run) -> Callable[..., dict[str, Any]]:
    """Run a command that must succeed, and give its JSON."""

    def run_well(*words: str) -> dict[str, Any]:
        said = run(*([f"{words[0]} --json"] if len(words) == 1 else [*words, "--json"]))
        assert said.code == 0, said.err
        return json.loads(said.out, parse_constant=pytest.fail)

    return run_well
