"""The explainable boosting machine of interpret, with its defaults: curves and pairs of features, added up."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Method, Problem, serve

glassbox: Any = importlib.import_module("interpret.glassbox")


def train(problem: Problem) -> Any:
    model = glassbox.ExplainableBoostingClassifier(random_state=problem.seed, n_jobs=1)
    return model.fit(problem.X_train, problem.y_train)


def read(model: Any, problem: Problem) -> dict[str, Any]:
    """A sum of terms, none of them a rule."""
    terms = len(model.term_names_)
    share = np.asarray(model.predict_proba(problem.X_test))[:, 1]
    return {
        "predicted": np.asarray(model.predict(problem.X_test)).astype(int),
        "score": share,
        "n_rules": terms,
        "n_conditions": sum(len(features) for features in model.term_features_),
        "note": "each curve or surface counts as one rule, however many steps it has",
    }


if __name__ == "__main__":
    serve("interpret-core", {"EBM": Method(train, read)})
