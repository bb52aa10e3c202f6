from .estimators import (
    LPSVC as LPSVC,
)
from .estimators import (
    AdviceSVC as AdviceSVC,
)
from .estimators import (
    ProximalSVC as ProximalSVC,
)
from .estimators import (
    RankContrast as RankContrast,
)
from .estimators import (
    RuleExtractor as RuleExtractor,
)
from .estimators import (
    RuleSVC as RuleSVC,
)

__all__ = ["LPSVC", "AdviceSVC", "ProximalSVC", "RankContrast", "RuleExtractor", "RuleSVC"]
