"""Rules out of any linear classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clearmargin.models.surface import read_surface
from clearmargin.models.threshold import operating_scores
from clearmargin.plane_rules.explain import Explainer, Explanations
from clearmargin.plane_rules.extraction import (
    CRITERIA,
    DEFAULT_CRITERION,
    DEFAULT_ORDER,
    Extraction,
    ExtractionOptions,
    Trace,
    check_surface,
    extract_rules,
    warn_of_dense_plane,
)
from clearmargin.plane_rules.extraction_in_parts import count_in_parts, put_counts
from clearmargin.plane_rules.sampled_rules import SAMPLE_VALUES
from clearmargin.plane_rules.search import ORDERS
from clearmargin.plane_rules.volume import Volume, volume_curve
from clearmargin.progress import Progress, all_or_nothing, task
from clearmargin.rule_base.base import (
    ModelRules,
    has_unknown_category,
)
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.distillation import Distillation, distil
from clearmargin.rule_base.explanation import Explanation
from clearmargin.rule_base.feature_ranges import read_bounds, read_relations
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.options import Choice, Option, WholeNumber
from clearmargin.rule_base.training import class_codes, taken_by, train_in_parts
from clearmargin.rules import Domain, Hyperplane
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.table import read_frame

__all__ = ["RuleExtractor"]


def _decides_by_model(extractor: RuleExtractor) -> bool:
    if extractor.fallback != "estimator":
        raise AttributeError("decision_function needs fallback='estimator'")
    if extractor.max_features is not None:
        raise AttributeError(
            "with max_features, rules are those of a distilled plane and need not agree with the scores of the model; "
            "ask estimator_ for these"
        )
    return hasattr(getattr(extractor, "estimator_", extractor.estimator), "decision_function") or (
        extractor.estimator is None
    )


class RuleExtractor(ModelRules):
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
    min_coverage : int or "auto", default "auto"
        Rules that cover fewer training points are dropped; with "auto" those whose share of their class cannot be told
        from that among all rows, by an exact test at 5 % (5 rows of a class with half of all rows, 29 of one with nine
        in ten). A class all of whose rules lack that keeps one.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
    bounds : "data", "class", mapping from feature to (low, high), pair (low, high), FeatureSpace or Domain
        Where features live, and so where boxes are searched: within the ranges seen in the data (the default), or
        within those of the training points of each class that the model classifies correctly ("class"), or within
        ranges that are declared. Declared ranges count as known, and bounds at their ends are left out of rules;
        ranges that were seen do not, and their ends are conditions where the proof needs them. A `Domain` may also
        declare relations between features (``diastolic <= systolic``): rules are proved for the cases that satisfy
        them, and are larger for it. A row that does not satisfy them is covered by no rule.
    disjoint : bool, default True
        Whether no two rules of a class may meet. Without that, fewer rules cover the same points.
    max_conditions : int, optional
        Maximum number of features with a condition in a rule; each rule chooses its features. The ends of ranges that
        are not declared do not count, although they are conditions where the proof needs them; declare `bounds`.
    max_features : int, optional
        Extract from a plane *distilled* to at most so many features, for models of two classes: a lasso of the model's
        score chooses them, and a 1-norm support vector machine is trained on the classes that the model predicts. Rules
        are then proved of that plane, not of the model; `distillation_` says how often the two agree, on held-out rows.
        A categorical feature counts once. A model of two classes with no more features is taken as it is.
    tighten : bool, default True
        Whether regions are shrunk to their points before they are searched; False is the letter of the paper.
    order : {"weight", "natural"}, default "weight"
        Which faces of a rule cut off the rest of its region first (eq. 18 of the paper): those of the features with
        the largest weight times width, or those of the first columns, which is the letter of the paper. With
        `criterion="coverage"` and "weight", all searches but the first draw the order. The regions of three or more
        classes are cut in natural order.
    fallback : "estimator", "abstain" or a class, default "estimator"
        What to predict where no rule fires: what the model predicts, None, or always the same class.
    progress : bool or "auto", default "auto"
        Whether to show a progress bar on stderr; "auto" does so on a terminal when the work is slow.

    Attributes
    ----------
    estimator_ : classifier
        The model.
    rules_ : RuleSet
        The rules of all classes, those with the largest coverage first, class by class.
    hyperplane_ : Hyperplane
        The plane over the encoded columns, for two classes; positive for `classes_[1]`. With `max_features`, the
        distilled one.
    surface_ : Surface
        Planes, regions and encoding, of what the rules are proved of.
    distillation_ : Distillation or None
        The plane that stands in for the model, and how often it agrees with the model; None where rules are those of
        the model itself.
    space_ : FeatureSpace
        The features, with the bounds used.
    domain_ : Domain
        The cases that can exist, as far as they were declared: what the rules are proved over.
    classes_ : ndarray
        The classes.
    budget_ : RuleBudget
        What the rules cover, and what all that were found would: "14 rules cover 71 % of the training rows; 100 more
        would cover 80 %".
    n_rows_searched_ : int
        Rows that rules were searched for on; of a table in partitions a sample.
    trace_ : dict from class to Trace
        What was found and what it cost.
    coverage_ : dict from class to float
        Share of the correctly classified training points that the rules cover.
    recall_ : dict from class to float
        Share of all training points of the class that its rules cover.
    volume_coverage_ : dict from class to Volume
        Share of the class's part of the domain that disjoint rules fill, as a certified interval; for two classes and
        a model without categories. With `bounds="class"` the domain is that of the class.
    volume_curve_ : dict from class to ndarray
        The same after one rule, two rules, ...
    n_features_in_, feature_names_in_
        As usual.

    Examples
    --------
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> extractor = RuleExtractor(criterion="coverage", max_rules=2).fit(X, y)
    >>> extractor.rules_[0].proof
    'proved'
    """

    _options: ClassVar[Mapping[str, Option]] = {
        "criterion": Choice(*CRITERIA),
        "max_depth": WholeNumber(1, why="with no cut there is no rule"),
        **ModelRules._options,
        "max_conditions": WholeNumber(1, optional=True),
        "max_features": WholeNumber(1, optional=True),
        "order": Choice(*ORDERS),
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        criterion: str = DEFAULT_CRITERION,
        max_depth: int = 20,
        min_coverage: MinCoverage = "auto",
        max_rules: int | None = DEFAULT_MAX_RULES,
        bounds: Any = "data",
        disjoint: bool = True,
        max_conditions: int | None = None,
        max_features: int | None = None,
        tighten: bool = True,
        order: str = DEFAULT_ORDER,
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
        self.max_features = max_features
        self.tighten = tighten
        self.order = order
        self.fallback = fallback
        self.progress = progress

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The table, as the model takes it. A table in files has its classes with it: rules are searched for on a
            sample of its rows, with the ranges of all (`n_rows_searched_`), proved as always, and counted on all rows.
        y : array-like of shape (m,)
            The classes.
        **params : dict
            More arguments of the model's `fit`, such as `sample_weight`, where it is to be trained.

        Returns
        -------
        RuleExtractor
            The fitted extractor.
        """
        self._check_options()
        if not is_partitions(X):
            X = read_frame(X, self)
            self._extract(X, self._train(X, y, params))
            return self
        self.estimator_ = train_in_parts(self.estimator, X, y, params)
        self._trained_here = self.estimator_ is not self.estimator
        self.classes_ = self.estimator_.classes_
        sample = X.sample_with_ends(SAMPLE_VALUES // max(3, len(X.names)))
        self._extract(sample.table(X.names), sample.values(X.target))
        put_counts(self, count_in_parts(self, X))
        self._measure_coverage()
        return self

    def _extract(self, X: Any, labels: NDArray[Any]) -> None:
        """Extract the rules of the model, for rows with their labels."""
        options = ExtractionOptions.of(self)
        self._note_features(X)
        self.surface_ = read_surface(self.estimator_, X)
        check_surface(self.surface_, options)
        self.space_, self._declared = read_bounds(
            self.bounds, self.surface_.space, words=("data", "class")
        )
        relations = read_relations(self.bounds, self.surface_.space)
        lower, upper = self._declared
        self.domain_ = Domain(self.space_, lower, upper, relations=relations)
        data = self._read_points(X, labels, self.surface_, self.surface_.needed_columns(relations))
        self.n_rows_searched_ = len(data.points)
        options = self._distil(data, options)
        warn_of_dense_plane(self.surface_, self.space_, data, options)
        with task("extraction", len(self.classes_), "rules", show=self.progress):
            # For each class search boxes, simplify and prove them; then translate them to the user's features.
            found = extract_rules(
                self.surface_, self.space_, self._declared, data, options, relations
            )
        self._keep(found, data)

    def _distil(self, data: LabelledPoints, options: ExtractionOptions) -> ExtractionOptions:
        """Put a distilled plane in the place of the model's where the model has more features than allowed."""
        self._model_surface = self.surface_
        self.distillation_: Distillation | None = None
        most = self.max_features
        # More than two classes are refused whatever their features: an option that works by chance helps nobody.
        is_binary = len(self.surface_.classes) == 2
        if most is None or (is_binary and self.surface_.count_features() <= most):
            return options
        distilled = distil(self.surface_, data.points, most)
        self.distillation_, self.surface_ = distilled, distilled.surface
        return replace(options, proof="distilled")

    def _keep(self, found: Extraction, data: LabelledPoints) -> None:
        """Keep the rules, what was measured of them, and what explains cases."""
        self.rules_, self._dropped = found.rules, found.dropped
        self.budget_ = found.budget
        place = {label: k for k, label in enumerate(self.surface_.classes)}
        self._codes = np.array([place[rule.label] for rule in found.rules] or [0], dtype=np.intp)
        self.trace_: dict[Label, Trace] = found.trace
        self._measure_coverage()
        self._measure_volume(found)
        self._explainer = Explainer(
            self.surface_,
            found.columns,
            self.space_,
            found.limits,
            found.rules,
            found.boxes,
            data.sample(),
            self.distillation_,
        )

    def _measure_coverage(self) -> None:
        self.coverage_ = {label: trace.coverage for label, trace in self.trace_.items()}
        self.recall_ = {label: trace.recall for label, trace in self.trace_.items()}

    def _measure_volume(self, found: Extraction) -> None:
        """Measure the boxes as they were found: whole numbers and few digits take volume away, not cases."""
        self.volume_coverage_: dict[Label, Volume] = {}
        self.volume_curve_: dict[Label, FloatArray] = {}
        # A 0/1 column of a category has no volume, and boxes that overlap would be counted twice.
        has_categories = any(source.code is not None for source in self.surface_.sources)
        if len(self.surface_.classes) != 2 or not self.disjoint or has_categories:
            return
        for k, label in enumerate(self.surface_.classes):
            (halfspace,) = self.surface_.regions()[k]
            curve, total = volume_curve(halfspace, found.domains[k], found.origins[k])
            self.volume_curve_[label], self.volume_coverage_[label] = curve, total

    @property
    def hyperplane_(self) -> Hyperplane:
        """The plane over the encoded columns, for two classes."""
        check_is_fitted(self)
        return self.surface_.hyperplane

    def _read_table(self, X: Any) -> tuple[FloatArray, BoolArray]:
        """Read rows as numbers, and tell which of them the proof of no rule speaks of."""
        table, _ = super()._read_table(X)
        outside = has_unknown_category(self.surface_, table)
        if self._declared.any():
            # The proof holds where features were declared to live.
            lower = np.where(self._declared[0], self.space_.lower, -np.inf)
            upper = np.where(self._declared[1], self.space_.upper, np.inf)
            outside |= (np.less(table, lower) | np.greater(table, upper)).any(axis=1)
        if self.domain_.relations is not None:
            outside |= ~self.domain_.relations.contains(table)
        return table, outside

    def _domain(self) -> Domain:
        return self.domain_

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
            What the model's `decision_function` gives, counted from its operating threshold where it has one.
        """
        check_is_fitted(self)
        return np.asarray(operating_scores(self.estimator_, taken_by(self.estimator_, X)))

    def explain(
        self,
        x: Any,
        kind: str = "rule",
        *,
        metric: str = "volume",
        weights: Mapping[str, float] | None = None,
    ) -> Explanation:
        """Explain one case.

        Parameters
        ----------
        x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.
        kind : {"rule", "on_demand", "largest", "central", "sufficient"}, default "rule"
            The rule that covers it (or, where none does, one made on demand); the largest box with the case in it; a
            box with the case well inside; the fewest features that force the class within the ranges, as
            `clearmargin.explain` gives them, which explains any model.
        metric : {"volume", "normal"}, default "volume"
            For central boxes: as large as possible, or with the corner at the foot of the normal.
        weights : mapping from part to float, optional
            How much the parts of the confidence ("coverage", "purity", "volume", "distance") count, such as
            ``{"purity": 2, "volume": 0}``; a part that is not named has weight 1, so that by default the confidence is
            their mean.

        Returns
        -------
        Explanation
            It reads as a sentence.
        """
        return self.explain_many(self._case(x), kind, metric=metric, weights=weights)[0]

    def explain_many(
        self,
        X: Any,
        kind: str = "rule",
        *,
        metric: str = "volume",
        weights: Mapping[str, float] | None = None,
    ) -> Explanations:
        """Explain many cases.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.
        kind, metric, weights
            As for `explain`.

        Returns
        -------
        Explanations
            A sequence, whose members are made when they are looked at.
        """
        X = read_frame(X)
        which = self.which(X)
        cases = self._read_cases(X)
        codes = class_codes(self._predicted(X), self.classes_)
        told = self._explainer.explain(cases, codes, which, kind, metric)
        told.weigh(weights)
        told.note_missing(self.surface_.is_missing(X))
        return told

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.max_features is None
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
