"""The list of everything that the four papers print, with what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.page import Section, Table
from benchmarks.reproduce import fung_tables
from benchmarks.reproduce.page_tables import numbers

__all__ = ["MEANING", "PAPERS", "Item", "inventory", "status"]

FUNG = "Fung, Sandilya and Rao (KDD 2005)"
PANG = "Pang and Kasabov (IJCNN 2008)"
YSVM = "Salleb-Aouissi, Huang and Waltz (EGC 2009)"
POSTER = "Kunapuli, Maclin and Shavlik (poster, 2011)"
PAPERS = (FUNG, PANG, YSVM, POSTER)
MEANING = {
    "yes": "all that is printed is met",
    "in part": "at least half of it is, or some of the data are not at hand",
    "differs": "measured, and less than half is met",
    "in kind": "what it shows is shown, but its own data are not published",
    "arithmetic": "the printed numbers fit each other, but the data are not at hand",
    "no data": "cannot be done",
    "no numbers": "nothing to compare",
    "not measured": "the page that measures it is not there",
}
MET = ("problems", "rules", "coverage")


@dataclass(frozen=True)
class Item:
    """A table, figure or number of a paper, and what became of it."""

    paper: str
    what: str
    reproduced: str
    said: str


def status(agree: int, total: int) -> str:
    """How well something is met: *yes* if all of it is, *in part* from a half on, else it *differs*."""
    if agree == total:
        return "yes"
    return "in part" if 2 * agree >= total else "differs"


def _picture(paper: str, what: str) -> Item:
    return Item(paper, what, "no numbers", "A picture or a list: nothing to compare.")


@dataclass(frozen=True)
class _Found:
    """The sections of the page, by the beginnings of their titles."""

    sections: Sequence[Section]

    def get(self, start: str) -> Section | None:
        return next((s for s in self.sections if s.title.startswith(start)), None)

    def item(
        self, paper: str, what: str, start: str, reproduced: str, also: str = "", said: str = ""
    ) -> Item:
        """An item about which a section says something, in its first sentence unless said otherwise."""
        section = self.get(start)
        if section is None:
            return Item(paper, what, "not measured", "Its page is not there.")
        return Item(paper, what, reproduced, said or f"{_sentence(section)} {also}".strip())

    def share(self, start: str) -> str:
        """The status of a section that begins with *a of b*."""
        section = self.get(start)
        return "not measured" if section is None else status(*_two(section))

    def rows(self, start: str) -> list[list[str]]:
        section = self.get(start)
        return [] if section is None else section.table.rows


def _sentence(section: Section, number: int = 0) -> str:
    return section.verdict.split("\n")[0].split(". ")[number].rstrip(".") + "."


def _two(section: Section) -> tuple[int, int]:
    first, second = numbers(section.verdict)[:2]
    return int(first), int(second)


def _fung_table(what: str, kind: str, nearest: str) -> Item:
    """How many printed cells the way nearest to the letter meets, and how many some way does."""
    own = [cell for cell in fung_tables.cells() if cell.kind == kind]
    letter = [cell for cell in own if cell.way == nearest]
    met = [sum(_met(cell)[k] for cell in letter) for k in range(len(MET))]
    some = [len({(cell.data, cell.sign) for cell in own if _met(cell)[k]}) for k in range(len(MET))]
    told = ", ".join(f"{name} in {a} ({b})" for name, a, b in zip(MET, met, some, strict=True))
    return Item(
        FUNG,
        what,
        status(sum(met), len(MET) * len(letter)),
        f"*{nearest}* meets, of {len(letter)} class columns, the printed {told}; in brackets any of our "
        f"{len({cell.way for cell in own})} ways. Differences by row stand below the table. {fung_tables.missing()}",
    )


def _met(cell: fung_tables.Cell) -> tuple[bool, bool, bool]:
    problems, rules, percent, _ = cell.printed
    return cell.problems == problems, cell.rules == rules, abs(cell.percent - percent) < 0.1


def _fung_items(found: _Found) -> list[Item]:
    rows = {row[0]: row[1:] for row in found.rows("Numbers in the text")}
    rule = [rows[name][0] == rows[name][1] for name in rows if "rule" in name or "covers" in name]
    printed, ours = rows.get("6.1: tenfold correctness", ("", ""))
    (_, volume, kind_1), (_, coverage, kind_2) = fung_tables.NEAREST
    text, training = (
        "Numbers in the text",
        "which is what the printed points give on training rows.",
    )
    planes = "The Federalist papers are below; Lung CAD has no data."
    return [
        _picture(FUNG, "Figures 1 and 2: planes and boxes"),
        found.item(FUNG, "Tables 1 and 2: features, points right", "Planes", "in part", planes),
        _fung_table("Table 1: rules by volume", kind_1, volume),
        _fung_table("Table 2: rules by coverage", kind_2, coverage),
        found.item(FUNG, "Section 6.1: a rule, its points", text, status(sum(rule), len(rule))),
        found.item(
            FUNG,
            "Section 6.1: tenfold correctness",
            text,
            status(int(printed == ours), 1),
            said=f"Ours is {ours} for {printed}, {training}",
        ),
        Item(FUNG, "Section 6.2: Lung CAD", "no data", "Its 274 candidates are not at hand."),
    ]


def _pang_items(found: _Found) -> list[Item]:
    one_draw = "They come from one draw whose means and variances are not given."
    means = "; ".join(
        f"*{row[0]}* {row[-2]}"
        for row in found.rows("Trees of machines: Table II,")
        if row[0] in ("SVMT = exact rules", "r-SVMT as published")
    )
    also = f"On average, published in brackets: {means}. The ovarian set is not at hand."
    text = found.rows("Trees of machines: numbers")
    near = sum(abs(float(r[1]) - float(r[2])) <= 0.1 * abs(float(r[1])) for r in text)
    start = "Trees of machines:"
    first, second = f"{start} Table I,", f"{start} Table II,"
    return [
        _picture(PANG, "Figures 1 and 2: boxes and data"),
        found.item(PANG, "Figure 3: leaves of two trees", f"{start} the leaves", "in kind"),
        Item(PANG, "Section V.A: four example rules", "no data", one_draw),
        found.item(PANG, "Table I: a rare class", first, found.share(first)),
        found.item(PANG, "Table II: accuracy on seven cancers", second, found.share(second), also),
        found.item(PANG, "Table II: numbers of rules", f"{start} rules and", "differs"),
        found.item(PANG, "Section V.B: gain, support vectors", f"{start} numbers", status(near, 2)),
    ]


def _ysvm_items(found: _Found) -> list[Item]:
    no_data = "The atherosclerosis data (Stulong) are not at hand, and no numbers are printed."
    ends = [row[3] == "11" for row in found.rows("Planted")[:1]]
    table_3 = found.get("Properties at the ends of a ranking: Table 3")
    same = [row[2] == row[3] for row in found.rows("Properties at the ends of a ranking: Table 3")]
    said = "" if table_3 is None else _sentence(table_3, 1)
    ten = "Ten components"
    return [
        Item(YSVM, "Table 1: ten components", "yes", "They are the data of `make_components`."),
        found.item(YSVM, "Table 2: properties of components", ten, found.share(ten)),
        found.item(
            YSVM,
            "Section 4.1: eleven planted attributes",
            "Planted",
            "yes" if all(ends) else "in part",
        ),
        Item(YSVM, "Figure 1: ROC curve of atherosclerosis", "no data", no_data),
        found.item(YSVM, "Figure 2: properties of atherosclerosis", "Leverages of", "arithmetic"),
        Item(YSVM, "Figures 3 and 5: histograms of atherosclerosis", "no data", no_data),
        _picture(YSVM, "Figure 4: list of attributes"),
        found.item(
            YSVM,
            "Table 3: numbers of properties",
            "Properties at the ends of a ranking: Table 3",
            status(sum(same), len(same)),
            said=f"{said} Atherosclerosis is not at hand.",
        ),
    ]


def _poster_items(found: _Found) -> list[Item]:
    pima = found.get("Advice on Pima")
    met = "not measured"
    if pima is not None:
        apart, points = _two(pima)
        met = status(points - apart, points)
    return [
        found.item(POSTER, "Toy example: refined rules", "Toy example", "in kind"),
        found.item(POSTER, "Pima: test error of five methods", "Advice on Pima", met),
        _picture(POSTER, "Pima: Diabetes Rule 6 before and after, as a tree"),
    ]


def inventory(sections: Sequence[Section]) -> Section:
    """All items of all papers, with what the sections found."""
    found = _Found(sections)
    items = [*_fung_items(found), *_pang_items(found), *_ysvm_items(found), *_poster_items(found)]
    table = Table(["paper", "table, figure or number", "reproduced", "how ours differ, or why not"])
    table.rows = [[item.paper, item.what, item.reproduced, item.said] for item in items]
    counts = {name: sum(item.reproduced == name for item in items) for name in MEANING}
    used = {name: means for name, means in MEANING.items() if counts[name]}
    return Section(
        "What the papers print",
        "Reproduced: " + "; ".join(f"*{name}*, {means}" for name, means in used.items()) + ".",
        table,
        f"Of {len(items)} items: {', '.join(f'{counts[name]} {name}' for name in used)}.",
    )
