"""`LPSVC` for Dask collections: the same parameters, the same plane, lazy predictions; and `scan` for everything else.

`fit` runs over the partitions of the collection instead of arrays in memory; there is no second algorithm. As in
LightGBM and XGBoost, labels and weights are collections, too, predictions are lazy, and `to_local` gives the ordinary
estimator.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from clearmargin import lp_svm
from clearmargin.dask.collection import DaskTable, is_collection, is_dask_array
from clearmargin.exceptions import DataError
from clearmargin.progress import all_or_nothing
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.table_part import TablePart


def scan(X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> DaskTable:
    """Make of a Dask collection what takes the place of X and y, as `clearmargin.scan` does of files.

    Parameters
    ----------
    X : Dask data frame or array of shape (m, n)
        The features. Its rows stay on the workers.
    y : Dask series or array of shape (m,), optional
        The classes, in the same partitions: ``ddf["y"]``.
    sample_weight : Dask series or array of shape (m,), optional
        Weights of the rows.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Returns
    -------
    DaskTable
        For `fit` of any estimator, for `predict`, and for `RuleSet.score`, which adds up the counts of the partitions.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from clearmargin import parse_rules
    >>> ddf = dd.from_pandas(pd.DataFrame({"age": [40, 45, 60, 70], "y": ["no", "no", "yes", "yes"]}), npartitions=2)
    >>> rules = parse_rules("age >= 50 => yes")
    >>> rules.score(scan(ddf[["age"]], ddf["y"])).total.covered
    2
    """
    return DaskTable(X, y, sample_weight, client)


class LPSVC(lp_svm.LPSVC):
    """1-norm support vector classifier for Dask collections: the plane of the rows in memory.

    The rows stay where they are. Samples are solved first, and each pass over the collection brings the few rows near
    the margin to the driver, which solves their linear program; four to six passes are usual.

    Parameters
    ----------
    nu, cv, max_features, feature_groups, scale, scoring, class_weight, monotone, fit_intercept, tol
        As for `clearmargin.LPSVC`.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, n_iter_, hyperplane_, classes_, n_features_in_, feature_names_in_
        As there: plain values.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> ddf = dd.from_pandas(pd.DataFrame({"age": [40, 45, 60, 70], "y": ["no", "no", "yes", "yes"]}), npartitions=2)
    >>> svm = LPSVC().fit(ddf[["age"]], ddf["y"])
    >>> svm.predict(ddf[["age"]]).compute().tolist(), svm.to_local().predict(pd.DataFrame({"age": [50]})).tolist()
    (['no', 'no', 'yes', 'yes'], ['no'])
    """

    def __init__(
        self,
        nu: float | Literal["cv"] = 1.0,
        *,
        cv: Any = 5,
        max_features: int | None = None,
        feature_groups: Any = None,
        scale: bool = False,
        scoring: Any = None,
        class_weight: Any = None,
        monotone: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        client: Any = None,
    ):
        super().__init__(
            nu,
            cv=cv,
            max_features=max_features,
            feature_groups=feature_groups,
            scale=scale,
            scoring=scoring,
            class_weight=class_weight,
            monotone=monotone,
            fit_intercept=fit_intercept,
            tol=tol,
        )
        self.client = client

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        times: Any = None,
    ) -> Self:
        """Train on a collection.

        Parameters
        ----------
        X : Dask data frame or array of shape (m, n)
            The table. Its rows stay on the workers.
        y : Dask series or array of shape (m,)
            The classes, in the same partitions: ``ddf["y"]``.
        sample_weight : Dask series or array of shape (m,), optional
            Weights of the rows.
        groups, times : None
            For tables in memory.

        Returns
        -------
        estimator
            Fitted; its attributes are plain values.
        """
        # A meta-estimator hands on a table that is in partitions already.
        table = X if is_partitions(X) else DaskTable(X, y, sample_weight, self.client)
        super().fit(table, groups=groups, times=times)
        return self

    def to_local(self) -> lp_svm.LPSVC:
        """Give the ordinary estimator, fitted, which predicts tables in memory, is saved and extracted from.

        Returns
        -------
        estimator
            Of the class of the same name at the top of clearmargin.
        """
        check_is_fitted(self)
        local = lp_svm.LPSVC()
        local.__dict__.update({name: v for name, v in vars(self).items() if name != "client"})
        return local

    def __sklearn_clone__(self) -> Self:
        # A client is the connection that it is, and cannot be copied.
        params = self.get_params(deep=False)
        copies = {
            name: clone(value, safe=False) for name, value in params.items() if name != "client"
        }
        copied: Any = type(self)
        return copied(**copies, client=params["client"])  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def predict(self, X: Any) -> Any:
        """Predict the class of each row, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask series or array, or ndarray
            A series with the index of X for a data frame, an array for an array; classes in memory for a table there.
        """
        return self._lazy("predict", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of rows whose class is predicted, in one pass over the collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.
        y : Dask series or array, or array-like
            Their classes.
        sample_weight : Dask series or array, or array-like, optional
            Weights of the rows.

        Returns
        -------
        float
            The accuracy.
        """
        if not is_collection(X):
            return float(self.to_local().score(X, y, sample_weight))
        table = DaskTable(X, y, sample_weight, self.client)
        right, total = np.sum(
            table.map(
                _count_right, common=(self.to_local(), table.names, table.target, table.weight)
            ),
            axis=0,
        )
        if not total:
            raise DataError(
                "the rows weigh nothing: there is no row to compare, or all weights are 0"
            )
        return float(right / total)

    def decision_function(self, X: Any) -> Any:
        """Compute the signed score of each row, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask series or array, or ndarray
            Scores; positive values mean `classes_[1]`.
        """
        return self._lazy("decision_function", X, np.float64)

    def _lazy(self, method: str, X: Any, dtype: Any = None) -> Any:
        """Apply a method of the fitted estimator to each partition when its answers are asked for."""
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        empty = np.empty(0, np.dtype(self.classes_.dtype if dtype is None else dtype))
        if not is_dask_array(X):
            return X.map_partitions(_answers, local, method, empty, meta=_like(X._meta, empty))
        one_chunk = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        return one_chunk.map_blocks(
            _answers, local, method, empty, dtype=empty.dtype, meta=empty, drop_axis=1
        )


def _answers(rows: Any, model: Any, method: str, empty: NDArray[Any]) -> Any:
    """Answer for one partition; one without rows has no answers, and needs no model."""
    return _like(rows, getattr(model, method)(rows) if len(rows) else empty)


def _like(rows: Any, answers: NDArray[Any]) -> Any:
    """Give the answers to rows of a data frame its index."""
    if not hasattr(rows, "index"):
        return answers
    import pandas as pd

    return pd.Series(answers, index=rows.index)


def _count_right(
    part: TablePart, model: Any, names: tuple[str, ...], target: str, weight: str | None
) -> tuple[float, float]:
    """Weigh the rows of a partition that are predicted rightly, and all of them."""
    if not len(part.rows):
        return 0.0, 0.0
    rows = part.table(names)
    weights = np.ones(len(part.rows)) if weight is None else part.numbers([weight])[:, 0]
    is_right = np.asarray(model.predict(rows)) == part.values(target)
    return float(weights[is_right].sum()), float(weights.sum())
