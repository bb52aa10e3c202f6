"""The numbers of a linear classifier in the user's units, ready to decide; no estimator, so that it loads at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.models.margin import Margin
from clearmargin.models.surface import Surface, highest_wins
from clearmargin.rules import FeatureSpace, Hyperplane, RuleSet
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.rule import Label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray
from clearmargin.tables.encoding import column_encoding
from clearmargin.tables.table import name_row
from clearmargin.tables.table_part import over_parts

# What a model remembers of its training, for people: names of programs, numbers of rows.
Facts = Mapping[str, str | int | float]


class Planes:
    """Weights over the encoded columns of a table, with all that a model file holds; see `PlaneModel`."""

    _reads_tables = True  # see `Table.taken_by`

    def __init__(
        self,
        rules: RuleSet,
        weights: Any,
        intercepts: Any,
        *,
        advice: tuple[RuleSet, RuleSet] | None = None,
        fill: Mapping[str, Any] | None = None,
        facts: Facts | None = None,
    ):
        # What a missing value counts as is part of what a feature is, so that rules know it without the model.
        self.rules = rules if not fill else _with_fill(rules, fill)
        self.weights = weights
        self.intercepts = intercepts
        self.advice = advice
        self.fill = fill
        self.facts = facts
        self._prepare()

    def _prepare(self) -> None:
        space, classes = self.rules.space, self.rules.classes
        self.encoding_ = column_encoding(space)
        width, count = len(self.encoding_.sources), len(classes)
        rows = 1 if count == 2 else count
        self.coef_: FloatArray = np.array(self.weights, dtype=np.float64)
        self.intercept_: FloatArray = np.array(self.intercepts, dtype=np.float64)
        if count < 2 or self.coef_.shape != (rows, width) or self.intercept_.shape != (rows,):
            raise InvalidValueError(
                f"{count} classes over {width} encoded columns need weights of shape ({rows}, {width}) and as many "
                f"intercepts, not {self.coef_.shape} and {self.intercept_.shape}"
            )
        if not (np.isfinite(self.coef_).all() and np.isfinite(self.intercept_).all()):
            raise InvalidValueError("weights and intercepts must be finite")
        self.classes_ = _class_array(classes)
        self.n_features_in_ = len(space)
        self.feature_names_in_ = np.array(space.names, dtype=object)

    def with_rules(self, rules: RuleSet, facts: Facts) -> Planes:
        """Give the same planes with the rules extracted from them, and more facts."""
        return Planes(
            RuleSet(rules.rules, rules.space, self.rules.classes),
            self.weights,
            self.intercepts,
            advice=self.advice,
            fill=self.fill,
            facts={**(self.facts or {}), **facts},
        )

    @property
    def space(self) -> FeatureSpace:
        """The features."""
        return self.rules.space

    @property
    def features_used(self) -> list[str]:
        """The features that have a weight."""
        used = (self.coef_ != 0).any(axis=0).tolist()
        sources = self.encoding_.sources
        features = dict.fromkeys(
            source.feature for source, is_used in zip(sources, used, strict=True) if is_used
        )
        return [self.space.names[j] for j in features]

    @property
    def imputed(self) -> dict[str, float | str]:
        """What missing values count as, by the name of the feature."""
        pairs = zip(self.space.names, self.space.fill, strict=True)
        return {name: value for name, value in pairs if value is not None}

    @property
    def hyperplane_(self) -> Hyperplane:
        """The plane over the encoded columns, for two classes."""
        if len(self.classes_) != 2:
            raise InvalidValueError(f"a model of {len(self.classes_)} classes has several planes")
        return Hyperplane(self.coef_[0], float(self.intercept_[0]))

    def surface(self, space: FeatureSpace) -> Surface:
        """Give the surface on which the model changes its mind, over a table with these ranges.

        Parameters
        ----------
        space : FeatureSpace
            The features of the model, with the ranges to use.

        Returns
        -------
        Surface
            What `read_surface` reads, where the model decides over the table as it is.
        """
        pairs = zip(self.coef_, self.intercept_.tolist(), strict=True)
        duels = highest_wins([Margin.of_plane(Hyperplane(coef, b)) for coef, b in pairs])
        return Surface.of(duels, column_encoding(space).sources, space, self.rules.classes)

    @over_parts
    def decision_function(self, X: Any) -> FloatArray:
        """Give the score of each row; for more than two classes, one for each class.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; a data frame may have its columns in any order. In a feature with a weight, a missing value that
            the model does not impute, or a category that it does not know, is an error.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Signed scores, positive for `classes_[1]`; or leads over the first class.
        """
        table = self.encoding_.read(X)
        self._check(table, X)
        points = self.encoding_.spread(table)
        if not np.isfinite(points).all():
            # Where the model has no weight a value may be missing; zero times NaN would be NaN.
            points = np.where(self.coef_.any(axis=0), points, 0.0)
        scores = [
            linear_scores(points, w, float(b))
            for w, b in zip(self.coef_, self.intercept_, strict=True)
        ]
        return scores[0] if len(self.classes_) == 2 else np.stack(scores, axis=1)

    def _check(self, table: FloatArray, X: Any) -> None:
        for problem, wrong in (
            ("is missing or infinite", self.lacks_value(table)),
            ("is no category that the model knows", self.lacks_category(table)),
        ):
            if wrong.any():
                row, column = (int(place[0]) for place in np.nonzero(wrong))
                place = name_row(row, X)
                raise DataError(f"{place}: the value of {self.space.names[column]!r} {problem}")

    @property
    def _has_weight(self) -> BoolArray:
        """Which features have a weight."""
        columns = np.flatnonzero(self.coef_.any(axis=0)).tolist()
        used = np.zeros(len(self.space), dtype=np.bool_)
        used[[self.encoding_.sources[k].feature for k in columns]] = True
        return used

    def lacks_value(self, table: FloatArray) -> BoolArray:
        """Tell for each value of a table, as `encoding_.read` gives it, whether the model needs it and it is none."""
        return np.asarray(~np.isfinite(table) & self._has_weight)

    def lacks_category(self, table: FloatArray) -> BoolArray:
        """Tell for each value of a table whether the model needs it and it is no category that the model knows."""
        named = np.array(
            [categories is not None for categories in self.space.categories], dtype=np.bool_
        )
        return np.asarray((table < 0) & named & self._has_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row; a row on the plane itself gets `classes_[0]`.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        return np.asarray(self.classes_[self.predict_codes(X)])

    def predict_codes(self, X: Any) -> IntArray:
        """Give the class of each row by its position in `classes_`."""
        scores = self.decision_function(X)
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def _with_fill(rules: RuleSet, fill: Mapping[str, Any]) -> RuleSet:
    space = rules.space
    known = {name: value for name, value in fill.items() if name in space.names}
    if all(space.fill[space.index(name)] == value for name, value in known.items()):
        return rules
    return RuleSet(rules.rules, space.with_fill(known), rules.classes)


def _class_array(classes: tuple[Label, ...]) -> NDArray[Any]:
    labels = np.array(classes)
    # numpy makes texts of labels of different types.
    return labels if tuple(labels.tolist()) == classes else np.array(classes, dtype=object)
