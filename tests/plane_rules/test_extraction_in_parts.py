"""Rules over partitions: those of memory where the sample is the table, else with exact counts on all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from clearmargin import LPSVC, RuleExtractor, parse_rules, scan
from clearmargin.exceptions import DataError
from clearmargin.plane_rules import extractor as extractor_module
from clearmargin.tables.part_survey import held_table
from clearmargin.tables.table_encoder import TableEncoder


def frame_of(rows=900, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["n"] = rng.integers(0, 50, rows)
    score = frame["a"] - 2 * frame["b"] + 0.05 * frame["n"] + 0.3 * rng.normal(size=rows)
    frame["y"] = np.where(score > 1.2, "ill", "well")
    return frame


FRAME = frame_of()
X, Y = FRAME.drop(columns="y"), FRAME["y"]
PLANE = LPSVC(nu=0.1).fit(X, Y)


@pytest.mark.parametrize(
    ("criterion", "rows", "block_rows"),
    [("volume", 900, 77), ("volume", 900, 900), ("coverage", 120, 50)],
)
def test_a_table_that_is_its_own_sample_gives_the_rules_of_memory(criterion, rows, block_rows):
    options = {"criterion": criterion, "max_rules": 4, "progress": False}
    whole = RuleExtractor(PLANE, **options).fit(X[:rows], Y[:rows])
    found = RuleExtractor(PLANE, **options).fit(held_table(FRAME[:rows], "y", block_rows))
    assert found.rules_ == whole.rules_
    assert [rule.stats for rule in found.rules_] == [rule.stats for rule in whole.rules_]
    assert found.coverage_ == whole.coverage_
    assert found.recall_ == whole.recall_
    assert found.budget_ == whole.budget_
    assert found.n_rows_searched_ == whole.n_rows_searched_ == rows


def test_rules_of_a_sample_are_proved_over_all_ranges_and_counted_on_all_rows(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(extractor_module, "SAMPLE_VALUES", 4 * 200)
    for k in range(3):
        FRAME[300 * k : 300 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    table = scan(tmp_path, "y")
    found = RuleExtractor(LPSVC(nu=0.1), progress=False).fit(table)
    assert found.estimator_.coef_.tolist() == PLANE.coef_.tolist()
    assert found.n_rows_searched_ < 300
    assert found.space_.lower.tolist() == X.min().tolist()
    assert found.space_.upper.tolist() == X.max().tolist()
    scores = found.rules_.score(X, Y, PLANE)
    assert [rule.stats for rule in found.rules_] == list(scores.rules)
    assert found.budget_.rows == 900
    assert found.budget_.covered == scores.total.covered
    assert {rule.proof for rule in found.rules_} == {"proved"}
    assert (found.which(table) == found.which(X)).all()
    assert (found.covers(table) == found.covers(X)).all()
    assert (found.predict(table) == found.predict(X)).all()
    assert (found.class_shares(table) == found.class_shares(X)).all()


@pytest.mark.parametrize("block_rows", [13, 400, 900])
def test_rules_are_applied_and_counted_by_partition(block_rows):
    rules = parse_rules(
        "a > 0.2 and n <= 30 => ill\nb > 0 => well\nc < -1 => ill", classes=["ill", "well"]
    )
    rows = FRAME.assign(a=FRAME["a"].mask(FRAME.index % 11 == 0))
    parts = held_table(rows, "y", block_rows)
    assert (rules.which(parts) == rules.which(rows)).all()
    assert (rules.covers(parts) == rules.covers(rows)).all()
    assert rules.predict(parts).tolist() == rules.predict(rows).tolist()
    assert rules.score(parts) == rules.score(rows, Y)
    full = held_table(FRAME, "y", block_rows)
    assert rules.score(full, model=PLANE) == rules.score(FRAME, Y, PLANE.predict(X))


def test_categories_are_encoded_by_partition_as_in_memory():
    frame = FRAME.assign(kind=np.where(FRAME["n"] % 3 == 0, "red", "blue")).drop(columns="n")
    frame["y"] = np.where(FRAME["a"] + (frame["kind"] == "red") > 0.4, "ill", "well")
    steps = {"numeric": ["a", "b", "c"], "categories": {"kind": ["blue", "red"]}}
    whole = make_pipeline(TableEncoder(**steps), LPSVC(nu=0.1)).fit(
        frame.drop(columns="y"), frame["y"]
    )
    parts = held_table(frame, "y", 100)
    found = make_pipeline(TableEncoder(**steps), LPSVC(nu=0.1)).fit(parts)
    assert found[-1].coef_.tolist() == whole[-1].coef_.tolist()
    scaled = TableEncoder(**steps, scale=True).fit(parts)
    expected = TableEncoder(**steps, scale=True).fit(frame)
    np.testing.assert_allclose(scaled.scaler_.scale_, expected.scaler_.scale_, rtol=1e-12)
    rules = RuleExtractor(found, progress=False).fit(parts).rules_
    assert (
        rules
        == RuleExtractor(whole, progress=False).fit(frame.drop(columns="y"), frame["y"]).rules_
    )
    assert any("kind" in str(rule) for rule in rules)


def test_the_default_machine_is_that_of_memory():
    found = RuleExtractor(progress=False).fit(held_table(FRAME, "y", 300))
    whole = RuleExtractor(progress=False).fit(FRAME.drop(columns="y"), FRAME["y"])
    assert (found.estimator_.coef_ == whole.estimator_.coef_).all()


def test_rows_with_missing_values_do_not_count():
    frame = FRAME.assign(a=FRAME["a"].mask(FRAME.index % 10 == 0))
    model = PLANE
    found = RuleExtractor(model, fallback="abstain", progress=False)
    with pytest.raises(DataError, match="contains NaN"):
        found.fit(held_table(frame, "y", 200))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda parts: RuleExtractor(PLANE).fit(parts, Y), "y must be left out"),
        (lambda parts: RuleExtractor(PLANE).fit(held_table(X)), "the table has no target"),
        (
            lambda parts: RuleExtractor(LogisticRegression()).fit(parts),
            "LogisticRegression cannot be trained on a table in partitions",
        ),
    ],
)
def test_what_cannot_be_extracted_is_said(call, message):
    with pytest.raises(DataError, match=message):
        call(held_table(FRAME, "y", 300))
