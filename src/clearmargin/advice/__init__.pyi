from .advice_check import AdviceChecker as AdviceChecker
from .advice_check import AdviceReport as AdviceReport
from .advice_check import check_advice as check_advice
from .outcome import AdviceOutcome as AdviceOutcome
from .outcome import RuleOutcome as RuleOutcome
from .svc import AdviceSVC as AdviceSVC

__all__ = [
    "AdviceChecker",
    "AdviceOutcome",
    "AdviceReport",
    "AdviceSVC",
    "RuleOutcome",
    "check_advice",
]
