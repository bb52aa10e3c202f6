"""A linear classifier as plain numbers in the user's units: what a model file holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.decision import Decision, register_reader
from clearmargin.models.flow import Flow
from clearmargin.models.margin import Margin
from clearmargin.models.planes import Planes
from clearmargin.models.surface import Surface, highest_wins, read_surface
from clearmargin.rules import Hyperplane, RuleSet
from clearmargin.rules.rule import Label
from clearmargin.tables.encoding import column_encoding


class PlaneModel(ClassifierMixin, Planes, BaseEstimator):  # type: ignore[misc]
    """A trained linear classifier over the columns of the user's table, without the steps that led to it.

    Scaling is multiplied into the weights, and each category has a weight of its own, so that the model takes the table
    as it is. It predicts, and `RuleExtractor` reads rules out of it; it is never trained again. So it refuses to be
    cloned, which cross-validation does with every model: its figures would be those of rows that it has seen.

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

    @classmethod
    def of_planes(cls, planes: Planes) -> PlaneModel:
        """Make an estimator of planes that were read from a file."""
        return cls(
            planes.rules,
            planes.weights,
            planes.intercepts,
            advice=planes.advice,
            fill=planes.fill,
            facts=planes.facts,
        )

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
        sources = column_encoding(rules.space).sources
        order = list(surface.classes)
        if len(order) == 2:
            (duel,) = surface.duels
            order, margins = [order[duel.negative], order[duel.positive]], [duel.margin]
            if positive is not None and positive != order[1]:
                order, margins = order[::-1], [duel.margin.reversed()]
            weights = [margin.weights(sources) for margin in margins]
            intercepts = [margin.constant for margin in margins]
        else:
            # Only differences of scores are known, and only they count: each class's lead over the first one.
            leads = {duel.positive: duel.margin for duel in surface.duels if duel.negative == 0}
            weights = [np.zeros(len(sources))]
            weights += [leads[k].weights(sources) for k in range(1, len(order))]
            intercepts = [0.0, *(leads[k].constant for k in range(1, len(order)))]
        return cls(RuleSet(rules.rules, rules.space, order), weights, intercepts, **more)

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

    def __sklearn_clone__(self) -> Self:
        # A copy would keep its weights, and cross-validation would judge it on rows that it was trained on.
        raise InvalidValueError(
            "PlaneModel is trained already and cannot be cloned into an untrained model, which cross-validation and "
            "searches need; give them the estimator that it was made from. It can be judged as it is on rows that had "
            "no part in its training: score(X, y)"
        )


@register_reader(PlaneModel)
def read_encoded(estimator: Any, flow: Flow) -> Decision:
    """Say to `RuleExtractor` how a model over the encoded columns of a table decides."""
    sources, encoding = flow.sources, estimator.encoding_
    space = encoding.space
    places = []
    for feature in range(len(space)):
        origin, value = flow.origin[feature], space.fill[feature]
        if origin is not None and value is not None:
            sources.note_fill(origin, value)
    for feature, code in encoding.sources:
        origin = flow.origin[feature]
        if origin is None:
            raise InvalidValueError(
                "a loaded model takes the table as it is; leave out the steps of the pipeline before it"
            )
        categories = space.categories[feature]
        if code is None or categories is None:
            places.append(origin)
        else:
            places.append(sources.indicator(origin, categories[code]))
    scores = []
    for coef, intercept in zip(estimator.coef_, estimator.intercept_, strict=True):
        weights = np.zeros(len(sources))
        weights[places] = coef
        scores.append(Margin.of_plane(Hyperplane(weights, float(intercept)), sources.unit))
    return Decision(estimator.classes_, tuple(scores), highest_wins(scores))
