r"""The 1-norm support vector machine over all rules of few conditions, solved to a certified gap.

Variables: weights a_r of all rules r of at most k conditions, weights w_j of fixed columns, intercept b, hinge losses
xi_i. Data: rows h_r(x_i) in {0, 1} of the rules, values z_ij of the fixed columns (linear terms, experts' rules), signs
y_i in {-1, 1}, costs C_i >= 0, costs c_r = 1 + penalty (k_r - 1) of rules and d_j >= 0.01 of fixed columns::

    minimise    sum_r c_r |a_r| + sum_j d_j |w_j| + sum_i C_i xi_i
    subject to  y_i (sum_r a_r h_r(x_i) + sum_j w_j z_ij + b) + xi_i >= 1,    xi >= 0

where the weight of a rule or column may be bound to one sign: s_r a_r >= 0. It is the program of `lp_svm.lpsvm` with a
column for each rule, of which there are millions. Its dual, with one multiplier alpha_i = y_i u_i for each row::

    maximise    sum_i u_i
    subject to  |sum_i alpha_i h_r(x_i)| <= c_r for all rules r,    |sum_i alpha_i z_ij| <= d_j,
                sum_i alpha_i = 0,    0 <= u_i <= C_i

has a row for each rule (one side of it where the sign is bound) and a bounded column for each point. A *master* has
the rows of some rules. After each solution by the dual simplex method, from where the last one ended, `pricing`
finds the rules that alpha violates most, over *all* rules; of equal or complementary sets of rows, which say the same
beside an intercept, one enters. When none is violated, the weights of the master are optimal over all rules.

**The certificate.** Before that, whatever u the master gave: clip it to [0, C], round it down to whole multiples of a
unit so small that 2^52 of them are the sum of all C_i, take what is too much off the heavier class, and divide it by
the highest price s >= 1 of all rules and columns. That is feasible in the dual, and sum_i u_i / s is a lower bound of
the optimum. Sums of whole numbers below 2^53 are exact in floats, so the prices of rules are exact; fixed columns are
priced with a bound on rounding errors, and what rounding may do to the objective is taken off the bound. So the
relative gap between objective and bound certifies the weights over all rules, whatever the solver did.

**One answer.** Rows that no condition and no fixed column tells apart are one row with the sum of their costs, and rows
are put in the order of their cells before anything else: the answer depends neither on the order of rows nor, since all
choices are made by exact prices, on the processor.

The smallest cost at which a rule enters, with costs C w_i, is the reciprocal of the program::

    minimise    t
    subject to  |sum_i alpha_i h_r(x_i)| <= t c_r,    sum_i alpha_i = 0,
                u_i = w_i in the class of less weight,    0 <= u_i <= w_i in the other

because without rules the intercept is that of the heavier class, whose multipliers can be chosen. Rules are generated
in the same way; any alpha gives an upper bound of t, and any master a lower one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from clearmargin import progress
from clearmargin.exceptions import InvalidValueError, TimeLimitError
from clearmargin.lp_svm.lpsvm import best_intercept, signed_bounds
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.pricing import PricedRules, Pricing
from clearmargin.rule_svm.work import Budget, iteration_work
from clearmargin.rules.arithmetic import weighted_sums
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.solvers import Linear, Program, Session, Variables

__all__ = ["FixedColumns", "RuleLPSolution", "smallest_cost", "solve_rule_lp"]

Stopped = Literal["optimal", "work", "time", "rounds", "precision"]

# No price of a column is below this: a column without price cannot be made feasible by scaling.
LEAST_PRICE = 0.01
# The certificate divides by the largest violation of a row: it must be far below the gap asked for.
_SOLVER_TOL = 1e-9
# Rules that enter in a round, at most: with 20 there were half as many rounds more, with 80 no fewer.
_ENTERING = 40
# Of those that other multipliers violate, so many are tried on the master's.
_TRIED = 100
# With so many that entered, the master is solved before more rules are priced.
_ENOUGH = 5
# How near to the multipliers of the best bound rules are sought; 0 to 0.9 were tried.
_SMOOTHING = 0.8
# A rule enters if its price exceeds its cost by more than the solver's tolerance.
_EXCESS = 1e-8
# Multipliers are whole multiples of the sum of all costs divided by this.
_GRID = 2.0**52
# Weights below this part of the largest are what rounding left.
_NOISE = 1e-12
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class FixedColumns:
    """Columns that are in the program whatever they are worth: linear terms, experts' rules.

    Parameters
    ----------
    values : ndarray of shape (m, q)
        What they hold for each row, finite.
    price : ndarray of shape (q,)
        The price of a unit of their weight, at least 0.01.
    sign : ndarray of int of shape (q,)
        The sign that the weight must have; 0 for any.

    Examples
    --------
    >>> FixedColumns(np.array([[0.5], [2.0]]), np.array([1.0]), np.array([1])).size
    1
    """

    values: FloatArray
    price: FloatArray
    sign: IntArray

    def __post_init__(self) -> None:
        q = self.values.shape[1]
        if self.price.shape != (q,) or self.sign.shape != (q,):
            raise InvalidValueError(
                f"{q} fixed columns need as many prices and signs, not {len(self.price)} and {len(self.sign)}"
            )
        if not np.isfinite(self.values).all():
            raise InvalidValueError("fixed columns must hold finite numbers")
        if not (self.price >= LEAST_PRICE).all():
            raise InvalidValueError(
                f"the price of a column is at least {LEAST_PRICE}, not {float(self.price.min())}"
            )
        if not np.isin(self.sign, (-1, 0, 1)).all():
            raise InvalidValueError("the sign of a column is -1, 0 or 1")

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.price)

    @classmethod
    def none(cls, m: int) -> FixedColumns:
        """Give no columns for m rows."""
        return cls(np.empty((m, 0)), np.empty(0), np.empty(0, dtype=np.intp))


@dataclass(frozen=True, slots=True)
class RuleLPSolution:
    """Weights of rules, and how far from the optimum over all rules they can be.

    Parameters
    ----------
    items : ndarray of int of shape (r, k)
        The conditions of every rule that was generated, -1 where it has fewer than k.
    weights : ndarray of shape (r,)
        Their weights, most of them zero.
    fixed_weights : ndarray of shape (q,)
        Weights of the fixed columns.
    intercept : float
        The intercept.
    objective : float
        Value of the program.
    bound : float
        A value that no weights over all rules can get below.
    rounds : int
        How many masters were solved.
    stopped : {"optimal", "work", "time", "rounds", "precision"}
        Why: the gap was reached, work, time or rounds were up, or floating point allows no better.
    """

    items: IntArray
    weights: FloatArray
    fixed_weights: FloatArray
    intercept: float
    objective: float
    bound: float
    rounds: int
    stopped: Stopped

    @property
    def gap(self) -> float:
        """How far the objective may be above the optimum over all rules, relative to itself."""
        excess = max(0.0, self.objective - self.bound)
        return excess / self.objective if excess else 0.0


def solve_rule_lp(
    conditions: Conditions,
    table: FloatArray,
    y: FloatArray,
    costs: FloatArray,
    *,
    max_conditions: int = 2,
    penalty: float = 0.0,
    fixed: FixedColumns | None = None,
    monotone: IntArray | None = None,
    start: IntArray | None = None,
    tol: float = 1e-6,
    time_limit: float | None = None,
    max_work: float | None = None,
    max_rounds: int | None = None,
) -> RuleLPSolution:
    """Solve the 1-norm SVM over all rules.

    Parameters
    ----------
    conditions : Conditions
        What rules consist of.
    table : ndarray of shape (m, n)
        Numbers and codes of categories, NaN where a value is missing.
    y : ndarray of shape (m,)
        Signs, -1 or 1.
    costs : ndarray of shape (m,)
        The costs of a unit of hinge loss of each row, at least 0.
    max_conditions : int, default 2
        Most conditions of a rule, 1 to 3. An interval on one feature is two conditions.
    penalty : float, default 0.0
        What each condition after the first adds to the cost 1 of a rule; at least 0.
    fixed : FixedColumns, optional
        Columns beside the rules.
    monotone : ndarray of int of shape (n,), optional
        Directions of features; see `clearmargin.rule_svm.pricing.rule_signs`.
    start : ndarray of int of shape (r, k), optional
        Rules to start with, such as those of a solution at another cost.
    tol : float, default 1e-6
        Relative gap to reach.
    time_limit : float, optional
        Seconds after which the best solution so far is given.
    max_work : float, optional
        Work after which the best solution so far is given, in units of about a second: simplex iterations and prices
        are counted, so that the solution depends neither on the processor nor on what else runs on it.
    max_rounds : int, optional
        Most masters to solve.

    Returns
    -------
    RuleLPSolution
        The weights, certified.

    Examples
    --------
    >>> from clearmargin import FeatureSpace
    >>> table = np.array([[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]])
    >>> conditions = Conditions.of_table(FeatureSpace(["a", "b"]), table)
    >>> y = np.array([1.0, -1.0, -1.0, -1.0])
    >>> solution = solve_rule_lp(conditions, table, y, np.full(4, 10.0))
    >>> [conditions.region(rule) for rule in solution.items[solution.weights != 0]]
    [Box({0: [-inf, 1.5], 1: [-inf, 1.5]}, n_features=2)]
    >>> solution.objective, solution.gap < 1e-12
    (2.0, True)
    """
    _check(conditions, table, y, costs, max_conditions, penalty)
    budget = Budget(max_work, time_limit)
    data = _Data.merged(conditions, table, y, costs, fixed)
    pricing = Pricing(conditions, data.cells, max_conditions, penalty, monotone)
    if len(np.unique(data.y)) < 2:
        return _constant(data, max_conditions)
    most = math.inf if max_rounds is None else max_rounds
    return _Generation(data, pricing, start).solve(tol, budget, most)


def smallest_cost(
    conditions: Conditions,
    table: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    *,
    max_conditions: int = 2,
    penalty: float = 0.0,
    monotone: IntArray | None = None,
    tol: float = 1e-6,
) -> float:
    """Find the smallest C at which a rule enters, with a cost of C times its weight for each row.

    Parameters
    ----------
    conditions, table, y, max_conditions, penalty, monotone
        As for `solve_rule_lp`.
    weights : ndarray of shape (m,)
        Weights of the rows, at least 0.
    tol : float, default 1e-6
        Relative error.

    Returns
    -------
    float
        Up to it the best weights are all zero; infinite if no rule ever enters.

    Examples
    --------
    >>> from clearmargin import FeatureSpace
    >>> table = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> conditions = Conditions.of_table(FeatureSpace(["a"]), table)
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> round(smallest_cost(conditions, table, y, np.ones(4), max_conditions=1), 9)
    0.5
    """
    _check(conditions, table, y, weights, max_conditions, penalty)
    data = _Data.merged(conditions, table, y, weights, None)
    pricing = Pricing(conditions, data.cells, max_conditions, penalty, monotone)
    if len(np.unique(data.y)) < 2:
        return math.inf
    return _Generation(data, pricing, None).smallest_cost(tol)


def _check(
    conditions: Conditions,
    table: FloatArray,
    y: FloatArray,
    costs: FloatArray,
    max_conditions: int,
    penalty: float,
) -> None:
    m, n = len(table), len(conditions.space)
    if table.shape != (m, n) or y.shape != (m,) or costs.shape != (m,):
        raise InvalidValueError(
            f"a table of shape {table.shape}, signs of shape {y.shape} and costs of shape {costs.shape} do not "
            f"belong together; there are {n} features"
        )
    if not np.isin(y, (-1.0, 1.0)).all():
        raise InvalidValueError("signs must be -1 or 1")
    if not (np.isfinite(costs).all() and (costs >= 0.0).all()):
        raise InvalidValueError("costs must be finite numbers of at least 0")
    if max_conditions not in (1, 2, 3):
        raise InvalidValueError(f"max_conditions is 1, 2 or 3, not {max_conditions!r}")
    if not (penalty >= 0.0 and math.isfinite(penalty)):
        raise InvalidValueError(f"penalty is a number of at least 0, not {penalty!r}")


@dataclass(frozen=True, slots=True)
class _Data:
    """The rows that can be told apart, in an order of their own, with costs and fixed columns in units for floats.

    Parameters
    ----------
    cells : ndarray of int of shape (n, m)
        The cells of the rows.
    y : ndarray of shape (m,)
        Signs.
    cost : ndarray of shape (m,)
        Costs divided by `unit`.
    unit : float
        The smaller of 1 and the largest cost; costs of rules and columns are divided by it, too.
    Z : ndarray of shape (m, q)
        Fixed columns, from their middle and in units of `scale`.
    price, sign, middle, scale : ndarray of shape (q,)
        Of the fixed columns; prices are for `Z`, not divided by `unit`.
    """

    cells: IntArray
    y: FloatArray
    cost: FloatArray
    unit: float
    Z: FloatArray
    price: FloatArray
    sign: IntArray
    middle: FloatArray
    scale: FloatArray

    @classmethod
    def merged(
        cls,
        conditions: Conditions,
        table: FloatArray,
        y: FloatArray,
        costs: FloatArray,
        fixed: FixedColumns | None,
    ) -> _Data:
        """Merge rows that nothing tells apart; rows without cost go."""
        given = FixedColumns.none(len(y)) if fixed is None else fixed
        counted = np.flatnonzero(costs > 0.0)
        cells = conditions.cells(table[counted])
        y, costs, values = y[counted], costs[counted], given.values[counted]
        keys = [costs, *values.T, y, *cells[conditions.used]]
        order = np.lexsort(keys)
        is_new = np.zeros(len(order), dtype=np.bool_)
        is_new[:1] = True
        for key in keys[1:]:
            is_new[1:] |= np.diff(key[order]) != 0
        first = np.flatnonzero(is_new)
        cost = costs[order][first]
        for k, (begin, end) in enumerate(zip(first, [*first[1:], len(order)], strict=True)):
            if end - begin > 1:
                cost[k] = math.fsum(costs[order[begin:end]].tolist())
        kept = order[first]
        unit = min(1.0, float(cost.max(initial=1.0)))
        Z, price, middle, scale = _standardised(values[kept], given.price, unit)
        return cls(cells[:, kept], y[kept], cost / unit, unit, Z, price, given.sign, middle, scale)

    def __len__(self) -> int:
        return len(self.y)


def _standardised(
    values: FloatArray, price: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Look at columns from their middle, in units of half their range, or less where their price would be tiny."""
    low, high = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
    if not len(values):
        low, high = np.zeros_like(price), np.zeros_like(price)
    middle = low / 2.0 + high / 2.0
    reach = high / 2.0 - low / 2.0
    # Limits of rows far below 1 would be small against the tolerance of the solver.
    scale = np.minimum(np.where(reach > 0.0, reach, 1.0), price / unit)
    return (values - middle) / scale, price / scale, middle, scale


