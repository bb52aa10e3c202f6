"""A plane between advice and data that is no worse than either, as far as the data can tell.

**The vote of the rules as a plane**, without any label. Constraints read advice in the worst case: somewhere in the
premise of each rule is a case at which its neighbours disagree, and where rules overlap no plane but zero satisfies
them all. On the average they say more. So reference points are drawn, each column by itself, from the values that it
has in the data, smoothed, with two more values for a column that rules name, beyond their lowest and highest bound, so
that each condition can be true and false. The rules vote on these points, and a plain SVM learns the vote.

**The centred SVM** (`centred_path`) is the 1-norm SVM whose weights are drawn towards those of another plane instead of
towards zero. Variables: weights w (n), intercept b, hinge losses xi (m). Data: points X, signs y, costs c; a centre
(w0, b0)::

    minimise    ||w - w0||_1 + [ |b - b0| ] + sum_j c_j xi_j
    subject to  y_j (x_j'w + b) + xi_j >= 1,    xi >= 0

The term in brackets is there where the intercept is drawn like a weight; it is not in the plain SVM, whose centre is
zero. With small costs the answer is the centre, with large ones the SVM of the data. The dual, with f0 = X w0 + b0 and
signed multipliers alpha_j = y_j a_j::

    maximise    (y - f0)'alpha + constant
    subject to  -1 <= X'alpha <= 1,    -1 <= sum_j alpha_j <= 1  (or = 0),    0 <= y_j alpha_j <= c_j

has the same rows for all costs, so that one model serves a whole path of costs, each solution starting from the one
before.

Tables of whole numbers have many optimal planes, and which of them a solver meets depends on the processor. So the
terms |w_j - w0_j| cost slightly different prices, 1 to 1 + 2e-6, and a free intercept costs a little, too: that leaves
one plane, whose objective is at most 2e-6 of its 1-norm above the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from clearmargin.advice.advice_check import warn_about
from clearmargin.advice.advice_reading import Advice, AdviceCase, read_case
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.advice.train import judge_plane
from clearmargin.advice.verdict import judge
from clearmargin.exceptions import DataError
from clearmargin.lp_svm.lpsvccv import trial_weight
from clearmargin.lp_svm.lpsvm import signed_bounds
from clearmargin.models.plane import PlaneClassifier
from clearmargin.progress import Progress, advance, all_or_nothing, task
from clearmargin.rules import RuleSet
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.solvers import Linear, Program, Session, Variables
from clearmargin.tables.validation import check_positive, check_whole

__all__ = [
    "AdviceBlendSVC",
    "Standard",
    "centred_path",
    "centred_program",
    "rule_votes",
    "vote_plane",
]


# Far above what a solver may leave (1e-9), far below what a table can tell.
_TIE_BREAK = 1e-6
_GOLDEN_RATIO = (1.0 + 5.0**0.5) / 2.0


def _prices(n: int) -> FloatArray:
    """Give prices of the weights and, last, of the intercept, that no two sets of features have in common."""
    steps = np.arange(1, n + 2, dtype=np.float64)
    return np.asarray(_TIE_BREAK * (1.0 + steps * _GOLDEN_RATIO % 1.0))


def centred_program(
    X: FloatArray, y: FloatArray, cost: FloatArray, center: FloatArray, *, penalise_intercept: bool
) -> Program:
    """Build the dual at the head of this file, as a minimisation; the duals of its rows are minus w - w0 and b - b0.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Points.
    y, cost : ndarray of shape (m,)
        Signs and costs.
    center : ndarray of shape (n + 1,)
        w0, and last b0.
    penalise_intercept : bool
        Whether the distance of the intercept costs like that of a weight.

    Returns
    -------
    Program
        A linear program.
    """
    missing = y - (X @ center[:-1] + center[-1])
    prices = _prices(X.shape[1])
    weights, intercept = 1.0 + prices[:-1], float(penalise_intercept) + prices[-1]
    return Program(
        [
            Variables("alpha", len(y), *signed_bounds(y, cost), cost=-missing),
            Linear("weights", {"alpha": X.T}, -weights, weights),
            Linear("balance", {"alpha": 1.0}, -intercept, intercept),
        ]
    )


def centred_path(
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    lams: Sequence[float],
    center: FloatArray | None = None,
) -> FloatArray:
    """Find the planes for some costs.

    Parameters
    ----------
    X : ndarray of shape (m, n)
        Points.
    y : ndarray of shape (m,)
        Their signs; both occur, unless there is a centre.
    weight : ndarray of shape (m,)
        Their weights, positive.
    lams : sequence of float
        Costs of a point of weight 1.
    center : ndarray of shape (n + 1,), optional
        w0 and b0. Without it the plain SVM: the weights are drawn to zero, and the intercept is free.

    Returns
    -------
    ndarray of shape (len(lams), n + 1)
        w and, last, b of each plane.

    Examples
    --------
    >>> X, y = np.array([[0.0], [2.0]]), np.array([-1.0, 1.0])
    >>> centred_path(X, y, np.ones(2), [10.0]).tolist()
    [[1.0, -1.0]]
    >>> centred_path(X, y, np.ones(2), [0.1], center=np.array([0.5, 0.0])).tolist()
    [[0.5, 0.0]]
    """
    start = np.zeros(X.shape[1] + 1) if center is None else center
    program = centred_program(X, y, lams[0] * weight, start, penalise_intercept=center is not None)
    planes = np.empty((len(lams), len(start)))
    with Session(program, method="dual", tol=1e-9) as session:
        for k, lam in enumerate(lams):
            session.set_bounds("alpha", *signed_bounds(y, lam * weight))
            duals = session.solve(explain=False).duals
            planes[k] = start - np.concatenate([duals["weights"], duals["balance"]])
    return planes


# Costs of a point's loss against weights of standardised features, in half decades.
_LAMS = tuple(10.0 ** np.arange(-2.0, 2.01, 0.5))
# Four errors more, out of fold, divide the weight of a plane by e. Less would listen to noise, more to nothing.
_RATE = 0.25
# An expert's rules that are wrong on up to this many cases more than they are right on may be out of luck.
_EXCUSE = 4.0
# With more points one round of cross-validation is as good as several.
_MANY = 1_000
# Scores this close to zero are zero: on a table of whole numbers, many are but for the last bits of a sum.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Votes:
    """Planes of the rules' vote, and how the trust in them is shared.

    Parameters
    ----------
    planes : ndarray of shape (k, n + 1)
        Weights and, last, intercept of each; the first is of what the rules speak of alone.
    share : ndarray of shape (k,)
        Their shares, which add up to 1.
    """

    planes: FloatArray
    share: FloatArray


class AdviceBlendSVC(PlaneClassifier):
    r"""Linear classifier from advice and data that trusts each as far as the data bear it out.

    With few points, a model trained under advice as constraints may be worse than the rules alone, and cross-validation
    cannot tell how much to trust them. This classifier averages planes instead of choosing one: the plane of the rules'
    vote (where they are silent, also with the commoner class), planes that leave it for the data (1-norm SVMs whose
    weights are drawn towards it), and plain 1-norm SVMs.
    Each has a weight: what it is worth beforehand, times ``exp(-errors / 4)`` for its errors in cross-validation.
    Beforehand, the advice is taken to be worth `worth` cases. Advice that is wrong on more cases than it is right on,
    by more than four, is set aside. The average is one plane.

    Parameters
    ----------
    advice : RuleSet, str, path or None
        As for `AdviceSVC`. Rules vote with their weights.
    worth : float, default 50.0
        How many cases the advice is worth: with `m` cases, the vote's plane starts with a share of
        ``1 / (1 + (m / worth)**2)``; what is left goes to the planes between vote and data and to the plain ones.
    groups : sequence of str, mapping, or None
        Categorical features that stand in X as 0/1 columns, as for `AdviceSVC`; for worst cases and proofs.
    cv : int, splitter or iterable, default 5
        Cross-validation; an int means stratified folds.
    repeats : int, default 4
        How often cross-validation with stratified folds is repeated with other folds; once with more than 1,000 points.
    random_state : int, RandomState or None, default 0
        For folds and reference points.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights, in the units of the data.
    intercept_ : ndarray of shape (1,)
        Intercept.
    trust_ : dict
        How the final weight is shared: `advice` (the vote's plane), `between` and `data`.
    is_set_aside_ : bool
        Whether the advice was set aside because it is wrong more often than right.
    candidates_ : dict of ndarrays
        For each plane: `kind`, `lam`, `errors` (mean number of errors out of fold), `prior` and `weight`.
    advice_ : RuleSet
        The advice as it was read.
    outcome_ : AdviceOutcome
        What the plane makes of each rule: kept where it gives its class all over its premise, else ignored.
    refined_ : RuleSet
        The rules, unchanged; those that the plane respects everywhere are marked as proved.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    AdviceSVC : Advice as constraints, with guarantees and refinement.

    Examples
    --------
    >>> from clearmargin.datasets import load_pima
    >>> X, y = load_pima(return_X_y=True)
    >>> advice = "glucose >= 140 => tested_positive\nglucose <= 126 => tested_negative"
    >>> model = AdviceBlendSVC(advice).fit(X[:20], y[:20])
    >>> model.trust_["advice"] > 0.5, model.score(X, y) > 0.7
    (True, True)
    """

    def __init__(
        self,
        advice: Advice | None = None,
        *,
        worth: float = 50.0,
        groups: Any = None,
        cv: Any = 5,
        repeats: int = 4,
        random_state: Any = 0,
        progress: Progress = "auto",
    ):
        self.advice = advice
        self.worth = worth
        self.groups = groups
        self.cv = cv
        self.repeats = repeats
        self.random_state = random_state
        self.progress = progress

    @all_or_nothing
    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane; with no data at all, that of the rules' vote.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), optional
            The points.
        y : array-like of shape (m,), optional
            Labels of two classes; of one, where the advice speaks of another.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, in losses and errors.

        Returns
        -------
        AdviceBlendSVC
            The fitted classifier.
        """
        self._check_parameters()
        case = read_case(self, X, y, sample_weight)
        if case.rows is not None:
            raise DataError(
                f"AdviceBlendSVC is for few points, and the table has {case.rows.n_rows:,} rows in partitions; use "
                "AdviceSVC or AdviceSVCCV"
            )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        standard = Standard.of(case)
        plane = self._blend(case, standard, seed)
        w = plane[:-1] / standard.unit
        self._set_plane(w, float(plane[-1] - w @ standard.center), case.classes)
        self.advice_ = case.rules
        training = judge_plane(case.counting(), self.coef_[0], float(self.intercept_[0]))
        warn_about(case, training.framed, stacklevel=2)
        self.outcome_, self.refined_ = judge(case.counting(), training)
        return self

    def _check_parameters(self) -> None:
        check_positive("worth", self.worth)
        check_whole("repeats", self.repeats, 1)
        if isinstance(self.cv, Real):
            check_whole("cv", self.cv, 2)

    def _blend(self, case: AdviceCase, standard: Standard, seed: int) -> FloatArray:
        Z, y, weight = standard.scaled(case.points), case.y, case.weight
        votes = self._votes(case, standard, seed)
        self.is_set_aside_ = votes is not None and _is_mostly_wrong(votes.planes[0], Z, y, weight)
        if self.is_set_aside_:
            votes = None
        if len(np.unique(y[weight > 0])) < 2:
            return self._without_choice(votes, y[weight > 0], Z.shape[1])
        sources, lams = _sources(votes)
        errors = self._errors(Z, y, weight, votes, seed)
        prior = _prior(sources, votes, float(weight.sum()) / self.worth)
        share = prior * np.exp(-_RATE * (errors - errors.min()))
        share /= share.sum()
        self.candidates_ = {
            "kind": sources,
            "lam": lams,
            "errors": errors,
            "prior": prior,
            "weight": share,
        }
        self.trust_ = {
            kind: float(share[sources == kind].sum()) for kind in ("advice", "between", "data")
        }
        planes = _planes(Z, y, weight, votes)
        # Each in the scale in which its scores on the data have a root mean square of 1.
        scores = Z @ planes[:, :-1].T + planes[:, -1]
        size = np.sqrt(np.average(scores**2, axis=0, weights=weight))
        return np.asarray(share @ (planes / np.maximum(size, 1e-12)[:, None]))

    def _votes(self, case: AdviceCase, standard: Standard, seed: int) -> Votes | None:
        """Find the planes of the rules' vote: of what they speak of, and with the commoner class elsewhere."""
        if not len(case.rules):
            return None
        vote = vote_plane(case, standard, np.random.default_rng(seed))
        if vote is None:
            return None
        decided = rule_votes(case, case.points, silence=False) != 0
        if not case.weight.sum() or decided.all():
            return Votes(vote[None], np.ones(1))
        common = 1.0 if case.weight @ case.y > 0 else -1.0
        filled = vote_plane(case, standard, np.random.default_rng(seed), default=common)
        if filled is None:
            return Votes(vote[None], np.ones(1))
        spoken = float(case.weight @ decided / case.weight.sum())
        return Votes(np.stack([vote, filled]), np.array([spoken, 1.0 - spoken]))

    def _without_choice(self, votes: Votes | None, y: FloatArray, n: int) -> FloatArray:
        """Return the plane where there are no data, or those of one class: nothing to weigh the advice against."""
        self.trust_ = {"advice": float(votes is not None), "between": 0.0, "data": 0.0}
        self.candidates_ = {}
        if votes is not None:
            return np.asarray(votes.planes[0])
        self.trust_["data"] = 1.0
        return np.append(np.zeros(n), y[0] if len(y) else -1.0)

    def _errors(
        self, Z: FloatArray, y: FloatArray, weight: FloatArray, votes: Votes | None, seed: int
    ) -> FloatArray:
        """Average the errors of each plane on points it was not trained with; a score of zero is half an error."""
        rounds = self._rounds(Z, y, np.random.default_rng(seed))
        total = np.zeros(len(_sources(votes)[0]))
        splits = [split for one in rounds for split in one]
        # Of very many points some are trained on; all of them are tested on.
        trial = trial_weight(Z, (y > 0).astype(np.intp), weight, [train for train, _ in splits])
        with task("cross-validation", len(splits), show=self.progress):
            for train, test in splits:
                planes = _planes(Z[train], y[train], trial[train], votes)
                score = y[test][:, None] * (Z[test] @ planes[:, :-1].T + planes[:, -1])
                total += weight[test] @ np.where(np.abs(score) <= _ROUNDING, 0.5, score < 0)
                advance()
        return total / len(rounds)

    def _rounds(
        self, Z: FloatArray, y: FloatArray, rng: np.random.Generator
    ) -> list[list[tuple[Any, Any]]]:
        """Give rounds of cross-validation, each a list of training and test rows."""
        if not isinstance(self.cv, int | np.integer):
            return [list(check_cv(self.cv, y, classifier=True).split(Z, y))]
        folds = [
            _stratified(y, min(int(self.cv), len(y)), rng)
            for _ in range(1 if len(y) > _MANY else int(self.repeats))
        ]
        return [[(fold != k, fold == k) for k in np.unique(fold)] for fold in folds]

    outcome_: AdviceOutcome
    advice_: RuleSet
    refined_: RuleSet


def _stratified(y: FloatArray, folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the fold of each point; each class is spread as evenly as it goes, however rare it is."""
    fold = np.empty(len(y), dtype=np.intp)
    for sign in (-1.0, 1.0):
        places = rng.permutation(np.flatnonzero(y == sign))
        fold[places] = (np.arange(len(places)) + rng.integers(folds)) % folds
    return fold


def _is_mostly_wrong(vote: FloatArray, Z: FloatArray, y: FloatArray, weight: FloatArray) -> bool:
    """Check whether the advice is wrong on so many cases more than it is right on that chance is no excuse."""
    lead = weight @ -np.sign(y * (Z @ vote[:-1] + vote[-1]))
    return bool(lead > _EXCUSE)


def _sources(votes: Votes | None) -> tuple[NDArray[np.str_], FloatArray]:
    """Return what each plane is, and its cost of a loss; planes of the vote have none."""
    lams = np.array(_LAMS)
    if votes is None:
        return np.full(len(lams), "data"), lams
    count = len(votes.planes)
    sources = np.repeat(["advice", "between", "data"], [count, len(lams), len(lams)])
    return sources, np.concatenate([np.zeros(count), lams, lams])


def _prior(sources: NDArray[np.str_], votes: Votes | None, cases: float) -> FloatArray:
    """Return the weight of each plane before any error was counted; `cases` in units of what the advice is worth."""
    if votes is None:
        return np.full(len(sources), 1.0 / len(sources))
    advice = 1.0 / (1.0 + cases**2)
    rest = (sources != "advice").sum()
    return np.concatenate([advice * votes.share, np.full(rest, (1.0 - advice) / rest)])


def _planes(Z: FloatArray, y: FloatArray, weight: FloatArray, votes: Votes | None) -> FloatArray:
    """Return all planes, in the order of `_sources`."""
    counts = weight > 0
    Z, y, weight = Z[counts], y[counts], weight[counts]
    if len(np.unique(y)) < 2:
        constant = np.append(np.zeros(Z.shape[1]), y[0])
        plain = np.tile(constant, (len(_LAMS), 1))
    else:
        plain = centred_path(Z, y, weight, _LAMS)
    if votes is None:
        return plain
    between = centred_path(Z, y, weight, _LAMS, votes.planes[0])
    return np.concatenate([votes.planes, between, plain])


# Enough points that another draw changes about one prediction in a hundred.
_REFERENCES = 2_000
# The advice's plane is scaled so that the scores of reference points have this root mean square: most of them are then
# beyond the margin, as the points of an SVM are.
_ADVICE_RMS = 2.0


@dataclass(frozen=True, slots=True)
class Values:
    """Weighted values of one column, in order; a weight of 2 is the same as the value twice.

    Parameters
    ----------
    x, weight : ndarray
        Values and their weights, positive.
    """

    x: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, x: FloatArray, weight: FloatArray) -> Values:
        """Sort values; those of no weight are left out."""
        order = np.argsort(x, kind="stable")
        order = order[weight[order] > 0]
        return cls(x[order], weight[order])

    def and_also(self, extra: list[float]) -> Values:
        """Add values of weight 1."""
        more = np.array(extra, dtype=np.float64)
        x, weight = np.append(self.x, more), np.append(self.weight, np.ones(len(more)))
        return Values.of(x, weight)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return float(self.weight @ self.x) / self.total

    @property
    def std(self) -> float:
        """Weighted standard deviation; zero where there are no values."""
        if not len(self.x):
            return 0.0
        return float(np.sqrt(self.weight @ (self.x - self.mean) ** 2 / self.total))

    def draw(self, uniform: FloatArray) -> FloatArray:
        """Return the values at some shares of the whole weight."""
        place = np.searchsorted(np.cumsum(self.weight), uniform * self.total, side="right")
        return self.x[np.minimum(place, len(self.x) - 1)]


@dataclass(frozen=True, slots=True)
class Standard:
    """The values that each column is taken to have, with their mean and deviation.

    Parameters
    ----------
    values : tuple of Values
        For each column, the values of the data and those that the advice brings in.
    binary : ndarray of bool of shape (n,)
        Which columns have no values but 0 and 1.
    groups : tuple of tuple of int
        Columns of which exactly one is 1.
    center, unit : ndarray of shape (n,)
        Mean and deviation in the data, or of the values where the data do not vary.
    """

    values: tuple[Values, ...]
    binary: BoolArray
    groups: tuple[tuple[int, ...], ...]
    center: FloatArray
    unit: FloatArray

    @classmethod
    def of(cls, case: AdviceCase) -> Standard:
        """Collect the values of data and advice."""
        X, n = case.points, len(case.columns.names)
        groups = tuple(tuple(group.values()) for group in case.columns.groups.values())
        grouped = {j for group in groups for j in group}
        bounds = _named_bounds(case)
        values, center, unit = [], np.zeros(n), np.ones(n)
        binary = np.zeros(n, dtype=np.bool_)
        for j in range(n):
            met = Values.of(X[:, j], case.weight)
            binary[j] = j in grouped or (
                met.total > 0
                and ((met.x == 0) | (met.x == 1)).all()
                and all(0 <= t <= 1 for t in bounds[j])
            )
            extra = [0.0, 1.0] if binary[j] else _beyond(bounds[j], met)
            values.append(met.and_also(extra))
            spread = met if met.std > 0 else values[j]
            if spread.total:
                center[j], unit[j] = spread.mean, spread.std or 1.0
        return cls(tuple(values), binary, groups, center, unit)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Scale points to zero mean and unit deviation."""
        return np.asarray((X - self.center) / self.unit)

    def draw(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points, each column by itself, from its smoothed values; a group takes one category for each point."""
        drawn = np.empty((count, len(self.values)))
        for j, values in enumerate(self.values):
            if not values.total:
                drawn[:, j] = 0.0
                continue
            picked = values.draw(rng.random(count))
            if not self.binary[j]:
                # Silverman's rate; the deviation stays what it was.
                h = values.total**-0.2
                noise = h * values.std * rng.standard_normal(count)
                picked = values.mean + (picked - values.mean + noise) / np.sqrt(1.0 + h * h)
            drawn[:, j] = picked
        for group in self.groups:
            share = np.array([self.values[j].mean for j in group])
            chosen = rng.choice(len(group), count, p=share / share.sum())
            drawn[:, list(group)] = np.arange(len(group)) == chosen[:, None]
        return drawn


def _named_bounds(case: AdviceCase) -> list[list[float]]:
    """Return for each column the bounds that rules name and declare."""
    bounds: list[list[float]] = [[] for _ in case.columns.names]
    for premise in case.premises:
        for row, limit in zip(
            premise.D[premise.numeric_rows], premise.d[premise.numeric_rows], strict=True
        ):
            used = np.flatnonzero(row)
            if len(used) == 1:
                bounds[used[0]].append(float(limit / row[used[0]]))
    return bounds


def _beyond(bounds: list[float], met: Values) -> list[float]:
    """Find two values around the bounds that rules name."""
    if not bounds:
        return []
    low, high = min(bounds), max(bounds)
    step = met.std or (high - low) or 0.25 * abs(low) or 1.0
    return [low - step, high + step]


def rule_votes(case: AdviceCase, X: FloatArray, *, silence: bool = True) -> FloatArray:
    """Add up the votes of the rules for each row, each with its weight and the sign of its class.

    Parameters
    ----------
    case : AdviceCase
        The advice.
    X : ndarray of shape (m, n)
        Rows.
    silence : bool, default True
        Whether, where all rules speak for the same class, rows that none covers are votes for the other.

    Returns
    -------
    ndarray of shape (m,)
        Positive for the second class; zero where no rule speaks or they cancel.
    """
    votes = np.zeros(len(X))
    spoken = np.zeros(len(X), dtype=np.bool_)
    for premise, sign, rule in zip(case.premises, case.sign, case.rules, strict=True):
        covered = premise.covers(X)
        votes[covered] += sign * rule.weight
        spoken |= covered
    if silence and len(case.sign) and (case.sign == case.sign[0]).all():
        votes[~spoken] = -case.sign[0]
    return votes


def vote_plane(
    case: AdviceCase, standard: Standard, rng: np.random.Generator, default: float = 0.0
) -> FloatArray | None:
    """Find the plane that says, on the average, what the rules vote.

    Parameters
    ----------
    case : AdviceCase
        The advice; labels are not looked at.
    standard : Standard
        The values of each column.
    rng : Generator
        For the reference points.
    default : float, default 0.0
        The sign of the class of points for which the rules have no verdict; with 0 these are left out.

    Returns
    -------
    ndarray of shape (n + 1,) or None
        Weights in the standard scale and, last, the intercept; None where the rules never vote for one of the classes
        or their vote has nothing to do with any plane.
    """
    points = standard.draw(rng, _REFERENCES)
    votes = np.sign(rule_votes(case, points))
    votes[votes == 0] = default
    decided = votes != 0
    used = np.zeros(points.shape[1], dtype=np.bool_)
    for premise in case.premises:
        used |= (premise.D != 0).any(axis=0)
    for group in standard.groups:
        used[list(group)] = True
    if len(np.unique(votes[decided])) < 2:
        return None
    Z = standard.scaled(points)[np.ix_(decided, used)]
    found = centred_path(Z, votes[decided], np.ones(len(Z)), [1.0])[0]
    if not np.abs(found[:-1]).max(initial=0.0) > 1e-9:
        return None
    scores = Z @ found[:-1] + found[-1]
    plane = np.zeros(points.shape[1] + 1)
    plane[np.append(used, True)] = found * (_ADVICE_RMS / np.sqrt(np.mean(scores**2)))
    return plane
