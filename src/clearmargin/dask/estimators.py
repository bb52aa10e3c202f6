"""The estimators for Dask collections: the same parameters, the same answers, lazy predictions.

Each class is the estimator of the same name at the top of clearmargin, whose `fit` runs over the partitions of the
collection instead of arrays in memory; there is no second algorithm. As in LightGBM and XGBoost, labels and weights are
collections, too, predictions are lazy, and `to_local` gives the ordinary estimator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from clearmargin import advice, lp_svm, plane_rules, rankings, rule_svm
from clearmargin.dask.collection import DaskTable, is_collection, is_dask_array
from clearmargin.exceptions import DataError
from clearmargin.tables.partitions import is_partitions
from clearmargin.tables.table_part import TablePart

__all__ = ["LPSVC", "AdviceSVC", "ProximalSVC", "RankContrast", "RuleExtractor", "RuleSVC"]


def _with_client(estimator: type) -> Callable[..., None]:
    """Make a constructor with the parameters of an estimator and `client`."""
    signature = inspect.signature(estimator)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)

    def __init__(self: Any, *args: Any, client: Any = None, **options: Any) -> None:  # noqa: N807
        estimator.__init__(self, *args, **options)  # type: ignore[misc]
        self.client = client

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [own, *signature.parameters.values(), client]
    __init__.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return __init__


class _OnDask:
    """What all estimators for Dask collections share; `_local` is the class in memory."""

    _local: Any
    client: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train on a collection.

        Parameters
        ----------
        X : Dask data frame or array of shape (m, n)
            The table. Its rows stay on the workers.
        y : Dask series or array of shape (m,)
            The classes, in the same partitions: ``ddf["y"]``.
        sample_weight : Dask series or array of shape (m,), optional
            Weights of the rows.

        Returns
        -------
        estimator
            Fitted; its attributes are plain values.
        """
        # A meta-estimator hands on a table that is in partitions already.
        table = X if is_partitions(X) else DaskTable(X, y, sample_weight, self.client)
        self._local.fit(self, table)
        return self

    def to_local(self) -> Any:
        """Give the ordinary estimator, fitted, which predicts tables in memory, is saved and extracted from.

        Returns
        -------
        estimator
            Of the class of the same name at the top of clearmargin.
        """
        check_is_fitted(self)
        local = self._local.__new__(self._local)
        local.__dict__.update({name: v for name, v in vars(self).items() if name != "client"})
        return local

    def __sklearn_clone__(self) -> Self:
        # A client is the connection that it is, and cannot be copied.
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        copies = {
            name: clone(value, safe=False) for name, value in params.items() if name != "client"
        }
        copied: Any = type(self)
        return copied(**copies, client=params["client"])  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}


class _Predicting(_OnDask):
    """Estimators that give every row a class."""

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

    def _lazy(self, method: str, X: Any, dtype: Any = None, columns: Any = None) -> Any:
        """Apply a method of the fitted estimator to each partition when its answers are asked for.

        Answers are of one type, that of the classes by default, and have one column, or several with these names.
        """
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        names = None if columns is None else list(columns)
        of_answers: Any = np.dtype(self.classes_.dtype if dtype is None else dtype)  # type: ignore[attr-defined]
        empty = np.empty(0 if names is None else (0, len(names)), of_answers)
        common = (local, method, empty, names)
        if not is_dask_array(X):
            return X.map_partitions(_answers, *common, meta=_like(X._meta, empty, names))
        one_chunk = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        shape = {"drop_axis": 1} if names is None else {"chunks": (X.chunks[0], (len(names),))}
        return one_chunk.map_blocks(_answers, *common, dtype=of_answers, meta=empty, **shape)


class _Planes(_Predicting):
    """Classifiers that decide by a plane."""

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


def _answers(rows: Any, model: Any, method: str, empty: NDArray[Any], names: Any) -> Any:
    """Answer for one partition; one without rows has no answers, and needs no model."""
    return _like(rows, getattr(model, method)(rows) if len(rows) else empty, names)


def _like(rows: Any, answers: NDArray[Any], names: Any) -> Any:
    """Give the answers to rows of a data frame its index."""
    if not hasattr(rows, "index"):
        return answers
    import pandas as pd

    if names is None:
        return pd.Series(answers, index=rows.index)
    return pd.DataFrame(answers, index=rows.index, columns=names)


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


