"""Distil the plane of a linear model to few features, and measure how faithful that is.

Rules of a plane with many features cover little: of the corner that a plane cuts off, one box on n features holds at
most n!/n^n. A plane with few of its features that decides nearly as the model does can be explained far better. It is
another model, though: what is proved of it is not proved of the model it was distilled from, so the agreement of the
two is measured and said before anything else.

1. A lasso of the model's score, over standardised columns, chooses the features: the first `max_features` that enter
   the path of Efron, Hastie, Johnstone and Tibshirani (Annals of Statistics 32, 2004). All columns of a category are
   one feature. Scores beyond twice the median of their magnitude are cut there: rows far from the plane are no
   question, and a few of them would decide which features enter.
2. A 1-norm support vector machine over the columns of these features is trained on the classes that the model itself
   predicts; the labels of the table have no part in it. Where no weight is worth its price, the column that moves the
   model's score most is cut where that agrees with the model most often, since a constant has no rules.
3. Both steps are repeated without a fifth of the rows, and the plane is compared with the model on those. Equal rows
   are in the same fifth, and which fifth depends on the values of a row alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.lp_svm.path import features_within
from clearmargin.lp_svm.program import LPSVMData
from clearmargin.lp_svm.sifting import solve_lpsvm
from clearmargin.models.margin import Margin
from clearmargin.models.surface import Duel, Surface
from clearmargin.rules import Hyperplane
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.rules.value import BoolArray, FloatArray, IntArray, is_point
from clearmargin.tables.row_order import canonical_order

_FOLDS = 5
# More rows than this change no choice of a few features, and cost time.
_MOST_ROWS = 5_000
# The cost of all margins together, as a multiple of the number of rows, against weights of standardised columns. A
# plane of few columns that is trained on classes without noise needs hardly any penalty.
_COST = 1.0
# Where scores are cut, in medians of their magnitude: 4 of 57 features agree with a model of spam on 84 % instead of
# 68 % of other rows, and elsewhere nothing changes by much.
_FAR = 2.0
# Columns from which on the path is found without the products of all their pairs.
_WIDE = 2_000
# Of equal columns the first one enters the path, whatever the processor rounds.
_PREFERENCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Distillation:
    """A plane with few of the features of a linear model, and how often the two agree.

    Parameters
    ----------
    surface : Surface
        The distilled plane.
    features : tuple of str
        The features that were chosen, in the order of the table.
    n_features : int
        How many features the plane of the model has.
    rows, agreed : int
        Training rows, and how many of them get the same class of both.
    held_out_rows, held_out_agreed : int
        The same for rows that had no part in the choice of features nor in the plane; 0 rows where a class has too few
        of them to hold any out.

    See Also
    --------
    distil : Makes it.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from clearmargin import RuleExtractor
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> extractor = RuleExtractor(RidgeClassifier(), max_features=4).fit(X, y)
    >>> extractor.distillation_.n_features, len(extractor.distillation_.features)
    (9, 4)
    """

    surface: Surface
    features: tuple[str, ...]
    n_features: int
    rows: int
    agreed: int
    held_out_rows: int
    held_out_agreed: int

    @property
    def plane(self) -> Hyperplane:
        """The distilled plane over the encoded columns, positive for the second class."""
        return self.surface.hyperplane

    @property
    def fidelity(self) -> float:
        """Share of held-out rows of which the distilled plane says the same as the model; NaN where none were."""
        return self.held_out_agreed / self.held_out_rows if self.held_out_rows else float("nan")

    @property
    def training_fidelity(self) -> float:
        """Share of the training rows of which the distilled plane says the same as the model."""
        return self.agreed / self.rows

    @property
    def agreement(self) -> str:
        """How often the distilled plane agrees with the model, as the rest of a sentence about it."""
        if not self.held_out_rows:
            return f"agrees with the model on {self.agreed} of {self.rows} training rows"
        return f"agrees with the model on {100 * self.fidelity:.1f} % of rows held out from it"

    def __str__(self) -> str:
        training = f" and {100 * self.training_fidelity:.1f} % of the training rows"
        return (
            f"a plane that {self.agreement}{training if self.held_out_rows else ''}, distilled from the "
            f"{self.n_features} features of the model to {len(self.features)}: {', '.join(self.features)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give what is known as plain data.

        Returns
        -------
        dict
            `text`; `features`, `n_features`; `fidelity` on held-out rows (None where there were none) with their
            number, and `training_fidelity`.
        """
        return {
            "text": str(self),
            "features": list(self.features),
            "n_features": self.n_features,
            "fidelity": self.fidelity if self.held_out_rows else None,
            "held_out_rows": self.held_out_rows,
            "training_fidelity": self.training_fidelity,
            "rows": self.rows,
        }


