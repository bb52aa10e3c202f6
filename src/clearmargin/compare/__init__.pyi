from .comparison import (
    ExtractorComparison as ExtractorComparison,
)
from .extractors import (
    compare_extractors as compare_extractors,
)

__all__ = ["ExtractorComparison", "compare_extractors"]
