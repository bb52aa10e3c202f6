"""What all extractors of rules from kernel machines have in common."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.fitted import is_fitted
from clearmargin.rule_base.box_distance import nearest_box
from clearmargin.rule_base.cases import check_table
from clearmargin.rule_base.rulemaking import RuleBoxes, make_rules
from clearmargin.rule_base.task import ExtractionTask, FoundBoxes
from clearmargin.rule_base.training import class_codes, read_labels, taken_by, train
from clearmargin.rules import RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.space import nearest_name
from clearmargin.rules.value import FloatArray, IntArray, is_point
from clearmargin.tables.encoding import Decoding, Encoding, column_encoding
from clearmargin.tables.table import Table, as_given, name_row, read_frame
from clearmargin.tables.validation import check_choice, check_whole, naming_columns

__all__ = ["KernelRules"]


class KernelRules(MetaEstimatorMixin, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Base of the extractors: train, ask for boxes, make rules of them, predict by them.

    A subclass has the parameters `estimator`, `by`, `min_coverage`, `max_rules` and `fallback` and finds boxes.
    """

    _reads_tables = True  # see `Table.taken_by`

    estimator: Any
    by: str
    min_coverage: int
    max_rules: int | None
    fallback: Any

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Train the model if need be, and extract its rules.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The table, as the model takes it.
        y : array-like of shape (m,)
            The classes.
        **params : dict
            More arguments of the model's `fit`, where it is to be trained.

        Returns
        -------
        KernelRules
            The fitted extractor.
        """
        self._check_parameters()
        X = read_frame(X)
        labels = self._train(X, y, params)
        validate_data(self, as_given(X), skip_check_array=True)
        self._check_fallback()
        task = self._read_task(X, labels)
        found = self._find_boxes(task, X)
        self._keep(task, found)
        return self

    def _train(self, X: Any, y: Any, params: dict[str, Any]) -> NDArray[Any]:
        """Train the model if need be, and give the labels."""
        labels = read_labels(X, y)
        model = self._default_model() if self.estimator is None else self.estimator
        self._trained_here = not is_fitted(model)
        # A column of labels was warned of once, which is enough.
        self.estimator_ = train(model, X, y if np.asarray(y).ndim == 1 else labels, params)
        self.classes_ = self.estimator_.classes_
        return labels

    @abstractmethod
    def _find_boxes(self, task: ExtractionTask, X: Any) -> FoundBoxes:
        """Find the boxes of all classes."""

    def _default_model(self) -> Any:
        return make_pipeline(StandardScaler(), SVC())

    def _read_encoding(self, X: Any) -> Encoding:
        return column_encoding(Table.read(X).space())

    def _check_parameters(self) -> None:
        check_choice("by", self.by, ("model", "labels"))
        check_whole("min_coverage", self.min_coverage, 1)
        if self.max_rules is not None:
            check_whole("max_rules", self.max_rules, 1)

    def _check_fallback(self) -> None:
        known = ["nearest", "estimator", "abstain", *self.classes_.tolist()]
        if self.fallback not in known:
            hint = nearest_name(str(self.fallback), map(str, known))
            raise InvalidValueError(
                f"fallback must be 'nearest', 'estimator', 'abstain' or a class, not {self.fallback!r}{hint}"
            )

    def _read_task(self, X: Any, labels: NDArray[Any]) -> ExtractionTask:
        encoding = self._read_encoding(X)
        points = encoding.encode(X)
        with naming_columns(X, self.estimator_):
            said = class_codes(self.estimator_.predict(taken_by(self.estimator_, X)), self.classes_)
        true = class_codes(labels, self.classes_)
        known = is_point(points)
        if not known.any():
            raise DataError(
                "every row of X has a missing value that the model does not impute; rules are made of rows without any"
            )
        points, said, true = points[known], said[known], true[known]
        return ExtractionTask(
            self.estimator_,
            encoding,
            Decoding.of(X, encoding),
            tuple(as_label(label) for label in self.classes_.tolist()),
            points,
            said if self.by == "model" else true,
            said,
            true,
            check_random_state(getattr(self, "random_state", None)),
        )

    def _keep(self, task: ExtractionTask, found: FoundBoxes) -> None:
        """Turn boxes into rules and remember what is needed to predict."""
        made: RuleBoxes = make_rules(task, found, self.min_coverage, self.max_rules)
        self.rules_: RuleSet = made.rules
        self.space_ = task.encoding.space
        self._encoding, self._boxes, self._codes = task.encoding, made.boxes, made.codes
        self._reach = task.upper - task.lower

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
        check_is_fitted(self)
        X = read_frame(X)
        check_table(X)
        validate_data(self, as_given(X), skip_check_array=True, reset=False)
        return self.rules_.which(self._encoding.read(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of the first rule that covers each row, and the fallback where none does.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of shape (m,)
            Classes; None (in an array of objects) where the fallback is to abstain.
        """
        X = read_frame(X)
        which, codes = self._decide(X)
        points = self._encoding.encode(X)
        unusable = np.isinf(points).any(axis=1)
        if self.fallback in ("nearest", "estimator"):
            # These need all values, and raise for a row that lacks one, as scikit-learn asks of its estimators.
            unusable |= np.isnan(points).any(axis=1)
        which = np.where(unusable, -1, which)
        bare = which < 0
        if self.fallback == "abstain":
            answers: NDArray[Any] = np.full(len(which), None, dtype=object)
        elif self.fallback == "estimator":
            answers = np.asarray(self.estimator_.predict(taken_by(self.estimator_, X))).copy()
        elif self.fallback == "nearest":
            answers = np.full(len(which), self.classes_[0], dtype=self.classes_.dtype)
            if bare.any():
                which = which.copy()
                which[bare] = self._nearest(X, bare)
        else:
            answers = np.full(len(which), self.fallback, dtype=self.classes_.dtype)
        decided = which >= 0
        answers[decided] = self.classes_[codes[which[decided]]]
        return answers

    def _decide(self, X: Any) -> tuple[IntArray, IntArray]:
        """Who decides each row, -1 where nobody does, and the class that each decider stands for."""
        return self.which(X), self._codes

    def _closest(self, points: FloatArray) -> IntArray:
        """The decider nearest to each point."""
        return nearest_box(points, self._boxes, self._reach)

    def _nearest(self, X: Any, bare: NDArray[np.bool_]) -> IntArray:
        """The rule nearest to each row that no rule covers; distances count in shares of the features' ranges."""
        points = self._encoding.encode(X)[bare]
        unknown = ~np.isfinite(points).all(axis=1)
        if unknown.any():
            row = int(np.flatnonzero(bare)[np.argmax(unknown)])
            column = int(np.argmax(~np.isfinite(points[np.argmax(unknown)])))
            raise DataError(
                f"{name_row(row, X)} has a missing value (NaN) or infinity in column "
                f"{self._encoding.columns.names[column]!r}, and no rule is nearest to it; fill it, or take "
                "fallback='abstain'"
            )
        return self._closest(points)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
