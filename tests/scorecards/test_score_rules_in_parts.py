from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from clearmargin.exceptions import DataError
from clearmargin.lp_svm import LPSVC
from clearmargin.scorecards import ScoreRules, score_rules
from clearmargin.tables.part_survey import held_table

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.integers(0, 30, size=(500, 3)).astype(float), columns=["a", "b", "c"])
Y = np.where(X["a"] - X["b"] + RNG.normal(size=500) > 1, "yes", "no")
FRAME = X.assign(y=Y)


@pytest.mark.parametrize("block_rows", [500, 130, 41])
@pytest.mark.parametrize("certify", [True, False])
def test_a_table_in_partitions_has_the_card_of_memory(certify, block_rows):
    options = {"max_rules": 6, "certify": certify, "n_generated": 200}
    found = ScoreRules(LPSVC(0.01), **options).fit(held_table(FRAME, "y", block_rows))
    whole = ScoreRules(LPSVC(0.01), **options).fit(X, Y)
    assert str(found.scorecard_) == str(whole.scorecard_)
    assert (found.fidelity_, found.n_chosen_on_) == (whole.fidelity_, 500)
    if certify:
        assert found.proved_ == whole.proved_
    parts = held_table(FRAME, "y", block_rows)
    assert (found.predict(parts) == whole.predict(X)).all()
    assert (found.decision_function(parts) == whole.decision_function(X)).all()


def test_rows_are_proved_and_counted_on_all_rows_where_cuts_are_those_of_a_sample(monkeypatch):
    monkeypatch.setattr(score_rules, "SAMPLE_ROWS", 100)
    model = LPSVC(0.01).fit(X, Y)
    found = ScoreRules(model, max_rules=6, certify=True).fit(held_table(FRAME, "y", 100))
    assert found.n_chosen_on_ < 200
    proved = found.scorecard_.prove_codes(X)
    assert found.proved_ == (proved >= 0).mean()
    assert found.fidelity_ == 1.0
    # The ranges are those of all rows: nothing is left out as outside.
    assert (found.space_.lower == X.min()).all()
    assert (found.space_.upper == X.max()).all()
    assert (model.classes_[proved[proved >= 0]] == model.predict(X)[proved >= 0]).all()
    imitated = ScoreRules(model, max_rules=6).fit(held_table(FRAME, "y", 100))
    assert imitated.fidelity_ == (imitated.predict(X) == model.predict(X)).mean()


def test_a_model_of_memory_is_taken_as_it_is_and_others_are_refused():
    kernel = SVC().fit(X, Y)
    assert ScoreRules(kernel, max_rules=3).fit(held_table(FRAME, "y", 99)).estimator_ is kernel
    with pytest.raises(DataError, match="LogisticRegression cannot be trained on a table in part"):
        ScoreRules(LogisticRegression()).fit(held_table(FRAME, "y", 99))
    with pytest.raises(DataError, match="y must be left out"):
        ScoreRules().fit(held_table(FRAME, "y", 99), Y)


def test_the_default_machine_of_a_table_in_partitions_is_the_sparse_one():
    found = ScoreRules(certify=True, max_rules=6).fit(held_table(FRAME, "y", 99))
    whole = ScoreRules(certify=True, max_rules=6).fit(X, Y)
    assert str(found.scorecard_) == str(whole.scorecard_)
