"""FasterRisk: risk scores of whole points for cuts, in two sizes; everything else by its defaults."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Method, Problem, serve

pandas: Any = importlib.import_module("pandas")
core: Any = importlib.import_module("fasterrisk.fasterrisk")
binarization: Any = importlib.import_module("fasterrisk.binarization_util")

# As many thresholds a feature as `RuleSVC` tries by default; 100, its own number, take three times as long.
THRESHOLDS = 32


def frame(X: Any) -> Any:
    return pandas.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


def binary(made: Any) -> Any:
    """The 0/1 columns of a table that was binarized, which come with their groups or without."""
    return np.asarray(made[0] if isinstance(made, tuple) else made, dtype=float)


def train(problem: Problem, size: int) -> Any:
    """Choose so many of the cuts and give each between -5 and 5 points."""
    binarizer = binarization.BinBinarizer(max_num_thresholds_per_feature=THRESHOLDS)
    columns = binary(binarizer.fit_transform(frame(problem.X_train)))
    signs = np.where(problem.y_train == 1, 1.0, -1.0)
    optimizer = core.RiskScoreOptimizer(columns, signs, k=min(size, columns.shape[1]))
    optimizer.optimize()
    multiplier, intercept, points = optimizer.get_models(model_index=0)
    return binarizer, core.RiskScoreClassifier(multiplier, intercept, points)


def read(model: Any, problem: Problem) -> dict[str, Any]:
    """A sum of points; each cut is a rule with one condition."""
    binarizer, card = model
    columns = binary(binarizer.transform(frame(problem.X_test)))
    score = np.asarray(card.predict_prob(columns), dtype=float)
    used = np.flatnonzero(card.coefficients)
    return {
        "predicted": (np.asarray(card.predict(columns)) > 0).astype(int),
        "score": score,
        "n_rules": len(used),
        "n_conditions": len(used),
        "note": f"at most {THRESHOLDS} thresholds a feature, drawn by FasterRisk itself",
    }


METHODS = {f"FasterRisk, {size} cuts": Method(partial(train, size=size), read) for size in (15, 30)}

if __name__ == "__main__":
    serve("fasterrisk", METHODS)
