from .blend import (
    AdviceBlendSVC as AdviceBlendSVC,
)
from .check import (
    check_advice as check_advice,
)
from .outcome import (
    AdviceOutcome as AdviceOutcome,
)
from .outcome import (
    ConditionChange as ConditionChange,
)
from .outcome import (
    RuleOutcome as RuleOutcome,
)
from .report import (
    AdviceReport as AdviceReport,
)
from .surrogate import (
    RuleTrees as RuleTrees,
)
from .surrogate import (
    rule_trees as rule_trees,
)
from .svc import (
    AdviceSVC as AdviceSVC,
)
from .svccv import (
    AdviceSVCCV as AdviceSVCCV,
)
from .tree import (
    RuleTree as RuleTree,
)
from .tree import (
    TreeLeaf as TreeLeaf,
)
from .tree import (
    TreeTest as TreeTest,
)

__all__ = [
    "AdviceBlendSVC",
    "AdviceOutcome",
    "AdviceReport",
    "AdviceSVC",
    "AdviceSVCCV",
    "ConditionChange",
    "RuleOutcome",
    "RuleTree",
    "RuleTrees",
    "TreeLeaf",
    "TreeTest",
    "check_advice",
    "rule_trees",
]
