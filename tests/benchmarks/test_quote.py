"""The README says of measurements what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.quote import BEGIN, END, QUOTED, quote, quoted_block

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
    quote(PAGE, readme)
    text = readme.read_text()
    assert text == f"above\n{BEGIN}\n{quoted_block(PAGE)}\n{END}\nbelow\n"
    quote(PAGE, readme)
    assert readme.read_text() == text


def test_the_readme_quotes_the_page_that_lies_beside_it():
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{BEGIN}\n{quoted_block(page)}\n{END}" in readme


@pytest.mark.parametrize("title", QUOTED)
def test_what_is_to_be_quoted_has_a_finding(title):
    page = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert f"* [{title}](" in page
