"""What several subjects share: the base of everything that gives rules, the leverage search, the shaping of boxes.

Read `base.py` first.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
