"""Every backend against every sample, and what stands in the way of an optimum."""

import contextlib
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clearmargin.exceptions import (
    BackendError,
    InfeasibleError,
    InvalidValueError,
    MissingDependencyError,
    NumericalError,
    SolverError,
    TimeLimitError,
    UnboundedError,
)
from clearmargin.solvers import Cone, Linear, Program, Quadratic, Variables, solve
from clearmargin.solvers import backends as registry
from clearmargin.solvers.backends import clarabel as clarabel_backend
from clearmargin.solvers.backends import highs as highs_backend
from clearmargin.solvers.solver_options import Options


def test_every_backend_finds_the_known_optimum_of_every_sample(sample, backend):
    solution = solve(sample.program, backend=backend).certify()
    assert solution.objective == pytest.approx(sample.objective, abs=1e-6)
    for name, value in sample.values.items():
        assert solution.values[name] == pytest.approx(value, abs=1e-6)
    for name, dual in sample.duals.items():
        assert solution.duals[name] == pytest.approx(dual, abs=1e-6)
    assert solution.backend == backend
    assert solution.iterations >= 0
    assert solution.seconds > 0


@pytest.mark.parametrize("method", ["auto", "simplex", "primal", "dual", "ipm"])
@pytest.mark.parametrize("presolve", [True, False])
def test_every_method_of_highs_finds_the_same_optimum(wyndor, method, presolve):
    assert solve(wyndor, method=method, presolve=presolve).certify().objective == -36.0


def test_the_tightest_tolerance_gives_the_smallest_residuals(disc):
    loose = solve(disc, tol=1e-3).residuals.worst
    tight = solve(disc, tol=1e-10).residuals.worst
    assert tight < 1e-9 < loose


def test_auto_takes_highs_for_linear_and_clarabel_for_the_rest(wyndor, disc, projection, knapsack):
    chosen = [solve(p).backend for p in (wyndor, knapsack, disc, projection)]
    assert chosen == ["highs", "highs", "clarabel", "clarabel"]


REFUSALS = [
    (
        "wyndor",
        {"backend": "higs"},
        r"unknown backend 'higs'; did you mean 'highs'\? \(installed: ",
    ),
    ("wyndor", {"backend": "gurobi"}, r"unknown backend 'gurobi'; there are 'highs', 'clarabel'"),
    (
        "knapsack",
        {"backend": "clarabel"},
        r"'clarabel' cannot do integer variables; use backend='highs'",
    ),
    ("disc", {"backend": "highs"}, r"'highs' cannot do second-order cones; use backend='clarabel'"),
    (
        "projection",
        {"backend": "highs"},
        r"'highs' cannot do quadratic objectives; use backend='cl",
    ),
    ("disc", {"method": "simplex"}, r"'clarabel' has no method 'simplex', only auto, ipm"),
]


@pytest.mark.parametrize(("fixture", "options", "message"), REFUSALS)
def test_a_backend_asked_for_what_it_cannot_do_says_what_to_use(fixture, options, message, request):
    with pytest.raises(BackendError, match=message):
        solve(request.getfixturevalue(fixture), **options)


def test_integers_and_cones_together_are_refused(disc):
    program = disc.with_columns(Variables("n", 1, 0.0, 1.0, integer=True), {})
    with pytest.raises(
        BackendError, match="no backend can do second-order cones and integer variables together"
    ):
        solve(program)
    with pytest.raises(BackendError, match=r"'highs' cannot do .* no other backend can either"):
        solve(program, backend="highs")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "simplx"}, "unknown method 'simplx'; did you mean 'simplex'"),
        ({"tol": 0.0}, "tol is 0.0; it must lie between 1e-10 and 0.01"),
        ({"tol": float("nan")}, "tol is nan"),
        ({"time_limit": 0}, "time_limit is 0; it must be a positive number"),
        ({"time_limit": -1.0}, "time_limit is -1.0"),
    ],
)
def test_impossible_options_are_refused(wyndor, options, message):
    with pytest.raises(InvalidValueError, match=message):
        solve(wyndor, **options)


