from .box import (
    Box as Box,
)
from .categories import (
    CategorySets as CategorySets,
)
from .domain import (
    Domain as Domain,
)
from .extreme import (
    Extreme as Extreme,
)
from .hyperplane import (
    HalfSpace as HalfSpace,
)
from .hyperplane import (
    Hyperplane as Hyperplane,
)
from .interval import (
    Interval as Interval,
)
from .one_hot import (
    OneHot as OneHot,
)
from .polyhedron import (
    Polyhedron as Polyhedron,
)
from .rounding import (
    round_inwards as round_inwards,
)
from .rule import (
    Rule as Rule,
)
from .rules_document import (
    rules_schema as rules_schema,
)
from .ruleset import (
    RuleSet as RuleSet,
)
from .space import (
    FeatureSpace as FeatureSpace,
)
from .stats import (
    RuleScores as RuleScores,
)
from .stats import (
    RuleStats as RuleStats,
)

__all__ = [
    "Box",
    "CategorySets",
    "Domain",
    "Extreme",
    "FeatureSpace",
    "HalfSpace",
    "Hyperplane",
    "Interval",
    "OneHot",
    "Polyhedron",
    "Rule",
    "RuleScores",
    "RuleSet",
    "RuleStats",
    "round_inwards",
    "rules_schema",
]
