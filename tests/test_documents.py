"""The code blocks of the README and the documentation run, and give what they show."""

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


def written(kind: str) -> list:
    """The pages that have blocks of a kind, by their names."""
    found = [page for page in PAGES if f"```{kind}\n" in page.read_text(encoding="utf-8")]
    assert found
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in found]


@pytest.mark.parametrize("page", written("pycon"))
def test_sessions_show_what_really_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(sessions(page), {}, page.name, str(page), 0)
    report: list[str] = []
    failures, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.append)
    assert not failures, "".join(report)


@pytest.mark.parametrize("page", written("python"))
def test_scripts_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block.group(1) == "python":
            exec(compile(block.group(2), str(page), "exec"), names)
