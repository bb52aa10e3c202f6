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

A relation a'x <= b between features (``diastolic <= systolic``) is one more row: what its left-hand side may still
grow by is what it has to gain, less than nothing.

With options alone and one row this is the multiple-choice knapsack problem in covering form; with numbers alone a
linear program that a greedy choice by g/c solves. A barred set bars all sets that contain it, so that a further answer
leaves something alone that each earlier one changes. Source: Ustun, Spangher and Liu
(2019), "Actionable recourse in linear classification", but with numbers that need no grid.

If no change is enough, the proof is the smallest q such that gains of D_r - q can be had in all rows::

    minimise    q    subject to    sum_m g_mr t_m + q >= D_r,  q >= 0,  and the rows about moves above

where rows of relations are kept without q.

Inside, a continuous amount counts in units of what one row may need of it, rows in units of their largest term, and
costs in units of the bound max_r D_r min_m c_m / g_mr on the optimum, because tolerances of solvers are absolute. Where
there is one row, what goes beyond its need is cut off, which changes no optimum; z is left out where nobody asks for
it. The continuous part of an answer is found anew beside its whole numbers, by a linear program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clearmargin.exceptions import InfeasibleError, InvalidValueError, TimeLimitError
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Linear, Program, Solution, Variables, solve

__all__ = ["Moves", "cheapest_change", "smallest_shortfall"]

# Rows are scaled to entries of about one, and this is close to the least that HiGHS accepts.
_TOLERANCE = 1e-9
# HiGHS takes 2.000001 for a whole number, and within 1e-6 of a tie its answers cannot be relied on. So a little less is
# asked for at first: what costs least then and is enough in truth is the optimum. Only if it is not enough, a tie
# or next to one, a little more is asked for.
_SLACKS = (-1e-5, 1e-5, 1e-4)


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
        """Take some of the moves."""
        return Moves(
            self.feature[chosen],
            self.gain[chosen],
            self.cost[chosen],
            self.least[chosen],
            self.most[chosen],
            self.integer[chosen],
        )


