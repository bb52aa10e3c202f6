"""Tables read back from pages that other runs have written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.page import Table

__all__ = ["Chapter", "numbers", "read_page"]


@dataclass(frozen=True)
class Chapter:
    """A section of a page: its table, and the text that follows it."""

    table: Table
    verdict: str

    def row(self, first: str) -> dict[str, str]:
        """The cells of the row with a name, by the header of their column."""
        for row in self.table.rows:
            if row[0].strip("*") == first:
                return dict(zip(self.table.header, row, strict=True))
        raise KeyError(f"no row {first!r}; there are {', '.join(r[0] for r in self.table.rows)}")


def read_page(path: Path) -> dict[str, Chapter]:
    """The sections of a page by their titles; empty if there is no such page."""
    if not path.exists():
        return {}
    chapters = {}
    for part in path.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        lines = text.splitlines()
        rows = [k for k, line in enumerate(lines) if line.startswith("|")]
        if rows:
            cells = [[cell.strip() for cell in lines[k].strip("|").split("|")] for k in rows]
            table = Table(cells[0], cells[2:])
            chapters[title.strip()] = Chapter(table, "\n".join(lines[rows[-1] + 1 :]).strip())
    return chapters


def numbers(cell: str) -> list[float]:
    """The numbers in a cell, in their order."""
    return [float(text) for text in re.findall(r"[-+]?\d+(?:\.\d+)?", cell)]
