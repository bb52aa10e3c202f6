from .cells import (
    CardLine as CardLine,
)
from .document import (
    scorecard_schema as scorecard_schema,
)
from .explanation import (
    Contribution as Contribution,
)
from .explanation import (
    Flip as Flip,
)
from .explanation import (
    PointsExplanation as PointsExplanation,
)
from .explanation import (
    ProvedCase as ProvedCase,
)
from .outcome import (
    ExpertRule as ExpertRule,
)
from .outcome import (
    RulesOutcome as RulesOutcome,
)
from .reading import (
    scorecard_of as scorecard_of,
)
from .rule_svc import (
    RuleSVC as RuleSVC,
)
from .score_rules import (
    ScoreRules as ScoreRules,
)
from .scorecard import (
    LinearTerm as LinearTerm,
)
from .scorecard import (
    Proof as Proof,
)
from .scorecard import (
    Scorecard as Scorecard,
)
from .scorecard import (
    ScoreLine as ScoreLine,
)

__all__ = [
    "CardLine",
    "Contribution",
    "ExpertRule",
    "Flip",
    "LinearTerm",
    "PointsExplanation",
    "Proof",
    "ProvedCase",
    "RuleSVC",
    "RulesOutcome",
    "ScoreLine",
    "ScoreRules",
    "Scorecard",
    "scorecard_of",
    "scorecard_schema",
]
