"""From data and advice to a plane: case, frame, problem, solution, refinement, extension.

`read_case` reads data and advice and matches them, in the user's units; `train` takes them all the way.

**Extension** widens rules that are more cautious than the model, as far as it agrees by its full margin. Refinement
never rewards a wider premise, so that this is a step of its own, after training. For a premise D x <= d with ``min z
(w'x + b) >= 1`` over it, the dual of that minimum has multipliers u >= 0 with D'u = -z w and the slack ``s = -d'u + z b
- 1 >= 0``. A row with u_r = 0 plays no part and is dropped; any other row may be loosened by as much as its share of s
pays for, s / (k u_r), and the minimum stays at least 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from clearmargin.advice.advice_columns import Columns, Premise, column_names, encode_rule
from clearmargin.advice.advice_reading import (
    check_groups,
    read_advice,
    read_groups,
    saying_how_to_keep_names,
)
from clearmargin.advice.advice_svm import AdvicePlane, AdviceProblem, data_plane, solve_advice
from clearmargin.advice.frame import Frame, FramedAdvice
from clearmargin.advice.premise_geometry import worst_margin
from clearmargin.advice.refine import METHODS, Refined, refine_advice
from clearmargin.exceptions import DataError, InfeasibleError
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Variables, solve
from clearmargin.tables.table import as_given
from clearmargin.tables.validation import read_points, read_training

__all__ = [
    "REFINERS",
    "UNCHANGED",
    "AdviceCase",
    "FramedProblem",
    "Settings",
    "Training",
    "frame_problem",
    "is_changed",
    "judge_plane",
    "plane_for",
    "read_case",
    "train",
    "widen",
]


_ONE_MODEL_A_CLASS = (
    "advice is for one class against the others. Train a model for each class, with labels y == c and "
    "the rules for it"
)


@dataclass(frozen=True, slots=True)
class AdviceCase:
    """What is to be learned from.

    Parameters
    ----------
    X : ndarray of shape (m, n) or None
        The points; None where there is advice alone.
    y : ndarray of shape (m,)
        Their signs.
    weight : ndarray of shape (m,)
        Their weights.
    classes : ndarray of shape (2,)
        The classes; the second is the positive one.
    rules : RuleSet
        The advice.
    columns : Columns
        The columns of each feature of the advice.
    binary : ndarray of bool of shape (n,) or None
        Which columns hold nothing but 0 and 1.
    by_position : bool
        Whether features of the advice are columns by position, not by name.
    premises : tuple of Premise
        The premises over the columns.
    sign : ndarray of shape (r,)
        The sign of the class of each rule.
    """

    X: FloatArray | None
    y: FloatArray
    weight: FloatArray
    classes: NDArray[Any]
    rules: RuleSet
    columns: Columns
    binary: NDArray[np.bool_] | None
    by_position: bool
    premises: tuple[Premise, ...]
    sign: FloatArray

    def only(self, rows: Any) -> AdviceCase:
        """Return the same advice with some of the points."""
        if self.X is None:
            return self
        return replace(self, X=self.points[rows], y=self.y[rows], weight=self.weight[rows])

    def counting(self) -> AdviceCase:
        """Return the same case without points of no weight."""
        return self if self.weight.all() else self.only(self.weight > 0)

    @property
    def points(self) -> FloatArray:
        """The points, none where there is advice alone."""
        return np.zeros((0, len(self.columns.names))) if self.X is None else self.X


def read_case(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> AdviceCase:
    """Read data and the estimator's advice, and note the features on the estimator.

    Parameters
    ----------
    estimator : estimator
        Has `advice`; gets `n_features_in_` and `feature_names_in_`.
    X, y : table and labels, or None and None
        The data.
    sample_weight : array-like of shape (m,), optional
        Weights of the points.

    Returns
    -------
    AdviceCase
        Data and advice.
    """
    if X is None and y is None:
        return _advice_alone(estimator)
    if estimator.advice is None:
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        classes, signs = labels.classes, labels.signs
    else:
        points, classes, signs = _read_points(estimator, X, y)
    given = getattr(estimator, "feature_names_in_", None)
    names = [f"x{j}" for j in range(points.shape[1])] if given is None else [str(c) for c in given]
    rules = RuleSet([], FeatureSpace(names), classes.tolist())
    by_position = False
    if estimator.advice is not None:
        # Rules read an array by position; a text can only know its columns as x0, x1, ...
        is_array = given is None and isinstance(estimator.advice, RuleSet)
        by_position = is_array and len(estimator.advice.space) == len(names)
        known = None if by_position else names
        with saying_how_to_keep_names(estimator, has_names=given is not None):
            rules = read_advice(estimator.advice, known, [as_label(c) for c in classes.tolist()])
    binary = np.asarray(((points == 0) | (points == 1)).all(axis=0))
    declared = read_groups(getattr(estimator, "groups", None), names, binary)
    check_groups(declared, points)
    columns = Columns.match(rules.space, names, binary, by_position, declared)
    weight = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
    return AdviceCase(
        points,
        signs,
        weight,
        classes,
        rules,
        columns,
        binary,
        by_position,
        tuple(encode_rule(rule, columns) for rule in rules),
        _signs(rules, classes),
    )


def _read_points(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any], FloatArray]:
    """As `read_training`, but the second class may be known to the advice alone."""
    labels_met = np.asarray(y)
    only = np.unique(labels_met) if labels_met.ndim == 1 else np.zeros(0)
    if len(only) != 1 or (only.dtype.kind == "f" and not np.isfinite(only).all()):
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        return points, labels.classes, labels.signs
    check_classification_targets(y)
    rules = read_advice(estimator.advice)
    both = np.unique(np.array([*only.tolist(), *(rule.label for rule in rules)]))
    if len(both) != 2:
        raise DataError(
            f"y holds only one class, {only[0]!r}, and the advice "
            + ("no other" if len(both) < 2 else f"{len(both) - 1} others")
            + "; a classifier needs two classes to tell apart"
        )
    validate_data(estimator, as_given(X), skip_check_array=True)
    return read_points(estimator, X), both, np.where(labels_met == both[1], 1.0, -1.0)


def _advice_alone(estimator: Any) -> AdviceCase:
    if estimator.advice is None:
        raise DataError("there is neither data nor advice: nothing can be learned")
    rules = read_advice(estimator.advice)
    labels = {rule.label for rule in rules} | set(rules.classes)
    if len(labels) != 2:
        raise DataError(
            f"advice alone must speak of two classes, not of {len(labels)}: "
            f"{', '.join(repr(label) for label in rules.classes)}; declare both with 'classes: ...'"
        )
    names = column_names(rules.space)
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    columns = Columns.match(
        rules.space, names, declared=read_groups(getattr(estimator, "groups", None), names)
    )
    classes = np.unique(np.array(list(labels)))
    nothing = np.zeros(0)
    return AdviceCase(
        None,
        nothing,
        nothing,
        classes,
        rules,
        columns,
        None,
        False,
        tuple(encode_rule(rule, columns) for rule in rules),
        _signs(rules, classes),
    )


def _signs(rules: RuleSet, classes: NDArray[Any]) -> FloatArray:
    positive = as_label(classes[1])
    return np.array([1.0 if rule.label == positive else -1.0 for rule in rules])


REFINERS = tuple(METHODS)


class Settings(Protocol):
    """The parameters of the estimator that training reads."""

    lam: float
    mu: float
    nu: float
    refine: str | None
    scale: str | None
    bounds: str | None
    sparse: bool
    extend: bool
    published: bool
    max_iter: int
    tol: float


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
    was_tried : bool, default False
        Whether refinement was asked for.
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
    was_tried: bool = False


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
        case.columns, case.premises, case.X, scale=settings.scale, bounds=settings.bounds
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
    framed_problem = frame_problem(case, settings, mu, settings.lam)
    given = _solve(framed_problem.problem, case, framed_problem.framed, mu)
    if settings.refine is None or not len(framed_problem.problem.premises):
        return _collect(case, framed_problem, given, None, settings)
    data_only = data_plane(framed_problem.problem)
    refined = plane_for(
        framed_problem.problem, framed_problem.framed, settings, given, data_only, settings.nu
    )
    return _collect(case, framed_problem, refined.plane, refined, settings)


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
    nu: float,
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
        The plane of the data alone.
    nu : float
        Cost of a change relative to that of an error.

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
        nu=nu,
        pattern=_pattern(problem, framed, settings.sparse),
        max_iter=settings.max_iter,
        tol=settings.tol,
        published=settings.published,
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
        listed = ", ".join(_called(case, i) for i in clash)
        raise InfeasibleError(
            f"no plane satisfies all advice that must hold (mu=inf); these rules contradict each other: {listed}. "
            "Run check_advice to see where they clash, narrow one of them, or use a finite mu",
            tuple(_called(case, i) for i in clash),
        ) from None


def _called(case: AdviceCase, i: int) -> str:
    name = case.rules[i].name
    return f"rule {i + 1}" if name is None else f"rule {i + 1} ({name})"


def _conflict(case: AdviceCase, framed: FramedAdvice, mu: FloatArray) -> list[int]:
    """Rules that contradict each other, none of which could be left out: leave out one after the other."""
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
        refined is not None,
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
