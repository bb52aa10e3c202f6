"""A report: plain data, and the page, the Markdown and the JSON made from it."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from clearmargin.exceptions import InvalidValueError
from clearmargin.report.page_blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Chart,
    Code,
    Fold,
    Group,
    Mark,
    Para,
    Picture,
    RuleTable,
    Section,
    TableBlock,
    Tiles,
)
from clearmargin.report.sections import make_sections
from clearmargin.rules.file_writing import json_text, write_text_atomically
from clearmargin.templates import render, visible

_SPECIAL = re.compile(r"([\\`*_\[\]|~#$])")
_HIDDEN = re.compile(r"[^\x20-\x7e\n]")
_START = re.compile(r"^([-+=>]|\d+[.)])")


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """Sections under a title, to be written as HTML, Markdown or text, and the facts they were made of.

    Parameters
    ----------
    title, about : str
        What stands first.
    sections : tuple of Section
        What follows.
    facts : dict
        The same as plain data.
    """

    title: str
    about: str
    sections: tuple[Section, ...]
    facts: dict[str, Any]

    def to_markdown(self) -> str:
        """Write the page as Markdown, with tables in the style of GitHub and without drawings."""
        parts = [f"# {_text(self.title)}", _line(self.about)]
        for section in self.sections:
            parts += [f"## {_text(section.title)}"] if section.title else []
            for block in section.blocks:
                parts += _block(block, 3)
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_html(self) -> str:
        """Write one HTML page with style and drawings in it; it loads nothing and runs nothing."""
        from clearmargin import __version__

        return render(
            "page.html",
            title=self.title,
            about=self.about,
            sections=self.sections,
            version=__version__,
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the page to a file, whole or not at all; its suffix decides the form: .html, .md or .json."""
        writers: dict[str, Callable[[], str]] = {
            ".html": self.to_html,
            ".htm": self.to_html,
            ".md": self.to_markdown,
            ".json": lambda: _HIDDEN.sub(_escape, json_text(self.facts)),
        }
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise InvalidValueError(f"{path}: the name of a report ends in .html, .md or .json")
        return write_text_atomically(path, writers[suffix](), overwrite=overwrite)


def _text(text: str) -> str:
    """Write text in which nothing is taken for markup, on one line."""
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
        case Para():
            made = ["".join(map(_cell, block.parts))]
        case RuleTable():
            made = [_rule_table(block)]
        case Tiles():
            head = TableBlock("In short", ("figure", "what", "beside"), block.tiles)
            made = [_table(head)]
        case Chart():
            made = [_line(block.text)]
        case Bullets():
            made = ["\n".join(f"- {_line(item)}" for item in block.items)]
        case _:
            made = [_fence(block.text)]
    return made


def _fence(text: str) -> str:
    """Return a block of code; its fence is longer than any run of backquotes in it."""
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


def _rule_table(rules: RuleTable) -> str:
    rows = []
    for row in rules.rows:
        premise = " and ".join(f"{name} {text}" for name, (text, _) in row.conditions.items())
        rows.append((row.number, premise or "otherwise", row.label, *row.counts))
    numbers = frozenset(range(3, 3 + len(rules.heads)))
    return _table(TableBlock(rules.caption, ("", "if", "then", *rules.heads), tuple(rows), numbers))


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


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What `report` found, as plain data and as a page.

    Parameters
    ----------
    summary : dict
        Everything that the report says, as plain data; see `to_dict`.

    Examples
    --------
    >>> from clearmargin import LPSVC
    >>> from clearmargin.report import report
    >>> made = report(LPSVC(), [[0.0], [1.0], [4.0], [5.0]], ["no", "no", "yes", "yes"], cv=2)
    >>> made.to_dict()["rules"]["total"]["covered"]
    4
    >>> made
    <Report 'Rules for no and yes': 2 rules, 4 cases>
    """

    summary: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Give everything that the report says as plain data for JSON.

        Returns
        -------
        dict
            `title`, `about`, `learned` (sentences), `data`, `model`, `rules`, `features`, `validation`,
            `cases`, `uncovered`, `contrast`, `advice` and `reproduce`. Parts that there are not are None or empty.
            Names of features and classes are as they were given; sentences show what cannot be seen as escapes.
        """
        return copy.deepcopy(self.summary)

    def to_json(self) -> str:
        """Write the summary as JSON; what cannot be seen is escaped."""
        return _HIDDEN.sub(_escape, json_text(self.summary))

    def _page(self) -> Page:
        summary = self.summary
        return Page(summary["title"], summary["about"], tuple(make_sections(summary)), summary)

    def to_markdown(self) -> str:
        """Write the report as Markdown, with tables in the style of GitHub and without drawings."""
        return self._page().to_markdown()

    def to_html(self) -> str:
        """Write the report as one HTML page with style and drawings in it; it loads nothing and runs nothing."""
        return self._page().to_html()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the report to a file, as a page (.html), Markdown (.md) or JSON (.json).

        Parameters
        ----------
        path : path
            The file; its suffix decides the form.
        overwrite : bool, default False
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file written, whole or not at all.
        """
        return self._page().save(path, overwrite=overwrite)

    def _repr_html_(self) -> str:
        # In a frame of its own, neither the notebook's style nor the report's gets at the other.
        return (
            f'<iframe title="{escape(self.summary["title"])}" sandbox srcdoc="{escape(self.to_html())}" '
            'style="width:100%;height:40rem;border:1px solid #888"></iframe>'
        )

    def __repr__(self) -> str:
        rules = self.summary["rules"]
        count = "" if rules is None else f"{len(rules['list'])} rules, "
        return f"<Report {self.summary['title']!r}: {count}{self.summary['data']['rows']} cases>"

    def __str__(self) -> str:
        return "\n".join([self.summary["title"], *self.summary["learned"]])


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return char if char.isprintable() else json.dumps(char)[1:-1]
