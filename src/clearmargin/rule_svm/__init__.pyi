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
    "ExpertRule",
    "Flip",
    "LinearTerm",
    "PointsExplanation",
    "RuleSVC",
    "RulesOutcome",
    "WeightLine",
    "WeightedRules",
    "read_weighted_rules",
    "weighted_rules_schema",
]
