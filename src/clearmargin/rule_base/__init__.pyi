from .explanation import (
    Explanation as Explanation,
)

__all__ = ["Explanation"]
