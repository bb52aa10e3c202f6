"""The support vector classifier over rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from clearmargin.exceptions import InvalidValueError
from clearmargin.language.rule_source import RuleSource
from clearmargin.points.beside import read_experts
from clearmargin.points.fitting import RuleFit
from clearmargin.points.logistic import probabilities
from clearmargin.points.outcome import RulesOutcome
from clearmargin.points.rows import read_rows
from clearmargin.points.scorecard import Scorecard
from clearmargin.progress import Progress, all_or_nothing
from clearmargin.rule_base.base import check_table
from clearmargin.rule_base.options import Choice, Option, WholeNumber, check_options
from clearmargin.rule_base.training import read_labels
from clearmargin.rules import RuleSet
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.part_survey import TableParts
from clearmargin.tables.sampled_fit import counted_on_all, fits_a_sample
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table, as_header, check_has_columns, read_frame
from clearmargin.tables.table_part import over_parts

if TYPE_CHECKING:
    from clearmargin.points.explanation import PointsExplanation
    from clearmargin.report import Report


class RuleSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classifier over rules of a few conditions: rules with points, and nothing else.

    Each rule is a conjunction of at most `max_conditions` conditions (x <= t, x > t, category = v, value missing) with
    a weight; the weights of the rules that hold for a row are summed, and the sum decides its class. Every row gets a
    class, and there is no other model behind the rules.

    Rules are chosen one at a time among all rules, all weights fitted anew each time (corrective greedy), and
    cross-validation decides how many there are, of how many conditions, and how their weights are fitted; see
    `clearmargin.points.engine`.

    Parameters
    ----------
    max_rules : int, default 15
        Most rules.
    max_conditions : {1, 2, 3}, default 2
        Most conditions of a rule. An interval on one feature is two conditions. Rules of fewer conditions are tried as
        well, and taken where they are better on rows not seen.
    linear : {False, True, "free"}, default False
        Linear terms beside the rules, of standardised columns: True for terms that are chosen and counted like rules,
        "free" for a whole plane that is not counted.
    rules : RuleSet, str or path, optional
        An expert's rules; their text in the rule language; or a .rules or .json file. They need not be right: each may
        only speak for its class, the data decide how much, and `outcome_` says it. Where cases are few, no fit can
        know, and the machine is averaged with the vote of the rules, unless that is wrong more often than right; see
        `clearmargin.points.beside`. All of them have to find room in `max_rules` for that. Two classes only.
    class_weight : mapping from class to weight, "balanced" or None, default None
        Weights of the classes. Settings are chosen by the accuracy with these weights, which is the balanced
        accuracy for "balanced".
    monotone : mapping from feature to {-1, 1}, optional
        Features whose rise must not lower (1), or raise (-1), the score of ``classes_[1]``. Two classes only.
    points : bool, default False
        Whether weights are whole numbers of at most 10.
    cv : int, splitter or iterable of (train, test), default 5
        Folds of the cross-validation, stratified for a number.
    random_state : int, RandomState or None, default None
        Shuffles rows before they are put into folds. With None folds depend on what rows hold, not on their order.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    scorecard_ : Scorecard
        Rules with their weights, as a value; print it.
    rules_ : RuleSet
        The rules, most important first.
    weights_ : ndarray of shape (r,) or (n_classes, r)
        Their weights: towards ``classes_[1]`` with two classes, else towards each class.
    intercept_ : float or ndarray of shape (n_classes,)
        What is added everywhere.
    C_ : float
        The cost of a unit of loss of one row, which was chosen.
    cv_results_ : dict of ndarrays
        What cross-validation tried and scored, in the form of scikit-learn; empty where a class has a single row.
    cv_score_ : float
        The mean accuracy, with class weights, of what was chosen, on rows not seen; as the best of several it is a
        little too high. NaN without folds.
    calibration_ : ndarray of shape (1 or n_classes, 2)
        Slope and offset of the sigmoid from score to probability, fitted to scores of rows not seen.
    vote_share_ : float
        How far the vote of an expert's `rules` is believed beside the machine, from 0 to 1; 0.0 without them.
    outcome_ : RulesOutcome
        What became of each of an expert's `rules`; print it. Empty without them.
    n_rows_, n_sampled_rows_ : int
        How many rows the table has, and how many of them the machine was fitted to: all, or of a table in partitions a
        sample.
    space_ : FeatureSpace
        The features.
    classes_ : ndarray
        The classes; a positive score is for ``classes_[1]``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    ScoreRules : Rules with points, chosen in the same way, that say what any classifier says.
    LPSVC : The same program over features instead of rules.
    AdviceSVC : One plane of cases and rules; for rules that must hold.

    Notes
    -----
    Of more than 5,000 rows, few rules are chosen on a sample of about as many, in which a rare class has 500 rows if it
    can; which rows these are depends on what they hold. Weights are those of all rows.

    A column has at most 32 bins: thresholds lie between neighbouring values, at quantiles where there are more places.
    A condition on a missing value, or on a category that no training row had, is false. Each fold chooses its rules
    from its training rows alone, thresholds apart; since the best setting is taken, `cv_score_` is a little above
    chance on noise. Cross-validation of the whole classifier is not.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = RuleSVC(max_rules=3, points=True).fit(X, y)
    >>> len(svm.rules_) <= 3, svm.score(X, y) > 0.94
    (True, True)
    """

    scorecard_: Scorecard
    outcome_: RulesOutcome
    _reads_tables: ClassVar[bool] = True  # see `Table.taken_by`
    _options: ClassVar[Mapping[str, Option]] = {
        "max_rules": WholeNumber(1),
        "max_conditions": Choice(1, 2, 3),
    }

    def __init__(
        self,
        max_rules: int = 15,
        *,
        max_conditions: int = 2,
        linear: bool | str = False,
        rules: RuleSource | None = None,
        class_weight: Any = None,
        monotone: Mapping[str, int] | None = None,
        points: bool = False,
        cv: Any = 5,
        random_state: Any = None,
        progress: Progress = "auto",
    ):
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.linear = linear
        self.rules = rules
        self.class_weight = class_weight
        self.monotone = monotone
        self.points = points
        self.cv = cv
        self.random_state = random_state
        self.progress = progress

    @all_or_nothing
    @fits_a_sample
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Find rules and their weights.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The table. It may hold categories and missing values. A table in files has its classes with it; of more than
            100,000 rows a sample is taken (`n_sampled_rows_`), and what the rules cover is counted on all rows.
        y : array-like of shape (m,)
            The classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the rows: 2 counts like two equal rows, 0 like none.
        groups : array-like of shape (m,), optional
            Rows with the same value are never in both parts of a fold.
        times : array-like of shape (m,), optional
            Numbers, dates or ISO texts; folds are tested on rows later than those they were trained on.

        Returns
        -------
        RuleSVC
            The fitted classifier.
        """
        self._check_options()
        X = read_frame(X, self)
        labels = read_labels(X, y)
        table = Table.read(X)
        check_has_columns(table.shape)
        validate_data(self, table.given, skip_check_array=True)
        splitting = Splitting(self.cv, groups, times, self._seed())
        rows = read_rows(table, labels, sample_weight, self.class_weight, splitting)
        space, experts = rows.space, None
        if self.rules is not None:
            space, experts = read_experts(self.rules, table, rows)
        fit = RuleFit(
            rows,
            space,
            experts,
            int(self.max_rules),
            int(self.max_conditions),
            self.linear,
            self.monotone,
            self.points,
            self.progress,
        )
        # Products of matrices are small, and threads would only wait for each other.
        with threadpool_limits(1, "blas"):
            fit.run()
        self.classes_, self.space_ = rows.classes, space
        self.scorecard_, self.outcome_ = fit.weighted, fit.outcome
        self.C_, self.cv_score_, self.cv_results_ = fit.setting.C, fit.cv_score, fit.cv_results
        self.calibration_, self.vote_share_ = fit.calibration, fit.vote_share
        return self

    def _count_on_all(self, parts: TableParts) -> None:
        """Count what the rules cover on all rows of a table in partitions."""
        machine = self.scorecard_
        experts = [outcome.rule for outcome in self.outcome_]
        rules = [*machine.rules, *experts]
        known = counted_on_all(RuleSet(rules, machine.space, machine.rules.classes), parts).rules
        counted = RuleSet(known[: len(machine.rules)], machine.space, machine.rules.classes)
        self.scorecard_ = Scorecard(
            counted, machine.weights, machine.intercept, machine.linear, machine.threshold
        )
        points = [outcome.points for outcome in self.outcome_]
        self.outcome_ = RulesOutcome.of(known[len(machine.rules) :], points, machine.space)

    def _check_options(self) -> None:
        check_options(self, self._options)
        if self.linear not in (False, True, "free"):
            raise InvalidValueError(f"linear must be False, True or 'free', not {self.linear!r}")
        if self.points and self.linear:
            raise InvalidValueError(
                "points=True makes whole points of rules, and linear terms are none; use linear=False"
            )

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def rules_(self) -> RuleSet:
        """The rules, most important first."""
        return self.scorecard_.rules

    @property
    def weights_(self) -> FloatArray:
        """The weights of the rules."""
        return self.scorecard_.weights

    @property
    def intercept_(self) -> float | FloatArray:
        """What is added everywhere."""
        intercept = self.scorecard_.intercept
        return float(intercept) if intercept.ndim == 0 else intercept

    # What is asked of a fitted classifier.

    def _read(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        return self.space_.read(X)

    @over_parts
    def decision_function(self, X: Any) -> FloatArray:
        """Give the score of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Positive for ``classes_[1]``; with more than two classes the highest score decides.
        """
        table = self._read(X)
        return self.scorecard_.decision_function(table)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        scores = self.decision_function(X)
        # 0 unless it was read from a file of rules with another threshold.
        limit = self.scorecard_.threshold
        codes = scores.argmax(axis=1) if scores.ndim == 2 else (scores > limit).astype(np.intp)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> FloatArray:
        """Give the probability of each class: a sigmoid of the score, fitted to the scores of rows not seen.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m, n_classes)
            A column for each of `classes_`. With class weights or for a rare class, the class of the highest
            probability may be another one than `predict` gives, which goes by the score.
        """
        scores = self.decision_function(X)
        return probabilities(scores if scores.ndim == 2 else scores[:, None], self.calibration_)

    def covers(self, X: Any) -> BoolArray:
        """Tell for each row and each rule of `rules_` whether the rule covers the row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of bool of shape (m, r)
            One column a rule.
        """
        table = self._read(X)
        return self.rules_.covers(table)

    def which(self, X: Any) -> IntArray:
        """Give for each row the index in `rules_` of the most important rule that covers it, -1 where none does.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of int of shape (m,)
            Indices of rules. One rule does not decide a row: the sum of all that cover it does.
        """
        table = self._read(X)
        return self.rules_.which(table)

    def explain(self, x: Any) -> PointsExplanation:
        """Say which rules hold of a case, what they add up to, and which single changes would flip its class.

        Parameters
        ----------
        x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.

        Returns
        -------
        PointsExplanation
            It reads as text.
        """
        check_is_fitted(self)
        return self.scorecard_.explain(x)

    def to_report(self, X: Any, y: Any = None, **options: Any) -> Report:
        """Make a report of the rules with their points: see `clearmargin.report.report`.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases that everything is counted on.
        y : array-like of shape (m,), optional
            Their classes.
        **options : dict
            As `report` takes them.

        Returns
        -------
        Report
            To be saved as HTML, Markdown or JSON.
        """
        from clearmargin.report import report

        check_is_fitted(self)
        return report(self, X, y, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
