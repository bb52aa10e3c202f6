from .lpsvc import (
    LPSVC as LPSVC,
)
from .lpsvccv import (
    LPSVCCV as LPSVCCV,
)

__all__ = ["LPSVC", "LPSVCCV"]
