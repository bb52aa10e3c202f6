"""The label among the columns, and what else cannot be made into properties, is refused with what to do."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings import make_properties

# The label among the columns


@pytest.mark.parametrize(
    ("column", "y"),
    [
        ([1, 0, 0, 1, 1], [1, 0, 0, 1, 1]),
        (["no", "yes", "yes", "no", "no"], [1, -1, -1, 1, 1]),
        ([-1, 1, 1, -1, -1], ["a", "b", "b", "a", "a"]),
        ([1.0, 0.0, None, 1.0, None], [1, 0, 0, 1, 1]),
        ([True, False, False, True, True], [0, 1, 1, 0, 0]),
        ([2, 0, 1, 1, 2], [2, 0, 1, 1, 2]),
        (
            pd.Categorical(["c", "a", "b", "b", "c"], ["d", "c", "b", "a"]),
            ["c", "a", "b", "b", "c"],
        ),
        ([0.5, 0.25, 3.5, 1.0, 2.0], [0.5, 0.25, 3.5, 1.0, 2.0]),
    ],
)
def test_the_label_among_the_columns_is_refused(column, y):
    X = pd.DataFrame({"age": [1, 2, 3, 4, 4], "failed": column})
    with pytest.raises(
        DataError, match=r"column 'failed' is the label itself.*exclude=\['failed'\]"
    ):
        make_properties(X, y=y)
    assert len(make_properties(X, y=y, exclude=["failed"])) == 4
    assert len(make_properties(X)) > 4


@pytest.mark.parametrize(
    ("column", "y"),
    [
        ([1, 0, 0, 1, 0], [1, 0, 0, 1, 1]),
        ([1.0, 0.0, None, None, None], [1, 0, 0, 1, 1]),
        ([2, 0, 1, 1, 0], [2, 0, 1, 1, 2]),
        (["c", "a", "b", "b", "x"], ["c", "a", "b", "b", "c"]),
        (["2", "0", "1", "1", "1"], [2, 0, 1, 1, 2]),
        ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
    ],
)
def test_a_column_that_is_not_the_label_is_not_refused(column, y):
    X = pd.DataFrame({"age": [1, 2, 3, 4, 4], "failed": column})
    assert make_properties(X, y=y) == make_properties(X)


# Bad input


TABLE = pd.DataFrame({"age": [30, 41, 52, 63], "kind": ["u", "v", "u", "v"]})


@pytest.mark.parametrize(
    ("kwargs", "error", "match"),
    [
        ({"bins": "quantiles"}, InvalidValueError, "not 'quantiles'; did you mean 'quantile'"),
        ({"bins": 5}, InvalidValueError, "a text or a mapping from names to edges, not int"),
        ({"bins": {"agee": [40]}}, DataError, "bins names 'agee', .*did you mean 'age'"),
        (
            {"bins": {"age": [40, 40]}},
            InvalidValueError,
            "'age' in bins must increase, but 40 follows 40",
        ),
        ({"bins": {"age": [50, 40]}}, InvalidValueError, "40 follows 50; sort them"),
        ({"bins": {"age": 40}}, InvalidValueError, r"a list of numbers such as \[30, 45\], not 40"),
        ({"bins": {"age": []}}, InvalidValueError, "'age' in bins need at least one finite"),
        ({"bins": {"age": [math.inf]}}, InvalidValueError, "at least one finite number"),
        ({"bins": {"age": [1, math.nan]}}, InvalidValueError, "'age' in bins must not be NaN"),
        ({"bins": {"age": ["x"]}}, InvalidValueError, "'age' in bins must be numbers"),
        ({"bins": {"kind": [1]}}, DataError, "column 'kind', which has categories"),
        ({"bins": {"age": [4]}, "exclude": ["age"]}, DataError, "'age', which is left out"),
        ({"n_bins": 1}, InvalidValueError, "n_bins must be a whole number of at least 2, not 1"),
        ({"n_bins": 2.5}, InvalidValueError, "n_bins must be a whole number"),
        ({"n_bins": True}, InvalidValueError, "n_bins must be a whole number"),
        ({"max_values": -1}, InvalidValueError, "max_values must be .* at least 0, not -1"),
        ({"features": ["aeg"]}, DataError, "features names 'aeg', .*did you mean 'age'"),
        ({"features": "age"}, InvalidValueError, r"features must be a list .*use \['age'\]"),
        ({"features": []}, DataError, "no column of X is left"),
        ({"exclude": ["kinds"]}, DataError, "exclude names 'kinds', .*did you mean 'kind'"),
        ({"exclude": "kind"}, InvalidValueError, "exclude must be a list"),
        ({"exclude": ["age", "kind"]}, DataError, "no column of X is left; name fewer in exclude"),
        ({"bins": "supervised"}, InvalidValueError, "pass y, or use bins='quantile'"),
        ({"bins": "supervised", "y": [1, 1, 1, 1]}, DataError, "two classes or more in y"),
        ({"bins": "supervised", "y": [0.5, 1, 1, 1]}, DataError, "not measured values such as 0.5"),
        ({"y": [1, 0]}, DataError, r"y has shape \(2,\); one label for each of the 4 rows"),
        ({"y": [[1], [0], [1], [0]]}, DataError, r"y has shape \(4, 1\)"),
        ({"y": [1, 0, None, 1]}, DataError, "y is missing in row 3"),
    ],
)
def test_bad_input_is_told_what_to_do(kwargs, error, match):
    with pytest.raises(error, match=match):
        make_properties(TABLE, **kwargs)


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (TABLE.iloc[:0], "X has no rows"),
        (np.empty((0, 2)), "X has no rows"),
        (np.empty((3, 0)), "no column of X is left"),
        ([1, 2], "X must be a table"),
        ([[1.0], [math.inf]], "column 'x0' is infinite in row 2; put a number"),
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), "'day' holds dates"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(X, match):
    with pytest.raises(DataError, match=match):
        make_properties(X)
