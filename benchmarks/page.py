"""The page that a run writes: sections of text and tables, nothing typed by hand."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

__all__ = ["Ratio", "Section", "Table", "best_time", "contents", "link", "processor", "write_page"]


class Ratio(NamedTuple):
    """A figure of the page that is followed from run to run."""

    value: float
    larger_is_better: bool = True


@dataclass
class Table:
    """A table of texts with a header."""

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def to_markdown(self) -> str:
        """Lay the table out in columns of equal width."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.header))]
        texts = [
            "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
            for line in lines
        ]
        rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
        return "\n".join([texts[0], rule, *texts[1:]])


@dataclass
class Section:
    """One question, the table that answers it, and what the table means.

    The finding is one sentence, computed like everything else, that stands beside the title in the list of contents.
    Ratios are compared with the last baseline, each under the title of the section and a name of its own. A picture
    is named relative to the page.
    """

    title: str
    question: str
    table: Table
    verdict: str
    finding: str = ""
    ratios: dict[str, Ratio] = field(default_factory=dict)
    picture: str = ""

    def to_markdown(self) -> str:
        """Write the section; what is empty is left out."""
        shown = f"![{self.title}]({self.picture})" if self.picture else ""
        table = self.table.to_markdown() if self.table.header else ""
        parts = [f"## {self.title}", self.question, shown, table, self.verdict]
        return "\n\n".join(part for part in parts if part) + "\n"


def best_time(run: Callable[[], object], repeat: int = 3) -> float:
    """The shortest of some runs, in seconds: what the work costs when nothing else disturbs it."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def processor() -> str:
    """Name the processor, as far as the system tells."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", listed.read_text(), flags=re.MULTILINE)
        if named:
            return named[1].strip()
    return platform.processor() or platform.machine()


def link(title: str) -> str:
    """A link to the section of this title."""
    # As the anchors of headings are made: small letters, no punctuation, hyphens for spaces.
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


def contents(sections: Sequence[Section]) -> str:
    """List the sections, each with a link and its finding; neighbours without one share a line."""
    lines = []
    for is_found, group in groupby(sections, key=lambda section: bool(section.finding)):
        if is_found:
            lines += [f"* {link(section.title)}: {section.finding}" for section in group]
        else:
            lines.append("* " + ", ".join(link(section.title) for section in group))
    return "\n".join(lines)


MEASURED = (
    "Written by `make bench`; times are the shortest of some runs on one machine and mean little elsewhere, "
    "ratios within a row mean more."
)


def write_page(
    sections: Sequence[Section], path: Path, title: str = "Measured", intro: str = MEASURED
) -> None:
    """Write all sections to a file, with what is needed to judge them; contents first where there are findings."""
    packages = ["numpy", "scipy", "scikit-learn", "highspy", "clarabel", "pandas"]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    head = (
        f"# {title}\n\n{intro}\n\n"
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {versions}.\n"
    )
    if any(section.finding for section in sections):
        head += f"\n{contents(sections)}\n"
    path.write_text("\n".join([head, *(s.to_markdown() for s in sections)]), encoding="utf-8")
