"""Expert rules in support vector machines: trained with, checked, refined from data and read back as text.

Read `svc.py` first, then `advice_svm.py`, whose docstring states the program.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
