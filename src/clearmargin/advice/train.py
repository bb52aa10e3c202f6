"""From data and advice to a plane: what the cases say of each rule, refinement, and the program that is solved.

**Where a rule has to hold.** The published program (`advice_svm`, ``where="everywhere"``) asks for a margin of 1 in the
worst corner of a premise. Rules of an expert touch (glucose <= 126, glucose >= 126): at the common corner both classes
are asked for, and nothing pulls but towards w = 0. So by default (``where="cases"``) the error of a rule is a mean over
cases that could exist in its premise: `_DRAWN` rows drawn from the training cases by their content, each value replaced
by that of another row with probability 1/2. A point is a premise, too, so that this is program (1) with points. All
rules together weigh as much as `mu` cases, times the share of drawn rows that they cover, times the *trust* of each:

    trust = max(0, 2 p - 1),    p = (right + 8) / (covered + 10)

on the training cases: a rule counts as if it had been right on 8 of 10 cases before it is tried. Rules that cover the
same drawn row share its weight. A rule that the cases contradict until no trust is left is rejected.

**What refinement may do.** A premise is cheaply pushed off the cases, because only its worst corner counts. So of a
move the whole, 3/4, 1/2 or 1/4 is taken: the first that keeps half of the covered cases and is right on a strictly
larger share of them, and on at least half. Otherwise the rule stays as written. To the letter of the papers
(``where="everywhere", bounds=None``) rules are what the program makes of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from clearmargin.advice.advice_svm import AdviceProblem, Premises, solve_advice
from clearmargin.advice.cases import Cases, Premise, rule_name
from clearmargin.advice.frame import Frame, is_outside
from clearmargin.advice.premise_geometry import is_void
from clearmargin.advice.refine import Refinement, refine_advice
from clearmargin.advice.refined_rows import ReadRows, read_rows
from clearmargin.exceptions import DataError, InfeasibleError
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.row_order import hashed_rows

Verdict = Literal["unchanged", "refined", "rejected", "empty"]

# Of "auto": how many cases all rules count as, and the cost of a rule's error.
AUTO_MU = {"cases": 30.0, "everywhere": 1.0}
# Rows that are drawn, right ones and all of them that a rule has before it is tried, and parts of a move.
_DRAWN, _RIGHT, _TRIED, _STEPS = 200, 8.0, 10.0, (1.0, 0.75, 0.5, 0.25)
# From so many cases on, a third of them has no part in refining a rule and judges it, where it covers so many of these.
_ENOUGH, _FEW_COVERED = 150.0, 10.0
# Rows in the program: at 20,000 x 10 it takes about a second; refinement solves it twenty times, without the dual.
MOST_ROWS, _MOST_REFINED = 20_000, 2_000
# Each rule has two bounds in each column: at so many, a fit takes 12 s and 0.6 GB, and the square of that at more.
_MOST_COLUMNS = 2_000


@dataclass(slots=True)
class TriedRule:
    """A rule in training: its premise as given and as it is now, what became of it and why."""

    given: Premise
    sign: float
    now: Premise
    verdict: Verdict = "unchanged"
    rows: ReadRows | None = None
    trust: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def counts(self) -> bool:
        """Whether the rule takes part."""
        return self.verdict in ("unchanged", "refined")


@dataclass(frozen=True, slots=True)
class Training:
    """What training came to: the plane in the user's units, its objective, and that after each step of refinement."""

    frame: Frame
    rules: tuple[TriedRule, ...]
    w: FloatArray
    b: float
    objective: float
    objectives: FloatArray
    converged: bool


