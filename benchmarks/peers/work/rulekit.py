"""RuleKit, with its defaults but for the number of rules of a class; it runs in Java."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.work.protocol import DIFFERENT, Method, Problem, differ, serve

pandas: Any = importlib.import_module("pandas")
classification: Any = importlib.import_module("rulekit.classification")

CLASSES = ("zero", "one")


def frame(X: Any) -> Any:
    return pandas.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


def train(problem: Problem, most: int) -> Any:
    """Learn; 0 rules of a class stand for as many as it likes."""
    model = classification.RuleClassifier(max_rule_count=most)
    labels = [CLASSES[y] for y in problem.y_train]
    return model.fit(frame(problem.X_train), pandas.Series(labels, name="class"))


def read(model: Any, problem: Problem) -> dict[str, Any]:
    """Rules of both classes, which vote by their quality."""
    X = frame(problem.X_test)
    rules = model.model.rules
    fired = np.asarray(model.get_coverage_matrix(X), dtype=bool).reshape(len(X), len(rules))
    said = np.asarray(model.predict(X)).astype(str)
    return {
        "predicted": (said == CLASSES[1]).astype(int),
        "score": None,
        "fires": fired.any(axis=1),
        "overlap": differ(fired, [str(rule.decision_class) == CLASSES[1] for rule in rules]),
        "overlap_means": DIFFERENT,
        "n_rules": len(rules),
        "n_conditions": round(model.model.calculate_conditions_count() * len(rules)),
        "weighted": True,
        "linear_terms": 0,
        "note": "rules of both classes vote; an interval counts as one condition",
    }


METHODS = {
    "RuleKit": Method(partial(train, most=0), read),
    "RuleKit, 7 rules a class": Method(partial(train, most=7), read),
    "RuleKit, 15 rules a class": Method(partial(train, most=15), read),
}

if __name__ == "__main__":
    serve("rulekit", METHODS)
