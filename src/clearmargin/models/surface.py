"""The surface on which a linear classifier changes its prediction, in the user's units.

A `Duel` is a plane between two classes; several of them decide among more. `check_agreement` tests that the model
predicts what its planes say. scikit-learn is imported when a model is read, so that a saved model predicts without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.score_error import (
    DOUBLE,
    SINGLE,
    Guard,
    PipelinePlane,
    ScoreError,
    direct_error,
)
from clearmargin.rules import HalfSpace, Hyperplane, Polyhedron
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import Encoding, Source, build_encoding
from clearmargin.tables.table import Column, ModelTable, Table

if TYPE_CHECKING:
    from clearmargin.models.decision import Decision
    from clearmargin.models.flow import Sources

__all__ = ["Duel", "Source", "Surface", "check_agreement", "highest_wins", "read_surface"]


class Duel(NamedTuple):
    """A plane between two classes: f > 0 speaks for the one, f <= 0 for the other, which also wins ties.

    Parameters
    ----------
    positive, negative : int
        Positions of the two classes among all classes.
    plane : Hyperplane
        The plane f = 0.

    Examples
    --------
    >>> Duel(1, 0, Hyperplane([2.0], -1.0)).plane.side(1).contains([[0.5], [0.75]])
    array([False,  True])
    """

    positive: int
    negative: int
    plane: Hyperplane


def highest_wins(scores: tuple[Hyperplane, ...]) -> tuple[Duel, ...]:
    """Give the duels that come to the same as the highest of several scores.

    Parameters
    ----------
    scores : tuple of Hyperplane
        The score of each class.

    Returns
    -------
    tuple of Duel
        One for each pair. Of equal scores the first wins, as in `numpy.argmax`: the later class must be strictly
        better.

    Examples
    --------
    >>> highest_wins((Hyperplane([2.0], 0.0), Hyperplane([3.0], -1.0)))
    (Duel(positive=1, negative=0, plane=Hyperplane([1.0], -1.0)),)
    """
    return tuple(
        Duel(later, first, _difference(scores[later], scores[first]))
        for first, later in combinations(range(len(scores)), 2)
    )


def _difference(f: Hyperplane, g: Hyperplane) -> Hyperplane:
    # Parts with encoders of their own may know different numbers of sources.
    return PipelinePlane(direct_error(f).minus(direct_error(g)))


# Single precision inside a pipeline costs about 1e-7 of the terms of a sum, a few steps several times that.
_CLEAR = 1e-5


def check_agreement(
    estimator: Any,
    X: Any,
    points: FloatArray,
    regions: Sequence[Sequence[HalfSpace]],
    classes: Sequence[object],
) -> None:
    """Refuse a model that says something else than its planes on rows that are clearly in a region.

    A subclass may transform otherwise than its class promises, and a classifier with weights need not
    decide by them alone. No list of classes protects against that, a trial does.

    Parameters
    ----------
    estimator : fitted classifier
        The model.
    X : data frame or ndarray of shape (m, n)
        Rows as the model takes them.
    points : ndarray of shape (m, n_encoded)
        The same rows as the planes take them.
    regions : sequence of sequences of HalfSpace
        For each class the half-spaces whose intersection should get it.
    classes : sequence
        The classes as the model predicts them.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from clearmargin.rules import Hyperplane
    >>> X, plane = np.array([[-1.0], [2.0]]), Hyperplane([1.0], 0.0)
    >>> never = DummyClassifier(strategy="constant", constant="no").fit(X, ["no", "yes"])
    >>> check_agreement(never, X, X, [[plane.side(-1)], [plane.side(1)]], ["no", "yes"])
    Traceback (most recent call last):
    clearmargin.exceptions.InvalidValueError: DummyClassifier does not decide as its planes do: on row 2 ...
    """
    if not len(points):
        return
    with warnings.catch_warnings():
        # Names that only the table or only the model has change nothing here.
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        predicted = np.asarray(estimator.predict(X))
    kind = type(estimator).__name__
    if predicted.ndim != 1:
        raise InvalidValueError(
            f"{kind} predicts several labels at once; rules need one class a row"
        )
    for label, sides in zip(classes, regions, strict=True):
        wrong = np.flatnonzero(_clearly_inside(points, sides) & (predicted != label))
        if len(wrong):
            row = int(wrong[0])
            raise InvalidValueError(
                f"{kind} does not decide as its planes do: on row {row + 1} of the rows tried they say {label!s}, the "
                f"model {predicted[row]!s}. Some part of it is not what its class promises; a linear classifier "
                "after affine steps is what can be read"
            )


def _clearly_inside(points: FloatArray, sides: Sequence[HalfSpace]) -> BoolArray:
    inside = np.ones(len(points), dtype=np.bool_)
    for side in sides:
        plane = side.hyperplane
        size = linear_scores(np.abs(points), np.abs(plane.coef), abs(plane.intercept))
        inside &= side.sign * plane.decision(points) > _CLEAR * size
    return inside


@dataclass(frozen=True, slots=True, eq=False)
class Surface(Encoding):
    """The hyperplanes of a linear classifier in the user's units, with the way from the user's table to them.

    Planes live on *encoded* columns: a feature that is a number is one column, unscaled; a
    categorical feature is one 0/1 column for each of its categories. Features that the model drops and that are no
    numbers have no column.

    Parameters
    ----------
    columns : FeatureSpace
        The encoded columns.
    sources : tuple of Source
        For each encoded column, the feature it comes from and, for a 0/1 column, the code of its category.
    space : FeatureSpace
        The user's features, in the order of the table.
    classes : tuple of labels
        The classes of the model.
    planes : tuple of Duel
        Planes between two classes; f > 0 speaks for `positive`, f <= 0 for `negative`. Two classes have one plane,
        and its positive class is the second one, except where the model gives ties to the second class
        (`SVC`, `NuSVC`).
    is_partition : bool
        Whether each point is in some region. It is not where three or more classes are decided by a vote of pairs.
    errors : tuple of ScoreError
        For each plane what rounding does to the score that the model computes; empty where the planes themselves are
        what is computed.

    See Also
    --------
    read_surface : Reads the surface of a fitted classifier.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> surface = read_surface(RidgeClassifier().fit(X, ["no", "no", "yes", "yes"]), X)
    >>> [duel[:2] for duel in surface.planes]
    [(1, 0)]
    >>> [side.contains([[2.5], [3.0]]).tolist() for (side,) in surface.regions()]
    [[True, False], [False, True]]
    """

    classes: tuple[Label, ...]
    planes: tuple[Duel, ...]
    is_partition: bool
    errors: tuple[ScoreError, ...] = ()

    @property
    def hyperplane(self) -> Hyperplane:
        """The plane of a model of two classes, positive for the second class whatever happens to ties."""
        if len(self.classes) != 2:
            raise InvalidValueError(
                f"a model of {len(self.classes)} classes has more than one hyperplane; see planes"
            )
        duel = self.planes[0]
        if duel.positive == 1:
            return duel.plane
        return Hyperplane(-duel.plane.coef, -duel.plane.intercept)

    def count_features(self) -> int:
        """Count the features of the user's table with a weight, in the plane that has most of them.

        Returns
        -------
        int
            A categorical feature counts once, whatever the number of its categories.
        """
        owners = np.array([source.feature for source in self.sources])
        return max(len(np.unique(owners[duel.plane.coef != 0])) for duel in self.planes)

    def needed_columns(self, relations: Polyhedron | None = None) -> BoolArray:
        """Tell which encoded columns rules may depend on.

        Parameters
        ----------
        relations : Polyhedron, optional
            What every case satisfies, over the user's features; a row that lacks a value there does not.

        Returns
        -------
        ndarray of bool of shape (n_encoded,)
            Those with a weight in a plane; those of features whose missing values are a category of the model, which
            may have a weight of its own; and those of features in relations.
        """
        used = np.any([duel.plane.coef != 0 for duel in self.planes], axis=0)
        tied = set(self.asked) | set(() if relations is None else relations.bounded)
        return np.array(
            [
                bool(has) or source.feature in tied
                for has, source in zip(used, self.sources, strict=True)
            ]
        )

    def regions(self) -> tuple[tuple[HalfSpace, ...], ...]:
        """Give for each class the half-spaces over the encoded columns whose intersection gets that class.

        Returns
        -------
        tuple of tuples of HalfSpace
            Open and closed as the model breaks ties. The regions never overlap. Where `is_partition` is False, a
            region is the part in which its class wins all duels; a vote can be won outside of it, too.
        """
        return tuple(
            tuple(
                duel.plane.side(1 if duel.positive == k else -1)
                for duel in self.planes
                if k in (duel.positive, duel.negative)
            )
            for k in range(len(self.classes))
        )

    def guards(self) -> tuple[tuple[Guard, ...], ...]:
        """Give for each class what proves a box, one guard for each half-space of `regions`."""
        errors = self.errors or tuple(direct_error(duel.plane) for duel in self.planes)
        return tuple(
            tuple(
                Guard(duel.plane.side(1 if duel.positive == k else -1), error)
                for duel, error in zip(self.planes, errors, strict=True)
                if k in (duel.positive, duel.negative)
            )
            for k in range(len(self.classes))
        )


def read_surface(estimator: Any, X: Any) -> Surface:
    """Read the hyperplanes of a fitted linear classifier in the units of the table it was fitted to.

    The classifier may stand at the end of pipelines of affine steps: scalers, selections, encoders of categories,
    column transformers, linear projections. Imputers count as affine: fixed values that they put in the place of
    missing ones become the `fill` of the space, and rows without missing values pass unchanged. What was read is
    tried on the rows of X: a model that decides otherwise than its planes is refused.

    Parameters
    ----------
    estimator : fitted classifier
        With `coef_` and `intercept_`, a linear `SVC`, or a `Pipeline`, `GridSearchCV`, `OneVsRestClassifier`,
        `OneVsOneClassifier`, `RFE`, `FrozenEstimator`, `FixedThresholdClassifier` or `TunedThresholdClassifierCV`
        around such classifiers.
    X : data frame or array-like of shape (m, n)
        The table as the model takes it. The columns of a data frame are found by their names.

    Returns
    -------
    Surface
        Planes, regions of the classes and the encoding of the table.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> X = [[20.0, 1.0], [60.0, 3.0], [40.0, 1.0], [60.0, 1.0]]
    >>> model = make_pipeline(MinMaxScaler(), RidgeClassifier()).fit(X, ["no", "yes", "no", "yes"])
    >>> surface = read_surface(model, X)
    >>> bool(np.allclose(surface.hyperplane.decision(surface.encode(X)), model.decision_function(X)))
    True
    """
    from clearmargin.models.decision import read_decision
    from clearmargin.models.fitted import check_fitted
    from clearmargin.models.flow import Flow, Sources

    check_fitted(estimator)
    table = ModelTable.read(estimator, X)
    sources = Sources(
        [column.name for column in table.columns],
        SINGLE if table.table.is_single_precision else DOUBLE,
    )
    decision = read_decision(estimator, Flow.start(sources, table.order))
    surface = _assemble(decision, sources, table.columns)
    _try(estimator, decision, surface, table.table)
    return surface


def _assemble(decision: Decision, sources: Sources, columns: Sequence[Column]) -> Surface:
    weights = np.zeros((len(decision.duels), len(sources)))
    for row, duel in zip(weights, decision.duels, strict=True):
        row[: duel.plane.n_features] = duel.plane.coef
    counted = np.asarray(weights.any(axis=0))
    encoding, kept = build_encoding(sources, columns, counted)
    return Surface(
        columns=encoding.columns,
        sources=encoding.sources,
        space=encoding.space,
        asked=encoding.asked,
        classes=tuple(as_label(label) for label in decision.classes),
        planes=tuple(
            Duel(duel.positive, duel.negative, Hyperplane(row[kept], duel.plane.intercept))
            for duel, row in zip(decision.duels, weights, strict=True)
        ),
        is_partition=not decision.is_vote,
        errors=tuple(direct_error(duel.plane, sources.unit).take(kept) for duel in decision.duels),
    )


# Many enough to meet a step that does something else than its class promises, few enough to cost nothing.
_ROWS_TRIED = 1_000


def _try(estimator: Any, decision: Decision, surface: Surface, table: Table) -> None:
    """Compare the model with its planes on rows without missing values and without categories it does not know."""
    # Spread over the table, which may be sorted by class.
    sample = table.take(np.arange(0, len(table), max(1, len(table) // _ROWS_TRIED)))
    values, points = surface.read(sample), surface.encode(sample)
    named = sorted({source.feature for source in surface.sources if source.code is not None})
    usable = ~np.isnan(points).any(axis=1) & (values[:, named] >= 0).all(axis=1)
    rows = np.flatnonzero(usable)
    check_agreement(
        estimator,
        sample.take(rows).taken_by(estimator),
        points[rows],
        surface.regions(),
        list(decision.classes),
    )
