from .drift import (
    DriftReport as DriftReport,
)
from .drift import (
    check_drift as check_drift,
)
from .extractors import (
    ExtractorComparison as ExtractorComparison,
)
from .extractors import (
    compare_extractors as compare_extractors,
)
from .rule_changes import (
    RuleComparison as RuleComparison,
)
from .rule_changes import (
    compare_rules as compare_rules,
)

__all__ = [
    "DriftReport",
    "ExtractorComparison",
    "RuleComparison",
    "check_drift",
    "compare_extractors",
    "compare_rules",
]
