"""Our learners for tables on a cluster and in memory, and scikit-learn's; run by `dask_table`, one process each."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import SGDClassifier

from benchmarks.peers.work.dask_run import Learner, main
from clearmargin import LPSVC
from clearmargin.dask import estimators as on_dask

__all__ = ["LEARNERS"]


def _dask_lpsvc(table: Any, names: list[str], nu: float) -> Any:
    return on_dask.LPSVC(nu).fit(table[names], table["y"])


def _dask_proximal(table: Any, names: list[str], nu: float) -> Any:
    return on_dask.ProximalSVC(nu).fit(table[names], table["y"])


def _lpsvc(table: Any, names: list[str], nu: float) -> Any:
    return LPSVC(nu).fit(table[names], table["y"])


def _descent(table: Any, names: list[str], nu: float) -> Any:
    # The objective of LPSVC over the sum of costs.
    options: dict[str, Any] = {"alpha": 1.0 / (nu * len(table)), "max_iter": 10, "tol": None}
    model = SGDClassifier(loss="hinge", penalty="l1", random_state=0, **options)
    return model.fit(table[names], table["y"])


LEARNERS = {
    "clearmargin.dask.LPSVC": Learner(_dask_lpsvc, on_dask.__name__),
    "clearmargin.dask.ProximalSVC": Learner(_dask_proximal, on_dask.__name__),
    "LPSVC, in memory": Learner(_lpsvc, None),
    "SGDClassifier, in memory, 10 epochs": Learner(_descent, None),
}

if __name__ == "__main__":
    main(LEARNERS)
