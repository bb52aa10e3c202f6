"""Training with advice: the dual beside the printed program, and refinement beside its parts built anew each time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.page import Ratio, Section, Table
from benchmarks.speed.timing import race
from clearmargin.advice import AdviceSVC
from clearmargin.advice.advice_svm import (
    AdvicePath,
    AdviceProblem,
    BoxPremises,
    Premises,
    advice_program,
    data_plane,
    error_variables,
    plane_blocks,
    scaled_costs,
    solve_advice,
)
from clearmargin.advice.refine import alternate, find_anchors, support_multipliers
from clearmargin.advice.refine_lp import Iterate, JointProgram, Movable, limits_of_change
from clearmargin.exceptions import ClearmarginWarning
from clearmargin.solvers import Linear, Program, Variables, solve

Array = NDArray[np.float64]
RULES, CONDITIONS = 6, 3
# Cost of all points together and of each rule, and of a change relative to that of a rule.
LAM, MU, NU = 100.0, 1.0, 0.1
WAYS = ("up", "down")


def advised(m: int, n: int, seed: int = 0) -> AdviceProblem:
    """Points in [-1, 1]^n with noise, and rules of the right direction whose bounds are more or less wrong."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(scale=0.4, size=(m, n)), -1.0, 1.0)
    slope = np.zeros(n)
    slope[:5] = rng.normal(size=5)
    slope /= np.linalg.norm(slope)
    y = np.where(X @ slope + 0.1 * rng.normal(size=m) > 0, 1.0, -1.0)
    domain = np.vstack([np.eye(n), -np.eye(n)])
    sign = np.where(np.arange(RULES) % 2, -1.0, 1.0)
    rows = []
    for z in sign:
        D = np.zeros((CONDITIONS, n))
        chosen = rng.permutation(n)[:CONDITIONS]
        D[np.arange(CONDITIONS), chosen] = -z * np.where(slope[chosen] >= 0, 1.0, -1.0)
        d = rng.uniform(-0.2, 0.3, size=CONDITIONS)
        rows.append((np.vstack([D, domain]), np.append(d, np.ones(2 * n))))
    numeric_rows = [np.arange(CONDITIONS + 2 * n) < CONDITIONS] * RULES
    premises = Premises.stack(rows, sign, np.full(RULES, MU), numeric_rows)
    return AdviceProblem(X, y, np.full(m, LAM / m), premises, BoxPremises.none(n))


def beginning(problem: AdviceProblem, *, anchored: bool) -> tuple[Movable, Iterate]:
    """What may move, and where `refine_advice` starts."""
    w, b = data_plane(problem)
    k, n = problem.premises.D.shape
    anchors = find_anchors(problem, w, b) if anchored else None
    movable = Movable(problem.premises, NU, np.ones((k, n), dtype=np.bool_), anchors)
    u = support_multipliers(problem, w)
    return movable, Iterate.at(problem, movable, w, b, u, np.zeros((k, n)), np.zeros(k))


# Successive linear programming.


def visited(
    steps: Callable[[AdviceProblem, Movable, Iterate], Iterable[Iterate]],
    problem: AdviceProblem,
    movable: Movable,
    start: Iterate,
    most: int = 50,
) -> list[Iterate]:
    """The points from which steps are taken, until the defaults of `AdviceSVC` stop them."""
    points = [start]
    for found in steps(problem, movable, start):
        points.append(found)
        values = [point.objective for point in points[-3:]]
        is_still = len(values) == 3 and values[0] - values[2] <= 1e-4 * values[2]
        if is_still or len(points) > most:
            break
    return points[:-1]


def in_place(problem: AdviceProblem, movable: Movable, points: list[Iterate]) -> list[float]:
    """The optimum of each half-step, as `alternate` finds it."""
    program = JointProgram(problem, movable)
    values = [
        program.step(at, row_radius=0.0)[1] if k % 2 else program.step(at, u_radius=0.0)[1]
        for k, at in enumerate(points)
    ]
    program.close()
    return values


