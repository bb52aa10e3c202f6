"""What the README says about measurements: lines of the page, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["BEGIN", "END", "QUOTED", "quote", "quoted_block"]

BEGIN = "<!-- quoted from benchmarks/RESULTS.md by make bench -->"
END = "<!-- end of quotation -->"
# Sections of which the finding is quoted, in this order.
QUOTED = (
    "At no more rules than each peer",
    "What to choose",
    "Explanations with a proof",
    "Training a 1-norm SVM",
    "Properties of the two ends of a ranking",
    "Applying rules",
    "The command line",
    "Starting",
)


def quoted_block(page: str) -> str:
    """The findings of the page, with links to their sections.

    Examples
    --------
    >>> print(quoted_block("* [Starting](#starting): it is quick."))
    - [Starting](benchmarks/RESULTS.md#starting): it is quick.
    """
    lines = re.findall(r"^\* \[(.+?)\]\((#.+?)\): (.+)$", page, re.MULTILINE)
    found = {
        title: f"- [{title}](benchmarks/RESULTS.md{anchor}): {finding}"
        for title, anchor, finding in lines
    }
    return "\n".join(found[title] for title in QUOTED if title in found)


def quote(page: str, readme: Path) -> None:
    """Put the findings of the page between the marks of the README."""
    text = readme.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(f"{before}{BEGIN}\n{quoted_block(page)}\n{END}{after}", encoding="utf-8")
