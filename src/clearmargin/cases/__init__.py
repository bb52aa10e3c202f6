"""Questions about one case: why it gets its class, and which cheapest change would give it another one.

Read `case_explanations.py` and `recourse_answer.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
