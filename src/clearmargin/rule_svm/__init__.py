"""Support vector machines over rules: the 1-norm SVM over all rules of a few conditions, solved by column generation.

Read `rule_svc.py` first; what a fitted one says is a value in `weighted_rules.py`, the linear program stands in
`rule_lp.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
