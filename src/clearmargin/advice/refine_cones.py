r"""The cone program of a convexified step in a compact form, over windows of unknowns and of points.

With the changes ``dF = F - F^``, ``df = f - f^`` and ``du = u - u^`` of a step, the constraints of `refine_sqp` are,
for each premise i and feature j::

    eta_j >=  s + ||dF_j - du||^2 / 4        s = D_j'u + z w_j - F^_j'u - F_j'u^ + F^_j'u^
    eta_j >= -s + ||dF_j + du||^2 / 4
    zeta  >= 1 - z b + d'u - f^'u - f'u^ + f^'u^ + ||df - du||^2 / 4

Most entries of F and f are zero and stay so. One that is left out of the program, at zero, leaves du_r^2 / 4 in each of
the squares it belongs to. So there is one unknown T_r >= du_r^2 / 4 for each row, which stands in wherever an entry of
that row is left out; since every constraint only gets tighter with T_r, that changes nothing. What is left of the
squares has one or two entries, where it has any, and otherwise the constraint is linear. Weights of one sign and
multipliers may be left out as well, each of them at zero.

A solution of the program without them is one of the whole if no unknown that was left out has a negative reduced cost:
then the multipliers of the small program satisfy the optimality conditions of the whole one, which are sufficient
because it is convex. For an entry of F they are those of a function with the slope ``nu mu -+ (l+ - l-) (u^ + u) / 2``
at zero, where l+ and l- are the multipliers of its two constraints. Rows that say which changes are allowed are left
out where all their entries are, with a multiplier of zero.
"""

from __future__ import annotations

import numpy as np

from clearmargin.advice.advice_svm import BoolArray, FloatArray, IntArray
from clearmargin.advice.refine_frame import ConeFrame
from clearmargin.advice.refine_lp import Iterate
from clearmargin.advice.refine_window import PointWindow
from clearmargin.solvers.cone_session import ConePoint, ConeSession, Pattern

__all__ = ["ReducedCones"]

_SIDES = np.array([1.0, -1.0])


