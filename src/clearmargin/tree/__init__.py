"""Trees of support vector machines, and the rules they hold."""

from clearmargin.tree.classifier import SVMTreeClassifier
from clearmargin.tree.exact_rules import exact_rules
from clearmargin.tree.interval_rules import IntervalRules, interval_rules
from clearmargin.tree.measures import class_bias_ratio
from clearmargin.tree.svm_tree import Layer, Leaf, SVMTree

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
