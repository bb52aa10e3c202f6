"""Rankings made actionable: what sets the top apart from the bottom, and the cheapest change for a case.

Read `contrast.py` first; recourse starts in `recourse_answer.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
