"""Rules out of kernel machines, with proof where it can be had."""

from clearmargin.kernel.certify import Certificate, certify
from clearmargin.kernel.compare import compare_extractors
from clearmargin.kernel.comparison import ExtractorComparison
from clearmargin.kernel.fuzzy import FuzzyRules
from clearmargin.kernel.grow import grow_box
from clearmargin.kernel.hyper_rectangles import HyperRectangleRules
from clearmargin.kernel.prototypes import PrototypeRules
from clearmargin.kernel.support_vector_rules import SupportVectorRules
from clearmargin.kernel.surrogate_rules import SurrogateRules

__all__ = [
    "Certificate",
    "ExtractorComparison",
    "FuzzyRules",
    "HyperRectangleRules",
    "PrototypeRules",
    "SupportVectorRules",
    "SurrogateRules",
    "certify",
    "compare_extractors",
    "grow_box",
]
