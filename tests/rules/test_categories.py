"""Sets of categories against Python's own sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import InvalidValueError
from clearmargin.rules import CategorySets

allowed = st.dictionaries(st.integers(0, 2), st.sets(st.integers(0, 3)), max_size=3)
codes = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0, 0.5, np.nan, np.inf])


@given(allowed, st.lists(st.tuples(codes, codes, codes), max_size=8))
def test_a_row_is_in_when_each_named_code_is_allowed(sets, rows):
    points = np.array(rows).reshape(len(rows), 3)
    expected = [all(row[f] in kinds for f, kinds in sets.items()) for row in rows]
    assert CategorySets(sets).contains(points).tolist() == expected


@given(allowed, allowed, st.lists(st.tuples(codes, codes, codes), max_size=8))
def test_an_intersection_allows_what_both_allow(one, other, rows):
    points = np.array(rows).reshape(len(rows), 3)
    both = CategorySets(one).intersect(CategorySets(other))
    expected = CategorySets(one).contains(points) & CategorySets(other).contains(points)
    assert both.contains(points).tolist() == expected.tolist()
    assert both == CategorySets(other).intersect(CategorySets(one))
    assert both.is_empty is any(not both[f] for f in both)


@given(allowed)
def test_order_and_repetition_do_not_matter(sets):
    value = CategorySets(sets)
    other = CategorySets(
        {np.int64(f): [float(c) for c in sorted(sets[f])[::-1]] * 2 for f in sorted(sets)[::-1]}
    )
    assert value == other
    assert hash(value) == hash(other)
    assert {f: set(value[f]) for f in value} == sets
    assert len(value) == len(sets)
    assert [f in value for f in range(4)] == [f in sets for f in range(4)]


def test_a_feature_that_is_not_named_has_no_set():
    with pytest.raises(KeyError, match="1"):
        CategorySets({0: [1]})[1]


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({-1: [0]}, "whole numbers from 0, not -1"),
        ({0: [-1]}, "whole numbers from 0, not -1"),
        ({0: [0.5]}, "whole numbers from 0, not 0.5"),
        ({0: [np.nan]}, "whole numbers from 0, not nan"),
        ({0: [np.inf]}, "whole numbers from 0, not inf"),
        ({0: ["red"]}, "whole numbers from 0, not 'red'"),
        ({"colour": [0]}, "whole numbers from 0, not 'colour'"),
        ({0: "01"}, r"feature 0 needs a set of codes, not '01' \(str\)"),
        ({0: 1}, r"feature 0 needs a set of codes, not 1 \(int\)"),
    ],
)
def test_bad_codes_are_refused(sets, message):
    with pytest.raises(InvalidValueError, match=message):
        CategorySets(sets)


def test_the_sets_of_a_value_read_like_a_mapping():
    assert repr(CategorySets({3: [2, 1]})) == "CategorySets({3: [1, 2]})"
