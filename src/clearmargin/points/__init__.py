"""Rules with points: one engine for labels (`RuleSVC`) and for the answers of a model (`ScoreRules`).

Read `engine.py` first.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
