"""The page about the papers: tables read back, printed numbers that fit each other, and the list of everything."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from benchmarks.page import Section, Table, write_page
from benchmarks.reproduce import (
    __main__ as reproduce,
)
from benchmarks.reproduce import (
    advice_toy,
    fung_planes,
    fung_tables,
    fung_text,
    inventory,
    papers,
    svm_tree_gene_tables,
    tree_summary,
    ysvm_examples,
    ysvm_tables,
)
from benchmarks.reproduce.fung_letter import ORDERS, extract_by_the_book
from benchmarks.reproduce.page_tables import numbers, read_page

from clearmargin import LPSVC, RuleExtractor, parse_rules

PAGES = Path(papers.__file__).parents[1]


def fake_cells():
    """Every printed cell met by the letter, but one rule too many for A- of each set."""
    found = []
    for name, kinds in fung_tables.PUBLISHED.items():
        for _, setting in fung_tables.NEAREST:
            for sign, printed in zip((-1, 1), kinds[setting.kind], strict=True):
                problems, rules, percent, seconds = printed
                found.append(
                    fung_tables.Cell(
                        name, setting, sign, problems, rules + (sign < 0), percent, seconds
                    )
                )
    return tuple(found)


def test_settings_have_names_of_their_own_and_the_letter_is_among_them():
    names = [setting.name for setting in (*fung_tables.SETTINGS, *fung_tables.BESIDE)]
    assert len(set(names)) == len(names) == 99
    assert {setting for _, setting in fung_tables.NEAREST} <= set(fung_tables.SETTINGS)
    assert set(fung_tables.SHOWN) <= {*fung_tables.SETTINGS, *fung_tables.BESIDE}
    assert fung_tables.NEAREST[0][1].name == "volume, natural order, not tightened"


@pytest.mark.parametrize("bounds", ["data", "class"])
def test_the_algorithm_as_printed_finds_the_boxes_of_the_package(bounds):
    # In natural order with clamps that stay, and before neighbours are joined.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    signs = np.where(X @ [1.0, -0.6, 0.3] + 0.3 * rng.normal(size=80) > 0, 1, -1)
    svm = LPSVC(1.0).fit(X, signs)
    ours = {"criterion": "volume", "tighten": False, "order": "natural"}
    ours |= {"min_coverage": 1, "max_rules": None}
    traces = RuleExtractor(svm, bounds=bounds, **ours).fit(X, signs).trace_
    for sign, trace in traces.items():
        found, literal = (
            extract_by_the_book(
                svm, X, signs, sign, order="natural", bounds=bounds, forgetful=forgetful
            )
            for forgetful in (False, True)
        )
        assert (found.problems, len(found.sizes)) == (trace.problems, trace.found)
        assert sum(found.sizes) == trace.covered
        assert sum(literal.sizes) <= trace.points
    orders = [
        extract_by_the_book(svm, X, signs, 1, order=order, bounds=bounds, forgetful=False)
        for order in ORDERS
    ]
    assert len({tuple(sorted(found.sizes)) for found in orders}) > 1


def test_the_printed_rule_is_known_by_its_whole_numbers():
    rules = parse_rules(fung_text.RULE)
    names = rules.space.names
    assert fung_text._is_printed(rules[0].region, names)
    assert not fung_text._is_printed(parse_rules(fung_text.RULE.replace("7", "6"))[0].region, names)


def test_the_rule_is_looked_for_on_planes_with_the_published_counts():
    plane, X, signs = next(fung_planes.tables())
    assert plane.name == fung_text.WBC
    for nu in fung_text.NUS:
        assert fung_planes.counts(LPSVC(nu).fit(X, signs), X, signs) == plane.printed


def test_the_best_setting_meets_most_and_is_nearest_in_the_rest(monkeypatch):
    settings = fung_tables.tried("volume")
    cells = tuple(
        fung_tables.Cell("Ionosphere", setting, -1, problems, 19, percent, 0.0)
        for setting, problems, percent in zip(
            settings, (46, 45, 40), (90.0, 100.0, 100.0), strict=False
        )
    )
    monkeypatch.setattr(fung_tables, "cells", lambda: cells)
    assert fung_tables.best_cells("volume") == [cells[1]]
    assert fung_tables.met_by(settings[0]) == (1, 1, 0)
    section = fung_tables.settings_section
    monkeypatch.setattr(fung_tables, "NEAREST", fung_tables.NEAREST[:1])
    assert section().verdict.startswith(
        f"Table 1: the best single one of {len(settings)} settings meets 2 of 3 printed numbers"
    )
    assert fung_tables.fits_section().table.rows[0][-2:] == ["45 / 19 / 100.0", "0"]
    assert fung_tables.met_by_chance("volume") == 0.0


def test_chance_is_what_the_numbers_of_other_columns_give(monkeypatch):
    # A- of Ionosphere has the numbers of A+, and of its own the coverage; A+ has nothing of either.
    setting = fung_tables.tried("volume")[0]
    numbers = {-1: (29, 11, 100.0), 1: (1, 1, 1.0)}
    cells = tuple(
        fung_tables.Cell("Ionosphere", setting, sign, *found, 0.0)
        for sign, found in numbers.items()
    )
    monkeypatch.setattr(fung_tables, "cells", lambda: cells)
    assert [sum(cell.met) for cell in cells] == [1, 0]
    assert fung_tables.met_by_chance("volume") == 3.0


def test_a_page_is_read_back(tmp_path):
    table = Table(["name", "a|b".replace("|", "/")], [["x", "1.5 ± 0.2 (3)"], ["*y*", "-"]])
    sections = [
        Section("First", "Why?", table, "Because.\n\nAnd so on."),
        Section("Words", "No table.", Table([]), "None."),
    ]
    write_page(sections, tmp_path / "page.md")
    chapters = read_page(tmp_path / "page.md")
    assert list(chapters) == ["First"]
    assert chapters["First"].table == table
    assert chapters["First"].verdict == "Because.\n\nAnd so on."
    assert chapters["First"].row("y") == {"name": "*y*", "a/b": "-"}
    with pytest.raises(KeyError, match=r"no row 'z'; there are x, \*y\*"):
        chapters["First"].row("z")
    assert read_page(tmp_path / "none.md") == {}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("30.2 ± 6.5 (5.6 + 19.1)", [30.2, 6.5, 5.6, 19.1]),
        ("-0.9", [-0.9]),
        ("-", []),
        ("77, 10-fold", [77, 10]),
        ("233 / 60", [233, 60]),
    ],
)
def test_the_numbers_of_a_cell(cell, expected):
    assert numbers(cell) == expected


def test_how_well_something_is_met():
    assert [inventory.status(k, 4) for k in range(5)] == [
        "differs",
        "differs",
        "in part",
        "in part",
        "yes",
    ]


def test_printed_shares_that_no_number_of_points_gives():
    # By exact fractions: the tenth is neither rounded nor cut off from any share.
    for name, kind, side, points, printed in [
        ("Ionosphere", "coverage", "A-", 70, "87.2"),
        ("Cleveland heart", "volume", "A-", 53, "79.3"),
        ("Federalist papers", "volume", "A+", 52, "92"),
    ]:
        wanted = Fraction(printed)
        for k in range(points + 1):
            share = Fraction(100 * k, points)
            assert not -Fraction(1, 20) <= share - wanted < Fraction(1, 10)
        assert f"{name} {side} under {kind} ({printed} % of {points})" in (
            fung_text.impossible_shares()
        )
    assert len(fung_text.impossible_shares()) == 3


def test_printed_leverages_follow_from_the_definition():
    size = 70
    for at_top, at_bottom, printed in ysvm_examples.FIGURE_2.values():
        whole = 2 * size
        joint = Fraction(at_top, whole)
        leverage = joint - Fraction(at_top + at_bottom, whole) * Fraction(size, whole)
        assert abs(abs(leverage) - Fraction(str(printed))) <= Fraction(1, 200)
    section = ysvm_examples.leverages()
    assert section.verdict.startswith("16 of 16")


def test_the_ten_components_have_the_printed_properties():
    section = ysvm_examples.components()
    assert section.verdict.startswith("7 of 7")
    assert [row[0] for row in section.table.rows if row[3] == "-"] == ["manufacturer = B"]


def test_the_toy_is_cut_where_the_data_contradict_it():
    section = advice_toy.section()
    rows = {row[0]: row for row in section.table.rows}
    assert rows["KBSVM"][3] == "ignored"
    assert all(rows[name][3] == "refined" for name in rows if name != "KBSVM")
    assert rows["RRSVM"][4] == "kept"
    assert section.verdict.startswith("3 of 3")


def test_support_vectors_are_a_part_of_the_rows():
    X, y = ysvm_tables.data_sets()["synthetic votes"]
    without = ysvm_tables.counts(X, y, with_label=False, examples="support vectors", share=0.5)
    within = ysvm_tables.counts(X, y, with_label=True, examples="support vectors", share=0.5)
    assert without == (0, 0)
    # The two values of the label, and their pairs with some of 100 others.
    assert within[0] == 2
    assert 100 < within[1] <= 200


def test_the_short_tables_have_the_published_numbers():
    page = read_page(PAGES / "SVM_TREES.md")
    sections = {s.title: s for s in tree_summary.sections(page)}
    assert len(sections) == 5 + (tree_summary.SUMS_II in page)
    cancers = sections["Trees of machines: Table II, cancers"]
    rows = {row[0]: row for row in cancers.table.rows}
    pairs = tree_summary.measured(page[tree_summary.TABLE_II], tree_summary.PAIRS_II)
    assert len(pairs) >= 5
    for ours, theirs in pairs:
        printed = svm_tree_gene_tables.PUBLISHED[theirs.removeprefix("published ")]
        for name, cell in zip(cancers.table.header[1:-2], rows[ours][1:-2], strict=True):
            assert numbers(cell)[1] == printed[name].accuracy
    near, cells = (int(n) for n in numbers(cancers.verdict)[:2])
    far = sum(len(row[-1].split(",")) for row in cancers.table.rows if row[-1] != "none")
    assert (near, cells) == (6 * len(pairs) - far, 6 * len(pairs))


def test_differences_of_the_rule_tables_are_told(monkeypatch):
    monkeypatch.setattr(fung_tables, "cells", fake_cells)
    lines = fung_tables.differences()
    assert len(lines) == 2 * len(fung_tables.PUBLISHED)
    assert lines[0] == (
        "Table 1, Lung CAD: A- +0 problems, +1 rules, +0.0 points of coverage; A+ +0 problems, +0 rules, +0.0 points "
        "of coverage."
    )


def test_the_list_names_everything_even_without_the_other_pages(monkeypatch):
    monkeypatch.setattr(fung_tables, "cells", fake_cells)
    section = inventory.inventory([ysvm_examples.components(), ysvm_examples.leverages()])
    rows = {(row[0], row[1]): row[2:] for row in section.table.rows}
    assert {paper for paper, _ in rows} == set(inventory.PAPERS)
    assert {status for status, *_ in rows.values()} <= set(inventory.MEANING)
    told = {what: status for (_, what), (status, *_) in rows.items()}
    assert len(told) == 25
    assert rows[inventory.FUNG, "Table 1: rules by volume"][-1] == "48"
    assert told["Table 1: rules by volume"] == "in part"
    assert told["Table 2: properties of components"] == "yes"
    assert told["Pima: test error of five methods"] == "not measured"
    assert told["Table II: accuracy on seven cancers"] == "not measured"
    assert told["Table I: a rare class"] == "not measured"
    assert told["Section 6.1: tenfold correctness"] == "not measured"
    assert told["Table 3: numbers of properties"] == "not measured"
    assert told["Section V.B: gain, support vectors"] == "not measured"
    for paper, printed in [
        (inventory.FUNG, ["Table 1", "Table 2", "Section 6.1", "Section 6.2"]),
        (inventory.PANG, ["Table I:", "Table II:", "Figure 3", "Section V.B"]),
        (inventory.YSVM, ["Table 1", "Table 2", "Table 3", "Figure 2", "Section 4.1"]),
        (inventory.POSTER, ["Toy", "Pima: test error"]),
    ]:
        for start in printed:
            assert any(what.startswith(start) for own, what in rows if own == paper)


def test_what_is_as_published_is_judged_by_its_rows_alone():
    rows = [
        ["SVM-Rule, to the letter", "1", "2", "colon -9, lung +3"],
        ["SVMT as published", "1", "2", "none"],
        ["SVMT as published, strict", "1", "2", "colon -40, lung -40"],
        ["r-SVMT as published", "1", "2", "lung -8"],
        ["r-SVMT, simplified", "1", "2", "lung -8"],
    ]
    assert inventory._letter(rows, 2) == (3, 6)
    assert inventory._letter(rows, 1) == (1, 3)


def test_the_curves_are_summed_up():
    (section,) = papers.pima_section(read_page(PAGES / "ADVICE_PIMA.md"))
    apart, points = (int(n) for n in numbers(section.verdict)[:2])
    assert 0 <= apart <= points == sum(int(row[2]) for row in section.table.rows)
    assert points > 20
    assert papers.pima_section({}) == []
    (item,) = (i for i in inventory._poster_items(inventory._Found([section])) if "curves" in i.met)
    assert "draws" in item.differs
    assert int(item.tried) > 1
    silent = Section("Advice on Pima", "", Table([]), "3 of 4 are apart. Why?")
    assert inventory._number_before(silent, " comparisons") == "1"
    assert inventory._after_first(silent) == "Why?"


def test_the_papers_alone_do_not_run_the_long_tables(monkeypatch):
    ran = []
    scripts = [name for name, value in vars(reproduce).items() if hasattr(value, "main")]
    long = [name for name in scripts if name != "papers"]
    assert {"certify_table", "svm_trees", "extractors", "advice_pima", "advice_no_worse"} <= {*long}
    for name in long:
        script = getattr(reproduce, name)
        monkeypatch.setattr(script, "main", lambda arguments, name=name: ran.append(name))
    monkeypatch.setattr(papers, "main", lambda: ran.append("papers"))
    reproduce.main(["papers"])
    assert ran == ["papers"]
    reproduce.main([])
    assert sorted(ran[1:-1]) == sorted(long)
    assert ran[-1] == "papers"
