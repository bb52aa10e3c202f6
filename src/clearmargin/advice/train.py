"""From data and advice to a plane: frame, problem, solution, refinement, extension.

`train` takes a case that was read (see `advice_reading`) all the way.

**Frame**: the range of each column, and its scale. A rule such as ``glucose >= 140 => ill``, taken for the whole of
space, would demand that no other feature has any weight: somewhere far out each of them would outweigh glucose. Within
the range in which patients live it says what the expert means. So premises count within a *domain*, the smallest box
that holds the data, the ranges that the advice declares and the bounds that it names; without data, within the ranges
that it declares. Columns are scaled to [-1, 1] over that box, so that one unit of weight, error or refinement means the
same for each of them. `FramedAdvice` puts rules, data and frame together as the problem that the programs solve.

**Extension** widens rules that are more cautious than the model, as far as it agrees by its full margin. Refinement
never rewards a wider premise, so that this is a step of its own, after training. For a premise D x <= d with ``min z
(w'x + b) >= 1`` over it, the dual of that minimum has multipliers u >= 0 with D'u = -z w and the slack ``s = -d'u + z b
- 1 >= 0``. A row with u_r = 0 plays no part and is dropped; any other row may be loosened by as much as its share of s
pays for, s / (k u_r), and the minimum stays at least 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from clearmargin.advice.advice_reading import (
    AdviceCase,
    Columns,
    Premise,
    called,
    read_change_costs,
)
from clearmargin.advice.advice_svm import (
    AdvicePlane,
    AdviceProblem,
    BoxPremises,
    Premises,
    data_plane,
    solve_advice,
)
from clearmargin.advice.all_rows import AllRows
from clearmargin.advice.premise_geometry import is_void, worst_margin
from clearmargin.advice.refine import METHODS, Refined, refine_advice
from clearmargin.exceptions import DataError, InfeasibleError, InvalidValueError
from clearmargin.rules.arithmetic import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Variables, solve
from clearmargin.solvers.rational import exact_dot

__all__ = [
    "REFINERS",
    "UNCHANGED",
    "Frame",
    "FramedAdvice",
    "FramedProblem",
    "Settings",
    "Training",
    "declared_ranges",
    "frame_problem",
    "is_changed",
    "judge_plane",
    "plane_for",
    "train",
    "widen",
]


@dataclass(frozen=True, slots=True)
class Frame:
    """Domain and scale of the columns.

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
        The domain; infinite where premises count without bounds.
    center, unit : ndarray of shape (n,)
        x is scaled to (x - center) / unit.
    groups : tuple of tuple of int
        Columns of which exactly one is 1, the others 0.
    """

    lower: FloatArray
    upper: FloatArray
    center: FloatArray
    unit: FloatArray
    groups: tuple[tuple[int, ...], ...]

    @classmethod
    def around(
        cls,
        columns: Columns,
        premises: Sequence[Premise],
        X: FloatArray | None,
        *,
        scale: str | None,
        bounds: str | None,
        rows: AllRows | None = None,
    ) -> Frame:
        """Find the domain of data and advice, and the scale.

        Parameters
        ----------
        columns : Columns
            The columns of each feature.
        premises : sequence of Premise
            The premises.
        X : ndarray of shape (m, n) or None
            The data.
        scale : {"range", "standard"} or None
            To [-1, 1] over the domain; to zero mean and unit deviation; or not at all.
        bounds : {"data"} or None
            Whether premises count within the domain, or without bounds, as they are written.
        rows : AllRows, optional
            All data, where X is only a sample.

        Returns
        -------
        Frame
            The frame.
        """
        declared = declared_ranges(columns)
        ends = [] if X is None or not len(X) else [X.min(axis=0), X.max(axis=0)]
        ends = ends if rows is None else [rows.low, rows.high]
        lower, upper = _hull(declared, premises, ends)
        n = len(lower)
        center, unit = np.zeros(n), np.ones(n)
        if scale == "range":
            known = np.isfinite(lower) & np.isfinite(upper)
            center[known] = lower[known] / 2 + upper[known] / 2
            unit[known] = upper[known] / 2 - lower[known] / 2
        elif scale == "standard":
            if X is None:
                raise InvalidValueError("scale='standard' needs data; use 'range' or None")
            center, unit = _standard(X) if rows is None else rows.standard()
        unit[unit == 0] = 1.0  # a column that never varies
        if bounds is None:
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        elif X is None:
            # Bounds that rules name are no ranges: between them there would be nothing left to say.
            lower, upper = declared
        groups = tuple(group.columns for group in columns.one_hot)
        return cls(lower, upper, center, unit, groups)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.unit)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Scale points to the frame."""
        inner = np.asarray(X - self.center)
        inner /= self.unit
        return inner

    def scaled_rows(self, D: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scale rows to the frame, of unit norm."""
        inner, limit = D * self.unit, d - linear_scores(D, self.center)
        norm = np.linalg.norm(inner, axis=1)
        return inner / norm[:, None], limit / norm

    def user_rows(self, D: FloatArray, d: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return scaled rows in the user's units."""
        outer = D / self.unit
        return outer, d + outer @ self.center

    def user_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return a plane of scaled points in the user's units."""
        outer = w / self.unit
        return outer, float(Fraction(b) - exact_dot(outer, self.center))

    def scaled_plane(self, w: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return a plane in the user's units for scaled points."""
        return w * self.unit, float(Fraction(b) + exact_dot(w, self.center))

    def domain_rows(self) -> tuple[FloatArray, FloatArray]:
        """Return the domain as rows over the columns, in the user's units; none where there are no bounds."""
        eye = np.eye(self.n_columns)
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        rows, limits = [-eye[low], eye[high]], [-self.lower[low], self.upper[high]]
        for group in self.groups:
            one = np.zeros((1, self.n_columns))
            one[0, list(group)] = 1.0
            rows += [one, -one]
            limits += [np.ones(1), -np.ones(1)]
        return np.concatenate(rows), np.concatenate(limits)


def _standard(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute mean and deviation of each column, the same to the bit for any order of the rows."""
    center = np.array([math.fsum(column) for column in X.T]) / len(X)
    squares = (X - center) ** 2
    return center, np.sqrt(np.array([math.fsum(column) for column in squares.T]) / len(X))


def declared_ranges(columns: Columns) -> tuple[FloatArray, FloatArray]:
    """Return the range of each column as the advice declares it, infinite where it does not.

    Parameters
    ----------
    columns : Columns
        The columns of each feature.

    Returns
    -------
    lower, upper : ndarray of shape (n,)
        The ranges; 0 to 1 for columns of categories.
    """
    n = len(columns.names)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for feature, column in columns.numbers.items():
        lower[column] = columns.space.lower[feature]
        upper[column] = columns.space.upper[feature]
    for group in columns.one_hot:
        lower[list(group.columns)], upper[list(group.columns)] = 0.0, 1.0
    return lower, upper


def _hull(
    declared: tuple[FloatArray, FloatArray], premises: Sequence[Premise], ends: list[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Find the range of each column over data, declarations and bounds of the advice; infinite where unknown."""
    values = ends + [np.where(np.isfinite(side), side, np.nan) for side in declared]
    for premise in premises:
        for row, limit in zip(
            premise.D[premise.numeric_rows], premise.d[premise.numeric_rows], strict=True
        ):
            used = np.flatnonzero(row)
            if len(used) == 1:
                bound = np.full(len(row), np.nan)
                bound[used] = limit / row[used]
                values.append(bound)
    table = np.array(values)
    unknown = np.isnan(table).all(axis=0)
    table[:, unknown] = 0.0
    lower, upper = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    lower[unknown], upper[unknown] = -np.inf, np.inf
    return lower, upper


Rows = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class FramedAdvice:
    """Premises in the scale of a frame, with the domain around each.

    Parameters
    ----------
    frame : Frame
        Domain and scale.
    premises : tuple of Premise
        The premises in the user's units.
    rows : tuple of (ndarray, ndarray)
        For each premise, its rows in the scale of the frame, of unit norm: first its own, then those of the domain.
    outside : ndarray of bool of shape (r,)
        Which premises have no point of the domain; they count without it.
    empty : ndarray of bool of shape (r,)
        Which premises have no point at all; they count for nothing.
    """

    frame: Frame
    premises: tuple[Premise, ...]
    rows: tuple[Rows, ...]
    outside: BoolArray
    empty: BoolArray

    @classmethod
    def within(cls, frame: Frame, premises: Sequence[Premise]) -> FramedAdvice:
        """Scale premises and put the domain around them."""
        around = frame.scaled_rows(*frame.domain_rows())
        rows: list[Rows] = []
        outside, empty = np.zeros((2, len(premises)), dtype=np.bool_)
        for i, premise in enumerate(premises):
            alone = frame.scaled_rows(premise.D, premise.d)
            bounded = np.concatenate([alone[0], around[0]]), np.concatenate([alone[1], around[1]])
            if is_void(*bounded):
                empty[i] = is_void(*alone)
                outside[i] = not empty[i]
            rows.append(alone if outside[i] else bounded)
        return cls(frame, tuple(premises), tuple(rows), outside, empty)

    def __len__(self) -> int:
        return len(self.premises)

    def numeric_rows(self, i: int) -> BoolArray:
        """Return which rows of a premise may be refined."""
        mine = self.premises[i].numeric_rows
        rest = len(self.rows[i][1]) - len(mine)
        return np.concatenate([mine, np.zeros(rest, dtype=np.bool_)])

    def problem(
        self,
        X: FloatArray,
        y: FloatArray,
        cost: FloatArray,
        sign: FloatArray,
        advice_cost: FloatArray,
        *,
        compact: bool,
    ) -> tuple[AdviceProblem, BoolArray]:
        """Make the problem of all premises that are not empty.

        Parameters
        ----------
        X : ndarray of shape (m, n)
            Scaled points; there may be none.
        y, cost : ndarray of shape (m,)
            Their signs and costs.
        sign, advice_cost : ndarray of shape (r,)
            Signs and costs of the premises.
        compact : bool
            Whether premises that are boxes may take their compact form, which cannot be refined.

        Returns
        -------
        problem : AdviceProblem
            General premises and boxes, each in their order.
        is_box : ndarray of bool of shape (r,)
            Which premises are boxes.
        """
        boxes = [self._box(i) if compact and not self.empty[i] else None for i in range(len(self))]
        is_box = np.array([box is not None for box in boxes], dtype=np.bool_)
        general = np.flatnonzero(~is_box & ~self.empty)
        n = self.frame.n_columns
        sides = np.array([box for box in boxes if box is not None]).reshape(-1, 2, n)
        low, high = sides[:, 0], sides[:, 1]
        problem = AdviceProblem(
            X,
            y,
            cost,
            Premises.stack(
                [self.rows[i] for i in general],
                sign[general],
                advice_cost[general],
                [self.numeric_rows(int(i)) for i in general] or None,
                n_features=n,
            ),
            BoxPremises((low + high) / 2, (high - low) / 2, sign[is_box], advice_cost[is_box]),
        )
        return problem, is_box

    def only(self, chosen: Sequence[int]) -> FramedAdvice:
        """Keep some of the premises."""
        index = list(chosen)
        return FramedAdvice(
            self.frame,
            tuple(self.premises[i] for i in index),
            tuple(self.rows[i] for i in index),
            self.outside[index],
            self.empty[index],
        )

    def _box(self, i: int) -> tuple[FloatArray, FloatArray] | None:
        """Return the bounds of a premise that is a box within [-1, 1], else None."""
        D, d = self.rows[i]
        if (np.count_nonzero(D, axis=1) != 1).any():
            return None
        n = D.shape[1]
        low, high = np.full(n, -np.inf), np.full(n, np.inf)
        column = np.abs(D).argmax(axis=1)
        is_upper = D[np.arange(len(d)), column] > 0
        np.minimum.at(high, column[is_upper], d[is_upper])
        np.maximum.at(low, column[~is_upper], -d[~is_upper])
        # Beyond [-1, 1] errors in the weights would be cheaper than those of the margin (see `advice_svm`).
        if max(float(np.abs(low).max()), float(np.abs(high).max())) > 1.0 + 1e-9:
            return None
        return np.minimum(low, high), high


REFINERS = tuple(METHODS)


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of the estimator that training reads; `published` has become the switches that it stands for.

    Parameters
    ----------
    lam, mu, nu, refine, scale, bounds, sparse, extend, start, anchors, orthogonal, max_iter, tol
        As for `AdviceSVC`.
    rejects : bool
        Whether a rule that refinement leaves without any point is set aside; refinement ends there otherwise.
    """

    lam: float
    mu: float
    nu: Any
    refine: str | None
    scale: str | None
    bounds: str | None
    sparse: bool
    extend: bool
    start: str
    anchors: bool
    orthogonal: bool
    rejects: bool
    max_iter: int
    tol: float

    @property
    def uses_data_plane(self) -> bool:
        """Whether refinement has to know the plane of the data alone."""
        return self.start == "data" or self.anchors

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """Read the parameters of an estimator."""
        names = [each.name for each in fields(cls) if each.name != "rejects"]
        settings = cls(**{name: getattr(estimator, name) for name in names}, rejects=True)
        if not estimator.published:
            return settings
        as_published: dict[str, Any] = {"start": "advice", "anchors": False, "orthogonal": False}
        return replace(settings, **as_published, bounds=None, rejects=False)


@dataclass(frozen=True, slots=True)
class Training:
    """What training came to.

    Parameters
    ----------
    framed : FramedAdvice
        The premises in their frame.
    w : ndarray of shape (n,)
        Weights, in the user's units.
    b : float
        Intercept.
    objective : float
        Value of the objective.
    objectives : ndarray
        Its values from step to step.
    n_iter : int
        Number of steps.
    converged : bool
        Whether refinement came to rest.
    F, f : list of ndarray
        For each rule, the change of its numeric rows in the scale of the frame.
    dropped : list of ndarray of bool
        For each rule, which of its numeric rows extension made superfluous.
    slack : ndarray of shape (r,)
        The error of each rule.
    rejected : ndarray of bool of shape (r,)
        Which rules refinement left without points.
    refined : ndarray of bool of shape (r,)
        Which rules refinement changed.
    change_cost : ndarray of shape (r,) or None
        The cost of changing each rule, where refinement was asked for.
    emptied : tuple of int, default ()
        Rules that the next step of refinement would have left without points, where that ended it.
    """

    framed: FramedAdvice
    w: FloatArray
    b: float
    objective: float
    objectives: FloatArray
    n_iter: int
    converged: bool
    F: list[FloatArray]
    f: list[FloatArray]
    dropped: list[BoolArray]
    slack: FloatArray
    rejected: BoolArray
    refined: BoolArray
    change_cost: FloatArray | None = None
    emptied: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FramedProblem:
    """Data and advice as a problem in a frame.

    Parameters
    ----------
    framed : FramedAdvice
        The premises in their frame.
    problem : AdviceProblem
        The problem.
    is_box : ndarray of bool of shape (r,)
        Which premises are boxes in it.
    """

    framed: FramedAdvice
    problem: AdviceProblem
    is_box: BoolArray


def frame_problem(
    case: AdviceCase, settings: Settings, mu: FloatArray, lam: float = 1.0
) -> FramedProblem:
    """Put data and advice into a frame, as a problem.

    Parameters
    ----------
    case : AdviceCase
        Data and advice.
    settings : Settings
        Scale and bounds; whether premises will be refined.
    mu : ndarray of shape (r,)
        Cost of each rule's errors.
    lam : float, default 1.0
        Cost of a point's loss.

    Returns
    -------
    FramedProblem
        The problem.
    """
    frame = Frame.around(
        case.columns,
        case.premises,
        case.X,
        scale=settings.scale,
        bounds=settings.bounds,
        rows=case.rows,
    )
    framed = FramedAdvice.within(frame, case.premises)
    problem, is_box = framed.problem(
        frame.scaled(case.points),
        case.y,
        lam * case.weight,
        case.sign,
        mu,
        compact=settings.refine is None,
    )
    return FramedProblem(framed, problem, is_box)


def train(case: AdviceCase, settings: Settings) -> Training:
    """Train on data and advice.

    Parameters
    ----------
    case : AdviceCase
        Data and advice.
    settings : Settings
        Parameters.

    Returns
    -------
    Training
        The plane, and what became of the advice.
    """
    if settings.refine is not None and case.X is None:
        raise DataError("refinement needs data to learn from; fit with X and y, or set refine=None")
    mu = settings.mu * np.array([rule.weight for rule in case.rules])
    nu = read_change_costs(settings.nu, case.rules)
    framed_problem = frame_problem(case, settings, mu, settings.lam)
    problem = framed_problem.problem
    if case.rows is not None:
        frame = framed_problem.framed.frame
        problem = replace(problem, rows=case.rows.scaled(frame.center, frame.unit, settings.lam))
    if settings.refine is None or not len(problem.premises):
        given = _solve(problem, case, framed_problem.framed, mu)
        return _collect(case, framed_problem, given, None, settings)
    given = _solve(framed_problem.problem, case, framed_problem.framed, mu)
    data_only = given.w, given.b
    if settings.uses_data_plane:
        data_only = data_plane(framed_problem.problem)
    refined = plane_for(
        framed_problem.problem, framed_problem.framed, settings, given, data_only, nu
    )
    if problem.rows is not None:
        refined = _on_all_rows(problem, refined, nu[~framed_problem.framed.empty])
    found = _collect(case, framed_problem, refined.plane, refined, settings)
    emptied = np.flatnonzero(~framed_problem.framed.empty)[refined.emptied]
    return replace(found, change_cost=nu, emptied=tuple(emptied.tolist()))


def _on_all_rows(problem: AdviceProblem, refined: Refined, nu: FloatArray) -> Refined:
    """Find the plane of all rows with the premises as a sample refined them."""
    premises = problem.premises
    moved = premises.moved(refined.F, refined.f).only(~refined.rejected)
    u = np.zeros(len(premises.d))
    rest = replace(problem, premises=moved)
    if len(moved) or len(problem.boxes):
        plane = solve_advice(rest)
        u[~refined.rejected[premises.rule]] = plane.u
    else:
        w, b = data_plane(rest)
        plane = AdvicePlane(w, b, u, rest.data_loss(w, b))
    change = np.abs(refined.F).sum(axis=1) + np.abs(refined.f)
    # A premise of infinite cost did not change, and one that was rejected counts for nothing.
    costs = np.where(np.isfinite(nu) & ~refined.rejected, nu, 0.0) * premises.cost
    value = plane.objective + float(costs[premises.rule] @ change)
    return replace(refined, plane=replace(plane, u=u, objective=value))


def judge_plane(case: AdviceCase, w: FloatArray, b: float) -> Training:
    """Put a plane that was found elsewhere beside the advice, as if training had found it.

    Parameters
    ----------
    case : AdviceCase
        Data and advice.
    w : ndarray of shape (n,)
        Weights, in the user's units.
    b : float
        Intercept.

    Returns
    -------
    Training
        No premise is changed; errors are what the plane lacks to a margin of 1.
    """
    frame = Frame.around(case.columns, case.premises, case.X, scale="range", bounds="data")
    framed = FramedAdvice.within(frame, case.premises)
    inner = frame.scaled_plane(w, b)
    slack = np.array(
        [
            max(0.0, 1.0 - worst_margin(*rows, *inner, sign)[0])
            for rows, sign in zip(framed.rows, case.sign, strict=True)
        ]
    )
    numeric = [int(premise.numeric_rows.sum()) for premise in case.premises]
    none = np.zeros(len(framed), dtype=np.bool_)
    return Training(
        framed,
        w,
        b,
        float("nan"),
        np.zeros(0),
        1,
        True,
        [np.zeros((k, frame.n_columns)) for k in numeric],
        [np.zeros(k) for k in numeric],
        [np.zeros(k, dtype=np.bool_) for k in numeric],
        slack,
        none,
        none,
    )


def plane_for(
    problem: AdviceProblem,
    framed: FramedAdvice,
    settings: Settings,
    given: AdvicePlane,
    data_only: tuple[FloatArray, float],
    nu: FloatArray,
) -> Refined:
    """Refine the premises of a problem.

    Parameters
    ----------
    problem : AdviceProblem
        Points and premises in general form.
    framed : FramedAdvice
        The premises in their frame.
    settings : Settings
        How to refine.
    given : AdvicePlane
        The solution with the advice as it is.
    data_only : tuple of ndarray and float
        The plane of the data alone; any other where the settings do not use it.
    nu : ndarray of shape (r,)
        Cost of a change of each rule relative to that of its errors.

    Returns
    -------
    Refined
        Plane and change.
    """
    assert settings.refine is not None
    return refine_advice(
        problem,
        settings.refine,
        given,
        data_only,
        nu=nu[~framed.empty],
        pattern=_pattern(problem, framed, settings.sparse),
        max_iter=settings.max_iter,
        tol=settings.tol,
        start=settings.start,
        anchors=settings.anchors,
        orthogonal=settings.orthogonal,
        rejects=settings.rejects,
    )


def _solve(
    problem: AdviceProblem, case: AdviceCase, framed: FramedAdvice, mu: FloatArray
) -> AdvicePlane:
    if not len(problem.premises) and not len(problem.boxes):
        if not len(problem.y):
            raise DataError("every premise of the advice is empty: nothing can be learned from it")
        w, b = data_plane(problem)
        return AdvicePlane(w, b, np.zeros(0), problem.data_loss(w, b))
    try:
        return solve_advice(problem)
    except InfeasibleError:
        clash = _conflict(case, framed, mu)
        names = tuple(called(case.rules, i) for i in clash)
        raise InfeasibleError(
            "no plane satisfies all advice that must hold (mu=inf); these rules contradict each other: "
            f"{', '.join(names)}. Run check_advice to see where they clash, narrow one of them, or use a finite mu",
            names,
        ) from None


def _conflict(case: AdviceCase, framed: FramedAdvice, mu: FloatArray) -> list[int]:
    """Find rules that contradict each other, none of which could be left out: leave out one after the other."""
    chosen = [i for i in range(len(framed)) if not framed.empty[i]]
    for i in list(chosen):
        rest = [j for j in chosen if j != i]
        if rest and not _can_hold(case, framed, rest, mu):
            chosen = rest
    return chosen


def _can_hold(
    case: AdviceCase, framed: FramedAdvice, chosen: Sequence[int], mu: FloatArray
) -> bool:
    index = list(chosen)
    none = np.zeros((0, framed.frame.n_columns)), np.zeros(0), np.zeros(0)
    problem, _ = framed.only(index).problem(*none, case.sign[index], mu[index], compact=True)
    try:
        solve_advice(problem)
    except InfeasibleError:
        return False
    return True


def _user_plane(frame: Frame, plane: AdvicePlane) -> tuple[FloatArray, float]:
    """Return the plane in the user's units, rounded once where it is known exactly."""
    if plane.exact is None:
        return frame.user_plane(plane.w, plane.b)
    units, centers = frame.unit.tolist(), frame.center.tolist()
    outer = [w / Fraction(unit) for w, unit in zip(plane.exact.w, units, strict=True)]
    moved = sum((w * Fraction(c) for w, c in zip(outer, centers, strict=True)), Fraction(0))
    return np.array([float(w) for w in outer]), float(plane.exact.b - moved)


def _pattern(problem: AdviceProblem, framed: FramedAdvice, sparse: bool) -> BoolArray:
    """Return which entries of the left-hand sides may change: never those of categories."""
    premises = problem.premises
    pattern = np.ones(premises.D.shape, dtype=np.bool_)
    for group in framed.frame.groups:
        pattern[:, list(group)] = False
    if sparse:
        for i in range(len(premises)):
            rows = premises.rule == i
            used = (premises.D[rows & premises.numeric_rows] != 0).any(axis=0)
            pattern[np.ix_(rows, ~used)] = False
    return pattern


def _collect(
    case: AdviceCase,
    framed_problem: FramedProblem,
    plane: AdvicePlane,
    refined: Refined | None,
    settings: Settings,
) -> Training:
    framed, problem, is_box = framed_problem.framed, framed_problem.problem, framed_problem.is_box
    r, n = len(framed), framed.frame.n_columns
    numeric = [int(premise.numeric_rows.sum()) for premise in framed.premises]
    F, f = [np.zeros((k, n)) for k in numeric], [np.zeros(k) for k in numeric]
    slack, rejected = np.zeros(r), np.zeros(r, dtype=np.bool_)
    slack[is_box] = problem.boxes.errors(plane.w, plane.b)
    general = np.flatnonzero(~is_box & ~framed.empty)
    if refined is None:
        eta, zeta = problem.premises.errors(plane.w, plane.b, plane.u)
    else:
        moved = problem.premises.moved(refined.F, refined.f)
        eta, zeta = moved.errors(plane.w, plane.b, plane.u)
        for k, i in enumerate(general):
            numeric_rows = (problem.premises.rule == k) & problem.premises.numeric_rows
            F[i], f[i] = refined.F[numeric_rows], refined.f[numeric_rows]
        rejected[general] = refined.rejected
    slack[general] = np.where(rejected[general], 0.0, eta.sum(axis=1) + zeta)
    dropped = [np.zeros(k, dtype=np.bool_) for k in numeric]
    was_refined = np.array(
        [is_changed(*change).any() for change in zip(F, f, strict=True)], dtype=np.bool_
    )
    if settings.extend:
        for i in np.flatnonzero(~framed.empty & ~rejected):
            wider = widen(framed, int(i), F[i], f[i], plane, case.sign[i])
            if wider is not None:
                f[i], dropped[i] = wider
    w, b = _user_plane(framed.frame, plane)
    return Training(
        framed,
        w,
        b,
        plane.objective,
        np.array([plane.objective]) if refined is None else refined.objectives,
        1 if refined is None else refined.n_iter,
        True if refined is None else refined.converged,
        F,
        f,
        dropped,
        slack,
        rejected,
        was_refined,
    )


# Changes of a row, in the scale of the frame, below which it counts as unchanged; interior point solvers leave 1e-6.
UNCHANGED = 1e-5


def is_changed(F: FloatArray, f: FloatArray) -> BoolArray:
    """Return which rows changed by more than solvers leave behind."""
    turned: BoolArray = np.any(np.abs(F) > UNCHANGED, axis=1)
    return np.asarray(turned | (np.abs(f) > UNCHANGED))


# Solvers are right to 1e-9 or so; rows loosened by less than this, or multipliers smaller than it, are none.
_NOTHING = 1e-7


def widen(
    framed: FramedAdvice, i: int, F: FloatArray, f: FloatArray, plane: AdvicePlane, sign: float
) -> tuple[FloatArray, BoolArray] | None:
    """Loosen the rows of a premise that the model satisfies with room to spare.

    Parameters
    ----------
    framed : FramedAdvice
        The premises.
    i : int
        Which one.
    F, f : ndarray
        The refinement of its numeric rows so far.
    plane : AdvicePlane
        The model, in the scale of the frame.
    sign : float
        The class of the rule.

    Returns
    -------
    f : ndarray
        The change of its right-hand sides, now with the extension.
    dropped : ndarray of bool
        Which numeric rows are superfluous.
    None instead of both where there is nothing to gain.
    """
    numeric_rows = framed.numeric_rows(i)
    D, d = framed.rows[i][0].copy(), framed.rows[i][1].copy()
    D[numeric_rows] -= F
    d[numeric_rows] -= f
    if not numeric_rows.any() or worst_margin(D, d, plane.w, plane.b, sign)[0] < 1.0 + _NOTHING:
        return None
    u, slack = _certificate(D, d, plane, sign)
    active = numeric_rows & (u > _NOTHING)
    if slack <= _NOTHING and (active == numeric_rows).all():
        return None
    loosened = d.copy()
    loosened[active] += slack / (active.sum() * u[active])
    dropped = numeric_rows & ~active
    for r in np.flatnonzero(active):  # a bound beyond the domain says nothing
        highest = -worst_margin(D[~numeric_rows], d[~numeric_rows], D[r], 0.0, -1.0)[0]
        dropped[r] = highest <= loosened[r]
    kept = ~dropped
    if worst_margin(D[kept], loosened[kept], plane.w, plane.b, sign)[0] < 1.0 - _NOTHING:
        return None
    return f - (loosened - d)[numeric_rows], dropped[numeric_rows]


def _certificate(
    D: FloatArray, d: FloatArray, plane: AdvicePlane, sign: float
) -> tuple[FloatArray, float]:
    """Multipliers of the worst margin over a premise, and what is left beyond a margin of 1.

    Of all optimal multipliers one with few rows of the rule itself is as good as any: a vertex, as simplex gives it.
    """
    program = Program(
        [
            Variables("u", len(d), 0.0, cost=d),
            Linear("certificate", {"u": D.T}, -sign * plane.w, -sign * plane.w),
        ]
    )
    solution = solve(program, method="simplex")
    return solution.values["u"], sign * plane.b - 1.0 - solution.objective
