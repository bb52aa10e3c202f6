"""Figures: rules, regions, coverage, advice, rankings, points, scorecards, SVM trees and extractors.

Functions draw a value, into axes that are given or a new figure, and return the matplotlib Axes. matplotlib is imported
when something is drawn.
"""

from clearmargin.plot.advice import plot_advice
from clearmargin.plot.coverage import plot_coverage
from clearmargin.plot.extractors import plot_extractors
from clearmargin.plot.points import plot_card, plot_points
from clearmargin.plot.rankings import (
    plot_leverage,
    plot_rank_histograms,
    plot_rank_roc,
)
from clearmargin.plot.regions import plot_regions
from clearmargin.plot.rule_table import plot_rules
from clearmargin.plot.trees import plot_svm_tree

__all__ = [
    "plot_advice",
    "plot_card",
    "plot_coverage",
    "plot_extractors",
    "plot_leverage",
    "plot_points",
    "plot_rank_histograms",
    "plot_rank_roc",
    "plot_regions",
    "plot_rules",
    "plot_svm_tree",
]
