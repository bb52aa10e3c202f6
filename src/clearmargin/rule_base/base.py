"""The base of everything that gives rules.

`RuleBasedClassifier` is what a user holds: `rules_`, `covers` and `which`, `predict`, `explain`, `to_report`.
`ModelRules` is the part of it whose rules are made from another classifier. It has the front half of all extractors
(read the labels, train the model or take it as it is, read the rows that rules are made of) and the back half
(predict by the first rule that covers a row, and by the fallback where none does). Between them stands the search.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.budget import MinCoverage, RuleBudget
from clearmargin.rule_base.explanation import Explanation, case_values, imputed_values
from clearmargin.rule_base.options import Option, OrAuto, WholeNumber, check_options
from clearmargin.rule_base.row_coverage import RowCoverage, why_covered
from clearmargin.rule_base.rule_auc import class_shares
from clearmargin.rule_base.training import (
    LabelledPoints,
    class_codes,
    decision_margins,
    read_labels,
    taken_by,
    train,
    train_kernel_machine,
)
from clearmargin.rules import Box, FeatureSpace, Rule, RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, is_point
from clearmargin.tables.encoding import Encoding, has_unknown_category
from clearmargin.tables.sampled_fit import counted_on_all
from clearmargin.tables.table import Table, as_header, case_table, name_row, read_frame
from clearmargin.tables.table_part import over_parts
from clearmargin.tables.validation import naming_columns, plain_labels

if TYPE_CHECKING:
    from clearmargin.report import Report
    from clearmargin.tables.part_survey import TableParts


class RuleBasedClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of every classifier that gives rules."""

    # What each parameter may be. A subclass lists its own after those of its base.
    _options: ClassVar[Mapping[str, Option]] = {}
    _reads_tables: ClassVar[bool] = True  # see `Table.taken_by`

    classes_: NDArray[Any]
    if TYPE_CHECKING:  # some set it in `fit`, others make it when it is first looked at

        @property
        def rules_(self) -> RuleSet:
            """The rules."""

    @abstractmethod
    def _read_table(self, X: Any) -> tuple[FloatArray, BoolArray | None]:
        """Read rows as `rules_` takes them, and tell which are outside of what all rules speak of; None for none."""

    @abstractmethod
    def explain_many(self, X: Any) -> list[Explanation]:
        """Explain the class of each row by the rule that covers it, or by one made for it."""

    @over_parts
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
        table, outside = self._read_table(X)
        covers = self.rules_.covers(table)
        return covers if outside is None else np.asarray(covers & ~outside[:, None])

    @over_parts
    def which(self, X: Any) -> IntArray:
        """Give for each row the index in `rules_` of the first rule that covers it, -1 where none does.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of int of shape (m,)
            Indices of rules.
        """
        return self._first_rule(*self._read_table(X))

    def _first_rule(self, table: FloatArray, outside: BoolArray | None) -> IntArray:
        which = self.rules_.which(table)
        return which if outside is None else np.where(outside, -1, which)

    def class_shares(self, X: Any) -> FloatArray:
        """Give the share of each class that training data give a row, by the first rule that covers it.

        What a ROC curve of the rules is made of; see `clearmargin.rule_base.rule_auc`. The fallback has no part in it.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of shape (m, K)
            A column for each of `classes_`; a row that no rule covers has the same share for all.
        """
        classes = [as_label(label) for label in self.classes_.tolist()]
        return class_shares(self.rules_, self.which(X), classes)

    def why(self, X: Any) -> list[RowCoverage]:
        """Name for each row the first rule that covers it, or the nearest one with the conditions that the row fails.

        The nearest rule is, of those for the class that the model predicts, the one with the fewest conditions that
        fail, the first of several.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them.

        Returns
        -------
        list of RowCoverage
            One a row; it reads as a sentence.

        See Also
        --------
        which : Tells which rule covers each row.

        Examples
        --------
        >>> from clearmargin import RuleExtractor
        >>> from clearmargin.datasets import load_wbc
        >>> X, y = load_wbc(return_X_y=True)
        >>> extractor = RuleExtractor(max_rules=2).fit(X, y)
        >>> [told.status for told in extractor.why(X.iloc[[0, 2]])]
        ['nearest', 'covered']
        """
        X = read_frame(X)
        table, outside = self._read_table(X)
        which = self._first_rule(table, outside)
        named = [j for j, names in enumerate(self.rules_.space.categories) if names is not None]
        # The model is asked about rows that it surely takes: those without missing values and unknown categories.
        asked = (which < 0) & is_point(table) & ~(table[:, named] < 0).any(axis=1)
        labels: list[Label | None] = [None] * len(table)
        if asked.any():
            rows = np.flatnonzero(asked)
            for row, label in zip(
                rows, self._predicted(Table.read(X).take(rows)).tolist(), strict=True
            ):
                labels[row] = as_label(label)
        return why_covered(self.rules_, X, table, which, labels, self._limits())

    def _limits(self) -> Box | None:
        """Give the declared ranges and the known categories, which all rules are about; None for no limits."""
        return None

    def _predicted(self, X: Any) -> NDArray[Any]:
        """Ask the model for the classes of rows."""
        return np.asarray(self.predict(X))

    def explain(self, x: Any) -> Explanation:
        """Explain the class of one case by the rule that covers it, or by one made for it.

        Parameters
        ----------
        x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.

        Returns
        -------
        Explanation
            It reads as a sentence.
        """
        return self.explain_many(self._case(x))[0]

    def _case(self, x: Any) -> Any:
        """Read one case as a table of one row."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        known = None if names is None else [str(name) for name in names]
        return case_table(x, known, many="explain_many")

    def to_report(self, X: Any, y: Any = None, **options: Any) -> Report:
        """Report on the rules: what was learned, how good it is and what it leaves out.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases that everything is counted on.
        y : array-like of shape (m,), optional
            Their classes.
        **options : dict
            As for `clearmargin.report.report`.

        Returns
        -------
        Report
            A page, Markdown or plain data.
        """
        from clearmargin.report import report

        return report(self, X, y, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class ModelRules(MetaEstimatorMixin, RuleBasedClassifier):  # type: ignore[misc]
    """Base of the extractors: rules that are made from a model, trained here or before."""

    estimator: Any
    min_coverage: MinCoverage
    max_rules: int | None
    fallback: Any

    _options: ClassVar[Mapping[str, Option]] = {
        "min_coverage": OrAuto(WholeNumber(1)),
        "max_rules": WholeNumber(1, optional=True),
    }
    # What is handed on to the model may be routed here.
    __metadata_request__fit: ClassVar[Mapping[str, Any]] = {"sample_weight": None}
    # The words that `fallback` may be, apart from a class.
    _fallbacks: ClassVar[tuple[str, ...]] = ("estimator", "abstain")

    rules_: RuleSet
    budget_: RuleBudget
    space_: FeatureSpace
    _encoding: Encoding
    _codes: IntArray
    _needed: BoolArray  # the encoded columns that rules may depend on

    # The front half of `fit`: options, labels, model, rows.

    def _check_options(self) -> None:
        """Check all parameters but `fallback`, which may be a class."""
        check_options(self, self._options)

    def _default_model(self) -> Any:
        """Give the model to train where none is given; None for the sparse support vector machine."""
        return None

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata `fit` passes on to the model: what it requests, and to a default one weights of rows."""
        model = self._default_model() if self.estimator is None else self.estimator
        if model is None and get_config()["enable_metadata_routing"]:
            from clearmargin.lp_svm import LPSVC

            model = LPSVC().set_fit_request(sample_weight=True)
        own = self._get_metadata_request()
        if own.fit.requests["sample_weight"] is None:
            # What nobody has set here is the model's to request.
            own.fit.add_request(param="sample_weight", alias=False)
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(own)
            .add(estimator=model, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        )

    def _train(self, X: Any, y: Any, params: dict[str, Any]) -> NDArray[Any]:
        """Read the labels, train the model or take it as fitted, and note classes and features."""
        labels = read_labels(X, y)
        model = self._default_model() if self.estimator is None else self.estimator
        # A column of labels was warned of once, which is enough.
        given = plain_labels(y) if np.asarray(y).ndim == 1 else labels
        is_whole = True
        if self.estimator is None and model is not None:
            self.estimator_, is_whole = train_kernel_machine(model, X, given, params)
        else:
            self.estimator_ = train(model, X, given, params)
        self._trained_here = is_whole and self.estimator_ is not self.estimator
        self.classes_ = self.estimator_.classes_
        return labels

    def _note_features(self, X: Any) -> None:
        """Note the features of the training table, and check what is left to be checked of the options."""
        validate_data(self, as_header(X), skip_check_array=True)
        known = [*self._fallbacks, *self.classes_.tolist()]
        if self.fallback not in known:
            words = ", ".join(repr(word) for word in self._fallbacks)
            hint = nearest_name(str(self.fallback), map(str, known))
            raise InvalidValueError(
                f"fallback must be {words} or a class, not {self.fallback!r}{hint}"
            )

    def _predicted(self, X: Any) -> NDArray[Any]:
        """Ask the model for the classes of rows."""
        with naming_columns(X, self.estimator_):
            return np.asarray(self.estimator_.predict(taken_by(self.estimator_, X)))

    def _read_points(
        self,
        X: Any,
        labels: NDArray[Any],
        encoding: Encoding,
        needed: BoolArray | None = None,
    ) -> LabelledPoints:
        """Read the rows that rules are made of: those without missing values, with the classes predicted."""
        self._encoding = encoding
        self._needed = np.ones(len(encoding.sources), dtype=np.bool_) if needed is None else needed
        data, known = self._known_points(X, labels)
        if not known.any():
            raise DataError(
                "every row of X has a missing value that the model does not impute; rules are made of rows without any"
            )
        return data

    def _count_on_all(self, parts: TableParts) -> None:
        """Count rules that were found on a sample of a table in partitions on all of its rows."""
        self.rules_ = counted_on_all(self.rules_, parts, _Asked(self))

    def _known_points(self, X: Any, labels: NDArray[Any]) -> tuple[LabelledPoints, BoolArray]:
        """Read the rows without missing values that rules depend on, and tell which rows these are."""
        table = self._encoding.read(X)
        points = self._fill_unneeded(self._encoding.spread(table))
        with naming_columns(X, self.estimator_):
            predicted = class_codes(self._predicted(X), self.classes_)
        true = class_codes(labels, self.classes_)
        # Rules are about the categories that the model knows.
        known = is_point(points) & ~has_unknown_category(self._encoding, table)
        if known.all():
            return LabelledPoints(points, true, predicted), known
        return LabelledPoints(points[known], true[known], predicted[known]), known

    def _fill_unneeded(self, points: FloatArray) -> FloatArray:
        """Put a value of its range in the place of missing ones, in columns that no rule depends on."""
        idle = np.flatnonzero(~self._needed)
        missing = np.isnan(points[:, idle])
        if not missing.any():
            return points
        features = [self._encoding.sources[k].feature for k in idle.tolist()]
        within = np.clip(0.0, self.space_.lower[features], self.space_.upper[features])
        filled = points.copy()
        filled[:, idle] = np.where(missing, within, points[:, idle])
        return filled

    # The back half: what is asked of a fitted extractor.

    def _read_cases(self, X: Any) -> FloatArray:
        """Read the cases to explain; raise if a value that rules need is missing, infinite or an unknown category."""
        encoding, names = self._encoding, self._encoding.space.names
        table = encoding.read(X)
        cases = self._fill_unneeded(encoding.spread(table))
        unusable = ~np.isfinite(cases)
        if unusable.any():
            row = int(np.argmax(unusable.any(axis=1)))
            feature = encoding.sources[int(np.argmax(unusable[row]))].feature
            raise DataError(
                f"{name_row(row, X)} has a missing value (NaN) or infinity in column {names[feature]!r}, "
                "which the model does not impute; fill it before asking for an explanation"
            )
        unknown = has_unknown_category(encoding, table)
        if unknown.any():
            row = int(np.argmax(unknown))
            feature = next(j for j in encoding.named if table[row, j] < 0)
            raise DataError(
                f"{name_row(row, X)} has a category in column {names[feature]!r} that the model does not "
                "know; correct it before asking for an explanation"
            )
        return cases

    def explain_many(self, X: Any) -> list[Explanation]:
        """Explain the class of each row by the rule that covers it, or by one made for it.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.

        Returns
        -------
        list of Explanation
            One a row: by the first rule that covers it; where none does, by a few conditions that are proved to force
            its class, as `clearmargin.explain` gives them, or with `fallback="nearest"` by the nearest rule.
        """
        X = read_frame(X)
        which, cases = self.which(X), self._read_cases(X)
        bare = np.flatnonzero(which < 0)
        made = iter(self._explain_uncovered(X, cases, bare) if len(bare) else ())
        told: list[tuple[str, Rule, bool | None]] = [
            ("rule", self.rules_[k], None) if k >= 0 else next(made) for k in which.tolist()
        ]
        margins, missing = decision_margins(self.estimator_, X), self._encoding.is_missing(X)
        return [
            Explanation(
                kind,
                rule,
                rule.label,
                float(margins[k]),
                self.space_,
                imputed_values(self.space_, missing[k]),
                case_values(self._encoding, cases[k]),
                is_fewest=is_fewest,
            )
            for k, (kind, rule, is_fewest) in enumerate(told)
        ]

    @abstractmethod
    def _explain_uncovered(
        self, X: Any, cases: FloatArray, rows: IntArray
    ) -> Iterable[tuple[str, Rule, bool | None]]:
        """Explain rows that no rule covers: the kind, a rule, and whether fewer conditions are surely not enough."""

    def _read_table(self, X: Any) -> tuple[FloatArray, BoolArray | None]:
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_header(X), skip_check_array=True, reset=False)
        return self._encoding.read(X), None

    @over_parts
    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of the first rule that covers each row, and the fallback where none does.

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
        which, codes = self._decide(X)
        if self.fallback == "abstain":
            answers: NDArray[Any] = np.full(len(which), None, dtype=object)
        elif self.fallback == "estimator":
            # A model that takes no missing values refuses all rows, as scikit-learn asks of its estimators.
            answers = self._predicted(X).copy()
        else:
            # With "nearest" some rule decides every row.
            first = self.classes_[0] if self.fallback == "nearest" else self.fallback
            answers = np.full(len(which), first, dtype=self.classes_.dtype)
        decided = which >= 0
        answers[decided] = self.classes_[codes[which[decided]]]
        return answers

    def _decide(self, X: Any) -> tuple[IntArray, IntArray]:
        """Tell which rule decides each row, -1 where none does, and the class of each rule."""
        return self.which(X), self._codes


class _Asked(NamedTuple):
    """The model of an extractor, asked by the tables that the extractor reads."""

    extractor: ModelRules

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the classes of rows."""
        return self.extractor._predicted(X)


def check_table(X: Any) -> None:
    """Raise if X is a single row, and say what to do with it."""
    if not hasattr(X, "columns") and np.asarray(X).ndim == 1:
        raise DataError(
            "X is a single row, and a table (two dimensions) is needed. Reshape your data: pass [row]"
        )
