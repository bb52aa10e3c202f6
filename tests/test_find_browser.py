"""The tool that finds a browser looks in the right order, installs one only as root on Debian, and says what to do."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.posix
ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tools" / "find_browser.py"


@pytest.fixture
def tool(monkeypatch):
    spec = importlib.util.spec_from_file_location("find_browser", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("CLEARMARGIN_BROWSER", raising=False)
    # A machine without a browser, whatever this one has.
    monkeypatch.setattr(module, "PLACES", {})
    monkeypatch.setattr(module, "_of_playwright", lambda: "")
    return module


def program(folder: Path, name: str, script: str = "echo Chromium 131") -> str:
    """A program that does next to nothing."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """An empty folder that is the whole path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_browser_on_the_path_is_found_chromium_first(tool, path):
    edge = program(path, "msedge")
    assert tool.find_browser() == edge
    chromium = program(path, "chromium")
    assert tool.find_browser() == chromium


def test_a_script_that_only_says_what_to_install_is_passed_over(tool, path):
    program(path, "chromium-browser", "echo install the snap; exit 1")
    chrome = program(path, "google-chrome")
    assert tool.find_browser() == chrome


def test_what_the_user_names_is_taken_or_refused(tool, path, tmp_path, monkeypatch):
    program(path, "chromium")
    own = program(tmp_path, "my-browser")
    monkeypatch.setenv("CLEARMARGIN_BROWSER", own)
    assert tool.find_browser() == own
    monkeypatch.setenv("CLEARMARGIN_BROWSER", str(tmp_path / "nothing"))
    with pytest.raises(tool.NoBrowserError, match="nothing is no program that can be run"):
        tool.find_browser(install=True)


def test_the_browser_of_playwright_is_the_last_one(tool, path, tmp_path, monkeypatch):
    own = program(tmp_path, "chrome")
    monkeypatch.setattr(tool, "_of_playwright", lambda: own)
    assert tool.find_browser() == own
    Path(own).unlink()
    with pytest.raises(tool.NoBrowserError, match="was found"):
        tool.find_browser()


def test_programs_of_the_system_are_looked_for_where_they_are(tool, path, tmp_path, monkeypatch):
    own = program(tmp_path, "Chromium")
    monkeypatch.setattr(tool, "PLACES", {sys.platform: (str(tmp_path / "nothing"), own)})
    assert tool.find_browser() == own


def test_without_a_browser_the_line_that_installs_one_is_said(tool, path, capsys):
    assert tool.main([]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "apt-get install chromium" in said.err
    assert f"{sys.executable} -m playwright install --with-deps chromium" in said.err


def test_root_on_debian_gets_one_installed(tool, path, monkeypatch, capsys):
    ordered = []

    def run(words, **_):
        ordered.append(words[1:])
        if words[1] == "install":
            program(path, "chromium")
        return subprocess.CompletedProcess(words, 0)

    program(path, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    real = tool._install_by_apt
    monkeypatch.setattr(tool, "_install_by_apt", lambda _: real(run))
    assert tool.main(["--install"]) == 0
    assert ordered == [["update"], ["install", "-y", "--no-install-recommends", "chromium"]]
    said = capsys.readouterr()
    assert said.out == f"{path / 'chromium'}\n"
    assert "Installing chromium by apt-get" in said.err


@pytest.mark.parametrize(
    ("user", "has_apt", "code"), [(1000, True, 0), (0, False, 0), (0, True, 100)]
)
def test_nothing_is_installed_without_the_right_or_the_means(
    tool, path, user, has_apt, code, monkeypatch
):
    ordered = []

    def run(words, **_):
        ordered.append(words)
        return subprocess.CompletedProcess(words, code)

    if has_apt:
        program(path, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert not tool._install_by_apt(run)
    assert len(ordered) == (1 if code else 0)


def test_the_tests_find_it_first():
    for order in ("test", "test-full", "test-kernels", "test-lowest"):
        words = ["make", "--dry-run", order, "VENV=no-such-folder"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        said = done.stdout
        assert 0 < said.index("tools/find_browser.py --install") < said.index("-m pytest"), order
