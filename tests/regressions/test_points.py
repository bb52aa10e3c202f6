"""What went wrong with rules with points once, by public names."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import train_test_split

from clearmargin import RuleSVC, ScoreRules
from clearmargin.exceptions import DataError


def gene_table(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of 100 rows, and a class that two of the columns decide."""
    X = np.random.default_rng(0).normal(size=(100, columns))
    return X, ((X[:, 7] > 0) & (X[:, 11] < 0.5)).astype(int)


def test_many_columns_are_screened_in_seconds():
    X, y = gene_table(2_000)
    start = time.process_time()
    model = RuleSVC(2, cv=2).fit(X, y)
    assert time.process_time() - start < 4.0
    assert 7 in model.rules_[0].region.bounded


def test_a_free_plane_of_very_many_columns_is_refused_at_once():
    with pytest.raises(DataError, match="linear=True"):
        RuleSVC(2, cv=2, linear="free").fit(*gene_table(1_001))


def test_rows_that_count_next_to_nothing_do_not_move_the_threshold_of_points():
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    weights = {0: 1000.0, 1: 0.0001}
    model = RuleSVC(2, cv=2, points=True, class_weight=weights).fit(X_train, y_train)
    assert (model.predict(X_test) == 0).mean() > 0.87


def test_a_card_with_proof_names_a_missing_value_by_its_row():
    X, y = gene_table(20)
    card = ScoreRules(certify=True).fit(X, y)
    X[77, 0] = np.nan
    with pytest.raises(DataError, match="row 78"):
        card.predict(X)
