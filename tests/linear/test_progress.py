from __future__ import annotations

import pytest

from clearmargin.datasets import load_wbc
from clearmargin.linear import LPSVCCV
from clearmargin.linear.progress import progress_bar


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
    monkeypatch.setattr("clearmargin.linear.progress._PATIENCE", 0.0)
    with progress_bar("folds", 2) as advance:
        advance()
    assert "folds [############............] 1/2" in capsys.readouterr().err


def test_cross_validation_shows_its_folds(capsys):
    LPSVCCV([0.003], cv=3, progress=True).fit(*load_wbc(return_X_y=True))
    assert "cross-validation" in capsys.readouterr().err
