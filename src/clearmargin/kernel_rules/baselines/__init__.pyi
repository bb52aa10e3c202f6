from .fuzzy import (
    FuzzyRules as FuzzyRules,
)
from .hyper_rectangles import (
    HyperRectangleRules as HyperRectangleRules,
)
from .prototypes import (
    PrototypeRules as PrototypeRules,
)

__all__ = ["FuzzyRules", "HyperRectangleRules", "PrototypeRules"]
