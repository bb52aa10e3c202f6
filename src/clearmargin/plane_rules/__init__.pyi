from .explore import (
    Exploration as Exploration,
)
from .explore import (
    explore_volume as explore_volume,
)
from .extractor import (
    RuleExtractor as RuleExtractor,
)

__all__ = ["Exploration", "RuleExtractor", "explore_volume"]
