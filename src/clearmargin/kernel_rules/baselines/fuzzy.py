"""Fuzzy rules (FREx_SVM): rules that name fuzzy sets, one for each support vector to begin with.

Source: da Costa Chaves, Vellasco and Tanscheit, "Fuzzy rule extraction from support vector machines", HIS 2005. A
rule i names one fuzzy set in some of the columns. It holds of x to the degree mu_i(x), the product (or the least) of
the memberships. For class k,

    fuzzy accuracy  sum_{x of class k} mu_i(x) / sum_x mu_i(x)
    fuzzy coverage  sum_{x of class k} mu_i(x) / (number of points of class k)

A product over many columns gets smaller than any float, so degrees are kept as logarithms.

Beyond the paper: a rule of as many conditions as there are columns is hard to read and covers little. Conditions are
dropped one by one, always the one without which the fuzzy accuracy is highest, while it does not fall. Then rules go
without which no more points are decided wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.kernel_rules.baselines.support_rows import usable_support
from clearmargin.kernel_rules.box_extractor import BoxExtractor
from clearmargin.rule_base.box_distance import nearest_box
from clearmargin.rule_base.box_rules import ExtractionTask, FoundBoxes, choose_boxes, count_budget
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.options import Choice, Option, WholeNumber
from clearmargin.rules.boxes import Boxes
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, Value, as_points, float_array

__all__ = [
    "FREE",
    "SET_NAMES",
    "FuzzyCondition",
    "FuzzyEvidence",
    "FuzzyPartition",
    "FuzzyRule",
    "FuzzyRules",
    "log_memberships",
    "needed_rules",
]


# Degrees computed at a time when predicting: 32 MB.
_CHUNK = 1 << 22


SET_NAMES = {
    3: ("low", "medium", "high"),
    5: ("very low", "low", "medium", "high", "very high"),
    7: ("very low", "low", "rather low", "medium", "rather high", "high", "very high"),
}


class FuzzyRules(BoxExtractor):
    """Fuzzy rules of a support vector machine (FREx_SVM).

    The range of each column is covered by triangular fuzzy sets ("low", "medium", "high"). Each support vector makes a
    rule: in each column the set to which it belongs most, and its class. Rules with the same sets become one; if
    they predict different classes, that of the higher fuzzy accuracy. The class of a case is that of the rule that
    holds of it most, by its degree times its fuzzy accuracy.

    `predict` decides by the fuzzy rules. `rules_` is their crisp reading (each set stands for the interval on which
    it has the largest membership), and `agreement_` says how far the two decide alike.

    Parameters
    ----------
    estimator : classifier, optional
        A support vector machine with any kernel function, bare or in a pipeline; fitted, or trained here. None is
        an `SVC` on standardised columns.
    by : {"model", "labels"}, default "model"
        Whether rules follow what the model predicts or the labels.
    min_coverage : int or "auto", default "auto"
        Rules that cover fewer training points are dropped; with "auto" those whose share of their class cannot be told
        from that among all rows, by an exact test at 5 % (5 rows of a class with half of all rows, 29 of one with nine
        in ten). A class all of whose rules lack that keeps one.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
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
    budget_ : RuleBudget
        What the rules cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
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

    _options: ClassVar[Mapping[str, Option]] = {
        **BoxExtractor._options,
        "n_sets": Choice(*SET_NAMES),
        "conjunction": Choice("product", "min"),
        "max_conditions": WholeNumber(1, optional=True),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        by: str = "model",
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
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
        order = np.lexsort((-coverage, -accuracy))
        order = order[self._are_full(task, boxes, codes)[order] & (accuracy[order] > 0)]
        if not len(order):
            raise DataError(
                f"no fuzzy rule covers {self.min_coverage} training points in its crisp reading; lower min_coverage"
            )
        if self.shorten:
            scores = degrees[order] + np.log(accuracy[order])[:, None]
            order = order[needed_rules(scores, codes[order], task.codes)]
        order = order[self._within_budget(task, boxes.take(order), codes[order])]
        self._antecedents, self._fuzzy_codes = antecedents[order], codes[order]
        self._log_accuracy = np.log(accuracy[order])
        self.fuzzy_rules_ = tuple(
            self._rule(task, antecedents[r], int(codes[r]), accuracy[r], coverage[r]) for r in order
        )
        return FoundBoxes.observed(boxes.take(order), codes[order])

    def _within_budget(self, task: ExtractionTask, boxes: Boxes, codes: IntArray) -> IntArray:
        """Choose the rules that stay, by what their crisp readings cover."""
        covers = boxes.masks(task.points)
        enough, chosen = choose_boxes(task, covers, codes, boxes.n_conditions, 1, self.max_rules)
        self._fuzzy_budget = count_budget(covers, enough, chosen, self.max_rules)
        return np.flatnonzero(chosen)

    def _are_full(self, task: ExtractionTask, boxes: Boxes, codes: IntArray) -> BoolArray:
        """Tell which rules cover enough training points in their crisp readings."""
        covers = boxes.masks(task.points)
        return choose_boxes(task, covers, codes, boxes.n_conditions, self.min_coverage, None)[0]

    def _crisp(self, antecedents: IntArray) -> Boxes:
        """Return the boxes on which the sets of the rules have the largest memberships."""
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
        self.budget_ = self._fuzzy_budget  # rules were chosen before they became boxes
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
        """Return the fuzzy rule that decides each point, -1 where none holds."""
        which = np.empty(len(points), dtype=np.intp)
        step = max(1, _CHUNK // (len(self._antecedents) + points.shape[1] * self.n_sets))
        for start in range(0, len(points), step):
            chunk = slice(start, start + step)
            logs = log_memberships(self.partition_.memberships(points[chunk]))
            evidence = FuzzyEvidence(logs, np.empty(0, dtype=np.intp), self.conjunction)
            scores = evidence.degrees(self._antecedents) + self._log_accuracy[:, None]
            best = scores.argmax(axis=0)
            holds = scores[best, np.arange(scores.shape[1])] > -np.inf
            which[chunk] = np.where(holds, best, -1)
        return which

    def _check_explained_by_rules(self) -> None:
        raise InvalidValueError(
            "FuzzyRules predicts by fuzzy_rules_, which the boxes of rules_ only come close to, so that no box "
            "explains a case; kind='grown' explains what the model predicts, or read fuzzy_rules_"
        )

    def _deciders(self, X: Any) -> tuple[IntArray, IntArray]:
        self.which(X)  # refuses what is no table of these columns
        points = self._encoding.encode(X)
        return self._strongest(points), self._fuzzy_codes

    def _closest(self, points: FloatArray) -> IntArray:
        return nearest_box(points, self._crisp(self._antecedents), self._reach)


def _resolve(
    evidence: FuzzyEvidence, antecedents: IntArray, codes: IntArray
) -> tuple[IntArray, IntArray]:
    """Give distinct antecedents, each with the class for which its fuzzy accuracy is highest of those given."""
    rules = np.unique(np.column_stack([antecedents, codes]), axis=0)
    antecedents, codes = rules[:, :-1], rules[:, -1]
    accuracy = evidence.accuracy(evidence.degrees(antecedents), codes)
    _, group = np.unique(antecedents, axis=0, return_inverse=True)
    best = np.lexsort((-accuracy, group.ravel()))
    first = best[np.unique(group.ravel()[best], return_index=True)[1]]
    return antecedents[first], codes[first]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class FuzzyPartition(Value):
    """Triangular fuzzy sets with equidistant peaks over the range of each column.

    A set has membership 1 at its peak and 0 from the next peaks on, so the memberships of a value sum to 1. Beyond the
    range the outermost sets stay at 1. A constant column cannot be cut: its sets are all at the same place and the
    first has membership 1 everywhere.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        The range of each column, finite.
    n_sets : {3, 5, 7}
        The number of sets of each.

    Examples
    --------
    >>> thirds = FuzzyPartition([0.0], [10.0], 3)
    >>> thirds.memberships([[0.0], [2.0], [6.0], [12.0]])[0].round(6).tolist()
    [[1.0, 0.6, 0.0, 0.0], [0.0, 0.4, 0.8, 0.0], [0.0, 0.0, 0.2, 1.0]]
    >>> thirds.strongest([[2.0], [6.0]]).ravel().tolist()
    [0, 1]
    """

    lower: FloatArray
    upper: FloatArray
    n_sets: int

    def __init__(self, lower: ArrayLike, upper: ArrayLike, n_sets: int):
        low = float_array(lower, "lower ends of ranges")
        high = float_array(upper, "upper ends of ranges", shape=low.shape)
        if low.ndim != 1 or not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
            raise InvalidValueError(
                "each range of a fuzzy partition needs finite ends, the lower one first"
            )
        if n_sets not in SET_NAMES:
            raise InvalidValueError(f"n_sets must be one of {tuple(SET_NAMES)}, not {n_sets!r}")
        self._set(lower=low, upper=high, n_sets=int(n_sets))

    @property
    def varies(self) -> BoolArray:
        """Which columns have a range at all."""
        return np.asarray(self.upper > self.lower)

    @property
    def peaks(self) -> FloatArray:
        """Where each set has membership 1, an array of shape (n, n_sets)."""
        return np.linspace(self.lower, self.upper, self.n_sets, axis=1)

    def _places(self, points: ArrayLike) -> FloatArray:
        """Give values in steps from peak to peak: 0 at the first peak, 1 at the second."""
        P = as_points(points, len(self.lower))
        reach = np.where(self.varies, self.upper - self.lower, 1.0)
        shares = np.where(self.varies, (P - self.lower) / reach, np.where(np.isnan(P), np.nan, 0.0))
        return np.asarray(np.clip(shares, 0.0, 1.0) * (self.n_sets - 1))

    def memberships(self, points: ArrayLike) -> FloatArray:
        """Give the membership of each value in each set of its column.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points.

        Returns
        -------
        ndarray of shape (n, n_sets, m)
            Memberships from 0 to 1; NaN for a value that is not known.
        """
        places = self._places(points).T[:, None]
        sets = np.arange(self.n_sets)[None, :, None]
        return np.asarray(np.maximum(1.0 - np.abs(places - sets), 0.0))

    def strongest(self, points: ArrayLike) -> IntArray:
        """Give the set of largest membership for each value, the lower one half-way between two.

        Parameters
        ----------
        points : array-like of shape (m, n)
            The points, all known.

        Returns
        -------
        ndarray of int of shape (m, n)
            Positions of sets.
        """
        return np.asarray(np.ceil(self._places(points) - 0.5), dtype=np.intp)

    def cores(self) -> tuple[FloatArray, FloatArray]:
        """Give the interval on which each set has the largest membership: its crisp reading.

        Returns
        -------
        lower, upper : ndarray of shape (n, n_sets)
            Half-way between peaks; infinite for the outermost sets. A value half-way belongs to both.
        """
        peaks = self.peaks
        middles = peaks[:, :-1] / 2 + peaks[:, 1:] / 2
        ends = np.full((len(peaks), 1), np.inf)
        return np.hstack([-ends, middles]), np.hstack([middles, ends])


@dataclass(frozen=True, slots=True)
class FuzzyCondition:
    """A feature is in one of its fuzzy sets.

    Parameters
    ----------
    feature : str
        Name of the column.
    name : str
        Name of the set, as "low".
    left, peak, right : float
        Where membership begins, is 1, and ends; infinite on the side on which it stays 1.

    Examples
    --------
    >>> print(FuzzyCondition("age", "high", 50.0, 80.0, float("inf")))
    age is high
    """

    feature: str
    name: str
    left: float
    peak: float
    right: float

    def __str__(self) -> str:
        return f"{self.feature} is {self.name}"


@dataclass(frozen=True, slots=True)
class FuzzyRule:
    """If features are in fuzzy sets, then a class, with what speaks for it on the training points.

    Parameters
    ----------
    conditions : tuple of FuzzyCondition
        All of them have to hold; none for a rule that always holds.
    label : str, int, float or bool
        The class.
    accuracy : float
        The share of the degrees to which it holds that falls on points of its class.
    coverage : float
        The mean degree to which it holds on points of its class.

    Examples
    --------
    >>> old = FuzzyCondition("age", "high", 50.0, 80.0, float("inf"))
    >>> print(FuzzyRule((old,), "ill", 0.875, 0.25))
    If age is high, then ill (fuzzy accuracy 0.88, coverage 0.25)
    """

    conditions: tuple[FuzzyCondition, ...]
    label: Label
    accuracy: float
    coverage: float

    def __str__(self) -> str:
        premise = " and ".join(map(str, self.conditions))
        figures = f"(fuzzy accuracy {self.accuracy:.2f}, coverage {self.coverage:.2f})"
        return (
            f"If {premise}, then {self.label} {figures}"
            if premise
            else f"Always {self.label} {figures}"
        )


# A column of which a rule says nothing.
FREE = -1
# Logarithm of a membership of 0: finite, so that a condition can be taken out of a sum again.
_NEVER = -1e6
# Degrees below are 0: some condition does not hold at all. Products of ten thousand
# positive memberships stay above: none is below 1e-17.
_ZERO = -5e5
# What rounding may take from an accuracy.
_DUST = 1e-12


def log_memberships(memberships: FloatArray) -> FloatArray:
    """Give logarithms of memberships that can be added and subtracted.

    Parameters
    ----------
    memberships : ndarray
        From 0 to 1.

    Returns
    -------
    ndarray
        Logarithms; a large negative number for 0.

    Examples
    --------
    >>> log_memberships(np.array([0.0, 1.0]))
    array([-1000000.,        0.])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(memberships), _NEVER))


@dataclass(frozen=True, slots=True, eq=False)
class FuzzyEvidence:
    """What speaks for fuzzy rules on points of known classes.

    Parameters
    ----------
    logs : ndarray of shape (n, n_sets, m)
        Logarithms of memberships, `log_memberships`.
    codes : ndarray of int of shape (m,)
        The class of each point.
    conjunction : {"product", "min"}
        How memberships become a degree.

    Examples
    --------
    >>> logs = log_memberships(np.array([[[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]]]))
    >>> evidence = FuzzyEvidence(logs, np.array([0, 0, 1]), "product")
    >>> evidence.accuracy(evidence.degrees(np.array([[1]])), np.array([1]))
    array([0.66666667])
    """

    logs: FloatArray
    codes: IntArray
    conjunction: str

    def degrees(self, antecedents: IntArray) -> FloatArray:
        """Compute logarithms of the degree to which each rule holds of each point.

        Parameters
        ----------
        antecedents : ndarray of int of shape (r, n)
            The set of each column, -1 where a rule says nothing.

        Returns
        -------
        ndarray of shape (r, m)
            Logarithms, -inf where a rule does not hold at all.
        """
        total = np.zeros((len(antecedents), self.logs.shape[2]))
        for j, table in enumerate(self.logs):
            constrained = np.flatnonzero(antecedents[:, j] != FREE)
            chosen = table[antecedents[constrained, j]]
            if self.conjunction == "product":
                total[constrained] += chosen
            else:
                total[constrained] = np.minimum(total[constrained], chosen)
        return _clean(total)

    def accuracy(self, degrees: FloatArray, codes: IntArray) -> FloatArray:
        """Compute the fuzzy accuracy of rules for the class of each.

        Parameters
        ----------
        degrees : ndarray of shape (r, m)
            Logarithms of degrees.
        codes : ndarray of int of shape (r,)
            The class of each rule.

        Returns
        -------
        ndarray of shape (r,)
            From 0 to 1; 0 for a rule that holds nowhere.
        """
        return self._ratio(degrees, self.codes == codes[:, None])

    def coverage(self, degrees: FloatArray, codes: IntArray) -> FloatArray:
        """Compute the fuzzy coverage of rules: the mean degree on points of the class; parameters as for `accuracy`."""
        same_class = self.codes == codes[:, None]
        total = np.where(same_class, np.exp(degrees), 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(same_class.sum(axis=1), 1))

    def _ratio(self, degrees: FloatArray, same_class: BoolArray) -> FloatArray:
        top = degrees.max(axis=1, keepdims=True)
        weights = np.exp(degrees - np.where(np.isfinite(top), top, 0.0))
        total = weights.sum(axis=1)
        return np.asarray((weights * same_class).sum(axis=1) / np.where(total > 0, total, 1.0))

    def shortened(
        self, antecedent: IntArray, code: int, most: int | None, *, free: bool = True
    ) -> IntArray:
        """Drop conditions of a rule that its fuzzy accuracy does not need.

        Parameters
        ----------
        antecedent : ndarray of int of shape (n,)
            The set of each column.
        code : int
            The class.
        most : int or None
            If more conditions are left, those go, too, that cost the least accuracy.
        free : bool, default True
            Whether conditions that cost nothing go; otherwise only those beyond `most` do.

        Returns
        -------
        ndarray of int of shape (n,)
            The antecedent with -1 in place of what went.
        """
        short = antecedent.copy()
        used = np.flatnonzero(short != FREE)
        table = self.logs[used, short[used]]
        same_class = self.codes == code
        best = float(self._ratio(_clean(self._joined(table))[None], same_class[None])[0])
        while len(used):
            without = self._ratio(_clean(self._without_each(table)), same_class[None])
            j = int(np.argmax(without))
            needless = free and without[j] >= best - _DUST
            if not needless and (most is None or len(used) <= most):
                break
            best = float(without[j])
            short[used[j]] = FREE
            used, table = np.delete(used, j), np.delete(table, j, axis=0)
        return short

    def _joined(self, table: FloatArray) -> FloatArray:
        if self.conjunction == "product":
            return np.asarray(table.sum(axis=0))
        return np.asarray(table.min(axis=0, initial=0.0))

    def _without_each(self, table: FloatArray) -> FloatArray:
        """Return the degree of a rule without its first condition, without its second, ..."""
        if self.conjunction == "product":
            return np.asarray(table.sum(axis=0) - table)
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])
        least, second = np.partition(padded, 1, axis=0)[:2]
        without = np.repeat(least[None], len(table), axis=0)
        at = table.argmin(axis=0)
        without[at, np.arange(table.shape[1])] = second
        return without


def needed_rules(scores: FloatArray, rule_codes: IntArray, codes: IntArray) -> IntArray:
    """Choose rules without which points would be decided worse; of points the rule of the highest score decides.

    The rules are looked at from the last to the first. One goes when no more of the points that it decides are
    wrong, or decided by nobody, without it.

    Parameters
    ----------
    scores : ndarray of shape (r, m)
        Scores, -inf where a rule does not hold.
    rule_codes : ndarray of int of shape (r,)
        The class of each rule.
    codes : ndarray of int of shape (m,)
        The class of each point.

    Returns
    -------
    ndarray of int
        The rules that stay, in ascending order; at least one.

    Examples
    --------
    >>> scores = np.array([[0.0, -1.0, -2.0], [-1.0, -2.0, 0.0], [-2.0, 0.0, -1.0]])
    >>> needed_rules(scores, np.array([0, 1, 1]), np.array([0, 0, 1])).tolist()
    [0, 1]
    """
    columns = np.arange(scores.shape[1])
    left = np.ones(len(scores), dtype=np.bool_)
    winner = scores.argmax(axis=0)
    right = (rule_codes[winner] == codes) & (scores[winner, columns] > -np.inf)
    for r in range(len(scores) - 1, -1, -1):
        won = np.flatnonzero(winner == r)
        left[r] = False
        others = np.flatnonzero(left)
        if not len(others):
            left[r] = True
            break
        heir = others[scores[np.ix_(others, won)].argmax(axis=0)]
        right_then = (rule_codes[heir] == codes[won]) & (scores[heir, won] > -np.inf)
        if right_then.sum() < right[won].sum():
            left[r] = True
        else:
            winner[won], right[won] = heir, right_then
    return np.flatnonzero(left)


def _clean(logs: FloatArray) -> FloatArray:
    return np.where(logs < _ZERO, -np.inf, logs)
