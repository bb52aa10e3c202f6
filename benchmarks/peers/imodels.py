"""Rule learners of imodels, with their defaults; FIGS has 12 splits by default."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.peers.protocol import Condition, Method, Problem, count_conditions, serve

imodels: Any = importlib.import_module("imodels")


def boosted_rules(problem: Problem) -> Any:
    model = imodels.BoostedRulesClassifier(random_state=problem.seed)
    return model.fit(problem.X_train, problem.y_train)


def read_boosted_rules(model: Any, problem: Problem) -> dict[str, Any]:
    """Stumps that vote with weights."""
    stumps = [tree.tree_ for tree in model.estimators_ if tree.tree_.feature[0] >= 0]
    # Boosting comes back to a cut; the votes of its stumps add up to those of one.
    cuts = {(int(stump.feature[0]), float(stump.threshold[0])) for stump in stumps}
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.decision_function(problem.X_test),
        "n_rules": len(cuts),
        "n_conditions": len(cuts),
        "note": f"stumps: {len(stumps)}; those of the same cut count as one rule with one condition",
    }


def figs(problem: Problem) -> Any:
    # Its trees break ties by numpy's global numbers, whatever random_state it is given.
    model = imodels.FIGSClassifier(random_state=problem.seed)
    return model.fit(problem.X_train, problem.y_train)


def read_figs(model: Any, problem: Problem) -> dict[str, Any]:
    """A sum of trees, whose leaves are the rules."""
    rules = [rule for tree in model.trees_ for rule in leaves(tree, ())]
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.predict_proba(problem.X_test)[:, 1],
        "n_rules": len(rules),
        "n_conditions": count_conditions(rules),
        "note": f"trees: {len(model.trees_)}; splits: {model.complexity_}; each leaf counts as a rule",
    }


def leaves(node: Any, path: tuple[Condition, ...]) -> list[tuple[Condition, ...]]:
    """The paths to the leaves below a node."""
    if node.left is None and node.right is None:
        return [path]
    feature, threshold = int(node.feature), float(node.threshold)
    return [
        *leaves(node.left, (*path, (feature, "<=", threshold))),
        *leaves(node.right, (*path, (feature, ">", threshold))),
    ]


if __name__ == "__main__":
    methods = {
        "BoostedRules": Method(boosted_rules, read_boosted_rules),
        "FIGS": Method(figs, read_figs),
    }
    serve("imodels", methods)
