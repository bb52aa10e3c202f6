"""What pages point at exists: names of the reference, modules and files that are shown, files that are named."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*/*.md")) + sorted((ROOT / "docs").glob("*.md"))
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES if "_build" not in page.parts}


def documented_names() -> list[str]:
    """The names that the reference has a page for."""
    names, package = [], ""
    for line in TEXTS[ROOT / "docs" / "reference" / "api.md"].splitlines():
        if line.startswith(".. currentmodule:: "):
            package = line.rpartition(" ")[2]
        elif re.fullmatch(r"   [\w.]+", line):
            names.append(f"{package}.{line.strip()}")
    return names


def test_every_name_of_the_reference_exists():
    missing = []
    for name in documented_names():
        home, _, attribute = name.rpartition(".")
        if find_spec(home) is None or not hasattr(import_module(home), attribute):
            missing.append(name)
    assert not missing


def test_the_reference_has_every_public_name():
    package = import_module("clearmargin")
    documented = {name.rpartition(".")[2] for name in documented_names()}
    modules = {"dask", "datasets", "exceptions", "export", "plot", "report", "__version__"}
    assert set(package.__all__) - modules <= documented
    for name in ("dask", "datasets", "export", "plot", "report"):
        assert set(import_module(f"clearmargin.{name}").__all__) <= documented


def test_modules_and_files_that_pages_show_exist():
    for page, text in TEXTS.items():
        modules = re.findall(r"automodule:: ([\w.]+)", text)
        assert [name for name in modules if find_spec(name) is None] == []
        shown = re.findall(r"\{(?:literal)?include\} (\S+)", text)
        # What is collected when the pages are built is not there before.
        files = [name for name in shown if "_build" not in name]
        assert [name for name in files if not (page.parent / name).is_file()] == []


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_files_that_the_project_names_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
    paths = re.findall(r"`((?:\w+/)+[\w.]+\.\w+)`", text)
    places = (ROOT, ROOT / "src" / "clearmargin")
    assert [path for path in paths if not any((place / path).exists() for place in places)] == []
