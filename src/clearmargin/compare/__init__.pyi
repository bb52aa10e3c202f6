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
from .model_changes import (
    Flip as Flip,
)
from .model_changes import (
    ModelComparison as ModelComparison,
)
from .model_changes import (
    compare_models as compare_models,
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
    "Flip",
    "ModelComparison",
    "RuleComparison",
    "check_drift",
    "compare_extractors",
    "compare_models",
    "compare_rules",
]