def test_a_backend_that_is_not_installed_says_how_to_install_it(wyndor, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'highspy'", name="highspy")

    monkeypatch.setattr(registry, "import_module", missing)
    with pytest.raises(MissingDependencyError, match="'highs' needs highspy: pip install highspy"):
        solve(wyndor)


def test_a_broken_backend_is_not_mistaken_for_a_missing_one(wyndor, monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'numpyx'", name="numpyx")

    monkeypatch.setattr(registry, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="numpyx"):
        solve(wyndor)


def unbounded_programs():
    x = Variables("x", 3, lower=0.0, cost=[0.0, 0.0, -1.0])
    yield "linear", Program([x, Linear("r", {"x": [1.0, 1.0, 0.0]}, upper=1.0)])
    yield "no rows", Program([x])
    yield (
        "integer",
        Program(
            [
                Variables("x", 3, lower=0.0, cost=-1.0, integer=True),
                Linear("r", {"x": 1.0}, lower=1.0),
            ]
        ),
    )
    yield "quadratic", Program([x, Quadratic("q", "x", [1.0, 1.0, 0.0])])
    yield "cone", Program([x, Cone("c", {"x": [[0, 0, 1], [1, 0, 0]]})])


@pytest.mark.parametrize(("kind", "program"), list(unbounded_programs()))
def test_an_unbounded_program_names_what_runs_away(kind, program):
    with pytest.raises(UnboundedError, match=r"without end along 'x'\[[02]\].*; bound it"):
        solve(program)
    with pytest.raises(UnboundedError, match=r"without end$"):
        solve(program, explain=False)


def test_a_linear_program_without_end_is_seen_by_clarabel_too():
    program = Program([Variables("x", 1, lower=0.0, cost=-1.0)])
    with pytest.raises(UnboundedError, match="without end"):
        solve(program, backend="clarabel")


@pytest.mark.parametrize("backend", ["highs", "clarabel"])
@pytest.mark.parametrize("is_integer", [False, True])
def test_infeasible_wins_over_unbounded(backend, is_integer):
    if is_integer and backend == "clarabel":
        backend = "auto"
    blocks = [
        Variables("x", 2, cost=[-1.0, 0.0], integer=is_integer),
        Linear("low", {"x": [0.0, 1.0]}, upper=0.0),
        Linear("high", {"x": [0.0, 1.0]}, lower=1.0),
    ]
    with pytest.raises(InfeasibleError, match="'low' and the constraint 'high' together"):
        solve(Program(blocks), backend=backend)


def hard_knapsack():
    rng = np.random.default_rng(0)
    weights = rng.integers(1000, 2000, (8, 60)).astype(float)
    x = Variables("x", 60, 0.0, 1.0, cost=-weights.mean(axis=0), integer=True)
    return Program([x, Linear("w", {"x": weights}, upper=weights.sum(axis=1) / 2.3)])


@pytest.mark.parametrize("time_limit", [1e-9, 0.2])
def test_an_integer_program_stops_at_the_time_limit(time_limit):
    with pytest.raises(TimeLimitError, match=r"HiGHS ran out of time after .* s"):
        solve(hard_knapsack(), time_limit=time_limit)


def test_clarabel_stops_at_the_time_limit(disc):
    with pytest.raises(TimeLimitError, match="Clarabel ran out of time"):
        solve(disc, time_limit=1e-9)


def test_coefficients_out_of_range_are_a_numerical_error():
    program = Program([Variables("x", 1), Linear("r", {"x": 1e200}, lower=1.0)])
    with pytest.raises(NumericalError, match=r"HiGHS refused the program; .* up to 1e15"):
        solve(program)


def test_a_breakdown_of_highs_is_repeated_with_simplex_before_it_counts(wyndor, monkeypatch):
    broken = highs_backend._Status.kUnknown
    calls = []

    def run_once(self, original=highs_backend.Engine._run_once):
        calls.append(original(self))
        return broken if len(calls) % 2 or all_broken else calls[-1]

    monkeypatch.setattr(highs_backend.Engine, "_run_once", run_once)
    all_broken = False
    assert solve(wyndor).objective == -36.0
    assert len(calls) == 2
    all_broken = True
    with pytest.raises(NumericalError, match=r"HiGHS broke down \(Unknown\)"):
        solve(wyndor)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("MaxIterations", "Clarabel ran out of iterations"),
        ("NumericalError", r"Clarabel broke down \(NumericalError\)"),
        ("AlmostPrimalInfeasible", r"Clarabel broke down \(AlmostPrimalInfeasible\)"),
    ],
)
def test_what_clarabel_does_not_solve_is_an_error(disc, monkeypatch, status, message):
    pretend_clarabel(monkeypatch, status)
    with pytest.raises((TimeLimitError, NumericalError), match=message):
        solve(disc)


