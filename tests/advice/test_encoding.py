"""Rules as rows over the columns of the model, and the frame around them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import FeatureSpace, parse_rules
from clearmargin.advice.advice_reading import (
    Columns,
    column_names,
    column_of,
    encode_rule,
    one_hot_columns,
    read_advice,
)
from clearmargin.advice.train import Frame, FramedAdvice
from clearmargin.exceptions import DataError

NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 2))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), NUMBERS, NUMBERS), min_size=1, max_size=4),
    st.randoms(),
)
def test_the_rows_of_a_premise_cover_what_its_rule_covers(conditions, random):
    parts = [f"{min(lo, hi)} <= {name} <= {max(lo, hi)}" for name, lo, hi in conditions]
    seen: dict[str, str] = {}
    for (name, _, _), part in zip(conditions, parts, strict=True):
        seen.setdefault(name, part)
    rules = parse_rules(f"{' and '.join(seen.values())} => p")
    names = ["c", "x", "a", "b"]
    columns = Columns.match(rules.space, names)
    premise = encode_rule(rules[0], columns)
    bounds = [bound for _, lo, hi in conditions for bound in (lo, hi)]
    X = np.array([[random.choice(bounds) for _ in names] for _ in range(50)])
    frame = pd.DataFrame(X, columns=names)
    assert (premise.covers(X) == rules.covers(frame)[:, 0]).all()
    assert premise.numeric_rows.all()


def test_linear_conditions_and_strictness_are_kept():
    rules = parse_rules("a + 2*b < 3 and a >= 1 => p")
    premise = encode_rule(rules[0], Columns.match(rules.space, ["b", "a"]))
    assert premise.covers(np.array([[1.0, 1.0], [0.9, 1.0], [0.5, 0.5]])).tolist() == [
        False,
        True,
        False,
    ]


def test_categories_become_columns_that_must_be_zero():
    rules = parse_rules("colour in {red, blue} and age <= 30 => p")
    names = ["age", "enc__colour_red", "enc__colour_blue", "enc__colour_green"]
    premise = encode_rule(rules[0], Columns.match(rules.space, names))
    rows = np.array([[20, 1, 0, 0], [20, 0, 1, 0], [20, 0, 0, 1], [31, 1, 0, 0]], dtype=float)
    assert premise.covers(rows).tolist() == [True, True, False, False]
    assert premise.numeric_rows.tolist() == [True, False]


def test_names_are_found_with_and_without_the_prefix_of_a_step():
    assert column_of("size", ["a", "num__size"]) == 1
    assert column_of("size", ["one__size", "two__size"]) is None
    assert one_hot_columns("c", ["c_x", "c_y", "d_x"]) == {"x": 0, "y": 1}


def test_a_number_where_the_data_have_categories_is_an_error():
    rules = parse_rules("colour >= 3 => p")
    with pytest.raises(DataError, match=r"takes 'colour' for a number.*write 'colour = red'"):
        Columns.match(rules.space, ["colour_red", "colour_blue"])
    rules = parse_rules("age = old => p")
    with pytest.raises(DataError, match="categories for 'age', and the data have numbers"):
        Columns.match(rules.space, ["age"])


def test_the_columns_of_advice_alone():
    space = FeatureSpace(["age", "c"], categories={"c": ["x", "y"]})
    assert column_names(space) == ["age", "c_x", "c_y"]


def frame_of(text, X=None, names=("a", "b"), **parameters):
    rules = read_advice(text)
    columns = Columns.match(rules.space, names)
    premises = [encode_rule(rule, columns) for rule in rules]
    options = {"scale": "range", "bounds": "data"} | parameters
    return Frame.around(columns, premises, X, **options), premises


def test_the_domain_holds_data_declarations_and_bounds():
    X = np.array([[0.0, 5.0], [4.0, 6.0]])
    text = "feature a: in [1, 9]\nfeature b: in [-inf, inf]\nb >= 7 => p"
    frame, _ = frame_of(text.replace("feature b: in [-inf, inf]\n", "feature b\n"), X)
    assert frame.lower.tolist() == [0.0, 5.0]
    assert frame.upper.tolist() == [9.0, 7.0]
    assert frame.center.tolist() == [4.5, 6.0]
    assert frame.unit.tolist() == [4.5, 1.0]


def test_without_data_bounds_of_rules_scale_but_do_not_limit():
    frame, _ = frame_of("a >= 7 and b >= 0 => p\na <= 1 => n", None)
    assert np.isinf(frame.lower).all()
    assert np.isinf(frame.upper).all()
    assert frame.center.tolist() == [4.0, 0.0]
    assert frame.unit.tolist() == [3.0, 1.0]


@given(st.integers(0, 1000))
def test_planes_and_rows_go_there_and_back(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 2)) * 10.0 ** rng.uniform(-3, 3, 2)
    frame, _ = frame_of("a >= 0 => p", X)
    w, b = rng.normal(size=2), float(rng.normal())
    inner = frame.scaled_plane(w, b)
    assert frame.scaled(X) @ inner[0] + inner[1] == pytest.approx(X @ w + b, rel=1e-9, abs=1e-9)
    back = frame.user_plane(*inner)
    assert back[0] == pytest.approx(w)
    assert back[1] == pytest.approx(b, rel=1e-9, abs=1e-9 * np.abs(X).max())
    D, d = frame.scaled_rows(w[None], np.array([b]))
    assert np.linalg.norm(D) == pytest.approx(1.0)
    outer, limit = frame.user_rows(D, d)
    assert outer[0] * limit[0] == pytest.approx(w * b * (outer[0] / w) * (limit[0] / b))


def test_premises_outside_the_domain_count_without_it_and_empty_ones_not_at_all():
    X = np.array([[0.0, 0.0], [1.0, 1.0]])
    text = "a + b >= 5 => p\na + b >= 2 and a + b <= 1 => p\na >= 0.5 => n"
    frame, premises = frame_of(text, X)
    framed = FramedAdvice.within(frame, premises)
    assert framed.outside.tolist() == [True, False, False]
    assert framed.empty.tolist() == [False, True, False]
    problem, is_box = framed.problem(
        frame.scaled(X),
        np.array([1.0, -1.0]),
        np.ones(2),
        np.array([1.0, 1.0, -1.0]),
        np.ones(3),
        compact=True,
    )
    assert is_box.tolist() == [False, False, True]
    assert (len(problem.premises), len(problem.boxes)) == (1, 1)
