"""The cheapest change of a case that makes weighted rules reach what they have to reach.

The conditions of rules cut each number into cells of values that no rule tells apart (`rule_svm.value_cells`). So what
may happen to a feature is a list of options: another category, or the nearest value of another cell, where a linear
term or a relation counts with an amount t by which the value goes further into the cell. With z_o for "option o is
taken", h_r for "rule r holds", and s_ro in {0, 1} for "the conditions of rule r on the feature of option o hold with
it" (o = 0: as the feature is now)::

    minimise    sum_o c_o z_o + sum_o d_o t_o
    subject to  sum_{o of feature j} z_o <= 1                                a feature has one new value
                0 <= t_o <= width_o z_o                                      t_o whole where the feature counts
                u_rj = s_r0 + sum_{o of feature j} (s_ro - s_r0) z_o         whether the conditions on feature j hold
                h_r <= u_rj,   h_r >= sum_j u_rj - (number of j) + 1         a rule holds if all of them do
                sum_r w_kr (h_r - now) + sum_o (g_ko z_o + v_ko t_o) >= D_k  for each row k that has to gain something
                z binary, 0 <= h <= 1

z decides u, and u decides h, so that h needs not be binary. Relations between features are further rows, without h.

Exactness: at first a little less is asked for than is needed. What costs least then and is enough, by the predictions
of the rules themselves, is the optimum. If it is not enough, a tie of floats or next to one, that choice of options is
cut off and the program solved anew; where amounts t count, they are found anew beside it first, for a little more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.exceptions import (
    DataError,
    InfeasibleError,
    InvalidValueError,
    TimeLimitError,
)
from clearmargin.rankings.recourse_plan import FeatureChange, Plan, RuleCase, Step
from clearmargin.rule_svm.value_cells import Cell, box_of, cell_starts, cut_into_cells
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Solution, Variables, solve

__all__ = ["RuleProgram"]

# Close to the least that HiGHS accepts; rows are scaled to entries of about one.
_TOLERANCE = 1e-9
# What is asked for at first, less than needed, and then more, relative to the size of a row.
_LESS = 1e-7
_MORE = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
# Choices that are enough but for rounding, before the search gives up on the tie.
_MOST_CUTS = 40
_TINY = 1e-200


@dataclass(frozen=True, slots=True)
class _Option:
    """Another value of a feature: codes that change, its cost, and how much further it may go into its cell."""

    place: int
    step: Step
    codes: Mapping[int, float]
    cost: float
    width: float = 0.0

    @property
    def sign(self) -> int:
        """Whether the value goes up or down with the amount; 0 where there is none."""
        return self.step.sign if self.width > 0 else 0


@dataclass(frozen=True, slots=True, eq=False)
class RuleProgram:
    """What may happen to a case of weighted rules, and what that does to scores.

    Parameters
    ----------
    plan : Plan
        The moves that are allowed, of a `RuleCase`.
    coef : ndarray of shape (k, n_scores)
        For each row that has to gain something, how much each score counts.

    Examples
    --------
    >>> from clearmargin import parse_rules
    >>> from clearmargin.rankings.recourse_plan import make_plan, read_case
    >>> from clearmargin.rule_svm import WeightedRules
    >>> rules = parse_rules("feature bmi: in [10, 60]" + chr(10) + "bmi >= 30 => ill", classes=["well", "ill"])
    >>> case = read_case(WeightedRules(rules, [2.0], -1.0), [33.0], None)
    >>> program = RuleProgram(make_plan(case, ["bmi"], None, None), np.array([[-1.0]]))
    >>> [str(change) for change in program.cheapest(np.array([0.5]), lambda changes: True)]
    ['bmi were 29.9999 instead of 33']
    """

    plan: Plan
    coef: FloatArray

    @property
    def case(self) -> RuleCase:
        """The case."""
        assert isinstance(self.plan.case, RuleCase)
        return self.plan.case

    def cheapest(
        self,
        need: FloatArray,
        is_enough: Any,
        barred: list[list[int]] | None = None,
        *,
        time_limit: float | None = None,
    ) -> tuple[FeatureChange, ...] | None:
        """Find the cheapest changes that gain what is needed.

        Parameters
        ----------
        need : ndarray of shape (k,)
            What each row has to gain.
        is_enough : callable
            Says of changes whether they suffice, by the rules themselves.
        barred : list of sets of places, optional
            Features that must not be changed together.
        time_limit : float, optional
            Seconds that each program may take.

        Returns
        -------
        tuple of FeatureChange or None
            None if nothing is enough.
        """
        form = _Form.of(self, barred or [])
        if form is None:
            return None
        size = form.size(need)
        cuts: list[BoolArray] = []
        while len(cuts) <= _MOST_CUTS:
            taken = form.solve(need - _LESS * size, cuts, time_limit)
            if taken is None:
                return None
            for found in form.refined(taken, need, size, time_limit):
                changes = form.changes(*found)
                if is_enough(changes):
                    return changes
            cuts.append(taken[0])
        for margin in _MORE:
            taken = form.solve(need + margin * size, [], time_limit)
            if taken is not None and is_enough(form.changes(*taken)):
                return form.changes(*taken)
        return None

    def closest(
        self, need: FloatArray, *, time_limit: float | None = None
    ) -> tuple[FeatureChange, ...]:
        """Find the changes with which the row that is worst off lacks least."""
        form = _Form.of(self, [])
        return () if form is None else form.changes(*form.closest(need, time_limit))


def _options(program: RuleProgram) -> Iterator[_Option]:
    """List what may happen, feature by feature."""
    case, plan = program.case, program.plan
    sloped = _sloped(program)
    for step in plan.steps:
        j, place = case.space.index(step.name), plan.place(step.name)
        if step.sign == 0:
            codes = {j: case.code(step.name, step.value)}
            if step.leaves is not None:
                codes[case.space.index(step.leaves)] = 0.0
            yield _Option(place, step, codes, step.cost)
            continue
        before = float(case.values[step.name])
        for cell in _cells(case, step, before):
            nearest = cell.nearest(before)
            far = cell.high if step.sign > 0 else cell.low
            width = abs(far - nearest) if j in sloped else 0.0
            if not math.isfinite(width):
                raise InvalidValueError(
                    f"{step.name!r} has a linear term or a relation, and so needs bounds; give X or bounds"
                )
            if nearest != before or width:
                cost = step.cost * abs(nearest - before)
                yield _Option(place, step, {j: nearest}, cost, width)


def _cells(case: RuleCase, step: Step, before: float) -> list[Cell]:
    """Return the cells of values that a number may go to, in one direction."""
    near, far = before + step.sign * step.least, float(step.value)
    low, high = min(near, far), max(near, far)
    starts = cell_starts(case.weighted.rules, case.space.index(step.name))
    return cut_into_cells(starts, low, high, step.integer)


def _sloped(program: RuleProgram) -> set[int]:
    """Return the features that count beyond the cell in which they are."""
    found = {term.feature for term in program.case.weighted.linear if term.fill is not None}
    relations = program.plan.relations
    if relations is not None:
        found |= set(np.flatnonzero(relations.A.any(axis=0)).tolist())
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """The program as arrays: one entry for each option, one for each rule whose truth may change."""

    program: RuleProgram
    options: tuple[_Option, ...]
    same_place: Any
    barred: FloatArray
    allowed: FloatArray
    held: Any
    base: FloatArray
    spans: tuple[tuple[int, int], ...]
    weights: FloatArray
    now: FloatArray
    gain: FloatArray
    slope: FloatArray

    @classmethod
    def of(cls, program: RuleProgram, barred: list[list[int]]) -> _Form | None:
        options = tuple(_options(program))
        if not options:
            return None
        places = np.array([option.place for option in options])
        truths = _rule_truths(program, options, places)
        gain, slope = _gains(program, options)
        changed = [r for r, _, _ in truths]
        weights = np.zeros((len(gain), len(changed)))
        # Relations, in the last rows, have no part in rules.
        chosen = np.atleast_2d(program.case.weighted.weights)[:, changed]
        weights[: len(program.coef)] = program.coef @ chosen
        spans, start = [], 0
        for _, base, _ in truths:
            spans.append((start, start + len(base)))
            start += len(base)
        rows = [row for _, _, differences in truths for row in differences]
        now = program.case.weighted.rules.covers(program.case.point()[None])[0, changed]
        return cls(
            program,
            options,
            sparse.csr_array((places[None, :] == np.unique(places)[:, None]).astype(float)),
            np.array([np.isin(places, group).astype(float) for group in barred]),
            np.array([len(group) - 1.0 for group in barred]),
            sparse.csr_array(np.array(rows).reshape(len(rows), len(options))),
            np.concatenate([base for _, base, _ in truths] or [np.zeros(0)]),
            tuple(spans),
            weights,
            now.astype(float),
            gain,
            slope,
        )

    def size(self, need: FloatArray) -> FloatArray:
        """Return what the tolerances of the solver are relative to, row by row."""
        widths = np.array([option.width for option in self.options])
        parts = [np.abs(self.gain).max(axis=1), (np.abs(self.slope) * widths).max(axis=1)]
        parts.append(np.abs(self.weights).max(axis=1, initial=0.0))
        largest = np.maximum(np.max(parts, axis=0), np.abs(need))
        return np.where(largest > 0, largest, 1.0)

    def _blocks(self, *, costs: bool, fixed: BoolArray | None = None) -> list[Variables | Linear]:
        """Build the unknowns, and the rows about options and rules."""
        n, n_rules = len(self.options), len(self.spans)
        widths = np.array([option.width for option in self.options])
        cost = np.array([option.cost for option in self.options])
        unit = np.array([option.step.cost for option in self.options])
        # Costs in units of the cheapest option that costs something, because tolerances are absolute; a step to the
        # next float costs nothing beside the others.
        reach = cost + unit * widths
        least = float(reach[reach >= max(1e-6 * reach.max(), _TINY)].min(initial=np.inf))
        scale = 0.0 if not costs else 1.0 / least if math.isfinite(least) else 1.0
        low, high = (0.0, 1.0) if fixed is None else (fixed.astype(float), fixed.astype(float))
        blocks: list[Variables | Linear] = [
            Variables("z", n, low, high, cost * scale, integer=True),
            Linear("one value", {"z": self.same_place}, upper=1.0),
        ]
        if len(self.barred):
            blocks.append(Linear("barred", {"z": self.barred}, upper=self.allowed))
        for name, whole in (("t", False), ("k", True)):
            mine = self._amounts_of(whole)
            if mine.any():
                amounts = Variables(
                    name, int(mine.sum()), 0.0, widths[mine], (unit * scale)[mine], integer=whole
                )
                rows = sparse.diags_array(-widths, format="csr")[np.flatnonzero(mine)]
                each = sparse.eye_array(int(mine.sum()))
                within = Linear(f"within the cell {name}", {name: each, "z": rows}, upper=0.0)
                blocks += [amounts, within]
        if n_rules:
            blocks += self._rule_blocks(n_rules)
        return blocks

    def _rule_blocks(self, n_rules: int) -> list[Variables | Linear]:
        of_rule = np.zeros((len(self.base), n_rules))
        for r, (start, end) in enumerate(self.spans):
            of_rule[start:end, r] = 1.0
        parts = sparse.csr_array(of_rule)
        counts = of_rule.sum(axis=0)
        all_base, all_held = parts.T @ self.base, parts.T @ self.held
        return [
            Variables("h", n_rules, 0.0, 1.0),
            Linear("each part holds", {"h": parts, "z": -self.held}, upper=self.base),
            Linear(
                "all parts hold",
                {"h": sparse.eye_array(n_rules), "z": -sparse.csr_array(all_held)},
                lower=all_base - counts + 1.0,
            ),
        ]

    def _amounts_of(self, whole: bool) -> BoolArray:
        return np.array([o.width > 0 and o.step.integer == whole for o in self.options])

    def _gained(self, size: FloatArray) -> dict[str, Any]:
        """Return what each row gains, in units of its size."""
        terms: dict[str, Any] = {"z": self.gain / size[:, None]}
        for name, whole in (("t", False), ("k", True)):
            mine = self._amounts_of(whole)
            if mine.any():
                terms[name] = self.slope[:, mine] / size[:, None]
        if len(self.spans):
            terms["h"] = self.weights / size[:, None]
        return terms

    def refined(
        self,
        taken: tuple[BoolArray, FloatArray],
        need: FloatArray,
        size: FloatArray,
        time_limit: float | None,
    ) -> Iterator[tuple[BoolArray, FloatArray]]:
        """Yield a choice of options, and then with amounts that gain what is needed and a little more."""
        yield taken
        if not any(self.options[k].width for k in np.flatnonzero(taken[0]).tolist()):
            return
        for margin in (0.0, *_MORE):
            more = self.solve(need + margin * size, [], time_limit, fixed=taken[0])
            if more is not None:
                yield more

    def solve(
        self,
        need: FloatArray,
        cuts: list[BoolArray],
        time_limit: float | None,
        fixed: BoolArray | None = None,
    ) -> tuple[BoolArray, FloatArray] | None:
        """Return which options are taken, and the amounts; None if nothing is enough."""
        size = self.size(need)
        blocks = self._blocks(costs=True, fixed=fixed)
        lower = (need + self.weights @ self.now) / size
        blocks.append(Linear("enough", self._gained(size), lower=lower))
        if cuts:
            signs = np.array([np.where(cut, -1.0, 1.0) for cut in cuts])
            least = np.array([1.0 - cut.sum() for cut in cuts])
            blocks.append(Linear("other choices", {"z": signs}, lower=least))
        try:
            return self._read(_solved(blocks, time_limit, explain=False))
        except InfeasibleError:
            return None

    def closest(self, need: FloatArray, time_limit: float | None) -> tuple[BoolArray, FloatArray]:
        """Return the options with which the row that is worst off lacks least."""
        size = self.size(need)
        is_goal = np.arange(len(need)) < len(self.program.coef)
        largest = float(size[is_goal].max())
        missing = (is_goal * largest / size)[:, None]
        blocks = [
            *self._blocks(costs=False),
            Variables("q", 1, lower=0.0, cost=1.0),
            Linear(
                "enough",
                {**self._gained(size), "q": missing},
                lower=(need + self.weights @ self.now) / size,
            ),
        ]
        return self._read(_solved(blocks, time_limit))

    def _read(self, answer: Solution) -> tuple[BoolArray, FloatArray]:
        taken = np.asarray(answer.values["z"] > 0.5)
        amounts = np.zeros(len(self.options))
        for name, whole in (("t", False), ("k", True)):
            mine = self._amounts_of(whole)
            if mine.any():
                found = answer.values[name]
                amounts[mine] = np.round(found) if whole else found
        return taken, np.where(taken, amounts, 0.0)

    def changes(self, taken: BoolArray, amounts: FloatArray) -> tuple[FeatureChange, ...]:
        """Return what options come to in the words of the user."""
        case = self.program.case
        made = []
        for k in np.flatnonzero(taken).tolist():
            option, amount = self.options[k], float(amounts[k])
            step, before = option.step, case.values[option.step.name]
            after = step.value
            if step.sign:
                nearest = option.codes[case.space.index(step.name)]
                after = nearest + option.sign * min(amount, option.width)
                is_whole = step.integer and isinstance(before, int)
                after = type(before)(after) if is_whole else after
            if after != before:
                made.append(
                    FeatureChange(step.name, before, after, option.cost + step.cost * amount)
                )
            if step.leaves is not None:
                left = case.values[step.leaves]
                made.append(FeatureChange(step.leaves, left, type(left)(0), 0.0))
        return tuple(made)


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


def _rule_truths(
    program: RuleProgram, options: tuple[_Option, ...], places: Any
) -> list[tuple[int, FloatArray, list[FloatArray]]]:
    """List the rules whose truth may change: whether their conditions on each place hold now, and with each option."""
    case, point = program.case, program.case.point()
    found = []
    for r, rule in enumerate(case.weighted.rules):
        box = box_of(rule.region)
        base, differences = [], []
        by_place: dict[int, list[int]] = {}
        for j in box.bounded:
            by_place.setdefault(program.plan.place(case.space.names[j]), []).append(j)
        for place, features in by_place.items():
            held = _holds(box, features, point, {})
            mine = np.flatnonzero(places == place).tolist()
            row = np.zeros(len(options))
            row[mine] = [_holds(box, features, point, options[o].codes) - held for o in mine]
            if held == 1.0 and not row.any():
                continue  # holds, whatever happens
            base.append(held)
            differences.append(row)
            if held == 0.0 and not row.any():
                base = []  # fails, whatever happens
                break
        if base:
            found.append((r, np.array(base), differences))
    return found


def _holds(box: Any, features: list[int], point: FloatArray, codes: Mapping[int, float]) -> float:
    """Return 1.0 where a box allows the values of some features, else 0.0."""
    changed = point.copy()
    for j, code in codes.items():
        changed[j] = code
    for j in features:
        value, is_missing = float(changed[j]), bool(np.isnan(changed[j]))
        if j in box.missing or j in box.known:
            if is_missing != (j in box.missing):
                return 0.0
        elif j in box.sets:
            if is_missing or int(value) not in box.sets[j]:
                return 0.0
        elif is_missing or value not in box.interval(j):
            return 0.0
    return 1.0


def _gains(program: RuleProgram, options: tuple[_Option, ...]) -> tuple[FloatArray, FloatArray]:
    """Return what each option adds to each row by linear terms and relations, and what one unit of its amount adds."""
    case, point = program.case, program.case.point()
    relations = program.plan.relations
    n_relations = 0 if relations is None else len(relations.b)
    gain = np.zeros((len(program.coef) + n_relations, len(options)))
    slope = np.zeros_like(gain)
    for k, option in enumerate(options):
        for j, code in option.codes.items():
            for term in case.weighted.linear:
                if term.feature == j:
                    added = term.of(np.array([code, point[j]]))
                    gain[: len(program.coef), k] += program.coef @ (added[0] - added[1])
                    if term.fill is not None and option.sign:
                        slope[: len(program.coef), k] += option.sign * (
                            program.coef @ term.coef.reshape(-1)
                        )
            if relations is not None and case.space.categories[j] is None:
                gain[len(program.coef) :, k] -= relations.A[:, j] * (code - point[j])
                slope[len(program.coef) :, k] -= relations.A[:, j] * option.sign
    if not np.isfinite(gain).all():
        raise DataError("a missing value has a part in a relation; fill it in first")
    return gain, slope
