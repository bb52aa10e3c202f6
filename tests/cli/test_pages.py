"""The sessions at the command line in the documentation show what really happens."""

from __future__ import annotations

import doctest
import html
import re
import shlex
from pathlib import Path

import pytest

from clearmargin.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def steps(page: Path) -> list[tuple[str, str]]:
    """All commands of a page with what is shown below them."""
    found = []
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


@pytest.mark.parametrize("name", ["how-to/command-line.md", "reference/cli.md"])
def test_sessions_show_what_really_happens(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = steps(DOCS / name)
    assert session
    for command, shown in session:
        words = shlex.split(command)
        if words[0] == "cat":  # the page shows a file, which is there from then on
            Path(words[1]).write_text(shown)
            continue
        assert words[0] == "clearmargin"
        code = main(words[1:])
        said = capsys.readouterr()
        assert doctest.OutputChecker().check_output(shown, said.err + said.out, FLAGS), (
            f"{command}\nshown:\n{shown}\nsaid ({code}):\n{said.err}{said.out}"
        )


def test_the_command_in_a_report_makes_it_again(folder, clearmargin):
    words = [
        "report",
        "patients.csv",
        "--target",
        "outcome",
        "--drop",
        "patient",
        "--nu",
        "1",
        "--cv",
        "2",
    ]
    clearmargin(*words, "--out", "my page.html")
    page = (folder / "my page.html").read_text(encoding="utf-8")
    command = re.search(r"clearmargin report [^<]*", page)[0]
    assert html.unescape(command) == "clearmargin " + shlex.join([*words, "--out", "my page.html"])
    (folder / "my page.html").unlink()
    clearmargin(*shlex.split(html.unescape(command))[1:])
    assert (folder / "my page.html").read_text(encoding="utf-8") == page
