"""Bars on stderr: shown where somebody looks at slow work, and closed however it ends."""

from __future__ import annotations

import pytest

from clearmargin.progress import part, progress_bar, share_bar


def test_a_bar_counts_the_steps(capsys):
    with progress_bar("folds", 4, show=True) as advance:
        for _ in range(4):
            advance()
    shown = capsys.readouterr()
    assert "folds [########################] 4/4" in shown.err
    assert shown.err.endswith("\n")
    assert not shown.out


@pytest.mark.parametrize("show", [False, "auto"])
def test_nothing_is_written_where_nobody_looks(capsys, show):
    with progress_bar("folds", 2, show=show) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_quick_work_shows_no_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_bar("folds", 2) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_on_a_terminal_slow_work_shows_a_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("clearmargin.progress._PATIENCE", 0.0)
    with progress_bar("folds", 2) as advance:
        advance()
    assert "folds [############............] 1/2" in capsys.readouterr().err


def test_a_share_bar_says_how_much_is_done_and_found(capsys, monkeypatch):
    monkeypatch.setattr("clearmargin.progress._PAUSE", 0.0)
    with share_bar("search", 2.0, "rules", show=True) as watch:
        watch(0.5, 1)
        watch(0.5, 2)
        for _ in range(10):
            watch(0.1, 0)
    shown = capsys.readouterr().err
    assert "search [######..................] 25 %, 1 rules so far" in shown
    assert shown.endswith("search [########################] 100 %, 3 rules so far \n")


def test_a_share_bar_is_not_redrawn_all_the_time(capsys):
    with share_bar("search", 1.0, "rules", show=True) as watch:
        for _ in range(10_000):
            watch(1e-4, 0)
    assert capsys.readouterr().err.count("\r") < 100


@pytest.mark.parametrize("show", [False, "auto"])
def test_a_share_bar_costs_nothing_where_nobody_looks(show, capsys):
    with share_bar("search", 1.0, "rules", show=show) as watch:
        assert watch is None
        assert part(watch, 0.5) is None
    assert capsys.readouterr().err == ""


def test_a_part_counts_for_its_share(capsys):
    told = []

    def watch(share, found):
        told.append((share, found))

    part(watch, 0.25)(0.5, 3)
    part(watch, 0.5, counts=False)(1.0, 3)
    assert told == [(0.125, 3), (0.5, 0)]


def test_of_bars_within_bars_the_outer_one_is_shown(capsys):
    with progress_bar("outer", 1, show=True) as advance:
        with share_bar("inner", 1.0, "rules", show=True) as watch:
            assert watch is None
        with progress_bar("inner", 1, show=True) as inner:
            inner()
        advance()
    with share_bar("next", 1.0, "rules", show=True) as watch:
        assert watch is not None
    assert "inner" not in capsys.readouterr().err


def stopped_half_way():
    with share_bar("search", 1.0, "rules", show=True) as watch:
        watch(0.5, 1)
        raise KeyboardInterrupt


def test_an_interruption_ends_the_line_and_goes_on(capsys):
    with pytest.raises(KeyboardInterrupt):
        stopped_half_way()
    assert capsys.readouterr().err.endswith("50 %, 1 rules so far \n")
    with share_bar("search", 1.0, "rules", show=True) as watch:
        assert watch is not None
