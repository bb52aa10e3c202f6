from .weighted_rules import (
    LinearTerm as LinearTerm,
)
from .weighted_rules import (
    WeightedRules as WeightedRules,
)
from .weighted_rules import (
    WeightLine as WeightLine,
)

__all__ = ["LinearTerm", "WeightLine", "WeightedRules"]
