"""The base of everything that gives rules.

`RuleBasedClassifier` is what a user holds: `rules_`, `covers` and `which`, `predict`, `explain`, `to_report`.
`ModelRules` is the part of it whose rules are made from another classifier. It has the front half of all extractors
(read the labels, train the model or take it as it is, read the rows that rules are made of) and the back half
(predict by the first rule that covers a row, and by the fallback where none does). Between them stands the search.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rule_base.budget import MinCoverage, RuleBudget
from clearmargin.rule_base.explanation import Explanation
from clearmargin.rule_base.labelled_points import LabelledPoints
from clearmargin.rule_base.options import Option, OrAuto, WholeNumber, check_options
from clearmargin.rule_base.row_coverage import CoverageExplainer, DroppedBox, RowCoverage
from clearmargin.rule_base.rule_auc import class_shares
from clearmargin.rule_base.training import (
    class_codes,
    read_labels,
    taken_by,
    train,
    train_kernel_machine,
)
from clearmargin.rules import Domain, FeatureSpace, RuleSet
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, is_point
from clearmargin.tables.encoding import Encoding
from clearmargin.tables.table import Table, as_header, case_table, name_row, read_frame
from clearmargin.tables.table_part import over_parts
from clearmargin.tables.validation import naming_columns, plain_labels

if TYPE_CHECKING:
    from clearmargin.report import Report

__all__ = [
    "ModelRules",
    "RuleBasedClassifier",
    "categorical_features",
    "check_table",
    "has_unknown_category",
]


class RuleBasedClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of every classifier that gives rules.

    Fitted, a subclass has `rules_`, `classes_` and `space_`.
    """

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
    def explain_many(
        self, X: Any, kind: str = "rule", *, weights: Mapping[str, float] | None = None
    ) -> Sequence[Explanation]:
        """Explain the class of each row by a rule.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.
        kind : str, default "rule"
            What kind of explanation; see `explain`.
        weights : mapping from part to float, optional
            How much the parts of the confidence count; see `explain`.

        Returns
        -------
        sequence of Explanation
            One a row.
        """

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

    def explain_coverage(self, X: Any) -> list[RowCoverage]:
        """Tell for each row which rule covers it or, where none does, why.

        A row that no rule covers is outside of what was declared, has a category that the model does not know, or fails
        at conditions: those of the nearest rule for the class that the model predicts are named, with the values of
        the row. The nearest rule is the one with the fewest conditions that fail, the first of several.

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
        >>> first, second = extractor.explain_coverage(X.iloc[[0, 2]])
        >>> first.status, second.status, second.is_covered
        ('dropped_box', 'covered', True)
        """
        X = read_frame(X)
        table, outside = self._read_table(X)
        which = self._first_rule(table, outside)
        asked = (which < 0) & self._has_prediction(table)
        rows = np.flatnonzero(asked if outside is None else asked & ~outside)
        predicted: list[Label | None] = [None] * len(table)
        if len(rows):
            labels = self._predicted(Table.read(X).take(rows)).tolist()
            for row, label in zip(rows.tolist(), labels, strict=True):
                predicted[row] = as_label(label)
        explainer = self._coverage_explainer()
        return explainer.explain(X, table, which, outside, predicted, self._imputed(X, table))

    def _coverage_explainer(self) -> CoverageExplainer:
        """Gather what tells why a row is not covered."""
        return CoverageExplainer(self.rules_, self.rules_.space)

    def _has_prediction(self, table: FloatArray) -> BoolArray:
        """Tell for which rows the model can be asked: those that lack no value."""
        return is_point(table)

    def _predicted(self, X: Any) -> NDArray[Any]:
        """Ask the model for the classes of rows."""
        return np.asarray(self.predict(X))

    def _imputed(self, X: Any, table: FloatArray) -> BoolArray | None:
        """Tell which values were missing and count as what the model imputes; None for none."""
        return None

    def explain(
        self, x: Any, kind: str = "rule", *, weights: Mapping[str, float] | None = None
    ) -> Explanation:
        """Explain the class of one case by a rule.

        Parameters
        ----------
        x : data frame of one row, series or mapping with the names of features, or array-like of shape (n,) or (1, n)
            The case, for example ``X.iloc[0]``; by name in any order.
        kind : str, default "rule"
            What kind of explanation.
        weights : mapping from part to float, optional
            How much the parts of the confidence count, such as ``{"purity": 2, "coverage": 0}``; a part that is not
            named has weight 1, so that by default the confidence is their mean.

        Returns
        -------
        Explanation
            It reads as a sentence.
        """
        return self.explain_many(self._case(x), kind, weights=weights)[0]

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
    """Base of the extractors: rules that are made from a model, trained here or before.

    All of them have these parameters.

    Parameters
    ----------
    estimator : classifier, optional
        The model. A fitted one is used as it is, another one is cloned and fitted.
    min_coverage : int or "auto"
        Rules that cover fewer training points are dropped; with "auto" those that cannot be told from chance, see
        `clearmargin.rule_base.budget`.
    max_rules : int or None
        Maximum number of rules in all classes together, those that cover most first; None for all. `budget_` says what
        the others would add.
    fallback : str or a class
        What to predict where no rule covers a row: "estimator", the class that the model predicts; "abstain", None;
        "nearest", the class of the nearest rule, where a subclass has it; or always the same class.
    """

    estimator: Any
    min_coverage: MinCoverage
    max_rules: int | None
    fallback: Any

    _options: ClassVar[Mapping[str, Option]] = {
        "min_coverage": OrAuto(WholeNumber(1)),
        "max_rules": WholeNumber(1, optional=True),
    }
    # The words that `fallback` may be, apart from a class.
    _fallbacks: ClassVar[tuple[str, ...]] = ("estimator", "abstain")

    rules_: RuleSet
    budget_: RuleBudget
    space_: FeatureSpace
    _encoding: Encoding
    _codes: IntArray
    _needed: BoolArray  # the encoded columns that rules may depend on
    _dropped: Sequence[DroppedBox] = ()

    # The front half of `fit`: options, labels, model, rows.

    def _check_options(self) -> None:
        """Check all parameters but `fallback`, which may be a class."""
        check_options(self, self._options)

    def _default_model(self) -> Any:
        """Give the model to train where none is given; None for the sparse support vector machine."""
        return None

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
        return np.asarray(self.estimator_.predict(taken_by(self.estimator_, X)))

    def _read_points(
        self,
        X: Any,
        labels: NDArray[Any],
        encoding: Encoding,
        needed: BoolArray | None = None,
    ) -> LabelledPoints:
        """Read the rows that rules are made of: those without missing values, with the classes predicted.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The training table.
        labels : ndarray of shape (m,)
            Its labels.
        encoding : Encoding
            Its encoding.
        needed : ndarray of bool of shape (n_encoded,), optional
            The columns that rules may depend on; in another one a value may be missing. By default all.

        Returns
        -------
        LabelledPoints
            The rows; where a value that nothing depends on is missing, one within the range of its column.
        """
        self._encoding = encoding
        self._needed = np.ones(len(encoding.sources), dtype=np.bool_) if needed is None else needed
        data, known = self._known_points(X, labels)
        if not known.any():
            raise DataError(
                "every row of X has a missing value that the model does not impute; rules are made of rows without any"
            )
        return data

    def _known_points(self, X: Any, labels: NDArray[Any]) -> tuple[LabelledPoints, BoolArray]:
        """Read the rows without missing values that rules depend on, and tell which rows these are."""
        points = self._fill_unneeded(self._encoding.encode(X))
        with naming_columns(X, self.estimator_):
            predicted = class_codes(self._predicted(X), self.classes_)
        true = class_codes(labels, self.classes_)
        known = is_point(points)
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
        """Read the cases to explain; raise if a value that rules need is missing, infinite or an unknown category.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The cases.

        Returns
        -------
        ndarray of shape (m, n_encoded)
            The encoded cases, all of them finite.
        """
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
            feature = next(j for j in categorical_features(encoding) if table[row, j] < 0)
            raise DataError(
                f"{name_row(row, X)} has a category in column {names[feature]!r} that the model does not "
                "know; correct it before asking for an explanation"
            )
        return cases

    def _coverage_explainer(self) -> CoverageExplainer:
        categorical = categorical_features(self._encoding)
        return CoverageExplainer(
            self.rules_, self.rules_.space, self._domain(), categorical, self._dropped
        )

    def _domain(self) -> Domain | None:
        """Give the cases that all rules are about, where they were declared."""
        return None

    def _has_prediction(self, table: FloatArray) -> BoolArray:
        known = is_point(self._encoding.spread(table)[:, self._needed])
        return known & ~has_unknown_category(self._encoding, table)

    def _imputed(self, X: Any, table: FloatArray) -> BoolArray | None:
        return self._encoding.is_missing(X) & ~np.isnan(table)

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


def check_table(X: Any) -> None:
    """Raise if X is a single row, and say what to do with it."""
    if not hasattr(X, "columns") and np.asarray(X).ndim == 1:
        raise DataError(
            "X is a single row, and a table (two dimensions) is needed. Reshape your data: pass [row]"
        )


def categorical_features(encoding: Encoding) -> list[int]:
    """List the features whose categories the model uses."""
    return sorted({feature for feature, code in encoding.sources if code is not None})


def has_unknown_category(encoding: Encoding, table: FloatArray) -> BoolArray:
    """Tell which rows have a category that the model does not know, in a column that it uses.

    Parameters
    ----------
    encoding : Encoding
        The encoding.
    table : ndarray of shape (m, n)
        The user's table, as `Encoding.read` gives it.

    Returns
    -------
    ndarray of bool of shape (m,)
        Such a row is encoded as none of the categories, where no rule was proved.
    """
    return np.asarray((table[:, categorical_features(encoding)] < 0).any(axis=1))
