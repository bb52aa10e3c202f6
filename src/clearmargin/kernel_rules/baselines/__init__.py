"""Published extractors kept as yardsticks: fuzzy rules, prototypes, hyper-rectangles.

They prove nothing; `SupportVectorRules` and `SurrogateRules` are what to use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
