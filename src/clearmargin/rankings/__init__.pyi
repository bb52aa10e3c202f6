from .contrast import (
    RankContrast as RankContrast,
)

__all__ = ["RankContrast"]
