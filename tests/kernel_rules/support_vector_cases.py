"""What the tests of rules around support vectors share: models on scaled and on mixed columns."""

from __future__ import annotations

from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC


def scaled(svm) -> object:
    return make_pipeline(StandardScaler(), svm)


def mixed_model(**svm):
    columns = make_column_transformer(
        (StandardScaler(), ["age", "dose"]), (OneHotEncoder(), ["smoker", "colour"])
    )
    return make_pipeline(columns, SVC(gamma=0.3, C=3.0, **svm))
