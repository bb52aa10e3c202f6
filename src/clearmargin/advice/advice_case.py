"""Data and advice, read and matched: everything that training needs, in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from clearmargin.advice.advice_reading import (
    check_groups,
    read_advice,
    read_groups,
    saying_how_to_keep_names,
)
from clearmargin.advice.encoding import Columns, Premise, column_names, encode_rule
from clearmargin.exceptions import DataError
from clearmargin.rules import FeatureSpace, RuleSet
from clearmargin.rules.rule import as_label
from clearmargin.rules.value import FloatArray
from clearmargin.tables.table import as_given
from clearmargin.tables.validation import read_points, read_training

__all__ = ["AdviceCase", "read_case"]

_ONE_MODEL_A_CLASS = (
    "advice is for one class against the others. Train a model for each class, with labels y == c and "
    "the rules for it"
)


@dataclass(frozen=True, slots=True)
class AdviceCase:
    """What is to be learned from.

    Parameters
    ----------
    X : ndarray of shape (m, n) or None
        The points; None where there is advice alone.
    y : ndarray of shape (m,)
        Their signs.
    weight : ndarray of shape (m,)
        Their weights.
    classes : ndarray of shape (2,)
        The classes; the second is the positive one.
    rules : RuleSet
        The advice.
    columns : Columns
        The columns of each feature of the advice.
    binary : ndarray of bool of shape (n,) or None
        Which columns hold nothing but 0 and 1.
    by_position : bool
        Whether features of the advice are columns by position, not by name.
    premises : tuple of Premise
        The premises over the columns.
    sign : ndarray of shape (r,)
        The sign of the class of each rule.
    """

    X: FloatArray | None
    y: FloatArray
    weight: FloatArray
    classes: NDArray[Any]
    rules: RuleSet
    columns: Columns
    binary: NDArray[np.bool_] | None
    by_position: bool
    premises: tuple[Premise, ...]
    sign: FloatArray

    def only(self, rows: Any) -> AdviceCase:
        """The same advice with some of the points."""
        if self.X is None:
            return self
        return replace(self, X=self.points[rows], y=self.y[rows], weight=self.weight[rows])

    def counting(self) -> AdviceCase:
        """The same case without points of no weight."""
        return self if self.weight.all() else self.only(self.weight > 0)

    @property
    def points(self) -> FloatArray:
        """The points, none where there is advice alone."""
        return np.zeros((0, len(self.columns.names))) if self.X is None else self.X


def read_case(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> AdviceCase:
    """Read data and the estimator's advice, and note the features on the estimator.

    Parameters
    ----------
    estimator : estimator
        Has `advice`; gets `n_features_in_` and `feature_names_in_`.
    X, y : table and labels, or None and None
        The data.
    sample_weight : array-like of shape (m,), optional
        Weights of the points.

    Returns
    -------
    AdviceCase
        Data and advice.
    """
    if X is None and y is None:
        return _advice_alone(estimator)
    if estimator.advice is None:
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        classes, signs = labels.classes, labels.signs
    else:
        points, classes, signs = _read_points(estimator, X, y)
    given = getattr(estimator, "feature_names_in_", None)
    names = [f"x{j}" for j in range(points.shape[1])] if given is None else [str(c) for c in given]
    rules = RuleSet([], FeatureSpace(names), classes.tolist())
    by_position = False
    if estimator.advice is not None:
        # Rules read an array by position; a text can only know its columns as x0, x1, ...
        is_array = given is None and isinstance(estimator.advice, RuleSet)
        by_position = is_array and len(estimator.advice.space) == len(names)
        known = None if by_position else names
        with saying_how_to_keep_names(estimator, has_names=given is not None):
            rules = read_advice(estimator.advice, known, [as_label(c) for c in classes.tolist()])
    binary = np.asarray(((points == 0) | (points == 1)).all(axis=0))
    declared = read_groups(getattr(estimator, "groups", None), names, binary)
    check_groups(declared, points)
    columns = Columns.match(rules.space, names, binary, by_position, declared)
    weight = _check_sample_weight(sample_weight, points, dtype=np.float64, ensure_non_negative=True)
    return AdviceCase(
        points,
        signs,
        weight,
        classes,
        rules,
        columns,
        binary,
        by_position,
        tuple(encode_rule(rule, columns) for rule in rules),
        _signs(rules, classes),
    )


def _read_points(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, NDArray[Any], FloatArray]:
    """As `read_training`, but the second class may be known to the advice alone."""
    labels_met = np.asarray(y)
    only = np.unique(labels_met) if labels_met.ndim == 1 else np.zeros(0)
    if len(only) != 1 or (only.dtype.kind == "f" and not np.isfinite(only).all()):
        points, labels = read_training(estimator, X, y, several=_ONE_MODEL_A_CLASS)
        return points, labels.classes, labels.signs
    check_classification_targets(y)
    rules = read_advice(estimator.advice)
    both = np.unique(np.array([*only.tolist(), *(rule.label for rule in rules)]))
    if len(both) != 2:
        raise DataError(
            f"y holds only one class, {only[0]!r}, and the advice "
            + ("no other" if len(both) < 2 else f"{len(both) - 1} others")
            + "; a classifier needs two classes to tell apart"
        )
    validate_data(estimator, as_given(X), skip_check_array=True)
    return read_points(estimator, X), both, np.where(labels_met == both[1], 1.0, -1.0)


def _advice_alone(estimator: Any) -> AdviceCase:
    if estimator.advice is None:
        raise DataError("there is neither data nor advice: nothing can be learned")
    rules = read_advice(estimator.advice)
    labels = {rule.label for rule in rules} | set(rules.classes)
    if len(labels) != 2:
        raise DataError(
            f"advice alone must speak of two classes, not of {len(labels)}: "
            f"{', '.join(repr(label) for label in rules.classes)}; declare both with 'classes: ...'"
        )
    names = column_names(rules.space)
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    columns = Columns.match(
        rules.space, names, declared=read_groups(getattr(estimator, "groups", None), names)
    )
    classes = np.unique(np.array(list(labels)))
    nothing = np.zeros(0)
    return AdviceCase(
        None,
        nothing,
        nothing,
        classes,
        rules,
        columns,
        None,
        False,
        tuple(encode_rule(rule, columns) for rule in rules),
        _signs(rules, classes),
    )


def _signs(rules: RuleSet, classes: NDArray[Any]) -> FloatArray:
    positive = as_label(classes[1])
    return np.array([1.0 if rule.label == positive else -1.0 for rule in rules])
