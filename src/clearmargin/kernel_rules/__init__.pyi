from .certificate import (
    Certificate as Certificate,
)
from .certificate import (
    certify as certify,
)
from .growth import (
    grow_box as grow_box,
)
from .support_vector_rules import (
    SupportVectorRules as SupportVectorRules,
)
from .surrogate_rules import (
    SurrogateRules as SurrogateRules,
)

__all__ = ["Certificate", "SupportVectorRules", "SurrogateRules", "certify", "grow_box"]
