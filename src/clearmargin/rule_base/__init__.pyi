from .budget import (
    RuleBudget as RuleBudget,
)
from .distillation import (
    Distillation as Distillation,
)
from .explanation import (
    Explanation as Explanation,
)
from .row_coverage import (
    RowCoverage as RowCoverage,
)

__all__ = ["Distillation", "Explanation", "RowCoverage", "RuleBudget"]
