"""Solvers that lie, break down, stop or run out of time: results stay right, or say what is wrong.

A lie is told in the libraries themselves: `highspy.Highs` and `clarabel.DefaultSolver` are replaced.
"""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import clarabel
import highspy
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from tests.oracles import exact_side
from tests.oracles.one_norm_program import exact_objective
from tests.oracles.random_programs import disc, knapsack, wyndor

from clearmargin import LPSVC, AdviceSVC, Polyhedron, RuleExtractor, recourse
from clearmargin.exceptions import (
    ClearmarginError,
    NumericalError,
    SolverError,
    TimeLimitError,
)
from clearmargin.solvers import Program, Solution, Variables, solve

STATUS = highspy.HighsModelStatus


def with_highs(patch, **methods):
    """Replace methods of HiGHS."""
    patch.setattr(highspy, "Highs", type("Liar", (highspy.Highs,), methods))


def disturbed(rng, size):
    """HiGHS whose answers are off by so much of a unit, primal and dual."""

    def answer(self):
        point = highspy.Highs.__bases__[0].getSolution(self)
        off = lambda values: np.array(values) + size * rng.normal(size=len(values))
        return SimpleNamespace(col_value=off(point.col_value), row_dual=off(point.row_dual))

    return {"getSolution": answer}


def with_clarabel(patch, status, shift=0.0):
    """Let Clarabel say something else of its last point, and move that."""
    real = clarabel.DefaultSolver

    class Liar:
        def __init__(self, *args):
            self.real = real(*args)

        def solve(self):
            found = self.real.solve()
            x = np.array(found.x) + shift
            return SimpleNamespace(status=status, iterations=found.iterations, z=found.z, x=x)

    patch.setattr(clarabel, "DefaultSolver", Liar)


TAMPERED = [
    (wyndor, {"x": [2.0, 6.1]}, "'plants'"), (wyndor, {"x": [-0.5, 6.0]}, "'x'"),
    (wyndor, {"y": [0.0, -1.5, -0.9]}, "'x'"), (wyndor, {"y": [1.0, -1.5, -1.0]}, "'(x|plants)'"),
    (wyndor, {"x": [1.0, 6.0]}, "gap"), (disc, {"x": [1.3, 1.6]}, "'disc'"),
    (disc, {"z": [4.0, -3.0, -4.0]}, "'disc'"), (disc, {"z": [5.0, -2.0, -4.0]}, "'x'"),
    (knapsack, {"x": [0.0, 1.0, 0.9]}, "'x'"), (knapsack, {"bound": -9.0}, "gap"),
]  # fmt: skip


def test_solution_certify_finds_each_lie_and_where_it_is():
    for make, change, where in TAMPERED:
        lies = {key: np.array(v) if isinstance(v, list) else v for key, v in change.items()}
        lie = replace(solve(make()), **lies)
        with pytest.raises(NumericalError, match=where):
            lie.certify()
    n = Variables("n", 1, 0.0, 1e7, integer=True)
    with pytest.raises(NumericalError, match="'n'"):
        Solution(Program([n]), np.array([1e6 + 0.5]), None, None, bound=0.0).certify()


@given(st.integers(0, 10**6), st.sampled_from([1e-4, 1e-2, 1.0]))
def test_solve_does_not_accept_what_a_highs_that_lies_says(seed, size):
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        with_highs(patch, **disturbed(rng, size))
        with pytest.raises(NumericalError):
            solve(wyndor())


def test_solve_repeats_a_breakdown_of_highs_before_it_counts(monkeypatch):
    calls = []

    def status(self):
        calls.append(self.real())
        return STATUS.kUnknown if len(calls) == 1 or all_broken else calls[-1]

    real = highspy.Highs.getModelStatus
    with_highs(monkeypatch, getModelStatus=status, real=real)
    all_broken = False
    assert (solve(wyndor()).objective, len(calls)) == (-36.0, 2)
    all_broken = True
    with pytest.raises(NumericalError, match="Unknown"):
        solve(wyndor())


