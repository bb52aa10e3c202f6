"""Cone programs of one pattern, changed in place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clearmargin.exceptions import NumericalError
from clearmargin.solvers import Cone, Linear, Program, Variables, solve
from clearmargin.solvers.cone_session import ConeSession, Pattern


def random_numbers(rng):
    """The largest a'x with |x + shift| <= radius, and g'x <= h."""
    a, shift, g = rng.normal(size=(3, 4))
    return a, shift, g, float(rng.uniform(0.1, 1.0) - g @ shift), float(rng.uniform(0.5, 2.0))


def stated(a, shift, g, h, radius):
    blocks = [
        Variables("x", 4, cost=a),
        Linear("half", {"x": g}, upper=h),
        Cone("ball", {"x": np.vstack([np.zeros(4), np.eye(4)])}, np.append(radius, shift)),
    ]
    return solve(Program(blocks)).objective


def numbers(shift, g, h, radius):
    K = sparse.csc_array(np.vstack([g, np.zeros(4), -np.eye(4)]))
    return K, np.concatenate([[h, radius], shift])


@pytest.mark.parametrize("seed", range(5))
def test_a_program_changed_in_place_has_the_optimum_of_a_new_one(seed):
    rng = np.random.default_rng(seed)
    a, shift, g, h, radius = random_numbers(rng)
    K, k = numbers(shift, g, h, radius)
    session = ConeSession(Pattern(K.indptr, K.indices, 0, 1, [5]), a, K.data, k)
    for _ in range(4):
        found = session.solve()
        assert found.is_sure
        assert found.objective == pytest.approx(stated(a, shift, g, h, radius), abs=1e-6)
        np.testing.assert_allclose(a + K.T @ found.z, 0.0, atol=1e-6)
        _, shift, g, h, radius = random_numbers(rng)
        K, k = numbers(shift, g, h, radius)
        session.update(K.data, k)


def test_a_program_without_a_solution_is_an_error():
    at = np.array([0, 2], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    session = ConeSession(Pattern(*at, 0, 2, []), np.ones(1), np.array([1.0, -1.0]), -np.ones(2))
    with pytest.raises(NumericalError, match="Clarabel broke down"):
        session.solve()
