"""Trees of support vector machines, and the rules they hold.

Read `classifier.py` first, then `grow.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
