from .case_explanations import (
    explain as explain,
)
from .case_explanations import (
    explain_many as explain_many,
)
from .recourse_answer import (
    Recourse as Recourse,
)
from .recourse_answer import (
    recourse as recourse,
)
from .recourse_options import (
    FeatureChange as FeatureChange,
)

__all__ = ["FeatureChange", "Recourse", "explain", "explain_many", "recourse"]
