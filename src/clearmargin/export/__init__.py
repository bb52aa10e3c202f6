"""Rules in the formats of other systems, each export equal to what the rules predict.

Read `formats.py` first: it lists the formats and says how to add one.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