def test_an_almost_solved_program_is_accepted_only_if_its_residuals_are_small(disc, monkeypatch):
    pretend_clarabel(monkeypatch, "AlmostSolved")
    assert solve(disc).objective == pytest.approx(-10.0)
    pretend_clarabel(monkeypatch, "AlmostSolved", shift=0.1)
    with pytest.raises(NumericalError, match=r"the primal residual is .* largest at 'disc'"):
        solve(disc)


def pretend_clarabel(monkeypatch, status, shift=0.0):
    original = clarabel_backend.clarabel.DefaultSolver

    class Found:
        def __init__(self, real):
            self.status, self.iterations, self.z = status, real.iterations, real.z
            self.x = np.array(real.x) + shift

    class Pretender:
        def __init__(self, *args):
            self.real = original(*args)

        def solve(self):
            return Found(self.real.solve())

    monkeypatch.setattr(clarabel_backend.clarabel, "DefaultSolver", Pretender)


def test_a_thread_pool_of_highs_started_by_others_is_no_obstacle():
    script = """
import highspy
other = highspy.Highs()
other.setOptionValue("output_flag", False)
other.setOptionValue("threads", 2)
other.addVar(0.0, 1.0)
other.run()
from clearmargin.solvers import Program, Variables, solve
assert solve(Program([Variables("x", 1, 0.0, 1.0, cost=-1.0)])).objective == -1.0
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.posix
def test_a_forked_process_can_solve_after_its_parent_did():
    script = """
import os, signal
from clearmargin.solvers import Linear, Program, Variables, solve
program = Program([
    Variables("x", 3, 0.0, 1.0, cost=[-6.0, -5.0, -4.0], integer=True),
    Linear("weight", {"x": [5.0, 4.0, 3.0]}, upper=7.0),
])
solve(program)
child = os.fork()
if child == 0:
    signal.alarm(20)
    os._exit(0 if solve(program).objective == -9.0 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_programs_are_solved_in_threads_side_by_side(wyndor, disc, knapsack):
    programs = [wyndor, disc, knapsack] * 20
    with ThreadPoolExecutor(4) as pool:
        objectives = [solution.objective for solution in pool.map(solve, programs)]
    assert objectives == pytest.approx([-36.0, -10.0, -8.0] * 20)


def test_solving_prints_nothing(wyndor, disc, knapsack, capfd):
    for program in (wyndor, disc, knapsack):
        solve(program)
    assert capfd.readouterr() == ("", "")


def test_an_interior_point_method_that_goes_round_in_circles_ends_in_time():
    rng = np.random.default_rng(8)
    Z = rng.integers(-2000, 2000, size=(20, 2)) / 1024
    y = np.where(Z.sum(1) + 0.5 * rng.normal(size=20) > 0, 1.0, -1.0)
    far = Z + 2.0**30
    low, high = np.where(y > 0, 0.0, -100.0), np.where(y > 0, 100.0, 0.0)
    blocks = [
        Variables("alpha", 20, low, high, cost=-y),
        Linear("features", {"alpha": far.T}, -1.0, 1.0),
        Linear("balance", {"alpha": 1.0}, 0.0, 0.0),
    ]
    start = time.perf_counter()
    # HiGHS 1.15 would not end; another version may fail or find the optimum.
    with contextlib.suppress(SolverError):
        solve(Program(blocks), method="ipm", tol=1e-9, time_limit=0.5, explain=False)
    assert time.perf_counter() - start < 10.0


def test_without_a_time_limit_there_is_one_of_ten_minutes():
    assert Options().seconds == 600.0
    assert Options(time_limit=3.0).seconds == 3.0
