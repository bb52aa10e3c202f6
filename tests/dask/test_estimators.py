"""Estimators for Dask collections: those in memory, on partitions."""

from __future__ import annotations

import inspect
import pickle

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from sklearn.base import clone

import clearmargin
from clearmargin import dask as on_dask
from clearmargin.exceptions import DataError

FEATURES = ["a", "b", "c", "d"]


@pytest.mark.parametrize("name", on_dask.__all__)
def test_parameters_are_those_of_the_class_in_memory_and_a_client(name):
    here = inspect.signature(getattr(clearmargin, name)).parameters
    there = dict(inspect.signature(getattr(on_dask, name)).parameters)
    assert there.pop("client").default is None
    assert [(p.name, p.kind, p.default) for p in there.values()] == [
        (p.name, p.kind, p.default) for p in here.values()
    ]


def test_the_proximal_plane_is_that_of_the_rows_in_memory(frame):
    whole = dd.from_pandas(frame, npartitions=5)
    for balanced in (False, True):
        here = clearmargin.ProximalSVC(2.0, balanced=balanced).fit(
            frame[FEATURES], frame["y"], frame["w"]
        )
        there = on_dask.ProximalSVC(2.0, balanced=balanced).fit(
            whole[FEATURES], whole["y"], whole["w"]
        )
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-10)
        np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=1e-10)
        assert there.feature_names_in_.tolist() == FEATURES


def test_predictions_are_lazy_and_those_of_the_estimator_in_memory(frame):
    whole = dd.from_pandas(frame, npartitions=5)
    model = on_dask.ProximalSVC().fit(whole[FEATURES], whole["y"])
    local = model.to_local()
    assert type(local) is clearmargin.ProximalSVC
    predicted = model.predict(whole[FEATURES])
    assert isinstance(predicted, dd.Series)
    assert predicted.npartitions == 5
    assert predicted.compute().tolist() == local.predict(frame[FEATURES]).tolist()
    assert predicted.compute().index.equals(frame.index)
    scores = model.decision_function(whole[FEATURES])
    assert np.array_equal(scores.compute(), local.decision_function(frame[FEATURES]))
    # A table in memory is answered at once.
    assert np.array_equal(model.predict(frame[FEATURES]), local.predict(frame[FEATURES]))
    few = whole[whole["a"] > 3.0][FEATURES]  # most partitions have no such row
    assert len(model.predict(few).compute()) == (frame["a"] > 3.0).sum()


def test_arrays_give_arrays(frame):
    X = da.from_array(frame[FEATURES].to_numpy(), chunks=(150, 3))
    y = da.from_array((frame["y"] == "yes").to_numpy(), chunks=100)
    model = on_dask.ProximalSVC().fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4
    assert isinstance(model.predict(X), da.Array)
    expected = model.to_local().predict(frame[FEATURES].to_numpy())
    assert np.array_equal(model.predict(X).compute(), expected)
    assert model.score(X, y) == np.mean(expected == y.compute())


def test_accuracy_is_counted_in_one_pass(frame):
    whole = dd.from_pandas(frame, npartitions=5)
    model = on_dask.ProximalSVC().fit(whole[FEATURES], whole["y"])
    local = model.to_local()
    assert model.score(whole[FEATURES], whole["y"]) == local.score(frame[FEATURES], frame["y"])
    weighted = model.score(whole[FEATURES], whole["y"], whole["w"])
    assert weighted == pytest.approx(
        local.score(frame[FEATURES], frame["y"], frame["w"]), rel=1e-12
    )
    assert model.score(frame[FEATURES], frame["y"]) == local.score(frame[FEATURES], frame["y"])
    with pytest.raises(DataError, match="weigh nothing"):
        model.score(whole[FEATURES], whole["y"], 0.0 * whole["w"])


def test_a_fitted_estimator_travels_without_its_client(frame):
    class Connection:
        asynchronous = False

        def submit(self) -> None: ...

        def __reduce__(self):
            raise TypeError("a connection cannot be copied")

    client = Connection()
    model = on_dask.ProximalSVC(3.0, client=client)
    copy = clone(model)
    assert copy.client is client
    assert copy.nu == 3.0
    assert pickle.loads(pickle.dumps(model)).client is None


def test_rules_with_points_are_those_of_the_rows_in_memory(frame):
    whole = dd.from_pandas(frame, npartitions=5)
    options = {"max_rules": 3, "cv": 2, "certify": False}
    here = clearmargin.RuleSVC(**options).fit(frame[FEATURES], frame["y"])
    there = on_dask.RuleSVC(**options).fit(whole[FEATURES], whole["y"])
    assert there.weighted_rules_ == here.weighted_rules_
    assert there.n_sampled_rows_ == there.n_rows_ == 600
    scores = there.decision_function(whole[FEATURES]).compute()
    assert np.array_equal(scores, here.decision_function(frame[FEATURES]))
    chances = there.predict_proba(whole[FEATURES])
    assert list(chances.columns) == ["no", "yes"]
    assert np.array_equal(chances.compute(), here.predict_proba(frame[FEATURES]))


