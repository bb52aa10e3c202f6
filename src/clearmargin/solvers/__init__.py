"""Programs as values: linear ones, also with integers, are solved by HiGHS, those with cones by Clarabel."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