def built_anew(problem: AdviceProblem, movable: Movable, points: list[Iterate]) -> list[float]:
    """The optimum of each half-step, the program printed for it built and solved from nothing."""
    values = []
    for k, at in enumerate(points):
        if k % 2:
            moved = replace(problem, premises=problem.premises.moved(at.F, at.f))
            solution = solve(advice_program(moved), method="simplex", explain=False)
            values.append(solution.objective + movable.price(at.F, at.f))
        else:
            program = refinement_program(problem, movable, at.u)
            values.append(solve(program, method="simplex", explain=False).objective)
    return values


def refinement_program(problem: AdviceProblem, movable: Movable, u: Array) -> Program:
    """Eq. (2) of Kunapuli, Maclin and Shavlik with u given, with the limits of change that `refine_lp` adds."""
    premises, n = problem.premises, problem.n_features
    r = len(premises)
    weights = sparse.kron(premises.sign[:, None], sparse.eye_array(n), format="csc")
    eye = sparse.eye_array(r * n, format="csc")
    row, shift = movable.row, movable.shift
    turned = premises.rule[row] * n + movable.column, np.arange(row.size)
    turn = sparse.csc_array((u[row], turned), shape=(r * n, row.size))
    shifted = premises.rule[shift], np.arange(shift.size)
    move = sparse.csc_array((u[shift], shifted), shape=(r, shift.size))
    around: dict[str, Any] = {"p": weights, "q": -weights, "F_up": -turn, "F_down": turn}
    advice: dict[str, Any] = {"b": premises.sign[:, None], "f_up": move, "f_down": -move}
    fixed = premises.totals(u[:, None] * premises.D).ravel()
    return Program(
        [
            *plane_blocks(problem),
            error_variables("eta", np.repeat(premises.cost, n)),
            error_variables("zeta", premises.cost),
            *(Variables(f"F_{way}", row.size, 0.0, cost=movable.turn_cost()) for way in WAYS),
            *(Variables(f"f_{way}", shift.size, 0.0, cost=movable.shift_cost()) for way in WAYS),
            Linear("above", {**around, "eta": eye}, lower=-fixed),
            Linear("below", {**around, "eta": -eye}, upper=-fixed),
            Linear(
                "advice",
                {**advice, "zeta": sparse.eye_array(r, format="csc")},
                lower=1.0 + premises.totals(premises.d * u),
            ),
            *limits_of_change(movable),
        ]
    )


def measure_slp(m: int, n: int, seeds: int, repeat: int) -> tuple[list[str], float]:
    """One row of the table, some problems of one size with their times added up, and the ratio."""
    steps, ours, theirs, apart = 0, 0.0, 0.0, 0.0
    for seed in range(seeds):
        problem = advised(m, n, seed)
        movable, start = beginning(problem, anchored=True)
        points = visited(alternate, problem, movable, start)
        task = problem, movable, points
        values: dict[str, Any] = {}
        warm, cold = race(
            lambda: values.update(ours=np.array(in_place(*task))),  # noqa: B023
            lambda: values.update(theirs=np.array(built_anew(*task))),  # noqa: B023
            repeat=repeat,
        )
        apart = max(apart, float(np.abs(values["ours"] / values["theirs"] - 1.0).max()))
        steps, ours, theirs = steps + len(points), ours + warm, theirs + cold
    assert apart <= 1e-6, (m, n, apart)
    cells = [
        f"{m:,} x {n}",
        str(seeds),
        str(steps),
        f"{1e3 * ours / steps:.1f}",
        f"{1e3 * theirs / steps:.1f}",
        f"**{theirs / ours:.1f}**",
        f"{apart:.0e}",
    ]
    return cells, theirs / ours


