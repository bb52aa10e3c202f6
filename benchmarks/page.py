"""The page that a run writes: sections of text and tables, nothing typed by hand."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

__all__ = ["Section", "Table", "best_time", "write_page"]


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
    """One question, the table that answers it, and what the table means."""

    title: str
    question: str
    table: Table
    verdict: str

    def to_markdown(self) -> str:
        """Write the section."""
        return (
            f"## {self.title}\n\n{self.question}\n\n{self.table.to_markdown()}\n\n{self.verdict}\n"
        )


def best_time(run: Callable[[], object], repeat: int = 3) -> float:
    """The shortest of some runs, in seconds: what the work costs when nothing else disturbs it."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


MEASURED = (
    "Written by `make bench`; times are the shortest of some runs on one machine and mean little elsewhere, "
    "ratios within a row mean more."
)


def write_page(
    sections: list[Section], path: Path, title: str = "Measured", intro: str = MEASURED
) -> None:
    """Write all sections to a file, with what is needed to judge them."""
    packages = ["numpy", "scipy", "scikit-learn", "highspy", "clarabel", "pandas"]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    head = (
        f"# {title}\n\n{intro}\n\n"
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}; {versions}.\n"
    )
    path.write_text("\n".join([head, *(s.to_markdown() for s in sections)]), encoding="utf-8")
