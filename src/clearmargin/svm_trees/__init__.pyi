from .classifier import (
    SVMTreeClassifier as SVMTreeClassifier,
)
from .classifier import (
    class_bias_ratio as class_bias_ratio,
)
from .leaf_rules import (
    exact_rules as exact_rules,
)
from .node_rules import (
    IntervalRules as IntervalRules,
)
from .node_rules import (
    interval_rules as interval_rules,
)
from .svm_tree import (
    Layer as Layer,
)
from .svm_tree import (
    Leaf as Leaf,
)
from .svm_tree import (
    SVMTree as SVMTree,
)

__all__ = [
    "IntervalRules",
    "Layer",
    "Leaf",
    "SVMTree",
    "SVMTreeClassifier",
    "class_bias_ratio",
    "exact_rules",
    "interval_rules",
]
