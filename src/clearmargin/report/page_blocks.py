"""The parts that a report is made of, as plain data, before templates and Markdown draw them.

The `tag` of a block names the part of `templates/blocks.html` that draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Code:
    """Text in the rule language or in Python, within a line or as a block."""

    tag: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A word that stands out: the word says what it means, the style is one of those in `style.css`."""

    tag: ClassVar[str] = "mark"
    text: str
    style: str = "plain"


@dataclass(frozen=True, slots=True)
class Shape:
    """An element of a picture: its SVG tag, its attributes, and the text in it."""

    tag: str
    attributes: Mapping[str, Any]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A small drawing; `label` says in words what it shows, None where the text beside it does."""

    tag: ClassVar[str] = "picture"
    width: str
    height: str
    label: str | None
    style: str
    shapes: tuple[Shape, ...]


Cell = str | Code | Mark | Picture | None


@dataclass(frozen=True, slots=True)
class Para:
    """A paragraph."""

    tag: ClassVar[str] = "paragraph"
    parts: tuple[Cell, ...]
    style: str = ""

    @classmethod
    def of(cls, *parts: Cell, style: str = "") -> Para:
        """Make one of its parts; the style is "", "quiet" or "warning"."""
        return cls(parts, style)


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    tag: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table whose first column names its rows; columns in `numbers` are set to the right."""

    tag: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """A condition or a value: its text and, where there is a range to draw it in, a bar and the ends of the range."""

    text: str
    bar: Picture | None = None
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Card:
    """Something with a title, a sentence, conditions that may be drawn, and facts."""

    tag: ClassVar[str] = "card"
    title: str
    anchor: str
    marks: tuple[Mark, ...] = ()
    lead: str | None = None
    lines: tuple[Line, ...] = ()
    facts: tuple[tuple[str, Cell], ...] = ()
    exact: str | None = None


@dataclass(frozen=True, slots=True)
class Tiles:
    """The figures to see first: each with what it is and what to compare it with."""

    tag: ClassVar[str] = "tiles"
    tiles: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule as a row: a text and a picture by feature, then its class and what was counted."""

    number: str
    conditions: Mapping[str, tuple[str, Picture | None]]
    label: str
    style: int
    counts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleTable:
    """Rules as rows of intervals, with a column for each feature; in a terminal as if-then lines."""

    tag: ClassVar[str] = "rules"
    caption: str
    features: tuple[tuple[str, str, str], ...]
    rows: tuple[RuleRow, ...]
    heads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Pictures with names, one below the other; `text` says what they show where nothing can be drawn."""

    tag: ClassVar[str] = "chart"
    caption: str
    rows: tuple[tuple[str, Picture], ...]
    text: str = ""
    style: str = "beside"


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown when asked for."""

    tag: ClassVar[str] = "fold"
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks under a heading of their own."""

    tag: ClassVar[str] = "group"
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with an entry in its contents."""

    anchor: str
    title: str
    blocks: tuple[Block, ...] = field(default=())


Block = Para | Bullets | TableBlock | RuleTable | Tiles | Chart | Card | Fold | Group | Code
