from .box import (
    Box as Box,
)
from .domain import (
    Domain as Domain,
)
from .domain import (
    Extreme as Extreme,
)
from .domain import (
    OneHot as OneHot,
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
from .interval import (
    round_inwards as round_inwards,
)
from .polyhedron import (
    Polyhedron as Polyhedron,
)
from .rule import (
    Rule as Rule,
)
from .rule import (
    RuleScores as RuleScores,
)
from .rule import (
    RuleStats as RuleStats,
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

__all__ = [
    "Box",
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
