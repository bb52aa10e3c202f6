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

__all__ = [
    "CertifiedExplanation",
    "CertifiedFeature",
    "CertifiedScorecard",
    "ScoreRules",
]