def distil(surface: Surface, table: FloatArray, max_features: int) -> Distillation:
    """Distil the plane of a model of two classes to at most `max_features` features of the user's table."""
    points = surface.one_hot.spread(table)
    points = points[is_point(points)]
    if len(surface.classes) != 2:
        raise InvalidValueError(
            f"Only binary classification is supported with max_features: a plane that is distilled speaks of two "
            f"classes, and the model has {len(surface.classes)}; leave max_features out, or train one model for each "
            "class"
        )
    n_features, given = surface.count_features(), surface.hyperplane
    is_positive = linear_scores(points, given.coef, given.intercept) > 0
    if n_features <= max_features:
        return _measured(surface, surface, points, is_positive, (len(points), len(points)))
    if is_positive.all() or not is_positive.any():
        raise DataError(
            "the model predicts the same class for all rows, so that there is nothing to distil a plane from; leave "
            "out max_features, or give rows of both classes"
        )
    task = _Task(points, is_positive, given, _owners(surface), max_features)
    coef, intercept = task.plane(np.arange(len(points)))
    distilled = Surface.of(
        [Duel(1, 0, Margin.of_plane(Hyperplane(coef, intercept)))],
        surface.one_hot.sources,
        surface.space,
        surface.classes,
        asked=surface.asked,
    )
    return _measured(surface, distilled, points, is_positive, task.held_out())


def _measured(
    given: Surface,
    distilled: Surface,
    points: FloatArray,
    is_positive: BoolArray,
    held_out: tuple[int, int],
) -> Distillation:
    """Compare a distilled plane with the model on the training rows."""
    plane = distilled.hyperplane
    same = (linear_scores(points, plane.coef, plane.intercept) > 0) == is_positive
    chosen = np.unique(_owners(distilled)[plane.coef != 0]).tolist()
    return Distillation(
        distilled,
        tuple(distilled.space.names[feature] for feature in chosen),
        given.count_features(),
        len(points),
        int(np.count_nonzero(same)),
        *held_out,
    )


def _owners(surface: Surface) -> IntArray:
    return np.array([source.feature for source in surface.one_hot.sources], dtype=np.intp)


