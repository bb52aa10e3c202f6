"""Solutions judge themselves, and their signs mean what they say."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from clearmargin.exceptions import InvalidValueError, NumericalError
from clearmargin.solvers import Cone, Linear, Program, Quadratic, Solution, Variables, solve


def test_residuals_of_an_optimum_are_small_and_the_dual_objective_meets_the_objective(
    sample, backend
):
    solution = solve(sample.program, backend=backend)
    assert solution.residuals.worst < 1e-6
    assert solution.dual_objective == pytest.approx(solution.objective, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"x": [2.0, 6.1]},
            r"primal residual is 2.00e-01 .*, largest at 'plants'\[1\], tolerance 1.0e-06",
        ),
        ({"x": [-0.5, 6.0]}, r"primal residual is 5.00e-01 .*, largest at 'x'\[0\]"),
        ({"y": [0.0, -1.5, -0.9]}, r"dual residual is 3.00e-01 .*, largest at 'x'\[0\]"),
        ({"y": [1.0, -1.5, -1.0]}, r"dual residual is 1.00e\+00 .*, largest at '(x|plants)'\[0\]"),
        ({"x": [1.0, 6.0]}, r"the duality gap is 3.00e\+00 \(relative 8.82e-02\)"),
    ],
)
def test_a_tampered_linear_solution_does_not_certify(wyndor, change, message):
    solution = solve(wyndor).certify()
    with pytest.raises(NumericalError, match=message):
        replace(solution, **{key: np.array(value) for key, value in change.items()}).certify()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": [1.3, 1.6]}, r"primal residual is .*, largest at 'disc'\[0\]"),
        ({"z": [4.0, -3.0, -4.0]}, r"dual residual is 1.00e\+00 .*, largest at 'disc'\[0\]"),
        ({"z": [5.0, -2.0, -4.0]}, r"dual residual is .*, largest at 'x'\[0\]"),
    ],
)
def test_a_tampered_conic_solution_does_not_certify(disc, change, message):
    solution = solve(disc).certify()
    with pytest.raises(NumericalError, match=message):
        replace(solution, **{key: np.array(value) for key, value in change.items()}).certify()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.array([0.0, 1.0, 0.9])}, r"primal residual is 1.00e-01 .* 'x'\[2\]"),
        ({"bound": -9.0}, "the duality gap is 1.00e"),
    ],
)
def test_a_tampered_integer_solution_does_not_certify(knapsack, change, message):
    with pytest.raises(NumericalError, match=message):
        replace(solve(knapsack).certify(), **change).certify()


def test_a_fraction_of_a_large_integer_is_still_a_fraction():
    n = Variables("n", 1, 0.0, 1e7, integer=True)
    claim = Solution(Program([n]), np.array([1e6 + 0.5]), None, None, bound=0.0)
    with pytest.raises(NumericalError, match=r"primal residual is 5.00e-01 .* largest at 'n'\[0\]"):
        claim.certify()


def test_the_dual_objective_is_a_true_bound_for_any_multipliers_without_dual_residual(wyndor):
    rng = np.random.default_rng(0)
    best = solve(wyndor)
    for _ in range(50):
        guess = replace(best, y=-rng.uniform(0, 10, 3))
        if guess.residuals.dual.absolute == 0.0:
            assert guess.dual_objective <= best.objective + 1e-9


def test_an_integer_solution_has_no_duals(knapsack):
    solution = solve(knapsack)
    for read in (lambda: solution.duals, lambda: solution.reduced_costs):
        with pytest.raises(
            InvalidValueError, match="integer variables has no duals; fix the integers"
        ):
            read()
    assert solution.residuals.dual is None


def test_an_answer_that_is_not_finite_is_no_solution(wyndor):
    with pytest.raises(NumericalError, match="the values the solver returned are not all finite"):
        Solution(wyndor, np.array([np.nan, 0.0]), np.zeros(3), np.zeros(0))


def test_an_unknown_block_is_a_key_error_with_a_suggestion(wyndor):
    solution = solve(wyndor)
    with pytest.raises(KeyError, match="no block 'plant'; did you mean 'plants'"):
        solution.duals["plant"]
    assert dict(solution.values).keys() == {"x"}
    assert len(solution.duals) == 1


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_solution_survives_copying_and_pickling(sample, backend, clone):
    solution = solve(sample.program, backend=backend)
    again = clone(solution)
    assert again == solution
    assert again.x.flags.writeable is False
    assert again.residuals == solution.residuals


def test_arrays_of_a_solution_are_read_only(disc):
    solution = solve(disc)
    for part in (solution.values["x"], solution.duals["disc"], solution.reduced_costs["x"]):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1.0


def test_a_solution_shows_what_matters(wyndor):
    solution = solve(wyndor)
    assert repr(solution).startswith("Solution(objective=-36, backend='highs', iterations=")
    assert repr(solution.duals).startswith("NamedArrays({'plants': array(")


def shifted_programs():
    """Return programs whose limits move with a parameter, with the dual that should be the derivative."""
    cost = [1.0, 2.0]

    def lower_row(s):
        x = Variables("x", 2, 0.0, cost=cost)
        return Program([x, Linear("r", {"x": 1.0}, lower=3.0 + s, upper=9.0)])

    def upper_row(s):
        x = Variables("x", 2, 0.0, cost=[-1.0, -2.0])
        return Program([x, Linear("r", {"x": 1.0}, lower=0.0, upper=3.0 + s)])

    def equal_row(s):
        x = Variables("x", 2, 0.0, cost=[-1.0, -2.0])
        return Program([x, Linear("r", {"x": 1.0}, lower=3.0 + s, upper=3.0 + s)])

    def curved_row(s):
        x = Variables("x", 2, cost=cost)
        return Program(
            [
                x,
                Linear("r", {"x": 1.0}, lower=3.0 + s),
                Quadratic("q", "x", [[2.0, 1.0], [1.0, 2.0]]),
            ]
        )

    def lower_bound(s):
        return Program(
            [Variables("x", 2, 1.0 + s, 5.0, cost=cost), Linear("r", {"x": 1.0}, lower=0)]
        )

    def upper_bound(s):
        return Program(
            [Variables("x", 2, 1.0, 5.0 + s, cost=[-1.0, -2.0]), Linear("r", {"x": 1.0}, lower=0)]
        )

    def fixed_bound(s):
        return Program([Variables("x", 2, 1.0 + s, 1.0 + s, cost=[-1.0, 2.5])])

    return [
        ("r", lower_row),
        ("r", upper_row),
        ("r", equal_row),
        ("r", curved_row),
        ("x", lower_bound),
        ("x", upper_bound),
        ("x", fixed_bound),
    ]


@pytest.mark.parametrize("backend", ["highs", "clarabel"])
@pytest.mark.parametrize(("name", "make"), shifted_programs())
def test_a_dual_is_the_derivative_with_respect_to_the_active_limit(name, make, backend):
    if make(0.0).needs:
        backend = "clarabel"
    solution = solve(make(0.0), backend=backend)
    multiplier = solution.duals[name] if name in solution.duals else solution.reduced_costs[name]
    step = 1e-3
    ahead, behind = (solve(make(s), backend=backend, tol=1e-9).objective for s in (step, -step))
    assert multiplier.sum() == pytest.approx((ahead - behind) / (2 * step), abs=1e-4)


def test_the_dual_of_a_cone_lies_in_it_and_is_minus_the_derivative_with_respect_to_the_offset():
    def make(shift):
        x = Variables("x", 2, cost=[-3.0, -1.0])
        cone = Cone("c", {"x": [[0, 0], [1, 0], [1, 2]]}, np.array([2.0, 0.3, -0.4]) + shift)
        return Program([x, cone])

    dual = solve(make(0.0)).duals["c"]
    assert np.linalg.norm(dual[1:]) <= dual[0] + 1e-7
    for row in range(3):
        step = 1e-3 * np.eye(3)[row]
        ahead, behind = (solve(make(s), tol=1e-9).objective for s in (step, -step))
        assert -dual[row] == pytest.approx((ahead - behind) / 2e-3, abs=1e-4)
