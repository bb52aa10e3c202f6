"""The README and the documentation say of measurements what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.quote import (
    BEGIN,
    BEGIN_STRANGERS,
    END,
    QUOTED,
    QUOTED_STRANGERS,
    quote,
    quoted_block,
    quoted_choice,
    quoted_stranger_choice,
    quoted_strangers,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = "* [Starting](#starting): it is quick.\n* [Other](#other): no.\n* [Applying rules](#applying-rules): fast.\n"


def test_findings_are_quoted_in_their_order():
    assert quoted_block(PAGE).splitlines() == [
        "- [Applying rules](benchmarks/RESULTS.md#applying-rules): fast.",
        "- [Starting](benchmarks/RESULTS.md#starting): it is quick.",
    ]


def test_only_what_is_between_the_marks_changes(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"above\n{BEGIN}\n- old\n{END}\nbelow\n")
    quote(quoted_block(PAGE), readme)
    text = readme.read_text()
    assert text == f"above\n{BEGIN}\n{quoted_block(PAGE)}\n{END}\nbelow\n"
    quote(quoted_block(PAGE), readme)
    assert readme.read_text() == text


def test_the_documentation_has_the_section_about_choosing_whole_and_no_links():
    page = f"{PAGE}\n## Before\n\nno\n\n## What to choose\n\nThis.\n\n| a |\n\n## After\n\nno\n"
    found = quoted_choice(page)
    assert found.startswith(
        "## What to choose\n\nThis.\n\n| a |\n\n## What else was found\n\n- *Applying rules*: fast."
    )
    assert found.endswith("- *Starting*: it is quick.")
    assert "](#" not in found


@pytest.mark.parametrize(
    ("path", "block"),
    [("README.md", quoted_block), ("docs/explanation/measured.md", quoted_choice)],
    ids=["README", "documentation"],
)
def test_the_page_is_quoted_as_it_lies_there(path, block):
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert f"{BEGIN}\n{block(page)}\n{END}" in text


@pytest.mark.parametrize("title", QUOTED)
def test_what_is_to_be_quoted_has_a_finding(title):
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert f"* [{title}](" in page


@pytest.mark.parametrize(
    ("path", "block"),
    [("README.md", quoted_strangers), ("docs/explanation/measured.md", quoted_stranger_choice)],
    ids=["README", "documentation"],
)
def test_the_page_of_strangers_is_quoted_as_it_lies_there(path, block):
    page = (ROOT / "benchmarks" / "STRANGERS.md").read_text(encoding="utf-8")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert f"{BEGIN_STRANGERS}\n{block(page)}\n{END}" in text


@pytest.mark.parametrize("title", QUOTED_STRANGERS)
def test_what_is_to_be_quoted_of_strangers_has_a_finding(title):
    page = (ROOT / "benchmarks" / "STRANGERS.md").read_text(encoding="utf-8")
    assert f"* [{title}](" in page
