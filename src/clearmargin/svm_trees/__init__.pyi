from .classifier import (
    SVMTreeClassifier as SVMTreeClassifier,
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
    "Layer",
    "Leaf",
    "SVMTree",
    "SVMTreeClassifier",
]
