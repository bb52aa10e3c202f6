"""Bars while rules are extracted: on a terminal alone, on stderr alone, and out of the way of Ctrl-C."""

from __future__ import annotations

import json

import pytest

from clearmargin import progress
from clearmargin.recipes import large_tables

pytestmark = pytest.mark.usefixtures("no_folds")

TRAIN = ["rules", "patients.csv", "--target", "outcome", "--nu", "1"]
FROM_MODEL = ["rules", "numbers.csv", "--target", "outcome", "--model", "m.json"]


def sit_at_a_terminal(monkeypatch):
    """Take stderr, as it is in the test itself, for a terminal, and every work for a slow one."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(progress, "_SHARE_PATIENCE", 0.0)


@pytest.fixture
def large(clearmargin, folder, monkeypatch):
    """A model, and a table that is taken for a large one."""
    lines = (folder / "patients.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    table = "\n".join(",".join([row[1], row[3], row[4]]) for row in cells)
    (folder / "numbers.csv").write_text(f"{table}\n")
    words = ["rules", "numbers.csv", "--target", "outcome", "--nu", "1", "--save-model", "m.json"]
    clearmargin(*words, "--quiet")
    monkeypatch.setattr(large_tables, "SMALL_ROWS", 0)


def test_slow_work_shows_a_bar_on_stderr(clearmargin, folder, monkeypatch):
    sit_at_a_terminal(monkeypatch)
    said = clearmargin(*TRAIN)
    assert "\rextraction [" in said.err
    assert "100 %" in said.err
    assert "extraction [" not in said.out


@pytest.mark.usefixtures("large")
def test_so_does_a_large_table(clearmargin, monkeypatch):
    sit_at_a_terminal(monkeypatch)
    counted = []
    extract = large_tables.extract_from_parts
    monkeypatch.setattr(
        large_tables,
        "extract_from_parts",
        lambda *words, **more: (counted.append(1), extract(*words, **more))[1],
    )
    said = clearmargin(*FROM_MODEL)
    assert counted == [1]
    assert "\rextraction [" in said.err
    assert "extraction [" not in clearmargin(*FROM_MODEL, "--quiet").err


def test_quiet_is_quiet_and_json_stays_json(clearmargin, folder, monkeypatch):
    sit_at_a_terminal(monkeypatch)
    assert "extraction" not in clearmargin(*TRAIN, "--quiet").err
    assert json.loads(clearmargin(*TRAIN, "--json").out)


def test_no_terminal_no_bar(clearmargin, folder, monkeypatch):
    monkeypatch.setattr(progress, "_SHARE_PATIENCE", 0.0)
    assert "extraction [" not in clearmargin(*TRAIN).err


def test_an_interruption_closes_the_line_and_ends_with_130(run, folder, monkeypatch):
    sit_at_a_terminal(monkeypatch)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("clearmargin.plane_rules.extraction.prove", stop)
    said = run(*TRAIN, "--out", "r.rules", "--save-model", "m.json")
    assert said.code == 130
    assert "so far \n" in said.err
    assert "Traceback" not in said.err
    assert not (folder / "r.rules").exists()
    assert not (folder / "m.json").exists()
