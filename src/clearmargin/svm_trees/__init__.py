"""Trees of support vector machines, and the rules they hold.

Read `classifier.py` first, then `grow.py`. `svm_tree.py` is the tree as a value, with its cells; `node_rules.py`
makes its rules. `choice.py` chooses by cross-validation what is left open.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
