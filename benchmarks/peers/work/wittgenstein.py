"""RIPPER of wittgenstein, with its defaults."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.peers.work.protocol import DIFFERENT, Method, Problem, serve

wittgenstein: Any = importlib.import_module("wittgenstein")
pandas: Any = importlib.import_module("pandas")


def frame(X: Any) -> Any:
    """A table whose columns have names that survive: wittgenstein takes blanks and more out of names."""
    return pandas.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


def ripper(problem: Problem) -> Any:
    model = wittgenstein.RIPPER(random_state=problem.seed)
    model.fit(frame(problem.X_train), y=problem.y_train, pos_class=1)
    return model


def read_ripper(model: Any, problem: Problem) -> dict[str, Any]:
    """Rules for class 1; what none covers is of class 0."""
    predicted = np.asarray(model.predict(frame(problem.X_test)), dtype=int)
    rules = model.ruleset_.rules
    return {
        "predicted": predicted,
        "score": np.asarray(model.predict_proba(frame(problem.X_test)))[:, 1],
        "fires": predicted.astype(bool),
        "overlap": np.zeros(len(predicted), dtype=bool),
        "overlap_means": DIFFERENT,
        "n_rules": len(rules),
        "n_conditions": sum(ends(condition.val) for rule in rules for condition in rule.conds),
        "weighted": False,
        "linear_terms": 0,
        "note": "all rules are for class 1; columns with few values are taken for categories",
    }


def ends(value: object) -> int:
    """Bounds that a bin has, written "a - b", "<b" or ">a"; a category is one condition."""
    return 2 if " - " in str(value) else 1


if __name__ == "__main__":
    serve("wittgenstein", {"RIPPER": Method(ripper, read_ripper)})
