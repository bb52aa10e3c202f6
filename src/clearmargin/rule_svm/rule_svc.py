"""The support vector classifier over rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from clearmargin.exceptions import (
    ClearmarginWarning,
    DataError,
    InvalidValueError,
    UncertifiedWarning,
)
from clearmargin.language.rule_source import RuleSource
from clearmargin.progress import Progress, all_or_nothing
from clearmargin.rule_base.base import check_table
from clearmargin.rule_base.options import Choice, Option, PositiveNumber, WholeNumber, check_options
from clearmargin.rule_base.training import read_labels
from clearmargin.rule_svm.all_rules import USUAL_MULTIPLE, choose_cost, cost_grid
from clearmargin.rule_svm.calibration import calibrate, probabilities
from clearmargin.rule_svm.choice import Choice as Chosen
from clearmargin.rule_svm.choice import Setting, choose_setting, settings_up_to
from clearmargin.rule_svm.conditions import Conditions
from clearmargin.rule_svm.expert_vote import blended, vote_share
from clearmargin.rule_svm.extra_terms import LinearColumns
from clearmargin.rule_svm.fitted_terms import (
    FittedTerms,
    as_points,
    rule_covers,
    shortened,
    weighted_rules,
)
from clearmargin.rule_svm.outcome import RulesOutcome
from clearmargin.rule_svm.part_rows import read_part_rows, weighing_rows
from clearmargin.rule_svm.refit import LOSSES
from clearmargin.rule_svm.rule_lp import RuleLPSolution
from clearmargin.rule_svm.rule_task import RuleTask, read_directions, read_experts
from clearmargin.rule_svm.selection import Column
from clearmargin.rule_svm.training_rows import TrainingRows, read_rows
from clearmargin.rule_svm.weighted_rules import WeightedRules
from clearmargin.rules import RuleSet
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.part_survey import MappedTable, TableParts
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.splitting import Splitting
from clearmargin.tables.table import Table, as_header, check_has_columns, read_frame

if TYPE_CHECKING:
    from clearmargin.report import Report
    from clearmargin.rule_svm.points_explanation import PointsExplanation

__all__ = ["RuleSVC"]

# Work that the certificate of few rules may take: nothing that is predicted depends on it.
_CERTIFICATE_WORK = 10.0
# The cost of a unit of loss where there are too few rows for folds.
_USUAL_C = 0.25


class RuleSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Support vector classifier over all rules of a few conditions: rules with points, and nothing else.

    Each rule is a conjunction of at most `max_conditions` conditions (x <= t, x > t, category = v, value missing) with
    a weight; the weights of the rules that hold for a row are summed, and the sum decides its class. Every row gets a
    class, and there is no other model behind the rules.

    Over *all* rules the 1-norm support vector machine is a linear program, solved by exact column generation: with
    ``max_rules=None`` that is the machine, and `gap_` certifies it. With a number of rules, they are chosen one at a
    time among all rules, all weights fitted anew each time (corrective greedy), and cross-validation decides how many
    there are, of how many conditions, and how their weights are fitted; see `clearmargin.rule_svm.selection`.

    Parameters
    ----------
    max_rules : int or None, default 15
        Most rules; None for the optimum of the linear program.
    max_conditions : {1, 2, 3}, default 2
        Most conditions of a rule. An interval on one feature is two conditions. With a number of rules, those of fewer
        conditions are tried as well, and taken where they are better on rows not seen. With 3, a `penalty` of 0.1
        helps.
    C : float, optional
        Cost of a unit of loss of one row. By default chosen by cross-validation.
    penalty : float, default 0.0
        What each condition after the first adds to the price 1 of a rule.
    max_bins : int, default 32
        Most bins of a column: thresholds lie between neighbouring values, at quantiles where there are more places.
    linear : {False, True, "free"}, default False
        Linear terms beside the rules, of standardised columns: True for terms that are chosen and counted like rules,
        "free" for a whole plane that is not counted.
    rules : RuleSet, str or path, optional
        An expert's rules; their text in the rule language; or a .rules or .json file. They need not be right: each may
        only speak for its class, the data decide how much, and `outcome_` says it. Where cases are few, no fit can
        know, and the machine is averaged with the vote of the rules, unless that is wrong more often than right; see
        `clearmargin.rule_svm.expert_vote`. All of them have to find room in `max_rules` for that. Two classes only.
    rule_price : float, default 0.1
        Price of a unit of weight of an expert's rule, from 0.01 to 1; other rules cost 1.
    class_weight : mapping from class to weight, "balanced" or None, default None
        Factors of C for each class. Settings are chosen by the accuracy with these weights, which is the balanced
        accuracy for "balanced".
    monotone : mapping from feature to {-1, 1}, optional
        Features whose rise must not lower (1), or raise (-1), the score of ``classes_[1]``. Two classes only.
    loss : {"logistic", "squared_hinge", "hinge", "auto"}, default "logistic"
        The loss by which the weights of few rules are fitted; "auto" chooses among the three by cross-validation, which
        takes longer; the squared hinge brought nothing on tables for tuning. The machine over all rules has the hinge
        loss.
    points : bool, default False
        Whether weights are whole numbers of at most 10.
    cv : int, splitter or iterable of (train, test), default 5
        Folds of the cross-validation, stratified for a number.
    certify : bool, default True
        Whether the linear program over all rules is solved where `max_rules` is a number, for `gap_` and `cap_cost_`.
    tol : float, default 1e-6
        Relative gap of the linear program to reach.
    time_limit : float, optional
        Seconds that a linear program may take; `gap_` says what was reached, and depends on the machine that it runs
        on. By default there is no limit.
    max_work : float, optional
        Work that a linear program may take, in units of about a second. Steps are counted, so that `gap_` depends
        neither on the processor nor on what else runs on it. By default there is no limit where the program is the
        machine or `time_limit` is given, and otherwise 10 where it certifies a machine of few rules.
    random_state : int, RandomState or None, default None
        Shuffles rows before they are put into folds. With None folds depend on what rows hold, not on their order.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    weighted_rules_ : WeightedRules
        Rules with their weights, as a value; print it.
    rules_ : RuleSet
        The rules, most important first.
    weights_ : ndarray of shape (r,) or (n_classes, r)
        Their weights: towards ``classes_[1]`` with two classes, else towards each class.
    intercept_ : float or ndarray of shape (n_classes,)
        What is added everywhere.
    C_ : float
        The cost at which the linear program was solved: `C`; or chosen with ``max_rules=None``; or else ten times the
        smallest cost at which a rule enters.
    objective_ : float
        Value of the linear program: prices times magnitudes of weights, plus C times hinge losses; added up over the
        scores of several classes. The price of a rule is ``1 + penalty * (conditions - 1)``.
    gap_ : float
        Certified relative gap of the linear program over all rules at `C_`: no weights of any rules have an objective
        below ``(1 - gap_) * objective_``. The largest one of several classes.
    cap_cost_ : float
        What `max_rules` costs: by which share the best objective over `rules_` exceeds the certified bound over all
        rules, at `C_`; 0.0 with ``max_rules=None``, NaN where work or time ran out.
    loss_ : {"hinge", "logistic", "squared_hinge"}
        The loss by which the weights were fitted; "hinge" is the linear program.
    refit_C_ : float
        The cost of a unit of that loss of an average row.
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
    n_iter_ : int
        How many linear programs were solved for the certificate.
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
    ScoreRules : A scorecard of single features that imitates any classifier.
    LPSVC : The same program over features instead of rules.
    AdviceSVC : For rules that must hold, and for rules without data.

    Notes
    -----
    Of more than 5,000 rows, few rules are chosen on a sample of about as many, in which a rare class has 500 rows if it
    can; which rows these are depends on what they hold. Weights and certificate are those of all rows.

    A condition on a missing value, or on a category that no training row had, is false. Each fold chooses its rules
    from its training rows alone, thresholds apart; since the best setting is taken, `cv_score_` is a little above
    chance on noise. Cross-validation of the whole classifier is not.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> svm = RuleSVC(max_rules=3, points=True).fit(X, y)
    >>> len(svm.rules_) <= 3, svm.score(X, y) > 0.94, svm.gap_ <= 1e-6
    (True, True, True)
    """

    weighted_rules_: WeightedRules
    outcome_: RulesOutcome
    _reads_tables: ClassVar[bool] = True  # see `Table.taken_by`
    _options: ClassVar[Mapping[str, Option]] = {
        "max_rules": WholeNumber(1, optional=True),
        "max_conditions": Choice(1, 2, 3),
        "C": PositiveNumber(optional=True),
        "max_bins": WholeNumber(2),
        "loss": Choice(*LOSSES, "auto"),
        "tol": PositiveNumber(),
        "time_limit": PositiveNumber(optional=True),
        "max_work": PositiveNumber(optional=True),
    }

    def __init__(
        self,
        max_rules: int | None = 15,
        *,
        max_conditions: int = 2,
        C: float | None = None,
        penalty: float = 0.0,
        max_bins: int = 32,
        linear: bool | str = False,
        rules: RuleSource | None = None,
        rule_price: float = 0.1,
        class_weight: Any = None,
        monotone: Mapping[str, int] | None = None,
        loss: str = "logistic",
        points: bool = False,
        cv: Any = 5,
        certify: bool = True,
        tol: float = 1e-6,
        time_limit: float | None = None,
        max_work: float | None = None,
        random_state: Any = None,
        progress: Progress = "auto",
    ):
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.C = C
        self.penalty = penalty
        self.max_bins = max_bins
        self.linear = linear
        self.rules = rules
        self.rule_price = rule_price
        self.class_weight = class_weight
        self.monotone = monotone
        self.loss = loss
        self.points = points
        self.cv = cv
        self.certify = certify
        self.tol = tol
        self.time_limit = time_limit
        self.max_work = max_work
        self.random_state = random_state
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
        """Find rules and their weights.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The table. It may hold categories and missing values. A table in files has its classes with it; the machine
            is that of all its rows where at most 100,000 of them are different, else that of a sample of about as
            many, and `n_sampled_rows_` says so. What its rules cover is counted on all rows.
        y : array-like of shape (m,)
            The classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the rows, as factors of C: 2 counts like two equal rows, 0 like none.
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
        if is_partitions(X):
            return self._fit_parts(X, (y, sample_weight, groups, times))
        X = read_frame(X, self)
        labels = read_labels(X, y)
        table = Table.read(X)
        check_has_columns(table.shape)
        validate_data(self, table.given, skip_check_array=True)
        splitting = Splitting(self.cv, groups, times, self._seed())
        rows = read_rows(table, labels, sample_weight, self.class_weight, splitting)
        self.n_rows_ = self.n_sampled_rows_ = len(table)
        self._fit_rows(rows)
        return self

    def _fit_parts(self, parts: TableParts, beside: tuple[Any, ...]) -> Self:
        """Fit to rows of a table in partitions, and count on all of them what the rules cover."""
        if any(each is not None for each in beside):
            raise DataError(
                "a table in partitions has its classes and weights with it: leave out y, sample_weight, groups and "
                "times"
            )
        drawn = read_part_rows(parts)
        validate_data(self, parts.header, skip_check_array=True)
        splitting = Splitting(self.cv, None, None, self._seed())
        self._fit_rows(
            read_rows(drawn.table, drawn.labels, drawn.weight, self.class_weight, splitting)
        )
        self.n_rows_, self.n_sampled_rows_ = parts.survey().n_rows, drawn.n_rows
        self._count_again(parts)
        return self

    def _count_again(self, parts: TableParts) -> None:
        """Count what the rules cover on all rows of a table in partitions."""
        weigh = parts
        if parts.weight is not None:
            weigh = MappedTable(parts, weighing_rows, (parts.weight,), parts.names)
        machine = self.weighted_rules_
        experts = [outcome.rule for outcome in self.outcome_]
        rules = [*machine.rules, *experts]
        if not rules:
            return
        counts = RuleSet(rules, machine.space, machine.rules.classes).score(weigh).rules
        known = [replace(rule, stats=stats) for rule, stats in zip(rules, counts, strict=True)]
        counted = RuleSet(known[: len(machine.rules)], machine.space, machine.rules.classes)
        self.weighted_rules_ = WeightedRules(
            counted, machine.weights, machine.intercept, machine.linear, machine.threshold
        )
        points = [outcome.points for outcome in self.outcome_]
        self.outcome_ = RulesOutcome.of(known[len(machine.rules) :], points, machine.space)

    def _fit_rows(self, rows: TrainingRows) -> None:
        task = self._task(rows)
        self.classes_ = rows.classes
        self.space_ = task.conditions.space
        # Products of matrices are small, and threads would only wait for each other.
        with threadpool_limits(1, "blas"):
            terms, scores = self._fit_all(task) if self.max_rules is None else self._fit_few(task)
            self._keep(task, terms, scores)

    def _check_options(self) -> None:
        check_options(self, self._options)
        if isinstance(self.penalty, bool) or not 0.0 <= float(self.penalty) < math.inf:
            raise InvalidValueError(f"penalty must be a number from 0, not {self.penalty!r}")
        if not 0.01 <= float(self.rule_price) <= 1.0:
            raise InvalidValueError(
                f"rule_price must be a number from 0.01 to 1, not {self.rule_price!r}"
            )
        if self.linear not in (False, True, "free"):
            raise InvalidValueError(f"linear must be False, True or 'free', not {self.linear!r}")
        if self.points and self.linear:
            raise InvalidValueError(
                "points=True makes whole points of rules, and linear terms are none; use linear=False"
            )
        if self.points and self.max_rules is None:
            raise InvalidValueError(
                "points=True is for a card of few rules; give max_rules a number instead of None"
            )

    def _seed(self) -> int | None:
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return None if self.random_state is None else int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _task(self, rows: TrainingRows) -> RuleTask:
        space, experts = read_experts(self.rules, rows, float(self.rule_price))
        linear = None
        if self.linear:
            is_free = self.linear == "free"
            linear = LinearColumns.of_table(space, rows.values, rows.weight, is_free=is_free)
        return RuleTask(
            rows,
            Conditions.of_table(space, rows.values, int(self.max_bins)),
            linear,
            experts,
            read_directions(self.monotone, space, len(rows.classes)),
            int(self.max_conditions),
            float(self.penalty),
            self.max_rules,
        )

    # A few rules.

    def _fit_few(self, task: RuleTask) -> tuple[FittedTerms, FloatArray | None]:
        """Choose rules; give the weights, and the scores of rows not seen."""
        setting, scores, with_experts = self._choose(task)
        problem = task.problem(with_experts=with_experts)
        self.vote_share_, most = 0.0, setting.n_columns
        if task.has_vote and task.experts is not None and self.max_rules is not None:
            self.vote_share_ = vote_share(task.rows, task.experts, self.cv_score_)
            if self.vote_share_ and not with_experts:
                most = min(most, self.max_rules - len(task.experts.rules))
        sample = task.sample()
        chosen = problem.take(sample.rows, sample.weight).select(most, setting.max_conditions)
        weights = problem.fit(problem.columns(chosen), setting.loss, setting.C)
        self.loss_, self.refit_C_ = setting.loss, setting.C
        if not chosen and not task.linear and not weights[:, 1:].any():
            warnings.warn(
                "no rule tells the classes apart: all conditions hold for the same rows, or for fewer than three; the "
                "most frequent class is predicted everywhere",
                ClearmarginWarning,
                stacklevel=4,
            )
        self._certify(task, chosen)
        terms = task.few_terms(chosen, weights, with_experts=with_experts)
        if task.experts is not None:
            held = rule_covers(terms.items, task.conditions, task.rows.values, task.experts)
            terms, scores = blended(
                terms, self.vote_share_, task.rows, task.experts, task.linear, held, scores
            )
        return shortened(terms), scores

    def _choose(self, task: RuleTask) -> tuple[Setting, FloatArray | None, bool]:
        """Choose the number of rules, loss and cost, and whether an expert's rules take part."""
        C = None if self.C is None else float(self.C) * task.mean_weight
        losses = LOSSES if self.loss == "auto" else (self.loss,)
        self.cv_results_: dict[str, Any] = {}
        self.cv_score_ = math.nan
        if not task.rows.folds:
            most = task.most_columns(with_experts=True)
            setting = Setting(most, losses[0], C or _USUAL_C, task.max_conditions)
            return setting, None, task.experts is not None
        found, with_experts = self._best(task, losses, C)
        self.cv_results_ = results = found.results
        is_chosen = (
            (results["n_rules"] == found.setting.n_columns)
            & (results["loss"] == found.setting.loss)
            & (results["C"] == found.setting.C)
            & (results["max_conditions"] == found.setting.max_conditions)
        )
        self.cv_score_ = float(results["mean_test_score"][np.argmax(is_chosen)])
        scores = np.full((len(task.rows.values), found.scores.shape[1]), np.nan)
        scores[task.sample().rows] = found.scores
        return found.setting, scores, with_experts

    def _best(self, task: RuleTask, losses: Sequence[str], C: float | None) -> tuple[Chosen, bool]:
        """Give the best setting, and whether an expert's rules take part in it."""
        best: tuple[Chosen, bool] | None = None
        sample = task.sample()
        for with_experts in (False,) if task.experts is None else (True, False):
            has_base = self.linear == "free" or (with_experts and task.has_vote)
            most = task.most_columns(with_experts=with_experts)
            settings = settings_up_to(
                most, losses, C, task.max_conditions, least=0 if has_base else 1
            )
            problem = task.problem(with_experts=with_experts).take(sample.rows, sample.weight)
            found = choose_setting(problem, settings, sample.folds, self.progress)
            if best is None or found.merit > best[0].merit:
                best = found, with_experts
        assert best is not None
        return best

    def _certify(self, task: RuleTask, chosen: list[Column]) -> None:
        """Solve the linear program over all rules, and compare the best machine over chosen rules with it."""
        self.C_ = self.objective_ = self.gap_ = self.cap_cost_ = math.nan
        self.n_iter_ = 0
        if not self.certify:
            return
        is_limited = self.max_work is not None or self.time_limit is not None
        work = self.max_work if is_limited else _CERTIFICATE_WORK
        programs = task.programs(float(self.tol), self.time_limit, work)
        if self.C is None:
            smallest = programs.smallest_cost(task.sample())
            self.C_ = (
                USUAL_MULTIPLE * smallest if math.isfinite(smallest) else 1.0 / task.mean_weight
            )
        else:
            self.C_ = float(self.C)
        solutions = programs.solve(self.C_)
        self._note(solutions)
        bounds = np.array([solution.bound for solution in solutions])
        self.cap_cost_ = programs.cap_cost(chosen, self.C_, bounds)

    def _note(self, solutions: list[RuleLPSolution]) -> None:
        self.objective_ = float(sum(solution.objective for solution in solutions))
        self.gap_ = float(max(solution.gap for solution in solutions))
        self.n_iter_ = sum(solution.rounds for solution in solutions)
        # Of few rules the certificate is beside the point: nothing that is predicted depends on it.
        if self.gap_ > self.tol and self.max_rules is None:
            limit = "max_work" if self.time_limit is None else "time_limit"
            warnings.warn(
                f"the certified gap of the linear program over all rules is {self.gap_:.1e}, more than the "
                f"{self.tol:g} asked for (tol); raise {limit}, or lower C",
                UncertifiedWarning,
                stacklevel=5,
            )

    # All rules.

    def _fit_all(self, task: RuleTask) -> tuple[FittedTerms, FloatArray | None]:
        """Solve the linear program; give the weights, and the scores of rows not seen."""
        self.vote_share_ = 0.0
        programs = task.programs(float(self.tol), self.time_limit, self.max_work)
        costs = cost_grid(programs) if self.C is None else [float(self.C)]
        self.cv_results_, self.cv_score_ = {}, math.nan
        scores = None
        self.C_ = costs[-1] if costs else 1.0 / task.mean_weight
        if task.rows.folds and costs:
            found = choose_cost(programs, costs, task.rows.folds, self.progress)
            self.C_, scores, self.cv_results_ = found.C, found.scores, found.results
            self.cv_score_ = float(found.results["mean_test_score"].max())
        solutions = programs.solve(self.C_)
        self.loss_, self.refit_C_, self.cap_cost_ = "hinge", self.C_ * task.mean_weight, 0.0
        self._note(solutions)
        return task.all_terms(solutions), scores

    # What is kept.

    def _keep(self, task: RuleTask, terms: FittedTerms, scores: FloatArray | None) -> None:
        rows = task.rows
        held = rule_covers(terms.items, task.conditions, rows.values, task.experts)
        factor, before = 1.0, terms.intercept
        if self.points:
            terms, factor = as_points(terms, held, rows)
        self.weighted_rules_ = weighted_rules(
            terms, task.conditions, held, rows, task.experts, task.linear
        )
        K = len(terms.intercept)
        if scores is None:
            self.calibration_ = np.tile([1.0, 0.0], (K, 1))
        else:
            self.calibration_ = calibrate(scores, rows.signs, rows.sample_weight)
        # Points are weights times a factor, and another intercept: f = (points - shift) / factor.
        shift = terms.intercept - factor * before
        slope = self.calibration_[:, 0] / factor
        self.calibration_ = np.column_stack([slope, self.calibration_[:, 1] - slope * shift])
        experts = () if task.experts is None else task.experts.rules
        believed = np.abs(terms.experts[0]) if len(experts) else np.empty(0)
        self.outcome_ = RulesOutcome.of(experts, believed.tolist(), task.conditions.space)

    @property
    def rules_(self) -> RuleSet:
        """The rules, most important first."""
        return self.weighted_rules_.rules

    @property
    def weights_(self) -> FloatArray:
        """The weights of the rules."""
        return self.weighted_rules_.weights

    @property
    def intercept_(self) -> float | FloatArray:
        """What is added everywhere."""
        intercept = self.weighted_rules_.intercept
        return float(intercept) if intercept.ndim == 0 else intercept

    # What is asked of a fitted classifier.

    def _read(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        return self.space_.read(X)

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
        return self.weighted_rules_.decision_function(table)

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
        limit = self.weighted_rules_.threshold
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
        return self.weighted_rules_.explain(x)

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
