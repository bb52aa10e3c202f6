"""The unknowns of a convexified step: where they are, what they cost and which of them may be left out.

Besides those of the printed program (see `refine_sqp`) there is T_r for each row of a rule, which stands for the
squares of what is left out (see `refine_cones`), and one number for the losses of all points outside the window.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from clearmargin.advice.advice_svm import AdviceProblem, BoolArray, FloatArray, IntArray
from clearmargin.advice.refine_lp import Iterate, Movable, limits_of_change

__all__ = ["ConeFrame"]

# A number this large keeps its sign in a step, as a rule.
_CLEAR = 1e-3


class ConeFrame:
    """Places and costs of all unknowns but those of the points, and what does not change from step to step.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises; no boxes.
    movable : Movable
        What may change.
    """

    def __init__(self, problem: AdviceProblem, movable: Movable):
        self.problem, self.movable, self.premises = problem, movable, problem.premises
        premises, n = problem.premises, problem.n_features
        r, k = len(premises), len(premises.d)
        self.n, self.r = n, r
        turn, shift = movable.turn_cost(), movable.shift_cost()
        costs = {
            "p": np.ones(n),
            "q": np.ones(n),
            "b": np.zeros(1),
            "u": np.zeros(k),
            "eta": np.repeat(premises.cost, n),
            "zeta": premises.cost,
            "T": np.zeros(shift.size),
            "F_up": turn,
            "F_down": turn,
            "f_up": shift,
            "f_down": shift,
            "rest": np.ones(1),
        }
        ends = np.cumsum([cost.size for cost in costs.values()])
        starts = [0, *ends[:-1].tolist()]
        self.at = {
            name: slice(*place)
            for name, place in zip(costs, zip(starts, ends.tolist(), strict=True), strict=True)
        }
        self.cost = np.concatenate(list(costs.values()))
        self.size = int(ends[-1])
        # eta and T are not negative by the other constraints.
        self.signed = np.ones(self.size, dtype=np.bool_)
        for name in ("b", "eta", "T"):
            self.signed[self.at[name]] = False
        # Unknowns that may be left out.
        self.optional = np.zeros(self.size, dtype=np.bool_)
        for name in ("p", "q", "F_up", "F_down", "f_up", "f_down"):
            self.optional[self.at[name]] = True
        self.optional[self.at["u"]] = ~premises.own
        self._set_places()

    def _set_places(self) -> None:
        """Which constraint each entry of F, f and D belongs to; two for each premise and feature, then the advice."""
        premises, move, n = self.premises, self.movable, self.n
        self.own_rule = premises.rule[move.shift]
        self.turn_pair = premises.rule[move.row] * n + move.column
        self.turn_own = np.searchsorted(move.shift, move.row)
        turning = np.zeros(self.r * n, dtype=np.bool_)
        turning[self.turn_pair] = True
        self.turning = turning.reshape(self.r, n)
        is_there = (premises.D != 0) | (move.number >= 0)
        self.pull_row, self.pull_column = np.nonzero(is_there)
        self.pull_pair = premises.rule[self.pull_row] * n + self.pull_column

    def guess(self, at: Iterate) -> BoolArray:
        """Leave out what is zero at a point."""
        used = ~self.optional
        used[self.at["p"]] = at.w >= -_CLEAR
        used[self.at["q"]] = at.w <= _CLEAR
        used[self.at["u"]] |= at.u > 0
        F, f = at.F[self.movable.row, self.movable.column], at.f[self.movable.shift]
        for name, value in (("F", F), ("f", f)):
            used[self.at[f"{name}_up"]] = value > 0
            used[self.at[f"{name}_down"]] = value < 0
        return used

    def most_wanted(self, price: FloatArray, tolerance: float) -> BoolArray:
        """Which unknowns have a negative reduced cost; of the entries of a column of F the most negative one only."""
        wanted = price < -tolerance
        turns = price[self.at["F_up"]], price[self.at["F_down"]]
        least = np.full(self.r * self.n, -tolerance)
        np.minimum.at(least, self.turn_pair, np.minimum(*turns))
        for name, value in zip(("F_up", "F_down"), turns, strict=True):
            wanted[self.at[name]] &= value <= least[self.turn_pair]
        return np.asarray(wanted)

    def opposites(self, x: FloatArray) -> BoolArray:
        """Which unknowns are zero because the other part of the same number clearly is not."""
        found = np.zeros(self.size, dtype=np.bool_)
        for one, other in (("p", "q"), ("F_up", "F_down"), ("f_up", "f_down")):
            for this, that in ((one, other), (other, one)):
                found[self.at[this]] = x[self.at[that]] > _CLEAR
        return found

    def plane(self, x: FloatArray) -> tuple[FloatArray, float, float]:
        """Weights, intercept and the losses of points outside the window."""
        w = x[self.at["p"]] - x[self.at["q"]]
        return w, float(x[self.at["b"]][0]), float(x[self.at["rest"]][0])

    @cached_property
    def limits(self) -> list[tuple[bool, IntArray, IntArray, FloatArray, FloatArray]]:
        """The limits of change as (whether equations, rows, columns, entries, right-hand sides)."""
        found = []
        for block in limits_of_change(self.movable):
            rows, columns, entries = [], [], []
            for name, matrix in block.terms.items():
                part = matrix.array.tocoo()  # type: ignore[union-attr]
                rows.append(part.row.astype(np.intp))
                columns.append(part.col.astype(np.intp) + self.at[name].start)
                entries.append(part.data)
            joined = np.concatenate(rows), np.concatenate(columns), np.concatenate(entries)
            found.append((block.name == "turn_only", *joined, block.upper))
        return found
