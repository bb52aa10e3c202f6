"""Linear support vector classifiers: the 1-norm SVM, and its choice of sparsity.

Read `lpsvc.py` first, then `program.py`, whose docstring states the linear program.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
