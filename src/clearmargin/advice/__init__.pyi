from .advice_check import (
    AdviceChecker as AdviceChecker,
)
from .advice_check import (
    AdviceReport as AdviceReport,
)
from .advice_check import (
    check_advice as check_advice,
)
from .blend import (
    AdviceBlendSVC as AdviceBlendSVC,
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
from .rule_tree import (
    RuleTree as RuleTree,
)
from .rule_tree import (
    RuleTrees as RuleTrees,
)
from .rule_tree import (
    TreeLeaf as TreeLeaf,
)
from .rule_tree import (
    TreeTest as TreeTest,
)
from .rule_tree import (
    rule_trees as rule_trees,
)
from .svc import (
    AdviceSVC as AdviceSVC,
)
from .svc import (
    AdviceSVCCV as AdviceSVCCV,
)

__all__ = [
    "AdviceBlendSVC",
    "AdviceChecker",
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
