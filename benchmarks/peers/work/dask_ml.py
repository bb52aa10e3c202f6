"""dask_ml and xgboost.dask, as they are."""

from __future__ import annotations

from typing import Any

import xgboost
from dask_ml.linear_model import LogisticRegression
from dask_ml.wrappers import Incremental
from sklearn.linear_model import SGDClassifier
from xgboost.dask import DaskXGBClassifier

from benchmarks.peers.work.dask_run import Learner, main


def _arrays(table: Any, names: list[str]) -> tuple[Any, Any]:
    # Of small Parquet files Dask makes other partitions of X than of y, unless the table is held.
    table = table.persist()
    return table[names].to_dask_array(lengths=True), table["y"].to_dask_array(lengths=True)


def logistic_regression(table: Any, names: list[str], nu: float) -> Any:
    """Logistic regression with the 1-norm, by ADMM: not the same objective."""
    return LogisticRegression(penalty="l1", C=nu).fit(*_arrays(table, names))


def incremental_sgd(table: Any, names: list[str], nu: float) -> Any:
    """Stochastic gradient descent over one partition after the other, once: the objective of LPSVC."""
    X, y = _arrays(table, names)
    descent = SGDClassifier("hinge", penalty="l1", alpha=1.0 / (nu * len(X)), random_state=0)
    return Incremental(descent).fit(X, y, classes=[0, 1]).estimator_


def boosted_trees(table: Any, names: list[str], nu: float) -> Any:
    """A hundred trees, which are no plane."""
    model = DaskXGBClassifier(n_estimators=100, tree_method="hist")
    table = table.persist()  # as above
    model.fit(table[names], table["y"])
    return _InMemory(model.get_booster())


class _InMemory:
    """Predictions of a booster without a cluster."""

    def __init__(self, booster: Any):
        self._booster = booster

    def predict(self, X: Any) -> Any:
        """Give the classes of rows."""
        names = self._booster.feature_names
        return self._booster.predict(xgboost.DMatrix(X, feature_names=names)) > 0.5


if __name__ == "__main__":
    main(
        {
            "dask_ml LogisticRegression": Learner(logistic_regression, "dask_ml.linear_model"),
            "dask_ml Incremental(SGDClassifier)": Learner(incremental_sgd, "dask_ml.wrappers"),
            "xgboost.dask": Learner(boosted_trees, "xgboost.dask"),
        }
    )
