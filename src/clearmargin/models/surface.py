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
    ScoreError,
    direct_error,
)
from clearmargin.rules import HalfSpace, Hyperplane
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
    """A plane between two classes: f > 0 speaks for the one, f <= 0 for the other, which also wins ties."""

    positive: int
    negative: int
    plane: Hyperplane


class Lead(NamedTuple):
    """The score of a duel, with the error of computing it."""

    positive: int
    negative: int
    score: ScoreError


def highest_wins(scores: Sequence[ScoreError]) -> tuple[Lead, ...]:
    """Give the duels that come to the same as the highest of several scores, or as the sign of a single one."""
    if len(scores) == 1:
        return (Lead(1, 0, scores[0]),)
    pairs = combinations(range(len(scores)), 2)
    return tuple(Lead(later, first, scores[later].minus(scores[first])) for first, later in pairs)


# Single precision inside a pipeline costs about 1e-7 of the terms of a sum, a few steps several times that.
_CLEAR = 1e-5


def check_agreement(
    estimator: Any,
    X: Any,
    points: FloatArray,
    regions: Sequence[Sequence[HalfSpace]],
    classes: Sequence[object],
) -> None:
    """Refuse a model that says something else than its planes on rows that are clearly in a region."""
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
    """The hyperplanes of a linear classifier in the user's units, with the way from the user's table to them."""

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
        """Count the features of the user's table with a weight, in the plane that has most of them."""
        owners = np.array([source.feature for source in self.sources])
        return max(len(np.unique(owners[duel.plane.coef != 0])) for duel in self.planes)

    def needed_columns(self) -> BoolArray:
        """Tell which encoded columns rules may depend on."""
        used = np.any([duel.plane.coef != 0 for duel in self.planes], axis=0)
        return np.array(
            [
                bool(has) or source.feature in self.asked
                for has, source in zip(used, self.sources, strict=True)
            ]
        )

    def regions(self) -> tuple[tuple[HalfSpace, ...], ...]:
        """Give for each class the half-spaces over the encoded columns whose intersection gets that class."""
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
    """Read the hyperplanes of a fitted linear classifier in the units of the table it was fitted to."""
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
        # Parts with encoders of their own may know different numbers of sources.
        row[: len(duel.score.coef)] = duel.score.coef
    counted = np.asarray(weights.any(axis=0))
    encoding, kept = build_encoding(sources, columns, counted)
    return Surface(
        columns=encoding.columns,
        sources=encoding.sources,
        space=encoding.space,
        asked=encoding.asked,
        classes=tuple(as_label(label) for label in decision.classes),
        planes=tuple(
            Duel(duel.positive, duel.negative, Hyperplane(row[kept], duel.score.constant))
            for duel, row in zip(decision.duels, weights, strict=True)
        ),
        is_partition=not decision.is_vote,
        errors=tuple(duel.score.take(kept) for duel in decision.duels),
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
