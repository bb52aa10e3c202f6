"""Properties that set the top of a ranking apart from its bottom: our miner beside pysubgroup and mlxtend.

Everybody gets the same table of truth values and hands back a Python list of properties with their leverages; the lists
are compared. Every run is a process of its own, with a limit on its CPU time, and the ways take turns.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.page import Section, Table
from clearmargin.programs.leverage_search import Contrast, least_product, search_above

MIN_LEVERAGE = 0.08
INFORMATIVE = 11  # attributes, as in the synthetic data of the paper
LIMIT, LONG_LIMIT = (
    10,
    30,
)  # CPU seconds; the longer for the largest table, where we need a good part of one
MEMORY = 10 * 2**30
REQUIRED = {50: 10.0, 500: 40.0}  # times faster than the better peer, by number of properties
# pysubgroup pins numpy < 2 but runs with later ones.
INSTALL = "pip install mlxtend matplotlib && pip install --no-deps pysubgroup"
# What floats at a threshold need so that nothing that reaches it exactly is lost.
SLACK = 1e-12

Answer = list[tuple[tuple[int, ...], float]]


@dataclass(frozen=True)
class Ends:
    """Two ends of a ranking; both values of each attribute are properties."""

    masks: NDArray[np.bool_]
    is_top: NDArray[np.bool_]
    max_size: int

    @property
    def frame(self) -> pd.DataFrame:
        """The table as pandas has it, without a copy."""
        return pd.DataFrame(self.masks.T, columns=[str(i) for i in range(len(self.masks))])


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


def by_pysubgroup(data: Ends, algorithm: str) -> Answer:
    """Search for weighted relative accuracy, once for each end."""
    ps: Any = importlib.import_module("pysubgroup")
    frame = data.frame
    space = [ps.EqualitySelector(name, True) for name in frame.columns]
    frame["is_top"] = data.is_top
    answer = []
    for is_top in (True, False):
        task = ps.SubgroupDiscoveryTask(
            frame,
            ps.BinaryTarget("is_top", is_top),
            space,
            ps.WRAccQF(),
            result_set_size=10**9,
            depth=data.max_size,
            min_quality=MIN_LEVERAGE - SLACK,
        )
        for quality, group, *_ in getattr(ps, algorithm)().execute(task).results:
            items = tuple(sorted(int(one.attribute_name) for one in group.selectors))
            answer.append((items, float(quality) if is_top else -float(quality)))
    return answer


def by_mlxtend(data: Ends, algorithm: str) -> Answer:
    """Mine each end for what is frequent enough to reach the leverage, and count that in the other.

    The library's own way, an additional item for the end and `association_rules`, has to mine both ends at once, with
    half the support and many times the work.
    """
    mine: Any = getattr(importlib.import_module("mlxtend.frequent_patterns"), algorithm)
    frame, n = data.frame, len(data.is_top)
    options: dict[str, Any] = {}
    if algorithm == "apriori":  # otherwise it holds all rows of all pairs
        options["low_memory"] = len(data.masks) ** 2 * n > 2**32
    answer = []
    for here, sign in ((data.is_top, 1), (~data.is_top, -1)):
        n_here, n_there = int(here.sum()), int((~here).sum())
        support = MIN_LEVERAGE * n * n / (n_here * n_there) - SLACK
        sets = mine(frame[here], min_support=support, max_len=data.max_size, **options)
        there = data.masks[:, ~here]
        for share, found in zip(sets["support"].tolist(), sets["itemsets"].tolist(), strict=True):
            items = tuple(sorted(found))
            count = int(np.logical_and.reduce(there[list(items)]).sum())
            leverage = (share * n_here * n_there - count * n_here) / n**2
            if leverage >= MIN_LEVERAGE - SLACK:
                answer.append((items, sign * leverage))
    return answer


PEERS: dict[str, tuple[str, Callable[[Ends], Answer]]] = {
    "pysubgroup DFS": ("pysubgroup", lambda data: by_pysubgroup(data, "DFS")),
    "pysubgroup Apriori": ("pysubgroup", lambda data: by_pysubgroup(data, "Apriori")),
    "mlxtend apriori": ("mlxtend", lambda data: by_mlxtend(data, "apriori")),
    "mlxtend fpgrowth": ("mlxtend", lambda data: by_mlxtend(data, "fpgrowth")),
}


def is_installed(package: str) -> bool:
    """Whether a peer can be asked; if so it is imported, here and not when it is measured."""
    if importlib.util.find_spec(package) is None:
        return False
    importlib.import_module("mlxtend.frequent_patterns" if package == "mlxtend" else package)
    return True


def _child(run: Callable[[Ends], Answer], data: Ends, pipe: Connection) -> None:
    # The CPU time is watched from outside: a limit of the system would make the clock below coarse.
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    times: list[float] = []
    begun = time.process_time()
    try:
        while not times or (len(times) < 5 and time.process_time() - begun < 1.0):
            start = time.process_time()
            answer = run(data)
            times.append(time.process_time() - start)
    except MemoryError:
        pipe.send(f">{MEMORY >> 30} GB")
    else:
        pipe.send((min(times), answer))


def limit_of(data: Ends) -> int:
    """CPU seconds that a peer may take."""
    return LONG_LIMIT if data.masks.size >= 50_000_000 else LIMIT


def timed(run: Callable[[Ends], Answer], data: Ends) -> tuple[float, Answer] | str:
    """CPU seconds and answer of the best of some runs in a process of their own, or the limit that it met.

    A run that fails in another way has printed why, and ends everything with an EOFError.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(run, data, theirs))
    process.start()
    theirs.close()
    try:
        while not ours.poll(0.5):
            if _cpu_seconds(process.pid) > limit_of(data):
                return f">{limit_of(data)} s"
        result: tuple[float, Answer] | str = ours.recv()
    finally:
        process.kill()
        process.join()
        ours.close()
    return result