class ReducedCones:
    """The program over some of the unknowns and points, inside Clarabel.

    Parameters
    ----------
    frame : ConeFrame
        All unknowns.
    used : ndarray of bool
        Which of them take part.
    window : PointWindow
        Which points have rows.
    """

    def __init__(self, frame: ConeFrame, used: BoolArray, window: PointWindow):
        self.frame, self.window = frame, window
        self.used = used.copy()
        self._has_rest = not window.is_whole
        self.used[frame.at["rest"]] = self._has_rest
        self._points = window.part()
        m = len(self._points.y)
        self.column = np.append(self.used, np.ones(m, dtype=np.bool_))
        self.cost = np.append(frame.cost, self._points.cost)
        at = frame.at
        self._turns = np.flatnonzero(self.used[at["F_up"]] | self.used[at["F_down"]])
        self._shifts = np.flatnonzero(self.used[at["f_up"]] | self.used[at["f_down"]])
        self._set_rows()
        self._set_entries()
        self._session: ConeSession | None = None

    def solve(self, at: Iterate) -> ConePoint:
        """Solve the program around a point; x has all unknowns, and z the multipliers of the rows there are."""
        values, k = self._numbers(at)
        K = values[self._order]
        if self._session is None:
            self._session = ConeSession(self._pattern, self.cost[self.column], K, k)
        else:
            self._session.update(K, k)
        found = self._session.solve()
        x = np.zeros(self.column.size)
        x[self.column] = found.x
        self._values = values
        return ConePoint(x, found.z, found.objective, found.is_sure)

    def reduced_costs(self, at: Iterate, found: ConePoint) -> FloatArray:
        """What each unknown of the frame would add to the objective, per unit, if it came in."""
        frame, move, z = self.frame, self.frame.movable, found.z
        pull = self._values * z[self._all_rows]
        total: FloatArray = self.cost + np.bincount(self._all_columns, pull, self.cost.size)
        # The bounds of unknowns that are in have rows too, which are not to be counted.
        total[self._bounded] += z[self._bound_at : self._bound_at + self._bounded.size]
        # The multiplier of each constraint, of which a cone has two rows.
        force = z[self._first]
        force[self._is_cone] -= z[self._first[self._is_cone] + 1]
        mean = (at.u + found.x[frame.at["u"]]) / 2
        pairs = force[: 2 * frame.r * frame.n].reshape(-1, 2)
        out = np.ones(move.row.size, dtype=np.bool_)
        out[self._turns] = False
        slope = np.where(out, (pairs[:, 0] - pairs[:, 1])[frame.turn_pair] * mean[move.row], 0.0)
        total[frame.at["F_up"]] -= slope
        total[frame.at["F_down"]] += slope
        out = np.ones(move.shift.size, dtype=np.bool_)
        out[self._shifts] = False
        advice = force[2 * frame.r * frame.n :]
        slope = np.where(out, advice[frame.own_rule] * mean[move.shift], 0.0)
        total[frame.at["f_up"]] -= slope
        total[frame.at["f_down"]] += slope
        return np.asarray(total[: frame.size])

    def _set_rows(self) -> None:
        """Decide where each constraint is: equations, inequalities, cones."""
        frame, m = self.frame, len(self._points.y)
        pair, rule = frame.turn_pair[self._turns], frame.own_rule[self._shifts]
        inside = np.concatenate(
            [
                np.repeat(np.bincount(pair, minlength=frame.r * frame.n), 2),
                np.bincount(rule, minlength=frame.r),
            ]
        )
        self._is_cone = inside > 0
        self._limits, self._zero, top = [], 0, 0
        for is_equation, row, column, entry, right in frame.limits:
            kept = np.unique(row[self.used[column]])
            number = np.full(right.size, -1)
            number[kept] = top + np.arange(kept.size)
            there = number[row] >= 0
            self._limits.append((number[row[there]], column[there], entry[there], right[kept]))
            top += kept.size
            self._zero += kept.size if is_equation else 0
        self._margin_at, self._rest_at = top, top + m
        top += m + (len(self.window.total) if self._has_rest else 0)
        self._first = np.zeros(inside.size, dtype=np.intp)
        lines, cones = np.flatnonzero(~self._is_cone), np.flatnonzero(self._is_cone)
        self._first[lines] = top + np.arange(lines.size)
        self._bound_at = top + lines.size
        bounded = np.append(self.used & frame.signed, np.ones(m, dtype=np.bool_))
        self._bounded = np.flatnonzero(bounded)
        top = self._bound_at + self._bounded.size
        self._nonnegative = top - self._zero
        sizes, own = inside[cones] + 2, frame.movable.shift.size
        self._first[cones] = top + np.cumsum(sizes) - sizes
        top += int(sizes.sum())
        self._squares, self._rows = top + 3 * np.arange(own), top + 3 * own
        self._sizes = [*sizes.tolist(), *[3] * own]
        # Where the entries of F and f are in their cones.
        order = np.argsort(pair, kind="stable")
        rank = np.empty(pair.size, dtype=np.intp)
        rank[order] = np.arange(pair.size) - np.searchsorted(pair[order], pair[order])
        self._turned = self._first[2 * pair[:, None] + np.arange(2)] + 2 + rank[:, None]
        rank = np.arange(rule.size) - np.searchsorted(rule, rule)
        self._shifted = self._first[2 * frame.r * frame.n + rule] + 2 + rank

    def _set_entries(self) -> None:
        """Where the entries of K are, in the order in which `_numbers` has their values."""
        tied, column = self._ties()
        self._again = np.flatnonzero(self._is_cone[tied])
        places = _Places()
        places.put(self._first[tied], column)
        places.put(self._first[tied[self._again]] + 1, column[self._again])
        for row, which, _, _ in self._limits:
            places.put(row, which)
        self._put_squares(places)
        self._put_points(places)
        places.put(self._bound_at + np.arange(self._bounded.size), self._bounded)
        self._all_rows, self._all_columns = places.joined()
        there = np.flatnonzero(self.column[self._all_columns])
        number = np.cumsum(self.column) - 1
        column = number[self._all_columns[there]]
        self._order = there[np.lexsort((self._all_rows[there], column))]
        counts = np.bincount(column, minlength=int(self.column.sum()))
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        rows = self._all_rows[self._order].astype(np.int32)
        self._pattern = Pattern(indptr, rows, self._zero, self._nonnegative, self._sizes)

    def _ties(self) -> tuple[IntArray, IntArray]:
        """Which unknowns are in which constraint, two for each premise and feature and then one for each premise."""
        frame, move, n, r = self.frame, self.frame.movable, self.frame.n, self.frame.r
        at = {name: place.start for name, place in frame.at.items()}
        every, advice, both = np.arange(r * n), 2 * r * n, np.arange(2)
        ties = _Places()

        def pairs(which: IntArray, column: IntArray) -> None:
            ties.put(2 * which[:, None] + both, column[:, None])

        pairs(frame.pull_pair, at["u"] + frame.pull_row)
        pairs(every, at["p"] + every % n)
        pairs(every, at["q"] + every % n)
        pairs(every, at["eta"] + every)
        ties.put(advice + frame.premises.rule, at["u"] + np.arange(len(frame.premises.d)))
        ties.put(advice + np.arange(r), np.full(r, at["b"]))
        ties.put(advice + np.arange(r), at["zeta"] + np.arange(r))
        # T stands in for entries that are left out.
        on = np.zeros((move.shift.size, n), dtype=np.bool_)
        on[frame.turn_own[self._turns], move.column[self._turns]] = True
        own, column = np.nonzero(frame.turning[frame.own_rule] & ~on)
        pairs(frame.own_rule[own] * n + column, at["T"] + own)
        still = np.setdiff1d(np.arange(move.shift.size), self._shifts)
        ties.put(advice + frame.own_rule[still], at["T"] + still)
        self._stand_ins = 2 * own.size + still.size
        for name in ("F_up", "F_down"):
            pairs(frame.turn_pair[self._turns], at[name] + self._turns)
        for name in ("f_up", "f_down"):
            ties.put(advice + frame.own_rule[self._shifts], at[name] + self._shifts)
        return ties.joined()

    def _put_squares(self, places: _Places) -> None:
        """What is squared in each cone."""
        frame, move = self.frame, self.frame.movable
        at = {name: place.start for name, place in frame.at.items()}
        for name in ("F_up", "F_down"):
            places.put(self._turned, (at[name] + self._turns)[:, None])
        places.put(self._turned, (at["u"] + move.row[self._turns])[:, None])
        for name in ("f_up", "f_down"):
            places.put(self._shifted, at[name] + self._shifts)
        places.put(self._shifted, at["u"] + move.shift[self._shifts])
        own = np.arange(move.shift.size)
        places.put(self._squares, at["T"] + own)
        places.put(self._squares + 1, at["T"] + own)
        places.put(self._squares + 2, at["u"] + move.shift)

    def _put_points(self, places: _Places) -> None:
        """The rows of the points in the window, and of all others."""
        n, m, at = self.frame.n, len(self._points.y), self.frame.at
        margin = self._margin_at + np.arange(m)
        # p, q and b come first.
        places.put(margin[:, None], np.arange(2 * n + 1))
        places.put(margin, self.frame.size + np.arange(m))
        if self._has_rest:
            rest = self._rest_at + np.arange(len(self.window.total))
            places.put(rest[:, None], np.arange(2 * n + 1))
            places.put(rest, np.full(rest.size, at["rest"].start))

    def _numbers(self, at: Iterate) -> tuple[FloatArray, FloatArray]:
        """The entries of K and the right-hand sides around a point."""
        frame, move = self.frame, self.frame.movable
        premises, points = frame.premises, self._points
        n, r, m = frame.n, frame.r, len(points.y)
        D, d = premises.D - at.F, premises.d - at.f
        sign = np.repeat(premises.sign, n)

        def both(value: FloatArray) -> FloatArray:
            return np.asarray((value[:, None] * _SIDES).ravel())

        u_turn, u_shift = at.u[move.row[self._turns]], at.u[move.shift[self._shifts]]
        # Coefficients in what has to be at least a square: eta -+ s, and zeta less the rest.
        ties = np.concatenate(
            [
                both(-D[frame.pull_row, frame.pull_column]),
                both(-sign),
                both(sign),
                np.ones(2 * r * n),
                -d,
                premises.sign,
                np.ones(r),
                -np.ones(self._stand_ins),
                both(u_turn),
                both(-u_turn),
                u_shift,
                -u_shift,
            ]
        )
        t, s, own = self._turns.size, self._shifts.size, move.shift.size
        signed, sides = points.X * points.y[:, None], points.y[:, None]
        parts = [
            -ties,
            ties[self._again],
            *(entry for _, _, entry, _ in self._limits),
            np.repeat([-1.0, 1.0], 2 * t),
            both(np.ones(t)),
            np.repeat([-1.0, 1.0, 1.0], s),
            np.repeat([-1.0, 1.0, -1.0], own),
            np.hstack([-signed, signed, -sides]).ravel(),
            -np.ones(m),
        ]
        if self._has_rest:
            slope, level = self.window.slope, self.window.level[:, None]
            parts += [np.hstack([-slope, slope, -level]).ravel(), -np.ones(len(level))]
        parts.append(-np.ones(self._bounded.size))
        return np.concatenate(parts), self._right_sides(at)

    def _right_sides(self, at: Iterate) -> FloatArray:
        frame, move = self.frame, self.frame.movable
        premises = frame.premises
        k = np.zeros(self._rows)
        top = 0
        for _, _, _, right in self._limits:
            k[top : top + right.size] = right
            top += right.size
        k[self._margin_at : self._rest_at] = -1.0
        if self._has_rest:
            k[self._rest_at : self._rest_at + len(self.window.total)] = -self.window.total
        twice = premises.totals(at.u[:, None] * at.F).ravel()
        constant = np.concatenate(
            [(-twice[:, None] * _SIDES).ravel(), -1.0 - premises.totals(at.u * at.f)]
        )
        cones = self._is_cone
        k[self._first] = np.where(cones, 1.0 + constant, constant)
        k[self._first[cones] + 1] = 1.0 - constant[cones]
        row, column = move.row[self._turns], move.column[self._turns]
        k[self._turned] = -at.F[row, column][:, None] + at.u[row][:, None] * _SIDES
        row = move.shift[self._shifts]
        k[self._shifted] = at.u[row] - at.f[row]
        k[self._squares] = k[self._squares + 1] = 1.0
        k[self._squares + 2] = -at.u[move.shift]
        return k


class _Places:
    """Places of entries, collected."""

    def __init__(self) -> None:
        self._rows: list[IntArray] = []
        self._columns: list[IntArray] = []

    def put(self, row: IntArray, column: IntArray) -> None:
        row, column = np.broadcast_arrays(row, column)
        self._rows.append(row.ravel())
        self._columns.append(column.ravel())

    def joined(self) -> tuple[IntArray, IntArray]:
        return np.concatenate(self._rows), np.concatenate(self._columns)