def _constant(data: _Data, max_conditions: int) -> RuleLPSolution:
    """Give the solution for rows of one class: its sign, without loss."""
    b = float(data.y[0]) if len(data) else 0.0
    none = np.empty((0, max_conditions), dtype=np.intp)
    weights = np.zeros(len(data.price))
    return RuleLPSolution(none, np.empty(0), weights, b, 0.0, 0.0, 0, "optimal")


class _Master:
    """The dual with the rows of some rules, which grows."""

    def __init__(self, data: _Data, budget: Budget):
        self._data, self._budget = data, budget
        self._blocks: dict[str, FloatArray] = {}
        # Rules and columns, and how many had a weight in the last solution.
        self._size, self._used = len(data.price), 0
        alpha = Variables("alpha", len(data), *signed_bounds(data.y, data.cost), cost=-data.y)
        blocks: list[Variables | Linear] = [alpha, _balance(data)]
        if len(data.price):
            limits = _limits(data.price / data.unit, data.sign)
            blocks.append(Linear("fixed", {"alpha": data.Z.T}, *limits))
        self._session = _session(blocks, budget.seconds)

    def add(self, masks: list[BoolArray], cost: FloatArray, sign: IntArray) -> None:
        """Let rules in, as rows; a rule of most rows as its complement, whose weight is the opposite."""
        name = f"rules{len(self._blocks)}"
        side = np.array([-1 if 2 * np.count_nonzero(mask) > len(mask) else 1 for mask in masks])
        sparser = [mask if s > 0 else ~mask for mask, s in zip(masks, side.tolist(), strict=True)]
        self._blocks[name] = side.astype(np.float64)
        self._size += len(masks)
        limits = _limits(cost / self._data.unit, side * sign)
        self._session.add_rows(Linear(name, {"alpha": _rows(sparser)}, *limits))

    def solve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Give the weights of rules and of fixed columns, and the signed multipliers."""
        m = len(self._data)
        most = self._budget.iterations(m, self._size, self._used)
        answer = self._session.solve(explain=False, max_iterations=most)
        blocks = [-side * answer.duals[name] for name, side in self._blocks.items()]
        rules = np.concatenate([np.empty(0), *blocks])
        fixed = -answer.duals["fixed"] if len(self._data.price) else np.empty(0)
        self._used = int(np.count_nonzero(rules)) + int(np.count_nonzero(fixed))
        self._budget.spend(answer.iterations * iteration_work(m, self._size, self._used))
        return rules, fixed, answer.values["alpha"]


class _EntryMaster:
    """The program of the smallest cost with the rows of some rules, which grows."""

    def __init__(self, data: _Data):
        self._data = data
        self._n_blocks = 0
        low, high = signed_bounds(data.y, data.cost)
        weight = [math.fsum(data.cost[data.y == sign].tolist()) for sign in (-1.0, 1.0)]
        for sign, mine, other in ((-1.0, *weight), (1.0, *weight[::-1])):
            if mine <= other:
                low = np.where(data.y == sign, sign * data.cost, low)
                high = np.where(data.y == sign, sign * data.cost, high)
        # Sums of floats cannot always be equal; what is left is far below the tolerance.
        alpha = Variables("alpha", len(data), low, high)
        t = Variables("t", 1, lower=0.0, cost=1.0)
        self._session = _session([alpha, t, _balance(data)], None)

    def add(self, masks: list[BoolArray], cost: FloatArray, sign: IntArray) -> None:
        """Let rules in, as two rows each, or one where the sign is bound."""
        rows, self._n_blocks = _rows(masks), self._n_blocks + 1
        for side in (1.0, -1.0):
            chosen = np.flatnonzero(sign != -side)
            if len(chosen):
                terms: dict[str, Any] = {"alpha": side * rows[chosen], "t": -cost[chosen, None]}
                name = f"rules{self._n_blocks}{'+' if side > 0 else '-'}"
                self._session.add_rows(Linear(name, terms, upper=0.0))

    def solve(self) -> tuple[float, FloatArray]:
        """Give t and the signed multipliers."""
        answer = self._session.solve(explain=False)
        return answer.objective, answer.values["alpha"]


def _session(blocks: list[Variables | Linear], seconds: float | None) -> Session:
    return Session(
        Program(blocks), method="dual", tol=_SOLVER_TOL, time_limit=seconds, presolve=False
    )


def _balance(data: _Data) -> Linear:
    return Linear("balance", {"alpha": np.ones((1, len(data)))}, 0.0, 0.0)


def _rows(masks: list[BoolArray]) -> sparse.csr_array[np.float64]:
    return sparse.csr_array(np.array(masks, dtype=np.float64))


def _limits(cost: FloatArray, sign: IntArray) -> tuple[FloatArray, FloatArray]:
    """Give the limits of rows whose weights may have any sign, or one."""
    return np.where(sign > 0, -np.inf, -cost), np.where(sign < 0, np.inf, cost)


@dataclass(frozen=True, slots=True)
class _Priced:
    """Multipliers that were priced.

    Parameters
    ----------
    v : ndarray of shape (m,)
        The multipliers with signs, as whole multiples of the grid; those of the classes add up to the same.
    total, highest : float
        Their sum, and the highest price of a rule or column, in the units of the program.
    found : PricedRules
        The rules of the highest prices.
    """

    v: FloatArray
    total: float
    highest: float
    found: PricedRules

    @property
    def bound(self) -> float:
        """A lower bound of the optimum."""
        return self.total / max(1.0, self.highest)


class _Generation:
    """Column generation: the rules that were generated, each with its rows."""

    def __init__(self, data: _Data, pricing: Pricing, start: IntArray | None):
        self._data, self._pricing = data, pricing
        self._items: list[IntArray] = []
        self._masks: list[BoolArray] = []
        self._signs: list[int] = []
        self._covers: dict[tuple[bytes, int], float] = {}
        self._grid = 2.0 ** math.ceil(math.log2(math.fsum(data.cost.tolist()))) / _GRID
        self._start = np.empty((0, pricing.max_conditions), dtype=np.intp)
        if start is not None and len(start):
            self._start = _padded(start, pricing.max_conditions)

    @property
    def _generated(self) -> IntArray:
        items = np.array(self._items, dtype=np.intp)
        return items.reshape(len(self._items), self._pricing.max_conditions)

    def solve(self, tol: float, budget: Budget, max_rounds: float) -> RuleLPSolution:
        """Generate rules until the gap is reached."""
        data = self._data
        master = _Master(data, budget)
        self._add(master, self._start)
        # Nobody has a weight: what the multipliers of all rows at their bounds prove.
        top = self._price(data.y * data.cost, 1.0, budget=budget)
        best = self._judge(np.zeros(len(self._items)), np.zeros(len(data.price)))
        n_entered = len(self._start) or len(self._add(master, self._chosen([top], 1.0)))
        stopped: Stopped = "optimal"
        n_rounds = 0
        with _Watch(tol) as watch:
            while best.gap(top.bound) > tol:
                stopped = _reason(n_entered, n_rounds, max_rounds, budget)
                if stopped != "optimal":
                    break
                try:
                    weights, fixed, alpha = master.solve()
                except TimeLimitError:
                    stopped = "time" if budget.is_late else "work"
                    break
                n_rounds += 1
                best = min(best, self._judge(weights, fixed), key=lambda each: each.value)
                top, n_entered = self._look(master, best, top, alpha, tol, budget)
                watch.tell(best, top.bound)
        return best.solution(self._generated, top.bound, n_rounds, stopped)

    def _look(
        self,
        master: _Master,
        best: _Weights,
        top: _Priced,
        alpha: FloatArray,
        tol: float,
        budget: Budget,
    ) -> tuple[_Priced, int]:
        """Price all rules, let some into the master, and give the best bound and how many entered.

        Rules of three conditions are many: first those of promising features are priced, and all of them only where
        that has not found enough.
        """
        n_entered = 0
        for quick in (True, False) if self._pricing.max_conditions > 2 else (False,):
            found = [self._price(alpha, 1.0, quick=quick, budget=budget)]
            top = max(top, found[0], key=lambda each: each.bound)
            if best.gap(top.bound) <= tol:
                break
            between = self._between(top, alpha)
            found.insert(0, self._price(between, 1.0, quick=quick, budget=budget))
            top = max(top, found[0], key=lambda each: each.bound)
            n_entered += len(self._add(master, self._chosen(found, 1.0)))
            if n_entered >= _ENOUGH:
                break
        return top, n_entered

    def smallest_cost(self, tol: float) -> float:
        """Generate rules until the smallest cost at which one enters is known."""
        master = _EntryMaster(self._data)
        priced = self._price(self._data.y * self._data.cost, 0.0)
        low, high = 0.0, priced.highest
        while high - low > tol * high and len(self._add(master, self._chosen([priced], low))):
            low, alpha = master.solve()
            low *= self._data.unit
            priced = self._price(alpha, low)
            high = min(high, priced.highest)
            progress.advance(0.0)
        return 1.0 / high if high > 0.0 else math.inf

    def _between(self, best: _Priced, alpha: FloatArray) -> FloatArray:
        """Give multipliers between those of the best bound and those of the master.

        The master's jump from round to round, from bound to bound; rules that these violate and that multipliers
        nearer to the best bound violate, too, bring the optimum nearer in fewer rounds (Wentges 1997).
        """
        centre = best.v * (self._grid / max(1.0, best.highest))
        return _SMOOTHING * centre + (1.0 - _SMOOTHING) * alpha

    def _price(
        self,
        alpha: FloatArray,
        above: float,
        *,
        quick: bool = False,
        budget: Budget | None = None,
    ) -> _Priced:
        """Price all rules and columns by any multipliers, made feasible but for scaling; see the head of this file.

        Rules of prices up to `above` are not listed.
        """
        data = self._data
        v = _whole(np.clip(data.y * alpha, 0.0, data.cost) / self._grid, data.y)
        total, limit = float(np.abs(v).sum()), self._limit(above)
        found = self._pricing.best(v, above=limit, quick=quick, budget=budget)
        step = self._grid * data.unit
        prices = [found.highest * step * (1.0 + 4.0 * _EPS)]
        if len(data.price):
            sums = weighted_sums(data.Z, v)
            error = (len(v) + 8) * _EPS * _reach(data.Z) * total
            directed = np.where(data.sign == 0, np.abs(sums), np.maximum(0.0, data.sign * sums))
            prices.append(float(np.max((directed + error) / data.price)) * step)
        return _Priced(v, total * step * (1.0 - 8.0 * _EPS), max(prices), found)

    def _limit(self, above: float) -> float:
        """Give a price in the units of whole multipliers, above which a rule is violated."""
        return above * (1.0 + _EXCESS) / (self._grid * self._data.unit)

    def _judge(self, weights: FloatArray, fixed: FloatArray) -> _Weights:
        """Evaluate weights with the best intercept."""
        data, pricing = self._data, self._pricing
        weights = _clean(weights, np.array(self._signs, dtype=np.intp))
        fixed = _clean(fixed, data.sign)
        scores = np.zeros(len(data))
        for a, mask in zip(weights.tolist(), self._masks, strict=True):
            if a:
                scores[mask] += a
        for w, column in zip(fixed.tolist(), data.Z.T, strict=True):
            if w:
                scores += w * column
        b = best_intercept(scores, data.y, data.cost)
        loss = data.cost * np.maximum(0.0, 1.0 - data.y * (scores + b))
        paid = [*(pricing.cost(self._generated) * np.abs(weights)), *(data.price * np.abs(fixed))]
        value = math.fsum(paid) + data.unit * math.fsum(loss.tolist())
        reach = 1.0 + abs(b) + math.fsum(np.abs(weights)) + float(np.abs(fixed) @ _reach(data.Z))
        error = 2.0 * _EPS * (len(paid) + 4) * reach * data.unit * float(data.cost.sum())
        free = fixed / data.scale
        moved = math.fsum([b, *(-free * data.middle).tolist()])
        return _Weights(weights, free, moved, value, error)

    def _chosen(self, found: list[_Priced], above: float) -> IntArray:
        """Choose rules that the last multipliers violate, most violated by the first ones first, and not all alike.

        Parameters
        ----------
        found : list of _Priced
            Multipliers and the rules that they violate most; a rule is chosen if the last ones violate it.
        above : float
            The price above which a rule is violated.

        Returns
        -------
        ndarray of int of shape (r, k)
            The rules, in the order in which they were chosen.
        """
        pricing, last = self._pricing, found[-1]
        limit = self._limit(above)
        per_feature = -(-3 * _ENTERING // len(pricing.conditions.space))
        uses: Counter[tuple[str, int]] = Counter()
        chosen: list[IntArray] = []
        for rule, is_tried in _violated(found, limit):
            items = rule[rule >= 0].tolist()
            features = {("feature", int(pricing.conditions.feature[c])) for c in items}
            conditions = {("condition", c) for c in items}
            if any(uses[c] for c in conditions) or any(uses[j] >= per_feature for j in features):
                continue
            if is_tried and pricing.price(rule, last.v) <= limit:
                continue
            uses.update(features | conditions)
            chosen.append(rule)
            if len(chosen) == _ENTERING:
                break
        return np.array(chosen, dtype=np.intp).reshape(len(chosen), pricing.max_conditions)

    def _add(self, master: _Master | _EntryMaster, rules: IntArray) -> IntArray:
        """Let rules into the master, one for each set of rows, and give those that entered."""
        before = len(self._items)
        costs: list[float] = []
        for each in rules:
            rule, mask, sign = self._simplest(each)
            # A rule says the same as its complement with the other sign, beside an intercept.
            cover = np.packbits(mask ^ mask[0]).tobytes(), -sign if mask[0] else sign
            cost = float(self._pricing.cost(rule[None, :])[0])
            if cost < self._covers.get(cover, math.inf):
                self._covers[cover] = cost
                self._items.append(rule)
                self._masks.append(mask)
                self._signs.append(sign)
                costs.append(cost)
        if costs:
            master.add(self._masks[before:], np.array(costs), np.array(self._signs[before:]))
        return self._generated[before:]

    def _simplest(self, rule: IntArray) -> tuple[IntArray, BoolArray, int]:
        """Give a rule, its rows and its sign, or those of a single condition that says the same."""
        pricing = self._pricing
        mask, sign = pricing.conditions.rule_mask(rule.tolist(), pricing.cells), pricing.sign(rule)
        c = pricing.equal_condition(mask, sign)
        if c is None:
            return rule, mask, sign
        single = np.full_like(rule, -1)
        single[0] = c
        return single, pricing.conditions.holds(c, pricing.cells), int(pricing.signs[c])


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights and what they are worth: the value of the program, and how far rounding may have moved it."""

    rules: FloatArray
    fixed: FloatArray
    intercept: float
    value: float
    error: float

    def gap(self, bound: float) -> float:
        """Give the relative gap to a bound."""
        excess = max(0.0, self.value + self.error - bound)
        return excess / self.value if excess else 0.0

    def solution(
        self, items: IntArray, bound: float, rounds: int, stopped: Stopped
    ) -> RuleLPSolution:
        """Put them beside the rules, of which the last have entered after them."""
        weights = np.zeros(len(items))
        weights[: len(self.rules)] = self.rules
        return RuleLPSolution(
            items,
            weights,
            self.fixed,
            self.intercept,
            self.value,
            max(0.0, bound - self.error),
            rounds,
            stopped,
        )


