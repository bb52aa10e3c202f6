"""Blocks of a page as text for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from clearmargin.report.page_blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Chart,
    Code,
    Fold,
    Group,
    Para,
    Picture,
    RuleTable,
    Section,
    TableBlock,
    Tiles,
)
from clearmargin.templates import visible

Paint = Callable[[str, str], str]

_WIDEST = 110
# A terminal narrower than this has counts below a rule, not beside it.
_NARROW = 72


def page_text(
    sections: Iterable[Section],
    paint: Paint = lambda text, style: text,
    width: int | None = None,
) -> str:
    """Write sections as text; what is folded on a page and what is only drawn there is left out."""
    width = width or min(_WIDEST, shutil.get_terminal_size((100, 24)).columns)
    parts: list[str] = []
    for section in sections:
        parts += [paint(visible(section.title), "bold")] if section.title else []
        for block in section.blocks:
            parts += _block(block, width, paint)
    return "\n\n".join(part for part in parts if part)


def _fill(text: str, width: int, first: str = "", rest: str | None = None) -> str:
    return textwrap.fill(
        " ".join(visible(text).split()),
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _cell(cell: Cell) -> str:
    if cell is None or isinstance(cell, Picture):
        return ""
    return visible(cell if isinstance(cell, str) else cell.text)


def _block(block: Block, width: int, paint: Paint) -> list[str]:
    match block:
        case Para():
            text = _fill("".join(map(_cell, block.parts)), width)
            parts = [paint(text, "yellow") if block.style == "warning" else text]
        case Bullets():
            parts = ["\n".join(_fill(item, width, "- ", "  ") for item in block.items)]
        case Tiles():
            parts = ["\n".join(f"{value:>8}  {what} ({more})" for value, what, more in block.tiles)]
        case TableBlock():
            cells = [tuple(map(_cell, row)) for row in (block.columns, *block.rows)]
            caption = paint(f"  ({block.caption})", "dim")
            parts = ["\n".join([*_columns(cells, block.numbers), caption])]
        case RuleTable():
            parts = ["\n".join(_rules(block, width, paint))]
        case Chart():
            parts = [_fill(block.text, width)]
        case Code():
            parts = [textwrap.indent(visible(block.text), "  ")]
        case Group():
            inner = [part for member in block.blocks for part in _block(member, width, paint)]
            parts = [paint(visible(block.title), "bold"), *inner]
        case Fold() | Card():
            parts = []
    return parts


def _columns(rows: Sequence[Sequence[str]], numbers: frozenset[int]) -> Iterator[str]:
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(size) if j in numbers else cell.ljust(size)
            for j, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        yield f"  {'  '.join(cells)}".rstrip()


def _rules(block: RuleTable, width: int, paint: Paint) -> Iterator[str]:
    """Write rules under the class that they predict, with counts beside them where there is room."""
    heads = block.heads
    sizes = [
        max(len(head), *(len(row.counts[k]) for row in block.rows), 0)
        for k, head in enumerate(heads)
    ]
    is_beside = width >= _NARROW

    def set_right(cells: Sequence[str]) -> str:
        return "".join(f"  {cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))

    room = width - (sum(sizes) + 2 * len(sizes) if is_beside else 0)
    label = None
    for k, row in enumerate(block.rows):
        premise = " and ".join(f"{name} {text}" for name, (text, _) in row.conditions.items())
        if row.conditions and row.label != label:
            title = f"{visible(row.label)} if"
            above = set_right(heads) if is_beside and k == 0 else ""
            yield paint(title.ljust(room) if above else title, "bold") + above
        label = row.label
        text, number = (
            (premise, f"{row.number:>3}  ")
            if row.conditions
            else (f"otherwise {visible(row.label)}", "  ")
        )
        *lines, last = _fill(text, room, number, "     ").split("\n")
        yield from lines
        if is_beside:
            yield last.ljust(room) + set_right(row.counts)
        else:
            yield last
            yield "     " + ", ".join(
                f"{count} {head}" for count, head in zip(row.counts, heads, strict=True)
            )
