"""The table of a project: strangers' files, sealed rows that nobody sees, and the task that is made of the others."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.workbench.benches import as_csv, opened_task, patients

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.tables.files import FileTable
from clearmargin.workbench import project_table
from clearmargin.workbench.project_table import ProjectTable, columns_not_read, read_source
from clearmargin.workbench.settings import TaskSettings


def as_parquet(columns):
    written = io.BytesIO()
    pd.DataFrame(columns).to_parquet(written)
    return written.getvalue()


def as_feather(columns):
    written = io.BytesIO()
    pd.DataFrame(columns).to_feather(written)
    return written.getvalue()


# Reading.


@pytest.mark.parametrize(
    "write",
    [
        as_csv,
        lambda columns: as_csv(columns, ";"),
        lambda columns: as_csv(columns, "\t"),
        lambda columns: as_csv(columns).decode().encode("utf-16"),
        lambda columns: gzip.compress(as_csv(columns)),
        as_parquet,
        as_feather,
    ],
    ids=["csv", "semicolon", "tab", "utf-16", "gzip", "parquet", "feather"],
)
def test_a_table_is_read_whatever_its_form(write):
    columns = patients(30, gaps=True)
    table = read_source(write(columns), "patients")
    assert table.name == "patients"
    assert list(table.columns) == list(columns)
    for name, values in columns.items():
        read = table.columns[name]
        is_gap = pd.isna(values)
        assert pd.isna(read).tolist() == is_gap.tolist()
        assert read[~is_gap].tolist() == values[~is_gap].tolist()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "hospital.csv is empty"),
        (b"x,y\n", "hospital.csv has column names and no rows"),
        (b"\x00\x01\x02\xff" * 300, "hospital.csv is no text"),
        (b"PAR1" + b"\x00" * 50, "hospital.csv is a damaged Parquet file"),
        (b"ARROW1\x00\x00" + b"\x07" * 50, "hospital.csv is a damaged Feather file"),
        (b"\x1f\x8b" + b"\x07" * 50, "hospital.csv is packed by gzip and damaged"),
        (b"PK\x03\x04" + b"\x07" * 50, "hospital.csv"),
        (b"x,x\n1,2\n", "columns 1 and 2 are both called 'x'"),
        (b"x,y\n1,2\n3\n", "hospital.csv, line 3: 1 values"),
    ],
)
def test_what_is_no_table_is_refused_in_words(content, words):
    with pytest.raises(DataError, match=words) as caught:
        read_source(content, "hospital.csv")
    # The name of the file on this machine is nobody's business.
    assert "upload" not in str(caught.value)
    assert "/tmp" not in str(caught.value)


def test_a_table_of_too_many_values_is_refused(monkeypatch):
    monkeypatch.setattr(project_table, "MAX_CELLS", 100)
    with pytest.raises(
        DataError, match="30 rows and 4 columns, 120 values; the workbench takes 100"
    ):
        read_source(as_csv(patients(30)), "patients.csv")


def test_columns_of_dates_are_named_so_that_they_can_be_left_out():
    columns = {
        "when": pd.date_range("2024-01-01", periods=4),
        "x": [1.0, 2.0, 3.0, 4.0],
        "several": [[1], [2], [3], [4]],
        "y": list("abab"),
    }
    for content in (as_parquet(columns), as_feather({k: columns[k] for k in ("when", "x", "y")})):
        aside = columns_not_read(content)
        assert aside[0] == "when"
        assert list(read_source(content, "t", {"drop": aside}).columns) == ["x", "y"]


def test_an_index_of_dates_is_no_column():
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.date_range("2024-01-01", periods=2))
    assert columns_not_read(as_parquet(frame)) == []


@pytest.mark.parametrize("content", [b"", b"x,y\n1,2\n", b"PAR1 and nothing more", b"ARROW1"])
def test_other_files_have_no_column_that_cannot_be_read(content):
    assert columns_not_read(content) == []


# Sealed rows.


def counted_rows(m=1000):
    return FileTable("t", {"x": np.arange(m) * 7 % 13, "y": np.arange(m) % 2})


@given(
    small=st.floats(0, 0.5),
    large=st.floats(0, 0.5),
    seed=st.integers(0, 2**20),
    m=st.integers(1, 300),
)
def test_sealed_rows_are_a_part_that_grows_with_its_share(small, large, seed, m):
    small, large = sorted([small, large])
    table = counted_rows(m)
    a, b = ProjectTable(table, small, seed), ProjectTable(table, large, seed)
    assert sorted([*a.open_rows.tolist(), *a.sealed_rows.tolist()]) == list(range(m))
    assert set(a.sealed_rows.tolist()) <= set(b.sealed_rows.tolist())
    assert len(a.open) + len(a.sealed) == m


def test_the_share_is_kept_and_the_seed_says_which_rows():
    table = counted_rows(5000)
    found = [ProjectTable(table, 0.2, seed).sealed_rows for seed in (1, 1, 2)]
    assert found[0].tolist() == found[1].tolist()
    assert found[0].tolist() != found[2].tolist()
    # Five standard deviations of 5,000 draws.
    assert all(abs(len(rows) - 1000) < 142 for rows in found)


@pytest.mark.parametrize("share", [-0.1, 0.51, float("nan")])
def test_a_share_that_cannot_be_is_refused(share):
    with pytest.raises(InvalidValueError, match=r"at least 0 and at most 0\.5"):
        ProjectTable(counted_rows(), share, 1)


def test_a_column_that_counts_the_rows_is_no_feature_although_sealed_rows_are_between():
    table = patients(60)
    table = {"number": np.arange(100, 160), **table}
    opened = opened_task(table, "state", share=0.3)
    assert list(opened.task.X.names) == ["colour", "age", "dose"]
    assert opened.table.counters == ("number",)


def test_a_counter_may_be_the_target_and_is_then_refused_in_words():
    table = {"number": np.arange(60), **patients(60)}
    with pytest.raises(DataError, match="different values, more than 20"):
        opened_task(table, "number")


def test_sealed_rows_are_given_as_they_are_in_the_table():
    table = patients(200, seed=6, gaps=True)
    opened = opened_task(table, "state", share=0.3, missing="impute")
    X, labels = opened.table.sealed_table(opened, filled=False)
    rows = opened.table.sealed_rows
    assert labels.tolist() == table["state"][rows].tolist()
    assert X.column("age").values.tolist() == table["age"][rows].tolist()
    given, known = X.column("dose").values, table["dose"][rows]
    assert np.array_equal(given, known, equal_nan=True)
    assert np.isnan(known).any()


def test_gaps_of_sealed_rows_are_filled_with_what_is_typical_of_the_open_ones():
    table = patients(200, seed=6, gaps=True)
    opened = opened_task(table, "state", share=0.3, missing="impute")
    X, _ = opened.table.sealed_table(opened, filled=True)
    rows = opened.table.sealed_rows
    median = float(np.nanmedian(np.delete(table["dose"], rows)))
    wanted = np.where(np.isnan(table["dose"][rows]), median, table["dose"][rows])
    assert X.column("dose").values.tolist() == wanted.tolist()


def test_sealed_rows_that_lack_a_value_are_left_out_where_open_ones_are():
    table = patients(200, seed=6, gaps=True)
    opened = opened_task(table, "state", share=0.3, missing="drop")
    X, labels = opened.table.sealed_table(opened, filled=True)
    rows = opened.table.sealed_rows
    whole = [k for k in rows if not np.isnan(table["dose"][k]) and table["colour"][k]]
    assert len(X) == len(labels) == len(whole) < len(rows)
    assert X.column("age").values.tolist() == table["age"][whole].tolist()


def test_sealed_rows_of_a_class_that_no_open_row_has_are_left_out():
    table = patients(100)
    sealed = ProjectTable(FileTable("t", table), 0.3, 1).sealed_rows
    table["state"][sealed[:4]] = "dead"
    table["state"][sealed[4]] = None
    opened = opened_task(table, "state", share=0.3)
    _, labels = opened.table.sealed_table(opened, filled=True)
    assert len(labels) == len(sealed) - 5
    assert set(labels) == {"ill", "well"}


def test_one_class_against_all_others_is_so_in_sealed_rows_too():
    table = patients(120)
    table["state"] = np.where(table["age"] > 65, "dead", table["state"]).astype(object)
    opened = opened_task(table, "state", share=0.3, positive="ill")
    assert opened.classes == ("not ill", "ill")
    _, labels = opened.table.sealed_table(opened, filled=True)
    true = table["state"][opened.table.sealed_rows]
    assert labels.tolist() == np.where(true == "ill", "ill", "not ill").tolist()


@pytest.mark.parametrize("gap", [False, True])
def test_classes_that_are_numbers_are_the_same_in_sealed_rows(gap):
    table = patients(120)
    y = (table["state"] == "ill").astype(float if gap else int)
    if gap:
        y[::10] = np.nan
    opened = opened_task({**table, "state": y}, "state", share=0.3, missing="drop")
    assert opened.classes == (0, 1)
    _, labels = opened.table.sealed_table(opened, filled=True)
    true = y[opened.table.sealed_rows]
    assert labels.tolist() == true[~np.isnan(true)].tolist()


def test_numbers_that_are_categories_are_so_in_sealed_rows_too():
    table = patients(120)
    table["ward"] = np.arange(120) % 3 + 1
    opened = opened_task(table, "state", share=0.3, categories=("ward",))
    X, _ = opened.table.sealed_table(opened, filled=True)
    assert set(X.column("ward").values) == {"1", "2", "3"}
    assert opened.space.categories[opened.space.index("ward")] == ("1", "2", "3")


# The task of the open rows.


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_rows_have_the_numbers_of_the_file(missing):
    table = patients(150, seed=2, gaps=True)
    opened = opened_task(table, "state", share=0.25, missing=missing)
    for position, row in enumerate(opened.rows.tolist()):
        case = opened.case(position)
        assert case["age"] == table["age"][row - 1]
        assert opened.task.y[position] == table["state"][row - 1]
        assert opened.position(row) == position
    assert not set(opened.rows - 1) & set(opened.table.sealed_rows.tolist())


def test_nobody_asks_for_a_sealed_row():
    opened = opened_task(patients(100), "state", share=0.3)
    row = int(opened.table.sealed_rows[3]) + 1
    with pytest.raises(DataError, match=f"row {row} is in the sealed sample"):
        opened.position(row)


@pytest.mark.parametrize("row", [0, -1, 101, 10**30])
def test_a_row_that_is_not_there_is_refused_in_words(row):
    opened = opened_task(patients(100), "state", share=0.3)
    with pytest.raises(DataError, match="there is no row"):
        opened.position(row)


def test_a_row_that_lacks_a_value_is_not_in_the_task():
    table = patients(100)
    table["dose"][9] = np.nan
    opened = opened_task(table, "state", missing="drop")
    with pytest.raises(DataError, match="there is no row 10 in the task; it may lack a value"):
        opened.position(10)


def test_the_first_row_with_a_gap_is_named_as_in_the_file():
    table = patients(100)
    parts = ProjectTable(FileTable("t", table), 0.4, 1)
    gap = int(parts.open_rows[20])
    assert gap > 25  # sealed rows are before it
    table["dose"][[gap, gap + 1]] = np.nan
    with pytest.raises(
        DataError, match=rf"open rows lack a value \('dose' in \d\).* row {gap + 1};"
    ):
        opened_task(table, "state", share=0.4)
    table["dose"][:] = 1.0
    table["state"][gap] = None
    with pytest.raises(DataError, match=f"'state' is missing in 1 open row, .* row {gap + 1};"):
        opened_task(table, "state", share=0.4)


def test_gaps_of_sealed_rows_and_unused_columns_are_no_trouble():
    table = patients(100)
    parts = ProjectTable(FileTable("t", table), 0.4, 1)
    table["dose"][parts.sealed_rows] = np.nan
    table["empty"] = np.full(100, np.nan)
    table["spare"] = np.where(np.arange(100) % 2, np.nan, 1.0)
    opened = opened_task(table, "state", share=0.4, drop=("spare",))
    assert "empty" not in opened.task.X.names
    assert "spare" not in opened.task.X.names


@pytest.mark.parametrize(
    ("change", "settings", "words"),
    [
        ({}, {"positive": "dead"}, "'dead' is no class of 'state'"),
        ({"state": np.full(60, "ill", dtype=object)}, {}, "a single class, 'ill'"),
        (
            {"state": np.array(["ill"] * 59 + ["well"], dtype=object)},
            {},
            "the class well of 'state' has a single open row",
        ),
        ({"state": np.array(list("abc") * 20, dtype=object)}, {}, r"3 classes \(a, b, c\); choose"),
        (
            {"dose": np.full(60, np.nan)},
            {"drop": ("age", "colour")},
            "no column is left to learn from",
        ),
        ({}, {"drop": ("age", "dose", "colour")}, "no column is left to learn 'state' from"),
        (
            {
                "age": np.where(np.arange(60) % 2, np.nan, 1.0),
                "dose": np.where(np.arange(60) % 2, 1.0, np.nan),
            },
            {"missing": "drop"},
            "every row lacks a value",
        ),
        ({}, {"drop": ("agee",)}, "there is no column 'agee'; did you mean 'age'"),
    ],
)
def test_a_task_that_cannot_be_learned_is_refused_in_words(change, settings, words):
    with pytest.raises(DataError if "agee" not in words else InvalidValueError, match=words):
        opened_task({**patients(60), **change}, "state", **settings)


def test_dropping_rows_may_leave_a_single_class():
    table = patients(60)
    table["dose"][table["state"] == "ill"] = np.nan
    with pytest.raises(DataError, match="only the class 'well' is left"):
        opened_task(table, "state", missing="drop")


def test_declared_ranges_widen_those_that_were_seen():
    table = patients(80)
    opened = opened_task(
        table,
        "state",
        ranges={"age": (0.0, 30.0), "dose": (-1.0, 2.0)},
        whole=("age",),
        units={"age": "years", "state": "nothing"},
    )
    space = opened.space
    age, dose = space.index("age"), space.index("dose")
    assert (space.lower[age], space.upper[age]) == (0.0, table["age"].max())
    assert (space.lower[dose], space.upper[dose]) == (-1.0, 2.0)
    assert space.integer[[age, dose]].tolist() == [True, False]
    assert space.units[age] == "years"


def test_what_is_said_to_be_whole_must_be_so():
    table = patients(80)
    row = next(k for k, dose in enumerate(table["dose"]) if dose != round(dose)) + 1
    with pytest.raises(
        DataError, match=rf"'dose' is said to take whole numbers, and row {row} holds 0\.\d+"
    ):
        opened_task(table, "state", whole=("dose",))
    with pytest.raises(DataError, match="'colour' is said to take whole numbers, and row 1 holds"):
        opened_task(table, "state", whole=("colour",))


def test_a_feature_whose_gaps_are_filled_between_two_numbers_is_not_whole():
    table = patients(80)
    table["age"] = np.where(np.arange(80) % 2, 30.0, 41.0)
    table["age"][:2] = np.nan
    opened = opened_task(table, "state", whole=("age",), missing="impute")
    assert opened.task.fill["age"] == 35.5
    assert not opened.space.integer[opened.space.index("age")]


@pytest.mark.parametrize(
    ("positive", "classes"), [(None, ("ill", "well")), ("ill", ("well", "ill"))]
)
def test_the_class_of_interest_comes_last(positive, classes):
    opened = opened_task(patients(80), "state", positive=positive)
    assert opened.classes == classes
    assert (opened.codes == 1).tolist() == (opened.task.y == classes[1]).tolist()


def test_points_are_values_and_codes_of_categories():
    table = patients(80)
    opened = opened_task(table, "state")
    names = opened.space.categories[0]
    assert [names[int(code)] for code in opened.points[:, 0]] == table["colour"].tolist()
    assert opened.points[:, 1].tolist() == table["age"].tolist()


def test_settings_that_name_no_column_are_refused_before_anything_is_read():
    parts = ProjectTable(FileTable("t", patients(40)), 0.0, 1)
    with pytest.raises(InvalidValueError, match="there is no column 'stat'; did you mean 'state'"):
        parts.task(TaskSettings("stat"))
