"""The miners of contrasts: ours and those of peers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.page import Table
from benchmarks.peers.environment import Absent
from benchmarks.peers.work import contrast
from benchmarks.speed import leverage

# Contrasts


def test_tables_reach_the_miners_as_they_are(tmp_path):
    data = leverage.ends(30, 6, 3)
    data.save(tmp_path / "t.npz")
    table, memory = contrast.read(tmp_path / "t.npz")
    np.testing.assert_array_equal(table.masks, data.masks)
    np.testing.assert_array_equal(table.is_top, data.is_top)
    assert (table.max_size, memory) == (3, leverage.MEMORY)
    assert table.least == pytest.approx(leverage.MIN_LEVERAGE)
    np.testing.assert_array_equal(table.frame().to_numpy().T, data.masks)


def by_brute_force(data):
    """All conjunctions of two properties, by the definition of leverage."""
    found = {}
    n, p = len(data.is_top), len(data.masks)
    for items in [(i,) for i in range(p)] + [(i, j) for i in range(p) for j in range(i + 1, p)]:
        holds = np.logical_and.reduce(data.masks[list(items)])
        value = (holds & data.is_top).sum() / n - holds.sum() * data.is_top.sum() / n**2
        if abs(value) >= leverage.MIN_LEVERAGE - leverage.SLACK:
            found[items] = value
    return found


def test_our_miner_is_timed_on_what_the_definition_says():
    data = leverage.ends(60, 12, 2)
    timed = leverage.our_time(data)
    assert timed.seconds > 0
    expected = by_brute_force(data)
    assert leverage._agree(timed.found, list(expected.items()))
    (first, *rest) = expected.items()
    assert not leverage._agree(timed.found, rest)
    assert not leverage._agree(timed.found, [(first[0], first[1] + 1e-6), *rest])


def measured(monkeypatch, answers):
    """A row of tables with answers of the peers by name and size."""
    monkeypatch.setattr(leverage, "peer_times", lambda name, *_: answers[name])
    return leverage.measure(60, 12, 5)


def test_absent_peers_are_said_with_the_reason(monkeypatch):
    absent = {
        name: [Absent(package, "no wheel")] * 3 for name, (package, _) in leverage.PEERS.items()
    }
    found = measured(monkeypatch, absent)
    assert [row[4:] for row in found.rows] == [["absent"] * 4 + ["-"]] * 3
    assert not found.factors
    said = leverage._verdict({(60, 50): found}, 1.0)
    assert "Absent: mlxtend (no wheel)." in said
    assert "Absent: pysubgroup (no wheel)." in said
    assert "Measured with" not in said
    assert "no peer" in leverage._finding({(60, 50): found}, 1.0)


def test_the_better_peer_is_compared_and_limits_stand_for_more(monkeypatch):
    ours = [leverage.our_time(leverage.ends(60, 12, size)) for size in leverage.SIZES]
    quick = [leverage.Time(1.0, one.found, "mlxtend 9") for one in ours]
    slow = [leverage.Time(2.0, one.found, "pysubgroup 8") for one in ours]
    answers = {
        "pysubgroup DFS": [slow[0], ">5 s", ">5 s"],
        "pysubgroup Apriori": [">5 s"] * 3,
        "mlxtend apriori": [quick[0], quick[1], ">10 GB"],
        "mlxtend fpgrowth": [Absent("mlxtend", "ValueError: no")] * 3,
    }
    found = measured(monkeypatch, answers)
    assert [row[4:8] for row in found.rows] == [
        ["2.0 s", ">5 s", "1.0 s", "absent"],
        [">5 s", ">5 s", "1.0 s", "absent"],
        [">5 s", ">5 s", ">10 GB", "absent"],
    ]
    assert [row[8].startswith("**>") for row in found.rows] == [False, False, True]
    assert found.factors[4] > found.factors[3] > 0
    said = leverage._verdict({(60, 50): found}, 61.0)
    assert "Measured with mlxtend 9 and pysubgroup 8." in said
    assert "(required: a minute; **missed**)" in said


def test_quick_peers_are_asked_twice_and_their_better_time_counts(monkeypatch):
    ours = [leverage.our_time(leverage.ends(60, 12, size)) for size in leverage.SIZES]
    asked = []

    def times(name, tables, folder, limit):
        asked.append(name)
        visit = asked.count(name)
        return [leverage.Time(0.3 / visit, one.found, "x 1") for one in ours]

    monkeypatch.setattr(leverage, "peer_times", times)
    found = leverage.measure(60, 12, 5)
    assert [asked.count(name) for name in leverage.PEERS] == [2] * 4
    assert {cell for row in found.rows for cell in row[4:8]} == {"150.0 ms"}
    one, late = leverage.Time(1.0, [], "x"), ">5 s"
    assert leverage.better([one, one, late], [late, leverage.Time(2.0, [], "x"), one]) == [
        one,
        one,
        late,
    ]


def test_a_peer_that_finds_other_properties_is_not_compared(monkeypatch):
    wrong = [leverage.Time(1.0, [((0,), 0.5)], "x")] * 3
    with pytest.raises(AssertionError, match="found other properties"):
        measured(monkeypatch, dict.fromkeys(leverage.PEERS, wrong))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"version": "1", "met": "memory"}, [">10 GB"] * 3),
        ({"error": "TypeError: no"}, [Absent("mlxtend", "TypeError: no")] * 3),
        (
            {"version": "1", "seconds": 0.5, "found": [[[0, 2], 0.1]]},
            [leverage.Time(0.5, [((0, 2), 0.1)], "mlxtend 1")] * 3,
        ),
        ("stopped after 5 s", [">5 s"] * 3),
        ("ended by SIGKILL", [Absent("mlxtend", "ended by SIGKILL")] * 3),
    ],
)
def test_answers_of_miners_are_times_limits_or_absences(tmp_path, monkeypatch, content, expected):
    def work(command, problems, folder, seconds, *, gives_up):
        assert gives_up
        if isinstance(content, str):
            return [content] * len(problems)
        target = tmp_path / "answer.json"
        target.write_text(json.dumps(content))
        return [target] * len(problems)

    monkeypatch.setattr(leverage, "python_of", lambda _: Path(sys.executable))
    monkeypatch.setattr(leverage, "work", work)
    tables = [leverage.ends(20, 6, size) for size in leverage.SIZES]
    assert leverage.peer_times("mlxtend apriori", tables, tmp_path, 5) == expected


def test_a_page_without_peers_is_a_page(monkeypatch):
    monkeypatch.setattr(leverage, "python_of", lambda package: Absent(package, "no network"))
    monkeypatch.setattr(leverage, "large", lambda: (["-"] * 9, 0.5))
    real = leverage.ends
    monkeypatch.setattr(leverage, "ends", lambda rows, properties, size: real(40, 12, size))
    section = leverage.section(full=False)
    assert isinstance(section.table, Table)
    assert len(section.table.rows) == 10
    assert {len(row) for row in section.table.rows} == {len(section.table.header)}
    assert not section.ratios
    assert "no network" in section.to_markdown()