def train(case: Cases, options: Any) -> Training:
    """Train on data and advice; `options` is the estimator with its parameters."""
    published = options.where == "everywhere"
    mu = float(AUTO_MU[options.where] if isinstance(options.mu, str) else options.mu)
    rules = _tried(case, may_reject=not published)
    frame = Frame.around(case, standard=not published, bounded=not _is_to_the_letter(options))
    part, n = case.merged(MOST_ROWS), len(frame.unit)
    problem = AdviceProblem(
        frame.scaled(part.points),
        part.y,
        options.lam * part.weight,
        Premises.stack([], np.zeros(0), np.zeros(0), n),
    )
    used = [i for i, rule in enumerate(rules) if rule.counts]
    change = _Change()
    rows: list[tuple[FloatArray, FloatArray, BoolArray]] = []
    if used and (published or options.refine is not None):
        if n > _MOST_COLUMNS:
            raise DataError(
                f"the table has {n} columns, and a rule is bounded in each of them: at most {_MOST_COLUMNS} can be "
                "taken. Leave out columns that no rule names, or select features first"
            )
        # Where all rules together have one price, refinement sees each at its share.
        each = mu if published else options.lam * mu / len(used)
        costs = each * np.array([case.rules[i].weight for i in used])
        for i in used:
            is_far = math.isinf(each) and is_outside(rules[i].given, case)
            rows.append(frame.within(rules[i].given, beyond=is_far))
        premises = Premises.stack(rows, case.sign[used], costs, n)
        if options.refine is not None:
            change = _refine(case, frame, [rules[i] for i in used], premises, options)
        if published:
            problem = replace(problem, premises=change.moved(premises))
    if not published:
        problem = _with_possible_cases(problem, case, frame, rules, options.lam * mu)
    try:
        plane = solve_advice(problem)
    except InfeasibleError:
        names = tuple(rule_name(case.given[used[k]], used[k]) for k in _conflict(problem, rows))
        raise InfeasibleError(
            "no plane satisfies all advice that must hold (mu=inf); these rules contradict each other: "
            f"{', '.join(names)}. Run check_advice to see where they clash, narrow one of them, or use a finite mu",
            names,
        ) from None
    value = plane.objective + (change.price if published else 0.0)
    objectives = change.objectives if len(change.objectives) else np.array([value])
    w, b = frame.user_plane(plane.w, plane.b)
    return Training(frame, tuple(rules), w, b, value, objectives, change.converged)


def _is_to_the_letter(options: Any) -> bool:
    """Whether exactly the published programs are asked for."""
    return options.where == "everywhere" and options.bounds is None


def _tried(case: Cases, *, may_reject: bool) -> list[TriedRule]:
    """See what the cases say of each rule."""
    rules = [
        TriedRule(premise, sign, premise)
        for premise, sign in zip(case.premises, case.sign.tolist(), strict=True)
    ]
    for rule in rules:
        norm = np.linalg.norm(rule.given.D, axis=1)
        covered, right = _counts(case, rule.given, rule.sign)
        rule.trust = _trust(covered, right)
        if is_void(rule.given.D / norm[:, None], rule.given.d / norm):
            rule.verdict = "empty"
            rule.problems.append("no case can satisfy it")
        elif 2.0 * right < covered:
            rule.verdict = "rejected" if may_reject and rule.trust == 0.0 else "unchanged"
            wrong = covered - right
            rule.problems.append(f"the cases contradict it: {right:g} right, {wrong:g} wrong")
    return rules


def _counts(case: Cases, premise: Premise, sign: float) -> tuple[float, float]:
    """Weigh the cases that a premise covers, and those of them that are of the class of the rule."""
    covered = premise.covers(case.points)
    right = covered & (case.y == sign)
    return math.fsum(case.weight[covered]), math.fsum(case.weight[right])


def _trust(covered: float, right: float) -> float:
    return max(0.0, 2.0 * (right + _RIGHT) / (covered + _TRIED) - 1.0)


class _Change(NamedTuple):
    """What refinement made of the rows and its price, the objective after each step, and whether it came to an end."""

    F: FloatArray | None = None
    f: FloatArray | None = None
    price: float = 0.0
    objectives: FloatArray = np.zeros(0)
    converged: bool = True

    def moved(self, premises: Premises) -> Premises:
        """Return the premises as they are now."""
        if self.F is None or self.f is None:
            return premises
        return premises.moved(self.F, self.f)


