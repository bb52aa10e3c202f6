from __future__ import annotations

import subprocess
import sys

import pytest

import clearmargin
from clearmargin.cli import check, datasets
from clearmargin.cli.main import main


def test_the_demo_prints_a_sparse_plane_and_its_rules(capsys):
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert "683 cases, 9 features, 444 benign and 239 malignant" in shown
    assert "The plane needs 5 of 9 features" in shown
    assert "=> malignant" in shown
    assert "rules for benign, covering 9" in shown
    assert "read back, they are the same rules" in shown
    assert "The case is benign" in shown


@pytest.mark.parametrize("name", ["ionosphere", "cleveland", "pima"])
def test_the_demo_runs_on_every_data_set(capsys, name):
    assert main(["demo", name]) == 0
    assert "The plane needs" in capsys.readouterr().out


def test_the_module_is_the_command_line():
    words = [sys.executable, "-m", "clearmargin", "--version"]
    out = subprocess.run(words, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == f"clearmargin {clearmargin.__version__}"


def test_every_command_has_help_with_an_example(capsys):
    for command in ("demo", "check", "datasets"):
        assert main([command, "--help"]) == 0
        assert f"example: clearmargin {command}" in capsys.readouterr().out


def test_rules_are_read_and_said_back(capsys, tmp_path):
    path = tmp_path / "advice.rules"
    path.write_text("bmi >= 30 and glucose >= 126 => ill\nbmi < 25 => well\n")
    assert main(["check", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "2 rules over 2 features for the classes ill, well" in shown
    assert "bmi is at least 30" in shown


def test_data_sets_are_listed_and_described(capsys):
    assert main(["datasets"]) == 0
    assert capsys.readouterr().out.count("\n") == len(datasets.LOADERS)
    assert main(["datasets", "pima"]) == 0
    assert "zero" in capsys.readouterr().out.lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["demo", "wbcc"], "unknown data set 'wbcc'; did you mean 'wbc'?"),
        (["check", "missing.rules"], "missing.rules: no such file or directory"),
        (["check", "advice.txt"], "the name of a rule file ends in .json or .rules"),
        (["check", "folder.rules"], "folder.rules: is a directory"),
        (["check", "broken.rules"], "broken.rules, line 1, column"),
        (["check", "broken.json"], "broken.json is not valid JSON"),
        (["check", "binary.rules"], "binary.rules is not UTF-8 text"),
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        ([], "the following arguments are required: command"),
        (["check"], "the following arguments are required: file"),
    ],
)
def test_bad_input_ends_with_a_message_and_exit_code_2(
    words, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.rules").mkdir()
    (tmp_path / "broken.rules").write_text("bmi >> 3 => ill\n")
    (tmp_path / "broken.json").write_text('{"format": ')
    (tmp_path / "binary.rules").write_bytes(b"\xff\xfe\x00")
    assert main(words) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert "Traceback" not in said.err
    assert not said.out


def test_a_mistake_of_ours_is_owned_up_to(capsys, monkeypatch):
    def break_down(arguments):
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr(check, "run", break_down)
    assert main(["check", "x.rules"]) == 1
    said = capsys.readouterr().err
    assert "a mistake of ours, not yours: ZeroDivisionError: one over nothing" in said
    assert "Traceback" not in said
    for words in (["--debug", "check", "x.rules"], ["check", "x.rules", "--debug"]):
        assert main(words) == 1
        assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_ends_quietly(capsys, monkeypatch):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", interrupt)
    assert main(["check", "x.rules"]) == 130
    assert "nothing was left half-written" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error():
    words = f"{sys.executable} -m clearmargin datasets wbc | head -1"
    out = subprocess.run(words, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in out.stderr
