"""Rule learners of imodels, with their defaults; some of them in other sizes, too."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.work.protocol import (
    DIFFERENT,
    SEVERAL,
    Condition,
    Method,
    Problem,
    count_conditions,
    covers,
    differ,
    serve,
)

imodels: Any = importlib.import_module("imodels")


def rule_fit(problem: Problem) -> Any:
    model = imodels.RuleFitClassifier(random_state=problem.seed)
    return model.fit(problem.X_train, problem.y_train)


def read_rule_fit(model: Any, problem: Problem) -> dict[str, Any]:
    """A sum of rules and of linear terms."""
    n_features = problem.X_train.shape[1]
    coef = np.asarray(model.coef)
    found = model.rules_without_feature_names_
    rules = [conditions(rule) for rule, c in zip(found, coef[n_features:], strict=True) if c]
    linear = int(np.count_nonzero(coef[:n_features]))
    fired = covers(rules, problem.X_test)
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.predict_proba(problem.X_test)[:, 1],
        "fires": fired.any(axis=1),
        "overlap": fired.sum(axis=1) > 1,
        "overlap_means": SEVERAL,
        "n_rules": len(rules),
        "n_conditions": count_conditions(rules),
        "weighted": True,
        "linear_terms": linear,
        "note": "rules and linear terms are summed with weights",
    }


def skope_rules(problem: Problem) -> Any:
    model = imodels.SkopeRulesClassifier(random_state=problem.seed)
    return model.fit(problem.X_train, problem.y_train)


def read_skope_rules(model: Any, problem: Problem) -> dict[str, Any]:
    """Rules for one class, which vote with weights."""
    rules = [conditions(rule) for rule in model.rules_without_feature_names_]
    fired = covers(rules, problem.X_test)
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.predict_proba(problem.X_test)[:, 1],
        "fires": fired.any(axis=1),
        "overlap": fired.sum(axis=1) > 1,
        "overlap_means": SEVERAL,
        "n_rules": len(rules),
        "n_conditions": count_conditions(rules),
        "weighted": True,
        "linear_terms": 0,
        "note": "all rules are for class 1, which needs half of their weights",
    }


def boosted_rules(problem: Problem, **size: int) -> Any:
    model = imodels.BoostedRulesClassifier(random_state=problem.seed, **size)
    return model.fit(problem.X_train, problem.y_train)


def read_boosted_rules(model: Any, problem: Problem) -> dict[str, Any]:
    """Stumps that vote with weights; each has something to say about every row."""
    stumps = [tree.tree_ for tree in model.estimators_ if tree.tree_.feature[0] >= 0]
    # Boosting comes back to a cut; the votes of its stumps add up to those of one.
    cuts = {(int(stump.feature[0]), float(stump.threshold[0])) for stump in stumps}
    rows = len(problem.X_test)
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.decision_function(problem.X_test),
        "fires": np.full(rows, len(cuts) > 0),
        "overlap": np.full(rows, len(cuts) > 1),
        "overlap_means": SEVERAL,
        "n_rules": len(cuts),
        "n_conditions": len(cuts),
        "weighted": True,
        "linear_terms": 0,
        "note": f"stumps: {len(stumps)}; those of the same cut count as one rule with one condition",
    }


def figs(problem: Problem, **size: int) -> Any:
    # Its trees break ties by numpy's global numbers, whatever random_state it is given.
    model = imodels.FIGSClassifier(random_state=problem.seed, **size)
    return model.fit(problem.X_train, problem.y_train)


def read_figs(model: Any, problem: Problem) -> dict[str, Any]:
    """A sum of trees, whose leaves are the rules; of a single tree, leaves side by side of one class are one rule."""
    trees = len(model.trees_)
    if trees == 1:
        rules = merged_leaves(model.trees_[0])
        counted = "leaves side by side of one class count as one rule"
    else:
        rules = [rule for tree in model.trees_ for rule in leaves(tree, ())]
        counted = "each leaf counts as a rule"
    rows = len(problem.X_test)
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.predict_proba(problem.X_test)[:, 1],
        "fires": np.full(rows, trees > 0),
        "overlap": np.full(rows, trees > 1),
        "overlap_means": SEVERAL,
        "n_rules": len(rules),
        "n_conditions": count_conditions(rules),
        "weighted": trees > 1,
        "linear_terms": 0,
        "note": f"trees: {trees}; splits: {model.complexity_}; {counted}",
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


def merged_leaves(root: Any) -> list[tuple[Condition, ...]]:
    """The paths to the largest parts of a tree that are of one class, as a tree of scikit-learn is counted."""
    found: list[tuple[Condition, ...]] = []

    def walk(node: Any, path: tuple[Condition, ...]) -> int | None:
        """The class of the part below a node where it has only one; its path is then noted by the caller."""
        if node.left is None and node.right is None:
            return int(np.argmax(node.value))
        feature, threshold = int(node.feature), float(node.threshold)
        sides = (*path, (feature, "<=", threshold)), (*path, (feature, ">", threshold))
        first, second = walk(node.left, sides[0]), walk(node.right, sides[1])
        if first is not None and first == second:
            return first
        parts = zip((first, second), sides, strict=True)
        found.extend(side for part, side in parts if part is not None)
        return None

    if walk(root, ()) is not None:
        found.append(())
    return found


def greedy_rule_list(problem: Problem) -> Any:
    return imodels.GreedyRuleListClassifier().fit(problem.X_train, problem.y_train)


def read_greedy_rule_list(model: Any, problem: Problem) -> dict[str, Any]:
    """A list of rules of one condition each, and a default at its end."""
    found = model.rules_[:-1]
    rules = [((int(r["index_col"]), "<" if r["flip"] else ">=", r["cutoff"]),) for r in found]
    fired = covers(rules, problem.X_test)
    return {
        "predicted": model.predict(problem.X_test),
        "score": model.predict_proba(problem.X_test)[:, 1],
        "fires": fired.any(axis=1),
        "overlap": differ(fired, [r["val_right"] > 0.5 for r in found]),
        "overlap_means": DIFFERENT,
        "n_rules": len(rules),
        "n_conditions": count_conditions(rules),
        "weighted": False,
        "linear_terms": 0,
        "note": "an ordered list; its default is not counted",
    }


def conditions(rule: Any) -> list[Condition]:
    """The conditions of one of its rules, whose features are called X_0, X_1, ..."""
    return [
        (int(feature.removeprefix("X_")), operator, float(value))
        for (feature, operator), value in rule.agg_dict.items()
    ]


METHODS = {
    "RuleFit": Method(rule_fit, read_rule_fit),
    "SkopeRules": Method(skope_rules, read_skope_rules),
    "BoostedRules": Method(boosted_rules, read_boosted_rules),
    "BoostedRules, 5 stumps": Method(partial(boosted_rules, n_estimators=5), read_boosted_rules),
    "BoostedRules, 30 stumps": Method(partial(boosted_rules, n_estimators=30), read_boosted_rules),
    "FIGS": Method(figs, read_figs),
    "FIGS, 6 splits": Method(partial(figs, max_rules=6), read_figs),
    "GreedyRuleList": Method(greedy_rule_list, read_greedy_rule_list),
}

if __name__ == "__main__":
    serve("imodels", METHODS)
