"""The peer that everybody has: a decision tree of scikit-learn that learns what the machine says."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from benchmarks.quality.folds import Fold
from benchmarks.quality.judge import Answer

__all__ = ["TREES", "leaves", "tree_answers"]

TREES: dict[str, dict[str, int]] = {
    "scikit-learn tree, depth 3": {"max_depth": 3},
    "scikit-learn tree, 16 leaves": {"max_leaf_nodes": 16},
}


def leaves(tree: DecisionTreeClassifier) -> list[int]:
    """The number of bounds of each leaf; leaves side by side of one class count as one."""
    structure = tree.tree_
    says: NDArray[np.intp] = structure.value[:, 0, :].argmax(axis=1)
    found: list[int] = []

    def walk(node: int, path: frozenset[tuple[int, bool]]) -> int | None:
        """The class of the part below a node where it has only one; its leaf is then counted by the caller."""
        left, right = structure.children_left[node], structure.children_right[node]
        if left < 0:
            return int(says[node])
        feature = int(structure.feature[node])
        sides = path | {(feature, False)}, path | {(feature, True)}
        first, second = walk(left, sides[0]), walk(right, sides[1])
        if first is not None and first == second:
            return first
        # Parts of one class that cannot be merged any further are rules.
        parts = zip((first, second), sides, strict=True)
        found.extend(len(side) for part, side in parts if part is not None)
        return None

    if walk(0, frozenset()) is not None:
        found.append(0)
    return found


def tree_answers(fold: Fold) -> dict[str, Answer]:
    """What the trees say on the held-out rows."""
    found = {}
    for name, options in TREES.items():
        start = time.process_time()
        tree: Any = DecisionTreeClassifier(random_state=fold.seed, **options)
        tree.fit(fold.X_train, fold.said_train)
        seconds = time.process_time() - start
        sizes = leaves(tree)
        share = tree.predict_proba(fold.X_test)
        found[name] = Answer(
            tree.predict(fold.X_test),
            np.ones(len(fold.X_test), dtype=np.bool_),
            len(sizes),
            sum(sizes),
            seconds,
            score=share[:, -1] if share.shape[1] == 2 else None,
            overlap=0.0,
        )
    return found