def test_solve_with_a_clarabel_in_doubt_accepts_what_is_right_only(monkeypatch):
    for status, error in (
        *(("MaxIterations", TimeLimitError), ("MaxTime", TimeLimitError)),
        *(("NumericalError", NumericalError), ("AlmostPrimalInfeasible", NumericalError)),
    ):
        with monkeypatch.context() as patch:
            with_clarabel(patch, status)
            with pytest.raises(error):
                solve(disc())
    for status in ("AlmostSolved", "InsufficientProgress"):
        with monkeypatch.context() as patch:
            with_clarabel(patch, status)
            assert solve(disc()).objective == pytest.approx(-10.0)
        with monkeypatch.context() as patch:
            with_clarabel(patch, status, shift=0.1)
            with pytest.raises(NumericalError, match="'disc'"):
                solve(disc())
    with_clarabel(monkeypatch, "Solved", shift=0.1)
    with pytest.raises(NumericalError, match="'disc'"):
        solve(disc())


def table(seed, m=60, n=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=m) > 0, 1.0, -1.0)


def check_gap(svm, X, y, best):
    """The objective is that of the stored plane, and the optimum is no farther below than the gap says."""
    cost = np.full(len(y), svm.nu)
    value = exact_objective(X, y, cost, svm.coef_[0], svm.intercept_[0])
    assert svm.objective_ == pytest.approx(float(value), rel=1e-10)
    least = exact_objective(X, y, cost, best.coef_[0], best.intercept_[0]) * (
        1 - Fraction(best.gap_)
    )
    assert (value - least) / value <= Fraction(svm.gap_) + Fraction(1, 10**12)


@settings(max_examples=40)
@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.UncertifiedWarning")
@given(
    st.integers(0, 10**6), st.sampled_from([1e-9, 1e-6, 1e-3, 1.0]),
    st.sampled_from([0.05, 1.0, 20.0]),
)  # fmt: skip
def test_lpsvc_with_a_highs_that_lies_knows_its_gap(seed, size, nu):
    X, y = table(seed)
    best = LPSVC(nu).fit(X, y)
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        with_highs(patch, **disturbed(rng, size))
        svm = LPSVC(nu).fit(X, y)
    check_gap(svm, X, y, best)
    if size < 1e-8:
        np.testing.assert_allclose(svm.coef_, best.coef_, atol=1e-7)


def test_lpsvc_tries_once_more_where_a_solver_fails(monkeypatch):
    X, y = table(3)
    best = LPSVC(1.0).fit(X, y)
    failures = {"left": 1}

    def status(self):
        failures["left"] -= 1
        return STATUS.kSolveError if failures["left"] >= 0 else self.real()

    with_highs(monkeypatch, getModelStatus=status, real=highspy.Highs.getModelStatus)
    np.testing.assert_allclose(LPSVC(1.0).fit(X, y).coef_, best.coef_, rtol=1e-9)
    failures["left"] = 2
    with pytest.raises(SolverError):
        LPSVC(1.0).fit(X, y)


@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.UncertifiedWarning")
@given(
    st.integers(0, 10**6), st.sampled_from([1e-7, 1e-2, 10.0]),
    st.sampled_from(["coverage-lp", "overlap"]),
)  # fmt: skip
def test_ruleextractor_with_a_highs_that_lies_has_sound_rules(seed, size, criterion):
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(25, 3)), rng.normal(size=3)
    intercept = -float(np.median(X @ coef)) + 1e-3
    options = {"criterion": "coverage", "disjoint": False}
    options = options if criterion == "overlap" else {"criterion": criterion}
    with pytest.MonkeyPatch.context() as patch:
        with_highs(patch, **disturbed(rng, size))
        model = exact_side.given(X, coef, intercept)
        extractor = RuleExtractor(model, min_coverage=1, max_rules=None, **options)
        extractor.fit(X, exact_side.sides(X, coef, intercept))
    for rule in extractor.rules_:
        sign = 1 if rule.label == "above" else -1
        assert exact_side.lies_on_side(rule.region, coef, intercept, sign)
    if criterion != "overlap":
        assert len(extractor.rules_) >= 2
        for label in ("above", "below"):
            boxes = [rule.region for rule in extractor.rules_ if rule.label == label]
            assert not exact_side.meeting_pairs(boxes)


