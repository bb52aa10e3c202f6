"""Figures of rules: regions over two features, tables of intervals, curves of coverage, advice before and after.

Displays follow the conventions of scikit-learn: `from_estimator` draws, the display keeps what was computed, and `plot`
draws it again. matplotlib is imported when something is drawn.
"""

from clearmargin.plot.advice import AdviceDisplay, plot_advice
from clearmargin.plot.coverage import CoverageDisplay, plot_coverage
from clearmargin.plot.regions import RegionsDisplay, plot_regions
from clearmargin.plot.rule_trees import RuleTreesDisplay, plot_rule_trees
from clearmargin.plot.rules import RulesDisplay, plot_rules

__all__ = [
    "AdviceDisplay",
    "CoverageDisplay",
    "RegionsDisplay",
    "RuleTreesDisplay",
    "RulesDisplay",
    "plot_advice",
    "plot_coverage",
    "plot_regions",
    "plot_rule_trees",
    "plot_rules",
]
