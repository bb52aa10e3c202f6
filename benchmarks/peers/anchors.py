"""Ask alibi's anchors, in their own environment, for boxes around single cases.

A problem is an .npz file as for `run`, and has the teacher itself: `w` and `b` for class 1 where x @ w + b > 0, or
`sv`, `dual`, `b`, `gamma`, `mean` and `scale` for an RBF machine on standardised rows. `rows` are those of X_test to
explain.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environment import Absent, python_of
from benchmarks.peers.worker import work

__all__ = ["Absent", "Anchor", "Anchors", "run_anchors"]


@dataclass(frozen=True)
class Anchor:
    """A box around a row: lower < x <= upper, infinite where it has no condition.

    `precision` and `coverage` are what alibi says of it, `predicted` is the teacher's class of the row, `seconds` the
    CPU time of the explanation.
    """

    row: int
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    precision: float
    coverage: float
    predicted: int
    seconds: float


@dataclass(frozen=True)
class Anchors:
    """The anchors of one problem, and why there are not more of them, if so."""

    peer: str
    version: str
    anchors: tuple[Anchor, ...]
    note: str


def run_anchors(problems: Sequence[Path], folder: Path, seconds: float) -> list[Anchors | Absent]:
    """Explain the rows of each problem, for so many CPU seconds each problem; answers go to the folder.

    Anchors that were found before time was up are kept.
    """
    python = python_of("alibi")
    if isinstance(python, Absent):
        return [python] * len(problems)
    place = folder / "alibi-anchors"
    command = [str(python), "-m", "benchmarks.peers.work.alibi", "anchors"]
    answers = work(command, problems, place, seconds)
    return [
        _anchors(place / f"{Path(problem).stem}.json", "" if isinstance(a, Path) else a)
        for problem, a in zip(problems, answers, strict=True)
    ]


def _anchors(path: Path, note: str) -> Anchors | Absent:
    if not path.is_file():
        return Absent("alibi", note or "no rows were asked for")
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "error" in answer:
        return Absent("alibi", answer["error"])
    found = tuple(_anchor(fields) for fields in answer["anchors"])
    return Anchors("alibi", answer["version"], found, note)


def _anchor(fields: dict[str, Any]) -> Anchor:
    lower = np.array([-np.inf if value is None else value for value in fields["lower"]])
    upper = np.array([np.inf if value is None else value for value in fields["upper"]])
    return Anchor(**(fields | {"lower": lower, "upper": upper}))
