"""One page about every table and figure with numbers of the four papers: published beside ours."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.page import Section, Table, write_page
from benchmarks.reproduce import (
    advice_toy,
    fung_planes,
    fung_tables,
    fung_text,
    tree_summary,
    ysvm_examples,
    ysvm_tables,
)
from benchmarks.reproduce.inventory import inventory
from benchmarks.reproduce.page_tables import Chapter, numbers, read_page

__all__ = ["main", "other_sections", "pima_section", "sections"]

FOLDER = Path(__file__).parents[1]
PAGE = FOLDER / "PAPERS.md"
INTRO = (
    "Written by `python -m benchmarks.reproduce papers`, as the last part of `make reproduce`. Every table and figure "
    "of the four papers is listed, with the published numbers beside ours. What takes long is measured by other parts "
    "of `make reproduce`, whose pages are summed up here as they were last written."
)
CURVES = "Against the published curves"
FEW_DRAWS = "Curves of 10 draws"
HINDSIGHT = "Would a better choice of parameters have helped?"
EXTRACTORS = "The best published rules, and ours"


def pima_section(page: dict[str, Chapter]) -> list[Section]:
    """The curves of the poster in short."""
    if CURVES not in page:
        return []
    chapter = page[CURVES]
    rows = [chapter.row(row[0]) for row in chapter.table.rows]
    sizes = sum(int(row["sizes"]) for row in rows)
    how = chapter.table.header[-1]
    apart = sum(int(row[how]) for row in rows)
    most = max(rows, key=lambda row: abs(numbers(row["up to 40 points"])[0]))
    first = rows[0]
    return [
        Section(
            "Advice on Pima: test error",
            "Ours minus published, in points of error, averaged over sizes of the training part. The published values "
            "are read off the curves in the longer paper (NIPS 2011). All curves: [ADVICE_PIMA.md](ADVICE_PIMA.md).",
            chapter.table,
            f"{apart} of {sizes} points of the curves are {how}, most of all {most['published as']} "
            f"({most['up to 40 points']} up to 40 points). The plain SVM, in which advice has no part, is "
            f"{first['up to 40 points']} up to 40 points and {first['above']} above them: draws, scales "
            f"and grids are not published. {_pima_settings(page)}".strip(),
        )
    ]


def _pima_settings(page: dict[str, Chapter]) -> str:
    """What other draws and other settings would have given."""
    told = [page[name].verdict for name in (FEW_DRAWS, HINDSIGHT) if name in page]
    tried = [
        (int(found[1]), int(found[2]))
        for chapter in page.values()
        for found in [re.search(r"two standard errors, (\d+) of (\d+)", chapter.verdict)]
        if found is not None
    ]
    if tried:
        told.append(
            f"Other scales, bounds, costs and weights of rules differ by more than two standard errors in "
            f"{sum(differ for differ, _ in tried)} of {sum(number for _, number in tried)} comparisons."
        )
    return " ".join(told)


def other_sections() -> list[Section]:
    """Pages about what none of the four papers prints."""
    found = []
    extractors = read_page(FOLDER / "EXTRACTORS.md").get(EXTRACTORS)
    if extractors is not None:
        found.append(
            Section(
                "Beside the four papers: rules of kernel machines",
                "The best rule sets of Bologna and Hayashi (2018), beside ours: [EXTRACTORS.md](EXTRACTORS.md).",
                extractors.table,
                extractors.verdict,
            )
        )
    pages = {
        "Chunks, rules and one machine (Fung, Sandilya and Rao, section 7)": "CHUNKS.md",
        "Proofs for kernel machines": "CERTIFY.md",
        "Advice, no worse than rules or data": "ADVICE_NO_WORSE.md",
        "The same on a hundred further draws of Pima": "ADVICE_NO_WORSE_PIMA.md",
    }
    table = Table(["page", "part", "what it says"])
    for title, name in pages.items():
        for part, chapter in read_page(FOLDER / name).items():
            if name in ("CERTIFY.md", "CHUNKS.md"):
                # Parts that end with their table have said what they say before it.
                told = chapter.verdict.partition("\n")[0]
                table.rows += [[f"[{title}]({name})", part, told]] if told else []
            elif part == "Summary":
                told = "; ".join(f"{row[0]}: {row[2]} of {row[1]}" for row in chapter.table.rows)
                table.rows.append([f"[{title}]({name})", part, told])
    if table.rows:
        text = "What the papers propose and do not measure, and what the package claims beyond them, in a line each."
        found.append(
            Section(
                "Beside the four papers: our own claims", text, table, "The pages have the rest."
            )
        )
    return found


def sections() -> list[Section]:
    """Recompute what is quick, and sum up the pages of the rest."""
    found = [
        fung_planes.section(),
        *fung_tables.sections(),
        fung_text.section(),
        *tree_summary.sections(read_page(FOLDER / "SVM_TREES.md")),
        ysvm_examples.components(),
        ysvm_examples.recovery(),
        ysvm_examples.leverages(),
        *ysvm_tables.sections(),
        advice_toy.section(),
        *pima_section(read_page(FOLDER / "ADVICE_PIMA.md")),
    ]
    return [inventory(found), *found, *other_sections()]


def main() -> None:
    """Print and write the page."""
    found = sections()
    for section in found:
        print(section.to_markdown())
    write_page(found, PAGE, "The papers, reproduced", INTRO)
    print(f"written: {PAGE.name}")
