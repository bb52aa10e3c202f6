"""Figures: rules, regions, coverage, advice, rankings, points, scorecards, SVM trees and extractors.

Displays follow the conventions of scikit-learn: `from_estimator` draws, the display keeps what was computed, and `plot`
draws it again. matplotlib is imported when something is drawn.
"""

from clearmargin.advice.plot import AdviceDisplay, RuleTreesDisplay, plot_advice, plot_rule_trees
from clearmargin.compare.plot import ExtractorsDisplay, plot_extractors
from clearmargin.drawing.coverage import CoverageDisplay, plot_coverage
from clearmargin.drawing.regions import RegionsDisplay, plot_regions
from clearmargin.drawing.rule_table import RulesDisplay, plot_rules
from clearmargin.rankings.plot import (
    LeverageDisplay,
    RankHistogramsDisplay,
    RankRocDisplay,
    plot_leverage,
    plot_rank_histograms,
    plot_rank_roc,
)
from clearmargin.rule_svm.plot import PointsDisplay, plot_points
from clearmargin.scorecards.plot import CardDisplay, plot_card
from clearmargin.svm_trees.plot import SVMTreeDisplay, plot_svm_tree

__all__ = [
    "AdviceDisplay",
    "CardDisplay",
    "CoverageDisplay",
    "ExtractorsDisplay",
    "LeverageDisplay",
    "PointsDisplay",
    "RankHistogramsDisplay",
    "RankRocDisplay",
    "RegionsDisplay",
    "RuleTreesDisplay",
    "RulesDisplay",
    "SVMTreeDisplay",
    "plot_advice",
    "plot_card",
    "plot_coverage",
    "plot_extractors",
    "plot_leverage",
    "plot_points",
    "plot_rank_histograms",
    "plot_rank_roc",
    "plot_regions",
    "plot_rule_trees",
    "plot_rules",
    "plot_svm_tree",
]
