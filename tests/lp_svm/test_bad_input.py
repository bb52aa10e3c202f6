from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clearmargin.exceptions import ClearmarginError
from clearmargin.lp_svm import LPSVC, LPSVCCV, ProximalSVC
from clearmargin.tables.validation import read_points

CLASSIFIERS = [LPSVC(), LPSVCCV(cv=2), ProximalSVC()]


@pytest.fixture(params=CLASSIFIERS, ids=lambda c: type(c).__name__)
def classifier(request):
    return request.param


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(12, 3)), columns=["age", "bmi", "glucose"])
    return X, np.array(["ill", "well"] * 6)


def fails(classifier, X, y, message):
    with pytest.raises(ValueError, match=message) as caught:
        classifier.fit(X, y)
    return caught.value


def test_a_missing_value_is_named_by_row_and_column(classifier, table):
    X, y = table
    X.loc[7, "bmi"] = np.nan
    error = fails(classifier, X, y, r"X contains NaN in row 8, column 'bmi'; fill or drop missing")
    assert isinstance(error, ClearmarginError)


def test_an_infinity_is_named_by_row_and_column(classifier, table):
    X, y = table
    values = X.to_numpy(copy=True)
    values[3, 2] = -np.inf
    values[5, 0] = np.nan
    fails(classifier, values, y, r"an infinity \(inf\) in row 4, column 'x2'; 2 such values in all")


def test_a_missing_value_in_a_sparse_table_is_named():
    X = np.zeros((6, 4))
    X[0, 1], X[4, 3] = 1.0, np.nan
    with pytest.raises(ValueError, match=r"NaN in row 5, column 'x3'"):
        LPSVC().fit(sparse.csr_array(X), [0, 1] * 3)


def test_missing_values_are_named_at_prediction_too(classifier, table):
    X, y = table
    fitted = classifier.fit(X, y)
    X.loc[2, "age"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in row 3, column 'age'"):
        fitted.predict(X)


def test_large_numbers_are_not_taken_for_infinities():
    X = np.full((40, 2), 1.7e308)
    fitted = ProximalSVC().fit([[0.0], [1.0]], [0, 1])
    assert np.isfinite(read_points(fitted, X[:, :1])).all()


def test_one_class_only(classifier, table):
    fails(classifier, table[0], ["ill"] * 12, r"only one class, .*'ill'.*; a classifier needs two")


def test_three_classes(classifier, table):
    message = (
        r"Only binary classification is supported. The type of the target is multiclass. It has 3 "
        r"classes \('a', 'b', 'c'\); for more than two wrap the classifier in sklearn.multiclass.One"
    )
    fails(classifier, table[0], list("abc") * 4, message)


def test_text_in_a_column_of_numbers(classifier, table):
    X, y = table
    X["glucose"] = X["glucose"].astype(object)
    X.loc[5, "glucose"] = "high"
    fails(
        classifier,
        X,
        y,
        r"column 'glucose' holds texts \(row 6: 'high'\), and this estimator takes numbers",
    )


def test_text_in_an_array(classifier, table):
    X, y = table
    values = X.to_numpy().astype(object)
    values[1, 0] = "?"
    fails(classifier, values, y, r"column 'x0' holds texts \(row 2: '\?'\)")


def test_labels_of_another_length(classifier, table):
    X, y = table
    fails(classifier, X, y[:-1], r"X has 12 rows but y has 11 labels")


@pytest.mark.parametrize("nu", [0, -1.0, np.nan, np.inf, "1", None, True])
@pytest.mark.parametrize("kind", [LPSVC, ProximalSVC])
def test_nu_must_be_a_positive_number(kind, nu, table):
    fails(kind(nu), *table, r"nu must be a positive number, not ")


def test_an_unknown_solver(table):
    fails(
        LPSVC(solver="gurobi"),
        *table,
        r"solver must be one of 'auto', 'sifting', 'simplex', 'ipm', not 'gurobi'",
    )


def test_an_empty_table(classifier):
    fails(classifier, pd.DataFrame({"a": [], "b": []}), [], r"the table is empty: X has no rows")


def test_a_table_without_columns(classifier):
    fails(classifier, np.empty((4, 0)), [0, 1, 0, 1], r"0 feature\(s\)")


def test_other_columns_than_at_fit(classifier, table):
    X, y = table
    fitted = classifier.fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(X.rename(columns={"age": "years"}))
    unnamed = classifier.fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        unnamed.predict(X.to_numpy()[:, :2])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"il": 2.0}, r"class_weight names 'il', which is no class; did you mean 'ill'"),
        ({"ill": 0.0}, r"the weight of class 'ill' must be a positive number, not 0.0"),
        ("heavy", r"class_weight must be None, 'balanced' or a mapping"),
    ],
)
def test_class_weights_that_make_no_sense(table, weights, message):
    fails(LPSVC(class_weight=weights), *table, message)


def test_weights_that_remove_a_class(classifier, table):
    X, y = table
    with pytest.raises(ValueError, match=r"sample_weight is zero for all points of class .*'ill'"):
        classifier.fit(X, y, sample_weight=(y == "well").astype(float))
