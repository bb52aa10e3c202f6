"""Rankings: what tells the top of a list from its bottom, as properties that are rules, and what would move a case."""

from clearmargin.rank.contrast import RankContrast
from clearmargin.rank.discretise import make_properties
from clearmargin.rank.properties import Property, PropertyTable
from clearmargin.rank.recourse import recourse
from clearmargin.rank.recourse_value import FeatureChange, Rank, Recourse
from clearmargin.rank.search import search_properties

__all__ = [
    "FeatureChange",
    "Property",
    "PropertyTable",
    "Rank",
    "RankContrast",
    "Recourse",
    "make_properties",
    "recourse",
    "search_properties",
]
