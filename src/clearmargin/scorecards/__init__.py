"""Scorecards: points for each interval or category, summed, that imitate a classifier, or prove what a linear one says.

Read `score_rules.py` first; a card is a value in `scorecard.py`, a card with proof one in `certified_card.py`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