def slp_section(full: bool = True) -> Section:
    """Half-steps of refinement changed in place, beside half-steps built anew."""
    sizes = [(300, 8, 2, 3), (1_000, 10, 2, 2)]
    if full:
        sizes = [(300, 8, 5, 5), (1_000, 10, 5, 3), (5_000, 10, 2, 1)]
    measured = [measure_slp(*size) for size in sizes]
    gains = [gain for _, gain in measured]
    header = [
        "points x features",
        "problems",
        "half-steps",
        "in place ms",
        "anew ms",
        "anew / in place",
        "objectives differ by",
    ]
    return Section(
        "Refining advice by linear programs",
        f"`refine='slp'` with {RULES} rules: each half-step changes one program inside HiGHS, where only points near "
        "the margin have rows, and goes on from a basis of its own kind, beside the printed linear program of each "
        "half-step, with a row for every point, built anew and solved by the simplex method of HiGHS. Both take the "
        "same steps from the same points, and building is counted for both; milliseconds of processor time for each "
        "half-step.",
        Table(header, [cells for cells, _ in measured]),
        "The first half-steps of each problem have nothing to go on from and cost as much as anew; the gain is in "
        "those that follow.",
        f"half-steps changed in place are {min(gains):.1f} to {max(gains):.1f} times as fast as those built anew.",
        {
            f"anew / in place at {m:,} x {n}": Ratio(gain)
            for (m, n, _, _), gain in zip(sizes, gains, strict=True)
        },
    )


# The knowledge-based SVM.


def measure_kbsvm(m: int, *, printed: bool) -> tuple[list[str], float, float | None]:
    """One row of the table, the seconds of the dual, and how many times it is faster."""
    problem = advised(m, 10)
    if not printed:
        seconds = race(lambda: solve_advice(problem), repeat=3)[0]
        return [f"{m:,} x 10", f"{seconds:.3f}", "-", "-"], seconds, None
    found: dict[str, float] = {}

    def whole() -> None:
        solution = solve(advice_program(problem), method="simplex", explain=False)
        found["value"] = solution.objective

    # As many runs for both, for the shortest of more runs is shorter.
    seconds, theirs = race(lambda: solve_advice(problem), whole, repeat=6, enough=2.5)
    value = solve_advice(problem).objective
    assert abs(found["value"] - value) <= 1e-6 * value, (m, found, value)
    gain = theirs / seconds
    return [f"{m:,} x 10", f"{seconds:.3f}", f"{theirs:.2f}", f"**{gain:.1f}**"], seconds, gain


def two_rules(full: bool) -> str:
    """Say what `AdviceSVC.fit` takes of a table with two rules, at three costs of the points."""
    m, n = (100_000 if full else 20_000), 10
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, n))
    y = np.where(X[:, :5] @ rng.normal(size=5) + 0.5 * rng.normal(size=m) > 0, "yes", "no")
    names = [f"x{j}" for j in range(n)]
    frame = pd.DataFrame(X, columns=names)
    found = {}
    for lam in (1.0, 100.0 / m, 10.0 / m):
        model = AdviceSVC("x0 >= 1 and x1 <= 0 => yes\nx0 <= -1 => no", lam=lam)
        with warnings.catch_warnings():
            # With the smallest cost no weight is worth its price, which the model says.
            warnings.simplefilter("ignore", ClearmarginWarning)
            (found[lam],) = race(lambda: model.fit(frame, y), repeat=3)  # noqa: B023 - called at once
    listed = ", ".join(f"{seconds:.2f} s with lam={lam:g}" for lam, seconds in found.items())
    return (
        f"`AdviceSVC.fit` of {m:,} x {n} with two rules, checks of the advice included: {listed}."
    )


def kbsvm_section(full: bool = True) -> Section:
    """The dual beside the printed program, and its growth with the points."""
    sizes = [5_000, 10_000, 20_000, 40_000, 100_000] if full else [2_500, 5_000, 10_000, 20_000]
    most = 20_000 if full else 5_000
    measured = [measure_kbsvm(m, printed=m <= most) for m in sizes]
    growth = np.polyfit(np.log(sizes), np.log([seconds for _, seconds, _ in measured]), 1)[0]
    gains = {m: gain for m, (_, _, gain) in zip(sizes, measured, strict=True) if gain is not None}
    return Section(
        "Training with advice",
        f"`AdviceSVC` with {RULES} rules, each within the domain: its dual, which has no row for a point, beside the "
        "printed linear program, both by the simplex method of HiGHS; objectives agree to 1e-6, seconds of processor "
        "time.",
        Table(
            ["points x features", "dual s", "printed LP s", "printed / dual"],
            [row for row, _, _ in measured],
        ),
        f"From {sizes[0]:,} to {sizes[-1]:,} points the time of the dual grows like points^{growth:.2f}. "
        f"{two_rules(full)}",
        f"the dual is {min(gains.values()):.0f} to {max(gains.values()):.0f} times as fast as the printed program.",
        {f"printed / dual at {m:,} points": Ratio(gain) for m, gain in gains.items()},
    )


