"""The parts that a report is made of, before they become HTML or Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clearmargin.report.markup import Html

__all__ = [
    "Block",
    "Bullets",
    "Card",
    "Cell",
    "Code",
    "Drawing",
    "Figure",
    "Fold",
    "Group",
    "Mark",
    "Para",
    "Section",
    "Table",
]


@dataclass(frozen=True, slots=True)
class Code:
    """Text in the rule language or in Python, within a line or as a block."""

    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A word that stands out; `kind` chooses its style, the word says what it means."""

    text: str
    kind: str = "plain"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A small picture in a line; its words are in the text beside it."""

    svg: Html


Cell = str | Code | Mark | Drawing | None


@dataclass(frozen=True, slots=True)
class Para:
    """A paragraph."""

    parts: tuple[Cell, ...]

    @classmethod
    def of(cls, *parts: Cell) -> Para:
        """Make one of its parts."""
        return cls(parts)


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names its rows; columns in `numbers` are set to the right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with a caption and, for each line in it, a sample and its name."""

    svg: Html
    caption: str
    legend: tuple[tuple[Html, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """Something with a title, a sentence, conditions that may be drawn, and facts; `level` is that of its heading."""

    title: str
    anchor: str
    marks: tuple[Mark, ...] = ()
    lead: str | None = None
    lines: tuple[dict[str, Any], ...] = ()
    facts: tuple[tuple[str, Cell], ...] = ()
    exact: str | None = None


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown when asked for."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks under a heading of their own."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with an entry in its contents."""

    anchor: str
    title: str
    blocks: tuple[Block, ...] = field(default=())


Block = Para | Bullets | Table | Figure | Card | Fold | Group | Code
