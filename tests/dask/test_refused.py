"""A Dask collection in the hands of an estimator for tables in memory: refused, with what to use instead."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.base import BaseEstimator

import clearmargin
from clearmargin import LPSVC, LPSVCCV, RuleExtractor
from clearmargin.exceptions import DataError

FEATURES = ["a", "b", "c", "d"]
ESTIMATORS = [
    value
    for value in (getattr(clearmargin, name) for name in clearmargin.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator)
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda value: value.__name__)
def test_no_estimator_pulls_a_collection_into_memory(frame, estimator):
    whole = dd.from_pandas(frame, npartitions=2)
    array = da.from_array(frame[FEATURES].to_numpy(), chunks=300)
    model = estimator("a > 1 => yes") if estimator.__name__ == "RuleFeatures" else estimator()
    hint = (
        f"use clearmargin.dask.{estimator.__name__}"
        if hasattr(clearmargin.dask, estimator.__name__)
        else "X.map_partitions"
    )
    for X in (whole[FEATURES], array):
        with pytest.raises(DataError, match=f"X is a collection of Dask.*{hint}"):
            model.fit(X, frame["y"])
    if estimator.__name__ != "RuleFeatures":  # which takes no notice of labels
        with pytest.raises(DataError, match="y is a collection of Dask"):
            model.fit(frame[FEATURES], whole["y"])


def test_a_fitted_model_takes_partitions_one_by_one(frame):
    whole = dd.from_pandas(frame, npartitions=2)
    for model in (LPSVC(), RuleExtractor(LPSVC())):
        model.fit(frame[FEATURES], frame["y"])
        with pytest.raises(DataError, match=r"X\.map_partitions\(model\.predict\)"):
            model.predict(whole[FEATURES])
        lazy = whole[FEATURES].map_partitions(model.predict, meta=("class", object))
        assert (np.asarray(lazy.compute()) == model.predict(frame[FEATURES])).all()


def test_what_fits_into_memory_is_computed_first(frame):
    whole = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(DataError, match=r"is a table after X\.compute\(\)"):
        LPSVCCV().fit(whole[FEATURES], frame["y"])
    table = whole.compute()
    assert LPSVC().fit(table[FEATURES], table["y"]).score(table[FEATURES], table["y"]) > 0.8
