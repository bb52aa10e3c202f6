"""The cheapest change of a case that makes linear scores reach what they have to reach.

What may happen to a case is a list of moves. A move belongs to a feature and has an amount t: a number goes up or
down by t (whole numbers by whole t), or an option of a list (another category, another value) is taken, t = 1. Per
unit, move m costs c_m > 0 and adds g_mr to the score of row r, which has to gain D_r::

    minimise    sum_m c_m t_m
    subject to  sum_m g_mr t_m >= D_r                                  for each row r
                least_m z_m <= t_m <= most_m z_m                       a move is made, or it is not
                sum_{m of feature j} z_m <= 1                          a feature has one new value
                sum_{j in S} sum_{m of feature j} z_m <= |S| - 1       for each set S of features that is barred
                z binary, t_m whole where its feature counts

With options alone and one row this is the multiple-choice knapsack problem in covering form; with numbers alone a
linear program that a greedy choice by g/c solves. A barred set bars all sets that contain it, so that a further answer
leaves something alone that each earlier one changes. Source: `Advice` in the notes on rankings; Ustun, Spangher and Liu
(2019), "Actionable recourse in linear classification", but with numbers that need no grid.

If no change is enough, the proof is the smallest q such that gains of D_r - q can be had in all rows::

    minimise    q    subject to    sum_m g_mr t_m + q >= D_r,  q >= 0,  and the rows about moves above

Inside, continuous amounts count in units of most_m, rows in units of their largest term, and costs in units of the
bound max_r D_r min_m c_m / g_mr on the optimum, because tolerances of solvers are absolute. Where there is one row,
what goes beyond its need is cut off, which changes no optimum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clearmargin.core.value import BoolArray, FloatArray, IntArray
from clearmargin.exceptions import InfeasibleError, InvalidValueError
from clearmargin.optim import Linear, Program, Solution, Variables, solve

__all__ = ["Moves", "cheapest_change", "smallest_shortfall"]

# Rows are scaled to entries of about one, and this is close to the least that HiGHS accepts.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What may happen to a case, one entry a move.

    Parameters
    ----------
    feature : ndarray of int of shape (k,)
        The feature that the move changes.
    gain : ndarray of shape (k, r)
        What one unit adds to each score.
    cost : ndarray of shape (k,)
        What one unit costs; positive.
    least, most : ndarray of shape (k,)
        The amounts that are allowed once the move is made, 0 <= least <= most. `most` may be infinite where there is
        one row.
    integer : ndarray of bool of shape (k,)
        Whether amounts are whole numbers.

    Examples
    --------
    A feature goes up by up to 5, or another one takes one of two other values:

    >>> moves = Moves.of([(0, [2.0], 1.0, 0.0, 5.0, False), (1, [3.0], 1.0, 1, 1, True), (1, [4.0], 1.9, 1, 1, True)])
    >>> cheapest_change(moves, np.array([4.0])).tolist()
    [0.5, 1.0, 0.0]
    """

    feature: IntArray
    gain: FloatArray
    cost: FloatArray
    least: FloatArray
    most: FloatArray
    integer: BoolArray

    def __len__(self) -> int:
        return len(self.feature)

    @classmethod
    def of(
        cls,
        entries: Iterable[tuple[int, NDArray[np.float64] | list[float], float, float, float, bool]],
    ) -> Moves:
        """Put moves together: feature, gains, cost, least, most, integer of each."""
        feature, gain, cost, least, most, integer = zip(*entries, strict=True)
        return cls(
            np.array(feature, dtype=np.intp),
            np.array(gain, dtype=np.float64).reshape(len(feature), -1),
            np.array(cost, dtype=np.float64),
            np.array(least, dtype=np.float64),
            np.array(most, dtype=np.float64),
            np.array(integer, dtype=np.bool_),
        )

    def take(self, chosen: BoolArray) -> Moves:
        """Some of the moves."""
        return Moves(
            self.feature[chosen],
            self.gain[chosen],
            self.cost[chosen],
            self.least[chosen],
            self.most[chosen],
            self.integer[chosen],
        )


def cheapest_change(
    moves: Moves, need: FloatArray, barred: Iterable[Iterable[int]] = ()
) -> FloatArray | None:
    """Find the cheapest amounts that gain what is needed.

    Parameters
    ----------
    moves : Moves
        What may happen.
    need : ndarray of shape (r,)
        What each row has to gain; positive for at least one of them.
    barred : iterable of sets of features
        Sets that must not be changed together.

    Returns
    -------
    ndarray of shape (k,) or None
        The amount of each move, 0 where it is not made; None if nothing is enough.

    Examples
    --------
    >>> moves = Moves.of([(0, [1.0], 1.0, 0.0, 3.0, False), (1, [1.0], 5.0, 0.0, 9.0, True)])
    >>> cheapest_change(moves, np.array([2.5]), barred=[{0}]).tolist()
    [0.0, 3.0]
    >>> cheapest_change(moves, np.array([12.5])) is None
    True
    """
    useful = _useful(moves)
    if not useful.any():
        return None
    kept = _cut(moves.take(useful), need)
    with np.errstate(divide="ignore"):
        rates = np.where(kept.gain > 0, kept.cost[:, None] / np.maximum(kept.gain, 0.0), np.inf)
    bounds = need[need > 0] * rates[:, need > 0].min(axis=0)
    if not np.isfinite(bounds).all():
        return None  # nothing adds to a row that needs something
    unit = _units(kept)
    blocks = _blocks(kept, unit, kept.cost * unit / bounds.max())
    blocks += _bars(kept, barred)
    blocks.append(Linear("enough", _gains(kept, unit, need), lower=need / _row_scale(kept, need)))
    try:
        answer = solve(Program(blocks), tol=_TOLERANCE, explain=False)
    except InfeasibleError:
        return None
    return _amounts(answer, kept, unit, useful)


