"""Comparisons: rule sets and models before and after, rules on new data (drift), and extractors beside each other."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
