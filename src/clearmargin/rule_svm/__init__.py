"""A classifier of few rules whose points are added up.

Read `rule_svc.py` first; what a fitted one says is a value in `weighted_rules.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
