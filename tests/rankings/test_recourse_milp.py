"""The program of the cheapest change, against brute force, linprog and the milp of SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from clearmargin.exceptions import InvalidValueError
from clearmargin.rankings.recourse_milp import Moves, cheapest_change, smallest_shortfall


def random_moves(rng, rows=1):
    """Whole moves and options of a few features, with the list of all combinations."""
    entries, options = [], []
    for j in range(int(rng.integers(1, 5))):
        mine = [(np.zeros(rows), 0.0)]
        if rng.random() < 0.5:
            gain, cost = rng.normal(size=rows), rng.uniform(0.1, 2)
            least, most = int(rng.integers(0, 3)), int(rng.integers(2, 6))
            entries.append((j, gain, cost, least, most, True))
            mine += [(t * gain, t * cost) for t in range(max(least, 1), most + 1)]
        else:
            for _ in range(int(rng.integers(1, 5))):
                gain, cost = rng.normal(size=rows), rng.uniform(0.1, 2)
                entries.append((j, gain, cost, 1, 1, True))
                mine.append((gain, cost))
        options.append(mine)
    return Moves.of(entries), options


@given(st.integers(0, 10**9), st.integers(1, 3))
def test_the_program_finds_what_brute_force_finds(seed, rows):
    rng = np.random.default_rng(seed)
    moves, options = random_moves(rng, rows)
    scale = 10.0 ** rng.uniform(-4, 4)
    moves = Moves(
        moves.feature, moves.gain, moves.cost * scale, moves.least, moves.most, moves.integer
    )
    need = np.abs(rng.normal(size=rows)) + 0.1
    sums = [
        (sum(gain for gain, _ in combination), sum(cost for _, cost in combination))
        for combination in itertools.product(*options)
    ]
    costs = [cost for gain, cost in sums if (gain >= need).all()]
    amounts = cheapest_change(moves, need)
    if not costs:
        assert amounts is None
        missing, closest = smallest_shortfall(moves, need)
        assert missing == pytest.approx(min((need - gain).max() for gain, _ in sums), abs=1e-7)
        assert (need - closest @ moves.gain).max() == pytest.approx(missing)
        return
    assert amounts @ moves.cost == pytest.approx(scale * min(costs), rel=1e-6)
    assert (amounts @ moves.gain >= need - 1e-7).all()
    assert (amounts == np.round(amounts)).all()
    made = amounts > 0
    assert ((amounts >= moves.least) & (amounts <= moves.most))[made].all()
    assert len(set(moves.feature[made])) == made.sum()


@given(st.integers(0, 10**9))
def test_continuous_moves_agree_with_linprog(seed):
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    gain = rng.normal(size=(n, rows)) * 10.0 ** rng.uniform(-2, 2, (n, 1))
    cost, most = rng.uniform(0.1, 3, n), 10.0 ** rng.uniform(-2, 2, n)
    need = np.abs(rng.normal(size=rows)) * 10.0 ** rng.uniform(-3, 1)
    moves = Moves(np.arange(n), gain, cost, np.zeros(n), most, np.zeros(n, dtype=bool))
    other = linprog(
        cost, A_ub=-gain.T, b_ub=-need, bounds=list(zip(np.zeros(n), most, strict=True))
    )
    amounts = cheapest_change(moves, need)
    assert (amounts is not None) == other.success
    if amounts is not None:
        assert cost @ amounts == pytest.approx(other.fun, rel=1e-5, abs=1e-9)


@given(st.integers(0, 10**9))
def test_mixed_moves_agree_with_the_milp_of_scipy(seed):
    """The second opinion has numbers and whole numbers, with the least amount by a binary."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    gain, cost = np.abs(rng.normal(size=n)) + 0.05, rng.uniform(0.1, 3, n)
    integer = rng.random(n) < 0.5
    most = np.where(integer, rng.integers(1, 6, n), rng.uniform(0.5, 5, n))
    least = np.where(rng.random(n) < 0.5, 0.0, most / 2)
    least = np.where(integer, np.ceil(least), least)
    need = rng.uniform(0.1, 1.1) * float(gain @ most)
    eye = np.eye(n)
    other = milp(
        np.concatenate([cost, np.zeros(n)]),
        integrality=np.concatenate([integer, np.ones(n)]),
        bounds=Bounds(np.zeros(2 * n), np.concatenate([most, np.ones(n)])),
        constraints=[
            LinearConstraint(np.concatenate([gain, np.zeros(n)])[None], need, np.inf),
            LinearConstraint(np.hstack([eye, -np.diag(most)]), -np.inf, 0),
            LinearConstraint(np.hstack([eye, -np.diag(least)]), 0, np.inf),
        ],
    )
    moves = Moves(np.arange(n), gain[:, None], cost, least, most, integer)
    amounts = cheapest_change(moves, np.array([need]))
    assert (amounts is not None) == other.success
    if amounts is not None:
        assert cost @ amounts == pytest.approx(other.fun, rel=1e-5)


@given(st.integers(0, 10**9), st.sampled_from([1e-7, 3e-8, 1.5e-8]))
def test_a_tie_is_not_enough_even_if_a_solver_would_take_it(seed, beyond):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    gain, most = rng.integers(1, 5, n).astype(float), rng.integers(1, 5, n).astype(float)
    cost = rng.uniform(0.5, 1.5, n)
    need = float(rng.integers(1, int(gain @ most) + 1))
    moves = Moves(np.arange(n), gain[:, None], cost, np.zeros(n), most, np.ones(n, dtype=bool))
    grid = np.array(list(itertools.product(*(np.arange(top + 1) for top in most))))
    for enough in (need, need + 1.0):  # all gains are whole: a little more than need is need + 1
        asked = need * (1 + beyond) if enough > need else need * (1 - beyond)
        costs = (grid @ cost)[grid @ gain >= enough]
        amounts = cheapest_change(moves, np.array([asked]))
        assert (amounts is None) == (len(costs) == 0)
        if amounts is not None:
            assert amounts @ cost == pytest.approx(costs.min())


def test_moves_without_a_bound_need_a_single_row():
    moves = Moves.of([(0, [1.0, -1.0], 1.0, 0.0, np.inf, False)])
    with pytest.raises(InvalidValueError, match="single row only"):
        cheapest_change(moves, np.array([1.0, 1.0]))
    endless = Moves.of([(0, [2.0], 3.0, 0.0, np.inf, False)])
    assert cheapest_change(endless, np.array([5.0])) == pytest.approx([2.5])
