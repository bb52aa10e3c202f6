from .contrast import (
    RankContrast as RankContrast,
)
from .discretise import (
    make_properties as make_properties,
)
from .properties import (
    Property as Property,
)
from .properties import (
    PropertyTable as PropertyTable,
)
from .property_search import (
    search_properties as search_properties,
)

__all__ = [
    "Property",
    "PropertyTable",
    "RankContrast",
    "make_properties",
    "search_properties",
]
