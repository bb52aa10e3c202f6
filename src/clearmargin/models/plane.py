"""What linear classifiers of two classes share once their plane is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from clearmargin.rules import Hyperplane
from clearmargin.rules.hyperplane import linear_scores
from clearmargin.tables.table_part import over_parts
from clearmargin.tables.validation import read_points

FloatArray = NDArray[np.float64]


class PlaneClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of classifiers that decide by the side of a hyperplane; `classes_[1]` is the positive side."""

    _accepts_sparse = False
    _reads_tables = True  # see `Table.taken_by`

    coef_: FloatArray
    intercept_: FloatArray
    classes_: NDArray[Any]
    n_features_in_: int

    def _set_plane(self, w: FloatArray, b: float, classes: NDArray[Any]) -> None:
        self.coef_ = w.reshape(1, -1)
        self.intercept_ = np.array([b])
        self.classes_ = classes

    @property
    def hyperplane_(self) -> Hyperplane:
        """The decision function as a value, in the units of the data it was fitted to."""
        check_is_fitted(self)
        return Hyperplane(self.coef_[0], float(self.intercept_[0]))

    @over_parts
    def decision_function(self, X: Any) -> FloatArray:
        """Give f(x) = w'x + b for each row; positive values mean `classes_[1]`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n), or what `clearmargin.scan` gives
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Signed scores; the distance from the plane is the score divided by the norm of `coef_`.
        """
        check_is_fitted(self)
        points = read_points(self, X, accept_sparse=self._accepts_sparse)
        if sparse.issparse(points):
            return np.asarray(points @ self.coef_[0] + self.intercept_[0])
        return linear_scores(points, self.coef_[0], float(self.intercept_[0]))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row; a row on the plane itself gets `classes_[0]`.

        Parameters
        ----------
        X : data frame, array-like or sparse matrix of shape (m, n), or what `clearmargin.scan` gives
            The rows.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = self._accepts_sparse
        return tags
