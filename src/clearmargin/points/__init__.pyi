from .certified_card import (
    CertifiedExplanation as CertifiedExplanation,
)
from .certified_card import (
    CertifiedFeature as CertifiedFeature,
)
from .certified_card import (
    CertifiedScorecard as CertifiedScorecard,
)
from .outcome import (
    ExpertRule as ExpertRule,
)
from .outcome import (
    RulesOutcome as RulesOutcome,
)
from .points_explanation import (
    Addend as Addend,
)
from .points_explanation import (
    Flip as Flip,
)
from .points_explanation import (
    PointsExplanation as PointsExplanation,
)
from .reading import (
    read_weighted_rules as read_weighted_rules,
)
from .rule_svc import (
    RuleSVC as RuleSVC,
)
from .score_rules import (
    ScoreRules as ScoreRules,
)
from .weighted_document import (
    weighted_rules_schema as weighted_rules_schema,
)
from .weighted_rules import (
    LinearTerm as LinearTerm,
)
from .weighted_rules import (
    WeightedRules as WeightedRules,
)
from .weighted_rules import (
    WeightLine as WeightLine,
)

__all__ = [
    "Addend",
    "CertifiedExplanation",
    "CertifiedFeature",
    "CertifiedScorecard",
    "ExpertRule",
    "Flip",
    "LinearTerm",
    "PointsExplanation",
    "RuleSVC",
    "RulesOutcome",
    "ScoreRules",
    "WeightLine",
    "WeightedRules",
    "read_weighted_rules",
    "weighted_rules_schema",
]
