"""Rules out of hyperplanes, scorecards, and explanations of single cases."""

from typing import TYPE_CHECKING

from clearmargin.lazy_names import lazy_names

if TYPE_CHECKING:
    from clearmargin.extract.explanation import Explanation
    from clearmargin.extract.explore import Exploration, explore_volume
    from clearmargin.extract.extractor import RuleExtractor
    from clearmargin.extract.score_rules import ScoreRules
    from clearmargin.extract.scorecard import Scorecard, ScoredFeature, ScoreExplanation

__all__ = [
    "Explanation",
    "Exploration",
    "RuleExtractor",
    "ScoreExplanation",
    "ScoreRules",
    "Scorecard",
    "ScoredFeature",
    "explore_volume",
]

# Loaded when first used: commands that need only the search for boxes start without scikit-learn.
_HOME_OF = {
    "Explanation": "explanation",
    "Exploration": "explore",
    "RuleExtractor": "extractor",
    "ScoreExplanation": "scorecard",
    "ScoreRules": "score_rules",
    "Scorecard": "scorecard",
    "ScoredFeature": "scorecard",
    "explore_volume": "explore",
}

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
