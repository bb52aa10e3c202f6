"""The step that encodes a table does what a ColumnTransformer of scikit-learn does, to the last bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clearmargin.exceptions import DataError
from clearmargin.models.surface import read_surface
from clearmargin.tables.table import Table
from clearmargin.tables.table_encoder import TableEncoder

RNG = np.random.default_rng(0)
COLUMNS = {
    "smoker": RNG.choice(["no", "yes", "ex"], 60).astype(object),
    "age": RNG.integers(18, 90, 60),
    "site": RNG.choice(["b", "a"], 60).astype(object),
    "bmi": RNG.normal(27, 4, 60),
}
CATEGORIES = {"smoker": ["ex", "never", "no", "yes"], "site": ["a", "b"]}
Y = np.where(COLUMNS["bmi"] + (COLUMNS["smoker"] == "yes") > 27, "ill", "well")


def both(numeric, categorical, **options):
    """Our step and scikit-learn's, and the table for each."""
    columns = {name: COLUMNS[name] for name in COLUMNS if name in (*numeric, *categorical)}
    categories = {name: CATEGORIES[name] for name in categorical}
    ours = TableEncoder(numeric, categories, **options)
    scaler = StandardScaler() if options.get("scale") else "passthrough"
    onehot = OneHotEncoder(categories=list(categories.values()), sparse_output=False)
    theirs = ColumnTransformer(
        [("numbers", scaler, numeric), ("categories", onehot, list(categories))],
        verbose_feature_names_out=False,
    )
    return (ours, Table.of_columns(columns)), (theirs, pd.DataFrame(columns))


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(
    ("numeric", "categorical"),
    [(["age", "bmi"], ["smoker", "site"]), (["bmi"], []), ([], ["site", "smoker"])],
)
def test_it_encodes_as_a_column_transformer_does(numeric, categorical, scale):
    (ours, table), (theirs, frame) = both(numeric, categorical, scale=scale)
    expected = theirs.fit_transform(frame)
    found = clone(ours).fit_transform(table)
    assert found.tobytes() == np.asarray(expected, dtype=float).tobytes()
    assert found.flags.f_contiguous == expected.flags.f_contiguous
    named = ours.set_params(as_table=True).fit_transform(table)
    frame_of_theirs = theirs.set_output(transform="pandas").fit_transform(frame)
    assert list(named.names) == frame_of_theirs.columns.tolist()
    if not scale:
        assert (named.numbers() == frame_of_theirs.to_numpy()).all()


def test_planes_behind_it_are_those_behind_a_column_transformer():
    pair = both(["age", "bmi"], ["smoker", "site"], scale=True)
    (ours, theirs), (table, frame) = zip(*pair, strict=True)
    models = [
        make_pipeline(step, RidgeClassifier()).fit(X, Y)
        for step, X in ((ours, table), (theirs, frame))
    ]
    found, expected = (
        read_surface(model, X) for model, X in zip(models, (table, frame), strict=True)
    )
    assert found.columns.names == expected.columns.names
    assert found.hyperplane == expected.hyperplane
    assert found.space == expected.space
    # The columns of a table are found by their names, and it may have more of them.
    others = {"more": COLUMNS["age"], **dict(reversed(COLUMNS.items()))}
    assert (models[0].predict(Table.of_columns(others)) == models[1].predict(frame)).all()


def test_a_category_that_is_not_listed_has_zeros_only():
    step = TableEncoder([], {"site": ["a", "b"]})
    rows = Table.of_columns({"site": np.array(["c", None, "b"], dtype=object)})
    assert step.fit_transform(rows).tolist() == [[0, 0], [0, 0], [0, 1]]


def test_a_column_of_numbers_too_large_to_be_scaled_is_named():
    table = Table.read({"small": [1.0, 2.0], "large": [1e300, -1e300]})
    with pytest.raises(DataError, match="column 'large' holds numbers whose squares are too large"):
        TableEncoder(["small", "large"], {}, scale=True).fit(table)
