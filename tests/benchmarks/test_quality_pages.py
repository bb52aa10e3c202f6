"""The comparison of rules with those of peers: its tables, sentences and picture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from benchmarks.quality import others
from benchmarks.quality.ahead import ahead_section, compare, kind_of
from benchmarks.quality.choice import choice_section, entries, proofs
from benchmarks.quality.judge import Figures
from benchmarks.quality.measure import Panel, Row
from benchmarks.quality.picture import _draw_panel, draw, spread
from benchmarks.quality.plan import Plan
from benchmarks.quality.single import Explained
from benchmarks.quality.single_table import judge_all, pooled, single_section, start_single
from benchmarks.quality.tables import panel_section
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from scipy.stats import t as student
from scipy.stats import ttest_rel

from .cases import figures, fold_of, panel, single


def test_every_place_where_a_peer_is_ahead_is_named():
    section = ahead_section([panel()])
    column = section.table.header.index
    ahead = [(row[column("list: ahead")], row[column("card: ahead")]) for row in section.table.rows]
    assert ahead == [("peer", "even"), ("ours", "ours"), ("ours", "ours")]
    # Who says one class of everybody is shown, and not counted.
    first = "our list of rules is ahead in 1, even in 0 and behind in 1 of 2 comparisons"
    assert first in section.finding
    assert "our scorecard is ahead in 1, even in 1 and behind in 0 of 2" in section.finding
    assert "mute says one and the same class of 100.0% of the held-out rows" in section.verdict
    assert "A peer is ahead of the list in: D, linear: peer by 10.0 points." in section.verdict
    assert "No peer is ahead of the scorecard anywhere." in section.verdict
    nominal = "Nominally ahead of the scorecard, within the error: D, linear: peer by 0.6 points."
    assert nominal in section.verdict


def test_lists_are_compared_with_lists_and_sums_with_the_scorecard():
    verdict = ahead_section([panel()]).verdict
    assert "our list against lists (peer) is ahead in 0, even in 0 and behind in 1 of 1" in verdict
    assert "our scorecard against sums (other) is ahead in 1, even in 0" in verdict
    kinds = [kind_of(Row(name, False)) for name in ("scikit-learn tree, depth 3", "imodels FIGS")]
    assert kinds == ["tree", "tree"]
    assert kind_of(Row("imodels FIGS", False, is_weighted=True)) == "sum"


def test_a_side_is_ahead_where_a_paired_t_test_says_so_that_counts_shared_rows():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        a, b = rng.normal(0.9, 0.02, 5), rng.normal(0.94, 0.02, 5)
        pairs = [(figures(x), figures(y)) for x, y in zip(a, b, strict=True)]
        found.append(compare(pairs).who)
        # A fifth of the rows is held out: the statistic shrinks by the root of (1/5 + 1/4) / (1/5).
        plain = ttest_rel(b, a)
        p = 2 * student.sf(abs(plain.statistic) / np.sqrt(1 + 5 / 4), 4)
        assert found[-1] == (("ours" if b.mean() > a.mean() else "peer") if p < 0.05 else "even")
    assert {"ours", "even"} <= set(found)
    assert compare([(figures(0.1), figures(0.9))]).who == "even"
    # Three repetitions are no more than one: they share rows.
    twice = [(figures(0.9), figures(0.9 + gap)) for gap in (0.0, 0.01, 0.02, 0.0, 0.01)]
    assert compare(twice).who == compare(twice * 3).who == "even"


def test_the_choice_is_the_best_on_folds_that_all_have():
    row = Row("peer", False, [figures(0.9, 5.0), None])
    own = Row("own", True, [figures(0.8, 5.0), figures(1.0, 5.0)])
    proved = Row("exact", True, [figures(0.7, 30.0, proved=0.4)] * 2)
    for each in (row, own):
        each.figures = [f and Figures(**{**vars(f), "proved": 0.0}) for f in each.figures]
    both = [Panel("D", t, [figures(1.0)] * 2, [row, own, proved], []) for t in ("linear", "RBF")]
    assert [entry.fidelity for entry in entries(both[:1])] == pytest.approx([0.9, 0.8, 0.7])
    singles = {
        ("linear", "box"): [single(1.0, 0.2, 1.0)],
        ("linear", "anchors"): [single(0.6, 0.4, 0.0)],
    }
    section = choice_section(both, singles)
    assert section.title == "What to choose"
    rows = section.table.rows
    assert rows[0][2] == "exact"
    assert "40% of the rows, 30.0 rules" in rows[0][3]
    assert [row[2] for row in rows if "at most 7" in row[0]] == ["peer", "peer"]
    assert rows[-1][2:5] == [
        "box",
        "1 box; true on 100.0% of the box by proof and 100.0% of held-out rows in it; covers 20.0% of rows by "
        "2.0 conditions, 0.100 s",
        "anchors",
    ]
    assert "most faithful, at most 7 rules (RBF machine): peer, within twice" in section.verdict
    assert rows[2][-1] == "+10.0 points"
    assert "a peer is the better choice for 14 of 14" in section.finding
    assert section.verdict.endswith(
        "Compared on 1 folds of each set; peers that lack a set, and are left out: none."
    )


def test_a_choice_says_how_far_ahead_it_is_over_the_sets():
    sets = []
    for name, gap in (("D", 0.02), ("E", 0.06), ("F", 0.01)):
        own = Row("own", True, [figures(0.9 + gap, 5.0)])
        sets.append(
            Panel(
                name, "linear", [figures(1.0)], [own, Row("peer", False, [figures(0.9, 5.0)])], []
            )
        )
    section = choice_section(sets, {})
    row = next(row for row in section.table.rows if row[0].startswith("most faithful, at most 7"))
    # Gaps of 2, 6 and 1: their mean is 3, their deviation the root of 7, and that by the root of 3 is 1.5.
    assert row[-1] == "+3.0 ± 1.5 points"
    assert "Ours is ahead within twice the error only in" in section.verdict
    quickest = next(row for row in section.table.rows if row[0].startswith("quickest"))
    assert quickest[-1] in ("-", "1.0 times as quick")


def test_a_method_that_is_absent_from_a_set_is_no_choice():
    names = [entry.name for entry in entries([panel()])]
    assert names == ["exact", "peer", "other", "mute"]
    elsewhere = Panel(**{**vars(panel()), "data": "E", "rows": panel().rows[:1]})
    assert [entry.name for entry in entries([panel(), elsewhere])] == ["exact"]


def test_proofs_count_where_they_were_made_and_the_sets_are_named():
    everywhere = Row("wide", True, [figures(0.7, 3.0, proved=0.1)])
    here = Row("slow", True, [figures(0.7, 9.0, proved=0.6), None])
    nowhere = Row("slow", True, [None], reasons=["too many columns"])
    first = Panel("D", "RBF", [figures(1.0)], [here], [])
    second = Panel("E", "RBF", [figures(1.0)], [nowhere], [])
    section = choice_section([first, second], {})
    assert section.table.rows[0][:4] == [
        "rules that are never wrong about the machine",
        "RBF",
        "slow",
        "100 % faithful by proof where a rule fires: 60% of the rows of D, 9.0 rules, 0 conditions (0 "
        "a rule)",
    ]
    assert section.finding.startswith(
        "never wrong about an RBF machine, on 60% of the rows of D: slow;"
    )
    # Whoever was run on all sets comes first, with less as well.
    both = [Panel(**{**vars(p), "rows": [*p.rows, everywhere]}) for p in (first, second)]
    assert [each.name for each in proofs(both)] == ["wide", "slow"]
    assert proofs([second]) == []


def test_absent_peers_missing_folds_and_proofs_are_shown():
    section = panel_section(panel())
    text = section.to_markdown()
    assert "absent: no environment" in text
    assert "peer [2 of 3 folds]" in text
    assert "100 (proof)" in text


def test_places_of_labels_keep_their_distance_and_order():
    found = spread([5.0, 5.0, 1.0, 9.9], 1.0, 0.0, 10.0)
    ordered = sorted(found)
    assert min(np.diff(ordered)) >= 1.0 - 1e-12
    assert max(found) <= 10.0
    assert np.argsort(found, kind="stable").tolist() == [2, 0, 1, 3]


@pytest.mark.parametrize("count", [3, 20, 40])
def test_all_names_of_a_panel_stand_beside_it_however_many(count):
    peers = [Row(f"peer {k}", False, [figures(0.95)] * 3) for k in range(count)]
    card = Row("card", True, [figures(0.96)] * 3, is_weighted=True)
    axes = Figure().subplots()
    _draw_panel(axes, Panel("D", "linear", [figures(1.0)] * 3, [card, *peers], panel().rungs))
    low, high = axes.get_ylim()
    places = sorted(text.xyann[1] for text in axes.texts if isinstance(text, Annotation))
    assert len(places) == count + 1
    assert low - 1e-9 <= places[0] <= places[-1] <= high + 1e-9
    assert min(np.diff(places)) >= (high - low) / max(24, count) - 1e-9


def test_the_picture_is_the_same_every_time(tmp_path):
    both = [panel(), Panel(**{**vars(panel()), "teacher": "RBF"})]
    draw(both, tmp_path / "one.svg")
    draw(both, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_single_explanations_stand_beside_anchors_with_the_share_of_false_ones():
    def everywhere(cases):
        """A box without conditions is wrong somewhere; the RBF machine gets no answer."""
        ends = np.array([-np.inf, -np.inf])
        return [
            [Explained(row, ends, -ends, int(fold.predicted_test[row]), 0.1) for row in rows]
            if fold.teacher == "linear"
            else "stopped"
            for fold, rows in cases
        ]

    plan = Plan(n_explained=2, n_samples=500)
    with ThreadPoolExecutor(1) as pool:
        cases = [start_single(fold_of(kind), plan, pool) for kind in ("linear", "RBF")]
        peers = everywhere([(case.fold, case.rows) for case in cases])
        judged = judge_all(cases, plan, peers)
        section = single_section(cases, plan, peers, judged)
    together = pooled(cases, judged)
    assert len(together["linear", "alibi anchors"]) == 2
    assert ("RBF", "alibi anchors") not in together
    names = [row[2] for row in section.table.rows]
    assert names[2] == "alibi anchors"
    assert names[-1] == "alibi anchors (absent: stopped)"
    assert (
        "alibi anchors: the machine says otherwise somewhere in 100% of 2 boxes." in section.verdict
    )
    assert "largest box: the machine says otherwise somewhere in 0% of 2 boxes." in section.verdict
    # What speaks for them is said as well.
    assert "box, they cover more rows (100.00 and " in section.verdict
    assert "need fewer conditions (0.00 and " in section.verdict
    assert "on RBF machines" not in section.verdict


def test_our_reading_of_a_peer_is_shown_and_not_counted():
    given = panel()
    given.rows[2].name = others.ANY_RULE
    section = ahead_section([given])
    assert len(section.table.rows) == 3
    assert "our scorecard is ahead in 0, even in 1 and behind in 0 of 1" in section.finding
    assert "these 1 comparisons are not counted either" in section.verdict
