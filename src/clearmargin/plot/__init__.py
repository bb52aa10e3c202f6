"""Figures of rules: regions over two features, tables of intervals, curves of coverage.

Displays follow the conventions of scikit-learn: `from_estimator` draws, the display keeps what was computed, and `plot`
draws it again. matplotlib is imported when something is drawn.
"""

from clearmargin.plot.coverage import CoverageDisplay, plot_coverage
from clearmargin.plot.regions import RegionsDisplay, plot_regions
from clearmargin.plot.rules import RulesDisplay, plot_rules

__all__ = [
    "CoverageDisplay",
    "RegionsDisplay",
    "RulesDisplay",
    "plot_coverage",
    "plot_regions",
    "plot_rules",
]
