"""What the README and the documentation say about measurements: parts of the page, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["BEGIN", "CHOICE", "END", "QUOTED", "quote", "quoted_block", "quoted_choice"]

BEGIN = "<!-- quoted from benchmarks/RESULTS.md by make bench -->"
END = "<!-- end of quotation -->"
# The section that the documentation has whole.
CHOICE = "What to choose"
# Sections of which the finding is quoted, in this order.
QUOTED = (
    "At no more rules than each peer",
    CHOICE,
    "Explanations with a proof",
    "Training a 1-norm SVM",
    "Properties of the two ends of a ranking",
    "Applying rules",
    "The command line",
    "Starting",
)


def _findings(page: str) -> list[tuple[str, str, str]]:
    """Title, anchor and finding of the sections that are quoted and have one."""
    lines = re.findall(r"^\* \[(.+?)\]\((#.+?)\): (.+)$", page, re.MULTILINE)
    found = {title: (title, anchor, finding) for title, anchor, finding in lines}
    return [found[title] for title in QUOTED if title in found]


def quoted_block(page: str) -> str:
    """The findings of the page, with links to their sections.

    Examples
    --------
    >>> print(quoted_block("* [Starting](#starting): it is quick."))
    - [Starting](benchmarks/RESULTS.md#starting): it is quick.
    """
    return "\n".join(
        f"- [{title}](benchmarks/RESULTS.md{anchor}): {finding}"
        for title, anchor, finding in _findings(page)
    )


def quoted_choice(page: str) -> str:
    """The section about what to choose, and the findings of the others without links, which lead nowhere in there."""
    whole = re.search(rf"^## {CHOICE}\n.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    lines = [f"- *{title}*: {finding}" for title, _, finding in _findings(page) if title != CHOICE]
    parts = [whole[0].strip()] if whole else []
    return "\n\n".join([*parts, "## What else was found", "\n".join(lines)])


def quote(block: str, path: Path) -> None:
    """Put a block between the marks of a file."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f"{before}{BEGIN}\n{block}\n{END}{after}", encoding="utf-8")
