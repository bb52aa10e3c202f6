"""Who is ahead in which column, and what the page says of it."""

from __future__ import annotations

import numpy as np
from benchmarks.quality.judge import Figures
from benchmarks.quality.leads import COLUMNS, common_folds, lead, leads_section, leads_text
from benchmarks.quality.measure import Panel, Row

from .cases import figures


def differing(**measures):
    """Three folds of figures that differ from the usual ones."""
    return [Figures(**{**vars(figures(0.9, 5.0)), **measures})] * 3


def test_every_column_in_which_a_peer_is_ahead_is_named():
    own = Row("own", True, differing(accuracy=0.8, auc=0.7, seconds=0.5, rules=4.0))
    peer = Row("peer", False, differing(accuracy=0.9, auc=np.nan, seconds=0.125, rules=9.0))
    place = Panel("D", "linear", [figures(1.0)] * 3, [own, peer], [])
    text = leads_text(place)
    assert "accuracy %: peer 90.0, best of ours own 80.0;" in text
    assert "seconds: peer 0.125, best of ours own 0.500." in text
    # Nobody is ahead in what is equal or not defined, and ours is in rules.
    assert not any(name in text for name in ("AUC", "fidelity", "rules"))
    section = leads_section([place])
    counts = {row[0]: row[1:6] for row in section.table.rows}
    assert counts["accuracy %"] == ["1", "1", "0", "0", "0"]
    assert counts["rules"] == ["0", "0", "1", "1", "0"]
    assert counts["fidelity, rules alone %"] == ["0", "0", "0", "0", "1"]
    assert "AUC %" not in counts
    assert "in accuracy a peer in 1 (1), ours in 0 (0)" in section.finding


def test_a_lead_that_may_be_chance_is_called_so():
    values = (0.9, 0.92, 0.88, 0.91, 0.9)
    own = Row("own", True, [figures(v) for v in values])
    peer = Row(
        "peer",
        False,
        [figures(v + d) for v, d in zip(values, (0.03, -0.02, 0.02, 0, 0), strict=True)],
    )
    place = Panel("D", "linear", [figures(1.0)] * 5, [own, peer], [])
    assert (
        "fidelity, rules alone %: peer 90.8, best of ours own 90.2, within the error"
        in leads_text(place)
    )


def test_who_was_asked_on_few_folds_keeps_nobody_from_theirs():
    full = Row("own", True, [figures(0.9)] * 5)
    few = Row("slow", True, [figures(0.99), figures(0.99), None, None, None])
    some = Row("peer", False, [figures(0.8)] * 4 + [None])
    assert common_folds([full, few, some]) == [0, 1, 2, 3]
    place = Panel("D", "linear", [figures(1.0)] * 5, [full, few, some], [])
    # It is not compared there itself.
    assert lead(place, COLUMNS[3]).ours == "own"
