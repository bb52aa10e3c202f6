"""What is wrong, where, and what to do."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from clearmargin import AdviceSVC, FeatureSpace, Interval, Rule, RuleSet
from clearmargin.exceptions import (
    DataError,
    FileDamagedError,
    InfeasibleError,
    InvalidValueError,
    RuleSyntaxError,
)
from clearmargin.rules import Box

X = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "bmi": [20.0, 31.0, 24.0, 35.0]})
Y = ["well", "ill", "well", "ill"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": 0}, "lam must be a positive number, not 0"),
        ({"lam": "much"}, "lam must be a positive number, not 'much'"),
        ({"mu": -1.0}, "mu must be a positive number, not -1.0"),
        ({"mu": np.nan}, "mu must be a positive number, not nan"),
        ({"nu": np.inf}, "nu must be a positive number, not inf"),
        ({"nu": "dear"}, "nu must be a positive number, not 'dear'"),
        ({"nu": {"rule 1": 0}}, "nu of 'rule 1' must be a positive number, or infinite for a rule"),
        (
            {"nu": {"rul 1": 1}},
            r"nu names 'rul 1', and the advice has no such rule; did you mean 'rule 1'",
        ),
        ({"nu": [1.0, 2.0, 3.0]}, "nu has 3 costs, and the advice has . rules?; give one for each"),
        ({"start": "rules"}, "start must be one of 'data', 'advice', not 'rules'"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"refine": "slq"}, "refine must be one of 'translate', 'slp', 'sqp', 'trust', not 'slq'"),
        ({"scale": "minmax"}, "scale must be one of 'range', 'standard', not 'minmax'"),
        ({"bounds": (0, 1)}, r"bounds must be one of 'data', not \(0, 1\)"),
        ({"max_iter": 0}, "max_iter must be a whole number from 1, not 0"),
        ({"mu": np.inf, "refine": "slp"}, r"advice that must hold \(mu=inf\) cannot be refined"),
        ({"advice": 7}, "advice must be a RuleSet, a text or the path of a file, not int"),
        (
            {"advice": "no such file"},
            "there is no file 'no such file'; a text needs a rule",
        ),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(parameters, message):
    model = AdviceSVC(**{"advice": "bmi >= 30 => ill"} | parameters)
    with pytest.raises(InvalidValueError, match=message):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("advice", "message"),
    [
        (
            "bmi >= 30 => ill\nbmy <= 25 => well",
            r"line 2, column 1: unknown feature 'bmy'; did you mean 'bmi'\?",
        ),
        ("bmi >= 30 => sick", "line 1, column 14: unknown class 'sick'"),
        ("bmi >= 30 => ill [weight 0]", "a weight must be more than 0"),
        ("bmi >= 30 => ill [weight -2]", "a weight must be more than 0"),
        ("bmi >= 30 and bmi <= 20 => ill", "line 1"),
        ("bmi >= inf => ill", "line 1"),
        ("bmi >= thirty => ill", "line 1, column 8: unknown feature 'thirty'"),
    ],
)
def test_a_text_that_does_not_fit_says_where(advice, message):
    with pytest.raises(RuleSyntaxError, match=message):
        AdviceSVC(advice).fit(X, Y)


def test_a_file_that_is_no_text_says_what_it_is(tmp_path):
    path = tmp_path / "expert.rules"
    path.write_bytes(gzip.compress(b"age >= 30 => ill"))
    with pytest.raises(FileDamagedError, match=r"expert\.rules .*compressed \(gzip\); unpack it"):
        AdviceSVC(path).fit(X, Y)


def test_a_file_that_does_not_fit_says_which_and_where(tmp_path):
    path = tmp_path / "expert.rules"
    path.write_text("bmi >= 30 => ill\nagge <= 30 => well\n", encoding="utf-8")
    with pytest.raises(RuleSyntaxError, match=r"expert.rules, line 2, column 1: unknown feature"):
        AdviceSVC(path).fit(X, Y)


def rules_about(feature: str, label: str) -> RuleSet:
    box = Box.from_intervals({0: Interval(30.0, 60.0)}, 1)
    return RuleSet([Rule(box, label, name="expert")], FeatureSpace([feature]))


def test_rules_about_what_the_data_do_not_have_are_named():
    with pytest.raises(
        DataError,
        match="advice speaks of 'agee', and the data have no such column; did you mean 'age'",
    ):
        AdviceSVC(rules_about("agee", "ill")).fit(X, Y)
    with pytest.raises(
        DataError, match=r"rule 1 \(expert\) is for class 'sick', which is no class"
    ):
        AdviceSVC(rules_about("age", "sick")).fit(X, Y)


def test_hard_advice_that_contradicts_itself_is_named():
    advice = """
    young: age <= 30 => well
    heavy: bmi >= 30 => ill
    old: age >= 45 => ill
    """
    with pytest.raises(
        InfeasibleError, match=r"rule 1 \(young\), rule 2 \(heavy\)\. Run check_advice"
    ) as caught:
        AdviceSVC(advice, mu=np.inf).fit(X, Y)
    assert caught.value.blocks == ("rule 1 (young)", "rule 2 (heavy)")


def test_data_that_cannot_be_learned_from():
    with pytest.raises(DataError, match="neither data nor advice"):
        AdviceSVC().fit()
    with pytest.raises(DataError, match="y holds only one class"):
        AdviceSVC().fit(X, ["ill"] * 4)
    with pytest.raises(
        DataError, match=r"y holds only one class, .*'ill'.*, and the advice no other"
    ):
        AdviceSVC("bmi >= 30 => ill").fit(X, ["ill"] * 4)
    with pytest.raises(DataError, match="advice alone must speak of two classes, not of 1"):
        AdviceSVC("bmi >= 30 => ill").fit()
    with pytest.raises(DataError, match="refinement needs data"):
        AdviceSVC("bmi >= 30 => ill\nbmi <= 20 => well", refine="trust").fit()
    with pytest.raises(InvalidValueError, match="scale='standard' needs data"):
        AdviceSVC("bmi >= 30 => ill\nbmi <= 20 => well", scale="standard").fit()
    with pytest.raises(DataError, match=r"infinity .* in row 2, column 'bmi'"):
        AdviceSVC("bmi >= 30 => ill").fit(X.assign(bmi=[1.0, np.inf, 2.0, 3.0]), Y)
    with pytest.raises(DataError, match="NaN in row 3, column 'age'"):
        AdviceSVC("bmi >= 30 => ill").fit(X.assign(age=[1.0, 4.0, np.nan, 3.0]), Y)


def test_categories_that_do_not_fit_are_explained():
    encoded = pd.DataFrame({"colour_red": [0, 1, 0, 1], "colour_blue": [1, 0, 1, 0]})
    with pytest.raises(DataError, match=r"'colour_rd'; did you mean 'red'.*encode every category"):
        AdviceSVC("colour = rd => ill").fit(encoded, Y)
    with pytest.raises(RuleSyntaxError, match="colour"):
        AdviceSVC("colour >= 3 => ill").fit(encoded, Y)
    with pytest.raises(RuleSyntaxError, match="age"):
        AdviceSVC("age = young => ill").fit(X, Y)


def test_an_unfitted_model_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="AdviceSVC"):
        AdviceSVC("bmi >= 30 => ill").predict(X)


def test_advice_on_missing_values_is_refused_in_words():
    X = pd.DataFrame({"bmi": [20.0, 22.0, 35.0, 40.0]})
    for condition in ("bmi is missing", "bmi is not missing"):
        advice = f"bmi >= 30 => ill\nodd: {condition} => ill"
        with pytest.raises(
            DataError, match=r"rule 2 \(odd\) asks whether 'bmi' is missing; advice"
        ):
            AdviceSVC(advice=advice).fit(X, ["well", "well", "ill", "ill"])


def test_a_list_of_columns_is_no_name_of_a_group():
    X = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 0, 0, 1]})
    with pytest.raises(
        InvalidValueError, match=r"\['a', 'b'\] is no name; for columns of other names"
    ):
        AdviceSVC(groups=[["a", "b"]]).fit(X, [0, 1, 1, 0])
