"""Sample programs with known answers, and the backends that can solve each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from clearmargin.solvers import Cone, Linear, Program, Quadratic, Variables
from clearmargin.solvers.backends import BACKENDS


@dataclass(frozen=True)
class Sample:
    """A program with its optimum: values and duals where they are unique."""

    name: str
    program: Program
    objective: float
    values: dict[str, list[float]]
    duals: dict[str, list[float]]


def _budget() -> Sample:
    x = Variables("x", 2, lower=0.0, cost=[-3.0, -5.0])
    rows = Linear("plants", {"x": [[1, 0], [0, 2], [3, 2]]}, upper=[4.0, 12.0, 18.0])
    # Hillier and Lieberman, the Wyndor Glass Company.
    return Sample("wyndor", Program([x, rows]), -36.0, {"x": [2, 6]}, {"plants": [0, -1.5, -1]})


def _two_blocks() -> Sample:
    blocks = [
        Variables("x", 2, lower=[1.0, -np.inf], upper=[np.inf, 8.0], cost=[1.0, 1.0]),
        Variables("t", 1, cost=2.0),
        Linear("link", {"x": [[1.0, 1.0]], "t": 1.0}, lower=5.0, upper=5.0),
        Linear("floor", {"t": sparse.eye_array(1)}, lower=-3.0),
    ]
    # t is dear, so it sits on its floor; then x sums to 8 at cost 1 each.
    program = Program(blocks, constant=10.0)
    return Sample("two blocks", program, 12.0, {"t": [-3]}, {"link": [1], "floor": [1]})


def _projection() -> Sample:
    x = Variables("x", 2, cost=[-2.0, -4.0])
    blocks = [x, Quadratic("norm", "x", [2.0, 2.0]), Linear("line", {"x": 1.0}, upper=1.0)]
    # The point of x1 + x2 <= 1 nearest to (1, 2).
    return Sample("projection", Program(blocks, 5.0), 2.0, {"x": [0, 1]}, {"line": [-2]})


def _boxed_quadratic() -> Sample:
    x = Variables("x", 2, lower=0.0, upper=[1.0, 10.0], cost=[-8.0, -6.0])
    P = sparse.csr_array([[2.0, 1.0], [1.0, 4.0]])
    # x1 at its upper bound; then 1 + 4 x2 = 6.
    return Sample(
        "boxed quadratic", Program([x, Quadratic("P", "x", P)]), -10.125, {"x": [1, 1.25]}, {}
    )


def _disc() -> Sample:
    x = Variables("x", 2, cost=[-3.0, -4.0])
    disc = Cone("disc", {"x": [[0, 0], [1, 0], [0, 1]]}, offset=[2.0, 0.0, 0.0])
    return Sample("disc", Program([x, disc]), -10.0, {"x": [1.2, 1.6]}, {"disc": [5, -3, -4]})


def _two_discs() -> Sample:
    x = Variables("x", 1, cost=1.0)
    t = Variables("t", 2, cost=1.0, lower=0.0)
    pairs = Cone(
        "distance",
        {"t": [[1, 0], [0, 0], [0, 1], [0, 0]], "x": [[0], [1], [0], [1]]},
        offset=[0.0, -2.0, 0.0, 4.0],
        size=2,
    )
    # t_1 >= |x - 2|, t_2 >= |x + 4|: x = -4 costs -4 + 6 + 0.
    return Sample("two distances", Program([x, t, pairs]), 2.0, {}, {})


def _free_row() -> Sample:
    blocks = [
        Variables("x", 3, lower=-1.0, upper=1.0, cost=[1.0, 0.0, -1.0]),
        Linear("idle", {"x": [1.0, 1.0, 1.0]}),
        Linear("none", {"x": np.zeros((0, 3))}),
        Variables("nobody", 0),
    ]
    return Sample("nothing binds", Program(blocks), -2.0, {}, {"idle": [0]})


def _knapsack() -> Sample:
    x = Variables("x", 3, lower=0.0, upper=1.0, cost=[-6.0, -5.0, -4.0], integer=True)
    rows = Linear("weight", {"x": [5.0, 4.0, 3.0]}, upper=7.0)
    return Sample("knapsack", Program([x, rows], 1.0), -8.0, {"x": [0, 1, 1]}, {})


SAMPLES = [
    make()
    for make in (
        _budget,
        _two_blocks,
        _projection,
        _boxed_quadratic,
        _disc,
        _two_discs,
        _free_row,
        _knapsack,
    )
]
CASES = [
    pytest.param(sample, row.name, id=f"{sample.name}-{row.name}")
    for sample in SAMPLES
    for row in BACKENDS
    if sample.program.needs <= row.can
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `sample` and `backend` every sample with every backend that can do it."""
    if {"sample", "backend"} <= set(metafunc.fixturenames):
        metafunc.parametrize(("sample", "backend"), CASES)


@pytest.fixture
def wyndor() -> Program:
    return _budget().program


@pytest.fixture
def disc() -> Program:
    return _disc().program


@pytest.fixture
def knapsack() -> Program:
    return _knapsack().program


@pytest.fixture
def projection() -> Program:
    return _projection().program
