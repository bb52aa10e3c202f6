"""A support vector machine that respects an expert's rules, and refines them where the data say otherwise."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from clearmargin.advice.advice_check import warn_about
from clearmargin.advice.advice_reading import Advice
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.advice.train import REFINERS, AdviceCase, Training, read_case, train
from clearmargin.advice.verdict import judge
from clearmargin.exceptions import ClearmarginWarning, InvalidValueError
from clearmargin.models.plane import PlaneClassifier
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.tables.validation import check_choice, check_positive, check_whole

__all__ = ["AdviceSVC"]


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
    nu : float, default 1.0
        Cost of changing a premise, relative to `mu`. Rules move only where it pays: never at large `nu`.
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
    published : bool, default False
        Whether to refine as published. By default refinement differs from the papers in three points: it starts from
        the plane of the data alone; a rule that points of its class speak for keeps the one of them that lies farthest
        on its side (its anchor); and a condition turns at right angles to itself, so that it cannot shrink to a cheap
        multiple of itself. With True it starts from the advice as given and has no such limits; together with
        ``bounds=None`` that is the program of the papers to the letter. Rules that are wrong by far are then given up
        instead of moved.
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

    def __init__(
        self,
        advice: Advice | None = None,
        *,
        lam: float = 1.0,
        mu: float = 1.0,
        nu: float = 1.0,
        refine: str | None = None,
        scale: str | None = "range",
        bounds: str | None = "data",
        groups: Any = None,
        sparse: bool = False,
        extend: bool = False,
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
        self.published = published
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane; with no data at all, from the advice alone.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), optional
            The points.
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
        training = train(case, self)
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

    def _check_parameters(self) -> None:
        for name in ("lam", "nu", "tol"):
            check_positive(name, getattr(self, name))
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
