"""Advice: expert rules as constraints of support vector machines, refined from data and read back as rules."""

from clearmargin.advise.blend import AdviceBlendSVC
from clearmargin.advise.check import check_advice
from clearmargin.advise.outcome import AdviceOutcome, ConditionChange, RuleOutcome
from clearmargin.advise.report import AdviceReport
from clearmargin.advise.surrogate import RuleTrees, rule_trees
from clearmargin.advise.svc import AdviceSVC
from clearmargin.advise.svccv import AdviceSVCCV
from clearmargin.advise.tree import RuleTree, TreeLeaf, TreeTest

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
