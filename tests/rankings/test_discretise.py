"""Properties and cuts of columns against brute force, and what cannot be made into properties, with what to do."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin.exceptions import DataError, InvalidValueError
from clearmargin.language import parse_rules
from clearmargin.rankings import make_properties
from clearmargin.rankings.discretise import entropy_cuts, quantile_cuts, round_cut, width_cuts
from clearmargin.rules import RuleSet

# Small, large and tied.
numbers = st.one_of(
    st.integers(-5, 5).map(float),
    st.floats(-1e6, 1e6),
    st.floats(allow_nan=False, allow_infinity=False),
)


def texts(table):
    return [each.text for each in table.properties]


def by_rules(table, X):
    """Each property by its own rule."""
    rules = [table.rule([k], 1) for k in range(len(table))]
    return RuleSet(rules, table.space, classes=[1]).covers(X).T


@st.composite
def tables(draw):
    m = draw(st.integers(1, 40))
    column = lambda values: draw(st.lists(values, min_size=m, max_size=m))
    return pd.DataFrame(
        {
            "a": column(numbers | st.just(math.nan)),
            "b": column(numbers),
            "whole": column(st.integers(-30, 30)),
            "flag": column(st.booleans()),
            "kind": pd.Categorical(
                column(st.sampled_from(["u", "v w", None])), ["v w", "u", "never"]
            ),
            "word": pd.Series(column(st.sampled_from(["x", "y", "3", None])), dtype=object),
        }
    )


options = st.fixed_dictionaries(
    {
        "bins": st.sampled_from(["quantile", "width", {"a": [-1.5, 2], "whole": [0, 7, 100]}]),
        "n_bins": st.integers(2, 7),
        "max_values": st.integers(0, 12),
    }
)


@given(tables(), options)
def test_the_properties_of_each_attribute_share_out_the_rows(X, kwargs):
    table = make_properties(X, **kwargs)
    for j in range(len(table.space)):
        masks = table.masks[table.attribute == j]
        if len(masks):
            assert len(masks) >= 2
            np.testing.assert_array_equal(masks.sum(axis=0), 1)
            assert masks.any(axis=1).all()
    quiet = {*table.constant, *dict(table.skipped)}
    heard = {table.space.names[j] for j in table.attribute}
    assert quiet | heard == set(X.columns)
    assert not quiet & heard


@given(tables(), options)
def test_each_mask_is_what_the_rule_of_the_property_covers(X, kwargs):
    table = make_properties(X, **kwargs)
    np.testing.assert_array_equal(by_rules(table, X).reshape(table.masks.shape), table.masks)


@given(tables(), options)
def test_the_text_of_a_property_reads_back_as_its_rule(X, kwargs):
    table = make_properties(X, **kwargs)
    for k, each in enumerate(table.properties):
        if each.box is not None:
            (rule,) = parse_rules(f"{each.text} => 1", space=table.space)
            assert rule == table.rule([k], 1)


@given(tables(), st.data())
def test_supervised_bins_share_out_the_rows_too(X, data):
    y = data.draw(st.lists(st.integers(0, 2), min_size=len(X), max_size=len(X)))
    if len(set(y)) < 2:
        return
    try:
        table = make_properties(X, bins="supervised", y=y, max_values=2)
    except DataError as error:
        assert "is the label itself" in str(error)  # noqa: PT017
        return
    for j in np.unique(table.attribute):
        np.testing.assert_array_equal(table.masks[table.attribute == j].sum(axis=0), 1)
    np.testing.assert_array_equal(by_rules(table, X), table.masks)


def test_on_a_complete_table_rules_and_masks_agree_row_by_row():
    X = np.random.default_rng(0).normal(size=(500, 4)).round(2)
    for bins in ("quantile", "width"):
        table = make_properties(X, bins=bins)
        rules = RuleSet([table.rule([k], 1) for k in range(len(table))], table.space)
        np.testing.assert_array_equal(rules.covers(X).T, table.masks)
        assert len(table) == 20


# Supervised bins


def test_supervised_bins_find_the_age_at_which_the_risk_changes():
    age = np.arange(20, 80, dtype=float)
    y = np.where(age < 35, "low", np.where(age < 60, "high", "low"))
    table = make_properties(np.c_[age, age % 2 + age % 3 + age % 13], bins="supervised", y=y)
    assert texts(table)[:3] == ["x0 < 35", "35 <= x0 < 60", "x0 >= 60"]
    assert table.skipped == (("x1", "no cut of its values tells the classes of y apart"),)


def test_where_no_cut_pays_only_missing_or_known_can_be_told():
    x = np.arange(40.0) % 20
    x[::5] = np.nan
    y = np.random.default_rng(1).integers(0, 2, 40)
    table = make_properties(x[:, None], bins="supervised", y=y)
    assert texts(table) == ["x0 is not missing", "x0 is missing"]
    assert [(each.box.known, each.box.missing) for each in table.properties] == [
        ((0,), ()),
        ((), (0,)),
    ]
    np.testing.assert_array_equal(table.masks, [~np.isnan(x), np.isnan(x)])
    assert table.twin().tolist() == [1, 0]


# Reading


def test_cuts_are_round_numbers_and_whole_for_whole_values():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"age": rng.integers(20, 80, 300), "dose": rng.gamma(2, 3, 300)})
    table = make_properties(X, n_bins=3)
    for low, high in pairwise(texts(table)[:3]):
        assert float(low.split()[-1]).is_integer(), (low, high)
    cut = float(table.properties[3].text.split()[-1])
    below = X["dose"][X["dose"] < cut].max()
    exact = X["dose"].sort_values().iloc[[99, 100]].tolist()
    assert below == exact[0]
    assert len(repr(cut)) <= 6


def test_few_values_flags_and_categories_give_equalities():
    X = pd.DataFrame(
        {
            "toba": [0.85, 1.25, 0.85],
            "flag": [True, False, True],
            "sex": pd.Categorical(["male", "female", None], ["male", "female"]),
            "job": ["sits", "walks", "sits"],
        }
    )
    assert texts(make_properties(X)) == [
        *("toba = 0.85", "toba = 1.25", "flag = 0", "flag = 1"),
        *("sex = male", "sex = female", "sex is missing", "job = sits", "job = walks"),
    ]


def test_given_edges_are_taken_as_they_are_and_bins_without_rows_left_out():
    table = make_properties([[1.0], [2.0], [9.0]], bins={"x0": [-math.inf, 1.37, 4, 5, math.inf]})
    assert texts(table) == ["x0 < 1.37", "1.37 <= x0 < 4", "x0 >= 5"]


def test_equal_quantiles_are_merged():
    table = make_properties(np.r_[np.zeros(90), np.arange(1, 31)][:, None])
    assert texts(table) == ["x0 < 1", "1 <= x0 < 7", "x0 >= 7"]
    assert table.masks.sum(axis=1).tolist() == [90, 6, 24]


def test_attributes_with_one_value_are_reported_and_missing_ones_are_a_property():
    X = pd.DataFrame(
        {"same": [1, 1, 1], "none": [None] * 3, "gap": [2.0, None, 2.0], "k": list("aaa")}
    )
    table = make_properties(X)
    assert table.constant == ("same", "none", "k")
    assert texts(table) == ["gap = 2", "gap is missing"]


def test_values_in_one_given_bin_are_noted():
    table = make_properties([[1.0], [2.0]], bins={"x0": [7]})
    assert table.skipped == (("x0", "all its values are in one bin; give it other edges"),)


@pytest.mark.parametrize("name", ["id", "PatientID", "case_nr", "serial no", "Index"])
def test_whole_numbers_that_all_differ_and_are_called_id_are_skipped(name):
    X = pd.DataFrame({name: range(20), "age": [30, 40] * 10})
    table = make_properties(X)
    assert table.space.names == ("age",)
    ((skipped, reason),) = table.skipped
    assert skipped == name
    assert "whole numbers that all differ" in reason
    assert len(make_properties(X, features=[name])) == 5
    assert len(make_properties(X, bins={name: [7]})) == 4


def test_texts_that_all_differ_are_skipped():
    X = pd.DataFrame({"serial": [f"15B{k}" for k in range(10)], "age": [1, 2] * 5})
    table = make_properties(X)
    assert table.skipped[0][0] == "serial"
    assert "texts that all differ; name it in features" in table.skipped[0][1]
    assert make_properties(X[["serial"]]).masks.shape == (0, 10)
    array = make_properties(X.to_numpy(dtype=object))
    assert array.skipped[0][0] == "x0"
    assert array.attribute.tolist() == [1, 1]


def test_numbers_that_all_differ_are_no_identifiers_without_the_name():
    table = make_properties(pd.DataFrame({"valid": range(20), "acid": range(20)}))
    assert table.skipped == ()


def test_columns_are_chosen_and_left_out_by_name():
    X = pd.DataFrame(
        {"day": pd.to_datetime(["2020-01-01"] * 3), "a": [1, 2, 3], "b": [1, 1, 2], "c": [0, 1, 1]}
    )
    table = make_properties(X, exclude=["day", "c"])
    assert table.space.names == ("a", "b")
    assert make_properties(X, features=["c", "a"]).space.names == ("a", "c")
    array = make_properties(X[["a", "b", "c"]].to_numpy(), features=["x2"])
    assert array.space.names == ("x0", "x1", "x2")
    assert array.attribute.tolist() == [2, 2]


def test_frames_of_all_makes_give_the_same():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    data = {"t": [5, 6, 7], "a": [1.5, None, 2.5], "k": ["u", "v", None]}
    expected = make_properties(pd.DataFrame(data), exclude=["t"])
    for X in (pl.DataFrame(data), pa.table(data)):
        assert make_properties(X, exclude=["t"]) == expected


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


@given(st.lists(numbers, min_size=2, max_size=2, unique=True).map(sorted), st.floats(0, 1))
def test_a_round_cut_has_the_fewest_digits_in_its_gap(gap, part):
    low, high = gap
    cut = round_cut(low, high, low * (1 - part) + high * part)
    assert low < cut <= high
    digits = len(Decimal(repr(cut)).normalize().as_tuple().digits)
    if cut and digits > 1:
        shorter = Context(prec=digits - 1, rounding=ROUND_CEILING)
        # The decimals that read as a float above low start half-way to the next float.
        exact = Context(prec=1200)
        double = exact.add(Decimal(low), Decimal(math.nextafter(low, math.inf)))
        following = shorter.create_decimal(exact.multiply(double, Decimal("0.5")))
        while float(following) <= low:
            following = shorter.next_plus(following)
        assert float(following) > high


@pytest.mark.parametrize(
    ("low", "high", "near", "cut"),
    [
        (9, 10, 9.5, 10),
        (99, 1000, 549.5, 500),
        (0.1, 0.30000000000000004, 0.2, 0.2),
        (1.0, np.nextafter(1.0, 2), 1.0, np.nextafter(1.0, 2)),
        (-7.39, -7.32, -7.351, -7.35),
        (-1, 0, -0.5, 0),
        (2, 1.7e308, 1.4e308 + 1e300, 1e308),
    ],
)
def test_round_cuts(low, high, near, cut):
    assert round_cut(low, high, near) == cut


@given(st.lists(numbers, min_size=1, max_size=60), st.integers(2, 8))
def test_quantile_cuts_are_those_nearest_to_equal_shares(values, n_bins):
    cuts = quantile_cuts(np.array(values), n_bins)
    distinct = sorted(set(values))
    below = [sum(v < u for v in values) for u in distinct[1:]]
    expected = {
        min(below, key=lambda count: (abs(count * n_bins - i * len(values)), count))
        for i in range(1, n_bins)
        if below
    }
    assert [sum(v < cut for v in values) for cut in cuts] == sorted(expected)


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=60),
    st.integers(2, 8),
    st.sampled_from([1, 10, 100]),
)
def test_width_cuts_divide_the_values_as_the_exact_ones_do(values, n_bins, unit):
    low, width = min(values), max(values) - min(values)
    exact = {  # in whole numbers
        sum(v * n_bins < low * n_bins + i * width for v in values) for i in range(1, n_bins)
    }
    tenths = np.array(values) / unit
    cuts = width_cuts(tenths, n_bins, integer=unit == 1)
    assert {int((tenths < cut).sum()) for cut in cuts} == (exact if width else set())
    assert list(cuts) == sorted(set(cuts))
    assert unit > 1 or all(cut == int(cut) for cut in cuts)


def test_wide_ranges_do_not_overflow():
    cuts = width_cuts(np.array([-1.7e308, -1.0, 1.0, 1.7e308]), 4)
    assert np.isfinite(cuts).all()
    assert list(cuts) == sorted(cuts)


def bits(classes):
    n = len(classes)
    return -sum(classes.count(c) * math.log2(classes.count(c) / n) for c in set(classes))


def is_mdl(groups, gaps):
    """Whether gaps (between groups of equal values) are what Fayyad and Irani accept, up to ties."""
    whole = [c for group in groups for c in group]
    if len(groups) < 2:
        return not gaps
    parts = {
        g: ([c for x in groups[:g] for c in x], [c for x in groups[g:] for c in x])
        for g in range(1, len(groups))
    }
    cost = {g: bits(a) + bits(b) for g, (a, b) in parts.items()}
    best = [g for g in cost if cost[g] <= min(cost.values()) + 1e-9]
    surplus = {}
    for g in best:
        terms = [len(set(s)) * bits(s) / len(s) for s in (whole, *parts[g])]
        delta = math.log2(3 ** len(set(whole)) - 2) - (terms[0] - terms[1] - terms[2])
        surplus[g] = bits(whole) - cost[g] - math.log2(len(whole) - 1) - delta
    if not gaps:
        return min(surplus.values()) <= 1e-9
    return any(
        g in gaps
        and surplus[g] >= -1e-9
        and is_mdl(groups[:g], {x for x in gaps if x < g})
        and is_mdl(groups[g:], {x - g for x in gaps if x > g})
        for g in best
    )


@given(st.data())
def test_entropy_cuts_are_those_of_fayyad_and_irani(data):
    # Runs of classes with some noise, so that there is something to find.
    runs = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 25)), min_size=1, max_size=5)
    )
    classes = [c for c, length in runs for _ in range(length)]
    for i in data.draw(st.lists(st.integers(0, len(classes) - 1), max_size=4)):
        classes[i] = 2 - classes[i]
    step = data.draw(st.integers(1, 3))
    values = [float(i // step) for i in range(len(classes))]
    cuts = entropy_cuts(np.array(values), np.array(classes))
    distinct = sorted(set(values))
    groups = [[c for v, c in zip(values, classes, strict=True) if v == u] for u in distinct]
    assert is_mdl(groups, {sum(u < cut for u in distinct) for cut in cuts})
