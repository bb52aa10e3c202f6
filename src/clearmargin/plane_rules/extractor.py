"""Rules out of any linear classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clearmargin.language.prose import plain
from clearmargin.models.surface import read_surface
from clearmargin.models.threshold import operating_scores
from clearmargin.plane_rules.extraction import (
    CRITERIA,
    DEFAULT_CRITERION,
    Extraction,
    ExtractionOptions,
    Trace,
    check_surface,
    extract_rules,
    warn_of_dense_plane,
)
from clearmargin.plane_rules.sufficient_reasons import ReasonSearch
from clearmargin.progress import Progress, all_or_nothing, task
from clearmargin.rule_base.base import ModelRules
from clearmargin.rule_base.budget import DEFAULT_MAX_RULES, MinCoverage
from clearmargin.rule_base.distillation import Distillation, distil
from clearmargin.rule_base.explanation import Explanation
from clearmargin.rule_base.feature_ranges import read_bounds
from clearmargin.rule_base.options import Choice, Option, WholeNumber
from clearmargin.rule_base.training import LabelledPoints, class_codes, taken_by
from clearmargin.rules import Box, Domain, Hyperplane, Rule
from clearmargin.rules.rule import Label, Proof
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import has_unknown_category
from clearmargin.tables.sampled_fit import fits_a_sample
from clearmargin.tables.table import Table, read_frame


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
        one is cloned and fitted. By default `LPSVC(nu="cv", cv=10, max_features=8, scale=True)`
        with up to ten folds, inside one-vs-rest for more than two classes; a warning says where no plane beats a
        constant prediction.
    criterion : str, default "volume"
        What makes a box good: "volume", the largest; "coverage", the one with most points, by pair exchange in several
        searches; "coverage-lp", the linear program of the paper (eq. 17) with a slack for each point. A class among
        three or more is bounded by several planes; there all criteria peel.
    max_depth : int, default 20
        How often space is cut at most on the way to a rule.
    min_coverage : int or "auto", default "auto"
        Rules that cover fewer training points are dropped; with "auto" those whose share of their class cannot be told
        from that among all rows, by an exact test at 5 % (5 rows of a class with half of all rows, 29 of one with nine
        in ten). A class all of whose rules lack that keeps one.
    max_rules : int or None, default 15
        Maximum number of rules in all classes together: one page. Those that cover most rows that no other one covers
        come first, and each class that has a rule gets one. None gives all; `budget_` says what they would add.
    bounds : "data", mapping from feature to (low, high), pair (low, high), FeatureSpace or Domain
        Where features live, and so where boxes are searched: within the ranges seen in the data (the default), or
        within ranges that are declared. Declared ranges count as known, and bounds at their ends are left out of rules;
        ranges that were seen do not, and their ends are conditions where the proof needs them.
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
        Whether regions are shrunk to their points before they are searched, and cut first at the features with the
        largest weight times width. False is the letter of the paper: regions as they are, cut in the order of the
        columns (eq. 18).
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
        The margins of each class over the others, as functions of the features: what the rules are proved of.
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
    n_rows_, n_sampled_rows_ : int
        How many rows the table has, and how many of them everything was made of: all, or of a table in files a sample.
    trace_ : dict from class to Trace
        What was found and what it cost.
    coverage_ : dict from class to float
        Share of the correctly classified training points that the rules cover.
    recall_ : dict from class to float
        Share of all training points of the class that its rules cover.
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
        self.fallback = fallback
        self.progress = progress

    @all_or_nothing
    @fits_a_sample
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The table, as the model takes it. A table in files has its classes with it: of more than 100,000 rows a
            sample is taken, with the ranges of all (`n_sampled_rows_`), and the rules are counted on all rows.
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
        X = read_frame(X, self)
        labels = self._train(X, y, params)
        options = ExtractionOptions.of(self)
        self._note_features(X)
        self.surface_ = read_surface(self.estimator_, X)
        check_surface(self.surface_, options, distils=self.max_features is not None)
        self.space_, self._declared = read_bounds(self.bounds, self.surface_.space)
        lower, upper = self._declared
        self.domain_ = Domain(self.space_, lower, upper)
        data = self._read_points(X, labels, self.surface_, self.surface_.needed_features())
        options = self._distil(data, options)
        warn_of_dense_plane(self.surface_, self.space_, data, options)
        with task("extraction", len(self.classes_), "rules", show=self.progress):
            # For each class search boxes, simplify and prove them; then translate them to the user's features.
            found = extract_rules(self.surface_, self.space_, self._declared, data, options)
        self._keep(found)
        return self

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

    def _keep(self, found: Extraction) -> None:
        """Keep the rules, and what was measured of them."""
        self.rules_, self.budget_, self._columns = found.rules, found.budget, found.columns
        place = {label: k for k, label in enumerate(self.surface_.classes)}
        self._codes = np.array([place[rule.label] for rule in found.rules] or [0], dtype=np.intp)
        self.trace_: dict[Label, Trace] = found.trace
        self.coverage_ = {label: trace.coverage for label, trace in self.trace_.items()}
        self.recall_ = {label: trace.recall for label, trace in self.trace_.items()}

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
        return table, outside

    def _limits(self) -> Box:
        lower = np.where(self._declared[0], self.space_.lower, -np.inf)
        upper = np.where(self._declared[1], self.space_.upper, np.inf)
        sets = {j: range(len(self.space_.categories[j] or ())) for j in self.surface_.named}
        return Box(lower, upper, sets=sets)

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

    def explain_many(self, X: Any) -> list[Explanation]:
        """Explain the class of each row by the rule that covers it, or by the fewest features that force it.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.

        Returns
        -------
        list of Explanation
            One a row. With `max_features` it is of the distilled plane, and says so.
        """
        X = read_frame(X)
        told = super().explain_many(X)
        if self.distillation_ is None:
            return told
        agreement, notes = self.distillation_.agreement, []
        for each, label in zip(told, self._predicted(X).tolist(), strict=True):
            other = (
                "" if each.label == label else f"; here the model itself predicts {plain(label)}"
            )
            notes.append(f"{agreement}{other}")
        return [replace(each, stands_in=note) for each, note in zip(told, notes, strict=True)]

    def _explain_uncovered(
        self, X: Any, cases: FloatArray, rows: IntArray
    ) -> Iterator[tuple[str, Rule, bool | None]]:
        """Explain rows by the fewest features that force the class of the plane within the ranges."""
        proof: Proof = "proved"
        if self.distillation_ is None:
            codes = class_codes(self._predicted(Table.read(X).take(rows)), self.classes_)
        else:
            codes = (self.surface_.margins(1)[0].values(cases[rows]) > 0).astype(np.intp)
            proof = "distilled"
        found = ReasonSearch(self.surface_, self._columns).find(cases[rows], codes)
        for k, code in enumerate(codes.tolist()):
            sure: Proof = proof if found.is_proved[k] else "observed"
            rule = Rule(found.box(k), self.surface_.classes[code], origin="extracted", proof=sure)
            yield "sufficient", rule, bool(found.is_fewest[k])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.max_features is None
        if self.estimator is not None:
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags
