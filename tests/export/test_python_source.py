"""The Python function: run in an empty namespace, row by row what the rules predict."""

from __future__ import annotations

import ast
import enum
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearmargin import FeatureSpace, Rule, RuleSet, parse_rules
from clearmargin.exceptions import InvalidValueError
from clearmargin.export import to_python
from clearmargin.rules import Box


def load(source, name="predict_row"):
    names = {}
    exec(compile(source, "rules.py", "exec"), names)
    return names[name]


def assert_same(rules, draw, default=None, seed=0):
    X, rows = draw.rows_around(rules, seed)
    many = load(to_python(rules, default=default), "predict_row_many")
    assert many(rows) == draw.expected(rules, X, default, as_text=False)


@given(data=st.data())
def test_any_rules_answer_as_they_predict(data, draw):
    rules = data.draw(draw.rule_sets())
    default = data.draw(st.none() | st.sampled_from(rules.classes))
    assert_same(rules, draw, default, data.draw(st.integers(0, 9)))


def test_hostile_names_stay_names(hostile_rules, draw):
    assert_same(hostile_rules, draw, default='"""')
    assert to_python(hostile_rules).isascii()


def test_every_kind_of_bound_at_every_kind_of_number(every_end, draw):
    assert_same(every_end, draw, default="class 1")


def test_sums_are_formed_from_left_to_right(sums):
    rules, rows, said = sums
    assert load(to_python(rules), "predict_row_many")(rows) == said


def test_rules_out_of_a_machine(wbc):
    rules, X = wbc
    rows = [dict(zip(rules.space.names, x, strict=True)) for x in X.tolist()]
    assert load(to_python(rules), "predict_row_many")(rows) == rules.predict(X).tolist()


def test_patients_with_categories(cleveland):
    rules, frame = cleveland
    holes = frame.astype(object)
    holes.iloc[::7, 3] = None
    holes.iloc[::5, 0] = math.nan
    holes.iloc[::11, 4] = "never seen"
    for table in (frame, holes):
        rows = table.to_dict("records")
        said = load(to_python(rules), "predict_row_many")(rows)
        assert said == rules.predict(table).tolist()


def test_the_module_runs_where_nothing_is_installed(tmp_path):
    rules = parse_rules("x > 3 and kind = a => yes")
    script = to_python(rules) + "\nprint(predict_row({'x': 4, 'kind': 'a'}))\n"
    path = tmp_path / "rules.py"
    path.write_text(script, encoding="ascii")
    found = subprocess.run(
        [sys.executable, "-I", "-S", str(path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "yes\n"
    tree = ast.parse(script)
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]


def test_values_of_all_kinds_are_read_as_the_rules_read_them():
    space = FeatureSpace(["x", "kind"], categories={"kind": ["3", "0.5", "True", "b"]})
    rules = parse_rules("x <= 9007199254740992 and kind in {`3`, `0.5`} => yes", space=space)
    predict = load(to_python(rules))
    for x in (1, 1.5, True, np.float32(2), np.int64(2**53 + 1), 2**53 + 1, 2**53 + 2):
        for kind in ("3", 3, 3.0, np.float64(3.0), np.int8(3), 0.5, "3.0", "b", True):
            frame = pd.DataFrame({"x": [x], "kind": pd.Series([kind], dtype=object)})
            assert predict({"x": x, "kind": kind}) == rules.predict(frame).item(), (x, kind)
    for missing in (None, math.nan, np.float64("nan"), pd.NA):
        assert predict({"x": missing, "kind": "3"}) is None
        assert predict({"x": 1, "kind": missing}) is None
    assert predict(pd.Series({"x": 1, "kind": "3"})) == "yes"


def test_what_is_no_row_is_an_error():
    predict = load(to_python(parse_rules("x > 3 => yes")))
    with pytest.raises(KeyError, match="x"):
        predict({"y": 4})
    with pytest.raises(TypeError, match="'x' must be a number, not '4'"):
        predict({"x": "4"})


def test_variables_are_called_after_the_features_where_that_is_possible():
    source = to_python(parse_rules("bmi >= 30 and `worst area` < 1 and `if` = 2 and `ﬁ` > 1 => a"))
    assert "if bmi >= 30.0 and x1 < 1.0 and x2 == 2.0 and x3 > 1.0:" in source


def test_members_of_enumerations_are_plain_classes():
    class Level(enum.IntEnum):
        LOW = 1

    rules = RuleSet([Rule(Box([0], [1]), Level.LOW)], FeatureSpace(["x"]))
    assert load(to_python(rules))({"x": 0.5}) == 1


@pytest.mark.parametrize("name", ["", "my function", "class", "_hidden", None, "a-b", "f():pass"])
def test_a_name_that_is_no_function_name_is_refused(name):
    with pytest.raises(InvalidValueError, match="cannot be the name of a function"):
        to_python(parse_rules("x > 3 => a"), name=name)


def test_bad_rules_and_defaults_are_refused():
    with pytest.raises(InvalidValueError, match="the rule set has no rules"):
        to_python(RuleSet([], FeatureSpace(["x"]), ["a"]))
    with pytest.raises(InvalidValueError, match="default='b' is no class of the rules"):
        to_python(parse_rules("x > 3 => a"), default="b")


def test_another_name_is_used_throughout():
    source = to_python(parse_rules("risk > 3 => a"), name="risk")
    assert load(source, "risk_many")([{"risk": 4}, {"risk": 3}]) == ["a", None]


def test_conditions_on_missing_values_and_filled_ones(gappy_rules, draw):
    names = {}
    source = to_python(gappy_rules)
    exec(source, names)
    X, rows = draw.rows_around(gappy_rules)
    assert names["predict_row_many"](rows) == draw.expected(gappy_rules, X)
    # Columns without a condition need not be there at all.
    asked = [{k: v for k, v in row.items() if k not in ("unused", "other")} for row in rows]
    assert names["predict_row_many"](asked) == draw.expected(gappy_rules, X)
    assert "bmi = _number(row, 'bmi', 32.5)" in source
