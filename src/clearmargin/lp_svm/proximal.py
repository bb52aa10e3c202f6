"""The proximal support vector classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import linalg

from clearmargin.models.plane import PlaneClassifier
from clearmargin.tables.validation import check_positive, point_costs, read_training

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

    def __init__(self, nu: float = 1.0, *, balanced: bool = False):
        self.nu = nu
        self.balanced = balanced

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : data frame or array-like of shape (m, n)
            The points.
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
        points, labels = read_training(self, X, y)
        weight = point_costs(labels, sample_weight, None, points)
        if self.balanced:
            weight /= np.bincount(labels.codes, weights=weight)[labels.codes]
        E = np.hstack([points, np.ones((len(points), 1))])
        weighted = E * weight[:, None]
        system = E.T @ weighted + np.eye(E.shape[1]) / nu
        solution = linalg.solve(system, weighted.T @ labels.signs, assume_a="pos")
        self._set_plane(solution[:-1], float(solution[-1]), labels.classes)
        return self