def smallest_shortfall(moves: Moves, need: FloatArray) -> tuple[float, FloatArray]:
    """Find out how little may be missing in the row that is worst off.

    Parameters
    ----------
    moves : Moves
        What may happen.
    need : ndarray of shape (r,)
        What each row has to gain.

    Returns
    -------
    shortfall : float
        What is missing at best; 0 if some change is enough.
    amounts : ndarray of shape (k,)
        The amounts that come so close.

    Examples
    --------
    >>> moves = Moves.of([(0, [1.0], 1.0, 0.0, 3.0, False), (1, [2.0], 5.0, 1, 1, True)])
    >>> shortfall, amounts = smallest_shortfall(moves, np.array([7.0]))
    >>> round(shortfall, 9), amounts.tolist()
    (2.0, [3.0, 1.0])
    """
    useful = _useful(moves)
    if not useful.any() or need.max() <= 0:
        return max(0.0, float(need.max())), np.zeros(len(moves))
    kept = _cut(moves.take(useful), need)
    unit, scale = _units(kept), _row_scale(kept, need)
    terms = {**_gains(kept, unit, need), "q": (1.0 / scale)[:, None] * scale.max()}
    program = Program(
        [
            *_blocks(kept, unit, np.zeros(len(kept))),
            Variables("q", 1, lower=0.0, cost=1.0),
            Linear("enough", terms, lower=need / scale),
        ]
    )
    amounts = _amounts(solve(program, tol=_TOLERANCE), kept, unit, useful)
    return max(0.0, float((need - amounts @ moves.gain).max())), amounts


def _useful(moves: Moves) -> BoolArray:
    """Moves that add to some score and can be made."""
    return np.asarray((moves.gain > 0).any(axis=1) & (moves.most > 0) & (moves.least <= moves.most))


def _cut(moves: Moves, need: FloatArray) -> Moves:
    """Cut off what goes beyond the need of a single row."""
    if len(need) > 1:
        if not np.isfinite(moves.most).all():
            raise InvalidValueError("moves without a bound can be weighed in a single row only")
        return moves
    # An integer amount of one unit that is more than enough counts as just enough.
    gain = np.where(moves.integer[:, None], np.minimum(moves.gain, need), moves.gain)
    enough = need[0] / gain[:, 0]
    # A little more than enough, so that rounding does not make it too little.
    enough = np.where(moves.integer, np.floor(enough) + 1.0, enough * (1.0 + 1e-9))
    most = np.minimum(moves.most, np.maximum(enough, moves.least))
    return Moves(moves.feature, gain, moves.cost, moves.least, most, moves.integer)


def _units(moves: Moves) -> FloatArray:
    return np.where(moves.integer, 1.0, moves.most)


def _row_scale(moves: Moves, need: FloatArray) -> FloatArray:
    largest = np.abs(moves.gain * moves.most[:, None]).max(axis=0)
    scale: FloatArray = np.maximum(largest, np.abs(need))
    return np.where(scale > 0, scale, 1.0)


def _gains(moves: Moves, unit: FloatArray, need: FloatArray) -> dict[str, FloatArray]:
    scaled = (moves.gain * unit[:, None]).T / _row_scale(moves, need)[:, None]
    return {"t": scaled[:, ~moves.integer], "k": scaled[:, moves.integer]}


def _blocks(moves: Moves, unit: FloatArray, cost: FloatArray) -> list[Variables | Linear]:
    """Amounts in their units (t for those that are any numbers, k for whole ones), and the rows about moves."""
    n, whole = len(moves), moves.integer
    most, least = moves.most / unit, moves.least / unit
    same = moves.feature[None, :] == np.unique(moves.feature)[:, None]
    pick = {"t": np.eye(n)[:, ~whole], "k": np.eye(n)[:, whole]}
    blocks: list[Variables | Linear] = [
        Variables("t", int((~whole).sum()), 0.0, most[~whole], cost[~whole]),
        Variables("k", int(whole.sum()), 0.0, most[whole], cost[whole], integer=True),
        Variables("z", n, 0.0, 1.0, integer=True),
        Linear("most", {**pick, "z": np.diag(-most)}, upper=np.zeros(n)),
        Linear("one value", {"z": same.astype(np.float64)}, upper=np.ones(len(same))),
    ]
    if (least > 0).any():
        blocks.append(Linear("least", {**pick, "z": np.diag(-least)}, lower=np.zeros(n)))
    return blocks


def _bars(moves: Moves, barred: Iterable[Iterable[int]]) -> list[Variables | Linear]:
    sets = [sorted(set(features)) for features in barred]
    if not sets:
        return []
    rows = np.array([np.isin(moves.feature, features) for features in sets], dtype=np.float64)
    return [Linear("barred", {"z": rows}, upper=np.array([len(s) - 1.0 for s in sets]))]


def _amounts(answer: Solution, moves: Moves, unit: FloatArray, useful: BoolArray) -> FloatArray:
    """The amounts of all moves, whole where they have to be, and 0 where the move is not made."""
    found = np.zeros(len(moves))
    found[~moves.integer] = answer.values["t"]
    found[moves.integer] = np.round(answer.values["k"])
    found = np.clip(found * unit, moves.least, moves.most)
    amounts = np.zeros(len(useful))
    amounts[useful] = np.where(answer.values["z"] > 0.5, found, 0.0)
    return amounts
