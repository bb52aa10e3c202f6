"""The machinery of the page: exponents, baselines, timings in turns, and what is written."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time

import benchmarks.__main__ as runner
import numpy as np
import pandas as pd
import pytest
from benchmarks.page import Ratio
from benchmarks.speed import (
    command_line,
    covers,
    extraction,
    growth,
    large_files,
    memory,
    partitions,
    start,
)
from benchmarks.speed.growth_cases import CASES
from benchmarks.speed.growth_picture import draw, spread
from benchmarks.speed.timing import race
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import baseline

from .cases import section

positive = st.floats(1e-3, 1e3)


names = st.text("abcdef :,/", min_size=1, max_size=6)


# Exponents.


@given(st.floats(-3, 3), positive, st.sampled_from([4, 5, 7]))
@settings(max_examples=30)
def test_a_power_law_gives_its_exponent_back_with_an_empty_range(exponent, cost, count):
    sizes = np.geomspace(10, 10_000, count)
    found = growth.slopes(sizes, cost * sizes**exponent)
    assert found == pytest.approx((exponent,) * 3, abs=1e-9)


@given(st.lists(positive, min_size=4, max_size=6))
@settings(max_examples=30)
def test_the_exponent_is_that_of_least_squares_and_lies_between_those_of_neighbours(seconds):
    sizes = np.array([2.0, 3.0, 10.0, 40.0, 50.0, 900.0])[: len(seconds)]
    exponent, least, largest = growth.slopes(sizes, seconds)
    assert exponent == pytest.approx(np.polyfit(np.log(sizes), np.log(seconds), 1)[0], abs=1e-9)
    assert least - 1e-9 <= exponent <= largest + 1e-9


def test_noise_moves_the_exponent_by_less_than_the_range_says():
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    seconds = sizes**1.5 * [1.1, 0.9, 1.1, 0.9]
    exponent, least, largest = growth.slopes(sizes, seconds)
    assert least < 1.5 < largest
    assert abs(exponent - 1.5) < 0.05


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.call} by {case.varied}")
def test_every_case_has_rising_sizes_and_more_of_them_in_a_full_run(case):
    for full in (False, True):
        sizes = case.sizes(full)
        assert len(sizes) >= 4
        assert list(sizes) == sorted(set(sizes))
    assert set(case.quick) < set(case.full)


def test_cases_are_named_apart():
    assert len({(case.call, case.varied) for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "call", ["RuleSet.covers", "parse_rules", "LPSVC.fit", "certify", "RuleExtractor.explain"]
)
def test_a_case_runs_at_its_smallest_size(call):
    case = next(case for case in CASES if case.call == call)
    assert case.make(case.quick[0])() is not None


def test_the_verdict_names_what_is_steep():
    case = CASES[0]
    steep = growth.Growth(case, (10, 100), (1.0, 100.0), 1.0)
    flat = growth.Growth(case, (10, 100), (1.0, 1.5), 1.0)
    assert "0 of 1 exponents" in growth._verdict([steep])
    assert "(2.00)" in growth._verdict([steep, flat])
    assert "None is steeper" in growth._verdict([flat])


# The picture.


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0.01, 2))
@settings(max_examples=50)
def test_labels_are_apart_in_their_order_and_no_further_moved_than_needed(wanted, least):
    found = spread(wanted, least)
    order = np.argsort(wanted, kind="stable")
    assert (np.diff(np.array(found)[order]) >= least - 1e-9).all()
    assert np.mean(found) == pytest.approx(np.mean(wanted), abs=1e-9)
    if (np.diff(np.sort(wanted)) >= least).all():
        assert found == pytest.approx(wanted)


def test_the_same_lines_give_the_same_file(tmp_path):
    lines = [
        ("a", "rows", (10, 100, 1000), (0.1, 0.2, 0.3), 0.2),
        ("b", "rows", (10, 1000, 1_000_000), (0.1, 0.9, 9.0), 1.0),
        ("a", "support vectors", (1, 10), (0.1, 0.2), 0.3),
    ]
    draw(lines, tmp_path / "one.svg")
    draw(lines, tmp_path / "two.svg")
    one = (tmp_path / "one.svg").read_text()
    assert "e+0" not in one
    assert one == (tmp_path / "two.svg").read_text()
    assert "<dc:date>" not in one


# Baselines.


@given(
    st.dictionaries(names, st.tuples(positive, positive, st.booleans()), max_size=8),
    st.dictionaries(names, positive, max_size=4),
    st.dictionaries(names, positive, max_size=4),
)
@settings(max_examples=60)
def test_exactly_what_is_worse_by_more_than_a_quarter_is_flagged(both, gone, come):
    old = {name: before for name, (before, _, _) in both.items()} | {
        f"gone {name}": value for name, value in gone.items()
    }
    new = {name: Ratio(now, larger) for name, (_, now, larger) in both.items()} | {
        f"come {name}": Ratio(value) for name, value in come.items()
    }
    found = baseline.compare(old, new)
    expected = {
        name
        for name, (before, now, larger) in both.items()
        if (before / now if larger else now / before) > 1.25
    }
    assert set(found.regressions) == expected
    assert not expected & set(found.gains)
    assert found.added == sorted(f"come {name}" for name in come)
    assert found.lost == sorted(f"gone {name}" for name in gone)
    factors = [found.factors[name] for name in found.regressions]
    assert factors == sorted(factors, reverse=True)


@given(st.dictionaries(names, st.tuples(positive, st.booleans()), max_size=5))
@settings(max_examples=20)
def test_nothing_is_flagged_against_itself(ratios):
    new = {name: Ratio(*pair) for name, pair in ratios.items()}
    found = baseline.compare({name: ratio.value for name, ratio in new.items()}, new)
    assert (found.regressions, found.gains, found.added, found.lost) == ([], [], [], [])


@pytest.mark.parametrize(
    ("now", "larger", "flagged"),
    [(8.1, True, False), (7.9, True, True), (12.4, False, False), (12.6, False, True)],
)
def test_the_limit_is_a_quarter_in_either_direction(now, larger, flagged):
    found = baseline.compare({"a": 10.0}, {"a": Ratio(now, larger)})
    assert (found.regressions == ["a"]) is flagged


def test_a_baseline_is_read_as_it_was_written_and_the_other_sizes_stay(tmp_path):
    path = tmp_path / "baseline.json"
    assert baseline.read("quick", path) == {}
    baseline.write("quick", {"b": Ratio(2.0), "a": Ratio(0.012345)}, path)
    baseline.write("full", {"a": Ratio(3.0)}, path)
    assert baseline.read("quick", path) == {"a": 0.0123, "b": 2.0}
    assert baseline.read("full", path) == {"a": 3.0}
    assert list(json.loads(path.read_text())["quick"]) == ["a", "b"]


def test_ratios_are_called_by_their_section():
    found = baseline.collect([section("One", a=Ratio(1.0)), section("Two", a=Ratio(2.0, False))])
    assert found == {"One: a": Ratio(1.0), "Two: a": Ratio(2.0, False)}


def test_a_title_may_have_a_colon():
    assert baseline.belongs("Rules: on wbc: a", [section("Rules: on wbc")])
    assert not baseline.belongs("Rules: on wbc: a", [section("Rule"), section("on wbc")])


def test_two_ratios_of_one_name_are_an_error():
    with pytest.raises(ValueError, match="two ratios are called 'One: a'"):
        baseline.collect([section("One", a=Ratio(1.0)), section("One", a=Ratio(2.0))])


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_ratio_that_is_none_is_an_error(value):
    with pytest.raises(ValueError, match="'One: a' is"):
        baseline.collect([section("One", a=Ratio(value))])


def test_the_page_says_what_moved_what_is_new_and_what_is_gone():
    old = {"A: x": 10.0, "A: y": 1.0, "A: gone": 1.0, "A: same": 1.0}
    new = {"A: x": Ratio(5.0), "A: y": Ratio(0.5, False), "A: come": Ratio(1), "A: same": Ratio(1)}
    text = baseline.to_section(baseline.compare(old, new), "run").to_markdown()
    assert re.search(r"A: x +\| larger +\| 10 +\| 5 +\| \*\*worse 2.00 times\*\*", text)
    assert re.search(r"A: y +\| smaller +\| 1 +\| 0.5 +\| better 2.00 times", text)
    assert "Of 3 ratios 1 are worse by more than 25 % and 1 are better" in text
    assert "Not in the baseline: A: come." in text
    assert "Not measured this time: A: gone." in text
    assert "A: same" not in text


def test_without_a_baseline_the_page_says_how_to_make_one():
    found = baseline.to_section(baseline.compare({}, {"A: x": Ratio(1.0)}), "run it")
    assert "`run it --set-baseline`" in found.verdict
    assert found.table.rows == []


# Timings.


def test_the_shortest_time_of_each_is_taken_and_they_take_turns():
    turns = []
    race(lambda: turns.append("a"), lambda: turns.append("b"), repeat=3)
    assert turns == ["a", "b"] * 3


@pytest.mark.parametrize(("enough", "turns"), [(0.0, 2), (1e9, 5)])
def test_rivals_have_as_many_turns_and_two_at_least_when_they_are_short(enough, turns):
    calls = []
    work = lambda name: lambda: (calls.append(name), sum(range(20_000)))
    race(work("a"), work("b"), repeat=5, enough=enough)
    assert calls == ["a", "b"] * turns


def test_one_run_must_do_for_what_takes_long(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 1.5))
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    calls = []
    assert race(lambda: calls.append("a"), lambda: calls.append("b"), enough=2.0) == [1.5, 1.5]
    assert calls == ["a", "b"]


def test_what_is_short_is_repeated_and_its_time_divided():
    calls = []

    def work():
        calls.append(None)
        sum(range(2_000))

    seconds = race(work, repeat=2, least=0.02)[0]
    assert len(calls) > 10
    assert seconds < 0.02


def test_sleeping_costs_no_processor_time():
    assert race(lambda: time.sleep(0.05), repeat=1)[0] < 0.04


def test_children_are_timed_apart():
    idle = [sys.executable, "-S", "-E", "-c", "pass"]
    busy = [sys.executable, "-S", "-E", "-c", "sum(range(5_000_000))"]
    short, long = start.child_seconds([idle, busy], repeat=2, enough=60.0)
    assert 0.0 < short < long


def test_numpy_masks_queries_and_covers_are_of_one_opinion():
    cells, over_query, over_masks, seconds = covers.measure(500)
    assert len(cells) == 7
    assert min(over_query, over_masks, seconds) > 0.0


def test_masks_have_closed_lower_and_open_upper_ends():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [0.5, np.inf]])
    found = covers.by_masks([[(0, 0.0, 1.0)], [(0, 0.5, 2.0), (1, 5.0, np.inf)], []], X)
    np.testing.assert_array_equal(
        found, [[True, False, True], [False, True, True], [True, False, True]]
    )


def test_a_table_without_rules_is_explained():
    rows = [["9 x 20", "10", "7", "0.1"], ["9 x 50", "50", "0", "0.1"]]
    found = extraction.without_rules(rows)
    assert found.startswith(" No rule was found at 9 x 50 (50 weights): ")
    assert "covers the points that a rule needs" in found
    assert extraction.without_rules(rows[:1]) == ""


def test_the_start_names_the_classes_that_people_use(monkeypatch):
    seconds = [0.01, 0.02, 0.1, 2.01, 1.51, 0.03]
    monkeypatch.setattr(start, "child_seconds", lambda *_: seconds)
    found = start.section(full=False).finding
    assert "`import clearmargin` adds 10 ms" in found
    assert (
        "loading `LPSVC` and `RuleExtractor` adds 2000 ms, beside 1500 ms of `import sklearn.svm`"
        in found
    )


# Memory.


def test_every_peer_of_a_call_is_measured():
    assert set(memory.PEERS) | set(memory.PEERS.values()) <= set(memory.CALLS)


def test_a_call_that_fills_an_array_needs_its_size_on_top():
    # In a process of its own, whose peak is not that of the tests.
    code = (
        "import numpy as np; from benchmarks.speed import memory as m\n"
        "m.CALLS = {'fill': m.Call(100_000, 0, lambda X, y: np.ones(400 * len(X)))}\n"
        "print(m.peaks(False)['fill'])"
    )
    root = runner.FOLDER.parent
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=root
    )
    assert float(done.stdout) == pytest.approx(400 * 100_000 * 8 / 2**20, rel=0.1)


# The command line.


def outcome(rows, peak, seconds):
    ours = command_line.Run(wall=seconds, cpu=seconds, peak=peak)
    theirs = ours._replace(wall=1.0, cpu=1.0)
    return command_line.Outcome(rows, "4 digits", "coverage", theirs, ours)


def test_the_peak_of_memory_is_said_as_it_was_measured():
    both = [outcome(1_000, 100.0, 9.0), outcome(10_000, 150.0, 4.0)]
    assert command_line._peaks(both) == "grows by 1.5 to 1.5 times where the rows grow by 10 times"
    assert command_line._smaller(both) == "; one of 1,000 rows at most 9.0 times"
    assert "grows" not in command_line._peaks(both[1:])
    assert command_line._smaller(both[1:]) == ""


def test_large_figures_are_written_out():
    assert [growth._figures(value, 2) for value in (0.123, 1.23, 99.4, 1950.4)] == [
        "0.12",
        "1.2",
        "99",
        "1,950",
    ]


# Partitions.


def test_planes_over_partitions_are_compared_to_the_bit_and_passes_counted():
    row, ratios = partitions.measure(partitions.Case("plain", 9_000, 12))
    assert row[5] == "yes"
    assert 2 <= int(row[2].split()[0]) <= 6
    assert float(row[3]) > 0.0
    assert all(ratio.value > 0.0 for ratio in ratios.values())


def test_a_file_is_fitted_to_the_plane_of_the_same_numbers_in_memory(tmp_path):
    path = tmp_path / "rows.parquet"
    partitions.write_file(path, 2_000, 12)
    found = partitions.fit_file(str(path))
    ((X, y),) = partitions.chunks(2_000, 12)
    model = partitions.LPSVC(100.0 / 2_000).fit(X.astype(np.float32), y)
    plane = model.coef_.tobytes() + model.intercept_.tobytes()
    assert found["plane"] == plane.hex()
    assert found["peak"] > 10.0


@pytest.mark.parametrize("case", partitions.FULL, ids=lambda case: f"{case.name} {case.m}")
def test_tables_of_partitions_are_of_two_classes(case):
    X, y = partitions.draw(case._replace(m=1_000))
    assert X.shape == (1_000, case.n)
    assert set(y.tolist()) == {-1.0, 1.0}


def test_large_files_are_written_as_described_and_told_with_their_ratios(tmp_path):
    large_files.write_folder(tmp_path, 400, n_files=2)
    frame = pd.read_parquet(tmp_path)
    assert frame.shape == (400, 21)
    assert frame["x0"].dtype == np.float32
    assert set(frame["y"]) == {"ill", "well"}
    run = command_line.Run(wall=1.0, cpu=3.0, peak=200.0)
    reading = command_line.Run(wall=1.0, cpu=0.5, peak=100.0)
    assert large_files.Command("train", "t", run, reading).cells()[2:] == ["3.0", "**6.0**", "200"]
    assert large_files.Command("train", "t", run).ratio is None
