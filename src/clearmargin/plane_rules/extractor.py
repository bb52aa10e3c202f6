"""Rules out of any linear classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.models.surface import read_surface
from clearmargin.plane_rules.explain import Explainer, Explanations, Reference
from clearmargin.plane_rules.extraction import (
    DEFAULT_CRITERION,
    DEFAULT_MIN_COVERAGE,
    Extraction,
    LabelledPoints,
    Trace,
    check_fallback,
    check_number_of_classes,
    check_plane,
    extract_rules,
    read_options,
)
from clearmargin.plane_rules.volume import Volume, volume_curve
from clearmargin.progress import Progress, all_or_nothing, task
from clearmargin.rule_base.cases import check_cases, check_table, has_unknown_category
from clearmargin.rule_base.explanation import Explanation
from clearmargin.rule_base.feature_ranges import read_bounds, read_relations
from clearmargin.rule_base.training import class_codes, read_labels, taken_by, train
from clearmargin.rules import Box, Domain, Hyperplane
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, is_point
from clearmargin.tables.table import as_given, case_table, read_frame

__all__ = ["RuleExtractor"]


def _decides_by_model(extractor: RuleExtractor) -> bool:
    if extractor.fallback != "estimator":
        raise AttributeError("decision_function needs fallback='estimator'")
    return hasattr(getattr(extractor, "estimator_", extractor.estimator), "decision_function") or (
        extractor.estimator is None
    )


class RuleExtractor(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Exact interval rules from a linear classifier, each proved to lie on its side of the plane.

    The method of Fung, Sandilya and Rao (KDD 2005): boxes with a corner on the hyperplane, found one after the other,
    for each class. Rules are in the units of the table, whatever scalers stand before the classifier, and categories
    that were one-hot encoded come back by name.

    Parameters
    ----------
    estimator : classifier, optional
        Any linear classifier, bare or at the end of a pipeline of affine steps. A fitted one is used as it is, another
        one is cloned and fitted. By default `LPSVCCV(rule="1se", max_features=8, scale=True, allow_constant=False)`
        with up to ten folds, inside one-vs-rest for more than two classes; a warning says where no plane beats a
        constant prediction.
    criterion : str, default "volume"
        What makes a box good: "volume", the largest; "coverage", the one with most points, by pair exchange in several
        searches; "coverage-lp", the linear program of the paper (eq. 17) with a slack for each point
        ("coverage-lp-feature" and "coverage-lp-separable" are its other readings); "coverage-exact", by integer
        programming, slow. A class among three or more is bounded by several planes; there all criteria peel.
    max_depth : int, default 20
        How often space is cut at most on the way to a rule.
    min_coverage : int, default 2
        Rules that cover fewer training points are dropped.
    max_rules : int, optional
        Most rules for each class; then regions with the most points are searched first.
    bounds : "data", mapping from feature to (low, high), pair (low, high), FeatureSpace or Domain, default "data"
        Where features live. Ranges that are declared count as known, and bounds at their ends are not said in rules;
        ranges seen in the data are not, and are said where the proof needs them. A `Domain` may also declare relations
        between features (``diastolic <= systolic``): rules are proved for the cases that satisfy them, and are larger
        for it. A row that does not satisfy them is covered by no rule.
    disjoint : bool, default True
        Whether no two rules of a class may meet. Without that, fewer rules cover the same points.
    max_conditions : int, optional
        Most features with a condition in a rule, each rule with features of its own choice. The ends of ranges that
        are not declared do not count, although they are said where the proof needs them; declare `bounds`.
    tighten : bool, default True
        Whether regions are shrunk to their points before they are searched; False is the letter of the paper.
    fallback : "estimator", "abstain" or a class, default "estimator"
        What to predict where no rule fires: what the model says, None, or always the same class.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    rules_ : RuleSet
        The rules of all classes, the fullest of each class first.
    hyperplane_ : Hyperplane
        The plane over the encoded columns, for two classes; positive for `classes_[1]`.
    surface_ : Surface
        Planes, regions and encoding.
    space_ : FeatureSpace
        The features, with the bounds used.
    domain_ : Domain
        The cases that can exist, as far as they were declared: what the rules are proved over.
    classes_ : ndarray
        The classes.
    trace_ : dict from class to Trace
        What was found and what it cost.
    coverage_ : dict from class to float
        Share of the correctly classified training points that the rules cover.
    recall_ : dict from class to float
        Share of all training points of the class that its rules cover.
    volume_coverage_ : dict from class to Volume
        Share of the class's part of the domain that disjoint rules fill, as a certified interval; for two classes and
        a model without categories.
    volume_curve_ : dict from class to ndarray
        The same after one rule, two rules, ...
    n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> extractor = RuleExtractor(criterion="coverage", max_rules=1).fit(X, y)
    >>> extractor.rules_[0].proof
    'proved'
    """

    _reads_tables = True  # see `Table.taken_by`

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: str = DEFAULT_CRITERION,
        max_depth: int = 20,
        min_coverage: int = DEFAULT_MIN_COVERAGE,
        max_rules: int | None = None,
        bounds: Any = "data",
        disjoint: bool = True,
        max_conditions: int | None = None,
        tighten: bool = True,
        fallback: Any = "estimator",
        progress: Progress = "auto",
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.bounds = bounds
        self.disjoint = disjoint
        self.max_conditions = max_conditions
        self.tighten = tighten
        self.fallback = fallback
        self.progress = progress

    @all_or_nothing
    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table, as the model takes it.
        y : array-like of shape (m,)
            The classes.
        **params : dict
            More arguments of the model's `fit`, such as `sample_weight`, where it is to be trained.

        Returns
        -------
        RuleExtractor
            The fitted extractor.
        """
        options = read_options(self)
        X = read_frame(X)
        labels = read_labels(X, y)
        # A column of labels was warned of once, which is enough.
        self.estimator_ = train(self.estimator, X, y if np.asarray(y).ndim == 1 else labels, params)
        validate_data(self, as_given(X), skip_check_array=True)
        self.classes_ = self.estimator_.classes_
        check_fallback(self.fallback, self.classes_)
        surface = read_surface(self.estimator_, X)
        self.surface_ = surface
        check_plane(surface)
        check_number_of_classes(len(surface.classes), options)
        self.space_, self._declared = read_bounds(self.bounds, surface.space)
        relations = read_relations(self.bounds, surface.space)
        self.domain_ = Domain(
            self.space_, self._declared[0], self._declared[1], relations=relations
        )
        points = surface.encode(X)
        said = class_codes(self._predicted(X), self.classes_)
        true = class_codes(labels, self.classes_)
        known = is_point(points)
        if not known.all():
            points, true, said = points[known], true[known], said[known]
        data = LabelledPoints(points, true, said)
        with task("extraction", len(surface.classes), "rules", show=self.progress):
            found = extract_rules(surface, self.space_, self._declared, data, options, relations)
        self.trace_: dict[Label, Trace] = found.trace
        self.coverage_ = {label: trace.coverage for label, trace in found.trace.items()}
        self.recall_ = {label: trace.recall for label, trace in found.trace.items()}
        self.rules_ = found.rules
        self._measure_volume(found)
        self._explainer = Explainer(
            surface,
            found.columns,
            self.space_,
            found.limits,
            found.rules,
            found.boxes,
            Reference.sample(points, true, said),
        )
        return self

    def _measure_volume(self, found: Extraction) -> None:
        """Measure the boxes as they were found: whole numbers and few digits take volume away, not cases."""
        self.volume_coverage_: dict[Label, Volume] = {}
        self.volume_curve_: dict[Label, FloatArray] = {}
        # A 0/1 column of a category has no volume, and boxes that overlap would be counted twice.
        has_categories = any(source.code is not None for source in self.surface_.sources)
        if len(self.surface_.classes) != 2 or not self.disjoint or has_categories:
            return
        domain = Box(found.columns.lower, found.columns.upper)
        for k, label in enumerate(self.surface_.classes):
            (halfspace,) = self.surface_.regions()[k]
            curve, total = volume_curve(halfspace, domain, found.origins[k])
            self.volume_curve_[label], self.volume_coverage_[label] = curve, total

    @property
    def hyperplane_(self) -> Hyperplane:
        """The plane over the encoded columns, for two classes."""
        check_is_fitted(self)
        return self.surface_.hyperplane

    def _predicted(self, X: Any) -> NDArray[Any]:
        """Give the classes that the model predicts."""
        return np.asarray(self.estimator_.predict(taken_by(self.estimator_, X)))

    def _table(self, X: Any) -> tuple[FloatArray, BoolArray]:
        """The user's table as numbers, and the rows that the proof of no rule speaks of."""
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_given(X), skip_check_array=True, reset=False)
        table = self.surface_.read(X)
        outside = has_unknown_category(self.surface_, table)
        if self._declared.any():
            # The proof holds where features were declared to live.
            lower = np.where(self._declared[0], self.space_.lower, -np.inf)
            upper = np.where(self._declared[1], self.space_.upper, np.inf)
            outside |= (np.less(table, lower) | np.greater(table, upper)).any(axis=1)
        if self.domain_.relations is not None:
            outside |= ~self.domain_.relations.contains(table)
        return table, outside

    def covers(self, X: Any) -> BoolArray:
        """Tell for each row and each rule of `rules_` whether the rule covers the row.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them. A value that the model imputes counts as imputed; a condition on another
            missing value is false.

        Returns
        -------
        ndarray of bool of shape (m, r)
            One column a rule.
        """
        table, outside = self._table(X)
        return np.asarray(self.rules_.covers(table) & ~outside[:, None])

    def which(self, X: Any) -> IntArray:
        """Give for each row the index in `rules_` of the rule that covers it, -1 where none does.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of int of shape (m,)
            Indices of rules.
        """
        table, outside = self._table(X)
        return np.where(outside, -1, self.rules_.which(table))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of the rule that covers each row, and the fallback where none does.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them. With `fallback="estimator"` they lack no value that the model does not
            impute; otherwise a rule decides wherever it has all values that it has conditions on.

        Returns
        -------
        ndarray of shape (m,)
            Classes; None (in an array of objects) where the fallback is to abstain.
        """
        X = read_frame(X)
        which = self.which(X)
        if self.fallback == "abstain":
            answers: NDArray[Any] = np.full(len(which), None, dtype=object)
        elif self.fallback == "estimator":
            # A model that takes no missing values says so of all rows, as scikit-learn asks of its estimators.
            answers = self._predicted(X).copy()
        else:
            answers = np.full(len(which), self.fallback, dtype=self.classes_.dtype)
        place = {label: k for k, label in enumerate(self.surface_.classes)}
        codes = np.array([place[rule.label] for rule in self.rules_] or [0], dtype=np.intp)
        covered = which >= 0
        answers[covered] = self.classes_[codes[which[covered]]]
        return answers

    @available_if(_decides_by_model)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Give the scores of the model, with which all rules agree; only with `fallback="estimator"`.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray
            What the model's `decision_function` gives.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(taken_by(self.estimator_, X)))

    def explain(self, x: Any, kind: str = "rule", *, metric: str = "volume") -> Explanation:
        """Explain one case.

        Parameters
        ----------
        x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.
        kind : {"rule", "on_demand", "largest", "central"}, default "rule"
            The rule that covers it (or, where none does, one made on demand); the largest box with the case in it; a
            box with the case well inside.
        metric : {"volume", "normal"}, default "volume"
            For central boxes: as large as possible, or with the corner at the foot of the normal.

        Returns
        -------
        Explanation
            It reads as a sentence.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        rows = case_table(
            x, None if names is None else [str(name) for name in names], many="explain_many"
        )
        return self.explain_many(rows, kind, metric=metric)[0]

    def explain_many(self, X: Any, kind: str = "rule", *, metric: str = "volume") -> Explanations:
        """Explain many cases.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.
        kind, metric
            As for `explain`.

        Returns
        -------
        Explanations
            A sequence, whose members are made when they are looked at.
        """
        X = read_frame(X)
        which = self.which(X)
        cases = self.surface_.encode(X)
        check_cases(self.surface_, self.surface_.read(X), cases)
        codes = class_codes(self._predicted(X), self.classes_)
        told = self._explainer.explain(cases, codes, which, kind, metric)
        told.note_missing(self.surface_.is_missing(X))
        return told

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
