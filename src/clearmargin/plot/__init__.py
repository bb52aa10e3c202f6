"""Figures of rules: regions over two features, tables of intervals, curves of coverage, advice before and after.

And of rankings: the properties in which their ends differ, histograms, ROC curves. And of trees of support vector
machines, and of extractors beside each other.

Displays follow the conventions of scikit-learn: `from_estimator` draws, the display keeps what was computed, and `plot`
draws it again. matplotlib is imported when something is drawn.
"""

from clearmargin.plot.advice import AdviceDisplay, plot_advice
from clearmargin.plot.coverage import CoverageDisplay, plot_coverage
from clearmargin.plot.extractors import ExtractorsDisplay, plot_extractors
from clearmargin.plot.leverage import LeverageDisplay, plot_leverage
from clearmargin.plot.rank_histograms import RankHistogramsDisplay, plot_rank_histograms
from clearmargin.plot.rank_roc import RankRocDisplay, plot_rank_roc
from clearmargin.plot.regions import RegionsDisplay, plot_regions
from clearmargin.plot.rule_trees import RuleTreesDisplay, plot_rule_trees
from clearmargin.plot.rules import RulesDisplay, plot_rules
from clearmargin.plot.svm_tree import SVMTreeDisplay, plot_svm_tree

__all__ = [
    "AdviceDisplay",
    "CoverageDisplay",
    "ExtractorsDisplay",
    "LeverageDisplay",
    "RankHistogramsDisplay",
    "RankRocDisplay",
    "RegionsDisplay",
    "RuleTreesDisplay",
    "RulesDisplay",
    "SVMTreeDisplay",
    "plot_advice",
    "plot_coverage",
    "plot_extractors",
    "plot_leverage",
    "plot_rank_histograms",
    "plot_rank_roc",
    "plot_regions",
    "plot_rule_trees",
    "plot_rules",
    "plot_svm_tree",
]
