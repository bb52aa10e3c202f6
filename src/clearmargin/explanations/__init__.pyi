from .case_explanations import (
    CaseExplanations as CaseExplanations,
)
from .case_explanations import (
    explain as explain,
)
from .case_explanations import (
    explain_many as explain_many,
)

__all__ = ["CaseExplanations", "explain", "explain_many"]