def test_ruleextractor_whose_integer_program_runs_out_of_nodes_uses_what_is_nearly_as_good(
    monkeypatch,
):
    X, y = table(1, 120, 4)
    model = LogisticRegression().fit(X, y)
    options = {"min_coverage": 2, "max_rules": 6, "criterion": "coverage", "disjoint": False}
    best = RuleExtractor(model, **options).fit(X, y)
    real = highspy.Highs.getModelStatus
    stopped = lambda self: (
        STATUS.kSolutionLimit if self.getInfo().mip_node_count >= 0 else real(self)
    )
    with_highs(monkeypatch, getModelStatus=stopped)
    extractor = RuleExtractor(model, **options).fit(X, y)
    assert {rule.proof for rule in extractor.rules_} == {"proved"}
    assert extractor.rules_.score(X, y, model=model).fidelity == 1.0
    assert sum(extractor.coverage_.values()) >= 0.8 * sum(best.coverage_.values())


ADVICE = """a >= 1 and b <= 0 => yes
a <= -1 and b >= 0 => no
a >= 0 => no
a - b >= 1 => yes
2*a - 2*b <= -1 and a <= 3 => no"""


def least_score(region, coef, intercept):
    """The least of f over a region, by another linear program."""
    rows = region if hasattr(region, "A") else Polyhedron.from_box(region)
    found = linprog(coef, rows.A, rows.b, bounds=(None, None))
    return found.fun + intercept if found.status == 0 else -np.inf


@pytest.mark.filterwarnings("ignore::clearmargin.exceptions.ClearmarginWarning")
@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-4, 1.0]), st.sampled_from([None, "sqp"]))
def test_advicesvc_proves_just_the_rules_that_hold_and_with_a_highs_that_lies_no_other(
    seed, size, refine
):
    X, y = table(seed, 40, 2)
    model = AdviceSVC(ADVICE, mu=5.0, bounds=None, refine=refine)
    with pytest.MonkeyPatch.context() as patch:
        with_highs(patch, **disturbed(np.random.default_rng(seed), size))
        try:
            model.fit(pd.DataFrame(X, columns=["a", "b"]), np.where(y > 0, "yes", "no"))
        except SolverError:
            assert not hasattr(model, "coef_")
            return
    for rule in model.refined_:
        sign = 1 if rule.label == "yes" else -1
        least = least_score(rule.region, sign * model.coef_[0], sign * model.intercept_[0])
        assert least > -1e-7 or rule.proof != "proved"
        assert least < 1e-7 or rule.proof == "proved" or size


@given(st.integers(0, 10**6), st.sampled_from([1e-4, 1e-2, 1.0]))
def test_recourse_with_a_highs_that_lies_changes_the_answer_at_no_less_than_the_least_cost(
    seed, size
):
    X, y = table(seed)
    model = LogisticRegression().fit(X, y)
    asked = {"actionable": ["x0", "x1", "x3"], "X": X, "target": -model.predict(X[:1])[0]}
    least = recourse(model, X[0], **asked)
    with pytest.MonkeyPatch.context() as patch:
        with_highs(patch, **disturbed(np.random.default_rng(seed), size))
        try:
            answer = recourse(model, X[0], **asked)
        except ClearmarginError:
            return
    assert answer.feasible <= least.feasible
    if answer.feasible:
        changed = X[:1].copy()
        for change in answer.changes:
            changed[0, int(change.feature[1:])] = change.after
        assert model.predict(changed)[0] == answer.label_after == asked["target"]
        assert answer.cost >= least.cost * (1 - 1e-6)
