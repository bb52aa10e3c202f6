"""Support vector machines that say what they know, and listen to what experts know.

The names most people need are here and load when first used, so that `import clearmargin` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearmargin.advise import AdviceBlendSVC, AdviceSVC, AdviceSVCCV, check_advice
    from clearmargin.core import (
        Box,
        CategorySets,
        Domain,
        FeatureSpace,
        HalfSpace,
        Hyperplane,
        Interval,
        Polyhedron,
        Rule,
        RuleScores,
        RuleSet,
        RuleStats,
    )
    from clearmargin.extract import Explanation, RuleExtractor, Scorecard, ScoreRules
    from clearmargin.kernel import (
        SupportVectorRules,
        SurrogateRules,
        certify,
        compare_extractors,
        grow_box,
    )
    from clearmargin.linear import LPSVC, LPSVCCV, ProximalSVC
    from clearmargin.rank import RankContrast, recourse, search_properties
    from clearmargin.store import load_model, save_model
    from clearmargin.text import format_rules, parse_rules
    from clearmargin.tree import SVMTreeClassifier

__version__ = "0.1.0"

__all__ = [
    "LPSVC",
    "LPSVCCV",
    "AdviceBlendSVC",
    "AdviceSVC",
    "AdviceSVCCV",
    "Box",
    "CategorySets",
    "Domain",
    "Explanation",
    "FeatureSpace",
    "HalfSpace",
    "Hyperplane",
    "Interval",
    "Polyhedron",
    "ProximalSVC",
    "RankContrast",
    "Rule",
    "RuleExtractor",
    "RuleScores",
    "RuleSet",
    "RuleStats",
    "SVMTreeClassifier",
    "ScoreRules",
    "Scorecard",
    "SupportVectorRules",
    "SurrogateRules",
    "__version__",
    "advise",
    "certify",
    "check_advice",
    "compare_extractors",
    "core",
    "datasets",
    "exceptions",
    "export",
    "extract",
    "format_rules",
    "grow_box",
    "kernel",
    "linear",
    "load_model",
    "optim",
    "parse_rules",
    "plot",
    "rank",
    "recourse",
    "report",
    "save_model",
    "search_properties",
    "store",
    "text",
    "tree",
]

_HOMES = {
    "advise": ["AdviceBlendSVC", "AdviceSVC", "AdviceSVCCV", "check_advice"],
    "core": [
        "Box",
        "CategorySets",
        "Domain",
        "FeatureSpace",
        "HalfSpace",
        "Hyperplane",
        "Interval",
        "Polyhedron",
        "Rule",
        "RuleScores",
        "RuleSet",
        "RuleStats",
    ],
    "extract": ["Explanation", "RuleExtractor", "ScoreRules", "Scorecard"],
    "kernel": [
        "SupportVectorRules",
        "SurrogateRules",
        "certify",
        "compare_extractors",
        "grow_box",
    ],
    "linear": ["LPSVC", "LPSVCCV", "ProximalSVC"],
    "rank": ["RankContrast", "recourse", "search_properties"],
    "store": ["load_model", "save_model"],
    "text": ["format_rules", "parse_rules"],
    "tree": ["SVMTreeClassifier"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_PACKAGES = (
    "advise",
    "core",
    "datasets",
    "exceptions",
    "export",
    "extract",
    "kernel",
    "linear",
    "optim",
    "plot",
    "rank",
    "report",
    "store",
    "text",
    "tree",
)


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(import_module(f"clearmargin.{_HOME_OF[name]}"), name)
    if name in _PACKAGES:
        return import_module(f"clearmargin.{name}")
    raise AttributeError(f"module 'clearmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