def boxed(n: int) -> tuple[AdviceProblem, AdviceProblem]:
    """Rules that are boxes inside |x| <= 1, in compact and in general form."""
    problem = advised(1_000, n)
    rng = np.random.default_rng(1)
    half = rng.uniform(0.05, 0.4, size=(RULES, n))
    center = rng.uniform(-0.6, 0.6, size=(RULES, n))
    w, b = data_plane(problem)
    sign = np.where(center @ w + b > 0, 1.0, -1.0)
    cost = np.full(RULES, MU)
    D = np.vstack([np.eye(n), -np.eye(n)])
    rows = [(D, np.append(c + h, h - c)) for c, h in zip(center, half, strict=True)]
    none = Premises.stack([], [], [], None, n)
    return (
        replace(problem, premises=none, boxes=BoxPremises(center, half, sign, cost)),
        replace(problem, premises=Premises.stack(rows, sign, cost)),
    )


def measure_boxes(n: int) -> tuple[list[str], Ratio]:
    """Compact against general form."""
    compact, general = boxed(n)
    value, expected = solve_advice(compact).objective, solve_advice(general).objective
    assert abs(value - expected) <= 1e-6 * expected, (n, value, expected)
    ours, theirs = race(lambda: solve_advice(compact), lambda: solve_advice(general), repeat=5)
    what = f"{RULES} boxes over {n} features in compact form, beside general form"
    gain = theirs / ours
    return [what, f"{ours:.3f}", f"{theirs:.3f}", f"**{gain:.1f}**"], Ratio(gain)


def measure_path() -> tuple[list[str], Ratio]:
    """A grid of costs from one to the next against each on its own."""
    problem = advised(1_000, 10)
    grid = [(lam, mu) for mu in np.geomspace(0.1, 10.0, 5) for lam in np.geomspace(0.01, 100.0, 9)]

    def along() -> list[float]:
        path = AdvicePath(problem)
        values = [path.solve(lam, mu).objective for lam, mu in grid]
        path.close()
        return values

    def afresh() -> list[float]:
        return [solve_advice(scaled_costs(problem, lam, mu)).objective for lam, mu in grid]

    np.testing.assert_allclose(along(), afresh(), rtol=1e-6)
    ours, theirs = race(along, afresh, repeat=3)
    what = f"a grid of {len(grid)} costs along a path, beside each afresh"
    gain = theirs / ours
    return [what, f"{ours:.3f}", f"{theirs:.3f}", f"**{gain:.1f}**"], Ratio(gain)


def forms_section(full: bool = True) -> Section:
    """What compact boxes and paths save."""
    boxes = [measure_boxes(n) for n in ((5, 10, 20) if full else (5, 20))]
    path = measure_path()
    gains = [ratio.value for _, ratio in boxes]
    return Section(
        "Boxes and grids",
        "What do the compact form of boxes and the path over costs save? 1,000 points; 10 features for the path; "
        "seconds of processor time.",
        Table(
            ["what", "seconds", "beside it", "ratio"],
            [cells for cells, _ in [*boxes, path]],
        ),
        "Objectives agree to 1e-6 in every row.",
        f"a path over costs is {path[1].value:.1f} times as fast as a grid; the compact form of boxes "
        + (
            f"is {min(gains):.1f} to {max(gains):.1f} times as fast as the general one."
            if min(gains) >= 1.1
            else f"saves no time (it is {min(gains):.1f} to {max(gains):.1f} times as fast as the general one)."
        ),
        {cells[0]: ratio for cells, ratio in [*boxes, path]},
    )