@dataclass(frozen=True, slots=True)
class _Task:
    """Rows with the classes that the model predicts, the plane of the model and the features of its columns."""

    points: FloatArray
    is_positive: BoolArray
    given: Hyperplane
    owners: IntArray
    max_features: int

    def plane(self, rows: IntArray) -> tuple[FloatArray, float]:
        """Choose features and train a plane over them on some of the rows."""
        rows = canonical_order(self.points, rows, _MOST_ROWS)
        X = self.points[rows]
        scales = _spreads(X)
        columns = self._choose(X, scales)
        data = LPSVMData(
            X[:, columns] / scales[columns],
            np.where(self.is_positive[rows], 1.0, -1.0),
            np.full(len(rows), _COST),
        )
        solution = solve_lpsvm(data)
        coef = np.zeros(self.points.shape[1])
        coef[columns] = solution.w / scales[columns]
        if not coef.any():
            return self._single_column(X, self.is_positive[rows])
        return coef, solution.b

    def _single_column(self, X: FloatArray, is_positive: BoolArray) -> tuple[FloatArray, float]:
        """Give the plane of the column that moves the model's score most, where no margin is worth any weight."""
        reach = np.abs(self.given.coef) * np.ptp(X, axis=0)
        column = int(np.argmax(reach))
        coef = np.zeros(X.shape[1])
        coef[column] = self.given.coef[column]
        order = np.argsort(coef[column] * X[:, column], kind="stable")
        scores, said = coef[column] * X[order, column], is_positive[order]
        # With k rows below the plane: right are the negative ones of these, and the positive ones of the others.
        agreed = np.cumsum(~said)[:-1] + np.cumsum(said[::-1])[::-1][1:]
        agreed[scores[1:] == scores[:-1]] = -1
        k = int(np.argmax(agreed))
        return coef, -(float(scores[k]) / 2.0 + float(scores[k + 1]) / 2.0)

    def _choose(self, X: FloatArray, scales: FloatArray) -> IntArray:
        """Return the columns of the features that enter a lasso of the model's score first."""
        used = np.flatnonzero(
            np.isin(self.owners, self.owners[self.given.coef != 0]) & (np.ptp(X, axis=0) > 0)
        )
        groups = self.owners[used]
        if len(np.unique(groups)) <= self.max_features:
            return used
        Z = (X[:, used] - X[:, used].mean(axis=0)) / scales[used]
        Z *= 1.0 - _PREFERENCE * np.arange(len(used)) / len(used)
        score = linear_scores(X, self.given.coef, self.given.intercept)
        far = _FAR * float(np.median(np.abs(score)))
        score = np.clip(score, -far, far) if far > 0 else score
        path = _lasso_path(Z, score - score.mean(), groups, self.max_features)
        return used[features_within(sparse.csr_array(path), self.max_features, groups)]

    def held_out(self) -> tuple[int, int]:
        """Count the rows of all folds, and those of which a plane of the other folds says the same as the model."""
        folds = self._folds()
        if folds is None:
            return 0, 0
        agreed = 0
        for fold in range(_FOLDS):
            test = folds == fold
            coef, intercept = self.plane(np.flatnonzero(~test))
            said = linear_scores(self.points[test], coef, intercept) > 0
            agreed += int(np.count_nonzero(said == self.is_positive[test]))
        return len(self.points), agreed

    def _folds(self) -> IntArray | None:
        """Give the fold of each row, by its values; None where a class has fewer different rows than folds."""
        folds = np.empty(len(self.points), dtype=np.intp)
        for side in (True, False):
            rows = canonical_order(self.points, np.flatnonzero(self.is_positive == side))
            ordered = self.points[rows]
            # Equal rows have the same hash, and so stand together.
            starts = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
            if np.count_nonzero(starts) < _FOLDS:
                return None
            folds[rows] = (np.cumsum(starts) - 1) % _FOLDS
        return folds


def _spreads(X: FloatArray) -> FloatArray:
    """Give the standard deviation of each column, as a power of two: dividing by it rounds nothing."""
    spreads = X.std(axis=0)
    usable = (spreads > 0) & np.isfinite(spreads)
    scales = np.ones(X.shape[1])
    scales[usable] = np.exp2(np.round(np.log2(spreads[usable])))
    return scales


def _lasso_path(
    Z: FloatArray, score: FloatArray, groups: IntArray, max_features: int
) -> FloatArray:
    """Give the weights of a lasso of the score at each change of its features, until there are too many of them."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path, lars_path_gram

    # Of a very wide table products of all pairs of columns would be many times the table.
    gram = None if Z.shape[1] > _WIDE else Z.T @ Z
    target = Z.T @ score
    steps = 2 * max_features
    while True:
        with warnings.catch_warnings():
            # Columns that others determine, such as the last category of a feature, are left out, with a warning.
            warnings.simplefilter("ignore", ConvergenceWarning)
            if gram is None:
                _, _, coefs = lars_path(Z, score, Gram=None, max_iter=steps, method="lasso")
            else:
                _, _, coefs = lars_path_gram(
                    target, gram, n_samples=len(Z), max_iter=steps, method="lasso"
                )
        path: FloatArray = coefs.T
        has_ended = len(path) <= steps or steps >= 8 * len(groups)
        if has_ended or len(np.unique(groups[path[-1] != 0])) > max_features:
            return path
        steps *= 2
