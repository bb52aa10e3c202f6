"""Find the cheapest change that would change the prediction of a model for one case, or its rank.

`recourse` reads the case and what may change (`recourse_plan`), solves the program (`recourse_milp`), and gives a
`Recourse`, which says in words what was found.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from clearmargin.exceptions import InvalidValueError, UncertifiedWarning
from clearmargin.language.words import listed
from clearmargin.models.score_error import ScoreError
from clearmargin.rankings.recourse_milp import Moves, cheapest_change, smallest_shortfall
from clearmargin.rankings.recourse_plan import (
    Case,
    FeatureChange,
    Plan,
    RuleCase,
    make_plan,
    read_case,
)
from clearmargin.rankings.recourse_rules import RuleProgram
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray, number

__all__ = ["Rank", "Recourse", "recourse"]


# How far beyond the boundary a case must go, besides what rounding can do, relative to what its score has to gain:
# more than the solver's tolerance (1e-9). If the model disagrees all the same, the next one is tried; steps in single
# precision round to about 1e-7. Nothing beyond rounding is tried last, where all others ask for too much.
_MARGINS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_TIME_LIMIT = 60.0


def recourse(
    model: Any,
    x: Any,
    *,
    actionable: Any,
    X: Any = None,
    costs: Mapping[str, float] | None = None,
    target: Any = "boundary",
    n_alternatives: int = 1,
    bounds: Any = None,
    time_limit: float = _TIME_LIMIT,
) -> Recourse:
    """Find the cheapest change of one case that would change the model's answer, or the rank of the case.

    The optimum is exact (a mixed-integer program), and is checked on the model itself: the changed case is encoded,
    scored and ranked anew. It says what the model would answer, never what a change causes: which features can be acted
    on, and to which effect, is for the user to know.

    Parameters
    ----------
    model : fitted classifier
        Linear, or a pipeline of affine steps (scalers, encoders of categories, ...) that ends in a linear classifier;
        or a `RuleSVC`, or its `WeightedRules`.
    x : data frame of one row, mapping from name to value, or array-like of shape (n,)
        The case, without missing values; for a `RuleSVC` those that are not actionable may be missing.
    actionable : list of names, or mapping from name to what is allowed
        ``"any"``, ``"increase"``, ``"decrease"``, a tuple ``(low, high)``, or a list of the allowed values or
        categories. All other features stay as they are. To stay is always allowed, also outside of limits.
    X : data frame or array-like of shape (m, n), optional
        Rows that tell the range of each feature, and which ones are whole numbers and stay so; for a rank, the list. A
        case alone tells that a number is whole if it is an integer in Python or numpy.
    costs : mapping from name to float, optional
        Cost of one unit of a number, or of one change of a category. By default the range of a number in X costs 1
        (without X: the range that is allowed), and another category costs 1.
    target : "boundary", a class label, ("rank", n) or Rank(n), default "boundary"
        Cross the boundary of a model of two classes, get a class, or leave the Top n of the list X. The boundary itself
        is not across. A case leaves the Top n if and only if its score is below the n-th largest score of the *others*;
        one row of X that is equal to the case is taken for the case itself (`Rank` can say otherwise).
    n_alternatives : int, default 1
        How many ways to look for. Each further one, in `alternatives`, leaves alone at least one feature of each
        earlier one.
    bounds : mapping from name to (low, high), FeatureSpace, pair (low, high) or Domain, optional
        Where numbers may go; by default the range in X, and anywhere without X. A FeatureSpace also says which numbers
        are whole, and a `Domain` which 0/1 columns are the categories of one feature: exactly one of them stays 1. With
        relations between features (``diastolic <= systolic``) the changed case satisfies them, as the case does.
    time_limit : float, default 60
        Seconds that one search for a change may take; when they are over, a `TimeLimitError` says so.

    Returns
    -------
    Recourse
        The changes, or the proof that none is enough.

    Notes
    -----
    All is measured from the case: an offset of a column, such as that of a time in seconds, costs no digits. Across
    means beyond the boundary by what rounding can do and 1e-8 of what the score has to gain, or more if the model,
    asked about the changed case, does not confirm that; `verified` says whether it did in the end. The programs are in
    `clearmargin.rankings.recourse_milp` and, for rules with weights, in `clearmargin.rankings.recourse_rules`, where
    nothing beyond the boundary is asked for.

    See Also
    --------
    clearmargin.RuleExtractor.explain : Why a case got its class.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = pd.DataFrame({"age": [50, 62, 41, 70], "bmi": [22.5, 34.0, 24.5, 35.5]})
    >>> model = RidgeClassifier().fit(X, ["healthy", "ill", "healthy", "ill"])
    >>> print(recourse(model, X.iloc[[1]], actionable={"bmi": "decrease"}, X=X))
    If bmi were 28.2926 instead of 34, this would change the model's answer from ill to healthy
    (score 0.7976 -> -7.9...e-09, cost 0.439).
    This is about the model only: what such a change does in the world is not known from data.
    """
    if not isinstance(n_alternatives, Integral) or isinstance(n_alternatives, bool):
        raise InvalidValueError(f"n_alternatives must be a whole number, not {n_alternatives!r}")
    if n_alternatives < 1:
        raise InvalidValueError(f"n_alternatives must be at least 1, not {n_alternatives}")
    case = read_case(model, x, X)
    plan = make_plan(case, actionable, costs, bounds)
    wanted = _read_target(target)
    goal = (
        _rule_goal(case, wanted, X) if isinstance(case, RuleCase) else _read_goal(case, wanted, X)
    )
    start = goal.look({})
    if start.is_there:
        return _report(plan, goal, start, ())
    limit = _read_time_limit(time_limit)
    first = _solve(plan, goal, start, [], limit)
    if first is None:
        return _certificate(plan, goal, start, limit)
    found = [first]
    while len(found) < n_alternatives:
        barred = [[change.feature for change in way.changes] for way in found]
        further = _solve(plan, goal, start, barred, limit)
        if further is None:
            break
        found.append(further)
    if not all(way.verified for way in found):
        warnings.warn(
            "the model itself did not confirm a change that its planes promise; see verified",
            UncertifiedWarning,
            stacklevel=2,
        )
    return replace(first, alternatives=tuple(found[1:]))


def _read_time_limit(time_limit: Any) -> float:
    seconds = number(time_limit, "time_limit")
    if not seconds > 0:
        raise InvalidValueError(f"time_limit must be a positive number of seconds, not {seconds:g}")
    return seconds


class _Look(NamedTuple):
    """What the model predicts of a case."""

    score: float
    label: Label
    rank: int | None
    is_there: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Goal:
    """Where the case has to go: rows of weights over the encoded columns, each with the gap that it has to gain.

    `rounding` is what rounding, of the score and of changed values, can take away from each row.
    """

    case: Case
    target: Label | Rank
    coef: FloatArray
    gap: FloatArray
    rounding: FloatArray
    others: FloatArray | None = None

    def score(self, changed: Mapping[str, Any]) -> float:
        """Return the score of a model of two classes, else the lead of the class aimed at."""
        if len(self.case.classes) == 2:
            return self.case.score(changed)
        shift = self.case.point(changed) - self.case.point()
        return float((self.coef @ shift - self.gap).min())

    def look(self, changed: Mapping[str, Any]) -> _Look:
        """Ask the model about the case with some values changed."""
        return _looked(self, self.score(changed), self.case.label(changed))


def _looked(goal: _Goal | _RuleGoal, score: float, label: Label) -> _Look:
    """Say whether a case with a score and a class has arrived."""
    rank = None if goal.others is None else 1 + int((goal.others > score).sum())
    if isinstance(goal.target, Rank):
        return _Look(score, label, rank, rank is not None and rank > goal.target.n)
    return _Look(score, label, rank, label == goal.target)


@dataclass(frozen=True, slots=True, eq=False)
class _RuleGoal:
    """Where a case of weighted rules has to go: rows of weights of scores, each with the gap that it has to gain."""

    case: RuleCase
    target: Label | Rank
    coef: FloatArray
    gap: FloatArray
    others: FloatArray | None = None

    def score(self, changed: Mapping[str, Any]) -> float:
        """Return the score of two classes beyond the threshold, else the lead of the class aimed at."""
        scores = self.case.scores(self.case.point(changed)[None])[0]
        return float(scores[0]) if len(scores) == 1 else float((self.coef @ scores).min())

    def look(self, changed: Mapping[str, Any]) -> _Look:
        """Ask the rules about the case with some values changed."""
        return _looked(self, self.score(changed), self.case.label(changed))


def _rule_goal(case: RuleCase, target: Any, X: Any) -> _RuleGoal:
    scores = case.scores(case.point()[None])[0]
    if isinstance(target, Rank):
        others, limit = _rank_limit(case, target, X)
        return _RuleGoal(case, target, np.array([[-1.0]]), np.array([scores[0] - limit]), others)
    label = _read_label(case, target)
    k = case.classes.index(label)
    if len(scores) == 1:
        coef = np.array([[1.0 if k else -1.0]])
    else:
        others_at = [m for m in range(len(scores)) if m != k]
        coef = np.eye(len(scores))[k] - np.eye(len(scores))[others_at]
    return _RuleGoal(case, label, coef, -(coef @ scores))


def _read_target(target: Any) -> Any:
    is_rank = isinstance(target, tuple) and len(target) == 2 and target[0] == "rank"
    return Rank(target[1]) if is_rank else target


def _read_goal(case: Case, target: Any, X: Any) -> _Goal:
    surface = case.surface
    if len(surface.classes) > 2 and not surface.is_partition:
        raise InvalidValueError(
            f"the model decides between {len(surface.classes)} classes by a vote of pairs, which no set of planes "
            "describes exactly; use a model with one score for each class, such as OneVsRestClassifier"
        )
    if isinstance(target, Rank):
        return _rank_goal(case, target, X)
    label = _read_label(case, target)
    k = surface.classes.index(label)
    point = case.point()
    guards = surface.guards()[k]
    signs = [guard.halfspace.sign for guard in guards]
    errors = [guard.error for guard in guards]
    return _Goal(
        case,
        label,
        np.array([s * error.coef for s, error in zip(signs, errors, strict=True)]),
        np.array([-s * error.score(point) for s, error in zip(signs, errors, strict=True)]),
        np.array([_rounding(error, point) for error in errors]),
    )


def _rounding(error: ScoreError, point: FloatArray) -> float:
    """Return what rounding can do to the score of a case and of values near it, which are rounded as well."""
    moved = float((np.abs(error.coef) * np.spacing(np.abs(point))).sum())
    return 2.0 * error.bound(np.abs(point - error.centre)) + 2.0 * moved


def _read_label(case: Case | RuleCase, target: Any) -> Label:
    classes = case.classes
    if isinstance(target, str) and target == "boundary":
        if len(classes) > 2:
            raise InvalidValueError(
                f"a model of {len(classes)} classes has more than one boundary; name a class: "
                f"target={classes[0]!r}, for example"
            )
        return classes[1 - classes.index(case.label())]
    try:
        label = as_label(target)
    except InvalidValueError:
        label = str(target)
    if label not in classes:
        hint = nearest_name(str(target), map(str, classes))
        raise InvalidValueError(
            f"target must be 'boundary', a class, ('rank', n) or Rank(n), not {target!r}{hint}"
        )
    return classes[classes.index(label)]


def _rank_limit(case: Case | RuleCase, target: Rank, X: Any) -> tuple[FloatArray, float]:
    """Return the scores of the others, and the one that the case has to be below."""
    if X is None:
        raise InvalidValueError("a rank needs the list that is ranked: pass it as X")
    if len(case.classes) != 2:
        raise InvalidValueError(
            f"a model of {len(case.classes)} classes has no one score to rank by; a rank needs two classes"
        )
    others = case.others(X, target.listed)
    if target.n > len(others):
        raise InvalidValueError(
            f"there are {len(others)} others, so that a case is always in the top {target.n}; choose a rank up to "
            f"{len(others)}"
        )
    return others, float(np.sort(others)[len(others) - target.n])


def _rank_goal(case: Case, target: Rank, X: Any) -> _Goal:
    others, limit = _rank_limit(case, target, X)
    point = case.point()
    (guard,) = case.surface.guards()[1]
    # The list was scored by the model itself, and so is the case.
    gap = case.score() - limit
    rounding = _rounding(guard.error, point) + 4.0 * float(np.spacing(abs(limit)))
    coef = -guard.halfspace.sign * guard.error.coef
    return _Goal(case, target, coef[None], np.array([gap]), np.array([rounding]), others)


def _report(
    plan: Plan, goal: _Goal | _RuleGoal, start: _Look, changes: tuple[FeatureChange, ...]
) -> Recourse:
    """Change the case, and have the model look at it."""
    end = goal.look({change.feature: change.after for change in changes}) if changes else start
    return Recourse(
        changes,
        sum((change.cost for change in changes), 0.0),
        goal.target,
        start.score,
        end.score,
        start.label,
        end.label,
        start.rank,
        end.rank,
        None if goal.others is None else len(goal.others),
        verified=end.is_there and plan.satisfies_relations(changes),
        allowed=plan.allowed,
    )


def _solve(
    plan: Plan, goal: _Goal | _RuleGoal, start: _Look, barred: list[list[str]], time_limit: float
) -> Recourse | None:
    """Return the cheapest way that the model confirms; None if there is none."""
    if isinstance(goal, _RuleGoal):
        return _solve_rules(plan, goal, start, barred, time_limit)
    moves = _moves(plan, goal)
    if moves is None:
        return None
    size = _size(goal, moves)
    sets = [[plan.place(name) for name in names] for names in barred]
    answer: Recourse | None = None
    for margin, inset in _attempts(plan):
        if margin == 0.0 and answer is not None:
            break
        need = np.concatenate([goal.gap + margin * size + goal.rounding, inset])
        amounts = cheapest_change(moves, need, sets, time_limit=time_limit)
        # The solver's tolerance takes the boundary itself for across.
        if amounts is None or not _is_across(amounts, moves, goal):
            continue
        changes = plan.changes(amounts)
        if plan.satisfies_relations(changes):
            answer = _report(plan, goal, start, changes)
        if answer is not None and answer.verified:
            break
    return answer


def _solve_rules(
    plan: Plan, goal: _RuleGoal, start: _Look, barred: list[list[str]], time_limit: float
) -> Recourse | None:
    """Return the cheapest way for a case of weighted rules; None if there is none."""

    def is_enough(changes: tuple[FeatureChange, ...]) -> bool:
        changed = {change.feature: change.after for change in changes}
        return goal.look(changed).is_there and plan.satisfies_relations(changes)

    sets = [sorted({plan.place(name) for name in names}) for names in barred]
    need = np.concatenate([goal.gap, -plan.slacks])
    found = RuleProgram(plan, goal.coef).cheapest(need, is_enough, sets, time_limit=time_limit)
    return None if found is None else _report(plan, goal, start, found)


def _attempts(plan: Plan) -> Iterator[tuple[float, FloatArray]]:
    """Yield how far across, and how far inside of relations, a change should go; from little to more.

    Whole numbers may lie on a relation. Of other numbers rounding may leave some beyond it, so that more is asked for;
    of a relation that the case satisfies with equality only at last, for then nothing could stay as it is.
    """
    slacks = plan.slacks
    size = 1.0 + np.abs(slacks)
    for margin in (*_MARGINS, 0.0):
        yield margin, 0.0 - slacks
        if margin and len(slacks):
            yield margin, np.minimum(margin * size - slacks, 0.0)
            yield margin, margin * size - slacks


def _is_across(amounts: FloatArray, moves: Moves, goal: _Goal) -> bool:
    gains = amounts @ moves.gain
    return bool((gains[: len(goal.gap)] > goal.gap).all())


def _size(goal: _Goal, moves: Moves) -> FloatArray:
    """Return what the tolerances of the solver are relative to: what each row needs, and what whole moves add to it."""
    gain = moves.gain[:, : len(goal.gap)]
    whole = np.abs(gain[moves.integer]).max(axis=0, initial=0.0)
    return np.asarray(np.abs(goal.gap) + whole)


def _moves(plan: Plan, goal: _Goal) -> Moves | None:
    if not plan.steps:
        return None
    moves = plan.moves(goal.coef)
    if moves.gain.shape[1] > 1 and not np.isfinite(moves.most).all():
        name = plan.steps[int(np.argmin(np.isfinite(moves.most)))].name
        why = "more than two classes" if len(goal.gap) > 1 else "relations"
        raise InvalidValueError(
            f"with {why} each feature needs bounds, and {name!r} has none; give X or bounds"
        )
    return moves


def _rule_certificate(plan: Plan, goal: _RuleGoal, start: _Look, time_limit: float) -> Recourse:
    """Return the proof that nothing is enough for weighted rules: the best score, and what it lacks."""
    need = np.concatenate([goal.gap, -plan.slacks])
    changes = RuleProgram(plan, goal.coef).closest(need, time_limit=time_limit)
    best = _report(plan, goal, start, changes)
    scores = goal.case.scores(goal.case.point({c.feature: c.after for c in changes})[None])[0]
    now = goal.case.scores(goal.case.point()[None])[0]
    missing = float((goal.gap - goal.coef @ (scores - now)).max())
    return _refused(best, max(0.0, missing), verified=not best.verified)


def _refused(best: Recourse, missing: float, *, verified: bool) -> Recourse:
    """Return that nothing is enough, from what comes closest."""
    return replace(
        best,
        changes=(),
        cost=None,
        score_after=None,
        label_after=None,
        rank_after=None,
        feasible=False,
        verified=verified,
        best_score=best.score_after,
        shortfall=missing,
    )


def _certificate(plan: Plan, goal: _Goal | _RuleGoal, start: _Look, time_limit: float) -> Recourse:
    """Return the proof that nothing is enough: the best score, and what it lacks."""
    if isinstance(goal, _RuleGoal):
        return _rule_certificate(plan, goal, start, time_limit)
    moves = _moves(plan, goal)
    missing, changes = float(goal.gap.max()), plan.changes(np.zeros(len(plan.steps)))
    size = np.abs(goal.gap)
    if moves is not None:
        size = _size(goal, moves)
        need = np.concatenate([goal.gap, -plan.slacks])
        missing, amounts = smallest_shortfall(
            moves, need, n_relations=len(plan.slacks), time_limit=time_limit
        )
        changes = plan.changes(amounts)
    best = _report(plan, goal, start, changes)
    if moves is not None and best.verified and _is_across(amounts, moves, goal):
        # Across by less than what rounding could do, and the model confirms it.
        return best
    assert best.score_after is not None
    gained = abs(best.score_after - best.score_before)
    expected = float(goal.gap.max()) - missing
    allowed = _MARGINS[-1] * float(size.max()) + 4.0 * float(goal.rounding.max())
    agrees = abs(gained - expected) <= allowed
    return _refused(best, missing, verified=agrees and not best.verified)


_CAUTION = (
    "This is about the model only: what such a change does in the world is not known from data."
)


@dataclass(frozen=True, slots=True)
class Rank:
    """The target of a case that is to leave the Top `n` of a list.

    A case is in the Top n as long as fewer than n *others* have a higher score. It leaves it if and only if its score
    is below the n-th largest score of the others, which in a list with the case in the Top n is the one at place n + 1.

    Parameters
    ----------
    n : int
        The size of the Top; at least 1 and at most the number of the others.
    listed : bool, optional
        Whether the case itself is a row of the list X: True leaves one row that is equal to it out, False takes all
        rows as others. By default one row is left out if there is one that is equal.

    Examples
    --------
    >>> Rank(27)
    Rank(n=27, listed=None)
    """

    n: int
    listed: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.n, Integral) or isinstance(self.n, bool) or self.n < 1:
            raise InvalidValueError(f"the rank must be a whole number from 1, not {self.n!r}")
        if self.listed not in (None, True, False):
            raise InvalidValueError(f"listed must be True, False or None, not {self.listed!r}")
        object.__setattr__(self, "n", int(self.n))


@dataclass(frozen=True, slots=True)
class Recourse:
    """The cheapest change that moves a case, or the proof that none does.

    Parameters
    ----------
    changes : tuple of FeatureChange
        What would have to change; empty if nothing has to, or if nothing is enough.
    cost : float or None
        Total cost; None if nothing is enough.
    target : str, int, float, bool or Rank
        The class that was aimed at, or the Top that was to be left.
    score_before, score_after : float, float or None
        The model's score, positive for its second class. With three or more classes, the lead of the class that was
        aimed at over the best other one. None if nothing is enough.
    label_before, label_after : label, label or None
        The model's answers.
    rank_before, rank_after : int or None
        1 + the number of others with a higher score, if a rank was aimed at.
    n_others : int or None
        How many others there are, if a rank was aimed at.
    feasible : bool
        Whether some allowed change is enough.
    verified : bool
        Whether the model itself, given the changed case, answered (and ranked) as it says here. If nothing is enough:
        whether the model confirmed the best score.
    allowed : tuple of str
        The features that were declared actionable.
    best_score : float or None
        If nothing is enough: the score with all actionable features at their best.
    shortfall : float
        If nothing is enough: how much score is missing then. Zero means that the boundary is reached, but not crossed.
    alternatives : tuple of Recourse
        Further ways, by rising cost. Each leaves something alone that each earlier one changes.

    Examples
    --------
    >>> change = FeatureChange("bmi", 31.2, 27.0, 0.1)
    >>> print(Recourse((change,), 0.1, "healthy", 0.5, -0.01, "ill", "healthy"))
    If bmi were 27 instead of 31.2, this would change the model's answer from ill to healthy
    (score 0.5 -> -0.01, cost 0.1).
    This is about the model only: what such a change does in the world is not known from data.
    """

    changes: tuple[FeatureChange, ...]
    cost: float | None
    target: Label | Rank
    score_before: float
    score_after: float | None
    label_before: Label
    label_after: Label | None
    rank_before: int | None = None
    rank_after: int | None = None
    n_others: int | None = None
    feasible: bool = True
    verified: bool = True
    allowed: tuple[str, ...] = ()
    best_score: float | None = None
    shortfall: float = 0.0
    alternatives: tuple[Recourse, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, ready for JSON.

        Returns
        -------
        dict
            One entry a field, and `text` with the sentences.
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.target, Rank):
            plain["target"] = {"rank": self.target.n}
        plain["changes"] = [
            {field.name: getattr(change, field.name) for field in fields(change)}
            for change in self.changes
        ]
        plain["allowed"] = list(self.allowed)
        plain["alternatives"] = [other.to_dict() for other in self.alternatives]
        return {**plain, "text": str(self)}

    def __str__(self) -> str:
        if not self.feasible:
            return f"{self._refusal()}\n{_CAUTION}"
        if not self.changes:
            return f"Nothing has to change: {self._place()}."
        lines = [self._sentence()]
        lines += [f"Or: {other._sentence()}" for other in self.alternatives]
        return "\n".join([*lines, _CAUTION])

    def _sentence(self) -> str:
        premise = listed([str(change) for change in self.changes], most=None)
        score = f"score {_short(self.score_before)} -> {_short(self.score_after)}"
        return f"If {premise}, this would change {self._effect()} ({score}, cost {_short(self.cost)}).{self._doubt()}"

    def _doubt(self) -> str:
        return "" if self.verified else " The model itself, given this case, did NOT confirm it."

    def _effect(self) -> str:
        if isinstance(self.target, Rank):
            return (
                f"the rank from {self.rank_before} to {self.rank_after} of {self._listed()}, "
                f"out of the top {self.target.n}"
            )
        return f"the model's answer from {self.label_before} to {self.target}"

    def _listed(self) -> int:
        return 1 + (self.n_others or 0)

    def _place(self) -> str:
        if isinstance(self.target, Rank):
            return f"the rank is {self.rank_before} of {self._listed()}, not in the top {self.target.n}"
        return f"the model's answer is {self.label_before} already"

    def _refusal(self) -> str:
        missing = (
            "which reaches the boundary, but does not cross it"
            if self.shortfall == 0
            else f"and {_short(self.shortfall)} would still be missing"
        )
        wish = (
            f"would move the rank, now {self.rank_before} of {self._listed()}, out of the top {self.target.n}"
            if isinstance(self.target, Rank)
            else f"would change the model's answer from {self.label_before} to {self.target}"
        )
        return (
            f"No allowed change of {listed(self.allowed, most=None)} {wish}: with everything at its best the score "
            f"would go from {_short(self.score_before)} to {_short(self.best_score)}, {missing}.{self._doubt()}"
        )


def _short(value: float | None) -> str:
    return f"{value:.4g}"
