"""Rules out of linear classifiers: boxes on one side of a hyperplane, with proof.

Read `extractor.py` first, then `extraction.py`: read, train, search, prove, translate.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
