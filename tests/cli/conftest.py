"""A folder with small tables, and a way to run commands in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from clearmargin.cli.main import main

# Twenty-four patients: age decides, smoking a little, the last column nothing.
ROWS = [
    (f"P-{k:02d}", 30 + k if k < 12 else 40 + k, kind, round(20 + 0.7 * k, 1))
    for k, kind in enumerate(["no", "yes", "ex"] * 8)
]
PATIENTS = "".join(
    f"{name},{age},{kind},{bmi},{'well' if age < 45 else 'ill'}\n" for name, age, kind, bmi in ROWS
)
HEAD = "patient,age,smoker,bmi,outcome\n"
ADVICE = "old: age >= 55 => ill\nyoung: age < 35 => well\n"


@pytest.fixture
def no_folds(monkeypatch) -> None:
    """No figure on rows not seen by default, where a test is about something else: each fold trains all anew."""
    monkeypatch.setattr("clearmargin.recipes.unseen.FOLDS", 0)


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A working folder with a good table, good advice, and nothing else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients.csv").write_text(HEAD + PATIENTS)
    (tmp_path / "advice.rules").write_text(ADVICE)
    return tmp_path


@pytest.fixture
def run(capsys) -> Callable[..., Said]:
    """Run a command and give what it said."""

    def run_words(*words: str) -> Said:
        code = main(list(words))
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run_words


@pytest.fixture
def clearmargin(run) -> Callable[..., Said]:
    """Run a command that must succeed."""

    def run_well(*words: str) -> Said:
        said = run(*words)
        assert said.code == 0, said.err
        return said

    return run_well


@pytest.fixture
def refused(run, folder) -> Callable[[list[str], str], None]:
    """Run a command that must refuse, in words, and write nothing."""
    three = "".join(f"{k},{'abc'[k % 3]}\n" for k in range(12))
    (folder / "three.csv").write_text("age,outcome\n" + three)

    def run_badly(words: list[str], message: str) -> None:
        said = run(*words)
        assert said.code == 2
        assert message in said.err
        assert "Traceback" not in said.err
        assert not (folder / "m.json").exists()

    return run_badly
