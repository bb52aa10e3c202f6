"""The code blocks of the README and the documentation run, and give what they show."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts and "generated" not in page.parts]
FENCE = re.compile(r"^```(pycon|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def sessions(page: Path) -> str:
    """All interactive sessions of a page, one after the other, at the lines where they stand."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in FENCE.finditer(text):
        if block.group(1) == "pycon":
            first = text.count("\n", 0, block.start(2))
            body = block.group(2).splitlines()
            lines[first : first + len(body)] = body
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_sessions_show_what_really_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(sessions(page), {}, page.name, str(page), 0)
    report: list[str] = []
    failures, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not failures, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_scripts_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block.group(1) == "python":
            exec(compile(block.group(2), str(page), "exec"), names)


def test_the_readme_has_something_to_run():
    assert sessions(ROOT / "README.md").strip()


def test_the_table_of_methods_names_what_exists():
    import importlib

    from clearmargin.cli.main import COMMANDS

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = readme.split("## Which method for what")[1].split("## ")[0].splitlines()
    rows = [line.split("|")[2:4] for line in lines if line.startswith("| ")][1:]
    assert len(rows) > 10
    for names, command in rows:
        for name in re.findall(r"`([^`]+)`", names):
            room, _, last = name.rpartition(".")
            assert hasattr(importlib.import_module(f"clearmargin.{room}".rstrip(".")), last), name
        for word in re.findall(r"`clearmargin ([^`]+)`", command):
            assert word in COMMANDS
    told = {word for _, command in rows for word in re.findall(r"`clearmargin ([^`]+)`", command)}
    assert set(COMMANDS) - told == {"demo", "predict", "datasets", "completion"}
