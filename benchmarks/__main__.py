"""Measure everything and write RESULTS.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.page import write_page
from benchmarks.speed import advice, covers, crossings, extraction, foundation, leverage, lpsvm


def main() -> None:
    """Run the sections in order, saying which."""
    sections = []
    for measure in (
        lpsvm.section,
        extraction.fit_section,
        extraction.coverage_section,
        covers.section,
        advice.kbsvm_section,
        advice.slp_section,
        advice.sqp_section,
        advice.forms_section,
        leverage.section,
        crossings.section,
        foundation.section,
    ):
        print(f"measuring {measure.__module__}.{measure.__name__} ...", flush=True)
        sections.append(measure())
        print(sections[-1].to_markdown(), flush=True)
    path = Path(__file__).parent / "RESULTS.md"
    write_page(sections, path)
    print(f"written: {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


if __name__ == "__main__":
    main()
