"""A support vector machine that respects an expert's rules, and refines them where the data say otherwise.

`AdviceSVC` learns with given costs; `AdviceSVCCV` chooses them by cross-validation.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import product
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import rankdata

from clearmargin.advice.advice_check import warn_about
from clearmargin.advice.advice_reading import (
    Advice,
    AdviceCase,
    called,
    read_case,
)
from clearmargin.advice.advice_svm import AdvicePath, data_plane, scaled_costs
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.advice.train import (
    REFINERS,
    Settings,
    Training,
    frame_problem,
    plane_for,
    train,
)
from clearmargin.advice.verdict import judge
from clearmargin.exceptions import ClearmarginWarning, DataError, InvalidValueError
from clearmargin.lp_svm.lpsvccv import trial_weight
from clearmargin.models.plane import PlaneClassifier
from clearmargin.progress import Progress, all_or_nothing, collect
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import FloatArray
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.splitting import Folds, Splitting
from clearmargin.tables.table import read_frame
from clearmargin.tables.validation import check_choice, check_positive, check_whole

__all__ = ["AdviceSVC", "AdviceSVCCV"]


class AdviceSVC(PlaneClassifier):
    """Linear support vector machine with expert rules as constraints.

    Minimises ``||w||_1 + lam * hinge losses + mu * errors of the advice``, where a rule *premise => class* asks for a
    score of at least 1 on the side of its class all over its premise (the knowledge-based SVM of Fung, Mangasarian and
    Shavlik). With `refine`, premises are moved at a price of `nu * mu` for each unit where data and advice disagree
    (Kunapuli, Maclin and Shavlik).

    Parameters
    ----------
    advice : RuleSet, str, path or None
        Rules; their text in the rule language; or a .rules or .json file. A rule's weight multiplies `mu`. Conditions
        on a category need 0/1 columns ``feature_category``, as a OneHotEncoder makes them.
    lam : float, default 1.0
        Cost of a point's hinge loss.
    mu : float, default 1.0
        Cost of a rule's error; infinite for rules that must hold.
    nu : float, mapping from rule name to float, or sequence of float, default 1.0
        Cost of changing a premise, relative to `mu`. Rules move only where it pays: never at large `nu`. By a mapping
        each rule has its own cost; a rule without a name is ``rule 2``, counted from 1, and None stands for all rules
        that the mapping does not name. A sequence has one cost for each rule. A rule of infinite cost stays as it is
        while others move.
    refine : {None, "translate", "slp", "sqp", "trust"}, default None
        How premises are refined: not at all; bounds shift (RRSVM); bounds shift and turn, by alternating linear
        programs or by cone programs (arkSVM); or by joint linear programs in a trust region. None of them moves a rule
        whose features the plane of the data gives no weight, or one that speaks for the rule: no bound of it has to do
        with where the model fails then, and `outcome_` says so.
    scale : {"range", "standard"} or None, default "range"
        Scale of the features inside: to [-1, 1] over the domain, to unit deviation, or as they are. Everything that is
        reported is in the units of the data.
    bounds : {"data"} or None, default "data"
        Premises count within the range of the data, of declared ranges and of the bounds that rules name; or, with
        None, without any bounds, to the letter of the papers.
    groups : sequence of str, mapping, or None
        Categorical features that stand in X as 0/1 columns, of which exactly one is 1: their names, where the columns
        are called ``feature_category``; or a mapping from feature to a mapping from category to column. Worst cases and
        proofs are then about cases with one category of each. Features with categories in the advice need no mention,
        and columns are never taken for categories because they hold 0 and 1.
    sparse : bool, default False
        Whether refined conditions may only speak of the features that their rule already has.
    extend : bool, default False
        Whether rules that are more cautious than the model are widened, in the end, as far as the model agrees with
        them by its full margin.
    start : {"data", "advice"}, default "data"
        Where refinement starts: at the plane of the data alone or, as in the papers, at the machine with the advice
        as it is given, which gives up rules that are wrong by far instead of moving them.
    anchors : bool, default True
        Whether a rule that points of its class speak for keeps the one of them that lies farthest on its side of the
        data's plane (its anchor). Without anchors a rule may be pushed past all its points, if that is cheaper.
    orthogonal : bool, default True
        Whether a condition turns at right angles to itself. Otherwise it may also shrink to a multiple of itself,
        which is the same condition, but cheaper to change.
    published : bool, default False
        Whether to solve exactly the published program: with True `start`, `anchors`, `orthogonal` and `bounds` are
        "advice", False, False and None, whatever they say, and refinement ends before a step that leaves a rule
        without any point, instead of rejecting that rule.
    max_iter : int, default 50
        Most steps of refinement.
    tol : float, default 1e-4
        Refinement stops when two steps lower the objective by less than this share.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights, in the units of the data.
    intercept_ : ndarray of shape (1,)
        Intercept.
    objective_ : float
        Value of the objective, with the price of refinement.
    objectives_ : ndarray
        The objective after each step of refinement, never rising; without refinement the one value.
    n_iter_ : int
        Number of steps; without refinement there is one.
    advice_ : RuleSet
        The advice as it was read.
    refined_ : RuleSet
        The rules that the model was trained with in the end, in the units of the data. Rules whose class the model
        gives everywhere, beyond the range of the data too, are marked as proved.
    outcome_ : AdviceOutcome
        What became of each rule (its verdict) and how it stands: proved, not contradicted by any case but not proved,
        or contradicted by some; print it.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    check_advice : Looks for contradictions before anything is trained.
    AdviceSVCCV : Chooses how much to trust advice and data.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"bmi": [22, 24, 31, 36], "glucose": [90, 130, 100, 150]})
    >>> y = ["well", "well", "well", "ill"]
    >>> model = AdviceSVC("glucose >= 126 and bmi >= 30 => ill", lam=10.0, mu=10.0).fit(X, y)
    >>> model.outcome_.verdicts, model.predict(X).tolist()
    (('kept',), ['well', 'well', 'well', 'ill'])
    """

    _takes_partitions = True

    def __init__(
        self,
        advice: Advice | None = None,
        *,
        lam: float = 1.0,
        mu: float = 1.0,
        nu: Any = 1.0,
        refine: str | None = None,
        scale: str | None = "range",
        bounds: str | None = "data",
        groups: Any = None,
        sparse: bool = False,
        extend: bool = False,
        start: str = "data",
        anchors: bool = True,
        orthogonal: bool = True,
        published: bool = False,
        max_iter: int = 50,
        tol: float = 1e-4,
    ):
        self.advice = advice
        self.lam = lam
        self.mu = mu
        self.nu = nu
        self.refine = refine
        self.scale = scale
        self.bounds = bounds
        self.groups = groups
        self.sparse = sparse
        self.extend = extend
        self.start = start
        self.anchors = anchors
        self.orthogonal = orthogonal
        self.published = published
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane; with no data at all, from the advice alone.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives, optional
            The points; a table in files has its labels with it, and is read in passes. Without `refine` the plane is
            the same to the bit. Of a table of more than 20,000 rows, `refine` moves premises by a sample of that many,
            drawn by row number, and the plane is that of all rows with the premises as they are then; `objectives_` is
            of the sample. What rules cover is counted on all rows.
        y : array-like of shape (m,), optional
            Labels of two classes; of one, where the advice speaks of another.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, as factors of `lam`.

        Returns
        -------
        AdviceSVC
            The fitted classifier.
        """
        self._check_parameters()
        case = read_case(self, X, y, sample_weight).counting()
        training = train(case, Settings.of(self))
        warn_about(case, training.framed, stacklevel=2)
        self._take(case, training)
        return self

    def _take(self, case: AdviceCase, training: Training) -> None:
        self._set_plane(training.w, training.b, case.classes)
        self.objective_ = training.objective
        self.objectives_ = training.objectives
        self.n_iter_ = training.n_iter
        self.advice_ = case.rules
        self.outcome_, self.refined_ = judge(case, training)
        if len(case.rules) and not training.w.any():
            predicted = as_label(self.classes_[int(training.b > 0)])
            warnings.warn(
                f"the plane is constant: every case gets {predicted!r}. Data and advice pull in different directions, "
                "or their costs are too small against the weights; raise lam or mu, or refine the advice",
                ClearmarginWarning,
                stacklevel=3,
            )
        if not training.converged:
            warnings.warn(
                f"refinement was still improving after max_iter={self.max_iter} steps; raise max_iter or tol",
                ClearmarginWarning,
                stacklevel=3,
            )
        if training.emptied:
            names = ", ".join(called(case.rules, i) for i in training.emptied)
            warnings.warn(
                f"refinement ended, as published, before a step that leaves no point in {names}; where it need not "
                "be as published, such rules are set aside and the others go on",
                ClearmarginWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        for name in ("lam", "tol"):
            check_positive(name, getattr(self, name))
        check_choice("start", self.start, ("data", "advice"))
        if self.mu != np.inf:
            check_positive("mu", self.mu)
        if self.refine is not None:
            check_choice("refine", self.refine, REFINERS)
            if self.mu == np.inf:
                raise InvalidValueError(
                    "advice that must hold (mu=inf) cannot be refined; use a finite mu"
                )
        if self.scale is not None:
            check_choice("scale", self.scale, ("range", "standard"))
        if self.bounds is not None:
            check_choice("bounds", self.bounds, ("data",))
        check_whole("max_iter", self.max_iter, 1)

    outcome_: AdviceOutcome
    advice_: RuleSet
    refined_: RuleSet


Costs = tuple[float, float, float]

# Features are scaled to [-1, 1], where half decades are as fine as cross-validation can tell apart.
_LAMS = tuple(10.0 ** np.arange(-2.0, 2.01, 0.5))
_MUS = tuple(10.0 ** np.arange(-2.0, 2.01, 1.0))
# Refinement is slower than estimation by a factor of a hundred, and less sensitive to how much advice counts.
_REFINING = {"lams": tuple(10.0 ** np.arange(-2.0, 2.01, 1.0)), "mus": (0.1, 1.0, 10.0)}
_NUS = (0.1, 1.0)


class AdviceSVCCV(PlaneClassifier):
    r"""Linear support vector machine with advice that chooses `lam`, `mu` and `nu` by cross-validation.

    Parameters
    ----------
    advice : RuleSet, str, path or None
        As for `AdviceSVC`.
    lams, mus, nus : array-like of float, optional
        Values of `lam`, `mu` and (with `refine`) `nu` to try; by default logarithmic grids, coarser with `refine`.
    refine, scale, bounds, groups, sparse, start, anchors, orthogonal, published
        As for `AdviceSVC`.
    cv : int, splitter or iterable, default 5
        Folds by which the costs are chosen; an int means stratified folds, at most as many as the rarer class has
        points. For groups and times, see `fit`.
    n_jobs : int, optional
        Number of folds to work on at the same time.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    lam_, mu_, nu_ : float
        The values chosen: those with the highest mean accuracy; of equal ones those that give most weight to the advice
        and least to single points. Planes that are tried are of at most 20,000 points each.
    folds_ : Folds
        Training and test rows of the search, how they were made, and how many rows occur in both parts of a fold.
    cv_results_ : dict of ndarrays
        Scores by which the values were chosen. They are no estimate for other rows: the highest of many is too high.
        For each combination: `lam`, `mu`, `nu`, `mean_test_score`, `std_test_score`, `rank_test_score` and
        `split<k>_test_score`.
    model_ : AdviceSVC
        The model fitted to all data with the values chosen.
    coef_, intercept_, hyperplane_, objective_, advice_, refined_, outcome_, classes_, n_features_in_, feature_names_in_
        As for `AdviceSVC`.

    See Also
    --------
    AdviceBlendSVC : For few points, where cross-validation cannot tell how much to trust the advice.

    Examples
    --------
    >>> from clearmargin.datasets import load_pima
    >>> X, y = load_pima(return_X_y=True)
    >>> advice = "glucose >= 140 => tested_positive\nglucose <= 110 => tested_negative"
    >>> model = AdviceSVCCV(advice, lams=[0.1, 1.0], mus=[0.1, 1.0, 10.0]).fit(X[:60], y[:60])
    >>> len(model.cv_results_["mean_test_score"]), model.score(X, y) > 0.7
    (6, True)
    """

    def __init__(
        self,
        advice: Advice | None = None,
        *,
        lams: Any = None,
        mus: Any = None,
        nus: Any = None,
        refine: str | None = None,
        scale: str | None = "range",
        bounds: str | None = "data",
        groups: Any = None,
        sparse: bool = False,
        start: str = "data",
        anchors: bool = True,
        orthogonal: bool = True,
        published: bool = False,
        cv: Any = 5,
        n_jobs: int | None = None,
        progress: Progress = "auto",
    ):
        self.advice = advice
        self.lams = lams
        self.mus = mus
        self.nus = nus
        self.refine = refine
        self.scale = scale
        self.bounds = bounds
        self.groups = groups
        self.sparse = sparse
        self.start = start
        self.anchors = anchors
        self.orthogonal = orthogonal
        self.published = published
        self.cv = cv
        self.n_jobs = n_jobs
        self.progress = progress

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Choose the costs and find the plane.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The points. A table in files has its labels with it; of more than 20,000 rows costs are chosen on that many,
            drawn by row number, and the plane is that of all rows.
        y : array-like of shape (m,)
            Labels of two classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, in fits and scores.
        groups : array-like of shape (m,), optional
            Rows with the same value are never in both parts of a fold.
        times : array-like of shape (m,), optional
            Numbers, dates or ISO texts; folds are tested on rows later than those they were trained on.

        Returns
        -------
        AdviceSVCCV
            The fitted classifier.
        """
        if X is None:
            raise DataError("cross-validation needs data; AdviceSVC learns from advice alone")
        grid = self._grid()
        self._model(grid[0])._check_parameters()
        X = X if is_partitions(X) else read_frame(X)
        if is_partitions(X) and not (groups is None and times is None):
            raise DataError(
                "groups and times must be left out where the table is given in partitions; read it into memory"
            )
        case = read_case(self, X, y, sample_weight)
        self.folds_ = self._folds(case, groups, times)
        scores = self._score_folds(case, grid, list(self.folds_.pairs))
        self.cv_results_ = _results(grid, scores)
        # The grid is in the order of preference, so that the first of the best is the one to take.
        self.lam_, self.mu_, self.nu_ = grid[int(np.argmax(scores.mean(axis=1)))]
        self.model_ = self._model((self.lam_, self.mu_, self.nu_)).fit(X, y, sample_weight)
        self._set_plane(
            self.model_.coef_[0], float(self.model_.intercept_[0]), self.model_.classes_
        )
        self.objective_ = self.model_.objective_
        self.advice_, self.refined_ = self.model_.advice_, self.model_.refined_
        self.outcome_ = self.model_.outcome_
        return self

    def _model(self, costs: Costs) -> AdviceSVC:
        lam, mu, nu = costs
        return AdviceSVC(
            self.advice,
            lam=lam,
            mu=mu,
            nu=nu,
            refine=self.refine,
            scale=self.scale,
            bounds=self.bounds,
            groups=self.groups,
            sparse=self.sparse,
            start=self.start,
            anchors=self.anchors,
            orthogonal=self.orthogonal,
            published=self.published,
        )

    def _grid(self) -> list[Costs]:
        """List all combinations: most weight for the advice first, then least for points, then the firmest rules."""
        refines = self.refine is not None and self.advice is not None
        lams = _values("lams", self.lams, _REFINING["lams"] if refines else _LAMS)
        mus = _values("mus", self.mus, _REFINING["mus"] if refines else _MUS)
        if self.advice is None:
            mus = [1.0]
        nus = _values("nus", self.nus, _NUS) if refines else [1.0]
        return [(lam, mu, nu) for mu, lam, nu in product(mus[::-1], lams, nus[::-1])]

    def _folds(self, case: AdviceCase, groups: Any, times: Any) -> Folds:
        signs = case.y > 0
        rarer = int(min(signs.sum(), (~signs).sum()))
        is_number = isinstance(self.cv, int | np.integer) and not isinstance(self.cv, bool)
        if is_number and times is None and rarer < 2:
            raise DataError(
                f"cross-validation needs at least 2 points of each class, and the rarer class has {rarer}; "
                "use AdviceSVC or AdviceBlendSVC"
            )
        return Splitting(self.cv, groups, times).folds(case.points, signs)

    def _score_folds(self, case: AdviceCase, grid: list[Costs], splits: list[Any]) -> FloatArray:
        settings = Settings.of(self._model(grid[0]))
        # Of very many points some are trained on; all of them are tested on.
        codes = (case.y > 0).astype(np.intp)
        trial = trial_weight(case.points, codes, case.weight, [train for train, _ in splits])
        tried = replace(case, weight=trial)
        jobs = (delayed(_score_fold)(case, tried, grid, settings, *split) for split in splits)
        parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        scores = collect(parallel(jobs), "cross-validation", len(splits), show=self.progress)
        return np.array(scores).T

    outcome_: AdviceOutcome
    advice_: RuleSet
    refined_: RuleSet


def _values(name: str, given: Any, default: tuple[float, ...]) -> list[float]:
    if given is None:
        return list(default)
    values = np.unique(np.asarray(given, dtype=np.float64).ravel())
    if not len(values) or not (np.isfinite(values).all() and values[0] > 0):
        raise InvalidValueError(f"{name} must be positive numbers, not {given!r}")
    return [float(value) for value in values]


def _score_fold(
    case: AdviceCase,
    tried: AdviceCase,
    grid: list[Costs],
    settings: Settings,
    train: Any,
    test: Any,
) -> list[float]:
    """Score all combinations on one fold; each plane starts from the one before."""
    part = tried.only(train).counting()
    framed_problem = frame_problem(part, settings, np.array([rule.weight for rule in case.rules]))
    frame = framed_problem.framed.frame
    X, y, weight = frame.scaled(case.points[test]), case.y[test], case.weight[test]
    path = AdvicePath(framed_problem.problem)
    data_only: dict[float, tuple[FloatArray, float]] = {}
    scores = []
    for lam, mu, nu in grid:
        plane = path.solve(lam, mu)
        w, b = plane.w, plane.b
        if settings.refine is not None and len(framed_problem.problem.premises):
            problem = scaled_costs(framed_problem.problem, lam, mu)
            if lam not in data_only and settings.uses_data_plane:
                data_only[lam] = data_plane(problem)
            refined = plane_for(
                problem,
                framed_problem.framed,
                settings,
                plane,
                data_only.get(lam, (w, b)),
                np.full(len(part.rules), nu),
            )
            w, b = refined.plane.w, refined.plane.b
        predicted = np.where(X @ w + b > 0, 1.0, -1.0)
        scores.append(float(weight @ (predicted == y)) / max(float(weight.sum()), 1e-300))
    path.close()
    return scores


def _results(grid: list[Costs], scores: FloatArray) -> dict[str, NDArray[Any]]:
    mean = scores.mean(axis=1)
    lam, mu, nu = np.array(grid).T
    results: dict[str, NDArray[Any]] = {
        "lam": lam,
        "mu": mu,
        "nu": nu,
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
    }
    return results | {f"split{k}_test_score": column for k, column in enumerate(scores.T)}
