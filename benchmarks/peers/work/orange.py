"""CN2 of Orange, ordered and unordered, with its defaults."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.work.protocol import (
    DIFFERENT,
    Method,
    Problem,
    count_conditions,
    covers,
    differ,
    serve,
)

data: Any = importlib.import_module("Orange.data")
rules: Any = importlib.import_module("Orange.classification.rules")


def learner(name: str) -> Callable[[Problem], Any]:
    """What learns a table with one of its learners."""

    def train(problem: Problem) -> Any:
        # Orange takes no two columns of the same name, so they are numbered.
        columns = [data.ContinuousVariable(f"x{k}") for k in range(problem.X_train.shape[1])]
        domain = data.Domain(columns, data.DiscreteVariable("class", values=("0", "1")))
        table = data.Table.from_numpy(domain, problem.X_train, problem.y_train)
        return getattr(rules, name)()(table)

    return train


def reader(note: str) -> Callable[[Any, Problem], dict[str, Any]]:
    """What reads rules whose last is the default."""

    def read(model: Any, problem: Problem) -> dict[str, Any]:
        found = [rule for rule in model.rule_list if rule.selectors]
        listed = [[(s.column, s.op, float(s.value)) for s in rule.selectors] for rule in found]
        fired = covers(listed, problem.X_test)
        probabilities = np.asarray(model.predict(problem.X_test))
        return {
            "predicted": probabilities.argmax(axis=1),
            "score": probabilities[:, 1],
            "fires": fired.any(axis=1),
            "overlap": differ(fired, [rule.prediction == 1 for rule in found]),
            "overlap_means": DIFFERENT,
            "n_rules": len(found),
            "n_conditions": count_conditions(listed),
            "weighted": False,
            "linear_terms": 0,
            "note": note,
        }

    return read


METHODS = {
    "CN2": Method(learner("CN2Learner"), reader("an ordered list; its default is not counted")),
    "CN2 unordered": Method(
        learner("CN2UnorderedLearner"),
        reader(
            "where several rules fire, their class frequencies are added; the default is not counted"
        ),
    ),
}

if __name__ == "__main__":
    serve("Orange3", METHODS)
