"""Rules that name fuzzy sets, one for each support vector to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.fuzzy_antecedents import (
    FREE,
    FuzzyEvidence,
    log_memberships,
    needed_rules,
)
from clearmargin.kernel_rules.baselines.fuzzy_sets import (
    SET_NAMES,
    FuzzyCondition,
    FuzzyPartition,
    FuzzyRule,
)
from clearmargin.kernel_rules.baselines.support_rows import usable_support
from clearmargin.rule_base.base import KernelRules
from clearmargin.rule_base.box_distance import nearest_box
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.validation import check_choice, check_whole

__all__ = ["FuzzyRules"]

# Degrees computed at a time when predicting: 32 MB.
_CHUNK = 1 << 22


class FuzzyRules(KernelRules):
    """Fuzzy rules of a support vector machine (FREx_SVM).

    The range of each column is covered by triangular fuzzy sets ("low", "medium", "high"). Each support vector makes a
    rule: in each column the set to which it belongs most, and its class. Rules with the same sets become one; if
    they say different classes, that of the higher fuzzy accuracy. The class of a case is that of the rule that holds of
    it most, by its degree times its fuzzy accuracy.

    `predict` decides by the fuzzy rules. `rules_` is their crisp reading (each set stands for the interval on which
    it has the largest membership), and `agreement_` says how far the two decide alike.

    Parameters
    ----------
    estimator : classifier, optional
        A support vector machine with any kernel function, bare or in a pipeline; fitted, or trained here. None is
        an `SVC` on standardised columns.
    by : {"model", "labels"}, default "model"
        Whether rules follow what the model says or the labels.
    min_coverage : int, default 1
        Rules whose crisp reading covers fewer training points are left out.
    max_rules : int, optional
        Most rules of each class; those of the highest fuzzy coverage stay.
    fallback : {"nearest", "estimator", "abstain"} or class, default "nearest"
        Who decides where no rule holds to any degree; "nearest" is the rule with the nearest crisp reading.
    n_sets : {3, 5, 7}, default 3
        The number of fuzzy sets of each column.
    conjunction : {"product", "min"}, default "product"
        How the memberships of the conditions become the degree of a rule.
    shorten : bool, default True
        Whether conditions are dropped as long as the fuzzy accuracy of the rule does not fall, and then rules without
        which no more training points are decided wrongly.
    max_conditions : int, optional
        Most conditions of a rule; then those are dropped that cost the least fuzzy accuracy.

    Attributes
    ----------
    fuzzy_rules_ : tuple of FuzzyRule
        The rules, that of the highest fuzzy accuracy first.
    rules_ : RuleSet
        Their crisp reading, in the order of `which`.
    agreement_ : float
        The share of the training points on which the crisp reading decides as the fuzzy rules do.
    partition_ : FuzzyPartition
        The fuzzy sets.
    estimator_, classes_, n_features_in_, feature_names_in_, space_
        As usual.

    References
    ----------
    da Costa Chaves, Vellasco and Tanscheit, HIS 2005; Neural Computing and Applications, 2013.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> from clearmargin.kernel_rules.baselines.fuzzy import FuzzyRules
    >>> X, y = load_wbc(return_X_y=True)
    >>> rules = FuzzyRules(max_conditions=2).fit(X, y)
    >>> print(rules.fuzzy_rules_[6])
    If marginal_adhesion is high, then malignant (fuzzy accuracy 1.00, coverage 0.32)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        by: str = "model",
        min_coverage: int = 1,
        max_rules: int | None = None,
        fallback: Any = "nearest",
        n_sets: int = 3,
        conjunction: str = "product",
        shorten: bool = True,
        max_conditions: int | None = None,
    ):
        self.estimator = estimator
        self.by = by
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.fallback = fallback
        self.n_sets = n_sets
        self.conjunction = conjunction
        self.shorten = shorten
        self.max_conditions = max_conditions

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_sets not in SET_NAMES:
            raise InvalidValueError(
                f"n_sets must be one of {tuple(SET_NAMES)}, not {self.n_sets!r}"
            )
        check_choice("conjunction", self.conjunction, ("product", "min"))
        if self.max_conditions is not None:
            check_whole("max_conditions", self.max_conditions, 1)

    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        support = usable_support(task, X, trained_here=self._trained_here, by=self.by)
        self.partition_ = FuzzyPartition(task.lower, task.upper, self.n_sets)
        logs = log_memberships(self.partition_.memberships(task.points))
        evidence = FuzzyEvidence(logs, task.codes, self.conjunction)
        antecedents = self.partition_.strongest(support.points)
        antecedents[:, ~self.partition_.varies] = FREE
        antecedents, codes = _resolve(evidence, antecedents, support.codes)
        if self.shorten or self.max_conditions is not None:
            most = self.max_conditions
            short = [
                evidence.shortened(a, int(c), most, free=self.shorten)
                for a, c in zip(antecedents, codes, strict=True)
            ]
            antecedents, codes = _resolve(evidence, np.array(short, dtype=np.intp), codes)
        degrees = evidence.degrees(antecedents)
        accuracy = evidence.accuracy(degrees, codes)
        coverage = evidence.coverage(degrees, codes)
        boxes = self._crisp(antecedents)
        full = boxes.masks(task.points).sum(axis=1) >= self.min_coverage
        order = self._order(accuracy, coverage, codes, full & (accuracy > 0))
        if self.shorten:
            scores = degrees[order] + np.log(accuracy[order])[:, None]
            order = order[needed_rules(scores, codes[order], task.codes)]
        self._antecedents, self._fuzzy_codes = antecedents[order], codes[order]
        self._log_accuracy = np.log(accuracy[order])
        self.fuzzy_rules_ = tuple(
            self._rule(task, antecedents[r], int(codes[r]), accuracy[r], coverage[r]) for r in order
        )
        return FoundBoxes.observed(boxes.take(order), codes[order])

    def _order(
        self, accuracy: FloatArray, coverage: FloatArray, codes: IntArray, allowed: BoolArray
    ) -> IntArray:
        """The rules that stay, the surest first."""
        if not allowed.any():
            raise DataError(
                f"no fuzzy rule covers {self.min_coverage} training points in its crisp reading; lower min_coverage"
            )
        order = np.lexsort((-coverage, -accuracy))
        order = order[allowed[order]]
        if self.max_rules is None:
            return order
        stay = np.zeros(len(codes), dtype=np.bool_)
        for code in np.unique(codes):
            members = order[codes[order] == code]
            stay[members[np.argsort(-coverage[members], kind="stable")][: self.max_rules]] = True
        return order[stay[order]]

    def _crisp(self, antecedents: IntArray) -> Boxes:
        """The boxes on which the sets of the rules have the largest memberships."""
        low, high = self.partition_.cores()
        columns = np.arange(antecedents.shape[1])
        free = antecedents == FREE
        lower = np.where(free, -np.inf, low[columns, antecedents])
        return Boxes.from_bounds(lower, np.where(free, np.inf, high[columns, antecedents]))

    def _rule(
        self,
        task: ExtractionTask,
        antecedent: IntArray,
        code: int,
        accuracy: float,
        coverage: float,
    ) -> FuzzyRule:
        peaks = np.pad(
            self.partition_.peaks, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf))
        )
        names = SET_NAMES[self.partition_.n_sets]
        conditions = [
            FuzzyCondition(
                task.encoding.columns.names[j], names[s], *(float(e) for e in peaks[j, s : s + 3])
            )
            for j, s in enumerate(antecedent.tolist())
            if s != FREE
        ]
        return FuzzyRule(tuple(conditions), task.classes[code], float(accuracy), float(coverage))

    def _keep(self, task: ExtractionTask, found: FoundBoxes) -> None:
        super()._keep(task, found)
        fuzzy = self._strongest(task.points)
        inside = self._boxes.masks(task.points)
        crisp = np.where(
            inside.any(axis=0),
            inside.argmax(axis=0),
            nearest_box(task.points, self._boxes, self._reach),
        )
        alike = self._fuzzy_codes[fuzzy] == self._codes[crisp]
        self.agreement_ = float(np.mean(alike & (fuzzy >= 0)))

    def _strongest(self, points: FloatArray) -> IntArray:
        """The fuzzy rule that decides each point, -1 where none holds."""
        which = np.empty(len(points), dtype=np.intp)
        step = max(1, _CHUNK // (len(self._antecedents) + points.shape[1] * self.n_sets))
        for start in range(0, len(points), step):
            some = slice(start, start + step)
            logs = log_memberships(self.partition_.memberships(points[some]))
            evidence = FuzzyEvidence(logs, np.empty(0, dtype=np.intp), self.conjunction)
            scores = evidence.degrees(self._antecedents) + self._log_accuracy[:, None]
            best = scores.argmax(axis=0)
            holds = scores[best, np.arange(scores.shape[1])] > -np.inf
            which[some] = np.where(holds, best, -1)
        return which

    def _decide(self, X: Any) -> tuple[IntArray, IntArray]:
        self.which(X)  # refuses what is no table of these columns
        points = self._encoding.encode(X)
        return self._strongest(points), self._fuzzy_codes

    def _closest(self, points: FloatArray) -> IntArray:
        return nearest_box(points, self._crisp(self._antecedents), self._reach)


def _resolve(
    evidence: FuzzyEvidence, antecedents: IntArray, codes: IntArray
) -> tuple[IntArray, IntArray]:
    """Distinct antecedents, each with the class for which its fuzzy accuracy is highest of those given."""
    rules = np.unique(np.column_stack([antecedents, codes]), axis=0)
    antecedents, codes = rules[:, :-1], rules[:, -1]
    accuracy = evidence.accuracy(evidence.degrees(antecedents), codes)
    _, group = np.unique(antecedents, axis=0, return_inverse=True)
    best = np.lexsort((-accuracy, group.ravel()))
    first = best[np.unique(group.ravel()[best], return_index=True)[1]]
    return antecedents[first], codes[first]
