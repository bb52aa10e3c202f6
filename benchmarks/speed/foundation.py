"""What the layers below cost: building programs, reading and printing rules."""

from __future__ import annotations

import numpy as np

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.lpsvm import clouds
from benchmarks.speed.timing import race
from clearmargin.language import format_rules, parse_rules
from clearmargin.lp_svm.lpsvm import LPSVMData, dual_program
from clearmargin.solvers import solve


def building_share() -> tuple[float, float]:
    """Seconds to build the dual at 10,000 x 50 and to solve it."""
    X, y = clouds(10_000, 50)
    data = LPSVMData(X, y, np.full(len(y), 30.0 / len(y)))
    program = dual_program(data)
    build, solving = race(
        lambda: dual_program(data), lambda: solve(program, method="simplex"), least=0.05
    )
    return build, solving


def rule_text(n_rules: int) -> str:
    """Rules over ten features, as text."""
    rng = np.random.default_rng(0)
    lines = []
    for k in range(n_rules):
        picked = rng.choice(10, size=3, replace=False)
        parts = [f"{rng.random()!r} <= feature_{j} < {1 + rng.random()!r}" for j in picked]
        lines.append(f"rule_{k}: {' and '.join(parts)} => class_{k % 2}")
    return "\n".join(lines)


def reading_speed(n_rules: int) -> tuple[float, float, float]:
    """Megabytes, seconds to parse and seconds to print them."""
    text = rule_text(n_rules)
    rules = parse_rules(text)
    parse, print_ = race(lambda: parse_rules(text), lambda: format_rules(rules), repeat=5)
    return len(text) / 1e6, parse, print_


def section(full: bool = True) -> Section:
    """A table of single figures."""
    build, solving = building_share()
    megabytes, parse, print_ = reading_speed(20_000 if full else 4_000)
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
    ]
    return Section(
        "The layers below",
        "What do the parts cost that everything else stands on? Processor time, the shortest of some runs.",
        Table(["what", "cost", "that is"], rows),
        "The share of building is against the dual simplex of HiGHS on the same program.",
        f"building a program takes {100 * build / solving:.1f} % of solving it; rules are read at "
        f"{megabytes / parse:.1f} MB/s and printed at {megabytes / print_:.1f} MB/s.",
        {
            "building / solving": Ratio(build / solving, larger_is_better=False),
            "reading / printing": Ratio(parse / print_, larger_is_better=False),
        },
    )
