"""What the driver of a search over partitions knows after each pass, in a file from which it can go on.

The state is small: the level, the plane and the vertex of the level before, the width of the window, and the numbers
of the rows that entered it since. Rows themselves are fetched again. Wherever the search goes on, it ends at the one
optimum, so that a driver that was stopped finds the same plane to the bit.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError, FileDamagedError
from clearmargin.lp_svm.lpsvm import LPSVMData
from clearmargin.lp_svm.lpsvm_blocks import Census, Plane
from clearmargin.rules.file_writing import json_text, read_json, write_text_atomically
from clearmargin.rules.value import IntArray

__all__ = ["Active", "Checkpoint", "Start", "State"]

_FORMAT = "clearmargin checkpoint 1"


class Active(NamedTuple):
    """A vertex: numbers of the rows on the margin, and what they fix."""

    rows: IntArray
    features: NDArray[np.intp]
    with_intercept: bool


class Start(NamedTuple):
    """What one level tells the next: its plane, its vertex, and the number of its rows."""

    plane: Plane
    active: Active | None
    n_rows: int


class State(NamedTuple):
    """Where a search is.

    Parameters
    ----------
    n_levels : int
        Number of samples that are solved.
    start : Start or None
        What the last of them tells.
    features : ndarray of int
        Features in the master.
    width : float or None
        The width of the window of all rows, where it is open.
    entered : ndarray of int
        Rows that entered it.
    """

    n_levels: int
    start: Start | None
    features: NDArray[np.intp]
    width: float | None
    entered: IntArray


@dataclass(frozen=True)
class Checkpoint:
    """A file with the state of one search.

    Parameters
    ----------
    path : Path
        The file; it need not exist.
    key : str
        What the search is about, see `key_of`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Checkpoint(Path(folder) / "state.json", "a table")
    ...     none = np.zeros(0, dtype=np.intp)
    ...     before = file.load()
    ...     file.save(State(2, Start(Plane(np.ones(2), 0.5), None, 400), none, 0.1, np.array([7])))
    ...     before, file.load().width, file.load().entered
    (None, 0.1, array([7]))
    """

    path: Path
    key: str

    @staticmethod
    def key_of(problem: LPSVMData, census: Census) -> str:
        """Name a search by what decides its optimum, as far as it is known before: partitions have no part in it."""
        sign = None if problem.sign is None else problem.sign.tolist()
        facts = [problem.penalty, problem.fit_intercept, sign, census.counts.tolist()]
        facts += [*census.cost, census.low.tolist(), census.high.tolist()]
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def load(self) -> State | None:
        """Read the state; None where there is no file.

        Raises
        ------
        DataError
            If the file belongs to another search.
        """
        if not self.path.exists():
            return None
        document = read_json(self.path)
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise FileDamagedError(
                f"{self.path} is no checkpoint; name another file, or remove this one"
            )
        if document["key"] != self.key:
            raise DataError(
                f"checkpoint {self.path} belongs to another table or to other settings; remove it to start anew, or "
                "name another file"
            )
        return _state(document)

    def save(self, state: State) -> None:
        """Write the state, whole or not at all."""
        document: dict[str, Any] = {"format": _FORMAT, "key": self.key}
        document |= {
            "n_levels": state.n_levels,
            "features": state.features.tolist(),
            "width": state.width,
            "entered": state.entered.tolist(),
        }
        if state.start is not None:
            plane, active, n_rows = state.start
            document["start"] = {
                "w": plane.w.tolist(),
                "b": plane.b,
                "band": plane.band,
                "n_rows": n_rows,
                "active": None
                if active is None
                else [active.rows.tolist(), active.features.tolist(), bool(active.with_intercept)],
            }
        write_text_atomically(self.path, json_text(document, indent=None), overwrite=True)

    def remove(self) -> None:
        """Remove the file, when the search is over."""
        self.path.unlink(missing_ok=True)


def _state(document: dict[str, Any]) -> State:
    start = None
    if "start" in document:
        one = document["start"]
        plane = Plane(np.array(one["w"], dtype=np.float64), float(one["b"]), float(one["band"]))
        active = None
        if one["active"] is not None:
            rows, features, with_intercept = one["active"]
            active = Active(_whole(rows), _whole(features), with_intercept)
        start = Start(plane, active, int(one["n_rows"]))
    return State(
        int(document["n_levels"]),
        start,
        _whole(document["features"]),
        document["width"],
        _whole(document["entered"]),
    )


def _whole(numbers: list[int]) -> NDArray[np.intp]:
    return np.array(numbers, dtype=np.intp)
