from .scanned import (
    scan as scan,
)

__all__ = ["scan"]
