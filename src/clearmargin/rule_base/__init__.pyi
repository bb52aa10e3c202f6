from .explanation import (
    Explanation as Explanation,
)
from .row_coverage import (
    RowCoverage as RowCoverage,
)
from .rule_features import (
    RuleFeatures as RuleFeatures,
)

__all__ = ["Explanation", "RowCoverage", "RuleFeatures"]
