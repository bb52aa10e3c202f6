from .certified_card import (
    CertifiedExplanation as CertifiedExplanation,
)
from .certified_card import (
    CertifiedFeature as CertifiedFeature,
)
from .certified_card import (
    CertifiedScorecard as CertifiedScorecard,
)
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

__all__ = [
    "CertifiedExplanation",
    "CertifiedFeature",
    "CertifiedScorecard",
    "ScoreExplanation",
    "ScoreRules",
    "Scorecard",
    "ScoredFeature",
]
