"""Rules out of hyperplanes, and explanations of single cases."""

from clearmargin.extract.explanation import Explanation
from clearmargin.extract.explore import Exploration, explore_volume
from clearmargin.extract.extractor import RuleExtractor

__all__ = ["Explanation", "Exploration", "RuleExtractor", "explore_volume"]
