"""One verb for every model that says why a case got its class, by a few conditions.

Read `case_explanations.py` first. What is proved comes from `plane_rules/sufficient_reasons.py` and
`kernel_rules/growth.py`; what is measured from `measured.py` and `condition_search.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
