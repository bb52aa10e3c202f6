"""The pages that a run writes: sections of text and tables, nothing typed by hand."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
INVENTORY = "What the papers print"
PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "clarabel", "pandas")


@dataclass
class Table:
    """A table of texts with a header."""

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def to_markdown(self) -> str:
        """Lay the table out."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass
class Section:
    """One question, the table that answers it, and what the table means.

    The finding is one sentence, computed like everything else, that stands beside the title in the list of contents.
    """

    title: str
    question: str
    table: Table
    verdict: str = ""
    finding: str = ""

    def to_markdown(self) -> str:
        """Write the section; what is empty is left out."""
        found = f"{self.finding[:1].upper()}{self.finding[1:]}"
        table = self.table.to_markdown() if self.table.header else found
        parts = [f"## {self.title}", self.question, table, self.verdict]
        return "\n\n".join(part for part in parts if part) + "\n"


def not_measured(title: str, reason: str) -> Section:
    """What the page says of a measurement that could not be made."""
    return Section(title, "", Table([]), finding=f"not measured: {reason}")


def link(title: str) -> str:
    """A link to the section of this title."""
    # As the anchors of headings are made: small letters, no punctuation, hyphens for spaces.
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


def processor() -> str:
    """Name the processor, as far as the system tells."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", listed.read_text(), flags=re.MULTILINE)
        if named:
            return named[1].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """The commit that is measured; nothing where there is no git."""
    words = ["git", "-C", str(FOLDER), "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "an unknown commit"
    return f"commit {done.stdout.strip()}"


def write_page(sections: Sequence[Section], path: Path, title: str, intro: str) -> None:
    """Write all sections to a file, with what is needed to judge them; what was found comes first.

    The page of the papers has that in its first section, the inventory.
    """
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    lines = [
        f"# {title}\n\n{intro}\n",
        f"Measured on {date.today():%Y-%m-%d} at {commit()}, on {processor()}, one thread; Python "
        f"{platform.python_version()} on {platform.system()} {platform.machine()}; {versions}.\n",
    ]
    found = [f"* {link(s.title)}: {s.finding}" for s in sections if s.finding]
    if found and not sections[0].title.startswith(INVENTORY):
        lines.append("\n".join(found) + "\n")
    lines += [section.to_markdown() for section in sections]
    path.write_text("\n".join(lines), encoding="utf-8")