class LPSVC(_Planes, lp_svm.LPSVC):
    """1-norm support vector classifier for Dask collections: the plane of the rows in memory, to the bit.

    The rows stay where they are. Samples are solved first, and each pass over the collection brings the few rows near
    the margin to the driver, which solves their linear program; four to six passes are usual.

    Parameters
    ----------
    nu, class_weight, monotone, fit_intercept, tol, solver, max_iter, checkpoint
        As for `clearmargin.LPSVC`. With a `checkpoint`, a driver that was stopped goes on where it was.
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

    _local = lp_svm.LPSVC
    __init__ = _with_client(lp_svm.LPSVC)


class AdviceSVC(_Planes, advice.AdviceSVC):  # type: ignore[misc] # a table is needed
    """Linear support vector machine with expert rules, for Dask collections: the plane of the rows in memory.

    Advice is part of the program that the driver solves, and the rows stay where they are: as for `LPSVC`, a few passes
    bring those near the margin. With `refine`, premises of a table of more than 20,000 rows are moved by a sample of
    that many, drawn by row number; the plane is that of all rows with the premises as they are then. What rules cover
    is counted on all rows.

    Parameters
    ----------
    advice, lam, mu, nu, refine, scale, bounds, groups, sparse, extend, start, anchors, orthogonal, published, \
    max_iter, tol
        As for `clearmargin.AdviceSVC`.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Attributes
    ----------
    coef_, intercept_, objective_, advice_, refined_, outcome_, classes_, n_features_in_, feature_names_in_ and others
        As there: plain values, without `refine` the same to the bit.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"glucose": [90, 130, 100, 150], "y": ["well", "well", "well", "ill"]})
    >>> ddf = dd.from_pandas(frame, npartitions=2)
    >>> svm = AdviceSVC("glucose >= 140 => ill", lam=10.0, mu=10.0).fit(ddf[["glucose"]], ddf["y"])
    >>> svm.outcome_.verdicts, svm.predict(ddf[["glucose"]]).compute().tolist()
    (('kept',), ['well', 'well', 'well', 'ill'])
    """

    _local = advice.AdviceSVC
    __init__ = _with_client(advice.AdviceSVC)


class ProximalSVC(_Planes, lp_svm.ProximalSVC):
    """Proximal support vector classifier for Dask collections, by sums over the partitions in two passes.

    Parameters
    ----------
    nu, balanced
        As for `clearmargin.ProximalSVC`.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Attributes
    ----------
    coef_, intercept_, hyperplane_, classes_, n_features_in_, feature_names_in_
        As there, up to the rounding of sums, which are added partition by partition.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.from_array([[0.0], [0.2], [1.8], [2.0]], chunks=(2, 1))
    >>> svm = ProximalSVC().fit(X, da.from_array([0, 0, 1, 1], chunks=2))
    >>> svm.predict(X).compute()
    array([0, 0, 1, 1])
    """

    _local = lp_svm.ProximalSVC
    __init__ = _with_client(lp_svm.ProximalSVC)


class RankContrast(_OnDask, rankings.RankContrast):  # type: ignore[misc] # no groups and times
    """Properties in which the top and the bottom of a ranking differ, for Dask collections.

    Ends, bins, counts and tests are those of all rows, found in passes; the rows of the two ends come to the driver.
    The ranking is trained on about 20,000 rows, drawn by row number, or on all of them where `estimator` takes
    partitions, as `clearmargin.LPSVC` does; then everything is as in memory, but for areas under curves, which are of a
    sample.

    Parameters
    ----------
    estimator, top, bottom, min_leverage, max_size, bins, n_bins, features, exclude, positive, limit, \
    size_criterion, cv, random_state
        As for `clearmargin.RankContrast`; `bins` are quantiles, of equal width or given, `cv` is "halves" or None.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Attributes
    ----------
    n_rows_, n_ranked_on_ : int
        How many rows the collection has, and how many of them the ranking was trained on.
    properties_, rules_, histograms_, top_index_, bottom_index_ and others
        As there: plain values. Rows are numbered through the partitions, from 0.

    Examples
    --------
    >>> import dask.array as da
    >>> from clearmargin.datasets import make_votes
    >>> X, y = (da.from_array(each, chunks=500) for each in make_votes(random_state=0, return_X_y=True))
    >>> contrast = RankContrast(max_size=1).fit(X, y)
    >>> len(contrast.properties_), type(contrast.to_local()).__name__
    (22, 'RankContrast')
    """

    _local = rankings.RankContrast
    __init__ = _with_client(rankings.RankContrast)


class RuleExtractor(_Predicting, plane_rules.RuleExtractor):  # type: ignore[misc] # no more arguments of fit
    """Exact interval rules from a linear classifier, on Dask collections: proved as always, counted on all rows.

    The model is trained on all rows, or was trained before. Rules are searched for on a sample of the rows, drawn by
    row number, with the ranges, categories and classes of all rows (`n_rows_searched_`), and are proved without rows.
    What they cover, and how often they are right, is counted on all rows.

    Parameters
    ----------
    estimator : classifier
        A linear classifier that is trained already, or one that takes partitions: `clearmargin.LPSVC` or
        `clearmargin.ProximalSVC`, bare or after a `TableEncoder` in a pipeline.
    criterion, max_depth, min_coverage, max_rules, bounds, disjoint, max_conditions, max_features, tighten, order, \
    fallback, progress
        As for `clearmargin.RuleExtractor`.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Attributes
    ----------
    n_rows_searched_ : int
        How many rows the rules were searched for on.
    rules_, estimator_, coverage_, recall_, budget_ and others
        As there: plain values.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from clearmargin import LPSVC
    >>> from clearmargin.datasets import load_wbc
    >>> X, y = load_wbc(return_X_y=True)
    >>> ddf, names = dd.from_pandas(X.assign(y=y), npartitions=3), list(X.columns)
    >>> extractor = RuleExtractor(LPSVC(nu=0.0025), max_rules=2).fit(ddf[names], ddf["y"])
    >>> extractor.rules_[0].proof, extractor.which(ddf[names]).compute().shape
    ('proved', (683,))
    """

    _local = plane_rules.RuleExtractor
    __init__ = _with_client(plane_rules.RuleExtractor)

    def predict(self, X: Any) -> Any:
        """Predict by the first rule that covers a row, and the fallback where none does, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask series or array, or ndarray
            Classes; None where the fallback is to abstain.
        """
        return self._lazy("predict", X, object if self.fallback == "abstain" else None)

    def which(self, X: Any) -> Any:
        """Tell which rule covers each row, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask series or array, or ndarray of int
            The position of the first rule that covers the row, -1 where none does.
        """
        return self._lazy("which", X, np.intp)

    def covers(self, X: Any) -> Any:
        """Tell which rules cover which rows, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask data frame or array, or ndarray of bool
            A column for each rule.
        """
        return self._lazy("covers", X, np.bool_, range(len(self.rules_)))


class RuleSVC(_Predicting, rule_svm.RuleSVC):  # type: ignore[misc] # no groups and times
    """Support vector classifier over rules for Dask collections: of all rows, or of a sample with exact counts.

    A machine over rules needs its rows at hand. Where at most 100,000 rows of the table are different, each comes to
    the driver once, with the weight of those that are equal to it, and the machine is that of all rows in memory. Of
    other tables a sample of about 100,000 rows is taken, drawn by row number, in which a rare class has a tenth if it
    can; `n_sampled_rows_` says so. What the rules cover is counted on all rows either way.

    Parameters
    ----------
    max_rules, max_conditions, C, penalty, max_bins, linear, rules, rule_price, class_weight, monotone, loss, points, \
    cv, certify, tol, time_limit, max_work, random_state, progress
        As for `clearmargin.RuleSVC`.
    client : distributed.Client, optional
        The cluster; by default the current one, without one the threads of this process.

    Attributes
    ----------
    n_rows_, n_sampled_rows_ : int
        How many rows the collection has, and how many of them the machine was fitted to; the same where it is exact.
    weighted_rules_, rules_, weights_, intercept_ and others
        As there: plain values. Weights, `gap_` and `cv_score_` are those of the rows it was fitted to.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [40, 45, 60, 70] * 5, "y": ["no", "no", "yes", "yes"] * 5})
    >>> ddf = dd.from_pandas(frame, npartitions=3)
    >>> svm = RuleSVC(max_rules=1).fit(ddf[["age"]], ddf["y"])
    >>> svm.n_sampled_rows_ == svm.n_rows_, svm.predict(ddf[["age"]]).compute().tolist()[:4]
    (True, ['no', 'no', 'yes', 'yes'])
    """

    _local = rule_svm.RuleSVC
    __init__ = _with_client(rule_svm.RuleSVC)

    def decision_function(self, X: Any) -> Any:
        """Compute the score of each row, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask series, data frame or array, or ndarray
            Positive for ``classes_[1]``; with more than two classes a column for each.
        """
        several = self.classes_ if len(self.classes_) > 2 else None
        return self._lazy("decision_function", X, np.float64, several)

    def predict_proba(self, X: Any) -> Any:
        """Compute the probability of each class for each row, lazily for a collection.

        Parameters
        ----------
        X : Dask data frame or array, or a table in memory
            The rows.

        Returns
        -------
        Dask data frame or array, or ndarray
            A column for each of `classes_`.
        """
        return self._lazy("predict_proba", X, np.float64, self.classes_)