def _violated(found: list[_Priced], limit: float) -> Iterator[tuple[IntArray, bool]]:
    """Give rules of a price above a limit, and whether it remains to be seen if the last multipliers violate them."""
    for one in found:
        is_tried = one is not found[-1]
        violated = one.found.items[one.found.price > limit]
        for rule in violated[:_TRIED] if is_tried else violated:
            yield rule, is_tried


def _reason(n_entered: int, n_rounds: int, max_rounds: float, budget: Budget) -> Stopped:
    """Tell why no other master is to be solved; "optimal" if there is no reason."""
    if n_rounds >= max_rounds:
        return "rounds"
    if budget.is_over:
        return "time" if budget.is_late else "work"
    return "optimal" if n_entered or not n_rounds else "precision"


class _Watch:
    """Tells those who watch how far the gap has come, on the way from 1 to where it is to be."""

    def __init__(self, tol: float):
        self._tol, self._done, self._n_rules = max(tol, _EPS), 0.0, 0
        self._task = progress.task("rules", 1.0, "rules")

    def __enter__(self) -> _Watch:
        self._task.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._task.__exit__(*error)

    def tell(self, best: _Weights, bound: float) -> None:
        """Tell of a round."""
        way = math.log(max(best.gap(bound), self._tol)) / math.log(self._tol)
        done = min(max(way, self._done), 1.0)
        n_rules = max(int(np.count_nonzero(best.rules)), self._n_rules)
        progress.advance(done - self._done, n_rules - self._n_rules)
        self._done, self._n_rules = done, n_rules


