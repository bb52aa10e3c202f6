"""Refining advice by cone programs: direct steps beside the same steps stated in CVXPY."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.advice import RULES, advised, beginning, visited
from benchmarks.speed.advice_cvxpy import by_components, by_matrices
from benchmarks.speed.timing import race
from clearmargin.advice.refine_lp import Iterate
from clearmargin.advice.refine_sqp import ConvexProgram, convex_steps


def measure_sqp(m: int, n: int, repeat: int) -> tuple[list[str], float, float, float]:
    """One row of the table and its two ratios."""
    problem = advised(m, n)
    movable, start = beginning(problem, anchored=False)
    points = visited(convex_steps, problem, movable, start)
    values: dict[str, Any] = {}

    def direct(points: list[Iterate]) -> list[float]:
        program = ConvexProgram(problem, movable)
        return [program.step(at)[1] for at in points]

    def whole() -> None:
        values["theirs"] = [by_matrices(problem, movable, at) for at in points]

    ours, first, theirs = race(
        lambda: values.update(ours=direct(points)),
        lambda: direct(points[:1]),
        whole,
        repeat=repeat,
    )
    single = race(lambda: by_components(problem, movable, start), repeat=repeat + 1)[0]
    apart = float(np.abs(np.array(values["ours"]) / np.array(values["theirs"]) - 1.0).max())
    assert apart <= 1e-5, (m, n, apart)
    steps = len(points)
    cells = [
        f"{m:,} x {n}",
        str(steps),
        f"{1e3 * ours / steps:.1f}",
        f"{1e3 * first:.0f}",
        f"{1e3 * theirs / steps:.0f}",
        f"{1e3 * single:.0f}",
        f"**{theirs / ours:.1f}**",
        f"**{single * steps / ours:.0f}**",
        f"{apart:.0e}",
    ]
    return cells, theirs / ours, single * steps / ours, single / first


def section(full: bool = True) -> Section:
    """The convex-concave procedure, beside CVXPY."""
    header = [
        "points x features",
        "steps",
        "direct ms",
        "the first step",
        "CVXPY, matrices ms",
        "CVXPY, components ms",
        "matrices / direct",
        "components / direct",
        "objectives differ by",
    ]
    sizes = [(300, 8, 3), (1_000, 10, 3), (5_000, 10, 1)] if full else [(300, 8, 1), (1_000, 10, 1)]
    measured = [measure_sqp(*size) for size in sizes]
    rows, whole, single, begun = zip(*measured, strict=True)
    ratios = {}
    for (m, n, _), a, b in zip(sizes, whole, single, strict=True):
        ratios[f"matrices / direct at {m:,} x {n}"] = Ratio(a)
        ratios[f"components / direct at {m:,} x {n}"] = Ratio(b)
    return Section(
        "Refining advice by cone programs",
        f"`refine='sqp'` with {RULES} rules: each step from its beginning to its optimum, beside the same cone program "
        "from the same point stated in CVXPY and solved by the same solver, Clarabel, to the same tolerance; over "
        "whole matrices, and with one constraint for each premise, feature and side, as it is printed (its first step "
        "only). Direct steps solve a smaller program, whose optimum is proved to be that of the printed one: only "
        "points near the margin have rows and only changes that matter are unknowns, guessed by the step before and "
        "brought in where the guess was wrong. Milliseconds of processor time for each step.",
        Table(header, list(rows)),
        "The first step has nothing to guess by and gains little; the gain is in the steps that follow. *Components / "
        "direct* sets the first step by components beside the mean of all direct steps; the first beside the first it "
        f"is {min(begun):.0f} to {max(begun):.0f}. One problem of each size is measured, and the method was tuned on "
        "it.",
        f"over a run of steps, direct ones are {min(whole):.1f} to {max(whole):.1f} times as fast as CVXPY over "
        "matrices; the first step gains little.",
        ratios,
    )
