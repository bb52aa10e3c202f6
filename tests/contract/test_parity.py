"""The same answers from a table in memory, from files that are read in parts, and from partitions of Dask."""

import pickle
import warnings
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tests.contract.estimators import ESTIMATORS

import clearmargin as cm
from clearmargin.exceptions import ClearmarginWarning, DataError

NAMES = list(ESTIMATORS)
FORMS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False, row_group_size=70),
    "feather": lambda frame, path: frame.reset_index(drop=True).to_feather(path),
}


def made(m: int = 600) -> pd.DataFrame:
    """Columns of ties, of one value, with long tails; the classes overlap."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(m, 2)).round(2), columns=["age", "bmi"])
    frame["tied"], frame["one"] = rng.integers(0, 3, m), 7.5
    frame["heavy"] = rng.normal(size=m) ** 5
    frame["y"] = np.where(frame["age"] + frame["bmi"] + 0.4 * rng.normal(size=m) > 0, "ill", "well")
    return frame


FRAME = made()
X, Y = FRAME.drop(columns="y"), FRAME["y"]


def write(frame: pd.DataFrame, folder: Any, form: str, files: int = 3) -> Any:
    cuts = np.linspace(0, len(frame), files + 1).astype(int)
    for k in range(files):
        FORMS[form](frame.iloc[cuts[k] : cuts[k + 1]], folder / f"{k}.{form}")
    return folder


def fitted(estimator: Any, *rows: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClearmarginWarning)
        return clone(estimator).fit(*rows)


def learned(estimator: Any) -> dict[str, str]:
    """All that was learned, but for the seconds of each step; numbers of planes to nine digits."""
    skipped = ("trace_", "estimator_", "scores_", "gap_", "hyperplane_", "table_")
    return {
        name: repr(np.asarray(value).round(9).tolist())
        if name in ("coef_", "intercept_", "objective_")
        else repr(value.tolist() if isinstance(value, np.ndarray) else value)
        for name, value in vars(estimator).items()
        if name.endswith("_") and name not in skipped
    }


@pytest.mark.parametrize("name", NAMES)
def test_estimator_learns_the_same_from_memory_and_files(name, tmp_path):
    whole = fitted(ESTIMATORS[name], X, Y)
    expected = learned(whole)
    assert expected
    # One function reads all of them, so that each estimator tries one form.
    form = list(FORMS)[NAMES.index(name) % len(FORMS)]
    table = cm.scan(write(FRAME, tmp_path, form), "y")
    assert learned(fitted(ESTIMATORS[name], table)) == expected
    if hasattr(whole, "predict"):
        assert (whole.predict(table) == whole.predict(X)).all()
    parts = dd.from_pandas(FRAME, npartitions=5)
    assert learned(fitted(ESTIMATORS[name], cm.dask.scan(parts[list(X)], parts["y"]))) == expected
    with pytest.raises(DataError, match="y must"):
        fitted(ESTIMATORS[name], table, Y)


def test_lpsvc_learns_the_same_from_partitions_of_dask():
    expected = learned(fitted(cm.LPSVC(nu=0.05), X, Y))
    for n in (1, 5):
        parts = dd.from_pandas(FRAME, npartitions=n)
        found = fitted(cm.dask.LPSVC(nu=0.05), parts[list(X)], parts["y"])
        assert learned(found) == learned(found.to_local()) == expected
    assert pickle.loads(pickle.dumps(found)).client is None


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table of more rows than any sample has, of which 2 % are of the rarer class."""
    rng, m = np.random.default_rng(0), 120_000
    frame = pd.DataFrame({"a": rng.integers(0, 50, m) / 10, "b": rng.normal(size=m).round(2)})
    frame["y"] = np.where(frame["a"] + 0.4 * frame["b"] > 4.7, "ill", "well")
    frame["y"] = frame["y"].where(rng.random(m) > 0.01, "well")
    frame.to_parquet(tmp_path_factory.mktemp("large") / "t.parquet", row_group_size=7_000)
    return frame, cm.scan(tmp_path_factory.getbasetemp() / "large0" / "t.parquet", "y")


LARGE: dict[str, tuple[Any, int]] = {
    "RuleExtractor": (cm.RuleExtractor(cm.LPSVC(nu=0.01), max_rules=4), 100_000),
    "RuleSVC": (cm.RuleSVC(max_rules=2, cv=2), 100_000),
    "SVMTreeClassifier": (cm.SVMTreeClassifier(C=1.0, max_layers=2, max_rules=3), 100_000),
    "SurrogateRules": (cm.SurrogateRules(cm.LPSVC(nu=0.01), max_rules=4), 10_000),
}


