from .estimators import (
    LPSVC as LPSVC,
)
from .estimators import (
    scan as scan,
)

__all__ = ["LPSVC", "scan"]
