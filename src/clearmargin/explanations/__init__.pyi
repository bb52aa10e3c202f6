from .case_explanations import (
    explain as explain,
)
from .case_explanations import (
    explain_many as explain_many,
)

__all__ = ["explain", "explain_many"]