@pytest.mark.parametrize("name", LARGE)
def test_rules_of_a_sample_are_counted_on_all_rows(name, large):
    frame, table = large
    estimator, most = LARGE[name]
    found = fitted(estimator, table)
    assert found.n_rows_ == len(frame)
    assert most <= found.n_sampled_rows_ <= 1.01 * most
    model = getattr(found, "estimator_", found if name == "SVMTreeClassifier" else None)
    counts = found.rules_.score(frame[["a", "b"]], frame["y"], model)
    assert [rule.stats for rule in found.rules_] == list(counts.rules)


def test_a_card_of_a_sample_is_counted_on_all_rows(large):
    frame, table = large
    points = frame[["a", "b"]]
    for certify in (False, True):
        card = fitted(cm.ScoreRules(cm.LPSVC(nu=0.01), certify=certify, max_rules=6), table)
        assert (card.n_rows_, 20_000 <= card.n_sampled_rows_ <= 20_200) == (len(frame), True)
        if certify:
            proved = card.scorecard_.prove_codes(points) >= 0
            assert card.proved_ == proved.mean()
        else:
            assert (
                card.fidelity_ == (card.predict(points) == card.estimator_.predict(points)).mean()
            )


def test_rare_classes_are_kept_and_weighted_back(large):
    frame, table = large
    rare = (frame["y"] == "ill").sum()
    drawn = fitted(cm.RuleSVC(max_rules=2, cv=2, max_conditions=1), table)
    whole = fitted(cm.RuleSVC(max_rules=2, cv=2, max_conditions=1), frame[["a", "b"]], frame["y"])
    assert (drawn.predict(table) == "ill").sum() == pytest.approx(
        (whole.predict(frame[["a", "b"]]) == "ill").sum(), abs=0.2 * rare
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("class_weight", ["balanced", {"ill": 3.0}])
def test_costs_of_classes_and_single_precision_count_in_parts(form, class_weight, tmp_path):
    single = FRAME.astype({"age": np.float32})
    model = cm.LPSVC(nu=0.05, class_weight=class_weight)
    written = pd.read_csv(write(single, tmp_path, "csv", 1) / "0.csv") if form == "csv" else single
    whole = fitted(model, written.astype({"age": float})[list(X)], Y)
    (tmp_path / "parts").mkdir()
    table = cm.scan(write(single, tmp_path / "parts", form), "y")
    assert learned(fitted(model, table)) == learned(whole)
    # A file may hold one class only.
    (tmp_path / "sorted").mkdir()
    ordered = written.sort_values("y", kind="stable")
    table = cm.scan(write(ordered, tmp_path / "sorted", "parquet"), "y")
    found = fitted(model, table)
    assert found.coef_ == pytest.approx(whole.coef_, rel=1e-9)


def test_predictions_of_partitions_are_lazy_and_those_of_memory():
    parts = dd.from_pandas(FRAME, npartitions=5)
    PX, Py = parts[list(X)], parts["y"]
    weights = pd.Series(np.arange(600) % 3, index=FRAME.index, dtype=float)
    whole = cm.LPSVC().fit(X, Y, weights)
    model = cm.dask.LPSVC().fit(PX, Py, dd.from_pandas(weights, npartitions=5))
    assert learned(model) == learned(whole)
    predicted = model.predict(PX)
    assert isinstance(predicted, dd.Series)
    assert predicted.compute().tolist() == whole.predict(X).tolist()
    assert (model.decision_function(PX).compute() == whole.decision_function(X)).all()
    assert (model.predict(X) == whole.predict(X)).all()
    assert model.score(PX, Py) == whole.score(X, Y)
    few = model.predict(PX[PX["age"] > 2.0])  # most partitions have no such row
    assert len(few.compute()) == (X["age"] > 2.0).sum()
    array, labels = (
        da.from_array(X.to_numpy(), chunks=(150, 3)),
        da.from_array((Y == "ill").to_numpy(), chunks=100),
    )
    unnamed = cm.dask.LPSVC().fit(array, labels)
    assert not hasattr(unnamed, "feature_names_in_")
    assert (unnamed.predict(array).compute() == unnamed.to_local().predict(X.to_numpy())).all()
    rules = cm.RuleExtractor(cm.LPSVC()).fit(X, Y).rules_
    assert rules.score(cm.dask.scan(PX, Py)) == rules.score(X, Y)


@pytest.mark.parametrize("kind", ["bool", "int32", "float64", "object", "category"])
def test_classes_have_the_type_that_they_have_in_memory(kind):
    labels = (Y if kind in ("object", "category") else Y == "ill").astype(kind)
    parts = dd.from_pandas(X.assign(label=labels), npartitions=3)
    there = cm.dask.LPSVC().fit(parts[list(X)], parts["label"])
    here = cm.LPSVC().fit(X, labels)
    assert there.classes_.dtype == here.classes_.dtype
    assert learned(there) == learned(here)
