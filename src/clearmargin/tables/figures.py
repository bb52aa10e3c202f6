"""How right a model is on rows that it was not trained on, and by how much each figure may be off.

A figure is a share of rows, a mean of shares, or an area under a ROC curve. Each row moves it by its influence value,
and the root of the sum of their squares is its standard error over rows: of a share the binomial one, of an area
DeLong's, of a difference of two figures of the same rows the paired one. Rows of one group move it together.

That is not enough, since training parts of folds share rows, and a model of other rows would be another one. So the
variance over rows or between folds, whichever is larger, is multiplied by ``1 / k + n_test / n_train`` instead of
``1 / k`` (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003). And a share of 0 or
100 % is not known without error: it gets at least that of two more hits and two more misses (Agresti and Coull, 1998).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clearmargin.rules.rule import Label, as_label
from clearmargin.rules.value import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from clearmargin.tables.splitting import Folds

# With two classes, one of fewer than 20 % of the rows is rare; with K of them, one of fewer than 0.4 / K.
_RARE = 0.4


def rare_class(y: NDArray[Any]) -> Label | None:
    """Return a class that is so rare that what is right on most rows may tell nothing about it."""
    labels, counts = np.unique(y, return_counts=True)
    is_rare = counts.min() * len(counts) < _RARE * len(y)
    return as_label(labels[counts.argmin()]) if is_rare else None


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A figure on tested rows."""

    tested: UnseenRows
    value: float
    influence: FloatArray
    least: float = 0.0
    least_apart: float = 0.0
    part: int | None = None
    whole: int | None = None

    @property
    def error(self) -> float:
        """Its standard error."""
        return max(self.tested.error(self.influence), self.least)

    def __sub__(self, other: Figure) -> Figure:
        apart, moved = max(self.least_apart, other.least_apart), self.influence - other.influence
        return Figure(self.tested, self.value - other.value, moved, apart)

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain data for JSON."""
        known = math.isfinite(self.value)
        value, error = (float(self.value), float(self.error)) if known else (None, None)
        return {"value": value, "standard_error": error, "part": self.part, "whole": self.whole}


@dataclass(frozen=True, slots=True, eq=False)
class UnseenRows:
    """The rows that models were tested on which were trained without them."""

    rows: IntArray
    fold: IntArray
    clusters: IntArray
    ratio: float

    @classmethod
    def of(cls, folds: Folds, groups: NDArray[Any] | None = None) -> UnseenRows:
        """Give the tested rows of folds."""
        rows = np.concatenate([test for _, test in folds.pairs])
        fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds.pairs])
        units = np.unique(rows if groups is None else groups[rows], return_inverse=True)[1]
        ratio = float(np.mean([len(test) / len(train) for train, test in folds.pairs]))
        return cls(rows, fold, units.ravel(), ratio)

    def only(self, kept: BoolArray) -> UnseenRows:
        """Give some of the tested rows."""
        return UnseenRows(self.rows[kept], self.fold[kept], self.clusters[kept], self.ratio)

    def share(self, hit: BoolArray, among: BoolArray | None = None) -> Figure:
        """Return the share of the rows, or of those among some, that are hit."""
        among = np.ones(len(hit), dtype=np.bool_) if among is None else among
        part, whole = int((hit & among).sum()), int(among.sum())
        if not whole:
            return Figure(self, math.nan, np.zeros(len(hit)), part=0, whole=0)
        value, n = part / whole, np.count_nonzero(np.bincount(self.clusters[among]))
        pulled = (value * n + 2) / (n + 4)
        least = math.sqrt(pulled * (1 - pulled) / (n + 4))
        influence = among * (hit - value) / whole
        return Figure(self, value, influence, least, 2 / (n + 4), part, whole)

    def mean(self, figures: Sequence[Figure]) -> Figure:
        """Return the mean of those figures that are known."""
        known = [figure for figure in figures if math.isfinite(figure.value)]
        if not known:
            return Figure(self, math.nan, np.zeros(len(self.rows)))
        return Figure(
            self,
            float(np.mean([figure.value for figure in known])),
            np.mean([figure.influence for figure in known], axis=0),
            math.hypot(*(figure.least for figure in known)) / len(known),
            math.hypot(*(figure.least_apart for figure in known)) / len(known),
        )

    def area(self, scores: FloatArray, is_member: BoolArray) -> Figure:
        """Return the area under the ROC curve within folds, whose scores may have different scales."""
        weights, values = [], []
        influence = np.zeros(len(scores))
        for number in np.unique(self.fold):
            mine = self.fold == number
            a, b = mine & is_member, mine & ~is_member
            if a.any() and b.any():
                above = _share_below(scores[a], scores[b])
                value, n = float(above.mean()), int(a.sum())
                influence[a] = above - value
                influence[b] = (1 - _share_below(scores[b], scores[a]) - value) * n / b.sum()
                weights.append(n)
                values.append(value)
        if not weights:
            return Figure(self, math.nan, influence)
        # All right or all wrong: known no better than a share of the rarer rows.
        n = min(sum(weights), len(scores) - sum(weights))
        least = 0.0 if influence.any() else math.sqrt(2 * (n + 2)) / (n + 4) ** 1.5
        return Figure(
            self, float(np.average(values, weights=weights)), influence / sum(weights), least
        )

    def error(self, influence: FloatArray) -> float:
        """Return the standard error of a figure that each row moves by so much."""
        sums = np.bincount(self.clusters, influence)
        over_rows, number = float(sums @ sums), len(np.unique(self.fold))
        k = number * len(np.unique(self.rows)) / len(self.rows)
        variance = k * over_rows
        if number > 1:
            by_fold = number * np.bincount(self.fold, influence)
            variance = max(variance, float(by_fold @ by_fold) / (number - 1))
        return math.sqrt(variance * (1 / k + self.ratio))


def _share_below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each score the share of others below it, ties counting half."""
    ordered = np.sort(others)
    low, high = (np.searchsorted(ordered, scores, side) for side in ("left", "right"))
    return np.asarray((low + high) / (2 * len(others)))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What a way of training predicts for rows that it was not trained on, and how right that is."""

    tested: UnseenRows
    true: IntArray
    predicted: IntArray
    classes: tuple[Label, ...]
    scores: FloatArray | None = None
    rare: Label | None = None

    @classmethod
    def of(
        cls,
        folds: Folds,
        y: NDArray[Any],
        predicted: Sequence[NDArray[Any]],
        scores: Sequence[tuple[NDArray[Any], FloatArray] | None] = (),
        groups: NDArray[Any] | None = None,
    ) -> Evaluation:
        """Put together what the models of folds say: classes, and scores with the classes of the model."""
        labels, codes = np.unique(y, return_inverse=True)
        tested = UnseenRows.of(folds, groups)
        place = {label: code for code, label in enumerate(labels.tolist())}
        given = [place.get(label, -1) for part in predicted for label in part.tolist()]
        table: FloatArray | None = None
        if scores and None not in scores:
            table = np.full((len(given), len(labels)), -np.inf)
            for number, (known, values) in enumerate(filter(None, scores)):
                columns = [place[label] for label in known.tolist()]
                each = np.column_stack([-values, values]) if values.ndim == 1 else values
                table[np.ix_(tested.fold == number, columns)] = each
        classes = tuple(as_label(label) for label in labels)
        true = codes.ravel()[tested.rows]
        return cls(tested, true, np.array(given, dtype=np.intp), classes, table, rare_class(y))

    def only(self, kept: BoolArray) -> Evaluation:
        """Evaluate some of the tested rows."""
        scores = None if self.scores is None else self.scores[kept]
        true, predicted = self.true[kept], self.predicted[kept]
        return Evaluation(self.tested.only(kept), true, predicted, self.classes, scores, self.rare)

    @property
    def accuracy(self) -> Figure:
        """The share of rows on which it is right."""
        return self.tested.share(self.predicted == self.true)

    @property
    def balanced_accuracy(self) -> Figure:
        """The mean over the classes of the share of their rows that is found."""
        return self.tested.mean([self.recall(code) for code in range(len(self.classes))])

    @property
    def auc(self) -> Figure:
        """The area under the ROC curve; of more than two classes, the mean of each against all others."""
        if self.scores is None:
            return self.tested.mean([])
        codes = range(1, 2) if len(self.classes) == 2 else range(len(self.classes))
        return self.tested.mean(
            [self.tested.area(self.scores[:, code], self.true == code) for code in codes]
        )

    def recall(self, code: int) -> Figure:
        """Return the share of the rows of a class that is found."""
        return self.tested.share(self.predicted == code, self.true == code)

    def precision(self, code: int) -> Figure:
        """Return the share of the rows of which a class is predicted that have it."""
        return self.tested.share(self.true == code, self.predicted == code)

    def figure(self, balanced: bool) -> Figure:
        """Return balanced accuracy, or accuracy."""
        return self.balanced_accuracy if balanced else self.accuracy

    @property
    def rarest(self) -> int:
        """The class with the fewest rows among those tested."""
        return int(self.counts.argmin())

    @property
    def counts(self) -> IntArray:
        """How many of the tested rows each class has."""
        return np.bincount(self.true[self.true >= 0], minlength=len(self.classes))

    @property
    def common(self) -> tuple[Label, float]:
        """The most frequent class, and its share of the tested rows."""
        return self.classes[int(self.counts.argmax())], float(self.counts.max() / len(self.true))

    def figures(self) -> dict[str, Figure]:
        """Return all figures by their names, first what tells most."""
        found = {"balanced_accuracy": self.balanced_accuracy, "auc": self.auc}
        if self.rare is None:
            return {"accuracy": self.accuracy, **found}
        code = self.classes.index(self.rare)
        found |= {"recall": self.recall(code), "precision": self.precision(code)}
        return {**found, "accuracy": self.accuracy}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; recall and precision are those of the rare class."""
        facts: dict[str, Any] = {}
        if self.rare is not None:
            share = float(self.counts[self.classes.index(self.rare)] / len(self.true))
            facts = {"rare_class": self.rare, "rare_class_share": share}
        return facts | {name: figure.to_dict() for name, figure in self.figures().items()}
