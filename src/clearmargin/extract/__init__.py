"""Rules out of hyperplanes, and explanations of single cases."""

from clearmargin.extract.explanation import Explanation
from clearmargin.extract.extractor import RuleExtractor

__all__ = ["Explanation", "RuleExtractor"]
