"""Sections as Markdown."""

from __future__ import annotations

import re
from typing import Any

from clearmargin.report.blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Code,
    Figure,
    Fold,
    Group,
    Mark,
    Para,
    Picture,
    TableBlock,
)
from clearmargin.report.sections import make_sections
from clearmargin.templates import visible

__all__ = ["make_markdown"]

_SPECIAL = re.compile(r"([\\`*_\[\]|~#$])")
_START = re.compile(r"^([-+=>]|\d+[.)])")


def make_markdown(summary: dict[str, Any]) -> str:
    """Write a summary as Markdown; drawings are left out, their numbers are in the text.

    Parameters
    ----------
    summary : dict
        As `Report.to_dict` gives it.

    Returns
    -------
    str
        The text.
    """
    parts = [f"# {_text(summary['title'])}", _line(summary["about"])]
    for section in make_sections(summary):
        parts.append(f"## {_text(section.title)}")
        for block in section.blocks:
            parts += _block(block, 3)
    return "\n\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    """Text in which nothing is taken for markup, on one line."""
    flat = " ".join(visible(text).split("\n"))
    escaped = _SPECIAL.sub(r"\\\1", flat)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(text: str) -> str:
    return _START.sub(r"\\\1", _text(text))


def _cell(cell: Cell) -> str:
    match cell:
        case None | Picture():
            return ""
        case Code() | Mark():
            return _text(cell.text)
        case _:
            return _text(cell)


def _block(block: Block, level: int) -> list[str]:
    match block:
        case Fold():
            made = [part for member in block.blocks for part in _block(member, level)]
        case Group():
            made = [f"{'#' * level} {_text(block.title)}"]
            made += [part for member in block.blocks for part in _block(member, level + 1)]
        case Card():
            made = _card(block, level)
        case TableBlock():
            made = [_table(block)]
        case Figure():
            made = []
        case Para():
            made = ["".join(map(_cell, block.parts))]
        case Bullets():
            made = ["\n".join(f"- {_line(item)}" for item in block.items)]
        case Code():
            made = [_fence(block.text)]
    return made


def _fence(text: str) -> str:
    """A block of code; its fence is longer than any run of backquotes in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{visible(text)}\n{fence}"


def _table(table: TableBlock) -> str:
    # A column of drawings has nothing to say in words.
    drawn = {
        j
        for j in range(len(table.columns))
        if any(isinstance(row[j], Picture) for row in table.rows)
    }
    kept = [j for j in range(len(table.columns)) if j not in drawn]
    lines = [
        [_text(table.columns[j]) for j in kept],
        ["---:" if j in table.numbers else "---" for j in kept],
        *([_cell(row[j]) for j in kept] for row in table.rows),
    ]
    body = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{_line(table.caption)}:\n\n{body}"


def _card(card: Card, level: int) -> list[str]:
    parts = [f"{'#' * level} {_text(card.title)}"]
    facts = [_cell(mark) for mark in card.marks]
    facts += [f"{_text(key)}: {_cell(value)}" for key, value in card.facts]
    parts.append(_START.sub(r"\\\1", "; ".join(facts)))
    if card.lead:
        parts.append(_line(card.lead))
    parts.append("\n".join(f"- {_line(line.text)}" for line in card.lines))
    if card.exact:
        parts.append(_fence(card.exact))
    return parts
