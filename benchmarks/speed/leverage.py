"""Properties that set the top of a ranking apart from its bottom: our miner beside pysubgroup and mlxtend.

Everybody gets the same table of truth values and hands back a Python list of properties with their leverages; the lists
are compared. The peers run in environments of their own, with a limit on their CPU time and memory. Everybody has as
many runs: up to ten within a second, and as many again later, because a busy moment of the machine would meet all that
take milliseconds; only peers that need seconds are asked once.
"""

from __future__ import annotations

import json
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.page import Ratio, Section, Table
from benchmarks.peers.environment import Absent, python_of
from benchmarks.peers.work.contrast import MOST_RUNS, RUN_SECONDS
from benchmarks.peers.worker import work
from clearmargin.rule_base.leverage_search import Contrast, least_product, search_above

MIN_LEVERAGE = 0.08
INFORMATIVE = 11  # attributes, as in the synthetic data of the paper
SIZES = (2, 3, 4)
# CPU seconds that a peer may take, in a quick run and in a full one; longer for the largest table, where we need a good
# part of a second.
QUICK_LIMIT, LIMIT, LONG_LIMIT = 5, 10, 30
MEMORY = 10 * 2**30
# Peers that need less for a run of each size are asked a second time.
AGAIN = 1.0
REQUIRED = {50: 10.0, 500: 40.0}  # times faster than the better peer, by number of properties
# What floats at a threshold need so that nothing that reaches it exactly is lost.
SLACK = 1e-12
# A peer's package and the algorithm of it.
PEERS = {
    "pysubgroup DFS": ("pysubgroup", "DFS"),
    "pysubgroup Apriori": ("pysubgroup", "Apriori"),
    "mlxtend apriori": ("mlxtend", "apriori"),
    "mlxtend fpgrowth": ("mlxtend", "fpgrowth"),
}

Answer = list[tuple[tuple[int, ...], float]]


@dataclass(frozen=True)
class Ends:
    """Two ends of a ranking; both values of each attribute are properties."""

    masks: NDArray[np.bool_]
    is_top: NDArray[np.bool_]
    max_size: int

    def save(self, path: Path) -> None:
        """Write the table for a worker."""
        np.savez(
            path,
            masks=self.masks,
            is_top=self.is_top,
            max_size=self.max_size,
            least=MIN_LEVERAGE - SLACK,
            memory=MEMORY,
        )