def _cpu_seconds(pid: int | None) -> float:
    """What a process has used so far, as Linux says it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _agree(ours: Answer, theirs: Answer) -> bool:
    mine, other = dict(ours), dict(theirs)
    return (
        len(theirs) == len(other)
        and mine.keys() == other.keys()
        and all(abs(mine[items] - other[items]) < SLACK for items in mine)
    )


def compare(
    data: Ends, ways: dict[str, Callable[[Ends], Answer]]
) -> tuple[dict[str, float], dict[str, str]]:
    """Seconds of the ways that end, of which quick ones take three turns, and the limits that the others met."""
    best: dict[str, float] = {}
    met: dict[str, str] = {}
    expected: Answer | None = None
    for turn in range(3):
        for name, run in ways.items():
            if turn and (name in met or best[name] > 3):
                continue
            result = timed(run, data)
            if isinstance(result, str):
                met[name] = result
                continue
            expected = result[1] if expected is None else expected
            assert _agree(expected, result[1]), f"{name} found other properties"
            best[name] = min(result[0], best.get(name, np.inf))
    return {name: seconds for name, seconds in best.items() if name not in met}, met


def _text(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def measure(rows: int, properties: int) -> tuple[list[list[str]], list[float]]:
    """Rows of the table for conjunctions of two, three and four, and how many times faster we are."""
    asked = {name: run for name, (package, run) in PEERS.items() if is_installed(package)}
    cells = {name: "" if name in asked else "not installed" for name in PEERS}
    can_compare, lines, factors = bool(asked), [], []
    for size in (2, 3, 4):
        data = ends(rows, properties, size)
        best, met = compare(data, {"ours": by_us} | asked)
        cells |= {name: _text(best[name]) for name in asked if name in best} | met
        asked = {name: run for name, run in asked.items() if name in best}
        # A peer that met a limit of time would have needed longer.
        factor = min([best[name] for name in asked] or [float(limit_of(data))]) / best["ours"]
        if can_compare:
            factors.append(factor)
        ratio = f"**{'' if asked else '>'}{factor:.0f}**" if can_compare else "-"
        found = f"{len(by_us(data)):,}"
        start = [f"{rows:,} x {properties}", f"{size}", found, _text(best["ours"])]
        lines.append([*start, *cells.values(), ratio])
        print(lines[-1], flush=True)
    return lines, factors


def large() -> tuple[list[str], float]:
    """A table that no peer is asked for."""
    data = ends(1_000_000, 200, 3)
    start = time.perf_counter()
    found = by_us(data)
    seconds = time.perf_counter() - start
    line = ["1,000,000 x 200", "3", f"{len(found):,}", f"{seconds:.1f} s (wall)"]
    return [*line, *("-" for _ in PEERS), "-"], seconds


def _verdict(factors: dict[int, list[float]], seconds: float) -> str:
    parts = []
    for properties, least in REQUIRED.items():
        if factors[properties]:
            worst = min(factors[properties])
            said = "met" if worst >= least else "**missed**"
            parts.append(
                f"At {properties} properties we are at least {worst:.0f} times as fast as the better peer "
                f"(required: {least:.0f}; {said})."
            )
    said = "met" if seconds < 60 else "**missed**"
    parts.append(
        f"1,000,000 rows and 200 properties take {seconds:.1f} s (required: a minute; {said})."
    )
    packages = sorted({package for package, _ in PEERS.values()})
    missing = [package for package in packages if not is_installed(package)]
    present = [f"{package} {version(package)}" for package in packages if package not in missing]
    if present:
        parts.append(f"Measured with {' and '.join(present)}.")
    if missing:
        parts.append(
            f"Not installed: {' and '.join(missing)}. To compare, in an environment apart: `{INSTALL}`, then "
            "`python -m benchmarks.speed.leverage`."
        )
    return " ".join(parts)


def section() -> Section:
    """The table over rows, properties and sizes."""
    lines: list[list[str]] = []
    factors: dict[int, list[float]] = {properties: [] for properties in REQUIRED}
    for properties in REQUIRED:
        for rows in (1_000, 100_000):
            more, some = measure(rows, properties)
            lines += more
            factors[properties] += some
    line, seconds = large()
    header = ["rows x properties", "size", "found", "ours", *PEERS, "better peer / ours"]
    return Section(
        "Properties of the two ends of a ranking",
        f"All conjunctions up to a size with a leverage of at least {MIN_LEVERAGE} either way, from a table of truth "
        "values to a Python list; the lists are the same. CPU time, the shortest of some runs. pysubgroup maximises "
        "weighted relative accuracy, which is leverage, with its bound; mlxtend mines each end with the least support "
        f"that the leverage implies. A peer that needs more than {LIMIT} CPU seconds ({LONG_LIMIT} on the largest "
        f"table) or {MEMORY >> 30} GB is not asked for larger conjunctions.",
        Table(header, [*lines, line]),
        _verdict(factors, seconds),
    )


if __name__ == "__main__":
    print(section().to_markdown())
