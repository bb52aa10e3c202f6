"""How a linear classifier decides, in the user's units: by how much each class wins over another one.

A `Margin` is a linear function of the user's features with the bound on what rounding does to it; several of them
decide among more than two classes. scikit-learn is imported when a model is read, so that a saved model predicts
without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from clearmargin.exceptions import InvalidValueError
from clearmargin.models.margin import DOUBLE, SINGLE, Margin
from clearmargin.rules import FeatureSpace, Hyperplane
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray
from clearmargin.tables.encoding import (
    Encoding,
    Source,
    build_encoding,
    column_encoding,
    has_unknown_category,
)
from clearmargin.tables.table import ModelTable


class Duel(NamedTuple):
    """Two classes, and the margin of the first over the second one, which wins ties."""

    positive: int
    negative: int
    margin: Margin


def highest_wins(scores: Sequence[Margin]) -> tuple[Duel, ...]:
    """Give the duels that come to the same as the highest of several scores, or as the sign of a single one."""
    if len(scores) == 1:
        return (Duel(1, 0, scores[0]),)
    pairs = combinations(range(len(scores)), 2)
    return tuple(Duel(later, first, scores[later].minus(scores[first])) for first, later in pairs)


# Single precision inside a pipeline costs about 1e-7 of the terms of a sum, a few steps several times that.
_CLEAR = 1e-5
# Many enough to meet a step that does something else than its class promises, few enough to cost nothing.
_ROWS_TRIED = 1_000


def check_agreement(estimator: Any, X: Any, points: FloatArray, surface: Surface) -> None:
    """Refuse a model that says something else than its margins on rows that are clearly of a class."""
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
    for k, label in enumerate(estimator.classes_):
        clear = np.ones(len(points), dtype=np.bool_)
        for margin in surface.margins(k):
            used = np.flatnonzero(margin.coef)
            size = linear_scores(
                np.abs(points[:, used]), np.abs(margin.coef[used]), abs(margin.constant)
            )
            for j, table in margin.tables.items():
                size = size + np.abs(table)[points[:, j].astype(np.intp)]
            clear &= margin.values(points) > _CLEAR * size
        wrong = np.flatnonzero(clear & (predicted != label))
        if len(wrong):
            row = int(wrong[0])
            raise InvalidValueError(
                f"{kind} does not decide as its planes do: on row {row + 1} of the rows tried they say {label!s}, the "
                f"model {predicted[row]!s}. Some part of it is not what its class promises; a linear classifier "
                "after affine steps is what can be read"
            )


@dataclass(frozen=True, eq=False)
class Surface(Encoding):
    """The margins by which a linear classifier decides, over the user's features: numbers, and codes of categories."""

    classes: tuple[Label, ...]
    duels: tuple[Duel, ...]
    is_partition: bool

    @classmethod
    def of(
        cls,
        duels: Sequence[Duel],
        sources: Sequence[Source],
        space: FeatureSpace,
        classes: Sequence[Label],
        *,
        is_partition: bool = True,
        asked: tuple[int, ...] = (),
    ) -> Surface:
        """Make a surface of margins over columns of numbers and 0/1 columns of categories."""
        given = {source.feature for source in sources}
        return cls(
            space,
            tuple(Source(j, None) for j in range(len(space))),
            space,
            asked=asked,
            unused=tuple(j for j in range(len(space)) if j not in given),
            classes=tuple(classes),
            duels=tuple(d._replace(margin=d.margin.gathered(sources, space)) for d in duels),
            is_partition=is_partition,
        )

    @property
    def hyperplane(self) -> Hyperplane:
        """The plane of a model of two classes, over columns of numbers and 0/1 columns of categories."""
        if len(self.classes) != 2:
            raise InvalidValueError(
                f"a model of {len(self.classes)} classes has more than one hyperplane; see duels"
            )
        (margin,) = self.margins(1)
        return Hyperplane(margin.weights(self.one_hot.sources), margin.constant)

    @cached_property
    def one_hot(self) -> Encoding:
        """The columns of numbers and 0/1 columns of categories that the model takes."""
        return column_encoding(self.space, self.unused)

    def count_features(self) -> int:
        """Count the features with a weight, in the margin that has most of them."""
        return max(len(duel.margin.features) for duel in self.duels)

    def needed_features(self) -> BoolArray:
        """Tell which features rules may depend on."""
        needed = np.zeros(len(self.space), dtype=np.bool_)
        needed[list(self.asked)] = True
        for duel in self.duels:
            needed[duel.margin.features] = True
        return needed

    def margins(self, k: int) -> tuple[Margin, ...]:
        """Give the margins of a class: where the model is certain of all of them, it predicts the class."""
        return tuple(
            duel.margin if duel.positive == k else duel.margin.reversed()
            for duel in self.duels
            if k in (duel.positive, duel.negative)
        )


def read_surface(estimator: Any, X: Any) -> Surface:
    """Read the margins of a fitted linear classifier in the units of the table it was fitted to."""
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
    # Parts with encoders of their own may know different numbers of sources.
    duels = [each._replace(margin=each.margin.padded(len(sources))) for each in decision.duels]
    counted = np.any([duel.margin.coef != 0 for duel in duels], axis=0)
    encoding, kept = build_encoding(sources, table.columns, counted)
    surface = Surface.of(
        [duel._replace(margin=duel.margin.take(kept)) for duel in duels],
        encoding.sources,
        encoding.space,
        [as_label(label) for label in decision.classes],
        is_partition=not decision.is_vote,
        asked=encoding.asked,
    )
    # Try it on rows without missing values and unknown categories, spread over a table that may be sorted by class.
    sample = table.table.take(
        np.arange(0, len(table.table), max(1, len(table.table) // _ROWS_TRIED))
    )
    values = surface.read(sample)
    usable = ~np.isnan(values[:, [j for j in range(len(surface.space)) if j not in surface.unused]])
    rows = np.flatnonzero(usable.all(axis=1) & ~has_unknown_category(surface, values))
    check_agreement(estimator, sample.take(rows).taken_by(estimator), values[rows], surface)
    return surface
