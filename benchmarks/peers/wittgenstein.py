"""RIPPER of wittgenstein, with its defaults."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.peers.protocol import Method, Problem, serve

wittgenstein: Any = importlib.import_module("wittgenstein")
pandas: Any = importlib.import_module("pandas")


def frame(X: Any) -> Any:
    """A table whose columns have names that survive: wittgenstein takes blanks and more out of names."""
    return pandas.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


def rarer_class(y: Any) -> int:
    """The class that RIPPER describes, since it leaves the commoner one to the default; 1 where both are as common."""
    zeros, ones = np.bincount(y, minlength=2)
    return 0 if zeros < ones else 1


def ripper(problem: Problem) -> Any:
    model = wittgenstein.RIPPER(random_state=problem.seed)
    described = rarer_class(problem.y_train)
    model.fit(frame(problem.X_train), y=problem.y_train, pos_class=described)
    return model


def read_ripper(model: Any, problem: Problem) -> dict[str, Any]:
    """Rules for the rarer class; what none covers is of the other."""
    described = rarer_class(problem.y_train)
    # What it says is not a class, but whether a row is of the class that its rules describe, and how likely.
    fires = np.asarray(model.predict(frame(problem.X_test)), dtype=bool)
    share = np.asarray(model.predict_proba(frame(problem.X_test)))
    rules = model.ruleset_.rules
    return {
        "predicted": np.where(fires, described, 1 - described),
        "score": share[:, 1] if described else share[:, 0],
        "n_rules": len(rules),
        "n_conditions": sum(ends(condition.val) for rule in rules for condition in rule.conds),
        "note": f"all rules are for class {described}, the rarer; columns with few values are taken for categories",
    }


def ends(value: object) -> int:
    """Bounds that a bin has, written "a - b", "<b" or ">a"; a category is one condition."""
    return 2 if " - " in str(value) else 1


if __name__ == "__main__":
    serve("wittgenstein", {"RIPPER": Method(ripper, read_ripper)})
