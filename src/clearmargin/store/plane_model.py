"""A linear classifier as plain numbers in the user's units: what a model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from clearmargin.core import FeatureSpace, Hyperplane, RuleSet
from clearmargin.core.rule import Label
from clearmargin.core.value import FloatArray
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.extract.decision import Decision, Duel, _highest_wins, _read
from clearmargin.extract.encoding import Encoding, Source
from clearmargin.extract.flow import Flow
from clearmargin.extract.surface import Surface, read_surface

__all__ = ["PlaneModel"]

# What a model remembers of its training, for people: names of programs, numbers of rows.
Facts = Mapping[str, str | int | float]


class PlaneModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A trained linear classifier over the columns of the user's table, without the steps that led to it.

    Scaling is multiplied into the weights, and each category has a weight of its own, so that the model takes the table
    as it is. It predicts, and `RuleExtractor` reads rules out of it; it is never trained again.

    Parameters
    ----------
    rules : RuleSet
        The features and the classes, and the rules extracted from the model, if any. Of two classes the second one is
        the positive side.
    weights : array-like of shape (k, n_encoded)
        One row for two classes, else one for each class; a column for each number, and for each category of a feature
        that has some.
    intercepts : array-like of shape (k,)
        Their constants.
    advice : pair of RuleSet, optional
        The advice that the model was trained with: as it was given, and as it was refined.
    fill : mapping from feature to value, optional
        What stands for a missing value of each feature.
    facts : mapping, optional
        Where the model comes from, for people.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_
        As usual; the weights are those of the encoded columns.
    encoding_ : Encoding
        How a table is read.

    See Also
    --------
    save_model : Writes a model to a file.
    load_model : Reads it.

    Examples
    --------
    >>> from clearmargin import FeatureSpace, RuleSet
    >>> features = FeatureSpace(["age", "smoker"], categories={"smoker": ["no", "yes"]})
    >>> model = PlaneModel(RuleSet([], features, ["well", "ill"]), [[0.1, 0.0, 2.0]], [-6.0])
    >>> model.predict([[50, "no"], [50, "yes"]])
    array(['well', 'ill'], dtype='<U4')
    """

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
        self.rules = rules
        self.weights = weights
        self.intercepts = intercepts
        self.advice = advice
        self.fill = fill
        self.facts = facts
        self._prepare()

    def _prepare(self) -> None:
        space, classes = self.rules.space, self.rules.classes
        self.encoding_ = _encoding(space)
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

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, positive: Label | None = None, **more: Any
    ) -> PlaneModel:
        """Read a fitted linear classifier, bare or at the end of a pipeline of affine steps.

        Parameters
        ----------
        estimator : fitted classifier
            What `RuleExtractor` takes.
        X : data frame or array-like of shape (m, n)
            The table it was trained on, for the ranges of the features.
        positive : label, optional
            Of two classes, the one on the positive side.
        **more
            `advice`, `fill` and `facts`.

        Returns
        -------
        PlaneModel
            The same decisions, up to the rounding of the scaling that is multiplied in.
        """
        surface = read_surface(estimator, X)
        return cls._of_surface(surface, RuleSet([], surface.space, surface.classes), positive, more)

    @classmethod
    def _of_surface(
        cls, surface: Surface, rules: RuleSet, positive: Label | None, more: Mapping[str, Any]
    ) -> PlaneModel:
        if not surface.is_partition:
            raise InvalidValueError(
                "a vote of pairs of classes cannot be kept as one plane a class; train with one-vs-rest"
            )
        place = {source: k for k, source in enumerate(_encoding(rules.space).sources)}
        columns = [place[source] for source in surface.sources]
        if len(surface.classes) == 2:
            (duel,) = surface.planes
            order = [surface.classes[duel.negative], surface.classes[duel.positive]]
            planes = [(duel.plane.coef, duel.plane.intercept)]
            if positive is not None and positive != order[1]:
                order, planes = order[::-1], [(-duel.plane.coef, -duel.plane.intercept)]
        else:
            # Only differences of scores are known, and only they count: each class's lead over the first one.
            order = list(surface.classes)
            leads = {d.positive: d.plane for d in surface.planes if d.negative == 0}
            planes = [(np.zeros(len(columns)), 0.0)]
            planes += [(leads[k].coef, leads[k].intercept) for k in range(1, len(order))]
        weights = np.zeros((len(planes), len(place)))
        for row, (coef, _) in zip(weights, planes, strict=True):
            row[columns] = coef
        kept = RuleSet(rules.rules, rules.space, order)
        return cls(kept, weights, [intercept for _, intercept in planes], **more)

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Do nothing: the model is trained.

        Parameters
        ----------
        X, y
            Not looked at.

        Returns
        -------
        PlaneModel
            Itself.
        """
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def space(self) -> FeatureSpace:
        """The features."""
        return self.rules.space

    @property
    def hyperplane_(self) -> Hyperplane:
        """The plane over the encoded columns, for two classes."""
        if len(self.classes_) != 2:
            raise InvalidValueError(f"a model of {len(self.classes_)} classes has several planes")
        return Hyperplane(self.coef_[0], float(self.intercept_[0]))

    def decision_function(self, X: Any) -> FloatArray:
        """Give the score of each row; for more than two classes, one for each class.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The rows; a data frame may have its columns in any order. A missing value, or a category that the model
            does not know, is an error.

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Signed scores, positive for `classes_[1]`; or leads over the first class.
        """
        table = self.encoding_.read(X)
        self._check(table)
        points = self.encoding_.encode(X)
        # One plane at a time, as linear classifiers do it: the same order of additions, the same last digits.
        scores = [points @ w + b for w, b in zip(self.coef_, self.intercept_, strict=True)]
        return scores[0] if len(self.classes_) == 2 else np.stack(scores, axis=1)

    def _check(self, table: FloatArray) -> None:
        named = np.array([kinds is not None for kinds in self.space.categories], dtype=np.bool_)
        for problem, wrong in (
            ("is missing or infinite", ~np.isfinite(table)),
            ("is no category that the model knows", (table < 0) & named),
        ):
            if wrong.any():
                row, column = (int(place[0]) for place in np.nonzero(wrong))
                raise DataError(f"row {row}: the value of {self.space.names[column]!r} {problem}")

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
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])


def _class_array(classes: tuple[Label, ...]) -> NDArray[Any]:
    labels = np.array(classes)
    # numpy makes texts of labels of different types.
    return labels if tuple(labels.tolist()) == classes else np.array(classes, dtype=object)


def _encoding(space: FeatureSpace) -> Encoding:
    """Every number is a column, and every category of the others."""
    sources, names = [], []
    for j, (name, kinds) in enumerate(zip(space.names, space.categories, strict=True)):
        sources += [Source(j, code) for code in ([None] if kinds is None else range(len(kinds)))]
        names += [name] if kinds is None else [f"{name}={kind}" for kind in kinds]
    feature = [source.feature for source in sources]
    named = np.array([source.code is not None for source in sources], dtype=np.bool_)
    columns = FeatureSpace(
        names,
        np.where(named, 0.0, space.lower[feature]),
        np.where(named, 1.0, space.upper[feature]),
        named | space.integer[feature],
    )
    return Encoding(columns, tuple(sources), space)


@_read.register(PlaneModel)
def _(estimator: PlaneModel, flow: Flow) -> Decision:
    """Say to `RuleExtractor` how the model decides."""
    sources, encoding = flow.sources, estimator.encoding_
    places = []
    for feature, code in encoding.sources:
        origin = flow.origin[feature]
        if origin is None:
            raise InvalidValueError(
                "a loaded model takes the table as it is; leave out the steps of the pipeline before it"
            )
        kinds = estimator.space.categories[feature]
        if code is None or kinds is None:
            places.append(origin)
        else:
            places.append(sources.indicator(origin, kinds[code]))
    scores = []
    for coef, intercept in zip(estimator.coef_, estimator.intercept_, strict=True):
        weights = np.zeros(len(sources))
        weights[places] = coef
        scores.append(Hyperplane(weights, float(intercept)))
    if len(scores) == 1:
        return Decision(estimator.classes_, tuple(scores), (Duel(1, 0, scores[0]),))
    return Decision(estimator.classes_, tuple(scores), _highest_wins(tuple(scores)))
