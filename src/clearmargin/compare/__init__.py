"""Comparisons: extractors of rules beside each other on rows that neither they nor the model have seen."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
