"""The cheapest change of a case that makes scores reach what they have to reach.

What may happen to a case is a list of options, at most one of which is taken for each feature: another category,
another value, or a cell of values that a number may go to, in which it may go an amount t further than the nearest
value of the cell (whole numbers by whole t). Scores are linear in both. Where rules with weights make them, cells are
such that no rule tells the values of one apart (`points.cells`); for a plane, all values on one side are one
cell. With z_o for "option o is taken", h_r for "rule r holds", and s_ro in {0, 1} for "the conditions of rule r on the
feature of option o hold with it" (o = 0: as the feature is now)::

    minimise    sum_o c_o z_o + sum_o d_o t_o
    subject to  sum_{o of feature j} z_o <= 1                                a feature has one new value
                0 <= t_o <= width_o z_o                                      t_o whole where the feature counts
                sum_{j in S} sum_{o of feature j} z_o <= |S| - 1             for each set S of features that is barred
                u_rj = s_r0 + sum_{o of feature j} (s_ro - s_r0) z_o         whether the conditions on feature j hold
                h_r <= u_rj,   h_r >= sum_j u_rj - (number of j) + 1         a rule holds if all of them do
                sum_r w_kr (h_r - now) + sum_o (g_ko z_o + v_ko t_o) >= D_k  for each row k that has to gain something
                z binary, 0 <= h <= 1

z decides u, and u decides h, so that h needs not be binary. With options alone and one row this is the multiple-choice
knapsack problem in covering form. A barred set bars all sets that contain it, so that a further answer leaves something
alone that each earlier one changes. Source: Ustun, Spangher and Liu (2019), "Actionable recourse in linear
classification", but with numbers that need no grid.

At first a little less is asked for than is needed. What costs least then and is enough, as the model itself confirms,
is the optimum. If it is not enough, a tie of floats or next to one, that choice of options is cut off and the program
solved anew; amounts are found anew beside a choice first, for what is needed and a little more.

If no change is enough, the proof is the smallest q such that gains of D_k - q can be had in all rows.

Inside, a continuous amount counts in units of what a row may need of it, rows in units of their largest term, and costs
in units of the cheapest option, because tolerances of solvers are absolute. Where there is one row and no rule, what
goes beyond its need is cut off, which changes no optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.cases.recourse_options import Case, Option
from clearmargin.exceptions import InfeasibleError, InvalidValueError, TimeLimitError
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Solution, Variables, solve

# Close to the least that HiGHS accepts; rows are scaled to entries of about one.
_TOLERANCE = 1e-9
# What is asked for at first, less than needed, relative to the size of a row.
_LESS = 1e-7
# Choices that are enough but for rounding, before the search gives up on the tie.
_MOST_CUTS = 40
_TINY = 1e-200

# Which options are taken, and how much further each goes.
Choice = tuple[BoolArray, FloatArray]


class ChangeProgram:
    """The program of a case, its options, what each row has to gain, and features that must not change together."""

    def __init__(
        self,
        case: Case,
        options: Sequence[Option],
        coef: FloatArray,
        need: FloatArray,
        barred: Sequence[Sequence[int]] = (),
        time_limit: float | None = None,
    ):
        gain, slope = case.effects(options, coef)
        # What margins are relative to: what each row needs, and what whole moves add to it.
        integer = [option.integer or option.far is None for option in options]
        self._weights = np.zeros((len(coef), 0))
        if case.surface is None:
            self._weights = np.asarray(coef @ np.atleast_2d(case.model.weights))
        whole = [(gain + slope)[:, integer], self._weights]
        self.size = np.abs(need) + np.max([np.abs(a).max(axis=1, initial=0.0) for a in whole], 0)
        # What adds to no row is never worth its cost; what rules make of it is not known here.
        useful = np.logical_or(((gain > 0) | (slope > 0)).any(axis=0), case.surface is None)
        self.options = tuple(o for o, is_useful in zip(options, useful, strict=True) if is_useful)
        self.gain, self.slope, self._time_limit = gain[:, useful], slope[:, useful], time_limit
        self._widths = np.array([option.width for option in self.options])
        self._whole = np.array([option.integer for option in self.options], dtype=np.bool_)
        self._is_single = case.surface is not None and len(coef) == 1
        endless = np.flatnonzero(np.isinf(self._widths))
        if len(endless) and not self._is_single:
            name = self.options[int(endless[0])].name
            raise InvalidValueError(
                f"{name!r} may go anywhere, which can be weighed for a plane between two classes only; give X or bounds"
            )
        places = np.array([option.place for option in self.options])
        self._same = sparse.csr_array(np.unique(places)[:, None] == places, dtype=np.float64)
        self._barred = np.array([np.isin(places, group) for group in barred], dtype=np.float64)
        self._allowed = np.array([len(group) - 1.0 for group in barred])
        changed, now, self._base, held, owner = case.rule_parts(self.options)
        self._held = sparse.csr_array(held)
        self._parts = sparse.csr_array(owner[:, None] == np.arange(len(changed)), dtype=np.float64)
        self._weights = self._weights[:, changed]
        self._now = self._weights @ now

    def choices(self, need: FloatArray) -> Iterator[Choice]:
        """Yield choices of options that gain what is needed or hardly less, those of least cost first."""
        cuts: list[BoolArray] = []
        while self.options and len(cuts) <= _MOST_CUTS:
            taken = self.solve(need - _LESS * self._scaled(need)[-1], cuts)
            if taken is None:
                return
            yield taken
            cuts.append(taken[0])

    def solve(
        self, need: FloatArray, cuts: Sequence[BoolArray] = (), fixed: BoolArray | None = None
    ) -> Choice | None:
        """Return the cheapest choice that gains what is needed; None if nothing is enough."""
        blocks = self._blocks(need, fixed=fixed)
        if cuts:
            signs = np.array([np.where(cut, -1.0, 1.0) for cut in cuts])
            least = np.array([1.0 - cut.sum() for cut in cuts])
            blocks.append(Linear("other choices", {"z": signs}, lower=least))
        try:
            return self._read(blocks, need)
        except InfeasibleError:
            return None

    def closest(self, need: FloatArray) -> Choice | None:
        """Return the choice with which the row that is worst off lacks least; None where there are no options."""
        if not self.options or need.max() <= 0:
            return None
        return self._read(self._blocks(need, has_lack=True), need)

    def _scaled(self, need: FloatArray) -> tuple[FloatArray, ...]:
        """Return gains, slopes, the most that each option may go further, its unit, and the size of each row."""
        gain, slope, most = self.gain, self.slope, self._widths
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._is_single and need[0] > 0:
                gain = np.minimum(gain, need[0])
                slope = np.where(self._whole, np.minimum(slope, need[0]), slope)
                enough = np.where(slope[0] > 0, (need[0] - gain[0]) / slope[0], 0.0)
                # A little more than enough, so that rounding does not make it too little.
                enough = np.where(self._whole, np.floor(enough) + 1.0, enough * 1.001)
                most = np.minimum(most, enough)
            unit = np.where(slope != 0, np.abs(need)[:, None] / np.abs(slope), 0.0).max(0)
        unit = np.where(self._whole | (unit == 0), 1.0, np.minimum(unit, most))
        unit = np.where(unit > 0, unit, 1.0)
        terms = [gain, slope * np.minimum(unit, most), self._weights]
        largest = np.max([np.abs(each).max(axis=1, initial=0.0) for each in terms], axis=0)
        largest = np.maximum(largest, np.abs(need))
        return gain, slope, most, unit, np.where(largest > 0, largest, 1.0)

    def _blocks(
        self, need: FloatArray, *, fixed: BoolArray | None = None, has_lack: bool = False
    ) -> list[Variables | Linear]:
        """Build the unknowns and the rows; costs count but where the least lack is asked for."""
        gain, slope, most, unit, size = self._scaled(need)
        cost = np.array([option.cost for option in self.options])
        further = np.array([option.unit for option in self.options]) * unit
        # A step to the next float costs nothing beside the others.
        reach = cost + further * np.minimum(most / unit, 1.0)
        least = float(reach[reach >= max(1e-6 * reach.max(), _TINY)].min(initial=np.inf))
        price = 0.0 if has_lack else 1.0 / least if np.isfinite(least) else 1.0
        low, high = (0.0, 1.0) if fixed is None else (fixed.astype(float), fixed.astype(float))
        gained: dict[str, Any] = {"z": gain / size[:, None]}
        blocks: list[Variables | Linear] = [
            Variables("z", len(cost), low, high, cost * price, integer=True),
            Linear("one value", {"z": self._same}, upper=1.0),
        ]
        if len(self._barred):
            blocks.append(Linear("barred", {"z": self._barred}, upper=self._allowed))
        for name, mine in self._amounts():
            n, limit = len(mine), (most / unit)[mine]
            blocks.append(
                Variables(name, n, 0.0, limit, further[mine] * price, integer=name == "k")
            )
            rows = sparse.csr_array((-limit, (np.arange(n), mine)), shape=(n, len(cost)))
            within: dict[str, Any] = {name: sparse.eye_array(n), "z": rows}
            blocks.append(Linear(f"within the cell {name}", within, upper=0.0))
            gained[name] = (slope * unit)[:, mine] / size[:, None]
        if self._weights.shape[1]:
            held, parts = self._held, self._parts
            counts = parts.sum(axis=0)
            every: dict[str, Any] = {"h": sparse.eye_array(len(counts)), "z": -(parts.T @ held)}
            least_held = parts.T @ self._base - counts + 1.0
            blocks += [
                Variables("h", len(counts), 0.0, 1.0),
                Linear("each part holds", {"h": parts, "z": -held}, upper=self._base),
                Linear("all parts hold", every, lower=least_held),
            ]
            gained["h"] = self._weights / size[:, None]
        if has_lack:
            blocks.append(Variables("q", 1, lower=0.0, cost=1.0))
            gained["q"] = (size.max() / size)[:, None]
        return [*blocks, Linear("enough", gained, lower=(need + self._now) / size)]

    def _amounts(self) -> Iterator[tuple[str, Any]]:
        """Yield names and positions of continuous and of whole amounts, where there are any."""
        for name, whole in (("t", False), ("k", True)):
            mine = np.flatnonzero((self._widths > 0) & (self._whole == whole))
            if len(mine):
                yield name, mine

    def _read(self, blocks: list[Variables | Linear], need: FloatArray) -> Choice:
        try:
            answer: Solution = solve(Program(blocks), tol=_TOLERANCE, time_limit=self._time_limit)
        except TimeLimitError as error:
            raise TimeLimitError(
                f"the search for the cheapest change was stopped after {self._time_limit:g} s, before it had an "
                "answer; allow fewer features or options to change, or give it more time (time_limit)"
            ) from error
        _, _, most, unit, _ = self._scaled(need)
        taken = np.asarray(answer.values["z"] > 0.5)
        amounts = np.zeros(len(taken))
        for name, mine in self._amounts():
            found = answer.values[name]
            amounts[mine] = np.round(found) if name == "k" else found * unit[mine]
        return taken, np.where(taken, np.clip(amounts, 0.0, most), 0.0)
