"""What cannot be explained in time is passed on as it was."""

import numpy as np
import pytest

from clearmargin.exceptions import InfeasibleError, UnboundedError
from clearmargin.solvers import Cone, Linear, Program, Variables, solve
from clearmargin.solvers.conflict import explain_failure

X = Variables("x", 2, cost=-1.0)
SPREAD = Cone("spread", {"x": [1.0, 1.0]}, offset=[0.0, 0.0, 0.0])


@pytest.mark.parametrize("error", [InfeasibleError("no point"), UnboundedError("no end")])
def test_without_time_the_error_stays_as_it_is(error):
    program = Program([X, Linear("r", {"x": 1.0}, lower=0.0), SPREAD])
    assert explain_failure(program, error, 1e-9) is error


def test_without_a_direction_the_error_stays_as_it_is():
    error = UnboundedError("no end")
    bounded = Program([Variables("x", 2, 0.0, 1.0)])
    assert explain_failure(bounded, error, None) is error


def test_a_ray_counts_the_entries_that_move_together():
    program = Program([X, Linear("equal", {"x": [1.0, -1.0]}, 0.0, 0.0)])
    with pytest.raises(UnboundedError, match=r"along 'x'\[0\] and 1 more of its entries; bound it"):
        solve(program)


def test_a_row_spread_over_a_cone_is_understood():
    # v = (s, s, s) with s = x1 + x2 lies in the cone only where s = 0.
    program = Program([Variables("x", 2, cost=[1.0, 1.0]), SPREAD])
    assert np.isclose(solve(program).values["x"].sum(), 0.0, atol=1e-6)
