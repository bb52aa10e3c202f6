"""How our cost grows with rows, features, rules, properties and support vectors: exponents and a picture."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.growth_cases import CASES, Case
from benchmarks.speed.growth_picture import draw
from benchmarks.speed.timing import race
from clearmargin.exceptions import ClearmarginWarning

__all__ = ["Growth", "measure", "section", "slopes"]

FOLDER = Path(__file__).resolve().parents[1]
# The work that costs are compared with: sorting so many random numbers.
SORTED = 1_000_000
# Growth beyond this is worth a word on the page: more than rows^1 with some allowance for noise.
FAST = 1.25


def slopes(sizes: ArrayLike, seconds: ArrayLike) -> tuple[float, float, float]:
    """Fit seconds = c * size^e by least squares of logarithms; e, and the least and largest e between neighbours."""
    x, t = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(seconds, dtype=float))
    x0, t0 = x - x.mean(), t - t.mean()
    between = np.diff(t) / np.diff(x)
    return float(x0 @ t0 / (x0 @ x0)), float(between.min()), float(between.max())


@dataclass(frozen=True)
class Growth:
    """What a case was measured to cost."""

    case: Case
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    yardstick: float

    @property
    def name(self) -> str:
        """What grows with what."""
        return f"{self.case.call} by {self.case.varied}"

    @property
    def exponent(self) -> float:
        """By least squares over all sizes."""
        return slopes(self.sizes, self.seconds)[0]


def measure(case: Case, full: bool) -> Growth:
    """Time all sizes of a case in turns, and the yardstick with them."""
    sizes = case.sizes(full)
    numbers = np.random.default_rng(0).random(SORTED)
    with warnings.catch_warnings():
        # Planes over many features are more than advised; here they are the question.
        warnings.simplefilter("ignore", ClearmarginWarning)
        runs = [case.make(size) for size in sizes]
        *seconds, yardstick = race(
            *runs, lambda: np.sort(numbers), repeat=5 if full else 3, least=0.01
        )
    return Growth(case, sizes, tuple(seconds), yardstick)


def _figures(value: float, digits: int) -> str:
    """So many digits, and all figures of what is large."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.{digits}g}"


def _row(growth: Growth) -> list[str]:
    exponent, least, largest = slopes(growth.sizes, growth.seconds)
    return [
        f"`{growth.case.call}`",
        growth.case.varied,
        growth.case.kept,
        f"{growth.sizes[0]:,} to {growth.sizes[-1]:,}",
        _figures(1e3 * growth.seconds[0], 3),
        _figures(1e3 * growth.seconds[-1], 3),
        f"**{exponent:.2f}**",
        f"{least:.2f} to {largest:.2f}",
        _figures(growth.seconds[-1] / growth.yardstick, 2),
    ]


def _finding(found: Sequence[Growth]) -> str:
    by_rows = [g for g in found if g.case.varied == "rows"]
    steep = max(found, key=lambda g: g.exponent)
    parts = []
    if by_rows:
        worst = max(by_rows, key=lambda g: g.exponent)
        between = max(slopes(g.sizes, g.seconds)[2] for g in by_rows)
        parts.append(
            f"over all sizes tried, no cost grows faster with rows than rows^{worst.exponent:.2f} "
            f"(`{worst.case.call}`), between two neighbouring sizes than rows^{between:.2f}; "
        )
    parts.append(
        f"the steepest of all is `{steep.case.call}`, {steep.case.varied}^{steep.exponent:.2f}."
    )
    return "".join(parts)


def _verdict(found: Sequence[Growth]) -> str:
    steep = sorted((g for g in found if g.exponent > FAST), key=lambda g: -g.exponent)
    listed = ", ".join(f"`{g.case.call}` by {g.case.varied} ({g.exponent:.2f})" for g in steep)
    said = f"Steeper than {FAST}: {listed}." if steep else f"None is steeper than {FAST}."
    return (
        f"{len(found) - len(steep)} of {len(found)} exponents are at most {FAST}. {said} An exponent below 1 is a "
        "fixed cost that has not yet become small beside the rest, or work on a part of the data; the range beside it "
        "tells how straight the line is."
    )


def section(full: bool = True) -> Section:
    """Exponents of all cases, and their picture."""
    found = [measure(case, full) for case in CASES]
    picture = f"pictures/growth{'_full' if full else ''}.svg"
    (FOLDER / "pictures").mkdir(exist_ok=True)
    draw(
        [(g.case.call, g.case.varied, g.sizes, g.seconds, g.exponent) for g in found],
        FOLDER / picture,
    )
    ratios = {}
    for g in found:
        ratios[f"{g.name}, cost of twice as many"] = Ratio(2.0**g.exponent, False)
        ratios[f"{g.name}, largest size / sorting"] = Ratio(g.seconds[-1] / g.yardstick, False)
    header = ["call", "varied", "kept", "from, to", "first ms", "last ms", "exponent"]
    return Section(
        "How costs grow",
        "How does the time of each call grow with one size while the others stay? The exponent e of size^e, by least "
        "squares of logarithms over all sizes; beside it the least and the largest between neighbouring sizes. "
        f"Processor time, the shortest of some runs in turns; the last column has sorting {SORTED:,} numbers for its "
        "unit.",
        Table([*header, "between neighbours", "last / sorting"], [_row(g) for g in found]),
        _verdict(found),
        _finding(found),
        ratios,
        picture,
    )


if __name__ == "__main__":
    print(section(full=False).to_markdown())
