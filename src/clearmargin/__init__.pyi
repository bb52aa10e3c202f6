from . import dask as dask
from . import datasets as datasets
from . import exceptions as exceptions
from . import export as export
from . import plot as plot
from . import report as report
from .advice import (
    AdviceSVC as AdviceSVC,
)
from .advice import (
    check_advice as check_advice,
)
from .cases import (
    explain as explain,
)
from .cases import (
    explain_many as explain_many,
)
from .cases import (
    recourse as recourse,
)
from .compare import (
    compare_extractors as compare_extractors,
)
from .kernel_rules import (
    SupportVectorRules as SupportVectorRules,
)
from .kernel_rules import (
    SurrogateRules as SurrogateRules,
)
from .kernel_rules import (
    certify as certify,
)
from .kernel_rules import (
    grow_box as grow_box,
)
from .language import (
    format_rules as format_rules,
)
from .language import (
    parse_rules as parse_rules,
)
from .lp_svm import (
    LPSVC as LPSVC,
)
from .models import (
    load_model as load_model,
)
from .models import (
    save_model as save_model,
)
from .plane_rules import (
    RuleExtractor as RuleExtractor,
)
from .points import (
    RuleSVC as RuleSVC,
)
from .points import (
    Scorecard as Scorecard,
)
from .points import (
    ScoreRules as ScoreRules,
)
from .rankings import (
    RankContrast as RankContrast,
)
from .rule_base import (
    Explanation as Explanation,
)
from .rules import (
    Box as Box,
)
from .rules import (
    Domain as Domain,
)
from .rules import (
    FeatureSpace as FeatureSpace,
)
from .rules import (
    HalfSpace as HalfSpace,
)
from .rules import (
    Hyperplane as Hyperplane,
)
from .rules import (
    Interval as Interval,
)
from .rules import (
    Polyhedron as Polyhedron,
)
from .rules import (
    Rule as Rule,
)
from .rules import (
    RuleScores as RuleScores,
)
from .rules import (
    RuleSet as RuleSet,
)
from .rules import (
    RuleStats as RuleStats,
)
from .svm_trees import (
    SVMTreeClassifier as SVMTreeClassifier,
)
from .tables import (
    scan as scan,
)

__version__: str

__all__ = [
    "LPSVC",
    "AdviceSVC",
    "Box",
    "Domain",
    "Explanation",
    "FeatureSpace",
    "HalfSpace",
    "Hyperplane",
    "Interval",
    "Polyhedron",
    "RankContrast",
    "Rule",
    "RuleExtractor",
    "RuleSVC",
    "RuleScores",
    "RuleSet",
    "RuleStats",
    "SVMTreeClassifier",
    "ScoreRules",
    "Scorecard",
    "SupportVectorRules",
    "SurrogateRules",
    "__version__",
    "certify",
    "check_advice",
    "compare_extractors",
    "dask",
    "datasets",
    "exceptions",
    "explain",
    "explain_many",
    "export",
    "format_rules",
    "grow_box",
    "load_model",
    "parse_rules",
    "plot",
    "recourse",
    "report",
    "save_model",
    "scan",
]
