"""Find the cheapest change that would change the prediction of a model for one case, or its rank.

`recourse` reads the case and what may change (`recourse_options`), solves the program (`recourse_program`), and gives a
`Recourse`, which tells in words what was found.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from clearmargin.cases.recourse_options import Case, FeatureChange, read_case, read_options
from clearmargin.cases.recourse_program import ChangeProgram, Choice
from clearmargin.exceptions import InvalidValueError, UncertifiedWarning
from clearmargin.language.words import listed
from clearmargin.rule_base.options import PositiveNumber, WholeNumber
from clearmargin.rules.arithmetic import exact_score
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray

# How far beyond the boundary a case must go, besides what rounding can do, relative to what its score has to gain:
# more than the solver's tolerance (1e-9). If the model disagrees all the same, the next one is tried; steps in single
# precision round to about 1e-7. Nothing beyond rounding is tried last, where all others ask for too much.
_MARGINS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_TIME_LIMIT = 60.0
# Costs that differ by less are the same: amounts are those that just arrive.
_SAME = 1e-5
_TINY = 1e-200


def recourse(
    model: Any,
    x: Any,
    *,
    actionable: Any,
    X: Any = None,
    costs: Mapping[str, float] | None = None,
    target: Any = "boundary",
    rank: int | None = None,
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
        or a `RuleSVC`, or its `Scorecard`.
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
    target : "boundary" or a class label, default "boundary"
        Cross the boundary of a model of two classes, or get a class. The boundary itself is not across.
    rank : int, optional
        Leave the Top of so many rows of the list X, instead. A case leaves the Top n if and only if its score is below
        the n-th largest score of the *others*; one row of X that is equal to the case is taken for the case itself.
    n_alternatives : int, default 1
        How many ways to look for. Each further one, in `alternatives`, leaves alone at least one feature of each
        earlier one.
    bounds : mapping from name to (low, high), FeatureSpace or pair (low, high), optional
        Where numbers may go; by default the range in X, and anywhere without X. A FeatureSpace also says which numbers
        are whole.
    time_limit : float, default 60
        Seconds of the processor that one search for a change may take; when they are over, a `TimeLimitError` says so.

    Returns
    -------
    Recourse
        The changes, or the proof that none is enough.

    Notes
    -----
    All is measured from the case: an offset of a column, such as that of a time in seconds, costs no digits. Across
    means beyond the boundary by what rounding can do and 1e-8 of what the score has to gain, or more if the model,
    asked about the changed case, does not confirm that; `verified` says whether it did in the end. Of rules with
    weights nothing beyond the boundary is asked for. The program is in `clearmargin.cases.recourse_program`.

    See Also
    --------
    clearmargin.explain : Why a case got its class.

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
    WholeNumber(1).check("n_alternatives", n_alternatives)
    PositiveNumber().check("time_limit", time_limit)
    case = read_case(model, x, X)
    options = read_options(case, actionable, costs, bounds)
    goal = _read_goal(case, target, rank, X, tuple(actionable))
    start = goal.ask(())
    if start.verified:
        return start
    found: list[Recourse] = []
    while len(found) < n_alternatives:
        barred = [
            sorted(case.space.index(change.feature) for change in way.changes) for way in found
        ]
        program = ChangeProgram(case, options, goal.coef, goal.gap, barred, time_limit)
        further = _cheapest(goal, program)
        if further is None:
            break
        found.append(further)
    if not found:
        return _certificate(goal, program)
    if not all(way.verified for way in found):
        warnings.warn(
            "the model itself did not confirm a change that its planes promise; see verified",
            UncertifiedWarning,
            stacklevel=2,
        )
    return replace(found[0], alternatives=tuple(found[1:]))


@dataclass(frozen=True, eq=False)
class _Goal:
    """Where the case has to go: rows of weights, of encoded columns or of the scores of rules, each with its gap."""

    case: Case
    # The class to get, or None with the size of the Top to leave.
    target: Label | None
    top: int | None
    coef: FloatArray
    gap: FloatArray
    # What rounding, of the score and of changed values, can take away from each row.
    rounding: FloatArray
    others: FloatArray | None
    allowed: tuple[str, ...]

    def gained(self, changes: tuple[FeatureChange, ...]) -> FloatArray:
        """Return what each row has gained with some changes."""
        changed = {change.feature: change.after for change in changes}
        both = np.array([self.case.codes(), self.case.codes(changed)])
        if self.case.surface is None:
            now, then = (self.case.scores(codes[None])[0] for codes in both)
        else:
            now, then = self.case.surface.one_hot.spread(both)
        return np.asarray(self.coef @ (then - now))

    def ask(self, changes: tuple[FeatureChange, ...]) -> Recourse:
        """Ask the model about the case with some changes; with more than two classes a score is a lead."""
        before, now = self._before, self._predict(changes) if changes else self._before
        has_rank = self.others is not None
        is_there = now[1] == self.target if self.top is None else now[2] > self.top
        return Recourse(
            changes,
            sum((change.cost for change in changes), 0.0),
            self.target,
            score_before=before[0],
            score_after=now[0],
            label_before=before[1],
            label_after=now[1],
            rank_before=before[2] if has_rank else None,
            rank_after=now[2] if has_rank else None,
            n_others=None if self.others is None else len(self.others),
            verified=is_there,
            allowed=self.allowed,
            top=self.top,
        )

    @cached_property
    def _before(self) -> tuple[float, Label, int]:
        return self._predict(())

    def _predict(self, changes: tuple[FeatureChange, ...]) -> tuple[float, Label, int]:
        """Return the score of the model, its class, and the rank among the others."""
        changed = {change.feature: change.after for change in changes}
        if len(self.case.classes) > 2:
            score = float((self.gained(changes) - self.gap).min())
        else:
            score = float(self.case.scores(self.case.table(changed))[0, 0])
        rank = 0 if self.others is None else 1 + int((self.others > score).sum())
        return score, self.case.label(changed), rank


def _read_goal(case: Case, target: Any, top: Any, X: Any, allowed: tuple[str, ...]) -> _Goal:
    surface, n_classes = case.surface, len(case.classes)
    if surface is not None and n_classes > 2 and not surface.is_partition:
        raise InvalidValueError(
            f"the model decides between {n_classes} classes by a vote of pairs, which no set of planes "
            "describes exactly; use a model with one score for each class, such as OneVsRestClassifier"
        )
    label, others, limit, k = None, None, 0.0, 0
    if top is None:
        label = _read_label(case, target)
        k = case.classes.index(label)
    else:
        WholeNumber(1).check("rank", top)
        if target != "boundary":
            raise InvalidValueError("a case gets a class or leaves a rank; give target or rank")
        if X is None:
            raise InvalidValueError("a rank needs the list that is ranked: pass it as X")
        if n_classes != 2:
            raise InvalidValueError(
                f"a model of {n_classes} classes has no one score to rank by; a rank needs two classes"
            )
        others = case.others(X)
        if top > len(others):
            raise InvalidValueError(
                f"there are {len(others)} others, so that a case is always in the top {top}; choose a rank up to "
                f"{len(others)}"
            )
        limit = float(np.sort(others)[len(others) - top])
    if surface is None:
        scores = case.scores(case.codes()[None])[0]
        each = np.eye(n_classes)
        coef = np.delete(each[k] - each, k, axis=0)
        if len(scores) == 1:
            coef = np.array([[1.0 if k else -1.0]])
        gap, rounding = -(coef @ scores), np.zeros(len(coef))
    else:
        point, margins = surface.one_hot.spread(case.codes()[None])[0], surface.margins(k)
        coef = np.array([margin.weights(surface.one_hot.sources) for margin in margins])
        gap = np.array(
            [-exact_score(w, point, m.constant) for w, m in zip(coef, margins, strict=True)]
        )
        # Of the score of the case and of values near it, which are rounded as well.
        bounds = [margin.bound(np.abs(np.nan_to_num(case.codes()))) for margin in margins]
        moved = np.abs(coef) @ np.spacing(np.abs(point))
        rounding = 2.0 * np.array(bounds) + 2.0 * moved
    if others is not None:
        # The list was scored by the model itself, and so is the case.
        gap = case.scores(case.table())[0] - limit
        if surface is not None:
            rounding = rounding + 4.0 * np.spacing(abs(limit))
    return _Goal(
        case, label, None if top is None else int(top), coef, gap, rounding, others, allowed
    )


def _read_label(case: Case, target: Any) -> Label:
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
        raise InvalidValueError(f"target must be 'boundary' or a class, not {target!r}{hint}")
    return classes[classes.index(label)]


def _cheapest(goal: _Goal, program: ChangeProgram) -> Recourse | None:
    """Return the cheapest way that the model confirms, else one that its planes promise; None if there is none."""
    is_plane = goal.case.surface is not None
    margins = (*_MARGINS, 0.0) if is_plane else (0.0, 1e-9, *_MARGINS)
    need = goal.gap + goal.rounding
    promised: Recourse | None = None

    def ways(choices: Iterator[Choice | None]) -> Iterator[Recourse]:
        """Yield ways that are across, by rounding at least; whether the model confirms them is another question."""
        for choice in choices:
            if choice is not None:
                way = goal.ask(_changes(goal, program, choice))
                if way.verified or (is_plane and (goal.gained(way.changes) > need).all()):
                    yield way

    def tried(choice: Choice) -> Iterator[Choice | None]:
        """Yield a choice of options with its amounts, or with those that several margins ask for."""
        has_amounts = any(program.options[k].width for k in np.flatnonzero(choice[0]).tolist())
        if not (is_plane and has_amounts):
            yield choice
        for margin in margins if has_amounts else ():
            yield program.solve(need + margin * program.size, fixed=choice[0])

    best: tuple[float, Recourse] | None = None
    for choice in program.choices(need + (_MARGINS[0] if is_plane else 0.0) * program.size):
        least = sum(change.cost for change in _changes(goal, program, choice))
        for way in ways(tried(choice)):
            cost = sum(change.cost for change in way.changes)
            if not way.verified:
                promised = way
                continue
            if best is None or cost < best[0]:
                best = cost, way
            break
        # Choices come in the order of what they cost at least: no other is cheaper then.
        if best is not None and best[0] <= least * (1.0 + _SAME) + _TINY:
            return best[1]
    if best is not None:
        return best[1]
    # Too many choices are a tie: ask for more at once.
    again = (program.solve(need + m * program.size) for m in margins if program.options)
    return next((way for way in ways(again) if way.verified), promised)


def _changes(goal: _Goal, program: ChangeProgram, choice: Choice) -> tuple[FeatureChange, ...]:
    """Return what a choice of options comes to in the words of the user."""
    taken, amounts = choice
    return tuple(
        change
        for k in np.flatnonzero(taken).tolist()
        for change in program.options[k].change(goal.case, float(amounts[k]))
    )


def _certificate(goal: _Goal, program: ChangeProgram) -> Recourse:
    """Return the proof that nothing is enough: the best score, and what it lacks."""
    choice = program.closest(goal.gap)
    best = goal.ask(() if choice is None else _changes(goal, program, choice))
    gained = goal.gained(best.changes)
    if best.verified and (gained > goal.gap).all():
        # Across by less than what rounding could do, and the model confirms it.
        return best
    missing = max(0.0, float((goal.gap - gained).max()))
    assert best.score_after is not None
    moved = abs(best.score_after - best.score_before)
    allowed = _MARGINS[-1] * float(program.size.max()) + 4.0 * float(goal.rounding.max())
    agrees = abs(moved - (float(goal.gap.max()) - missing)) <= allowed
    return replace(
        best,
        changes=(),
        cost=None,
        score_after=None,
        label_after=None,
        rank_after=None,
        feasible=False,
        verified=agrees and not best.verified,
        best_score=best.score_after,
        shortfall=missing,
    )


_CAUTION = (
    "This is about the model only: what such a change does in the world is not known from data."
)


@dataclass(frozen=True, slots=True)
class Recourse:
    """The cheapest change that moves a case, or the proof that none does.

    Parameters
    ----------
    changes : tuple of FeatureChange
        What would have to change; empty if nothing has to, or if nothing is enough.
    cost : float or None
        Total cost; None if nothing is enough.
    target : str, int, float, bool or None
        The class that was aimed at; None if a Top was to be left.
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
    top : int or None
        The size of the Top that was to be left.

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
    target: Label | None
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
    top: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, ready for JSON.

        Returns
        -------
        dict
            One entry a field, and `text` with the sentences.
        """
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        if plain.pop("top") is not None:
            plain["target"] = {"rank": self.top}
        plain["changes"] = [
            {field.name: getattr(change, field.name) for field in fields(change)}
            for change in self.changes
        ]
        plain["allowed"] = list(self.allowed)
        plain["alternatives"] = [other.to_dict() for other in self.alternatives]
        return {**plain, "text": str(self)}

    def __str__(self) -> str:
        place = f"{self.rank_before} of {1 + (self.n_others or 0)}"
        if not self.feasible:
            missing = f"and {_short(self.shortfall)} would still be missing"
            if self.shortfall == 0:
                missing = "which reaches the boundary, but does not cross it"
            aim = f"change the model's answer from {self.label_before} to {self.target}"
            if self.top is not None:
                aim = f"move the rank, now {place}, out of the top {self.top}"
            return (
                f"No allowed change of {listed(self.allowed, most=None)} would {aim}: with everything at its best the "
                f"score would go from {_short(self.score_before)} to {_short(self.best_score)}, {missing}."
                f"{_doubt(self)}\n{_CAUTION}"
            )
        if not self.changes and self.top is not None:
            return f"Nothing has to change: the rank is {place}, not in the top {self.top}."
        if not self.changes:
            return f"Nothing has to change: the model's answer is {self.label_before} already."
        lines = [_sentence(self), *(f"Or: {_sentence(other)}" for other in self.alternatives)]
        return "\n".join([*lines, _CAUTION])


def _doubt(way: Recourse) -> str:
    return "" if way.verified else " The model itself, given this case, did NOT confirm it."


def _sentence(way: Recourse) -> str:
    effect = f"the model's answer from {way.label_before} to {way.target}"
    if way.top is not None:
        of = 1 + (way.n_others or 0)
        effect = (
            f"the rank from {way.rank_before} to {way.rank_after} of {of}, out of the top {way.top}"
        )
    return (
        f"If {listed([str(change) for change in way.changes], most=None)}, this would change {effect} "
        f"(score {_short(way.score_before)} -> {_short(way.score_after)}, cost {_short(way.cost)}).{_doubt(way)}"
    )


def _short(value: float | None) -> str:
    return f"{value:.4g}"
