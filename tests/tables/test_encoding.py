"""Tables go to numbers and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from clearmargin.models.kernel_machine import read_machine
from clearmargin.tables.encoding import Decoding, column_encoding
from clearmargin.tables.table import Table


@pytest.fixture(scope="module")
def mixed():
    """A frame of two numbers, of which one is whole, and two categorical features."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 80, 140),
            "colour": rng.choice(["red", "green", "blue"], 140),
            "dose": rng.uniform(0, 1, 140).round(3),
            "smoker": rng.choice(["yes", "no"], 140),
        }
    )
    score = (frame["age"] - 50) / 20 + 1.5 * (frame["colour"] == "red") + frame["dose"]
    return frame, np.where(score > 1, "ill", "well")


def test_a_frame_comes_back_as_it_was(mixed):
    frame, _ = mixed
    encoding = column_encoding(Table.read(frame).space())
    back = Decoding.of(frame, encoding).make(encoding.encode(frame))
    assert isinstance(back, pd.DataFrame)
    pd.testing.assert_frame_equal(back, frame, check_dtype=False)


def test_an_array_of_numbers_comes_back_as_it_was():
    X = np.random.default_rng(0).normal(size=(7, 3))
    encoding = column_encoding(Table.read(X).space())
    made = Decoding.of(X, encoding).make(encoding.encode(X))
    assert made.dtype == np.float64
    assert np.array_equal(made, X)


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical(["low", "high", "low", "mid"], categories=["low", "mid", "high", "top"]),
        np.array([True, False, True, True]),
        np.array(["x", "y", "x", "x"], dtype=object),
    ],
)
def test_a_column_keeps_its_spelling(values):
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "kind": values})
    encoding = column_encoding(Table.read(frame).space())
    back = Decoding.of(frame, encoding).make(encoding.encode(frame))
    assert back["kind"].tolist() == frame["kind"].tolist()
    assert back["n"].tolist() == frame["n"].tolist()


def test_names_of_columns_may_be_numbers():
    frame = pd.DataFrame({0: [1.0, 2.0], 7: ["a", "b"]})
    encoding = column_encoding(Table.read(frame).space())
    back = Decoding.of(frame, encoding).make(encoding.encode(frame))
    assert back.columns.tolist() == [0, 7]
    assert back[7].tolist() == ["a", "b"]


def test_the_model_takes_a_table_that_was_made(mixed):
    frame, y = mixed
    columns = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["colour"]), remainder="drop"
    )
    model = make_pipeline(columns, SVC()).fit(frame, y)
    machine = read_machine(model, frame)
    made = Decoding.of(frame, machine.encoding).make(machine.encoding.encode(frame))
    # What the model drops may have any value.
    assert made[["age", "colour", "dose"]].to_numpy().tolist() == (
        frame[["age", "colour", "dose"]].to_numpy().tolist()
    )
    assert np.array_equal(model.predict(made), model.predict(frame))


def test_the_largest_column_is_the_category():
    frame = pd.DataFrame({"kind": ["a", "b", "c"]})
    encoding = column_encoding(Table.read(frame).space())
    made = Decoding.of(frame, encoding).make(np.array([[0.2, 0.9, 0.3], [0.4, 0.1, 0.3]]))
    assert made["kind"].tolist() == ["b", "a"]


def test_categories_given_as_numbers_stay_numbers(mixed):
    frame, y = mixed
    coded = frame.assign(colour=frame["colour"].map({"red": 3, "green": 1, "blue": 2}))
    columns = make_column_transformer((OneHotEncoder(), ["colour", "smoker"]), remainder="drop")
    model = make_pipeline(columns, SVC()).fit(coded, y)
    machine = read_machine(model, coded)
    made = Decoding.of(coded, machine.encoding).make(machine.encoding.encode(coded))
    assert made["colour"].tolist() == coded["colour"].tolist()
    assert np.array_equal(model.predict(made), model.predict(coded))
