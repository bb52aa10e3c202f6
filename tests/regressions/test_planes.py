"""What once went wrong with rules out of linear classifiers."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from clearmargin import RuleExtractor


def test_rows_with_a_category_that_the_model_does_not_know_are_not_counted_as_covered():
    X = pd.DataFrame({"a": np.linspace(-2, 2, 80), "c": list("uv") * 40})
    y = X["a"] + (X["c"] == "u") > 0.5
    encoder = make_column_transformer(
        ("passthrough", ["a"]), (OneHotEncoder(handle_unknown="ignore"), ["c"])
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y)
    X.loc[::5, "c"] = "w"
    extractor = RuleExtractor(model).fit(X, y)
    counts = [rule.stats.covered for rule in extractor.rules_]
    assert counts == extractor.covers(X).sum(axis=0).tolist()
