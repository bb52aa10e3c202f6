"""What the README and the documentation say about measurements: parts of the page, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

__all__ = [
    "BEGIN",
    "BEGIN_STRANGERS",
    "CHOICE",
    "END",
    "QUOTED",
    "QUOTED_STRANGERS",
    "quote",
    "quoted_block",
    "quoted_choice",
    "quoted_stranger_choice",
    "quoted_strangers",
]

BEGIN = "<!-- quoted from benchmarks/RESULTS.md by make bench -->"
BEGIN_STRANGERS = "<!-- quoted from benchmarks/STRANGERS.md by make bench-full -->"
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
# The same of the page of strangers' tables.
QUOTED_STRANGERS = (
    "What to choose for a table of one's own",
    "Learning rules on strangers' tables",
    "Cards with proof",
    "Explaining cases on strangers' tables",
    "What rules must show on strangers' tables",
)


def _findings(page: str, titles: Sequence[str] = QUOTED) -> list[tuple[str, str, str]]:
    """Title, anchor and finding of the sections that are quoted and have one."""
    lines = re.findall(r"^\* \[(.+?)\]\((#.+?)\): (.+)$", page, re.MULTILINE)
    found = {title: (title, anchor, finding) for title, anchor, finding in lines}
    return [found[title] for title in titles if title in found]


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


def quoted_strangers(page: str) -> str:
    """The findings of the page of strangers' tables, with links to their sections.

    Examples
    --------
    >>> print(quoted_strangers("* [Cards with proof](#cards-with-proof): most is proved."))
    - [Cards with proof](benchmarks/STRANGERS.md#cards-with-proof): most is proved.
    """
    return "\n".join(
        f"- [{title}](benchmarks/STRANGERS.md{anchor}): {finding}"
        for title, anchor, finding in _findings(page, QUOTED_STRANGERS)
    )


def _quoted_whole(page: str, choice: str, titles: Sequence[str]) -> str:
    """A section whole, and the findings of others without links, which lead nowhere in there."""
    whole = re.search(rf"^## {choice}\n.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    found = _findings(page, titles)
    lines = [f"- *{title}*: {finding}" for title, _, finding in found if title != choice]
    parts = [whole[0].strip()] if whole else []
    return "\n\n".join([*parts, "## What else was found", "\n".join(lines)])


def quoted_choice(page: str) -> str:
    """The section about what to choose, and the findings of the others."""
    return _quoted_whole(page, CHOICE, QUOTED)


def quoted_stranger_choice(page: str) -> str:
    """The same of the page of strangers' tables."""
    found = _quoted_whole(page, QUOTED_STRANGERS[0], QUOTED_STRANGERS)
    return found.replace("## What else was found", "## What else was found there")


def quote(block: str, path: Path, begin: str = BEGIN) -> None:
    """Put a block between the marks of a file."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(begin)
    _, after = rest.split(END, maxsplit=1)
    path.write_text(f"{before}{begin}\n{block}\n{END}{after}", encoding="utf-8")
