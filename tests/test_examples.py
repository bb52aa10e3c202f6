"""The examples of the gallery run, draw what they show, and leave nothing behind."""

import re
import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.py"))
assert len(EXAMPLES) >= 20
DRAWS = re.compile(r"\bplot_\w+\(|plt\.subplots")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_leaves_nothing_behind(path, tmp_path, monkeypatch, capsys, no_screen):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    said = capsys.readouterr()
    assert not said.err
    draws = bool(DRAWS.search(path.read_text(encoding="utf-8")))
    assert bool(plt.get_fignums()) == draws
    assert said.out or draws
    assert not list(tmp_path.iterdir())