def test_scores_of_three_classes_are_columns(frame):
    whole = dd.from_pandas(frame, npartitions=3)
    X = da.from_array(frame[FEATURES].to_numpy(), chunks=(200, 2))
    y = (X[:, 0] > 0).astype("int64") + (X[:, 0] > 1)
    model = on_dask.RuleSVC(max_rules=3, cv=2, certify=False).fit(X, y)
    expected = model.to_local().decision_function(frame[FEATURES].to_numpy())
    assert model.decision_function(X).shape == (600, 3)
    assert np.array_equal(model.decision_function(X).compute(), expected)
    assert not hasattr(model, "feature_names_in_")
    named = on_dask.RuleSVC(max_rules=3, cv=2, certify=False).fit(
        whole[FEATURES], (whole["a"] > 0).astype("int64") + (whole["a"] > 1)
    )
    assert np.array_equal(named.decision_function(whole[FEATURES]).compute(), expected)


@pytest.mark.parametrize("machine", [clearmargin.LPSVC(nu=0.05), on_dask.LPSVC(nu=0.05)])
def test_rules_of_a_plane_are_those_of_the_rows_in_memory(frame, machine):
    whole = dd.from_pandas(frame, npartitions=5)
    here = clearmargin.RuleExtractor(clearmargin.LPSVC(nu=0.05)).fit(frame[FEATURES], frame["y"])
    there = on_dask.RuleExtractor(machine).fit(whole[FEATURES], whole["y"])
    assert there.rules_ == here.rules_
    assert [rule.stats for rule in there.rules_] == [rule.stats for rule in here.rules_]
    assert there.n_rows_searched_ == 600
    which = there.which(whole[FEATURES])
    assert np.array_equal(which.compute(), here.which(frame[FEATURES]))
    assert np.array_equal(there.covers(whole[FEATURES]).compute(), here.covers(frame[FEATURES]))
    assert np.array_equal(there.predict(whole[FEATURES]).compute(), here.predict(frame[FEATURES]))
    assert type(there.to_local()) is clearmargin.RuleExtractor


def test_rules_abstain_lazily_on_arrays_without_names(frame):
    X = da.from_array(frame[FEATURES].to_numpy(), chunks=(150, 4))
    y = da.from_array((frame["y"] == "yes").to_numpy(), chunks=150)
    model = on_dask.RuleExtractor(clearmargin.LPSVC(nu=0.05), fallback="abstain").fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    table = frame[FEATURES].to_numpy()
    expected = model.to_local().predict(table)
    assert None in expected
    assert model.predict(X).compute().tolist() == expected.tolist()
    assert np.array_equal(model.which(X).compute(), model.to_local().which(table))


def test_a_machine_with_advice_is_that_of_the_rows_in_memory(frame):
    whole = dd.from_pandas(frame, npartitions=5)
    options = {"advice": "a >= 1 and b >= 0 => yes", "mu": 3.0}
    here = clearmargin.AdviceSVC(**options).fit(frame[FEATURES], frame["y"], frame["w"])
    there = on_dask.AdviceSVC(**options).fit(whole[FEATURES], whole["y"], whole["w"])
    assert np.array_equal(there.coef_, here.coef_)
    assert np.array_equal(there.intercept_, here.intercept_)
    assert there.objective_ == here.objective_
    assert str(there.outcome_) == str(here.outcome_)
    local = there.to_local()
    assert type(local) is clearmargin.AdviceSVC
    scores = there.decision_function(whole[FEATURES])
    assert np.array_equal(scores.compute(), local.decision_function(frame[FEATURES]))


def test_ends_and_properties_of_a_ranking_are_those_of_the_rows_in_memory(frame, monkeypatch):
    from clearmargin.rankings import contrast_in_parts

    monkeypatch.setattr(contrast_in_parts, "MOST_SAMPLED", 200)
    whole = dd.from_pandas(frame, npartitions=5)
    options = {"estimator": clearmargin.LPSVC(nu=0.05), "top": 0.2, "bottom": 0.2}
    here = clearmargin.RankContrast(**options).fit(frame[FEATURES], frame["y"])
    there = on_dask.RankContrast(**options).fit(whole[FEATURES], whole["y"])
    assert np.array_equal(there.top_index_, here.top_index_)
    assert there.rules_ == here.rules_
    assert there.properties_["held_out_p"].equals(here.properties_["held_out_p"])
    assert type(there.to_local()) is clearmargin.RankContrast
    assert not hasattr(there, "predict")
    with pytest.raises(DataError, match="no use for sample_weight"):
        on_dask.RankContrast(**options).fit(whole[FEATURES], whole["y"], whole["w"])


def test_a_small_collection_is_ranked_in_memory(frame):
    X = da.from_array(frame[FEATURES].to_numpy(), chunks=(150, 4))
    y = da.from_array((frame["y"] == "yes").to_numpy(), chunks=150)
    here = clearmargin.RankContrast(top=0.2, bottom=0.2).fit(X.compute(), y.compute())
    there = on_dask.RankContrast(top=0.2, bottom=0.2).fit(X, y)
    assert there.rules_ == here.rules_
    assert there.auc_ == here.auc_
    assert not hasattr(there, "feature_names_in_")
