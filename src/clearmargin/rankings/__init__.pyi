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
from .recourse_answer import (
    recourse as recourse,
)
from .recourse_value import (
    FeatureChange as FeatureChange,
)
from .recourse_value import (
    Rank as Rank,
)
from .recourse_value import (
    Recourse as Recourse,
)
from .search import (
    search_properties as search_properties,
)

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