def _refine(
    case: Cases, frame: Frame, rules: list[TriedRule], premises: Premises, options: Any
) -> _Change:
    """Refine premises by the program, and take of each move what may be taken."""
    published = _is_to_the_letter(options)
    held = np.zeros(len(case.y), dtype=np.bool_)
    if math.fsum(case.weight) >= _ENOUGH and not published:
        held = hashed_rows(case.points) % np.uint64(3) == 0
        held &= len(np.unique(case.y[~held])) == 2
    few = case.take(~held).merged(_MOST_REFINED)
    unseen = case.take(held)
    problem = AdviceProblem(frame.scaled(few.points), few.y, options.lam * few.weight, premises)
    turning = np.full(premises.D.shape, options.refine != "translate")
    turning[:, [j for group in frame.groups for j in group]] = False
    found = refine_advice(
        Refinement(problem, options.nu, turning),
        options.refine,
        options.max_iter,
        options.tol,
        published=published,
    )
    F, f = found.F.copy(), found.f.copy()
    for k, rule in enumerate(rules):
        own = (premises.rule == k) & premises.numeric_rows
        n_unseen = _counts(unseen, rule.given, rule.sign)[0]
        judged = unseen if n_unseen >= _FEW_COVERED else case
        share = _settle(case, judged, frame, rule, F[own], f[own], published=published)
        F[own] *= share
        f[own] *= share
        if rule.rows is not None:
            rule.trust = _trust(*_counts(case, rule.now, rule.sign))
    costs = options.nu * premises.cost[premises.rule]
    price = float(costs @ (np.abs(F).sum(axis=1) + np.abs(f)))
    return _Change(F, f, price, found.objectives, found.converged)


def _settle(
    case: Cases,
    judged: Cases,
    frame: Frame,
    rule: TriedRule,
    F: FloatArray,
    f: FloatArray,
    *,
    published: bool,
) -> float:
    """Take of a move what the covered cases bear out, and say which share of it."""
    covered, right = _counts(judged, rule.given, rule.sign)
    for share in (1.0,) if published else _STEPS:
        read = read_rows(
            rule.given, frame, share * F, share * f, case.points, case.encoding.columns.integer
        )
        if not read.changed.any():
            return 0.0
        now = read.premise(rule.given)
        left, kept = _counts(judged, now, rule.sign)
        is_better = 0.0 < covered <= 2.0 * left <= 4.0 * kept and kept * covered > right * left
        if not read.is_void and (published or is_better):
            rule.rows, rule.now, rule.verdict = read, now, "refined"
            return share
    rule.problems.append(
        "as written: refined, no case could satisfy it"
        if published
        else "as written: no part of its refinement keeps half of its cases and is right on a larger share of them"
    )
    return 0.0


def _with_possible_cases(
    problem: AdviceProblem, case: Cases, frame: Frame, rules: list[TriedRule], mu: float
) -> AdviceProblem:
    """Add cases that could exist, each with the class of every rule that covers it, at its share of the weight."""
    counting = [k for k, rule in enumerate(rules) if rule.counts]
    if not counting:
        return problem
    drawn = possible_cases(case)
    covers = np.array([rules[k].now.covers(drawn) for k in counting]).T
    row, which = np.nonzero(covers)
    weight = np.array([rules[k].trust * case.rules[k].weight for k in counting])
    cost = mu * weight[which] / covers.sum(axis=1)[row] / len(drawn)
    sign = np.array([rules[k].sign for k in counting])
    return replace(
        problem,
        X=np.concatenate([problem.X, frame.scaled(drawn[row])]),
        y=np.concatenate([problem.y, sign[which]]),
        cost=np.concatenate([problem.cost, cost]),
    )


def possible_cases(case: Cases) -> FloatArray:
    """Draw rows by their content, and replace each value by that of another row with probability 1/2."""
    rows, number = np.unique(case.points, axis=0, return_inverse=True)
    ends = np.cumsum(np.bincount(number.ravel(), case.weight, len(rows)))
    # All columns of a feature with categories come from one row.
    feature = np.array([source.feature for source in case.encoding.sources])
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return np.minimum(np.searchsorted(ends / ends[-1], rng.random(shape)), len(rows) - 1)

    drawn, others = rows[draw(_DRAWN)], draw(_DRAWN, rows.shape[1])
    is_other = rng.random(others.shape) < 0.5
    mixed = np.where(is_other[:, feature], rows[others[:, feature], np.arange(len(feature))], drawn)
    return np.asarray(mixed)


def _conflict(
    problem: AdviceProblem, rows: list[tuple[FloatArray, FloatArray, BoolArray]]
) -> list[int]:
    """Find rules that contradict each other, none of which could be left out: leave out one after the other."""
    premises, n = problem.premises, problem.X.shape[1]
    chosen = list(range(len(rows)))
    for k in list(chosen):
        rest = [j for j in chosen if j != k]
        part = Premises.stack([rows[j] for j in rest], premises.sign[rest], premises.cost[rest], n)
        try:
            solve_advice(replace(problem, cost=0.0 * problem.cost, premises=part))
        except InfeasibleError:
            chosen = rest
    return chosen
