"""Rankings made actionable: what sets the top of a ranking apart from its bottom. Read `contrast.py`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
