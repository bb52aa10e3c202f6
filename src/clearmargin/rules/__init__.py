"""Values: intervals, boxes, polyhedra, hyperplanes, feature spaces, domains, rules and rule sets.

Read `rule.py` and `ruleset.py` first: a rule is *region => class*, and everything in the package makes, proves, applies
or prints rules. Exact arithmetic is in `arithmetic.py`, many boxes at once in `boxes.py`, the
JSON form in `rules_document.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
