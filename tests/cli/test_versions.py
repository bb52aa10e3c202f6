"""What `clearmargin --debug` says for a report of a bug."""

from __future__ import annotations

import json
import platform
import sys

import numpy as np

from clearmargin import __version__
from clearmargin.cli import check
from clearmargin.cli.versions import read_versions


def test_debug_alone_prints_the_versions_that_results_depend_on(clearmargin):
    lines = clearmargin("--debug").out.splitlines()
    read = dict(line.split(": ", 1) for line in lines)
    assert read["clearmargin"].strip() == __version__
    assert read["numpy"].strip() == np.__version__
    assert read["python"].strip().startswith(platform.python_version())
    assert {"platform", "scipy", "scikit-learn", "highspy", "clarabel", "BLAS 1"} <= set(read)
    assert json.loads(clearmargin("--debug", "--json").out).items() >= read_versions().items()


def test_a_package_that_is_not_there_is_said_to_be_missing(monkeypatch):
    monkeypatch.setattr("clearmargin.cli.versions._PACKAGES", ("clearmargin", "no-such-package"))
    assert read_versions()["no-such-package"] == "not installed"


def test_an_installation_without_blas_can_still_be_described(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert read_versions()["BLAS 1"].startswith("not read: ")


def test_an_error_with_debug_shows_the_versions_below_the_place(run, monkeypatch):
    def break_down(arguments):
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr(check, "run", break_down)
    said = run("check", "x.rules", "--debug").err
    assert said.index("Traceback") < said.index("highspy: ")
    assert "highspy: " not in run("check", "x.rules").err


def test_no_command_and_no_debug_is_still_an_error(run):
    said = run("--quiet")
    assert said.code == 2
    assert "the following arguments are required: command" in said.err
