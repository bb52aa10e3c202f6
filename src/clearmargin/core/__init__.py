"""Immutable values: intervals, boxes, polyhedra, hyperplanes, features, rules and sets of rules."""

from clearmargin.core.box import Box
from clearmargin.core.categories import CategorySets
from clearmargin.core.document import rules_schema
from clearmargin.core.domain import Domain
from clearmargin.core.extreme import Extreme
from clearmargin.core.hyperplane import HalfSpace, Hyperplane
from clearmargin.core.interval import Interval
from clearmargin.core.one_hot import OneHot
from clearmargin.core.polyhedron import Polyhedron
from clearmargin.core.rounding import round_inwards
from clearmargin.core.rule import Rule
from clearmargin.core.ruleset import RuleSet
from clearmargin.core.space import FeatureSpace
from clearmargin.core.stats import RuleScores, RuleStats

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
