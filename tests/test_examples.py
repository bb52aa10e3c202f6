"""The examples run, and the gallery shows their pictures and what they print."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
PNG = b"\x89PNG\r\n\x1a\n"


def load(path: Path) -> ModuleType:
    """A script as a module, without running it."""
    spec = spec_from_file_location(f"script_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GALLERY = load(ROOT / "tools" / "draw_gallery.py")


@pytest.fixture(autouse=True)
def _no_windows():
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    plt.close("all")
    mpl.use(before)


def printed_on_the_page(name: str) -> list[str]:
    """The lines that the gallery says an example prints."""
    section = PAGE.partition(f"../examples/{name}.py")[2].partition("\n## ")[0]
    block = re.search(r"^```text\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    return block.group(1).splitlines() if block else []


@pytest.mark.parametrize("name", GALLERY.SHOWN)
def test_an_example_draws_and_prints_what_the_gallery_shows(name, tmp_path, capsys):
    picture = tmp_path / "picture.png"
    load(ROOT / "examples" / f"{name}.py").main(str(picture))
    assert picture.read_bytes().startswith(PNG)
    assert picture.stat().st_size <= GALLERY.LARGEST
    said = capsys.readouterr().out.splitlines()
    assert len(said) > 1
    expected = printed_on_the_page(name)
    assert said[: len(expected)] == expected


def test_an_example_without_a_path_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    load(ROOT / "examples" / "advice_before_and_after.py").main()
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert not plt.get_fignums()


def test_two_sites_compares_all_models(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["two_sites.py", "--splits", "2"])
    load(ROOT / "examples" / "two_sites.py").main()
    said = capsys.readouterr().out
    assert said.startswith("mean of 2 splits: ")
    for model in ("rules alone", "own patients alone", "both", "site A's model"):
        (row,) = [line for line in said.splitlines() if line.startswith(f"{model}  ")]
        shares = [float(share) for share in re.findall(r"(0\.\d{3}) \+-", row)]
        # Half of the patients are ill, so that a coin would be right in half of the cases.
        assert len(shares) == 3
        assert min(shares) > 0.5


def test_the_gallery_has_every_picture_once_and_no_other():
    drawn = {path.name for path in GALLERY.PICTURES.iterdir()}
    assert drawn == {f"{name}.png" for name in GALLERY.SHOWN}
    assert re.findall(r"\]\(_static/gallery/(\w+)\.png\)", PAGE) == list(GALLERY.SHOWN)
    assert re.findall(r"\{literalinclude\} \.\./examples/(\w+)\.py", PAGE) == list(GALLERY.SHOWN)


@pytest.mark.parametrize("name", GALLERY.SHOWN)
def test_a_committed_picture_is_small(name):
    content = (GALLERY.PICTURES / f"{name}.png").read_bytes()
    assert content.startswith(PNG)
    assert len(content) <= GALLERY.LARGEST


def test_every_example_is_in_the_gallery_and_says_how_to_run_it():
    for path in sorted((ROOT / "examples").glob("*.py")):
        assert f"examples/{path.name}" in PAGE, path.name
        assert f"python examples/{path.name}" in path.read_text(encoding="utf-8"), path.name


def test_pictures_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\((?!https?:)([^)]+)\)", text)
    assert pictures
    for path in pictures:
        assert (ROOT / path).is_file(), path


def test_a_picture_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(GALLERY, "LARGEST", 10)
    with pytest.raises(SystemExit, match=r"advice_before_and_after\.png has \d+ bytes; draw less"):
        GALLERY.draw("advice_before_and_after", tmp_path)
