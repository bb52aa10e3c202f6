from .extractor import (
    RuleExtractor as RuleExtractor,
)

__all__ = ["RuleExtractor"]