def _clean(weights: FloatArray, sign: IntArray) -> FloatArray:
    """Set weights to zero that are rounding, or have a sign that they must not have."""
    size = np.abs(weights)
    is_noise = size <= _NOISE * size.max(initial=1.0)
    return np.where(is_noise | (sign * weights < 0.0), 0.0, weights)


def _reach(Z: FloatArray) -> FloatArray:
    return np.asarray(np.abs(Z).max(axis=0, initial=0.0))


def _padded(items: IntArray, size: int) -> IntArray:
    """Give rules so many columns; those of more conditions are left out."""
    fits = (items >= 0).sum(axis=1) <= size
    wide = np.full((int(fits.sum()), max(size, items.shape[1])), -1, dtype=np.intp)
    wide[:, : items.shape[1]] = items[fits]
    return wide[:, :size]


def _whole(u: FloatArray, y: FloatArray) -> FloatArray:
    """Round multipliers down to whole numbers, lower the heavier class to the sum of the other, and give them signs."""
    q = np.floor(u)
    excess = float(q @ y)  # whole numbers below 2^53: exact in any order
    heavy = np.flatnonzero((y > 0) == (excess > 0))
    largest_first = heavy[np.argsort(-q[heavy], kind="stable")]
    sizes = q[largest_first]
    before = np.cumsum(sizes) - sizes
    q[largest_first] -= np.clip(abs(excess) - before, 0.0, sizes)
    return q * y
