"""Many changes of a session at once are the same changes one after the other, and bases may be taken up again."""

import numpy as np
import pytest
from scipy import sparse

from clearmargin.exceptions import InvalidValueError, NumericalError, SolverError
from clearmargin.solvers import Linear, Program, Session, Variables, solve
from clearmargin.solvers.backends.highs import Engine


def base(rng, *, rows=4, is_sparse=False):
    A = rng.normal(size=(rows, 5)) * (rng.random((rows, 5)) < 0.7)
    return Program(
        [
            Variables("x", 5, -1.0, 2.0, cost=rng.normal(size=5)),
            Variables("y", 3, 0.0, 1.0, cost=rng.normal(size=3)),
            Linear("r", {"x": sparse.csc_array(A) if is_sparse else A}, -3.0, 3.0),
            Linear("s", {"x": rng.normal(size=5), "y": rng.normal(size=3)}, upper=2.0),
        ]
    )


def changes(rng, program, *, is_sparse=False):
    """Some of everything: new values, new zeros, and at times a variable that was not in the rows before."""
    rows = program.linear["r"].rows
    A = rng.normal(size=(rows, 5)) * (rng.random((rows, 5)) < 0.7)
    coefficients = {"r": {"x": sparse.csc_array(A) if is_sparse else A}, "s": {"y": rng.normal()}}
    if rng.random() < 0.5:
        coefficients["r"]["y"] = rng.normal(size=(rows, 3))
    return {
        "bounds": {"x": (-rng.random(5), 1.0), "y": (0.0, rng.random(3))},
        "limits": {"r": (-2.0 - rng.random(rows), 3.0), "s": (-np.inf, 1 + rng.random())},
        "coefficients": coefficients,
    }


def one_by_one(session, bounds, limits, coefficients):
    for name, (lower, upper) in bounds.items():
        session.set_bounds(name, lower, upper)
    for name, (lower, upper) in limits.items():
        session.set_limits(name, lower, upper)
    for name, matrices in coefficients.items():
        for variable, matrix in matrices.items():
            session.set_coefficients(name, variable, matrix)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_an_update_equals_the_single_calls_and_a_fresh_solve(seed, is_sparse):
    rng = np.random.default_rng(seed)
    program = base(rng, is_sparse=is_sparse)
    with Session(program) as together, Session(program) as single:
        for _ in range(4):
            change = changes(rng, program, is_sparse=is_sparse)
            together.update(**change)
            one_by_one(single, **change)
            assert together.program == single.program
            value = together.solve(method="dual").certify().objective
            assert value == pytest.approx(single.solve(method="dual").objective, abs=1e-7)
            assert value == pytest.approx(solve(together.program).objective, abs=1e-7)


def test_places_for_zeros_let_entries_come_and_go_without_loading_the_program_again(monkeypatch):
    loads = []
    load = Engine.load
    monkeypatch.setattr(Engine, "load", lambda self, data: (loads.append(1), load(self, data)))
    rng = np.random.default_rng(0)
    places = np.tile(np.arange(4), 5), np.arange(0, 21, 4)

    def matrix():
        values = rng.normal(size=20) * (rng.random(20) < 0.5)
        return sparse.csc_array((values, *places), shape=(4, 5))

    program = base(rng)
    with Session(program.with_coefficients("r", "x", matrix())) as session:
        for _ in range(10):
            session.update(coefficients={"r": {"x": matrix()}})
            value = session.solve().objective
            assert len(loads) == 1
            loads_before = len(loads)
            assert value == pytest.approx(solve(session.program).objective, abs=1e-7)
            del loads[loads_before:]  # that of the fresh solve


def test_too_many_changes_are_handed_over_together(monkeypatch):
    calls = []
    original = Engine.set_entry
    monkeypatch.setattr(
        Engine, "set_entry", lambda self, *args: (calls.append(args), original(self, *args))
    )
    rng = np.random.default_rng(1)
    program = Program(
        [Variables("x", 40, 0.0, 1.0, cost=-1.0), Linear("r", {"x": rng.random((40, 40))}, upper=9)]
    )
    with Session(program) as session:
        session.update(coefficients={"r": {"x": rng.random((40, 40))}})
        assert not calls
        assert session.solve().objective == pytest.approx(solve(session.program).objective)


def test_an_update_of_nothing_changes_nothing(wyndor):
    session = Session(wyndor)
    session.update()
    assert session.program == wyndor
    assert session.solve().objective == -36.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": {"z": (0.0, 1.0)}}, "there are no variables called 'z'"),
        ({"limits": {"plant": (0.0, 1.0)}}, "there are no linear rows called 'plant'"),
        ({"coefficients": {"plant": {"x": 1.0}}}, "there are no linear rows called 'plant'"),
        ({"coefficients": {"plants": {"z": 1.0}}}, "there are no variables called 'z'"),
        ({"coefficients": {"plants": {"x": np.eye(2)}}}, "rows|shape"),
        ({"bounds": {"x": (2.0, 1.0)}}, "x"),
    ],
)
def test_a_wrong_update_says_so_and_leaves_the_session_as_it_was(wyndor, change, message):
    session = Session(wyndor)
    good = {"bounds": {"x": (0.0, 1.0)}} if "bounds" not in change else {}
    with pytest.raises(InvalidValueError, match=message):
        session.update(**good, **change)
    assert session.program is wyndor
    assert session.solve().objective == -36.0


def test_a_refused_coefficient_leaves_the_session_as_it_was(wyndor):
    session = Session(wyndor)
    assert session.solve().objective == -36.0
    half_good = [[5.0, 0.0], [0.0, 1e200], [3.0, 2.0]]
    with pytest.raises(NumericalError, match="HiGHS refused a coefficient"):
        session.update(bounds={"x": (0.0, 1.0)}, coefficients={"plants": {"x": half_good}})
    assert session.program is wyndor
    assert session.solve().objective == -36.0


def test_two_kinds_of_programs_may_take_turns_each_from_its_own_basis():
    rng = np.random.default_rng(3)
    program = Program(
        [
            Variables("x", 200, 0.0, 1.0, cost=-rng.random(200)),
            Linear("r", {"x": rng.random((60, 200))}, upper=25.0),
        ]
    )
    kinds = {"half": (0.0, 0.5), "some": (0.0, (rng.random(200) < 0.5).astype(float))}
    with Session(program, method="dual", presolve=False) as session:
        bases = {}
        for kind, bounds in kinds.items():
            session.update(bounds={"x": bounds})
            session.solve()
            bases[kind] = session.basis
        for kind, bounds in kinds.items():
            session.update(bounds={"x": bounds})
            session.use_basis(bases[kind])
            solution = session.solve()
            assert solution.iterations == 0
            assert solution.objective == pytest.approx(solve(session.program).objective)


def test_a_basis_of_another_shape_is_ignored_and_a_closed_session_has_none(wyndor):
    session = Session(wyndor)
    session.solve()
    old = session.basis
    session.add_rows(Linear("more", {"x": 1.0}, upper=100.0))
    session.use_basis(old)
    assert session.solve().objective == -36.0
    session.close()
    with pytest.raises(SolverError, match="the session is closed"):
        _ = session.basis
    with pytest.raises(SolverError, match="the session is closed"):
        session.use_basis(old)
