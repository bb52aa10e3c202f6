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
from .recourse_answer import (
    Recourse as Recourse,
)
from .recourse_answer import (
    recourse as recourse,
)
from .recourse_plan import (
    FeatureChange as FeatureChange,
)

__all__ = [
    "FeatureChange",
    "Property",
    "PropertyTable",
    "RankContrast",
    "Recourse",
    "make_properties",
    "recourse",
    "search_properties",
]
