from .lpsvc import (
    LPSVC as LPSVC,
)

__all__ = ["LPSVC"]