def ends(rows: int, properties: int, max_size: int, seed: int = 0) -> Ends:
    """Draw attributes that are fair coins but for a few, which four of five at the top have and one of five below."""
    rng = np.random.default_rng(seed)
    is_top = rng.permutation(rows) < rows // 2
    masks = np.empty((properties, rows), dtype=bool)
    for k in range(properties // 2):
        chance = np.where(is_top, 0.8, 0.2) if k < INFORMATIVE else 0.5
        masks[2 * k] = rng.random(rows) < chance
        masks[2 * k + 1] = ~masks[2 * k]
    return Ends(masks, is_top, max_size)


def by_us(data: Ends) -> Answer:
    """Run the exact search."""
    top, bottom = np.flatnonzero(data.is_top), np.flatnonzero(~data.is_top)
    contrast = Contrast.of(data.masks, top, bottom, np.arange(len(data.masks)) // 2)
    least = least_product(MIN_LEVERAGE, len(top), len(bottom))
    found = search_above(contrast, least, data.max_size)
    leverage = contrast.product(found.top, found.bottom) / len(data.is_top) ** 2
    sizes = (found.items >= 0).sum(axis=1).tolist()
    rows = zip(found.items.tolist(), sizes, leverage.tolist(), strict=True)
    return [(tuple(items[:size]), lev) for items, size, lev in rows]


@dataclass(frozen=True)
class Time:
    """CPU seconds of the best of some runs, and what was found."""

    seconds: float
    found: Answer
    version: str = ""


def _child(data: Ends, pipe: Connection) -> None:
    times: list[float] = []
    while not times or (len(times) < MOST_RUNS and sum(times) < RUN_SECONDS):
        start = time.process_time()
        found = by_us(data)
        times.append(time.process_time() - start)
    pipe.send(Time(min(times), found))


def our_time(data: Ends) -> Time:
    """The best of some runs in a process of their own, as the peers have one."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(data, theirs))
    process.start()
    theirs.close()
    with ours:
        result: Time = ours.recv()
    process.join()
    return result


def peer_times(
    name: str, tables: Sequence[Ends], folder: Path, limit: int
) -> list[Time | str | Absent]:
    """Times of a peer on tables of growing size; the limit where it met one, there and in what follows."""
    package, algorithm = PEERS[name]
    python = python_of(package)
    if isinstance(python, Absent):
        return [python] * len(tables)
    paths = [folder / f"size-{data.max_size}.npz" for data in tables]
    command = [str(python), "-m", f"benchmarks.peers.work.{package}", algorithm]
    answers = work(command, paths, folder / algorithm, limit, gives_up=True)
    times: list[Time | str | Absent] = [_time(package, answer, limit) for answer in answers]
    for k, met in enumerate(times):
        if isinstance(met, str):
            return [*times[:k], *[met] * (len(times) - k)]
    return times


def better(
    first: Sequence[Time | str | Absent], second: Sequence[Time | str | Absent]
) -> list[Time | str | Absent]:
    """The shorter of two times of each table; the first answer where one of them is no time."""
    return [
        two
        if isinstance(one, Time) and isinstance(two, Time) and two.seconds < one.seconds
        else one
        for one, two in zip(first, second, strict=True)
    ]


def _time(package: str, answer: Path | str, limit: int) -> Time | str | Absent:
    if isinstance(answer, str):
        is_late = answer.startswith("stopped after")
        return f">{limit} s" if is_late else Absent(package, answer)
    read: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in read:
        return Absent(package, read["error"])
    if "met" in read:
        return f">{MEMORY >> 30} GB"
    found = [(tuple(items), leverage) for items, leverage in read["found"]]
    return Time(read["seconds"], found, f"{package} {read['version']}")


def _agree(ours: Answer, theirs: Answer) -> bool:
    mine, other = dict(ours), dict(theirs)
    return (
        len(theirs) == len(other)
        and mine.keys() == other.keys()
        and all(abs(mine[items] - other[items]) < SLACK for items in mine)
    )


def _text(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


@dataclass(frozen=True)
class Measured:
    """Rows of the table for one number of cases and of properties, how many times faster we are, and who was there."""

    rows: list[list[str]]
    factors: dict[int, float]
    present: frozenset[str]
    absent: frozenset[Absent]


def measure(rows: int, properties: int, limit: int) -> Measured:
    """Everybody on conjunctions of two, three and four."""
    tables = [ends(rows, properties, size) for size in SIZES]
    before = [our_time(data) for data in tables]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for data in tables:
            data.save(folder / f"size-{data.max_size}.npz")
        answers = {name: peer_times(name, tables, folder, limit) for name in PEERS}
        for name, first in answers.items():
            if sum(one.seconds if isinstance(one, Time) else limit for one in first) < AGAIN:
                answers[name] = better(first, peer_times(name, tables, folder, limit))
    after = [our_time(data) for data in tables]
    ours = [min(one.seconds, two.seconds) for one, two in zip(before, after, strict=True)]
    lines, factors = [], {}
    for k, size in enumerate(SIZES):
        there = {name: times[k] for name, times in answers.items()}
        for name, answer in there.items():
            if isinstance(answer, Time):
                assert _agree(before[k].found, answer.found), f"{name} found other properties"
        cells, ratio, factor = compared(ours[k], list(there.values()), limit)
        if factor is not None:
            factors[size] = factor
        start = [f"{rows:,} x {properties}", f"{size}", f"{len(before[k].found):,}", _text(ours[k])]
        lines.append([*start, *cells, ratio])
        print(lines[-1], flush=True)
    everything = [one for times in answers.values() for one in times]
    present = frozenset(one.version for one in everything if isinstance(one, Time))
    absent = frozenset(one for one in everything if isinstance(one, Absent))
    return Measured(lines, factors, present, absent)


def compared(
    ours: float, answers: Sequence[Time | str | Absent], limit: int
) -> tuple[list[str], str, float | None]:
    """Cells of the peers, the cell that compares us with the better one, and the factor in it."""
    cells = [
        _text(a.seconds) if isinstance(a, Time) else a if isinstance(a, str) else "absent"
        for a in answers
    ]
    ended = [answer.seconds for answer in answers if isinstance(answer, Time)]
    # A peer that met a limit of time would have needed longer; one that met that of memory says nothing of time.
    late = any(answer == f">{limit} s" for answer in answers)
    if not ended and not late:
        return cells, "-", None
    factor = min(ended or [float(limit)]) / ours
    return cells, f"**{'' if ended else '>'}{factor:.0f}**", factor


def large() -> tuple[list[str], float]:
    """A table that no peer is asked for."""
    data = ends(1_000_000, 200, 3)
    start = time.perf_counter()
    found = by_us(data)
    seconds = time.perf_counter() - start
    line = ["1,000,000 x 200", "3", f"{len(found):,}", f"{seconds:.1f} s (wall)"]
    return [*line, *("-" for _ in PEERS), "-"], seconds


def _verdict(measured: dict[tuple[int, int], Measured], seconds: float) -> str:
    parts = []
    for properties, least in REQUIRED.items():
        factors = [
            f for (_, n), m in measured.items() if n == properties for f in m.factors.values()
        ]
        if factors:
            said = "met" if min(factors) >= least else "**missed**"
            parts.append(
                f"At {properties} properties we are at least {min(factors):.0f} times as fast as the better peer "
                f"(required: {least:.0f}; {said})."
            )
    said = "met" if seconds < 60 else "**missed**"
    parts.append(
        f"1,000,000 rows and 200 properties take {seconds:.1f} s (required: a minute; {said})."
    )
    present = sorted({name for m in measured.values() for name in m.present})
    if present:
        parts.append(f"Measured with {' and '.join(present)}.")
    absent = sorted({(one.peer, one.reason) for m in measured.values() for one in m.absent})
    parts += [f"Absent: {peer} ({reason})." for peer, reason in absent]
    return " ".join(parts)


def _finding(measured: dict[tuple[int, int], Measured], seconds: float) -> str:
    factors = [factor for one in measured.values() for factor in one.factors.values()]
    if not factors:
        return f"1,000,000 rows and 200 properties take {seconds:.1f} s; no peer was there to compare with."
    return (
        f"the search alone lists all properties {min(factors):.0f} to {max(factors):.0f} times as fast as the better "
        "of pysubgroup and mlxtend."
    )


def section(full: bool = True) -> Section:
    """The table over rows, properties and sizes; a quick run leaves the largest out and waits less for the peers."""
    limits = {
        (1_000, 50): LIMIT,
        (100_000, 50): LIMIT,
        (1_000, 500): LIMIT,
        (100_000, 500): LONG_LIMIT,
    }
    if not full:
        limits = dict.fromkeys(
            [key for key, limit in limits.items() if limit == LIMIT], QUICK_LIMIT
        )
    measured = {key: measure(*key, limit) for key, limit in limits.items()}
    line, seconds = large()
    header = ["rows x properties", "size", "found", "ours", *PEERS, "better peer / ours"]
    waits = " or ".join(f"{limit}" for limit in sorted(set(limits.values())))
    return Section(
        "Properties of the two ends of a ranking",
        f"All conjunctions up to a size with a leverage of at least {MIN_LEVERAGE} either way, from a table of truth "
        "values to a Python list; the lists are the same. CPU time, the shortest of some runs. pysubgroup maximises "
        "weighted relative accuracy, which is leverage, with its bound; mlxtend mines each end with the least support "
        f"that the leverage implies. A peer that needs more than {waits} CPU seconds or {MEMORY >> 30} GB is not asked "
        "for larger conjunctions.",
        Table(header, [*[row for one in measured.values() for row in one.rows], line]),
        _verdict(measured, seconds),
        _finding(measured, seconds),
        {
            f"better peer / ours at {rows:,} x {properties}, size {size}": Ratio(factor)
            for (rows, properties), one in measured.items()
            for size, factor in one.factors.items()
        },
    )


if __name__ == "__main__":
    print(section().to_markdown())
