"""The miner by itself, on tables of true and false."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clearmargin import search_properties
from clearmargin.datasets import make_components
from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.rankings import make_properties


def components(**edges):
    X, rank = make_components(return_X_y=True)
    table = make_properties(X, bins=edges, max_values=0)
    items = pd.DataFrame(table.masks.T, columns=[each.text for each in table.properties])
    return items, table.attribute, np.asarray(rank) <= 5


def leverages(found):
    return dict(zip(found["names"], found["leverage"], strict=True))


def test_the_leverages_of_the_paper():
    items, attribute, top = components(age=[3, 10, 25], length=[500, 1000, 2000, 2500])
    found = leverages(
        search_properties(items, top, ~top, attributes=attribute, min_leverage=0.1, max_size=2)
    )
    expected = {
        "2000 <= length < 2500": -0.15,
        "500 <= length < 1000": 0.15,
        "manufacturer = A": -0.15,
        "age >= 25": -0.10,
        # At exactly 0.10; in floats it is 0.09999999999999998, and the paper does not list it.
        "manufacturer = B": 0.10,
        "2000 <= length < 2500 and manufacturer = A": -0.15,
        "500 <= length < 1000 and manufacturer = B": 0.15,
        "age < 3 and 500 <= length < 1000": 0.10,
    }
    assert found == pytest.approx(expected)


def test_the_best_k_come_in_order():
    items, attribute, top = components(age=[3, 10, 25], length=[500, 1000, 2000, 2500])
    best = search_properties(items, top, ~top, attributes=attribute, k=4, max_size=2)
    assert best["leverage"].abs().tolist() == pytest.approx([0.15] * 4)
    assert best["size"].tolist() == sorted(best["size"])
    assert set(best["side"]) == {"top", "bottom"}


def test_zeros_and_ones_are_properties_too():
    items, attribute, top = components(age=[3, 10, 25], length=[500, 1000, 2000, 2500])
    options = {"attributes": attribute, "k": 4, "max_size": 2}
    as_bits = search_properties(np.asarray(items).astype(int), top, ~top, **options)
    as_bools = search_properties(np.asarray(items), top, ~top, **options)
    pd.testing.assert_frame_equal(as_bits, as_bools)


def test_bad_tables_are_named():
    items = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    top, bottom = [1, 0, 0], [0, 1, 0]
    with pytest.raises(InvalidValueError, match="either min_leverage or k"):
        search_properties(items, top, bottom)
    with pytest.raises(InvalidValueError, match=r"above 0 and at most 0\.25"):
        search_properties(items, top, bottom, min_leverage=0.5)
    with pytest.raises(DataError, match="row 1 is at the top and at the bottom"):
        search_properties(items, top, top, k=1)
    with pytest.raises(DataError, match="in_top must be true or false for each of the 3 rows"):
        search_properties(items, [1, 0], bottom, k=1)
    with pytest.raises(DataError, match="in_bottom has no row"):
        search_properties(items, top, [0, 0, 0], k=1)
    with pytest.raises(
        DataError, match=r"row 2, property 1: np.int64\(5\) is neither true nor false"
    ):
        search_properties(np.array([[1, 0], [5, 1], [1, 1]]), top, bottom, k=1)
    with pytest.raises(DataError, match="there are 2 properties and 1 attributes"):
        search_properties(items, top, bottom, attributes=[0], k=1)
    with pytest.raises(DataError, match="a table of rows and properties"):
        search_properties([True, False, True], top, bottom, k=1)
