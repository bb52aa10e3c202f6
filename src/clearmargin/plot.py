"""Figures: rules, regions, coverage, advice, rankings, points, scorecards, SVM trees and extractors.

Functions draw a value, into axes that are given or a new figure, and return the matplotlib Axes. matplotlib is imported
when something is drawn.
"""

from clearmargin.advice.plot import AdviceDisplay, plot_advice
from clearmargin.compare.plot import plot_extractors
from clearmargin.drawing.coverage import plot_coverage
from clearmargin.drawing.regions import plot_regions
from clearmargin.drawing.rule_table import plot_rules
from clearmargin.points.plot import plot_card, plot_points
from clearmargin.rankings.plot import (
    plot_leverage,
    plot_rank_histograms,
    plot_rank_roc,
)
from clearmargin.svm_trees.plot import plot_svm_tree

__all__ = [
    "AdviceDisplay",
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
