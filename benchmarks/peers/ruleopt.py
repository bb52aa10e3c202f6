"""Rule generation (RUG) of ruleopt, with its defaults, and in two sizes: the heaviest rules of two conditions."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Method, Problem, serve

ruleopt: Any = importlib.import_module("ruleopt")


def train(problem: Problem, most: int, **size: int) -> Any:
    """Learn; of the rules, which stand in the order of their weights, the first are kept."""
    model = ruleopt.RUGClassifier(random_state=problem.seed, **size)
    model.fit(problem.X_train, problem.y_train)
    kept = list(model.decision_rules_)[:most]
    return model, kept


def read(trained: Any, problem: Problem) -> dict[str, Any]:
    """Rules vote with weights; where none fires, the commoner class is said."""
    model, kept = trained
    rules = [model.decision_rules_[k] for k in kept]
    share = np.asarray(model.predict_proba(problem.X_test, indices=kept))[:, 1]
    return {
        "predicted": np.asarray(model.predict(problem.X_test, indices=kept)).astype(int),
        "score": share,
        "n_rules": len(rules),
        "n_conditions": sum(len(rule) for rule in rules),
        "note": f"{len(model.decision_rules_)} rules before the lightest were left out",
    }


METHODS = {
    "RUG, 15 rules": Method(partial(train, most=15, max_depth=2), read),
    "RUG, 30 rules": Method(partial(train, most=30, max_depth=2), read),
}

if __name__ == "__main__":
    serve("ruleopt", METHODS)
