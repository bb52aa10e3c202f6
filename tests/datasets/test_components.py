"""The ten ranked components reproduce the counts and leverages of the paper."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import inf

import pytest

from clearmargin.datasets import make_components
from clearmargin.exceptions import MissingDependencyError


def within(column, low, high):
    return lambda row: low <= row[column] < high


def made_by(name):
    return lambda row: row["manufacturer"] == name


def both(first, second):
    return lambda row: first(row) and second(row)


LARGE, SMALL = within("length", 2000, 2500), within("length", 500, 1000)
# Table 2 of the paper: property, count in top, count in bottom, leverage for top. The print has lost
# the minus signs; they follow from the counts.
TABLE_2 = {
    "length in [2000, 2500)": (LARGE, 0, 3, "-0.15"),
    "length in [500, 1000)": (SMALL, 4, 1, "0.15"),
    "manufacturer A": (made_by("A"), 1, 4, "-0.15"),
    "age from 25": (within("age", 25, inf), 0, 2, "-0.10"),
    "A and [2000, 2500)": (both(made_by("A"), LARGE), 0, 3, "-0.15"),
    "B and [500, 1000)": (both(made_by("B"), SMALL), 3, 0, "0.15"),
    "age below 3 and [500, 1000)": (both(within("age", -inf, 3), SMALL), 2, 0, "0.10"),
}


@pytest.mark.parametrize(
    ("holds", "in_top", "in_bottom", "leverage"), TABLE_2.values(), ids=TABLE_2.keys()
)
def test_a_property_has_the_counts_and_the_leverage_of_table_2(holds, in_top, in_bottom, leverage):
    bunch = make_components()
    rows = bunch.data.to_dict("records")
    t = sum(holds(row) for row, side in zip(rows, bunch.side, strict=True) if side == "top")
    b = sum(holds(row) for row, side in zip(rows, bunch.side, strict=True) if side == "bottom")
    assert (t, b) == (in_top, in_bottom)
    n, n_top = len(rows), sum(bunch.side == "top")
    assert Fraction(t, n) - Fraction(t + b, n) * Fraction(int(n_top), n) == Fraction(leverage)


def test_rows_come_in_the_order_of_the_ranking_with_its_two_ends():
    bunch = make_components()
    assert bunch.target.tolist() == [1, 2, 3, 4, 5, 96, 97, 98, 99, 100]
    assert bunch.side.tolist() == ["top"] * 5 + ["bottom"] * 5
    assert bunch.target.name == bunch.target_names[0] == "rank"


def test_a_serial_number_names_the_manufacturer_in_its_third_character():
    bunch = make_components()
    assert [serial[2] for serial in bunch.serial] == bunch.data["manufacturer"].tolist()


def test_manufacturer_is_text_and_the_other_columns_are_integers():
    X, rank = make_components(return_X_y=True)
    assert list(X.columns) == ["age", "length", "manufacturer"]
    assert X.dtypes[["age", "length"]].tolist() == ["int64", "int64"]
    assert all(isinstance(name, str) for name in X["manufacturer"])
    assert rank.dtype == "int64"


def test_arrays_hold_objects_and_need_no_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    X, rank = make_components(return_X_y=True, as_frame=False)
    assert X.dtype == object
    assert X[0].tolist() == [2, 500, "B"]
    assert X[-1].tolist() == [25, 2500, "B"]
    assert rank.tolist()[-1] == 100


def test_frames_without_pandas_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="as_frame=True needs pandas"):
        make_components()


def test_the_bunch_describes_and_cites():
    bunch = make_components()
    assert "10 rows, 3\nfeatures" in bunch.DESCR
    assert "Table 1" in bunch.citation
    assert bunch.integer == {"age": True, "length": True, "manufacturer": False}
    assert bunch.filename is None
