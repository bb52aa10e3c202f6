from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.lp_svm import LPSVC, LPSVCCV, lpsvccv
from clearmargin.tables.part_survey import held_table


def make_table(m: int) -> pd.DataFrame:
    rng = np.random.default_rng(m)
    X = rng.integers(0, 40, size=(m, 4)) / 4.0
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=m) > 0, "yes", "no")
    return pd.DataFrame(X * [1.0, 1.0, 100.0, 0.01], columns=list("abcd")).assign(y=y)


@pytest.mark.parametrize("block_rows", [300, 77, 13])
def test_partitions_give_the_plane_of_memory_to_the_bit(block_rows):
    frame = make_table(300)
    model = LPSVCCV(cv=3, scale=True, max_features=2)
    whole = model.fit(frame[list("abcd")], frame["y"])
    coef, intercept, nu = whole.coef_.copy(), whole.intercept_.copy(), whole.nu_
    found = LPSVCCV(cv=3, scale=True, max_features=2).fit(held_table(frame, "y", block_rows))
    assert (found.coef_ == coef).all()
    assert (found.intercept_ == intercept).all()
    assert (found.nu_, found.n_chosen_on_) == (nu, 300)
    assert found.classes_.tolist() == ["no", "yes"]


def test_nu_is_chosen_on_a_sample_and_the_plane_trained_on_all_rows(monkeypatch):
    monkeypatch.setattr(lpsvccv, "SAMPLE_ROWS", 200)
    frame = make_table(1000)
    found, finer = (
        LPSVCCV(cv=3, max_features=2).fit(held_table(frame, "y", rows)) for rows in (333, 50)
    )
    assert 140 < found.n_chosen_on_ < 260
    assert found.nu_ == finer.nu_
    assert (found.coef_ == finer.coef_).all()
    kept = [list("abcd")[j] for j in found.features_]
    plane = LPSVC(found.nu_).fit(frame[kept], frame["y"])
    assert (found.coef_[0, found.features_] == plane.coef_[0]).all()
    assert found.objective_ == plane.objective_
    # The grid is that of the sample, where a row weighs as much more as there are fewer.
    assert found.nu_ in found.cv_results_["nu"]


def test_values_of_nu_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(lpsvccv, "SAMPLE_ROWS", 200)
    nus = [0.001, 0.01]
    found = LPSVCCV(nus, cv=3).fit(held_table(make_table(1000), "y", 100))
    assert found.cv_results_["nu"] == pytest.approx(nus)


def test_what_needs_rows_in_memory_is_refused():
    parts = held_table(make_table(60), "y", 20)
    with pytest.raises(InvalidValueError, match="groups has a value for each row"):
        LPSVCCV().fit(parts, groups=np.zeros(60))
    with pytest.raises(InvalidValueError, match="give a number of folds, cv=10"):
        LPSVCCV(cv=[(np.arange(30), np.arange(30, 60))]).fit(parts)
    with pytest.raises(DataError, match="y must be left out"):
        LPSVCCV().fit(parts, np.zeros(60))


def test_a_class_that_the_sample_lacks_is_an_error_in_words(monkeypatch):
    monkeypatch.setattr(lpsvccv, "SAMPLE_ROWS", 50)
    frame = make_table(400).assign(y=np.where(np.arange(400) < 2, "yes", "no"))
    with pytest.raises(DataError, match=r"train LPSVC\(nu\) on all rows"):
        LPSVCCV().fit(held_table(frame, "y", 100))
