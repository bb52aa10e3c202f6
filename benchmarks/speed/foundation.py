"""What the layers below cost: building programs, reading rules, importing."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from benchmarks.page import Section, Table, best_time
from benchmarks.speed.lpsvm import clouds
from clearmargin.optim import solve
from clearmargin.programs.lpsvm import LPSVMData, dual_program
from clearmargin.text import format_rules, parse_rules


def building_share() -> tuple[float, float]:
    """Seconds to build the dual at 10,000 x 50 and to solve it."""
    X, y = clouds(10_000, 50)
    data = LPSVMData(X, y, np.full(len(y), 30.0 / len(y)))
    build = best_time(lambda: dual_program(data), 5)
    program = dual_program(data)
    return build, best_time(lambda: solve(program, method="simplex"), 3)


def rule_text(n_rules: int) -> str:
    """Rules over ten features, as text."""
    rng = np.random.default_rng(0)
    lines = []
    for k in range(n_rules):
        picked = rng.choice(10, size=3, replace=False)
        parts = [f"{rng.random()!r} <= feature_{j} < {1 + rng.random()!r}" for j in picked]
        lines.append(f"rule_{k}: {' and '.join(parts)} => class_{k % 2}")
    return "\n".join(lines)


def reading_speed() -> tuple[float, float, float]:
    """Megabytes, seconds to parse and seconds to print them."""
    text = rule_text(20_000)
    rules = parse_rules(text)
    return (
        len(text) / 1e6,
        best_time(lambda: parse_rules(text), 3),
        best_time(lambda: format_rules(rules), 3),
    )


def import_seconds(statement: str) -> float:
    """What an import adds to starting Python."""

    def start(code: str) -> float:
        return best_time(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)

    return start(statement) - start("pass")


def section() -> Section:
    """A table of single figures."""
    build, solving = building_share()
    megabytes, parse, print_ = reading_speed()
    rows = [
        [
            "build the dual of 10,000 x 50 as a Program",
            f"{1e3 * build:.1f} ms",
            f"{100 * build / solving:.1f} % of solving it",
        ],
        [
            "read rules",
            f"{megabytes / parse:.1f} MB/s",
            f"{10 * parse / megabytes:.1f} s for 10 MB",
        ],
        [
            "print rules",
            f"{megabytes / print_:.1f} MB/s",
            f"{10 * print_ / megabytes:.1f} s for 10 MB",
        ],
        [
            "import clearmargin",
            f"{1e3 * import_seconds('import clearmargin'):.0f} ms",
            "above starting Python",
        ],
        ["import numpy", f"{1e3 * import_seconds('import numpy'):.0f} ms", "for comparison"],
    ]
    return Section(
        "The layers below",
        "What do the parts cost that everything else stands on?",
        Table(["what", "cost", "that is"], rows),
        "The share of building is against the dual simplex of HiGHS on the same program.",
    )
