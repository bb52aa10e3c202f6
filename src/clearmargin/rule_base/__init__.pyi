from .explanation import (
    Explanation as Explanation,
)
from .row_coverage import (
    RowCoverage as RowCoverage,
)

__all__ = ["Explanation", "RowCoverage"]
