"""Sections as one HTML page that needs nothing else."""

from __future__ import annotations

from typing import Any

from clearmargin.language.words import number_text
from clearmargin.report.blocks import (
    Block,
    Bullets,
    Card,
    Cell,
    Code,
    Drawing,
    Figure,
    Fold,
    Group,
    Mark,
    Para,
    Section,
    Table,
)
from clearmargin.report.markup import Html, join, tag
from clearmargin.report.sections import make_sections
from clearmargin.report.style import STYLE

__all__ = ["make_page"]

# Nothing is to be loaded, whatever might slip in.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def make_page(summary: dict[str, Any]) -> str:
    """Write a summary as an HTML page.

    Parameters
    ----------
    summary : dict
        As `Report.to_dict` gives it.

    Returns
    -------
    str
        The page, with style and drawings in it.
    """
    sections = make_sections(summary)
    entries = [tag("li", tag("a", part.title, href=f"#{part.anchor}")) for part in sections]
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#main", class_="skip"),
        tag(
            "div",
            tag("header", tag("h1", summary["title"]), tag("p", summary["about"], class_="quiet")),
            tag("nav", tag("ul", *entries), aria_label="Contents"),
            tag("main", *(_section(part) for part in sections), id="main", tabindex=-1),
            tag(
                "footer",
                tag(
                    "p",
                    "Made with clearmargin ",
                    summary["reproduce"]["versions"]["clearmargin"],
                    ".",
                ),
            ),
            class_="page",
        ),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", summary["title"]),
        tag("style", Html(STYLE)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _section(section: Section) -> Html:
    name = f"{section.anchor}-title"
    blocks = [_block(block, 3) for block in section.blocks]
    return tag(
        "section",
        tag("h2", section.title, id=name),
        *blocks,
        id=section.anchor,
        aria_labelledby=name,
    )


def _block(block: Block, level: int) -> Html:
    match block:
        case Fold():
            inner = [_block(part, level) for part in block.blocks]
            made = tag("details", tag("summary", block.title), *inner)
        case Group():
            inner = [_block(part, level + 1) for part in block.blocks]
            made = tag("div", tag(f"h{level}", block.title), *inner)
        case Card():
            made = _card(block, level)
        case Table():
            made = _table(block)
        case Figure():
            made = _figure(block)
        case Para():
            made = tag("p", *map(_cell, block.parts))
        case Bullets():
            made = tag("ul", *(tag("li", item) for item in block.items), class_="plain")
        case Code():
            made = tag("pre", tag("code", block.text))
    return made


def _cell(cell: Cell) -> Html:
    match cell:
        case None:
            return Html("")
        case Code():
            return tag("code", cell.text)
        case Mark():
            return tag("span", cell.text, class_=f"mark {cell.kind}")
        case Drawing():
            return cell.svg
        case _:
            return join([cell])


def _table(table: Table) -> Html:
    def kind(j: int) -> str | None:
        return "number" if j in table.numbers else None

    head = [tag("th", name, scope="col", class_=kind(j)) for j, name in enumerate(table.columns)]
    rows = [
        tag(
            "tr",
            tag("th", _cell(row[0]), scope="row"),
            *(tag("td", _cell(cell), class_=kind(j)) for j, cell in enumerate(row[1:], 1)),
        )
        for row in table.rows
    ]
    inner = tag(
        "table",
        tag("caption", table.caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *rows),
    )
    # A wide table scrolls by itself, also from the keyboard.
    return tag("div", inner, class_="scroll", role="group", aria_label=table.caption, tabindex=0)


def _figure(figure: Figure) -> Html:
    legend = [tag("li", sample, name) for sample, name in figure.legend]
    caption = tag("figcaption", figure.caption, tag("ul", *legend, class_="legend"))
    return tag("figure", figure.svg, caption)


def _card(card: Card, level: int) -> Html:
    name = f"{card.anchor}-title"
    head = tag(
        "div",
        tag(f"h{level}", card.title, id=name),
        tag("span", *map(_cell, card.marks)),
        class_="head",
    )
    parts = [head]
    if card.lead:
        parts.append(tag("p", card.lead))
    if card.lines:
        parts.append(tag("ul", *map(_line, card.lines), class_="lines"))
    if card.facts:
        pairs = [tag("div", tag("dt", key), tag("dd", _cell(value))) for key, value in card.facts]
        parts.append(tag("dl", *pairs, class_="facts"))
    if card.exact:
        parts.append(tag("details", tag("summary", "Exact form"), tag("code", card.exact)))
    return tag("article", *parts, id=card.anchor, class_="card", aria_labelledby=name)


def _line(line: dict[str, Any]) -> Html:
    text, bar = tag("span", line["text"]), line["bar"]
    if bar is None:
        return tag("li", text)
    low, high = line["ends"] or (None, None)
    ends = ["" if end is None else number_text(end) for end in (low, high)]
    drawn = tag(
        "span",
        tag("span", ends[0], class_="end"),
        bar,
        tag("span", ends[1], class_="end"),
        class_="range",
    )
    return tag("li", text, drawn)
