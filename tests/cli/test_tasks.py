"""What becomes of the columns of a table when it is learned from."""

from __future__ import annotations

import argparse

import pandas as pd
import pytest

from clearmargin.cli.command_options import TASK, add_options
from clearmargin.cli.console import Console
from clearmargin.cli.inputs import read_task

pytestmark = pytest.mark.usefixtures("no_folds")


def options(names, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_options(parser, *names)
    return parser.parse_args(list(words))


def task_of(tmp_path, frame: pd.DataFrame, *words: str, console: Console | None = None):
    frame.to_csv(tmp_path / "a.csv", index=False)
    arguments = options((*TASK, "missing"), str(tmp_path / "a.csv"), "--target", "y", *words)
    return read_task(arguments, console or Console(quiet=True))


def test_columns_that_mean_nothing_are_left_out_with_a_word(tmp_path):
    m = 24
    frame = pd.DataFrame(
        {
            "row": range(100, 100 + m),
            "name": [f"n{k}" for k in range(m)],
            "empty": [None] * m,
            "measure": [(7 * k) % m for k in range(m)],
            "kind": ["a", "b"] * 12,
            "y": ["no"] * 12 + ["yes"] * 12,
        }
    )
    console = Console(quiet=True)
    task = task_of(tmp_path, frame, console=console)
    assert list(task.X.names) == ["measure", "kind"]
    assert [note.split(",")[0] for note in console.notes] == [
        "column 'row' counts the rows",
        "column 'name' holds 24 different texts in 24 rows",
        "column 'empty' has no value in any row",
    ]
    kept = task_of(tmp_path, frame, "--categories", "name", "--drop", "row,empty")
    assert "name" in kept.X.names


def test_classes_are_whole_numbers_or_texts(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5, 4.5], "y": [0, 1, 0, 1]})
    assert task_of(tmp_path, frame).y.tolist() == [0, 1, 0, 1]
    assert task_of(tmp_path, frame, "--positive", "1").positive == 1
    assert task_of(tmp_path, frame.assign(y=[0.5, 1.5, 0.5, 1.5])).counts == {"0.5": 2, "1.5": 2}
    gap = frame.assign(y=[0, None, 0, 1])
    assert task_of(tmp_path, gap, "--missing", "drop").y.tolist() == [0, 0, 1]


def test_rows_keep_their_numbers(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None, 3.5, 4.5], "y": ["u", "v", "u", "v"]})
    task = task_of(tmp_path, frame, "--missing", "drop")
    assert task.X.labels.tolist() == [0, 2, 3]
    assert task.y.tolist() == ["u", "u", "v"]


def test_filled_rows_are_what_pandas_would_fill(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.5, None, 3.5, 4.5], "k": ["p", "q", "q", None], "y": ["u", "v", "u", "v"]}
    )
    task = task_of(tmp_path, frame, "--missing", "impute")
    expected = frame.drop(columns="y").fillna({"a": frame["a"].median(), "k": "q"})
    assert task.X.values("a").tolist() == expected["a"].tolist()
    assert task.X.values("k").tolist() == expected["k"].tolist()
    assert task.fill == {"a": 3.5, "k": "q"}
