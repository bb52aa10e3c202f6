"""A machine over rules of a table in partitions: that of all rows where few are different, else of a sample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import RuleSVC
from clearmargin.exceptions import DataError
from clearmargin.rule_svm import part_rows
from clearmargin.rule_svm.part_rows import read_part_rows
from clearmargin.tables.part_survey import HeldTable, held_table

COLUMNS = ["age", "smoker", "bmi"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame(
        {
            "age": rng.integers(20, 30, 2000),
            "smoker": rng.choice(["no", "yes", "ex"], 2000),
            "bmi": rng.integers(18, 22, 2000).astype(float),
        }
    )
    made.loc[rng.random(2000) < 0.1, "bmi"] = np.nan
    is_ill = (made["age"] > 25) & (made["smoker"] != "no") | (rng.random(2000) < 0.1)
    made["y"] = np.where(is_ill, "ill", "well")
    made["w"] = rng.integers(0, 3, 2000).astype(float)
    return made


def machine() -> RuleSVC:
    return RuleSVC(max_rules=3, cv=2, certify=False)


@pytest.mark.parametrize("most", [100_000, 1_000])
def test_a_table_of_few_different_rows_gives_the_machine_of_all_rows(frame, monkeypatch, most):
    monkeypatch.setattr(part_rows.read_part_rows, "__defaults__", (most,))
    here = machine().fit(frame[COLUMNS], frame["y"])
    there = machine().fit(held_table(frame.drop(columns="w"), "y", 700))
    assert there.n_rows_ == there.n_sampled_rows_ == 2000
    assert there.weighted_rules_ == here.weighted_rules_
    assert there.cv_score_ == here.cv_score_
    assert [rule.stats for rule in there.rules_] == [rule.stats for rule in here.rules_]


def test_weights_count_as_in_memory(frame, monkeypatch):
    monkeypatch.setattr(part_rows.read_part_rows, "__defaults__", (1_000,))
    here = machine().fit(frame[COLUMNS], frame["y"], frame["w"])
    table = HeldTable(held_table(frame, "y", 700).parts, COLUMNS, "y")
    table.weight = "w"
    there = machine().fit(table)
    assert there.weighted_rules_ == here.weighted_rules_
    assert [rule.stats for rule in there.rules_] == [rule.stats for rule in here.rules_]


def test_of_many_different_rows_a_sample_is_taken_and_counts_are_of_all(frame, monkeypatch):
    monkeypatch.setattr(part_rows.read_part_rows, "__defaults__", (400,))
    many = frame.drop(columns="w").assign(bmi=np.arange(2000.0))
    there = machine().fit(held_table(many, "y", 700))
    assert there.n_rows_ == 2000
    assert 300 < there.n_sampled_rows_ < 500
    scores = there.rules_.score(many[COLUMNS], many["y"]).rules
    assert [rule.stats for rule in there.rules_] == list(scores)
    again = machine().fit(held_table(many, "y", 90))
    assert again.weighted_rules_ == there.weighted_rules_


def test_a_rare_class_has_its_share_of_a_sample_and_weighs_what_all_its_rows_weigh():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=20_000), "y": rng.random(20_000) < 0.01})
    drawn = read_part_rows(held_table(frame, "y", 3_000), 1_000)
    n_rare = int(frame["y"].sum())
    assert drawn.labels.sum() > min(n_rare, 80) > 1_000 * 0.01
    for label in (False, True):
        assert drawn.weight[drawn.labels == label].sum() == pytest.approx(
            (frame["y"] == label).sum()
        )


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", None]), st.booleans()),
        min_size=8,
        max_size=30,
    )
)
def test_merged_rows_weigh_what_the_rows_weigh(rows):
    frame = pd.DataFrame(rows, columns=["n", "t", "y"])
    if frame["y"].nunique() < 2:
        return
    drawn = read_part_rows(held_table(frame, "y", 3), 7)
    assert drawn.weight.sum() == pytest.approx(len(rows))
    if drawn.n_rows == len(rows):
        table = pd.DataFrame(
            {"n": drawn.table.values("n"), "t": drawn.table.values("t"), "y": drawn.labels}
        )
        weighed = table.assign(w=drawn.weight).groupby(["n", "t", "y"], dropna=False)["w"].sum()
        assert weighed.to_dict() == frame.groupby(["n", "t", "y"], dropna=False).size().to_dict()


def test_what_is_wrong_is_said_of_all_rows_not_of_a_sample(frame):
    wrong = frame.drop(columns="w")
    wrong.loc[1999, "bmi"] = np.inf
    with pytest.raises(DataError, match=r"infinity \(inf\) in the table, row 2000, column 'bmi'"):
        machine().fit(held_table(wrong, "y", 700))
    with pytest.raises(DataError, match="only one class"):
        machine().fit(held_table(wrong.assign(y="ill"), "y", 700))
    with pytest.raises(DataError, match="leave out y"):
        machine().fit(held_table(frame, "y", 700), frame["y"])
