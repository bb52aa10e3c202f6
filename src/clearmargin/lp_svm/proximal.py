"""The proximal support vector classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import linalg

from clearmargin.models.plane import PlaneClassifier
from clearmargin.rules.value import FloatArray
from clearmargin.tables.partitions import ArrayBlocks, Block, Partitions, is_partitions
from clearmargin.tables.validation import (
    check_positive,
    point_costs,
    read_training,
    read_training_parts,
)

__all__ = ["ProximalSVC"]


class ProximalSVC(PlaneClassifier):
    """Proximal support vector classifier: one linear system, all weights.

    It minimises ``nu/2 * sum of squared distances from the class's own plane f = +-1, plus (w'w + b^2)/2`` (Fung
    and Mangasarian, KDD 2001). The solution is that of ``(I/nu + E'SE) [w; b] = E'Sd`` with ``E = [X, 1]``, labels d in
    {-1, 1} and weights S.

    Parameters
    ----------
    nu : float, default 1.0
        Weight of the distances against the size of the plane.
    balanced : bool, default False
        Whether both classes count the same, whatever their sizes: points are weighted by 1/size of their class.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Weights, none of them zero as a rule.
    intercept_ : ndarray of shape (1,)
        Intercept.
    hyperplane_ : Hyperplane
        The plane as a value.
    classes_ : ndarray of shape (2,)
        The classes; `classes_[1]` is the positive side.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had any.

    See Also
    --------
    LPSVC : Sparse weights.

    Examples
    --------
    >>> svm = ProximalSVC().fit([[0.0], [2.0]], ["low", "high"])
    >>> svm.predict([[0.5], [1.8]])
    array(['low', 'high'], dtype='<U4')
    """

    _takes_partitions = True

    def __init__(self, nu: float = 1.0, *, balanced: bool = False):
        self.nu = nu
        self.balanced = balanced

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n), or what `clearmargin.scan` gives
            The points; a table in files has its labels with it, and is read in two passes. Its plane is the same up to
            rounding: sums of products are added partition by partition.
        y : array-like of shape (m,)
            Labels of two classes.
        sample_weight : array-like of shape (m,), optional
            Weights of the points, as factors of `nu`.

        Returns
        -------
        ProximalSVC
            The fitted classifier.
        """
        nu = check_positive("nu", self.nu)
        blocks: Partitions[Block]
        if is_partitions(X):
            training = read_training_parts(self, X, y, sample_weight=sample_weight)
            blocks, classes = training.blocks, training.classes
            if self.balanced:
                blocks = X.blocks(classes, (1.0 / training.survey.class_weights).tolist())
        else:
            points, labels = read_training(self, X, y)
            weight = point_costs(labels, sample_weight, None, points)
            if self.balanced:
                weight /= np.bincount(labels.codes, weights=weight)[labels.codes]
            blocks, classes = ArrayBlocks(points, labels.signs, weight), labels.classes
        sums = np.sum(blocks.map(_normal_sums), axis=0)
        system = sums[:, :-1] + np.eye(len(sums)) / nu
        solution = linalg.solve(system, sums[:, -1], assume_a="pos")
        self._set_plane(solution[:-1], float(solution[-1]), classes)
        return self


def _normal_sums(block: Block) -> FloatArray:
    """Return E'SE and, as the last column, E'Sd of some rows."""
    E = np.hstack([block.X, np.ones((len(block.y), 1))])
    weighted = E * block.cost[:, None]
    return np.column_stack([E.T @ weighted, weighted.T @ block.y])
