"""A plane between advice and data that is no worse than either, as far as the data can tell."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from clearmargin.advice.case import AdviceCase, read_case
from clearmargin.advice.centred_svm import centred_path
from clearmargin.advice.check import warn_about
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.advice.reading import Advice
from clearmargin.advice.train import judge_plane
from clearmargin.advice.verdict import judge
from clearmargin.advice.vote import Standard, rule_votes, vote_plane
from clearmargin.models.plane import PlaneClassifier
from clearmargin.progress import Progress, advance, all_or_nothing, task
from clearmargin.rules import RuleSet
from clearmargin.tables.validation import check_positive, check_whole

__all__ = ["AdviceBlendSVC"]

FloatArray = NDArray[np.float64]

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
        kinds, lams = _kinds(votes)
        errors = self._errors(Z, y, weight, votes, seed)
        prior = _prior(kinds, votes, float(weight.sum()) / self.worth)
        share = prior * np.exp(-_RATE * (errors - errors.min()))
        share /= share.sum()
        self.candidates_ = {
            "kind": kinds,
            "lam": lams,
            "errors": errors,
            "prior": prior,
            "weight": share,
        }
        self.trust_ = {
            kind: float(share[kinds == kind].sum()) for kind in ("advice", "between", "data")
        }
        planes = _planes(Z, y, weight, votes)
        # Each in the scale in which its scores on the data have a root mean square of 1.
        scores = Z @ planes[:, :-1].T + planes[:, -1]
        size = np.sqrt(np.average(scores**2, axis=0, weights=weight))
        return np.asarray(share @ (planes / np.maximum(size, 1e-12)[:, None]))

    def _votes(self, case: AdviceCase, standard: Standard, seed: int) -> Votes | None:
        """The planes of the rules' vote: of what they speak of, and with the commoner class where they are silent."""
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
        """No data, or those of one class: nothing to weigh the advice against."""
        self.trust_ = {"advice": float(votes is not None), "between": 0.0, "data": 0.0}
        self.candidates_ = {}
        if votes is not None:
            return np.asarray(votes.planes[0])
        self.trust_["data"] = 1.0
        return np.append(np.zeros(n), y[0] if len(y) else -1.0)

    def _errors(
        self, Z: FloatArray, y: FloatArray, weight: FloatArray, votes: Votes | None, seed: int
    ) -> FloatArray:
        """Mean number of errors of each plane on points it was not trained with; a score of zero is half an error."""
        rounds = self._rounds(Z, y, np.random.default_rng(seed))
        total = np.zeros(len(_kinds(votes)[0]))
        splits = [split for one in rounds for split in one]
        with task("cross-validation", len(splits), show=self.progress):
            for train, test in splits:
                planes = _planes(Z[train], y[train], weight[train], votes)
                score = y[test][:, None] * (Z[test] @ planes[:, :-1].T + planes[:, -1])
                total += weight[test] @ np.where(np.abs(score) <= _ROUNDING, 0.5, score < 0)
                advance()
        return total / len(rounds)

    def _rounds(
        self, Z: FloatArray, y: FloatArray, rng: np.random.Generator
    ) -> list[list[tuple[Any, Any]]]:
        """Rounds of cross-validation, each a list of training and test rows."""
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
    """The fold of each point; each class is spread as evenly as it goes, however rare it is."""
    fold = np.empty(len(y), dtype=np.intp)
    for sign in (-1.0, 1.0):
        places = rng.permutation(np.flatnonzero(y == sign))
        fold[places] = (np.arange(len(places)) + rng.integers(folds)) % folds
    return fold


def _is_mostly_wrong(vote: FloatArray, Z: FloatArray, y: FloatArray, weight: FloatArray) -> bool:
    """Whether the advice is wrong on so many cases more than it is right on that chance is no excuse."""
    lead = weight @ -np.sign(y * (Z @ vote[:-1] + vote[-1]))
    return bool(lead > _EXCUSE)


def _kinds(votes: Votes | None) -> tuple[NDArray[np.str_], FloatArray]:
    """What each plane is, and its cost of a loss; planes of the vote have none."""
    lams = np.array(_LAMS)
    if votes is None:
        return np.full(len(lams), "data"), lams
    count = len(votes.planes)
    kinds = np.repeat(["advice", "between", "data"], [count, len(lams), len(lams)])
    return kinds, np.concatenate([np.zeros(count), lams, lams])


def _prior(kinds: NDArray[np.str_], votes: Votes | None, cases: float) -> FloatArray:
    """The weight of each plane before any error was counted; `cases` in units of what the advice is worth."""
    if votes is None:
        return np.full(len(kinds), 1.0 / len(kinds))
    advice = 1.0 / (1.0 + cases**2)
    rest = (kinds != "advice").sum()
    return np.concatenate([advice * votes.share, np.full(rest, (1.0 - advice) / rest)])


def _planes(Z: FloatArray, y: FloatArray, weight: FloatArray, votes: Votes | None) -> FloatArray:
    """All planes, in the order of `_kinds`."""
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
