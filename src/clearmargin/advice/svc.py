"""A support vector machine that respects an expert's rules, and refines them where the data say otherwise."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.advice.advice_check import warn_about
from clearmargin.advice.cases import read_cases
from clearmargin.advice.outcome import AdviceOutcome
from clearmargin.advice.refine import METHODS
from clearmargin.advice.train import AUTO_MU, train
from clearmargin.advice.verdict import judge
from clearmargin.exceptions import ClearmarginWarning, InvalidValueError
from clearmargin.language.rule_source import RuleSource
from clearmargin.models.decision import Decision, read_coefficients, register_reader
from clearmargin.models.flow import Flow
from clearmargin.models.plane import PlaneClassifier
from clearmargin.models.plane_model import read_encoded
from clearmargin.progress import all_or_nothing
from clearmargin.rule_base.base import check_table
from clearmargin.rules import RuleSet
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import FloatArray
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.sampled_fit import counted_on_all, fits_a_sample
from clearmargin.tables.table import as_header, read_frame
from clearmargin.tables.table_part import over_parts
from clearmargin.tables.validation import check_choice, check_finite, check_positive, check_whole


class AdviceSVC(PlaneClassifier):
    """Linear support vector machine with expert rules.

    Minimises ``||w||_1 + lam * hinge losses + errors of the rules``, where a rule *premise => class* asks for a score
    of at least 1 on the side of its class. With `refine`, premises are changed where data and rules disagree.

    Parameters
    ----------
    advice : RuleSet, str, path or None
        Rules; their text in the rule language; or a .rules or .json file. A rule's weight multiplies `mu`.
    lam : float, default 1.0
        Cost of a point's hinge loss.
    mu : float or "auto", default "auto"
        With ``where="cases"``, how many cases all rules together count as; "auto" is 30. With ``where="everywhere"``,
        the cost of each rule's error; "auto" is 1, infinite is for rules that must hold, beyond the ranges of the data,
        too, where a premise lies there.
    nu : float, default 1.0
        Cost of changing a premise, relative to that of the error of a rule. Rules move only where it pays.
    refine : {None, "translate", "slp", "sqp"}, default None
        How premises are refined: not at all; bounds shift (RRSVM); bounds shift and turn, by alternating linear
        programs or by cone programs (arkSVM). Of a move the whole, 3/4, 1/2 or 1/4 is taken: as much as keeps half of
        the cases that the rule covers and makes it right on a larger share of them, and on at least half; if nothing
        does, the rule stays as written, and `outcome_` says so. From 150 cases on, a third of them has no part in
        refining a rule and judges it, where it covers ten of these.
    where : {"cases", "everywhere"}, default "cases"
        Where a rule has to hold: on average over cases that could exist in its premise, as far as the training cases
        bear the rule out (its trust); or, as published (Fung, Mangasarian and Shavlik; Kunapuli, Maclin and Shavlik),
        all over its premise, for rules that must hold. Refined rules are then what the published program makes of them.
    bounds : {"data"} or None, default "data"
        With ``where="everywhere"`` premises count within the range of the data, of declared ranges and of the bounds
        that rules name; or, with None, without any bounds, to the letter of the papers.
    max_iter : int, default 50
        Most steps of refinement.
    tol : float, default 1e-4
        Refinement stops when two steps lower the objective by less than this share.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns)
        Weights of the encoded columns, in the units of the data: one a number, one a category.
    encoding_ : Encoding
        How a table is read as these columns; `encoding_.space` has the features.
    intercept_ : ndarray of shape (1,)
        Intercept.
    objective_ : float
        Value of the objective; with ``where="everywhere"`` with the price of refinement.
    objectives_ : ndarray
        The objective of refinement after each step, never rising; without refinement the one value.
    n_iter_ : int
        Number of steps; without refinement there is one.
    advice_ : RuleSet
        The advice as it was read.
    refined_ : RuleSet
        The rules that the model was trained with in the end, in the units of the data. Rules whose class the model
        gives everywhere, beyond the range of the data too, are marked as proved.
    outcome_ : AdviceOutcome
        What became of each rule (its verdict), how far the cases bear it out (its trust), and whether the model gives
        its class everywhere in its premise: proved, or a counterexample. Its `problem` names a constant plane.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    check_advice : Looks for contradictions before anything is trained.
    RuleSVC : Rules that may be wrong, weighed against rules found in the data.

    Notes
    -----
    Of a table of more than 20,000 rows the program has a sample of that many, drawn by their values, in which each
    class weighs what all of its rows do; refinement has 2,000. What rules cover is counted on all rows.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"bmi": [22, 24, 31, 36], "glucose": [90, 130, 100, 150]})
    >>> y = ["well", "well", "well", "ill"]
    >>> model = AdviceSVC("glucose >= 126 and bmi >= 30 => ill").fit(X, y)
    >>> model.outcome_.verdicts, model.predict(X).tolist()
    (('unchanged',), ['well', 'well', 'well', 'ill'])
    """

    _most_sampled_rows = 20_000

    def __init__(
        self,
        advice: RuleSource | None = None,
        *,
        lam: float = 1.0,
        mu: float | str = "auto",
        nu: float = 1.0,
        refine: str | None = None,
        where: str = "cases",
        bounds: str | None = "data",
        max_iter: int = 50,
        tol: float = 1e-4,
    ):
        self.advice = advice
        self.lam = lam
        self.mu = mu
        self.nu = nu
        self.refine = refine
        self.where = where
        self.bounds = bounds
        self.max_iter = max_iter
        self.tol = tol

    @all_or_nothing
    @fits_a_sample
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The cases. It may hold categories, and missing values, which count as medians and most frequent categories.
            A table in files has its labels with it, and is fitted to a sample.
        y : array-like of shape (m,)
            Labels of two classes; of one, where the advice speaks of another.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, as factors of `lam`.

        Returns
        -------
        AdviceSVC
            The fitted classifier.
        """
        self._check_parameters()
        case = read_cases(self, X, y, sample_weight)
        training = train(case, self)
        self._set_plane(training.w, training.b, case.classes)
        self.objective_, self.objectives_ = training.objective, training.objectives
        self.n_iter_ = max(1, len(training.objectives) - 1)
        self.encoding_, self.advice_ = case.encoding, case.given
        self.outcome_, self.refined_ = judge(case, training)
        # `all_or_nothing` and `fits_a_sample` are between fit and its caller.
        warn_about(case, self.outcome_.verdicts, stacklevel=4)
        if self.outcome_.problem:
            warnings.warn(self.outcome_.problem, ClearmarginWarning, stacklevel=4)
        if not training.converged:
            warnings.warn(
                f"refinement was still improving after max_iter={self.max_iter} steps; raise max_iter or tol",
                ClearmarginWarning,
                stacklevel=4,
            )
        return self

    def _check_parameters(self) -> None:
        for name in ("lam", "nu", "tol"):
            check_positive(name, getattr(self, name))
        check_choice("where", self.where, tuple(AUTO_MU))
        if isinstance(self.mu, str):
            check_choice("mu", self.mu, ("auto",))
        elif self.mu != np.inf:
            check_positive("mu", self.mu)
        elif self.where == "cases":
            raise InvalidValueError(
                "rules that must hold (mu=inf) have to hold everywhere: set where='everywhere', or a finite mu"
            )
        if self.refine is not None:
            check_choice("refine", self.refine, METHODS)
            if self.mu == np.inf:
                raise InvalidValueError(
                    "advice that must hold (mu=inf) cannot be refined; use a finite mu"
                )
        if self.bounds is not None:
            check_choice("bounds", self.bounds, ("data",))
        check_whole("max_iter", self.max_iter, 1)

    outcome_: AdviceOutcome
    advice_: RuleSet
    refined_: RuleSet

    @over_parts
    def decision_function(self, X: Any) -> FloatArray:
        """Give f(x) = w'x + b for each row; positive values mean `classes_[1]`.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The rows. A category that was not met in training counts as none.

        Returns
        -------
        ndarray of shape (m,)
            Signed scores.
        """
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        values = self.encoding_.read(X)
        check_finite(values, self, X)
        points = self.encoding_.spread(values)
        return linear_scores(points, self.coef_[0], float(self.intercept_[0]))

    def _count_on_all(self, parts: TableParts) -> None:
        """Count what rules cover on all rows of a table in partitions."""
        self.advice_ = counted_on_all(self.advice_, parts, self)
        given = RuleSet(
            [each.after for each in self.outcome_], self.refined_.space, self.refined_.classes
        )
        after = counted_on_all(given, parts, self)
        rules = tuple(
            replace(
                each,
                before=replace(each.before, stats=before.stats),
                after=replace(each.after, stats=now.stats),
            )
            for each, before, now in zip(self.outcome_, self.advice_, after, strict=True)
        )
        self.outcome_ = AdviceOutcome(rules, self.outcome_.problem)
        kept = [rule.after for rule in rules if rule.verdict in ("unchanged", "refined")]
        self.refined_ = RuleSet(kept, self.refined_.space, self.refined_.classes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


@register_reader(AdviceSVC)
def _(estimator: AdviceSVC, flow: Flow) -> Decision:
    """Say to `RuleExtractor` how the model decides: by numbers that steps before it may have scaled, or by a table."""
    space = estimator.encoding_.space
    is_plain = not any(space.categories) and all(value is None for value in space.fill)
    return read_coefficients(estimator, flow) if is_plain else read_encoded(estimator, flow)
