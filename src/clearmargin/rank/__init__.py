"""Rankings: what tells the top of a list from its bottom, as properties that are rules, and what would move a case."""

from clearmargin.rank.contrast import RankContrast
from clearmargin.rank.discretise import make_properties
from clearmargin.rank.properties import Property, PropertyTable
from clearmargin.rank.recourse import Recourse, recourse
from clearmargin.rank.search import search_properties

__all__ = [
    "Property",
    "PropertyTable",
    "RankContrast",
    "Recourse",
    "make_properties",
    "recourse",
    "search_properties",
]