def cheapest_change(
    moves: Moves,
    need: FloatArray,
    barred: Iterable[Iterable[int]] = (),
    *,
    time_limit: float | None = None,
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
    time_limit : float, optional
        Seconds that each program may take; a `TimeLimitError` says when they are over.

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
    usable = moves.take(useful)
    sets = [sorted(set(features)) for features in barred]
    amounts = np.zeros(len(moves))
    form = _Form.of(usable, need, sets)
    for slack in _SLACKS if form.has_integers else (0.0,):
        found = _attempt(usable, need + slack * form.scale, sets, time_limit)
        if found is None:
            return None
        amounts[useful] = found
        if form.has_integers:
            found = _polished(usable, found, need, form.tied, time_limit)
        if found is not None and (found @ usable.gain >= need - 2 * _TOLERANCE * form.scale).all():
            amounts[useful] = found
            break
    return amounts


def _polished(
    moves: Moves, amounts: FloatArray, need: FloatArray, tied: BoolArray, time_limit: float | None
) -> FloatArray | None:
    """Find continuous amounts anew, beside the whole ones and the moves that were found."""
    loose = ~moves.integer
    lower = np.where(tied & (amounts > 0), moves.least, 0.0)
    upper = np.where(tied & (amounts == 0), 0.0, moves.most)
    settled = np.where(loose, lower, amounts)
    rest = need - settled @ moves.gain
    if (rest <= 0).all() or not loose.any():
        return settled
    room = Moves(
        moves.feature, moves.gain, moves.cost, np.zeros(len(moves)), upper - lower, moves.integer
    )
    useful = loose & _useful(room)
    if not useful.any():
        return settled
    more = _attempt(room.take(useful), rest, [], time_limit)
    if more is None:
        return None
    settled[useful] += more
    return settled


def _attempt(
    moves: Moves, need: FloatArray, barred: list[list[int]], time_limit: float | None
) -> FloatArray | None:
    form = _Form.of(moves, need, barred)
    cut = form.moves
    with np.errstate(divide="ignore"):
        rates = np.where(cut.gain > 0, cut.cost[:, None] / np.maximum(cut.gain, 0.0), np.inf)
    bounds = need[need > 0] * rates[:, need > 0].min(axis=0, initial=np.inf)
    if not np.isfinite(bounds).all():
        return None  # nothing adds to a row that needs something
    blocks = form.blocks(cut.cost / (bounds.max() if len(bounds) else 1.0), barred)
    blocks.append(Linear("enough", form.gains(), lower=need / form.scale))
    try:
        return form.amounts(_solved(blocks, time_limit, explain=False))
    except InfeasibleError:
        return None


def _solved(
    blocks: list[Variables | Linear], time_limit: float | None, *, explain: bool = True
) -> Solution:
    try:
        return solve(Program(blocks), tol=_TOLERANCE, explain=explain, time_limit=time_limit)
    except TimeLimitError as error:
        raise TimeLimitError(
            f"the search for the cheapest change was stopped after {time_limit:g} s, before it had an answer; allow "
            "fewer features or options to change, or give it more time (time_limit)"
        ) from error


def smallest_shortfall(
    moves: Moves, need: FloatArray, *, n_relations: int = 0, time_limit: float | None = None
) -> tuple[float, FloatArray]:
    """Find out how little may be missing in the row that is worst off.

    Parameters
    ----------
    moves : Moves
        What may happen.
    need : ndarray of shape (r,)
        What each row has to gain.
    n_relations : int, default 0
        How many of the rows, the last ones, are relations, of which nothing may be missing.
    time_limit : float, optional
        As for `cheapest_change`.

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
    is_goal = np.arange(len(need)) < len(need) - n_relations
    if not useful.any() or need.max() <= 0:
        return max(0.0, float(need[is_goal].max())), np.zeros(len(moves))
    form = _Form.of(moves.take(useful), need, [])
    largest = float(form.scale[is_goal].max())
    blocks = [
        *form.blocks(np.zeros(int(useful.sum())), []),
        Variables("q", 1, lower=0.0, cost=1.0),
        Linear(
            "enough",
            {**form.gains(), "q": (is_goal * largest / form.scale)[:, None]},
            lower=need / form.scale,
        ),
    ]
    amounts = np.zeros(len(moves))
    amounts[useful] = form.amounts(_solved(blocks, time_limit))
    return max(0.0, float((need - amounts @ moves.gain)[is_goal].max())), amounts


def _useful(moves: Moves) -> BoolArray:
    """Select the moves that add to a score and can be made."""
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


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """The program in units of its variables: amounts t of any size, whole amounts k, and z for whether a move is made.

    Only moves that are `tied` need a z: options, amounts with a least one, and features of barred sets. Of the others
    nobody asks whether they are made, and up and down at once is never cheapest.
    """

    moves: Moves
    unit: FloatArray
    scale: FloatArray
    tied: BoolArray

    @classmethod
    def of(cls, moves: Moves, need: FloatArray, barred: list[list[int]]) -> _Form:
        moves = _cut(moves, need)
        size = np.abs(moves.gain)
        with np.errstate(divide="ignore"):
            enough = np.where(size > 0, np.abs(need) / size, 0.0).max(axis=1)
        unit = np.where(
            moves.integer, 1.0, np.where(enough > 0, np.minimum(enough, moves.most), 1.0)
        )
        scale = np.maximum((size * unit[:, None]).max(axis=0), np.abs(need))
        named = np.isin(moves.feature, [feature for features in barred for feature in features])
        tied = named | (moves.least > 0) | ~_is_alone(moves)
        return cls(moves, unit, np.where(scale > 0, scale, 1.0), tied)

    @property
    def has_integers(self) -> bool:
        return bool(self.moves.integer.any() or self.tied.any())

    def gains(self) -> dict[str, FloatArray]:
        scaled = (self.moves.gain * self.unit[:, None]).T / self.scale[:, None]
        whole = self.moves.integer
        parts = {"t": scaled[:, ~whole], "k": scaled[:, whole]}
        return {name: part for name, part in parts.items() if part.shape[1]}

    def blocks(self, cost: FloatArray, barred: list[list[int]]) -> list[Variables | Linear]:
        """Build unknowns, and rows about moves; `cost` is that of one unit of the user."""
        moves, tied, whole = self.moves, self.tied, self.moves.integer
        most, least, cost = moves.most / self.unit, moves.least / self.unit, cost * self.unit
        groups = [("t", ~whole, False), ("k", whole, True)]
        blocks: list[Variables | Linear] = [
            Variables(name, int(mine.sum()), 0.0, most[mine], cost[mine], integer=integer)
            for name, mine, integer in groups
            if mine.any()
        ]
        if not tied.any():
            return blocks
        n = int(tied.sum())
        feature = moves.feature[tied]
        same = feature[None, :] == np.unique(feature)[:, None]
        rows = sparse.eye_array(len(moves), format="csr")[np.flatnonzero(tied)].tocsc()
        pick = {name: rows[:, np.flatnonzero(mine)] for name, mine, _ in groups if mine.any()}
        at_most = sparse.diags_array(-most[tied], format="csc")
        at_least = sparse.diags_array(-least[tied], format="csc")
        blocks += [
            Variables("z", n, 0.0, 1.0, integer=True),
            Linear("most", {**pick, "z": at_most}, upper=np.zeros(n)),
            Linear("least", {**pick, "z": at_least}, lower=np.zeros(n)),
            Linear("one value", {"z": same.astype(np.float64)}, upper=np.ones(len(same))),
        ]
        if barred:
            members = np.array([np.isin(feature, features) for features in barred])
            counts = np.array([len(features) - 1.0 for features in barred])
            blocks.append(Linear("barred", {"z": members.astype(np.float64)}, upper=counts))
        return blocks

    def amounts(self, answer: Solution) -> FloatArray:
        """Return the amounts of moves, whole where they have to be, and 0 where the move is not made."""
        whole = self.moves.integer
        found = np.zeros(len(self.moves))
        if not whole.all():
            found[~whole] = answer.values["t"]
        if whole.any():
            found[whole] = np.round(answer.values["k"])
        found = np.clip(found * self.unit, self.moves.least, self.moves.most)
        if self.tied.any():
            found[self.tied] = np.where(answer.values["z"] > 0.5, found[self.tied], 0.0)
        return found


def _is_alone(moves: Moves) -> BoolArray:
    """Tell which moves are all that may happen to their feature, or one of two opposite ones."""
    _, code, count = np.unique(moves.feature, return_inverse=True, return_counts=True)
    balance = np.zeros((len(count), moves.gain.shape[1]))
    np.add.at(balance, code, moves.gain)
    return np.asarray((count == 1) | ((count == 2) & (balance == 0).all(axis=1)))[code]
