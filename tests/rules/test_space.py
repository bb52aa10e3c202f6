"""Feature spaces: guessed from tables of all kinds, and reading them back."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rules import FeatureSpace
from clearmargin.rules.space import nearest_name, seen_ranges

NAN = np.nan
PEOPLE = {"age": [40, 50, 60], "bmi": [20.5, None, 31.0], "smoker": ["no", "ex", None]}
FRAMES = {
    "pandas": pd.DataFrame,
    "pandas, no numpy types": lambda data: pd.DataFrame(data).convert_dtypes(),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture
def people():
    return FeatureSpace(
        ["age", "bmi", "smoker"],
        [40, 20.5, -math.inf],
        [60, 31, math.inf],
        [True, False, False],
        {"smoker": ["ex", "no"]},
    )


@pytest.mark.parametrize("kind", FRAMES)
def test_a_space_is_guessed_from_any_frame(kind, people):
    assert FeatureSpace.from_data(FRAMES[kind](PEOPLE)) == people


@pytest.mark.parametrize("kind", FRAMES)
def test_any_frame_is_read_into_the_same_numbers(kind, people):
    expected = [[40.0, 20.5, 1.0], [50.0, NAN, 0.0], [60.0, 31.0, NAN]]
    points = people.read(FRAMES[kind](PEOPLE))
    np.testing.assert_array_equal(points, expected)
    assert points.dtype == np.float64


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_are_found_by_name_in_any_order_among_others(kind, people):
    shuffled = {"extra": ["x", "y", "z"], "smoker": PEOPLE["smoker"], **PEOPLE}
    frame = FRAMES[kind](dict(reversed(shuffled.items())))
    np.testing.assert_array_equal(people.read(frame), people.read(FRAMES[kind](PEOPLE)))


def test_an_array_is_guessed_column_by_column():
    X = [[1, 0.5, NAN, 7], [3, 2.5, NAN, math.inf]]
    space = FeatureSpace.from_data(X)
    assert space.names == ("x0", "x1", "x2", "x3")
    assert space.lower.tolist() == [1.0, 0.5, -math.inf, 7.0]
    assert space.upper.tolist() == [3.0, 2.5, math.inf, 7.0]
    assert space.integer.tolist() == [True, False, False, True]
    np.testing.assert_array_equal(space.read(X), X)


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 13])
def test_ranges_are_seen_wherever_blocks_of_rows_end(monkeypatch, rows):
    monkeypatch.setattr("clearmargin.rules.space._BLOCK", 4)
    rng = np.random.default_rng(rows)
    X = np.column_stack([rng.normal(size=rows), rng.integers(0, 9, rows), np.full(rows, NAN)])
    gaps = X[:, 0].copy()
    gaps[::2] = NAN
    low, high, integer = seen_ranges([*X.T, gaps])
    for j, column in enumerate([*X.T, gaps]):
        known = column[~np.isnan(column)]
        expected = (known.min(), known.max()) if len(known) else (-math.inf, math.inf)
        assert (low[j], high[j]) == expected
        assert integer[j] == (len(known) > 0 and (known == np.round(known)).all())


@pytest.mark.parametrize("make", [list, lambda X: np.array(X, dtype=object)])
def test_what_was_guessed_from_an_array_with_texts_can_be_read_again(make):
    X = make([[1.5, "b"], [2.5, "a"], [None, "b"]])
    space = FeatureSpace.from_data(X)
    assert space.categories == (None, ("a", "b"))
    np.testing.assert_array_equal(space.read(X), [[1.5, 1.0], [2.5, 0.0], [NAN, 1.0]])
    assert space.read([[1.0, 1]]).tolist() == [[1.0, 1.0]]  # codes


def test_the_categories_of_a_frame_keep_their_order():
    kinds = ["low", "mid", "high"]
    column = pd.Categorical(["mid", "low"], categories=kinds, ordered=True)
    assert FeatureSpace.from_data(pd.DataFrame({"c": column})).categories == (tuple(kinds),)
    enum = pl.DataFrame({"c": pl.Series(["mid"], dtype=pl.Enum(kinds))})
    assert FeatureSpace.from_data(enum).categories == (tuple(kinds),)


def test_flags_are_whole_numbers_from_0_to_1():
    space = FeatureSpace.from_data(pd.DataFrame({"f": pd.array([True, None], dtype="boolean")}))
    assert space.categories == (None,)
    assert space.integer.tolist() == [True]
    assert FeatureSpace.from_data(pd.DataFrame({"f": [True, False]})).upper.tolist() == [1.0]


def test_columns_may_be_called_by_numbers():
    frame = pd.DataFrame([[1.0, 2.0]], columns=[7, 3])
    space = FeatureSpace.from_data(frame)
    assert space.names == ("7", "3")
    assert space.read(frame[[3, 7]]).tolist() == [[1.0, 2.0]]


def test_units_are_kept_and_shown():
    space = FeatureSpace.from_data([[1], [2]], units={"x0": "kg"})
    assert space.units == ("kg",)
    assert repr(space) == "FeatureSpace(x0: integer in [1, 2] kg)"
    assert FeatureSpace(["a"], units=[""]).units == (None,)


def test_a_long_space_is_shown_in_part():
    assert repr(FeatureSpace([f"f{j}" for j in range(10)])).endswith(
        "f7: in [-inf, inf], ... 2 more)"
    )
    assert "c: one of 2 categories" in repr(FeatureSpace(["c"], categories=[["a", "b"]]))


def test_a_missing_column_is_named_with_the_nearest():
    space = FeatureSpace(["glucose"])
    with pytest.raises(DataError, match="no column 'glucose'; did you mean 'Glucos'"):
        space.read(pd.DataFrame({"Glucos": [1], "age": [2]}))
    with pytest.raises(DataError, match=r"no column 'glucose'; known are 'a', 'b'$"):
        space.read(pl.DataFrame({"a": [1], "b": [2]}))


def test_an_unknown_feature_is_named_with_the_nearest(people):
    assert people.index("smoker") == 2
    with pytest.raises(DataError, match="unknown feature 'smokr'; did you mean 'smoker'"):
        people.index("smokr")


@pytest.mark.parametrize("kind", FRAMES)
def test_a_text_in_a_numeric_column_is_named_with_its_row(kind):
    frame = FRAMES[kind]({"age": ["40", "abc"]})
    with pytest.raises(DataError, match=r"column 'age', row 1: '40' is not a number"):
        FeatureSpace(["age"]).read(frame)


def test_a_text_in_an_array_is_named_with_its_row():
    with pytest.raises(DataError, match="column 'b', row 2: 'x' is not a number"):
        FeatureSpace(["a", "b"]).read([[1, 2], [3, "x"]])


@pytest.mark.parametrize("act", [FeatureSpace.from_data, FeatureSpace(["a", "b"]).read])
def test_two_columns_of_one_name_are_an_error(act):
    frame = pd.DataFrame([["x", 1]], columns=["a", "a"])
    with pytest.raises(DataError, match="two columns of the table are called 'a'"):
        act(frame)


@pytest.mark.parametrize("act", [FeatureSpace.from_data, FeatureSpace(["when"]).read])
def test_dates_are_an_error(act):
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])})
    with pytest.raises(DataError, match="column 'when' holds dates or times"):
        act(frame)


@pytest.mark.parametrize("act", [FeatureSpace.from_data, FeatureSpace(["a", "b"]).read])
def test_a_single_row_is_no_table(act):
    with pytest.raises(DataError, match=r"not of shape \(2,\); for a single row use \[row\]"):
        act([1.0, 2.0])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0]], "X has 1 columns, but 2 features are expected"),
        ([["x"]], "X must hold numbers, not object values"),
    ],
)
def test_an_array_of_the_wrong_width_is_an_error(X, message):
    with pytest.raises(DataError, match=message):
        FeatureSpace(["a", "b"]).read(X)


def test_no_rows_and_no_columns_are_fine():
    assert FeatureSpace([]).read(pd.DataFrame(index=range(3))).shape == (3, 0)
    assert FeatureSpace(["a"]).read(pd.DataFrame({"a": []})).shape == (0, 1)
    assert FeatureSpace(["a"]).read(np.empty((0, 1))).shape == (0, 1)
    assert FeatureSpace.from_data(pd.DataFrame({"a": []})).lower.tolist() == [-math.inf]
    assert len(FeatureSpace.from_data(np.empty((3, 0)))) == 0


@given(data=st.data())
def test_a_space_can_be_taken_apart_and_made_again(data, draw):
    space = data.draw(draw.spaces())
    again = FeatureSpace(
        list(space.names),
        space.lower,
        space.upper,
        space.integer,
        dict(zip(space.names, space.categories, strict=True)),
        dict(zip(space.names, space.units, strict=True)),
        dict(zip(space.names, space.fill, strict=True)),
    )
    assert again == space
    assert hash(again) == hash(space)
    assert [space.index(name) for name in space.names] == list(range(space.n_features))


@given(
    st.lists(
        st.tuples(st.integers(-5, 5) | st.none(), st.sampled_from(["a", "b", None])), min_size=1
    )
)
def test_reading_agrees_with_a_lookup_row_by_row(rows):
    frame = pd.DataFrame(rows, columns=["n", "c"], dtype=object)
    space = FeatureSpace(["c", "n"], categories={"c": ["b", "z", "a"]})
    codes = {"b": 0.0, "a": 2.0, None: NAN}
    expected = [[codes[c], NAN if n is None else float(n)] for n, c in rows]
    np.testing.assert_array_equal(space.read(frame), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": "ab"}, "a list of names, not the single text 'ab'"),
        ({"names": ["a", ""]}, "the name of feature 2 must be a non-empty text, not ''"),
        ({"names": [1]}, "the name of feature 1 must be a non-empty text, not 1"),
        ({"names": ["a", "b", "a"]}, "two features are called 'a'; names must differ"),
        ({"names": ["a"], "lower": [2], "upper": [1]}, "feature 'a' has no range: from 2.0 to 1.0"),
        ({"names": ["a"], "lower": [math.inf]}, "feature 'a' has no range: from inf to inf"),
        ({"names": ["a"], "lower": [NAN]}, "lower must not be NaN"),
        ({"names": ["a"], "upper": [1, 2]}, r"upper has shape \(2,\), but \(1,\) is needed"),
        ({"names": ["a"], "integer": [1]}, "integer must be True or False, not int64 values"),
        ({"names": ["a"], "categories": [[]]}, "the categories of 'a' must be some"),
        ({"names": ["a"], "categories": [["x", "x"]]}, "and all different: .'x', 'x'"),
        ({"names": ["a"], "categories": [[1, 1.0]]}, "and all different: .'1', '1'"),
        ({"names": ["a"], "categories": []}, "categories has 0 entries for 1 features"),
        ({"names": ["age"], "units": {"agee": "y"}}, "unknown feature 'agee'; did you mean 'age'"),
    ],
)
def test_a_bad_space_is_refused(arguments, message):
    with pytest.raises(InvalidValueError, match=message):
        FeatureSpace(**arguments)


def test_the_nearest_name_does_not_mind_case_and_gives_up_politely():
    assert nearest_name("BMI", ["bmi", "age"]) == "; did you mean 'bmi'?"
    assert nearest_name("q", [f"n{j}" for j in range(9)]).endswith("'n7', ...")
    assert nearest_name("q", []) == ""
