from .score_rules import (
    ScoreRules as ScoreRules,
)
from .scorecard import (
    Scorecard as Scorecard,
)
from .scorecard import (
    ScoredFeature as ScoredFeature,
)
from .scorecard import (
    ScoreExplanation as ScoreExplanation,
)

__all__ = ["ScoreExplanation", "ScoreRules", "Scorecard", "ScoredFeature"]
